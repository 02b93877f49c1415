//! What became of a partition that was created or replaced at run time.

use core::fmt;

use ferrosm_fabric::location::PortName;

/// A P_Key table without room for the P_Keys that a change would add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverfullTable {
    pub port: PortName,
    /// P_Keys that it would need.
    pub needed: usize,
    /// Entries of the table.
    pub capacity: u16,
}

impl fmt::Display for OverfullTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            port,
            needed,
            capacity,
        } = self;
        write!(
            f,
            "no room in the P_Key table of {port}: it would need {needed} entries and has {capacity}"
        )
    }
}

/// How many ports have the P_Key of a partition that was created or replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PartitionProgress {
    /// Ports of the subnet that are to be members.
    pub members: usize,
    /// Those of them whose device has confirmed the P_Key, and that of the switch port in front of
    /// it if that checks packets.
    pub applied: usize,
    /// Members by GUID that are not in the subnet. They get the P_Key when they come.
    pub absent: usize,
}

/// `applied to 4 of 4 ports, 1 member not in the subnet`.
impl fmt::Display for PartitionProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "applied to {} of {} ports", self.applied, self.members)?;
        match self.absent {
            0 => Ok(()),
            1 => f.write_str(", 1 member not in the subnet"),
            n => write!(f, ", {n} members not in the subnet"),
        }
    }
}
