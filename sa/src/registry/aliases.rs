//! Alias GUIDs that hosts set and delete, for GIDs of virtual functions (IBA 15.2.5.18;
//! docs/sm-behaviour.md 12.3, 12.4).
//!
//! The component mask selects the entries of a request. A GUID that is already in use is ignored:
//! the reply contains the resulting block, from which the client sees which entries were accepted.
//! GUID 0 in a Set makes the SA generate a GUID. It depends only on the port GUID and the index, so
//! every SM generates the same GUID without persisted state.

use std::collections::BTreeSet;
use std::sync::Arc;

use ferrosm_fabric::aliases::{AliasTables, BLOCK_LEN, EMPTY};
use ferrosm_fabric::snapshot::EndPortIdx;
use ferrosm_mad::ids::PortGuid;
use ferrosm_mad::sa::tables::GuidInfoRecord;

use super::multicast::MulticastGroups;
use super::registration::{RegisteredAlias, Registration, RegistrationKey, RegistrationUpdate};
use crate::message::SaRequest;
use crate::refusal::SaRefusal;
use crate::view::View;

/// LID and BlockNum, which identify the block.
const LID_AND_BLOCK: u64 = 0b11;

/// Prefix of a locally administered EUI-64 that is not a group address.
const LOCALLY_ADMINISTERED: u64 = 0x02 << 56;
/// [`BLOCK_LEN`] as a persisted index.
const PER_BLOCK: u16 = 8;
const _: () = assert!(PER_BLOCK as usize == BLOCK_LEN);

/// Highest index of the largest table: GUIDCap counts blocks in 8 bits.
const INDEX_MAX: u16 = 2047;
/// Attempts to generate an unused GUID.
const GENERATE_ATTEMPTS_MAX: u16 = 1000;

/// Blocks of GUIDInfo, by port and block number.
pub type AliasBlocks = BTreeSet<(PortGuid, u8)>;

/// All alias GUIDs, and changes to write and persist.
#[derive(Debug, Clone, Default)]
pub struct AliasRegistry {
    tables: Arc<AliasTables>,
    /// Blocks that differ from the devices' GUIDInfo.
    changed_blocks: AliasBlocks,
    /// Used blocks that devices may have lost.
    unverified_blocks: AliasBlocks,
    /// Entries that changed since the last [`Self::take_updates`], not yet persisted.
    unsaved: BTreeSet<(PortGuid, u16)>,
}

/// A validated request.
struct AliasRequest {
    record: GuidInfoRecord,
    port: PortGuid,
    /// Entries that the request selects and the port has.
    indices: Vec<usize>,
}

impl AliasRegistry {
    /// The alias tables, shared with views.
    #[must_use]
    pub const fn tables(&self) -> &Arc<AliasTables> {
        &self.tables
    }

    /// Set: assigns alias GUIDs to entries of a port's table. Returns the resulting block, and a
    /// GUID that is not assigned because another entry has it.
    ///
    /// # Errors
    /// The refusal.
    pub fn set(
        &mut self,
        view: &View,
        request: &SaRequest<'_>,
        groups: &mut MulticastGroups,
    ) -> Result<(GuidInfoRecord, Option<PortGuid>), SaRefusal> {
        let requested = decode_request(view, request)?;
        let mut taken = None;
        for &index in &requested.indices {
            let current = self.tables.get(requested.port, index);
            let requested_guid = match requested.record.guids[index % BLOCK_LEN] {
                EMPTY if current != EMPTY => current,
                EMPTY => self
                    .generate_guid(view, requested.port, index)
                    .ok_or_else(|| {
                        let max = usize::from(GENERATE_ATTEMPTS_MAX);
                        SaRefusal::Full("attempts to generate a GUID", max)
                    })?,
                guid => guid,
            };
            if requested_guid == current {
                continue;
            }
            if self.is_taken(view, requested_guid) {
                taken.get_or_insert(requested_guid);
                continue;
            }
            if current != EMPTY {
                groups.remove_port(current);
            }
            self.set_entry(requested.port, index, requested_guid);
        }
        Ok((self.reply(&requested), taken))
    }

