//! A standby with etcd: reads missing batches, watches for new ones, and checks whether the master
//! renews its leases.

use core::convert::Infallible;
use core::time::Duration;
use std::sync::Arc;

use etcd_client::{Event as KeyEvent, KeyValue};
use tokio::time::sleep;

use super::client::{EtcdError, EtcdMember, KeyRange};
use super::keys::{
    Assembly, Base, Head, MasterValue, Records, decode_value, prefix_range, range_end,
};
use super::master::{delete_master_key, is_gone, read_lease_state};
use super::name::claim_keys;
use super::shared::{
    COMPLETE_TIMEOUT, EtcdShared, HANDOVER_TIMEOUT, LeaseEvidence, PERSISTENT_FAILURE_PAUSE,
    RETRY_MIN,
};
use crate::PeerStatus;
use crate::event::ReplicationEvent;
use crate::follower::{SessionId, StoreJob};
use crate::leader::NodeTime;
use crate::log::Position;
use crate::store_thread::StoreThreadRequest;
use crate::wire::decode_batch;

/// Interval of log messages about repeated failures.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// Limit of batches that wait for the local disk; beyond it the session restarts after they are
/// stored.
const PENDING_MAX: u64 = 16_384;

/// Batches in etcd that the store lacks.
#[derive(Debug)]
struct MissingBatches {
    jobs: Vec<StoreJob>,
    /// Position of the store after them; `None` if etcd has no records.
    head: Option<Position>,
    /// etcd's revision of this state.
    revision: i64,
}

/// Reads what a store at position `at` lacks.
async fn read_missing(
    shared: &EtcdShared,
    member: &EtcdMember,
    at: Option<Position>,
) -> Result<MissingBatches, EtcdError> {
    let keys = &shared.keys;
    let (head, revision) = member.get(keys.head()).await?;
    let mut jobs = Vec::new();
    let Some(head) = head else {
        let head = None;
        return Ok(MissingBatches {
            jobs,
            head,
            revision,
        });
    };
    let head = decode_value::<Head>(head.value())?.at;
    let bases = member
        .range(KeyRange::of_key(keys.base()), revision)
        .await?;
    let base: Base = decode_value(bases.first().ok_or(EtcdError::Garbled("base"))?.value())?;
    let since = at.filter(|at| at.seq >= base.at.seq);
    let log = KeyRange {
        from: keys.log_from(since.unwrap_or(base.at).seq),
        end: range_end(&keys.log()),
    };
    let mut batches = Vec::new();
    let mut assembly = Assembly::default();
    for pair in member.range(log, revision).await? {
        if let Some((position, bytes)) = assembly.add(pair.value())?
            && position.seq <= head.seq
        {
            batches.push((position, decode_batch(&bytes)?));
        }
    }
    // The batch at the store's position identifies its history.
    let known =
        |at: &Position| *at == base.at || *at == head || batches.iter().any(|(p, _)| p == at);
    let start = match since.filter(known) {
        Some(at) => at,
        // A diverged history; not all batches were read.
        None if since.is_some() => return Box::pin(read_missing(shared, member, None)).await,
        None => {
            let prefix = keys.snapshot(base.at);
            let mut records = Records::default();
            let mut parts = 0_u64;
            for pair in member.range(prefix_range(prefix), revision).await? {
                records.add(pair.value())?;
                parts += 1;
            }
            if parts != base.part_count {
                return Err(EtcdError::Garbled("snapshot"));
            }
            jobs.push(StoreJob::Replace(base.at, records.into_records()));
            base.at
        }
    };
    let mut last = start.seq;
    for (position, batch) in batches.into_iter().filter(|(p, _)| p.seq > start.seq) {
        if position.seq != last + 1 {
            return Err(EtcdError::Garbled("log"));
        }
        last = position.seq;
        jobs.push(StoreJob::Apply(position, batch));
    }
    if last != head.seq {
        return Err(EtcdError::Garbled("head"));
    }
    let head = Some(head);
    Ok(MissingBatches {
        jobs,
        head,
        revision,
    })
}

