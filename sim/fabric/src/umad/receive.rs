//! Receiving: selection of the agent, and matching of responses with requests (`ib_mad_recv_done`,
//! `ib_mad_complete_recv`, `ib_find_send_mad`).

use ferrosm_mad::ids::{Gid, Lid, PKey, Qpn};
use ferrosm_mad::mad::{Address, MAD_LEN, Mad, Method, MgmtClass, Status};

use super::abi::UserHeader;
use super::class;
use super::queue::Body;
use super::register::AgentIdx;
use super::{Outgoing, UmadLayer, tables};
use crate::fabric::{Delivery, Fabric, GlobalRouteHeader, Packet};
use crate::index::index_to_u32;
use crate::spec::PortAt;

/// Interface ID of the well-known SA GID, which is in no port's table.
const SA_WELL_KNOWN_GUID: u64 = 0x0200_0000_0000_0002;
/// Hop limit of replies.
const ANY_HOPS: u8 = 0xFF;

/// Source and destination of a received MAD.
#[derive(Debug, Clone, Copy)]
pub(super) struct MadOrigin {
    /// The receiving port.
    pub(super) at: PortAt,
    /// The receiving QPN.
    pub(super) qpn: Qpn,
    /// The sender.
    pub(super) from: Address,
    pub(super) pkey: PKey,
    pub(super) grh: Option<GlobalRouteHeader>,
}

impl MadOrigin {
    const fn of(delivery: &Delivery) -> Self {
        Self {
            at: delivery.at,
            qpn: delivery.qpn,
            from: delivery.mad.from,
            pkey: delivery.pkey,
            grh: delivery.grh,
        }
    }

    fn pkey_index(&self, fabric: &Fabric) -> u16 {
        if self.qpn.0 == 0 {
            0
        } else {
            tables::pkey_index(fabric, self.at, self.pkey)
        }
    }

    /// Index of the own GID in a GRH; `None` if it is not a GID of the port.
    fn own_gid_index(&self, fabric: &Fabric, dgid: Gid) -> Option<u8> {
        if dgid.guid().0 == SA_WELL_KNOWN_GUID {
            return Some(0);
        }
        tables::gid_index(fabric, self.at, dgid)
    }
}

impl UmadLayer {
    pub(super) fn receive(&mut self, fabric: &Fabric, delivery: &Delivery) {
        let mad = delivery.mad.mad.as_bytes();
        if delivery.qpn.0 > 1 || !class::is_valid(mad, delivery.qpn.0) {
            return;
        }
        let at = delivery.at;
        let host = self.hosts.get(&at.node);
        let agent = host.and_then(|host| host.find_agent(at.port, mad));
        let origin = MadOrigin::of(delivery);
        match agent {
            Some(agent) => self.receive_for(fabric, agent, &origin, &delivery.mad.mad),
            None => self.reply_unmatched(fabric, &origin, &delivery.mad.mad),
        }
    }

    fn receive_for(&mut self, fabric: &Fabric, index: AgentIdx, origin: &MadOrigin, mad: &Mad) {
        let Some(agent) = self.agents.get(index) else {
            return;
        };
        let file = agent.file;
        let bytes = mad.as_bytes();
        let kernel_rmpp = agent.has_kernel_rmpp();
        let (origin, body) = if kernel_rmpp && class::rmpp_is_active(bytes) {
            match self.receive_rmpp(fabric, index, origin, mad) {
                Some(message) => message,
                None => return,
            }
        } else {
            (*origin, Body::Mad(*mad, MAD_LEN))
        };
        if !class::is_response(bytes) {
            self.queue_for(fabric, index, &origin, body);
            return;
        }
        match self.find_send(fabric, index, &origin, bytes) {
            Some(send) => {
                self.queue_for(fabric, index, &origin, body);
                self.finish_send(send);
            }
            None => {
                let is_user_rmpp = !kernel_rmpp
                    && class::has_rmpp(MgmtClass(bytes[1]))
                    && class::rmpp_is_active(bytes);
                if is_user_rmpp {
                    self.queue_for(fabric, index, &origin, body);
                } else if let Some(open) = self.files.get_mut(file.0) {
                    open.unmatched += 1;
                }
            }
        }
    }

