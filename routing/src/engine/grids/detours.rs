//! Lanes for the pairs of switches that take detours.
//!
//! A detour turns as dimension order does not. A pair with one, in either direction, gets a lane in which its paths
//! close no circle, there and back on the same lane: lane 0 with all other packets where that can be, or one of the
//! lanes after the first.

use super::super::graph::Graph;
use super::super::neighbors::index_channels;
use super::paths::Paths;
use crate::channels::{ChannelIndex, DependencySet, VirtualLayer, narrow};
use crate::work::{BudgetExceeded, WorkBudget};

/// Most pairs that take detours: with more, dimension order is the wrong way to route.
const PAIRS_MAX: usize = 2_000_000;

/// Why there are no lanes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoLanes {
    /// So many more would be needed at least.
    More(usize),
    /// So many pairs would take detours.
    Pairs(usize),
    /// The work budget is used up.
    Budget,
}

/// A pair of switches, the lower index first, and its lane.
pub(crate) type Given = (usize, usize, usize);

/// Gives the lane of every pair with a detour that has packets, and how many
/// further lanes are used. Lane 0 is only tried with `share`: without it, the packets of dimension order are on lanes
/// of their own.
pub(crate) fn lanes(
    graph: &Graph,
    paths: &Paths,
    share: bool,
    further: usize,
    budget: &WorkBudget,
) -> Result<(Vec<Given>, usize), NoLanes> {
    if paths.detours.is_empty() {
        return Ok((Vec::new(), 0));
    }
    if paths.detours.len() > PAIRS_MAX {
        return Err(NoLanes::Pairs(paths.detours.len()));
    }
    let as_they_are: Vec<usize> = (0..graph.len()).collect();
    let index = index_channels(graph, &as_they_are);
    // Index 0 is lane 0, whether it may be used or not.
    let mut open: Vec<Option<VirtualLayer>> = vec![if share {
        VirtualLayer::from_dependencies(&index, straight(graph, &index, paths))
    } else {
        None
    }];
    let rank = |s: usize| graph.lid_rank[s];
    let mut pairs: Vec<(usize, usize)> = paths
        .detours
        .iter()
        .filter(|&&(s, d)| graph.hosts[s] > 0 || graph.hosts[d] > 0)
        .map(|&(s, d)| (rank(s).min(rank(d)), rank(s).max(rank(d))))
        .collect();
    pairs.sort_unstable();
    pairs.dedup();
    let mut given = Vec::with_capacity(pairs.len());
    let mut wanted = Vec::new();
    for (low, high) in pairs {
        let (a, b) = (graph.by_lid[low], graph.by_lid[high]);
        wanted.clear();
        for (from, to) in [(a, b), (b, a)] {
            let channels: Vec<u32> = paths.channels(graph, from, to).map(narrow).collect();
            wanted.extend(channels.windows(2).map(|w| (w[0], w[1])));
        }
        let mut admits = |lane: &mut Option<VirtualLayer>| {
            lane.as_mut()
                .is_some_and(|lane| lane.admit_within(&index, &wanted, budget) == Ok(true))
        };
        let free = open.iter_mut().position(&mut admits);
        budget.check().map_err(|BudgetExceeded| NoLanes::Budget)?;
        let lane = match free {
            Some(lane) => lane,
            None if open.len() <= further => {
                let mut fresh = Some(VirtualLayer::new(&index));
                if !admits(&mut fresh) {
                    return Err(NoLanes::More(further + 1));
                }
                open.push(fresh);
                open.len() - 1
            }
            None => return Err(NoLanes::More(further + 1)),
        };
        given.push((a.min(b), a.max(b), lane));
    }
    Ok((given, open.len() - 1))
}

/// Dependencies of all packets in dimension order.
fn straight(graph: &Graph, index: &ChannelIndex, paths: &Paths) -> DependencySet {
    let mut found = DependencySet::empty(index);
    let mut bent = vec![false; graph.len()];
    let mut rest = paths.detours.as_slice();
    for dest in 0..graph.len() {
        let here = rest.partition_point(|&(_, d)| d == dest);
        let failed = &rest[..here];
        rest = &rest[here..];
        failed.iter().for_each(|&(s, _)| bent[s] = true);
        for s in (0..graph.len()).filter(|&s| s != dest && !bent[s]) {
            let mut two = paths.channels(graph, s, dest);
            if let (Some(x), Some(y)) = (two.next(), two.next()) {
                found.insert(index, (narrow(x), narrow(y)));
            }
        }
        failed.iter().for_each(|&(s, _)| bent[s] = false);
    }
    found
}
