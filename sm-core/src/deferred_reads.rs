//! SMPs on behalf of SA clients: reads of SLtoVL and VLArb tables that a query needs, and writes of
//! registered alias GUIDs (GUIDInfo).
//!
//! A block of alias GUIDs is written when a registration changed it. After a reset of its device, a
//! start or a takeover it is read first and written only if it differs: hosts take each write as a
//! GID change and flush their paths.
//!
//! They are sent in rounds between sweeps, so that a sweep or an MFT update waits at most one round
//! for what one client requests. A query whose tables are unknown is deferred until they are read.
//! A client that repeats it meanwhile waits for the same reply.
//!
//! The tables that were read belong to the observed fabric; alias GUIDs belong to the registry
//! ([`crate::sa::registry`]).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use ferrosm_mad::attr::GuidInfo;
use ferrosm_mad::gmp::Peer;
use ferrosm_mad::ids::{NodeGuid, PortGuid, PortNum};

use crate::ctx::Ctx;
use crate::event::{Event, Observation, WriteFailure};
use crate::outbox::Outbox;
use crate::sa::aliases::AliasTables;
use crate::sa::records::vl_tables::{self, UnknownTables};
use crate::sa::registry::aliases::AliasBlocks;
use crate::sa::request_kind::RequestKind;
use crate::sa::vl_tables::VlTableId;
use crate::sa::{SaRequest, View};
use crate::sa_owner::send_reply;
use crate::smp::op::SmpOp;
use crate::smp::outcome::SmpOutcome;
use crate::subnet::{PortRef, Subnet};
use crate::tables::sl_to_vl::SlToVlSelector;

/// SMPs in one round.
const ROUND_MAX: usize = 16_384;
/// Deferred queries; further ones are dropped for the client to retry.
const WAITING_MAX: usize = 256;
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

/// Queries that wait for tables, and alias GUIDs to write.
#[derive(Debug, Default)]
pub(crate) struct DeferredReads {
    /// Deferred queries, in order of arrival.
    waiting: VecDeque<(Peer, Vec<u8>)>,
    /// Tables whose reads were unanswered while a query waited.
    unanswered: BTreeSet<(NodeGuid, VlTableId)>,
    /// Blocks of alias GUIDs that devices may not have.
    guid_blocks: BTreeMap<(PortGuid, u8), PendingBlock>,
    /// Blocks whose devices did not respond, until the next sweep.
    unresponsive_blocks: AliasBlocks,
}

impl DeferredReads {
    /// Drops all queries and writes: this SM no longer answers clients.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Defers a query until the tables that its reply needs are known, or replies if they are.
    /// Returns the kind of a query that is dropped because too many wait.
    pub(crate) fn defer(
        &mut self,
        outbox: &mut Outbox,
        view: &View,
        from: Peer,
        bytes: &[u8],
    ) -> Option<RequestKind> {
        let request = SaRequest::parse(from, bytes)?;
        if let Some(reply) = vl_tables::answer(view, &request, UnknownTables::ReadFirst) {
            send_reply(outbox, &request, &reply);
            return None;
        }
        let is_repeated = |(peer, query): &(Peer, Vec<u8>)| *peer == from && **query == *bytes;
        if self.waiting.iter().any(is_repeated) {
            return None;
        }
        if self.waiting.len() >= WAITING_MAX {
            return Some(RequestKind::of(&request));
        }
        self.waiting.push_back((from, bytes.to_vec()));
        None
    }

