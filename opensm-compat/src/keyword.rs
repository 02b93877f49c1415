//! Suggestions for misspelt keywords.

/// The known keyword closest to `typed`, if one is close.
pub fn nearest_keyword<'a>(
    typed: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let typed = normalized(typed);
    let (distance, word) = known
        .into_iter()
        .map(|word| (strsim::osa_distance(&typed, &normalized(word)), word))
        .min_by_key(|(distance, _)| *distance)?;
    (distance <= 1 + word.len() / 4).then_some(word)
}

/// In lower case, with `-` for `_`: OpenSM's option names have underscores.
fn normalized(word: &str) -> String {
    word.to_ascii_lowercase().replace('_', "-")
}

#[cfg(test)]
mod tests {
    use super::nearest_keyword;

    #[test]
    fn misspelt_keyword_finds_the_closest() {
        let known = ["priority", "sm-key", "poll-interval"];
        assert_eq!(nearest_keyword("pirority", known), Some("priority"));
        assert_eq!(nearest_keyword("sm_key", known), Some("sm-key"));
        assert_eq!(nearest_keyword("colour", known), None);
    }
}
