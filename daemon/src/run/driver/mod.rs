//! The loop that owns a [`SubnetManager`] and executes its outputs.
//!
//! It runs on one thread. It passes received MADs, timers, results and commands to the SM, sends
//! MADs, runs routing jobs on a thread pool, and passes events and records to the [`Shell`]. It
//! makes no decision about the fabric.

mod commands;
mod setup;

use core::ops::ControlFlow;
use core::time::Duration;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use ferrosm_core::config::maintenance::Maintenance;
use ferrosm_core::{
    ActivityKind, Command, Event, Input, LoadedReplica, LocalPortEvent, OperatorChange, Output,
    PeerEvent, Persisted, Progress, ReplicaEvent, RoutingJobResult, SmConfig, SubnetManager,
};
use ferrosm_mad::attr::SmState;
use ferrosm_mad::gmp::Peer;
use ferrosm_mad::mad::MadOut;
use ferrosm_mad::time::Instant;
use ferrosm_recording::RecordedManager;
use ferrosm_umad::transport::{Received, TransportError};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tracing::{debug, info, warn};

use crate::api::commands::{CommandRequest, PlanRequest, SmRequest};
use crate::api::group::RegistryReads;
use crate::clock::{Clock, since_boot};
use crate::port::MadPort;
use crate::run::replication_link::{LIVENESS_INTERVAL, ReplicationLink};
use crate::run::service_manager::Heartbeat;
use crate::sa_server::SaServer;
use ferrosm_store::{DurabilityTracker, PersistRequest};

use commands::CommandClients;

/// Most MADs received before outputs are executed, so that the SMP window stays full.
const BATCH: usize = 64;
/// Most replies that wait for durable state; while so many wait, requests stay in the queue of the
/// SA server.
const WAITING_REPLIES_MAX: usize = 4096;
/// Rounds before the loop yields to other tasks of the runtime.
const ROUNDS: u32 = 32;
/// Interval of progress reports.
const TICK: Duration = Duration::from_millis(100);
/// Time within which a stop must complete.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);
/// Interval of log events about failed sends and dropped MADs.
const REPORT: Duration = Duration::from_secs(10);

/// A signal, or an event of the local device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// Stop, with a handover if another SM can take over. A second one stops at once.
    Stop,
    /// Reload the configuration.
    Reload,
    /// The shell has new settings.
    Configure,
    /// Compute routes without regard to the installed ones.
    Reroute,
    /// An asynchronous event of the local port.
    Port(LocalPortEvent),
}

/// Result of a configuration reload.
#[derive(Debug)]
pub enum Reload {
    /// The settings in force stay: the file is invalid, or will be read.
    NoEffect,
    /// Nothing changed, or there is no file to read; a sweep follows.
    Unchanged,
    /// New settings of the SM.
    Changed(Box<SmConfig>),
}

/// The environment of the SM: log, store, configuration, terminal.
pub trait Shell {
    /// The result of [`Driver::run`].
    type End;

    /// Reports an event. `Break` ends the driver.
    fn event(&mut self, event: Event, sm: &SubnetManager) -> ControlFlow<Self::End>;

    /// Passes a batch to the store, if there is one. Returns its ticket, which replies wait for
    /// ([`Driver::with_durability`]).
    fn persist(&mut self, _request: PersistRequest) -> Option<u64> {
        None
    }

    /// Reloads the configuration, if the shell can.
    fn reload(&mut self) -> Reload {
        Reload::NoEffect
    }

    /// Puts settings in force that the shell has received.
    fn configure(&mut self) -> Reload {
        Reload::NoEffect
    }

    /// A stop begins.
    fn stopping(&mut self) {}

    /// Whether a stop hands over mastership.
    fn hands_over(&self) -> bool {
        false
    }

    /// The result of a stop.
    fn stop(&mut self, sm: &SubnetManager) -> Self::End;

    /// Reports progress, about ten times a second.
    fn tick(&mut self, progress: Progress);
}