/// Completes the replica for use by a new master, and fences the old one. Returns whether it has
/// all that the old master acknowledged.
pub(super) async fn complete_replica(shared: &EtcdShared) -> Result<bool, EtcdError> {
    let began = shared.node.now();
    let evidence = shared.with_state(|state| state.evidence);
    let is_certain = match evidence {
        LeaseEvidence::None => false,
        LeaseEvidence::Fresh(at) => began.saturating_sub(at) < shared.settings.reply_timeout,
        LeaseEvidence::Released => true,
    };
    if !is_certain && matches!(evidence, LeaseEvidence::Fresh(_)) {
        tracing::warn!("replica not confirmed complete, requesting client reregistration");
    }
    let tries = shared.settings.endpoints.len();
    let mut n = 0;
    loop {
        // A member that does not respond must leave time for the others.
        let share = COMPLETE_TIMEOUT / u32::try_from(tries).unwrap_or(1).max(1);
        let member = shared.members.member().await?.with_timeout(share);
        n += 1;
        match complete_replica_with(shared, &member, began).await {
            Err(error) if error.is_of_member() && n < tries => shared.members.switch_from(&member),
            done => return Ok(done? && is_certain),
        }
    }
}

async fn complete_replica_with(
    shared: &EtcdShared,
    member: &EtcdMember,
    began: NodeTime,
) -> Result<bool, EtcdError> {
    claim_keys(shared, member).await?;
    let is_released = loop {
        let (Some(pair), _) = member.get(shared.keys.master()).await? else {
            break true;
        };
        let holder: MasterValue = decode_value(pair.value())?;
        if holder.guid == shared.settings.guid || is_gone(member, &holder).await? {
            delete_master_key(shared, member, pair.mod_revision()).await?;
            if holder.incomplete {
                break false;
            }
            // The key may have changed in between.
            continue;
        }
        // A master that hands over sends HANDOVER first and may still be writing.
        if shared.node.now().saturating_sub(began) >= HANDOVER_TIMEOUT {
            break false;
        }
        sleep(RETRY_MIN / 5).await;
    };
    let at = shared.node.position().await;
    let found = read_missing(shared, member, at).await?;
    let Some(head) = found.head else {
        return Ok(false);
    };
    if !found.jobs.is_empty() {
        shared
            .node
            .request(StoreThreadRequest::Jobs(shared.session(), found.jobs));
    }
    let now = shared.node.position().await;
    shared.with_state(|state| state.known = now);
    Ok(is_released && now == Some(head))
}

/// Follows the master until cancelled.
pub(super) async fn follow(shared: &Arc<EtcdShared>) {
    let mut last_logged: Option<tokio::time::Instant> = None;
    let mut pause = RETRY_MIN;
    loop {
        let Ok(member) = shared.members.member().await else {
            sleep(RETRY_MIN).await;
            continue;
        };
        let mut watcher = Watcher {
            shared,
            member,
            session: shared.session(),
            leader: None,
            leader_at: 0,
            silent: false,
            last: None,
            since: 0,
            assembly: Assembly::default(),
        };
        let Err(error) = watcher.follow().await;
        watcher.clear_released();
        watcher.leave_sync(&error.to_string());
        // Only one member is tried per attempt, so it is unknown whether the others failed, too.
        if error.is_of_member() {
            shared.record_failure();
            shared.members.switch_from(&watcher.member);
        }
        let is_refused = matches!(error, EtcdError::Version(..) | EtcdError::OtherFabric(..));
        // This may last as long as an upgrade, or until the configuration is corrected.
        if is_refused && pause == RETRY_MIN {
            tracing::warn!(error = %error, "replica unavailable");
        }
        // Without etcd this occurs about twenty times a second, each time with another member.
        if !is_refused && last_logged.is_none_or(|at| at.elapsed() >= LOG_INTERVAL) {
            tracing::info!(error = %error, "etcd watch restarted");
            last_logged = Some(tokio::time::Instant::now());
        }
        pause = retry_delay(&error, pause);
        sleep(pause).await;
    }
}

