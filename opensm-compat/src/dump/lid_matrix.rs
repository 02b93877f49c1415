//! `opensm-lid-matrix.dump`: hops from each switch over each port to each switch, in the format
//! that OpenSM's `file` engine reads.
//!
//! OpenSM writes the hop counts of its engine; ferrosm writes those of the graph: the shortest path
//! that starts with the port, regardless of LFTs. End nodes have no rows: OpenSM adds one hop to
//! their switch's row. OpenSM translates LIDs of LFT dumps by port GUIDs, but uses the LIDs of this
//! file unchanged.

use std::io::{self, Write};

use ferrosm_fabric::snapshot::{PortIdx, Snapshot};
use ferrosm_mad::ids::PortNum;

use super::LidOwners;
use super::switch_graph::SwitchGraph;

/// No path.
const NONE: u8 = 0xFF;

pub(super) fn render(snapshot: &Snapshot, _: &LidOwners, out: &mut dyn Write) -> io::Result<()> {
    let graph = SwitchGraph::new(snapshot);
    // Destinations by LID, with the hops from every switch.
    let mut rows: Vec<(u16, String, usize, Vec<u8>)> = Vec::new();
    for (s, slot) in graph.switches.iter().enumerate() {
        let end_port = snapshot.reported_lid_owner(PortIdx::new(*slot, PortNum::ZERO));
        if end_port.lid.is_unicast() {
            let comment = format!(" # portguid {}\n", end_port.guid);
            // Hop counts above 254 count as no path.
            let hops = graph
                .distances(s)
                .into_iter()
                .map(|d| u8::try_from(d).unwrap_or(NONE))
                .collect();
            rows.push((end_port.lid.0, comment, s, hops));
        }
    }
    rows.sort_by_key(|(lid, ..)| *lid);
    let mut line = String::new();
    for ((s, slot), neighbours) in graph.switches.iter().enumerate().zip(&graph.neighbours) {
        writeln!(out, "Switch: guid {}", snapshot.node(*slot).guid)?;
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
    use super::super::tests::{port_guid, ring, snapshot, star, text};
    use super::*;

    #[test]
    fn single_switch_reaches_only_itself() {
        let snapshot = snapshot(&star());
        let other_ports = " ff".repeat(36);
        assert_eq!(
            text(render, &snapshot),
            format!(
                "Switch: guid {}\n0x0002: 00{other_ports} # portguid {}\n",
                snapshot.node(2).guid,
                port_guid(&snapshot, 2)
            )
        );
    }

    /// In a ring of four, a neighbour is one hop away over its own link and three over the other.
    #[test]
    fn hops_are_counted_per_port() {
        let text = text(render, &snapshot(&ring()));
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
