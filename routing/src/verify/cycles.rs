//! Looks for a circle in the channel dependency graph, and finds a short one to show.

use ferrosm_mad::ids::PortNum;

use super::Channels;
use crate::topology::SwitchIdx;

/// From how many channels a shorter circle is looked for than the first one found.
const TRIES_MAX: usize = 64;

/// The channels of a short circle, in order, or `None` if there is none.
pub(super) fn find(channels: &Channels, dependencies: &[u64]) -> Option<Vec<(SwitchIdx, PortNum)>> {
    let graph = Dependencies {
        channels,
        masks: dependencies,
    };
    let left = graph.left_after_peeling();
    let stuck: Vec<usize> = (0..channels.len()).filter(|&c| left[c]).collect();
    let start = graph.on_a_circle(&stuck)?;
    std::iter::once(start)
        .chain(stuck.iter().copied().take(TRIES_MAX))
        .filter_map(|c| graph.shortest_circle(c, &left))
        .min_by_key(Vec::len)
        .map(|circle| circle.into_iter().map(|c| channels.locate(c)).collect())
}

struct Dependencies<'a> {
    channels: &'a Channels,
    masks: &'a [u64],
}

impl Dependencies<'_> {
    /// Channels that a packet on `channel` may wait for.
    fn after(&self, channel: usize) -> impl Iterator<Item = usize> + '_ {
        let next = self.channels.peer[channel];
        let words = self.channels.words;
        let base = if next == Channels::NOWHERE {
            0
        } else {
            self.channels.base[next as usize]
        };
        self.masks[channel * words..][..words]
            .iter()
            .enumerate()
            .flat_map(move |(w, &word)| {
                (0..64)
                    .filter(move |bit| word >> bit & 1 == 1)
                    .map(move |bit| base + w * 64 + bit)
            })
    }

    /// Takes away channels that nobody waits for until none is left to take: circles, and what
    /// hangs below them, stay.
    fn left_after_peeling(&self) -> Vec<bool> {
        let n = self.channels.len();
        let mut waiting = vec![0u32; n];
        for c in 0..n {
            self.after(c).for_each(|next| waiting[next] += 1);
        }
        let mut ready: Vec<usize> = (0..n).filter(|&c| waiting[c] == 0).collect();
        let mut left = vec![true; n];
        while let Some(c) = ready.pop() {
            left[c] = false;
            for next in self.after(c) {
                waiting[next] -= 1;
                if waiting[next] == 0 {
                    ready.push(next);
                }
            }
        }
        left
    }

    /// A channel on a circle. Every channel left has one before it that is left, so going back ends
    /// in a circle.
    fn on_a_circle(&self, stuck: &[usize]) -> Option<usize> {
        let mut before = vec![None; self.channels.len()];
        for &c in stuck {
            self.after(c)
                .for_each(|next| before[next] = before[next].or(Some(c)));
        }
        let mut c = *stuck.first()?;
        for _ in stuck {
            c = before[c]?;
        }
        Some(c)
    }

    /// A shortest circle through `start`, breadth first among the channels left.
    fn shortest_circle(&self, start: usize, left: &[bool]) -> Option<Vec<usize>> {
        let mut from = vec![None; self.channels.len()];
        let mut level = vec![start];
        while !level.is_empty() {
            let mut deeper = Vec::new();
            for &c in &level {
                for next in self.after(c).filter(|&next| left[next]) {
                    if next == start {
                        let mut circle = vec![c];
                        while let Some(prev) = circle.last().and_then(|&c| from[c]) {
                            circle.push(prev);
                        }
                        circle.reverse();
                        return Some(circle);
                    }
                    if from[next].is_none() {
                        from[next] = Some(c);
                        deeper.push(next);
                    }
                }
            }
            level = deeper;
        }
        None
    }
}
