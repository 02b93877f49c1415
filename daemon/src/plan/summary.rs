//! What the writes of a plan change.

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_api::plan::{
    Plan, PlannedLids, PlannedPKey, PlannedPorts, PlannedTables, PlannedWrite, PresentSm, SetCount,
};
use ferrosm_core::SweepReport;
use ferrosm_mad::attr::{
    NodeDescription, NodeInfo, NodeType, PKeyBlock, PortInfo, PortState, SmInfo, SmState, id,
};
use ferrosm_mad::ids::{AttrId, Lid, PortGuid};

use super::planned_port::{AttrData, Planned, PlannedSet, ReachedDevice};
use crate::api::role;
use crate::output::report::problem_lines;

/// The SM that plans.
#[derive(Debug, Clone, Copy)]
pub struct OwnSm {
    pub guid: PortGuid,
    pub priority: u8,
}

/// Sums up a plan. `awaits_consent` is what the SM would not remove.
#[must_use]
pub fn summarize(
    planned: &Planned,
    report: &SweepReport,
    own: OwnSm,
    awaits_consent: Option<String>,
    lists_writes: bool,
) -> Plan {
    let changes = changes(planned);
    let writes = planned.sets.iter().filter(|_| lists_writes);
    Plan {
        sms: present_sms(planned, own, awaits_consent.is_some()),
        awaits_consent,
        lids: lids(planned, &changes),
        p_keys: p_keys(planned, &changes),
        ports: ports(planned, &changes),
        tables: tables(planned, &changes),
        sets: set_counts(planned),
        engine: report.engine.to_owned(),
        problems: problem_lines(&report.problems),
        violations: Vec::new(),
        writes: writes.map(|set| described(planned, set)).collect(),
    }
}

/// An attribute that is written: before the first write, and after the last one.
#[derive(Debug, Clone, Copy)]
struct Change<'a> {
    device: ReachedDevice,
    modifier: u32,
    before: Option<&'a AttrData>,
    after: &'a AttrData,
    writes: usize,
    /// One of the writes has ClientReregister.
    reregisters: bool,
}

/// The attributes that are written, by attribute.
type Changes<'a> = BTreeMap<u16, Vec<Change<'a>>>;

fn changes(planned: &Planned) -> Changes<'_> {
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

fn of<'a, 'b>(changes: &'b Changes<'a>, attr: AttrId) -> &'b [Change<'a>] {
    changes.get(&attr.0).map_or(&[], Vec::as_slice)
}

fn name(planned: &Planned, device: ReachedDevice) -> String {
    let description = planned.attr(device, id::NODE_DESCRIPTION);
    description.map_or_else(String::new, |data| {
        NodeDescription::decode(data).to_string()
    })
}

/// Whether a PortInfo is that of an end port: of a channel adapter, a router, or port 0 of a
/// switch.
fn is_end_port(planned: &Planned, device: ReachedDevice, modifier: u32) -> bool {
    modifier & 0xFF == 0 || !planned.is_switch(device)
}

fn present_sms(planned: &Planned, own: OwnSm, awaits_consent: bool) -> Vec<PresentSm> {
    let infos = planned
        .read()
        .filter(|((_, attr, _), _)| *attr == id::SM_INFO);
    let found = infos.map(|((device, ..), data)| (SmInfo::decode(data), device));
    let others: BTreeMap<PortGuid, (SmInfo, ReachedDevice)> = found
        .filter(|(info, _)| info.guid != own.guid)
        .map(|(info, device)| (info.guid, (info, device)))
        .collect();
    let mut sms: Vec<PresentSm> = others
        .into_values()
        .map(|(info, device)| PresentSm {
            guid: info.guid.to_string(),
            name: name(planned, device),
            priority: info.priority,
            state: role(info.sm_state),
            reaction: reaction(&info, own, awaits_consent),
        })
        .collect();
    sms.sort_by_key(|sm| sm.state != ferrosm_api::answer::Role::Master);
    sms
}

/// What another SM would do if this SM started, by the rules of the election (IBA vol. 1, 14.4.1).
fn reaction(other: &SmInfo, own: OwnSm, awaits_consent: bool) -> String {
    let why = match own.priority.cmp(&other.priority) {
        core::cmp::Ordering::Greater => "its priority is lower",
        core::cmp::Ordering::Less => "its priority is higher",
        core::cmp::Ordering::Equal if own.guid < other.guid => {
            "equal priority, and the port GUID of this SM is lower"
        }
        core::cmp::Ordering::Equal => "equal priority, and its port GUID is lower",
    };
    let outranks = (own.priority, core::cmp::Reverse(own.guid))
        > (other.priority, core::cmp::Reverse(other.guid));
    match (other.sm_state, outranks) {
        (SmState::Master, true) if awaits_consent => {
            "stays master, and this SM becomes standby, because it takes no handover before consent; \
             the following is what it writes when that SM ends"
                .to_owned()
        }
        (SmState::Master, true) => format!("hands over to this SM at once: {why}"),
        (SmState::Master, false) => format!("stays master, and this SM becomes standby: {why}"),
        _ => String::new(),
    }
}

