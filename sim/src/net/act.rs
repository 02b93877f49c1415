//! What is done to the fabric and to its faults: each [`Action`] in its place.

use ferrosm_mad::time::Instant;

use super::Net;
use crate::fabric::{Fabric, SpecError};
use crate::faults::{Action, Place, WireChange};
use crate::spec::{NodeIdx, PortAt};

impl Net {
    /// Does something to the fabric or its faults now.
    ///
    /// # Errors
    /// If it cannot be done: there is no such node, port or cable, or a port is in use.
    pub fn act(&mut self, action: Action) -> Result<(), SpecError> {
        if let Some(trace) = &mut self.trace {
            trace.word(self.now.as_nanos());
            trace.word(action.code());
        }
        match action {
            Action::Flap { at, period, times } => self.flap(at, period, times)?,
            Action::Faults(faults) => self.set_faults(faults),
            Action::NodeFaults(node, faults) => {
                self.known(node)?;
                self.set_node_faults(node, faults);
            }
            Action::LinkLoss(at, loss) => self.set_link_loss(at, loss),
            Action::Wire(place, change) => self.change_wire(place, change)?,
            Action::Drain(cable, time) => {
                for spot in self.known_spots(Place::Cable(cable))? {
                    if let super::Spot::Into(at) = spot {
                        self.table.link_mut(at).drain = time;
                    }
                }
            }
            Action::Agent(node, change) => {
                node.map_or(Ok(()), |node| self.known(node))?;
                self.table.change_agent(node, change);
            }
            Action::AttrLoss(place, attr, loss) => {
                for spot in self.known_spots(place)? {
                    self.table.set_attr_loss(spot, attr, loss);
                }
            }
            Action::Heal(place) => {
                for spot in self.known_spots(place)? {
                    self.table.heal(spot);
                }
            }
            Action::AddForeignSm(at, sm) => self.add_foreign_sm(at, *sm).map(|_| ())?,
            Action::RemoveForeignSm(at) => {
                let id = self.foreign_sm_at(at).ok_or(SpecError::NoSuchPort(at))?;
                self.remove_foreign_sm(id)?;
            }
            Action::PowerOff(node)
            | Action::PowerOn(node)
            | Action::Reboot(node)
            | Action::NodeGuid(node, _)
            | Action::Describe(node, _)
            | Action::SrpTarget(node, _)
            | Action::KeepVls(node)
            | Action::CorruptLft(node, ..) => {
                self.known(node)?;
                change(self.fabric_mut(), action)?;
            }
            Action::Trap(at, _) => {
                self.known(at.node)?;
                change(self.fabric_mut(), action)?;
            }
            Action::Cut(_)
            | Action::Restore(_)
            | Action::Bounce(_)
            | Action::AddCable(_)
            | Action::RemoveCable(_)
            | Action::MoveCable(..)
            | Action::SwapCables(..)
            | Action::Degrade(..)
            | Action::LinkTraining(_)
            | Action::PortGuid(..)
            | Action::Lid(..)
            | Action::Count { .. }
            | Action::SetCounter { .. }
            | Action::Call(_) => change(self.fabric_mut(), action)?,
        }
        self.faults_changed();
        Ok(())
    }

    fn known(&self, node: NodeIdx) -> Result<(), SpecError> {
        if node < self.fabric.num_nodes() {
            Ok(())
        } else {
            Err(SpecError::NoSuchPort(PortAt::new(node, 0)))
        }
    }

    fn known_spots(&self, place: Place) -> Result<Vec<super::Spot>, SpecError> {
        match place {
            Place::Fabric => {}
            Place::Node(node) => self.known(node)?,
            Place::Cable(cable) => {
                let at = cable.port();
                self.fabric.port_info(at).ok_or(SpecError::NoSuchPort(at))?;
            }
        }
        Ok(self.spots(place))
    }

    fn change_wire(&mut self, place: Place, change: WireChange) -> Result<(), SpecError> {
        for spot in self.known_spots(place)? {
            self.table.change_wire(spot, change);
        }
        Ok(())
    }

    /// Cuts a cable, and sees to it that the rest follows.
    fn flap(
        &mut self,
        at: PortAt,
        period: std::time::Duration,
        times: u32,
    ) -> Result<(), SpecError> {
        let Some(left) = times.checked_sub(1) else {
            return Ok(());
        };
        self.fabric_mut().cut(at)?;
        let now: Instant = self.now;
        self.schedule(now + period / 2, Action::Restore(at));
        if left != 0 {
            let times = left;
            self.schedule(now + period, Action::Flap { at, period, times });
        }
        Ok(())
    }
}

/// What concerns the devices alone.
fn change(fabric: &mut Fabric, action: Action) -> Result<(), SpecError> {
    match action {
        Action::Cut(at) => fabric.cut(at),
        Action::Restore(at) => fabric.restore(at),
        Action::Bounce(at) => fabric.bounce(at),
        Action::AddCable(spec) => fabric.add_cable(spec),
        Action::RemoveCable(at) => fabric.remove_cable(at).map(|_| ()),
        Action::MoveCable(from, to) => fabric.move_cable(from, to),
        Action::SwapCables(one, other) => fabric.swap_cables(one, other),
        Action::Degrade(at, speed, width) => fabric.degrade(at, speed, width),
        Action::PortGuid(at, guid) => fabric.set_port_guid(at, guid),
        Action::Lid(at, lid, lmc) => fabric.set_lid(at, lid, lmc),
        Action::LinkTraining(time) => {
            fabric.set_link_training(time);
            Ok(())
        }
        Action::PowerOff(node) => {
            fabric.power_off(node);
            Ok(())
        }
        Action::PowerOn(node) => {
            fabric.power_on(node);
            Ok(())
        }
        Action::Reboot(node) => {
            fabric.reboot(node);
            Ok(())
        }
        Action::Trap(at, number) => {
            fabric.inject_trap(at, number);
            Ok(())
        }
        Action::Describe(node, text) => {
            fabric.set_description(node, &text);
            Ok(())
        }
        Action::SrpTarget(node, is_target) => fabric.set_srp_target(node, is_target),
        Action::KeepVls(node) => {
            fabric.keep_operational_vls(node);
            Ok(())
        }
        Action::NodeGuid(node, guid) => {
            fabric.set_node_guid(node, guid);
            Ok(())
        }
        Action::CorruptLft(node, lid, port) => {
            fabric.corrupt_lft(node, lid, port);
            Ok(())
        }
        Action::Count { at, counter, n } => {
            fabric.port_info(at).ok_or(SpecError::NoSuchPort(at))?;
            fabric.add_errors(at, counter, n);
            Ok(())
        }
        Action::SetCounter { at, counter, value } => {
            fabric.port_info(at).ok_or(SpecError::NoSuchPort(at))?;
            let now = fabric.port_counters(at).get(counter);
            fabric.add_errors(at, counter, value.wrapping_sub(now));
            Ok(())
        }
        Action::Call(call) => {
            call.run(fabric);
            Ok(())
        }
        // Faults and foreign SMs are the net's, which has dealt with them.
        Action::Flap { .. }
        | Action::Faults(_)
        | Action::NodeFaults(..)
        | Action::LinkLoss(..)
        | Action::Wire(..)
        | Action::Drain(..)
        | Action::Agent(..)
        | Action::AttrLoss(..)
        | Action::Heal(_)
        | Action::AddForeignSm(..)
        | Action::RemoveForeignSm(_) => Ok(()),
    }
}
