//! A subnet manager of somebody else, by the rules that OpenSM goes by towards others (behaviour rule 8): it looks who else is there,
//! stands by behind a master or a better one and polls it, discovers again when that one is silent, hands over to a better one
//! without waiting for an answer, and waits for a lower master. As master it tells the ports so, and configures nothing else.
//!
//! It shares no code with the election under test. Where others are it sees from outside; what it asks and tells them are MADs.
//! Answering SMInfo, and doing as a Set of it asks, is the simulator's [`ForeignSm`].

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use crate::simulated::{Dice, Sm};
use ferrosm_mad::attr::{CapMask, PortInfo, PortState, SmControl, SmInfo, SmState, id};
use ferrosm_mad::ids::{AttrMod, MKey, PortGuid, PortNum, Tid};
use ferrosm_mad::mad::{Address, MadHeader, MadIn, MadOut, Method};
use ferrosm_mad::smp::{self, DrPath, SmpRequest};
use ferrosm_mad::time::Instant;
use ferrosm_sim::fabric::LocalChange;
use ferrosm_sim::spec::PortAt;
use ferrosm_sim::world::{ForeignSm, SmId, World};

/// The SM_Key that ours have.
const OUR_KEY: MKey = MKey::new(1);
/// A question at the end of a look is asked so often, this far apart.
const TRIES: u8 = 3;
const WAIT: Duration = Duration::from_millis(250);

/// The look at the other SMs that is under way.
struct Look {
    left: u8,
    due: Instant,
    seen: BTreeMap<PortGuid, SmInfo>,
}

/// See the module's text.
pub(crate) struct Foreign {
    pub(crate) at: PortAt,
    guid: PortGuid,
    key: MKey,
    priority: u8,
    poll_every: Duration,
    retries: u8,
    sweep_every: Duration,
    id: Option<SmId>,
    /// Whom a standby polls, and for whom a master waits.
    other: Option<PortGuid>,
    missed: u8,
    next_poll: Instant,
    next_sweep: Instant,
    look: Option<Look>,
    /// What others last said.
    known: BTreeMap<PortGuid, SmInfo>,
    /// Questions of a standby, so that its rank can be judged; it does not act on the answers.
    peeks: BTreeSet<Tid>,
    /// What it was when it last acted.
    was: SmState,
    tid: u64,
    /// How often it was given the subnet.
    pub(crate) given: u32,
    /// How often it became master.
    pub(crate) reigns: u32,
}

impl Foreign {
    /// One that does not run yet, at one of these places.
    pub(crate) fn new(world: &World<Sm>, places: &[PortAt], d: &mut Dice) -> Option<Self> {
        let at = *places.get(d.index(places.len()))?;
        let key = match d.below(6) {
            0 => MKey::NONE,
            1 => MKey::new(2),
            _ => OUR_KEY,
        };
        Some(Self {
            at,
            guid: world.fabric().port_guid(at),
            key,
            priority: u8::try_from(d.below(6)).unwrap(),
            poll_every: Duration::from_millis(500 + d.below(3_500)),
            retries: u8::try_from(1 + d.below(4)).unwrap(),
            sweep_every: Duration::from_secs(3 + d.below(8)),
            id: None,
            other: None,
            missed: 0,
            next_poll: Instant::START,
            next_sweep: Instant::START,
            look: None,
            known: BTreeMap::new(),
            peeks: BTreeSet::new(),
            was: SmState::NotActive,
            tid: 0,
            given: 0,
            reigns: 0,
        })
    }

    /// How long it may take to believe something of another one, and to act on it.
    pub(crate) fn belief(&self) -> Duration {
        self.poll_every * (u32::from(self.retries) + 2) + (self.sweep_every + WAIT * 4) * 3
    }

    /// Whether ours and it belong together.
    pub(crate) fn takes_part(&self) -> bool {
        self.key == OUR_KEY || self.key == MKey::NONE
    }

    pub(crate) const fn runs(&self) -> bool {
        self.id.is_some()
    }

