//! Identifiers of an InfiniBand subnet, one type each.
//!
//! Separate types prevent mixing LIDs, node GUIDs and port GUIDs. A value is anything that the wire
//! can carry; whether it is valid in a context (a unicast LID, an existing port) is checked
//! elsewhere. `Display` is the form that operators type, and `FromStr` parses it.

use core::fmt;
use core::str::FromStr;

use crate::wire::FieldText;

/// Text that is not an identifier of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseIdError {
    kind: &'static str,
    text: String,
}

impl fmt::Display for ParseIdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid {}: `{}`", self.kind, self.text)
    }
}

impl core::error::Error for ParseIdError {}

/// Text that is not a directed route such as `0,1,17`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsePathError(pub(crate) String);

impl fmt::Display for ParsePathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a directed route such as 0,1,17", self.0)
    }
}

impl core::error::Error for ParsePathError {}

/// Parses decimal or `0x` hexadecimal.
#[must_use]
pub fn parse_u64(text: &str) -> Option<u64> {
    let text = text.trim();
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($int:ty), $fmt:literal, $kind:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub $int);

        impl $name {
            /// Whether operators read and write it as a decimal number.
            const IS_DECIMAL: bool = matches!($fmt.as_bytes(), b"{}");

            /// The number as on the wire.
            #[inline]
            #[must_use]
            pub const fn raw(self) -> $int {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, $fmt, self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "(", $fmt, ")"), self.0)
            }
        }

        impl From<$int> for $name {
            fn from(v: $int) -> Self {
                Self(v)
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;
            fn from_str(s: &str) -> Result<Self, ParseIdError> {
                parse_u64(s)
                    .and_then(|v| <$int>::try_from(v).ok())
                    .map(Self)
                    .ok_or_else(|| ParseIdError { kind: $kind, text: s.to_owned() })
            }
        }

        impl crate::wire::BitValue for $name {
            fn from_bits(v: u64) -> Self {
                Self(<$int as crate::wire::BitValue>::from_bits(v))
            }
            fn to_bits(self) -> u64 {
                crate::wire::BitValue::to_bits(self.0)
            }
            fn value_text(self) -> FieldText {
                if Self::IS_DECIMAL {
                    FieldText::Number(self.to_bits())
                } else {
                    FieldText::Text(self.to_string())
                }
            }
        }

        #[cfg(feature = "serde")]
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                if s.is_human_readable() && !Self::IS_DECIMAL {
                    s.collect_str(self)
                } else {
                    serde::Serialize::serialize(&self.0, s)
                }
            }
        }

        #[cfg(feature = "serde")]
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                if d.is_human_readable() && !Self::IS_DECIMAL {
                    let text = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(d)?;
                    text.parse().map_err(serde::de::Error::custom)
                } else {
                    <$int as serde::Deserialize>::deserialize(d).map(Self)
                }
            }
        }
    };
}

id!(
    /// A local identifier: 1 to 0xBFFF unicast, 0xC000 to 0xFFFE multicast, 0xFFFF permissive, 0
    /// none.
    Lid(u16), "{}", "LID");
id!(
    /// GUID of a node: the same on all its ports.
    NodeGuid(u64), "{:#018x}", "node GUID");
id!(
    /// GUID of an end port (of a switch: of port 0).
    PortGuid(u64), "{:#018x}", "port GUID");
id!(
    /// GUID that all nodes of one system share; 0 if unknown.
    SystemImageGuid(u64), "{:#018x}", "system image GUID");
id!(
    /// A port number: 0 is a switch's management port, 1 to 254 are physical ports.
    PortNum(u8), "{}", "port number");
id!(
    /// LID mask control, 0 to 7: the port owns 2^LMC consecutive LIDs.
    Lmc(u8), "{}", "LMC");
id!(
    /// Service level, 0 to 15.
    Sl(u8), "{}", "SL");
id!(
    /// Virtual lane, 0 to 15 (15 carries management packets only).
    Vl(u8), "{}", "VL");
id!(
    /// Partition key: bit 15 full membership, low 15 bits the partition.
    PKey(u16), "{:#06x}", "P_Key");
id!(
    /// Queue pair number, 24 bits.
    Qpn(u32), "{}", "QPN");
id!(
    /// Transaction ID of a MAD.
    Tid(u64), "{:#018x}", "TID");
id!(
    /// The upper 64 bits of a GID.
    GidPrefix(u64), "{:#018x}", "GID prefix");
id!(
    /// Attribute ID of a MAD.
    AttrId(u16), "{:#06x}", "attribute ID");
id!(
    /// Attribute modifier of a MAD; the meaning depends on the attribute.
    AttrMod(u32), "{:#010x}", "attribute modifier");

impl Lid {
    /// No LID.
    pub const NONE: Self = Self(0);
    /// The highest unicast LID.
    pub const UNICAST_MAX: Self = Self(0xBFFF);
    /// The permissive LID: directed routes start and end with it.
    pub const PERMISSIVE: Self = Self(0xFFFF);

    /// The LID at an index of a per-LID array.
    ///
    /// # Panics
    /// If the index has more than 16 bits.
    #[inline]
    #[must_use]
    #[expect(
        clippy::expect_used,
        reason = "a saturated index would name another LID"
    )]
    pub fn from_index(index: usize) -> Self {
        Self(u16::try_from(index).expect("an index of at most 16 bits"))
    }

    /// Whether a port may own it (1 to 0xBFFF).
    #[must_use]
    pub const fn is_unicast(self) -> bool {
        self.0 >= 1 && self.0 <= Self::UNICAST_MAX.0
    }
}

