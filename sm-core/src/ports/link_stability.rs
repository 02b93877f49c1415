//! Links that the routes avoid: links that flap, and links that do not become active.
//!
//! A link that was lost [`LinkStability::FLAPS`] times in a row is reported once. The routes avoid
//! it until it was up for its hold time, so that they do not change with each flap. The hold time
//! starts at [`LinkStability::HOLD_MIN`] and doubles, up to [`LinkStability::HOLD_MAX`], each time
//! that the link flaps again.
//!
//! A link that is not active after [`LinkStability::ATTEMPTS`] sweeps would drop what the routes
//! send over it. The routes avoid it until it is active. Activation is tried again at increasing
//! intervals.
//!
//! Links that the operator drained ([`crate::maintenance`]) are avoided as well.
//!
//! Only links between switches are avoided, and none that something cannot be reached without. If
//! no engine finds a routing without them, they are used.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use ferrosm_fabric::observed::{LinkKey, Node, NodeIdx, ObservedFabric, Port, PortRef};
use ferrosm_mad::attr::PortState;
use ferrosm_mad::ids::{NodeGuid, PortNum};
use ferrosm_mad::time::Instant;

use crate::ctx::Ctx;
use crate::effect::Effect;
use crate::event::{Event, LinkFlaps};
use crate::report::ProblemKind;

/// What is known about the links that were lost lately or did not become active.
#[derive(Debug, Default)]
pub(crate) struct LinkStability {
    links: BTreeMap<LinkKey, LinkRecord>,
    /// Ports whose links the operator drained.
    drained: BTreeSet<(NodeGuid, PortNum)>,
    /// No routing was found without these links.
    are_drained_required: bool,
    /// The ends of links that the routes avoid.
    avoided: BTreeSet<PortRef>,
    /// Links that went down for a moment, and switches that restarted, since the last complete
    /// sweep.
    interrupted: Vec<(PortRef, PortRef)>,
    restarted: BTreeSet<NodeIdx>,
}

#[derive(Debug, Clone, Copy)]
struct LinkRecord {
    /// Losses without a pause of [`LinkStability::QUIET`], and the time of the first and the last.
    flaps: u32,
    first_flap: Instant,
    last_flap: Instant,
    /// The sweep that counted the last loss, and at which end: it may see it at the other end as
    /// well.
    counted: Option<(u32, PortRef)>,
    /// How long the link must be up before it is used again; zero before it flapped.
    hold: Duration,
    /// It is not used until then.
    held_until: Option<Instant>,
    /// Sweeps in a row that left it inactive.
    attempts: u8,
    /// No routing was found without it.
    is_required: bool,
    /// It leads to a host: no route avoids it.
    is_host_link: bool,
    /// The interval of the last retry, and when the next one is due.
    retry_after: Duration,
    retry_at: Option<Instant>,
}

impl LinkRecord {
    const fn new(now: Instant, is_host_link: bool) -> Self {
        Self {
            flaps: 0,
            first_flap: now,
            last_flap: now,
            counted: None,
            hold: Duration::ZERO,
            held_until: None,
            attempts: 0,
            is_required: false,
            is_host_link,
            retry_after: Duration::ZERO,
            retry_at: None,
        }
    }

    const fn is_inactive(&self) -> bool {
        self.attempts >= LinkStability::ATTEMPTS
    }

    /// The routes avoid the link, or may do so soon.
    const fn is_in_use(&self) -> bool {
        self.attempts > 0 || self.held_until.is_some()
    }

    /// Nothing depends on it any more.
    fn is_obsolete(&self, now: Instant) -> bool {
        !self.is_in_use() && now.since(self.last_flap) >= LinkStability::FORGET_AFTER
    }
}

/// What is due.
#[derive(Debug, Default)]
pub(crate) struct DueLinks {
    /// The routes use other links from now on.
    pub(crate) has_released: bool,
    /// Ports of inactive links, whose activation is tried again.
    pub(crate) retries: Vec<PortRef>,
}

