//! A master with etcd: holds the key, renews its leases while the driver's loop runs, and writes
//! batches in transactions that fail if the key is lost.
//!
//! Two leases are renewed alternately. When the owner dies, the older one was last renewed a
//! quarter to a half of `silent_after_s` ago, so the failure is detected early although etcd counts
//! whole seconds. The owner gives up before another node can take over: it measures nine tenths of
//! `silent_after_s` from when the renewal request was sent.

use core::cell::Cell;
use core::convert::Infallible;
use core::time::Duration;
use std::sync::Arc;

use etcd_client::{Compare, CompareOp, DeleteOptions, PutOptions, TxnOp};
use ferrosm_core::StepDownReason;
use tokio::time::sleep;

use super::client::{EtcdError, EtcdMember};
use super::commit_queue::{CommitQueue, NumberedBatch, Work};
use super::keys::{
    Base, Head, MasterValue, decode_value, encode_batch_parts, encode_record_parts, encode_value,
    range_end,
};
use super::name::claim_keys;
use super::shared::{EtcdShared, EtcdState, PERSISTENT_FAILURE_PAUSE, RETRY_MAX, RETRY_MIN};
use crate::leader::NodeTime;
use crate::log::Position;

/// Interval of timeout checks.
const TICK: Duration = Duration::from_millis(20);
/// Batch parts in a transaction; etcd accepts 1.5 MiB.
const PARTS_PER_TRANSACTION: usize = 4;

/// The held key.
#[derive(Debug)]
pub(super) struct HeldKey {
    /// etcd's revision at which it was created.
    created: i64,
    holder: MasterValue,
    /// When the last renewal of each lease was sent.
    renewed_at: Cell<[NodeTime; 2]>,
}

/// Runs a master's tasks until cancelled.
pub(super) async fn run(shared: &Arc<EtcdShared>, held: &mut Option<HeldKey>) {
    let watchdog = async {
        loop {
            shared.tick();
            sleep(TICK).await;
        }
    };
    tokio::select! {
        never = hold_key_repeatedly(shared, held) => never,
        () = watchdog => {}
    }
}

async fn hold_key_repeatedly(shared: &Arc<EtcdShared>, held: &mut Option<HeldKey>) {
    // This node held the key, and has not reported another owner since.
    let mut was_holder = false;
    loop {
        let Err(error) = hold_key(shared, held).await;
        was_holder |= held.is_some();
        let now = shared.node.now();
        tracing::debug!(error = %error, "etcd session ended");
        let deposed = was_holder && matches!(error, EtcdError::HeldByOther(_));
        shared.queue(|queue| {
            if error == EtcdError::Incomplete {
                return;
            }
            if let (EtcdError::HeldByOther(guid), true) = (&error, deposed) {
                queue.on_deposed(*guid);
            } else if error == EtcdError::KeyLost {
                queue.on_key_lost(&error.to_string());
            }
            queue.on_failure(error.to_string(), now);
        });
        was_holder &= !matches!(error, EtcdError::HeldByOther(_));
        if !error.is_of_member() {
            *held = None;
        }
        // A deposed master is about to step down.
        let long = deposed || error.is_persistent();
        sleep(if long {
            PERSISTENT_FAILURE_PAUSE
        } else {
            RETRY_MIN
        })
        .await;
    }
}

