//! Messages that name switches.

use crate::topology::SwitchIdx;

/// A message about switches. The graph has no names; the caller supplies them when it formats the
/// message.
pub trait Describe {
    /// The message on one line, with switches named by `label`.
    fn describe(&self, label: &dyn Fn(SwitchIdx) -> String) -> String;
}

/// The name of a switch where no better one is known, for `Display`.
pub(crate) fn index_label(switch: SwitchIdx) -> String {
    format!("switch {}", switch.0)
}
