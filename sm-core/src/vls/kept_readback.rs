//! Reads VL tables that limit routes because devices keep them.
//!
//! Routes are planned with what is read, and the next attempt to write the table writes it. So each
//! table is read until two reads in a row agree. A table whose reads differ each time stays
//! unknown.

use std::collections::BTreeMap;

use ferrosm_fabric::observed::{DeviceTable, NodeIdx, ObservedFabric, PortRef};
use ferrosm_fabric::tables::sl_to_vl::SlToVlSelector;
use ferrosm_fabric::tables::vl_arbitration::VlArbitrationBlocks;
use ferrosm_mad::ids::PortNum;
use ferrosm_mad::smp::DATA_LEN;

use super::{SWITCH_SL_TO_VL, is_linked, live_ports, normalize_arbitration};
use crate::ctx::Ctx;
use crate::effect::Effect;
use crate::routing::vl_plan::has_several_vls;
use crate::smp::op::SmpOp;
use crate::smp::outcome::SmpOutcome;

/// The tables that a sweep reads.
#[derive(Debug, Default)]
pub(crate) struct KeptReadback {
    /// Tables that are read again.
    unconfirmed: BTreeMap<TableKey, LastRead>,
}

/// The last read of a table.
#[derive(Debug, Clone, Copy)]
struct LastRead {
    contents: [u8; DATA_LEN],
    reads: u8,
}

/// Reads of a table in one sweep.
const READS_MAX: u8 = 4;

/// A table of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum TableKey {
    SlToVl(PortRef, SlToVlSelector),
    VlArbitration(PortRef, u8),
}

impl KeptReadback {
    /// Reads the tables that are unknown.
    pub(crate) fn start(ctx: &mut Ctx<'_>) -> Self {
        let fabric = &*ctx.fabric;
        for (n, node) in fabric.nodes() {
            if !node.keeps_any() {
                continue;
            }
            let mut live = live_ports(fabric, n, node);
            live.retain(|port| has_several_vls(node, *port));
            for &port in &live {
                let p = PortRef::new(n, port);
                let keeps = node.keeps(DeviceTable::VlArbitration(port));
                let known = node
                    .ports
                    .get(port.index())
                    .filter(|_| keeps)
                    .map(|port| &port.vl_arbitration);
                let is_unknown =
                    |block: u8| known.is_some_and(|known| known.iter().all(|(b, _)| *b != block));
                // The first blocks of low and high priority.
                for block in [1, 3].into_iter().filter(|block| is_unknown(*block)) {
                    ctx.smps.enqueue(SmpOp::VlArbitration(p, block));
                }
            }
            if !node.is_switch() || !node.keeps(SWITCH_SL_TO_VL) {
                continue;
            }
            for &output in &live {
                for input in (0..=node.info.num_ports).map(PortNum) {
                    let at = SlToVlSelector::Pair(input, output);
                    let is_live = input == PortNum::ZERO || is_linked(fabric, n, node, input);
                    if input != output && is_live && !node.vls.sl_to_vl.contains_key(&at) {
                        let port0 = PortRef::new(n, PortNum::ZERO);
                        ctx.smps.enqueue(SmpOp::SlToVl(port0, at));
                    }
                }
            }
        }
        Self::default()
    }

    /// A table was read. One that cannot be read stays unknown.
    pub(crate) fn on_table(&mut self, ctx: &mut Ctx<'_>, op: SmpOp, outcome: &SmpOutcome) {
        let key = if let SmpOp::SlToVl(p, at) = op {
            TableKey::SlToVl(p, at)
        } else if let SmpOp::VlArbitration(p, block) = op {
            TableKey::VlArbitration(p, block)
        } else {
            return;
        };
        let last = self.unconfirmed.remove(&key);
        let Some(data) = outcome.data() else {
            return;
        };
        let contents = key.significant(*data);
        if last.is_some_and(|last| last.contents == contents) {
            store(ctx.fabric, key, &contents);
            return;
        }
        if last.is_some() {
            ctx.effects.push(Effect::InvalidResponse);
        }
        let reads = last.map_or(0, |last| last.reads) + 1;
        if reads < READS_MAX {
            self.unconfirmed.insert(key, LastRead { contents, reads });
            ctx.smps.enqueue(op);
        }
    }
}

impl TableKey {
    /// The contents without bits that have no meaning.
    fn significant(self, mut data: [u8; DATA_LEN]) -> [u8; DATA_LEN] {
        match self {
            Self::SlToVl(..) => data[8..].fill(0),
            Self::VlArbitration(..) => normalize_arbitration(&mut data),
        }
        data
    }
}

fn store(fabric: &mut ObservedFabric, key: TableKey, data: &[u8; DATA_LEN]) {
    match key {
        TableKey::SlToVl(p, at) => {
            if let Some(node) = fabric.get_mut(p.node) {
                let map = core::array::from_fn(|i| data[i]);
                node.vls.sl_to_vl.insert(at, map);
            }
        }
        TableKey::VlArbitration(p, block) => {
            if let Some(port) = fabric.port_mut(p) {
                port.vl_arbitration.insert(block, *data);
            }
        }
    }
}

/// Discards what is known of VL tables that devices keep: [`KeptReadback`] reads them again.
pub(crate) fn forget(fabric: &mut ObservedFabric) {
    let nodes = fabric.nodes();
    let keeping = nodes.filter(|(_, node)| node.keeps_any());
    let keeping: Vec<NodeIdx> = keeping.map(|(n, _)| n).collect();
    for n in keeping {
        let Some(node) = fabric.get_mut(n) else {
            continue;
        };
        if node.is_switch() && node.keeps(SWITCH_SL_TO_VL) {
            node.vls.sl_to_vl.clear();
        }
        for port in node.physical_ports() {
            if node.keeps(DeviceTable::VlArbitration(port))
                && let Some(port) = node.ports.get_mut(port.index())
            {
                port.vl_arbitration = VlArbitrationBlocks::default();
            }
        }
    }
}
