//! Layouts of performance management and the corresponding fields of libibmad.

use std::ffi::c_uint;

use ferrosm_mad::attr::perf::{
    ClassPortInfo, PortCounters, PortCountersExtended, PortExtendedSpeedsCounters,
    PortFlowCtlCounters, PortOpRcvCounters, PortRcvErrorDetails, PortSamplesControl,
    PortSamplesResult, PortVlOpData, PortVlOpPackets, PortVlXmitFlowCtlUpdateErrors,
    PortVlXmitWaitCounters, PortXmitDiscardDetails,
};

use super::Layout;

/// Adjacent fields of equal width with consecutive numbers.
const fn row<const N: usize>(
    bit: usize,
    width: usize,
    first: c_uint,
) -> [(usize, usize, c_uint); N] {
    let mut fields = [(bit, width, first); N];
    let mut i = 1;
    while i < N {
        let (bit, _, number) = fields[i - 1];
        fields[i] = (bit + width, width, number + 1);
        i += 1;
    }
    fields
}

/// The three groups of counters by physical lane in PortExtendedSpeedsCounters.
const LANES: [(usize, usize, c_uint); 36] = {
    let rows = [
        row::<12>(160, 16, 332),
        row::<12>(352, 32, 344),
        row::<12>(736, 32, 356),
    ];
    let mut all = [(0, 0, 0); 36];
    let mut i = 0;
    while i < 36 {
        all[i] = rows[i / 12][i % 12];
        i += 1;
    }
    all
};

