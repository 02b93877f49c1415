//! Where the copies of the state meet the election: who leads and who follows is what the subnet manager is, and what is heard of the
//! others goes to it.
//!
//! Owned by the driver. It decides nothing of its own: the election says who is master, [`ferrosm_replication`] how copies are made,
//! and the thread that writes state is asked for the records that a takeover begins with.

use core::time::Duration;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use ferrosm_core::records::{RecordBatch, RecordKind, RecordUpdate};
use ferrosm_core::{Input, RestoredState};
use ferrosm_mad::attr::SmState;
use ferrosm_mad::ids::PortGuid;
use ferrosm_replication::tcp::{self, Tcp};
use ferrosm_replication::{EVENTS, Event, Leaving, Record, Replication, Role, Settings};
use ferrosm_sa::registry::registration::Registrations;
use tokio::sync::{mpsc, oneshot};
use tracing::{error, info, warn};

use crate::failure::Failure;
use crate::state::{self, CommitObserver, PersistRequest, StateWriter};

/// The driver's loop turns at least so often, so that others see that it does.
pub const PULSE: Duration = Duration::from_millis(50);

/// A standby that has no copy after so long takes the subnet without, if it is handed to it: its master has none to give.
const COPY_WITHIN: Duration = Duration::from_secs(10);

/// A standby that is out of step for so long is not ready to be handed the subnet, as long as it waits for its copy.
const IN_STEP_WITHIN: Duration = Duration::from_secs(1);

/// What a takeover begins with; `None` if it could not be read. Before it: which of the questions it answers, and what the records are.
type Recalled = (u64, Held, Option<Box<RestoredState>>);

/// What is known of the copy that this node has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Held {
    /// The records are this node's own, from before another was master.
    Own,
    /// They are the master's, perhaps without the last of them.
    Behind,
    /// They are all that the master has acknowledged.
    InStep,
}

/// Copies of the state, here or elsewhere.
#[derive(Debug)]
pub struct Copies {
    replication: Arc<dyn Replication>,
    events: mpsc::Receiver<Event>,
    writer: Arc<StateWriter>,
    /// Where what is recalled goes in, and comes out.
    recall: mpsc::UnboundedSender<Recalled>,
    recalled: mpsc::UnboundedReceiver<Recalled>,
    state: SmState,
    held: Held,
    /// What the last master kept is being read, for this question.
    recalling: Option<u64>,
    /// A history of one's own begins after that.
    leads_then: bool,
    questions: u64,
    /// The records on the disk are not what the subnet manager has in memory.
    foreign: bool,
    /// Something is missing in them: who begins with them again must not take the view for the proof that nothing is.
    incomplete: bool,
    /// After so long a standby may take a driver that does not turn for dead.
    hang: Duration,
    /// After so long a replication that keeps its word has let answers go.
    patience: Duration,
    /// What the subnet manager is to be told next.
    pending: Option<Input>,
    /// Until then a standby waits for its copy.
    copy_by: Option<Instant>,
    /// Out of step for so long, a standby waits for its copy again.
    out_of_step: Option<Instant>,
    /// The records are those of an own reign that has just ended.
    just_left: bool,
}

/// Replication, as the thread that writes state sees it.
struct Following(Arc<dyn Replication>);

impl CommitObserver for Following {
    fn committed(&self, number: u64, batch: &RecordBatch) {
        self.0.committed(number, batch);
    }

    fn acknowledged(&self) -> u64 {
        self.0.acknowledged()
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        // Who follows holds on to the records, and the records to who follows: without this neither would ever end.
        self.writer.durability().set_observer(None);
    }
}

