//! A master with etcd: it holds the key, keeps its leases alive while the driver sessions, and writes batches that are refused when the key
//! is not its own any more.
//!
//! Two leases are renewed by sessions. When the owner dies, the older of them has not been renewed for a quarter to a half of the time after
//! which it counts as old, so that a death is noticed early, although etcd counts whole seconds. The owner itself gives up before others
//! can: it counts from when the question left, and only to nine tenths of that time.

use core::cell::Cell;
use core::convert::Infallible;
use core::time::Duration;
use std::sync::Arc;

use etcd_client::{Compare, CompareOp, DeleteOptions, PutOptions, TxnOp};
use tokio::time::sleep;

use super::keys::{Base, Head, Holder, chunks, end, get, parts, put};
use super::ledger::{Ledger, Numbered, Work};
use super::link::{Member, Trouble};
use super::shared::{Core, PAUSE, PAUSE_MAX, STAYS, Shared};
use crate::leader::NodeTime;
use crate::log::Position;
use crate::wire::StepDownReason;

/// Time between two looks at what is late.
const TICK: Duration = Duration::from_millis(20);
/// Parts in a transaction; etcd takes 1.5 MiB.
const PARTS: usize = 4;

/// The key that is held.
#[derive(Debug)]
pub(super) struct Held {
    /// etcd's revision from which on it is.
    created: i64,
    holder: Holder,
    /// When the last renewals left.
    fresh: Cell<[NodeTime; 2]>,
}

/// Leads for as long as this is not ended from outside.
pub(super) async fn lead(shared: &Arc<Shared>, held: &mut Option<Held>) {
    let watchdog = async {
        loop {
            shared.tick();
            sleep(TICK).await;
        }
    };
    tokio::select! {
        never = terms(shared, held) => never,
        () = watchdog => {}
    }
}

async fn terms(shared: &Arc<Shared>, held: &mut Option<Held>) {
    // Whether the key was this node's, and nobody told that it is another's now.
    let mut was = false;
    loop {
        let Err(trouble) = term(shared, held).await;
        was |= held.is_some();
        let now = shared.node.now();
        tracing::debug!("replication: {trouble}");
        let deposed = was && matches!(trouble, Trouble::Taken(_));
        shared.ledger(|ledger| {
            if trouble == Trouble::Apart {
                return;
            }
            if let (Trouble::Taken(guid), true) = (&trouble, deposed) {
                ledger.deposed(*guid);
            } else if trouble == Trouble::Fenced {
                ledger.fenced(&trouble.to_string());
            }
            ledger.failed(trouble.to_string(), now);
        });
        was &= !matches!(trouble, Trouble::Taken(_));
        if !trouble.is_of_member() {
            *held = None;
        }
        // Who was told that it is no master soon is none.
        let long = deposed || trouble.stays();
        sleep(if long { STAYS } else { PAUSE }).await;
    }
}

