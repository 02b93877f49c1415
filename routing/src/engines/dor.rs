//! Engine `dor`: dimension-order routing on tori, meshes, hypercubes and HyperX, with automatic
//! detection of dimensions.
//!
//! Packets travel along one dimension after the other, in the order in which most switches number
//! their ports. Without rings, one VL is enough. Rings take two VLs and one SL for each combination
//! of datelines crossed; on one VL, no packet passes through the first switch of a ring, at the
//! price of longer paths. In an incomplete grid, rings and full meshes are routed around missing
//! links where possible. Pairs of switches that dimension order cannot connect take detours, on VL
//! 0 if that closes no credit loop, otherwise on additional VLs.

use std::sync::Arc;

use ferrosm_mad::ids::PortNum;

use super::Engine;
use crate::messages::{Diagnostic, RouteError, ShapeError};
use crate::paths::grid::coordinates::GridCoordinates;
use crate::paths::grid::credit_loops::{CreditLoopCheck, VlRule};
use crate::paths::grid::detours::{PairVl, VlError};
use crate::paths::grid::lines::{Lines, Rings, crosses_dateline};
use crate::paths::grid::paths::{GapRule, GridPaths};
use crate::paths::grid::{detours, spanning};
use crate::paths::link_choice::{LidSlots, choose_links};
use crate::request::RoutingRequest;
use crate::routing::{Routing, TreeConstraint};
use crate::structure::grid::{DimKind, grid};
use crate::tables::Tables;
use crate::topology::graph::Graph;
use crate::topology::{SwitchIdx, Topology};
use crate::vl_plan::{PathSl, SLS, SlToVl, SlToVlMaps, VlPlan};

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
    let usable = request.usable_vls();
    let lines: Vec<Lines> = (0..coordinates.axes.len())
        .map(|axis| Lines::new(graph, coordinates, axis, rings, false))
        .collect();
    let paths = GridPaths::new(graph, coordinates, &lines, GapRule::Detours);
    let mut scheme = DatelineVls::new(coordinates, rings);
    let max_additional = (usize::from(usable) - scheme.vls).min(SLS - scheme.sls);
    let shares_layer_0 = scheme.vls == 1;
    let pair_vls = detours::assign_vls(
        graph,
        &paths,
        shares_layer_0,
        max_additional,
        request.budget,
    );
    let (pair_vls, num_vls) = pair_vls.map_err(|error| match error {
        VlError::Budget => RouteError::Budget,
        VlError::TooFewVls(more) => RouteError::TooFewVls {
            needed: scheme.vls + more,
            usable,
        },
        VlError::TooManyPairs(pairs) => ShapeError::TooManyDetours(pairs).into(),
    })?;
    scheme.assign_pairs(graph, coordinates, &pair_vls, num_vls);
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
    if !paths.detours.is_empty() {
        diagnostics.push(Diagnostic::Detours {
            detours: paths.detours.len(),
            paths: graph.len() * graph.len().saturating_sub(1),
            pairs: pair_vls.iter().filter(|g| g.2 > 0).count(),
            vls: num_vls,
        });
    }
    let trees = trees(
        graph,
        coordinates,
        &paths,
        &mut scheme,
        usize::from(usable),
        diagnostics,
    );
    let tables = choose_links(
        request.topo,
        graph,
        |from, to| paths.slot(from, to).map(LidSlots::Same),
        &[],
        request.previous,
    );
    Ok((
        tables,
        scheme.vl_plan(request.topo, graph, coordinates),
        trees,
    ))
}

/// The spanning tree on SL 0 if it is compatible with the routes, otherwise on a VL of its own if
/// one is usable.
fn trees(
    graph: &Graph,
    coordinates: &GridCoordinates,
    paths: &GridPaths,
    scheme: &mut DatelineVls,
    usable: usize,
    diagnostics: &mut Vec<Diagnostic>,
) -> TreeConstraint {
    let check = (!coordinates.is_complete)
        .then(|| CreditLoopCheck::new(graph, coordinates.axis_of_slots(graph), paths, &*scheme));
    let dependency_check = check.as_ref().map(|check| (check, &*scheme));
    if let Some(up) = spanning::compatible_tree(graph, coordinates, paths, dependency_check) {
        return spanning::constraint(graph, &up, 0);
    }
    match spanning::central_tree(graph, coordinates, paths) {
        Some(up) if scheme.vls < usable && scheme.sls < SLS => {
            let sl = u8::try_from(scheme.sls).unwrap_or(0);
            scheme.sls += 1;
            scheme.vls += 1;
            diagnostics.push(Diagnostic::MulticastSl(sl));
            spanning::constraint(graph, &up, sl)
        }
        _ => TreeConstraint::Search,
    }
}

