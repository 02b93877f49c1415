//! The notifications that wait for a target: their order, retries and bounds.
//!
//! A state machine without I/O and clock. Notifications are sent one after the other, so that they
//! arrive in order.

use core::time::Duration;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use ferrosm_api::alarm::{AlarmChange, Notification};

/// Most notifications that wait. Further ones are dropped and counted.
pub(super) const WAITING_MAX: usize = 1000;
/// How long a notification waits, so that what belongs to it can be part of it: the links of a
/// switch go down before the switch is known to be gone. What ends within this time is not sent.
pub(super) const GROUP_TIME: Duration = Duration::from_secs(2);
/// Time until the first retry; it doubles with each retry.
const RETRY_MIN: Duration = Duration::from_secs(1);
/// Longest time until a retry.
const RETRY_MAX: Duration = Duration::from_secs(300);
/// Time after which a notification is given up.
const GIVE_UP_AFTER: Duration = Duration::from_secs(24 * 3600);

/// The notifications that wait for a target.
#[derive(Debug, Default)]
pub(super) struct NoticeQueue {
    waiting: VecDeque<WaitingNotice>,
    /// When the first one is due.
    retry_at: Option<Instant>,
    retry_after: Duration,
    dropped: u64,
}

#[derive(Debug)]
struct WaitingNotice {
    notice: Arc<Notification>,
    queued: Instant,
    was_tried: bool,
}

/// What becomes of a notification that was not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AfterFailure {
    Retry,
    GiveUp,
}

impl NoticeQueue {
    /// Adds a notification. Returns whether there was room.
    pub(super) fn push(&mut self, notice: Arc<Notification>, now: Instant) -> bool {
        if notice.change == AlarmChange::Cleared && self.withdraw(notice.alarm.id) {
            return true;
        }
        if notice.change == AlarmChange::Changed && self.refresh(&notice) {
            return true;
        }
        if self.waiting.len() >= WAITING_MAX {
            // saturates: a counter stops at its maximum.
            self.dropped = self.dropped.saturating_add(1);
            return false;
        }
        self.waiting.push_back(WaitingNotice {
            notice,
            queued: now,
            was_tried: false,
        });
        true
    }

    /// Removes what waits about an alarm that ended. Returns whether its raise was among it, so
    /// that the target does not know the alarm.
    fn withdraw(&mut self, id: u64) -> bool {
        let is_waiting =
            |waiting: &WaitingNotice| waiting.notice.alarm.id == id && !waiting.was_tried;
        let mut of_alarm = self.waiting.iter().filter(|w| is_waiting(w));
        let has_raise = of_alarm.any(|waiting| waiting.notice.change == AlarmChange::Raised);
        self.waiting.retain(|waiting| !is_waiting(waiting));
        has_raise
    }

    /// Updates the alarm of a raise that waits. Returns whether there is one.
    fn refresh(&mut self, changed: &Notification) -> bool {
        let mut waiting = self.waiting.iter_mut();
        let raise = waiting.find(|waiting| {
            let notice = &waiting.notice;
            let is_raise = notice.change == AlarmChange::Raised && !waiting.was_tried;
            is_raise && notice.alarm.id == changed.alarm.id
        });
        let Some(raise) = raise else {
            return false;
        };
        raise.notice = Arc::new(Notification {
            alarm: changed.alarm.clone(),
            ..Notification::clone(&raise.notice)
        });
        true
    }

    /// When the first notification is to be sent.
    pub(super) fn due(&self) -> Option<Instant> {
        let first = self.waiting.front()?;
        let grouped = match first.notice.change {
            AlarmChange::Cleared | AlarmChange::Test => first.queued,
            AlarmChange::Raised | AlarmChange::Changed | AlarmChange::Unacknowledged => {
                first.queued + GROUP_TIME
            }
        };
        Some(self.retry_at.map_or(grouped, |at| at.max(grouped)))
    }

    /// The first notification, which is being sent.
    pub(super) fn first(&mut self) -> Option<Arc<Notification>> {
        let first = self.waiting.front_mut()?;
        first.was_tried = true;
        Some(Arc::clone(&first.notice))
    }

