//! Changes that operators make at run time: partitions ([`AddedPartitions`]) and what is out of
//! service ([`crate::maintenance`]).
//!
//! A change is a record before a device is written. The sweep that carries it out reads and writes
//! only what it concerns.
//!
//! [`AddedPartitions`]: crate::config::partitions::added::AddedPartitions

use std::sync::Arc;

use super::SubnetManager;
use crate::config::SmConfig;
use crate::config::maintenance::{Maintenance, MaintenanceTarget};
use crate::config::partitions::{Partition, Partitions};
use crate::config::port_limits::{PortLimits, SwitchPort};
use crate::event::Event;
use crate::io::commands::{
    CommandFailure, CommandId, CommandOutcome, NewPortLimits, OperatorChange, PlannedChange,
};
use crate::pkeys;
use crate::ports::limits::{is_applied, limits_refusal, switch_port, would_train};
use crate::records::{Record, RecordUpdate};
use crate::report::maintenance_refusal::MaintenanceRefusal;
use crate::report::port_limit_refusal::PortLimitRefusal;
use crate::report::routing_failure::RoutingFailure;
use crate::report::{ProblemKind, SweepReport};

impl SubnetManager {
    /// What is out of service.
    pub fn maintenance(&self) -> impl Iterator<Item = &Maintenance> {
        self.maintenance.entries()
    }

    /// The partitions in force: those of the configuration and those that operators added.
    #[must_use]
    pub const fn partitions(&self) -> &Arc<Partitions> {
        &self.cfg.partitions
    }

    /// Whether operators added the partition with this number, and no configuration defines it.
    #[must_use]
    pub fn is_added_partition(&self, number: u16) -> bool {
        self.partitions.contains(number)
    }

    /// Begins a change that was accepted, or fails it.
    pub(super) fn begin_change(&mut self, id: CommandId, change: OperatorChange) {
        let begun = match change {
            OperatorChange::PutPartition(partition) => self.put_partition(*partition),
            OperatorChange::RemovePartition(number) => self.remove_partition(number),
            OperatorChange::BeginMaintenance(entry) => self.begin_maintenance(*entry),
            OperatorChange::EndMaintenance(target) => self.end_maintenance(target),
            OperatorChange::SetPortLimits(request) => self.set_port_limits(*request),
            OperatorChange::EndPortLimits(at) => self.end_port_limits(at),
        };
        match begun {
            Ok(()) => self.request_local_sweep(),
            Err(failure) => self.commands.fail_one(&mut self.outbox, id, &failure),
        }
    }

    /// A sweep that began after changes is complete.
    pub(super) fn finish_changes(&mut self, report: &SweepReport) {
        self.maintenance.on_sweep_done();
        let fabric = &self.fabric;
        let cfg = &self.cfg;
        self.commands
            .on_sweep_done(&mut self.outbox, |change| match change {
                OperatorChange::PutPartition(partition) => {
                    CommandOutcome::PartitionApplied(pkeys::progress(fabric, cfg, partition))
                }
                OperatorChange::RemovePartition(number) => CommandOutcome::PartitionRemoved {
                    left: pkeys::count_members(fabric, *number),
                },
                OperatorChange::BeginMaintenance(entry) => CommandOutcome::MaintenanceBegan {
                    is_port: matches!(entry.target, MaintenanceTarget::Port(..)),
                    dropped_lids: report.drained_lids,
                },
                OperatorChange::EndMaintenance(_) => CommandOutcome::MaintenanceEnded {
                    dropped_lids: report.drained_lids,
                },
                OperatorChange::SetPortLimits(request) => CommandOutcome::PortLimitsSet {
                    is_applied: is_applied(fabric, &request.limits),
                },
                OperatorChange::EndPortLimits(at) => CommandOutcome::PortLimitsEnded {
                    is_applied: cfg
                        .port_limits
                        .get(at)
                        .is_none_or(|ended| is_applied(fabric, ended)),
                },
            });
    }

    /// No engine found a routing in a sweep: commands that wait for it fail, and what they took out
    /// of service is in service again.
    pub(super) fn fail_changes(&mut self, why: &RoutingFailure) {
        let failed = self.commands.on_routing_failed(&mut self.outbox, why);
        for change in failed {
            let OperatorChange::BeginMaintenance(entry) = change else {
                continue;
            };
            // What was out of service before stays so.
            if let Some(before) = self.maintenance.take_replaced(entry.target) {
                let records = self.maintenance.put(before);
                self.outbox.persist(records);
            } else if self.end_maintenance(entry.target).is_ok() {
                self.request_local_sweep();
            }
        }
    }

