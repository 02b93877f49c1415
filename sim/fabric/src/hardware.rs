//! Hardware models: identities, table sizes and capabilities of real devices.
//!
//! Identities are from the PCI ID database and from real `ibnetdiscover` files. Capability masks
//! are those that `ibstat` shows, without the bits of attributes that the simulated agent does not
//! implement (CableInfo, HierarchyInfo). Unpublished sizes are those of the neighbouring
//! generation.

use ferrosm_mad::attr::{CapMask, CapMask2, LinkSpeed, MtuCode, NodeType};

/// Mellanox, later NVIDIA: OUI reported by its chips.
pub const MELLANOX: u32 = 0x00_02C9;
/// Mellanox's PCI vendor ID, which some of its chips report instead.
pub const MELLANOX_PCI: u32 = 0x00_15B3;
/// Voltaire.
pub const VOLTAIRE: u32 = 0x00_08F1;
/// QLogic, later Intel.
pub const QLOGIC: u32 = 0x00_1175;
/// Bull.
pub const BULL: u32 = 0x00_119F;

/// Vendor used by the generators.
pub(crate) const VENDOR: u32 = MELLANOX;
/// Device ID of the aggregation CA inside a switch.
pub(crate) const AGGREGATION_DEVICE: u16 = 0xcf09;
/// NodeDescription of that CA.
pub(crate) const AGGREGATION_NAME: &str = "Mellanox Technologies Aggregation Node";

/// Generations of a mixed fabric, slowest first.
pub(crate) const GENERATIONS: [LinkSpeed; 6] = [
    LinkSpeed::Qdr,
    LinkSpeed::Fdr,
    LinkSpeed::Edr,
    LinkSpeed::Hdr,
    LinkSpeed::Ndr,
    LinkSpeed::Xdr,
];

/// Table sizes and capabilities of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HardwareCaps {
    /// PortInfo.MTUCap.
    pub mtu_cap: MtuCode,
    /// VLCap code: 1 is VL0, 2 VL0-1, 3 VL0-3, 4 VL0-7, 5 VL0-14.
    pub vl_cap: u8,
    /// Size of the high-priority arbitration table, at most 64.
    pub vl_arb_high_cap: u8,
    /// Size of the low-priority arbitration table, at most 64.
    pub vl_arb_low_cap: u8,
    /// Size of an end port's GUID table.
    pub guid_cap: u8,
    /// Size of the P_Key table of an end port (for a switch: of port 0).
    pub partition_cap: u16,
    /// Size of the P_Key table of an external switch port.
    pub partition_enforcement_cap: u16,
    /// Size of the LFT; a multiple of 64.
    pub linear_fdb_cap: u16,
    /// Size of the MFT; a multiple of 32.
    pub multicast_fdb_cap: u16,
    /// SwitchInfo.OptimizedSLtoVLMappingProgramming; 0 rejects Sets of SLtoVLMappingTable for all
    /// ports.
    pub optimized_sl_to_vl: u8,
    /// CapabilityMask of an end port, without bits that depend on the speed.
    pub capability_mask: u32,
    /// CapabilityMask2 of an end port, without bits that depend on the speed.
    pub capability_mask2: u16,
    /// Mellanox ExtendedPortInfo (FDR10) is implemented.
    pub ext_port_info: bool,
    /// NodeInfo.Revision.
    pub revision: u32,
}

/// A hardware model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HardwareModel {
    /// CA, switch or router.
    pub kind: NodeType,
    /// NodeInfo.VendorID.
    pub vendor_id: u32,
    /// NodeInfo.DeviceID.
    pub device_id: u16,
    /// Name of the family.
    pub family: &'static str,
    /// A board with this chip.
    pub board: &'static str,
    /// Number of ports of the board.
    pub ports: u8,
    pub max_speed: LinkSpeed,
    /// Table sizes and capabilities.
    pub caps: HardwareCaps,
}

const TRAPS: u32 = CapMask::TRAP | CapMask::CAP_MASK_NOTICE | CapMask::SYSTEM_IMAGE_GUID;
const COMMON: u32 = TRAPS | CapMask::SL_MAPPING | CapMask::CLIENT_REREGISTER;
/// Communication management and vendor class.
const HOST: u32 = 1 << 16 | 1 << 20;
const AUTOMATIC_MIGRATION: u32 = 1 << 5;
/// Bits of the models with CapabilityMask2.
const MASK2: u32 = CapMask::CAP_MASK2 | CapMask::EXTENDED_SPEEDS | CapMask::OTHER_LOCAL_CHANGES;

