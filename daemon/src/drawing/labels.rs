//! Short labels for names: without what all of them share, cut in the middle, and never the same
//! for different names.

use std::collections::BTreeMap;

const SEPARATORS: &[char] = &['-', '_', '.', ';', ':', '/', ' '];

/// A label of about `length` characters at most for each name. They are longer where shorter ones
/// would be equal.
pub(super) fn short_labels(names: &[&str], length: usize) -> Vec<String> {
    let distinct: std::collections::BTreeSet<&str> = names.iter().copied().collect();
    let (prefix, suffix) = match distinct.len() {
        0 | 1 => (0, 0),
        _ => shared_ends(&distinct.into_iter().collect::<Vec<&str>>()),
    };
    let parts: Vec<&str> = names
        .iter()
        .map(|name| &name[prefix..name.len() - suffix])
        .collect();
    let longest = parts
        .iter()
        .map(|part| part.chars().count())
        .max()
        .unwrap_or(0);
    let mut labels: Vec<String> = parts.iter().map(|part| cut(part, length)).collect();
    let mut limit = length;
    while limit < longest {
        let mut by_label: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (i, label) in labels.iter().enumerate() {
            by_label.entry(label).or_default().push(i);
        }
        let ambiguous: Vec<usize> = by_label
            .into_values()
            .filter(|same| same.iter().any(|i| names[*i] != names[same[0]]))
            .flatten()
            .collect();
        if ambiguous.is_empty() {
            break;
        }
        limit += 4;
        for i in ambiguous {
            labels[i] = cut(parts[i], limit);
        }
    }
    labels
}

/// Bytes at the start and at the end that all names share, in whole words. The last word before the
/// end of the shared start stays, unless it is long: `leaf-0` and not `0`.
fn shared_ends(names: &[&str]) -> (usize, usize) {
    let first = names[0];
    let shared = |a: &str, b: &str| {
        let pairs = a.char_indices().zip(b.chars());
        let end = pairs
            .clone()
            .find(|((_, x), y)| x != y)
            .map(|((at, _), _)| at);
        end.unwrap_or_else(|| a.len().min(b.len()))
    };
    let prefix = names
        .iter()
        .map(|name| shared(first, name))
        .min()
        .unwrap_or(0);
    // Keeps the word in which names differ, with the one before it.
    let word = first[..prefix].rfind(SEPARATORS).unwrap_or(0);
    let prefix = first[..word].rfind(SEPARATORS).map_or(0, |at| at + 1);
    let reversed = |text: &str| text.chars().rev().collect::<String>();
    let back = reversed(&first[prefix..]);
    let same_end = names
        .iter()
        .map(|name| shared(&back, &reversed(&name[prefix..])))
        .min();
    let suffix = back[..same_end.unwrap_or(0)]
        .rfind(SEPARATORS)
        .map_or(0, |at| at + 1);
    (prefix, suffix)
}

/// A text without its middle, if it is too long.
fn cut(text: &str, length: usize) -> String {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= length.max(3) {
        return text.to_owned();
    }
    let kept = length.max(3) - 1;
    let tail = kept.div_ceil(2);
    let head: String = chars[..kept - tail].iter().collect();
    let tail: String = chars[chars.len() - tail..].iter().collect();
    format!("{head}…{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn what_all_names_share_is_left_out() {
        let names = [
            "MF0;hall2-row07-ibleaf-00:MQM9700/U1",
            "MF0;hall2-row07-ibleaf-01:MQM9700/U1",
            "MF0;hall2-row07-ibspine-00:MQM9700/U1",
        ];
        assert_eq!(
            short_labels(&names, 22),
            ["row07-ibleaf-00", "row07-ibleaf-01", "row07-ibspine-00"]
        );
        let chips = ["core:SX6536/L07/U1", "core:SX6536/L08/U1"];
        assert_eq!(short_labels(&chips, 22), ["SX6536/L07", "SX6536/L08"]);
        assert_eq!(
            short_labels(&["leaf-0", "leaf-1"], 22),
            ["leaf-0", "leaf-1"]
        );
        assert_eq!(
            short_labels(&["a-very-long-name-of-a-switch"], 11),
            ["a-ver…witch"]
        );
    }

    proptest! {
        #[test]
        fn different_names_have_different_labels(
            names in prop::collection::vec("[a-b;]{0,3}(row|rack)?[-:/]?[0-9éa]{0,12}", 0..12),
            length in 3..20_usize,
        ) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let labels = short_labels(&names, length);
            let count = |texts: BTreeSet<&str>| texts.len();
            prop_assert_eq!(
                count(labels.iter().map(String::as_str).collect()),
                count(names.iter().copied().collect())
            );
        }
    }
}
