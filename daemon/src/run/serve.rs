//! The SM service of `run` and `demo`: a subnet manager on a port, with its store, SA, replication
//! and commands.

use core::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use ferrosm_api::change::ChangeKind;
use ferrosm_core::config::partitions::Partitions;
use ferrosm_core::event::{News, NoLinkReason};
use ferrosm_core::report::foreign_settings;
use ferrosm_core::{Event, Progress, RestoredState, SmConfig, SubnetManager, SweepReport};
use ferrosm_mad::attr::SmState;
use ferrosm_recording::{RecordedManager, RecordingExtent};
use ferrosm_umad::libibumad::LocalPort;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tracing::{error, info, warn};

use super::other_ports::OtherPorts;
use crate::api;
use crate::api::access::ClientRoles;
use crate::api::alarms::AlarmThread;
use crate::api::changes::ChangeLog;
use crate::api::commands::CommandLog;
use crate::api::config::ConfigDesk;
use crate::api::events::EventLog;
use crate::api::intent::Intent;
use crate::api::published::Published;
use crate::api::start_plan::{MakePlan, StartPlanner};
use crate::api::sweep_log::SweepLog;
use crate::clock::Clock;
use crate::config::{self, ConfigSource, Settings};
use crate::failure::Failure;
use crate::metrics::{self, Metrics, ServiceMetrics};
use crate::notify::Notifier;
use crate::output::dump;
use crate::output::dump::worker::DumpWorker;
use crate::output::progress::{SweepBar, Terminal};
use crate::output::{self, json, log, report};
use crate::port::MadPort;
use crate::rings::ServiceRings;
use crate::run::capture::Capture;
use crate::run::config_keeper::{self, KeeperSetup, NewSettings, Overlay, log_messages};
use crate::run::driver::{Control, Driver, Reload, Shell};
use crate::run::recording::RecordingFile;
use crate::run::replication_link::ReplicationLink;
use crate::run::service_manager::ServiceManager;
use crate::run::signals::Signals;
use crate::sa_server::SaServer;
use ferrosm_store::{PersistRequest, StateDir, StateWriter};

/// Options of a service.
#[derive(Debug, Clone, Copy)]
pub struct ServeOptions {
    /// End with the first sweep.
    pub once: bool,
    /// Report as JSON on standard output.
    pub json: bool,
    /// Report as tables on standard output.
    pub tables: bool,
    /// Most outstanding SMPs that the port supports.
    pub window_limit: Option<usize>,
}

/// Everything that a service needs apart from its port.
pub struct ServiceSetup {
    pub settings: Settings,
    /// The state directory of the settings, locked; `None` without one.
    pub state: Option<StateDir>,
    /// The source of the settings, for reloads.
    pub source: ConfigSource,
    /// Command line flags, which override the source.
    pub overlay: Overlay,
    pub options: ServeOptions,
    /// The capture of MADs.
    pub capture: Option<Capture>,
    /// The recording of the subnet manager.
    pub recording: Option<RecordingFile>,
    /// The local port; `None` on a simulated fabric.
    pub local: Option<LocalPort>,
    /// Further ports of this host; `None` if the port is named.
    pub other_ports: Option<OtherPorts>,
    /// The SA server; `None` if the port has no QP1.
    pub sa_server: Option<SaServer>,
    /// Makes the plan of a start at the local port.
    pub make_plan: Arc<MakePlan>,
    /// Resources of the process.
    pub process: Process,
}

/// Resources of the process for a service.
pub struct Process {
    /// The runtime of the service, on this thread.
    pub runtime: Runtime,
    pub signals: Signals,
    /// The service manager that started this process.
    pub service: ServiceManager,
    /// Standard error.
    pub terminal: Terminal,
    pub log: log::Handle,
    pub metrics: Metrics,
    /// What the API answers from, and what it passes commands to.
    pub api: api::Service,
}

