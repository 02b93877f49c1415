//! Hosts that join groups, offer services and subscribe: each knows what it wants, asks the manager that its port names, asks again
//! until that one has acknowledged, and begins anew when it is told to register again or when its link comes up.

use std::collections::{BTreeMap, BTreeSet};

use crate::multicast_members::{MEMBER, NEW_GROUP, creator, groups_sl, plain, try_ask};
use crate::simulated::{Dice, Sm};
use ferrosm_mad::ids::{AttrId, Gid, GidPrefix, PortGuid, Qpn};
use ferrosm_mad::mad::{Method, Status};
use ferrosm_mad::sa::id;
use ferrosm_mad::sa::inform::InformInfo;
use ferrosm_mad::sa::multicast::{JoinState, McMemberRecord};
use ferrosm_mad::sa::path::PathRecord;
use ferrosm_mad::sa::service::ServiceRecord;
use ferrosm_sa::registry::registration::Registrations;
use ferrosm_sim::spec::{NodeIdx, PortAt};
use ferrosm_sim::world::{SmId, World};

use crate::masters::deferred::{Deferred, Want};

/// DGID and SGID.
const PATH: u64 = 0b11 << 2;
/// MGID and PortGID.
const GROUP: u64 = 0b11;
/// ServiceID, ServiceGID, lease and name.
const SERVICE: u64 = 0b101_0011;

/// What a manager has of all hosts.
pub(crate) struct Registered(BTreeSet<(PortGuid, Want)>);

impl Registered {
    pub(crate) fn at(world: &World<Sm>, master: SmId) -> Self {
        let sm = world.sm(master).unwrap();
        Self::from_saved(&sm.core().registry().to_registrations(world.now()))
    }

    pub(super) fn from_saved(saved: &Registrations) -> Self {
        let guid_of = |gid: Gid| PortGuid(u64::from_be_bytes(gid.0[8..].try_into().unwrap()));
        let mut known: BTreeSet<(PortGuid, Want)> = BTreeSet::new();
        for member in &saved.members {
            let guid = guid_of(member.port_gid);
            for n in (0..4).filter(|n| plain(*n) == member.mgid) {
                known.insert((guid, Want::Group(n)));
            }
        }
        let services = saved.services.iter();
        known.extend(services.map(|s| {
            let guid = guid_of(s.record.service_gid);
            (guid, Want::Service(s.record.service_id))
        }));
        let subscribers = saved.subscriptions.iter();
        known.extend(subscribers.map(|s| (guid_of(s.record.subscriber_gid), Want::Reports)));
        Self(known)
    }

    pub(super) fn has(&self, guid: PortGuid, want: Want) -> bool {
        self.0.contains(&(guid, want))
    }

    fn of(&self, guid: PortGuid) -> impl Iterator<Item = Want> + '_ {
        let all = self.0.iter().filter(move |(of, _)| *of == guid);
        all.map(|(_, want)| *want)
    }
}

#[derive(Debug, Default)]
pub(super) struct Client {
    pub(super) wanted: BTreeSet<Want>,
    /// Acknowledged since it was last told to register.
    pub(super) acked: BTreeSet<Want>,
    /// Not wanted any more, and not acknowledged yet.
    pub(super) leaving: BTreeSet<Want>,
    /// What it was told of the groups that it joined.
    pub(super) groups: BTreeMap<u8, McMemberRecord>,
    /// When it was last told to register, a group of it was another one than it had been told.
    misinformed: bool,
    told: u32,
    up: bool,
    /// It lost power, and has not been seen to have everything since: to be told to register is no trouble.
    woken: bool,
}

/// All hosts.
#[derive(Debug)]
pub(crate) struct Clients {
    pub(super) all: BTreeMap<PortAt, Client>,
    pub(super) tid: u64,
    /// Replies may come later than requests, or not wait for durable state.
    pub(crate) deferred: Option<Deferred>,
    /// What was asked only to see what is said.
    looks: u64,
    /// The record of the last answer.
    said: Vec<u8>,
    /// How often a host was told to register again that had not lost power.
    pub(crate) told: u32,
    /// How often a host was told that it is registered.
    pub(crate) acks: u32,
    /// How often a host began to want something else.
    pub(crate) changes: u64,
}

/// A request of a host.
pub(super) struct Message {
    pub(super) what: (Method, AttrId),
    pub(super) mask: u64,
    pub(super) data: Vec<u8>,
}

/// A manager that hosts may ask, and where it is.
pub(crate) type Place = (PortAt, SmId);

