//! Tables whose Sets a device rejected, and when each is written again.
//!
//! After its second rejection a device keeps the table: the SM plans with the contents that it has.
//! The delay until the table is written again doubles with each further rejection, so that a device
//! which never accepts it costs next to nothing.

use core::time::Duration;
use std::collections::BTreeMap;

use ferrosm_mad::attr::id;
use ferrosm_mad::ids::{AttrId, PortNum};
use ferrosm_mad::mad::Status;
use ferrosm_mad::time::Instant;

/// Shortest and longest time until a table that a device keeps is written again.
const RETRY_DELAYS: (Duration, Duration) = (Duration::from_secs(20), Duration::from_secs(80));

/// A table of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeviceTable {
    /// A block of the LFT.
    Lft(u16),
    Mft,
    /// The SLtoVLMappingTables of a switch (port 0), or that of a CA or router port.
    SlToVl(PortNum),
    /// The VLArbitrationTable of a port.
    VlArbitration(PortNum),
    /// The P_Key table of a port.
    PKeys(PortNum),
}

impl DeviceTable {
    /// The attribute, and the port that messages name.
    const fn attr_and_port(self) -> (AttrId, PortNum) {
        match self {
            Self::Lft(_) => (id::LFT, PortNum::ZERO),
            Self::Mft => (id::MFT, PortNum::ZERO),
            Self::SlToVl(port) => (id::SL_TO_VL, port),
            Self::VlArbitration(port) => (id::VL_ARBITRATION, port),
            Self::PKeys(port) => (id::PKEY_TABLE, port),
        }
    }
}

/// What follows from a rejection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RejectionEffect {
    /// None: the device did not respond, which is no rejection.
    Unanswered,
    /// The first in a row: the table is written again at once or by the next sweep.
    WriteAgain,
    /// The second in a row: the device keeps the table from now on.
    Keeps,
    /// The device keeps the table already.
    KeptBefore,
}

/// Tables that a device rejected together are written again together, in one sweep.
fn next_second(at: Instant) -> Instant {
    let since_start = at.since(Instant::START);
    let begun = u64::from(since_start.subsec_nanos() > 0);
    Instant::START + Duration::from_secs(since_start.as_secs() + begun)
}

#[derive(Debug, Clone)]
struct Rejection {
    /// In a row, at most 2.
    count: u8,
    status: Status,
    retry_at: Instant,
    /// The delay before `retry_at`.
    delay: Duration,
}

impl Rejection {
    const fn is_kept(&self) -> bool {
        self.count >= 2
    }
}

/// The tables of one device that it rejected. At most one entry for each LFT block and three for
/// each port.
#[derive(Debug, Clone, Default)]
pub struct Rejections(BTreeMap<DeviceTable, Rejection>);

impl Rejections {
    /// A Set of the table failed, with the status of the response or without a response.
    pub fn record(
        &mut self,
        table: DeviceTable,
        status: Option<Status>,
        now: Instant,
    ) -> RejectionEffect {
        let Some(status) = status else {
            return RejectionEffect::Unanswered;
        };
        let rejection = self.0.entry(table).or_insert(Rejection {
            count: 0,
            status,
            retry_at: now,
            delay: Duration::ZERO,
        });
        rejection.status = status;
        let was_kept = rejection.is_kept();
        if was_kept && now < rejection.retry_at {
            // Several Sets were in flight.
            return RejectionEffect::KeptBefore;
        }
        rejection.count = (rejection.count + 1).min(2);
        if !rejection.is_kept() {
            return RejectionEffect::WriteAgain;
        }
        let (shortest, longest) = RETRY_DELAYS;
        rejection.delay = (rejection.delay * 2).clamp(shortest, longest);
        rejection.retry_at = next_second(now + rejection.delay);
        if was_kept {
            RejectionEffect::KeptBefore
        } else {
            RejectionEffect::Keeps
        }
    }

    /// A Set of the table was accepted. Returns whether the device kept the table and no longer
    /// does. The delay remains, because the device may reject other contents.
    pub fn accept(&mut self, table: DeviceTable, now: Instant) -> bool {
        let Some(rejection) = self.0.get_mut(&table) else {
            return false;
        };
        let was_kept = rejection.is_kept();
        if was_kept && now < rejection.retry_at {
            return false;
        }
        rejection.count = 0;
        was_kept
    }

    /// Whether the device keeps the table.
    #[must_use]
    pub fn keeps(&self, table: DeviceTable) -> bool {
        self.0.get(&table).is_some_and(Rejection::is_kept)
    }

    /// Whether the table may be written: the device does not keep it, or it is time to try again.
    pub fn may_write(&self, table: DeviceTable, now: Instant) -> bool {
        self.0
            .get(&table)
            .is_none_or(|rejection| !rejection.is_kept() || rejection.retry_at <= now)
    }

