//! Component masks: which fields of a record a query selects (IBA 15.4.4).
//!
//! All components are compared as bits: a query is converted to a [`Template`] once, and each
//! record costs a few word comparisons. Components that need more than equality (paths, and data
//! for trusted clients) are handled by the SA.

use crate::ids::AttrId;
use crate::wire::{Field, get_bits, set_bits};

/// Length of the longest record (ServiceRecord).
pub const RECORD_LEN_MAX: usize = 176;

/// An SA record.
pub trait SaRecord {
    /// Its attribute.
    const ATTR: AttrId;
    /// Distance between records in a table in bytes: a multiple of 8.
    const STRIDE: usize;
    /// All fields that a component mask can select.
    const COMPONENTS: &'static [Field];
}

/// Implements [`SaRecord`] for a layout with this attribute ID. Serialized, it is as on the wire.
macro_rules! record {
    ($name:ident, $attr:expr) => {
        impl $crate::sa::SaRecord for $name {
            const ATTR: $crate::ids::AttrId = $attr;
            const STRIDE: usize = Self::LEN;
            const COMPONENTS: &'static [$crate::wire::Field] = Self::COMPONENTS;
        }

        #[cfg(feature = "serde")]
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                $crate::octets::serialize(&self.encode(), s)
            }
        }

        #[cfg(feature = "serde")]
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                $crate::octets::deserialize(d).map(|bytes: [u8; Self::LEN]| Self::decode(&bytes))
            }
        }
    };
}
pub(super) use record;

/// A query by equality: the bits to compare, and their values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Template {
    mask: [u8; RECORD_LEN_MAX],
    value: [u8; RECORD_LEN_MAX],
    /// Length up to the last byte to compare.
    len: usize,
}

impl Template {
    /// A template that every record matches.
    pub const ANY: Self = Self {
        mask: [0; RECORD_LEN_MAX],
        value: [0; RECORD_LEN_MAX],
        len: 0,
    };

    /// The selected components of `requested`. Undefined component bits are ignored.
    #[must_use]
    pub fn new<R: SaRecord>(component_mask: u64, requested: &[u8]) -> Self {
        Self::from_fields(R::COMPONENTS, component_mask, requested)
    }

    /// As [`Self::new`], for any table of components.
    #[must_use]
    pub fn from_fields(components: &[Field], component_mask: u64, requested: &[u8]) -> Self {
        let mut template = Self::ANY;
        for field in components {
            if field.component_mask & component_mask != 0 {
                template.select(field, requested);
            }
        }
        template
    }

    fn select(&mut self, field: &Field, requested: &[u8]) {
        let end = (field.bit + field.width).div_ceil(8);
        if end > RECORD_LEN_MAX || end > requested.len() {
            return;
        }
        self.len = self.len.max(end);
        let mut at = field.bit;
        while at < field.bit + field.width {
            let width = (field.bit + field.width - at).min(64);
            set_bits(&mut self.mask, at, width, u64::MAX);
            let bits = get_bits(requested, at, width);
            set_bits(&mut self.value, at, width, bits);
            at += width;
        }
    }

    /// Whether every record matches.
    #[must_use]
    pub const fn is_any(&self) -> bool {
        self.len == 0
    }

    /// Whether a record has the values of all selected components; a record that is too short does
    /// not match.
    #[must_use]
    pub fn matches(&self, record: &[u8]) -> bool {
        let Some(record) = record.get(..self.len) else {
            return false;
        };
        let selected = self.mask.iter().zip(&self.value);
        record
            .iter()
            .zip(selected)
            .all(|(byte, (mask, value))| byte & mask == *value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn component(bit: usize, width: usize, number: u8) -> Field {
        Field {
            name: "",
            bit,
            width,
            component_mask: 1 << number,
        }
    }

    const FIELDS: &[Field] = &[
        component(0, 4, 0),
        component(4, 12, 1),
        component(64, 128, 2),
    ];

    #[test]
    fn only_selected_components_are_compared() {
        let mut requested = [0u8; 24];
        requested[0] = 0x5A;
        requested[1] = 0xBC;
        requested[8..24].fill(7);
        let mut record = requested;
        record[2] = 0xFF;
        assert!(Template::from_fields(FIELDS, 0b111, &requested).matches(&record));
        record[0] = 0x6A;
        assert!(!Template::from_fields(FIELDS, 0b001, &requested).matches(&record));
        assert!(Template::from_fields(FIELDS, 0b110, &requested).matches(&record));
        record[23] = 8;
        assert!(!Template::from_fields(FIELDS, 0b100, &requested).matches(&record));
        assert!(Template::from_fields(FIELDS, 0b010, &requested).matches(&record));
    }

    #[test]
    fn undefined_components_are_ignored() {
        let unconstrained = Template::from_fields(FIELDS, 1 << 40, &[0xFF; 24]);
        assert!(unconstrained.is_any() && unconstrained.matches(&[]));
    }

    #[test]
    fn short_record_does_not_match() {
        let template = Template::from_fields(FIELDS, 0b010, &[0; 24]);
        assert!(!template.matches(&[0]));
        assert!(template.matches(&[0, 0]));
    }
}
