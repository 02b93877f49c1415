//! Writes the lanes of the routing in force: SLtoVLMappingTables and VLArbitrationTables, before links are armed (rule
//! 13.5), and only those that differ from what the SM wrote before.
//!
//! What a device has that this SM did not write is not read: that takes a question for each pair of ports, and most
//! switches take one Set for all inputs. So every table is written once after the SM came, and again after a reboot of the
//! device, unless it was kept what the last one wrote, and the device is as it was then ([`super::inherit`]). Only devices
//! that nobody has configured yet are left alone by a routing on one lane, because theirs are as they should be: SL 0 on VL 0
//! (rule 13.1). That tables are about to be written is kept first: whoever dies over it leaves devices of which nobody knows.

use std::sync::Arc;

use ferrosm_mad::attr::id;
use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_mad::mad::Status;

use super::SubnetManager;
use crate::plan::lanes::LanePlan;
use crate::report::ProblemKind;
use crate::smp::op::SmpOp;
use crate::subnet::{LeftLanes, Node, NodeIdx, Port, PortRef};
use crate::tables::sl_to_vl::SlToVlSelector;

impl SubnetManager {
    /// Before anything is written: which devices another SM may have configured.
    pub(super) fn look_for_foreign_lanes(&mut self) {
        let nodes: Vec<NodeIdx> = self.subnet.node_indices().collect();
        for n in nodes {
            let known = |node: &Node| node.left_lanes != LeftLanes::Unknown;
            if self.subnet.get(n).is_none_or(known) {
                continue;
            }
            if self.inherit_lanes(n) {
                continue;
            }
            let Some(node) = self.subnet.get_mut(n) else {
                continue;
            };
            // What wakes up has neither a table nor a LID.
            let configured = match node.switch_info() {
                Some(info) => info.linear_fdb_top > 0,
                None => node.end_ports().any(|p| {
                    let port = node.ports.get(p.index());
                    port.is_some_and(|port| port.info().lid != Lid::NONE)
                }),
            };
            node.left_lanes = if configured {
                LeftLanes::Foreign
            } else {
                LeftLanes::AsWoken
            };
        }
    }

    /// Asks for every table that is not known to be there; whether there is any.
    pub(super) fn write_lanes(&mut self) -> bool {
        let Some(plan) = self.lanes.take() else {
            return false;
        };
        let mut any = false;
        let nodes: Vec<NodeIdx> = self.subnet.node_indices().collect();
        for n in nodes {
            let Some(node) = self.subnet.get(n) else {
                continue;
            };
            let as_woken = node.sl_to_vl.is_empty() && node.left_lanes != LeftLanes::Foreign;
            if plan.is_single() && as_woken {
                continue;
            }
            let all = plan.fingerprint(&self.subnet, n, &self.cfg);
            if node.lanes_checked == Some(all) {
                continue;
            }
            let complete = !self.write_lanes_of(&plan, n);
            any |= !complete;
            if let Some(node) = self.subnet.get_mut(n) {
                node.lanes_checked = complete.then_some(all);
            }
        }
        self.lanes = Some(plan);
        any
    }

