//! `opensm-lfts.dump`: LFTs as OpenSM and ferrosm write them.
//!
//! ```text
//! Unicast lids [0-9] of switch Lid 2 guid 0xe41d2d0300b00010 ('leaf1'):
//! 0x0002 000 # Switch portguid 0xe41d2d0300b00010: 'leaf1'
//! 0x0007 005 # Channel Adapter portguid 0x0002c90300aa0001: 'n1 mlx5_0'
//! 9 lids dumped
//! ```
//!
//! Also the output of `dump_fts`, with its heads of columns and `9 valid lids dumped`.
//!
//! The port GUIDs in the comments are read: LIDs may have changed since the dump.

use ferrosm_mad::ids::{Lid, NodeGuid, PortGuid, PortNum};

use super::line::{ERRORS_MAX, Line, Parsed, parse_digits};
use crate::error::InputError;

/// The LFT of each switch, and the port that owned each LID.
pub type SwitchLfts = (Vec<(NodeGuid, Box<[u8]>)>, Vec<Option<PortGuid>>);

/// Most words behind the first one in lines that are no entries.
const REST_WORDS_MAX: usize = 4;

/// Parser state.
#[derive(Default)]
struct LftsParser {
    tables: Vec<(NodeGuid, Box<[u8]>)>,
    seen: std::collections::BTreeSet<u64>,
    /// The current switch and its LFT.
    table: Option<(NodeGuid, Vec<u8>)>,
    owners: Vec<Option<PortGuid>>,
}

/// Parses the text.
///
/// # Errors
/// Invalid lines (multicast tables included), duplicate switches, and LIDs with two owners.
pub fn parse(text: &str) -> Result<SwitchLfts, Vec<InputError>> {
    let mut parser = LftsParser::default();
    let mut errors = Vec::new();
    for (i, text) in text.lines().enumerate() {
        if let Err(e) = parser.parse_line(Line::with_comments(i + 1, text)) {
            errors.push(e);
            if errors.len() >= ERRORS_MAX {
                break;
            }
        }
    }
    parser.finish();
    if errors.is_empty() && parser.tables.is_empty() {
        errors.push(InputError::in_file(
            "no forwarding table found: expected a file such as opensm-lfts.dump",
        ));
    }
    if errors.is_empty() {
        Ok((parser.tables, parser.owners))
    } else {
        Err(errors)
    }
}

impl LftsParser {
    fn finish(&mut self) {
        if let Some((guid, table)) = self.table.take() {
            self.tables.push((guid, table.into_boxed_slice()));
        }
    }

    fn parse_line(&mut self, mut line: Line<'_>) -> Parsed<()> {
        let full_line = line.clone();
        let Some((at, word)) = line.next_word() else {
            return Ok(());
        };
        if word.starts_with('#') {
            return Ok(());
        }
        if word == "Unicast" {
            return self.start_table(line);
        }
        if word == "Multicast" {
            return Err(line.error(at, "multicast tables are not supported"));
        }
        if word.starts_with("0x") {
            return self.parse_entry(line, at, word);
        }
        let words = core::iter::from_fn(|| line.next_word().map(|(_, word)| word));
        let rest: Vec<&str> = words.take(REST_WORDS_MAX).collect();
        let is_known = match &rest[..] {
            ["lids", "dumped"] | ["valid", "lids", "dumped"] => parse_digits(word, 10).is_some(),
            ["Out", "Destination"] => word == "Lid",
            ["Info"] => word == "Port",
            _ => false,
        };
        if is_known {
            return Ok(());
        }
        Err(full_line.error(at, "expected `Unicast lids ...` or `0xLID PORT`"))
    }

    fn start_table(&mut self, mut line: Line<'_>) -> Parsed<()> {
        self.finish();
        while let Some((_, word)) = line.next_word() {
            if word == "guid" {
                let guid_at = line.clone().next_word().map_or(0, |(at, _)| at);
                let guid = line.guid()?;
                if !self.seen.insert(guid) {
                    return Err(line.error(guid_at, "duplicate table for this switch"));
                }
                self.table = Some((NodeGuid(guid), Vec::new()));
                return Ok(());
            }
        }
        Err(line.missing("`guid` of the switch"))
    }

    fn parse_entry(&mut self, mut line: Line<'_>, at: usize, word: &str) -> Parsed<()> {
        let lid = lid(word).ok_or_else(|| {
            line.error(
                at,
                format!("invalid unicast LID `{word}`: expected 0x0001 to 0xbfff"),
            )
        })?;
        let (port_at, port) = line.next_word().ok_or_else(|| line.missing("a port"))?;
        let port = parse_digits(port, 10)
            .and_then(|p| u8::try_from(p).ok())
            .ok_or_else(|| {
                line.error(port_at, format!("invalid port `{port}`: expected 0 to 255"))
            })?;
        let Some((_, table)) = &mut self.table else {
            // After an invalid switch line, which was reported.
            return if self.tables.is_empty() && self.seen.is_empty() {
                Err(line.error(at, "no `Unicast lids ... guid ...` line before this entry"))
            } else {
                Ok(())
            };
        };
        let index = usize::from(lid.raw());
        if table.len() <= index {
            table.resize(index + 1, PortNum::DROP.raw());
        }
        table[index] = port;
        self.parse_owner(&mut line, index)
    }

