//! The packet that traps 256 to 259 report: it had a wrong M_Key, P_Key or Q_Key.

use core::fmt;

use ferrosm_mad::attr::{
    KeyViolationDetails, MKeyViolationDetails, Notice, SwitchPKeyDetails, TrapNumber, id,
};
use ferrosm_mad::ids::{AttrId, Lid, PKey, Qpn};

/// A packet that a port dropped because of its key. `Display` names its sender if the trap does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyViolation {
    /// An SMP with another M_Key. Its sender is not reported: devices put the LID of the requested
    /// port into LIDADDR, and the return path of a directed route is not resolved.
    MKey {
        /// Its attribute.
        attr: AttrId,
        /// Hops of its directed route; `None` if it was sent by LID.
        hops: Option<u8>,
    },
    /// A packet with a P_Key that is not in the table of the port.
    PKey {
        pkey: PKey,
        /// Its sender and destination.
        addresses: PacketAddresses,
    },
    /// A datagram with another Q_Key than that of its queue pair.
    QKey {
        /// Its sender and destination.
        addresses: PacketAddresses,
    },
}

/// Sender and destination of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketAddresses {
    /// LID and queue pair of the sender.
    pub from: (Lid, Qpn),
    /// LID and queue pair of the destination.
    pub to: (Lid, Qpn),
}

impl KeyViolation {
    /// The packet that a trap reports; `None` for other traps.
    pub(crate) fn of_trap(notice: &Notice) -> Option<Self> {
        let details = &notice.data_details;
        Some(match notice.trap_number {
            TrapNumber::BadMKey => {
                let d = MKeyViolationDetails::decode(details);
                Self::MKey {
                    attr: d.attr_id,
                    hops: d.dr_notice.then_some(d.dr_hop_count),
                }
            }
            TrapNumber::BadPKey | TrapNumber::BadQKey => {
                let d = KeyViolationDetails::decode(details);
                let addresses = PacketAddresses {
                    from: (d.lid1, d.qp1),
                    to: (d.lid2, d.qp2),
                };
                if notice.trap_number == TrapNumber::BadQKey {
                    Self::QKey { addresses }
                } else {
                    let [.., high, low] = d.key.to_be_bytes();
                    let pkey = PKey(u16::from_be_bytes([high, low]));
                    Self::PKey { pkey, addresses }
                }
            }
            TrapNumber::SwitchBadPKey => {
                let d = SwitchPKeyDetails::decode(details);
                let addresses = PacketAddresses {
                    from: (d.lid1, d.qp1),
                    to: (d.lid2, d.qp2),
                };
                Self::PKey {
                    pkey: d.pkey,
                    addresses,
                }
            }
            _ => return None,
        })
    }
}

impl fmt::Display for KeyViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MKey { attr, hops } => {
                match id::name(*attr) {
                    Some(name) => f.write_str(name)?,
                    None => write!(f, "attribute {attr}")?,
                }
                hops.map_or(Ok(()), |hops| {
                    write!(f, " by a directed route of {hops} hops")
                })
            }
            Self::PKey { pkey, addresses } => write!(f, "P_Key {pkey}, {addresses}"),
            Self::QKey { addresses } => addresses.fmt(f),
        }
    }
}

impl fmt::Display for PacketAddresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((from, from_qp), (to, to_qp)) = (self.from, self.to);
        write!(f, "from LID {from} QP {from_qp} to LID {to} QP {to_qp}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trap(number: TrapNumber, encode: impl FnOnce(&mut [u8; 54])) -> Option<String> {
        let mut data_details = [0; 54];
        encode(&mut data_details);
        let notice = Notice {
            trap_number: number,
            data_details,
            ..Notice::default()
        };
        KeyViolation::of_trap(&notice).map(|violation| violation.to_string())
    }

    #[test]
    fn packet_with_a_wrong_key_is_described() {
        let details = KeyViolationDetails {
            lid1: Lid(5),
            lid2: Lid(7),
            key: 0x8001,
            qp1: Qpn(18),
            qp2: Qpn(20),
            ..KeyViolationDetails::default()
        };
        assert_eq!(
            trap(TrapNumber::BadPKey, |bytes| details.encode_onto(bytes)).as_deref(),
            Some("P_Key 0x8001, from LID 5 QP 18 to LID 7 QP 20")
        );
        assert_eq!(
            trap(TrapNumber::BadQKey, |bytes| details.encode_onto(bytes)).as_deref(),
            Some("from LID 5 QP 18 to LID 7 QP 20")
        );
        let details = MKeyViolationDetails {
            attr_id: id::PORT_INFO,
            dr_notice: true,
            dr_hop_count: 3,
            ..MKeyViolationDetails::default()
        };
        assert_eq!(
            trap(TrapNumber::BadMKey, |bytes| details.encode_onto(bytes)).as_deref(),
            Some("PortInfo by a directed route of 3 hops")
        );
        assert_eq!(trap(TrapNumber::LinkStateChange, |_| {}), None);
    }
}
