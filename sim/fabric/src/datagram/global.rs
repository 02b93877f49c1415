//! Global route headers (IBA 8.3).

use crate::fabric::{Fabric, GlobalRouteHeader};
use crate::spec::PortAt;

use super::{GlobalRoute, table};

/// Next header: base transport header.
const NEXT_HEADER: u8 = 0x1B;
/// Length of BTH, DETH and ICRC.
const TRANSPORT_BYTES: usize = 12 + 8 + 4;

/// The GRH of a message from a port; `None` if the GID table has no entry at `sgid_index`.
pub(super) fn outgoing(
    fabric: &Fabric,
    at: PortAt,
    route: &GlobalRoute,
) -> Option<GlobalRouteHeader> {
    Some(GlobalRouteHeader {
        sgid: table::gid(fabric, at, route.sgid_index)?,
        dgid: route.dgid,
        flow_label: route.flow_label & 0xF_FFFF,
        traffic_class: route.traffic_class,
        hop_limit: route.hop_limit,
    })
}

/// The 40-byte GRH of a message with `payload` bytes.
#[must_use]
pub fn header(grh: &GlobalRouteHeader, payload: usize) -> [u8; 40] {
    let mut h = [0; 40];
    let first = 6 << 28 | u32::from(grh.traffic_class) << 20 | (grh.flow_label & 0xF_FFFF);
    // saturates: no datagram is that long.
    let length = u16::try_from(TRANSPORT_BYTES + payload.next_multiple_of(4)).unwrap_or(u16::MAX);
    h[..4].copy_from_slice(&first.to_be_bytes());
    h[4..6].copy_from_slice(&length.to_be_bytes());
    h[6] = NEXT_HEADER;
    h[7] = grh.hop_limit;
    h[8..24].copy_from_slice(&grh.sgid.0);
    h[24..].copy_from_slice(&grh.dgid.0);
    h
}
