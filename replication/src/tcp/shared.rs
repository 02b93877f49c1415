//! State shared by the tasks and the driver: leader and follower under one lock, and the
//! notification of changes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use ferrosm_core::StepDownReason;
use ferrosm_core::records::RecordBatch;

use super::TcpSettings;
use crate::event::ReplicationEvent;
use crate::follower::Follower;
use crate::leader::{ConnectionId, FollowerMessage, Leader, NodeTime};
use crate::log::{BatchLog, Position};
use crate::node::ReplicationNode;
use crate::store_thread::{StoreResult, StoreThreadRequest};
use crate::tls::Tls;
use crate::wire::{self, Hello, NodeRole, Refusal};
use crate::{PeerStatus, ReplicaCallback, ReplicationStatus, Role};

/// Limit of remembered errors of peers; each is reported once.
const PEER_ERRORS_MAX: usize = 64;

/// The shared state.
pub(super) struct TcpShared {
    pub(super) settings: TcpSettings,
    pub(super) tls: Tls,
    pub(super) node: ReplicationNode,
    state: Mutex<TcpState>,
}

/// The state under the lock.
pub(super) struct TcpState {
    pub(super) role: Role,
    pub(super) leader: Option<Leader>,
    /// The master steps down: followers are notified after the last batch.
    pub(super) stepping_down: Option<StepDownReason>,
    pub(super) follower: Follower,
    /// Sequence number of the last batch that this master committed before its `Leader` existed; 0
    /// for none.
    committed_before_term: u64,
    conns: u64,
    peer_errors: BTreeMap<String, String>,
}

impl TcpShared {
    pub(super) fn new(settings: TcpSettings, tls: Tls, node: ReplicationNode) -> Self {
        Self {
            state: Mutex::new(TcpState {
                role: Role::Inactive(StepDownReason::NoSuccessor),
                leader: None,
                stepping_down: None,
                follower: Follower::new(settings.timing),
                committed_before_term: 0,
                conns: 0,
                peer_errors: BTreeMap::new(),
            }),
            settings,
            tls,
            node,
        }
    }

    /// Calls `f` under the lock and forwards the resulting events and store jobs.
    pub(super) fn with_state<T>(&self, f: impl FnOnce(&mut TcpState, NodeTime) -> T) -> T {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let result = f(&mut state, self.node.now());
        self.forward(&mut state);
        result
    }

    /// As [`Self::with_state`], and wakes all tasks.
    pub(super) fn change<T>(&self, f: impl FnOnce(&mut TcpState, NodeTime) -> T) -> T {
        let result = self.with_state(f);
        self.node.notify();
        result
    }

    fn forward(&self, state: &mut TcpState) {
        let jobs = state.follower.take_jobs();
        if !jobs.is_empty() {
            let session = state.follower.session();
            self.node.request(StoreThreadRequest::Jobs(session, jobs));
        }
        let events = state.follower.take_events();
        events
            .into_iter()
            .for_each(|event| self.node.send_event(event));
        if let Some(leader) = &mut state.leader {
            let events = leader.take_events();
            let acknowledged = leader.acknowledged();
            self.node.acknowledge(|_| acknowledged);
            if state.stepping_down.is_none() {
                events
                    .into_iter()
                    .for_each(|event| self.node.send_event(event));
            }
        }
    }

    /// Reports an error of a peer, once for each reason.
    pub(super) fn report_peer_error(&self, peer: &str, reason: String) {
        self.with_state(|state, _| {
            if state.peer_errors.get(peer) == Some(&reason) {
                return;
            }
            if state.peer_errors.len() >= PEER_ERRORS_MAX {
                state.peer_errors.clear();
            }
            state.peer_errors.insert(peer.to_owned(), reason.clone());
            let peer = peer.to_owned();
            self.node
                .send_event(ReplicationEvent::PeerRejected { peer, reason });
        });
    }

    /// A peer has no error any more.
    pub(super) fn clear_peer_error(&self, peer: &str) {
        self.with_state(|state, _| state.peer_errors.remove(peer));
    }

    /// Calls `on_complete` when all earlier store requests are done.
    pub(super) fn after_store_requests(&self, on_complete: ReplicaCallback) {
        self.node
            .request(StoreThreadRequest::Flush(Box::new(move |_| {
                on_complete(None)
            })));
    }

    pub(super) fn tick(&self) {
        let wake = self.with_state(|state, now| {
            state.follower.tick(now);
            let leader = state.leader.as_mut()?;
            let before = leader.acknowledged();
            leader.set_disk_delay(self.node.disk_delay());
            leader.tick(now);
            let all_notified = state.stepping_down.is_some() && leader.followers().next().is_none();
            // Pings wait until the driver's loop runs.
            let pings = leader.has_pending_ping() && self.node.is_alive();
            let wake = all_notified || pings || leader.acknowledged() != before;
            if all_notified {
                state.leader = None;
                state.stepping_down = None;
            }
            wake.then_some(())
        });
        if wake.is_some() {
            self.node.notify();
        }
    }

    pub(super) fn set_role(self: &Arc<Self>, role: Role) {
        // The call shows that the driver's loop runs.
        self.node.report_alive();
        self.change(|state, _| {
            if state.role == role {
                return;
            }
            state.role = role;
            if state.leader.is_some() && state.stepping_down.is_none() {
                state.stepping_down = Some(match role {
                    Role::Inactive(reason) => reason,
                    Role::Standby | Role::Master { .. } => StepDownReason::SuccessorExpected,
                });
            }
            match role {
                Role::Standby => {}
                Role::Inactive(_) => state.follower.stop(),
                Role::Master { epoch } => {
                    state.follower.stop();
                    state.committed_before_term = 0;
                    self.start_term_after_store_requests(epoch);
                }
            }
        });
    }

