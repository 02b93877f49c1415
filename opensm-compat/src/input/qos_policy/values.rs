//! Values of a QoS policy: ranges, names, port names.

use ferrosm_mad::ids::PortNum;
use ferrosm_sa::qos::RangeSet;

use crate::error::InputError;
use crate::input::line::parse_number;
use crate::input::span::Span;

/// Partition number of a P_Key.
const PARTITION: u64 = 0x7FFF;

/// Ranges such as `7-9, 11`, with numbers up to `max`; `item_name` names them in errors.
pub(super) fn ranges(list: &Span<'_>, item_name: &str, max: u64) -> Result<RangeSet, InputError> {
    pairs(list, item_name, max).map(RangeSet::new)
}

/// Partition numbers of P_Keys.
pub(super) fn pkeys(list: &Span<'_>) -> Result<RangeSet, InputError> {
    let pairs = pairs(list, "P_Key", u16::MAX.into())?;
    let partitions = pairs
        .into_iter()
        .map(|(a, b)| (a & PARTITION, b & PARTITION));
    Ok(RangeSet::new(partitions))
}

fn pairs(list: &Span<'_>, item_name: &str, max: u64) -> Result<Vec<(u64, u64)>, InputError> {
    list.items()
        .iter()
        .map(|item| {
            let (first, last) = item
                .split_once('-')
                .unwrap_or_else(|| (item.clone(), item.clone()));
            Ok((
                bounded(&first, item_name, 0, max)?,
                bounded(&last, item_name, 0, max)?,
            ))
        })
        .collect()
}

/// A number within bounds.
pub(super) fn bounded<N: TryFrom<u64>>(
    word: &Span<'_>,
    item_name: &str,
    min: u64,
    max: u64,
) -> Result<N, InputError> {
    parse_number(word.text())
        .filter(|n| (min..=max).contains(n))
        .and_then(|n| N::try_from(n).ok())
        .ok_or_else(|| {
            let text = word.text();
            word.error(if text.is_empty() {
                format!("missing number: expected a {item_name} from {min} to {max:#x}")
            } else {
                format!("invalid {item_name} `{text}`: expected {min} to {max:#x}")
            })
        })
}

/// A name in the form for comparison: OpenSM ignores case and whitespace.
pub(super) fn normalized_name(name: &str) -> String {
    let non_blank = name.chars().filter(|c| !c.is_whitespace());
    non_blank.flat_map(char::to_lowercase).collect()
}

/// `NodeDescription/P1`.
pub(super) fn port_name(word: &Span<'_>) -> Result<(String, PortNum), InputError> {
    let name = word.unquoted();
    let parts = name.rsplit_once('/').and_then(|(node, port)| {
        let num = parse_number(port.trim().strip_prefix(['P', 'p'])?)
            .and_then(|n| u8::try_from(n).ok())
            .filter(|n| (1..=254).contains(n))?;
        Some((node.trim().to_owned(), PortNum(num)))
    });
    parts.filter(|(node, _)| !node.is_empty()).ok_or_else(|| {
        word.error(format!(
            "invalid port name `{name}`: expected NodeDescription/P and a number, such as host-1 HCA-1/P1"
        ))
    })
}