/// Serves until SIGTERM or SIGINT, or with `once` until the first sweep is done.
///
/// # Errors
/// If the state directory cannot be used, the port fails, or (with `once`) the fabric does not come
/// up.
pub fn serve<P: MadPort>(port: P, setup: ServiceSetup) -> Result<(), Failure> {
    let ServiceSetup {
        settings,
        state,
        source,
        overlay,
        options,
        capture,
        recording,
        local,
        other_ports,
        sa_server,
        make_plan,
        process,
    } = setup;
    let Process {
        runtime,
        signals,
        service,
        terminal,
        log,
        metrics,
        api,
    } = process;
    log_messages(&settings.warnings);
    let state_dir = state.as_ref().map(|dir| dir.path().to_owned());
    let (writer, mut restored, may_be_incomplete) = match state {
        Some(mut dir) => {
            let restored = dir.restored();
            let may_be_incomplete = dir.may_be_incomplete();
            let writer = dir.writer().map_err(|e| {
                Failure::runtime(format!("cannot start the thread for state files: {e}"))
            })?;
            (Some(Arc::new(writer)), restored, may_be_incomplete)
        }
        None => (None, RestoredState::default(), false),
    };
    if let Some(dir) = &settings.dump_dir {
        // An error is reported now rather than after the first sweep.
        dump::make_dir(dir)?;
    }
    let durable = writer
        .as_ref()
        .map(|writer| Arc::clone(writer.durability()));
    let link = start_replication(&settings, local.as_ref(), writer.as_ref())?;
    let counts = sa_server.as_ref().map(|a| a.counters());
    api.sa_clients.serve(sa_server.as_ref());
    let replication = link.as_ref().map(|link| Arc::downgrade(link.replication()));
    let metrics = metrics.start_service(metrics::MetricsSource::new(
        counts.map(Arc::downgrade),
        replication.clone(),
    ));
    let published = api.published.clone();
    published.configuration(&settings.sm);
    published.expect(settings.health_expect);
    published.declare(Intent::of(&settings));
    if !options.once {
        api.notifier.configure(settings.notify_targets());
        api.start_planner.serve(settings.clone(), make_plan);
    }
    api.commands.report_to(&api.changes);
    let kept_in = writer.as_ref().and(settings.state_dir.as_deref());
    let alarm_thread = (!options.once)
        .then(|| AlarmThread::start(api.followed(), kept_in, replication))
        .flatten();
    service.set_ready();
    let heartbeat = service.supervise_loop();
    let (new_settings, settings_inbox) = std::sync::mpsc::channel();
    let (control, control_inbox) = mpsc::channel(16);
    let names_files = source.path().is_some() || settings.names_input_files();
    let keeper = KeeperSetup {
        source,
        settings: settings.clone(),
        overlay,
        state_dir: state_dir.filter(|_| !options.once),
        service: service.clone(),
        api: api.clone(),
        control: control.clone(),
        new_settings,
    };
    config_keeper::start(keeper).map_err(|e| {
        Failure::runtime(format!(
            "cannot start the thread for the configuration: {e}"
        ))
    })?;
    let shell = ServiceShell {
        service,
        other_ports,
        capture,
        rings: api.rings.clone(),
        options,
        writer,
        dumps: DumpWorker::default(),
        config: names_files.then(|| api.config.clone()),
        settings_inbox,
        running: settings.clone(),
        metrics,
        published,
        start_planner: api.start_planner.clone(),
        events: api.events.clone(),
        notifier: api.notifier.clone(),
        client_roles: api.client_roles.clone(),
        changes: api.changes.clone(),
        sweeps: api.sweeps.clone(),
        commands: api.commands.clone(),
        bar: terminal.bar(),
        log,
        engine: "",
        news: News::default(),
    };
    let result = runtime.block_on(async {
        signals.forward_to(control.clone());
        watch_device(local.as_ref(), &control);
        if may_be_incomplete
            && let Some(link) = &link
            && let Some(newest) = link.load_at_startup().await
        {
            restored = newest;
        }
        let clock = Clock::start();
        let cfg = limited(settings.sm, options.window_limit);
        let sm = match recording {
            Some(file) => {
                let source =
                    local.map_or_else(|| "a simulated fabric".to_owned(), |l| l.to_string());
                let extent = RecordingExtent::Everything;
                let file = Box::new(file);
                RecordedManager::record(cfg, restored, clock.now(), source, extent, file)
            }
            None => match api.rings.recorder() {
                Some(sink) => {
                    let source = "a service".to_owned();
                    let extent = RecordingExtent::Traffic;
                    let sink = Box::new(sink);
                    RecordedManager::record(cfg, restored, clock.now(), source, extent, sink)
                }
                None => SubnetManager::new(cfg, restored, clock.now()).into(),
            },
        };
        let driver = Driver::new(sm, clock, port, shell, control_inbox);
        let mut driver = driver
            .with_sa_server(sa_server)
            .with_heartbeat(heartbeat)
            .with_durability(durable)
            .with_replication(link)
            .with_requests(api.accept_commands(), api.commands.clone())
            .with_registry_reads(api.registrations.accept_reads());
        let end_state = driver.run().await;
        drop(control);
        api.refuse_commands();
        api.config.refuse();
        api.commands.end_all();
        let shell = driver.into_shell();
        shell.bar.clear();
        end_state.map_err(|e| {
            Failure::with_hint(
                format!("the port failed: {e}: {}", e.source),
                "The device was removed or its driver restarted, or its firmware failed: see `dmesg`, then start ferrosm again.",
            )
        })?
    });
    drop(alarm_thread);
    // Does not wait for routing jobs, or for dumps on a disk that hangs.
    runtime.shutdown_background();
    result
}

