//! Nodes that left the subnet: their names, and why their links were lost. For messages only.

use std::collections::{BTreeMap, VecDeque};

use super::{NodeIdx, Subnet};
use crate::event::NodeRemovalReason;
use crate::location::NodeName;

/// Most names of nodes that left the subnet; further ones replace the oldest.
const NAMES_MAX: usize = 1024;

/// Nodes that left the subnet.
#[derive(Debug, Clone, Default)]
pub(super) struct DepartedNodes {
    names: VecDeque<(NodeIdx, NodeName)>,
    /// Nodes that lost a link since the last sweep began, and why they lost the last one.
    link_losses: BTreeMap<NodeIdx, NodeRemovalReason>,
}

impl DepartedNodes {
    pub(super) fn add(&mut self, idx: NodeIdx, name: NodeName) {
        if self.names.len() >= NAMES_MAX {
            self.names.pop_front();
        }
        self.names.push_back((idx, name));
    }

    pub(super) fn name(&self, idx: NodeIdx) -> Option<NodeName> {
        let found = self.names.iter().rev().find(|(node, _)| *node == idx);
        found.map(|(_, name)| *name)
    }
}

impl Subnet {
    /// A sweep begins: links that were lost earlier do not explain why it removes a node.
    pub(crate) fn begin_sweep(&mut self) {
        self.departed.link_losses.clear();
    }

    /// A node lost a link.
    pub(crate) fn record_link_loss(&mut self, node: NodeIdx, reason: NodeRemovalReason) {
        self.departed.link_losses.insert(node, reason);
    }

    /// Why a node cannot be reached any more.
    pub(crate) fn removal_reason(&self, node: NodeIdx) -> NodeRemovalReason {
        let lost = self.departed.link_losses.get(&node);
        lost.copied().unwrap_or(NodeRemovalReason::NoPath)
    }
}
