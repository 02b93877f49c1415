//! PortInfo as a device reported it, shared between ports that report the same bytes.
//!
//! External ports of a switch in the same state report equal PortInfo, and a published view holds
//! the same bytes as the fabric that it was built from. One allocation serves all of them.

use core::array::TryFromSliceError;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

static ZERO: LazyLock<Arc<[u8; 64]>> = LazyLock::new(|| Arc::new([0; 64]));

/// The 64 bytes of a PortInfo attribute, unknown bits included; all zero by default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortInfoBytes(Arc<[u8; 64]>);

impl PortInfoBytes {
    /// Shares the allocation of the first of `candidates` with equal bytes; allocates if none is
    /// equal.
    #[must_use]
    pub fn shared<'a>(bytes: &[u8; 64], candidates: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut candidates = candidates.into_iter();
        candidates
            .find(|candidate| *candidate.0 == *bytes)
            .map_or_else(|| Self::from(*bytes), Self::clone)
    }
}

impl Default for PortInfoBytes {
    fn default() -> Self {
        Self(Arc::clone(&ZERO))
    }
}

impl Deref for PortInfoBytes {
    type Target = [u8; 64];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl AsRef<[u8]> for PortInfoBytes {
    fn as_ref(&self) -> &[u8] {
        &*self.0
    }
}

impl TryFrom<&[u8]> for PortInfoBytes {
    type Error = TryFromSliceError;

    fn try_from(bytes: &[u8]) -> Result<Self, TryFromSliceError> {
        <[u8; 64]>::try_from(bytes).map(Self::from)
    }
}

impl From<[u8; 64]> for PortInfoBytes {
    fn from(bytes: [u8; 64]) -> Self {
        Self(Arc::new(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_bytes_share_one_allocation() {
        let first = PortInfoBytes::from([1; 64]);
        let second = PortInfoBytes::shared(&[1; 64], [&PortInfoBytes::default(), &first]);
        assert!(Arc::ptr_eq(&first.0, &second.0));
        let third = PortInfoBytes::shared(&[2; 64], [&first]);
        assert_eq!(*third, [2; 64]);
        assert!(!Arc::ptr_eq(&first.0, &third.0));
    }
}
