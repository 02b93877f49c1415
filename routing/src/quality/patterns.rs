//! Traffic patterns in which every end port sends to one other: random bisections, random
//! permutations, shifts.

use rayon::prelude::*;

use super::paths::RoutedPaths;
use super::resample_rng::ResampleRng;
use super::{Effort, ShiftCongestion};

/// Mean link share of a pair, for each random bisection: 1 / flows on the busiest channel of its
/// path (ORCS). The first half sends to the second or, with `both_ways`, both send to each other.
pub(super) fn bisections(paths: &RoutedPaths<'_>, effort: &Effort, both_ways: bool) -> Vec<f64> {
    let half = paths.hosts.len() / 2;
    if half == 0 {
        return Vec::new();
    }
    (0..Effort::samples(effort.bisections, paths.hosts.len()))
        .into_par_iter()
        .map_init(
            || Flows::new(paths),
            |flows, sample| {
                let mut hosts: Vec<usize> = (0..paths.hosts.len()).collect();
                ResampleRng::new(effort.seed, sample).shuffle(&mut hosts);
                let (first, second) = hosts.split_at(half);
                let forward = first.iter().copied().zip(second.iter().copied());
                let reverse =
                    forward
                        .clone()
                        .map(|(a, b)| (b, a))
                        .take(if both_ways { half } else { 0 });
                let pairs: Vec<(usize, usize)> = forward.chain(reverse).collect();
                flows.send(paths, &pairs);
                let shares = pairs.iter().map(|&(from, to)| flows.share(paths, from, to));
                shares.sum::<f64>() / pairs.len() as f64
            },
        )
        .collect()
}

/// Flows over the busiest channel, for each random permutation.
pub(super) fn permutations(paths: &RoutedPaths<'_>, effort: &Effort) -> Vec<u32> {
    (0..Effort::samples(effort.permutations, paths.hosts.len()))
        .into_par_iter()
        .map_init(
            || Flows::new(paths),
            |flows, sample| {
                let mut hosts: Vec<usize> = (0..paths.hosts.len()).collect();
                // A stream independent of the bisections.
                ResampleRng::new(!effort.seed, sample).shuffle(&mut hosts);
                let pairs: Vec<(usize, usize)> = hosts.into_iter().enumerate().collect();
                flows.send(paths, &pairs)
            },
        )
        .collect()
}

/// Shifts of hosts in this order: all distances, or as many as `effort` allows, one from each of
/// equally long intervals.
pub(super) fn shifts(paths: &RoutedPaths<'_>, order: &[usize], effort: &Effort) -> ShiftCongestion {
    let shifts = order.len().saturating_sub(1);
    let stages = shifts.min(Effort::samples(effort.shifts_max, order.len()));
    let busiest: Vec<(u32, usize)> = (0..stages)
        .into_par_iter()
        .map_init(
            || (Flows::new(paths), Vec::with_capacity(order.len())),
            |(flows, pairs), stage| {
                let from = stage * shifts / stages;
                let to = (stage + 1) * shifts / stages;
                let distance = 1 + from + ResampleRng::new(effort.seed, stage).below(to - from);
                let shifted = order.iter().cycle().skip(distance).copied();
                pairs.clear();
                pairs.extend(order.iter().copied().zip(shifted));
                (flows.send(paths, pairs), distance)
            },
        )
        .collect();
    let total: u64 = busiest.iter().map(|&(flows, _)| u64::from(flows)).sum();
    let worst = busiest.iter().map(|b| b.0).max().unwrap_or(0);
    ShiftCongestion {
        stages,
        worst,
        worst_distance: busiest
            .iter()
            .find(|b| worst > 0 && b.0 == worst)
            .map_or(0, |b| b.1),
        mean: if stages == 0 {
            0.0
        } else {
            total as f64 / stages as f64
        },
    }
}

/// Flows on each channel under one pattern.
struct Flows {
    by_channel: Vec<u32>,
    path: Vec<usize>,
}

impl Flows {
    fn new(paths: &RoutedPaths<'_>) -> Self {
        Self {
            by_channel: vec![0; paths.num_channels()],
            path: Vec::new(),
        }
    }

    /// Counts the flows of all pairs, and returns those on the busiest channel. Unreachable pairs
    /// do not count.
    fn send(&mut self, paths: &RoutedPaths<'_>, pairs: &[(usize, usize)]) -> u32 {
        self.by_channel.fill(0);
        let mut max_load = 0;
        for &(from, to) in pairs {
            let path = &mut self.path;
            path.clear();
            let from = paths.hosts[from].switch;
            let to = &paths.hosts[to];
            if paths.follow(from, to, |c| path.push(c)) {
                for &c in path.iter() {
                    self.by_channel[c] += 1;
                    max_load = max_load.max(self.by_channel[c]);
                }
            }
        }
        max_load
    }

    /// Share of a pair on the busiest channel of its path: 1 without channels, 0 if unreachable.
    fn share(&self, paths: &RoutedPaths<'_>, from: usize, to: usize) -> f64 {
        let mut worst = 1;
        let from = paths.hosts[from].switch;
        let to = &paths.hosts[to];
        if paths.follow(from, to, |c| worst = worst.max(self.by_channel[c])) {
            1.0 / f64::from(worst)
        } else {
            0.0
        }
    }
}
