//! The replica of the master's records at this node, and this node's role in replication.
//!
//! It decides which records the next term starts from, how long a standby waits until its replica
//! is complete, and when a new term starts. Role changes are outputs in the same order as
//! [`Output::Persist`]: batches after [`ReplicationRole::Standby`] are not persisted, those after
//! [`ReplicationRole::Master`] are. Without replication, only loads are numbered and awaited.

use core::time::Duration;

use ferrosm_mad::attr::SmState;
use ferrosm_mad::time::Instant;

use crate::election::RoleChangeReason;
use crate::event::Event;
use crate::io::{LoadedReplica, Output, ReplicationRole, StepDownReason};
use crate::outbox::Outbox;
use crate::records::{RecordKind, RecordUpdate, RestoredState};
use ferrosm_sa::registry::registration::Registrations;

/// Time that a standby waits for its replica. Then it accepts a handover without one, because its
/// master has none to offer.
const REPLICA_TIMEOUT: Duration = Duration::from_secs(10);
/// Time that a standby may be out of sync before it rejects handovers until its replica is complete
/// again.
const OUT_OF_SYNC_GRACE: Duration = Duration::from_secs(1);
/// Time within which the replica is loaded; then the takeover continues without it.
const LOAD_TIMEOUT: Duration = Duration::from_secs(2);

/// Whose records the store holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReplicaContents {
    /// Those of this node's own last term.
    Own,
    /// The master's; the last ones may be missing.
    Incomplete,
    /// All that the master acknowledged.
    Complete,
}

impl ReplicaContents {
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

    /// The state that a takeover starts from. Of the own records only LIDs and keys are used.
    fn usable(self, mut restored: RestoredState) -> RestoredState {
        match self {
            Self::Complete => {}
            Self::Incomplete => restored.complete = false,
            Self::Own => {
                restored.registrations = Registrations::default();
                restored.snapshot = None;
                restored.routing = None;
                restored.complete = false;
            }
        }
        restored
    }
}

/// A load in progress.
#[derive(Debug)]
struct ReplicaLoad {
    number: u64,
    deadline: Instant,
    /// The contents of the store when it was requested.
    contents: ReplicaContents,
}

/// The replica and the role in replication.
#[derive(Debug)]
pub(super) struct StandbyReplica {
    /// Replication is in use.
    is_enabled: bool,
    /// The SM state that the role follows from. Discovering during a load.
    state: SmState,
    contents: ReplicaContents,
    /// The last load requested.
    loads: u64,
    load: Option<ReplicaLoad>,
    /// This SM became master during a load: its term starts when the load ends.
    starts_term_after_load: bool,
    /// The records in the store differ from those in memory.
    store_differs: bool,
    /// A term has started with other records in the store: its LID records are not the LID map of
    /// this SM.
    lid_records_differ: bool,
    /// Records are missing: a restart must not use the view as complete.
    records_incomplete: bool,
    /// The replica is incomplete: a standby must not be handed the subnet.
    is_incomplete: bool,
    /// What [`Self::take_change`] last returned.
    reported_incomplete: bool,
    /// A standby waits for its replica until then.
    deadline: Option<Instant>,
    /// A standby that is still out of sync waits for its replica again from then on.
    out_of_sync_deadline: Option<Instant>,
    /// The records are of this node's own term, which has just ended.
    own_term_just_ended: bool,
}

impl StandbyReplica {
    /// `records_incomplete`: records are missing in the restored state.
    pub(super) const fn new(records_incomplete: bool) -> Self {
        Self {
            is_enabled: false,
            state: SmState::Discovering,
            contents: ReplicaContents::Own,
            loads: 0,
            load: None,
            starts_term_after_load: false,
            store_differs: false,
            lid_records_differ: false,
            records_incomplete,
            is_incomplete: false,
            reported_incomplete: false,
            deadline: None,
            out_of_sync_deadline: None,
            own_term_just_ended: false,
        }
    }

    /// Replication is in use; called before any output.
    pub(super) const fn enable(&mut self) {
        self.is_enabled = true;
        self.is_incomplete = true;
    }

    /// Whether a standby must not be handed the subnet, because its replica is incomplete; `None`
    /// if unchanged since the last call.
    pub(super) fn take_change(&mut self) -> Option<bool> {
        let before = core::mem::replace(&mut self.reported_incomplete, self.is_incomplete);
        (before != self.is_incomplete).then_some(self.is_incomplete)
    }

    /// Whether the LID records must be replaced by the LID map of this SM; once a term.
    pub(super) const fn take_lid_records_differ(&mut self) -> bool {
        core::mem::replace(&mut self.lid_records_differ, false)
    }

    /// Whether a load is in progress.
    pub(super) const fn is_loading(&self) -> bool {
        self.load.is_some()
    }

