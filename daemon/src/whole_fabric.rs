//! A whole fabric as one value: nodes, links and the detected structure, of a running service or a
//! file. Exports and drawings are made of it.

use std::collections::BTreeMap;

use ferrosm_api::fabric::{Link, LinkState, Node, NodeKind};
use ferrosm_api::structure::{FabricStructure, SwitchPlace};

/// Nodes, links and structure of a fabric.
#[derive(Debug, Clone)]
pub struct WholeFabric {
    pub nodes: Vec<Node>,
    /// Each link, between nodes that are in `nodes`.
    pub links: Vec<Link>,
    pub structure: FabricStructure,
}

impl WholeFabric {
    /// What a service answers. Links of nodes that are no longer expected are left out.
    #[must_use]
    pub fn of_answers(nodes: Vec<Node>, links: Vec<Link>, structure: FabricStructure) -> Self {
        let known: BTreeMap<&str, ()> = nodes.iter().map(|n| (n.guid.as_str(), ())).collect();
        let is_known = |link: &Link| {
            [&link.a, &link.b]
                .iter()
                .all(|e| known.contains_key(&*e.guid))
        };
        let links = links
            .iter()
            .filter(|link| is_known(link))
            .cloned()
            .collect();
        Self {
            nodes,
            links,
            structure,
        }
    }
}

/// Indices of a [`WholeFabric`]: nodes by GUID, links by node.
#[derive(Debug)]
pub struct FabricIndex<'f> {
    pub fabric: &'f WholeFabric,
    by_guid: BTreeMap<&'f str, usize>,
    /// The node of each end of each link.
    ends: Vec<[usize; 2]>,
    links_of: Vec<Vec<usize>>,
    places: BTreeMap<&'f str, &'f SwitchPlace>,
}

impl<'f> FabricIndex<'f> {
    #[must_use]
    pub fn new(fabric: &'f WholeFabric) -> Self {
        let nodes = fabric.nodes.iter().enumerate();
        let by_guid: BTreeMap<&str, usize> = nodes.map(|(i, n)| (n.guid.as_str(), i)).collect();
        let mut links_of = vec![Vec::new(); fabric.nodes.len()];
        let mut ends = Vec::with_capacity(fabric.links.len());
        for (i, link) in fabric.links.iter().enumerate() {
            let of_link = [&link.a, &link.b].map(|end| by_guid[end.guid.as_str()]);
            for node in of_link {
                links_of[node].push(i);
            }
            ends.push(of_link);
        }
        let places = fabric.structure.switches.iter();
        Self {
            fabric,
            by_guid,
            ends,
            links_of,
            places: places.map(|place| (place.guid.as_str(), place)).collect(),
        }
    }

    /// The index of a node.
    #[must_use]
    pub fn node(&self, guid: &str) -> Option<usize> {
        self.by_guid.get(guid).copied()
    }

    /// The nodes at the ends of a link.
    #[must_use]
    pub fn ends(&self, link: usize) -> [usize; 2] {
        self.ends[link]
    }

    /// The links of a node.
    #[must_use]
    pub fn links_of(&self, node: usize) -> &[usize] {
        &self.links_of[node]
    }

    /// The node at the other end of each link of a node.
    pub fn neighbours(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        self.links_of[node].iter().map(move |link| {
            let [a, b] = self.ends[*link];
            if a == node { b } else { a }
        })
    }

    /// The switches next to a node.
    pub fn switches_at(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        self.neighbours(node).filter(|other| self.is_switch(*other))
    }

    /// The switches next to a node over links that are not down.
    pub fn switches_at_up(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let links = self.links_of[node].iter();
        let up = links.filter(|link| self.fabric.links[**link].state != LinkState::Down);
        up.flat_map(move |link| self.ends[*link])
            .filter(move |other| *other != node && self.is_switch(*other))
    }

    #[must_use]
    pub fn is_switch(&self, node: usize) -> bool {
        self.fabric.nodes[node].kind == NodeKind::Switch
    }

    /// Whether a node is a host: a channel adapter other than the aggregation node of a switch.
    #[must_use]
    pub fn is_host(&self, node: usize) -> bool {
        let node = &self.fabric.nodes[node];
        node.kind == NodeKind::Ca && !node.name.contains("Aggregation Node")
    }

    /// The place of a switch in the structure.
    #[must_use]
    pub fn place(&self, node: usize) -> Option<&'f SwitchPlace> {
        self.places
            .get(self.fabric.nodes[node].guid.as_str())
            .copied()
    }

    /// The switches: those of the structure in its order, then others.
    #[must_use]
    pub fn switches(&self) -> Vec<usize> {
        let placed = self.fabric.structure.switches.iter();
        let mut switches: Vec<usize> = placed.filter_map(|place| self.node(&place.guid)).collect();
        let all = 0..self.fabric.nodes.len();
        switches.extend(all.filter(|node| self.is_switch(*node) && self.place(*node).is_none()));
        switches
    }

    /// Name of a node; its GUID if it has none.
    #[must_use]
    pub fn name(&self, node: usize) -> &'f str {
        let node = &self.fabric.nodes[node];
        if node.name.is_empty() {
            &node.guid
        } else {
            &node.name
        }
    }
}
