//! Suggestions for unknown names of nodes and misspelt commands.

/// Most names in a suggestion.
const SUGGESTIONS_MAX: usize = 3;

/// The end of a message about an unknown name: similar names, otherwise an example; empty if there
/// are no names.
#[must_use]
pub fn suggest<'a>(unknown: &str, names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let lower = unknown.to_lowercase();
    let contains = |name: &&&str| !lower.is_empty() && name.to_lowercase().contains(&lower);
    let mut similar = nearest(unknown, names.iter().copied());
    if similar.is_empty() {
        similar = names.iter().filter(contains).copied().collect();
    }
    if similar.is_empty() {
        // Names such as `host-1 mlx5_0`.
        let first_word = |name: &&'a str| name.split(' ').next().unwrap_or_default();
        let words = nearest(unknown, names.iter().map(first_word));
        let with_word = |word: &&str| names.iter().find(|name| first_word(name) == *word);
        similar = words.iter().filter_map(with_word).copied().collect();
    }
    similar.dedup();
    let quoted: Vec<String> = similar
        .iter()
        .take(SUGGESTIONS_MAX)
        .map(|name| format!("\"{name}\""))
        .collect();
    match (quoted.split_last(), names.first()) {
        (Some((only, [])), _) => format!("; did you mean {only}?"),
        (Some((last, others)), _) => {
            format!("; did you mean {} or {last}?", others.join(", "))
        }
        (None, Some(first)) => format!("; for example \"{first}\""),
        (None, None) => String::new(),
    }
}

/// The names that are close to `typed`, the closest first.
pub(crate) fn nearest<'a>(typed: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let typed = typed.to_ascii_lowercase();
    let mut close: Vec<(usize, &str)> = names
        .map(|name| {
            (
                strsim::osa_distance(&typed, &name.to_ascii_lowercase()),
                name,
            )
        })
        .filter(|(distance, name)| *distance <= 1 + name.len() / 4)
        .collect();
    close.sort_by_key(|(distance, _)| *distance);
    close.into_iter().map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_come_before_an_example() {
        let names = ["leaf-0", "leaf-1", "host-0-0 mlx5_0", "host-0-1 mlx5_0"];
        let suggest = |unknown| suggest(unknown, names.into_iter());
        assert_eq!(
            suggest("leaf-9"),
            "; did you mean \"leaf-0\" or \"leaf-1\"?"
        );
        assert_eq!(suggest("HOST-0-0"), "; did you mean \"host-0-0 mlx5_0\"?");
        assert_eq!(
            suggest("hst-0-1"),
            "; did you mean \"host-0-1 mlx5_0\" or \"host-0-0 mlx5_0\"?"
        );
        assert_eq!(suggest("nobody"), "; for example \"leaf-0\"");
        assert_eq!(super::suggest("x", core::iter::empty()), "");
    }
}
