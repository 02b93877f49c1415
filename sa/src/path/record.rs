//! PathRecord queries (IBA 15.2.5.16; docs/sm-behaviour.md 11.1 to 11.14).

use ferrosm_fabric::snapshot::EndPortIdx;
use ferrosm_mad::ids::{Gid, Lid, PortGuid};
use ferrosm_mad::mad::Status;
use ferrosm_mad::sa::path::{PathRecord, Selector};

use super::limits::PathLimits;
use super::pair::{PairOutcome, Path, PathConstraints, PathEnds, for_each_path};
use super::progress::QueryProgress;
use crate::message::{ReplyRecords, SaReply, SaRequest, component_value};
use crate::qos::QosQuery;
use crate::refusal::SaRefusal;
use crate::view::View;

/// Components of PathRecord.
pub(crate) mod component {
    pub(crate) const SERVICE_ID: u64 = 0b11;
    pub(crate) const DGID: u64 = 1 << 2;
    pub(crate) const SGID: u64 = 1 << 3;
    pub(crate) const DLID: u64 = 1 << 4;
    pub(crate) const SLID: u64 = 1 << 5;
    pub(crate) const RAW_TRAFFIC: u64 = 1 << 6;
    pub(crate) const FLOW_LABEL: u64 = 1 << 8;
    pub(crate) const HOP_LIMIT: u64 = 1 << 9;
    pub(crate) const TCLASS: u64 = 1 << 10;
    pub(crate) const REVERSIBLE: u64 = 1 << 11;
    pub(crate) const NUMB_PATH: u64 = 1 << 12;
    pub(crate) const PKEY: u64 = 1 << 13;
    pub(crate) const QOS_CLASS: u64 = 1 << 14;
    pub(crate) const SL: u64 = 1 << 15;
    pub(crate) const MTU: u64 = 0b11 << 16;
    pub(crate) const RATE: u64 = 0b11 << 18;
    pub(crate) const PACKET_LIFE_TIME: u64 = 0b11 << 20;
}

/// HopLimit of paths that leave the subnet.
const HOP_LIMIT_ROUTED: u8 = 0xFF;

/// The ports that one end of a query selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QueryEnd {
    /// All end ports.
    Any,
    /// One end port, restricted to a LID if the query has one.
    Port(EndPortIdx, Option<Lid>),
}

/// Maximum number of LID pairs that one query may evaluate: all pairs of a subnet with 1,024 end
/// ports. Larger queries are refused as [`SaRefusal::TooLarge`].
pub const SCAN_PAIRS_MAX: usize = 1 << 20;

/// Whether a PathRecord query names at most one end, so that its cost grows with the number of end
/// ports. Paths to multicast groups are found by MGID.
#[must_use]
pub fn is_scan(request: &SaRequest<'_>) -> bool {
    let source = request.component_mask & (component::SGID | component::SLID) != 0;
    let destination = request.component_mask & (component::DGID | component::DLID) != 0;
    !(source && destination || is_to_group(request))
}

/// Whether the destination is a multicast group, for which the registry is needed.
#[must_use]
pub fn is_to_group(request: &SaRequest<'_>) -> bool {
    request.has(component::DGID) && PathRecord::decode(request.data).dgid.is_multicast()
}

/// Runs a query to completion; `None` if the destination is a multicast group.
#[must_use]
pub fn answer(view: &View, request: &SaRequest<'_>) -> Option<SaReply> {
    let requested = PathRecord::decode(request.data);
    if request.has(component::DGID) && requested.dgid.is_multicast() {
        return None;
    }
    let reply = resolve(view, request, &requested).and_then(|(query, client, from, to)| {
        let (QueryEnd::Port(from, slid), QueryEnd::Port(to, dlid)) = (from, to) else {
            return Ok(
                PathScan::from_ends(view, request, query, client, from, to)?.run(view, request)
            );
        };
        // Most queries name both ends.
        if !(view.share_partition(client, from) && view.share_partition(client, to)) {
            return Err(SaRefusal::NoCommonPartition);
        }
        let mut records = ReplyRecords::new(request, PathRecord::LEN);
        let path_ends = query.path_ends(view, from, slid, to, dlid);
        let outcome = query.find(view, &path_ends, &mut records);
        match outcome.refusal {
            Some(refusal) if records.count() == 0 => Err(refusal),
            _ => Ok(SaReply::from_records(request, records)),
        }
    });
    Some(reply.unwrap_or_else(|refusal| refuse(request, refusal)))
}

