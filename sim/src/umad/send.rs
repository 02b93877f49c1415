//! Writing: checks, addresses, TIDs, tries and timeouts (`ib_umad_write`, `ib_post_send_mad`,
//! `timeout_sends`).
//!
//! A send that expects nothing is complete at once, as if the adapter had reported it; the others
//! wait in [`Sends`] until the answer, the last acknowledgement, the last timeout or the end of
//! their agent.

use std::collections::BTreeSet;
use std::time::Duration;

use ferrosm_mad::ids::{Lid, PKey, Qpn};
use ferrosm_mad::mad::{MAD_LEN, Mad, MadHeader, MgmtClass};
use ferrosm_mad::time::Instant;

use super::abi::{Errno, HEADER_MAX, UserHeader};
use super::class::{self, MAD_HEADER, RMPP_HEADER};
use super::queue::Body;
use super::receive::Origin;
use super::register::AgentIdx;
use super::rmpp::send::Segments;
use super::store::{Slab, TimerKey};
use super::{Agent, FileId, MAX_AGENTS, Outgoing, Timer, Umad, tables};
use crate::fabric::{Fabric, Grh, Packet};

/// Incomplete sends of one file; the kernel's bound is its memory.
pub(super) const MAX_SENDS: usize = 200_000;
/// Bytes of all incomplete segmented sends of one file, likewise.
pub(super) const MAX_SEND_BYTES: usize = 256 << 20;
/// A local request whose answer does not come at once is forgotten without a word.
const LOCAL_WAIT: Duration = Duration::from_secs(10);

/// File, TID, class, place: what duplicates and answers are found by.
type SendKey = (u32, u64, u8, u32);

/// A send that waits for something.
#[derive(Debug)]
pub(super) struct Send {
    pub(super) agent: AgentIdx,
    pub(super) file: FileId,
    /// The header as the program wrote it.
    header: [u8; HEADER_MAX],
    /// What is sent, each time; of a segmented send the headers.
    pub(super) packet: Packet,
    pkey_index: u16,
    pub(super) timeout: Duration,
    pub(super) retries: u32,
    pub(super) retries_left: u32,
    pub(super) timer: Option<TimerKey>,
    /// A directed-route request to the own node: complete whether or not somebody answers.
    is_local: bool,
    /// Tells it from other users of its place.
    pub(super) serial: u64,
    pub(super) segments: Option<Box<Segments>>,
}

impl Send {
    fn tid(&self) -> u64 {
        class::tid(self.packet.mad.as_bytes())
    }

    fn is_response(&self) -> bool {
        class::is_response(self.packet.mad.as_bytes())
    }

