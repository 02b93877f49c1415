//! PortInfo responses: the state of a port, its link, and tables and keys that its device may have
//! lost.

use ferrosm_fabric::observed::{
    ExclusionReason, Node, NodeIdx, NodeRemovalReason, Port, PortRef, STABLE_AFTER, SpeedQuery,
    plausible,
};
use ferrosm_mad::attr::{ExtendedPortInfo, LinkSpeed, PortInfo, PortState, id};
use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_mad::mad::Status;

use super::{Discovery, ReadMode};
use crate::ctx::Ctx;
use crate::discovery::exclusion::{exclude_node, exclude_port};
use crate::effect::Effect;
use crate::event::Event;
use crate::ports::link_rates::rate_fields;
use crate::report::{ActivityKind, ProblemKind};
use crate::smp::op::SmpOp;
use crate::smp::outcome::SmpOutcome;
use crate::smp::route;

/// A plausible PortInfo, before it is stored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PortChange {
    pub(crate) at: PortRef,
    pub(crate) new: PortInfo,
    /// The state before, if it was known.
    old_state: Option<PortState>,
    raw: [u8; 64],
    is_switch: bool,
}

impl PortChange {
    pub(crate) const fn is_external(&self) -> bool {
        self.is_switch && self.at.port.0 != 0
    }
}

impl Discovery {
    /// PortStateChange of a switch was set.
    pub(crate) fn on_port_state_change(&mut self, n: NodeIdx) {
        self.changed_switches.insert(n);
    }

    /// A port of a switch was read. An end port that was reset after its tables were written and
    /// before its link was armed shows it by PortStateChange of the switch only: no port of the
    /// switch has another state than before.
    pub(crate) fn note_port_state(&mut self, ctx: &Ctx<'_>, change: &PortChange) {
        let PortChange { at, new, .. } = change;
        if change.old_state.is_some_and(|old| old != new.port_state) {
            self.explained_changes.insert(at.node);
            return;
        }
        let is_armed_since = ctx
            .fabric
            .port(*at)
            .is_some_and(|port| port.peer_unverified);
        if is_armed_since {
            self.armed_ports.push(*at);
        }
    }

    /// All ports are read: forgets the tables of end ports that may have been reset while they were
    /// configured.
    pub(super) fn forget_unexplained(&mut self, ctx: &mut Ctx<'_>) {
        for at in core::mem::take(&mut self.armed_ports) {
            if self.changed_switches.contains(&at.node)
                && !self.explained_changes.contains(&at.node)
                && let Some(behind) = ctx.fabric.peer(at)
                && let Some(node) = ctx.fabric.get_mut(behind.node)
                && !node.is_switch()
            {
                node.rejections.retry_soon();
                node.forget_port_tables(behind.port);
            }
        }
    }

    /// Queries the node behind an external switch port, where that is needed.
    pub(crate) fn follow_external_port(&mut self, ctx: &mut Ctx<'_>, at: PortRef) {
        let is_unverified = self.unverified.contains(&at);
        let Some(port) = ctx.fabric.port_mut(at) else {
            return;
        };
        let reason = port.exclusion.take().map(|reason| *reason);
        if let Some(ExclusionReason::DuplicateNodeGuid(guid)) = reason {
            self.known_duplicates.insert(at, guid);
        }
        if !port.is_up() {
            // The neighbour that was reported before the port went down is outdated.
            self.neighbours.remove(&at);
            self.disconnect_down_port(ctx, at);
            return;
        }
        // A link that is not active, or became active after its far end was queried, may lead
        // elsewhere by now.
        let is_unproven =
            core::mem::take(&mut port.peer_unverified) || port.state() < PortState::Active;
        let peer = ctx.fabric.peer(at);
        let peer_port = peer.and_then(|p| ctx.fabric.port(p));
        let is_far_excluded = peer_port.is_some_and(|peer_port| peer_port.exclusion.is_some());
        let needs_query =
            !self.is_local() || peer.is_none() || is_unproven || is_unverified || is_far_excluded;
        if needs_query {
            let path = route::shortest(ctx.fabric, at).and_then(|p| p.extend(at.port));
            if path.is_some() {
                ctx.smps.enqueue(SmpOp::NodeInfo(Some(at)));
                // The query verifies both ends of the link.
                if let Some(far) = peer.and_then(|peer| ctx.fabric.port_mut(peer)) {
                    far.peer_unverified = false;
                }
            } else if peer.is_none() {
                // A port with a link is the one over which this switch was reached.
                exclude_port(ctx, at, ExclusionReason::PathTooLong);
            }
        }
    }

