//! The user ABI of umad devices: header layouts, ioctl numbers and structures (Linux
//! `ib_user_mad.h`, ABI version 5).
//!
//! Encoding and decoding only. Integers are in host order unless stated otherwise.

use ferrosm_mad::ids::{Gid, Lid, Qpn, Sl};
use ferrosm_mad::wire::part;

/// A Linux error number (positive).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("errno {0}")]
pub struct Errno(pub i32);

impl Errno {
    /// No such file.
    pub const ENOENT: Self = Self(2);
    /// I/O error; no such agent.
    pub const EIO: Self = Self(5);
    /// No such device or address.
    pub const ENXIO: Self = Self(6);
    /// Bad file descriptor.
    pub const EBADF: Self = Self(9);
    /// Nothing available now, or in use.
    pub const EAGAIN: Self = Self(11);
    /// Out of memory, or too many agents.
    pub const ENOMEM: Self = Self(12);
    /// Argument structure too short.
    pub const EFAULT: Self = Self(14);
    /// Invalid argument.
    pub const EINVAL: Self = Self(22);
    /// No such ioctl.
    pub const ENOTTY: Self = Self(25);
    /// Buffer too small for the whole message.
    pub const ENOSPC: Self = Self(28);
    /// No such GID table entry.
    pub const ENODATA: Self = Self(61);
    /// Timed out.
    pub const ETIMEDOUT: Self = Self(110);
    /// The device lacks the queue pair.
    pub const EPROTONOSUPPORT: Self = Self(93);
}

/// ABI version, as in `abi_version`.
pub const ABI_VERSION: u32 = 5;
/// `IB_USER_MAD_REGISTER_AGENT`.
pub const REGISTER_AGENT: u32 = 0xC01C_1B01;
/// `IB_USER_MAD_UNREGISTER_AGENT`.
pub const UNREGISTER_AGENT: u32 = 0x4004_1B02;
/// `IB_USER_MAD_ENABLE_PKEY`.
pub const ENABLE_PKEY: u32 = 0x1B03;
/// `IB_USER_MAD_REGISTER_AGENT2`.
pub const REGISTER_AGENT2: u32 = 0xC028_1B04;

/// Argument length of an ioctl; `None` if it is unknown.
#[must_use]
pub const fn ioctl_arg_len(request: u32) -> Option<usize> {
    match request {
        REGISTER_AGENT => Some(28),
        UNREGISTER_AGENT => Some(4),
        ENABLE_PKEY => Some(0),
        REGISTER_AGENT2 => Some(40),
        _ => None,
    }
}

/// The program implements RMPP (`IB_USER_MAD_USER_RMPP`).
pub const FLAG_USER_RMPP: u32 = 1;
/// Flags that REGISTER_AGENT2 supports.
pub const FLAGS_SUPPORTED: u32 = FLAG_USER_RMPP;

/// Length of the header without P_Key index.
const OLD_HEADER_LEN: usize = 56;
/// Length of the header with P_Key index.
pub const HEADER_MAX: usize = 64;

/// Header layout of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HeaderLayout {
    /// 56 bytes, without P_Key index.
    #[default]
    Old,
    /// 64 bytes, with P_Key index.
    New,
}

impl HeaderLayout {
    /// Length of the header.
    #[must_use]
    pub const fn header_len(self) -> usize {
        match self {
            Self::Old => OLD_HEADER_LEN,
            Self::New => HEADER_MAX,
        }
    }
}

/// The header of every MAD (`struct ib_user_mad_hdr`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UserHeader {
    /// Agent ID.
    pub id: u32,
    /// 0, or the positive error number of a failed send.
    pub status: u32,
    /// Timeout per attempt in ms; 0 expects no response.
    pub timeout_ms: u32,
    pub retries: u32,
    /// Length of header and MAD, for received messages.
    pub length: u32,
    /// QPN of the peer (big-endian).
    pub qpn: Qpn,
    /// Q_Key (big-endian); ignored by the kernel.
    pub qkey: u32,
    /// LID of the peer (big-endian).
    pub lid: Lid,
    /// Service level.
    pub sl: Sl,
    /// Low bits of the own LID.
    pub path_bits: u8,
    /// Whether the GRH fields are valid.
    pub grh_present: bool,
    /// Index of the own GID.
    pub gid_index: u8,
    pub hop_limit: u8,
    pub traffic_class: u8,
    /// GID of the peer.
    pub gid: Gid,
    /// Flow label (big-endian).
    pub flow_label: u32,
    /// P_Key index; 0 in the old layout.
    pub pkey_index: u16,
}

