//! Properties of management classes and methods in the kernel's MAD layer (Linux `mad.c`).

use ferrosm_mad::mad::{MAD_LEN, Method, MgmtClass};
use ferrosm_mad::sa;

/// Length of the common header.
pub(super) const MAD_HEADER: usize = 24;
/// Length of the common and RMPP headers.
pub(super) const RMPP_HEADER: usize = 36;
/// Upper bound of management classes that can be registered, except directed route.
pub(super) const MAX_CLASS: u8 = 0x50;
/// Upper bound of class versions.
pub(super) const MAX_VERSION: u8 = 0x83;

const COMMUNICATION: MgmtClass = MgmtClass(0x07);
const BASEBOARD: MgmtClass = MgmtClass(0x05);
const DEVICE: MgmtClass = MgmtClass(0x06);
const DEVICE_ADM: MgmtClass = MgmtClass(0x10);
const BOOT: MgmtClass = MgmtClass(0x12);
const CLASS_PORT_INFO: [u8; 2] = [0, 1];

/// Whether it is a subnet management class (QP0 only).
pub(super) fn is_smi(class: MgmtClass) -> bool {
    class == MgmtClass::SubnLid || class == MgmtClass::SubnDirected
}

/// Whether it is a vendor class with OUI.
pub(super) fn is_oui_vendor(class: MgmtClass) -> bool {
    (0x30..=0x4F).contains(&class.0)
}

/// Whether the class has an RMPP header.
pub(super) fn has_rmpp(class: MgmtClass) -> bool {
    class == MgmtClass::SubnAdm
        || class == DEVICE
        || class == DEVICE_ADM
        || class == BOOT
        || is_oui_vendor(class)
}

/// Offset of the class data.
pub(super) fn data_offset(class: MgmtClass) -> usize {
    if class == MgmtClass::SubnAdm {
        sa::DATA_OFFSET
    } else if class == DEVICE || class == DEVICE_ADM || class == BOOT {
        64
    } else if is_oui_vendor(class) {
        40
    } else {
        MAD_HEADER
    }
}

/// Whether it is a response, with the requester's TID.
pub(super) fn is_response(mad: &[u8; MAD_LEN]) -> bool {
    mad[3] & 0x80 != 0
        || mad[3] == Method::TrapRepress.0
        || (mad[1] == BASEBOARD.0 && mad[23] & 1 != 0)
}

/// Whether the MAD layer accepts a MAD received on `qpn`.
pub(super) fn is_valid(mad: &[u8; MAD_LEN], qpn: u32) -> bool {
    let class = MgmtClass(mad[1]);
    if mad[0] != 1 || is_smi(class) != (qpn == 0) {
        return false;
    }
    class != COMMUNICATION || mad[16..18] == CLASS_PORT_INFO || mad[3] == Method::Send.0
}

/// Whether RMPP is active in the RMPP header.
pub(super) fn rmpp_is_active(mad: &[u8; MAD_LEN]) -> bool {
    mad[26] & 1 != 0
}

/// Transaction ID.
pub(super) fn tid(mad: &[u8; MAD_LEN]) -> u64 {
    ferrosm_mad::wire::get_bits(mad, 64, 64)
}

const MAX_HOPS: u8 = 64;
const PERMISSIVE: [u8; 2] = [0xFF; 2];

/// The kernel rejects this directed-route SMP (EINVAL).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BadRoute;

/// Whether a directed-route SMP sent from `port` ends at this node (IBA 14.2.2, as Linux `smi.c`
/// checks it before sending).
pub(super) fn ends_at_own_node(
    mad: &[u8; MAD_LEN],
    is_switch: bool,
    port: u8,
) -> Result<bool, BadRoute> {
    let pointer = mad[6];
    let count = mad[7];
    let slid_permissive = mad[32..34] == PERMISSIVE;
    let dlid_permissive = mad[34..36] == PERMISSIVE;
    let returning = mad[4] & 0x80 != 0;
    let starts_here = if returning {
        dlid_permissive
    } else {
        slid_permissive
    };
    let mut pointer_out = pointer;
    if starts_here {
        if count >= MAX_HOPS {
            return Err(BadRoute);
        }
        let path = if returning { 192 } else { 128 };
        let leaves_here = |hop: u8| is_switch || mad[path + usize::from(hop)] == port;
        let allowed = if returning {
            if count != 0 && pointer == count + 1 {
                pointer_out -= 1;
                leaves_here(pointer_out)
            } else if pointer == 1 {
                pointer_out = 0;
                is_switch || slid_permissive
            } else {
                pointer == 0 || (is_switch && pointer <= count)
            }
        } else if count != 0 && pointer == 0 {
            pointer_out = 1;
            leaves_here(1)
        } else if pointer == count {
            pointer_out += 1;
            is_switch || dlid_permissive
        } else {
            pointer == count + 1 || (is_switch && pointer < count)
        };
        if !allowed {
            return Err(BadRoute);
        }
    }
    Ok(if returning {
        pointer_out == 0
    } else {
        pointer_out == count.wrapping_add(1)
    })
}
