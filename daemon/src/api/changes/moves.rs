//! Cables that were moved: a link went down, and another one came up at one of its ports. Pure.

use ferrosm_api::change::{ChangeKind, Difference};

/// Most links that went down, or came up, among which moved cables are searched.
const LINKS_MAX: usize = 2000;

/// The differences, with a link that went down and the one in place of it as one that was moved,
/// and two pairs of such links as cables that were swapped.
pub(super) fn with_moved_cables(items: Vec<Difference>) -> Vec<Difference> {
    let is_link = |item: &Difference, after: &str| {
        item.kind == ChangeKind::Link && item.after == after && ends(&item.object).is_some()
    };
    let down = items.iter().filter(|item| is_link(item, "down")).count();
    let up = items.iter().filter(|item| is_link(item, "up")).count();
    if down.max(up) > LINKS_MAX {
        return items;
    }
    let (lost, mut rest): (Vec<Difference>, Vec<Difference>) =
        items.into_iter().partition(|item| is_link(item, "down"));
    let mut unmatched: Vec<Option<Difference>> = lost.into_iter().map(Some).collect();
    let mut found = Vec::new();
    for at in 0..unmatched.len() {
        let Some(first) = unmatched[at].take() else {
            continue;
        };
        let new: Vec<usize> = (0..rest.len())
            .filter(|i| is_link(&rest[*i], "up"))
            .filter(|i| have_common_end(&rest[*i].object, &first.object))
            .collect();
        let second = unmatched.iter().position(|other| {
            let is_swapped = |other: &Difference| {
                let leads_there = |i: &usize| have_common_end(&rest[*i].object, &other.object);
                new.len() == 2 && new.iter().all(leads_there)
            };
            other.as_ref().is_some_and(is_swapped)
        });
        match (second.and_then(|i| unmatched[i].take()), &new[..]) {
            (Some(second), &[a, b]) => {
                let new_b = rest.remove(b);
                let new_a = rest.remove(a);
                found.push(Difference {
                    object: format!("{}, {}", first.object, second.object),
                    after: "swapped".to_owned(),
                    changes: first.changes + second.changes + new_a.changes + new_b.changes,
                    replaced_by: vec![new_a.object, new_b.object],
                    ..first
                });
            }
            (_, &[one, ..]) => {
                let new = rest.remove(one);
                found.push(Difference {
                    after: "moved".to_owned(),
                    changes: first.changes + new.changes,
                    replaced_by: vec![new.object],
                    ..first
                });
            }
            (_, []) => found.push(first),
        }
    }
    rest.append(&mut found);
    rest.sort_by(|a, b| (a.kind, &a.object).cmp(&(b.kind, &b.object)));
    rest
}

/// Whether two links have one port in common, and lead to different ports from there.
pub(super) fn have_common_end(a: &str, b: &str) -> bool {
    let (Some(a), Some(b)) = (ends(a), ends(b)) else {
        return false;
    };
    let common = a.iter().filter(|end| b.contains(end)).count();
    common == 1
}

/// The ends of a link that is named like `leaf-0/5 - spine-0/1`. The name of a node may contain
/// ` - `.
fn ends(link: &str) -> Option<[&str; 2]> {
    let ends_in_port = |text: &str| {
        let port = text.rsplit_once('/').map(|(_, port)| port);
        port.is_some_and(|port| port.parse::<u8>().is_ok())
    };
    link.match_indices(" - ")
        .map(|(at, separator)| [&link[..at], &link[at + separator.len()..]])
        .find(|ends| ends.iter().all(|end| ends_in_port(end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_links_are_read_from_their_names() {
        assert_eq!(ends("leaf/5 - spine/1"), Some(["leaf/5", "spine/1"]));
        assert_eq!(ends("a - b/5 - c/1"), Some(["a - b/5", "c/1"]));
        assert_eq!(ends("leaf"), None);
        assert!(have_common_end("a/1 - b/1", "a/1 - b/2"));
        assert!(!have_common_end("a/1 - b/1", "a/1 - b/1"), "the same link");
        assert!(!have_common_end("a/1 - b/1", "a/2 - b/2"));
    }
}
