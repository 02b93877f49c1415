//! What clients of subnet administration make the subnet manager ask devices: tables of lanes that nobody has read yet,
//! and alias GUIDs that devices are to be told.
//!
//! All of it waits for a moment between sweeps, and is asked in rounds: so neither a sweep nor a tree of a group waits
//! longer than one round for what one client wants to know. A request whose tables are not known is kept, and answered when
//! they are; a client that repeats it meanwhile waits for the same answer.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use ferrosm_mad::attr::GuidInfo;
use ferrosm_mad::ids::{NodeGuid, PortGuid, PortNum};
use ferrosm_mad::mad::Status;
use ferrosm_mad::transport::gmp::Peer;

use super::{Stage, SubnetManager};
use crate::io::Event;
use crate::sa::lanes::Table;
use crate::sa::records::lanes::{self, Unknown};
use crate::sa::{Request, View};
use crate::sa_owner::send_reply;
use crate::smp::op::SmpOp;
use crate::subnet::PortRef;
use crate::tables::sl_to_vl::SlToVlSelector;

/// Most questions in one round.
const ROUND: usize = 16_384;
/// Most requests that wait for tables; what comes then is told to come back.
const WAITING_MAX: usize = 256;
/// How often a device is told alias GUIDs that it does not take, before its port is looked at again.
const TRIES: u8 = 3;

/// What clients made the subnet manager op.
#[derive(Debug, Default)]
pub(super) struct Asked {
    /// Requests that wait for tables, as they came.
    waiting: VecDeque<(Peer, Vec<u8>)>,
    /// Tables that nobody answered for while anybody waited.
    silent: BTreeSet<(NodeGuid, Table)>,
    /// Blocks of alias GUIDs that devices are to be told, and how often they were.
    guids: BTreeMap<(PortGuid, u8), u8>,
    /// Requests dropped because too many waited.
    dropped: u64,
}

impl Asked {
    pub(super) const fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Somebody else is in charge: nobody waits for this subnet manager.
    pub(super) fn forget(&mut self) {
        *self = Self {
            dropped: self.dropped,
            ..Self::default()
        };
    }
}

impl SubnetManager {
    /// Keeps a request until the tables that it reaches are known, or answers it.
    pub(super) fn wait_for_tables(&mut self, from: Peer, bytes: &[u8]) {
        let Some((view, request)) = self.view().zip(Request::parse(from, bytes)) else {
            return;
        };
        if let Some(reply) = lanes::answer(view, &request, Unknown::Stop) {
            send_reply(&mut self.out, &request, &reply);
            return;
        }
        let same = |(peer, kept): &(Peer, Vec<u8>)| *peer == from && **kept == *bytes;
        if self.asked.waiting.iter().any(same) {
            return;
        }
        if self.asked.waiting.len() >= WAITING_MAX {
            self.asked.dropped = self.asked.dropped.saturating_add(1);
            return;
        }
        self.asked.waiting.push_back((from, bytes.to_vec()));
    }

    /// Asks for what clients want, if nothing more important is to be done; whether there is anything.
    pub(super) fn begin_asked(&mut self) -> bool {
        if !self.is_master() || self.schedule.is_requested() {
            return false;
        }
        let Some(view) = self.view().cloned() else {
            return false;
        };
        for place in self.sa.take_changed_alias_guids() {
            self.asked.guids.insert(place, 0);
        }
        let mut asks: Vec<SmpOp> = Vec::new();
        let subnet = &self.subnet;
        self.asked.guids.retain(|(port, block), tries| {
            let Some(at) = subnet.port_by_guid(*port) else {
                return false;
            };
            if asks.len() < ROUND {
                *tries += 1;
                asks.push(SmpOp::SetGuidInfo(at, *block));
            }
            true
        });
        let room = ROUND.saturating_sub(asks.len());
        for table in self.wanted_tables(&view, room) {
            asks.extend(self.ask_of(table));
        }
        if asks.is_empty() {
            return false;
        }
        self.stage = Stage::Asked;
        for op in asks {
            self.enqueue(op);
        }
        true
    }

