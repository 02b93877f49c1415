//! Masters and standbys in virtual time, with connections that break or delay frames, and processes
//! that die or stall. Invariants are checked after each step.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use ferrosm_core::records::{RecordBatch, RecordChange, RecordKey, RecordKind};
use proptest::prelude::*;

use super::event::{ReplicationEvent, Timing};
use super::follower::{Follower, SessionId, StoreJob};
use super::leader::{ConnectionId, FollowerMessage, Leader, NodeTime};
use super::log::{BatchLog, LogLimits, Position};
use super::wire::{Hello, Message, NodeRole, RawBytes, decode, encode, encode_batch};

const STEP: Duration = Duration::from_millis(10);
const NODES: usize = 3;

type Records = BTreeMap<RecordKey, Box<[u8]>>;

/// An action of a test.
#[derive(Debug, Clone, Copy)]
enum Fault {
    /// The master commits this number of batches.
    Commit(u8),
    /// The master commits a batch in each of this number of steps.
    Load(u8),
    /// A standby's connection breaks; frames in flight are lost.
    Break(usize),
    /// A standby's connection delivers nothing for this number of steps, then all.
    DelayFrames(usize, u8),
    /// A standby's disk does nothing for this number of steps.
    Disk(usize, u8),
    /// A standby dies and restarts with its durable state.
    Restart(usize),
    /// The master's process is stalled for this number of steps.
    StallMaster(u8),
    /// The master dies; the standby takes over, and the old master returns as standby.
    TakeOver(usize),
    /// Time passes.
    Wait(u8),
}

fn faults() -> impl Strategy<Value = Vec<Fault>> {
    let one = prop_oneof![
        6 => (1..40_u8).prop_map(Fault::Commit),
        2 => (1..60_u8).prop_map(Fault::Load),
        1 => (0..NODES).prop_map(Fault::Break),
        1 => (0..NODES, 1..200_u8).prop_map(|(n, s)| Fault::DelayFrames(n, s)),
        1 => (0..NODES, 1..200_u8).prop_map(|(n, s)| Fault::Disk(n, s)),
        1 => (0..NODES).prop_map(Fault::Restart),
        1 => (1..120_u8).prop_map(Fault::StallMaster),
        1 => (0..NODES).prop_map(Fault::TakeOver),
        6 => (1..60_u8).prop_map(Fault::Wait),
    ];
    prop::collection::vec(one, 1..60)
}

/// The durable state of a node.
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

    fn work(&mut self, job: StoreJob) -> Position {
        match job {
            StoreJob::Apply(at, batch) => {
                self.apply(at, &batch);
                at
            }
            StoreJob::Replace(at, records) => {
                self.records = records.into_iter().collect();
                self.at = Some(at);
                at
            }
        }
    }
}

/// A standby with its connection to the master.
#[derive(Debug)]
struct Node {
    disk: Disk,
    follower: Follower,
    jobs: VecDeque<StoreJob>,
    busy_until: NodeTime,
    wire: Option<Wire>,
}

#[derive(Debug)]
struct Wire {
    conn: ConnectionId,
    session: SessionId,
    /// Frames in flight in both directions, with their arrival times.
    down: VecDeque<(NodeTime, Vec<u8>)>,
    up: VecDeque<(NodeTime, Vec<u8>)>,
    stalled_until: NodeTime,
}

struct World {
    now: NodeTime,
    timing: Timing,
    epoch: u64,
    next: u64,
    master: usize,
    leader: Leader,
    stalled_until: NodeTime,
    /// The master's disk is that of its node.
    nodes: Vec<Node>,
    /// Records after each batch of this epoch, from batch `start` on.
    history: Vec<Records>,
    start: u64,
    events: Vec<ReplicationEvent>,
}

fn hello(guid: u64, position: Option<Position>) -> Hello {
    Hello {
        fabric: String::new(),
        guid,
        priority: 0,
        role: NodeRole::Standby,
        position,
    }
}

fn index(seq: u64) -> usize {
    usize::try_from(seq).unwrap()
}

fn steps(n: u64) -> Duration {
    STEP * u32::try_from(n).unwrap()
}

fn decoded(frame: &[u8]) -> Message<'_> {
    decode(&frame[4..]).unwrap()
}

