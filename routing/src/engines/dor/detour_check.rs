//! Channel dependencies of packets that take detours, with their SLs.
//!
//! The search for detours permitted their turns. What remains are packets that go straight on along
//! a ring: after a detour they can be on VL 0 or 1 where packets in dimension order never are. If
//! the search found no permitted turn, it used another. These dependencies are added if they close
//! no cycle. Pairs of switches with others need an additional layer.

use rayon::prelude::*;

use super::turns::Turns;
use super::vls::{PairSl, SwitchPair};
use crate::paths::grid::credit_loops::VlRule;
use crate::paths::grid::paths::{GridPaths, ReachingSwitches};
use crate::topology::graph::Graph;
use crate::topology::index_to_u8;

/// A dependency that [`Turns`] does not have: channels and their VLs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct VlDependency {
    x: usize,
    from: usize,
    y: usize,
    to: usize,
}

/// Result of the check.
#[derive(Debug, Default)]
pub(super) struct CheckedDetours {
    /// Pairs of switches that use another SL than that of the datelines between them.
    pub(super) other_sls: Vec<PairSl>,
    /// Pairs of switches whose paths close a cycle on every SL.
    pub(super) denied: Vec<SwitchPair>,
}

/// Adds the dependencies of all detours to `turns`, unless they close a cycle.
pub(super) fn add_dependencies(
    graph: &Graph,
    paths: &GridPaths,
    turns: &mut Turns<'_>,
) -> CheckedDetours {
    let check = DetourCheck {
        graph,
        paths,
        turns,
    };
    let by_dest: Vec<Vec<VlDependency>> = (0..graph.len())
        .into_par_iter()
        .map_init(
            || ReachingSwitches::new(graph.len()),
            |order, dest| check.missing(order, dest),
        )
        .collect();
    let mut missing: Vec<VlDependency> = by_dest.concat();
    let tail = |channel: usize| graph.channels.tail[channel] as usize;
    let slot = |channel: usize| channel - graph.first_slot(tail(channel));
    missing.sort_by_key(|m| {
        let rank = graph.lid_rank[tail(m.x)];
        (rank, slot(m.x), m.from, slot(m.y), m.to)
    });
    missing.dedup();
    for m in missing {
        turns.add(turns.on_vl(m.x, m.from), turns.on_vl(m.y, m.to));
    }
    let check = DetourCheck {
        graph,
        paths,
        turns,
    };
    let pairs = |(dest, missing): (usize, &Vec<VlDependency>)| {
        let sources = paths.unconnected[dest].as_slice();
        let is_checked = missing.iter().any(|&m| !check.has(m));
        let checked = if is_checked { sources } else { &[] };
        let denied = checked
            .iter()
            .filter(|&&s| !check.permits_path(s, dest, check.sl(s, dest)));
        denied
            .map(|&s| SwitchPair {
                low: s.min(dest),
                high: s.max(dest),
            })
            .collect::<Vec<_>>()
    };
    let mut denied: Vec<SwitchPair> = by_dest
        .par_iter()
        .enumerate()
        .flat_map_iter(pairs)
        .collect();
    denied.sort_unstable();
    denied.dedup();
    let other_sl = |pair: SwitchPair| {
        let mut sls = 0..index_to_u8(turns.vls.combinations);
        let sl = sls.find(|&sl| {
            check.permits_path(pair.low, pair.high, sl)
                && check.permits_path(pair.high, pair.low, sl)
        });
        sl.map(|sl| PairSl { pair, sl })
    };
    let mut checked = CheckedDetours::default();
    let sls: Vec<Option<PairSl>> = denied.par_iter().map(|&pair| other_sl(pair)).collect();
    for (pair, sl) in denied.into_iter().zip(sls) {
        match sl {
            Some(sl) => checked.other_sls.push(sl),
            None => checked.denied.push(pair),
        }
    }
    checked
}

struct DetourCheck<'a, 't> {
    graph: &'a Graph,
    paths: &'a GridPaths,
    turns: &'a Turns<'t>,
}

impl DetourCheck<'_, '_> {
    fn has(&self, m: VlDependency) -> bool {
        let turns = self.turns;
        turns.contains(turns.on_vl(m.x, m.from), turns.on_vl(m.y, m.to))
    }

    /// Dependencies of detours to one destination that are not in the graph.
    fn missing(&self, order: &mut ReachingSwitches, dest: usize) -> Vec<VlDependency> {
        let graph = self.graph;
        let turns = self.turns;
        let vls = turns.vls;
        let mut missing = Vec::new();
        if self.paths.unconnected[dest].is_empty() {
            return missing;
        }
        let column = self.paths.column(dest);
        order.follow(graph, column, dest);
        // SLs of the packets with detours that leave each switch, on the VLs of dimension order and
        // on that of turns.
        let mut ordered_sls = vec![0u16; graph.len()];
        let mut turn_sls = vec![0u16; graph.len()];
        for &s in &self.paths.unconnected[dest] {
            ordered_sls[s] = 1 << self.sl(s, dest);
        }
        for &v in order.switches.iter().skip(1).rev() {
            let sls = ordered_sls[v] | turn_sls[v];
            let slot = usize::from(column[v]);
            let next = graph.slots(v)[slot].peer;
            if sls == 0 || next == dest {
                continue;
            }
            let x = graph.first_slot(v) + slot;
            let y = graph.first_slot(next) + usize::from(column[next]);
            let in_axis = turns.axis[x];
            let axis = turns.axis[y];
            for from in 0..vls.base() {
                let sls = if vls.turn_vl == Some(from) {
                    turn_sls[v]
                } else if in_axis < axis {
                    // Turns in dimension order are in the graph.
                    0
                } else {
                    ordered_sls[v] & vls.sls_on(in_axis, from)
                };
                for to in 0..vls.base() {
                    let arrives = if vls.turn_vl.is_some() && vls.is_against_order(in_axis, axis) {
                        vls.turn_vl == Some(to)
                    } else {
                        vls.turn_vl != Some(to) && sls & vls.sls_on(axis, to) != 0
                    };
                    let dependency = VlDependency { x, from, y, to };
                    if sls != 0 && arrives && !self.has(dependency) {
                        missing.push(dependency);
                    }
                }
            }
            if vls.turn_vl.is_some() && vls.is_against_order(in_axis, axis) {
                turn_sls[next] |= sls;
            } else {
                ordered_sls[next] |= sls;
            }
        }
        missing
    }

    fn sl(&self, from: usize, dest: usize) -> u8 {
        self.turns.vls.sl(from, dest)
    }

    /// Whether all dependencies of a path are in the graph.
    fn permits_path(&self, from: usize, dest: usize, sl: u8) -> bool {
        let turns = self.turns;
        let mut last: Option<VlDependency> = None;
        self.paths.channels(self.graph, from, dest).all(|y| {
            let in_axis = last.map(|last| turns.axis[last.y]);
            let to = turns.vls.vl(in_axis, turns.axis[y], sl);
            let hop = last.map(|last| VlDependency {
                x: last.y,
                from: last.to,
                y,
                to,
            });
            last = Some(VlDependency {
                x: y,
                from: to,
                y,
                to,
            });
            hop.is_none_or(|hop| self.has(hop))
        })
    }
}
