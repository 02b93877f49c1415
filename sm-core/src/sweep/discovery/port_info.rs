//! PortInfo responses: the state of a port, its link, and tables and keys that its device may have lost.

use ferrosm_mad::attr::{ExtendedPortInfo, LinkSpeed, PortInfo, PortState, id};
use ferrosm_mad::ids::{AttrMod, PortNum};
use ferrosm_mad::mad::Status;

use super::{Discovery, ReadMode, ReadPhase};
use crate::ctx::Ctx;
use crate::event::{Event, NodeRemovalReason};
use crate::link_rates::rate_bytes;
use crate::report::{ProblemKind, QuarantineReason};
use crate::smp::op::SmpOp;
use crate::smp::outcome::SmpOutcome;
use crate::smp::route;
use crate::subnet::{Node, PortRef, STABLE_AFTER, plausible};
use crate::sweep::ScopeKind;
use crate::sweep::quarantine::{exclude_node, quarantine};

/// A plausible PortInfo, before it is stored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PortChange {
    pub(crate) at: PortRef,
    pub(crate) new: PortInfo,
    raw: [u8; 64],
    is_switch: bool,
}

impl PortChange {
    pub(crate) const fn is_external(&self) -> bool {
        self.is_switch && self.at.port.0 != 0
    }
}

impl Discovery {
    /// Queries the node behind an external switch port, where that is needed.
    pub(crate) fn follow_external_port(&mut self, ctx: &mut Ctx<'_>, at: PortRef) {
        let is_unverified = self.unverified.contains(&at);
        let Some(port) = ctx.fabric.port_mut(at) else {
            return;
        };
        let reason = port.quarantine.take().map(|reason| *reason);
        if let Some(QuarantineReason::DuplicateNodeGuid(guid)) = reason {
            self.known_duplicates.insert(at, guid);
        }
        if !port.is_up() {
            // The neighbour that was reported before the port went down is outdated.
            self.neighbours.remove(&at);
            self.disconnect_down_port(ctx, at);
            return;
        }
        // A link that is not active, or became active after its far end was queried, may lead elsewhere by now.
        let is_unproven =
            core::mem::take(&mut port.peer_unverified) || port.state() < PortState::Active;
        let peer = ctx.fabric.peer(at);
        let peer_port = peer.and_then(|p| ctx.fabric.port(p));
        let is_far_quarantined = peer_port.is_some_and(|peer_port| peer_port.quarantine.is_some());
        let needs_query = !self.is_local()
            || peer.is_none()
            || is_unproven
            || is_unverified
            || is_far_quarantined;
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
                quarantine(ctx, at, QuarantineReason::PathTooLong);
            }
        }
    }

    /// A linked port is down: its link is removed. In a local sweep the far end is read for its own state.
    fn disconnect_down_port(&self, ctx: &mut Ctx<'_>, at: PortRef) {
        let name = ctx.fabric.port_name(at);
        let Some(peer) = ctx.fabric.disconnect(at) else {
            return;
        };
        ctx.effects.routing_stale = true;
        for (end, other) in [(at, peer), (peer, at)] {
            if let Some(port) = ctx.fabric.port_mut(end) {
                port.last_peer = Some(other);
            }
            let down = NodeRemovalReason::LinkDown;
            ctx.fabric.record_link_loss(end.node, down);
        }
        let peer_name = ctx.fabric.port_name(peer);
        ctx.outbox.emit(Event::LinkDown(name, peer_name));
        if self.is_local() && ctx.fabric.get(peer.node).is_some_and(Node::is_switch) {
            // The known DR path to it may lead over this link.
            ctx.fabric.mark_paths_stale();
            ctx.smps.enqueue(SmpOp::PortInfo(peer));
        }
    }
}

