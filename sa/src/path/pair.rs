//! All paths between two end ports that satisfy a query (docs/sm-behaviour.md 11.3 to 11.11).

use ferrosm_fabric::snapshot::{EndPort, EndPortIdx};
use ferrosm_mad::ids::{Lid, PKey, PortGuid, Sl};

use super::limits::{PathLimits, PathValues};
use super::route::{RouteLimits, follow_route};
use crate::qos::{QosLevel, QosQuery};
use crate::refusal::SaRefusal;
use crate::view::View;

/// Constraints of a query, apart from its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PathConstraints {
    /// MTU, rate, PacketLifeTime.
    pub limits: PathLimits,
    pub pkey: Option<PKey>,
    pub sl: Option<Sl>,
    /// Only paths whose reverse path satisfies the limits as well.
    pub reversible: bool,
    /// Components that QoS rules match.
    pub qos: QosQuery,
}

/// Two end ports, and the LIDs to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathEnds {
    /// Source.
    pub from: EndPortIdx,
    /// Destination.
    pub to: EndPortIdx,
    /// Only this LID of the source.
    pub slid: Option<Lid>,
    /// Only this LID of the destination.
    pub dlid: Option<Lid>,
    /// GUID of the source in the query: port GUID or alias.
    pub source: PortGuid,
    /// GUID of the destination in the query: port GUID or alias.
    pub destination: PortGuid,
}

/// A path that satisfies a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Path {
    /// Source LID.
    pub slid: Lid,
    /// Destination LID.
    pub dlid: Lid,
    /// MTU, rate, PacketLifeTime.
    pub values: PathValues,
    pub pkey: PKey,
    pub sl: Sl,
    /// The reverse path satisfies the limits as well.
    pub reversible: bool,
    /// PathRecord.Preference: 0 is preferred.
    pub preference: u8,
}

/// Preference of paths between LIDs with different offsets (docs/sm-behaviour.md 11.4).
const OFF_DIAGONAL_PREFERENCE: u8 = 2;

/// What [`for_each_path`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairOutcome {
    /// LID pairs evaluated, at least 1.
    pub evaluated: usize,
    /// Why there is no path between the first LID pair without one.
    pub refusal: Option<SaRefusal>,
}

/// Calls `visit` with each path in order of preference until it returns `false`.
pub fn for_each_path(
    view: &View,
    path_ends: &PathEnds,
    constraints: &PathConstraints,
    visit: &mut dyn FnMut(&Path) -> bool,
) -> PairOutcome {
    let from = view.end_port(path_ends.from);
    let to = view.end_port(path_ends.to);
    let level = view
        .qos_level(path_ends, &constraints.qos)
        .map(|level| &**level);
    let mut outcome = PairOutcome {
        evaluated: 0,
        refusal: None,
    };
    let pkey = match pkey(view, path_ends, constraints, level) {
        Ok(pkey) => pkey,
        Err(refusal) => {
            return PairOutcome {
                evaluated: 1,
                refusal: Some(refusal),
            };
        }
    };
    let allowed =
        |bits, port: &EndPort| level.is_none_or(|l| l.allows_path_bits(bits, port.num_lids()));
    let sources = lids(from, path_ends.slid);
    let destinations = lids(to, path_ends.dlid);
    let mut offer = |i: u16, j: u16, preference: u8| {
        outcome.evaluated += 1;
        let slid = Lid(sources.0 + i);
        let dlid = Lid(destinations.0 + j);
        if !allowed(slid.0.wrapping_sub(from.lid.0), from)
            || !allowed(dlid.0.wrapping_sub(to.lid.0), to)
        {
            outcome.refusal.get_or_insert(SaRefusal::LidsExcluded);
            return true;
        }
        match path(view, path_ends, constraints, level, slid, dlid, pkey) {
            Ok(path) => visit(&Path { preference, ..path }),
            Err(refusal) => {
                outcome.refusal.get_or_insert(refusal);
                true
            }
        }
    };
    let lid_pairs = sources.1.min(destinations.1);
    for i in 0..lid_pairs {
        if !offer(i, i, 0) {
            return outcome;
        }
    }
    for i in 0..sources.1 {
        for j in (0..destinations.1).filter(|j| *j != i) {
            if !offer(i, j, OFF_DIAGONAL_PREFERENCE) {
                return outcome;
            }
        }
    }
    outcome.evaluated = outcome.evaluated.max(1);
    outcome
}

