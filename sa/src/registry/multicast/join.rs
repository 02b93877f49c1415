//! Join, create and leave: Set and Delete of MCMemberRecord (docs/sm-behaviour.md 10.1 to 10.8).

use ferrosm_fabric::pkey_set::partition_number;
use ferrosm_fabric::snapshot::{EndPortIdx, SnapshotPort};
use ferrosm_mad::attr::MtuCode;
use ferrosm_mad::ids::{Gid, PKey, PortGuid};
use ferrosm_mad::sa::multicast::{JoinState, McMemberRecord, mgid};
use ferrosm_mad::sa::path::{RateCode, Selector};

use super::MulticastGroups;
use crate::message::{SaRequest, component_value};
use crate::refusal::{Bound, SaRefusal};
use crate::registry::group::{GroupMember, GroupParameters, MulticastGroup};
use crate::view::View;

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
    /// The refusal.
    pub fn join(
        &mut self,
        view: &View,
        request: &SaRequest<'_>,
    ) -> Result<McMemberRecord, SaRefusal> {
        let requested = McMemberRecord::decode(request.data);
        let joiner = decode_joiner(view, request, &requested)?;
        if requested.join_state == JoinState(0) {
            return Err(SaRefusal::JoinState {
                requested: requested.join_state,
                member: JoinState(0),
            });
        }
        let mgid = if self.groups.contains_key(&requested.mgid) {
            let group = &self.groups[&requested.mgid];
            check_join(view, request, &requested, &joiner, group)?;
            requested.mgid
        } else {
            self.create(view, request, &requested, &joiner)?
        };
        let Some(group) = self.groups.get(&mgid) else {
            return Err(SaRefusal::NoGroup);
        };
        let member = match group.members.get(&joiner.guid) {
            Some(member) => GroupMember {
                join_state: JoinState(member.join_state.0 | requested.join_state.0),
                ..*member
            },
            // The source decides, not the request: a host that set ProxyJoin for its own port could
            // be removed by any other.
            None => GroupMember {
                join_state: requested.join_state,
                proxy: joiner.client != joiner.port,
            },
        };
        let record = group.record(mgid, Some((requested.port_gid, member)));
        self.set_member(mgid, joiner.guid, member);
        Ok(record)
    }

    /// Delete: removes the given bits of JoinState from a member.
    ///
    /// # Errors
    /// The refusal.
    pub fn leave(
        &mut self,
        view: &View,
        request: &SaRequest<'_>,
    ) -> Result<McMemberRecord, SaRefusal> {
        let requested = McMemberRecord::decode(request.data);
        let joiner = decode_joiner(view, request, &requested)?;
        let group = self.groups.get(&requested.mgid).ok_or(SaRefusal::NoGroup)?;
        let pkey = group.parameters.pkey;
        let member = group
            .members
            .get(&joiner.guid)
            .ok_or(SaRefusal::NotMember)?;
        check_may_act_for(view, &joiner, member.proxy, pkey)?;
        let leaving = requested.join_state.0;
        if leaving == 0 || leaving & !member.join_state.0 != 0 {
            return Err(SaRefusal::JoinState {
                requested: requested.join_state,
                member: member.join_state,
            });
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
    ) -> Result<Gid, SaRefusal> {
        if !requested.join_state.preserves_group() {
            return Err(SaRefusal::JoinState {
                requested: requested.join_state,
                member: JoinState(0),
            });
        }
        if !request.has(component::NEW_GROUP) {
            let missing = component::NEW_GROUP & !request.component_mask;
            return Err(SaRefusal::CannotCreate(missing));
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
            // Hosts join every IP group with the broadcast group's values: a group with other
            // values could not be joined.
            Some(broadcast) => {
                check_mtu_and_rate(request, requested, broadcast)?;
                check_port(port, broadcast)?;
                (broadcast.mtu, broadcast.rate)
            }
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
        if !view.allows_multicast_sl(parameters.sl) {
            return Err(SaRefusal::NotMulticastSl(parameters.sl));
        }
        if !view.is_partition_member(joiner.port, parameters.pkey) {
            return Err(SaRefusal::NotInPartition(parameters.pkey));
        }
        let gid = if has_mgid {
            check_mgid(requested.mgid, &parameters, broadcast)?;
            requested.mgid
        } else {
            self.allocate_mgid(view, scope)
        };
        let requested_mlid = component_value(request, component::MLID, requested.mlid);
        self.add(gid, parameters, requested_mlid, false)
            .ok_or(SaRefusal::NoMlid)?;
        Ok(gid)
    }

    /// The parameters of the broadcast group, which a new IPoIB group must match (RFC 4391, 8);
    /// `None` for the broadcast group itself and for groups outside IPoIB.
    ///
    /// # Errors
    /// The broadcast group does not exist.
    fn broadcast_parameters(&self, gid: Gid) -> Result<Option<&GroupParameters>, SaRefusal> {
        let broadcast = mgid::broadcast(gid.mgid_pkey(), gid.mgid_scope());
        if !is_ip_group(gid) || gid == broadcast {
            return Ok(None);
        }
        let group = self
            .groups
            .get(&broadcast)
            .ok_or(SaRefusal::NoBroadcastGroup(broadcast))?;
        Ok(Some(&group.parameters))
    }

    /// An unused MGID: FF1s:A01B with scope s, the subnet prefix, and a counter.
    fn allocate_mgid(&self, view: &View, scope: u8) -> Gid {
        let mut gid = Gid::default();
        gid.0[0] = 0xFF;
        gid.0[1] = 0x10 | scope & 0xF;
        gid.0[2..4].copy_from_slice(&mgid::SA_ALLOCATED.to_be_bytes());
        gid.0[4..12].copy_from_slice(&view.prefix.0.to_be_bytes());
        let first = gid;
        let mut last = gid;
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

/// Checks whether a client may create this MGID (docs/sm-behaviour.md 10.3). `broadcast` is the
/// broadcast group of an IPoIB group.
fn check_mgid(
    gid: Gid,
    new: &GroupParameters,
    broadcast: Option<&GroupParameters>,
) -> Result<(), SaRefusal> {
    if !gid.is_multicast() || gid.mgid_flags() & !1 != 0 {
        return Err(SaRefusal::InvalidMgid);
    }
    if is_ip_group(gid) {
        // An MGID that contains a P_Key belongs to that partition only.
        let of_mgid = partition_number(gid.mgid_pkey());
        check_value("P_Key", partition_number(new.pkey), of_mgid)?;
        return broadcast.map_or(Ok(()), |broadcast| check_broadcast_values(broadcast, new));
    }
    // Reserved for MGIDs that the SA allocates.
    if gid.mgid_signature() == mgid::SA_ALLOCATED && gid.mgid_scope() == mgid::LINK_LOCAL {
        return Err(SaRefusal::InvalidMgid);
    }
    Ok(())
}

/// Checks that an IPoIB group has the values of its broadcast group (RFC 4391, 8).
fn check_broadcast_values(
    broadcast: &GroupParameters,
    new: &GroupParameters,
) -> Result<(), SaRefusal> {
    check_value("Q_Key", new.qkey, broadcast.qkey)?;
    let pkeys = (partition_number(new.pkey), partition_number(broadcast.pkey));
    check_value("P_Key", pkeys.0, pkeys.1)?;
    check_value("TClass", new.tclass, broadcast.tclass)?;
    check_value("SL", new.sl.0, broadcast.sl.0)?;
    check_value("FlowLabel", new.flow_label, broadcast.flow_label)?;
    check_value("HopLimit", new.hop_limit, broadcast.hop_limit)
}

/// Checks that a component of a request has the value of the group.
fn check_value(
    name: &'static str,
    requested: impl Into<u32>,
    group: impl Into<u32>,
) -> Result<(), SaRefusal> {
    let requested = requested.into();
    let group = group.into();
    if requested == group {
        return Ok(());
    }
    Err(SaRefusal::OtherValue {
        name,
        requested,
        group,
    })
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
) -> Result<Joiner, SaRefusal> {
    if !request.has(component::MEMBER) {
        return Err(SaRefusal::MissingComponents("MGID, PortGID or JoinState"));
    }
    if !view.is_local_prefix(requested.port_gid.prefix()) {
        return Err(SaRefusal::ForeignPortGid(requested.port_gid));
    }
    let client = view.requester(&request.from)?;
    let guid = requested.port_gid.guid();
    if guid == PortGuid(0) {
        return Err(SaRefusal::InvalidField("PortGID"));
    }
    // Virtual functions join as soon as they have a GUID, which may not be registered yet.
    let port = view
        .by_guid(guid)
        .ok_or(SaRefusal::UnknownPortGid(requested.port_gid))?;
    Ok(Joiner { port, guid, client })
}

/// Only the port itself may change its membership, or a member of the group's partition if another
/// port created the membership (IBA o15-0.1.2, o15-0.1.14, o15-0.2.1; docs/sm-behaviour.md 10.6).
/// ProxyJoin in the request has no effect. As in OpenSM, any member of the partition may create a
/// membership of another port: osmtest does.
fn check_may_act_for(
    view: &View,
    joiner: &Joiner,
    allows_proxy: bool,
    pkey: PKey,
) -> Result<(), SaRefusal> {
    if joiner.client == joiner.port {
        Ok(())
    } else if !allows_proxy {
        Err(SaRefusal::OtherPort)
    } else if !view.is_partition_member(joiner.client, pkey) {
        Err(SaRefusal::RequesterNotInPartition(pkey))
    } else {
        Ok(())
    }
}

/// Checks that a port can join a group and that the request's components match the group
/// (docs/sm-behaviour.md 10.4).
fn check_join(
    view: &View,
    request: &SaRequest<'_>,
    requested: &McMemberRecord,
    joiner: &Joiner,
    group: &MulticastGroup,
) -> Result<(), SaRefusal> {
    let parameters = &group.parameters;
    let current = group.members.get(&joiner.guid);
    let allows_proxy = current.is_none_or(|m| m.proxy);
    check_may_act_for(view, joiner, allows_proxy, parameters.pkey)?;
    check_port(view.port(view.end_port(joiner.port).port), parameters)?;
    if !view.is_partition_member(joiner.port, parameters.pkey) {
        return Err(SaRefusal::NotInPartition(parameters.pkey));
    }
    let check = |components: u64, name, requested: u32, group: u32| {
        if request.has(components) {
            check_value(name, requested, group)
        } else {
            Ok(())
        }
    };
    check(component::QKEY, "Q_Key", requested.qkey, parameters.qkey)?;
    check(
        component::TCLASS,
        "TClass",
        requested.tclass.into(),
        parameters.tclass.into(),
    )?;
    let partitions = [requested.pkey, parameters.pkey].map(partition_number);
    let [pkey, group_pkey] = partitions.map(u32::from);
    check(component::PKEY, "P_Key", pkey, group_pkey)?;
    check(
        component::SL,
        "SL",
        requested.sl.0.into(),
        parameters.sl.0.into(),
    )?;
    check(
        component::FLOW_LABEL,
        "FlowLabel",
        requested.flow_label,
        parameters.flow_label,
    )?;
    check(
        component::HOP_LIMIT,
        "HopLimit",
        requested.hop_limit.into(),
        parameters.hop_limit.into(),
    )?;
    check(
        component::MLID,
        "MLID",
        requested.mlid.0.into(),
        group.mlid.0.into(),
    )?;
    check_selectors(request, requested, parameters)
}

/// Checks that a port supports the MTU and the rate of a group.
pub(crate) fn check_port(
    port: &SnapshotPort,
    parameters: &GroupParameters,
) -> Result<(), SaRefusal> {
    if port.mtu < parameters.mtu {
        return Err(SaRefusal::MtuTooLow {
            group: parameters.mtu,
            port: port.mtu,
        });
    }
    let rank = parameters.rate.rank().and_then(|r| u8::try_from(r).ok());
    if rank.is_some_and(|rank| port.rate_rank >= rank) {
        return Ok(());
    }
    Err(SaRefusal::RateTooLow {
        group: parameters.rate,
        link: rate_of_rank(port.rate_rank),
    })
}

/// The rate with an index in [`RateCode::ASCENDING`].
fn rate_of_rank(rank: u8) -> RateCode {
    let rate = RateCode::ASCENDING.get(usize::from(rank)).copied();
    rate.unwrap_or(RateCode(0))
}

/// Whether a group satisfies the request's MTU, rate and PacketLifeTime with their selectors.
pub(super) fn matches_selectors(
    request: &SaRequest<'_>,
    requested: &McMemberRecord,
    parameters: &GroupParameters,
) -> bool {
    check_selectors(request, requested, parameters).is_ok()
}

/// [`matches_selectors`], with the refusal.
fn check_selectors(
    request: &SaRequest<'_>,
    requested: &McMemberRecord,
    parameters: &GroupParameters,
) -> Result<(), SaRefusal> {
    check_mtu_and_rate(request, requested, parameters)?;
    let bound = Bound {
        selector: requested.packet_life_time_selector,
        requested: requested.packet_life_time,
        actual: parameters.packet_life_time,
    };
    let values = (Some(bound.actual), Some(bound.requested));
    if request.has(component::PACKET_LIFE_TIME)
        && !matches_selector(bound.selector, values.0, values.1)
    {
        return Err(SaRefusal::GroupLifeTime(bound));
    }
    Ok(())
}

/// [`check_selectors`] for MTU and rate.
fn check_mtu_and_rate(
    request: &SaRequest<'_>,
    requested: &McMemberRecord,
    parameters: &GroupParameters,
) -> Result<(), SaRefusal> {
    let mtu = Bound {
        selector: requested.mtu_selector,
        requested: requested.mtu,
        actual: parameters.mtu,
    };
    let legal = Some(mtu.requested.0).filter(|m| (1..=5).contains(m));
    if request.has(component::MTU) && !matches_selector(mtu.selector, Some(mtu.actual.0), legal) {
        return Err(SaRefusal::GroupMtu(mtu));
    }
    let rate = Bound {
        selector: requested.rate_selector,
        requested: requested.rate,
        actual: parameters.rate,
    };
    let ranks = (rate.actual.rank(), rate.requested.rank());
    if request.has(component::RATE) && !matches_selector(rate.selector, ranks.0, ranks.1) {
        return Err(SaRefusal::GroupRate(rate));
    }
    Ok(())
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
) -> Result<MtuCode, SaRefusal> {
    if !request.has(component::MTU) {
        return Ok(port);
    }
    let legal = (1..=5).contains(&requested.mtu.0);
    let value = new_value(requested.mtu_selector, port.0, requested.mtu.0, legal, 1);
    value.map(MtuCode).ok_or(SaRefusal::GroupMtu(Bound {
        selector: requested.mtu_selector,
        requested: requested.mtu,
        actual: port,
    }))
}

fn new_rate(
    request: &SaRequest<'_>,
    requested: &McMemberRecord,
    port_rank: u8,
) -> Result<RateCode, SaRefusal> {
    let refusal = SaRefusal::GroupRate(Bound {
        selector: requested.rate_selector,
        requested: requested.rate,
        actual: rate_of_rank(port_rank),
    });
    let rank = if request.has(component::RATE) {
        let rank = requested.rate.rank().and_then(|r| u8::try_from(r).ok());
        let is_legal = rank.is_some();
        let selector = requested.rate_selector;
        new_value(selector, port_rank, rank.unwrap_or(0), is_legal, 0)
    } else {
        Some(port_rank)
    };
    let rate = rank.and_then(|rank| RateCode::ASCENDING.get(usize::from(rank)));
    rate.copied().ok_or(refusal)
}

/// The value that the selector requests, at most that of the port.
fn new_value(selector: Selector, port: u8, requested: u8, legal: bool, min: u8) -> Option<u8> {
    let value = match selector {
        Selector::Best => return Some(port),
        _ if !legal => None,
        Selector::Greater => (port > requested).then_some(port),
        Selector::Less => requested.checked_sub(1).map(|v| v.min(port)),
        Selector::Exact => (requested <= port).then_some(requested),
        _ => None,
    };
    value.filter(|v| *v >= min)
}

fn new_life_time(
    request: &SaRequest<'_>,
    requested: &McMemberRecord,
    default: u8,
) -> Result<u8, SaRefusal> {
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
    value.ok_or(SaRefusal::GroupLifeTime(Bound {
        selector: requested.packet_life_time_selector,
        requested: v,
        actual: default,
    }))
}
