//! Fat-tree routing that goes on working on what is left of a tree: any PGFT, with whatever is lost, missing, extra or
//! hung behind it.
//!
//! The levels give an order of all switches; up and down this order is free of credit loops and connects every pair,
//! also where only a way over a leaf is left. Among the legal next hops destinations are dealt by their number in the
//! order of leaves (see `assignment`). After Gliksberg and others (Dmodc, 2020).
//!
//! One lane, as long as end ports hang on leaves. Where so many hang above them (an aggregation node in every switch) that
//! their traffic with each other would crowd the few leaves at which that order lets them turn, these pairs go down and up
//! on lanes of their own, if there are any (see `valleys`): 2 lanes for trees of two levels, 3 for trees of three.

use super::graph::Graph;
use super::order::by_levels;
use super::{Engine, Request, RouteError, Routing, ShapeError, ordered};
use crate::notes::{Note, TreeFigures};
use crate::structure::tree::tree_in;

/// The `dmodc` engine.
#[derive(Debug, Clone, Copy)]
pub struct Dmodc;

impl Engine for Dmodc {
    fn name(&self) -> &'static str {
        "dmodc"
    }

    fn route(&self, request: &Request<'_>) -> Result<Routing, RouteError> {
        let graph = Graph::with_ids(request.topo, &request.hints.ids);
        graph.check_connected()?;
        let tree = tree_in(request.topo, &graph, request.hints).map_err(ShapeError::NotATree)?;
        let notes = vec![Note::Tree(TreeFigures::of(&tree))];
        let order = by_levels(&graph, &tree);
        let tree = (Some(&tree), request.usable_vls());
        ordered::route(self.name(), request, &graph, &order, tree, notes)
    }
}
