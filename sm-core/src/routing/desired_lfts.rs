//! The LFTs that switches should have.

use std::collections::BTreeSet;
use std::sync::Arc;

use ferrosm_routing::Lft;

use ferrosm_fabric::observed::NodeIdx;

/// LFTs by node.
pub(crate) type NodeLfts = Vec<(NodeIdx, Arc<Lft>)>;

/// The desired LFT of each switch, with the switch's position in the order of the engine that
/// computed the LFTs.
#[derive(Debug, Default)]
pub(crate) struct DesiredLfts {
    /// Ascending by node.
    lfts: NodeLfts,
    /// By index in `lfts`; empty if the engine has no order.
    order: Vec<u32>,
    /// Switches with small LFTs of which some links are not routed
    /// ([`ferrosm_routing::table_limits::without_transit`]).
    stubs: BTreeSet<NodeIdx>,
}

impl DesiredLfts {
    /// LFTs, ascending by node, the order of their switches, and the switches of which some links
    /// are not routed.
    pub(crate) fn new(lfts: NodeLfts, order: Vec<u32>, stubs: BTreeSet<NodeIdx>) -> Self {
        debug_assert!(lfts.is_sorted_by_key(|(n, _)| *n));
        Self { lfts, order, stubs }
    }

    /// Whether some links of a switch are not routed, because its LFT is small.
    pub(crate) fn is_stub(&self, n: NodeIdx) -> bool {
        self.stubs.contains(&n)
    }

    /// Replaces the LFTs by new ones of the same switches.
    pub(crate) fn replace(&mut self, lfts: NodeLfts) {
        debug_assert!(lfts.iter().map(|l| l.0).eq(self.lfts.iter().map(|l| l.0)));
        self.lfts = lfts;
    }

    /// The desired LFT of a switch.
    pub(crate) fn get(&self, n: NodeIdx) -> Option<&Arc<Lft>> {
        Some(&self.lfts[self.position(n)?].1)
    }

    /// The position of a switch in the order of the engine, if the engine has one.
    pub(crate) fn order(&self, n: NodeIdx) -> Option<u32> {
        self.order.get(self.position(n)?).copied()
    }

    fn position(&self, n: NodeIdx) -> Option<usize> {
        self.lfts.binary_search_by_key(&n, |(at, _)| *at).ok()
    }
}
