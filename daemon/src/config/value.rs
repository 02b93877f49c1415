//! Types of configuration values, checked in `Deserialize`.
//!
//! Therefore errors have the position of the value and name the allowed values, and the rest of the
//! program gets only valid values.

use core::fmt;
use core::time::Duration;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A whole number from `MIN` to `MAX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounded<const MIN: u64, const MAX: u64>(u64);

impl<const MIN: u64, const MAX: u64> Bounded<MIN, MAX> {
    /// Checks the range.
    ///
    /// # Errors
    /// A message with the range.
    pub fn new(v: u64) -> Result<Self, String> {
        if (MIN..=MAX).contains(&v) {
            Ok(Self(v))
        } else {
            Err(format!("{v} is not in the range {MIN} to {MAX}"))
        }
    }

    /// The nearest number in range.
    #[must_use]
    pub fn clamped(v: u64) -> Self {
        Self(v.clamp(MIN, MAX))
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Converts to a narrower integer type. The caller must select one whose range includes `MAX`.
    #[must_use]
    pub fn to<T: TryFrom<u64> + Limit>(self) -> T {
        T::try_from(self.0).unwrap_or(T::MAX)
    }
}

/// The largest value of an integer type.
pub trait Limit {
    /// The largest value.
    const MAX: Self;
}

macro_rules! limit {
    ($($t:ty)*) => {$(impl Limit for $t {
        const MAX: Self = <$t>::MAX;
    })*};
}
limit!(u8 u16 u32 u64 usize);

impl<const MIN: u64, const MAX: u64> Serialize for Bounded<MIN, MAX> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_u64(self.0)
    }
}

impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for Bounded<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(Scalar {
            expected: &format!("a whole number from {MIN} to {MAX}"),
            from_number: Some(|v| Self::new(u64::try_from(v).ok()?).ok()),
            from_text: None,
        })
    }
}

/// Visitor of a number or string. Errors raised in a visitor have the position of the value.
pub(super) struct Scalar<'a, T> {
    pub(super) expected: &'a str,
    pub(super) from_number: Option<fn(i64) -> Option<T>>,
    pub(super) from_text: Option<fn(&str) -> Option<T>>,
}

impl<T> Visitor<'_> for Scalar<'_, T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_i64<E: Error>(self, v: i64) -> Result<T, E> {
        let (unexpected, parse) = (Unexpected::Signed(v), self.from_number);
        let parse = parse.ok_or_else(|| E::invalid_type(unexpected, &self))?;
        parse(v).ok_or_else(|| E::invalid_value(unexpected, &self))
    }

    fn visit_str<E: Error>(self, v: &str) -> Result<T, E> {
        let (unexpected, parse) = (Unexpected::Str(v), self.from_text);
        let parse = parse.ok_or_else(|| E::invalid_type(unexpected, &self))?;
        parse(v).ok_or_else(|| E::invalid_value(unexpected, &self))
    }
}

/// A duration such as `"10s"` or `"200ms"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DurationValue(pub Duration);

impl Serialize for DurationValue {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(&humantime::format_duration(self.0))
    }
}

impl<'de> Deserialize<'de> for DurationValue {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(Scalar {
            expected: "a duration with unit in quotes, such as \"10s\" or \"200ms\"",
            from_number: None,
            from_text: Some(|v| humantime::parse_duration(v).ok().map(Self)),
        })
    }
}

/// A 64-bit value, written `"0x..."` or as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hex64(pub u64);

impl core::str::FromStr for Hex64 {
    type Err = String;
    fn from_str(s: &str) -> Result<Self, String> {
        let error = || format!("`{s}` is not a 64-bit number such as 0x0002c90300a1b2c3");
        let digits = s.strip_prefix("0x").or_else(|| s.strip_prefix("0X"));
        match digits {
            Some(hex) => u64::from_str_radix(hex, 16).map_err(|_| error()),
            None => s.parse().map_err(|_| error()),
        }
        .map(Self)
    }
}

impl fmt::Display for Hex64 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#018x}", self.0)
    }
}

impl Serialize for Hex64 {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hex64 {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(Scalar {
            expected: "a 64-bit number in quotes, such as \"0x0002c90300a1b2c3\"",
            from_number: Some(|v| u64::try_from(v).ok().map(Self)),
            from_text: Some(|v| v.parse().ok()),
        })
    }
}

/// An entry of a list of routing engines: the name of an engine, `auto` or `no_fallback`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineName(String);

impl EngineName {
    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0
    }

    /// All valid entries.
    pub fn known() -> impl Iterator<Item = &'static str> {
        ferrosm_routing::select::engine_names()
    }

    /// Whether it is `no_fallback`, which disables the fallback engines.
    #[must_use]
    pub fn is_no_fallback(&self) -> bool {
        self.0 == ferrosm_routing::select::NO_FALLBACK
    }
}

impl core::str::FromStr for EngineName {
    type Err = String;
    fn from_str(s: &str) -> Result<Self, String> {
        let name = s.trim();
        if Self::known().any(|k| k == name) {
            return Ok(Self(name.to_owned()));
        }
        let mut message = format!("unknown routing engine `{name}`");
        match ferrosm_opensm_compat::keyword::nearest_keyword(name, Self::known()) {
            Some(suggestion) => message.push_str(&format!(": did you mean `{suggestion}`?")),
            None => {
                let names: Vec<&str> = Self::known().collect();
                message.push_str(&format!(": the engines are {}", names.join(", ")));
            }
        }
        Err(message)
    }
}

impl Serialize for EngineName {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for EngineName {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        // Errors raised in a visitor have the position of the value.
        struct EngineVisitor;
        impl Visitor<'_> for EngineVisitor {
            type Value = EngineName;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a routing engine in quotes")
            }
            fn visit_str<E: Error>(self, v: &str) -> Result<EngineName, E> {
                v.parse().map_err(E::custom)
            }
        }
        d.deserialize_str(EngineVisitor)
    }
}