    /// Delete: clears entries of a port's table, unless an alias is a member of a multicast group.
    ///
    /// # Errors
    /// The refusal.
    pub fn delete(
        &mut self,
        view: &View,
        request: &SaRequest<'_>,
        groups: &MulticastGroups,
    ) -> Result<GuidInfoRecord, SaRefusal> {
        let requested = decode_request(view, request)?;
        let current = |index: &usize| self.tables.get(requested.port, *index);
        let has_joined = |guid: &PortGuid| *guid != EMPTY && groups.is_member(*guid);
        if let Some(member) = requested.indices.iter().map(current).find(has_joined) {
            return Err(SaRefusal::AliasInGroup(member));
        }
        for &index in &requested.indices {
            if self.tables.get(requested.port, index) != EMPTY {
                self.set_entry(requested.port, index, EMPTY);
            }
        }
        Ok(self.reply(&requested))
    }

    /// All aliases as registrations, in order.
    pub(super) fn registrations(&self) -> Vec<RegisteredAlias> {
        let mut ports: Vec<PortGuid> = self.tables.ports().collect();
        ports.sort_unstable();
        ports
            .into_iter()
            .flat_map(|port| self.aliases_of(port))
            .collect()
    }

    fn aliases_of(&self, port: PortGuid) -> impl Iterator<Item = RegisteredAlias> {
        let indices = self.tables.used_blocks(port).flat_map(|block| {
            let first = u16::from(block) * PER_BLOCK;
            first..first + PER_BLOCK
        });
        let alias = move |index: u16| RegisteredAlias {
            port,
            index,
            alias: self.tables.get(port, usize::from(index)),
        };
        let aliases = indices.filter(|index| *index > 0).map(alias);
        aliases.filter(|registered| registered.alias != EMPTY)
    }

    pub(super) fn has_updates(&self) -> bool {
        !self.unsaved.is_empty()
    }

    /// Appends the changes since the last call.
    pub(super) fn take_updates(&mut self, updates: &mut Vec<RegistrationUpdate>) {
        for (port, index) in core::mem::take(&mut self.unsaved) {
            let alias = self.tables.get(port, usize::from(index));
            updates.push(if alias == EMPTY {
                RegistrationUpdate::Remove(RegistrationKey::Alias(port, index))
            } else {
                RegistrationUpdate::Put(Registration::Alias(RegisteredAlias { port, index, alias }))
            });
        }
    }

    /// Adds persisted aliases. The caller marks their blocks for rewriting when their ports have
    /// been discovered.
    pub(super) fn restore(&mut self, saved: &[RegisteredAlias]) {
        for s in saved {
            let valid = (1..=INDEX_MAX).contains(&s.index) && s.alias != EMPTY;
            if valid && self.tables.owner(s.alias).is_none() {
                self.set_entry(s.port, usize::from(s.index), s.alias);
            }
        }
        self.changed_blocks.clear();
    }

    /// Removes the aliases of a port that left the subnet, and returns them.
    pub fn remove_port(&mut self, port: PortGuid) -> Vec<PortGuid> {
        if self.tables.used_blocks(port).next().is_none() {
            return Vec::new();
        }
        for blocks in [&mut self.changed_blocks, &mut self.unverified_blocks] {
            blocks.retain(|(p, _)| *p != port);
        }
        let removed: Vec<_> = self
            .aliases_of(port)
            .map(|alias| (port, alias.index))
            .collect();
        self.unsaved.extend(removed);
        Arc::make_mut(&mut self.tables).remove_port(port)
    }

    /// The device of a port may have lost its table: all used blocks are to be compared with it.
    pub fn mark_blocks_unverified(&mut self, port: PortGuid) {
        let blocks = self.tables.used_blocks(port);
        self.unverified_blocks
            .extend(blocks.map(|block| (port, block)));
    }

