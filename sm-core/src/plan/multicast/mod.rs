//! Multicast forwarding tables: what should be in them, and by which steps they get there (rules 10.13 to 10.17).
//!
//! | module | what it computes |
//! |---|---|
//! | [`beside`] | which installed entries must go before routes are replaced |
//! | [`grove`] | members to one tree for each MLID, and what it puts into each switch's table |
//! | [`steps`] | what is there and what should be to writes, in two steps |
//! | this | a switch's table, as it is and as it should be |

pub mod beside;
pub mod grove;
pub mod steps;

use std::collections::BTreeMap;
use std::sync::Arc;

use ferrosm_mad::attr::{MFT_BLOCK_LEN, MftBlock};
use ferrosm_mad::ids::{AttrMod, Lid};
use ferrosm_routing::multicast::PortSet;

/// The first multicast LID.
pub const FIRST: u16 = 0xC000;
/// SwitchInfo.MulticastFDBTop of a table without entries.
pub const TOP_NONE: u16 = 0xBFFF;

/// A block: 32 MLIDs of 16 ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockAt {
    /// Which 32 MLIDs, from 0xC000 on.
    pub block: u16,
    /// Which 16 ports.
    pub position: u8,
}

impl BlockAt {
    /// The attribute modifier.
    #[must_use]
    pub const fn modifier(self) -> AttrMod {
        MftBlock::modifier(self.block, self.position)
    }
}

/// Port masks of the 32 MLIDs of a block.
pub type Masks = [u16; MFT_BLOCK_LEN];

/// No port for anybody.
pub const EMPTY: Masks = [0; MFT_BLOCK_LEN];

/// Blocks of one switch.
pub type Blocks = BTreeMap<BlockAt, Masks>;

/// The block and the place in it that an MLID has.
#[must_use]
pub const fn place(mlid: Lid) -> (u16, usize) {
    let n = mlid.0.saturating_sub(FIRST);
    (n / 32, (n % 32) as usize)
}

/// The highest MLID of a block; 0xFFFF is no MLID.
#[must_use]
pub const fn last_of(block: u16) -> u16 {
    let last = FIRST
        .saturating_add(block.saturating_mul(32))
        .saturating_add(31);
    if last == u16::MAX { u16::MAX - 1 } else { last }
}

/// The lowest MLID of a block.
#[must_use]
pub const fn first_of(block: u16) -> u16 {
    FIRST.saturating_add(block.saturating_mul(32))
}

/// How many positions the table of a switch with so many ports has (rule 4.8).
#[must_use]
pub const fn positions(num_ports: u8) -> u8 {
    num_ports / 16 + 1
}

/// A switch's table.
#[derive(Debug, Clone, Default)]
pub struct Mft {
    /// Blocks that are known to be so in the switch; of others nothing is known.
    pub known: Arc<Blocks>,
    /// Blocks as they should be; those that are not listed should be empty.
    pub wanted: Blocks,
    /// Blocks that are on their way to the switch.
    pub sent: Blocks,
    /// The switch was asked what it has.
    pub read: bool,
}

impl Mft {
    /// Nothing is known any more of what is in the switch.
    pub fn forget(&mut self) {
        self.known = Arc::default();
        self.sent.clear();
        self.read = false;
    }

    /// From the moment that a block goes out until it is answered nobody knows what is there.
    pub fn send(&mut self, at: BlockAt, masks: Masks) {
        if self.known.contains_key(&at) {
            Arc::make_mut(&mut self.known).remove(&at);
        }
        self.sent.insert(at, masks);
    }

    /// A block is there.
    pub fn know(&mut self, at: BlockAt, masks: Masks) {
        Arc::make_mut(&mut self.known).insert(at, masks);
    }

    /// What a block should be.
    #[must_use]
    pub fn wanted(&self, at: BlockAt) -> Masks {
        self.wanted.get(&at).copied().unwrap_or(EMPTY)
    }

    /// Changes what an MLID's entry should be.
    pub fn want(&mut self, mlid: Lid, ports: PortSet, positions: u8) {
        let (block, i) = place(mlid);
        for position in 0..positions {
            let at = BlockAt { block, position };
            let mask = ports.position(position);
            if mask == 0 && !self.wanted.contains_key(&at) {
                continue;
            }
            let masks = self.wanted.entry(at).or_insert(EMPTY);
            masks[i] = mask;
            if *masks == EMPTY {
                self.wanted.remove(&at);
            }
        }
    }

    /// Whether all of a block is known.
    #[must_use]
    pub fn knows(&self, block: u16, positions: u8) -> bool {
        (0..positions).all(|position| self.known.contains_key(&BlockAt { block, position }))
    }
}
