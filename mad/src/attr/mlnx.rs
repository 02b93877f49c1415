//! Mellanox ExtendedPortInfo (attribute 0xFF90): FDR10.

crate::wire! {
    /// ExtendedPortInfo; the modifier is the port.
    pub struct ExtendedPortInfo[64] {
        /// 1 makes the rest of a Set effective.
        state_change_enable: u8 = 24, 8;
        /// Bit 0: FDR10 is possible.
        link_speed_supported: u8 = 56, 8;
        /// Bit 0: FDR10 may be negotiated.
        link_speed_enabled: u8 = 88, 8;
        /// Bit 0: FDR10 is in use.
        link_speed_active: u8 = 120, 8;
    }
}
