//! Dragonfly+: groups of leaves and spines, with global links at the spines.
//!
//! All paths go up, then down in one order of all switches, so one VL suffices, for replies and
//! multicast trees too. The spines precede the leaves. Therefore the shortest paths between leaves
//! (up, global, down) are legal, whichever of the two spines comes first. Longer paths, to and from
//! spines or around missing links, are the shortest that are legal.
//!
//! If global links do not connect all spines, some leaf connects them and precedes those behind it
//! (`spines_first`). Its shortest paths remain legal: they only go down on one side of it.
//!
//! | module | content |
//! |---|---|
//! | `next_hops` | the next hops of the shortest legal paths |
//! | `spread` | the choice among them, by load |

mod next_hops;
mod spread;

use crate::paths::link_choice::choose_links;
use crate::paths::up_down::order::spines_first;
use crate::paths::up_down::ordered::{positions, routing};
use crate::request::RoutingRequest;
use crate::routing::Routing;
use spread::SpreadSearch;

/// The routing of a connected fabric.
pub(super) fn route(request: &RoutingRequest<'_>, is_leaf: &[bool]) -> Routing {
    let topo = request.topo;
    let graph = topo.graph();
    let order = spines_first(graph, is_leaf);
    let routes = SpreadSearch::new(topo, &order).routes();
    let tables = choose_links(
        topo,
        graph,
        |from, to| Some(routes.slots(from, to)),
        &[],
        request.previous,
    );
    let stored_order = positions(&order);
    routing("dragonfly", tables, &order, stored_order, Vec::new())
}
