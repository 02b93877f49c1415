//! Switches and links that the operator took out of the routes, and ports that are disabled.
//!
//! No route passes through a drained switch, and none uses a drained link or the link of a disabled
//! port, unless nothing else leads to a part of the fabric: the operator's wish never cuts hosts
//! off later, when other links fail. What would cut them off at once is refused ([`refusal`]).
//!
//! Entries are records: a restart keeps them, and a standby that takes over has them. Their end in
//! time is the driver's: this crate has no wall clock.

pub(crate) mod port_limits;
mod refusal;

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_fabric::observed::{ObservedFabric, Port, PortRef};
use ferrosm_mad::attr::{PhysState, PortInfo};
use ferrosm_mad::ids::{NodeGuid, PortNum};

use crate::config::maintenance::{Maintenance, MaintenanceTarget};
use crate::ctx::Ctx;
use crate::discovery::port_info::disconnect;
use crate::effect::Effect;
use crate::ports::limits::switch_port;
use crate::records::{Record, RecordUpdate, RestoredState};
use crate::report::maintenance_refusal::MaintenanceRefusal;
use crate::smp::op::{PortSetting, SmpOp};

/// What is out of service.
#[derive(Debug, Default)]
pub(crate) struct MaintenanceList {
    entries: BTreeMap<MaintenanceTarget, Maintenance>,
    /// Ports to enable, which were disabled, until they are found enabled.
    to_enable: BTreeSet<(NodeGuid, PortNum)>,
    /// Entries that were replaced since the last complete sweep.
    replaced: BTreeMap<MaintenanceTarget, Maintenance>,
}

impl MaintenanceList {
    /// As the records of an earlier run, or of the last master, say.
    pub(crate) fn new(restored: &RestoredState) -> Self {
        Self {
            entries: restored.maintenance.clone(),
            to_enable: restored.ports_to_enable.clone(),
            replaced: BTreeMap::new(),
        }
    }

    /// What is out of service, by target.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Maintenance> {
        self.entries.values()
    }

    /// Takes something out of service.
    pub(crate) fn put(&mut self, new: Maintenance) -> Vec<RecordUpdate> {
        let mut updates = Vec::new();
        if let MaintenanceTarget::Port(node, port) = new.target
            && self.to_enable.remove(&(node, port))
        {
            let key = Record::port_to_enable_key(node, port);
            updates.push(RecordUpdate::Remove(key));
        }
        let replaced = self.entries.insert(new.target, new.clone());
        if let Some(replaced) = replaced {
            self.replaced.entry(new.target).or_insert(replaced);
        }
        updates.push(RecordUpdate::Put(Record::Maintenance(Box::new(new))));
        updates
    }

    /// A sweep is complete: routes follow the entries, and no failure restores earlier ones.
    pub(crate) fn on_sweep_done(&mut self) {
        self.replaced.clear();
    }

    /// The entry that another one replaced since the last complete sweep.
    pub(crate) fn take_replaced(&mut self, target: MaintenanceTarget) -> Option<Maintenance> {
        self.replaced.remove(&target)
    }

    /// Ends a maintenance. Returns what it was, and the updates of the records: a port is to be
    /// enabled also if the SM restarts first, or another one takes over.
    pub(crate) fn remove(
        &mut self,
        target: MaintenanceTarget,
    ) -> Option<(Maintenance, Vec<RecordUpdate>)> {
        let entry = self.entries.remove(&target)?;
        let key = Record::maintenance_key(target);
        let mut updates = vec![RecordUpdate::Remove(key)];
        if let MaintenanceTarget::Port(node, port) = target {
            self.to_enable.insert((node, port));
            updates.push(RecordUpdate::Put(Record::PortToEnable(node, port)));
        }
        Some((entry, updates))
    }

    /// Switches that no route passes through.
    pub(crate) fn drained_switches(&self) -> BTreeSet<NodeGuid> {
        let targets = self.entries.keys();
        let switches = targets.filter_map(|target| match target {
            MaintenanceTarget::Switch(guid) => Some(*guid),
            MaintenanceTarget::Link(..) | MaintenanceTarget::Port(..) => None,
        });
        switches.collect()
    }

    /// Ports whose links no route uses.
    pub(crate) fn drained_ports(&self) -> BTreeSet<(NodeGuid, PortNum)> {
        let targets = self.entries.keys();
        let ports = targets.filter_map(|target| Some((target.node(), target.port()?)));
        ports.collect()
    }

    /// Why something cannot be taken out of service now.
    pub(crate) fn refusal(
        &self,
        fabric: &ObservedFabric,
        new: &Maintenance,
    ) -> Option<MaintenanceRefusal> {
        refusal::refusal(fabric, self.entries.keys().copied(), new)
    }

    /// All tables are written, and no route uses a link at a port that is to be disabled: disables
    /// these ports, and enables others again. Ports that are enabled need no record any more.
    pub(crate) fn write_port_states(&mut self, ctx: &mut Ctx<'_>) {
        let targets = self.entries.keys().filter_map(|target| match target {
            MaintenanceTarget::Port(guid, port) => Some((*guid, *port)),
            MaintenanceTarget::Switch(_) | MaintenanceTarget::Link(..) => None,
        });
        let to_disable: Vec<PortRef> = targets
            .filter_map(|at| switch_port(ctx.fabric, at))
            .collect();
        for p in to_disable {
            if phys_state(ctx.fabric, p) == Some(PhysState::Disabled) {
                continue;
            }
            // SMPs must not use the link any more, which is about to end.
            disconnect(ctx, p);
            ctx.fabric.mark_paths_stale();
            ctx.smps
                .enqueue(SmpOp::SetPortInfo(p, PortSetting::Disable));
            ctx.effects.push(Effect::RereadPort(p));
            ctx.effects.push(Effect::RequestLocalSweep);
        }
        // An absent switch may come back with the port disabled, and a Set may be lost.
        let mut enabled = Vec::new();
        self.to_enable.retain(|(guid, port)| {
            let Some(p) = switch_port(ctx.fabric, (*guid, *port)) else {
                return true;
            };
            let Some(state) = phys_state(ctx.fabric, p) else {
                return true;
            };
            let is_disabled = state == PhysState::Disabled;
            if is_disabled {
                ctx.smps.enqueue(SmpOp::SetPortInfo(p, PortSetting::Enable));
                ctx.effects.push(Effect::RereadPortLater(p));
            } else {
                let key = Record::port_to_enable_key(*guid, *port);
                enabled.push(RecordUpdate::Remove(key));
            }
            is_disabled
        });
        if !enabled.is_empty() {
            ctx.outbox.persist(enabled);
        }
    }
}

/// The physical state that a port reported; `None` if it was not read.
fn phys_state(fabric: &ObservedFabric, p: PortRef) -> Option<PhysState> {
    let port: &Port = fabric.port(p).filter(|port| port.known)?;
    Some(PortInfo::port_physical_state.read(&port.raw))
}
