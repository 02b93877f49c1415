//! Attributes with a counter per VL.
//!
//! PortVLOpPackets and PortVLOpData count received packets with the selected OpCode; the others
//! change only by injection.

use ferrosm_mad::attr::perf::{
    DATA_LEN, PortVlOpData, PortVlOpPackets, PortVlXmitFlowCtlUpdateErrors, PortVlXmitWaitCounters,
    id,
};
use ferrosm_mad::ids::AttrId;

use super::{AttributeData, PmaRequest};
use crate::fabric::Fabric;

pub(super) const fn is_per_vl_attribute(attr: AttrId) -> bool {
    matches!(
        attr,
        id::PORT_VL_OP_PACKETS
            | id::PORT_VL_OP_DATA
            | id::PORT_VL_XMIT_FLOW_CTL_UPDATE_ERRORS
            | id::PORT_VL_XMIT_WAIT_COUNTERS
    )
}

/// Replaces the selected counters.
fn replace_selected<T: Copy>(counts: &mut [T; 16], requested: &[T; 16], select: u16) {
    for (vl, (count, requested)) in counts.iter_mut().zip(requested).enumerate() {
        if select >> vl & 1 != 0 {
            *count = *requested;
        }
    }
}

impl Fabric {
    pub(super) fn per_vl_attribute(
        &mut self,
        r: &PmaRequest,
        attr: AttrId,
        data: &mut AttributeData,
    ) {
        let select = u16::from_be_bytes([data[2], data[3]]);
        if r.set {
            for slot in r.ports.clone() {
                if attr == id::PORT_VL_OP_PACKETS || attr == id::PORT_VL_OP_DATA {
                    self.select_op_code(slot, data[0]);
                }
                let per_vl = &mut self.raw_counts[slot].rare_mut().per_vl;
                match attr {
                    id::PORT_VL_OP_PACKETS => {
                        let requested = PortVlOpPackets::decode(data);
                        replace_selected(
                            &mut per_vl.op_packets,
                            &requested.port_vl_op_packets,
                            select,
                        );
                    }
                    id::PORT_VL_OP_DATA => {
                        let requested = PortVlOpData::decode(data);
                        replace_selected(&mut per_vl.op_data, &requested.port_vl_op_data, select);
                    }
                    id::PORT_VL_XMIT_WAIT_COUNTERS => {
                        let requested = PortVlXmitWaitCounters::decode(data).port_vl_xmit_wait;
                        replace_selected(&mut per_vl.xmit_wait, &requested, select);
                    }
                    _ => {
                        let requested = PortVlXmitFlowCtlUpdateErrors::decode(data);
                        replace_selected(
                            &mut per_vl.flow_ctl_update_errors,
                            &requested.port_vl_xmit_flow_ctl_update_errors,
                            select,
                        );
                    }
                }
            }
        }
        let per_vl = || {
            let raw_counts = &self.raw_counts[r.ports.clone()];
            raw_counts
                .iter()
                .filter_map(|t| t.rare())
                .map(|r| &r.per_vl)
        };
        let port_select = r.port_select;
        let op_code = self.op_code(*r.ports.start());
        *data = [0; DATA_LEN];
        match attr {
            id::PORT_VL_OP_PACKETS => PortVlOpPackets {
                op_code,
                port_select,
                counter_select: 0,
                port_vl_op_packets: std::array::from_fn(|vl| {
                    per_vl().fold(0, |sum: u16, l| sum.saturating_add(l.op_packets[vl]))
                }),
            }
            .encode_onto(data),
            id::PORT_VL_OP_DATA => PortVlOpData {
                op_code,
                port_select,
                counter_select: 0,
                port_vl_op_data: std::array::from_fn(|vl| {
                    per_vl().fold(0, |sum: u32, l| sum.saturating_add(l.op_data[vl]))
                }),
            }
            .encode_onto(data),
            id::PORT_VL_XMIT_WAIT_COUNTERS => PortVlXmitWaitCounters {
                port_select,
                counter_select: 0,
                port_vl_xmit_wait: std::array::from_fn(|vl| {
                    per_vl().fold(0, |sum: u16, l| sum.saturating_add(l.xmit_wait[vl]))
                }),
            }
            .encode_onto(data),
            _ => PortVlXmitFlowCtlUpdateErrors {
                port_select,
                counter_select: 0,
                port_vl_xmit_flow_ctl_update_errors: std::array::from_fn(|vl| {
                    per_vl().fold(0, |sum: u8, l| {
                        sum.saturating_add(l.flow_ctl_update_errors[vl]).min(3)
                    })
                }),
            }
            .encode_onto(data),
        }
    }
}
