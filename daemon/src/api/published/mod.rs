//! What the service publishes for the API: role, activity, and the fabric after each sweep.
//!
//! The thread of the SM publishes; readers clone an `Arc`. Publishing never waits for a reader
//! longer than for such a clone.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::{SystemTime, UNIX_EPOCH};

use ferrosm_api::answer::{ApiError, ErrorKind};
use ferrosm_core::config::maintenance::Maintenance;
use ferrosm_core::config::partitions::Partitions;
use ferrosm_core::config::port_limits::PortLimits;
use ferrosm_core::event::LinkFlaps;
use ferrosm_core::report::{ActivityKind, Problem};
use ferrosm_core::routing::what_if::RoutingBasis;
use ferrosm_core::{SmConfig, SubnetManager, SweepReport};
use ferrosm_fabric::location::PortName;
use ferrosm_fabric::snapshot::{EarlierTables, Snapshot};
use ferrosm_mad::attr::SmState;

use super::enabled_ports::EnabledPorts;
use super::history::{ForgottenEntries, History, LinkKey};
use super::intent::{ComparedIntent, Intent};
use super::list::invalid;
use super::past::{Observed, PastStates};
use super::problems::StandingProblems;
use super::replicas::Replicas;
use super::rfc3339;
use super::route_history::RouteHistory;
use super::seen::Seen;
use super::sm_reports::SmReports;

/// Shortest time after which a problem of a device that is read in each light sweep counts as
/// solved if it is not reported.
const QUIET_MIN: Duration = Duration::from_secs(60);
/// Interval of light sweeps that are configured to run at long intervals only.
const LONG_SWEEP_INTERVAL: Duration = Duration::from_secs(300);
/// Most links that flap at the same time. Further ones are only logged.
const FLAPPING_MAX: usize = 4096;
/// Of states in which only problems or flapping links changed, those that lasted less long are not
/// recorded.
const SHORT_STATE: Duration = Duration::from_secs(1);
/// Estimated bytes of a past state, and of a problem or message in it.
const PAST_STATE_LEN: usize = 3000;
const PROBLEM_LEN: usize = 400;
/// Estimated memory of a member of a partition, in bytes.
const MEMBER_LEN: usize = 200;

/// The published state. Clones share it.
#[derive(Debug, Clone)]
pub struct Published {
    current: Arc<Mutex<Arc<State>>>,
    /// States before the current one. It is locked only while `current` is.
    past: Arc<Mutex<PastStates<State>>>,
    /// The thread that follows the state, if one does.
    watcher: Arc<OnceLock<Thread>>,
}

/// A state of the SM.
#[derive(Debug, Clone)]
pub struct State {
    /// Rises with each change. It begins with the time of the start, so that it also rises across
    /// restarts.
    pub revision: u64,
    /// When the process started.
    pub started: SystemTime,
    /// When this state was published.
    pub at: SystemTime,
    /// When the SM read it again for this answer, and found what changed.
    pub read_again_at: Option<SystemTime>,
    pub role: SmState,
    pub role_since: SystemTime,
    pub role_reason: String,
    pub priority: u8,
    pub activity: ActivityKind,
    /// Why the local port is unusable; `None` if it is usable, or unknown.
    pub no_link: Option<String>,
    /// The partitions in force.
    pub partitions: Arc<Partitions>,
    /// Numbers of those that operators added at run time.
    pub added_partitions: Arc<BTreeSet<u16>>,
    /// What is out of service.
    pub maintenance: Arc<[Maintenance]>,
    /// Limits of links at ports.
    pub port_limits: Arc<[PortLimits]>,
    /// Ports that were disabled until a moment ago.
    pub(super) enabled_ports: Arc<EnabledPorts>,
    /// Which keys and configurations ports and other SMs have.
    pub sm_reports: Arc<SmReports>,
    /// The SM_Key is the default, which is known to all.
    pub is_sm_key_default: bool,
    /// What waits for the consent of the operator.
    pub awaits_consent: Option<String>,
    /// The fabric; `None` before the first sweep.
    pub fabric: Option<FabricState>,
    /// Problems of sweeps that last.
    pub problems: Arc<StandingProblems>,
    /// Links that flap, with the number of losses that was reported.
    pub(super) flapping: Arc<BTreeMap<LinkKey, u32>>,
    /// The replicas of this master.
    pub(super) replicas: Arc<Replicas>,
    /// What operators declared about the fabric.
    pub intent: Arc<Intent>,
    /// How the fabric compares with it.
    pub(super) compared_intent: Arc<ComparedIntent>,
    /// Why no engine found a routing; `None` if one did.
    pub routing_failure: Option<String>,
    /// This SM became master after it was standby: another SM has reported what was wrong then.
    pub is_takeover: bool,
    /// This SM has been standby since it started, or since it was master.
    was_standby: bool,
    /// Number of changes of the role.
    pub term: u64,
    /// What was seen within this time is expected: it stays visible if it is gone.
    pub expect: Duration,
    /// See [`QUIET_MIN`].
    quiet: Duration,
    /// Only problems or flapping links changed since the state before.
    is_detail: bool,
    /// What was seen before this SM became master.
    earlier: Option<Earlier>,
}

