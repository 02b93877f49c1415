//! Nodes by SystemImageGUID: which of them are one system.
//!
//! Hardly anybody asks for it, so it is made by the first query that needs it, and shared from then on like the other indices
//! ([`super::end_ports`]): who changes a node's SystemImageGUID makes new ones.

use super::{NodeView, View};

/// Where SystemImageGUID is in NodeInfo (wire reference 3.2).
const AT: core::ops::Range<usize> = 4..12;

/// Nodes by SystemImageGUID.
#[derive(Debug)]
pub(super) struct SystemImageIndex {
    /// With the slot of each node, in order.
    all: Vec<(u64, u32)>,
}

impl SystemImageIndex {
    fn new(view: &View) -> Self {
        let slots = (0u32..).zip(view.nodes.iter());
        let there = slots.filter(|(_, p)| !p.node.ports.is_empty());
        let mut all: Vec<(u64, u32)> = there
            .map(|(at, p)| (system_image_guid(&p.node), at))
            .collect();
        all.sort_unstable();
        Self { all }
    }

    fn nodes_of(&self, image: u64) -> &[(u64, u32)] {
        let from = self.all.partition_point(|(i, _)| *i < image);
        let len = self.all[from..].partition_point(|(i, _)| *i == image);
        &self.all[from..from + len]
    }
}

/// The SystemImageGUID of a node.
pub(super) fn system_image_guid(node: &NodeView) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&node.info[AT]);
    u64::from_be_bytes(bytes)
}

impl View {
    /// The nodes of a system.
    pub fn by_system_image_guid(&self, image: u64) -> impl Iterator<Item = u32> {
        let images = self
            .end_ports
            .images
            .get_or_init(|| SystemImageIndex::new(self));
        images.nodes_of(image).iter().map(|(_, slot)| *slot)
    }
}