/// The driver.
pub struct Driver<P, S> {
    sm: RecordedManager,
    port: P,
    shell: S,
    control: mpsc::Receiver<Control>,
    /// Commands of clients; `None` without an API, or after it is closed.
    requests: Option<mpsc::Receiver<SmRequest>>,
    registry_reads: Option<RegistryReads>,
    jobs: JoinSet<JobEnd>,
    sa_server: Option<SaServer>,
    /// Tickets of the store that are durable.
    durable: Option<Arc<DurabilityTracker>>,
    replication: Option<ReplicationLink>,
    /// Batches that are not durable yet: number, and ticket of the store.
    tickets: VecDeque<(u64, u64)>,
    /// Batches that are durable.
    persisted: Persisted,
    /// `persisted` includes batches that were not reported.
    has_unreported_batches: bool,
    clock: Clock,
    /// This loop, as the service manager watches it.
    heartbeat: Option<Heartbeat>,
    beat_due: Option<Instant>,
    next_tick: Instant,
    /// The activity of the last progress report.
    shown_activity: Option<ActivityKind>,
    send_errors: SendErrors,
    /// When a stop is abandoned and the driver ends.
    stop_deadline: Option<Instant>,
    /// Time since boot of the last iteration, suspension included.
    last_turn: Option<Duration>,
    commands: CommandClients,
}

/// A routing job has ended.
struct JobEnd {
    /// `None` if it was abandoned.
    result: Option<RoutingJobResult>,
    /// The clock may have limited it, so that a replay may get another result.
    was_limited: bool,
}

/// Failed sends and dropped MADs, logged at intervals.
#[derive(Debug, Default)]
struct SendErrors {
    failed_sends: u64,
    logged_failed: u64,
    logged_dropped: u64,
    last_error: String,
    next: Instant,
}

/// What arrives next. Without a channel, or when its senders are gone, nothing does.
async fn received<T>(channel: &mut Option<mpsc::Receiver<T>>) -> T {
    if let Some(channel) = channel
        && let Some(message) = channel.recv().await
    {
        return message;
    }
    core::future::pending().await
}

impl<P: MadPort, S: Shell> Driver<P, S> {
    /// A driver of `sm`, whose clock is `clock`.
    pub fn new(
        sm: impl Into<RecordedManager>,
        clock: Clock,
        port: P,
        shell: S,
        control: mpsc::Receiver<Control>,
    ) -> Self {
        Self {
            sm: sm.into(),
            port,
            shell,
            control,
            requests: None,
            registry_reads: None,
            jobs: JoinSet::new(),
            sa_server: None,
            durable: None,
            replication: None,
            tickets: VecDeque::new(),
            persisted: Persisted::default(),
            has_unreported_batches: false,
            clock,
            heartbeat: None,
            beat_due: None,
            next_tick: Instant::START,
            shown_activity: None,
            send_errors: SendErrors::default(),
            stop_deadline: None,
            last_turn: None,
            commands: CommandClients::default(),
        }
    }

    /// Runs until the shell ends it.
    ///
    /// # Errors
    /// If the port's device is gone, or the SA server has failed: no SM without SA.
    pub async fn run(&mut self) -> Result<S::End, TransportError> {
        let mut rounds = 0;
        let mut flow = self.execute_outputs()?;
        loop {
            if let ControlFlow::Break(end) = flow {
                return Ok(end);
            }
            let failure = self.sa_server.as_ref().and_then(SaServer::take_failure);
            if let Some(error) = failure {
                return Err(error);
            }
            let mut busy = self.take_replication_input() | self.take_mads()? | self.take_gmps();
            while let Some(done) = self.jobs.try_join_next() {
                self.on_job(done);
                busy = true;
            }
            while let Ok(control) = self.control.try_recv() {
                if let ControlFlow::Break(end) = self.on_control(control) {
                    return Ok(end);
                }
                busy = true;
            }
            while let Some(request) = self.requests.as_mut().and_then(|r| r.try_recv().ok()) {
                self.on_request(request);
                busy = true;
            }
            let read = self.registry_reads.as_mut();
            if let Some(answer) = read.and_then(|reads| reads.try_recv().ok()) {
                drop(answer.send(self.sm.registry_snapshot()));
            }
            let now = self.clock.now();
            if self.sm.poll_timeout().is_some_and(|t| t <= now) {
                self.sm.handle(Input::Timeout, now);
                busy = true;
            }
            busy |= now >= self.next_tick && self.end_maintenance_if_due();
            flow = self.execute_outputs()?;
            if let Some(sa_server) = &mut self.sa_server {
                sa_server.publish_if_due(|| self.sm.registry_snapshot(), &self.clock);
            }
            if flow.is_break() {
                continue;
            }
            if self.stop_deadline.is_some_and(|until| until <= now) {
                warn!("handover not confirmed in time");
                return Ok(self.shell.stop(&self.sm));
            }
            self.tick(now);
            self.beat_if_due(now);
            if !busy {
                rounds = 0;
                if let ControlFlow::Break(end) = self.wait().await {
                    return Ok(end);
                }
            } else if rounds == ROUNDS {
                rounds = 0;
                tokio::task::yield_now().await;
            } else {
                rounds += 1;
            }
        }
    }