impl Copies {
    /// Begins to listen, and to look for a master. `incomplete`: something is missing in the records that the start begins with.
    ///
    /// # Errors
    /// If the address is not what it should be.
    pub fn start(
        settings: Settings,
        guid: PortGuid,
        priority: u8,
        writer: Arc<StateWriter>,
        incomplete: bool,
    ) -> Result<Self, Failure> {
        let (sender, events) = mpsc::channel(EVENTS);
        let (hang, patience) = (settings.hang(), settings.patience());
        let replication: Arc<dyn Replication> = match settings {
            Settings::Tcp(settings) => {
                let settings = tcp::Settings {
                    guid: guid.0,
                    priority,
                    ..settings
                };
                let started = Tcp::start(settings, Arc::new(writer.replica_store()), sender);
                let tcp = started.map_err(failure)?;
                if let Some(address) = tcp.address() {
                    info!(listen = %address, "state is replicated");
                }
                Arc::new(tcp)
            }
            #[cfg(feature = "etcd")]
            Settings::Etcd(settings) => {
                use ferrosm_replication::etcd::{self, Etcd};
                let settings = etcd::Settings {
                    guid: guid.0,
                    ..settings
                };
                let started = Etcd::start(settings, Arc::new(writer.replica_store()), sender);
                let etcd = started.map_err(failure)?;
                info!(?etcd, "state is replicated");
                Arc::new(etcd)
            }
            #[cfg(not(feature = "etcd"))]
            Settings::Etcd(_) => {
                return Err(failure(anyhow::anyhow!(
                    "this ferrosm was built without the feature `etcd`"
                )));
            }
        };
        let follow = Arc::new(Following(Arc::clone(&replication)));
        writer.durability().set_observer(Some(follow));
        let (recall, recalled) = mpsc::unbounded_channel();
        Ok(Self {
            replication,
            events,
            writer,
            recall,
            recalled,
            state: SmState::Discovering,
            held: Held::Own,
            recalling: None,
            leads_then: false,
            questions: 0,
            foreign: false,
            incomplete,
            hang,
            patience,
            pending: Some(Input::ReplicaIncomplete(true)),
            copy_by: None,
            out_of_step: None,
            just_left: false,
        })
    }

    /// Who makes them.
    #[must_use]
    pub const fn replication(&self) -> &Arc<dyn Replication> {
        &self.replication
    }

    /// The driver's loop turns, and its oldest answer has waited so long for the own disk.
    pub fn pulse(&self, disk_waits: Duration) {
        self.replication.disk_waits(disk_waits);
        self.replication.pulse();
    }

    /// A driver's loop that did not turn for so long may have been replaced.
    #[must_use]
    pub const fn hang(&self) -> Duration {
        self.hang
    }

    /// How long what is on the disk may wait for those who follow, before something is wrong with replication itself.
    #[must_use]
    pub const fn patience(&self) -> Duration {
        self.patience
    }

    /// The subnet manager is this from now on; to be told before anything that it wants kept as such.
    pub fn role(&mut self, state: SmState) {
        let before = core::mem::replace(&mut self.state, state);
        if before == state {
            return;
        }
        self.copy_by = None;
        self.out_of_step = None;
        let led = before == SmState::Master && !core::mem::take(&mut self.leads_then);
        if state != SmState::Standby {
            // Told before it is standby again.
            self.pending = Some(Input::ReplicaIncomplete(true));
        }
        match state {
            // Not before the records are read as the last master left them.
            SmState::Master if self.recalling.is_some() => self.leads_then = true,
            SmState::Master => self.lead(),
            SmState::Standby => {
                self.foreign = true;
                // What this one would keep now is that it keeps nothing; but the records become the master's.
                self.writer.set_accepting(false);
                self.writer.mark_superseded();
                // Where whoever was handed the subnet dies at once, nobody knows more.
                self.just_left = led;
                self.held = if led { Held::Behind } else { Held::Own };
                self.copy_by = Some(Instant::now() + COPY_WITHIN);
                self.replication.role(Role::Standby);
            }
            SmState::Discovering => self.replication.role(Role::Neither(Leaving::Stopping)),
            _ => {
                self.writer.mark_superseded();
                self.replication.role(Role::Neither(Leaving::HandingOver));
            }
        }
    }

