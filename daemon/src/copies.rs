//! Where the copies of the state meet the election: who leads and who follows is what the subnet manager is, and what is heard of the
//! others goes to it.
//!
//! Owned by the driver. It decides nothing of its own: the election says who is master, [`crate::replication`] how copies are made,
//! and the thread that writes state is asked for the records that a takeover begins with.

use core::time::Duration;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use ferrosm_core::kept::Batch;
use ferrosm_core::sa::registry::saved::Saved;
use ferrosm_core::{Input, Restored};
use ferrosm_mad::attr::SmState;
use ferrosm_mad::ids::PortGuid;
use tokio::sync::mpsc;
use tracing::{error, info, warn};

use crate::failure::Failure;
use crate::replication::tcp::{self, Tcp};
use crate::replication::{self, Event, Leaving, Replication, Role, Settings};
use crate::state::{self, Follow, Writer};

/// The driver's loop turns at least so often, so that others see that it does.
pub const PULSE: Duration = Duration::from_millis(50);

/// A standby that has no copy after so long takes the subnet without, if it is handed to it: its master has none to give.
const COPY_WITHIN: Duration = Duration::from_secs(10);

/// What a takeover begins with; `None` if it could not be read.
type Recalled = Option<Box<Restored>>;

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
    writer: Arc<Writer>,
    /// Where what is recalled goes in, and comes out.
    recall: mpsc::UnboundedSender<Recalled>,
    recalled: mpsc::UnboundedReceiver<Recalled>,
    state: SmState,
    held: Held,
    /// What the last master kept is being read; a history of one's own begins after that, and is to begin.
    recalling: bool,
    leads_then: bool,
    /// After so long a standby may take a driver that does not turn for dead.
    hang: Duration,
    /// What the subnet manager is to be told next.
    pending: Option<Input>,
    /// Until then a standby waits for its copy.
    copy_by: Option<Instant>,
}

/// Replication, as the thread that writes state sees it.
struct Following(Arc<dyn Replication>);

impl Follow for Following {
    fn committed(&self, number: u64, batch: &Batch) {
        self.0.committed(number, batch);
    }

    fn acknowledged(&self) -> u64 {
        self.0.acknowledged()
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        // Who follows holds on to the records, and the records to who follows: without this neither would ever end.
        self.writer.durable().follow(None);
    }
}

impl Copies {
    /// Begins to listen, and to look for a master.
    ///
    /// # Errors
    /// If certificates or the address are not what they should be.
    pub fn start(
        settings: Settings,
        guid: PortGuid,
        priority: u8,
        writer: Arc<Writer>,
    ) -> Result<Self, Failure> {
        let (sender, events) = mpsc::channel(replication::EVENTS);
        let (replication, hang): (Arc<dyn Replication>, _) = match settings {
            Settings::Tcp(settings) => {
                let settings = tcp::Settings {
                    guid: guid.0,
                    priority,
                    ..settings
                };
                let hang = settings.hang;
                let started = Tcp::start(settings, Arc::new(writer.warm()), sender);
                let tcp = started.map_err(|e| failure(&e))?;
                info!(listen = %tcp.address(), "state is replicated");
                (Arc::new(tcp), hang)
            }
            #[cfg(feature = "etcd")]
            Settings::Etcd(settings) => {
                use crate::replication::etcd::{self, Etcd};
                let settings = etcd::Settings {
                    guid: guid.0,
                    ..settings
                };
                let hang = settings.hang;
                let started = Etcd::start(settings, Arc::new(writer.warm()), sender);
                let etcd = started.map_err(|e| failure(&e))?;
                info!(?etcd, "state is replicated");
                (Arc::new(etcd), hang)
            }
            #[cfg(not(feature = "etcd"))]
            Settings::Etcd(_) => {
                return Err(failure(
                    &"this ferrosm was built without the feature `etcd`",
                ));
            }
        };
        let follow = Arc::new(Following(Arc::clone(&replication)));
        writer.durable().follow(Some(follow));
        let (recall, recalled) = mpsc::unbounded_channel();
        Ok(Self {
            replication,
            events,
            writer,
            recall,
            recalled,
            state: SmState::Discovering,
            held: Held::Own,
            recalling: false,
            leads_then: false,
            hang,
            pending: Some(Input::Copying(true)),
            copy_by: None,
        })
    }

    /// The driver's loop turns.
    pub fn pulse(&self) {
        self.replication.pulse();
    }

    /// A driver's loop that did not turn for so long may have been replaced.
    #[must_use]
    pub const fn hang(&self) -> Duration {
        self.hang
    }

