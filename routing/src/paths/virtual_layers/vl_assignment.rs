//! Assigns pairs of switches to virtual layers so that every layer stays acyclic.
//!
//! Both directions of a pair share a layer if possible, because replies use the SL of their
//! request. Each pair goes to the first layer that stays acyclic (Skeie, Lysne, Theiss: Layered
//! Shortest Path Routing in Irregular System Area Networks, IPDPS 2002). The farthest pairs come
//! first: their paths include those of nearer pairs, whose dependencies are then mostly present. If
//! every path is up/down in one of a few orders of the switches (`switch_orders`), each layer
//! starts with the pairs whose paths are up/down in one order.
//!
//! Nearly all time goes into searches for cycles, and most of these find none. So each layer begins
//! with its channels in an order with which up/down paths agree.

use std::sync::Arc;

use super::paths::PairPaths;
use super::refinement::LayerConstraints;
use crate::channels::{Dependency, DependencySet, VirtualLayer};
use crate::paths::next_hops::cell::HopCell;
use crate::paths::next_hops::hop_matrix::HopMatrix;
use crate::paths::weighted::SwitchOrders;
use crate::topology::{index_to_u8, index_to_u32};
use crate::work::{BudgetExceeded, WorkBudget};

/// Whether both directions of a pair share a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Directions {
    /// Both directions share a layer.
    Shared,
    /// Each direction has its own layer.
    Separate,
}

/// Virtual layer of each pair of switches.
#[derive(Debug)]
pub(crate) struct VlAssignment {
    pub(crate) layers: Vec<VirtualLayer>,
    /// Layer by source and destination switch. Layer n becomes VL n; [`Self::make_first`] exchanges
    /// layer 0.
    pub(crate) layer_of: Vec<u8>,
    directions: Directions,
}

/// Source and destination switch; both directions with [`Directions::Shared`].
pub(crate) type Pair = (u32, u32);

/// Maximum number of layers.
pub(crate) const LAYERS_MAX: usize = 64;

/// What all layers of an assignment have in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LayerRules<'a> {
    /// The order in which the channels of a layer begin.
    pub(crate) channel_order: &'a [u32],
    /// Maximum number of layers, at most [`LAYERS_MAX`].
    pub(crate) layers_max: usize,
    pub(crate) budget: &'a WorkBudget,
}