    /// What a change would do now. Nothing is done.
    ///
    /// # Errors
    /// Why it would fail.
    pub fn plan_change(&self, change: &OperatorChange) -> Result<PlannedChange, CommandFailure> {
        if !self.is_master() {
            return Err(CommandFailure::NotMaster {
                state: self.role(),
                master: self.polled_master().map(Box::new),
            });
        }
        let mut trains_link = false;
        let partitions = match change {
            OperatorChange::PutPartition(new) => Some(self.check_partition(new)?),
            OperatorChange::RemovePartition(number) => {
                self.require_added(*number)?;
                Some(self.partitions.in_force_without(*number))
            }
            OperatorChange::BeginMaintenance(entry) => {
                self.check_maintenance(entry)?;
                None
            }
            OperatorChange::EndMaintenance(_) => None,
            OperatorChange::SetPortLimits(request) => {
                trains_link = self.check_port_limits(request)?;
                None
            }
            OperatorChange::EndPortLimits(at) => {
                self.require_port_limits(*at)?;
                None
            }
        };
        let ports = match &partitions {
            Some(partitions) => {
                let after = self.config_with(Arc::clone(partitions));
                pkeys::changed_ports(&self.fabric, &self.cfg, &after)
            }
            None => Vec::new(),
        };
        let guids = ports
            .into_iter()
            .filter_map(|p| Some(self.fabric.port(p)?.guid));
        Ok(PlannedChange {
            p_key_ports: guids.collect(),
            partitions,
            trains_link,
        })
    }

    fn config_with(&self, partitions: Arc<Partitions>) -> SmConfig {
        SmConfig {
            partitions,
            ..self.cfg.clone()
        }
    }

    /// Checks a new partition. Returns the partitions that are in force with it.
    fn check_partition(&self, new: &Partition) -> Result<Arc<Partitions>, CommandFailure> {
        self.require_not_configured(new.number)?;
        let in_force = self.partitions.in_force_with(new.clone());
        let partitions = in_force.map_err(CommandFailure::PartitionInvalid)?;
        let after = self.config_with(Arc::clone(&partitions));
        let ports = pkeys::changed_ports(&self.fabric, &self.cfg, &after);
        match pkeys::first_overfull(&self.fabric, &after, &ports) {
            Some(overfull) => Err(CommandFailure::PKeyTableFull(Box::new(overfull))),
            None => Ok(partitions),
        }
    }

    fn put_partition(&mut self, new: Partition) -> Result<(), CommandFailure> {
        self.check_partition(&new)?;
        let number = new.number;
        let name = new.name.clone();
        self.partitions.put(new.clone());
        let record = RecordUpdate::Put(Record::Partition(Box::new(new)));
        self.outbox.persist(vec![record]);
        self.emit(Event::PartitionAdded { name, number });
        self.partitions_changed();
        Ok(())
    }

    fn remove_partition(&mut self, number: u16) -> Result<(), CommandFailure> {
        self.require_added(number)?;
        self.partitions.remove(number);
        let record = RecordUpdate::Remove(Record::partition_key(number));
        self.outbox.persist(vec![record]);
        self.emit(Event::PartitionRemoved { number });
        self.partitions_changed();
        Ok(())
    }

    fn require_added(&self, number: u16) -> Result<(), CommandFailure> {
        if self.partitions.contains(number) {
            return Ok(());
        }
        self.require_not_configured(number)?;
        let is_configured = false;
        Err(CommandFailure::PartitionNotAdded {
            number,
            is_configured,
        })
    }

    fn require_not_configured(&self, number: u16) -> Result<(), CommandFailure> {
        let configured = self.partitions.configured().list();
        if configured.iter().any(|p| p.number == number) {
            let is_configured = true;
            return Err(CommandFailure::PartitionNotAdded {
                number,
                is_configured,
            });
        }
        Ok(())
    }

    /// The partitions in force may have changed: ports whose P_Keys differ are read and written by
    /// the next sweep.
    pub(super) fn partitions_changed(&mut self) {
        let before = self.cfg.clone();
        self.cfg.partitions = self.partitions.in_force();
        for p in pkeys::changed_ports(&self.fabric, &before, &self.cfg) {
            self.schedule.reread_port(p);
        }
        self.compare_config_with_settings();
    }

    fn check_maintenance(&self, entry: &Maintenance) -> Result<(), CommandFailure> {
        match self.maintenance.refusal(&self.fabric, entry) {
            Some(refusal) => Err(CommandFailure::Maintenance(Box::new(refusal))),
            None => Ok(()),
        }
    }

    fn begin_maintenance(&mut self, entry: Maintenance) -> Result<(), CommandFailure> {
        self.check_maintenance(&entry)?;
        let name = entry.name.clone();
        let reason = entry.reason.clone();
        let action = entry.target.action();
        let records = self.maintenance.put(entry);
        self.outbox.persist(records);
        self.emit(Event::MaintenanceBegan {
            action,
            name,
            reason,
        });
        self.maintenance_changed();
        Ok(())
    }

