//! Engine `nue`: routing within an acyclic channel dependency graph; routes any connected graph on
//! any number of VLs from one.
//!
//! After Domke, Hoefler and Matsuoka, "Routing on the Dependency Graph" (HPDC'16), and Domke's
//! thesis (TU Dresden 2017): paths are searched in the graph of channels and dependencies, without
//! dependencies that would close a cycle. Differences from the paper are documented where they
//! occur. A connected graph is never rejected.
//!
//! | module | content |
//! |---|---|
//! | `network` | switches and channels, numbered by LID |
//! | `escape_tree` | initial order of the switches, escape tree |
//! | `search` | paths to one switch on one VL |
//! | `pair_vls` | with more VLs: shorter paths, a VL for each pair of switches |
//! | `balance` | paths to each LID, for load balance |
//! | `refinement` | single routes moved off busy links |
//! | `shifts` | flows of a shift pattern on different links, unless the fabric is large |

mod balance;
mod escape_tree;
mod network;
mod pair_vls;
mod refinement;
mod search;
mod shifts;

use std::sync::Arc;

use ferrosm_mad::ids::PortNum;
use rayon::prelude::*;

use super::Engine;
use crate::channels::VirtualLayer;
use crate::messages::{Diagnostic, RouteError, SwitchOrderStrategy};
use crate::paths::next_hops::cell::{EngineStop, HopCell, with_smallest_cells};
use crate::paths::next_hops::hop_matrix::HopMatrix;
use crate::paths::up_down::order::Closeness;
use crate::request::RoutingRequest;
use crate::routing::{Routing, TreeConstraint};
use crate::tables::{Lft, Tables};
use crate::topology::SwitchIdx;
use crate::topology::graph::Graph;
use crate::vl_plan::{PathSl, VlPlan};
use crate::work::{BudgetExceeded, WorkBudget};
use balance::{BalanceScope, depths, switches_by_depth};
use escape_tree::EscapeTree;
use network::{NO_SLOT, Network};
use pair_vls::{PairVls, flows};
use refinement::is_balanced;
use search::{PathSearch, ReorderPolicy};

/// Maximum number of channels that all cycle searches on one VL visit; limits the time on very
/// large fabrics that are not trees.
const SEARCH_BUDGET: usize = 20_000_000;

/// The same for each additional VL: a higher limit does not improve the balance on large fabrics.
const ADDITIONAL_VL_BUDGET: usize = 3_000_000;

/// With more VLs, a routing is improved if its busiest link has more than this percentage of the
/// mean load.
const SINGLE_VL_PERCENT: u64 = 125;

/// Maximum product of switches and channels for which several attempts on one VL are made.
const ATTEMPTS_SIZE_MAX: usize = 1_000_000;

/// Work units per channel visited by a cycle search, and per channel visited by a path search.
const SEARCH_UNITS: u64 = 2;
const TREE_UNITS: usize = 2;

/// The `nue` engine, a fallback for any connected fabric.
#[derive(Debug, Clone, Copy)]
pub(super) struct Nue;

impl Engine for Nue {
    fn name(&self) -> &'static str {
        "nue"
    }

    fn route(&self, request: &RoutingRequest<'_>) -> Result<Routing, RouteError> {
        let graph = request.topo.graph();
        graph.check_connected()?;
        let orders = with_smallest_cells(|| orders::<u8>(graph), || orders::<u16>(graph))?;
        let net = Network::new(request.topo, graph);
        Ok(route_in(request, &net, &orders).map_err(EngineStop::from)?)
    }
}

/// Orders of the switches from the root down, by LID rank: all that `updn` would try. The previous
/// order is not preferred: routes depend on more than the order, and an unchanged graph gets the
/// same routes anyway.
fn orders<C: HopCell>(graph: &Graph) -> Result<Vec<Vec<usize>>, EngineStop> {
    let closeness = Closeness::new(graph, &HopMatrix::<C>::shortest(graph)?);
    let order = |&strategy| {
        let order = closeness.order(graph, strategy, &[]);
        order.into_iter().map(|s| graph.lid_rank[s]).collect()
    };
    Ok(SwitchOrderStrategy::FRESH.iter().map(order).collect())
}