/// What was seen before this SM became master.
#[derive(Debug, Clone)]
enum Earlier {
    /// In an earlier run.
    Saved(Arc<Seen>),
    /// In this run, when it was master last.
    Mastered(FabricState),
}

/// The fabric after a sweep.
#[derive(Debug, Clone)]
pub struct FabricState {
    pub snapshot: Arc<Snapshot>,
    /// The report of the sweep; `None` if the SM became standby before one was complete.
    pub report: Option<Arc<SweepReport>>,
    /// The routing in force, and what the next one would start from; `None` without a routing.
    pub basis: Option<Arc<RoutingBasis>>,
    /// Time of the snapshot.
    pub at: SystemTime,
    /// What changed since the first sweep as master.
    pub history: Arc<History>,
    /// Which LFT entries changed since then.
    pub(super) routes: Arc<RouteHistory>,
}

impl Default for Published {
    fn default() -> Self {
        let now = SystemTime::now();
        let since_epoch = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let state = State {
            revision: since_epoch.as_secs() * 1000,
            started: now,
            at: now,
            role: SmState::Discovering,
            role_since: now,
            role_reason: "the service has started".to_owned(),
            priority: 0,
            activity: ActivityKind::Idle,
            read_again_at: None,
            no_link: None,
            partitions: Arc::default(),
            added_partitions: Arc::default(),
            maintenance: Arc::default(),
            port_limits: Arc::default(),
            enabled_ports: Arc::default(),
            sm_reports: Arc::default(),
            is_sm_key_default: true,
            awaits_consent: None,
            fabric: None,
            problems: Arc::default(),
            flapping: Arc::default(),
            replicas: Arc::default(),
            intent: Arc::default(),
            compared_intent: Arc::default(),
            routing_failure: None,
            is_takeover: false,
            was_standby: false,
            term: 0,
            expect: Duration::MAX,
            quiet: QUIET_MIN,
            is_detail: false,
            earlier: None,
        };
        Self {
            current: Arc::new(Mutex::new(Arc::new(state))),
            past: Arc::default(),
            watcher: Arc::default(),
        }
    }
}

impl Published {
    /// The state published last.
    #[must_use]
    pub fn state(&self) -> Arc<State> {
        Arc::clone(&self.lock())
    }

    /// The state at an earlier time. The size of the fabric and of the records bounds the time that
    /// it takes.
    ///
    /// # Errors
    /// If the time is in the future, or before the first record; if `tables` are to be restored and
    /// the records lack them.
    pub(super) fn state_at(
        &self,
        at: SystemTime,
        tables: EarlierTables,
    ) -> Result<Arc<State>, ApiError> {
        if at > SystemTime::now() {
            return Err(invalid(format!("{} is in the future", rfc3339(at))));
        }
        let current = self.lock();
        let last = Arc::clone(&current);
        let past = self.lock_past();
        let followed = past.since(at);
        let known_since = past.known_since().unwrap_or(last.at);
        drop(past);
        drop(current);
        if last.at <= at {
            return Ok(last);
        }
        let Some((since, state)) = followed
            .as_ref()
            .and_then(|since| Some((since, since.state()?)))
        else {
            return Err(ApiError::new(
                ErrorKind::NotFound,
                format!(
                    "the state at {} is not known: this service recorded states since {}",
                    rfc3339(at),
                    rfc3339(known_since)
                ),
                "`ferrosm diff` and `ferrosm changes` know earlier changes, also those before the service started.",
            ));
        };
        if tables == EarlierTables::Restored
            && let Some(routes_since) = since.routes_known_since(last.at)
        {
            return Err(ApiError::new(
                ErrorKind::NotFound,
                format!(
                    "the routes at {} are not known: those since {} are; then more changed than the service records",
                    rfc3339(at),
                    rfc3339(routes_since)
                ),
                "`ferrosm changes` lists what changed; nodes, ports and links of that time are known.",
            ));
        }
        let mut state = state.clone();
        if let Some(fabric) = &mut state.fabric {
            let observed = since.observed(&last.observed(), tables);
            fabric.snapshot = observed.snapshot;
            fabric.history = observed.history;
        }
        Ok(Arc::new(state))
    }

