//! A subnet manager as the simulated world runs it: it executes the core's outputs, keeps its
//! durable records, and logs its events, replies and command results for the test to read.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ferrosm_core::records::ViewPersister;
use ferrosm_core::routing::routes::RoutingJobResult;
use ferrosm_core::{
    CommandId, CommandReply, Event, Input, LoadedReplica, Output, Persisted, ReplicaEvent,
    ReplicationRole, RestoredState, SmConfig, SubnetManager, SweepReport,
};
use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_fabric::snapshot::persist::RestoredSnapshot;
use ferrosm_mad::gmp::Peer;
use ferrosm_mad::ids::{PortGuid, Tid};
use ferrosm_mad::mad::{MadHeader, MadIn, MadOut};
use ferrosm_mad::time::Instant;
use ferrosm_recording::RecordedManager;
use ferrosm_sim::world::HostedSm;

use super::clock::{Clock, unix_s};
use super::recording;
use super::store::{Records, SimulatedStore, StoreFault, restore};

/// Most sweeps of an SM within a second, in any test.
const SWEEPS_MAX: u32 = 300;

/// The SM under test. Routing jobs take no virtual time.
#[derive(Debug)]
pub struct Sm {
    core: RecordedManager,
    now: Instant,
    /// Events that it reported, in order.
    pub events: Vec<Event>,
    /// Sweeps since a time, at most one second ago.
    recent_sweeps: (Instant, u32),
    /// Replies to commands, in order.
    pub command_replies: Vec<(CommandId, CommandReply)>,
    /// Durable records of LIDs and registrations.
    pub persisted_records: Records,
    /// Durable view.
    pub persisted_view: Option<Arc<Snapshot>>,
    /// Holds results of routing jobs until [`Self::deliver_job_result`] is called.
    pub defers_routing_jobs: bool,
    /// Results of routing jobs that were not delivered yet, in order.
    pub deferred_jobs: Vec<RoutingJobResult>,
    /// Replica of its master's records, if it has one.
    pub replica: Option<RestoredState>,
    /// The test replies to replica loads with [`Self::end_load`]; [`Self::awaits_replica`] is true
    /// while one is pending.
    pub defers_replica_load: bool,
    /// The pending replica load.
    pending_load: Option<u64>,
    /// Its batches are persisted. Those of a standby with replication are not, because its store
    /// holds the master's records.
    persists_own_records: bool,
    clock: Clock,
    /// GMPs that it sent and no test has read yet, in order.
    pub replies: Vec<(Peer, Vec<u8>)>,
    /// What it persisted and is not durable yet.
    pub store: SimulatedStore,
    /// The SM reported that SA replies do not wait for durable state.
    is_unprotected: bool,
    /// Replies sent at the current time.
    sent_now: Vec<Tid>,
    /// Replies sent before their records were durable.
    pub unprotected_replies: BTreeSet<Tid>,
}

impl Sm {
    /// An SM that starts at `now`.
    #[must_use]
    pub fn new(cfg: SmConfig, restored: RestoredState, now: Instant) -> Self {
        Self::with_clock(cfg, restored, now, Clock::default())
    }

    /// An SM that starts at `now`, with its own clock.
    #[must_use]
    pub fn with_clock(cfg: SmConfig, restored: RestoredState, now: Instant, clock: Clock) -> Self {
        let now = clock.local_time(now);
        let persisted_view = restored.snapshot.as_ref().map(|s| Arc::clone(&s.snapshot));
        let records = restored.records();
        let persisted_records = records.map(|r| (r.key(), r.encode(unix_s(now)))).collect();
        Self {
            core: recording::manager(cfg, restored, now),
            now,
            events: Vec::new(),
            recent_sweeps: (Instant::START, 0),
            command_replies: Vec::new(),
            persisted_records,
            persisted_view,
            defers_routing_jobs: false,
            deferred_jobs: Vec::new(),
            replica: None,
            defers_replica_load: false,
            pending_load: None,
            persists_own_records: true,
            clock,
            replies: Vec::new(),
            store: SimulatedStore::default(),
            is_unprotected: false,
            sent_now: Vec::new(),
            unprotected_replies: BTreeSet::new(),
        }
    }

