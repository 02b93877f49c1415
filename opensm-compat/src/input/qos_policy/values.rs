//! Values of a QoS policy: ranges of numbers, names, names of ports.

use ferrosm_mad::ids::PortNum;
use ferrosm_sa::qos::RangeSet;

use crate::error::InputError;
use crate::input::line::parse_number;
use crate::input::span::Span;

/// The low 15 bits of a P_Key.
const PARTITION: u64 = 0x7FFF;

/// `7-9, 11`: numbers up to `most`, each `what`.
pub(super) fn ranges(list: &Span<'_>, what: &str, most: u64) -> Result<RangeSet, InputError> {
    pairs(list, what, most).map(RangeSet::new)
}

/// P_Keys, of which the partition counts.
pub(super) fn pkeys(list: &Span<'_>) -> Result<RangeSet, InputError> {
    let pairs = pairs(list, "P_Key", u16::MAX.into())?;
    let partitions = pairs
        .into_iter()
        .map(|(a, b)| (a & PARTITION, b & PARTITION));
    Ok(RangeSet::new(partitions))
}

fn pairs(list: &Span<'_>, what: &str, most: u64) -> Result<Vec<(u64, u64)>, InputError> {
    list.items()
        .iter()
        .map(|item| {
            let (first, last) = item
                .split_once('-')
                .unwrap_or_else(|| (item.clone(), item.clone()));
            Ok((
                bounded(&first, what, 0, most)?,
                bounded(&last, what, 0, most)?,
            ))
        })
        .collect()
}

/// A number between bounds.
pub(super) fn bounded(
    word: &Span<'_>,
    what: &str,
    least: u64,
    most: u64,
) -> Result<u64, InputError> {
    parse_number(word.text())
        .filter(|n| (least..=most).contains(n))
        .ok_or_else(|| {
            let text = word.text();
            word.error(if text.is_empty() {
                format!("a number is missing: a {what} from {least} to {most:#x}")
            } else {
                format!("`{text}` is no {what} from {least} to {most:#x}")
            })
        })
}

/// A name as it is compared: OpenSM knows neither case nor blanks in it.
pub(super) fn same_name(name: &str) -> String {
    let solid = name.chars().filter(|c| !c.is_whitespace());
    solid.flat_map(char::to_lowercase).collect()
}

/// `NodeDescription/P1`.
pub(super) fn port_name(word: &Span<'_>) -> Result<(String, PortNum), InputError> {
    let name = word.unquoted();
    let parts = name.rsplit_once('/').and_then(|(node, port)| {
        let num = parse_number(port.trim().strip_prefix(['P', 'p'])?)?;
        let num = u8::try_from(num).ok().filter(|n| (1..=254).contains(n))?;
        Some((node.trim().to_owned(), PortNum(num)))
    });
    parts.filter(|(node, _)| !node.is_empty()).ok_or_else(|| {
        word.error(format!(
            "`{name}` is no name of a port, such as host-1 HCA-1/P1: NodeDescription, slash, P, number"
        ))
    })
}