impl Clients {
    pub(crate) fn new(world: &World<Sm>) -> Self {
        let fabric = world.fabric();
        let hosts = fabric.end_ports().filter(|at| !fabric.is_switch(at.node));
        let all = hosts.filter(|at| fabric.link_up(*at));
        Self {
            all: all.map(|at| (at, Client::default())).collect(),
            tid: 0,
            deferred: None,
            looks: 0,
            said: Vec::new(),
            told: 0,
            acks: 0,
            changes: 0,
        }
    }

    pub(crate) fn hosts(&self) -> Vec<PortAt> {
        self.all.keys().copied().collect()
    }

    /// What hosts have asked in all to change something.
    pub(crate) const fn requests(&self) -> u64 {
        self.tid - self.looks
    }

    /// A host wants something else from now on; what it is.
    pub(crate) fn change(&mut self, d: &mut Dice) -> String {
        self.changes += 1;
        let hosts = self.hosts();
        let at = hosts[d.index(hosts.len())];
        let want = match d.below(5) {
            0 => Want::Service(d.below(4)),
            1 => Want::Reports,
            _ => Want::Group(u8::try_from(d.below(4)).unwrap()),
        };
        let client = self.all.get_mut(&at).unwrap();
        if client.wanted.remove(&want) {
            client.leaving.insert(want);
            client.acked.remove(&want);
            if let Want::Group(n) = want {
                client.groups.remove(&n);
            }
            format!("{at:?} wants no {want:?}")
        } else {
            client.leaving.remove(&want);
            client.wanted.insert(want);
            format!("{at:?} wants {want:?}")
        }
    }

    /// Hosts hear what they are told.
    pub(crate) fn listen(&mut self, world: &mut World<Sm>, managers: &[Place]) {
        self.listen_for_replies(world, managers);
        let fabric = world.fabric();
        for (at, client) in &mut self.all {
            let (told, up) = (fabric.client_reregisters(*at), fabric.link_up(*at));
            if told != client.told {
                let master = Self::named(world, managers, *at);
                client.misinformed = master.is_some_and(|id| client.lacks_news(world, id));
            }
            if told != client.told || (up && !client.up) {
                client.acked.clear();
                client.groups.clear();
                if let Some(deferred) = &mut self.deferred {
                    deferred.forget_requests(*at);
                }
            }
            if !client.woken {
                self.told += told - client.told;
            }
            (client.told, client.up) = (told, up);
        }
    }

    /// A host has no power any more, or had none for a moment: it knows nothing of what it was told.
    pub(crate) fn lose_power(&mut self, node: NodeIdx) {
        let of_node = self.all.iter_mut().filter(|(at, _)| at.node == node);
        for (at, client) in of_node {
            if let Some(deferred) = &mut self.deferred {
                deferred.forget_requests(*at);
            }
            client.acked.clear();
            client.groups.clear();
            (client.told, client.up, client.woken) = (0, false, true);
        }
    }

    /// Everything is as it should be: hosts that run are like all others again.
    pub(crate) fn settle(&mut self) {
        for client in self.all.values_mut() {
            client.woken &= !client.up;
        }
    }

    /// Whoever lacks an answer asks for it.
    pub(crate) fn ask(&mut self, world: &mut World<Sm>, managers: &[Place]) {
        let hosts = self.hosts();
        for at in hosts {
            let client = &self.all[&at];
            let missing: Vec<Want> = client.wanted.difference(&client.acked).copied().collect();
            let leaving: Vec<Want> = client.leaving.iter().copied().collect();
            if (missing.is_empty() && leaving.is_empty()) || !client.up {
                continue;
            }
            let Some(id) = Self::named(world, managers, at) else {
                continue;
            };
            if self.deferred.is_some() {
                for want in missing {
                    self.request(world, id, (at, want, true), false);
                }
                for want in leaving {
                    self.request(world, id, (at, want, false), false);
                }
                continue;
            }
            for want in missing {
                let told = self.register(world, id, at, want, true);
                if told.is_some_and(Status::is_ok) {
                    self.acks += 1;
                    let client = self.all.get_mut(&at).unwrap();
                    client.acked.insert(want);
                    if let Want::Group(n) = want {
                        let group = McMemberRecord::decode_slice(&self.said).unwrap();
                        client.groups.insert(n, group);
                    }
                }
            }
            for want in leaving {
                // Who is not registered has left.
                let told = self.register(world, id, at, want, false);
                if told.is_some() {
                    self.all.get_mut(&at).unwrap().leaving.remove(&want);
                }
            }
        }
    }

