//! Metrics of the subnet that this process serves, in OpenMetrics format (ADR 0015).
//!
//! One [`Metrics`] per process, which the service updates. Counters of other threads
//! ([`MetricsSource`]) are read at each scrape. `route` serves the text over HTTP;
//! docs/metrics.md describes the metrics. Updates never wait for a scrape.

mod families;
mod route;
mod source;

use core::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use ferrosm_core::event::{EventRow, Severity};
use ferrosm_core::report::{ProblemKind, SmpCount, SweepKind};
use ferrosm_core::{Event, SweepReport};
use ferrosm_mad::attr::SmState;
use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;

use families::{Counters, Families, Label, Labels};
pub use route::serve_if_configured;
pub use source::MetricsSource;

/// Of a series without labels.
static NO_LABELS: Labels = Labels::new();

/// Label values of the SM states.
const STATES: [(SmState, &str); 4] = [
    (SmState::NotActive, "not-active"),
    (SmState::Discovering, "discovering"),
    (SmState::Standby, "standby"),
    (SmState::Master, "master"),
];

/// Trap numbers that have a series of their own. All others are counted as `other`, so that senders
/// of MADs cannot create series.
const TRAPS: [u16; 14] = [
    64, 65, 66, 67, 128, 129, 130, 131, 144, 145, 256, 257, 258, 259,
];

/// Label values of SMP methods.
const METHODS: [&str; 2] = ["get", "set"];

/// Label values of node types.
const NODES: [&str; 3] = ["switch", "ca", "router"];

/// Label values of problems: part of the subnet is down, or not.
const SEVERITIES: [&str; 2] = ["problem", "minor-problem"];

/// Label values of sweep results.
const OUTCOMES: [&str; 3] = ["clean", "not-clean", "failed"];

/// All metrics of the process. Clones share them.
#[derive(Clone)]
pub struct Metrics(Arc<Shared>);

struct Shared {
    registry: Registry,
    families: Families,
    /// `None` while no subnet is served, also for a scrape in progress when the service ends.
    source: Mutex<Option<MetricsSource>>,
}

/// Metrics of the subnet while it is served; dropping the value ends the service.
pub struct ServiceMetrics {
    metrics: Metrics,
    /// The engine in `ferrosm_routing_engine`, and whether it is the configured one.
    engine: Option<(&'static str, bool)>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("ferrosm");
        let families = Families::register(&mut registry);
        let metrics = Self(Arc::new(Shared {
            registry,
            families,
            source: Mutex::default(),
        }));
        metrics.mark_not_served();
        metrics
    }
}

impl Metrics {
    /// The current metrics as OpenMetrics text.
    ///
    /// # Errors
    /// Writing to memory does not fail.
    pub fn text(&self) -> Result<String, fmt::Error> {
        let replication = self.source().as_ref().and_then(MetricsSource::replication);
        let status = replication.as_ref().and_then(MetricsSource::status);
        if let Some(source) = &mut *self.source() {
            source.set(&self.0.families, status.as_ref());
        }
        let mut output = String::new();
        text::encode(&mut output, &self.0.registry)?;
        Ok(output)
    }

    fn source(&self) -> MutexGuard<'_, Option<MetricsSource>> {
        self.0.source.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks the subnet as served until the result is dropped.
    #[must_use]
    pub fn start_service(self, source: MetricsSource) -> ServiceMetrics {
        self.families().served.set(&NO_LABELS, Some(1));
        self.set_state(Some(SmState::Discovering));
        self.create_counters();
        *self.source() = Some(source);
        ServiceMetrics {
            metrics: self,
            engine: None,
        }
    }

    /// Creates all counters with 0, so that the first event is an increase.
    fn create_counters(&self) {
        let families = self.families();
        for (_, rows) in Event::sections() {
            for row in rows.iter().filter(|row| row.severity != Severity::Debug) {
                self.add(&families.events, event_labels(row, row.severity), 0);
            }
        }
        for kind in SweepKind::ALL {
            for outcome in OUTCOMES {
                let labels = [("kind", kind.name().into()), ("outcome", outcome.into())];
                self.add(&families.sweeps, labels, 0);
            }
        }
        for method in METHODS {
            self.add(&families.sweep_smps, [("method", method.into())], 0);
        }
        for family in [
            &families.state_changes,
            &families.sweep_smp_timeouts,
            &families.lft_blocks_written,
            &families.drained_lids,
            &families.lids_changed,
        ] {
            self.add(family, [], 0);
        }
    }

