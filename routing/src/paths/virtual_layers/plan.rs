//! Computes several sets of paths and selects one.
//!
//! Load balance prefers many different paths, few VLs prefer paths that coincide. So paths are
//! computed with several preferences and each set is assigned to virtual layers. Of those that fit
//! the usable VLs, the best by the engine's objective is used. Assignments in which replies can use
//! the SL of the request (both directions of a pair on one VL) are tried before those in which they
//! cannot.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::sync::Arc;

use super::paths::PairPaths;
use super::refinement::{LayerConstraints, Refinement};
use super::single_vl::fit_one_vl;
use super::spanning_tree;
use super::vl_assignment::{
    Directions, FirstPairs, LAYERS_MAX, LayerRules, Pair, VlAssignment, assign_vls, pairs,
    rebuild_layers,
};
use crate::channels::VirtualLayer;
use crate::messages::{Diagnostic, RouteError, SwitchOrderStrategy};
use crate::paths::next_hops::cell::{EngineStop, HopCell};
use crate::paths::next_hops::hop_matrix::HopMatrix;
use crate::paths::up_down::order::{Closeness, by_levels};
use crate::paths::up_down::ordered::positions;
use crate::paths::weighted::{Granularity, LidTrees, PathPreference, SwitchOrders, weigh_lids};
use crate::request::{PreviousRouting, RoutingRequest};
use crate::routing::{Routing, TreeConstraint};
use crate::structure::tree::tree_in;
use crate::topology::graph::Graph;
use crate::topology::index_to_u8;
use crate::vl_plan::{PathSl, VlPlan};
use crate::work::BudgetExceeded;
use ferrosm_mad::ids::PortNum;

/// What an engine optimizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Objective {
    /// The lowest load of the busiest channel; fewer VLs if that costs at most an eighth.
    Balance,
    /// The fewest VLs, as long as the load of the busiest channel is at most half above the lowest.
    FewVls,
}

/// Up to this number of switches, several orders of assignment are tried, and the number of layers
/// is found even if it exceeds that of the usable VLs.
const THOROUGH_SWITCHES: usize = 100;

/// Above this number of table entries, and on large trees, additional preferences are tried only
/// until one gives a good load.
const THOROUGH_ENTRIES: usize = 2_000_000;

/// A load is good up to `GOOD_LOAD / GOOD_LOAD_DIVISOR` times the load of the lightest paths.
const GOOD_LOAD: u64 = 5;
/// See [`GOOD_LOAD`].
const GOOD_LOAD_DIVISOR: u64 = 4;

/// Paths are rejected if their busiest channel has more than this multiple of the load of the
/// lightest paths: another engine, or VLs that replies cannot use, are better than one overloaded
/// link.
const CROWDED_FACTOR: u64 = 4;

/// Number of orders tried.
const SHUFFLES: u64 = 8;

/// Preferences for the computation of paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PreferenceKind {
    LeastLoad,
    FewestDependencies,
    FirstPort,
    Orders,
    Tree,
}

/// In the order in which they are tried: first those with good balance that need few VLs on trees
/// and ordered fabrics.
const PREFERENCES: [(PreferenceKind, Granularity); 7] = [
    (PreferenceKind::LeastLoad, Granularity::PerLid),
    (PreferenceKind::Tree, Granularity::PerLid),
    (PreferenceKind::Orders, Granularity::PerLid),
    (PreferenceKind::FewestDependencies, Granularity::PerLid),
    (PreferenceKind::FewestDependencies, Granularity::PerSwitch),
    (PreferenceKind::Orders, Granularity::PerSwitch),
    (PreferenceKind::FirstPort, Granularity::PerSwitch),
];

/// On large trees: the lightest paths need many VLs, and are tried last.
const PREFERENCES_OF_LARGE_TREES: [(PreferenceKind, Granularity); 3] = [
    (PreferenceKind::Tree, Granularity::PerLid),
    (PreferenceKind::Orders, Granularity::PerLid),
    (PreferenceKind::LeastLoad, Granularity::PerLid),
];

