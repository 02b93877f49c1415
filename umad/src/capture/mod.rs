//! Captures: sent and received MADs as packets in a pcapng file for Wireshark.
//!
//! Ports deliver MADs without packet headers, so [`CaptureWriter`] synthesizes the packet: LRH,
//! BTH, DETH, MAD, and zero checksums. [`Tap`] records the MADs that the [`Tapped`] halves of a
//! port send and receive. A write error stops the capture and does not affect the port.
//!
//! The module reads no clock. Captures contain keys as on the wire.

use core::time::Duration;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use crate::transport::{MadReceiver, MadSender, Received, TransportError};
use ferrosm_mad::ids::{Lid, PKey, Qpn, Sl};
use ferrosm_mad::mad::{Address, MAD_LEN, Mad, MadOut, MgmtClass};

/// LINKTYPE_ERF: records of capture cards. Wireshark has no dissector for LINKTYPE_INFINIBAND
/// (247).
const LINKTYPE: u16 = 197;
/// Record type: InfiniBand packet, starting with the LRH.
const ERF_TYPE_INFINIBAND: u8 = 21;
/// The record has its own length.
const ERF_FLAG_VARYING_LENGTH: u8 = 4;
const ERF_HEADER_LEN: usize = 16;
const HEADERS_LEN: usize = 8 + 12 + 8;
const ICRC_LEN: usize = 4;
const VCRC_LEN: usize = 2;
/// Length of the headers and checksums of a packet without GRH.
const OVERHEAD_LEN: usize = HEADERS_LEN + ICRC_LEN + VCRC_LEN;
/// BTH opcode: unreliable datagram, send only.
const UD_SEND_ONLY: u8 = 0x64;
/// The Q_Key of every QP1.
const QP1_QKEY: u32 = 0x8001_0000;

const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const INTERFACE_DESCRIPTION: u32 = 1;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1A2B_3C4D;
const OPT_END: u16 = 0;
const OPT_COMMENT: u16 = 1;
const OPT_IF_NAME: u16 = 2;
const OPT_IF_TSRESOL: u16 = 9;
const OPT_EPB_FLAGS: u16 = 2;
const OPT_ISB_IFDROP: u16 = 5;
/// Timestamp resolution: 10^-9 s.
const NANOSECONDS: u8 = 9;

/// Direction of a packet at a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaptureDirection {
    /// Received.
    Inbound,
    /// Sent.
    Outbound,
}

/// Length of a GRH.
pub const GRH_LEN: usize = 40;

/// A packet with its addresses on the link.
#[derive(Debug, Clone, Copy)]
pub struct WirePacket<'a> {
    /// Source LID.
    pub slid: Lid,
    /// Destination LID.
    pub dlid: Lid,
    /// Service level.
    pub sl: Sl,
    /// The sender's queue pair.
    pub src_qpn: Qpn,
    /// The receiver's queue pair.
    pub dest_qpn: Qpn,
    /// P_Key of the BTH.
    pub pkey: PKey,
    /// GRH as on the wire.
    pub grh: Option<[u8; GRH_LEN]>,
    /// Q_Key, and payload length in bytes, of a datagram between applications; `None` for a MAD.
    pub datagram: Option<(u32, usize)>,
    /// The MAD; for a datagram, its payload in the first bytes.
    pub mad: &'a Mad,
}

impl WirePacket<'_> {
    /// The payload, without the padding to a multiple of 4 bytes.
    fn content(&self) -> &[u8] {
        let bytes = self.mad.as_bytes();
        let len = self.datagram.map_or(MAD_LEN, |(_, len)| len);
        bytes.get(..len).unwrap_or(bytes)
    }
}

/// Writes one capture file.
#[derive(Debug)]
pub struct CaptureWriter<W> {
    out: W,
    local_lid: Lid,
    psn: u32,
    block: Vec<u8>,
}

