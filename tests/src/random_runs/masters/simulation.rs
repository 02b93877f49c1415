//! Several SMs on one fabric, with replication to the standbys as in the daemon, but without
//! connections: the core decides which records a takeover starts from, and the simulation delivers
//! the records.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use ferrosm_core::{Event, Input, PeerEvent, Phase, ReplicaEvent};
use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_mad::attr::SmState;
use ferrosm_mad::ids::PortGuid;
use ferrosm_mad::time::Instant;
use ferrosm_sim::faults::FabricAction;
use ferrosm_sim::spec::{NodeIdx, PortAt};
use ferrosm_sim::world::SmId;

use crate::lab::store::StoreFault;
use crate::lab::{Lab, Sm, TestRng};
use crate::random_runs::masters::clients::{Clients, SmLocation};
use crate::random_runs::masters::foreign::ScriptedSm;
use crate::random_runs::masters::fragments::{FragmentCache, Fragments};
use crate::random_runs::masters::registration_continuity::{ContinuityTracker, TermStart};
use crate::random_runs::masters::seed_plan::{ReplicaMode, Scenario, SmPlan};
use crate::random_runs::masters::sm_disk::{Records, StoreState, records_of, restore, unix_s};
use crate::random_runs::tally::Tally;

/// Interval between two steps of the clients, of replication and of the checks.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// A standby's replica of its master's records.
#[derive(Debug, Clone)]
struct Replica {
    records: Records,
    /// No acknowledged record is missing.
    complete: bool,
    /// Port GUID of the master.
    of: PortGuid,
    /// Term of the master.
    term: Option<u32>,
}

/// A port that an SM is planned for, with the state of its current or last process.
pub(crate) struct SmSlot {
    pub(crate) plan: SmPlan,
    pub(crate) guid: PortGuid,
    pub(crate) id: Option<SmId>,
    /// Records on its disk when it last stopped.
    disk: Records,
    /// The master that it replicates.
    leader: Option<SmId>,
    /// Replica of a master that has stopped.
    replica: Option<Replica>,
    /// The master whose complete records it loaded since it was last standby.
    loaded_from: Option<PortGuid>,
    /// The term that the loaded records belong to, and the view among them.
    loaded_term: Option<(u32, Option<Arc<Snapshot>>)>,
    /// Its records as master at an earlier time, which stale replicas have.
    older_records: Option<Records>,
    /// Its current term if it is master; its last one in `last_term`.
    pub(crate) term: Option<u32>,
    last_term: Option<u32>,
    /// Its persisted view at the last tick. A later one may already include hosts that were
    /// partitioned.
    own_view: Option<Arc<Snapshot>>,
    /// The term of which its own records are complete: its last one, if it was not standby since.
    own_term: Option<u32>,
    /// The term that ended with its process, whose records are on its disk.
    disk_term: Option<u32>,
    /// Sweeps completed before it last became master.
    pub(crate) sweeps_before_term: usize,
    events_read: usize,
    pub(crate) sweeps: usize,
    pub(crate) role_changes: usize,
}

/// The simulated fabric with its SMs and SA clients.
pub(crate) struct Simulation {
    pub(crate) lab: Lab,
    pub(crate) sms: Vec<SmSlot>,
    pub(crate) clients: Clients,
    pub(crate) verbose: bool,
    /// Standbys are notified at once when their master's lease ends.
    pub(crate) leases: bool,
    /// Takeovers without the records of the last master: hosts have to register again.
    pub(crate) cold_takeovers: u32,
    /// Number of takeovers; the last master is in `last_master`.
    pub(crate) takeovers: u32,
    last_master: Option<PortGuid>,
    /// How often a host was powered on or off.
    pub(crate) power_changes: u32,
    /// Hosts that lost power since `InvariantMonitor` last read this.
    pub(crate) powered_off: BTreeSet<NodeIdx>,
    /// Host power changes while there was no master.
    pub(crate) power_changes_without_master: u32,
    /// Only events that hosts must not notice: every SM has a replica, and the fabric does not
    /// change.
    pub(crate) calm: bool,
    /// An SM of another vendor.
    pub(crate) foreign: Option<ScriptedSm>,
    /// Number of client requests and power changes, and the time of the last one.
    last_change: (u64, Instant),
    ticks: u64,
    /// The subnet fragments at the last topology change.
    pub(crate) fragment_cache: FragmentCache,
    terms: u32,
    /// MADs are being lost.
    pub(crate) loses_mads: bool,
    /// Which hosts' registrations must be continuous.
    pub(crate) continuity: ContinuityTracker,
    /// Counted events.
    pub(crate) tally: Tally,
}

