//! Queue pairs of attached programs: unreliable datagrams.
//!
//! [`Datagrams`] owns the queue pairs of all hosts. It is a state machine without I/O: it turns
//! posted messages into [`Packet`]s, and queues delivered [`DatagramIn`]s. It implements the checks
//! of IBA 9.6.1 and 10.2.5 (P_Key and Q_Key), 10.5 (multicast) and 11.2.4 (states); other service
//! types are unsupported.
//!
//! | module | contents |
//! |---|---|
//! | [`table`] | a port's tables as seen by programs |
//!
//! Receive buffers and completions are in the attached program. Up to [`QUEUE_MESSAGES`] messages
//! wait per queue pair; further ones are dropped, as an adapter does without a receive buffer.

mod global;
pub mod table;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ferrosm_mad::ids::{Gid, Lid, PKey, Qpn, Sl};
use ferrosm_mad::mad::{MAD_LEN, Mad, MadHeader};

use crate::fabric::{self, Datagram, Delivery, Fabric, Packet};
use crate::spec::{NodeIdx, PortAt};
use crate::umad::Errno;

pub use global::header;

/// First QPN for programs: 0 and 1 are QP0 and QP1.
const FIRST_QPN: u32 = 2;
/// The QPN of all multicast packets.
const MULTICAST_QPN: u32 = 0xFF_FFFF;
/// Q_Key of QP1.
const QP1_Q_KEY: u32 = 0x8001_0000;
/// Q_Keys with this bit in a request select the queue pair's own Q_Key (IBA 10.2.5).
const OWN_Q_KEY: u32 = 0x8000_0000;
/// Maximum number of queue pairs of all hosts.
pub const MAX_QPS: usize = 1 << 16;
/// Maximum number of messages that wait in one queue pair.
pub const QUEUE_MESSAGES: usize = 4096;
/// Maximum number of groups that one queue pair is attached to.
pub const MAX_GROUPS: usize = 1024;

/// A queue pair: its node and QPN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QpId {
    /// The node of the adapter.
    pub node: NodeIdx,
    /// QPN, unique per node.
    pub qpn: Qpn,
}

/// State of a queue pair. SQD and SQE are not simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum QpState {
    /// After creation.
    #[default]
    Reset,
    /// Bound to a port; neither receives nor sends.
    Init,
    ReadyToReceive,
    /// Receives and sends.
    ReadyToSend,
    /// Neither receives nor sends.
    Error,
}

/// State and keys of a queue pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QpParameters {
    pub state: QpState,
    /// Port; ignored in [`QpState::Reset`].
    pub port: u8,
    /// Index of its P_Key in the port's table.
    pub pkey_index: u16,
    pub q_key: u32,
}

/// Global route of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GlobalRoute {
    /// Destination GID.
    pub dgid: Gid,
    /// Index of the source GID in the port's table.
    pub sgid_index: u8,
    pub flow_label: u32,
    pub traffic_class: u8,
    pub hop_limit: u8,
}

/// A message to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatagramOut<'a> {
    /// Destination LID.
    pub dlid: Lid,
    /// Destination QPN.
    pub dest_qpn: Qpn,
    /// Destination Q_Key.
    pub q_key: u32,
    /// Service level.
    pub sl: Sl,
    /// Low bits of the source LID.
    pub path_bits: u8,
    /// Global route, if any.
    pub route: Option<GlobalRoute>,
    /// Payload, at most [`Datagram::MAX_LEN`] bytes.
    pub payload: &'a [u8],
}

/// A received message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatagramIn {
    /// Source LID.
    pub slid: Lid,
    /// Source QPN.
    pub src_qpn: Qpn,
    /// Service level.
    pub sl: Sl,
    /// Low bits of the destination LID.
    pub path_bits: u8,
    /// Index of the queue pair's P_Key in the port's table.
    pub pkey_index: u16,
    /// GRH as on the wire.
    pub grh: Option<[u8; 40]>,
    pub payload: Vec<u8>,
}

#[derive(Debug, Default)]
struct Qp {
    parameters: QpParameters,
    groups: BTreeSet<(Gid, Lid)>,
    queue: VecDeque<DatagramIn>,
    dropped: u64,
}

