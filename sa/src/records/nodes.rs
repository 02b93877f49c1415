//! NodeRecord: one for each end port, with the port's PortGUID and LocalPortNum
//! (docs/sm-behaviour.md 7.13).

use ferrosm_fabric::snapshot::EndPortIdx;
use ferrosm_mad::attr::NodeInfo;
use ferrosm_mad::ids::{NodeGuid, PortGuid};
use ferrosm_mad::sa::tables::NodeRecord;
use ferrosm_mad::wire::get_bits;

use super::Search;
use crate::message::SaReply;
use crate::view::View;

/// Indexed components, and their bit offsets.
const SYSTEM_IMAGE_GUID: (u64, usize) = (1 << 6, 64);
const NODE_GUID: (u64, usize) = (1 << 7, 128);
const PORT_GUID: (u64, usize) = (1 << 8, 192);
/// All indexed components.
pub(super) const INDEXED: u64 = SYSTEM_IMAGE_GUID.0 | NODE_GUID.0 | PORT_GUID.0;

pub(super) fn answer(search: &Search<'_>) -> SaReply {
    let mut matches = search.matches::<NodeRecord>();
    let mut add =
        |at: EndPortIdx| search.is_visible(at) && matches.push_if_match(&record(search.view, at));
    let requested = |(component, bit): (u64, usize)| {
        search
            .request
            .has(component)
            .then(|| get_bits(search.request.data, bit, 64))
    };
    if search.lid().is_some() {
        let _ = search.end_ports().any(&mut add);
    } else if let Some(guid) = requested(PORT_GUID) {
        let at = search.view.by_guid(PortGuid(guid));
        let _ = at.into_iter().any(&mut add);
    } else if let Some(guid) = requested(NODE_GUID) {
        let mut nodes = search.view.by_node_guid(NodeGuid(guid)).into_iter();
        let _ = nodes.any(|node| search.view.end_ports_of_node(node).any(&mut add));
    } else if let Some(guid) = requested(SYSTEM_IMAGE_GUID) {
        let mut nodes = search.view.by_system_image_guid(guid);
        let _ = nodes.any(|node| search.view.end_ports_of_node(node).any(&mut add));
    } else {
        let _ = search.end_ports().any(&mut add);
    }
    search.reply(matches)
}

fn record(view: &View, at: EndPortIdx) -> [u8; NodeRecord::LEN] {
    let end_port = view.end_port(at);
    let node = view.node(end_port.node);
    let mut info = [0; 64];
    info[..node.info.len()].copy_from_slice(&node.info);
    let mut info = NodeInfo::decode(&info);
    info.port_guid = end_port.guid;
    // For a switch this is port 0, not the port by which it was discovered.
    info.local_port_num = view.port(end_port.port).num;
    let mut node_info = [0; 40];
    node_info.copy_from_slice(&info.encode()[..40]);
    NodeRecord {
        lid: end_port.lid,
        node_info,
        node_description: node.description,
    }
    .encode()
}
