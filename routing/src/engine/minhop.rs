//! Shortest paths, balanced, with nothing against credit loops: fine on trees, refused by the proof
//! on rings and tori.

use super::deal::Deal;
use super::fill::fill;
use super::graph::Graph;
use super::legs::{Cell, CellOverflow, Legs, smallest_cells};
use super::{Engine, Request, RouteError, Routing, Trees, ordered};
use crate::lanes::Lanes;
use crate::structure::tree::{Tree, tree_in};

/// The `minhop` engine.
#[derive(Debug, Clone, Copy)]
pub struct MinHop;

impl Engine for MinHop {
    fn name(&self) -> &'static str {
        "minhop"
    }

    fn route(&self, request: &Request<'_>) -> Result<Routing, RouteError> {
        let (topo, hints) = (request.topo, request.hints);
        let graph = Graph::with_ids(topo, &hints.ids);
        graph.connected()?;
        let tree = tree_in(topo, &graph, hints)
            .ok()
            .filter(|_| !ordered::balance_is_given(hints));
        smallest_cells(
            || route_in::<u8>(request, &graph, tree.as_ref()),
            || route_in::<u16>(request, &graph, tree.as_ref()),
        )
    }
}

fn route_in<C: Cell>(
    request: &Request<'_>,
    graph: &Graph,
    tree: Option<&Tree>,
) -> Result<Routing, CellOverflow> {
    let legs = Legs::<C>::shortest(graph)?;
    let deal = tree.map(|tree| Deal::new(request.topo, graph, tree, request.hints, &legs));
    Ok(Routing {
        engine: "minhop",
        tables: fill(request, graph, &legs, deal.as_ref()),
        lanes: Lanes::single(),
        order: None,
        trees: Trees::Search,
        notes: Vec::new(),
    })
}
