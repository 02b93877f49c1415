//! The tables that switches keep because they reject writes, do not respond, or wait for consent,
//! as a constraint on the routing. Pure.

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_mad::attr::{LFT_BLOCK_LEN, SlToVl, VlArb};
use ferrosm_mad::ids::PortNum;
use ferrosm_routing::{DATA_VLS_MAX, KeptSwitch, KeptTables, SlToVlMaps, Topology};

use ferrosm_fabric::observed::{DeviceTable, Node, NodeIdx, ObservedFabric, PortRef};
use ferrosm_fabric::tables::sl_to_vl::SlToVlSelector;

/// LIDs of one forwarding table block.
const BLOCK_LIDS: u16 = 64;

/// The tables that the switches of a graph keep. `nodes` are its switches.
pub(crate) fn kept_tables(
    fabric: &ObservedFabric,
    topo: &Topology,
    nodes: &[NodeIdx],
) -> KeptTables {
    let mut kept = KeptTables::default();
    for (n, switch) in nodes.iter().zip(topo.switches()) {
        let Some(node) = fabric.get(*n) else {
            continue;
        };
        let installed = node.lft.installed.as_ref().or(node.lft.last_known.as_ref());
        let entries =
            |block| installed.map_or([PortNum::DROP.0; LFT_BLOCK_LEN], |lft| lft.block(block));
        // Blocks beyond its LFT are not written any more.
        let num_blocks = node.table_caps().lft.div_ceil(BLOCK_LIDS);
        // The LFT of a switch that does not respond cannot be written.
        let keeps_all = node.is_unresponsive && installed.is_some();
        let used_blocks = topo.top_lid().0 / BLOCK_LIDS + 1;
        let all_blocks = 0..if keeps_all { used_blocks } else { 0 };
        let blocks = node.rejections.kept_lft_blocks().chain(all_blocks);
        let blocks = blocks.filter(|block| *block < num_blocks);
        let lft_blocks: BTreeMap<_, _> = blocks.map(|block| (block, entries(block))).collect();
        let keeps_sl_to_vl = node.keeps(DeviceTable::SlToVl(PortNum::ZERO))
            || (keeps_all && !node.vls.sl_to_vl.is_empty());
        let sl_to_vl = keeps_sl_to_vl.then(|| sl_to_vl_maps(node));
        if keeps_sl_to_vl || !lft_blocks.is_empty() {
            kept.insert(
                switch,
                KeptSwitch {
                    lft_blocks,
                    sl_to_vl,
                },
            );
        }
    }
    kept
}

/// Data VLs that a port serves, as far as the VLArbitrationTable that it keeps limits them; at
/// least VL 0.
pub(crate) fn weighted_vls(fabric: &ObservedFabric, p: PortRef) -> u8 {
    let Some((node, port)) = fabric.get(p.node).zip(fabric.port(p)) else {
        return DATA_VLS_MAX;
    };
    if !node.keeps(DeviceTable::VlArbitration(p.port)) {
        return DATA_VLS_MAX;
    }
    let entries = port
        .vl_arbitration
        .iter()
        .flat_map(|(_, block)| VlArb::decode(block).entries);
    let weighted: BTreeSet<u8> = entries
        .filter(|entry| entry.weight > 0)
        .map(|entry| entry.vl.0)
        .collect();
    let first_without = (1..DATA_VLS_MAX).find(|vl| !weighted.contains(vl));
    first_without.unwrap_or(DATA_VLS_MAX)
}

/// The known SLtoVLMappingTables of a switch. It maps all SLs to VL 0 for ports that operate one
/// VL, which have no table. That is also assumed for a table that cannot be read: with a routing on
/// one VL, packets cannot deadlock whatever the table has.
fn sl_to_vl_maps(node: &Node) -> SlToVlMaps {
    let mut maps = SlToVlMaps::uniform(node.info.num_ports, [0; 16]);
    for (selector, bytes) in &node.vls.sl_to_vl {
        let mut data = [0; 64];
        data[..8].copy_from_slice(bytes);
        let map = SlToVl::decode(&data).vls.map(|vl| vl.0);
        match *selector {
            SlToVlSelector::Pair(input, output) => maps.set(input, output, map),
            SlToVlSelector::Output(output) => {
                for input in (0..=node.info.num_ports).map(PortNum) {
                    maps.set(input, output, map);
                }
            }
            SlToVlSelector::EndPort(_) => {}
        }
    }
    maps
}
