//! PortInfo: state, address, timers and capabilities of a port (IBA 14.2.5.6).

use crate::ids::{AttrMod, GidPrefix, Lid, Lmc, MKey, PortNum, Sl};

crate::open_enum! {
    /// State of the link layer.
    pub enum PortState(u8) {
        /// In a Set: unchanged.
        NoChange = 0, "NoChange";
        /// No link.
        Down = 1, "Down";
        /// Link trained; only SMPs pass.
        Initialize = 2, "Initialize";
        /// Configured; data is sent after the transition to Active.
        Armed = 3, "Armed";
        /// All packets pass.
        Active = 4, "Active";
    }
}

crate::open_enum! {
    /// State of the physical layer.
    pub enum PhysState(u8) {
        /// In a Set: unchanged.
        NoChange = 0, "NoChange";
        /// Sleeping.
        Sleep = 1, "Sleep";
        /// Detecting a peer.
        Polling = 2, "Polling";
        /// Disabled.
        Disabled = 3, "Disabled";
        /// Training.
        Training = 4, "PortConfigurationTraining";
        /// Link up.
        LinkUp = 5, "LinkUp";
        /// Recovering from errors.
        ErrorRecovery = 6, "LinkErrorRecovery";
        /// Under test.
        PhyTest = 7, "PhyTest";
    }
}

crate::open_enum! {
    /// MTU code: 256 × 2^(n-1) bytes.
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub enum MtuCode(u8) {
        /// 256 bytes.
        Mtu256 = 1, "256";
        /// 512 bytes.
        Mtu512 = 2, "512";
        /// 1024 bytes.
        Mtu1024 = 3, "1024";
        /// 2048 bytes.
        Mtu2048 = 4, "2048";
        /// 4096 bytes.
        Mtu4096 = 5, "4096";
    }
}

impl MtuCode {
    /// Its size in bytes; `None` for a reserved code.
    #[must_use]
    pub const fn bytes(self) -> Option<u16> {
        match self.0 {
            1..=5 => Some(128 << self.0),
            _ => None,
        }
    }
}

/// PortInfo.CapabilityMask.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct CapMask(pub u32);

impl CapMask {
    /// An SM runs at the port.
    pub const IS_SM: u32 = 1 << 1;
    /// Notice is supported.
    pub const NOTICE: u32 = 1 << 2;
    /// The port sends traps.
    pub const TRAP: u32 = 1 << 3;
    /// SLtoVLMappingTables are supported.
    pub const SL_MAPPING: u32 = 1 << 6;
    /// LedInfo is supported.
    pub const LED_INFO: u32 = 1 << 9;
    /// No SM may run at the port.
    pub const SM_DISABLED: u32 = 1 << 10;
    /// SystemImageGUID is supported.
    pub const SYSTEM_IMAGE_GUID: u32 = 1 << 11;
    /// Trap 259 reports P_Key violations at external ports of the switch.
    pub const SWITCH_PKEY_TRAP: u32 = 1 << 12;
    /// CableInfo is supported.
    pub const CABLE_INFO: u32 = 1 << 13;
    /// The extended speed fields are valid.
    pub const EXTENDED_SPEEDS: u32 = 1 << 14;
    /// CapabilityMask2 is valid.
    pub const CAP_MASK2: u32 = 1 << 15;
    /// Device management is supported.
    pub const DEVICE_MANAGEMENT: u32 = 1 << 19;
    /// Trap 144 reports changes of this mask.
    pub const CAP_MASK_NOTICE: u32 = 1 << 22;
    /// ClientReregister is supported.
    pub const CLIENT_REREGISTER: u32 = 1 << 25;
    /// Trap 144 reports other local changes.
    pub const OTHER_LOCAL_CHANGES: u32 = 1 << 26;
    /// PortInfo.LinkRoundTripLatency is supported.
    pub const LINK_ROUND_TRIP_LATENCY: u32 = 1 << 24;
    /// LinkSpeedWidthPairsTable is supported.
    pub const LINK_SPEED_WIDTH_PAIRS: u32 = 1 << 27;
    /// VendorSpecificMadsTable is supported.
    pub const VENDOR_MADS: u32 = 1 << 28;
    /// MulticastPKeyTrapSuppressionEnabled is supported.
    pub const MULTICAST_PKEY_TRAP_SUPPRESSION: u32 = 1 << 29;
    /// HierarchyInfo is supported.
    pub const HIERARCHY_INFO: u32 = 1 << 31;
    /// SwitchInfo.MulticastFDBTop is supported.
    pub const MULTICAST_FDB_TOP: u32 = 1 << 30;

