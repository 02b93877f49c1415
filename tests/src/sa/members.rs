//! Hosts that join and leave multicast groups with the requests of the Linux kernel.
//!
//! Membership is derived from requests and replies by the rules of IBA vol. 1, 15.2.5.17; the
//! oracle compares it with the MFTs of the switches.

use std::collections::BTreeMap;

use ferrosm_core::{Input, SubnetManager};
use ferrosm_mad::attr::MtuCode;
use ferrosm_mad::gmp::Peer;
use ferrosm_mad::ids::{AttrId, Gid, Lid, PKey, Sl, Tid};
use ferrosm_mad::mad::{MadHeader, Method, Status};
use ferrosm_mad::sa::multicast::{JoinState, McMemberRecord, mgid};
use ferrosm_mad::sa::path::{PathRecord, RateCode, Selector};
use ferrosm_mad::sa::{self, id};
use ferrosm_sim::oracle::{Expectations, ExpectedGroup};
use ferrosm_sim::spec::PortAt;
use ferrosm_sim::world::{SmId, World};

use crate::lab::{Lab, Sm, TestRng};
use crate::sa::wire::WireRequest;

/// Component mask of a join: MGID, PortGID and JoinState.
pub const MEMBER: u64 = 1 | 1 << 1 | 1 << 16;
/// Further components to create a group: Q_Key, TClass, P_Key, SL and FlowLabel; also MTU and rate,
/// because those of the creator may exceed those of other members.
pub const NEW_GROUP: u64 = 1 << 2 | 0b11 << 4 | 1 << 6 | 1 << 7 | 0b11 << 8 | 1 << 12 | 1 << 13;

/// The broadcast group, which exists without members.
pub const BROADCAST: Gid = mgid::broadcast(PKey::DEFAULT_FULL, mgid::LINK_LOCAL);

/// MGID of an ordinary group.
#[must_use]
pub fn plain(n: u8) -> Gid {
    let mut gid = Gid([0; 16]);
    (gid.0[0], gid.0[1], gid.0[15]) = (0xFF, 0x12, n);
    gid
}

/// A group as reported to its members.
#[derive(Debug, Clone)]
struct KnownGroup {
    mlid: Lid,
    sl: Sl,
    /// JoinState of each member.
    members: BTreeMap<PortAt, u8>,
    /// It exists without members.
    is_permanent: bool,
}

/// The group memberships of all hosts.
#[derive(Debug, Clone, Default)]
pub struct Members {
    groups: BTreeMap<Gid, KnownGroup>,
    /// How often each port had received ClientReregister when it joined.
    reregisters: BTreeMap<PortAt, u32>,
    tid: u64,
}

/// Record of a join request that creates the group if it does not exist.
#[must_use]
pub fn join_record(mgid: Gid, port_gid: Gid, join_state: JoinState, sl: Sl) -> McMemberRecord {
    McMemberRecord {
        mgid,
        port_gid,
        join_state,
        qkey: 0x0B1B,
        pkey: PKey::DEFAULT_FULL,
        mtu_selector: Selector::Exact,
        mtu: MtuCode::Mtu2048,
        rate_selector: Selector::Exact,
        rate: RateCode::G10,
        sl,
        ..McMemberRecord::default()
    }
}

/// The SL for new groups that an SM supports.
#[must_use]
pub fn multicast_sl(core: &SubnetManager) -> Sl {
    core.view().and_then(|v| v.multicast_sl()).unwrap_or(Sl(0))
}

/// Decodes the header of a MAD.
///
/// # Panics
///
/// If it is too short.
#[must_use]
pub fn header(message: &[u8]) -> MadHeader {
    let header = MadHeader::decode_slice(message);
    header.unwrap_or_else(|| panic!("a MAD of {} bytes", message.len()))
}

/// Sends an SA request from a port, without advancing virtual time; returns the immediate reply,
/// `None` if there is none.
pub fn try_request(
    world: &mut World<Sm>,
    manager: SmId,
    from: PortAt,
    (method, attr): (Method, AttrId),
    tid: u64,
    mask: u64,
    data: &[u8],
) -> Option<(Status, Vec<u8>)> {
    let request = WireRequest {
        mask,
        data: data.to_vec(),
        ..WireRequest::new(0, method.0, attr.0)
    };
    send(world, manager, from, tid, &request)
}

/// Sends an SA request from a port: status and data of the immediate reply, or `None` without one.
pub fn send(
    world: &mut World<Sm>,
    manager: SmId,
    from: PortAt,
    tid: u64,
    request: &WireRequest,
) -> Option<(Status, Vec<u8>)> {
    let bytes = request.to_bytes(tid);
    let from = Peer {
        lid: world.fabric().lid(from).0,
        ..Peer::default()
    };
    world.with_sm(manager, |sm, now| {
        sm.replies.clear();
        sm.handle(Input::Gmp { from, bytes }, now);
    })?;
    let taken = world.with_sm(manager, |sm, _| core::mem::take(&mut sm.replies))?;
    let mut replies = taken.iter().map(|(_, bytes)| (header(bytes), bytes));
    let (header, bytes) = replies.find(|(header, _)| header.tid == Tid(tid))?;
    let data = bytes.get(sa::DATA_OFFSET..).unwrap_or_default();
    Some((Status(header.status), data.to_vec()))
}

