//! A standby with etcd: it reads what it lacks, then watches; and looks whether the master renews its leases.

use core::convert::Infallible;
use core::time::Duration;
use std::sync::Arc;

use etcd_client::{Event as KeyEvent, KeyValue};
use tokio::time::sleep;

use super::holding::{are_old, is_gone, remove};
use super::keys::{Assembly, Base, Head, Holder, Records, end, get};
use super::link::{Member, Trouble};
use super::shared::{GOING, PAUSE, SETTLE, STAYS, Seen, Shared};
use crate::PeerStatus;
use crate::event::Event;
use crate::follower::{SessionId, StoreJob};
use crate::leader::NodeTime;
use crate::log::Position;
use crate::store_thread::StoreRequest;
use crate::wire::decode_batch;

/// Time between two lines of the log about the same trouble.
const TOLD_EACH: Duration = Duration::from_secs(10);

/// Batches that wait for the own disk at most; then it begins again, when they are stored, with what it lacks.
const WAITING_MAX: u64 = 16_384;

/// What etcd has that the store has not.
#[derive(Debug)]
struct Missing {
    jobs: Vec<StoreJob>,
    /// Where the store is after them; `None`: etcd has nothing.
    head: Option<Position>,
    /// etcd's revision of this.
    revision: i64,
}

/// Reads what a store at `at` has not.
async fn missing(
    shared: &Shared,
    member: &Member,
    at: Option<Position>,
) -> Result<Missing, Trouble> {
    let keys = &shared.keys;
    let (head, revision) = member.get(keys.head()).await?;
    let mut jobs = Vec::new();
    let Some(head) = head else {
        let head = None;
        return Ok(Missing {
            jobs,
            head,
            revision,
        });
    };
    let head = get::<Head>(head.value())?.at;
    let whole = (keys.base(), String::new());
    let base = member.range(whole, revision).await?;
    let base: Base = get(base.first().ok_or(Trouble::Garbled("base"))?.value())?;
    let since = at.filter(|at| at.seq >= base.at.seq);
    let from = keys.log_from(since.unwrap_or(base.at).seq);
    let mut batches = Vec::new();
    let mut assembly = Assembly::default();
    for pair in member.range((from, end(&keys.log())), revision).await? {
        if let Some((position, bytes)) = assembly.add(pair.value())?
            && position.seq <= head.seq
        {
            batches.push((position, decode_batch(&bytes)?));
        }
    }
    // The batch of the store's own position says of which history it is.
    let known =
        |at: &Position| *at == base.at || *at == head || batches.iter().any(|(p, _)| p == at);
    let start = match since.filter(known) {
        Some(at) => at,
        // On a way of its own, and not all batches were read.
        None if since.is_some() => return Box::pin(missing(shared, member, None)).await,
        None => {
            let folder = keys.snapshot(base.at);
            let mut all = Records::default();
            let mut parts = 0_u64;
            for pair in member
                .range((folder.clone(), end(&folder)), revision)
                .await?
            {
                all.add(pair.value())?;
                parts += 1;
            }
            if parts != base.parts {
                return Err(Trouble::Garbled("snapshot"));
            }
            jobs.push(StoreJob::Replace(base.at, all.all()));
            base.at
        }
    };
    let mut last = start.seq;
    for (position, batch) in batches.into_iter().filter(|(p, _)| p.seq > start.seq) {
        if position.seq != last + 1 {
            return Err(Trouble::Garbled("log"));
        }
        last = position.seq;
        jobs.push(StoreJob::Apply(position, batch));
    }
    if last != head.seq {
        return Err(Trouble::Garbled("head"));
    }
    let head = Some(head);
    Ok(Missing {
        jobs,
        head,
        revision,
    })
}

/// The records are about to be used: they are all that etcd has, and nothing more is written in the name of a master that is gone.
/// Whether they are all that it acknowledged.
pub(super) async fn settle(shared: &Shared) -> Result<bool, Trouble> {
    let began = shared.node.now();
    let seen = shared.with(|core| core.seen);
    let sure = match seen {
        Seen::Nothing => false,
        Seen::Fresh(at) => began.saturating_sub(at) < shared.settings.limit,
        Seen::Left => true,
    };
    if !sure && matches!(seen, Seen::Fresh(_)) {
        tracing::warn!(
            "the master has not shown for a while that etcd has all that it acknowledged: hosts are asked to register again"
        );
    }
    let tries = shared.settings.endpoints.len();
    let mut n = 0;
    loop {
        // One that says nothing leaves time for the others.
        let share = SETTLE / u32::try_from(tries).unwrap_or(1).max(1);
        let member = shared.members.member().await?.within(share);
        n += 1;
        match settle_with(shared, &member, began).await {
            Err(trouble) if trouble.is_of_member() && n < tries => shared.members.next(&member),
            done => return Ok(done? && sure),
        }
    }
}