/// Acquires the key and writes until a failure.
async fn hold_key(
    shared: &Arc<EtcdShared>,
    held: &mut Option<HeldKey>,
) -> Result<Infallible, EtcdError> {
    while held.is_none() && !shared.node.is_alive() {
        // A stalled node, or one without a link, must not hold the key.
        sleep(RETRY_MIN).await;
    }
    let member = shared.members.member().await?;
    let session = async {
        let held: &HeldKey = match held {
            Some(held) => held,
            None => {
                let held = held.insert(acquire(shared, &member).await?);
                update_lease_validity(shared, held);
                held
            }
        };
        let head = member
            .get(shared.keys.head())
            .await?
            .0
            .and_then(|pair| decode_head(shared, pair.value()));
        let store = shared.node.position().await;
        let now = shared.node.now();
        let successor = shared.with_state(|state| {
            let queue = state.queue.as_mut()?;
            let successor = head.filter(|head| queue.has_successor(state.known, head.at));
            if successor.is_none() {
                queue.on_key_held(state.known, store, head.map(|head| head.at), now);
            }
            successor
        });
        if let Some(successor) = successor {
            return Err(EtcdError::HeldByOther(successor.guid));
        }
        let writer = Writer {
            shared,
            held,
            epoch: held.holder.epoch,
        };
        tokio::select! {
            done = writer.write() => done,
            done = renew(shared, held) => done,
        }
    };
    let result: Result<Infallible, EtcdError> = session.await;
    if let Err(error) = &result
        && error.is_of_member()
    {
        shared.members.switch_from(&member);
    }
    result
}

/// Decodes etcd's head. Unusable data is overwritten, with a warning.
fn decode_head(shared: &EtcdShared, head: &[u8]) -> Option<Head> {
    let head = decode_value::<Head>(head);
    let error = head.as_ref().err();
    let was_reported =
        shared.with_state(|state| core::mem::replace(&mut state.unreadable, error.is_some()));
    if let (Some(error), false) = (error, was_reported) {
        tracing::warn!(%error, "unreadable etcd data replaced");
    }
    head.ok()
}

fn update_lease_validity(shared: &EtcdShared, held: &HeldKey) {
    let [a, b] = held.renewed_at.get();
    let silence = Duration::from_secs(held.holder.silent_after_s.into());
    shared.queue(|queue| queue.on_leases_valid(a.min(b) + silence * 9 / 10));
}

/// Renews the leases alternately, with any member, and verifies that the key still belongs to this
/// node.
async fn renew(shared: &EtcdShared, held: &HeldKey) -> Result<Infallible, EtcdError> {
    let silence = Duration::from_secs(held.holder.silent_after_s.into());
    let mut pause = RETRY_MIN;
    loop {
        let renewed_at = held.renewed_at.get();
        let older = usize::from(renewed_at[0] > renewed_at[1]);
        sleep((renewed_at[1 - older] + silence / 4).saturating_sub(shared.node.now())).await;
        if !shared.node.is_alive() {
            sleep(RETRY_MIN).await;
            continue;
        }
        // etcd renews the lease when it receives the request. The time of sending is earlier, so it
        // is the safe limit.
        let sent_at = shared.node.now();
        let member = shared.members.member().await?.with_timeout(silence / 5);
        match renew_if_allowed(shared, held, &member, held.holder.leases[older]).await {
            Ok(true) => {
                let mut renewed_at = held.renewed_at.get();
                renewed_at[older] = sent_at;
                held.renewed_at.set(renewed_at);
                update_lease_validity(shared, held);
                pause = RETRY_MIN;
            }
            Ok(false) => sleep(RETRY_MIN).await,
            Err(error) if error.is_of_member() || matches!(error, EtcdError::Rejected(..)) => {
                tracing::debug!(error = %error, "etcd lease not renewed");
                shared.members.switch_from(&member);
                let now = shared.node.now();
                shared.queue(|queue| queue.on_failure(error.to_string(), now));
                sleep(pause).await;
                pause = (pause * 2).min(RETRY_MAX);
            }
            Err(error) => return Err(error),
        }
    }
}

