//! What the tasks and the driver have in common: leader and follower under one lock, and who is told when they change.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use ferrosm_core::records::RecordBatch;

use super::TcpSettings;
use crate::event::Event;
use crate::follower::Follower;
use crate::leader::{Conn, Leader, Now, Outgoing};
use crate::log::{Log, Position};
use crate::node::Node;
use crate::store_thread::{StoreRequest, StoreResult};
use crate::tls::Tls;
use crate::wire::{self, Hello, NodeRole, Refusal, StepDownReason};
use crate::{PeerStatus, ReplicaCallback, ReplicationStatus, Role};

/// Complaints about peers that are remembered, so that each is told once.
const COMPLAINTS_MAX: usize = 64;

/// All of it.
pub(super) struct Shared {
    pub(super) settings: TcpSettings,
    pub(super) tls: Tls,
    pub(super) node: Node,
    core: Mutex<Core>,
}

/// What is under the lock.
pub(super) struct Core {
    pub(super) role: Role,
    pub(super) leader: Option<Leader>,
    /// The leader leaves: followers are told when they have all.
    pub(super) farewell: Option<StepDownReason>,
    pub(super) follower: Follower,
    /// The last batch that was committed before this node led, in the history that it begins.
    before_lead: u64,
    conns: u64,
    complaints: BTreeMap<String, String>,
}

impl Shared {
    pub(super) fn new(settings: TcpSettings, tls: Tls, node: Node) -> Self {
        Self {
            core: Mutex::new(Core {
                role: Role::Inactive(StepDownReason::Stopping),
                leader: None,
                farewell: None,
                follower: Follower::new(settings.timing),
                before_lead: 0,
                conns: 0,
                complaints: BTreeMap::new(),
            }),
            settings,
            tls,
            node,
        }
    }

    /// Does something under the lock, and passes on what comes of it.
    pub(super) fn with<T>(&self, f: impl FnOnce(&mut Core, Now) -> T) -> T {
        let mut core = self.core.lock().unwrap_or_else(PoisonError::into_inner);
        let done = f(&mut core, self.node.now());
        self.pass_on(&mut core);
        done
    }

    /// The same, and everybody looks whether there is something to do.
    pub(super) fn change<T>(&self, f: impl FnOnce(&mut Core, Now) -> T) -> T {
        let done = self.with(f);
        self.node.notify();
        done
    }

    fn pass_on(&self, core: &mut Core) {
        let jobs = core.follower.jobs();
        if !jobs.is_empty() {
            let turn = core.follower.turn();
            self.node.ask(StoreRequest::Jobs(turn, jobs));
        }
        let events = core.follower.events();
        events
            .into_iter()
            .for_each(|event| self.node.send_event(event));
        if let Some(leader) = &mut core.leader {
            let events = leader.events();
            let acknowledged = leader.acknowledged();
            self.node.acknowledge(|_| acknowledged);
            if core.farewell.is_none() {
                events
                    .into_iter()
                    .for_each(|event| self.node.send_event(event));
            }
        }
    }

    /// Something is wrong with a peer that an operator should know; once for each reason.
    pub(super) fn complain(&self, peer: &str, why: String) {
        self.with(|core, _| {
            if core.complaints.get(peer) == Some(&why) {
                return;
            }
            if core.complaints.len() >= COMPLAINTS_MAX {
                core.complaints.clear();
            }
            core.complaints.insert(peer.to_owned(), why.clone());
            let peer = peer.to_owned();
            self.node.send_event(Event::PeerRejected { peer, why });
        });
    }

    /// A peer is what it should be.
    pub(super) fn content(&self, peer: &str) {
        self.with(|core, _| core.complaints.remove(peer));
    }

    /// Told when all that was asked of the store before is done.
    pub(super) fn settled(&self, then: ReplicaCallback) {
        self.node
            .ask(StoreRequest::Settled(Box::new(move |_| then(None))));
    }

    pub(super) fn tick(&self) {
        let woken = self.with(|core, now| {
            core.follower.tick(now);
            let leader = core.leader.as_mut()?;
            let before = leader.acknowledged();
            leader.disk_delay(self.node.disk_delay());
            leader.tick(now);
            let gone = core.farewell.is_some() && leader.followers().next().is_none();
            // Pings wait for the driver to turn again.
            let waits = leader.waits() && self.node.alive();
            let told = gone || waits || leader.acknowledged() != before;
            if gone {
                core.leader = None;
                core.farewell = None;
            }
            told.then_some(())
        });
        if woken.is_some() {
            self.node.notify();
        }
    }

    pub(super) fn set_role(self: &Arc<Self>, role: Role) {
        // The driver turns: it says so.
        self.node.report_alive();
        self.change(|core, _| {
            if core.role == role {
                return;
            }
            core.role = role;
            if core.leader.is_some() && core.farewell.is_none() {
                core.farewell = Some(match role {
                    Role::Inactive(leaving) => leaving,
                    Role::Standby | Role::Master { .. } => StepDownReason::HandingOver,
                });
            }
            match role {
                Role::Standby => {}
                Role::Inactive(_) => core.follower.stop(),
                Role::Master { epoch } => {
                    core.follower.stop();
                    core.before_lead = 0;
                    self.lead_when_settled(epoch);
                }
            }
        });
    }

