//! Hosts that join groups, offer services and subscribe: each knows what it wants, asks the manager that its port names, asks again
//! until that one has acknowledged, and begins anew when it is told to register again or when its link comes up.

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_core::Input;
use ferrosm_mad::attr::MtuCode;
use ferrosm_mad::ids::{Gid, GidPrefix, PKey, PortGuid, Qpn, Sl, Tid};
use ferrosm_mad::mad::{MadHeader, Method, Status};
use ferrosm_mad::sa::inform::InformInfo;
use ferrosm_mad::sa::multicast::{JoinState, McMemberRecord};
use ferrosm_mad::sa::path::{PathRecord, RateCode, Selector};
use ferrosm_mad::sa::service::ServiceRecord;
use ferrosm_mad::sa::{self, id};
use ferrosm_mad::transport::gmp::Peer;
use ferrosm_sim::spec::PortAt;
use ferrosm_sim::world::{ManagerId, World};
use ferrosm_tests::members::plain;
use ferrosm_tests::sa_wire::Ask;
use ferrosm_tests::simulated::{Dice, Sm};

/// MGID, PortGID and JoinState.
const MEMBER: u64 = 1 | 1 << 1 | 1 << 16;
/// What a group is created with.
const NEW_GROUP: u64 = 1 << 2 | 0b11 << 4 | 1 << 6 | 1 << 7 | 0b11 << 8 | 1 << 12 | 1 << 13;
/// DGID and SGID.
const PATH: u64 = 0b11 << 2;
/// ServiceID, ServiceGID, lease and name.
const SERVICE: u64 = 0b101_0011;

/// Something that a host wants to be registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Want {
    Group(u8),
    Service(u64),
    Reports,
}

#[derive(Debug, Default)]
struct Client {
    wanted: BTreeSet<Want>,
    /// Acknowledged since it was last told to register.
    acked: BTreeSet<Want>,
    /// Not wanted any more, and not acknowledged yet.
    leaving: BTreeSet<Want>,
    told: u32,
    up: bool,
}

/// All hosts.
#[derive(Debug)]
pub(crate) struct Clients {
    all: BTreeMap<PortAt, Client>,
    tid: u64,
    /// The record of the last answer.
    said: Vec<u8>,
    /// How often anybody was told to register again.
    pub(crate) told: u32,
}

/// A manager that hosts may ask, and where it is.
pub(crate) type Place = (PortAt, ManagerId);

impl Clients {
    pub(crate) fn new(world: &World<Sm>) -> Self {
        let fabric = world.fabric();
        let hosts = fabric.end_ports().filter(|at| !fabric.is_switch(at.node));
        let all = hosts.filter(|at| fabric.link_up(*at));
        Self {
            all: all.map(|at| (at, Client::default())).collect(),
            tid: 0,
            said: Vec::new(),
            told: 0,
        }
    }

    pub(crate) fn hosts(&self) -> Vec<PortAt> {
        self.all.keys().copied().collect()
    }

