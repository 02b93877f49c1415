//! What hands do to cables beyond plugging and pulling: two are swapped, one gets worse.

use ferrosm_mad::attr::{LinkSpeed, LinkWidth};

use super::{Fabric, SpecError};
use crate::spec::{LinkSpec, PortAt};

impl Fabric {
    /// Exchanges the ends of two cables at these ports: each is plugged in where the other was.
    ///
    /// # Errors
    /// If there is no cable at a port, or both have one and the same.
    pub fn swap_cables(&mut self, one: PortAt, other: PortAt) -> Result<(), SpecError> {
        let first = self.cable_at(one).ok_or(SpecError::NoCable(one))?;
        let second = self.cable_at(other).ok_or(SpecError::NoCable(other))?;
        if first == second {
            return Err(SpecError::PortInUse(other));
        }
        self.remove_cable(one)?;
        self.remove_cable(other)?;
        self.add_cable(moved(first, one, other))?;
        self.add_cable(moved(second, other, one))
    }

    /// The link goes down and comes up with no more than this speed and width: the cable got worse.
    /// Better values than at first make it better.
    ///
    /// # Errors
    /// If there is no cable.
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

/// The cable with its end at `from` plugged in at `to`.
fn moved(mut cable: LinkSpec, from: PortAt, to: PortAt) -> LinkSpec {
    if cable.a == from {
        cable.a = to;
    } else {
        cable.b = to;
    }
    cable
}
