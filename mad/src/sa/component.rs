//! Which fields of a record a query asks for, and whether a record has them (IBA 15.4.4).
//!
//! Every component of every record is compared the same way, as bits: a query becomes a [`Template`] once, and each record
//! costs a few words of comparison. What the bits mean is not known here; where a component is more than equality (paths, and
//! what only the trusted may see) the administrator decides.

use crate::ids::AttrId;
use crate::wire::{Field, get_bits, set_bits};

/// Bytes of the longest record (ServiceRecord).
pub const RECORD_LEN_MAX: usize = 176;

/// A record of subnet administration.
pub trait Record {
    /// Its attribute.
    const ATTR: AttrId;
    /// Bytes from one record to the next in a table: a multiple of 8.
    const STRIDE: usize;
    /// Its components: all fields that a component mask can select.
    const COMPONENTS: &'static [Field];
}

/// Makes a layout a record of the attribute with that identifier.
macro_rules! record {
    ($name:ident, $attr:expr) => {
        impl $crate::sa::Record for $name {
            const ATTR: $crate::ids::AttrId = $attr;
            const STRIDE: usize = Self::LEN;
            const COMPONENTS: &'static [$crate::wire::Field] = Self::COMPONENTS;
        }
    };
}
pub(super) use record;

/// A query by equality: the bits that count, and what they must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Template {
    mask: [u8; RECORD_LEN_MAX],
    value: [u8; RECORD_LEN_MAX],
    /// Bytes up to the last one that counts.
    len: usize,
}

impl Template {
    /// A template that every record matches.
    pub const ANY: Self = Self {
        mask: [0; RECORD_LEN_MAX],
        value: [0; RECORD_LEN_MAX],
        len: 0,
    };

    /// What the selected components of `wanted` say. Components that the record has not got count for nothing.
    #[must_use]
    pub fn new<R: Record>(component_mask: u64, wanted: &[u8]) -> Self {
        Self::from_fields(R::COMPONENTS, component_mask, wanted)
    }

    /// The same for any table of components.
    #[must_use]
    pub fn from_fields(components: &[Field], component_mask: u64, wanted: &[u8]) -> Self {
        let mut template = Self::ANY;
        for field in components {
            if field.component_mask & component_mask != 0 {
                template.select(field, wanted);
            }
        }
        template
    }

    fn select(&mut self, field: &Field, wanted: &[u8]) {
        let end = (field.bit + field.width).div_ceil(8);
        if end > RECORD_LEN_MAX || end > wanted.len() {
            return;
        }
        self.len = self.len.max(end);
        let mut at = field.bit;
        while at < field.bit + field.width {
            let width = (field.bit + field.width - at).min(64);
            set_bits(&mut self.mask, at, width, u64::MAX);
            let bits = get_bits(wanted, at, width);
            set_bits(&mut self.value, at, width, bits);
            at += width;
        }
    }

    /// Whether every record matches.
    #[must_use]
    pub const fn is_any(&self) -> bool {
        self.len == 0
    }

    /// Whether a record has all that is asked for; one that is too short has not.
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
    fn only_what_is_selected_counts() {
        let mut wanted = [0u8; 24];
        wanted[0] = 0x5A;
        wanted[1] = 0xBC;
        wanted[8..24].fill(7);
        let mut record = wanted;
        record[2] = 0xFF;
        assert!(Template::from_fields(FIELDS, 0b111, &wanted).matches(&record));
        record[0] = 0x6A;
        assert!(!Template::from_fields(FIELDS, 0b001, &wanted).matches(&record));
        assert!(Template::from_fields(FIELDS, 0b110, &wanted).matches(&record));
        record[23] = 8;
        assert!(!Template::from_fields(FIELDS, 0b100, &wanted).matches(&record));
        assert!(Template::from_fields(FIELDS, 0b010, &wanted).matches(&record));
    }

    #[test]
    fn a_component_that_does_not_exist_selects_nothing() {
        let any = Template::from_fields(FIELDS, 1 << 40, &[0xFF; 24]);
        assert!(any.is_any() && any.matches(&[]));
    }

    #[test]
    fn a_short_record_has_nothing() {
        let template = Template::from_fields(FIELDS, 0b010, &[0; 24]);
        assert!(!template.matches(&[0]));
        assert!(template.matches(&[0, 0]));
    }
}
