//! Layouts with fields at bit offsets, for all headers and attributes.
//!
//! The [`wire!`](crate::wire!) macro takes a table with one line per field (name, type, bit offset,
//! width, and component mask bits of fields of SA records) and generates a struct with `decode`,
//! `encode`, `encode_onto` (preserves reserved and vendor bits), `FIELDS` and `COMPONENTS`, and for
//! each field a [`SingleField`] that reads and writes it alone in raw bytes. Bit 0 is the most
//! significant bit of byte 0, as in the specification. Decoding cannot fail: the type determines
//! the length, and unknown codes are preserved. Fields that overlap, are out of order or exceed the
//! layout do not compile, nor does decoding an array that is too short. [`part`] selects bytes of
//! an array, also checked at compile time; bytes of unknown length are decoded with `decode_slice`.

use core::marker::PhantomData;

/// A value that fits into up to 64 bits.
pub trait BitValue: Copy {
    /// From the low bits of `v`.
    fn from_bits(v: u64) -> Self;
    /// As the low bits.
    fn to_bits(self) -> u64;
    /// For printing.
    fn value_text(self) -> FieldText;
}

/// A value for printing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldText {
    /// A number.
    Number(u64),
    /// A code with a name.
    Name(&'static str),
    /// Another form, such as a GUID or a list.
    Text(String),
    /// A key, which is never shown.
    Key {
        /// Whether it is not 0.
        is_set: bool,
    },
}

impl core::fmt::Display for FieldText {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Name(name) => f.write_str(name),
            Self::Text(text) => f.write_str(text),
            Self::Key { is_set: true } => f.write_str("hidden"),
            Self::Key { is_set: false } => f.write_str("none"),
        }
    }
}

macro_rules! int_bits {
    ($($t:ty),*) => {$(
        impl BitValue for $t {
            #[inline]
            #[allow(clippy::cast_possible_truncation, reason = "the field's width is checked at compile time")]
            fn from_bits(v: u64) -> Self { v as $t }
            #[inline]
            #[allow(clippy::useless_conversion, reason = "u64 is one of the types")]
            fn to_bits(self) -> u64 { u64::from(self) }
            fn value_text(self) -> FieldText { FieldText::Number(self.to_bits()) }
        }
    )*};
}
int_bits!(u8, u16, u32, u64);

impl BitValue for bool {
    fn from_bits(v: u64) -> Self {
        v != 0
    }
    fn to_bits(self) -> u64 {
        u64::from(self)
    }
    fn value_text(self) -> FieldText {
        FieldText::Text(self.to_string())
    }
}

/// Position of a field in a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// The name in the struct.
    pub name: &'static str,
    /// First bit; bit 0 is the most significant bit of byte 0.
    pub bit: usize,
    /// Number of bits.
    pub width: usize,
    /// Component mask bits that select the whole field in a query; 0 for none.
    pub component_mask: u64,
}

/// How component masks select a field of a record (IBA 15.4.4).
#[derive(Debug, Clone, Copy)]
pub enum ComponentSelection {
    /// As a whole by its `component_mask`, or not at all.
    Whole,
    /// By one component for each entry of an array.
    Each {
        /// Number of entries.
        entries: usize,
        /// Number of the first component.
        first: usize,
    },
    /// By one component for each field of the contained attribute.
    Attribute {
        /// Fields of the attribute.
        fields: &'static [Field],
        /// Component mask bits of each field.
        masks: &'static [u64],
    },
}

impl ComponentSelection {
    const fn len(&self) -> usize {
        match self {
            Self::Whole => 1,
            Self::Each { entries, .. } => *entries,
            Self::Attribute { fields, .. } => fields.len(),
        }
    }

    /// The `n`-th component of `field`.
    const fn component(&self, field: &Field, n: usize) -> Field {
        let mut component = *field;
        match self {
            Self::Whole => {}
            Self::Each { entries, first } => {
                component.width /= *entries;
                component.bit += n * component.width;
                component.component_mask = 1 << (*first + n);
            }
            Self::Attribute { fields, masks } => {
                assert!(fields.len() == masks.len(), "one component for each field");
                component = fields[n];
                component.bit += field.bit;
                component.component_mask = masks[n];
            }
        }
        component
    }
}

/// Number of parts of a layout that component masks can select, for [`components`].
#[must_use]
pub const fn component_count(selections: &[ComponentSelection]) -> usize {
    let mut count = 0;
    let mut i = 0;
    while i < selections.len() {
        count += selections[i].len();
        i += 1;
    }
    count
}

