//! The managers on a fabric, and how the standbys' copies follow the master: as the daemon does it, without connections.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crate::simulated::{Dice, Lab, Sm};
use crate::store::StoreFault;
use crate::tally::Tally;
use ferrosm_core::records::{RecordKey, RecordKind};
use ferrosm_core::{Event, Input, LidMap, RestoredState};
use ferrosm_mad::attr::SmState;
use ferrosm_mad::ids::PortGuid;
use ferrosm_mad::time::Instant;
use ferrosm_sa::View;
use ferrosm_sim::faults::FabricAction;
use ferrosm_sim::spec::{NodeIdx, PortAt};
use ferrosm_sim::world::SmId;

use crate::masters::clients::{Clients, Place};
use crate::masters::foreign::Foreign;
use crate::masters::fragments::{Islands, Pieces};
use crate::masters::registration_continuity::{Begun, Tenures};
use crate::masters::seed_plan::{Copying, Plan, Scenario};
use crate::masters::sm_disk::{Records, Store, records_of, restore, unix_s};

/// How long the world runs before anybody outside looks.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// What a standby has of its master's records.
#[derive(Debug, Clone)]
struct Copy {
    records: Records,
    /// It is all that was acknowledged.
    whole: bool,
    /// The master.
    of: PortGuid,
    /// Its reign.
    reign: Option<u32>,
}

/// A place for a manager.
pub(crate) struct Slot {
    pub(crate) plan: Plan,
    pub(crate) guid: PortGuid,
    pub(crate) id: Option<SmId>,
    /// What it had on its disk when it ended.
    disk: Records,
    /// The master that it follows.
    leader: Option<SmId>,
    /// What it has of a leader that is gone.
    copy: Option<Copy>,
    /// Whose records it was given, all of them, since it was last standby.
    recalled: Option<PortGuid>,
    /// The reign that these are of, and the view among them.
    recalled_of: Option<(u32, Option<Arc<View>>)>,
    /// What this one kept as master some time ago.
    before: Option<Records>,
    /// Which reign this is, where it is master, and which it was when it last was.
    pub(crate) reign: Option<u32>,
    last_reign: Option<u32>,
    /// The view among its own records at the last look: a sweep since then may have seen hosts that were cut off.
    own_view: Option<Arc<View>>,
    /// The reign that it has all records of by itself: its last one, if it was not standby since.
    own: Option<u32>,
    /// The reign that ended with it, whose records are on its disk.
    disk_of: Option<u32>,
    /// Sweeps before it last became master.
    pub(crate) sweeps_before: usize,
    told: usize,
    pub(crate) sweeps: usize,
    pub(crate) roles: usize,
}

/// Everything together.
pub(crate) struct Stage {
    pub(crate) lab: Lab,
    pub(crate) slots: Vec<Slot>,
    pub(crate) clients: Clients,
    pub(crate) tell: bool,
    /// Replication tells standbys at once that nothing is heard of their master any more.
    pub(crate) leases: bool,
    /// How often somebody became master without the records of the last one: hosts have to register again then.
    pub(crate) unprepared: u32,
    /// How often somebody became master, and who did last.
    pub(crate) takeovers: u32,
    reigned: Option<PortGuid>,
    /// How often a host lost or got power.
    pub(crate) powers: u32,
    /// Hosts that lost power, for the watch to take.
    pub(crate) powerless: BTreeSet<NodeIdx>,
    /// How often that was while nobody was master.
    pub(crate) without_master: u32,
    /// Only what nobody is to notice happens to managers.
    pub(crate) calm: bool,
    /// A subnet manager of somebody else.
    pub(crate) foreign: Option<Foreign>,
    /// How much hosts and power had changed, and since when no more.
    changed: (u64, Instant),
    ticks: u64,
    /// Which nodes are together.
    pub(crate) pieces: Pieces,
    reigns: u32,
    /// MADs are lost now.
    pub(crate) loses: bool,
    /// What each host may rely on.
    pub(crate) tenures: Tenures,
    /// What was seen.
    pub(crate) tally: Tally,
}

