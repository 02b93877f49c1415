//! The desired SLtoVLMappingTables and VLArbitrationTables, and the SL of each path, from the
//! routing in force. Pure.
//!
//! A routing on one VL needs no tables: with the power-up tables of a device SL 0 travels on VL 0.

use core::hash::{Hash, Hasher};
use std::sync::Arc;

use ferrosm_fabric::observed::{Node, NodeIdx, ObservedFabric, Port, PortKind, PortRef};
use ferrosm_fabric::tables::sl_to_vl::SlToVlSelector;
use ferrosm_mad::attr::{CapMask, PortInfo, SlToVl, VlArb, VlArbEntry};
use ferrosm_mad::ids::{Lid, PortNum, Sl, Vl};
use ferrosm_routing::{DATA_VLS_MAX, SwitchIdx, VerifiedRun};

use crate::config::SmConfig;
use crate::routing::kept::weighted_vls;

/// Share of each VL, in units of 64 bytes. VLs avoid deadlocks; none has priority.
pub(crate) const WEIGHT: u8 = 64;

/// Entries in one block of a VLArbitrationTable.
const ARBITRATION_ENTRIES: usize = 32;

/// The VLs of a routing, by node.
#[derive(Debug, Clone)]
pub struct FabricVlPlan {
    /// Unique for each plan.
    id: u64,
    pub(crate) run: Arc<VerifiedRun>,
    /// By node index.
    switches: Vec<Option<(NodeIdx, SwitchIdx)>>,
}

impl FabricVlPlan {
    /// The plan of a routing, whose switches are `nodes`. No two plans have the same `id`.
    #[must_use]
    pub fn new(id: u64, run: Arc<VerifiedRun>, nodes: &[NodeIdx]) -> Self {
        let mut switches = Vec::new();
        for (n, s) in nodes.iter().zip(run.topo.switches()) {
            if switches.len() <= n.index() {
                switches.resize(n.index() + 1, None);
            }
            switches[n.index()] = Some((*n, s));
        }
        Self { id, run, switches }
    }

    /// A hash of all that the tables of a node depend on.
    #[must_use]
    pub fn fingerprint(&self, fabric: &ObservedFabric, n: NodeIdx, cfg: &SmConfig) -> u64 {
        let mut h = rustc_hash::FxHasher::default();
        self.id.hash(&mut h);
        if let Some(node) = fabric.get(n) {
            node.vls.rejects_optimized.hash(&mut h);
            node.keeps_vl_tables.hash(&mut h);
            for port in node.physical_ports() {
                let p = PortRef::new(n, port);
                let live = node.ports.get(port.index()).is_some_and(Port::is_up);
                if live && fabric.peer(p).is_some() {
                    (port, operated_vls(fabric, p, cfg)).hash(&mut h);
                }
            }
        }
        h.finish()
    }

    /// Whether the routing has one VL, and needs no tables.
    #[must_use]
    pub fn is_single(&self) -> bool {
        self.run.routing.vl_plan.is_single()
    }

    pub(crate) fn switch(&self, n: NodeIdx) -> Option<SwitchIdx> {
        let (node, s) = self.switches.get(n.index()).copied().flatten()?;
        (node == n).then_some(s)
    }

    /// The SL of packets from an end port to a LID; SL 0 where the routing does not know the two.
    #[must_use]
    pub fn sl(&self, fabric: &ObservedFabric, from: PortRef, to: Lid) -> Sl {
        let at = if from.port == PortNum::ZERO {
            Some(from.node)
        } else {
            fabric.peer(from).map(|p| p.node)
        };
        let destinations = self.run.topo.destinations();
        let to = destinations
            .binary_search_by_key(&to, |d| d.lid)
            .ok()
            .map(|i| &destinations[i]);
        let sl = at
            .and_then(|n| self.switch(n))
            .zip(to)
            .map_or(0, |(s, d)| self.run.routing.vl_plan.sl(s, d));
        Sl(sl)
    }

    /// The tables that a switch should have: one for each pair of `live` ports, or one for an
    /// output whose inputs all have the same table, if the switch accepts it in one Set.
    #[must_use]
    pub fn switch_maps(
        &self,
        n: NodeIdx,
        node: &Node,
        live: &[PortNum],
    ) -> Vec<(SlToVlSelector, [u8; 64])> {
        let Some(s) = self.switch(n).filter(|_| has_sl_to_vl(node, PortNum::ZERO)) else {
            return Vec::new();
        };
        let is_optimized = !node.vls.rejects_optimized
            && node
                .switch_info()
                .is_some_and(|i| i.optimized_sl_to_vl != 0);
        let vl_plan = &self.run.routing.vl_plan;
        let mut desired = Vec::new();
        for &output in live.iter().filter(|p| has_several_vls(node, **p)) {
            let inputs = || {
                let other_ports = live.iter().copied().filter(move |i| *i != output);
                core::iter::once(PortNum::ZERO).chain(other_ports)
            };
            let map = |input| vl_plan.map(&self.run.topo, s, input, output);
            let first = map(PortNum::ZERO);
            if is_optimized && inputs().all(|i| map(i) == first) {
                desired.push((SlToVlSelector::Output(output), table(first)));
            } else {
                desired.extend(inputs().map(|i| (SlToVlSelector::Pair(i, output), table(map(i)))));
            }
        }
        desired
    }

