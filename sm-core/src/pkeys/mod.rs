//! P_Key tables: read before anything is written, written before links are armed (IBA vol. 1,
//! 14.2.5.7).
//!
//! A table is read once, so that existing keys keep their indices, and again only after the device
//! restarted, its link was down, or another SM was master. Only blocks that differ are written. A
//! switch port checks packets only if its own table has room for all keys of the end port behind
//! it; that is decided here and written with PortInfo by [`crate::ports::port_settings`].

pub(crate) mod absent_members;
pub mod pkey_table;

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_fabric::location::Location;
use ferrosm_fabric::observed::{DeviceTable, Node, ObservedFabric, PortRef};
use ferrosm_fabric::pkey_set::PKeySet;
use ferrosm_fabric::tables::pkeys::{PKeyTable, num_blocks};
use ferrosm_mad::attr::{NodeType, PKEY_BLOCK_LEN, PKeyBlock, PortInfo, id};
use ferrosm_mad::ids::{Lid, PKey, PortGuid, PortNum};

use crate::config::SmConfig;
use crate::config::partitions::members::{EndPortFacts, WantedPKeys};
use crate::config::partitions::{MemberSelector, Partition, partition_of};
use crate::ctx::Ctx;
use crate::pkeys::pkey_table::{assign_pkey_indices, enforcement_pkeys};
use crate::ports::port_settings;
use crate::report::partition_change::{OverfullTable, PartitionProgress};
use crate::report::{PKeyTableUsage, ProblemKind};
use crate::schedule::scope::SweepScope;
use crate::smp::op::SmpOp;
use crate::smp::outcome::SmpOutcome;

/// The bit of a P_Key that tells full members (IBA vol. 1, 10.9.1.2).
const FULL: u16 = 0x8000;

/// The P_Key tables that a sweep writes.
#[derive(Debug, Default)]
pub(crate) struct PKeyUpdate {
    /// Tables that are being written.
    writes: BTreeMap<PortRef, Vec<PKey>>,
    /// Ports whose table was unknown when it was to be written, and is read then, once.
    read_late: BTreeSet<PortRef>,
    /// Reads of `read_late` have been enqueued since the last write pass.
    late_reads_pending: bool,
    /// The table with the fewest free entries.
    fullest: Option<PKeyTableUsage>,
}

/// Whether an end port's P_Key table can be read and written.
pub(crate) fn has_pkey_table(fabric: &ObservedFabric, p: PortRef) -> bool {
    let (Some(node), Some(port)) = (fabric.get(p.node), fabric.port(p)) else {
        return false;
    };
    let usable = port.known && port.exclusion.is_none() && node.info.partition_cap > 0;
    usable && node.is_switch() == (p.port == PortNum::ZERO) && (node.is_switch() || port.is_up())
}

/// End ports with a P_Key table, and external switch ports, in the scope of a sweep.
fn ports_in(fabric: &ObservedFabric, scope: &SweepScope) -> (Vec<PortRef>, Vec<PortRef>) {
    let (mut end_ports, mut switch_ports) = (Vec::new(), Vec::new());
    for p in scope.ports(fabric) {
        if has_pkey_table(fabric, p) {
            end_ports.push(p);
        } else if fabric.get(p.node).is_some_and(Node::is_switch) && p.port != PortNum::ZERO {
            switch_ports.push(p);
        }
    }
    (end_ports, switch_ports)
}

/// The end port behind a switch port that is to check packets.
fn enforced_end_port(fabric: &ObservedFabric, cfg: &SmConfig, p: PortRef) -> Option<PortRef> {
    let enforcement = cfg.partitions.enforcement();
    if !enforcement.inbound() && !enforcement.outbound() {
        return None;
    }
    let switch = fabric.get(p.node)?.switch_info()?;
    let able = (enforcement.inbound() && switch.inbound_enforcement_cap)
        || (enforcement.outbound() && switch.outbound_enforcement_cap);
    let peer_port = fabric
        .peer(p)
        .filter(|_| port_settings::can_carry_traffic(fabric, p))?;
    let is_end_port = fabric.get(peer_port.node)?.info.node_type != NodeType::Switch;
    let has_room = switch.partition_enforcement_cap > 0;
    (able && is_end_port && has_room && has_pkey_table(fabric, peer_port)).then_some(peer_port)
}

