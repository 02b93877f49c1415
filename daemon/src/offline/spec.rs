//! The fabric that a fabric file or a generator describes, as if it had been discovered.
//!
//! Nodes are in the order of the description. PortState is 0, because a description does not have
//! it.

use std::sync::Arc;

use ferrosm_fabric::observed::{Node, NodeIdx, ObservedFabric, PortRef};
use ferrosm_fabric::snapshot::{Snapshot, SnapshotExtras};
use ferrosm_mad::attr::{LinkSpeed, NodeDescription, NodeInfo, NodeType, PortInfo, SwitchInfo};
use ferrosm_mad::ids::PortNum;
use ferrosm_mad::smp::DrPath;
use ferrosm_routing::VerifiedRun;
use ferrosm_sim::spec::{FabricSpec, LinkSpec, NodeSpec};

/// The observed fabric of a description.
#[must_use]
pub fn observed(spec: &FabricSpec) -> ObservedFabric {
    let mut fabric = ObservedFabric::default();
    let nodes = spec.nodes.iter().map(|n| fabric.add_node(observed_node(n)));
    let nodes: Vec<NodeIdx> = nodes.collect();
    for link in &spec.links {
        let [a, b] = [link.a, link.b].map(|end| PortRef::new(nodes[end.node], PortNum(end.port)));
        set_rate(&mut fabric, a, link);
        set_rate(&mut fabric, b, link);
        fabric.connect(a, b);
    }
    fabric
}

/// A snapshot of such a fabric, with its routing and the node of each switch of the routing. It
/// shares unchanged parts with `previous`.
#[must_use]
pub fn snapshot(
    fabric: &ObservedFabric,
    routing: Option<(Arc<VerifiedRun>, &[NodeIdx])>,
    previous: Option<&Snapshot>,
) -> Snapshot {
    let slots = |nodes: &[NodeIdx]| nodes.iter().map(|node| node.index()).collect();
    let extras = SnapshotExtras {
        run: routing.map(|(run, switches)| (run, slots(switches))),
        ..SnapshotExtras::default()
    };
    Snapshot::build(fabric, |_| None, extras, previous)
}

fn observed_node(spec: &NodeSpec) -> Node {
    let info = NodeInfo {
        node_type: spec.kind,
        num_ports: spec.num_ports,
        system_image_guid: spec.system_image_guid,
        node_guid: spec.node_guid,
        port_guid: spec.port_guids.first().copied().unwrap_or_default(),
        device_id: spec.device_id,
        vendor_id: spec.vendor_id,
        ..NodeInfo::default()
    };
    let mut node = Node::new(info, DrPath::LOCAL);
    node.description = NodeDescription::new(&spec.description);
    let is_switch = spec.kind == NodeType::Switch;
    if is_switch {
        let info = SwitchInfo {
            enhanced_port0: spec.enhanced_port0,
            ..SwitchInfo::default()
        };
        node.switch_raw = Some(info.encode());
    }
    let operational_vls = spec.caps().vl_cap;
    let first_end_port = usize::from(!is_switch);
    for num in (0..=spec.num_ports).map(PortNum) {
        let end_port = num.index().checked_sub(first_end_port);
        let guid = end_port.and_then(|i| spec.port_guids.get(i).copied());
        let lids = end_port.and_then(|i| spec.lids.get(i).copied());
        let (lid, lmc) = lids.unwrap_or_default();
        let info = PortInfo {
            lid,
            lmc,
            operational_vls,
            ..PortInfo::default()
        };
        node.store_port_info(num, &info.encode());
        let port = &mut node.ports[num.index()];
        port.guid = guid.unwrap_or_default();
        port.known = guid.is_some() || is_switch && num != PortNum::ZERO;
    }
    node
}

/// Sets width and speed of a port.
fn set_rate(fabric: &mut ObservedFabric, at: PortRef, link: &LinkSpec) {
    let Some(node) = fabric.get_mut(at.node) else {
        return;
    };
    let Some(port) = node.ports.get_mut(at.port.index()) else {
        return;
    };
    port.fdr10 = link.speed == LinkSpeed::Fdr10;
    let mut info = port.info();
    info.link_width_active = link.width.bit();
    match link.speed {
        LinkSpeed::Sdr => info.link_speed_active = 1,
        LinkSpeed::Ddr => info.link_speed_active = 2,
        LinkSpeed::Qdr | LinkSpeed::Fdr10 => info.link_speed_active = 4,
        LinkSpeed::Fdr => info.link_speed_ext_active = 1,
        LinkSpeed::Edr => info.link_speed_ext_active = 2,
        LinkSpeed::Hdr => info.link_speed_ext_active = 4,
        LinkSpeed::Ndr => info.link_speed_ext_active = 8,
        LinkSpeed::Xdr => info.link_speed_ext_active2 = 1,
    }
    node.store_port_info(at.port, &info.encode());
}

#[cfg(test)]
mod tests {
    use ferrosm_fabric::snapshot::PortIdx;
    use ferrosm_mad::attr::LinkWidth;
    use ferrosm_mad::ids::{Lid, Lmc};
    use ferrosm_sim::generate::from_spec;
    use ferrosm_sim::spec::PortAt;

    use super::*;

    #[test]
    fn snapshot_has_nodes_links_and_lids_of_the_description() {
        let mut spec = from_spec("fat-tree2:8,2,3").unwrap();
        let host = spec.nodes.iter().position(|n| n.kind == NodeType::Ca);
        let host = host.unwrap();
        spec.nodes[host].lids = vec![(Lid(9), Lmc(1))];
        let snapshot = snapshot(&observed(&spec), None, None);
        assert_eq!(snapshot.nodes().count(), spec.nodes.len());
        let port_idx =
            |end: PortAt| PortIdx::new(u32::try_from(end.node).unwrap(), PortNum(end.port));
        let links = snapshot.links().iter().map(|link| (link.a, link.b));
        assert!(
            links.eq(spec
                .links
                .iter()
                .map(|link| (port_idx(link.a), port_idx(link.b))))
        );
        let end_port = snapshot.reported_lid_owner(port_idx(PortAt::new(host, 1)));
        assert_eq!(
            (end_port.guid, end_port.lid, end_port.lmc),
            (spec.nodes[host].port_guids[0], Lid(9), Lmc(1))
        );
    }

    #[test]
    fn all_widths_and_speeds_are_preserved() {
        for width in [1, 2, 4, 8, 12].map(LinkWidth) {
            for speed in LinkSpeed::ALL {
                let mut spec = from_spec("back-to-back").unwrap();
                (spec.links[0].width, spec.links[0].speed) = (width, speed);
                let snapshot = snapshot(&observed(&spec), None, None);
                let link = snapshot.reported_link(snapshot.links()[0]);
                assert_eq!((link.width, link.speed), (Some(width), Some(speed)));
                assert_eq!(link.state, None);
            }
        }
    }
}