pub(super) const LAYOUTS: &[Layout] = &[
    Layout {
        name: "ClassPortInfo",
        fields: ClassPortInfo::FIELDS,
        base: 0,
        matching: &[
            ("base_version", 206),
            ("class_version", 207),
            ("capability_mask", 208),
            ("capability_mask2", 209),
            ("resp_time_value", 210),
        ],
        parts: &[],
        other: &[],
    },
    Layout {
        name: "PortCounters",
        fields: PortCounters::FIELDS,
        base: 0,
        matching: &[
            ("port_select", 121),
            ("counter_select", 122),
            ("symbol_error_counter", 123),
            ("link_error_recovery_counter", 124),
            ("link_downed_counter", 125),
            ("port_rcv_errors", 126),
            ("port_rcv_remote_physical_errors", 127),
            ("port_rcv_switch_relay_errors", 128),
            ("port_xmit_discards", 129),
            ("port_xmit_constraint_errors", 130),
            ("port_rcv_constraint_errors", 131),
            ("counter_select2", 132),
            ("local_link_integrity_errors", 133),
            ("excessive_buffer_overrun_errors", 134),
            ("vl15_dropped", 135),
            ("port_xmit_data", 136),
            ("port_rcv_data", 137),
            ("port_xmit_pkts", 138),
            ("port_rcv_pkts", 139),
            ("port_xmit_wait", 140),
        ],
        parts: &[],
        // libibmad's field 659 lacks the conversion within words (`BITSOFFS`) and reads
        // VL15Dropped.
        other: &["qp1_dropped"],
    },
    Layout {
        name: "PortCountersExtended",
        fields: PortCountersExtended::FIELDS,
        base: 0,
        matching: &[
            ("port_select", 194),
            ("counter_select", 195),
            ("counter_select2", 643),
            ("port_xmit_data", 196),
            ("port_rcv_data", 197),
            ("port_xmit_pkts", 198),
            ("port_rcv_pkts", 199),
            ("port_unicast_xmit_pkts", 200),
            ("port_unicast_rcv_pkts", 201),
            ("port_multicast_xmit_pkts", 202),
            ("port_multicast_rcv_pkts", 203),
            ("symbol_error_counter", 644),
            ("link_error_recovery_counter", 645),
            ("link_downed_counter", 646),
            ("port_rcv_errors", 647),
            ("port_rcv_remote_physical_errors", 648),
            ("port_rcv_switch_relay_errors", 649),
            ("port_xmit_discards", 650),
            ("port_xmit_constraint_errors", 651),
            ("port_rcv_constraint_errors", 652),
            ("local_link_integrity_errors", 653),
            ("excessive_buffer_overrun_errors", 654),
            ("vl15_dropped", 655),
            ("port_xmit_wait", 656),
            ("qp1_dropped", 657),
        ],
        parts: &[],
        other: &[],
    },
    Layout {
        name: "PortRcvErrorDetails",
        fields: PortRcvErrorDetails::FIELDS,
        base: 0,
        matching: &[
            ("port_select", 121),
            ("counter_select", 122),
            ("port_local_physical_errors", 267),
            ("port_malformed_packet_errors", 268),
            ("port_buffer_overrun_errors", 269),
            ("port_dlid_mapping_errors", 270),
            ("port_vl_mapping_errors", 271),
            ("port_looping_errors", 272),
        ],
        parts: &[],
        other: &[],
    },
    Layout {
        name: "PortXmitDiscardDetails",
        fields: PortXmitDiscardDetails::FIELDS,
        base: 0,
        matching: &[
            ("port_select", 121),
            ("counter_select", 122),
            ("port_inactive_discards", 262),
            ("port_neighbor_mtu_discards", 263),
            ("port_sw_lifetime_limit_discards", 264),
            ("port_sw_hoq_lifetime_limit_discards", 265),
        ],
        parts: &[],
        other: &[],
    },
    Layout {
        name: "PortOpRcvCounters",
        fields: PortOpRcvCounters::FIELDS,
        base: 0,
        matching: &[
            ("op_code", 274),
            ("port_select", 121),
            ("counter_select", 122),
            ("port_op_rcv_pkts", 369),
            ("port_op_rcv_data", 370),
        ],
        parts: &[],
        other: &[],
    },
    Layout {
        name: "PortFlowCtlCounters",
        fields: PortFlowCtlCounters::FIELDS,
        base: 0,
        matching: &[
            ("port_select", 121),
            ("counter_select", 122),
            ("port_xmit_flow_pkts", 372),
            ("port_rcv_flow_pkts", 373),
        ],
        parts: &[],
        other: &[],
    },
    Layout {
        name: "PortVLOpPackets",
        fields: PortVlOpPackets::FIELDS,
        base: 0,
        matching: &[
            ("op_code", 274),
            ("port_select", 121),
            ("counter_select", 122),
        ],
        parts: &row::<16>(32, 16, 375),
        other: &["port_vl_op_packets"],
    },
    Layout {
        name: "PortVLOpData",
        fields: PortVlOpData::FIELDS,
        base: 0,
        matching: &[
            ("op_code", 274),
            ("port_select", 121),
            ("counter_select", 122),
        ],
        parts: &row::<16>(32, 32, 392),
        other: &["port_vl_op_data"],
    },
    Layout {
        name: "PortVLXmitFlowCtlUpdateErrors",
        fields: PortVlXmitFlowCtlUpdateErrors::FIELDS,
        base: 0,
        matching: &[("port_select", 121), ("counter_select", 122)],
        parts: &row::<16>(32, 2, 409),
        other: &["port_vl_xmit_flow_ctl_update_errors"],
    },
    Layout {
        name: "PortVLXmitWaitCounters",
        fields: PortVlXmitWaitCounters::FIELDS,
        base: 0,
        matching: &[("port_select", 121), ("counter_select", 122)],
        parts: &row::<16>(32, 16, 426),
        other: &["port_vl_xmit_wait"],
    },
    Layout {
        name: "PortExtendedSpeedsCounters",
        fields: PortExtendedSpeedsCounters::FIELDS,
        base: 0,
        matching: &[
            ("port_select", 328),
            ("counter_select", 329),
            ("sync_header_error_counter", 330),
            ("unknown_block_counter", 331),
            ("port_fec_correctable_block_ctr", 639),
            ("port_fec_uncorrectable_block_ctr", 640),
            ("port_fec_corrected_symbol_ctr", 641),
        ],
        parts: &LANES,
        other: &[
            "error_detection_counter_lane",
            "fec_correctable_block_ctr_lane",
            "fec_uncorrectable_block_ctr_lane",
        ],
    },
    Layout {
        name: "PortSamplesControl",
        fields: PortSamplesControl::FIELDS,
        base: 0,
        matching: &[
            ("op_code", 274),
            ("port_select", 275),
            ("tick", 276),
            ("counter_width", 277),
            ("sample_mechanisms", 281),
            ("sample_status", 282),
            ("option_mask", 283),
            ("vendor_mask", 284),
            ("sample_start", 285),
            ("sample_interval", 286),
            ("tag", 287),
        ],
        parts: &row::<15>(304, 16, 288),
        other: &[
            "counter_masks0_to_9",
            "counter_masks10_to_14",
            "counter_select",
        ],
    },
    Layout {
        name: "PortSamplesControl masks",
        fields: &[],
        base: 0,
        matching: &[],
        parts: &[(34, 3, 278), (37, 27, 279), (65, 15, 280)],
        other: &[],
    },
    Layout {
        name: "PortSamplesResult",
        fields: PortSamplesResult::FIELDS,
        base: 0,
        matching: &[("tag", 598), ("sample_status", 599)],
        parts: &row::<15>(32, 32, 600),
        other: &["counters"],
    },
];
