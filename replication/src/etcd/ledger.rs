//! What a master owes to etcd, whether it may believe to be the only master, and what is to be told of it. Pure: what happened and times
//! go in, work and events come out.

use core::time::Duration;
use std::collections::VecDeque;
use std::sync::Arc;

use crate::event::Event;
use crate::leader::NodeTime;
use crate::log::Position;

/// Operations in one transaction; etcd takes 128.
const OPS: usize = 100;
/// Batches and bytes that wait for etcd; more are given up, and everything is written anew when it answers.
const WAITING_MAX: (usize, usize) = (65_536, 64 << 20);
/// Batches and bytes in etcd's log, about, before everything is written anew.
const LOG_MAX: (u64, usize) = (10_000, 16 << 20);

/// A batch: its number and its bytes.
pub(super) type Numbered = (u64, Arc<[u8]>);

/// What is to be written next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Work {
    Nothing,
    FullWrite,
    Batches(Vec<Numbered>),
    /// The key is to say that this node acknowledges nothing alone any more.
    Together,
}

/// Whether a batch is acknowledged only when etcd has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Together,
    /// Not for much longer, if nothing gets better: no lease is renewed any more, so that standbys see it before it is so.
    Parting,
    /// It is not: nobody else has what is acknowledged.
    Alone,
}

/// What the key says of it to standbys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    /// That etcd has all that was acknowledged.
    Together,
    /// That it may lack something.
    Alone,
    /// One of both.
    Either,
}

/// Of one time as master.
#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) epoch: u64,
    began: NodeTime,
    limit: Duration,
    /// The last batch that was committed here; `None` before the first one, if it is not known otherwise.
    last: Option<u64>,
    /// The last one that etcd has.
    written: Option<u64>,
    waiting: VecDeque<(Numbered, NodeTime)>,
    bytes: usize,
    /// What etcd has is not what comes before what waits.
    anew: bool,
    /// All records are being read and written.
    reading: bool,
    /// How long an answer has waited for the own disk: what it says is not in etcd either.
    disk_delay: Duration,
    /// In etcd's log.
    logged: (u64, usize),
    /// Until when the leases are good; `None` without the key.
    sure_until: Option<NodeTime>,
    /// It was told that it is not the only master for certain.
    unsure: bool,
    /// Since when nothing goes well, and the last reason.
    trouble: Option<(NodeTime, String)>,
    announced: bool,
    way: Way,
    /// When the last renewal of a lease may have come to etcd.
    touched: NodeTime,
    /// Age at which standbys take a lease for old.
    silence: Duration,
    says: Says,
    /// The last batch that was acknowledged alone: the key may not say otherwise before etcd has it.
    owed: Option<u64>,
    /// The alarm that nobody has a copy was told.
    alarmed: bool,
    events: Vec<Event>,
}

impl Ledger {
    pub(super) const fn new(epoch: u64, limit: Duration, silence: Duration, now: NodeTime) -> Self {
        Self {
            epoch,
            began: now,
            limit,
            last: None,
            written: None,
            waiting: VecDeque::new(),
            bytes: 0,
            anew: true,
            reading: false,
            disk_delay: Duration::ZERO,
            logged: (0, 0),
            sure_until: None,
            unsure: false,
            trouble: None,
            announced: false,
            way: Way::Together,
            touched: now,
            silence,
            // Until it is known that etcd has what this node has.
            says: Says::Alone,
            owed: None,
            alarmed: false,
            events: Vec::new(),
        }
    }

    /// Where the history is.
    pub(super) fn end(&self) -> Option<Position> {
        let epoch = self.epoch;
        self.last.map(|seq| Position { epoch, seq })
    }

    /// A batch is durable here.
    pub(super) fn committed(&mut self, seq: u64, body: Arc<[u8]>, now: NodeTime) {
        let follows = self.last.is_none_or(|last| seq == last + 1);
        if !follows {
            self.give_up();
        }
        self.last = Some(seq);
        self.bytes += body.len();
        self.waiting.push_back(((seq, body), now));
        if self.waiting.len() > WAITING_MAX.0 || self.bytes > WAITING_MAX.1 {
            self.give_up();
        }
    }

    fn give_up(&mut self) {
        self.waiting.clear();
        self.bytes = 0;
        self.anew = true;
    }

    /// Whether another was master meanwhile and wrote more, where etcd is at `head`. A batch from before this node's own is of an old
    /// backup.
    pub(super) fn is_followed_by(&self, known: Option<Position>, head: Position) -> bool {
        let older = known.is_some_and(|known| known.epoch == head.epoch);
        let more = self.written.is_some_and(|written| head.seq >= written);
        more && !older && head.epoch != self.epoch
    }

