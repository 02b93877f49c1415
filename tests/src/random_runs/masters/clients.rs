//! SA clients of all hosts: they join groups, register services and subscribe. A client sends
//! requests to the SM that its port names, repeats them until acknowledged, and registers again on
//! ClientReregister or when its link comes up.

use std::collections::{BTreeMap, BTreeSet};

use crate::lab::{Sm, TestRng};
use crate::sa::members::{MEMBER, NEW_GROUP, join_record, multicast_sl, plain, try_request};
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

use crate::random_runs::masters::deferred::{DeferredReplies, Registration};

/// DGID and SGID.
const PATH: u64 = 0b11 << 2;
/// MGID and PortGID.
const GROUP: u64 = 0b11;
/// ServiceID, ServiceGID, lease and name.
const SERVICE: u64 = 0b101_0011;

/// The registrations that an SM has.
pub(crate) struct RegisteredRecords(BTreeSet<(PortGuid, Registration)>);

impl RegisteredRecords {
    pub(crate) fn at(world: &World<Sm>, master: SmId) -> Self {
        let sm = world.sm(master).unwrap();
        Self::from_saved(&sm.core().registry().to_registrations(world.now()))
    }

    pub(super) fn from_saved(saved: &Registrations) -> Self {
        let guid_of = |gid: Gid| PortGuid(u64::from_be_bytes(gid.0[8..].try_into().unwrap()));
        let mut known: BTreeSet<(PortGuid, Registration)> = BTreeSet::new();
        for member in &saved.members {
            let guid = guid_of(member.port_gid);
            for n in (0..4).filter(|n| plain(*n) == member.mgid) {
                known.insert((guid, Registration::Group(n)));
            }
        }
        let services = saved.services.iter();
        known.extend(services.map(|s| {
            let guid = guid_of(s.record.service_gid);
            (guid, Registration::Service(s.record.service_id))
        }));
        let subscribers = saved.subscriptions.iter();
        known.extend(
            subscribers.map(|s| (guid_of(s.record.subscriber_gid), Registration::Subscription)),
        );
        Self(known)
    }

    pub(super) fn has(&self, guid: PortGuid, registration: Registration) -> bool {
        self.0.contains(&(guid, registration))
    }

    fn of(&self, guid: PortGuid) -> impl Iterator<Item = Registration> + '_ {
        let all = self.0.iter().filter(move |(of, _)| *of == guid);
        all.map(|(_, registration)| *registration)
    }
}

#[derive(Debug, Default)]
pub(super) struct Client {
    pub(super) wanted: BTreeSet<Registration>,
    /// Acknowledged since the last reregistration request.
    pub(super) acknowledged: BTreeSet<Registration>,
    /// Withdrawn, but not acknowledged yet.
    pub(super) withdrawing: BTreeSet<Registration>,
    /// Parameters that the SA returned for the joined groups.
    pub(super) groups: BTreeMap<u8, McMemberRecord>,
    /// A group had changed its parameters at the last reregistration request.
    group_changed: bool,
    reregister_requests: u32,
    up: bool,
    /// It lost power, and its registrations were not complete since; a reregistration request is
    /// expected.
    rebooted: bool,
}

/// The clients of all hosts.
#[derive(Debug)]
pub(crate) struct Clients {
    pub(super) by_host: BTreeMap<PortAt, Client>,
    pub(super) tid: u64,
    /// Set if replies may be delayed, or sent before their records are durable.
    pub(crate) deferred: Option<DeferredReplies>,
    /// Queries that change nothing.
    queries: u64,
    /// The record of the last reply.
    last_record: Vec<u8>,
    /// Reregistration requests to hosts that had not lost power.
    pub(crate) reregister_requests: u32,
    /// Acknowledged registrations.
    pub(crate) acks: u32,
    /// Changes of wanted registrations.
    pub(crate) changes: u64,
}

/// An SA request of a host.
pub(super) struct RegistrationRequest {
    pub(super) request_kind: (Method, AttrId),
    pub(super) mask: u64,
    pub(super) data: Vec<u8>,
}

/// A running SM and its port.
pub(crate) type SmLocation = (PortAt, SmId);

impl Clients {
    pub(crate) fn new(world: &World<Sm>) -> Self {
        let fabric = world.fabric();
        let hosts = fabric.end_ports().filter(|at| !fabric.is_switch(at.node));
        let all = hosts.filter(|at| fabric.link_up(*at));
        Self {
            by_host: all.map(|at| (at, Client::default())).collect(),
            tid: 0,
            deferred: None,
            queries: 0,
            last_record: Vec::new(),
            reregister_requests: 0,
            acks: 0,
            changes: 0,
        }
    }

    pub(crate) fn hosts(&self) -> Vec<PortAt> {
        self.by_host.keys().copied().collect()
    }

