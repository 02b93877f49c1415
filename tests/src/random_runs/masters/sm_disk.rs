//! The records on an SM's disk and what a restart reads of them, as in the daemon but without
//! files.

use crate::lab::{Clock, Lab, Sm};
use ferrosm_core::records::{RecordKind, RecordRestorer, ViewPersister};
use ferrosm_core::{RestoredState, SmConfig};
use ferrosm_mad::time::Instant;

pub(crate) use crate::lab::store::Records;

/// Damage to a store before an SM starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StoreState {
    Complete,
    /// Only the first records are readable; the value is their percentage.
    Truncated(u64),
    /// Records of one kind are unreadable.
    MissingKind(RecordKind),
    /// The store of another subnet.
    ForeignSubnet,
    Empty,
}

impl StoreState {
    /// Applies the damage.
    pub(crate) fn readable_records(self, disk: &Records) -> Records {
        let mut records = disk.clone();
        let count = records.len() as u64;
        match self {
            Self::Complete => {}
            Self::Truncated(percent) => {
                let values = records.values_mut().enumerate();
                for (_, value) in values.filter(|(n, _)| *n as u64 * 100 >= count * percent) {
                    *value = Box::new([0xEE]);
                }
            }
            Self::MissingKind(kind) => {
                let all = records.iter_mut();
                for (_, value) in all.filter(|(key, _)| key.kind() == Some(kind)) {
                    *value = Box::new([0xEE]);
                }
            }
            Self::ForeignSubnet => return records_of_other_subnet(),
            Self::Empty => records.clear(),
        }
        records
    }
}

/// Records of an SM in another subnet, with GUIDs that do not occur in this one.
fn records_of_other_subnet() -> Records {
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

/// The SM's Unix time.
pub(crate) fn unix_s(clock: Clock, now: Instant) -> u64 {
    clock.local_time(now).as_nanos() / 1_000_000_000
}

/// Restores the state from records.
pub(crate) fn restore(records: &Records, unix_s: u64) -> RestoredState {
    let mut restorer = RecordRestorer::new(unix_s);
    for (key, value) in records {
        restorer.put(key, value);
    }
    restorer.finish().0
}

/// The records on a running SM's disk.
pub(crate) fn records_of(sm: &Sm, clock: Clock, now: Instant) -> Records {
    let mut records = sm.persisted_records.clone();
    let view = sm.persisted_view.as_ref();
    let batch = ViewPersister::default().batch(view, unix_s(clock, now));
    batch.apply(&mut records);
    records
}
