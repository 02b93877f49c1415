//! What a manager has on its disk, and what is left of that when it begins again: as the daemon does it, without files.

use std::collections::BTreeMap;

use crate::simulated::{Clock, Lab, Sm};
use ferrosm_core::records::{RecordKey, RecordKind, RecordRestorer, ViewPersister};
use ferrosm_core::{RestoredState, SmConfig};
use ferrosm_mad::time::Instant;

/// What is on a disk.
pub(crate) type Records = BTreeMap<RecordKey, Box<[u8]>>;

/// What of a store is there when a manager begins again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Store {
    Whole,
    /// From here on records are broken: so many per cent are whole.
    Prefix(u64),
    /// No record of a kind can be read.
    Without(RecordKind),
    /// Of another subnet.
    Foreign,
    Nothing,
}

impl Store {
    /// What can be read.
    pub(crate) fn left_of(self, disk: &Records) -> Records {
        let mut records = disk.clone();
        let count = records.len() as u64;
        match self {
            Self::Whole => {}
            Self::Prefix(percent) => {
                let values = records.values_mut().enumerate();
                for (_, value) in values.filter(|(n, _)| *n as u64 * 100 >= count * percent) {
                    *value = Box::new([0xEE]);
                }
            }
            Self::Without(kind) => {
                let all = records.iter_mut();
                for (_, value) in all.filter(|(key, _)| key.kind() == Some(kind)) {
                    *value = Box::new([0xEE]);
                }
            }
            Self::Foreign => return of_elsewhere(),
            Self::Nothing => records.clear(),
        }
        records
    }
}

/// What a manager of another subnet kept, with GUIDs that are not here.
fn of_elsewhere() -> Records {
    let mut spec = ferrosm_sim::generate::from_spec("ring:3").unwrap();
    for node in &mut spec.nodes {
        node.node_guid.0 ^= 0x00FF_0000_0000;
        for guid in &mut node.port_guids {
            guid.0 ^= 0x00FF_0000_0000;
        }
    }
    let mut lab = Lab::on("foreign", spec, 1, SmConfig::default(), None);
    lab.next_sweep(60);
    records_of(lab.manager(), Clock::default(), lab.world.now())
}

/// What a manager's calendar says.
pub(crate) fn unix_s(clock: Clock, now: Instant) -> u64 {
    clock.shows(now).as_nanos() / 1_000_000_000
}

/// What a manager begins with from records.
pub(crate) fn restore(records: &Records, unix_s: u64) -> RestoredState {
    let mut restorer = RecordRestorer::new(unix_s);
    for (key, value) in records {
        restorer.put(key, value);
    }
    restorer.finish().0
}

/// What a manager has on its disk.
pub(crate) fn records_of(sm: &Sm, clock: Clock, now: Instant) -> Records {
    let mut records = sm.kept.clone();
    let view = sm.view_kept.as_ref();
    let batch = ViewPersister::default().batch(view, unix_s(clock, now));
    batch.apply(&mut records);
    records
}
