//! The context of a component: what it accesses besides its own state.
//!
//! A component reads and changes the observed fabric and enqueues SMPs and outputs; it does not
//! access other components. What follows for them it adds to the [`Effects`], which the manager
//! applies in order when the component returns.

use ferrosm_fabric::observed::{DeviceTable, NodeIdx, ObservedFabric, PortRef, RejectionEffect};
use ferrosm_mad::time::Instant;

use crate::config::SmConfig;
use crate::effect::Effects;
use crate::outbox::Outbox;
use crate::report::ProblemKind;
use crate::smp::Smps;
use crate::smp::outcome::SmpOutcome;

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
    /// table: the end of the sweep reports that ([`crate::kept_tables::report_kept`]).
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
        node.is_some_and(|node| node.may_write(table, self.now))
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