impl<W: Write> CaptureWriter<W> {
    /// Starts a file with one interface, such as `mlx5_0/1`.
    ///
    /// # Errors
    /// If writing the header blocks to `out` fails.
    pub fn new(out: W, interface: &str) -> io::Result<Self> {
        let mut writer = Self {
            out,
            local_lid: Lid::NONE,
            psn: 0,
            block: Vec::new(),
        };
        writer.begin_block(SECTION_HEADER);
        writer.push_u32(BYTE_ORDER_MAGIC);
        writer.push_u16(1); // version 1.0
        writer.push_u16(0);
        writer.block.extend([0xFF; 8]); // the section's length is not known
        writer.end_block()?;
        writer.begin_block(INTERFACE_DESCRIPTION);
        writer.push_u16(LINKTYPE);
        writer.push_u16(0);
        writer.push_u32(0); // no limit to a packet's length
        writer.push_option(OPT_IF_NAME, interface.as_bytes());
        writer.push_option(OPT_IF_TSRESOL, &[NANOSECONDS]);
        writer.push_option(OPT_END, &[]);
        writer.end_block()?;
        Ok(writer)
    }

    /// Sets the port's LID, which received MADs lack. Directed-route MADs have the permissive LID
    /// instead.
    pub const fn set_local_lid(&mut self, lid: Lid) {
        self.local_lid = lid;
    }

    /// Writes a MAD to or from `remote`; `unix_ns` is the time in nanoseconds since 1970.
    ///
    /// # Errors
    /// If writing to `out` fails.
    pub fn write(
        &mut self,
        unix_ns: u64,
        direction: CaptureDirection,
        remote: &Address,
        mad: &Mad,
    ) -> io::Result<()> {
        let packet = self.packet_of(direction, remote, mad);
        let flags: u32 = match direction {
            CaptureDirection::Inbound => 1,
            CaptureDirection::Outbound => 2,
        };
        self.write_packet(unix_ns, &packet, |writer| {
            writer.push_option(OPT_EPB_FLAGS, &flags.to_le_bytes());
        })
    }

    /// Writes a packet as on the link, with a comment unless empty.
    ///
    /// # Errors
    /// If writing to `out` fails.
    pub fn write_wire_packet(
        &mut self,
        unix_ns: u64,
        packet: &WirePacket<'_>,
        comment: &str,
    ) -> io::Result<()> {
        self.write_packet(unix_ns, packet, |writer| {
            if !comment.is_empty() {
                writer.push_option(OPT_COMMENT, comment.as_bytes());
            }
        })
    }

    fn write_packet(
        &mut self,
        unix_ns: u64,
        packet: &WirePacket<'_>,
        options: impl FnOnce(&mut Self),
    ) -> io::Result<()> {
        let grh_len = packet.grh.map_or(0, |grh| grh.len());
        let len = OVERHEAD_LEN + grh_len + packet.content().len().next_multiple_of(4);
        self.begin_block(ENHANCED_PACKET);
        self.push_u32(0); // the only interface
        self.push_time(unix_ns);
        let record = u32::try_from(ERF_HEADER_LEN + len).map_err(io::Error::other)?;
        self.push_u32(record); // captured
        self.push_u32(record); // original
        self.block.extend(erf_header(unix_ns, len));
        self.push_packet(packet, len);
        self.pad();
        options(self);
        self.push_option(OPT_END, &[]);
        self.end_block()
    }

    /// Writes that `count` packets before this time are missing in the file.
    ///
    /// # Errors
    /// If writing to `out` fails.
    pub fn write_dropped(&mut self, unix_ns: u64, count: u64) -> io::Result<()> {
        self.begin_block(INTERFACE_STATISTICS);
        self.push_u32(0); // the only interface
        self.push_time(unix_ns);
        self.push_option(OPT_ISB_IFDROP, &count.to_le_bytes());
        self.push_option(OPT_END, &[]);
        self.end_block()
    }

    /// Flushes buffered bytes.
    ///
    /// # Errors
    /// If flushing `out` fails.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// The underlying writer.
    pub const fn get_ref(&self) -> &W {
        &self.out
    }

    /// Returns the underlying writer.
    pub fn into_inner(self) -> W {
        self.out
    }

