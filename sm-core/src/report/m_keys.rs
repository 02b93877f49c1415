//! Which ports and SMs have which keys. Contains no key.

use core::fmt;
use std::collections::BTreeSet;

use ferrosm_fabric::location::PortName;
use ferrosm_mad::ids::PortGuid;

use crate::election::SmMKey;

/// Most ports that a report names.
const NAMED_MAX: usize = 100;
/// Ports that a message names.
const MESSAGE_MAX: usize = 5;

/// Which other SMs have which SM_Key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SmKeyReport {
    /// The key in force was put in force by a rotation, and the configuration has another one.
    pub is_rotated: bool,
    /// Other SMs that have shown the earlier key, which is accepted until they have the new one.
    pub earlier: BTreeSet<PortGuid>,
}

/// How many ports have which M_Key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MKeyReport {
    /// An M_Key is in force.
    pub has_key: bool,
    /// It was put in force by a rotation, and the configuration has another one.
    pub is_rotated: bool,
    /// End ports that have the key in force, or none if none is.
    pub current: usize,
    /// Those that have a key that was in force earlier.
    pub earlier: usize,
    /// Those that have no key, although one is in force.
    pub without: usize,
    /// Those that do not respond, hide their key, or have one that this SM never wrote.
    pub unknown: usize,
    /// Ports that do not have the key in force, at most 100.
    pub stragglers: Vec<PortName>,
    /// Whether the other SMs have the key in force.
    pub sms: Vec<(PortGuid, SmMKey)>,
}

impl MKeyReport {
    /// Ports that do not have the key in force.
    #[must_use]
    pub const fn others(&self) -> usize {
        self.earlier + self.without + self.unknown
    }

    /// A port does not have the key in force.
    pub(crate) fn add_straggler(&mut self, port: PortName) {
        if self.stragglers.len() < NAMED_MAX {
            self.stragglers.push(port);
        }
    }
}

/// `37 of 38 ports have the new M_Key; not yet: host-1`.
impl fmt::Display for MKeyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.current + self.others();
        write!(f, "{} of {total} ports have the new M_Key", self.current)?;
        for (n, port) in self.stragglers.iter().take(MESSAGE_MAX).enumerate() {
            f.write_str(if n == 0 { "; not yet: " } else { ", " })?;
            port.fmt(f)?;
        }
        if self.others() > MESSAGE_MAX {
            write!(f, " and {} more", self.others() - MESSAGE_MAX)?;
        }
        Ok(())
    }
}
