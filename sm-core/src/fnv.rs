//! FNV-1a: a digest of bytes or text that is the same on every machine. It detects differences, not forgery.

use core::fmt;

/// A 64-bit digest of the bytes written to it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fnv1a(u64);

impl Default for Fnv1a {
    fn default() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }
}

impl Fnv1a {
    /// The digest of `bytes`.
    pub(crate) fn hash(bytes: &[u8]) -> u64 {
        let mut digest = Self::default();
        digest.write_bytes(bytes);
        digest.value()
    }

    pub(crate) fn write_bytes(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.0 = (self.0 ^ u64::from(*b)).wrapping_mul(0x0100_0000_01B3);
        }
    }

    pub(crate) fn write_u64(&mut self, number: u64) {
        self.write_bytes(&number.to_le_bytes());
    }

    pub(crate) const fn value(self) -> u64 {
        self.0
    }
}

impl fmt::Write for Fnv1a {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.write_bytes(text.as_bytes());
        Ok(())
    }
}
