//! `prefix-routes.conf` of OpenSM: the router of each remote subnet.
//!
//! A line is `PREFIX GUID`, both hexadecimal: a subnet prefix and the port GUID of a router. `*`
//! stands for any prefix, or any router. The first matching line applies. Additional words are an
//! error, not a warning as in OpenSM.

use ferrosm_mad::ids::{GidPrefix, PortGuid};
use ferrosm_sa::settings::PrefixRoute;

use super::line::{Line, Parsed, lines, parse_digits, parse_lines};
use crate::error::InputError;

/// Parses the text.
///
/// # Errors
/// All invalid lines.
pub fn parse(text: &str) -> Result<Vec<PrefixRoute>, Vec<InputError>> {
    parse_lines(lines(text), |mut line| {
        let prefix = hex(&mut line, "prefix")?;
        let router = hex(&mut line, "router port GUID")?;
        line.expect_end()?;
        Ok(PrefixRoute {
            prefix: prefix.map(GidPrefix),
            router: router.map(PortGuid),
        })
    })
}

/// `*`, or a hexadecimal number with or without `0x`; 0 means `*`.
fn hex(line: &mut Line<'_>, item: &str) -> Parsed<Option<u64>> {
    let (at, word) = line
        .next_word()
        .ok_or_else(|| line.missing(&format!("the {item}")))?;
    if word == "*" {
        return Ok(None);
    }
    let digits = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X"));
    let value = Some(digits.unwrap_or(word))
        .filter(|bare| !bare.is_empty())
        .and_then(|bare| parse_digits(bare, 16)).ok_or_else(|| {
        let message = format!(
            "invalid {item} `{word}`: expected 16 hexadecimal digits such as 0xfec0000000000001, or `*`"
        );
        line.error(at, message)
    })?;
    Ok((value != 0).then_some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_parsed_in_order() {
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
    fn errors_are_reported_with_positions() {
        let errors = parse("fec0::1 1\n*\n0x 1\n* 1 2\n* guid\n").unwrap_err();
        let messages: Vec<(Option<(usize, usize)>, &str)> = errors
            .iter()
            .map(|w| (w.position, w.message.as_str()))
            .collect();
        assert_eq!(messages[0].0, Some((1, 1)));
        assert!(
            messages[0].1.starts_with("invalid prefix `fec0::1`"),
            "{messages:?}"
        );
        assert_eq!(
            messages[1],
            (Some((2, 2)), "the router port GUID is missing")
        );
        assert_eq!(messages[2].0, Some((3, 1)));
        assert_eq!(
            messages[3],
            (Some((4, 5)), "unexpected `2`: expected end of line")
        );
        assert_eq!(messages[4].0, Some((5, 3)));
        assert_eq!(messages.len(), 5);
    }
}
