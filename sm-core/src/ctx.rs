//! The context of a component: what it accesses besides its own state.
//!
//! A component reads and changes the observed fabric and enqueues SMPs and outputs; it does not
//! access other components. It requests their actions in [`Effects`], which the manager applies
//! when the component returns.

use std::collections::BTreeSet;

use ferrosm_fabric::observed::{
    DeviceTable, ExclusionReason, NodeIdx, ObservedFabric, PortRef, RejectionEffect,
};
use ferrosm_mad::ids::{AttrId, PortGuid};
use ferrosm_mad::time::Instant;

use crate::config::SmConfig;
use crate::outbox::Outbox;
use crate::plan::messages::EngineMessage;
use crate::report::ProblemKind;
use crate::smp::Smps;
use crate::smp::outcome::{SetEcho, SmpOutcome};

/// The context in which a component handles an input.
#[derive(Debug)]
pub(crate) struct Ctx<'a> {
    pub(crate) now: Instant,
    pub(crate) cfg: &'a SmConfig,
    pub(crate) fabric: &'a mut ObservedFabric,
    pub(crate) smps: &'a mut Smps,
    pub(crate) outbox: &'a mut Outbox,
    pub(crate) effects: &'a mut Effects,
}

impl Ctx<'_> {
    /// The Set of a table failed.
    pub(crate) fn record_rejection(
        &mut self,
        n: NodeIdx,
        table: DeviceTable,
        outcome: &SmpOutcome,
    ) -> RejectionEffect {
        let now = self.now;
        let node = self.fabric.get_mut(n);
        node.map_or(RejectionEffect::Unanswered, |node| {
            node.rejections.record(table, outcome.status(), now)
        })
    }

    /// The Set of a table of a port failed. The port is read again, unless the device keeps the
    /// table: the end of the sweep reports that ([`crate::sweep::kept::report_kept`]).
    pub(crate) fn record_port_rejection(
        &mut self,
        p: PortRef,
        table: DeviceTable,
        outcome: &SmpOutcome,
        kind: ProblemKind,
    ) {
        match self.record_rejection(p.node, table, outcome) {
            RejectionEffect::Unanswered | RejectionEffect::WriteAgain => {
                self.effects.port_problem(p, kind);
            }
            RejectionEffect::Keeps | RejectionEffect::KeptBefore => {}
        }
    }

    /// The Set of a table was accepted. Returns whether the device kept the table until now.
    pub(crate) fn record_acceptance(&mut self, n: NodeIdx, table: DeviceTable) -> bool {
        let now = self.now;
        let node = self.fabric.get_mut(n);
        node.is_some_and(|node| node.rejections.accept(table, now))
    }

    /// Whether a table of a device may be written.
    pub(crate) fn may_write(&self, n: NodeIdx, table: DeviceTable) -> bool {
        let node = self.fabric.get(n);
        node.is_some_and(|node| node.rejections.may_write(table, self.now))
    }
}

/// Actions that a component requests.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// Problems for the report of the current sweep.
    pub(crate) problems: Vec<(Option<PortRef>, ProblemKind)>,
    /// Messages for the report of the current sweep.
    pub(crate) messages: Vec<EngineMessage>,
    /// Switches to read again after the next light sweep.
    pub(crate) switches_after_light_sweep: BTreeSet<NodeIdx>,
    /// Ports to read again after the next light sweep.
    pub(crate) ports_after_light_sweep: BTreeSet<PortRef>,
    /// Switches to read again by the next local sweep, if one is requested.
    pub(crate) switches_of_local_sweep: BTreeSet<NodeIdx>,
    /// Ports to read again by the next local sweep, if one is requested.
    pub(crate) ports_of_local_sweep: BTreeSet<PortRef>,
    /// Nodes that were added to the fabric.
    pub(crate) added_nodes: Vec<NodeIdx>,
    /// Links that were added to the fabric.
    pub(crate) added_links: Vec<(PortRef, PortRef)>,
    /// Ports with another width or speed than before, except in full sweeps.
    pub(crate) changed_rates: Vec<PortRef>,
    /// End ports that were discovered, or whose device may have been reset: it may have lost its
    /// alias GUIDs.
    pub(crate) reset_ports: Vec<PortGuid>,
    /// Switch ports whose state fell.
    pub(crate) lost_links: Vec<PortRef>,
    /// Nodes that were removed from the fabric.
    pub(crate) removed_nodes: Vec<NodeIdx>,
    /// Ports behind which new switches were excluded until they are counted, and why.
    pub(crate) uncounted_ports: Vec<(PortRef, ExclusionReason)>,
    /// Something that routes depend on has changed.
    pub(crate) routing_stale: bool,
    /// Request a local sweep of `switches_of_local_sweep` and `ports_of_local_sweep`.
    pub(crate) local_sweep: bool,
    /// End ports that were sent ClientReregister.
    pub(crate) reregister_sent: Vec<PortGuid>,
    /// End ports for which a Set with ClientReregister failed.
    pub(crate) reregister_failed: Vec<PortGuid>,
    /// Two links contradict each other.
    pub(crate) link_conflict: bool,
    /// A response was invalid: others of its device may be wrong as well.
    pub(crate) invalid_response: bool,
    /// A switch port that rejected a table which LFTs depend on, if their order matters.
    pub(crate) blocking_port: Option<PortRef>,
    /// VL tables are written with a new epoch: knowledge of earlier epochs is invalid.
    pub(crate) is_new_vl_epoch: bool,
    /// A full sweep is needed.
    pub(crate) full_sweep: bool,
}

