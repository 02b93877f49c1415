//! Answers that must not go out before what they say is durable.
//!
//! Owned by the driver. What was answered is promised: a client that was told that it is a member never asks again, so that a
//! restart or a takeover must know it. Answers leave in the order in which they came. When the disk takes too long, the fabric
//! matters more: answers go out all the same, and it is told, once until all is well again. Where others follow, replication decides:
//! it has told them that they lack something before it lets go. It knows no clock, and nothing of what an answer is.

use core::time::Duration;
use std::collections::VecDeque;

use ferrosm_mad::time::Instant;

/// The longest that an answer waits for the disk.
pub const LIMIT: Duration = Duration::from_secs(1);

/// What is to be told of protection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alarm {
    /// Answers go out before what they say is durable.
    Lost,
    /// They wait again, and need not wait long.
    Back,
}

/// Answers that wait.
#[derive(Debug)]
pub struct Held<T> {
    waiting: VecDeque<Waiting<T>>,
    /// The last ticket that was given, and the last that is durable.
    given: u64,
    durable: u64,
    /// The last ticket that is on the disk here.
    on_disk: u64,
    /// The longest that an answer waits for those who follow, on top of [`LIMIT`].
    patience: Duration,
    /// Nothing is held until this ticket is durable.
    overdue: Option<u64>,
    alarm: Option<Alarm>,
}

#[derive(Debug)]
struct Waiting<T> {
    ticket: u64,
    until: Instant,
    answer: T,
}

impl<T> Default for Held<T> {
    fn default() -> Self {
        Self {
            waiting: VecDeque::new(),
            given: 0,
            durable: 0,
            on_disk: 0,
            patience: Duration::ZERO,
            overdue: None,
            alarm: None,
        }
    }
}

impl<T> Held<T> {
    /// Only a replication that does not keep its own word makes an answer wait so long.
    pub const fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    /// Something is to be kept: answers that come now wait for it.
    pub fn given(&mut self, ticket: u64) {
        self.given = self.given.max(ticket);
    }

    /// An answer: comes back if it may go out at once.
    pub fn answer(&mut self, answer: T, now: Instant) -> Option<T> {
        let free = self.given <= self.durable || self.overdue.is_some();
        if free && self.waiting.is_empty() {
            return Some(answer);
        }
        self.waiting.push_back(Waiting {
            ticket: self.given,
            until: now + LIMIT,
            answer,
        });
        None
    }

    /// All up to these tickets is durable, and on the disk here.
    pub fn reached(&mut self, durable: u64, on_disk: u64) {
        self.durable = self.durable.max(durable);
        self.on_disk = self.on_disk.max(on_disk);
        if self.overdue.is_some_and(|overdue| overdue <= self.durable) {
            self.overdue = None;
            self.tell(Alarm::Back, Alarm::Lost);
        }
    }

    /// The next answer that may go out now.
    pub fn poll(&mut self, now: Instant) -> Option<T> {
        let first = self.waiting.front()?;
        if first.ticket > self.durable && self.overdue.is_none() {
            if self.due(first) > now {
                return None;
            }
            self.overdue = Some(self.given);
            self.tell(Alarm::Lost, Alarm::Back);
        }
        self.waiting.pop_front().map(|w| w.answer)
    }

    /// Another is to answer from now on: what waits is not said, and whoever asked asks that one.
    pub fn forget(&mut self) {
        self.waiting.clear();
    }

