//! Test oracle for tables and VLs: follows every packet hop by hop, independently of the crate's
//! verification.

#![allow(clippy::unwrap_used, reason = "a test helper")]

use std::collections::BTreeSet;

use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_routing::{Destination, SwitchIdx, Tables, Topology, VlPlan};
use petgraph::algo::toposort;
use petgraph::graphmap::DiGraphMap;

/// Verdict of the oracle.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Good,
    Unreachable,
    Loops,
    /// The SL or VL does not exist.
    Dropped,
    CreditLoop,
}

/// Channels that a packet crosses, or why it does not arrive.
pub(crate) fn follow(
    topo: &Topology,
    tables: &Tables,
    from: SwitchIdx,
    lid: Lid,
) -> Result<Vec<(u32, u8)>, Verdict> {
    let owner = topo.destinations().iter().find(|d| d.lid == lid).unwrap();
    let mut crossed = Vec::new();
    let mut at = from;
    for _ in 0..=topo.num_switches() {
        let port = tables[at.index()].get(lid);
        if at == owner.switch {
            return if port == owner.port {
                Ok(crossed)
            } else {
                Err(Verdict::Unreachable)
            };
        }
        if port == PortNum::DROP || port == PortNum::ZERO {
            return Err(Verdict::Unreachable);
        }
        let Some((next, _)) = topo.neighbor(at, port) else {
            return Err(Verdict::Unreachable);
        };
        crossed.push((at.0, port.raw()));
        at = next;
    }
    Err(Verdict::Loops)
}

/// Ports through which packets for a LID enter the fabric at a switch: its end ports and its port
/// 0.
pub(crate) fn entries(topo: &Topology, from: SwitchIdx, to: &Destination) -> Vec<PortNum> {
    let end_ports = topo.end_ports(from);
    if to.port == PortNum::ZERO && end_ports.is_empty() {
        return Vec::new();
    }
    let source_ports = std::iter::once(PortNum::ZERO).chain(end_ports.iter().map(|e| e.port));
    source_ports
        .filter(|&p| (from, p) != (to.switch, to.port))
        .collect()
}

/// A channel and its VL: switch, output port, VL.
pub(crate) type VirtualChannel = (u32, u8, u8);

/// The virtual channels that a packet with this SL crosses, unless it is dropped because of its VL.
pub(crate) fn channels_crossed(
    topo: &Topology,
    vl_plan: &VlPlan,
    crossed: &[(u32, u8)],
    entry: PortNum,
    sl: u8,
    to: &Destination,
) -> Option<Vec<VirtualChannel>> {
    if sl > 15 {
        return None;
    }
    let mut input = entry;
    let mut used = Vec::new();
    for &(switch, port) in crossed {
        let (s, p) = (SwitchIdx(switch), PortNum(port));
        let vl = vl_plan.vl(s, input, p, sl);
        if vl >= vl_plan.vls.min(topo.vls(s, p)) {
            return None;
        }
        used.push((switch, port, vl));
        input = topo.neighbor(s, p)?.1;
    }
    let ends_at_switch = to.port == PortNum::ZERO;
    (ends_at_switch || vl_plan.vl(to.switch, input, to.port, sl) < 15).then_some(used)
}

/// Checks tables by following every packet on its VLs.
pub(crate) fn check_tables(topo: &Topology, tables: &Tables, vl_plan: &VlPlan) -> Verdict {
    check_with_sls(topo, tables, |from, to| vec![vl_plan.sl(from, to)], vl_plan)
}

/// Whether the tables also pass if packets use the SL of any path in the reverse direction between
/// the same two switches.
pub(crate) fn reversible(topo: &Topology, tables: &Tables, vl_plan: &VlPlan) -> bool {
    let sls_of_both_directions = |from: SwitchIdx, to: &Destination| {
        let has_end_ports = !topo.end_ports(to.switch).is_empty();
        let replies = topo.destinations_on(from).iter();
        let replies = replies.filter(|d| has_end_ports || d.port != PortNum::ZERO);
        let mut sls: Vec<u8> = replies.map(|d| vl_plan.sl(to.switch, d)).collect();
        sls.push(vl_plan.sl(from, to));
        sls
    };
    check_with_sls(topo, tables, sls_of_both_directions, vl_plan) == Verdict::Good
}

