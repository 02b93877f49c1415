//! Several SMs on one fabric, with replication to the standbys as in the daemon, but without
//! connections: the core decides which records a takeover starts from, and the simulation delivers
//! the records.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use ferrosm_core::{Command, Event, Input, PeerEvent, Phase, ReplicaEvent, RestoredState};
use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_mad::attr::SmState;
use ferrosm_mad::ids::PortGuid;
use ferrosm_mad::time::Instant;
use ferrosm_sim::faults::FabricAction;
use ferrosm_sim::spec::{NodeIdx, PortAt};
use ferrosm_sim::world::SmId;

use crate::lab::store::{Records, StoreFault, restore};
use crate::lab::{Lab, Sm, TestRng};
use crate::random_runs::masters::clients::{Clients, SmLocation};
use crate::random_runs::masters::foreign::ScriptedSm;
use crate::random_runs::masters::fragments::{Fragments, find_fragments};
use crate::random_runs::masters::registration_continuity::{ContinuityTracker, TermStart};
use crate::random_runs::masters::seed_plan::{ReplicaMode, Scenario, SmPlan};
use crate::random_runs::masters::store_state::StoreState;
use crate::random_runs::seeds::Run;
use crate::random_runs::tally::Tally;

/// Interval between two steps of the clients, of replication and of the checks.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// A standby's replica of its master's records.
#[derive(Debug, Clone)]
struct Replica {
    records: Records,
    /// No acknowledged record is missing.
    is_complete: bool,
    /// Port GUID of the master.
    of: PortGuid,
    /// Term of the master.
    term: Option<u32>,
}

/// The complete records of a master that a standby loaded.
struct LoadedRecords {
    of: PortGuid,
    term: Option<u32>,
    view: Option<Arc<Snapshot>>,
}

/// Why an SM no longer hears from another one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SilenceCause {
    LeaseEnded,
    EtcdOutage,
}

/// A port that an SM is planned for, with the state of its current or last process.
pub(crate) struct SmSlot {
    pub(crate) plan: SmPlan,
    pub(crate) guid: PortGuid,
    pub(crate) id: Option<SmId>,
    /// Records on its disk when it last stopped.
    disk: Records,
    /// The term that ended with its last process, whose records are on its disk.
    disk_term: Option<u32>,
    /// The running master that it replicates.
    leader: Option<usize>,
    /// Replica of a master that has stopped.
    replica: Option<Replica>,
    /// What it loaded since it was last standby.
    loaded: Option<LoadedRecords>,
    /// Its records as master at an earlier time, which stale replicas have.
    older_records: Option<Records>,
    /// Its current term if it is master; its last one in `last_term`.
    pub(crate) term: Option<u32>,
    last_term: Option<u32>,
    /// The term of which its own records are complete: its last one, if it was not standby since.
    own_term: Option<u32>,
    /// Its persisted view at the last tick. A later one may already include hosts that were
    /// partitioned.
    own_view: Option<Arc<Snapshot>>,
    /// It completed a sweep since it last became master.
    pub(crate) has_swept: bool,
    pub(crate) events_read: usize,
}

impl SmSlot {
    fn new(plan: SmPlan, guid: PortGuid) -> Self {
        Self {
            plan,
            guid,
            id: None,
            disk: Records::new(),
            disk_term: None,
            leader: None,
            replica: None,
            loaded: None,
            older_records: None,
            term: None,
            last_term: None,
            own_term: None,
            own_view: None,
            has_swept: false,
            events_read: 0,
        }
    }

    fn has_replication(&self) -> bool {
        self.plan.replica_mode != ReplicaMode::Absent
    }

    /// The state that it restores from records, and whether they are complete and of the SM at
    /// port `of`.
    fn restore(&self, records: &Records, of: PortGuid, now: Instant) -> (RestoredState, bool) {
        let unix_s = self.plan.clock.unix_s(now);
        let (restored, _) = restore(records, unix_s);
        let owner = restored
            .snapshot
            .as_ref()
            .and_then(|s| s.snapshot.identity());
        let is_complete = restored.complete && owner.is_some_and(|owner| owner.port == of);
        (restored, is_complete)
    }
}

