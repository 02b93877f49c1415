//! Writes of registered alias GUIDs to devices (GUIDInfo).
//!
//! A block is written when a registration changed it. After a reset of its device, a start or a
//! takeover it is read first and written only if it differs: hosts take each write as a GID change
//! and flush their paths.
//!
//! Blocks are read and written in rounds between sweeps, so that a sweep or an MFT update waits at
//! most one round. The registry ([`ferrosm_sa::registry`]) has the wanted aliases.

use std::collections::BTreeMap;

use ferrosm_fabric::aliases::AliasTables;
use ferrosm_fabric::observed::{ObservedFabric, PortRef};
use ferrosm_mad::attr::GuidInfo;
use ferrosm_mad::ids::PortGuid;

use crate::ctx::Ctx;
use crate::event::{Event, WriteFailure};
use crate::smp::op::SmpOp;
use crate::smp::outcome::SmpOutcome;
use ferrosm_sa::registry::aliases::AliasBlocks;

/// SMPs in one round.
const ROUND_MAX: usize = 16_384;
/// Writes of a block of alias GUIDs that a device does not accept. A device that did not respond is
/// read and written again after the next sweep, one that rejected the block after its next reset or
/// registration.
const WRITES_MAX: u8 = 3;

/// A block of alias GUIDs that a device may not have.
#[derive(Debug, Default)]
struct PendingBlock {
    /// It is read before it is written.
    read_first: bool,
    /// How often it was written.
    writes: u8,
}

/// Blocks of alias GUIDs to read and write.
#[derive(Debug, Default)]
pub(crate) struct AliasGuids {
    /// Blocks of alias GUIDs that devices may not have.
    guid_blocks: BTreeMap<(PortGuid, u8), PendingBlock>,
    /// Blocks whose devices did not respond, until the next sweep.
    unresponsive_blocks: AliasBlocks,
}

impl AliasGuids {
    /// Drops all reads and writes: this SM is no longer the SA.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }

    /// A sweep is complete: devices that did not respond may be back.
    pub(crate) fn retry_unresponsive(&mut self) {
        let blocks = core::mem::take(&mut self.unresponsive_blocks);
        self.read_and_write(blocks);
    }

    /// Reads blocks of alias GUIDs, and writes those that differ. Blocks to be written anyway are
    /// not read.
    fn read_and_write(&mut self, blocks: AliasBlocks) {
        for block in blocks {
            self.guid_blocks.entry(block).or_insert(PendingBlock {
                read_first: true,
                writes: 0,
            });
        }
    }

    /// Enqueues the SMPs of a round. Returns whether there are any. Since the last round,
    /// registrations changed the blocks in `changed`; devices may have lost those in `unverified`.
    pub(crate) fn start_round(
        &mut self,
        ctx: &mut Ctx<'_>,
        changed: AliasBlocks,
        unverified: AliasBlocks,
    ) -> bool {
        self.guid_blocks.extend(
            changed
                .into_iter()
                .map(|block| (block, PendingBlock::default())),
        );
        self.read_and_write(unverified);
        let mut enqueued = 0;
        self.guid_blocks.retain(|(port, block), pending| {
            let Some(at) = ctx.fabric.port_by_guid(*port) else {
                return false;
            };
            if enqueued >= ROUND_MAX {
                return true;
            }
            enqueued += 1;
            ctx.smps.enqueue(if pending.read_first {
                SmpOp::GuidInfo(at, *block)
            } else {
                pending.writes += 1;
                SmpOp::SetGuidInfo(at, *block)
            });
            true
        });
        enqueued > 0
    }

    /// A block of alias GUIDs was read. Unless it has the wanted aliases, the next round writes it.
    pub(crate) fn on_read(
        &mut self,
        fabric: &ObservedFabric,
        aliases: &AliasTables,
        (p, block): (PortRef, u8),
        outcome: &SmpOutcome,
    ) {
        let Some(port) = fabric.port(p) else {
            return;
        };
        let key = (port.guid, block);
        let desired = alias_guid_block(fabric, aliases, p, block);
        let found = outcome.data().zip(desired.as_ref());
        if found.is_some_and(|(data, desired)| has_aliases(block, data, desired)) {
            self.guid_blocks.remove(&key);
        } else if let Some(pending) = self.guid_blocks.get_mut(&key) {
            pending.read_first = false;
        }
    }

    /// The write of a block of alias GUIDs succeeded or failed. A failed write is repeated in the
    /// next rounds, at most [`WRITES_MAX`] times.
    pub(crate) fn on_written(
        &mut self,
        ctx: &mut Ctx<'_>,
        aliases: &AliasTables,
        (p, block): (PortRef, u8),
        outcome: &SmpOutcome,
    ) {
        let Some(port) = ctx.fabric.port(p) else {
            return;
        };
        let key = (port.guid, block);
        let failure = match outcome {
            SmpOutcome::Unanswered => WriteFailure::NoResponse,
            SmpOutcome::Response { status, data } => {
                let desired = alias_guid_block(ctx.fabric, aliases, p, block);
                let has_wanted = |wanted| has_aliases(block, data, &wanted);
                if status.is_ok() && desired.is_some_and(has_wanted) {
                    self.guid_blocks.remove(&key);
                    return;
                }
                if status.is_ok() {
                    WriteFailure::OtherValues
                } else {
                    WriteFailure::Rejected(*status)
                }
            }
        };
        let pending = self.guid_blocks.get(&key);
        if pending.is_none_or(|pending| pending.writes >= WRITES_MAX) {
            self.guid_blocks.remove(&key);
            if failure == WriteFailure::NoResponse {
                self.unresponsive_blocks.insert(key);
            }
            ctx.outbox.emit(Event::AliasGuidsRejected {
                port: ctx.fabric.port_name(p),
                block,
                failure,
            });
        }
    }
}

/// The block of GUIDs that a Set writes to a port.
pub(crate) fn alias_guid_block(
    fabric: &ObservedFabric,
    aliases: &AliasTables,
    p: PortRef,
    block: u8,
) -> Option<[u8; 64]> {
    let guids = aliases.block(fabric.port(p)?.guid, block);
    Some(GuidInfo { guids }.encode())
}

/// Whether a block of GUIDs has the wanted aliases. GUID 0 of a port, the first of block 0, is its
/// own (IBA vol. 1, 14.2.5.5).
fn has_aliases(block: u8, data: &[u8; 64], desired: &[u8; 64]) -> bool {
    let first = if block == 0 { 8 } else { 0 };
    data[first..] == desired[first..]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An agent reports the port's own GUID as the first of block 0. In other blocks the first GUID
    /// is an alias as well.
    #[test]
    fn first_guid_counts_except_in_block_0() {
        let desired = [0; 64];
        let first_differs: [u8; 64] = core::array::from_fn(|i| u8::from(i < 8));
        let second_differs: [u8; 64] = core::array::from_fn(|i| u8::from(i == 8));
        assert!(has_aliases(0, &first_differs, &desired));
        assert!(!has_aliases(1, &first_differs, &desired));
        for block in 0..2 {
            assert!(has_aliases(block, &desired, &desired));
            assert!(!has_aliases(block, &second_differs, &desired));
        }
    }
}
