//! A port's P_Key and GID tables as seen by programs, and P_Key matching (IBA 10.9.3). Read-only.

use ferrosm_mad::ids::{Gid, PKey};

use crate::fabric::Fabric;
use crate::spec::{NodeIdx, PortAt};
use crate::umad::tables;

/// The P_Key at an index; `None` if it cannot be used for sending.
#[must_use]
pub fn pkey(fabric: &Fabric, at: PortAt, index: u16) -> Option<PKey> {
    tables::pkey_at(fabric, at, index)
}

/// The GID at an index; `None` if it is empty.
#[must_use]
pub fn gid(fabric: &Fabric, at: PortAt, index: u8) -> Option<Gid> {
    tables::gid_at(fabric, at, index.into()).filter(|gid| gid.guid().0 != 0)
}

/// The GID table of a port; empty entries are zero.
#[must_use]
pub fn gids(fabric: &Fabric, at: PortAt) -> Vec<Gid> {
    (0..tables::gid_count(fabric, at))
        .map(|index| u8::try_from(index).ok())
        .map(|index| index.and_then(|index| gid(fabric, at, index)))
        .map(Option::unwrap_or_default)
        .collect()
}

/// Whether two P_Keys belong to the same partition and at least one is that of a full member.
#[must_use]
pub const fn match_pkeys(a: PKey, b: PKey) -> bool {
    (a.0 ^ b.0) & 0x7FFF == 0 && a.0 & 0x7FFF != 0 && (a.0 | b.0) & 0x8000 != 0
}

/// Identity of an adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdapterIdentity {
    pub vendor_id: u32,
    pub device_id: u16,
    /// Hardware revision.
    pub revision: u32,
}

/// The identity of an adapter.
#[must_use]
pub fn adapter(fabric: &Fabric, node: NodeIdx) -> AdapterIdentity {
    let n = &fabric.nodes[node];
    AdapterIdentity {
        vendor_id: n.vendor_id,
        device_id: n.device_id,
        revision: n.caps.revision,
    }
}