impl Simulation {
    pub(crate) fn new(s: &Scenario, seed: u64, leases: bool, verbose: bool) -> Self {
        let first = &s.plans[0];
        let mut lab = Lab::on(
            &s.shape,
            s.spec.clone(),
            seed,
            first.cfg.clone(),
            Some(first.at),
        );
        lab.world.kill(lab.sm);
        lab.world.run_for(Duration::from_millis(1));
        let fabric = lab.world.fabric();
        let sms = s.plans.iter().map(|plan| SmSlot {
            plan: plan.clone(),
            guid: fabric.port_guid(plan.at),
            id: None,
            disk: Records::new(),
            leader: None,
            replica: None,
            loaded_from: None,
            loaded_term: None,
            own_view: None,
            older_records: None,
            term: None,
            last_term: None,
            own_term: None,
            disk_term: None,
            sweeps_before_term: 0,
            events_read: 0,
            sweeps: 0,
            role_changes: 0,
        });
        let sms = sms.collect();
        let clients = Clients::new(&lab.world);
        let mut sim = Self {
            lab,
            sms,
            clients,
            verbose,
            leases,
            cold_takeovers: 0,
            takeovers: 0,
            last_master: None,
            last_change: (0, Instant::START),
            power_changes: 0,
            powered_off: BTreeSet::new(),
            power_changes_without_master: 0,
            calm: s.calm,
            foreign: None,
            ticks: 0,
            fragment_cache: FragmentCache::default(),
            terms: 0,
            loses_mads: false,
            continuity: ContinuityTracker::default(),
            tally: Tally::default(),
        };
        let mut order: Vec<usize> = (0..sim.sms.len()).collect();
        order.sort_by_key(|i| sim.sms[*i].plan.start_delay);
        for i in order {
            let at = Instant::START + sim.sms[i].plan.start_delay;
            sim.run_for(at.since(sim.lab.world.now()));
            sim.start_sm(i, StoreState::Empty);
        }
        sim
    }

    pub(crate) fn log(&self, text: &str) {
        if self.verbose {
            println!("{:?} {text}", self.lab.world.now());
        }
    }

    pub(crate) fn sm(&self, i: usize) -> Option<&Sm> {
        self.lab.world.sm(self.sms[i].id?)
    }

    pub(crate) fn role(&self, i: usize) -> Option<SmState> {
        self.sm(i).map(|sm| sm.core().role())
    }

    pub(crate) fn is_master(&self, i: usize) -> bool {
        self.role(i) == Some(SmState::Master)
    }

    /// Indices of the running SMs.
    pub(crate) fn running(&self) -> Vec<usize> {
        (0..self.sms.len())
            .filter(|i| self.sms[*i].id.is_some())
            .collect()
    }

    /// Indices of the stopped SMs.
    pub(crate) fn stopped(&self) -> Vec<usize> {
        (0..self.sms.len())
            .filter(|i| self.sms[*i].id.is_none())
            .collect()
    }

    /// The first SM that is master.
    pub(crate) fn master(&self) -> Option<usize> {
        (0..self.sms.len()).find(|i| self.is_master(*i))
    }