    /// The same with replication, whose events the test sends.
    #[must_use]
    pub fn with_replication(self) -> Self {
        Self {
            core: self.core.with_replication(Duration::ZERO),
            ..self
        }
    }

    /// Whether a replica load is pending.
    #[must_use]
    pub const fn awaits_replica(&self) -> bool {
        self.pending_load.is_some()
    }

    /// Ends the pending replica load, with the state of the records in the store; `None` without
    /// replication. `complete`: whether no acknowledged record is missing; `None`: as replication
    /// last reported.
    pub fn end_load(
        &mut self,
        restored: Option<RestoredState>,
        complete: Option<bool>,
        now: Instant,
    ) {
        self.set_now(now);
        self.answer_load(restored, complete);
    }

    fn answer_load(&mut self, restored: Option<RestoredState>, complete: Option<bool>) {
        if let Some(load) = self.pending_load.take() {
            let loaded = ReplicaEvent::Loaded(LoadedReplica {
                load,
                complete,
                restored: restored.map(Box::new),
            });
            self.core.handle(Input::Replica(loaded), self.now);
        }
    }

    /// The replica has all acknowledged records of this master.
    pub fn replica_in_sync(&mut self, master: PortGuid, now: Instant) {
        self.handle(Input::Replica(ReplicaEvent::InSync(master)), now);
    }

    /// Sets or clears the store fault.
    pub fn set_store_fault(&mut self, fault: StoreFault, now: Instant) {
        self.set_now(now);
        self.with_store(|store, now| store.set_fault(fault, now));
    }

    /// Replaces the durable records by a replica of another SM's. Changes that are not durable yet
    /// are dropped.
    pub fn replace_records(&mut self, records: Records, view: Option<Arc<Snapshot>>, now: Instant) {
        self.set_now(now);
        (self.persisted_records, self.persisted_view) = (records, view);
        self.with_store(SimulatedStore::on_records_replaced);
    }

    /// Changes the store, writes due records, and reports new durable batches to the SM.
    fn with_store(&mut self, change: impl FnOnce(&mut SimulatedStore, Instant)) {
        let before = self.store.durable();
        change(&mut self.store, self.now);
        self.store.write_due(
            &mut self.persisted_records,
            &mut self.persisted_view,
            self.now,
        );
        let durable = self.store.durable();
        if durable > before {
            let persisted = Persisted::all(durable);
            self.core.handle(Input::Persisted(persisted), self.now);
        }
    }

    fn set_now(&mut self, now: Instant) {
        let now = self.clock.local_time(now);
        if now != self.now {
            self.sent_now.clear();
        }
        self.now = now;
    }

    /// Records whether replies wait for durable state. The first unprotected replies are sent just
    /// before the event.
    fn note_durability(&mut self, event: &Event) {
        if matches!(event, Event::RepliesUnprotected) {
            self.is_unprotected = true;
            self.unprotected_replies.extend(self.sent_now.drain(..));
        } else if matches!(event, Event::RepliesProtected) {
            self.is_unprotected = false;
        }
    }

    fn on_reply(&mut self, to: Peer, bytes: Vec<u8>) {
        if let Some(header) = MadHeader::decode_slice(&bytes)
            && !self.store.is_caught_up()
        {
            if self.is_unprotected {
                self.unprotected_replies.insert(header.tid);
            }
            self.sent_now.push(header.tid);
        }
        self.replies.push((to, bytes));
    }

    /// Delivers the result of the oldest deferred routing job.
    pub fn deliver_job_result(&mut self, now: Instant) {
        if !self.deferred_jobs.is_empty() {
            let computed = self.deferred_jobs.remove(0);
            self.handle(Input::RoutingComputed(Box::new(computed)), now);
        }
    }

    /// State that another SM restores from this SM's records, without the view.
    ///
    /// # Panics
    ///
    /// If a record cannot be decoded.
    #[must_use]
    pub fn restored(&self, now: Instant) -> RestoredState {
        let (restored, excluded) = restore(&self.persisted_records, self.clock.unix_s(now));
        assert_eq!(excluded, []);
        restored
    }

    /// The records in its store, with those of the view.
    #[must_use]
    pub fn records(&self, now: Instant) -> Records {
        let view = self.persisted_view.as_ref();
        let view_batch = ViewPersister::default().batch(view, self.clock.unix_s(now));
        let mut records = self.persisted_records.clone();
        view_batch.apply(&mut records);
        records
    }

