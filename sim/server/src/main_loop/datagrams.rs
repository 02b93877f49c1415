//! Verbs programs: device and port attributes, queue pairs for datagrams, and port events.
//!
//! Part of the [`SimulatorLoop`]: owns the rings of queue pairs and watched devices, and translates
//! between `ferrosm_channel::verbs` and `ferrosm_sim::datagram`.

use std::collections::VecDeque;

use ferrosm_channel::ServerEnd;
use ferrosm_channel::verbs::{self, MAX_DATAGRAM, VerbsReply, VerbsRequest, WireAsyncEvent};
use ferrosm_mad::attr::{LinkSpeed, NodeType, PortState};
use ferrosm_mad::ids::{Gid, Lid, PKey, Qpn, Sl};
use ferrosm_sim::datagram::{
    DatagramOut, Datagrams, GlobalRoute, QpId, QpParameters, QpState, table,
};
use ferrosm_sim::fabric::Fabric;
use ferrosm_sim::spec::{NodeIdx, PortAt};
use ferrosm_sim::umad::{Errno, sysfs};
use tracing::{debug, warn};

use super::SimulatorLoop;
use crate::request::{ConnId, VerbsAnswer};

/// Maximum number of datagrams taken from one queue pair before the next one.
const BURST: usize = 32;
/// Events queued for a program; further ones are dropped.
const EVENTS_MAX: usize = 256;

/// Port events (`enum ibv_event_type`).
mod event {
    pub(crate) const PORT_ACTIVE: u32 = 9;
    pub(crate) const PORT_ERR: u32 = 10;
    pub(crate) const LID_CHANGE: u32 = 11;
    pub(crate) const PKEY_CHANGE: u32 = 12;
    pub(crate) const SM_CHANGE: u32 = 13;
    pub(crate) const CLIENT_REREGISTER: u32 = 17;
    pub(crate) const GID_CHANGE: u32 = 18;
}

/// A queue pair of a program.
#[derive(Debug)]
struct QueuePair {
    conn: ConnId,
    id: QpId,
    end: ServerEnd,
    /// Whether a message waits for space in the ring.
    waiting: bool,
}

/// Port attributes whose changes cause events.
#[derive(Debug, PartialEq, Eq)]
struct PortEventState {
    state: PortState,
    lid: (Lid, u8),
    sm: (Lid, Sl),
    reregisters: u32,
    pkeys: Vec<PKey>,
    gids: Vec<Gid>,
}

/// Subscription of a program to the port events of a device.
#[derive(Debug)]
struct PortEventWatch {
    conn: ConnId,
    end: ServerEnd,
    ports: Vec<(PortAt, Option<PortEventState>)>,
    events: VecDeque<WireAsyncEvent>,
}

/// Objects of verbs programs.
#[derive(Debug, Default)]
pub struct Verbs {
    pub(crate) datagrams: Datagrams,
    queue_pairs: Vec<QueuePair>,
    watches: Vec<PortEventWatch>,
}

impl Verbs {
    /// Whether a program wrote to a ring, or freed space in one.
    pub(crate) fn is_ready(&self) -> bool {
        self.queue_pairs.iter().any(|qp| qp.end.is_ready())
            || self.watches.iter().any(|watch| watch.end.is_ready())
    }
}

