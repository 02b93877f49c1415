//! A routing that is installed already, by another run or another machine: is it one that may stay?
//!
//! Two ways, the first that does serves. The tables as they were read from the switches, with the lanes and promises that were kept
//! of them: nothing is written. Or the tables that were kept, for the graph that they were made for, without what was lost since:
//! what the last master would have come to, so where it died in the middle of its writes they are brought to their end. Both are
//! proven as an engine's tables are. Pure.

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

/// What is known of a routing that may be installed.
#[derive(Debug, Clone)]
pub struct InheritedRouting {
    /// What was kept of it.
    pub routing: Arc<RoutingRecord>,
    /// The subnet when it was kept, with its tables.
    pub view: Option<Arc<View>>,
    /// The settings now.
    pub cfg: Arc<SmConfig>,
    /// The switches of the graph of now, by index.
    pub guids: Vec<NodeGuid>,
}

/// A routing that stays, or that follows from one that was kept.
#[derive(Debug)]
pub struct AdoptedRouting {
    /// It.
    pub routing: Routing,
    /// Its proof.
    pub proof: Proof,
    /// [`LastRun::baseline_max_load`].
    pub busiest: u64,
    /// [`LastRun::kept`].
    pub cache: RerouteCache,
    /// What to tell of it.
    pub note: String,
}

impl InheritedRouting {
    /// Looks whether it may stay. `installed` are the tables that the switches have.
    ///
    /// # Errors
    /// Why not, in a sentence. Switches are named by `label`.
    pub fn adopt(
        &self,
        request: &Request<'_>,
        installed: &[Option<Arc<Lft>>],
        label: &dyn Fn(SwitchIdx) -> String,
    ) -> Result<AdoptedRouting, String> {
        let why = match self.as_installed(request, installed) {
            Ok(adopted) => return Ok(adopted),
            Err(why) => why,
        };
        if let Some(adopted) = self.as_kept(request) {
            return Ok(adopted);
        }
        let why = match why {
            Not::Other(why) => why.to_owned(),
            Not::Unsuitable(error) => error.describe(label),
        };
        Err(format!(
            "the routing that is installed does not stay: {why}"
        ))
    }

    fn as_installed(
        &self,
        request: &Request<'_>,
        installed: &[Option<Arc<Lft>>],
    ) -> Result<AdoptedRouting, Not> {
        if self.cfg.routing_inputs() != *self.routing.inputs() {
            return Err(Not::Other("it was made for other settings"));
        }
        let tables: Option<Tables> = installed.iter().cloned().collect();
        let tables = tables.ok_or(Not::Unsuitable(AdoptError::MissingTables))?;
        let run = self.routing.to_last_run(&self.guids, tables);
        let LastRun {
            topo,
            routing,
            baseline_max_load: busiest,
            ..
        } = run.ok_or(Not::Other("it was made for other switches"))?;
        // Of a LID that came later nobody knows which SL its peers were told.
        let lanes = !routing.vl_plan.is_single();
        if lanes && request.topo.destinations() != topo.destinations() {
            return Err(Not::Other("it was made for other LIDs"));
        }
        let tables = routing.tables.clone();
        let (routing, proof) =
            adopt(request.topo, routing, request.usable_vls(), busiest).map_err(Not::Unsuitable)?;
        let changed = tables.iter().zip(&routing.tables);
        let changed = changed.filter(|(a, b)| !Arc::ptr_eq(a, b)).count();
        let but = match changed {
            0 => String::new(),
            n => format!(", but for LIDs that are gone, in {n} of them"),
        };
        Ok(AdoptedRouting {
            routing,
            proof,
            busiest,
            cache: RerouteCache::new(),
            note: format!("tables stay as they were found in the switches{but}"),
        })
    }

    fn as_kept(&self, request: &Request<'_>) -> Option<AdoptedRouting> {
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
        let busiest = last.baseline_max_load;
        let previous = Previous {
            last: Some(last),
            ..request.previous.clone()
        };
        // No engine: only what a repair of it comes to.
        let selection = route_with(&[NO_FALLBACK], &request.with_previous(&previous));
        let (routing, proof) = selection.chosen?;
        Some(AdoptedRouting {
            routing,
            proof,
            busiest,
            cache: selection.cache,
            note: "the routing that was kept goes on".to_owned(),
        })
    }
}

enum Not {
    Other(&'static str),
    Unsuitable(AdoptError),
}