async fn settle_with(shared: &Shared, member: &Member, began: NodeTime) -> Result<bool, Trouble> {
    let gone = loop {
        let (Some(pair), _) = member.get(shared.keys.leader()).await? else {
            break true;
        };
        let holder: Holder = get(pair.value())?;
        if holder.guid == shared.settings.guid || is_gone(member, &holder).await? {
            remove(shared, member, pair.mod_revision()).await?;
            if holder.alone {
                break false;
            }
            // It may have changed meanwhile.
            continue;
        }
        // Who hands over says it on the fabric first, and may still be writing.
        if shared.node.now().saturating_sub(began) >= GOING {
            break false;
        }
        sleep(PAUSE / 5).await;
    };
    let at = shared.node.position().await;
    let found = missing(shared, member, at).await?;
    let Some(head) = found.head else {
        return Ok(false);
    };
    if !found.jobs.is_empty() {
        shared
            .node
            .request(StoreRequest::Jobs(shared.session(), found.jobs));
    }
    let now = shared.node.position().await;
    shared.with(|core| core.known = now);
    Ok(gone && now == Some(head))
}

/// Follows for as long as this is not ended from outside.
pub(super) async fn follow(shared: &Arc<Shared>) {
    let mut told: Option<tokio::time::Instant> = None;
    let mut pause = PAUSE;
    loop {
        let Ok(member) = shared.members.member().await else {
            sleep(PAUSE).await;
            continue;
        };
        let mut watching = Watching {
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
        let Err(trouble) = watching.follow().await;
        watching.not_left();
        watching.out(&trouble.to_string());
        // One member is enough: in the time that there is nobody knows whether it is that one alone.
        if trouble.is_of_member() {
            shared.was_in_trouble();
            shared.members.next(&watching.member);
        }
        let version = matches!(trouble, Trouble::Version(..));
        // It is so for as long as an upgrade takes.
        if version && pause == PAUSE {
            tracing::warn!("no copy: {trouble}");
        }
        // While etcd is gone that is some twenty times a second, each time with another member.
        if !version && told.is_none_or(|at| at.elapsed() >= TOLD_EACH) {
            tracing::info!(why = %trouble, "the state in etcd is looked at again");
            told = Some(tokio::time::Instant::now());
        }
        pause = rest(&trouble, pause);
        sleep(pause).await;
    }
}

/// Time until it is tried again, after the time before. What is lacking is read each time, and may be everything.
fn rest(trouble: &Trouble, last: Duration) -> Duration {
    if trouble.stays() || matches!(trouble, Trouble::Version(..)) {
        (last * 2).min(STAYS)
    } else {
        PAUSE
    }
}

struct Watching<'a> {
    shared: &'a Arc<Shared>,
    member: Member,
    session: SessionId,
    leader: Option<Holder>,
    /// etcd's revision of what is known of it.
    leader_at: i64,
    /// It was told that nothing is heard of it.
    silent: bool,
    /// The last batch that was handed to the store.
    last: Option<Position>,
    /// Number of the last batch that was read before watching began.
    since: u64,
    assembly: Assembly,
}