impl SimulatorLoop {
    /// Executes a verbs request.
    pub(crate) fn verbs_call(
        &mut self,
        conn: ConnId,
        call: VerbsRequest,
    ) -> Result<VerbsAnswer, Errno> {
        let cas = self.cas(conn).ok_or(Errno::ENXIO)?;
        let device = |index: u32| cas.get(index as usize).copied().ok_or(Errno::ENXIO);
        match call {
            VerbsRequest::Devices => {
                let fabric = self.net.fabric();
                let devices = cas
                    .iter()
                    .enumerate()
                    .map(|(i, node)| device_attributes(fabric, i, *node));
                Ok((Some(VerbsReply::Devices(devices.collect())), None))
            }
            VerbsRequest::Port {
                device: index,
                port,
            } => {
                let at = end_port(self.net.fabric(), device(index)?, port)?;
                let port = port_attributes(self.net.fabric(), at).ok_or(Errno::EINVAL)?;
                Ok((Some(VerbsReply::Port(Box::new(port))), None))
            }
            VerbsRequest::Watch { device: index } => {
                let node = device(index)?;
                self.check_unused(conn)?;
                let (end, fds) = self.ring_pair()?;
                let fabric = self.net.fabric();
                let ports = fabric.end_ports().filter(|at| at.node == node);
                self.verbs.watches.push(PortEventWatch {
                    conn,
                    end,
                    ports: ports.map(|at| (at, snapshot(fabric, at))).collect(),
                    events: VecDeque::new(),
                });
                Ok((None, Some(fds)))
            }
            VerbsRequest::CreateQueuePair { device: index } => {
                let node = device(index)?;
                self.check_unused(conn)?;
                let (end, fds) = self.ring_pair()?;
                let id = self.verbs.datagrams.create(self.net.fabric(), node)?;
                self.verbs.queue_pairs.push(QueuePair {
                    conn,
                    id,
                    end,
                    waiting: false,
                });
                Ok((Some(VerbsReply::QueuePair(id.qpn.0)), Some(fds)))
            }
            VerbsRequest::ModifyQueuePair(wanted) => {
                // Datagrams that were sent before use the old parameters.
                self.take_datagrams();
                let parameters = QpParameters {
                    state: qp_state(wanted.state),
                    port: u8::try_from(wanted.port).map_err(|_| Errno::EINVAL)?,
                    pkey_index: u16::try_from(wanted.pkey_index).map_err(|_| Errno::EINVAL)?,
                    q_key: wanted.q_key,
                };
                let id = self.queue_pair(conn)?;
                let fabric = self.net.fabric();
                self.verbs.datagrams.modify(fabric, id, parameters)?;
                Ok((None, None))
            }
            VerbsRequest::Multicast { attach, mgid, mlid } => {
                let id = self.queue_pair(conn)?;
                let mgid = Gid(mgid);
                let mlid = Lid(mlid);
                if attach {
                    self.verbs.datagrams.attach(id, mgid, mlid)?;
                } else {
                    self.verbs.datagrams.detach(id, mgid, mlid)?;
                }
                Ok((None, None))
            }
        }
    }

    /// Checks that the connection has no object yet.
    fn check_unused(&self, conn: ConnId) -> Result<(), Errno> {
        let is_used = self.devices.iter().any(|d| d.conn == conn)
            || self.verbs.queue_pairs.iter().any(|qp| qp.conn == conn)
            || self.verbs.watches.iter().any(|watch| watch.conn == conn);
        if is_used { Err(Errno::EINVAL) } else { Ok(()) }
    }

    fn queue_pair(&self, conn: ConnId) -> Result<QpId, Errno> {
        let mut queue_pairs = self.verbs.queue_pairs.iter();
        let existing = queue_pairs.find(|qp| qp.conn == conn);
        existing.map(|qp| qp.id).ok_or(Errno::EBADF)
    }

    /// Takes datagrams from the programs, a burst from each; returns whether there were any.
    pub(crate) fn take_datagrams(&mut self) -> bool {
        let mut any_taken = false;
        let mut corrupt = None;
        for index in 0..self.verbs.queue_pairs.len() {
            for _ in 0..BURST {
                let qp = &mut self.verbs.queue_pairs[index];
                let id = qp.id;
                let message = match qp.end.receive(&mut self.buffer) {
                    Ok(true) => verbs::OutgoingDatagram::decode(&self.buffer),
                    Ok(false) => break,
                    Err(error) => {
                        warn!(%error, "corrupt ring; program disconnected");
                        corrupt = Some(qp.conn);
                        break;
                    }
                };
                any_taken = true;
                self.served += 1;
                let now = self.now();
                let sent = message.map_err(|_| Errno::EINVAL).and_then(|message| {
                    let fabric = self.net.fabric_mut();
                    self.verbs
                        .datagrams
                        .send(fabric, id, &outgoing_datagram(&message)?)
                });
                match sent {
                    Ok(packet) => {
                        self.net.send(packet, now, &mut self.deliveries);
                        self.deliver(now);
                        self.pump(now);
                    }
                    Err(errno) => {
                        self.rejected += 1;
                        debug!(errno = errno.0, "datagram rejected");
                    }
                }
            }
        }
        if let Some(conn) = corrupt {
            self.close(conn);
        }
        any_taken
    }

