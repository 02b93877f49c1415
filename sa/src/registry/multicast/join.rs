//! Join, create and leave: Set and Delete of MCMemberRecord (rules 10.1 to 10.8).

use ferrosm_mad::attr::MtuCode;
use ferrosm_mad::ids::{Gid, PKey, PortGuid};
use ferrosm_mad::mad::Status;
use ferrosm_mad::sa::multicast::{JoinState, McMemberRecord, mgid};
use ferrosm_mad::sa::path::{RateCode, Selector};

use super::{GroupMember, GroupParameters, MulticastGroup, MulticastGroups};
use crate::message::{SaRequest, component_value, partition_number};
use crate::view::{EndPortIdx, PortView, View};

/// Components that have an index.
pub(crate) const INDEXED: u64 = component::MGID | component::PORT_GID | component::MLID;

/// Components of MCMemberRecord.
pub(super) mod component {
    pub(in super::super) const MGID: u64 = 1;
    pub(in super::super) const PORT_GID: u64 = 1 << 1;
    pub(in super::super) const QKEY: u64 = 1 << 2;
    pub(in super::super) const MLID: u64 = 1 << 3;
    pub(in super::super) const MTU: u64 = 0b11 << 4;
    pub(in super::super) const TCLASS: u64 = 1 << 6;
    pub(in super::super) const PKEY: u64 = 1 << 7;
    pub(in super::super) const RATE: u64 = 0b11 << 8;
    pub(in super::super) const PACKET_LIFE_TIME: u64 = 0b11 << 10;
    pub(in super::super) const SL: u64 = 1 << 12;
    pub(in super::super) const FLOW_LABEL: u64 = 1 << 13;
    pub(in super::super) const HOP_LIMIT: u64 = 1 << 14;
    pub(in super::super) const SCOPE: u64 = 1 << 15;
    pub(in super::super) const JOIN_STATE: u64 = 1 << 16;
    pub(in super::super) const PROXY_JOIN: u64 = 1 << 17;
    /// What every join and leave says.
    pub(super) const MEMBER: u64 = MGID | PORT_GID | JOIN_STATE;
    /// What creating a group takes besides (o15-0.1.3).
    pub(super) const NEW_GROUP: u64 = QKEY | TCLASS | PKEY | SL | FLOW_LABEL;
}

/// HopLimit of groups that packets may leave the subnet for.
const HOP_LIMIT_WIDE: u8 = 0xFF;

/// Whom a request is for.
struct Joiner {
    /// The port, and the GUID by which it is named.
    port: EndPortIdx,
    guid: PortGuid,
    client: EndPortIdx,
}

impl MulticastGroups {
    /// Set: makes a port a member, and the group if it is not there.
    ///
    /// # Errors
    /// The status that the client is told.
    pub fn join(&mut self, view: &View, request: &SaRequest<'_>) -> Result<McMemberRecord, Status> {
        let asked = McMemberRecord::decode(request.data);
        let joiner = decode_joiner(view, request, &asked)?;
        if asked.join_state == JoinState(0) {
            return Err(Status::REQ_INVALID);
        }
        let mgid = if self.groups.contains_key(&asked.mgid) {
            let group = &self.groups[&asked.mgid];
            check_join(view, request, &asked, &joiner, group)?;
            asked.mgid
        } else {
            self.create(view, request, &asked, &joiner)?
        };
        let Some(group) = self.groups.get(&mgid) else {
            return Err(Status::NO_RESOURCES);
        };
        let before = group.members.get(&joiner.guid);
        let before = before.map_or(JoinState(0), |m| m.join_state);
        let member = GroupMember {
            join_state: JoinState(before.0 | asked.join_state.0),
            proxy: asked.is_proxy_join() || joiner.client != joiner.port,
        };
        let record = group.record(mgid, Some((asked.port_gid, member)));
        self.set_member(mgid, joiner.guid, member);
        Ok(record)
    }