    /// A sweep is complete: devices that did not respond may be back.
    pub(crate) fn retry_alias_guids(&mut self) {
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

    /// Enqueues the SMPs of a round, and replies to queries that need no further table. Returns
    /// whether there are any SMPs. Since the last round, registrations changed the blocks of alias
    /// GUIDs in `changed`; devices may have lost those in `unverified`.
    pub(crate) fn start_round(
        &mut self,
        ctx: &mut Ctx<'_>,
        view: &View,
        changed: AliasBlocks,
        unverified: AliasBlocks,
    ) -> bool {
        let changed = changed.into_iter();
        self.guid_blocks
            .extend(changed.map(|block| (block, PendingBlock::default())));
        self.read_and_write(unverified);
        let mut ops: Vec<SmpOp> = Vec::new();
        let fabric = &*ctx.fabric;
        self.guid_blocks.retain(|(port, block), pending| {
            let Some(at) = fabric.port_by_guid(*port) else {
                return false;
            };
            if ops.len() >= ROUND_MAX {
                return true;
            }
            if pending.read_first {
                ops.push(SmpOp::GuidInfo(at, *block));
            } else {
                pending.writes += 1;
                ops.push(SmpOp::SetGuidInfo(at, *block));
            }
            true
        });
        let room = ROUND_MAX.saturating_sub(ops.len());
        let tables = self.needed_tables(ctx, view, room);
        ops.extend(
            tables
                .into_iter()
                .filter_map(|table| read_op(ctx.fabric, table)),
        );
        for op in &ops {
            ctx.smps.enqueue(*op);
        }
        !ops.is_empty()
    }

    /// At most `room` tables that deferred queries need, in order of the queries' arrival. Queries
    /// that need no further table are replied to.
    fn needed_tables(
        &mut self,
        ctx: &mut Ctx<'_>,
        view: &View,
        room: usize,
    ) -> BTreeSet<(NodeGuid, VlTableId)> {
        let mut needed = BTreeSet::new();
        for (from, bytes) in core::mem::take(&mut self.waiting) {
            let Some(request) = SaRequest::parse(from, &bytes) else {
                continue;
            };
            let max = (room - needed.len()) + self.unanswered.len() + 1;
            let mut missing = vl_tables::missing(view, &request, max);
            missing.retain(|table| {
                !self.unanswered.contains(table) && read_op(ctx.fabric, *table).is_some()
            });
            if missing.is_empty() {
                if let Some(reply) = vl_tables::answer(view, &request, UnknownTables::Omit) {
                    send_reply(ctx.outbox, &request, &reply);
                }
                continue;
            }
            needed.extend(missing.into_iter().take(room - needed.len()));
            self.waiting.push_back((from, bytes));
        }
        if self.waiting.is_empty() {
            self.unanswered.clear();
        }
        needed
    }

    /// Whether queries wait for tables.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// A table was read. A device that rejects the read has no such table: an empty one is stored,
    /// and it is not read again. Queries do not wait for a table whose read is unanswered.
    pub(crate) fn on_table_read(&mut self, fabric: &mut Subnet, op: SmpOp, outcome: &SmpOutcome) {
        let Some((at, table)) = table_of(op) else {
            return;
        };
        let Some(node) = fabric.get_mut(at.node) else {
            return;
        };
        if matches!(outcome, SmpOutcome::Unanswered) {
            self.unanswered.insert((node.info.node_guid, table));
        } else {
            let data = outcome.data().unwrap_or(&[0; 64]);
            let read = node.observed_vl_tables.get_or_insert_default();
            Arc::make_mut(read).insert(table, data);
        }
    }

    /// A block of alias GUIDs was read. Unless it has the wanted aliases, the next round writes it.
    pub(crate) fn on_guid_info_read(
        &mut self,
        fabric: &Subnet,
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
    pub(crate) fn on_guid_info_set(
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
            ctx.outbox
                .emit(Event::Observation(Observation::AliasGuidsRejected {
                    port: ctx.fabric.port_name(p),
                    block,
                    failure,
                }));
        }
    }
}

/// The block of GUIDs that a Set writes to a port.
pub(crate) fn alias_guid_block(
    fabric: &Subnet,
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

/// The read of a table; `None` if the node is no longer in the fabric.
fn read_op(fabric: &Subnet, (node, table): (NodeGuid, VlTableId)) -> Option<SmpOp> {
    let n = fabric.node_by_guid(node)?;
    let is_switch = fabric.get(n)?.is_switch();
    Some(match table {
        VlTableId::SlToVl(input, output) if is_switch => SmpOp::SlToVl(
            PortRef::new(n, PortNum::ZERO),
            SlToVlSelector::Pair(input, output),
        ),
        VlTableId::SlToVl(_, port) => {
            SmpOp::SlToVl(PortRef::new(n, port), SlToVlSelector::EndPort(port))
        }
        VlTableId::VlArbitration(port, block) => SmpOp::VlArbitration(PortRef::new(n, port), block),
    })
}

/// The port and the table that an op reads.
fn table_of(op: SmpOp) -> Option<(PortRef, VlTableId)> {
    if let SmpOp::SlToVl(p, at) = op {
        let (input, output) = at.ports();
        return Some((p, VlTableId::SlToVl(input, output)));
    }
    if let SmpOp::VlArbitration(p, block) = op {
        return Some((p, VlTableId::VlArbitration(p.port, block)));
    }
    None
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