    fn end_maintenance(&mut self, target: MaintenanceTarget) -> Result<(), CommandFailure> {
        let Some((ended, records)) = self.maintenance.remove(target) else {
            let refusal = Box::new(MaintenanceRefusal::InService);
            return Err(CommandFailure::Maintenance(refusal));
        };
        self.outbox.persist(records);
        self.emit(Event::MaintenanceEnded {
            action: target.action(),
            name: ended.name,
        });
        self.maintenance_changed();
        Ok(())
    }

    /// The limits of ports.
    pub fn port_limits(&self) -> impl Iterator<Item = &PortLimits> {
        self.port_limits.entries()
    }

    /// Why limits cannot be set, or whether the link trains for them.
    fn check_port_limits(&self, request: &NewPortLimits) -> Result<bool, CommandFailure> {
        let limits = &request.limits;
        let trains_link = would_train(&self.fabric, limits);
        let port = MaintenanceTarget::Port(limits.node, limits.port);
        let refused = |refusal| Err(CommandFailure::Maintenance(Box::new(refusal)));
        let Some(p) = switch_port(&self.fabric, limits.at()) else {
            return refused(MaintenanceRefusal::NotASwitch);
        };
        if let Some(refusal) = limits_refusal(&self.fabric, p, limits) {
            return Err(CommandFailure::PortLimits(refusal));
        }
        if trains_link {
            self.check_maintenance(&Maintenance {
                target: port,
                name: limits.name.clone(),
                reason: String::new(),
                until_unix_s: None,
                may_cut_off_host: request.may_cut_off_host,
            })?;
        }
        Ok(trains_link)
    }

    fn require_port_limits(&self, at: SwitchPort) -> Result<(), CommandFailure> {
        let mut limited = self.port_limits.entries();
        match limited.any(|limits| limits.at() == at) {
            true => Ok(()),
            false => Err(CommandFailure::PortLimits(PortLimitRefusal::NotLimited)),
        }
    }

    fn set_port_limits(&mut self, request: NewPortLimits) -> Result<(), CommandFailure> {
        let _ = self.check_port_limits(&request)?;
        let limits = request.limits;
        let event = Event::PortLimitsSet(Box::new(limits.clone()));
        let at = limits.at();
        let record = self.port_limits.put(&self.fabric, limits);
        self.outbox.persist(vec![record]);
        self.emit(event);
        self.port_limits_changed(at);
        Ok(())
    }

    fn end_port_limits(&mut self, at: SwitchPort) -> Result<(), CommandFailure> {
        self.require_port_limits(at)?;
        let name = self
            .cfg
            .port_limits
            .get(&at)
            .map(|limits| limits.name.clone());
        if let Some(record) = self.port_limits.end(&self.fabric, at) {
            self.outbox.persist(vec![record]);
        }
        self.emit(Event::PortLimitsEnded(name.unwrap_or_default()));
        self.port_limits_changed(at);
        Ok(())
    }

    /// Both ends of the link are written by the next sweep.
    fn port_limits_changed(&mut self, at: SwitchPort) {
        self.cfg.port_limits = self.port_limits.in_force();
        if let Some(p) = switch_port(&self.fabric, at) {
            self.schedule.reread_port(p);
            if let Some(peer) = self.fabric.peer(p) {
                self.schedule.reread_port(peer);
            }
        }
        if self.port_limits.to_train().contains(&at) {
            self.maintenance_changed();
        }
    }

    /// Routes are computed for what is in service.
    pub(super) fn maintenance_changed(&mut self) {
        let mut out_of_use = self.maintenance.drained_ports();
        out_of_use.extend(self.port_limits.to_train());
        self.link_stability.set_drained(out_of_use);
        self.routing
            .set_drained(self.maintenance.drained_switches());
    }

    /// Ports that are to be disabled or enabled, once all tables are written.
    pub(super) fn write_port_states(&mut self) {
        if self.is_master() && !self.read_only {
            with_ctx!(self, |ctx| self.maintenance.write_port_states(ctx));
            if with_ctx!(self, |ctx| self.port_limits.write(ctx)) {
                self.cfg.port_limits = self.port_limits.in_force();
                self.maintenance_changed();
            }
        }
    }

    /// Reports drained links that routes use, in a sweep.
    pub(super) fn report_drained_in_use(&mut self) {
        for p in self.link_stability.drained_in_use(&self.fabric) {
            self.add_problem(Some(p), ProblemKind::DrainedLinkUsed);
        }
    }
}