/// CA of an unknown model: all capabilities, common sizes.
pub(crate) const CA: HardwareCaps = HardwareCaps {
    mtu_cap: MtuCode::Mtu4096,
    vl_cap: 4,
    vl_arb_high_cap: 8,
    vl_arb_low_cap: 8,
    guid_cap: 32,
    partition_cap: 128,
    partition_enforcement_cap: 0,
    linear_fdb_cap: 0,
    multicast_fdb_cap: 0,
    optimized_sl_to_vl: 0,
    capability_mask: COMMON | HOST | MASK2 | CapMask::LED_INFO,
    capability_mask2: 0,
    ext_port_info: false,
    revision: 0,
};

/// Switch of an unknown model.
pub(crate) const SWITCH: HardwareCaps = HardwareCaps {
    guid_cap: 1,
    partition_cap: 32,
    partition_enforcement_cap: 32,
    linear_fdb_cap: 0xC000,
    multicast_fdb_cap: 0x4000,
    optimized_sl_to_vl: 1,
    capability_mask: COMMON
        | MASK2
        | CapMask::LED_INFO
        | CapMask::MULTICAST_FDB_TOP
        | CapMask::SWITCH_PKEY_TRAP,
    ..CA
};

/// ConnectX-3 and later: `ibstat` shows 0x2651e848, from ConnectX-6 on 0xa651e848.
const CONNECTX: HardwareCaps = HardwareCaps {
    capability_mask: COMMON | HOST | MASK2 | CapMask::MULTICAST_PKEY_TRAP_SUPPRESSION,
    ext_port_info: true,
    ..CA
};
const CONNECTX_4: HardwareCaps = HardwareCaps {
    capability_mask2: CapMask2::PORT_INFO_EXTENDED,
    ..CONNECTX
};
/// ConnectX and ConnectX-2: 0x02510868.
const CONNECTX_2: HardwareCaps = HardwareCaps {
    guid_cap: 128,
    capability_mask: COMMON | HOST | AUTOMATIC_MIGRATION,
    ..CA
};
/// InfiniHost III: 0x02510a68.
const INFINIHOST: HardwareCaps = HardwareCaps {
    mtu_cap: MtuCode::Mtu2048,
    vl_cap: 3,
    partition_cap: 64,
    capability_mask: COMMON | HOST | AUTOMATIC_MIGRATION | CapMask::LED_INFO,
    ..CA
};
/// No extended speeds, MLIDs up to 0xC3FF or 0xCFFF.
const INFINISCALE: HardwareCaps = HardwareCaps {
    mtu_cap: MtuCode::Mtu2048,
    multicast_fdb_cap: 0x400,
    optimized_sl_to_vl: 0,
    capability_mask: COMMON | CapMask::LED_INFO,
    revision: 0xA1,
    ..SWITCH
};
const INFINISCALE_4: HardwareCaps = HardwareCaps {
    mtu_cap: MtuCode::Mtu4096,
    multicast_fdb_cap: 0x1000,
    capability_mask: COMMON | CapMask::LED_INFO | CapMask::MULTICAST_FDB_TOP,
    ..INFINISCALE
};
const SWITCH_IB: HardwareCaps = HardwareCaps {
    ext_port_info: true,
    capability_mask2: CapMask2::PORT_INFO_EXTENDED,
    ..SWITCH
};
const SWITCHX: HardwareCaps = HardwareCaps {
    capability_mask2: 0,
    ..SWITCH_IB
};
/// 8192 MLIDs and OptimizedSLtoVLMapping 3 are from an example in a public parser's comment, not
/// from a device.
const QUANTUM_2: HardwareCaps = HardwareCaps {
    multicast_fdb_cap: 0x2000,
    optimized_sl_to_vl: 3,
    ext_port_info: false,
    ..SWITCH_IB
};
const NEWEST_CA: HardwareCaps = HardwareCaps {
    ext_port_info: false,
    ..CONNECTX_4
};

macro_rules! models {
    ($($kind:ident $vendor:ident $device:literal $family:literal $board:literal $ports:literal $speed:ident $caps:ident;)*) => {
        &[$(HardwareModel {
            kind: NodeType::$kind,
            vendor_id: $vendor,
            device_id: $device,
            family: $family,
            board: $board,
            ports: $ports,
            max_speed: LinkSpeed::$speed,
            caps: $caps,
        }),*]
    };
}

