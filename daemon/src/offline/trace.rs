//! Path of a packet through a routed fabric, hop by hop, with the VL on each link.

use std::collections::VecDeque;

use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_routing::{DATA_VLS_MAX, SwitchIdx, Topology};
use ferrosm_sim_server::similar_names::suggest;

use ferrosm_opensm_compat::view::FabricView;
use ferrosm_opensm_compat::view::{FabricEndPort, FabricNode, InstalledRouting, PortLocation};

/// A node on the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    /// Index of the node.
    pub node: usize,
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
pub fn find(view: &FabricView, text: &str) -> Result<PortLocation, String> {
    find_where(view, text, &|end_port| end_port.lid.is_unicast())
}

/// [`find`] in a fabric whose ports have no LIDs yet.
///
/// # Errors
/// No port matches, or several nodes do.
pub fn find_unaddressed(view: &FabricView, text: &str) -> Result<PortLocation, String> {
    find_where(view, text, &|_| true)
}

/// Whether an end port is a candidate.
type PortFilter<'a> = &'a dyn Fn(&FabricEndPort) -> bool;

fn find_where(
    view: &FabricView,
    text: &str,
    is_candidate: PortFilter<'_>,
) -> Result<PortLocation, String> {
    if let Some(number) = text.parse().ok().or_else(|| {
        let hex = text
            .strip_prefix("0x")
            .or_else(|| text.strip_prefix("0X"))?;
        u64::from_str_radix(hex, 16).ok()
    }) {
        return by_number(view, number, is_candidate)
            .ok_or_else(|| format!("no port of this fabric has the LID or GUID {text}"));
    }
    let (name, port) = match text.rsplit_once('/') {
        Some((name, port)) if !view.nodes.iter().any(|n| n.name() == text) => {
            (name, port.parse().ok().map(PortNum))
        }
        _ => (text, None),
    };
    let matching = |f: &dyn Fn(&FabricNode) -> bool| -> Vec<usize> {
        (0..view.nodes.len())
            .filter(|n| f(&view.nodes[*n]))
            .collect()
    };
    let mut nodes = matching(&|n| n.name() == name);
    if nodes.is_empty() {
        nodes = matching(&|n| n.name().contains(name));
    }
    match nodes.as_slice() {
        [] => {
            let names: Vec<String> = view.nodes.iter().map(FabricNode::name).collect();
            let suggestion = suggest(name, names.iter().map(String::as_str));
            Err(format!(
                "no node of this fabric is named `{name}`{suggestion}"
            ))
        }
        [node] => end_port(view, *node, port, is_candidate).ok_or_else(|| match port {
            Some(port) => format!("\"{name}\" has no connected end port {port}"),
            None => format!("\"{name}\" has no connected end port"),
        }),
        [first, second, ..] => {
            let description = |n: &usize| {
                let node = &view.nodes[*n];
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

fn by_number(view: &FabricView, number: u64, is_candidate: PortFilter<'_>) -> Option<PortLocation> {
    let lid = u16::try_from(number)
        .ok()
        .map(Lid)
        .filter(|l| l.is_unicast());
    for (n, node) in view.nodes.iter().enumerate() {
        for port_of_node in &node.end_ports {
            let base = u32::from(port_of_node.lid.0);
            let lids = base..base + (1 << port_of_node.lmc.0.min(7));
            let matches = match lid {
                Some(lid) => port_of_node.lid.is_unicast() && lids.contains(&u32::from(lid.0)),
                None => port_of_node.guid.0 == number,
            };
            if matches {
                return Some(PortLocation {
                    node: n,
                    port: port_of_node.port,
                });
            }
        }
    }
    let node = view.nodes.iter().position(|n| n.guid.0 == number)?;
    end_port(view, node, None, is_candidate)
}

/// The candidate end port of a node with this number, or the first.
fn end_port(
    view: &FabricView,
    node: usize,
    port: Option<PortNum>,
    is_candidate: PortFilter<'_>,
) -> Option<PortLocation> {
    view.nodes[node]
        .end_ports
        .iter()
        .find(|e| is_candidate(e) && port.is_none_or(|p| e.port == p))
        .map(|e| PortLocation { node, port: e.port })
}

/// Follows the tables from one end port to another; `None` if they are connected without a switch.
/// Verified tables reach all other ports.
#[must_use]
pub fn follow(view: &FabricView, from: PortLocation, to: PortLocation) -> Option<Trace> {
    let routing = view.routing.as_ref()?;
    let lid = view.nodes[to.node].end_port(to.port).lid;
    let topo = &*routing.run.topo;
    let first = edge_switch(view, routing, from)?;
    let last = edge_switch(view, routing, to)?;
    let sl_back = path_sl(routing, last, view.nodes[from.node].end_port(from.port).lid)?;
    let sl = path_sl(routing, first, lid)?;
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
    if view.nodes[from.node].is_switch() {
        if from == to {
            return None;
        }
    } else {
        let peer = neighbour(view, from)?;
        let vl = routing
            .run
            .routing
            .vl_plan
            .end_port_map(topo.vls(first, peer.port));
        hops.push(Hop {
            node: from.node,
            input: None,
            output: Some((from.port, vl[usize::from(sl)])),
        });
        input = peer.port;
    }
    let mut length = 0;
    for _ in 0..=topo.num_switches() {
        let node = node_of(view, routing, at)?;
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
                let peer = neighbour(view, PortLocation { node, port: output })
                    .filter(|p| p.node == to.node)?;
                hops.push(Hop {
                    node: peer.node,
                    input: Some(peer.port),
                    output: None,
                });
                return Some(finish(hops, length));
            }
        }
    }
    None
}

fn path_sl(routing: &InstalledRouting, from: SwitchIdx, to: Lid) -> Option<u8> {
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
    view: &FabricView,
    routing: &InstalledRouting,
    at: PortLocation,
) -> Option<SwitchIdx> {
    routing
        .switch(at.node)
        .or_else(|| routing.switch(neighbour(view, at)?.node))
}

fn node_of(view: &FabricView, routing: &InstalledRouting, s: SwitchIdx) -> Option<usize> {
    (0..view.nodes.len()).find(|n| routing.switch(*n) == Some(s))
}

fn neighbour(view: &FabricView, at: PortLocation) -> Option<PortLocation> {
    view.links.iter().find_map(|l| {
        if l.a == at {
            Some(l.b)
        } else if l.b == at {
            Some(l.a)
        } else {
            None
        }
    })
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
    use crate::cli::OfflineArgs;
    use crate::offline;

    fn routed(spec: &str, engine: &str) -> FabricView {
        let args = OfflineArgs::with_engines(spec, &[engine]);
        offline::route(&args).unwrap().view
    }

    fn hosts(view: &FabricView) -> Vec<usize> {
        (0..view.nodes.len())
            .filter(|n| !view.nodes[*n].is_switch())
            .collect()
    }

    #[test]
    fn path_connects_port_to_port() {
        let view = routed("ring:5,1", "updn");
        let hosts = hosts(&view);
        let at = |n: usize| find(&view, &view.nodes[hosts[n]].guid.to_string()).unwrap();
        for (a, b) in [(0, 1), (0, 2), (3, 1), (4, 0)] {
            let trace = follow(&view, at(a), at(b)).unwrap();
            assert_eq!(trace.hops.len(), trace.length + 3);
            assert!(trace.length >= trace.shortest && trace.shortest > 0);
            for pair in trace.hops.windows(2) {
                let out = PortLocation {
                    node: pair[0].node,
                    port: pair[0].output.unwrap().0,
                };
                let into = PortLocation {
                    node: pair[1].node,
                    port: pair[1].input.unwrap(),
                };
                assert_eq!(neighbour(&view, out), Some(into));
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
        let view = routed("star:3", "updn");
        let switch = view.nodes.iter().position(|n| n.is_switch()).unwrap();
        let at = find(&view, &view.nodes[switch].guid.to_string()).unwrap();
        let host = find(&view, &view.nodes[hosts(&view)[0]].guid.to_string()).unwrap();
        let down = follow(&view, at, host).unwrap();
        assert_eq!((down.hops.len(), down.length, down.shortest), (2, 0, 0));
        assert_eq!(down.hops[0].input, None);
        let up = follow(&view, host, at).unwrap();
        assert_eq!((up.hops.len(), up.hops[1].output), (2, None));
        assert_eq!(follow(&view, at, at), None);
    }

    #[test]
    fn ports_are_found_by_lid_guid_and_name() {
        let view = routed("star:3", "updn");
        let host = &view.nodes[hosts(&view)[1]];
        let at = PortLocation {
            node: hosts(&view)[1],
            port: PortNum(1),
        };
        let end_port = host.end_ports[0];
        for text in [
            end_port.lid.to_string(),
            format!("{:#x}", end_port.lid.0),
            end_port.guid.to_string(),
            host.guid.to_string(),
            host.name(),
            format!("{}/1", host.name()),
        ] {
            assert_eq!(find(&view, &text), Ok(at), "{text}");
        }
        assert!(find(&view, "no such").unwrap_err().contains("is named"));
        assert!(find(&view, "0x99").unwrap_err().contains("LID or GUID"));
        assert!(find(&view, &format!("{}/2", host.name())).is_err());
        let prefix = &host.name()[..1];
        assert!(
            find(&view, prefix)
                .unwrap_err()
                .contains(" nodes, such as ")
        );
    }
}
