//! Routes of a dragonfly+: the choice among the next hops, by load.
//!
//! The LIDs of a destination are spread over the next hops of a leaf, so that packets from one leaf
//! to another use all spines. On all but large fabrics, leaves choose again in a second round,
//! after the load of all others is known. A switch that others send through uses one next hop for
//! all LIDs of a destination.

use ferrosm_mad::ids::PortNum;
use rayon::prelude::*;

use super::next_hops::{NextHops, next_hops};
use crate::paths::link_choice::LidSlots;
use crate::paths::slot_routes::{SlotLoads, SlotRoutes};
use crate::paths::up_down::ordered::positions;
use crate::topology::graph::Graph;
use crate::topology::{SwitchIdx, Topology};

/// Number of pairs of switches with end ports up to which leaves choose a second time. With more
/// pairs, the first choice is even enough.
const SECOND_ROUND_PAIRS_MAX: usize = 1 << 18;

/// The slots of each switch towards the LIDs of each other switch.
pub(super) struct SpreadRoutes {
    /// One slot for all LIDs of a destination.
    same: SlotRoutes,
    /// Slots by LID, for pairs of switches without an entry in `same`: by destination, then number
    /// of the source, then LID.
    spread: Vec<Vec<u8>>,
    /// By switch: its number among the switches with end ports.
    source_number: Vec<usize>,
    /// By switch: number of LIDs of the switch and its end ports.
    lids: Vec<usize>,
}

impl SpreadRoutes {
    pub(super) fn slots(&self, from: usize, dest: usize) -> LidSlots<'_> {
        self.same.get(from, dest).map_or_else(
            || LidSlots::Each(self.spread_slots(from, dest)),
            LidSlots::Same,
        )
    }

    fn spread_slots(&self, from: usize, dest: usize) -> &[u8] {
        let lids = self.lids[dest];
        &self.spread[dest][self.source_number[from] * lids..][..lids]
    }
}

/// Search for the routes.
pub(super) struct SpreadSearch<'a> {
    graph: &'a Graph,
    topo: &'a Topology,
    loads: SlotLoads,
    routes: SpreadRoutes,
    /// Sources that choose by load, by destination, the nearest first.
    open: Vec<Vec<NextHops>>,
}

impl<'a> SpreadSearch<'a> {
    pub(super) fn new(topo: &'a Topology, order: &[usize]) -> Self {
        let graph = topo.graph();
        let position = positions(order);
        let mut columns = Vec::new();
        let mut open = Vec::new();
        let by_destination: Vec<(Vec<u8>, Vec<NextHops>)> = (0..graph.len())
            .into_par_iter()
            .map(|dest| fixed_slots(graph, &position, dest))
            .collect();
        for (column, sources) in by_destination {
            columns.push(column);
            open.push(sources);
        }
        let mut source_number = Vec::new();
        let mut sources = 0;
        for &hosts in &graph.hosts {
            source_number.push(sources);
            sources += usize::from(hosts > 0);
        }
        let lids: Vec<usize> = topo
            .switches()
            .map(|s| topo.destinations_on(s).len())
            .collect();
        let spread = lids
            .iter()
            .zip(&open)
            .map(|(&count, choosing)| {
                if choosing.is_empty() {
                    Vec::new()
                } else {
                    vec![0; sources * count]
                }
            })
            .collect();
        Self {
            graph,
            topo,
            loads: SlotLoads::new(graph),
            routes: SpreadRoutes {
                same: SlotRoutes::from_columns(&columns),
                spread,
                source_number,
                lids,
            },
            open,
        }
    }

    pub(super) fn routes(mut self) -> SpreadRoutes {
        let graph = self.graph;
        let open = std::mem::take(&mut self.open);
        let mut loads = Vec::new();
        let sources = graph.hosts.iter().filter(|&&hosts| hosts > 0).count();
        let rounds = if sources * sources <= SECOND_ROUND_PAIRS_MAX {
            2
        } else {
            1
        };
        for round in 0..rounds {
            for &dest in &graph.by_lid {
                for hops in &open[dest] {
                    if !hops.is_transit {
                        if round > 0 {
                            self.change_load(hops, dest, SlotLoads::remove);
                        }
                        self.spread(hops, dest, &mut loads);
                        self.change_load(hops, dest, SlotLoads::add);
                    } else if round == 0 {
                        self.choose(hops, dest);
                    }
                }
            }
        }
        self.routes
    }