impl PortNum {
    /// The management port of a switch.
    pub const ZERO: Self = Self(0);
    /// Forwarding table entry that drops the packet.
    pub const DROP: Self = Self(0xFF);

    /// As an index into a per-port array.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The port at an index of a per-port array.
    ///
    /// # Panics
    /// If the index has more than 8 bits.
    #[inline]
    #[must_use]
    #[expect(
        clippy::expect_used,
        reason = "a saturated index would name another port"
    )]
    pub fn from_index(index: usize) -> Self {
        Self(u8::try_from(index).expect("an index of at most 8 bits"))
    }
}

impl GidPrefix {
    /// The link-local default, FE80::/64.
    pub const DEFAULT: Self = Self(0xFE80_0000_0000_0000);
}

impl PKey {
    /// Full member of the default partition.
    pub const DEFAULT_FULL: Self = Self(0xFFFF);
    /// Limited member of the default partition.
    pub const DEFAULT_LIMITED: Self = Self(0x7FFF);
}

/// A key that protects a port's management state. `Debug` hides it; [`MKey::expose`] is the only
/// access to the value.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct MKey(u64);

impl MKey {
    /// No protection.
    pub const NONE: Self = Self(0);

    /// A key with this value.
    #[must_use]
    pub const fn new(key: u64) -> Self {
        Self(key)
    }

    /// The value. Only for the wire and the operator's own files.
    #[must_use]
    pub const fn expose(self) -> u64 {
        self.0
    }
}

impl fmt::Debug for MKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0 == 0 {
            "MKey(none)"
        } else {
            "MKey(..)"
        })
    }
}

impl crate::wire::BitValue for MKey {
    fn from_bits(v: u64) -> Self {
        Self(v)
    }
    fn to_bits(self) -> u64 {
        self.0
    }
    fn value_text(self) -> FieldText {
        FieldText::Key {
            is_set: self.0 != 0,
        }
    }
}

/// A global identifier: prefix and GUID, big-endian as on the wire.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Gid(pub [u8; 16]);

impl Gid {
    /// The GID of a port.
    #[must_use]
    #[inline]
    pub fn new(prefix: GidPrefix, guid: PortGuid) -> Self {
        let mut b = [0; 16];
        b[..8].copy_from_slice(&prefix.0.to_be_bytes());
        b[8..].copy_from_slice(&guid.0.to_be_bytes());
        Self(b)
    }

    /// The upper half.
    #[must_use]
    #[inline]
    pub fn prefix(self) -> GidPrefix {
        GidPrefix(crate::wire::get_bits(&self.0, 0, 64))
    }

    /// The lower half of a unicast GID.
    #[must_use]
    #[inline]
    pub fn guid(self) -> PortGuid {
        PortGuid(crate::wire::get_bits(&self.0, 64, 64))
    }
}

impl crate::wire::WireField for Gid {
    fn read(buf: &[u8], bit: usize, _: usize) -> Self {
        let mut b = [0; 16];
        b.copy_from_slice(&buf[bit / 8..bit / 8 + 16]);
        Self(b)
    }
    fn write(&self, buf: &mut [u8], bit: usize, _: usize) {
        buf[bit / 8..bit / 8 + 16].copy_from_slice(&self.0);
    }
    fn text(&self) -> FieldText {
        FieldText::Text(self.to_string())
    }
}

impl fmt::Display for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", std::net::Ipv6Addr::from(self.0))
    }
}

impl FromStr for Gid {
    type Err = ParseIdError;

    fn from_str(s: &str) -> Result<Self, ParseIdError> {
        let address: std::net::Ipv6Addr = s.parse().map_err(|_| ParseIdError {
            kind: "GID",
            text: s.to_owned(),
        })?;
        Ok(Self(address.octets()))
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Gid {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        if s.is_human_readable() {
            s.collect_str(self)
        } else {
            serde::Serialize::serialize(&self.0, s)
        }
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Gid {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        if d.is_human_readable() {
            let text = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(d)?;
            text.parse().map_err(serde::de::Error::custom)
        } else {
            <[u8; 16] as serde::Deserialize>::deserialize(d).map(Self)
        }
    }
}

impl fmt::Debug for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Gid({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_parse_from_their_display_form() {
        let guid: NodeGuid = "0x0002c90300a1b2c3".parse().unwrap();
        assert_eq!(guid.to_string(), "0x0002c90300a1b2c3");
        assert_eq!(Lid(17).to_string().parse(), Ok(Lid(17)));
        assert_eq!("0x11".parse(), Ok(Lid(17)));
        assert_eq!(
            "70000".parse::<Lid>().unwrap_err().to_string(),
            "invalid LID: `70000`"
        );
    }

    #[test]
    fn debug_hides_keys() {
        assert_eq!(format!("{:?}", MKey::new(0x1234)), "MKey(..)");
    }

    #[test]
    fn gid_consists_of_prefix_and_guid() {
        let gid = Gid::new(GidPrefix::DEFAULT, PortGuid(0x0002_c903_00a1_b2c3));
        assert_eq!(gid.to_string(), "fe80::2:c903:a1:b2c3");
        assert_eq!(gid.guid(), PortGuid(0x0002_c903_00a1_b2c3));
        assert_eq!(gid.prefix(), GidPrefix::DEFAULT);
        assert_eq!("fe80::2:c903:a1:b2c3".parse(), Ok(gid));
    }
}
