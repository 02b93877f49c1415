//! Adoption of the routing that an earlier run or another SM installed.
//!
//! First the LFTs read from the switches are tried, with the persisted VLs and tree constraint; then nothing is written. If they are
//! rejected, the persisted LFTs are rerouted around the links lost since: the result is the one of the last master, so an update that it
//! did not finish is completed. Both are verified like the tables of an engine. Pure.

use std::sync::Arc;

use ferrosm_mad::ids::NodeGuid;
use ferrosm_routing::adopt::{AdoptError, adopt};
use ferrosm_routing::select::NO_FALLBACK;
use ferrosm_routing::{
    LastRun, Lft, Previous, Proof, Request, RerouteCache, Routing, SwitchIdx, Tables, route_with,
};

use crate::config::SmConfig;
use crate::records::routing::RoutingRecord;
use crate::sa::View;

/// A persisted routing that may be installed.
#[derive(Debug, Clone)]
pub struct InheritedRouting {
    /// The routing record.
    pub routing: Arc<RoutingRecord>,
    /// The view persisted with it, with the LFTs.
    pub view: Option<Arc<View>>,
    /// The current configuration.
    pub cfg: Arc<SmConfig>,
    /// The switches of the current graph, by index.
    pub guids: Vec<NodeGuid>,
}

/// A routing that was adopted, or computed by an engine.
#[derive(Debug)]
pub struct AdoptedRouting {
    /// The routing.
    pub routing: Routing,
    /// Its proof.
    pub proof: Proof,
    /// [`LastRun::baseline_max_load`].
    pub baseline_max_load: u64,
    /// [`LastRun::cache`].
    pub cache: RerouteCache,
    /// Message for the report.
    pub message: String,
}

impl InheritedRouting {
    /// Verifies the routing. `installed` are the LFTs of the switches.
    ///
    /// # Errors
    /// The reason for the rejection, with switches named by `label`.
    pub fn adopt(
        &self,
        request: &Request<'_>,
        installed: &[Option<Arc<Lft>>],
        label: &dyn Fn(SwitchIdx) -> String,
    ) -> Result<AdoptedRouting, String> {
        let why = match self.adopt_installed(request, installed) {
            Ok(adopted) => return Ok(adopted),
            Err(why) => why,
        };
        if let Some(adopted) = self.reroute_persisted(request) {
            return Ok(adopted);
        }
        let why = match why {
            Rejection::Other(why) => why.to_owned(),
            Rejection::Unsuitable(error) => error.describe(label),
        };
        Err(format!("installed routing rejected: {why}"))
    }

    fn adopt_installed(
        &self,
        request: &Request<'_>,
        installed: &[Option<Arc<Lft>>],
    ) -> Result<AdoptedRouting, Rejection> {
        if self.cfg.routing_inputs() != *self.routing.inputs() {
            return Err(Rejection::Other("computed for other settings"));
        }
        let tables: Option<Tables> = installed.iter().cloned().collect();
        let tables = tables.ok_or(Rejection::Unsuitable(AdoptError::MissingTables))?;
        let run = self.routing.to_last_run(&self.guids, tables);
        let LastRun {
            topo,
            routing,
            baseline_max_load,
            ..
        } = run.ok_or(Rejection::Other("computed for other switches"))?;
        // Which SLs hosts use to a LID that was added later is unknown.
        let has_several_vls = !routing.vl_plan.is_single();
        if has_several_vls && request.topo.destinations() != topo.destinations() {
            return Err(Rejection::Other("computed for other LIDs"));
        }
        let tables = routing.tables.clone();
        let (routing, proof) = adopt(
            request.topo,
            routing,
            request.usable_vls(),
            baseline_max_load,
        )
        .map_err(Rejection::Unsuitable)?;
        let changed = tables.iter().zip(&routing.tables);
        let changed = changed.filter(|(a, b)| !Arc::ptr_eq(a, b)).count();
        let cleared = match changed {
            0 => String::new(),
            n => format!("; entries of removed LIDs cleared in {n} tables"),
        };
        Ok(AdoptedRouting {
            routing,
            proof,
            baseline_max_load,
            cache: RerouteCache::new(),
            message: format!("installed LFTs adopted{cleared}"),
        })
    }

    fn reroute_persisted(&self, request: &Request<'_>) -> Option<AdoptedRouting> {
        if self.cfg.routing_inputs() != *self.routing.inputs() {
            return None;
        }
        let view = self.view.as_ref()?;
        let table = |guid: &NodeGuid| {
            let node = view.node(view.by_node_guid(*guid)?);
            node.switch.as_ref()?.lft.clone()
        };
        let tables: Option<Tables> = self.guids.iter().map(table).collect();
        let last = Arc::new(self.routing.to_last_run(&self.guids, tables?)?);
        let baseline_max_load = last.baseline_max_load;
        let previous = Previous {
            last: Some(last),
            ..request.previous.clone()
        };
        // No engine: only an incremental reroute of the persisted routing.
        let selection = route_with(&[NO_FALLBACK], &request.with_previous(&previous));
        let (routing, proof) = selection.chosen?;
        Some(AdoptedRouting {
            routing,
            proof,
            baseline_max_load,
            cache: selection.cache,
            message: "persisted routing continued".to_owned(),
        })
    }
}

enum Rejection {
    Other(&'static str),
    Unsuitable(AdoptError),
}
