//! The metric families: names, types and help texts. docs/metrics.md has the same names; a test
//! compares them.

use core::time::Duration;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::exemplar::Exemplar;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::metrics::info::Info;
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::{Metric, Registry, Unit};

use crate::sa_server::counters::{ServiceTimeCounts, TIME_BOUNDS_US};

/// Value of a label.
pub(super) type Label = Cow<'static, str>;
/// Labels of a series.
pub(super) type Labels = Vec<(&'static str, Label)>;
/// Counters by labels.
pub(super) type Counters = Family<Labels, Counter>;
type Histograms = Family<Labels, Histogram, fn() -> Histogram>;
type Seconds = Family<Labels, Gauge<f64, core::sync::atomic::AtomicU64>>;

/// Gauges by labels.
#[derive(Debug, Clone, Default)]
pub(super) struct Gauges(Family<Labels, Gauge>);

impl Gauges {
    /// Sets the gauge; `None` removes the series.
    pub(super) fn set(&self, labels: &Labels, number: Option<usize>) {
        if let Some(number) = number {
            let gauge = self.0.get_or_create(labels);
            gauge.set(i64::try_from(number).unwrap_or(i64::MAX));
        } else {
            self.0.remove(labels);
        }
    }
}

/// A histogram of SA service times, to which the counts of SA servers are added.
#[derive(Debug, Clone, Default)]
pub(super) struct ServiceTimes(Arc<Mutex<ServiceTimeCounts>>);

impl ServiceTimes {
    /// Adds what was counted between two moments.
    pub(super) fn add(&self, before: &ServiceTimeCounts, now: &ServiceTimeCounts) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let buckets = before.buckets.iter().zip(now.buckets);
        for (sum, (before, now)) in counts.buckets.iter_mut().zip(buckets) {
            *sum += now.saturating_sub(*before);
        }
        counts.sum_us += now.sum_us.saturating_sub(before.sum_us);
    }
}

impl TypedMetric for ServiceTimes {
    const TYPE: MetricType = MetricType::Histogram;
}

impl EncodeMetric for ServiceTimes {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), core::fmt::Error> {
        let counts = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let seconds = |us: u64| Duration::from_micros(us).as_secs_f64();
        let buckets: Vec<(f64, u64)> = TIME_BOUNDS_US
            .into_iter()
            .map(seconds)
            .chain([f64::INFINITY])
            .zip(counts.buckets)
            .collect();
        let count = counts.buckets.iter().sum();
        let exemplars: Option<&HashMap<usize, Exemplar<Labels, f64>>> = None;
        encoder.encode_histogram(seconds(counts.sum_us), count, &buckets, exemplars)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

/// All families.
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
    pub(super) drained_lids: Counters,
    pub(super) lids_changed: Counters,
    pub(super) nodes: Gauges,
    pub(super) links: Gauges,
    pub(super) lids: Gauges,
    pub(super) absent: Gauges,
    pub(super) problems: Gauges,
    pub(super) engine: Gauges,
    pub(super) sa_requests: Counters,
    pub(super) sa_refusals: Counters,
    pub(super) sa_service_times: Family<Labels, ServiceTimes>,
    pub(super) standbys: Gauges,
    pub(super) protected: Gauges,
    pub(super) replica_in_sync: Gauges,
}

impl Families {
    /// Registers all families.
    pub(super) fn register(to: &mut Registry) -> Self {
        let version = Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
        to.register("build", "Program version", version);
        // 1 ms (local sweep) to 131 s (first sweep of a large fabric).
        let durations: fn() -> Histogram = || Histogram::new(exponential_buckets(0.001, 2.0, 18));
        // The order of registration is that of the text.
        Self {
            sweep_duration: seconds(
                to,
                "sweep_duration",
                "Time from the first SMP of a sweep to the last response",
                Histograms::new_with_constructor(durations),
            ),
            last_clean_sweep: seconds(
                to,
                "last_clean_sweep_timestamp",
                "Time of the last full sweep without problems",
                Seconds::default(),
            ),
            sa_service_times: seconds(
                to,
                "sa_service_time",
                "Time from the receipt of an SA request to its reply",
                Family::default(),
            ),
            state_changes: register(to, "sm_state_changes", "SM state changes"),
            events: register(to, "events", "Logged events, by event"),
            traps: register(to, "traps", "Traps received, by number"),
            sweeps: register(to, "sweeps", "Completed sweeps"),
            sweep_smps: register(to, "sweep_smps", "SMPs sent in sweeps, including retries"),
            sweep_smp_timeouts: register(to, "sweep_smp_timeouts", "SMPs of sweeps that timed out"),
            lft_blocks_written: register(to, "lft_blocks_written", "LFT blocks written"),
            drained_lids: register(
                to,
                "drained_lids",
                "LIDs drained before new routes were written",
            ),
            lids_changed: register(to, "lids_changed", "LIDs assigned or changed"),
            sa_requests: register(to, "sa_requests", "SA requests, by kind and outcome"),
            sa_refusals: register(to, "sa_refusals", "Refused SA requests, by kind and cause"),
            served: gauges(to, "served", "Whether this process serves the fabric"),
            state: gauges(to, "sm_state", "1 for the current SM state"),
            nodes: gauges(to, "nodes", "Nodes in the subnet, by type"),
            links: gauges(to, "links", "Links that are up"),
            lids: gauges(to, "lids", "LIDs in use"),
            absent: gauges(
                to,
                "absent_ports",
                "Ports with a LID that are not in the subnet",
            ),
            problems: gauges(to, "problems", "Problems found by the last full sweep"),
            engine: gauges(
                to,
                "routing_engine",
                "1 for the engine whose routing is installed",
            ),
            standbys: gauges(
                to,
                "standbys",
                "Connected standbys, by whether they are in sync",
            ),
            protected: gauges(
                to,
                "protected",
                "Whether every acknowledged record is stored on another node as well",
            ),
            replica_in_sync: gauges(
                to,
                "replica_in_sync",
                "Whether the replica of this node is in sync",
            ),
        }
    }
}

fn register<M: Metric + Clone + Default>(to: &mut Registry, name: &str, help: &str) -> M {
    let family = M::default();
    to.register(name, help, family.clone());
    family
}

fn gauges(to: &mut Registry, name: &str, help: &str) -> Gauges {
    Gauges(register(to, name, help))
}

fn seconds<M: Metric + Clone>(to: &mut Registry, name: &str, help: &str, family: M) -> M {
    to.register_with_unit(name, help, Unit::Seconds, family.clone());
    family
}
