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

/// A field that is selected by one component.
pub(super) const fn component(name: &'static str, bit: usize, width: usize, number: u8) -> Field {
    Field {
        name,
        bit,
        width,
        component_mask: 1 << number,
    }
}

/// The fields of an attribute inside a record, `shift` bits further, selected by the components of these numbers; 255 for a
/// field that no component selects.
pub(super) const fn embedded<const N: usize>(
    fields: &[Field],
    shift: usize,
    numbers: [u8; N],
) -> [Field; N] {
    assert!(fields.len() == N, "one number for each field");
    let mut all = [component("", 0, 1, 0); N];
    let mut i = 0;
    while i < N {
        all[i] = Field {
            name: fields[i].name,
            bit: fields[i].bit + shift,
            width: fields[i].width,
            component_mask: if numbers[i] == 255 {
                0
            } else {
                1 << numbers[i]
            },
        };
        i += 1;
    }
    all
}

/// `N` fields of one width side by side, selected by as many components.
pub(super) const fn series<const N: usize>(
    name: &'static str,
    bit: usize,
    width: usize,
    first: u8,
) -> [Field; N] {
    let mut all = [component(name, 0, 1, 0); N];
    let mut i = 0;
    let mut number = first;
    while i < N {
        all[i] = component(name, bit + i * width, width, number);
        number += 1;
        i += 1;
    }
    all
}

/// One table after the other.
pub(super) const fn joined<const N: usize>(parts: &[&[Field]]) -> [Field; N] {
    let mut all = [component("", 0, 1, 0); N];
    let (mut part, mut n) = (0, 0);
    while part < parts.len() {
        let mut i = 0;
        while i < parts[part].len() {
            all[n] = parts[part][i];
            n += 1;
            i += 1;
        }
        part += 1;
    }
    assert!(n == N, "the parts have another number of fields");
    all
}

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
        Self::of(R::COMPONENTS, component_mask, wanted)
    }

    /// The same for any table of components.
    #[must_use]
    pub fn of(components: &[Field], component_mask: u64, wanted: &[u8]) -> Self {
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

    const FIELDS: &[Field] = &[
        component("a", 0, 4, 0),
        component("b", 4, 12, 1),
        component("c", 64, 128, 2),
    ];

    #[test]
    fn only_what_is_selected_counts() {
        let mut wanted = [0u8; 24];
        wanted[0] = 0x5A;
        wanted[1] = 0xBC;
        wanted[8..24].fill(7);
        let mut record = wanted;
        record[2] = 0xFF;
        assert!(Template::of(FIELDS, 0b111, &wanted).matches(&record));
        record[0] = 0x6A;
        assert!(!Template::of(FIELDS, 0b001, &wanted).matches(&record));
        assert!(Template::of(FIELDS, 0b110, &wanted).matches(&record));
        record[23] = 8;
        assert!(!Template::of(FIELDS, 0b100, &wanted).matches(&record));
        assert!(Template::of(FIELDS, 0b010, &wanted).matches(&record));
    }

    #[test]
    fn a_component_that_does_not_exist_selects_nothing() {
        let any = Template::of(FIELDS, 1 << 40, &[0xFF; 24]);
        assert!(any.is_any() && any.matches(&[]));
    }

    #[test]
    fn a_short_record_has_nothing() {
        let template = Template::of(FIELDS, 0b010, &[0; 24]);
        assert!(!template.matches(&[0]));
        assert!(template.matches(&[0, 0]));
    }
}