    /// Number of requests that change registrations.
    pub(crate) const fn requests(&self) -> u64 {
        self.tid - self.queries
    }

    /// Adds or withdraws a registration of a random host, and describes it.
    pub(crate) fn change_registration(&mut self, rng: &mut TestRng) -> String {
        self.changes += 1;
        let hosts = self.hosts();
        let at = hosts[rng.index(hosts.len())];
        let registration = match rng.below(5) {
            0 => Registration::Service(rng.below(4)),
            1 => Registration::Subscription,
            _ => Registration::Group(u8::try_from(rng.below(4)).unwrap()),
        };
        let client = self.by_host.get_mut(&at).unwrap();
        if client.wanted.remove(&registration) {
            client.withdrawing.insert(registration);
            client.acknowledged.remove(&registration);
            if let Registration::Group(n) = registration {
                client.groups.remove(&n);
            }
            format!("{at:?} withdraws {registration:?}")
        } else {
            client.withdrawing.remove(&registration);
            client.wanted.insert(registration);
            format!("{at:?} wants {registration:?}")
        }
    }

    /// Clients process replies and the state of their ports.
    pub(crate) fn receive(&mut self, world: &mut World<Sm>, locations: &[SmLocation]) {
        self.receive_replies(world, locations);
        let fabric = world.fabric();
        for (at, client) in &mut self.by_host {
            let reregister_requests = fabric.client_reregisters(*at);
            let up = fabric.link_up(*at);
            if reregister_requests != client.reregister_requests {
                let master = Self::master_of_port(world, locations, *at);
                client.group_changed = master.is_some_and(|id| client.must_rejoin(world, id));
            }
            if reregister_requests != client.reregister_requests || (up && !client.up) {
                client.acknowledged.clear();
                client.groups.clear();
                if let Some(deferred) = &mut self.deferred {
                    deferred.forget_requests(*at);
                }
            }
            if !client.rebooted {
                self.reregister_requests += reregister_requests - client.reregister_requests;
            }
            (client.reregister_requests, client.up) = (reregister_requests, up);
        }
    }

    /// A host lost power, possibly for a moment: its client forgets all replies.
    pub(crate) fn lose_power(&mut self, node: NodeIdx) {
        let of_node = self.by_host.iter_mut().filter(|(at, _)| at.node == node);
        for (at, client) in of_node {
            if let Some(deferred) = &mut self.deferred {
                deferred.forget_requests(*at);
            }
            client.acknowledged.clear();
            client.groups.clear();
            (client.reregister_requests, client.up, client.rebooted) = (0, false, true);
        }
    }

    /// The fabric is correct: running hosts have recovered from their power loss.
    pub(crate) fn mark_recovered(&mut self) {
        for client in self.by_host.values_mut() {
            client.rebooted &= !client.up;
        }
    }

    /// Sends all requests that are not acknowledged.
    pub(crate) fn send_requests(&mut self, world: &mut World<Sm>, locations: &[SmLocation]) {
        let hosts = self.hosts();
        for at in hosts {
            let client = &self.by_host[&at];
            let missing: Vec<Registration> = client
                .wanted
                .difference(&client.acknowledged)
                .copied()
                .collect();
            let withdrawing: Vec<Registration> = client.withdrawing.iter().copied().collect();
            if (missing.is_empty() && withdrawing.is_empty()) || !client.up {
                continue;
            }
            let Some(id) = Self::master_of_port(world, locations, at) else {
                continue;
            };
            if self.deferred.is_some() {
                for registration in missing {
                    self.request(world, id, (at, registration, true), false);
                }
                for registration in withdrawing {
                    self.request(world, id, (at, registration, false), false);
                }
                continue;
            }
            for registration in missing {
                let status = self.register(world, id, at, registration, true);
                if status.is_some_and(Status::is_ok) {
                    self.acks += 1;
                    let client = self.by_host.get_mut(&at).unwrap();
                    client.acknowledged.insert(registration);
                    if let Registration::Group(n) = registration {
                        let group = McMemberRecord::decode_slice(&self.last_record).unwrap();
                        client.groups.insert(n, group);
                    }
                }
            }
            for registration in withdrawing {
                // Any reply ends a withdrawal: an error means that the registration does not exist.
                let status = self.register(world, id, at, registration, false);
                if status.is_some() {
                    self.by_host
                        .get_mut(&at)
                        .unwrap()
                        .withdrawing
                        .remove(&registration);
                }
            }
        }
    }

    /// The SM that a host's port names as its master.
    fn master_of_port(world: &World<Sm>, locations: &[SmLocation], at: PortAt) -> Option<SmId> {
        let fabric = world.fabric();
        let master = fabric.port_info(at)?.master_sm_lid;
        let is_master =
            |location: &&SmLocation| master.is_unicast() && fabric.lid(location.0).0 == master;
        locations.iter().find(is_master).map(|(_, id)| *id)
    }

