//! MultiPathRecord: paths between several sources and destinations, as independent of each other as
//! the fabric allows (IBA 15.2.5.20; docs/sm-behaviour.md 11.16).
//!
//! The reply contains PathRecords. If there are more paths than requested, the first path found is
//! chosen, then repeatedly the path that shares the fewest end ports, switches and links with those
//! chosen before (for automatic path migration).

use std::collections::BTreeSet;

use ferrosm_fabric::snapshot::EndPortIdx;
use ferrosm_mad::ids::{Gid, PortGuid, PortNum};
use ferrosm_mad::sa::id;
use ferrosm_mad::sa::path::{MultiPathRecord, PathRecord};

use super::limits::PathLimits;
use super::pair::{Path, PathConstraints, PathEnds, for_each_path};
use super::progress::QueryProgress;
use super::record::{SCAN_PAIRS_MAX, record};
use super::route::follow_route;
use crate::message::{ReplyRecords, SaReply, SaRequest, component_value};
use crate::qos::QosQuery;
use crate::refusal::SaRefusal;
use crate::view::View;

/// Components of MultiPathRecord.
mod component {
    pub(super) const REVERSIBLE: u64 = 1 << 5;
    pub(super) const NUMB_PATH: u64 = 1 << 6;
    pub(super) const PKEY: u64 = 1 << 7;
    pub(super) const QOS_CLASS: u64 = 1 << 8;
    pub(super) const SL: u64 = 1 << 9;
    pub(super) const MTU: u64 = 0b11 << 10;
    pub(super) const RATE: u64 = 0b11 << 12;
    pub(super) const PACKET_LIFE_TIME: u64 = 0b11 << 14;
    pub(super) const SERVICE_ID: u64 = 1 << 16 | 1 << 21;
    /// SGIDCount and DGIDCount.
    pub(super) const COUNTS: u64 = 0b11 << 19;
}

/// Maximum number of candidate paths; more would not improve independence.
const CANDIDATES_MAX: usize = 1024;
/// Number of paths if the query has no NumbPath (7 bits).
const PATHS_MAX: usize = 127;

/// A port, and the GUID in the query: its own or an alias.
type NamedPort = (EndPortIdx, PortGuid);

/// A path and the switches and links that it uses.
#[derive(Debug)]
struct Candidate {
    path_ends: PathEnds,
    path: Path,
    /// Switches (as port 0) and exit ports.
    through: BTreeSet<(u32, PortNum)>,
    /// End ports shared with the paths chosen so far, counted for each path.
    shared_end_ports: usize,
    /// Switches and links shared with the paths chosen so far.
    shared_hops: usize,
}

/// Runs a GetMulti to completion.
#[must_use]
pub fn answer(view: &View, request: &SaRequest<'_>) -> SaReply {
    let mut scan = match MultiScan::new(view, request) {
        Ok(scan) => scan,
        Err(reply) => return reply,
    };
    loop {
        if let QueryProgress::Done(reply) = scan.advance(view, request, usize::MAX) {
            return reply;
        }
    }
}

/// A GetMulti query in progress: collects candidates for each pair, then chooses the most
/// independent ones.
///
/// It borrows neither the view nor the request, so it can be suspended between slices. All slices
/// must use the same ones.
#[derive(Debug)]
pub struct MultiScan {
    constraints: PathConstraints,
    sources: Vec<NamedPort>,
    destinations: Vec<NamedPort>,
    raw_traffic: bool,
    paths_wanted: usize,
    /// Index of the next pair, by source, then destination.
    next_index: usize,
    /// Work so far: LID pairs evaluated and candidates compared.
    work_done: usize,
    candidates: Vec<Candidate>,
    chosen: Vec<Candidate>,
    /// Why there is no path between the first ends without one.
    refusal: Option<SaRefusal>,
    /// Switches and links of the chosen paths.
    used: BTreeSet<(u32, PortNum)>,
}

