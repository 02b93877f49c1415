//! What a master owes to etcd, whether it may believe to be the only master, and what is to be told of it. Pure: what happened and times
//! go in, work and events come out.

use core::time::Duration;
use std::collections::VecDeque;
use std::sync::Arc;

use crate::replication::event::Event;
use crate::replication::leader::Now;
use crate::replication::log::Position;

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
    Everything,
    Batches(Vec<Numbered>),
}

/// Of one time as master.
#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) epoch: u64,
    began: Now,
    limit: Duration,
    /// The last batch that was committed here; `None` before the first one, if it is not known otherwise.
    last: Option<u64>,
    /// The last one that etcd has.
    written: Option<u64>,
    waiting: VecDeque<(Numbered, Now)>,
    bytes: usize,
    /// What etcd has is not what comes before what waits.
    anew: bool,
    /// In etcd's log.
    logged: (u64, usize),
    /// Until when the leases are good; `None` without the key.
    sure_until: Option<Now>,
    /// It was told that it is not the only master for certain.
    unsure: bool,
    /// Since when nothing goes well, and the last reason.
    trouble: Option<(Now, String)>,
    announced: bool,
    protected: bool,
    events: Vec<Event>,
}

impl Ledger {
    pub(super) const fn new(epoch: u64, limit: Duration, now: Now) -> Self {
        Self {
            epoch,
            began: now,
            limit,
            last: None,
            written: None,
            waiting: VecDeque::new(),
            bytes: 0,
            anew: true,
            logged: (0, 0),
            sure_until: None,
            unsure: false,
            trouble: None,
            announced: false,
            protected: true,
            events: Vec::new(),
        }
    }

    /// Where the history is.
    pub(super) fn end(&self) -> Option<Position> {
        let epoch = self.epoch;
        self.last.map(|seq| Position { epoch, seq })
    }