    /// Starts an SM with the readable records of its store.
    pub(crate) fn start_sm(&mut self, i: usize, store: StoreState) {
        if self.sms[i].id.is_some() {
            return;
        }
        self.power_on(self.sms[i].plan.at.node);
        let now = self.lab.world.now();
        let records = store.readable_records(&self.sms[i].disk);
        let slot = &self.sms[i];
        let SmPlan {
            at,
            cfg,
            replica_mode,
            clock,
            ..
        } = slot.plan.clone();
        let mut restored = restore(&records, unix_s(clock, now));
        // Records replicated from another master are not complete: it may have acknowledged
        // requests since.
        let view = restored.snapshot.as_ref().map(|s| &s.snapshot);
        let whose = view.and_then(|view| view.identity());
        restored.complete &= whose.is_some_and(|w| w.port == slot.guid);
        let complete = restored.complete && store == StoreState::Complete;
        let view = restored.snapshot.as_ref().map(|s| s.snapshot.clone());
        let mut sm = Sm::with_clock(cfg, restored, now, clock);
        if replica_mode != ReplicaMode::Absent {
            sm = sm.with_replication();
        }
        (sm.persisted_records, sm.persisted_view) = (records, view.clone());
        sm.defers_replica_load = true;
        let added = self.lab.world.add_sm(Some(at), sm);
        let slot = &mut self.sms[i];
        slot.id = Some(added.unwrap());
        (slot.leader, slot.replica, slot.older_records) = (None, None, None);
        (slot.loaded_from, slot.loaded_term) = (None, None);
        (slot.term, slot.last_term, slot.sweeps_before_term) = (None, None, 0);
        slot.own_term = slot.disk_term.filter(|_| complete);
        slot.own_view = view;
        (slot.events_read, slot.sweeps, slot.role_changes) = (0, 0, 0);
    }

    /// Kills an SM.
    pub(crate) fn kill_sm(&mut self, i: usize) {
        self.process_events();
        let slot = &self.sms[i];
        if slot.term.is_some()
            && let Some(sm) = self.sm(i)
        {
            let phase = phase_name(sm.core().activity().phase());
            let first = slot.sweeps == slot.sweeps_before_term;
            self.tally.add(&format!("killed, {phase}"), 1);
            self.tally
                .add(&format!("killed, {phase}, first"), u32::from(first));
        }
        let id = self.sms[i].id;
        let followers: Vec<usize> = (0..self.sms.len())
            .filter(|j| *j != i && id.is_some() && self.sms[*j].leader == id)
            .collect();
        self.remove_sm(i);
        if !self.leases {
            return;
        }
        let guid = self.sms[i].guid;
        for j in followers {
            let silent = PeerEvent::Silent {
                guid,
                in_sync: self.has_complete_replica(j),
                uncertain: false,
            };
            self.command(j, Input::Peer(silent));
        }
    }

    /// Whether the replica of this standby has all that its master acknowledged.
    pub(crate) fn has_complete_replica(&self, i: usize) -> bool {
        let replica = self.replica_for(i, self.lab.world.now());
        replica.is_some_and(|replica| replica.complete)
    }

    fn remove_sm(&mut self, i: usize) {
        let Some(id) = self.sms[i].id.take() else {
            return;
        };
        self.clients.take_replies(&mut self.lab.world, id);
        self.clients.on_master_end(id);
        let now = self.lab.world.now();
        let replica_for = self.replica_for(i, now);
        let sm = self.lab.world.kill(id).unwrap();
        let own = records_of(&sm, self.sms[i].plan.clock, now);
        let own_guid = self.sms[i].guid;
        let term = self.sms[i].last_term;
        let older_records = self.sms[i].older_records.take();
        for slot in self.sms.iter_mut().filter(|s| s.leader == Some(id)) {
            slot.replica = match slot.plan.replica_mode {
                ReplicaMode::Absent => None,
                ReplicaMode::InSync => Some(Replica {
                    records: own.clone(),
                    complete: true,
                    of: own_guid,
                    term,
                }),
                ReplicaMode::Stale => older_records.clone().map(|records| Replica {
                    records,
                    complete: false,
                    of: own_guid,
                    term,
                }),
            };
            slot.leader = None;
        }
        let slot = &mut self.sms[i];
        slot.disk_term = slot.term.take();
        slot.disk = if sm.core().role() == SmState::Standby {
            replica_for.map_or(own, |replica| replica.records)
        } else {
            own
        };
    }

    /// The replica that a standby has of its current or last master.
    fn replica_for(&self, i: usize, now: Instant) -> Option<Replica> {
        let slot = &self.sms[i];
        let leader = slot
            .leader
            .and_then(|id| self.sms.iter().find(|s| s.id == Some(id)));
        let Some(leader) = leader else {
            return slot.replica.clone();
        };
        let leader_guid = leader.guid;
        match slot.plan.replica_mode {
            ReplicaMode::Absent => None,
            ReplicaMode::InSync => {
                let sm = self.lab.world.sm(leader.id?)?;
                Some(Replica {
                    records: records_of(sm, leader.plan.clock, now),
                    complete: true,
                    of: leader_guid,
                    term: leader.last_term,
                })
            }
            ReplicaMode::Stale => {
                let records = leader.older_records.clone()?;
                Some(Replica {
                    records,
                    complete: false,
                    of: leader_guid,
                    term: leader.last_term,
                })
            }
        }
    }