/// A PortInfo response: `None` if it cannot be used. A failed read is retried in another form if the agent may not know the modifier.
pub(crate) fn check_port_info(
    ctx: &mut Ctx<'_>,
    at: PortRef,
    (modifier, status): (AttrMod, Status),
    data: &[u8; 64],
    mode: ReadMode,
) -> Option<PortChange> {
    let node = ctx.fabric.get(at.node)?;
    let change = PortChange {
        at,
        new: PortInfo::decode(data),
        raw: *data,
        is_switch: node.is_switch(),
    };
    if !status.is_ok() {
        let extended = modifier.0 & PortInfo::EXTENDED_SPEEDS_MOD != 0;
        let retries_left = node.port_info_refusals <= u16::from(node.info.num_ports);
        if status.is_bad_field() && extended && retries_left {
            // An agent without extended speeds takes the top bit of the modifier for a part of the port number. All ports of a switch
            // are read before the first rejection arrives, so each may be rejected once.
            if let Some(node) = ctx.fabric.get_mut(at.node) {
                node.rejects_extended_speeds = true;
                node.port_info_refusals += 1;
            }
            ctx.smps.enqueue(SmpOp::PortInfo(at));
            return None;
        }
        let attr = id::PORT_INFO;
        on_port_info_failed(ctx, at, ProblemKind::NoResponse { attr }, mode);
        return None;
    }
    let has_link = change.is_external() || !change.is_switch;
    if let Some(reason) = plausible::implausible_port_info(&change.new, has_link) {
        ctx.effects.invalid_response = true;
        let kind = ProblemKind::quarantined(QuarantineReason::Implausible(reason));
        on_port_info_failed(ctx, at, kind, mode);
        return None;
    }
    Some(change)
}

/// Stores a PortInfo. Tables and keys that the device may have lost are unknown from now on. Returns whether the port is present.
pub(crate) fn store_port_info(ctx: &mut Ctx<'_>, change: &PortChange, mode: ReadMode) -> bool {
    let PortChange { at, new, raw, .. } = change;
    let this_sweep = ctx.fabric.full_sweep_number();
    let Some(node) = ctx.fabric.get_mut(at.node) else {
        return false;
    };
    let known_port0 = node.ports.first().filter(|p| p.known);
    // A switch that lost its LID rebooted and lost its tables.
    if change.is_switch
        && at.port == PortNum::ZERO
        && node.installed.is_some()
        && known_port0.is_some_and(|port0| port0.info().lid != new.lid)
    {
        node.forget_tables();
        ctx.effects.routing_stale = true;
    }
    let has_own_keys = !change.is_switch || at.port == PortNum::ZERO;
    let is_down = !change.is_switch
        && new.port_state < PortState::Armed
        && mode.phase != ReadPhase::LightSweep;
    let Some(port) = node.ports.get_mut(at.port.index()) else {
        return false;
    };
    // An end port whose link was down, or that lost its LID, may have lost its P_Keys.
    if port.known && has_own_keys && (is_down || port.info().lid != new.lid) {
        port.pkeys.invalidate();
    }
    if port.known && new.port_state < port.state() {
        port.stable_from = ctx.now + STABLE_AFTER;
    }
    port.known = true;
    port.seen = this_sweep;
    let has_link = change.is_external() || !change.is_switch;
    // A full sweep checks the rates of all links.
    let is_full = mode.phase == ReadPhase::Discovery(ScopeKind::Full);
    if has_link
        && !is_full
        && new.port_state != PortState::Down
        && rate_bytes(&port.raw) != rate_bytes(raw)
    {
        ctx.effects.changed_rates.push(*at);
    }
    if new.port_state == PortState::Down && has_link {
        // Of a port that is down only the states are valid (IBA vol. 1, 14.2.5.6). A base port 0 has no link that can be down.
        let mut states = *port.raw;
        states[32..34].copy_from_slice(&raw[32..34]);
        node.store_port_info(at.port, &states);
    } else {
        node.store_port_info(at.port, raw);
    }
    true
}

/// FDR10 is a vendor's speed that PortInfo reports as QDR: ExtendedPortInfo distinguishes them.
pub(crate) fn read_fdr10(ctx: &mut Ctx<'_>, change: &PortChange, mode: ReadMode) {
    let node = ctx.fabric.get(change.at.node);
    let is_up = change.new.port_state > PortState::Down;
    if mode.phase.is_discovering()
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
    ctx.effects.port_problem(at, kind);
    let is_switch = ctx.fabric.get(at.node).is_some_and(Node::is_switch);
    let is_full = mode.phase == ReadPhase::Discovery(ScopeKind::Full);
    if is_full && at.port == PortNum::ZERO && is_switch {
        exclude_node(ctx, at.node, QuarantineReason::NoResponse);
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
