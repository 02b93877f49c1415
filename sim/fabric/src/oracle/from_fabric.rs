//! Copies a [`FabricSnapshot`] from a simulated fabric's memory, without MADs.

use std::collections::BTreeMap;

use ferrosm_mad::attr::VlArb;
use ferrosm_mad::ids::{Lid, PKey};

use super::state::{FabricSnapshot, NodeSnapshot, PortSet, PortSnapshot, VlArbTables};
use crate::fabric::Fabric;
use crate::spec::{NodeIdx, PortAt};

impl From<&Fabric> for FabricSnapshot {
    fn from(fabric: &Fabric) -> Self {
        Self {
            nodes: (0..fabric.num_nodes()).map(|n| node(fabric, n)).collect(),
        }
    }
}

fn node(fabric: &Fabric, node: NodeIdx) -> NodeSnapshot {
    let ports = (0..=fabric.num_ports(node)).map(|port| PortAt { node, port });
    NodeSnapshot {
        name: fabric.description(node).to_string(),
        kind: fabric.kind(node),
        ports: ports.map(|at| port(fabric, at)).collect(),
        switch_info: fabric.switch_info(node).unwrap_or_default(),
        lft: fabric.lft(node).to_vec(),
        mft: mft(fabric, node),
    }
}

/// MFT entries with at least one port.
fn mft(fabric: &Fabric, node: NodeIdx) -> BTreeMap<Lid, PortSet> {
    let Some(switch) = &fabric.nodes[node].switch else {
        return BTreeMap::new();
    };
    let masks = switch.mft.chunks_exact(switch.positions.max(1));
    (0xC000..=0xFFFE_u16)
        .zip(masks)
        .filter(|(_, masks)| masks.iter().any(|m| *m != 0))
        .map(|(mlid, masks)| {
            let mask_of = |port: u8| masks.get(usize::from(port / 16)).copied().unwrap_or(0);
            let ports = (0..=254u8).filter(|port| mask_of(*port) >> (port % 16) & 1 != 0);
            (Lid(mlid), ports.collect())
        })
        .collect()
}

fn port(fabric: &Fabric, at: PortAt) -> PortSnapshot {
    let mut snapshot = PortSnapshot {
        peer: fabric.peer(at),
        info: fabric.port_info(at).unwrap_or_default(),
        reregisters: 0,
        pkeys: Some(vec![PKey::DEFAULT_FULL]),
        sl_to_vl: Vec::new(),
        vl_arb: None,
    };
    let Some(slot) = fabric.slot(at) else {
        return snapshot;
    };
    snapshot.reregisters = fabric.ports[slot].reregisters;
    let Some(tables) = &fabric.ports[slot].tables else {
        return snapshot;
    };
    if !tables.pkeys.is_empty() {
        let mut keys = fabric.pkeys(at);
        let used = keys.iter().rposition(|k| *k != PKey(0));
        keys.truncate(used.map_or(0, |last| last + 1));
        snapshot.pkeys = Some(keys);
    }
    snapshot.sl_to_vl.clone_from(&tables.sl_to_vl);
    if tables.vl_arb.iter().any(Option::is_some) {
        let blocks = |blocks: [usize; 2], cap: u8| {
            let entries = blocks
                .into_iter()
                .flat_map(|block| VlArb::decode(&fabric.ports[slot].vl_arb_block(block)).entries);
            entries.take(usize::from(cap)).collect()
        };
        snapshot.vl_arb = Some(Box::new(VlArbTables {
            low: blocks([0, 1], snapshot.info.vl_arbitration_low_cap),
            high: blocks([2, 3], snapshot.info.vl_arbitration_high_cap),
        }));
    }
    snapshot
}
