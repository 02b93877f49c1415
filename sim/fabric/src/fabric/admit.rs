//! P_Key and GID checks of a port on received packets (IBA 9.6.1, 10.9).
//!
//! Applies to packets on QP1 and above; QP0 has no P_Key. PortInfo counts violations, and traps 257
//! and 258 report them to the SM; trap 259 reports violations at a switch port with partition
//! enforcement.

use ferrosm_mad::attr::PortInfo;
use ferrosm_mad::ids::{Gid, GidPrefix, PKey, PortGuid};

use super::{DropReason, Fabric, ModelPort, Packet};
use crate::spec::PortAt;

/// Whether two P_Keys belong to the same partition.
const fn is_same_partition(a: u16, b: u16) -> bool {
    (a ^ b) & 0x7FFF == 0 && a & 0x7FFF != 0
}

/// Whether two P_Keys belong to the same partition and at least one is that of a full member (IBA
/// 10.9.3).
const fn keys_match(a: u16, b: u16) -> bool {
    is_same_partition(a, b) && (a | b) & 0x8000 != 0
}

impl ModelPort {
    /// Whether an end port accepts a P_Key.
    pub(super) fn accepts_pkey(&self, pkey: PKey) -> bool {
        self.has_pkey(|key| keys_match(key, pkey.0))
    }

    /// Whether a switch port with partition enforcement forwards a P_Key. SMs write the P_Key of a
    /// limited member into the table of the switch port in front of it, through which full members
    /// reach it and it reaches them: the membership bit is for the end port.
    pub(super) fn forwards_pkey(&self, pkey: PKey) -> bool {
        self.has_pkey(|key| is_same_partition(key, pkey.0))
    }

    fn has_pkey(&self, matches: impl Fn(u16) -> bool) -> bool {
        let blocks = self.tables.as_ref().map_or(0, |t| t.pkeys.len()).max(1);
        (0..blocks).any(|block| {
            self.pkey_block(block)
                .chunks_exact(2)
                .any(|key| matches(u16::from_be_bytes([key[0], key[1]])))
        })
    }

    /// Whether a GID is one of the port's: the subnet prefix or the default prefix with an entry of
    /// GUIDInfo.
    fn has_gid(&self, gid: Gid) -> bool {
        let own = PortInfo::gid_prefix.read(&self.info);
        if gid.prefix() != own && gid.prefix() != GidPrefix::DEFAULT {
            return false;
        }
        let guid = gid.guid();
        guid != PortGuid(0)
            && (0..usize::from(PortInfo::guid_cap.read(&self.info)).max(1))
                .any(|i| self.guid_at(i) == guid.0)
    }
}

impl Fabric {
    /// Checks whether an end port accepts a packet; counts and reports a wrong P_Key.
    pub(super) fn check_admission(
        &mut self,
        end_port: PortAt,
        packet: &Packet,
    ) -> Result<(), DropReason> {
        if packet.is_vl15() {
            return Ok(());
        }
        let slot = self.end_slot(end_port);
        let port = &self.ports[slot];
        if let Some(grh) = &packet.grh
            && grh.dgid.0[0] != 0xFF
            && !port.has_gid(grh.dgid)
        {
            return Err(DropReason::WrongGid);
        }
        if port.accepts_pkey(packet.pkey) {
            return Ok(());
        }
        self.raise_p_key_violation(end_port, packet);
        Err(DropReason::PKey)
    }

    /// Counts a packet with a wrong Q_Key and reports it by trap 258.
    ///
    /// The fabric has no queue pairs; the model of the host calls this function.
    pub fn q_key_violation(&mut self, at: PortAt, q_key: u32, packet: &Packet) {
        self.raise_q_key_violation(at, packet, q_key);
    }
}

#[cfg(test)]
mod tests {
    use super::keys_match;

    #[test]
    fn limited_members_do_not_match() {
        assert!(keys_match(0xFFFF, 0x7FFF));
        assert!(keys_match(0x8001, 0x8001));
        assert!(!keys_match(0x7FFF, 0x7FFF));
        assert!(!keys_match(0x8001, 0x8002));
        assert!(
            !keys_match(0x8000, 0x8000),
            "an empty entry matches no P_Key"
        );
    }
}