    /// When [`Self::on_timeout`] is due.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let load = self.load.as_ref().map(|load| load.deadline);
        let waits = self.deadline.into_iter().chain(self.out_of_sync_deadline);
        load.into_iter().chain(waits).min()
    }

    /// The SM state changed. Must precede all records that the SM persists in this state.
    pub(super) fn set_state(
        &mut self,
        out: &mut Outbox,
        state: SmState,
        reason: RoleChangeReason,
        now: Instant,
    ) {
        let before = core::mem::replace(&mut self.state, state);
        if before == state || !self.is_enabled {
            return;
        }
        self.clear_deadlines();
        let was_master =
            before == SmState::Master && !core::mem::take(&mut self.starts_term_after_load);
        // Applies to a standby until its replica is complete.
        self.is_incomplete = true;
        match state {
            // The term starts after the load, which reads the records as the last master left them.
            SmState::Master if self.is_loading() => self.starts_term_after_load = true,
            SmState::Master => self.start_term(out),
            SmState::Standby => {
                self.store_differs = true;
                // If the new master dies at once, these records are the latest.
                self.own_term_just_ended = was_master;
                self.contents = if was_master {
                    ReplicaContents::Incomplete
                } else {
                    ReplicaContents::Own
                };
                self.deadline = Some(now + REPLICA_TIMEOUT);
                out.push(Output::Replicate(ReplicationRole::Standby));
            }
            SmState::Discovering => step_down(out, StepDownReason::NoSuccessor),
            // Stopped without a successor: the records stay the latest.
            _ if reason == RoleChangeReason::OperatorRequest => {
                step_down(out, StepDownReason::NoSuccessor);
            }
            _ => step_down(out, StepDownReason::SuccessorExpected),
        }
    }

    const fn clear_deadlines(&mut self) {
        self.deadline = None;
        self.out_of_sync_deadline = None;
    }

    /// Starts a term of this master, with a history of its own.
    fn start_term(&mut self, out: &mut Outbox) {
        self.contents = ReplicaContents::Own;
        out.push(Output::Replicate(ReplicationRole::Master));
        let store_differs = core::mem::take(&mut self.store_differs);
        if store_differs {
            // Registrations of earlier terms must not reappear at the next takeover.
            out.persist(RecordKind::REGISTRATIONS.map(RecordUpdate::Clear).into());
            self.lid_records_differ = true;
        }
        if core::mem::take(&mut self.records_incomplete) || store_differs {
            out.persist_snapshot(None);
        }
    }

    /// A standby may become master soon: its replica is loaded. The store does not change until the
    /// load ends.
    pub(super) fn request_load(&mut self, out: &mut Outbox, now: Instant) {
        let contents = self.contents;
        // For a second load: the master may have changed records since.
        self.contents = contents.or_incomplete();
        self.clear_deadlines();
        self.own_term_just_ended = false;
        self.is_incomplete = self.is_enabled;
        self.state = SmState::Discovering;
        self.loads += 1;
        self.load = Some(ReplicaLoad {
            number: self.loads,
            deadline: now + LOAD_TIMEOUT,
            contents,
        });
        if self.is_enabled {
            step_down(out, StepDownReason::NoSuccessor);
        }
        out.push(Output::LoadReplica { load: self.loads });
    }

    /// The load is abandoned: if a term starts without another load, it starts without the records
    /// in the store.
    pub(super) fn abandon_load(&mut self, out: &mut Outbox) {
        if self.load.take().is_none() {
            return;
        }
        self.store_differs = true;
        if core::mem::take(&mut self.starts_term_after_load) {
            self.start_term(out);
        }
    }

    /// A load has finished. Returns what the takeover starts from; the outer `None` if it was
    /// abandoned.
    pub(super) fn end_load(
        &mut self,
        out: &mut Outbox,
        loaded: LoadedReplica,
    ) -> Option<Option<RestoredState>> {
        let load = self.load.take_if(|load| load.number == loaded.load)?;
        let contents = match loaded.complete {
            Some(complete) => load.contents.complete_if(complete),
            None => load.contents,
        };
        let restored = loaded.restored.map(|restored| contents.usable(*restored));
        self.store_differs = restored.is_none() || contents == ReplicaContents::Own;
        self.records_incomplete = restored.as_ref().is_none_or(|restored| !restored.complete);
        if core::mem::take(&mut self.starts_term_after_load) {
            self.start_term(out);
        }
        Some(restored)
    }

    /// Replication reports that the replica has all that the master acknowledged.
    pub(super) fn on_in_sync(&mut self) {
        if self.state != SmState::Standby {
            return;
        }
        self.contents = ReplicaContents::Complete;
        self.own_term_just_ended = false;
        self.stop_waiting();
    }

    /// Replication reports that the replica may lack records.
    pub(super) fn on_out_of_sync(&mut self, now: Instant) {
        if self.state != SmState::Standby {
            return;
        }
        self.contents = self.contents.or_incomplete();
        if self.is_enabled && self.deadline.is_none() {
            self.out_of_sync_deadline
                .get_or_insert(now + OUT_OF_SYNC_GRACE);
        }
    }

    /// The master is silent or steps down. `in_sync`: the replica has all that it acknowledged.
    pub(super) fn on_master_end(&mut self, in_sync: bool) {
        if self.state == SmState::Standby {
            self.contents = self.contents.complete_if(in_sync);
        }
    }

    /// A standby stops waiting for its replica, and may be handed the subnet.
    const fn stop_waiting(&mut self) {
        self.clear_deadlines();
        self.is_incomplete = false;
    }

    /// Ends what has timed out. Returns whether that is a load.
    pub(super) fn on_timeout(&mut self, out: &mut Outbox, now: Instant) -> bool {
        if self.deadline.is_some_and(|due| due <= now) {
            out.emit(Event::ReplicaUnavailable);
            if core::mem::take(&mut self.own_term_just_ended) {
                // The new master has changed records for a while.
                self.contents = ReplicaContents::Own;
            }
            self.stop_waiting();
        }
        if self.out_of_sync_deadline.is_some_and(|due| due <= now) {
            self.out_of_sync_deadline = None;
            self.deadline = Some(now + REPLICA_TIMEOUT);
            self.is_incomplete = true;
        }
        let load_timed_out = self.load.as_ref().is_some_and(|load| load.deadline <= now);
        if load_timed_out {
            out.emit(Event::ReplicaTimedOut);
            self.abandon_load(out);
        }
        load_timed_out
    }
}

fn step_down(out: &mut Outbox, reason: StepDownReason) {
    out.push(Output::Replicate(ReplicationRole::Inactive(reason)));
}

#[cfg(test)]
mod tests;