    /// Brings stale replicas up to the current records of their master.
    pub(crate) fn update_stale_replicas(&mut self) {
        let now = self.lab.world.now();
        for i in 0..self.sms.len() {
            if self.is_master(i) {
                let clock = self.sms[i].plan.clock;
                self.sms[i].older_records = self.sm(i).map(|sm| records_of(sm, clock, now));
            }
        }
    }

    /// Replies to SMs that wait for a replica.
    fn load_replicas(&mut self) {
        let now = self.lab.world.now();
        for i in self.running() {
            if !self.sm(i).is_some_and(Sm::awaits_replica) {
                continue;
            }
            let clock = self.sms[i].plan.clock;
            let replica = self.replica_for(i, now);
            let replicates = self.sms[i].plan.replica_mode != ReplicaMode::Absent;
            // A hanging store cannot be read either.
            let hangs = |sm: &Sm| sm.store_fault() == StoreFault::Hanging;
            if replicates && self.sm(i).is_some_and(hangs) {
                continue;
            }
            if self.verbose {
                let size = replica
                    .as_ref()
                    .map(|c| (c.records.len(), c.complete, c.of));
                self.log(&format!("{i} loads replica {size:?}"));
            }
            let id = self.sms[i].id.unwrap();
            let is_stale = self.sms[i].plan.replica_mode == ReplicaMode::Stale;
            // A stale replica is detected only when it is completed.
            let answer = is_stale.then_some(false);
            // After the load the standby does not follow its master, which may change records
            // before a second load.
            let frozen = replica.clone().map(|replica| Replica {
                complete: false,
                ..replica
            });
            let prepared = self.lab.world.with_sm(id, |sm, _| {
                let (mut prepared, mut all_of) = (None, None);
                let unix_s = unix_s(clock, now);
                let restored = match replica {
                    Some(Replica {
                        records,
                        complete,
                        of,
                        term,
                    }) => {
                        let restored = restore(&records, unix_s);
                        let view = restored.snapshot.as_ref().map(|s| &s.snapshot);
                        let whose = view.and_then(|view| view.identity());
                        let fits =
                            complete && restored.complete && whose.is_some_and(|w| w.port == of);
                        prepared = fits.then_some(of);
                        let view = restored.snapshot.as_ref().map(|s| s.snapshot.clone());
                        sm.replace_records(records, view.clone(), now);
                        all_of = term.filter(|_| fits).map(|term| (term, view));
                        Some(restored)
                    }
                    None => replicates.then(|| restore(&records_of(sm, clock, now), unix_s)),
                };
                sm.end_load(restored, answer, now);
                (prepared, all_of)
            });
            let slot = &mut self.sms[i];
            (slot.loaded_from, slot.loaded_term) = prepared.unwrap_or_default();
            slot.own_term = None;
            (slot.leader, slot.replica) = (None, frozen);
        }
    }

    /// Makes standbys replicate the master of their subnet fragment.
    fn update_followed_masters(&mut self) {
        for i in self.running() {
            if self.is_master(i) && !self.sm(i).is_some_and(Sm::awaits_replica) {
                (self.sms[i].leader, self.sms[i].replica) = (None, None);
            }
        }
        for (_, sms) in &*self.fragments() {
            let masters: Vec<usize> = sms.iter().copied().filter(|i| self.is_master(*i)).collect();
            let Some(&first) = masters.first() else {
                continue;
            };
            for i in sms.iter().copied() {
                let slot = &self.sms[i];
                let stays = masters.iter().any(|m| slot.leader == self.sms[*m].id);
                if self.role(i) == Some(SmState::Standby) && !stays {
                    let leader = self.sms[first].id;
                    let peer = self.sms[first].guid;
                    let knows = slot.plan.replica_mode != ReplicaMode::Absent;
                    self.sms[i].leader = leader;
                    self.sms[i].replica = None;
                    if knows {
                        self.command(i, Input::Replica(ReplicaEvent::InSync(peer)));
                    }
                }
            }
        }
    }

