//! Attributes of the performance management class (IBA 16.1.3, 16.1.4).
//!
//! Layouts of the 192 bytes of data at [`DATA_OFFSET`], each as long as its fields. PortSelect in
//! the data selects the port; the attribute modifier is 0.

/// Offset of the data in a MAD of this class.
pub const DATA_OFFSET: usize = 64;
/// Length of the data.
pub const DATA_LEN: usize = 192;
/// PortSelect of all ports, with [`ClassPortInfo::ALL_PORT_SELECT`].
pub const ALL_PORTS: u8 = 0xFF;

/// Identifiers of the attributes.
pub mod id {
    use crate::ids::AttrId;
    /// ClassPortInfo.
    pub const CLASS_PORT_INFO: AttrId = AttrId(0x0001);
    /// PortSamplesControl.
    pub const PORT_SAMPLES_CONTROL: AttrId = AttrId(0x0010);
    /// PortSamplesResult.
    pub const PORT_SAMPLES_RESULT: AttrId = AttrId(0x0011);
    /// PortCounters.
    pub const PORT_COUNTERS: AttrId = AttrId(0x0012);
    /// PortRcvErrorDetails.
    pub const PORT_RCV_ERROR_DETAILS: AttrId = AttrId(0x0015);
    /// PortXmitDiscardDetails.
    pub const PORT_XMIT_DISCARD_DETAILS: AttrId = AttrId(0x0016);
    /// PortOpRcvCounters.
    pub const PORT_OP_RCV_COUNTERS: AttrId = AttrId(0x0017);
    /// PortFlowCtlCounters.
    pub const PORT_FLOW_CTL_COUNTERS: AttrId = AttrId(0x0018);
    /// PortVLOpPackets.
    pub const PORT_VL_OP_PACKETS: AttrId = AttrId(0x0019);
    /// PortVLOpData.
    pub const PORT_VL_OP_DATA: AttrId = AttrId(0x001A);
    /// PortVLXmitFlowCtlUpdateErrors.
    pub const PORT_VL_XMIT_FLOW_CTL_UPDATE_ERRORS: AttrId = AttrId(0x001B);
    /// PortVLXmitWaitCounters.
    pub const PORT_VL_XMIT_WAIT_COUNTERS: AttrId = AttrId(0x001C);
    /// PortCountersExtended.
    pub const PORT_COUNTERS_EXTENDED: AttrId = AttrId(0x001D);
    /// PortSamplesResultExtended.
    pub const PORT_SAMPLES_RESULT_EXTENDED: AttrId = AttrId(0x001E);
    /// PortExtendedSpeedsCounters.
    pub const PORT_EXTENDED_SPEEDS_COUNTERS: AttrId = AttrId(0x001F);
}

crate::wire! {
    /// Capabilities of an agent (IBA 13.4.8.1), without redirection and trap addresses.
    pub struct ClassPortInfo[72] {
        /// Version of the MAD format: 1.
        base_version: u8 = 0, 8;
        /// Version of the class.
        class_version: u8 = 8, 8;
        /// Capabilities.
        capability_mask: u16 = 16, 16;
        /// Further capabilities.
        capability_mask2: u32 = 32, 27;
        /// Response time: 4.096 µs × 2^n.
        resp_time_value: u8 = 59, 5;
    }
}

impl ClassPortInfo {
    /// CapabilityMask: PortSelect 0xFF selects all ports.
    pub const ALL_PORT_SELECT: u16 = 1 << 8;
    /// CapabilityMask: PortCountersExtended has unicast and multicast packet counters.
    pub const EXTENDED_WIDTH: u16 = 1 << 9;
    /// CapabilityMask: PortCounters has PortXmitWait.
    pub const XMIT_WAIT: u16 = 1 << 12;
    /// CapabilityMask: PortCounters has QP1Dropped.
    pub const QP1_DROPPED: u16 = 1 << 15;
    /// CapabilityMask2: PortCountersExtended has error counters.
    pub const EXTENDED_ERRORS: u32 = 1 << 1;
}

