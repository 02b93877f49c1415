//! Quality figures of verified routes, for comparison with other engines, the literature and other
//! subnet managers.
//!
//! Each end port counts with its base LID. Only channels between switches count, because the load
//! of end-port links does not depend on the routing.
//!
//! | figure | meaning | source |
//! |---|---|---|
//! | [`Quality::max_load`] | edge-forwarding index: routes over the busiest channel, over all pairs | Chung et al. 1987 |
//! | [`Quality::bisection`] | effective bisection bandwidth: mean link share of a pair if a random half sends to the other | Hoefler, Schneider, Lumsdaine 2008 (ORCS: bisect) |
//! | [`Quality::exchange`] | the same if the halves send to each other | ORCS: bisect_fb_sym |
//! | [`Quality::all_to_all`] | maximum number of conflicts of any traffic on one channel: the lesser of its sources and destinations | Gliksberg et al. 2020 (A2A) |
//! | [`Quality::random_permutation`] | flows over the busiest channel in a random permutation | the same (RP) |
//! | [`Quality::shift`] | the same in a shift, a stage of an all-to-all | the same (SP); the fat-tree test of ibmgtsim requires at most 1 |
//!
//! Random figures depend on the seed only, not on the number of threads.

mod lengths;
mod loads;
mod paths;
mod patterns;
mod resample_rng;

use std::fmt;

use ferrosm_mad::ids::{Lid, PortNum};

use crate::tables::Tables;
use crate::topology::Topology;
use crate::vl_plan::VlPlan;
pub use lengths::{LinkLoads, RouteLengths};
use paths::RoutedPaths;

/// Maximum number of flows followed for one figure; limits the samples of large fabrics.
const FLOWS_MAX: usize = 2_000_000;

/// Minimum number of samples on large fabrics, unless fewer are requested.
const SAMPLES_MIN: usize = 20;

/// Maximum number of samples of each kind; fabrics with very many end ports get fewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Random bisections.
    pub bisections: usize,
    /// Random permutations.
    pub permutations: usize,
    /// Maximum number of shifts per order, evenly distributed.
    pub shifts_max: usize,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Default for Effort {
    fn default() -> Self {
        Self {
            bisections: 100,
            permutations: 100,
            shifts_max: 1000,
            seed: 1,
        }
    }
}

impl Effort {
    /// The number of samples for a fabric, at most `requested`.
    fn samples(requested: usize, hosts: usize) -> usize {
        requested.min((FLOWS_MAX / hosts.max(1)).max(SAMPLES_MIN))
    }

    /// A tenth of the default.
    #[must_use]
    pub fn quick() -> Self {
        Self {
            bisections: 10,
            permutations: 11,
            shifts_max: 100,
            seed: 1,
        }
    }
}

/// Mean and extremes of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SampleStats {
    pub mean: f64,
    pub min: f64,
    pub max: f64,
}

impl SampleStats {
    fn from_sample(sample: &[f64]) -> Option<Self> {
        let mut values = sample.iter().copied();
        let first = values.next()?;
        let (min, max) = values.fold((first, first), |(a, b), x| (a.min(x), b.max(x)));
        let mean = sample.iter().sum::<f64>() / sample.len() as f64;
        Some(Self { mean, min, max })
    }
}

/// Congestion of the shifts of one order of end ports.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ShiftCongestion {
    /// Number of shifts evaluated.
    pub stages: usize,
    /// Flows over the busiest channel in the worst shift; at most 1 without congestion.
    pub worst: u32,
    /// Distance of the (first) worst shift; 0 if no channel carries flows.
    pub worst_distance: usize,
    /// Mean number of flows over the busiest channel of a shift.
    pub mean: f64,
}

/// The figures of a routing.
#[derive(Debug, Clone, PartialEq)]
pub struct Quality {
    /// End ports with a LID.
    pub hosts: usize,
    /// Directed channels between switches.
    pub channels: usize,
    /// Number of reachable ordered pairs of end ports.
    pub pairs: u64,
    /// Routes over the busiest channel (maximum edge-forwarding index).
    pub max_load: u64,
    /// Maximum load relative to the link rate: load of a channel times the highest rate divided by
    /// its rate. `None` if the rate of any channel is unknown.
    pub max_load_by_rate: Option<f64>,
    /// Mean load of all channels: lower bound of the maximum load for paths of these lengths.
    pub mean_load: f64,
    /// Mean load of all channels with shortest paths: lower bound of the maximum load of any
    /// routing.
    pub max_load_bound: f64,
    /// Pairs by number of channels on the path.
    pub hop_histogram: Vec<u64>,
    /// Effective bisection bandwidth, 1 at best; `None` with fewer than 2 end ports.
    pub bisection: Option<SampleStats>,
    /// The same with bidirectional traffic.
    pub exchange: Option<SampleStats>,
    /// Maximum over all channels of the lesser of sources and destinations.
    pub all_to_all: u64,
    /// Median number of flows over the busiest channel in a random permutation.
    pub random_permutation: u32,
    /// Shifts in LID order.
    pub shift: ShiftCongestion,
    /// Shifts in the order of switches (by their lowest end-port LID), then ports.
    pub shift_by_leaf: ShiftCongestion,
    pub sl_pairs: Vec<u64>,
}

