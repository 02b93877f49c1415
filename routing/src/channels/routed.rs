//! The channel dependency graph of forwarding tables, kept acyclic while routes are added.
//!
//! Most new routes agree with the order of the channels ([`TopologicalOrder`]), which is therefore
//! enough to cache with a routing. An incremental reroute adds a few routes to that routing; it
//! reads dependencies of the tables ([`Lookup`]) only if a route contradicts the order. Owned by
//! one computation.

use std::sync::atomic::Ordering;

use super::dependencies::{Dependency, DependencySet};
use super::graph::{AcyclicDependencyGraph, Dependencies, SearchControl, SearchDirection};
use super::lookup::Lookup;
use super::vls::VlChannelNumbers;
use crate::topology::ChannelNumbering;

/// Maximum number of channels looked up, a fraction of the cost of reading all of them.
const LOOKUPS_MAX: usize = 1000;

/// Average number of visits per virtual channel, in addition to a constant for small fabrics, after
/// which dependencies that require a search are rejected.
const VISITS_PER_CHANNEL: usize = 8;

fn visits_max(channels: VlChannelNumbers<'_>) -> usize {
    10_000 + VISITS_PER_CHANNEL * channels.len()
}

/// Position of each virtual channel in the order of an acyclic graph, without its dependencies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TopologicalOrder(Vec<u32>);

impl TopologicalOrder {
    /// Memory in bytes.
    pub(crate) fn memory(&self) -> usize {
        size_of_val(self.0.as_slice())
    }
}

/// An acyclic channel dependency graph of forwarding tables.
#[derive(Debug)]
pub(crate) struct RoutedDependencies<'a> {
    pub(crate) channels: VlChannelNumbers<'a>,
    graph: AcyclicDependencyGraph,
    reader: DependencyReader<'a>,
    /// Dependencies added since the last [`Self::begin_group`].
    group: Vec<Dependency>,
}

/// Reads dependencies of forwarding tables when a search first needs them, and limits searches.
#[derive(Debug)]
struct DependencyReader<'a> {
    lookup: Option<Lookup<'a>>,
    /// By port channel: whether the dependencies from it, and those to it, are known.
    known_from: Vec<bool>,
    known_to: Vec<bool>,
    /// Remaining lookups.
    lookups_left: usize,
    /// Remaining visits to virtual channels.
    visits_left: usize,
}

impl<'a> RoutedDependencies<'a> {
    /// A graph with these dependencies; `None` if they form a cycle.
    pub(crate) fn new(channels: VlChannelNumbers<'a>, dependencies: DependencySet) -> Option<Self> {
        let graph = AcyclicDependencyGraph::from_dependencies(&channels, dependencies)?;
        Some(Self::with_graph(channels, graph, None))
    }

    /// The graph of the tables with this order, minus links lost since then. `None` if the number
    /// of channels differs.
    pub(crate) fn resume(
        channels: VlChannelNumbers<'a>,
        order: &TopologicalOrder,
        lookup: Lookup<'a>,
    ) -> Option<Self> {
        (channels.len() == order.0.len()).then(|| {
            let graph = AcyclicDependencyGraph::new(&channels, order.0.clone());
            Self::with_graph(channels, graph, Some(lookup))
        })
    }

    fn with_graph(
        channels: VlChannelNumbers<'a>,
        graph: AcyclicDependencyGraph,
        lookup: Option<Lookup<'a>>,
    ) -> Self {
        let known = vec![lookup.is_none(); channels.ports.len()];
        Self {
            channels,
            graph,
            group: Vec::new(),
            reader: DependencyReader {
                lookup,
                known_from: known.clone(),
                known_to: known,
                lookups_left: LOOKUPS_MAX,
                visits_left: visits_max(channels),
            },
        }
    }

    /// Allows as many visits as at first.
    pub(crate) fn renew_visits(&mut self) {
        self.reader.visits_left = visits_max(self.channels);
    }

