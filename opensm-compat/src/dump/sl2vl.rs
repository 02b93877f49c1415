//! `opensm-sl2vl.dump`: SLtoVL table of each pair of ports.

use std::io::{self, Write};

use ferrosm_mad::ids::PortNum;
use ferrosm_routing::vl_plan::SLS;

use super::{LidOwners, node_type_name};
use crate::view::FabricView;

const HEAD: &str = "#in out : 0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 15";
const RULE: &str = "#--------------------------------------------------------";

pub(super) fn render(view: &FabricView, _: &LidOwners, out: &mut dyn Write) -> io::Result<()> {
    let Some(routing) = &view.routing else {
        return Ok(());
    };
    let (topo, vl_plan) = (&*routing.run.topo, &routing.run.routing.vl_plan);
    for (index, (node, ends)) in view.nodes.iter().zip(view.link_ends()).enumerate() {
        if let Some(s) = routing.switch(index) {
            write_header(view, index, PortNum::ZERO, out)?;
            let cabled = || ends.iter().filter(|e| e.peer.node != index).map(|e| e.port);
            for output in cabled() {
                for input in [PortNum::ZERO].into_iter().chain(cabled()) {
                    write_row((input, output), &vl_plan.map(topo, s, input, output), out)?;
                }
            }
            writeln!(out, "{RULE}\n")?;
            continue;
        }
        for link_end in ends.iter().filter(|_| !node.is_switch()) {
            if let Some(s) = routing.switch(link_end.peer.node) {
                write_header(view, index, link_end.port, out)?;
                let map = vl_plan.end_port_map(topo.vls(s, link_end.peer.port));
                write_row((PortNum::ZERO, PortNum::ZERO), &map, out)?;
                writeln!(out, "{RULE}\n")?;
            }
        }
    }
    Ok(())
}

fn write_header(
    view: &FabricView,
    node: usize,
    port: PortNum,
    out: &mut dyn Write,
) -> io::Result<()> {
    let node = &view.nodes[node];
    let end_port = node.end_port(port);
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
    use super::super::tests::{star_with_vls, text};
    use super::*;
    use crate::input::sls::parse_sl2vl;

    /// A star with two hosts, SL n on VL n mod 2.
    #[test]
    fn sl2vl_dump_has_opensms_format() {
        let view = star_with_vls(2);
        let (host, switch) = (&view.nodes[0], &view.nodes[2]);
        let text = text(render, &view);
        let map = " 0  1  0  1  0  1  0  1  0  1  0  1  0  1  0  1 ";
        let block = format!(
            "Channel Adapter {}, base LID 7, \"{}\"\n{HEAD}\n{RULE}\n0   0   :{map}\n{RULE}\n\n",
            host.end_ports[0].guid, host.description
        );
        assert!(text.starts_with(&block), "{text}");
        let block = format!(
            "Switch {}, base LID 2, \"{}\"\n{HEAD}\n{RULE}\n0   1   :{map}\n1   1   :{map}\n2   1   :{map}\n0   2   :",
            switch.end_ports[0].guid, switch.description
        );
        assert!(text.contains(&block), "{text}");
    }

    #[test]
    fn sl2vl_dump_round_trips() {
        let view = star_with_vls(4);
        let read = parse_sl2vl(&text(render, &view)).unwrap();
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
