//! What trap 144 reports (IBA vol. 1, 14.2.5.1).

use core::fmt;

use ferrosm_mad::attr::{CapMask, LocalChangeDetails};

/// A change that a node or port reports by trap 144.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalChangeReport {
    /// ChangeFlags; 0 if only CapabilityMask changed.
    flags: u16,
    /// Whether IsSM was set or cleared; `None` if neither, or unknown.
    runs_sm: Option<bool>,
}

impl LocalChangeReport {
    /// What a trap reports. `known` is CapabilityMask of the port when it was last read.
    pub(crate) fn new(details: &LocalChangeDetails, known: Option<CapMask>) -> Self {
        let runs_sm = |mask: CapMask| mask.has(CapMask::IS_SM);
        let now = runs_sm(details.capability_mask);
        Self {
            flags: flags_of(details),
            runs_sm: known
                .is_some_and(|known| runs_sm(known) != now)
                .then_some(now),
        }
    }
}

/// ChangeFlags of trap 144; 0 if they are not valid.
pub(crate) const fn flags_of(change: &LocalChangeDetails) -> u16 {
    if change.other_local_changes {
        change.change_flags
    } else {
        0
    }
}

impl fmt::Display for LocalChangeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [(u16, &str); 6] = [
            (LocalChangeDetails::NODE_DESCRIPTION, "NodeDescription"),
            (LocalChangeDetails::LINK_WIDTH_ENABLED, "LinkWidthEnabled"),
            (LocalChangeDetails::LINK_SPEED_ENABLED, "LinkSpeedEnabled"),
            (LocalChangeDetails::SM_PRIORITY, "SM priority"),
            (LocalChangeDetails::HIERARCHY_INFO, "HierarchyInfo"),
            (LocalChangeDetails::CAPABILITY_MASK2, "CapabilityMask2"),
        ];
        let named = NAMES.iter().filter(|(flag, _)| self.flags & flag != 0);
        let mut names: Vec<&str> = named.map(|(_, name)| *name).collect();
        if names.is_empty() {
            names.push("CapabilityMask");
        }
        write!(f, "{} change", names.join(", "))?;
        match self.runs_sm {
            Some(true) => f.write_str(" (an SM started)"),
            Some(false) => f.write_str(" (its SM ended)"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changed_is_named() {
        let text = |flags, mask, known| {
            let details = LocalChangeDetails {
                other_local_changes: flags != 0,
                change_flags: flags,
                capability_mask: CapMask(mask),
                ..LocalChangeDetails::default()
            };
            LocalChangeReport::new(&details, known).to_string()
        };
        let sm = CapMask::IS_SM;
        assert_eq!(text(1, 0, None), "NodeDescription change");
        assert_eq!(text(9, sm, None), "NodeDescription, SM priority change");
        assert_eq!(text(0, 0, Some(CapMask(0))), "CapabilityMask change");
        assert_eq!(
            text(0, sm, Some(CapMask(0))),
            "CapabilityMask change (an SM started)"
        );
        assert_eq!(
            text(0, 0, Some(CapMask(sm))),
            "CapabilityMask change (its SM ended)"
        );
    }
}
