//! The choice of a job between the routing in force, rerouted, and that of an engine, by what the
//! update from the installed tables does to packets. Pure.

use ferrosm_routing::{
    RerouteCache, RoutingRequest, reroute_installed, route_with_engines, route_within_vl_plan,
};

use super::adopt::AdoptedRouting;
use super::routes::{PlannedUpdate, RoutingJob};
use crate::report::routing_failure::RoutingFailure;
use crate::report::routing_message::RoutingMessage;

impl RoutingJob {
    /// The routing in force, rerouted, or the routing of an engine. If the operator wants no drain,
    /// a routing that drains routes is only used if the routing in force cannot be rerouted within
    /// its VL plan. If the fabric has only lost something, the same applies to the routing of
    /// another engine, so that a flapping link does not alternate engines.
    pub(super) fn choose(
        &self,
        engines: &[&str],
        request: &RoutingRequest<'_>,
        failure: &mut RoutingFailure,
    ) -> Option<PlannedUpdate> {
        let last = self.previous.run();
        let rerouted = self.reroute(request);
        let last = last.filter(|_| !self.may_drain && self.has_installed_routes());
        if self.is_maintenance && last.is_some() {
            return self.choose_for_maintenance(rerouted, engines, request, failure);
        }
        if rerouted.is_some() {
            return rerouted;
        }
        let has_several_vls = last.is_some_and(|last| !last.routing.vl_plan.is_single());
        let has_only_losses = self.previous.pinned_engine.is_some();
        let mut kept = None;
        if has_several_vls && has_only_losses {
            // Any engine would assign new VLs. Packets on the lost links have no route meanwhile.
            kept = self.keep(request);
            if kept.as_ref().is_some_and(|kept| !self.moves_groups(kept)) {
                return kept;
            }
        }
        let new = self.run_engines(engines, request, failure);
        let Some(last) = last else {
            return new;
        };
        let (engine, drained_lids) = new.as_ref().map_or(("", usize::MAX), |new| {
            (new.adopted.routing.engine, new.writes.drained_lids)
        });
        let changes_engine = has_only_losses && engine != last.routing.engine;
        if drained_lids == 0 && !changes_engine {
            return new;
        }
        let is_untried = !(has_several_vls && has_only_losses);
        if is_untried {
            kept = self.keep(request);
        }
        let is_better = |kept: &PlannedUpdate| {
            kept.writes.drained_lids <= drained_lids && (new.is_none() || !self.moves_groups(kept))
        };
        let Some(mut kept) = kept.filter(is_better) else {
            return new;
        };
        if new.is_some() && drained_lids > 0 {
            let avoided = RoutingMessage::DrainAvoided {
                engine,
                lids: drained_lids,
            };
            kept.messages.push(avoided);
        }
        Some(kept)
    }

    /// The routing for a change by an operator, who can wait for it: the one that drains the
    /// fewest LIDs, then the one on the fewest VLs. The routing in force, rerouted, is used if it
    /// drains none and needs no further VL; otherwise it is compared with the routing of an engine
    /// on the VLs in force, and on all VLs if that one drains as well.
    fn choose_for_maintenance(
        &self,
        rerouted: Option<PlannedUpdate>,
        engines: &[&str],
        request: &RoutingRequest<'_>,
        failure: &mut RoutingFailure,
    ) -> Option<PlannedUpdate> {
        let cost = |update: &PlannedUpdate| {
            let vls = update.adopted.routing.vl_plan.vls;
            (update.writes.drained_lids, vls)
        };
        let is_free = |update: &PlannedUpdate| cost(update) <= (0, self.vls_in_force);
        if rerouted.as_ref().is_some_and(is_free) {
            return rerouted;
        }
        let vls = request.vls.min(self.vls_in_force);
        let mut new = self.run_engines(engines, &request.with_vls(vls), failure);
        let drains = |new: &PlannedUpdate| new.writes.drained_lids > 0;
        if vls < request.vls && new.as_ref().is_none_or(drains) {
            let on_all_vls = self.run_engines(engines, request, failure);
            new = [new, on_all_vls].into_iter().flatten().min_by_key(cost);
        }
        let has_only_losses = self.previous.pinned_engine.is_some();
        let in_force = self.previous.run().map(|last| last.routing.engine);
        let changes_engine = |new: &PlannedUpdate| in_force != Some(new.adopted.routing.engine);
        if new
            .as_ref()
            .is_some_and(|new| is_free(new) && !(has_only_losses && changes_engine(new)))
        {
            return new;
        }
        let kept = self
            .keep(request)
            .filter(|kept| new.is_none() || !self.moves_groups(kept));
        let avoided = new.as_ref().and_then(|new| {
            let lids = new.writes.drained_lids;
            let engine = new.adopted.routing.engine;
            (lids > 0).then_some(RoutingMessage::DrainAvoided { engine, lids })
        });
        let candidates = [rerouted, kept, new].into_iter().flatten();
        let mut best = candidates.min_by_key(cost)?;
        if !best.is_of_engine {
            best.messages.extend(avoided);
        }
        Some(best)
    }

    /// The routing in force, rerouted incrementally.
    fn reroute(&self, request: &RoutingRequest<'_>) -> Option<PlannedUpdate> {
        let selection = reroute_installed(request)?;
        let (routing, proof) = selection.chosen?;
        let last = self.previous.run();
        let adopted = AdoptedRouting {
            baseline_max_load: last.map_or(proof.max_load, |last| last.baseline_max_load),
            routing,
            proof,
            cache: selection.cache,
            message: None,
        };
        Some(self.plan_update(adopted, request.topo))
    }

    /// The routing of the first engine that succeeds.
    fn run_engines(
        &self,
        engines: &[&str],
        request: &RoutingRequest<'_>,
        failure: &mut RoutingFailure,
    ) -> Option<PlannedUpdate> {
        let selection = route_with_engines(engines, request);
        let rejected = selection.rejected.into_iter();
        failure.engines = rejected.map(|r| self.names.attach(r)).collect();
        let (routing, proof) = selection.chosen?;
        let adopted = AdoptedRouting {
            baseline_max_load: proof.max_load,
            routing,
            proof,
            cache: selection.cache,
            message: None,
        };
        Some(PlannedUpdate {
            is_of_engine: true,
            kept_use: selection.kept_use,
            ..self.plan_update(adopted, request.topo)
        })
    }

    /// The routing in force, rerouted within its VL plan.
    fn keep(&self, request: &RoutingRequest<'_>) -> Option<PlannedUpdate> {
        let last = self.previous.run()?;
        let (routing, proof) = route_within_vl_plan(request)?;
        let adopted = AdoptedRouting {
            routing,
            proof,
            baseline_max_load: last.baseline_max_load,
            cache: RerouteCache::new(),
            message: None,
        };
        Some(self.plan_update(adopted, request.topo))
    }

    /// Whether groups have no tree on their SL with a routing. Members send on the old SL until
    /// they join again.
    fn moves_groups(&self, update: &PlannedUpdate) -> bool {
        let sl = self.previous.run().and_then(|last| last.routing.trees.sl());
        !self.groups.is_empty() && update.adopted.routing.trees.sl() != sl
    }
}
