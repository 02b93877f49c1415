//! Shortest paths, balanced, with nothing against credit loops: fine on trees, refused by the proof
//! on rings and tori.

use super::fill::fill;
use super::graph::Graph;
use super::legs::{Cell, CellOverflow, Legs};
use super::order::Closeness;
use super::{Engine, Previous, Request, RouteError, Routing, Trees};
use crate::lanes::Lanes;
use crate::topology::Topology;

/// The `minhop` engine.
#[derive(Debug, Clone, Copy)]
pub struct MinHop;

impl Engine for MinHop {
    fn name(&self) -> &'static str {
        "minhop"
    }

    fn route(&self, request: &Request<'_>) -> Result<Routing, RouteError> {
        let (topo, previous) = (request.topo, request.previous);
        let graph = Graph::new(topo);
        graph.connected()?;
        route_in::<u8>(topo, &graph, previous)
            .or_else(|CellOverflow| route_in::<u16>(topo, &graph, previous))
            .map_err(|CellOverflow| RouteError::TooDeep)
    }
}

fn route_in<C: Cell>(
    topo: &Topology,
    graph: &Graph,
    previous: &Previous,
) -> Result<Routing, CellOverflow> {
    let legs = Legs::<C>::shortest(graph)?;
    let closeness = Closeness::new(graph, &legs);
    let tables = fill(topo, graph, &legs, &closeness.class, previous);
    Ok(Routing {
        engine: "minhop",
        tables,
        lanes: Lanes::single(),
        order: None,
        trees: Trees::Search,
        notes: Vec::new(),
    })
}