impl LinkStability {
    /// Losses after which a link flaps.
    const FLAPS: u32 = 5;
    /// Losses with a longer pause between them do not add up.
    const QUIET: Duration = Duration::from_mins(5);
    const HOLD_MIN: Duration = Duration::from_secs(30);
    const HOLD_MAX: Duration = Duration::from_mins(16);
    /// Time without a loss after which the earlier ones are forgotten.
    const FORGET_AFTER: Duration = Duration::from_hours(1);
    /// Sweeps that leave a link inactive before the routes avoid it.
    const ATTEMPTS: u8 = 2;
    const RETRY_MIN: Duration = Duration::from_secs(10);
    const RETRY_MAX: Duration = Duration::from_mins(5);
    /// Links with a record, and interrupted ones. Further ones are neither reported nor avoided
    /// until others are stable.
    const MAX: usize = 4096;

    /// The record of a link; `None` for a link that left the fabric, and beyond [`Self::MAX`].
    fn record(
        &mut self,
        fabric: &ObservedFabric,
        p: PortRef,
        now: Instant,
    ) -> Option<&mut LinkRecord> {
        let peer = last_peer(fabric, p)?;
        let key = fabric.link_key(p, peer)?;
        let is_host_link = !are_of_switches(fabric, p, peer);
        if self.links.len() >= Self::MAX && !self.links.contains_key(&key) {
            self.links.retain(|_, record| !record.is_obsolete(now));
            if self.links.len() >= Self::MAX && !is_host_link {
                // Hosts that rebooted must not hide a link of the routes.
                self.links
                    .retain(|_, record| !record.is_host_link || record.is_in_use());
            }
            if self.links.len() >= Self::MAX {
                return None;
            }
        }
        Some(
            self.links
                .entry(key)
                .or_insert_with(|| LinkRecord::new(now, is_host_link)),
        )
    }

    /// The state of a port fell: its link was lost, at least for a moment. `sweep` is the number of
    /// the running sweep.
    pub(crate) fn on_link_lost(&mut self, ctx: &mut Ctx<'_>, at: PortRef, sweep: u32) {
        let now = ctx.now;
        let peer = last_peer(ctx.fabric, at);
        // The loss of a link that is down, or leads elsewhere now, is reported as such.
        let is_up = ctx.fabric.peer(at) == peer && ctx.fabric.port(at).is_some_and(Port::is_up);
        let Some((peer, record)) = peer.zip(self.record(ctx.fabric, at, now)) else {
            return;
        };
        if record.counted == Some((sweep, peer)) {
            return;
        }
        record.counted = Some((sweep, at));
        if is_up && self.interrupted.len() < Self::MAX {
            self.interrupted.push((at, peer));
        }
        let Some(record) = self.record(ctx.fabric, at, now) else {
            return;
        };
        let is_first = record.flaps == 0;
        if is_first || (record.hold.is_zero() && now.since(record.last_flap) >= Self::QUIET) {
            (record.flaps, record.first_flap) = (0, now);
        }
        record.flaps += 1;
        record.last_flap = now;
        if record.held_until.is_none() {
            if record.hold.is_zero() && record.flaps < Self::FLAPS {
                return;
            }
            record.hold = (record.hold * 2).clamp(Self::HOLD_MIN, Self::HOLD_MAX);
        }
        let is_new = record.held_until.is_none();
        record.held_until = Some(now + record.hold);
        let record = *record;
        if !is_new {
            return;
        }
        self.choose_avoided(ctx);
        let flaps = LinkFlaps {
            ends: [at, peer].map(|p| ctx.fabric.port_name(p)),
            flaps: record.flaps,
            window: now.since(record.first_flap),
            hold: is_avoidable(ctx.fabric, at, peer).then_some(record.hold),
        };
        let event = Event::LinkFlapping(flaps);
        ctx.outbox.emit(event);
    }

    /// A switch restarted: its links went down with it.
    pub(crate) fn on_switch_restarted(&mut self, n: NodeIdx) {
        self.restarted.insert(n);
    }

