//! Output of an engine.

use ferrosm_mad::ids::PortNum;
use serde::{Deserialize, Serialize};

use crate::messages::Diagnostic;
use crate::tables::Tables;
use crate::vl_plan::VlPlan;

/// Output of an engine.
#[derive(Debug, Clone)]
pub struct Routing {
    /// Name of the engine.
    pub engine: &'static str,
    /// One forwarding table per switch.
    pub tables: Tables,
    /// The SL of each path and the VL of each SL.
    pub vl_plan: VlPlan,
    /// Position of each switch in the engine's up/down order, if it has one. Pass it to the next
    /// run as [`PreviousRouting::order`](crate::PreviousRouting::order); without it a lost link
    /// could reverse the order and move every route.
    pub order: Option<Vec<u32>>,
    /// Multicast trees that are deadlock-free together with these tables.
    pub trees: TreeConstraint,
    /// Decisions of the engine and of incremental reroutes, for logs; the last reroute comes last.
    pub diagnostics: Vec<Diagnostic>,
}

/// Multicast trees that cannot deadlock together with the unicast routes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum TreeConstraint {
    /// No guarantee: trees are searched and verified together with the routes.
    #[default]
    Search,
    /// Trees on SL 0 in which the parent of every switch precedes it in this order (position of
    /// each switch, as in [`Routing::order`]).
    Ordered(Vec<u32>),
    /// Subtrees of one spanning tree, on one SL.
    Within {
        /// Port towards the root for each switch, `None` for the root.
        up: Vec<Option<PortNum>>,
        /// SL of multicast groups.
        sl: u8,
    },
}

impl TreeConstraint {
    /// SL of multicast groups, if it is fixed.
    #[must_use]
    pub const fn sl(&self) -> Option<u8> {
        match self {
            Self::Search => None,
            Self::Ordered(_) => Some(0),
            Self::Within { sl, .. } => Some(*sl),
        }
    }
}
