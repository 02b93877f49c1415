//! Which LFT entries changed in which sweep, since this SM became master.
//!
//! Compares the tables of successive snapshots, which share those that did not change. Bounded: the
//! oldest sweeps are forgotten first.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::SystemTime;

use ferrosm_core::SweepReport;
use ferrosm_core::routing::what_if::RoutingBasis;
use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_mad::ids::{Lid, NodeGuid, PortNum};
use ferrosm_routing::{Diagnostic, Lft, changed_blocks};

/// Entries that are remembered, of all sweeps together (4 bytes each).
const ENTRIES_MAX: usize = 1 << 20;
/// Sweeps that are remembered.
const SWEEPS_MAX: usize = 4096;
/// LIDs in an LFT block.
const BLOCK_LIDS: u16 = 64;

/// The changes of LFT entries.
#[derive(Debug, Clone, Default)]
pub(super) struct RouteHistory {
    /// The newest last.
    updates: VecDeque<Update>,
    /// Entries in `updates`.
    num_entries: usize,
    /// Since when changes are known.
    known_since: Option<SystemTime>,
    engine_run: Option<EngineRun>,
}

/// A run of an engine, and what changed its routes since.
#[derive(Debug, Clone)]
pub(super) struct EngineRun {
    pub(super) since: SystemTime,
    /// This SM found the routes when it became master.
    pub(super) is_older: bool,
    /// Sweeps since then that changed entries.
    pub(super) updates: u32,
    /// Entries that they changed.
    pub(super) entries: u64,
}

/// What a sweep changed.
#[derive(Debug, Clone)]
struct Update {
    sweep: u32,
    at: SystemTime,
    /// Ascending.
    switches: Vec<ChangedLft>,
}

/// What a sweep changed in an LFT.
#[derive(Debug, Clone)]
struct ChangedLft {
    switch: NodeGuid,
    /// LIDs, ascending, with the port before; `None` if it is not known which entries changed.
    entries: Option<Vec<(Lid, PortNum)>>,
}

/// The last change of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EntryChange {
    pub(super) sweep: u32,
    pub(super) at: SystemTime,
    /// The port before; `None` if it is not known, or the switch had no table.
    pub(super) before: Option<PortNum>,
}

impl RouteHistory {
    /// The last change of an entry; `None` if it has not changed since [`Self::known_since`].
    pub(super) fn last_change(&self, switch: NodeGuid, lid: Lid) -> Option<EntryChange> {
        self.updates.iter().rev().find_map(|update| {
            let found = update
                .switches
                .binary_search_by_key(&switch, |changed| changed.switch);
            let before = match &update.switches[found.ok()?].entries {
                None => None,
                Some(entries) => {
                    let at = entries.binary_search_by_key(&lid, |entry| entry.0).ok()?;
                    Some(entries[at].1)
                }
            };
            Some(EntryChange {
                sweep: update.sweep,
                at: update.at,
                before,
            })
        })
    }

    pub(super) const fn known_since(&self) -> Option<SystemTime> {
        self.known_since
    }

    pub(super) const fn engine_run(&self) -> Option<&EngineRun> {
        self.engine_run.as_ref()
    }

    /// A sweep of this SM as master is complete. `before` is the snapshot of the sweep before, of
    /// which there is none if this is the first one.
    pub(super) fn on_sweep(
        history: &mut Arc<Self>,
        report: &SweepReport,
        before: Option<&Snapshot>,
        now: &Snapshot,
        basis: Option<&RoutingBasis>,
        at: SystemTime,
    ) {
        let Some(before) = before else {
            *history = Arc::new(Self {
                known_since: Some(at),
                engine_run: basis.map(|basis| EngineRun {
                    since: at,
                    is_older: !is_of_engine(basis) || report.lft_blocks_written == 0,
                    updates: 0,
                    entries: 0,
                }),
                ..Self::default()
            });
            return;
        };
        let switches = changed_lfts(before, now);
        let was_computed = report.has_new_routes && basis.is_some_and(is_of_engine);
        if switches.is_empty() && !was_computed {
            return;
        }
        let history = Arc::make_mut(history);
        if was_computed || history.engine_run.is_none() {
            history.engine_run = Some(EngineRun {
                since: at,
                is_older: false,
                updates: 0,
                entries: 0,
            });
        } else if let Some(run) = &mut history.engine_run {
            run.updates += 1;
            let changed = switches.iter().map(ChangedLft::num_entries);
            run.entries += changed.sum::<usize>() as u64;
        }
        if !switches.is_empty() {
            history.add(Update {
                sweep: report.number,
                at,
                switches,
            });
        }
    }