    /// The first notification was sent.
    pub(super) fn on_sent(&mut self) {
        self.waiting.pop_front();
        self.retry_at = None;
        self.retry_after = Duration::ZERO;
    }

    /// The first notification was not sent.
    pub(super) fn on_failed(&mut self, now: Instant) -> AfterFailure {
        self.retry_after = (self.retry_after * 2).clamp(RETRY_MIN, RETRY_MAX);
        self.retry_at = Some(now + self.retry_after);
        let first = self.waiting.front();
        let is_old = first.is_some_and(|first| now.duration_since(first.queued) >= GIVE_UP_AFTER);
        if !is_old {
            return AfterFailure::Retry;
        }
        self.waiting.pop_front();
        // saturates: a counter stops at its maximum.
        self.dropped = self.dropped.saturating_add(1);
        AfterFailure::GiveUp
    }

    /// The number of dropped notifications since the last call.
    pub(super) fn take_dropped(&mut self) -> u64 {
        core::mem::take(&mut self.dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::notification;
    use super::*;

    fn changes(queue: &NoticeQueue) -> Vec<(AlarmChange, u64)> {
        let waiting = queue.waiting.iter();
        waiting
            .map(|waiting| (waiting.notice.change, waiting.notice.alarm.id))
            .collect()
    }

    /// What ends before it is sent is not sent; what was tried is followed by its end.
    #[test]
    fn alarm_that_ends_soon_is_not_sent() {
        use AlarmChange::{Cleared, Raised};
        let now = Instant::now();
        let mut queue = NoticeQueue::default();
        for (change, id) in [(Raised, 1), (Raised, 2), (Cleared, 1)] {
            assert!(queue.push(notification(change, id), now));
        }
        assert_eq!(changes(&queue), [(Raised, 2)]);
        assert_eq!(queue.due(), Some(now + GROUP_TIME));
        let mut changed = Notification::clone(&notification(AlarmChange::Changed, 2));
        changed.alarm.kind = "node-absent".to_owned();
        assert!(queue.push(Arc::new(changed), now));
        assert_eq!(changes(&queue), [(Raised, 2)]);
        let first = queue.first().unwrap();
        assert_eq!((first.alarm.id, &*first.alarm.kind), (2, "node-absent"));
        assert!(queue.push(notification(Cleared, 2), now));
        assert_eq!(changes(&queue), [(Raised, 2), (Cleared, 2)]);
        queue.on_sent();
        assert_eq!(queue.due(), Some(now));
    }

    /// Retries become rarer, until the notification is given up; the next one begins anew after a
    /// success.
    #[test]
    fn retries_become_rarer() {
        let start = Instant::now();
        let mut queue = NoticeQueue::default();
        queue.push(notification(AlarmChange::Test, 0), start);
        let mut now = start;
        let mut waits = Vec::new();
        loop {
            if queue.on_failed(now) == AfterFailure::GiveUp {
                break;
            }
            let due = queue.due().unwrap();
            waits.push((due - now).as_secs());
            now = due;
        }
        assert_eq!(waits[..10], [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]);
        assert!(waits.len() < 310, "{}", waits.len());
        assert_eq!(queue.due(), None);
        assert_eq!((queue.take_dropped(), queue.take_dropped()), (1, 0));
        queue.on_sent();
        queue.push(notification(AlarmChange::Test, 0), now);
        assert_eq!(queue.on_failed(now), AfterFailure::Retry);
        assert_eq!(queue.due(), Some(now + RETRY_MIN));
    }

    /// Beyond the bound, notifications are dropped and counted.
    #[test]
    fn queue_is_bounded() {
        let now = Instant::now();
        let mut queue = NoticeQueue::default();
        let mut accepted = 0;
        for id in 0..1010 {
            accepted += usize::from(queue.push(notification(AlarmChange::Raised, id), now));
        }
        assert_eq!((accepted, queue.take_dropped()), (WAITING_MAX, 10));
    }
}
