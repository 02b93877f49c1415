//! Sending: checks, addresses, TIDs, retries and timeouts (`ib_umad_write`, `ib_post_send_mad`,
//! `timeout_sends`).
//!
//! A send without expected response completes immediately. Others remain in [`Sends`] until the
//! response, the last acknowledgement, the last timeout, or the removal of their agent.

use std::time::Duration;

use ferrosm_mad::ids::{Lid, PKey, Qpn};
use ferrosm_mad::mad::{MAD_LEN, Mad, MadHeader, MgmtClass};
use ferrosm_mad::time::Instant;
use slab::Slab;

use super::abi::{Errno, HEADER_MAX, UserHeader};
use super::class::{self, MAD_HEADER, RMPP_HEADER};
use super::queue::Body;
use super::receive::MadOrigin;
use super::register::AgentIdx;
use super::rmpp::send::Segments;
use super::store::{Index, TimerKey};
use super::{Agent, FileId, MAX_AGENTS, Outgoing, Timer, UmadLayer, tables};
use crate::fabric::{Fabric, GlobalRouteHeader, Packet};

/// Maximum number of incomplete sends of one file; the kernel is limited by memory only.
pub(super) const MAX_SENDS: usize = 200_000;
/// Maximum length of all incomplete segmented sends of one file.
pub(super) const MAX_SEND_BYTES: usize = 256 << 20;
/// Time after which a local request without reply is dropped without notice.
const LOCAL_WAIT: Duration = Duration::from_secs(10);

/// Maximum timeout for the ACK of a segment.
const ACK_TIMEOUT: Duration = Duration::from_secs(2);

/// An incomplete send.
#[derive(Debug)]
pub(super) struct Send {
    pub(super) agent: AgentIdx,
    pub(super) file: FileId,
    /// The header as the program wrote it.
    header: [u8; HEADER_MAX],
    /// The packet of every attempt; for a segmented send, its headers.
    pub(super) packet: Packet,
    pkey_index: u16,
    pub(super) timeout: Duration,
    pub(super) retries: u32,
    pub(super) retries_left: u32,
    pub(super) timer: Option<TimerKey>,
    /// Whether it is a directed-route SMP to the own node; if no response arrives, it is removed
    /// without notice.
    is_local: bool,
    /// Distinguishes it from other sends that used its slot.
    pub(super) serial: u64,
    /// Whether its packet is in the outbox.
    pub(super) is_queued: bool,
    pub(super) segments: Option<Box<Segments>>,
}

impl Send {
    fn tid(&self) -> u64 {
        class::tid(self.packet.mad.as_bytes())
    }

    /// Timeout for an ACK.
    pub(super) fn ack_timeout(&self) -> Duration {
        if self.timeout.is_zero() {
            ACK_TIMEOUT
        } else {
            self.timeout.min(ACK_TIMEOUT)
        }
    }

    fn is_response(&self) -> bool {
        class::is_response(self.packet.mad.as_bytes())
    }

    /// Whether a received MAD with this TID and class belongs to the send by its addresses: a
    /// response must arrive at the address that the request was sent from; the acknowledgement of a
    /// response must come from its destination.
    fn matches(&self, origin: &MadOrigin, received_is_response: bool, lmc: u8) -> bool {
        if self.packet.mad.mgmt_class() == MgmtClass::SubnDirected {
            return true;
        }
        let is_response = self.is_response();
        if is_response == received_is_response {
            return false;
        }
        match (&self.packet.grh, &origin.grh) {
            (None, None) => {
                if received_is_response {
                    let mask = (1u8 << lmc) - 1;
                    (self.packet.path_bits ^ origin.from.path_bits) & mask == 0
                } else {
                    self.packet.dlid == origin.from.lid
                }
            }
            (Some(sent), Some(received)) => {
                if received_is_response {
                    sent.sgid == received.dgid
                } else {
                    sent.dgid == received.sgid
                }
            }
            (None, Some(_)) | (Some(_), None) => false,
        }
    }
}

/// All incomplete sends.
#[derive(Debug, Default)]
pub(super) struct Sends {
    pub(super) slab: Slab<Send>,
    /// By file, TID and class, to find duplicates and responses.
    index: Index,
    serial: u64,
}

impl Sends {
    fn with_tid(&self, file: FileId, tid: u64, class: u8) -> impl Iterator<Item = (usize, &Send)> {
        self.index
            .candidates(Index::hash(file.0, tid, class))
            .filter_map(|slot| Some((slot, self.slab.get(slot)?)))
            .filter(move |(_, send)| {
                send.file == file && send.tid() == tid && send.packet.mad.mgmt_class().0 == class
            })
    }