    fn add(&mut self, mut update: Update) {
        let mut entries: usize = update.switches.iter().map(ChangedLft::num_entries).sum();
        if entries > ENTRIES_MAX / 2 {
            for changed in &mut update.switches {
                changed.entries = None;
            }
            entries = 0;
        }
        self.num_entries += entries;
        self.updates.push_back(update);
        while self.num_entries > ENTRIES_MAX || self.updates.len() > SWEEPS_MAX {
            let Some(oldest) = self.updates.pop_front() else {
                return;
            };
            let forgotten = oldest.switches.iter().map(ChangedLft::num_entries);
            self.num_entries -= forgotten.sum::<usize>();
            self.known_since = Some(oldest.at);
        }
    }
}

impl ChangedLft {
    fn num_entries(&self) -> usize {
        self.entries.as_ref().map_or(0, Vec::len)
    }
}

/// Whether an engine computed the routing in force; otherwise it was rerouted since.
fn is_of_engine(basis: &RoutingBasis) -> bool {
    let mut diagnostics = basis.run().routing.diagnostics.iter();
    !diagnostics.any(|d| matches!(d, Diagnostic::Rerouted(_)))
}

/// The tables that differ, by GUID.
fn changed_lfts(before: &Snapshot, now: &Snapshot) -> Vec<ChangedLft> {
    let mut changed = Vec::new();
    for slot in now.slots_changed_in(before) {
        let node = now.node(slot);
        let Some(new) = node.installed_lft() else {
            continue;
        };
        let old_slot = before.by_node_guid(node.guid);
        let old = old_slot.and_then(|slot| before.node(slot).installed_lft());
        let entries = match old {
            Some(old) if Arc::ptr_eq(old, new) => continue,
            Some(old) => Some(changed_entries(old, new)),
            None => None,
        };
        if entries.as_ref().is_none_or(|entries| !entries.is_empty()) {
            changed.push(ChangedLft {
                switch: node.guid,
                entries,
            });
        }
    }
    changed.sort_unstable_by_key(|lft| lft.switch);
    changed
}

/// The entries that differ, with the port before.
fn changed_entries(old: &Lft, new: &Lft) -> Vec<(Lid, PortNum)> {
    changed_blocks(Some(old), new)
        .flat_map(|block| {
            let first = block * BLOCK_LIDS;
            (first..first + BLOCK_LIDS).map(Lid)
        })
        .filter(|lid| old.get(*lid) != new.get(*lid))
        .map(|lid| (lid, old.get(lid)))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn update(sweep: u32, entries: Option<Vec<(Lid, PortNum)>>) -> Update {
        Update {
            sweep,
            at: SystemTime::UNIX_EPOCH + Duration::from_secs(u64::from(sweep)),
            switches: vec![ChangedLft {
                switch: NodeGuid(7),
                entries,
            }],
        }
    }

    fn lids(first: u16, count: u16) -> Vec<(Lid, PortNum)> {
        (first..first + count)
            .map(|lid| (Lid(lid), PortNum(3)))
            .collect()
    }

    /// The newest change of an entry is found; other entries and switches have none.
    #[test]
    fn the_newest_change_is_found() {
        let mut history = RouteHistory::default();
        history.add(update(1, Some(lids(10, 5))));
        history.add(update(2, Some(lids(12, 1))));
        let sweep = |lid| {
            let change = history.last_change(NodeGuid(7), Lid(lid));
            change.map(|change| (change.sweep, change.before))
        };
        assert_eq!(sweep(12), Some((2, Some(PortNum(3)))));
        assert_eq!(sweep(13), Some((1, Some(PortNum(3)))));
        assert_eq!(sweep(15), None);
        assert_eq!(history.last_change(NodeGuid(8), Lid(12)), None);
        history.add(update(3, None));
        assert_eq!(
            history.last_change(NodeGuid(7), Lid(15)),
            Some(EntryChange {
                sweep: 3,
                at: SystemTime::UNIX_EPOCH + Duration::from_secs(3),
                before: None
            })
        );
    }

    /// Memory is bounded; `known_since` says from when on changes are known.
    #[test]
    fn the_oldest_changes_are_forgotten() {
        let mut history = RouteHistory::default();
        let per_sweep = 40_000;
        for sweep in 1..=30 {
            history.add(update(sweep, Some(lids(1, per_sweep))));
        }
        assert!(history.num_entries <= ENTRIES_MAX);
        let forgotten = 30 - history.updates.len() as u64;
        assert!(forgotten > 0);
        assert_eq!(
            history.known_since(),
            Some(SystemTime::UNIX_EPOCH + Duration::from_secs(forgotten))
        );
        let first = history.last_change(NodeGuid(7), Lid(1)).unwrap();
        assert_eq!(first.sweep, 30);
    }
}
