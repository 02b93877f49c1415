//! PortInfoExtended and LinkSpeedWidthPairsTable: what newer and rarer ports tell beyond PortInfo.

crate::open_enum! {
    /// Forward error correction of a link.
    pub enum FecMode(u16) {
        /// None.
        None = 0, "none";
        /// FireCode.
        FireCode = 1, "FireCode";
        /// Reed-Solomon.
        Rs = 2, "RS-FEC";
        /// Reed-Solomon with low latency.
        LowLatencyRs = 3, "LL-RS-FEC";
    }
}

crate::wire! {
    /// PortInfoExtended (with CapabilityMask2.IsPortInfoExtendedSupported); the modifier is the port.
    ///
    /// Masks of modes: bit n is the mode that [`FecMode`] numbers n.
    pub struct PortInfoExtended[64] {
        /// Bit 0: the port tells about error correction.
        cap_mask: u32 = 0, 32;
        /// The mode in use.
        fec_mode_active: FecMode = 32, 16;
        /// Modes that the port can do at FDR.
        fdr_fec_mode_supported: u16 = 48, 16;
        /// Modes that may be used at FDR.
        fdr_fec_mode_enabled: u16 = 64, 16;
        /// Modes that the port can do at EDR.
        edr_fec_mode_supported: u16 = 80, 16;
        /// Modes that may be used at EDR.
        edr_fec_mode_enabled: u16 = 96, 16;
        /// Modes that the port can do at HDR.
        hdr_fec_mode_supported: u16 = 112, 16;
        /// Modes that may be used at HDR.
        hdr_fec_mode_enabled: u16 = 128, 16;
        /// Modes that the port can do at NDR.
        ndr_fec_mode_supported: u16 = 144, 16;
        /// Modes that may be used at NDR.
        ndr_fec_mode_enabled: u16 = 160, 16;
    }
}

impl PortInfoExtended {
    /// CapMask: the modes of error correction are told.
    pub const CAP_FEC: u32 = 1;
}

crate::wire! {
    /// LinkSpeedWidthPairsTable (with CapabilityMask bit 27): widths that go with each speed.
    pub struct LinkSpeedWidthPairs[64] {
        /// Tables that the node has.
        num_tables: u8 = 0, 8;
        /// The ports that this table is about; bit 0 of the last byte is port 0.
        port_mask: [u8; 32] = 8, 256;
        /// Widths at SDR, as in PortInfo.
        speed_2_5: u8 = 264, 8;
        /// Widths at DDR.
        speed_5: u8 = 272, 8;
        /// Widths at QDR.
        speed_10: u8 = 280, 8;
    }
}