    /// A host wants something else from now on; what it is.
    pub(crate) fn change(&mut self, d: &mut Dice) -> String {
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
            format!("{at:?} wants no {want:?}")
        } else {
            client.leaving.remove(&want);
            client.wanted.insert(want);
            format!("{at:?} wants {want:?}")
        }
    }

    /// Hosts hear what they are told.
    pub(crate) fn listen(&mut self, world: &World<Sm>) {
        let fabric = world.fabric();
        for (at, client) in &mut self.all {
            let (told, up) = (fabric.client_reregisters(*at), fabric.link_up(*at));
            if told != client.told || (up && !client.up) {
                client.acked.clear();
            }
            self.told += told - client.told;
            (client.told, client.up) = (told, up);
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
            let fabric = world.fabric();
            let master = fabric.port_info(at).unwrap().master_sm_lid;
            let there = |place: &&Place| fabric.lid(place.0).0 == master;
            let Some(&(_, id)) = managers.iter().find(there) else {
                continue;
            };
            for want in missing {
                if self
                    .register(world, id, at, want, true)
                    .is_some_and(Status::is_ok)
                {
                    self.all.get_mut(&at).unwrap().acked.insert(want);
                }
            }
            for want in leaving {
                // Who is not registered has left.
                let told = self.register(world, id, at, want, false);
                if told.is_some_and(|status| !status.is_busy()) {
                    self.all.get_mut(&at).unwrap().leaving.remove(&want);
                }
            }
        }
    }

    fn register(
        &mut self,
        world: &mut World<Sm>,
        id: ManagerId,
        at: PortAt,
        want: Want,
        yes: bool,
    ) -> Option<Status> {
        let guid = world.fabric().port_guid(at);
        let gid = Gid::new(GidPrefix::DEFAULT, guid);
        let method = if yes { Method::Set } else { Method::Delete };
        match want {
            Want::Group(n) => {
                let core = world.manager(id)?.core();
                let record = McMemberRecord {
                    mgid: plain(n),
                    port_gid: gid,
                    join_state: JoinState::FULL,
                    qkey: 0x0B1B,
                    pkey: PKey::DEFAULT_FULL,
                    mtu_selector: Selector::Exact,
                    mtu: MtuCode::Mtu2048,
                    rate_selector: Selector::Exact,
                    rate: RateCode::G10,
                    sl: core.view().and_then(|v| v.groups_sl()).unwrap_or(Sl(0)),
                    ..McMemberRecord::default()
                };
                let data = record.encode();
                let what = (method, id::MC_MEMBER);
                let told = self.send(world, id, at, what, MEMBER, &data)?;
                if told.is_ok() || !yes {
                    return Some(told);
                }
                self.send(world, id, at, what, MEMBER | NEW_GROUP, &data)
            }
            Want::Service(n) => {
                let record = service(n, gid);
                self.send(
                    world,
                    id,
                    at,
                    (method, id::SERVICE),
                    SERVICE,
                    &record.encode(),
                )
            }
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
                self.send(
                    world,
                    id,
                    at,
                    (Method::Set, id::INFORM_INFO),
                    0,
                    &info.encode(),
                )
            }
        }
    }

    /// What a manager's administrator says at once; `None` if it says nothing.
    fn send(
        &mut self,
        world: &mut World<Sm>,
        id: ManagerId,
        at: PortAt,
        (method, attr): (Method, ferrosm_mad::ids::AttrId),
        mask: u64,
        data: &[u8],
    ) -> Option<Status> {
        self.tid += 1;
        let tid = self.tid;
        let request = Ask {
            mask,
            data: data.to_vec(),
            ..Ask::new(0, method.0, attr.0)
        };
        let bytes = request.to_bytes(tid);
        let from = Peer {
            lid: world.fabric().lid(at).0,
            ..Peer::default()
        };
        world.with_manager(id, |sm, now| {
            sm.replies.clear();
            sm.command(Input::Gmp { from, bytes }, now);
        })?;
        let taken = world.with_manager(id, |sm, _| core::mem::take(&mut sm.replies))?;
        let reply = taken
            .into_iter()
            .find(|(_, bytes)| MadHeader::decode(bytes).tid == Tid(tid))?;
        self.said = reply.1.get(sa::DATA_OFFSET..)?.to_vec();
        Some(Status(MadHeader::decode(&reply.1).status))
    }

    /// What some hosts are told of the way to the next: the record as it is on the wire.
    pub(crate) fn paths(
        &mut self,
        world: &mut World<Sm>,
        id: ManagerId,
    ) -> BTreeMap<PortAt, Vec<u8>> {
        let hosts = self.hosts();
        let next = hosts.iter().cycle().skip(1);
        let pairs: Vec<_> = hosts.iter().zip(next).take(12).collect();
        let mut all = BTreeMap::new();
        for (from, to) in pairs {
            let gid = |at: &PortAt| Gid::new(GidPrefix::DEFAULT, world.fabric().port_guid(*at));
            let record = PathRecord {
                sgid: gid(from),
                dgid: gid(to),
                ..PathRecord::default()
            };
            let what = (Method::Get, id::PATH);
            let told = self.send(world, id, *from, what, PATH, &record.encode());
            let said = core::mem::take(&mut self.said);
            all.insert(*from, told.map(|_| said).unwrap_or_default());
        }
        all
    }

    /// Whether a manager knows what these hosts were told that it knows, and nobody waits any more. With `exact` it knows of nothing
    /// that nobody wants.
    pub(crate) fn compare(
        &self,
        world: &World<Sm>,
        hosts: &BTreeSet<PortAt>,
        master: ManagerId,
        exact: bool,
    ) -> Result<(), String> {
        let sm = world.manager(master).unwrap();
        let saved = sm.core().registry().saved(world.now());
        let fabric = world.fabric();
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
        }
        if let (true, Some((guid, want))) = (exact, known.first()) {
            return Err(format!("{want:?} of {guid} is there, and nobody wants it"));
        }
        Ok(())
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
