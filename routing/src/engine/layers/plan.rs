//! Several ways to route a fabric with lanes, and which of them is taken.
//!
//! Balance wants many different ways, few lanes want ways that agree. So ways are made by several tastes; each is
//! shared out to lanes, and of those that the lanes at hand are enough for, the best by the engine's aim is taken.
//! Lanes that answers can use too (both directions of a pair together) come before any that they cannot.

use std::cmp::Reverse;
use std::sync::Arc;

use super::super::cell::{Cell, Stop};
use super::super::graph::Graph;
use super::super::legs::Legs;
use super::super::neighbors::NeighborChannels;
use super::super::order::{Closeness, Strategy, by_levels};
use super::super::sssp::{Spread, Taste, Ways, weigh};
use super::super::{Previous, Request, RouteError, Routing, TreeConstraint};
use super::orders::Orders;
use super::paths::Paths;
use super::polish::{Bounds, Polish};
use super::rest::one_lane;
use super::split::{Directions, Pair, Split, pairs, renew, split};
use super::tree;
use crate::channels::VirtualLayer;
use crate::lanes::{Lanes, PathSl};
use crate::notes::Note;
use crate::structure::tree::tree_in;
use crate::work::BudgetExceeded;
use ferrosm_mad::ids::PortNum;

/// What an engine prefers where it has the choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aim {
    /// The lowest load of the busiest channel; fewer lanes where that costs no more than an eighth.
    Balance,
    /// The fewest lanes, unless the load of the busiest channel is half as much again as it could be.
    FewLanes,
}

/// Above so many table entries not every taste is tried, but only until one serves well.
const THOROUGH_ENTRIES: usize = 2_000_000;

/// One serves well whose busiest channel has at most so many times, divided by [`WELL_OF`], the routes that it has with the lightest ways.
const WELL: u64 = 5;
/// See [`WELL`].
const WELL_OF: u64 = 4;

/// One does not serve whose busiest channel has more than so many times the routes that it has with the lightest ways: another
/// engine, or lanes that answers cannot use, are better than a fabric that waits for one cable.
const CROWDED: u64 = 4;

/// Up to so many pairs of switches are shared out in several orders, of which the one with the fewest lanes is taken.
const SHUFFLED_PAIRS: usize = 60_000;

/// So many orders.
const SHUFFLES: u64 = 8;

/// Ways to make ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Light,
    FewTurns,
    FirstPort,
    Orders,
    Tree,
}

/// In the order in which they are tried: those first that are balanced and, where there is a tree or an order, need few lanes.
const TASTES: [(Kind, Spread); 7] = [
    (Kind::Light, Spread::ByLid),
    (Kind::Tree, Spread::ByLid),
    (Kind::Orders, Spread::ByLid),
    (Kind::FewTurns, Spread::ByLid),
    (Kind::FewTurns, Spread::BySwitch),
    (Kind::Orders, Spread::BySwitch),
    (Kind::FirstPort, Spread::BySwitch),
];

/// Ways and their lanes, and what is needed to compare them.
struct Found {
    ways: Ways,
    split: Split,
    directions: Directions,
    max_load: u64,
    /// A spanning tree on the first lane.
    up: Option<Vec<Option<PortNum>>>,
    /// They are those that are installed, as far as these still can be.
    kept: bool,
}

/// What came of one taste.
enum Tried {
    /// The lanes at hand are enough.
    Serves(Found),
    /// So many lanes are needed.
    Lanes(usize),
    /// It is not for this fabric, or crowds some channel.
    Unfit,
}

/// Ways that one lane is enough for, and the trees that go with them; or the lightest ways of all.
pub(crate) enum Single {
    Fits(Ways, TreeConstraint),
    Not(Ways),
}

/// Routes on one lane, if that can be.
pub(crate) fn single<C: Cell>(
    request: &Request<'_>,
    graph: &Graph,
    legs: &Legs<C>,
) -> Result<Single, Stop> {
    let plan = Plan::new(request, graph, legs);
    let Some((light, fresh, _)) = plan.ways(Kind::Light, Spread::ByLid)? else {
        return Ok(Single::Not(Ways::new(request.topo)));
    };
    // Ways that do not fit after all stay as they were.
    let mut ways = light.clone();
    if let Some(trees) = plan.on_one_lane(&mut ways, fresh)? {
        return Ok(Single::Fits(ways, trees));
    }
    if let Some((mut ways, fresh, _)) = plan.ways(Kind::Tree, Spread::ByLid)?
        && let Some(trees) = plan.on_one_lane(&mut ways, fresh)?
    {
        return Ok(Single::Fits(ways, trees));
    }
    Ok(Single::Not(light))
}

