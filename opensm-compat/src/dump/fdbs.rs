//! `opensm.fdbs`: the LFT of each switch with the hops to each LID, and whether a shorter path
//! exists.

use std::io::{self, Write};

use ferrosm_fabric::snapshot::{PortIdx, Snapshot};
use ferrosm_mad::ids::PortNum;

use super::switch_graph::{SwitchGraph, UNREACHED};
use super::{LidOwners, lft_entry};

/// The switch and port that a LID is attached to; port 0 for the switch's own LID.
fn attachment(snapshot: &Snapshot, graph: &SwitchGraph, at: PortIdx) -> Option<(usize, PortNum)> {
    if snapshot.is_switch(at.node()) {
        return Some((graph.number(at.node())?, PortNum::ZERO));
    }
    let peer = snapshot.peer(at)?;
    Some((graph.number(peer.node())?, peer.num()))
}

pub(super) fn render(
    snapshot: &Snapshot,
    owners: &LidOwners,
    out: &mut dyn Write,
) -> io::Result<()> {
    let graph = SwitchGraph::new(snapshot);
    let attachments: Vec<_> = owners
        .iter()
        .filter_map(|(lid, at)| Some((lid, attachment(snapshot, &graph, at)?)))
        .collect();
    let mut distances: Vec<Option<Vec<u16>>> = vec![None; graph.neighbours.len()];
    for (_, (switch, _)) in &attachments {
        distances[*switch].get_or_insert_with(|| graph.distances(*switch));
    }
    let switches = snapshot.nodes().filter(|n| n.is_switch()).enumerate();
    for (s, node) in switches {
        let Some(lft) = node.installed_lft() else {
            continue;
        };
        let num_ports = node.node_info().num_ports;
        writeln!(
            out,
            "dump_ucast_routes: Switch {}\nLID    : Port : Hops : Optimal",
            node.guid
        )?;
        for (lid, (to, attached_port)) in &attachments {
            let Some(distance) = &distances[*to] else {
                continue;
            };
            // An attached host is one hop beyond its switch.
            let host_hop = u16::from(*attached_port != PortNum::ZERO);
            let hops_via = |port: PortNum| {
                if s == *to {
                    return if port == *attached_port {
                        host_hop
                    } else {
                        UNREACHED
                    };
                }
                let next = graph.neighbours[s].get(port.index()).copied().flatten();
                next.map_or(UNREACHED, |n| distance[n].saturating_add(1 + host_hop))
            };
            let Some(port) = lft_entry(lft, num_ports, *lid) else {
                writeln!(out, "0x{:04X} : UNREACHABLE", lid.0)?;
                continue;
            };
            let hops = hops_via(port);
            let shortest = distance[s].saturating_add(host_hop);
            if hops == UNREACHED {
                writeln!(out, "0x{:04X} : {:03}  : HOPS UNKNOWN", lid.0, port.0)?;
            } else if hops == shortest {
                writeln!(out, "0x{:04X} : {:03}  : {hops:02}   : yes", lid.0, port.0)?;
            } else {
                let better_port = (1..=num_ports)
                    .map(PortNum)
                    .find(|p| hops_via(*p) == shortest);
                writeln!(
                    out,
                    "0x{:04X} : {:03}  : {hops:02}   : No {shortest} hop path possible via port {}!",
                    lid.0,
                    port.0,
                    better_port.map_or(0, |p| p.0)
                )?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{node_mut, ring, snapshot, star, text};
    use super::*;
    use ferrosm_mad::ids::Lid;
    use ferrosm_routing::Lft;
    use std::sync::Arc;

    #[test]
    fn fdbs_dump_has_opensms_format() {
        let snapshot = snapshot(&star());
        assert_eq!(
            text(render, &snapshot),
            format!(
                "dump_ucast_routes: Switch {}\nLID    : Port : Hops : Optimal\n\
                 0x0002 : 000  : 00   : yes\n0x0007 : 001  : 01   : yes\n0x0009 : 002  : 01   : yes\n",
                snapshot.node(2).guid
            )
        );
    }

    #[test]
    fn dropped_lids_are_unreachable() {
        let mut star = star();
        let mut lft = Lft::drop_all(Lid(9));
        lft.set(Lid(7), PortNum(2));
        node_mut(&mut star, 2).lft.installed = Some(Arc::new(lft));
        let text = text(render, &snapshot(&star));
        assert!(
            text.contains(
                "0x0002 : UNREACHABLE\n0x0007 : 002  : HOPS UNKNOWN\n0x0009 : UNREACHABLE\n"
            ),
            "{text}"
        );
    }

    /// In a ring of four, a detour is reported with the port of the shortest path.
    #[test]
    fn detours_are_reported_with_the_shorter_path() {
        let mut ring = ring();
        let (lid, short, long) = (Lid(2), PortNum(1), PortNum(2));
        let mut lft = Lft::drop_all(Lid(8));
        lft.set(lid, long);
        node_mut(&mut ring, 0).lft.installed = Some(Arc::new(lft));
        let text = text(render, &snapshot(&ring));
        let expected = format!(
            "0x{:04X} : {:03}  : 03   : No 1 hop path possible via port {short}!\n",
            lid.0, long.0
        );
        assert!(text.contains(&expected), "{text}");
    }
}
