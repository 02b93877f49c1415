//! Cables that were moved: a link went down, and another one came up at one of its ports. Pure.

use std::sync::Arc;

use ferrosm_api::change::{Change, ChangeKind, Difference};

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

/// Most changes after the loss of a link among which the cables in place of it are searched.
const SWAP_SEARCHED_MAX: usize = 64;

/// The changes, with two cables that were swapped within one sweep as one change.
pub(super) fn with_swapped_cables(changes: Vec<Arc<Change>>) -> Vec<Arc<Change>> {
    let mut items: Vec<Option<Arc<Change>>> = changes.into_iter().map(Some).collect();
    for at in 0..items.len() {
        let Some([first, second, new_a, new_b]) = find_swap(&items, at) else {
            continue;
        };
        let last = second.max(new_a).max(new_b);
        let parts = [first, second, new_a, new_b].map(|i| items[i].take());
        let [Some(a), Some(b), Some(c), Some(d)] = parts else {
            continue;
        };
        let object = |change: &Change| change.object.clone().unwrap_or_default();
        let mut nodes = [&a.nodes[..], &b.nodes].concat();
        nodes.dedup();
        items[last] = Some(Arc::new(Change {
            what: format!(
                "cables swapped {}, {}: now {}, {}",
                object(&a),
                object(&b),
                object(&c),
                object(&d)
            ),
            object: None,
            state: None,
            nodes,
            cause: a.cause.clone(),
            ..Change::clone(&d)
        }));
    }
    items.into_iter().flatten().collect()
}

/// The two links that went down and the two that came up in place of them, if the change at `at`
/// is the first of a swap.
fn find_swap(items: &[Option<Arc<Change>>], at: usize) -> Option<[usize; 4]> {
    let is_link = |change: &Change, state: &str| {
        change.kind == ChangeKind::Link && change.state.as_deref() == Some(state)
    };
    let first = items.get(at)?.as_deref().filter(|c| is_link(c, "down"))?;
    let meets = |change: &Change, other: &Change| {
        let ends = change.object.as_deref().zip(other.object.as_deref());
        ends.is_some_and(|(a, b)| have_common_end(a, b))
    };
    let following = || {
        let window = items.iter().enumerate().skip(at + 1);
        let known = window
            .take(SWAP_SEARCHED_MAX)
            .filter_map(|(i, item)| Some((i, item.as_deref()?)));
        known.filter(|(_, change)| change.effect == first.effect)
    };
    let new: Vec<(usize, &Change)> = following()
        .filter(|(_, change)| is_link(change, "up") && meets(change, first))
        .collect();
    let [(a, new_a), (b, new_b)] = new[..] else {
        return None;
    };
    let mut lost = following().filter(|(_, change)| is_link(change, "down"));
    let (second, _) = lost.find(|(_, other)| meets(new_a, other) && meets(new_b, other))?;
    Some([at, second, a, b])
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

    /// Only two links that went down in one sweep, with two others at their ports, are a swap.
    #[test]
    fn two_swapped_cables_are_one_change() {
        let change = |object: &str, state: &str, sweep: &str| {
            Arc::new(Change {
                number: 1,
                at: String::new(),
                kind: ChangeKind::Link,
                what: format!("link {state} {object}"),
                object: Some(object.to_owned()),
                state: Some(state.to_owned()),
                nodes: Vec::new(),
                cause: None,
                effect: Some(sweep.to_owned()),
            })
        };
        let texts = |changes: Vec<Arc<Change>>| -> Vec<String> {
            let shown = with_swapped_cables(changes).into_iter();
            shown.map(|change| change.what.clone()).collect()
        };
        let swap = |last: &str| {
            vec![
                change("a/1 - x/1", "down", "sweep 1"),
                change("c/1 - z/1", "down", "sweep 1"),
                change("b/1 - y/1", "down", "sweep 1"),
                change("a/1 - y/1", "up", "sweep 1"),
                change("b/1 - x/1", "up", last),
            ]
        };
        assert_eq!(
            texts(swap("sweep 1")),
            [
                "link down c/1 - z/1",
                "cables swapped a/1 - x/1, b/1 - y/1: now a/1 - y/1, b/1 - x/1",
            ]
        );
        assert_eq!(texts(swap("sweep 2")).len(), 5);
    }

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
