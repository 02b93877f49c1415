//! SA clients of all hosts: they join groups, register services and subscribe. A client sends
//! requests to the SM that its port names, repeats them until acknowledged, and registers again on
//! ClientReregister or when its link comes up.
//!
//! A client relies on an acknowledged registration, unless the SM had reported that replies do not
//! wait for durable state (`Event::RepliesUnprotected`). Such a reply counts as lost if the SM
//! ceases to be master before its batch is durable: the client has to register, or to withdraw,
//! again. All other replies must follow their durable records.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::lab::{Sm, TestRng};
use crate::random_runs::tally::Tally;
use crate::sa::members::{
    MEMBER, NEW_GROUP, header, join_record, multicast_sl, plain, try_request,
};
use crate::sa::wire::WireRequest;
use ferrosm_core::Input;
use ferrosm_mad::attr::SmState;
use ferrosm_mad::gmp::Peer;
use ferrosm_mad::ids::{AttrId, Gid, GidPrefix, Qpn};
use ferrosm_mad::mad::{Method, Status};
use ferrosm_mad::sa::inform::InformInfo;
use ferrosm_mad::sa::multicast::{JoinState, McMemberRecord};
use ferrosm_mad::sa::path::PathRecord;
use ferrosm_mad::sa::service::ServiceRecord;
use ferrosm_mad::sa::{self, id};
use ferrosm_mad::time::Instant;
use ferrosm_sim::spec::{NodeIdx, PortAt};
use ferrosm_sim::world::{SmId, World};

use crate::random_runs::masters::registered::{
    RegisteredRecords, Registration, Request, assert_durable,
};

/// DGID and SGID.
const PATH: u64 = 0b11 << 2;
/// MGID and PortGID.
const GROUP: u64 = 0b11;
/// ServiceID, ServiceGID, lease and name.
const SERVICE: u64 = 0b101_0011;

/// A request without a reply.
#[derive(Debug)]
struct PendingRequest {
    request: Request,
    creates_group: bool,
    master: SmId,
    sent: Instant,
}

/// A reply that was sent before its record was durable.
#[derive(Debug)]
struct UnprotectedReply {
    request: Request,
    master: SmId,
    /// The batch that contains the confirmed record.
    batch: u64,
}

/// What a host has registered, and what it still requests.
#[derive(Debug, Default)]
pub(crate) struct Client {
    wanted: BTreeSet<Registration>,
    /// Acknowledged since the last reregistration request.
    acknowledged: BTreeSet<Registration>,
    /// Withdrawn, but not acknowledged yet.
    withdrawing: BTreeSet<Registration>,
    /// Parameters that the SA returned for the joined groups.
    groups: BTreeMap<u8, McMemberRecord>,
    /// A group had changed its parameters at the last reregistration request.
    pub(crate) group_changed: bool,
    reregister_requests: u32,
    up: bool,
    /// It lost power, and its registrations were not complete since; a reregistration request is
    /// expected.
    pub(crate) rebooted: bool,
}

/// The clients of all hosts.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    by_host: BTreeMap<PortAt, Client>,
    tid: u64,
    /// Time after which a client repeats a request.
    repeat_after: Duration,
    pending: BTreeMap<u64, PendingRequest>,
    unprotected: Vec<UnprotectedReply>,
    /// Unprotected replies whose registration was lost.
    pub(crate) lost_replies: u32,
    /// Queries that change nothing.
    queries: u64,
    /// Reregistration requests to hosts that had not lost power.
    pub(crate) reregister_requests: u32,
    /// Changes of wanted registrations.
    pub(crate) changes: u64,
    /// Counted events.
    pub(crate) tally: Tally,
}

/// A running SM and its port.
pub(crate) type SmLocation = (PortAt, SmId);