impl Quality {
    /// Maximum number of channels on a path.
    #[must_use]
    pub fn max_hops(&self) -> usize {
        self.hop_histogram.len().saturating_sub(1)
    }

    /// Mean number of channels on a path; 0 without pairs.
    #[must_use]
    pub fn mean_hops(&self) -> f64 {
        let hops: u64 = (0u64..).zip(&self.hop_histogram).map(|(h, n)| h * n).sum();
        if self.pairs == 0 {
            0.0
        } else {
            hops as f64 / self.pairs as f64
        }
    }
}

impl fmt::Display for Quality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} end ports, {} channels; routes per channel: {} max, {:.1} mean (at least {:.1}); hops: {:.2} mean, {} max",
            self.hosts,
            self.channels,
            self.max_load,
            self.mean_load,
            self.max_load_bound,
            self.mean_hops(),
            self.max_hops()
        )?;
        if let (Some(b), Some(x)) = (self.bisection, self.exchange) {
            write!(
                f,
                ", effective bisection bandwidth {:.1} % ({:.1} to {:.1}), bidirectional {:.1} %",
                100.0 * b.mean,
                100.0 * b.min,
                100.0 * b.max,
                100.0 * x.mean
            )?;
        }
        write!(
            f,
            ", congestion all-to-all {}, random permutation {}, worst shift {} by LID and {} by leaf",
            self.all_to_all, self.random_permutation, self.shift.worst, self.shift_by_leaf.worst
        )
    }
}

/// Computes all figures. Unreachable pairs do not count.
#[must_use]
pub fn measure(topo: &Topology, tables: &Tables, vl_plan: &VlPlan, effort: &Effort) -> Quality {
    let paths = RoutedPaths::new(topo, tables);
    let loads = loads::loads(&paths, topo, vl_plan);
    let total: u64 = loads.load.iter().sum();
    let channels = topo.num_channels();
    let mean = |total: u64| {
        if channels == 0 {
            0.0
        } else {
            total as f64 / channels as f64
        }
    };
    Quality {
        hosts: paths.hosts.len(),
        channels,
        pairs: loads.hop_histogram.iter().sum(),
        max_load: loads.load.iter().copied().max().unwrap_or(0),
        max_load_by_rate: max_load_by_rate(topo, &loads.load),
        mean_load: mean(total),
        max_load_bound: mean(loads::shortest(&paths, topo)),
        all_to_all: loads::all_to_all(&paths, &loads),
        hop_histogram: loads.hop_histogram,
        bisection: SampleStats::from_sample(&patterns::bisections(&paths, effort, false)),
        exchange: SampleStats::from_sample(&patterns::bisections(&paths, effort, true)),
        random_permutation: median(patterns::permutations(&paths, effort)),
        shift: patterns::shifts(&paths, &paths.by_lid(), effort),
        shift_by_leaf: patterns::shifts(&paths, &paths.by_leaf(), effort),
        sl_pairs: loads.sl_pairs,
    }
}

/// Maximum load relative to the link rate ([`Quality::max_load_by_rate`]). `loads` is by flat port
/// number.
fn max_load_by_rate(topo: &Topology, loads: &[u64]) -> Option<f64> {
    let ports = topo
        .switches()
        .flat_map(|s| (0..=topo.num_ports(s)).map(move |p| (s, PortNum(p))));
    let channels = ports
        .zip(loads)
        .filter(|((s, p), _)| topo.neighbor(*s, *p).is_some());
    let rated = channels
        .map(|((s, p), load)| Some((topo.rate(s, p)?, *load)))
        .collect::<Option<Vec<(u32, u64)>>>()?;
    let fastest = f64::from(rated.iter().map(|(mbps, _)| *mbps).max()?);
    let weighed = rated
        .iter()
        .map(|(mbps, load)| *load as f64 * fastest / f64::from(*mbps));
    weighed.max_by(f64::total_cmp)
}

/// Shifts in this order of end-port LIDs. Unknown LIDs are ignored.
#[must_use]
pub fn shifts(topo: &Topology, tables: &Tables, order: &[Lid], effort: &Effort) -> ShiftCongestion {
    let paths = RoutedPaths::new(topo, tables);
    patterns::shifts(&paths, &paths.in_order(order), effort)
}

/// Shifts in the order of [`Quality::shift_by_leaf`].
#[must_use]
pub fn shifts_by_leaf(topo: &Topology, tables: &Tables, effort: &Effort) -> ShiftCongestion {
    let paths = RoutedPaths::new(topo, tables);
    patterns::shifts(&paths, &paths.by_leaf(), effort)
}

fn median(mut sample: Vec<u32>) -> u32 {
    sample.sort_unstable();
    sample.get(sample.len() / 2).copied().unwrap_or(0)
}
