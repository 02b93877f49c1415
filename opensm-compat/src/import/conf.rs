//! Lines of `opensm.conf`, as OpenSM splits them (`osm_subn_parse_conf_file`).

use crate::options::value::is_c_space;

/// Most bytes that OpenSM reads as one line. The rest of a longer line is the next line.
pub const LINE_MAX: usize = 1022;
/// Most lines of a file that are imported.
pub const LINES_MAX: usize = 100_000;

/// A line with a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfLine {
    /// Number of the line in the file, from 1.
    pub number: usize,
    /// Column of the name, from 1, in characters.
    pub column: usize,
    pub name: String,
    /// The value without blanks and quotes around it; empty without a value.
    pub value: String,
    /// The rest of a longer line.
    pub is_rest: bool,
    /// The line continues in the next one.
    pub is_cut: bool,
}

/// The lines of a file that have a name. A text without a name, such as the `\r` of an empty line
/// of Windows, is omitted.
#[must_use]
pub fn lines(file: &[u8]) -> Vec<ConfLine> {
    let mut found = Vec::new();
    for (number, line) in (1..=LINES_MAX).zip(file.split_inclusive(|byte| *byte == b'\n')) {
        let pieces = line.len().div_ceil(LINE_MAX);
        let mut before = 0;
        for (index, piece) in line.chunks(LINE_MAX).enumerate() {
            if let Some((column, name, value)) = name_and_value(piece) {
                found.push(ConfLine {
                    number,
                    column: before + column,
                    name,
                    value,
                    is_rest: index > 0,
                    is_cut: index + 1 < pieces,
                });
            }
            before += String::from_utf8_lossy(piece).chars().count();
        }
    }
    found
}

/// Whether a file has more lines than [`LINES_MAX`].
#[must_use]
pub fn is_too_long(file: &[u8]) -> bool {
    file.split(|byte| *byte == b'\n')
        .nth(LINES_MAX + 1)
        .is_some()
}

/// Column, name and value of a piece of a line. A NUL byte ends it, and `#` anywhere.
fn name_and_value(piece: &[u8]) -> Option<(usize, String, String)> {
    let end = piece
        .iter()
        .position(|byte| matches!(byte, 0 | b'#'))
        .unwrap_or(piece.len());
    let text = String::from_utf8_lossy(&piece[..end]).into_owned();
    let is_separator = |c: char| matches!(c, ' ' | '\t' | '\n');
    let trimmed = text.trim_start_matches(is_separator);
    let column = text.chars().count() - trimmed.chars().count() + 1;
    let (name, rest) = trimmed.split_once(is_separator).unwrap_or((trimmed, ""));
    if name.trim().is_empty() {
        return None;
    }
    Some((column, name.to_owned(), unquoted(rest).to_owned()))
}

/// A value without blanks around it and one pair of equal quotes.
fn unquoted(value: &str) -> &str {
    let value = value.trim_matches(is_c_space);
    for quote in ['"', '\''] {
        if value == quote.to_string() {
            return "";
        }
        let inner = value
            .strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote));
        if let Some(inner) = inner {
            return inner;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(usize, String, String)> {
        let found = lines(text.as_bytes()).into_iter();
        found.map(|l| (l.number, l.name, l.value)).collect()
    }

    fn line(number: usize, name: &str, value: &str) -> (usize, String, String) {
        (number, name.to_owned(), value.to_owned())
    }

    #[test]
    fn comments_quotes_and_blanks_are_removed() {
        let text = "# c\n\n sm_priority\t 15 # head node\nlog_file \"/var/log/a b\"\nguid\nx 'y\"\r\n\r\nz \"\n";
        assert_eq!(
            read(text),
            [
                line(3, "sm_priority", "15"),
                line(4, "log_file", "/var/log/a b"),
                line(5, "guid", ""),
                line(6, "x", "'y\""),
                line(8, "z", ""),
            ]
        );
        assert_eq!(lines(b" \t a 1\n")[0].column, 4);
        assert_eq!(read("a 1\0 b\nc 2"), [line(1, "a", "1"), line(2, "c", "2")]);
    }

    #[test]
    fn long_lines_are_cut_after_1022_bytes() {
        let text = format!("node_name_map_name {}sm_priority 5\n", "x".repeat(1003));
        let found = lines(text.as_bytes());
        assert_eq!(found.len(), 2);
        assert!(found[0].is_cut && !found[0].is_rest);
        assert_eq!(
            (found[1].number, found[1].column, &*found[1].name),
            (1, 1023, "sm_priority")
        );
        assert!(found[1].is_rest);
    }
}