/// With which pairs the layers begin.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FirstPairs<'a> {
    /// The first ones.
    AsListed,
    /// Those whose paths are up/down in one of these orders.
    ByOrders(&'a SwitchOrders),
    /// Those that keep their layer, which is listed by source and destination switch.
    Kept(&'a [Arc<[u8]>]),
}

/// All pairs with traffic, the farthest first, then by LID.
pub(crate) fn pairs<C: HopCell>(
    paths: &PairPaths<'_>,
    matrix: &HopMatrix<C>,
    directions: Directions,
) -> Vec<Pair> {
    let graph = paths.graph;
    let mut by_distance: Vec<Vec<Pair>> = Vec::new();
    for (i, &a) in graph.by_lid.iter().enumerate() {
        let row = matrix.row(a);
        for &b in &graph.by_lid[..i] {
            let hops = row[b].hops();
            if graph.hosts[a] + graph.hosts[b] > 0 {
                if by_distance.len() <= hops {
                    by_distance.resize_with(hops + 1, Vec::new);
                }
                by_distance[hops].push((index_to_u32(a), index_to_u32(b)));
                if directions == Directions::Separate {
                    by_distance[hops].push((index_to_u32(b), index_to_u32(a)));
                }
            }
        }
    }
    by_distance.into_iter().rev().flatten().collect()
}

/// Assigns the pairs to as many layers as required; `None` if these are too many.
pub(crate) fn assign_vls(
    paths: &PairPaths<'_>,
    pairs: &[Pair],
    directions: Directions,
    first: FirstPairs<'_>,
    rules: LayerRules<'_>,
) -> Result<Option<VlAssignment>, BudgetExceeded> {
    let n = paths.graph.len();
    let budget = rules.budget;
    let mut assignment = VlAssignment {
        layers: Vec::new(),
        layer_of: vec![0; n * n],
        directions,
    };
    let mut dependencies = Vec::new();
    let remaining = match first {
        FirstPairs::Kept(old) => assignment.keep_previous(paths, pairs, old, rules)?,
        FirstPairs::ByOrders(orders) => assignment.assign_by_orders(paths, pairs, orders, rules)?,
        FirstPairs::AsListed => pairs.to_vec(),
    };
    if assignment.layers.len() > rules.layers_max {
        return Ok(None);
    }
    for pair in remaining {
        collect_dependencies(paths, pair, directions, &mut dependencies);
        let mut fits = None;
        for (number, layer) in assignment.layers.iter_mut().enumerate() {
            if layer.admit_within(&paths.graph.channels, &dependencies, budget)? {
                fits = Some(number);
                break;
            }
        }
        let vl = match fits {
            Some(vl) => vl,
            None if assignment.layers.len() == rules.layers_max => return Ok(None),
            None => {
                // Cannot fail: the dependencies of the shortest paths of one pair contain no cycle,
                // because no shortest path makes a U-turn.
                let mut new_layer = rules.new_layer(paths);
                new_layer.admit(&paths.graph.channels, &dependencies);
                assignment.layers.push(new_layer);
                assignment.layers.len() - 1
            }
        };
        assignment.assign(n, pair, vl);
    }
    Ok(Some(assignment))
}

/// Rebuilds the layers from the dependencies of the current paths.
pub(crate) fn rebuild_layers(
    constraints: &mut LayerConstraints<'_>,
    paths: &PairPaths<'_>,
    pairs: &[Pair],
    directions: Directions,
    budget: &WorkBudget,
) -> Result<(), BudgetExceeded> {
    let n = paths.graph.len();
    let index = &paths.graph.channels;
    let mut layer_dependencies = vec![DependencySet::empty(index); constraints.layers.len()];
    let mut dependencies = Vec::new();
    for &(a, b) in pairs {
        collect_dependencies(paths, (a, b), directions, &mut dependencies);
        budget.spend_len(dependencies.len() + 1)?;
        let set =
            &mut layer_dependencies[usize::from(constraints.layer_of[a as usize * n + b as usize])];
        for &dependency in &dependencies {
            set.insert(index, dependency);
        }
    }
    let fixed = usize::from(constraints.tree);
    for (layer, set) in constraints
        .layers
        .iter_mut()
        .zip(layer_dependencies)
        .skip(fixed)
    {
        if let Some(new_layer) = VirtualLayer::from_dependencies(index, set) {
            *layer = new_layer;
        }
    }
    Ok(())
}

/// Dependencies of the packets of a pair.
fn collect_dependencies(
    paths: &PairPaths<'_>,
    (a, b): Pair,
    directions: Directions,
    dependencies: &mut Vec<Dependency>,
) {
    dependencies.clear();
    paths.add_pair_dependencies(a as usize, b as usize, dependencies);
    if directions == Directions::Shared {
        paths.add_pair_dependencies(b as usize, a as usize, dependencies);
    }
}

impl LayerRules<'_> {
    fn new_layer(&self, paths: &PairPaths<'_>) -> VirtualLayer {
        VirtualLayer::with_order(&paths.graph.channels, self.channel_order)
    }
}

impl VlAssignment {
    fn assign(&mut self, n: usize, (a, b): Pair, vl: usize) {
        let vl = index_to_u8(vl);
        self.layer_of[a as usize * n + b as usize] = vl;
        if self.directions == Directions::Shared {
            self.layer_of[b as usize * n + a as usize] = vl;
        }
    }

    /// Assigns the pairs that can keep their layers; returns the others.
    fn keep_previous(
        &mut self,
        paths: &PairPaths<'_>,
        pairs: &[Pair],
        old: &[Arc<[u8]>],
        rules: LayerRules<'_>,
    ) -> Result<Vec<Pair>, BudgetExceeded> {
        let n = paths.graph.len();
        let layer_of =
            |(a, b): Pair| usize::from(old[a as usize].get(b as usize).copied().unwrap_or(0));
        let last_layer = pairs.iter().map(|&p| layer_of(p)).max().unwrap_or(0);
        self.layers = (0..=last_layer.min(LAYERS_MAX - 1))
            .map(|_| rules.new_layer(paths))
            .collect();
        let mut dependencies = Vec::new();
        let mut remaining = pairs.to_vec();
        remaining.retain(|&pair| {
            collect_dependencies(paths, pair, self.directions, &mut dependencies);
            let layer = layer_of(pair);
            let fits = self.layers.get_mut(layer).is_some_and(|l| {
                l.admit_within(&paths.graph.channels, &dependencies, rules.budget) == Ok(true)
            });
            if fits {
                self.assign(n, pair, layer);
            }
            !fits
        });
        rules.budget.check()?;
        Ok(remaining)
    }