/// Entries of a port's P_Key table.
fn table_len(fabric: &ObservedFabric, p: PortRef) -> u16 {
    let Some(node) = fabric.get(p.node) else {
        return 0;
    };
    if node.is_switch() && p.port != PortNum::ZERO {
        node.switch_info()
            .map_or(0, |s| s.partition_enforcement_cap)
    } else {
        node.info.partition_cap
    }
}

/// The keys that an end port should have.
fn wanted_keys(fabric: &ObservedFabric, cfg: &SmConfig, p: PortRef) -> WantedPKeys {
    let node = fabric.get(p.node);
    let port = fabric.port(p);
    cfg.partitions.wanted_p_keys(&EndPortFacts {
        guid: port.map_or_else(Default::default, |port| port.guid),
        node_type: node.map_or(NodeType::Ca, |node| node.info.node_type),
        is_sm_port: fabric.local() == Some(p),
    })
}

/// Number of end ports that have full membership in a partition with one configuration, and not
/// with the next.
pub(crate) fn count_lost_full_memberships(
    fabric: &ObservedFabric,
    before: &SmConfig,
    after: &SmConfig,
) -> usize {
    let loses = |p: PortRef| {
        let kept = wanted_keys(fabric, after, p).keys;
        let keys = wanted_keys(fabric, before, p).keys;
        keys.iter()
            .any(|key| key.raw() & FULL != 0 && !kept.contains(key))
    };
    let ports = fabric.nodes().flat_map(|(n, node)| {
        let numbers = node.physical_ports();
        numbers.map(move |number| PortRef::new(n, number))
    });
    ports
        .filter(|p| has_pkey_table(fabric, *p) && loses(*p))
        .count()
}

/// End ports whose wanted P_Keys differ between two configurations.
pub(crate) fn changed_ports(
    fabric: &ObservedFabric,
    before: &SmConfig,
    after: &SmConfig,
) -> Vec<PortRef> {
    let differ = |p: &PortRef| {
        let [was, is] = [before, after].map(|cfg| wanted_keys(fabric, cfg, *p));
        (was.keys, was.force_first) != (is.keys, is.force_first)
    };
    fabric.end_ports().filter(differ).collect()
}

/// The first of these ports whose table, or that of the switch port in front of it, has no room for
/// its P_Keys.
pub(crate) fn first_overfull(
    fabric: &ObservedFabric,
    cfg: &SmConfig,
    ports: &[PortRef],
) -> Option<OverfullTable> {
    ports.iter().find_map(|p| {
        let required = wanted_keys(fabric, cfg, *p);
        let in_front = fabric
            .peer(*p)
            .filter(|peer| enforced_end_port(fabric, cfg, *peer).is_some());
        let enforced = enforcement_pkeys(&required.keys).keys.len();
        let tables = [
            Some((*p, required.keys.len())),
            in_front.map(|peer| (peer, enforced)),
        ];
        let is_overfull =
            |(p, needed): &(PortRef, usize)| *needed > usize::from(table_len(fabric, *p));
        let found = tables.into_iter().flatten().find(is_overfull);
        let (at, needed) = found.filter(|_| has_pkey_table(fabric, *p))?;
        Some(OverfullTable {
            port: fabric.port_name(at),
            needed,
            capacity: table_len(fabric, at),
        })
    })
}