    fn start_term_after_store_requests(self: &Arc<Self>, epoch: u64) {
        let weak = Arc::downgrade(self);
        self.node
            .request(StoreThreadRequest::Flush(Box::new(move |base| {
                if let Some(shared) = weak.upgrade() {
                    shared.start_term(epoch, base);
                }
            })));
    }

    /// All earlier store jobs are done: the term can start.
    fn start_term(self: &Arc<Self>, epoch: u64, base: Option<Position>) {
        self.change(|state, now| {
            if state.role != (Role::Master { epoch }) {
                return;
            }
            if base.is_some_and(|base| base.seq < state.committed_before_term) {
                // A batch was committed after the position was read. It is in no log, so followers
                // would never get it.
                self.start_term_after_store_requests(epoch);
                return;
            }
            let log = BatchLog::new(epoch, base, self.settings.log);
            state.leader = Some(Leader::new(log, self.settings.timing, now));
            state.stepping_down = None;
            self.node.send_event(ReplicationEvent::MasterReady);
        });
    }

    pub(super) fn committed(&self, seq: u64, batch: &RecordBatch) {
        let body = match wire::encode_batch(batch) {
            Ok(body) => body,
            Err(error) => return tracing::error!(seq, %error, "batch not replicated"),
        };
        self.change(|state, now| {
            // Before the start of the term: standbys get this batch with a snapshot.
            if !state.is_serving() {
                state.committed_before_term = state.committed_before_term.max(seq);
                return;
            }
            let result = state
                .leader
                .as_mut()
                .map(|l| l.append(seq, body.into(), now));
            if let Some(Err(error)) = result {
                tracing::error!(%error, "batch not replicated");
            }
        });
    }

    /// The program stops.
    pub(super) fn leave(&self) {
        self.change(|state, _| {
            state.follower.stop();
            state.role = Role::Inactive(StepDownReason::NoSuccessor);
            if state.leader.is_some() {
                state
                    .stepping_down
                    .get_or_insert(StepDownReason::NoSuccessor);
            }
        });
    }

    /// Whether all followers were notified.
    pub(super) fn are_followers_notified(&self) -> bool {
        self.with_state(|state, _| {
            let leader = state.leader.as_ref();
            leader.is_none_or(|l| l.followers().next().is_none())
        })
    }

    pub(super) fn on_store_result(&self, stored: StoreResult) {
        self.change(|state, _| match stored {
            StoreResult::Durable(session, at) => state.follower.on_durable(session, at),
            StoreResult::Failed(session, error) => {
                state.follower.on_store_failed(session, &error.to_string())
            }
        });
    }

    pub(super) fn status(&self) -> ReplicationStatus {
        self.with_state(|state, now| ReplicationStatus {
            protected: state
                .leader
                .as_ref()
                .is_some_and(|l| l.followers().any(|(_, in_sync)| in_sync)),
            committed: state.leader.as_ref().map(|l| l.log().end_position()),
            acknowledged: state.leader.as_ref().map_or(0, Leader::acknowledged),
            standbys: state.leader.as_ref().map(|l| {
                let followers = l.followers();
                followers
                    .map(|(guid, in_sync)| PeerStatus { guid, in_sync })
                    .collect()
            }),
            master: state.follower.master().map(|guid| PeerStatus {
                guid,
                in_sync: state.follower.in_sync(now),
            }),
        })
    }

    /// The hello of this node.
    pub(super) fn hello(&self, position: Option<Position>) -> Hello {
        let role = self.with_state(|state, _| match state.role {
            // A node that is stalled, or has not started its term, does not respond as master.
            Role::Master { .. } if state.is_serving() && self.node.is_alive() => NodeRole::Master,
            Role::Standby => NodeRole::Standby,
            Role::Master { .. } | Role::Inactive(_) => NodeRole::Inactive,
        });
        Hello {
            fabric: self.settings.fabric.clone(),
            guid: self.settings.guid,
            priority: self.settings.priority,
            role,
            position,
        }
    }

    /// Accepts a follower.
    pub(super) fn accept_follower(&self, hello: &Hello) -> Result<ConnectionId, Refusal> {
        self.change(|state, now| {
            state.conns += 1;
            let conn = ConnectionId(state.conns);
            let is_serving = state.is_serving();
            let leader = state.leader.as_mut().filter(|_| is_serving);
            leader
                .ok_or(Refusal::NotMaster)?
                .on_connected(conn, hello, now)?;
            Ok(conn)
        })
    }

    /// The next action on a follower's connection.
    pub(super) fn next_action(&self, conn: ConnectionId) -> NextAction {
        self.with_state(|state, now| {
            let is_driver_alive = self.node.is_alive();
            let Some(leader) = state
                .leader
                .as_mut()
                .filter(|l| l.is_current_connection(conn))
            else {
                return NextAction::End;
            };
            match (leader.poll(conn, is_driver_alive, now), state.stepping_down) {
                (Some(out), _) => NextAction::Send(out),
                (None, Some(reason)) => NextAction::Goodbye(reason),
                (None, None) => NextAction::Wait,
            }
        })
    }
}

/// Action on a connection to a follower.
pub(super) enum NextAction {
    /// Send this.
    Send(FollowerMessage),
    /// Wait for a change.
    Wait,
    /// Send Goodbye and close.
    Goodbye(StepDownReason),
    /// Close.
    End,
}

impl TcpState {
    pub(super) fn is_serving(&self) -> bool {
        self.leader.is_some() && self.stepping_down.is_none()
    }
}
