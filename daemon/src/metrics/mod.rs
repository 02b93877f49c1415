//! What monitoring may know of each fabric that this process serves, in the form of OpenMetrics.
//!
//! One [`Metrics`] per process. Each service has an [`FabricMetrics`] and tells it what happens; all its series carry the name of the fabric
//! as the label `fabric`, and none where the configuration gives it no name. What others count ([`Source`]) is read when
//! somebody asks. [`server`] hands it out over HTTP. docs/metrics.md says what each of them means. Nothing here decides anything, and
//! nothing that serves a fabric ever waits for it: to count is to add to a number.

mod families;
pub mod server;
mod source;

use core::fmt;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use ferrosm_core::report::SmpCount;
use ferrosm_core::{Event, SweepReport};
use ferrosm_mad::attr::SmState;
use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;

use families::{Counters, Families, Label, Labels};
pub use source::Source;

/// States, and what they are called.
const STATES: [(SmState, &str); 4] = [
    (SmState::NotActive, "not-active"),
    (SmState::Discovering, "discovering"),
    (SmState::Standby, "standby"),
    (SmState::Master, "master"),
];

/// Traps that are counted by their number: what devices may send, so that nobody can make up series.
const TRAPS: [u16; 14] = [
    64, 65, 66, 67, 128, 129, 130, 131, 144, 145, 256, 257, 258, 259,
];

/// Methods of SMPs.
const METHODS: [&str; 2] = ["get", "set"];

/// Types of nodes.
const NODES: [&str; 3] = ["switch", "ca", "router"];

/// Whether the subnet is not fully up because of a problem.
const SEVERITIES: [&str; 2] = ["grave", "slight"];

/// Kinds of events that are counted, so that each is there with 0 before the first.
const KINDS: [&str; 10] = [
    "alarm",
    "link-down",
    "link-up",
    "no-link",
    "node-added",
    "node-gone",
    "not-handed-over",
    "noticed",
    "routing-failed",
    "shortage",
];

/// What a sweep looked at.
const EXTENTS: [&str; 2] = ["whole", "part"];

/// How it ended.
const OUTCOMES: [&str; 3] = ["clean", "not-clean", "failed"];

/// All metrics of the process. Clones are the same.
#[derive(Clone)]
pub struct Metrics(Arc<Shared>);

struct Shared {
    registry: Registry,
    families: Families,
    /// Of the fabrics that are served, by label.
    sources: Mutex<BTreeMap<Labels, SourceCell>>,
}

/// The metrics of one fabric, before it is served and after.
#[derive(Clone)]
pub struct FabricMetrics {
    all: Metrics,
    labels: Labels,
}

/// The metrics of a fabric that is served, which it is as long as this lives.
pub struct ServiceMetrics {
    of: FabricMetrics,
    /// The engine that is shown.
    engine: Option<&'static str>,
}

/// The source of a fabric that is served; none when it has ended, also for who is about to ask it.
#[derive(Clone)]
struct SourceCell(Arc<Mutex<Option<Source>>>);

impl SourceCell {
    fn with<T: Default>(&self, ask: impl FnOnce(&mut Source) -> T) -> T {
        let mut source = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        source.as_mut().map(ask).unwrap_or_default()
    }

    fn ended(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("ferrosm");
        let families = Families::register(&mut registry);
        Self(Arc::new(Shared {
            registry,
            families,
            sources: Mutex::default(),
        }))
    }
}

impl Metrics {
    /// Those of the fabric of this name. It is not served yet.
    #[must_use]
    pub fn for_fabric(&self, fabric: Option<&str>) -> FabricMetrics {
        let labels = fabric.map(|name| ("fabric", name.to_owned().into()));
        let of = FabricMetrics {
            all: self.clone(),
            labels: labels.into_iter().collect(),
        };
        of.ended();
        of
    }

    /// All of them now, as OpenMetrics text.
    ///
    /// # Errors
    /// Never, as far as is known: the text goes into memory.
    pub fn text(&self) -> Result<String, fmt::Error> {
        let sources = self.sources().clone();
        for (labels, source) in &sources {
            let replication = source.with(|source| source.replication());
            let status = replication.as_ref().and_then(Source::status);
            source.with(|source| source.set(&self.0.families, labels, status.as_ref()));
        }
        let mut all = String::new();
        text::encode(&mut all, &self.0.registry)?;
        Ok(all)
    }

    fn sources(&self) -> MutexGuard<'_, BTreeMap<Labels, SourceCell>> {
        let sources = self.0.sources.lock();
        sources.unwrap_or_else(PoisonError::into_inner)
    }
}