/// How many ports have the P_Key of a partition.
pub(crate) fn progress(
    fabric: &ObservedFabric,
    cfg: &SmConfig,
    partition: &Partition,
) -> PartitionProgress {
    let is_of = |key: &PKey| partition_of(*key) == partition.number;
    let mut progress = PartitionProgress::default();
    for p in fabric.end_ports().filter(|p| has_pkey_table(fabric, *p)) {
        let of_port = wanted_keys(fabric, cfg, p).keys;
        let required: Vec<PKey> = of_port.into_iter().filter(is_of).collect();
        if required.is_empty() {
            continue;
        }
        progress.members += 1;
        let has_all = |p| {
            let keys = known_keys(fabric, p).unwrap_or_default();
            required.iter().all(|key| keys.contains(key))
        };
        let in_front = fabric.peer(p);
        let checks = in_front.filter(|peer| enforced_end_port(fabric, cfg, *peer).is_some());
        let is_enforced = checks.is_none_or(|peer| {
            fabric.port(peer).is_some_and(|port| port.enforces_p_keys)
                && known_keys(fabric, peer).is_some_and(|keys| keys.iter().any(is_of))
        });
        if has_all(p) && is_enforced {
            progress.applied += 1;
        }
    }
    let named: BTreeSet<PortGuid> = partition
        .members
        .iter()
        .filter_map(|(selector, _)| match selector {
            MemberSelector::Port(guid) => Some(*guid),
            MemberSelector::All
            | MemberSelector::AllCas
            | MemberSelector::AllSwitches
            | MemberSelector::AllRouters
            | MemberSelector::SmPort
            // Most GUIDs of a range do not exist.
            | MemberSelector::PortRange(_) => None,
        })
        .collect();
    let is_absent = |guid: &&PortGuid| fabric.port_by_guid(**guid).is_none();
    progress.absent = named.iter().filter(is_absent).count();
    progress
}

/// Number of end ports that have a P_Key of a partition.
pub(crate) fn count_members(fabric: &ObservedFabric, number: u16) -> usize {
    let is_member = |p: &PortRef| {
        let keys = known_keys(fabric, *p).unwrap_or_default();
        keys.iter().any(|key| partition_of(*key) == number)
    };
    fabric.end_ports().filter(is_member).count()
}

/// The P_Keys in the table of an end port that this configuration would remove, and does not name.
pub(crate) fn foreign_keys(fabric: &ObservedFabric, cfg: &SmConfig, p: PortRef) -> Vec<PKey> {
    let current = known_keys(fabric, p).unwrap_or_default();
    let required = wanted_keys(fabric, cfg, p).keys;
    let is_foreign = |key: &PKey| {
        partition_of(*key) != 0 && !required.contains(key) && !cfg.partitions.names(*key)
    };
    current.into_iter().filter(is_foreign).collect()
}

/// All entries of a port's P_Key table; `None` if some are unknown.
fn known_keys(fabric: &ObservedFabric, p: PortRef) -> Option<Vec<PKey>> {
    fabric.port(p)?.pkeys.entries(table_len(fabric, p))
}

/// Whether all entries of a port's P_Key table are known.
pub(crate) fn is_table_known(fabric: &ObservedFabric, p: PortRef) -> bool {
    known_keys(fabric, p).is_some()
}

/// The keys of a port for SA access checks: its table, or the wanted keys if the table is unknown,
/// so that an unresponsive device grants no additional access.
pub(crate) fn effective_keys(fabric: &ObservedFabric, cfg: &SmConfig, p: PortRef) -> PKeySet {
    match known_keys(fabric, p).filter(|keys| !keys.is_empty()) {
        Some(keys) => PKeySet::new(keys),
        None => PKeySet::new(wanted_keys(fabric, cfg, p).keys),
    }
}