    /// Writes pending datagrams and events to the rings, as far as these have space.
    pub(crate) fn send_datagrams(&mut self) {
        let Verbs {
            datagrams,
            queue_pairs,
            watches,
        } = &mut self.verbs;
        while let Some(id) = datagrams.poll_readable() {
            if let Some(qp) = queue_pairs.iter_mut().find(|qp| qp.id == id) {
                qp.waiting = true;
            }
        }
        let mut corrupt = None;
        for qp in queue_pairs.iter_mut().filter(|qp| qp.waiting) {
            while let Some(message) = datagrams.front(qp.id) {
                let message = verbs::ReceivedDatagram {
                    slid: message.slid.0,
                    src_qpn: message.src_qpn.0,
                    sl: message.sl.0.into(),
                    path_bits: message.path_bits.into(),
                    pkey_index: message.pkey_index.into(),
                    grh: message.grh,
                    payload: message.payload.clone(),
                };
                match qp.end.send(&[&message.encode()]) {
                    Ok(true) => datagrams.pop(qp.id),
                    Ok(false) => break,
                    Err(_) => {
                        corrupt = Some(qp.conn);
                        break;
                    }
                }
            }
            qp.waiting = datagrams.front(qp.id).is_some();
        }
        for watch in watches {
            while let Some(event) = watch.events.front() {
                match watch.end.send(&[&event.encode()]) {
                    Ok(true) => drop(watch.events.pop_front()),
                    Ok(false) => break,
                    Err(_) => {
                        corrupt = Some(watch.conn);
                        break;
                    }
                }
            }
        }
        if let Some(conn) = corrupt {
            warn!("corrupt ring; program disconnected");
            self.close(conn);
        }
    }

    /// Queues events for changes of watched ports since the last call.
    pub(crate) fn update_port_events(&mut self) {
        let fabric = self.net.fabric();
        let mut has_events = false;
        for watch in &mut self.verbs.watches {
            for (at, before) in &mut watch.ports {
                let after = snapshot(fabric, *at);
                if after == *before {
                    continue;
                }
                has_events = true;
                for kind in events_of_change(before.as_ref(), after.as_ref()) {
                    if watch.events.len() < EVENTS_MAX {
                        let port = at.port.into();
                        watch.events.push_back(WireAsyncEvent { kind, port });
                    }
                }
                *before = after;
            }
        }
        if has_events {
            self.send_datagrams();
        }
    }

    /// Closes the objects of a connection.
    pub(crate) fn close_verbs(&mut self, conn: ConnId) {
        let Verbs {
            datagrams,
            queue_pairs,
            watches,
        } = &mut self.verbs;
        queue_pairs.retain(|qp| {
            if qp.conn == conn {
                datagrams.destroy(qp.id);
            }
            qp.conn != conn
        });
        watches.retain(|watch| watch.conn != conn);
    }
}

/// Converts a queue pair state of verbs.
const fn qp_state(number: u32) -> QpState {
    match number {
        0 => QpState::Reset,
        1 => QpState::Init,
        2 => QpState::ReadyToReceive,
        3 => QpState::ReadyToSend,
        _ => QpState::Error,
    }
}

fn outgoing_datagram(message: &verbs::OutgoingDatagram) -> Result<DatagramOut<'_>, Errno> {
    let byte = |number: u32| u8::try_from(number).map_err(|_| Errno::EINVAL);
    if message.payload.len() > MAX_DATAGRAM {
        return Err(Errno::ENOSPC);
    }
    let route = match &message.route {
        Some(route) => Some(GlobalRoute {
            dgid: Gid(route.dgid),
            sgid_index: byte(route.sgid_index)?,
            flow_label: route.flow_label,
            traffic_class: byte(route.traffic_class)?,
            hop_limit: byte(route.hop_limit)?,
        }),
        None => None,
    };
    Ok(DatagramOut {
        dlid: Lid(message.dlid),
        dest_qpn: Qpn(message.dest_qpn & 0xFF_FFFF),
        q_key: message.q_key,
        sl: Sl(byte(message.sl)? & 0xF),
        path_bits: byte(message.path_bits)? & 0x7F,
        route,
        payload: &message.payload,
    })
}

fn end_port(fabric: &Fabric, node: NodeIdx, port: u32) -> Result<PortAt, Errno> {
    let mut ports = fabric.end_ports().filter(|at| at.node == node);
    ports
        .find(|at| u32::from(at.port) == port)
        .ok_or(Errno::EINVAL)
}