    /// The manager that a host's port names as its master.
    fn named(world: &World<Sm>, managers: &[Place], at: PortAt) -> Option<SmId> {
        let fabric = world.fabric();
        let master = fabric.port_info(at)?.master_sm_lid;
        let there = |place: &&Place| master.is_unicast() && fabric.lid(place.0).0 == master;
        managers.iter().find(there).map(|(_, id)| *id)
    }

    /// Whether a host was told to register because of what had become of its groups.
    pub(crate) fn is_misinformed(&self, at: PortAt) -> bool {
        self.all[&at].misinformed
    }

    /// Whether a host lost power and was not seen to have everything since.
    pub(crate) fn is_woken(&self, at: PortAt) -> bool {
        self.all[&at].woken
    }

    /// Whether a host waits for nothing.
    pub(crate) fn has_all(&self, at: PortAt) -> bool {
        let client = &self.all[&at];
        client.leaving.is_empty() && client.wanted.is_subset(&client.acked)
    }

    /// Whether a manager has what this host was told that it has, at any moment; with `exact` nothing that it does not want.
    pub(crate) fn check(
        &self,
        world: &World<Sm>,
        at: PortAt,
        known: &Registered,
        exact: bool,
    ) -> Result<(), String> {
        let client = &self.all[&at];
        let known: BTreeSet<Want> = known.of(world.fabric().port_guid(at)).collect();
        if let Some(want) = client.acked.difference(&known).next() {
            return Err(format!("LOST: {want:?} of {at:?} was acknowledged"));
        }
        let unwanted =
            |want: &&Want| !client.wanted.contains(want) && !client.leaving.contains(want);
        match known.iter().find(unwanted).filter(|_| exact) {
            Some(want) => Err(format!("{at:?} has taken back {want:?}, and it is there")),
            None => Ok(()),
        }
    }

    fn register(
        &mut self,
        world: &mut World<Sm>,
        id: SmId,
        at: PortAt,
        want: Want,
        yes: bool,
    ) -> Option<Status> {
        let Message { what, mask, data } = Self::message(world, id, at, want, yes)?;
        let told = self.send(world, id, at, what, mask, &data)?;
        if told.is_ok() || !yes || !matches!(want, Want::Group(_)) {
            return Some(told);
        }
        self.send(world, id, at, what, mask | NEW_GROUP, &data)
    }

    /// The request of a host that registers, or of one that does not want that any more.
    pub(super) fn message(
        world: &World<Sm>,
        id: SmId,
        at: PortAt,
        want: Want,
        yes: bool,
    ) -> Option<Message> {
        let guid = world.fabric().port_guid(at);
        let gid = Gid::new(GidPrefix::DEFAULT, guid);
        let method = if yes { Method::Set } else { Method::Delete };
        Some(match want {
            Want::Group(n) => {
                let sl = groups_sl(world.sm(id)?.core());
                Message {
                    what: (method, id::MC_MEMBER),
                    mask: MEMBER,
                    data: creator(plain(n), gid, JoinState::FULL, sl)
                        .encode()
                        .to_vec(),
                }
            }
            Want::Service(n) => Message {
                what: (method, id::SERVICE),
                mask: SERVICE,
                data: service(n, gid).encode().to_vec(),
            },
            Want::Reports => {
                let info = InformInfo {
                    lid_range_begin: InformInfo::ALL_LIDS,
                    is_generic: 1,
                    subscribe: u8::from(yes),
                    notice_type: 0xFFFF,
                    trap_number: 65,
                    qpn: Qpn(1),
                    producer_type: 0xFF_FFFF,
                    ..InformInfo::default()
                };
                Message {
                    what: (Method::Set, id::INFORM_INFO),
                    mask: 0,
                    data: info.encode().to_vec(),
                }
            }
        })
    }

    /// What a manager's administrator says at once; `None` if it says nothing.
    fn send(
        &mut self,
        world: &mut World<Sm>,
        id: SmId,
        at: PortAt,
        what: (Method, AttrId),
        mask: u64,
        data: &[u8],
    ) -> Option<Status> {
        self.tid += 1;
        let (status, said) = try_ask(world, id, at, what, self.tid, mask, data)?;
        self.said = said;
        Some(status)
    }

    /// What the manager that a host names says of a way; nothing if there is no such manager, or it is not to be asked now.
    pub(crate) fn path(
        &mut self,
        world: &mut World<Sm>,
        managers: &[Place],
        from: PortAt,
        to: PortAt,
    ) -> Option<(Status, Vec<u8>)> {
        let id = Self::named(world, managers, from)?;
        let gid = |at: PortAt| Gid::new(GidPrefix::DEFAULT, world.fabric().port_guid(at));
        let record = PathRecord {
            sgid: gid(from),
            dgid: gid(to),
            ..PathRecord::default()
        };
        self.look(world, id, from, (id::PATH, PATH), &record.encode())
    }

