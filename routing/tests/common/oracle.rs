//! A slow judge of tables that shares nothing with the crate's proof: it follows every packet hop
//! by hop.

#![allow(clippy::unwrap_used, reason = "a test helper")]
#![allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    reason = "each test binary uses some of it"
)]

use std::collections::BTreeSet;

use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_routing::{SwitchIdx, Tables, Topology};
use petgraph::algo::toposort;
use petgraph::graphmap::DiGraphMap;

/// What the judge says.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    Good,
    Unreachable,
    Loops,
    CreditLoop,
}

/// Channels that a packet crosses, or why it never arrives.
pub fn follow(
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

/// Judges tables by following every packet.
pub fn judge(topo: &Topology, tables: &Tables) -> Verdict {
    let mut waits = DiGraphMap::<(u32, u8), ()>::new();
    let (mut lost, mut loops) = (false, false);
    for d in topo.destinations() {
        for from in topo.switches() {
            let real = d.port != PortNum::ZERO || !topo.end_ports(from).is_empty();
            match follow(topo, tables, from, d.lid) {
                Ok(crossed) if real => {
                    for pair in crossed.windows(2) {
                        waits.add_edge(pair[0], pair[1], ());
                    }
                }
                Err(Verdict::Loops) => loops = true,
                Err(_) if real => lost = true,
                Ok(_) | Err(_) => {}
            }
        }
    }
    if loops {
        Verdict::Loops
    } else if lost {
        Verdict::Unreachable
    } else if toposort(&waits, None).is_err() {
        Verdict::CreditLoop
    } else {
        Verdict::Good
    }
}

/// Hops between all ordered pairs of switches, breadth first over cables.
pub fn distances(topo: &Topology) -> Vec<Vec<u32>> {
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
pub fn detours(topo: &Topology, tables: &Tables) -> usize {
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