    /// Whether all bits of `bits` are set.
    #[must_use]
    pub const fn has(self, bits: u32) -> bool {
        self.0 & bits == bits
    }
}

impl core::fmt::Debug for CapMask {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:#010x}", self.0)
    }
}

impl crate::wire::BitValue for CapMask {
    fn from_bits(v: u64) -> Self {
        Self(u32::from_bits(v))
    }
    fn to_bits(self) -> u64 {
        u64::from(self.0)
    }
    fn value_text(self) -> crate::wire::FieldText {
        crate::wire::FieldText::Text(format!("{self:?}"))
    }
}

/// PortInfo.CapabilityMask2.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct CapMask2(pub u16);

impl CapMask2 {
    /// NodeDescription is writable.
    pub const SET_NODE_DESCRIPTION: u16 = 1 << 0;
    /// PortInfoExtended is supported.
    pub const PORT_INFO_EXTENDED: u16 = 1 << 1;
    /// Virtual ports are supported.
    pub const VIRTUALIZATION: u16 = 1 << 2;
    /// Width 2X is supported.
    pub const LINK_WIDTH_2X: u16 = 1 << 4;
    /// HDR is supported.
    pub const LINK_SPEED_HDR: u16 = 1 << 5;
    /// NDR is supported.
    pub const LINK_SPEED_NDR: u16 = 1 << 10;
    /// The second set of extended speed fields is valid.
    pub const EXTENDED_SPEEDS_2: u16 = 1 << 11;
    /// XDR is supported.
    pub const LINK_SPEED_XDR: u16 = 1 << 12;

    /// Whether all bits of `bits` are set.
    #[must_use]
    pub const fn has(self, bits: u16) -> bool {
        self.0 & bits == bits
    }
}

impl core::fmt::Debug for CapMask2 {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:#06x}", self.0)
    }
}

impl crate::wire::BitValue for CapMask2 {
    fn from_bits(v: u64) -> Self {
        Self(u16::from_bits(v))
    }
    fn to_bits(self) -> u64 {
        u64::from(self.0)
    }
    fn value_text(self) -> crate::wire::FieldText {
        crate::wire::FieldText::Text(format!("{self:?}"))
    }
}

