//! Outputs that wait until the batches before them are durable.
//!
//! Outputs leave in order. If the store takes longer than [`LIMIT`], they leave all the same, and
//! one alarm is raised, until all batches up to that moment are durable. With replication, the
//! limit is extended by the time within which replication acknowledges a batch, or reports that a
//! standby lost its replica. The gate does not inspect outputs.

use core::time::Duration;
use std::collections::VecDeque;

use ferrosm_mad::time::Instant;

use crate::io::Persisted;

/// The longest that an output waits for the local disk.
pub(crate) const LIMIT: Duration = Duration::from_secs(1);

/// Whether outputs are protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alarm {
    /// Outputs leave before the batches that they depend on are durable.
    Late,
    /// The store has caught up, and outputs wait again.
    Recovered,
}

/// Outputs that wait.
#[derive(Debug)]
pub(crate) struct Gate<T> {
    waiting: VecDeque<Waiting<T>>,
    /// The last batch that outputs wait for.
    last: u64,
    /// The last batch that is durable by the policy of the store.
    durable: u64,
    /// The last batch that is on the local disk.
    on_disk: u64,
    /// Added to [`LIMIT`] for replication.
    extra: Duration,
    /// The store is late: outputs do not wait until this batch is durable.
    late_until: Option<u64>,
    /// Outputs left before their batches were on the local disk: the last of these batches, and the
    /// limit of the first output.
    left_early: Option<(u64, Instant)>,
    alarm: Option<Alarm>,
}

#[derive(Debug)]
struct Waiting<T> {
    batch: u64,
    until: Instant,
    output: T,
}

impl<T> Default for Gate<T> {
    fn default() -> Self {
        Self {
            waiting: VecDeque::new(),
            last: 0,
            durable: 0,
            on_disk: 0,
            extra: Duration::ZERO,
            late_until: None,
            left_early: None,
            alarm: None,
        }
    }
}

impl<T> Gate<T> {
    /// Extends the limit for replication.
    pub(crate) const fn set_extra_wait(&mut self, extra_wait: Duration) {
        self.extra = extra_wait;
    }

    /// Outputs from now on wait for this batch.
    pub(crate) fn wait_for(&mut self, batch: u64) {
        self.last = self.last.max(batch);
    }

    /// Takes an output, or returns it if it may leave now.
    pub(crate) fn pass_or_queue(&mut self, output: T, now: Instant) -> Option<T> {
        let is_open = self.last <= self.durable || self.late_until.is_some();
        let until = now + LIMIT;
        if is_open && self.waiting.is_empty() {
            self.record_departure(self.last, until);
            return Some(output);
        }
        self.waiting.push_back(Waiting {
            batch: self.last,
            until,
            output,
        });
        None
    }

    /// An output leaves that depends on `batch`.
    fn record_departure(&mut self, batch: u64, until: Instant) {
        if batch > self.on_disk {
            let first = self.left_early.map_or(until, |(_, first)| first);
            self.left_early = Some((batch, first));
        }
    }

    /// Batches are durable.
    pub(crate) fn on_persisted(&mut self, persisted: Persisted) {
        self.durable = self.durable.max(persisted.durable);
        self.on_disk = self.on_disk.max(persisted.on_disk);
        self.left_early = self.left_early.filter(|(batch, _)| *batch > self.on_disk);
        if self.late_until.is_some_and(|until| until <= self.durable) {
            self.late_until = None;
            self.raise(Alarm::Recovered, Alarm::Late);
        }
    }

    /// The next output that may leave now.
    #[inline]
    pub(crate) fn poll(&mut self, now: Instant) -> Option<T> {
        let first = self.waiting.front()?;
        if first.batch > self.durable && self.late_until.is_none() {
            if self.due(first) > now {
                return None;
            }
            self.late_until = Some(self.last);
            self.raise(Alarm::Late, Alarm::Recovered);
        }
        let first = self.waiting.pop_front()?;
        self.record_departure(first.batch, first.until);
        Some(first.output)
    }