    /// State that a standby restores from its replica of this SM, with the view.
    #[must_use]
    pub fn replicated_state(&self, now: Instant) -> RestoredState {
        let snapshot = self.persisted_view.clone().map(|view| RestoredSnapshot {
            snapshot: view,
            age: Duration::ZERO,
        });
        RestoredState {
            snapshot,
            ..self.restored(now)
        }
    }

    /// The SM's core.
    #[must_use]
    pub fn core(&self) -> &SubnetManager {
        &self.core
    }

    /// Passes an input to the SM.
    pub fn handle(&mut self, input: Input, now: Instant) {
        self.set_now(now);
        self.core.handle(input, self.now);
    }

    /// Fails if the SM sweeps without pause, which would never end in virtual time.
    fn count_sweep(&mut self) {
        let (since, count) = &mut self.recent_sweeps;
        if self.now.since(*since) >= Duration::from_secs(1) {
            (*since, *count) = (self.now, 0);
        }
        *count += 1;
        assert!(*count <= SWEEPS_MAX, "{count} sweeps within a second");
    }

    /// Reports of complete sweeps, in order.
    #[must_use]
    pub fn reports(&self) -> Vec<&SweepReport> {
        self.events
            .iter()
            .filter_map(|e| {
                if let Event::SweepCompleted(r) = e {
                    Some(&**r)
                } else {
                    None
                }
            })
            .collect()
    }
}

impl HostedSm for Sm {
    fn handle_mad(&mut self, mad: MadIn, now: Instant) {
        self.handle(Input::Mad(mad), now);
    }

    fn handle_send_failed(&mut self, tid: Tid, now: Instant) {
        self.handle(Input::SendFailed(tid), now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.set_now(now);
        self.with_store(|_, _| {});
        self.handle(Input::Timeout, now);
    }

    fn poll_send(&mut self) -> Option<MadOut> {
        loop {
            match self.core.poll_output()? {
                Output::Send(mad) => return Some(mad),
                Output::Compute(job) => {
                    let Some(computed) = job.run() else {
                        continue;
                    };
                    if self.defers_routing_jobs {
                        self.deferred_jobs.push(computed);
                    } else {
                        self.core
                            .handle(Input::RoutingComputed(Box::new(computed)), self.now);
                    }
                }
                Output::Persist { seq, updates } => {
                    let changes = if self.persists_own_records {
                        let now = unix_s(self.now);
                        updates.iter().map(|u| u.to_change(now)).collect()
                    } else {
                        Vec::new()
                    };
                    recording::records(self.now, &changes);
                    self.with_store(|store, now| store.submit(seq, changes, now));
                }
                Output::PersistSnapshot { seq, snapshot } => {
                    let is_persisted = self.persists_own_records;
                    self.with_store(|store, now| {
                        if is_persisted {
                            store.submit_view(seq, snapshot, now);
                        } else {
                            store.skip(seq);
                        }
                    });
                }
                Output::Event(event) => {
                    if matches!(event, Event::ReplicaTimedOut) {
                        self.pending_load = None;
                    }
                    self.note_durability(&event);
                    if matches!(event, Event::SweepCompleted(_)) {
                        self.count_sweep();
                    }
                    self.events.push(event);
                }
                Output::CommandReply { id, reply } => self.command_replies.push((id, reply)),
                Output::Gmp { to, bytes, .. } => self.on_reply(to, bytes),
                // The SM replies to queries itself.
                Output::Publish(_) => {}
                Output::Replicate(ReplicationRole::Master) => self.persists_own_records = true,
                Output::Replicate(ReplicationRole::Standby) => {
                    self.persists_own_records = false;
                    self.with_store(SimulatedStore::stop_persisting);
                }
                Output::Replicate(ReplicationRole::Inactive(_)) => {}
                Output::LoadReplica { load } => {
                    self.pending_load = Some(load);
                    if !self.defers_replica_load {
                        let restored = self.replica.take();
                        self.answer_load(restored, Some(true));
                    }
                }
            }
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let due = [self.core.poll_timeout(), self.store.poll_timeout()]
            .into_iter()
            .flatten()
            .min()?;
        Some(self.clock.world_time(due))
    }
}
