//! MAD events for observers, and a hash that compares runs.

use std::fmt;

use ferrosm_mad::mad::Mad;
use ferrosm_mad::time::Instant;

use crate::fabric::{DropReason, Packet};
use crate::spec::PortAt;

/// What happened to a MAD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MadEvent {
    /// A program or node sent it (including replies and traps).
    Sent,
    /// It was delivered to a program.
    Delivered,
    /// A device dropped it.
    Dropped(DropReason),
    /// A fault lost it.
    Lost,
}

/// A MAD event. [`fmt::Display`] formats it as one line.
#[derive(Debug, Clone, Copy)]
pub struct TraceEvent<'a> {
    /// Time.
    pub now: Instant,
    pub event: MadEvent,
    /// Port where the MAD arrived, or from which it was sent.
    pub at: PortAt,
    pub mad: &'a Mad,
    /// MAD with its addresses, keys and GRH.
    pub packet: &'a Packet,
}

impl fmt::Display for TraceEvent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let h = self.mad.header();
        write!(f, "{:?} ", self.now)?;
        match self.event {
            MadEvent::Sent => f.write_str("sent")?,
            MadEvent::Delivered => f.write_str("delivered")?,
            MadEvent::Dropped(reason) => write!(f, "dropped ({reason:?})")?,
            MadEvent::Lost => f.write_str("lost")?,
        }
        write!(
            f,
            " {}[{}] lid {}->{} qp {}->{} class {:#x} method {:#x} attr {:#x} mod {:#x} tid {:#x} status {:#x} ",
            self.at.node,
            self.at.port,
            self.packet.slid.0,
            self.packet.dlid.0,
            self.packet.src_qpn.0,
            self.packet.dest_qpn.0,
            h.mgmt_class.0,
            h.method.0,
            h.attr_id.0,
            h.attr_mod.0,
            h.tid.0,
            h.status,
        )?;
        for byte in self.mad.as_bytes() {
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

/// A non-cryptographic hash of all events in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct TraceHash(u64);

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
            MadEvent::Sent => 1,
            MadEvent::Delivered => 2,
            MadEvent::Lost => 3,
            MadEvent::Dropped(reason) => 16 + reason as u64,
        });
        self.word((e.at.node as u64) << 8 | u64::from(e.at.port));
        // Four independent chains, which the processor can compute in parallel.
        let mut chains = [Self(1), Self(2), Self(3), Self(4)];
        let (words, _) = e.mad.as_bytes().as_chunks::<8>();
        for four in words.chunks_exact(chains.len()) {
            for (chain, word) in chains.iter_mut().zip(four) {
                chain.word(u64::from_be_bytes(*word));
            }
        }
        for chain in chains {
            self.word(chain.0);
        }
    }
}
