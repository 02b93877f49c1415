//! What a plan writes to each node, and what that changes at its ports.

use std::collections::BTreeMap;

use ferrosm_api::plan::{EffectAtPorts, PlannedEffect, WrittenNode};
use ferrosm_mad::attr::{NodeInfo, PortInfo, PortState, id};
use ferrosm_mad::ids::{Lid, NodeGuid};

use super::changes::{Change, Changes, count_set, is_end_port, name, of, p_key_tables};
use super::planned_port::{Planned, ReachedDevice};
use crate::api::node_kind;

/// What changes at a port.
#[derive(Debug, Clone, Copy)]
pub(super) struct PortEffect {
    device: ReachedDevice,
    port: u8,
    pub(super) effect: PlannedEffect,
}

/// The nodes that are written to, by GUID.
pub(super) fn planned_nodes(planned: &Planned, effects: &[PortEffect]) -> Vec<WrittenNode> {
    let mut nodes: BTreeMap<NodeGuid, WrittenNode> = BTreeMap::new();
    for set in &planned.sets {
        // Discovery reads NodeInfo before anything else.
        let Some(info) = node_info(planned, set.at.0) else {
            continue;
        };
        let node = nodes.entry(info.node_guid).or_insert_with(|| WrittenNode {
            guid: info.node_guid.to_string(),
            name: name(planned, set.at.0),
            kind: node_kind(info.node_type),
            sets: Vec::new(),
            effects: Vec::new(),
        });
        count_set(&mut node.sets, set);
    }
    for effect in effects {
        let info = node_info(planned, effect.device);
        if let Some(node) = info.and_then(|info| nodes.get_mut(&info.node_guid)) {
            add_effect(&mut node.effects, effect.effect, effect.port);
        }
    }
    nodes.into_values().collect()
}

fn node_info(planned: &Planned, device: ReachedDevice) -> Option<NodeInfo> {
    planned.attr(device, id::NODE_INFO).map(NodeInfo::decode)
}

fn add_effect(effects: &mut Vec<EffectAtPorts>, effect: PlannedEffect, port: u8) {
    match effects.iter_mut().find(|known| known.effect == effect) {
        Some(known) if known.ports.contains(&port) => {}
        Some(known) => known.ports.push(port),
        None => effects.push(EffectAtPorts {
            effect,
            ports: vec![port],
        }),
    }
}

/// The port of an attribute: of a channel adapter or router the one at which it was reached.
fn port_of(planned: &Planned, device: ReachedDevice, modifier: u32) -> u8 {
    match node_info(planned, device) {
        Some(info) if !planned.is_switch(device) => info.local_port_num.0,
        Some(_) | None => modifier.to_le_bytes()[0],
    }
}

/// What changes at ports, by the order of devices.
pub(super) fn port_effects(planned: &Planned, changes: &Changes<'_>) -> Vec<PortEffect> {
    let mut effects = Vec::new();
    for change in of(changes, id::PORT_INFO) {
        let device = change.device;
        let port = port_of(planned, device, change.modifier);
        effects.extend(effects_of(planned, change).map(|effect| PortEffect {
            device,
            port,
            effect,
        }));
    }
    effects.extend(p_key_effects(planned, changes));
    effects
}

fn effects_of(planned: &Planned, change: &Change<'_>) -> impl Iterator<Item = PlannedEffect> {
    let before = change.before.map(PortInfo::decode).unwrap_or_default();
    let after = PortInfo::decode(change.after);
    let was_active = before.port_state == PortState::Active;
    let is_end_port = is_end_port(planned, change.device, change.modifier);
    // Port 0 of a switch has no link.
    let has_link = !is_end_port || !planned.is_switch(change.device);
    let link = |info: &PortInfo| (info.neighbor_mtu, info.operational_vls);
    let m_key = |info: &PortInfo| (info.m_key, info.m_key_protect_bits);
    let has_another_lid = is_end_port && before.lid != after.lid;
    [
        (
            has_another_lid && before.lid != Lid::NONE,
            PlannedEffect::LidChanged,
        ),
        (
            has_link && was_active && link(&before) != link(&after),
            PlannedEffect::LinkChanged,
        ),
        (
            is_end_port && m_key(&before) != m_key(&after),
            PlannedEffect::MKeyChanged,
        ),
        (
            is_end_port && before.lmc != after.lmc,
            PlannedEffect::LmcChanged,
        ),
        (
            has_another_lid && before.lid == Lid::NONE,
            PlannedEffect::LidAssigned,
        ),
        (
            !was_active && after.port_state == PortState::Active,
            PlannedEffect::Activated,
        ),
        (
            is_end_port && before.master_sm_lid != after.master_sm_lid,
            PlannedEffect::SmLidChanged,
        ),
        (
            is_end_port && change.reregisters,
            PlannedEffect::Reregistered,
        ),
    ]
    .into_iter()
    .filter(|(is_so, _)| *is_so)
    .map(|(_, effect)| effect)
}

/// P_Keys that end ports lose and gain.
fn p_key_effects(planned: &Planned, changes: &Changes<'_>) -> Vec<PortEffect> {
    let mut effects = Vec::new();
    for (device, [before, after]) in p_key_tables(planned, changes) {
        let port = port_of(planned, device, 0);
        let found = [
            (!before.is_subset(&after)).then_some(PlannedEffect::PKeyRemoved),
            (!after.is_subset(&before)).then_some(PlannedEffect::PKeyAdded),
        ];
        effects.extend(found.into_iter().flatten().map(|effect| PortEffect {
            device,
            port,
            effect,
        }));
    }
    effects
}
