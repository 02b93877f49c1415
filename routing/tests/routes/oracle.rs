//! A slow judge of tables and lanes that shares nothing with the crate's proof: it follows every
//! packet hop by hop.

#![allow(clippy::unwrap_used, reason = "a test helper")]

use std::collections::BTreeSet;

use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_routing::{Destination, SwitchIdx, Tables, Topology, VlPlan};
use petgraph::algo::toposort;
use petgraph::graphmap::DiGraphMap;

/// What the judge says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Good,
    Unreachable,
    Loops,
    /// An SL or VL that there is not.
    Dropped,
    CreditLoop,
}

/// Channels that a packet crosses, or why it never arrives.
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

/// Ports by which packets for a LID come into the fabric at a switch: its end ports and its own port 0.
pub(crate) fn entries(topo: &Topology, from: SwitchIdx, to: &Destination) -> Vec<PortNum> {
    let ends = topo.end_ports(from);
    if to.port == PortNum::ZERO && ends.is_empty() {
        return Vec::new();
    }
    let all = std::iter::once(PortNum::ZERO).chain(ends.iter().map(|e| e.port));
    all.filter(|&p| (from, p) != (to.switch, to.port)).collect()
}

/// A channel and a lane of it: switch, outgoing port, VL.
pub(crate) type Lane = (u32, u8, u8);

/// The lanes that a packet with this SL crosses, if it is never dropped for its lane.
pub(crate) fn lanes_crossed(
    topo: &Topology,
    lanes: &VlPlan,
    crossed: &[(u32, u8)],
    entry: PortNum,
    sl: u8,
    to: &Destination,
) -> Option<Vec<Lane>> {
    if sl > 15 {
        return None;
    }
    let mut input = entry;
    let mut used = Vec::new();
    for &(switch, port) in crossed {
        let (s, p) = (SwitchIdx(switch), PortNum(port));
        let vl = lanes.vl(s, input, p, sl);
        if vl >= lanes.vls.min(topo.vls(s, p)) {
            return None;
        }
        used.push((switch, port, vl));
        input = topo.neighbor(s, p)?.1;
    }
    let kept = to.port == PortNum::ZERO;
    (kept || lanes.vl(to.switch, input, to.port, sl) < 15).then_some(used)
}

/// Judges tables by following every packet on its lanes.
pub(crate) fn judge(topo: &Topology, tables: &Tables, lanes: &VlPlan) -> Verdict {
    judge_with(topo, tables, |from, to| vec![lanes.sl(from, to)], lanes)
}

/// Whether the tables also pass when the packets of a path may use the SL of the way back (of any packets between the
/// same two switches).
pub(crate) fn reversible(topo: &Topology, tables: &Tables, lanes: &VlPlan) -> bool {
    let both = |from: SwitchIdx, to: &Destination| {
        let ends = !topo.end_ports(to.switch).is_empty();
        let back = topo.destinations_on(from).iter();
        let back = back.filter(|d| ends || d.port != PortNum::ZERO);
        let mut sls: Vec<u8> = back.map(|d| lanes.sl(to.switch, d)).collect();
        sls.push(lanes.sl(from, to));
        sls
    };
    judge_with(topo, tables, both, lanes) == Verdict::Good
}

/// What waits for what, if every packet arrives.
pub(crate) fn dependencies(
    topo: &Topology,
    tables: &Tables,
    lanes: &VlPlan,
) -> DiGraphMap<Lane, ()> {
    follow_all(topo, tables, |from, to| vec![lanes.sl(from, to)], lanes).0
}

fn judge_with(
    topo: &Topology,
    tables: &Tables,
    sls: impl Fn(SwitchIdx, &Destination) -> Vec<u8>,
    lanes: &VlPlan,
) -> Verdict {
    let (waits, verdict) = follow_all(topo, tables, sls, lanes);
    if verdict == Verdict::Good && toposort(&waits, None).is_err() {
        Verdict::CreditLoop
    } else {
        verdict
    }
}

/// What waits for what, and what happens to packets.
fn follow_all(
    topo: &Topology,
    tables: &Tables,
    sls: impl Fn(SwitchIdx, &Destination) -> Vec<u8>,
    lanes: &VlPlan,
) -> (DiGraphMap<Lane, ()>, Verdict) {
    let mut waits = DiGraphMap::<Lane, ()>::new();
    let (mut lost, mut loops, mut dropped) = (false, false, false);
    for d in topo.destinations() {
        for from in topo.switches() {
            let real = d.port != PortNum::ZERO || !topo.end_ports(from).is_empty();
            let crossed = match follow(topo, tables, from, d.lid) {
                Ok(crossed) if real => crossed,
                Err(Verdict::Loops) => {
                    loops = true;
                    continue;
                }
                Ok(_) => continue,
                Err(_) => {
                    lost |= real;
                    continue;
                }
            };
            for sl in sls(from, d) {
                for entry in entries(topo, from, d) {
                    match lanes_crossed(topo, lanes, &crossed, entry, sl, d) {
                        Some(used) => used.windows(2).for_each(|pair| {
                            waits.add_edge(pair[0], pair[1], ());
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
    (waits, verdict)
}

/// Hops between all ordered pairs of switches, breadth first over cables.
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

/// Routes between end ports on paths that are longer than the shortest.
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
