//! `opensm-path-sl.dump`: the SL of each path, in the format that `ibdmchk -c` reads.
//!
//! OpenSM does not write this file. ibdmchk has one table for each node: for a CA with ports on
//! several switches, it uses the SLs of the last port. Sources on one switch have the same lines,
//! which are formatted once: the file of a large fabric has gigabytes.

use std::collections::BTreeMap;
use std::io::{self, Write};

use ferrosm_mad::attr::NodeType;
use ferrosm_mad::ids::{NodeGuid, PortNum};
use ferrosm_routing::SwitchIdx;

use super::{LidOwners, node_type_name};
use crate::view::{FabricView, InstalledRouting};

pub(super) fn render(view: &FabricView, _: &LidOwners, out: &mut dyn Write) -> io::Result<()> {
    let Some(routing) = &view.routing else {
        return Ok(());
    };
    // Sources by the switch where their packets enter.
    let mut sources: BTreeMap<SwitchIdx, Vec<(usize, PortNum)>> = BTreeMap::new();
    for (index, (node, ends)) in view.nodes.iter().zip(view.link_ends()).enumerate() {
        if let Some(s) = routing.switch(index) {
            sources.entry(s).or_default().push((index, PortNum::ZERO));
            continue;
        }
        for link_end in ends.iter().filter(|_| !node.is_switch()) {
            if let Some(s) = routing.switch(link_end.peer.node) {
                sources.entry(s).or_default().push((index, link_end.port));
            }
        }
    }
    for (s, ports) in &sources {
        let mut lines = Vec::new();
        write_sls(routing, *s, None, &mut lines)?;
        for &(index, port) in ports {
            let node = &view.nodes[index];
            let end_port = node.end_port(port);
            if !end_port.lid.is_unicast() {
                continue;
            }
            if node.kind == NodeType::Router {
                // ibdmchk has no header for routers.
                write_sls(routing, *s, Some(node.guid), out)?;
                continue;
            }
            writeln!(
                out,
                "{} {}, base LID {}, \"{}\"\n# LID : SL",
                node_type_name(node),
                end_port.guid,
                end_port.lid,
                node.name()
            )?;
            out.write_all(&lines)?;
            out.write_all(b"\n")?;
        }
    }
    Ok(())
}

/// One line for each LID: `0xLID : SL` in a block with a header, or `GUID LID SL` for a router
/// without one.
fn write_sls(
    routing: &InstalledRouting,
    from: SwitchIdx,
    router: Option<NodeGuid>,
    out: &mut dyn Write,
) -> io::Result<()> {
    for to in routing.run.topo.destinations() {
        let sl = routing.run.routing.vl_plan.sl(from, to);
        match router {
            Some(guid) => writeln!(out, "{guid} {} {sl}", to.lid.0)?,
            None => writeln!(out, "0x{:04x} : {sl}", to.lid.0)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{star_with_vls, text};
    use super::*;
    use crate::input::sls::parse_path_sl;

    #[test]
    fn each_source_lists_its_path_sls() {
        let view = star_with_vls(2);
        let text = text(render, &view);
        let host = &view.nodes[0];
        let block = format!(
            "Channel Adapter {}, base LID 7, \"{}\"\n# LID : SL\n0x0002 : 0\n0x0007 : 1\n0x0009 : 0\n\n",
            host.end_ports[0].guid, host.description
        );
        assert!(text.contains(&block), "{text}");
        let read = parse_path_sl(&text).unwrap();
        assert_eq!(read.len(), 3);
        assert_eq!(&read[0].1[..], [255, 255, 0, 255, 255, 255, 255, 1, 255, 0]);
    }

    #[test]
    fn router_lines_contain_the_guid() {
        let mut view = star_with_vls(2);
        view.nodes[0].kind = NodeType::Router;
        let text = text(render, &view);
        assert!(
            text.contains(&format!("{} 7 1\n", view.nodes[0].guid)),
            "{text}"
        );
        assert_eq!(parse_path_sl(&text).unwrap().len(), 3);
    }
}
