//! Which sweep comes next, and which switches and ports it reads again.
//!
//! A light sweep reads SwitchInfo of every switch; a local sweep reads the switches and ports that
//! traps, light sweeps or failed requests named; a full sweep reads the whole fabric: at startup,
//! on request, when the SM's own port changes, and when the observed fabric may be inconsistent
//! ([`ConsistencyCheck`]). Local sweeps do not postpone light sweeps, however often they run.

pub(crate) mod scope;

use core::time::Duration;
use std::collections::BTreeSet;

use ferrosm_mad::time::Instant;

use ferrosm_fabric::observed::{NodeIdx, PortRef};

use crate::report::SweepKind;

/// Minimum time between light sweeps that traps cause, and between re-reads on behalf of trap storm
/// sources.
pub(crate) const LIGHT_SPACING: Duration = Duration::from_secs(1);

/// Time between checks of what was postponed until after a light sweep, of inconsistencies and of
/// silent ports, without light sweeps.
const CHECK_INTERVAL: Duration = Duration::from_secs(10);

/// Interval of light sweeps if the configuration has none: they find changes whose traps were lost.
const SLOW_INTERVAL: Duration = Duration::from_mins(5);

/// Switches and ports to read again.
#[derive(Debug, Default)]
pub(crate) struct Rereads {
    pub(crate) switches: BTreeSet<NodeIdx>,
    pub(crate) ports: BTreeSet<PortRef>,
}

impl Rereads {
    pub(crate) fn is_empty(&self) -> bool {
        self.switches.is_empty() && self.ports.is_empty()
    }

    fn clear(&mut self) {
        self.switches.clear();
        self.ports.clear();
    }

    fn append(&mut self, other: &mut Self) {
        self.switches.append(&mut other.switches);
        self.ports.append(&mut other.ports);
    }

    fn remove_node(&mut self, n: NodeIdx) {
        self.switches.remove(&n);
        self.ports.retain(|p| p.node != n);
    }
}

/// Schedules a full sweep after timeouts, invalid responses or contradictory neighbour reports,
/// which can leave the observed fabric wrong without any further trap.
///
/// The sweep waits until there was no inconsistency for [`Self::QUIET_INTERVALS`] light sweep
/// intervals, because a full sweep treats an unanswered request as an absent node. The delay
/// doubles each time the inconsistency persists.
#[derive(Debug, Default)]
struct ConsistencyCheck {
    is_pending: bool,
    last_inconsistency: Instant,
    last_full_sweep: Instant,
    delay: Duration,
}

impl ConsistencyCheck {
    const QUIET_INTERVALS: u32 = 3;
    /// How often the delay doubles.
    const DOUBLINGS: u32 = 5;

    const fn record_inconsistency(&mut self, now: Instant) {
        self.is_pending = true;
        self.last_inconsistency = now;
    }

    fn begin_full_sweep(&mut self, now: Instant, interval: Duration) {
        let min = interval * Self::QUIET_INTERVALS;
        let max = min * (1 << Self::DOUBLINGS);
        self.delay = if self.is_pending {
            (self.delay * 2).clamp(min, max)
        } else {
            min
        };
        self.is_pending = false;
        self.last_full_sweep = now;
    }

    fn is_due(&self, now: Instant, interval: Duration) -> bool {
        self.is_pending
            && now.since(self.last_inconsistency) >= interval * Self::QUIET_INTERVALS
            && now.since(self.last_full_sweep) >= self.delay
    }
}

/// What the SM does when it is idle.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Due {
    Nothing,
    Light,
    /// Without light sweeps: what a light sweep does after its reads.
    Check,
    Local,
    Full,
}

/// The sweeps that are due, and what they read.
#[derive(Debug, Default)]
pub(crate) struct SweepSchedule {
    requested: Option<SweepKind>,
    light_requested: bool,
    /// To be read by the next local sweep.
    next: Rereads,
    /// To be read after the next light sweep: they may have changed after they were read, or did
    /// not accept a Set.
    after_light: Rereads,
    /// When the next light sweep is due; without a link, when the port is read again.
    timer: Option<Instant>,
    last_light: Instant,
    /// The configuration has no light sweeps.
    is_slow: bool,
    /// There are ports whose neighbour does not respond.
    has_silent_ports: bool,
    /// Without light sweeps: when `after_light`, inconsistencies and silent ports are checked.
    check_due: Option<Instant>,
    consistency: ConsistencyCheck,
}