    /// Whether an equal send is incomplete: a request with the same TID and class, or a response
    /// with these to the same peer.
    fn has_duplicate(&self, file: FileId, mad: &[u8; MAD_LEN], header: &UserHeader) -> bool {
        let is_response = class::is_response(mad);
        self.with_tid(file, class::tid(mad), mad[1])
            .map(|(_, send)| send)
            .filter(|send| !send.is_local && send.is_response() == is_response)
            .any(|send| {
                !is_response
                    || match &send.packet.grh {
                        None => !header.grh_present && send.packet.dlid == header.lid,
                        Some(grh) => header.grh_present && grh.dgid == header.gid,
                    }
            })
    }

    /// The send of an agent that a received MAD responds to or acknowledges.
    pub(super) fn find(
        &self,
        agent: AgentIdx,
        file: FileId,
        origin: &MadOrigin,
        mad: &[u8; MAD_LEN],
        lmc: u8,
    ) -> Option<usize> {
        let is_response = class::is_response(mad);
        self.with_tid(file, class::tid(mad), mad[1])
            .find(|(_, send)| send.agent == agent && send.matches(origin, is_response, lmc))
            .map(|(slot, _)| slot)
    }
}

/// A checked write.
struct Checked {
    agent: AgentIdx,
    header: UserHeader,
    packet: Packet,
    /// Data of a message that the kernel segments.
    segments: Option<Segments>,
    is_local: bool,
}

impl UmadLayer {
    /// Sends a MAD, or a longer message that the kernel divides into RMPP segments. `message` is
    /// the umad header and the MAD.
    ///
    /// # Errors
    /// As in the kernel: EINVAL, EIO (no such agent), ENODATA (no such GID), ENOMEM, EBADF.
    pub fn write(
        &mut self,
        fabric: &Fabric,
        file: FileId,
        message: &[u8],
        now: Instant,
    ) -> Result<(), Errno> {
        self.now = self.now.max(now);
        let checked = self.check_write(fabric, file, message)?;
        let pkey_index = checked.header.pkey_index;
        let is_request = !class::is_response(checked.packet.mad.as_bytes());
        let waits = if checked.is_local {
            is_request
        } else {
            checked.header.timeout_ms != 0 || checked.segments.is_some()
        };
        if !waits {
            self.transmit(fabric, checked.packet, pkey_index);
            return Ok(());
        }
        let open = self.files.get_mut(file.0).ok_or(Errno::EBADF)?;
        let bytes = checked.segments.as_ref().map_or(0, Segments::len);
        if open.sends >= MAX_SENDS || open.send_bytes + bytes > MAX_SEND_BYTES {
            return Err(Errno::ENOMEM);
        }
        open.sends += 1;
        open.send_bytes += bytes;
        let mut header = [0; HEADER_MAX];
        let header_len = open.layout.header_len();
        header[..header_len].copy_from_slice(&message[..header_len]);
        self.sends.serial += 1;
        let (timeout, retries_left) = if checked.is_local {
            (LOCAL_WAIT, 0)
        } else {
            let timeout_ms = u64::from(checked.header.timeout_ms);
            (Duration::from_millis(timeout_ms), checked.header.retries)
        };
        let segments = checked.segments.map(|mut segments| {
            segments.open_window(
                self.receptions
                    .window_of_reply(&checked.packet, checked.agent),
            );
            Box::new(segments)
        });
        let is_segmented = segments.is_some();
        let mad = checked.packet.mad.as_bytes();
        let hash = Index::hash(file.0, class::tid(mad), mad[1]);
        let slot = self.sends.slab.insert(Send {
            agent: checked.agent,
            file,
            header,
            packet: checked.packet,
            pkey_index,
            timeout,
            retries: checked.header.retries,
            retries_left,
            timer: None,
            is_local: checked.is_local,
            serial: self.sends.serial,
            is_queued: false,
            segments,
        });
        self.sends.index.insert(hash, slot);
        if is_segmented {
            self.queue_segments(fabric, slot);
        } else {
            self.queue_send(fabric, slot);
        }
        Ok(())
    }

