//! What an operator says about the structure of a fabric, in terms of the graph.
//!
//! Engines find everything themselves; a hint only overrides. The subnet manager translates GUIDs of OpenSM's side files
//! into this; what it could not find in the fabric is already gone (and reported) here.

use std::sync::Arc;

use ferrosm_mad::ids::{Lid, PortNum};

use crate::tables::Lft;
use crate::topology::SwitchIdx;

/// Everything that can be said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hints {
    /// Root switches (`root_guid_file`); empty: to be found.
    pub roots: Vec<SwitchIdx>,
    /// Base LIDs of compute ports (`cn_guid_file`); `None`: all end ports are.
    pub compute: Option<Vec<Lid>>,
    /// Base LIDs of I/O ports (`io_guid_file`).
    pub io: Option<Vec<Lid>>,
    /// What to use instead of GUIDs to tell switches of equal rank apart (`ids_guid_file`).
    pub ids: Vec<(SwitchIdx, u64)>,
    /// Base LIDs of end ports that are routed first, in this order (`guid_routing_order_file`).
    pub routing_order: Vec<Lid>,
    /// Hops that the outgoing direction of a switch port counts as, 1 to 255 (`hop_weights_file`); 1 if not listed.
    pub hop_weights: Vec<(SwitchIdx, PortNum, u8)>,
    /// The order in which ports are tried; ports not listed follow in number order (`port_search_ordering_file`).
    pub port_order: Vec<(SwitchIdx, Vec<PortNum>)>,
    /// Switch ports behind which routes are not counted as load (`port_prof_ignore_file`).
    pub not_counted: Vec<(SwitchIdx, PortNum)>,
    /// Dimensions and seeds of a torus (`torus-2QoS.conf`).
    pub torus: Option<TorusHint>,
    /// Tables to use as they are (`lfts_file`), for the engine `file`.
    pub file: Option<Arc<FileTables>>,
}

/// `torus-2QoS.conf`, with GUIDs found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TorusHint {
    /// Radix of x, y, z; 1 where there is no such dimension.
    pub radix: [u16; 3],
    /// Whether each dimension wraps around (`t`) or not (`m`).
    pub wraps: [bool; 3],
    /// At most so many seeds are tried, the first first.
    pub seeds: Vec<TorusSeed>,
    /// End ports per switch at most (`portgroup_max_ports`).
    pub portgroup_max_ports: u16,
    /// In which order parallel cables and end ports are used (`port_order`).
    pub port_order: Vec<PortNum>,
}

/// One seed: two switches of a cable for each direction that is given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TorusSeed {
    /// By direction: x+, x-, y+, y-, z+, z-.
    pub links: [Option<(SwitchIdx, SwitchIdx)>; 6],
    /// By dimension: how far from the seed the dateline is, negative: the other way.
    pub dateline: [i16; 3],
}

/// Tables read from a dump, by [`SwitchIdx`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileTables {
    /// `None` where the file has no table for a switch.
    pub lfts: Vec<Option<Arc<Lft>>>,
    /// Where the file gave them: the SL of each path and the VL of each SL.
    pub vl_plan: Option<crate::vl_plan::VlPlan>,
}