crate::wire! {
    /// PortCounters; counters saturate.
    pub struct PortCounters[44] {
        /// The port.
        port_select: u8 = 8, 8;
        /// Counters that a Set writes: select bit n is bit n of this field.
        counter_select: u16 = 16, 16;
        /// Select bit 0.
        symbol_error_counter: u16 = 32, 16;
        /// Select bit 1.
        link_error_recovery_counter: u8 = 48, 8;
        /// Select bit 2.
        link_downed_counter: u8 = 56, 8;
        /// Select bit 3.
        port_rcv_errors: u16 = 64, 16;
        /// Select bit 4.
        port_rcv_remote_physical_errors: u16 = 80, 16;
        /// Select bit 5.
        port_rcv_switch_relay_errors: u16 = 96, 16;
        /// Select bit 6.
        port_xmit_discards: u16 = 112, 16;
        /// Select bit 7.
        port_xmit_constraint_errors: u8 = 128, 8;
        /// Select bit 8.
        port_rcv_constraint_errors: u8 = 136, 8;
        /// Bit 0: a Set writes PortXmitWait; bit 1: QP1Dropped.
        counter_select2: u8 = 144, 8;
        /// Select bit 9.
        local_link_integrity_errors: u8 = 152, 4;
        /// Select bit 10.
        excessive_buffer_overrun_errors: u8 = 156, 4;
        /// Select2 bit 1.
        qp1_dropped: u16 = 160, 16;
        /// Select bit 11.
        vl15_dropped: u16 = 176, 16;
        /// Select bit 12; words of four octets.
        port_xmit_data: u32 = 192, 32;
        /// Select bit 13; words of four octets.
        port_rcv_data: u32 = 224, 32;
        /// Select bit 14.
        port_xmit_pkts: u32 = 256, 32;
        /// Select bit 15.
        port_rcv_pkts: u32 = 288, 32;
        /// Select2 bit 0.
        port_xmit_wait: u32 = 320, 32;
    }
}

crate::wire! {
    /// PortCountersExtended; counters wrap.
    pub struct PortCountersExtended[184] {
        /// The port.
        port_select: u8 = 8, 8;
        /// Counters that a Set writes: bit n is counter n.
        counter_select: u16 = 16, 16;
        /// Error counters that a Set writes: bit n is counter 8 + n.
        counter_select2: u32 = 32, 32;
        /// Words of four octets.
        port_xmit_data: u64 = 64, 64;
        /// Words of four octets.
        port_rcv_data: u64 = 128, 64;
        /// Packets sent.
        port_xmit_pkts: u64 = 192, 64;
        /// Packets received.
        port_rcv_pkts: u64 = 256, 64;
        /// Unicast packets sent.
        port_unicast_xmit_pkts: u64 = 320, 64;
        /// Unicast packets received.
        port_unicast_rcv_pkts: u64 = 384, 64;
        /// Multicast packets sent.
        port_multicast_xmit_pkts: u64 = 448, 64;
        /// Multicast packets received.
        port_multicast_rcv_pkts: u64 = 512, 64;
        /// Symbol errors.
        symbol_error_counter: u64 = 576, 64;
        /// Link error recoveries.
        link_error_recovery_counter: u64 = 640, 64;
        /// Links downed.
        link_downed_counter: u64 = 704, 64;
        /// Packets received with errors.
        port_rcv_errors: u64 = 768, 64;
        /// Packets received with the end bad packet delimiter.
        port_rcv_remote_physical_errors: u64 = 832, 64;
        /// Packets that were not forwarded.
        port_rcv_switch_relay_errors: u64 = 896, 64;
        /// Packets not sent.
        port_xmit_discards: u64 = 960, 64;
        /// Packets not sent for a P_Key violation.
        port_xmit_constraint_errors: u64 = 1024, 64;
        /// Packets dropped for a P_Key violation.
        port_rcv_constraint_errors: u64 = 1088, 64;
        /// Local physical errors above the threshold.
        local_link_integrity_errors: u64 = 1152, 64;
        /// Buffer overruns above the threshold.
        excessive_buffer_overrun_errors: u64 = 1216, 64;
        /// Management packets dropped.
        vl15_dropped: u64 = 1280, 64;
        /// Ticks without credit.
        port_xmit_wait: u64 = 1344, 64;
        /// QP1 packets dropped.
        qp1_dropped: u64 = 1408, 64;
    }
}

