//! A packet: what the link, routing and transport headers of a MAD say, as far as a device looks.

use ferrosm_mad::attr::id;
use ferrosm_mad::ids::{Gid, Lid, PKey, Qpn, Sl};
use ferrosm_mad::mad::{Mad, MadIn, MadOut, Method, MgmtClass, Status};

use crate::spec::PortAt;

/// Words of a MAD's packet: LRH 8, BTH 12, DETH 8, MAD 256 and ICRC 4 octets.
pub(super) const MAD_WORDS: u64 = (8 + 12 + 8 + 256 + 4) / 4;
/// A datagram's headers and its checksum: what is in it and its padding come on top.
const DATAGRAM_WORDS: u64 = (8 + 12 + 8 + 4) / 4;
/// Words of a GRH.
const GRH_WORDS: u64 = 10;

/// The global route header of a packet (IBA 8.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Grh {
    /// Source GID.
    pub sgid: Gid,
    /// Destination GID.
    pub dgid: Gid,
    /// Flow label, 20 bits.
    pub flow_label: u32,
    /// Traffic class.
    pub traffic_class: u8,
    /// Routers that it may still pass.
    pub hop_limit: u8,
}

/// What makes a packet a datagram of a program's own queue pair: no agent, no MAD layer looks into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram {
    /// Q_Key of the datagram header.
    pub q_key: u32,
    /// Bytes of the content that are sent, at most [`Datagram::MAX_LEN`].
    pub len: u16,
}

impl Datagram {
    /// Most bytes of a datagram: a packet carries its content where a MAD is.
    pub const MAX_LEN: u16 = 256;
}

/// A MAD on its way, or a datagram.
#[derive(Debug, Clone, Copy)]
pub struct Packet {
    /// The sender's port; once it has travelled, the port by which it came in.
    pub at: PortAt,
    /// Links passed in the last journey.
    pub hops: u16,
    /// The receiver's queue pair.
    pub dest_qpn: Qpn,
    /// The sender's queue pair.
    pub src_qpn: Qpn,
    /// Service level.
    pub sl: Sl,
    /// Destination LID; permissive on directed routes.
    pub dlid: Lid,
    /// Source LID; permissive on directed routes. [`Lid::NONE`] until it is sent.
    pub slid: Lid,
    /// Low bits of the sender's own LID.
    pub path_bits: u8,
    /// P_Key of the base transport header; nobody looks at it on QP0.
    pub pkey: PKey,
    /// Global route header, where there is one.
    pub grh: Option<Grh>,
    /// Set where the content is no MAD.
    pub datagram: Option<Datagram>,
    /// The content; directed routes change in it as it travels. Of a datagram, its bytes and then zeros.
    pub mad: Mad,
}

/// A MAD for a program at a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    /// The end port: port 0 on a switch.
    pub at: PortAt,
    /// The queue pair that it is for: 0 for SMPs.
    pub qpn: Qpn,
    /// Sender and content.
    pub mad: MadIn,
    /// P_Key of the packet.
    pub pkey: PKey,
    /// Its global route header, where it had one.
    pub grh: Option<Grh>,
    /// Set where the content is no MAD.
    pub datagram: Option<Datagram>,
}

impl Packet {
    /// A MAD that a program at a port sends: default P_Key, no GRH.
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

    /// Whether it goes to a group: see [`super::Fabric::spread`].
    #[must_use]
    pub const fn is_multicast(&self) -> bool {
        self.dlid.0 > Lid::UNICAST_MAX.0 && self.dlid.0 != Lid::PERMISSIVE.0
    }

    /// Whether the management agent of the node that it reaches takes it; a program at the port
    /// gets the rest: responses, traps, what is for an SM (SMInfo), and every class but subnet and
    /// performance management.
    #[must_use]
    pub fn is_for_agent(&self) -> bool {
        let (class, method) = (self.mad.mgmt_class(), self.mad.method());
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

    /// A question to the SM behind the port: Get or Set of SMInfo.
    pub(super) fn is_for_sm(&self) -> bool {
        let method = self.mad.method();
        self.is_smp()
            && self.mad.attr_id() == id::SM_INFO
            && (method == Method::Get || method == Method::Set)
    }

    /// Turns a request into its answer, ready to travel back. The data stays as it is.
    pub(crate) fn answer(&mut self, status: Status) {
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

    /// Whether it travels on VL15, which passes links in any state and has no P_Key.
    #[inline]
    pub(super) const fn is_vl15(&self) -> bool {
        self.dest_qpn.0 == 0
    }

    /// Of subnet management, by directed route or by LID.
    #[inline]
    pub(super) fn is_smp(&self) -> bool {
        let class = self.mad.mgmt_class();
        (class == MgmtClass::SubnLid || class == MgmtClass::SubnDirected) && self.datagram.is_none()
    }

    #[inline]
    pub(super) fn is_directed(&self) -> bool {
        self.mad.mgmt_class() == MgmtClass::SubnDirected && self.datagram.is_none()
    }

    /// Length as the port counters count it.
    #[inline]
    pub(super) fn words(&self) -> u64 {
        let content = match self.datagram {
            None => MAD_WORDS,
            Some(datagram) => DATAGRAM_WORDS + u64::from(datagram.len.div_ceil(4)),
        };
        content + if self.grh.is_some() { GRH_WORDS } else { 0 }
    }
}
