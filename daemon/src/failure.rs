//! Failures of commands: a message, a hint, and an exit status.
//!
//! Exit status: 0 success, 1 failure, 2 usage, 69 no service, 78 configuration; `health` has its
//! own; `config import` exits with 1 if behaviour changes; `attach` exits with the status of its
//! program, or 126 or 127 if it cannot be executed (docs/operations.md).

use core::fmt;
use std::io::{self, IsTerminal};
use std::process::ExitCode;

use annotate_snippets::Renderer;
use ferrosm_store::StateError;
use ferrosm_store::file::StoreError;

use crate::config::ConfigErrors;

/// Why a command failed.
#[derive(Debug)]
pub enum Failure {
    /// Any other failure of a command (exit status 1).
    Runtime {
        /// The message, without full stop.
        error: anyhow::Error,
        /// What the operator can do; may be empty.
        hint: String,
    },
    /// The program of `attach` cannot be executed. Exit status 127 if it does not exist, otherwise
    /// 126, as in shells.
    NotRun {
        message: String,
        /// The program does not exist.
        missing: bool,
    },
    /// Invalid command line (exit status 2).
    Usage(String),
    /// Invalid configuration (exit status 78).
    Config(ConfigErrors),
    /// The command needs a running service, and there is none (exit status 69).
    NoService {
        /// The message, without full stop.
        message: String,
        /// How to start or name one.
        hint: String,
    },
    /// The command has printed its result, and reports only this exit status.
    Status(u8),
    /// The operator must configure something. Exit status 78: a repetition fails in the same way.
    Unconfigured {
        /// The message, without full stop.
        message: String,
        /// What to set.
        hint: String,
    },
}

impl Failure {
    /// A failure without a hint.
    #[must_use]
    pub fn runtime(error: impl fmt::Display) -> Self {
        Self::Runtime {
            error: anyhow::anyhow!("{error}"),
            hint: String::new(),
        }
    }

    /// A failure with a hint.
    #[must_use]
    pub fn with_hint(error: impl fmt::Display, hint: impl Into<String>) -> Self {
        Self::Runtime {
            error: anyhow::anyhow!("{error}"),
            hint: hint.into(),
        }
    }

    /// The failure for standard error. Configuration errors show the lines of the file.
    #[must_use]
    pub fn report(&self) -> String {
        let text = match self {
            Self::Config(errors) => {
                let (excerpts, summary) = errors.render(&stderr_renderer());
                return format!("{excerpts}ferrosm: {summary}");
            }
            Self::Runtime { .. }
            | Self::NotRun { .. }
            | Self::Usage(_)
            | Self::NoService { .. }
            | Self::Status(_)
            | Self::Unconfigured { .. } => self.to_string(),
        };
        let prefixed = |line: &str| match line.starts_with(' ') {
            true => line.to_owned(),
            false => format!("ferrosm: {line}"),
        };
        text.lines().map(prefixed).collect::<Vec<_>>().join("\n")
    }

    /// The failure on one line, for the log.
    #[must_use]
    pub fn to_log_line(&self) -> String {
        let text = self.to_string();
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        lines.join("; ")
    }

    /// The exit status.
    #[must_use]
    pub const fn code(&self) -> u8 {
        match self {
            Self::Runtime { .. } => 1,
            Self::NotRun { missing: true, .. } => 127,
            Self::NotRun { missing: false, .. } => 126,
            Self::Usage(_) => 2,
            Self::NoService { .. } => 69,
            Self::Status(status) => *status,
            Self::Config(_) | Self::Unconfigured { .. } => 78,
        }
    }

