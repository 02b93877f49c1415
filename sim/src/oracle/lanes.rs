//! Which virtual lane a packet has on each hop, by the SLtoVLMappingTables that were written.
//!
//! Tables are stored once each: in most fabrics all ports share a few.

use std::collections::BTreeMap;

use ferrosm_mad::ids::PortNum;

use super::scope::Scope;
use super::state::lanes_of;
use crate::spec::{NodeIdx, PortAt};

/// SL n on VL n modulo 8: what ports wake up with.
const POWER_ON: [u8; 8] = [0x01, 0x23, 0x45, 0x67, 0x01, 0x23, 0x45, 0x67];

/// A mapping at an output with so many lanes in operation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Table {
    /// By SL.
    pub(super) vl: [u8; 16],
    /// The SLs that have a lane, one bit each.
    pub(super) legal: u16,
    /// Lanes in operation.
    pub(super) lanes: u8,
}

/// All mappings of a fabric.
pub(super) struct Lanes {
    tables: Vec<Table>,
    /// By slot: where its tables are in `by_input`, and whether there is one for each input.
    ports: Vec<(u32, bool)>,
    by_input: Vec<u16>,
    /// By node: whether no output has tables that differ by input.
    uniform: Vec<bool>,
}

/// Ports of a switch by which end ports send, that are alike to the tables.
#[derive(Debug, Clone)]
pub(super) struct Injector {
    /// The switch's ports.
    pub(super) ports: Vec<u8>,
    /// The end port behind each of them; port 0 is behind port 0.
    pub(super) ends: Vec<PortAt>,
    /// The SLs on which these can send at all, one bit each.
    pub(super) can_send: u16,
}

impl Lanes {
    pub(super) fn new(scope: &Scope<'_>) -> Self {
        let mut known: BTreeMap<([u8; 8], u8), u16> = BTreeMap::new();
        let mut lanes = Self {
            tables: Vec::new(),
            ports: Vec::with_capacity(scope.slots()),
            by_input: Vec::new(),
            uniform: Vec::with_capacity(scope.state.nodes.len()),
        };
        for node in &scope.state.nodes {
            let mut uniform = true;
            for facts in &node.ports {
                let count = lanes_of(facts.info.operational_vls);
                let written = match facts.sl_to_vl.as_slice() {
                    [] => &[POWER_ON],
                    some => some,
                };
                let first = u32::try_from(lanes.by_input.len()).unwrap_or(u32::MAX);
                lanes.ports.push((first, written.len() > 1));
                uniform &= written.windows(2).all(|w| w[0] == w[1]);
                for bytes in written {
                    let next = u16::try_from(known.len()).unwrap_or(u16::MAX);
                    let id = *known.entry((*bytes, count)).or_insert_with(|| {
                        lanes.tables.push(table(*bytes, count));
                        next
                    });
                    lanes.by_input.push(id);
                }
            }
            lanes.uniform.push(uniform);
        }
        lanes
    }

    /// The mapping for what comes in by `input` and leaves by a port that exists.
    #[inline]
    pub(super) fn at(&self, slot: usize, input: u8) -> &Table {
        let (first, per_input) = self.ports[slot];
        let index = first as usize + if per_input { usize::from(input) } else { 0 };
        let id = self
            .by_input
            .get(index)
            .or_else(|| self.by_input.get(first as usize));
        &self.tables[usize::from(id.copied().unwrap_or(0))]
    }

    /// All mappings of a port.
    pub(super) fn of_port(&self, slot: usize) -> impl Iterator<Item = &Table> {
        let first = self.ports[slot].0 as usize;
        let end = self
            .ports
            .get(slot + 1)
            .map_or(self.by_input.len(), |(next, _)| *next as usize);
        let ids = &self.by_input[first..end];
        ids.iter().map(|id| &self.tables[usize::from(*id)])
    }

    /// The end ports of a switch that send, alike ones together; with port 0 if that counts.
    pub(super) fn injectors(&self, scope: &Scope<'_>, node: NodeIdx, port0: bool) -> Vec<Injector> {
        let outputs: Vec<usize> = scope
            .ways_of(node)
            .filter_map(|(port, _)| scope.slot(PortAt { node, port }))
            .collect();
        let own = PortAt { node, port: 0 };
        let mut groups: BTreeMap<(u16, Vec<u16>), Injector> = BTreeMap::new();
        for (port, end) in scope.hosts_of(node).chain(port0.then_some((0, own))) {
            // What a switch itself sends has a lane by its own table alone.
            let can_send = match scope.slot(end) {
                Some(slot) if port != 0 => self.at(slot, 0).legal,
                _ => u16::MAX,
            };
            let ids = if self.uniform[node] {
                Vec::new()
            } else {
                let id = |slot: &usize| {
                    let (first, per_input) = self.ports[*slot];
                    let input = if per_input { usize::from(port) } else { 0 };
                    self.by_input.get(first as usize + input).copied()
                };
                outputs.iter().filter_map(id).collect()
            };
            let group = groups.entry((can_send, ids)).or_insert(Injector {
                ports: Vec::new(),
                ends: Vec::new(),
                can_send,
            });
            group.ports.push(port);
            group.ends.push(end);
        }
        groups.into_values().collect()
    }

    /// The most lanes that any table uses.
    pub(super) fn most(&self) -> usize {
        let used = |t: &Table| {
            let legal = t.vl.iter().filter(|vl| **vl < t.lanes);
            legal.map(|vl| usize::from(*vl) + 1).max().unwrap_or(0)
        };
        self.tables.iter().map(used).max().unwrap_or(1).max(1)
    }
}

impl Injector {
    /// One of its ports that is not the one that packets leave by.
    pub(super) fn other_than(&self, egress: PortNum) -> Option<(u8, PortAt)> {
        let mut pairs = self.ports.iter().zip(&self.ends);
        pairs
            .find(|(port, _)| **port != egress.raw())
            .map(|(port, end)| (*port, *end))
    }
}

fn table(bytes: [u8; 8], lanes: u8) -> Table {
    let mut vl = [0; 16];
    let mut legal = 0;
    for (sl, vl) in vl.iter_mut().enumerate() {
        let byte = bytes[sl / 2];
        *vl = if sl % 2 == 0 { byte >> 4 } else { byte & 0xF };
        legal |= u16::from(*vl < lanes) << sl;
    }
    Table { vl, legal, lanes }
}
