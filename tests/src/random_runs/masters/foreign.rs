//! A scripted SM of another vendor that follows OpenSM's election rules (docs/sm-behaviour.md, rule
//! 8). It scans for other SMs, becomes standby behind a master or a higher-ranked SM and polls it,
//! rediscovers when the master is silent, hands over to a higher-ranked SM without waiting for an
//! acknowledgement, and waits for a lower-ranked master to hand over. As master it writes
//! MasterSMLID to all ports and configures nothing else.
//!
//! It shares no code with the election under test. It reads the topology from the simulator, but
//! communicates with other SMs by MADs. The simulator's [`ForeignSm`] replies to SMInfo requests.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use crate::lab::{Sm, TestRng};
use ferrosm_mad::attr::{CapMask, PortInfo, PortState, SmControl, SmInfo, SmState, id};
use ferrosm_mad::ids::{AttrMod, MKey, PortGuid, PortNum, Tid};
use ferrosm_mad::mad::{Address, MadHeader, MadIn, MadOut, Method};
use ferrosm_mad::smp::{self, DrPath, SmpRequest};
use ferrosm_mad::time::Instant;
use ferrosm_sim::fabric::LocalChange;
use ferrosm_sim::spec::PortAt;
use ferrosm_sim::world::{ForeignSm, SmId, World};

/// The SM_Key of our SMs.
const SM_KEY: MKey = MKey::new(1);
/// Number of SMInfo queries to each SM in a scan, and the time between them.
const SCAN_TRIES: u8 = 3;
const SCAN_TIMEOUT: Duration = Duration::from_millis(250);

/// An SMInfo scan in progress.
struct SmScan {
    tries_left: u8,
    due: Instant,
    seen: BTreeMap<PortGuid, SmInfo>,
}

/// A scripted SM of another vendor.
pub(crate) struct ScriptedSm {
    pub(crate) at: PortAt,
    pub(crate) guid: PortGuid,
    key: MKey,
    priority: u8,
    poll_interval: Duration,
    retries: u8,
    sweep_interval: Duration,
    id: Option<SmId>,
    /// The SM that it polls as standby, or waits for as master.
    peer: Option<PortGuid>,
    missed_polls: u8,
    next_poll: Instant,
    next_sweep: Instant,
    scan: Option<SmScan>,
    /// The last SMInfo of each SM.
    last_sm_info: BTreeMap<PortGuid, SmInfo>,
    /// Queries sent as standby to learn the ranks of SMs; their replies have no other effect.
    standby_queries: BTreeSet<Tid>,
    /// Its state at the last tick.
    last_state: SmState,
    tid: u64,
    /// Number of HANDOVERs received.
    pub(crate) handovers: u32,
    /// Number of its terms as master.
    pub(crate) terms: u32,
}

impl ScriptedSm {
    /// A stopped SM at one of these ports.
    pub(crate) fn new(world: &World<Sm>, ports: &[PortAt], rng: &mut TestRng) -> Option<Self> {
        let at = *ports.get(rng.index(ports.len()))?;
        let key = match rng.below(6) {
            0 => MKey::NONE,
            1 => MKey::new(2),
            _ => SM_KEY,
        };
        Some(Self {
            at,
            guid: world.fabric().port_guid(at),
            key,
            priority: u8::try_from(rng.below(6)).unwrap(),
            poll_interval: Duration::from_millis(500 + rng.below(3_500)),
            retries: u8::try_from(1 + rng.below(4)).unwrap(),
            sweep_interval: Duration::from_secs(3 + rng.below(8)),
            id: None,
            peer: None,
            missed_polls: 0,
            next_poll: Instant::START,
            next_sweep: Instant::START,
            scan: None,
            last_sm_info: BTreeMap::new(),
            standby_queries: BTreeSet::new(),
            last_state: SmState::NotActive,
            tid: 0,
            handovers: 0,
            terms: 0,
        })
    }

    /// Upper limit of the time to detect a change of another SM's state and to act on it.
    pub(crate) fn reaction_time(&self) -> Duration {
        self.poll_interval * (u32::from(self.retries) + 2)
            + (self.sweep_interval + SCAN_TIMEOUT * 4) * 3
    }