fn view_of(restored: &RestoredState) -> Option<Arc<Snapshot>> {
    let snapshot = restored.snapshot.as_ref()?;
    Some(Arc::clone(&snapshot.snapshot))
}

/// The simulated fabric with its SMs and SA clients.
pub(crate) struct Simulation {
    pub(crate) lab: Lab,
    pub(crate) sms: Vec<SmSlot>,
    pub(crate) clients: Clients,
    mode: Run,
    /// Standbys are notified at once when their master's lease ends.
    leases: bool,
    /// Takeovers without the records of the last master: hosts have to register again.
    pub(crate) cold_takeovers: u32,
    /// Number of takeovers, which is the last term; the last master is in `last_master`.
    pub(crate) takeovers: u32,
    last_master: Option<PortGuid>,
    /// How often a host was powered on or off.
    pub(crate) power_changes: u32,
    /// Hosts that lost power since `InvariantMonitor` last read this.
    pub(crate) powered_off: BTreeSet<NodeIdx>,
    /// Only events that hosts must not notice: every SM has a replica, and the fabric does not
    /// change.
    pub(crate) calm: bool,
    /// An SM of another vendor.
    pub(crate) foreign: Option<ScriptedSm>,
    /// Number of client requests and power changes, and the time of the last one.
    last_change: (u64, Instant),
    ticks: u64,
    /// The subnet fragments with running SMs, and these SMs.
    pub(crate) fragments: Rc<Fragments>,
    /// MADs are being lost.
    pub(crate) loses_mads: bool,
    /// Which hosts' registrations must be continuous.
    pub(crate) continuity: ContinuityTracker,
    /// Counted events.
    pub(crate) tally: Tally,
}