/// An empty table is a valid reply; an empty Get is an error (docs/sm-behaviour.md 7.6).
fn refuse(request: &SaRequest<'_>, refusal: SaRefusal) -> SaReply {
    let is_empty = matches!(
        refusal.status(),
        Some(Status::NO_RECORDS | Status::INVALID_GID)
    );
    if request.wants_table() && is_empty {
        let records = ReplyRecords::new(request, PathRecord::LEN);
        return SaReply {
            refusal: Some(refusal),
            ..SaReply::from_records(request, records)
        };
    }
    SaReply::refused(refusal)
}

/// A unicast PathRecord query, apart from its ends.
#[derive(Debug)]
struct Query {
    constraints: PathConstraints,
    sgid: Option<Gid>,
    dgid: Option<Gid>,
    /// The destination GID, if it is in another subnet.
    routed: Option<Gid>,
    raw_traffic: bool,
    paths_per_pair: usize,
}

/// A unicast PathRecord query in progress: a cursor over pairs of end ports.
///
/// It holds no reference, so it can be suspended between slices. All slices must use the same view
/// and request.
#[derive(Debug)]
pub struct PathScan {
    query: Query,
    sources: EndPorts,
    destinations: EndPorts,
    /// Index of the next source and destination.
    next: (usize, usize),
    /// LID pairs evaluated so far.
    evaluated: usize,
    records: ReplyRecords,
}

/// The end ports of one end that are visible to the client.
#[derive(Debug)]
enum EndPorts {
    None,
    One(EndPortIdx, Option<Lid>),
    All(Vec<EndPortIdx>),
}

impl EndPorts {
    fn visible(view: &View, client: EndPortIdx, end: QueryEnd) -> Self {
        match end {
            QueryEnd::Port(port, lid) if view.share_partition(client, port) => Self::One(port, lid),
            QueryEnd::Port(..) => Self::None,
            QueryEnd::Any => {
                let ports = view.end_port_indices();
                Self::All(
                    ports
                        .filter(|at| view.share_partition(client, *at))
                        .collect(),
                )
            }
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::One(..) => 1,
            Self::All(ports) => ports.len(),
        }
    }

    fn get(&self, index: usize) -> Option<(EndPortIdx, Option<Lid>)> {
        match self {
            Self::One(port, lid) if index == 0 => Some((*port, *lid)),
            Self::None | Self::One(..) => None,
            Self::All(ports) => Some((*ports.get(index)?, None)),
        }
    }
}

/// Validates a query and resolves the client and both ends.
fn resolve(
    view: &View,
    request: &SaRequest<'_>,
    requested: &PathRecord,
) -> Result<(Query, EndPortIdx, QueryEnd, QueryEnd), SaRefusal> {
    let service = request.component_mask & component::SERVICE_ID;
    if service != 0 && service != component::SERVICE_ID {
        return Err(SaRefusal::MissingComponents("half of ServiceID"));
    }
    let constraints = decode_constraints(request, requested);
    if !constraints.limits.are_valid() {
        return Err(SaRefusal::InvalidField("MTU or rate"));
    }
    let client = view.requester(&request.from)?;
    let sgid = component_value(request, component::SGID, requested.sgid);
    let from = resolve_end(
        view,
        sgid,
        component_value(request, component::SLID, requested.slid),
    )?;
    let dgid = component_value(request, component::DGID, requested.dgid);
    let routed = dgid.filter(|gid| !view.is_local_prefix(gid.prefix()));
    let to = match routed {
        Some(gid) => resolve_router(view, gid, from)?,
        None => resolve_end(
            view,
            dgid,
            component_value(request, component::DLID, requested.dlid),
        )?,
    };
    let paths_per_pair = if !request.wants_table() {
        1
    } else if request.has(component::NUMB_PATH) {
        usize::from(requested.numb_path)
    } else {
        usize::MAX
    };
    let query = Query {
        constraints,
        sgid,
        dgid,
        routed,
        raw_traffic: request.has(component::RAW_TRAFFIC) && requested.raw_traffic,
        paths_per_pair,
    };
    Ok((query, client, from, to))
}

