//! Blocks of multicast forwarding tables.

use std::collections::BTreeMap;

use ferrosm_mad::attr::{MFT_BLOCK_LEN, MftBlock};
use ferrosm_mad::ids::{AttrMod, Lid};
use serde::{Deserialize, Serialize};

/// The first multicast LID.
pub const MLID_FIRST: u16 = 0xC000;
/// SwitchInfo.MulticastFDBTop of a table without entries.
pub const TOP_NONE: u16 = 0xBFFF;

/// Address of a block of 32 MLIDs and 16 ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MftBlockIdx {
    /// Block number: 32 MLIDs each, from 0xC000.
    pub block: u16,
    /// Position: 16 ports each.
    pub position: u8,
}

impl MftBlockIdx {
    /// The attribute modifier.
    #[must_use]
    pub const fn modifier(self) -> AttrMod {
        MftBlock::modifier(self.block, self.position)
    }
}

/// Port masks of the 32 MLIDs of a block.
pub type PortMasks = [u16; MFT_BLOCK_LEN];

/// A block without entries.
pub const EMPTY_BLOCK: PortMasks = [0; MFT_BLOCK_LEN];

/// Blocks of one switch.
pub type MftBlocks = BTreeMap<MftBlockIdx, PortMasks>;

/// The block of an MLID and its index in the block.
#[must_use]
pub const fn mft_index(mlid: Lid) -> (u16, usize) {
    let n = mlid.0.saturating_sub(MLID_FIRST);
    (n / 32, (n % 32) as usize)
}

/// The highest MLID of a block; 0xFFFF is not an MLID.
#[must_use]
pub const fn last_mlid(block: u16) -> u16 {
    let last = first_mlid(block).saturating_add(31);
    if last == u16::MAX { u16::MAX - 1 } else { last }
}

/// The lowest MLID of a block.
#[must_use]
pub const fn first_mlid(block: u16) -> u16 {
    MLID_FIRST.saturating_add(block.saturating_mul(32))
}

/// Number of positions in the MFT of a switch with `num_ports` ports.
#[must_use]
pub const fn num_positions(num_ports: u8) -> u8 {
    num_ports / 16 + 1
}
