//! What an engine computes.

use ferrosm_mad::ids::PortNum;

use crate::lanes::Lanes;
use crate::notes::Note;
use crate::tables::Tables;

/// What an engine computed.
#[derive(Debug, Clone)]
pub struct Routing {
    /// Name of the engine.
    pub engine: &'static str,
    /// One table per switch.
    pub tables: Tables,
    /// The SL of each path and the VL of each SL.
    pub vl_plan: Lanes,
    /// Each switch's place in the engine's order of switches, if it has one: to be given back as
    /// [`Previous::order`](crate::Previous::order), so that a lost cable does not turn the order, and with it every route, upside down.
    pub order: Option<Vec<u32>>,
    /// Which multicast trees go together with these tables.
    pub trees: TreeConstraint,
    /// What was decided on the way, for logs; the last repair at the end.
    pub notes: Vec<Note>,
}

/// Which multicast trees cannot deadlock together with the unicast routes of a routing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum TreeConstraint {
    /// The engine promises nothing: trees are searched that pass the proof together with the routes.
    #[default]
    Search,
    /// Trees in which every switch but the root hangs on one that comes before it in this order (each switch's place,
    /// as [`Routing::order`]), on SL 0.
    Ordered(Vec<u32>),
    /// Parts of this one spanning tree, on this SL: for each switch the port that leads towards the root, `None` for
    /// the root.
    Within {
        /// Ports towards the root.
        up: Vec<Option<PortNum>>,
        /// The SL that groups get.
        sl: u8,
    },
}

impl TreeConstraint {
    /// The SL of groups, where it is promised.
    #[must_use]
    pub const fn sl(&self) -> Option<u8> {
        match self {
            Self::Search => None,
            Self::Ordered(_) => Some(0),
            Self::Within { sl, .. } => Some(*sl),
        }
    }
}
