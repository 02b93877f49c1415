//! MultiPathRecord: paths between several sources and several destinations, as independent of each other as the fabric allows
//! (IBA 15.2.5.20; rule 11.16).
//!
//! The answer is PathRecords. Where fewer paths are wanted than there are, the first is the first that exists, and each further one
//! shares as few switches and cables with those before as any: what automatic path migration needs.

use std::collections::BTreeSet;

use ferrosm_mad::ids::{Gid, PortGuid, PortNum};
use ferrosm_mad::mad::Status;
use ferrosm_mad::sa::id;
use ferrosm_mad::sa::path::{MultiPathRecord, PathRecord};

use super::limits::Limits;
use super::query::{Demand, Ends, Path, paths};
use super::record::record;
use super::walk::walk;
use crate::qos::Asked;
use crate::sa::message::{Found, Reply, Request, given};
use crate::sa::view::{EndPortIdx, View};

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
    pub(super) const COUNTS: u64 = 0b11 << 19;
}

/// Most paths that are looked at: more would only find out what the first ones already show.
const CANDIDATES_MAX: usize = 1024;
/// Paths where the client does not say how many it wants (the field has 7 bits).
const PATHS_MAX: usize = 127;

/// A port, and the GUID by which the client names it.
type Named = (EndPortIdx, PortGuid);

/// A path and what it goes through.
struct Candidate {
    ends: Ends,
    path: Path,
    /// Switches (port 0) and the ports by which it leaves nodes.
    through: BTreeSet<(u32, PortNum)>,
}

/// Answers GetMulti.
#[must_use]
pub fn answer(view: &View, request: &Request<'_>) -> Reply {
    let reply = find(view, request).unwrap_or_else(Reply::error);
    Reply {
        attr: Some(id::PATH),
        ..reply
    }
}

fn find(view: &View, request: &Request<'_>) -> Result<Reply, Status> {
    if !request.has(component::COUNTS) {
        return Err(Status::INSUFFICIENT_COMPONENTS);
    }
    let client = view.by_lid(request.from.lid).ok_or(Status::REQ_INVALID)?;
    let wanted = MultiPathRecord::decode(request.data);
    let (sources, destinations) = gids(request, &wanted)?;
    let port = |gid: &Gid| {
        let at = view.by_gid(*gid).ok_or(Status::INVALID_GID)?;
        Ok::<Named, Status>((at, gid.guid()))
    };
    let sources: Vec<Named> = sources.iter().map(port).collect::<Result<_, _>>()?;
    let destinations: Vec<Named> = destinations.iter().map(port).collect::<Result<_, _>>()?;
    let demand = demand(request, &wanted);
    if !demand.limits.are_legal() {
        return Err(Status::REQ_INVALID);
    }
    let most = if request.has(component::NUMB_PATH) {
        usize::from(wanted.numb_path)
    } else {
        PATHS_MAX
    };
    let mut candidates = Vec::new();
    for &(from, source) in &sources {
        for &(to, destination) in &destinations {
            if !view.share(client, from) || !view.share(client, to) {
                continue;
            }
            let ends = Ends {
                from,
                to,
                slid: None,
                dlid: None,
                source,
                destination,
            };
            paths(view, &ends, &demand, &mut |path| {
                candidates.push(candidate(view, ends, *path));
                candidates.len() < CANDIDATES_MAX
            });
        }
    }
    let mut found = Found::new(request, PathRecord::LEN);
    for chosen in independent(candidates, most) {
        found.push(&record(view, &chosen.ends, &chosen.path, None, wanted.raw_traffic).encode());
    }
    Ok(Reply::of(request, found))
}

/// The GIDs that follow the head.
fn gids(request: &Request<'_>, wanted: &MultiPathRecord) -> Result<(Vec<Gid>, Vec<Gid>), Status> {
    let (sources, destinations) = (
        usize::from(wanted.sgid_count),
        usize::from(wanted.dgid_count),
    );
    if sources == 0 || destinations == 0 {
        return Err(Status::REQ_INVALID);
    }
    let all: Vec<Gid> = request.data[MultiPathRecord::LEN..]
        .chunks_exact(16)
        .take(sources + destinations)
        .map(|chunk| {
            let mut gid = [0; 16];
            gid.copy_from_slice(chunk);
            Gid(gid)
        })
        .collect();
    if all.len() < sources + destinations {
        return Err(Status::REQ_INVALID);
    }
    let (sources, destinations) = all.split_at(sources);
    Ok((sources.to_vec(), destinations.to_vec()))
}

fn demand(request: &Request<'_>, wanted: &MultiPathRecord) -> Demand {
    let service_id = u64::from(wanted.service_id_high) << 56 | wanted.service_id_low;
    Demand {
        limits: Limits {
            mtu: given(request, component::MTU, (wanted.mtu_selector, wanted.mtu)),
            rate: given(
                request,
                component::RATE,
                (wanted.rate_selector, wanted.rate),
            ),
            packet_life_time: given(
                request,
                component::PACKET_LIFE_TIME,
                (wanted.packet_life_time_selector, wanted.packet_life_time),
            ),
        },
        pkey: given(request, component::PKEY, wanted.pkey),
        sl: given(request, component::SL, wanted.sl),
        reversible: request.has(component::REVERSIBLE) && wanted.reversible,
        asked: Asked {
            qos_class: given(request, component::QOS_CLASS, wanted.qos_class),
            service_id: given(request, component::SERVICE_ID, service_id),
            pkey: given(request, component::PKEY, wanted.pkey),
        },
    }
}

fn candidate(view: &View, ends: Ends, path: Path) -> Candidate {
    let mut through = BTreeSet::new();
    walk(view, ends.from, ends.to, path.dlid, |step| {
        if view.node(step.node).switch.is_some() {
            through.insert((step.node, PortNum::ZERO));
        }
        if step.exit != PortNum::ZERO {
            through.insert((step.node, step.exit));
        }
    });
    Candidate {
        ends,
        path,
        through,
    }
}

/// So many of the candidates, in the order in which they are chosen: each shares as little with those before as any.
fn independent(mut candidates: Vec<Candidate>, most: usize) -> Vec<Candidate> {
    if candidates.len() <= most {
        return candidates;
    }
    let mut chosen: Vec<Candidate> = Vec::new();
    let mut used = BTreeSet::new();
    while chosen.len() < most && !candidates.is_empty() {
        // An end port that was used already costs more than anything on the way.
        let cost = |c: &Candidate| {
            let ends = chosen
                .iter()
                .map(|o| {
                    usize::from(o.ends.from == c.ends.from) + usize::from(o.ends.to == c.ends.to)
                })
                .sum::<usize>();
            (ends, c.through.intersection(&used).count())
        };
        let best = (0..candidates.len()).min_by_key(|i| (cost(&candidates[*i]), *i));
        let Some(best) = best else { break };
        let next = candidates.remove(best);
        used.extend(next.through.iter().copied());
        chosen.push(next);
    }
    chosen
}