/// A set of paths with its virtual layers, and the figures for the comparison.
struct Candidate {
    lid_trees: LidTrees,
    assignment: VlAssignment,
    directions: Directions,
    max_load: u64,
    /// Layers of the paths. One more may carry the spanning tree.
    path_layers: usize,
    /// Spanning tree on the first layer.
    up: Option<Vec<Option<PortNum>>>,
    /// Whether installed paths are reused as far as possible.
    is_installed: bool,
}

/// Result for one preference.
enum Attempt {
    /// The usable VLs are enough.
    Fits(Candidate),
    /// Number of VLs required.
    NeedsVls(usize),
    /// The preference does not apply to this fabric, or a channel would be overloaded.
    Unfit,
}

/// Paths that are deadlock-free on one VL with compatible multicast trees, or else the lightest
/// paths.
pub(crate) enum SingleVl {
    Fits(LidTrees, TreeConstraint),
    DoesNotFit(LidTrees),
}

/// Routes on one VL, if possible.
pub(crate) fn route_on_one_vl<C: HopCell>(
    request: &RoutingRequest<'_>,
    graph: &Graph,
    matrix: &HopMatrix<C>,
) -> Result<SingleVl, EngineStop> {
    let planner = Planner::new(request, graph, matrix);
    if let Some((lid_trees, trees)) = planner.route_on_one_vl()? {
        return Ok(SingleVl::Fits(lid_trees, trees));
    }
    Ok(SingleVl::DoesNotFit(planner.lightest()?.lid_trees.clone()))
}

/// Routes with several preferences, on no more VLs than are usable.
pub(crate) fn route<C: HopCell>(
    name: &'static str,
    request: &RoutingRequest<'_>,
    graph: &Graph,
    objective: Objective,
) -> Result<Result<Routing, RouteError>, EngineStop> {
    let matrix = HopMatrix::<C>::shortest(graph)?;
    let planner = Planner::new(request, graph, &matrix);
    if let Some((lid_trees, trees)) = planner.route_on_one_vl()? {
        return Ok(Ok(Routing {
            engine: name,
            tables: lid_trees.tables(request.topo, request.previous),
            vl_plan: VlPlan::single(),
            order: None,
            trees,
            diagnostics: vec![Diagnostic::OneVl],
        }));
    }
    let usable = usize::from(request.usable_vls());
    let mut min_vls = usize::MAX;
    // Installed paths may need more VLs than fresh ones.
    let nothing = PreviousRouting::none();
    let from_scratch = request.with_previous(&nothing);
    let installed = request.previous.lfts.iter().any(Option::is_some);
    let from_scratch = installed.then(|| Planner::new(&from_scratch, graph, &matrix));
    for directions in [Directions::Shared, Directions::Separate] {
        for planner in [Some(&planner), from_scratch.as_ref()]
            .into_iter()
            .flatten()
        {
            let (candidate, vls_needed) = planner.try_all(objective, directions, usable)?;
            min_vls = min_vls.min(vls_needed);
            if let Some(candidate) = candidate {
                return Ok(Ok(planner.finish(name, candidate)));
            }
        }
    }
    // A larger budget might have found fewer VLs.
    request.budget.check()?;
    Ok(Err(RouteError::TooFewVls {
        needed: min_vls,
        usable: request.usable_vls(),
    }))
}

/// Paths of one preference.
#[derive(Clone)]
struct PreferredPaths<'a> {
    lid_trees: LidTrees,
    /// None of them is an installed one.
    are_new: bool,
    /// The orders of switches that they prefer to follow.
    orders: Option<&'a SwitchOrders>,
}