    /// The subnet manager.
    #[must_use]
    pub fn sm(&self) -> &SubnetManager {
        &self.sm
    }

    /// The shell, when the driver has ended.
    #[must_use]
    pub fn into_shell(self) -> S {
        self.shell
    }

    fn take_mads(&mut self) -> Result<bool, TransportError> {
        let now = self.clock.now();
        for n in 0..BATCH {
            let input = match self.port.try_receive()? {
                Received::Mad(mad) => Input::Mad(mad),
                Received::SendFailed(tid) => Input::SendFailed(tid),
                Received::TimedOut => return Ok(n > 0),
            };
            self.sm.handle(input, now);
        }
        Ok(true)
    }

    /// Takes an input of replication, and reports to replication that this loop runs.
    fn take_replication_input(&mut self) -> bool {
        let stalled = self.has_stalled();
        let Some(replication) = &mut self.replication else {
            return false;
        };
        self.last_turn = Some(since_boot());
        let now = self.clock.now();
        replication.report_alive(self.sm.disk_wait(now));
        let input = replication.try_next_input(&|guid| self.sm.describe_sm(guid));
        if stalled {
            // Before inputs that arrived during the stall.
            self.on_stalled();
        }
        let busy = input.is_some();
        if let Some(input) = input {
            self.sm.handle(input, self.clock.now());
        }
        busy
    }

    /// This process stalled: another SM may be master.
    fn on_stalled(&mut self) {
        let stalled = Input::Peer(PeerEvent::Stalled);
        self.sm.handle(stalled, self.clock.now());
    }

    /// Whether this process stalled for longer than the limit since the iteration began.
    fn has_stalled(&mut self) -> bool {
        let now = since_boot();
        let limit = self.replication.as_ref().map(ReplicationLink::stall_limit);
        let since = self.last_turn.map(|last| now.saturating_sub(last));
        let has_stalled = since.zip(limit).is_some_and(|(since, limit)| since > limit);
        if has_stalled {
            self.last_turn = Some(now);
        }
        has_stalled
    }

    /// Takes SA requests that need the registry.
    fn take_gmps(&mut self) -> bool {
        let Some(sa_server) = &self.sa_server else {
            return false;
        };
        let now = self.clock.now();
        let room = WAITING_REPLIES_MAX.saturating_sub(self.sm.waiting_replies());
        let requests = sa_server.take_requests(BATCH.min(room));
        let busy = !requests.is_empty();
        for (from, bytes) in requests {
            self.sm.handle(Input::Gmp { from, bytes }, now);
        }
        busy
    }