    /// Parses the comment of an entry, which contains the port GUID of the LID's owner.
    fn parse_owner(&mut self, line: &mut Line<'_>, lid: usize) -> Parsed<()> {
        while let Some((_, word)) = line.next_word() {
            // The name follows the GUID, so it cannot be mistaken for it.
            if word != "portguid" {
                continue;
            }
            let Some((at, word)) = line.next_word() else {
                return Err(line.missing("the port GUID"));
            };
            let hex = word.trim_end_matches(':').strip_prefix("0x");
            let guid = hex
                .and_then(|h| parse_digits(h, 16))
                .map(PortGuid)
                .ok_or_else(|| line.error(at, format!("invalid port GUID `{word}`")))?;
            if self.owners.len() <= lid {
                self.owners.resize(lid + 1, None);
            }
            match self.owners[lid] {
                Some(other) if other != guid => {
                    return Err(line.error(
                        at,
                        format!("an earlier line assigns this LID to port {other}"),
                    ));
                }
                Some(_) | None => self.owners[lid] = Some(guid),
            }
            return Ok(());
        }
        Ok(())
    }
}

/// `0x` and a unicast LID.
pub(super) fn lid(word: &str) -> Option<Lid> {
    let raw = parse_digits(word.strip_prefix("0x")?, 16)?;
    let lid = Lid(u16::try_from(raw).ok()?);
    lid.is_unicast().then_some(lid)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DUMP: &str = "Unicast lids [0-9] of switch Lid 2 guid 0xe41d2d0300b00010 ('leaf guid 1'):\n\
        0x0002 000 # Switch portguid 0xe41d2d0300b00010: 'leaf1'\n\
        0x0004 005 # Channel Adapter portguid 0x0002c90300aa0001: 'n1 portguid 0x99'\n\
        0x0005 006 # unknown node and type\n\
        9 lids dumped\n\
        Unicast lids [0-9] of switch Lid 3 guid 0xe41d2d0300b00020 (''):\n\
        # a remark\n\n\
        0x0004 255\n\
        9 lids dumped\n";

    #[test]
    fn opensm_dump_is_parsed() {
        let (tables, owners) = parse(DUMP).unwrap();
        assert_eq!(tables.len(), 2);
        assert_eq!(tables[0].0, NodeGuid(0xe41d_2d03_00b0_0010));
        assert_eq!(*tables[0].1, [255, 255, 0, 255, 5, 6]);
        assert_eq!(*tables[1].1, [255; 5]);
        assert_eq!(owners[4], Some(PortGuid(0x0002_c903_00aa_0001)));
        assert_eq!((owners[3], owners.len()), (None, 5));
    }

    #[test]
    fn errors_are_reported_with_positions() {
        let messages = |text: &str| -> Vec<String> {
            let errors = parse(text).unwrap_err();
            let at = |e: &InputError| {
                e.position
                    .map_or_else(String::new, |(l, c)| format!("{l}:{c}: "))
            };
            errors
                .iter()
                .map(|e| format!("{}{}", at(e), e.message))
                .collect()
        };
        let switch = "Unicast lids [0-9] of switch Lid 2 guid 0x10 ('a'):\n";
        let errors_of_line = |line: &str| messages(&format!("{switch}{line}\n")).join("\n");
        assert_eq!(
            errors_of_line("0xc000 1"),
            "2:1: invalid unicast LID `0xc000`: expected 0x0001 to 0xbfff"
        );
        assert_eq!(
            errors_of_line("0x0 1"),
            "2:1: invalid unicast LID `0x0`: expected 0x0001 to 0xbfff"
        );
        assert_eq!(
            errors_of_line("0x7 256"),
            "2:5: invalid port `256`: expected 0 to 255"
        );
        assert_eq!(errors_of_line("0x7"), "2:4: a port is missing");
        assert_eq!(
            errors_of_line("7 8 9"),
            "2:1: expected `Unicast lids ...` or `0xLID PORT`"
        );
        assert_eq!(
            errors_of_line("0x7 1 # CA portguid x:"),
            "2:21: invalid port GUID `x:`"
        );
        assert_eq!(
            errors_of_line(switch.trim()),
            "2:41: duplicate table for this switch"
        );
        assert_eq!(
            errors_of_line("0x7 1 # CA portguid 0x1:\n0x7 1 # CA portguid 0x2:"),
            "3:21: an earlier line assigns this LID to port 0x0000000000000001"
        );
        assert_eq!(
            errors_of_line("Multicast mlids [0xc000]"),
            "2:1: multicast tables are not supported"
        );
        assert_eq!(
            messages("0x7 1\nUnicast lids\n"),
            [
                "1:1: no `Unicast lids ... guid ...` line before this entry",
                "2:13: `guid` of the switch is missing"
            ]
        );
        assert!(messages("")[0].starts_with("no forwarding table found"));
    }
}