    /// A batch is durable here.
    pub(super) fn committed(&mut self, seq: u64, body: Arc<[u8]>, now: Now) {
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

    /// The key is this node's. `known`: where the own store was when this node became master; `store`: where it is now; `head`: where
    /// etcd is.
    pub(super) fn held(
        &mut self,
        known: Option<Position>,
        store: Option<Position>,
        head: Option<Position>,
    ) {
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
            Some(head) if own(head) && !self.anew => self.wrote(head.seq),
            Some(head) if known == Some(head) && base == Some(head.seq) && !self.overtaken() => {
                self.anew = false;
                self.last = self.last.or(base);
                self.written = base;
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
            self.events.push(Event::Leading);
        }
    }

    /// The leases are good until then.
    pub(super) fn renewed(&mut self, until: Now) {
        self.sure_until = Some(until);
        self.unsure = false;
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
    pub(super) fn failed(&mut self, why: String, now: Now) {
        match &mut self.trouble {
            Some((_, last)) => *last = why,
            None => self.trouble = Some((now, why)),
        }
    }

    /// What is to be written.
    pub(super) fn work(&self) -> Work {
        let full = self.logged.0 >= LOG_MAX.0 || self.logged.1 >= LOG_MAX.1;
        if self.anew || full {
            return Work::Everything;
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
        if some.is_empty() {
            Work::Nothing
        } else {
            Work::Batches(some)
        }
    }

    /// The records are about to be read, to be written as a whole: what comes from now on comes after them or is in them.
    pub(super) const fn reading(&mut self) {
        self.anew = false;
    }

    /// etcd has all records, as of this batch.
    pub(super) fn wrote_everything(&mut self, seq: u64) {
        self.logged = (0, 0);
        self.last = self.last.max(Some(seq));
        // What was given up meanwhile is not in them.
        if !self.anew {
            self.wrote(seq);
        }
    }

    /// They could not be.
    pub(super) const fn not_everything(&mut self) {
        self.anew = true;
    }

    /// etcd has all up to this batch.
    pub(super) fn wrote(&mut self, seq: u64) {
        self.written = self.written.max(Some(seq));
        while let Some(((_, body), _)) = self.waiting.front().filter(|((s, _), _)| *s <= seq) {
            self.bytes -= body.len();
            self.logged = (self.logged.0 + 1, self.logged.1 + body.len());
            self.waiting.pop_front();
        }
        self.trouble = None;
        // The rest goes with the next transaction.
        if self.waiting.len() < OPS && !core::mem::replace(&mut self.protected, true) {
            self.events.push(Event::ProtectionRestored);
        }
    }

    /// All up to here is where it must be.
    pub(super) fn acknowledged(&self) -> Option<u64> {
        let all = if self.protected {
            self.written
        } else {
            self.last
        };
        all.filter(|_| self.announced)
    }

    /// Time passes.
    pub(super) fn tick(&mut self, now: Now) {
        if self.sure_until.is_some_and(|until| now >= until)
            && !core::mem::replace(&mut self.unsure, true)
        {
            let why = self.why("etcd did not take the renewal of the lease in time");
            self.events.push(Event::LeaseLost(why));
        }
        let long = |since: Now| now.saturating_sub(since) >= self.limit;
        let waits = self.waiting.front().is_some_and(|(_, since)| long(*since));
        let troubled = self.trouble.as_ref().is_some_and(|(since, _)| long(*since));
        if self.announced && !waits && !troubled || !self.announced && !long(self.began) {
            return;
        }
        let why = self.why("etcd takes too long to store it");
        // It leads all the same, without a copy.
        self.announce();
        if core::mem::replace(&mut self.protected, false) {
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
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(1);

    fn at(epoch: u64, seq: u64) -> Position {
        Position { epoch, seq }
    }

    fn ms(ms: u64) -> Now {
        Duration::from_millis(ms)
    }

    fn body() -> Arc<[u8]> {
        vec![1, 2, 3].into()
    }

    fn ledger() -> Ledger {
        Ledger::new(2, LIMIT, ms(0))
    }

    #[test]
    fn who_has_what_etcd_has_goes_on_from_it() {
        let mut l = ledger();
        l.committed(8, body(), ms(0));
        assert_eq!(l.acknowledged(), None, "not before it leads");
        l.held(Some(at(1, 7)), Some(at(2, 8)), Some(at(1, 7)));
        assert_eq!(l.events(), [Event::Leading]);
        assert_eq!(l.work(), Work::Batches(vec![(8, body())]));
        assert_eq!(l.acknowledged(), Some(7));
        l.wrote(8);
        assert_eq!((l.acknowledged(), l.work()), (Some(8), Work::Nothing));
    }

    #[test]
    fn who_has_anything_else_writes_everything() {
        for (known, store, head) in [
            (None, None, Some(at(1, 7))),
            (Some(at(1, 6)), Some(at(2, 6)), Some(at(1, 7))),
            (Some(at(3, 7)), Some(at(2, 7)), Some(at(1, 7))),
            (Some(at(1, 7)), Some(at(2, 9)), Some(at(1, 7))),
            (Some(at(1, 7)), Some(at(2, 7)), None),
        ] {
            let mut l = ledger();
            l.held(known, store, head);
            assert_eq!(l.work(), Work::Everything, "{known:?} {store:?} {head:?}");
        }
    }

    #[test]
    fn the_key_held_again_costs_nothing_that_etcd_has() {
        let mut l = ledger();
        l.held(None, Some(at(1, 3)), None);
        l.reading();
        l.wrote_everything(3);
        l.committed(4, body(), ms(0));
        l.committed(5, body(), ms(0));
        l.renewed(ms(900));
        l.fenced("gone");
        assert_eq!(
            l.events(),
            [Event::Leading, Event::LeaseLost("gone".to_owned())]
        );
        // Batch 4 is there, but the answer was lost.
        l.held(None, Some(at(2, 5)), Some(at(2, 4)));
        assert_eq!(
            (l.acknowledged(), l.work()),
            (Some(4), Work::Batches(vec![(5, body())]))
        );
        // All is gone.
        l.held(None, Some(at(2, 5)), None);
        assert_eq!(l.work(), Work::Everything);
    }

    #[test]
    fn without_etcd_it_leads_after_the_limit_and_says_so() {
        let mut l = ledger();
        l.failed("down".to_owned(), ms(10));
        l.committed(1, body(), ms(20));
        l.tick(ms(999));
        assert_eq!((l.acknowledged(), l.events()), (None, vec![]));
        l.tick(ms(1000));
        assert_eq!(
            l.events(),
            [Event::Leading, Event::ProtectionLost("down".to_owned())]
        );
        assert_eq!(l.acknowledged(), Some(1));
        l.committed(2, body(), ms(1100));
        assert_eq!(l.acknowledged(), Some(2));
        l.tick(ms(5000));
        l.held(None, Some(at(2, 2)), None);
        assert_eq!(l.work(), Work::Everything);
        l.reading();
        l.committed(3, body(), ms(5001));
        assert_eq!((l.events(), l.acknowledged()), (vec![], Some(3)));
        l.wrote_everything(2);
        assert_eq!(l.events(), [Event::ProtectionRestored]);
        assert_eq!(l.work(), Work::Batches(vec![(3, body())]));
        assert_eq!(l.acknowledged(), Some(2));
    }

    #[test]
    fn a_lease_that_is_not_renewed_is_told_once_and_again_after_it_was() {
        let mut l = ledger();
        l.held(None, None, None);
        l.renewed(ms(900));
        let _ = l.events();
        l.tick(ms(899));
        assert_eq!(l.events(), []);
        l.tick(ms(900));
        l.tick(ms(901));
        assert!(matches!(l.events()[..], [Event::LeaseLost(_)]));
        l.fenced("gone too");
        assert_eq!(l.events(), [], "it knows");
        l.renewed(ms(2000));
        l.tick(ms(2000));
        assert!(matches!(l.events()[..], [Event::LeaseLost(_)]));
    }

    #[test]
    fn what_does_not_follow_or_is_too_much_is_written_as_a_whole() {
        let mut l = ledger();
        l.held(Some(at(1, 7)), Some(at(2, 7)), Some(at(1, 7)));
        l.committed(8, body(), ms(0));
        l.committed(10, body(), ms(0));
        assert_eq!(l.work(), Work::Everything);
        let mut l = ledger();
        l.held(Some(at(1, 7)), Some(at(2, 7)), Some(at(1, 7)));
        l.committed(8, vec![0; WAITING_MAX.1 + 1].into(), ms(0));
        assert_eq!(l.work(), Work::Everything);
        l.reading();
        l.committed(9, vec![0; WAITING_MAX.1 + 1].into(), ms(0));
        l.wrote_everything(8);
        assert_eq!(
            (l.work(), l.acknowledged()),
            (Work::Everything, Some(7)),
            "9 is missing"
        );
    }
}