/// Sends an SA request from a port, without advancing virtual time; returns the immediate reply.
///
/// # Panics
///
/// If there is none.
pub fn request(
    lab: &mut Lab,
    from: PortAt,
    request_kind: (Method, AttrId),
    tid: u64,
    mask: u64,
    data: &[u8],
) -> (Status, Vec<u8>) {
    let reply = try_request(&mut lab.world, lab.sm, from, request_kind, tid, mask, data);
    reply.unwrap_or_else(|| panic!("{} no reply", lab.describe_run()))
}

/// Sends one join of the broadcast group: the status of the reply, or `None` if the SM drops it.
pub fn try_join_broadcast(lab: &mut Lab, sm: SmId, at: PortAt, tid: u64) -> Option<Status> {
    let record = join_record(BROADCAST, lab.port_gid(at), JoinState::FULL, Sl(0)).encode();
    let request_kind = (Method::Set, id::MC_MEMBER);
    let reply = try_request(&mut lab.world, sm, at, request_kind, tid, MEMBER, &record);
    reply.map(|(status, _)| status)
}

/// Sends one PathRecord query as IPoIB does: the status of the reply, or `None` if the SM drops it.
pub fn try_path(lab: &mut Lab, sm: SmId, from: PortAt, to: PortAt, tid: u64) -> Option<Status> {
    /// DGID, SGID, Reversible, NumbPath, P_Key.
    const MASK: u64 = 1 << 2 | 1 << 3 | 1 << 11 | 1 << 12 | 1 << 13;
    let record = PathRecord {
        dgid: lab.port_gid(to),
        sgid: lab.port_gid(from),
        reversible: true,
        numb_path: 1,
        pkey: PKey::DEFAULT_FULL,
        ..PathRecord::default()
    };
    let request_kind = (Method::Get, id::PATH);
    let reply = try_request(
        &mut lab.world,
        sm,
        from,
        request_kind,
        tid,
        MASK,
        &record.encode(),
    );
    reply.map(|(status, _)| status)
}

impl Members {
    /// No memberships.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The MLID of a group.
    ///
    /// # Panics
    ///
    /// If nobody has joined it.
    #[must_use]
    pub fn mlid(&self, mgid: Gid) -> Lid {
        self.groups[&mgid].mlid
    }

    /// Joins a port with a JoinState, and creates the group if it does not exist.
    ///
    /// # Errors
    ///
    /// The status of the reply.
    pub fn join(
        &mut self,
        lab: &mut Lab,
        at: PortAt,
        mgid: Gid,
        join_state: JoinState,
    ) -> Result<Lid, Status> {
        let sl = multicast_sl(lab.manager().core());
        let record = join_record(mgid, lab.port_gid(at), join_state, sl);
        let known = self.groups.contains_key(&mgid);
        let mask = if known { MEMBER } else { MEMBER | NEW_GROUP };
        let reply = self.send(lab, at, Method::Set, mask, &record)?;
        let is_permanent = mgid == BROADCAST;
        let group = self.groups.entry(mgid).or_insert_with(|| KnownGroup {
            mlid: reply.mlid,
            sl: reply.sl,
            members: BTreeMap::new(),
            is_permanent,
        });
        (group.mlid, group.sl) = (reply.mlid, reply.sl);
        *group.members.entry(at).or_default() |= join_state.0;
        let reregisters = lab.world.fabric().client_reregisters(at);
        self.reregisters.entry(at).or_insert(reregisters);
        Ok(reply.mlid)
    }

    /// Members whose port received ClientReregister since it joined join again, as hosts do.
    ///
    /// # Panics
    ///
    /// If the SM refuses a join.
    pub fn join_again_if_notified(&mut self, lab: &mut Lab) {
        let reregisters = |at: &PortAt| lab.world.fabric().client_reregisters(*at);
        let members = self.groups.values().flat_map(|g| g.members.keys());
        let ports: BTreeMap<PortAt, u32> = members.map(|at| (*at, reregisters(at))).collect();
        let memberships = self.groups.iter().flat_map(|(mgid, g)| {
            let members = g.members.iter();
            members.map(|(at, join_state)| (*at, *mgid, JoinState(*join_state)))
        });
        let is_notified = |at: &PortAt| self.reregisters.get(at).is_none_or(|n| *n < ports[at]);
        let again: Vec<_> = memberships.filter(|(at, ..)| is_notified(at)).collect();
        for (at, mgid, join_state) in again {
            let joined = self.join(lab, at, mgid, join_state);
            joined.unwrap_or_else(|status| panic!("{} {status:?}", lab.describe_run()));
        }
        self.reregisters = ports;
    }

