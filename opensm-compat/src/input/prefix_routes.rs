//! `prefix-routes.conf` of OpenSM: which router leads to which other subnet.
//!
//! A line is `PREFIX GUID`, both hexadecimal: the upper half of GIDs, and the port GUID of a router; `*` stands for any prefix, and
//! for the first router that there is. The first line that fits is taken. Unlike OpenSM's, words behind these two are an error, not
//! only remarked.

use ferrosm_mad::ids::{GidPrefix, PortGuid};
use ferrosm_sa::settings::PrefixRoute;

use super::line::{Line, Parsed, lines, parse_digits, parse_lines};
use crate::error::InputError;

/// Reads a file.
///
/// # Errors
/// Everything that is wrong with it.
pub fn parse(text: &str) -> Result<Vec<PrefixRoute>, Vec<InputError>> {
    parse_lines(lines(text), |mut line| {
        let prefix = hex(&mut line, "prefix")?;
        let router = hex(&mut line, "router's port GUID")?;
        line.expect_end()?;
        Ok(PrefixRoute {
            prefix: prefix.map(GidPrefix),
            router: router.map(PortGuid),
        })
    })
}

/// `*`, or a hexadecimal number with or without `0x`; 0 is `*` too.
fn hex(line: &mut Line<'_>, what: &str) -> Parsed<Option<u64>> {
    let (at, word) = line
        .next_word()
        .ok_or_else(|| line.missing(&format!("the {what}")))?;
    if word == "*" {
        return Ok(None);
    }
    let bare = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X"));
    let value = Some(bare.unwrap_or(word))
        .filter(|bare| !bare.is_empty())
        .and_then(|bare| parse_digits(bare, 16));
    let value = value.ok_or_else(|| {
        let what = format!(
            "`{word}` is no {what}: 16 hexadecimal digits such as 0xfec0000000000001, or `*`"
        );
        line.error(at, what)
    })?;
    Ok((value != 0).then_some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_in_order() {
        let routes =
            parse("# a\n\n0xfec0000000000001 2c90300ff0001 # b\n* 0x7\nFEC0000000000002 *\n")
                .unwrap();
        let route = |prefix: Option<u64>, router: Option<u64>| PrefixRoute {
            prefix: prefix.map(GidPrefix),
            router: router.map(PortGuid),
        };
        assert_eq!(
            routes,
            [
                route(Some(0xFEC0_0000_0000_0001), Some(0x2_C903_00FF_0001)),
                route(None, Some(7)),
                route(Some(0xFEC0_0000_0000_0002), None),
            ]
        );
        assert_eq!(parse("").unwrap(), []);
    }

    #[test]
    fn every_error_has_its_place() {
        let wrong = parse("fec0::1 1\n*\n0x 1\n* 1 2\n* guid\n").unwrap_err();
        let told: Vec<(Option<(usize, usize)>, &str)> = wrong
            .iter()
            .map(|w| (w.position, w.message.as_str()))
            .collect();
        assert_eq!(told[0].0, Some((1, 1)));
        assert!(told[0].1.starts_with("`fec0::1` is no prefix"), "{told:?}");
        assert_eq!(told[1], (Some((2, 2)), "the router's port GUID is missing"));
        assert_eq!(told[2].0, Some((3, 1)));
        assert_eq!(told[3], (Some((4, 5)), "`2` is one word too many"));
        assert_eq!(told[4].0, Some((5, 3)));
        assert_eq!(told.len(), 5);
    }
}
