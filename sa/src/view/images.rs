//! Nodes by SystemImageGUID: which of them are one system.
//!
//! Hardly anybody asks for it, so it is made by the first query that needs it, and shared from then on like the other indices
//! ([`super::ends`]): who changes a node's SystemImageGUID makes new ones.

use super::{NodeView, View};

/// Where SystemImageGUID is in NodeInfo (wire reference 3.2).
const AT: core::ops::Range<usize> = 4..12;

/// Nodes by SystemImageGUID.
#[derive(Debug)]
pub(super) struct Images {
    /// With the place of each node, in order.
    all: Vec<(u64, u32)>,
}

impl Images {
    fn new(view: &View) -> Self {
        let places = (0u32..).zip(view.nodes.iter());
        let there = places.filter(|(_, p)| !p.node.ports.is_empty());
        let mut all: Vec<(u64, u32)> = there.map(|(at, p)| (of_node(&p.node), at)).collect();
        all.sort_unstable();
        Self { all }
    }

    fn of(&self, image: u64) -> &[(u64, u32)] {
        let from = self.all.partition_point(|(i, _)| *i < image);
        let len = self.all[from..].partition_point(|(i, _)| *i == image);
        &self.all[from..from + len]
    }
}

/// The SystemImageGUID of a node.
pub(super) fn of_node(node: &NodeView) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&node.info[AT]);
    u64::from_be_bytes(bytes)
}

impl View {
    /// The nodes of a system.
    pub fn by_system_image_guid(&self, image: u64) -> impl Iterator<Item = u32> {
        let images = self.ends.images.get_or_init(|| Images::new(self));
        images.of(image).iter().map(|(_, place)| *place)
    }
}
