//! Partitions of a published fabric, from the P_Key tables of its ports.

use std::collections::BTreeMap;

use ferrosm_api::answer::{ApiError, ErrorKind};
use ferrosm_api::partition::{Membership, Partition, PartitionMember, Partitions};
use ferrosm_fabric::pkey_set::partition_number;
use ferrosm_fabric::snapshot::{EndPortIdx, Snapshot};
use ferrosm_mad::ids::PKey;

use super::list::invalid;
use super::names::end_port_name;
use super::published::{FabricState, State};

/// The membership bit of a P_Key.
const FULL: u16 = 0x8000;

/// The partitions that are configured or have members, by number.
pub(super) fn partitions(fabric: &FabricState, state: &State) -> Partitions {
    let in_force = state.partitions.list().iter();
    let names: BTreeMap<u16, &str> = in_force.map(|p| (p.number, p.name.as_str())).collect();
    let mut counts: BTreeMap<u16, [usize; 2]> =
        names.keys().map(|number| (*number, [0, 0])).collect();
    for (_, key) in memberships(&fabric.snapshot) {
        let [full, limited] = counts.entry(partition_number(key)).or_default();
        match membership(key) {
            Membership::Full => *full += 1,
            Membership::Limited => *limited += 1,
        }
    }
    let listed = counts
        .into_iter()
        .map(|(number, [full, limited])| Partition {
            number: format!("{number:#06x}"),
            name: names.get(&number).copied().unwrap_or_default().to_owned(),
            added: state.added_partitions.contains(&number),
            full,
            limited,
        });
    Partitions {
        items: listed.collect(),
    }
}

/// The members of the partition with this name or number.
pub(super) fn members(
    fabric: &FabricState,
    state: &State,
    text: &str,
) -> Result<Vec<PartitionMember>, ApiError> {
    let number = number(state, text)?;
    let snapshot = &*fabric.snapshot;
    let of_partition = memberships(snapshot).filter(|(_, key)| partition_number(*key) == number);
    let found: Vec<PartitionMember> = of_partition
        .map(|(at, key)| PartitionMember::new(end_port_name(snapshot, at), membership(key)))
        .collect();
    if found.is_empty() && !state.partitions.list().iter().any(|p| p.number == number) {
        return Err(ApiError::new(
            ErrorKind::NotFound,
            format!("no port is in partition {number:#06x}, and it is not configured"),
            "`ferrosm partition list` lists the partitions.",
        ));
    }
    Ok(found)
}

/// The number of a partition: by its name in the configuration, or a P_Key with or without the
/// membership bit.
pub(super) fn number(state: &State, text: &str) -> Result<u16, ApiError> {
    let named = state.partitions.list().iter().find(|p| p.name == text);
    if let Some(named) = named {
        return Ok(named.number);
    }
    p_key(text).ok_or_else(|| {
        invalid(format!(
            "no partition is named `{text}`, and it is no P_Key from 0x0001 to 0xffff"
        ))
    })
}

/// The partition of a P_Key with or without the membership bit.
fn p_key(text: &str) -> Option<u16> {
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let parsed = match hex {
        Some(hex) => u16::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    };
    let number = parsed.map(|key| partition_number(PKey(key)));
    number.filter(|number| *number != 0)
}

/// The end ports, each with the best membership in each of its partitions.
fn memberships(snapshot: &Snapshot) -> impl Iterator<Item = (EndPortIdx, PKey)> + '_ {
    snapshot.end_port_indices().flat_map(move |at| {
        let table = snapshot.end_port(at).pkeys.as_ref();
        // Of a partition, full membership precedes limited.
        let best = table
            .map_or(&[][..], |keys| keys.as_slice())
            .chunk_by(|a, b| partition_number(*a) == partition_number(*b))
            .filter_map(|of_partition| of_partition.first());
        best.map(move |key| (at, *key))
    })
}

pub(super) const fn membership(key: PKey) -> Membership {
    if key.0 & FULL == 0 {
        Membership::Limited
    } else {
        Membership::Full
    }
}