    /// The key is this node's. `known`: where the own store was when this node became master; `store`: where it is now; `head`: where
    /// etcd is.
    pub(super) fn held(
        &mut self,
        known: Option<Position>,
        store: Option<Position>,
        head: Option<Position>,
        now: NodeTime,
    ) {
        self.cut_off();
        let begins = self
            .waiting
            .front()
            .map(|((seq, _), _)| seq.saturating_sub(1));
        let base = begins.or_else(|| store.map(|at| at.seq));
        let own = |head: Position| {
            head.epoch == self.epoch && self.written.is_some_and(|w| w <= head.seq)
        };
        match head {
            // An earlier time with the key, perhaps with an answer that was lost.
            Some(head) if own(head) && !self.anew => self.wrote(head.seq, now),
            Some(head) if known == Some(head) && base == Some(head.seq) && !self.overtaken() => {
                self.anew = false;
                self.last = self.last.or(base);
                self.written = base;
                self.trouble = None;
                self.keeps_up(now);
            }
            Some(_) | None => self.anew = true,
        }
        self.last = self.last.or_else(|| store.map(|at| at.seq));
        self.announce();
    }

    /// Whether batches were given up before the key was held.
    fn overtaken(&self) -> bool {
        self.waiting.is_empty() && self.last.is_some()
    }

    fn announce(&mut self) {
        if !core::mem::replace(&mut self.announced, true) {
            self.events.push(Event::MasterReady);
        }
    }

    /// The leases are good until then. To hear the same again is no renewal: what was told of it stands.
    pub(super) fn renewed(&mut self, until: NodeTime) {
        if self.sure_until < Some(until) {
            self.sure_until = Some(until);
            self.unsure = false;
        }
    }

    /// The key is not this node's any more.
    pub(super) fn fenced(&mut self, why: &str) {
        if self.sure_until.take().is_some() && !core::mem::replace(&mut self.unsure, true) {
            self.events.push(Event::LeaseLost(why.to_owned()));
        }
    }

    /// Another node has taken the key that was this node's.
    pub(super) fn deposed(&mut self, guid: u64) {
        self.sure_until = None;
        self.events.push(Event::Deposed { guid });
    }

    /// Something did not go well.
    pub(super) fn failed(&mut self, why: String, now: NodeTime) {
        match &mut self.trouble {
            Some((_, last)) => *last = why,
            None => self.trouble = Some((now, why)),
        }
    }

    /// What is to be written.
    pub(super) fn work(&self) -> Work {
        let full = self.logged.0 >= LOG_MAX.0 || self.logged.1 >= LOG_MAX.1;
        if self.anew || full {
            return Work::FullWrite;
        }
        let mut size = 0;
        let mut some = Vec::new();
        for ((seq, body), _) in self.waiting.iter().take(OPS) {
            size += body.len();
            if !some.is_empty() && size > super::keys::PART {
                break;
            }
            some.push((*seq, body.clone()));
        }
        if self.says != Says::Together && self.way != Way::Alone && self.has_owed() {
            Work::Together
        } else if some.is_empty() {
            Work::Nothing
        } else {
            Work::Batches(some)
        }
    }

    fn has_owed(&self) -> bool {
        self.written.is_some() && self.written >= self.owed
    }

    /// Whether etcd may lack what was acknowledged, as far as standbys are to know.
    pub(super) fn is_apart(&self) -> bool {
        self.way == Way::Alone || self.says != Says::Together
    }

    /// Whether etcd has all that was acknowledged, as far as is known here.
    pub(super) const fn is_protected(&self) -> bool {
        self.written.is_some() && !self.alarmed && !matches!(self.way, Way::Alone)
    }

    /// Whether leases may be renewed: not while standbys would believe by it that etcd has everything for longer than that is so.
    /// `None`: the key must be held anew, to say something else.
    pub(super) const fn may_renew(&self) -> Option<bool> {
        match (self.way, self.says) {
            (Way::Together, _) | (_, Says::Alone) => Some(true),
            (Way::Parting, Says::Together | Says::Either) => Some(false),
            (Way::Alone, Says::Together | Says::Either) => None,
        }
    }

    /// No key is held. When it is, it says at first that etcd may lack something.
    pub(super) const fn holds_nothing(&mut self) {
        self.says = Says::Alone;
        self.cut_off();
    }

    /// Writing ended from outside: what was not written as a whole then is still due.
    const fn cut_off(&mut self) {
        if self.reading {
            self.not_everything();
        }
    }

    /// It is about to say that etcd has everything.
    pub(super) const fn saying(&mut self, now: NodeTime) {
        self.says = Says::Either;
        self.touched = now;
    }

