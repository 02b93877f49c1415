//! The `sssp` engine: shortest paths over the channels that carry the fewest routes so far. The best balance on odd
//! topologies, and nothing against credit loops: fine on trees, refused by the proof on rings and tori, where `dfsssp`
//! is for.

mod ways;
mod weigh;

pub(crate) use ways::Ways;
pub(crate) use weigh::{Spread, Taste, weigh};

use super::cell::{Cell, Stop, smallest_cells};
use super::graph::Graph;
use super::layers::{Single, single};
use super::legs::Legs;
use super::{Engine, Request, RouteError, Routing, TreeConstraint};
use crate::lanes::Lanes;

/// The `sssp` engine.
#[derive(Debug, Clone, Copy)]
pub struct Sssp;

impl Engine for Sssp {
    fn name(&self) -> &'static str {
        "sssp"
    }

    fn route(&self, request: &Request<'_>) -> Result<Routing, RouteError> {
        let graph = Graph::new(request.topo);
        graph.connected()?;
        smallest_cells(
            || route_in::<u8>(request, &graph),
            || route_in::<u16>(request, &graph),
        )
    }
}

fn route_in<C: Cell>(request: &Request<'_>, graph: &Graph) -> Result<Routing, Stop> {
    let legs = Legs::<C>::shortest(graph)?;
    let (ways, trees) = match single(request, graph, &legs)? {
        Single::Fits(ways, trees) => (ways, trees),
        Single::Not(ways) => (ways, TreeConstraint::Search),
    };
    Ok(Routing {
        engine: "sssp",
        tables: ways.tables(request.topo, request.previous),
        vl_plan: Lanes::single(),
        order: None,
        trees,
        notes: Vec::new(),
    })
}
