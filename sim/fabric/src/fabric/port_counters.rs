//! Port counters (IBA 16.1.3, 16.1.4), which the PMA reports ([`crate::pma`]).
//!
//! Forwarded packets and [`Fabric::add_errors`] change the counters. Every packet on a link is
//! counted at both ports, including management packets: the specification counts "all VLs" except
//! link packets, and VL15 is a VL. Data is in words of four octets from LRH to ICRC, without VCRC.
//!
//! The raw counts only grow and are cleared at power-on. A Set is stored as an offset, one for the
//! attributes with narrow, saturating fields and one for PortCountersExtended with its 64-bit
//! fields, so that the two are independent. Symbol errors, credit waits and FEC corrections occur
//! only if injected.

use super::Fabric;
use super::packet::{MAD_WORDS, Packet};
use crate::spec::PortAt;

macro_rules! counters {
    ($($(#[$doc:meta])* $field:ident $variant:ident),* $(,)?) => {
        /// All counters of a port since power-on; a Set of the PMA does not change them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct PortCounters {
            $($(#[$doc])* pub $field: u64,)*
        }

        /// A counter of a port.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum PortCounter {
            $($(#[$doc])* $variant,)*
        }

        impl PortCounter {
            /// All counters, in the order of [`PortCounters`].
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The field's name in [`PortCounters`].
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => stringify!($field),)*
                }
            }
        }

        impl PortCounters {
            /// The value of a counter.
            #[must_use]
            pub const fn get(&self, which: PortCounter) -> u64 {
                match which {
                    $(PortCounter::$variant => self.$field,)*
                }
            }

            fn from_raw_counts(raw_counts: &RawCounts) -> Self {
                Self {
                    $($field: raw_counts.raw(PortCounter::$variant),)*
                }
            }
        }
    };
}

counters! {
    /// Words sent.
    xmit_data XmitData,
    /// Words received.
    rcv_data RcvData,
    /// Packets sent.
    xmit_pkts XmitPkts,
    /// Packets received.
    rcv_pkts RcvPkts,
    /// Unicast packets sent.
    unicast_xmit_pkts UnicastXmitPkts,
    /// Unicast packets received.
    unicast_rcv_pkts UnicastRcvPkts,
    /// Multicast packets sent.
    multicast_xmit_pkts MulticastXmitPkts,
    /// Multicast packets received.
    multicast_rcv_pkts MulticastRcvPkts,
    /// Minor link errors.
    symbol_errors SymbolErrors,
    /// Link error recoveries that succeeded.
    link_error_recovery LinkErrorRecovery,
    /// Times that the link went down.
    link_downed LinkDowned,
    /// Packets received with errors.
    rcv_errors RcvErrors,
    /// Packets received with the EBP delimiter.
    rcv_remote_physical_errors RcvRemotePhysicalErrors,
    /// Packets received that the switch could not forward.
    rcv_switch_relay_errors RcvSwitchRelayErrors,
    /// Packets not sent: port inactive, too long, too late.
    xmit_discards XmitDiscards,
    /// Packets not sent because of their P_Key.
    xmit_constraint_errors XmitConstraintErrors,
    /// Received packets dropped because of their P_Key.
    rcv_constraint_errors RcvConstraintErrors,
    /// Local physical errors above the threshold.
    local_link_integrity_errors LocalLinkIntegrityErrors,
    /// Buffer overruns above the threshold.
    excessive_buffer_overrun_errors ExcessiveBufferOverrunErrors,
    /// Management packets dropped for lack of buffers.
    vl15_dropped Vl15Dropped,
    /// Ticks with data to send and no credit.
    xmit_wait XmitWait,
    /// QP1 packets dropped for lack of resources.
    qp1_dropped Qp1Dropped,
    /// Part of rcv_errors: wrong CRC and similar.
    local_physical_errors LocalPhysicalErrors,
    /// Part of rcv_errors: malformed packets.
    malformed_packet_errors MalformedPacketErrors,
    /// Part of rcv_errors: buffer overruns.
    buffer_overrun_errors BufferOverrunErrors,
    /// Part of rcv_switch_relay_errors: no LFT entry for the DLID.
    dlid_mapping_errors DlidMappingErrors,
    /// Part of rcv_switch_relay_errors: no VL for the SL.
    vl_mapping_errors VlMappingErrors,
    /// Part of rcv_switch_relay_errors: output port equal to input port.
    looping_errors LoopingErrors,
    /// Part of xmit_discards: port not Active.
    inactive_discards InactiveDiscards,
    /// Part of xmit_discards: longer than NeighborMTU.
    neighbor_mtu_discards NeighborMtuDiscards,
    /// Part of xmit_discards: older than the switch lifetime limit.
    sw_lifetime_limit_discards SwLifetimeLimitDiscards,
    /// Part of xmit_discards: longer at the head of a queue than HOQLife.
    sw_hoq_lifetime_limit_discards SwHoqLifetimeLimitDiscards,
    /// Flow control packets sent.
    xmit_flow_pkts XmitFlowPkts,
    /// Flow control packets received.
    rcv_flow_pkts RcvFlowPkts,
    /// Packets received with the OpCode that PortOpRcvCounters selects.
    op_rcv_pkts OpRcvPkts,
    /// Words of these packets.
    op_rcv_data OpRcvData,
    /// 64b/66b blocks with a wrong header.
    sync_header_errors SyncHeaderErrors,
    /// 64b/66b blocks of an unknown type.
    unknown_blocks UnknownBlocks,
    /// FEC blocks that were corrected.
    fec_correctable_blocks FecCorrectableBlocks,
    /// FEC blocks that could not be corrected.
    fec_uncorrectable_blocks FecUncorrectableBlocks,
    /// RS-FEC symbols that were corrected.
    fec_corrected_symbols FecCorrectedSymbols,
}

/// The counters from [`PortCounter::XmitData`] to [`PortCounter::MulticastRcvPkts`] are stored
/// separately.
const FIRST_RARE: usize = PortCounter::SymbolErrors as usize;
const RARE: usize = PortCounter::ALL.len() - FIRST_RARE;
/// PortCountersExtended ends with [`PortCounter::Qp1Dropped`].
pub(crate) const EXTENDED: usize = PortCounter::Qp1Dropped as usize + 1;
/// The OpCode of every MAD's packet: unreliable datagram, Send Only.
const UD_SEND_ONLY: u8 = 0x64;

/// Which offset a read or write uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CounterWidth {
    /// All attributes except PortCountersExtended.
    Narrow,
    /// PortCountersExtended.
    Extended,
}