fn route_in(
    request: &RoutingRequest<'_>,
    net: &Network,
    orders: &[Vec<usize>],
) -> Result<Routing, BudgetExceeded> {
    let budget = request.budget;
    let min_total = min_total_hops(net);
    let Some(SingleVlRouting {
        escape,
        cdg,
        mut trees,
        mut hops,
        ..
    }) = best_single_vl(net, orders, min_total, budget)?
    else {
        return Ok(empty_routing());
    };
    let dests = destination_order(request, net);
    let mut diagnostics = Vec::new();

    let scope = BalanceScope {
        net,
        cdgs: std::slice::from_ref(&cdg),
        vl: &[],
        trees: &trees,
        budget,
    };
    let has_several_vls = request.usable_vls() > 1;
    let mut cells = Vec::new();
    // If paths are too long on one VL, balancing it is not worthwhile.
    let is_good_enough = !(has_several_vls && hops > min_total) && {
        let load;
        (cells, load) = balance(&scope, &dests)?;
        !has_several_vls || is_balanced(&load, SINGLE_VL_PERCENT)
    };
    let mut plan = VlPlan::single();
    if !is_good_enough {
        let mut cdgs = vec![cdg.clone()];
        cdgs.resize_with(usize::from(request.usable_vls()), || {
            escape.dependency_graph_without_tree(net, ADDITIONAL_VL_BUDGET)
        });
        let mut pairs = PairVls::new(net, cdgs, budget);
        let host_dests: Vec<usize> = (0..net.n).filter(|&d| net.host_lids(d) > 0).collect();
        for &dest in &host_dests {
            pairs.shorten(&mut trees, dest, &min_hops(net, dest))?;
        }
        pairs.balance(&mut trees, &host_dests);
        hops = all_hops(net, &trees);
        let scope = BalanceScope {
            net,
            cdgs: &pairs.cdgs,
            vl: &pairs.vl,
            trees: &trees,
            budget,
        };
        (cells, _) = balance(&scope, &dests)?;
        plan = vl_plan(net, &pairs.vl);
        diagnostics.push(Diagnostic::PairVls(plan.vls));
    }
    if hops > min_total {
        diagnostics.push(Diagnostic::LongerPaths {
            hops,
            shortest: min_total,
            vls: Some(plan.vls),
        });
    }
    Ok(Routing {
        engine: "nue",
        tables: tables(request, net, &cells),
        vl_plan: plan,
        order: Some(escape.positions(net)),
        trees: TreeConstraint::Within {
            up: escape.ports_up(net),
            sl: 0,
        },
        diagnostics,
    })
}

/// A routing on one VL.
struct SingleVlRouting {
    escape: EscapeTree,
    cdg: VirtualLayer,
    /// A row per destination, a cell per switch.
    trees: Vec<u8>,
    /// Hops of all routes between end ports.
    hops: u64,
    /// Sum of the squared loads.
    squares: u128,
}

/// Order in which destinations are routed, and whether they may change the order of channels.
#[derive(Debug, Clone, Copy)]
enum Attempt {
    /// Far from the root first.
    FarFirst,
    ByLid,
    /// Near the root first.
    NearFirst,
    /// Far from the root first, without changing the order of channels.
    FixedOrder,
}

impl Attempt {
    const ALL: [Self; 4] = [
        Self::FarFirst,
        Self::ByLid,
        Self::NearFirst,
        Self::FixedOrder,
    ];
}

