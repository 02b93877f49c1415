//! Application of a [`FabricAction`].

use ferrosm_mad::time::Instant;

use super::Net;
use crate::fabric::{Fabric, SpecError};
use crate::faults::{FabricAction, FaultScope, TransportFault};
use crate::spec::{NodeIdx, PortAt};

impl Net {
    /// Applies an action to the fabric or its faults.
    ///
    /// # Errors
    /// If a node, port or cable does not exist, or a port is in use.
    pub fn act(&mut self, action: FabricAction) -> Result<(), SpecError> {
        if let Some(trace) = &mut self.trace {
            trace.word(self.now.as_nanos());
            trace.word(action.code());
        }
        match action {
            FabricAction::Flap { at, period, times } => self.flap(at, period, times)?,
            FabricAction::Faults(faults) => self.set_faults(faults),
            FabricAction::NodeFaults(node, faults) => {
                self.check_node(node)?;
                self.set_node_faults(node, faults);
            }
            FabricAction::LinkLoss(at, loss) => self.set_link_loss(at, loss),
            FabricAction::TransportFault(scope, fault) => self.set_transport_fault(scope, fault)?,
            FabricAction::Drain(direction, time) => {
                for location in self.existing_fault_locations(FaultScope::Link(direction))? {
                    if let super::FaultLocation::Into(at) = location {
                        self.table.link_mut(at).drain = time;
                    }
                }
            }
            FabricAction::Agent(node, fault) => {
                node.map_or(Ok(()), |node| self.check_node(node))?;
                self.table.set_agent_fault(node, fault);
            }
            FabricAction::AttrLoss(scope, attr, loss) => {
                for location in self.existing_fault_locations(scope)? {
                    self.table.set_attr_loss(location, attr, loss);
                }
            }
            FabricAction::Heal(scope) => {
                for location in self.existing_fault_locations(scope)? {
                    self.table.heal(location);
                }
            }
            FabricAction::AddForeignSm(at, sm) => self.add_foreign_sm(at, *sm).map(|_| ())?,
            FabricAction::RemoveForeignSm(at) => {
                let id = self.foreign_sm_at(at).ok_or(SpecError::NoSuchPort(at))?;
                self.remove_foreign_sm(id)?;
            }
            FabricAction::PowerOff(node)
            | FabricAction::PowerOn(node)
            | FabricAction::Reboot(node)
            | FabricAction::NodeGuid(node, _)
            | FabricAction::Describe(node, _)
            | FabricAction::SrpTarget(node, _)
            | FabricAction::IgnoreOperationalVls(node)
            | FabricAction::SeparateSmi(node)
            | FabricAction::CorruptLft(node, ..) => {
                self.check_node(node)?;
                apply_to_devices(self.fabric_mut(), action)?;
            }
            FabricAction::Trap(at, _) => {
                self.check_node(at.node)?;
                apply_to_devices(self.fabric_mut(), action)?;
            }
            FabricAction::Cut(_)
            | FabricAction::Restore(_)
            | FabricAction::Bounce(_)
            | FabricAction::AddCable(_)
            | FabricAction::RemoveCable(_)
            | FabricAction::MoveCable(..)
            | FabricAction::SwapCables(..)
            | FabricAction::Degrade(..)
            | FabricAction::LinkTraining(_)
            | FabricAction::PortGuid(..)
            | FabricAction::Lid(..)
            | FabricAction::Count { .. }
            | FabricAction::SetCounter { .. }
            | FabricAction::Call(_) => apply_to_devices(self.fabric_mut(), action)?,
        }
        self.faults_changed();
        Ok(())
    }

    fn check_node(&self, node: NodeIdx) -> Result<(), SpecError> {
        if node < self.fabric.num_nodes() {
            Ok(())
        } else {
            Err(SpecError::NoSuchPort(PortAt::new(node, 0)))
        }
    }

    fn existing_fault_locations(
        &self,
        scope: FaultScope,
    ) -> Result<Vec<super::FaultLocation>, SpecError> {
        match scope {
            FaultScope::Fabric => {}
            FaultScope::Node(node) => self.check_node(node)?,
            FaultScope::Link(direction) => {
                let at = direction.port();
                self.fabric.port_info(at).ok_or(SpecError::NoSuchPort(at))?;
            }
        }
        Ok(self.fault_locations(scope))
    }

