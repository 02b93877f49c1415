//! Suggestions for misspelt keywords.

/// The known keyword closest to `typed`, if one is close.
pub fn nearest_keyword<'a>(
    typed: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    nearest_keywords(typed, known).into_iter().next()
}

/// The known keywords that are close to `typed`, the closest first.
pub fn nearest_keywords<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let typed = normalized(typed);
    let distance_of = |word: &'a str| (strsim::osa_distance(&typed, &normalized(word)), word);
    let is_close = |(distance, word): &(usize, &str)| *distance <= 1 + word.len() / 4;
    let mut close: Vec<_> = known
        .into_iter()
        .map(distance_of)
        .filter(is_close)
        .collect();
    close.sort_by_key(|(distance, _)| *distance);
    close.into_iter().map(|(_, word)| word).collect()
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