    /// When an answer has waited long enough.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.waiting.front().map(|first| self.due(first))
    }

    fn due(&self, first: &Waiting<T>) -> Instant {
        first.until + self.patience
    }

    /// How long the oldest answer has waited for the disk.
    #[must_use]
    pub fn disk_waits(&self, now: Instant) -> Duration {
        let first = self.waiting.iter().find(|w| w.ticket > self.on_disk);
        first.map_or(Duration::ZERO, |w| (now + LIMIT).since(w.until))
    }

    /// What is to be told, once.
    pub const fn take_alarm(&mut self) -> Option<Alarm> {
        self.alarm.take()
    }

    /// What waits, the oldest first.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.waiting.iter_mut().map(|w| &mut w.answer)
    }

    /// Answers that wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether none waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Of two words that take each other back, none is said.
    fn tell(&mut self, alarm: Alarm, unless: Alarm) {
        self.alarm = if self.alarm == Some(unless) {
            None
        } else {
            Some(alarm)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn an_answer_waits_for_what_was_given_before_it() {
        let mut held = Held::default();
        assert_eq!(
            held.answer("read", at(0)),
            Some("read"),
            "nothing is to be kept"
        );
        held.given(1);
        assert_eq!(held.answer("first", at(0)), None);
        held.given(2);
        assert_eq!(held.answer("second", at(1)), None);
        assert_eq!(held.poll(at(2)), None);
        held.reached(1, 1);
        assert_eq!((held.poll(at(3)), held.poll(at(3))), (Some("first"), None));
        assert_eq!(held.poll_timeout(), Some(at(1001)));
        held.reached(2, 2);
        assert_eq!(held.poll(at(4)), Some("second"));
        assert!(held.is_empty() && held.take_alarm().is_none());
        assert_eq!(held.answer("after", at(5)), Some("after"));
    }

    #[test]
    fn a_disk_that_hangs_is_told_of_once_and_holds_nobody_up() {
        let mut held = Held::default();
        held.given(1);
        assert_eq!(held.answer(1, at(0)), None);
        held.given(2);
        assert_eq!(held.answer(2, at(900)), None);
        assert_eq!(held.poll(at(999)), None);
        assert_eq!(
            (held.poll(at(1000)), held.poll(at(1000))),
            (Some(1), Some(2))
        );
        assert_eq!(held.take_alarm(), Some(Alarm::Lost));
        for n in 3..10 {
            held.given(n);
            assert_eq!(
                held.answer(n, at(1000 + n)),
                Some(n),
                "at once, as long as it hangs"
            );
            held.reached(1, 1);
            assert_eq!(held.take_alarm(), None);
        }
        held.reached(9, 9);
        assert_eq!(held.take_alarm(), Some(Alarm::Back));
        held.given(10);
        assert_eq!(held.answer(10, at(2000)), None);
    }

    #[test]
    fn where_others_follow_replication_decides() {
        let mut held = Held::default();
        held.set_patience(Duration::from_secs(4));
        for n in 1..=2 {
            held.given(n);
            assert_eq!(held.answer(n, at(n * 100)), None);
        }
        assert_eq!(held.disk_waits(at(600)), Duration::from_millis(500));
        held.reached(0, 1);
        assert_eq!(held.disk_waits(at(600)), Duration::from_millis(400));
        assert_eq!(held.poll_timeout(), Some(at(5100)));
        assert_eq!(held.poll(at(5099)), None);
        held.reached(1, 2);
        assert_eq!(held.disk_waits(at(5099)), Duration::ZERO);
        assert_eq!((held.poll(at(5099)), held.poll(at(5199))), (Some(1), None));
        assert_eq!(held.take_alarm(), None);
        assert_eq!(held.poll(at(5200)), Some(2), "it does not keep its word");
        assert_eq!(held.take_alarm(), Some(Alarm::Lost));
    }

    proptest! {
        /// Whatever happens in whatever order: answers leave in theirs, none before its ticket but after the limit or while it is
        /// known that the disk hangs, none after the limit; and words of trouble and of its end take turns.
        #[test]
        fn answers_leave_in_order_and_in_time(steps in prop::collection::vec((0..5u8, 1..400u64), 1..200)) {
            let mut held = Held::default();
            let (mut ms, mut given, mut durable) = (0, 0, 0);
            let mut expected = VecDeque::new();
            let mut lost = false;
            for (n, (what, by)) in steps.into_iter().enumerate() {
                ms += by / 4;
                match what {
                    0 => {
                        given += 1;
                        held.given(given);
                    }
                    1 | 2 => {
                        expected.push_back((n, given, ms));
                        if held.answer(n, at(ms)).is_some() {
                            prop_assert!(durable >= given || lost);
                            prop_assert_eq!(expected.pop_back().map(|e| e.0), Some(n));
                        }
                    }
                    3 => {
                        durable = (durable + by / 100).min(given);
                        held.reached(durable, durable);
                    }
                    _ => ms += by,
                }
                let mut late = lost;
                while let Some(answer) = held.poll(at(ms)) {
                    let (expected, ticket, since) = expected.pop_front().unwrap();
                    prop_assert_eq!(answer, expected);
                    late |= since + 1000 <= ms;
                    prop_assert!(ticket <= durable || late);
                }
                if let Some((_, ticket, since)) = expected.front() {
                    prop_assert!(*ticket > durable && since + 1000 > ms);
                }
                match held.take_alarm() {
                    Some(Alarm::Lost) => prop_assert!(!core::mem::replace(&mut lost, true)),
                    Some(Alarm::Back) => prop_assert!(core::mem::replace(&mut lost, false)),
                    None => {}
                }
            }
        }
    }
}
