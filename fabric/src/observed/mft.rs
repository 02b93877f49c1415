//! The multicast forwarding table of a switch: known and outstanding contents.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::tables::mft::{MftBlockIdx, MftBlocks, PortMasks};

/// The multicast forwarding table of a switch.
#[derive(Debug, Clone, Default)]
pub struct Mft {
    /// Contents of the blocks that are known.
    pub known: Arc<MftBlocks>,
    /// Blocks whose Sets are outstanding.
    sent: MftBlocks,
    /// Blocks that may have entries although their contents are not known: written without an
    /// acknowledgement, or read and not believed.
    uncertain: BTreeSet<MftBlockIdx>,
    /// The table was read from the switch.
    pub read: bool,
}

impl Mft {
    /// The MFT that a restored snapshot shows.
    #[must_use]
    pub fn restored(known: Arc<MftBlocks>) -> Self {
        Self {
            known,
            read: true,
            ..Self::default()
        }
    }

    /// Discards what is known of the table in the switch.
    pub fn forget(&mut self) {
        self.known = Arc::default();
        self.sent.clear();
        self.read = false;
    }

    /// Discards what was read, because some of it is not believed.
    pub fn distrust(&mut self) {
        let known = core::mem::take(&mut self.known);
        self.uncertain.extend(known.keys());
    }

    /// Notes that a block may have entries, until its contents are known.
    pub fn mark_uncertain(&mut self, at: MftBlockIdx) {
        self.uncertain.insert(at);
    }

    /// Blocks that may have entries although their contents are not known.
    #[must_use]
    pub const fn uncertain(&self) -> &BTreeSet<MftBlockIdx> {
        &self.uncertain
    }

    /// Records that a Set of a block was sent. Its contents are unknown until the response.
    pub fn mark_sent(&mut self, at: MftBlockIdx, masks: PortMasks) {
        if self.known.contains_key(&at) {
            Arc::make_mut(&mut self.known).remove(&at);
        }
        self.sent.insert(at, masks);
        self.uncertain.insert(at);
    }

    /// The contents of a block whose Set is outstanding.
    #[must_use]
    pub fn sent_block(&self, at: MftBlockIdx) -> Option<&PortMasks> {
        self.sent.get(&at)
    }

    /// The Set of a block is no longer outstanding. Returns what it wrote.
    pub fn take_sent(&mut self, at: MftBlockIdx) -> Option<PortMasks> {
        let masks = self.sent.remove(&at);
        if self.sent.is_empty() {
            // An empty map retains the memory of its last entries.
            self.sent = MftBlocks::new();
        }
        masks
    }

    /// Records the contents of a block.
    pub fn set_known(&mut self, at: MftBlockIdx, masks: PortMasks) {
        Arc::make_mut(&mut self.known).insert(at, masks);
        self.uncertain.remove(&at);
    }

    /// Whether all of a block is known.
    #[must_use]
    pub fn is_block_known(&self, block: u16, positions: u8) -> bool {
        (0..positions).all(|position| self.known.contains_key(&MftBlockIdx { block, position }))
    }
}