/// All known models, CAs first, oldest first.
pub const HARDWARE_MODELS: &[HardwareModel] = models! {
    Ca MELLANOX 0x5a44 "InfiniHost" "MTPB23108" 2 Sdr INFINIHOST;
    Ca MELLANOX 0x6274 "InfiniHost III Lx" "MHGS18" 1 Ddr INFINIHOST;
    Ca MELLANOX 0x6278 "InfiniHost III Ex" "MHEA28" 2 Sdr INFINIHOST;
    Ca MELLANOX 0x6282 "InfiniHost III Ex" "MHGA28" 2 Ddr INFINIHOST;
    Ca QLOGIC 0x0010 "InfiniPath" "QLE7140" 1 Sdr INFINIHOST;
    Ca QLOGIC 0x7220 "InfiniPath" "QLE7240" 1 Ddr INFINIHOST;
    Ca QLOGIC 0x7322 "TrueScale" "QLE7340" 1 Qdr INFINIHOST;
    Ca MELLANOX 0x6340 "ConnectX" "MHEH28" 2 Sdr CONNECTX_2;
    Ca MELLANOX 0x634a "ConnectX" "MHGH28" 2 Ddr CONNECTX_2;
    Ca MELLANOX 0x6732 "ConnectX" "MHGH29" 2 Ddr CONNECTX_2;
    Ca MELLANOX 0x673c "ConnectX-2" "MHQH29" 2 Qdr CONNECTX_2;
    Ca MELLANOX 0x6746 "ConnectX-2" "MHQH19" 1 Qdr CONNECTX_2;
    Ca MELLANOX 0x1003 "ConnectX-3" "MCX354A-FCBT" 2 Fdr CONNECTX;
    Ca MELLANOX 0x1007 "ConnectX-3 Pro" "MCX354A-FCCT" 2 Fdr CONNECTX;
    Ca MELLANOX 0x1011 "Connect-IB" "MCB194A-FCAT" 2 Fdr CONNECTX;
    Ca MELLANOX 0x1013 "ConnectX-4" "MCX456A-ECAT" 2 Edr CONNECTX_4;
    Ca MELLANOX 0x1017 "ConnectX-5" "MCX555A-ECAT" 1 Edr CONNECTX_4;
    Ca MELLANOX 0x1019 "ConnectX-5 Ex" "MCX556A-EDAT" 2 Edr CONNECTX_4;
    Ca MELLANOX 0xa2d2 "BlueField" "MBF1M656A" 2 Edr CONNECTX_4;
    Ca MELLANOX 0x101b "ConnectX-6" "MCX653105A-HDAT" 1 Hdr CONNECTX_4;
    Ca MELLANOX 0xa2d6 "BlueField-2" "MBF2M516A" 2 Hdr NEWEST_CA;
    Ca MELLANOX 0x1021 "ConnectX-7" "MCX75310AAS-NEAT" 1 Ndr NEWEST_CA;
    Ca MELLANOX 0xa2dc "BlueField-3" "B3140H" 1 Ndr NEWEST_CA;
    Ca MELLANOX 0x1023 "ConnectX-8" "C8180" 1 Xdr NEWEST_CA;
    Ca MELLANOX 0xcf09 "aggregation node" "in the switch" 1 Xdr CONNECTX_4;
    Ca VOLTAIRE 0x5a5a "switch management CA" "in the switch" 1 Sdr INFINIHOST;
    Switch MELLANOX 0xa87c "InfiniScale" "MT43132" 8 Sdr INFINISCALE;
    Switch MELLANOX 0xb924 "InfiniScale-III" "MTS2400" 24 Ddr INFINISCALE;
    Switch VOLTAIRE 0x5a06 "ISR 9024" "ISR 9024" 24 Ddr INFINISCALE;
    Switch VOLTAIRE 0x5a30 "Grid Director 4036" "4036" 36 Qdr INFINISCALE_4;
    Switch MELLANOX 0xbd36 "InfiniScale-IV" "IS5030" 36 Qdr INFINISCALE_4;
    Switch MELLANOX 0xc738 "SwitchX" "SX6036" 36 Fdr SWITCHX;
    Switch BULL 0x1b02 "SwitchX" "Bull SwitchX" 36 Fdr SWITCHX;
    Switch MELLANOX 0xcb20 "Switch-IB" "SB7700" 36 Edr SWITCH_IB;
    Switch MELLANOX 0xcf08 "Switch-IB 2" "SB7800" 36 Edr SWITCH_IB;
    Switch MELLANOX 0xd2f0 "Quantum" "MQM8700" 40 Hdr SWITCH_IB;
    Switch MELLANOX 0xd2f2 "Quantum-2" "MQM9700" 64 Ndr QUANTUM_2;
    Switch MELLANOX 0xd2f4 "Quantum-X800" "Q3400" 144 Xdr QUANTUM_2;
};

