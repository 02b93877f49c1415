//! Engine `dragonfly`: minimal routing on dragonflies (Kim, Dally, Scott, Abts: Technology-Driven,
//! Highly-Scalable Dragonfly Topology, ISCA 2008), free of credit loops on SL 0.
//!
//! Switches derive the VL of a packet from its input and output port (ADR 0041). The groups are
//! full meshes: a path has a local hop on VL 0, a global hop on VL 0 and a local hop on VL 1: the
//! VL rises, so there is no cycle. Packets of all SLs use the same VLs, so replies and programs
//! that ignore the SL of path records are safe.
//!
//! Around missing links, paths have two local hops or two global hops. They need a third VL only if
//! two groups have no link to each other.
//!
//! | module | content |
//! |---|---|
//! | `groups` | members, local and global channels of groups |
//! | `paths` | the path of each pair of switches |
//! | `local_detours` | two local hops instead of a missing link |
//! | `group_order` | third groups for pairs of groups without a link |
//! | `vls` | VLs by input and output port |
//! | `tree` | the multicast tree |

mod group_order;
mod groups;
mod local_detours;
mod paths;
mod tree;
mod vls;

use super::Engine;
use crate::messages::{Diagnostic, RouteError, ShapeError};
use crate::paths::link_choice::choose_links;
use crate::paths::slot_routes::SlotRoutes;
use crate::request::RoutingRequest;
use crate::routing::{Routing, TreeConstraint};
use crate::structure::dragonfly::{Dragonfly, DragonflyMismatch, GroupKind, find_groups};
use crate::topology::Topology;
use crate::vl_plan::VlPlan;
use groups::GroupGraph;
use paths::GroupPaths;

/// The `dragonfly` engine.
#[derive(Debug, Clone, Copy)]
pub(super) struct DragonflyEngine;

impl Engine for DragonflyEngine {
    fn name(&self) -> &'static str {
        "dragonfly"
    }

    fn route(&self, request: &RoutingRequest<'_>) -> Result<Routing, RouteError> {
        let topo = request.topo;
        let graph = topo.graph();
        graph.check_connected()?;
        let dragonfly = find_groups(topo).map_err(ShapeError::NotADragonfly)?;
        if dragonfly.kind == GroupKind::LeafSpine {
            return Err(ShapeError::NotADragonfly(DragonflyMismatch::GroupKind).into());
        }
        let groups = GroupGraph::new(graph, &dragonfly);
        let usable = request.usable_vls();
        let GroupRouting {
            routes,
            vl_plan,
            trees,
        } = route_full_meshes(topo, &groups, &dragonfly, usable)?;
        let tables = choose_links(
            topo,
            graph,
            |from, to| routes.get(from, to),
            &[],
            request.previous,
        );
        Ok(Routing {
            engine: "dragonfly",
            tables,
            vl_plan,
            order: None,
            trees,
            diagnostics: vec![Diagnostic::Groups(Box::new(dragonfly))],
        })
    }
}

/// Routes between switches, before the choice among parallel links.
struct GroupRouting {
    routes: SlotRoutes,
    vl_plan: VlPlan,
    trees: TreeConstraint,
}

fn route_full_meshes(
    topo: &Topology,
    groups: &GroupGraph<'_>,
    dragonfly: &Dragonfly,
    usable: u8,
) -> Result<GroupRouting, RouteError> {
    check_vls(vls::VLS_MIN, usable)?;
    let paths = GroupPaths::new(groups)?;
    check_vls(vls::count(&paths), usable)?;
    let tree = if dragonfly.is_complete() {
        tree::spanning_tree(groups)
    } else {
        None
    };
    Ok(GroupRouting {
        vl_plan: vls::plan(topo, groups, &paths),
        routes: paths.routes,
        trees: tree.map_or(TreeConstraint::Search, |up| TreeConstraint::Within {
            up,
            sl: 0,
        }),
    })
}

fn check_vls(needed: u8, usable: u8) -> Result<(), RouteError> {
    if needed <= usable {
        return Ok(());
    }
    Err(RouteError::TooFewVls {
        needed: usize::from(needed),
        usable,
    })
}