impl Clients {
    pub(crate) fn new(world: &World<Sm>, repeat_after: Duration) -> Self {
        let fabric = world.fabric();
        let hosts = fabric.end_ports().filter(|at| !fabric.is_switch(at.node));
        let all = hosts.filter(|at| fabric.link_up(*at));
        Self {
            by_host: all.map(|at| (at, Client::default())).collect(),
            repeat_after,
            ..Self::default()
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
            client.forget(registration);
            format!("{at:?} withdraws {registration:?}")
        } else {
            client.withdrawing.remove(&registration);
            client.wanted.insert(registration);
            format!("{at:?} wants {registration:?}")
        }
    }

    /// Clients process replies and the state of their ports.
    pub(crate) fn receive(&mut self, world: &mut World<Sm>, locations: &[SmLocation]) {
        for (_, id) in locations {
            self.take_replies(world, *id);
        }
        self.unprotected.retain(|reply| {
            !world.sm(reply.master).is_some_and(|sm| {
                sm.core().role() == SmState::Master && sm.store.durable() >= reply.batch
            })
        });
        let fabric = world.fabric();
        for (at, client) in &mut self.by_host {
            let reregister_requests = fabric.client_reregisters(*at);
            let up = fabric.link_up(*at);
            if reregister_requests != client.reregister_requests {
                let master = Self::master_of_port(world, locations, *at);
                client.group_changed = master.is_some_and(|id| client.must_rejoin(world, id));
            }
            if reregister_requests != client.reregister_requests || (up && !client.up) {
                client.start_over();
                self.pending.retain(|_, pending| pending.request.at != *at);
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
        for (_, client) in of_node {
            client.start_over();
            (client.reregister_requests, client.up, client.rebooted) = (0, false, true);
        }
        self.pending
            .retain(|_, pending| pending.request.at.node != node);
    }

    /// The fabric is correct: running hosts have recovered from their power loss.
    pub(crate) fn mark_recovered(&mut self) {
        for client in self.by_host.values_mut() {
            client.rebooted &= !client.up;
        }
    }

    /// Sends all requests that are not acknowledged.
    pub(crate) fn send_requests(&mut self, world: &mut World<Sm>, locations: &[SmLocation]) {
        for at in self.hosts() {
            let client = &self.by_host[&at];
            let missing = client.wanted.difference(&client.acknowledged);
            let withdrawing = client.withdrawing.iter();
            let requests: Vec<Request> = missing
                .map(|registration| (registration, true))
                .chain(withdrawing.map(|registration| (registration, false)))
                .map(|(registration, registers)| Request {
                    at,
                    registration: *registration,
                    registers,
                })
                .collect();
            if requests.is_empty() || !client.up {
                continue;
            }
            let Some(master) = Self::master_of_port(world, locations, at) else {
                continue;
            };
            for request in requests {
                let now = world.now();
                let is_recent = |pending: &PendingRequest| {
                    pending.request == request && now.since(pending.sent) < self.repeat_after
                };
                if !self.pending.values().any(is_recent) {
                    self.send(world, master, request, false);
                }
            }
        }
    }

    /// Sends a request, and processes available replies.
    fn send(&mut self, world: &mut World<Sm>, master: SmId, request: Request, creates_group: bool) {
        let Some(mut message) = Self::message(world, master, request) else {
            return;
        };
        if creates_group {
            message.mask |= NEW_GROUP;
        }
        self.tid += 1;
        let is_same =
            |other: &Request| (other.at, other.registration) == (request.at, request.registration);
        self.pending.retain(|_, pending| !is_same(&pending.request));
        let pending = PendingRequest {
            request,
            creates_group,
            master,
            sent: world.now(),
        };
        self.pending.insert(self.tid, pending);
        let bytes = message.to_bytes(self.tid);
        let from = Peer {
            lid: world.fabric().lid(request.at).0,
            ..Peer::default()
        };
        world.with_sm(master, |sm, now| sm.handle(Input::Gmp { from, bytes }, now));
        self.take_replies(world, master);
    }

    /// Processes the replies that an SM sent since the last call.
    pub(crate) fn take_replies(&mut self, world: &mut World<Sm>, master: SmId) {
        let taken = world.with_sm(master, |sm, _| {
            let replies = core::mem::take(&mut sm.replies);
            (replies, core::mem::take(&mut sm.unprotected_replies))
        });
        let Some((replies, unprotected)) = taken else {
            return;
        };
        for (_, bytes) in replies {
            let header = header(&bytes);
            if !header.method.is_response() {
                continue;
            }
            let Some(pending) = self.pending.remove(&header.tid.0) else {
                continue;
            };
            let status = Status(header.status);
            let data = bytes.get(sa::DATA_OFFSET..).unwrap_or_default();
            let is_protected = !unprotected.contains(&header.tid);
            self.on_reply(world, &pending, status, data, is_protected);
        }
    }

    fn on_reply(
        &mut self,
        world: &mut World<Sm>,
        pending: &PendingRequest,
        status: Status,
        data: &[u8],
        is_protected: bool,
    ) {
        let PendingRequest {
            request,
            creates_group,
            master,
            sent,
        } = *pending;
        let Request {
            at,
            registration,
            registers,
        } = request;
        self.tally
            .add("late replies", u32::from(sent != world.now()));
        let client = &self.by_host[&at];
        if client.wanted.contains(&registration) != registers {
            // The client has changed its mind since.
            return;
        }
        // Any reply ends a withdrawal: an error means that the registration does not exist.
        if registers && !status.is_ok() {
            if matches!(registration, Registration::Group(_)) && !creates_group {
                self.send(world, master, request, true);
            }
            return;
        }
        if is_protected {
            let is_compared = assert_durable(world, master, request);
            self.tally.add(
                "replies compared with durable records",
                u32::from(is_compared),
            );
        } else {
            self.tally.add("unprotected replies", 1);
            let batch = world.sm(master).map_or(0, |sm| sm.store.submitted());
            self.unprotected.push(UnprotectedReply {
                request,
                master,
                batch,
            });
        }
        let client = self.by_host.get_mut(&at).unwrap();
        if !registers {
            client.withdrawing.remove(&registration);
            return;
        }
        self.tally.add("acknowledged", 1);
        client.acknowledged.insert(registration);
        if let Registration::Group(n) = registration
            && let Some(group) = McMemberRecord::decode_slice(data)
        {
            client.groups.insert(n, group);
        }
    }

    /// An SM has ceased to be master: its unprotected replies whose batch is not durable are lost.
    pub(crate) fn on_master_end(&mut self, master: SmId) {
        self.pending.retain(|_, pending| pending.master != master);
        for reply in self.unprotected.extract_if(.., |r| r.master == master) {
            let Request {
                at,
                registration,
                registers,
            } = reply.request;
            self.lost_replies += 1;
            self.tally.add("lost unprotected replies", 1);
            let client = self.by_host.get_mut(&at).unwrap();
            if registers {
                client.forget(registration);
            } else if !client.wanted.contains(&registration) {
                client.withdrawing.insert(registration);
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

    /// The client of a host.
    pub(crate) fn client(&self, at: PortAt) -> &Client {
        &self.by_host[&at]
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

    /// The same for several hosts. Also checks that no request is outstanding, and that all groups
    /// have the parameters that the SA returned. Registrations of hosts without power stay valid
    /// until they return.
    pub(crate) fn check_hosts(
        &self,
        world: &World<Sm>,
        hosts: &BTreeSet<PortAt>,
        master: SmId,
        exact: bool,
    ) -> Result<(), String> {
        let known = RegisteredRecords::at(world, master);
        for at in hosts {
            let client = &self.by_host[at];
            if !client.is_fully_registered() {
                return Err(format!("{at:?} waits for replies: {client:?}"));
            }
            self.check_host(world, *at, &known, exact)?;
            if client.has_stale_group(world, master) {
                return Err(format!(
                    "{at:?} has outdated group parameters: {:?}",
                    client.groups
                ));
            }
        }
        Ok(())
    }

    /// Builds the request that registers or withdraws.
    fn message(world: &World<Sm>, master: SmId, request: Request) -> Option<WireRequest> {
        let guid = world.fabric().port_guid(request.at);
        let gid = Gid::new(GidPrefix::DEFAULT, guid);
        let (attr, mask, data) = match request.registration {
            Registration::Group(n) => {
                let sl = multicast_sl(world.sm(master)?.core());
                let record = join_record(plain(n), gid, JoinState::FULL, sl);
                (id::MC_MEMBER, MEMBER, record.encode().to_vec())
            }
            Registration::Service(n) => (id::SERVICE, SERVICE, service(n, gid).encode().to_vec()),
            Registration::Subscription => {
                let info = InformInfo {
                    lid_range_begin: InformInfo::ALL_LIDS,
                    is_generic: 1,
                    subscribe: u8::from(request.registers),
                    notice_type: 0xFFFF,
                    trap_number: 65,
                    qpn: Qpn(1),
                    producer_type: 0xFF_FFFF,
                    ..InformInfo::default()
                };
                (id::INFORM_INFO, 0, info.encode().to_vec())
            }
        };
        let is_subscription = request.registration == Registration::Subscription;
        let method = if request.registers || is_subscription {
            Method::Set
        } else {
            Method::Delete
        };
        Some(WireRequest {
            mask,
            data,
            ..WireRequest::new(0, method.0, attr.0)
        })
    }

    /// Queries a path from the SM that the host's port names; `None` without such an SM or reply.
    pub(crate) fn path(
        &mut self,
        world: &mut World<Sm>,
        locations: &[SmLocation],
        from: PortAt,
        to: PortAt,
    ) -> Option<(Status, Vec<u8>)> {
        let master = Self::master_of_port(world, locations, from)?;
        let gid = |at: PortAt| Gid::new(GidPrefix::DEFAULT, world.fabric().port_guid(at));
        let record = PathRecord {
            sgid: gid(from),
            dgid: gid(to),
            ..PathRecord::default()
        };
        self.query(world, master, from, id::PATH, PATH, &record.encode())
    }

    /// Queries each joined group; returns the recorded and the current parameters.
    pub(crate) fn groups(
        &mut self,
        world: &mut World<Sm>,
        locations: &[SmLocation],
        at: PortAt,
    ) -> Vec<(McMemberRecord, Status, McMemberRecord)> {
        let Some(master) = Self::master_of_port(world, locations, at) else {
            return Vec::new();
        };
        let all: Vec<McMemberRecord> = self.by_host[&at].groups.values().copied().collect();
        let replies = all.into_iter().map(|granted| {
            let data = granted.encode();
            let (status, reply) = self.query(world, master, at, id::MC_MEMBER, GROUP, &data)?;
            let reply = McMemberRecord::decode_slice(&reply).unwrap_or_default();
            Some((granted, status, reply))
        });
        replies.flatten().collect()
    }

    fn query(
        &mut self,
        world: &mut World<Sm>,
        master: SmId,
        at: PortAt,
        attr: AttrId,
        mask: u64,
        data: &[u8],
    ) -> Option<(Status, Vec<u8>)> {
        self.take_replies(world, master);
        self.queries += 1;
        self.tid += 1;
        try_request(world, master, at, (Method::Get, attr), self.tid, mask, data)
    }
}

impl Client {
    /// Returns true if all its requests are acknowledged.
    pub(crate) fn is_fully_registered(&self) -> bool {
        self.withdrawing.is_empty() && self.wanted.is_subset(&self.acknowledged)
    }

    /// Its registrations have ended: it has to register again.
    fn start_over(&mut self) {
        self.acknowledged.clear();
        self.groups.clear();
    }

    /// A registration has ended.
    fn forget(&mut self, registration: Registration) {
        self.acknowledged.remove(&registration);
        if let Registration::Group(n) = registration {
            self.groups.remove(&n);
        }
    }

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