    /// Chooses one next hop for all LIDs of a destination.
    fn choose(&mut self, hops: &NextHops, dest: usize) {
        let slots = hops.slots.iter().map(|&slot| usize::from(slot));
        let least = slots.min_by_key(|&slot| self.load_through(hops.from, slot, dest));
        if let Some(slot) = least {
            self.routes.same.set(hops.from, dest, slot);
            let routes = u64::from(self.graph.hosts[hops.from]) * u64::from(self.graph.hosts[dest]);
            self.change_path(hops.from, slot, dest, SlotLoads::add, routes);
        }
    }

    /// Spreads the LIDs of a destination over the next hops of a source. `loads` is a buffer.
    fn spread(&mut self, hops: &NextHops, dest: usize, loads: &mut Vec<u64>) {
        let weight = u64::from(self.graph.hosts[hops.from]);
        loads.clear();
        for &slot in &hops.slots {
            loads.push(self.load_through(hops.from, usize::from(slot), dest));
        }
        let destinations = self.topo.destinations_on(SwitchIdx::from_index(dest));
        let first = self.routes.source_number[hops.from] * destinations.len();
        let chosen = &mut self.routes.spread[dest][first..first + destinations.len()];
        let mut turn = 0;
        for (slot, destination) in chosen.iter_mut().zip(destinations) {
            // Next hops with equal loads are used in turn.
            let mut best = turn;
            for k in (turn + 1..loads.len()).chain(0..turn) {
                if loads[k] < loads[best] {
                    best = k;
                }
            }
            *slot = hops.slots[best];
            if destination.port != PortNum::ZERO {
                loads[best] += weight;
            }
            turn = if turn + 1 < loads.len() { turn + 1 } else { 0 };
        }
    }

    /// Load of the busiest channel of a path through a slot.
    fn load_through(&self, from: usize, slot: usize, dest: usize) -> u64 {
        let graph = self.graph;
        let mut channel = graph.first_slot(from) + slot;
        let mut load = self.loads.per_link(channel);
        let mut at = graph.channels.head[channel] as usize;
        while let Some(onward) = self.routes.same.get(at, dest) {
            channel = graph.first_slot(at) + onward;
            load = load.max(self.loads.per_link(channel));
            at = graph.channels.head[channel] as usize;
        }
        load
    }

    /// Adds or removes the load of spread routes.
    fn change_load(
        &mut self,
        hops: &NextHops,
        dest: usize,
        change: fn(&mut SlotLoads, usize, u64),
    ) {
        let graph = self.graph;
        let weight = u64::from(graph.hosts[hops.from]);
        let destinations = self.topo.destinations_on(SwitchIdx::from_index(dest));
        let mut routes = [0; 256];
        for (&slot, destination) in self
            .routes
            .spread_slots(hops.from, dest)
            .iter()
            .zip(destinations)
        {
            if destination.port != PortNum::ZERO {
                routes[usize::from(slot)] += weight;
            }
        }
        for slot in hops.slots.iter().map(|&slot| usize::from(slot)) {
            if routes[slot] > 0 {
                self.change_path(hops.from, slot, dest, change, routes[slot]);
            }
        }
    }

    /// Adds or removes the load of routes through a slot.
    fn change_path(
        &mut self,
        from: usize,
        slot: usize,
        dest: usize,
        change: fn(&mut SlotLoads, usize, u64),
        routes: u64,
    ) {
        let graph = self.graph;
        let mut channel = graph.first_slot(from) + slot;
        change(&mut self.loads, channel, routes);
        let mut at = graph.channels.head[channel] as usize;
        while let Some(onward) = self.routes.same.get(at, dest) {
            channel = graph.first_slot(at) + onward;
            change(&mut self.loads, channel, routes);
            at = graph.channels.head[channel] as usize;
        }
    }
}

/// The slots towards a destination that do not depend on loads, and the sources that choose.
fn fixed_slots(graph: &Graph, order: &[u32], dest: usize) -> (Vec<u8>, Vec<NextHops>) {
    let mut column = SlotRoutes::empty_column(graph.len());
    let mut open = Vec::new();
    for hops in next_hops(graph, order, dest) {
        let choices = hops.slots.len();
        let has_choice = hops.is_transit && choices > 1;
        if graph.hosts[dest] > 0 && (has_choice || graph.hosts[hops.from] > 0) {
            open.push(hops);
        } else {
            column[hops.from] = hops.slots[graph.lid_rank[dest] % choices];
        }
    }
    (column, open)
}