impl Stage {
    pub(crate) fn new(s: &Scenario, seed: u64, leases: bool, tell: bool) -> Self {
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
        let slots = s.plans.iter().map(|plan| Slot {
            plan: plan.clone(),
            guid: fabric.port_guid(plan.at),
            id: None,
            disk: Records::new(),
            leader: None,
            copy: None,
            recalled: None,
            recalled_of: None,
            own_view: None,
            before: None,
            reign: None,
            last_reign: None,
            own: None,
            disk_of: None,
            sweeps_before: 0,
            told: 0,
            sweeps: 0,
            roles: 0,
        });
        let slots = slots.collect();
        let clients = Clients::new(&lab.world);
        let mut stage = Self {
            lab,
            slots,
            clients,
            tell,
            leases,
            unprepared: 0,
            takeovers: 0,
            reigned: None,
            changed: (0, Instant::START),
            powers: 0,
            powerless: BTreeSet::new(),
            without_master: 0,
            calm: s.calm,
            foreign: None,
            ticks: 0,
            pieces: Pieces::default(),
            reigns: 0,
            loses: false,
            tenures: Tenures::default(),
            tally: Tally::default(),
        };
        let mut order: Vec<usize> = (0..stage.slots.len()).collect();
        order.sort_by_key(|i| stage.slots[*i].plan.starts);
        for i in order {
            let at = Instant::START + stage.slots[i].plan.starts;
            stage.run_for(at.since(stage.lab.world.now()));
            stage.start(i, Store::Nothing);
        }
        stage
    }

    pub(crate) fn say(&self, text: &str) {
        if self.tell {
            println!("{:?} {text}", self.lab.world.now());
        }
    }

    pub(crate) fn sm(&self, i: usize) -> Option<&Sm> {
        self.lab.world.sm(self.slots[i].id?)
    }

    pub(crate) fn role(&self, i: usize) -> Option<SmState> {
        self.sm(i).map(|sm| sm.core().role())
    }

    pub(crate) fn is_master(&self, i: usize) -> bool {
        self.role(i) == Some(SmState::Master)
    }

    /// Those that run.
    pub(crate) fn alive(&self) -> Vec<usize> {
        (0..self.slots.len())
            .filter(|i| self.slots[*i].id.is_some())
            .collect()
    }

    /// Those that do not.
    pub(crate) fn dead(&self) -> Vec<usize> {
        (0..self.slots.len())
            .filter(|i| self.slots[*i].id.is_none())
            .collect()
    }

    /// Some master, if there is one.
    pub(crate) fn master(&self) -> Option<usize> {
        (0..self.slots.len()).find(|i| self.is_master(*i))
    }

    /// A manager begins, with what is left of its store.
    pub(crate) fn start(&mut self, i: usize, store: Store) {
        if self.slots[i].id.is_some() {
            return;
        }
        self.power_on(self.slots[i].plan.at.node);
        let now = self.lab.world.now();
        let records = store.left_of(&self.slots[i].disk);
        let slot = &self.slots[i];
        let Plan {
            at,
            cfg,
            copying,
            clock,
            ..
        } = slot.plan.clone();
        let mut restored = restore(&records, unix_s(clock, now));
        // A copy that nobody added to since is no proof of what hosts were told meanwhile.
        let view = restored.snapshot.as_ref().map(|s| &s.view);
        let whose = view.and_then(|view| view.identity());
        restored.complete &= whose.is_some_and(|w| w.port == slot.guid);
        let whole = restored.complete && store == Store::Whole;
        let view = restored.snapshot.as_ref().map(|s| s.view.clone());
        let mut sm = Sm::with_clock(cfg, restored, now, clock);
        (sm.kept, sm.view_kept) = (records, view.clone());
        sm.asks_for_copy = true;
        sm.follows = copying != Copying::No;
        let added = self.lab.world.add_sm(Some(at), sm);
        let slot = &mut self.slots[i];
        slot.id = Some(added.unwrap());
        (slot.leader, slot.copy, slot.before) = (None, None, None);
        (slot.recalled, slot.recalled_of) = (None, None);
        (slot.reign, slot.last_reign, slot.sweeps_before) = (None, None, 0);
        slot.own = slot.disk_of.filter(|_| whole);
        slot.own_view = view;
        (slot.told, slot.sweeps, slot.roles) = (0, 0, 0);
        if copying != Copying::No {
            self.command(i, Input::ReplicaIncomplete(true));
        }
    }

    /// A manager ends without a word.
    pub(crate) fn kill(&mut self, i: usize) {
        self.hear();
        let slot = &self.slots[i];
        if slot.reign.is_some()
            && let Some(sm) = self.sm(i)
        {
            let phase = sm.core().phase();
            let first = slot.sweeps == slot.sweeps_before;
            self.tally.add(&format!("killed, {phase}"), 1);
            self.tally
                .add(&format!("killed, {phase}, first"), u32::from(first));
        }
        self.end(i);
    }

