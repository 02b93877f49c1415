//! A virtual layer: an acyclic channel dependency graph with a topological order of the channels,
//! and the dependencies that it rejected.
//!
//! Engines add dependencies to a layer and remove only those added last. A dependency that closed a
//! cycle once is therefore rejected without another search.

use super::dependencies::{Dependency, DependencySet};
use super::graph::{
    AcyclicDependencyGraph, Dependencies, Rejection, SearchControl, SearchDirection, positions,
};
use crate::topology::{ChannelIndex, index_to_u32};
use crate::work::{BudgetExceeded, WorkBudget};

/// Work units per channel visited by a search.
const VISIT_UNITS: usize = 4;

/// Maximum number of channels that one search collects, in layers with limited effort.
const FOUND_MAX: usize = 20_000;

/// Status of a dependency that is known without a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DependencyStatus {
    /// Present, or agrees with the topological order: can be added at once.
    InOrder,
    /// Contradicts the topological order: requires a search for a cycle.
    NeedsSearch,
    /// Closes a cycle.
    Rejected,
}

/// The acyclic channel dependency graph of a layer.
#[derive(Debug, Clone)]
pub(crate) struct VirtualLayer {
    graph: AcyclicDependencyGraph,
    /// Dependencies known to close a cycle.
    rejected: DependencySet,
    effort: SearchEffort,
}

/// Numbers of channels that searches have visited and may visit.
#[derive(Debug, Clone, Copy)]
struct SearchEffort {
    visited: usize,
    visits_max: usize,
    found_max: usize,
}

impl SearchEffort {
    const UNLIMITED: Self = Self {
        visited: 0,
        visits_max: usize::MAX,
        found_max: usize::MAX,
    };
}

impl SearchControl<ChannelIndex> for SearchEffort {
    const BREADTH_FIRST: bool = false;

    #[inline(always)]
    fn visit(
        &mut self,
        _: &ChannelIndex,
        _: &mut Dependencies,
        _: u32,
        _: SearchDirection,
        visited: usize,
    ) -> bool {
        let is_within_limits = visited <= self.found_max && self.visited < self.visits_max;
        self.visited += usize::from(is_within_limits);
        is_within_limits
    }
}

impl VirtualLayer {
    /// A layer without dependencies.
    pub(crate) fn new(channels: &ChannelIndex) -> Self {
        let order: Vec<u32> = (0..index_to_u32(channels.len())).collect();
        Self::with_order(channels, &order)
    }

    /// A layer without dependencies, with the channels in this order. The more of the later
    /// dependencies agree with it, the fewer searches they cost.
    pub(crate) fn with_order(channels: &ChannelIndex, order: &[u32]) -> Self {
        let graph = AcyclicDependencyGraph::new(channels, positions(order));
        Self::with_graph(channels, graph)
    }

    /// Limits the number of channels that each further search collects, and that all of them visit.
    pub(crate) fn limited_to(mut self, visits_max: usize) -> Self {
        self.effort = SearchEffort {
            visited: 0,
            visits_max,
            found_max: FOUND_MAX,
        };
        self
    }

    /// A layer with these dependencies; `None` if they form a cycle.
    pub(crate) fn from_dependencies(
        channels: &ChannelIndex,
        dependencies: DependencySet,
    ) -> Option<Self> {
        let graph = AcyclicDependencyGraph::from_dependencies(channels, dependencies)?;
        Some(Self::with_graph(channels, graph))
    }

    /// Limits the number of channels that each further search collects.
    pub(crate) fn limit_searches(&mut self, found_max: usize) {
        self.effort.found_max = found_max;
    }

    /// The dependencies of the layer.
    pub(crate) const fn dependencies(&self) -> &DependencySet {
        self.graph.dependencies()
    }

    fn with_graph(channels: &ChannelIndex, graph: AcyclicDependencyGraph) -> Self {
        Self {
            graph,
            rejected: DependencySet::empty(channels),
            effort: SearchEffort::UNLIMITED,
        }
    }

    #[inline(always)]
    pub(crate) fn contains(&self, channels: &ChannelIndex, dependency: Dependency) -> bool {
        self.graph.contains(channels, dependency)
    }

    /// Position of a channel in the topological order. Positions ascend along every dependency
    /// path.
    #[inline(always)]
    pub(crate) fn position(&self, channel: usize) -> u32 {
        self.graph.position(channel)
    }

    /// Number of channels visited by all searches so far.
    pub(crate) const fn visited(&self) -> usize {
        self.effort.visited
    }

    /// Status of a dependency.
    #[inline(always)]
    pub(crate) fn status(
        &self,
        channels: &ChannelIndex,
        dependency: Dependency,
    ) -> DependencyStatus {
        if self.graph.agrees(dependency) {
            DependencyStatus::InOrder
        } else if self.rejected.contains(channels, dependency) {
            DependencyStatus::Rejected
        } else {
            DependencyStatus::NeedsSearch
        }
    }

    /// Adds all dependencies, or none if one closes a cycle; returns whether they were added.
    pub(crate) fn admit(&mut self, channels: &ChannelIndex, dependencies: &[Dependency]) -> bool {
        let is_rejected = |&dependency: &Dependency| self.rejected.contains(channels, dependency);
        if dependencies.iter().any(is_rejected) {
            return false;
        }
        match self
            .graph
            .insert_all(channels, dependencies, &mut self.effort)
        {
            Ok(()) => true,
            Err(failed) => {
                let is_alone = self.graph.last_added() == [failed];
                self.graph.remove_last(channels);
                if is_alone
                    || self
                        .graph
                        .reorder(channels, failed, &mut self.effort)
                        .is_err()
                {
                    self.rejected.insert(channels, failed);
                }
                false
            }
        }
    }

