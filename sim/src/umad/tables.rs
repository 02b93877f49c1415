//! Looking up P_Keys and GIDs in a port's tables, as the adapter does for each packet.
//!
//! It reads the devices and changes nothing.

use ferrosm_mad::ids::{Gid, GidPrefix, PKey, PortGuid};
use ferrosm_mad::wire::get_bits;

use crate::fabric::Fabric;
use crate::spec::PortAt;

const PKEYS_PER_BLOCK: usize = 32;
/// As many as an adapter has; what a port does not have reads as empty.
const PKEY_BLOCKS: usize = 4;
const GID_PREFIX_BIT: usize = 64;
const GUID_CAP: usize = 50;

fn pkey_in(block: &[u8; 64], index: usize) -> PKey {
    PKey(u16::from_be_bytes([block[index * 2], block[index * 2 + 1]]))
}

/// The P_Key at an index; `None` where there is none to send with.
pub(crate) fn pkey_at(fabric: &Fabric, at: PortAt, index: u16) -> Option<PKey> {
    let slot = fabric.slot(at)?;
    let (block, index) = (
        usize::from(index) / PKEYS_PER_BLOCK,
        usize::from(index) % PKEYS_PER_BLOCK,
    );
    if block >= PKEY_BLOCKS {
        return None;
    }
    let pkey = pkey_in(&fabric.ports[slot].pkey_block(block), index);
    (pkey.0 & 0x7FFF != 0).then_some(pkey)
}

/// Where a received packet's P_Key stands in the table: the same key if it is there, else the same
/// partition; 0 if neither is.
pub(crate) fn pkey_index(fabric: &Fabric, at: PortAt, pkey: PKey) -> u16 {
    let Some(slot) = fabric.slot(at) else {
        return 0;
    };
    let mut partition = None;
    let mut index = 0;
    for block in 0..PKEY_BLOCKS {
        let keys = fabric.ports[slot].pkey_block(block);
        for i in 0..PKEYS_PER_BLOCK {
            let key = pkey_in(&keys, i);
            if key == pkey {
                return index;
            }
            if key.0 & 0x7FFF == pkey.0 & 0x7FFF {
                partition = partition.or(Some(index));
            }
            index += 1;
        }
    }
    partition.unwrap_or(0)
}

/// Entries of a port's GID table.
pub(crate) fn gid_count(fabric: &Fabric, at: PortAt) -> usize {
    fabric
        .slot(at)
        .map_or(0, |slot| usize::from(fabric.ports[slot].info[GUID_CAP]))
}

/// The GID at an index; `None` beyond the table, the unset ones have a GUID of 0.
pub(crate) fn gid_at(fabric: &Fabric, at: PortAt, index: usize) -> Option<Gid> {
    let slot = fabric.slot(at)?;
    if index >= gid_count(fabric, at) {
        return None;
    }
    let port = &fabric.ports[slot];
    let prefix = GidPrefix(get_bits(&port.info, GID_PREFIX_BIT, 64));
    Some(Gid::new(prefix, PortGuid(port.guid_at(index))))
}

/// Where a GID stands in the table.
pub(crate) fn gid_index(fabric: &Fabric, at: PortAt, gid: Gid) -> Option<u8> {
    (0..gid_count(fabric, at))
        .find(|i| gid_at(fabric, at, *i) == Some(gid))
        .and_then(|i| u8::try_from(i).ok())
}
