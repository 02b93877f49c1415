//! Whether a port takes a packet that reached it: P_Keys and GIDs (IBA 9.6.1, 10.9).
//!
//! Checked are packets on QP1 and above; QP0 has no P_Key. A violation counts in PortInfo and is
//! told to the SM (traps 257, 258; 259 by a switch port that enforces partitions).

use ferrosm_mad::ids::{Gid, GidPrefix, PKey, PortGuid};

use super::{DropReason, Fabric, Packet, Port};
use crate::spec::PortAt;

/// Both are of one partition, and one of them at least is a full member.
const fn keys_match(a: u16, b: u16) -> bool {
    (a ^ b) & 0x7FFF == 0 && a & 0x7FFF != 0 && (a | b) & 0x8000 != 0
}

impl Port {
    /// Whether a packet with this P_Key matches the port's table.
    pub(super) fn admits(&self, pkey: PKey) -> bool {
        let blocks = self.tables.as_ref().map_or(0, |t| t.pkeys.len()).max(1);
        (0..blocks).any(|block| {
            self.pkey_block(block)
                .chunks_exact(2)
                .any(|key| keys_match(u16::from_be_bytes([key[0], key[1]]), pkey.0))
        })
    }

    /// Whether a GID is one of the port's: prefix or default prefix with an entry of GUIDInfo.
    fn has_gid(&self, gid: Gid) -> bool {
        let own = GidPrefix(ferrosm_mad::wire::get_bits(&self.info, 64, 64));
        if gid.prefix() != own && gid.prefix() != GidPrefix::DEFAULT {
            return false;
        }
        let guid = gid.guid();
        guid != PortGuid(0)
            && (0..usize::from(self.info[50]).max(1)).any(|i| self.guid_at(i) == guid.0)
    }
}

impl Fabric {
    /// Whether the end port of a packet takes it; a wrong P_Key counts and is told.
    pub(super) fn admit(&mut self, end: PortAt, packet: &Packet) -> Result<(), DropReason> {
        if packet.is_vl15() {
            return Ok(());
        }
        let slot = self.end_slot(end);
        let port = &self.ports[slot];
        if let Some(grh) = &packet.grh
            && grh.dgid.0[0] != 0xFF
            && !port.has_gid(grh.dgid)
        {
            return Err(DropReason::WrongGid);
        }
        if port.admits(packet.pkey) {
            return Ok(());
        }
        self.raise_p_key_violation(end, packet);
        Err(DropReason::PKey)
    }

    /// A program's queue pair got a packet with a wrong Q_Key: counted, and told with trap 258.
    ///
    /// The fabric does not know queue pairs; whoever plays them (the host side) calls this.
    pub fn q_key_violation(&mut self, at: PortAt, q_key: u32, packet: &Packet) {
        self.raise_q_key_violation(at, packet, q_key);
    }
}

#[cfg(test)]
mod tests {
    use super::keys_match;

    #[test]
    fn two_limited_members_do_not_talk() {
        assert!(keys_match(0xFFFF, 0x7FFF));
        assert!(keys_match(0x8001, 0x8001));
        assert!(!keys_match(0x7FFF, 0x7FFF));
        assert!(!keys_match(0x8001, 0x8002));
        assert!(!keys_match(0x8000, 0x8000), "an empty entry admits nobody");
    }
}
