//! What engines that route up and down one order of switches have in common: legal next hops, tables, multicast trees.
//! They differ in where the order comes from.

use super::cell::{Cell, Stop, smallest_cells};
use super::deal::Deal;
use super::down_up::DownUpPairs;
use super::fill::fill;
use super::graph::Graph;
use super::legs::Legs;
use super::spread::busy;
use super::valleys::enter_pairs;
use super::{Request, RouteError, Routing, TreeConstraint};
use crate::hints::Hints;
use crate::lanes::Lanes;
use crate::notes::Note;
use crate::structure::tree::Tree;
use crate::tables::Tables;

/// Tables for an order of all switches, top first, on one lane. Where there is a tree, destinations are dealt among its
/// columns. With `lanes`, pairs above the leaves of a tree may go down and up on lanes of their own.
pub(crate) fn route(
    engine: &'static str,
    request: &Request<'_>,
    graph: &Graph,
    order: &[usize],
    (tree, lanes): (Option<&Tree>, u8),
    mut notes: Vec<Note>,
) -> Result<Routing, RouteError> {
    let (tables, valleys) = smallest_cells(
        || tables::<u8>(request, graph, order, tree, lanes),
        || tables::<u16>(request, graph, order, tree, lanes),
    )?;
    notes.extend(valleys.as_ref().map(DownUpPairs::note));
    let one_lane = routing(engine, tables, order, places(order), notes);
    Ok(Routing {
        vl_plan: valleys.map_or_else(Lanes::single, |valleys| valleys.lanes()),
        ..one_lane
    })
}

fn tables<C: Cell>(
    request: &Request<'_>,
    graph: &Graph,
    order: &[usize],
    tree: Option<&Tree>,
    lanes: u8,
) -> Result<(Tables, Option<DownUpPairs>), Stop> {
    let topo = request.topo;
    let mut legs = Legs::<C>::up_down(graph, order)?;
    if let Some(tree) = tree {
        enter_pairs(graph, tree, lanes, busy(topo, graph), &mut legs);
    }
    let deal = tree.map(|tree| Deal::new(topo, graph, tree, request.hints, &legs));
    let tables = fill(request, graph, &legs, deal.as_ref())?;
    Ok((tables, legs.down_up))
}

/// A routing up and down `order`; `kept` is what is remembered of it.
pub(crate) fn routing(
    engine: &'static str,
    tables: Tables,
    order: &[usize],
    kept: Vec<u32>,
    notes: Vec<Note>,
) -> Routing {
    Routing {
        engine,
        tables,
        vl_plan: Lanes::single(),
        trees: TreeConstraint::Ordered(places(order)),
        order: Some(kept),
        notes,
    }
}

/// Each switch's place in an order.
pub(crate) fn places(order: &[usize]) -> Vec<u32> {
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