    /// Delete: a port is no member any more, in the ways that it names.
    ///
    /// # Errors
    /// The status that the client is told.
    pub fn leave(
        &mut self,
        view: &View,
        request: &SaRequest<'_>,
    ) -> Result<McMemberRecord, Status> {
        let asked = McMemberRecord::decode(request.data);
        let joiner = decode_joiner(view, request, &asked)?;
        let group = self.groups.get(&asked.mgid).ok_or(Status::REQ_INVALID)?;
        let pkey = group.parameters.pkey;
        let member = group.members.get(&joiner.guid);
        let member = member.ok_or(Status::REQ_INVALID)?;
        check_may_act_for(view, &joiner, member.proxy || asked.is_proxy_join(), pkey)?;
        let going = asked.join_state.0;
        if going == 0 || going & !member.join_state.0 != 0 {
            return Err(Status::REQ_INVALID);
        }
        let left = GroupMember {
            join_state: JoinState(member.join_state.0 & !going),
            ..*member
        };
        let record = group.record(asked.mgid, Some((asked.port_gid, left)));
        if left.join_state == JoinState(0) {
            self.remove_member(asked.mgid, joiner.guid);
        } else {
            self.set_member(asked.mgid, joiner.guid, left);
        }
        self.delete_if_unused(asked.mgid);
        Ok(record)
    }

    fn create(
        &mut self,
        view: &View,
        request: &SaRequest<'_>,
        asked: &McMemberRecord,
        joiner: &Joiner,
    ) -> Result<Gid, Status> {
        if !asked.join_state.keeps_group() {
            return Err(Status::REQ_INVALID);
        }
        if !request.has(component::NEW_GROUP) {
            return Err(Status::INSUFFICIENT_COMPONENTS);
        }
        let named = asked.mgid != Gid::default();
        let scope = if named {
            asked.mgid.mgid_scope()
        } else {
            component_value(request, component::SCOPE, asked.scope).unwrap_or(mgid::LINK_LOCAL)
        };
        let like = self.broadcast_parameters(asked.mgid)?;
        let port = view.port(view.end_port(joiner.port).port);
        let (mtu, rate) = match like {
            // Hosts join all groups of IP with exactly what the broadcast group has: another value would keep them out.
            Some(like) if matches_mtu_and_rate(request, asked, like) && fits(port, like) => {
                (like.mtu, like.rate)
            }
            Some(_) => return Err(Status::REQ_INVALID),
            None => (
                new_mtu(request, asked, port.mtu)?,
                new_rate(request, asked, port.rate_rank)?,
            ),
        };
        let parameters = GroupParameters {
            qkey: asked.qkey,
            mtu,
            tclass: asked.tclass,
            pkey: asked.pkey,
            rate,
            packet_life_time: new_life_time(request, asked, view.settings.subnet_timeout)?,
            sl: asked.sl,
            flow_label: asked.flow_label,
            hop_limit: component_value(request, component::HOP_LIMIT, asked.hop_limit)
                .unwrap_or_else(|| like.map_or_else(|| default_hop_limit(scope), |b| b.hop_limit)),
            scope,
        };
        check_may_act_for(view, joiner, true, parameters.pkey)?;
        if !view.allows_multicast_sl(parameters.sl)
            || !view.is_partition_member(joiner.port, parameters.pkey)
        {
            return Err(Status::REQ_INVALID);
        }
        let gid = if named {
            is_valid_mgid(asked.mgid, &parameters, like)
                .then_some(asked.mgid)
                .ok_or(Status::REQ_INVALID)?
        } else {
            self.allocate_mgid(view, scope)
        };
        let wanted = component_value(request, component::MLID, asked.mlid);
        self.add(gid, parameters, wanted, false)
            .ok_or(Status::NO_RESOURCES)?;
        Ok(gid)
    }

    /// What the broadcast group has that a new group of IP works by (RFC 4391, 8); none for that group itself, and for groups of
    /// anything else.
    ///
    /// # Errors
    /// The status that the client is told where there is no broadcast group.
    fn broadcast_parameters(&self, gid: Gid) -> Result<Option<&GroupParameters>, Status> {
        let broadcast = mgid::broadcast(gid.mgid_pkey(), gid.mgid_scope());
        if !is_ip_group(gid) || gid == broadcast {
            return Ok(None);
        }
        let group = self.groups.get(&broadcast).ok_or(Status::REQ_INVALID)?;
        Ok(Some(&group.parameters))
    }

    /// A name that no group has: FF, scope, A01B, and numbers that count up within the subnet's prefix.
    fn allocate_mgid(&self, view: &View, scope: u8) -> Gid {
        let mut gid = Gid::default();
        gid.0[0] = 0xFF;
        gid.0[1] = 0x10 | scope & 0xF;
        gid.0[2..4].copy_from_slice(&mgid::ADMINISTRATOR.to_be_bytes());
        gid.0[4..12].copy_from_slice(&view.settings.prefix.0.to_be_bytes());
        let (first, mut last) = (gid, gid);
        last.0[12..].fill(0xFF);
        let highest = self.groups.range(first..=last).next_back();
        let next = highest.map_or(1, |(g, _)| {
            u32::from_be_bytes([g.0[12], g.0[13], g.0[14], g.0[15]]).wrapping_add(1)
        });
        // Only after four thousand million groups the numbers begin again, and one that is free is looked for.
        for number in (next..=u32::MAX).chain(0..next) {
            gid.0[12..].copy_from_slice(&number.to_be_bytes());
            if !self.groups.contains_key(&gid) {
                break;
            }
        }
        gid
    }
}