impl FabricMetrics {
    /// It is served from now on, until what is returned ends.
    #[must_use]
    pub fn start_service(self, source: Source) -> ServiceMetrics {
        self.families().served.set(&self.labels, Some(1));
        self.state(Some(SmState::Discovering));
        self.begin();
        let shown = SourceCell(Arc::new(Mutex::new(Some(source))));
        self.all.sources().insert(self.labels.clone(), shown);
        ServiceMetrics {
            of: self,
            engine: None,
        }
    }

    /// What grows begins with 0: the first alarm is an increase, too.
    fn begin(&self) {
        let families = self.families();
        for kind in KINDS {
            self.add(&families.events, [("event", kind.into())], 0);
        }
        for extent in EXTENTS {
            for outcome in OUTCOMES {
                let labels = [("extent", extent.into()), ("outcome", outcome.into())];
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
            &families.lids_changed,
        ] {
            self.add(family, [], 0);
        }
    }

    /// The state that is shown; of one that is not served, none is.
    fn state(&self, state: Option<SmState>) {
        for (one, name) in STATES {
            let is_it = state.map(|state| usize::from(one == state));
            let labels = self.with([("state", name.into())]);
            self.families().state.set(&labels, is_it);
        }
    }

    /// It is not served, and nobody tells of it what was.
    fn ended(&self) {
        let families = self.families();
        families.served.set(&self.labels, Some(0));
        if let Some(shown) = self.all.sources().remove(&self.labels) {
            shown.ended();
        }
        self.state(None);
        for said in ["yes", "no"] {
            let labels = self.with([("in_sync", said.into())]);
            families.standbys.set(&labels, None);
        }
        families.protected.set(&self.labels, None);
        families.replica_in_sync.set(&self.labels, None);
        self.forget_subnet();
    }

    /// The subnet is another's to tell of.
    fn forget_subnet(&self) {
        let families = self.families();
        for what in NODES {
            let labels = self.with([("type", what.into())]);
            families.nodes.set(&labels, None);
        }
        for severity in SEVERITIES {
            let labels = self.with([("severity", severity.into())]);
            families.problems.set(&labels, None);
        }
        for family in [&families.links, &families.lids, &families.absent] {
            family.set(&self.labels, None);
        }
        families.last_clean_sweep.remove(&self.labels);
    }

    fn families(&self) -> &Families {
        &self.all.0.families
    }

    fn add<const N: usize>(&self, family: &Counters, more: [(&'static str, Label); N], count: u64) {
        family.get_or_create(&self.with(more)).inc_by(count);
    }

    fn with<const N: usize>(&self, more: [(&'static str, Label); N]) -> Labels {
        with(&self.labels, more)
    }
}

impl ServiceMetrics {
    /// Something happened.
    pub fn event(&mut self, event: &Event, role: SmState) {
        let of = &self.of;
        let families = of.families();
        if let Some(kind) = kind(event) {
            of.add(&families.events, [("event", kind.into())], 1);
        }
        if let Event::Role { state, .. } = event {
            of.state(Some(*state));
            of.add(&families.state_changes, [], 1);
            if *state != SmState::Master {
                of.forget_subnet();
                self.show_engine(None);
            }
        } else if let Event::Trap { number, .. } = event {
            let number = TRAPS.contains(number).then(|| number.to_string());
            let number = number.map_or(Label::Borrowed("other"), Label::Owned);
            of.add(&families.traps, [("number", number)], 1);
        } else if let Event::SweepDone(report) = event {
            self.sweep(report);
            if role == SmState::Master {
                self.show_subnet(report);
            }
        }
    }

    fn sweep(&self, report: &SweepReport) {
        let of = &self.of;
        let families = of.families();
        let extent = ("extent", EXTENTS[usize::from(report.local)].into());
        let outcome = match (report.failed, report.is_clean()) {
            (false, true) => 0,
            (false, false) => 1,
            (true, _) => 2,
        };
        let outcome = OUTCOMES[outcome];
        let took = of.with([extent.clone()]);
        let took = families.sweep_duration.get_or_create_owned(&took);
        took.observe(report.took.as_secs_f64());
        of.add(&families.sweeps, [extent, ("outcome", outcome.into())], 1);
        let sum = |count: fn(&SmpCount) -> u64| report.smps.values().map(count).sum();
        let smps = [sum(|smps| smps.gets), sum(|smps| smps.sets)];
        for (method, count) in METHODS.into_iter().zip(smps) {
            of.add(&families.sweep_smps, [("method", method.into())], count);
        }
        of.add(&families.sweep_smp_timeouts, [], sum(|smps| smps.timeouts));
        of.add(&families.lft_blocks_written, [], report.lft_blocks_written);
        let changed = u64::try_from(report.lids_changed).unwrap_or(u64::MAX);
        of.add(&families.lids_changed, [], changed);
    }

    /// What a master knows of the subnet.
    fn show_subnet(&mut self, report: &SweepReport) {
        let of = &self.of;
        let families = of.families();
        let nodes = [report.switches, report.cas, report.routers];
        for (what, count) in NODES.into_iter().zip(nodes) {
            let labels = of.with([("type", what.into())]);
            families.nodes.set(&labels, Some(count));
        }
        families.links.set(&of.labels, Some(report.links));
        families.lids.set(&of.labels, Some(report.lids));
        families.absent.set(&of.labels, Some(report.absent));
        if !report.local {
            // A sweep of a part tells of that part alone.
            let grave = report.problems.iter().filter(|p| p.kind.is_grave()).count();
            let counts = [grave, report.problems.len() - grave];
            for (severity, count) in SEVERITIES.into_iter().zip(counts) {
                let labels = of.with([("severity", severity.into())]);
                families.problems.set(&labels, Some(count));
            }
            if report.is_clean() {
                let now = SystemTime::now().duration_since(UNIX_EPOCH);
                let last = families.last_clean_sweep.get_or_create(&of.labels);
                last.set(now.unwrap_or_default().as_secs_f64());
            }
        }
        if !report.failed {
            self.show_engine(Some(report.engine).filter(|name| !name.is_empty()));
        }
    }

    fn show_engine(&mut self, engine: Option<&'static str>) {
        let before = core::mem::replace(&mut self.engine, engine);
        for (name, shown) in [(before, None), (engine, Some(1))] {
            let Some(name) = name else { continue };
            let labels = self.of.with([("engine", name.into())]);
            self.of.families().engine.set(&labels, shown);
        }
    }
}

impl Drop for ServiceMetrics {
    fn drop(&mut self) {
        self.show_engine(None);
        self.of.ended();
    }
}

/// What an event that an operator is told is counted as.
const fn kind(event: &Event) -> Option<&'static str> {
    Some(match event {
        Event::NoLink(_) => "no-link",
        Event::RoutingFailed(_) => "routing-failed",
        Event::Noticed(_) => "noticed",
        Event::NotHandedOver(_) => "not-handed-over",
        Event::Alarm(_) => "alarm",
        Event::Shortage(_) => "shortage",
        Event::NodeAdded(_) => "node-added",
        Event::NodeGone(_) => "node-gone",
        Event::LinkUp(..) => "link-up",
        Event::LinkDown(..) => "link-down",
        // Counted by themselves, or the end.
        Event::Phase(_)
        | Event::Durability(_)
        | Event::SweepDone(_)
        | Event::Role { .. }
        | Event::Trap { .. }
        | Event::Stopped { .. } => return None,
    })
}

fn with<const N: usize>(labels: &Labels, more: [(&'static str, Label); N]) -> Labels {
    labels.iter().cloned().chain(more).collect()
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::Ordering;

    use ferrosm_core::election::{self, RoleChangeReason};
    use ferrosm_core::event::{AboutSm, NoLinkReason, Notice};
    use ferrosm_core::plan::failure::RoutingFailure;
    use ferrosm_core::{Location, NodeName, PortName};
    use ferrosm_mad::attr::NodeDescription;
    use ferrosm_mad::ids::{NodeGuid, PortNum};
    use ferrosm_sa::registry::multicast::MlidExhaustion;

    use super::*;
    use crate::sa_server::Counters;

    fn role(state: SmState) -> Event {
        let why = AboutSm {
            what: RoleChangeReason::OperatorRequest,
            location: None,
        };
        Event::Role { state, why }
    }

    fn swept(local: bool, engine: &'static str) -> Event {
        Event::SweepDone(Box::new(SweepReport {
            local,
            engine,
            switches: 3,
            links: 7,
            ..SweepReport::default()
        }))
    }

    /// Lines that are no comments and have these words.
    fn lines(metrics: &Metrics, words: &str) -> Vec<String> {
        let text = metrics.text().unwrap();
        let lines = text.lines().filter(|l| !l.starts_with('#'));
        let mut lines: Vec<String> = lines
            .filter(|l| l.contains(words))
            .map(str::to_owned)
            .collect();
        lines.sort();
        lines
    }

    /// Each event is counted under a name that is there with 0 before.
    #[test]
    fn every_event_begins_with_0() {
        let about_sm = AboutSm {
            what: election::ElectionNotice::NoSuccessor,
            location: None,
        };
        let failure = RoutingFailure {
            adoption: None,
            engines: Vec::new(),
        };
        let node = NodeName {
            description: NodeDescription::default(),
            guid: NodeGuid(1),
        };
        let port = PortName {
            node: Some(node),
            port: PortNum(1),
        };
        let told = [
            Event::NoLink(NoLinkReason::LocalNodeUnknown),
            Event::RoutingFailed(failure),
            Event::Noticed(Notice::ProcessStalled),
            Event::NotHandedOver(about_sm),
            Event::Alarm(about_sm),
            Event::Shortage(MlidExhaustion::Shared { count: 1 }),
            Event::NodeAdded(node.guid),
            Event::NodeGone(node),
            Event::LinkUp(port, port),
            Event::LinkDown(port, port),
        ];
        let metrics = Metrics::default();
        let mut of = metrics
            .for_fabric(Some("a"))
            .start_service(Source::default());
        let before = lines(&metrics, "ferrosm_events_total");
        assert_eq!(before.len(), told.len());
        assert!(before.iter().all(|l| l.ends_with(" 0")), "{before:?}");
        for event in &told {
            of.event(event, SmState::Master);
        }
        let after = lines(&metrics, "ferrosm_events_total");
        assert_eq!(after.len(), told.len());
        assert!(after.iter().all(|l| l.ends_with(" 1")), "{after:?}");
    }

    /// What a node saw as master it does not go on to show; nor what a service was, after its end.
    #[test]
    fn the_subnet_is_shown_by_its_master_alone() {
        const SUBNET: [&str; 3] = ["ferrosm_links", "type=", "engine="];
        let metrics = Metrics::default();
        let mut of = metrics.for_fabric(None).start_service(Source::default());
        let shown = || SUBNET.map(|words| lines(&metrics, words).len());
        of.event(&swept(false, "updn"), SmState::Standby);
        assert_eq!(shown(), [0, 0, 0]);
        of.event(&role(SmState::Master), SmState::Master);
        of.event(&swept(false, "updn"), SmState::Master);
        of.event(&swept(true, "nue"), SmState::Master);
        assert_eq!(shown(), [1, 3, 1]);
        assert_eq!(
            lines(&metrics, "engine="),
            ["ferrosm_routing_engine{engine=\"nue\"} 1"]
        );
        let counts = "ferrosm_sweeps_total{extent=\"whole\",outcome=\"clean\"} 2";
        assert_eq!(
            lines(&metrics, "extent=\"whole\",outcome=\"clean\""),
            [counts]
        );
        of.event(&role(SmState::Standby), SmState::Standby);
        assert_eq!(shown(), [0, 0, 0]);
        of.event(&role(SmState::Master), SmState::Master);
        of.event(&swept(false, "updn"), SmState::Master);
        drop(of);
        assert_eq!(shown(), [0, 0, 0]);
        assert_eq!(lines(&metrics, "state="), Vec::<String>::new());
        assert_eq!(lines(&metrics, "ferrosm_served"), ["ferrosm_served{} 0"]);
    }

    /// Whoever may send a trap makes no series by it.
    #[test]
    fn traps_that_nobody_knows_are_one_series() {
        let metrics = Metrics::default();
        let mut of = metrics
            .for_fabric(Some("a"))
            .start_service(Source::default());
        for number in [128, 4000, 4001] {
            let place = Location::LocalNode;
            of.event(&Event::Trap { number, place }, SmState::Master);
        }
        assert_eq!(
            lines(&metrics, "traps_total"),
            [
                "ferrosm_traps_total{fabric=\"a\",number=\"128\"} 1",
                "ferrosm_traps_total{fabric=\"a\",number=\"other\"} 2",
            ]
        );
    }

    /// What is counted elsewhere is shown as long as it is there; what was shown before stays as it was.
    #[test]
    fn what_others_count_is_read_when_asked_for() {
        let metrics = Metrics::default();
        let answered = || lines(&metrics, "outcome=\"answered\"");
        let says =
            |n| format!("ferrosm_sa_requests_total{{fabric=\"a\",outcome=\"answered\"}} {n}");
        for life in 0..3 {
            // Each server counts from 0, and the page goes on.
            let counters = Arc::new(Counters::default());
            let source = Source::new(Some(Arc::downgrade(&counters)), None);
            let of = metrics.for_fabric(Some("a")).start_service(source);
            counters.answered.store(5, Ordering::Relaxed);
            assert_eq!(answered(), [says(5 + 7 * life)]);
            counters.answered.store(7, Ordering::Relaxed);
            assert_eq!(answered(), [says(7 + 7 * life)]);
            drop(counters);
            assert_eq!(answered(), [says(7 + 7 * life)]);
            drop(of);
            assert_eq!(answered(), [says(7 + 7 * life)]);
        }
    }
}
