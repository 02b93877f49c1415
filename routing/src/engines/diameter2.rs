//! Engine `diameter2`: shortest paths on fabrics of diameter 2, such as Slim Flies, orthogonal fat
//! trees, multi-layer full meshes and HyperX of two dimensions; free of credit loops on SL 0.
//!
//! Packets use VL 0 on the link to the second switch of their path and VL 1 afterwards. Switches
//! derive this from the input port: an end port or port 0, or a switch (ADR 0041). With at most two
//! hops, VL 1 is the last hop, so there is no cycle. All SLs use the same VLs.
//!
//! Paths with more hops (around missing links, or to and from switches without end ports) use VL 1
//! from the second hop on. There they go up, then down in one order of all switches, as do the
//! multicast trees, so the dependencies on VL 1 are acyclic. A switch may use a path that starts
//! with a turn down, then up. Other switches then do not route through it, or it takes a longer
//! path for them. If a switch finds no path to a destination in this way, all paths to this
//! destination go up, then down.
//!
//! Of several paths of two hops, the least loaded one is used. Paths are chosen again in a few
//! rounds after the load of all others is known.
//!
//! For Slim Flies: Besta, Hoefler, SC 2014; Blach and others, NSDI 2024.

use rayon::prelude::*;

use super::Engine;
use crate::channels::spanning_tree_constraint;
use crate::messages::{Diagnostic, RouteError, ShapeError};
use crate::paths::link_choice::{LidSlots, choose_links};
use crate::paths::slot_routes::{SlotLoads, SlotRoutes};
use crate::paths::up_down::order::by_distance;
use crate::paths::up_down::ordered::positions;
use crate::request::RoutingRequest;
use crate::routing::{Routing, TreeConstraint};
use crate::structure::diameter::diameter_two;
use crate::topology::graph::Graph;
use crate::topology::{Topology, index_to_u8};
use crate::vl_plan::{PathSl, SLS, SlToVl, SlToVlMaps, VlPlan};

/// Rounds in which paths of two hops are chosen again.
const ROUNDS: usize = 3;

/// Data VLs of the routing.
const VLS: u8 = 2;

/// Hops of a switch without a path.
const UNREACHED: u32 = u32::MAX;

/// The `diameter2` engine.
#[derive(Debug, Clone, Copy)]
pub(super) struct DiameterTwoEngine;

impl Engine for DiameterTwoEngine {
    fn name(&self) -> &'static str {
        "diameter2"
    }

    fn route(&self, request: &RoutingRequest<'_>) -> Result<Routing, RouteError> {
        let topo = request.topo;
        let graph = topo.graph();
        graph.check_connected()?;
        let diameter = diameter_two(topo);
        if !diameter.is_near() {
            return Err(ShapeError::DistantSwitches {
                distant: diameter.distant,
                pairs: diameter.pairs,
            }
            .into());
        }
        let usable = request.usable_vls();
        if usable < VLS {
            return Err(RouteError::TooFewVls {
                needed: usize::from(VLS),
                usable,
            });
        }
        let root = graph
            .by_lid
            .iter()
            .copied()
            .min_by_key(|&v| (std::cmp::Reverse(graph.slots(v).len()), graph.lid_rank[v]));
        let order = positions(&by_distance(graph, root.into_iter(), false));
        let routes = ShortRoutes::new(graph, &order).routes();
        if let Some((from, to)) = routes.missing_pair() {
            return Err(ShapeError::NoDetour { from, to }.into());
        }
        let tables = choose_links(
            topo,
            graph,
            |from, to| routes.get(from, to).map(LidSlots::Same),
            &[],
            request.previous,
        );
        Ok(Routing {
            engine: "diameter2",
            tables,
            vl_plan: vl_plan(topo),
            order: None,
            // One tree: its routes are not up/down, so that adopted tables do not imply the order.
            trees: spanning_tree_constraint(topo, &TreeConstraint::Ordered(order)),
            diagnostics: vec![Diagnostic::Diameter(diameter)],
        })
    }
}

/// VL 0 from end ports and port 0, VL 1 from switches.
fn vl_plan(topo: &Topology) -> VlPlan {
    let switches = topo.switches().map(|s| {
        let num_ports = topo.num_ports(s);
        let mut maps = SlToVlMaps::uniform(num_ports, [0; SLS]);
        for input in topo.links(s) {
            for output in topo.links(s) {
                maps.set(input.port, output.port, [1; SLS]);
            }
        }
        maps
    });
    VlPlan {
        vls: VLS,
        path_sl: PathSl::Uniform(0),
        sl_to_vl: SlToVl::PerPorts(switches.collect()),
    }
}

/// A pair of switches with several paths of two hops.
struct OpenPair {
    from: usize,
    dest: usize,
    /// Its slots, among those of all pairs.
    first: usize,
    end: usize,
}

/// Search for the routes.
struct ShortRoutes<'a> {
    graph: &'a Graph,
    /// Position of each switch: a hop to a lower position goes up.
    order: &'a [u32],
    loads: SlotLoads,
    /// By destination: slots of the routes, by source.
    columns: Vec<Vec<u8>>,
}

