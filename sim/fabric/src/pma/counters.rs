//! Attributes that consist of counters: the counter of each field and its CounterSelect bit.

use ferrosm_mad::attr::perf::{
    self, DATA_LEN, PortExtendedSpeedsCounters, PortFlowCtlCounters, PortOpRcvCounters,
    PortRcvErrorDetails, PortXmitDiscardDetails, id,
};
use ferrosm_mad::ids::AttrId;
use ferrosm_mad::wire::{Field, get_bits, set_bits};

use super::{AttributeData, PmaRequest};
use crate::fabric::{CounterWidth, Fabric, PortCounter as C};

/// A counter field of an attribute.
#[derive(Debug)]
struct CounterField {
    counter: C,
    field: Field,
    /// CounterSelect bit; bits of the second select field start at 16.
    select: u32,
}

/// A counter attribute.
#[derive(Debug)]
pub(super) struct CounterAttribute {
    entries: &'static [CounterField],
    select: &'static [Field],
    counter_width: CounterWidth,
    /// Whether the first byte of the data is an OpCode.
    has_op_code: bool,
}

const fn str_eq(a: &str, b: &str) -> bool {
    let a = a.as_bytes();
    let b = b.as_bytes();
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// Finds a field; a missing field is a compile error.
const fn field(fields: &[Field], name: &str) -> Field {
    let mut i = 0;
    while !str_eq(fields[i].name, name) {
        i += 1;
    }
    fields[i]
}

macro_rules! counter_attribute {
    ($layout:ty, $counter_width:ident, $op_code:literal, [$($select:literal),*],
     $($counter:ident $name:literal $bit:literal,)*) => {
        CounterAttribute {
            entries: &[$(CounterField {
                counter: C::$counter,
                field: const { field(<$layout>::FIELDS, $name) },
                select: $bit,
            }),*],
            select: &[$(const { field(<$layout>::FIELDS, $select) }),*],
            counter_width: CounterWidth::$counter_width,
            has_op_code: $op_code,
        }
    };
}

static PORT_COUNTERS: CounterAttribute = counter_attribute!(
    perf::PortCounters, Narrow, false, ["counter_select", "counter_select2"],
    SymbolErrors "symbol_error_counter" 0,
    LinkErrorRecovery "link_error_recovery_counter" 1,
    LinkDowned "link_downed_counter" 2,
    RcvErrors "port_rcv_errors" 3,
    RcvRemotePhysicalErrors "port_rcv_remote_physical_errors" 4,
    RcvSwitchRelayErrors "port_rcv_switch_relay_errors" 5,
    XmitDiscards "port_xmit_discards" 6,
    XmitConstraintErrors "port_xmit_constraint_errors" 7,
    RcvConstraintErrors "port_rcv_constraint_errors" 8,
    LocalLinkIntegrityErrors "local_link_integrity_errors" 9,
    ExcessiveBufferOverrunErrors "excessive_buffer_overrun_errors" 10,
    Vl15Dropped "vl15_dropped" 11,
    XmitData "port_xmit_data" 12,
    RcvData "port_rcv_data" 13,
    XmitPkts "port_xmit_pkts" 14,
    RcvPkts "port_rcv_pkts" 15,
    XmitWait "port_xmit_wait" 16,
    Qp1Dropped "qp1_dropped" 17,
);

static EXTENDED: CounterAttribute = counter_attribute!(
    perf::PortCountersExtended, Extended, false, ["counter_select", "counter_select2"],
    XmitData "port_xmit_data" 0,
    RcvData "port_rcv_data" 1,
    XmitPkts "port_xmit_pkts" 2,
    RcvPkts "port_rcv_pkts" 3,
    UnicastXmitPkts "port_unicast_xmit_pkts" 4,
    UnicastRcvPkts "port_unicast_rcv_pkts" 5,
    MulticastXmitPkts "port_multicast_xmit_pkts" 6,
    MulticastRcvPkts "port_multicast_rcv_pkts" 7,
    SymbolErrors "symbol_error_counter" 16,
    LinkErrorRecovery "link_error_recovery_counter" 17,
    LinkDowned "link_downed_counter" 18,
    RcvErrors "port_rcv_errors" 19,
    RcvRemotePhysicalErrors "port_rcv_remote_physical_errors" 20,
    RcvSwitchRelayErrors "port_rcv_switch_relay_errors" 21,
    XmitDiscards "port_xmit_discards" 22,
    XmitConstraintErrors "port_xmit_constraint_errors" 23,
    RcvConstraintErrors "port_rcv_constraint_errors" 24,
    LocalLinkIntegrityErrors "local_link_integrity_errors" 25,
    ExcessiveBufferOverrunErrors "excessive_buffer_overrun_errors" 26,
    Vl15Dropped "vl15_dropped" 27,
    XmitWait "port_xmit_wait" 28,
    Qp1Dropped "qp1_dropped" 29,
);

static RCV_ERROR_DETAILS: CounterAttribute = counter_attribute!(
    PortRcvErrorDetails, Narrow, false, ["counter_select"],
    LocalPhysicalErrors "port_local_physical_errors" 0,
    MalformedPacketErrors "port_malformed_packet_errors" 1,
    BufferOverrunErrors "port_buffer_overrun_errors" 2,
    DlidMappingErrors "port_dlid_mapping_errors" 3,
    VlMappingErrors "port_vl_mapping_errors" 4,
    LoopingErrors "port_looping_errors" 5,
);

static XMIT_DISCARD_DETAILS: CounterAttribute = counter_attribute!(
    PortXmitDiscardDetails, Narrow, false, ["counter_select"],
    InactiveDiscards "port_inactive_discards" 0,
    NeighborMtuDiscards "port_neighbor_mtu_discards" 1,
    SwLifetimeLimitDiscards "port_sw_lifetime_limit_discards" 2,
    SwHoqLifetimeLimitDiscards "port_sw_hoq_lifetime_limit_discards" 3,
);

static OP_RCV_COUNTERS: CounterAttribute = counter_attribute!(
    PortOpRcvCounters, Narrow, true, ["counter_select"],
    OpRcvPkts "port_op_rcv_pkts" 0,
    OpRcvData "port_op_rcv_data" 1,
);

static FLOW_CTL_COUNTERS: CounterAttribute = counter_attribute!(
    PortFlowCtlCounters, Narrow, false, ["counter_select"],
    XmitFlowPkts "port_xmit_flow_pkts" 0,
    RcvFlowPkts "port_rcv_flow_pkts" 1,
);

/// Per-lane counters remain zero: errors are injected per port.
static EXTENDED_SPEEDS: CounterAttribute = counter_attribute!(
    PortExtendedSpeedsCounters, Narrow, false, ["counter_select"],
    SyncHeaderErrors "sync_header_error_counter" 0,
    UnknownBlocks "unknown_block_counter" 1,
    FecCorrectableBlocks "port_fec_correctable_block_ctr" 38,
    FecUncorrectableBlocks "port_fec_uncorrectable_block_ctr" 39,
    FecCorrectedSymbols "port_fec_corrected_symbol_ctr" 40,
);

pub(super) fn counter_attribute(attr: AttrId) -> Option<&'static CounterAttribute> {
    Some(match attr {
        id::PORT_COUNTERS => &PORT_COUNTERS,
        id::PORT_COUNTERS_EXTENDED => &EXTENDED,
        id::PORT_RCV_ERROR_DETAILS => &RCV_ERROR_DETAILS,
        id::PORT_XMIT_DISCARD_DETAILS => &XMIT_DISCARD_DETAILS,
        id::PORT_OP_RCV_COUNTERS => &OP_RCV_COUNTERS,
        id::PORT_FLOW_CTL_COUNTERS => &FLOW_CTL_COUNTERS,
        id::PORT_EXTENDED_SPEEDS_COUNTERS => &EXTENDED_SPEEDS,
        _ => return None,
    })
}