impl Effects {
    /// Whether no action is requested, as after most responses. Not inlined: the code of a response
    /// must fit into the cache.
    #[inline(never)]
    pub(crate) fn is_empty(&self) -> bool {
        let Self {
            problems,
            messages,
            switches_after_light_sweep,
            ports_after_light_sweep,
            switches_of_local_sweep,
            ports_of_local_sweep,
            added_nodes,
            added_links,
            changed_rates,
            reset_ports,
            lost_links,
            removed_nodes,
            uncounted_ports,
            routing_stale,
            local_sweep,
            reregister_sent,
            reregister_failed,
            link_conflict,
            invalid_response,
            blocking_port,
            is_new_vl_epoch,
            full_sweep,
        } = self;
        let flags = *routing_stale
            | *local_sweep
            | *link_conflict
            | *invalid_response
            | *is_new_vl_epoch
            | *full_sweep;
        // Without branches: this is checked several times per response.
        let entries = problems.len()
            | messages.len()
            | switches_after_light_sweep.len()
            | ports_after_light_sweep.len()
            | switches_of_local_sweep.len()
            | ports_of_local_sweep.len()
            | added_nodes.len()
            | added_links.len()
            | changed_rates.len()
            | reset_ports.len()
            | lost_links.len()
            | removed_nodes.len()
            | uncounted_ports.len()
            | reregister_sent.len()
            | reregister_failed.len();
        !flags & (entries == 0) & blocking_port.is_none()
    }

    /// A Set that took effect was answered.
    pub(crate) fn set_echoed(&mut self, at: PortRef, attr: AttrId, echo: SetEcho) {
        match echo {
            SetEcho::Same => {}
            SetEcho::Normalized => self.problem(at, ProblemKind::SetNormalized { attr }),
        }
    }

    /// Reports a problem at a port, and reads the port again after the next light sweep.
    pub(crate) fn port_problem(&mut self, at: PortRef, kind: ProblemKind) {
        self.ports_after_light_sweep.insert(at);
        self.problems.push((Some(at), kind));
    }

    /// The tables that switches keep have changed: routes are computed with them at once.
    pub(crate) const fn reroute_now(&mut self) {
        self.routing_stale = true;
        self.local_sweep = true;
    }

    /// Reports a problem.
    pub(crate) fn problem(&mut self, at: PortRef, kind: ProblemKind) {
        self.problems.push((Some(at), kind));
    }
}

/// What a context refers to, for tests of components.
#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::smp::queue::Limits;

    #[derive(Debug)]
    pub(crate) struct TestContext {
        cfg: SmConfig,
        fabric: ObservedFabric,
        smps: Smps,
        outbox: Outbox,
        effects: Effects,
    }

    impl TestContext {
        pub(crate) fn new(fabric: ObservedFabric) -> Self {
            let cfg = SmConfig::default();
            Self {
                smps: Smps::new(Limits::new(&cfg)),
                cfg,
                fabric,
                outbox: Outbox::default(),
                effects: Effects::default(),
            }
        }

        pub(crate) fn ctx(&mut self) -> Ctx<'_> {
            Ctx {
                now: Instant::START,
                cfg: &self.cfg,
                fabric: &mut self.fabric,
                smps: &mut self.smps,
                outbox: &mut self.outbox,
                effects: &mut self.effects,
            }
        }
    }
}
