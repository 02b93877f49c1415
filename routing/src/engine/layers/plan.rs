//! Several ways to route a fabric with lanes, and which of them is taken.
//!
//! Balance wants many different ways, few lanes want ways that agree. So ways are made by several tastes; each is
//! shared out to lanes, and of those that the lanes at hand are enough for, the best by the engine's aim is taken.
//! Lanes that answers can use too (both directions of a pair together) come before any that they cannot.

use std::sync::Arc;

use super::super::graph::Graph;
use super::super::legs::{Cell, CellOverflow, Legs};
use super::super::order::{Closeness, Strategy};
use super::super::sssp::{Spread, Taste, Ways, weigh};
use super::super::{Request, RouteError, Routing, Trees};
use super::lane::Lane;
use super::orders::Orders;
use super::paths::Paths;
use super::split::{Directions, Split, pairs, split};
use super::tree;
use super::wires::Wires;
use crate::lanes::{Lanes, PathSl};

/// What an engine prefers where it has the choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aim {
    /// The lowest load of the busiest channel; fewer lanes where that costs no more than an eighth.
    Balance,
    /// The fewest lanes, unless the load of the busiest channel is four times what it could be.
    FewLanes,
}

/// Above so many table entries not every taste is tried, but only until one serves.
const THOROUGH_ENTRIES: usize = 2_000_000;

/// Ways to make ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Light,
    FewTurns,
    FirstPort,
    Orders,
}

const BALANCE: [(Kind, Spread); 4] = [
    (Kind::Light, Spread::ByLid),
    (Kind::FewTurns, Spread::ByLid),
    (Kind::FewTurns, Spread::BySwitch),
    (Kind::Orders, Spread::ByLid),
];
const FEW_LANES: [(Kind, Spread); 5] = [
    (Kind::FewTurns, Spread::BySwitch),
    (Kind::Orders, Spread::BySwitch),
    (Kind::FirstPort, Spread::BySwitch),
    (Kind::Orders, Spread::ByLid),
    (Kind::FewTurns, Spread::ByLid),
];

/// Ways and their lanes, and what is needed to compare them.
struct Found {
    ways: Ways,
    split: Split,
    directions: Directions,
    max_load: u64,
}

/// Routes by the tastes of `aim`, on no more lanes than there are.
pub(crate) fn route<C: Cell>(
    name: &'static str,
    request: &Request<'_>,
    graph: &Graph,
    aim: Aim,
) -> Result<Result<Routing, RouteError>, CellOverflow> {
    let legs = Legs::<C>::shortest(graph)?;
    let plan = Plan {
        request,
        graph,
        wires: Wires::new(graph),
        legs,
    };
    // The best balance, if it needs no lanes.
    let (light, _) = plan.ways(Kind::Light, Spread::ByLid);
    let paths = Paths::new(request.topo, graph, &plan.wires, &light);
    if let Some(mut lane) = Lane::of(&plan.wires, paths.all()) {
        return Ok(Ok(plan.single(name, &light, &mut lane)));
    }
    drop(light);
    let have = usize::from(request.lanes());
    let mut needed = usize::MAX;
    for directions in [Directions::Together, Directions::Apart] {
        let (found, least) = plan.try_all(aim, directions, have);
        needed = needed.min(least);
        if let Some(found) = found {
            return Ok(Ok(plan.finish(name, found)));
        }
    }
    Ok(Err(RouteError::Lanes {
        needed,
        have: request.lanes(),
    }))
}

struct Plan<'a, C> {
    request: &'a Request<'a>,
    graph: &'a Graph,
    wires: Wires,
    legs: Legs<C>,
}

