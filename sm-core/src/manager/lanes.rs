//! Writes the lanes of the routing in force: SLtoVLMappingTables and VLArbitrationTables, before links are armed (rule
//! 13.5), and only those that differ from what the SM wrote before.
//!
//! What a device has that this SM did not write is not read: where a routing uses several lanes every table is written
//! once after the SM came, and again after a reboot of the device.

use ferrosm_mad::attr::id;
use ferrosm_mad::ids::PortNum;
use ferrosm_mad::mad::Status;

use super::SubnetManager;
use super::ask::Ask;
use crate::plan::lanes::{LanePlan, MapAt};
use crate::report::ProblemKind;
use crate::subnet::{NodeIdx, Port, PortRef};

impl SubnetManager {
    /// Asks for every table that is not known to be there.
    pub(super) fn write_lanes(&mut self) {
        let Some(plan) = self.lanes.take() else {
            return;
        };
        let written_before = self.subnet.nodes().any(|(_, n)| !n.sl_to_vl.is_empty());
        if !plan.is_single() || written_before {
            let nodes: Vec<NodeIdx> = self.subnet.node_indices().collect();
            for n in nodes {
                self.write_lanes_of(&plan, n);
            }
        }
        self.lanes = Some(plan);
    }

    fn write_lanes_of(&mut self, plan: &LanePlan, n: NodeIdx) {
        let Some(node) = self.subnet.get(n) else {
            return;
        };
        let mut asks = Vec::new();
        let live: Vec<PortNum> = node
            .physical_ports()
            .filter(|p| {
                node.ports.get(p.index()).is_some_and(Port::is_up)
                    && self.subnet.peer(PortRef::new(n, *p)).is_some()
            })
            .collect();
        if node.is_switch() {
            for (at, table) in plan.switch_maps(n, node, &live) {
                if node.sl_to_vl.get(&at).is_none_or(|w| *w != table[..8]) {
                    asks.push(Ask::SetSlToVl(PortRef::new(n, PortNum::ZERO), at));
                }
            }
        }
        for &port in &live {
            let p = PortRef::new(n, port);
            let at = MapAt::EndPort(port);
            let map = plan.end_port_map(&self.subnet, p, &self.cfg);
            if let Some(map) = map
                && node.sl_to_vl.get(&at).is_none_or(|w| *w != map[..8])
            {
                asks.push(Ask::SetSlToVl(p, at));
            }
            let has = node
                .ports
                .get(port.index())
                .map(|port| &port.vl_arbitration);
            for (block, table) in plan.arbitration(&self.subnet, p, &self.cfg) {
                if has.is_none_or(|has| !has.contains(&(block, table))) {
                    asks.push(Ask::SetVlArb(p, block));
                }
            }
        }
        asks.into_iter().for_each(|ask| self.ask(ask));
    }

    /// The table that a Set carries, as it should be now.
    pub(super) fn wanted_map(&self, p: PortRef, at: MapAt) -> Option<[u8; 64]> {
        let plan = self.lanes.as_ref()?;
        let node = self.subnet.get(p.node)?;
        if !node.is_switch() {
            return plan.end_port_map(&self.subnet, p, &self.cfg);
        }
        plan.switch_map(p.node, at)
    }

    pub(super) fn wanted_arbitration(&self, p: PortRef, block: u8) -> Option<[u8; 64]> {
        let plan = self.lanes.as_ref()?;
        plan.arbitration(&self.subnet, p, &self.cfg)
            .into_iter()
            .find_map(|(b, table)| (b == block).then_some(table))
    }

    pub(super) fn on_map_set(&mut self, p: PortRef, at: MapAt, status: Status, data: &[u8; 64]) {
        let wanted = self.wanted_map(p, at);
        if status.is_ok() && wanted.is_some_and(|w| w[..8] == data[..8]) {
            if let Some(node) = self.subnet.get_mut(p.node) {
                let mut map = [0; 8];
                map.copy_from_slice(&data[..8]);
                // A table of all inputs takes the place of each one's, and the other way round.
                let (_, output) = at.ports();
                let other = |k: &MapAt| {
                    k.ports().1 == output
                        && matches!(k, MapAt::Output(_)) != matches!(at, MapAt::Output(_))
                };
                node.sl_to_vl.retain(|k, _| !other(k));
                node.sl_to_vl.insert(at, map);
            }
            return;
        }
        let short = matches!(at, MapAt::Output(_));
        if let Some(node) = self.subnet.get_mut(p.node)
            && short
            && !node.plain_sl_to_vl
        {
            // It says that it takes short forms and does not: pair by pair then.
            node.plain_sl_to_vl = true;
            if let Some(plan) = self.lanes.clone() {
                self.write_lanes_of(&plan, p.node);
            }
            return;
        }
        if short {
            return;
        }
        let attr = id::SL_TO_VL;
        self.lanes_not_taken(p, ProblemKind::Refused { attr, status });
    }

    pub(super) fn on_arbitration_set(
        &mut self,
        p: PortRef,
        block: u8,
        status: Status,
        data: &[u8; 64],
    ) {
        let taken = status.is_ok()
            && self
                .wanted_arbitration(p, block)
                .is_some_and(|w| w == *data);
        if let Some(port) = self.subnet.port_mut(p) {
            port.vl_arbitration.retain(|(b, _)| *b != block);
            if taken {
                port.vl_arbitration.push((block, *data));
            }
        }
        if !taken {
            let attr = id::VL_ARBITRATION;
            self.lanes_not_taken(p, ProblemKind::Refused { attr, status });
        }
    }

    /// A table is not there: it is told, and tried again with the next look at the switch.
    pub(super) fn lanes_not_taken(&mut self, p: PortRef, kind: ProblemKind) {
        self.unsure_ports.insert(p);
        self.problem(Some(p), kind);
    }
}
