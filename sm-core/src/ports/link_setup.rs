//! Configures ports, arms links and activates them (IBA vol. 1, 14.4.4).
//!
//! All tables are written before any link is armed, and all links are armed before any is
//! activated. A port that does not respond is reported and read again later; the other ports do not
//! wait for it.

use core::hash::{Hash, Hasher};
use core::num::NonZeroU64;
use std::collections::BTreeSet;

use ferrosm_fabric::observed::{ExclusionReason, Node, ObservedFabric, Port, PortRef, plausible};
use ferrosm_mad::attr::{PortInfo, PortState, id};
use ferrosm_mad::ids::PortNum;

use crate::config::SmConfig;
use crate::ctx::Ctx;
use crate::effect::Effect;
use crate::ports::limits::mtu_limit;
use crate::ports::port_settings::{self, EndPortAddress};
use crate::report::ProblemKind;
use crate::schedule::scope::SweepScope;
use crate::smp::op::{PortSetting, SmpOp};
use crate::smp::outcome::SmpOutcome;

/// Most bounces of a link with a persistent mismatch, with `links.bounce`; after that only its
/// parameters are written.
const BOUNCES_MAX: u8 = 3;

/// Values to write to a port in addition to those that follow from its link.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PortIntent {
    pub(crate) address: Option<EndPortAddress>,
    /// ClientReregister: the SM, or the port's LID, is new to the host behind it.
    pub(crate) reregister: bool,
}

/// The intents of all ports. The parts are computed on demand: most ports need the address only.
#[derive(Clone, Copy)]
pub(crate) struct PortIntents<'a> {
    address: &'a dyn Fn(&ObservedFabric, PortRef) -> Option<EndPortAddress>,
    reregister: &'a dyn Fn(&Port, EndPortAddress) -> bool,
}

impl<'a> PortIntents<'a> {
    pub(crate) const fn new(
        address: &'a dyn Fn(&ObservedFabric, PortRef) -> Option<EndPortAddress>,
        reregister: &'a dyn Fn(&Port, EndPortAddress) -> bool,
    ) -> Self {
        Self {
            address,
            reregister,
        }
    }

    pub(crate) fn address(&self, fabric: &ObservedFabric, p: PortRef) -> Option<EndPortAddress> {
        (self.address)(fabric, p)
    }

    pub(crate) fn intent(&self, fabric: &ObservedFabric, p: PortRef) -> PortIntent {
        let address = self.address(fabric, p);
        let known_port = address.zip(fabric.port(p));
        PortIntent {
            address,
            reregister: known_port.is_some_and(|(address, port)| (self.reregister)(port, address)),
        }
    }
}

/// The phase of a sweep that configures ports and arms links.
#[derive(Debug, Default)]
pub(crate) struct Arming {
    /// Ports that rejected their parameters: they are armed only if PortInfo shows the essential
    /// ones.
    rejected: BTreeSet<PortRef>,
}

/// The PortInfo that a port should have, without a change of state.
pub(crate) fn wanted_port_info(
    fabric: &ObservedFabric,
    cfg: &SmConfig,
    p: PortRef,
    intent: PortIntent,
) -> Option<[u8; 64]> {
    port_settings::wanted_port_info(fabric, p, intent.address, cfg, intent.reregister)
}

/// Whether a port's parameters differ from the wanted ones, unless the port showed already that it
/// does not accept them.
pub(crate) fn needs_params(
    fabric: &ObservedFabric,
    cfg: &SmConfig,
    p: PortRef,
    intents: PortIntents<'_>,
) -> bool {
    let intent = intents.intent(fabric, p);
    let desired = wanted_port_info(fabric, cfg, p, intent);
    let (Some(wanted), Some(port)) = (desired, fabric.port(p)) else {
        return false;
    };
    let is_urgent = port.written_fingerprint.is_none() || PortInfo::client_reregister.read(&wanted);
    wanted != port_settings::current_port_info(port)
        && (is_urgent || port.written_fingerprint != fingerprint(fabric, cfg, p, intent.address))
}

/// Identifies a wanted PortInfo together with the one that the port has. ClientReregister is not
/// part of it.
fn fingerprint(
    fabric: &ObservedFabric,
    cfg: &SmConfig,
    p: PortRef,
    address: Option<EndPortAddress>,
) -> Option<NonZeroU64> {
    let desired = port_settings::wanted_port_info(fabric, p, address, cfg, false)?;
    let mut h = rustc_hash::FxHasher::default();
    desired.hash(&mut h);
    port_settings::current_port_info(fabric.port(p)?).hash(&mut h);
    NonZeroU64::new(h.finish().max(1))
}

/// The ports in scope that carry data or will, the SM's own first.
fn live_ports(fabric: &ObservedFabric, scope: &SweepScope) -> Vec<PortRef> {
    let local = fabric.local();
    let other_ports = scope.ports(fabric);
    let all_ports = local
        .into_iter()
        .chain(other_ports.filter(|p| Some(*p) != local));
    all_ports
        .filter(|p| port_settings::can_carry_traffic(fabric, *p))
        .collect()
}