    /// Returns true if our SMs accept its SM_Key.
    pub(crate) fn takes_part(&self) -> bool {
        self.key == SM_KEY
    }

    pub(crate) const fn is_running(&self) -> bool {
        self.id.is_some()
    }

    /// Its state in SMInfo.
    pub(crate) fn state(&self, world: &World<Sm>) -> Option<SmState> {
        Some(world.foreign_sm(self.id?)?.info.sm_state)
    }

    /// Returns true if another SM outranks it by its last SMInfo; `None` without any.
    pub(crate) fn yields_to(&self, peer: PortGuid) -> Option<bool> {
        self.last_sm_info
            .get(&peer)
            .map(|info| self.is_higher(info))
    }

    /// The higher priority wins, then the lower GUID.
    fn is_higher(&self, info: &SmInfo) -> bool {
        info.priority > self.priority || info.priority == self.priority && info.guid < self.guid
    }

    /// Starts, kills or reprioritises the SM, and describes it.
    pub(crate) fn apply_event(&mut self, world: &mut World<Sm>, rng: &mut TestRng) -> String {
        match (self.id, rng.below(4)) {
            (None, _) => {
                self.start(world);
                format!(
                    "the foreign SM starts at {:?} with priority {}, takes part: {}",
                    self.at,
                    self.priority,
                    self.takes_part()
                )
            }
            (Some(id), 0 | 1) => {
                world.kill(id);
                self.id = None;
                "the foreign SM is killed".to_owned()
            }
            (Some(id), _) => {
                self.priority = u8::try_from(rng.below(6)).unwrap();
                world.foreign_sm_mut(id).unwrap().info.priority = self.priority;
                self.next_sweep = world.now();
                if self.last_state == SmState::Standby {
                    self.announce(world);
                }
                format!("the foreign SM has priority {}", self.priority)
            }
        }
    }

    pub(crate) fn start(&mut self, world: &mut World<Sm>) {
        let mut sm = ForeignSm::new(self.guid, self.priority, SmState::Discovering);
        sm.info.sm_key = self.key;
        // It does not wait for an ACKNOWLEDGE.
        sm.rejected_controls.push(SmControl::Acknowledge);
        self.id = Some(world.add_foreign_sm(self.at, sm).unwrap());
        (self.peer, self.missed_polls, self.scan) = (None, 0, None);
        (self.last_state, self.next_sweep) = (SmState::Discovering, world.now());
        self.last_sm_info.clear();
    }

    /// Processes MADs and timers.
    pub(crate) fn tick(&mut self, world: &mut World<Sm>) {
        let Some(id) = self.id else { return };
        let now = world.now();
        let sm = world.foreign_sm_mut(id).unwrap();
        let log: VecDeque<_> = core::mem::take(&mut sm.log);
        let state = sm.info.sm_state;
        if state != self.last_state {
            // A Set(SMInfo) changed the state.
            self.enter(world, state);
            self.next_sweep = now;
        }
        for (_, received) in log {
            self.handle_mad(world, &received);
        }
        let state = self.state(world).unwrap();
        if state == SmState::NotActive {
            return;
        }
        let polls = self.peer.is_some() && state != SmState::Discovering;
        if polls && now >= self.next_poll {
            self.poll(world);
        }
        if let Some(scan) = &mut self.scan {
            if now >= scan.due {
                scan.tries_left -= 1;
                scan.due = now + SCAN_TIMEOUT;
                if scan.tries_left == 0 {
                    self.finish_scan(world);
                } else {
                    self.query_all(world);
                }
            }
        } else if now >= self.next_sweep {
            self.next_sweep = now + self.sweep_interval;
            let first = self.tid + 1;
            self.query_all(world);
            if state == SmState::Standby {
                self.standby_queries = (first..=self.tid).map(Tid).collect();
            } else {
                self.scan = Some(SmScan {
                    tries_left: SCAN_TRIES,
                    due: now + SCAN_TIMEOUT,
                    seen: BTreeMap::new(),
                });
            }
        }
    }

