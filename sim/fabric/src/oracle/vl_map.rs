//! The VL of a packet on each hop, from the SLtoVLMappingTables.
//!
//! Equal tables are stored once: in most fabrics all ports share a few.

use std::collections::BTreeMap;

use ferrosm_mad::ids::PortNum;

use super::scope::{LinkPeer, Scope};
use super::state::data_vl_count;
use crate::index::{index_to_u16, index_to_u32};
use crate::spec::{NodeIdx, PortAt};

/// Power-on default: SL n maps to VL n modulo 8.
const POWER_ON: [u8; 8] = [0x01, 0x23, 0x45, 0x67, 0x01, 0x23, 0x45, 0x67];

/// A mapping together with the number of active data VLs of the output port.
#[derive(Debug, Clone, Copy)]
pub(super) struct OutputVlMap {
    /// VL by SL.
    pub(super) vl: [u8; 16],
    /// SLs that map to an active VL (bit mask).
    pub(super) usable_sls: u16,
    /// Active data VLs.
    pub(super) data_vls: u8,
}

/// The mappings of all ports.
pub(super) struct VlMap {
    tables: Vec<OutputVlMap>,
    /// By slot: index of its first table in `by_input`, and whether it has one table per input.
    ports: Vec<(u32, bool)>,
    by_input: Vec<u16>,
    /// By node: whether the tables of every port are equal for all inputs.
    uniform: Vec<bool>,
}

/// Switch ports through which end ports send, with equal tables for all outputs.
#[derive(Debug, Clone)]
pub(super) struct Injector {
    /// Switch ports.
    pub(super) ports: Vec<u8>,
    /// The end port at each switch port; port 0 itself for port 0.
    pub(super) ends: Vec<PortAt>,
    /// SLs on which these end ports can send (bit mask).
    pub(super) usable_sls: u16,
}

impl VlMap {
    pub(super) fn new(scope: &Scope<'_>) -> Self {
        let mut ids: BTreeMap<([u8; 8], u8), u16> = BTreeMap::new();
        let mut map = Self {
            tables: Vec::new(),
            ports: Vec::with_capacity(scope.slots()),
            by_input: Vec::new(),
            uniform: Vec::with_capacity(scope.state.nodes.len()),
        };
        for node in &scope.state.nodes {
            let mut uniform = true;
            for snapshot in &node.ports {
                let count = data_vl_count(snapshot.info.operational_vls);
                let written = match snapshot.sl_to_vl.as_slice() {
                    // Without a table, a port with one data VL uses VL 0 for all SLs.
                    [] if snapshot.info.vl_cap == 1 => &[[0; 8]],
                    [] => &[POWER_ON],
                    some => some,
                };
                let first = index_to_u32(map.by_input.len());
                map.ports.push((first, written.len() > 1));
                uniform &= written.windows(2).all(|w| w[0] == w[1]);
                for bytes in written {
                    let next = index_to_u16(ids.len());
                    let id = *ids.entry((*bytes, count)).or_insert_with(|| {
                        map.tables.push(sl_to_vl(*bytes, count));
                        next
                    });
                    map.by_input.push(id);
                }
            }
            map.uniform.push(uniform);
        }
        map
    }

    /// The mapping from input port `input` to an output port, which must exist.
    #[inline]
    pub(super) fn table_for(&self, slot: usize, input: u8) -> &OutputVlMap {
        let (first, per_input) = self.ports[slot];
        let index = first as usize + if per_input { usize::from(input) } else { 0 };
        let id = self
            .by_input
            .get(index)
            .or_else(|| self.by_input.get(first as usize));
        &self.tables[usize::from(id.copied().unwrap_or(0))]
    }

    /// The end ports that send through a switch, grouped by equal tables; `port0` includes the
    /// switch itself.
    pub(super) fn injectors(&self, scope: &Scope<'_>, node: NodeIdx, port0: bool) -> Vec<Injector> {
        let outputs: Vec<usize> = scope
            .connected_ports(node)
            .filter_map(|(port, _)| scope.slot(PortAt { node, port }))
            .collect();
        let own = PortAt { node, port: 0 };
        let mut groups: BTreeMap<(u16, Vec<u16>), Injector> = BTreeMap::new();
        for (port, end) in scope
            .attached_end_ports(node)
            .chain(port0.then_some((0, own)))
        {
            // Packets from port 0 use the output port's table only.
            let usable_sls = match scope.slot(end) {
                Some(slot) if port != 0 => self.table_for(slot, 0).usable_sls,
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
            let group = groups.entry((usable_sls, ids)).or_insert(Injector {
                ports: Vec::new(),
                ends: Vec::new(),
                usable_sls,
            });
            group.ports.push(port);
            group.ends.push(end);
        }
        groups.into_values().collect()
    }

    /// Whether a link between switches carries packets of different SLs on different VLs.
    pub(super) fn sl_selects_vl(&self, scope: &Scope<'_>) -> bool {
        scope.switches.iter().any(|&node| {
            scope.connected_ports(node).any(|(port, peer)| {
                let at = PortAt { node, port };
                matches!(peer, LinkPeer::Switch(_))
                    && scope
                        .slot(at)
                        .is_some_and(|slot| self.port_separates_sls(slot))
            })
        })
    }

    /// Whether a table of the port maps two usable SLs to different VLs.
    fn port_separates_sls(&self, slot: usize) -> bool {
        let first = self.ports[slot].0 as usize;
        let end = self
            .ports
            .get(slot + 1)
            .map_or(self.by_input.len(), |(first, _)| *first as usize);
        self.by_input[first..end].iter().any(|id| {
            let table = &self.tables[usize::from(*id)];
            let mut vls = table.vl.iter().filter(|vl| **vl < table.data_vls);
            let first = vls.next();
            vls.any(|vl| Some(vl) != first)
        })
    }

    /// One more than the highest active VL in any mapping.
    pub(super) fn vl_count(&self) -> usize {
        let used = |t: &OutputVlMap| {
            let active = t.vl.iter().filter(|vl| **vl < t.data_vls);
            active.map(|vl| usize::from(*vl) + 1).max().unwrap_or(0)
        };
        self.tables.iter().map(used).max().unwrap_or(1).max(1)
    }
}

impl Injector {
    /// One of its ports other than `egress`, with its end port.
    pub(super) fn source_avoiding(&self, egress: PortNum) -> Option<(u8, PortAt)> {
        let mut pairs = self.ports.iter().zip(&self.ends);
        pairs
            .find(|(port, _)| **port != egress.raw())
            .map(|(port, end)| (*port, *end))
    }
}

fn sl_to_vl(bytes: [u8; 8], data_vls: u8) -> OutputVlMap {
    let mut vl = [0; 16];
    let mut usable_sls = 0;
    for (sl, vl) in vl.iter_mut().enumerate() {
        let byte = bytes[sl / 2];
        *vl = if sl % 2 == 0 { byte >> 4 } else { byte & 0xF };
        usable_sls |= u16::from(*vl < data_vls) << sl;
    }
    OutputVlMap {
        vl,
        usable_sls,
        data_vls,
    }
}