/// Counters of a port, without the unicast packets that its [`super::CableEnd`] counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct RawCounts {
    /// Words sent and received, unicast packets sent and received, multicast packets sent and
    /// received.
    traffic: [u64; 6],
    rare: Option<Box<RareCounters>>,
}

/// Counters that most ports do not use.
#[derive(Debug, Clone)]
pub(crate) struct RareCounters {
    errors: [u64; RARE],
    narrow: [u64; PortCounter::ALL.len()],
    extended: [u64; EXTENDED],
    pub(crate) per_vl: PerVlCounters,
    pub(crate) sampler: Option<Box<Sampler>>,
}

/// Saturating counters per VL.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PerVlCounters {
    /// OpCode of the packets to count.
    pub(crate) op_code: u8,
    pub(crate) op_packets: [u16; 16],
    pub(crate) op_data: [u32; 16],
    pub(crate) xmit_wait: [u16; 16],
    /// Two bits each.
    pub(crate) flow_ctl_update_errors: [u8; 16],
}

/// A sample started by PortSamplesControl.
#[derive(Debug, Clone)]
pub(crate) struct Sampler {
    pub(crate) control: ferrosm_mad::attr::perf::PortSamplesControl,
    pub(crate) begins: ferrosm_mad::time::Instant,
    pub(crate) ends: ferrosm_mad::time::Instant,
    /// Counters at the start of the sample.
    pub(crate) before: PortCounters,
    /// Result, fixed by the first read after the end.
    pub(crate) result: Option<[u32; 15]>,
}

impl Default for RareCounters {
    fn default() -> Self {
        Self {
            errors: [0; RARE],
            narrow: [0; PortCounter::ALL.len()],
            extended: [0; EXTENDED],
            per_vl: PerVlCounters::default(),
            sampler: None,
        }
    }
}

impl RawCounts {
    pub(crate) fn rare(&self) -> Option<&RareCounters> {
        self.rare.as_deref()
    }

    pub(crate) fn rare_mut(&mut self) -> &mut RareCounters {
        self.rare.get_or_insert_with(Box::default)
    }

    #[inline]
    pub(crate) const fn sent(&mut self, words: u64, multicast: bool) {
        self.traffic[0] += words;
        self.traffic[if multicast { 4 } else { 2 }] += 1;
    }

