//! PathRecord: which ports a query means, and the answer (IBA 15.2.5.16; rules 11.1 to 11.14).

use ferrosm_mad::ids::{Gid, Lid, PortGuid};
use ferrosm_mad::mad::Status;
use ferrosm_mad::sa::path::{PathRecord, Selector};

use super::limits::Limits;
use super::query::{Demand, Ends, Path, paths};
use crate::qos::Asked;
use crate::sa::message::{Found, Reply, Request, given};
use crate::sa::view::{EndPortIdx, View};

/// Components of PathRecord that are looked at here.
pub(super) mod component {
    pub(in super::super) const SERVICE_ID: u64 = 0b11;
    pub(in super::super) const DGID: u64 = 1 << 2;
    pub(in super::super) const SGID: u64 = 1 << 3;
    pub(in super::super) const DLID: u64 = 1 << 4;
    pub(in super::super) const SLID: u64 = 1 << 5;
    pub(in super::super) const RAW_TRAFFIC: u64 = 1 << 6;
    pub(in super::super) const FLOW_LABEL: u64 = 1 << 8;
    pub(in super::super) const HOP_LIMIT: u64 = 1 << 9;
    pub(in super::super) const TCLASS: u64 = 1 << 10;
    pub(in super::super) const REVERSIBLE: u64 = 1 << 11;
    pub(in super::super) const NUMB_PATH: u64 = 1 << 12;
    pub(in super::super) const PKEY: u64 = 1 << 13;
    pub(in super::super) const QOS_CLASS: u64 = 1 << 14;
    pub(in super::super) const SL: u64 = 1 << 15;
    pub(in super::super) const MTU: u64 = 0b11 << 16;
    pub(in super::super) const RATE: u64 = 0b11 << 18;
    pub(in super::super) const PACKET_LIFE_TIME: u64 = 0b11 << 20;
}

/// HopLimit of paths that leave the subnet.
const HOP_LIMIT_ROUTED: u8 = 0xFF;

/// Which ports one end of a query means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// All.
    Any,
    /// This one, and this LID of it only if one was given.
    Port(EndPortIdx, Option<Lid>),
}

/// Answers a query; `None` if it is about a multicast group, whose owner knows.
#[must_use]
pub fn answer(view: &View, request: &Request<'_>) -> Option<Reply> {
    let wanted = PathRecord::decode(request.data);
    if request.has(component::DGID) && wanted.dgid.is_multicast() {
        return None;
    }
    Some(unicast(view, request, &wanted).unwrap_or_else(|status| refusal(request, status)))
}

/// A table of nothing is an answer, where one record is an error (rule 7.6).
fn refusal(request: &Request<'_>, status: Status) -> Reply {
    if request.wants_table() && (status == Status::NO_RECORDS || status == Status::INVALID_GID) {
        return Reply::of(request, Found::new(request, PathRecord::LEN));
    }
    Reply::error(status)
}

fn unicast(view: &View, request: &Request<'_>, wanted: &PathRecord) -> Result<Reply, Status> {
    let service = request.component_mask & component::SERVICE_ID;
    if service != 0 && service != component::SERVICE_ID {
        return Err(Status::INSUFFICIENT_COMPONENTS);
    }
    let demand = demand(request, wanted);
    if !demand.limits.are_legal() {
        return Err(Status::REQ_INVALID);
    }
    let client = view.by_lid(request.from.lid).ok_or(Status::REQ_INVALID)?;
    let sgid = given(request, component::SGID, wanted.sgid);
    let from = end(view, sgid, given(request, component::SLID, wanted.slid))?;
    let dgid = given(request, component::DGID, wanted.dgid);
    let routed = dgid.filter(|gid| !view.is_local_prefix(gid.prefix()));
    let to = match routed {
        Some(gid) => router(view, gid, from)?,
        None => end(view, dgid, given(request, component::DLID, wanted.dlid))?,
    };
    let each = if !request.wants_table() {
        1
    } else if request.has(component::NUMB_PATH) {
        usize::from(wanted.numb_path)
    } else {
        usize::MAX
    };
    let mut found = Found::new(request, PathRecord::LEN);
    let raw = request.has(component::RAW_TRAFFIC) && wanted.raw_traffic;
    'all: for (a, slid) in ports(view, from) {
        if !view.share(client, a) {
            continue;
        }
        for (b, dlid) in ports(view, to) {
            if !view.share(client, b) {
                continue;
            }
            let ends = Ends {
                from: a,
                to: b,
                slid,
                dlid,
                source: name(view, a, sgid),
                destination: name(view, b, dgid),
            };
            let mut left = each;
            paths(view, &ends, &demand, &mut |path| {
                if left == 0 {
                    return false;
                }
                found.push(&record(view, &ends, path, routed, raw).encode());
                left -= 1;
                left > 0
            });
            // A Get is answered with the first path (rule 11.1).
            if found.is_full() || !request.wants_table() && found.count() > 0 {
                break 'all;
            }
        }
    }
    Ok(Reply::of(request, found))
}

