//! The difference between two times, from the changes between them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use ferrosm_api::answer::ApiError;
use ferrosm_api::change::{Change, ChangeKind, Diff, DiffQuery, Difference};

use super::moves;
use crate::api::list::{invalid, time};
use crate::api::rfc3339;

/// The difference, from all known changes, the oldest first.
pub(super) fn diff(
    changes: &[Arc<Change>],
    query: &DiffQuery,
    now: SystemTime,
) -> Result<Diff, ApiError> {
    let from = time(&query.from)?;
    let to = query.to.as_deref().map_or(Ok(now), time)?;
    if from > to {
        return Err(invalid("the first time is after the second"));
    }
    // Times in UTC are ordered like their texts.
    let from = rfc3339(from);
    let to = rfc3339(to);
    let mut items: BTreeMap<(ChangeKind, &str), Difference> = BTreeMap::new();
    let mut states_before: BTreeMap<(ChangeKind, &str), &str> = BTreeMap::new();
    let mut other = Vec::new();
    for change in changes.iter().filter(|change| change.at <= to) {
        if change.at <= from {
            if let (Some(object), Some(state)) = (&change.object, &change.state) {
                states_before.insert((change.kind, object), state);
            }
            continue;
        }
        let (Some(object), Some(state)) = (&change.object, &change.state) else {
            if ![ChangeKind::Link, ChangeKind::Node].contains(&change.kind) {
                other.push(Change::clone(change));
            }
            continue;
        };
        let key = (change.kind, &**object);
        let item = items.entry(key).or_insert_with(|| Difference {
            kind: change.kind,
            object: object.clone(),
            before: states_before
                .get(&key)
                .map_or_else(|| usual_state_before(state), |state| (*state).to_owned()),
            after: String::new(),
            changes: 0,
            replaced_by: Vec::new(),
        });
        item.after.clone_from(state);
        item.changes += 1;
    }
    let known_since = changes.first().map(|first| first.at.clone());
    Ok(Diff {
        known_since: known_since.filter(|at| *at > from),
        from,
        to,
        items: moves::with_moved_cables(
            items
                .into_values()
                .filter(|item| item.before != item.after)
                .collect(),
        ),
        other,
    })
}

/// What has another state now, and no known one before, had its usual state.
fn usual_state_before(state: &str) -> String {
    let before = match state {
        "up" => "down",
        "present" => "absent",
        "absent" => "present",
        _ => "up",
    };
    before.to_owned()
}

#[cfg(test)]
mod tests {
    use core::time::Duration;
    use std::time::UNIX_EPOCH;

    use super::*;

    fn at(s: u64) -> String {
        rfc3339(UNIX_EPOCH + Duration::from_secs(s))
    }

    fn change(s: u64, kind: ChangeKind, object: &str, state: &str) -> Arc<Change> {
        let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Arc::new(Change {
            number: s,
            at: at(s),
            kind,
            what: String::new(),
            object: text(object),
            state: text(state),
            nodes: Vec::new(),
            cause: None,
            effect: None,
        })
    }

    /// What changed and changed back is no difference; the state before is that of earlier changes.
    #[test]
    fn difference_is_net() {
        use ChangeKind::{Config, Link, Node};
        let changes = [
            change(1, Link, "a", "degraded"),
            change(2, Link, "b", "down"),
            change(3, Link, "c", "down"),
            change(4, Link, "c", "up"),
            change(5, Node, "host", "absent"),
            change(6, Config, "", ""),
            change(7, Link, "a", "down"),
            change(8, Link, "b", "up"),
        ];
        let between = |from: u64, to: u64| {
            let query = DiffQuery {
                from: at(from),
                to: Some(at(to)),
            };
            diff(&changes, &query, UNIX_EPOCH).unwrap()
        };
        let summary = |diff: &Diff| -> Vec<String> {
            let items = diff.items.iter();
            items
                .map(|i| format!("{} {} {} {}", i.object, i.before, i.after, i.changes))
                .collect()
        };
        let later = between(2, 8);
        assert_eq!(
            summary(&later),
            ["a degraded down 1", "b down up 1", "host present absent 1"]
        );
        assert_eq!(later.other.len(), 1);
        assert_eq!(later.known_since, None);
        let all = between(0, 8);
        assert_eq!(summary(&all), ["a up down 2", "host present absent 1"]);
        assert_eq!(all.known_since, Some(at(1)));
        assert_eq!(summary(&between(3, 4)), ["c down up 1"]);
    }

    /// Cables that were moved are one line each, and two that were swapped are one.
    #[test]
    fn moved_cables_are_recognized() {
        use ChangeKind::Link;
        let changes = [
            change(1, Link, "leaf-0/3 - spine-0/1", "down"),
            change(2, Link, "leaf-0/5 - spine-0/1", "up"),
            change(3, Link, "leaf-1/1 - spine-1/1", "down"),
            change(4, Link, "leaf-1/2 - spine-1/2", "down"),
            change(5, Link, "leaf-1/1 - spine-1/2", "up"),
            change(6, Link, "leaf-1/2 - spine-1/1", "up"),
            change(7, Link, "leaf-2/1 - spine-2/1", "down"),
        ];
        let query = DiffQuery {
            from: at(0),
            to: Some(at(8)),
        };
        let diff = diff(&changes, &query, UNIX_EPOCH).unwrap();
        let summary: Vec<String> = diff
            .items
            .iter()
            .map(|i| format!("{}: {} {}", i.object, i.after, i.replaced_by.join(", ")))
            .collect();
        assert_eq!(
            summary,
            [
                "leaf-0/3 - spine-0/1: moved leaf-0/5 - spine-0/1",
                "leaf-1/1 - spine-1/1, leaf-1/2 - spine-1/2: swapped \
                 leaf-1/1 - spine-1/2, leaf-1/2 - spine-1/1",
                "leaf-2/1 - spine-2/1: down ",
            ]
        );
    }

    #[test]
    fn times_are_checked() {
        for (from, to) in [("yesterday", None), (&*at(5), Some(at(4)))] {
            let query = DiffQuery {
                from: from.to_owned(),
                to,
            };
            let error = diff(&[], &query, UNIX_EPOCH).unwrap_err();
            assert_eq!(error.kind, ferrosm_api::answer::ErrorKind::InvalidRequest);
        }
    }
}