    /// Reports the switches that restarted, and the links that went down for a moment without one.
    fn report_interrupted(&mut self, ctx: &mut Ctx<'_>) {
        let restarted = core::mem::take(&mut self.restarted);
        for name in restarted.iter().filter_map(|n| ctx.fabric.node_name(*n)) {
            ctx.outbox.emit(Event::SwitchRestarted(name));
        }
        for (a, b) in core::mem::take(&mut self.interrupted) {
            let ends = [a, b];
            if ends.iter().all(|end| !restarted.contains(&end.node)) {
                let [a, b] = ends.map(|p| ctx.fabric.port_name(p));
                ctx.outbox.emit(Event::LinkInterrupted(a, b));
            }
        }
    }

    /// A sweep is complete. `inactive` are ports that it configured and that are not active: the
    /// link of each is reported, and tried again with the next light sweep, or later if the routes
    /// avoid it.
    pub(crate) fn on_sweep_completed(
        &mut self,
        ctx: &mut Ctx<'_>,
        inactive: &[(PortRef, PortState)],
    ) {
        self.report_interrupted(ctx);
        let mut counted = BTreeSet::new();
        for (p, state) in inactive {
            let (p, state) = (*p, *state);
            let now = ctx.now;
            let record = if is_between_switches(ctx.fabric, p) {
                self.record(ctx.fabric, p, now)
            } else {
                None
            };
            let Some(record) = record else {
                retry_soon(ctx, p, state);
                continue;
            };
            let peer = ctx.fabric.peer(p);
            if counted.insert(peer.map_or(p, |peer| p.min(peer))) {
                record.attempts = record.attempts.saturating_add(1);
                if record.is_inactive() {
                    let retry = record.retry_after * 2;
                    record.retry_after = retry.clamp(Self::RETRY_MIN, Self::RETRY_MAX);
                    record.retry_at = Some(now + record.retry_after);
                }
            }
            if !record.is_inactive() {
                retry_soon(ctx, p, state);
            }
        }
        self.forget_active(ctx);
        self.choose_avoided(ctx);
        for (key, _) in self.links.iter().filter(|(_, record)| record.is_inactive()) {
            let Some((a, b)) = ends(ctx.fabric, key) else {
                continue;
            };
            for p in [a, b] {
                let state = state(ctx.fabric, p);
                if state < PortState::Active {
                    let kind = if self.avoided.contains(&p) {
                        ProblemKind::LinkNotRouted(state)
                    } else {
                        ProblemKind::NotActive(state)
                    };
                    ctx.effects.problem(p, kind);
                }
            }
        }
    }

    /// Links that are active, or absent, are no longer inactive.
    fn forget_active(&mut self, ctx: &mut Ctx<'_>) {
        for (key, record) in &mut self.links {
            if record.attempts == 0 {
                continue;
            }
            let link = ends(ctx.fabric, key);
            let is_active = |p| state(ctx.fabric, p) == PortState::Active;
            if link.is_none_or(|(a, b)| is_active(a) && is_active(b)) {
                let was_avoided = link.is_some_and(|(a, _)| self.avoided.contains(&a));
                *record = LinkRecord {
                    attempts: 0,
                    is_required: record.is_required && record.held_until.is_some(),
                    retry_after: Duration::ZERO,
                    retry_at: None,
                    ..*record
                };
                if let Some(link) = link.filter(|_| was_avoided && record.held_until.is_none()) {
                    report_stable(ctx, link);
                }
            }
        }
        let now = ctx.now;
        self.links.retain(|_, record| !record.is_obsolete(now));
    }

    /// The operator drained the links at these ports, and no others.
    pub(crate) fn set_drained(&mut self, ports: BTreeSet<(NodeGuid, PortNum)>) {
        self.drained = ports;
        self.are_drained_required = false;
    }

    /// The drained links, by their ends.
    fn drained_links(&self, fabric: &ObservedFabric) -> Vec<(PortRef, PortRef)> {
        let ports = self.drained.iter().filter_map(|(guid, port)| {
            let p = PortRef::new(fabric.node_by_guid(*guid)?, *port);
            Some((p, fabric.peer(p)?))
        });
        ports
            .filter(|(p, _)| is_between_switches(fabric, *p))
            .collect()
    }

