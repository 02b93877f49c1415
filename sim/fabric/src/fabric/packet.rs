//! Packets: the link, routing and transport headers of MADs and datagrams that devices read.

use ferrosm_mad::attr::id;
use ferrosm_mad::ids::{Gid, Lid, PKey, Qpn, Sl};
use ferrosm_mad::mad::{Mad, MadIn, MadOut, Method, MgmtClass, Status};

use crate::spec::PortAt;

/// Words of a MAD's packet: LRH 8, BTH 12, DETH 8, MAD 256 and ICRC 4 octets.
pub(super) const MAD_WORDS: u64 = (8 + 12 + 8 + 256 + 4) / 4;
/// Words of a datagram's headers and ICRC; the padded payload is added.
const DATAGRAM_WORDS: u64 = (8 + 12 + 8 + 4) / 4;
/// Words of a GRH.
const GRH_WORDS: u64 = 10;

/// The global route header of a packet (IBA 8.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GlobalRouteHeader {
    /// Source GID.
    pub sgid: Gid,
    /// Destination GID.
    pub dgid: Gid,
    /// Flow label, 20 bits.
    pub flow_label: u32,
    pub traffic_class: u8,
    /// Remaining hop limit.
    pub hop_limit: u8,
}

/// Marks a packet as a datagram of a program's queue pair, which agents and the MAD layer ignore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram {
    /// Q_Key of the DETH.
    pub q_key: u32,
    /// Payload length, at most [`Datagram::MAX_LEN`].
    pub len: u16,
}

impl Datagram {
    /// Maximum payload length: the payload uses the space of a MAD.
    pub const MAX_LEN: u16 = 256;
}

/// A MAD or datagram in flight.
#[derive(Debug, Clone, Copy)]
pub struct Packet {
    /// The sender's port; after forwarding, the port by which the packet arrived.
    pub at: PortAt,
    /// Links passed since it was last sent.
    pub hops: u16,
    /// Destination QP.
    pub dest_qpn: Qpn,
    /// Source QP.
    pub src_qpn: Qpn,
    /// Service level.
    pub sl: Sl,
    /// Destination LID; permissive on directed routes.
    pub dlid: Lid,
    /// Source LID; permissive on directed routes. [`Lid::NONE`] until it is sent.
    pub slid: Lid,
    /// Low bits of the source LID.
    pub path_bits: u8,
    /// P_Key of the BTH; ignored on QP0.
    pub pkey: PKey,
    /// GRH, if present.
    pub grh: Option<GlobalRouteHeader>,
    /// Set for datagrams.
    pub datagram: Option<Datagram>,
    /// The MAD, which directed routing modifies; for a datagram, its payload and zeros.
    pub mad: Mad,
}

/// A MAD or datagram for a program at a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    /// The end port: port 0 of a switch.
    pub at: PortAt,
    /// Destination QP: 0 for SMPs.
    pub qpn: Qpn,
    /// Sender and MAD.
    pub mad: MadIn,
    /// P_Key of the BTH.
    pub pkey: PKey,
    /// GRH, if present.
    pub grh: Option<GlobalRouteHeader>,
    /// Set for datagrams.
    pub datagram: Option<Datagram>,
}

impl Packet {
    /// A MAD sent by a program at a port, with the default P_Key and without GRH.
    #[must_use]
    pub fn new(at: PortAt, out: &MadOut) -> Self {
        Self {
            at,
            hops: 0,
            dest_qpn: out.to.qpn,
            src_qpn: Qpn(u32::from(out.to.qpn.0 != 0)),
            sl: out.to.sl,
            dlid: out.to.lid,
            slid: Lid::NONE,
            path_bits: out.to.path_bits,
            pkey: PKey::DEFAULT_FULL,
            grh: None,
            datagram: None,
            mad: out.mad,
        }
    }

    /// Whether it is multicast: see [`super::Fabric::forward_multicast`].
    #[must_use]
    pub const fn is_multicast(&self) -> bool {
        self.dlid.0 > Lid::UNICAST_MAX.0 && self.dlid.0 != Lid::PERMISSIVE.0
    }

    /// Whether the destination node's agent processes it. Programs receive all other MADs:
    /// responses, traps, SMInfo, and all classes other than subnet management and performance
    /// management.
    #[must_use]
    pub fn is_for_agent(&self) -> bool {
        let class = self.mad.mgmt_class();
        let method = self.mad.method();
        if method.is_response()
            || method == Method::Trap
            || self.is_multicast()
            || self.datagram.is_some()
        {
            return false;
        }
        if class == MgmtClass::Perf {
            return !matches!(method, Method::Send | Method::Report | Method::TrapRepress);
        }
        self.is_smp() && !self.is_for_sm()
    }

    /// Whether it is a Get or Set of SMInfo.
    pub(super) fn is_for_sm(&self) -> bool {
        let method = self.mad.method();
        self.is_smp()
            && self.mad.attr_id() == id::SM_INFO
            && (method == Method::Get || method == Method::Set)
    }

    /// Turns a request into its reply. The attribute data remains.
    pub(crate) fn make_reply(&mut self, status: Status) {
        let directed = self.is_directed();
        let method = self.mad.method();
        let b = self.mad.as_bytes_mut();
        b[3] = if method == Method::Set {
            Method::GetResp.0
        } else {
            method.0 | 0x80
        };
        b[4..6].copy_from_slice(&(status.0 | if directed { 0x8000 } else { 0 }).to_be_bytes());
        std::mem::swap(&mut self.dlid, &mut self.slid);
        std::mem::swap(&mut self.dest_qpn, &mut self.src_qpn);
        if let Some(grh) = &mut self.grh {
            std::mem::swap(&mut grh.sgid, &mut grh.dgid);
            grh.hop_limit = 0xFF;
        }
    }

    /// Whether it uses VL15, which passes links in Initialize and has no P_Key.
    #[inline]
    pub(super) const fn is_vl15(&self) -> bool {
        self.dest_qpn.0 == 0
    }

    /// Whether it is a directed-route or LID-routed SMP.
    #[inline]
    pub(super) fn is_smp(&self) -> bool {
        let class = self.mad.mgmt_class();
        (class == MgmtClass::SubnLid || class == MgmtClass::SubnDirected) && self.datagram.is_none()
    }

    #[inline]
    pub(super) fn is_directed(&self) -> bool {
        self.mad.mgmt_class() == MgmtClass::SubnDirected && self.datagram.is_none()
    }

    /// Length in words, as port counters count it.
    #[inline]
    pub(super) fn words(&self) -> u64 {
        let content = match self.datagram {
            None => MAD_WORDS,
            Some(datagram) => DATAGRAM_WORDS + u64::from(datagram.len.div_ceil(4)),
        };
        content + if self.grh.is_some() { GRH_WORDS } else { 0 }
    }
}