/// The 32 bits at byte `AT`, in host order.
const fn ne_u32<const AT: usize, const N: usize>(bytes: &[u8; N]) -> u32 {
    u32::from_ne_bytes(*part::<AT, 4, N>(bytes))
}

impl UserHeader {
    /// Splits a message into header and MAD; `None` if it is too short.
    #[must_use]
    pub fn split_from(message: &[u8], layout: HeaderLayout) -> Option<(Self, &[u8])> {
        match layout {
            HeaderLayout::Old => {
                let (head, body) = message.split_first_chunk::<OLD_HEADER_LEN>()?;
                Some((Self::decode_old(head), body))
            }
            HeaderLayout::New => {
                let (head, body) = message.split_first_chunk::<HEADER_MAX>()?;
                let header = Self {
                    pkey_index: u16::from_ne_bytes(*part::<56, 2, _>(head)),
                    ..Self::decode_old(part::<0, OLD_HEADER_LEN, _>(head))
                };
                Some((header, body))
            }
        }
    }

    const fn decode_old(bytes: &[u8; OLD_HEADER_LEN]) -> Self {
        Self {
            id: ne_u32::<0, _>(bytes),
            status: ne_u32::<4, _>(bytes),
            timeout_ms: ne_u32::<8, _>(bytes),
            retries: ne_u32::<12, _>(bytes),
            length: ne_u32::<16, _>(bytes),
            qpn: Qpn(u32::from_be(ne_u32::<20, _>(bytes))),
            qkey: u32::from_be(ne_u32::<24, _>(bytes)),
            lid: Lid(u16::from_be_bytes(*part::<28, 2, _>(bytes))),
            sl: Sl(bytes[30]),
            path_bits: bytes[31],
            grh_present: bytes[32] != 0,
            gid_index: bytes[33],
            hop_limit: bytes[34],
            traffic_class: bytes[35],
            gid: Gid(*part::<36, 16, _>(bytes)),
            flow_label: u32::from_be(ne_u32::<52, _>(bytes)),
            pkey_index: 0,
        }
    }

    /// Encodes the header; the old layout is its first 56 bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; HEADER_MAX] {
        let mut b = [0; HEADER_MAX];
        b[0..4].copy_from_slice(&self.id.to_ne_bytes());
        b[4..8].copy_from_slice(&self.status.to_ne_bytes());
        b[8..12].copy_from_slice(&self.timeout_ms.to_ne_bytes());
        b[12..16].copy_from_slice(&self.retries.to_ne_bytes());
        b[16..20].copy_from_slice(&self.length.to_ne_bytes());
        b[20..24].copy_from_slice(&self.qpn.0.to_be_bytes());
        b[24..28].copy_from_slice(&self.qkey.to_be_bytes());
        b[28..30].copy_from_slice(&self.lid.0.to_be_bytes());
        b[30] = self.sl.0;
        b[31] = self.path_bits;
        b[32] = u8::from(self.grh_present);
        b[33] = self.gid_index;
        b[34] = self.hop_limit;
        b[35] = self.traffic_class;
        b[36..52].copy_from_slice(&self.gid.0);
        b[52..56].copy_from_slice(&self.flow_label.to_be_bytes());
        b[56..58].copy_from_slice(&self.pkey_index.to_ne_bytes());
        b
    }
}

/// An agent registration; the result of both ioctls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AgentRegistration {
    /// QPN, 0 or 1.
    pub qpn: u32,
    /// Management class; 0 for an agent that only sends.
    pub mgmt_class: u8,
    pub class_version: u8,
    /// See [`FLAG_USER_RMPP`].
    pub flags: u32,
    /// Bit `i`: receive unsolicited MADs with method `i`.
    pub methods: u128,
    /// OUI, for vendor classes 0x30 to 0x4F.
    pub oui: [u8; 3],
    /// The `oui` field exceeds 24 bits.
    pub oui_too_long: bool,
    /// RMPP version, 0 or 1.
    pub rmpp_version: u8,
}