impl Query {
    fn path_ends(
        &self,
        view: &View,
        from: EndPortIdx,
        slid: Option<Lid>,
        to: EndPortIdx,
        dlid: Option<Lid>,
    ) -> PathEnds {
        PathEnds {
            from,
            to,
            slid,
            dlid,
            source: requested_guid(view, from, self.sgid),
            destination: requested_guid(view, to, self.dgid),
        }
    }

    /// Adds the paths between two end ports to `records`.
    fn find(&self, view: &View, path_ends: &PathEnds, records: &mut ReplyRecords) -> PairOutcome {
        let mut paths_left = self.paths_per_pair;
        for_each_path(view, path_ends, &self.constraints, &mut |path| {
            if paths_left == 0 {
                return false;
            }
            paths_left -= 1;
            records.push(&record(view, path_ends, path, self.routed, self.raw_traffic).encode());
            paths_left > 0
        })
    }
}

impl PathScan {
    /// Validates a query and resolves its ends.
    ///
    /// # Errors
    /// The reply to a query that is invalid, names an unknown end, or would exceed
    /// [`SCAN_PAIRS_MAX`].
    pub fn new(view: &View, request: &SaRequest<'_>) -> Result<Self, SaReply> {
        let requested = PathRecord::decode(request.data);
        let scan = resolve(view, request, &requested).and_then(|(query, client, from, to)| {
            Self::from_ends(view, request, query, client, from, to)
        });
        scan.map_err(|refusal| refuse(request, refusal))
    }

    fn from_ends(
        view: &View,
        request: &SaRequest<'_>,
        query: Query,
        client: EndPortIdx,
        from: QueryEnd,
        to: QueryEnd,
    ) -> Result<Self, SaRefusal> {
        let sources = EndPorts::visible(view, client, from);
        let destinations = EndPorts::visible(view, client, to);
        // A table needs all pairs, so it is rejected in advance. A Get stops at the first path.
        if request.wants_table() && sources.len() * destinations.len() > SCAN_PAIRS_MAX {
            return Err(SaRefusal::TooLarge);
        }
        Ok(Self {
            query,
            sources,
            destinations,
            next: (0, 0),
            evaluated: 0,
            records: ReplyRecords::new(request, PathRecord::LEN),
        })
    }

    /// Evaluates about `budget` more LID pairs; the last pair of end ports of a slice may exceed
    /// it.
    pub fn advance(
        &mut self,
        view: &View,
        request: &SaRequest<'_>,
        budget: usize,
    ) -> QueryProgress {
        let until = self.evaluated.saturating_add(budget);
        while let Some((from, slid)) = self.sources.get(self.next.0) {
            let Some((to, dlid)) = self.destinations.get(self.next.1) else {
                self.next = (self.next.0 + 1, 0);
                if self.destinations.len() == 0 {
                    break;
                }
                continue;
            };
            if self.evaluated >= SCAN_PAIRS_MAX {
                return QueryProgress::Done(SaReply::refused(SaRefusal::TooLarge));
            }
            if self.evaluated >= until {
                return QueryProgress::More;
            }
            self.next.1 += 1;
            let path_ends = self.query.path_ends(view, from, slid, to, dlid);
            let outcome = self.query.find(view, &path_ends, &mut self.records);
            self.evaluated += outcome.evaluated;
            // A Get returns the first path (docs/sm-behaviour.md 11.1).
            if self.records.is_full() || !request.wants_table() && self.records.count() > 0 {
                break;
            }
        }
        let records = core::mem::replace(
            &mut self.records,
            ReplyRecords::new(request, PathRecord::LEN),
        );
        QueryProgress::Done(SaReply::from_records(request, records))
    }

    fn run(mut self, view: &View, request: &SaRequest<'_>) -> SaReply {
        loop {
            if let QueryProgress::Done(reply) = self.advance(view, request, usize::MAX) {
                return reply;
            }
        }
    }
}

