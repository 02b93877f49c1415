//! Values of partitions, as OpenSM's codes and in units.

use core::net::Ipv6Addr;

use ferrosm_core::config::partitions::Membership;
use ferrosm_mad::attr::MtuCode;
use ferrosm_mad::ids::Gid;
use ferrosm_mad::sa::path::RateCode;

use crate::input::line::parse_number;

/// A membership, and whether the word is complete: OpenSM accepts any prefix.
#[must_use]
pub fn membership(word: &str) -> Option<(Membership, bool)> {
    let memberships = [Membership::Full, Membership::Limited, Membership::Both];
    memberships.into_iter().find_map(|m| {
        let full = m.to_string();
        full.starts_with(word).then_some((m, full == word))
    })
}

/// An MTU: a code from 1 to 5, or bytes.
///
/// # Errors
/// The expected values.
pub fn mtu(word: &str) -> Result<MtuCode, String> {
    match parse_number(word) {
        Some(code @ 1..=5) => Ok(MtuCode(u8::try_from(code).unwrap_or(4))),
        Some(256) => Ok(MtuCode::Mtu256),
        Some(512) => Ok(MtuCode::Mtu512),
        Some(1024) => Ok(MtuCode::Mtu1024),
        Some(2048) => Ok(MtuCode::Mtu2048),
        Some(4096) => Ok(MtuCode::Mtu4096),
        _ => Err(format!(
            "invalid MTU `{word}`: expected 256, 512, 1024, 2048, 4096, or a code from 1 to 5"
        )),
    }
}

/// A rate: a code of the specification, or Gb/s with the suffix G.
///
/// # Errors
/// The expected values.
pub fn rate(word: &str) -> Result<RateCode, String> {
    if let Some(gbps) = word.strip_suffix(['G', 'g']) {
        let by_name = RateCode::ASCENDING
            .into_iter()
            .find(|code| code.name() == Some(gbps));
        return by_name.ok_or_else(|| {
            let names: Vec<String> = RateCode::ASCENDING
                .iter()
                .filter_map(|code| Some(format!("{}G", code.name()?)))
                .collect();
            format!(
                "invalid rate `{word}`: expected one of {}",
                names.join(", ")
            )
        });
    }
    let code = parse_number(word)
        .and_then(|v| u8::try_from(v).ok())
        .map(RateCode);
    code.filter(|code| code.rank().is_some()).ok_or_else(|| {
        format!("invalid rate `{word}`: expected a code such as 3, or Gb/s such as 400G")
    })
}

/// A multicast GID, as an IPv6 address.
#[must_use]
pub fn mgid(word: &str) -> Option<Gid> {
    let address: Ipv6Addr = word.parse().ok()?;
    Some(Gid(address.octets())).filter(|gid| gid.is_multicast())
}

/// A number from `min` to `max`.
///
/// # Errors
/// The expected range.
pub fn bounded<N: TryFrom<u64>>(word: &str, item: &str, min: u64, max: u64) -> Result<N, String> {
    parse_number(word)
        .filter(|v| (min..=max).contains(v))
        .and_then(|v| N::try_from(v).ok())
        .ok_or_else(|| {
            let range = if max > 0xFF {
                format!("{min:#x} to {max:#x}")
            } else {
                format!("{min} to {max}")
            };
            format!("invalid {item} `{word}`: expected {range}")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_units_parse_to_the_same_values() {
        assert_eq!(mtu("4"), mtu("2048"));
        assert_eq!(mtu("0x5"), Ok(MtuCode::Mtu4096));
        assert!(mtu("6").is_err() && mtu("9000").is_err());
        assert_eq!(rate("3"), rate("10G"));
        assert_eq!(rate("2.5G"), Ok(RateCode::G2_5));
        assert!(rate("400G").is_ok() && rate("401G").is_err() && rate("1").is_err());
        assert_eq!(membership("limi"), Some((Membership::Limited, false)));
        assert_eq!(membership("both"), Some((Membership::Both, true)));
        assert_eq!(membership("fully"), None);
        let range = |max| bounded::<u32>("x", "SL", 0, max).unwrap_err();
        assert_eq!(range(15), "invalid SL `x`: expected 0 to 15");
        assert!(range(0xF_FFFF).ends_with("expected 0x0 to 0xfffff"));
        assert!(mgid("ff12:401b::16").is_some() && mgid("fe80::1").is_none());
    }
}