/// The shortest paths of a few attempts on one VL. If the first attempt gives shortest paths (as on
/// trees), or if the fabric is very large, there is only one.
fn best_single_vl(
    net: &Network,
    orders: &[Vec<usize>],
    min_total: u64,
    budget: &WorkBudget,
) -> Result<Option<SingleVlRouting>, BudgetExceeded> {
    let Some(order) = orders.first() else {
        return Ok(None);
    };
    let first = route_single_vl(net, order, Attempt::FarFirst, budget)?;
    if first.hops == min_total || net.n * net.channels.len() > ATTEMPTS_SIZE_MAX {
        return Ok(Some(first));
    }
    let attempts: Vec<(&Vec<usize>, Attempt)> = orders
        .iter()
        .flat_map(|order| Attempt::ALL.map(|attempt| (order, attempt)))
        .skip(1)
        .collect();
    let other_attempts: Vec<SingleVlRouting> = attempts
        .into_par_iter()
        .map(|(order, attempt)| route_single_vl(net, order, attempt, budget))
        .collect::<Result<_, _>>()?;
    let attempts = std::iter::once(first).chain(other_attempts);
    Ok(attempts.min_by_key(|r| (r.hops, r.squares)))
}

/// Paths on one VL to all switches with LIDs. Switches without end ports come last and must not
/// change the order of channels.
fn route_single_vl(
    net: &Network,
    order: &[usize],
    attempt: Attempt,
    budget: &WorkBudget,
) -> Result<SingleVlRouting, BudgetExceeded> {
    let escape = EscapeTree::new(net, order);
    let mut cdg = escape.dependency_graph(net, SEARCH_BUDGET);
    let mut search = PathSearch::new(net);
    let mut trees = vec![NO_SLOT; net.n * net.n];
    let mut depth = Vec::new();
    let mut by_distance = Vec::new();
    let mut dests: Vec<usize> = match attempt {
        Attempt::FarFirst | Attempt::FixedOrder => order.iter().rev().copied().collect(),
        Attempt::ByLid => (0..net.n).collect(),
        Attempt::NearFirst => order.to_vec(),
    };
    dests.retain(|&d| net.lid_base[d] < net.lid_base[d + 1]);
    dests.sort_by_key(|&d| net.host_lids(d) == 0);
    let mut hops = 0;
    for dest in dests {
        let lids = net.host_lids(dest) as u64;
        let policy = match attempt {
            Attempt::FarFirst | Attempt::ByLid | Attempt::NearFirst if lids > 0 => {
                ReorderPolicy::Reorder
            }
            Attempt::FarFirst | Attempt::ByLid | Attempt::NearFirst | Attempt::FixedOrder => {
                ReorderPolicy::KeepOrder
            }
        };
        let visited = cdg.visited();
        let tree = search.tree(&mut cdg, dest, policy);
        budget.spend(SEARCH_UNITS * (cdg.visited() - visited) as u64)?;
        budget.spend_len(TREE_UNITS * net.channels.len())?;
        depths(net, &tree, dest, &mut depth);
        switches_by_depth(&depth, &mut by_distance);
        hops += weighted_hops(net, dest, &depth);
        let flow = flows(net, &tree, &by_distance);
        for v in by_distance.iter().skip(1).map(|&v| v as usize) {
            search.load[net.channel(v, tree[v])] += flow[v] * lids;
        }
        trees[dest * net.n..][..net.n].copy_from_slice(&tree);
    }
    let squares = search
        .load
        .iter()
        .map(|&l| u128::from(l) * u128::from(l))
        .sum();
    Ok(SingleVlRouting {
        escape,
        cdg,
        trees,
        hops,
        squares,
    })
}

/// The routing of a fabric without switches.
fn empty_routing() -> Routing {
    Routing {
        engine: "nue",
        tables: Vec::new(),
        vl_plan: VlPlan::single(),
        order: None,
        trees: TreeConstraint::Search,
        diagnostics: Vec::new(),
    }
}

/// Ports for all LIDs, and the routes over each link.
fn balance(
    scope: &BalanceScope<'_>,
    dests: &[usize],
) -> Result<(Vec<u8>, Vec<u64>), BudgetExceeded> {
    let mut cells = scope.balance(dests)?;
    balance::choose_links(scope.net, &mut cells, scope.budget)?;
    let mut load = scope.refine(&mut cells)?;
    scope.balance_shifts(&mut cells, &mut load);
    Ok((cells, load))
}

