//! Queue pairs of programs: unreliable datagrams, as an adapter sends and receives them.
//!
//! [`Datagrams`] owns the queue pairs of all hosts. It is a state machine without I/O: what programs
//! post goes in, [`Packet`]s come out; what the fabric delivers goes in, [`DatagramIn`] messages wait to
//! be fetched. Service and receiver checks are IBA 9.6.1 and 10.2.5 (P_Key and Q_Key), 10.5
//! (multicast), 11.2.4 (states); the other service types do not exist.
//!
//! | module | what it holds |
//! |---|---|
//! | [`table`] | what a program may ask of a port's tables |
//!
//! Not here: receive buffers and completions, which are the program's end's business. A message that
//! arrives waits in [`Datagrams`] up to [`QUEUE_MESSAGES`]; beyond that it is dropped, as an adapter
//! drops what finds no buffer.

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

/// The first number that a program's queue pair can have: 0 and 1 are management's.
const FIRST_QPN: u32 = 2;
/// Numbers have 24 bits; the last one is that of all multicast.
const MULTICAST_QPN: u32 = 0xFF_FFFF;
/// Q_Key of every QP1.
const QP1_Q_KEY: u32 = 0x8001_0000;
/// A request with this bit means the queue pair's own Q_Key (IBA 10.2.5).
const OWN_Q_KEY: u32 = 0x8000_0000;
/// Queue pairs of all hosts together: a bound for this process.
pub const MAX_QPS: usize = 1 << 16;
/// Messages that wait in one queue pair.
pub const QUEUE_MESSAGES: usize = 4096;
/// Groups that one queue pair is attached to.
pub const MAX_GROUPS: usize = 1024;

/// A queue pair: its adapter and its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QpId {
    /// The adapter.
    pub node: NodeIdx,
    /// Unique on the adapter.
    pub qpn: Qpn,
}

/// States of a queue pair, as far as they differ for datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum QpState {
    /// As created.
    #[default]
    Reset,
    /// Bound to a port; takes nothing.
    Init,
    /// Receives.
    ReadyToReceive,
    /// Receives and sends.
    ReadyToSend,
    /// Neither.
    Error,
}

/// What a queue pair is set to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QpParameters {
    /// Its state.
    pub state: QpState,
    /// Its port; of no meaning in [`QpState::Reset`].
    pub port: u8,
    /// Place of its P_Key in the port's table.
    pub pkey_index: u16,
    /// Its Q_Key.
    pub q_key: u32,
}

/// A global route that a program asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GlobalRoute {
    /// Destination.
    pub dgid: Gid,
    /// Place of the source in the port's table.
    pub sgid_index: u8,
    /// Flow label.
    pub flow_label: u32,
    /// Traffic class.
    pub traffic_class: u8,
    /// Hop limit.
    pub hop_limit: u8,
}

/// A message that a program sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatagramOut<'a> {
    /// Destination LID.
    pub dlid: Lid,
    /// The receiver's queue pair.
    pub dest_qpn: Qpn,
    /// Q_Key for the receiver.
    pub q_key: u32,
    /// Service level.
    pub sl: Sl,
    /// Low bits of the own LID.
    pub path_bits: u8,
    /// Global route, if it has one.
    pub route: Option<GlobalRoute>,
    /// The bytes, at most [`Datagram::MAX_LEN`].
    pub payload: &'a [u8],
}

/// A message that arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatagramIn {
    /// Source LID.
    pub slid: Lid,
    /// The sender's queue pair.
    pub src_qpn: Qpn,
    /// Service level.
    pub sl: Sl,
    /// Low bits of the LID that it was sent to.
    pub path_bits: u8,
    /// Place of its P_Key in the port's table.
    pub pkey_index: u16,
    /// Its global route header, as on the wire.
    pub grh: Option<[u8; 40]>,
    /// The bytes.
    pub payload: Vec<u8>,
}

#[derive(Debug, Default)]
struct Qp {
    setup: QpParameters,
    groups: BTreeSet<(Gid, Lid)>,
    queue: VecDeque<DatagramIn>,
    dropped: u64,
}