    /// Sets the SM state; `None` removes its series.
    fn set_state(&self, state: Option<SmState>) {
        for (listed_state, name) in STATES {
            let value = state.map(|state| usize::from(listed_state == state));
            let labels = Labels::from([("state", name.into())]);
            self.families().state.set(&labels, value);
        }
    }

    /// Marks the subnet as not served and removes the series that describe its state.
    fn mark_not_served(&self) {
        let families = self.families();
        families.served.set(&NO_LABELS, Some(0));
        *self.source() = None;
        self.set_state(None);
        for value in ["yes", "no"] {
            let labels = Labels::from([("in_sync", value.into())]);
            families.standbys.set(&labels, None);
        }
        families.protected.set(&NO_LABELS, None);
        families.replica_in_sync.set(&NO_LABELS, None);
        self.remove_subnet();
    }

    /// Removes the series that only a master reports.
    fn remove_subnet(&self) {
        let families = self.families();
        for node_type in NODES {
            let labels = Labels::from([("type", node_type.into())]);
            families.nodes.set(&labels, None);
        }
        for severity in SEVERITIES {
            let labels = Labels::from([("severity", severity.into())]);
            families.problems.set(&labels, None);
        }
        for family in [&families.links, &families.lids, &families.absent] {
            family.set(&NO_LABELS, None);
        }
        families.last_clean_sweep.remove(&NO_LABELS);
    }

    fn families(&self) -> &Families {
        &self.0.families
    }