    /// A history of one's own begins.
    fn lead(&mut self) {
        // 0 is nobody's history.
        let epoch = RandomState::new().hash_one(()) | 1;
        self.writer.set_accepting(true);
        self.writer.start_history(epoch);
        self.held = Held::Own;
        self.replication.role(Role::Master { epoch });
        let foreign = core::mem::take(&mut self.foreign);
        if foreign {
            // What clients once registered with somebody else would come back with the next takeover.
            let nothing = RecordKind::REGISTRATIONS.map(RecordUpdate::Clear);
            self.writer.submit(PersistRequest::Updates(nothing.into()));
        }
        if core::mem::take(&mut self.incomplete) || foreign {
            self.writer.submit(PersistRequest::View(None));
        }
    }

    /// What the last master kept is read; `None` if it is not wanted any more.
    fn has_recalled(&mut self, (question, held, restored): Recalled) -> Option<Input> {
        if self.recalling != Some(question) {
            return None;
        }
        self.recalling = None;
        // Without a copy of the master's, memory begins with no registrations.
        self.foreign = restored.is_none() || held == Held::Own;
        self.incomplete = restored.as_ref().is_none_or(|restored| !restored.complete);
        if core::mem::take(&mut self.leads_then) {
            self.lead();
        }
        Some(Input::ReplicaLoaded(restored))
    }

    /// The subnet manager is master without what is being read. What it wants kept from now on is kept.
    pub fn forgo(&mut self) {
        if self.recalling.take().is_none() {
            return;
        }
        self.foreign = true;
        if core::mem::take(&mut self.leads_then) {
            self.lead();
        }
    }

    /// Before a start with a copy, or with nothing: all that can be had now, where others keep it too. `None` where nobody
    /// does. Takes a second or so at most.
    pub async fn catch_up(&self) -> Option<RestoredState> {
        // What comes now are another's records.
        self.writer.set_accepting(false);
        let (sender, restored) = oneshot::channel();
        let writer = Arc::clone(&self.writer);
        self.replication.settle(Box::new(move |whole| {
            let held = match whole {
                Some(true) => Held::InStep,
                Some(false) => Held::Behind,
                None => return,
            };
            read(&writer, held, move |restored| {
                // If the program has ended meanwhile, nobody wants it.
                let _ = sender.send(restored);
            });
        }));
        let restored = restored.await.ok().flatten();
        self.writer.set_accepting(true);
        restored.map(|restored| *restored)
    }

    /// What the last master kept is wanted: [`Input::ReplicaLoaded`] comes from [`Self::ready`] then.
    pub fn recall(&mut self) {
        let sender = self.recall.clone();
        let held = self.held;
        // Asked again, they are what they are now, and the master may have gone on.
        self.held = held.min_behind();
        // Nothing is to change any more under what is read now.
        self.replication.role(Role::Neither(Leaving::Stopping));
        self.state = SmState::Discovering;
        self.copy_by = None;
        self.out_of_step = None;
        self.just_left = false;
        self.pending = Some(Input::ReplicaIncomplete(true));
        self.questions += 1;
        let question = self.questions;
        self.recalling = Some(question);
        let writer = Arc::clone(&self.writer);
        self.replication.settle(Box::new(move |whole| {
            let held = match whole {
                Some(true) => Held::InStep,
                Some(false) => held.min_behind(),
                None => held,
            };
            read(&writer, held, move |restored| {
                // If the driver has ended, nobody wants it.
                let _ = sender.send((question, held, restored));
            });
        }));
    }

    /// What has come already.
    pub fn take(&mut self) -> Option<Input> {
        if self.copy_by.is_some_and(|by| by <= Instant::now()) {
            warn!(within = ?COPY_WITHIN, "there is no copy of the master's state to be had");
            if core::mem::take(&mut self.just_left) {
                // The new master has gone on for long.
                self.held = Held::Own;
            }
            self.copied();
        }
        if self
            .out_of_step
            .is_some_and(|since| since <= Instant::now())
        {
            self.out_of_step = None;
            self.copy_by = Some(Instant::now() + COPY_WITHIN);
            self.pending = Some(Input::ReplicaIncomplete(true));
        }
        if let Some(input) = self.pending.take() {
            return Some(input);
        }
        while let Ok(restored) = self.recalled.try_recv() {
            let input = self.has_recalled(restored);
            if input.is_some() {
                return input;
            }
        }
        while let Ok(event) = self.events.try_recv() {
            let input = self.heed(&event);
            if input.is_some() {
                return input;
            }
        }
        None
    }

