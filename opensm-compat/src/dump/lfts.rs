//! `opensm-lfts.dump`: the LFT of each switch, in the format that OpenSM's `file` engine reads.

use std::io::{self, Write};

use ferrosm_fabric::snapshot::{PortIdx, Snapshot};
use ferrosm_mad::ids::PortNum;

use super::{LidOwners, lft_entry, node_type_name};

pub(super) fn render(
    snapshot: &Snapshot,
    owners: &LidOwners,
    out: &mut dyn Write,
) -> io::Result<()> {
    // Descriptions of LIDs, equal in the tables of all switches.
    let destinations: Vec<_> = owners
        .iter()
        .map(|(lid, at)| {
            let node = snapshot.node(at.node());
            let node_type = node_type_name(node);
            let guid = snapshot.reported_lid_owner(at).guid;
            (
                lid,
                format!("# {node_type} portguid {guid}: '{}'", node.name()),
            )
        })
        .collect();
    let top = owners.top();
    for slot in snapshot.slots() {
        let node = snapshot.node(slot);
        let Some(lft) = node.installed_lft() else {
            continue;
        };
        let num_ports = node.node_info().num_ports;
        let port0 = snapshot.reported_lid_owner(PortIdx::new(slot, PortNum::ZERO));
        writeln!(
            out,
            "Unicast lids [0-{top}] of switch Lid {} guid {} ('{}'):",
            port0.lid,
            node.guid,
            node.name()
        )?;
        for (lid, comment) in &destinations {
            if let Some(port) = lft_entry(lft, num_ports, *lid) {
                writeln!(out, "0x{:04x} {:03} {comment}", lid.0, port.0)?;
            }
        }
        writeln!(out, "{top} lids dumped")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{port_guid, snapshot, star, text};
    use super::*;

    #[test]
    fn lft_dump_has_opensms_format() {
        let snapshot = snapshot(&star());
        let name = |slot| snapshot.node(slot).name();
        let guid = |slot| port_guid(&snapshot, slot);
        assert_eq!(
            text(render, &snapshot),
            format!(
                "Unicast lids [0-9] of switch Lid 2 guid {} ('{}'):\n\
                 0x0002 000 # Switch portguid {}: '{}'\n\
                 0x0007 001 # Channel Adapter portguid {}: '{}'\n\
                 0x0009 002 # Channel Adapter portguid {}: '{}'\n\
                 9 lids dumped\n",
                snapshot.node(2).guid,
                name(2),
                guid(2),
                name(2),
                guid(0),
                name(0),
                guid(1),
                name(1),
            )
        );
    }
}