fn is_ip_group(gid: Gid) -> bool {
    gid.is_multicast() && matches!(gid.mgid_signature(), mgid::IPV4 | mgid::IPV6)
}

/// Whether a client may name a group so (rule 10.3). `like` is the broadcast group of a group of IP.
fn is_valid_mgid(gid: Gid, new: &GroupParameters, like: Option<&GroupParameters>) -> bool {
    if !gid.is_multicast() || gid.mgid_flags() & !1 != 0 {
        return false;
    }
    if is_ip_group(gid) {
        // Nobody takes the name of a partition's group for another partition.
        return partition_number(gid.mgid_pkey()) == partition_number(new.pkey)
            && like.is_none_or(|b| matches_broadcast_group(b, new));
    }
    // Reserved for names that the administrator gives.
    gid.mgid_signature() != mgid::ADMINISTRATOR || gid.mgid_scope() != mgid::LINK_LOCAL
}

/// Whether a group of IP has what its broadcast group has (RFC 4391, 8).
fn matches_broadcast_group(has: &GroupParameters, new: &GroupParameters) -> bool {
    (has.qkey, partition_number(has.pkey), has.tclass, has.sl)
        == (new.qkey, partition_number(new.pkey), new.tclass, new.sl)
        && (has.flow_label, has.hop_limit) == (new.flow_label, new.hop_limit)
}

/// HopLimit where the client gives none: 0 keeps packets in the subnet (rule 10.12).
const fn default_hop_limit(scope: u8) -> u8 {
    if scope == mgid::LINK_LOCAL {
        0
    } else {
        HOP_LIMIT_WIDE
    }
}

fn decode_joiner(
    view: &View,
    request: &SaRequest<'_>,
    asked: &McMemberRecord,
) -> Result<Joiner, Status> {
    if !request.has(component::MEMBER) {
        return Err(Status::INSUFFICIENT_COMPONENTS);
    }
    if !view.is_local_prefix(asked.port_gid.prefix()) {
        return Err(Status::INVALID_GID);
    }
    let guid = asked.port_gid.guid();
    let port = view.by_guid(guid).ok_or(Status::REQ_INVALID)?;
    let client = view.by_lid(request.from.lid).ok_or(Status::REQ_INVALID)?;
    Ok(Joiner { port, guid, client })
}

/// A port's membership is its own, unless somebody of the group's partition began it for the port, or says that it acts for it
/// (o15-0.1.2; rule 10.6). As with OpenSM, whoever joins for another port need not say so: osmtest does not.
fn check_may_act_for(
    view: &View,
    joiner: &Joiner,
    for_others: bool,
    pkey: PKey,
) -> Result<(), Status> {
    let own = joiner.client == joiner.port;
    if own || for_others && view.is_partition_member(joiner.client, pkey) {
        Ok(())
    } else {
        Err(Status::REQ_INVALID)
    }
}

/// Whether a port fits a group, and what the client says of it is so (rule 10.4).
fn check_join(
    view: &View,
    request: &SaRequest<'_>,
    asked: &McMemberRecord,
    joiner: &Joiner,
    group: &MulticastGroup,
) -> Result<(), Status> {
    let has = &group.parameters;
    let present = group.members.get(&joiner.guid);
    let for_others = asked.is_proxy_join() || present.is_none_or(|m| m.proxy);
    check_may_act_for(view, joiner, for_others, has.pkey)?;
    let port = view.port(view.end_port(joiner.port).port);
    let fits = fits(port, has) && view.is_partition_member(joiner.port, has.pkey);
    let same = |components: u64, yes: bool| !request.has(components) || yes;
    let agrees = same(component::QKEY, asked.qkey == has.qkey)
        && same(component::TCLASS, asked.tclass == has.tclass)
        && same(
            component::PKEY,
            partition_number(asked.pkey) == partition_number(has.pkey),
        )
        && same(component::SL, asked.sl == has.sl)
        && same(component::FLOW_LABEL, asked.flow_label == has.flow_label)
        && same(component::HOP_LIMIT, asked.hop_limit == has.hop_limit)
        && same(component::MLID, asked.mlid == group.mlid)
        && matches_selectors(request, asked, has);
    if fits && agrees {
        Ok(())
    } else {
        Err(Status::REQ_INVALID)
    }
}

