//! From bytes to lines: encodings, escape sequences, and files that include each other.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::line;

/// ibsim nests so deep.
const DEEPEST: usize = 9;
/// More files than this are no fabric but a circle.
const MOST_FILES: usize = 256;

/// Gives the content of a file that another includes, or says why not.
pub type IncludeLoader<'l> = dyn FnMut(&str) -> Result<Vec<u8>, String> + 'l;

/// A file and the files that it includes, each once.
#[derive(Debug)]
pub(super) struct Sources {
    /// The first is the file itself, which has no name here.
    pub(super) files: Vec<(Option<String>, String)>,
    /// What each name stands for: a file, or why there is none.
    found: BTreeMap<String, Result<usize, String>>,
}

impl Sources {
    /// Gathers all that is needed before reading begins.
    pub(super) fn gather(bytes: &[u8], load: &mut IncludeLoader<'_>) -> Self {
        let mut all = Self {
            files: vec![(None, decode(bytes).into_owned())],
            found: BTreeMap::new(),
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
                if all.found.contains_key(&name) {
                    continue;
                }
                let place = if all.files.len() < MOST_FILES {
                    load(&name).map(|bytes| {
                        let text = decode(&bytes).into_owned();
                        all.files.push((Some(name.clone()), text));
                        all.files.len() - 1
                    })
                } else {
                    Err("there are too many files".to_owned())
                };
                all.found.insert(name, place);
            }
            at += 1;
        }
        all
    }

    /// The file of that name, for a reader that is so deep already.
    pub(super) fn included(&self, name: &str, depth: usize) -> Result<usize, String> {
        if depth >= DEEPEST {
            return Err(format!("files are nested deeper than {DEEPEST}"));
        }
        self.found
            .get(name)
            .cloned()
            .unwrap_or_else(|| Err("it was not loaded".to_owned()))
    }
}

/// Text in whatever encoding it came: UTF-8, UTF-16 with its mark (PowerShell writes it), or bytes
/// of which each that is no UTF-8 becomes U+FFFD.
fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let wide = |of: fn([u8; 2]) -> u16| {
        let units = bytes[2..].chunks_exact(2).map(|c| of([c[0], c[1]]));
        let text = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER));
        Cow::Owned(text.collect())
    };
    match bytes {
        [0xFF, 0xFE, ..] => wide(u16::from_le_bytes),
        [0xFE, 0xFF, ..] => wide(u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes),
    }
}

/// A line without what terminals and editors put around it: a byte-order mark, colours, a carriage
/// return, blanks.
pub(super) fn bare(line: &str) -> &str {
    let mut rest = line.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}' || c == '\0');
    while let Some(escaped) = rest.strip_prefix('\u{1b}') {
        let end = match escaped.chars().next() {
            // A control sequence ends at its first letter, a command to the window at a bell.
            Some('[') => escaped[1..]
                .find(|c: char| c.is_ascii_alphabetic() || c == '~')
                .map(|n| n + 2),
            Some(']') => escaped.find('\u{7}').map(|n| n + 1),
            _ => None,
        };
        let Some(end) = end else { break };
        rest = escaped[end..].trim_start();
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_terminals_add_goes() {
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
    fn text_of_another_system_is_decoded() {
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