/// All switches, those of LIDs in the hint `routing_order` first.
fn destination_order(request: &RoutingRequest<'_>, net: &Network) -> Vec<usize> {
    let mut priority = vec![usize::MAX; net.n];
    for (i, lid) in request.hints.routing_order.iter().enumerate() {
        let at = net.lids.iter().position(|(l, _)| l == lid);
        if let Some(at) = at {
            let v = net.lid_base.partition_point(|&b| b <= at) - 1;
            priority[v] = priority[v].min(i);
        }
    }
    let mut dests: Vec<usize> = (0..net.n).collect();
    dests.sort_by_key(|&v| priority[v]);
    dests
}

/// Hops of all routes between end ports.
fn all_hops(net: &Network, trees: &[u8]) -> u64 {
    let hops_to = |dest: usize| {
        let mut hops = Vec::new();
        depths(net, &trees[dest * net.n..][..net.n], dest, &mut hops);
        weighted_hops(net, dest, &hops)
    };
    (0..net.n).into_par_iter().map(hops_to).sum()
}

/// Hops of all routes between end ports over shortest paths.
fn min_total_hops(net: &Network) -> u64 {
    let hops_to = |dest: usize| weighted_hops(net, dest, &min_hops(net, dest));
    (0..net.n).into_par_iter().map(hops_to).sum()
}

fn weighted_hops(net: &Network, dest: usize, hops: &[u32]) -> u64 {
    let lids = net.host_lids(dest) as u64;
    if lids == 0 {
        return 0;
    }
    let routes = hops
        .iter()
        .zip(&net.hosts)
        .map(|(&hops, &hosts)| u64::from(hops) * u64::from(hosts));
    routes.sum::<u64>() * lids
}

/// Minimum hops from every switch.
fn min_hops(net: &Network, dest: usize) -> Vec<u32> {
    let mut hops = vec![u32::MAX; net.n];
    hops[dest] = 0;
    let mut order = vec![dest];
    let mut next = 0;
    while let Some(&v) = order.get(next) {
        next += 1;
        for c in net.channels.leaving(v) {
            let u = net.channels.head[c as usize] as usize;
            if hops[u] == u32::MAX {
                hops[u] = hops[v] + 1;
                order.push(u);
            }
        }
    }
    hops
}

/// SLs and VLs of all pairs, by [`SwitchIdx`].
fn vl_plan(net: &Network, vl: &[u8]) -> VlPlan {
    let rank = ranks(net);
    let vls = vl.iter().max().map_or(1, |&l| l + 1);
    let row = |&a: &usize| rank.iter().map(|&b| vl[a * net.n + b]).collect();
    if vls == 1 {
        VlPlan::single()
    } else {
        VlPlan::modulo(vls, PathSl::BySwitches(rank.iter().map(row).collect()))
    }
}

/// Index in the network by [`SwitchIdx`].
fn ranks(net: &Network) -> Vec<usize> {
    let mut rank = vec![0; net.n];
    for (v, s) in net.switch.iter().enumerate() {
        rank[s.index()] = v;
    }
    rank
}

fn tables(request: &RoutingRequest<'_>, net: &Network, cells: &[u8]) -> Tables {
    let row = |(s, v): (usize, usize)| {
        let mut lft = Lft::drop_all(request.topo.top_lid());
        for (at, &(lid, port)) in net.lids.iter().enumerate() {
            let cell = cells[at * net.n + v];
            let is_local = (net.lid_base[v]..net.lid_base[v + 1]).contains(&at);
            let port = if is_local {
                port
            } else if cell == NO_SLOT {
                PortNum::DROP
            } else {
                net.port(net.first_port(v) + usize::from(cell))
            };
            lft.set(lid, port);
        }
        match request.previous.table_of(SwitchIdx::from_index(s).index()) {
            Some(old) if **old == lft => Arc::clone(old),
            Some(_) | None => Arc::new(lft),
        }
    };
    ranks(net).into_par_iter().enumerate().map(row).collect()
}