/// Whether a port can take the packets of a group.
fn fits(port: &PortView, has: &GroupParameters) -> bool {
    let rank = has.rate.rank().and_then(|r| u8::try_from(r).ok());
    port.mtu >= has.mtu && rank.is_some_and(|rank| port.rate_rank >= rank)
}

/// Whether what a client asks of MTU, rate and life time is so of a group.
pub(super) fn matches_selectors(
    request: &SaRequest<'_>,
    asked: &McMemberRecord,
    has: &GroupParameters,
) -> bool {
    let life = !request.has(component::PACKET_LIFE_TIME)
        || matches_selector(
            asked.packet_life_time_selector,
            Some(has.packet_life_time),
            Some(asked.packet_life_time),
        );
    life && matches_mtu_and_rate(request, asked, has)
}

/// The same of MTU and rate.
fn matches_mtu_and_rate(
    request: &SaRequest<'_>,
    asked: &McMemberRecord,
    has: &GroupParameters,
) -> bool {
    let rank = |rate: RateCode| rate.rank();
    let mtu = !request.has(component::MTU)
        || matches_selector(
            asked.mtu_selector,
            Some(has.mtu.0),
            Some(asked.mtu.0).filter(|m| (1..=5).contains(m)),
        );
    let rate = !request.has(component::RATE)
        || matches_selector(asked.rate_selector, rank(has.rate), rank(asked.rate));
    mtu && rate
}

fn matches_selector<T: Ord>(selector: Selector, has: Option<T>, asked: Option<T>) -> bool {
    match (selector, has, asked) {
        (Selector::Best, _, _) => true,
        (Selector::Greater, Some(has), Some(asked)) => has > asked,
        (Selector::Less, Some(has), Some(asked)) => has < asked,
        (Selector::Exact, Some(has), Some(asked)) => has == asked,
        _ => false,
    }
}

/// The MTU of a new group (rule 10.4): `port` is the joiner's.
fn new_mtu(
    request: &SaRequest<'_>,
    asked: &McMemberRecord,
    port: MtuCode,
) -> Result<MtuCode, Status> {
    if !request.has(component::MTU) {
        return Ok(port);
    }
    let legal = (1..=5).contains(&asked.mtu.0);
    new_value(asked.mtu_selector, port.0, asked.mtu.0, legal, 1).map(MtuCode)
}

fn new_rate(
    request: &SaRequest<'_>,
    asked: &McMemberRecord,
    port_rank: u8,
) -> Result<RateCode, Status> {
    let code = |rank: u8| {
        RateCode::ASCENDING
            .get(usize::from(rank))
            .copied()
            .ok_or(Status::REQ_INVALID)
    };
    if !request.has(component::RATE) {
        return code(port_rank);
    }
    let rank = asked.rate.rank().and_then(|r| u8::try_from(r).ok());
    code(new_value(
        asked.rate_selector,
        port_rank,
        rank.unwrap_or(0),
        rank.is_some(),
        0,
    )?)
}

/// A value up to what the port can, as the client wants it.
fn new_value(
    selector: Selector,
    port: u8,
    asked: u8,
    legal: bool,
    least: u8,
) -> Result<u8, Status> {
    let value = match selector {
        Selector::Best => return Ok(port),
        _ if !legal => None,
        Selector::Greater => (port > asked).then_some(port),
        Selector::Less => asked.checked_sub(1).map(|v| v.min(port)),
        Selector::Exact => (asked <= port).then_some(asked),
        _ => None,
    };
    value.filter(|v| *v >= least).ok_or(Status::REQ_INVALID)
}

fn new_life_time(
    request: &SaRequest<'_>,
    asked: &McMemberRecord,
    default: u8,
) -> Result<u8, Status> {
    /// The longest that six bits can say.
    const LONGEST: u8 = 63;
    if !request.has(component::PACKET_LIFE_TIME) {
        return Ok(default);
    }
    let v = asked.packet_life_time;
    let value = match asked.packet_life_time_selector {
        Selector::Greater => Some(default.max(v + 1)).filter(|v| *v <= LONGEST),
        Selector::Less => v.checked_sub(1).map(|v| v.min(default)),
        Selector::Exact => Some(v),
        _ => Some(default),
    };
    value.ok_or(Status::REQ_INVALID)
}