    fn check_write(&self, fabric: &Fabric, file: FileId, message: &[u8]) -> Result<Checked, Errno> {
        let open = self.files.get(file.0).ok_or(Errno::EBADF)?;
        let (header, body) = UserHeader::split_from(message, open.layout).ok_or(Errno::EINVAL)?;
        if body.len() < RMPP_HEADER {
            return Err(Errno::EINVAL);
        }
        let id = usize::try_from(header.id).map_err(|_| Errno::EINVAL)?;
        if id >= MAX_AGENTS {
            return Err(Errno::EINVAL);
        }
        let index = open.agents[id].ok_or(Errno::EIO)?;
        let agent = self.agents.get(index).ok_or(Errno::EIO)?;
        let grh = own_grh(fabric, agent, &header)?;

        let mgmt_class = MgmtClass(body[1]);
        let kernel_rmpp = class::has_rmpp(mgmt_class) && agent.has_kernel_rmpp();
        let is_segmented = kernel_rmpp && body[26] & 1 != 0;
        let data_offset = class::data_offset(mgmt_class);
        if body.len() < data_offset || (!is_segmented && body.len() > MAD_LEN) {
            return Err(Errno::EINVAL);
        }
        let mut packet = Packet {
            at: agent.at,
            hops: 0,
            dest_qpn: header.qpn,
            src_qpn: Qpn(agent.request.qpn),
            sl: header.sl,
            dlid: header.lid,
            slid: Lid::NONE,
            path_bits: header.path_bits,
            pkey: PKey::DEFAULT_FULL,
            grh,
            datagram: None,
            mad: Mad::new(&MadHeader::default()),
        };
        let bytes = packet.mad.as_bytes_mut();
        let head_len = if is_segmented {
            data_offset
        } else {
            body.len()
        };
        bytes[..head_len].copy_from_slice(&body[..head_len]);
        if kernel_rmpp {
            // The kernel fills the RMPP header.
            bytes[MAD_HEADER..RMPP_HEADER].fill(0);
        }
        if !class::is_response(bytes) {
            bytes[8..12].copy_from_slice(&agent.hi_tid.to_be_bytes());
        }
        let is_user_rmpp =
            !agent.has_kernel_rmpp() && class::has_rmpp(mgmt_class) && class::rmpp_is_active(bytes);
        if !is_user_rmpp && self.sends.has_duplicate(file, bytes, &header) {
            return Err(Errno::EINVAL);
        }
        if agent.request.rmpp_version != 0 && !class::has_rmpp(mgmt_class) {
            return Err(Errno::EINVAL);
        }
        let is_local = mgmt_class == MgmtClass::SubnDirected
            && class::ends_at_own_node(bytes, fabric.is_switch(agent.at.node), agent.at.port)
                .map_err(|_| Errno::EINVAL)?;
        let segments = is_segmented.then(|| Segments::new(&body[data_offset..], data_offset));
        Ok(Checked {
            agent: index,
            header,
            packet,
            segments,
            is_local,
        })
    }

    /// Passes a packet to the adapter, which drops packets without P_Key, on the wrong queue pair,
    /// or with an SMP on QP1.
    pub(super) fn transmit(&mut self, fabric: &Fabric, mut packet: Packet, pkey_index: u16) {
        if set_pkey(fabric, &mut packet, pkey_index) {
            self.outbox.push_back(Outgoing::Packet(packet));
        }
    }

    pub(super) fn arm(&mut self, slot: usize, timeout: Duration) {
        let timer = self.timers.set(self.now + timeout, Timer::Send(slot));
        if let Some(send) = self.sends.slab.get_mut(slot)
            && let Some(old) = send.timer.replace(timer)
        {
            self.timers.cancel(old);
        }
    }

    /// Queues the packet of an incomplete send and starts its timer.
    fn queue_send(&mut self, fabric: &Fabric, slot: usize) {
        let Some(send) = self.sends.slab.get_mut(slot) else {
            return;
        };
        let timeout = send.timeout;
        if set_pkey(fabric, &mut send.packet, send.pkey_index) && !send.is_queued {
            send.is_queued = true;
            self.outbox.push_back(Outgoing::Send {
                send: slot,
                serial: send.serial,
            });
        }
        self.arm(slot, timeout);
    }

    /// The packet of a send in the outbox.
    pub(super) fn take_queued(&mut self, slot: usize, serial: u64) -> Option<Packet> {
        let send = self.sends.slab.get_mut(slot)?;
        if send.serial != serial {
            return None;
        }
        send.is_queued = false;
        Some(send.packet)
    }

