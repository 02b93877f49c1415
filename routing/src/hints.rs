//! Hints: contents of the engines' OpenSM input files (roots, hop weights, orders, torus
//! description, tables).
//!
//! The subnet manager resolves the GUIDs of the OpenSM input files to switches and LIDs. It reports
//! GUIDs that are not in the fabric and omits them here.

use std::sync::Arc;

use ferrosm_mad::ids::{Lid, PortNum};

use crate::tables::Lft;
use crate::topology::SwitchIdx;

/// All hints; empty or `None` for files that are not configured.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hints {
    /// Root switches (`root_guid_file`); empty: detect them.
    pub roots: Vec<SwitchIdx>,
    /// Base LIDs of compute ports (`cn_guid_file`); `None`: all end ports.
    pub compute_ports: Option<Vec<Lid>>,
    /// Base LIDs of I/O ports (`io_guid_file`).
    pub io: Option<Vec<Lid>>,
    /// IDs that order switches of equal rank, instead of GUIDs (`ids_guid_file`).
    pub ids: Vec<(SwitchIdx, u64)>,
    /// Base LIDs of the end ports to route first, in order (`guid_routing_order_file`).
    pub routing_order: Vec<Lid>,
    /// Weight of the outgoing direction of a switch port, in hops, 1 to 255 (`hop_weights_file`); 1
    /// if not listed.
    pub hop_weights: Vec<(SwitchIdx, PortNum, u8)>,
    /// Search order of ports; unlisted ports follow in ascending order
    /// (`port_search_ordering_file`).
    pub port_order: Vec<(SwitchIdx, Vec<PortNum>)>,
    /// Switch ports whose routes do not count as load (`port_prof_ignore_file`).
    pub load_balance_ignored: Vec<(SwitchIdx, PortNum)>,
    /// Dimensions and seeds of a torus (`torus-2QoS.conf`).
    pub torus: Option<TorusHint>,
    /// Tables of the engine `file` (`lfts_file`).
    pub file: Option<Arc<FileTables>>,
}

/// `torus-2QoS.conf`, with GUIDs resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TorusHint {
    /// Radix of x, y, z; 1 for an absent dimension.
    pub radix: [u16; 3],
    /// Whether each dimension wraps around (`t`) or not (`m`).
    pub wraps: [bool; 3],
    /// Seeds, in the order in which they are tried.
    pub seeds: Vec<TorusSeed>,
    /// Maximum size of a port group: the parallel links to one switch, or the end ports of a switch
    /// and its port 0 (`portgroup_max_ports`).
    pub portgroup_max_ports: u16,
    /// Order in which parallel links and end ports are used (`port_order`).
    pub port_order: Vec<PortNum>,
}

/// One seed: the two switches of a link for each direction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TorusSeed {
    /// By direction: x+, x-, y+, y-, z+, z-.
    pub links: [Option<(SwitchIdx, SwitchIdx)>; 6],
    /// By dimension: distance of the dateline from the seed; negative in the negative direction.
    pub dateline: [i16; 3],
}

/// Tables read from a dump.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileTables {
    /// By [`SwitchIdx`]; `None` if the file has no table for the switch.
    pub lfts: Vec<Option<Arc<Lft>>>,
    /// SL of each path and VL of each SL, if the file has them.
    pub vl_plan: Option<crate::vl_plan::VlPlan>,
}
