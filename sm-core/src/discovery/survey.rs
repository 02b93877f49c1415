//! Surveys: how many new switch ports are behind a port that leads to more of them than a sweep
//! accepts uncounted ([`crate::discovery::budget`]).
//!
//! A survey follows the links behind the port breadth-first and stores nothing but the GUIDs and DR
//! paths of switches. It runs between other activities, in batches of [`BATCH`] ports, so that
//! other changes wait for one batch at most. A batch with a node that does not respond is
//! interrupted for them at the first timeout, once: it is repeated later, and then ends. If the
//! survey comes to an end, the next sweep accepts what it counted. If it exceeds
//! `sweep.new-port-budget`, the port stays excluded and is counted up to that limit again after a
//! delay that doubles; up to [`QUICK_MAX`] it is counted as often as its neighbour is read, so that
//! a device that was repaired returns soon.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

use ferrosm_fabric::observed::{ExclusionReason, ObservedFabric, PortRef, plausible};
use ferrosm_mad::attr::{NodeInfo, NodeType, PortInfo, PortState};
use ferrosm_mad::ids::{NodeGuid, PortNum};
use ferrosm_mad::smp::DrPath;
use ferrosm_mad::time::Instant;
use rustc_hash::FxHashSet;

use crate::ctx::Ctx;
use crate::discovery::budget::{Allowance, UNCOUNTED_MAX};
use crate::discovery::endless::WITHOUT_HOST_MAX;
use crate::smp::op::{SmpOp, SurveyPort};
use crate::smp::outcome::SmpOutcome;

/// Ports that one batch reads.
const BATCH: usize = 256;
/// Switch ports up to which a survey counts while a full one would be too early: a few switches.
const QUICK_MAX: u32 = 256;
/// Shortest and longest time between two surveys up to `sweep.new-port-budget`, and after a device
/// misreported what is behind it.
const DELAYS: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(3600));

/// The end of a survey.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SurveyResult {
    /// A sweep may accept what is behind the port.
    Counted(PortRef),
    /// More than `sweep.new-port-budget` is behind the port, for this reason; reported once.
    Excluded(PortRef, ExclusionReason),
    /// As before.
    Unchanged,
}

/// A port with excluded switches behind it.
#[derive(Debug)]
struct ExcludedPort {
    /// Switch ports that the next sweep accepts.
    counted: Option<u32>,
    reason: ExclusionReason,
    /// No survey begins earlier.
    any_from: Instant,
    /// No survey up to `sweep.new-port-budget` begins earlier.
    full_from: Instant,
    delay: Duration,
}

impl ExcludedPort {
    /// The delay until the next survey; doubled for the one after it.
    fn take_delay(&mut self) -> Duration {
        let (min, max) = DELAYS;
        let delay = self.delay.clamp(min, max);
        self.delay = delay * 2;
        delay
    }
}

/// A survey in progress.
#[derive(Debug)]
struct Survey {
    at: PortRef,
    is_full: bool,
    max: u32,
    /// The DR path and the number of ports of each switch, beginning with the known one.
    switches: Vec<(DrPath, u8)>,
    guids: FxHashSet<NodeGuid>,
    /// Ports of the switches behind the port.
    ports: u32,
    has_host: bool,
    /// The first port of the batch, and the port that is read next.
    batch: SurveyPort,
    next: SurveyPort,
    /// The batch was interrupted before.
    is_repeated: bool,
    /// Requests without a response yet.
    outstanding: usize,
    /// A request of this batch has timed out.
    has_timeout: bool,
}

/// Ports with excluded switches behind them, and the survey that runs.
#[derive(Debug, Default)]
pub(crate) struct Surveys {
    ports: BTreeMap<PortRef, ExcludedPort>,
    /// To be surveyed, each port once.
    due: VecDeque<PortRef>,
    running: Option<Survey>,
}

impl Surveys {
    /// What the sweep that begins accepts behind these ports.
    pub(crate) fn allowances(&self) -> BTreeMap<PortRef, Allowance> {
        let allowance = |port: &ExcludedPort| {
            let none = Allowance::NoSwitch(port.reason);
            port.counted.map_or(none, Allowance::SwitchPorts)
        };
        let ports = self.ports.iter();
        ports.map(|(p, port)| (*p, allowance(port))).collect()
    }

    /// A sweep excluded new switches behind a port.
    pub(crate) fn on_excluded(&mut self, at: PortRef, reason: ExclusionReason, now: Instant) {
        let port = self.ports.entry(at).or_insert(ExcludedPort {
            counted: None,
            reason,
            any_from: Instant::START,
            full_from: Instant::START,
            delay: Duration::ZERO,
        });
        if port.counted.take().is_some() {
            // More than a survey counted.
            port.any_from = now + port.take_delay();
        }
        let is_running = self.running.as_ref().is_some_and(|s| s.at == at);
        if now >= port.any_from && !is_running && !self.due.contains(&at) {
            self.due.push_back(at);
        }
    }

