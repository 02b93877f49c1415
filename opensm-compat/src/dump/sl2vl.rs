//! `opensm-sl2vl.dump`: SLtoVL table of each pair of ports.

use std::io::{self, Write};

use ferrosm_fabric::snapshot::{PortIdx, Snapshot};
use ferrosm_mad::ids::PortNum;
use ferrosm_routing::vl_plan::SLS;

use super::{LidOwners, node_type_name};

const HEAD: &str = "#in out : 0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 15";
const RULE: &str = "#--------------------------------------------------------";

pub(super) fn render(snapshot: &Snapshot, _: &LidOwners, out: &mut dyn Write) -> io::Result<()> {
    let Some(routing) = snapshot.installed_routing() else {
        return Ok(());
    };
    let topo = &*routing.run.topo;
    let vl_plan = &routing.run.routing.vl_plan;
    for slot in snapshot.slots() {
        let linked_ports = || snapshot.linked_ports(slot);
        if let Some(s) = routing.switch(slot) {
            write_header(snapshot, PortIdx::new(slot, PortNum::ZERO), out)?;
            let cabled = || {
                let to_others = linked_ports().filter(|(_, peer)| peer.node() != slot);
                to_others.map(|(port, _)| port)
            };
            for output in cabled() {
                for input in [PortNum::ZERO].into_iter().chain(cabled()) {
                    write_row((input, output), &vl_plan.map(topo, s, input, output), out)?;
                }
            }
            writeln!(out, "{RULE}\n")?;
            continue;
        }
        for (port, peer) in linked_ports().filter(|_| !snapshot.is_switch(slot)) {
            if let Some(s) = routing.switch(peer.node()) {
                write_header(snapshot, PortIdx::new(slot, port), out)?;
                let map = vl_plan.end_port_map(topo.vls(s, peer.num()));
                write_row((PortNum::ZERO, PortNum::ZERO), &map, out)?;
                writeln!(out, "{RULE}\n")?;
            }
        }
    }
    Ok(())
}

fn write_header(snapshot: &Snapshot, at: PortIdx, out: &mut dyn Write) -> io::Result<()> {
    let node = snapshot.node(at.node());
    let end_port = snapshot.reported_lid_owner(at);
    writeln!(
        out,
        "{} {}, base LID {}, \"{}\"\n{HEAD}\n{RULE}",
        node_type_name(node),
        end_port.guid,
        end_port.lid,
        node.name()
    )
}

fn write_row(pair: (PortNum, PortNum), map: &[u8; SLS], out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{:<3} {:<3} :", pair.0.0, pair.1.0)?;
    for vl in map {
        write!(out, " {vl:<2}")?;
    }
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{port_guid, snapshot_with_vls, star, text};
    use super::*;
    use crate::input::sls::parse_sl2vl;

    /// A star with two hosts, SL n on VL n mod 2.
    #[test]
    fn sl2vl_dump_has_opensms_format() {
        let snapshot = snapshot_with_vls(&star(), 2);
        let text = text(render, &snapshot);
        let map = " 0  1  0  1  0  1  0  1  0  1  0  1  0  1  0  1 ";
        let block = format!(
            "Channel Adapter {}, base LID 7, \"{}\"\n{HEAD}\n{RULE}\n0   0   :{map}\n{RULE}\n\n",
            port_guid(&snapshot, 0),
            snapshot.node(0).name()
        );
        assert!(text.starts_with(&block), "{text}");
        let block = format!(
            "Switch {}, base LID 2, \"{}\"\n{HEAD}\n{RULE}\n0   1   :{map}\n1   1   :{map}\n2   1   :{map}\n0   2   :",
            port_guid(&snapshot, 2),
            snapshot.node(2).name()
        );
        assert!(text.contains(&block), "{text}");
    }

    #[test]
    fn sl2vl_dump_round_trips() {
        let snapshot = snapshot_with_vls(&star(), 4);
        let read = parse_sl2vl(&text(render, &snapshot)).unwrap();
        let pairs: Vec<usize> = read.iter().map(|(_, pairs)| pairs.len()).collect();
        assert_eq!(pairs, [1, 1, 6]);
        let map = [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3];
        assert!(
            read.iter()
                .flat_map(|(_, pairs)| pairs)
                .all(|(_, _, m)| *m == map)
        );
    }
}
