//! Directed routes: every step written in the packet (IBA 14.2.2).
//!
//! A route may have a part that goes by LID before it (DrSLID is the sender) and one after it
//! (DrDLID is the receiver); where such a part meets the directed one there must be a switch. The
//! hop pointer is 0 in a request as it is sent and HopCount + 1 as it is taken; in the answer the
//! other way round. A switch that begins a part by LID puts its own LID into the link header, so
//! the answer finds back to it. Nothing here is decided by a forwarding table but those two parts.

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
    /// The whole way of a directed-route SMP, in the direction that its D bit says.
    #[inline]
    pub(super) fn directed(
        &mut self,
        packet: &mut Packet,
        seen: &mut impl FnMut(PortAt),
    ) -> Result<(), DropReason> {
        let b = packet.mad.as_bytes();
        let returning = b[4] & 0x80 != 0;
        let (pointer, count) = (usize::from(b[HOP_POINTER]), usize::from(b[HOP_COUNT]));
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
        let (from, to) = (lid_at(packet, from), lid_at(packet, to));
        let by_lid_first = from != Lid::PERMISSIVE;
        // Only a packet that begins with a part by LID has another LID in its link header.
        if by_lid_first == (packet.dlid == Lid::PERMISSIVE) {
            return Err(DropReason::Malformed);
        }
        if by_lid_first {
            if packet.slid == Lid::NONE || packet.slid == Lid::PERMISSIVE {
                packet.slid = self.source_lid(packet);
            }
            self.by_lid(packet, seen)?;
            if count > 0 && !self.nodes[packet.at.node].is_switch() {
                return Err(DropReason::NotASwitch);
            }
        }
        packet.slid = Lid::PERMISSIVE;
        packet.dlid = Lid::PERMISSIVE;
        for step in 1..=count {
            let hop = if returning { count + 1 - step } else { step };
            let egress = packet.mad.as_bytes()[path + hop];
            let node = &self.nodes[packet.at.node];
            let sends_own = step == 1 && !by_lid_first && egress == packet.at.port;
            if !sends_own && !node.is_switch() {
                return Err(DropReason::NotASwitch);
            }
            self.cross(packet, egress, VL15)?;
            if !returning {
                packet.mad.as_bytes_mut()[RETURN_PATH + hop] = packet.at.port;
            }
            seen(packet.at);
        }
        if to != Lid::PERMISSIVE {
            // The agent that answers sends by itself; anything else on the way must be a switch.
            let sends_own = count == 0 && !by_lid_first;
            if !sends_own && !self.nodes[packet.at.node].is_switch() {
                return Err(DropReason::NotASwitch);
            }
            packet.dlid = to;
            packet.slid = self.source_lid(packet);
            self.by_lid(packet, seen)?;
        }
        let end = if returning { 0 } else { count + 1 };
        packet.mad.as_bytes_mut()[HOP_POINTER] = u8::try_from(end).unwrap_or(0);
        Ok(())
    }
}