    /// Whether a received MAD with this TID and class is for it, by the addresses: an answer must
    /// have come to the address that the request was sent from; the acknowledgement of an answer
    /// must come from where the answer went.
    fn matches(&self, origin: &Origin, received_is_response: bool, lmc: u8) -> bool {
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

/// All sends that wait.
#[derive(Debug, Default)]
pub(super) struct Sends {
    pub(super) slab: Slab<Send>,
    keys: BTreeSet<SendKey>,
    serial: u64,
}

impl Sends {
    fn with_tid(&self, file: FileId, tid: u64, class: u8) -> impl Iterator<Item = u32> + '_ {
        let range = (file.0, tid, class, 0)..=(file.0, tid, class, u32::MAX);
        self.keys.range(range).map(|key| key.3)
    }

    /// A new operation must not look like one that is under way: two requests with the same TID
    /// and class, or two such responses to one peer.
    fn has_duplicate(&self, file: FileId, mad: &[u8; MAD_LEN], header: &UserHeader) -> bool {
        let is_response = class::is_response(mad);
        self.with_tid(file, class::tid(mad), mad[1])
            .filter_map(|place| self.slab.get(place))
            .filter(|send| !send.is_local && send.is_response() == is_response)
            .any(|send| {
                !is_response
                    || match &send.packet.grh {
                        None => !header.grh_present && send.packet.dlid == header.lid,
                        Some(grh) => header.grh_present && grh.dgid == header.gid,
                    }
            })
    }

    /// The send of an agent that a received MAD answers or acknowledges.
    pub(super) fn find(
        &self,
        agent: AgentIdx,
        file: FileId,
        origin: &Origin,
        mad: &[u8; MAD_LEN],
        lmc: u8,
    ) -> Option<u32> {
        let is_response = class::is_response(mad);
        self.with_tid(file, class::tid(mad), mad[1]).find(|place| {
            self.slab
                .get(*place)
                .is_some_and(|s| s.agent == agent && s.matches(origin, is_response, lmc))
        })
    }
}

/// What a write becomes, once every check has passed.
struct Checked {
    agent: AgentIdx,
    header: UserHeader,
    mad: Mad,
    /// The data of a message that the kernel splits, and where it begins in each segment.
    segments: Option<Segments>,
    grh: Option<Grh>,
    is_local: bool,
}

impl Umad {
    /// Sends a MAD, or a message that kernel RMPP splits: the header, then the MAD.
    ///
    /// # Errors
    /// As the kernel: EINVAL, EIO (no such agent), ENODATA (no such GID), ENOMEM, EBADF.
    pub fn write(
        &mut self,
        fabric: &Fabric,
        file: FileId,
        message: &[u8],
        now: Instant,
    ) -> Result<(), Errno> {
        self.now = self.now.max(now);
        let checked = self.check_write(fabric, file, message)?;
        let agent = self.agents.get(checked.agent).ok_or(Errno::EIO)?;
        let pkey_index = checked.header.pkey_index;
        let packet = packet(agent, &checked);
        let is_request = !class::is_response(checked.mad.as_bytes());
        let waits = if checked.is_local {
            is_request
        } else {
            checked.header.timeout_ms != 0 || checked.segments.is_some()
        };
        if !waits {
            self.transmit(fabric, packet, pkey_index);
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
        let mut send = Send {
            agent: checked.agent,
            file,
            header,
            packet,
            pkey_index,
            timeout: Duration::from_millis(u64::from(checked.header.timeout_ms)),
            retries: checked.header.retries,
            retries_left: checked.header.retries,
            timer: None,
            is_local: checked.is_local,
            serial: self.sends.serial,
            segments: checked.segments.map(Box::new),
        };
        if send.is_local {
            send.timeout = LOCAL_WAIT;
            send.retries_left = 0;
        }
        let (tid, class) = (send.tid(), send.packet.mad.mgmt_class().0);
        let is_segmented = send.segments.is_some();
        if let Some(segments) = &mut send.segments {
            segments.open_window(self.recvs.window_of_reply(&send.packet, send.agent));
        }
        let timeout = send.timeout;
        let place = self.sends.slab.insert(send);
        self.sends.keys.insert((file.0, tid, class, place));
        if is_segmented {
            self.queue_segments(fabric, place);
        } else {
            self.transmit(fabric, packet, pkey_index);
            self.arm(place, timeout);
        }
        Ok(())
    }

    fn check_write(&self, fabric: &Fabric, file: FileId, message: &[u8]) -> Result<Checked, Errno> {
        let open = self.files.get(file.0).ok_or(Errno::EBADF)?;
        let header_len = open.layout.header_len();
        if message.len() < header_len + RMPP_HEADER {
            return Err(Errno::EINVAL);
        }
        let (head, body) = message.split_at(header_len);
        let header = UserHeader::decode(head, open.layout);
        let id = usize::try_from(header.id).map_err(|_| Errno::EINVAL)?;
        if id >= MAX_AGENTS {
            return Err(Errno::EINVAL);
        }
        let index = open.agents[id].ok_or(Errno::EIO)?;
        let agent = self.agents.get(index).ok_or(Errno::EIO)?;
        let grh = own_grh(fabric, agent, &header)?;

        let mgmt_class = MgmtClass(body[1]);
        let kernel_rmpp = class::has_rmpp(mgmt_class) && agent.has_kernel_rmpp();
        let splits = kernel_rmpp && body[26] & 1 != 0;
        let data_offset = class::data_offset(mgmt_class);
        if body.len() < data_offset || (!splits && body.len() > MAD_LEN) {
            return Err(Errno::EINVAL);
        }
        let mut mad = Mad::new(&MadHeader::default());
        let bytes = mad.as_bytes_mut();
        let head_len = if splits { data_offset } else { body.len() };
        bytes[..head_len].copy_from_slice(&body[..head_len]);
        if kernel_rmpp {
            // The RMPP header is the kernel's.
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
            && class::ends_here(bytes, fabric.is_switch(agent.at.node), agent.at.port)
                .map_err(|_| Errno::EINVAL)?;
        let segments = splits.then(|| Segments::new(&body[data_offset..], data_offset));
        Ok(Checked {
            agent: index,
            header,
            mad,
            segments,
            grh,
            is_local,
        })
    }

    /// Hands a packet to the adapter. Without a P_Key, on the wrong queue pair, or with an SMP on
    /// QP1 it does not get far: such packets are lost here.
    pub(super) fn transmit(&mut self, fabric: &Fabric, mut packet: Packet, pkey_index: u16) {
        if set_pkey(fabric, &mut packet, pkey_index) {
            self.outbox.push_back(Outgoing::Packet(packet));
        }
    }

    pub(super) fn arm(&mut self, place: u32, timeout: Duration) {
        let timer = self.timers.set(self.now + timeout, Timer::Send(place));
        if let Some(send) = self.sends.slab.get_mut(place)
            && let Some(old) = send.timer.replace(timer)
        {
            self.timers.cancel(old);
        }
    }

    /// A send is complete, well or badly; the program hears nothing of it.
    pub(super) fn finish_send(&mut self, place: u32) -> Option<Send> {
        let send = self.sends.slab.remove(place)?;
        let class = send.packet.mad.mgmt_class().0;
        self.sends
            .keys
            .remove(&(send.file.0, send.tid(), class, place));
        if let Some(timer) = send.timer {
            self.timers.cancel(timer);
        }
        if let Some(open) = self.files.get_mut(send.file.0) {
            open.sends -= 1;
            open.send_bytes -= send.segments.as_deref().map_or(0, Segments::len);
        }
        Some(send)
    }

    pub(super) fn cancel_sends(&mut self, file: FileId, agent: AgentIdx) {
        let of_file = (file.0, 0, 0, 0)..=(file.0, u64::MAX, u8::MAX, u32::MAX);
        let places: Vec<u32> = self
            .sends
            .keys
            .range(of_file)
            .map(|key| key.3)
            .filter(|place| {
                self.sends
                    .slab
                    .get(*place)
                    .is_some_and(|s| s.agent == agent)
            })
            .collect();
        for place in places {
            self.finish_send(place);
        }
    }

    pub(super) fn send_timed_out(&mut self, fabric: &Fabric, place: u32) {
        let Some(send) = self.sends.slab.get_mut(place) else {
            return;
        };
        send.timer = None;
        if send.retries_left > 0 {
            match &mut send.segments {
                None => {
                    send.retries_left -= 1;
                    let (packet, pkey, timeout) = (send.packet, send.pkey_index, send.timeout);
                    self.transmit(fabric, packet, pkey);
                    self.arm(place, timeout);
                    return;
                }
                Some(segments) if !segments.all_acknowledged() => {
                    send.retries_left -= 1;
                    segments.go_back();
                    self.queue_segments(fabric, place);
                    return;
                }
                // The message arrived; only its answer is missing.
                Some(_) => {}
            }
        }
        let Some(send) = self.finish_send(place) else {
            return;
        };
        if send.is_local {
            return;
        }
        let mut header = send.header;
        header[4..8].copy_from_slice(&Errno::ETIMEDOUT.0.to_ne_bytes());
        let mut head = [0; MAD_HEADER];
        head.copy_from_slice(&send.packet.mad.as_bytes()[..MAD_HEADER]);
        if let Some(open) = self.files.get_mut(send.file.0) {
            let pushed = open.queue.push(header, Body::Failed(head));
            self.announce(send.file, pushed);
        }
    }

    /// Lets a segmented send have its turns, unless it waits for one already.
    pub(super) fn queue_segments(&mut self, fabric: &Fabric, place: u32) {
        let Some(send) = self.sends.slab.get_mut(place) else {
            return;
        };
        let has_pkey = set_pkey(fabric, &mut send.packet, send.pkey_index);
        let timeout = send.ack_timeout();
        let Some(segments) = &mut send.segments else {
            return;
        };
        if !has_pkey {
            // Lost in the adapter, as any packet would be; the next try is as good.
            self.arm(place, timeout);
            return;
        }
        if !segments.is_queued && segments.may_send() {
            segments.is_queued = true;
            let timer = send.timer.take();
            let serial = send.serial;
            self.outbox.push_back(Outgoing::Segments {
                send: place,
                serial,
            });
            if let Some(timer) = timer {
                self.timers.cancel(timer);
            }
        }
    }
}

/// The GRH that a program asked for. (`rdma_get_gid_attr`)
fn own_grh(fabric: &Fabric, agent: &Agent, header: &UserHeader) -> Result<Option<Grh>, Errno> {
    if !header.grh_present {
        return Ok(None);
    }
    let sgid = tables::gid_at(fabric, agent.at, usize::from(header.gid_index));
    let sgid = sgid.ok_or(Errno::EINVAL)?;
    if sgid.guid().0 == 0 {
        return Err(Errno::ENODATA);
    }
    Ok(Some(Grh {
        sgid,
        dgid: header.gid,
        flow_label: header.flow_label & 0xF_FFFF,
        traffic_class: header.traffic_class,
        hop_limit: header.hop_limit,
    }))
}

fn packet(agent: &Agent, checked: &Checked) -> Packet {
    Packet {
        at: agent.at,
        hops: 0,
        dest_qpn: checked.header.qpn,
        src_qpn: Qpn(agent.request.qpn),
        sl: checked.header.sl,
        dlid: checked.header.lid,
        slid: Lid::NONE,
        path_bits: checked.header.path_bits,
        pkey: PKey::DEFAULT_FULL,
        grh: checked.grh,
        mad: checked.mad,
    }
}

/// Gives a packet its P_Key; `false` if the packet cannot exist on the link.
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