struct Planner<'a, C> {
    request: &'a RoutingRequest<'a>,
    graph: &'a Graph,
    matrix: &'a HopMatrix<C>,
    /// Switches from the centre outwards, for spanning trees.
    order: Vec<usize>,
    /// The channels up and down this order.
    channel_order: Vec<u32>,
    orders: OnceCell<SwitchOrders>,
    /// The levels of the tree; `None` within if the fabric is none.
    tree_orders: OnceCell<Option<SwitchOrders>>,
    lightest: OnceCell<PreferredPaths<'static>>,
    /// Load of the busiest channel with the lightest paths.
    min_load: OnceCell<u64>,
}

impl<'a, C: HopCell> Planner<'a, C> {
    fn new(request: &'a RoutingRequest<'a>, graph: &'a Graph, matrix: &'a HopMatrix<C>) -> Self {
        let order =
            Closeness::new(graph, matrix).order(graph, SwitchOrderStrategy::CentreFirst, &[]);
        Self {
            request,
            graph,
            matrix,
            channel_order: graph.channels.up_then_down(&positions(&order)),
            order,
            orders: OnceCell::new(),
            tree_orders: OnceCell::new(),
            lightest: OnceCell::new(),
            min_load: OnceCell::new(),
        }
    }

    /// Whether the fabric has more than [`THOROUGH_SWITCHES`].
    fn is_large(&self) -> bool {
        self.graph.len() > THOROUGH_SWITCHES
    }

    fn tree_orders(&self) -> Option<&SwitchOrders> {
        let find = || {
            let tree = tree_in(self.request.topo, self.graph, self.request.hints).ok()?;
            Some(SwitchOrders::single(
                self.graph,
                &by_levels(self.graph, &tree),
            ))
        };
        self.tree_orders.get_or_init(find).as_ref()
    }