/// See the module's text.
#[derive(Debug, Default)]
pub struct Datagrams {
    qps: BTreeMap<QpId, Qp>,
    /// The number that an adapter gave last.
    last: BTreeMap<NodeIdx, u32>,
    readable: VecDeque<QpId>,
}

impl Datagrams {
    /// There are no queue pairs.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Queue pairs that there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.qps.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.qps.is_empty()
    }

    /// A new queue pair of an adapter. Numbers are given again only when all were used.
    ///
    /// # Errors
    /// ENXIO if there is no such adapter, ENOMEM with [`MAX_QPS`].
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
            // Ends: there are fewer queue pairs than numbers.
            if let Entry::Vacant(place) = self.qps.entry(id) {
                place.insert(Qp::default());
                return Ok(id);
            }
        }
    }

    /// It is gone, with what waits in it.
    pub fn destroy(&mut self, id: QpId) {
        self.qps.remove(&id);
        self.readable.retain(|other| *other != id);
    }

    /// Changes state, port and keys.
    ///
    /// # Errors
    /// EBADF if there is no such queue pair, EINVAL if there is no such port or P_Key index.
    pub fn set_up(&mut self, fabric: &Fabric, id: QpId, setup: QpParameters) -> Result<(), Errno> {
        let qp = self.qps.get_mut(&id).ok_or(Errno::EBADF)?;
        let is_bound = !matches!(setup.state, QpState::Reset | QpState::Error);
        if is_bound {
            let at = PortAt::new(id.node, setup.port);
            if !fabric.end_ports().any(|end| end == at)
                || usize::from(setup.pkey_index) >= fabric.pkeys(at).len()
            {
                return Err(Errno::EINVAL);
            }
        }
        if setup.state == QpState::Reset {
            qp.queue.clear();
        }
        qp.setup = setup;
        Ok(())
    }

    /// Joins the receivers of a multicast group on this adapter; joining the group is for the SA.
    ///
    /// # Errors
    /// EBADF, EINVAL if it is no multicast address, ENOMEM with [`MAX_GROUPS`].
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

    /// Leaves them.
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

    /// A program sends. A multicast message also reaches the queue pairs of its own port, the sender
    /// among them: adapters copy it back (Linux's IPoIB has to drop its own for that reason).
    ///
    /// # Errors
    /// EBADF, EINVAL in a state that does not send or for an address that cannot be, ENOSPC for a message
    /// that is too long.
    pub fn send(
        &mut self,
        fabric: &mut Fabric,
        id: QpId,
        message: &DatagramOut<'_>,
    ) -> Result<Packet, Errno> {
        let setup = self.qps.get(&id).ok_or(Errno::EBADF)?.setup;
        if setup.state != QpState::ReadyToSend {
            return Err(Errno::EINVAL);
        }
        let at = PortAt::new(id.node, setup.port);
        let len = u16::try_from(message.payload.len()).unwrap_or(u16::MAX);
        if len > Datagram::MAX_LEN {
            return Err(Errno::ENOSPC);
        }
        let pkey = table::pkey(fabric, at, setup.pkey_index).ok_or(Errno::EINVAL)?;
        let grh = match message.route {
            Some(route) => Some(global::outgoing(fabric, at, &route).ok_or(Errno::EINVAL)?),
            None => None,
        };
        let q_key = if message.q_key & OWN_Q_KEY == 0 {
            message.q_key
        } else {
            setup.q_key
        };
        let mut mad = Mad::new(&MadHeader::default());
        let bytes = mad.as_bytes_mut();
        bytes.fill(0);
        bytes[..message.payload.len()].copy_from_slice(message.payload);
        // To a QP1 it is a MAD: whoever may set that Q_Key may send one.
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
            let own = fabric.lid(at).0.0.wrapping_add(packet.path_bits.into());
            let copy = Arrival {
                at,
                slid: Lid(own),
                dlid: packet.dlid,
                src_qpn: id.qpn,
                sl: packet.sl,
                path_bits: 0,
                pkey,
                q_key: datagram.q_key,
                grh: Some(grh),
                payload: message.payload,
            };
            self.spread(fabric, &copy);
        }
        Ok(packet)
    }

    /// Something that the fabric brought to a port. `false`: it is not for a queue pair of a program.
    pub fn deliver(&mut self, fabric: &mut Fabric, delivery: &Delivery) -> bool {
        let (q_key, len) = match delivery.datagram {
            Some(datagram) => (datagram.q_key, usize::from(datagram.len)),
            // The MAD layer's answer to a message that a queue pair sent to QP1.
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
            self.spread(fabric, &arrival);
            return true;
        }
        if delivery.qpn.0 <= 1 {
            // QP1 has a Q_Key of its own, and what had that one came as a MAD.
            arrival.violates(fabric, delivery.qpn);
            return true;
        }
        let id = QpId {
            node: delivery.at.node,
            qpn: delivery.qpn,
        };
        if !self.qps.contains_key(&id) {
            return delivery.datagram.is_some();
        }
        self.give(fabric, id, &arrival);
        true
    }

    /// To every queue pair of the port that is attached to the group.
    fn spread(&mut self, fabric: &mut Fabric, arrival: &Arrival<'_>) {
        let Some(grh) = arrival.grh else { return };
        let first = QpId {
            node: arrival.at.node,
            qpn: Qpn(0),
        };
        let members: Vec<QpId> = self
            .qps
            .range(first..)
            .take_while(|(id, _)| id.node == arrival.at.node)
            .filter(|(_, qp)| qp.setup.port == arrival.at.port)
            .filter(|(_, qp)| {
                // A delivery does not say its MLID; the MGID is the group.
                let mut of_group = qp.groups.iter().filter(|(mgid, _)| *mgid == grh.dgid);
                of_group.any(|(_, mlid)| arrival.dlid == Lid::NONE || *mlid == arrival.dlid)
            })
            .map(|(id, _)| *id)
            .collect();
        for id in members {
            self.give(fabric, id, arrival);
        }
    }

    /// To one queue pair, if it takes it.
    fn give(&mut self, fabric: &mut Fabric, id: QpId, arrival: &Arrival<'_>) {
        let Some(qp) = self.qps.get_mut(&id) else {
            return;
        };
        let receives = matches!(
            qp.setup.state,
            QpState::ReadyToReceive | QpState::ReadyToSend
        );
        if !receives || qp.setup.port != arrival.at.port {
            return;
        }
        let own = table::pkey(fabric, arrival.at, qp.setup.pkey_index);
        if !own.is_some_and(|own| table::match_pkeys(own, arrival.pkey)) {
            return;
        }
        if qp.setup.q_key != arrival.q_key {
            return arrival.violates(fabric, id.qpn);
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
            pkey_index: qp.setup.pkey_index,
            grh: arrival.grh.map(|grh| header(&grh, arrival.payload.len())),
            payload: arrival.payload.to_vec(),
        });
    }

    /// A queue pair that got a first message since it was last named here.
    pub fn poll_readable(&mut self) -> Option<QpId> {
        self.readable.pop_front()
    }

    /// The oldest message of a queue pair.
    #[must_use]
    pub fn front(&self, id: QpId) -> Option<&DatagramIn> {
        self.qps.get(&id)?.queue.front()
    }

    /// It was fetched.
    pub fn pop(&mut self, id: QpId) {
        if let Some(qp) = self.qps.get_mut(&id) {
            qp.queue.pop_front();
        }
    }

    /// Messages that were lost because the queue was full.
    #[must_use]
    pub fn dropped(&self, id: QpId) -> u64 {
        self.qps.get(&id).map_or(0, |qp| qp.dropped)
    }
}

/// A message at a port, before anybody took it.
struct Arrival<'a> {
    at: PortAt,
    slid: Lid,
    /// [`Lid::NONE`] if it is not known.
    dlid: Lid,
    src_qpn: Qpn,
    sl: Sl,
    path_bits: u8,
    pkey: PKey,
    q_key: u32,
    grh: Option<fabric::Grh>,
    payload: &'a [u8],
}

impl Arrival<'_> {
    /// It has another Q_Key than the receiver: counted and told to the SM.
    fn violates(&self, fabric: &mut Fabric, qpn: Qpn) {
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