/// Whether a port and its peer each have a LID or need none, because both ends of a link become
/// active together.
fn has_lid(fabric: &ObservedFabric, p: PortRef, intents: PortIntents<'_>) -> bool {
    let has_own_lid = |p: PortRef| match fabric.get(p.node) {
        Some(node) if node.is_switch() && p.port != PortNum::ZERO => true,
        _ => {
            let port = fabric.port(p);
            intents.address(fabric, p).is_some() && port.is_some_and(|x| x.exclusion.is_none())
        }
    };
    has_own_lid(p) && fabric.peer(p).is_none_or(has_own_lid)
}

fn state(fabric: &ObservedFabric, p: PortRef) -> PortState {
    fabric.port(p).map_or(PortState::Down, Port::state)
}

impl Arming {
    /// Writes the parameters of ports that differ, and arms links in Initialize.
    pub(crate) fn start(ctx: &mut Ctx<'_>, scope: &SweepScope, intents: PortIntents<'_>) {
        let mut bounced = BTreeSet::new();
        let mut mismatched = BTreeSet::new();
        for p in live_ports(ctx.fabric, scope) {
            let (Some(port), false) = (ctx.fabric.port(p), bounced.contains(&p)) else {
                continue;
            };
            let link_state = port.state();
            let peer = ctx.fabric.peer(p).filter(|_| p.port != PortNum::ZERO);
            let peer_port = peer.and_then(|peer| ctx.fabric.port(peer));
            let has_mismatch = peer_port.is_some_and(|peer_port| {
                let limit = mtu_limit(ctx.fabric, ctx.cfg, p);
                port_settings::has_link_mismatch(port, peer_port, ctx.cfg, limit)
            });
            if port.bounces != 0
                && !has_mismatch
                && let Some(port) = ctx.fabric.port_mut(p)
            {
                port.bounces = 0;
            }
            if let Some(peer) = peer.filter(|_| has_mismatch) {
                if ctx.cfg.bounce_links && may_bounce(ctx.fabric, p) {
                    ctx.effects.problem(p, ProblemKind::LinkBounced);
                    bounced.extend([p, peer]);
                    for port_ref in [p, peer] {
                        if ctx.fabric.get(port_ref.node).is_some_and(Node::is_switch) {
                            ctx.effects.push(Effect::RereadPort(port_ref));
                        }
                    }
                    ctx.smps.enqueue(SmpOp::SetPortInfo(p, PortSetting::Bounce));
                    ctx.effects.push(Effect::RequestLocalSweep);
                    continue;
                }
                // One report for each link, at the end that comes first.
                if mismatched.insert(p.min(peer)) {
                    ctx.effects.problem(p, ProblemKind::LinkMismatch);
                }
            }
            // A port without a LID must not carry data.
            if !has_lid(ctx.fabric, p, intents) {
                continue;
            }
            if link_state == PortState::Initialize {
                ctx.smps.enqueue(SmpOp::SetPortInfo(p, PortSetting::Arm));
            } else if needs_params(ctx.fabric, ctx.cfg, p, intents) {
                ctx.smps.enqueue(SmpOp::SetPortInfo(p, PortSetting::Params));
            }
        }
    }

    /// All links are armed, except where devices rejected it. Returns the armed ports whose links
    /// can be activated: the peer must be armed, or it would drop what an active port sends.
    pub(crate) fn ready_ports(fabric: &ObservedFabric, scope: &SweepScope) -> Vec<PortRef> {
        let is_ready = |p: &PortRef| {
            let peer = fabric.peer(*p).filter(|_| p.port != PortNum::ZERO);
            state(fabric, *p) == PortState::Armed
                && peer.is_none_or(|far| state(fabric, far) >= PortState::Armed)
        };
        let ports = live_ports(fabric, scope);
        ports.into_iter().filter(is_ready).collect()
    }

    /// A port was read: arms it if it rejected its parameters but has the essential ones (LID and
    /// MasterSMLID).
    pub(crate) fn on_port_observed(
        &mut self,
        ctx: &mut Ctx<'_>,
        p: PortRef,
        intents: PortIntents<'_>,
    ) {
        if !self.rejected.remove(&p) {
            return;
        }
        let Some(port) = ctx.fabric.port(p) else {
            return;
        };
        let info = port.info();
        let is_switch = ctx.fabric.get(p.node).is_some_and(Node::is_switch);
        let is_external = p.port != PortNum::ZERO && is_switch;
        let address = intents.address(ctx.fabric, p);
        let has_essentials =
            address.is_some_and(|a| (a.lid, a.sm_lid) == (info.lid, info.master_sm_lid));
        if port.state() == PortState::Initialize && (is_external || has_essentials) {
            ctx.smps
                .enqueue(SmpOp::SetPortInfo(p, PortSetting::ArmOnly));
        }
    }
}

/// Ports with a link that did not become active, and their states.
pub(crate) fn inactive_ports(
    fabric: &ObservedFabric,
    scope: &SweepScope,
) -> Vec<(PortRef, PortState)> {
    let ports = live_ports(fabric, scope).into_iter();
    ports
        .map(|p| (p, state(fabric, p)))
        .filter(|(_, state)| *state < PortState::Active)
        .collect()
}

