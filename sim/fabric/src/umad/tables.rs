//! P_Key and GID lookups in a port's tables, as the adapter does for each packet.

use ferrosm_mad::attr::PortInfo;
use ferrosm_mad::ids::{Gid, PKey, PortGuid};

use crate::fabric::Fabric;
use crate::spec::PortAt;

const PKEYS_PER_BLOCK: usize = 32;
/// Number of blocks of an adapter's table; entries that the port does not have are empty.
const PKEY_BLOCKS: usize = 4;

fn pkey_in(block: &[u8; 64], index: usize) -> PKey {
    PKey(u16::from_be_bytes([block[index * 2], block[index * 2 + 1]]))
}

/// The P_Key at an index; `None` if it cannot be used for sending.
pub(crate) fn pkey_at(fabric: &Fabric, at: PortAt, index: u16) -> Option<PKey> {
    let slot = fabric.slot(at)?;
    let block = usize::from(index) / PKEYS_PER_BLOCK;
    let index = usize::from(index) % PKEYS_PER_BLOCK;
    if block >= PKEY_BLOCKS {
        return None;
    }
    let pkey = pkey_in(&fabric.ports[slot].pkey_block(block), index);
    (pkey.0 & 0x7FFF != 0).then_some(pkey)
}

/// Index of a received packet's P_Key: of an equal entry, otherwise of one of the same partition; 0
/// without a match.
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

/// Size of a port's GID table.
pub(crate) fn gid_count(fabric: &Fabric, at: PortAt) -> usize {
    fabric.slot(at).map_or(0, |slot| {
        usize::from(PortInfo::guid_cap.read(&fabric.ports[slot].info))
    })
}

/// The GID at an index; `None` beyond the table; empty entries have GUID 0.
pub(crate) fn gid_at(fabric: &Fabric, at: PortAt, index: usize) -> Option<Gid> {
    let slot = fabric.slot(at)?;
    if index >= gid_count(fabric, at) {
        return None;
    }
    let port = &fabric.ports[slot];
    let prefix = PortInfo::gid_prefix.read(&port.info);
    Some(Gid::new(prefix, PortGuid(port.guid_at(index))))
}

/// Index of a GID.
pub(crate) fn gid_index(fabric: &Fabric, at: PortAt, gid: Gid) -> Option<u8> {
    (0..gid_count(fabric, at))
        .find(|i| gid_at(fabric, at, *i) == Some(gid))
        .and_then(|i| u8::try_from(i).ok())
}
