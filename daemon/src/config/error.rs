//! Configuration errors and warnings, collected, each with its position.

use core::fmt;
use core::ops::Range;
use std::path::{Path, PathBuf};

use ferrosm_opensm_compat::{InputError, InputFileError};

/// An error or a warning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// The file; `None` for the command line.
    pub file: Option<PathBuf>,
    /// Line and column, both from 1; `None` without a position in the file.
    pub at: Option<(usize, usize)>,
    /// The error, with the allowed values.
    pub message: String,
    /// A probable mistake that is accepted.
    pub is_warning: bool,
}

/// All errors of a configuration, and its warnings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigErrors {
    errors: Vec<ConfigError>,
}

impl ConfigErrors {
    /// An error of the whole file.
    #[must_use]
    pub fn single(path: &Path, message: String) -> Self {
        let mut errors = Self::none();
        errors.add(path, None, message);
        errors
    }

    /// No errors.
    pub(crate) const fn none() -> Self {
        Self { errors: Vec::new() }
    }

    /// Whether there are errors, not only warnings.
    pub(crate) fn has_errors(&self) -> bool {
        self.errors.iter().any(|e| !e.is_warning)
    }

    /// The same messages as warnings.
    pub(super) fn into_warnings(mut self) -> Self {
        self.errors.iter_mut().for_each(|e| e.is_warning = true);
        self
    }

    /// The messages.
    pub(super) fn into_vec(self) -> Vec<ConfigError> {
        self.errors
    }

    /// Adds an error of a file.
    pub(crate) fn add(&mut self, file: &Path, at: Option<(usize, usize)>, message: String) {
        self.errors.push(ConfigError {
            file: Some(file.to_owned()),
            at,
            message,
            is_warning: false,
        });
    }

    /// These messages, followed by others.
    pub(super) fn with(mut self, further: Vec<ConfigError>) -> Self {
        self.errors.extend(further);
        self
    }

    /// Adds the key that names the file to errors of whole input files.
    pub(super) fn name_keys<'k>(&mut self, key_of: impl Fn(&Path) -> Option<&'k str>) {
        for error in self.errors.iter_mut().filter(|e| e.at.is_none()) {
            if let Some(key) = error.file.as_deref().and_then(&key_of) {
                error.message.push_str(&format!(" (named by {key})"));
            }
        }
    }

    /// These errors, followed by others.
    pub(crate) fn and(self, further: Self) -> Self {
        self.with(further.errors)
    }

    /// Errors at byte ranges of a text, sorted by position.
    pub(super) fn new(
        path: Option<&Path>,
        text: &str,
        problems: impl IntoIterator<Item = (Option<Range<usize>>, String)>,
    ) -> Self {
        let errors = problems.into_iter().map(|(span, message)| ConfigError {
            file: path.map(Path::to_owned),
            at: span.map(|s| line_column(text, s.start)),
            message,
            is_warning: false,
        });
        let errors = errors.collect();
        Self { errors }.sorted()
    }

    /// Sorts by position within each file and removes duplicates. The order of files is that of
    /// their first errors.
    pub(super) fn sorted(mut self) -> Self {
        let mut files: Vec<Option<PathBuf>> = Vec::new();
        for error in &self.errors {
            if !files.contains(&error.file) {
                files.push(error.file.clone());
            }
        }
        self.errors.sort_by_cached_key(|error| {
            let file = files.iter().position(|file| *file == error.file);
            (file, error.at, error.message.clone())
        });
        self.errors.dedup();
        self
    }

    /// The errors and warnings, sorted by position within each file.
    #[must_use]
    pub fn errors(&self) -> &[ConfigError] {
        &self.errors
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.errors.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_warning {
            f.write_str("warning: ")?;
        }
        match &self.file {
            Some(path) => write!(f, "{}", path.display())?,
            None => f.write_str("command line")?,
        }
        if let Some((line, column)) = self.at {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl core::error::Error for ConfigErrors {}

/// Line and column, both from 1, the column in characters.
pub(super) fn line_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |i| i + 1);
    (
        before.matches('\n').count() + 1,
        before[line_start..].chars().count() + 1,
    )
}

impl ConfigError {
    fn new(path: &Path, error: InputError) -> Self {
        Self {
            file: Some(path.to_owned()),
            at: error.position,
            message: error.message,
            is_warning: error.is_warning,
        }
    }

    /// Converts errors of an input file.
    pub(super) fn in_file(path: &Path, errors: Vec<InputError>) -> Vec<Self> {
        let errors = errors.into_iter().map(|error| Self::new(path, error));
        errors.collect()
    }
}

impl From<InputFileError> for ConfigError {
    fn from(error: InputFileError) -> Self {
        let path = error.path().to_owned();
        Self::new(&path, error.into_input_error())
    }
}

impl From<Vec<InputFileError>> for ConfigErrors {
    fn from(errors: Vec<InputFileError>) -> Self {
        let errors = errors.into_iter().map(ConfigError::from).collect();
        Self { errors }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters() {
        assert_eq!(line_column("a\nbc", 3), (2, 2));
        assert_eq!(line_column("é = 1", 3), (1, 3), "characters, not bytes");
    }
}