    /// A linked port is down: its link is removed. In a local sweep the far end is read for its own
    /// state.
    fn disconnect_down_port(&self, ctx: &mut Ctx<'_>, at: PortRef) {
        let Some(peer) = disconnect(ctx, at) else {
            return;
        };
        if self.is_local() && ctx.fabric.get(peer.node).is_some_and(Node::is_switch) {
            // The known DR path to it may lead over this link.
            ctx.fabric.mark_paths_stale();
            ctx.smps.enqueue(SmpOp::PortInfo(peer));
        }
    }
}

/// Removes the link of a port that is down, or about to be. Returns the port at its other end.
pub(crate) fn disconnect(ctx: &mut Ctx<'_>, at: PortRef) -> Option<PortRef> {
    let name = ctx.fabric.port_name(at);
    let peer = ctx.fabric.disconnect(at)?;
    ctx.effects.push(Effect::RoutesOutdated);
    for (end, other) in [(at, peer), (peer, at)] {
        if let Some(port) = ctx.fabric.port_mut(end) {
            port.last_peer = Some(other);
        }
        let down = NodeRemovalReason::LinkDown;
        ctx.fabric.record_link_loss(end.node, down);
    }
    let peer_name = ctx.fabric.port_name(peer);
    ctx.outbox.emit(Event::LinkDown(name, peer_name));
    Some(peer)
}

/// A PortInfo response: `None` if it cannot be used. A failed read is repeated without the modifier
/// bit of extended speeds.
pub(crate) fn check_port_info(
    ctx: &mut Ctx<'_>,
    at: PortRef,
    status: Status,
    data: &[u8; 64],
    mode: ReadMode,
) -> Option<PortChange> {
    let node = ctx.fabric.get(at.node)?;
    let known_port = node.ports.get(at.port.index()).filter(|port| port.known);
    let change = PortChange {
        at,
        new: PortInfo::decode(data),
        old_state: known_port.map(Port::state),
        raw: *data,
        is_switch: node.is_switch(),
    };
    if !status.is_ok() {
        if retry_without_extended_speeds(ctx, at) {
            return None;
        }
        let attr = id::PORT_INFO;
        on_port_info_failed(ctx, at, ProblemKind::NoResponse { attr }, mode);
        return None;
    }
    let has_link = change.is_external() || !change.is_switch;
    if let Some(reason) = plausible::implausible_port_info(&change.new, has_link) {
        ctx.effects.push(Effect::InvalidResponse);
        if change.is_switch {
            // Plausible values of its other ports may be wrong as well, such as a state that
            // removes a link.
            ctx.effects.push(Effect::RereadSwitchLater(at.node));
        }
        let kind = ProblemKind::excluded(ExclusionReason::Implausible(reason));
        on_port_info_failed(ctx, at, kind, mode);
        return None;
    }
    Some(change)
}

/// A Get of PortInfo was rejected: repeats it without the modifier bit of extended speeds, once. An
/// agent that predates the bit takes it for a part of the port number. Returns whether it is
/// repeated.
fn retry_without_extended_speeds(ctx: &mut Ctx<'_>, at: PortRef) -> bool {
    let Some(node) = ctx.fabric.get_mut(at.node) else {
        return false;
    };
    let query = match node.speed_query(at.port) {
        SpeedQuery::Extended => SpeedQuery::PlainOnce,
        SpeedQuery::ExtendedAgain => SpeedQuery::Plain,
        SpeedQuery::PlainOnce | SpeedQuery::Plain => return false,
    };
    node.set_speed_query(at.port, query);
    ctx.smps.enqueue(SmpOp::PortInfo(at));
    true
}

/// A Get of PortInfo has no response. Repeats it without the modifier bit of extended speeds, if
/// the agent never replied to a request with it. Returns whether it is repeated.
pub(crate) fn retry_unanswered_port_info(ctx: &mut Ctx<'_>, at: PortRef) -> bool {
    let Some(node) = ctx.fabric.get(at.node) else {
        return false;
    };
    let port = node.ports.get(at.port.index());
    let is_unknown = port.is_some_and(|port| !port.known)
        || node.speed_query(at.port) == SpeedQuery::ExtendedAgain;
    is_unknown
        && node.asks_extended_speeds(at.port, false)
        && retry_without_extended_speeds(ctx, at)
}

/// PortInfo was read: the next request is with the modifier bit of extended speeds, except after
/// repeated failures. A port whose speeds may be hidden, because it was read without the bit, is
/// read again.
fn update_speed_query(ctx: &mut Ctx<'_>, at: PortRef) {
    let node = ctx.fabric.get_mut(at.node);
    let Some(node) = node.filter(|node| node.speed_query(at.port) != SpeedQuery::Extended) else {
        return;
    };
    let has_speeds = node.asks_extended_speeds(at.port, false);
    let supports_speeds = node.supports_extended_speeds(at.port) == Some(true);
    let is_port0 = node.is_switch() && at.port == PortNum::ZERO;
    match node.speed_query(at.port) {
        SpeedQuery::PlainOnce if is_port0 => node.set_speed_query(at.port, SpeedQuery::Extended),
        SpeedQuery::PlainOnce => {
            node.set_speed_query(at.port, SpeedQuery::ExtendedAgain);
            if supports_speeds {
                ctx.effects.push(Effect::RereadPortLater(at));
            }
        }
        SpeedQuery::ExtendedAgain if has_speeds => {
            node.set_speed_query(at.port, SpeedQuery::Extended);
        }
        SpeedQuery::Extended | SpeedQuery::ExtendedAgain | SpeedQuery::Plain => {}
    }
}

