//! Nodes by SystemImageGUID.
//!
//! Queries by SystemImageGUID are rare: the first one builds the index, which is then shared like
//! the other indices ([`super::end_ports`]). A changed SystemImageGUID replaces it.

use super::{Snapshot, SnapshotNode};

/// Position of SystemImageGUID in NodeInfo (IBA 14.2.5.3).
const SYSTEM_IMAGE_GUID: core::ops::Range<usize> = 4..12;

/// Nodes by SystemImageGUID.
#[derive(Debug)]
pub(super) struct SystemImageIndex {
    /// SystemImageGUID and slot of each node, sorted.
    nodes_by_image: Vec<(u64, u32)>,
}

impl SystemImageIndex {
    fn new(snapshot: &Snapshot) -> Self {
        let slots = (0u32..).zip(snapshot.nodes.iter());
        let occupied = slots.filter(|(_, p)| !p.ports.is_empty());
        let mut pairs: Vec<(u64, u32)> = occupied
            .map(|(at, p)| (system_image_guid(&p.node), at))
            .collect();
        pairs.sort_unstable();
        Self {
            nodes_by_image: pairs,
        }
    }

    fn nodes_of(&self, image: u64) -> &[(u64, u32)] {
        let from = self.nodes_by_image.partition_point(|(i, _)| *i < image);
        let len = self.nodes_by_image[from..].partition_point(|(i, _)| *i == image);
        &self.nodes_by_image[from..from + len]
    }
}

/// The SystemImageGUID of a node.
pub(super) fn system_image_guid(node: &SnapshotNode) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&node.info[SYSTEM_IMAGE_GUID]);
    u64::from_be_bytes(bytes)
}

impl Snapshot {
    /// The nodes of a system, by SystemImageGUID.
    pub fn by_system_image_guid(&self, image: u64) -> impl Iterator<Item = u32> {
        let images = self
            .end_ports
            .images
            .get_or_init(|| SystemImageIndex::new(self));
        images.nodes_of(image).iter().map(|(_, slot)| *slot)
    }
}