crate::wire! {
    /// PortInfo.
    pub struct PortInfo[64] {
        /// Protects the port's management state (end ports).
        m_key: MKey = 0, 64;
        /// Subnet prefix (end ports).
        gid_prefix: GidPrefix = 64, 64;
        /// Base LID (end ports).
        lid: Lid = 128, 16;
        /// LID of the master SM (end ports).
        master_sm_lid: Lid = 144, 16;
        /// Capabilities (end ports; of a switch, port 0).
        capability_mask: CapMask = 160, 32;
        /// Diagnostic code.
        diag_code: u16 = 192, 16;
        /// M_KeyLeasePeriod in seconds; 0 never expires.
        m_key_lease_period: u16 = 208, 16;
        /// The port that received the request.
        local_port_num: PortNum = 224, 8;
        /// Enabled widths: 1 1X, 2 4X, 4 8X, 8 12X, 16 2X; 255 all supported.
        link_width_enabled: u8 = 232, 8;
        /// Supported widths.
        link_width_supported: u8 = 240, 8;
        /// Active width: one bit.
        link_width_active: u8 = 248, 8;
        /// Supported speeds: 1 SDR, 2 DDR, 4 QDR.
        link_speed_supported: u8 = 256, 4;
        /// State of the link layer.
        port_state: PortState = 260, 4;
        /// State of the physical layer.
        port_physical_state: PhysState = 264, 4;
        /// 1 sleep or 2 polling when the link goes down; 0 no change.
        link_down_default_state: u8 = 268, 4;
        /// Access without the M_Key (IBA 14.2.4).
        m_key_protect_bits: u8 = 272, 2;
        /// The port owns 2^LMC LIDs.
        lmc: Lmc = 277, 3;
        /// Active speed: one bit; 0 with an extended speed.
        link_speed_active: u8 = 280, 4;
        /// Enabled speeds; 15 all supported.
        link_speed_enabled: u8 = 284, 4;
        /// MTU of the link.
        neighbor_mtu: MtuCode = 288, 4;
        /// SL of packets to the master SM.
        master_sm_sl: Sl = 292, 4;
        /// Supported VLs: 1 VL0, 2 VL0-1, 3 VL0-3, 4 VL0-7, 5 VL0-14.
        vl_cap: u8 = 296, 4;
        /// Unused by SMs; written as read.
        init_type: u8 = 300, 4;
        /// High-priority data sent before a low-priority packet, in units of 4096 bytes; 255
        /// unlimited.
        vl_high_limit: u8 = 304, 8;
        /// Entries of the high-priority arbitration table.
        vl_arbitration_high_cap: u8 = 312, 8;
        /// Entries of the low-priority arbitration table.
        vl_arbitration_low_cap: u8 = 320, 8;
        /// Unused by SMs.
        init_type_reply: u8 = 328, 4;
        /// Maximum supported MTU.
        mtu_cap: MtuCode = 332, 4;
        /// Packets dropped by HOQLife before the VL stalls (switch ports).
        vl_stall_count: u8 = 336, 3;
        /// Packets wait 4.096 µs × 2^n at the head of a queue; above 19 unlimited (switch ports).
        hoq_life: u8 = 339, 5;
        /// Operational VLs, coded as VLCap; 0 unchanged.
        operational_vls: u8 = 344, 4;
        /// Inbound P_Key enforcement (switch ports).
        partition_enforcement_inbound: bool = 348, 1;
        /// Outbound P_Key enforcement (switch ports).
        partition_enforcement_outbound: bool = 349, 1;
        /// Inbound raw packets are dropped (switch ports).
        filter_raw_inbound: bool = 350, 1;
        /// Outbound raw packets are dropped (switch ports).
        filter_raw_outbound: bool = 351, 1;
        /// Number of SMPs with a wrong M_Key.
        m_key_violations: u16 = 352, 16;
        /// Number of packets with a wrong P_Key.
        p_key_violations: u16 = 368, 16;
        /// Number of packets with a wrong Q_Key.
        q_key_violations: u16 = 384, 16;
        /// Entries of the GUIDInfo table.
        guid_cap: u8 = 400, 8;
        /// ClientReregister: clients must repeat their registrations.
        client_reregister: bool = 408, 1;
        /// Suppresses P_Key traps for multicast packets.
        multicast_pkey_trap_suppression: u8 = 409, 2;
        /// SubnetTimeOut: minimum interval of traps, 4.096 µs × 2^n.
        subnet_timeout: u8 = 411, 5;
        /// Response time: 4.096 µs × 2^n.
        resp_time_value: u8 = 419, 5;
        /// Local physical errors before trap 129.
        local_phy_errors: u8 = 424, 4;
        /// Buffer overruns before trap 130.
        overrun_errors: u8 = 428, 4;
        /// Maximum credit count.
        max_credit_hint: u16 = 432, 16;
        /// Active extended speed 2: 1 XDR.
        link_speed_ext_active2: u8 = 449, 2;
        /// Supported extended speeds 2.
        link_speed_ext_supported2: u8 = 451, 2;
        /// Enabled extended speeds 2.
        link_speed_ext_enabled2: u8 = 453, 3;
        /// In units of 16 symbol times (with IsLinkRoundTripLatencySupported).
        link_round_trip_latency: u32 = 456, 24;
        /// Further capabilities (with IsCapabilityMask2Supported).
        capability_mask2: CapMask2 = 480, 16;
        /// Active extended speed: 1 FDR, 2 EDR, 4 HDR, 8 NDR.
        link_speed_ext_active: u8 = 496, 4;
        /// Supported extended speeds.
        link_speed_ext_supported: u8 = 500, 4;
        /// Enabled extended speeds; 30 none, 31 all supported.
        link_speed_ext_enabled: u8 = 507, 5;
    }
}

