//! Reads and writes P_Key tables, before links are armed (rules 1.21, 9.1 to 9.7).
//!
//! A table is read once, so that keys keep their places, and is known from then on: again only after the device restarted, the link
//! was down, or another subnet manager was in charge. Blocks that differ are written. Switch ports check packets only where their
//! table has room for all that the end port behind them has; that is decided here and told in PortInfo by
//! [`crate::plan::ports`].

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_mad::attr::{NodeType, PKeyBlock, id};
use ferrosm_mad::ids::{Lid, PKey, PortNum};
use ferrosm_mad::mad::Status;

use super::SubnetManager;
use crate::plan::partitions::members::{EndPortFacts, WantedKeys};
use crate::plan::partitions::partition_of;
use crate::plan::partitions::table::{place, to_let_pass};
use crate::report::{KeyRoom, ProblemKind};
use crate::sa::keys::Keys;
use crate::smp::op::SmpOp;
use crate::subnet::{Node, PortRef};
use crate::tables::pkeys::{PKeyTable, blocks};

/// Tables that are being written in this sweep.
pub(super) type KeyWrites = BTreeMap<PortRef, Vec<PKey>>;

impl SubnetManager {
    /// Ports that have P_Keys of their own, and switch ports in front of them: in a local sweep those that were read and their
    /// neighbours.
    fn keyed_ports(&self) -> (Vec<PortRef>, Vec<PortRef>) {
        let (mut ends, mut guards) = (Vec::new(), Vec::new());
        let mut sort = |p: PortRef| {
            if self.has_keys(p) {
                ends.push(p);
            } else if self.subnet.get(p.node).is_some_and(Node::is_switch)
                && p.port != PortNum::ZERO
            {
                guards.push(p);
            }
        };
        if self.sweep.local {
            let far = self
                .sweep
                .touched
                .iter()
                .filter_map(|p| self.subnet.peer(*p));
            let near: BTreeSet<PortRef> = self.sweep.touched.iter().copied().chain(far).collect();
            near.into_iter().for_each(&mut sort);
        } else {
            for (n, node) in self.subnet.nodes() {
                (0..=node.info.num_ports).for_each(|p| sort(PortRef::new(n, PortNum(p))));
            }
        }
        (ends, guards)
    }

    /// Whether it is an end port that can be told its keys.
    fn has_keys(&self, p: PortRef) -> bool {
        let (Some(node), Some(port)) = (self.subnet.get(p.node), self.subnet.port(p)) else {
            return false;
        };
        let usable = port.known && port.quarantine.is_none() && node.info.partition_cap > 0;
        usable
            && node.is_switch() == (p.port == PortNum::ZERO)
            && (node.is_switch() || port.is_up())
    }

    /// The end port behind a switch port that is to check packets.
    fn guarded(&self, p: PortRef) -> Option<PortRef> {
        let partitions = &self.cfg.partitions;
        let (inbound, outbound) = (
            partitions.enforcement().inbound(),
            partitions.enforcement().outbound(),
        );
        let can = self.subnet.get(p.node)?.switch_info()?;
        let able =
            (inbound && can.inbound_enforcement_cap) || (outbound && can.outbound_enforcement_cap);
        let far = self.subnet.peer(p).filter(|_| self.is_live(p))?;
        let is_end = self.subnet.get(far.node)?.info.node_type != NodeType::Switch;
        (able && is_end && can.partition_enforcement_cap > 0 && self.has_keys(far)).then_some(far)
    }

    /// Entries of a port's table.
    fn key_capacity(&self, p: PortRef) -> u16 {
        let Some(node) = self.subnet.get(p.node) else {
            return 0;
        };
        if node.is_switch() && p.port != PortNum::ZERO {
            node.switch_info()
                .map_or(0, |s| s.partition_enforcement_cap)
        } else {
            node.info.partition_cap
        }
    }