fn lids(planned: &Planned, changes: &Changes<'_>) -> PlannedLids {
    let mut lids = PlannedLids::default();
    let mut written = BTreeSet::new();
    for change in of(changes, id::PORT_INFO) {
        if !is_end_port(planned, change.device, change.modifier) {
            continue;
        }
        let before = change
            .before
            .map_or(Lid::NONE, |data| PortInfo::lid.read(data));
        let after = PortInfo::lid.read(change.after);
        written.insert((change.device, change.modifier));
        if before == after {
            lids.kept += usize::from(after != Lid::NONE);
        } else if before == Lid::NONE {
            lids.assigned += 1;
        } else {
            lids.changed += 1;
        }
    }
    let unwritten = planned.read().filter(|((device, attr, modifier), data)| {
        *attr == id::PORT_INFO
            && is_end_port(planned, *device, modifier.0)
            && PortInfo::lid.read(data) != Lid::NONE
            && !written.contains(&(*device, modifier.0))
    });
    lids.kept += unwritten.count();
    lids
}

fn p_keys(planned: &Planned, changes: &Changes<'_>) -> Vec<PlannedPKey> {
    // The tables of end ports; those of switch ports follow from them.
    let mut tables: BTreeMap<ReachedDevice, [BTreeSet<u16>; 2]> = BTreeMap::new();
    for change in of(changes, id::PKEY_TABLE) {
        if planned.is_switch(change.device) && change.modifier >> 16 != 0 {
            continue;
        }
        let [before, after] = tables.entry(change.device).or_default();
        let keys = |data: &AttrData| PKeyBlock::decode(data).keys.map(|key| key.0);
        before.extend(change.before.map(keys).into_iter().flatten());
        after.extend(keys(change.after));
    }
    let mut counts: BTreeMap<u16, [usize; 2]> = BTreeMap::new();
    for [before, after] in tables.values() {
        for key in before.difference(after).filter(|key| **key & 0x7FFF != 0) {
            counts.entry(*key).or_default()[0] += 1;
        }
        for key in after.difference(before).filter(|key| **key & 0x7FFF != 0) {
            counts.entry(*key).or_default()[1] += 1;
        }
    }
    counts
        .into_iter()
        .map(|(key, [removed, added])| PlannedPKey {
            p_key: format!("{key:#06x}"),
            removed,
            added,
        })
        .collect()
}

fn ports(planned: &Planned, changes: &Changes<'_>) -> PlannedPorts {
    let mut ports = PlannedPorts::default();
    for change in of(changes, id::PORT_INFO) {
        let before = change.before.map(PortInfo::decode).unwrap_or_default();
        let after = PortInfo::decode(change.after);
        let is_active = before.port_state == PortState::Active;
        let becomes_active = !is_active && after.port_state == PortState::Active;
        ports.activated += usize::from(becomes_active);
        let link = |info: &PortInfo| (info.neighbor_mtu, info.operational_vls);
        let is_end_port = is_end_port(planned, change.device, change.modifier);
        // Port 0 of a switch has no link.
        let has_link = !is_end_port || !planned.is_switch(change.device);
        let is_changed = is_active && link(&before) != link(&after);
        ports.link_changed += usize::from(has_link && is_changed);
        if !is_end_port {
            continue;
        }
        let m_key = |info: &PortInfo| (info.m_key, info.m_key_protect_bits);
        ports.m_key_changed += usize::from(m_key(&before) != m_key(&after));
        ports.lmc_changed += usize::from(before.lmc != after.lmc);
        ports.sm_lid_changed += usize::from(before.master_sm_lid != after.master_sm_lid);
        ports.reregistered += usize::from(change.reregisters);
    }
    ports
}

fn tables(planned: &Planned, changes: &Changes<'_>) -> PlannedTables {
    let writes = |attr| of(changes, attr).iter().map(|change| change.writes).sum();
    let lft = of(changes, id::LFT).iter();
    let lft_entries = lft.map(|change| match change.before {
        Some(before) => before
            .iter()
            .zip(change.after)
            .filter(|(a, b)| a != b)
            .count(),
        None => change.after.iter().filter(|port| **port != 0xFF).count(),
    });
    let switches: BTreeSet<_> = planned
        .read()
        .filter(|((_, attr, _), _)| *attr == id::NODE_INFO)
        .map(|(_, data)| NodeInfo::decode(data))
        .filter(|info| info.node_type == NodeType::Switch)
        .map(|info| info.node_guid)
        .collect();
    PlannedTables {
        switches: switches.len(),
        lft_blocks: writes(id::LFT),
        lft_entries: lft_entries.sum(),
        mft_blocks: writes(id::MFT),
        sl_to_vl: writes(id::SL_TO_VL),
        vl_arbitration: writes(id::VL_ARBITRATION),
    }
}

fn set_counts(planned: &Planned) -> Vec<SetCount> {
    let mut counts: Vec<SetCount> = Vec::new();
    for set in &planned.sets {
        let attribute = attr_name(set.at.1);
        match counts.iter_mut().find(|count| count.attribute == attribute) {
            Some(count) => count.count += 1,
            None => counts.push(SetCount {
                attribute,
                count: 1,
            }),
        }
    }
    counts
}

fn attr_name(attr: AttrId) -> String {
    id::name(attr).map_or_else(|| format!("{:#06x}", attr.0), str::to_owned)
}

fn described(planned: &Planned, set: &PlannedSet) -> PlannedWrite {
    let (device, attr, modifier) = set.at;
    // M_Keys are not shown.
    let shown = |data: &AttrData| {
        let mut data = *data;
        if attr == id::PORT_INFO {
            data[..8].fill(0);
        }
        hex::encode(data)
    };
    PlannedWrite {
        node: name(planned, device),
        path: set.path.to_string(),
        attribute: attr_name(attr),
        modifier: modifier.0,
        before: set.before.as_ref().map(shown).unwrap_or_default(),
        after: shown(&set.after),
    }
}