/// Channel dependency graph, if every packet arrives.
pub(crate) fn dependencies(
    topo: &Topology,
    tables: &Tables,
    vl_plan: &VlPlan,
) -> DiGraphMap<VirtualChannel, ()> {
    follow_all(topo, tables, |from, to| vec![vl_plan.sl(from, to)], vl_plan).0
}

fn check_with_sls(
    topo: &Topology,
    tables: &Tables,
    sls: impl Fn(SwitchIdx, &Destination) -> Vec<u8>,
    vl_plan: &VlPlan,
) -> Verdict {
    let (dependencies, verdict) = follow_all(topo, tables, sls, vl_plan);
    if verdict == Verdict::Good && toposort(&dependencies, None).is_err() {
        Verdict::CreditLoop
    } else {
        verdict
    }
}

/// Channel dependency graph, and the first packet that does not arrive.
fn follow_all(
    topo: &Topology,
    tables: &Tables,
    sls: impl Fn(SwitchIdx, &Destination) -> Vec<u8>,
    vl_plan: &VlPlan,
) -> (DiGraphMap<VirtualChannel, ()>, Verdict) {
    let mut dependencies = DiGraphMap::<VirtualChannel, ()>::new();
    let (mut lost, mut loops, mut dropped) = (false, false, false);
    for d in topo.destinations() {
        for from in topo.switches() {
            let is_sent = d.port != PortNum::ZERO || !topo.end_ports(from).is_empty();
            let crossed = match follow(topo, tables, from, d.lid) {
                Ok(crossed) if is_sent => crossed,
                Err(Verdict::Loops) => {
                    loops = true;
                    continue;
                }
                Ok(_) => continue,
                Err(_) => {
                    lost |= is_sent;
                    continue;
                }
            };
            for sl in sls(from, d) {
                for entry in entries(topo, from, d) {
                    match channels_crossed(topo, vl_plan, &crossed, entry, sl, d) {
                        Some(used) => used.windows(2).for_each(|pair| {
                            dependencies.add_edge(pair[0], pair[1], ());
                        }),
                        None => dropped = true,
                    }
                }
            }
        }
    }
    let verdict = if loops {
        Verdict::Loops
    } else if lost {
        Verdict::Unreachable
    } else if dropped {
        Verdict::Dropped
    } else {
        Verdict::Good
    };
    (dependencies, verdict)
}

/// Hops between all ordered pairs of switches, breadth first.
pub(crate) fn distances(topo: &Topology) -> Vec<Vec<u32>> {
    topo.switches()
        .map(|s| {
            let mut hops = vec![u32::MAX; topo.num_switches()];
            let mut level = BTreeSet::from([s]);
            let mut depth = 0;
            while !level.is_empty() {
                level.iter().for_each(|v| hops[v.index()] = depth);
                depth += 1;
                level = level
                    .iter()
                    .flat_map(|&v| topo.links(v).iter().map(|l| l.peer))
                    .filter(|v| hops[v.index()] == u32::MAX)
                    .collect();
            }
            hops
        })
        .collect()
}

/// Number of routes between end ports that are longer than the shortest path.
pub(crate) fn detours(topo: &Topology, tables: &Tables) -> usize {
    let distances = distances(topo);
    let hosts = topo
        .destinations()
        .iter()
        .filter(|d| d.port != PortNum::ZERO);
    hosts
        .flat_map(|d| topo.switches().map(move |from| (d, from)))
        .filter(|(_, from)| !topo.end_ports(*from).is_empty())
        .filter(|(d, from)| {
            let hops = follow(topo, tables, *from, d.lid).unwrap().len();
            hops != distances[from.index()][d.switch.index()] as usize
        })
        .count()
}
