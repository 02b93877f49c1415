//! Tables of a node as this SM wrote or read them. One component of the SM changes each of them,
//! others read it (`tests/tests/tidy/components.rs`). The node discards them when the device may
//! have lost them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ferrosm_routing::Lft;

use crate::tables::sl_to_vl::SlToVlSelector;

/// The LFT of a switch, changed by the component of LFTs.
#[derive(Debug, Clone, Default)]
pub struct WrittenLft {
    /// The LFT in the switch; `None` if unknown.
    pub installed: Option<Arc<Lft>>,
    /// The last known LFT while `installed` is `None` because the switch rejected blocks, which
    /// have their old entries, or because it does not respond to this SM, which restored the LFT.
    pub last_known: Option<Arc<Lft>>,
    /// Blocks whose last Set had no response: the switch has either their old or their new entries.
    pub unanswered_blocks: BTreeSet<u16>,
    /// How often it was discarded: what was read of it before is outdated.
    pub times_forgotten: u32,
}

impl WrittenLft {
    /// Discards what is known of the table in the switch, and what is being read of it.
    pub(super) fn forget(&mut self) {
        self.discard();
        self.times_forgotten = self.times_forgotten.wrapping_add(1);
    }

    /// Discards what is known of the table in the switch.
    pub(super) fn discard(&mut self) {
        self.installed = None;
        self.last_known = None;
        self.unanswered_blocks.clear();
    }
}

/// The SLtoVL tables of a node, changed by the component of VL tables. VL arbitration is with each
/// port.
#[derive(Debug, Clone, Default)]
pub struct WrittenVls {
    /// Known SLtoVLMappingTables: written by this SM or an earlier one, or read.
    pub sl_to_vl: BTreeMap<SlToVlSelector, [u8; 8]>,
    /// Where the VL tables come from.
    pub origin: VlTableOrigin,
    /// The fingerprint of the plan of the VL tables when all of them were last in place.
    pub fingerprint: Option<u64>,
    /// The node rejects SLtoVL tables for all inputs of an output.
    pub rejects_optimized: bool,
}

/// Where a node's VL tables come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum VlTableOrigin {
    /// Not determined yet after the device was discovered or lost its tables.
    #[default]
    Unknown,
    /// Power-up tables: SL 0 travels on VL 0.
    PowerUp,
    /// An SM has written them, or may have.
    Foreign,
}
