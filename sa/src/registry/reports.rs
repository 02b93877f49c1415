//! Reports to subscribers, retransmitted until acknowledged (IBA 13.4.10; docs/sm-behaviour.md
//! 6.9).
//!
//! A report is sent at most four times with doubling timeouts. A subscriber that never acknowledges
//! loses its own oldest reports; reports to other subscribers are not affected.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use ferrosm_mad::attr::Notice;
use ferrosm_mad::gmp::Peer;
use ferrosm_mad::ids::{Gid, Tid};
use ferrosm_mad::mad::{Mad, MadHeader, Method, MgmtClass};
use ferrosm_mad::sa::inform::ReportedNotice;
use ferrosm_mad::sa::{self, CLASS_VERSION, id};
use ferrosm_mad::time::Instant;

/// Transmissions of a report before it is abandoned.
const ATTEMPTS_MAX: u8 = 4;
/// Time to wait for the first acknowledgement; doubles with each attempt.
const FIRST_TIMEOUT: Duration = Duration::from_millis(250);
/// Pending reports to one subscriber; a new report replaces the oldest.
const PENDING_PER_SUBSCRIBER_MAX: usize = 64;
/// Pending reports in total; further ones are dropped.
const PENDING_MAX: usize = 1 << 16;

/// A report to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutgoingReport {
    /// The subscriber's address.
    pub to: Peer,
    /// The message.
    pub bytes: Vec<u8>,
    /// Time to wait for the acknowledgement.
    pub response_timeout: Duration,
}

#[derive(Debug, Clone)]
struct Pending {
    to: Peer,
    gid: Gid,
    bytes: Vec<u8>,
    attempts: u8,
    due: Instant,
}

/// All pending reports.
#[derive(Debug, Clone, Default)]
pub struct ReportQueue {
    pending: BTreeMap<u32, Pending>,
    due: BTreeSet<(Instant, u32)>,
    by_subscriber: BTreeMap<Gid, BTreeSet<u32>>,
    next: u32,
    /// Reports that were never acknowledged.
    abandoned: u64,
}

impl ReportQueue {
    /// Queues a notice for a subscriber; the first transmission is due at once.
    pub fn enqueue(&mut self, gid: Gid, to: Peer, notice: &Notice, issuer: Gid, now: Instant) {
        let queue = self.by_subscriber.entry(gid).or_default();
        if queue.len() >= PENDING_PER_SUBSCRIBER_MAX
            && let Some(oldest) = queue.first().copied()
        {
            self.abandoned += 1;
            self.remove(oldest);
        }
        if self.pending.len() >= PENDING_MAX {
            self.abandoned += 1;
            return;
        }
        self.next = self.next.wrapping_add(1);
        let number = self.next;
        let bytes = message(number, notice, issuer);
        self.by_subscriber.entry(gid).or_default().insert(number);
        self.due.insert((now, number));
        self.pending.insert(
            number,
            Pending {
                to,
                gid,
                bytes,
                attempts: 0,
                due: now,
            },
        );
    }

    /// Processes a ReportResp; `is_from` checks the sender against the address of a report.
    pub fn acknowledge(&mut self, tid: Tid, is_from: impl FnOnce(&Peer) -> bool) {
        if let Ok(number) = u32::try_from(tid.0 & u64::from(u32::MAX))
            && self.pending.get(&number).is_some_and(|r| is_from(&r.to))
        {
            self.remove(number);
        }
    }

    /// Removes the reports of a subscriber that left the subnet.
    pub fn remove_subscriber(&mut self, gid: Gid) {
        for number in self.by_subscriber.remove(&gid).unwrap_or_default() {
            self.remove(number);
        }
    }

