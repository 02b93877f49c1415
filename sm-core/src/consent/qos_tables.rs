//! QoS tables of another SM: SLtoVLMappingTables and VLArbitrationTables by which ports serve SLs
//! differently.
//!
//! A port serves SLs differently if it maps them to data VLs whose weights are not 0 and differ.
//! Only a QoS configuration explains that: the tables of a routing with several VLs, by this SM and
//! by OpenSM, give each VL the same weight, as power-up tables do.

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_fabric::observed::{Node, NodeIdx, ObservedFabric, PortRef};
use ferrosm_fabric::tables::sl_to_vl::SlToVlSelector;
use ferrosm_mad::attr::{SlToVl, VlArb};
use ferrosm_mad::ids::PortNum;

use crate::config::SmConfig;
use crate::ctx::Ctx;
use crate::routing::vl_plan::{has_several_vls, has_sl_to_vl, operated_vls};
use crate::smp::op::SmpOp;
use crate::smp::outcome::SmpOutcome;
use crate::vls;

/// The first blocks of low and high priority. An SM that uses further ones writes these as well.
const ARBITRATION_BLOCKS: [u8; 2] = [1, 3];

/// The QoS tables that the first sweeps read.
#[derive(Debug, Default)]
pub(crate) struct QosReadback {
    ports: BTreeMap<PortRef, QosPortTables>,
}

/// The tables of a port, as far as they were read.
#[derive(Debug, Default)]
struct QosPortTables {
    /// VL of each SL; of a switch port, for packets of the switch itself.
    vls: Option<[u8; 16]>,
    /// Sum of the weights of each VL, by block.
    weights: BTreeMap<u8, [u32; 16]>,
}

impl QosPortTables {
    /// Whether the port, which operates this number of data VLs, serves SLs differently.
    fn serves_sls_differently(&self, operated: u8) -> bool {
        let of_sls: BTreeSet<u8> = self.vls.into_iter().flatten().collect();
        let of_vl = |vl: u8| {
            ARBITRATION_BLOCKS.map(|block| {
                let weights = self.weights.get(&block);
                weights.map_or(0, |weights| weights[usize::from(vl & 0x0F)])
            })
        };
        let in_use = of_sls.into_iter().filter(|vl| *vl < operated);
        let served: BTreeSet<[u32; 2]> = in_use.map(of_vl).filter(|w| *w != [0, 0]).collect();
        served.len() > 1
    }
}

impl QosReadback {
    /// Reads the tables of the ports of nodes that an SM has configured.
    pub(super) fn start(ctx: &mut Ctx<'_>) {
        let fabric = &*ctx.fabric;
        for (n, node) in fabric.nodes() {
            if !vls::is_configured(node) {
                continue;
            }
            for port in vls::live_ports(fabric, n, node) {
                let table_port = if node.is_switch() {
                    PortNum::ZERO
                } else {
                    port
                };
                if !has_several_vls(node, port) || !has_sl_to_vl(node, table_port) {
                    continue;
                }
                let at = if node.is_switch() {
                    SlToVlSelector::Pair(PortNum::ZERO, port)
                } else {
                    SlToVlSelector::EndPort(port)
                };
                let of_table = PortRef::new(n, table_port);
                ctx.smps.enqueue(SmpOp::SlToVl(of_table, at));
                for block in ARBITRATION_BLOCKS {
                    let p = PortRef::new(n, port);
                    ctx.smps.enqueue(SmpOp::VlArbitration(p, block));
                }
            }
        }
    }

    /// A table was read. One that cannot be read counts as empty.
    pub(crate) fn on_table(&mut self, op: SmpOp, outcome: &SmpOutcome) {
        let Some(data) = outcome.data() else {
            return;
        };
        if let SmpOp::SlToVl(p, at) = op {
            let (_, output) = at.ports();
            let tables = self.ports.entry(PortRef::new(p.node, output)).or_default();
            tables.vls = Some(SlToVl::decode(data).vls.map(|vl| vl.0));
        } else if let SmpOp::VlArbitration(p, block) = op {
            let mut weights = [0; 16];
            for entry in VlArb::decode(data).entries {
                weights[usize::from(entry.vl.0 & 0x0F)] += u32::from(entry.weight);
            }
            self.ports
                .entry(p)
                .or_default()
                .weights
                .insert(block, weights);
        }
    }

    /// The nodes with a port that serves SLs differently.
    pub(super) fn differing_nodes(
        &self,
        fabric: &ObservedFabric,
        cfg: &SmConfig,
    ) -> BTreeSet<NodeIdx> {
        let ports = self.ports.iter();
        let differing = ports
            .filter(|(p, tables)| tables.serves_sls_differently(operated_vls(fabric, **p, cfg)));
        differing.map(|(p, _)| p.node).collect()
    }
}

/// Whether a node lost the tables that were found: it restarted.
pub(super) fn has_power_up_tables(node: &Node) -> bool {
    !vls::is_configured(node)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(vls: [u8; 16], low: &[(usize, u32)], high: &[(usize, u32)]) -> QosPortTables {
        let of = |list: &[(usize, u32)]| {
            let mut weights = [0; 16];
            for (vl, weight) in list {
                weights[*vl] += weight;
            }
            weights
        };
        QosPortTables {
            vls: Some(vls),
            weights: [(1, of(low)), (3, of(high))].into(),
        }
    }

    /// SL n on VL n modulo 8.
    const IDENTITY: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7];

    /// Equal weights, one weighted VL, one VL in use, and VLs that the port does not operate are no
    /// QoS configuration; OpenSM's default, which serves VL 0 with high priority, is one.
    #[test]
    fn only_differing_weights_are_a_qos_configuration() {
        let equal: Vec<(usize, u32)> = (0..8).map(|vl| (vl, 64)).collect();
        let opensm_low: Vec<(usize, u32)> = (1..8).map(|vl| (vl, 4)).collect();
        for (tables, operated, expected) in [
            (tables(IDENTITY, &equal, &[]), 8, false),
            (tables(IDENTITY, &equal, &equal), 8, false),
            (tables(IDENTITY, &[(0, 64)], &[]), 8, false),
            (tables([0; 16], &opensm_low, &[(0, 4)]), 8, false),
            (tables(IDENTITY, &opensm_low, &[(0, 4)]), 8, true),
            (tables(IDENTITY, &opensm_low, &[(0, 4)]), 1, false),
            (
                tables(IDENTITY, &[(0, 64), (1, 64), (5, 128)], &[]),
                8,
                true,
            ),
            (
                tables(IDENTITY, &[(0, 64), (1, 64), (5, 128)], &[]),
                4,
                false,
            ),
            (QosPortTables::default(), 8, false),
        ] {
            assert_eq!(
                tables.serves_sls_differently(operated),
                expected,
                "{tables:?}"
            );
        }
    }
}
