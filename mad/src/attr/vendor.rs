//! VendorDiag and LedInfo (IBA 14.2.5.14, 14.2.5.15).

crate::wire! {
    /// VendorDiag: diagnostic data of the vendor, a chain of indices.
    pub struct VendorDiag[64] {
        /// The next index with data; 0 at the end.
        next_index: u16 = 0, 16;
        /// Vendor-defined data.
        diag_data: [u8; 62] = 16, 496;
    }
}

crate::wire! {
    /// LedInfo: a port's beacon.
    pub struct LedInfo[64] {
        /// The LED is on.
        led_mask: bool = 0, 1;
    }
}