/// Routes by several tastes, on no more lanes than there are.
pub(crate) fn route<C: Cell>(
    name: &'static str,
    request: &Request<'_>,
    graph: &Graph,
    aim: Aim,
) -> Result<Result<Routing, RouteError>, Stop> {
    let legs = Legs::<C>::shortest(graph)?;
    if let Single::Fits(ways, trees) = single(request, graph, &legs)? {
        return Ok(Ok(Routing {
            engine: name,
            tables: ways.tables(request.topo, request.previous),
            vl_plan: Lanes::single(),
            order: None,
            trees,
            notes: vec![Note::OneVl],
        }));
    }
    let usable = usize::from(request.usable_vls());
    let mut needed = usize::MAX;
    // What is installed may need more lanes than new ways.
    let nothing = Previous::none();
    let anew = request.with_previous(&nothing);
    let installed = request.previous.lfts.iter().any(Option::is_some);
    let requests = [Some(request), installed.then_some(&anew)];
    for directions in [Directions::Together, Directions::Apart] {
        for request in requests.into_iter().flatten() {
            let plan = Plan::new(request, graph, &legs);
            let (found, least) = plan.try_all(aim, directions, usable)?;
            needed = needed.min(least);
            if let Some(found) = found {
                return Ok(Ok(plan.finish(name, found)));
            }
        }
    }
    // With more work fewer lanes might have been enough.
    request.budget.check()?;
    Ok(Err(RouteError::TooFewVls {
        needed,
        usable: request.usable_vls(),
    }))
}

struct Plan<'a, C> {
    request: &'a Request<'a>,
    graph: &'a Graph,
    channels: NeighborChannels,
    legs: &'a Legs<C>,
}

impl<'a, C: Cell> Plan<'a, C> {
    fn new(request: &'a Request<'a>, graph: &'a Graph, legs: &'a Legs<C>) -> Self {
        Self {
            request,
            graph,
            channels: NeighborChannels::new(graph),
            legs,
        }
    }

    /// Ways of one taste, and whether nothing installed is kept in them; nothing if the taste is not for this fabric.
    fn ways(
        &self,
        kind: Kind,
        spread: Spread,
    ) -> Result<Option<(Ways, bool, Option<Orders>)>, Stop> {
        let (graph, channels) = (self.graph, &self.channels);
        let orders = match kind {
            Kind::Orders => Some(Orders::new(graph, self.legs, channels)),
            Kind::Tree => {
                let Ok(tree) = tree_in(self.request.topo, graph, self.request.hints) else {
                    return Ok(None);
                };
                Some(Orders::single(graph, channels, &by_levels(graph, &tree)))
            }
            Kind::Light | Kind::FewTurns | Kind::FirstPort => None,
        };
        let taste = match (kind, &orders) {
            (Kind::FewTurns, _) => Taste::FewTurns,
            (Kind::FirstPort, _) => Taste::FirstPort,
            (Kind::Orders | Kind::Tree, Some(orders)) => Taste::Orders(orders),
            (Kind::Light | Kind::Orders | Kind::Tree, _) => Taste::Light,
        };
        let (ways, fresh) = weigh(self.request, graph, self.legs, channels, spread, taste)?;
        Ok(Some((ways, fresh, orders)))
    }

