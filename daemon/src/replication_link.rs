//! Connects replication to the SM: the SM's role sets the role of replication, and replication events become SM inputs.
//!
//! Owned by the driver. The election decides which SM is master, [`ferrosm_replication`] maintains the replicas, and the state writer reads
//! the records that a takeover starts from.

use core::time::Duration;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use ferrosm_core::records::{RecordBatch, RecordKind, RecordUpdate};
use ferrosm_core::{Input, RestoredState};
use ferrosm_mad::attr::SmState;
use ferrosm_mad::ids::PortGuid;
use ferrosm_replication::tcp::{self, TcpReplication};
use ferrosm_replication::{
    EVENT_QUEUE_MAX, Event, RawRecord, Replication, ReplicationSettings, Role, StepDownReason,
};
use ferrosm_sa::registry::registration::Registrations;
use tokio::sync::{mpsc, oneshot};
use tracing::{error, info, warn};

use crate::failure::Failure;
use crate::state::{self, CommitObserver, PersistRequest, StateWriter};

/// Longest interval between two reports that the driver's loop runs.
pub const LIVENESS_INTERVAL: Duration = Duration::from_millis(50);

/// Time that a standby waits for its replica. Then it accepts a handover without one, because its master has none to offer.
const REPLICA_TIMEOUT: Duration = Duration::from_secs(10);

/// Time that a standby may be out of sync before it rejects handovers until its replica is complete again.
const OUT_OF_SYNC_GRACE: Duration = Duration::from_secs(1);

/// A finished replica load: its number, the state of the replica, and the records; `None` if they could not be read.
type ReplicaLoad = (u64, ReplicaState, Option<Box<RestoredState>>);

/// State of the replica at this node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReplicaState {
    /// The records are of this node's own last term.
    Own,
    /// The records are the master's; the last ones may be missing.
    Incomplete,
    /// The records are all that the master acknowledged.
    Complete,
}

/// Replication of the state between this node and the others.
#[derive(Debug)]
pub struct ReplicationLink {
    replication: Arc<dyn Replication>,
    events: mpsc::Receiver<Event>,
    writer: Arc<StateWriter>,
    /// Sender and receiver of finished replica loads.
    load_sender: mpsc::UnboundedSender<ReplicaLoad>,
    loads: mpsc::UnboundedReceiver<ReplicaLoad>,
    state: SmState,
    replica: ReplicaState,
    /// Number of the load in progress.
    pending_load: Option<u64>,
    /// This SM became master during a load: its term starts when the load ends.
    start_term_after_load: bool,
    loads_started: u64,
    /// The records in the store differ from those in the SM's memory.
    store_differs: bool,
    /// Records are missing: a restart must not use the view as complete.
    records_incomplete: bool,
    /// Main-loop stall after which standbys may consider this node dead.
    stall_limit: Duration,
    /// Longest time that a committed batch waits for acknowledgements if replication works.
    max_ack_delay: Duration,
    /// The next input of the SM.
    pending_input: Option<Input>,
    /// Time until which a standby waits for its replica.
    replica_deadline: Option<Instant>,
    /// Time at which a standby that is still out of sync waits for its replica again.
    out_of_sync_deadline: Option<Instant>,
    /// The records are of this node's own term, which has just ended.
    own_term_just_ended: bool,
}

/// Replication as seen by the state writer.
struct ReplicationObserver(Arc<dyn Replication>);

impl CommitObserver for ReplicationObserver {
    fn committed(&self, number: u64, batch: &RecordBatch) {
        self.0.committed(number, batch);
    }

    fn acknowledged(&self) -> u64 {
        self.0.acknowledged()
    }
}

impl Drop for ReplicationLink {
    fn drop(&mut self) {
        // The writer and replication refer to each other.
        self.writer.durability().set_observer(None);
    }
}