    /// The device was reset, or another SM was master: its tables are written again soon.
    pub fn retry_soon(&mut self) {
        for rejection in self.0.values_mut() {
            rejection.retry_at = Instant::START;
        }
    }

    /// When the next table that the device keeps is written again.
    pub fn next_retry(&self) -> Option<Instant> {
        let kept = self.0.values().filter(|rejection| rejection.is_kept());
        kept.map(|rejection| rejection.retry_at).min()
    }

    /// Tables that were to be written again by now count as not kept, with the same delay if they
    /// are rejected again. Returns whether routes were computed with one of them.
    pub fn forget_due(&mut self, now: Instant) -> bool {
        let mut constrained_routes = false;
        for (table, rejection) in &mut self.0 {
            if rejection.is_kept() && rejection.retry_at <= now {
                rejection.count = 0;
                constrained_routes |= match table {
                    DeviceTable::Lft(_)
                    | DeviceTable::SlToVl(_)
                    | DeviceTable::VlArbitration(_) => true,
                    DeviceTable::Mft | DeviceTable::PKeys(_) => false,
                };
            }
        }
        constrained_routes
    }

    /// The ports of kept tables that are to be written again by now.
    pub fn due_ports(&self, now: Instant) -> impl Iterator<Item = PortNum> + '_ {
        let due = self
            .0
            .iter()
            .filter(move |(_, r)| r.is_kept() && r.retry_at <= now);
        due.map(|(table, _)| table.attr_and_port().1)
    }

    /// LFT blocks that the device keeps.
    pub fn kept_lft_blocks(&self) -> impl Iterator<Item = u16> + '_ {
        self.kept().filter_map(|(table, _)| match table {
            DeviceTable::Lft(block) => Some(block),
            DeviceTable::Mft
            | DeviceTable::SlToVl(_)
            | DeviceTable::VlArbitration(_)
            | DeviceTable::PKeys(_) => None,
        })
    }

    /// The attributes that the device keeps, with the port and the status of the last rejection;
    /// one entry for all LFT blocks.
    pub fn kept_attrs(&self) -> Vec<(AttrId, PortNum, Status)> {
        let mut attrs: Vec<(AttrId, PortNum, Status)> = Vec::new();
        for (table, status) in self.kept() {
            let (attr, port) = table.attr_and_port();
            if attrs
                .last()
                .is_none_or(|last| (last.0, last.1) != (attr, port))
            {
                attrs.push((attr, port, status));
            }
        }
        attrs
    }

    fn kept(&self) -> impl Iterator<Item = (DeviceTable, Status)> + '_ {
        let kept = self.0.iter().filter(|(_, rejection)| rejection.is_kept());
        kept.map(|(table, rejection)| (*table, rejection.status))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device keeps a table after the second rejection. It is written again after 20 s, 40 s and
    /// so on, at most 80 s.
    #[test]
    fn table_is_written_again_at_increasing_intervals() {
        let rejected = Some(Status::BAD_FIELD);
        let (table, mut now) = (DeviceTable::Mft, Instant::START);
        let mut rejections = Rejections::default();
        let unanswered = rejections.record(table, None, now);
        assert_eq!(unanswered, RejectionEffect::Unanswered);
        assert_eq!(
            rejections.record(table, rejected, now),
            RejectionEffect::WriteAgain
        );
        assert!(rejections.may_write(table, now));
        assert_eq!(
            rejections.record(table, rejected, now),
            RejectionEffect::Keeps
        );
        for seconds in [20, 40, 80, 80] {
            assert!(!rejections.may_write(table, now));
            assert_eq!(
                rejections.record(table, rejected, now),
                RejectionEffect::KeptBefore
            );
            assert_eq!(
                rejections.next_retry(),
                Some(now + Duration::from_secs(seconds))
            );
            now = now + Duration::from_secs(seconds);
            assert!(rejections.may_write(table, now));
            assert_eq!(
                rejections.record(table, rejected, now),
                RejectionEffect::KeptBefore
            );
        }
        assert!(!rejections.accept(table, now));
        now = now + Duration::from_secs(80);
        assert!(rejections.accept(table, now));
        assert!(!rejections.keeps(table));
    }

    /// Blocks of an LFT that were rejected one after the other are due at the same time: each retry
    /// is a sweep.
    #[test]
    fn tables_rejected_together_are_due_together() {
        let rejected = Some(Status::BAD_FIELD);
        let mut rejections = Rejections::default();
        for block in 0..500_u16 {
            let now = Instant::START + Duration::from_micros(100 + u64::from(block));
            for _ in 0..2 {
                let _ = rejections.record(DeviceTable::Lft(block), rejected, now);
            }
        }
        let due = rejections.next_retry().unwrap();
        assert!(rejections.forget_due(due));
        assert_eq!(rejections.next_retry(), None);
    }
}
