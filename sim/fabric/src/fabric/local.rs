//! Local changes of a node, which it reports by trap 144: an administrator restricts a link or
//! changes a capability.
//!
//! A Set(PortInfo) of the SM is not a local change. Descriptions and IsSM, which programs change,
//! are in [`super::node_changes`].

use ferrosm_mad::attr::{CapMask, LocalChangeDetails, PortInfo, TrapNumber};

use super::{Fabric, SpecError};
use crate::spec::PortAt;

/// A local change of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocalChange {
    /// PortInfo.LinkWidthEnabled; takes effect when the link trains next.
    LinkWidthEnabled(u8),
    /// PortInfo.LinkSpeedEnabled, LinkSpeedExtEnabled and LinkSpeedExtEnabled2; take effect when
    /// the link trains next.
    LinkSpeedEnabled {
        /// SDR to QDR.
        legacy: u8,
        /// FDR to NDR.
        extended: u8,
        /// XDR.
        extended2: u8,
    },
    /// CapabilityMask of the end port.
    CapabilityMask(u32),
    /// CapabilityMask2 of the end port.
    CapabilityMask2(u16),
    /// The priority of the SM at the end port, which makes the master scan SMInfo.
    SmPriority,
}

impl Fabric {
    /// Applies a change and, if a value changed, sends trap 144 from the end port. Unsupported
    /// speeds and widths are ignored.
    ///
    /// # Errors
    /// If the port does not exist.
    pub fn local_change(&mut self, at: PortAt, change: LocalChange) -> Result<(), SpecError> {
        let slot = self.slot(at).ok_or(SpecError::NoSuchPort(at))?;
        let end_port = self.end_slot(at);
        let (slot, flags) = match change {
            LocalChange::LinkWidthEnabled(_) => (slot, LocalChangeDetails::LINK_WIDTH_ENABLED),
            LocalChange::LinkSpeedEnabled { .. } => (slot, LocalChangeDetails::LINK_SPEED_ENABLED),
            LocalChange::CapabilityMask(_) => (end_port, 0),
            LocalChange::CapabilityMask2(_) => (end_port, LocalChangeDetails::CAPABILITY_MASK2),
            LocalChange::SmPriority => (end_port, LocalChangeDetails::SM_PRIORITY),
        };
        let before = self.ports[slot].info;
        self.ports[slot].update(|info| apply(info, change));
        if self.ports[slot].info != before || change == LocalChange::SmPriority {
            self.raise_trap_with(at, TrapNumber::LocalChange, flags);
        }
        Ok(())
    }
}

fn apply(info: &mut PortInfo, change: LocalChange) {
    match change {
        LocalChange::LinkWidthEnabled(mask) => {
            info.link_width_enabled = mask & info.link_width_supported;
        }
        LocalChange::LinkSpeedEnabled {
            legacy,
            extended,
            extended2,
        } => {
            info.link_speed_enabled = legacy & info.link_speed_supported;
            info.link_speed_ext_enabled = extended & info.link_speed_ext_supported;
            info.link_speed_ext_enabled2 = extended2 & info.link_speed_ext_supported2;
        }
        LocalChange::CapabilityMask(mask) => info.capability_mask = CapMask(mask),
        LocalChange::CapabilityMask2(mask) => info.capability_mask2.0 = mask,
        LocalChange::SmPriority => {}
    }
}
