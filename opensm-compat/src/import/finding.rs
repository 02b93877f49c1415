//! What happened to a line of OpenSM's configuration.

use core::fmt;

/// The outcome of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LineOutcome {
    /// A key of ferrosm's configuration says the same.
    Converted,
    /// OpenSM's default.
    Default,
    /// ferrosm does it without a setting.
    NotNeeded,
    /// OpenSM did not use the line.
    Ignored,
    /// OpenSM stopped at the line, and used nothing of its file. The fabric has never been what the
    /// file says.
    FileDropped,
    /// Nothing replaces it; the fabric does not change.
    NoEquivalent,
    /// The fabric will behave differently.
    ChangesBehaviour,
}

impl LineOutcome {
    /// All outcomes, the harmless ones first.
    pub const ALL: [Self; 7] = [
        Self::Converted,
        Self::Default,
        Self::NotNeeded,
        Self::Ignored,
        Self::FileDropped,
        Self::NoEquivalent,
        Self::ChangesBehaviour,
    ];

    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Converted => "converted",
            Self::Default => "default",
            Self::NotNeeded => "not needed",
            Self::Ignored => "ignored by OpenSM",
            Self::FileDropped => "file dropped by OpenSM",
            Self::NoEquivalent => "no equivalent",
            Self::ChangesBehaviour => "changes behaviour",
        }
    }

    /// Whether ferrosm will differ from OpenSM.
    #[must_use]
    pub const fn is_difference(self) -> bool {
        match self {
            Self::NoEquivalent | Self::ChangesBehaviour => true,
            Self::Converted
            | Self::Default
            | Self::NotNeeded
            | Self::Ignored
            | Self::FileDropped => false,
        }
    }
}

/// A line of a file, or a flag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file as the operator named it, or `command line`.
    pub file: String,
    /// From 1; `None` for a whole file or a command line.
    pub line: Option<usize>,
    /// From 1, in characters.
    pub column: Option<usize>,
}

impl Place {
    #[must_use]
    pub fn line(file: &str, line: usize, column: usize) -> Self {
        Self {
            file: file.to_owned(),
            line: Some(line),
            column: Some(column),
        }
    }

    #[must_use]
    pub fn file(file: &str) -> Self {
        Self {
            file: file.to_owned(),
            line: None,
            column: None,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        match self.line {
            Some(line) => write!(f, ":{line}"),
            None => Ok(()),
        }
    }
}

/// A line, what happened to it, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub place: Place,
    /// The line, without keys.
    pub line: String,
    pub outcome: LineOutcome,
    /// The key that replaces it, the reason, or the consequence.
    pub text: String,
}

/// Longest part of a line that a report shows, in characters.
const SHOWN_MAX: usize = 60;
/// Stands for a key in reports.
pub const NOT_SHOWN: &str = "(not shown)";

/// A text on one line for reports and comments: no control characters, bounded length.
#[must_use]
pub fn shown(text: &str) -> String {
    let mut out: String = text
        .trim()
        .chars()
        .take(SHOWN_MAX)
        .map(|c| if c.is_control() { '?' } else { c })
        .collect();
    if text.trim().chars().count() > SHOWN_MAX {
        out.push_str(" ...");
    }
    out
}

/// A name with its value for reports. The value of a name that may be that of a key is not shown,
/// also if the name is misspelt.
#[must_use]
pub fn shown_assignment(name: &str, value: &str, is_secret: bool) -> String {
    let value = if is_secret { NOT_SHOWN } else { value };
    shown(&format!("{name} {value}"))
}

/// Whether an unknown name may mean a key.
#[must_use]
pub fn may_be_secret(name: &str) -> bool {
    name.to_ascii_lowercase().contains("key")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_text_is_one_bounded_line() {
        assert_eq!(shown(" a\u{1b}[31mb\n"), "a?[31mb");
        assert_eq!(shown(&"x".repeat(500)).chars().count(), SHOWN_MAX + 4);
    }

    #[test]
    fn misspelt_keys_are_not_shown() {
        assert!(may_be_secret("mkey") && may_be_secret("SM_Key"));
        assert_eq!(shown_assignment("mkey", "0x77", true), "mkey (not shown)");
        assert_eq!(
            Place::line("opensm.conf", 4, 1).to_string(),
            "opensm.conf:4"
        );
    }
}