    /// As [`Self::admit`], within a work budget.
    pub(crate) fn admit_within(
        &mut self,
        channels: &ChannelIndex,
        dependencies: &[Dependency],
        budget: &WorkBudget,
    ) -> Result<bool, BudgetExceeded> {
        let before = self.visited();
        let fits = self.admit(channels, dependencies);
        budget.spend_len(dependencies.len() + VISIT_UNITS * (self.visited() - before))?;
        Ok(fits)
    }

    /// Adds one dependency unless it closes a cycle or the search takes too long. Appends it to
    /// `log` if it is new.
    pub(crate) fn admit_one(
        &mut self,
        channels: &ChannelIndex,
        dependency: Dependency,
        log: &mut Vec<Dependency>,
    ) -> bool {
        match self.status(channels, dependency) {
            DependencyStatus::InOrder => {}
            DependencyStatus::NeedsSearch => {
                match self.graph.reorder(channels, dependency, &mut self.effort) {
                    Ok(()) => {}
                    Err(Rejection::Cycle) => {
                        self.rejected.insert(channels, dependency);
                        return false;
                    }
                    Err(Rejection::Abandoned) => return false,
                }
            }
            DependencyStatus::Rejected => return false,
        }
        if self.insert(channels, dependency) {
            log.push(dependency);
        }
        true
    }

    /// Adds a dependency that agrees with the order; returns whether it is new.
    #[inline(always)]
    pub(crate) fn insert(&mut self, channels: &ChannelIndex, new: Dependency) -> bool {
        self.graph.insert(channels, new)
    }

    /// Removes a dependency. Rejected ones stay rejected, which is safe and rarely matters.
    pub(crate) fn remove(&mut self, channels: &ChannelIndex, old: Dependency) {
        self.graph.remove(channels, old);
    }
}

#[cfg(test)]
mod tests {
    use petgraph::algo::toposort;
    use petgraph::graphmap::DiGraphMap;

    use super::*;

    /// A full mesh.
    fn mesh(switches: u32) -> ChannelIndex {
        let peers = |v: u32| (0..switches).filter(move |&u| u != v);
        let first: Vec<u32> = (0..=switches).map(|v| v * (switches - 1)).collect();
        let channel = |v: u32, u: u32| first[v as usize] + u - u32::from(u > v);
        ChannelIndex {
            head: (0..switches).flat_map(peers).collect(),
            tail: (0..switches)
                .flat_map(|v| peers(v).map(move |_| v))
                .collect(),
            reverse: (0..switches)
                .flat_map(|v| peers(v).map(move |u| channel(u, v)))
                .collect(),
            first: first.clone(),
        }
    }

    /// 3,000 random requests of one to three dependencies. A request must be admitted exactly if a
    /// topological sort of all admitted dependencies succeeds, and the order must agree with all of
    /// them.
    #[test]
    fn requests_are_admitted_exactly_if_no_cycle_closes() {
        let index = mesh(6);
        let mut layer = VirtualLayer::new(&index);
        let mut admitted_graph = DiGraphMap::<u32, ()>::new();
        let mut rng = 5u64;
        let mut random_below = |n: u32| {
            rng = rng
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            u32::try_from(rng >> 33).unwrap_or(0) % n
        };
        let channels = u32::try_from(index.len()).unwrap();
        let mut admitted = 0;
        let mut rejected = 0;
        for _ in 0..3000 {
            let dependencies: Vec<Dependency> = (0..=random_below(3))
                .map(|_| {
                    let x = random_below(channels);
                    (
                        x,
                        index.first[index.head[x as usize] as usize] + random_below(5),
                    )
                })
                .collect();
            let mut extended = admitted_graph.clone();
            for &(x, y) in &dependencies {
                extended.add_edge(x, y, ());
            }
            let is_acyclic = toposort(&extended, None).is_ok();
            assert_eq!(layer.admit(&index, &dependencies), is_acyclic);
            if is_acyclic {
                admitted_graph = extended;
                admitted += 1;
            } else {
                rejected += 1;
            }
            for (x, y, ()) in admitted_graph.all_edges() {
                assert!(layer.contains(&index, (x, y)));
                assert!(layer.position(x as usize) < layer.position(y as usize));
            }
        }
        assert!(admitted > 50 && rejected > 50, "{admitted} {rejected}");
        let mut dependencies = DependencySet::empty(&index);
        for (x, y, ()) in admitted_graph.all_edges() {
            dependencies.insert(&index, (x, y));
        }
        assert!(VirtualLayer::from_dependencies(&index, dependencies.clone()).is_some());
        let channel = |from: u32, to: u32| {
            let mut leaving = index.leaving(from as usize);
            leaving
                .find(|&c| index.head[c as usize] == to)
                .expect("a mesh")
        };
        for (x, y) in [
            (channel(0, 1), channel(1, 2)),
            (channel(1, 2), channel(2, 0)),
            (channel(2, 0), channel(0, 1)),
        ] {
            dependencies.insert(&index, (x, y));
        }
        assert!(VirtualLayer::from_dependencies(&index, dependencies).is_none());
    }
}
