//! From bytes to lines: encodings, escape sequences, and included files.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::line;

/// Maximum include depth, as in ibsim.
const MAX_DEPTH: usize = 9;
/// Maximum number of files.
const MAX_FILES: usize = 256;

/// Returns the contents of an included file, or the reason why it cannot be read.
pub type IncludeLoader<'l> = dyn FnMut(&str) -> Result<Vec<u8>, String> + 'l;

/// A file and its includes, each once.
#[derive(Debug)]
pub(super) struct Sources {
    /// The main file first, without a name.
    pub(super) files: Vec<(Option<String>, String)>,
    /// By name: index of the file, or the reason why it cannot be read.
    known: BTreeMap<String, Result<usize, String>>,
}

impl Sources {
    /// Loads all files before reading starts.
    pub(super) fn gather(bytes: &[u8], load: &mut IncludeLoader<'_>) -> Self {
        let mut all = Self {
            files: vec![(None, decode(bytes).into_owned())],
            known: BTreeMap::new(),
        };
        let mut at = 0;
        while at < all.files.len() {
            let names: Vec<String> = all.files[at]
                .1
                .split('\n')
                .filter_map(|l| line::include(bare(l)))
                .map(str::to_owned)
                .collect();
            for name in names {
                if all.known.contains_key(&name) {
                    continue;
                }
                let file = if all.files.len() < MAX_FILES {
                    load(&name).map(|bytes| {
                        let text = decode(&bytes).into_owned();
                        all.files.push((Some(name.clone()), text));
                        all.files.len() - 1
                    })
                } else {
                    Err("too many files".to_owned())
                };
                all.known.insert(name, file);
            }
            at += 1;
        }
        all
    }

    /// The index of an included file, or the reason why it cannot be included at this depth.
    pub(super) fn included(&self, name: &str, depth: usize) -> Result<usize, String> {
        if depth >= MAX_DEPTH {
            return Err(format!("more than {MAX_DEPTH} levels of includes"));
        }
        self.known
            .get(name)
            .cloned()
            .unwrap_or_else(|| Err("not loaded".to_owned()))
    }
}

/// Decodes UTF-8, UTF-16 with a byte-order mark (as PowerShell writes it), or bytes, with invalid
/// UTF-8 replaced by U+FFFD.
fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let wide = |to_unit: fn([u8; 2]) -> u16| {
        let units = bytes[2..].chunks_exact(2).map(|c| to_unit([c[0], c[1]]));
        let text = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER));
        Cow::Owned(text.collect())
    };
    match bytes {
        [0xFF, 0xFE, ..] => wide(u16::from_le_bytes),
        [0xFE, 0xFF, ..] => wide(u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes),
    }
}

/// A line without byte-order mark, leading terminal escape sequences, carriage return and
/// surrounding blanks.
pub(super) fn bare(line: &str) -> &str {
    let mut remaining =
        line.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}' || c == '\0');
    while let Some(escaped) = remaining.strip_prefix('\u{1b}') {
        let end = match escaped.chars().next() {
            // A control sequence ends at its first letter, an operating system command at BEL.
            Some('[') => escaped[1..]
                .find(|c: char| c.is_ascii_alphabetic() || c == '~')
                .map(|n| n + 2),
            Some(']') => escaped.find('\u{7}').map(|n| n + 1),
            _ => None,
        };
        let Some(end) = end else { break };
        remaining = escaped[end..].trim_start();
    }
    remaining
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_escapes_are_removed() {
        for (line, expected) in [
            ("\u{feff}# x\r", "# x"),
            ("\u{1b}[?2004l\u{1b}[0m[1]\t\"a\"[2]\r\n", "[1]\t\"a\"[2]"),
            (
                "\u{1b}]0;root@head: ~\u{7}[root@head ~]# ",
                "[root@head ~]#",
            ),
            ("\u{1b}[", "\u{1b}["),
            ("\u{1b}é", "\u{1b}é"),
        ] {
            assert_eq!(bare(line), expected);
        }
    }

    #[test]
    fn utf16_and_invalid_utf8_are_decoded() {
        let wide = |order: fn(u16) -> [u8; 2], mark: [u8; 2]| {
            let units = "Hca 1 \"é\"".encode_utf16().flat_map(order);
            mark.into_iter().chain(units).collect::<Vec<u8>>()
        };
        for bytes in [
            wide(u16::to_le_bytes, [0xFF, 0xFE]),
            wide(u16::to_be_bytes, [0xFE, 0xFF]),
            "Hca 1 \"é\"".as_bytes().to_vec(),
        ] {
            assert_eq!(decode(&bytes), "Hca 1 \"é\"");
        }
        assert_eq!(decode(b"\xFF\xFE\x00"), "");
        assert_eq!(decode(b"a\xFFb"), "a\u{fffd}b");
    }
}