    /// Since when the fabric is recorded; `None` if it was not before the present state.
    pub(super) fn fabric_recorded_since(&self) -> Option<SystemTime> {
        self.lock_past().first_at(|state| state.fabric.is_some())
    }

    /// Wakes this thread after each change from now on. Only the first call has an effect.
    pub(super) fn wake(&self, watcher: Thread) {
        // A second watcher would be a defect of the service, and harmless.
        let _ = self.watcher.set(watcher);
    }

    /// What was seen in an earlier run.
    pub(super) fn remember(&self, seen: Seen) {
        Arc::make_mut(&mut self.lock()).earlier = Some(Earlier::Saved(Arc::new(seen)));
    }

    /// The SM has another role.
    pub fn role_changed(&self, role: SmState, reason: String, sm: &SubnetManager) {
        // A master publishes the fabric with its first sweep, which replaces all of it: until then
        // it would only be in memory twice.
        let fabric = (role != SmState::Master)
            .then(|| (self.snapshot_of(sm), sm.routing_basis().map(Arc::new)))
            .filter(|(snapshot, _)| snapshot.nodes().next().is_some());
        let reports = SmReports::of(sm);
        self.publish(|state, now| {
            // Earlier states share what has not changed.
            if *state.sm_reports != reports {
                state.sm_reports = Arc::new(reports);
            }
            if state.role == SmState::Master {
                let mastered = state.fabric.take().filter(|fabric| fabric.report.is_some());
                state.earlier = mastered
                    .map(Earlier::Mastered)
                    .or_else(|| state.earlier.take());
            }
            state.is_takeover = role == SmState::Master && state.was_standby;
            state.was_standby = match role {
                SmState::Standby => true,
                SmState::Master => false,
                // It discovers the fabric before it takes over.
                _ => state.was_standby,
            };
            state.term += 1;
            state.role = role;
            state.role_since = now;
            state.role_reason = reason;
            state.problems = Arc::default();
            state.flapping = Arc::default();
            state.routing_failure = None;
            if let Some((snapshot, basis)) = fabric {
                state.fabric = Some(FabricState {
                    snapshot: Arc::new(snapshot),
                    report: None,
                    basis,
                    at: now,
                    history: Arc::default(),
                    routes: Arc::default(),
                });
            }
        });
    }

    /// A sweep is complete.
    pub fn sweep_completed(&self, report: &SweepReport, sm: &SubnetManager) {
        let snapshot = self.snapshot_of(sm);
        let basis = sm.routing_basis().map(Arc::new);
        let routes = self.routes_after(report, &snapshot, basis.as_deref());
        let reports = SmReports::of(sm);
        self.publish(|state, now| {
            // Earlier states share what has not changed.
            if *state.sm_reports != reports {
                state.sm_reports = Arc::new(reports);
            }
            Arc::make_mut(&mut state.problems).on_sweep(report, &snapshot, now);
            if !report.failed {
                state.routing_failure = None;
            }
            state.fabric = Some(FabricState {
                history: state.history_after(&snapshot, now),
                snapshot: Arc::new(snapshot),
                report: Some(Arc::new(report.clone())),
                basis,
                at: now,
                routes,
            });
        });
    }

