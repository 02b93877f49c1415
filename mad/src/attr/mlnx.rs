//! Mellanox ExtendedPortInfo (attribute 0xFF90): FDR10.

crate::wire! {
    /// ExtendedPortInfo; the modifier is the port.
    pub struct ExtendedPortInfo[64] {
        /// 1 makes a Set effective.
        state_change_enable: u8 = 24, 8;
        /// Bit 0: FDR10 is supported.
        link_speed_supported: u8 = 56, 8;
        /// Bit 0: FDR10 is enabled.
        link_speed_enabled: u8 = 88, 8;
        /// Bit 0: FDR10 is active.
        link_speed_active: u8 = 120, 8;
    }
}
