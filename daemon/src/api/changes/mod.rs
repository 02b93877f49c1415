//! What changed in the subnet and at the SM, with cause and effect, also in earlier runs.
//!
//! Changes wait until the sweep that deals with them is complete, so that they have its effect.

mod diff;
mod journal;
mod moves;
pub(super) mod of_event;

use core::time::Duration;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime};

use ferrosm_api::answer::{ApiError, PAGE_LIMIT_MAX};
use ferrosm_api::change::{Change, ChangeKind, ChangeQuery, Changes, Diff, DiffQuery};
use ferrosm_core::Event;

use self::journal::Journal;
use self::of_event::{Described, describe, effect, has_written, notice};
use super::list::{invalid, limit_exceeded};
use super::rfc3339;
use crate::pattern::is_match;

/// Changes that the service remembers: those of one page.
const REMEMBERED: usize = PAGE_LIMIT_MAX;
/// Most changes that wait for their sweep. The oldest are then complete without an effect.
const WAITING_MAX: usize = 1000;
/// Age from which on a trap that no sweep followed causes nothing.
const NOTICE_AGE_MAX: Duration = Duration::from_secs(30);
/// Most changes of links that are searched for the cable that was at a port before.
const MOVES_SEARCHED_MAX: usize = 1000;
/// `limit` of a query that has none.
const LIMIT_DEFAULT: usize = 1000;

/// What changed. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct ChangeLog {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    /// The newest last.
    changes: VecDeque<Arc<Change>>,
    /// Changes whose sweep is not complete.
    waiting: VecDeque<Change>,
    /// How the SM noticed what the next sweep finds, and when.
    notice: Option<(String, Instant)>,
    journal: Option<Journal>,
}

impl ChangeLog {
    /// With the changes of earlier runs, which are in a state directory that this process has
    /// locked. A failure is logged.
    pub fn open(&self, state_dir: &Path) {
        let last = journal::read_last(state_dir, REMEMBERED);
        let mut inner = self.lock();
        inner.changes = last;
        inner.journal = Journal::open(state_dir);
    }

    /// An event was reported, with this number.
    pub fn on_event(&self, event: &Event, number: u64) {
        let mut inner = self.lock();
        if let Some(text) = notice(event)
            && inner.recent_notice().is_none()
        {
            inner.notice = Some((text, Instant::now()));
        }
        if let Some(described) = describe(event) {
            inner.add(described, number);
        }
        if let Event::SweepCompleted(report) = event {
            inner.complete(Some(&effect(report)), has_written(report).then_some(number));
        } else if matches!(event, Event::RoleChanged { .. } | Event::Stopped { .. }) {
            inner.complete(None, None);
        }
    }

    /// Something was changed that is no event of the SM.
    pub fn add(&self, kind: ChangeKind, what: String, cause: String, effect: Option<String>) {
        let mut inner = self.lock();
        let number = inner.changes.back().map_or(0, |last| last.number);
        inner.push(Change {
            number,
            at: rfc3339(SystemTime::now()),
            kind,
            what,
            object: None,
            state: None,
            nodes: Vec::new(),
            cause: Some(cause),
            effect,
        });
    }

    /// The difference between two times.
    ///
    /// # Errors
    /// If the query is invalid.
    pub(super) fn diff(&self, query: &DiffQuery, now: SystemTime) -> Result<Diff, ApiError> {
        diff::diff(&self.all(), query, now)
    }

    /// All changes. The SM waits no longer than for this copy.
    fn all(&self) -> Vec<Arc<Change>> {
        self.lock().changes.iter().cloned().collect()
    }

