//! The loop that owns a [`SubnetManager`]: the only place that calls it.
//!
//! One per process, on one thread. It takes what has arrived, hands it to the subnet manager, and carries out what
//! comes back: MADs are sent at once, jobs run beside it on a pool, events and maps go to the [`Shell`]. It decides
//! nothing about the fabric and never waits while there is something to do.

mod commands;

use core::ops::ControlFlow;
use core::time::Duration;
use std::collections::VecDeque;
use std::sync::Arc;

use ferrosm_core::recording::RecordedManager;
use ferrosm_core::{
    Command, Event, Input, LocalPortEvent, Output, Persisted, Progress, RoutingJobResult, SmConfig,
    SubnetManager,
};
use ferrosm_mad::mad::MadOut;
use ferrosm_mad::time::Instant;
use ferrosm_mad::transport::gmp::Peer;
use ferrosm_mad::transport::{Received, TransportError};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tracing::{debug, warn};

use crate::clock::{Clock, since_boot};
use crate::port::Port;
use crate::replication_link::{LIVENESS_INTERVAL, ReplicationLink};
use crate::sa_server::SaServer;
use crate::state::{DurabilityTracker, PersistRequest};

pub use commands::CommandRequest;
use commands::{CommandClients, ResultSender};

/// MADs that are taken before outputs are looked at: enough to be quick, few enough to keep the window full.
const BATCH: usize = 64;
/// Replies that wait for durable state; while there are more, requests wait in the queues of their clients.
const WAITING_REPLIES_MAX: usize = 4096;
/// Rounds without a pause before signals and timers of the runtime get their turn.
const ROUNDS: u32 = 32;
/// Time between two looks at the progress.
const TICK: Duration = Duration::from_millis(100);
/// Time for another subnet manager to take the subnet when this one is to end.
const LEAVE_WITHIN: Duration = Duration::from_secs(10);
/// Time between two words about failed sends or dropped MADs.
const REPORT: Duration = Duration::from_secs(10);

/// What the outside wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// End the program: with the subnet handed over, if there is somebody to take it. A second time: at once.
    Stop,
    /// Read the configuration again.
    Reload,
    /// Compute routes without regard to the installed ones.
    Reroute,
    /// The local device said something of the port.
    Port(LocalPortEvent),
}

/// The configuration, read again.
#[derive(Debug)]
pub enum Reload {
    /// It is invalid, and the last valid one stays in force.
    Rejected,
    /// It did not change, or there is no file: a sweep follows.
    Unchanged,
    /// New settings of the SM.
    Changed(Box<SmConfig>),
}

/// What surrounds the subnet manager: the operator, files, the terminal.
pub trait Shell {
    /// What the program ends with.
    type End;

    /// Something happened. `Break` ends the driver.
    fn event(&mut self, event: Event, sm: &SubnetManager) -> ControlFlow<Self::End>;

    /// Persists this. Returns the store's ticket for it, which replies wait for ([`Driver::holding`]).
    fn persist(&mut self, what: PersistRequest) -> Option<u64>;

    /// Reads the configuration again.
    fn reload(&mut self) -> Reload;

    /// Whether the subnet is to be handed over before the program ends.
    fn hands_over(&self) -> bool {
        false
    }

    /// The program should end.
    fn stop(&mut self, sm: &SubnetManager) -> Self::End;

    /// How far it is, some ten times a second.
    fn tick(&mut self, progress: Progress);
}

/// The driver.
pub struct Driver<P, S> {
    sm: RecordedManager,
    port: P,
    shell: S,
    control: mpsc::Receiver<Control>,
    /// Commands of clients; `None` without a control socket, or after it is closed.
    requests: Option<mpsc::Receiver<CommandRequest>>,
    jobs: JoinSet<RoutingJobResult>,
    administration: Option<SaServer>,
    /// Up to which ticket the store is durable.
    durable: Option<Arc<DurabilityTracker>>,
    copies: Option<ReplicationLink>,
    /// Batches that the store has not reported as durable: their number, and the ticket of the store.
    tickets: VecDeque<(u64, u64)>,
    /// What the subnet manager knows to be durable.
    persisted: Persisted,
    clock: Clock,
    next_tick: Instant,
    trouble: Trouble,
    /// Until then another subnet manager may say that it has taken the subnet.
    leaving: Option<Instant>,
    /// When the loop turned last, by a clock that goes on while the machine is suspended.
    last_turn: Option<Duration>,
    commands: CommandClients,
}