impl PKeyUpdate {
    /// Writes every block that differs, and decides which switch ports check packets. Tables that
    /// wait for consent stay as they are.
    pub(crate) fn write(
        &mut self,
        ctx: &mut Ctx<'_>,
        scope: &SweepScope,
        consent: &mut impl FnMut(&ObservedFabric, PortRef) -> bool,
    ) {
        let (end_ports, switch_ports) = ports_in(ctx.fabric, scope);
        for p in end_ports {
            let required = wanted_keys(ctx.fabric, ctx.cfg, p);
            let Some(current) = known_keys(ctx.fabric, p) else {
                self.read_before_write(ctx, p);
                continue;
            };
            if !consent(ctx.fabric, p) {
                continue;
            }
            let plan = assign_pkey_indices(&current, &required);
            let capacity = table_len(ctx.fabric, p);
            if !plan.omitted.is_empty() {
                let count = plan.omitted.len();
                ctx.effects
                    .problem(p, ProblemKind::PKeyTableFull { count, capacity });
            }
            self.update_fullest(ctx, p, plan.used());
            self.write_blocks(ctx, p, &current, plan.table);
        }
        for p in switch_ports {
            let behind = ctx
                .fabric
                .peer(p)
                .filter(|far| has_pkey_table(ctx.fabric, *far));
            let is_kept = behind.is_some_and(|far| !consent(ctx.fabric, far));
            keep_enforcement(ctx.fabric, p, is_kept);
            if is_kept {
                continue;
            }
            let end_port = enforced_end_port(ctx.fabric, ctx.cfg, p);
            let checks =
                end_port.is_some_and(|end_port_ref| self.write_enforcement(ctx, p, end_port_ref));
            if ctx
                .fabric
                .port(p)
                .is_some_and(|port| port.enforces_p_keys != checks)
                && let Some(port) = ctx.fabric.port_mut(p)
            {
                port.enforces_p_keys = checks;
            }
        }
    }

    /// Reads the table of a port that has been discovered or reset since [`read`], once a sweep.
    fn read_before_write(&mut self, ctx: &mut Ctx<'_>, p: PortRef) {
        if self.read_late.insert(p) {
            self.late_reads_pending = true;
            read_unknown_blocks(ctx, p);
        }
    }

    /// Writes the tables that were read late. Call it when the request queue is idle.
    pub(crate) fn write_late(
        &mut self,
        ctx: &mut Ctx<'_>,
        scope: &SweepScope,
        consent: &mut impl FnMut(&ObservedFabric, PortRef) -> bool,
    ) {
        if core::mem::take(&mut self.late_reads_pending) {
            self.write(ctx, scope, consent);
        }
    }

    /// Writes the table of a switch port in front of an end port. Returns whether the port may
    /// check packets.
    fn write_enforcement(&mut self, ctx: &mut Ctx<'_>, p: PortRef, end_port: PortRef) -> bool {
        let capacity = table_len(ctx.fabric, p);
        let behind = match self.writes.get(&end_port) {
            Some(table) => table.clone(),
            None => known_keys(ctx.fabric, end_port)
                .unwrap_or_else(|| wanted_keys(ctx.fabric, ctx.cfg, end_port).keys),
        };
        let accepted = enforcement_pkeys(&behind);
        let needed = accepted.keys.len();
        if needed > usize::from(capacity) {
            ctx.effects
                .problem(p, ProblemKind::PKeysNotEnforced { needed, capacity });
            return false;
        }
        let Some(current) = known_keys(ctx.fabric, p) else {
            self.read_before_write(ctx, p);
            return false;
        };
        let plan = assign_pkey_indices(&current, &accepted);
        self.write_blocks(ctx, p, &current, plan.table)
    }

    fn update_fullest(&mut self, ctx: &Ctx<'_>, p: PortRef, used: usize) {
        if !ctx.cfg.partitions.is_configured() {
            return;
        }
        let capacity = table_len(ctx.fabric, p);
        let free = usize::from(capacity).saturating_sub(used);
        let least_free = self.fullest.as_ref().map(PKeyTableUsage::free);
        if least_free.is_none_or(|least_free| free < least_free) {
            let location = Location::Port(ctx.fabric.port_name(p));
            self.fullest = Some(PKeyTableUsage {
                location,
                used,
                capacity,
            });
        }
    }

