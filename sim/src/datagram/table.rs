//! What a program may ask of a port's P_Key and GID tables, and how P_Keys match (IBA 10.9.3).
//!
//! Reads the devices, changes nothing.

use ferrosm_mad::ids::{Gid, PKey};

use crate::fabric::Fabric;
use crate::spec::{NodeIdx, PortAt};
use crate::umad::tables;

/// The P_Key at a place; `None` where there is none to send with.
#[must_use]
pub fn pkey(fabric: &Fabric, at: PortAt, index: u16) -> Option<PKey> {
    tables::pkey_at(fabric, at, index)
}

/// The GID at a place; `None` if none is set there.
#[must_use]
pub fn gid(fabric: &Fabric, at: PortAt, index: u8) -> Option<Gid> {
    tables::gid_at(fabric, at, index.into()).filter(|gid| gid.guid().0 != 0)
}

/// All places of a port's GID table; those that are not set are zero.
#[must_use]
pub fn gids(fabric: &Fabric, at: PortAt) -> Vec<Gid> {
    (0..tables::gid_count(fabric, at))
        .map(|index| u8::try_from(index).ok())
        .map(|index| index.and_then(|index| gid(fabric, at, index)))
        .map(Option::unwrap_or_default)
        .collect()
}

/// Both are of one partition, and one of them at least is a full member.
#[must_use]
pub const fn match_pkeys(a: PKey, b: PKey) -> bool {
    (a.0 ^ b.0) & 0x7FFF == 0 && a.0 & 0x7FFF != 0 && (a.0 | b.0) & 0x8000 != 0
}

/// What an adapter says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdapterIdentity {
    /// Vendor id.
    pub vendor_id: u32,
    /// Device id.
    pub device_id: u16,
    /// Hardware revision.
    pub revision: u32,
}

/// An adapter.
#[must_use]
pub fn adapter(fabric: &Fabric, node: NodeIdx) -> AdapterIdentity {
    let n = &fabric.nodes[node];
    AdapterIdentity {
        vendor_id: n.vendor_id,
        device_id: n.device_id,
        revision: n.caps.revision,
    }
}