fn encoded(message: &Message<'_>) -> Vec<u8> {
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
            busy_until: NodeTime::ZERO,
            wire: None,
        };
        let mut world = Self {
            now: NodeTime::ZERO,
            timing,
            epoch: 0,
            next: 0,
            master: 0,
            leader: Leader::new(
                BatchLog::new(0, None, LogLimits::default()),
                timing,
                NodeTime::ZERO,
            ),
            stalled_until: NodeTime::ZERO,
            nodes: (0..NODES).map(|_| node()).collect(),
            history: Vec::new(),
            start: 0,
            events: Vec::new(),
        };
        world.start_term(0);
        world
    }

    fn new_number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn start_term(&mut self, node: usize) {
        self.epoch = self.new_number();
        self.master = node;
        let limits = LogLimits {
            batches: 50,
            bytes: 1 << 20,
        };
        let disk = &self.nodes[node].disk;
        self.history = vec![disk.records.clone()];
        self.start = disk.at.map_or(0, |at| at.seq);
        let log = BatchLog::new(self.epoch, disk.at, limits);
        self.leader = Leader::new(log, self.timing, self.now);
        self.stalled_until = self.now;
    }

    fn stalled(&self) -> bool {
        self.now < self.stalled_until
    }

    fn commit(&mut self) {
        let n = self.new_number();
        let key = |n: u64| RecordKey::new(RecordKind::Lid, &[&[u8::try_from(n % 29).unwrap()]]);
        let mut changes = vec![RecordChange::Put(key(n), n.to_be_bytes().to_vec().into())];
        if n.is_multiple_of(5) {
            changes.push(RecordChange::Remove(key(n / 5)));
        }
        if n.is_multiple_of(97) {
            changes.insert(0, RecordChange::Clear(RecordKind::Lid));
        }
        let batch = RecordBatch { changes };
        let seq = self.leader.log().end_position().seq + 1;
        let epoch = self.epoch;
        let disk = &mut self.nodes[self.master].disk;
        disk.apply(Position { epoch, seq }, &batch);
        self.history.push(disk.records.clone());
        let body: Arc<[u8]> = encode_batch(&batch).unwrap().into();
        self.leader.append(seq, body, self.now).unwrap();
    }

    fn disconnect(&mut self, node: usize) {
        if let Some(wire) = self.nodes[node].wire.take() {
            self.nodes[node].follower.on_disconnected(wire.session);
            self.leader.on_disconnected(wire.conn, self.now);
        }
    }

    fn connect(&mut self, node: usize) {
        let is_idle = self.nodes[node].wire.is_none() && self.nodes[node].jobs.is_empty();
        if node == self.master || self.stalled() || !is_idle {
            return;
        }
        let conn = ConnectionId(self.new_number());
        let n = &mut self.nodes[node];
        let previous = n.follower.session();
        let guid = self.master as u64;
        let Some(session) = n.follower.on_connected(guid, previous, self.now) else {
            return;
        };
        self.leader
            .on_connected(conn, &hello(node as u64, n.disk.at), self.now)
            .unwrap();
        n.wire = Some(Wire {
            conn,
            session,
            down: VecDeque::new(),
            up: VecDeque::new(),
            stalled_until: self.now,
        });
    }

    /// Advances the time by one step.
    fn step(&mut self, delays: &mut impl FnMut() -> u64) -> Result<(), TestCaseError> {
        self.now += STEP;
        let now = self.now;
        let stalled = self.stalled();
        if !stalled {
            self.leader.tick(now);
        }
        for node in 0..NODES {
            if node == self.master {
                continue;
            }
            self.connect(node);
            self.run_leader(node, stalled, delays);
            self.run_node(node, delays)?;
            self.check(node)?;
        }
        if !stalled {
            self.events.extend(self.leader.take_events());
        }
        Ok(())
    }

    fn run_leader(&mut self, node_index: usize, stalled: bool, delays: &mut impl FnMut() -> u64) {
        let now = self.now;
        let node = &mut self.nodes[node_index];
        let Some(wire) = node.wire.as_mut().filter(|_| !stalled) else {
            return;
        };
        let arrived = wire
            .up
            .iter()
            .take_while(|(t, _)| *t <= now && now >= wire.stalled_until);
        let arrived = arrived.count();
        for (_, frame) in wire.up.drain(..arrived) {
            let message = decoded(&frame);
            if let Message::Ping(n) = message {
                self.leader.on_ping(wire.conn, n, now);
            } else if let Message::Ack(p) = message {
                self.leader.on_ack(wire.conn, p, now).unwrap();
            } else {
                panic!("unexpected {message:?} from a follower");
            }
        }
        if !self.leader.is_current_connection(wire.conn) {
            let session = wire.session;
            node.wire = None;
            node.follower.on_disconnected(session);
            return;
        }
        let arrival = |wire: &Wire, delay: u64| {
            let soonest = wire.down.back().map_or(now, |(t, _)| *t);
            soonest.max(now + steps(delay))
        };
        while let Some(out) = self.leader.poll(wire.conn, true, now) {
            let mut frames = Vec::new();
            match out {
                FollowerMessage::Message(m) => frames.push(encode(&m).unwrap()),
                FollowerMessage::Batch { seq, body } => {
                    let body = RawBytes(&body);
                    frames.push(encode(&Message::Batch { seq, body }).unwrap());
                }
                FollowerMessage::Snapshot => {
                    let end = self.leader.log().end_position();
                    let records = &self.history[index(end.seq - self.start)];
                    let count = records.len() as u64;
                    let head = Message::Snapshot {
                        at: end,
                        records: count,
                    };
                    frames.push(encode(&head).unwrap());
                    let records: Vec<_> = records.iter().collect();
                    for chunk in records.chunks(7) {
                        let records = chunk
                            .iter()
                            .map(|(k, v)| (RawBytes(k.bytes()), RawBytes(v)));
                        frames.push(encode(&Message::Records(records.collect())).unwrap());
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

    fn run_node(
        &mut self,
        node_index: usize,
        delays: &mut impl FnMut() -> u64,
    ) -> Result<(), TestCaseError> {
        let now = self.now;
        let node = &mut self.nodes[node_index];
        if let Some(wire) = &mut node.wire {
            let open = now >= wire.stalled_until;
            let arrived = wire
                .down
                .iter()
                .take_while(|(t, _)| *t <= now && open)
                .count();
            for (_, frame) in wire.down.drain(..arrived) {
                let message = decoded(&frame);
                if node.follower.follows(wire.session) {
                    let result = node.follower.on_message(wire.session, message, now);
                    prop_assert_eq!(result, Ok(()));
                }
            }
        }
        node.jobs.extend(node.follower.take_jobs());
        if now >= node.busy_until {
            while let Some(job) = node.jobs.pop_front() {
                let at = node.disk.work(job);
                node.follower.on_durable(node.follower.session(), at);
            }
        }
        node.follower.tick(now);
        if let Some(wire) = &mut node.wire {
            while let Some(message) = node.follower.poll(wire.session, now) {
                let soonest = wire.up.back().map_or(now, |(t, _)| *t);
                let t = soonest.max(now + steps(delays()));
                wire.up.push_back((t, encoded(&message)));
            }
            if !node.follower.follows(wire.session) {
                let conn = wire.conn;
                node.wire = None;
                if !self.now.lt(&self.stalled_until) {
                    self.leader.on_disconnected(conn, now);
                }
            }
        }
        Ok(())
    }

    /// Invariants that hold at all times.
    fn check(&mut self, node_index: usize) -> Result<(), TestCaseError> {
        let acknowledged = self.leader.acknowledged();
        let node = &mut self.nodes[node_index];
        let local_position = node
            .disk
            .at
            .filter(|p| p.epoch == self.epoch)
            .map(|p| p.seq);
        if let Some(seq) = local_position {
            prop_assert_eq!(
                &node.disk.records,
                &self.history[index(seq - self.start)],
                "node {}: records differ from the master's at {}",
                node_index,
                seq
            );
        }
        let local_position =
            local_position.or_else(|| node.disk.at.and_then(|p| self.leader.log().locate(p)));
        let complete = local_position.is_some_and(|seq| seq >= acknowledged);
        if node.follower.in_sync(self.now) {
            prop_assert!(
                complete,
                "in sync at {local_position:?}, but {acknowledged} is acknowledged"
            );
        }
        for event in node.follower.take_events() {
            if let ReplicationEvent::MasterSilent { in_sync: true, .. } = event {
                prop_assert!(
                    complete,
                    "silent, in sync at {local_position:?} of {acknowledged}"
                );
            }
        }
        Ok(())
    }

    fn act(&mut self, fault: Fault, delays: &mut impl FnMut() -> u64) -> Result<(), TestCaseError> {
        let step = |n: u8| STEP * u32::from(n);
        match fault {
            Fault::Commit(n) => {
                if !self.stalled() {
                    (0..n).for_each(|_| self.commit());
                }
            }
            Fault::Load(n) => {
                for _ in 0..n {
                    if !self.stalled() {
                        self.commit();
                    }
                    self.step(delays)?;
                }
            }
            Fault::Break(n) => self.disconnect(n),
            Fault::DelayFrames(n, steps) => {
                if let Some(wire) = &mut self.nodes[n].wire {
                    wire.stalled_until = self.now + step(steps);
                }
            }
            Fault::Disk(n, steps) => self.nodes[n].busy_until = self.now + step(steps),
            Fault::Restart(n) => {
                if n != self.master {
                    self.disconnect(n);
                    self.nodes[n].jobs.clear();
                    self.nodes[n].follower = Follower::new(self.timing);
                }
            }
            Fault::StallMaster(steps) => self.stalled_until = self.now + step(steps),
            Fault::TakeOver(n) => {
                if n != self.master {
                    (0..NODES).for_each(|node| self.disconnect(node));
                    for node in &mut self.nodes {
                        // Received jobs are stored before a new session or term.
                        while let Some(job) = node.jobs.pop_front() {
                            node.disk.work(job);
                        }
                        node.follower.stop();
                    }
                    self.start_term(n);
                }
            }
            Fault::Wait(n) => {
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

    /// Under all faults: a node that considers itself in sync has all acknowledged batches; records
    /// at each position equal the master's; and after the last fault, all nodes are in sync with
    /// all records.
    #[test]
    fn standby_in_sync_has_all_acknowledged_batches(
        faults in faults(),
        jitter in prop::collection::vec(0..4_u64, 64),
    ) {
        let mut world = World::new();
        let mut at = 0;
        let mut delays = || {
            at = (at + 1) % jitter.len();
            jitter[at]
        };
        for fault in faults {
            world.act(fault, &mut delays)?;
        }
        for _ in 0..600 {
            world.step(&mut delays)?;
        }
        let end = world.leader.log().end_position();
        prop_assert_eq!(world.leader.acknowledged(), end.seq);
        let followers: Vec<_> = world.leader.followers().collect();
        prop_assert_eq!(followers.iter().filter(|(_, in_sync)| *in_sync).count(), NODES - 1);
        for node in &world.nodes {
            prop_assert_eq!(&node.disk.records, world.history.last().unwrap());
        }
    }
}

/// The master waits for a standby with a hanging disk no longer than the limit. If no other is in
/// sync, one alarm is raised, and its end is reported.
#[test]
fn hanging_standby_delays_replies_up_to_the_limit() {
    let mut world = World::new();
    let mut no_delay = || 0;
    let run = |world: &mut World, steps: usize, delays: &mut dyn FnMut() -> u64| {
        for _ in 0..steps {
            world.step(&mut || delays()).unwrap();
        }
    };
    run(&mut world, 20, &mut no_delay);
    assert!(world.nodes[1].follower.in_sync(world.now));
    world.nodes[1].busy_until = Duration::from_secs(9);
    world.nodes[2].busy_until = Duration::from_secs(9);
    world.commit();
    let began = world.now;
    while world.leader.acknowledged() < 1 {
        run(&mut world, 1, &mut no_delay);
    }
    let waited = world.now - began;
    assert!(waited <= world.timing.ack_timeout + STEP * 3, "{waited:?}");
    assert!(waited >= world.timing.in_sync_validity(), "{waited:?}");
    let alarm = |e: &&ReplicationEvent| {
        matches!(
            e,
            ReplicationEvent::ProtectionLost(_) | ReplicationEvent::ProtectionRestored
        )
    };
    run(&mut world, 300, &mut no_delay);
    assert_eq!(
        world.events.iter().filter(alarm).count(),
        1,
        "{:?}",
        world.events
    );
    run(&mut world, 700, &mut no_delay);
    let alarms: Vec<_> = world.events.iter().filter(alarm).collect();
    assert_eq!(alarms.len(), 2);
    assert_eq!(alarms[1], &ReplicationEvent::ProtectionRestored);
}

/// Standbys of a stalled master detect its silence after the lease, not before; the master detects
/// its stall.
#[test]
fn stalled_master_is_silent_after_the_lease() {
    let mut world = World::new();
    let mut no_delay = || 0;
    for _ in 0..50 {
        world.step(&mut no_delay).unwrap();
    }
    let began = world.now;
    world.stalled_until = began + Duration::from_secs(1);
    while world.nodes[1].follower.master().is_some() {
        world.step(&mut no_delay).unwrap();
    }
    let silent = world.now - began;
    let timing = world.timing;
    assert!(silent <= timing.lease + STEP * 2, "{silent:?}");
    assert!(
        silent + timing.heartbeat + STEP * 2 >= timing.lease,
        "{silent:?}"
    );
    for _ in 0..100 {
        world.step(&mut no_delay).unwrap();
    }
    assert!(
        world
            .events
            .iter()
            .any(|e| matches!(e, ReplicationEvent::ProcessStalled(_)))
    );
}
