//! `ferrosm sim --capture`: writes every packet of the fabric to a pcapng file.
//!
//! If the file cannot be written, the capture stops; the fabric continues.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ferrosm_mad::mad::MAD_LEN;
use ferrosm_sim::datagram::header;
use ferrosm_sim::fabric::Packet;
use ferrosm_sim::net::{MadEvent, Net};
use ferrosm_umad::capture::{CaptureUntilError, CaptureWriter, WirePacket};
use tracing::error;

/// A capture in progress.
#[derive(Debug)]
pub struct PacketTap {
    capture: Arc<Mutex<CaptureUntilError<BufWriter<File>>>>,
    path: PathBuf,
}

impl PacketTap {
    /// Captures all packets from now on in the new file `path`; `clock` returns nanoseconds since
    /// 1970.
    pub fn new(
        path: &Path,
        writer: CaptureWriter<BufWriter<File>>,
        clock: fn() -> u64,
        net: &mut Net,
    ) -> Self {
        let capture = Arc::new(Mutex::new(CaptureUntilError::new(writer)));
        let observed = Arc::clone(&capture);
        net.observe(move |event| {
            let comment = match event.event {
                MadEvent::Sent => String::new(),
                // Delivered packets were captured when they were sent.
                MadEvent::Delivered => return,
                MadEvent::Dropped(reason) => format!("dropped: {reason}"),
                MadEvent::Lost => "lost: fault".to_owned(),
            };
            let mut capture = observed.lock().unwrap_or_else(PoisonError::into_inner);
            capture.record(|writer| {
                writer.write_wire_packet(clock(), &on_wire(event.packet), &comment)
            });
        });
        Self {
            capture,
            path: path.to_owned(),
        }
    }

    /// Flushes the buffer; logs once if the capture has stopped.
    pub fn flush(&mut self) {
        let mut capture = self.capture.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(e) = capture.flush() {
            error!(file = %self.path.display(), error = %e, "capture stopped");
        }
    }
}

fn on_wire(packet: &Packet) -> WirePacket<'_> {
    let len = packet.datagram.map_or(MAD_LEN, |d| usize::from(d.len));
    WirePacket {
        slid: packet.slid,
        dlid: packet.dlid,
        sl: packet.sl,
        src_qpn: packet.src_qpn,
        dest_qpn: packet.dest_qpn,
        pkey: packet.pkey,
        grh: packet.grh.as_ref().map(|grh| header(grh, len)),
        datagram: packet.datagram.map(|d| (d.q_key, len)),
        mad: &packet.mad,
    }
}