/// Replication, if configured.
fn start_replication(
    settings: &Settings,
    local: Option<&LocalPort>,
    writer: Option<&Arc<StateWriter>>,
) -> Result<Option<ReplicationLink>, Failure> {
    let Some(replication) = settings.replication() else {
        return Ok(None);
    };
    let Some(writer) = writer else {
        return Err(Failure::with_hint(
            "replication needs a state directory",
            "Name one with --state-dir or files.state-dir.",
        ));
    };
    let Some(local) = local else {
        return Err(Failure::with_hint(
            "replication needs a port of a channel adapter",
            "A simulated fabric inside this process has no other SM.",
        ));
    };
    let priority = settings.sm.priority;
    let writer = Arc::clone(writer);
    ReplicationLink::start(replication, local.port_guid, priority, writer).map(Some)
}

/// Receives asynchronous events of the port's device (feature `verbs`).
fn watch_device(local: Option<&LocalPort>, control: &mpsc::Sender<Control>) {
    #[cfg(feature = "verbs")]
    if let Some(local) = local {
        crate::run::verbs::watch(&local.ca, local.port_num, control.clone());
    }
    #[cfg(not(feature = "verbs"))]
    let _ = (local, control);
}

/// Limits outstanding SMPs to what the port supports.
fn limited(mut cfg: SmConfig, window_limit: Option<usize>) -> SmConfig {
    cfg.max_outstanding = cfg.max_outstanding.min(window_limit.unwrap_or(usize::MAX));
    cfg
}

/// The environment of the SM in a service.
struct ServiceShell {
    service: ServiceManager,
    /// See [`ServiceSetup::other_ports`].
    other_ports: Option<OtherPorts>,
    capture: Option<Capture>,
    rings: ServiceRings,
    options: ServeOptions,
    writer: Option<Arc<StateWriter>>,
    /// Writes dumps on its own thread.
    dumps: DumpWorker,
    /// The keeper of the configuration; `None` without a file to read.
    config: Option<ConfigDesk>,
    /// Settings of the keeper.
    settings_inbox: std::sync::mpsc::Receiver<NewSettings>,
    /// The settings in force.
    running: Settings,
    metrics: ServiceMetrics,
    published: Published,
    start_planner: StartPlanner,
    events: EventLog,
    notifier: Notifier,
    client_roles: ClientRoles,
    changes: ChangeLog,
    sweeps: SweepLog,
    commands: CommandLog,
    bar: SweepBar,
    log: log::Handle,
    /// The engine of the last routed sweep; empty before it.
    engine: &'static str,
    news: News,
}

/// The result of a service.
type End = Result<(), Failure>;

impl Shell for ServiceShell {
    type End = End;

