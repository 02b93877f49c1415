//! What the writes of a plan change.

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_api::plan::{
    Plan, PlannedEffect, PlannedLids, PlannedPKey, PlannedPorts, PlannedTables, PlannedWrite,
    PresentSm, SetCount,
};
use ferrosm_core::SweepReport;
use ferrosm_mad::attr::{NodeInfo, NodeType, PortInfo, SmInfo, SmState, id};
use ferrosm_mad::ids::{Lid, PortGuid};

use super::changes::{Changes, attr_name, changes, count_set, is_end_port, name, of, p_key_tables};
use super::nodes::{PortEffect, planned_nodes, port_effects};
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
    let effects = port_effects(planned, &changes);
    let writes = planned.sets.iter().filter(|_| lists_writes);
    Plan {
        sms: present_sms(planned, own, awaits_consent.is_some()),
        awaits_consent,
        lids: lids(planned, &changes),
        p_keys: p_keys(planned, &changes),
        ports: ports(&effects),
        tables: tables(planned, &changes),
        sets: set_counts(planned),
        nodes: planned_nodes(planned, &effects),
        engine: report.engine.to_owned(),
        problems: problem_lines(&report.problems),
        violations: Vec::new(),
        writes: writes.map(|set| described(planned, set)).collect(),
    }
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
    let mut counts: BTreeMap<u16, [usize; 2]> = BTreeMap::new();
    for [before, after] in p_key_tables(planned, changes).values() {
        for key in before.difference(after) {
            counts.entry(*key).or_default()[0] += 1;
        }
        for key in after.difference(before) {
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

fn ports(effects: &[PortEffect]) -> PlannedPorts {
    let mut ports = PlannedPorts::default();
    for PortEffect { effect, .. } in effects {
        let count = match effect {
            PlannedEffect::Activated => &mut ports.activated,
            PlannedEffect::LinkChanged => &mut ports.link_changed,
            PlannedEffect::MKeyChanged => &mut ports.m_key_changed,
            PlannedEffect::LmcChanged => &mut ports.lmc_changed,
            PlannedEffect::SmLidChanged => &mut ports.sm_lid_changed,
            PlannedEffect::Reregistered => &mut ports.reregistered,
            PlannedEffect::LidChanged
            | PlannedEffect::LidAssigned
            | PlannedEffect::PKeyRemoved
            | PlannedEffect::PKeyAdded => continue,
        };
        *count += 1;
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
        count_set(&mut counts, set);
    }
    counts
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
