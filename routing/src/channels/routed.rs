//! The channel dependency graph of forwarding tables, kept acyclic while routes are added.
//!
//! The order of its channels alone ([`TopologicalOrder`]) says all that has to be known of a graph that most new routes agree
//! with. It is cached with a routing. Repair, which adds a few routes to that routing, looks up dependencies of its tables
//! ([`Lookup`]) only where a route is against the order. The graph is owned by one computation.

use std::sync::atomic::Ordering;

use super::dependencies::{Dependency, DependencySet};
use super::graph::{ChannelDependencyGraph, Dependencies, Direction, SearchControl};
use super::index::ChannelNumbering;
use super::lookup::Lookup;
use super::vls::VirtualChannels;

/// Channels that are looked up at most: as many as take a part of the time that all of them would.
const LOOKUPS_MAX: usize = 1000;

/// Visits of searches to each virtual channel, on average, before dependencies that need a search are rejected.
const VISITS_PER_CHANNEL: usize = 8;

/// The order of the virtual channels of an acyclic graph, without its dependencies: the position of each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TopologicalOrder(Vec<u32>);

impl TopologicalOrder {
    /// Bytes that it takes.
    pub(crate) fn memory(&self) -> usize {
        size_of_val(self.0.as_slice())
    }
}

/// Dependencies of forwarding tables, without a cycle.
#[derive(Debug)]
pub(crate) struct RoutedDependencies<'a> {
    pub(crate) channels: VirtualChannels<'a>,
    graph: ChannelDependencyGraph,
    reader: Reader<'a>,
}

/// Reads dependencies of forwarding tables when a search first needs them, and limits searches.
#[derive(Debug)]
struct Reader<'a> {
    lookup: Option<Lookup<'a>>,
    /// By channel of a port: whether the dependencies from it are known, and whether those to it are.
    known_from: Vec<bool>,
    known_to: Vec<bool>,
    /// Channels that may still be looked up.
    lookups_left: usize,
    /// Virtual channels that searches may still visit.
    visits_left: usize,
}

impl<'a> RoutedDependencies<'a> {
    /// A graph with these dependencies; `None` if they form a cycle.
    pub(crate) fn new(channels: VirtualChannels<'a>, dependencies: DependencySet) -> Option<Self> {
        let graph = ChannelDependencyGraph::from_dependencies(&channels, dependencies)?;
        Some(Self::with_graph(channels, graph, None))
    }

    /// The graph of tables that this order was found for, without links lost since then. `None` if it has other channels.
    pub(crate) fn resume(
        channels: VirtualChannels<'a>,
        order: &TopologicalOrder,
        lookup: Lookup<'a>,
    ) -> Option<Self> {
        (channels.len() == order.0.len()).then(|| {
            let graph = ChannelDependencyGraph::new(&channels, order.0.clone());
            Self::with_graph(channels, graph, Some(lookup))
        })
    }

    fn with_graph(
        channels: VirtualChannels<'a>,
        graph: ChannelDependencyGraph,
        lookup: Option<Lookup<'a>>,
    ) -> Self {
        let known = vec![lookup.is_none(); channels.ports.len()];
        Self {
            channels,
            graph,
            reader: Reader {
                lookup,
                known_from: known.clone(),
                known_to: known,
                lookups_left: LOOKUPS_MAX,
                visits_left: 10_000 + VISITS_PER_CHANNEL * channels.len(),
            },
        }
    }

    /// What is cached of the graph.
    pub(crate) fn into_order(self) -> TopologicalOrder {
        TopologicalOrder(self.graph.into_positions())
    }

    /// Whether all dependencies agree with the order: adding them takes no search.
    pub(crate) fn agrees_with(&self, wanted: &[Dependency]) -> bool {
        wanted.iter().all(|&wanted| self.graph.agrees(wanted))
    }

    /// Adds all dependencies, or none if they would close a cycle; whether they were added.
    pub(crate) fn admit(&mut self, wanted: &[Dependency]) -> bool {
        let added = self
            .graph
            .insert_all(&self.channels, wanted, &mut self.reader);
        if added.is_err() {
            self.remove_last();
        }
        added.is_ok()
    }

    /// Removes the dependencies that the last [`Self::admit`] added.
    pub(crate) fn remove_last(&mut self) {
        // Some may be dependencies of the tables, which have to be looked up again.
        if self.reader.lookup.is_some() {
            for &(x, y) in self.graph.last_added() {
                self.reader.known_from[self.channels.channel(x)] = false;
                self.reader.known_to[self.channels.channel(y)] = false;
            }
        }
        self.graph.remove_last(&self.channels);
    }
}

impl<'a> SearchControl<VirtualChannels<'a>> for Reader<'_> {
    const BREADTH_FIRST: bool = true;

    fn count_found(&mut self, direction: Direction) {
        if direction == Direction::Forward {
            self.visits_left = self.visits_left.saturating_sub(1);
        }
    }

    fn visit(
        &mut self,
        channels: &VirtualChannels<'a>,
        dependencies: &mut Dependencies,
        channel: u32,
        direction: Direction,
        _: usize,
    ) -> bool {
        match direction {
            Direction::Forward if self.visits_left == 0 => return false,
            Direction::Forward => {}
            Direction::Backward => self.visits_left = self.visits_left.saturating_sub(1),
        }
        let port = channels.channel(channel);
        let known = match direction {
            Direction::Forward => &mut self.known_from[port],
            Direction::Backward => &mut self.known_to[port],
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
            Direction::Forward => lookup.add_from(channels, port, dependencies),
            Direction::Backward => lookup.add_to(channels, port, dependencies),
        }
        true
    }
}
