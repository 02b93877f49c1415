//! How good routes are: figures that are compared between engines, with literature and with other subnet managers. For
//! tables that are proven; it decides nothing.
//!
//! One entry per end port: its base LID. Only channels between switches count: the cable of an end port carries what it
//! must in any routing.
//!
//! | figure | what it says | source |
//! |---|---|---|
//! | [`Quality::max_load`] | edge-forwarding index: routes over the busiest channel, all pairs at once | Chung et al. 1987 |
//! | [`Quality::bisection`] | effective bisection bandwidth: share of its link that a pair gets when a random half sends to the other | Hoefler, Schneider, Lumsdaine 2008 (ORCS: bisect) |
//! | [`Quality::exchange`] | the same when the halves send to each other | ORCS: bisect_fb_sym |
//! | [`Quality::all_to_all`] | most conflicts that any traffic can make on one channel: the lesser of its sources and destinations | Gliksberg et al. 2020 (A2A) |
//! | [`Quality::random_permutation`] | flows over the busiest channel when everybody sends to one other | the same (RP) |
//! | [`Quality::shift`] | the same for the stages of an all-to-all: everybody sends to the one so many places further | the same (SP); the test of ibmgtsim for fat trees wants at most 1 |
//!
//! Random figures come from a seed and are the same on any number of threads.

mod dice;
mod loads;
mod paths;
mod patterns;

use std::fmt;

use ferrosm_mad::ids::{Lid, PortNum};

use crate::tables::Tables;
use crate::topology::Topology;
use crate::vl_plan::VlPlan;
use paths::Paths;

/// Most flows that are followed for one figure: of large fabrics fewer samples are taken than asked for.
const FLOWS_MAX: usize = 2_000_000;

/// Samples that are taken of any fabric, if they are asked for.
const SAMPLES_MIN: usize = 20;

/// How much is sampled: at most so many of each, and of fabrics with very many end ports fewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Random bisections.
    pub bisections: usize,
    /// Random permutations.
    pub permutations: usize,
    /// Most shifts per order; where there are more, this many, spread evenly.
    pub shifts_max: usize,
    /// What random numbers start from.
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
    /// As many samples as were asked for, or as many as are worth while.
    fn samples(asked: usize, hosts: usize) -> usize {
        asked.min((FLOWS_MAX / hosts.max(1)).max(SAMPLES_MIN))
    }

    /// A first look: a tenth of the default.
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
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Least.
    pub min: f64,
    /// Most.
    pub max: f64,
}

impl Spread {
    fn of(sample: &[f64]) -> Option<Self> {
        let mut all = sample.iter().copied();
        let first = all.next()?;
        let (min, max) = all.fold((first, first), |(a, b), x| (a.min(x), b.max(x)));
        let mean = sample.iter().sum::<f64>() / sample.len() as f64;
        Some(Self { mean, min, max })
    }
}

/// What shifts of one order do.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Shift {
    /// Shifts that were tried.
    pub stages: usize,
    /// Flows over the busiest channel in the worst of them; 1 at most is no congestion at all.
    pub worst: u32,
    /// By how many places the worst one (the first of them) shifts; 0 where no channel carries anything.
    pub worst_by: usize,
    /// Flows over the busiest channel, mean over the shifts.
    pub mean: f64,
}

/// The figures of a routing.
#[derive(Debug, Clone, PartialEq)]
pub struct Quality {
    /// End ports with a LID.
    pub hosts: usize,
    /// Directed channels between switches.
    pub channels: usize,
    /// Ordered pairs of end ports whose packets arrive.
    pub pairs: u64,
    /// Routes over the busiest channel (maximum edge-forwarding index).
    pub max_load: u64,
    /// The same where links are not equally fast: routes over the channel that is busiest for its rate, as if it were as fast
    /// as the fastest. `None` where not every channel's rate is known.
    pub max_load_by_rate: Option<f64>,
    /// Mean over all channels: with paths of these lengths no routing has a lesser maximum.
    pub mean_load: f64,
    /// Mean over all channels if all paths were shortest: no routing at all has a lesser maximum.
    pub least_load: f64,
    /// Pairs by channels crossed.
    pub hop_histogram: Vec<u64>,
    /// Effective bisection bandwidth, 1 at best; `None` with fewer than 2 end ports.
    pub bisection: Option<Spread>,
    /// The same when each pair sends both ways.
    pub exchange: Option<Spread>,
    /// Over all channels the most that the lesser of sources and destinations is.
    pub all_to_all: u64,
    /// Flows over the busiest channel under a random permutation: the median.
    pub random_permutation: u32,
    /// Shifts by LID.
    pub shift: Shift,
    /// Shifts in the order of switches (by their end ports' first LID) and ports: neighbours stand together.
    pub shift_by_leaf: Shift,
    /// Pairs by SL.
    pub sl_pairs: Vec<u64>,
}