impl ReplicationLink {
    /// Starts replication. `incomplete`: records are missing in the restored state.
    ///
    /// # Errors
    /// The listen address or the settings are invalid, or a thread cannot be started.
    pub fn start(
        settings: ReplicationSettings,
        guid: PortGuid,
        priority: u8,
        writer: Arc<StateWriter>,
        incomplete: bool,
    ) -> Result<Self, Failure> {
        let (sender, events) = mpsc::channel(EVENT_QUEUE_MAX);
        let (stall_limit, max_ack_delay) = (settings.stall_limit(), settings.max_ack_delay());
        let replication: Arc<dyn Replication> = match settings {
            ReplicationSettings::Tcp(settings) => {
                let settings = tcp::TcpSettings {
                    guid: guid.0,
                    priority,
                    ..settings
                };
                let started =
                    TcpReplication::start(settings, Arc::new(writer.replica_store()), sender);
                let tcp = started.map_err(failure)?;
                if let Some(address) = tcp.address() {
                    info!(listen = %address, "replication started");
                }
                Arc::new(tcp)
            }
            #[cfg(feature = "etcd")]
            ReplicationSettings::Etcd(settings) => {
                use ferrosm_replication::etcd::{self, EtcdReplication};
                let settings = etcd::EtcdSettings {
                    guid: guid.0,
                    ..settings
                };
                let started =
                    EtcdReplication::start(settings, Arc::new(writer.replica_store()), sender);
                let etcd = started.map_err(failure)?;
                info!(?etcd, "replication started");
                Arc::new(etcd)
            }
            #[cfg(not(feature = "etcd"))]
            ReplicationSettings::Etcd(_) => {
                return Err(failure(anyhow::anyhow!(
                    "this build lacks the feature `etcd`"
                )));
            }
        };
        let observer = Arc::new(ReplicationObserver(Arc::clone(&replication)));
        writer.durability().set_observer(Some(observer));
        let (load_sender, loads) = mpsc::unbounded_channel();
        Ok(Self {
            replication,
            events,
            writer,
            load_sender,
            loads,
            state: SmState::Discovering,
            replica: ReplicaState::Own,
            pending_load: None,
            start_term_after_load: false,
            loads_started: 0,
            store_differs: false,
            records_incomplete: incomplete,
            stall_limit,
            max_ack_delay,
            pending_input: Some(Input::ReplicaIncomplete(true)),
            replica_deadline: None,
            out_of_sync_deadline: None,
            own_term_just_ended: false,
        })
    }

    /// The replication in use.
    #[must_use]
    pub const fn replication(&self) -> &Arc<dyn Replication> {
        &self.replication
    }

    /// Reports that the driver's loop runs, and how long its oldest reply has waited for the local disk.
    pub fn report_alive(&self, disk_delay: Duration) {
        self.replication.set_disk_delay(disk_delay);
        self.replication.report_alive();
    }

    /// Main-loop stall after which another SM may have taken over.
    #[must_use]
    pub const fn stall_limit(&self) -> Duration {
        self.stall_limit
    }

    /// Longest time that a committed batch waits for acknowledgements if replication works.
    #[must_use]
    pub const fn max_ack_delay(&self) -> Duration {
        self.max_ack_delay
    }

    /// Sets the SM state. Must precede all records that the SM persists in this state.
    pub fn set_role(&mut self, state: SmState) {
        let before = core::mem::replace(&mut self.state, state);
        if before == state {
            return;
        }
        self.replica_deadline = None;
        self.out_of_sync_deadline = None;
        let was_master =
            before == SmState::Master && !core::mem::take(&mut self.start_term_after_load);
        if state != SmState::Standby {
            // Applies when this SM becomes standby again.
            self.pending_input = Some(Input::ReplicaIncomplete(true));
        }
        match state {
            // The term starts after the load, which reads the records as the last master left them.
            SmState::Master if self.pending_load.is_some() => self.start_term_after_load = true,
            SmState::Master => self.start_term(),
            SmState::Standby => {
                self.store_differs = true;
                // The SM now clears its records, but the store is to hold the master's.
                self.writer.set_accepting(false);
                self.writer.mark_superseded();
                // If the new master dies at once, these records are the latest.
                self.own_term_just_ended = was_master;
                self.replica = if was_master {
                    ReplicaState::Incomplete
                } else {
                    ReplicaState::Own
                };
                self.replica_deadline = Some(Instant::now() + REPLICA_TIMEOUT);
                self.replication.set_role(Role::Standby);
            }
            SmState::Discovering => self
                .replication
                .set_role(Role::Inactive(StepDownReason::Stopping)),
            _ => {
                self.writer.mark_superseded();
                self.replication
                    .set_role(Role::Inactive(StepDownReason::HandingOver));
            }
        }
    }