    fn end(&mut self, i: usize) {
        let Some(id) = self.slots[i].id.take() else {
            return;
        };
        self.clients.take_replies(&mut self.lab.world, id);
        self.clients.on_master_end(id);
        let now = self.lab.world.now();
        let followed = self.followed(i, now);
        let sm = self.lab.world.kill(id).unwrap();
        let own = records_of(&sm, self.slots[i].plan.clock, now);
        let of = self.slots[i].guid;
        let reign = self.slots[i].last_reign;
        let before = self.slots[i].before.take();
        for slot in self.slots.iter_mut().filter(|s| s.leader == Some(id)) {
            slot.copy = match slot.plan.copying {
                Copying::No => None,
                Copying::InStep => Some(Copy {
                    records: own.clone(),
                    whole: true,
                    of,
                    reign,
                }),
                Copying::Lagging => before.clone().map(|records| Copy {
                    records,
                    whole: false,
                    of,
                    reign,
                }),
            };
            slot.leader = None;
        }
        let slot = &mut self.slots[i];
        slot.disk_of = slot.reign.take();
        slot.disk = if sm.core().role() == SmState::Standby {
            followed.map_or(own, |copy| copy.records)
        } else {
            own
        };
    }

    /// What a standby has of the master that it follows, or followed.
    fn followed(&self, i: usize, now: Instant) -> Option<Copy> {
        let slot = &self.slots[i];
        let leader = slot
            .leader
            .and_then(|id| self.slots.iter().find(|s| s.id == Some(id)));
        let Some(leader) = leader else {
            return slot.copy.clone();
        };
        let of = leader.guid;
        match slot.plan.copying {
            Copying::No => None,
            Copying::InStep => {
                let sm = self.lab.world.sm(leader.id?)?;
                {
                    let records = records_of(sm, leader.plan.clock, now);
                    Some(Copy {
                        records,
                        whole: true,
                        of,
                        reign: leader.last_reign,
                    })
                }
            }
            Copying::Lagging => {
                let records = leader.before.clone()?;
                Some(Copy {
                    records,
                    whole: false,
                    of,
                    reign: leader.last_reign,
                })
            }
        }
    }

    /// What lagging followers of a master have from now on.
    pub(crate) fn lag(&mut self) {
        let now = self.lab.world.now();
        for i in 0..self.slots.len() {
            if self.is_master(i) {
                let clock = self.slots[i].plan.clock;
                self.slots[i].before = self.sm(i).map(|sm| records_of(sm, clock, now));
            }
        }
    }

    /// Whoever asks for what was kept gets it.
    fn answer_recalls(&mut self) {
        let now = self.lab.world.now();
        for i in self.alive() {
            if !self.sm(i).is_some_and(|sm| sm.wants_copy) {
                continue;
            }
            let clock = self.slots[i].plan.clock;
            let copy = self.followed(i, now);
            let replicates = self.slots[i].plan.copying != Copying::No;
            // The store cannot be read either.
            let hangs = |sm: &Sm| sm.store_fault() == StoreFault::Hanging;
            if replicates && self.sm(i).is_some_and(hangs) {
                continue;
            }
            if self.tell {
                let size = copy.as_ref().map(|c| (c.records.len(), c.whole, c.of));
                self.say(&format!("{i} recalls {size:?}"));
            }
            let id = self.slots[i].id.unwrap();
            let prepared = self.lab.world.with_sm(id, |sm, _| {
                let (mut prepared, mut all_of) = (None, None);
                sm.wants_copy = false;
                let unix_s = unix_s(clock, now);
                let restored = match copy {
                    Some(Copy {
                        records,
                        whole,
                        of,
                        reign,
                    }) => {
                        let mut restored = restore(&records, unix_s);
                        restored.complete &= whole;
                        let view = restored.snapshot.as_ref().map(|s| &s.view);
                        let whose = view.and_then(|view| view.identity());
                        let fits = restored.complete && whose.is_some_and(|w| w.port == of);
                        prepared = fits.then_some(of);
                        let view = restored.snapshot.as_ref().map(|s| s.view.clone());
                        sm.replace_records(records, view.clone(), now);
                        all_of = reign.filter(|_| fits).map(|reign| (reign, view));
                        Some(restored)
                    }
                    // Of its own records only LIDs are worth anything.
                    None if replicates => {
                        let lids: LidMap = restore(&sm.kept, unix_s).lids;
                        let registered = |key: &RecordKey| {
                            let kind = key.kind();
                            kind.is_some_and(|kind| RecordKind::REGISTRATIONS.contains(&kind))
                        };
                        let mut records = core::mem::take(&mut sm.kept);
                        records.retain(|key, _| !registered(key));
                        sm.replace_records(records, None, now);
                        Some(RestoredState {
                            lids,
                            ..RestoredState::default()
                        })
                    }
                    None => None,
                };
                sm.command(Input::ReplicaLoaded(restored.map(Box::new)), now);
                (prepared, all_of)
            });
            let slot = &mut self.slots[i];
            (slot.recalled, slot.recalled_of) = prepared.unwrap_or_default();
            slot.own = None;
        }
    }

