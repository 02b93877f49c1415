//! Adoption of the routing that an earlier run or another SM installed.
//!
//! First the LFTs read from the switches are tried, with the persisted VLs and tree constraint;
//! these need no write. If they are rejected, the persisted LFTs are rerouted around the links lost
//! since: the result is that of the last master, so an update that it did not finish is completed.
//! Both are verified like the tables of an engine. Pure.

use std::sync::Arc;

use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_mad::ids::NodeGuid;
use ferrosm_routing::table_limits::{LimitedSwitch, completed_table};
use ferrosm_routing::update::adopt::{AdoptError, adopt};
use ferrosm_routing::{
    Lft, PreviousRouting, Proof, RerouteCache, Routing, RoutingRequest, Tables, Topology,
    VerifiedRun, reroute_installed, route_within_vl_plan,
};

use crate::config::SmConfig;
use crate::records::routing::RoutingRecord;
use crate::report::routing_failure::AdoptionRejection;
use crate::report::routing_message::RoutingMessage;

/// A persisted routing that may be installed.
#[derive(Debug, Clone)]
pub struct InheritedRouting {
    pub routing: Arc<RoutingRecord>,
    /// The snapshot persisted with it, with the LFTs.
    pub snapshot: Option<Arc<Snapshot>>,
    /// The current configuration.
    pub cfg: Arc<SmConfig>,
    /// The switches of the current graph, by index.
    pub guids: Vec<NodeGuid>,
}

/// A routing that was adopted, or computed by an engine.
#[derive(Debug)]
pub struct AdoptedRouting {
    pub routing: Routing,
    pub proof: Proof,
    /// [`VerifiedRun::baseline_max_load`].
    pub baseline_max_load: u64,
    /// [`VerifiedRun::cache`].
    pub cache: RerouteCache,
    /// Message for the report; `None` for an engine's routing.
    pub message: Option<RoutingMessage>,
}

fn completed_tables(topo: &Topology, mut tables: Tables, limited: &[LimitedSwitch]) -> Tables {
    for limited in limited {
        if let Some(lft) = tables.get_mut(limited.switch.index()) {
            *lft = Arc::new(completed_table(topo, lft, *limited));
        }
    }
    tables
}

impl InheritedRouting {
    /// Verifies the routing. `installed` are the LFTs of the switches, `limited` those that cannot
    /// hold all LIDs: these are completed, because they drop packets and mislead none.
    ///
    /// # Errors
    /// The reason for the rejection.
    pub fn adopt(
        &self,
        request: &RoutingRequest<'_>,
        installed: &[Option<Arc<Lft>>],
        limited: &[LimitedSwitch],
    ) -> Result<AdoptedRouting, AdoptionRejection> {
        let tables: Option<Tables> = installed.iter().cloned().collect();
        let tables = tables.map(|tables| completed_tables(request.topo, tables, limited));
        let adopted = self.adopt_installed(request, tables);
        adopted.or_else(|rejection| self.reroute_persisted(request, limited).ok_or(rejection))
    }

    fn adopt_installed(
        &self,
        request: &RoutingRequest<'_>,
        installed: Option<Tables>,
    ) -> Result<AdoptedRouting, AdoptionRejection> {
        if self.cfg.routing_inputs() != *self.routing.inputs() {
            return Err(AdoptionRejection::OtherSettings);
        }
        let tables = installed.ok_or(AdoptionRejection::Tables(AdoptError::MissingTables))?;
        let run = self.routing.to_verified_run(&self.guids, tables);
        let VerifiedRun {
            topo,
            routing,
            baseline_max_load,
            ..
        } = run.ok_or(AdoptionRejection::OtherSwitches)?;
        // Which SLs hosts use to a LID that was added later is unknown.
        let has_several_vls = !routing.vl_plan.is_single();
        if has_several_vls && request.topo.destinations() != topo.destinations() {
            return Err(AdoptionRejection::OtherLids);
        }
        let tables = routing.tables.clone();
        let (routing, proof) = adopt(
            request.topo,
            routing,
            request.usable_vls(),
            baseline_max_load,
        )
        .map_err(AdoptionRejection::Tables)?;
        let changed = tables.iter().zip(&routing.tables);
        let cleared_lfts = changed.filter(|(a, b)| !Arc::ptr_eq(a, b)).count();
        Ok(AdoptedRouting {
            routing,
            proof,
            baseline_max_load,
            cache: RerouteCache::new(),
            message: Some(RoutingMessage::InstalledLftsAdopted { cleared_lfts }),
        })
    }

    /// The persisted routing as the last run.
    fn persisted_run(
        &self,
        request: &RoutingRequest<'_>,
        limited: &[LimitedSwitch],
    ) -> Option<PreviousRouting> {
        let snapshot = self.snapshot.as_ref()?;
        let table = |guid: &NodeGuid| {
            let node = snapshot.node(snapshot.by_node_guid(*guid)?);
            node.switch.as_ref()?.lft.clone()
        };
        let mut previous = request.previous.clone();
        let tables: Option<Tables> = self.guids.iter().map(table).collect();
        let tables = tables.map(|tables| completed_tables(request.topo, tables, limited));
        let last = self.routing.to_verified_run(&self.guids, tables?)?;
        previous.last_run = Some(Arc::new(last));
        Some(previous)
    }

    fn reroute_persisted(
        &self,
        request: &RoutingRequest<'_>,
        limited: &[LimitedSwitch],
    ) -> Option<AdoptedRouting> {
        if self.cfg.routing_inputs() != *self.routing.inputs() {
            return None;
        }
        let previous = self.persisted_run(request, limited)?;
        let baseline_max_load = previous.run()?.baseline_max_load;
        let request = request.with_previous(&previous);
        let (routing, proof, cache) = match reroute_installed(&request) {
            Some(selection) => {
                let (routing, proof) = selection.chosen?;
                (routing, proof, selection.cache)
            }
            None => {
                let (routing, proof) = route_within_vl_plan(&request)?;
                if routing.vl_plan != previous.run()?.routing.vl_plan {
                    return None;
                }
                (routing, proof, RerouteCache::new())
            }
        };
        Some(AdoptedRouting {
            routing,
            proof,
            baseline_max_load,
            cache,
            message: Some(RoutingMessage::PersistedRoutingContinued),
        })
    }
}
