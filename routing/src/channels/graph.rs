//! A channel dependency graph that stays acyclic while dependencies are added.
//!
//! Channels have positions in an order in which every dependency points forward. A new dependency
//! that points forward costs nothing. Any other moves only channels between its two ends (Pearce
//! and Kelly, "A Dynamic Topological Sort Algorithm for Directed Acyclic Graphs", JEA 11, 2006), or
//! is found to close a cycle.

use super::dependencies::{Dependency, DependencySet};
use crate::topology::{ChannelNumbering, index_to_u32};

/// Dependencies, indexed by both of their ends.
#[derive(Debug, Clone)]
pub(super) struct Dependencies {
    after: DependencySet,
    /// The dependencies between the opposite channels: if `y` comes after `x`, then the opposite of
    /// `x` comes after the opposite of `y`.
    opposite: DependencySet,
}

impl Dependencies {
    #[inline(always)]
    pub(super) fn insert(&mut self, channels: &impl ChannelNumbering, new: Dependency) -> bool {
        let is_new = self.after.insert(channels, new);
        if is_new {
            self.opposite.insert(channels, opposite(channels, new));
        }
        is_new
    }

    fn remove(&mut self, channels: &impl ChannelNumbering, old: Dependency) {
        self.after.remove(channels, old);
        self.opposite.remove(channels, opposite(channels, old));
    }
}

#[inline(always)]
fn opposite(channels: &impl ChannelNumbering, (x, y): Dependency) -> Dependency {
    (channels.reverse(y), channels.reverse(x))
}

/// Direction of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SearchDirection {
    Forward,
    Backward,
}

/// Limits of searches, and the source of dependencies that are read on demand.
pub(super) trait SearchControl<C> {
    /// Whether searches are breadth first and detect a cycle when they visit their goal. Otherwise
    /// they are depth first and detect it when they find the goal.
    const BREADTH_FIRST: bool;

    /// Called for each channel that a search finds after its start.
    fn count_found(&mut self, _direction: SearchDirection) {}

    /// Called before the dependencies of a channel are followed, with the number of channels found
    /// so far. `false` abandons the search.
    fn visit(
        &mut self,
        channels: &C,
        dependencies: &mut Dependencies,
        channel: u32,
        direction: SearchDirection,
        visited: usize,
    ) -> bool;
}

/// Why a dependency cannot be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rejection {
    /// It closes a cycle.
    Cycle,
    /// The search was abandoned.
    Abandoned,
}

/// An acyclic channel dependency graph.
#[derive(Debug, Clone)]
pub(super) struct AcyclicDependencyGraph {
    dependencies: Dependencies,
    /// Position of each channel in the order.
    position: Vec<u32>,
    /// Number of the last search that found each channel.
    last_search: Vec<u32>,
    search: u32,
    /// Working memory of searches: channels to visit, channels after the head of a new dependency,
    /// channels before its tail.
    stack: Vec<u32>,
    after_head: Vec<u32>,
    before_tail: Vec<u32>,
    /// Dependencies added by the last [`Self::insert_all`].
    added: Vec<Dependency>,
}

impl AcyclicDependencyGraph {
    /// A graph without dependencies, with the channels at these positions.
    pub(super) fn new(channels: &impl ChannelNumbering, position: Vec<u32>) -> Self {
        // Two zeroed allocations: a clone would touch every page of a set that stays nearly empty.
        let dependencies = Dependencies {
            after: DependencySet::empty(channels),
            opposite: DependencySet::empty(channels),
        };
        Self::from_parts(dependencies, position)
    }

    fn from_parts(dependencies: Dependencies, position: Vec<u32>) -> Self {
        Self {
            dependencies,
            last_search: vec![0; position.len()],
            position,
            search: 0,
            stack: Vec::new(),
            after_head: Vec::new(),
            before_tail: Vec::new(),
            added: Vec::new(),
        }
    }

    /// The graph of these dependencies; `None` if they form a cycle.
    pub(super) fn from_dependencies(
        channels: &impl ChannelNumbering,
        after: DependencySet,
    ) -> Option<Self> {
        let order = after.topological_order(channels);
        if order.len() < channels.len() {
            return None;
        }
        let mut reversed = DependencySet::empty(channels);
        for dependency in after.iter(channels) {
            reversed.insert(channels, opposite(channels, dependency));
        }
        let dependencies = Dependencies {
            after,
            opposite: reversed,
        };
        Some(Self::from_parts(dependencies, positions(&order)))
    }

    #[inline(always)]
    pub(super) fn contains(
        &self,
        channels: &impl ChannelNumbering,
        dependency: Dependency,
    ) -> bool {
        self.dependencies.after.contains(channels, dependency)
    }

    /// Adds a dependency that points forward; returns whether it is new.
    #[inline(always)]
    pub(super) fn insert(&mut self, channels: &impl ChannelNumbering, new: Dependency) -> bool {
        self.dependencies.insert(channels, new)
    }

    /// Removes a dependency. The order stays valid.
    pub(super) fn remove(&mut self, channels: &impl ChannelNumbering, old: Dependency) {
        self.dependencies.remove(channels, old);
    }