    #[inline]
    pub(crate) fn received(&mut self, words: u64, multicast: bool, vl: u8) {
        self.traffic[1] += words;
        self.traffic[if multicast { 5 } else { 3 }] += 1;
        if let Some(rare) = &mut self.rare
            && rare.per_vl.op_code == UD_SEND_ONLY
        {
            rare.errors[PortCounter::OpRcvPkts as usize - FIRST_RARE] += 1;
            rare.errors[PortCounter::OpRcvData as usize - FIRST_RARE] += words;
            let vl = usize::from(vl & 0xF);
            let packets = &mut rare.per_vl.op_packets[vl];
            let data = &mut rare.per_vl.op_data[vl];
            *packets = packets.saturating_add(1);
            // saturates: as the counter.
            *data = data.saturating_add(u32::try_from(words).unwrap_or(u32::MAX));
        }
    }

    /// Counts unicast MADs without GRH.
    const fn sent_plain(&mut self, packets: u64) {
        self.traffic[0] = self.traffic[0].wrapping_add(packets.wrapping_mul(MAD_WORDS));
        self.traffic[2] = self.traffic[2].wrapping_add(packets);
    }

    const fn received_plain(&mut self, packets: u64) {
        self.traffic[1] = self.traffic[1].wrapping_add(packets.wrapping_mul(MAD_WORDS));
        self.traffic[3] = self.traffic[3].wrapping_add(packets);
    }

    /// Adds to a counter without a packet; additions to a packet sum count as unicast.
    pub(crate) fn add(&mut self, which: PortCounter, n: u64) {
        let cell = match which as usize {
            data @ 0..=1 => &mut self.traffic[data],
            sum @ 2..=3 => &mut self.traffic[sum],
            packets @ 4..FIRST_RARE => &mut self.traffic[packets - 2],
            rare => &mut self.rare_mut().errors[rare - FIRST_RARE],
        };
        *cell = cell.wrapping_add(n);
        if which == PortCounter::XmitWait {
            let vl = &mut self.rare_mut().per_vl.xmit_wait[0];
            // saturates: as the counter.
            *vl = vl.saturating_add(u16::try_from(n).unwrap_or(u16::MAX));
        }
    }

    /// The raw count.
    pub(crate) fn raw(&self, which: PortCounter) -> u64 {
        let t = &self.traffic;
        match which as usize {
            data @ 0..=1 => t[data],
            sum @ 2..=3 => t[sum].wrapping_add(t[sum + 2]),
            packets @ 4..FIRST_RARE => t[packets - 2],
            rare => self
                .rare
                .as_ref()
                .map_or(0, |r| r.errors[rare - FIRST_RARE]),
        }
    }

    /// The value at a width.
    pub(crate) fn read(&self, which: PortCounter, width: CounterWidth) -> u64 {
        let base = self.rare.as_ref().map_or(0, |r| match width {
            CounterWidth::Narrow => r.narrow[which as usize],
            CounterWidth::Extended => r.extended.get(which as usize).copied().unwrap_or(0),
        });
        self.raw(which).wrapping_sub(base)
    }

    /// Sets the value at a width.
    pub(crate) fn write(&mut self, which: PortCounter, width: CounterWidth, value: u64) {
        let raw = self.raw(which);
        let rare = self.rare_mut();
        let base = match width {
            CounterWidth::Narrow => Some(&mut rare.narrow[which as usize]),
            CounterWidth::Extended => rare.extended.get_mut(which as usize),
        };
        if let Some(base) = base {
            *base = raw.wrapping_sub(value);
        }
    }
}

impl Fabric {
    /// Counters of a port since power-on; zero if it does not exist.
    #[must_use]
    pub fn port_counters(&self, at: PortAt) -> PortCounters {
        self.slot(at).map_or_else(PortCounters::default, |slot| {
            PortCounters::from_raw_counts(&self.current_raw_counts(slot))
        })
    }

    /// The raw counts of a port including the counts of its cable end.
    pub(crate) fn current_raw_counts(&self, slot: usize) -> RawCounts {
        let mut raw_counts = self.raw_counts[slot].clone();
        raw_counts.sent_plain(self.cable_ends[slot].sent.into());
        raw_counts.received_plain(self.cable_ends[slot].received.into());
        raw_counts
    }

    /// Counts a packet from one port to another.
    #[inline]
    pub(super) fn count(&mut self, packet: &Packet, from: usize, to: usize, vl: u8) {
        let plain = packet.grh.is_none() && !packet.is_multicast() && packet.datagram.is_none();
        if !plain || self.cable_ends[to].counts_each {
            return self.add_to_raw_counts(packet, from, to, vl);
        }
        let (sent, sent_wrapped) = self.cable_ends[from].sent.overflowing_add(1);
        self.cable_ends[from].sent = sent;
        let (received, received_wrapped) = self.cable_ends[to].received.overflowing_add(1);
        self.cable_ends[to].received = received;
        if sent_wrapped {
            self.raw_counts[from].sent_plain(1 << 32);
        }
        if received_wrapped {
            self.raw_counts[to].received_plain(1 << 32);
        }
    }

