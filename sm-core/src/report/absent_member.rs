//! Members of partitions that are not end ports of the subnet, as reported.

use core::fmt;

use ferrosm_mad::ids::PortGuid;

/// Members that `Display` names.
const NAMED_MAX: usize = 8;

/// A GUID in the configuration that is not the GUID of an end port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AbsentMember {
    pub guid: PortGuid,
    /// Names of the partitions that list it.
    pub partitions: Vec<String>,
    /// If it is the GUID of a node instead: the GUIDs of the ports of that node.
    pub ports_of_node: Vec<PortGuid>,
}

impl fmt::Display for AbsentMember {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} of partition {}",
            self.guid,
            self.partitions.join(", ")
        )?;
        if self.ports_of_node.is_empty() {
            return Ok(());
        }
        let ports: Vec<String> = self.ports_of_node.iter().map(PortGuid::to_string).collect();
        write!(f, " (a node GUID; port GUID: {})", ports.join(", "))
    }
}

/// Some of these members on one line, and the number of the others.
#[must_use]
pub fn describe(members: &[AbsentMember]) -> String {
    let named: Vec<String> = members
        .iter()
        .take(NAMED_MAX)
        .map(AbsentMember::to_string)
        .collect();
    let mut text = named.join("; ");
    if members.len() > NAMED_MAX {
        text.push_str(&format!("; and {} more", members.len() - NAMED_MAX));
    }
    text
}