/// Speed of a physical lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkSpeed {
    /// 2.5 Gb/s.
    Sdr,
    /// 5 Gb/s.
    Ddr,
    /// 10 Gb/s.
    Qdr,
    /// 10.3125 Gb/s with 64b/66b encoding (Mellanox).
    Fdr10,
    /// 14.0625 Gb/s.
    Fdr,
    /// 25.78125 Gb/s.
    Edr,
    /// 53.125 Gb/s.
    Hdr,
    /// 106.25 Gb/s.
    Ndr,
    /// 212.5 Gb/s.
    Xdr,
}

impl LinkSpeed {
    /// All speeds in ascending order.
    pub const ALL: [Self; 9] = [
        Self::Sdr,
        Self::Ddr,
        Self::Qdr,
        Self::Fdr10,
        Self::Fdr,
        Self::Edr,
        Self::Hdr,
        Self::Ndr,
        Self::Xdr,
    ];

    /// The usual abbreviation.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sdr => "SDR",
            Self::Ddr => "DDR",
            Self::Qdr => "QDR",
            Self::Fdr10 => "FDR10",
            Self::Fdr => "FDR",
            Self::Edr => "EDR",
            Self::Hdr => "HDR",
            Self::Ndr => "NDR",
            Self::Xdr => "XDR",
        }
    }

    /// Data rate of a physical lane in Mb/s.
    #[must_use]
    pub const fn mbps(self) -> u32 {
        match self {
            Self::Sdr => 2_500,
            Self::Ddr => 5_000,
            Self::Qdr | Self::Fdr10 => 10_000,
            Self::Fdr => 14_000,
            Self::Edr => 25_000,
            Self::Hdr => 50_000,
            Self::Ndr => 100_000,
            Self::Xdr => 200_000,
        }
    }
}

/// Number of physical lanes of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkWidth(pub u8);

impl LinkWidth {
    /// From a bit of LinkWidthActive.
    #[must_use]
    pub const fn from_bit(bit: u8) -> Option<Self> {
        Some(Self(match bit {
            1 => 1,
            2 => 4,
            4 => 8,
            8 => 12,
            16 => 2,
            _ => return None,
        }))
    }

    /// The bit of LinkWidthActive.
    #[must_use]
    pub const fn bit(self) -> u8 {
        match self.0 {
            1 => 1,
            2 => 16,
            8 => 4,
            12 => 8,
            _ => 2,
        }
    }
}

/// Width and speed of a link: `4X HDR 200 Gb/s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkRate {
    /// Number of physical lanes.
    pub width: LinkWidth,
    /// Speed per lane.
    pub speed: LinkSpeed,
}

impl LinkRate {
    /// Data rate of the link in Mb/s.
    #[must_use]
    pub const fn mbps(self) -> u32 {
        self.width.0 as u32 * self.speed.mbps()
    }
}

impl core::fmt::Display for LinkRate {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let gbps = self.mbps() / 1000;
        let tenths = self.mbps() % 1000 / 100;
        write!(f, "{}X {} {gbps}", self.width.0, self.speed.name())?;
        if tenths != 0 {
            write!(f, ".{tenths}")?;
        }
        f.write_str(" Gb/s")
    }
}

impl PortInfo {
    /// Modifier bit 31: the requester supports extended speeds.
    pub const EXTENDED_SPEEDS_MOD: u32 = 1 << 31;

    /// The modifier of a port, with support for extended speeds.
    #[must_use]
    pub const fn modifier(port: PortNum) -> AttrMod {
        AttrMod(port.0 as u32 | Self::EXTENDED_SPEEDS_MOD)
    }

