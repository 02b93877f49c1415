//! The observed fabric as subnet administration reads it.

use ferrosm_mad::ids::{PortGuid, PortNum};

use super::SubnetManager;
use crate::partitions;
use crate::sa::keys::Keys;
use crate::sa::view::{ObservedFabric, ObservedNode, ObservedPort, PortIdx};
use crate::subnet::{NodeIdx, PortRef};

/// Place of a node in views.
fn place(node: NodeIdx) -> u32 {
    u32::try_from(node.index()).unwrap_or(u32::MAX)
}

fn port_idx(port: PortRef) -> PortIdx {
    PortIdx::new(place(port.node), port.port)
}

impl ObservedFabric for SubnetManager {
    fn nodes(
        &self,
    ) -> impl Iterator<Item = ObservedNode<'_, impl Iterator<Item = ObservedPort<'_>> + Clone>>
    {
        self.subnet.nodes().map(move |(idx, node)| ObservedNode {
            place: place(idx),
            revision: node.revision(),
            info: &node.info,
            description: &node.description,
            switch_info: node.switch_raw.as_ref(),
            lft: node.installed.as_ref().or(node.last_known.as_ref()),
            mft: &node.mft.known,
            sl_to_vl: &node.sl_to_vl,
            ports: (0u8..)
                .map(PortNum)
                .zip(&node.ports)
                .map(move |(num, port)| ObservedPort {
                    guid: port.guid,
                    raw: &port.raw,
                    known: port.known,
                    is_end_port: node.is_end_port(num),
                    fdr10: port.fdr10,
                    keys: &port.keys,
                    checks_keys: port.checks_keys,
                    vl_arbitration: &port.vl_arbitration,
                    peer: self.subnet.peer(PortRef::new(idx, num)).map(port_idx),
                }),
        })
    }

    fn port_by_guid(&self, guid: PortGuid) -> Option<PortIdx> {
        self.subnet.port_by_guid(guid).map(port_idx)
    }

    fn pkeys(&self, port: PortIdx) -> Option<Keys> {
        let node = self.subnet.at_place(port.node())?;
        let at = PortRef::new(node, port.num());
        Some(partitions::effective_keys(&self.subnet, &self.cfg, at))
    }

    fn local(&self) -> Option<PortIdx> {
        self.subnet.local().map(port_idx)
    }

    fn guids_revision(&self) -> u64 {
        self.subnet.guids_revision()
    }
}