    pub(crate) const fn guid(&self) -> PortGuid {
        self.guid
    }

    /// What it says that it is.
    pub(crate) fn state(&self, world: &World<Sm>) -> Option<SmState> {
        Some(world.foreign_sm(self.id?)?.info.sm_state)
    }

    /// Whether another SM, as it last told this one, goes before it; `None` if it never did.
    pub(crate) fn yields_to(&self, other: PortGuid) -> Option<bool> {
        self.known.get(&other).map(|info| self.is_higher(info))
    }

    /// The higher priority goes first, then the lower GUID.
    fn is_higher(&self, info: &SmInfo) -> bool {
        info.priority > self.priority || info.priority == self.priority && info.guid < self.guid
    }

    /// It begins, ends, or gets another priority; what it is.
    pub(crate) fn happen(&mut self, world: &mut World<Sm>, d: &mut Dice) -> String {
        match (self.id, d.below(4)) {
            (None, _) => {
                self.begin(world);
                format!(
                    "a foreign SM begins: {:?} {:?} priority {}, polls {:?}*{}, takes part: {}",
                    self.at,
                    self.guid,
                    self.priority,
                    self.poll_every,
                    self.retries,
                    self.takes_part()
                )
            }
            (Some(id), 0 | 1) => {
                world.kill(id);
                self.id = None;
                "the foreign SM is killed".to_owned()
            }
            (Some(id), _) => {
                self.priority = u8::try_from(d.below(6)).unwrap();
                world.foreign_sm_mut(id).unwrap().info.priority = self.priority;
                self.next_sweep = world.now();
                if self.was == SmState::Standby {
                    self.announce(world);
                }
                format!("the foreign SM has priority {}", self.priority)
            }
        }
    }

    pub(crate) fn begin(&mut self, world: &mut World<Sm>) {
        let mut sm = ForeignSm::new(self.guid, self.priority, SmState::Discovering);
        sm.info.sm_key = self.key;
        // A HANDOVER is not waited for, so nothing is acknowledged.
        sm.refuses.push(SmControl::Acknowledge);
        self.id = Some(world.add_foreign_sm(self.at, sm).unwrap());
        (self.other, self.missed, self.look) = (None, 0, None);
        (self.was, self.next_sweep) = (SmState::Discovering, world.now());
        self.known.clear();
    }

    /// Does what is due.
    pub(crate) fn tick(&mut self, world: &mut World<Sm>) {
        let Some(id) = self.id else { return };
        let now = world.now();
        let sm = world.foreign_sm_mut(id).unwrap();
        let log: VecDeque<_> = core::mem::take(&mut sm.log);
        let state = sm.info.sm_state;
        if state != self.was {
            // A Set of SMInfo did that.
            self.enter(world, state);
            self.next_sweep = now;
        }
        for (_, received) in log {
            self.hear(world, &received);
        }
        let state = self.state(world).unwrap();
        if state == SmState::NotActive {
            return;
        }
        let polls = self.other.is_some() && state != SmState::Discovering;
        if polls && now >= self.next_poll {
            self.poll(world);
        }
        if let Some(look) = &mut self.look {
            if now >= look.due {
                look.left -= 1;
                look.due = now + WAIT;
                if look.left == 0 {
                    self.decide(world);
                } else {
                    self.ask_all(world);
                }
            }
        } else if now >= self.next_sweep {
            self.next_sweep = now + self.sweep_every;
            let first = self.tid + 1;
            self.ask_all(world);
            if state == SmState::Standby {
                self.peeks = (first..=self.tid).map(Tid).collect();
            } else {
                self.look = Some(Look {
                    left: TRIES,
                    due: now + WAIT,
                    seen: BTreeMap::new(),
                });
            }
        }
    }

