//! The view of a fabric that is described by a file or generated.

use ferrosm_mad::attr::NodeType;
use ferrosm_mad::ids::PortNum;
use ferrosm_opensm_compat::view::{
    FabricEndPort, FabricLink, FabricNode, FabricView, PortLocation, data_vls,
};
use ferrosm_sim::spec::{FabricSpec, PortAt};

/// The view of a fabric file or of a generated fabric.
#[must_use]
pub fn view_of_spec(spec: &FabricSpec) -> FabricView {
    let nodes = spec.nodes.iter().map(|node| {
        let first = u8::from(node.kind != NodeType::Switch);
        let end_ports = node.port_guids.iter().enumerate().filter_map(|(i, guid)| {
            let port = PortNum(u8::try_from(i).ok()?.checked_add(first)?);
            let (lid, lmc) = node.lids.get(i).copied().unwrap_or_default();
            Some(FabricEndPort {
                port,
                guid: *guid,
                lid,
                lmc,
            })
        });
        FabricNode {
            kind: node.kind,
            description: node.description.clone(),
            guid: node.node_guid,
            system_image_guid: node.system_image_guid,
            vendor_id: node.vendor_id,
            device_id: node.device_id,
            revision: 0,
            num_ports: node.num_ports,
            enhanced_port0: node.enhanced_port0,
            end_ports: end_ports.collect(),
            lft: None,
        }
    });
    let at = |p: PortAt| PortLocation {
        node: p.node,
        port: PortNum(p.port),
    };
    let links = spec.links.iter().map(|l| FabricLink {
        a: at(l.a),
        b: at(l.b),
        width: Some(l.width),
        speed: Some(l.speed),
        state: None,
        vls: [l.a, l.b]
            .iter()
            .filter_map(|link_end| data_vls(spec.nodes[link_end.node].caps().vl_cap))
            .min(),
    });
    FabricView {
        nodes: nodes.collect(),
        links: links.collect(),
        sm: None,
        routing: None,
    }
}

#[cfg(test)]
mod tests {
    use ferrosm_mad::ids::{Lid, Lmc};
    use ferrosm_opensm_compat::view::ConnectedComponent;

    use super::*;
    use ferrosm_sim::generate::from_spec;

    #[test]
    fn view_has_nodes_links_and_lids_of_the_file() {
        let mut spec = from_spec("fat-tree2:8,2,3").unwrap();
        let host = spec
            .nodes
            .iter()
            .position(|n| n.kind == NodeType::Ca)
            .unwrap();
        spec.nodes[host].lids = vec![(Lid(9), Lmc(1))];
        let view = view_of_spec(&spec);
        assert_eq!(
            (view.nodes.len(), view.links.len()),
            (spec.nodes.len(), spec.links.len())
        );
        let end_port = view.nodes[host].end_port(PortNum(1));
        assert_eq!(
            (end_port.guid, end_port.lid, end_port.lmc),
            (spec.nodes[host].port_guids[0], Lid(9), Lmc(1))
        );
        let link_ends: usize = view.link_ends().iter().map(Vec::len).sum();
        assert_eq!(link_ends, 2 * spec.links.len());
    }

    #[test]
    fn components_are_separated() {
        let spec = from_spec("ring:3,2;components=2").unwrap();
        let view = view_of_spec(&spec);
        let components = view.components();
        let sizes = components.iter().map(|p| (p.nodes.len(), p.end_ports));
        assert_eq!(sizes.collect::<Vec<_>>(), [(9, 6), (9, 6)]);
        let one = view.restricted_to(&components[1]);
        assert_eq!(
            (one.nodes.len(), one.links.len()),
            (9, view.links.len() / 2)
        );
        assert_eq!(one.components().len(), 1);
    }

    /// A host with a port in each of two planes is in both components, with one link each.
    #[test]
    fn planes_with_common_hosts_are_components() {
        let view = view_of_spec(&from_spec("fat-tree:4;planes=2;loopbacks=1").unwrap());
        let components = view.components();
        assert_eq!(components.len(), 2);
        let links: usize = components.iter().map(|p| p.links.len()).sum();
        assert_eq!(links, view.links.len(), "each link is in one component");
        for component in &components {
            let plane = view.restricted_to(component);
            assert_eq!(plane.count_nodes(NodeType::Switch), 20);
            assert_eq!(
                (plane.count_nodes(NodeType::Ca), component.end_ports),
                (16, 16)
            );
            assert_eq!(plane.components().len(), 1);
            let hosts = plane.nodes.iter().zip(plane.link_ends());
            let mut hosts = hosts.filter(|(n, _)| !n.is_switch());
            assert!(hosts.all(|(_, link_ends)| link_ends.len() == 1));
        }
        let ports = [1, 2].map(|port| PortLocation {
            node: 0,
            port: PortNum(port),
        });
        let is_within = |p: &ConnectedComponent| ports.map(|at| view.component_contains(p, at));
        assert_eq!(
            [is_within(&components[0]), is_within(&components[1])],
            [[true, false], [false, true]]
        );
    }

    /// An unconnected node is a component.
    #[test]
    fn unconnected_nodes_are_components() {
        let mut view = view_of_spec(&from_spec("star:2").unwrap());
        view.links.pop();
        let components = view.components();
        let sizes = components.iter().map(|p| (p.nodes.len(), p.end_ports));
        assert_eq!(sizes.collect::<Vec<_>>(), [(2, 1), (1, 0)]);
        view.links.pop();
        assert_eq!(view.components().len(), 3);
    }
}
