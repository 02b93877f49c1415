//! SLtoVL tables and path SLs that supplement an LFT dump, in the formats that ibdmchk reads.
//!
//! SLtoVL tables are in the format of `opensm-sl2vl.dump`:
//!
//! ```text
//! Switch 0xe41d2d0300b00010, base LID 2, "leaf1"
//! #in out : 0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 15
//! #--------------------------------------------------------
//! 0   1   : 0  1  2  3  4  5  6  7  0  1  2  3  4  5  6  7
//! ```
//!
//! or `0xGUID IN OUT 0x01 0x23 ...` with two VLs in each byte. Path SLs have the same headers and
//! `0xLID : SL`, or `0xGUID LID SL` with a decimal LID.

use std::collections::BTreeSet;
use std::sync::Arc;

use ferrosm_core::config::hints::{GuidTables, PairMap};
use ferrosm_mad::ids::{Lid, PortGuid, PortNum};
use ferrosm_routing::vl_plan::SLS;

use super::lfts::lid;
use super::line::{ERRORS_MAX, Line, Parsed, parse_digits};
use crate::error::InputError;

/// `sl2vl_file`: the SLtoVL tables of each switch and CA (ports 0 0).
///
/// # Errors
/// Invalid lines, and conflicting tables for a pair of ports.
pub fn parse_sl2vl(text: &str) -> Result<Vec<(PortGuid, Vec<PairMap>)>, Vec<InputError>> {
    let mut blocks: RowsByGuid<Vec<PairMap>> = RowsByGuid::default();
    each_line(text, "opensm-sl2vl.dump", |mut line| {
        let Some((at, word)) = line.next_word() else {
            return Ok(());
        };
        if blocks.parse_header(&mut line, word)? {
            return Ok(());
        }
        let compact = word.starts_with("0x");
        let input = if compact {
            blocks.select(guid(&line, at, word)?);
            line.number("input port", 0, 254)?
        } else {
            parse_digits(word, 10)
                .and_then(|p| u8::try_from(p).ok())
                .filter(|p| *p < 255)
                .ok_or_else(|| line.error(at, format!("invalid input port `{word}`")))?
        };
        let output = line.number("output port", 0, 254)?;
        let map = if compact {
            parse_packed_vls(&mut line)?
        } else {
            parse_vls(&mut line)?
        };
        line.expect_end()?;
        let pairs = blocks.current(&line)?;
        let pair = (PortNum(input), PortNum(output));
        // Pairs of a switch are ordered, so comparing the last ones finds a repeated line.
        if pairs
            .iter()
            .rev()
            .take(2)
            .any(|(i, o, m)| (*i, *o) == pair && *m != map)
        {
            return Err(line.error(at, "conflicting table for this pair of ports"));
        }
        pairs.push((pair.0, pair.1, map));
        Ok(())
    })?;
    Ok(blocks.rows)
}

/// Path SLs of each source, indexed by destination LID.
pub type PathSls = Vec<(PortGuid, Arc<[u8]>)>;

/// `path_sl_file`: the SL from each source to each LID; [`GuidTables::NO_SL`] without a line.
///
/// # Errors
/// Invalid lines, and conflicting SLs for a path.
pub fn parse_path_sl(text: &str) -> Result<PathSls, Vec<InputError>> {
    let mut blocks: RowsByGuid<Vec<u8>> = RowsByGuid::default();
    each_line(text, "path-SL file", |mut line| {
        let Some((at, word)) = line.next_word() else {
            return Ok(());
        };
        if blocks.parse_header(&mut line, word)? {
            return Ok(());
        }
        let colon = line.clone().next_word().is_some_and(|(_, w)| w == ":");
        let to = if colon {
            line.next_word();
            lid(word).ok_or_else(|| line.error(at, format!("invalid unicast LID `{word}`")))?
        } else {
            blocks.select(guid(&line, at, word)?);
            Lid(line.number("LID", 1, u64::from(Lid::UNICAST_MAX.0))?)
        };
        let sl = line.number("SL", 0, 15)?;
        line.expect_end()?;
        let row = blocks.current(&line)?;
        let index = usize::from(to.raw());
        if row.len() <= index {
            row.resize(index + 1, GuidTables::NO_SL);
        }
        if row[index] != GuidTables::NO_SL && row[index] != sl {
            return Err(line.error(
                at,
                format!("conflicting SL: an earlier line has SL {}", row[index]),
            ));
        }
        row[index] = sl;
        Ok(())
    })?;
    // Sources on one switch have equal SLs, which share an allocation.
    let mut known: BTreeSet<Arc<[u8]>> = BTreeSet::new();
    let share = |(guid, row): (PortGuid, Vec<u8>)| {
        let row: Arc<[u8]> = row.into();
        let shared = known.get(&row).cloned().unwrap_or_else(|| {
            known.insert(Arc::clone(&row));
            row
        });
        (guid, shared)
    };
    Ok(blocks.rows.into_iter().map(share).collect())
}

