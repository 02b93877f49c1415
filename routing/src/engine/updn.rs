//! Up/down routing with roots found from the structure: no credit loop on one lane, on any
//! connected graph.
//!
//! The switches are put in an order with one top (see `order`); a path climbs, then descends, and
//! never climbs again. Several ways to order are tried and the one with the shortest paths between
//! end ports is taken, so trees keep all their shortest paths, and tori and random graphs lose few.

use super::fill::fill;
use super::graph::Graph;
use super::legs::{Cell, CellOverflow, Legs};
use super::order::{Closeness, Strategy};
use super::{Engine, Previous, RouteError, Routing};
use crate::topology::{SwitchIdx, Topology};

/// The `updn` engine: the default, and the last resort.
#[derive(Debug, Clone, Copy)]
pub struct UpDown;

impl Engine for UpDown {
    fn name(&self) -> &'static str {
        "updn"
    }

    fn route(&self, topo: &Topology, previous: &Previous) -> Result<Routing, RouteError> {
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
    let (closeness, least) = {
        let shortest = Legs::<C>::shortest(graph)?;
        (Closeness::new(graph, &shortest), shortest.host_hops(graph))
    };
    let mut best: Option<(Strategy, usize, Legs<C>, u64)> = None;
    for strategy in Strategy::ALL {
        // A later strategy must win clearly: small changes of the fabric must not change the
        // strategy.
        if best
            .as_ref()
            .is_some_and(|(.., hops)| worse_by_a_percent(*hops, least))
            || best.is_none()
        {
            let order = closeness.order(graph, strategy);
            let legs = Legs::up_down(graph, &order)?;
            let hops = legs.host_hops(graph);
            if best
                .as_ref()
                .is_none_or(|(.., held)| worse_by_a_percent(*held, hops))
            {
                best = Some((strategy, order.first().copied().unwrap_or(0), legs, hops));
            }
        }
    }
    let Some((strategy, top, legs, hops)) = best else {
        return Ok(Routing {
            engine: "updn",
            tables: Vec::new(),
            notes: Vec::new(),
        });
    };
    let tables = fill(topo, graph, &legs, &closeness.class, previous);
    let mut notes = Vec::new();
    if graph.len() > 0 {
        notes.push(format!(
            "top of the order is the switch with LID {}, the closest to the end ports; order: {}",
            topo.lid(SwitchIdx::at(top)),
            strategy.describe()
        ));
    }
    if hops > least {
        notes.push(format!(
            "paths between end ports are {:.2} % longer than the shortest",
            (hops - least) as f64 * 100.0 / least as f64
        ));
    }
    Ok(Routing {
        engine: "updn",
        tables,
        notes,
    })
}

fn worse_by_a_percent(hops: u64, than: u64) -> bool {
    u128::from(hops) * 100 > u128::from(than) * 101
}
