//! Configuration errors and warnings, collected, each with its position.

use core::fmt;
use core::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use annotate_snippets::{AnnotationKind, Level, Origin, Renderer, Snippet};
use ferrosm_opensm_compat::{InputError, InputFileError};

/// An error or a warning. It is displayed on one line; [`ConfigErrors::render`] shows the line of
/// the file.
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
    /// Where the error is in the text of the file. `None` for input files and lines with secrets.
    excerpt: Option<Excerpt>,
}

/// A byte range of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Excerpt {
    text: Arc<str>,
    span: Range<usize>,
}

impl ConfigError {
    /// An error of a whole file.
    pub(super) fn of_file(file: Option<&Path>, message: impl Into<String>) -> Self {
        Self {
            file: file.map(Path::to_owned),
            at: None,
            message: message.into(),
            is_warning: false,
            excerpt: None,
        }
    }

    /// Adds the position in a text. The report shows the line unless it sets a secret key.
    pub(super) fn at_excerpt(mut self, text: &Arc<str>, span: Range<usize>) -> Self {
        self.at = Some(line_column(text, span.start));
        self.excerpt = (!sets_secret(text, &span)).then(|| Excerpt {
            text: Arc::clone(text),
            span,
        });
        self
    }

    /// The same message as a warning.
    pub(super) fn into_warning(mut self) -> Self {
        self.is_warning = true;
        self
    }

    /// An error of an input file.
    pub(super) fn of_input(path: &Path, error: InputError) -> Self {
        Self {
            at: error.position,
            is_warning: error.is_warning,
            ..Self::of_file(Some(path), error.message)
        }
    }

    /// The message with its position and the line of the file, for a terminal.
    #[must_use]
    pub fn render(&self, renderer: &Renderer) -> String {
        let level = if self.is_warning {
            Level::WARNING
        } else {
            Level::ERROR
        };
        let path = self.file.as_ref().map_or_else(
            || "command line".to_owned(),
            |path| path.display().to_string(),
        );
        let title = level.primary_title(&self.message);
        let group = match (&self.excerpt, self.at) {
            (Some(excerpt), _) => title.element(
                Snippet::source(&*excerpt.text)
                    .path(path)
                    .annotation(AnnotationKind::Primary.span(excerpt.span.clone())),
            ),
            (None, Some((line, column))) => {
                title.element(Origin::path(path).line(line).char_column(column))
            }
            (None, None) => title.element(Origin::path(path)),
        };
        renderer.render(&[group])
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

impl From<InputFileError> for ConfigError {
    fn from(error: InputFileError) -> Self {
        let path = error.path().to_owned();
        Self::of_input(&path, error.into_input_error())
    }
}

/// All errors of a configuration, and its warnings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConfigErrors(Vec<ConfigError>);

impl ConfigErrors {
    /// Adds an error or a warning.
    pub(super) fn push(&mut self, error: ConfigError) {
        self.0.push(error);
    }

    /// Whether there are errors, not only warnings.
    pub(super) fn has_errors(&self) -> bool {
        self.0.iter().any(|error| !error.is_warning)
    }

    /// The messages.
    pub(super) fn into_vec(self) -> Vec<ConfigError> {
        self.0
    }

    /// Gives files other names, such as those that the sender of the files knows.
    #[must_use]
    pub fn with_names(mut self, name_of: impl Fn(&Path) -> Option<PathBuf>) -> Self {
        for error in &mut self.0 {
            if let Some(name) = error.file.as_deref().and_then(&name_of) {
                error.file = Some(name);
            }
        }
        self
    }

    /// Adds the key that names the file to errors of whole input files.
    pub(super) fn name_keys<'k>(&mut self, key_of: impl Fn(&Path) -> Option<&'k str>) {
        for error in self.0.iter_mut().filter(|error| error.at.is_none()) {
            if let Some(key) = error.file.as_deref().and_then(&key_of) {
                error.message.push_str(&format!(" (named by {key})"));
            }
        }
    }

    /// Sorts by position within each file and removes duplicates. The order of files is that of
    /// their first errors.
    pub(super) fn sorted(mut self) -> Self {
        let mut files: Vec<Option<PathBuf>> = Vec::new();
        for error in &self.0 {
            if !files.contains(&error.file) {
                files.push(error.file.clone());
            }
        }
        self.0.sort_by_cached_key(|error| {
            let file = files.iter().position(|file| *file == error.file);
            (file, error.at, error.message.clone())
        });
        self.0.dedup();
        self
    }

    /// The errors and warnings, sorted by position within each file.
    #[must_use]
    pub fn errors(&self) -> &[ConfigError] {
        &self.0
    }

    /// All messages with the lines of the files, each followed by a blank line, and a summary.
    #[must_use]
    pub fn render(&self, renderer: &Renderer) -> (String, String) {
        let excerpts = self
            .0
            .iter()
            .map(|error| format!("{}\n\n", error.render(renderer)))
            .collect();
        let count = self.0.iter().filter(|error| !error.is_warning).count();
        let errors = if count == 1 { "error" } else { "errors" };
        let summary = format!("configuration rejected: {count} {errors}");
        (excerpts, summary)
    }
}

impl FromIterator<ConfigError> for ConfigErrors {
    fn from_iter<I: IntoIterator<Item = ConfigError>>(errors: I) -> Self {
        Self(errors.into_iter().collect())
    }
}

impl Extend<ConfigError> for ConfigErrors {
    fn extend<I: IntoIterator<Item = ConfigError>>(&mut self, errors: I) {
        self.0.extend(errors);
    }
}

impl From<ConfigError> for ConfigErrors {
    fn from(error: ConfigError) -> Self {
        Self(vec![error])
    }
}

impl From<Vec<InputFileError>> for ConfigErrors {
    fn from(errors: Vec<InputFileError>) -> Self {
        errors.into_iter().map(ConfigError::from).collect()
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl core::error::Error for ConfigErrors {}

/// Line and column, both from 1, the column in characters.
fn line_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |i| i + 1);
    (
        before.matches('\n').count() + 1,
        before[line_start..].chars().count() + 1,
    )
}

/// Whether a line within a byte range sets an M_Key or SM_Key. The text may be invalid TOML.
fn sets_secret(text: &str, span: &Range<usize>) -> bool {
    let start = text[..span.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[span.end..]
        .find('\n')
        .map_or(text.len(), |at| span.end + at);
    let line = &text[start..end];
    let sets = |name: &str| {
        line.split(name).skip(1).any(|rest| {
            rest.trim_start_matches(['"', '\'', ' ', '\t'])
                .starts_with('=')
        })
    };
    ["m-key", "url"].into_iter().any(sets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters() {
        assert_eq!(line_column("a\nbc", 3), (2, 2));
        assert_eq!(line_column("é = 1", 3), (1, 3), "characters, not bytes");
    }

    #[test]
    fn report_shows_file_position_line_and_message() {
        let text = "[sm]\npriority = 99\n".into();
        let error = ConfigError::of_file(Some(Path::new("f.toml")), "sm.priority: too large");
        let errors = ConfigErrors::from(error.at_excerpt(&text, 16..18));
        let (report, summary) = errors.render(&Renderer::plain());
        assert!(summary.contains("1 error"), "{summary}");
        for fact in ["sm.priority: too large", "f.toml:2:12", "priority = 99"] {
            assert!(report.contains(fact), "{report}");
        }
    }
}
