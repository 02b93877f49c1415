//! `opensm-lfts.dump`: the LFT of each switch, in the format that OpenSM's `file` engine reads.

use std::io::{self, Write};

use ferrosm_mad::ids::PortNum;

use super::{LidOwners, lft_entry, node_type_name};
use crate::view::FabricView;

pub(super) fn render(view: &FabricView, owners: &LidOwners, out: &mut dyn Write) -> io::Result<()> {
    // Descriptions of LIDs, equal in the tables of all switches.
    let destinations: Vec<_> = owners
        .iter()
        .map(|(lid, at)| {
            let node = &view.nodes[at.node];
            let node_type = node_type_name(node);
            let guid = node.end_port(at.port).guid;
            (
                lid,
                format!("# {node_type} portguid {guid}: '{}'", node.name()),
            )
        })
        .collect();
    let top = owners.top();
    for node in view
        .nodes
        .iter()
        .filter(|n| n.is_switch() && n.lft.is_some())
    {
        writeln!(
            out,
            "Unicast lids [0-{top}] of switch Lid {} guid {} ('{}'):",
            node.end_port(PortNum::ZERO).lid,
            node.guid,
            node.name()
        )?;
        for (lid, comment) in &destinations {
            if let Some(port) = lft_entry(node, *lid) {
                writeln!(out, "0x{:04x} {:03} {comment}", lid.0, port.0)?;
            }
        }
        writeln!(out, "{top} lids dumped")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{star, text};
    use super::*;

    #[test]
    fn lft_dump_has_opensms_format() {
        let view = star();
        let (host, other, switch) = (&view.nodes[0], &view.nodes[1], &view.nodes[2]);
        assert_eq!(
            text(render, &view),
            format!(
                "Unicast lids [0-9] of switch Lid 2 guid {} ('{}'):\n\
                 0x0002 000 # Switch portguid {}: '{}'\n\
                 0x0007 001 # Channel Adapter portguid {}: '{}'\n\
                 0x0009 002 # Channel Adapter portguid {}: '{}'\n\
                 9 lids dumped\n",
                switch.guid,
                switch.description,
                switch.end_ports[0].guid,
                switch.description,
                host.end_ports[0].guid,
                host.description,
                other.end_ports[0].guid,
                other.description,
            )
        );
    }
}