/// The model with these IDs.
#[must_use]
pub fn model(kind: NodeType, vendor_id: u32, device_id: u16) -> Option<&'static HardwareModel> {
    let vendor_id = if vendor_id == MELLANOX_PCI {
        MELLANOX
    } else {
        vendor_id
    };
    HARDWARE_MODELS
        .iter()
        .find(|p| (p.kind, p.vendor_id, p.device_id) == (kind, vendor_id, device_id))
}

/// Table sizes and capabilities of a model, or common ones if it is unknown.
#[must_use]
pub fn caps(kind: NodeType, vendor_id: u32, device_id: u16) -> HardwareCaps {
    if let Some(model) = model(kind, vendor_id, device_id) {
        return model.caps;
    }
    HardwareCaps {
        ext_port_info: vendor_id == MELLANOX || vendor_id == MELLANOX_PCI,
        ..if kind == NodeType::Switch { SWITCH } else { CA }
    }
}

/// Device ID of a node built for a speed.
pub(crate) fn device(kind: NodeType, speed: LinkSpeed) -> u16 {
    let (switch, ca) = match speed {
        LinkSpeed::Sdr | LinkSpeed::Ddr => (0xb924, 0x6282),
        LinkSpeed::Qdr => (0xbd36, 0x673c),
        LinkSpeed::Fdr10 | LinkSpeed::Fdr => (0xc738, 0x1003),
        LinkSpeed::Edr => (0xcf08, 0x1017),
        LinkSpeed::Hdr => (0xd2f0, 0x101b),
        LinkSpeed::Ndr => (0xd2f2, 0x1021),
        LinkSpeed::Xdr => (0xd2f4, 0x1023),
    };
    if kind == NodeType::Switch { switch } else { ca }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_generation_has_a_switch_and_a_ca_of_its_speed() {
        for speed in LinkSpeed::ALL {
            for kind in [NodeType::Ca, NodeType::Switch] {
                let model = model(kind, VENDOR, device(kind, speed)).unwrap();
                assert!(model.max_speed >= speed, "{}", model.family);
            }
        }
    }

    #[test]
    fn models_are_distinct_and_have_tables_of_whole_blocks() {
        let mut numbers: Vec<_> = HARDWARE_MODELS
            .iter()
            .map(|p| (p.kind, p.vendor_id, p.device_id))
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), HARDWARE_MODELS.len());
        for p in HARDWARE_MODELS {
            let c = p.caps;
            assert_eq!(c.linear_fdb_cap == 0, p.kind != NodeType::Switch);
            assert_eq!((c.linear_fdb_cap % 64, c.multicast_fdb_cap % 32), (0, 0));
            assert!(c.vl_arb_high_cap <= 64 && c.vl_arb_low_cap <= 64);
            assert!((1..=5).contains(&c.vl_cap) && c.partition_cap > 0);
            let fast = p.max_speed > LinkSpeed::Fdr10;
            assert_eq!(
                CapMask(c.capability_mask).has(CapMask::EXTENDED_SPEEDS),
                fast,
                "{}",
                p.family
            );
        }
    }

    /// OpenSM's list of devices with ExtendedPortInfo (osm_subnet.c), by device ID.
    #[test]
    fn extended_port_info_is_implemented_by_the_models_that_opensm_queries() {
        for p in HARDWARE_MODELS.iter().filter(|p| p.vendor_id == MELLANOX) {
            let queried = matches!(
                p.device_id,
                0x1003..=0x101b | 0xa2d2 | 0xc738..=0xc73b | 0xc839 | 0xcb20 | 0xcf08 | 0xcf09 | 0xd2f0
            );
            assert_eq!(p.caps.ext_port_info, queried, "{}", p.family);
        }
    }
}