/// Renews a lease if the queue allows it ([`CommitQueue::may_renew`]). Returns whether it was
/// renewed.
async fn renew_if_allowed(
    shared: &EtcdShared,
    held: &HeldKey,
    member: &EtcdMember,
    lease: i64,
) -> Result<bool, EtcdError> {
    // The key is read first, so a renewal is sent only to a member that just responded. It must not
    // arrive late, after a partition.
    verify_key(shared, member, held.created).await?;
    let may_renew = shared.queue(|queue| {
        queue.on_response();
        let may_renew = queue.may_renew();
        if may_renew == Some(true) {
            queue.on_renewal(shared.node.now());
        }
        may_renew
    });
    match may_renew {
        Some(Some(false)) => return Ok(false),
        Some(None) => return Err(EtcdError::Incomplete),
        Some(Some(true)) | None => {}
    }
    let renewed = member.renew(lease).await;
    shared.queue(|queue| queue.on_renewal(shared.node.now()));
    if renewed? {
        Ok(true)
    } else {
        Err(EtcdError::KeyLost)
    }
}

/// Verifies that the key was created at this revision.
async fn verify_key(
    shared: &EtcdShared,
    member: &EtcdMember,
    created: i64,
) -> Result<(), EtcdError> {
    let (pair, _) = member.get(shared.keys.master()).await?;
    let Some(pair) = pair else {
        return Err(EtcdError::KeyLost);
    };
    if pair.create_revision() == created {
        return Ok(());
    }
    Err(match decode_value::<MasterValue>(pair.value()) {
        Ok(holder) if holder.guid != shared.settings.guid => EtcdError::HeldByOther(holder.guid),
        // The owner is unknown, but the key is lost.
        Ok(_) | Err(_) => EtcdError::KeyLost,
    })
}

/// Acquires the key if it does not exist or its owner is gone.
async fn acquire(shared: &EtcdShared, member: &EtcdMember) -> Result<HeldKey, EtcdError> {
    claim_keys(shared, member).await?;
    shared.queue(CommitQueue::on_key_released);
    let key = shared.keys.master();
    let guid = shared.settings.guid;
    loop {
        let (Some(pair), _) = member.get(key.clone()).await? else {
            break;
        };
        let old: MasterValue = decode_value(pair.value())?;
        if old.guid != guid && !is_gone(member, &old).await? {
            return Err(EtcdError::HeldByOther(old.guid));
        }
        delete_master_key(shared, member, pair.mod_revision()).await?;
    }
    let epoch = shared
        .queue(|queue| queue.epoch)
        .ok_or(EtcdError::KeyLost)?;
    let silent_after_s = shared.settings.silent_after_s;
    let sent_at = shared.node.now();
    let ttl = i64::from(silent_after_s) + 1;
    let (a, b) = tokio::try_join!(member.grant(ttl), member.grant(ttl))?;
    if a.1 < ttl || b.1 < ttl {
        return Err(EtcdError::LeaseTooShort(a.1.min(b.1), ttl));
    }
    let holder = MasterValue {
        guid,
        epoch,
        leases: [a.0, b.0],
        silent_after_s,
        release_reason: None,
        incomplete: true,
    };
    let is_absent = created_at_revision(key.clone(), 0);
    let put_key = put_leased(key, &holder)?;
    let created = member.txn(is_absent, vec![put_key]).await?;
    Ok(HeldKey {
        created: created.ok_or(EtcdError::KeyLost)?,
        holder,
        renewed_at: Cell::new([sent_at, sent_at]),
    })
}

/// Whether the owner of the key has released it, or stepped down because it could not renew its
/// leases.
pub(super) async fn is_gone(member: &EtcdMember, holder: &MasterValue) -> Result<bool, EtcdError> {
    Ok(holder.release_reason.is_some() || read_lease_state(member, holder).await?.0)
}

/// Whether a lease of the key's owner is overdue ([`EtcdMember::is_overdue`]), and the highest term
/// of etcd's leader in the responses.
pub(super) async fn read_lease_state(
    member: &EtcdMember,
    holder: &MasterValue,
) -> Result<(bool, u64), EtcdError> {
    let [a, b] = holder.leases;
    let (a, b) = tokio::try_join!(
        member.is_overdue(a, holder.silent_after_s),
        member.is_overdue(b, holder.silent_after_s)
    )?;
    Ok((a.0 || b.0, a.1.max(b.1)))
}

