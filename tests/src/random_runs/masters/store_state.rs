//! Damage to the store of an SM before it starts.

use crate::lab::Lab;
use crate::lab::store::Records;
use ferrosm_core::SmConfig;
use ferrosm_core::records::RecordKind;

/// What an SM can read of its store.
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
    lab.manager().records(lab.world.now())
}