    #[allow(
        clippy::wildcard_enum_match_arm,
        reason = "other events are only reported"
    )]
    fn event(&mut self, event: Event, sm: &SubnetManager) -> ControlFlow<End> {
        self.metrics.event(&event);
        self.publish(&event, sm);
        if let Some(status) = status_after(&event, sm.role()) {
            self.service.set_status(status);
        }
        match &event {
            Event::SweepCompleted(report) => {
                self.bar.clear();
                self.log_engine_change(report);
                if let Some(local) = sm.fabric().local() {
                    let lid = sm.fabric().lid(local);
                    self.rings.set_local_lid(lid);
                    if let Some(capture) = &self.capture {
                        capture.set_local_lid(lid);
                    }
                }
                if !self.options.once {
                    self.report(&event);
                }
                if let Some(others) = &self.other_ports {
                    others.report_in_subnet(sm);
                }
                if let Err(e) = self.sweep_done(report, sm) {
                    if self.options.once {
                        return ControlFlow::Break(Err(e));
                    }
                    error!(error = e.to_log_line(), "cannot write sweep report");
                }
                if self.options.once {
                    return ControlFlow::Break(once_result(report));
                }
            }
            Event::LocalPortUnusable(why) if self.options.once => {
                let hint = match why {
                    NoLinkReason::PortDown(_) => {
                        "Plug in a cable, or choose another port: `ferrosm ports --local` lists them."
                    }
                    NoLinkReason::PortSilent(_)
                    | NoLinkReason::NeighbourSilent(_)
                    | NoLinkReason::LocalNodeSilent => {
                        "If another SM protects the port with an M_Key, set subnet.m-key to it. Otherwise restart the HCA's driver."
                    }
                    NoLinkReason::LocalNodeImplausible(_) | NoLinkReason::LocalNodeUnknown => {
                        "Check the HCA and its firmware, or choose another port: `ferrosm ports --local` lists them."
                    }
                };
                return ControlFlow::Break(Err(Failure::with_hint(
                    format!("local port unusable: {why}"),
                    hint,
                )));
            }
            Event::RoutingFailed(why) if self.options.once => {
                return ControlFlow::Break(Err(Failure::runtime(format!("no routing: {why}"))));
            }
            Event::RoleChanged {
                state: SmState::Standby,
                why,
            } if self.options.once => {
                return ControlFlow::Break(Err(not_master(&why.to_string())));
            }
            Event::Stopped { .. } => {
                self.report(&event);
                return ControlFlow::Break(self.stop(sm));
            }
            _ => self.report(&event),
        }
        ControlFlow::Continue(())
    }

    fn persist(&mut self, request: PersistRequest) -> Option<u64> {
        self.writer
            .as_ref()
            .and_then(|writer| writer.submit(request))
    }

    fn reload(&mut self) -> Reload {
        match &self.config {
            Some(config) => {
                config.request_reload();
                Reload::NoEffect
            }
            None => {
                info!("no configuration file to reload");
                Reload::Unchanged
            }
        }
    }

    fn configure(&mut self) -> Reload {
        let Ok(new) = self.settings_inbox.try_recv() else {
            return Reload::NoEffect;
        };
        let reload = self.put_in_force(new.settings);
        // The keeper waits, unless the process ends.
        let _ = new.done.send(self.running.clone());
        match reload {
            Reload::Unchanged if !new.sweeps => Reload::NoEffect,
            Reload::Unchanged | Reload::NoEffect | Reload::Changed(_) => reload,
        }
    }

    fn hands_over(&self) -> bool {
        !self.options.once
    }

    fn stopping(&mut self) {
        self.service.set_stopping();
    }

    fn stop(&mut self, sm: &SubnetManager) -> End {
        info!(role = %sm.role(), "stopping");
        if self.options.once {
            return Err(Failure::runtime("interrupted before the subnet was up"));
        }
        Ok(())
    }

    fn tick(&mut self, progress: Progress) {
        self.published.activity(progress.activity);
        self.bar.show(progress);
        if let Some(capture) = &self.capture {
            capture.flush();
        }
    }
}

