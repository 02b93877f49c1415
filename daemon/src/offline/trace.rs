//! The way of one packet through a routed fabric, hop by hop, with its lanes.

use std::collections::VecDeque;

use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_routing::{DATA_VLS_MAX, SwitchIdx, Topology};

use ferrosm_opensm_compat::view::FabricView;
use ferrosm_opensm_compat::view::{EndPort, InstalledRouting, Node, PortLocation};

/// A node on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    /// Index of the node.
    pub node: usize,
    /// The port that the packet comes in by; `None` where it starts.
    pub input: Option<PortNum>,
    /// The port that it leaves by and the VL on the cable there; `None` where it ends.
    pub output: Option<(PortNum, u8)>,
}

/// A way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// From source to destination.
    pub hops: Vec<Hop>,
    /// The LID that the packet goes to.
    pub lid: Lid,
    /// Its service level.
    pub sl: u8,
    /// The service level of the way back.
    pub sl_back: u8,
    /// Cables between switches.
    pub length: usize,
    /// The least that there could be.
    pub shortest: usize,
}

/// Finds what an operator means by a LID, a GUID of node or port, a name, or a name with `/PORT`: an end port.
///
/// # Errors
/// Nothing is meant, or more than one thing.
pub fn find(view: &FabricView, text: &str) -> Result<PortLocation, String> {
    find_where(view, text, &|end| end.lid.is_unicast())
}

/// The same in a fabric whose ports have no LIDs yet.
///
/// # Errors
/// Nothing is meant, or more than one thing.
pub fn find_unaddressed(view: &FabricView, text: &str) -> Result<PortLocation, String> {
    find_where(view, text, &|_| true)
}

/// Which ports may be meant.
type Counts<'a> = &'a dyn Fn(&EndPort) -> bool;

fn find_where(view: &FabricView, text: &str, counts: Counts<'_>) -> Result<PortLocation, String> {
    if let Some(number) = text.parse().ok().or_else(|| {
        let hex = text
            .strip_prefix("0x")
            .or_else(|| text.strip_prefix("0X"))?;
        u64::from_str_radix(hex, 16).ok()
    }) {
        return by_number(view, number, counts)
            .ok_or_else(|| format!("no port of this fabric has the LID or GUID {text}"));
    }
    let (name, port) = match text.rsplit_once('/') {
        Some((name, port)) if !view.nodes.iter().any(|n| n.name() == text) => {
            (name, port.parse().ok().map(PortNum))
        }
        _ => (text, None),
    };
    let named = |f: &dyn Fn(&Node) -> bool| -> Vec<usize> {
        (0..view.nodes.len())
            .filter(|n| f(&view.nodes[*n]))
            .collect()
    };
    let mut found = named(&|n| n.name() == name);
    if found.is_empty() {
        found = named(&|n| n.name().contains(name));
    }
    match found.as_slice() {
        [] => Err(format!("no node of this fabric is named `{name}`")),
        [node] => end_port(view, *node, port, counts).ok_or_else(|| match port {
            Some(port) => format!("\"{name}\" has no end port {port} with a cable"),
            None => format!("\"{name}\" has no port with a cable"),
        }),
        [first, second, ..] => {
            let guid = |n: &usize| view.nodes[*n].guid;
            Err(format!(
                "{} nodes are meant by `{name}`, such as {} and {}: give a LID or GUID",
                found.len(),
                guid(first),
                guid(second)
            ))
        }
    }
}

fn by_number(view: &FabricView, number: u64, counts: Counts<'_>) -> Option<PortLocation> {
    let lid = u16::try_from(number)
        .ok()
        .map(Lid)
        .filter(|l| l.is_unicast());
    for (n, node) in view.nodes.iter().enumerate() {
        for end in &node.end_ports {
            let base = u32::from(end.lid.0);
            let lids = base..base + (1 << end.lmc.0.min(7));
            let hit = match lid {
                Some(lid) => end.lid.is_unicast() && lids.contains(&u32::from(lid.0)),
                None => end.guid.0 == number,
            };
            if hit {
                return Some(PortLocation {
                    node: n,
                    port: end.port,
                });
            }
        }
    }
    let node = view.nodes.iter().position(|n| n.guid.0 == number)?;
    end_port(view, node, None, counts)
}

/// The port of a node that counts: the one with that number, or the first.
fn end_port(
    view: &FabricView,
    node: usize,
    port: Option<PortNum>,
    counts: Counts<'_>,
) -> Option<PortLocation> {
    let ends = view.nodes[node].end_ports.iter().filter(|e| counts(e));
    let mut meant = ends.filter(|e| port.is_none_or(|p| e.port == p));
    meant.next().map(|e| PortLocation { node, port: e.port })
}