impl SweepSchedule {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            last_light: now,
            ..Self::default()
        }
    }

    /// Requests a sweep for the next time the SM is idle.
    pub(crate) fn request(&mut self, kind: SweepKind) {
        self.requested = self.requested.max(Some(kind));
    }

    /// Requests a light sweep. A local sweep does not replace it.
    pub(crate) const fn request_light(&mut self) {
        self.light_requested = true;
    }

    /// Whether a sweep is requested.
    pub(crate) const fn is_requested(&self) -> bool {
        self.requested.is_some() || self.light_requested
    }

    /// Whether a sweep is requested, or a light sweep is due.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.is_requested() || self.timer.is_some_and(|due| due <= now)
    }

    /// Whether a full sweep is requested.
    pub(crate) fn is_full_sweep_requested(&self) -> bool {
        self.requested == Some(SweepKind::Full)
    }

    /// Drops requested sweeps.
    pub(crate) const fn cancel(&mut self) {
        self.requested = None;
        self.light_requested = false;
    }

    /// Schedules a switch for the next local sweep.
    pub(crate) fn reread_switch(&mut self, n: NodeIdx) {
        self.next.switches.insert(n);
    }

    /// Schedules a port for the next local sweep.
    pub(crate) fn reread_port(&mut self, p: PortRef) {
        self.next.ports.insert(p);
    }

    /// Schedules a switch to be read after the next light sweep.
    pub(crate) fn reread_switch_later(&mut self, n: NodeIdx) {
        self.after_light.switches.insert(n);
    }

    /// Schedules a port to be read after the next light sweep.
    pub(crate) fn reread_port_later(&mut self, p: PortRef) {
        self.after_light.ports.insert(p);
    }

    /// Takes what the next local sweep reads.
    pub(crate) fn take_rereads(&mut self) -> Rereads {
        core::mem::take(&mut self.next)
    }

    /// What the next local sweep reads.
    pub(crate) const fn rereads(&self) -> &Rereads {
        &self.next
    }

    /// Forgets a node that left the fabric.
    pub(crate) fn remove_node(&mut self, n: NodeIdx) {
        self.next.remove_node(n);
        self.after_light.remove_node(n);
    }

    /// A request timed out after its last retry, or a response was invalid.
    pub(crate) const fn record_inconsistency(&mut self, now: Instant) {
        self.consistency.record_inconsistency(now);
    }

    /// Two links contradict each other. The conflict may last until the full sweep, which therefore
    /// must not wait for its end.
    pub(crate) const fn record_link_conflict(&mut self, now: Instant) {
        if !self.consistency.is_pending {
            self.consistency.record_inconsistency(now);
        }
    }

    /// A full sweep begins: it reads whatever was to be read again.
    pub(crate) fn begin_full_sweep(&mut self, now: Instant, interval: Duration) {
        self.begin_sweep();
        self.light_requested = false;
        self.next.clear();
        self.after_light.clear();
        let interval = check_interval(interval);
        self.consistency.begin_full_sweep(now, interval);
    }

    /// A local sweep begins. Returns when the next light sweep is due, which it must not postpone.
    pub(crate) const fn begin_local_sweep(&mut self) -> Option<Instant> {
        let light_due = self.timer;
        self.begin_sweep();
        light_due
    }

    const fn begin_sweep(&mut self) {
        self.requested = None;
        self.timer = None;
        self.check_due = None;
    }

    /// A full or local sweep is complete; `interval` is that of light sweeps, zero for none.
    /// `light_due` is when the next one was due before a local sweep.
    pub(crate) fn finish_sweep(
        &mut self,
        now: Instant,
        interval: Duration,
        light_due: Option<Instant>,
    ) {
        self.arm_timer(now, interval);
        self.timer = light_due.or(self.timer);
    }

    /// A light sweep begins.
    pub(crate) const fn begin_light_sweep(&mut self, now: Instant) {
        self.last_light = now;
    }

    /// What was postponed until after a light sweep is due. Returns whether the fabric has to be
    /// checked by a full sweep.
    pub(crate) fn take_postponed(&mut self, now: Instant, interval: Duration) -> bool {
        self.next.append(&mut self.after_light);
        self.consistency.is_due(now, check_interval(interval))
    }

    /// Whether there are ports whose neighbour does not respond.
    pub(crate) const fn set_silent_ports(&mut self, has_any: bool) {
        self.has_silent_ports = has_any;
    }

    /// Whether something is to be checked although no light sweep is due.
    fn needs_check(&self) -> bool {
        self.is_slow
            && (self.has_silent_ports
                || self.consistency.is_pending
                || !self.after_light.is_empty())
    }

    /// Whether the next local sweep has nothing to read.
    pub(crate) fn has_no_rereads(&self) -> bool {
        self.next.is_empty()
    }

    /// Arms the timer. `after` is zero if the configuration has no light sweeps.
    pub(crate) fn arm_timer(&mut self, now: Instant, after: Duration) {
        self.is_slow = after.is_zero();
        let after = if self.is_slow { SLOW_INTERVAL } else { after };
        self.timer = Some(now + after);
    }

    pub(crate) const fn stop_timer(&mut self) {
        self.timer = None;
        self.check_due = None;
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        [self.timer, self.check_due].into_iter().flatten().min()
    }

    /// What an idle SM does next. `may_sweep` is whether it is the master and has a link; otherwise
    /// only full sweeps begin, which discover who is master.
    pub(crate) fn next(&mut self, now: Instant, may_sweep: bool) -> Due {
        if may_sweep && core::mem::take(&mut self.light_requested) {
            let soon = self.last_light + LIGHT_SPACING;
            self.timer = Some(self.timer.map_or(soon, |t| t.min(soon)));
        }
        let overdue = self.timer.is_some_and(|t| t + LIGHT_SPACING <= now);
        match self.requested {
            Some(SweepKind::Full) => return Due::Full,
            // A light sweep that is overdue precedes local sweeps, or one local sweep after another
            // would leave no time for it.
            Some(SweepKind::Local) if may_sweep && !overdue => return Due::Local,
            Some(SweepKind::Local) | None => {}
        }
        if may_sweep && self.needs_check() {
            let due = *self.check_due.get_or_insert(now + CHECK_INTERVAL);
            if due <= now {
                self.check_due = Some(now + CHECK_INTERVAL);
                return Due::Check;
            }
        }
        if self.timer.is_none_or(|due| due > now) {
            return Due::Nothing;
        }
        self.timer = None;
        Due::Light
    }
}