    /// The next report that is due.
    pub fn poll(&mut self, now: Instant) -> Option<OutgoingReport> {
        loop {
            let (at, number) = self.due.first().copied().filter(|(at, _)| *at <= now)?;
            let Some(report) = self.pending.get_mut(&number) else {
                self.due.remove(&(at, number));
                continue;
            };
            if report.attempts >= ATTEMPTS_MAX {
                self.abandoned += 1;
                self.remove(number);
                continue;
            }
            let timeout = FIRST_TIMEOUT * (1 << report.attempts);
            report.attempts += 1;
            report.due = now + timeout;
            self.due.remove(&(at, number));
            self.due.insert((report.due, number));
            return Some(OutgoingReport {
                to: report.to,
                bytes: report.bytes.clone(),
                response_timeout: timeout,
            });
        }
    }

    /// When the next report is due.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Reports that were never acknowledged.
    #[must_use]
    pub const fn abandoned(&self) -> u64 {
        self.abandoned
    }

    fn remove(&mut self, number: u32) {
        let Some(report) = self.pending.remove(&number) else {
            return;
        };
        self.due.remove(&(report.due, number));
        if let Some(queue) = self.by_subscriber.get_mut(&report.gid) {
            queue.remove(&number);
            if queue.is_empty() {
                self.by_subscriber.remove(&report.gid);
            }
        }
    }
}

/// The Report MAD (IBA 13.4.8.2, 13.4.10).
fn message(number: u32, notice: &Notice, issuer: Gid) -> Vec<u8> {
    let mut mad = Mad::new(&MadHeader {
        base_version: 1,
        mgmt_class: MgmtClass::SubnAdm,
        class_version: CLASS_VERSION,
        method: Method::Report,
        tid: Tid(u64::from(number)),
        attr_id: id::NOTICE,
        ..MadHeader::default()
    });
    let reported = ReportedNotice {
        notice: notice.encode(),
        issuer_gid: issuer,
    };
    reported.encode_onto(sa::data_mut(&mut mad));
    mad.as_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrosm_mad::ids::Lid;

    fn at_ms(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn queue_with_one_report() -> ReportQueue {
        let mut reports = ReportQueue::default();
        let to = Peer {
            lid: Lid(5),
            ..Peer::default()
        };
        reports.enqueue(Gid([1; 16]), to, &Notice::default(), Gid([2; 16]), at_ms(0));
        reports
    }

    #[test]
    fn reports_are_retried_with_doubling_timeouts_then_abandoned() {
        let mut reports = queue_with_one_report();
        let mut sent = Vec::new();
        for ms in 0..10_000 {
            while reports.poll(at_ms(ms)).is_some() {
                sent.push(ms);
            }
        }
        assert_eq!(sent, [0, 250, 750, 1750]);
        assert_eq!((reports.abandoned(), reports.next_due()), (1, None));
    }

    #[test]
    fn acknowledged_reports_are_not_retried() {
        let mut reports = queue_with_one_report();
        let out = reports.poll(at_ms(0)).unwrap();
        let tid = MadHeader::decode_slice(&out.bytes).unwrap().tid;
        // The kernel replaces the upper half of the TID.
        let tid = Tid(tid.0 | 7 << 32);
        reports.acknowledge(tid, |to| to.lid == Lid(6));
        assert!(reports.next_due().is_some(), "ReportResp from another port");
        reports.acknowledge(tid, |to| to.lid == Lid(5));
        assert_eq!(reports.poll(at_ms(60_000)), None);
        assert_eq!((reports.abandoned(), reports.next_due()), (0, None));
    }

    #[test]
    fn queue_limit_drops_the_oldest_report_of_the_same_subscriber() {
        let mut reports = queue_with_one_report();
        for i in 0..200 {
            let to = Peer::default();
            reports.enqueue(Gid([9; 16]), to, &Notice::default(), Gid([2; 16]), at_ms(i));
        }
        let lids: Vec<Lid> = core::iter::from_fn(|| reports.poll(at_ms(200)))
            .map(|o| o.to.lid)
            .collect();
        assert_eq!(lids.iter().filter(|l| **l == Lid(5)).count(), 1);
        assert_eq!(lids.len(), 1 + PENDING_PER_SUBSCRIBER_MAX);
    }
}
