//! `opensm-subnet.lst`: one line for each end of each link.

use std::io::{self, Write};

use ferrosm_mad::attr::{LinkSpeed, NodeType, PortState};
use ferrosm_mad::ids::PortNum;

use super::LidOwners;
use crate::view::{FabricLink, FabricView, PortLocation};

/// The two halves of a line format VendorID and DeviceID differently.
#[derive(Clone, Copy)]
enum Half {
    Here,
    Peer,
}

pub(super) fn render(view: &FabricView, _: &LidOwners, out: &mut dyn Write) -> io::Result<()> {
    for (index, link_ends) in view.link_ends().iter().enumerate() {
        for link_end in link_ends {
            write_half(
                view,
                PortLocation {
                    node: index,
                    port: link_end.port,
                },
                Half::Here,
                out,
            )?;
            out.write_all(b" ")?;
            write_half(view, link_end.peer, Half::Peer, out)?;
            writeln!(
                out,
                " PHY={} LOG={} SPD={}",
                width(link_end.link),
                state(link_end.link),
                speed(link_end.link)
            )?;
        }
    }
    Ok(())
}

fn write_half(
    view: &FabricView,
    at: PortLocation,
    half: Half,
    out: &mut dyn Write,
) -> io::Result<()> {
    let node = &view.nodes[at.node];
    let end_port = node.end_port(at.port);
    let kind = match node.kind {
        NodeType::Switch => "SW",
        NodeType::Router => "Rt",
        NodeType::Ca => "CA",
        _ => "**",
    };
    let end_port_num = PortNum(if node.is_switch() { 0 } else { at.port.0 });
    let sm = if view
        .sm
        .is_some_and(|sm| sm.node == at.node && (node.is_switch() || sm.port == end_port_num))
    {
        "-SM"
    } else {
        ""
    };
    write!(
        out,
        "{{ {kind}{sm} Ports:{:02X} SystemGUID:{:016x} NodeGUID:{:016x} PortGUID:{:016x} ",
        node.num_ports, node.system_image_guid.0, node.guid.0, end_port.guid.0
    )?;
    match half {
        Half::Here => write!(
            out,
            "VenID:{:06X} DevID:{:04X} ",
            node.vendor_id, node.device_id
        )?,
        // OpenSM prints DeviceID in the upper half here, which readers expect.
        Half::Peer => write!(
            out,
            "VenID:{:08X} DevID:{:04X}0000 ",
            node.vendor_id, node.device_id
        )?,
    }
    // Readers take a brace in a name as the end of the name.
    let name = node.name().replace('{', "(").replace('}', ")");
    write!(
        out,
        "Rev:{:08X} {{{name}}} LID:{:04X} PN:{:02X} }}",
        node.revision, end_port.lid.0, at.port.0
    )
}

fn width(link: &FabricLink) -> String {
    link.width
        .map_or_else(|| "??".to_owned(), |w| format!("{}x", w.0))
}

/// Without a known state (offline) the link counts as active.
fn state(link: &FabricLink) -> &'static str {
    match link.state {
        Some(PortState::Down) => "DWN",
        Some(PortState::Initialize) => "INI",
        Some(PortState::Armed) => "ARM",
        Some(PortState::Active) | None => "ACT",
        Some(_) => "??",
    }
}

fn speed(link: &FabricLink) -> &'static str {
    match link.speed {
        Some(LinkSpeed::Sdr) => "2.5",
        Some(LinkSpeed::Ddr) => "5",
        Some(LinkSpeed::Qdr) => "10",
        Some(LinkSpeed::Fdr10) => "FDR10",
        Some(LinkSpeed::Fdr) => "14",
        Some(LinkSpeed::Edr) => "25",
        Some(LinkSpeed::Hdr) => "50",
        // OpenSM has no abbreviations for these.
        Some(LinkSpeed::Ndr | LinkSpeed::Xdr) | None => "??",
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{star, text};
    use super::*;

    #[test]
    fn each_link_has_two_lines_in_opensms_format() {
        let mut view = star();
        view.sm = Some(PortLocation {
            node: 0,
            port: PortNum(1),
        });
        let (host, switch) = (view.nodes[0].clone(), view.nodes[2].clone());
        let text = text(render, &view);
        assert_eq!(text.lines().count(), 4);
        let expected = format!(
            "{{ CA-SM Ports:01 SystemGUID:{:016x} NodeGUID:{:016x} PortGUID:{:016x} VenID:0002C9 DevID:{:04X} \
             Rev:00000000 {{{}}} LID:0007 PN:01 }} {{ SW Ports:{:02X} SystemGUID:{:016x} NodeGUID:{:016x} \
             PortGUID:{:016x} VenID:000002C9 DevID:{:04X}0000 Rev:00000000 {{{}}} LID:0002 PN:01 }} PHY=4x LOG=ACT SPD=50",
            host.system_image_guid.0,
            host.guid.0,
            host.end_ports[0].guid.0,
            host.device_id,
            host.description,
            switch.num_ports,
            switch.system_image_guid.0,
            switch.guid.0,
            switch.end_ports[0].guid.0,
            switch.device_id,
            switch.description,
        );
        assert_eq!(text.lines().next().unwrap(), expected);
    }
}