    /// The changes of LFT entries until this snapshot.
    fn routes_after(
        &self,
        report: &SweepReport,
        snapshot: &Snapshot,
        basis: Option<&RoutingBasis>,
    ) -> Arc<RouteHistory> {
        let state = self.state();
        let last = state.fabric.as_ref();
        let before = last.filter(|before| before.report.is_some());
        let mut routes = before.map_or_else(Arc::default, |before| Arc::clone(&before.routes));
        RouteHistory::on_sweep(
            &mut routes,
            report,
            before.map(|before| &*before.snapshot),
            snapshot,
            basis,
            SystemTime::now(),
        );
        routes
    }

    /// A problem was found while no sweep ran.
    pub fn problem_found(&self, problem: &Problem) {
        self.publish_detail(|state, now| Arc::make_mut(&mut state.problems).on_found(problem, now));
    }

    /// A link flaps.
    pub fn link_flaps(&self, flaps: &LinkFlaps) {
        self.publish_detail(|state, _| {
            let flapping = Arc::make_mut(&mut state.flapping);
            if let Some(key) = key_of_ends(flaps.ends)
                && flapping.len() < FLAPPING_MAX
            {
                flapping.insert(key, flaps.flaps);
            }
        });
    }

    /// A link that flapped is stable.
    pub fn link_stable(&self, ends: [PortName; 2]) {
        self.publish_detail(|state, _| {
            if let Some(key) = key_of_ends(ends) {
                Arc::make_mut(&mut state.flapping).remove(&key);
            }
        });
    }

    /// No engine found a routing.
    pub fn routing_failed(&self, reason: String) {
        self.publish(|state, _| state.routing_failure = Some(reason));
    }

    /// An SMInfo scan between sweeps has shown other SMs, or another M_Key is in force.
    pub fn keys(&self, sm: &SubnetManager) {
        let reports = SmReports::of(sm);
        if *self.state().sm_reports != reports {
            self.publish(|state, _| state.sm_reports = Arc::new(reports));
        }
    }

    /// The replicas, if they have changed.
    pub(super) fn replicas(&self, replicas: Replicas) {
        if *self.state().replicas != replicas {
            self.publish(|state, _| state.replicas = Arc::new(replicas));
        }
    }

    /// Time has passed: what is gone for too long is no longer expected, and problems that are no
    /// longer reported are solved.
    pub(super) fn expire(&self) {
        let now = SystemTime::now();
        let state = self.state();
        let limit = now.checked_sub(state.expect).unwrap_or(UNIX_EPOCH);
        let fabric = state.fabric.as_ref();
        let is_over = fabric.is_some_and(|fabric| fabric.history.has_gone_before(limit));
        let is_trained = state.enabled_ports.has_expired(now);
        if !is_over && !is_trained && !state.problems.has_quiet(state.quiet, now) {
            return;
        }
        drop(state);
        self.publish(|state, now| {
            let quiet = state.quiet;
            Arc::make_mut(&mut state.problems).remove_quiet(quiet, now);
            Arc::make_mut(&mut state.enabled_ports).expire(now);
            if let Some(fabric) = &mut state.fabric {
                History::remove_gone_before(&mut fabric.history, limit);
            }
        });
    }

    /// What is gone and has this name is no longer expected.
    pub(super) fn forget(&self, name: &str) -> ForgottenEntries {
        let mut forgotten = ForgottenEntries::default();
        self.publish(|state, _| {
            if let Some(fabric) = &mut state.fabric {
                forgotten = History::forget(&mut fabric.history, name);
            }
        });
        forgotten
    }

    /// The local port is unusable, or usable again.
    pub fn local_port(&self, unusable: Option<String>) {
        self.publish(|state, _| state.no_link = unusable);
    }

    /// Something waits for the consent of the operator, or nothing does any more.
    pub fn consent(&self, awaited: Option<String>) {
        self.publish(|state, _| state.awaits_consent = awaited);
    }

    /// The SM has this configuration from now on.
    pub fn configuration(&self, cfg: &SmConfig) {
        let sweep_interval = match cfg.sweep_interval {
            Duration::ZERO => LONG_SWEEP_INTERVAL,
            interval => interval,
        };
        self.publish(|state, _| {
            state.priority = cfg.priority;
            state.is_sm_key_default = cfg.sm_key == SmConfig::default().sm_key;
            state.quiet = QUIET_MIN.max(sweep_interval.saturating_mul(3));
            if state.fabric.is_none() {
                state.partitions = Arc::clone(&cfg.partitions);
            }
        });
    }

