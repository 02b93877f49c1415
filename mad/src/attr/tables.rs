//! Tables that are read and written in blocks (IBA 14.2.5.7 to 14.2.5.12).

use crate::ids::{AttrMod, PKey, PortNum, Vl};
use crate::wire::{BitValue, FieldText};

/// Entries of a linear forwarding table block.
pub const LFT_BLOCK_LEN: usize = 64;
/// Entries of a multicast forwarding table block.
pub const MFT_BLOCK_LEN: usize = 32;
/// Entries of a P_Key table block.
pub const PKEY_BLOCK_LEN: usize = 32;

crate::wire! {
    /// LinearForwardingTable: output ports of 64 LIDs; the modifier is the block number.
    pub struct LftBlock[64] {
        /// 0xFF drops, 0 is the switch itself.
        ports: [PortNum; LFT_BLOCK_LEN] = 0, 512;
    }
}

crate::wire! {
    /// MulticastForwardingTable: port masks of 32 MLIDs.
    pub struct MftBlock[64] {
        /// Bit b of a mask is port 16 × position + b.
        masks: [u16; MFT_BLOCK_LEN] = 0, 512;
    }
}

crate::wire! {
    /// P_KeyTable: 32 keys.
    pub struct PKeyBlock[64] {
        /// The P_Keys; base value 0 is an empty entry.
        keys: [PKey; PKEY_BLOCK_LEN] = 0, 512;
    }
}

crate::wire! {
    /// SLtoVLMappingTable: the VL of each of 16 SLs.
    pub struct SlToVl[64] {
        /// 15 drops.
        vls: [Vl; 16] = 0, 64;
    }
}

/// One entry of a VL arbitration table.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct VlArbEntry {
    /// The VL.
    pub vl: Vl,
    /// Weight in units of 64 bytes; 0 skips the entry.
    pub weight: u8,
}

/// `VL:weight`, as infiniband-diags prints it.
impl core::fmt::Debug for VlArbEntry {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}:{}", self.vl, self.weight)
    }
}

impl BitValue for VlArbEntry {
    fn from_bits(v: u64) -> Self {
        Self {
            vl: Vl(u8::from_bits((v >> 8) & 0xF)),
            weight: u8::from_bits(v & 0xFF),
        }
    }
    fn to_bits(self) -> u64 {
        u64::from(self.vl.0 & 0xF) << 8 | u64::from(self.weight)
    }
    fn value_text(self) -> FieldText {
        FieldText::Text(format!("{self:?}"))
    }
}

crate::wire! {
    /// VLArbitrationTable: 32 entries of one priority.
    pub struct VlArb[64] {
        /// In the order of service.
        entries: [VlArbEntry; 32] = 0, 512;
    }
}

impl MftBlock {
    /// The modifier of a block and a group of 16 ports.
    #[must_use]
    pub const fn modifier(block: u16, position: u8) -> AttrMod {
        AttrMod((block & 0x1FF) as u32 | (position as u32) << 28)
    }
}

impl PKeyBlock {
    /// The modifier of a block of a port (0 except for switch ports).
    #[must_use]
    pub const fn modifier(block: u16, port: PortNum) -> AttrMod {
        AttrMod(block as u32 | (port.0 as u32) << 16)
    }
}

impl SlToVl {
    /// The modifier of a switch's table between two ports; 0 for CAs and routers.
    #[must_use]
    pub const fn modifier(input: PortNum, output: PortNum) -> AttrMod {
        AttrMod((input.0 as u32) << 8 | output.0 as u32)
    }
}

impl VlArb {
    /// The modifier of a block: 1 and 2 low priority, 3 and 4 high priority.
    #[must_use]
    pub const fn modifier(block: u8, output: PortNum) -> AttrMod {
        AttrMod((block as u32) << 16 | output.0 as u32)
    }
}