/// Delay of the next attempt, given the last delay. Each attempt reads what is missing, which may
/// be all records.
fn retry_delay(error: &EtcdError, last: Duration) -> Duration {
    if error.is_persistent() || matches!(error, EtcdError::Version(..)) {
        (last * 2).min(PERSISTENT_FAILURE_PAUSE)
    } else {
        RETRY_MIN
    }
}

struct Watcher<'a> {
    shared: &'a Arc<EtcdShared>,
    member: EtcdMember,
    session: SessionId,
    leader: Option<MasterValue>,
    /// etcd's revision of the last known state of the key.
    leader_at: i64,
    /// The master was reported silent.
    silent: bool,
    /// The last batch passed to the store.
    last: Option<Position>,
    /// Number of the last batch read before the watch started.
    since: u64,
    assembly: Assembly,
}

impl Watcher<'_> {
    /// Watches until a failure, or until another history starts.
    async fn follow(&mut self) -> Result<Infallible, EtcdError> {
        let shared = self.shared;
        let member = self.member.clone();
        claim_keys(shared, &member).await?;
        let at = shared.node.position().await;
        shared.with_state(|state| (state.known, state.stored) = (at, Ok(at)));
        let found = read_missing(shared, &member, at).await?;
        self.last = found.head.or(at);
        self.since = self.last.map_or(0, |at| at.seq);
        if !found.jobs.is_empty() {
            shared
                .node
                .request(StoreThreadRequest::Jobs(self.session, found.jobs));
        }
        let mut watch = member
            .watch(shared.keys.range(), found.revision + 1)
            .await?;
        let (pair, revision) = member.get(shared.keys.master()).await?;
        self.leader_at = revision;
        if let Some(pair) = pair {
            self.on_holder(decode_value(pair.value())?).await;
        }
        let mut changed = shared.node.changes();
        let silence = |l: &MasterValue| Duration::from_secs(l.silent_after_s.into());
        loop {
            self.report_sync()?;
            let leader = self.leader;
            let check = async {
                let Some(leader) = leader else {
                    // Without a master, only the member's availability is checked.
                    sleep(shared.settings.reply_timeout).await;
                    member.get(shared.keys.master()).await?;
                    return Ok(false);
                };
                sleep(silence(&leader) / 10).await;
                let sent_at = shared.node.now();
                let (is_overdue, term) =
                    read_lease_state(&member.with_timeout(silence(&leader) / 2), &leader).await?;
                if shared.node.now().saturating_sub(sent_at) > silence(&leader) / 5 {
                    shared.record_failure();
                }
                let is_evidence = shared.with_state(|state| {
                    state
                        .term
                        .is_evidence(term, sent_at, shared.lease_uncertainty())
                });
                if !is_overdue && !leader.incomplete && is_evidence {
                    shared.with_state(|state| state.evidence = LeaseEvidence::Fresh(sent_at));
                }
                Ok(is_overdue)
            };
            tokio::pin!(check);
            let is_overdue: Result<bool, EtcdError> = loop {
                tokio::select! {
                    biased;
                    response = watch.next() => {
                        for pair in response?.events().iter().filter_map(KeyEvent::kv) {
                            self.on_key_changed(pair).await?;
                        }
                    }
                    // The sender lives as long as this task.
                    _ = changed.changed() => {}
                    is_overdue = &mut check => break is_overdue,
                }
                self.report_sync()?;
                if self.leader != leader {
                    break Ok(false);
                }
            };
            if self.leader == leader {
                self.on_lease_check(is_overdue?);
            }
        }
    }

    /// Handles the result of a lease check.
    fn on_lease_check(&mut self, is_overdue: bool) {
        let Some(leader) = self.leader else {
            return;
        };
        if core::mem::replace(&mut self.silent, is_overdue) == is_overdue {
            return;
        }
        let guid = leader.guid;
        if is_overdue {
            let in_sync = self.is_complete();
            self.shared.with_state(|state| state.leader = None);
            self.report_silence(&leader, in_sync);
        } else {
            self.set_leader_status(guid);
        }
    }

    fn set_leader_status(&self, guid: u64) {
        let in_sync = false;
        self.shared
            .with_state(|state| state.leader = Some(PeerStatus { guid, in_sync }));
    }

    /// Processes a changed key.
    async fn on_key_changed(&mut self, pair: &KeyValue) -> Result<(), EtcdError> {
        let keys = &self.shared.keys;
        // etcd's kv.proto: a deletion resets the version to zero.
        let deleted = pair.version() == 0;
        if pair.key() == keys.master().as_bytes() {
            if pair.mod_revision() <= self.leader_at {
                return Ok(());
            }
            self.leader_at = pair.mod_revision();
            if deleted {
                self.on_key_deleted().await;
            } else {
                self.on_holder(decode_value(pair.value())?).await;
            }
        } else if deleted {
        } else if pair.key().starts_with(keys.log().as_bytes()) {
            let Some((at, bytes)) = self.assembly.add(pair.value())? else {
                return Ok(());
            };
            match self.last {
                // Written twice because the first response was lost.
                Some(last) if at.epoch == last.epoch && at.seq <= last.seq => {}
                Some(last) if at.seq == last.seq + 1 => {
                    let batch = decode_batch(&bytes)?;
                    self.last = Some(at);
                    self.shared.node.request(StoreThreadRequest::Jobs(
                        self.session,
                        vec![StoreJob::Apply(at, batch)],
                    ));
                }
                Some(_) | None => return Err(EtcdError::HistoryUnavailable),
            }
        } else if pair.key() == keys.base().as_bytes() {
            // A snapshot was written, which matters only if it contains missing batches.
            let base: Base = decode_value(pair.value())?;
            if self.last != Some(base.at) {
                return Err(EtcdError::HistoryUnavailable);
            }
        }
        Ok(())
    }

    /// The key was deleted.
    async fn on_key_deleted(&mut self) {
        self.wait_for_store().await;
        let in_sync = self.is_complete();
        let Some(leader) = self.leader.take() else {
            return;
        };
        self.shared.with_state(|state| state.leader = None);
        if !core::mem::replace(&mut self.silent, false) {
            self.report_silence(&leader, in_sync);
        }
    }

    /// Reports the master as silent. The report is uncertain if a recent failure of etcd may have
    /// delayed the master's renewals.
    fn report_silence(&self, leader: &MasterValue, in_sync: bool) {
        let last_failure = self.shared.with_state(|state| state.last_failure);
        self.shared.node.send_event(ReplicationEvent::MasterSilent {
            guid: leader.guid,
            in_sync,
            is_uncertain: is_uncertain(last_failure, self.shared.node.now(), leader.silent_after_s),
        });
    }

    /// A node is master, or is stepping down.
    async fn on_holder(&mut self, holder: MasterValue) {
        let guid = holder.guid;
        if let Some(reason) = holder.release_reason {
            self.wait_for_store().await;
            let in_sync = self.is_complete() && !holder.incomplete;
            self.leader = None;
            self.shared.with_state(|state| {
                state.leader = None;
                state.evidence = if holder.incomplete {
                    LeaseEvidence::None
                } else {
                    LeaseEvidence::Released
                };
            });
            let event = ReplicationEvent::MasterLeaving {
                guid,
                reason,
                in_sync,
            };
            self.shared.node.send_event(event);
            return;
        }
        if self.leader != Some(holder) {
            self.silent = false;
            self.leader = Some(holder);
            self.clear_released();
            if holder.incomplete {
                self.shared
                    .with_state(|state| state.evidence = LeaseEvidence::None);
                self.leave_sync("etcd may lack acknowledged batches");
            }
            self.set_leader_status(guid);
        }
    }

    /// Waits for all earlier store jobs.
    async fn wait_for_store(&self) {
        let _ = self.shared.node.position().await;
    }

    /// Whether the store has all that etcd has, and etcd has all acknowledged batches, as far as is
    /// known.
    fn is_complete(&self) -> bool {
        let stored = self.shared.with_state(|state| state.stored.clone());
        let incomplete = self.leader.is_some_and(|leader| leader.incomplete);
        !incomplete && self.last.is_some() && stored == Ok(self.last)
    }

    /// Drops the evidence of a released key, because another master may have followed.
    fn clear_released(&self) {
        self.shared.with_state(|state| {
            if state.evidence == LeaseEvidence::Released {
                state.evidence = LeaseEvidence::None;
            }
        });
    }

    /// Reports when the replica gets in sync.
    fn report_sync(&self) -> Result<(), EtcdError> {
        let stored = self
            .shared
            .with_state(|state| state.stored.clone())
            .map_err(EtcdError::Store)?
            .map_or(0, |at| at.seq);
        let last = self.last.map_or(0, |at| at.seq);
        if last.saturating_sub(stored.max(self.since)) > PENDING_MAX {
            return Err(EtcdError::Store("writes too slow".to_owned()));
        }
        let complete = self.is_complete();
        let guid = self.shared.with_state(|state| {
            let leader = state.leader.as_mut().filter(|l| !l.in_sync && complete)?;
            leader.in_sync = true;
            Some(leader.guid)
        });
        if let Some(guid) = guid {
            self.shared
                .node
                .send_event(ReplicationEvent::InSync { guid });
        }
        Ok(())
    }

    /// Reports that the replica is no longer in sync.
    fn leave_sync(&self, reason: &str) {
        let old_leader = self.shared.with_state(|state| state.leader.take());
        if let Some(PeerStatus {
            guid,
            in_sync: true,
        }) = old_leader
        {
            let reason = reason.to_owned();
            self.shared
                .node
                .send_event(ReplicationEvent::OutOfSync { guid, reason });
        }
    }
}

