//! Hosts that join and leave multicast groups: they send what the kernel sends, and remember what they were told.
//!
//! Who is a member of what is known here from requests and replies alone, by the rules of IBA 15.2.5.19; the oracle compares
//! it with the bytes in the switches.

use std::collections::BTreeMap;

use ferrosm_core::{Input, SubnetManager};
use ferrosm_mad::attr::MtuCode;
use ferrosm_mad::ids::{AttrId, Gid, GidPrefix, Lid, PKey, Sl, Tid};
use ferrosm_mad::mad::{MadHeader, Method, Status};
use ferrosm_mad::sa::multicast::{JoinState, McMemberRecord, mgid};
use ferrosm_mad::sa::path::{PathRecord, RateCode, Selector};
use ferrosm_mad::sa::{self, id};
use ferrosm_mad::transport::gmp::Peer;
use ferrosm_sim::oracle::{Expectations, ExpectedGroup};
use ferrosm_sim::spec::PortAt;
use ferrosm_sim::world::{SmId, World};

use crate::sa_wire::Ask;
use crate::simulated::{Dice, Lab, Sm};

/// MGID, PortGID and JoinState: what a member says.
pub const MEMBER: u64 = 1 | 1 << 1 | 1 << 16;
/// What a creator says beside: Q_Key, TClass, P_Key, SL and FlowLabel; MTU and rate too, because those of the creator may be more
/// than others have.
pub const NEW_GROUP: u64 = 1 << 2 | 0b11 << 4 | 1 << 6 | 1 << 7 | 0b11 << 8 | 1 << 12 | 1 << 13;

/// The group that is there without members.
pub const BROADCAST: Gid = mgid::broadcast(PKey::DEFAULT_FULL, mgid::LINK_LOCAL);

/// A group that has no special meaning.
#[must_use]
pub fn plain(n: u8) -> Gid {
    let mut gid = Gid([0; 16]);
    (gid.0[0], gid.0[1], gid.0[15]) = (0xFF, 0x12, n);
    gid
}

/// End ports of hosts, those with a cable.
#[must_use]
pub fn hosts(lab: &Lab) -> Vec<PortAt> {
    let fabric = lab.world.fabric();
    fabric
        .end_ports()
        .filter(|p| !fabric.is_switch(p.node) && fabric.peer(*p).is_some())
        .collect()
}

fn port_gid(lab: &Lab, at: PortAt) -> Gid {
    Gid::new(GidPrefix::DEFAULT, lab.world.fabric().port_guid(at))
}

/// A group as its members know it.
#[derive(Debug, Clone)]
struct Known {
    mlid: Lid,
    sl: Sl,
    /// In which ways each is a member.
    members: BTreeMap<PortAt, u8>,
    /// It is there without members.
    lasting: bool,
}

/// All hosts and what they are members of.
#[derive(Debug, Clone, Default)]
pub struct Members {
    groups: BTreeMap<Gid, Known>,
    tid: u64,
}