    /// Removes a completed or failed send without notice to the program.
    pub(super) fn finish_send(&mut self, slot: usize) {
        let Some(send) = self.sends.slab.get(slot) else {
            return;
        };
        let mad = send.packet.mad.as_bytes();
        let hash = Index::hash(send.file.0, class::tid(mad), mad[1]);
        self.sends.index.remove(hash, slot);
        if let Some(timer) = send.timer {
            self.timers.cancel(timer);
        }
        if send.is_queued {
            // Packets that the adapter already has are sent.
            self.outbox.push_back(Outgoing::Packet(send.packet));
        }
        if let Some(open) = self.files.get_mut(send.file.0) {
            open.sends -= 1;
            open.send_bytes -= send.segments.as_deref().map_or(0, Segments::len);
        }
        self.sends.slab.remove(slot);
    }

    pub(super) fn cancel_sends(&mut self, agent: AgentIdx) {
        let agent_sends = self.sends.slab.iter().filter(|(_, s)| s.agent == agent);
        let slots: Vec<usize> = agent_sends.map(|(slot, _)| slot).collect();
        for slot in slots {
            self.finish_send(slot);
        }
    }

    pub(super) fn send_timed_out(&mut self, fabric: &Fabric, slot: usize) {
        let Some(send) = self.sends.slab.get_mut(slot) else {
            return;
        };
        send.timer = None;
        if send.retries_left > 0 {
            match &mut send.segments {
                None => {
                    send.retries_left -= 1;
                    self.queue_send(fabric, slot);
                    return;
                }
                Some(segments) if !segments.all_acknowledged() => {
                    send.retries_left -= 1;
                    segments.restart_at_unacknowledged();
                    self.queue_segments(fabric, slot);
                    return;
                }
                // The message was delivered, but not its response.
                Some(_) => {}
            }
        }
        let file = send.file;
        let is_local = send.is_local;
        let mut header = send.header;
        let mut head = [0; MAD_HEADER];
        head.copy_from_slice(&send.packet.mad.as_bytes()[..MAD_HEADER]);
        self.finish_send(slot);
        if is_local {
            return;
        }
        header[4..8].copy_from_slice(&Errno::ETIMEDOUT.0.to_ne_bytes());
        if let Some(open) = self.files.get_mut(file.0) {
            let pushed = open.queue.push(header, Body::Failed(head));
            self.mark_readable(file, pushed);
        }
    }

    /// Queues a segmented send in the outbox, unless it is already queued.
    pub(super) fn queue_segments(&mut self, fabric: &Fabric, slot: usize) {
        let Some(send) = self.sends.slab.get_mut(slot) else {
            return;
        };
        let has_pkey = set_pkey(fabric, &mut send.packet, send.pkey_index);
        let timeout = send.ack_timeout();
        let Some(segments) = &mut send.segments else {
            return;
        };
        if !has_pkey {
            // The adapter drops it; the timer retransmits it.
            self.arm(slot, timeout);
            return;
        }
        if !segments.is_queued && segments.may_send() {
            segments.is_queued = true;
            let timer = send.timer.take();
            let serial = send.serial;
            self.outbox
                .push_back(Outgoing::Segments { send: slot, serial });
            if let Some(timer) = timer {
                self.timers.cancel(timer);
            }
        }
    }
}

/// The GRH of a program's message (`rdma_get_gid_attr`).
fn own_grh(
    fabric: &Fabric,
    agent: &Agent,
    header: &UserHeader,
) -> Result<Option<GlobalRouteHeader>, Errno> {
    if !header.grh_present {
        return Ok(None);
    }
    let sgid =
        tables::gid_at(fabric, agent.at, usize::from(header.gid_index)).ok_or(Errno::EINVAL)?;
    if sgid.guid().0 == 0 {
        return Err(Errno::ENODATA);
    }
    Ok(Some(GlobalRouteHeader {
        sgid,
        dgid: header.gid,
        flow_label: header.flow_label & 0xF_FFFF,
        traffic_class: header.traffic_class,
        hop_limit: header.hop_limit,
    }))
}

/// Sets a packet's P_Key; `false` if the packet is invalid.
fn set_pkey(fabric: &Fabric, packet: &mut Packet, pkey_index: u16) -> bool {
    let is_smp = class::is_smi(packet.mad.mgmt_class());
    if packet.src_qpn.0 == 0 {
        return is_smp && packet.dest_qpn.0 == 0;
    }
    if is_smp || packet.dest_qpn.0 == 0 {
        return false;
    }
    let Some(pkey) = tables::pkey_at(fabric, packet.at, pkey_index) else {
        return false;
    };
    packet.pkey = pkey;
    true
}
