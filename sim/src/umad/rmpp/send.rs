//! One outgoing message: its segments, and how far the receiver is.
//!
//! It knows no time and no addresses; the send around it has both.

use ferrosm_mad::mad::{MAD_LEN, Mad};
use ferrosm_mad::sa::{RmppHeader, RmppType};

use crate::umad::class::RMPP_HEADER;

/// What PayloadLength counts of a whole segment: all but the common and the RMPP header.
const PAYLOAD: u32 = 220;
const _: () = assert!(MAD_LEN - RMPP_HEADER == 220);

/// The data of a message and the state of its transfer.
#[derive(Debug)]
pub(in crate::umad) struct Segments {
    data: Vec<u8>,
    /// Where the data begins in every segment.
    offset: usize,
    count: u32,
    /// The last that was sent.
    sent: u32,
    /// The last that was acknowledged.
    acknowledged: u32,
    /// The last that may be sent.
    window: u32,
    /// One segment may go although the window is closed: the ACK that opened it may be lost.
    probes: bool,
    /// It has a turn in the outbox.
    pub(in crate::umad) is_queued: bool,
}

/// What an ACK means for a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Acknowledged {
    /// It is overtaken by others.
    Old,
    /// It tells of segments that were never allowed.
    Nonsense,
    /// Everything was acknowledged before.
    Repeated,
    /// Everything is acknowledged now.
    All,
    /// There is more to send; `progress` if segments were acknowledged.
    Some { progress: bool },
}

impl Segments {
    /// A message of headers of `offset` bytes, which are the caller's, and this data.
    pub(in crate::umad) fn new(data: &[u8], offset: usize) -> Self {
        let count = data.len().div_ceil(MAD_LEN - offset).max(1);
        Self {
            data: data.to_vec(),
            offset,
            count: u32::try_from(count).unwrap_or(u32::MAX),
            sent: 0,
            acknowledged: 0,
            window: 1,
            probes: false,
            is_queued: false,
        }
    }

    pub(in crate::umad) const fn len(&self) -> usize {
        self.data.len()
    }

    /// The receiver of a reply said in advance how many segments it takes at first.
    pub(in crate::umad) const fn open_window(&mut self, window: u32) {
        self.window = window;
    }

    pub(in crate::umad) const fn may_send(&self) -> bool {
        (self.sent < self.window || self.probes) && self.sent < self.count
    }

    pub(in crate::umad) const fn all_acknowledged(&self) -> bool {
        self.acknowledged == self.count
    }

    /// No ACK came: everything from the first unacknowledged segment on is sent again.
    pub(in crate::umad) const fn go_back(&mut self) {
        self.sent = self.acknowledged;
        self.probes = true;
    }

    /// Puts the next segment behind the headers in `mad`.
    pub(super) fn fill_next(&mut self, mad: &mut Mad) {
        let room = MAD_LEN - self.offset;
        let start = self.sent as usize * room;
        self.sent += 1;
        self.probes = false;
        let data = &self.data[start..self.data.len().min(start + room)];
        let (first, last) = (self.sent == 1, self.sent == self.count);
        // Every segment's class header counts, the padding of the last one does not.
        let padding = u32::try_from(self.count as usize * room - self.data.len()).unwrap_or(0);
        let payload_length = if last {
            PAYLOAD - padding
        } else if first {
            self.count.saturating_mul(PAYLOAD) - padding
        } else {
            0
        };
        let bytes = mad.as_bytes_mut();
        RmppHeader {
            version: RmppHeader::VERSION,
            rmpp_type: RmppType::Data,
            resp_time: 0,
            last,
            first,
            active: true,
            status: 0,
            segment_number: self.sent,
            payload_length,
        }
        .write_to(bytes);
        let (filled, rest) = bytes[self.offset..].split_at_mut(data.len());
        filled.copy_from_slice(data);
        rest.fill(0);
    }

    pub(super) fn acknowledge(&mut self, segment: u32, window: u32) -> Acknowledged {
        if self.all_acknowledged() {
            return Acknowledged::Repeated;
        }
        if segment > self.count || segment > self.window {
            return Acknowledged::Nonsense;
        }
        if window < self.window || segment < self.acknowledged {
            return Acknowledged::Old;
        }
        let progress = segment > self.acknowledged;
        self.acknowledged = segment;
        self.sent = self.sent.max(segment);
        self.window = window;
        if self.all_acknowledged() {
            Acknowledged::All
        } else {
            Acknowledged::Some { progress }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrosm_mad::mad::MadHeader;

    fn segments(data: &[u8], offset: usize) -> Vec<(RmppHeader, Vec<u8>)> {
        let mut message = Segments::new(data, offset);
        message.open_window(u32::MAX);
        let mut out = Vec::new();
        while message.may_send() {
            let mut mad = Mad::new(&MadHeader::default());
            message.fill_next(&mut mad);
            let bytes = mad.as_bytes();
            out.push((RmppHeader::from_mad(bytes), bytes[offset..].to_vec()));
        }
        out
    }

    #[test]
    fn payload_length_counts_class_headers_but_no_padding() {
        let data: Vec<u8> = (0..=255).cycle().take(450).collect();
        let sent = segments(&data, 56);
        let lengths: Vec<u32> = sent.iter().map(|(h, _)| h.payload_length).collect();
        assert_eq!(lengths, [450 + 3 * 20, 0, 50 + 20]);
        let flags: Vec<_> = sent.iter().map(|(h, _)| (h.first, h.last)).collect();
        assert_eq!(flags, [(true, false), (false, false), (false, true)]);
        let bytes: Vec<u8> = sent.iter().flat_map(|(_, d)| d.clone()).collect();
        assert_eq!(bytes[..450], data[..]);
        assert!(bytes[450..].iter().all(|b| *b == 0));
    }

    #[test]
    fn a_message_without_data_is_one_segment() {
        let sent = segments(&[], 56);
        assert_eq!(sent.len(), 1);
        let header = sent[0].0;
        assert!(header.first && header.last);
        assert_eq!(header.payload_length, 20, "the SA header");
        assert_eq!(segments(&[1], 64)[0].0.payload_length, 29, "device classes");
        assert_eq!(segments(&[1; 216], 40)[0].0.payload_length, 220, "vendor");
    }

    #[test]
    fn old_and_impossible_acknowledgements() {
        let mut message = Segments::new(&[0; 2000], 56);
        assert_eq!(message.acknowledge(2, 5), Acknowledged::Nonsense, "window");
        assert_eq!(
            message.acknowledge(1, 5),
            Acknowledged::Some { progress: true }
        );
        assert_eq!(
            message.acknowledge(0, 9),
            Acknowledged::Old,
            "segment goes back"
        );
        assert_eq!(message.acknowledge(1, 4), Acknowledged::Old, "window too");
        assert_eq!(
            message.acknowledge(1, 20),
            Acknowledged::Some { progress: false }
        );
        assert_eq!(message.acknowledge(11, 20), Acknowledged::Nonsense);
        assert_eq!(message.acknowledge(10, 20), Acknowledged::All);
        assert_eq!(message.acknowledge(10, 20), Acknowledged::Repeated);
    }
}