    fn set_transport_fault(
        &mut self,
        scope: FaultScope,
        fault: TransportFault,
    ) -> Result<(), SpecError> {
        for location in self.existing_fault_locations(scope)? {
            self.table.set_transport_fault(location, fault);
        }
        Ok(())
    }

    /// Cuts a cable and schedules its repair and the further cuts.
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
        self.schedule(now + period / 2, FabricAction::Restore(at));
        if left != 0 {
            let times = left;
            self.schedule(now + period, FabricAction::Flap { at, period, times });
        }
        Ok(())
    }
}

/// Applies an action that changes only the devices.
fn apply_to_devices(fabric: &mut Fabric, action: FabricAction) -> Result<(), SpecError> {
    match action {
        FabricAction::Cut(at) => fabric.cut(at),
        FabricAction::Restore(at) => fabric.restore(at),
        FabricAction::Bounce(at) => fabric.bounce(at),
        FabricAction::AddCable(spec) => fabric.add_cable(spec),
        FabricAction::RemoveCable(at) => fabric.remove_cable(at).map(|_| ()),
        FabricAction::MoveCable(from, to) => fabric.move_cable(from, to),
        FabricAction::SwapCables(one, other) => fabric.swap_cables(one, other),
        FabricAction::Degrade(at, speed, width) => fabric.degrade(at, speed, width),
        FabricAction::PortGuid(at, guid) => fabric.set_port_guid(at, guid),
        FabricAction::Lid(at, lid, lmc) => fabric.set_lid(at, lid, lmc),
        FabricAction::LinkTraining(time) => {
            fabric.set_link_training(time);
            Ok(())
        }
        FabricAction::PowerOff(node) => {
            fabric.power_off(node);
            Ok(())
        }
        FabricAction::PowerOn(node) => {
            fabric.power_on(node);
            Ok(())
        }
        FabricAction::Reboot(node) => {
            fabric.reboot(node);
            Ok(())
        }
        FabricAction::Trap(at, number) => {
            fabric.inject_trap(at, number);
            Ok(())
        }
        FabricAction::Describe(node, text) => {
            fabric.set_description(node, &text);
            Ok(())
        }
        FabricAction::SrpTarget(node, is_target) => fabric.set_srp_target(node, is_target),
        FabricAction::IgnoreOperationalVls(node) => {
            fabric.ignore_operational_vls(node);
            Ok(())
        }
        FabricAction::SeparateSmi(node) => {
            fabric.separate_smi(node);
            Ok(())
        }
        FabricAction::NodeGuid(node, guid) => {
            fabric.set_node_guid(node, guid);
            Ok(())
        }
        FabricAction::CorruptLft(node, lid, port) => {
            fabric.corrupt_lft(node, lid, port);
            Ok(())
        }
        FabricAction::Count { at, counter, n } => {
            fabric.port_info(at).ok_or(SpecError::NoSuchPort(at))?;
            fabric.add_errors(at, counter, n);
            Ok(())
        }
        FabricAction::SetCounter { at, counter, value } => {
            fabric.port_info(at).ok_or(SpecError::NoSuchPort(at))?;
            let current = fabric.port_counters(at).get(counter);
            fabric.add_errors(at, counter, value.wrapping_sub(current));
            Ok(())
        }
        FabricAction::Call(call) => {
            call.run(fabric);
            Ok(())
        }
        // Handled by `Net::act`.
        FabricAction::Flap { .. }
        | FabricAction::Faults(_)
        | FabricAction::NodeFaults(..)
        | FabricAction::LinkLoss(..)
        | FabricAction::TransportFault(..)
        | FabricAction::Drain(..)
        | FabricAction::Agent(..)
        | FabricAction::AttrLoss(..)
        | FabricAction::Heal(_)
        | FabricAction::AddForeignSm(..)
        | FabricAction::RemoveForeignSm(_) => Ok(()),
    }
}
