//! The nodes and ports of a fabric that a plan names.

use std::collections::BTreeMap;

use super::fabric::{CabledFabric, CabledPort};
use super::plan::{PlannedEnd, PlannedNode};
use crate::pattern::is_match;

/// The nodes of a fabric by GUID and by the names that plans use.
pub(super) struct NodeIndex<'f> {
    fabric: &'f CabledFabric,
    by_guid: BTreeMap<u64, usize>,
    /// By name, from the most to the least exact: the whole NodeDescription, its first word, the
    /// system in a description such as `MF0;leaf-1:MQM8700/U1`; each again in lower case.
    by_name: [BTreeMap<String, Vec<usize>>; 6],
}

impl<'f> NodeIndex<'f> {
    pub(super) fn new(fabric: &'f CabledFabric) -> Self {
        let mut index = Self {
            fabric,
            by_guid: BTreeMap::new(),
            by_name: core::array::from_fn(|_| BTreeMap::new()),
        };
        for (at, node) in fabric.nodes.iter().enumerate() {
            index.by_guid.insert(node.guid, at);
            let names = [
                Some(node.name.as_str()),
                node.name.split_whitespace().next(),
                system_name(&node.name),
            ];
            for (kind, name) in names.into_iter().enumerate() {
                let Some(name) = name else { continue };
                index.add(kind, name.to_owned(), at);
                index.add(kind + 3, name.to_ascii_lowercase(), at);
            }
        }
        index
    }

    fn add(&mut self, kind: usize, name: String, at: usize) {
        self.by_name[kind].entry(name).or_default().push(at);
    }

    /// The nodes that a plan names. A GUID that is not in the fabric belongs to a device that was
    /// replaced, if the plan also has a name.
    pub(super) fn find(&self, planned: &PlannedNode) -> Vec<usize> {
        if let Some(at) = planned.guid.and_then(|guid| self.by_guid.get(&guid)) {
            return vec![*at];
        }
        if planned.name.is_empty() {
            return Vec::new();
        }
        if planned.name.contains('*') {
            let nodes = self.fabric.nodes.iter().enumerate();
            let matching = nodes.filter(|(_, node)| is_match(&planned.name, &node.name));
            return matching.map(|(at, _)| at).collect();
        }
        let lower_case = planned.name.to_ascii_lowercase();
        let (exact, in_lower_case) = self.by_name.split_at(3);
        let exact = exact.iter().map(|names| names.get(&planned.name));
        let others = in_lower_case.iter().map(|names| names.get(&lower_case));
        exact
            .chain(others)
            .flatten()
            .next()
            .cloned()
            .unwrap_or_default()
    }
}

/// `leaf-1` of `MF0;leaf-1:MQM8700/U1`.
fn system_name(description: &str) -> Option<&str> {
    let (_, rest) = description.split_once(';')?;
    let (name, _) = rest.split_once(':')?;
    Some(name)
}

/// The end of a planned cable in a fabric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundEnd {
    /// The nodes that it may be at.
    pub(super) nodes: Vec<usize>,
    /// The port; `None`: any.
    port: Option<u8>,
}

impl FoundEnd {
    pub(super) fn new(index: &NodeIndex<'_>, planned: &PlannedEnd) -> Self {
        Self {
            nodes: index.find(&planned.node),
            port: planned.port,
        }
    }

    /// The port, if the plan leaves no choice.
    pub(super) fn exact(&self) -> Option<CabledPort> {
        match (&self.nodes[..], self.port) {
            ([node], Some(port)) => Some((*node, port)),
            _ => None,
        }
    }

    /// Whether it may be at a port.
    pub(super) fn matches(&self, (node, port): CabledPort) -> bool {
        self.nodes.contains(&node) && self.port.is_none_or(|own| own == port)
    }

    /// The ports with a cable at which it may be.
    pub(super) fn cabled_ports<'a>(
        &'a self,
        fabric: &'a CabledFabric,
    ) -> impl Iterator<Item = CabledPort> + 'a {
        let all = self.nodes.iter().flat_map(|node| {
            let first = (*node, 0);
            let last = (*node, u8::MAX);
            fabric.peers.range(first..=last).map(|(port, _)| *port)
        });
        all.filter(|port| self.matches(*port))
    }
}