/// Deletes the key of an owner that is gone, which fences its writes. Has no effect if the key has
/// changed.
pub(super) async fn delete_master_key(
    shared: &EtcdShared,
    member: &EtcdMember,
    mod_revision: i64,
) -> Result<(), EtcdError> {
    let key = shared.keys.master();
    let is_unchanged = Compare::mod_revision(key.clone(), CompareOp::Equal, mod_revision);
    member
        .txn(is_unchanged, vec![TxnOp::delete(key, None)])
        .await?;
    Ok(())
}

/// Releases the key, with the reason.
pub(super) async fn release(
    shared: &EtcdShared,
    held: HeldKey,
    reason: StepDownReason,
) -> Result<(), EtcdError> {
    let member = shared.members.member().await?;
    let key = shared.keys.master();
    let [lease, other] = held.holder.leases;
    let holder_update = MasterValue {
        release_reason: Some(reason),
        incomplete: shared.with_state(EtcdState::may_lack_batches),
        ..held.holder
    };
    let is_held = created_at_revision(key.clone(), held.created);
    let holder_update = put_leased(key, &holder_update)?;
    member.txn(is_held, vec![holder_update]).await?;
    member.revoke(lease).await?;
    member.revoke(other).await
}

/// Condition that a key was created at this revision; with 0, that it does not exist.
fn created_at_revision(key: String, revision: i64) -> Compare {
    Compare::create_revision(key, CompareOp::Equal, revision)
}

/// Writes the master's key, bound to its first lease.
fn put_leased(key: String, holder: &MasterValue) -> Result<TxnOp, EtcdError> {
    let options = PutOptions::new().with_lease(holder.leases[0]);
    Ok(TxnOp::put(key, encode_value(holder)?, Some(options)))
}

/// Deletes a range of keys.
fn delete_range(from: String, to: String) -> TxnOp {
    TxnOp::delete(from, Some(DeleteOptions::new().with_range(to)))
}

/// Writes batches.
struct Writer<'a> {
    shared: &'a EtcdShared,
    held: &'a HeldKey,
    epoch: u64,
}