    /// The exit status as returned by `main`.
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code())
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Runtime {
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

const DISK_FULL: &str = "The disk is full. The persisted state is unchanged: free space, then start again. Rings and captures in the state \
                         directory may be removed.";

const DOWNGRADE: &str = "Install the version that wrote it. To continue with this version without the LIDs of absent ports, changed M_Keys and \
                         registrations, move the file away, or return to a backup of this version (`ferrosm state restore`).";

impl From<StateError> for Failure {
    fn from(error: StateError) -> Self {
        if let StateError::Store {
            source: StoreError::Newer { .. },
            ..
        } = error
        {
            return Self::Unconfigured {
                message: error.to_string(),
                hint: DOWNGRADE.to_owned(),
            };
        }
        let hint = match &error {
            StateError::Directory { source, .. }
                if source.kind() == io::ErrorKind::PermissionDenied =>
            {
                "Run as a user with write access, or name another directory with --state-dir."
            }
            StateError::Directory { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                DISK_FULL
            }
            StateError::Directory { .. } => "Name a directory with --state-dir or files.state-dir.",
            StateError::InUse { .. } => {
                "A second subnet manager on this host needs another state directory: --state-dir DIR, or files.state-dir in its configuration."
            }
            StateError::Store { source, .. } => match source {
                StoreError::Busy => {
                    "Close the program that has the file open, or name another directory with --state-dir."
                }
                StoreError::Io(e) if e.kind() == io::ErrorKind::StorageFull => DISK_FULL,
                StoreError::Newer { .. } => DOWNGRADE,
                StoreError::Unreadable(_) | StoreError::Io(_) => {
                    "The user of this process needs read and write access."
                }
            },
            StateError::Rename { .. } => "",
            StateError::Inspect { source, .. } => match source {
                StoreError::Busy => "Close the program that has the file open, then try again.",
                StoreError::Unreadable(_) => {
                    "The file is unchanged. The subnet manager renames it at its next start and starts without it."
                }
                StoreError::Newer { .. } => DOWNGRADE,
                StoreError::Io(_) => "Run as the user of the subnet manager.",
            },
            StateError::Changing { .. } => {
                "Run the command again when fewer clients register with the service."
            }
        };
        Self::with_hint(error, hint)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Runtime { error, hint } if hint.is_empty() => write!(f, "{error:#}"),
            Self::Runtime { error, hint } => write!(f, "{error:#}\n  {hint}"),
            Self::NotRun { message, .. } | Self::Usage(message) => f.write_str(message),
            Self::Config(errors) => write!(f, "{errors}"),
            Self::NoService { message, hint } | Self::Unconfigured { message, hint } => {
                write!(f, "{message}\n  {hint}")
            }
            Self::Status(_) => Ok(()),
        }
    }
}

/// Colours on a terminal, unless the user disables them (<https://no-color.org>).
fn stderr_renderer() -> Renderer {
    let disables_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if io::stderr().is_terminal() && !disables_colour {
        Renderer::styled()
    } else {
        Renderer::plain()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_has_message_and_hint() {
        let e = Failure::with_hint("no port", "try `ferrosm demo`");
        assert_eq!(e.to_string(), "no port\n  try `ferrosm demo`");
        assert_eq!(e.to_log_line(), "no port; try `ferrosm demo`");
        assert_eq!(e.code(), 1);
        assert_eq!(Failure::Usage(String::new()).code(), 2);
    }

    #[test]
    fn unusable_state_directories_have_hints() {
        let report = |error: StateError| Failure::from(error).to_string();
        let in_use = StateError::InUse {
            user: "ferrosm (PID 7)".to_owned(),
            dir: "/state".into(),
        };
        let text = report(in_use);
        assert!(
            text.starts_with("another ferrosm (PID 7) uses state directory /state\n"),
            "{text}"
        );
        assert!(text.contains("needs another state directory"), "{text}");
        let unreadable = StateError::Inspect {
            file: "/state/store.redb".into(),
            source: StoreError::Unreadable("not a store".to_owned()),
        };
        let text = report(unreadable);
        assert!(
            text.starts_with("cannot read /state/store.redb: not a store\n"),
            "{text}"
        );
        assert!(text.contains("The file is unchanged."), "{text}");
    }

    #[test]
    fn causes_are_on_one_line() {
        let cause = anyhow::anyhow!("no space left").context("cannot write lids.json");
        assert_eq!(
            Failure::from(cause).to_string(),
            "cannot write lids.json: no space left"
        );
    }
}
