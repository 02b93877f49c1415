//! How a command fails: one clear sentence, what to do next, and an exit code.
//!
//! Exit codes are part of the interface: 0 done, 1 the job failed, 2 usage, 78 bad configuration; `attach` ends as its
//! program does, or with 126 or 127 if that cannot be run.

use core::fmt;
use std::process::ExitCode;

use crate::config::ConfigErrors;

/// Why a command did not do its job.
#[derive(Debug)]
pub enum Failure {
    /// The job failed (exit code 1).
    Job {
        /// What went wrong, without full stop.
        error: anyhow::Error,
        /// What the operator can do; empty where there is nothing to say.
        hint: String,
    },
    /// The program that was to be run could not be: 127 where there is none, 126 where it cannot be executed, as shells
    /// have it.
    NotRun {
        /// The sentence.
        what: String,
        /// There is no such program.
        missing: bool,
    },
    /// The command line makes no sense (exit code 2).
    Usage(String),
    /// The configuration is wrong (exit code 78).
    Config(ConfigErrors),
    /// The configuration lacks a choice that only an operator can make (exit code 78, because a retry that happens to succeed would
    /// have guessed).
    Unconfigured {
        /// What cannot be decided, without full stop.
        what: String,
        /// What to set.
        hint: String,
    },
}

impl Failure {
    /// A failed job.
    #[must_use]
    pub fn job(error: impl fmt::Display) -> Self {
        Self::Job {
            error: anyhow::anyhow!("{error}"),
            hint: String::new(),
        }
    }

    /// A failed job, and what to do next.
    #[must_use]
    pub fn with_hint(error: impl fmt::Display, hint: impl Into<String>) -> Self {
        Self::Job {
            error: anyhow::anyhow!("{error}"),
            hint: hint.into(),
        }
    }

    /// The same for the log, in which everything is one line.
    #[must_use]
    pub fn to_log_line(&self) -> String {
        let text = self.to_string();
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        lines.join("; ")
    }

    /// The exit code.
    #[must_use]
    pub const fn code(&self) -> u8 {
        match self {
            Self::Job { .. } => 1,
            Self::NotRun { missing: true, .. } => 127,
            Self::NotRun { missing: false, .. } => 126,
            Self::Usage(_) => 2,
            Self::Config(_) | Self::Unconfigured { .. } => 78,
        }
    }

    /// The exit code, for `main`.
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code())
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Job {
            error,
            hint: String::new(),
        }
    }
}

impl From<ConfigErrors> for Failure {
    fn from(errors: ConfigErrors) -> Self {
        Self::Config(errors)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Job { error, hint } if hint.is_empty() => write!(f, "{error:#}"),
            Self::Job { error, hint } => write!(f, "{error:#}\n  {hint}"),
            Self::NotRun { what, .. } | Self::Usage(what) => f.write_str(what),
            Self::Config(errors) => write!(f, "{errors}"),
            Self::Unconfigured { what, hint } => write!(f, "{what}\n  {hint}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_what_and_what_to_do() {
        let e = Failure::with_hint("no port", "try `ferrosm demo`");
        assert_eq!(e.to_string(), "no port\n  try `ferrosm demo`");
        assert_eq!(e.to_log_line(), "no port; try `ferrosm demo`");
        assert_eq!(e.code(), 1);
        assert_eq!(Failure::Usage(String::new()).code(), 2);
    }

    #[test]
    fn causes_follow_in_one_line() {
        let cause = anyhow::anyhow!("no space left").context("cannot write lids.json");
        assert_eq!(
            Failure::from(cause).to_string(),
            "cannot write lids.json: no space left"
        );
    }
}