    /// It says so.
    pub(super) fn said(&mut self) {
        self.says = Says::Together;
        if core::mem::take(&mut self.alarmed) {
            self.events.push(Event::ProtectionRestored);
        }
    }

    /// A lease that standbys believe may be renewed in etcd about now.
    pub(super) fn touches(&mut self, now: NodeTime) {
        if self.says != Says::Alone {
            self.touched = now;
        }
    }

    /// etcd answers, and the key is still this node's.
    pub(super) fn answered(&mut self) {
        // Records that are under way as a whole are not there yet.
        let late = self.disk_delay >= self.limit;
        if self.waiting.is_empty() && !self.anew && !self.reading && !late {
            self.trouble = None;
            self.not_parting();
        }
    }

    /// Nothing was acknowledged alone yet.
    fn not_parting(&mut self) {
        if self.way == Way::Parting {
            self.way = Way::Together;
        }
    }

    /// Whether etcd keeps up: then nothing more is acknowledged alone, and soon the key can say so.
    fn keeps_up(&mut self, now: NodeTime) {
        // The rest goes with the next transaction.
        if self.waiting.len() >= OPS || self.anew || self.disk_delay >= self.limit {
            return;
        }
        self.not_parting();
        if self.way == Way::Alone && self.says == Says::Alone {
            self.way = Way::Together;
            self.owed = self.last;
            self.waiting.iter_mut().for_each(|(_, since)| *since = now);
        }
    }

    /// The records are about to be read, to be written as a whole: what comes from now on comes after them or is in them.
    pub(super) const fn reading(&mut self) {
        self.anew = false;
        self.reading = true;
    }

    /// etcd has all records, as of this batch.
    pub(super) fn wrote_everything(&mut self, seq: u64, now: NodeTime) {
        self.logged = (0, 0);
        self.reading = false;
        self.last = self.last.max(Some(seq));
        // What was given up meanwhile is not in them.
        if !self.anew {
            self.wrote(seq, now);
        }
    }

    /// They could not be.
    pub(super) const fn not_everything(&mut self) {
        self.anew = true;
        self.reading = false;
    }

    /// etcd has all up to this batch.
    pub(super) fn wrote(&mut self, seq: u64, now: NodeTime) {
        self.written = self.written.max(Some(seq));
        while let Some(((_, body), _)) = self.waiting.front().filter(|((s, _), _)| *s <= seq) {
            self.bytes -= body.len();
            self.logged = (self.logged.0 + 1, self.logged.1 + body.len());
            self.waiting.pop_front();
        }
        self.trouble = None;
        self.keeps_up(now);
    }

    /// All up to here is where it must be.
    pub(super) fn acknowledged(&self) -> Option<u64> {
        let all = match self.way {
            Way::Together | Way::Parting => self.written,
            Way::Alone => self.last,
        };
        all.filter(|_| self.announced)
    }

    /// An answer has waited so long for the own disk; zero where none waits. To be said before [`Self::tick`].
    pub(super) const fn disk_delay(&mut self, waits: Duration) {
        self.disk_delay = waits;
    }

    /// Time passes.
    pub(super) fn tick(&mut self, now: NodeTime) {
        if self.sure_until.is_some_and(|until| now >= until)
            && !core::mem::replace(&mut self.unsure, true)
        {
            let why = self.why("etcd did not take the renewal of the lease in time");
            self.events.push(Event::LeaseLost(why));
        }
        let long = |since: NodeTime| now.saturating_sub(since) >= self.limit;
        let waits = self.waiting.front().is_some_and(|(_, since)| long(*since));
        let troubled = self.trouble.as_ref().is_some_and(|(since, _)| long(*since));
        let waits = waits || self.disk_delay >= self.limit;
        if self.way == Way::Together && (waits || troubled || !self.announced && long(self.began)) {
            self.way = Way::Parting;
            // It leads all the same, without a copy.
            self.announce();
        }
        // Whoever saw a lease that was not old does not rely on it any more then: see `Seen` in `node`.
        if self.way != Way::Parting || now < self.touched + self.silence + self.limit {
            return;
        }
        let why = self.why("etcd takes too long to store it");
        self.way = Way::Alone;
        if self.says == Says::Together {
            self.says = Says::Either;
        }
        if !core::mem::replace(&mut self.alarmed, true) {
            self.events.push(Event::ProtectionLost(why));
        }
    }

    fn why(&self, otherwise: &str) -> String {
        self.trouble
            .as_ref()
            .map_or(otherwise, |(_, why)| why)
            .to_owned()
    }

    /// What happened.
    pub(super) fn events(&mut self) -> Vec<Event> {
        core::mem::take(&mut self.events)
    }
}

#[cfg(test)]
mod tests;
