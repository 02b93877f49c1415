//! How OpenSM reads the value of an option (`osm_subnet.c`). The result is the value as `opensm -c`
//! would write it.

/// Text for an option that is not set.
pub const NOT_SET: &str = "(null)";

/// The type of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueFormat {
    /// A 64-bit number, written with 16 hexadecimal digits.
    Hex64,
    /// The same, of a key that must not be shown.
    Secret,
    /// An unsigned number up to a maximum, written with this notation.
    Unsigned { max: u32, notation: Notation },
    /// A signed number. Text that is no number is read up to the first other character, or as 0.
    Signed,
    /// `TRUE`; any other text is FALSE.
    Boolean,
    /// Any text; `(null)` is none.
    Text,
    /// 256 bits in hexadecimal digits.
    Mask,
    /// Text that OpenSM reads into a structure. It is not interpreted here.
    Structure,
}

/// How `opensm -c` writes a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notation {
    Decimal,
    /// `0x` and at least this many digits.
    Hexadecimal(usize),
}

/// A byte, written in decimal.
pub(super) const BYTE: ValueFormat = decimal(0xFF);
/// A byte, written in hexadecimal.
pub(super) const HEX_BYTE: ValueFormat = ValueFormat::Unsigned {
    max: 0xFF,
    notation: Notation::Hexadecimal(2),
};
/// A 16-bit number, written in decimal.
pub(super) const WORD: ValueFormat = decimal(0xFFFF);
/// A 16-bit number, written in hexadecimal.
pub(super) const HEX_WORD: ValueFormat = ValueFormat::Unsigned {
    max: 0xFFFF,
    notation: Notation::Hexadecimal(4),
};
/// A 32-bit number, written in decimal.
pub(super) const LONG: ValueFormat = decimal(u32::MAX);
/// A 32-bit number, written in hexadecimal.
pub(super) const HEX_LONG: ValueFormat = ValueFormat::Unsigned {
    max: u32::MAX,
    notation: Notation::Hexadecimal(1),
};

const fn decimal(max: u32) -> ValueFormat {
    ValueFormat::Unsigned {
        max,
        notation: Notation::Decimal,
    }
}

/// Why OpenSM does not use a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueRejection {
    NotANumber,
    /// The largest number.
    Above(u64),
    NotAMask,
}

impl core::fmt::Display for ValueRejection {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NotANumber => f.write_str("no number"),
            Self::Above(max) => write!(f, "above {max}"),
            Self::NotAMask => f.write_str("no hexadecimal mask"),
        }
    }
}

impl ValueFormat {
    /// The value of a text without surrounding blanks and quotes.
    ///
    /// # Errors
    /// OpenSM keeps the previous value.
    pub fn read(self, text: &str) -> Result<String, ValueRejection> {
        match self {
            Self::Hex64 | Self::Secret => {
                whole_number(text).map(|number| format!("{number:#018x}"))
            }
            Self::Unsigned { max, notation } => {
                let number = whole_number(text)?;
                if number > u64::from(max) {
                    return Err(ValueRejection::Above(max.into()));
                }
                Ok(notation.print(number))
            }
            Self::Signed => Ok(signed(text).to_string()),
            Self::Boolean => Ok(if text == "TRUE" { "TRUE" } else { "FALSE" }.to_owned()),
            Self::Text | Self::Structure => Ok(text.to_owned()),
            Self::Mask => mask(text),
        }
    }
}

impl Notation {
    fn print(self, number: u64) -> String {
        match self {
            Self::Decimal => number.to_string(),
            Self::Hexadecimal(digits) => format!("0x{number:0digits$x}"),
        }
    }
}

/// A number as `strtoull` reads it with base 0, which must be the whole text. A negative number
/// wraps around.
fn whole_number(text: &str) -> Result<u64, ValueRejection> {
    let number = leading_number(text);
    if text.is_empty() || number.length != text.len() {
        return Err(ValueRejection::NotANumber);
    }
    number.value.ok_or(ValueRejection::Above(u64::MAX))
}

/// A number as `strtol` reads it into 32 bits.
fn signed(text: &str) -> i32 {
    let number = leading_number(text);
    let is_negative = text.trim_start_matches(is_c_space).starts_with('-');
    let value = match (number.value, is_negative) {
        (Some(value), true) => value.cast_signed().min(0),
        (None, true) => i64::MIN,
        // saturates: strtol returns the largest number.
        (value, false) => i64::try_from(value.unwrap_or(u64::MAX)).unwrap_or(i64::MAX),
    };
    #[expect(
        clippy::cast_possible_truncation,
        reason = "OpenSM stores the low 32 bits"
    )]
    let low = value as i32;
    low
}

