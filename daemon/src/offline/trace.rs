//! Path of a packet through a routed fabric, hop by hop, with the VL on each link.

use std::collections::VecDeque;

use ferrosm_fabric::snapshot::{
    InstalledRouting, PortIdx, ReportedEndPort, Snapshot, SnapshotNode,
};
use ferrosm_mad::ids::{Lid, PortNum, parse_u64};
use ferrosm_routing::{DATA_VLS_MAX, SwitchIdx, Topology};
use ferrosm_sim_server::similar_names::suggest;

/// A node on the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    /// Slot of the node.
    pub node: u32,
    /// Input port; `None` at the source.
    pub input: Option<PortNum>,
    /// Output port and VL on that link; `None` at the destination.
    pub output: Option<(PortNum, u8)>,
}

/// A path between two end ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// Nodes from source to destination.
    pub hops: Vec<Hop>,
    /// Destination LID.
    pub lid: Lid,
    /// SL of the path.
    pub sl: u8,
    /// SL of the reverse path.
    pub sl_back: u8,
    /// Number of links between switches.
    pub length: usize,
    /// Number of links of a shortest path.
    pub shortest: usize,
}

/// Finds the end port named by a LID, a node or port GUID, a name, or `NAME/PORT`.
///
/// # Errors
/// No port matches, or several nodes do.
pub fn find(snapshot: &Snapshot, text: &str) -> Result<PortIdx, String> {
    find_where(snapshot, text, &|end_port| end_port.lid.is_unicast())
}

/// [`find`] in a fabric whose ports have no LIDs yet.
///
/// # Errors
/// No port matches, or several nodes do.
pub fn find_unaddressed(snapshot: &Snapshot, text: &str) -> Result<PortIdx, String> {
    find_where(snapshot, text, &|_| true)
}

/// Whether an end port is a candidate.
type PortFilter<'a> = &'a dyn Fn(&ReportedEndPort) -> bool;

fn find_where(
    snapshot: &Snapshot,
    text: &str,
    is_candidate: PortFilter<'_>,
) -> Result<PortIdx, String> {
    if let Some(number) = parse_u64(text) {
        return by_number(snapshot, number, is_candidate)
            .ok_or_else(|| format!("no port of this fabric has the LID or GUID {text}"));
    }
    let (name, port) = match text.rsplit_once('/') {
        Some((name, port)) if !snapshot.nodes().any(|n| n.name() == text) => {
            (name, port.parse().ok().map(PortNum))
        }
        _ => (text, None),
    };
    let matching = |f: &dyn Fn(&SnapshotNode) -> bool| -> Vec<u32> {
        let slots = snapshot.slots();
        slots.filter(|slot| f(snapshot.node(*slot))).collect()
    };
    let mut nodes = matching(&|n| n.name() == name);
    if nodes.is_empty() {
        nodes = matching(&|n| n.name().contains(name));
    }
    match nodes.as_slice() {
        [] => {
            let names: Vec<String> = snapshot.nodes().map(SnapshotNode::name).collect();
            let suggestion = suggest(name, names.iter().map(String::as_str));
            Err(format!(
                "no node of this fabric is named `{name}`{suggestion}"
            ))
        }
        [node] => end_port(snapshot, *node, port, is_candidate).ok_or_else(|| match port {
            Some(port) => format!("\"{name}\" has no connected end port {port}"),
            None => format!("\"{name}\" has no connected end port"),
        }),
        [first, second, ..] => {
            let description = |slot: &u32| {
                let node = snapshot.node(*slot);
                format!("\"{}\" ({})", node.name(), node.guid)
            };
            Err(format!(
                "`{name}` matches {} nodes, such as {} and {}: give the whole name, or a LID or GUID",
                nodes.len(),
                description(first),
                description(second)
            ))
        }
    }
}