    /// An operator requests a sweep: the next survey of each port counts up to the limit.
    pub(crate) fn end_delays(&mut self) {
        for port in self.ports.values_mut() {
            port.any_from = Instant::START;
            port.full_from = Instant::START;
            port.delay = Duration::ZERO;
        }
    }

    /// A sweep is complete: what it accepted needs no survey.
    pub(crate) fn forget_linked(&mut self, fabric: &ObservedFabric) {
        self.ports
            .retain(|at, _| fabric.get(at.node).is_some() && fabric.peer(*at).is_none());
    }

    /// The DR path of a request to a node of the survey.
    #[cold]
    pub(crate) fn path_of(&self, op: SmpOp) -> Option<DrPath> {
        let (SmpOp::SurveyPortInfo(at) | SmpOp::SurveyNodeInfo(at)) = op else {
            return None;
        };
        let survey = self.running.as_ref()?;
        let (path, _) = survey.switches.get(at.switch as usize)?;
        if matches!(op, SmpOp::SurveyNodeInfo(_)) {
            path.extend(at.port)
        } else {
            Some(*path)
        }
    }

    /// Begins a survey that is due, or continues the one that runs. Returns whether there are
    /// requests.
    pub(crate) fn begin_batch(&mut self, ctx: &mut Ctx<'_>) -> bool {
        while self.running.is_none() {
            let Some(at) = self.due.pop_front() else {
                return false;
            };
            self.running = self.begin(ctx, at);
        }
        let Some(survey) = &mut self.running else {
            return false;
        };
        survey.is_repeated = survey.outstanding > 0;
        if survey.is_repeated {
            survey.next = survey.batch;
            survey.outstanding = 0;
        }
        survey.batch = survey.next;
        survey.has_timeout = false;
        if survey.ports == 0 {
            survey.outstanding += 1;
            ctx.smps.enqueue(SmpOp::SurveyNodeInfo(survey.next));
            return true;
        }
        for _ in 0..BATCH {
            let Some(at) = survey.take_next() else {
                break;
            };
            survey.outstanding += 1;
            ctx.smps.enqueue(SmpOp::SurveyPortInfo(at));
        }
        true
    }

    fn begin(&self, ctx: &Ctx<'_>, at: PortRef) -> Option<Survey> {
        let port = self.ports.get(&at)?;
        let node = ctx.fabric.get(at.node).filter(|node| node.is_switch())?;
        let is_full = ctx.now >= port.full_from;
        let budget = ctx.cfg.new_port_budget;
        // A DR path has at most 63 hops.
        node.path.extend(at.port)?;
        let first = SurveyPort {
            switch: 0,
            port: at.port,
        };
        Some(Survey {
            at,
            is_full,
            max: if is_full {
                budget
            } else {
                QUICK_MAX.min(budget)
            },
            switches: vec![(node.path, 0)],
            guids: FxHashSet::default(),
            ports: 0,
            has_host: false,
            batch: first,
            next: first,
            is_repeated: false,
            outstanding: 0,
            has_timeout: false,
        })
    }

    /// A request timed out.
    pub(crate) const fn on_timeout(&mut self) {
        if let Some(survey) = &mut self.running {
            survey.has_timeout = true;
        }
    }

    /// Whether the batch waits for a node that does not respond, and may be interrupted.
    pub(crate) fn may_interrupt(&self) -> bool {
        let survey = self.running.as_ref();
        survey.is_some_and(|s| s.has_timeout && !s.is_repeated)
    }

    /// PortInfo of a port: if it is up, the node behind it is read.
    pub(crate) fn on_port_info(&mut self, ctx: &mut Ctx<'_>, at: SurveyPort, outcome: &SmpOutcome) {
        // As in `begin`.
        let has_path = self.path_of(SmpOp::SurveyNodeInfo(at)).is_some();
        let Some(survey) = &mut self.running else {
            return;
        };
        survey.outstanding = survey.outstanding.saturating_sub(1);
        let info = outcome.data().map(PortInfo::decode);
        let is_up = info.is_some_and(|info| info.port_state >= PortState::Initialize);
        if is_up && has_path && !survey.is_over() {
            survey.outstanding += 1;
            ctx.smps.enqueue(SmpOp::SurveyNodeInfo(at));
        }
    }

    /// NodeInfo of the node behind a port: a switch that is not in the subnet is counted.
    pub(crate) fn on_node_info(
        &mut self,
        fabric: &ObservedFabric,
        at: SurveyPort,
        outcome: &SmpOutcome,
    ) {
        let beyond = self.path_of(SmpOp::SurveyNodeInfo(at));
        let Some(survey) = &mut self.running else {
            return;
        };
        survey.outstanding = survey.outstanding.saturating_sub(1);
        let info = outcome.data().map(NodeInfo::decode);
        let info = info.filter(|info| plausible::implausible_node_info(info).is_none());
        survey.has_host |= info.is_some_and(|info| info.node_type != NodeType::Switch);
        let is_new_switch = |info: &NodeInfo| {
            info.node_type == NodeType::Switch && fabric.node_by_guid(info.node_guid).is_none()
        };
        if let Some(info) = info.filter(is_new_switch)
            && let Some(path) = beyond
            && !survey.is_over()
            && survey.guids.insert(info.node_guid)
        {
            survey.switches.push((path, info.num_ports));
            survey.ports += u32::from(info.num_ports);
        }
    }