    /// The changes that a query selects.
    ///
    /// # Errors
    /// If the query is invalid.
    pub(super) fn select(&self, query: &ChangeQuery, now: SystemTime) -> Result<Changes, ApiError> {
        let limit = query.limit.unwrap_or(LIMIT_DEFAULT);
        if !(1..=PAGE_LIMIT_MAX).contains(&limit) {
            return Err(limit_exceeded(limit));
        }
        let kinds = query.kind.as_deref().map(kinds).transpose()?;
        let since = query.since_s.and_then(|s| {
            let since = now.checked_sub(Duration::from_secs(s))?;
            Some(rfc3339(since))
        });
        let node = query.node.as_deref();
        let is_meant = |change: &&Arc<Change>| {
            // Times in UTC are ordered like their texts.
            since.as_ref().is_none_or(|since| change.at >= *since)
                && kinds
                    .as_ref()
                    .is_none_or(|kinds| kinds.contains(&change.kind))
                && node.is_none_or(|node| change.nodes.iter().any(|name| is_match(node, name)))
        };
        let all = moves::with_swapped_cables(self.all());
        let known_since = all.first().map(|first| first.at.clone());
        let meant: Vec<&Arc<Change>> = all.iter().filter(is_meant).collect();
        let skipped = meant.len().saturating_sub(limit);
        Ok(Changes {
            total: meant.len(),
            known_since,
            items: meant
                .iter()
                .skip(skipped)
                .map(|c| Change::clone(c))
                .collect(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn kinds(text: &str) -> Result<Vec<ChangeKind>, ApiError> {
    let names = text.split(',').filter(|name| !name.is_empty());
    names
        .map(|name| {
            let mut all = ChangeKind::ALL.into_iter();
            all.find(|kind| kind.name() == name).ok_or_else(|| {
                let known = ChangeKind::ALL.map(ChangeKind::name).join(", ");
                invalid(format!("no kind `{name}`; there are: {known}"))
            })
        })
        .collect()
}

impl Inner {
    fn add(&mut self, described: Described, number: u64) {
        let Described {
            kind,
            what,
            object,
            state,
            nodes,
            cause,
        } = described;
        let replaced = object
            .as_deref()
            .filter(|_| kind == ChangeKind::Link && state == Some("up"))
            .and_then(|object| self.replaced_by(object));
        let what = match replaced {
            Some(replaced) => format!("{what} in place of {replaced}"),
            None => what,
        };
        let is_found = matches!(kind, ChangeKind::Link | ChangeKind::Node);
        let noticed = self.recent_notice().filter(|_| is_found);
        self.waiting.push_back(Change {
            number,
            at: rfc3339(SystemTime::now()),
            kind,
            what,
            object,
            state: state.map(str::to_owned),
            nodes,
            cause: cause.or(noticed),
            effect: None,
        });
        if self.waiting.len() > WAITING_MAX
            && let Some(first) = self.waiting.pop_front()
        {
            self.push(first);
        }
    }

    /// The link that went down last at one of the ports of a link that is up now, and that leads
    /// elsewhere: a cable was moved.
    fn replaced_by(&self, up: &str) -> Option<String> {
        let recorded = self.changes.iter().rev().map(|change| &**change);
        let newest_first = self.waiting.iter().rev().chain(recorded);
        let links = newest_first.filter(|change| change.kind == ChangeKind::Link);
        let at_same_port = links.take(MOVES_SEARCHED_MAX).find_map(|change| {
            let object = change.object.as_deref()?;
            let is_meant = object == up || moves::have_common_end(object, up);
            is_meant.then_some((object, change.state.as_deref()))
        });
        match at_same_port {
            Some((object, Some("down"))) if object != up => Some(object.to_owned()),
            Some(_) | None => None,
        }
    }

    fn recent_notice(&self) -> Option<String> {
        let (text, at) = self.notice.as_ref()?;
        (at.elapsed() < NOTICE_AGE_MAX).then(|| text.clone())
    }

    /// A sweep is complete, or none follows. A sweep that wrote something without a change before
    /// it is a change itself.
    fn complete(&mut self, effect: Option<&str>, sweep_that_wrote: Option<u64>) {
        let notice = self.recent_notice();
        self.notice = None;
        if self.waiting.is_empty()
            && let Some(number) = sweep_that_wrote
        {
            self.push(Change {
                number,
                at: rfc3339(SystemTime::now()),
                kind: ChangeKind::Routing,
                what: "routes or LIDs written".to_owned(),
                object: None,
                state: None,
                nodes: Vec::new(),
                cause: notice,
                effect: effect.map(str::to_owned),
            });
        }
        for mut change in core::mem::take(&mut self.waiting) {
            let has_effect = change.kind != ChangeKind::Mastership;
            change.effect = effect.filter(|_| has_effect).map(str::to_owned);
            self.push(change);
        }
    }

    fn push(&mut self, change: Change) {
        let change = Arc::new(change);
        if let Some(journal) = &mut self.journal {
            journal.write(&change);
        }
        if self.changes.len() == REMEMBERED {
            self.changes.pop_front();
        }
        self.changes.push_back(change);
    }
}

#[cfg(test)]
mod tests {
    use ferrosm_core::SweepReport;
    use ferrosm_fabric::location::{Location, NodeName, PortName};
    use ferrosm_mad::attr::NodeDescription;
    use ferrosm_mad::ids::{NodeGuid, PortNum};

    use super::*;

    fn port(guid: u64) -> PortName {
        PortName {
            node: Some(NodeName {
                description: NodeDescription::new(&format!("leaf-{guid}")),
                guid: NodeGuid(guid),
            }),
            port: PortNum(3),
        }
    }

    fn sweep(blocks: u64) -> Event {
        Event::SweepCompleted(Box::new(SweepReport {
            number: 7,
            lft_blocks_written: blocks,
            took: Duration::from_millis(12),
            ..SweepReport::default()
        }))
    }

    fn trap() -> Event {
        Event::TrapReceived {
            number: 128,
            vendor: None,
            location: Location::Subnet,
            violation: None,
            change: None,
        }
    }

    fn all(log: &ChangeLog, query: &ChangeQuery) -> Vec<Change> {
        log.select(query, SystemTime::now()).unwrap().items
    }

    /// A change has the trap as its cause and the sweep as its effect; queries select by node, kind
    /// and time.
    #[test]
    fn changes_have_cause_and_effect() {
        let log = ChangeLog::default();
        log.on_event(&trap(), 1);
        log.on_event(&Event::LinkDown(port(1), port(2)), 2);
        let every = ChangeQuery::default();
        assert_eq!(all(&log, &every), []);
        log.on_event(&sweep(51), 3);
        log.on_event(&sweep(4), 4);
        log.on_event(&sweep(0), 5);
        log.add(
            ChangeKind::Config,
            "configuration applied".to_owned(),
            "reload".to_owned(),
            None,
        );
        let found = all(&log, &every);
        let summary: Vec<_> = found
            .iter()
            .map(|c| (c.number, &*c.what, c.cause.as_deref(), c.effect.as_deref()))
            .collect();
        assert_eq!(
            summary,
            [
                (
                    2,
                    "link down leaf-1/3 - leaf-2/3",
                    Some("trap 128 from subnet"),
                    Some("sweep 7: 51 LFT blocks, 12 ms")
                ),
                (
                    4,
                    "routes or LIDs written",
                    None,
                    Some("sweep 7: 4 LFT blocks, 12 ms")
                ),
                (4, "configuration applied", Some("reload"), None),
            ]
        );
        let numbers = |query: ChangeQuery| -> Vec<u64> {
            let found = all(&log, &query);
            found.iter().map(|change| change.number).collect()
        };
        let of_node = |node: &str| ChangeQuery {
            node: Some(node.to_owned()),
            ..ChangeQuery::default()
        };
        assert_eq!(numbers(of_node("leaf-2")), [2]);
        assert_eq!(numbers(of_node("0x0000000000000001")), [2]);
        assert_eq!(numbers(of_node("spine-*")), [0; 0]);
        let of_kind = |kind: &str| ChangeQuery {
            kind: Some(kind.to_owned()),
            ..ChangeQuery::default()
        };
        assert_eq!(numbers(of_kind("link,config")), [2, 4]);
        let recent = ChangeQuery {
            since_s: Some(60),
            limit: Some(1),
            ..ChangeQuery::default()
        };
        assert_eq!(numbers(recent), [4]);
        let since_before_1970 = ChangeQuery {
            since_s: Some(u64::MAX / 2 + 1),
            ..ChangeQuery::default()
        };
        assert_eq!(numbers(since_before_1970), [2, 4, 4]);
        let later = SystemTime::now() + Duration::from_secs(120);
        let since = ChangeQuery {
            since_s: Some(60),
            ..ChangeQuery::default()
        };
        assert_eq!(log.select(&since, later).unwrap().total, 0);
        assert!(log.select(&of_kind("links"), later).is_err());
    }

    /// Changes of an earlier run are known.
    #[test]
    fn changes_survive_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let log = ChangeLog::default();
        log.open(dir.path());
        log.on_event(&Event::LinkDown(port(1), port(2)), 2);
        log.on_event(&sweep(1), 3);
        let before = all(&log, &ChangeQuery::default());
        drop(log);
        let outcome = (0..500).find_map(|_| {
            std::thread::sleep(Duration::from_millis(10));
            let restarted = ChangeLog::default();
            restarted.open(dir.path());
            let found = all(&restarted, &ChangeQuery::default());
            (!found.is_empty()).then_some(found)
        });
        assert_eq!(outcome.unwrap(), before);
    }
}
