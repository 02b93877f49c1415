//! How new LFTs replace the installed ones: the order of the writes, and what must be cleared
//! first.

use std::collections::VecDeque;

use ferrosm_fabric::observed::NodeIdx;
use ferrosm_mad::ids::Lid;
use ferrosm_routing::TreeConstraint;

use crate::routing::desired_lfts::NodeLfts;

/// The order in which LFTs are written so that no mixture of old and new entries loops or
/// deadlocks.
#[derive(Debug, Default)]
pub enum LftWriteOrder {
    /// Any order.
    #[default]
    Any,
    /// LFT blocks, stage by stage. Blocks that are not listed may be written at any time.
    Stages(Vec<Vec<(NodeIdx, u16)>>),
    /// First LFTs that drop the changing routes; after packets have drained, SLtoVL tables and the
    /// new LFTs.
    Drain {
        /// LFTs without the changing routes.
        first: NodeLfts,
        /// LFTs in between, as in [`Self::Passes`].
        passes: VecDeque<LftPass>,
        /// Stages of the new LFTs, as in [`Self::Stages`]; empty for any order.
        later_stages: Vec<Vec<(NodeIdx, u16)>>,
    },
    /// LFTs that move some LIDs each, one after the other, then the new LFTs. No packet is dropped.
    Passes {
        /// The LFTs in between; at least one.
        passes: VecDeque<LftPass>,
        /// Stages of the new LFTs, as in [`Self::Stages`]; empty for any order.
        last_stages: Vec<Vec<(NodeIdx, u16)>>,
    },
}

/// LFTs that are written between the installed and the new ones.
#[derive(Debug)]
pub struct LftPass {
    pub tables: NodeLfts,
    /// As in [`LftWriteOrder::Stages`]; empty for any order.
    pub stages: Vec<Vec<(NodeIdx, u16)>>,
}

/// How the new LFTs replace the installed ones.
#[derive(Debug, Default)]
pub struct LftWritePlan {
    pub order: LftWriteOrder,
    /// Multicast entries that must be cleared before LFTs are written.
    pub conflicting_groups: Vec<(Lid, NodeIdx)>,
    /// The constraint of multicast trees if the update stops between two stages; `None` if no tree
    /// is known to be deadlock-free then, or without
    /// [`RoutingJob::plans_abort_trees`](crate::routing::routes::RoutingJob::plans_abort_trees).
    pub abort_trees: Option<TreeConstraint>,
    /// Number of LIDs of which packets are dropped before the new entries are written.
    pub drained_lids: usize,
}