    /// Reconstructs the packet of a MAD, with default values for unknown fields.
    fn packet_of<'a>(
        &self,
        direction: CaptureDirection,
        remote: &Address,
        mad: &'a Mad,
    ) -> WirePacket<'a> {
        let own_qpn = Qpn(u32::from(!is_smp(mad)));
        let own_lid = if remote.lid == Lid::PERMISSIVE {
            Lid::PERMISSIVE
        } else {
            Lid(self.local_lid.0 | u16::from(remote.path_bits))
        };
        let ((slid, src_qpn), (dlid, dest_qpn)) = match direction {
            CaptureDirection::Inbound => ((remote.lid, remote.qpn), (own_lid, own_qpn)),
            CaptureDirection::Outbound => ((own_lid, own_qpn), (remote.lid, remote.qpn)),
        };
        WirePacket {
            slid,
            dlid,
            sl: remote.sl,
            src_qpn,
            dest_qpn,
            pkey: PKey::DEFAULT_FULL,
            grh: None,
            datagram: None,
            mad,
        }
    }

    fn push_packet(&mut self, packet: &WirePacket<'_>, len: usize) {
        let (vl, q_key) = match packet.datagram {
            Some((q_key, _)) => (0, q_key),
            None if is_smp(packet.mad) => (15, 0),
            None => (0, QP1_QKEY),
        };
        let content = packet.content();
        let padding = content.len().next_multiple_of(4) - content.len();
        let pad_count = u8::try_from(padding).unwrap_or(0) << 4;
        // LNH: BTH, or GRH first.
        let next = if packet.grh.is_some() { 3 } else { 2 };
        let words = u16::try_from((len - VCRC_LEN) / 4).unwrap_or(0);
        let psn = self.psn & 0xFF_FFFF;
        self.psn = self.psn.wrapping_add(1);
        let out = &mut self.block;
        out.extend([vl << 4, packet.sl.0 << 4 | next]);
        out.extend(packet.dlid.0.to_be_bytes());
        out.extend(words.to_be_bytes());
        out.extend(packet.slid.0.to_be_bytes());
        out.extend(packet.grh.into_iter().flatten());
        out.extend([UD_SEND_ONLY, pad_count]);
        out.extend(packet.pkey.0.to_be_bytes());
        out.extend((packet.dest_qpn.0 & 0xFF_FFFF).to_be_bytes());
        out.extend(psn.to_be_bytes());
        out.extend(q_key.to_be_bytes());
        out.extend((packet.src_qpn.0 & 0xFF_FFFF).to_be_bytes());
        out.extend(content);
        out.resize(out.len() + padding, 0);
        out.extend([0; ICRC_LEN + VCRC_LEN]);
    }

    fn begin_block(&mut self, block_type: u32) {
        self.block.clear();
        self.push_u32(block_type);
        self.push_u32(0); // the length, filled in at the end
    }

    fn end_block(&mut self) -> io::Result<()> {
        let len = u32::try_from(self.block.len() + 4).map_err(io::Error::other)?;
        self.push_u32(len);
        self.block[4..8].copy_from_slice(&len.to_le_bytes());
        self.out.write_all(&self.block)
    }

    fn push_option(&mut self, code: u16, value: &[u8]) {
        // Longer values are truncated.
        let value = &value[..value.len().min(255)];
        self.push_u16(code);
        self.push_u16(u16::try_from(value.len()).unwrap_or(0));
        self.block.extend(value);
        self.pad();
    }

    fn pad(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    fn push_time(&mut self, unix_ns: u64) {
        #[expect(clippy::cast_possible_truncation, reason = "the two halves of 64 bits")]
        for half in [(unix_ns >> 32) as u32, unix_ns as u32] {
            self.push_u32(half);
        }
    }

    fn push_u32(&mut self, v: u32) {
        self.block.extend(v.to_le_bytes());
    }

    fn push_u16(&mut self, v: u16) {
        self.block.extend(v.to_le_bytes());
    }
}

fn is_smp(mad: &Mad) -> bool {
    let class = mad.mgmt_class();
    class == MgmtClass::SubnDirected || class == MgmtClass::SubnLid
}

/// The ERF header of a packet of `len` bytes: time in 2^-32 seconds (little-endian), type and
/// lengths.
fn erf_header(unix_ns: u64, len: usize) -> [u8; ERF_HEADER_LEN] {
    let seconds = unix_ns / 1_000_000_000;
    let ns = unix_ns % 1_000_000_000;
    let time = (seconds << 32) | ((ns << 32) / 1_000_000_000);
    // saturates: readers take the length of a longer packet from its block.
    let bytes = |len: usize| u16::try_from(len).unwrap_or(u16::MAX).to_be_bytes();
    let mut h = [0; ERF_HEADER_LEN];
    h[..8].copy_from_slice(&time.to_le_bytes());
    h[8] = ERF_TYPE_INFINIBAND;
    h[9] = ERF_FLAG_VARYING_LENGTH;
    h[10..12].copy_from_slice(&bytes(ERF_HEADER_LEN + len));
    h[14..].copy_from_slice(&bytes(len));
    h
}

