//! Connected components of a fabric. Packets pass through switches, not through hosts: a host may
//! have ports in several components.

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_fabric::observed::{Link, Node, NodeIdx, ObservedFabric, PortRef};

/// A connected component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectedComponent {
    pub nodes: BTreeSet<NodeIdx>,
    /// Ports of CAs and routers with a link.
    pub end_ports: usize,
    /// All its ports with a link.
    ports: BTreeSet<PortRef>,
}

impl ConnectedComponent {
    /// Whether the component contains a port. A port of a node without links belongs to that node's
    /// component; an unconnected CA port beside a linked one to none.
    #[must_use]
    pub fn contains(&self, fabric: &ObservedFabric, port: PortRef) -> bool {
        if fabric.get(port.node).is_some_and(Node::is_switch) {
            return self.nodes.contains(&port.node);
        }
        self.ports.contains(&port) || self.ports.is_empty() && self.nodes.contains(&port.node)
    }
}

/// All components, by number of end ports (then by number of nodes, then by first node).
#[must_use]
pub fn components(fabric: &ObservedFabric) -> Vec<ConnectedComponent> {
    let mut search = Search::new(fabric);
    let mut all_components = Vec::new();
    for (start, node) in fabric.nodes() {
        let ports = search.linked_ports(start);
        if node.is_switch() {
            if search.switches.insert(start) {
                all_components.push(search.component_from(start, ports));
            }
        } else if ports.is_empty() {
            all_components.push(search.component_from(start, ports));
        } else {
            for port in ports {
                if !search.reached.contains(&port) {
                    all_components.push(search.component_from(start, vec![port]));
                }
            }
        }
    }
    all_components.sort_by_key(|c| core::cmp::Reverse((c.end_ports, c.nodes.len())));
    all_components
}

/// Removes all nodes and links outside a component.
pub fn restrict(fabric: &mut ObservedFabric, component: &ConnectedComponent) {
    let links: Vec<Link> = fabric.links().copied().collect();
    for link in links {
        if !component.ports.contains(&link.a) {
            fabric.disconnect(link.a);
        }
    }
    let nodes: Vec<NodeIdx> = fabric.node_indices().collect();
    for node in nodes {
        if !component.nodes.contains(&node) {
            fabric.discard_node(node);
        }
    }
}

/// A search for components.
struct Search<'a> {
    fabric: &'a ObservedFabric,
    /// Ports with a link, by node, in the order of links.
    linked_ports: BTreeMap<NodeIdx, Vec<PortRef>>,
    /// Ports in components found so far.
    reached: BTreeSet<PortRef>,
    /// Switches in components found so far.
    switches: BTreeSet<NodeIdx>,
}

impl<'a> Search<'a> {
    fn new(fabric: &'a ObservedFabric) -> Self {
        let mut linked_ports: BTreeMap<NodeIdx, Vec<PortRef>> = BTreeMap::new();
        for end in fabric.links().flat_map(|link| [link.a, link.b]) {
            linked_ports.entry(end.node).or_default().push(end);
        }
        Self {
            fabric,
            linked_ports,
            reached: BTreeSet::new(),
            switches: BTreeSet::new(),
        }
    }

    fn linked_ports(&self, node: NodeIdx) -> Vec<PortRef> {
        self.linked_ports.get(&node).cloned().unwrap_or_default()
    }

    /// The component that packets from a node reach through the given ports.
    fn component_from(&mut self, start: NodeIdx, ports: Vec<PortRef>) -> ConnectedComponent {
        let mut component = ConnectedComponent {
            nodes: BTreeSet::from([start]),
            end_ports: 0,
            ports: BTreeSet::new(),
        };
        let mut queue = ports;
        while let Some(port) = queue.pop() {
            for end in [Some(port), self.fabric.peer(port)].into_iter().flatten() {
                if !self.reached.insert(end) {
                    continue;
                }
                component.ports.insert(end);
                component.nodes.insert(end.node);
                if !self.fabric.get(end.node).is_some_and(Node::is_switch) {
                    component.end_ports += 1;
                } else if self.switches.insert(end.node) {
                    queue.extend(self.linked_ports(end.node));
                }
            }
        }
        component
    }
}

#[cfg(test)]
mod tests {
    use ferrosm_mad::ids::PortNum;
    use ferrosm_sim::generate::from_spec;

    use super::*;
    use crate::offline::spec::observed;

    fn fabric(text: &str) -> ObservedFabric {
        observed(&from_spec(text).unwrap())
    }

    fn restricted(fabric: &ObservedFabric, component: &ConnectedComponent) -> ObservedFabric {
        let mut restricted = fabric.clone();
        restrict(&mut restricted, component);
        restricted
    }

    #[test]
    fn components_are_separated() {
        let fabric = fabric("ring:3,2;components=2");
        let components = components(&fabric);
        let sizes = components.iter().map(|p| (p.nodes.len(), p.end_ports));
        assert_eq!(sizes.collect::<Vec<_>>(), [(9, 6), (9, 6)]);
        let one = restricted(&fabric, &components[1]);
        assert_eq!(
            (one.node_count(), one.link_count()),
            (9, fabric.link_count() / 2)
        );
        assert_eq!(super::components(&one).len(), 1);
    }

    /// A host with a port in each of two planes is in both components, with one link each.
    #[test]
    fn planes_with_common_hosts_are_components() {
        let fabric = fabric("fat-tree:4;planes=2;loopbacks=1");
        let components = components(&fabric);
        assert_eq!(components.len(), 2);
        let planes = components.iter().map(|c| restricted(&fabric, c));
        let links: usize = planes.map(|plane| plane.link_count()).sum();
        assert_eq!(links, fabric.link_count(), "each link is in one component");
        for component in &components {
            let plane = restricted(&fabric, component);
            assert_eq!(plane.switches().count(), 20);
            assert_eq!((plane.node_count(), component.end_ports), (36, 16));
            assert_eq!(super::components(&plane).len(), 1);
            let mut hosts = plane.nodes().filter(|(_, node)| !node.is_switch());
            assert!(hosts.all(|(_, host)| {
                let links = host.ports.iter().filter(|port| port.link.is_some());
                links.count() == 1
            }));
        }
        let host = fabric.node_at_index(0).unwrap();
        let ports = [1, 2].map(|port| PortRef::new(host, PortNum(port)));
        let is_within = |c: &ConnectedComponent| ports.map(|at| c.contains(&fabric, at));
        assert_eq!(
            [is_within(&components[0]), is_within(&components[1])],
            [[true, false], [false, true]]
        );
    }

    /// An unconnected node is a component.
    #[test]
    fn unconnected_nodes_are_components() {
        let mut spec = from_spec("star:2").unwrap();
        spec.links.pop();
        let sizes = |c: &ConnectedComponent| (c.nodes.len(), c.end_ports);
        let two = components(&observed(&spec));
        assert_eq!(two.iter().map(sizes).collect::<Vec<_>>(), [(2, 1), (1, 0)]);
        spec.links.pop();
        assert_eq!(components(&observed(&spec)).len(), 3);
    }
}