    /// Asks for what is not known of the tables that are to be compared. Of a port that nobody has addressed yet the first block
    /// tells enough while no partitions are configured: if it is as it woke, so are the others.
    pub(super) fn read_keys(&mut self) {
        let configured = self.cfg.partitions.is_configured();
        let (ends, guards) = self.keyed_ports();
        for p in ends {
            let fresh = !configured
                && self
                    .subnet
                    .port(p)
                    .is_some_and(|port| port.info().lid == Lid::NONE && port.keys.is_unknown());
            if configured && let Some(port) = self.subnet.port_mut(p) {
                port.keys.set_as_woken(false);
            }
            if fresh {
                self.enqueue(SmpOp::PKeyTable(p, 0));
            } else {
                self.read_unknown_keys(p);
            }
        }
        for p in guards {
            if self.guarded(p).is_some() {
                self.read_unknown_keys(p);
            }
        }
    }

    fn read_unknown_keys(&mut self, p: PortRef) {
        let capacity = self.key_capacity(p);
        let Some(port) = self.subnet.port(p) else {
            return;
        };
        let unknown: Vec<u16> = port.keys.unknown(capacity).collect();
        for block in unknown {
            self.enqueue(SmpOp::PKeyTable(p, block));
        }
    }

    pub(super) fn on_keys(&mut self, p: PortRef, block: u16, status: Status, data: &[u8; 64]) {
        if !status.is_ok() {
            let attr = id::PKEY_TABLE;
            self.keys_unknown(p, ProblemKind::NoAnswer { attr });
            return;
        }
        let configured = self.cfg.partitions.is_configured();
        let keys = PKeyBlock::decode(data).keys;
        let capacity = self.key_capacity(p);
        let Some(port) = self.subnet.port_mut(p) else {
            return;
        };
        let first_of_fresh =
            block == 0 && !configured && port.info().lid == Lid::NONE && port.keys.is_unknown();
        port.keys.put(block, keys);
        if first_of_fresh && blocks(capacity) > 1 {
            let empty = |key: &PKey| partition_of(*key) == 0;
            let woken = keys[0].0 & 0x7FFF == 0x7FFF && keys[1..].iter().all(empty);
            port.keys.set_as_woken(woken);
            if !woken {
                self.read_unknown_keys(p);
            }
        }
    }

    /// A table is not known: it is told, and tried again with the next look at the port.
    pub(super) fn keys_unknown(&mut self, p: PortRef, kind: ProblemKind) {
        self.unsure_ports.insert(p);
        self.problem(Some(p), kind);
    }

    /// The keys that an end port is to have.
    fn wanted_keys(&self, p: PortRef) -> WantedKeys {
        let node_type = self
            .subnet
            .get(p.node)
            .map_or(NodeType::Ca, |node| node.info.node_type);
        let guid = self
            .subnet
            .port(p)
            .map_or_else(Default::default, |port| port.guid);
        self.cfg.partitions.wanted(&EndPortFacts {
            guid,
            node_type,
            own: self.subnet.local() == Some(p),
        })
    }

    /// All entries of a port's P_Key table; `None` if some are not known.
    fn known_keys(&self, p: PortRef, capacity: u16) -> Option<Vec<PKey>> {
        self.subnet.port(p)?.keys.entries(capacity)
    }

    /// Asks for every block that is not as it should be, and decides which switch ports check packets.
    pub(super) fn write_keys(&mut self) {
        let (ends, guards) = self.keyed_ports();
        for p in ends {
            let capacity = self.key_capacity(p);
            let wanted = self.wanted_keys(p);
            let Some(now) = self.known_keys(p, capacity) else {
                self.read_late(p);
                continue;
            };
            let placed = place(&now, &wanted);
            if !placed.left_out.is_empty() {
                let count = placed.left_out.len();
                self.problem(Some(p), ProblemKind::KeysLeftOut { count, capacity });
            }
            self.note_room(p, placed.used(), capacity);
            self.write_key_blocks(p, &now, placed.table);
        }
        for p in guards {
            let guarded = self.guarded(p);
            let checks = guarded.is_some_and(|end| self.write_guard(p, end));
            if self
                .subnet
                .port(p)
                .is_some_and(|port| port.checks_keys != checks)
                && let Some(port) = self.subnet.port_mut(p)
            {
                port.checks_keys = checks;
            }
        }
    }

    /// A port that came, or was read again, since the tables were read: it is asked now, once.
    fn read_late(&mut self, p: PortRef) {
        if self.sweep.late_keys.insert(p) {
            self.sweep.keys_unread = true;
            self.read_unknown_keys(p);
        }
    }