/// See the module documentation.
#[derive(Debug, Default)]
pub struct Datagrams {
    qps: BTreeMap<QpId, Qp>,
    /// Last assigned QPN of each node.
    last: BTreeMap<NodeIdx, u32>,
    readable: VecDeque<QpId>,
}

impl Datagrams {
    /// Creates the model without queue pairs.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of queue pairs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.qps.len()
    }

    /// Whether there is no queue pair.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.qps.is_empty()
    }

    /// Creates a queue pair. A QPN is reused only after all others.
    ///
    /// # Errors
    /// ENXIO if the node does not exist, ENOMEM if [`MAX_QPS`] queue pairs exist.
    pub fn create(&mut self, fabric: &Fabric, node: NodeIdx) -> Result<QpId, Errno> {
        if node >= fabric.num_nodes() {
            return Err(Errno::ENXIO);
        }
        if self.qps.len() >= MAX_QPS {
            return Err(Errno::ENOMEM);
        }
        let last = self.last.entry(node).or_insert(FIRST_QPN - 1);
        loop {
            *last = if *last + 1 >= MULTICAST_QPN {
                FIRST_QPN
            } else {
                *last + 1
            };
            let id = QpId {
                node,
                qpn: Qpn(*last),
            };
            // Terminates because there are fewer queue pairs than QPNs.
            if let Entry::Vacant(entry) = self.qps.entry(id) {
                entry.insert(Qp::default());
                return Ok(id);
            }
        }
    }

    /// Destroys a queue pair with its messages.
    pub fn destroy(&mut self, id: QpId) {
        self.qps.remove(&id);
        self.readable.retain(|other| *other != id);
    }

    /// Modifies state, port and keys.
    ///
    /// # Errors
    /// EBADF if the queue pair does not exist, EINVAL if the port or P_Key index does not exist.
    pub fn modify(
        &mut self,
        fabric: &Fabric,
        id: QpId,
        parameters: QpParameters,
    ) -> Result<(), Errno> {
        let qp = self.qps.get_mut(&id).ok_or(Errno::EBADF)?;
        let is_bound = !matches!(parameters.state, QpState::Reset | QpState::Error);
        if is_bound {
            let at = PortAt::new(id.node, parameters.port);
            if !fabric.end_ports().any(|end| end == at)
                || usize::from(parameters.pkey_index) >= fabric.pkeys(at).len()
            {
                return Err(Errno::EINVAL);
            }
        }
        if parameters.state == QpState::Reset {
            qp.queue.clear();
        }
        qp.parameters = parameters;
        Ok(())
    }

    /// Attaches to a multicast group on this adapter; the program joins the group at the SA.
    ///
    /// # Errors
    /// EBADF if the queue pair does not exist, EINVAL if an address is not multicast, ENOMEM beyond
    /// [`MAX_GROUPS`].
    pub fn attach(&mut self, id: QpId, mgid: Gid, mlid: Lid) -> Result<(), Errno> {
        let qp = self.qps.get_mut(&id).ok_or(Errno::EBADF)?;
        if mgid.0[0] != 0xFF || mlid.0 <= Lid::UNICAST_MAX.0 || mlid == Lid::PERMISSIVE {
            return Err(Errno::EINVAL);
        }
        if qp.groups.len() >= MAX_GROUPS {
            return Err(Errno::ENOMEM);
        }
        qp.groups.insert((mgid, mlid));
        Ok(())
    }

    /// Detaches from a multicast group.
    ///
    /// # Errors
    /// EBADF, EINVAL if it was not attached.
    pub fn detach(&mut self, id: QpId, mgid: Gid, mlid: Lid) -> Result<(), Errno> {
        let qp = self.qps.get_mut(&id).ok_or(Errno::EBADF)?;
        if qp.groups.remove(&(mgid, mlid)) {
            Ok(())
        } else {
            Err(Errno::EINVAL)
        }
    }

    /// Sends a message. A multicast message also reaches the queue pairs of its own port, including
    /// the sender: adapters loop it back (Linux's IPoIB drops its own for this reason).
    ///
    /// # Errors
    /// EBADF, EINVAL for a wrong state or address, ENOSPC for a message that is too long.
    pub fn send(
        &mut self,
        fabric: &mut Fabric,
        id: QpId,
        message: &DatagramOut<'_>,
    ) -> Result<Packet, Errno> {
        let parameters = self.qps.get(&id).ok_or(Errno::EBADF)?.parameters;
        if parameters.state != QpState::ReadyToSend {
            return Err(Errno::EINVAL);
        }
        let at = PortAt::new(id.node, parameters.port);
        let len = u16::try_from(message.payload.len())
            .ok()
            .filter(|len| *len <= Datagram::MAX_LEN)
            .ok_or(Errno::ENOSPC)?;
        let pkey = table::pkey(fabric, at, parameters.pkey_index).ok_or(Errno::EINVAL)?;
        let grh = match message.route {
            Some(route) => Some(global::outgoing(fabric, at, &route).ok_or(Errno::EINVAL)?),
            None => None,
        };
        let q_key = if message.q_key & OWN_Q_KEY == 0 {
            message.q_key
        } else {
            parameters.q_key
        };
        let mut mad = Mad::new(&MadHeader::default());
        let bytes = mad.as_bytes_mut();
        bytes.fill(0);
        bytes[..message.payload.len()].copy_from_slice(message.payload);
        // A message to QP1 with its Q_Key is a MAD.
        let is_mad =
            message.dest_qpn.0 == 1 && q_key == QP1_Q_KEY && message.payload.len() == MAD_LEN;
        let packet = Packet {
            at,
            hops: 0,
            dest_qpn: message.dest_qpn,
            src_qpn: id.qpn,
            sl: message.sl,
            dlid: message.dlid,
            slid: Lid::NONE,
            path_bits: message.path_bits,
            pkey,
            grh,
            datagram: (!is_mad).then_some(Datagram { q_key, len }),
            mad,
        };
        if packet.is_multicast()
            && let (Some(datagram), Some(grh)) = (packet.datagram, packet.grh)
        {
            let own_lid = fabric.lid(at).0.0.wrapping_add(packet.path_bits.into());
            let copy = Arrival {
                at,
                slid: Lid(own_lid),
                dlid: packet.dlid,
                src_qpn: id.qpn,
                sl: packet.sl,
                path_bits: 0,
                pkey,
                q_key: datagram.q_key,
                grh: Some(grh),
                payload: message.payload,
            };
            self.deliver_to_group(fabric, &copy);
        }
        Ok(packet)
    }

    /// Handles a delivery. Returns `false` if it is not for a program's queue pair.
    pub fn deliver(&mut self, fabric: &mut Fabric, delivery: &Delivery) -> bool {
        let (q_key, len) = match delivery.datagram {
            Some(datagram) => (datagram.q_key, usize::from(datagram.len)),
            // A reply by the MAD layer to a queue pair that sent to QP1.
            None if delivery.qpn.0 > 1 => (QP1_Q_KEY, MAD_LEN),
            None => return false,
        };
        let bytes = delivery.mad.mad.as_bytes();
        let from = &delivery.mad.from;
        let arrival = Arrival {
            at: delivery.at,
            slid: from.lid,
            dlid: Lid::NONE,
            src_qpn: from.qpn,
            sl: from.sl,
            path_bits: from.path_bits,
            pkey: delivery.pkey,
            q_key,
            grh: delivery.grh,
            payload: bytes.get(..len).unwrap_or(bytes),
        };
        if delivery.qpn.0 == MULTICAST_QPN {
            self.deliver_to_group(fabric, &arrival);
            return true;
        }
        if delivery.qpn.0 <= 1 {
            // Messages with the Q_Key of QP1 arrive as MADs.
            arrival.report_q_key_violation(fabric, delivery.qpn);
            return true;
        }
        let id = QpId {
            node: delivery.at.node,
            qpn: delivery.qpn,
        };
        if !self.qps.contains_key(&id) {
            return delivery.datagram.is_some();
        }
        self.enqueue(fabric, id, &arrival);
        true
    }

    /// Delivers to all queue pairs of the port that are attached to the group.
    fn deliver_to_group(&mut self, fabric: &mut Fabric, arrival: &Arrival<'_>) {
        let Some(grh) = arrival.grh else { return };
        let first = QpId {
            node: arrival.at.node,
            qpn: Qpn(0),
        };
        let members: Vec<QpId> = self
            .qps
            .range(first..)
            .take_while(|(id, _)| id.node == arrival.at.node)
            .filter(|(_, qp)| qp.parameters.port == arrival.at.port)
            .filter(|(_, qp)| {
                // A delivery does not contain the MLID; the MGID identifies the group.
                let mut groups = qp.groups.iter().filter(|(mgid, _)| *mgid == grh.dgid);
                groups.any(|(_, mlid)| arrival.dlid == Lid::NONE || *mlid == arrival.dlid)
            })
            .map(|(id, _)| *id)
            .collect();
        for id in members {
            self.enqueue(fabric, id, arrival);
        }
    }

    /// Delivers to a queue pair if it accepts the message.
    fn enqueue(&mut self, fabric: &mut Fabric, id: QpId, arrival: &Arrival<'_>) {
        let Some(qp) = self.qps.get_mut(&id) else {
            return;
        };
        let receives = matches!(
            qp.parameters.state,
            QpState::ReadyToReceive | QpState::ReadyToSend
        );
        if !receives || qp.parameters.port != arrival.at.port {
            return;
        }
        let own = table::pkey(fabric, arrival.at, qp.parameters.pkey_index);
        if !own.is_some_and(|own| table::match_pkeys(own, arrival.pkey)) {
            return;
        }
        if qp.parameters.q_key != arrival.q_key {
            return arrival.report_q_key_violation(fabric, id.qpn);
        }
        if qp.queue.len() >= QUEUE_MESSAGES {
            qp.dropped += 1;
            return;
        }
        if qp.queue.is_empty() {
            self.readable.push_back(id);
        }
        qp.queue.push_back(DatagramIn {
            slid: arrival.slid,
            src_qpn: arrival.src_qpn,
            sl: arrival.sl,
            path_bits: arrival.path_bits,
            pkey_index: qp.parameters.pkey_index,
            grh: arrival.grh.map(|grh| header(&grh, arrival.payload.len())),
            payload: arrival.payload.to_vec(),
        });
    }

    /// The next queue pair that became readable.
    pub fn poll_readable(&mut self) -> Option<QpId> {
        self.readable.pop_front()
    }

    /// The oldest message of a queue pair.
    #[must_use]
    pub fn front(&self, id: QpId) -> Option<&DatagramIn> {
        self.qps.get(&id)?.queue.front()
    }

    /// Removes the oldest message.
    pub fn pop(&mut self, id: QpId) {
        if let Some(qp) = self.qps.get_mut(&id) {
            qp.queue.pop_front();
        }
    }

    /// Number of messages dropped because the queue was full.
    #[must_use]
    pub fn dropped(&self, id: QpId) -> u64 {
        self.qps.get(&id).map_or(0, |qp| qp.dropped)
    }
}

/// A message that arrived at a port.
struct Arrival<'a> {
    at: PortAt,
    slid: Lid,
    /// [`Lid::NONE`] if unknown.
    dlid: Lid,
    src_qpn: Qpn,
    sl: Sl,
    path_bits: u8,
    pkey: PKey,
    q_key: u32,
    grh: Option<fabric::GlobalRouteHeader>,
    payload: &'a [u8],
}

impl Arrival<'_> {
    /// Counts and reports a message with a wrong Q_Key.
    fn report_q_key_violation(&self, fabric: &mut Fabric, qpn: Qpn) {
        let dlid = Lid(fabric.lid(self.at).0.0.wrapping_add(self.path_bits.into()));
        let packet = Packet {
            at: self.at,
            hops: 0,
            dest_qpn: qpn,
            src_qpn: self.src_qpn,
            sl: self.sl,
            dlid,
            slid: self.slid,
            path_bits: 0,
            pkey: self.pkey,
            grh: self.grh,
            datagram: None,
            mad: Mad::new(&MadHeader::default()),
        };
        fabric.q_key_violation(self.at, self.q_key, &packet);
    }
}