    /// Returns true if a group of the host had changed at its last reregistration request.
    pub(crate) fn has_changed_group(&self, at: PortAt) -> bool {
        self.by_host[&at].group_changed
    }

    /// Returns true if the host lost power and its registrations were not complete since.
    pub(crate) fn has_rebooted(&self, at: PortAt) -> bool {
        self.by_host[&at].rebooted
    }

    /// Returns true if all requests of the host are acknowledged.
    pub(crate) fn is_fully_registered(&self, at: PortAt) -> bool {
        let client = &self.by_host[&at];
        client.withdrawing.is_empty() && client.wanted.is_subset(&client.acknowledged)
    }

    /// Checks that an SM has all acknowledged registrations of a host and, with `exact`, no
    /// withdrawn ones.
    pub(crate) fn check_host(
        &self,
        world: &World<Sm>,
        at: PortAt,
        known: &RegisteredRecords,
        exact: bool,
    ) -> Result<(), String> {
        let client = &self.by_host[&at];
        let known: BTreeSet<Registration> = known.of(world.fabric().port_guid(at)).collect();
        if let Some(registration) = client.acknowledged.difference(&known).next() {
            return Err(format!("LOST: {registration:?} of {at:?} was acknowledged"));
        }
        let unwanted = |registration: &&Registration| {
            !client.wanted.contains(registration) && !client.withdrawing.contains(registration)
        };
        match known.iter().find(unwanted).filter(|_| exact) {
            Some(registration) => Err(format!(
                "{registration:?} of {at:?} is registered although withdrawn"
            )),
            None => Ok(()),
        }
    }

    fn register(
        &mut self,
        world: &mut World<Sm>,
        id: SmId,
        at: PortAt,
        registration: Registration,
        registers: bool,
    ) -> Option<Status> {
        let RegistrationRequest {
            request_kind,
            mask,
            data,
        } = Self::message(world, id, at, registration, registers)?;
        let status = self.send(world, id, at, request_kind, mask, &data)?;
        if status.is_ok() || !registers || !matches!(registration, Registration::Group(_)) {
            return Some(status);
        }
        self.send(world, id, at, request_kind, mask | NEW_GROUP, &data)
    }

    /// Builds the request that registers or withdraws.
    pub(super) fn message(
        world: &World<Sm>,
        id: SmId,
        at: PortAt,
        registration: Registration,
        registers: bool,
    ) -> Option<RegistrationRequest> {
        let guid = world.fabric().port_guid(at);
        let gid = Gid::new(GidPrefix::DEFAULT, guid);
        let method = if registers {
            Method::Set
        } else {
            Method::Delete
        };
        Some(match registration {
            Registration::Group(n) => {
                let sl = multicast_sl(world.sm(id)?.core());
                RegistrationRequest {
                    request_kind: (method, id::MC_MEMBER),
                    mask: MEMBER,
                    data: join_record(plain(n), gid, JoinState::FULL, sl)
                        .encode()
                        .to_vec(),
                }
            }
            Registration::Service(n) => RegistrationRequest {
                request_kind: (method, id::SERVICE),
                mask: SERVICE,
                data: service(n, gid).encode().to_vec(),
            },
            Registration::Subscription => {
                let info = InformInfo {
                    lid_range_begin: InformInfo::ALL_LIDS,
                    is_generic: 1,
                    subscribe: u8::from(registers),
                    notice_type: 0xFFFF,
                    trap_number: 65,
                    qpn: Qpn(1),
                    producer_type: 0xFF_FFFF,
                    ..InformInfo::default()
                };
                RegistrationRequest {
                    request_kind: (Method::Set, id::INFORM_INFO),
                    mask: 0,
                    data: info.encode().to_vec(),
                }
            }
        })
    }

    /// The SA's immediate reply; `None` if there is none.
    fn send(
        &mut self,
        world: &mut World<Sm>,
        id: SmId,
        at: PortAt,
        request_kind: (Method, AttrId),
        mask: u64,
        data: &[u8],
    ) -> Option<Status> {
        self.tid += 1;
        let (status, reply) = try_request(world, id, at, request_kind, self.tid, mask, data)?;
        self.last_record = reply;
        Some(status)
    }

    /// Queries a path from the SM that the host's port names; `None` without such an SM or reply.
    pub(crate) fn path(
        &mut self,
        world: &mut World<Sm>,
        locations: &[SmLocation],
        from: PortAt,
        to: PortAt,
    ) -> Option<(Status, Vec<u8>)> {
        let id = Self::master_of_port(world, locations, from)?;
        let gid = |at: PortAt| Gid::new(GidPrefix::DEFAULT, world.fabric().port_guid(at));
        let record = PathRecord {
            sgid: gid(from),
            dgid: gid(to),
            ..PathRecord::default()
        };
        self.query(world, id, from, (id::PATH, PATH), &record.encode())
    }

