//! Engine `torus-2QoS`: dimension-order routing on tori and meshes of up to three dimensions, with
//! two QoS levels on eight VLs and SLs that no failure changes.
//!
//! Bits 0 to 2 of an SL are set if the path crosses the dateline of that dimension in a complete
//! torus. For two opposite positions of a ring, both directions are equally short:
//! `lines::crosses_dateline` selects one. Bit 3 is the QoS level. Along the path, bit 0 of the VL
//! is the dateline bit of the dimension of the output port, bit 1 is set after a turn from a later
//! dimension to an earlier one, and bit 2 is the QoS level. So a QoS level takes four VLs, and one
//! on links to end ports. Packets travel around a lost link the long way round its ring. They avoid
//! a lost switch by turning one switch early; bit 1 of the VL is for the turn back into the ring.
//! If that is not enough, the engine rejects the fabric.
//!
//! Behaviour and the meaning of SLs and VLs are those of OpenSM's engine (torus-2QoS(8)).

use std::sync::Arc;

use ferrosm_mad::ids::PortNum;

use super::Engine;
use crate::hints::TorusHint;
use crate::messages::{Diagnostic, RouteError, ShapeError, SwitchHintError};
use crate::paths::grid::coordinates::GridCoordinates;
use crate::paths::grid::credit_loops::{CreditLoopCheck, VlRule};
use crate::paths::grid::lines::{Gaps, Lines, Rings, crosses_dateline};
use crate::paths::grid::paths::{GapRule, GridPaths};
use crate::paths::grid::{axes, spanning};
use crate::paths::link_choice::{LidSlots, choose_links};
use crate::request::RoutingRequest;
use crate::routing::{Routing, TreeConstraint};
use crate::structure::grid::{DimKind, grid};
use crate::topology::graph::Graph;
use crate::topology::{SwitchIdx, Topology};
use crate::vl_plan::{PathSl, SLS, SlToVl, SlToVlMaps, VlPlan};

/// VLs of one QoS level.
const LEVEL_VLS: u8 = 4;

/// The `torus-2QoS` engine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Torus2Qos;

impl Engine for Torus2Qos {
    fn name(&self) -> &'static str {
        "torus-2QoS"
    }

    fn route(&self, request: &RoutingRequest<'_>) -> Result<Routing, RouteError> {
        let topo = request.topo;
        let hint = request.hints.torus.as_ref();
        let graph = topo.graph();
        graph.check_connected()?;
        if graph.len() == 0 {
            return Err(ShapeError::NoSwitches.into());
        }
        let usable = request.usable_vls();
        if usable < LEVEL_VLS {
            return Err(RouteError::TooFewVls {
                needed: usize::from(LEVEL_VLS),
                usable,
            });
        }
        check_port_groups(topo, graph, hint)?;
        let grid = grid(topo, request.hints).map_err(ShapeError::NotATorus)?;
        // If a ring of one interpretation is split, another interpretation may still be routable.
        let interpretations = axes::interpretations(topo, &grid, hint)?;
        let mut first_error = ShapeError::NoAxes.into();
        for (i, coordinates) in interpretations.iter().enumerate() {
            match route_along_axes(request, graph, coordinates) {
                Ok(routing) => return Ok(routing),
                Err(error) if i == 0 => first_error = error,
                Err(_) => {}
            }
        }
        Err(first_error)
    }
}

/// Routes along the axes of one interpretation.
fn route_along_axes(
    request: &RoutingRequest<'_>,
    graph: &Graph,
    coordinates: &GridCoordinates,
) -> Result<Routing, RouteError> {
    let topo = request.topo;
    let hint = request.hints.torus.as_ref();
    let usable = request.usable_vls();
    let axes = coordinates.axes.iter().map(|axis| (axis.kind, axis.size));
    let mut diagnostics = vec![Diagnostic::Axes(axes.collect())];
    let levels = if usable >= 2 * LEVEL_VLS { 2 } else { 1 };
    if levels == 1 {
        diagnostics.push(Diagnostic::OneQosLevel {
            needed: 2 * LEVEL_VLS,
            usable,
        });
    }
    let lines: Vec<Lines> = (0..coordinates.axes.len())
        .map(|axis| Lines::new(graph, coordinates, axis, Rings::Datelines, Gaps::Around))
        .collect();
    let paths = GridPaths::new(graph, coordinates, &lines, GapRule::EarlyTurns);
    if let Some((s, dest)) = paths.unconnected_pair() {
        let from = SwitchIdx::from_index(s);
        let to = SwitchIdx::from_index(dest);
        return Err(ShapeError::PartitionedRing { from, to }.into());
    }
    let rule = TorusVls::new(coordinates);
    let check = (!coordinates.is_complete)
        .then(|| CreditLoopCheck::new(graph, coordinates.axis_of_slots(graph), &paths, &rule));
    if check
        .as_ref()
        .is_some_and(|check| !check.is_unicast_acyclic())
    {
        return Err(ShapeError::CreditLoop.into());
    }
    let dependency_check = check.as_ref().map(|check| (check, &rule));
    let trees = match spanning::compatible_tree(graph, coordinates, &paths, dependency_check) {
        Some(up) => spanning::constraint(graph, &up, 0),
        None => {
            diagnostics.push(Diagnostic::NoSpanningTree);
            TreeConstraint::Search
        }
    };
    let order = hint.map_or(&[][..], |hint| &hint.port_order);
    Ok(Routing {
        engine: "torus-2QoS",
        tables: choose_links(
            topo,
            graph,
            |from, to| paths.slot(from, to).map(LidSlots::Same),
            order,
            request.previous,
        ),
        vl_plan: rule.vl_plan(topo, graph, coordinates, levels),
        order: None,
        trees,
        diagnostics,
    })
}