    /// The paths with the least load.
    fn lightest(&self) -> Result<&PreferredPaths<'static>, EngineStop> {
        if let Some(paths) = self.lightest.get() {
            return Ok(paths);
        }
        let (lid_trees, are_new) = weigh_lids(
            self.request,
            self.graph,
            self.matrix,
            Granularity::PerLid,
            PathPreference::LeastLoad,
        )?;
        Ok(self.lightest.get_or_init(|| PreferredPaths {
            lid_trees,
            are_new,
            orders: None,
        }))
    }

    /// Routes over the busiest channel with the lightest paths.
    fn min_load(&self) -> Result<u64, EngineStop> {
        if let Some(load) = self.min_load.get() {
            return Ok(*load);
        }
        let lid_trees = &self.lightest()?.lid_trees;
        let loads = Refinement::new(self.request, self.graph, self.matrix, lid_trees)?;
        Ok(*self.min_load.get_or_init(|| loads.max_load()))
    }

    /// Paths for one preference; `None` if it does not apply.
    fn paths(
        &self,
        kind: PreferenceKind,
        granularity: Granularity,
    ) -> Result<Option<PreferredPaths<'_>>, EngineStop> {
        let graph = self.graph;
        let orders = match kind {
            PreferenceKind::LeastLoad => return Ok(Some(self.lightest()?.clone())),
            PreferenceKind::Orders => {
                let find = || SwitchOrders::new(graph, self.matrix);
                Some(self.orders.get_or_init(find))
            }
            PreferenceKind::Tree => {
                let Some(orders) = self.tree_orders() else {
                    return Ok(None);
                };
                Some(orders)
            }
            PreferenceKind::FewestDependencies | PreferenceKind::FirstPort => None,
        };
        let preference = match orders {
            Some(orders) => PathPreference::Orders(orders),
            None if kind == PreferenceKind::FirstPort => PathPreference::FirstPort,
            None => PathPreference::FewestDependencies,
        };
        let (lid_trees, are_new) =
            weigh_lids(self.request, graph, self.matrix, granularity, preference)?;
        Ok(Some(PreferredPaths {
            lid_trees,
            are_new,
            orders,
        }))
    }

    /// Paths that fit one VL: the lightest, or those of the tree.
    fn route_on_one_vl(&self) -> Result<Option<(LidTrees, TreeConstraint)>, EngineStop> {
        for kind in [PreferenceKind::LeastLoad, PreferenceKind::Tree] {
            if let Some(paths) = self.paths(kind, Granularity::PerLid)?
                && let Some(placed) = self.place_on_one_vl(paths)?
            {
                return Ok(Some(placed));
            }
        }
        Ok(None)
    }

    /// Places all paths on one VL and balances new ones there; returns them with the compatible
    /// multicast trees.
    fn place_on_one_vl(
        &self,
        paths: PreferredPaths<'_>,
    ) -> Result<Option<(LidTrees, TreeConstraint)>, EngineStop> {
        let PreferredPaths {
            mut lid_trees,
            are_new,
            ..
        } = paths;
        let graph = self.graph;
        let topo = self.request.topo;
        let budget = self.request.budget;
        // Every path is followed once.
        budget.spend_len(graph.len() * topo.destinations().len())?;
        if !are_new {
            // Paths that were adapted to one VL are not the shortest; keep them while they reach
            // their destination.
            lid_trees.keep_installed_columns(topo, self.request.previous);
        }
        let layer = VirtualLayer::from_dependencies(
            &graph.channels,
            PairPaths::new(topo, graph, &lid_trees).all_dependencies(),
        );
        let (mut layer, up) = if let Some(mut layer) = layer {
            let up = spanning_tree::grow_spanning_tree(
                graph,
                &graph.channels,
                &mut layer,
                &self.order,
                budget,
            )?;
            (layer, up)
        } else {
            let Some((layer, up)) = fit_one_vl(self.request, graph, &mut lid_trees, &self.order)?
            else {
                return Ok(None);
            };
            (layer, Some(up))
        };
        if are_new {
            let mut constraints = LayerConstraints {
                layers: std::slice::from_mut(&mut layer),
                layer_of: &[],
                tree: true,
            };
            Refinement::new(self.request, graph, self.matrix, &lid_trees)?.run(
                &mut lid_trees,
                &mut constraints,
                |_, _| Ok(()),
            );
        }
        let trees = up.map_or(TreeConstraint::Search, |up| TreeConstraint::Within {
            up,
            sl: 0,
        });
        Ok(Some((lid_trees, trees)))
    }

    /// The best result of all preferences by the objective, and the lowest number of VLs that any
    /// requires.
    fn try_all(
        &self,
        objective: Objective,
        directions: Directions,
        usable: usize,
    ) -> Result<(Option<Candidate>, usize), EngineStop> {
        let entries = self.graph.len() * self.request.topo.destinations().len();
        let mut fitting = Vec::<Candidate>::new();
        let mut vls_needed = usize::MAX;
        let is_large_tree = self.is_large() && self.tree_orders().is_some();
        let is_limited = is_large_tree || entries > THOROUGH_ENTRIES;
        let tried = if is_large_tree {
            PREFERENCES_OF_LARGE_TREES.as_slice()
        } else if is_limited {
            // Later ones have never needed fewer VLs without overloading a channel.
            &PREFERENCES[..3]
        } else {
            PREFERENCES.as_slice()
        };
        for &(kind, granularity) in tried {
            let good_load = self.min_load()? * GOOD_LOAD / GOOD_LOAD_DIVISOR;
            let is_sufficient =
                |f: &Candidate| f.is_installed || is_limited && f.max_load <= good_load;
            if fitting.iter().any(is_sufficient) {
                break;
            }
            match self.try_preference(kind, granularity, directions, usable) {
                Ok(Attempt::Fits(found)) => {
                    vls_needed = vls_needed.min(found.assignment.layers.len());
                    fitting.push(found);
                }
                Ok(Attempt::NeedsVls(needed)) => vls_needed = vls_needed.min(needed),
                Ok(Attempt::Unfit) => {}
                // Later preferences are improvements only.
                Err(EngineStop::Budget) if !fitting.is_empty() => break,
                Err(stop) => return Err(stop),
            }
        }
        if fitting.iter().any(|f| f.up.is_some()) {
            fitting.retain(|f| f.up.is_some());
        }
        let lightest = fitting.iter().map(|f| f.max_load).min().unwrap_or(0);
        let allowed = match objective {
            Objective::Balance => lightest + lightest / 8,
            Objective::FewVls => lightest + lightest / 2,
        };
        fitting.retain(|f| f.max_load <= allowed);
        let best = fitting
            .into_iter()
            .min_by_key(|f| (f.path_layers, f.max_load));
        Ok((best, vls_needed))
    }

    /// Paths of one preference on virtual layers.
    fn try_preference(
        &self,
        kind: PreferenceKind,
        granularity: Granularity,
        directions: Directions,
        usable: usize,
    ) -> Result<Attempt, EngineStop> {
        let Some(preferred) = self.paths(kind, granularity)? else {
            return Ok(Attempt::Unfit);
        };
        let PreferredPaths {
            mut lid_trees,
            are_new,
            orders,
        } = preferred;
        let paths = PairPaths::new(self.request.topo, self.graph, &lid_trees);
        let pairs = pairs(&paths, self.matrix, directions);
        let rules = LayerRules {
            channel_order: &self.channel_order,
            layers_max: if self.is_large() { usable } else { LAYERS_MAX },
            budget: self.request.budget,
        };
        let Some(mut assignment) =
            self.assign_pairs(&paths, &pairs, directions, orders, are_new, rules)?
        else {
            return Ok(Attempt::NeedsVls(rules.layers_max + 1));
        };
        if assignment.layers.len() > usable {
            return Ok(Attempt::NeedsVls(assignment.layers.len()));
        }
        let path_layers = assignment.layers.len();
        let up = self.add_spanning_tree(&mut assignment, !are_new, usable)?;
        let mut refinement = Refinement::new(self.request, self.graph, self.matrix, &lid_trees)?;
        if are_new {
            let mut constraints = LayerConstraints {
                layers: &mut assignment.layers,
                layer_of: &assignment.layer_of,
                tree: up.is_some(),
            };
            refinement.run(
                &mut lid_trees,
                &mut constraints,
                |lid_trees, constraints| {
                    let paths = PairPaths::new(self.request.topo, self.graph, lid_trees);
                    rebuild_layers(constraints, &paths, &pairs, directions, self.request.budget)
                },
            );
        }
        let max_load = refinement.max_load();
        if are_new && max_load > self.min_load()? * CROWDED_FACTOR {
            return Ok(Attempt::Unfit);
        }
        Ok(Attempt::Fits(Candidate {
            max_load,
            path_layers,
            lid_trees,
            assignment,
            directions,
            up,
            is_installed: !are_new,
        }))
    }

    /// Assigns the pairs to layers: the previous layers if installed paths stay, otherwise the best
    /// of several orders of the pairs. On large fabrics, one order must do.
    fn assign_pairs(
        &self,
        paths: &PairPaths<'_>,
        all_pairs: &[Pair],
        directions: Directions,
        orders: Option<&SwitchOrders>,
        is_new: bool,
        rules: LayerRules<'_>,
    ) -> Result<Option<VlAssignment>, EngineStop> {
        let last = self.request.previous.last_run.as_ref();
        let old = last
            .filter(|_| !is_new)
            .and_then(|last| match &last.routing.vl_plan.path_sl {
                PathSl::BySwitches(rows) if rows.len() == self.graph.len() => Some(rows.as_slice()),
                PathSl::Uniform(_)
                | PathSl::ByLid(_)
                | PathSl::BySwitches(_)
                | PathSl::BySwitchAndLid(_) => None,
            });
        let afresh = orders.map_or(FirstPairs::AsListed, FirstPairs::ByOrders);
        let first = old.map_or(afresh, FirstPairs::Kept);
        let mut best = assign_vls(paths, all_pairs, directions, first, rules)?;
        if !is_new || self.is_large() {
            return Ok(best);
        }
        for seed in 1..SHUFFLES {
            let mut shuffled = all_pairs.to_vec();
            let rank = |v: u32| self.graph.lid_rank[v as usize] as u64;
            shuffled.sort_by_cached_key(|&(a, b)| {
                let hops = self.matrix.cell(a as usize, b as usize).hops();
                let hash = (rank(a) << 32 | rank(b))
                    .wrapping_add(seed << 20)
                    .wrapping_mul(0x9e37_79b9_7f4a_7c15);
                (Reverse(hops), hash ^ hash >> 29)
            });
            let fewer = LayerRules {
                // Without pairs, there are no layers.
                layers_max: best
                    .as_ref()
                    .map_or(rules.layers_max, |best| best.layers.len().saturating_sub(1)),
                ..rules
            };
            match assign_vls(paths, &shuffled, directions, afresh, fewer) {
                Err(BudgetExceeded) if best.is_some() => return Ok(best),
                found => best = found?.or(best),
            }
        }
        Ok(best)
    }

    /// Adds a spanning tree to one layer, which becomes the first. If no layer has room, the tree
    /// gets a new layer, as far as the usable VLs allow it.
    fn add_spanning_tree(
        &self,
        assignment: &mut VlAssignment,
        is_installed: bool,
        usable: usize,
    ) -> Result<Option<Vec<Option<PortNum>>>, EngineStop> {
        let index = &self.graph.channels;
        let num_layers = assignment.layers.len();
        // Paths that stay would get other SLs.
        let may_add = !is_installed && num_layers < usable;
        // The last layer has the fewest packets and so the most room for a tree. An installed tree
        // is on the first.
        let vls = is_installed
            .then_some(0)
            .into_iter()
            .chain((0..num_layers).rev())
            .chain(may_add.then_some(num_layers));
        for vl in vls {
            let layer = assignment.layers.get(vl).cloned();
            let mut with_tree =
                layer.unwrap_or_else(|| VirtualLayer::with_order(index, &self.channel_order));
            if let Some(up) = spanning_tree::grow_spanning_tree(
                self.graph,
                index,
                &mut with_tree,
                &self.order,
                self.request.budget,
            )? {
                match assignment.layers.get_mut(vl) {
                    Some(layer) => *layer = with_tree,
                    None => assignment.layers.push(with_tree),
                }
                assignment.make_first(vl);
                return Ok(Some(up));
            }
        }
        Ok(None)
    }

    fn finish(&self, name: &'static str, candidate: Candidate) -> Routing {
        let n = self.graph.len();
        let Candidate {
            lid_trees,
            mut assignment,
            directions,
            up,
            is_installed,
            ..
        } = candidate;
        let paths = PairPaths::new(self.request.topo, self.graph, &lid_trees);
        let trees = up.map_or(TreeConstraint::Search, |up| TreeConstraint::Within {
            up,
            sl: 0,
        });
        if !is_installed {
            assignment.balance(
                &paths,
                &pairs(&paths, self.matrix, directions),
                self.request.budget,
            );
        }
        let vls = index_to_u8(assignment.layers.len());
        let rows = assignment.layer_of.chunks(n).map(Arc::from).collect();
        let mut diagnostics = vec![Diagnostic::Vls(vls)];
        if directions == Directions::Separate {
            diagnostics.push(Diagnostic::OneWaySls);
        }
        Routing {
            engine: name,
            tables: lid_trees.tables(self.request.topo, self.request.previous),
            vl_plan: VlPlan::modulo(vls, PathSl::BySwitches(rows)),
            order: None,
            trees,
            diagnostics,
        }
    }
}
