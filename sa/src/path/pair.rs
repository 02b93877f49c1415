//! One pair of end ports: all paths between them that a client may have (rules 11.3 to 11.11).

use ferrosm_mad::ids::{Lid, PKey, PortGuid, Sl};

use super::limits::{PathLimits, PathValues};
use super::route::{RouteLimits, follow_route};
use crate::qos::{QosLevel, QosQuery};
use crate::view::{EndPort, EndPortIdx, View};

/// What a client asks of a path, apart from its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PathConstraints {
    /// MTU, rate, life time.
    pub limits: PathLimits,
    /// This partition.
    pub pkey: Option<PKey>,
    /// This service level.
    pub sl: Option<Sl>,
    /// Only paths whose way back is as good.
    pub reversible: bool,
    /// What the QoS policy asks about.
    pub qos: QosQuery,
}

/// Which LIDs of two end ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathEnds {
    /// Where it begins.
    pub from: EndPortIdx,
    /// Where it leads.
    pub to: EndPortIdx,
    /// This LID of the source only.
    pub slid: Option<Lid>,
    /// This LID of the destination only.
    pub dlid: Option<Lid>,
    /// The GUID by which the client names the source: its own or an alias.
    pub source: PortGuid,
    /// The same of the destination.
    pub destination: PortGuid,
}

/// A path that a client may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Path {
    /// LID where it begins.
    pub slid: Lid,
    /// LID where it leads.
    pub dlid: Lid,
    /// MTU, rate, life time.
    pub values: PathValues,
    /// Partition.
    pub pkey: PKey,
    /// Service level.
    pub sl: Sl,
    /// The way back is as good.
    pub reversible: bool,
    /// 0 for the paths to take first.
    pub preference: u8,
}

/// Preference of paths beside the diagonal of LIDs (rule 11.4).
const OFF_DIAGONAL_PREFERENCE: u8 = 2;

/// Calls `visit` with each path, best first, until it returns `false`. Returns the number of LID pairs evaluated, at least 1.
pub fn for_each_path(
    view: &View,
    ends: &PathEnds,
    demand: &PathConstraints,
    visit: &mut dyn FnMut(&Path) -> bool,
) -> usize {
    let (from, to) = (view.end_port(ends.from), view.end_port(ends.to));
    let level = view.qos_level(ends, &demand.qos).map(|level| &**level);
    let Some(pkey) = pkey(view, ends, demand, level) else {
        return 1;
    };
    let mut evaluated = 0;
    let allowed =
        |bits, port: &EndPort| level.is_none_or(|l| l.allows_path_bits(bits, port.lids()));
    let (sources, destinations) = (lids(from, ends.slid), lids(to, ends.dlid));
    let mut offer = |i: u16, j: u16, preference: u8| {
        evaluated += 1;
        let (slid, dlid) = (Lid(sources.0 + i), Lid(destinations.0 + j));
        if !allowed(slid.0.wrapping_sub(from.lid.0), from)
            || !allowed(dlid.0.wrapping_sub(to.lid.0), to)
        {
            return true;
        }
        match path(view, ends, demand, level, (slid, dlid), pkey) {
            Some(path) => visit(&Path { preference, ..path }),
            None => true,
        }
    };
    let both = sources.1.min(destinations.1);
    for i in 0..both {
        if !offer(i, i, 0) {
            return evaluated;
        }
    }
    for i in 0..sources.1 {
        for j in (0..destinations.1).filter(|j| *j != i) {
            if !offer(i, j, OFF_DIAGONAL_PREFERENCE) {
                return evaluated;
            }
        }
    }
    evaluated.max(1)
}

/// First LID and number of LIDs.
fn lids(port: &EndPort, only: Option<Lid>) -> (u16, u16) {
    only.map_or_else(|| (port.lid.0, port.lids()), |lid| (lid.0, 1))
}

/// The partition that a path is in; `None` where the ends share none, or not the one that is asked for (rule 11.10).
fn pkey(
    view: &View,
    ends: &PathEnds,
    demand: &PathConstraints,
    level: Option<&QosLevel>,
) -> Option<PKey> {
    let (from, to) = (view.end_port(ends.from), view.end_port(ends.to));
    let allowed = |key| level.is_none_or(|l| l.allows_pkey(key));
    if demand.pkey.is_some_and(|wanted| !allowed(wanted)) {
        return None;
    }
    match (&from.pkeys, &to.pkeys, demand.pkey) {
        (Some(a), Some(b), Some(wanted)) => a.shares_pkey(b, wanted).then_some(wanted),
        (Some(a), Some(b), None) => match level {
            Some(level) => level.common_pkey(a, b),
            None => a.common_pkey(b),
        },
        (_, _, Some(wanted)) => Some(wanted),
        (_, _, None) => Some(level.map_or(PKey::DEFAULT_FULL, QosLevel::default_pkey)),
    }
}

fn path(
    view: &View,
    ends: &PathEnds,
    demand: &PathConstraints,
    level: Option<&QosLevel>,
    (slid, dlid): (Lid, Lid),
    pkey: PKey,
) -> Option<Path> {
    let offered = |way| {
        let values = values(view, way);
        let values = level.map_or(values, |l| l.apply(values));
        demand.limits.apply(values)
    };
    let values = follow_route(view, ends.from, ends.to, dlid, |_| {}).and_then(offered)?;
    let back = follow_route(view, ends.to, ends.from, slid, |_| {}).and_then(offered);
    let reversible = back.is_some();
    if demand.reversible && !reversible {
        return None;
    }
    let (given, any) = view.path_sl(ends.from, dlid);
    // On one lane the routes cannot deadlock whatever lane they take, so the policy or else the client may choose, and where
    // neither does, the partition does.
    let (given, any) = match level {
        Some(level) if any => (level.sl, false),
        None if any => (view.settings.partition_sl(pkey), true),
        _ => (given, any),
    };
    let sl = match demand.sl {
        Some(wanted) if any || wanted == given => wanted,
        Some(_) => return None,
        None => given,
    };
    Some(Path {
        slid,
        dlid,
        values,
        pkey,
        sl,
        reversible,
        preference: 0,
    })
}

fn values(view: &View, way: RouteLimits) -> PathValues {
    PathValues {
        mtu: way.mtu,
        rate: way.rate(),
        packet_life_time: if way.hops == 0 {
            0
        } else {
            view.settings.subnet_timeout
        },
    }
}