    fn lead_when_settled(self: &Arc<Self>, epoch: u64) {
        let weak = Arc::downgrade(self);
        self.node.ask(StoreRequest::Settled(Box::new(move |base| {
            if let Some(shared) = weak.upgrade() {
                shared.lead(epoch, base);
            }
        })));
    }

    /// All that came before is stored: the node may lead.
    fn lead(self: &Arc<Self>, epoch: u64, base: Option<Position>) {
        self.change(|core, now| {
            if core.role != (Role::Master { epoch }) {
                return;
            }
            if base.is_some_and(|base| base.seq < core.before_lead) {
                // Something was committed after the question: it is in no log, and would never come to anybody.
                self.lead_when_settled(epoch);
                return;
            }
            let log = Log::new(epoch, base, self.settings.log);
            core.leader = Some(Leader::new(log, self.settings.timing, now));
            core.farewell = None;
            self.node.send_event(Event::MasterReady);
        });
    }

    pub(super) fn committed(&self, seq: u64, batch: &RecordBatch) {
        let body = match wire::encode_batch(batch) {
            Ok(body) => body,
            Err(error) => return tracing::error!("replication: batch {seq}: {error}"),
        };
        self.change(|core, now| {
            // Before it leads: standbys get everything then, with what this batch changed.
            if !core.leading() {
                core.before_lead = core.before_lead.max(seq);
                return;
            }
            let done = core
                .leader
                .as_mut()
                .map(|l| l.committed(seq, body.into(), now));
            if let Some(Err(gap)) = done {
                tracing::error!("replication: {gap}");
            }
        });
    }

    /// The program ends.
    pub(super) fn leave(&self) {
        self.change(|core, _| {
            core.follower.stop();
            core.role = Role::Inactive(StepDownReason::Stopping);
            if core.leader.is_some() {
                core.farewell.get_or_insert(StepDownReason::Stopping);
            }
        });
    }

    /// Whether all followers were told.
    pub(super) fn parted(&self) -> bool {
        self.with(|core, _| {
            let leader = core.leader.as_ref();
            leader.is_none_or(|l| l.followers().next().is_none())
        })
    }

    pub(super) fn stored(&self, stored: StoreResult) {
        self.change(|core, _| match stored {
            StoreResult::Durable(turn, at) => core.follower.durable(turn, at),
            StoreResult::Failed(turn, error) => core.follower.failed(turn, &error.to_string()),
        });
    }

    pub(super) fn status(&self) -> ReplicationStatus {
        self.with(|core, now| ReplicationStatus {
            protected: core
                .leader
                .as_ref()
                .is_some_and(|l| l.followers().any(|(_, in_sync)| in_sync)),
            committed: core.leader.as_ref().map(|l| l.log().end()),
            acknowledged: core.leader.as_ref().map_or(0, Leader::acknowledged),
            standbys: core.leader.as_ref().map(|l| {
                let all = l.followers();
                all.map(|(guid, in_sync)| PeerStatus { guid, in_sync })
                    .collect()
            }),
            leader: core.follower.leader().map(|guid| PeerStatus {
                guid,
                in_sync: core.follower.in_sync(now),
            }),
        })
    }

    /// What this node says of itself.
    pub(super) fn hello(&self, position: Option<Position>) -> Hello {
        let standing = self.with(|core, _| match core.role {
            // One that hangs, or does not lead yet, is nobody's master.
            Role::Master { .. } if core.leading() && self.node.alive() => NodeRole::Master,
            Role::Standby => NodeRole::Standby,
            Role::Master { .. } | Role::Inactive(_) => NodeRole::Inactive,
        });
        Hello {
            fabric: self.settings.fabric.clone(),
            guid: self.settings.guid,
            priority: self.settings.priority,
            standing,
            position,
        }
    }

    /// Takes a follower on.
    pub(super) fn join(&self, hello: &Hello) -> Result<Conn, Refusal> {
        self.change(|core, now| {
            core.conns += 1;
            let conn = Conn(core.conns);
            let leading = core.leading();
            let leader = core.leader.as_mut().filter(|_| leading);
            leader.ok_or(Refusal::NotMaster)?.joined(conn, hello, now)?;
            Ok(conn)
        })
    }

    /// What is to be sent to a follower next.
    pub(super) fn next(&self, conn: Conn) -> Next {
        self.with(|core, now| {
            let alive = self.node.alive();
            let Some(leader) = core.leader.as_mut().filter(|l| l.serves(conn)) else {
                return Next::End;
            };
            match (leader.poll(conn, alive, now), core.farewell) {
                (Some(out), _) => Next::Send(out),
                (None, Some(leaving)) => Next::Goodbye(leaving),
                (None, None) => Next::Wait,
            }
        })
    }
}

/// What a connection to a follower is to do.
pub(super) enum Next {
    /// Send this.
    Send(Outgoing),
    /// Wait for a change.
    Wait,
    /// Say goodbye and end.
    Goodbye(StepDownReason),
    /// End.
    End,
}

impl Core {
    pub(super) fn leading(&self) -> bool {
        self.leader.is_some() && self.farewell.is_none()
    }
}
