//! The attributes that a plan writes: before the first write, and after the last one.

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_api::plan::SetCount;
use ferrosm_mad::attr::{NodeDescription, PKeyBlock, PortInfo, id};
use ferrosm_mad::ids::AttrId;

use super::planned_port::{AttrData, Planned, PlannedSet, ReachedDevice};

/// An attribute that is written: before the first write, and after the last one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change<'a> {
    pub(super) device: ReachedDevice,
    pub(super) modifier: u32,
    pub(super) before: Option<&'a AttrData>,
    pub(super) after: &'a AttrData,
    pub(super) writes: usize,
    /// One of the writes has ClientReregister.
    pub(super) reregisters: bool,
}

/// The attributes that are written, by attribute.
pub(super) type Changes<'a> = BTreeMap<u16, Vec<Change<'a>>>;

pub(super) fn changes(planned: &Planned) -> Changes<'_> {
    let mut merged: BTreeMap<_, Change<'_>> = BTreeMap::new();
    for set in &planned.sets {
        let (device, attr, modifier) = set.at;
        let change = merged.entry(set.at).or_insert(Change {
            device,
            modifier: modifier.0,
            before: set.before.as_ref(),
            after: &set.after,
            writes: 0,
            reregisters: false,
        });
        change.after = &set.after;
        change.writes += 1;
        change.reregisters |= attr == id::PORT_INFO && PortInfo::client_reregister.read(&set.after);
    }
    let mut changes = Changes::new();
    for ((_, attr, _), change) in merged {
        changes.entry(attr.0).or_default().push(change);
    }
    changes
}

pub(super) fn of<'a, 'b>(changes: &'b Changes<'a>, attr: AttrId) -> &'b [Change<'a>] {
    changes.get(&attr.0).map_or(&[], Vec::as_slice)
}

pub(super) fn name(planned: &Planned, device: ReachedDevice) -> String {
    let description = planned.attr(device, id::NODE_DESCRIPTION);
    description.map_or_else(String::new, |data| {
        NodeDescription::decode(data).to_string()
    })
}

/// Whether a PortInfo is that of an end port: of a channel adapter, a router, or port 0 of a
/// switch.
pub(super) fn is_end_port(planned: &Planned, device: ReachedDevice, modifier: u32) -> bool {
    modifier & 0xFF == 0 || !planned.is_switch(device)
}

/// P_Keys before and after the writes to a table.
type KeysBeforeAndAfter = [BTreeSet<u16>; 2];

/// The P_Keys of end ports whose tables are written. The tables of switch ports follow from them.
pub(super) fn p_key_tables(
    planned: &Planned,
    changes: &Changes<'_>,
) -> BTreeMap<ReachedDevice, KeysBeforeAndAfter> {
    let mut tables: BTreeMap<ReachedDevice, KeysBeforeAndAfter> = BTreeMap::new();
    for change in of(changes, id::PKEY_TABLE) {
        if planned.is_switch(change.device) && change.modifier >> 16 != 0 {
            continue;
        }
        let [before, after] = tables.entry(change.device).or_default();
        before.extend(change.before.into_iter().flat_map(p_keys_of));
        after.extend(p_keys_of(change.after));
    }
    tables
}

/// The P_Keys of a block of a table, without empty entries.
fn p_keys_of(data: &AttrData) -> impl Iterator<Item = u16> {
    let keys = PKeyBlock::decode(data).keys.into_iter();
    keys.map(|key| key.0).filter(|key| key & 0x7FFF != 0)
}

/// Counts a write.
pub(super) fn count_set(counts: &mut Vec<SetCount>, set: &PlannedSet) {
    let attribute = attr_name(set.at.1);
    match counts.iter_mut().find(|count| count.attribute == attribute) {
        Some(count) => count.count += 1,
        None => counts.push(SetCount {
            attribute,
            count: 1,
        }),
    }
}

pub(super) fn attr_name(attr: AttrId) -> String {
    id::name(attr).map_or_else(|| format!("{:#06x}", attr.0), str::to_owned)
}