/// Slots of the pairs of switches to one destination that have at most two hops.
struct NearSources {
    column: Vec<u8>,
    /// Sources with several paths of two hops, each with its slots.
    open: Vec<(usize, Vec<u8>)>,
}

impl<'a> ShortRoutes<'a> {
    fn new(graph: &'a Graph, order: &'a [u32]) -> Self {
        Self {
            graph,
            order,
            loads: SlotLoads::new(graph),
            columns: Vec::new(),
        }
    }

    fn routes(mut self) -> SlotRoutes {
        let graph = self.graph;
        let near: Vec<NearSources> = (0..graph.len())
            .into_par_iter()
            .map(|dest| near_sources(graph, dest))
            .collect();
        let mut slots: Vec<u8> = Vec::new();
        let mut pairs = Vec::new();
        for (dest, sources) in near.into_iter().enumerate() {
            for (from, choices) in sources.open {
                let first = slots.len();
                slots.extend(choices);
                let end = slots.len();
                pairs.push(OpenPair {
                    from,
                    dest,
                    first,
                    end,
                });
            }
            self.columns.push(sources.column);
        }
        pairs.sort_by_key(|pair| (graph.lid_rank[pair.dest], graph.lid_rank[pair.from]));
        for dest in 0..graph.len() {
            for from in (0..graph.len()).filter(|&from| from != dest) {
                self.add_load(from, dest, true);
            }
        }
        for round in 0..ROUNDS {
            for pair in &pairs {
                if round > 0 {
                    self.add_load(pair.from, pair.dest, false);
                }
                let best = slots[pair.first..pair.end]
                    .iter()
                    .copied()
                    .min_by_key(|&slot| self.load_through(pair.from, usize::from(slot), pair.dest));
                if let Some(slot) = best {
                    self.columns[pair.dest][pair.from] = slot;
                }
                self.add_load(pair.from, pair.dest, true);
            }
        }
        for rank in 0..graph.len() {
            self.connect_distant(graph.by_lid[rank]);
        }
        SlotRoutes::from_columns(&self.columns)
    }

    fn slot(&self, from: usize, dest: usize) -> Option<usize> {
        let slot = usize::from(self.columns[dest][from]);
        (slot < self.graph.slots(from).len()).then_some(slot)
    }

    /// Adds or removes the load of a route. Its later hops must have routes.
    fn add_load(&mut self, from: usize, dest: usize, is_added: bool) {
        let graph = self.graph;
        let routes = u64::from(graph.hosts[from]) * u64::from(graph.hosts[dest]);
        let mut at = from;
        while at != dest && routes > 0 {
            let Some(slot) = self.slot(at, dest) else {
                return;
            };
            let channel = graph.first_slot(at) + slot;
            if is_added {
                self.loads.add(channel, routes);
            } else {
                self.loads.remove(channel, routes);
            }
            at = graph.slots(at)[slot].peer;
        }
    }

    /// Load of the busiest channel of the path through a slot.
    fn load_through(&self, from: usize, slot: usize, dest: usize) -> u64 {
        let graph = self.graph;
        let mut load = self.loads.per_link(graph.first_slot(from) + slot);
        let mut at = graph.slots(from)[slot].peer;
        while at != dest {
            let Some(slot) = self.slot(at, dest) else {
                break;
            };
            load = load.max(self.loads.per_link(graph.first_slot(at) + slot));
            at = graph.slots(at)[slot].peer;
        }
        load
    }

    /// Sets the routes of the switches that are more than two hops from a destination.
    fn connect_distant(&mut self, dest: usize) {
        let graph = self.graph;
        let mut distant: Vec<usize> = graph
            .by_lid
            .iter()
            .copied()
            .filter(|&v| v != dest && self.slot(v, dest).is_none())
            .collect();
        if distant.is_empty() {
            return;
        }
        let mut hops: Vec<u32> = (0..graph.len())
            .map(|v| match self.slot(v, dest) {
                _ if v == dest => 0,
                None => UNREACHED,
                Some(slot) if graph.slots(v)[slot].peer == dest => 1,
                Some(_) => 2,
            })
            .collect();
        for length in 3.. {
            let before = distant.len();
            let mut found = Vec::new();
            for &v in &distant {
                let best = (0..graph.slots(v).len())
                    .filter(|&slot| {
                        let next = graph.slots(v)[slot].peer;
                        hops[next] == length - 1 && self.is_up_down(next, dest)
                    })
                    .min_by_key(|&slot| self.load_through(v, slot, dest));
                if let Some(slot) = best {
                    self.columns[dest][v] = index_to_u8(slot);
                    self.add_load(v, dest, true);
                    found.push(v);
                }
            }
            found.iter().for_each(|&v| hops[v] = length);
            distant.retain(|&v| hops[v] == UNREACHED);
            if distant.is_empty() {
                return;
            }
            if distant.len() == before {
                break;
            }
        }
        if !distant
            .iter()
            .all(|&v| self.connect_by_longer_route(v, dest))
        {
            self.route_up_down(dest);
        }
    }

