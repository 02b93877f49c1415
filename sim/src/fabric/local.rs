//! What changes in a node without the SM's doing, and is told by trap 144: somebody at its console
//! limits a link or turns a capability on or off.
//!
//! A Set(PortInfo) of the SM is none of this. Descriptions and IsSM, which programs change, are
//! [`super::verbs`]'.

use ferrosm_mad::attr::{CapMask, LocalChangeDetails, PortInfo, TrapNumber};

use super::{Fabric, SpecError};
use crate::spec::PortAt;

/// A change of a port that its node makes by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocalChange {
    /// PortInfo.LinkWidthEnabled; takes effect when the link trains next.
    LinkWidthEnabled(u8),
    /// PortInfo.LinkSpeedEnabled, LinkSpeedExtEnabled and LinkSpeedExtEnabled2; likewise.
    LinkSpeedEnabled {
        /// SDR to QDR.
        legacy: u8,
        /// FDR to NDR.
        extended: u8,
        /// XDR.
        extended2: u8,
    },
    /// PortInfo.CapabilityMask of the end port.
    CapabilityMask(u32),
    /// PortInfo.CapabilityMask2 of the end port.
    CapabilityMask2(u16),
    /// The priority of the SM behind the end port, which asks the master to look again.
    SmPriority,
}

impl Fabric {
    /// Makes a change and, if it is one, sends trap 144 from the end port. Enabled speeds and
    /// widths that the port cannot do are left out.
    ///
    /// # Errors
    /// If there is no such port.
    pub fn local_change(&mut self, at: PortAt, change: LocalChange) -> Result<(), SpecError> {
        let slot = self.slot(at).ok_or(SpecError::NoSuchPort(at))?;
        let end = self.end_slot(at);
        let (slot, flags) = match change {
            LocalChange::LinkWidthEnabled(_) => (slot, LocalChangeDetails::LINK_WIDTH_ENABLED),
            LocalChange::LinkSpeedEnabled { .. } => (slot, LocalChangeDetails::LINK_SPEED_ENABLED),
            LocalChange::CapabilityMask(_) => (end, 0),
            LocalChange::CapabilityMask2(_) => (end, LocalChangeDetails::CAPABILITY_MASK2),
            LocalChange::SmPriority => (end, LocalChangeDetails::SM_PRIORITY),
        };
        let before = self.ports[slot].info;
        self.ports[slot].update(|info| apply(info, change));
        if self.ports[slot].info != before || change == LocalChange::SmPriority {
            self.raise_with(at, TrapNumber::LocalChange, flags);
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