    /// Starts a term of this master, with a history of its own.
    fn start_term(&mut self) {
        // 0 means no history.
        let epoch = RandomState::new().hash_one(()) | 1;
        self.writer.set_accepting(true);
        self.writer.start_history(epoch);
        self.replica = ReplicaState::Own;
        self.replication.set_role(Role::Master { epoch });
        let store_differs = core::mem::take(&mut self.store_differs);
        if store_differs {
            // Registrations of earlier terms must not reappear at the next takeover.
            let nothing = RecordKind::REGISTRATIONS.map(RecordUpdate::Clear);
            self.writer.submit(PersistRequest::Updates(nothing.into()));
        }
        if core::mem::take(&mut self.records_incomplete) || store_differs {
            self.writer.submit(PersistRequest::View(None));
        }
    }

    /// A replica load has finished. Returns `None` if it was cancelled.
    fn on_replica_loaded(&mut self, (load, replica, restored): ReplicaLoad) -> Option<Input> {
        if self.pending_load != Some(load) {
            return None;
        }
        self.pending_load = None;
        // Without a replica, the SM starts without registrations.
        self.store_differs = restored.is_none() || replica == ReplicaState::Own;
        self.records_incomplete = restored.as_ref().is_none_or(|restored| !restored.complete);
        if core::mem::take(&mut self.start_term_after_load) {
            self.start_term();
        }
        Some(Input::ReplicaLoaded(restored))
    }

    /// The SM is master without the replica; its records are persisted from now on.
    pub fn cancel_replica_load(&mut self) {
        if self.pending_load.take().is_none() {
            return;
        }
        self.store_differs = true;
        if core::mem::take(&mut self.start_term_after_load) {
            self.start_term();
        }
    }

    /// Before the SM starts: loads what other nodes (etcd) have. Returns `None` if there is no such state. Takes about a second at most.
    pub async fn load_at_startup(&self) -> Option<RestoredState> {
        // The store is about to receive another node's records.
        self.writer.set_accepting(false);
        let (sender, restored) = oneshot::channel();
        let writer = Arc::clone(&self.writer);
        self.replication.complete_replica(Box::new(move |complete| {
            let replica = match complete {
                Some(true) => ReplicaState::Complete,
                Some(false) => ReplicaState::Incomplete,
                None => return,
            };
            read(&writer, replica, move |restored| {
                // The receiver is gone if the program has ended.
                let _ = sender.send(restored);
            });
        }));
        let restored = restored.await.ok().flatten();
        self.writer.set_accepting(true);
        restored.map(|restored| *restored)
    }

    /// Loads the replica for a takeover; [`Self::next_input`] returns [`Input::ReplicaLoaded`] when it is read.
    pub fn load_replica(&mut self) {
        let sender = self.load_sender.clone();
        let replica = self.replica;
        // For a second load: the master may have changed records since.
        self.replica = replica.or_incomplete();
        // The store must not change during the load.
        self.replication
            .set_role(Role::Inactive(StepDownReason::Stopping));
        self.state = SmState::Discovering;
        self.replica_deadline = None;
        self.out_of_sync_deadline = None;
        self.own_term_just_ended = false;
        self.pending_input = Some(Input::ReplicaIncomplete(true));
        self.loads_started += 1;
        let load = self.loads_started;
        self.pending_load = Some(load);
        let writer = Arc::clone(&self.writer);
        self.replication.complete_replica(Box::new(move |complete| {
            let replica = match complete {
                Some(true) => ReplicaState::Complete,
                Some(false) => replica.or_incomplete(),
                None => replica,
            };
            read(&writer, replica, move |restored| {
                // The receiver is gone if the driver has ended.
                let _ = sender.send((load, replica, restored));
            });
        }));
    }

    /// The next input, if one is available.
    pub fn try_next_input(&mut self) -> Option<Input> {
        if self.replica_deadline.is_some_and(|by| by <= Instant::now()) {
            warn!(within = ?REPLICA_TIMEOUT, "replica unavailable");
            if core::mem::take(&mut self.own_term_just_ended) {
                // The new master has changed records for a while.
                self.replica = ReplicaState::Own;
            }
            self.end_replica_wait();
        }
        if self
            .out_of_sync_deadline
            .is_some_and(|since| since <= Instant::now())
        {
            self.out_of_sync_deadline = None;
            self.replica_deadline = Some(Instant::now() + REPLICA_TIMEOUT);
            self.pending_input = Some(Input::ReplicaIncomplete(true));
        }
        if let Some(input) = self.pending_input.take() {
            return Some(input);
        }
        while let Ok(restored) = self.loads.try_recv() {
            let input = self.on_replica_loaded(restored);
            if input.is_some() {
                return input;
            }
        }
        while let Ok(event) = self.events.try_recv() {
            let input = self.on_event(&event);
            if input.is_some() {
                return input;
            }
        }
        None
    }

