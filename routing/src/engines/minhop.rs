//! Engine `minhop`: balanced shortest paths. It does not prevent credit loops between end ports:
//! suitable for trees, rejected by verification on rings and tori.
//!
//! In a tree, shortest paths that are up/down paths are preferred, and LIDs of switches are always
//! routed up/down. If links are missing, the shortest path from a leaf to the LID of a spine may go
//! down and up, and such paths alone can form a credit loop for a few management packets.

use std::sync::Arc;

use ferrosm_mad::ids::PortNum;
use fixedbitset::FixedBitSet;
use rayon::prelude::*;

use super::Engine;
use crate::hints::Hints;
use crate::messages::RouteError;
use crate::paths::balance::dmodc_assignment::DmodcAssignment;
use crate::paths::balance::fill::fill;
use crate::paths::next_hops::cell::{EngineStop, HopCell, with_smallest_cells};
use crate::paths::next_hops::hop_matrix::HopMatrix;
use crate::paths::up_down::order::by_levels;
use crate::paths::up_down::ordered;
use crate::request::RoutingRequest;
use crate::routing::{Routing, TreeConstraint};
use crate::structure::tree::{DetectedTree, tree_in};
use crate::tables::Tables;
use crate::topology::graph::Graph;
use crate::topology::{SwitchIdx, Topology};
use crate::vl_plan::VlPlan;

/// The `minhop` engine.
#[derive(Debug, Clone, Copy)]
pub(super) struct MinHop;

impl Engine for MinHop {
    fn name(&self) -> &'static str {
        "minhop"
    }

    fn route(&self, request: &RoutingRequest<'_>) -> Result<Routing, RouteError> {
        let topo = request.topo;
        let hints = request.hints;
        let graph = topo.graph().ranked_by(&hints.ids);
        graph.check_connected()?;
        let tree = tree_in(topo, &graph, hints).ok();
        let (tables, order) = if hints.hop_weights.is_empty() {
            with_smallest_cells(
                || tables::<u8>(request, &graph, tree.as_ref()),
                || tables::<u16>(request, &graph, tree.as_ref()),
            )?
        } else {
            let matrix = HopMatrix::weighted(&graph, weights(topo, hints))?;
            let tables = fill(request, &graph, &matrix, None).map_err(EngineStop::from)?;
            (tables, None)
        };
        Ok(match order {
            Some(order) => {
                let switch_positions = ordered::positions(&order);
                ordered::routing(self.name(), tables, &order, switch_positions, Vec::new())
            }
            None => Routing {
                engine: self.name(),
                tables,
                vl_plan: VlPlan::single(),
                order: None,
                trees: TreeConstraint::Search,
                diagnostics: Vec::new(),
            },
        })
    }
}

/// Tables, and the up/down order of the switches if all paths follow it.
fn tables<C: HopCell>(
    request: &RoutingRequest<'_>,
    graph: &Graph,
    tree: Option<&DetectedTree>,
) -> Result<(Tables, Option<Vec<usize>>), EngineStop> {
    let shortest = HopMatrix::<C>::shortest(graph)?;
    let filled = |matrix: &HopMatrix<C>| {
        let tree = tree.filter(|_| !ordered::has_balance_hints(request.hints));
        let assignment =
            tree.map(|tree| DmodcAssignment::new(request.topo, graph, tree, request.hints, matrix));
        fill(request, graph, matrix, assignment.as_ref())
    };
    let Some(tree) = tree else {
        return Ok((filled(&shortest)?, None));
    };
    let order = by_levels(graph, tree);
    let up_down = HopMatrix::<C>::up_down(graph, &order)?;
    let longer = destinations_with_longer_paths(graph, &up_down, &shortest);
    let mut tables = filled(&up_down)?;
    if longer.is_clear() {
        return Ok((tables, Some(order)));
    }
    let shortest_rows = filled(&shortest)?;
    let rows = tables.par_iter_mut().zip(shortest_rows).enumerate();
    rows.for_each(|(s, (lft, shortest_lft))| {
        let mut mixed = (**lft).clone();
        for dest in longer.ones() {
            for d in request
                .topo
                .destinations_on(SwitchIdx::from_index(dest))
                .iter()
                .filter(|d| d.port != PortNum::ZERO)
            {
                mixed.set(d.lid, shortest_lft.get(d.lid));
            }
        }
        if mixed != **lft {
            // Reuse the installed allocation if the table is unchanged.
            let before = request
                .previous
                .table_of(s)
                .filter(|before| ***before == mixed);
            *lft = before.map_or_else(|| mixed.into(), Arc::clone);
        }
    });
    Ok((tables, None))
}

/// Destination switches with end ports to which the up/down path from at least one switch with end
/// ports is longer than the shortest.
fn destinations_with_longer_paths<C: HopCell>(
    graph: &Graph,
    up_down: &HopMatrix<C>,
    shortest: &HopMatrix<C>,
) -> FixedBitSet {
    let n = graph.len();
    (0..n)
        .into_par_iter()
        .filter(|&v| graph.hosts[v] > 0)
        .fold(
            || FixedBitSet::with_capacity(n),
            |mut longer, v| {
                let rows = up_down.row(v).iter().zip(shortest.row(v));
                for (d, (own, least)) in rows.enumerate() {
                    if own.hops() > least.hops() && graph.hosts[d] > 0 {
                        longer.insert(d);
                    }
                }
                longer
            },
        )
        .reduce(|| FixedBitSet::with_capacity(n), |a, b| &a | &b)
}

/// Weights of links between neighbours: (switch, neighbour, hops). Of parallel links the smallest
/// weight counts, and all are used.
fn weights(topo: &Topology, hints: &Hints) -> Vec<(usize, usize, u16)> {
    let link_weight = |s: SwitchIdx, port: PortNum| {
        let listed = hints
            .hop_weights
            .iter()
            .find(|(at, p, _)| (*at, *p) == (s, port));
        listed.map_or(1, |&(.., hops)| u16::from(hops.max(1)))
    };
    let switch_weights = |s: SwitchIdx| {
        topo.links(s)
            .iter()
            .map(move |l| (s.index(), l.peer.index(), link_weight(s, l.port)))
    };
    topo.switches().flat_map(switch_weights).collect()
}
