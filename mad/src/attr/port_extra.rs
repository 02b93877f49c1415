//! PortInfoExtended and LinkSpeedWidthPairsTable.

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
    /// PortInfoExtended (with CapabilityMask2.IsPortInfoExtendedSupported); the modifier is the
    /// port.
    ///
    /// Masks of modes: bit n is the [`FecMode`] with value n.
    pub struct PortInfoExtended[64] {
        /// Bit 0: the port reports FEC modes.
        cap_mask: u32 = 0, 32;
        /// The mode in use.
        fec_mode_active: FecMode = 32, 16;
        /// FDR: supported modes.
        fdr_fec_mode_supported: u16 = 48, 16;
        /// FDR: enabled modes.
        fdr_fec_mode_enabled: u16 = 64, 16;
        /// EDR: supported modes.
        edr_fec_mode_supported: u16 = 80, 16;
        /// EDR: enabled modes.
        edr_fec_mode_enabled: u16 = 96, 16;
        /// HDR: supported modes.
        hdr_fec_mode_supported: u16 = 112, 16;
        /// HDR: enabled modes.
        hdr_fec_mode_enabled: u16 = 128, 16;
        /// NDR: supported modes.
        ndr_fec_mode_supported: u16 = 144, 16;
        /// NDR: enabled modes.
        ndr_fec_mode_enabled: u16 = 160, 16;
    }
}

impl PortInfoExtended {
    /// CapMask: FEC modes are reported.
    pub const CAP_FEC: u32 = 1;
}

crate::wire! {
    /// LinkSpeedWidthPairsTable (with CapabilityMask bit 27): supported widths for each speed.
    pub struct LinkSpeedWidthPairs[64] {
        /// Number of tables of the node.
        num_tables: u8 = 0, 8;
        /// Ports that the table applies to; bit 0 of the last byte is port 0.
        port_mask: [u8; 32] = 8, 256;
        /// Widths at SDR, as in PortInfo.
        speed_2_5: u8 = 264, 8;
        /// Widths at DDR.
        speed_5: u8 = 272, 8;
        /// Widths at QDR.
        speed_10: u8 = 280, 8;
    }
}