    fn enter(&mut self, world: &mut World<Sm>, state: SmState) {
        if let Some(sm) = self.id.and_then(|id| world.foreign_sm_mut(id)) {
            sm.info.sm_state = state;
        }
        self.terms += u32::from(state == SmState::Master && self.last_state != state);
        (self.last_state, self.missed_polls) = (state, 0);
        self.next_poll = world.now() + self.poll_interval;
        if state != SmState::Standby {
            self.peer = None;
        }
    }

    fn stand_by(&mut self, world: &mut World<Sm>, behind: PortGuid) {
        self.enter(world, SmState::Standby);
        (self.peer, self.scan) = (Some(behind), None);
    }

    fn handle_mad(&mut self, world: &mut World<Sm>, received: &MadIn) {
        let mad = &received.mad;
        let is_sm_info = mad.attr_id() == id::SM_INFO;
        match mad.method() {
            Method::GetResp if is_sm_info => {
                let info = SmInfo::decode(smp::data(mad));
                if self.key != MKey::NONE && info.sm_key != self.key {
                    return;
                }
                self.last_sm_info.insert(info.guid, info);
                if !self.standby_queries.contains(&mad.tid()) {
                    self.handle_sm_info(world, info);
                }
            }
            Method::Set if is_sm_info && mad.attr_mod().0 == SmControl::Handover.0 => {
                self.handovers += 1;
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

    /// Processes another SM's SMInfo.
    fn handle_sm_info(&mut self, world: &mut World<Sm>, info: SmInfo) {
        if let Some(scan) = &mut self.scan {
            scan.seen.insert(info.guid, info);
        }
        let is_master = info.sm_state == SmState::Master;
        let is_peer = self.peer == Some(info.guid);
        match self.last_state {
            SmState::Standby if is_master => {
                (self.peer, self.missed_polls) = (Some(info.guid), 0);
                if !self.is_higher(&info) {
                    self.announce(world);
                }
            }
            SmState::Standby
                if is_peer && info.sm_state == SmState::Standby && self.is_higher(&info) =>
            {
                self.missed_polls = 0;
            }
            SmState::Master if is_peer && is_master => self.missed_polls = 0,
            SmState::Master if is_peer => self.next_sweep = world.now(),
            _ => {}
        }
    }

    fn poll(&mut self, world: &mut World<Sm>) {
        self.next_poll = world.now() + self.poll_interval;
        self.missed_polls += 1;
        if self.missed_polls > self.retries + 1 {
            let state = match self.last_state {
                SmState::Master => SmState::Master,
                _ => SmState::Discovering,
            };
            self.enter(world, state);
            self.next_sweep = world.now();
            return;
        }
        if let Some(path) = self.peer.and_then(|peer| self.path_to(world, peer)) {
            self.query_sm_info(world, &path);
        }
    }

    fn query_all(&mut self, world: &mut World<Sm>) {
        for (at, path) in self.reachable(world) {
            let info = world.fabric().port_info(at).unwrap();
            if at != self.at && info.capability_mask.has(CapMask::IS_SM) {
                self.query_sm_info(world, &path);
            }
        }
    }

    /// Evaluates the replies of an SMInfo scan.
    fn finish_scan(&mut self, world: &mut World<Sm>) {
        let Some(scan) = self.scan.take() else { return };
        let is_master = |p: &&SmInfo| p.sm_state == SmState::Master;
        let rank = |p: &&SmInfo| (p.priority, core::cmp::Reverse(p.guid));
        let higher = scan.seen.values().filter(|p| self.is_higher(p));
        let higher = higher
            .filter(|p| p.sm_state != SmState::NotActive)
            .max_by_key(rank);
        let master = scan.seen.values().find(is_master);
        match (self.last_state, master.or(higher), higher) {
            (SmState::Discovering, Some(ahead), _) => self.stand_by(world, ahead.guid),
            (SmState::Discovering, None, _) => {
                self.enter(world, SmState::Master);
                self.claim_ports(world);
            }
            (SmState::Master, _, Some(better)) => {
                let to = better.guid;
                self.hand_over(world, to);
                self.stand_by(world, to);
            }
            // The lower-ranked master has to hand over; no port is written until then.
            (SmState::Master, Some(lower), None) if self.peer != Some(lower.guid) => {
                (self.peer, self.missed_polls) = (Some(lower.guid), 0);
            }
            (SmState::Master, None, None) => {
                self.peer = None;
                self.claim_ports(world);
            }
            _ => {}
        }
    }

    /// As master, writes its LID as MasterSMLID, with ClientReregister, to all ports that have a
    /// LID. Writes nothing if our SMs ignore its SM_Key.
    fn claim_ports(&mut self, world: &mut World<Sm>) {
        let own_lid = world.fabric().lid(self.at).0;
        if !self.takes_part() || !own_lid.is_unicast() {
            return;
        }
        for (at, path) in self.reachable(world) {
            let info = world.fabric().port_info(at).unwrap();
            if info.master_sm_lid == own_lid || !info.lid.is_unicast() {
                continue;
            }
            let set_info = PortInfo {
                master_sm_lid: own_lid,
                client_reregister: info.capability_mask.has(CapMask::CLIENT_REREGISTER),
                port_state: PortState::NoChange,
                port_physical_state: ferrosm_mad::attr::PhysState::NoChange,
                ..info
            };
            let at = PortInfo::modifier(PortNum(at.port));
            let set = SmpRequest::set(id::PORT_INFO, at, MKey::NONE, set_info.encode());
            self.send_directed(world, &path, &set);
        }
    }

    /// Sends a HANDOVER.
    fn hand_over(&mut self, world: &mut World<Sm>, to: PortGuid) {
        let info = SmInfo {
            sm_state: SmState::Master,
            ..world.foreign_sm(self.id.unwrap()).unwrap().info
        };
        if let Some(path) = self.path_to(world, to) {
            let set = SmpRequest::set(
                id::SM_INFO,
                AttrMod(SmControl::Handover.0),
                MKey::NONE,
                info.encode(),
            );
            self.send_directed(world, &path, &set);
        }
    }

    fn query_sm_info(&mut self, world: &mut World<Sm>, path: &DrPath) {
        let get = SmpRequest::get(id::SM_INFO, AttrMod(0), MKey::NONE);
        self.send_directed(world, path, &get);
    }

    fn send_directed(&mut self, world: &mut World<Sm>, path: &DrPath, request: &SmpRequest) {
        self.tid += 1;
        let mad = request.directed(path, Tid(self.tid));
        self.send(world, Address::DIRECTED, mad);
    }

    fn send(&self, world: &mut World<Sm>, to: Address, mad: ferrosm_mad::mad::Mad) {
        world.inject(self.at, &MadOut { to, mad });
    }

    /// Sends trap 144, so that the master scans the SMs again.
    fn announce(&self, world: &mut World<Sm>) {
        let change = LocalChange::SmPriority;
        world.fabric_mut().local_change(self.at, change).unwrap();
    }

    /// The DR path to an end port, if it is reachable.
    fn path_to(&self, world: &World<Sm>, guid: PortGuid) -> Option<DrPath> {
        let mut reachable = self.reachable(world).into_iter();
        let found = reachable.find(|(at, _)| world.fabric().port_guid(*at) == guid);
        found.map(|(_, path)| path)
    }

    /// Reachable end ports, and the DR path to each.
    fn reachable(&self, world: &World<Sm>) -> Vec<(PortAt, DrPath)> {
        let fabric = world.fabric();
        let mut seen = BTreeSet::from([self.at.node]);
        let mut todo = VecDeque::from([(self.at, DrPath::LOCAL)]);
        let mut entries = Vec::new();
        while let Some((at, path)) = todo.pop_front() {
            let is_switch = fabric.is_switch(at.node);
            let end_port = if is_switch { 0 } else { at.port };
            entries.push((PortAt::new(at.node, end_port), path));
            let ports = fabric.external_ports(at.node);
            for port in ports.filter(|port| is_switch || *port == self.at) {
                if let Some(peer) = fabric.peer(port)
                    && let Some(path) = path.extend(PortNum(port.port))
                    && seen.insert(peer.node)
                {
                    todo.push_back((peer, path));
                }
            }
        }
        entries
    }
}
