//! Engine `dragonfly`: minimal routing on dragonflies (Kim, Dally, Scott, Abts: Technology-Driven,
//! Highly-Scalable Dragonfly Topology, ISCA 2008) and dragonfly+ (Shpiner and others: Dragonfly+:
//! Low Cost Topology for Scaling Datacenters, HiPINEB 2017), free of credit loops on SL 0.
//!
//! On a dragonfly, switches derive the VL of a packet from its input and output port (ADR 0041).
//! The groups are full meshes: a path has a local hop on VL 0, a global hop on VL 0 and a local hop
//! on VL 1: the VL rises, so there is no cycle. Packets of all SLs use the same VLs, so replies and
//! programs that ignore the SL of path records are safe.
//!
//! Around missing links, paths have two local hops or two global hops. They need a third VL only if
//! two groups have no link to each other.
//!
//! A dragonfly+ needs one VL (`leaf_spine`).
//!
//! | module | content |
//! |---|---|
//! | `groups` | members, local and global channels of groups |
//! | `paths` | the path of each pair of switches |
//! | `local_detours` | two local hops instead of a missing link |
//! | `group_order` | third groups for pairs of groups without a link |
//! | `vls` | VLs by input and output port |
//! | `tree` | the multicast tree |
//! | `leaf_spine` | all of these for a dragonfly+ |

mod group_order;
mod groups;
mod leaf_spine;
mod local_detours;
mod paths;
mod tree;
mod vls;

use super::Engine;
use crate::messages::{Diagnostic, RouteError, ShapeError};
use crate::paths::link_choice::{LidSlots, choose_links};
use crate::request::RoutingRequest;
use crate::routing::{Routing, TreeConstraint};
use crate::structure::dragonfly::{Dragonfly, GroupKind, find_groups};
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
        request.topo.graph().check_connected()?;
        let dragonfly = find_groups(request.topo).map_err(ShapeError::NotADragonfly)?;
        let routing = match dragonfly.kind {
            GroupKind::FullMesh => route_full_meshes(request, &dragonfly)?,
            GroupKind::LeafSpine => leaf_spine::route(request, &dragonfly.is_leaf),
        };
        Ok(Routing {
            diagnostics: vec![Diagnostic::Groups(Box::new(dragonfly))],
            ..routing
        })
    }
}

fn route_full_meshes(
    request: &RoutingRequest<'_>,
    dragonfly: &Dragonfly,
) -> Result<Routing, RouteError> {
    let topo = request.topo;
    let graph = topo.graph();
    let groups = GroupGraph::new(graph, dragonfly);
    let usable = request.usable_vls();
    check_vls(vls::VLS_MIN, usable)?;
    let paths = GroupPaths::new(&groups)?;
    check_vls(vls::count(&paths), usable)?;
    let tree = if dragonfly.is_complete() {
        tree::spanning_tree(&groups)
    } else {
        None
    };
    Ok(Routing {
        engine: "dragonfly",
        tables: choose_links(
            topo,
            graph,
            |from, to| paths.routes.get(from, to).map(LidSlots::Same),
            &[],
            request.previous,
        ),
        vl_plan: vls::plan(topo, &groups, &paths),
        order: None,
        trees: tree.map_or(TreeConstraint::Search, |up| TreeConstraint::Within {
            up,
            sl: 0,
        }),
        diagnostics: Vec::new(),
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