    /// The table with the fewest free entries in this sweep; `None` without configured partitions.
    pub(crate) const fn take_fullest(&mut self) -> Option<PKeyTableUsage> {
        self.fullest.take()
    }

    /// Writes the blocks that differ. Returns whether the table is in place or being written: a
    /// device may keep the one that it has.
    fn write_blocks(
        &mut self,
        ctx: &mut Ctx<'_>,
        p: PortRef,
        current: &[PKey],
        table: Vec<PKey>,
    ) -> bool {
        if current == table {
            return true;
        }
        if !ctx.may_write(p.node, DeviceTable::PKeys(p.port)) {
            return false;
        }
        let count = num_blocks(table_len(ctx.fabric, p));
        let differ: Vec<u16> = (0..count)
            .filter(|b| PKeyTable::block_of(current, *b) != PKeyTable::block_of(&table, *b))
            .collect();
        if let Some(port) = ctx.fabric.port_mut(p) {
            for block in 0..count {
                // Blocks that were assumed to be empty are known from now on, or are about to be
                // written.
                port.pkeys
                    .set_block(block, PKeyTable::block_of(current, block));
            }
            for block in &differ {
                port.pkeys.invalidate_block(*block);
            }
        }
        self.writes.insert(p, table);
        for block in differ {
            ctx.smps.enqueue(SmpOp::SetPKeyTable(p, block));
        }
        true
    }

    /// The data of a Set.
    pub(crate) fn payload(&self, p: PortRef, block: u16) -> Option<[u8; 64]> {
        let table = self.writes.get(&p)?;
        let keys = PKeyTable::block_of(table, block);
        Some(PKeyBlock { keys }.encode())
    }

    /// The write of a block succeeded or failed.
    pub(crate) fn on_block_written(
        &self,
        ctx: &mut Ctx<'_>,
        p: PortRef,
        block: u16,
        outcome: &SmpOutcome,
    ) {
        let room = usize::from(table_len(ctx.fabric, p))
            .saturating_sub(usize::from(block) * PKEY_BLOCK_LEN);
        let table = DeviceTable::PKeys(p.port);
        let sent = self.payload(p, block);
        let echo = outcome.check_set(id::PKEY_TABLE, sent, |data| normalize_pkeys(data, room));
        let contents = if echo.is_ok() {
            sent.as_ref()
        } else {
            outcome.data()
        };
        if let Some((data, port)) = contents.zip(ctx.fabric.port_mut(p)) {
            port.pkeys.set_block(block, PKeyBlock::decode(data).keys);
        }
        share_equal_table(ctx.fabric, p);
        match echo {
            Ok(echo) => {
                let _ = ctx.record_acceptance(p.node, table);
                ctx.effects.set_echoed(p, id::PKEY_TABLE, echo);
            }
            Err(kind) => {
                // A switch port with an incomplete table must not check packets: it would drop
                // valid ones.
                if let Some(port) = ctx.fabric.port_mut(p) {
                    port.enforces_p_keys = false;
                }
                ctx.record_port_rejection(p, table, outcome, kind);
            }
        }
    }
}

/// Whether a switch port checks packets as before, because the table behind it waits for consent.
fn keep_enforcement(fabric: &mut ObservedFabric, p: PortRef, is_kept: bool) {
    let before = fabric.port(p).is_some_and(|port| port.keeps_enforcement);
    if !is_kept && !before {
        return;
    }
    if let Some(port) = fabric.port_mut(p) {
        port.keeps_enforcement = is_kept;
        let info = port.info();
        port.enforces_p_keys =
            info.partition_enforcement_inbound || info.partition_enforcement_outbound;
    }
}