impl Watching<'_> {
    /// Until something goes wrong, or another history begins.
    async fn follow(&mut self) -> Result<Infallible, Trouble> {
        let shared = self.shared;
        let member = self.member.clone();
        let at = shared.node.position().await;
        shared.with(|core| (core.known, core.stored) = (at, Ok(at)));
        let found = missing(shared, &member, at).await?;
        self.last = found.head.or(at);
        self.since = self.last.map_or(0, |at| at.seq);
        if !found.jobs.is_empty() {
            shared
                .node
                .request(StoreRequest::Jobs(self.session, found.jobs));
        }
        let mut watch = member.watch(shared.keys.all(), found.revision + 1).await?;
        let (pair, revision) = member.get(shared.keys.leader()).await?;
        self.leader_at = revision;
        if let Some(pair) = pair {
            self.leads(get(pair.value())?).await;
        }
        let mut changed = shared.node.changes();
        let silence = |l: &Holder| Duration::from_secs(l.silence_s.into());
        loop {
            self.step()?;
            let leader = self.leader;
            let look = async {
                let Some(leader) = leader else {
                    // Nobody leads: only whether the member is there is of interest.
                    sleep(shared.settings.limit).await;
                    member.get(shared.keys.leader()).await?;
                    return Ok(false);
                };
                sleep(silence(&leader) / 10).await;
                let asked = shared.node.now();
                let (gone, term) = are_old(&member.within(silence(&leader) / 2), &leader).await?;
                if shared.node.now().saturating_sub(asked) > silence(&leader) / 5 {
                    shared.was_in_trouble();
                }
                let settled = shared.with(|core| core.term.settled(term, asked, shared.leases()));
                if !gone && !leader.alone && settled {
                    shared.with(|core| core.seen = Seen::Fresh(asked));
                }
                Ok(gone)
            };
            tokio::pin!(look);
            let gone: Result<bool, Trouble> = loop {
                tokio::select! {
                    biased;
                    answer = watch.next() => {
                        for pair in answer?.events().iter().filter_map(KeyEvent::kv) {
                            self.happened(pair).await?;
                        }
                    }
                    // The sender lives as long as this does.
                    _ = changed.changed() => {}
                    gone = &mut look => break gone,
                }
                self.step()?;
                if self.leader != leader {
                    break Ok(false);
                }
            };
            if self.leader == leader {
                self.heard(gone?);
            }
        }
    }

    /// Whether the leases are old.
    fn heard(&mut self, gone: bool) {
        let Some(leader) = self.leader else {
            return;
        };
        if core::mem::replace(&mut self.silent, gone) == gone {
            return;
        }
        let guid = leader.guid;
        if gone {
            let in_sync = self.complete();
            self.shared.with(|core| core.leader = None);
            self.tell_of_silence(&leader, in_sync);
        } else {
            self.shown(guid);
        }
    }

    fn shown(&self, guid: u64) {
        let in_sync = false;
        self.shared
            .with(|core| core.leader = Some(PeerStatus { guid, in_sync }));
    }

    /// Something changed in etcd.
    async fn happened(&mut self, pair: &KeyValue) -> Result<(), Trouble> {
        let keys = &self.shared.keys;
        // etcd's kv.proto: a deletion resets the version to zero.
        let deleted = pair.version() == 0;
        if pair.key() == keys.leader().as_bytes() {
            if pair.mod_revision() <= self.leader_at {
                return Ok(());
            }
            self.leader_at = pair.mod_revision();
            if deleted {
                self.left().await;
            } else {
                self.leads(get(pair.value())?).await;
            }
        } else if deleted {
        } else if pair.key().starts_with(keys.log().as_bytes()) {
            let Some((at, bytes)) = self.assembly.add(pair.value())? else {
                return Ok(());
            };
            match self.last {
                // Written twice, because the first answer was lost.
                Some(last) if at.epoch == last.epoch && at.seq <= last.seq => {}
                Some(last) if at.seq == last.seq + 1 => {
                    let batch = decode_batch(&bytes)?;
                    self.last = Some(at);
                    self.shared.node.request(StoreRequest::Jobs(
                        self.session,
                        vec![StoreJob::Apply(at, batch)],
                    ));
                }
                Some(_) | None => return Err(Trouble::Forgotten),
            }
        } else if pair.key() == keys.base().as_bytes() {
            // Everything was written; that is of interest to who has not all of it.
            let base: Base = get(pair.value())?;
            if self.last != Some(base.at) {
                return Err(Trouble::Forgotten);
            }
        }
        Ok(())
    }

    /// The key is nobody's.
    async fn left(&mut self) {
        self.stored().await;
        let in_sync = self.complete();
        let Some(leader) = self.leader.take() else {
            return;
        };
        self.shared.with(|core| core.leader = None);
        if !core::mem::replace(&mut self.silent, false) {
            self.tell_of_silence(&leader, in_sync);
        }
    }

    /// What kept this from being heard by etcd kept the master too, perhaps: it has had no time yet to renew its lease.
    fn tell_of_silence(&self, leader: &Holder, in_sync: bool) {
        let troubled = self.shared.with(|core| core.troubled);
        self.shared.node.send_event(Event::MasterSilent {
            guid: leader.guid,
            in_sync,
            uncertain: is_uncertain(troubled, self.shared.node.now(), leader.silence_s),
        });
    }

    /// Somebody is master, or about to go.
    async fn leads(&mut self, holder: Holder) {
        let guid = holder.guid;
        if let Some(leaving) = holder.leaving {
            self.stored().await;
            let in_sync = self.complete() && !holder.alone;
            self.leader = None;
            self.shared.with(|core| {
                core.leader = None;
                core.seen = if holder.alone {
                    Seen::Nothing
                } else {
                    Seen::Left
                };
            });
            let event = Event::MasterLeaving {
                guid,
                leaving,
                in_sync,
            };
            self.shared.node.send_event(event);
            return;
        }
        if self.leader != Some(holder) {
            self.silent = false;
            self.leader = Some(holder);
            self.not_left();
            if holder.alone {
                self.shared.with(|core| core.seen = Seen::Nothing);
                self.out("it may have acknowledged what etcd has not");
            }
            self.shown(guid);
        }
    }

    /// Waits until the store has done what it was asked for.
    async fn stored(&self) {
        let _ = self.shared.node.position().await;
    }

    /// Whether all is stored that etcd has, as far as it is known here, and etcd has all that is acknowledged.
    fn complete(&self) -> bool {
        let stored = self.shared.with(|core| core.stored.clone());
        let alone = self.leader.is_some_and(|leader| leader.alone);
        !alone && self.last.is_some() && stored == Ok(self.last)
    }

    /// Whoever had left is not the last that was master any more, or another may have come.
    fn not_left(&self) {
        self.shared.with(|core| {
            if core.seen == Seen::Left {
                core.seen = Seen::Nothing;
            }
        });
    }

    /// Tells when it gets in step.
    fn step(&self) -> Result<(), Trouble> {
        let stored = self.shared.with(|core| core.stored.clone());
        let stored = stored.map_err(Trouble::Store)?.map_or(0, |at| at.seq);
        let last = self.last.map_or(0, |at| at.seq);
        if last.saturating_sub(stored.max(self.since)) > WAITING_MAX {
            return Err(Trouble::Store("it does not keep up".to_owned()));
        }
        let complete = self.complete();
        let guid = self.shared.with(|core| {
            let leader = core.leader.as_mut().filter(|l| !l.in_sync && complete)?;
            leader.in_sync = true;
            Some(leader.guid)
        });
        if let Some(guid) = guid {
            self.shared.node.send_event(Event::InSync { guid });
        }
        Ok(())
    }

    /// It does not watch any longer.
    fn out(&self, why: &str) {
        let was = self.shared.with(|core| core.leader.take());
        if let Some(PeerStatus {
            guid,
            in_sync: true,
        }) = was
        {
            let why = why.to_owned();
            self.shared.node.send_event(Event::OutOfSync { guid, why });
        }
    }
}

/// Whether etcd was in trouble less than two leases ago.
fn is_uncertain(troubled: Option<NodeTime>, now: NodeTime, silence_s: u8) -> bool {
    let time = Duration::from_secs(silence_s.into()) * 2;
    troubled.is_some_and(|at| now.saturating_sub(at) < time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_doubtful_for_two_leases_after_trouble() {
        let s = Duration::from_secs;
        assert!(!is_uncertain(None, s(100), 2));
        assert!(is_uncertain(Some(s(97)), s(100), 2));
        assert!(!is_uncertain(Some(s(96)), s(100), 2));
    }

    #[test]
    fn etcd_is_not_read_again_and_again_for_a_disk_that_stores_nothing() {
        let full = Trouble::Store("the disk is full".to_owned());
        let next = |last: &Duration| Some(rest(&full, *last));
        let rests: Vec<_> = core::iter::successors(Some(PAUSE), next).take(8).collect();
        assert_eq!(rests[1], PAUSE * 2, "it may have been for a moment");
        assert_eq!(rests[6..], [STAYS; 2]);
        assert_eq!(rest(&Trouble::Version(2, 2), STAYS), STAYS);
        assert_eq!(rest(&Trouble::Late(String::new()), STAYS), PAUSE);
    }
}