    /// The subnet fragments with running SMs, and these SMs.
    pub(crate) fn fragments(&self) -> Rc<Fragments> {
        let running = self
            .running()
            .into_iter()
            .map(|i| (i, self.sms[i].plan.at.node));
        self.fragment_cache
            .fragments(self.lab.world.fabric(), running.collect())
    }

    /// Applies a change of a link or of a node's power.
    pub(crate) fn apply(&mut self, action: FabricAction) {
        self.lab.world.act(action).unwrap();
        self.fragment_cache.changes += 1;
    }

    /// Powers off a host, which loses its registration state.
    pub(crate) fn power_off(&mut self, node: NodeIdx) {
        self.apply(FabricAction::PowerOff(node));
        self.clients.lose_power(node);
        self.continuity.lose_power(node);
        self.powered_off.insert(node);
        self.power_changes += 1;
    }

    pub(crate) fn power_on(&mut self, node: NodeIdx) {
        if !self.lab.world.fabric().is_powered(node) {
            self.apply(FabricAction::PowerOn(node));
            self.power_changes += 1;
        }
    }

    /// Returns true if another SM may be stopped. In calm seeds an SM with a replica remains.
    pub(crate) fn may_stop_sm(&self) -> bool {
        let min = if self.calm { 2 } else { 1 };
        self.running().len() > min
    }

    pub(crate) fn command(&mut self, i: usize, input: Input) {
        if let Some(id) = self.sms[i].id {
            self.lab.world.with_sm(id, |sm, now| sm.handle(input, now));
        }
    }

    /// The running SMs and their ports.
    pub(crate) fn sm_locations(&self) -> Vec<SmLocation> {
        let running = self.running().into_iter();
        running
            .filter_map(|i| Some((self.sms[i].plan.at, self.sms[i].id?)))
            .collect()
    }

    /// The foreign SM's state, if it is among these nodes and takes part in the election.
    pub(crate) fn foreign_state(&self, nodes: &BTreeSet<NodeIdx>) -> Option<SmState> {
        let foreign = self.foreign.as_ref()?;
        let counts = foreign.takes_part() && nodes.contains(&foreign.at.node);
        foreign.state(&self.lab.world).filter(|_| counts)
    }

    /// Advances the time, and runs clients, replication and checks.
    pub(crate) fn run_for(&mut self, time: Duration) {
        let deadline = self.lab.world.now() + time;
        while self.lab.world.now() < deadline {
            let left = deadline.since(self.lab.world.now());
            self.lab.world.run_for(TICK.min(left));
            self.tick();
        }
    }

    /// Processes at most `steps` simulator events, for at most `at_most`.
    pub(crate) fn run_steps(&mut self, steps: u64, at_most: Duration) {
        let deadline = self.lab.world.now() + at_most;
        let mut next = self.lab.world.now() + TICK;
        for _ in 0..steps {
            let Some(now) = self.lab.world.step().filter(|now| *now <= deadline) else {
                return;
            };
            if now >= next {
                self.tick();
                next = now + TICK;
            }
        }
    }

    /// Advances the time until `done`, for at most `at_most`; returns false if the condition did
    /// not become true.
    pub(crate) fn run_until(&mut self, at_most: Duration, done: impl Fn(&Self) -> bool) -> bool {
        let deadline = self.lab.world.now() + at_most;
        let mut next = self.lab.world.now() + TICK;
        while !done(self) {
            let Some(now) = self.lab.world.step().filter(|now| *now <= deadline) else {
                return false;
            };
            if now >= next {
                self.tick();
                next = now + TICK;
            }
        }
        true
    }

    fn tick(&mut self) {
        self.ticks += 1;
        if let Some(foreign) = &mut self.foreign {
            foreign.tick(&mut self.lab.world);
        }
        self.load_replicas();
        self.process_events();
        self.remove_stopped_sms();
        self.update_followed_masters();
        let locations = self.sm_locations();
        self.clients.receive(&mut self.lab.world, &locations);
        if self.ticks.is_multiple_of(10) {
            self.clients.send_requests(&mut self.lab.world, &locations);
        }
        self.update_continuity();
        let changes = self.clients.requests() + u64::from(self.power_changes);
        if changes != self.last_change.0 {
            self.last_change = (changes, self.lab.world.now());
        }
    }

    /// Time since the last client request or host power change.
    pub(crate) fn time_since_client_change(&self) -> Duration {
        self.lab.world.now().since(self.last_change.1)
    }