/// Calls `read` with each line that is neither blank nor a comment.
fn each_line(
    text: &str,
    expected: &str,
    mut read: impl FnMut(Line<'_>) -> Parsed<()>,
) -> Result<(), Vec<InputError>> {
    let mut errors = Vec::new();
    let mut has_data = false;
    for (i, text) in text.lines().enumerate() {
        if text.trim().is_empty() || text.trim_start().starts_with('#') {
            continue;
        }
        has_data = true;
        if let Err(e) = read(Line::with_comments(i + 1, text)) {
            errors.push(e);
            if errors.len() >= ERRORS_MAX {
                break;
            }
        }
    }
    if !has_data {
        let message = format!("no data: expected a file such as {expected}");
        errors.push(InputError::in_file(message));
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors)
    }
}

/// Data by GUID, in the order of the file.
#[derive(Default)]
struct RowsByGuid<T> {
    rows: Vec<(PortGuid, T)>,
    index: std::collections::BTreeMap<u64, usize>,
    selected: Option<usize>,
}

impl<T: Default> RowsByGuid<T> {
    /// Selects the GUID that the following lines describe.
    fn select(&mut self, guid: PortGuid) {
        let at = *self.index.entry(guid.0).or_insert_with(|| {
            self.rows.push((guid, T::default()));
            self.rows.len() - 1
        });
        self.selected = Some(at);
    }

    /// Parses a header such as `Switch 0x..., base LID 2, "leaf1"`; `false` if the line is not a
    /// header.
    fn parse_header(&mut self, line: &mut Line<'_>, word: &str) -> Parsed<bool> {
        match word {
            "Switch" | "Router" => {}
            "Channel" => {
                let (at, second) = line.next_word().ok_or_else(|| line.missing("`Adapter`"))?;
                if second != "Adapter" {
                    return Err(line.error(at, "expected `Channel Adapter`"));
                }
            }
            _ => return Ok(false),
        }
        let (at, word) = line.next_word().ok_or_else(|| line.missing("a GUID"))?;
        let guid = guid(line, at, word.trim_end_matches(','))?;
        self.select(guid);
        Ok(true)
    }

    fn current(&mut self, line: &Line<'_>) -> Parsed<&mut T> {
        self.selected
            .and_then(|at| self.rows.get_mut(at))
            .map(|(_, v)| v)
            .ok_or_else(|| {
                line.error(
                    0,
                    "no `Switch 0x...,` or `Channel Adapter 0x...,` line before this one",
                )
            })
    }
}

fn guid(line: &Line<'_>, at: usize, word: &str) -> Parsed<PortGuid> {
    let hex = word.strip_prefix("0x").and_then(|h| parse_digits(h, 16));
    let guid = hex.filter(|g| *g != 0).map(PortGuid);
    guid.ok_or_else(|| {
        line.error(
            at,
            format!("invalid GUID `{word}`: expected a number such as 0x0002c90300a1b2c3"),
        )
    })
}

/// `: 0 1 2 ...`: sixteen VLs.
fn parse_vls(line: &mut Line<'_>) -> Parsed<[u8; SLS]> {
    match line.next_word() {
        Some((_, ":")) => {}
        Some((at, _)) => return Err(line.error(at, "`:` is missing before the VLs")),
        None => return Err(line.missing("`:` and the VLs of 16 SLs")),
    }
    let mut map = [0; SLS];
    for vl in &mut map {
        // Decimal, with optional leading zeros.
        let (at, word) = line
            .next_word()
            .ok_or_else(|| line.missing("the VL of an SL"))?;
        *vl = parse_digits(word, 10)
            .and_then(|v| u8::try_from(v).ok())
            .filter(|v| *v < 16)
            .ok_or_else(|| line.error(at, format!("invalid VL `{word}`: expected 0 to 15")))?;
    }
    Ok(map)
}

