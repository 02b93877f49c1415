//! `opensm-path-sl.dump`: the SL of each path, in the format that `ibdmchk -c` reads.
//!
//! OpenSM does not write this file. ibdmchk has one table for each node: for a CA with ports on
//! several switches, it uses the SLs of the last port. Sources on one switch have the same lines,
//! which are formatted once: the file of a large fabric has gigabytes.

use std::collections::BTreeMap;
use std::io::{self, Write};

use ferrosm_fabric::snapshot::{InstalledRouting, PortIdx, Snapshot};
use ferrosm_mad::attr::NodeType;
use ferrosm_mad::ids::{NodeGuid, PortNum};
use ferrosm_routing::SwitchIdx;

use super::{LidOwners, node_type_name};

pub(super) fn render(snapshot: &Snapshot, _: &LidOwners, out: &mut dyn Write) -> io::Result<()> {
    let Some(routing) = snapshot.installed_routing() else {
        return Ok(());
    };
    // Sources by the switch where their packets enter.
    let mut sources: BTreeMap<SwitchIdx, Vec<PortIdx>> = BTreeMap::new();
    for slot in snapshot.slots() {
        if let Some(s) = routing.switch(slot) {
            let port0 = PortIdx::new(slot, PortNum::ZERO);
            sources.entry(s).or_default().push(port0);
            continue;
        }
        let linked_ports = snapshot.linked_ports(slot);
        for (port, peer) in linked_ports.filter(|_| !snapshot.is_switch(slot)) {
            if let Some(s) = routing.switch(peer.node()) {
                let at = PortIdx::new(slot, port);
                sources.entry(s).or_default().push(at);
            }
        }
    }
    for (s, ports) in &sources {
        let mut lines = Vec::new();
        write_sls(&routing, *s, None, &mut lines)?;
        for at in ports {
            let node = snapshot.node(at.node());
            let end_port = snapshot.reported_lid_owner(*at);
            if !end_port.lid.is_unicast() {
                continue;
            }
            if node.node_type == NodeType::Router {
                // ibdmchk has no header for routers.
                write_sls(&routing, *s, Some(node.guid), out)?;
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
    routing: &InstalledRouting<'_>,
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
    use super::super::tests::{node_mut, port_guid, snapshot_with_vls, star, text};
    use super::*;
    use crate::input::sls::parse_path_sl;

    #[test]
    fn each_source_lists_its_path_sls() {
        let snapshot = snapshot_with_vls(&star(), 2);
        let text = text(render, &snapshot);
        let block = format!(
            "Channel Adapter {}, base LID 7, \"{}\"\n# LID : SL\n0x0002 : 0\n0x0007 : 1\n0x0009 : 0\n\n",
            port_guid(&snapshot, 0),
            snapshot.node(0).name()
        );
        assert!(text.contains(&block), "{text}");
        let read = parse_path_sl(&text).unwrap();
        assert_eq!(read.len(), 3);
        assert_eq!(&read[0].1[..], [255, 255, 0, 255, 255, 255, 255, 1, 255, 0]);
    }

    #[test]
    fn router_lines_contain_the_guid() {
        let mut star = star();
        node_mut(&mut star, 0).info.node_type = NodeType::Router;
        let snapshot = snapshot_with_vls(&star, 2);
        let text = text(render, &snapshot);
        let line = format!("{} 7 1\n", snapshot.node(0).guid);
        assert!(text.contains(&line), "{text}");
        assert_eq!(parse_path_sl(&text).unwrap().len(), 3);
    }
}