/// The parts of a layout that component masks can select, in the order of the layout.
#[must_use]
pub const fn components<const N: usize>(
    fields: &[Field],
    selections: &[ComponentSelection],
) -> [Field; N] {
    let mut selected = [fields[0]; N];
    let mut count = 0;
    let mut i = 0;
    while i < fields.len() {
        let mut n = 0;
        while n < selections[i].len() {
            selected[count] = selections[i].component(&fields[i], n);
            count += 1;
            n += 1;
        }
        i += 1;
    }
    selected
}

/// `LEN` bytes of an array from byte `AT` on; an array that is too short does not compile.
#[inline]
#[must_use]
pub const fn part<const AT: usize, const LEN: usize, const N: usize>(buf: &[u8; N]) -> &[u8; LEN] {
    const { assert!(AT + LEN <= N, "the part is outside of the array") };
    match buf.split_at(AT).1.first_chunk() {
        Some(part) => part,
        None => unreachable!(),
    }
}

/// [`part`], mutable.
#[inline]
#[must_use]
pub const fn part_mut<const AT: usize, const LEN: usize, const N: usize>(
    buf: &mut [u8; N],
) -> &mut [u8; LEN] {
    const { assert!(AT + LEN <= N, "the part is outside of the array") };
    match buf.split_at_mut(AT).1.first_chunk_mut() {
        Some(part) => part,
        None => unreachable!(),
    }
}

/// Reads `width` (1 to 64) bits at bit offset `bit`.
#[inline]
#[must_use]
pub fn get_bits(buf: &[u8], bit: usize, width: usize) -> u64 {
    let first = bit / 8;
    let last = (bit + width - 1) / 8;
    let bytes = &buf[first..=last];
    let shift = (last + 1) * 8 - bit - width;
    let value = if bytes.len() <= 8 {
        bytes.iter().fold(0, |v, byte| v << 8 | u64::from(*byte)) >> shift
    } else {
        let v = bytes.iter().fold(0, |v, byte| v << 8 | u128::from(*byte));
        #[expect(
            clippy::cast_possible_truncation,
            reason = "masked to the field's width"
        )]
        let low = (v >> shift) as u64;
        low
    };
    if width == 64 {
        value
    } else {
        value & ((1 << width) - 1)
    }
}

/// Writes the low `width` (1 to 64) bits of `value` at bit offset `bit`; other bits are unchanged.
#[inline]
pub fn set_bits(buf: &mut [u8], bit: usize, width: usize, value: u64) {
    let first = bit / 8;
    let last = (bit + width - 1) / 8;
    let shift = (last + 1) * 8 - bit - width;
    let mask64 = if width == 64 {
        u64::MAX
    } else {
        (1 << width) - 1
    };
    let mut mask = u128::from(mask64) << shift;
    let mut v = u128::from(value & mask64) << shift;
    for byte in buf[first..=last].iter_mut().rev() {
        let [mask_byte, ..] = mask.to_le_bytes();
        let [value_byte, ..] = v.to_le_bytes();
        *byte = (*byte & !mask_byte) | (value_byte & mask_byte);
        mask >>= 8;
        v >>= 8;
    }
}

/// Whether fields ascend without overlap, have valid widths, and end within `len` bytes.
#[must_use]
pub const fn layout_is_sound(fields: &[(usize, usize)], len: usize) -> bool {
    let mut end = 0;
    let mut i = 0;
    while i < fields.len() {
        let (bit, width) = fields[i];
        if bit < end || width == 0 || (width > 64 && (bit % 8 != 0 || width % 8 != 0)) {
            return false;
        }
        end = bit + width;
        i += 1;
    }
    end <= len * 8
}

/// A field: an integer of up to 64 bits, or an array or byte string at a byte boundary.
pub trait WireField: Sized {
    /// Number of adjacent entries.
    const ENTRIES: usize = 1;
    /// Reads the field.
    fn read(buf: &[u8], bit: usize, width: usize) -> Self;
    /// Writes the field only.
    fn write(&self, buf: &mut [u8], bit: usize, width: usize);
    /// The value for printing.
    fn text(&self) -> FieldText;
}

impl<T: BitValue> WireField for T {
    #[inline]
    fn read(buf: &[u8], bit: usize, width: usize) -> Self {
        T::from_bits(get_bits(buf, bit, width))
    }
    #[inline]
    fn write(&self, buf: &mut [u8], bit: usize, width: usize) {
        set_bits(buf, bit, width, self.to_bits());
    }
    fn text(&self) -> FieldText {
        self.value_text()
    }
}

/// `N` adjacent entries of `width / N` bits each.
impl<T: BitValue + Default, const N: usize> WireField for [T; N] {
    const ENTRIES: usize = N;
    fn read(buf: &[u8], bit: usize, width: usize) -> Self {
        let w = width / N;
        core::array::from_fn(|i| T::from_bits(get_bits(buf, bit + i * w, w)))
    }
    fn write(&self, buf: &mut [u8], bit: usize, width: usize) {
        let w = width / N;
        for (i, v) in self.iter().enumerate() {
            set_bits(buf, bit + i * w, w, v.to_bits());
        }
    }
    fn text(&self) -> FieldText {
        let entries: Vec<String> = self.iter().map(|v| v.value_text().to_string()).collect();
        FieldText::Text(format!("[{}]", entries.join(", ")))
    }
}