    /// Starts one layer for each order, by the number of pairs whose paths are up/down in it, and
    /// fills it with other pairs that fit. Returns the pairs left over.
    fn assign_by_orders(
        &mut self,
        paths: &PairPaths<'_>,
        pairs: &[Pair],
        orders: &SwitchOrders,
        rules: LayerRules<'_>,
    ) -> Result<Vec<Pair>, BudgetExceeded> {
        let n = paths.graph.len();
        let budget = rules.budget;
        let mut dependencies = Vec::new();
        let mut remaining: Vec<(Pair, u8)> = Vec::with_capacity(pairs.len());
        for &pair in pairs {
            collect_dependencies(paths, pair, self.directions, &mut dependencies);
            budget.spend_len(dependencies.len() + 1)?;
            remaining.push((pair, orders.followed_by(&dependencies)));
        }
        loop {
            let pairs_following = |k: &u32| {
                remaining
                    .iter()
                    .filter(|(_, followed)| followed >> k & 1 == 1)
                    .count()
            };
            let counts = (0..u8::BITS).map(|k| (pairs_following(&k), std::cmp::Reverse(k)));
            let Some((1.., std::cmp::Reverse(order))) = counts.max() else {
                break;
            };
            let mut layer = rules.new_layer(paths);
            let number = self.layers.len();
            for others in [false, true] {
                remaining.retain(|&(pair, followed)| {
                    if !others && followed >> order & 1 == 0 {
                        return true;
                    }
                    collect_dependencies(paths, pair, self.directions, &mut dependencies);
                    let fits = layer.admit_within(&paths.graph.channels, &dependencies, budget)
                        == Ok(true);
                    if fits {
                        self.assign(n, pair, number);
                    }
                    !fits
                });
            }
            budget.check()?;
            self.layers.push(layer);
        }
        Ok(remaining.into_iter().map(|(pair, _)| pair).collect())
    }

    /// Swaps a layer with layer 0.
    pub(crate) fn make_first(&mut self, vl: usize) {
        self.layers.swap(0, vl);
        for l in &mut self.layer_of {
            if usize::from(*l) == vl {
                *l = 0;
            } else if *l == 0 {
                *l = index_to_u8(vl);
            }
        }
    }

    /// Moves pairs, the nearest first, from layers with many routes to layers with few, while the
    /// layers stay acyclic and the work budget lasts.
    pub(crate) fn balance(&mut self, paths: &PairPaths<'_>, pairs: &[Pair], budget: &WorkBudget) {
        let n = paths.graph.len();
        let hosts = &paths.graph.hosts;
        let routes = |(a, b): Pair| u64::from(hosts[a as usize]) * u64::from(hosts[b as usize]);
        let layer_of = |all: &[u8], (a, b): Pair| usize::from(all[a as usize * n + b as usize]);
        let mut load = vec![0u64; self.layers.len()];
        for &pair in pairs {
            load[layer_of(&self.layer_of, pair)] += routes(pair);
        }
        let fair = load.iter().sum::<u64>() / load.len().max(1) as u64;
        let mut dependencies = Vec::new();
        for &pair in pairs.iter().rev() {
            if budget.is_exceeded() {
                return;
            }
            let from = layer_of(&self.layer_of, pair);
            let count = routes(pair);
            if count == 0 || load[from] <= fair {
                continue;
            }
            collect_dependencies(paths, pair, self.directions, &mut dependencies);
            let mut by_load: Vec<usize> = (0..load.len()).collect();
            by_load.sort_by_key(|&l| (load[l], l));
            let with_room = by_load.into_iter().take_while(|&l| load[l] + count <= fair);
            let layer = with_room.into_iter().find(|&l| {
                self.layers[l].admit_within(&paths.graph.channels, &dependencies, budget)
                    == Ok(true)
            });
            if let Some(to) = layer {
                load[from] -= count;
                load[to] += count;
                self.assign(n, pair, to);
            }
        }
    }
}