    /// The same of each group that a host was told that it is in, beside what it was told then.
    pub(crate) fn groups(
        &mut self,
        world: &mut World<Sm>,
        managers: &[Place],
        at: PortAt,
    ) -> Vec<(McMemberRecord, Status, McMemberRecord)> {
        let Some(id) = Self::named(world, managers, at) else {
            return Vec::new();
        };
        let all: Vec<McMemberRecord> = self.all[&at].groups.values().copied().collect();
        let said = all.into_iter().map(|told| {
            let data = told.encode();
            let (status, said) = self.look(world, id, at, (id::MC_MEMBER, GROUP), &data)?;
            let said = McMemberRecord::decode_slice(&said).unwrap_or_default();
            Some((told, status, said))
        });
        said.flatten().collect()
    }

    fn look(
        &mut self,
        world: &mut World<Sm>,
        id: SmId,
        at: PortAt,
        (attr, mask): (AttrId, u64),
        data: &[u8],
    ) -> Option<(Status, Vec<u8>)> {
        self.looks += 1;
        self.take_replies(world, id);
        let told = self.send(world, id, at, (Method::Get, attr), mask, data);
        let said = core::mem::take(&mut self.said);
        told.map(|status| (status, said))
    }

    /// Whether a manager knows what these hosts were told that it knows, and nobody waits any more. With `exact` it knows of nothing
    /// that nobody of them wants.
    pub(crate) fn compare(
        &self,
        world: &World<Sm>,
        hosts: &BTreeSet<PortAt>,
        master: SmId,
        exact: bool,
    ) -> Result<(), String> {
        let fabric = world.fabric();
        let mut known = Registered::at(world, master).0;
        for (at, client) in self.all.iter().filter(|(at, _)| hosts.contains(at)) {
            let guid = fabric.port_guid(*at);
            if let Some(want) = client.wanted.difference(&client.acked).next() {
                return Err(format!("{at:?} waits for {want:?}"));
            }
            if let Some(want) = client.leaving.first() {
                return Err(format!("{at:?} cannot leave {want:?}"));
            }
            for want in &client.acked {
                if !known.remove(&(guid, *want)) {
                    return Err(format!("LOST: {want:?} of {at:?} was acknowledged"));
                }
            }
            if client.was_told_wrong(world, master) {
                return Err(format!(
                    "{at:?} was told of other groups: {:?}",
                    client.groups
                ));
            }
        }
        // What is kept of others, who have no power, is theirs when they come back.
        let guids: BTreeSet<PortGuid> = hosts.iter().map(|at| fabric.port_guid(*at)).collect();
        known.retain(|(guid, _)| guids.contains(guid));
        if let (true, Some((guid, want))) = (exact, known.first()) {
            return Err(format!("{want:?} of {guid} is there, and nobody wants it"));
        }
        Ok(())
    }
}

impl Client {
    /// Whether packets of a group look otherwise than this host was told: then it has to join again (rule 3.19).
    fn lacks_news(&self, world: &World<Sm>, master: SmId) -> bool {
        self.are_others(world, master, |g| (g.sl, g.mtu, g.rate))
    }

    /// Whether a group is another one than this host was told in anything.
    fn was_told_wrong(&self, world: &World<Sm>, master: SmId) -> bool {
        let packets = |g: &McMemberRecord| (g.sl, g.mtu, g.rate);
        self.are_others(world, master, |g| (g.mlid, g.qkey, g.pkey, packets(g)))
    }

    fn are_others<T: PartialEq>(
        &self,
        world: &World<Sm>,
        master: SmId,
        of: impl Fn(&McMemberRecord) -> T,
    ) -> bool {
        let Some(sm) = world.sm(master) else {
            return false;
        };
        let groups = sm.core().registry().groups();
        self.groups.iter().any(|(n, told)| {
            let now = groups.get(plain(*n));
            now.is_some_and(|group| {
                let is = &group.parameters;
                let now = McMemberRecord {
                    mlid: group.mlid,
                    qkey: is.qkey,
                    pkey: is.pkey,
                    sl: is.sl,
                    mtu: is.mtu,
                    rate: is.rate,
                    ..*told
                };
                of(&now) != of(told)
            })
        })
    }
}

fn service(n: u64, gid: Gid) -> ServiceRecord {
    let mut service_name = [0; 64];
    service_name[..4].copy_from_slice(b"disk");
    ServiceRecord {
        service_id: n,
        service_gid: gid,
        service_lease_s: ServiceRecord::FOREVER,
        service_name,
        ..ServiceRecord::default()
    }
}