    /// Operators changed partitions, or what is out of service; or the records of another SM may
    /// have.
    pub fn changes(&self, sm: &SubnetManager) {
        let partitions = sm.partitions();
        let numbers = partitions.list().iter().map(|partition| partition.number);
        let added: BTreeSet<u16> = numbers.filter(|n| sm.is_added_partition(*n)).collect();
        let maintenance: Arc<[Maintenance]> = sm.maintenance().cloned().collect();
        let port_limits: Arc<[PortLimits]> = sm.port_limits().cloned().collect();
        let last = self.state();
        let is_same = Arc::ptr_eq(&last.partitions, partitions)
            && *last.added_partitions == added
            && last.maintenance == maintenance
            && last.port_limits == port_limits;
        if is_same {
            return;
        }
        self.publish(|state, now| {
            state.partitions = Arc::clone(partitions);
            state.added_partitions = Arc::new(added);
            let enabled = Arc::make_mut(&mut state.enabled_ports);
            enabled.update(&state.maintenance, &maintenance, now);
            state.maintenance = maintenance;
            state.port_limits = port_limits;
        });
    }

    /// What was seen within this time is expected.
    pub fn expect(&self, expect: Duration) {
        self.publish(|state, _| state.expect = expect);
    }

    /// What operators declare from now on.
    pub fn declare(&self, intent: Intent) {
        if *self.state().intent != intent {
            self.publish(|state, _| state.intent = Arc::new(intent));
        }
    }

    /// The fabric was compared with what is declared.
    pub(super) fn intent_compared(&self, compared: ComparedIntent) {
        if *self.state().compared_intent != compared {
            self.publish(|state, _| state.compared_intent = Arc::new(compared));
        }
    }

    /// The SM does something else. No new revision: nothing that answers describe has changed.
    pub fn activity(&self, activity: ActivityKind) {
        let mut current = self.lock();
        if current.activity != activity {
            Arc::make_mut(&mut current).activity = activity;
        }
    }

    /// The fabric as the SM knows it, which shares what did not change with the last snapshot.
    fn snapshot_of(&self, sm: &SubnetManager) -> Snapshot {
        let last = self.state();
        let observed = last.fabric.as_ref();
        // It shares what the SA replies from.
        let published = sm.view().map(|view| &***view);
        let base = published.or_else(|| observed.map(|before| &*before.snapshot));
        sm.snapshot(base)
    }

    /// Publishes a state, and records the one before.
    fn publish(&self, change: impl FnOnce(&mut State, SystemTime)) {
        self.publish_change(false, change);
    }

    /// Publishes a change that leaves the fabric as it is, and of which there may be many.
    pub(super) fn publish_detail(&self, change: impl FnOnce(&mut State, SystemTime)) {
        self.publish_change(true, change);
    }

