//! The channel dependency graph from which an incremental reroute starts.

use std::sync::Arc;

use super::trees;
use crate::channels::{
    PortChannels, RoutedDependencies, TopologicalOrder, VlChannelNumbers,
    dependencies_of_spanning_tree, dependencies_of_tables,
};
use crate::engine::{Routing, TreeConstraint};
use crate::tables::Lft;
use crate::topology::Topology;

/// A topological order of the channel dependency graph of a routing, for the next reroute. `None`
/// if none is needed (up/down on one VL: the order of its switches suffices), or if the graph has a
/// cycle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RoutingChannelOrder(pub(super) Option<TopologicalOrder>);

impl RoutingChannelOrder {
    /// Computes the order from the routing.
    pub(crate) fn new(topo: &Topology, routing: &Routing) -> Self {
        let Routing {
            tables,
            vl_plan,
            trees,
            ..
        } = routing;
        if matches!(trees, TreeConstraint::Ordered(_)) && vl_plan.is_single() {
            return Self(None);
        }
        let channels = PortChannels::new(topo);
        let rows: Vec<&Lft> = tables.iter().map(Arc::as_ref).collect();
        let trees = trees::spanning_tree_constraint(topo, trees);
        let channels = VlChannelNumbers::new(&channels, vl_plan);
        let graph = dependency_graph(topo, (channels, None), &rows, &trees);
        Self(graph.map(RoutedDependencies::into_order))
    }

    /// Memory use, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.0.as_ref().map_or(0, TopologicalOrder::memory)
    }
}

/// The channel dependency graph of tables and of the spanning tree of the constraint; `None` if it
/// has a cycle. Packets also use the SLs of `before`, if given.
pub(super) fn dependency_graph<'a>(
    topo: &Topology,
    (channels, before): (VlChannelNumbers<'a>, Option<VlChannelNumbers<'_>>),
    rows: &[&Lft],
    trees: &TreeConstraint,
) -> Option<RoutedDependencies<'a>> {
    let mut dependencies = dependencies_of_tables(topo, channels, rows, topo.destinations());
    if let Some(before) = before {
        let of_before = dependencies_of_tables(topo, before, rows, topo.destinations());
        dependencies.union_with(&of_before);
    }
    with_spanning_tree(
        topo,
        trees,
        RoutedDependencies::new(channels, dependencies)?,
    )
}

/// Adds the dependencies of the spanning tree of the constraint; `None` if this closes a cycle.
pub(super) fn with_spanning_tree<'a>(
    topo: &Topology,
    trees: &TreeConstraint,
    mut graph: RoutedDependencies<'a>,
) -> Option<RoutedDependencies<'a>> {
    if let TreeConstraint::Within { up, sl } = trees {
        let tree = dependencies_of_spanning_tree(topo, graph.channels, up, *sl);
        if !graph.admit(&tree) {
            return None;
        }
    }
    Some(graph)
}