/// The number at the start of a text.
pub(crate) struct LeadingNumber {
    /// The value modulo 2^64; `None` if its digits exceed 64 bits.
    pub(crate) value: Option<u64>,
    /// Bytes of the text that belong to it; 0 without a digit.
    pub(crate) length: usize,
}

/// Reads blanks, a sign, `0x` or `0`, and digits, as `strtoull` does with base 0.
pub(crate) fn leading_number(text: &str) -> LeadingNumber {
    let blanks = text.len() - text.trim_start_matches(is_c_space).len();
    let digits = match text[blanks..].strip_prefix(['+', '-']) {
        Some(unsigned) => unsigned,
        None => &text[blanks..],
    };
    let is_hex_digit = |c: char| c.is_ascii_hexdigit();
    let hex = digits
        .strip_prefix("0x")
        .or_else(|| digits.strip_prefix("0X"))
        .filter(|rest| rest.starts_with(is_hex_digit));
    let (radix, digits) = match hex {
        Some(rest) => (16, rest),
        None if digits.starts_with('0') => (8, digits),
        None => (10, digits),
    };
    let count = digits
        .find(|c: char| !c.is_digit(radix))
        .unwrap_or(digits.len());
    if count == 0 {
        return LeadingNumber {
            value: Some(0),
            length: 0,
        };
    }
    let magnitude = u64::from_str_radix(&digits[..count], radix).ok();
    let is_negative = text[blanks..].starts_with('-');
    LeadingNumber {
        value: magnitude.map(|value| match is_negative {
            true => value.wrapping_neg(),
            false => value,
        }),
        length: text.len() - digits.len() + count,
    }
}

/// Whether C's `isspace` is true.
pub(crate) const fn is_c_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0B' | '\x0C')
}

/// 256 bits. OpenSM reads the first 64 digits.
fn mask(text: &str) -> Result<String, ValueRejection> {
    const DIGITS: usize = 64;
    let digits = text
        .strip_prefix("0x")
        .or_else(|| text.strip_prefix("0X"))
        .unwrap_or(text);
    if digits.is_empty() || !digits.chars().all(|c| c.is_ascii_hexdigit()) {
        return Err(ValueRejection::NotAMask);
    }
    let digits = &digits[..digits.len().min(DIGITS)];
    Ok(format!("0x{:0>DIGITS$}", digits.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_in_c() {
        let read = |text: &str| BYTE.read(text);
        assert_eq!(read("15").as_deref(), Ok("15"));
        assert_eq!(read("0xf").as_deref(), Ok("15"));
        assert_eq!(read("017").as_deref(), Ok("15"));
        assert_eq!(read("256"), Err(ValueRejection::Above(255)));
        assert_eq!(read("-1"), Err(ValueRejection::Above(255)));
        for text in ["", "= 15", "08", "0x", "100M", "1 2", "high"] {
            assert_eq!(read(text), Err(ValueRejection::NotANumber), "{text}");
        }
        let key = |text: &str| ValueFormat::Hex64.read(text);
        assert_eq!(key("-1").as_deref(), Ok("0xffffffffffffffff"));
        assert_eq!(
            key("0x1ffffffffffffffff"),
            Err(ValueRejection::Above(u64::MAX))
        );
        assert_eq!(HEX_BYTE.read("8").as_deref(), Ok("0x08"));
    }

    #[test]
    fn signed_numbers_have_no_errors() {
        let read = |text: &str| ValueFormat::Signed.read(text).unwrap();
        assert_eq!(read("-1"), "-1");
        assert_eq!(read("250x"), "250");
        assert_eq!(read("high"), "0");
        assert_eq!(read("-99999999999999999999"), "0");
    }

    #[test]
    fn only_true_in_capitals_is_true() {
        let read = |text: &str| ValueFormat::Boolean.read(text).unwrap();
        assert_eq!(read("TRUE"), "TRUE");
        for text in ["true", "yes", "1", "= TRUE", ""] {
            assert_eq!(read(text), "FALSE", "{text}");
        }
    }

    #[test]
    fn masks_are_filled_from_the_left() {
        let read = |text: &str| ValueFormat::Mask.read(text);
        assert_eq!(read("0xAb").unwrap(), format!("0x{}ab", "0".repeat(62)));
        assert_eq!(read("x"), Err(ValueRejection::NotAMask));
    }
}
