//! Engine `dor`: dimension-order routing on tori, meshes, hypercubes and HyperX, with automatic
//! detection of dimensions.
//!
//! Packets travel along one dimension after the other, in the order in which most switches number
//! their ports. Without rings, one VL is enough. Rings take two VLs and one SL for each combination
//! of datelines crossed; on one VL, no packet passes through the first switch of a ring, at the
//! price of longer paths.
//!
//! In an incomplete grid, a switch whose next link is missing sends packets along another
//! dimension, or the long way round a ring, and the next switches continue in dimension order. The
//! hop after a turn against dimension order has a VL of its own, which switches derive from the
//! input and output port. So detours use the SLs of the complete grid (ADR 0042). The engine
//! rejects detours whose turns would close a credit loop. If there is no other, the pair of
//! switches uses an additional SL and VL.
//!
//! | module | content |
//! |---|---|
//! | `vls` | SLs and VLs |
//! | `turns` | turns that close no credit loop |
//! | `detours` | next hops around missing links and switches |
//! | `detour_check` | dependencies of packets on detours |
//! | `layers` | additional SLs and VLs for pairs of switches |

mod detour_check;
mod detours;
mod layers;
mod turns;
mod vls;

use super::Engine;
use crate::messages::{Diagnostic, RouteError, ShapeError};
use crate::paths::grid::coordinates::GridCoordinates;
use crate::paths::grid::credit_loops::CreditLoopCheck;
use crate::paths::grid::lines::{Gaps, Lines, Rings};
use crate::paths::grid::paths::{GapRule, GridPaths};
use crate::paths::grid::spanning;
use crate::paths::link_choice::{LidSlots, choose_links};
use crate::request::RoutingRequest;
use crate::routing::{Routing, TreeConstraint};
use crate::structure::grid::{DimKind, grid};
use crate::tables::Tables;
use crate::topology::graph::Graph;
use crate::vl_plan::{SLS, VlPlan};
use crate::work::BudgetExceeded;
use layers::LayerError;
use turns::Turns;
use vls::GridVls;

/// Maximum number of rings with datelines: an SL has four bits.
const RINGS_MAX: usize = 4;

/// The `dor` engine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dor;

impl Engine for Dor {
    fn name(&self) -> &'static str {
        "dor"
    }

    fn route(&self, request: &RoutingRequest<'_>) -> Result<Routing, RouteError> {
        let topo = request.topo;
        let graph = topo.graph();
        graph.check_connected()?;
        if graph.len() == 0 {
            return Ok(routing(
                Tables::new(),
                VlPlan::single(),
                TreeConstraint::Search,
                Vec::new(),
            ));
        }
        let grid = grid(topo, request.hints).map_err(ShapeError::NotAGrid)?;
        let coordinates = GridCoordinates::from_grid(&grid, graph.len());
        let mut diagnostics = vec![Diagnostic::Dimensions(Box::new(grid.clone()))];
        let datelines = (1..=RINGS_MAX).contains(&grid.rings()) && request.usable_vls() >= 2;
        let first = if datelines {
            Rings::Datelines
        } else {
            Rings::Cut
        };
        let mut tried = route_with_rings(request, graph, &coordinates, first, &mut diagnostics);
        if datelines && matches!(tried, Err(RouteError::TooFewVls { .. })) {
            tried = route_with_rings(request, graph, &coordinates, Rings::Cut, &mut diagnostics)
                .or(tried);
        }
        let (tables, vl_plan, trees) = tried?;
        Ok(routing(tables, vl_plan, trees, diagnostics))
    }
}

fn routing(
    tables: Tables,
    vl_plan: VlPlan,
    trees: TreeConstraint,
    diagnostics: Vec<Diagnostic>,
) -> Routing {
    Routing {
        engine: "dor",
        tables,
        vl_plan,
        order: None,
        trees,
        diagnostics,
    }
}

