//! The configuration of the service: what is in force, its revisions, and changes to it.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::command::Consequence;
use crate::invariant::InvariantStatus;

/// Longest time to confirm, in seconds.
pub const CONFIRM_WITHIN_S_MAX: u64 = 86_400;
/// Largest files of a configuration together, in bytes.
pub const FILES_LEN_MAX: usize = 16 << 20;

/// A configuration that a client sends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewConfiguration {
    /// Name of the configuration file, for messages.
    pub name: String,
    /// Its text (TOML).
    pub toml: String,
    /// The input files that it names, such as partitions.conf.
    #[serde(default)]
    pub inputs: Vec<InputFile>,
}

/// An input file of a configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct InputFile {
    /// Its name in the configuration. A relative name is relative to the directory of the service's
    /// configuration file.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// The query of a change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ConfigQuery {
    /// Only say what would change.
    #[serde(default)]
    pub dry_run: bool,
    /// Put it in force for this number of seconds only, at most 86400, unless it is confirmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 86_400)]
    pub confirm_within_s: Option<u64>,
    /// Replace files that were changed by hand. Their content is lost.
    #[serde(default)]
    pub force: bool,
    /// What it may do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accept: Option<Consequence>,
    /// Why, for the audit log and the history; at most 500 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(max_length = 500)]
    pub reason: Option<String>,
}

/// What a change does, or would do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConfigChange {
    /// Number of the command; none for a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<u64>,
    /// The revision that was made; none for a dry run, or if the files are those of an earlier one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_revision: Option<u64>,
    /// The revision that is in force now; none for a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_force: Option<u64>,
    /// If it has to be confirmed: until when, and what is in force otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverts: Option<Reverts>,
    /// Copies of files that were edited by hand and are replaced (`force`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copies: Vec<String>,
    /// Keys that change.
    pub keys: Vec<ChangedKey>,
    /// Input files that change.
    pub inputs: Vec<ChangedInput>,
    /// Probable mistakes in the files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Declared invariants that would be violated, on the routes as they are, and are not now: the
    /// change needs `accept=invariant`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<InvariantStatus>,
}

impl ConfigChange {
    /// Keys that need a restart.
    pub fn keys_for_restart(&self) -> impl Iterator<Item = &str> {
        let keys = self.keys.iter().filter(|key| key.needs_restart);
        keys.map(|key| &*key.key)
    }

    /// Whether nothing changes.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.inputs.is_empty()
    }
}

/// The end of a trial that nobody confirms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Reverts {
    /// The revision that is in force afterwards.
    pub to: u64,
    /// When, in UTC (RFC 3339).
    pub at: String,
}

/// A key with another value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChangedKey {
    /// Its name, such as `sm.priority`, or `partition` with the name of an entry.
    pub key: String,
    /// The value in force, in TOML; none of an entry that is new. Keys such as the M_Key are not
    /// shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<String>,
    /// The new value; none of an entry that is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<String>,
    /// The new value takes effect at the next start.
    pub needs_restart: bool,
}

/// An input file with another content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChangedInput {
    /// Its path.
    pub path: String,
    /// Lines that are new.
    pub lines_added: usize,
    /// Lines that are removed.
    pub lines_removed: usize,
    /// What becomes of the file.
    pub change: InputChange,
}

/// What becomes of an input file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InputChange {
    /// It is read from now on.
    Added,
    /// It is no longer read. It stays where it is.
    Unused,
    /// It has another content.
    Changed,
}

/// Where a revision came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RevisionOrigin {
    /// The files, at a start.
    Start,
    /// The files, at a reload.
    Reload,
    /// A client.
    Apply,
    /// An earlier revision.
    Rollback(u64),
}

/// Where a revision came from, when and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RevisionRecord {
    /// Its number; it rises.
    pub number: u64,
    /// When the service received it, in UTC (RFC 3339).
    pub at: String,
    /// Who made it: a user with process ID, or what the service did.
    pub by: String,
    /// Why, as the client said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Where it came from.
    pub origin: RevisionOrigin,
}

/// What became of a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RevisionState {
    /// It is in force and in the files.
    InForce,
    /// It is in force, and waits to be confirmed.
    Trial,
    /// The files have it. It is in force again when the trial ends.
    LastGood,
    /// It was in force.
    Replaced,
    /// It was not confirmed.
    NotConfirmed,
}

impl RevisionState {
    /// Its name, as in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::InForce => "in-force",
            Self::Trial => "trial",
            Self::LastGood => "last-good",
            Self::Replaced => "replaced",
            Self::NotConfirmed => "not-confirmed",
        }
    }
}

/// A revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Revision {
    /// Where it came from.
    #[serde(flatten)]
    pub record: RevisionRecord,
    /// What became of it.
    pub state: RevisionState,
}

/// The revisions of the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConfigHistory {
    /// The configuration file of the service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The trial in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<u64>,
    /// How it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverts: Option<Reverts>,
    /// The revision to which a rollback without a number leads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<u64>,
    /// The revisions, the newest first; at most 50.
    pub items: Vec<Revision>,
}