    /// Drained links that routes use, because nothing else leads to a part of the fabric.
    pub(crate) fn drained_in_use(&self, fabric: &ObservedFabric) -> Vec<PortRef> {
        let links = self.drained_links(fabric).into_iter().map(|(p, _)| p);
        links.filter(|p| !self.avoided.contains(p)).collect()
    }

    /// Determines which links the routes avoid.
    pub(crate) fn choose_avoided(&mut self, ctx: &mut Ctx<'_>) {
        if self.links.is_empty() && self.avoided.is_empty() && self.drained.is_empty() {
            return;
        }
        // Active links are preferred among those that cannot all be avoided, and among these the
        // ones that are not drained.
        let records = || self.links.iter().filter(|(_, record)| !record.is_required);
        let held = records().filter(|(_, r)| !r.is_inactive() && r.held_until.is_some());
        let inactive = records().filter(|(_, record)| record.is_inactive());
        let unstable = held
            .chain(inactive)
            .filter_map(|(key, _)| ends(ctx.fabric, key))
            .filter(|(a, _)| is_between_switches(ctx.fabric, *a));
        let drained = if self.are_drained_required {
            Vec::new()
        } else {
            self.drained_links(ctx.fabric)
        };
        let candidates: Vec<(PortRef, PortRef)> = unstable.chain(drained).collect();
        let avoided: BTreeSet<PortRef> = dispensable(ctx.fabric, &candidates)
            .into_iter()
            .flat_map(|(a, b)| [a, b])
            .collect();
        if avoided == self.avoided {
            return;
        }
        for (ports, is_avoided) in [(&self.avoided, false), (&avoided, true)] {
            for p in ports {
                if let Some(port) = ctx.fabric.port_mut(*p) {
                    port.is_avoided = is_avoided;
                }
            }
        }
        self.avoided = avoided;
        ctx.effects.push(Effect::RoutesOutdated);
    }

    /// No engine found a routing: links that it had to avoid are used from now on, until they are
    /// stable. Returns whether there are any.
    pub(crate) fn use_avoided(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let was_avoiding = !self.avoided.is_empty();
        for record in self.links.values_mut().filter(|_| was_avoiding) {
            record.is_required = record.is_inactive() || record.held_until.is_some();
        }
        self.are_drained_required |= was_avoiding && !self.drained.is_empty();
        self.choose_avoided(ctx);
        was_avoiding
    }

    /// When [`Self::take_due`] has something to do.
    pub(crate) fn due(&self) -> Option<Instant> {
        let times = self.links.values().flat_map(|r| [r.held_until, r.retry_at]);
        times.flatten().min()
    }

    /// Ends hold times that are over, and takes the links whose activation is due to be tried
    /// again.
    pub(crate) fn take_due(&mut self, ctx: &mut Ctx<'_>) -> DueLinks {
        let mut due = DueLinks::default();
        if self.due().is_none_or(|at| at > ctx.now) {
            return due;
        }
        for (key, record) in &mut self.links {
            let link = ends(ctx.fabric, key);
            let is_over = record.held_until.is_some_and(|until| until <= ctx.now);
            let is_forgotten = ctx.now.since(record.last_flap) >= Self::FORGET_AFTER;
            if let Some(link) = link.filter(|_| is_over) {
                record.held_until = None;
                record.is_required &= record.is_inactive();
                due.has_released = true;
                // The routes avoid an inactive link for longer.
                if !record.is_inactive() {
                    report_stable(ctx, link);
                }
            } else if is_over {
                // It is down. After its return it must be up for its hold time.
                record.held_until = (!is_forgotten).then(|| ctx.now + record.hold);
            }
            if record.retry_at.take_if(|at| *at <= ctx.now).is_some() {
                due.retries
                    .extend(link.into_iter().flat_map(|(a, b)| [a, b]));
            }
        }
        self.choose_avoided(ctx);
        due
    }
}