/// Holds the key for as long as that goes well.
async fn term(shared: &Arc<Shared>, held: &mut Option<Held>) -> Result<Infallible, Trouble> {
    while held.is_none() && !shared.node.is_alive() {
        // Who hangs, or whose own port is gone, is to hold nothing.
        sleep(PAUSE).await;
    }
    let member = shared.members.member().await?;
    let done = async {
        let held: &Held = match held {
            Some(held) => held,
            None => {
                let held = held.insert(acquire(shared, &member).await?);
                tell_renewed(shared, held);
                held
            }
        };
        let head = member.get(shared.keys.head()).await?.0;
        let head = head.and_then(|pair| readable(shared, pair.value()));
        let store = shared.node.position().await;
        let now = shared.node.now();
        let follower = shared.with(|core| {
            let ledger = core.ledger.as_mut()?;
            let follower = head.filter(|head| ledger.is_followed_by(core.known, head.at));
            if follower.is_none() {
                ledger.held(core.known, store, head.map(|head| head.at), now);
            }
            follower
        });
        if let Some(follower) = follower {
            return Err(Trouble::Taken(follower.guid));
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
    let done: Result<Infallible, Trouble> = done.await;
    if let Err(trouble) = &done
        && trouble.is_of_member()
    {
        shared.members.next(&member);
    }
    done
}

/// Where etcd is. What makes no sense here is written over as if it were not there, but not without a word.
fn readable(shared: &Shared, head: &[u8]) -> Option<Head> {
    let head = get::<Head>(head);
    let why = head.as_ref().err();
    let told = shared.with(|core| core::mem::replace(&mut core.unreadable, why.is_some()));
    if let (Some(why), false) = (why, told) {
        tracing::warn!(%why, "what etcd has cannot be used, and is written over with the own records");
    }
    head.ok()
}

fn tell_renewed(shared: &Shared, held: &Held) {
    let [a, b] = held.fresh.get();
    let silence = Duration::from_secs(held.holder.silence_s.into());
    shared.ledger(|ledger| ledger.renewed(a.min(b) + silence * 9 / 10));
}

/// Renews the leases by sessions, with whichever member answers, and looks whether the key is still this node's.
async fn renew(shared: &Shared, held: &Held) -> Result<Infallible, Trouble> {
    let silence = Duration::from_secs(held.holder.silence_s.into());
    let mut pause = PAUSE;
    loop {
        let fresh = held.fresh.get();
        let older = usize::from(fresh[0] > fresh[1]);
        sleep((fresh[1 - older] + silence / 4).saturating_sub(shared.node.now())).await;
        if !shared.node.is_alive() {
            sleep(PAUSE).await;
            continue;
        }
        // It counts from when etcd gets it, which is later.
        let asked = shared.node.now();
        let member = shared.members.member().await?;
        let within = member.within(silence / 5);
        match renewal(shared, held, &within, held.holder.leases[older]).await {
            Ok(true) => {
                let mut fresh = held.fresh.get();
                fresh[older] = asked;
                held.fresh.set(fresh);
                tell_renewed(shared, held);
                pause = PAUSE;
            }
            Ok(false) => sleep(PAUSE).await,
            Err(trouble) if trouble.is_of_member() || matches!(trouble, Trouble::Refused(..)) => {
                tracing::debug!("replication: a lease is not renewed: {trouble}");
                shared.members.next(&member);
                let now = shared.node.now();
                shared.ledger(|ledger| ledger.failed(trouble.to_string(), now));
                sleep(pause).await;
                pause = (pause * 2).min(PAUSE_MAX);
            }
            Err(trouble) => return Err(trouble),
        }
    }
}

/// One renewal; whether it was to be.
async fn renewal(
    shared: &Shared,
    held: &Held,
    member: &Member,
    lease: i64,
) -> Result<bool, Trouble> {
    // This first: so a renewal is on the way only to a member that answered just now, and not to come late, after a cut.
    still_held(shared, member, held.created).await?;
    let may = shared.ledger(|ledger| {
        ledger.answered();
        let may = ledger.may_renew();
        if may == Some(true) {
            ledger.touches(shared.node.now());
        }
        may
    });
    match may {
        Some(Some(false)) => return Ok(false),
        Some(None) => return Err(Trouble::Apart),
        Some(Some(true)) | None => {}
    }
    let renewed = member.renew(lease).await;
    shared.ledger(|ledger| ledger.touches(shared.node.now()));
    if renewed? {
        Ok(true)
    } else {
        Err(Trouble::Fenced)
    }
}

/// Whether the key is that which came to be at this revision.
async fn still_held(shared: &Shared, member: &Member, created: i64) -> Result<(), Trouble> {
    let (pair, _) = member.get(shared.keys.leader()).await?;
    let Some(pair) = pair else {
        return Err(Trouble::Fenced);
    };
    if pair.create_revision() == created {
        return Ok(());
    }
    Err(match get::<Holder>(pair.value()) {
        Ok(holder) if holder.guid != shared.settings.guid => Trouble::Taken(holder.guid),
        // Whoever has it, it is gone.
        Ok(_) | Err(_) => Trouble::Fenced,
    })
}

/// Makes the key this node's: if it is nobody's, or of one that is gone.
async fn acquire(shared: &Shared, member: &Member) -> Result<Held, Trouble> {
    shared.ledger(Ledger::holds_nothing);
    let key = shared.keys.leader();
    let guid = shared.settings.guid;
    loop {
        let (Some(pair), _) = member.get(key.clone()).await? else {
            break;
        };
        let old: Holder = get(pair.value())?;
        if old.guid != guid && !is_gone(member, &old).await? {
            return Err(Trouble::Taken(old.guid));
        }
        remove(shared, member, pair.mod_revision()).await?;
    }
    let epoch = shared
        .ledger(|ledger| ledger.epoch)
        .ok_or(Trouble::Fenced)?;
    let silence_s = shared.settings.silence_s;
    let asked = shared.node.now();
    let ttl = i64::from(silence_s) + 1;
    let (a, b) = tokio::try_join!(member.grant(ttl), member.grant(ttl))?;
    if a.1 < ttl || b.1 < ttl {
        return Err(Trouble::Garbled("a lease"));
    }
    let holder = Holder {
        guid,
        epoch,
        leases: [a.0, b.0],
        silence_s,
        leaving: None,
        alone: true,
    };
    let free = created_at(key.clone(), 0);
    let mine = put_leased(key, &holder)?;
    let done = member.txn(free, vec![mine]).await?;
    Ok(Held {
        created: done.ok_or(Trouble::Fenced)?,
        holder,
        fresh: Cell::new([asked, asked]),
    })
}

/// Whether who holds the key has left, or stepped down because it could not renew its leases.
pub(super) async fn is_gone(member: &Member, holder: &Holder) -> Result<bool, Trouble> {
    Ok(holder.leaving.is_some() || are_old(member, holder).await?.0)
}

/// Whether one of the leases is old, in which term of etcd's leader.
pub(super) async fn are_old(member: &Member, holder: &Holder) -> Result<(bool, u64), Trouble> {
    let [a, b] = holder.leases;
    let (a, b) = tokio::try_join!(
        member.is_old(a, holder.silence_s),
        member.is_old(b, holder.silence_s)
    )?;
    Ok((a.0 || b.0, a.1.max(b.1)))
}

/// Takes the key from who is gone: from now on nothing is written in its name. Nothing if it has changed meanwhile.
pub(super) async fn remove(
    shared: &Shared,
    member: &Member,
    mod_revision: i64,
) -> Result<(), Trouble> {
    let key = shared.keys.leader();
    let same = Compare::mod_revision(key.clone(), CompareOp::Equal, mod_revision);
    member.txn(same, vec![TxnOp::delete(key, None)]).await?;
    Ok(())
}

/// The key goes, with a word why.
pub(super) async fn leave(
    shared: &Shared,
    held: Held,
    leaving: StepDownReason,
) -> Result<(), Trouble> {
    let member = shared.members.member().await?;
    let key = shared.keys.leader();
    let [lease, other] = held.holder.leases;
    let word = Holder {
        leaving: Some(leaving),
        alone: shared.with(Core::is_apart),
        ..held.holder
    };
    let mine = created_at(key.clone(), held.created);
    let word = put_leased(key, &word)?;
    member.txn(mine, vec![word]).await?;
    member.revoke(lease).await?;
    member.revoke(other).await
}

/// Compares the revision at which a key was created; 0: the key does not exist.
fn created_at(key: String, revision: i64) -> Compare {
    Compare::create_revision(key, CompareOp::Equal, revision)
}

/// Puts the value of the leader key, for as long as its first lease lasts.
fn put_leased(key: String, holder: &Holder) -> Result<TxnOp, Trouble> {
    let options = PutOptions::new().with_lease(holder.leases[0]);
    Ok(TxnOp::put(key, put(holder)?, Some(options)))
}

/// Deletes the keys from one to before another.
fn delete(from: String, to: String) -> TxnOp {
    TxnOp::delete(from, Some(DeleteOptions::new().with_range(to)))
}

/// Who writes batches.
struct Writer<'a> {
    shared: &'a Shared,
    held: &'a Held,
    epoch: u64,
}

impl Writer<'_> {
    /// Writes what comes, for ever. What a member does not take is written to the next one: to write something twice changes nothing.
    async fn write(&self) -> Result<Infallible, Trouble> {
        let shared = self.shared;
        let mut changed = shared.node.changes();
        loop {
            changed.mark_unchanged();
            let member = shared.members.member().await?;
            let Some(work) = shared.with(|core| core.ledger.as_ref().map(Ledger::work)) else {
                // This is no master any more, which ends all this from outside.
                return core::future::pending().await;
            };
            let done = match &work {
                Work::Nothing => {
                    // The sender lives as long as this does.
                    let _ = changed.changed().await;
                    continue;
                }
                Work::FullWrite => self.write_all_records(&member).await,
                Work::Batches(some) => self.batches(&member, some).await,
                Work::Together => self.together(&member).await,
            };
            match done {
                Ok(()) => {}
                Err(trouble) if trouble.is_of_member() => {
                    shared.members.next(&member);
                    let now = shared.node.now();
                    shared.ledger(|ledger| ledger.failed(trouble.to_string(), now));
                    sleep(PAUSE).await;
                }
                Err(trouble) if trouble.stays() => {
                    // Another member refuses it too, or the own disk does. The key is kept, and the alarm says why.
                    let now = shared.node.now();
                    shared.ledger(|ledger| ledger.failed(trouble.to_string(), now));
                    sleep(STAYS).await;
                }
                Err(trouble) => return Err(trouble),
            }
        }
    }

    /// Says that etcd has all that is acknowledged.
    async fn together(&self, member: &Member) -> Result<(), Trouble> {
        let shared = self.shared;
        shared.ledger(|ledger| ledger.saying(shared.node.now()));
        let word = Holder {
            alone: false,
            ..self.held.holder
        };
        let word = put_leased(shared.keys.leader(), &word)?;
        let done = self.fenced(member, vec![word]).await;
        shared.ledger(|ledger| ledger.touches(shared.node.now()));
        done?;
        shared.ledger(Ledger::said);
        Ok(())
    }

    /// Writes some batches, and that they are the last.
    async fn batches(&self, member: &Member, some: &[Numbered]) -> Result<(), Trouble> {
        let keys = &self.shared.keys;
        let epoch = self.epoch;
        let mut ops = Vec::new();
        for (seq, body) in some {
            let at = Position { epoch, seq: *seq };
            let put = |(n, part)| TxnOp::put(keys.log_part(*seq, n), part, None);
            ops.extend(parts(at, body)?.into_iter().enumerate().map(put));
        }
        let Some((seq, _)) = some.last() else {
            return Ok(());
        };
        // Parts of a long batch, which goes alone, go before: without the last of them nobody looks at it.
        while some.len() == 1 && ops.len() > PARTS {
            let rest = ops.split_off(PARTS);
            self.fenced(member, core::mem::replace(&mut ops, rest))
                .await?;
        }
        let head = self.head(Position { epoch, seq: *seq })?;
        ops.push(TxnOp::put(keys.head(), head, None));
        self.fenced(member, ops).await?;
        let now = self.shared.node.now();
        self.shared.ledger(|ledger| ledger.wrote(*seq, now));
        Ok(())
    }

    /// Writes all records, and forgets the batches before them.
    async fn write_all_records(&self, member: &Member) -> Result<(), Trouble> {
        self.shared.ledger(Ledger::reading);
        let done = self.all_records(member).await;
        let now = self.shared.node.now();
        self.shared.ledger(|ledger| match &done {
            Ok(seq) => ledger.wrote_everything(*seq, now),
            Err(_) => ledger.not_everything(),
        });
        done.map(|_| ())
    }

    async fn all_records(&self, member: &Member) -> Result<u64, Trouble> {
        let keys = &self.shared.keys;
        let all = self.shared.node.read_all().await;
        let all = all.map_err(|e| Trouble::Store(e.to_string()))?;
        let seq = all.at.map_or(0, |at| at.seq);
        let epoch = self.epoch;
        let at = Position { epoch, seq };
        let pieces = chunks(&all.records)?;
        let count = u64::try_from(pieces.len()).unwrap_or(u64::MAX);
        for (n, piece) in pieces.into_iter().enumerate() {
            self.fenced(member, vec![TxnOp::put(keys.part(at, n), piece, None)])
                .await?;
        }
        let base = Base { at, parts: count };
        let here = keys.snapshot(at);
        let done = vec![
            TxnOp::put(keys.base(), put(&base)?, None),
            TxnOp::put(keys.head(), self.head(at)?, None),
            delete(keys.log(), end(&keys.log())),
            delete(keys.snapshots(), here.clone()),
            delete(end(&here), end(&keys.snapshots())),
        ];
        self.fenced(member, done).await?;
        Ok(seq)
    }

    fn head(&self, at: Position) -> Result<Vec<u8>, Trouble> {
        let guid = self.held.holder.guid;
        put(&Head { at, guid })
    }

    /// Does this if the key is still this node's.
    async fn fenced(&self, member: &Member, ops: Vec<TxnOp>) -> Result<(), Trouble> {
        let key = self.shared.keys.leader();
        let mine = created_at(key, self.held.created);
        if member.txn(mine, ops).await?.is_some() {
            return Ok(());
        }
        still_held(self.shared, member, self.held.created).await?;
        Err(Trouble::Fenced)
    }
}