/// Follows a packet between two end ports; `None` if tables lead nowhere, which proven ones do not.
#[must_use]
pub fn follow(view: &FabricView, from: PortLocation, to: PortLocation) -> Option<Trace> {
    let lanes = view.routing.as_ref()?;
    let lid = view.nodes[to.node].end_port(to.port).lid;
    let topo = &*lanes.run.topo;
    let first = entry(view, lanes, from)?;
    let last = entry(view, lanes, to)?;
    let sl_back = sl(lanes, last, view.nodes[from.node].end_port(from.port).lid)?;
    let sl = sl(lanes, first, lid)?;
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
        let peer = peer(view, from)?;
        let vl = lanes
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
        let node = node_of(view, lanes, at)?;
        let output = lanes.run.routing.tables.get(at.index())?.get(lid);
        let came_by = (!hops.is_empty()).then_some(input);
        if output == PortNum::ZERO {
            hops.push(Hop {
                node,
                input: came_by,
                output: None,
            });
            return Some(finish(hops, length));
        }
        let vl = lanes.run.routing.vl_plan.map(topo, at, input, output)[usize::from(sl)];
        hops.push(Hop {
            node,
            input: came_by,
            output: Some((output, vl)),
        });
        match topo.neighbor(at, output) {
            Some((next, port)) => {
                length += 1;
                (at, input) = (next, port);
            }
            None => {
                let end = peer(view, PortLocation { node, port: output })
                    .filter(|p| p.node == to.node)?;
                hops.push(Hop {
                    node: end.node,
                    input: Some(end.port),
                    output: None,
                });
                return Some(finish(hops, length));
            }
        }
    }
    None
}

fn sl(lanes: &InstalledRouting, from: SwitchIdx, to: Lid) -> Option<u8> {
    let all = lanes.run.topo.destinations();
    let at = all.binary_search_by_key(&to, |d| d.lid).ok()?;
    Some(
        lanes
            .run
            .routing
            .vl_plan
            .sl(from, &all[at])
            .min(DATA_VLS_MAX),
    )
}

/// The switch that an end port hangs on, or is.
fn entry(view: &FabricView, lanes: &InstalledRouting, at: PortLocation) -> Option<SwitchIdx> {
    lanes
        .switch(at.node)
        .or_else(|| lanes.switch(peer(view, at)?.node))
}

fn node_of(view: &FabricView, lanes: &InstalledRouting, s: SwitchIdx) -> Option<usize> {
    (0..view.nodes.len()).find(|n| lanes.switch(*n) == Some(s))
}

fn peer(view: &FabricView, at: PortLocation) -> Option<PortLocation> {
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
    let mut far = vec![usize::MAX; topo.num_switches()];
    far[from.index()] = 0;
    let mut queue = VecDeque::from([from]);
    while let Some(at) = queue.pop_front() {
        for link in topo.links(at) {
            if far[link.peer.index()] == usize::MAX {
                far[link.peer.index()] = far[at.index()] + 1;
                queue.push_back(link.peer);
            }
        }
    }
    far[to.index()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{FileArgs, HintArgs};
    use crate::offline;

    fn routed(spec: &str, engine: &str) -> FabricView {
        let args = HintArgs {
            from: spec.to_owned(),
            node: None,
            engine: vec![engine.parse().unwrap()],
            budget: core::time::Duration::from_secs(2).into(),
            vls: None,
            files: FileArgs::default(),
        };
        offline::route(&args).unwrap().view
    }

    fn hosts(view: &FabricView) -> Vec<usize> {
        (0..view.nodes.len())
            .filter(|n| !view.nodes[*n].is_switch())
            .collect()
    }

    #[test]
    fn a_way_goes_from_port_to_port() {
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
                assert_eq!(peer(&view, out), Some(into));
            }
            let (first, last) = (trace.hops[0], trace.hops[trace.hops.len() - 1]);
            assert_eq!((first.input, last.output), (None, None));
            assert_eq!((first.node, last.node), (hosts[a], hosts[b]));
        }
    }

    /// Switches are sources and destinations too, and one switch can be the whole way.
    #[test]
    fn switches_have_ways_too() {
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
        let end = host.end_ports[0];
        for text in [
            end.lid.to_string(),
            format!("{:#x}", end.lid.0),
            end.guid.to_string(),
            host.guid.to_string(),
            host.name(),
            format!("{}/1", host.name()),
        ] {
            assert_eq!(find(&view, &text), Ok(at), "{text}");
        }
        assert!(find(&view, "no such").unwrap_err().contains("is named"));
        assert!(find(&view, "0x99").unwrap_err().contains("LID or GUID"));
        assert!(find(&view, &format!("{}/2", host.name())).is_err());
        let common = &host.name()[..1];
        assert!(find(&view, common).unwrap_err().contains("nodes are meant"));
    }
}
