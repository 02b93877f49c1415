//! The families of metrics: names, kinds, and the sentence that goes out with each. The only place where they stand in code;
//! docs/metrics.md has the same names, and a test keeps both equal.

use std::borrow::Cow;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

/// Value of a label.
pub(super) type Label = Cow<'static, str>;
/// Labels of a series.
pub(super) type Labels = Vec<(&'static str, Label)>;
/// What only grows.
pub(super) type Counters = Family<Labels, Counter>;
type Histograms = Family<Labels, Histogram, fn() -> Histogram>;
type Seconds = Family<Labels, Gauge<f64, core::sync::atomic::AtomicU64>>;

/// Numbers that go up and down.
#[derive(Debug, Clone, Default)]
pub(super) struct Gauges(Family<Labels, Gauge>);

impl Gauges {
    /// Shows this number; with `None` there is nothing to be shown.
    pub(super) fn set(&self, labels: &Labels, number: Option<usize>) {
        if let Some(number) = number {
            let shown = self.0.get_or_create(labels);
            shown.set(i64::try_from(number).unwrap_or(i64::MAX));
        } else {
            self.0.remove(labels);
        }
    }
}

/// All of them.
#[derive(Debug)]
pub(super) struct Families {
    pub(super) served: Gauges,
    pub(super) state: Gauges,
    pub(super) state_changes: Counters,
    pub(super) events: Counters,
    pub(super) traps: Counters,
    pub(super) sweeps: Counters,
    pub(super) sweep_duration: Histograms,
    pub(super) last_clean_sweep: Seconds,
    pub(super) sweep_smps: Counters,
    pub(super) sweep_smp_timeouts: Counters,
    pub(super) lft_blocks_written: Counters,
    pub(super) lids_changed: Counters,
    pub(super) nodes: Gauges,
    pub(super) links: Gauges,
    pub(super) lids: Gauges,
    pub(super) absent: Gauges,
    pub(super) problems: Gauges,
    pub(super) engine: Gauges,
    pub(super) sa_requests: Counters,
    pub(super) standbys: Gauges,
    pub(super) protected: Gauges,
    pub(super) replica_in_sync: Gauges,
}

impl Families {
    /// Makes them known to a registry.
    pub(super) fn register(to: &mut Registry) -> Self {
        let version = Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
        to.register("build", "The program", version);
        // From a light repair to the first sweep of a huge fabric.
        let durations: fn() -> Histogram = || Histogram::new(exponential_buckets(0.001, 2.0, 18));
        let sweep_duration = Histograms::new_with_constructor(durations);
        to.register_with_unit(
            "sweep_duration",
            "Time from the first SMP of a sweep to the last answer",
            Unit::Seconds,
            sweep_duration.clone(),
        );
        let last_clean_sweep = Seconds::default();
        to.register_with_unit(
            "last_clean_sweep_timestamp",
            "When a sweep last found everything up, addressed and routed",
            Unit::Seconds,
            last_clean_sweep.clone(),
        );
        let mut counters = |name, help| {
            let family = Counters::default();
            to.register(name, help, family.clone());
            family
        };
        let state_changes = counters(
            "sm_state_changes",
            "Changes of the state among subnet managers",
        );
        let events = counters(
            "events",
            "What the subnet manager told its operator, by kind",
        );
        let traps = counters("traps", "Traps of devices, by number");
        let sweeps = counters(
            "sweeps",
            "Sweeps that are done, of the whole fabric or of a part",
        );
        let sweep_smps = counters("sweep_smps", "SMPs sent in sweeps, repetitions included");
        let sweep_smp_timeouts = counters(
            "sweep_smp_timeouts",
            "SMPs of sweeps without an answer in time",
        );
        let lft_blocks_written = counters(
            "lft_blocks_written",
            "Blocks of linear forwarding tables written",
        );
        let lids_changed = counters("lids_changed", "LIDs given out or changed");
        let sa_requests = counters("sa_requests", "Requests of hosts, by what became of them");
        let mut gauges = |name, help| {
            let family = Gauges::default();
            to.register(name, help, family.0.clone());
            family
        };
        Self {
            served: gauges("served", "Whether this process serves the fabric"),
            state: gauges(
                "sm_state",
                "State among subnet managers: 1 for the one it has",
            ),
            nodes: gauges("nodes", "Nodes of the subnet, by type"),
            links: gauges("links", "Cables with both ends up"),
            lids: gauges("lids", "LIDs in use"),
            absent: gauges(
                "absent_ports",
                "Ports that have a LID and are not in the subnet now",
            ),
            problems: gauges("problems", "What the last whole sweep found wrong"),
            engine: gauges("routing_engine", "The engine whose tables are installed"),
            standbys: gauges(
                "standbys",
                "Standbys that copy from this master, by whether they have everything",
            ),
            protected: gauges(
                "protected",
                "Whether all that this master acknowledged is somewhere else, too",
            ),
            replica_in_sync: gauges(
                "replica_in_sync",
                "Whether this node has all that its master acknowledged",
            ),
            state_changes,
            events,
            traps,
            sweeps,
            sweep_duration,
            last_clean_sweep,
            sweep_smps,
            sweep_smp_timeouts,
            lft_blocks_written,
            lids_changed,
            sa_requests,
        }
    }
}