    /// The active speed; `None` without a link. The newest field that is set takes precedence.
    #[must_use]
    pub const fn speed(&self) -> Option<LinkSpeed> {
        if self.link_speed_ext_active2 & 1 != 0 {
            return Some(LinkSpeed::Xdr);
        }
        match self.link_speed_ext_active {
            1 => return Some(LinkSpeed::Fdr),
            2 => return Some(LinkSpeed::Edr),
            4 => return Some(LinkSpeed::Hdr),
            8 => return Some(LinkSpeed::Ndr),
            _ => {}
        }
        match self.link_speed_active {
            1 => Some(LinkSpeed::Sdr),
            2 => Some(LinkSpeed::Ddr),
            4 => Some(LinkSpeed::Qdr),
            _ => None,
        }
    }

    /// The active width.
    #[must_use]
    pub const fn width(&self) -> Option<LinkWidth> {
        LinkWidth::from_bit(self.link_width_active)
    }

    /// [`Self::speed`], with FDR10 in place of QDR if ExtendedPortInfo reports `fdr10`.
    #[must_use]
    pub fn speed_with(&self, fdr10: bool) -> Option<LinkSpeed> {
        match self.speed() {
            Some(LinkSpeed::Qdr) if fdr10 => Some(LinkSpeed::Fdr10),
            other => other,
        }
    }

    /// Data rate in Mb/s; `None` without a link. `fdr10` as in [`Self::speed_with`].
    #[must_use]
    pub fn mbps(&self, fdr10: bool) -> Option<u32> {
        let (width, speed) = self.width().zip(self.speed_with(fdr10))?;
        Some(u32::from(width.0) * speed.mbps())
    }

    /// The widest width and the highest speed that this port and the one at the other end of its
    /// link support and have enabled; `None` if they have none in common. FDR10 is not considered.
    #[must_use]
    pub fn best_rate_with(&self, peer: &Self) -> Option<LinkRate> {
        const WIDTHS: [LinkWidth; 5] = [
            LinkWidth(12),
            LinkWidth(8),
            LinkWidth(4),
            LinkWidth(2),
            LinkWidth(1),
        ];
        const SPEEDS: [LinkSpeed; 8] = [
            LinkSpeed::Xdr,
            LinkSpeed::Ndr,
            LinkSpeed::Hdr,
            LinkSpeed::Edr,
            LinkSpeed::Fdr,
            LinkSpeed::Qdr,
            LinkSpeed::Ddr,
            LinkSpeed::Sdr,
        ];
        let widths = self.enabled_widths() & peer.enabled_widths();
        let speeds = self.enabled_speeds() & peer.enabled_speeds();
        let width = WIDTHS.into_iter().find(|w| widths & w.bit() != 0)?;
        let (_, speed) = (0..)
            .zip(SPEEDS)
            .find(|(n, _)| speeds & (0x80_u8 >> *n) != 0)?;
        Some(LinkRate { width, speed })
    }

    const fn enabled_widths(&self) -> u8 {
        self.link_width_enabled & self.link_width_supported
    }

    /// SDR, DDR, QDR, FDR, EDR, HDR, NDR, XDR from the lowest bit.
    const fn enabled_speeds(&self) -> u8 {
        /// LinkSpeedExtEnabled: no extended speed.
        const NO_EXTENDED_SPEED: u8 = 30;
        let legacy = self.link_speed_enabled & self.link_speed_supported & 7;
        let extended = if self.link_speed_ext_enabled == NO_EXTENDED_SPEED {
            0
        } else {
            self.link_speed_ext_enabled & self.link_speed_ext_supported
        };
        let extended2 = self.link_speed_ext_enabled2 & self.link_speed_ext_supported2 & 1;
        legacy | extended << 3 | extended2 << 7
    }

    /// Active width and speed; `None` without a link. FDR10 is reported as QDR: see
    /// ExtendedPortInfo.
    #[must_use]
    pub fn rate(&self) -> Option<LinkRate> {
        Some(LinkRate {
            width: self.width()?,
            speed: self.speed()?,
        })
    }
}