/// A method mask of two 64-bit or four 32-bit words, least significant first; equal on
/// little-endian hosts.
fn method_mask(bytes: &[u8; 16]) -> u128 {
    let low = u64::from_ne_bytes(*part::<0, 8, _>(bytes));
    let high = u64::from_ne_bytes(*part::<8, 8, _>(bytes));
    u128::from(low) | u128::from(high) << 64
}

impl AgentRegistration {
    /// `struct ib_user_mad_reg_req`, 28 bytes.
    #[must_use]
    pub fn decode(arg: &[u8; 28]) -> Self {
        Self {
            qpn: u32::from(arg[20]),
            mgmt_class: arg[21],
            class_version: arg[22],
            flags: 0,
            methods: method_mask(part::<4, 16, _>(arg)),
            oui: [arg[23], arg[24], arg[25]],
            oui_too_long: false,
            rmpp_version: arg[26],
        }
    }

    /// `struct ib_user_mad_reg_req2`, 40 bytes.
    #[must_use]
    pub fn decode2(arg: &[u8; 40]) -> Self {
        let [high, oui @ ..] = ne_u32::<32, _>(arg).to_be_bytes();
        Self {
            qpn: ne_u32::<4, _>(arg),
            mgmt_class: arg[8],
            class_version: arg[9],
            flags: ne_u32::<12, _>(arg),
            methods: method_mask(part::<16, 16, _>(arg)),
            oui,
            oui_too_long: high != 0,
            rmpp_version: arg[36],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_round_trip_at_the_offsets_of_the_abi() {
        let header = UserHeader {
            id: 3,
            status: 110,
            timeout_ms: 1000,
            retries: 2,
            length: 320,
            qpn: Qpn(1),
            qkey: 0x8001_0000,
            lid: Lid(0x1234),
            sl: Sl(5),
            path_bits: 2,
            grh_present: true,
            gid_index: 1,
            hop_limit: 64,
            traffic_class: 7,
            gid: Gid([9; 16]),
            flow_label: 0xABCDE,
            pkey_index: 4,
        };
        let bytes = header.encode();
        assert_eq!(
            UserHeader::split_from(&bytes, HeaderLayout::New),
            Some((header, &[][..]))
        );
        assert_eq!(
            bytes[20..32],
            [0, 0, 0, 1, 0x80, 1, 0, 0, 0x12, 0x34, 5, 2],
            "big-endian fields"
        );
        assert_eq!(bytes[4..8], 110u32.to_ne_bytes(), "host order");
        let (old, remaining) = UserHeader::split_from(&bytes, HeaderLayout::Old).unwrap();
        assert_eq!(remaining, [4u16.to_ne_bytes().as_slice(), &[0; 6]].concat());
        assert_eq!(old.pkey_index, 0, "the old layout has no P_Key index");
    }

    #[test]
    fn both_registration_structures_decode_equally() {
        let mut old = [0u8; 28];
        old[4..20].copy_from_slice(&(1u128 << 5 | 1 << 0x14 | 1 << 100).to_le_bytes());
        old[20..27].copy_from_slice(&[1, 0x31, 1, 0x00, 0x14, 0x05, 1]);
        let mut new = [0u8; 40];
        new[4..8].copy_from_slice(&1u32.to_ne_bytes());
        new[8..10].copy_from_slice(&[0x31, 1]);
        new[16..32].copy_from_slice(&old[4..20]);
        new[32..36].copy_from_slice(&0x00_1405_u32.to_ne_bytes());
        new[36] = 1;
        assert_eq!(
            AgentRegistration::decode(&old),
            AgentRegistration::decode2(&new)
        );
        assert_eq!(
            AgentRegistration::decode(&old).methods,
            1 << 5 | 1 << 0x14 | 1 << 100
        );
    }
}