    /// Standbys follow the master of their island.
    fn follow(&mut self) {
        for (_, here) in &*self.islands() {
            let masters: Vec<usize> = here
                .iter()
                .copied()
                .filter(|i| self.is_master(*i))
                .collect();
            let Some(&first) = masters.first() else {
                continue;
            };
            for i in here.iter().copied() {
                let slot = &self.slots[i];
                let stays = masters.iter().any(|m| slot.leader == self.slots[*m].id);
                if self.role(i) == Some(SmState::Standby) && !stays {
                    let leader = self.slots[first].id;
                    let peer = self.slots[first].guid;
                    let knows = slot.plan.copying != Copying::No;
                    self.slots[i].leader = leader;
                    self.slots[i].copy = None;
                    if knows {
                        self.command(i, Input::ReplicaIncomplete(false));
                    }
                    if knows && self.leases {
                        self.command(i, Input::FerrosmPeer(peer));
                    }
                }
            }
        }
    }

    /// The pieces of the fabric that have managers, and those managers.
    pub(crate) fn islands(&self) -> Rc<Islands> {
        let alive = self.alive().into_iter();
        let alive = alive.map(|i| (i, self.slots[i].plan.at.node));
        self.pieces
            .islands(self.lab.world.fabric(), alive.collect())
    }

    /// A cable is cut or mended, or a node gets or loses power.
    pub(crate) fn act(&mut self, action: FabricAction) {
        self.lab.world.act(action).unwrap();
        self.pieces.changes += 1;
    }

    /// A host has no power any more, nor what it knew.
    pub(crate) fn power_off(&mut self, node: NodeIdx) {
        self.act(FabricAction::PowerOff(node));
        self.clients.lose_power(node);
        self.tenures.lose_power(node);
        self.powerless.insert(node);
        self.powers += 1;
    }

    pub(crate) fn power_on(&mut self, node: NodeIdx) {
        if !self.lab.world.fabric().is_powered(node) {
            self.act(FabricAction::PowerOn(node));
            self.powers += 1;
        }
    }

    /// Whether one more manager may end. In calm times somebody with a copy is left.
    pub(crate) fn may_end(&self) -> bool {
        let least = if self.calm { 2 } else { 1 };
        self.alive().len() > least
    }

    pub(crate) fn command(&mut self, i: usize, input: Input) {
        if let Some(id) = self.slots[i].id {
            self.lab.world.with_sm(id, |sm, now| sm.command(input, now));
        }
    }

    /// Who runs where hosts may ask.
    pub(crate) fn places(&self) -> Vec<Place> {
        let alive = self.alive().into_iter();
        alive
            .filter_map(|i| Some((self.slots[i].plan.at, self.slots[i].id?)))
            .collect()
    }

    /// What somebody else's subnet manager is, if it is among these nodes and has to do with ours.
    pub(crate) fn foreign_state(&self, nodes: &BTreeSet<NodeIdx>) -> Option<SmState> {
        let foreign = self.foreign.as_ref()?;
        let counts = foreign.takes_part() && nodes.contains(&foreign.at.node);
        foreign.state(&self.lab.world).filter(|_| counts)
    }

    /// Time passes, and everybody does what is theirs to do.
    pub(crate) fn run_for(&mut self, time: Duration) {
        let end = self.lab.world.now() + time;
        while self.lab.world.now() < end {
            let left = end.since(self.lab.world.now());
            self.lab.world.run_for(TICK.min(left));
            self.tick();
        }
    }

    /// So many things happen in the world, or so much time passes.
    pub(crate) fn run_steps(&mut self, steps: u64, at_most: Duration) {
        let end = self.lab.world.now() + at_most;
        let mut next = self.lab.world.now() + TICK;
        for _ in 0..steps {
            let Some(now) = self.lab.world.step().filter(|now| *now <= end) else {
                return;
            };
            if now >= next {
                self.tick();
                next = now + TICK;
            }
        }
    }