    /// The order, to be cached with the routing.
    pub(crate) fn into_order(self) -> TopologicalOrder {
        TopologicalOrder(self.graph.into_positions())
    }

    /// Whether all dependencies agree with the order, so that adding them takes no search.
    pub(crate) fn agrees_with(&self, dependencies: &[Dependency]) -> bool {
        dependencies.iter().all(|&wanted| self.graph.agrees(wanted))
    }

    /// Adds all dependencies, or none if they close a cycle; returns whether they were added.
    pub(crate) fn admit(&mut self, dependencies: &[Dependency]) -> bool {
        let added = self
            .graph
            .insert_all(&self.channels, dependencies, &mut self.reader);
        if added.is_err() {
            self.undo_last();
        } else {
            self.group.extend_from_slice(self.graph.last_added());
        }
        added.is_ok()
    }

    /// Begins a group of dependencies that [`Self::remove_group`] removes.
    pub(crate) fn begin_group(&mut self) {
        self.group.clear();
    }

    /// Removes all dependencies added since [`Self::begin_group`].
    pub(crate) fn remove_group(&mut self) {
        for (x, y) in core::mem::take(&mut self.group) {
            self.forget_lookup((x, y));
            self.graph.remove(&self.channels, (x, y));
        }
    }

    /// A removed dependency may also be one of the tables: the tables of its channels are looked up
    /// again.
    fn forget_lookup(&mut self, (x, y): Dependency) {
        if self.reader.lookup.is_some() {
            self.reader.known_from[self.channels.channel(x)] = false;
            self.reader.known_to[self.channels.channel(y)] = false;
        }
    }

    /// Removes the dependencies added by the last [`Self::admit`].
    fn remove_last(&mut self) {
        let kept = self.group.len() - self.graph.last_added().len();
        self.group.truncate(kept);
        self.undo_last();
    }

    fn undo_last(&mut self) {
        for i in 0..self.graph.last_added().len() {
            self.forget_lookup(self.graph.last_added()[i]);
        }
        self.graph.remove_last(&self.channels);
    }
}

/// Adds the dependencies to all graphs, or to none.
pub(crate) fn admit_in_all(
    dependencies: &[Dependency],
    graphs: &mut [RoutedDependencies<'_>],
) -> bool {
    let Some(rejecting) = graphs
        .iter_mut()
        .position(|graph| !graph.admit(dependencies))
    else {
        return true;
    };
    for graph in &mut graphs[..rejecting] {
        graph.remove_last();
    }
    false
}

impl<'a> SearchControl<VlChannelNumbers<'a>> for DependencyReader<'_> {
    const BREADTH_FIRST: bool = true;

    fn count_found(&mut self, direction: SearchDirection) {
        if direction == SearchDirection::Forward {
            self.visits_left = self.visits_left.saturating_sub(1);
        }
    }

    fn visit(
        &mut self,
        channels: &VlChannelNumbers<'a>,
        dependencies: &mut Dependencies,
        channel: u32,
        direction: SearchDirection,
        _: usize,
    ) -> bool {
        match direction {
            SearchDirection::Forward if self.visits_left == 0 => return false,
            SearchDirection::Forward => {}
            SearchDirection::Backward => self.visits_left = self.visits_left.saturating_sub(1),
        }
        let port = channels.channel(channel);
        let known = match direction {
            SearchDirection::Forward => &mut self.known_from[port],
            SearchDirection::Backward => &mut self.known_to[port],
        };
        let Some(lookup) = self.lookup.as_ref().filter(|_| !*known) else {
            return true;
        };
        if self.lookups_left == 0 {
            lookup.exhausted.store(true, Ordering::Relaxed);
            return false;
        }
        self.lookups_left -= 1;
        *known = true;
        match direction {
            SearchDirection::Forward => lookup.add_from(channels, port, dependencies),
            SearchDirection::Backward => lookup.add_to(channels, port, dependencies),
        }
        true
    }
}