    /// Waits for something that the subnet manager is to know. May be cancelled.
    pub async fn ready(&mut self) -> Input {
        loop {
            if let Some(input) = self.pending.take() {
                return input;
            }
            tokio::select! {
                Some(restored) = self.recalled.recv() => {
                    if let Some(input) = self.has_recalled(restored) {
                        return input;
                    }
                }
                Some(event) = self.events.recv() => {
                    if let Some(input) = self.heed(&event) {
                        return input;
                    }
                }
                else => core::future::pending().await,
            }
        }
    }

    /// A standby waits no longer for its copy.
    fn copied(&mut self) {
        if self.copy_by.take().is_some() {
            self.pending = Some(Input::ReplicaIncomplete(false));
        }
    }

    fn heed(&mut self, event: &Event) -> Option<Input> {
        let sm = |guid: &u64| PortGuid(*guid);
        match event {
            Event::Leading => {
                info!("standbys may copy the state from here");
                None
            }
            Event::FollowerInStep { guid } => {
                info!(sm = %sm(guid), "a standby has a copy of the state");
                Some(Input::FerrosmPeer(sm(guid)))
            }
            Event::FollowerLost { guid, why } => {
                warn!(sm = %sm(guid), %why, "a standby has no copy of the state any more");
                None
            }
            Event::ProtectionLost(why) => {
                error!(why, "alarm: nobody has a copy of the state");
                None
            }
            Event::ProtectionRestored => {
                info!("somebody has a copy of the state again");
                None
            }
            Event::Hung(time) => {
                warn!(time_ms = time.as_millis(), "this process did not run");
                Some(Input::Stalled)
            }
            Event::LeaseLost(why) => {
                warn!(
                    why,
                    "the lease is lost: the other subnet managers are asked before anything is written"
                );
                Some(Input::LeaseLost)
            }
            Event::Deposed { guid } => {
                warn!(sm = %sm(guid), "another subnet manager has taken what only the master has");
                Some(Input::Deposed(sm(guid)))
            }
            Event::InStep { guid } => {
                info!(master = %sm(guid), "the copy of the master's state is whole");
                self.held = Held::InStep;
                self.just_left = false;
                self.out_of_step = None;
                self.copied();
                Some(Input::FerrosmPeer(sm(guid)))
            }
            Event::OutOfStep { guid, why } => {
                warn!(master = %sm(guid), why, "the copy of the master's state is not whole any more");
                self.held = self.held.min_behind();
                if self.state == SmState::Standby && self.copy_by.is_none() {
                    self.out_of_step
                        .get_or_insert_with(|| Instant::now() + IN_STEP_WITHIN);
                }
                None
            }
            Event::LeaderSilent {
                guid,
                in_step,
                uncertain,
            } => {
                warn!(master = %sm(guid), in_step, "nothing is heard of the master any more");
                self.held = self.held.if_in_step(*in_step);
                Some(Input::PeerSilent {
                    guid: sm(guid),
                    uncertain: *uncertain,
                })
            }
            Event::LeaderLeaving {
                guid,
                leaving,
                in_step,
            } => {
                self.held = self.held.if_in_step(*in_step);
                // One that hands over says so on the fabric.
                (*leaving == Leaving::Stopping).then(|| Input::PeerSilent {
                    guid: sm(guid),
                    uncertain: false,
                })
            }
            Event::Refused { peer, why } => {
                warn!(peer, why, "a peer is not what it should be");
                None
            }
        }
    }
}

/// Has the records read, and what they are to a start.
fn read(
    writer: &StateWriter,
    held: Held,
    done: impl FnOnce(Option<Box<RestoredState>>) + Send + 'static,
) {
    writer.read_all(move |everything| {
        done(match everything {
            Ok(everything) => Some(Box::new(restored(&everything.records, held))),
            Err(e) => {
                error!(error = %e, "the copy of the master's state cannot be read");
                None
            }
        });
    });
}