impl MultiScan {
    /// Validates a query and resolves its GIDs.
    ///
    /// # Errors
    /// The reply to a query that is invalid or names an unknown GID.
    pub fn new(view: &View, request: &SaRequest<'_>) -> Result<Self, SaReply> {
        Self::resolve(view, request).map_err(|refusal| path_reply(SaReply::refused(refusal)))
    }

    fn resolve(view: &View, request: &SaRequest<'_>) -> Result<Self, SaRefusal> {
        if !request.has(component::COUNTS) {
            return Err(SaRefusal::MissingComponents("SGIDCount or DGIDCount"));
        }
        let client = view.requester(&request.from)?;
        let requested = MultiPathRecord::decode(request.data);
        let (sources, destinations) = decode_gids(request, &requested)?;
        let resolve = |gids: Vec<Gid>| {
            let port = |gid: &Gid| {
                let at = view.by_gid(*gid).ok_or(SaRefusal::UnknownGid(*gid))?;
                Ok::<NamedPort, SaRefusal>((at, gid.guid()))
            };
            let ports = gids.iter().map(port).collect::<Result<Vec<_>, _>>()?;
            let visible = ports
                .into_iter()
                .filter(|(at, _)| view.share_partition(client, *at));
            Ok::<Vec<NamedPort>, SaRefusal>(visible.collect())
        };
        let sources = resolve(sources)?;
        let destinations = resolve(destinations)?;
        let constraints = decode_constraints(request, &requested);
        if !constraints.limits.are_valid() {
            return Err(SaRefusal::InvalidField("MTU or rate"));
        }
        Ok(Self {
            constraints,
            sources,
            destinations,
            raw_traffic: requested.raw_traffic,
            paths_wanted: if request.has(component::NUMB_PATH) {
                usize::from(requested.numb_path)
            } else {
                PATHS_MAX
            },
            next_index: 0,
            work_done: 0,
            candidates: Vec::new(),
            chosen: Vec::new(),
            refusal: None,
            used: BTreeSet::new(),
        })
    }

    /// Performs about `budget` more units of work.
    pub fn advance(
        &mut self,
        view: &View,
        request: &SaRequest<'_>,
        budget: usize,
    ) -> QueryProgress {
        let limit = self.work_done.saturating_add(budget);
        while let Some(path_ends) = self.next_pair() {
            if self.work_done >= SCAN_PAIRS_MAX {
                return QueryProgress::Done(path_reply(SaReply::refused(SaRefusal::TooLarge)));
            }
            if self.work_done >= limit {
                return QueryProgress::More;
            }
            self.next_index += 1;
            let candidates = &mut self.candidates;
            let outcome = for_each_path(view, &path_ends, &self.constraints, &mut |path| {
                candidates.push(candidate(view, path_ends, *path));
                candidates.len() < CANDIDATES_MAX
            });
            self.work_done += outcome.evaluated;
            self.refusal = self.refusal.or(outcome.refusal);
        }
        // If there are no more candidates than requested paths, all are chosen.
        if self.chosen.is_empty() && self.candidates.len() <= self.paths_wanted {
            self.chosen = core::mem::take(&mut self.candidates);
        }
        while self.chosen.len() < self.paths_wanted && !self.candidates.is_empty() {
            if self.work_done >= limit {
                return QueryProgress::More;
            }
            self.work_done += self.candidates.len();
            self.choose();
        }
        let mut records = ReplyRecords::new(request, PathRecord::LEN);
        for chosen in &self.chosen {
            let record = record(
                view,
                &chosen.path_ends,
                &chosen.path,
                None,
                self.raw_traffic,
            );
            records.push(&record.encode());
        }
        let reply = SaReply::from_records(request, records);
        let refusal = self.refusal.filter(|_| self.chosen.is_empty());
        QueryProgress::Done(path_reply(SaReply {
            refusal: reply.refusal.or(refusal),
            ..reply
        }))
    }

    fn next_pair(&self) -> Option<PathEnds> {
        if self.candidates.len() >= CANDIDATES_MAX || !self.chosen.is_empty() {
            return None;
        }
        let width = self.destinations.len();
        let (from, source) = *self.sources.get(self.next_index.checked_div(width)?)?;
        let (to, destination) = *self.destinations.get(self.next_index % width)?;
        Some(PathEnds {
            from,
            to,
            slid: None,
            dlid: None,
            source,
            destination,
        })
    }

