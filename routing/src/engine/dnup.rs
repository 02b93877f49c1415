//! Up/down routing with levels counted from the switches that have hosts: for fabrics where some hosts are attached closer
//! to the roots than some switches are.
//!
//! A switch is as high as its nearest switch with hosts is far; a path climbs, then descends. As with `updn`, one order of
//! all switches stands behind it, so every pair is connected and nothing deadlocks, also where many switches are equally
//! high.

use super::graph::Graph;
use super::order::by_distance;
use super::{Engine, Request, RouteError, Routing, ordered};
use crate::notes::Note;
use crate::structure::tree::{tree_in, with_hosts};

/// The `dnup` engine.
#[derive(Debug, Clone, Copy)]
pub struct DownUp;

impl Engine for DownUp {
    fn name(&self) -> &'static str {
        "dnup"
    }

    fn route(&self, request: &Request<'_>) -> Result<Routing, RouteError> {
        let (topo, hints) = (request.topo, request.hints);
        let graph = Graph::with_ids(topo, &hints.ids);
        graph.check_connected()?;
        let bottom = with_hosts(topo);
        let notes = vec![Note::LowestLevel(bottom.len())];
        let order = by_distance(&graph, bottom.into_iter(), true);
        let tree = tree_in(topo, &graph, hints)
            .ok()
            .filter(|_| !ordered::has_balance_hints(hints));
        ordered::route(
            self.name(),
            request,
            &graph,
            &order,
            (tree.as_ref(), 1),
            notes,
        )
    }
}