    #[cold]
    fn add_to_raw_counts(&mut self, packet: &Packet, from: usize, to: usize, vl: u8) {
        let words = packet.words();
        let multicast = packet.is_multicast();
        self.raw_counts[from].sent(words, multicast);
        self.raw_counts[to].received(words, multicast, vl);
    }

    /// Moves the counts of a port's cable end to its raw counts.
    pub(crate) fn flush_cable_end_counters(&mut self, slot: usize) {
        let cable_end = &mut self.cable_ends[slot];
        let sent = std::mem::take(&mut cable_end.sent);
        let received = std::mem::take(&mut cable_end.received);
        self.raw_counts[slot].sent_plain(sent.into());
        self.raw_counts[slot].received_plain(received.into());
    }

    /// Selects the OpCode of the packets to count.
    pub(crate) fn select_op_code(&mut self, slot: usize, op_code: u8) {
        self.cable_ends[slot].counts_each = op_code == UD_SEND_ONLY;
        self.raw_counts[slot].rare_mut().per_vl.op_code = op_code;
    }

    /// Clears all counters of a port.
    pub(super) fn clear_raw_counts(&mut self, slot: usize) {
        self.raw_counts[slot] = RawCounts::default();
        let cable_end = &mut self.cable_ends[slot];
        (cable_end.sent, cable_end.received, cable_end.counts_each) = (0, 0, false);
    }

    /// Adds to a counter of an event that the fabric does not simulate: symbol errors, credit
    /// waits, drops for lack of buffers. Has no other effect, such as a trap.
    ///
    /// A detail, such as [`PortCounter::LocalPhysicalErrors`], is also added to its sum. Does
    /// nothing if the port does not exist.
    pub fn add_errors(&mut self, at: PortAt, which: PortCounter, n: u64) {
        let Some(slot) = self.slot(at) else { return };
        let raw_counts = &mut self.raw_counts[slot];
        raw_counts.add(which, n);
        if let Some(sum) = which.is_part_of() {
            raw_counts.add(sum, n);
        }
    }
}

impl PortCounter {
    /// The sum that contains this detail.
    const fn is_part_of(self) -> Option<Self> {
        if matches!(
            self,
            Self::LocalPhysicalErrors | Self::MalformedPacketErrors | Self::BufferOverrunErrors
        ) {
            return Some(Self::RcvErrors);
        }
        if matches!(
            self,
            Self::DlidMappingErrors | Self::VlMappingErrors | Self::LoopingErrors
        ) {
            return Some(Self::RcvSwitchRelayErrors);
        }
        if matches!(
            self,
            Self::InactiveDiscards
                | Self::NeighborMtuDiscards
                | Self::SwLifetimeLimitDiscards
                | Self::SwHoqLifetimeLimitDiscards
        ) {
            return Some(Self::XmitDiscards);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_at_one_width_does_not_change_the_other() {
        let mut raw_counts = RawCounts::default();
        raw_counts.sent(72, false);
        raw_counts.write(PortCounter::XmitData, CounterWidth::Narrow, 0);
        raw_counts.sent(72, true);
        assert_eq!(
            raw_counts.read(PortCounter::XmitData, CounterWidth::Narrow),
            72
        );
        assert_eq!(
            raw_counts.read(PortCounter::XmitData, CounterWidth::Extended),
            144
        );
        assert_eq!(raw_counts.raw(PortCounter::XmitPkts), 2);
        raw_counts.write(PortCounter::XmitPkts, CounterWidth::Extended, u64::MAX);
        raw_counts.sent(72, false);
        assert_eq!(
            raw_counts.read(PortCounter::XmitPkts, CounterWidth::Extended),
            0
        );
    }

    #[test]
    fn packets_with_the_selected_op_code_are_counted() {
        let mut raw_counts = RawCounts::default();
        raw_counts.received(72, false, 3);
        assert_eq!(raw_counts.raw(PortCounter::OpRcvPkts), 0);
        raw_counts.rare_mut().per_vl.op_code = UD_SEND_ONLY;
        raw_counts.received(72, false, 3);
        assert_eq!(raw_counts.raw(PortCounter::OpRcvPkts), 1);
        assert_eq!(raw_counts.raw(PortCounter::OpRcvData), 72);
        assert_eq!(raw_counts.rare_mut().per_vl.op_packets[3], 1);
    }
}