    /// All responses of a batch are in. Returns how the survey ended, if it did.
    pub(crate) fn finish_batch(&mut self, now: Instant) -> Option<SurveyResult> {
        let survey = self.running.take_if(|s| s.is_over() || s.is_complete())?;
        let port = self.ports.get_mut(&survey.at)?;
        if !survey.is_over() {
            // What an agent did not report now is new when it does.
            port.counted = Some(survey.ports.saturating_add(UNCOUNTED_MAX));
            return Some(SurveyResult::Counted(survey.at));
        }
        if !survey.is_full {
            return Some(SurveyResult::Unchanged);
        }
        port.full_from = now + port.take_delay();
        let reason = if survey.ports > survey.max {
            ExclusionReason::TooManySwitchPorts(survey.max)
        } else {
            ExclusionReason::EndlessSwitches(WITHOUT_HOST_MAX)
        };
        let is_known = core::mem::replace(&mut port.reason, reason) == reason;
        Some(if is_known {
            SurveyResult::Unchanged
        } else {
            SurveyResult::Excluded(survey.at, reason)
        })
    }
}

impl Survey {
    /// More than a limit was found.
    const fn is_over(&self) -> bool {
        self.ports > self.max || (!self.has_host && self.ports > WITHOUT_HOST_MAX)
    }

    /// All ports were read.
    fn is_complete(&self) -> bool {
        self.next.switch as usize >= self.switches.len().max(1)
            || (self.next.switch == 0 && self.ports == 0)
    }

    /// The port that is read next.
    fn take_next(&mut self) -> Option<SurveyPort> {
        if self.is_over() {
            return None;
        }
        if self.next.switch == 0 {
            self.next = SurveyPort {
                switch: 1,
                port: PortNum(1),
            };
        }
        let (_, num_ports) = self.switches.get(self.next.switch as usize)?;
        let taken = self.next;
        self.next = if taken.port.0 < *num_ports {
            SurveyPort {
                port: PortNum(taken.port.0 + 1),
                ..taken
            }
        } else {
            SurveyPort {
                switch: taken.switch + 1,
                port: PortNum(1),
            }
        };
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use ferrosm_mad::ids::PortGuid;
    use ferrosm_mad::mad::Status;

    use super::*;
    use crate::ctx::tests::TestContext;
    use ferrosm_fabric::observed::Node;

    fn switch_info(guid: u64, num_ports: u8) -> NodeInfo {
        NodeInfo {
            base_version: 1,
            class_version: 1,
            node_type: NodeType::Switch,
            num_ports,
            node_guid: NodeGuid(guid),
            port_guid: PortGuid(guid),
            local_port_num: PortNum(1),
            ..NodeInfo::default()
        }
    }

    /// Other work interrupts a batch with a silent node once. The survey continues with the same
    /// batch, so that it comes to an end however often there is other work.
    #[test]
    fn interrupted_batch_is_repeated_to_its_end() {
        let mut fabric = ObservedFabric::default();
        let known = fabric.add_node(Node::new(switch_info(1, 2), DrPath::LOCAL));
        let mut test = TestContext::new(fabric);
        let ctx = &mut test.ctx();
        let mut surveys = Surveys::default();
        let at = PortRef::new(known, PortNum(1));
        surveys.on_excluded(at, ExclusionReason::Uncounted(1), ctx.now);
        assert!(surveys.begin_batch(ctx));
        let first = SurveyPort {
            switch: 0,
            port: at.port,
        };
        let response = SmpOutcome::Response {
            status: Status::OK,
            data: switch_info(2, 254).encode(),
        };
        surveys.on_node_info(ctx.fabric, first, &response);
        assert_eq!(surveys.finish_batch(ctx.now), None);

        for may_interrupt in [true, false, false] {
            ctx.smps.clear();
            assert!(surveys.begin_batch(ctx));
            assert_eq!(ctx.smps.pending(), 254);
            surveys.on_timeout();
            assert_eq!(surveys.may_interrupt(), may_interrupt);
        }
        for port in 1..=254 {
            let at = SurveyPort {
                switch: 1,
                port: PortNum(port),
            };
            surveys.on_port_info(ctx, at, &SmpOutcome::Unanswered);
        }
        assert_eq!(
            surveys.finish_batch(ctx.now),
            Some(SurveyResult::Counted(at))
        );
    }
}
