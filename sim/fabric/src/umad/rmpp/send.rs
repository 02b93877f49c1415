//! An outgoing message: its segments and the state of the transfer.
//!
//! Time and addresses are in the send that contains it.

use ferrosm_mad::mad::{MAD_LEN, Mad};
use ferrosm_mad::sa::{RmppHeader, RmppType};

use crate::index::index_to_u32;
use crate::umad::class::RMPP_HEADER;

/// PayloadLength of a full segment: all bytes after the common and RMPP headers.
const PAYLOAD: u32 = 220;
const _: () = assert!(MAD_LEN - RMPP_HEADER == 220);

/// Data of a message and state of its transfer.
#[derive(Debug)]
pub(in crate::umad) struct Segments {
    data: Vec<u8>,
    /// Offset of the data in every segment.
    offset: usize,
    count: u32,
    /// Last segment sent.
    sent: u32,
    /// Last segment acknowledged.
    acknowledged: u32,
    /// Last segment in the window.
    window: u32,
    /// Whether one segment may be sent with a closed window, because the ACK that opened it may be
    /// lost.
    may_probe: bool,
    /// Whether it is queued in the outbox.
    pub(in crate::umad) is_queued: bool,
}

/// Effect of an ACK on a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AckEffect {
    /// Older than previous ACKs.
    Old,
    /// Acknowledges segments outside of the window.
    OutsideWindow,
    /// All segments were already acknowledged.
    Repeated,
    /// It acknowledges all remaining segments.
    All,
    /// More segments remain; `progress` if it acknowledges further segments.
    Some { progress: bool },
}

impl Segments {
    /// A message with this data after headers of `offset` bytes.
    pub(in crate::umad) fn new(data: &[u8], offset: usize) -> Self {
        let count = data.len().div_ceil(MAD_LEN - offset).max(1);
        Self {
            data: data.to_vec(),
            offset,
            count: index_to_u32(count),
            sent: 0,
            acknowledged: 0,
            window: 1,
            may_probe: false,
            is_queued: false,
        }
    }

    pub(in crate::umad) const fn len(&self) -> usize {
        self.data.len()
    }

    /// Sets the initial window, which the receiver of a reply announced in its request.
    pub(in crate::umad) const fn open_window(&mut self, window: u32) {
        self.window = window;
    }

    pub(in crate::umad) const fn may_send(&self) -> bool {
        (self.sent < self.window || self.may_probe) && self.sent < self.count
    }

    pub(in crate::umad) const fn all_acknowledged(&self) -> bool {
        self.acknowledged == self.count
    }

    /// Restarts at the first unacknowledged segment after an ACK timeout.
    pub(in crate::umad) const fn restart_at_unacknowledged(&mut self) {
        self.sent = self.acknowledged;
        self.may_probe = true;
    }

    /// Copies the next segment after the headers in `mad`.
    pub(super) fn fill_next(&mut self, mad: &mut Mad) {
        let room = MAD_LEN - self.offset;
        let start = self.sent as usize * room;
        self.sent += 1;
        self.may_probe = false;
        let data = &self.data[start..self.data.len().min(start + room)];
        let first = self.sent == 1;
        let last = self.sent == self.count;
        // The class header of every segment counts, the padding of the last one does not.
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
        let (filled, remaining) = bytes[self.offset..].split_at_mut(data.len());
        filled.copy_from_slice(data);
        remaining.fill(0);
    }

    pub(super) fn acknowledge(&mut self, segment: u32, window: u32) -> AckEffect {
        if self.all_acknowledged() {
            return AckEffect::Repeated;
        }
        if segment > self.count || segment > self.window {
            return AckEffect::OutsideWindow;
        }
        if window < self.window || segment < self.acknowledged {
            return AckEffect::Old;
        }
        let progress = segment > self.acknowledged;
        self.acknowledged = segment;
        self.sent = self.sent.max(segment);
        self.window = window;
        if self.all_acknowledged() {
            AckEffect::All
        } else {
            AckEffect::Some { progress }
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
    fn message_without_data_is_one_segment() {
        let sent = segments(&[], 56);
        assert_eq!(sent.len(), 1);
        let header = sent[0].0;
        assert!(header.first && header.last);
        assert_eq!(header.payload_length, 20, "the SA header");
        assert_eq!(segments(&[1], 64)[0].0.payload_length, 29, "device classes");
        assert_eq!(segments(&[1; 216], 40)[0].0.payload_length, 220, "vendor");
    }

    #[test]
    fn old_and_invalid_acks_are_recognised() {
        let mut message = Segments::new(&[0; 2000], 56);
        assert_eq!(
            message.acknowledge(2, 5),
            AckEffect::OutsideWindow,
            "window"
        );
        assert_eq!(
            message.acknowledge(1, 5),
            AckEffect::Some { progress: true }
        );
        assert_eq!(
            message.acknowledge(0, 9),
            AckEffect::Old,
            "segment goes back"
        );
        assert_eq!(message.acknowledge(1, 4), AckEffect::Old, "window too");
        assert_eq!(
            message.acknowledge(1, 20),
            AckEffect::Some { progress: false }
        );
        assert_eq!(message.acknowledge(11, 20), AckEffect::OutsideWindow);
        assert_eq!(message.acknowledge(10, 20), AckEffect::All);
        assert_eq!(message.acknowledge(10, 20), AckEffect::Repeated);
    }
}