    /// Asks for a node's tables that are not known to be there; whether there is any.
    fn write_lanes_of(&mut self, plan: &LanePlan, n: NodeIdx) -> bool {
        let Some(node) = self.subnet.get(n) else {
            return false;
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
                    asks.push(SmpOp::SetSlToVl(PortRef::new(n, PortNum::ZERO), at));
                }
            }
        }
        for &port in &live {
            let p = PortRef::new(n, port);
            let at = SlToVlSelector::EndPort(port);
            let map = plan.end_port_map(&self.subnet, p, &self.cfg);
            if let Some(map) = map
                && node.sl_to_vl.get(&at).is_none_or(|w| *w != map[..8])
            {
                asks.push(SmpOp::SetSlToVl(p, at));
            }
            let has = node
                .ports
                .get(port.index())
                .map(|port| &port.vl_arbitration);
            for (block, table) in plan.arbitration(&self.subnet, p, &self.cfg) {
                if has.is_none_or(|has| !has.contains(&(block, table))) {
                    asks.push(SmpOp::SetVlArbitration(p, block));
                }
            }
        }
        let any = !asks.is_empty();
        if any {
            self.mark_lanes();
        }
        for op in asks {
            self.forget_lanes(op);
            self.enqueue(op);
        }
        any
    }

    /// From the moment that a Set goes out until it is answered nobody knows what is there: the Set may be taken and its
    /// answer lost.
    fn forget_lanes(&mut self, op: SmpOp) {
        let Some((place, node)) = op
            .port()
            .and_then(|p| Some((p, self.subnet.get_mut(p.node)?)))
        else {
            return;
        };
        node.left_lanes = LeftLanes::Foreign;
        node.read_lanes = Arc::default();
        if let SmpOp::SetSlToVl(_, at) = op {
            node.sl_to_vl.remove(&at);
        } else if let SmpOp::SetVlArbitration(_, block) = op
            && let Some(port) = node.ports.get_mut(place.port.index())
        {
            port.forget_vl_arbitration(block);
        }
    }

    /// The table that a Set carries, as it should be now.
    pub(super) fn wanted_map(&self, p: PortRef, at: SlToVlSelector) -> Option<[u8; 64]> {
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

    pub(super) fn on_map_set(
        &mut self,
        p: PortRef,
        at: SlToVlSelector,
        status: Status,
        data: &[u8; 64],
    ) {
        let wanted = self.wanted_map(p, at);
        if status.is_ok() && wanted.is_some_and(|w| w[..8] == data[..8]) {
            if let Some(node) = self.subnet.get_mut(p.node) {
                let mut map = [0; 8];
                map.copy_from_slice(&data[..8]);
                // A table of all inputs takes the place of each one's, and the other way round.
                let (_, output) = at.ports();
                let other = |k: &SlToVlSelector| {
                    k.ports().1 == output
                        && matches!(k, SlToVlSelector::Output(_))
                            != matches!(at, SlToVlSelector::Output(_))
                };
                node.sl_to_vl.retain(|k, _| !other(k));
                node.sl_to_vl.insert(at, map);
            }
            return;
        }
        let short = matches!(at, SlToVlSelector::Output(_));
        if let Some(node) = self.subnet.get_mut(p.node)
            && short
            && !node.plain_sl_to_vl
        {
            // It says that it takes short forms and does not: pair by pair then.
            node.plain_sl_to_vl = true;
            if let Some(plan) = self.lanes.clone() {
                let _ = self.write_lanes_of(&plan, p.node);
            }
            return;
        }
        if short {
            return;
        }
        let attr = id::SL_TO_VL;
        self.map_not_taken(p, ProblemKind::Refused { attr, status });
    }

    /// The same for a table of VLs. What a CA does not take keeps its own packets back, nobody else's.
    pub(super) fn map_not_taken(&mut self, p: PortRef, kind: ProblemKind) {
        let switch = self.subnet.get(p.node).is_some_and(Node::is_switch);
        if self.lfts.is_ordered() && switch {
            self.lfts.block_on(p);
        }
        self.lanes_not_taken(p, kind);
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
            if taken {
                port.put_vl_arbitration(block, *data);
            } else {
                port.forget_vl_arbitration(block);
            }
        }
        if !taken {
            let attr = id::VL_ARBITRATION;
            self.lanes_not_taken(p, ProblemKind::Refused { attr, status });
        }
    }

    /// A table is not there: it is told, and tried again with the next look at the switch.
    pub(super) fn lanes_not_taken(&mut self, p: PortRef, kind: ProblemKind) {
        self.schedule.reread_port_later(p);
        self.problem(Some(p), kind);
    }
}
