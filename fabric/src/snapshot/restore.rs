//! Nodes of a restored snapshot that do not respond to the SM that restored it.

use std::sync::Arc;

use ferrosm_mad::attr::PortInfo;
use ferrosm_mad::ids::Lid;
use ferrosm_mad::smp::DrPath;

use super::{Snapshot, padded};
use crate::observed::{Mft, Node, Port};

impl Snapshot {
    /// The node in a slot as it was observed last, without its links, reached by this path. The LFT
    /// of a switch is the last known one: it was not read. It has no SLtoVL tables, because another
    /// part of the restored state says whether they are still valid.
    #[must_use]
    pub fn observed_node(&self, slot: u32, path: DrPath) -> Node {
        let known = self.node(slot);
        let mut node = Node::new(known.node_info(), path);
        node.description = known.node_description();
        node.is_description_current = true;
        if let Some(switch) = &known.switch {
            node.switch_raw = Some(padded(&switch.info));
            node.had_lft_top = known
                .switch_info()
                .is_some_and(|info| info.linear_fdb_top != 0);
            node.lft.last_known.clone_from(&switch.lft);
            node.mft = Mft::restored(Arc::clone(&switch.mft));
        }
        for (at, port) in self.ports_of_node(slot) {
            if !port.has_port_info {
                continue;
            }
            let end_port = self.end_port_at(at).map(|end| self.end_port(end).guid);
            if let Some(restored) = node.ports.get_mut(port.num.index()) {
                restored.known = true;
                restored.raw = port.raw.clone();
                restored.pkeys = port.pkeys.clone();
                restored.fdr10 = port.fdr10;
                restored.vl_arbitration = port.vl_arbitration.clone();
                restored.guid = end_port.unwrap_or(restored.guid);
            }
        }
        node
    }

    /// Whether a node is the one in a slot, and no other SM has configured it since: its end ports
    /// have the LIDs and the master of that time, or `own_lid` is their master by now.
    #[must_use]
    pub fn is_as_configured(&self, slot: u32, node: &Node, own_lid: Lid) -> bool {
        node.end_ports().all(|num| {
            let Some(was) = self.port_by_num(slot, num).map(|at| self.port(at)) else {
                return false;
            };
            let before = PortInfo::decode(&was.raw);
            let now = node.ports.get(num.index()).map(Port::info);
            now.is_some_and(|now| {
                was.has_port_info
                    && now.lid == before.lid
                    && [before.master_sm_lid, own_lid].contains(&now.master_sm_lid)
            })
        })
    }
}