    /// Puts everything on one lane, and balances new ways on it; gives the trees that go with them.
    fn on_one_lane(&self, ways: &mut Ways, fresh: bool) -> Result<Option<TreeConstraint>, Stop> {
        let (graph, channels, topo) = (self.graph, &self.channels, self.request.topo);
        let budget = self.request.budget;
        // All paths are followed once.
        budget.spend_len(graph.len() * topo.destinations().len())?;
        if !fresh {
            // Ways that were grown beside others are not the shortest: as long as packets arrive by them, they stay.
            ways.keep_whole_columns(topo, self.request.previous);
        }
        let whole = VirtualLayer::from_dependencies(
            &channels.index,
            Paths::new(topo, graph, channels, ways).all(),
        );
        let (mut lane, up) = if let Some(mut lane) = whole {
            let up = tree::grow(graph, &channels.index, &mut lane, &self.order(), budget)?;
            (lane, up)
        } else {
            let Some((lane, up)) = one_lane(self.request, graph, channels, ways, &self.order())?
            else {
                return Ok(None);
            };
            (lane, Some(up))
        };
        if fresh {
            let mut bounds = Bounds {
                lanes: std::slice::from_mut(&mut lane),
                lane_of: &[],
                tree: true,
            };
            Polish::new(self.request, graph, self.legs, channels, ways)?.work(
                ways,
                &mut bounds,
                |_, _| Ok(()),
            );
        }
        Ok(Some(up.map_or(TreeConstraint::Search, |up| {
            TreeConstraint::Within { up, sl: 0 }
        })))
    }

    /// The best of all tastes by the aim, and the fewest lanes that any needs.
    fn try_all(
        &self,
        aim: Aim,
        directions: Directions,
        usable: usize,
    ) -> Result<(Option<Found>, usize), Stop> {
        let entries = self.graph.len() * self.request.topo.destinations().len();
        let (mut serve, mut least) = (Vec::<Found>::new(), usize::MAX);
        let mut light = 0;
        // Of a large fabric's later tastes none was ever seen to need fewer lanes without crowding.
        let tried = if entries > THOROUGH_ENTRIES {
            3
        } else {
            TASTES.len()
        };
        for (kind, spread) in TASTES.into_iter().take(tried) {
            let well = light * WELL / WELL_OF;
            let good = |f: &Found| f.kept || entries > THOROUGH_ENTRIES && f.max_load <= well;
            if serve.iter().any(good) {
                break;
            }
            match self.try_taste((kind, spread), directions, usable, &mut light) {
                Ok(Tried::Serves(found)) => {
                    least = least.min(found.split.lanes.len());
                    serve.push(found);
                }
                Ok(Tried::Lanes(needed)) => least = least.min(needed),
                Ok(Tried::Unfit) => {}
                // Later tastes are improvements.
                Err(Stop::Budget) if !serve.is_empty() => break,
                Err(stop) => return Err(stop),
            }
        }
        let lightest = serve.iter().map(|f| f.max_load).min().unwrap_or(0);
        let allowed = match aim {
            Aim::Balance => lightest + lightest / 8,
            Aim::FewLanes => lightest + lightest / 2,
        };
        serve.retain(|f| f.max_load <= allowed);
        let best = serve
            .into_iter()
            .min_by_key(|f| (f.split.lanes.len(), f.max_load));
        Ok((best, least))
    }

    /// Ways of one taste on lanes. `light` is the load of the busiest channel with the lightest ways, once it is known.
    fn try_taste(
        &self,
        (kind, spread): (Kind, Spread),
        directions: Directions,
        usable: usize,
        light: &mut u64,
    ) -> Result<Tried, Stop> {
        let Some((mut ways, fresh, orders)) = self.ways(kind, spread)? else {
            return Ok(Tried::Unfit);
        };
        if kind == Kind::Light {
            let polish = Polish::new(self.request, self.graph, self.legs, &self.channels, &ways)?;
            *light = polish.max_load();
        }
        let paths = Paths::new(self.request.topo, self.graph, &self.channels, &ways);
        let all = pairs(&paths, self.legs, directions);
        let Some(mut split) = self.shared_out(&paths, &all, directions, orders.as_ref(), fresh)?
        else {
            return Ok(Tried::Unfit);
        };
        if split.lanes.len() > usable {
            return Ok(Tried::Lanes(split.lanes.len()));
        }
        let up = self.tree_within(&mut split, !fresh)?;
        let mut polish = Polish::new(self.request, self.graph, self.legs, &self.channels, &ways)?;
        if fresh {
            let mut bounds = Bounds {
                lanes: &mut split.lanes,
                lane_of: &split.lane_of,
                tree: up.is_some(),
            };
            polish.work(&mut ways, &mut bounds, |ways, bounds| {
                let paths = Paths::new(self.request.topo, self.graph, &self.channels, ways);
                renew(bounds, &paths, &all, directions, self.request.budget)
            });
        }
        let max_load = polish.max_load();
        if fresh && max_load > *light * CROWDED {
            return Ok(Tried::Unfit);
        }
        Ok(Tried::Serves(Found {
            max_load,
            ways,
            split,
            directions,
            up,
            kept: !fresh,
        }))
    }

