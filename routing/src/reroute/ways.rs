//! What repairs start from: the channel dependency graph of a routing, or its order.

use std::sync::Arc;

use super::trees;
use crate::channels::{
    PortChannels, RoutedDependencies, TopologicalOrder, VirtualChannels,
    dependencies_of_spanning_tree, dependencies_of_tables,
};
use crate::engine::{Routing, TreeConstraint};
use crate::tables::Lft;
use crate::topology::Topology;

/// What keeps new ways free of credit loops, as far as it can be kept from one repair to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ways(pub(super) Option<TopologicalOrder>);

impl Ways {
    /// From the routing alone.
    pub(crate) fn of(topo: &Topology, routing: &Routing) -> Self {
        let Routing {
            tables,
            vl_plan: lanes,
            trees,
            ..
        } = routing;
        if matches!(trees, TreeConstraint::Ordered(_)) && lanes.is_single() {
            return Self(None);
        }
        let channels = PortChannels::new(topo);
        let rows: Vec<&Lft> = tables.iter().map(Arc::as_ref).collect();
        let trees = trees::promised(topo, trees);
        let channels = VirtualChannels::new(&channels, lanes);
        let graph = whole(topo, channels, &rows, &trees);
        Self(graph.map(RoutedDependencies::into_order))
    }

    /// Bytes that it takes.
    pub(crate) fn memory(&self) -> usize {
        self.0.as_ref().map_or(0, TopologicalOrder::memory)
    }
}

/// The dependency graph of tables and of the spanning tree that trees keep to. `None` if it has a circle.
pub(super) fn whole<'a>(
    topo: &Topology,
    channels: VirtualChannels<'a>,
    rows: &[&Lft],
    trees: &TreeConstraint,
) -> Option<RoutedDependencies<'a>> {
    let dependencies = dependencies_of_tables(topo, channels, rows, topo.destinations());
    with_tree(
        topo,
        trees,
        RoutedDependencies::new(channels, dependencies)?,
    )
}

/// The graph with the dependencies of a spanning tree.
pub(super) fn with_tree<'a>(
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
