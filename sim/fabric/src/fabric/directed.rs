//! Directed-route SMPs (IBA 14.2.2).
//!
//! A directed route may have a LID-routed part before it (DrSLID is the sender) and after it
//! (DrDLID is the receiver); the node that joins the two parts must be a switch. The hop pointer of
//! a request is 0 at the sender and HopCount + 1 at the receiver; that of a reply is the reverse. A
//! switch that starts a LID-routed part puts its own LID into the LRH, so that the reply returns to
//! it. Forwarding tables are used in the LID-routed parts only.

use ferrosm_mad::ids::Lid;
use ferrosm_mad::smp::MAX_HOPS;

use super::{DropReason, Fabric, Packet};
use crate::spec::PortAt;

const HOP_POINTER: usize = 6;
const HOP_COUNT: usize = 7;
const DR_SLID: usize = 32;
const DR_DLID: usize = 34;
const INITIAL_PATH: usize = 128;
const RETURN_PATH: usize = 192;
const VL15: u8 = 15;

fn lid_at(packet: &Packet, offset: usize) -> Lid {
    let b = packet.mad.as_bytes();
    Lid(u16::from_be_bytes([b[offset], b[offset + 1]]))
}

impl Fabric {
    /// Forwards a directed-route SMP to its destination, in the direction of its D bit.
    #[inline]
    pub(super) fn forward_directed(
        &mut self,
        packet: &mut Packet,
        on_entry: &mut impl FnMut(PortAt),
    ) -> Result<(), DropReason> {
        let b = packet.mad.as_bytes();
        let returning = b[4] & 0x80 != 0;
        let pointer = usize::from(b[HOP_POINTER]);
        let count = usize::from(b[HOP_COUNT]);
        let start = if returning { count + 1 } else { 0 };
        if returning != packet.mad.method().is_response()
            || count > MAX_HOPS
            || pointer != start
            || packet.grh.is_some()
        {
            return Err(DropReason::Malformed);
        }
        let (from, to, path) = if returning {
            (DR_DLID, DR_SLID, RETURN_PATH)
        } else {
            (DR_SLID, DR_DLID, INITIAL_PATH)
        };
        let from = lid_at(packet, from);
        let to = lid_at(packet, to);
        let by_lid_first = from != Lid::PERMISSIVE;
        // The DLID in the LRH is permissive unless the packet starts with a LID-routed part.
        if by_lid_first == (packet.dlid == Lid::PERMISSIVE) {
            return Err(DropReason::Malformed);
        }
        if by_lid_first {
            if packet.slid == Lid::NONE || packet.slid == Lid::PERMISSIVE {
                packet.slid = self.source_lid(packet);
            }
            self.forward_by_lid(packet, on_entry)?;
            if count > 0 && !self.nodes[packet.at.node].is_switch() {
                return Err(DropReason::NotASwitch);
            }
        }
        packet.slid = Lid::PERMISSIVE;
        packet.dlid = Lid::PERMISSIVE;
        let mut is_first = true;
        for step in 1..=count {
            let hop = if returning { count + 1 - step } else { step };
            let egress = packet.mad.as_bytes()[path + hop];
            let node = &self.nodes[packet.at.node];
            if node.emulator.is_some() && returning && egress == 0 {
                continue;
            }
            if node.emulator.is_some() && !returning && step > 1 {
                // The rest of the route is emulated.
                packet.mad.as_bytes_mut()[RETURN_PATH + hop..=RETURN_PATH + count].fill(0);
                break;
            }
            let is_originator = is_first && !by_lid_first && egress == packet.at.port;
            is_first = false;
            if !is_originator && !node.is_switch() {
                return Err(DropReason::NotASwitch);
            }
            self.cross_link(packet, egress, VL15)?;
            if !returning {
                packet.mad.as_bytes_mut()[RETURN_PATH + hop] = packet.at.port;
            }
            on_entry(packet.at);
        }
        if to != Lid::PERMISSIVE {
            // The replying agent sends the packet itself; any other node on the route must be a
            // switch.
            let is_originator = count == 0 && !by_lid_first;
            if !is_originator && !self.nodes[packet.at.node].is_switch() {
                return Err(DropReason::NotASwitch);
            }
            packet.dlid = to;
            packet.slid = self.source_lid(packet);
            self.forward_by_lid(packet, on_entry)?;
        }
        let end = if returning { 0 } else { count + 1 };
        packet.mad.as_bytes_mut()[HOP_POINTER] = u8::try_from(end).unwrap_or(0);
        Ok(())
    }
}
