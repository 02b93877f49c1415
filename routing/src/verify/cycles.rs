//! Searches for a cycle in the channel dependency graph, and finds a short one to report.

use rayon::prelude::*;

use super::channels::Channels;
use super::dependency_graph::ChannelDependencyGraph;
use super::error::ChannelVl;

/// Maximum number of nodes from which a shorter cycle is searched.
const TRIES_MAX: usize = 64;

/// The channels and VLs of a short cycle, in order; `None` if there is no cycle.
pub(super) fn find(channels: &Channels, graph: &ChannelDependencyGraph) -> Option<Vec<ChannelVl>> {
    let components: Vec<usize> = graph.components().collect();
    let cycles: Vec<Option<Vec<ChannelVl>>> = components
        .par_iter()
        .map(|&component| {
            Component {
                channels,
                graph,
                component,
                nodes: graph.num_nodes(channels),
            }
            .find_cycle()
        })
        .collect();
    cycles.into_iter().flatten().next()
}

/// One component of the graph.
struct Component<'a> {
    channels: &'a Channels,
    graph: &'a ChannelDependencyGraph,
    component: usize,
    nodes: usize,
}

impl Component<'_> {
    fn find_cycle(&self) -> Option<Vec<ChannelVl>> {
        let remaining = self.remaining_after_peeling();
        let remaining_nodes: Vec<usize> = (0..self.nodes).filter(|&c| remaining[c]).collect();
        let start = self.node_on_cycle(&remaining_nodes)?;
        let cycle = std::iter::once(start)
            .chain(remaining_nodes.iter().copied().take(TRIES_MAX))
            .filter_map(|c| self.shortest_cycle(c, &remaining))
            .min_by_key(Vec::len)?;
        let channel_vl = |node| {
            let (link, vl) = self.graph.link_and_vl(self.component, node);
            let (switch, port) = self.channels.locate(self.channels.of_link(link));
            (switch, port, vl)
        };
        Some(cycle.into_iter().map(channel_vl).collect())
    }

    /// Calls `f` with each node that depends on `node`.
    fn for_each_predecessor(&self, node: usize, f: impl FnMut(usize)) {
        self.graph
            .for_each_predecessor(self.channels, self.component, node, f);
    }

    /// Removes nodes without dependencies repeatedly. Cycles, and nodes that depend on them,
    /// remain.
    fn remaining_after_peeling(&self) -> Vec<bool> {
        let mut num_dependencies = vec![0u32; self.nodes];
        for c in 0..self.nodes {
            self.for_each_predecessor(c, |first| num_dependencies[first] += 1);
        }
        let mut ready: Vec<usize> = (0..self.nodes)
            .filter(|&c| num_dependencies[c] == 0)
            .collect();
        let mut remaining = vec![true; self.nodes];
        while let Some(c) = ready.pop() {
            remaining[c] = false;
            self.for_each_predecessor(c, |first| {
                num_dependencies[first] -= 1;
                if num_dependencies[first] == 0 {
                    ready.push(first);
                }
            });
        }
        remaining
    }

    /// A node on a cycle. Every remaining node depends on a remaining one, so following
    /// dependencies leads to a cycle.
    fn node_on_cycle(&self, remaining_nodes: &[usize]) -> Option<usize> {
        let mut c = *remaining_nodes.first()?;
        let mut next = vec![None; self.nodes];
        for &c in remaining_nodes {
            self.for_each_predecessor(c, |first| next[first] = next[first].or(Some(c)));
        }
        for _ in remaining_nodes {
            c = next[c]?;
        }
        Some(c)
    }

    /// A shortest cycle through `start`, breadth first over the remaining nodes.
    fn shortest_cycle(&self, start: usize, remaining: &[bool]) -> Option<Vec<usize>> {
        let mut next = vec![None; self.nodes];
        let mut level = vec![start];
        while !level.is_empty() {
            let mut next_level = Vec::new();
            let mut second = None;
            for &c in &level {
                self.for_each_predecessor(c, |first| {
                    if first == start {
                        second = second.or(Some(c));
                    } else if remaining[first] && next[first].is_none() {
                        next[first] = Some(c);
                        next_level.push(first);
                    }
                });
                if second.is_some() {
                    break;
                }
            }
            if let Some(second) = second {
                // `start` depends on `second`, and so on, back to `start`.
                let onward = std::iter::successors(Some(second), |&c: &usize| next[c]);
                let other_channels = onward.take_while(|&c| c != start);
                return Some(std::iter::once(start).chain(other_channels).collect());
            }
            level = next_level;
        }
        None
    }
}