    /// Tables that those who wait need, the first in line first. Who needs nothing more is answered.
    fn wanted_tables(&mut self, view: &View, room: usize) -> BTreeSet<(NodeGuid, Table)> {
        let mut wanted = BTreeSet::new();
        let waiting = core::mem::take(&mut self.asked.waiting);
        for (from, bytes) in waiting {
            let Some(request) = Request::parse(from, &bytes) else {
                continue;
            };
            let most = (room - wanted.len()) + self.asked.silent.len() + 1;
            let mut missing = lanes::missing(view, &request, most);
            missing.retain(|table| {
                !self.asked.silent.contains(table) && self.ask_of(*table).is_some()
            });
            if missing.is_empty() {
                if let Some(reply) = lanes::answer(view, &request, Unknown::LeaveOut) {
                    send_reply(&mut self.out, &request, &reply);
                }
                continue;
            }
            wanted.extend(missing.into_iter().take(room - wanted.len()));
            self.asked.waiting.push_back((from, bytes));
        }
        if self.asked.waiting.is_empty() {
            self.asked.silent.clear();
        }
        wanted
    }

    /// The question for a table; `None` where the device is gone.
    fn ask_of(&self, (node, table): (NodeGuid, Table)) -> Option<SmpOp> {
        let n = self.subnet.node_by_guid(node)?;
        let is_switch = self.subnet.get(n)?.is_switch();
        Some(match table {
            Table::Map(input, output) if is_switch => SmpOp::SlToVl(
                PortRef::new(n, PortNum::ZERO),
                SlToVlSelector::Pair(input, output),
            ),
            Table::Map(_, port) => {
                SmpOp::SlToVl(PortRef::new(n, port), SlToVlSelector::EndPort(port))
            }
            Table::Arbitration(port, block) => SmpOp::VlArbitration(PortRef::new(n, port), block),
        })
    }

    /// A round is over: what was read is published, and those who waited for it are answered.
    pub(super) fn finish_asked(&mut self) {
        self.stage = Stage::Idle;
        if !self.asked.waiting.is_empty() {
            with_ctx!(self, |ctx| self.sa.publish_read_vl_tables(ctx));
        }
    }

    /// A table, as a device answered. One that it refuses it has not got: that is an empty table, and is not asked for again.
    pub(super) fn on_table_read(&mut self, op: SmpOp, status: Status, data: &[u8; 64]) {
        let Some((place, table)) = table_of(op) else {
            return;
        };
        if let Some(node) = self.subnet.get_mut(place.node) {
            let data = if status.is_ok() { data } else { &[0; 64] };
            Arc::make_mut(&mut node.read_lanes).put(table, data);
        }
    }

    /// Nobody answers: whoever waits for the table is not kept for it.
    pub(super) fn table_silent(&mut self, op: SmpOp) {
        let Some((place, table)) = table_of(op) else {
            return;
        };
        if let Some(node) = self.subnet.get(place.node) {
            self.asked.silent.insert((node.info.node_guid, table));
        }
    }

    /// The block of GUIDs that a Set carries: as it is when the Set is sent.
    pub(super) fn wanted_guids(&self, p: PortRef, block: u8) -> Option<[u8; 64]> {
        let port = self.subnet.port(p)?.guid;
        let guids = self.registry().aliases().all().block(port, block);
        Some(GuidInfo { guids }.encode())
    }

    pub(super) fn on_guids_set(&mut self, p: PortRef, block: u8, status: Status, data: &[u8; 64]) {
        // An agent that answers with its own first GUID as it likes has taken the others.
        let taken = status.is_ok()
            && self
                .wanted_guids(p, block)
                .is_some_and(|wanted| wanted[8..] == data[8..]);
        if taken {
            if let Some(port) = self.subnet.port(p) {
                self.asked.guids.remove(&(port.guid, block));
            }
            return;
        }
        self.guids_not_taken(p, block, &format!("status {status}"));
    }

    /// A block of GUIDs is not there: it is told so often, and after that when the port is looked at again.
    pub(super) fn guids_not_taken(&mut self, p: PortRef, block: u8, why: &str) {
        let Some(port) = self.subnet.port(p) else {
            return;
        };
        let place = (port.guid, block);
        if self.asked.guids.get(&place).is_none_or(|n| *n >= TRIES) {
            self.asked.guids.remove(&place);
            self.emit(Event::Noticed(format!(
                "{} does not take alias GUIDs of block {block}: {why}",
                self.subnet.describe(p)
            )));
        }
    }
}

/// The table that is asked for, and where.
fn table_of(op: SmpOp) -> Option<(PortRef, Table)> {
    if let SmpOp::SlToVl(p, at) = op {
        let (input, output) = at.ports();
        return Some((p, Table::Map(input, output)));
    }
    if let SmpOp::VlArbitration(p, block) = op {
        return Some((p, Table::Arbitration(p.port, block)));
    }
    None
}