/// Sends that failed and MADs that were dropped: told now and then, not one by one.
#[derive(Debug, Default)]
struct Trouble {
    failed_sends: u64,
    told_failed: u64,
    told_dropped: u64,
    last_error: String,
    next: Instant,
}

impl<P: Port, S: Shell> Driver<P, S> {
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
            jobs: JoinSet::new(),
            administration: None,
            durable: None,
            copies: None,
            tickets: VecDeque::new(),
            persisted: Persisted::default(),
            clock,
            next_tick: Instant::START,
            trouble: Trouble::default(),
            leaving: None,
            last_turn: None,
            commands: CommandClients::default(),
        }
    }

    /// The same, which also administers the subnet.
    #[must_use]
    pub fn administering(self, administration: Option<SaServer>) -> Self {
        Self {
            administration,
            ..self
        }
    }

    /// The same, which answers clients only when what it says is durable.
    #[must_use]
    pub fn holding(self, durable: Option<Arc<DurabilityTracker>>) -> Self {
        Self { durable, ..self }
    }

    /// The same, with copies of its state elsewhere, or a copy of another's.
    #[must_use]
    pub fn replicating(self, copies: Option<ReplicationLink>) -> Self {
        let timeout = copies
            .as_ref()
            .map(ReplicationLink::max_ack_delay)
            .unwrap_or_default();
        Self {
            sm: self.sm.with_replication_timeout(timeout),
            copies,
            ..self
        }
    }

    /// The same, which executes commands of clients.
    #[must_use]
    pub fn with_requests(self, requests: mpsc::Receiver<CommandRequest>) -> Self {
        Self {
            requests: Some(requests),
            ..self
        }
    }

    /// Runs until the shell ends it.
    ///
    /// # Errors
    /// If the port's device is gone.
    pub async fn run(&mut self) -> Result<S::End, TransportError> {
        let mut rounds = 0;
        let mut flow = self.carry_out()?;
        loop {
            if let ControlFlow::Break(end) = flow {
                return Ok(end);
            }
            let mut busy = self.take_word_of_copies() | self.take_mads()? | self.take_gmps();
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
            let now = self.clock.now();
            if self.sm.poll_timeout().is_some_and(|t| t <= now) {
                self.sm.handle(Input::Timeout, now);
                busy = true;
            }
            flow = self.carry_out()?;
            if let Some(administration) = &mut self.administration {
                administration.publish_if_due(|| self.sm.registry_snapshot(), &self.clock);
            }
            if flow.is_break() {
                continue;
            }
            if self.leaving.is_some_and(|until| until <= now) {
                warn!("handover not confirmed in time");
                return Ok(self.shell.stop(&self.sm));
            }
            self.tick(now);
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

    /// What replication tells; and others are told that this loop turns.
    fn take_word_of_copies(&mut self) -> bool {
        let stalled = self.stood_still();
        let Some(copies) = &mut self.copies else {
            return false;
        };
        self.last_turn = Some(since_boot());
        let now = self.clock.now();
        copies.report_alive(self.sm.disk_wait(now));
        let told = copies.try_next_input();
        if stalled {
            // Before anything that came meanwhile is looked at.
            self.on_stalled();
        }
        let busy = told.is_some();
        if let Some(input) = told {
            self.sm.handle(input, self.clock.now());
        }
        busy
    }

    /// This process did not run for so long that another may be in charge.
    fn on_stalled(&mut self) {
        self.sm.handle(Input::Stalled, self.clock.now());
    }

    /// Whether this process stood still since this turn of the loop began, for so long that nothing may be written before others were
    /// asked.
    fn stood_still(&mut self) -> bool {
        let now = since_boot();
        let hang = self.copies.as_ref().map(ReplicationLink::stall_limit);
        let since = self.last_turn.map(|last| now.saturating_sub(last));
        let stood = since.zip(hang).is_some_and(|(since, hang)| since > hang);
        if stood {
            self.last_turn = Some(now);
        }
        stood
    }

    /// What the server leaves to the owner of what clients register.
    fn take_gmps(&mut self) -> bool {
        let Some(administration) = &self.administration else {
            return false;
        };
        let now = self.clock.now();
        for n in 0..BATCH {
            if self.sm.waiting_replies() >= WAITING_REPLIES_MAX {
                return n > 0;
            }
            let Some((from, bytes)) = administration.take_request() else {
                return n > 0;
            };
            self.sm.handle(Input::Gmp { from, bytes }, now);
        }
        true
    }

    fn carry_out(&mut self) -> Result<ControlFlow<S::End>, TransportError> {
        self.report_persisted();
        if let Some(administration) = &self.administration {
            // Before any reply to a write goes out.
            administration.observe(&self.sm);
        }
        while let Some(output) = self.sm.poll_output() {
            match output {
                Output::Send(mad) => self.send_mad(&mad)?,
                Output::Compute(job) => {
                    // The result of a job that a clock ended could not be replayed: its work units alone limit it.
                    if !self.sm.is_recorded() {
                        let (budget, cancel) = (job.budget, job.cancel.clone());
                        tokio::spawn(async move {
                            tokio::time::sleep(budget).await;
                            cancel.cancel();
                        });
                    }
                    self.jobs.spawn_blocking(move || job.run());
                }
                Output::Gmp {
                    to,
                    bytes,
                    answer_within,
                } => self.send(&to, &bytes, answer_within),
                Output::LoadReplica => match &mut self.copies {
                    Some(copies) => copies.load_replica(),
                    None => self.sm.handle(Input::ReplicaLoaded(None), self.clock.now()),
                },
                Output::CancelReplicaLoad => {
                    if let Some(copies) = &mut self.copies {
                        copies.cancel_replica_load();
                    }
                }
                Output::Publish(view) => {
                    if let Some(administration) = &self.administration {
                        administration.publish(view);
                    }
                }
                Output::Persist { seq, updates } => {
                    self.persist(seq, PersistRequest::Updates(updates))
                }
                Output::PersistView { seq, view } => self.persist(seq, PersistRequest::View(view)),
                Output::CommandReply { id, reply } => self.commands.on_reply(id, reply),
                Output::Event(event) => {
                    if let (Event::RoleChanged { state, .. }, Some(copies)) =
                        (&event, &mut self.copies)
                    {
                        copies.set_role(*state);
                    }
                    let flow = self.shell.event(event, &self.sm);
                    if flow.is_break() {
                        self.keep_what_is_left();
                        return Ok(flow);
                    }
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Has the store persist a batch. Without a store, or if it takes nothing more, the batch counts as durable: replies must not wait for
    /// what will never be.
    fn persist(&mut self, seq: u64, what: PersistRequest) {
        let ticket = self.shell.persist(what).filter(|_| self.durable.is_some());
        let last = self.tickets.back().map(|(_, ticket)| *ticket);
        if let Some(ticket) = ticket.or(last) {
            self.tickets.push_back((seq, ticket));
        } else {
            self.persisted = Persisted::all(seq);
            let input = Input::Persisted(self.persisted);
            self.sm.handle(input, self.clock.now());
        }
    }

    /// Reports to the subnet manager which batches are durable.
    fn report_persisted(&mut self) {
        let Some(durable) = &self.durable else {
            return;
        };
        let (reached, on_disk) = (durable.durable_ticket(), durable.on_disk());
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

    /// A MAD goes out, unless others may be in charge: then it is as one that was lost.
    fn send_mad(&mut self, mad: &MadOut) -> Result<(), TransportError> {
        if self.stood_still() {
            self.on_stalled();
        } else if let Err(e) = self.port.send(mad) {
            self.send_failed(e)?;
        }
        Ok(())
    }

    /// Sends a message from QP1.
    fn send(&self, to: &Peer, bytes: &[u8], answer_within: Option<Duration>) {
        if let Some(administration) = &self.administration {
            administration.send(to, bytes, answer_within);
        }
    }

    /// At the end: maps are kept, MADs are not sent any more.
    fn keep_what_is_left(&mut self) {
        while let Some(output) = self.sm.poll_output() {
            match output {
                Output::Persist { seq, updates } => {
                    self.persist(seq, PersistRequest::Updates(updates))
                }
                Output::PersistView { seq, view } => self.persist(seq, PersistRequest::View(view)),
                Output::Send(_) => return,
                Output::Compute(_)
                | Output::LoadReplica
                | Output::CancelReplicaLoad
                | Output::CommandReply { .. }
                | Output::Event(_)
                | Output::Gmp { .. }
                | Output::Publish(_) => {}
            }
        }
    }

    /// A MAD that was not sent is as one that was lost: its requester repeats it. A device that is gone is the end.
    fn send_failed(&mut self, error: TransportError) -> Result<(), TransportError> {
        use std::io::ErrorKind as Kind;
        /// Linux's words for a device that was taken away.
        const ENXIO: i32 = 6;
        const ENODEV: i32 = 19;
        let gone = matches!(error.source.raw_os_error(), Some(ENXIO | ENODEV))
            || matches!(error.source.kind(), Kind::BrokenPipe | Kind::NotConnected);
        if gone {
            return Err(error);
        }
        self.trouble.failed_sends += 1;
        self.trouble.last_error = format!("{error}: {}", error.source);
        Ok(())
    }

    fn on_job(&mut self, done: Result<RoutingJobResult, tokio::task::JoinError>) {
        match done {
            Ok(computed) => {
                if let Ok(routes) = &computed.result {
                    // While the tables are written, so that the next loss is answered quickly. Nobody waits for it.
                    let run = Arc::clone(&routes.run);
                    drop(tokio::task::spawn_blocking(move || run.prepare()));
                }
                let input = Input::Computed(Box::new(computed));
                self.sm.handle(input, self.clock.now());
            }
            // Only a bug in an engine comes here; release builds abort before.
            Err(e) => warn!(error = %e, "routing job failed"),
        }
    }

    fn on_control(&mut self, control: Control) -> ControlFlow<S::End> {
        match control {
            Control::Stop if self.leaving.is_none() && self.shell.hands_over() => {
                let now = self.clock.now();
                self.leaving = Some(now + LEAVE_WITHIN);
                self.command(Command::Stop, None);
            }
            Control::Stop => return ControlFlow::Break(self.shell.stop(&self.sm)),
            Control::Reload => match self.shell.reload() {
                Reload::Rejected => {}
                Reload::Unchanged => self.command(Command::Sweep, None),
                Reload::Changed(cfg) => self.sm.handle(Input::Config(cfg), self.clock.now()),
            },
            Control::Reroute => self.command(Command::Reroute, None),
            Control::Port(event) => {
                debug!(?event, "local port event");
                self.sm.handle(Input::LocalPort(event), self.clock.now());
            }
        }
        ControlFlow::Continue(())
    }

    /// Gives the subnet manager a command.
    fn command(&mut self, command: Command, client: Option<ResultSender>) {
        let id = self.commands.add(command, client);
        let input = Input::Command { id, command };
        self.sm.handle(input, self.clock.now());
    }

    fn on_request(&mut self, request: CommandRequest) {
        self.command(request.command, Some(request.result));
    }

    /// Waits for whatever comes first.
    async fn wait(&mut self) -> ControlFlow<S::End> {
        let pulse = self
            .copies
            .as_ref()
            .map(|_| self.clock.now() + LIVENESS_INTERVAL);
        let server = self.administration.as_ref();
        let due = [
            self.sm.poll_timeout(),
            self.leaving,
            pulse,
            server.and_then(SaServer::snapshot_due),
        ];
        let deadline = due
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
        let copies = async {
            match &mut self.copies {
                Some(copies) => copies.next_input().await,
                None => core::future::pending().await,
            }
        };
        let requests = async {
            let request = match &mut self.requests {
                Some(requests) => requests.recv().await,
                None => None,
            };
            match request {
                Some(request) => request,
                None => core::future::pending().await,
            }
        };
        tokio::select! {
            () = durable => {}
            input = copies => self.sm.handle(input, self.clock.now()),
            () = self.port.ready() => {}
            () = gmps => {}
            Some(done) = self.jobs.join_next(), if !self.jobs.is_empty() => self.on_job(done),
            Some(control) = self.control.recv() => return self.on_control(control),
            request = requests => self.on_request(request),
            () = timer => {}
        }
        ControlFlow::Continue(())
    }

    fn tick(&mut self, now: Instant) {
        if now < self.next_tick {
            return;
        }
        self.next_tick = now + TICK;
        self.shell.tick(self.sm.progress());
        let trouble = &mut self.trouble;
        if now < trouble.next {
            return;
        }
        let dropped = self.port.dropped();
        if trouble.failed_sends > trouble.told_failed {
            let count = trouble.failed_sends - trouble.told_failed;
            warn!(count, error = trouble.last_error, "cannot send MADs");
        }
        if dropped > trouble.told_dropped {
            warn!(
                count = dropped - trouble.told_dropped,
                "receive queue overflow"
            );
        }
        (trouble.told_failed, trouble.told_dropped) = (trouble.failed_sends, dropped);
        trouble.next = now + REPORT;
    }
}

#[cfg(test)]
#[cfg(feature = "simulator")]
mod tests {
    use super::*;
    use crate::port::ThreadedPort;
    use ferrosm_core::records::{Record, RecordUpdate};
    use ferrosm_core::{RestoredState, SweepReport};
    use ferrosm_sim::fabric::Fabric;
    use ferrosm_sim::generate::from_spec;
    use ferrosm_sim::port::SimNet;

    /// Ends with the first report, or with `None` when stopped.
    #[derive(Default)]
    struct First {
        kept: usize,
        reloads: usize,
    }

    impl Shell for First {
        type End = Option<SweepReport>;
        fn event(&mut self, event: Event, _: &SubnetManager) -> ControlFlow<Self::End> {
            if let Event::SweepCompleted(report) = event
                && self.reloads == 0
            {
                return ControlFlow::Break(Some(*report));
            }
            ControlFlow::Continue(())
        }
        fn persist(&mut self, what: PersistRequest) -> Option<u64> {
            if let PersistRequest::Updates(updates) = what {
                let put = |u: &&RecordUpdate| matches!(u, RecordUpdate::Put(Record::Lid { .. }));
                self.kept += updates.iter().filter(put).count();
            }
            None
        }
        fn reload(&mut self) -> Reload {
            self.reloads += 1;
            Reload::Unchanged
        }
        fn stop(&mut self, _: &SubnetManager) -> Self::End {
            None
        }
        fn tick(&mut self, _: Progress) {}
    }

    /// A driver on a fabric of this shape, over a receiving thread as on hardware.
    fn driver_on<S: Shell>(
        spec: &str,
        shell: S,
        inbox: mpsc::Receiver<Control>,
    ) -> Driver<ThreadedPort, S> {
        let net = SimNet::new(Fabric::new(&from_spec(spec).unwrap()).unwrap());
        let (sender, receiver) = net.attach(None).unwrap().split();
        let port = ThreadedPort::new(Box::new(sender), Box::new(receiver), 1024).unwrap();
        let clock = Clock::start();
        let sm = SubnetManager::new(SmConfig::default(), RestoredState::default(), clock.now());
        Driver::new(sm, clock, port, shell, inbox)
    }

    fn runtime() -> tokio::runtime::Runtime {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_all().build().unwrap()
    }

    fn drive(shell: First, orders: &[Control]) -> (Option<SweepReport>, First) {
        runtime().block_on(async {
            let (control, inbox) = mpsc::channel(4);
            for order in orders {
                control.send(*order).await.unwrap();
            }
            let mut driver = driver_on("torus:3,3,1,2", shell, inbox);
            let end = driver.run().await.unwrap();
            (end, driver.into_shell())
        })
    }

    /// Over a receiving thread, as on hardware, a fabric comes up and its LIDs are kept.
    #[test]
    fn a_fabric_comes_up() {
        let (report, shell) = drive(First::default(), &[]);
        let report = report.unwrap();
        assert!(report.is_clean(), "{:?}", report.problems);
        assert_eq!((report.switches, report.cas), (9, 18));
        assert_eq!(shell.kept, 27);
    }

    #[test]
    fn orders_are_followed_in_turn() {
        let (end, shell) = drive(First::default(), &[Control::Reload, Control::Stop]);
        assert!(end.is_none());
        assert_eq!(shell.reloads, 1);
    }

    /// Asks for the end when there is nothing to do any more, and ends when nobody takes the subnet.
    struct Leaves(mpsc::Sender<Control>);

    impl Shell for Leaves {
        type End = bool;
        fn event(&mut self, event: Event, _: &SubnetManager) -> ControlFlow<bool> {
            if let Event::Stopped { handed_to, .. } = event {
                return ControlFlow::Break(handed_to.is_some());
            }
            if let Event::SweepCompleted(_) = event {
                // In this one thread it is not run before the driver waits for something.
                let control = self.0.clone();
                tokio::spawn(async move { control.send(Control::Stop).await });
            }
            ControlFlow::Continue(())
        }
        fn persist(&mut self, _: PersistRequest) -> Option<u64> {
            None
        }
        fn reload(&mut self) -> Reload {
            Reload::Rejected
        }
        fn hands_over(&self) -> bool {
            true
        }
        fn stop(&mut self, _: &SubnetManager) -> bool {
            panic!("the time for a successor ran out, and there is none")
        }
        fn tick(&mut self, _: Progress) {}
    }

    /// An order that comes while nothing is to be done is carried out at once: without a successor there is nothing to wait for.
    #[test]
    fn an_end_without_a_successor_takes_no_time() {
        runtime().block_on(async {
            let (control, inbox) = mpsc::channel(4);
            let mut driver = driver_on("ring:3", Leaves(control), inbox);
            // The time for a successor is twice as long.
            let end = tokio::time::timeout(LEAVE_WITHIN / 2, driver.run()).await;
            assert!(!end.expect("it waits for a successor").unwrap());
        });
    }
}
