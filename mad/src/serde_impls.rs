//! Codes and GIDs in serde formats, as the numbers that are on the wire.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! as_inner {
    ($($name:ty, $inner:ty;)*) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                self.0.serialize(s)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                <$inner>::deserialize(d).map(Self)
            }
        }
    )*};
}

as_inner! {
    crate::attr::MtuCode, u8;
    crate::sa::path::RateCode, u8;
    crate::ids::Gid, [u8; 16];
}