    /// The subnet manager is this from now on; to be told before anything that it wants kept as such.
    pub fn role(&mut self, state: SmState) {
        let before = core::mem::replace(&mut self.state, state);
        if before == state {
            return;
        }
        self.copy_by = None;
        self.leads_then = false;
        if state != SmState::Standby {
            // Told before it is standby again.
            self.pending = Some(Input::Copying(true));
        }
        match state {
            // Not before the records are read as the last master left them.
            SmState::Master if self.recalling => self.leads_then = true,
            SmState::Master => self.lead(),
            SmState::Standby => {
                // What this one would keep now is that it keeps nothing; but the records become the master's.
                self.writer.listen(false);
                self.writer.resign();
                self.held = Held::Own;
                self.copy_by = Some(Instant::now() + COPY_WITHIN);
                self.replication.role(Role::Standby);
            }
            SmState::Discovering => self.replication.role(Role::Neither(Leaving::Stopping)),
            _ => {
                self.writer.resign();
                self.replication.role(Role::Neither(Leaving::HandingOver));
            }
        }
    }

    /// A history of one's own begins.
    fn lead(&mut self) {
        // 0 is nobody's history.
        let epoch = RandomState::new().hash_one(()) | 1;
        self.writer.listen(true);
        self.writer.lead(epoch);
        self.held = Held::Own;
        self.replication.role(Role::Master { epoch });
    }

    /// What the last master kept is read.
    fn has_recalled(&mut self, restored: Recalled) -> Input {
        self.recalling = false;
        if core::mem::take(&mut self.leads_then) {
            self.lead();
        }
        Input::Recalled(restored)
    }

    /// What the last master kept is wanted: [`Input::Recalled`] comes from [`Self::ready`] then.
    pub fn recall(&mut self) {
        let sender = self.recall.clone();
        let held = self.held;
        // Nothing is to change any more under what is read now.
        self.replication.role(Role::Neither(Leaving::Stopping));
        self.state = SmState::Discovering;
        self.copy_by = None;
        self.pending = Some(Input::Copying(true));
        self.recalling = true;
        let writer = Arc::clone(&self.writer);
        self.replication.settle(Box::new(move |whole| {
            let held = match whole {
                Some(true) => Held::InStep,
                Some(false) => held.min_behind(),
                None => held,
            };
            writer.recall(move |everything| {
                let restored = match everything {
                    Ok(everything) => Some(Box::new(restored(&everything.records, held))),
                    Err(e) => {
                        error!(error = %e, "the copy of the master's state cannot be read");
                        None
                    }
                };
                // If the driver has ended, nobody wants it.
                let _ = sender.send(restored);
            });
        }));
    }

    /// What has come already.
    pub fn take(&mut self) -> Option<Input> {
        if self.copy_by.is_some_and(|by| by <= Instant::now()) {
            warn!(within = ?COPY_WITHIN, "there is no copy of the master's state to be had");
            self.copied();
        }
        if let Some(input) = self.pending.take() {
            return Some(input);
        }
        if let Ok(restored) = self.recalled.try_recv() {
            return Some(self.has_recalled(restored));
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
                Some(restored) = self.recalled.recv() => return self.has_recalled(restored),
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
            self.pending = Some(Input::Copying(false));
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
                Some(Input::PeerSm(sm(guid)))
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
                warn!(why, "the lease is lost");
                Some(Input::Stalled)
            }
            Event::Deposed { guid } => {
                warn!(sm = %sm(guid), "another subnet manager has taken what only the master has");
                Some(Input::Deposed(sm(guid)))
            }
            Event::InStep { guid } => {
                info!(master = %sm(guid), "the copy of the master's state is whole");
                self.held = Held::InStep;
                self.copied();
                Some(Input::PeerSm(sm(guid)))
            }
            Event::OutOfStep { guid, why } => {
                warn!(master = %sm(guid), why, "the copy of the master's state is not whole any more");
                self.held = self.held.min_behind();
                None
            }
            Event::LeaderSilent { guid, in_step } => {
                warn!(master = %sm(guid), in_step, "nothing is heard of the master any more");
                self.held = self.held.if_in_step(*in_step);
                Some(Input::PeerSilent(sm(guid)))
            }
            Event::LeaderLeaving {
                guid,
                leaving,
                in_step,
            } => {
                self.held = self.held.if_in_step(*in_step);
                // One that hands over says so on the fabric.
                (*leaving == Leaving::Stopping).then(|| Input::PeerSilent(sm(guid)))
            }
            Event::Refused { peer, why } => {
                warn!(peer, why, "a peer is not what it should be");
                None
            }
        }
    }
}

fn failure(why: &dyn core::fmt::Display) -> Failure {
    Failure::with_hint(
        format!("cannot replicate the state: {why}"),
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
fn restored(records: &[replication::Record], held: Held) -> Restored {
    let (mut restored, left_out) = state::restore(records, SystemTime::now());
    for record in left_out {
        warn!(why = %record, "a record of the master's state is left out");
    }
    match held {
        Held::InStep => {}
        Held::Behind => restored.complete = false,
        Held::Own => {
            restored.registrations = Saved::default();
            restored.snapshot = None;
            restored.routing = None;
            restored.complete = false;
        }
    }
    restored
}