/// Stores a PortInfo. Tables and keys that the device may have lost are unknown from now on.
/// Returns whether the port is present.
pub(crate) fn store_port_info(ctx: &mut Ctx<'_>, change: &PortChange, mode: ReadMode) -> bool {
    let PortChange { at, new, raw, .. } = change;
    let this_sweep = ctx.fabric.full_sweep_number();
    let Some(node) = ctx.fabric.get_mut(at.node) else {
        return false;
    };
    let known_port0 = node.ports.first().filter(|p| p.known);
    // A switch that lost its LID rebooted and lost its tables. Its SwitchInfo may have been read
    // before.
    if change.is_switch
        && at.port == PortNum::ZERO
        && known_port0.is_some_and(|port0| {
            let known_lid = PortInfo::lid.read(&port0.raw);
            known_lid != new.lid && (known_lid != Lid::NONE || node.lft.installed.is_some())
        })
    {
        node.forget_tables();
        if new.lid == Lid::NONE {
            ctx.effects.push(Effect::SwitchRestarted(at.node));
        }
        ctx.effects.push(Effect::RoutesOutdated);
        if mode.activity.follows_responses() {
            ctx.smps.enqueue(SmpOp::SwitchInfo(at.node));
        } else {
            ctx.effects.push(Effect::RereadSwitch(at.node));
            ctx.effects.push(Effect::RequestLocalSweep);
        }
    }
    let has_own_keys = !change.is_switch || at.port == PortNum::ZERO;
    let is_down = !change.is_switch
        && new.port_state < PortState::Armed
        && mode.activity != ActivityKind::LightSweep;
    let is_reset = |port: &Port| is_down || PortInfo::lid.read(&port.raw) != new.lid;
    if has_own_keys
        && let Some(port) = node.ports.get(at.port.index())
        && (!port.known || is_reset(port))
    {
        ctx.effects.push(Effect::PortReset(port.guid));
    }
    // An end port whose link was down, or that lost its LID, may have lost its tables.
    if has_own_keys
        && let Some(port) = node.ports.get(at.port.index())
        && port.known
        && is_reset(port)
    {
        // One that stays down, because it rejects PortInfo, is no new device.
        if port.state() >= PortState::Armed || PortInfo::lid.read(&port.raw) != new.lid {
            node.rejections.retry_soon();
        }
        node.forget_port_tables(at.port);
    }
    let Some(port) = node.ports.get_mut(at.port.index()) else {
        return false;
    };
    let has_fallen = port.known && new.port_state < port.state();
    if has_fallen {
        port.stable_from = ctx.now + STABLE_AFTER;
    }
    port.known = true;
    port.seen = this_sweep;
    let has_link = change.is_external() || !change.is_switch;
    // A full sweep checks the rates of all links.
    let is_full = mode.activity.is_full_discovery();
    if has_link
        && !is_full
        && new.port_state != PortState::Down
        && rate_fields(&port.raw) != rate_fields(raw)
    {
        ctx.effects.push(Effect::RateChanged(*at));
    }
    if new.port_state == PortState::Down && has_link {
        // Of a port that is down only the states are valid (IBA vol. 1, 14.2.5.6). A base port 0
        // has no link that can be down.
        let mut states = *port.raw;
        PortInfo::link_speed_supported.write(&mut states, new.link_speed_supported);
        PortInfo::port_state.write(&mut states, new.port_state);
        PortInfo::port_physical_state.write(&mut states, new.port_physical_state);
        PortInfo::link_down_default_state.write(&mut states, new.link_down_default_state);
        node.store_port_info(at.port, &states);
    } else {
        node.store_port_info(at.port, raw);
    }
    if has_fallen && change.is_external() {
        on_link_lost(ctx, *at);
    }
    update_speed_query(ctx, *at);
    true
}

/// The state of a switch port fell: the end port behind it may have been reset, and its link may be
/// active again before the end port is read.
fn on_link_lost(ctx: &mut Ctx<'_>, at: PortRef) {
    ctx.effects.push(Effect::LinkLost(at));
    let Some(behind) = ctx.fabric.peer(at) else {
        return;
    };
    if let Some(node) = ctx.fabric.get_mut(behind.node)
        && !node.is_switch()
    {
        node.rejections.retry_soon();
        node.forget_port_tables(behind.port);
    }
}

