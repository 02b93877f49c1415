//! Lists whose lines start with a GUID.

use ferrosm_mad::ids::{NodeGuid, PortGuid, PortNum};

use super::line::{self, Line, Parsed, parse_lines};
use crate::error::InputError;

/// `root_guid_file`: one GUID per line, followed by an optional comment.
///
/// # Errors
/// Lines that do not start with a GUID.
pub fn node_guids(text: &str) -> Result<Vec<NodeGuid>, Vec<InputError>> {
    parse_lines(line::lines(text), |mut line| Ok(NodeGuid(line.guid()?)))
}

/// What a list of GUIDs contains without effect: numbers behind GUIDs, which NVIDIA's SM reads as
/// ranks, and a list without a GUID. `if_empty` is the consequence of the latter.
pub(super) fn ignored_content(text: &str, if_empty: &str) -> Vec<InputError> {
    let mut warnings = Vec::new();
    let mut is_empty = true;
    for mut line in line::lines(text) {
        is_empty = false;
        // OpenSM ignores the rest of the line, and files have the name of the switch there.
        if line.next_word().is_some()
            && let Some((at, word)) = line.next_word()
            && line::parse_number(word).is_some()
            && line.next_word().is_none()
        {
            let message = format!("`{word}` ignored: only the GUID of a line is read, no rank");
            warnings.push(line.warning(at, message));
        }
    }
    let omitted = warnings.len().saturating_sub(line::ERRORS_MAX);
    if omitted > 0 {
        warnings.truncate(line::ERRORS_MAX);
        warnings.push(InputError::in_file(format!("{omitted} more such lines")).into_warning());
    }
    if is_empty {
        let message = format!("no GUID in this file: {if_empty}");
        warnings.push(InputError::in_file(message).into_warning());
    }
    warnings
}

/// `cn_guid_file`, `io_guid_file`, `guid_routing_order_file`: one port GUID per line.
///
/// # Errors
/// Lines that do not start with a GUID.
pub fn port_guids(text: &str) -> Result<Vec<PortGuid>, Vec<InputError>> {
    parse_lines(line::lines(text), |mut line| Ok(PortGuid(line.guid()?)))
}

/// `ids_guid_file`: GUID and ID.
///
/// # Errors
/// Invalid lines, and duplicate switches.
pub fn switch_ids(text: &str) -> Result<Vec<(NodeGuid, u64)>, Vec<InputError>> {
    let mut seen = Seen::default();
    parse_lines(line::lines(text), |mut line| {
        let guid = seen.new_switch(&mut line, "ID")?;
        let id = line.number("ID", 0, u64::MAX)?;
        line.expect_end()?;
        Ok((guid, id))
    })
}

/// `hop_weights_file`: GUID, port, hops.
///
/// # Errors
/// Invalid lines, and duplicate ports.
pub fn hop_weights(text: &str) -> Result<Vec<(NodeGuid, PortNum, u8)>, Vec<InputError>> {
    let mut seen = Seen::default();
    parse_lines(line::lines(text), |mut line| {
        let (guid, port) = seen.new_port(&mut line, "weight")?;
        let hops = line.number("weight", 1, 255)?;
        line.expect_end()?;
        Ok((guid, port, hops))
    })
}

/// `port_prof_ignore_file`: GUID and port of a switch.
///
/// # Errors
/// Invalid lines.
pub fn switch_ports(text: &str) -> Result<Vec<(NodeGuid, PortNum)>, Vec<InputError>> {
    parse_lines(line::lines(text), |mut line| {
        let guid = NodeGuid(line.guid()?);
        let port = line.port().map_err(|e| InputError {
            message: format!(
                "{} (expected a switch GUID and a port number, not a port GUID)",
                e.message
            ),
            ..e
        })?;
        line.expect_end()?;
        Ok((guid, port))
    })
}

/// `port_search_ordering_file`: GUID and ports in search order.
///
/// # Errors
/// Invalid lines, and duplicate ports or switches.
pub fn port_order(text: &str) -> Result<Vec<(NodeGuid, Vec<PortNum>)>, Vec<InputError>> {
    let mut seen = Seen::default();
    parse_lines(line::lines(text), |mut line| {
        let guid = seen.new_switch(&mut line, "order")?;
        let mut ports = vec![line.port()?];
        let mut rest = line.clone();
        while let Some((at, word)) = rest.next_word() {
            let port = line.port()?;
            if ports.contains(&port) {
                return Err(line.error(at, format!("duplicate port {word}")));
            }
            ports.push(port);
        }
        Ok((guid, ports))
    })
}

/// Keys of earlier lines, for the detection of duplicates.
#[derive(Default)]
struct Seen(std::collections::BTreeSet<(u64, u8)>);

impl Seen {
    fn new_switch(&mut self, line: &mut Line<'_>, item: &str) -> Parsed<NodeGuid> {
        let guid = line.guid()?;
        if !self.0.insert((guid, 0)) {
            return Err(line.error(0, format!("duplicate {item} for this switch")));
        }
        Ok(NodeGuid(guid))
    }

