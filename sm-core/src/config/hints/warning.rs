//! Warnings about routing hints that do not match the fabric.

use core::fmt;

use ferrosm_mad::ids::{NodeGuid, PortNum};

/// GUIDs listed in one warning.
const LISTED_GUIDS_MAX: usize = 4;

/// A routing hint, or a part of it, that was ignored or changed. `Display` is one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HintWarning {
    /// GUIDs of a file are absent from the fabric.
    AbsentGuids {
        file: &'static str,
        /// What the GUIDs should identify.
        what: &'static str,
        guids: Vec<u64>,
    },
    /// `root_guid_file` names a node that is not a switch.
    RootNotASwitch(NodeGuid),
    /// A switch does not have the port.
    NoSuchPort {
        file: &'static str,
        switch: NodeGuid,
        port: PortNum,
        /// Ports of the switch.
        ports: u8,
    },
    /// LIDs of `lfts_file` have other owners now; their entries were assigned by port GUID.
    LidsMoved(usize),
    /// LIDs of absent ports in `lfts_file` have other owners now; their entries were ignored.
    LidsTaken(usize),
    /// `path_sl_file` has different SLs to one LID from sources at one switch.
    SlClashes(u64),
}

impl HintWarning {
    /// A stable name of the warning, for programs.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::AbsentGuids { .. } => "absent-guids",
            Self::RootNotASwitch(_) => "root-not-a-switch",
            Self::NoSuchPort { .. } => "no-such-port",
            Self::LidsMoved(_) => "lids-moved",
            Self::LidsTaken(_) => "lids-taken",
            Self::SlClashes(_) => "sl-clashes",
        }
    }
}

impl fmt::Display for HintWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AbsentGuids { file, what, guids } => {
                let listed = guids.iter().take(LISTED_GUIDS_MAX);
                let listed: Vec<String> = listed.map(|guid| format!("{guid:#018x}")).collect();
                let listed = listed.join(", ");
                write!(f, "{file}: no {what} in this fabric has GUID {listed}")?;
                match guids.len().saturating_sub(LISTED_GUIDS_MAX) {
                    0 => Ok(()),
                    more => write!(f, " and {more} more"),
                }
            }
            Self::RootNotASwitch(guid) => write!(
                f,
                "root_guid_file: {guid} is not a switch; its attached switch becomes a root"
            ),
            Self::NoSuchPort {
                file,
                switch,
                port,
                ports,
            } => write!(
                f,
                "{file}: switch {switch} has ports 1 to {ports}, not port {port}"
            ),
            Self::LidsMoved(count) => write!(
                f,
                "lfts_file: {count} LIDs of the file have other owners now; entries assigned by port GUID"
            ),
            Self::LidsTaken(count) => write!(
                f,
                "lfts_file: {count} LIDs of absent ports have other owners now; entries ignored"
            ),
            Self::SlClashes(count) => write!(
                f,
                "path_sl_file: {count} different SLs to one LID from sources at one switch; first one used"
            ),
        }
    }
}