impl Writer<'_> {
    /// Writes pending batches. After a failure of a member, the batch is written to the next one;
    /// writes are idempotent.
    async fn write(&self) -> Result<Infallible, EtcdError> {
        let shared = self.shared;
        let mut changed = shared.node.changes();
        loop {
            changed.mark_unchanged();
            let member = shared.members.member().await?;
            let Some(work) = shared.with_state(|state| state.queue.as_ref().map(CommitQueue::work))
            else {
                // This node is no longer master: this task is about to be cancelled.
                return core::future::pending().await;
            };
            let result = match &work {
                Work::Nothing => {
                    // The sender lives as long as this task.
                    let _ = changed.changed().await;
                    continue;
                }
                Work::Snapshot => self.write_snapshot(&member).await,
                Work::Batches(batches) => self.write_batches(&member, batches).await,
                Work::ClaimComplete => self.claim_complete(&member).await,
            };
            match result {
                Ok(()) => {}
                Err(error) if error.is_of_member() => {
                    shared.members.switch_from(&member);
                    let now = shared.node.now();
                    shared.queue(|queue| queue.on_failure(error.to_string(), now));
                    sleep(RETRY_MIN).await;
                }
                Err(error) if error.is_persistent() => {
                    // Other members would reject it, too, or the local disk failed. This node keeps
                    // the key; the alarm states the reason.
                    let now = shared.node.now();
                    shared.queue(|queue| queue.on_failure(error.to_string(), now));
                    sleep(PERSISTENT_FAILURE_PAUSE).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Writes the claim that etcd has all acknowledged batches.
    async fn claim_complete(&self, member: &EtcdMember) -> Result<(), EtcdError> {
        let shared = self.shared;
        shared.queue(|queue| queue.begin_claim(shared.node.now()));
        let holder = MasterValue {
            incomplete: false,
            ..self.held.holder
        };
        let holder_update = put_leased(shared.keys.master(), &holder)?;
        self.execute_fenced(member, vec![holder_update]).await?;
        shared.queue(CommitQueue::end_claim);
        Ok(())
    }

    /// Writes batches and the new head.
    async fn write_batches(
        &self,
        member: &EtcdMember,
        batches: &[NumberedBatch],
    ) -> Result<(), EtcdError> {
        let keys = &self.shared.keys;
        let epoch = self.epoch;
        let mut ops = Vec::new();
        for (seq, body) in batches {
            let at = Position { epoch, seq: *seq };
            let put_part = |(n, part)| TxnOp::put(keys.log_part(*seq, n), part, None);
            ops.extend(
                encode_batch_parts(at, body)?
                    .into_iter()
                    .enumerate()
                    .map(put_part),
            );
        }
        let Some((seq, _)) = batches.last() else {
            return Ok(());
        };
        // A batch with many parts is written in several transactions. Readers ignore it until its
        // last part is present.
        while batches.len() == 1 && ops.len() > PARTS_PER_TRANSACTION {
            let remaining_ops = ops.split_off(PARTS_PER_TRANSACTION);
            self.execute_fenced(member, core::mem::replace(&mut ops, remaining_ops))
                .await?;
        }
        let head = self.head(Position { epoch, seq: *seq })?;
        ops.push(TxnOp::put(keys.head(), head, None));
        self.execute_fenced(member, ops).await?;
        let now = self.shared.node.now();
        self.shared.queue(|queue| queue.on_written(*seq, now));
        Ok(())
    }

    /// Writes a snapshot and deletes the batches before it.
    async fn write_snapshot(&self, member: &EtcdMember) -> Result<(), EtcdError> {
        self.shared.queue(CommitQueue::begin_snapshot);
        let result = self.write_all_records(member).await;
        let now = self.shared.node.now();
        self.shared.queue(|queue| match &result {
            Ok(seq) => queue.on_snapshot_written(*seq, now),
            Err(_) => queue.on_snapshot_failed(),
        });
        result.map(|_| ())
    }

    async fn write_all_records(&self, member: &EtcdMember) -> Result<u64, EtcdError> {
        let keys = &self.shared.keys;
        let snapshot = self
            .shared
            .node
            .read_all()
            .await
            .map_err(|e| EtcdError::Store(e.to_string()))?;
        let seq = snapshot.at.map_or(0, |at| at.seq);
        let epoch = self.epoch;
        let at = Position { epoch, seq };
        let pieces = encode_record_parts(&snapshot.records)?;
        let count = pieces.len() as u64;
        for (n, piece) in pieces.into_iter().enumerate() {
            self.execute_fenced(
                member,
                vec![TxnOp::put(keys.snapshot_part(at, n), piece, None)],
            )
            .await?;
        }
        let base = Base {
            at,
            part_count: count,
        };
        let prefix = keys.snapshot(at);
        let ops = vec![
            TxnOp::put(keys.base(), encode_value(&base)?, None),
            TxnOp::put(keys.head(), self.head(at)?, None),
            delete_range(keys.log(), range_end(&keys.log())),
            delete_range(keys.snapshots(), prefix.clone()),
            delete_range(range_end(&prefix), range_end(&keys.snapshots())),
        ];
        self.execute_fenced(member, ops).await?;
        Ok(seq)
    }

    fn head(&self, at: Position) -> Result<Vec<u8>, EtcdError> {
        let guid = self.held.holder.guid;
        encode_value(&Head { at, guid })
    }

    /// Executes operations if the key still belongs to this node.
    async fn execute_fenced(&self, member: &EtcdMember, ops: Vec<TxnOp>) -> Result<(), EtcdError> {
        let key = self.shared.keys.master();
        let is_held = created_at_revision(key, self.held.created);
        if member.txn(is_held, ops).await?.is_some() {
            return Ok(());
        }
        verify_key(self.shared, member, self.held.created).await?;
        Err(EtcdError::KeyLost)
    }
}