    /// Waits for the next input. Cancel safe.
    pub async fn next_input(&mut self) -> Input {
        loop {
            if let Some(input) = self.pending_input.take() {
                return input;
            }
            tokio::select! {
                Some(restored) = self.loads.recv() => {
                    if let Some(input) = self.on_replica_loaded(restored) {
                        return input;
                    }
                }
                Some(event) = self.events.recv() => {
                    if let Some(input) = self.on_event(&event) {
                        return input;
                    }
                }
                else => core::future::pending().await,
            }
        }
    }

    /// Ends a standby's wait for its replica.
    fn end_replica_wait(&mut self) {
        if self.replica_deadline.take().is_some() {
            self.pending_input = Some(Input::ReplicaIncomplete(false));
        }
    }

    fn on_event(&mut self, event: &Event) -> Option<Input> {
        let sm = |guid: &u64| PortGuid(*guid);
        match event {
            Event::MasterReady => {
                info!("accepting standbys");
                None
            }
            Event::StandbyInSync { guid } => {
                info!(sm = %sm(guid), "standby in sync");
                Some(Input::FerrosmPeer(sm(guid)))
            }
            Event::StandbyLost { guid, why } => {
                warn!(sm = %sm(guid), %why, "standby replica lost");
                None
            }
            Event::ProtectionLost(why) => {
                error!(why, "alarm: no standby in sync");
                None
            }
            Event::ProtectionRestored => {
                info!("standby in sync again");
                None
            }
            Event::ProcessStalled(time) => {
                warn!(stalled_ms = time.as_millis(), "process stalled");
                Some(Input::Stalled)
            }
            Event::LeaseLost(why) => {
                warn!(why, "etcd lease lost");
                Some(Input::LeaseLost)
            }
            Event::Deposed { guid } => {
                warn!(sm = %sm(guid), "replaced by another master");
                Some(Input::Deposed(sm(guid)))
            }
            Event::InSync { guid } => {
                info!(master = %sm(guid), "replica in sync");
                self.replica = ReplicaState::Complete;
                self.own_term_just_ended = false;
                self.out_of_sync_deadline = None;
                self.end_replica_wait();
                Some(Input::FerrosmPeer(sm(guid)))
            }
            Event::OutOfSync { guid, why } => {
                warn!(master = %sm(guid), why, "replica out of sync");
                self.replica = self.replica.or_incomplete();
                if self.state == SmState::Standby && self.replica_deadline.is_none() {
                    self.out_of_sync_deadline
                        .get_or_insert_with(|| Instant::now() + OUT_OF_SYNC_GRACE);
                }
                None
            }
            Event::MasterSilent {
                guid,
                in_sync,
                uncertain,
            } => {
                warn!(master = %sm(guid), in_sync, "master silent");
                self.replica = self.replica.complete_if(*in_sync);
                Some(Input::PeerSilent {
                    guid: sm(guid),
                    uncertain: *uncertain,
                })
            }
            Event::MasterLeaving {
                guid,
                leaving,
                in_sync,
            } => {
                self.replica = self.replica.complete_if(*in_sync);
                // A handover is announced by HANDOVER.
                (*leaving == StepDownReason::Stopping).then(|| Input::PeerSilent {
                    guid: sm(guid),
                    uncertain: false,
                })
            }
            Event::PeerRejected { peer, why } => {
                warn!(peer, why, "replication peer rejected");
                None
            }
        }
    }
}

/// Has the state writer read the records, and restores the state that a takeover starts from.
fn read(
    writer: &StateWriter,
    replica: ReplicaState,
    done: impl FnOnce(Option<Box<RestoredState>>) + Send + 'static,
) {
    writer.read_all(move |snapshot| {
        done(match snapshot {
            Ok(snapshot) => Some(Box::new(restored(&snapshot.records, replica))),
            Err(e) => {
                error!(error = %e, "cannot read replica");
                None
            }
        });
    });
}

fn failure(why: impl Into<anyhow::Error>) -> Failure {
    Failure::with_hint(
        format!("cannot start replication: {:#}", why.into()),
        "See [replication] in the configuration, and docs/replication.md for certificates.",
    )
}

impl ReplicaState {
    const fn or_incomplete(self) -> Self {
        match self {
            Self::Own => Self::Own,
            Self::Incomplete | Self::Complete => Self::Incomplete,
        }
    }