    /// Queries each joined group; returns the recorded and the current parameters.
    pub(crate) fn groups(
        &mut self,
        world: &mut World<Sm>,
        locations: &[SmLocation],
        at: PortAt,
    ) -> Vec<(McMemberRecord, Status, McMemberRecord)> {
        let Some(id) = Self::master_of_port(world, locations, at) else {
            return Vec::new();
        };
        let all: Vec<McMemberRecord> = self.by_host[&at].groups.values().copied().collect();
        let reply = all.into_iter().map(|granted| {
            let data = granted.encode();
            let (status, reply) = self.query(world, id, at, (id::MC_MEMBER, GROUP), &data)?;
            let reply = McMemberRecord::decode_slice(&reply).unwrap_or_default();
            Some((granted, status, reply))
        });
        reply.flatten().collect()
    }

    fn query(
        &mut self,
        world: &mut World<Sm>,
        id: SmId,
        at: PortAt,
        (attr, mask): (AttrId, u64),
        data: &[u8],
    ) -> Option<(Status, Vec<u8>)> {
        self.queries += 1;
        self.take_replies(world, id);
        let status = self.send(world, id, at, (Method::Get, attr), mask, data);
        let reply = core::mem::take(&mut self.last_record);
        status.map(|status| (status, reply))
    }

    /// Checks that an SM has all acknowledged registrations of these hosts, and that no request is
    /// outstanding. With `exact` it must have no other registrations of these hosts.
    pub(crate) fn check_hosts(
        &self,
        world: &World<Sm>,
        hosts: &BTreeSet<PortAt>,
        master: SmId,
        exact: bool,
    ) -> Result<(), String> {
        let fabric = world.fabric();
        let mut known = RegisteredRecords::at(world, master).0;
        for (at, client) in self.by_host.iter().filter(|(at, _)| hosts.contains(at)) {
            let guid = fabric.port_guid(*at);
            if let Some(registration) = client.wanted.difference(&client.acknowledged).next() {
                return Err(format!("{registration:?} of {at:?} is not acknowledged"));
            }
            if let Some(registration) = client.withdrawing.first() {
                return Err(format!(
                    "withdrawal of {registration:?} of {at:?} is not acknowledged"
                ));
            }
            for registration in &client.acknowledged {
                if !known.remove(&(guid, *registration)) {
                    return Err(format!("LOST: {registration:?} of {at:?} was acknowledged"));
                }
            }
            if client.has_stale_group(world, master) {
                return Err(format!(
                    "{at:?} has outdated group parameters: {:?}",
                    client.groups
                ));
            }
        }
        // Registrations of hosts without power stay valid until they return.
        let guids: BTreeSet<PortGuid> = hosts.iter().map(|at| fabric.port_guid(*at)).collect();
        known.retain(|(guid, _)| guids.contains(guid));
        if let (true, Some((guid, registration))) = (exact, known.first()) {
            return Err(format!(
                "{registration:?} of {guid} is registered although withdrawn"
            ));
        }
        Ok(())
    }
}

impl Client {
    /// Returns true if a group changed so that the host has to join again (docs/sm-behaviour.md,
    /// rule 3.19).
    fn must_rejoin(&self, world: &World<Sm>, master: SmId) -> bool {
        self.groups_differ(world, master, |g| (g.sl, g.mtu, g.rate))
    }

    /// Returns true if any recorded parameter of a group is outdated.
    fn has_stale_group(&self, world: &World<Sm>, master: SmId) -> bool {
        let packets = |g: &McMemberRecord| (g.sl, g.mtu, g.rate);
        self.groups_differ(world, master, |g| (g.mlid, g.qkey, g.pkey, packets(g)))
    }

    fn groups_differ<T: PartialEq>(
        &self,
        world: &World<Sm>,
        master: SmId,
        value_of: impl Fn(&McMemberRecord) -> T,
    ) -> bool {
        let Some(sm) = world.sm(master) else {
            return false;
        };
        let groups = sm.core().registry().groups();
        self.groups.iter().any(|(n, granted)| {
            let now = groups.get(plain(*n));
            now.is_some_and(|group| {
                let parameters = &group.parameters;
                let now = McMemberRecord {
                    mlid: group.mlid,
                    qkey: parameters.qkey,
                    pkey: parameters.pkey,
                    sl: parameters.sl,
                    mtu: parameters.mtu,
                    rate: parameters.rate,
                    ..*granted
                };
                value_of(&now) != value_of(granted)
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