/// `0x01 0x23 ...`: eight bytes of two VLs each.
fn parse_packed_vls(line: &mut Line<'_>) -> Parsed<[u8; SLS]> {
    let mut map = [0; SLS];
    for pair in map.chunks_exact_mut(2) {
        let (at, word) = line
            .next_word()
            .ok_or_else(|| line.missing("a byte with two VLs"))?;
        let byte = word
            .strip_prefix("0x")
            .filter(|h| h.len() == 2)
            .and_then(|h| parse_digits(h, 16))
            .and_then(|b| u8::try_from(b).ok())
            .ok_or_else(|| {
                line.error(
                    at,
                    format!("invalid byte `{word}`: expected two VLs such as 0x01"),
                )
            })?;
        pair.copy_from_slice(&[byte >> 4, byte & 15]);
    }
    Ok(map)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(errors: &[InputError]) -> String {
        let at = |e: &InputError| {
            e.position
                .map_or_else(String::new, |(l, c)| format!("{l}:{c}: "))
        };
        let lines: Vec<String> = errors
            .iter()
            .map(|e| format!("{}{}", at(e), e.message))
            .collect();
        lines.join("\n")
    }

    /// OpenSM's format, and ibdmchk's.
    #[test]
    fn sl_to_vl_tables_parse_in_both_formats() {
        let dump = "Channel Adapter 0x11, base LID 4, \"n1\"\n#in out : 0\n#---\n\
                    0   0   : 0  1  0  1  0  1  0  1  0  1  0  1  0  1  0  1 \n#---\n\n\
                    Switch 0xa0, base LID 2, \"leaf, 1\"\n#in out : 0\n#---\n\
                    3   12  : 0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 15\n#---\n";
        let read = parse_sl2vl(dump).unwrap();
        let all: Vec<u8> = (0..16).collect();
        assert_eq!(
            read[0].1,
            [(
                PortNum(0),
                PortNum(0),
                [0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1]
            )]
        );
        assert_eq!((read[1].0, read[1].1[0].2.to_vec()), (PortGuid(0xa0), all));
        let compact =
            parse_sl2vl("0x00000000000000a0 3 12 0x01 0x23 0x45 0x67 0x89 0xab 0xcd 0xef\n")
                .unwrap();
        assert_eq!(compact[0], read[1]);
    }

    #[test]
    fn invalid_sl_to_vl_tables_are_reported() {
        let head = "Switch 0xa0, base LID 2, \"s\"\n";
        let errors_of =
            |line: &str| messages(&parse_sl2vl(&format!("{head}{line}\n")).unwrap_err());
        assert_eq!(errors_of("1 2 : 0 1"), "2:10: the VL of an SL is missing");
        assert_eq!(
            errors_of("1 2 : 0 16 0"),
            "2:9: invalid VL `16`: expected 0 to 15"
        );
        assert_eq!(errors_of("1 2 0 1"), "2:5: `:` is missing before the VLs");
        assert_eq!(errors_of("x 2 : 0"), "2:1: invalid input port `x`");
        assert_eq!(
            errors_of("0xa0 1 2 0x1"),
            "2:10: invalid byte `0x1`: expected two VLs such as 0x01"
        );
        let zeros = "0 ".repeat(16);
        assert_eq!(
            errors_of(&format!("1 2 : {zeros} 7")),
            "2:40: unexpected `7`: expected end of line"
        );
        let ones = "1 ".repeat(16);
        assert_eq!(
            errors_of(&format!("1 2 : {zeros}\n1 2 : {ones}")),
            "3:1: conflicting table for this pair of ports"
        );
        assert_eq!(
            messages(
                &parse_sl2vl(&format!("1 2 : {zeros}\nChannel 0x1,\nSwitch zz,\n")).unwrap_err()
            ),
            "1:1: no `Switch 0x...,` or `Channel Adapter 0x...,` line before this one\n\
             2:9: expected `Channel Adapter`\n\
             3:8: invalid GUID `zz`: expected a number such as 0x0002c90300a1b2c3"
        );
        assert!(messages(&parse_sl2vl("# nothing\n").unwrap_err()).starts_with("no data"));
    }

    #[test]
    fn path_sls_parse_in_both_formats_and_are_shared() {
        let dump = "Channel Adapter 0x11, base LID 4, \"n1\"\n# LID : SL\n0x0002 : 0\n0x0005 : 3\n\n\
                    Channel Adapter 0x12, base LID 5, \"n2\"\n0x0002 : 0\n0x0005 : 3\n";
        let read = parse_path_sl(dump).unwrap();
        assert_eq!(&read[0].1[..], [255, 255, 0, 255, 255, 3]);
        assert!(Arc::ptr_eq(&read[0].1, &read[1].1));
        let compact = parse_path_sl("0x11 2 0\n0x12 2 0\n0x11 5 3\n0x12 5 3\n").unwrap();
        assert_eq!(compact, read);
    }

    #[test]
    fn invalid_path_sls_are_reported() {
        let errors_of = |text: &str| messages(&parse_path_sl(text).unwrap_err());
        assert_eq!(
            errors_of("0x11 0 1\n"),
            "1:6: invalid LID `0`: expected 1 to 49151"
        );
        assert_eq!(
            errors_of("0x11 1 16\n"),
            "1:8: invalid SL `16`: expected 0 to 15"
        );
        assert_eq!(errors_of("0x11 1\n"), "1:7: SL is missing");
        assert_eq!(
            errors_of("0x11 1 2\n0x11 1 3\n"),
            "2:1: conflicting SL: an earlier line has SL 2"
        );
        assert_eq!(
            errors_of("n1 1 2\n"),
            "1:1: invalid GUID `n1`: expected a number such as 0x0002c90300a1b2c3"
        );
        assert!(errors_of("0x0007 : 1\n").contains("line before this one"));
    }
}