/// SLs and VLs: first the combinations of datelines crossed, then one SL and one VL for each
/// additional layer.
struct DatelineVls {
    /// SL bit of each axis with a dateline.
    bits: Vec<Option<u32>>,
    /// Number of SLs for combinations of datelines.
    combinations: usize,
    /// Number of VLs for combinations of datelines.
    base: usize,
    /// Total numbers of SLs and VLs.
    sls: usize,
    vls: usize,
    /// SL by source and destination switch; empty if all paths use SL 0.
    rows: Vec<Arc<[u8]>>,
}

impl DatelineVls {
    fn new(coordinates: &GridCoordinates, rings: Rings) -> Self {
        let mut next = 0;
        let bits: Vec<Option<u32>> = coordinates
            .axes
            .iter()
            .map(|axis| {
                let has_dateline = axis.kind == DimKind::Ring && rings == Rings::Datelines;
                next += u32::from(has_dateline);
                has_dateline.then(|| next - 1)
            })
            .collect();
        let base = if next > 0 { 2 } else { 1 };
        Self {
            bits,
            combinations: 1 << next,
            base,
            sls: 1 << next,
            vls: base,
            rows: Vec::new(),
        }
    }

    /// Assigns the SL of every pair of switches.
    fn assign_pairs(
        &mut self,
        graph: &Graph,
        coordinates: &GridCoordinates,
        pair_vls: &[PairVl],
        num_vls: usize,
    ) {
        self.sls += num_vls;
        self.vls += num_vls;
        if self.sls == 1 {
            return;
        }
        let n = graph.len();
        let mut rows: Vec<Vec<u8>> = (0..n)
            .map(|s| (0..n).map(|d| self.crossed(coordinates, s, d)).collect())
            .collect();
        for &(a, b, vl) in pair_vls {
            let sl = if vl == 0 {
                0
            } else {
                u8::try_from(self.combinations + vl - 1).unwrap_or(0)
            };
            rows[a][b] = sl;
            rows[b][a] = sl;
        }
        self.rows = rows.into_iter().map(Arc::from).collect();
    }

    /// Datelines crossed on the path, one bit each.
    fn crossed(&self, coordinates: &GridCoordinates, s: usize, d: usize) -> u8 {
        self.bits
            .iter()
            .enumerate()
            .filter_map(|(axis, bit)| {
                let a = coordinates.along(s, axis);
                let b = coordinates.along(d, axis);
                let crossed = crosses_dateline(coordinates.axes[axis].size, a, b);
                bit.map(|bit| u8::from(crossed) << bit)
            })
            .sum()
    }

    fn vl_plan(&self, topo: &Topology, graph: &Graph, coordinates: &GridCoordinates) -> VlPlan {
        let vls = u8::try_from(self.vls).unwrap_or(1);
        let path_sl = if self.rows.is_empty() {
            PathSl::Uniform(0)
        } else {
            PathSl::BySwitches(self.rows.clone())
        };
        if self.base == 1 {
            return VlPlan::modulo(vls, path_sl);
        }
        let axis_of = coordinates.axis_of_slots(graph);
        let map = |axis: usize| {
            let mut map = [0; SLS];
            for (sl, vl) in (0u8..).zip(map.iter_mut()) {
                *vl = u8::try_from(self.vl(None, axis, sl)).unwrap_or(0);
            }
            map
        };
        let switches = (0..graph.len()).map(|v| {
            let ports = topo.num_ports(SwitchIdx::from_index(v));
            let mut maps = SlToVlMaps::uniform(ports, [0; SLS]);
            for (k, slot) in graph.slots(v).iter().enumerate() {
                let map = map(axis_of[graph.first_slot(v) + k]);
                for &output in graph.ports(*slot) {
                    for input in 0..=ports {
                        maps.set(PortNum(input), PortNum(output), map);
                    }
                }
            }
            maps
        });
        VlPlan {
            vls,
            path_sl,
            sl_to_vl: SlToVl::PerPorts(switches.collect()),
        }
    }
}

impl VlRule for DatelineVls {
    fn vls(&self) -> usize {
        self.vls
    }

    fn sl(&self, from: usize, dest: usize) -> u8 {
        self.rows.get(from).map_or(0, |row| row[dest])
    }

    fn vl(&self, _in_axis: Option<usize>, out_axis: usize, sl: u8) -> usize {
        let sl = usize::from(sl) % self.sls;
        match self.bits[out_axis] {
            _ if sl >= self.combinations => self.base + sl - self.combinations,
            Some(bit) => sl >> bit & 1,
            None => 0,
        }
    }
}