impl Simulation {
    pub(crate) fn new(s: &Scenario, leases: bool, mode: Run) -> Self {
        let first = &s.plans[0];
        let cfg = first.cfg.clone();
        let mut lab = Lab::on(&s.shape, s.spec.clone(), s.seed, cfg, Some(first.at));
        lab.kill_sm();
        lab.world.run_for(Duration::from_millis(1));
        let sms = s
            .plans
            .iter()
            .map(|plan| SmSlot::new(plan.clone(), lab.port_guid(plan.at)))
            .collect();
        let clients = Clients::new(&lab.world, s.kind.repeat_after());
        let mut sim = Self {
            lab,
            sms,
            clients,
            mode,
            leases,
            cold_takeovers: 0,
            takeovers: 0,
            last_master: None,
            power_changes: 0,
            powered_off: BTreeSet::new(),
            calm: s.calm,
            foreign: None,
            last_change: (0, Instant::START),
            ticks: 0,
            fragments: Rc::default(),
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

    pub(crate) fn log(&self, text: impl Display) {
        if self.mode == Run::Traced {
            println!("{:?} {text}", self.lab.world.now());
        }
    }

    pub(crate) fn sm(&self, i: usize) -> Option<&Sm> {
        self.lab.world.sm(self.sms[i].id?)
    }

    /// Calls a function on an SM if it is running, and sends what the SM outputs.
    pub(crate) fn edit_sm(&mut self, i: usize, edit: impl FnOnce(&mut Sm, Instant)) {
        if let Some(id) = self.sms[i].id {
            self.lab.edit(id, edit);
        }
    }

    pub(crate) fn handle(&mut self, i: usize, input: Input) {
        self.edit_sm(i, |sm, now| sm.handle(input, now));
    }

    pub(crate) fn command(&mut self, i: usize, command: Command) {
        self.log(format_args!("{i}: {command:?}"));
        self.handle(i, command.with_id(0));
    }

    pub(crate) fn role(&self, i: usize) -> Option<SmState> {
        self.sm(i).map(|sm| sm.core().role())
    }

    pub(crate) fn is_master(&self, i: usize) -> bool {
        self.role(i) == Some(SmState::Master)
    }

    /// Indices of the running SMs.
    pub(crate) fn running(&self) -> Vec<usize> {
        let all = 0..self.sms.len();
        all.filter(|i| self.sms[*i].id.is_some()).collect()
    }

    /// Indices of the stopped SMs.
    pub(crate) fn stopped(&self) -> Vec<usize> {
        let all = 0..self.sms.len();
        all.filter(|i| self.sms[*i].id.is_none()).collect()
    }

    /// The first SM that is master.
    pub(crate) fn master(&self) -> Option<usize> {
        (0..self.sms.len()).find(|i| self.is_master(*i))
    }

    /// The same, if it may be stopped.
    pub(crate) fn master_to_stop(&self) -> Option<usize> {
        self.master().filter(|_| self.may_stop_sm())
    }

    /// Returns true if another SM may be stopped. In calm seeds an SM with a replica remains.
    pub(crate) fn may_stop_sm(&self) -> bool {
        let min = if self.calm { 2 } else { 1 };
        self.running().len() > min
    }

    /// Starts an SM with the readable records of its store.
    pub(crate) fn start_sm(&mut self, i: usize, store: StoreState) {
        if self.sms[i].id.is_some() {
            return;
        }
        self.log(format_args!("{i} starts, store {store:?}"));
        self.power_on(self.sms[i].plan.at.node);
        let now = self.lab.world.now();
        let slot = &self.sms[i];
        let plan = slot.plan.clone();
        let records = store.readable_records(&slot.disk);
        // Records replicated from another master are not complete: it may have acknowledged
        // requests since.
        let (mut restored, is_complete) = slot.restore(&records, slot.guid, now);
        restored.complete = is_complete;
        let view = view_of(&restored);
        let mut sm = Sm::with_clock(plan.cfg.clone(), restored, now, plan.clock);
        if slot.has_replication() {
            sm = sm.with_replication();
        }
        (sm.persisted_records, sm.persisted_view) = (records, view.clone());
        sm.defers_replica_load = true;
        let id = self.lab.start_sm(plan.at, sm);
        let slot = &mut self.sms[i];
        let has_own_records = is_complete && store == StoreState::Complete;
        *slot = SmSlot {
            id: Some(id),
            disk: core::mem::take(&mut slot.disk),
            disk_term: slot.disk_term,
            own_term: slot.disk_term.filter(|_| has_own_records),
            own_view: view,
            ..SmSlot::new(plan, slot.guid)
        };
        self.update_fragments();
    }

    /// Kills an SM.
    pub(crate) fn kill_sm(&mut self, i: usize) {
        self.log(format_args!("{i} is killed"));
        self.process_events();
        let slot = &self.sms[i];
        if slot.term.is_some()
            && let Some(sm) = self.sm(i)
        {
            let phase = phase_name(sm.core().activity().phase());
            let is_first = u32::from(!slot.has_swept);
            self.tally.add(&format!("killed, {phase}"), 1);
            self.tally.add(&format!("killed, {phase}, first"), is_first);
        }
        for j in self.remove_sm(i) {
            if self.leases {
                self.report_silence(i, j, SilenceCause::LeaseEnded);
            }
        }
    }

    /// Reports to an SM that it no longer hears from another one.
    pub(crate) fn report_silence(&mut self, of: usize, to: usize, cause: SilenceCause) {
        let replica = self.replica_of(to);
        let silent = PeerEvent::Silent {
            guid: self.sms[of].guid,
            in_sync: replica.is_some_and(|replica| replica.is_complete),
            uncertain: cause == SilenceCause::EtcdOutage,
        };
        self.handle(to, Input::Peer(silent));
    }

    /// Ends the process of an SM, and returns the standbys that replicated it.
    fn remove_sm(&mut self, i: usize) -> Vec<usize> {
        let Some(id) = self.sms[i].id else {
            return Vec::new();
        };
        self.clients.take_replies(&mut self.lab.world, id);
        self.clients.on_master_end(id);
        let mut followers = self.running();
        followers.retain(|j| self.sms[*j].leader == Some(i));
        for j in &followers {
            self.sms[*j].replica = self.replica_of(*j);
            self.sms[*j].leader = None;
        }
        let is_standby = self.role(i) == Some(SmState::Standby);
        let replica = self.replica_of(i).filter(|_| is_standby);
        let now = self.lab.world.now();
        let sm = self.lab.world.kill(id).unwrap();
        let slot = &mut self.sms[i];
        slot.id = None;
        slot.disk = replica.map_or_else(|| sm.records(now), |replica| replica.records);
        slot.disk_term = slot.term.take();
        self.update_fragments();
        followers
    }

    /// The replica that a standby has of its current or last master.
    fn replica_of(&self, i: usize) -> Option<Replica> {
        let slot = &self.sms[i];
        let Some(leader) = slot.leader else {
            return slot.replica.clone();
        };
        let now = self.lab.world.now();
        let records = match slot.plan.replica_mode {
            ReplicaMode::Absent => None,
            ReplicaMode::InSync => self.sm(leader).map(|sm| sm.records(now)),
            ReplicaMode::Stale => self.sms[leader].older_records.clone(),
        };
        Some(Replica {
            records: records?,
            is_complete: slot.plan.replica_mode == ReplicaMode::InSync,
            of: self.sms[leader].guid,
            term: self.sms[leader].last_term,
        })
    }

    /// Brings stale replicas up to the current records of their master.
    pub(crate) fn update_stale_replicas(&mut self) {
        self.log("stale replicas are updated");
        let now = self.lab.world.now();
        for i in 0..self.sms.len() {
            if self.is_master(i) {
                self.sms[i].older_records = self.sm(i).map(|sm| sm.records(now));
            }
        }
    }

    /// Replies to SMs that wait for a replica.
    fn load_replicas(&mut self) {
        for i in self.running() {
            let slot = &self.sms[i];
            let Some(sm) = self.sm(i).filter(|sm| sm.awaits_replica()) else {
                continue;
            };
            // A hanging store cannot be read either.
            if slot.has_replication() && sm.store.fault() == StoreFault::Hanging {
                continue;
            }
            self.load_replica(i);
        }
    }

    fn load_replica(&mut self, i: usize) {
        let now = self.lab.world.now();
        let mut replica = self.replica_of(i);
        let slot = &self.sms[i];
        let own_records = self.sm(i).map(|sm| sm.records(now));
        let (restored, loaded) = match &replica {
            Some(replica) => {
                self.log(format_args!(
                    "{i} loads {} records of {}, complete: {}",
                    replica.records.len(),
                    replica.of,
                    replica.is_complete
                ));
                let (restored, is_complete) = slot.restore(&replica.records, replica.of, now);
                let loaded = LoadedRecords {
                    of: replica.of,
                    term: replica.term,
                    view: view_of(&restored),
                };
                let is_usable = replica.is_complete && is_complete;
                (Some(restored), Some(loaded).filter(|_| is_usable))
            }
            None => {
                let own_records = own_records.filter(|_| slot.has_replication());
                let restored = own_records.map(|own| slot.restore(&own, slot.guid, now).0);
                (restored, None)
            }
        };
        // A stale replica is detected only when it is completed.
        let is_stale = slot.plan.replica_mode == ReplicaMode::Stale;
        let complete = is_stale.then_some(false);
        let records = replica.as_ref().map(|replica| replica.records.clone());
        self.edit_sm(i, |sm, now| {
            if let Some(records) = records {
                let view = restored.as_ref().and_then(view_of);
                sm.replace_records(records, view, now);
            }
            sm.end_load(restored, complete, now);
        });
        // After the load the standby does not follow its master, which may change records before a
        // second load.
        if let Some(replica) = &mut replica {
            replica.is_complete = false;
        }
        let slot = &mut self.sms[i];
        (slot.leader, slot.replica) = (None, replica);
        (slot.loaded, slot.own_term) = (loaded, None);
    }

    /// Makes standbys replicate the master of their subnet fragment.
    fn update_followed_masters(&mut self) {
        for i in self.running() {
            if self.is_master(i) && !self.sm(i).is_some_and(Sm::awaits_replica) {
                (self.sms[i].leader, self.sms[i].replica) = (None, None);
            }
        }
        for (_, sms) in &*Rc::clone(&self.fragments) {
            let masters: Vec<usize> = sms.iter().copied().filter(|i| self.is_master(*i)).collect();
            let Some(&first) = masters.first() else {
                continue;
            };
            for i in sms.iter().copied() {
                let slot = &self.sms[i];
                let stays = slot.leader.is_some_and(|leader| masters.contains(&leader));
                if self.role(i) == Some(SmState::Standby) && !stays {
                    let in_sync = ReplicaEvent::InSync(self.sms[first].guid);
                    let slot = &mut self.sms[i];
                    (slot.leader, slot.replica) = (Some(first), None);
                    if slot.has_replication() {
                        self.handle(i, Input::Replica(in_sync));
                    }
                }
            }
        }
    }

    /// Applies a change of a link or of a node's power.
    pub(crate) fn apply(&mut self, action: FabricAction) {
        self.log(format_args!("{action:?}"));
        self.lab.act(action);
        self.update_fragments();
    }

    /// Must be called after each change of a link, of a node's power, and of the running SMs.
    fn update_fragments(&mut self) {
        let sms = self.sms.iter().enumerate();
        let running = sms.filter(|(_, slot)| slot.id.is_some());
        let nodes = running.map(|(i, slot)| (i, slot.plan.at.node));
        self.fragments = Rc::new(find_fragments(self.lab.world.fabric(), nodes));
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

    /// Hosts without power.
    pub(crate) fn unpowered_hosts(&self) -> Vec<NodeIdx> {
        let mut nodes = self.host_nodes();
        nodes.retain(|node| !self.lab.world.fabric().is_powered(*node));
        nodes
    }

    /// Hosts with power and without a running SM.
    pub(crate) fn free_powered_hosts(&self) -> Vec<NodeIdx> {
        let mut nodes = self.host_nodes();
        let has_sm = |node| {
            self.sms
                .iter()
                .any(|s| s.id.is_some() && s.plan.at.node == node)
        };
        nodes.retain(|node| self.lab.world.fabric().is_powered(*node) && !has_sm(*node));
        nodes
    }

    fn host_nodes(&self) -> Vec<NodeIdx> {
        let mut nodes: Vec<NodeIdx> = self.clients.hosts().iter().map(|at| at.node).collect();
        nodes.dedup();
        nodes
    }

    pub(crate) fn set_store_fault(&mut self, i: usize, fault: StoreFault) {
        let kind = match fault {
            StoreFault::None => "store healthy",
            StoreFault::Delayed(_) => "store delayed",
            StoreFault::Hanging => "store hanging",
            StoreFault::Failing => "store failing",
        };
        self.tally.add(kind, 1);
        self.log(format_args!("store of {i}: {fault:?}"));
        self.edit_sm(i, |sm, now| sm.set_store_fault(fault, now));
    }

    /// Adds or withdraws a registration of a random host.
    pub(crate) fn change_registration(&mut self, rng: &mut TestRng) {
        let text = self.clients.change_registration(rng);
        self.log(text);
    }

    /// The running SMs and their ports.
    pub(crate) fn sm_locations(&self) -> Vec<SmLocation> {
        let sms = self.sms.iter();
        sms.filter_map(|s| Some((s.plan.at, s.id?))).collect()
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
        let mut done = 0..steps;
        self.run_until(at_most, |_| done.next().is_none());
    }

    /// Advances the time until `done`, for at most `at_most`; returns false if the condition did
    /// not become true.
    pub(crate) fn run_until(
        &mut self,
        at_most: Duration,
        mut done: impl FnMut(&Self) -> bool,
    ) -> bool {
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
            if !self.sm(i).is_some_and(|sm| sm.events.iter().any(stopped)) {
                continue;
            }
            self.log(format_args!("{i} has stopped"));
            self.process_events();
            // A stopping process persists all records if its store is only slow.
            let fault = self.sm(i).map(|sm| sm.store.fault());
            if matches!(fault, Some(StoreFault::Delayed(_))) {
                self.set_store_fault(i, StoreFault::None);
            }
            self.remove_sm(i);
        }
    }

    /// Processes new events of all SMs.
    pub(crate) fn process_events(&mut self) {
        for i in self.running() {
            let Some(sm) = self.sm(i) else {
                continue;
            };
            let view = sm.persisted_view.clone();
            let events = sm.events[self.sms[i].events_read..].to_vec();
            for event in &events {
                self.log(format_args!("    {i}: {event}"));
                if let Event::SweepCompleted(report) = event {
                    self.sms[i].has_swept = true;
                    for problem in &report.problems {
                        self.log(format_args!("        {problem}"));
                    }
                }
                if let Event::RoleChanged { state, .. } = event {
                    self.on_role_change(i, *state);
                }
            }
            self.sms[i].events_read += events.len();
            self.sms[i].own_view = view;
        }
    }

    fn on_role_change(&mut self, i: usize, state: SmState) {
        if state == SmState::Standby {
            // Replication begins again, and reports again when the replica is in sync.
            self.sms[i].replica = self.replica_of(i);
            self.sms[i].leader = None;
        }
        let slot = &mut self.sms[i];
        let was_master = slot.term.take().is_some();
        if state == SmState::Master {
            self.begin_term(i);
            return;
        }
        if matches!(state, SmState::Standby | SmState::NotActive) {
            (slot.own_term, slot.loaded) = (None, None);
        }
        if let Some(id) = slot.id.filter(|_| was_master) {
            self.clients.on_master_end(id);
        }
    }

    fn begin_term(&mut self, i: usize) {
        let awaits_replica = self.sm(i).is_some_and(Sm::awaits_replica);
        self.takeovers += 1;
        let term = self.takeovers;
        let slot = &mut self.sms[i];
        let last = self.last_master.replace(slot.guid);
        let has_records =
            |loaded: &LoadedRecords| last == Some(loaded.of) || last == Some(slot.guid);
        self.cold_takeovers += u32::from(!slot.loaded.as_ref().is_some_and(has_records));
        let loaded = slot.loaded.as_ref().filter(|_| slot.own_term.is_none());
        self.continuity.term_starts.push(TermStart {
            term,
            node: slot.plan.at.node,
            from: loaded.map_or(slot.own_term, |loaded| loaded.term),
            view: loaded.map_or_else(|| slot.own_view.clone(), |loaded| loaded.view.clone()),
        });
        (slot.term, slot.last_term, slot.own_term) = (Some(term), Some(term), Some(term));
        slot.has_swept = false;
        if !awaits_replica {
            // Replicas of earlier masters are older than its own records from now on.
            (slot.leader, slot.replica) = (None, None);
        }
    }

    /// The end ports of hosts among `nodes`.
    pub(crate) fn hosts_of(&self, nodes: &BTreeSet<NodeIdx>) -> BTreeSet<PortAt> {
        let hosts = self.clients.hosts().into_iter();
        hosts.filter(|at| nodes.contains(&at.node)).collect()
    }
}

/// The name of a phase in tallies and texts.
pub(crate) fn phase_name(phase: Option<Phase>) -> String {
    phase.map_or_else(|| "idle".to_owned(), |phase| phase.to_string())
}