    /// The pairs on lanes: those that they had, if ways are kept; the fewest of several orders of the pairs, if not.
    fn shared_out(
        &self,
        paths: &Paths<'_>,
        all: &[Pair],
        directions: Directions,
        orders: Option<&Orders>,
        fresh: bool,
    ) -> Result<Option<Split>, Stop> {
        let budget = self.request.budget;
        let last = self.request.previous.last.as_ref();
        let old = last
            .filter(|_| !fresh)
            .and_then(|last| match &last.routing.vl_plan.path_sl {
                PathSl::BySwitches(rows) if rows.len() == self.graph.len() => Some(rows.as_slice()),
                PathSl::Uniform(_)
                | PathSl::ByLid(_)
                | PathSl::BySwitches(_)
                | PathSl::BySwitchAndLid(_) => None,
            });
        let mut best = split(paths, all, directions, orders, old, budget)?;
        if !fresh || all.len() > SHUFFLED_PAIRS {
            return Ok(best);
        }
        for seed in 1..SHUFFLES {
            let mut shuffled = all.to_vec();
            let rank = |v: u32| self.graph.lid_rank[v as usize] as u64;
            shuffled.sort_by_cached_key(|&(a, b)| {
                let hops = self.legs.cell(a as usize, b as usize).hops();
                let mixed = (rank(a) << 32 | rank(b))
                    .wrapping_add(seed << 20)
                    .wrapping_mul(0x9e37_79b9_7f4a_7c15);
                (Reverse(hops), mixed ^ mixed >> 29)
            });
            let found = match split(paths, &shuffled, directions, orders, None, budget) {
                Err(BudgetExceeded) if best.is_some() => return Ok(best),
                found => found?,
            };
            if let Some(found) = found
                && best
                    .as_ref()
                    .is_none_or(|b| found.lanes.len() < b.lanes.len())
            {
                best = Some(found);
            }
        }
        Ok(best)
    }

    /// Switches from the centre outwards, for a tree.
    fn order(&self) -> Vec<usize> {
        Closeness::new(self.graph, self.legs).order(self.graph, Strategy::CentreFirst, &[])
    }

    /// A spanning tree beside the packets of one lane, which becomes the first.
    fn tree_within(
        &self,
        split: &mut Split,
        kept: bool,
    ) -> Result<Option<Vec<Option<PortNum>>>, Stop> {
        let order = self.order();
        // The last lane has the fewest packets, and the most room for a tree. What is installed has one on the first.
        let last_first = (0..split.lanes.len()).rev();
        for lane in kept.then_some(0).into_iter().chain(last_first) {
            let mut with_tree = split.lanes[lane].clone();
            let budget = self.request.budget;
            if let Some(up) = tree::grow(
                self.graph,
                &self.channels.index,
                &mut with_tree,
                &order,
                budget,
            )? {
                split.lanes[lane] = with_tree;
                split.make_first(lane);
                return Ok(Some(up));
            }
        }
        Ok(None)
    }

    fn finish(&self, name: &'static str, found: Found) -> Routing {
        let n = self.graph.len();
        let Found {
            ways,
            mut split,
            directions,
            up,
            kept,
            ..
        } = found;
        let paths = Paths::new(self.request.topo, self.graph, &self.channels, &ways);
        let trees = up.map_or(TreeConstraint::Search, |up| TreeConstraint::Within {
            up,
            sl: 0,
        });
        if !kept {
            split.balance(
                &paths,
                &pairs(&paths, self.legs, directions),
                self.request.budget,
            );
        }
        let vls = u8::try_from(split.lanes.len()).unwrap_or(u8::MAX);
        let rows = split.lane_of.chunks(n).map(Arc::from).collect();
        let mut notes = vec![Note::Vls(vls)];
        if directions == Directions::Apart {
            notes.push(Note::OneWaySls);
        }
        Routing {
            engine: name,
            tables: ways.tables(self.request.topo, self.request.previous),
            vl_plan: Lanes::modulo(vls, PathSl::BySwitches(rows)),
            order: None,
            trees,
            notes,
        }
    }
}
