//! Known contents of a port's VLArbitrationTable.

use std::ops::Deref;
use std::sync::Arc;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A block by number: 1 to 4.
pub type VlArbitrationBlock = (u8, [u8; 64]);

/// Known blocks of a port's VLArbitrationTable, shared between the subnet and its views. One
/// pointer in size if no block is known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VlArbitrationBlocks(Option<Arc<Vec<VlArbitrationBlock>>>);

impl VlArbitrationBlocks {
    /// Stores a block.
    pub fn insert(&mut self, block: u8, table: [u8; 64]) {
        let other_blocks = self.iter().filter(|(b, _)| *b != block).copied();
        *self = other_blocks.chain([(block, table)]).collect();
    }

    /// Discards a block.
    pub fn remove(&mut self, block: u8) {
        if self.iter().any(|(b, _)| *b == block) {
            *self = self.iter().filter(|(b, _)| *b != block).copied().collect();
        }
    }
}

impl Deref for VlArbitrationBlocks {
    type Target = [VlArbitrationBlock];

    fn deref(&self) -> &Self::Target {
        self.0.as_ref().map_or(&[], |blocks| blocks)
    }
}

impl FromIterator<VlArbitrationBlock> for VlArbitrationBlocks {
    fn from_iter<I: IntoIterator<Item = VlArbitrationBlock>>(blocks: I) -> Self {
        let blocks: Vec<VlArbitrationBlock> = blocks.into_iter().collect();
        Self((!blocks.is_empty()).then(|| Arc::new(blocks)))
    }
}

impl Serialize for VlArbitrationBlocks {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_seq(self.iter().map(|(block, table)| (*block, &table[..])))
    }
}

impl<'de> Deserialize<'de> for VlArbitrationBlocks {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let blocks = <Vec<(u8, &[u8])>>::deserialize(d)?.into_iter();
        blocks
            .map(|(block, table)| Some((block, table.try_into().ok()?)))
            .collect::<Option<Self>>()
            .ok_or_else(|| D::Error::custom("a block does not have 64 bytes"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_replaced_and_removed_by_number() {
        let mut blocks = VlArbitrationBlocks::default();
        blocks.insert(1, [1; 64]);
        blocks.insert(3, [3; 64]);
        blocks.insert(1, [2; 64]);
        assert_eq!(*blocks, [(3, [3; 64]), (1, [2; 64])]);
        blocks.remove(3);
        blocks.remove(2);
        assert_eq!(*blocks, [(1, [2; 64])]);
        blocks.remove(1);
        assert_eq!(blocks, VlArbitrationBlocks::default());
    }
}