fn device_attributes(fabric: &Fabric, index: usize, node: NodeIdx) -> verbs::DeviceAttributes {
    let adapter = table::adapter(fabric, node);
    let ports: Vec<PortAt> = fabric.end_ports().filter(|at| at.node == node).collect();
    let pkey_table_len = ports.first().map_or(0, |at| fabric.pkey_cap(*at));
    verbs::DeviceAttributes {
        name: sysfs::ca_name(index),
        firmware: sysfs::FIRMWARE.to_owned(),
        node_type: match fabric.kind(node) {
            NodeType::Switch => 2,
            NodeType::Router => 3,
            _ => 1,
        },
        node_guid: fabric.node_guid(node).0,
        system_image_guid: fabric.system_image_guid(node).0,
        vendor_id: adapter.vendor_id,
        device_id: adapter.device_id.into(),
        revision: adapter.revision,
        ports: u32::try_from(ports.len()).unwrap_or(0),
        pkey_table_len: pkey_table_len.into(),
    }
}

fn port_attributes(fabric: &Fabric, at: PortAt) -> Option<verbs::PortAttributes> {
    let info = fabric.port_info(at)?;
    let speed = if fabric.is_fdr10(at) {
        Some(LinkSpeed::Fdr10)
    } else {
        info.speed()
    };
    Some(verbs::PortAttributes {
        state: info.port_state.0.into(),
        phys_state: info.port_physical_state.0.into(),
        max_mtu: info.mtu_cap.0.into(),
        active_mtu: info.neighbor_mtu.0.into(),
        capabilities: info.capability_mask.0,
        capabilities2: info.capability_mask2.0.into(),
        pkey_violations: info.p_key_violations.into(),
        qkey_violations: info.q_key_violations.into(),
        lid: info.lid.0.into(),
        lmc: info.lmc.0.into(),
        sm_lid: info.master_sm_lid.0.into(),
        sm_sl: info.master_sm_sl.0.into(),
        subnet_timeout: info.subnet_timeout.into(),
        init_type_reply: info.init_type_reply.into(),
        vl_cap: info.vl_cap.into(),
        width: info.link_width_active.into(),
        speed: match speed {
            None | Some(LinkSpeed::Sdr) => 1,
            Some(LinkSpeed::Ddr) => 2,
            Some(LinkSpeed::Qdr) => 4,
            Some(LinkSpeed::Fdr10) => 8,
            Some(LinkSpeed::Fdr) => 16,
            Some(LinkSpeed::Edr) => 32,
            Some(LinkSpeed::Hdr) => 64,
            Some(LinkSpeed::Ndr) => 128,
            Some(LinkSpeed::Xdr) => 256,
        },
        gids: table::gids(fabric, at).iter().map(|gid| gid.0).collect(),
        pkeys: fabric.pkeys(at).iter().map(|pkey| pkey.0).collect(),
    })
}

fn snapshot(fabric: &Fabric, at: PortAt) -> Option<PortEventState> {
    let info = fabric.port_info(at)?;
    Some(PortEventState {
        state: info.port_state,
        lid: (info.lid, info.lmc.0),
        sm: (info.master_sm_lid, info.master_sm_sl),
        reregisters: fabric.client_reregisters(at),
        pkeys: fabric.pkeys(at),
        gids: table::gids(fabric, at),
    })
}

/// Events of a change, in the order in which a kernel driver reports them.
fn events_of_change(before: Option<&PortEventState>, after: Option<&PortEventState>) -> Vec<u32> {
    let (Some(before), Some(after)) = (before, after) else {
        return Vec::new();
    };
    let active = |s: &PortEventState| s.state == PortState::Active;
    let events = [
        (active(before) && !active(after), event::PORT_ERR),
        (before.lid != after.lid, event::LID_CHANGE),
        (before.sm != after.sm, event::SM_CHANGE),
        (before.pkeys != after.pkeys, event::PKEY_CHANGE),
        (before.gids != after.gids, event::GID_CHANGE),
        (!active(before) && active(after), event::PORT_ACTIVE),
        (
            before.reregisters != after.reregisters,
            event::CLIENT_REREGISTER,
        ),
    ];
    events
        .into_iter()
        .filter_map(|(happened, kind)| happened.then_some(kind))
        .collect()
}