impl Fabric {
    pub(super) fn counters_attribute(
        &mut self,
        r: &PmaRequest,
        attribute: &CounterAttribute,
        data: &mut AttributeData,
    ) {
        let mut selected = 0;
        for (i, field) in attribute.select.iter().enumerate() {
            selected |= get_bits(data, field.bit, field.width) << (16 * i);
        }
        if r.set {
            for slot in r.ports.clone() {
                if attribute.has_op_code {
                    self.select_op_code(slot, data[0]);
                }
                let raw_counts = &mut self.raw_counts[slot];
                for e in attribute.entries {
                    if selected >> e.select & 1 != 0 {
                        let value = get_bits(data, e.field.bit, e.field.width);
                        raw_counts.write(e.counter, attribute.counter_width, value);
                    }
                }
            }
        }
        *data = [0; DATA_LEN];
        data[1] = r.port_select;
        if attribute.has_op_code {
            data[0] = self.op_code(*r.ports.start());
        }
        for e in attribute.entries {
            let values = self.raw_counts[r.ports.clone()]
                .iter()
                .map(|t| t.read(e.counter, attribute.counter_width));
            let value = match attribute.counter_width {
                CounterWidth::Extended => values.fold(0, u64::wrapping_add),
                CounterWidth::Narrow => {
                    let max = (1 << e.field.width) - 1;
                    values.fold(0, u64::saturating_add).min(max)
                }
            };
            set_bits(data, e.field.bit, e.field.width, value);
        }
    }

    pub(super) fn op_code(&self, slot: usize) -> u8 {
        self.raw_counts[slot].rare().map_or(0, |r| r.per_vl.op_code)
    }
}
