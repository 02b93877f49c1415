//! Join, create and leave: Set and Delete of MCMemberRecord (docs/sm-behaviour.md 10.1 to 10.8).

use ferrosm_mad::attr::MtuCode;
use ferrosm_mad::ids::{Gid, PKey, PortGuid};
use ferrosm_mad::mad::Status;
use ferrosm_mad::sa::multicast::{JoinState, McMemberRecord, mgid};
use ferrosm_mad::sa::path::{RateCode, Selector};

use super::{GroupMember, GroupParameters, MulticastGroup, MulticastGroups};
use crate::message::{SaRequest, component_value, partition_number};
use crate::view::{EndPortIdx, PortView, View};

/// Components with an index: a query with one of them needs no scan of all records.
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
    /// Required for every join and leave.
    pub(super) const MEMBER: u64 = MGID | PORT_GID | JOIN_STATE;
    /// Additionally required for creating a group (IBA o15-0.1.3).
    pub(super) const NEW_GROUP: u64 = QKEY | TCLASS | PKEY | SL | FLOW_LABEL;
}

/// HopLimit of groups that extend beyond the subnet.
const HOP_LIMIT_WIDE: u8 = 0xFF;

/// The ports that a request concerns.
struct Joiner {
    /// The port that becomes a member, and the GUID in its PortGID.
    port: EndPortIdx,
    guid: PortGuid,
    client: EndPortIdx,
}

impl MulticastGroups {
    /// Set: makes a port a member, and creates the group if it does not exist.
    ///
    /// # Errors
    /// The status of the reply.
    pub fn join(&mut self, view: &View, request: &SaRequest<'_>) -> Result<McMemberRecord, Status> {
        let requested = McMemberRecord::decode(request.data);
        let joiner = decode_joiner(view, request, &requested)?;
        if requested.join_state == JoinState(0) {
            return Err(Status::REQ_INVALID);
        }
        let mgid = if self.groups.contains_key(&requested.mgid) {
            let group = &self.groups[&requested.mgid];
            check_join(view, request, &requested, &joiner, group)?;
            requested.mgid
        } else {
            self.create(view, request, &requested, &joiner)?
        };
        let Some(group) = self.groups.get(&mgid) else {
            return Err(Status::NO_RESOURCES);
        };
        let before = group.members.get(&joiner.guid);
        let before = before.map_or(JoinState(0), |m| m.join_state);
        let member = GroupMember {
            join_state: JoinState(before.0 | requested.join_state.0),
            proxy: requested.is_proxy_join() || joiner.client != joiner.port,
        };
        let record = group.record(mgid, Some((requested.port_gid, member)));
        self.set_member(mgid, joiner.guid, member);
        Ok(record)
    }

    /// Delete: removes the given bits of JoinState from a member.
    ///
    /// # Errors
    /// The status of the reply.
    pub fn leave(
        &mut self,
        view: &View,
        request: &SaRequest<'_>,
    ) -> Result<McMemberRecord, Status> {
        let requested = McMemberRecord::decode(request.data);
        let joiner = decode_joiner(view, request, &requested)?;
        let group = self
            .groups
            .get(&requested.mgid)
            .ok_or(Status::REQ_INVALID)?;
        let pkey = group.parameters.pkey;
        let member = group.members.get(&joiner.guid);
        let member = member.ok_or(Status::REQ_INVALID)?;
        check_may_act_for(
            view,
            &joiner,
            member.proxy || requested.is_proxy_join(),
            pkey,
        )?;
        let leaving = requested.join_state.0;
        if leaving == 0 || leaving & !member.join_state.0 != 0 {
            return Err(Status::REQ_INVALID);
        }
        let removed = GroupMember {
            join_state: JoinState(member.join_state.0 & !leaving),
            ..*member
        };
        let record = group.record(requested.mgid, Some((requested.port_gid, removed)));
        if removed.join_state == JoinState(0) {
            self.remove_member(requested.mgid, joiner.guid);
        } else {
            self.set_member(requested.mgid, joiner.guid, removed);
        }
        self.delete_if_unused(requested.mgid);
        Ok(record)
    }