    /// Moves the candidate that shares the least with the chosen paths.
    fn choose(&mut self) {
        let candidates = self.candidates.iter().enumerate();
        // Shared end ports weigh more than shared switches and links.
        let best = candidates.min_by_key(|(index, c)| (c.shared_end_ports, c.shared_hops, *index));
        let Some((best, _)) = best else { return };
        let chosen = self.candidates.remove(best);
        let used = &mut self.used;
        let added: Vec<_> = chosen
            .through
            .iter()
            .filter(|hop| used.insert(**hop))
            .collect();
        for c in &mut self.candidates {
            c.shared_end_ports += usize::from(chosen.path_ends.from == c.path_ends.from);
            c.shared_end_ports += usize::from(chosen.path_ends.to == c.path_ends.to);
            c.shared_hops += added.iter().filter(|hop| c.through.contains(hop)).count();
        }
        self.chosen.push(chosen);
    }
}

/// The reply to GetMulti carries PathRecords.
fn path_reply(reply: SaReply) -> SaReply {
    SaReply {
        attr: Some(id::PATH),
        ..reply
    }
}

/// The GIDs that follow the fixed part of the record.
fn decode_gids(
    request: &SaRequest<'_>,
    requested: &MultiPathRecord,
) -> Result<(Vec<Gid>, Vec<Gid>), SaRefusal> {
    let sources = usize::from(requested.sgid_count);
    let destinations = usize::from(requested.dgid_count);
    if sources == 0 || destinations == 0 {
        return Err(SaRefusal::InvalidField("number of GIDs"));
    }
    // The first MAD contains whole GIDs only.
    let (first, _) = request.data[MultiPathRecord::LEN..].as_chunks();
    let (more, _) = request.tail.as_chunks();
    let gids = first.iter().chain(more).copied().map(Gid);
    let decoded_gids: Vec<Gid> = gids.take(sources + destinations).collect();
    if decoded_gids.len() < sources + destinations {
        return Err(SaRefusal::InvalidField("number of GIDs"));
    }
    let (sources, destinations) = decoded_gids.split_at(sources);
    Ok((sources.to_vec(), destinations.to_vec()))
}

fn decode_constraints(request: &SaRequest<'_>, requested: &MultiPathRecord) -> PathConstraints {
    let service_id = u64::from(requested.service_id_high) << 56 | requested.service_id_low;
    PathConstraints {
        limits: PathLimits {
            mtu: component_value(
                request,
                component::MTU,
                (requested.mtu_selector, requested.mtu),
            ),
            rate: component_value(
                request,
                component::RATE,
                (requested.rate_selector, requested.rate),
            ),
            packet_life_time: component_value(
                request,
                component::PACKET_LIFE_TIME,
                (
                    requested.packet_life_time_selector,
                    requested.packet_life_time,
                ),
            ),
        },
        pkey: component_value(request, component::PKEY, requested.pkey),
        sl: component_value(request, component::SL, requested.sl),
        reversible: request.has(component::REVERSIBLE) && requested.reversible,
        qos: QosQuery {
            qos_class: component_value(request, component::QOS_CLASS, requested.qos_class),
            service_id: component_value(request, component::SERVICE_ID, service_id),
            pkey: component_value(request, component::PKEY, requested.pkey),
        },
    }
}

fn candidate(view: &View, path_ends: PathEnds, path: Path) -> Candidate {
    let mut through = BTreeSet::new();
    follow_route(view, path_ends.from, path_ends.to, path.dlid, |hop| {
        if view.node(hop.node).switch.is_some() {
            through.insert((hop.node, PortNum::ZERO));
        }
        if hop.exit != PortNum::ZERO {
            through.insert((hop.node, hop.exit));
        }
    });
    Candidate {
        path_ends,
        path,
        through,
        shared_end_ports: 0,
        shared_hops: 0,
    }
}
