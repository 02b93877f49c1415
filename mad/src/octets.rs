//! Serialization of byte strings: hexadecimal in human-readable formats, otherwise bytes. Fields
//! use it by `#[serde(with = "ferrosm_mad::octets")]`; fields of one length are arrays.

use core::fmt;
use std::borrow::Cow;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text
        .chars()
        .map(|c| u8::try_from(c.to_digit(16)?).ok())
        .collect::<Option<Vec<u8>>>()?;
    let (pairs, []) = digits.as_chunks() else {
        return None;
    };
    Some(pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

/// Serializes bytes.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<S: Serializer>(bytes: &impl AsRef<[u8]>, s: S) -> Result<S::Ok, S::Error> {
    if s.is_human_readable() {
        s.collect_str(&Hex(bytes.as_ref()))
    } else {
        s.serialize_bytes(bytes.as_ref())
    }
}

/// Deserializes bytes, from formats that hold them in one piece.
///
/// # Errors
/// Those of the deserializer, and for a text that is not hexadecimal, or a wrong length.
pub fn deserialize<'de, D, T>(d: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: for<'a> TryFrom<&'a [u8]>,
{
    let bytes: Cow<'de, [u8]> = if d.is_human_readable() {
        let text = <Cow<'de, str>>::deserialize(d)?;
        let bytes = from_hex(&text);
        Cow::Owned(bytes.ok_or_else(|| D::Error::custom("invalid hexadecimal number"))?)
    } else {
        Cow::Borrowed(<&[u8]>::deserialize(d)?)
    };
    T::try_from(&bytes).map_err(|_| {
        let wanted = core::any::type_name::<T>();
        D::Error::custom(format_args!("{} bytes instead of {wanted}", bytes.len()))
    })
}