crate::wire! {
    /// PortRcvErrorDetails.
    pub struct PortRcvErrorDetails[16] {
        /// The port.
        port_select: u8 = 8, 8;
        /// Counters that a Set writes: bit n is counter n.
        counter_select: u16 = 16, 16;
        /// CRC and other local physical errors.
        port_local_physical_errors: u16 = 32, 16;
        /// Malformed packets.
        port_malformed_packet_errors: u16 = 48, 16;
        /// Buffer overruns.
        port_buffer_overrun_errors: u16 = 64, 16;
        /// No port for the DLID.
        port_dlid_mapping_errors: u16 = 80, 16;
        /// No VL for the SL.
        port_vl_mapping_errors: u16 = 96, 16;
        /// Input port equals output port.
        port_looping_errors: u16 = 112, 16;
    }
}

crate::wire! {
    /// PortXmitDiscardDetails.
    pub struct PortXmitDiscardDetails[12] {
        /// The port.
        port_select: u8 = 8, 8;
        /// Counters that a Set writes: bit n is counter n.
        counter_select: u16 = 16, 16;
        /// The port is not Active.
        port_inactive_discards: u16 = 32, 16;
        /// Longer than NeighborMTU.
        port_neighbor_mtu_discards: u16 = 48, 16;
        /// Older than the switch lifetime limit.
        port_sw_lifetime_limit_discards: u16 = 64, 16;
        /// HOQLife exceeded.
        port_sw_hoq_lifetime_limit_discards: u16 = 80, 16;
    }
}

crate::wire! {
    /// PortOpRcvCounters.
    pub struct PortOpRcvCounters[12] {
        /// OpCode of the counted packets.
        op_code: u8 = 0, 8;
        /// The port.
        port_select: u8 = 8, 8;
        /// Counters that a Set writes: bit n is counter n.
        counter_select: u16 = 16, 16;
        /// Packets.
        port_op_rcv_pkts: u32 = 32, 32;
        /// Words of four octets.
        port_op_rcv_data: u32 = 64, 32;
    }
}

crate::wire! {
    /// PortFlowCtlCounters.
    pub struct PortFlowCtlCounters[12] {
        /// The port.
        port_select: u8 = 8, 8;
        /// Counters that a Set writes: bit n is counter n.
        counter_select: u16 = 16, 16;
        /// Flow control packets sent.
        port_xmit_flow_pkts: u32 = 32, 32;
        /// Flow control packets received.
        port_rcv_flow_pkts: u32 = 64, 32;
    }
}

crate::wire! {
    /// PortVLOpPackets.
    pub struct PortVlOpPackets[36] {
        /// OpCode of the counted packets.
        op_code: u8 = 0, 8;
        /// The port.
        port_select: u8 = 8, 8;
        /// Counters that a Set writes: bit n is VL n.
        counter_select: u16 = 16, 16;
        /// Packets received, by VL.
        port_vl_op_packets: [u16; 16] = 32, 256;
    }
}

crate::wire! {
    /// PortVLOpData.
    pub struct PortVlOpData[68] {
        /// OpCode of the counted packets.
        op_code: u8 = 0, 8;
        /// The port.
        port_select: u8 = 8, 8;
        /// Counters that a Set writes: bit n is VL n.
        counter_select: u16 = 16, 16;
        /// Words of four octets received, by VL.
        port_vl_op_data: [u32; 16] = 32, 512;
    }
}

