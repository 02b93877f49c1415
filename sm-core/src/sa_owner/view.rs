//! The view of the observed fabric from which the SA replies. Free functions of the fabric and
//! plain data.

use std::sync::Arc;

use ferrosm_mad::attr::SmInfo;
use ferrosm_mad::ids::{Lid, MKey, PortGuid, PortNum};
use ferrosm_mad::sa::tables::SmInfoRecord;
use ferrosm_routing::VerifiedRun;

use crate::config::SmConfig;
use crate::partitions;
use crate::routing_origin::RoutingOrigin;
use crate::sa::View;
use crate::sa::aliases::AliasTables;
use crate::sa::pkey_set::PKeySet;
use crate::sa::view::{ObservedFabric, ObservedNode, ObservedPort, PortIdx, ViewExtras};
use crate::subnet::{NodeIdx, PortRef, Subnet};

/// What a view shows besides the fabric and the registrations.
#[derive(Debug)]
pub(crate) struct ViewInputs {
    /// The routing in force, and the slot of each of its switches.
    pub(crate) run: Option<(Arc<VerifiedRun>, Vec<usize>)>,
    /// Where the routing comes from.
    pub(crate) origin: Option<RoutingOrigin>,
    /// SMs, this one first.
    pub(crate) sms: Vec<SmInfoRecord>,
}

/// The view of the subnet as it is now. It shares unchanged parts with `before`, the last view of
/// the fabric.
pub(crate) fn build_view(
    fabric: &Subnet,
    cfg: &SmConfig,
    inputs: ViewInputs,
    aliases: &Arc<AliasTables>,
    before: Option<&View>,
) -> View {
    let extra = ViewExtras {
        run: inputs.run,
        origin: inputs.origin.map(Arc::new),
        sms: inputs.sms,
        aliases: Arc::clone(aliases),
    };
    View::new(&Observed { fabric, cfg }, cfg.sa_settings(), extra, before)
}

/// The SMInfoRecord of an SM, without its SM_Key (which has the type of an M_Key).
pub(crate) const fn sm_record(lid: Lid, info: &SmInfo) -> SmInfoRecord {
    SmInfoRecord {
        lid,
        guid: info.guid,
        sm_key: MKey::NONE,
        act_count: info.act_count,
        priority: info.priority,
        sm_state: info.sm_state,
    }
}

/// The observed fabric as views are built from it.
struct Observed<'a> {
    fabric: &'a Subnet,
    cfg: &'a SmConfig,
}

/// The slot of a node in views.
fn node_slot(node: NodeIdx) -> u32 {
    u32::try_from(node.index()).unwrap_or(u32::MAX)
}

fn port_idx(port: PortRef) -> PortIdx {
    PortIdx::new(node_slot(port.node), port.port)
}

impl ObservedFabric for Observed<'_> {
    fn nodes(
        &self,
    ) -> impl Iterator<Item = ObservedNode<'_, impl Iterator<Item = ObservedPort<'_>> + Clone>>
    {
        self.fabric.nodes().map(move |(idx, node)| ObservedNode {
            slot: node_slot(idx),
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
                    has_port_info: port.known,
                    is_end_port: node.is_end_port(num),
                    fdr10: port.fdr10,
                    pkeys: &port.pkeys,
                    enforces_partitions: port.enforces_p_keys,
                    vl_arbitration: &port.vl_arbitration,
                    peer: self.fabric.peer(PortRef::new(idx, num)).map(port_idx),
                }),
        })
    }

    fn port_by_guid(&self, guid: PortGuid) -> Option<PortIdx> {
        self.fabric.port_by_guid(guid).map(port_idx)
    }

    fn pkeys(&self, port: PortIdx) -> Option<PKeySet> {
        let node = self.fabric.node_at_index(port.node())?;
        let at = PortRef::new(node, port.num());
        Some(partitions::effective_keys(self.fabric, self.cfg, at))
    }

    fn local(&self) -> Option<PortIdx> {
        self.fabric.local().map(port_idx)
    }

    fn guids_revision(&self) -> u64 {
        self.fabric.guids_revision()
    }
}