impl Quality {
    /// Most channels that a pair crosses.
    #[must_use]
    pub fn max_hops(&self) -> usize {
        self.hop_histogram.len().saturating_sub(1)
    }

    /// Mean channels crossed; 0 without pairs.
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
            "{} end ports, {} channels: busiest {} routes (mean {:.1}, least possible {:.1}), {:.2} hops (at most {})",
            self.hosts,
            self.channels,
            self.max_load,
            self.mean_load,
            self.least_load,
            self.mean_hops(),
            self.max_hops()
        )?;
        if let (Some(b), Some(x)) = (self.bisection, self.exchange) {
            write!(
                f,
                ", effective bisection bandwidth {:.1} % ({:.1} to {:.1}), both ways {:.1} %",
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

/// All figures. Pairs whose packets do not arrive are left out.
#[must_use]
pub fn measure(topo: &Topology, tables: &Tables, lanes: &VlPlan, effort: &Effort) -> Quality {
    let paths = Paths::new(topo, tables);
    let loads = loads::loads(&paths, topo, lanes);
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
        max_load_by_rate: by_rate(topo, &loads.load),
        mean_load: mean(total),
        least_load: mean(loads::shortest(&paths, topo)),
        all_to_all: loads::all_to_all(&paths, &loads),
        hop_histogram: loads.hop_histogram,
        bisection: Spread::of(&patterns::bisections(&paths, effort, false)),
        exchange: Spread::of(&patterns::bisections(&paths, effort, true)),
        random_permutation: median(patterns::permutations(&paths, effort)),
        shift: patterns::shifts(&paths, &paths.by_lid(), effort),
        shift_by_leaf: patterns::shifts(&paths, &paths.by_leaf(), effort),
        sl_pairs: loads.sl_pairs,
    }
}

/// The most routes over a channel, each weighed with how much slower than the fastest it is. Loads are by port, ports of
/// all switches in one row.
fn by_rate(topo: &Topology, loads: &[u64]) -> Option<f64> {
    let ports = topo
        .switches()
        .flat_map(|s| (0..=topo.num_ports(s)).map(move |p| (s, PortNum(p))));
    let channels = ports
        .zip(loads)
        .filter(|((s, p), _)| topo.neighbor(*s, *p).is_some());
    let rated: Option<Vec<(u32, u64)>> = channels
        .map(|((s, p), load)| Some((topo.rate(s, p)?, *load)))
        .collect();
    let rated = rated?;
    let fastest = f64::from(rated.iter().map(|(mbps, _)| *mbps).max()?);
    let weighed = rated
        .iter()
        .map(|(mbps, load)| *load as f64 * fastest / f64::from(*mbps));
    weighed.max_by(f64::total_cmp)
}

/// Shifts in this order of end ports' LIDs. LIDs that no end port has are passed over.
#[must_use]
pub fn shifts(topo: &Topology, tables: &Tables, order: &[Lid], effort: &Effort) -> Shift {
    let paths = Paths::new(topo, tables);
    patterns::shifts(&paths, &paths.in_order(order), effort)
}

/// Shifts in the order of [`Quality::shift_by_leaf`], alone.
#[must_use]
pub fn shifts_by_leaf(topo: &Topology, tables: &Tables, effort: &Effort) -> Shift {
    let paths = Paths::new(topo, tables);
    patterns::shifts(&paths, &paths.by_leaf(), effort)
}

fn median(mut sample: Vec<u32>) -> u32 {
    sample.sort_unstable();
    sample.get(sample.len() / 2).copied().unwrap_or(0)
}
