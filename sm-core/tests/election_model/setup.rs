//! Initial state of a model: its SMs and the budget of faults.

use std::time::Duration;

use ferrosm_core::election::{Election, ElectionSettings};
use ferrosm_mad::ids::PortGuid;

use crate::opensm::OpenSm;
use crate::world::Sm;

/// Remaining faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Faults {
    /// Of all kinds together.
    pub(crate) total: u8,
    /// Lost MADs.
    pub(crate) lost: u8,
    /// MADs that arrive twice.
    pub(crate) duplicated: u8,
    /// MADs that arrive after their sender's timeout.
    pub(crate) delayed: u8,
    /// SM crashes. A crashed SM may restart.
    pub(crate) crashes: u8,
    /// Partitions of the subnet into two fragments, which may be joined again.
    pub(crate) partitions: u8,
    /// Priority changes by an operator.
    pub(crate) priorities: u8,
    /// Handovers requested by an operator.
    pub(crate) commands: u8,
    /// Stalls of an SM, which is notified of its stall when it continues.
    pub(crate) stalls: u8,
    /// Leases that a master loses, or that another master acquires.
    pub(crate) leases: u8,
    /// Replicas that become incomplete or complete, and false reports that a master is silent.
    pub(crate) replicas: u8,
    /// Controls that a host sends in the name of an SM.
    pub(crate) forged: u8,
}

impl Faults {
    pub(crate) const NONE: Self = Self {
        total: 0,
        lost: 0,
        duplicated: 0,
        delayed: 0,
        crashes: 0,
        partitions: 0,
        priorities: 0,
        commands: 0,
        stalls: 0,
        leases: 0,
        replicas: 0,
        forged: 0,
    };

    /// The sum of two budgets.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self {
            total: self.total + other.total,
            lost: self.lost + other.lost,
            duplicated: self.duplicated + other.duplicated,
            delayed: self.delayed + other.delayed,
            crashes: self.crashes + other.crashes,
            partitions: self.partitions + other.partitions,
            priorities: self.priorities + other.priorities,
            commands: self.commands + other.commands,
            stalls: self.stalls + other.stalls,
            leases: self.leases + other.leases,
            replicas: self.replicas + other.replicas,
            forged: self.forged + other.forged,
        }
    }

    pub(crate) const fn allows(&self, of_kind: u8) -> bool {
        self.total > 0 && of_kind > 0
    }

    pub(crate) fn consume(&mut self, kind: impl Fn(&mut Self) -> &mut u8) {
        self.total -= 1;
        *kind(self) -= 1;
    }
}

/// Settings of an SM; `is_opensm` for one that behaves like OpenSM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Setup {
    pub(crate) priority: u8,
    pub(crate) master_priority: u8,
    pub(crate) is_opensm: bool,
    /// Its master counts as dead after one missed poll instead of two. The model is smaller, and
    /// false takeovers are more frequent.
    pub(crate) impatient: bool,
}

impl Setup {
    pub(crate) const fn ferrosm(priority: u8) -> Self {
        Self {
            priority,
            master_priority: 0,
            is_opensm: false,
            impatient: false,
        }
    }

    pub(crate) const fn impatient(priority: u8) -> Self {
        Self {
            impatient: true,
            ..Self::ferrosm(priority)
        }
    }

    /// An SM that prevents failback once it is master.
    pub(crate) const fn no_failback(priority: u8) -> Self {
        Self {
            priority,
            master_priority: 14,
            is_opensm: false,
            impatient: false,
        }
    }

    pub(crate) const fn opensm(priority: u8) -> Self {
        Self {
            priority,
            master_priority: 0,
            is_opensm: true,
            impatient: false,
        }
    }

    pub(crate) fn start(&self, number: u8) -> Sm {
        if self.is_opensm {
            return Sm::OpenSm(OpenSm::new(number, self.priority));
        }
        let settings = ElectionSettings {
            priority: self.priority,
            master_priority: self.master_priority,
            poll_interval: Duration::ZERO,
            missed_polls: if self.impatient { 1 } else { 2 },
            handover_tries: if self.impatient { 1 } else { 2 },
            wait_polls: 2,
            successor_scan_interval: Duration::ZERO,
            successor_scans_max: 1,
            allowed: None,
            refuse_managed: false,
            ..ElectionSettings::default()
        };
        Sm::Ferrosm(Election::new(PortGuid(number.into()), settings))
    }
}
