//! Commands of operators to the SM, and what became of them.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::invariant::InvariantStatus;
use crate::status::Finding;
use crate::what_if::{NamedPorts, WhatIf};

/// Longest `wait_s`, in seconds.
pub const WAIT_S_MAX: u64 = 86_400;
/// `wait_s` of a request that has none, in seconds.
pub const WAIT_S_DEFAULT: u64 = 30;
/// Longest `reason`, in characters.
pub const REASON_LEN_MAX: usize = 500;

/// Declares the query of a write: its own fields, then those of all writes.
///
/// A query has no nested structs: its fields would be read as texts.
macro_rules! write_query {
    ($(#[$meta:meta])* pub struct $name:ident { $($own:tt)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
        #[serde(deny_unknown_fields)]
        #[into_params(parameter_in = Query)]
        pub struct $name {
            $($own)*
            /// Why, for the audit log; at most 500 characters.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[param(max_length = 500)]
            pub reason: Option<String>,
            /// Seconds to wait for the result, at most 86400; 30 if absent. The command stays in
            /// progress after that.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[param(maximum = 86_400)]
            pub wait_s: Option<u64>,
            /// Execute it only if this is the revision of the state.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub expect_revision: Option<u64>,
        }
    };
}

/// Makes the fields of all writes available as a [`WriteQuery`].
macro_rules! into_write_query {
    ($name:ident) => {
        impl From<$name> for $crate::command::WriteQuery {
            fn from(query: $name) -> Self {
                Self {
                    reason: query.reason,
                    wait_s: query.wait_s,
                    expect_revision: query.expect_revision,
                }
            }
        }
    };
}
pub(crate) use {into_write_query, write_query};

write_query! {
    /// The query of all writes.
    pub struct WriteQuery {}
}

write_query! {
    /// The query of a full sweep.
    pub struct FullSweepQuery {
        /// Exclude devices that do not respond from the subnet, also switches that may still
        /// forward.
        #[serde(default)]
        pub exclude: bool,
    }
}
into_write_query!(FullSweepQuery);

write_query! {
    /// The query of a write that changes partitions or what is in service.
    pub struct ChangeWriteQuery {
        /// Only say what it would do.
        #[serde(default)]
        pub dry_run: bool,
        /// What it may do.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub accept: Option<Consequence>,
    }
}
into_write_query!(ChangeWriteQuery);

/// What a change may do that is refused otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Consequence {
    /// Violate a declared invariant (`[[invariant]]`) that holds now.
    Invariant,
}

/// What a takeover may remove that another SM configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Removal {
    /// P_Keys that the configuration does not name.
    PKeyRemoval,
    /// Ports get another LMC than they have, because the configuration has none.
    LmcChange,
    /// M_Keys are removed, because the configuration has none.
    MKeyRemoval,
    /// SLtoVLMappingTables and VLArbitrationTables of a QoS configuration are replaced.
    QosRemoval,
}

write_query! {
    /// The query of a takeover.
    pub struct TakeoverQuery {
        /// What it may remove.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub accept: Option<Removal>,
    }
}
into_write_query!(TakeoverQuery);

/// What a command makes the SM do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CommandKind {
    /// Sweep the whole fabric.
    Sweep,
    /// The same, with routes computed without regard to the installed ones.
    Reroute,
    /// Hand over mastership to another SM and become standby.
    Handover,
    /// Configure a subnet that another SM has configured.
    Takeover,
    /// Create or replace a partition.
    PutPartition,
    /// Remove a partition.
    RemovePartition,
    /// Take a switch or link out of the routes.
    Drain,
    /// Put it back.
    Undrain,
    /// Disable a port.
    DisablePort,
    /// Limit the link at a port.
    SetPort,
    /// End the limits of a port.
    UnsetPort,
    /// Enable it again.
    EnablePort,
    /// Put another M_Key in force.
    RotateMKey,
    /// Put another SM_Key in force.
    RotateSmKey,
    /// Stop the service.
    Stop,
    /// Put a new configuration in force.
    ConfigApply,
    /// Keep a configuration that is tried.
    ConfigConfirm,
    /// Put an earlier configuration in force.
    ConfigRollback,
    /// Acknowledge an alarm.
    Acknowledge,
    /// Expect a node or link no longer.
    Forget,
    /// Start a capture.
    CaptureStart,
    /// End a capture.
    CaptureStop,
    /// Limit the requests of a client of the SA.
    SaLimit,
    /// Send a test to the targets of notifications.
    NotifyTest,
}

impl CommandKind {
    /// Its name, as in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sweep => "sweep",
            Self::Reroute => "reroute",
            Self::Handover => "handover",
            Self::Takeover => "takeover",
            Self::PutPartition => "put-partition",
            Self::RemovePartition => "remove-partition",
            Self::Drain => "drain",
            Self::Undrain => "undrain",
            Self::DisablePort => "disable-port",
            Self::SetPort => "set-port",
            Self::UnsetPort => "unset-port",
            Self::EnablePort => "enable-port",
            Self::RotateMKey => "rotate-m-key",
            Self::RotateSmKey => "rotate-sm-key",
            Self::Stop => "stop",
            Self::ConfigApply => "config-apply",
            Self::ConfigConfirm => "config-confirm",
            Self::ConfigRollback => "config-rollback",
            Self::Acknowledge => "acknowledge",
            Self::Forget => "forget",
            Self::CaptureStart => "capture-start",
            Self::CaptureStop => "capture-stop",
            Self::SaLimit => "sa-limit",
            Self::NotifyTest => "notify-test",
        }
    }
}

/// What became of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CommandState {
    /// The SM executes it.
    InProgress,
    /// It is done.
    Complete,
    /// It ended without effect.
    Failed,
}

impl CommandState {
    /// Its name, as in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::InProgress => "in-progress",
            Self::Complete => "complete",
            Self::Failed => "failed",
        }
    }
}

/// A command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Command {
    /// Its number; it rises, also across restarts of the service.
    pub command: u64,
    /// What it does.
    pub kind: CommandKind,
    /// What it is for: a partition, or a switch, link or port; empty for others.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub target: String,
    /// Who sent it: a user with process ID, a signal, or the end of a time.
    pub by: String,
    /// Why, as the sender said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it was received, in UTC (RFC 3339).
    pub received_at: String,
    /// What became of it.
    pub state: CommandState,
    /// When it ended, in UTC (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// The result in a sentence; empty while it is in progress.
    pub message: String,
    /// Problems that a sweep found, the most severe first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

/// What a change would do, for a dry run. A change that would be refused has the same error as
/// without `dry_run`, except that invariants which it would violate are listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChangePlan {
    /// What it would do.
    pub kind: CommandKind,
    /// What it is for: a partition, or a switch, link or port.
    pub target: String,
    /// Ports that would get other P_Keys.
    pub p_key_ports: NamedPorts,
    /// The link of the port would go down for a moment, to train within other limits.
    #[serde(default)]
    pub trains_link: bool,
    /// What the loss of what is taken out of service would do to the routes. A drained switch
    /// itself stays reachable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prediction: Option<WhatIf>,
    /// Declared invariants that hold now and would be violated: the change needs
    /// `accept=invariant`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<InvariantStatus>,
}

/// A command, or what it would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum CommandOrPlan {
    /// A command.
    Command(Box<Command>),
    /// What it would do (`dry_run`).
    Plan(Box<ChangePlan>),
}

/// Commands, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Commands {
    /// The commands that the service remembers, at most 100. All of them are in the audit log.
    pub items: Vec<Command>,
}