    /// Takes the blocks to write to devices.
    pub fn take_changed_blocks(&mut self) -> AliasBlocks {
        core::mem::take(&mut self.changed_blocks)
    }

    /// Takes the blocks to read from devices, and to write if they differ.
    pub fn take_unverified_blocks(&mut self) -> AliasBlocks {
        core::mem::take(&mut self.unverified_blocks)
    }

    #[expect(
        clippy::expect_used,
        reason = "a table has at most 256 blocks, and a saturated index would name another entry"
    )]
    fn set_entry(&mut self, port: PortGuid, index: usize, alias: PortGuid) {
        Arc::make_mut(&mut self.tables).set_entry(port, index, alias);
        let block = u8::try_from(index / BLOCK_LEN).expect("a block of at most 8 bits");
        self.changed_blocks.insert((port, block));
        let index = u16::try_from(index).expect("an index of at most 16 bits");
        self.unsaved.insert((port, index));
    }

    fn reply(&self, requested: &AliasRequest) -> GuidInfoRecord {
        GuidInfoRecord {
            guids: self
                .tables
                .block(requested.port, requested.record.block_num),
            ..requested.record
        }
    }

    /// Whether a GUID is an alias or the GUID of a port. The view also resolves aliases, but may be
    /// older than the alias tables.
    fn is_taken(&self, view: &View, guid: PortGuid) -> bool {
        let is_port_guid = |at: EndPortIdx| view.end_port(at).guid == guid;
        self.tables.owner(guid).is_some() || view.by_guid(guid).is_some_and(is_port_guid)
    }

    fn generate_guid(&self, view: &View, port: PortGuid, index: usize) -> Option<PortGuid> {
        let index = u64::try_from(index).unwrap_or(0);
        let candidates = (0..u64::from(GENERATE_ATTEMPTS_MAX)).map(|attempt| {
            let seed = port.0 ^ index.rotate_left(48) ^ attempt.rotate_left(32);
            PortGuid(LOCALLY_ADMINISTERED | mix(seed) >> 8)
        });
        candidates.into_iter().find(|g| !self.is_taken(view, *g))
    }
}

fn decode_request(view: &View, request: &SaRequest<'_>) -> Result<AliasRequest, SaRefusal> {
    if !request.has(LID_AND_BLOCK) {
        return Err(SaRefusal::MissingComponents("LID or BlockNum"));
    }
    let record = GuidInfoRecord::decode(request.data);
    let client = view.requester(&request.from)?;
    let at = view
        .by_lid(record.lid)
        .filter(|at| view.share_partition(client, *at))
        .ok_or(SaRefusal::UnknownLid(record.lid))?;
    if at != client && !request.is_trusted() {
        return Err(SaRefusal::OtherTable(record.lid));
    }
    let first = usize::from(record.block_num) * BLOCK_LEN;
    let entries = view.guid_entries(at);
    let blocks = view.guid_blocks(at);
    if record.block_num >= blocks {
        let block = record.block_num;
        return Err(SaRefusal::NoSuchBlock { block, blocks });
    }
    let is_selected = |i: &usize| request.has(1 << (usize::from(GuidInfoRecord::FIRST_GUID) + i));
    let indices: Vec<usize> = (0..BLOCK_LEN)
        .filter(is_selected)
        .map(|i| first + i)
        .collect();
    if indices.contains(&0) {
        return Err(SaRefusal::InvalidField("GUID 0, which is the port's own"));
    }
    Ok(AliasRequest {
        record,
        port: view.end_port(at).guid,
        indices: indices.into_iter().filter(|i| *i < entries).collect(),
    })
}

/// Bijective mixing function on 64 bits (final step of SplitMix64).
const fn mix(mut x: u64) -> u64 {
    x ^= x >> 30;
    x = x.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x ^= x >> 27;
    x = x.wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}