/// Whether etcd failed less than two leases ago.
fn is_uncertain(last_failure: Option<NodeTime>, now: NodeTime, silent_after_s: u8) -> bool {
    let time = Duration::from_secs(silent_after_s.into()) * 2;
    last_failure.is_some_and(|at| now.saturating_sub(at) < time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_uncertain_for_two_leases_after_a_failure() {
        let s = Duration::from_secs;
        assert!(!is_uncertain(None, s(100), 2));
        assert!(is_uncertain(Some(s(97)), s(100), 2));
        assert!(!is_uncertain(Some(s(96)), s(100), 2));
    }

    #[test]
    fn retries_back_off_while_the_store_fails() {
        let full = EtcdError::Store("the disk is full".to_owned());
        let next = |last: &Duration| Some(retry_delay(&full, *last));
        let delays: Vec<_> = core::iter::successors(Some(RETRY_MIN), next)
            .take(8)
            .collect();
        assert_eq!(delays[1], RETRY_MIN * 2, "it may be temporary");
        assert_eq!(delays[6..], [PERSISTENT_FAILURE_PAUSE; 2]);
        assert_eq!(
            retry_delay(&EtcdError::Version(2, 2), PERSISTENT_FAILURE_PAUSE),
            PERSISTENT_FAILURE_PAUSE
        );
        assert_eq!(
            retry_delay(&EtcdError::Timeout(String::new()), PERSISTENT_FAILURE_PAUSE),
            RETRY_MIN
        );
    }
}