    fn create(
        &mut self,
        view: &View,
        request: &SaRequest<'_>,
        requested: &McMemberRecord,
        joiner: &Joiner,
    ) -> Result<Gid, Status> {
        if !requested.join_state.preserves_group() {
            return Err(Status::REQ_INVALID);
        }
        if !request.has(component::NEW_GROUP) {
            return Err(Status::INSUFFICIENT_COMPONENTS);
        }
        let has_mgid = requested.mgid != Gid::default();
        let scope = if has_mgid {
            requested.mgid.mgid_scope()
        } else {
            component_value(request, component::SCOPE, requested.scope).unwrap_or(mgid::LINK_LOCAL)
        };
        let broadcast = self.broadcast_parameters(requested.mgid)?;
        let port = view.port(view.end_port(joiner.port).port);
        let (mtu, rate) = match broadcast {
            // Hosts join every IP group with the broadcast group's values: a group with other values could not be joined.
            Some(broadcast)
                if matches_mtu_and_rate(request, requested, broadcast) && fits(port, broadcast) =>
            {
                (broadcast.mtu, broadcast.rate)
            }
            Some(_) => return Err(Status::REQ_INVALID),
            None => (
                new_mtu(request, requested, port.mtu)?,
                new_rate(request, requested, port.rate_rank)?,
            ),
        };
        let parameters = GroupParameters {
            qkey: requested.qkey,
            mtu,
            tclass: requested.tclass,
            pkey: requested.pkey,
            rate,
            packet_life_time: new_life_time(request, requested, view.settings.subnet_timeout)?,
            sl: requested.sl,
            flow_label: requested.flow_label,
            hop_limit: component_value(request, component::HOP_LIMIT, requested.hop_limit)
                .unwrap_or_else(|| {
                    broadcast.map_or_else(|| default_hop_limit(scope), |b| b.hop_limit)
                }),
            scope,
        };
        check_may_act_for(view, joiner, true, parameters.pkey)?;
        if !view.allows_multicast_sl(parameters.sl)
            || !view.is_partition_member(joiner.port, parameters.pkey)
        {
            return Err(Status::REQ_INVALID);
        }
        let gid = if has_mgid {
            is_valid_mgid(requested.mgid, &parameters, broadcast)
                .then_some(requested.mgid)
                .ok_or(Status::REQ_INVALID)?
        } else {
            self.allocate_mgid(view, scope)
        };
        let requested_mlid = component_value(request, component::MLID, requested.mlid);
        self.add(gid, parameters, requested_mlid, false)
            .ok_or(Status::NO_RESOURCES)?;
        Ok(gid)
    }

    /// The parameters of the broadcast group, which a new IPoIB group must match (RFC 4391, 8); `None` for the broadcast group
    /// itself and for groups outside IPoIB.
    ///
    /// # Errors
    /// The status of the reply if the broadcast group does not exist.
    fn broadcast_parameters(&self, gid: Gid) -> Result<Option<&GroupParameters>, Status> {
        let broadcast = mgid::broadcast(gid.mgid_pkey(), gid.mgid_scope());
        if !is_ip_group(gid) || gid == broadcast {
            return Ok(None);
        }
        let group = self.groups.get(&broadcast).ok_or(Status::REQ_INVALID)?;
        Ok(Some(&group.parameters))
    }