    /// The table of [`Self::switch_maps`] with this selector.
    #[must_use]
    pub fn switch_map(&self, n: NodeIdx, at: SlToVlSelector) -> Option<[u8; 64]> {
        let (input, output) = at.ports();
        let map = self
            .run
            .routing
            .vl_plan
            .map(&self.run.topo, self.switch(n)?, input, output);
        Some(table(map))
    }

    /// The table of a CA or router port; `None` where it has none.
    #[must_use]
    pub fn end_port_map(
        &self,
        fabric: &ObservedFabric,
        p: PortRef,
        cfg: &SmConfig,
    ) -> Option<[u8; 64]> {
        let node = fabric.get(p.node)?;
        (!node.is_switch() && has_sl_to_vl(node, p.port) && has_several_vls(node, p.port)).then(
            || {
                let vls = operated_vls(fabric, p, cfg).min(weighted_vls(fabric, p));
                table(self.run.routing.vl_plan.end_port_map(vls))
            },
        )
    }

    /// The blocks of a port's VLArbitrationTable: every VL in use has the same share at low
    /// priority, none has high priority. Without them a device may serve VL 0 alone.
    #[must_use]
    pub fn arbitration(
        &self,
        fabric: &ObservedFabric,
        p: PortRef,
        cfg: &SmConfig,
    ) -> Vec<(u8, [u8; 64])> {
        let Some(node) = fabric.get(p.node).filter(|n| has_several_vls(n, p.port)) else {
            return Vec::new();
        };
        let Some(info) = node.ports.get(p.port.index()).map(Port::info) else {
            return Vec::new();
        };
        let used = self
            .run
            .routing
            .vl_plan
            .vls
            .min(operated_vls(fabric, p, cfg));
        let block = |entries: usize, weight: u8| {
            let mut out = VlArb::default();
            let vls = (0..used).zip(out.entries.iter_mut()).take(entries);
            vls.for_each(|(vl, entry)| *entry = VlArbEntry { vl: Vl(vl), weight });
            out.encode()
        };
        let low = usize::from(info.vl_arbitration_low_cap).min(ARBITRATION_ENTRIES);
        let high = usize::from(info.vl_arbitration_high_cap).min(ARBITRATION_ENTRIES);
        let mut blocks = Vec::new();
        if low > 0 {
            blocks.push((1, block(low, WEIGHT)));
        }
        if high > 0 {
            blocks.push((3, block(high, 0)));
        }
        blocks
    }
}

fn table(map: [u8; 16]) -> [u8; 64] {
    SlToVl { vls: map.map(Vl) }.encode()
}

/// Whether a node's port has SLtoVLMappingTables (PortInfo.CapabilityMask; for a switch, that of
/// port 0).
pub(crate) fn has_sl_to_vl(node: &Node, port: PortNum) -> bool {
    node.ports
        .get(port.index())
        .is_some_and(|p| p.capability_mask().has(CapMask::SL_MAPPING))
}

/// Whether a port can operate more than one data VL: a port with one VL has neither table.
pub(crate) fn has_several_vls(node: &Node, port: PortNum) -> bool {
    node.ports
        .get(port.index())
        .is_some_and(|p| p.known && PortInfo::vl_cap.read(&p.raw) > 1)
}

/// The number of data VLs that the link of a port operates, or will when it is armed: what both
/// ends support and the configuration allows.
#[must_use]
pub fn operated_vls(fabric: &ObservedFabric, p: PortRef, cfg: &SmConfig) -> u8 {
    let Some((node, port)) = fabric.get(p.node).zip(fabric.port(p)) else {
        return 1;
    };
    let external = node.port_kind(p.port) != PortKind::EnhancedPort0;
    let peer = fabric.peer(p).filter(|_| external);
    let peer_port = peer.and_then(|p| fabric.port(p)).filter(|p| p.known);
    let operated = PortInfo::operational_vls.read(&port.raw);
    let code = if port.state() >= ferrosm_mad::attr::PortState::Armed && operated <= 5 {
        operated
    } else {
        let own_vls = PortInfo::vl_cap
            .read(&port.raw)
            .min(cfg.max_operational_vls);
        peer_port.map_or(own_vls, |f| own_vls.min(PortInfo::vl_cap.read(&f.raw)))
    };
    vls_of_code(code)
}

/// VL codes of PortInfo: 1 VL0, 2 VL0-1, 3 VL0-3, 4 VL0-7, 5 VL0-14.
const fn vls_of_code(code: u8) -> u8 {
    match code {
        0 | 1 => 1,
        2 => 2,
        3 => 4,
        4 => 8,
        _ => DATA_VLS_MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vl_codes_match_the_specification() {
        assert_eq!(
            [0, 1, 2, 3, 4, 5, 9].map(vls_of_code),
            [1, 1, 2, 4, 8, 15, 15]
        );
    }
}
