//! Names of the switches of a graph, and messages that use them.

use core::fmt;
use std::sync::Arc;

use ferrosm_routing::{Describe, SwitchIdx};

use ferrosm_fabric::location::NodeName;

/// Names of the switches of a graph, by index.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SwitchNames(Arc<[NodeName]>);

impl FromIterator<NodeName> for SwitchNames {
    fn from_iter<T: IntoIterator<Item = NodeName>>(names: T) -> Self {
        Self(names.into_iter().collect())
    }
}

impl fmt::Debug for SwitchNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SwitchNames({})", self.0.len())
    }
}

impl SwitchNames {
    /// The names of these switches.
    pub(crate) fn of_switches(&self, switches: &[SwitchIdx]) -> Self {
        let names = switches.iter().filter_map(|s| self.0.get(s.index()));
        names.cloned().collect()
    }

    /// The name of a switch.
    pub(crate) fn name(&self, switch: SwitchIdx) -> String {
        let name = self.0.get(switch.index());
        name.map(ToString::to_string).unwrap_or_default()
    }

    /// A message about these switches.
    #[must_use]
    pub fn attach<T>(&self, message: T) -> WithSwitchNames<T> {
        WithSwitchNames {
            message,
            names: self.clone(),
        }
    }
}

/// A message about switches, with their names. `Display` is one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithSwitchNames<T> {
    pub message: T,
    names: SwitchNames,
}

impl<T> WithSwitchNames<T> {
    /// A part of the message, with these names.
    #[must_use]
    pub fn describe(&self, part: &impl Describe) -> String {
        part.describe(&|switch| self.names.name(switch))
    }
}

impl<T: Describe> fmt::Display for WithSwitchNames<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe(&self.message))
    }
}