/// Clears the entries of a block that have no effect: invalid keys (base 0), and those beyond the
/// `room` that the table has for the block.
fn normalize_pkeys(data: &mut [u8; 64], room: usize) {
    for (i, entry) in data.chunks_exact_mut(2).enumerate() {
        if i >= room || (entry[0] & 0x7F, entry[1]) == (0, 0) {
            entry.fill(0);
        }
    }
}

/// Reads the unknown blocks of tables that will be compared. Without configured partitions the
/// first block is enough for a port without a LID: if it has the power-up content, the other blocks
/// are empty.
pub(crate) fn read(ctx: &mut Ctx<'_>, scope: &SweepScope) {
    let configured = ctx.cfg.partitions.is_configured();
    let (end_ports, switch_ports) = ports_in(ctx.fabric, scope);
    for p in end_ports {
        let is_new = !configured
            && ctx.fabric.port(p).is_some_and(|port| {
                PortInfo::lid.read(&port.raw) == Lid::NONE && port.pkeys.is_unknown()
            });
        if configured && let Some(port) = ctx.fabric.port_mut(p) {
            port.pkeys.set_unread_empty(false);
        }
        if is_new {
            ctx.smps.enqueue(SmpOp::PKeyTable(p, 0));
        } else {
            read_unknown_blocks(ctx, p);
        }
    }
    for p in switch_ports {
        if enforced_end_port(ctx.fabric, ctx.cfg, p).is_some() {
            read_unknown_blocks(ctx, p);
        }
    }
}

/// The read of a block succeeded or failed.
pub(crate) fn on_block_read(ctx: &mut Ctx<'_>, p: PortRef, block: u16, outcome: &SmpOutcome) {
    let Some(data) = outcome.data() else {
        let attr = id::PKEY_TABLE;
        ctx.effects
            .port_problem(p, ProblemKind::NoResponse { attr });
        return;
    };
    let configured = ctx.cfg.partitions.is_configured();
    let keys = PKeyBlock::decode(data).keys;
    let len = table_len(ctx.fabric, p);
    let Some(port) = ctx.fabric.port_mut(p) else {
        return;
    };
    let first_of_fresh = block == 0
        && !configured
        && PortInfo::lid.read(&port.raw) == Lid::NONE
        && port.pkeys.is_unknown();
    port.pkeys.set_block(block, keys);
    if first_of_fresh && num_blocks(len) > 1 {
        let empty = |key: &PKey| partition_of(*key) == 0;
        let at_power_up = keys[0].0 & 0x7FFF == 0x7FFF && keys[1..].iter().all(empty);
        port.pkeys.set_unread_empty(at_power_up);
        if !at_power_up {
            read_unknown_blocks(ctx, p);
        }
    }
    share_equal_table(ctx.fabric, p);
}

/// Shares the memory of a port's table with the port before it, or with the same port of the node
/// before it: most have equal tables.
fn share_equal_table(fabric: &mut ObservedFabric, p: PortRef) {
    let before = |i: usize| u32::try_from(i).ok()?.checked_sub(1);
    let port = before(p.port.index()).and_then(|num| u8::try_from(num).ok());
    let node = before(p.node.index()).and_then(|index| fabric.node_at_index(index));
    let candidates = [
        port.map(|num| PortRef::new(p.node, PortNum(num))),
        node.map(|n| PortRef::new(n, p.port)),
    ];
    for candidate in candidates.into_iter().flatten() {
        let other = fabric.port(candidate).map(|port| port.pkeys.clone());
        if let Some((other, port)) = other.zip(fabric.port_mut(p)) {
            port.pkeys.share_with(&other);
        }
    }
}

/// Reads the unknown blocks of the table of a port.
pub(crate) fn read_unknown_blocks(ctx: &mut Ctx<'_>, p: PortRef) {
    let len = table_len(ctx.fabric, p);
    let Some(port) = ctx.fabric.port(p) else {
        return;
    };
    for block in port.pkeys.unknown_blocks(len) {
        ctx.smps.enqueue(SmpOp::PKeyTable(p, block));
    }
}