/// First LID and number of LIDs to use.
fn lids(port: &EndPort, requested: Option<Lid>) -> (u16, u16) {
    requested.map_or_else(|| (port.lid.0, port.num_lids()), |lid| (lid.0, 1))
}

/// The P_Key of a path, unless the ends share no partition, or not the requested one
/// (docs/sm-behaviour.md 11.10).
fn pkey(
    view: &View,
    path_ends: &PathEnds,
    constraints: &PathConstraints,
    level: Option<&QosLevel>,
) -> Result<PKey, SaRefusal> {
    let from = view.end_port(path_ends.from);
    let to = view.end_port(path_ends.to);
    let allowed = |key| level.is_none_or(|l| l.allows_pkey(key));
    if let Some(wanted) = constraints.pkey
        && !allowed(wanted)
    {
        return Err(SaRefusal::PartitionExcluded(wanted));
    }
    match (&from.pkeys, &to.pkeys, constraints.pkey) {
        (Some(a), Some(b), Some(wanted)) if !a.shares_pkey(b, wanted) => {
            Err(SaRefusal::NotInCommonPartition(wanted))
        }
        (_, _, Some(wanted)) => Ok(wanted),
        (Some(a), Some(b), None) => match level {
            Some(level) => level.common_pkey(a, b),
            None => a.common_pkey(b),
        }
        .ok_or(SaRefusal::NoCommonPartition),
        (_, _, None) => Ok(level.map_or(PKey::DEFAULT_FULL, QosLevel::default_pkey)),
    }
}

fn path(
    view: &View,
    path_ends: &PathEnds,
    constraints: &PathConstraints,
    level: Option<&QosLevel>,
    slid: Lid,
    dlid: Lid,
    pkey: PKey,
) -> Result<Path, SaRefusal> {
    let limited = |(from, to, lid)| {
        let route = follow_route(view, from, to, lid, |_| {}).ok_or(SaRefusal::NoRoute {
            from: slid,
            to: dlid,
        })?;
        let of_route = values(view, route);
        let allowed = level.map_or(of_route, |l| l.apply(of_route));
        constraints.limits.apply(allowed)
    };
    let values = limited((path_ends.from, path_ends.to, dlid))?;
    let reverse = limited((path_ends.to, path_ends.from, slid));
    let reversible = reverse.is_ok();
    if constraints.reversible {
        reverse?;
    }
    let (assigned, any_sl) = view.path_sl(path_ends.from, dlid);
    // With one VL all SLs are free of deadlock: the QoS policy selects the SL, then the client,
    // then the partition.
    let (assigned, any_sl) = match level {
        Some(level) if any_sl => (level.sl, false),
        None if any_sl => (view.settings.partition_sl(pkey), true),
        _ => (assigned, any_sl),
    };
    let sl = match constraints.sl {
        Some(wanted) if any_sl || wanted == assigned => wanted,
        Some(requested) => {
            return Err(SaRefusal::PathSl {
                requested,
                path: assigned,
            });
        }
        None => assigned,
    };
    Ok(Path {
        slid,
        dlid,
        values,
        pkey,
        sl,
        reversible,
        preference: 0,
    })
}

fn values(view: &View, route: RouteLimits) -> PathValues {
    PathValues {
        mtu: route.mtu,
        rate: route.rate(),
        packet_life_time: if route.hops == 0 {
            0
        } else {
            view.settings.subnet_timeout
        },
    }
}
