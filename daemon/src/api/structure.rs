//! The structure of the fabric and the load of its links, from the routing in force.

use ferrosm_api::structure::{
    Dimension, DimensionKind, FabricStructure, LinkLoad, PortLoad, StructureKind, SwitchPlace,
};
use ferrosm_core::routing::what_if::RoutingBasis;
use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_routing::quality::RouteLengths;
use ferrosm_routing::structure::dragonfly::GroupKind;
use ferrosm_routing::structure::grid::{Dim, DimKind};
use ferrosm_routing::structure::placement::{DetectedStructure, Placement, placement};
use ferrosm_routing::{Hints, SwitchIdx, Topology};

/// The switches of a snapshot as a graph.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SwitchTopology<'a> {
    pub(crate) topology: &'a Topology,
    pub(crate) hints: &'a Hints,
    /// The slot of each switch of the graph in the snapshot.
    pub(crate) slots: &'a [u32],
}

impl SwitchTopology<'_> {
    /// The slot of a switch.
    fn slot(&self, s: SwitchIdx) -> u32 {
        self.slots[s.index()]
    }
}

/// The detected structure. The order of trees is that of their leaves.
pub(crate) fn structure(snapshot: &Snapshot, graph: &SwitchTopology<'_>) -> FabricStructure {
    let placed = placement(graph.topology, graph.hints);
    let (kind, summary, levels) = match &placed.structure {
        DetectedStructure::Tree(tree) => {
            let levels = tree.levels();
            let summary = format!(
                "tree: {levels} levels, {} roots, {} leaves",
                tree.roots.len(),
                tree.leaves.len()
            );
            (StructureKind::Tree, summary, levels)
        }
        DetectedStructure::Grid(grid) => (StructureKind::Grid, grid.to_string(), 0),
        DetectedStructure::Dragonfly(dragonfly) => {
            let levels = match dragonfly.kind {
                GroupKind::FullMesh => 0,
                GroupKind::LeafSpine => 2,
            };
            (StructureKind::Dragonfly, dragonfly.to_string(), levels)
        }
        DetectedStructure::Unknown => {
            let summary = "no tree, grid or dragonfly".to_owned();
            (StructureKind::Unknown, summary, 0)
        }
    };
    let dimensions = match &placed.structure {
        DetectedStructure::Grid(grid) => grid.dims.iter().map(dimension).collect(),
        DetectedStructure::Tree(_)
        | DetectedStructure::Dragonfly(_)
        | DetectedStructure::Unknown => Vec::new(),
    };
    let highest_group = placed.group.iter().flatten().max();
    let in_order = placed.order.iter();
    FabricStructure {
        kind,
        summary,
        levels,
        groups: highest_group.map_or(0, |group| group + 1),
        dimensions,
        switches: in_order
            .map(|s| place(snapshot, graph, &placed, *s))
            .collect(),
    }
}

const fn dimension(dim: &Dim) -> Dimension {
    Dimension {
        kind: match dim.kind {
            DimKind::Path => DimensionKind::Path,
            DimKind::Ring => DimensionKind::Ring,
            DimKind::Full => DimensionKind::Full,
        },
        size: dim.size,
    }
}

fn place(
    snapshot: &Snapshot,
    graph: &SwitchTopology<'_>,
    placed: &Placement,
    s: SwitchIdx,
) -> SwitchPlace {
    let level = match &placed.structure {
        DetectedStructure::Tree(tree) => Some(tree.rank[s.index()] as usize),
        DetectedStructure::Dragonfly(dragonfly) => match dragonfly.kind {
            GroupKind::FullMesh => None,
            GroupKind::LeafSpine => Some(usize::from(!dragonfly.is_leaf[s.index()])),
        },
        DetectedStructure::Grid(_) | DetectedStructure::Unknown => None,
    };
    let coordinates = match &placed.structure {
        DetectedStructure::Grid(grid) => grid.coords(s).to_vec(),
        DetectedStructure::Tree(_)
        | DetectedStructure::Dragonfly(_)
        | DetectedStructure::Unknown => Vec::new(),
    };
    SwitchPlace {
        guid: snapshot.node(graph.slot(s)).guid.to_string(),
        level,
        group: placed.group[s.index()],
        coordinates,
    }
}

/// The routes over each link between switches, from the tables that switches should have.
pub(crate) fn load(snapshot: &Snapshot, basis: &RoutingBasis) -> LinkLoad {
    let loads = RouteLengths::new(basis.graph(), basis.tables()).channel_loads();
    let items = loads.iter().map(|(s, port, routes)| PortLoad {
        guid: guid(snapshot, basis, *s),
        port: port.0,
        routes: *routes,
    });
    LinkLoad {
        busiest: loads
            .iter()
            .map(|(_, _, routes)| *routes)
            .max()
            .unwrap_or(0),
        total: loads.iter().map(|(_, _, routes)| *routes).sum(),
        items: items.collect(),
    }
}

fn guid(snapshot: &Snapshot, basis: &RoutingBasis, s: SwitchIdx) -> String {
    let slot = basis.nodes()[s.index()].slot();
    snapshot.node(slot).guid.to_string()
}
