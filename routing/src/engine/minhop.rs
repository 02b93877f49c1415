//! Shortest paths, balanced, with nothing against credit loops: fine on trees, refused by the proof
//! on rings and tori.

use ferrosm_mad::ids::PortNum;

use super::deal::Deal;
use super::fill::fill;
use super::graph::Graph;
use super::legs::{Cell, CellOverflow, Legs, smallest_cells};
use super::{Engine, Request, RouteError, Routing, Trees, ordered};
use crate::hints::Hints;
use crate::lanes::Lanes;
use crate::structure::tree::{Tree, tree_in};
use crate::tables::Tables;
use crate::topology::{SwitchIdx, Topology};

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
        let tables = if hints.hop_weights.is_empty() {
            smallest_cells(
                || tables::<u8>(request, &graph, tree.as_ref()),
                || tables::<u16>(request, &graph, tree.as_ref()),
            )?
        } else {
            let legs = Legs::weighted(&graph, weights(topo, hints))
                .map_err(|CellOverflow| RouteError::TooDeep)?;
            fill(request, &graph, &legs, None)
        };
        Ok(Routing {
            engine: self.name(),
            tables,
            lanes: Lanes::single(),
            order: None,
            trees: Trees::Search,
            notes: Vec::new(),
        })
    }
}

fn tables<C: Cell>(
    request: &Request<'_>,
    graph: &Graph,
    tree: Option<&Tree>,
) -> Result<Tables, CellOverflow> {
    let legs = Legs::<C>::shortest(graph)?;
    let deal = tree.map(|tree| Deal::new(request.topo, graph, tree, request.hints, &legs));
    Ok(fill(request, graph, &legs, deal.as_ref()))
}

/// What the ways between neighbours count as: (switch, neighbour, hops). Of parallel cables the one that counts least
/// decides, and all are used.
fn weights(topo: &Topology, hints: &Hints) -> Vec<(usize, usize, u16)> {
    let given = |s: SwitchIdx, port: PortNum| {
        let listed = hints
            .hop_weights
            .iter()
            .find(|(at, p, _)| (*at, *p) == (s, port));
        listed.map_or(1, |&(.., hops)| u16::from(hops.max(1)))
    };
    let of = |s: SwitchIdx| {
        let links = topo.links(s).iter();
        links.map(move |l| (s.index(), l.peer.index(), given(s, l.port)))
    };
    topo.switches().flat_map(of).collect()
}