/// Routes with the given treatment of rings.
fn route_with_rings(
    request: &RoutingRequest<'_>,
    graph: &Graph,
    coordinates: &GridCoordinates,
    rings: Rings,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<(Tables, VlPlan, TreeConstraint), RouteError> {
    let usable = usize::from(request.usable_vls());
    let lines: Vec<Lines> = (0..coordinates.axes.len())
        .map(|axis| Lines::new(graph, coordinates, axis, rings, Gaps::Open))
        .collect();
    let mut paths = GridPaths::new(graph, coordinates, &lines, GapRule::Open);
    let mut vls = GridVls::new(coordinates, rings, usable);
    let mut dependencies = None;
    let mut pair_sls = Vec::new();
    let mut num_layers = 0;
    if !coordinates.is_complete {
        let mut turns =
            Turns::new(graph, coordinates, &lines, &vls).ok_or(ShapeError::CreditLoop)?;
        detours::connect(graph, &mut paths, &mut turns, request.budget)
            .map_err(|BudgetExceeded| RouteError::Budget)?;
        let checked = detour_check::add_dependencies(graph, &paths, &mut turns);
        let layers_max = (usable - vls.vls).min(SLS - vls.sls);
        let assigned = layers::assign(
            graph,
            &paths,
            &checked.denied,
            layers_max,
            vls.sls,
            request.budget,
        );
        pair_sls = assigned.map_err(|error| match error {
            LayerError::Budget => RouteError::Budget,
            LayerError::TooFewVls(more) => RouteError::TooFewVls {
                needed: vls.vls + more,
                usable: request.usable_vls(),
            },
            LayerError::TooManyPairs(pairs) => ShapeError::TooManyDetours(pairs).into(),
        })?;
        let last_sl = pair_sls.iter().map(|pair| usize::from(pair.sl)).max();
        num_layers = last_sl.map_or(0, |sl| sl + 1 - vls.sls);
        dependencies = Some(turns.to_dependencies());
        vls.add_layers(num_layers);
        pair_sls.extend(checked.other_sls);
    }
    vls.set_sls(graph.len(), &pair_sls);
    let ring_count = coordinates
        .axes
        .iter()
        .filter(|a| a.kind == DimKind::Ring)
        .count();
    if ring_count > 0 && rings == Rings::Datelines {
        diagnostics.push(Diagnostic::Datelines(ring_count));
    } else if ring_count > 0 {
        diagnostics.push(Diagnostic::CutRings);
    }
    let num_detours = paths.num_unconnected();
    if num_detours > 0 {
        diagnostics.push(Diagnostic::Detours {
            detours: num_detours,
            paths: graph.len() * graph.len().saturating_sub(1),
            pairs: pair_sls.len(),
            vls: num_layers,
        });
    }
    let check = dependencies.map(|dependencies| {
        let axis_of = coordinates.axis_of_slots(graph);
        CreditLoopCheck::from_dependencies(graph, axis_of, dependencies, vls.base())
    });
    let trees = trees(
        graph,
        coordinates,
        &paths,
        &mut vls,
        check.as_ref(),
        usable,
        diagnostics,
    );
    let tables = choose_links(
        request.topo,
        graph,
        |from, to| paths.slot(from, to).map(LidSlots::Same),
        &[],
        request.previous,
    );
    Ok((tables, vls.vl_plan(request.topo, graph, coordinates), trees))
}

/// The spanning tree on SL 0 if it is compatible with the routes, otherwise on a VL of its own if
/// one is usable.
fn trees(
    graph: &Graph,
    coordinates: &GridCoordinates,
    paths: &GridPaths,
    vls: &mut GridVls,
    check: Option<&CreditLoopCheck<'_>>,
    usable: usize,
    diagnostics: &mut Vec<Diagnostic>,
) -> TreeConstraint {
    let dependency_check = check.map(|check| (check, &*vls));
    if let Some(up) = spanning::compatible_tree(graph, coordinates, paths, dependency_check) {
        return spanning::constraint(graph, &up, 0);
    }
    match spanning::central_tree(graph, coordinates, paths) {
        Some(up) if vls.vls < usable && vls.sls < SLS => {
            let sl = vls.add_layers(1);
            diagnostics.push(Diagnostic::MulticastSl(sl));
            spanning::constraint(graph, &up, sl)
        }
        _ => TreeConstraint::Search,
    }
}