/// A Set(PortInfo) failed: ClientReregister has to be sent again.
fn record_reregister_failure(
    ctx: &mut Ctx<'_>,
    p: PortRef,
    setting: PortSetting,
    intents: PortIntents<'_>,
) {
    if setting.carries_params()
        && intents.intent(ctx.fabric, p).reregister
        && let Some(port) = ctx.fabric.port(p)
    {
        ctx.effects.push(Effect::ReregisterFailed(port.guid));
    }
}

/// A Set(PortInfo) succeeded or failed; `arming` is the current phase, if that arms links. Returns
/// the problem of an implausible response.
pub(crate) fn on_set(
    ctx: &mut Ctx<'_>,
    arming: Option<&mut Arming>,
    (p, setting): (PortRef, PortSetting),
    outcome: &SmpOutcome,
    intents: PortIntents<'_>,
) -> Option<ProblemKind> {
    let is_unanswered = matches!(outcome, SmpOutcome::Unanswered);
    if !is_unanswered {
        ctx.fabric.port(p)?;
    }
    if let Some(data) = outcome.data() {
        return on_accepted(ctx, (p, setting), data, intents);
    }
    record_reregister_failure(ctx, p, setting, intents);
    let rejected = outcome.failed_set(id::PORT_INFO);
    match setting {
        _ if is_unanswered => ctx.effects.port_problem(p, rejected),
        // The sweep configures the port later anyway.
        PortSetting::SmLid => {}
        // Some devices reject parameters together with a change of state.
        PortSetting::Arm => ctx
            .smps
            .enqueue(SmpOp::SetPortInfo(p, PortSetting::ParamsFirst)),
        PortSetting::ParamsFirst => {
            ctx.effects.port_problem(p, rejected);
            let port = ctx.fabric.port_mut(p)?;
            // The first rejection may come from another device, because a cable on the DR path was
            // exchanged. The port is read again, and armed without its parameters if it rejects
            // them in the next sweep as well.
            let is_repeated = core::mem::replace(&mut port.params_rejected, true);
            if is_repeated {
                // The device may have accepted a part: PortInfo shows whether the port can be
                // armed.
                if let Some(arming) = arming {
                    arming.rejected.insert(p);
                }
                ctx.smps.enqueue(SmpOp::PortInfo(p));
            }
        }
        // The state may have changed by itself (IBA vol. 1, 7.2.7).
        PortSetting::ArmOnly | PortSetting::Activate => ctx.smps.enqueue(SmpOp::PortInfo(p)),
        PortSetting::Params
        | PortSetting::Bounce
        | PortSetting::Disable
        | PortSetting::Enable
        | PortSetting::Train => ctx.effects.port_problem(p, rejected),
    }
    None
}

fn may_bounce(fabric: &mut ObservedFabric, p: PortRef) -> bool {
    fabric.port_mut(p).is_some_and(|port| {
        port.bounces = port.bounces.saturating_add(1);
        port.bounces <= BOUNCES_MAX
    })
}

/// A device accepted a Set(PortInfo).
fn on_accepted(
    ctx: &mut Ctx<'_>,
    (p, setting): (PortRef, PortSetting),
    data: &[u8; 64],
    intents: PortIntents<'_>,
) -> Option<ProblemKind> {
    let is_switch = ctx.fabric.get(p.node).is_some_and(Node::is_switch);
    let has_link = !is_switch || p.port != PortNum::ZERO;
    if let Some(reason) = plausible::implausible_port_info(&PortInfo::decode(data), has_link) {
        ctx.effects.push(Effect::InvalidResponse);
        return Some(ProblemKind::excluded(ExclusionReason::Implausible(reason)));
    }
    ctx.fabric.get_mut(p.node)?.store_port_info(p.port, data);
    let port = ctx.fabric.port_mut(p)?;
    port.known = true;
    port.params_rejected &= !setting.carries_params();
    let address = intents.address(ctx.fabric, p);
    let written = fingerprint(ctx.fabric, ctx.cfg, p, address);
    let port = ctx.fabric.port_mut(p)?;
    if setting.carries_params() {
        port.written_fingerprint = written;
        ctx.effects.push(Effect::ReregisterSent(port.guid));
    } else if setting == PortSetting::SmLid {
        port.written_fingerprint = None;
    }
    let desired = match setting {
        PortSetting::Arm | PortSetting::ArmOnly => Some(PortState::Armed),
        PortSetting::Activate => Some(PortState::Active),
        PortSetting::Params
        | PortSetting::ParamsFirst
        | PortSetting::SmLid
        | PortSetting::Bounce
        | PortSetting::Disable
        | PortSetting::Enable
        | PortSetting::Train => None,
    };
    let is_late = desired.is_some_and(|desired| port.state() < desired);
    if setting == PortSetting::ParamsFirst {
        ctx.smps
            .enqueue(SmpOp::SetPortInfo(p, PortSetting::ArmOnly));
    } else if is_late {
        // It may reach the state a moment later.
        ctx.smps.enqueue(SmpOp::PortInfo(p));
    }
    None
}