impl<C: Cell> Plan<'_, C> {
    fn ways(&self, kind: Kind, spread: Spread) -> (Ways, Option<Orders>) {
        let orders =
            (kind == Kind::Orders).then(|| Orders::new(self.graph, &self.legs, &self.wires));
        let taste = match (kind, &orders) {
            (Kind::FewTurns, _) => Taste::FewTurns,
            (Kind::FirstPort, _) => Taste::FirstPort,
            (Kind::Orders, Some(orders)) => Taste::Orders(orders),
            (Kind::Light | Kind::Orders, _) => Taste::Light,
        };
        let ways = weigh(
            self.request,
            self.graph,
            &self.legs,
            &self.wires,
            spread,
            taste,
        );
        (ways, orders)
    }

    /// The best of all tastes by the aim, and the fewest lanes that any needs.
    fn try_all(&self, aim: Aim, directions: Directions, have: usize) -> (Option<Found>, usize) {
        let entries = self.graph.len() * self.request.topo.destinations().len();
        let tastes = match aim {
            // The first that serves is taken unseen there: it has to be balanced.
            Aim::FewLanes if entries <= THOROUGH_ENTRIES => FEW_LANES.as_slice(),
            Aim::Balance | Aim::FewLanes => BALANCE.as_slice(),
        };
        let (mut serve, mut least) = (Vec::<Found>::new(), usize::MAX);
        for &(kind, spread) in tastes {
            if entries > THOROUGH_ENTRIES && !serve.is_empty() {
                break;
            }
            let (ways, orders) = self.ways(kind, spread);
            let paths = Paths::new(self.request.topo, self.graph, &self.wires, &ways);
            let all = pairs(&paths, &self.legs, directions);
            let Some(split) = split(&paths, &all, directions, orders.as_ref()) else {
                continue;
            };
            least = least.min(split.lanes.len());
            if split.lanes.len() <= have {
                serve.push(Found {
                    max_load: ways.max_load(self.request.topo, self.graph),
                    ways,
                    split,
                    directions,
                });
            }
        }
        let lightest = serve.iter().map(|f| f.max_load).min().unwrap_or(0);
        let allowed = match aim {
            Aim::Balance => lightest + lightest / 8,
            Aim::FewLanes => lightest * 4,
        };
        serve.retain(|f| f.max_load <= allowed);
        let best = serve
            .into_iter()
            .min_by_key(|f| (f.split.lanes.len(), f.max_load));
        (best, least)
    }

    /// Switches from the centre outwards, for a tree.
    fn order(&self) -> Vec<usize> {
        Closeness::new(self.graph, &self.legs).order(self.graph, Strategy::CentreFirst, &[])
    }

    fn single(&self, name: &'static str, ways: &Ways, lane: &mut Lane) -> Routing {
        let trees = tree::grow(self.graph, &self.wires, lane, &self.order())
            .map_or(Trees::Search, |up| Trees::Within { up, sl: 0 });
        Routing {
            engine: name,
            tables: ways.tables(self.request.topo, self.request.previous),
            lanes: Lanes::single(),
            order: None,
            trees,
            notes: vec!["one lane is free of credit loops as it is".to_owned()],
        }
    }

    fn finish(&self, name: &'static str, found: Found) -> Routing {
        let n = self.graph.len();
        let Found {
            ways,
            mut split,
            directions,
            ..
        } = found;
        let paths = Paths::new(self.request.topo, self.graph, &self.wires, &ways);
        let order = self.order();
        // The last lane has the fewest packets, and the most room for a tree.
        let tree = (0..split.lanes.len()).rev().find_map(|l| {
            let mut with_tree = split.lanes[l].clone();
            let up = tree::grow(self.graph, &self.wires, &mut with_tree, &order)?;
            split.lanes[l] = with_tree;
            Some((l, up))
        });
        let trees = match tree {
            Some((lane, up)) => {
                split.make_first(lane);
                Trees::Within { up, sl: 0 }
            }
            None => Trees::Search,
        };
        split.balance(&paths, &pairs(&paths, &self.legs, directions));
        let vls = u8::try_from(split.lanes.len()).unwrap_or(u8::MAX);
        let rows = split.lane_of.chunks(n).map(Arc::from).collect();
        let mut notes = vec![format!("{vls} lanes are free of credit loops")];
        if directions == Directions::Apart {
            notes.push(
                "lanes are too few for answers to use the SL of their request everywhere: clients must ask for both paths"
                    .to_owned(),
            );
        }
        Routing {
            engine: name,
            tables: ways.tables(self.request.topo, self.request.previous),
            lanes: Lanes::modulo(vls, PathSl::BySwitches(rows)),
            order: None,
            trees,
            notes,
        }
    }
}
