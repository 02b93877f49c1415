//! What the service publishes for the API: role, activity, and the fabric after each sweep.
//!
//! The thread of the SM publishes; readers clone an `Arc`. Publishing never waits for a reader
//! longer than for such a clone.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use ferrosm_core::config::maintenance::Maintenance;
use ferrosm_core::config::partitions::Partitions;
use ferrosm_core::report::ActivityKind;
use ferrosm_core::routing::what_if::RoutingBasis;
use ferrosm_core::{SmConfig, SubnetManager, SweepReport};
use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_mad::attr::SmState;

use super::history::History;

/// The published state. Clones share it.
#[derive(Debug, Clone)]
pub struct Published {
    current: Arc<Mutex<Arc<State>>>,
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
    /// What waits for the consent of the operator.
    pub awaits_consent: Option<String>,
    /// The fabric; `None` before the first sweep.
    pub fabric: Option<FabricState>,
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
            no_link: None,
            partitions: Arc::default(),
            added_partitions: Arc::default(),
            maintenance: Arc::default(),
            awaits_consent: None,
            fabric: None,
        };
        Self {
            current: Arc::new(Mutex::new(Arc::new(state))),
        }
    }
}

impl Published {
    /// The state published last.
    #[must_use]
    pub fn state(&self) -> Arc<State> {
        let current = self.current.lock();
        Arc::clone(&current.unwrap_or_else(PoisonError::into_inner))
    }

    /// The SM has another role.
    pub fn role_changed(&self, role: SmState, reason: String, sm: &SubnetManager) {
        let fabric = self.fabric_after(None, sm);
        self.publish(|state, now| {
            state.role = role;
            state.role_since = now;
            state.role_reason = reason;
            if fabric.snapshot.nodes().next().is_some() {
                state.fabric = Some(fabric);
            }
        });
    }

    /// A sweep is complete.
    pub fn sweep_completed(&self, report: &SweepReport, sm: &SubnetManager) {
        let fabric = self.fabric_after(Some(report), sm);
        self.publish(|state, _| state.fabric = Some(fabric));
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
        self.publish(|state, _| {
            state.priority = cfg.priority;
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
        let last = self.state();
        let is_same = Arc::ptr_eq(&last.partitions, partitions)
            && *last.added_partitions == added
            && last.maintenance == maintenance;
        if is_same {
            return;
        }
        self.publish(|state, _| {
            state.partitions = Arc::clone(partitions);
            state.added_partitions = Arc::new(added);
            state.maintenance = maintenance;
        });
    }

    /// The SM does something else. No new revision: nothing that answers describe has changed.
    pub fn activity(&self, activity: ActivityKind) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.activity != activity {
            Arc::make_mut(&mut current).activity = activity;
        }
    }

    fn fabric_after(&self, report: Option<&SweepReport>, sm: &SubnetManager) -> FabricState {
        let last = self.state();
        let observed = last.fabric.as_ref();
        // It shares what the SA replies from.
        let published = sm.view().map(|view| &***view);
        let base = published.or_else(|| observed.map(|before| &*before.snapshot));
        let snapshot = sm.snapshot(base);
        let now = SystemTime::now();
        // What happened before the first sweep as master is no news: another SM has reported it.
        let before = observed.filter(|before| report.is_some() && before.report.is_some());
        let mut history = before.map_or_else(Arc::default, |before| Arc::clone(&before.history));
        if let Some(before) = before {
            History::update(&mut history, &before.snapshot, &snapshot, now);
        }
        FabricState {
            snapshot: Arc::new(snapshot),
            report: report.map(|report| Arc::new(report.clone())),
            basis: sm.routing_basis().map(Arc::new),
            at: now,
            history,
        }
    }

    fn publish(&self, change: impl FnOnce(&mut State, SystemTime)) {
        let now = SystemTime::now();
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let state = Arc::make_mut(&mut current);
        change(state, now);
        state.revision += 1;
        state.at = now;
    }
}