impl ServiceShell {
    /// Publishes what an event changes for the API.
    #[allow(
        clippy::wildcard_enum_match_arm,
        reason = "other events change nothing that the API answers"
    )]
    fn publish(&self, event: &Event, sm: &SubnetManager) {
        self.published.activity(sm.activity());
        match event {
            Event::SweepCompleted(report) => {
                self.published.changes(sm);
                self.published.sweep_completed(report, sm);
            }
            Event::RoleChanged { state, why } => {
                self.published.changes(sm);
                self.published.role_changed(*state, why.to_string(), sm);
            }
            Event::PartitionAdded { .. }
            | Event::PartitionRemoved { .. }
            | Event::MaintenanceBegan { .. }
            | Event::MaintenanceEnded { .. }
            | Event::PortLimitsSet(_)
            | Event::PortLimitsEnded(_) => self.published.changes(sm),
            Event::MKeyRotated | Event::SmKeyRotated | Event::Election(_) => {
                self.published.keys(sm)
            }
            Event::LocalPortUnusable(why) => self.published.local_port(Some(why.to_string())),
            Event::LocalPortUsable(_) => self.published.local_port(None),
            Event::ConsentAwaited { foreign, .. } => {
                self.published
                    .consent(Some(foreign_settings::describe(foreign)));
            }
            Event::ConsentGiven => self.published.consent(None),
            Event::ProblemFound(problem) => self.published.problem_found(problem),
            Event::LinkFlapping(flaps) => self.published.link_flaps(flaps),
            Event::LinkStable(ends) => self.published.link_stable(*ends),
            Event::LinkInterrupted(a, b) => self.published.link_interrupted([*a, *b]),
            Event::RoutingFailed(failure) => self.published.routing_failed(failure.to_string()),
            _ => {}
        }
    }

    /// Logs and counts an event, unless it repeats what is known.
    fn report(&mut self, event: &Event) {
        let metrics = &self.metrics;
        let events = &self.events;
        let changes = &self.changes;
        self.sweeps.on_event(event, &self.commands);
        self.news.report(event, &mut |event, severity| {
            metrics.count_event(event, severity);
            let number = events.add(event, severity);
            changes.on_event(event, number);
            log::event(event, severity);
        });
    }

    /// Logs that another engine than after the last sweep routes the fabric.
    fn log_engine_change(&mut self, report: &SweepReport) {
        let engine = report.engine;
        if engine.is_empty() {
            return;
        }
        let last = core::mem::replace(&mut self.engine, engine);
        if last != engine && !last.is_empty() {
            let reason = reason_for_engine(report);
            info!(from = last, to = engine, reason, "routing engine changed");
        }
    }

    /// Applies new settings, and logs what changed.
    fn put_in_force(&mut self, settings: Settings) -> Reload {
        let changes = config::changes(&self.running, &settings);
        let old = &self.running.sm;
        let new = &settings.sm;
        let hints_changed = new.hints != old.hints;
        let partitions_changed = new.partitions != old.partitions;
        let paths_changed = new.qos != old.qos || new.prefix_routes != old.prefix_routes;
        let plan_changed = self.running.cabling_plan != settings.cabling_plan;
        if plan_changed {
            info!("plan of the cables changed");
        }
        if hints_changed {
            info!("routing input files changed");
        }
        if partitions_changed {
            info!(
                partitions = partition_names(&new.partitions),
                "partition configuration changed"
            );
        }
        if paths_changed {
            info!("QoS policy or prefix routes changed");
        }
        log_messages(&settings.warnings);
        let is_unchanged = changes.live.is_empty() && changes.restart.is_empty();
        let files_changed = hints_changed || partitions_changed || paths_changed || plan_changed;
        if is_unchanged && !files_changed {
            info!("configuration unchanged");
            // Comments may have changed.
            self.running = config::in_force(&self.running, settings);
            return Reload::Unchanged;
        }
        if !changes.live.is_empty() {
            info!(keys = changes.live.join(", "), "configuration applied");
        }
        self.add_config_change(&changes.live, &new.partitions, partitions_changed);
        if !changes.restart.is_empty() {
            warn!(
                keys = changes.restart.join(", "),
                "configuration change needs a restart"
            );
        }
        self.running = config::in_force(&self.running, settings);
        self.published.configuration(&self.running.sm);
        self.published.expect(self.running.health_expect);
        self.published.declare(Intent::of(&self.running));
        self.start_planner.configure(&self.running);
        let clients = self.running.api_clients.clone();
        self.client_roles.configure(clients);
        if !self.options.once {
            self.notifier.configure(self.running.notify_targets());
        }
        self.log.set_level(&self.running.log.level);
        let sm = self.running.sm.clone();
        Reload::Changed(Box::new(limited(sm, self.options.window_limit)))
    }

    fn add_config_change(&self, keys: &[&str], partitions: &Partitions, is_of_partitions: bool) {
        let mut parts = Vec::new();
        if !keys.is_empty() {
            parts.push(keys.join(", "));
        }
        if is_of_partitions {
            parts.push(format!("partitions {}", partition_names(partitions)));
        }
        if parts.is_empty() {
            parts.push("input files".to_owned());
        }
        let what = format!("configuration applied: {}", parts.join("; "));
        let cause = "reload".to_owned();
        self.changes.add(ChangeKind::Config, what, cause, None);
    }

    fn sweep_done(&mut self, report: &SweepReport, sm: &SubnetManager) -> Result<(), Failure> {
        if self.options.json {
            output::print(&json::to_line(&json::sweep::document(report)))?;
        } else if self.options.tables {
            output::print(&report::render(report))?;
            if report.number == 1 && !self.options.once {
                info!("running until SIGINT or SIGTERM");
            }
        }
        if let Some(dir) = self.running.dump_dir.clone().filter(|_| report.is_clean()) {
            self.dump(sm, dir)?;
        }
        Ok(())
    }

    /// Writes the dumps: with `once` on this thread, otherwise on that of the dump worker.
    fn dump(&self, sm: &SubnetManager, dir: PathBuf) -> Result<(), Failure> {
        // The published snapshot may be older: from before ports were activated.
        let published = sm.view().map(|view| &***view);
        let snapshot = sm.snapshot(published);
        if self.options.once {
            dump::write(&snapshot, &dir, dump::Extent::Full)?;
        } else {
            self.dumps.write(snapshot, dir);
        }
        Ok(())
    }
}

