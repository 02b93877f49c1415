//! Nodes that left the subnet: their names, and why their links were lost. For messages only.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::removal::NodeRemovalReason;
use super::{Node, NodeIdx, ObservedFabric, PortRef};
use crate::location::NodeName;

/// Most names of nodes that left the subnet; further ones replace the oldest.
const NAMES_MAX: usize = 1024;

/// Nodes that left the subnet.
#[derive(Debug, Clone, Default)]
pub(super) struct DepartedNodes {
    names: VecDeque<(NodeIdx, NodeName)>,
    /// The number of hosts that only an excluded node connected, if there were any.
    hosts: BTreeMap<NodeIdx, usize>,
    /// Nodes that lost a link since the last sweep began, and why they lost the last one.
    link_losses: BTreeMap<NodeIdx, NodeRemovalReason>,
}

impl DepartedNodes {
    pub(super) fn add(&mut self, idx: NodeIdx, name: NodeName) {
        if self.names.len() >= NAMES_MAX
            && let Some((oldest, _)) = self.names.pop_front()
        {
            self.hosts.remove(&oldest);
        }
        self.names.push_back((idx, name));
    }

    pub(super) fn name(&self, idx: NodeIdx) -> Option<NodeName> {
        let found = self.names.iter().rev().find(|(node, _)| *node == idx);
        found.map(|(_, name)| *name)
    }
}

impl ObservedFabric {
    /// A sweep begins: links that were lost earlier do not explain why it removes a node.
    pub fn begin_sweep(&mut self) {
        self.departed.link_losses.clear();
    }

    /// A node lost a link.
    pub fn record_link_loss(&mut self, node: NodeIdx, reason: NodeRemovalReason) {
        self.departed.link_losses.insert(node, reason);
    }

    /// Why a node cannot be reached any more.
    pub fn removal_reason(&self, node: NodeIdx) -> NodeRemovalReason {
        let lost = self.departed.link_losses.get(&node);
        lost.copied().unwrap_or(NodeRemovalReason::NoPath)
    }

    /// Counts the hosts that only a node connects, before it is excluded.
    pub fn count_hosts_lost_with(&mut self, node: NodeIdx) {
        let is_only_link = |host: NodeIdx, h: &Node| {
            let mut ports = h.physical_ports().map(|p| PortRef::new(host, p));
            !h.is_switch() && ports.all(|p| self.peer(p).is_none_or(|peer| peer.node == node))
        };
        let Some(excluded) = self.get(node) else {
            return;
        };
        let peers = excluded
            .physical_ports()
            .filter_map(|p| self.peer(PortRef::new(node, p)));
        let hosts: BTreeSet<NodeIdx> = peers
            .map(|peer| peer.node)
            .filter(|n| self.get(*n).is_some_and(|h| is_only_link(*n, h)))
            .collect();
        if !hosts.is_empty() {
            self.departed.hosts.insert(node, hosts.len());
        }
    }

    /// The number of hosts that only an excluded node connected.
    pub fn hosts_lost_with(&self, node: NodeIdx) -> usize {
        self.departed.hosts.get(&node).copied().unwrap_or(0)
    }
}