fn report_stable(ctx: &mut Ctx<'_>, (a, b): (PortRef, PortRef)) {
    let ends = [a, b].map(|p| ctx.fabric.port_name(p));
    ctx.outbox.emit(Event::LinkStable(ends));
}

/// Reports an inactive link, and reads both ends again after the next light sweep.
fn retry_soon(ctx: &mut Ctx<'_>, p: PortRef, state: PortState) {
    let peer = ctx.fabric.peer(p);
    ctx.effects
        .extend(peer.into_iter().map(Effect::RereadPortLater));
    ctx.effects.port_problem(p, ProblemKind::NotActive(state));
}

fn state(fabric: &ObservedFabric, p: PortRef) -> PortState {
    fabric.port(p).map_or(PortState::Down, Port::state)
}

/// The port at the other end of a link, or of the last one.
fn last_peer(fabric: &ObservedFabric, p: PortRef) -> Option<PortRef> {
    let last = || fabric.port(p)?.last_peer;
    fabric.peer(p).or_else(last)
}

/// The ports of a link that is in the fabric.
fn ends(fabric: &ObservedFabric, key: &LinkKey) -> Option<(PortRef, PortRef)> {
    let [a, b] = key.map(|(guid, port)| Some(PortRef::new(fabric.node_by_guid(guid)?, port)));
    let (a, b) = a.zip(b)?;
    (fabric.peer(a) == Some(b)).then_some((a, b))
}

fn are_of_switches(fabric: &ObservedFabric, a: PortRef, b: PortRef) -> bool {
    [a, b]
        .iter()
        .all(|p| fabric.get(p.node).is_some_and(Node::is_switch))
}

fn is_between_switches(fabric: &ObservedFabric, p: PortRef) -> bool {
    let peer = fabric.peer(p);
    peer.is_some_and(|peer| are_of_switches(fabric, p, peer))
}

/// Whether two ports are of switches that other links connect as well.
fn is_avoidable(fabric: &ObservedFabric, a: PortRef, b: PortRef) -> bool {
    are_of_switches(fabric, a, b) && {
        let mut parts = Parts::new(fabric, &[(a, b)]);
        !parts.join(a, b)
    }
}

/// The candidates without which all switches remain connected; earlier ones are kept in preference
/// to later ones.
fn dispensable(
    fabric: &ObservedFabric,
    candidates: &[(PortRef, PortRef)],
) -> Vec<(PortRef, PortRef)> {
    if candidates.is_empty() {
        return Vec::new();
    }
    let mut parts = Parts::new(fabric, candidates);
    let mut seen = BTreeSet::new();
    let distinct = candidates
        .iter()
        .filter(|(a, b)| seen.insert((a.min(b), a.max(b))));
    let unneeded = distinct.filter(|(a, b)| !parts.join(*a, *b));
    unneeded.copied().collect()
}

/// Connected parts of a fabric: a union-find over its nodes.
pub(crate) struct Parts(Vec<usize>);

impl Parts {
    /// The parts without some links, each named by its ends.
    pub(crate) fn new(fabric: &ObservedFabric, without: &[(PortRef, PortRef)]) -> Self {
        let last = fabric.node_indices().map(|n| n.index()).max();
        let mut parts = Self((0..=last.unwrap_or(0)).collect());
        let without: BTreeSet<PortRef> = without.iter().flat_map(|(a, b)| [*a, *b]).collect();
        for link in fabric.links() {
            let is_switch = |p: PortRef| fabric.get(p.node).is_some_and(Node::is_switch);
            if is_switch(link.a) && is_switch(link.b) && !without.contains(&link.a) {
                parts.join(link.a, link.b);
            }
        }
        parts
    }

    /// Identifies the part of a node.
    pub(crate) fn part_of(&mut self, n: NodeIdx) -> usize {
        self.root(n.index())
    }

    fn root(&mut self, mut node: usize) -> usize {
        while self.0[node] != node {
            self.0[node] = self.0[self.0[node]];
            node = self.0[node];
        }
        node
    }

