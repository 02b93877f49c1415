//! State that an earlier SM left in devices: the installed routing, SLtoVL and VLArb tables
//! (reading all of them would take too long), and hosts with registrations.
//!
//! An adopted routing is verified like a new one ([`crate::routing::adopt`]). State of a device
//! that may have been reset or reconfigured is written again.

use std::sync::Arc;

use ferrosm_fabric::observed::{Node, NodeIdx, ObservedFabric, Port};
use ferrosm_fabric::routing_origin::SlToVlEpoch;
use ferrosm_fabric::snapshot::{Snapshot, SnapshotPort};
use ferrosm_mad::attr::PortInfo;
use ferrosm_mad::ids::Lid;

use super::Adoption;
use crate::config::SmConfig;
use crate::records::RestoredState;
use crate::records::routing::RoutingRecord;
use crate::routing::adopt::InheritedRouting;
use crate::vls::InheritedVls;

/// The known state of devices.
#[derive(Debug, Default)]
pub(super) struct InstalledState {
    routing: Option<Arc<RoutingRecord>>,
    snapshot: Option<Arc<Snapshot>>,
    /// The restored registrations are complete.
    registrations_complete: bool,
    vl_tables: PersistedVlTables,
}

/// The state of the SLtoVL and VLArb tables in devices.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum PersistedVlTables {
    /// Nothing is recorded: a device has the tables of an earlier SM or its power-up tables.
    #[default]
    NotRecorded,
    /// As in the snapshot, if the device has not been reset or configured since.
    AsPersisted,
    /// An SM failed while it wrote them: the table of each device is either the old or the new one.
    PartlyWritten,
}

/// The last persisted epoch of the SLtoVL and VLArb tables, whichever SM persisted it.
pub(crate) fn last_epoch(restored: &RestoredState) -> SlToVlEpoch {
    restored.sl_to_vl_epoch.max(epoch_of_routing(restored))
}

fn epoch_of_routing(restored: &RestoredState) -> SlToVlEpoch {
    let routing = restored.routing.as_ref();
    routing.map_or(SlToVlEpoch::NEVER, |routing| routing.sl_to_vl_epoch())
}

impl InstalledState {
    pub(super) fn new(restored: &RestoredState) -> Self {
        let vl_tables = if restored.sl_to_vl_epoch != epoch_of_routing(restored) {
            PersistedVlTables::PartlyWritten
        } else if restored.complete {
            PersistedVlTables::AsPersisted
        } else {
            // Later records may be missing, the epoch among them.
            PersistedVlTables::NotRecorded
        };
        Self {
            vl_tables,
            routing: restored.routing.clone(),
            snapshot: restored.snapshot.as_ref().map(|s| Arc::clone(&s.snapshot)),
            registrations_complete: restored.complete,
        }
    }

    /// The VL tables of a node that has not been reset or reconfigured since they were recorded.
    /// `announced` is as in [`Adoption::inherited_vls`].
    fn persisted_vls(&self, node: &Node, announced: Option<Lid>) -> Option<InheritedVls> {
        let routing = self.routing.as_ref()?;
        let snapshot = self.snapshot.as_ref()?;
        let guid = node.info.node_guid;
        let slot = snapshot.by_node_guid(guid)?;
        let persisted_ports = snapshot.ports(slot);
        let arbitration = persisted_ports
            .iter()
            .map(|port| port.vl_arbitration.clone());
        is_unchanged(node, persisted_ports, announced).then(|| InheritedVls::Known {
            sl_to_vl: snapshot.node(slot).sl_to_vl.clone(),
            vl_arbitration: arbitration.collect(),
            is_incomplete: routing.has_incomplete_vl_tables(guid),
        })
    }
}

impl Adoption {
    /// Whether the registrations of the host behind an end port are restored, so that it need not
    /// repeat them: the last master had the port in its subnet, and no other SM has been its master
    /// since.
    pub(crate) fn has_registrations_of(&self, port: &Port, sm_lid: Option<Lid>) -> bool {
        let installed = &self.installed;
        if !installed.registrations_complete {
            return false;
        }
        // Without a snapshot there is nothing to compare with.
        let Some(snapshot) = &installed.snapshot else {
            return true;
        };
        // A port that left the subnet lost its registrations with the master that saw it leave.
        let persisted_port = snapshot.by_guid(port.guid).map(|at| snapshot.end_port(at));
        let info = port.info();
        let masters = [snapshot.identity().map(|identity| identity.lid), sm_lid];
        persisted_port.is_some_and(|was| was.guid == port.guid && was.lid == info.lid)
            && masters.contains(&Some(info.master_sm_lid))
    }

    /// Marks registrations as incomplete, because the restored state is of another subnet or of an
    /// earlier master.
    pub(crate) const fn mark_registrations_incomplete(&mut self) {
        self.installed.registrations_complete = false;
    }

    /// Whether another SM persisted the installed state. It may have changed devices since.
    pub(crate) fn is_of_another_sm(&self, fabric: &ObservedFabric) -> bool {
        let snapshot = self.installed.snapshot.as_ref();
        let identity = snapshot.and_then(|snapshot| snapshot.identity());
        let local_port = fabric.local().and_then(|p| fabric.port(p));
        identity
            .zip(local_port)
            .is_some_and(|(last, own)| last.port != own.guid)
    }

    /// The routing that may stay installed on these switches.
    pub(crate) fn installed_routing(
        &self,
        fabric: &ObservedFabric,
        cfg: &SmConfig,
        switches: &[NodeIdx],
    ) -> Option<InheritedRouting> {
        let routing = Arc::clone(self.installed.routing.as_ref()?);
        let guid = |n: &NodeIdx| Some(fabric.get(*n)?.info.node_guid);
        Some(InheritedRouting {
            routing,
            snapshot: self.installed.snapshot.clone(),
            cfg: Arc::new(cfg.clone()),
            guids: switches.iter().filter_map(guid).collect(),
        })
    }

    /// SLtoVL or VLArb tables are about to be written.
    pub(crate) const fn on_vl_tables_changing(&mut self) {
        self.installed.vl_tables = PersistedVlTables::PartlyWritten;
    }

    /// What is known of a node's VL tables. `announced` is the SM LID that this sweep may have
    /// written to ports already.
    pub(crate) fn inherited_vls(&self, node: &Node, announced: Option<Lid>) -> InheritedVls {
        let installed = &self.installed;
        match installed.vl_tables {
            PersistedVlTables::NotRecorded => InheritedVls::NotRecorded,
            PersistedVlTables::PartlyWritten => InheritedVls::PartlyWritten,
            PersistedVlTables::AsPersisted => installed
                .persisted_vls(node, announced)
                .unwrap_or(InheritedVls::NotRecorded),
        }
    }
}

/// Whether a node has been neither reset nor reconfigured: a reset would have cleared its LID
/// together with the tables, and another master would have written its own LID to the node's ports.
fn is_unchanged(node: &Node, persisted_ports: &[SnapshotPort], announced: Option<Lid>) -> bool {
    let mut any = false;
    for num in node.end_ports() {
        let Some((port, was)) = node
            .ports
            .get(num.index())
            .zip(persisted_ports.get(num.index()))
        else {
            return false;
        };
        let (current, persisted) = (port.info(), PortInfo::decode(&was.raw));
        let same_master = current.master_sm_lid == persisted.master_sm_lid
            || Some(current.master_sm_lid) == announced;
        if current.lid == Lid::NONE || current.lid != persisted.lid || !same_master {
            return false;
        }
        any = true;
    }
    let has_lft = node.switch_info().is_none_or(|s| s.linear_fdb_top > 0);
    any && has_lft
}