    /// Position of a channel in the order.
    #[inline(always)]
    pub(super) fn position(&self, channel: usize) -> u32 {
        self.position[channel]
    }

    /// Whether a dependency points forward.
    #[inline(always)]
    pub(super) fn agrees(&self, (x, y): Dependency) -> bool {
        self.position(x as usize) < self.position(y as usize)
    }

    pub(super) const fn dependencies(&self) -> &DependencySet {
        &self.dependencies.after
    }

    pub(super) fn into_positions(self) -> Vec<u32> {
        self.position
    }

    /// Adds dependencies one after the other.
    ///
    /// # Errors
    /// The first dependency that is rejected. The graph is invalid until [`Self::remove_last`] is
    /// called.
    pub(super) fn insert_all<C: ChannelNumbering>(
        &mut self,
        channels: &C,
        dependencies: &[Dependency],
        control: &mut impl SearchControl<C>,
    ) -> Result<(), Dependency> {
        self.added.clear();
        for &new in dependencies {
            if self.insert(channels, new) {
                self.added.push(new);
            }
            self.reorder(channels, new, control).map_err(|_| new)?;
        }
        Ok(())
    }

    /// Removes the dependencies added by the last [`Self::insert_all`].
    pub(super) fn remove_last(&mut self, channels: &impl ChannelNumbering) {
        while let Some(added) = self.added.pop() {
            self.remove(channels, added);
        }
    }

    /// The dependencies that [`Self::remove_last`] would remove.
    pub(super) fn last_added(&self) -> &[Dependency] {
        &self.added
    }

    /// Changes the order so that `x` comes before `y`.
    pub(super) fn reorder<C: ChannelNumbering>(
        &mut self,
        channels: &C,
        (x, y): Dependency,
        control: &mut impl SearchControl<C>,
    ) -> Result<(), Rejection> {
        if self.agrees((x, y)) {
            return Ok(());
        }
        if x == y {
            return Err(Rejection::Cycle);
        }
        self.search::<true, C, _>(channels, y, x, control)?;
        self.search::<false, C, _>(channels, x, y, control)?;
        // The channels up to `x`, then those from `y`, each in their current order, take the
        // positions of both, ascending.
        let position = &self.position;
        self.before_tail
            .sort_unstable_by_key(|&c| position[c as usize]);
        self.after_head
            .sort_unstable_by_key(|&c| position[c as usize]);
        let reordered = || self.before_tail.iter().chain(&self.after_head);
        let mut positions: Vec<u32> = reordered().map(|&c| position[c as usize]).collect();
        positions.sort_unstable();
        for (&c, position) in self
            .before_tail
            .iter()
            .chain(&self.after_head)
            .zip(positions)
        {
            self.position[c as usize] = position;
        }
        Ok(())
    }

    /// Finds the channels that come after `start`, up to `goal` (in `after_head`), or before it,
    /// down to `goal` (in `before_tail`).
    fn search<const FORWARD: bool, C: ChannelNumbering, S: SearchControl<C>>(
        &mut self,
        channels: &C,
        start: u32,
        goal: u32,
        control: &mut S,
    ) -> Result<(), Rejection> {
        let limit = self.position(goal as usize);
        let (direction, found) = if FORWARD {
            (SearchDirection::Forward, &mut self.after_head)
        } else {
            (SearchDirection::Backward, &mut self.before_tail)
        };
        self.search += 1;
        found.clear();
        found.push(start);
        self.stack.clear();
        self.stack.push(start);
        self.last_search[start as usize] = self.search;
        let mut visited = 0;
        while let Some(c) = if S::BREADTH_FIRST {
            found.get(visited).copied()
        } else {
            self.stack.pop()
        } {
            visited += 1;
            if FORWARD && c == goal {
                return Err(Rejection::Cycle);
            }
            if !control.visit(channels, &mut self.dependencies, c, direction, found.len()) {
                return Err(Rejection::Abandoned);
            }
            let position = self.position[c as usize];
            let (set, row) = if FORWARD {
                (&self.dependencies.after, c)
            } else {
                (&self.dependencies.opposite, channels.reverse(c))
            };
            for next in set.after(channels, row) {
                let next = if FORWARD {
                    next
                } else {
                    channels.reverse(next)
                };
                if FORWARD && next == goal && !S::BREADTH_FIRST {
                    return Err(Rejection::Cycle);
                }
                // A lookup may add dependencies that no packet has; skip those that contradict the
                // order.
                let next_position = self.position[next as usize];
                let is_between = if FORWARD {
                    position < next_position && next_position <= limit
                } else {
                    limit <= next_position && next_position < position
                };
                if is_between && self.last_search[next as usize] != self.search {
                    self.last_search[next as usize] = self.search;
                    control.count_found(direction);
                    found.push(next);
                    if !S::BREADTH_FIRST {
                        self.stack.push(next);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Position of each channel in an order.
pub(super) fn positions(order: &[u32]) -> Vec<u32> {
    let mut position = vec![0; order.len()];
    for (at, &c) in order.iter().enumerate() {
        position[c as usize] = index_to_u32(at);
    }
    position
}