    /// The send of an agent that a MAD responds to or acknowledges.
    pub(super) fn find_send(
        &self,
        fabric: &Fabric,
        index: AgentIdx,
        origin: &MadOrigin,
        mad: &[u8; MAD_LEN],
    ) -> Option<usize> {
        let agent = self.agents.get(index)?;
        let (_, lmc) = fabric.lid(agent.at);
        self.sends.find(index, agent.file, origin, mad, lmc)
    }

    fn queue_for(&mut self, fabric: &Fabric, index: AgentIdx, origin: &MadOrigin, body: Body) {
        let Some(agent) = self.agents.get(index) else {
            return;
        };
        let file = agent.file;
        let Some(open) = self.files.get_mut(file.0) else {
            return;
        };
        let length = open.layout.header_len() + body.bytes().len();
        let mut header = UserHeader {
            id: agent.id,
            length: index_to_u32(length),
            qpn: origin.from.qpn,
            lid: origin.from.lid,
            sl: origin.from.sl,
            path_bits: origin.from.path_bits,
            pkey_index: origin.pkey_index(fabric),
            ..UserHeader::default()
        };
        if let Some(grh) = &origin.grh {
            let Some(gid_index) = origin.own_gid_index(fabric, grh.dgid) else {
                return;
            };
            header.grh_present = true;
            header.gid_index = gid_index;
            header.hop_limit = ANY_HOPS;
            header.traffic_class = grh.traffic_class;
            header.gid = grh.sgid;
            header.flow_label = grh.flow_label;
        }
        let pushed = open.queue.push(header.encode(), body);
        self.mark_readable(file, pushed);
    }

    /// Replies to a Get or Set without an agent, as the kernel does.
    fn reply_unmatched(&mut self, fabric: &Fabric, origin: &MadOrigin, mad: &Mad) {
        if mad.method() != Method::Get && mad.method() != Method::Set {
            return;
        }
        let mut response = *mad;
        let is_directed = mad.mgmt_class() == MgmtClass::SubnDirected;
        let status = Status::BAD_METHOD_ATTR.0 | if is_directed { 0x8000 } else { 0 };
        let bytes = response.as_bytes_mut();
        bytes[3] = Method::GetResp.0;
        bytes[4..6].copy_from_slice(&status.to_be_bytes());
        self.reply(fabric, origin, response);
    }

    /// Sends a MAD to the sender of a received MAD.
    pub(super) fn reply(&mut self, fabric: &Fabric, origin: &MadOrigin, mad: Mad) {
        let grh = match &origin.grh {
            None => None,
            Some(grh) => {
                let index = origin.own_gid_index(fabric, grh.dgid);
                let sgid = index.and_then(|i| tables::gid_at(fabric, origin.at, usize::from(i)));
                let Some(sgid) = sgid else {
                    return;
                };
                Some(GlobalRouteHeader {
                    sgid,
                    dgid: grh.sgid,
                    flow_label: grh.flow_label,
                    traffic_class: grh.traffic_class,
                    hop_limit: ANY_HOPS,
                })
            }
        };
        let pkey = if origin.qpn.0 == 0 {
            Some(PKey::DEFAULT_FULL)
        } else {
            tables::pkey_at(fabric, origin.at, origin.pkey_index(fabric))
        };
        let Some(pkey) = pkey else {
            return;
        };
        self.outbox.push_back(Outgoing::Packet(Packet {
            at: origin.at,
            hops: 0,
            dest_qpn: origin.from.qpn,
            src_qpn: origin.qpn,
            sl: origin.from.sl,
            dlid: origin.from.lid,
            slid: Lid::NONE,
            path_bits: origin.from.path_bits,
            pkey,
            grh,
            datagram: None,
            mad,
        }));
    }
}
