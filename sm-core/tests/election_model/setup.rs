//! How a model begins: its SMs, and the budget of faults.

use std::time::Duration;

use ferrosm_core::election::{Election, ElectionSettings};
use ferrosm_mad::ids::PortGuid;

use crate::opensm::OpenSm;
use crate::world::Sm;

/// Faults that may still happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Faults {
    /// Of all kinds together.
    pub(crate) total: u8,
    /// MADs that are lost, or that a sweep does not get an answer to.
    pub(crate) lost: u8,
    /// MADs that arrive twice.
    pub(crate) doubled: u8,
    /// MADs that arrive after their sender has given them up.
    pub(crate) late: u8,
    /// SMs that end without a word, each of which may begin anew.
    pub(crate) crashes: u8,
    /// Times the subnet falls into two, which may heal.
    pub(crate) cuts: u8,
    /// Times that an operator gives an SM another priority.
    pub(crate) priorities: u8,
    /// Times that an operator has a master hand over.
    pub(crate) commands: u8,
}

impl Faults {
    pub(crate) const NONE: Self = Self {
        total: 0,
        lost: 0,
        doubled: 0,
        late: 0,
        crashes: 0,
        cuts: 0,
        priorities: 0,
        commands: 0,
    };

    /// The one and the other.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self {
            total: self.total + other.total,
            lost: self.lost + other.lost,
            doubled: self.doubled + other.doubled,
            late: self.late + other.late,
            crashes: self.crashes + other.crashes,
            cuts: self.cuts + other.cuts,
            priorities: self.priorities + other.priorities,
            commands: self.commands + other.commands,
        }
    }

    pub(crate) const fn may(&self, of_kind: u8) -> bool {
        self.total > 0 && of_kind > 0
    }

    pub(crate) fn spend(&mut self, kind: impl Fn(&mut Self) -> &mut u8) {
        self.total -= 1;
        *kind(self) -= 1;
    }
}

/// How an SM is set up; as `foreign` one that behaves as OpenSM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Setup {
    pub(crate) priority: u8,
    pub(crate) master_priority: u8,
    pub(crate) foreign: bool,
    /// Gives up after one question, not two. It makes the model of three SMs smaller, and their errors more frequent.
    pub(crate) hasty: bool,
}

impl Setup {
    pub(crate) const fn ours(priority: u8) -> Self {
        Self {
            priority,
            master_priority: 0,
            foreign: false,
            hasty: false,
        }
    }

    pub(crate) const fn hasty(priority: u8) -> Self {
        Self {
            hasty: true,
            ..Self::ours(priority)
        }
    }

    /// One that keeps the subnet once it has it.
    pub(crate) const fn sticky(priority: u8) -> Self {
        Self {
            priority,
            master_priority: 14,
            foreign: false,
            hasty: false,
        }
    }

    pub(crate) const fn opensm(priority: u8) -> Self {
        Self {
            priority,
            master_priority: 0,
            foreign: true,
            hasty: false,
        }
    }

    pub(crate) fn start(&self, who: u8) -> Sm {
        if self.foreign {
            return Sm::Foreign(OpenSm::new(who, self.priority));
        }
        let settings = ElectionSettings {
            priority: self.priority,
            master_priority: self.master_priority,
            poll_interval: Duration::ZERO,
            missed_polls: if self.hasty { 1 } else { 2 },
            handover_tries: if self.hasty { 1 } else { 2 },
            patience: 2,
            successor_scan_interval: Duration::ZERO,
            successor_scans_max: 1,
            allowed: None,
            refuse_managed: false,
            ..ElectionSettings::default()
        };
        Sm::Ours(Election::new(PortGuid(who.into()), settings))
    }
}