    /// Leaves a group with all JoinState bits.
    ///
    /// # Errors
    ///
    /// The status of the reply.
    ///
    /// # Panics
    ///
    /// If the port is not a member.
    pub fn leave(&mut self, lab: &mut Lab, at: PortAt, mgid: Gid) -> Result<(), Status> {
        let join_state = self.groups[&mgid].members[&at];
        let record = McMemberRecord {
            mgid,
            port_gid: lab.port_gid(at),
            join_state: JoinState(join_state),
            ..McMemberRecord::default()
        };
        self.send(lab, at, Method::Delete, MEMBER, &record)?;
        self.drop_member(at, mgid);
        Ok(())
    }

    /// Joins or leaves a random group from a random port.
    ///
    /// # Panics
    ///
    /// If the reply violates the rules of joins.
    pub fn random_action(
        &mut self,
        lab: &mut Lab,
        ports: &[PortAt],
        groups: &[Gid],
        rng: &mut TestRng,
    ) {
        let at = ports[rng.index(ports.len())];
        let gid = groups[rng.index(groups.len())];
        let is_member = self
            .groups
            .get(&gid)
            .is_some_and(|g| g.members.contains_key(&at));
        if is_member && !rng.one_in(4) {
            let reply = self.leave(lab, at, gid);
            assert!(
                reply.is_ok(),
                "{} leave of a member rejected: {reply:?}",
                lab.describe_run()
            );
            return;
        }
        let join_state = [1, 1, 1, 2, 4, 8][rng.index(6)];
        // Only full and send-only full members can create a group; the broadcast group always
        // exists.
        let exists = self.groups.contains_key(&gid) || gid == BROADCAST;
        let reply = self.join(lab, at, gid, JoinState(join_state));
        assert_eq!(
            reply.is_ok(),
            exists || join_state & 0b1001 != 0,
            "{} {at:?} {gid} {join_state} {reply:?}",
            lab.describe_run()
        );
    }

    /// Removes a port that the SM has removed.
    pub fn remove_port(&mut self, at: PortAt) {
        let all: Vec<Gid> = self.groups.keys().copied().collect();
        all.into_iter().for_each(|mgid| self.drop_member(at, mgid));
    }

    fn drop_member(&mut self, at: PortAt, mgid: Gid) {
        let Some(group) = self.groups.get_mut(&mgid) else {
            return;
        };
        group.members.remove(&at);
        let has_full_member = group
            .members
            .values()
            .any(|join_state| join_state & 0b1001 != 0);
        if !has_full_member && !group.is_permanent {
            self.groups.remove(&mgid);
        }
    }

    fn send(
        &mut self,
        lab: &mut Lab,
        at: PortAt,
        method: Method,
        mask: u64,
        record: &McMemberRecord,
    ) -> Result<McMemberRecord, Status> {
        self.tid += 1;
        let request_kind = (method, id::MC_MEMBER);
        let (status, data) = request(lab, at, request_kind, self.tid, mask, &record.encode());
        if status.is_ok() {
            McMemberRecord::decode_slice(&data).ok_or(status)
        } else {
            Err(status)
        }
    }

    /// The members of a group.
    #[must_use]
    pub fn members_of(&self, mgid: Gid) -> Vec<PortAt> {
        let group = self.groups.get(&mgid);
        group.map_or_else(Vec::new, |g| g.members.keys().copied().collect())
    }

    /// The groups.
    #[must_use]
    pub fn groups(&self) -> Vec<Gid> {
        self.groups.keys().copied().collect()
    }

    /// Asserts that the oracle accepts the fabric with exactly these groups.
    ///
    /// # Panics
    ///
    /// If it does not.
    pub fn assert_correct(&self, lab: &Lab) {
        if let Err(error) = lab.verdict(&self.expect(lab)) {
            panic!("{} {error}", lab.describe_run());
        }
    }

    /// Expectations of the MFTs: exactly these groups. Groups that share an MLID count as one.
    #[must_use]
    pub fn expect(&self, lab: &Lab) -> Expectations {
        let mut groups: BTreeMap<Lid, ExpectedGroup> = BTreeMap::new();
        for g in self.groups.values().filter(|g| !g.members.is_empty()) {
            let group = groups
                .entry(g.mlid)
                .or_insert_with(|| ExpectedGroup::new(g.mlid, []));
            group.sl = g.sl;
            for (at, join_state) in &g.members {
                let receives = join_state & 0b0011 != 0;
                let set = if receives {
                    &mut group.members
                } else {
                    &mut group.senders
                };
                set.insert(*at);
            }
        }
        for group in groups.values_mut() {
            group.senders.retain(|at| !group.members.contains(at));
        }
        lab.expect().groups(groups.into_values().collect())
    }
}