fn decode_constraints(request: &SaRequest<'_>, requested: &PathRecord) -> PathConstraints {
    let limit = |components, selector: Selector| component_value(request, components, selector);
    PathConstraints {
        limits: PathLimits {
            mtu: limit(component::MTU, requested.mtu_selector).map(|s| (s, requested.mtu)),
            rate: limit(component::RATE, requested.rate_selector).map(|s| (s, requested.rate)),
            packet_life_time: limit(
                component::PACKET_LIFE_TIME,
                requested.packet_life_time_selector,
            )
            .map(|s| (s, requested.packet_life_time)),
        },
        pkey: component_value(request, component::PKEY, requested.pkey),
        sl: component_value(request, component::SL, requested.sl),
        reversible: request.has(component::REVERSIBLE) && requested.reversible,
        qos: QosQuery {
            qos_class: component_value(request, component::QOS_CLASS, requested.qos_class),
            service_id: component_value(request, component::SERVICE_ID, requested.service_id),
            pkey: component_value(request, component::PKEY, requested.pkey),
        },
    }
}

/// Resolves a GID and a LID, which must denote the same port (docs/sm-behaviour.md 11.1).
fn resolve_end(view: &View, gid: Option<Gid>, lid: Option<Lid>) -> Result<QueryEnd, SaRefusal> {
    let by_gid = gid.and_then(|gid| view.by_gid(gid));
    let by_lid = lid.and_then(|lid| view.by_lid(lid));
    match ((gid, by_gid), (lid, by_lid)) {
        ((Some(gid), None), _) => Err(SaRefusal::UnknownGid(gid)),
        (_, (Some(lid), None)) => Err(SaRefusal::UnknownLid(lid)),
        ((_, Some(a)), (_, Some(b))) if a != b => Err(SaRefusal::InvalidField(
            "GID and LID, which name different ports",
        )),
        (_, (_, Some(port))) => Ok(QueryEnd::Port(port, lid)),
        ((_, Some(port)), _) => Ok(QueryEnd::Port(port, None)),
        _ => Ok(QueryEnd::Any),
    }
}

/// The port of one end, and its LID if given; `None` without GID and LID.
pub(super) fn resolve_end_port(
    view: &View,
    gid: Option<Gid>,
    lid: Option<Lid>,
) -> Result<Option<(EndPortIdx, Option<Lid>)>, SaRefusal> {
    Ok(match resolve_end(view, gid, lid)? {
        QueryEnd::Any => None,
        QueryEnd::Port(port, lid) => Some((port, lid)),
    })
}

/// The GUID in the client's GID, which may be an alias, otherwise the port GUID
/// (docs/sm-behaviour.md 12.4).
fn requested_guid(view: &View, at: EndPortIdx, gid: Option<Gid>) -> PortGuid {
    gid.map_or_else(|| view.end_port(at).guid, |gid| gid.guid())
}

/// The router port for another subnet (docs/sm-behaviour.md 11.12): that of the first matching
/// prefix route.
fn resolve_router(view: &View, gid: Gid, from: QueryEnd) -> Result<QueryEnd, SaRefusal> {
    let source = match from {
        QueryEnd::Port(port, _) => Some(port),
        QueryEnd::Any => None,
    };
    let is_router = |at: &EndPortIdx| {
        let port = view.end_port(*at);
        view.node(port.node).node_type == ferrosm_mad::attr::NodeType::Router
            && source.is_none_or(|s| view.share_partition(s, *at))
    };
    view.settings
        .prefix_routes
        .iter()
        .find(|r| r.prefix.is_none_or(|p| p == gid.prefix()))
        .and_then(|r| match r.router {
            Some(guid) => view.by_guid(guid).filter(is_router),
            // The lowest GUID, independent of the order of discovery.
            None => view
                .end_port_indices()
                .filter(is_router)
                .min_by_key(|at| view.end_port(*at).guid),
        })
        .map(|port| QueryEnd::Port(port, None))
        .ok_or(SaRefusal::NoRouter(gid))
}

/// The record of a path.
pub(super) fn record(
    view: &View,
    path_ends: &PathEnds,
    path: &Path,
    routed: Option<Gid>,
    raw: bool,
) -> PathRecord {
    PathRecord {
        dgid: routed.unwrap_or_else(|| Gid::new(view.prefix, path_ends.destination)),
        sgid: Gid::new(view.prefix, path_ends.source),
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
