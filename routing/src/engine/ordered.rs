//! What engines that route up and down one order of switches have in common: legal next hops, tables, multicast trees.
//! They differ in where the order comes from.

use super::deal::Deal;
use super::fill::fill;
use super::graph::Graph;
use super::legs::{Cell, CellOverflow, Legs, smallest_cells};
use super::{Request, RouteError, Routing, Trees};
use crate::hints::Hints;
use crate::lanes::Lanes;
use crate::structure::tree::Tree;

/// Tables for an order of all switches, top first, on one lane. Where there is a tree, destinations are dealt among its
/// columns.
pub(crate) fn route(
    engine: &'static str,
    request: &Request<'_>,
    graph: &Graph,
    order: &[usize],
    tree: Option<&Tree>,
    notes: Vec<String>,
) -> Result<Routing, RouteError> {
    smallest_cells(
        || Ok((engine, tables::<u8>(request, graph, order, tree)?)),
        || Ok((engine, tables::<u16>(request, graph, order, tree)?)),
    )
    .map(|(engine, tables)| routing(engine, tables, order, places(order), notes))
}

fn tables<C: Cell>(
    request: &Request<'_>,
    graph: &Graph,
    order: &[usize],
    tree: Option<&Tree>,
) -> Result<crate::tables::Tables, CellOverflow> {
    let legs = Legs::<C>::up_down(graph, order)?;
    let deal = tree.map(|tree| Deal::new(request.topo, graph, tree, request.hints, &legs));
    Ok(fill(request, graph, &legs, deal.as_ref()))
}

/// A routing up and down `order`; `kept` is what is remembered of it.
pub(crate) fn routing(
    engine: &'static str,
    tables: crate::tables::Tables,
    order: &[usize],
    kept: Vec<u32>,
    notes: Vec<String>,
) -> Routing {
    Routing {
        engine,
        tables,
        lanes: Lanes::single(),
        trees: Trees::Ordered(places(order)),
        order: Some(kept),
        notes,
    }
}

/// Each switch's place in an order.
fn places(order: &[usize]) -> Vec<u32> {
    let mut places = vec![0; order.len()];
    for (place, &v) in (0u32..).zip(order) {
        places[v] = place;
    }
    places
}

/// Whether the operator says how load is to be counted or ports are to be chosen: then nothing is dealt.
pub(crate) fn balance_is_given(hints: &Hints) -> bool {
    !hints.routing_order.is_empty() || !hints.port_order.is_empty() || !hints.not_counted.is_empty()
}
