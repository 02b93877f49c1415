//! Writer of ibnetdiscover's format.

use std::collections::BTreeMap;
use std::fmt;

use ferrosm_mad::attr::NodeType;
use ferrosm_mad::ids::{Lid, Lmc};

use crate::spec::{FabricSpec, LinkSpec, NodeSpec, PortAt};

/// Writes a fabric in a form that ibsim and readers of ibnetdiscover's output accept.
///
/// Nodes are named by their GUIDs, with a suffix for duplicates. Control characters and line breaks
/// in descriptions become blanks. Reading the text returns the fabric with links in normal order,
/// except that GUID and LID of unconnected CA ports become node GUID + port and unset.
///
/// Debian's ibsim 0.10 reads NDR and XDR as SDR with a warning, and routers without extended
/// speeds; nodes and links are the same. It recognises options by `=`, so descriptions should not
/// contain it.
///
/// # Errors
/// Errors of `out`.
pub fn write(spec: &FabricSpec, out: &mut impl fmt::Write) -> fmt::Result {
    let ids = ids(spec);
    let mut ends: BTreeMap<PortAt, (PortAt, &LinkSpec)> = BTreeMap::new();
    for link in &spec.links {
        ends.insert(link.a, (link.b, link));
        ends.insert(link.b, (link.a, link));
    }
    for (index, node) in spec.nodes.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        header(node, &ids[index], out)?;
        let own_ports = PortAt {
            node: index,
            port: 0,
        }..=PortAt {
            node: index,
            port: u8::MAX,
        };
        for (here, (there, link)) in ends.range(own_ports) {
            let peer = &spec.nodes[there.node];
            write!(out, "[{}]", here.port)?;
            if node.kind != NodeType::Switch {
                let (guid, _, _) = end_port(node, here.port);
                write!(out, "({guid:x}) ")?;
            }
            write!(out, "\t\"{}\"[{}]", ids[there.node], there.port)?;
            let (guid, peer_lid, _) = end_port(peer, there.port);
            if peer.kind == NodeType::Switch {
                out.write_str("\t\t# ")?;
            } else {
                write!(out, "({guid:x}) \t\t# ")?;
            }
            if node.kind != NodeType::Switch {
                let (_, lid, lmc) = end_port(node, here.port);
                write!(out, "lid {lid} lmc {lmc} ")?;
            }
            writeln!(
                out,
                "\"{}\" lid {peer_lid} {}x{}",
                printable(&peer.description),
                link.width.0,
                link.speed.name()
            )?;
        }
    }
    Ok(())
}

fn header(node: &NodeSpec, id: &str, out: &mut impl fmt::Write) -> fmt::Result {
    let guid = node.node_guid.raw();
    writeln!(out, "vendid={:#x}", node.vendor_id)?;
    writeln!(out, "devid={:#x}", node.device_id)?;
    writeln!(out, "sysimgguid={:#x}", node.system_image_guid.raw())?;
    let name = printable(&node.description);
    match node.kind {
        NodeType::Switch => {
            let (port_guid, lid, lmc) = end_port(node, 0);
            writeln!(out, "switchguid={guid:#x}({port_guid:x})")?;
            let port0 = if node.enhanced_port0 {
                "enhanced"
            } else {
                "base"
            };
            writeln!(
                out,
                "Switch\t{} \"{id}\"\t\t# \"{name}\" {port0} port 0 lid {lid} lmc {lmc}",
                node.num_ports
            )
        }
        NodeType::Router => {
            writeln!(out, "rtguid={guid:#x}")?;
            writeln!(out, "Rt\t{} \"{id}\"\t\t# \"{name}\"", node.num_ports)
        }
        _ => {
            writeln!(out, "caguid={guid:#x}")?;
            writeln!(out, "Ca\t{} \"{id}\"\t\t# \"{name}\"", node.num_ports)
        }
    }
}

/// GUID, LID and LMC of the end port of a port: port 0 for a switch.
fn end_port(node: &NodeSpec, port: u8) -> (u64, Lid, Lmc) {
    let index = if node.kind == NodeType::Switch {
        0
    } else {
        usize::from(port).saturating_sub(1)
    };
    let guid = node
        .port_guids
        .get(index)
        .map_or_else(|| node.node_guid.raw(), |g| g.raw());
    let (lid, lmc) = node.lids.get(index).copied().unwrap_or_default();
    (guid, lid, lmc)
}

fn ids(spec: &FabricSpec) -> Vec<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    spec.nodes
        .iter()
        .map(|node| {
            let letter = match node.kind {
                NodeType::Switch => 'S',
                NodeType::Router => 'R',
                _ => 'H',
            };
            let id = format!("{letter}-{:016x}", node.node_guid.raw());
            let count = seen.entry(id.clone()).or_default();
            *count += 1;
            if *count == 1 {
                id
            } else {
                format!("{id}.{count}")
            }
        })
        .collect()
}

fn printable(description: &str) -> String {
    description
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}
