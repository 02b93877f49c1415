//! Indices and counts in the widths in which tables store them. A number that does not fit is a
//! defect: the largest fabric is far below 32 bits.

/// Converts an index or a count to 32 bits.
///
/// # Panics
/// If it does not fit.
#[inline]
#[expect(
    clippy::expect_used,
    reason = "a saturated index would name another element"
)]
pub(crate) fn index_to_u32(index: usize) -> u32 {
    u32::try_from(index).expect("an index of at most 32 bits")
}

/// Converts an index to 16 bits.
///
/// # Panics
/// If it does not fit.
#[inline]
#[expect(
    clippy::expect_used,
    reason = "a saturated index would name another element"
)]
pub(crate) fn index_to_u16(index: usize) -> u16 {
    u16::try_from(index).expect("an index of at most 16 bits")
}

/// Converts the number of a port or VL to 8 bits.
///
/// # Panics
/// If it does not fit.
#[inline]
#[expect(
    clippy::expect_used,
    reason = "a saturated number would name another port or VL"
)]
pub(crate) fn index_to_u8(index: usize) -> u8 {
    u8::try_from(index).expect("an index of at most 8 bits")
}
