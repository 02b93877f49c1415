//! Masters and standbys in virtual time, on connections that break, stall and deliver late, with processes that die or stop running
//! for a while. What must hold is checked after every step.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use ferrosm_core::records::{RecordBatch, RecordChange, RecordKey, RecordKind};
use proptest::prelude::*;

use super::event::{Event, Timing};
use super::follower::{Follower, Job, Turn};
use super::leader::{Conn, Leader, Now, Outgoing};
use super::log::{Log, LogLimits, Position};
use super::wire::{Bytes, Hello, Message, NodeRole, decode, encode, encode_batch};

const STEP: Duration = Duration::from_millis(10);
const NODES: usize = 3;

type Records = BTreeMap<RecordKey, Box<[u8]>>;

/// What a test may do to the world.
#[derive(Debug, Clone, Copy)]
enum Trouble {
    /// The master commits so many batches.
    Commit(u8),
    /// It commits a batch in each of so many steps.
    Load(u8),
    /// A standby's connection breaks; what was under way is lost.
    Break(usize),
    /// A standby's connection delivers nothing for so many steps, then all.
    Stall(usize, u8),
    /// A standby's disk does nothing for so many steps.
    Disk(usize, u8),
    /// A standby dies and starts again, with what is durable.
    Restart(usize),
    /// The master's process does not run for so many steps.
    Freeze(u8),
    /// The master dies; the standby takes over, and the old one comes back as a standby.
    TakeOver(usize),
    /// Time passes.
    Wait(u8),
}

fn troubles() -> impl Strategy<Value = Vec<Trouble>> {
    let one = prop_oneof![
        6 => (1..40_u8).prop_map(Trouble::Commit),
        2 => (1..60_u8).prop_map(Trouble::Load),
        1 => (0..NODES).prop_map(Trouble::Break),
        1 => (0..NODES, 1..200_u8).prop_map(|(n, s)| Trouble::Stall(n, s)),
        1 => (0..NODES, 1..200_u8).prop_map(|(n, s)| Trouble::Disk(n, s)),
        1 => (0..NODES).prop_map(Trouble::Restart),
        1 => (1..120_u8).prop_map(Trouble::Freeze),
        1 => (0..NODES).prop_map(Trouble::TakeOver),
        6 => (1..60_u8).prop_map(Trouble::Wait),
    ];
    prop::collection::vec(one, 1..60)
}

/// The store of a node: what is durable.
#[derive(Debug, Clone, Default)]
struct Disk {
    records: Records,
    at: Option<Position>,
}

impl Disk {
    fn apply(&mut self, at: Position, batch: &RecordBatch) {
        for change in &batch.changes {
            match change {
                RecordChange::Clear(kind) => {
                    self.records.retain(|key, _| key.kind() != Some(*kind))
                }
                RecordChange::Put(key, value) => {
                    drop(self.records.insert(key.clone(), value.clone()))
                }
                RecordChange::Remove(key) => drop(self.records.remove(key)),
            }
        }
        self.at = Some(at);
    }

    fn work(&mut self, job: Job) -> Position {
        match job {
            Job::Apply(at, batch) => {
                self.apply(at, &batch);
                at
            }
            Job::Replace(at, records) => {
                self.records = records.into_iter().collect();
                self.at = Some(at);
                at
            }
        }
    }
}

/// One standby, with its connection to the master.
#[derive(Debug)]
struct Node {
    disk: Disk,
    follower: Follower,
    jobs: VecDeque<Job>,
    busy_until: Now,
    wire: Option<Wire>,
}

#[derive(Debug)]
struct Wire {
    conn: Conn,
    turn: Turn,
    /// Frames under way, each way, with the time of their arrival.
    down: VecDeque<(Now, Vec<u8>)>,
    up: VecDeque<(Now, Vec<u8>)>,
    stalled_until: Now,
}

struct World {
    now: Now,
    timing: Timing,
    epoch: u64,
    next: u64,
    master: usize,
    leader: Leader,
    frozen_until: Now,
    /// The master's disk is that of its node.
    nodes: Vec<Node>,
    /// What each batch of this epoch made of the records, from batch `start` on.
    history: Vec<Records>,
    start: u64,
    told: Vec<Event>,
}

fn hello(guid: u64, position: Option<Position>) -> Hello {
    Hello {
        fabric: String::new(),
        guid,
        priority: 0,
        standing: NodeRole::Standby,
        position,
    }
}

fn index(seq: u64) -> usize {
    usize::try_from(seq).unwrap()
}

fn steps(n: u64) -> Duration {
    STEP * u32::try_from(n).unwrap()
}

fn read(frame: &[u8]) -> Message<'_> {
    decode(&frame[4..]).unwrap()
}