crate::wire! {
    /// PortVLXmitFlowCtlUpdateErrors.
    pub struct PortVlXmitFlowCtlUpdateErrors[8] {
        /// The port.
        port_select: u8 = 8, 8;
        /// Counters that a Set writes: bit n is VL n.
        counter_select: u16 = 16, 16;
        /// Late updates by VL, two bits each.
        port_vl_xmit_flow_ctl_update_errors: [u8; 16] = 32, 32;
    }
}

crate::wire! {
    /// PortVLXmitWaitCounters.
    pub struct PortVlXmitWaitCounters[36] {
        /// The port.
        port_select: u8 = 8, 8;
        /// Counters that a Set writes: bit n is VL n.
        counter_select: u16 = 16, 16;
        /// Ticks without credit, by VL.
        port_vl_xmit_wait: [u16; 16] = 32, 256;
    }
}

crate::wire! {
    /// PortExtendedSpeedsCounters.
    pub struct PortExtendedSpeedsCounters[152] {
        /// The port.
        port_select: u8 = 8, 8;
        /// Counters that a Set writes.
        counter_select: u64 = 64, 64;
        /// Blocks with a wrong sync header.
        sync_header_error_counter: u16 = 128, 16;
        /// Blocks of an unknown type.
        unknown_block_counter: u16 = 144, 16;
        /// Detected errors by physical lane.
        error_detection_counter_lane: [u16; 12] = 160, 192;
        /// Corrected FEC blocks by physical lane.
        fec_correctable_block_ctr_lane: [u32; 12] = 352, 384;
        /// Uncorrectable FEC blocks by physical lane.
        fec_uncorrectable_block_ctr_lane: [u32; 12] = 736, 384;
        /// Corrected FEC blocks of all lanes.
        port_fec_correctable_block_ctr: u32 = 1120, 32;
        /// Uncorrectable FEC blocks of all lanes.
        port_fec_uncorrectable_block_ctr: u32 = 1152, 32;
        /// Corrected RS-FEC symbols.
        port_fec_corrected_symbol_ctr: u32 = 1184, 32;
    }
}

crate::wire! {
    /// PortSamplesControl.
    pub struct PortSamplesControl[76] {
        /// OpCode of the counted packets, where applicable.
        op_code: u8 = 0, 8;
        /// The port.
        port_select: u8 = 8, 8;
        /// Length of a tick: (n + 1) × ten link transfer periods.
        tick: u8 = 16, 8;
        /// 0 to 4: 16, 20, 24, 28 or 32 bits.
        counter_width: u8 = 29, 3;
        /// Capabilities of counters 0 to 9: 1 for the mandatory quantities.
        counter_masks0_to_9: [u8; 10] = 34, 30;
        /// Capabilities of counters 10 to 14.
        counter_masks10_to_14: [u8; 5] = 65, 15;
        /// Number of sampling mechanisms minus one.
        sample_mechanisms: u8 = 80, 8;
        /// 0 done, 1 started, 2 running.
        sample_status: u8 = 94, 2;
        /// Optional quantities.
        option_mask: u64 = 96, 64;
        /// Vendor-specific quantities.
        vendor_mask: u64 = 160, 64;
        /// Ticks until sampling starts.
        sample_start: u32 = 224, 32;
        /// Duration in ticks.
        sample_interval: u32 = 256, 32;
        /// Copied to PortSamplesResult.
        tag: u16 = 288, 16;
        /// Quantity of each counter.
        counter_select: [u16; 15] = 304, 240;
    }
}

crate::wire! {
    /// PortSamplesResult.
    pub struct PortSamplesResult[64] {
        /// Tag of the PortSamplesControl.
        tag: u16 = 0, 16;
        /// 0 done, 1 started, 2 running.
        sample_status: u8 = 30, 2;
        /// Values of the counters.
        counters: [u32; 15] = 32, 480;
    }
}
