//! The channel dependency graph from which an incremental reroute starts.

use std::sync::Arc;

use ferrosm_mad::ids::PortNum;

use super::routed::{RoutedDependencies, TopologicalOrder};
use super::tables::dependencies_of_tables;
use super::tree::dependencies_of_spanning_tree;
use super::vls::VlChannelNumbers;
use crate::routing::{Routing, TreeConstraint};
use crate::tables::Lft;
use crate::topology::{SwitchIdx, Topology};

/// A topological order of the channel dependency graph of a routing, for the next reroute. `None`
/// if none is needed (up/down on one VL: the order of its switches suffices), or if the graph has a
/// cycle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RoutingChannelOrder(pub(crate) Option<TopologicalOrder>);

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
        let channels = topo.port_channels();
        let rows: Vec<&Lft> = tables.iter().map(Arc::as_ref).collect();
        let trees = spanning_tree_constraint(topo, trees);
        let channels = VlChannelNumbers::new(channels, vl_plan);
        let graph = dependency_graph(topo, channels, None, &rows, &trees);
        Self(graph.map(RoutedDependencies::into_order))
    }

    /// Memory use, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.0.as_ref().map_or(0, TopologicalOrder::memory)
    }
}

/// The constraint as one spanning tree. For an order: the tree in which the parent of each switch
/// is its first neighbour; [`TreeConstraint::Search`] if this is not a tree.
pub(crate) fn spanning_tree_constraint(topo: &Topology, trees: &TreeConstraint) -> TreeConstraint {
    let TreeConstraint::Ordered(order) = trees else {
        return trees.clone();
    };
    if order.len() != topo.num_switches() {
        return TreeConstraint::Search;
    }
    let uplink = |v: SwitchIdx| {
        let first = topo
            .links(v)
            .iter()
            .min_by_key(|l| (order[l.peer.index()], l.port))?;
        (order[first.peer.index()] < order[v.index()]).then_some(first.port)
    };
    let up: Vec<Option<PortNum>> = topo.switches().map(uplink).collect();
    let roots = topo
        .switches()
        .zip(&up)
        .filter(|(v, up)| up.is_none() && !topo.links(*v).is_empty());
    if roots.count() > 1 {
        return TreeConstraint::Search;
    }
    TreeConstraint::Within { up, sl: 0 }
}

/// The channel dependency graph of tables and of the spanning tree of the constraint; `None` if it
/// has a cycle. Packets also use the SLs of `before`, if given.
pub(crate) fn dependency_graph<'a>(
    topo: &Topology,
    channels: VlChannelNumbers<'a>,
    before: Option<VlChannelNumbers<'_>>,
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
pub(crate) fn with_spanning_tree<'a>(
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
