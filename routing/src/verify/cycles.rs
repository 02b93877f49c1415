//! Looks for a circle in the channel dependency graph, and finds a short one to show.

use rayon::prelude::*;

use super::channels::Channels;
use super::failure::ChannelVl;
use super::waits::Waits;

/// From how many nodes a shorter circle is looked for than the first one found.
const TRIES_MAX: usize = 64;

/// The lanes of a short circle, in order, or `None` if there is none.
pub(super) fn find(channels: &Channels, waits: &Waits) -> Option<Vec<ChannelVl>> {
    let parts: Vec<usize> = waits.parts().collect();
    let circles: Vec<Option<Vec<ChannelVl>>> = parts
        .par_iter()
        .map(|&part| {
            Part {
                channels,
                waits,
                part,
                nodes: waits.nodes(channels),
            }
            .circle()
        })
        .collect();
    circles.into_iter().flatten().next()
}

/// One of the graphs that are not connected with each other.
struct Part<'a> {
    channels: &'a Channels,
    waits: &'a Waits,
    part: usize,
    nodes: usize,
}

impl Part<'_> {
    fn circle(&self) -> Option<Vec<ChannelVl>> {
        let left = self.left_after_peeling();
        let stuck: Vec<usize> = (0..self.nodes).filter(|&c| left[c]).collect();
        let start = self.on_a_circle(&stuck)?;
        let circle = std::iter::once(start)
            .chain(stuck.iter().copied().take(TRIES_MAX))
            .filter_map(|c| self.shortest_circle(c, &left))
            .min_by_key(Vec::len)?;
        let lane = |node| {
            let (link, vl) = self.waits.node(self.part, node);
            let (switch, port) = self.channels.locate(self.channels.of_link(link));
            (switch, port, vl)
        };
        Some(circle.into_iter().map(lane).collect())
    }

    /// Nodes that may wait for `node`.
    fn before(&self, node: usize, f: impl FnMut(usize)) {
        self.waits.before(self.channels, self.part, node, f);
    }

    /// Takes away nodes that wait for nobody until none is left to take: circles, and what waits for them, stay.
    fn left_after_peeling(&self) -> Vec<bool> {
        let mut waits = vec![0u32; self.nodes];
        for c in 0..self.nodes {
            self.before(c, |first| waits[first] += 1);
        }
        let mut ready: Vec<usize> = (0..self.nodes).filter(|&c| waits[c] == 0).collect();
        let mut left = vec![true; self.nodes];
        while let Some(c) = ready.pop() {
            left[c] = false;
            self.before(c, |first| {
                waits[first] -= 1;
                if waits[first] == 0 {
                    ready.push(first);
                }
            });
        }
        left
    }

    /// A node on a circle. Every node left waits for one that is left, so going on ends in a circle.
    fn on_a_circle(&self, stuck: &[usize]) -> Option<usize> {
        let mut c = *stuck.first()?;
        let mut next = vec![None; self.nodes];
        for &c in stuck {
            self.before(c, |first| next[first] = next[first].or(Some(c)));
        }
        for _ in stuck {
            c = next[c]?;
        }
        Some(c)
    }

    /// A shortest circle through `start`, breadth first among the nodes left.
    fn shortest_circle(&self, start: usize, left: &[bool]) -> Option<Vec<usize>> {
        let mut next = vec![None; self.nodes];
        let mut level = vec![start];
        while !level.is_empty() {
            let mut deeper = Vec::new();
            let mut second = None;
            for &c in &level {
                self.before(c, |first| {
                    if first == start {
                        second = second.or(Some(c));
                    } else if left[first] && next[first].is_none() {
                        next[first] = Some(c);
                        deeper.push(first);
                    }
                });
                if second.is_some() {
                    break;
                }
            }
            if let Some(second) = second {
                // `start` waits for `second`, which waits ... for `start`.
                let onward = std::iter::successors(Some(second), |&c: &usize| next[c]);
                let others = onward.take_while(|&c| c != start);
                return Some(std::iter::once(start).chain(others).collect());
            }
            level = deeper;
        }
        None
    }
}
