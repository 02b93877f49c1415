//! `ferrosm sim --capture`: every packet of the fabric in a pcapng file.
//!
//! A file that cannot be written ends the capture, never the fabric.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ferrosm_mad::capture::{CaptureWriter, WirePacket};
use ferrosm_mad::mad::MAD_LEN;
use ferrosm_sim::datagram::header;
use ferrosm_sim::fabric::Packet;
use ferrosm_sim::net::{MadEvent, Net};
use tracing::error;

use crate::capture;
use crate::failure::Failure;

/// A capture that is being written.
#[derive(Debug)]
pub struct PacketTap {
    state: Arc<Mutex<State>>,
    path: PathBuf,
}

#[derive(Debug)]
struct State {
    writer: CaptureWriter<BufWriter<File>>,
    failed: Option<io::Error>,
}

impl PacketTap {
    /// Begins a file and records what the fabric carries from now on.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn begin(path: &Path, net: &mut Net) -> Result<Self, Failure> {
        let writer = capture::create(path, "simulated fabric")?;
        let state = Arc::new(Mutex::new(State {
            writer,
            failed: None,
        }));
        let seen = Arc::clone(&state);
        net.observe(move |event| {
            let comment = match event.event {
                MadEvent::Sent => String::new(),
                // What was delivered was recorded when it was sent.
                MadEvent::Delivered => return,
                MadEvent::Dropped(reason) => format!("dropped: {reason:?}"),
                MadEvent::Lost => "lost: a fault".to_owned(),
            };
            let mut state = seen.lock().unwrap_or_else(PoisonError::into_inner);
            if state.failed.is_none() {
                state.failed = state
                    .writer
                    .write_wire_packet(capture::unix_ns(), &on_wire(event.packet), &comment)
                    .err();
            }
        });
        Ok(Self {
            state,
            path: path.to_owned(),
        })
    }

    /// Hands what is buffered to the system, and tells (once) if the capture ended.
    pub fn flush(&mut self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let result = state
            .failed
            .take()
            .map_or_else(|| state.writer.flush(), Err);
        if let Err(e) = result {
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