/// Nanoseconds since 1970.
type Clock = dyn Fn() -> u64 + Send + Sync;

/// A capture that both halves of a port share.
pub struct Tap<W> {
    capture: Arc<Mutex<CaptureUntilError<W>>>,
    clock: Arc<Clock>,
}

/// A capture that stops at the first error, so that no packet follows a truncated one.
#[derive(Debug)]
pub struct CaptureUntilError<W> {
    writer: CaptureWriter<W>,
    /// An error has occurred: further packets are discarded.
    has_stopped: bool,
    /// The error that stopped the capture, until [`Self::flush`] returns it.
    error: Option<io::Error>,
}

impl<W: Write> CaptureUntilError<W> {
    /// Starts a capture; `writer` must not have failed before.
    pub const fn new(writer: CaptureWriter<W>) -> Self {
        Self {
            writer,
            has_stopped: false,
            error: None,
        }
    }

    /// Writes with `write` unless the capture has stopped.
    pub fn record(&mut self, write: impl FnOnce(&mut CaptureWriter<W>) -> io::Result<()>) {
        if !self.has_stopped {
            self.error = write(&mut self.writer).err();
            self.has_stopped = self.error.is_some();
        }
    }

    /// Flushes buffered bytes. Returns the error that stopped the capture, once.
    ///
    /// # Errors
    /// If writing a packet or flushing failed.
    pub fn flush(&mut self) -> io::Result<()> {
        self.record(CaptureWriter::flush);
        self.error.take().map_or(Ok(()), Err)
    }
}

impl<W> Clone for Tap<W> {
    fn clone(&self) -> Self {
        Self {
            capture: Arc::clone(&self.capture),
            clock: Arc::clone(&self.clock),
        }
    }
}

impl<W> core::fmt::Debug for Tap<W> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Tap")
    }
}

impl<W: Write + Send> Tap<W> {
    /// A tap that writes to `writer`; `clock` returns nanoseconds since 1970.
    pub fn new(writer: CaptureWriter<W>, clock: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self {
            capture: Arc::new(Mutex::new(CaptureUntilError::new(writer))),
            clock: Arc::new(clock),
        }
    }

    /// Wraps one half of a port.
    pub fn wrap<P>(&self, port: P) -> Tapped<P, W> {
        Tapped {
            port,
            tap: self.clone(),
        }
    }

    /// Sets the port's LID.
    pub fn set_local_lid(&self, lid: Lid) {
        self.with_capture(|capture| capture.writer.set_local_lid(lid));
    }

    /// Flushes buffered bytes. Returns the error that stopped the capture, once.
    ///
    /// # Errors
    /// If writing a packet or flushing failed.
    pub fn flush(&self) -> io::Result<()> {
        self.with_capture(CaptureUntilError::flush)
    }

    fn record(&self, direction: CaptureDirection, remote: &Address, mad: &Mad) {
        let now = (self.clock)();
        self.with_capture(|capture| {
            capture.record(|writer| writer.write(now, direction, remote, mad));
        });
    }

    fn with_capture<T>(&self, f: impl FnOnce(&mut CaptureUntilError<W>) -> T) -> T {
        f(&mut self.capture.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A sending or receiving half whose MADs a [`Tap`] records.
#[derive(Debug)]
pub struct Tapped<P, W> {
    port: P,
    tap: Tap<W>,
}

impl<S: MadSender, W: Write + Send> MadSender for Tapped<S, W> {
    fn send(&mut self, mad: &MadOut) -> Result<(), TransportError> {
        // Recorded before sending: the response must not precede it in the file.
        self.tap
            .record(CaptureDirection::Outbound, &mad.to, &mad.mad);
        self.port.send(mad)
    }
}

impl<R: MadReceiver, W: Write + Send> MadReceiver for Tapped<R, W> {
    fn receive(&mut self, timeout: Duration) -> Result<Received, TransportError> {
        let received = self.port.receive(timeout)?;
        match &received {
            Received::Mad(mad) => self
                .tap
                .record(CaptureDirection::Inbound, &mad.from, &mad.mad),
            Received::SendFailed(_) | Received::TimedOut => {}
        }
        Ok(received)
    }
}

#[cfg(test)]
mod tests;