    /// Steps until something is so, at most for so long; whether it is.
    pub(crate) fn run_until(&mut self, at_most: Duration, done: impl Fn(&Self) -> bool) -> bool {
        let end = self.lab.world.now() + at_most;
        let mut next = self.lab.world.now() + TICK;
        while !done(self) {
            let Some(now) = self.lab.world.step().filter(|now| *now <= end) else {
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
        self.answer_recalls();
        self.bury();
        self.follow();
        let places = self.places();
        self.clients.listen(&mut self.lab.world, &places);
        if self.ticks.is_multiple_of(10) {
            self.clients.ask(&mut self.lab.world, &places);
        }
        self.look_at_tenures();
        let changes = self.clients.requests() + u64::from(self.powers);
        if changes != self.changed.0 {
            self.changed = (changes, self.lab.world.now());
        }
    }

    /// How long no host has asked for anything, and none lost or got power.
    pub(crate) fn quiet_for(&self) -> Duration {
        self.lab.world.now().since(self.changed.1)
    }

    /// Who has said its last word is gone.
    fn bury(&mut self) {
        for i in self.alive() {
            let stopped = |e: &Event| matches!(e, Event::Stopped { .. });
            if self.sm(i).is_some_and(|sm| sm.events.iter().any(stopped)) {
                self.say(&format!("{i} has stopped"));
                self.hear();
                self.write_what_waits(i);
                self.end(i);
            }
        }
    }

    /// A process that ends waits until its store has written what it can.
    fn write_what_waits(&mut self, i: usize) {
        if let Some(StoreFault::Delayed(_)) = self.sm(i).map(Sm::store_fault) {
            self.set_store_fault(i, StoreFault::None);
        }
    }

    pub(crate) fn set_store_fault(&mut self, i: usize, fault: StoreFault) {
        if let Some(id) = self.slots[i].id {
            self.lab
                .world
                .with_sm(id, |sm, now| sm.set_store_fault(fault, now));
        }
    }

    /// What the managers told.
    pub(crate) fn hear(&mut self) {
        for i in self.alive() {
            let Some(sm) = self.slots[i].id.and_then(|id| self.lab.world.sm(id)) else {
                continue;
            };
            let slot = &mut self.slots[i];
            for event in &sm.events[slot.told..] {
                slot.sweeps += usize::from(matches!(event, Event::SweepCompleted(_)));
                if let Event::RoleChanged { state, .. } = event {
                    let is_master = *state == SmState::Master;
                    slot.roles += 1;
                    self.takeovers += u32::from(is_master);
                    if is_master {
                        let last = self.reigned.replace(slot.guid);
                        let knows = slot.recalled.is_some()
                            && (last == slot.recalled || last == Some(slot.guid));
                        self.unprepared += u32::from(!knows);
                        self.reigns += 1;
                        let view = slot.recalled_of.as_ref().map(|(_, view)| view.clone());
                        self.tenures.begun.push(Begun {
                            reign: self.reigns,
                            node: slot.plan.at.node,
                            from: slot.recalled_of.as_ref().map(|(of, _)| *of).or(slot.own),
                            view: view.unwrap_or_else(|| slot.own_view.clone()),
                        });
                        slot.recalled_of = None;
                        (slot.last_reign, slot.own) = (Some(self.reigns), Some(self.reigns));
                        slot.sweeps_before = slot.sweeps;
                        // What it has of somebody else is older than what it tells from now on.
                        (slot.leader, slot.copy) = (None, None);
                    }
                    if slot.reign.is_some()
                        && !is_master
                        && let Some(id) = slot.id
                    {
                        self.clients.on_master_end(id);
                    }
                    slot.reign = slot.last_reign.filter(|_| is_master);
                    slot.recalled = slot.recalled.filter(|_| *state != SmState::Standby);
                    if matches!(*state, SmState::Standby | SmState::NotActive) {
                        (slot.own, slot.recalled_of) = (None, None);
                    }
                }
                if self.tell {
                    println!("    {:?} {i}: {event}", self.lab.world.now());
                    if let Event::SweepCompleted(r) = event {
                        println!("            {} {:?}", r.engine, r.engine_messages);
                        r.problems.iter().for_each(|p| println!("            {p}"));
                    }
                }
            }
            slot.told = sm.events.len();
            slot.own_view = sm.view_kept.clone();
        }
    }

    /// End ports of hosts among these nodes.
    pub(crate) fn hosts_of(&self, nodes: &BTreeSet<NodeIdx>) -> BTreeSet<PortAt> {
        let hosts = self.clients.hosts().into_iter();
        hosts.filter(|at| nodes.contains(&at.node)).collect()
    }

    /// A random choice among these.
    pub(crate) fn any(d: &mut Dice, of: &[usize]) -> Option<usize> {
        of.get(d.index(of.len().max(1))).copied()
    }
}
