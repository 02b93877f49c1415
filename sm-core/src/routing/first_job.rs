//! Jobs for a fabric in which no routing is installed: of a graph, and for predictions.

use std::sync::Arc;

use ferrosm_fabric::location::NodeName;
use ferrosm_fabric::observed::NodeIdx;
use ferrosm_routing::{CancelToken, KeptTables, PreviousRouting, Topology};

use crate::config::hints::{self, GuidIndex};
use crate::config::{DrainPolicy, SmConfig};
use crate::routing::installed_groups::InstalledGroups;
use crate::routing::routes::RoutingJob;

impl RoutingJob {
    /// The first job for a graph with these switches in its order, none of which has a small LFT.
    #[must_use]
    pub fn of_graph(
        topology: Topology,
        guid_index: GuidIndex,
        switches: Vec<(NodeIdx, NodeName)>,
        cfg: &SmConfig,
    ) -> Self {
        let topology = Arc::new(topology);
        let (hints, hint_warnings) = hints::resolve(&cfg.hints, &guid_index);
        Self {
            id: 0,
            full_topology: Arc::clone(&topology),
            topology,
            limited: Vec::new(),
            stubs: Vec::new(),
            vls_in_force: 1,
            previous: PreviousRouting::none(),
            installed: Vec::new(),
            previous_vls: None,
            groups: InstalledGroups::default(),
            generation: 0,
            engines: cfg.engines.clone(),
            vls: cfg.routing_vls,
            budget: cfg.routing_budget,
            cancel: CancelToken::default(),
            abandoned: CancelToken::default(),
            hints,
            hint_warnings,
            guid_hints: Arc::clone(&cfg.hints),
            guid_index,
            kept: KeptTables::default(),
            plans_abort_trees: false,
            inherited: None,
            may_drain: cfg.routing_drain == DrainPolicy::Allow,
            is_maintenance: false,
            nodes: switches.iter().map(|(node, _)| *node).collect(),
            names: switches.into_iter().map(|(_, name)| name).collect(),
        }
    }

    /// A job for the same fabric that nothing is known to be installed in, with tokens of its own.
    #[must_use]
    pub fn without_history(&self) -> Self {
        Self {
            id: 0,
            topology: Arc::clone(&self.topology),
            full_topology: Arc::clone(&self.full_topology),
            limited: self.limited.clone(),
            stubs: self.stubs.clone(),
            vls_in_force: 1,
            previous: PreviousRouting::none(),
            installed: Vec::new(),
            previous_vls: None,
            groups: InstalledGroups::default(),
            generation: 0,
            engines: self.engines.clone(),
            vls: self.vls,
            budget: self.budget,
            cancel: CancelToken::default(),
            abandoned: CancelToken::default(),
            hints: self.hints.clone(),
            hint_warnings: self.hint_warnings.clone(),
            guid_hints: Arc::clone(&self.guid_hints),
            guid_index: self.guid_index.clone(),
            kept: self.kept.clone(),
            names: self.names.clone(),
            plans_abort_trees: false,
            inherited: None,
            may_drain: self.may_drain,
            is_maintenance: false,
            nodes: self.nodes.clone(),
        }
    }
}
