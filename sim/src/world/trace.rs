//! What happened, as a number to compare runs by and as events to look at.

use ferrosm_mad::mad::Mad;
use ferrosm_mad::time::Instant;

use crate::fabric::DropReason;
use crate::spec::PortAt;

/// What happened to a MAD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A manager or a node sent it (answers and traps included).
    Sent,
    /// A manager got it.
    Delivered,
    /// The devices threw it away.
    Dropped(DropReason),
    /// A fault swallowed it.
    Lost,
}

/// A MAD at a place and time.
#[derive(Debug, Clone, Copy)]
pub struct TraceEvent<'a> {
    /// When.
    pub now: Instant,
    /// What.
    pub event: Event,
    /// Where: the port by which it came, or from which it was sent.
    pub at: PortAt,
    /// The MAD.
    pub mad: &'a Mad,
}

/// A hash of everything that happened, in order. Not for secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct TraceHash(u64);

impl TraceHash {
    pub(super) const fn value(self) -> u64 {
        self.0
    }

    pub(super) const fn word(&mut self, w: u64) {
        self.0 = (self.0 ^ w)
            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
            .rotate_left(29);
    }

    pub(super) fn event(&mut self, e: &TraceEvent<'_>) {
        self.word(e.now.as_nanos());
        self.word(match e.event {
            Event::Sent => 1,
            Event::Delivered => 2,
            Event::Lost => 3,
            Event::Dropped(reason) => 16 + reason as u64,
        });
        self.word((e.at.node as u64) << 8 | u64::from(e.at.port));
        for chunk in e.mad.as_bytes().chunks_exact(8) {
            self.word(ferrosm_mad::wire::get_bits(chunk, 0, 64));
        }
    }
}