    fn enter(&mut self, world: &mut World<Sm>, state: SmState) {
        if let Some(sm) = self.id.and_then(|id| world.foreign_sm_mut(id)) {
            sm.info.sm_state = state;
        }
        self.reigns += u32::from(state == SmState::Master && self.was != state);
        (self.was, self.missed) = (state, 0);
        self.next_poll = world.now() + self.poll_every;
        if state != SmState::Standby {
            self.other = None;
        }
    }

    fn stand_by(&mut self, world: &mut World<Sm>, behind: PortGuid) {
        self.enter(world, SmState::Standby);
        (self.other, self.look) = (Some(behind), None);
    }

    fn hear(&mut self, world: &mut World<Sm>, received: &MadIn) {
        let mad = &received.mad;
        let is_sm_info = mad.attr_id() == id::SM_INFO;
        match mad.method() {
            Method::GetResp if is_sm_info => {
                let info = SmInfo::decode(smp::data(mad));
                if self.key != MKey::NONE && info.sm_key != self.key {
                    return;
                }
                self.known.insert(info.guid, info);
                if !self.peeks.contains(&mad.tid()) {
                    self.heard(world, info);
                }
            }
            Method::Set if is_sm_info && mad.attr_mod().0 == SmControl::Handover.0 => {
                self.given += 1;
                self.next_sweep = world.now();
            }
            Method::Trap => {
                let mut repress = *mad;
                repress.set_header(&MadHeader {
                    method: Method::TrapRepress,
                    ..mad.header()
                });
                self.send(world, received.from, repress);
                self.next_sweep = world.now();
            }
            _ => {}
        }
    }

    /// Another one said what it is.
    fn heard(&mut self, world: &mut World<Sm>, info: SmInfo) {
        if let Some(look) = &mut self.look {
            look.seen.insert(info.guid, info);
        }
        let (is_master, is_other) = (
            info.sm_state == SmState::Master,
            self.other == Some(info.guid),
        );
        match self.was {
            SmState::Standby if is_master => {
                (self.other, self.missed) = (Some(info.guid), 0);
                if !self.is_higher(&info) {
                    self.announce(world);
                }
            }
            SmState::Standby
                if is_other && info.sm_state == SmState::Standby && self.is_higher(&info) =>
            {
                self.missed = 0;
            }
            SmState::Master if is_other && is_master => self.missed = 0,
            SmState::Master if is_other => self.next_sweep = world.now(),
            _ => {}
        }
    }

    fn poll(&mut self, world: &mut World<Sm>) {
        self.next_poll = world.now() + self.poll_every;
        self.missed += 1;
        if self.missed > self.retries + 1 {
            let state = match self.was {
                SmState::Master => SmState::Master,
                _ => SmState::Discovering,
            };
            self.enter(world, state);
            self.next_sweep = world.now();
            return;
        }
        let all = self.reachable(world);
        let other = self.other;
        let there = all
            .into_iter()
            .find(|(at, _)| other == Some(world.fabric().port_guid(*at)));
        if let Some((_, path)) = there {
            self.ask(world, &path);
        }
    }

    fn ask_all(&mut self, world: &mut World<Sm>) {
        for (at, path) in self.reachable(world) {
            let info = world.fabric().port_info(at).unwrap();
            if at != self.at && info.capability_mask.has(CapMask::IS_SM) {
                self.ask(world, &path);
            }
        }
    }

    /// The others have answered, or not.
    fn decide(&mut self, world: &mut World<Sm>) {
        let Some(look) = self.look.take() else { return };
        let is_master = |p: &&SmInfo| p.sm_state == SmState::Master;
        let rank = |p: &&SmInfo| (p.priority, core::cmp::Reverse(p.guid));
        let higher = look.seen.values().filter(|p| self.is_higher(p));
        let higher = higher
            .filter(|p| p.sm_state != SmState::NotActive)
            .max_by_key(rank);
        let master = look.seen.values().find(is_master);
        match (self.was, master.or(higher), higher) {
            (SmState::Discovering, Some(ahead), _) => self.stand_by(world, ahead.guid),
            (SmState::Discovering, None, _) => {
                self.enter(world, SmState::Master);
                self.tell_ports(world);
            }
            (SmState::Master, _, Some(better)) => {
                let (to, state) = (better.guid, SmState::Master);
                self.set(world, to, SmControl::Handover, state);
                self.stand_by(world, to);
            }
            // It has to hand over; nothing is written until then.
            (SmState::Master, Some(lower), None) if self.other != Some(lower.guid) => {
                (self.other, self.missed) = (Some(lower.guid), 0);
            }
            (SmState::Master, None, None) => {
                self.other = None;
                self.tell_ports(world);
            }
            _ => {}
        }
    }

