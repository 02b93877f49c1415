//! Swapping and degrading of cables.

use ferrosm_mad::attr::{LinkSpeed, LinkWidth};

use super::{Fabric, SpecError};
use crate::spec::{LinkSpec, PortAt};

impl Fabric {
    /// Swaps the cable ends at two ports.
    ///
    /// # Errors
    /// If a port has no cable, or both have the same cable.
    pub fn swap_cables(&mut self, one: PortAt, other: PortAt) -> Result<(), SpecError> {
        let first = self.cable_at(one).ok_or(SpecError::NoCable(one))?;
        let second = self.cable_at(other).ok_or(SpecError::NoCable(other))?;
        if first == second {
            return Err(SpecError::PortInUse(other));
        }
        self.remove_cable(one)?;
        self.remove_cable(other)?;
        self.add_cable(with_moved_end(first, one, other))?;
        self.add_cable(with_moved_end(second, other, one))
    }

    /// Retrains a link with a maximum speed and width. Higher values than before improve the link.
    ///
    /// # Errors
    /// If the port has no cable.
    pub fn degrade(
        &mut self,
        at: PortAt,
        speed: LinkSpeed,
        width: LinkWidth,
    ) -> Result<(), SpecError> {
        let index = self.link_index(at)?;
        if let Some(Some(link)) = self.links.get_mut(index as usize) {
            (link.spec.speed, link.spec.width) = (speed, width);
        }
        self.bounce(at)
    }
}

/// The cable with its end at `from` moved to `to`.
fn with_moved_end(mut cable: LinkSpec, from: PortAt, to: PortAt) -> LinkSpec {
    if cable.a == from {
        cable.a = to;
    } else {
        cable.b = to;
    }
    cable
}