    /// Writes what was read late; whether there is nothing to wait for.
    pub(super) fn keys_are_written(&mut self) -> bool {
        if core::mem::take(&mut self.sweep.keys_unread) {
            self.write_keys();
        }
        self.smps.is_idle()
    }

    /// Writes the table of a switch port in front of an end port; whether the port may check packets by it.
    fn write_guard(&mut self, p: PortRef, end: PortRef) -> bool {
        let capacity = self.key_capacity(p);
        let behind = match self.sweep.key_writes.get(&end) {
            Some(table) => table.clone(),
            None => self
                .subnet
                .port(end)
                .and_then(|port| port.keys.entries(self.key_capacity(end)))
                .unwrap_or_else(|| self.wanted_keys(end).keys),
        };
        let pass = to_let_pass(&behind);
        let needed = pass.keys.len();
        if needed > usize::from(capacity) {
            self.problem(Some(p), ProblemKind::NotEnforced { needed, capacity });
            return false;
        }
        let Some(now) = self.known_keys(p, capacity) else {
            self.read_late(p);
            return false;
        };
        let placed = place(&now, &pass);
        self.write_key_blocks(p, &now, placed.table);
        true
    }

    /// How full the fullest table is.
    fn note_room(&mut self, p: PortRef, used: usize, capacity: u16) {
        if !self.cfg.partitions.is_configured() {
            return;
        }
        let free = usize::from(capacity).saturating_sub(used);
        let least = self.sweep.report.key_room.as_ref().map(KeyRoom::free);
        if least.is_none_or(|least| free < least) {
            let place = self.subnet.describe(p);
            self.sweep.report.key_room = Some(KeyRoom {
                place,
                used,
                capacity,
            });
        }
    }

    fn write_key_blocks(&mut self, p: PortRef, now: &[PKey], table: Vec<PKey>) {
        if now == table {
            return;
        }
        let capacity = self.key_capacity(p);
        let differ: Vec<u16> = (0..blocks(capacity))
            .filter(|b| PKeyTable::cut(now, *b) != PKeyTable::cut(&table, *b))
            .collect();
        if let Some(port) = self.subnet.port_mut(p) {
            for block in 0..blocks(capacity) {
                // What was taken for empty is known to be so now, or is about to be written.
                port.keys.put(block, PKeyTable::cut(now, block));
            }
            for block in &differ {
                port.keys.forget_block(*block);
            }
        }
        self.sweep.key_writes.insert(p, table);
        for block in differ {
            self.enqueue(SmpOp::SetPKeyTable(p, block));
        }
    }

    /// The block that a Set carries.
    pub(super) fn wanted_key_block(&self, p: PortRef, block: u16) -> Option<[u8; 64]> {
        let table = self.sweep.key_writes.get(&p)?;
        let keys = PKeyTable::cut(table, block);
        Some(PKeyBlock { keys }.encode())
    }

    pub(super) fn on_keys_set(&mut self, p: PortRef, block: u16, status: Status, data: &[u8; 64]) {
        let taken = status.is_ok() && self.wanted_key_block(p, block) == Some(*data);
        if status.is_ok()
            && let Some(port) = self.subnet.port_mut(p)
        {
            port.keys.put(block, PKeyBlock::decode(data).keys);
        }
        if !taken {
            let attr = id::PKEY_TABLE;
            self.keys_not_taken(p, ProblemKind::Refused { attr, status });
        }
    }

    /// A block is not there. A switch port whose table is not as it should be checks nothing, because it would hold back what
    /// it should let pass.
    pub(super) fn keys_not_taken(&mut self, p: PortRef, kind: ProblemKind) {
        if let Some(port) = self.subnet.port_mut(p) {
            port.checks_keys = false;
        }
        self.keys_unknown(p, kind);
    }

    /// The keys that a port has, for whoever asks who may see whom: what is in its table, or what should be where that is not
    /// known, so that nobody sees more because a device is silent.
    pub(super) fn keys_of(&self, p: PortRef) -> Keys {
        let capacity = self.key_capacity(p);
        let known = self.known_keys(p, capacity);
        match known.filter(|keys| !keys.is_empty()) {
            Some(keys) => Keys::new(keys),
            None => Keys::new(self.wanted_keys(p).keys),
        }
    }
}