    /// As master: every port that has a LID names it, and its host registers again. One that ours ignore leaves theirs alone.
    fn tell_ports(&mut self, world: &mut World<Sm>) {
        let own = world.fabric().lid(self.at).0;
        if !self.takes_part() || !own.is_unicast() {
            return;
        }
        for (at, path) in self.reachable(world) {
            let info = world.fabric().port_info(at).unwrap();
            if info.master_sm_lid == own || !info.lid.is_unicast() {
                continue;
            }
            let told = PortInfo {
                master_sm_lid: own,
                client_reregister: info.capability_mask.has(CapMask::CLIENT_REREGISTER),
                port_state: PortState::NoChange,
                port_physical_state: ferrosm_mad::attr::PhysState::NoChange,
                ..info
            };
            let at = PortInfo::modifier(PortNum(at.port));
            let set = SmpRequest::set(id::PORT_INFO, at, MKey::NONE, told.encode());
            self.direct(world, &path, &set);
        }
    }

    fn set(&mut self, world: &mut World<Sm>, to: PortGuid, control: SmControl, state: SmState) {
        let info = SmInfo {
            sm_state: state,
            ..world.foreign_sm(self.id.unwrap()).unwrap().info
        };
        let all = self.reachable(world);
        let there = all
            .into_iter()
            .find(|(at, _)| world.fabric().port_guid(*at) == to);
        if let Some((_, path)) = there {
            let set = SmpRequest::set(id::SM_INFO, AttrMod(control.0), MKey::NONE, info.encode());
            self.direct(world, &path, &set);
        }
    }

    fn ask(&mut self, world: &mut World<Sm>, path: &DrPath) {
        let get = SmpRequest::get(id::SM_INFO, AttrMod(0), MKey::NONE);
        self.direct(world, path, &get);
    }

    fn direct(&mut self, world: &mut World<Sm>, path: &DrPath, request: &SmpRequest) {
        self.tid += 1;
        let mad = request.directed(path, Tid(self.tid));
        self.send(world, Address::DIRECTED, mad);
    }

    fn send(&self, world: &mut World<Sm>, to: Address, mad: ferrosm_mad::mad::Mad) {
        world.inject(self.at, &MadOut { to, mad });
    }

    /// Trap 144: the master is to look at the SMs again.
    fn announce(&self, world: &mut World<Sm>) {
        let change = LocalChange::SmPriority;
        world.fabric_mut().local_change(self.at, change).unwrap();
    }

    /// End ports in reach, and the way to each.
    fn reachable(&self, world: &World<Sm>) -> Vec<(PortAt, DrPath)> {
        let fabric = world.fabric();
        let mut seen = BTreeSet::from([self.at.node]);
        let mut todo = VecDeque::from([(self.at, DrPath::LOCAL)]);
        let mut all = Vec::new();
        while let Some((at, path)) = todo.pop_front() {
            let is_switch = fabric.is_switch(at.node);
            all.push((
                if is_switch {
                    PortAt::new(at.node, 0)
                } else {
                    at
                },
                path,
            ));
            let own = at == self.at;
            let ports = fabric.external_ports(at.node);
            for port in ports.filter(|p| is_switch || (own && *p == at)) {
                if let Some(peer) = fabric.peer(port)
                    && let Some(path) = path.extend(PortNum(port.port))
                    && seen.insert(peer.node)
                {
                    todo.push_back((peer, path));
                }
            }
        }
        all
    }
}