    /// Sets the route of a switch whose neighbours all have routes that other switches may not use:
    /// one of them gets a longer route that goes up, then down. Returns whether it has one.
    fn connect_by_longer_route(&mut self, from: usize, dest: usize) -> bool {
        let graph = self.graph;
        let mut best: Option<(u64, usize, usize)> = None;
        for (first, slot) in graph.slots(from).iter().enumerate() {
            let next = slot.peer;
            // No switch routes through it, so its route may change.
            if self.slot(next, dest).is_none() || self.is_up_down(next, dest) {
                continue;
            }
            for second in 0..graph.slots(next).len() {
                let load = self.load_through(next, second, dest);
                if best.is_none_or(|(least, ..)| load < least)
                    && self.is_up_down_through(next, second, dest)
                {
                    best = Some((load, first, second));
                }
            }
        }
        let Some((_, first, second)) = best else {
            return false;
        };
        let next = graph.slots(from)[first].peer;
        self.add_load(next, dest, false);
        self.columns[dest][next] = index_to_u8(second);
        self.add_load(next, dest, true);
        self.columns[dest][from] = index_to_u8(first);
        self.add_load(from, dest, true);
        true
    }

    /// Whether the route from a switch goes up, then down.
    fn is_up_down(&self, from: usize, dest: usize) -> bool {
        from == dest
            || self
                .slot(from, dest)
                .is_some_and(|slot| self.is_up_down_through(from, slot, dest))
    }

    /// Whether the path through a slot and the route of the next switch goes up, then down.
    fn is_up_down_through(&self, from: usize, slot: usize, dest: usize) -> bool {
        let mut at = from;
        let mut slot = slot;
        let mut goes_down = false;
        loop {
            let next = self.graph.slots(at)[slot].peer;
            let is_down = self.order[next] > self.order[at];
            if (goes_down && !is_down) || next == from {
                return false;
            }
            if next == dest {
                return true;
            }
            let Some(onward) = self.slot(next, dest) else {
                return false;
            };
            goes_down = is_down;
            at = next;
            slot = onward;
        }
    }

    /// Replaces all routes to a destination by paths that go up, then down.
    fn route_up_down(&mut self, dest: usize) {
        let graph = self.graph;
        for from in (0..graph.len()).filter(|&from| from != dest) {
            self.add_load(from, dest, false);
        }
        let mut column = SlotRoutes::empty_column(graph.len());
        let mut top_down: Vec<usize> = (0..graph.len()).collect();
        top_down.sort_by_key(|&v| self.order[v]);
        // Paths that only go down, from the lowest switches up; then paths that go up first.
        let mut hops = vec![UNREACHED; graph.len()];
        hops[dest] = 0;
        let is_above = |a: usize, b: usize| self.order[a] < self.order[b];
        let nearest = |hops: &[u32], v: usize, goes_up: bool| {
            let slots = graph.slots(v).iter().enumerate();
            slots
                .filter(|(_, slot)| is_above(slot.peer, v) == goes_up)
                .filter(|(_, slot)| hops[slot.peer] != UNREACHED)
                .min_by_key(|&(k, slot)| (hops[slot.peer], k))
                .map(|(k, slot)| (k, hops[slot.peer] + 1))
        };
        for &v in top_down.iter().rev().filter(|&&v| v != dest) {
            if let Some((slot, length)) = nearest(&hops, v, false) {
                column[v] = index_to_u8(slot);
                hops[v] = length;
            }
        }
        let only_down: Vec<bool> = hops.iter().map(|&h| h != UNREACHED).collect();
        for &v in top_down.iter().filter(|&&v| !only_down[v]) {
            if let Some((slot, length)) = nearest(&hops, v, true) {
                column[v] = index_to_u8(slot);
                hops[v] = length;
            }
        }
        self.columns[dest] = column;
        for from in (0..graph.len()).filter(|&from| from != dest) {
            self.add_load(from, dest, true);
        }
    }
}

/// The sources that are at most two hops from a destination.
fn near_sources(graph: &Graph, dest: usize) -> NearSources {
    let mut column = SlotRoutes::empty_column(graph.len());
    let mut open = Vec::new();
    let mut is_neighbour = vec![false; graph.len()];
    for slot in graph.slots(dest) {
        is_neighbour[slot.peer] = true;
    }
    for from in (0..graph.len()).filter(|&from| from != dest) {
        let slots = graph.slots(from);
        if is_neighbour[from] {
            let direct = slots.iter().position(|slot| slot.peer == dest);
            column[from] = direct.map_or(column[from], index_to_u8);
            continue;
        }
        let mut through = (0..slots.len()).filter(|&k| is_neighbour[slots[k].peer]);
        let Some(first) = through.next() else {
            continue;
        };
        let mut choices: Vec<u8> = through.map(index_to_u8).collect();
        if choices.is_empty() {
            column[from] = index_to_u8(first);
        } else {
            choices.insert(0, index_to_u8(first));
            open.push((from, choices));
        }
    }
    NearSources { column, open }
}
