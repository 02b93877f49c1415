//! What is wrong with a configuration, all at once, each with its place.

use core::fmt;
use core::ops::Range;
use std::path::{Path, PathBuf};

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// The file; `None` for the command line.
    pub file: Option<PathBuf>,
    /// Line and column, both from 1; `None` where the error has no place in the file.
    pub at: Option<(usize, usize)>,
    /// What is wrong, and what would be right.
    pub what: String,
}

/// Everything that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigErrors {
    errors: Vec<ConfigError>,
}

impl ConfigErrors {
    /// One error about a file as a whole.
    #[must_use]
    pub fn single(path: &Path, what: String) -> Self {
        let mut errors = Self::none();
        errors.add(path, None, what);
        errors
    }

    /// Nothing is wrong, so far.
    pub(crate) const fn none() -> Self {
        Self { errors: Vec::new() }
    }

    /// Whether nothing is wrong.
    pub(crate) fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }

    /// Adds what is wrong with a file, at a line and column if it has a place.
    pub(crate) fn add(&mut self, file: &Path, at: Option<(usize, usize)>, what: String) {
        self.errors.push(ConfigError {
            file: Some(file.to_owned()),
            at,
            what,
        });
    }

    /// Adds one.
    pub(crate) fn push(&mut self, error: ConfigError) {
        self.errors.push(error);
    }

    /// These errors, then others.
    pub(crate) fn and(mut self, others: Self) -> Self {
        self.errors.extend(others.errors);
        self
    }

    /// Errors at byte ranges of a text, in the order of the text.
    pub(super) fn new(
        path: Option<&Path>,
        text: &str,
        found: impl IntoIterator<Item = (Option<Range<usize>>, String)>,
    ) -> Self {
        let errors = found.into_iter().map(|(span, what)| ConfigError {
            file: path.map(Path::to_owned),
            at: span.map(|s| line_column(text, s.start)),
            what,
        });
        let errors = errors.collect();
        Self { errors }.sorted()
    }

    /// The same in the order of the text.
    pub(super) fn sorted(mut self) -> Self {
        self.errors
            .sort_by(|a, b| (a.at, &a.what).cmp(&(b.at, &b.what)));
        self.errors.dedup();
        self
    }

    /// The errors, each file's in its order.
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
        match &self.file {
            Some(path) => write!(f, "{}", path.display())?,
            None => f.write_str("command line")?,
        }
        if let Some((line, column)) = self.at {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", self.what)
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

/// The known word that is nearest to what was typed, if one is near.
pub(crate) fn nearest<'a>(
    typed: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let (distance, word) = known
        .into_iter()
        .map(|word| (edits(&normal(typed), &normal(word)), word))
        .min_by_key(|(distance, _)| *distance)?;
    (distance <= 1 + word.len() / 4).then_some(word)
}

/// OpenSM writes its keys with underscores, and hands do as they like.
fn normal(word: &str) -> String {
    word.to_ascii_lowercase().replace('_', "-")
}

/// Insertions, deletions, replacements and swaps of neighbours between two words.
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<_>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replace = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replace.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_lines_and_characters() {
        assert_eq!(line_column("a\nbc", 3), (2, 2));
        assert_eq!(line_column("é = 1", 3), (1, 3), "characters, not bytes");
    }

    #[test]
    fn a_slip_of_the_hand_finds_the_word() {
        let known = ["priority", "sm-key", "poll-interval"];
        assert_eq!(nearest("pirority", known), Some("priority"));
        assert_eq!(nearest("sm_key", known), Some("sm-key"));
        assert_eq!(nearest("colour", known), None);
    }
}