    /// Removes SMs that reported that they have stopped.
    fn remove_stopped_sms(&mut self) {
        for i in self.running() {
            let stopped = |e: &Event| matches!(e, Event::Stopped { .. });
            if self.sm(i).is_some_and(|sm| sm.events.iter().any(stopped)) {
                self.log(&format!("{i} has stopped"));
                self.process_events();
                self.flush_store(i);
                self.remove_sm(i);
            }
        }
    }

    /// A stopping process persists all records if its store is only slow.
    fn flush_store(&mut self, i: usize) {
        if let Some(StoreFault::Delayed(_)) = self.sm(i).map(Sm::store_fault) {
            self.set_store_fault(i, StoreFault::None);
        }
    }

    pub(crate) fn set_store_fault(&mut self, i: usize, fault: StoreFault) {
        if let Some(id) = self.sms[i].id {
            self.lab
                .world
                .with_sm(id, |sm, now| sm.set_store_fault(fault, now));
        }
    }

    /// Processes new events of all SMs.
    pub(crate) fn process_events(&mut self) {
        for i in self.running() {
            let Some(sm) = self.sms[i].id.and_then(|id| self.lab.world.sm(id)) else {
                continue;
            };
            let slot = &mut self.sms[i];
            for event in &sm.events[slot.events_read..] {
                slot.sweeps += usize::from(matches!(event, Event::SweepCompleted(_)));
                if let Event::RoleChanged { state, .. } = event {
                    let is_master = *state == SmState::Master;
                    slot.role_changes += 1;
                    self.takeovers += u32::from(is_master);
                    if is_master {
                        let last = self.last_master.replace(slot.guid);
                        let knows = slot.loaded_from.is_some()
                            && (last == slot.loaded_from || last == Some(slot.guid));
                        self.cold_takeovers += u32::from(!knows);
                        self.terms += 1;
                        let view = slot.loaded_term.as_ref().map(|(_, view)| view.clone());
                        self.continuity.term_starts.push(TermStart {
                            term: self.terms,
                            node: slot.plan.at.node,
                            from: slot
                                .loaded_term
                                .as_ref()
                                .map(|(of, _)| *of)
                                .or(slot.own_term),
                            view: view.unwrap_or_else(|| slot.own_view.clone()),
                        });
                        slot.loaded_term = None;
                        (slot.last_term, slot.own_term) = (Some(self.terms), Some(self.terms));
                        slot.sweeps_before_term = slot.sweeps;
                        if !sm.awaits_replica() {
                            // Replicas of earlier masters are older than its own records from now
                            // on.
                            (slot.leader, slot.replica) = (None, None);
                        }
                    }
                    if slot.term.is_some()
                        && !is_master
                        && let Some(id) = slot.id
                    {
                        self.clients.on_master_end(id);
                    }
                    slot.term = slot.last_term.filter(|_| is_master);
                    slot.loaded_from = slot.loaded_from.filter(|_| *state != SmState::Standby);
                    if matches!(*state, SmState::Standby | SmState::NotActive) {
                        (slot.own_term, slot.loaded_term) = (None, None);
                    }
                }
                if self.verbose {
                    println!("    {:?} {i}: {event}", self.lab.world.now());
                    if let Event::SweepCompleted(r) = event {
                        println!("            {} {:?}", r.engine, r.routing_messages);
                        r.problems.iter().for_each(|p| println!("            {p}"));
                    }
                }
            }
            slot.events_read = sm.events.len();
            slot.own_view = sm.persisted_view.clone();
        }
    }

    /// The end ports of hosts among `nodes`.
    pub(crate) fn hosts_of(&self, nodes: &BTreeSet<NodeIdx>) -> BTreeSet<PortAt> {
        let hosts = self.clients.hosts().into_iter();
        hosts.filter(|at| nodes.contains(&at.node)).collect()
    }

    /// Chooses an SM at random.
    pub(crate) fn choose(rng: &mut TestRng, indices: &[usize]) -> Option<usize> {
        indices.get(rng.index(indices.len().max(1))).copied()
    }
}

/// The name of a phase in tallies and texts.
pub(crate) fn phase_name(phase: Option<Phase>) -> String {
    phase.map_or_else(|| "idle".to_owned(), |phase| phase.to_string())
}