    /// An unused MGID: FF1s:A01B with scope s, the subnet prefix, and a counter.
    fn allocate_mgid(&self, view: &View, scope: u8) -> Gid {
        let mut gid = Gid::default();
        gid.0[0] = 0xFF;
        gid.0[1] = 0x10 | scope & 0xF;
        gid.0[2..4].copy_from_slice(&mgid::SA_ALLOCATED.to_be_bytes());
        gid.0[4..12].copy_from_slice(&view.settings.prefix.0.to_be_bytes());
        let (first, mut last) = (gid, gid);
        last.0[12..].fill(0xFF);
        let highest = self.groups.range(first..=last).next_back();
        let next = highest.map_or(1, |(g, _)| {
            u32::from_be_bytes([g.0[12], g.0[13], g.0[14], g.0[15]]).wrapping_add(1)
        });
        // After 2^32 groups the counter wraps to the first unused value.
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

/// Whether a client may create this MGID (docs/sm-behaviour.md 10.3). `broadcast` is the broadcast group of an IPoIB group.
fn is_valid_mgid(gid: Gid, new: &GroupParameters, broadcast: Option<&GroupParameters>) -> bool {
    if !gid.is_multicast() || gid.mgid_flags() & !1 != 0 {
        return false;
    }
    if is_ip_group(gid) {
        // An MGID that contains a P_Key belongs to that partition only.
        return partition_number(gid.mgid_pkey()) == partition_number(new.pkey)
            && broadcast.is_none_or(|b| matches_broadcast_group(b, new));
    }
    // Reserved for MGIDs that the SA allocates.
    gid.mgid_signature() != mgid::SA_ALLOCATED || gid.mgid_scope() != mgid::LINK_LOCAL
}

/// Whether an IPoIB group has the values of its broadcast group (RFC 4391, 8).
fn matches_broadcast_group(broadcast: &GroupParameters, new: &GroupParameters) -> bool {
    (
        broadcast.qkey,
        partition_number(broadcast.pkey),
        broadcast.tclass,
        broadcast.sl,
    ) == (new.qkey, partition_number(new.pkey), new.tclass, new.sl)
        && (broadcast.flow_label, broadcast.hop_limit) == (new.flow_label, new.hop_limit)
}

/// HopLimit if the request has none: 0 keeps packets in the subnet (docs/sm-behaviour.md 10.12).
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
    requested: &McMemberRecord,
) -> Result<Joiner, Status> {
    if !request.has(component::MEMBER) {
        return Err(Status::INSUFFICIENT_COMPONENTS);
    }
    if !view.is_local_prefix(requested.port_gid.prefix()) {
        return Err(Status::INVALID_GID);
    }
    let guid = requested.port_gid.guid();
    let port = view.by_guid(guid).ok_or(Status::REQ_INVALID)?;
    let client = view.by_lid(request.from.lid).ok_or(Status::REQ_INVALID)?;
    Ok(Joiner { port, guid, client })
}

/// Only the port itself may change its membership, or a member of the group's partition if the membership was created by proxy or the
/// request sets ProxyJoin (IBA o15-0.1.2; docs/sm-behaviour.md 10.6). As in OpenSM, a first join for another port need not set ProxyJoin:
/// osmtest does not.
fn check_may_act_for(
    view: &View,
    joiner: &Joiner,
    allows_proxy: bool,
    pkey: PKey,
) -> Result<(), Status> {
    let is_own_port = joiner.client == joiner.port;
    if is_own_port || allows_proxy && view.is_partition_member(joiner.client, pkey) {
        Ok(())
    } else {
        Err(Status::REQ_INVALID)
    }
}

/// Checks that a port can join a group and that the request's components match the group (docs/sm-behaviour.md 10.4).
fn check_join(
    view: &View,
    request: &SaRequest<'_>,
    requested: &McMemberRecord,
    joiner: &Joiner,
    group: &MulticastGroup,
) -> Result<(), Status> {
    let parameters = &group.parameters;
    let current = group.members.get(&joiner.guid);
    let allows_proxy = requested.is_proxy_join() || current.is_none_or(|m| m.proxy);
    check_may_act_for(view, joiner, allows_proxy, parameters.pkey)?;
    let port = view.port(view.end_port(joiner.port).port);
    let fits = fits(port, parameters) && view.is_partition_member(joiner.port, parameters.pkey);
    let matches = |components: u64, is_equal: bool| !request.has(components) || is_equal;
    let agrees = matches(component::QKEY, requested.qkey == parameters.qkey)
        && matches(component::TCLASS, requested.tclass == parameters.tclass)
        && matches(
            component::PKEY,
            partition_number(requested.pkey) == partition_number(parameters.pkey),
        )
        && matches(component::SL, requested.sl == parameters.sl)
        && matches(
            component::FLOW_LABEL,
            requested.flow_label == parameters.flow_label,
        )
        && matches(
            component::HOP_LIMIT,
            requested.hop_limit == parameters.hop_limit,
        )
        && matches(component::MLID, requested.mlid == group.mlid)
        && matches_selectors(request, requested, parameters);
    if fits && agrees {
        Ok(())
    } else {
        Err(Status::REQ_INVALID)
    }
}

/// Whether a port supports the MTU and rate of a group.
fn fits(port: &PortView, parameters: &GroupParameters) -> bool {
    let rank = parameters.rate.rank().and_then(|r| u8::try_from(r).ok());
    port.mtu >= parameters.mtu && rank.is_some_and(|rank| port.rate_rank >= rank)
}

/// Whether a group satisfies the request's MTU, rate and PacketLifeTime with their selectors.
pub(super) fn matches_selectors(
    request: &SaRequest<'_>,
    requested: &McMemberRecord,
    parameters: &GroupParameters,
) -> bool {
    let life = !request.has(component::PACKET_LIFE_TIME)
        || matches_selector(
            requested.packet_life_time_selector,
            Some(parameters.packet_life_time),
            Some(requested.packet_life_time),
        );
    life && matches_mtu_and_rate(request, requested, parameters)
}

/// [`matches_selectors`] for MTU and rate.
fn matches_mtu_and_rate(
    request: &SaRequest<'_>,
    requested: &McMemberRecord,
    parameters: &GroupParameters,
) -> bool {
    let rank = |rate: RateCode| rate.rank();
    let mtu = !request.has(component::MTU)
        || matches_selector(
            requested.mtu_selector,
            Some(parameters.mtu.0),
            Some(requested.mtu.0).filter(|m| (1..=5).contains(m)),
        );
    let rate = !request.has(component::RATE)
        || matches_selector(
            requested.rate_selector,
            rank(parameters.rate),
            rank(requested.rate),
        );
    mtu && rate
}

fn matches_selector<T: Ord>(selector: Selector, actual: Option<T>, requested: Option<T>) -> bool {
    match (selector, actual, requested) {
        (Selector::Best, _, _) => true,
        (Selector::Greater, Some(actual), Some(requested)) => actual > requested,
        (Selector::Less, Some(actual), Some(requested)) => actual < requested,
        (Selector::Exact, Some(actual), Some(requested)) => actual == requested,
        _ => false,
    }
}

/// The MTU of a new group (docs/sm-behaviour.md 10.4); `port` is the joining port's MTU.
fn new_mtu(
    request: &SaRequest<'_>,
    requested: &McMemberRecord,
    port: MtuCode,
) -> Result<MtuCode, Status> {
    if !request.has(component::MTU) {
        return Ok(port);
    }
    let legal = (1..=5).contains(&requested.mtu.0);
    new_value(requested.mtu_selector, port.0, requested.mtu.0, legal, 1).map(MtuCode)
}

fn new_rate(
    request: &SaRequest<'_>,
    requested: &McMemberRecord,
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
    let rank = requested.rate.rank().and_then(|r| u8::try_from(r).ok());
    code(new_value(
        requested.rate_selector,
        port_rank,
        rank.unwrap_or(0),
        rank.is_some(),
        0,
    )?)
}

/// The value that the selector requests, at most that of the port.
fn new_value(
    selector: Selector,
    port: u8,
    requested: u8,
    legal: bool,
    min: u8,
) -> Result<u8, Status> {
    let value = match selector {
        Selector::Best => return Ok(port),
        _ if !legal => None,
        Selector::Greater => (port > requested).then_some(port),
        Selector::Less => requested.checked_sub(1).map(|v| v.min(port)),
        Selector::Exact => (requested <= port).then_some(requested),
        _ => None,
    };
    value.filter(|v| *v >= min).ok_or(Status::REQ_INVALID)
}

fn new_life_time(
    request: &SaRequest<'_>,
    requested: &McMemberRecord,
    default: u8,
) -> Result<u8, Status> {
    /// The field has six bits.
    const LONGEST: u8 = 63;
    if !request.has(component::PACKET_LIFE_TIME) {
        return Ok(default);
    }
    let v = requested.packet_life_time;
    let value = match requested.packet_life_time_selector {
        Selector::Greater => Some(default.max(v + 1)).filter(|v| *v <= LONGEST),
        Selector::Less => v.checked_sub(1).map(|v| v.min(default)),
        Selector::Exact => Some(v),
        _ => Some(default),
    };
    value.ok_or(Status::REQ_INVALID)
}