/// The status of the service after an event that changes it.
#[allow(
    clippy::wildcard_enum_match_arm,
    reason = "other events do not change the status"
)]
fn status_after(event: &Event, role: SmState) -> Option<String> {
    match event {
        Event::SweepCompleted(report) => Some(format!(
            "{role}: {}, {}, {}{}",
            output::table::count(report.switches, "switch", "switches"),
            output::table::count(report.cas, "CA", "CAs"),
            output::table::count(report.num_severe(), "problem", "problems"),
            if report.is_local() {
                " in a local sweep"
            } else {
                ""
            },
        )),
        Event::RoleChanged { state, why } => Some(format!("{state}: {why}")),
        Event::LocalPortUnusable(why) => Some(format!("local port unusable: {why}")),
        Event::LocalPortUsable(_) => Some(format!("{role}: link up")),
        _ => None,
    }
}

/// Most partitions that a log event names.
const PARTITIONS_NAMED: usize = 8;

/// The names of partitions, for the log.
pub(super) fn partition_names(partitions: &Partitions) -> String {
    let list = partitions.list();
    let named = list.iter().rev().take(PARTITIONS_NAMED);
    let mut names = named.map(|p| &*p.name).collect::<Vec<_>>().join(", ");
    if list.len() > PARTITIONS_NAMED {
        names.push_str(&format!(" and {} more", list.len() - PARTITIONS_NAMED));
    }
    names
}

/// Why a sweep uses another engine than the one before.
fn reason_for_engine(report: &SweepReport) -> String {
    let texts = |kind: &str| {
        let texts: Vec<String> = report
            .routing_messages
            .iter()
            .filter(|m| m.kind() == kind)
            .map(ToString::to_string)
            .collect();
        texts.join("; ")
    };
    ["engines-compared", "engine-rejected", "structure"]
        .into_iter()
        .map(texts)
        .find(|text| !text.is_empty())
        .unwrap_or_else(|| "the first engine of routing.engines works".to_owned())
}

fn not_master(reason: &str) -> Failure {
    Failure::with_hint(
        format!("another subnet manager is master and has not handed over: {reason}"),
        "Stop it, or run this one without --once: a master hands over to an SM with a higher priority.",
    )
}

/// The result of `--once`.
fn once_result(report: &SweepReport) -> Result<(), Failure> {
    if report.role != SmState::Master {
        return Err(not_master(&format!("this one is {}", report.role)));
    }
    if report.is_clean() {
        return Ok(());
    }
    Err(Failure::with_hint(
        format!(
            "the subnet is not fully up: {}",
            output::table::count(report.num_severe(), "problem", "problems")
        ),
        report::problem_lines(&report.problems).join("\n  "),
    ))
}

#[cfg(test)]
mod tests {
    use ferrosm_core::config::partitions::{Enforcement, Partition};
    use ferrosm_core::report::routing_message::RoutingMessage;

    use super::*;

    #[test]
    fn partitions_are_named_up_to_a_limit() {
        let partitions = |count: u16| {
            let list = (1..=count).map(|number| Partition {
                name: format!("p{number}"),
                number,
                ..Partition::default()
            });
            Partitions::new(list.collect(), Enforcement::Off, false).unwrap()
        };
        assert_eq!(partition_names(&Partitions::default()), "Default");
        assert_eq!(partition_names(&partitions(1)), "Default, p1");
        let many = partition_names(&partitions(20));
        assert!(many.starts_with("Default, p20, p19, "), "{many}");
        assert!(many.ends_with(" and 13 more"), "{many}");
    }

    #[test]
    fn change_of_the_engine_has_a_reason() {
        let mut report = SweepReport {
            engine: "updn",
            ..SweepReport::default()
        };
        let default = reason_for_engine(&report);
        assert_eq!(default, "the first engine of routing.engines works");
        // Other messages are no reason.
        let other = RoutingMessage::StagedUpdate { stages: 2 };
        report.routing_messages.push(other);
        assert_eq!(reason_for_engine(&report), default);
    }
}