fn demand(request: &Request<'_>, wanted: &PathRecord) -> Demand {
    let limit = |components, selector: Selector| given(request, components, selector);
    Demand {
        limits: Limits {
            mtu: limit(component::MTU, wanted.mtu_selector).map(|s| (s, wanted.mtu)),
            rate: limit(component::RATE, wanted.rate_selector).map(|s| (s, wanted.rate)),
            packet_life_time: limit(
                component::PACKET_LIFE_TIME,
                wanted.packet_life_time_selector,
            )
            .map(|s| (s, wanted.packet_life_time)),
        },
        pkey: given(request, component::PKEY, wanted.pkey),
        sl: given(request, component::SL, wanted.sl),
        reversible: request.has(component::REVERSIBLE) && wanted.reversible,
        asked: Asked {
            qos_class: given(request, component::QOS_CLASS, wanted.qos_class),
            service_id: given(request, component::SERVICE_ID, wanted.service_id),
            pkey: given(request, component::PKEY, wanted.pkey),
        },
    }
}

/// Whom a GID and a LID mean; both must mean the same (rule 11.1).
fn end(view: &View, gid: Option<Gid>, lid: Option<Lid>) -> Result<End, Status> {
    let by_gid = gid
        .map(|gid| view.by_gid(gid).ok_or(Status::INVALID_GID))
        .transpose()?;
    let by_lid = lid
        .map(|lid| view.by_lid(lid).ok_or(Status::NO_RECORDS))
        .transpose()?;
    match (by_gid, by_lid) {
        (Some(a), Some(b)) if a != b => Err(Status::REQ_INVALID),
        (_, Some(port)) => Ok(End::Port(port, lid)),
        (Some(port), None) => Ok(End::Port(port, None)),
        (None, None) => Ok(End::Any),
    }
}

/// The port that one end names, and this LID of it if one was given; `None` where neither is given.
pub(super) fn named(
    view: &View,
    gid: Option<Gid>,
    lid: Option<Lid>,
) -> Result<Option<(EndPortIdx, Option<Lid>)>, Status> {
    Ok(match end(view, gid, lid)? {
        End::Any => None,
        End::Port(port, lid) => Some((port, lid)),
    })
}

/// The GUID by which a client that gave this GID knows a port (rule 12.4).
fn name(view: &View, at: EndPortIdx, gid: Option<Gid>) -> PortGuid {
    gid.map_or_else(|| view.end_port(at).guid, |gid| gid.guid())
}

/// The router port that leads to another subnet (rule 11.12): the first that a prefix route names and that exists.
fn router(view: &View, gid: Gid, from: End) -> Result<End, Status> {
    let source = match from {
        End::Port(port, _) => Some(port),
        End::Any => None,
    };
    let is_router = |at: &EndPortIdx| {
        let port = view.end_port(*at);
        view.node(port.node).node_type == ferrosm_mad::attr::NodeType::Router
            && source.is_none_or(|s| view.share(s, *at))
    };
    view.prefix_routes
        .iter()
        .find(|r| r.prefix.is_none_or(|p| p == gid.prefix()))
        .and_then(|r| match r.router {
            Some(guid) => view.by_guid(guid).filter(is_router),
            // The lowest GUID, so that it does not depend on who was found first.
            None => view
                .end_port_indices()
                .filter(is_router)
                .min_by_key(|at| view.end_port(*at).guid),
        })
        .map(|port| End::Port(port, None))
        .ok_or(Status::INVALID_GID)
}

/// The ports that an end means.
fn ports(view: &View, end: End) -> impl Iterator<Item = (EndPortIdx, Option<Lid>)> + use<> {
    let (one, all) = match end {
        End::Port(port, lid) => (Some((port, lid)), None),
        End::Any => (None, Some(view.end_port_indices().map(|p| (p, None)))),
    };
    one.into_iter().chain(all.into_iter().flatten())
}

/// The record of a path.
pub(super) fn record(
    view: &View,
    ends: &Ends,
    path: &Path,
    routed: Option<Gid>,
    raw: bool,
) -> PathRecord {
    PathRecord {
        dgid: routed.unwrap_or_else(|| Gid::new(view.prefix, ends.destination)),
        sgid: Gid::new(view.prefix, ends.source),
        dlid: path.dlid,
        slid: path.slid,
        raw_traffic: raw,
        hop_limit: if routed.is_some() {
            HOP_LIMIT_ROUTED
        } else {
            0
        },
        reversible: path.reversible,
        pkey: if raw {
            ferrosm_mad::ids::PKey(0)
        } else {
            path.pkey
        },
        sl: path.sl,
        mtu_selector: Selector::Exact,
        mtu: path.values.mtu,
        rate_selector: Selector::Exact,
        rate: path.values.rate,
        packet_life_time_selector: Selector::Exact,
        packet_life_time: path.values.packet_life_time,
        preference: path.preference,
        ..PathRecord::default()
    }
}
