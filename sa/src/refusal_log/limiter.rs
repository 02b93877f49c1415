//! Which refusals are reported one by one, so that no flood of them fills the log, and no client
//! hides those of others.
//!
//! A refusal is reported if the same cause was not reported for its port within
//! [`REPEAT_INTERVAL`], at most [`PER_PORT_MAX`] of a port and [`REPORTS_MAX`] of all ports in a
//! [`WINDOW`]. The next report of the same port and cause has the number of refusals that were not
//! reported in between. The rest is reported as one number for each window. Only reported refusals
//! are stored, so these limits bound the memory as well.

use core::time::Duration;
use std::collections::BTreeMap;

use ferrosm_mad::ids::PortGuid;
use ferrosm_mad::time::Instant;

use crate::refusal::RefusalCause;

/// Time after which a cause is reported again for the same port.
pub const REPEAT_INTERVAL: Duration = Duration::from_secs(600);
/// Interval of the limits.
pub const WINDOW: Duration = Duration::from_secs(60);
/// Reports of all ports in a window.
pub const REPORTS_MAX: usize = 32;
/// Reports of one port in a window.
pub const PER_PORT_MAX: usize = 4;
/// Time for which a report is stored: a request that is repeated at most every two minutes meets it
/// again.
const STORED_FOR: Duration = Duration::from_secs(720);
/// Stored refusals: those of all windows within [`STORED_FOR`], and of the current one.
const STORED_MAX: usize = REPORTS_MAX * (720 / 60 + 1);

/// A reported refusal.
#[derive(Debug, Clone, Copy)]
struct Reported {
    at: Instant,
    /// Refusals since.
    repeats: u64,
}

/// Decides which refusals are reported.
#[derive(Debug, Clone, Default)]
pub struct RefusalLimiter {
    reported: BTreeMap<(PortGuid, RefusalCause), Reported>,
    /// The end of the current window; `None` before the first refusal.
    window_end: Option<Instant>,
    /// Reports in the current window.
    in_window: usize,
    /// Refusals that no report has told and none will.
    unreported: u64,
}

impl RefusalLimiter {
    /// A request of a port is refused. `Some` if it is to be reported, with the number of refusals
    /// of the same cause since the last report.
    pub fn admit(&mut self, port: PortGuid, cause: RefusalCause, now: Instant) -> Option<u64> {
        if self.window_end.is_none_or(|end| end <= now) {
            self.start_window(now);
        }
        let key = (port, cause);
        let known = self.reported.get(&key).copied();
        if let Some(known) = known
            && now.since(known.at) < REPEAT_INTERVAL
        {
            let repeats = known.repeats + 1;
            self.reported.insert(key, Reported { repeats, ..known });
            return None;
        }
        if self.in_window >= REPORTS_MAX || self.of_port_in_window(port) >= PER_PORT_MAX {
            self.unreported += 1;
            return None;
        }
        self.in_window += 1;
        let reported = Reported {
            at: now,
            repeats: 0,
        };
        self.reported.insert(key, reported);
        debug_assert!(self.reported.len() <= STORED_MAX);
        Some(known.map_or(0, |known| known.repeats))
    }

    /// When [`Self::take_unreported`] returns a number.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        self.window_end.filter(|_| self.unreported > 0)
    }

    /// At the end of a window: the number of refusals that were not reported one by one.
    pub fn take_unreported(&mut self, now: Instant) -> Option<u64> {
        self.next_due()
            .filter(|due| *due <= now)
            .map(|_| core::mem::take(&mut self.unreported))
    }

    fn start_window(&mut self, now: Instant) {
        self.window_end = Some(now + WINDOW);
        self.in_window = 0;
        let unreported = &mut self.unreported;
        self.reported.retain(|_, reported| {
            let is_stored = now.since(reported.at) < STORED_FOR;
            if !is_stored {
                *unreported += reported.repeats;
            }
            is_stored
        });
    }

    fn of_port_in_window(&self, port: PortGuid) -> usize {
        let causes = RefusalCause::ALL;
        let range = (port, causes[0].0)..=(port, causes[causes.len() - 1].0);
        let starts_after = |reported: &Reported| {
            self.window_end
                .is_some_and(|end| reported.at + WINDOW >= end)
        };
        self.reported
            .range(range)
            .filter(|(_, reported)| starts_after(reported))
            .count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_s(s: u64) -> Instant {
        Instant::from_nanos(s * 1_000_000_000)
    }

    /// A host that repeats a refused join every second is reported every ten minutes, with the
    /// number of repeats.
    #[test]
    fn repeats_are_counted_and_told_later() {
        let mut limiter = RefusalLimiter::default();
        let reports: Vec<(u64, u64)> = (0..1300)
            .filter_map(|s| Some((s, limiter.admit(PortGuid(1), RefusalCause::Rate, at_s(s))?)))
            .collect();
        assert_eq!(reports, [(0, 0), (600, 599), (1200, 599)]);
        // Once the host is silent for longer, the repeats are part of the number.
        assert!(
            limiter
                .admit(PortGuid(2), RefusalCause::Rate, at_s(3000))
                .is_some()
        );
        assert_eq!(limiter.take_unreported(at_s(3100)), Some(99));
    }

    /// A host with refusals of all causes leaves reports for others, and a flood from all hosts is
    /// reported as one number.
    #[test]
    fn a_flood_is_limited_by_port_and_in_all() {
        let mut limiter = RefusalLimiter::default();
        let mut reports = 0;
        for (cause, _) in RefusalCause::ALL {
            reports += usize::from(limiter.admit(PortGuid(1), cause, at_s(0)).is_some());
        }
        assert_eq!(reports, PER_PORT_MAX);
        assert_eq!(
            limiter.admit(PortGuid(2), RefusalCause::Mtu, at_s(0)),
            Some(0)
        );
        for s in 0..3600 {
            for port in 0..100 {
                let port = PortGuid(s * 100 + port);
                reports += usize::from(
                    limiter
                        .admit(port, RefusalCause::Partition, at_s(s))
                        .is_some(),
                );
                assert!(limiter.reported.len() <= STORED_MAX);
            }
        }
        assert!(reports <= REPORTS_MAX * 61, "{reports}");
        assert_eq!(limiter.take_unreported(at_s(3599)), None);
        let unreported = limiter.take_unreported(at_s(3700)).unwrap_or(0);
        assert!(unreported > 350_000, "{unreported}");
        assert_eq!(limiter.next_due(), None);
    }
}