/// What a port says that joins a group, and creates it if need be.
#[must_use]
pub fn creator(mgid: Gid, port_gid: Gid, how: JoinState, sl: Sl) -> McMemberRecord {
    McMemberRecord {
        mgid,
        port_gid,
        join_state: how,
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

/// The SL of a new group that a manager can serve.
#[must_use]
pub fn groups_sl(core: &SubnetManager) -> Sl {
    core.view().and_then(|v| v.multicast_sl()).unwrap_or(Sl(0))
}

/// The header of a message.
///
/// # Panics
/// If it is shorter.
#[must_use]
pub fn header(message: &[u8]) -> MadHeader {
    let header = MadHeader::decode_slice(message);
    header.unwrap_or_else(|| panic!("a message of {} bytes", message.len()))
}

/// Asks a manager's subnet administrator from a port, in no virtual time; `None` if it does not answer at once.
pub fn try_ask(
    world: &mut World<Sm>,
    manager: SmId,
    from: PortAt,
    (method, attr): (Method, AttrId),
    tid: u64,
    mask: u64,
    data: &[u8],
) -> Option<(Status, Vec<u8>)> {
    let request = Ask {
        mask,
        data: data.to_vec(),
        ..Ask::new(0, method.0, attr.0)
    };
    let bytes = request.to_bytes(tid);
    let from = Peer {
        lid: world.fabric().lid(from).0,
        ..Peer::default()
    };
    world.with_sm(manager, |sm, now| {
        sm.replies.clear();
        sm.command(Input::Gmp { from, bytes }, now);
    })?;
    let taken = world.with_sm(manager, |sm, _| core::mem::take(&mut sm.replies))?;
    let mut replies = taken.iter().map(|(_, bytes)| (header(bytes), bytes));
    let (header, bytes) = replies.find(|(header, _)| header.tid == Tid(tid))?;
    let data = bytes.get(sa::DATA_OFFSET..).unwrap_or_default();
    Some((Status(header.status), data.to_vec()))
}

/// Asks the manager's subnet administrator from a port, in no virtual time.
///
/// # Panics
/// If it does not answer at once.
pub fn ask(
    lab: &mut Lab,
    from: PortAt,
    what: (Method, AttrId),
    tid: u64,
    mask: u64,
    data: &[u8],
) -> (Status, Vec<u8>) {
    let told = try_ask(&mut lab.world, lab.sm, from, what, tid, mask, data);
    told.unwrap_or_else(|| panic!("{} no answer", lab.repeat()))
}

/// A join of the broadcast group, sent once to a manager: the status of the reply, `None` if the SM drops it.
pub fn try_join_broadcast(lab: &mut Lab, sm: SmId, at: PortAt, tid: u64) -> Option<Status> {
    let record = creator(BROADCAST, port_gid(lab, at), JoinState::FULL, Sl(0)).encode();
    let what = (Method::Set, id::MC_MEMBER);
    let reply = try_ask(&mut lab.world, sm, at, what, tid, MEMBER, &record);
    reply.map(|(status, _)| status)
}

/// A query for the path to another port as IPoIB makes it, sent once to a manager: the status of the reply, `None` if the SM drops
/// it.
pub fn try_path(lab: &mut Lab, sm: SmId, (from, to): (PortAt, PortAt), tid: u64) -> Option<Status> {
    /// DGID, SGID, Reversible, NumbPath, P_Key.
    const MASK: u64 = 1 << 2 | 1 << 3 | 1 << 11 | 1 << 12 | 1 << 13;
    let record = PathRecord {
        dgid: port_gid(lab, to),
        sgid: port_gid(lab, from),
        reversible: true,
        numb_path: 1,
        pkey: PKey::DEFAULT_FULL,
        ..PathRecord::default()
    };
    let what = (Method::Get, id::PATH);
    let reply = try_ask(&mut lab.world, sm, from, what, tid, MASK, &record.encode());
    reply.map(|(status, _)| status)
}

impl Members {
    /// Nobody is a member of anything.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A port joins, or joins in more ways; a group that is not there is created.
    ///
    /// # Errors
    /// What it is told.
    pub fn join(
        &mut self,
        lab: &mut Lab,
        at: PortAt,
        mgid: Gid,
        how: JoinState,
    ) -> Result<Lid, Status> {
        let sl = groups_sl(lab.manager().core());
        let record = creator(mgid, port_gid(lab, at), how, sl);
        let known = self.groups.contains_key(&mgid);
        let mask = if known { MEMBER } else { MEMBER | NEW_GROUP };
        let told = self.send(lab, at, Method::Set, mask, &record)?;
        let lasting = mgid == BROADCAST;
        let group = self.groups.entry(mgid).or_insert_with(|| Known {
            mlid: told.mlid,
            sl: told.sl,
            members: BTreeMap::new(),
            lasting,
        });
        (group.mlid, group.sl) = (told.mlid, told.sl);
        *group.members.entry(at).or_default() |= how.0;
        Ok(told.mlid)
    }

    /// A port leaves in all ways.
    ///
    /// # Errors
    /// What it is told.
    ///
    /// # Panics
    /// If it is no member.
    pub fn leave(&mut self, lab: &mut Lab, at: PortAt, mgid: Gid) -> Result<(), Status> {
        let how = self.groups[&mgid].members[&at];
        let record = McMemberRecord {
            mgid,
            port_gid: port_gid(lab, at),
            join_state: JoinState(how),
            ..McMemberRecord::default()
        };
        self.send(lab, at, Method::Delete, MEMBER, &record)?;
        self.drop_member(at, mgid);
        Ok(())
    }

    /// A random port joins a random group in a random way, or leaves it.
    ///
    /// # Panics
    /// If it is told anything but what the rules of joins say.
    pub fn random_action(
        &mut self,
        lab: &mut Lab,
        all: &[PortAt],
        groups: &[Gid],
        dice: &mut Dice,
    ) {
        let (at, gid) = (all[dice.index(all.len())], groups[dice.index(groups.len())]);
        let member = self
            .groups
            .get(&gid)
            .is_some_and(|g| g.members.contains_key(&at));
        if member && !dice.one_in(4) {
            let told = self.leave(lab, at, gid);
            assert!(
                told.is_ok(),
                "{} a member may leave: {told:?}",
                lab.repeat()
            );
            return;
        }
        let how = [1, 1, 1, 2, 4, 8][dice.index(6)];
        // Only who keeps a group alive may create it; the broadcast group is always there.
        let there = self.groups.contains_key(&gid) || gid == BROADCAST;
        let told = self.join(lab, at, gid, JoinState(how));
        assert_eq!(
            told.is_ok(),
            there || how & 0b1001 != 0,
            "{} {at:?} {gid} {how} {told:?}",
            lab.repeat()
        );
    }

    /// A port is not there any more: whoever manages the groups has seen that.
    pub fn lost(&mut self, at: PortAt) {
        let all: Vec<Gid> = self.groups.keys().copied().collect();
        all.into_iter().for_each(|mgid| self.drop_member(at, mgid));
    }

    fn drop_member(&mut self, at: PortAt, mgid: Gid) {
        let Some(group) = self.groups.get_mut(&mgid) else {
            return;
        };
        group.members.remove(&at);
        let alive = group.members.values().any(|how| how & 0b1001 != 0);
        if !alive && !group.lasting {
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
        let what = (method, id::MC_MEMBER);
        let (status, data) = ask(lab, at, what, self.tid, mask, &record.encode());
        if status.is_ok() {
            McMemberRecord::decode_slice(&data).ok_or(status)
        } else {
            Err(status)
        }
    }

    /// Who is a member of a group.
    #[must_use]
    pub fn of(&self, mgid: Gid) -> Vec<PortAt> {
        let group = self.groups.get(&mgid);
        group.map_or_else(Vec::new, |g| g.members.keys().copied().collect())
    }

    /// The groups.
    #[must_use]
    pub fn groups(&self) -> Vec<Gid> {
        self.groups.keys().copied().collect()
    }

    /// What is expected of the tables: exactly these groups. Those that share an MLID are one group to switches.
    #[must_use]
    pub fn expect(&self, lab: &Lab) -> Expectations {
        let mut groups: BTreeMap<Lid, ExpectedGroup> = BTreeMap::new();
        for g in self.groups.values().filter(|g| !g.members.is_empty()) {
            let group = groups
                .entry(g.mlid)
                .or_insert_with(|| ExpectedGroup::new(g.mlid, []));
            group.sl = g.sl;
            for (at, how) in &g.members {
                let receives = how & 0b0011 != 0;
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
