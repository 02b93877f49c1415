//! Lines of an input file, read word by word, and errors with line and column.

use ferrosm_mad::ids::PortNum;

use crate::error::InputError;

/// Maximum number of errors reported for a file. A file in a wrong format has an error in every
/// line.
pub(super) const ERRORS_MAX: usize = 20;

/// Result of parsing a line or one of its fields.
pub(super) type Parsed<T> = Result<T, InputError>;

/// A line without its comment, consumed word by word.
#[derive(Debug, Clone)]
pub(super) struct Line<'a> {
    number: usize,
    text: &'a str,
    /// Bytes consumed.
    at: usize,
}

/// Lines that are neither blank nor comments, with line numbers. `#` starts a comment anywhere.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    text.lines().enumerate().filter_map(|(i, line)| {
        let text = line.split('#').next().unwrap_or_default().trim_end();
        (!text.trim().is_empty()).then_some(Line {
            number: i + 1,
            text,
            at: 0,
        })
    })
}

/// Parses all lines. Returns all values, or all errors up to [`ERRORS_MAX`].
pub(super) fn parse_lines<'a, T>(
    lines: impl Iterator<Item = Line<'a>>,
    mut read: impl FnMut(Line<'a>) -> Parsed<T>,
) -> Result<Vec<T>, Vec<InputError>> {
    let mut values = Vec::new();
    let mut errors = Vec::new();
    for line in lines {
        match read(line) {
            Ok(v) => values.push(v),
            Err(e) if errors.len() < ERRORS_MAX => errors.push(e),
            Err(_) => {
                errors.push(InputError::in_file("further errors omitted"));
                break;
            }
        }
    }
    if errors.is_empty() {
        Ok(values)
    } else {
        Err(errors)
    }
}

impl<'a> Line<'a> {
    /// A line in which `#` does not start a comment.
    pub(super) fn with_comments(number: usize, text: &'a str) -> Self {
        Self {
            number,
            text,
            at: 0,
        }
    }

    /// The next word and its offset.
    pub(super) fn next_word(&mut self) -> Option<(usize, &'a str)> {
        let rest = &self.text[self.at..];
        let start = self.at + (rest.len() - rest.trim_start().len());
        let word = self.text[start..].split_whitespace().next()?;
        self.at = start + word.len();
        Some((start, word))
    }

    /// An error at a byte offset of the line.
    pub(super) fn error(&self, at: usize, message: impl Into<String>) -> InputError {
        let before = self.text.get(..at).unwrap_or(self.text);
        InputError::at(self.number, before.chars().count() + 1, message)
    }

    /// A warning at a byte offset of the line.
    pub(super) fn warning(&self, at: usize, message: impl Into<String>) -> InputError {
        self.error(at, message).into_warning()
    }

    /// An error at the end of the line.
    pub(super) fn missing(&self, item: &str) -> InputError {
        self.error(self.text.len(), format!("{item} is missing"))
    }

    /// The next word as a number within bounds.
    pub(super) fn number<N: TryFrom<u64>>(&mut self, item: &str, low: u64, high: u64) -> Parsed<N> {
        let (at, word) = self.next_word().ok_or_else(|| self.missing(item))?;
        parse_number(word)
            .filter(|v| (low..=high).contains(v))
            .and_then(|v| N::try_from(v).ok())
            .ok_or_else(|| {
                let expected = if high == u64::MAX {
                    "a number".to_owned()
                } else {
                    format!("{low} to {high}")
                };
                self.error(at, format!("invalid {item} `{word}`: expected {expected}"))
            })
    }

    /// The next word as a GUID.
    pub(super) fn guid(&mut self) -> Parsed<u64> {
        let (at, word) = self.next_word().ok_or_else(|| self.missing("a GUID"))?;
        parse_number(word).filter(|v| *v != 0).ok_or_else(|| {
            self.error(
                at,
                format!("invalid GUID `{word}`: expected a number such as 0x0002c90300a1b2c3"),
            )
        })
    }

    /// The next word as a switch port number.
    pub(super) fn port(&mut self) -> Parsed<PortNum> {
        Ok(PortNum(self.number("port", 1, 254)?))
    }

    /// Expects the end of the line.
    pub(super) fn expect_end(&mut self) -> Parsed<()> {
        match self.next_word() {
            None => Ok(()),
            Some((at, word)) => {
                Err(self.error(at, format!("unexpected `{word}`: expected end of line")))
            }
        }
    }
}

/// A number as strtoul parses it with base 0: `0x` hexadecimal, leading 0 octal, otherwise decimal.
pub(super) fn parse_number(word: &str) -> Option<u64> {
    if let Some(hex) = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        return parse_digits(hex, 16);
    }
    match word.strip_prefix('0') {
        Some(octal) if !octal.is_empty() => parse_digits(octal, 8),
        _ => parse_digits(word, 10),
    }
}

/// Digits only: no sign or whitespace.
pub(super) fn parse_digits(word: &str, radix: u32) -> Option<u64> {
    word.chars()
        .all(|c| c.is_digit(radix))
        .then(|| u64::from_str_radix(word, radix).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_parse_as_in_c() {
        assert_eq!(parse_number("0x1F"), Some(31));
        assert_eq!(parse_number("017"), Some(15));
        assert_eq!((parse_number("0"), parse_number("42")), (Some(0), Some(42)));
        assert_eq!(parse_number("0xffffffffffffffff"), Some(u64::MAX));
        for invalid in ["", "0x", "08", "-1", "+1", "1x", "0x1ffffffffffffffff"] {
            assert_eq!(parse_number(invalid), None, "{invalid}");
        }
    }

    #[test]
    fn errors_have_columns_in_characters() {
        let mut line = lines("\n# c\n  é  0x2 # rest\n").next().unwrap();
        assert_eq!(line.next_word(), Some((2, "é")));
        let at = line.next_word().unwrap();
        assert_eq!(at.1, "0x2");
        assert_eq!(
            line.error(at.0, "x").position,
            Some((3, 6)),
            "characters, not bytes"
        );
        assert_eq!(line.next_word(), None);
    }

    /// A binary file yields a bounded number of errors.
    #[test]
    fn number_of_errors_is_bounded() {
        let text = "x\n".repeat(100);
        let errors = parse_lines(lines(&text), |mut l| l.guid()).unwrap_err();
        assert_eq!(errors.len(), ERRORS_MAX + 1);
    }
}