/// FDR10 is a vendor's speed that PortInfo reports as QDR: ExtendedPortInfo distinguishes them.
pub(crate) fn read_fdr10(ctx: &mut Ctx<'_>, change: &PortChange, mode: ReadMode) {
    let node = ctx.fabric.get(change.at.node);
    let is_up = change.new.port_state > PortState::Down;
    if mode.activity.follows_responses()
        && node.is_some_and(Node::may_know_fdr10)
        && is_up
        && change.new.speed() == Some(LinkSpeed::Qdr)
    {
        ctx.smps.enqueue(SmpOp::MlnxExtPortInfo(change.at));
    }
}

/// A PortInfo request timed out, or its response was implausible.
pub(crate) fn on_port_info_failed(
    ctx: &mut Ctx<'_>,
    at: PortRef,
    kind: ProblemKind,
    mode: ReadMode,
) {
    let is_unanswered = matches!(kind, ProblemKind::NoResponse { .. });
    ctx.effects.port_problem(at, kind);
    let is_switch = ctx.fabric.get(at.node).is_some_and(Node::is_switch);
    if !is_switch
        && let Some(peer) = ctx.fabric.peer(at)
        && let Some(port) = ctx.fabric.port_mut(peer)
    {
        // The NodeInfo by which it was found may have been wrong: the port on the other side asks
        // again who is behind it.
        port.peer_unverified = true;
        ctx.effects.push(Effect::RereadPortLater(peer));
    }
    let is_full = mode.activity.is_full_discovery();
    if is_full && at.port == PortNum::ZERO && is_switch {
        let was_read = ctx.fabric.port(at).is_some_and(|port| port.known);
        if is_unanswered && was_read && mode.keeps_unresponsive {
            ctx.effects.push(Effect::SwitchUnread(at.node));
            return;
        }
        exclude_node(ctx, at.node, ExclusionReason::NoResponse);
    }
}

/// ExtendedPortInfo was read. An agent without the vendor's attribute may be silent.
pub(crate) fn on_ext_port_info(ctx: &mut Ctx<'_>, at: PortRef, outcome: &SmpOutcome) {
    if matches!(outcome, SmpOutcome::Unanswered) {
        return;
    }
    if let Some(port) = ctx.fabric.port_mut(at) {
        let info = outcome.data().map(ExtendedPortInfo::decode);
        port.fdr10 = info.is_some_and(|info| info.link_speed_active & 1 != 0);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ferrosm_mad::attr::{NodeInfo, NodeType, SwitchInfo};
    use ferrosm_mad::smp::DrPath;
    use ferrosm_routing::Lft;

    use super::*;
    use crate::ctx::tests::TestContext;
    use crate::report::{Phase, SweepKind};
    use ferrosm_fabric::observed::ObservedFabric;

    /// A switch rebooted after its SwitchInfo was read, which its port 0 shows by its LID:
    /// LinearFDBTop is read again.
    #[test]
    fn switch_that_lost_its_lid_is_read_again() {
        let mut node = Node::new(
            NodeInfo {
                node_type: NodeType::Switch,
                num_ports: 2,
                ..NodeInfo::default()
            },
            DrPath::LOCAL,
        );
        let info = SwitchInfo {
            linear_fdb_top: 10,
            ..SwitchInfo::default()
        };
        node.switch_raw = Some(info.encode());
        node.lft.installed = Some(Arc::new(Lft::from_entries(vec![1; 64])));
        let with_lid = |lid| PortInfo {
            lid: Lid(lid),
            port_state: PortState::Active,
            ..PortInfo::default()
        };
        node.ports[0].known = true;
        node.ports[0].raw = with_lid(5).encode().into();
        let mut fabric = ObservedFabric::default();
        let n = fabric.add_node(node);
        let mut test = TestContext::new(fabric);
        let ctx = &mut test.ctx();
        let mode = ReadMode {
            activity: ActivityKind::Sweep(SweepKind::Full, Phase::Discover),
            is_master: true,
            keeps_unresponsive: true,
        };
        for (lid, reads) in [(5, 0), (0, 1), (0, 1)] {
            let new = with_lid(lid);
            let change = PortChange {
                at: PortRef::new(n, PortNum::ZERO),
                new,
                old_state: None,
                raw: new.encode(),
                is_switch: true,
            };
            assert!(store_port_info(ctx, &change, mode));
            assert_eq!(ctx.smps.pending(), reads, "LID {lid}");
            let is_known = ctx
                .fabric
                .get(n)
                .is_some_and(|node| node.lft.installed.is_some());
            assert_eq!(is_known, reads == 0, "LID {lid}");
        }
    }
}
