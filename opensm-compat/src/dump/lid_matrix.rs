//! `opensm-lid-matrix.dump`: hops from each switch over each port to each switch, in the format
//! that OpenSM's `file` engine reads.
//!
//! OpenSM writes the hop counts of its engine; ferrosm writes those of the graph: the shortest path
//! that starts with the port, regardless of LFTs. End nodes have no rows: OpenSM adds one hop to
//! their switch's row. OpenSM translates LIDs of LFT dumps by port GUIDs, but uses the LIDs of this
//! file unchanged.

use std::io::{self, Write};

use super::LidOwners;
use super::switch_graph::SwitchGraph;
use crate::view::FabricView;
use ferrosm_mad::ids::PortNum;

/// No path.
const NONE: u8 = 0xFF;

pub(super) fn render(view: &FabricView, _: &LidOwners, out: &mut dyn Write) -> io::Result<()> {
    let graph = SwitchGraph::new(view);
    let switches: Vec<_> = view.nodes.iter().filter(|node| node.is_switch()).collect();
    // Destinations by LID, with the hops from every switch.
    let mut rows: Vec<(u16, String, usize, Vec<u8>)> = Vec::new();
    for (s, node) in switches.iter().enumerate() {
        let end_port = node.end_port(PortNum::ZERO);
        if end_port.lid.is_unicast() {
            let comment = format!(" # portguid {}\n", end_port.guid);
            // Hop counts above 254 count as no path.
            let hops = |d: u16| u8::try_from(d).unwrap_or(NONE);
            let hops = graph.distances(s).into_iter().map(hops).collect();
            rows.push((end_port.lid.0, comment, s, hops));
        }
    }
    rows.sort_by_key(|(lid, ..)| *lid);
    let mut line = String::new();
    for ((s, node), neighbours) in switches.iter().enumerate().zip(&graph.neighbours) {
        writeln!(out, "Switch: guid {}", node.guid)?;
        for (lid, comment, to, distance) in &rows {
            if distance[s] == NONE {
                continue;
            }
            line.clear();
            let is_own = *to == s;
            // The entry of port 0 is the minimum of the row.
            line.push_str(&format!("0x{lid:04x}: {:02x}", distance[s]));
            for peer in neighbours.iter().skip(1) {
                let hops = match peer {
                    Some(peer) if !is_own && *peer != s => distance[*peer].saturating_add(1),
                    Some(_) | None => NONE,
                };
                push_hex(&mut line, hops);
            }
            line.push_str(comment);
            out.write_all(line.as_bytes())?;
        }
    }
    Ok(())
}

/// Faster than the formatting macros: a large fabric has millions of entries.
fn push_hex(line: &mut String, hops: u8) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    line.push(' ');
    line.push(char::from(DIGITS[usize::from(hops >> 4)]));
    line.push(char::from(DIGITS[usize::from(hops & 15)]));
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ring, star, text};
    use super::*;

    #[test]
    fn single_switch_reaches_only_itself() {
        let view = star();
        let node = &view.nodes[2];
        let other_ports = " ff".repeat(usize::from(node.num_ports));
        assert_eq!(
            text(render, &view),
            format!(
                "Switch: guid {}\n0x0002: 00{other_ports} # portguid {}\n",
                node.guid, node.end_ports[0].guid
            )
        );
    }

    /// In a ring of four, a neighbour is one hop away over its own link and three over the other.
    #[test]
    fn hops_are_counted_per_port() {
        let view = ring();
        let text = text(render, &view);
        assert_eq!(text.matches("Switch: guid").count(), 4);
        let rows: Vec<&str> = text.lines().filter(|l| l.starts_with("0x")).collect();
        assert_eq!(rows.len(), 16);
        let hops = |row: &str| -> Vec<u8> {
            let numbers = row.split(['#', ':']).nth(1).unwrap();
            numbers
                .split_whitespace()
                .map(|h| u8::from_str_radix(h, 16).unwrap())
                .filter(|h| *h != NONE)
                .collect()
        };
        let mut hops_by_lid: Vec<Vec<u8>> = rows.iter().map(|r| hops(r)).collect();
        hops_by_lid.iter_mut().for_each(|h| h.sort_unstable());
        hops_by_lid.sort();
        let expected = [vec![0], vec![1, 1, 3], vec![2, 2, 2]];
        let counts = expected.map(|e| hops_by_lid.iter().filter(|h| **h == e).count());
        assert_eq!(counts, [4, 8, 4], "{text}");
    }
}