    const fn complete_if(self, in_sync: bool) -> Self {
        if in_sync {
            Self::Complete
        } else {
            self.or_incomplete()
        }
    }
}

/// The state that a takeover starts from. Of a replica of this node's own records only LIDs are used: they never change.
fn restored(records: &[RawRecord], replica: ReplicaState) -> RestoredState {
    let (mut restored, unreadable) = state::restore(records, SystemTime::now());
    for record in unreadable {
        warn!(record = %record, "replica record ignored");
    }
    match replica {
        ReplicaState::Complete => {}
        ReplicaState::Incomplete => restored.complete = false,
        ReplicaState::Own => {
            restored.registrations = Registrations::default();
            restored.snapshot = None;
            restored.routing = None;
            restored.complete = false;
        }
    }
    restored
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use ferrosm_core::records::Record;
    use ferrosm_mad::ids::{Lid, Lmc};
    use ferrosm_sa::registry::registration::{RegisteredAlias, Registration};

    use super::*;
    use crate::state::StateDir;
    use crate::testing::TempDir;
    use ferrosm_replication::{RecordStore as _, ReplicaCallback, ReplicationStatus};

    /// Replication without peers; a test completes replica loads by hand.
    #[derive(Default)]
    struct FakeReplication(Mutex<Option<ReplicaCallback>>);

    impl core::fmt::Debug for FakeReplication {
        fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
            f.write_str("FakeReplication")
        }
    }

    impl FakeReplication {
        fn complete_load(&self, complete: Option<bool>) {
            let callback = self.0.lock().unwrap().take();
            callback.unwrap()(complete);
        }
    }

    impl Replication for FakeReplication {
        fn set_role(&self, _: Role) {}
        fn committed(&self, _: u64, _: &RecordBatch) {}
        fn acknowledged(&self) -> u64 {
            u64::MAX
        }
        fn report_alive(&self) {}
        fn set_disk_delay(&self, _: Duration) {}
        fn complete_replica(&self, then: ReplicaCallback) {
            *self.0.lock().unwrap() = Some(then);
        }
        fn status(&self) -> ReplicationStatus {
            ReplicationStatus::default()
        }
    }

    fn link(writer: &Arc<StateWriter>, replication: &Arc<FakeReplication>) -> ReplicationLink {
        let (_, events) = mpsc::channel(1);
        let (load_sender, loads) = mpsc::unbounded_channel();
        ReplicationLink {
            replication: Arc::clone(replication) as Arc<dyn Replication>,
            events,
            writer: Arc::clone(writer),
            load_sender,
            loads,
            state: SmState::Master,
            replica: ReplicaState::Own,
            pending_load: None,
            start_term_after_load: false,
            loads_started: 0,
            store_differs: false,
            records_incomplete: false,
            stall_limit: Duration::from_secs(1),
            max_ack_delay: Duration::from_secs(1),
            pending_input: None,
            replica_deadline: None,
            out_of_sync_deadline: None,
            own_term_just_ended: false,
        }
    }

    /// A master with a store of its own, in a directory of this name.
    fn master(
        name: &str,
    ) -> (
        TempDir,
        Arc<StateWriter>,
        Arc<FakeReplication>,
        ReplicationLink,
    ) {
        let dir = TempDir::new(name);
        let writer = Arc::new(StateDir::open(dir.path()).unwrap().writer().unwrap());
        let replication = Arc::new(FakeReplication::default());
        let link = link(&writer, &replication);
        (dir, writer, replication, link)
    }

    fn alias(port: u64) -> RecordUpdate {
        RecordUpdate::Put(Record::Registration(Registration::Alias(RegisteredAlias {
            port: PortGuid(port),
            index: 1,
            alias: PortGuid(0xA),
        })))
    }

    fn lid(port: u64) -> RecordUpdate {
        RecordUpdate::Put(Record::Lid {
            port: PortGuid(port),
            lid: Lid(4),
            lmc: Lmc(0),
        })
    }

    /// Ports with LIDs and ports with aliases in the store.
    fn stored(dir: &TempDir) -> (Vec<u64>, Vec<u64>) {
        let restored = StateDir::open(dir.path()).unwrap().restored();
        let aliases = restored.registrations.aliases.iter().map(|a| a.port.0);
        (
            restored.lids.keys().map(|g| g.0).collect(),
            aliases.collect(),
        )
    }

    /// The restored state of the pending load.
    fn loaded_state(link: &mut ReplicationLink) -> RestoredState {
        loop {
            match link.try_next_input() {
                Some(Input::ReplicaLoaded(restored)) => return *restored.unwrap(),
                Some(_) => {}
                None => std::thread::yield_now(),
            }
        }
    }

    /// Registrations of an earlier own term do not reappear at a later takeover.
    #[test]
    fn takeover_without_replica_clears_stored_registrations() {
        let (dir, writer, replication, mut link) = master("replication-own");
        link.set_role(SmState::Standby);
        link.set_role(SmState::Discovering);
        link.set_role(SmState::Master);
        writer.submit(PersistRequest::Updates(vec![lid(1), alias(1)]));
        link.set_role(SmState::Standby);
        // The wait for a replica has timed out.
        link.replica_deadline = Some(Instant::now());
        let input = link.try_next_input();
        assert!(
            matches!(input, Some(Input::ReplicaIncomplete(false))),
            "{input:?}"
        );
        link.load_replica();
        replication.complete_load(None);
        let restored = loaded_state(&mut link);
        assert!(restored.registrations.aliases.is_empty() && !restored.lids.is_empty());
        link.set_role(SmState::Master);
        writer.submit(PersistRequest::Updates(vec![alias(2)]));
        drop((link, writer));
        assert_eq!(stored(&dir), (vec![1], vec![2]));
    }

    /// The new master dies before it replicated: the records of the own term are the latest.
    #[test]
    fn records_of_the_own_term_survive_a_failed_handover() {
        let (dir, writer, replication, mut link) = master("replication-back");
        writer.submit(PersistRequest::Updates(vec![lid(1), alias(1)]));
        link.set_role(SmState::Standby);
        link.load_replica();
        replication.complete_load(None);
        let restored = loaded_state(&mut link);
        let aliases = restored.registrations.aliases.len();
        assert_eq!((aliases, restored.complete), (1, false));
        link.set_role(SmState::Master);
        drop((link, writer));
        assert_eq!(stored(&dir), (vec![1], vec![1]));
    }

    /// Without having been standby in between, the master may have changed records.
    #[test]
    fn replica_is_incomplete_at_the_second_load() {
        let (_dir, _writer, replication, mut link) = master("replication-again");
        link.set_role(SmState::Standby);
        link.on_event(&Event::InSync { guid: 7 });
        let mut answer = || {
            link.load_replica();
            replication.complete_load(None);
            link.loads.blocking_recv().unwrap().1
        };
        assert_eq!(
            [answer(), answer()],
            [ReplicaState::Complete, ReplicaState::Incomplete]
        );
    }

    /// A standby out of sync rejects handovers, after a grace period.
    #[test]
    fn standby_out_of_sync_is_not_ready() {
        let (_dir, _writer, _replication, mut link) = master("replication-out");
        link.set_role(SmState::Standby);
        link.on_event(&Event::InSync { guid: 7 });
        link.pending_input = None;
        let out = Event::OutOfSync {
            guid: 7,
            why: "slow".to_owned(),
        };
        link.on_event(&out);
        assert!(link.try_next_input().is_none(), "within the grace period");
        link.out_of_sync_deadline = Some(Instant::now());
        let input = link.try_next_input();
        assert!(
            matches!(input, Some(Input::ReplicaIncomplete(true))),
            "{input:?}"
        );
        link.on_event(&Event::InSync { guid: 7 });
        let input = link.try_next_input();
        assert!(
            matches!(input, Some(Input::ReplicaIncomplete(false))),
            "{input:?}"
        );
    }

    /// After the wait for the replica timed out, new records are persisted and a late replica is discarded.
    #[test]
    fn late_replica_is_discarded() {
        let (dir, writer, replication, mut link) = master("replication-late");
        writer.submit(PersistRequest::Updates(vec![lid(1), alias(1)]));
        link.set_role(SmState::Standby);
        link.load_replica();
        link.set_role(SmState::Master);
        link.cancel_replica_load();
        writer.submit(PersistRequest::Updates(vec![lid(2), alias(2)]));
        replication.complete_load(None);
        // The store thread executes requests in order.
        let _ = writer.replica_store().read_all();
        while let Some(input) = link.try_next_input() {
            assert!(!matches!(input, Input::ReplicaLoaded(_)), "{input:?}");
        }
        drop((link, writer));
        assert_eq!(stored(&dir), (vec![1, 2], vec![2]));
    }
}
