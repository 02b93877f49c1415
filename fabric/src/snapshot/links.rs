//! Links, and what their ports report of them.

use core::fmt;
use std::collections::BTreeMap;
use std::sync::Arc;

use ferrosm_mad::attr::{LinkSpeed, LinkWidth, PortInfo, PortState};
use ferrosm_mad::ids::PortNum;

use super::{NodeSlot, PortIdx, Snapshot};

/// A link between two ports; both ends are the same port for a loopback plug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotLink {
    /// The end from which it was discovered.
    pub a: PortIdx,
    /// The other end.
    pub b: PortIdx,
}

/// A link as PortInfo of its first end reports it, or of the other end if that was not read.
/// `Display` is width and speed such as `4xHDR`, with `?` for unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReportedLink {
    /// Width, if known.
    pub width: Option<LinkWidth>,
    /// Speed per lane, if known.
    pub speed: Option<LinkSpeed>,
    /// State; `None` in a fabric that was not discovered.
    pub state: Option<PortState>,
}

impl fmt::Display for ReportedLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.width {
            Some(width) => write!(f, "{}x", width.0)?,
            None => f.write_str("?x")?,
        }
        f.write_str(self.speed.map_or("?", LinkSpeed::name))
    }
}

impl Snapshot {
    /// All links, in the order of discovery.
    #[must_use]
    pub fn links(&self) -> &[SnapshotLink] {
        &self.links
    }

    /// The link of each port that has one.
    #[must_use]
    pub fn links_by_port(&self) -> BTreeMap<PortIdx, SnapshotLink> {
        let ends = self
            .links
            .iter()
            .flat_map(|link| [link.a, link.b].map(|end| (end, *link)));
        ends.collect()
    }

    /// The ports of a node that have a link, by port number, and the ports at the other ends.
    pub fn linked_ports(&self, node: u32) -> impl Iterator<Item = (PortNum, PortIdx)> {
        let ports = self.ports(node).iter();
        ports
            .filter(|p| p.peer != PortIdx::NONE)
            .map(|p| (p.num, p.peer))
    }

    /// A link as its ports report it.
    #[must_use]
    pub fn reported_link(&self, link: SnapshotLink) -> ReportedLink {
        let ends = [link.a, link.b].map(|end| self.port(end));
        let Some(port) = ends.into_iter().find(|port| port.has_port_info) else {
            return ReportedLink::default();
        };
        let info = PortInfo::decode(&port.raw);
        ReportedLink {
            width: info.width(),
            speed: info.speed_with(port.fdr10),
            state: Some(info.port_state).filter(|state| *state != PortState::NoChange),
        }
    }
}

/// The links of nodes, by port.
pub(super) fn links_of_ports(nodes: &[NodeSlot]) -> Arc<[SnapshotLink]> {
    let mut links = Vec::new();
    for (slot, node) in (0u32..).zip(nodes) {
        let ends = node
            .ports
            .iter()
            .map(|port| (PortIdx::new(slot, port.num), port.peer));
        let first_ends = ends.filter(|(a, b)| *b != PortIdx::NONE && a <= b);
        links.extend(first_ends.map(|(a, b)| SnapshotLink { a, b }));
    }
    links.into()
}

#[cfg(test)]
mod tests {
    use ferrosm_mad::attr::NodeInfo;
    use ferrosm_mad::smp::DrPath;

    use super::*;
    use crate::observed::{Node, ObservedFabric, PortRef};
    use crate::snapshot::SnapshotExtras;

    #[test]
    fn links_begin_where_they_were_discovered() {
        let mut fabric = ObservedFabric::default();
        let port = PortNum(1);
        let [first, second] = [LinkWidth(1), LinkWidth(12)].map(|width| {
            let info = NodeInfo {
                num_ports: 1,
                ..NodeInfo::default()
            };
            let mut node = Node::new(info, DrPath::LOCAL);
            let info = PortInfo {
                link_width_active: width.bit(),
                link_speed_active: 4,
                port_state: PortState::Active,
                ..PortInfo::default()
            };
            node.store_port_info(port, &info.encode());
            node.ports[1].known = true;
            PortRef::new(fabric.add_node(node), port)
        });
        fabric.connect(second, first);
        let build = |fabric: &ObservedFabric, previous| {
            Snapshot::build(fabric, |_| None, SnapshotExtras::default(), previous)
        };
        let snapshot = build(&fabric, None);
        let [link] = snapshot.links() else {
            panic!("one link");
        };
        assert_eq!((link.a, link.b), (second.into(), first.into()));
        assert_eq!(snapshot.reported_link(*link).to_string(), "12xQDR");
        let next = build(&fabric, Some(&snapshot));
        assert!(Arc::ptr_eq(&snapshot.links, &next.links));
        fabric.connect(first, second);
        let next = build(&fabric, Some(&next));
        assert_eq!(next.links()[0].a, first.into());
    }
}