/// Checks the limit of port groups: parallel links, and the end ports of a switch with its port 0.
fn check_port_groups(
    topo: &Topology,
    graph: &Graph,
    hint: Option<&TorusHint>,
) -> Result<(), RouteError> {
    let Some(max_ports) = hint.map(|h| usize::from(h.portgroup_max_ports)) else {
        return Ok(());
    };
    for &s in &graph.by_lid {
        let num_ports = topo.end_ports(SwitchIdx::from_index(s)).len() + 1;
        let links = graph
            .slots(s)
            .iter()
            .map(|&slot| graph.ports(slot).len())
            .max();
        let ports = num_ports.max(links.unwrap_or(0));
        if ports > max_ports {
            let fault = SwitchHintError::PortGroupTooLarge {
                ports,
                max: max_ports,
            };
            return Err(fault.at(SwitchIdx::from_index(s)));
        }
    }
    Ok(())
}

/// SLs and VLs of the lower QoS level.
struct TorusVls {
    /// By axis: whether it has a dateline.
    has_dateline: Vec<bool>,
    /// By source switch: the SL of its paths to each switch, of the lower QoS level.
    sls: Vec<Arc<[u8]>>,
}

impl TorusVls {
    fn new(coordinates: &GridCoordinates) -> Self {
        let has_dateline: Vec<bool> = coordinates
            .axes
            .iter()
            .map(|a| a.kind == DimKind::Ring)
            .collect();
        let sl = |s: usize, d: usize| {
            let crossed = |&(axis, has_dateline): &(usize, &bool)| {
                let a = coordinates.along(s, axis);
                let b = coordinates.along(d, axis);
                *has_dateline && crosses_dateline(coordinates.axes[axis].size, a, b)
            };
            let axes = has_dateline.iter().enumerate().filter(crossed);
            axes.fold(0u8, |sl, (axis, _)| sl | 1 << axis)
        };
        let n = coordinates.switches();
        let sls = (0..n).map(|s| (0..n).map(|d| sl(s, d)).collect()).collect();
        Self { has_dateline, sls }
    }

    fn vl_plan(
        &self,
        topo: &Topology,
        graph: &Graph,
        coordinates: &GridCoordinates,
        levels: u8,
    ) -> VlPlan {
        let axis_of = coordinates.axis_of_slots(graph);
        let vl_between = |input: Option<usize>, output: usize| {
            let mut map = [0; SLS];
            for (sl, vl) in (0u8..).zip(map.iter_mut()) {
                let level = if levels > 1 { sl >> 3 } else { 0 };
                let low = u8::try_from(self.vl(input, output, sl & 7)).unwrap_or(0);
                *vl = level * LEVEL_VLS + low;
            }
            map
        };
        let mut end_port_map = [0; SLS];
        end_port_map[8..].fill(levels - 1);
        let switches = (0..graph.len()).map(|v| {
            let ports = topo.num_ports(SwitchIdx::from_index(v));
            let mut axis_of_port: Vec<Option<usize>> = vec![None; usize::from(ports) + 1];
            for (k, slot) in graph.slots(v).iter().enumerate() {
                for &port in graph.ports(*slot) {
                    axis_of_port[usize::from(port)] = Some(axis_of[graph.first_slot(v) + k]);
                }
            }
            let mut maps = SlToVlMaps::uniform(ports, end_port_map);
            for output in 0..=ports {
                let Some(out_axis) = axis_of_port[usize::from(output)] else {
                    continue;
                };
                for input in 0..=ports {
                    let map = vl_between(axis_of_port[usize::from(input)], out_axis);
                    maps.set(PortNum(input), PortNum(output), map);
                }
            }
            maps
        });
        VlPlan {
            vls: levels * LEVEL_VLS,
            path_sl: PathSl::BySwitches(self.sls.clone()),
            sl_to_vl: SlToVl::PerPorts(switches.collect()),
        }
    }
}

impl VlRule for TorusVls {
    fn vls(&self) -> usize {
        usize::from(LEVEL_VLS)
    }

    fn sl(&self, from: usize, dest: usize) -> u8 {
        self.sls[from][dest]
    }

    fn vl(&self, in_axis: Option<usize>, out_axis: usize, sl: u8) -> usize {
        let dateline = usize::from(self.has_dateline[out_axis]) & usize::from(sl >> out_axis & 1);
        let is_turn = usize::from(in_axis.is_some_and(|axis| axis > out_axis));
        2 * is_turn + dateline
    }
}