fn written(message: &Message<'_>) -> Vec<u8> {
    encode(message).unwrap()
}

impl World {
    fn new() -> Self {
        let timing = Timing::default();
        let disk = Disk::default();
        let node = || Node {
            disk: disk.clone(),
            follower: Follower::new(timing),
            jobs: VecDeque::new(),
            busy_until: Now::ZERO,
            wire: None,
        };
        let mut world = Self {
            now: Now::ZERO,
            timing,
            epoch: 0,
            next: 0,
            master: 0,
            leader: Leader::new(Log::new(0, None, LogLimits::default()), timing, Now::ZERO),
            frozen_until: Now::ZERO,
            nodes: (0..NODES).map(|_| node()).collect(),
            history: Vec::new(),
            start: 0,
            told: Vec::new(),
        };
        world.lead(0);
        world
    }

    fn fresh(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn lead(&mut self, node: usize) {
        self.epoch = self.fresh();
        self.master = node;
        let limits = LogLimits {
            batches: 50,
            bytes: 1 << 20,
        };
        let disk = &self.nodes[node].disk;
        self.history = vec![disk.records.clone()];
        self.start = disk.at.map_or(0, |at| at.seq);
        let log = Log::new(self.epoch, disk.at, limits);
        self.leader = Leader::new(log, self.timing, self.now);
        self.frozen_until = self.now;
    }

    fn frozen(&self) -> bool {
        self.now < self.frozen_until
    }

    fn commit(&mut self) {
        let n = self.fresh();
        let key = |n: u64| RecordKey::new(RecordKind::Lid, &[&[u8::try_from(n % 29).unwrap()]]);
        let mut changes = vec![RecordChange::Put(key(n), n.to_be_bytes().to_vec().into())];
        if n.is_multiple_of(5) {
            changes.push(RecordChange::Remove(key(n / 5)));
        }
        if n.is_multiple_of(97) {
            changes.insert(0, RecordChange::Clear(RecordKind::Lid));
        }
        let batch = RecordBatch { changes };
        let seq = self.leader.log().end().seq + 1;
        let epoch = self.epoch;
        let disk = &mut self.nodes[self.master].disk;
        disk.apply(Position { epoch, seq }, &batch);
        self.history.push(disk.records.clone());
        let body: Arc<[u8]> = encode_batch(&batch).unwrap().into();
        self.leader.committed(seq, body, self.now).unwrap();
    }

    fn cut(&mut self, node: usize) {
        if let Some(wire) = self.nodes[node].wire.take() {
            self.nodes[node].follower.broken(wire.turn);
            self.leader.lost(wire.conn, self.now);
        }
    }

    fn connect(&mut self, node: usize) {
        let free = self.nodes[node].wire.is_none() && self.nodes[node].jobs.is_empty();
        if node == self.master || self.frozen() || !free {
            return;
        }
        let conn = Conn(self.fresh());
        let n = &mut self.nodes[node];
        let told = n.follower.turn();
        let guid = self.master as u64;
        let Some(turn) = n.follower.connected(guid, told, self.now) else {
            return;
        };
        self.leader
            .joined(conn, &hello(node as u64, n.disk.at), self.now)
            .unwrap();
        n.wire = Some(Wire {
            conn,
            turn,
            down: VecDeque::new(),
            up: VecDeque::new(),
            stalled_until: self.now,
        });
    }

    /// One step of time.
    fn step(&mut self, delays: &mut impl FnMut() -> u64) -> Result<(), TestCaseError> {
        self.now += STEP;
        let now = self.now;
        let frozen = self.frozen();
        if !frozen {
            self.leader.tick(now);
        }
        for at in 0..NODES {
            if at == self.master {
                continue;
            }
            self.connect(at);
            self.leader_to(at, frozen, delays);
            self.at_node(at, delays)?;
            self.check(at)?;
        }
        if !frozen {
            self.told.extend(self.leader.events());
        }
        Ok(())
    }

    fn leader_to(&mut self, at: usize, frozen: bool, delays: &mut impl FnMut() -> u64) {
        let now = self.now;
        let node = &mut self.nodes[at];
        let Some(wire) = node.wire.as_mut().filter(|_| !frozen) else {
            return;
        };
        let arrived = wire
            .up
            .iter()
            .take_while(|(t, _)| *t <= now && now >= wire.stalled_until);
        let arrived = arrived.count();
        for (_, frame) in wire.up.drain(..arrived) {
            let message = read(&frame);
            if let Message::Ping(n) = message {
                self.leader.pinged(wire.conn, n, now);
            } else if let Message::Ack(p) = message {
                self.leader.acked(wire.conn, p, now).unwrap();
            } else {
                panic!("a follower does not say {message:?}");
            }
        }
        if !self.leader.serves(wire.conn) {
            let turn = wire.turn;
            node.wire = None;
            node.follower.broken(turn);
            return;
        }
        let arrival = |wire: &Wire, delay: u64| {
            let soonest = wire.down.back().map_or(now, |(t, _)| *t);
            soonest.max(now + steps(delay))
        };
        while let Some(out) = self.leader.poll(wire.conn, true, now) {
            let mut frames = Vec::new();
            match out {
                Outgoing::Message(m) => frames.push(encode(&m).unwrap()),
                Outgoing::Batch { seq, body } => {
                    let body = Bytes(&body);
                    frames.push(encode(&Message::Batch { seq, body }).unwrap());
                }
                Outgoing::Snapshot => {
                    let end = self.leader.log().end();
                    let records = &self.history[index(end.seq - self.start)];
                    let count = records.len() as u64;
                    let head = Message::Snapshot {
                        at: end,
                        records: count,
                    };
                    frames.push(encode(&head).unwrap());
                    let all: Vec<_> = records.iter().collect();
                    for some in all.chunks(7) {
                        let some = some.iter().map(|(k, v)| (Bytes(k.bytes()), Bytes(v)));
                        frames.push(encode(&Message::Records(some.collect())).unwrap());
                    }
                    self.leader.snapshot_sent(wire.conn, end.seq);
                }
            }
            for frame in frames {
                let t = arrival(wire, delays());
                wire.down.push_back((t, frame));
            }
        }
    }

    fn at_node(
        &mut self,
        at: usize,
        delays: &mut impl FnMut() -> u64,
    ) -> Result<(), TestCaseError> {
        let now = self.now;
        let node = &mut self.nodes[at];
        if let Some(wire) = &mut node.wire {
            let open = now >= wire.stalled_until;
            let arrived = wire
                .down
                .iter()
                .take_while(|(t, _)| *t <= now && open)
                .count();
            for (_, frame) in wire.down.drain(..arrived) {
                let message = read(&frame);
                if node.follower.follows(wire.turn) {
                    let taken = node.follower.received(wire.turn, message, now);
                    prop_assert_eq!(taken, Ok(()));
                }
            }
        }
        node.jobs.extend(node.follower.jobs());
        if now >= node.busy_until {
            while let Some(job) = node.jobs.pop_front() {
                let at = node.disk.work(job);
                node.follower.durable(node.follower.turn(), at);
            }
        }
        node.follower.tick(now);
        if let Some(wire) = &mut node.wire {
            while let Some(message) = node.follower.poll(wire.turn, now) {
                let soonest = wire.up.back().map_or(now, |(t, _)| *t);
                let t = soonest.max(now + steps(delays()));
                wire.up.push_back((t, written(&message)));
            }
            if !node.follower.follows(wire.turn) {
                let conn = wire.conn;
                node.wire = None;
                if !self.now.lt(&self.frozen_until) {
                    self.leader.lost(conn, now);
                }
            }
        }
        Ok(())
    }

    /// What must hold at all times.
    fn check(&mut self, at: usize) -> Result<(), TestCaseError> {
        let acknowledged = self.leader.acknowledged();
        let node = &mut self.nodes[at];
        let here = node
            .disk
            .at
            .filter(|p| p.epoch == self.epoch)
            .map(|p| p.seq);
        if let Some(seq) = here {
            prop_assert_eq!(
                &node.disk.records,
                &self.history[index(seq - self.start)],
                "node {} has other records than its master had at {}",
                at,
                seq
            );
        }
        let here = here.or_else(|| node.disk.at.and_then(|p| self.leader.log().locate(p)));
        let complete = here.is_some_and(|seq| seq >= acknowledged);
        if node.follower.in_sync(self.now) {
            prop_assert!(
                complete,
                "in step at {here:?}, {acknowledged} is acknowledged"
            );
        }
        for event in node.follower.events() {
            if let Event::MasterSilent { in_sync: true, .. } = event {
                prop_assert!(complete, "silent, in step at {here:?} of {acknowledged}");
            }
        }
        Ok(())
    }

    fn act(
        &mut self,
        trouble: Trouble,
        delays: &mut impl FnMut() -> u64,
    ) -> Result<(), TestCaseError> {
        let step = |n: u8| STEP * u32::from(n);
        match trouble {
            Trouble::Commit(n) => {
                if !self.frozen() {
                    (0..n).for_each(|_| self.commit());
                }
            }
            Trouble::Load(n) => {
                for _ in 0..n {
                    if !self.frozen() {
                        self.commit();
                    }
                    self.step(delays)?;
                }
            }
            Trouble::Break(n) => self.cut(n),
            Trouble::Stall(n, steps) => {
                if let Some(wire) = &mut self.nodes[n].wire {
                    wire.stalled_until = self.now + step(steps);
                }
            }
            Trouble::Disk(n, steps) => self.nodes[n].busy_until = self.now + step(steps),
            Trouble::Restart(n) => {
                if n != self.master {
                    self.cut(n);
                    self.nodes[n].jobs.clear();
                    self.nodes[n].follower = Follower::new(self.timing);
                }
            }
            Trouble::Freeze(steps) => self.frozen_until = self.now + step(steps),
            Trouble::TakeOver(n) => {
                if n != self.master {
                    (0..NODES).for_each(|at| self.cut(at));
                    for node in &mut self.nodes {
                        // What came is stored before anybody leads or follows anew.
                        while let Some(job) = node.jobs.pop_front() {
                            node.disk.work(job);
                        }
                        node.follower.stop();
                    }
                    self.lead(n);
                }
            }
            Trouble::Wait(n) => {
                for _ in 0..n {
                    self.step(delays)?;
                }
            }
        }
        self.step(delays)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Whatever breaks: who believes to be in step has all that was acknowledged; records are at each place of a history what the
    /// master's were; and when nothing breaks any more, everybody is in step again, with all there is.
    #[test]
    fn nothing_acknowledged_is_missing_where_somebody_is_in_step(
        troubles in troubles(),
        jitter in prop::collection::vec(0..4_u64, 64),
    ) {
        let mut world = World::new();
        let mut at = 0;
        let mut delays = || {
            at = (at + 1) % jitter.len();
            jitter[at]
        };
        for trouble in troubles {
            world.act(trouble, &mut delays)?;
        }
        for _ in 0..600 {
            world.step(&mut delays)?;
        }
        let end = world.leader.log().end();
        prop_assert_eq!(world.leader.acknowledged(), end.seq);
        let followers: Vec<_> = world.leader.followers().collect();
        prop_assert_eq!(followers.iter().filter(|(_, in_sync)| *in_sync).count(), NODES - 1);
        for node in &world.nodes {
            prop_assert_eq!(&node.disk.records, world.history.last().unwrap());
        }
    }
}

/// A standby whose disk hangs is not waited for longer than the limit; nobody else being there is an alarm, once, and so is its end.
#[test]
fn a_standby_that_hangs_holds_nobody_up_for_long() {
    let mut world = World::new();
    let mut at_once = || 0;
    let run = |world: &mut World, steps: usize, delays: &mut dyn FnMut() -> u64| {
        for _ in 0..steps {
            world.step(&mut || delays()).unwrap();
        }
    };
    run(&mut world, 20, &mut at_once);
    assert!(world.nodes[1].follower.in_sync(world.now));
    world.nodes[1].busy_until = Duration::from_secs(9);
    world.nodes[2].busy_until = Duration::from_secs(9);
    world.commit();
    let began = world.now;
    while world.leader.acknowledged() < 1 {
        run(&mut world, 1, &mut at_once);
    }
    let waited = world.now - began;
    assert!(waited <= world.timing.limit + STEP * 3, "{waited:?}");
    assert!(waited >= world.timing.in_sync_validity(), "{waited:?}");
    let alarm = |e: &&Event| matches!(e, Event::ProtectionLost(_) | Event::ProtectionRestored);
    run(&mut world, 300, &mut at_once);
    assert_eq!(
        world.told.iter().filter(alarm).count(),
        1,
        "{:?}",
        world.told
    );
    run(&mut world, 700, &mut at_once);
    let told: Vec<_> = world.told.iter().filter(alarm).collect();
    assert_eq!(told.len(), 2);
    assert_eq!(told[1], &Event::ProtectionRestored);
}

/// Standbys of a master that hangs hear of it after the lease, and not before; the master hears that it hung.
#[test]
fn a_frozen_master_is_silent_after_the_lease() {
    let mut world = World::new();
    let mut at_once = || 0;
    for _ in 0..50 {
        world.step(&mut at_once).unwrap();
    }
    let began = world.now;
    world.frozen_until = began + Duration::from_secs(1);
    while world.nodes[1].follower.leader().is_some() {
        world.step(&mut at_once).unwrap();
    }
    let silent = world.now - began;
    let timing = world.timing;
    assert!(silent <= timing.lease + STEP * 2, "{silent:?}");
    assert!(
        silent + timing.heartbeat + STEP * 2 >= timing.lease,
        "{silent:?}"
    );
    for _ in 0..100 {
        world.step(&mut at_once).unwrap();
    }
    assert!(
        world
            .told
            .iter()
            .any(|e| matches!(e, Event::ProcessStalled(_)))
    );
}
