//! Addresses of general services messages, which RMPP carries at any length.

use crate::ids::{Gid, Lid, Qpn, Sl};

/// The remote address of a message, sufficient for a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Peer {
    /// Its LID.
    pub lid: Lid,
    /// Its queue pair.
    pub qpn: Qpn,
    /// Service level.
    pub sl: Sl,
    /// Low bits of the local LID that was used.
    pub path_bits: u8,
    /// Index of the P_Key that was used.
    pub pkey_index: u16,
    /// The GRH, if any.
    pub grh: Option<Grh>,
}

/// Address fields of a GRH.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Grh {
    /// Remote GID.
    pub gid: Gid,
    /// Index of the local GID.
    pub gid_index: u8,
    /// HopLimit.
    pub hop_limit: u8,
    /// TClass.
    pub traffic_class: u8,
    /// FlowLabel.
    pub flow_label: u32,
}