fn failure(why: impl Into<anyhow::Error>) -> Failure {
    Failure::with_hint(
        format!("cannot replicate the state: {:#}", why.into()),
        "See [replication] in the configuration, and docs/replication.md for certificates.",
    )
}

impl Held {
    const fn min_behind(self) -> Self {
        match self {
            Self::Own => Self::Own,
            Self::Behind | Self::InStep => Self::Behind,
        }
    }

    const fn if_in_step(self, in_step: bool) -> Self {
        if in_step {
            Self::InStep
        } else {
            self.min_behind()
        }
    }
}

/// What a takeover begins with. Of records that are not the master's only LIDs are worth anything: they never change.
fn restored(records: &[Record], held: Held) -> RestoredState {
    let (mut restored, left_out) = state::restore(records, SystemTime::now());
    for record in left_out {
        warn!(why = %record, "a record of the master's state is left out");
    }
    match held {
        Held::InStep => {}
        Held::Behind => restored.complete = false,
        Held::Own => {
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
    use ferrosm_replication::{Settle, Status, WarmCopy as _};

    /// Nobody to copy from: what is asked for is answered when the test says so.
    #[derive(Default)]
    struct Alone(Mutex<Option<Settle>>);

    impl core::fmt::Debug for Alone {
        fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
            f.write_str("Alone")
        }
    }

    impl Alone {
        fn settled(&self, whole: Option<bool>) {
            let settle = self.0.lock().unwrap().take();
            settle.unwrap()(whole);
        }
    }

    impl Replication for Alone {
        fn role(&self, _: Role) {}
        fn committed(&self, _: u64, _: &RecordBatch) {}
        fn acknowledged(&self) -> u64 {
            u64::MAX
        }
        fn pulse(&self) {}
        fn disk_waits(&self, _: Duration) {}
        fn settle(&self, then: Settle) {
            *self.0.lock().unwrap() = Some(then);
        }
        fn status(&self) -> Status {
            Status::default()
        }
    }

    fn copies(writer: &Arc<StateWriter>, alone: &Arc<Alone>) -> Copies {
        let (_, events) = mpsc::channel(1);
        let (recall, recalled) = mpsc::unbounded_channel();
        Copies {
            replication: Arc::clone(alone) as Arc<dyn Replication>,
            events,
            writer: Arc::clone(writer),
            recall,
            recalled,
            state: SmState::Master,
            held: Held::Own,
            recalling: None,
            leads_then: false,
            questions: 0,
            foreign: false,
            incomplete: false,
            hang: Duration::from_secs(1),
            patience: Duration::from_secs(1),
            pending: None,
            copy_by: None,
            out_of_step: None,
            just_left: false,
        }
    }

    /// A master with a store of its own, in a directory of this name.
    fn master(name: &str) -> (TempDir, Arc<StateWriter>, Arc<Alone>, Copies) {
        let dir = TempDir::new(name);
        let writer = Arc::new(StateDir::open(dir.path()).unwrap().writer().unwrap());
        let alone = Arc::new(Alone::default());
        let copies = copies(&writer, &alone);
        (dir, writer, alone, copies)
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

    /// Ports with LIDs and ports with aliases, as another start finds them.
    fn kept(dir: &TempDir) -> (Vec<u64>, Vec<u64>) {
        let restored = StateDir::open(dir.path()).unwrap().restored();
        let aliases = restored.registrations.aliases.iter().map(|a| a.port.0);
        (
            restored.lids.keys().map(|g| g.0).collect(),
            aliases.collect(),
        )
    }

    /// The next input that recalling gives; there must be one.
    fn recalled(copies: &mut Copies) -> RestoredState {
        loop {
            match copies.take() {
                Some(Input::ReplicaLoaded(restored)) => return *restored.unwrap(),
                Some(_) => {}
                None => std::thread::yield_now(),
            }
        }
    }

    /// What clients registered in an own reign long ago does not come back with the takeover after the next.
    #[test]
    fn a_takeover_without_a_copy_begins_without_registrations_on_the_disk_too() {
        let (dir, writer, alone, mut copies) = master("copies-own");
        copies.role(SmState::Standby);
        copies.role(SmState::Discovering);
        copies.role(SmState::Master);
        writer.submit(PersistRequest::Updates(vec![lid(1), alias(1)]));
        copies.role(SmState::Standby);
        // Its time for a copy is over.
        copies.copy_by = Some(Instant::now());
        let told = copies.take();
        assert!(
            matches!(told, Some(Input::ReplicaIncomplete(false))),
            "{told:?}"
        );
        copies.recall();
        alone.settled(None);
        let restored = recalled(&mut copies);
        assert!(restored.registrations.aliases.is_empty() && !restored.lids.is_empty());
        copies.role(SmState::Master);
        writer.submit(PersistRequest::Updates(vec![alias(2)]));
        drop((copies, writer));
        assert_eq!(kept(&dir), (vec![1], vec![2]));
    }

    /// Whoever was handed the subnet dies before it was copied from: what was registered here is all that there is.
    #[test]
    fn what_the_last_own_reign_left_is_not_thrown_away_at_once() {
        let (dir, writer, alone, mut copies) = master("copies-back");
        writer.submit(PersistRequest::Updates(vec![lid(1), alias(1)]));
        copies.role(SmState::Standby);
        copies.recall();
        alone.settled(None);
        let restored = recalled(&mut copies);
        let aliases = restored.registrations.aliases.len();
        assert_eq!((aliases, restored.complete), (1, false));
        copies.role(SmState::Master);
        drop((copies, writer));
        assert_eq!(kept(&dir), (vec![1], vec![1]));
    }

    /// Asked again without having been standby meanwhile: the master may have gone on.
    #[test]
    fn a_copy_is_whole_for_the_first_question_only() {
        let (_dir, _writer, alone, mut copies) = master("copies-again");
        copies.role(SmState::Standby);
        copies.heed(&Event::InStep { guid: 7 });
        let mut answer = || {
            copies.recall();
            alone.settled(None);
            copies.recalled.blocking_recv().unwrap().1
        };
        assert_eq!([answer(), answer()], [Held::InStep, Held::Behind]);
    }

    /// A standby that has lost its copy says so, when it is not only for a moment.
    #[test]
    fn a_standby_out_of_step_is_not_ready() {
        let (_dir, _writer, _alone, mut copies) = master("copies-out");
        copies.role(SmState::Standby);
        copies.heed(&Event::InStep { guid: 7 });
        copies.pending = None;
        let out = Event::OutOfStep {
            guid: 7,
            why: "slow".to_owned(),
        };
        copies.heed(&out);
        assert!(copies.take().is_none(), "it may be over in a moment");
        copies.out_of_step = Some(Instant::now());
        let told = copies.take();
        assert!(
            matches!(told, Some(Input::ReplicaIncomplete(true))),
            "{told:?}"
        );
        copies.heed(&Event::InStep { guid: 7 });
        let told = copies.take();
        assert!(
            matches!(told, Some(Input::ReplicaIncomplete(false))),
            "{told:?}"
        );
    }

    /// The subnet manager does not wait for ever for its copy: then what it wants kept is kept, and what comes late is not wanted.
    #[test]
    fn a_copy_that_comes_too_late_changes_nothing() {
        let (dir, writer, alone, mut copies) = master("copies-late");
        writer.submit(PersistRequest::Updates(vec![lid(1), alias(1)]));
        copies.role(SmState::Standby);
        copies.recall();
        copies.role(SmState::Master);
        copies.forgo();
        writer.submit(PersistRequest::Updates(vec![lid(2), alias(2)]));
        alone.settled(None);
        // Answered in the order of what was asked for.
        let _ = writer.replica_store().everything();
        while let Some(input) = copies.take() {
            assert!(!matches!(input, Input::ReplicaLoaded(_)), "{input:?}");
        }
        drop((copies, writer));
        assert_eq!(kept(&dir), (vec![1, 2], vec![2]));
    }
}
