//! What a reader finds to say: errors and warnings, the first of each, the rest counted.

use super::error::{ReadError, ReadErrorKind, ReadErrors, TOLD, Warning, WarningKind};
use super::source::Sources;

/// A line of one of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    file: u32,
    line: u32,
}

impl Place {
    pub(super) fn new(file: usize, line: usize) -> Self {
        let small = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Self {
            file: small(file),
            line: small(line),
        }
    }

    pub(super) fn line(self) -> usize {
        self.line as usize
    }
}

#[derive(Debug, Default)]
pub(super) struct Log {
    errors: Vec<(Place, ReadErrorKind)>,
    errors_left_off: usize,
    warnings: Vec<(Place, WarningKind)>,
    warnings_left_off: usize,
}

impl Log {
    pub(super) fn error(&mut self, place: Place, kind: ReadErrorKind) {
        if self.errors.len() < TOLD {
            self.errors.push((place, kind));
        } else {
            self.errors_left_off += 1;
        }
    }

    pub(super) fn warn(&mut self, place: Place, kind: WarningKind) {
        if self.warnings.len() < TOLD {
            self.warnings.push((place, kind));
        } else {
            self.warnings_left_off += 1;
        }
    }

    pub(super) fn has_errors(&self) -> bool {
        !self.errors.is_empty()
    }

    /// The errors if there are any, else the warnings and how many more there were.
    pub(super) fn finish(mut self, sources: &Sources) -> Result<(Vec<Warning>, usize), ReadErrors> {
        let name = |place: Place| {
            let file = sources.files.get(place.file as usize);
            file.and_then(|(name, _)| name.clone())
        };
        if self.errors.is_empty() {
            self.warnings.sort_by_key(|(place, _)| *place);
            let warnings = self.warnings.into_iter().map(|(place, kind)| Warning {
                file: name(place),
                line: place.line(),
                kind,
            });
            return Ok((warnings.collect(), self.warnings_left_off));
        }
        self.errors.sort_by_key(|(place, _)| *place);
        let list = self.errors.into_iter().map(|(place, kind)| ReadError {
            file: name(place),
            line: place.line(),
            column: column(sources, place, &kind),
            kind,
        });
        Err(ReadErrors {
            list: list.collect(),
            left_off: self.errors_left_off,
        })
    }
}

/// Where in its line an error is. Lines are looked up again for the few that are told, instead of
/// kept for all.
fn column(sources: &Sources, place: Place, kind: &ReadErrorKind) -> Option<usize> {
    let token = kind.token()?;
    let (_, text) = sources.files.get(place.file as usize)?;
    let line = text.split('\n').nth(place.line().checked_sub(1)?)?;
    // No number within another word: `8` is not meant in `MQM8700`.
    let number = token.starts_with(|c: char| c.is_ascii_digit());
    let within = |at: usize| {
        number
            && (line[..at].ends_with(char::is_alphanumeric)
                || line[at + token.len()..].starts_with(char::is_alphanumeric))
    };
    let mut all = line.match_indices(&token).map(|(at, _)| at);
    let at = all.find(|at| !within(*at))?;
    // Marks that no editor shows are not counted.
    let start = line.len() - line.trim_start_matches('\u{feff}').len();
    line.get(start..at).map(|before| before.chars().count() + 1)
}
