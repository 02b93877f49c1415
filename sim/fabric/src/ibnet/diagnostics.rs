//! Collects errors and warnings: reports the first of each and counts the rest.

use super::error::{MAX_REPORTED, ReadError, ReadErrorKind, ReadErrors, Warning, WarningKind};
use super::source::Sources;
use crate::index::index_to_u32;

/// A line of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SourceLine {
    file: u32,
    line: u32,
}

impl SourceLine {
    pub(super) fn new(file: usize, line: usize) -> Self {
        Self {
            file: index_to_u32(file),
            line: index_to_u32(line),
        }
    }

    pub(super) fn line(self) -> usize {
        self.line as usize
    }
}

/// The first [`MAX_REPORTED`] errors and warnings, and the number of further ones.
#[derive(Debug, Default)]
pub(super) struct Diagnostics {
    errors: Vec<(SourceLine, ReadErrorKind)>,
    errors_omitted: usize,
    warnings: Vec<(SourceLine, WarningKind)>,
    warnings_omitted: usize,
}

impl Diagnostics {
    pub(super) fn error(&mut self, at: SourceLine, kind: ReadErrorKind) {
        if self.errors.len() < MAX_REPORTED {
            self.errors.push((at, kind));
        } else {
            self.errors_omitted += 1;
        }
    }

    pub(super) fn warn(&mut self, at: SourceLine, kind: WarningKind) {
        if self.warnings.len() < MAX_REPORTED {
            self.warnings.push((at, kind));
        } else {
            self.warnings_omitted += 1;
        }
    }

    pub(super) fn has_errors(&self) -> bool {
        !self.errors.is_empty()
    }

    /// The errors if there are any; otherwise the warnings and the number of further ones.
    pub(super) fn finish(mut self, sources: &Sources) -> Result<(Vec<Warning>, usize), ReadErrors> {
        let name = |at: SourceLine| {
            let file = sources.files.get(at.file as usize);
            file.and_then(|(name, _)| name.clone())
        };
        if self.errors.is_empty() {
            self.warnings.sort_by_key(|(at, _)| *at);
            let warnings = self.warnings.into_iter().map(|(at, kind)| Warning {
                file: name(at),
                line: at.line(),
                kind,
            });
            return Ok((warnings.collect(), self.warnings_omitted));
        }
        self.errors.sort_by_key(|(at, _)| *at);
        let list = self.errors.into_iter().map(|(at, kind)| ReadError {
            file: name(at),
            line: at.line(),
            column: column(sources, at, &kind),
            kind,
        });
        Err(ReadErrors {
            list: list.collect(),
            omitted: self.errors_omitted,
        })
    }
}

/// Column of an error: its token is searched for in the line, which is cheap for the few reported
/// errors.
fn column(sources: &Sources, at: SourceLine, kind: &ReadErrorKind) -> Option<usize> {
    let token = kind.token()?;
    let (_, text) = sources.files.get(at.file as usize)?;
    let line = text.split('\n').nth(at.line().checked_sub(1)?)?;
    // Numbers must be whole words: `8` does not match in `MQM8700`.
    let is_number = token.starts_with(|c: char| c.is_ascii_digit());
    let is_within_word = |start: usize| {
        is_number
            && (line[..start].ends_with(char::is_alphanumeric)
                || line[start + token.len()..].starts_with(char::is_alphanumeric))
    };
    let mut matches = line.match_indices(&token).map(|(start, _)| start);
    let start = matches.find(|start| !is_within_word(*start))?;
    // Byte order marks do not count as columns.
    let mark_len = line.len() - line.trim_start_matches('\u{feff}').len();
    line.get(mark_len..start)
        .map(|before| before.chars().count() + 1)
}
