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
use super::{Engine, Previous, Request, RouteError, Routing, Trees};
use crate::lanes::Lanes;
use crate::topology::{SwitchIdx, Topology};

/// The `updn` engine: the default, and the last resort.
#[derive(Debug, Clone, Copy)]
pub struct UpDown;

impl Engine for UpDown {
    fn name(&self) -> &'static str {
        "updn"
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

/// An order of the switches and what it makes of the paths.
struct Candidate<C> {
    strategy: Strategy,
    order: Vec<usize>,
    legs: Legs<C>,
    /// Sum of the hops between all end ports.
    hops: u64,
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
    let mut best: Option<Candidate<C>> = None;
    let kept = previous
        .order
        .iter()
        .any(Option::is_some)
        .then_some(Strategy::Kept);
    for strategy in kept.into_iter().chain(Strategy::FRESH) {
        // A later strategy must win clearly: small changes of the fabric must not change the
        // order, because nearly every route depends on it.
        if best
            .as_ref()
            .is_some_and(|b| !worse_by_a_percent(b.hops, least))
        {
            break;
        }
        let order = closeness.order(graph, strategy, &previous.order);
        let legs = Legs::up_down(graph, &order)?;
        let hops = legs.host_hops(graph);
        if best
            .as_ref()
            .is_none_or(|b| worse_by_a_percent(b.hops, hops))
        {
            best = Some(Candidate {
                strategy,
                order,
                legs,
                hops,
            });
        }
    }
    let Some(Candidate {
        strategy,
        order,
        legs,
        hops,
    }) = best
    else {
        return Ok(Routing {
            engine: "updn",
            tables: Vec::new(),
            lanes: Lanes::single(),
            order: None,
            trees: Trees::Search,
            notes: Vec::new(),
        });
    };
    let tables = fill(topo, graph, &legs, &closeness.class, previous);
    let top = order.first().copied().unwrap_or(0);
    let places = places(
        &order,
        if strategy == Strategy::Kept {
            &previous.order
        } else {
            &[]
        },
    );
    let mut order_places = vec![0; order.len()];
    for (place, &v) in (0u32..).zip(&order) {
        order_places[v] = place;
    }
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
        lanes: Lanes::single(),
        trees: Trees::Ordered(order_places),
        order: Some(places),
        notes,
    })
}

/// Each switch's place, to be remembered. A switch that had one keeps it, also where a lost cable made another go before
/// it this time: when the cable is back, so is the order.
fn places(order: &[usize], before: &[Option<u32>]) -> Vec<u32> {
    let mut next = before.iter().flatten().max().map_or(0, |last| last + 1);
    let mut places = vec![0; order.len()];
    for &v in order {
        places[v] = before.get(v).copied().flatten().unwrap_or_else(|| {
            next += 1;
            next - 1
        });
    }
    places
}

fn worse_by_a_percent(hops: u64, than: u64) -> bool {
    u128::from(hops) * 100 > u128::from(than) * 101
}