    /// Publishes a state, and records the one before, unless both belong to a burst of details.
    fn publish_change(&self, is_detail: bool, change: impl FnOnce(&mut State, SystemTime)) {
        let now = SystemTime::now();
        let mut current = self.lock();
        let lasted = now.duration_since(current.at).unwrap_or_default();
        let is_burst = is_detail && current.is_detail && lasted < SHORT_STATE;
        let before = (!is_burst).then(|| Arc::clone(&current));
        let state = Arc::make_mut(&mut current);
        change(state, now);
        state.revision += 1;
        state.at = now;
        state.is_detail = is_detail;
        if let Some(before) = before {
            self.lock_past().push(
                before.at,
                before.without_observed(),
                before.bytes(state),
                &before.observed(),
                &state.observed(),
            );
        }
        drop(current);
        if let Some(watcher) = self.watcher.get() {
            watcher.unpark();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Arc<State>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_past(&self) -> MutexGuard<'_, PastStates<State>> {
        self.past.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// What was seen as master until now; `None` if nothing was.
    pub(super) fn seen(&self, now: SystemTime) -> Option<Seen> {
        let is_master = self.role == SmState::Master;
        let fabric = self
            .fabric
            .as_ref()
            .filter(|f| is_master && f.report.is_some());
        match (fabric, &self.earlier) {
            (Some(fabric), _) => Some(Seen::of(&fabric.snapshot, &fabric.history, now)),
            (None, Some(Earlier::Saved(seen))) => Some(Seen::clone(seen)),
            (None, Some(Earlier::Mastered(last))) => {
                Some(Seen::of(&last.snapshot, &last.history, last.at))
            }
            (None, None) => None,
        }
    }

    /// What was observed; nothing without a fabric.
    fn observed(&self) -> Observed {
        let fabric = self.fabric.as_ref();
        fabric.map_or_else(Observed::default, |fabric| Observed {
            snapshot: Arc::clone(&fabric.snapshot),
            history: Arc::clone(&fabric.history),
        })
    }

    /// The state without what takes much memory: the snapshot, its changes and its routing.
    fn without_observed(&self) -> Self {
        let fabric = self.fabric.as_ref().map(|fabric| FabricState {
            snapshot: Arc::default(),
            report: fabric.report.clone(),
            basis: None,
            at: fabric.at,
            history: Arc::default(),
            routes: Arc::default(),
        });
        Self {
            fabric,
            earlier: None,
            ..self.clone()
        }
    }

    /// An estimate of the memory of [`Self::without_observed`] that the next state does not share.
    fn bytes(&self, next: &Self) -> usize {
        let report = self.fabric.as_ref().and_then(|f| f.report.as_ref());
        let of_report = report.map_or(0, |r| r.problems.len() + r.routing_messages.len());
        let members = match Arc::ptr_eq(&self.partitions, &next.partitions) {
            true => 0,
            false => self
                .partitions
                .list()
                .iter()
                .map(|p| p.members.len() + 1)
                .sum(),
        };
        PAST_STATE_LEN + (self.problems.len() + of_report) * PROBLEM_LEN + members * MEMBER_LEN
    }

    /// What changed until this snapshot. What happened before the first sweep as master is no news:
    /// another SM has reported it.
    fn history_after(&mut self, snapshot: &Snapshot, now: SystemTime) -> Arc<History> {
        if self.role != SmState::Master {
            return Arc::default();
        }
        let last = self.fabric.as_ref();
        if let Some(before) = last.filter(|before| before.report.is_some()) {
            let mut history = Arc::clone(&before.history);
            History::update(&mut history, &before.snapshot, snapshot, now);
            return history;
        }
        match self.earlier.take() {
            None => Arc::default(),
            Some(Earlier::Saved(seen)) => Arc::new(seen.missing_in(snapshot)),
            Some(Earlier::Mastered(last)) => {
                History::of_earlier_term(last.history, &last.snapshot, snapshot, last.at)
            }
        }
    }
}

/// The published fabric.
pub(super) fn ready(state: &State) -> Result<&FabricState, ApiError> {
    state.fabric.as_ref().ok_or_else(|| {
        ApiError::new(
            ErrorKind::NotReady,
            format!("the fabric is not discovered yet: {}", state.activity),
            "Ask again in a moment; `ferrosm status` shows what the SM does.",
        )
    })
}

/// The key of a link of two named ports.
pub(super) fn key_of_ends(ends: [PortName; 2]) -> Option<LinkKey> {
    let [a, b] = ends;
    let mut key = [(a.node?.guid, a.port), (b.node?.guid, b.port)];
    key.sort_unstable();
    Some(key)
}

#[cfg(test)]
impl Published {
    /// Publishes a state.
    pub(super) fn replace(&self, new: State) {
        self.publish(|state, _| {
            let revision = state.revision;
            *state = State { revision, ..new };
        });
    }

    /// The SM becomes master, and its first sweep finds an empty fabric.
    pub(super) fn first_sweep_as_master(&self) {
        self.publish(|state, now| {
            state.role = SmState::Master;
            let snapshot = Snapshot::default();
            state.fabric = Some(FabricState {
                history: state.history_after(&snapshot, now),
                snapshot: Arc::new(snapshot),
                report: Some(Arc::default()),
                basis: None,
                at: now,
                routes: Arc::default(),
            });
        });
    }
}

#[cfg(all(test, feature = "simulator"))]
mod tests;