    /// Joins the parts of two ports; returns whether they were different.
    fn join(&mut self, a: PortRef, b: PortRef) -> bool {
        let (a, b) = (self.root(a.node.index()), self.root(b.node.index()));
        self.0[a] = b;
        a != b
    }
}

#[cfg(test)]
mod tests {
    use ferrosm_mad::attr::{NodeInfo, NodeType};
    use ferrosm_mad::ids::{NodeGuid, PortNum};
    use ferrosm_mad::smp::DrPath;

    use super::*;
    use crate::ctx::tests::TestContext;

    /// Switches and the links between them; each end of a link has its own port.
    fn fabric(switches: u8, links: &[(u8, u8)]) -> (ObservedFabric, Vec<(PortRef, PortRef)>) {
        let mut fabric = ObservedFabric::default();
        let nodes: Vec<_> = (0..switches)
            .map(|n| {
                let info = NodeInfo {
                    node_type: NodeType::Switch,
                    num_ports: 16,
                    node_guid: NodeGuid(u64::from(n) + 1),
                    ..NodeInfo::default()
                };
                fabric.add_node(Node::new(info, DrPath::LOCAL))
            })
            .collect();
        let mut ends = Vec::new();
        for (port, (a, b)) in (1..).zip(links) {
            let end = |n: u8| PortRef::new(nodes[usize::from(n)], PortNum(port));
            fabric.connect(end(*a), end(*b));
            ends.push((end(*a), end(*b)));
        }
        (fabric, ends)
    }

    /// A triangle of switches, and a fourth one behind a single link.
    #[test]
    fn links_that_connect_something_are_not_avoided() {
        let (fabric, links) = fabric(4, &[(0, 1), (1, 2), (2, 0), (2, 3)]);
        let [ab, bc, ca, only] = [links[0], links[1], links[2], links[3]];
        assert_eq!(dispensable(&fabric, &[ab]), [ab]);
        assert_eq!(dispensable(&fabric, &[only]), []);
        assert_eq!(dispensable(&fabric, &[only, ab]), [ab]);
        // Two of three flap: one of them is kept, the one that comes first.
        assert_eq!(dispensable(&fabric, &[ab, bc]), [bc]);
        assert_eq!(dispensable(&fabric, &[ab, bc, ca, only]), [ca]);
        assert!(is_avoidable(&fabric, ca.0, ca.1));
        assert!(!is_avoidable(&fabric, only.0, only.1));
    }

    /// A link that flaps is avoided, and used if no engine finds a routing without it. Its hold
    /// time ends all the same.
    #[test]
    fn link_is_used_if_no_routing_is_found_without_it() {
        let (fabric, links) = fabric(3, &[(0, 1), (1, 2), (2, 0)]);
        let (a, b) = links[0];
        let mut test = TestContext::new(fabric);
        let ctx = &mut test.ctx();
        let is_avoided = |ctx: &Ctx<'_>| [a, b].map(|p| ctx.fabric.port(p).unwrap().is_avoided);
        let mut stability = LinkStability::default();
        for sweep in 1..=LinkStability::FLAPS {
            assert_eq!(is_avoided(ctx), [false; 2]);
            // Both ends show the loss.
            stability.on_link_lost(ctx, a, sweep);
            stability.on_link_lost(ctx, b, sweep);
        }
        assert_eq!(is_avoided(ctx), [true; 2]);
        assert!(stability.use_avoided(ctx));
        assert_eq!(is_avoided(ctx), [false; 2]);
        assert!(!stability.use_avoided(ctx));
        ctx.now = stability.due().unwrap();
        assert_eq!(ctx.now, Instant::START + LinkStability::HOLD_MIN);
        assert!(stability.take_due(ctx).has_released);
        assert_eq!(stability.due(), None);
    }

    /// Of two parallel links one is avoided.
    #[test]
    fn one_of_two_parallel_links_is_kept() {
        let (fabric, links) = fabric(2, &[(0, 1), (0, 1)]);
        assert_eq!(dispensable(&fabric, &links), [links[1]]);
    }
}