    fn add<const N: usize>(
        &self,
        family: &Counters,
        labels: [(&'static str, Label); N],
        count: u64,
    ) {
        family.get_or_create(&Labels::from(labels)).inc_by(count);
    }
}

impl ServiceMetrics {
    /// Counts an event that is reported with a severity.
    pub fn count_event(&self, event: &Event, severity: Severity) {
        if severity != Severity::Debug {
            let labels = event_labels(event.row(), severity);
            self.metrics.add(&self.metrics.families().events, labels, 1);
        }
    }

    /// Follows the state of the subnet.
    pub fn event(&mut self, event: &Event) {
        let metrics = &self.metrics;
        let families = metrics.families();
        if let Event::RoleChanged { state, .. } = event {
            metrics.set_state(Some(*state));
            metrics.add(&families.state_changes, [], 1);
            if *state != SmState::Master {
                metrics.remove_subnet();
                self.set_engine(None);
            }
        } else if let Event::TrapReceived { number, vendor, .. } = event {
            let is_known = vendor.is_none() && TRAPS.contains(number);
            let number = is_known.then(|| number.to_string());
            let number = number.map_or(Label::Borrowed("other"), Label::Owned);
            metrics.add(&families.traps, [("number", number)], 1);
        } else if let Event::SweepCompleted(report) = event {
            self.sweep(report);
            if report.role == SmState::Master {
                self.set_subnet(report);
            }
        }
    }

    fn sweep(&self, report: &SweepReport) {
        let metrics = &self.metrics;
        let families = metrics.families();
        let kind = ("kind", report.kind.name().into());
        let outcome = match (report.failed, report.is_clean()) {
            (false, true) => 0,
            (false, false) => 1,
            (true, _) => 2,
        };
        let outcome = OUTCOMES[outcome];
        let took = Labels::from([kind.clone()]);
        let took = families.sweep_duration.get_or_create_owned(&took);
        took.observe(report.took.as_secs_f64());
        metrics.add(&families.sweeps, [kind, ("outcome", outcome.into())], 1);
        let sum = |count: fn(&SmpCount) -> u64| report.smps.values().map(count).sum();
        let smps = [sum(|smps| smps.gets), sum(|smps| smps.sets)];
        for (method, count) in METHODS.into_iter().zip(smps) {
            metrics.add(&families.sweep_smps, [("method", method.into())], count);
        }
        metrics.add(&families.sweep_smp_timeouts, [], sum(|smps| smps.timeouts));
        metrics.add(&families.lft_blocks_written, [], report.lft_blocks_written);
        metrics.add(&families.drained_lids, [], report.drained_lids as u64);
        let changed = u64::try_from(report.lids_changed).unwrap_or(u64::MAX);
        metrics.add(&families.lids_changed, [], changed);
    }

    /// Sets the series that only a master reports.
    fn set_subnet(&mut self, report: &SweepReport) {
        let metrics = &self.metrics;
        let families = metrics.families();
        let nodes = [report.switches, report.cas, report.routers];
        for (node_type, count) in NODES.into_iter().zip(nodes) {
            let labels = Labels::from([("type", node_type.into())]);
            families.nodes.set(&labels, Some(count));
        }
        families.links.set(&NO_LABELS, Some(report.links));
        families.lids.set(&NO_LABELS, Some(report.lids));
        families.absent.set(&NO_LABELS, Some(report.absent));
        if !report.is_local() {
            // A local sweep finds only problems of its part.
            let severe = report
                .problems
                .iter()
                .filter(|p| p.kind.is_severe())
                .count();
            let counts = [severe, report.problems.len() - severe];
            for (severity, count) in SEVERITIES.into_iter().zip(counts) {
                let labels = Labels::from([("severity", severity.into())]);
                families.problems.set(&labels, Some(count));
            }
            if report.is_clean() {
                let now = SystemTime::now().duration_since(UNIX_EPOCH);
                let last = families.last_clean_sweep.get_or_create(&NO_LABELS);
                last.set(now.unwrap_or_default().as_secs_f64());
            }
        }
        if !report.failed {
            let is_configured = !report
                .problems
                .iter()
                .any(|p| matches!(p.kind, ProblemKind::EngineNotUsed { .. }));
            let engine = Some(report.engine).filter(|name| !name.is_empty());
            self.set_engine(engine.map(|name| (name, is_configured)));
        }
    }

    fn set_engine(&mut self, engine: Option<(&'static str, bool)>) {
        let before = core::mem::replace(&mut self.engine, engine);
        for (engine, value) in [(before, None), (engine, Some(1))] {
            let Some((name, is_configured)) = engine else {
                continue;
            };
            let configured = if is_configured { "yes" } else { "no" };
            let labels = Labels::from([("engine", name.into()), ("configured", configured.into())]);
            self.metrics.families().engine.set(&labels, value);
        }
    }
}

impl Drop for ServiceMetrics {
    fn drop(&mut self) {
        self.set_engine(None);
        self.metrics.mark_not_served();
    }
}

fn event_labels(row: &EventRow, severity: Severity) -> [(&'static str, Label); 2] {
    let event = Label::Owned(row.label());
    [("event", event), ("severity", severity.name().into())]
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use ferrosm_core::election::RoleChangeReason;
    use ferrosm_core::event::AboutSm;
    use ferrosm_fabric::location::Location;

    use super::*;
    use ferrosm_mad::mad::Method;
    use ferrosm_mad::sa::id;
    use ferrosm_sa::admission::{RequestClass, RequestOutcome};
    use ferrosm_sa::request_kind::RequestKind;

    use crate::sa_server::SaCounters;
    use crate::sa_server::counters::ServiceTimeCounts;

    fn role(state: SmState) -> Event {
        let reason = AboutSm {
            what: RoleChangeReason::OperatorRequest,
            location: None,
        };
        Event::RoleChanged { state, why: reason }
    }

    fn swept(kind: SweepKind, engine: &'static str, role: SmState) -> Event {
        Event::SweepCompleted(Box::new(SweepReport {
            kind,
            role,
            engine,
            switches: 3,
            links: 7,
            ..SweepReport::default()
        }))
    }

    /// Lines that contain `pattern`, without comments.
    fn lines(metrics: &Metrics, pattern: &str) -> Vec<String> {
        let text = metrics.text().unwrap();
        let mut lines: Vec<String> = text
            .lines()
            .filter(|l| !l.starts_with('#'))
            .filter(|l| l.contains(pattern))
            .map(str::to_owned)
            .collect();
        lines.sort();
        lines
    }

    /// Each event is counted in a series that exists with 0 before, unless it is a detail.
    #[test]
    fn every_event_series_starts_at_0() {
        let metrics = Metrics::default();
        let service = metrics.clone().start_service(MetricsSource::default());
        let count = || lines(&metrics, "ferrosm_events_total");
        let before = count();
        assert!(before.iter().all(|l| l.ends_with(" 0")), "{before:?}");
        let event = Event::FurtherLinksDegraded(3);
        service.count_event(&event, event.row().severity);
        service.count_event(&event, Severity::Debug);
        let after = count();
        assert_eq!(after.len(), before.len());
        let counted: Vec<&String> = after.iter().filter(|l| !l.ends_with(" 0")).collect();
        assert_eq!(
            counted,
            [r#"ferrosm_events_total{event="further-links-degraded",severity="warning"} 1"#]
        );
    }

    /// Series of the subnet are removed when the node is no longer master, series of the state when
    /// the service ends.
    #[test]
    fn subnet_series_exist_only_on_the_master() {
        const SUBNET: [&str; 3] = ["ferrosm_links", "type=", "engine="];
        let metrics = Metrics::default();
        let mut service = metrics.clone().start_service(MetricsSource::default());
        let series = || SUBNET.map(|name| lines(&metrics, name).len());
        service.event(&swept(SweepKind::Full, "updn", SmState::Standby));
        assert_eq!(series(), [0, 0, 0]);
        service.event(&role(SmState::Master));
        service.event(&swept(SweepKind::Full, "updn", SmState::Master));
        service.event(&swept(SweepKind::Local, "nue", SmState::Master));
        assert_eq!(series(), [1, 3, 1]);
        assert_eq!(
            lines(&metrics, "engine="),
            ["ferrosm_routing_engine{engine=\"nue\",configured=\"yes\"} 1"]
        );
        let counts = "ferrosm_sweeps_total{kind=\"full\",outcome=\"clean\"} 2";
        assert_eq!(lines(&metrics, "kind=\"full\",outcome=\"clean\""), [counts]);
        service.event(&role(SmState::Standby));
        assert_eq!(series(), [0, 0, 0]);
        service.event(&role(SmState::Master));
        service.event(&swept(SweepKind::Full, "updn", SmState::Master));
        drop(service);
        assert_eq!(series(), [0, 0, 0]);
        assert_eq!(lines(&metrics, "state="), Vec::<String>::new());
        assert_eq!(lines(&metrics, "ferrosm_served"), ["ferrosm_served{} 0"]);
    }

    /// A sender of traps cannot create series.
    #[test]
    fn unknown_trap_numbers_share_one_series() {
        let metrics = Metrics::default();
        let mut service = metrics.clone().start_service(MetricsSource::default());
        for (number, vendor) in [(128, None), (4000, None), (128, Some(0x2c9))] {
            let location = Location::LocalNode;
            let trap = Event::TrapReceived {
                number,
                vendor,
                location,
                violation: None,
                change: None,
            };
            service.event(&trap);
        }
        assert_eq!(
            lines(&metrics, "traps_total"),
            [
                "ferrosm_traps_total{number=\"128\"} 1",
                "ferrosm_traps_total{number=\"other\"} 2",
            ]
        );
    }

    /// Counters of an SA server are added to the total, which is retained after the server ends.
    #[test]
    fn sa_counters_are_read_at_each_scrape() {
        let metrics = Metrics::default();
        let path = RequestKind::new(id::PATH, Method::Get);
        let series = || lines(&metrics, "outcome=\"answered\"");
        let labels = "attribute=\"PathRecord\",method=\"Get\",outcome=\"answered\"";
        let expected = |n| [format!("ferrosm_sa_requests_total{{{labels}}} {n}")];
        for run in 0..3 {
            // Each server counts from 0; the metric continues.
            let counters = Arc::new(SaCounters::default());
            let source = MetricsSource::new(Some(Arc::downgrade(&counters)), None);
            let service = metrics.clone().start_service(source);
            counters.add(path, RequestOutcome::Answered, 5);
            assert_eq!(series(), expected(5 + 7 * run));
            counters.add(path, RequestOutcome::Answered, 2);
            assert_eq!(series(), expected(7 + 7 * run));
            drop(counters);
            assert_eq!(series(), expected(7 + 7 * run));
            drop(service);
            assert_eq!(series(), expected(7 + 7 * run));
        }
    }

    /// Service times have cumulative buckets in seconds, by class.
    #[test]
    fn service_times_are_exported_by_class() {
        let metrics = Metrics::default();
        let counters = Arc::new(SaCounters::default());
        let source = MetricsSource::new(Some(Arc::downgrade(&counters)), None);
        let _service = metrics.clone().start_service(source);
        let mut times = ServiceTimeCounts::default();
        times.add(Duration::from_micros(50));
        times.add(Duration::from_millis(2));
        counters.add_times(RequestClass::Scan, &times);
        for _ in 0..2 {
            let scans = lines(&metrics, "class=\"scan\"");
            let count = |le: &str| {
                let bucket = scans
                    .iter()
                    .find(|line| line.contains(&format!("le=\"{le}\"")));
                bucket
                    .and_then(|line| line.rsplit(' ').next())
                    .map(str::to_owned)
            };
            assert_eq!(count("0.0001").as_deref(), Some("1"), "{scans:?}");
            assert_eq!(count("0.001").as_deref(), Some("1"));
            assert_eq!(count("0.0025").as_deref(), Some("2"));
            assert_eq!(count("+Inf").as_deref(), Some("2"));
        }
    }
}