    fn new_port(&mut self, line: &mut Line<'_>, item: &str) -> Parsed<(NodeGuid, PortNum)> {
        let guid = line.guid()?;
        let port = line.port()?;
        if !self.0.insert((guid, port.raw())) {
            return Err(line.error(0, format!("duplicate {item} for this port")));
        }
        Ok((NodeGuid(guid), port))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The errors of a text, as `line:column: message`.
    fn errors_of<T: core::fmt::Debug>(
        parse: fn(&str) -> Result<T, Vec<InputError>>,
        text: &str,
    ) -> String {
        let errors = parse(text).unwrap_err();
        let lines: Vec<String> = errors
            .iter()
            .map(|e| {
                let (line, column) = e.position.unwrap();
                format!("{line}:{column}: {}", e.message)
            })
            .collect();
        lines.join("\n")
    }

    #[test]
    fn guid_lists_may_have_comments_and_blank_lines() {
        let text = "# roots\n\n0xe41d2d0300b00010  # spine 1\n  0xe41d2d0300b00020 spine 2\r\n17\n";
        assert_eq!(
            node_guids(text).unwrap(),
            [
                NodeGuid(0xe41d_2d03_00b0_0010),
                NodeGuid(0xe41d_2d03_00b0_0020),
                NodeGuid(17)
            ]
        );
        assert_eq!(port_guids("0x2").unwrap(), [PortGuid(2)]);
        assert_eq!(node_guids("").unwrap(), []);
    }

    /// OpenSM stops reading at such a line.
    #[test]
    fn line_without_guid_is_rejected() {
        assert_eq!(
            errors_of(node_guids, "0x1\n spine2\n0x0\n0xg\n"),
            "2:2: invalid GUID `spine2`: expected a number such as 0x0002c90300a1b2c3\n\
             3:1: invalid GUID `0x0`: expected a number such as 0x0002c90300a1b2c3\n\
             4:1: invalid GUID `0xg`: expected a number such as 0x0002c90300a1b2c3"
        );
    }

    #[test]
    fn content_of_guid_lists_without_effect_is_reported() {
        let warnings = |text: &str| -> Vec<String> {
            let list = ignored_content(text, "roots are detected");
            assert!(list.iter().all(|warning| warning.is_warning));
            list.iter().map(ToString::to_string).collect()
        };
        assert_eq!(
            warnings("0x1 1\n0x2  2 # spine\n0x3 spine 3\n0x4 5 slots\n0x5\n"),
            [
                "1:5: `1` ignored: only the GUID of a line is read, no rank",
                "2:6: `2` ignored: only the GUID of a line is read, no rank",
            ]
        );
        assert_eq!(
            warnings("# spines: to be filled in\n"),
            ["no GUID in this file: roots are detected"]
        );
        assert_eq!(warnings(&"0x1 1\n".repeat(30)).len(), 21);
    }

    #[test]
    fn switch_ids_parse_as_c_numbers() {
        assert_eq!(
            switch_ids("0x1 010\n0x2 0x10 # b\n").unwrap(),
            [(NodeGuid(1), 8), (NodeGuid(2), 16)]
        );
        assert_eq!(
            errors_of(switch_ids, "0x1\n0x2 x\n0x3 1 2\n0x3 4\n"),
            "1:4: ID is missing\n\
             2:5: invalid ID `x`: expected a number\n\
             3:7: unexpected `2`: expected end of line\n\
             4:1: duplicate ID for this switch"
        );
    }

    #[test]
    fn weights_are_from_1_to_255() {
        assert_eq!(
            hop_weights("0x1 17 3\n0x1 18 255\n").unwrap(),
            [
                (NodeGuid(1), PortNum(17), 3),
                (NodeGuid(1), PortNum(18), 255)
            ]
        );
        assert_eq!(
            errors_of(hop_weights, "0x1 0 3\n0x1 1 0\n0x1 1\n0x1 2 2\n0x1 2 2\n"),
            "1:5: invalid port `0`: expected 1 to 254\n\
             2:7: invalid weight `0`: expected 1 to 255\n\
             3:1: duplicate weight for this port\n\
             5:1: duplicate weight for this port"
        );
    }

    #[test]
    fn ignored_ports_are_switch_ports() {
        assert_eq!(
            switch_ports("0x1 36\n").unwrap(),
            [(NodeGuid(1), PortNum(36))]
        );
        assert_eq!(
            errors_of(switch_ports, "0x1\n"),
            "1:4: port is missing (expected a switch GUID and a port number, not a port GUID)"
        );
    }

    /// OpenSM silently drops such lines.
    #[test]
    fn port_orders_reject_duplicates() {
        assert_eq!(
            port_order("0x1 3 4 1 2 # xyz\n0x2 1\n").unwrap(),
            [
                (NodeGuid(1), [3, 4, 1, 2].map(PortNum).to_vec()),
                (NodeGuid(2), vec![PortNum(1)])
            ]
        );
        assert_eq!(
            errors_of(port_order, "0x1 3 4 3\n0x2\n0x3 1 0\n0x4 1\n0x4 2\n"),
            "1:9: duplicate port 3\n\
             2:4: port is missing\n\
             3:7: invalid port `0`: expected 1 to 254\n\
             5:1: duplicate order for this switch"
        );
    }
}
