//! Names as Slurm's host lists: `gpu[01-03,07]`.

use std::collections::{BTreeMap, BTreeSet};

/// Most digits of a number in a range.
const DIGITS_MAX: usize = 9;

/// A host list with these names. Names that differ in the number at their end only share brackets;
/// Slurm reads no text after brackets.
pub(super) fn host_ranges(names: &[String]) -> String {
    let split: Vec<Split<'_>> = names.iter().map(|name| Split::new(name)).collect();
    // Lengths of numbers with leading zeros: `n09` and `n10` have the same.
    let padded: BTreeSet<(&str, usize)> = split
        .iter()
        .filter(|part| part.digits.len() > 1 && part.digits.starts_with('0'))
        .map(|part| (part.prefix, part.digits.len()))
        .collect();
    let mut sets: BTreeMap<ListKey<'_>, BTreeSet<u32>> = BTreeMap::new();
    let mut order = Vec::new();
    for part in &split {
        let width = part.digits.len();
        let is_padded = padded.contains(&(part.prefix, width));
        let key = ListKey {
            prefix: part.prefix,
            width: part.number.map(|_| if is_padded { width } else { 0 }),
        };
        if !sets.contains_key(&key) {
            order.push(key);
        }
        sets.entry(key).or_default().extend(part.number);
    }
    let list = |key: ListKey<'_>| {
        let prefix = key.prefix;
        match &ranges(&sets[&key], key.width.unwrap_or(0))[..] {
            [] => prefix.to_owned(),
            [one] if !one.contains('-') => format!("{prefix}{one}"),
            several => format!("{prefix}[{}]", several.join(",")),
        }
    };
    let lists: Vec<String> = order.into_iter().map(list).collect();
    lists.join(",")
}

/// Names that share brackets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ListKey<'n> {
    prefix: &'n str,
    /// Digits of numbers with leading zeros, otherwise 0. `None`: a name without a number.
    width: Option<usize>,
}

/// A name before the number at its end, and the number.
struct Split<'n> {
    prefix: &'n str,
    digits: &'n str,
    number: Option<u32>,
}

impl<'n> Split<'n> {
    fn new(name: &'n str) -> Self {
        let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let digits = &name[prefix.len()..];
        match digits.parse() {
            Ok(number) if digits.len() <= DIGITS_MAX => Self {
                prefix,
                digits,
                number: Some(number),
            },
            Ok(_) | Err(_) => Self {
                prefix: name,
                digits: "",
                number: None,
            },
        }
    }
}

/// Runs of successive numbers: `01-03`, `07`.
fn ranges(numbers: &BTreeSet<u32>, width: usize) -> Vec<String> {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            Some(_) | None => runs.push((*number, *number)),
        }
    }
    let text = |(first, last): (u32, u32)| match first == last {
        true => format!("{first:0width$}"),
        false => format!("{first:0width$}-{last:0width$}"),
    };
    runs.into_iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host_list::host_list;

    #[test]
    fn names_with_successive_numbers_share_brackets() {
        for (names, expected) in [
            (&["gpu1"][..], "gpu1"),
            (&["gpu1", "gpu2", "gpu3", "gpu7"], "gpu[1-3,7]"),
            (&["gpu08", "gpu09", "gpu10"], "gpu[08-10]"),
            (&["gpu8", "gpu9", "gpu10"], "gpu[8-10]"),
            (&["n1-ib", "n2-ib", "login"], "n1-ib,n2-ib,login"),
            (&["r1n1", "r2n1"], "r1n1,r2n1"),
            (&["n1", "n01"], "n1,n01"),
            (&["n", "n1"], "n,n1"),
            (&["x12345678901", "x1"], "x12345678901,x1"),
        ] {
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            assert_eq!(host_ranges(&names), expected);
            let mut expanded: Vec<String> = Vec::new();
            let mut depth = 0;
            let parts = expected.split(|c| {
                depth += i32::from(c == '[') - i32::from(c == ']');
                c == ',' && depth == 0
            });
            for part in parts {
                expanded.extend(host_list(part).unwrap());
            }
            assert_eq!(expanded, names);
        }
    }
}
