//! `ferrosm sim --capture`: writes every packet of the fabric to a pcapng file.
//!
//! If the file cannot be written, the capture stops; the fabric continues.

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

/// A capture in progress.
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
    /// Creates a file and captures all packets from now on.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn create(path: &Path, net: &mut Net) -> Result<Self, Failure> {
        let writer = capture::create(path, "simulated fabric")?;
        let state = Arc::new(Mutex::new(State {
            writer,
            failed: None,
        }));
        let observed = Arc::clone(&state);
        net.observe(move |event| {
            let comment = match event.event {
                MadEvent::Sent => String::new(),
                // Delivered packets were captured when they were sent.
                MadEvent::Delivered => return,
                MadEvent::Dropped(reason) => format!("dropped: {reason:?}"),
                MadEvent::Lost => "lost: fault".to_owned(),
            };
            let mut state = observed.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// Flushes the buffer; logs once if the capture has stopped.
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