fn by_number(snapshot: &Snapshot, number: u64, is_candidate: PortFilter<'_>) -> Option<PortIdx> {
    let lid = u16::try_from(number)
        .ok()
        .map(Lid)
        .filter(|l| l.is_unicast());
    for node in snapshot.slots() {
        for port_of_node in snapshot.reported_end_ports(node) {
            let base = u32::from(port_of_node.lid.0);
            let lids = base..base + (1 << port_of_node.lmc.0.min(7));
            let matches = match lid {
                Some(lid) => port_of_node.lid.is_unicast() && lids.contains(&u32::from(lid.0)),
                None => port_of_node.guid.0 == number,
            };
            if matches {
                return Some(PortIdx::new(node, port_of_node.num));
            }
        }
    }
    let has_guid = |slot: &u32| snapshot.node(*slot).guid.0 == number;
    let node = snapshot.slots().find(has_guid)?;
    end_port(snapshot, node, None, is_candidate)
}

/// The candidate end port of a node with this number, or the first.
fn end_port(
    snapshot: &Snapshot,
    node: u32,
    port: Option<PortNum>,
    is_candidate: PortFilter<'_>,
) -> Option<PortIdx> {
    snapshot
        .reported_end_ports(node)
        .find(|e| is_candidate(e) && port.is_none_or(|p| e.num == p))
        .map(|e| PortIdx::new(node, e.num))
}

/// Follows the tables from one end port to another; `None` if they are connected without a switch.
/// Verified tables reach all other ports.
#[must_use]
pub fn follow(snapshot: &Snapshot, from: PortIdx, to: PortIdx) -> Option<Trace> {
    let routing = snapshot.installed_routing()?;
    let lid = snapshot.reported_lid_owner(to).lid;
    let topo = &*routing.run.topo;
    let first = edge_switch(snapshot, &routing, from)?;
    let last = edge_switch(snapshot, &routing, to)?;
    let sl_back = path_sl(&routing, last, snapshot.reported_lid_owner(from).lid)?;
    let sl = path_sl(&routing, first, lid)?;
    let finish = |hops, length| Trace {
        hops,
        lid,
        sl,
        sl_back,
        length,
        shortest: distance(topo, first, last),
    };
    let mut hops = Vec::new();
    let mut at = first;
    let mut input = PortNum::ZERO;
    if snapshot.is_switch(from.node()) {
        if from == to {
            return None;
        }
    } else {
        let peer = snapshot.peer(from)?;
        let vl = routing
            .run
            .routing
            .vl_plan
            .end_port_map(topo.vls(first, peer.num()));
        hops.push(Hop {
            node: from.node(),
            input: None,
            output: Some((from.num(), vl[usize::from(sl)])),
        });
        input = peer.num();
    }
    let mut length = 0;
    for _ in 0..=topo.num_switches() {
        let node = node_of(snapshot, &routing, at)?;
        let output = routing.run.routing.tables.get(at.index())?.get(lid);
        let input_port = (!hops.is_empty()).then_some(input);
        if output == PortNum::ZERO {
            hops.push(Hop {
                node,
                input: input_port,
                output: None,
            });
            return Some(finish(hops, length));
        }
        let vl = routing.run.routing.vl_plan.map(topo, at, input, output)[usize::from(sl)];
        hops.push(Hop {
            node,
            input: input_port,
            output: Some((output, vl)),
        });
        match topo.neighbor(at, output) {
            Some((next, port)) => {
                length += 1;
                (at, input) = (next, port);
            }
            None => {
                let peer = snapshot.peer(snapshot.port_by_num(node, output)?);
                let peer = peer.filter(|p| p.node() == to.node())?;
                hops.push(Hop {
                    node: peer.node(),
                    input: Some(peer.num()),
                    output: None,
                });
                return Some(finish(hops, length));
            }
        }
    }
    None
}

fn path_sl(routing: &InstalledRouting<'_>, from: SwitchIdx, to: Lid) -> Option<u8> {
    let destinations = routing.run.topo.destinations();
    let at = destinations.binary_search_by_key(&to, |d| d.lid).ok()?;
    Some(
        routing
            .run
            .routing
            .vl_plan
            .sl(from, &destinations[at])
            .min(DATA_VLS_MAX),
    )
}

/// The switch of an end port: its own node, or its neighbour.
fn edge_switch(
    snapshot: &Snapshot,
    routing: &InstalledRouting<'_>,
    at: PortIdx,
) -> Option<SwitchIdx> {
    let own = routing.switch(at.node());
    own.or_else(|| routing.switch(snapshot.peer(at)?.node()))
}