    /// Drops the waiting outputs.
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// When the first output has waited long enough.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.waiting.front().map(|first| self.due(first))
    }

    fn due(&self, first: &Waiting<T>) -> Instant {
        first.until + self.extra
    }

    /// How long the local disk has delayed the oldest output. An output that left at the limit
    /// counts until its batch is on disk, because standbys lack that batch, too.
    pub(crate) fn disk_wait(&self, now: Instant) -> Duration {
        let left = self.left_early.map(|(_, until)| until);
        let mut waiting = self.waiting.iter().filter(|w| w.batch > self.on_disk);
        let first = left.or_else(|| waiting.next().map(|w| w.until));
        first.map_or(Duration::ZERO, |until| (now + LIMIT).since(until))
    }

    /// The alarm to report, once.
    pub(crate) const fn take_alarm(&mut self) -> Option<Alarm> {
        self.alarm.take()
    }

    /// Outputs that wait.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// An alarm and its end that were not reported yet cancel each other.
    fn raise(&mut self, alarm: Alarm, opposite: Alarm) {
        self.alarm = if self.alarm == Some(opposite) {
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

    const fn to(durable: u64, on_disk: u64) -> Persisted {
        Persisted { durable, on_disk }
    }

    #[test]
    fn output_waits_for_the_batches_before_it() {
        let mut gate = Gate::default();
        assert_eq!(
            gate.pass_or_queue("read", at(0)),
            Some("read"),
            "nothing was persisted"
        );
        gate.wait_for(1);
        assert_eq!(gate.pass_or_queue("first", at(0)), None);
        gate.wait_for(2);
        assert_eq!(gate.pass_or_queue("second", at(1)), None);
        assert_eq!(gate.poll(at(2)), None);
        gate.on_persisted(to(1, 1));
        assert_eq!((gate.poll(at(3)), gate.poll(at(3))), (Some("first"), None));
        assert_eq!(gate.poll_timeout(), Some(at(1001)));
        gate.on_persisted(to(2, 2));
        assert_eq!(gate.poll(at(4)), Some("second"));
        assert!(gate.is_empty() && gate.take_alarm().is_none());
        assert_eq!(gate.pass_or_queue("after", at(5)), Some("after"));
    }

    #[test]
    fn hanging_disk_is_reported_once_and_delays_no_output() {
        let mut gate = Gate::default();
        gate.wait_for(1);
        assert_eq!(gate.pass_or_queue(1, at(0)), None);
        gate.wait_for(2);
        assert_eq!(gate.pass_or_queue(2, at(900)), None);
        assert_eq!(gate.poll(at(999)), None);
        assert_eq!(
            (gate.poll(at(1000)), gate.poll(at(1000))),
            (Some(1), Some(2))
        );
        assert_eq!(gate.take_alarm(), Some(Alarm::Late));
        for n in 3..10 {
            gate.wait_for(n);
            assert_eq!(
                gate.pass_or_queue(n, at(1000 + n)),
                Some(n),
                "at once, as long as it hangs"
            );
            gate.on_persisted(to(1, 1));
            assert_eq!(gate.take_alarm(), None);
            assert_eq!(
                gate.disk_wait(at(1000 + n)),
                Duration::from_millis(1000 + n)
            );
        }
        gate.on_persisted(to(8, 8));
        assert_eq!(
            gate.disk_wait(at(1500)),
            Duration::from_millis(1500),
            "the last output is not protected yet"
        );
        gate.on_persisted(to(9, 9));
        assert_eq!(gate.disk_wait(at(1500)), Duration::ZERO);
        assert_eq!(gate.take_alarm(), Some(Alarm::Recovered));
        gate.wait_for(10);
        assert_eq!(gate.pass_or_queue(10, at(2000)), None);
    }

    #[test]
    fn the_limit_is_extended_for_replication() {
        let mut gate = Gate::default();
        gate.set_extra_wait(Duration::from_secs(4));
        for n in 1..=2 {
            gate.wait_for(n);
            assert_eq!(gate.pass_or_queue(n, at(n * 100)), None);
        }
        assert_eq!(gate.disk_wait(at(600)), Duration::from_millis(500));
        gate.on_persisted(to(0, 1));
        assert_eq!(gate.disk_wait(at(600)), Duration::from_millis(400));
        assert_eq!(gate.poll_timeout(), Some(at(5100)));
        assert_eq!(gate.poll(at(5099)), None);
        gate.on_persisted(to(1, 2));
        assert_eq!(gate.disk_wait(at(5099)), Duration::ZERO);
        assert_eq!((gate.poll(at(5099)), gate.poll(at(5199))), (Some(1), None));
        assert_eq!(gate.take_alarm(), None);
        assert_eq!(gate.poll(at(5200)), Some(2), "replication is late");
        assert_eq!(gate.take_alarm(), Some(Alarm::Late));
    }

    proptest! {
        /// Outputs leave in order, none before its batch is durable except after the limit or while
        /// the store is late, none later than the limit; alarms and their ends alternate.
        #[test]
        fn outputs_leave_in_order_and_in_time(steps in prop::collection::vec((0..5u8, 1..400u64), 1..200)) {
            let mut gate = Gate::default();
            let (mut ms, mut given, mut durable) = (0, 0, 0);
            let mut expected = VecDeque::new();
            let mut lost = false;
            for (n, (what, by)) in steps.into_iter().enumerate() {
                ms += by / 4;
                match what {
                    0 => {
                        given += 1;
                        gate.wait_for(given);
                    }
                    1 | 2 => {
                        expected.push_back((n, given, ms));
                        if gate.pass_or_queue(n, at(ms)).is_some() {
                            prop_assert!(durable >= given || lost);
                            prop_assert_eq!(expected.pop_back().map(|e| e.0), Some(n));
                        }
                    }
                    3 => {
                        durable = (durable + by / 100).min(given);
                        gate.on_persisted(to(durable, durable));
                    }
                    _ => ms += by,
                }
                let mut late = lost;
                while let Some(answer) = gate.poll(at(ms)) {
                    let (expected, ticket, since) = expected.pop_front().unwrap();
                    prop_assert_eq!(answer, expected);
                    late |= since + 1000 <= ms;
                    prop_assert!(ticket <= durable || late);
                }
                if let Some((_, ticket, since)) = expected.front() {
                    prop_assert!(*ticket > durable && since + 1000 > ms);
                }
                match gate.take_alarm() {
                    Some(Alarm::Late) => prop_assert!(!core::mem::replace(&mut lost, true)),
                    Some(Alarm::Recovered) => prop_assert!(core::mem::replace(&mut lost, false)),
                    None => {}
                }
            }
        }
    }
}