    fn execute_outputs(&mut self) -> Result<ControlFlow<S::End>, TransportError> {
        self.report_persisted();
        if let Some(sa_server) = &self.sa_server {
            // Before replies to registrations are sent.
            sa_server.update_from(&self.sm);
        }
        while let Some(output) = self.next_output() {
            match output {
                Output::Send(mad) => self.send_mad(&mad)?,
                Output::Compute(job) => {
                    // A job cancelled by the clock could not be replayed: in a run that is
                    // recorded by `--record` only its work units limit it.
                    let cancel = job.cancel.clone();
                    if !self.sm.needs_replayable_jobs() {
                        let budget = job.budget;
                        let cancel = job.cancel.clone();
                        tokio::spawn(async move {
                            tokio::time::sleep(budget).await;
                            cancel.cancel();
                        });
                    }
                    self.jobs.spawn_blocking(move || {
                        let result = job.run();
                        let was_limited = cancel.is_cancelled();
                        JobEnd {
                            result,
                            was_limited,
                        }
                    });
                }
                Output::Gmp {
                    to,
                    bytes,
                    answer_within,
                } => self.send(&to, &bytes, answer_within),
                Output::LoadReplica { load } => self.load_replica(load),
                Output::Replicate(role) => {
                    if let Some(replication) = &self.replication {
                        replication.set_role(role);
                    }
                }
                Output::Publish(view) => {
                    if let Some(sa_server) = &self.sa_server {
                        sa_server.publish(view);
                    }
                }
                Output::Persist { seq, updates } => {
                    self.persist(seq, PersistRequest::Updates(updates))
                }
                Output::PersistSnapshot { seq, snapshot } => {
                    self.persist(seq, PersistRequest::View(snapshot))
                }
                Output::CommandReply { id, reply } => self.commands.on_reply(id, reply),
                Output::Event(event) => {
                    let flow = self.shell.event(event, &self.sm);
                    if flow.is_break() {
                        self.persist_last_batches();
                        return Ok(flow);
                    }
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The next output. Batches that no store writes count as durable together, when the outputs
    /// before are executed.
    fn next_output(&mut self) -> Option<Output> {
        let output = self.sm.poll_output();
        if output.is_some() || !core::mem::take(&mut self.has_unreported_batches) {
            return output;
        }
        let input = Input::Persisted(self.persisted);
        self.sm.handle(input, self.clock.now());
        self.sm.poll_output()
    }

    /// Loads the replica for a takeover. Without replication, there is none.
    fn load_replica(&mut self, load: u64) {
        match &self.replication {
            Some(replication) => replication.load_replica(load),
            None => {
                let loaded = ReplicaEvent::Loaded(LoadedReplica {
                    load,
                    complete: None,
                    restored: None,
                });
                self.sm.handle(Input::Replica(loaded), self.clock.now());
            }
        }
    }

    /// Passes a batch to the store. Without a store, or if the store has failed, the batch counts
    /// as durable, so that replies do not wait.
    fn persist(&mut self, seq: u64, request: PersistRequest) {
        let ticket = self
            .shell
            .persist(request)
            .filter(|_| self.durable.is_some());
        let last = self.tickets.back().map(|(_, ticket)| *ticket);
        if let Some(ticket) = ticket.or(last) {
            self.tickets.push_back((seq, ticket));
        } else {
            self.persisted = Persisted::all(seq);
            self.has_unreported_batches = true;
        }
    }

    /// Reports durable batches to the SM.
    fn report_persisted(&mut self) {
        let Some(durable) = &self.durable else {
            return;
        };
        let reached = durable.durable_ticket();
        let on_disk = durable.on_disk();
        let before = self.persisted;
        // Tickets ascend with their batches.
        let written = self.tickets.partition_point(|(_, t)| *t <= on_disk);
        if let Some((seq, _)) = written.checked_sub(1).and_then(|n| self.tickets.get(n)) {
            self.persisted.on_disk = *seq;
        }
        while let Some((seq, _)) = self.tickets.front().filter(|(_, t)| *t <= reached) {
            self.persisted.durable = *seq;
            self.tickets.pop_front();
        }
        if self.persisted != before {
            let input = Input::Persisted(self.persisted);
            self.sm.handle(input, self.clock.now());
        }
    }

    /// Sends a MAD, unless the process has just stalled: then the MAD counts as lost.
    fn send_mad(&mut self, mad: &MadOut) -> Result<(), TransportError> {
        if self.has_stalled() {
            self.on_stalled();
        } else if let Err(e) = self.port.send(mad) {
            self.send_failed(e)?;
        }
        Ok(())
    }

    /// Sends a message from QP1.
    fn send(&self, to: &Peer, bytes: &[u8], answer_within: Option<Duration>) {
        if let Some(sa_server) = &self.sa_server {
            sa_server.send(to, bytes, answer_within);
        }
    }

    /// Persists the last batches when the driver ends. No more MADs are sent.
    fn persist_last_batches(&mut self) {
        while let Some(output) = self.sm.poll_output() {
            match output {
                Output::Persist { seq, updates } => {
                    self.persist(seq, PersistRequest::Updates(updates))
                }
                Output::PersistSnapshot { seq, snapshot } => {
                    self.persist(seq, PersistRequest::View(snapshot))
                }
                Output::Send(_)
                | Output::Compute(_)
                | Output::LoadReplica { .. }
                | Output::Replicate(_)
                | Output::CommandReply { .. }
                | Output::Event(_)
                | Output::Gmp { .. }
                | Output::Publish(_) => {}
            }
        }
    }

    /// A send failed: the MAD counts as lost. If the device is gone, the driver ends.
    fn send_failed(&mut self, error: TransportError) -> Result<(), TransportError> {
        use std::io::ErrorKind as Kind;
        /// Linux's error codes for a removed device.
        const ENXIO: i32 = 6;
        const ENODEV: i32 = 19;
        let is_removed = matches!(error.source.raw_os_error(), Some(ENXIO | ENODEV))
            || matches!(error.source.kind(), Kind::BrokenPipe | Kind::NotConnected);
        if is_removed {
            return Err(error);
        }
        self.send_errors.failed_sends += 1;
        self.send_errors.last_error = format!("{error}: {}", error.source);
        Ok(())
    }

    fn on_job(&mut self, done: Result<JobEnd, tokio::task::JoinError>) {
        match done {
            Ok(JobEnd { result: None, .. }) => {}
            Ok(JobEnd {
                result: Some(computed),
                was_limited,
            }) => {
                if was_limited {
                    self.sm.stop_recording("routing.budget limited a routing");
                }
                if let Ok(routes) = &computed.result {
                    // Prepares the next incremental reroute while the tables are written.
                    let run = Arc::clone(&routes.run);
                    drop(tokio::task::spawn_blocking(move || run.prepare()));
                }
                let input = Input::RoutingComputed(Box::new(computed));
                self.sm.handle(input, self.clock.now());
            }
            // An engine panicked; release builds abort instead.
            Err(e) => warn!(error = %e, "routing job failed"),
        }
    }

    fn on_control(&mut self, control: Control) -> ControlFlow<S::End> {
        if control == Control::Stop {
            self.shell.stopping();
        }
        match control {
            Control::Stop if self.stop_deadline.is_none() && self.shell.hands_over() => {
                let now = self.clock.now();
                self.stop_deadline = Some(now + STOP_TIMEOUT);
                self.command(Command::Stop, "SIGTERM or SIGINT");
            }
            Control::Stop => return ControlFlow::Break(self.shell.stop(&self.sm)),
            Control::Reload => {
                let reload = self.shell.reload();
                self.on_reload(reload);
            }
            Control::Configure => {
                let reload = self.shell.configure();
                self.on_reload(reload);
            }
            Control::Reroute => self.command(Command::Reroute, "SIGUSR2"),
            Control::Port(event) => {
                debug!(?event, "local port event");
                self.sm.handle(Input::LocalPort(event), self.clock.now());
            }
        }
        ControlFlow::Continue(())
    }

    fn on_reload(&mut self, reload: Reload) {
        match reload {
            Reload::NoEffect => {}
            Reload::Unchanged => self.command(Command::Sweep, "SIGHUP"),
            Reload::Changed(cfg) => {
                info!("configuration reloaded");
                self.sm.handle(Input::Config(cfg), self.clock.now());
            }
        }
    }

    /// Passes the command of a signal to the SM.
    fn command(&mut self, command: Command, signal: &'static str) {
        let id = self.commands.of_signal(&command, signal);
        let input = Input::Command { id, command };
        self.sm.handle(input, self.clock.now());
    }

    /// When to look again for what is out of service for a time.
    fn maintenance_due(&self) -> Option<Instant> {
        let until_s = self.sm.maintenance().filter_map(|entry| entry.until_unix_s);
        let is_master = self.sm.role() == SmState::Master;
        let first_s = until_s.min().filter(|_| is_master)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let remaining_s = first_s.saturating_sub(now.map_or(0, |now| now.as_secs()));
        let due = self.clock.now() + Duration::from_secs(remaining_s);
        Some(due.max(self.next_tick))
    }

    /// When to report what the SM does now: no input may follow for a long time.
    fn progress_due(&self) -> Option<Instant> {
        let is_outdated = self.shown_activity != Some(self.sm.activity());
        is_outdated.then_some(self.next_tick)
    }

    /// Puts back into service what is out of service for a time that is over. Returns whether there
    /// is any.
    fn end_maintenance_if_due(&mut self) -> bool {
        if self.sm.role() != SmState::Master {
            return false;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now_s = now.map_or(0, |now| now.as_secs());
        let is_over = |entry: &&Maintenance| entry.until_unix_s.is_some_and(|until| until <= now_s);
        let over = self
            .sm
            .maintenance()
            .find(is_over)
            .map(|entry| entry.target);
        if let Some(target) = over {
            self.command(
                OperatorChange::EndMaintenance(target).into(),
                "the end of its time",
            );
        }
        over.is_some()
    }

    fn on_request(&mut self, request: SmRequest) {
        match request {
            SmRequest::Execute(CommandRequest {
                id,
                command,
                result,
            }) => {
                self.commands.add(id, result);
                let input = Input::Command { id, command };
                self.sm.handle(input, self.clock.now());
            }
            SmRequest::Plan(PlanRequest { change, result }) => {
                // The client may no longer wait.
                let _ = result.send(self.sm.plan_change(&change));
            }
        }
    }

    /// Waits for the next input or deadline.
    async fn wait(&mut self) -> ControlFlow<S::End> {
        let liveness_due = self
            .replication
            .as_ref()
            .map(|_| self.clock.now() + LIVENESS_INTERVAL);
        let server = self.sa_server.as_ref();
        let deadlines = [
            self.sm.poll_timeout(),
            self.stop_deadline,
            liveness_due,
            self.beat_due,
            self.maintenance_due(),
            self.progress_due(),
            server.and_then(SaServer::snapshot_due),
        ];
        let deadline = deadlines
            .into_iter()
            .flatten()
            .min()
            .map(|t| self.clock.to_tokio(t));
        let timer = async {
            match deadline {
                Some(t) => tokio::time::sleep_until(t).await,
                None => core::future::pending().await,
            }
        };
        let gmps = async {
            match server {
                Some(server) => {
                    server
                        .ready(self.sm.waiting_replies() < WAITING_REPLIES_MAX)
                        .await
                }
                None => core::future::pending().await,
            }
        };
        let durable = async {
            let waits = self.sm.waits_for_durability();
            match self.durable.as_ref().filter(|_| waits) {
                Some(durable) => durable.changed().await,
                None => core::future::pending().await,
            }
        };
        let replication = async {
            match &mut self.replication {
                Some(replication) => {
                    replication
                        .next_input(&|guid| self.sm.describe_sm(guid))
                        .await
                }
                None => core::future::pending().await,
            }
        };
        let requests = received(&mut self.requests);
        let registry_reads = received(&mut self.registry_reads);
        tokio::select! {
            () = durable => {}
            input = replication => self.sm.handle(input, self.clock.now()),
            () = self.port.ready() => {}
            () = gmps => {}
            Some(done) = self.jobs.join_next(), if !self.jobs.is_empty() => self.on_job(done),
            Some(control) = self.control.recv() => return self.on_control(control),
            request = requests => self.on_request(request),
            answer = registry_reads => drop(answer.send(self.sm.registry_snapshot())),
            () = timer => {}
        }
        ControlFlow::Continue(())
    }

    fn beat_if_due(&mut self, now: Instant) {
        if let Some(heartbeat) = &self.heartbeat
            && self.beat_due.is_some_and(|due| due <= now)
        {
            heartbeat.beat();
            self.beat_due = heartbeat.interval().map(|interval| now + interval);
        }
    }

    fn tick(&mut self, now: Instant) {
        if now < self.next_tick {
            return;
        }
        self.next_tick = now + TICK;
        let progress = self.sm.progress();
        self.shown_activity = Some(progress.activity);
        self.shell.tick(progress);
        let errors = &mut self.send_errors;
        if now < errors.next {
            return;
        }
        let dropped = self.port.dropped();
        if errors.failed_sends > errors.logged_failed {
            let count = errors.failed_sends - errors.logged_failed;
            warn!(count, error = errors.last_error, "cannot send MADs");
        }
        if dropped > errors.logged_dropped {
            warn!(
                count = dropped - errors.logged_dropped,
                "receive queue overflow"
            );
        }
        (errors.logged_failed, errors.logged_dropped) = (errors.failed_sends, dropped);
        errors.next = now + REPORT;
    }
}

#[cfg(test)]
#[cfg(feature = "simulator")]
mod tests;