fn node_of(snapshot: &Snapshot, routing: &InstalledRouting<'_>, s: SwitchIdx) -> Option<u32> {
    snapshot
        .slots()
        .find(|slot| routing.switch(*slot) == Some(s))
}

fn distance(topo: &Topology, from: SwitchIdx, to: SwitchIdx) -> usize {
    let mut distance = vec![usize::MAX; topo.num_switches()];
    distance[from.index()] = 0;
    let mut queue = VecDeque::from([from]);
    while let Some(at) = queue.pop_front() {
        for link in topo.links(at) {
            if distance[link.peer.index()] == usize::MAX {
                distance[link.peer.index()] = distance[at.index()] + 1;
                queue.push_back(link.peer);
            }
        }
    }
    distance[to.index()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offline;
    use crate::offline::args::OfflineArgs;

    fn routed(spec: &str, engine: &str) -> Snapshot {
        let args = OfflineArgs::with_engines(&[engine]);
        offline::route(spec, &args).unwrap().snapshot
    }

    fn hosts(snapshot: &Snapshot) -> Vec<u32> {
        let slots = snapshot.slots();
        slots.filter(|slot| !snapshot.is_switch(*slot)).collect()
    }

    #[test]
    fn path_connects_port_to_port() {
        let snapshot = routed("ring:5,1", "updn");
        let hosts = hosts(&snapshot);
        let at = |n: usize| find(&snapshot, &snapshot.node(hosts[n]).guid.to_string()).unwrap();
        for (a, b) in [(0, 1), (0, 2), (3, 1), (4, 0)] {
            let trace = follow(&snapshot, at(a), at(b)).unwrap();
            assert_eq!(trace.hops.len(), trace.length + 3);
            assert!(trace.length >= trace.shortest && trace.shortest > 0);
            for pair in trace.hops.windows(2) {
                let out = PortIdx::new(pair[0].node, pair[0].output.unwrap().0);
                let into = PortIdx::new(pair[1].node, pair[1].input.unwrap());
                assert_eq!(snapshot.peer(out), Some(into));
            }
            let first = trace.hops[0];
            let last = trace.hops[trace.hops.len() - 1];
            assert_eq!((first.input, last.output), (None, None));
            assert_eq!((first.node, last.node), (hosts[a], hosts[b]));
        }
    }

    /// Switches can be source and destination; a path may have one switch.
    #[test]
    fn paths_from_and_to_switches_are_traced() {
        let snapshot = routed("star:3", "updn");
        let switch = snapshot.nodes().find(|n| n.is_switch()).unwrap();
        let at = find(&snapshot, &switch.guid.to_string()).unwrap();
        let host = snapshot.node(hosts(&snapshot)[0]);
        let host = find(&snapshot, &host.guid.to_string()).unwrap();
        let down = follow(&snapshot, at, host).unwrap();
        assert_eq!((down.hops.len(), down.length, down.shortest), (2, 0, 0));
        assert_eq!(down.hops[0].input, None);
        let up = follow(&snapshot, host, at).unwrap();
        assert_eq!((up.hops.len(), up.hops[1].output), (2, None));
        assert_eq!(follow(&snapshot, at, at), None);
    }

    #[test]
    fn ports_are_found_by_lid_guid_and_name() {
        let snapshot = routed("star:3", "updn");
        let at = PortIdx::new(hosts(&snapshot)[1], PortNum(1));
        let host = snapshot.node(at.node());
        let end_port = snapshot.reported_lid_owner(at);
        for text in [
            end_port.lid.to_string(),
            format!("{:#x}", end_port.lid.0),
            end_port.guid.to_string(),
            host.guid.to_string(),
            host.name(),
            format!("{}/1", host.name()),
        ] {
            assert_eq!(find(&snapshot, &text), Ok(at), "{text}");
        }
        assert!(find(&snapshot, "no such").unwrap_err().contains("is named"));
        assert!(find(&snapshot, "0x99").unwrap_err().contains("LID or GUID"));
        assert!(find(&snapshot, &format!("{}/2", host.name())).is_err());
        let prefix = &host.name()[..1];
        assert!(
            find(&snapshot, prefix)
                .unwrap_err()
                .contains(" nodes, such as ")
        );
    }
}