/// One field of a layout of `LEN` bytes: reads and writes it without the other fields.
///
/// A layout has one as associated constant for each field, with the field's name. With constant
/// positions, a read of an integer compiles to a load and a shift.
#[derive(Debug)]
pub struct SingleField<T, const LEN: usize> {
    bit: usize,
    width: usize,
    value: PhantomData<fn() -> T>,
}

impl<T: WireField, const LEN: usize> SingleField<T, LEN> {
    /// The field at this position.
    #[must_use]
    pub const fn new(bit: usize, width: usize) -> Self {
        Self {
            bit,
            width,
            value: PhantomData,
        }
    }

    /// Reads the field from the layout at the start of `buf`.
    #[inline]
    #[must_use]
    pub fn read<const N: usize>(&self, buf: &[u8; N]) -> T {
        const { assert!(N >= LEN, "the array is shorter than the layout") };
        T::read(buf, self.bit, self.width)
    }

    /// Writes the field in the layout at the start of `buf`; all other bits are unchanged.
    #[inline]
    pub fn write<const N: usize>(&self, buf: &mut [u8; N], value: T) {
        const { assert!(N >= LEN, "the array is shorter than the layout") };
        value.write(buf, self.bit, self.width);
    }
}

/// Declares a layout. See the [module](mod@crate::wire).
///
/// In SA records, the component mask bits follow the width:
/// * `cm 3`: bit 3 selects the field; `cm 0 | 1`: either of two bits does.
/// * `cm_each 4`: the entries of an array have bits 4, 5, and so on.
/// * `cm_of NodeInfo [2, 3, _]`: the field contains an attribute, and each field of the attribute
///   has a bit; `_` for none.
///
/// ```
/// ferrosm_mad::wire! {
///     /// Two nibbles and a word.
///     pub struct Sample[4] {
///         /// High nibble.
///         a: u8 = 0, 4;
///         /// Low nibble.
///         b: u8 = 4, 4;
///         /// The word.
///         c: u16 = 16, 16, cm 3;
///     }
/// }
/// let s = Sample::decode(&[0x12, 0xFF, 0x34, 0x56]);
/// assert_eq!((s.a, s.b, s.c), (1, 2, 0x3456));
/// assert_eq!(Sample::FIELDS[2].component_mask, 1 << 3);
///
/// let mut raw = [0x12, 0xFF, 0x34, 0x56];
/// Sample::b.write(&mut raw, 7);
/// assert_eq!(Sample::b.read(&raw), 7);
/// assert_eq!(raw, [0x17, 0xFF, 0x34, 0x56]);
/// ```
#[macro_export]
macro_rules! wire {
    (@selection $ty:ty) => {
        $crate::wire::ComponentSelection::Whole
    };
    (@selection $ty:ty, each $first:literal) => {
        $crate::wire::ComponentSelection::Each {
            entries: <$ty as $crate::wire::WireField>::ENTRIES,
            first: $first,
        }
    };
    (@selection $ty:ty, of $attribute:ty [$($number:tt),*]) => {
        $crate::wire::ComponentSelection::Attribute {
            fields: <$attribute>::FIELDS,
            masks: &[$($crate::wire!(@mask $number)),*],
        }
    };
    (@mask _) => {
        0
    };
    (@mask $number:literal) => {
        1 << $number
    };
    ($(#[$doc:meta])* $vis:vis struct $name:ident[$len:expr] {
        $(
            $(#[$fdoc:meta])* $field:ident : $ty:ty = $bit:expr, $width:expr
            $(, cm $($cm:literal)|+)?
            $(, cm_each $first:literal)?
            $(, cm_of $attribute:ty [$($number:tt),*])?
            ;
        )*
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $vis struct $name {
            $($(#[$fdoc])* pub $field: $ty,)*
        }

        const _: () = assert!(
            $crate::wire::layout_is_sound(&[$(($bit, $width)),*], $len),
            concat!(stringify!($name), ": fields overlap, are out of order, or exceed the layout")
        );

        #[allow(non_upper_case_globals, reason = "the constants stand for fields")]
        impl $name {
            $(
                $(#[$fdoc])*
                pub const $field: $crate::wire::SingleField<$ty, { $len }> =
                    $crate::wire::SingleField::new($bit, $width);
            )*
        }

        impl $name {
            /// Length in bytes.
            pub const LEN: usize = $len;

            /// Position of each field.
            pub const FIELDS: &'static [$crate::wire::Field] = &[$($crate::wire::Field {
                name: stringify!($field),
                bit: $bit,
                width: $width,
                component_mask: 0 $($(| (1u64 << $cm))+)?,
            }),*];

            /// The parts that component masks can select.
            pub const COMPONENTS: &'static [$crate::wire::Field] = &{
                const SELECTIONS: &[$crate::wire::ComponentSelection] = &[$($crate::wire!(
                    @selection $ty
                    $(, each $first)?
                    $(, of $attribute [$($number),*])?
                )),*];
                const N: usize = $crate::wire::component_count(SELECTIONS);
                $crate::wire::components::<N>(Self::FIELDS, SELECTIONS)
            };

            /// Reads the fields from the start of an array of at least `LEN` bytes.
            #[inline]
            #[must_use]
            pub fn decode<const N: usize>(buf: &[u8; N]) -> Self {
                const { assert!(N >= $len, "the array is shorter than the layout") };
                // With literal positions: the compiler folds them in every field.
                Self { $($field: $crate::wire::WireField::read(buf, $bit, $width),)* }
            }

            /// Reads the fields from the start of `buf`; `None` if it is shorter than `LEN`.
            #[inline]
            #[must_use]
            pub fn decode_slice(buf: &[u8]) -> Option<Self> {
                buf.first_chunk::<$len>().map(Self::decode)
            }

            /// Writes the fields at the start of an array of at least `LEN` bytes; reserved and
            /// vendor bits are unchanged.
            #[inline]
            pub fn encode_onto<const N: usize>(&self, buf: &mut [u8; N]) {
                const { assert!(N >= $len, "the array is shorter than the layout") };
                $($crate::wire::WireField::write(&self.$field, buf, $bit, $width);)*
            }

            /// Calls `visit` with each field and its value, in the order of the layout.
            pub fn for_each_field(
                &self,
                visit: &mut dyn FnMut(&'static $crate::wire::Field, &$crate::wire::FieldText),
            ) {
                let mut fields = Self::FIELDS.iter();
                $(if let Some(field) = fields.next() {
                    visit(field, &$crate::wire::WireField::text(&self.$field));
                })*
            }

            /// The layout with reserved bits zero.
            #[inline]
            #[must_use]
            pub fn encode(&self) -> [u8; $len] {
                let mut buf = [0u8; $len];
                self.encode_onto(&mut buf);
                buf
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::decode(&[0u8; $len])
            }
        }
    };
}

/// Declares an open enumeration: a code that preserves unknown values.
#[macro_export]
macro_rules! open_enum {
    ($(#[$doc:meta])* $vis:vis enum $name:ident($int:ty) {
        $($(#[$vdoc:meta])* $variant:ident = $value:expr, $text:literal;)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        $vis struct $name(pub $int);

        #[allow(non_upper_case_globals, reason = "the constants stand for variants")]
        impl $name {
            $($(#[$vdoc])* pub const $variant: Self = Self($value);)*

            /// The specification's name of the value, if defined.
            #[must_use]
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($value => Some($text),)*
                    _ => None,
                }
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self.name() {
                    Some(text) => f.pad(text),
                    None => write!(f, "{:#x}", self.0),
                }
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                core::fmt::Display::fmt(self, f)
            }
        }

        impl $crate::wire::BitValue for $name {
            fn from_bits(v: u64) -> Self {
                Self(<$int as $crate::wire::BitValue>::from_bits(v))
            }
            fn to_bits(self) -> u64 {
                $crate::wire::BitValue::to_bits(self.0)
            }
            fn value_text(self) -> $crate::wire::FieldText {
                match self.name() {
                    Some(name) => $crate::wire::FieldText::Name(name),
                    None => $crate::wire::FieldText::Text(self.to_string()),
                }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Written values read back, and no other bit changes.
        #[test]
        fn bits_round_trip(bit in 0usize..120, width in 1usize..=64, value: u64, fill: u8) {
            prop_assume!(bit + width <= 192);
            let mut buf = [fill; 24];
            set_bits(&mut buf, bit, width, value);
            let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
            prop_assert_eq!(get_bits(&buf, bit, width), value & mask);
            for i in (0..192).filter(|i| !(bit..bit + width).contains(i)) {
                prop_assert_eq!(get_bits(&buf, i, 1), get_bits(&[fill], i % 8, 1));
            }
        }
    }

    #[test]
    fn overlapping_fields_are_rejected() {
        assert!(layout_is_sound(&[(0, 4), (4, 4)], 1));
        assert!(!layout_is_sound(&[(0, 5), (4, 4)], 2), "overlap");
        assert!(!layout_is_sound(&[(4, 4), (0, 4)], 2), "order");
        assert!(!layout_is_sound(&[(0, 9)], 1), "too long");
    }
}
