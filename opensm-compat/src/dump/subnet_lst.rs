//! `opensm-subnet.lst`: one line for each end of each link.

use std::io::{self, Write};

use ferrosm_fabric::snapshot::{PortIdx, ReportedLink, Snapshot};
use ferrosm_mad::attr::{LinkSpeed, NodeType, PortState};

use super::LidOwners;

/// The two halves of a line format VendorID and DeviceID differently.
#[derive(Clone, Copy)]
enum Half {
    Here,
    Peer,
}

pub(super) fn render(snapshot: &Snapshot, _: &LidOwners, out: &mut dyn Write) -> io::Result<()> {
    for (at, link) in snapshot.links_by_port() {
        write_half(snapshot, at, Half::Here, out)?;
        out.write_all(b" ")?;
        let peer = if link.a == at { link.b } else { link.a };
        write_half(snapshot, peer, Half::Peer, out)?;
        let link = snapshot.reported_link(link);
        writeln!(
            out,
            " PHY={} LOG={} SPD={}",
            width(&link),
            state(&link),
            speed(&link)
        )?;
    }
    Ok(())
}

fn write_half(snapshot: &Snapshot, at: PortIdx, half: Half, out: &mut dyn Write) -> io::Result<()> {
    let node = snapshot.node(at.node());
    let info = node.node_info();
    let end_port = snapshot.reported_lid_owner(at);
    let kind = match node.node_type {
        NodeType::Switch => "SW",
        NodeType::Router => "Rt",
        NodeType::Ca => "CA",
        _ => "**",
    };
    let owner = PortIdx::new(at.node(), end_port.num);
    let sm_port = snapshot.local.map(|local| snapshot.end_port(local).port);
    let sm = if sm_port == Some(owner) { "-SM" } else { "" };
    write!(
        out,
        "{{ {kind}{sm} Ports:{:02X} SystemGUID:{:016x} NodeGUID:{:016x} PortGUID:{:016x} ",
        info.num_ports, info.system_image_guid.0, node.guid.0, end_port.guid.0
    )?;
    match half {
        Half::Here => write!(
            out,
            "VenID:{:06X} DevID:{:04X} ",
            info.vendor_id, info.device_id
        )?,
        // OpenSM prints DeviceID in the upper half here, which readers expect.
        Half::Peer => write!(
            out,
            "VenID:{:08X} DevID:{:04X}0000 ",
            info.vendor_id, info.device_id
        )?,
    }
    // Readers take a brace in a name as the end of the name.
    let name = node.name().replace('{', "(").replace('}', ")");
    write!(
        out,
        "Rev:{:08X} {{{name}}} LID:{:04X} PN:{:02X} }}",
        info.revision,
        end_port.lid.0,
        at.num().0
    )
}

fn width(link: &ReportedLink) -> String {
    link.width
        .map_or_else(|| "??".to_owned(), |w| format!("{}x", w.0))
}

/// Without a known state (offline) the link counts as active.
fn state(link: &ReportedLink) -> &'static str {
    match link.state {
        Some(PortState::Down) => "DWN",
        Some(PortState::Initialize) => "INI",
        Some(PortState::Armed) => "ARM",
        Some(PortState::Active) | None => "ACT",
        Some(_) => "??",
    }
}

fn speed(link: &ReportedLink) -> &'static str {
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
    use super::super::tests::{port_guid, snapshot, star, text};
    use super::*;
    use ferrosm_fabric::observed::PortRef;
    use ferrosm_mad::ids::PortNum;

    #[test]
    fn each_link_has_two_lines_in_opensms_format() {
        let mut star = star();
        let sm_node = star.node_at_index(0).unwrap();
        star.set_local(PortRef::new(sm_node, PortNum(1)));
        let snapshot = snapshot(&star);
        let [host, switch] = [0, 2].map(|slot| snapshot.node(slot));
        let [host_info, switch_info] = [host, switch].map(|node| node.node_info());
        let text = text(render, &snapshot);
        assert_eq!(text.lines().count(), 4);
        let expected = format!(
            "{{ CA-SM Ports:01 SystemGUID:{:016x} NodeGUID:{:016x} PortGUID:{:016x} VenID:0002C9 DevID:{:04X} \
             Rev:00000000 {{{}}} LID:0007 PN:01 }} {{ SW Ports:{:02X} SystemGUID:{:016x} NodeGUID:{:016x} \
             PortGUID:{:016x} VenID:000002C9 DevID:{:04X}0000 Rev:00000000 {{{}}} LID:0002 PN:01 }} PHY=4x LOG=ACT SPD=50",
            host_info.system_image_guid.0,
            host.guid.0,
            port_guid(&snapshot, 0).0,
            host_info.device_id,
            host.name(),
            switch_info.num_ports,
            switch_info.system_image_guid.0,
            switch.guid.0,
            port_guid(&snapshot, 2).0,
            switch_info.device_id,
            switch.name(),
        );
        assert_eq!(text.lines().next().unwrap(), expected);
    }
}