/// The interval that delays of consistency checks are multiples of.
const fn check_interval(light: Duration) -> Duration {
    if light.is_zero() {
        CHECK_INTERVAL
    } else {
        light
    }
}

#[cfg(test)]
mod tests {
    use ferrosm_mad::attr::NodeInfo;
    use ferrosm_mad::ids::PortNum;
    use ferrosm_mad::smp::DrPath;

    use super::*;
    use ferrosm_fabric::observed::{Node, ObservedFabric};

    fn at(seconds: u64) -> Instant {
        Instant::from_nanos(seconds * 1_000_000_000)
    }

    fn port() -> PortRef {
        let node = Node::new(NodeInfo::default(), DrPath::LOCAL);
        PortRef::new(ObservedFabric::default().add_node(node), PortNum(1))
    }

    /// A timer that remains would be in the past until the next sweep, and the driver would not
    /// sleep.
    #[test]
    fn stopped_schedule_has_no_timer() {
        let mut schedule = SweepSchedule::new(at(0));
        schedule.arm_timer(at(0), Duration::ZERO);
        schedule.reread_port_later(port());
        assert_eq!(schedule.next(at(0), true), Due::Nothing);
        assert_eq!(schedule.poll_timeout(), Some(at(0) + CHECK_INTERVAL));
        schedule.stop_timer();
        assert_eq!(schedule.poll_timeout(), None);
    }
    #[test]
    fn requested_light_sweep_follows_a_local_sweep() {
        let mut schedule = SweepSchedule::new(at(0));
        schedule.request(SweepKind::Local);
        schedule.request_light();
        assert_eq!(schedule.next(at(0), true), Due::Local);
        let light_due = schedule.begin_local_sweep();
        schedule.finish_sweep(at(0), Duration::ZERO, light_due);
        assert_eq!(schedule.next(at(0), true), Due::Nothing);
        assert_eq!(schedule.next(at(0) + LIGHT_SPACING, true), Due::Light);
    }
}
