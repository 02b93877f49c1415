//! The steps of the model: one event at one SM, or one fault.

use ferrosm_core::election::AfterHandover;
use ferrosm_mad::attr::{SmControl, SmState};

use crate::mads::Mad;
use crate::setup::Setup;
use crate::world::{Sm, World};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Deliver(Mad),
    Lose(Mad),
    Duplicate(Mad),
    Delay(Mad),
    Timer(u8),
    /// As [`Self::Timer`], and its query is lost.
    TimerLost(u8),
    /// Scans all SMs; with a number, the response of that SM is lost.
    Scan(u8, Option<u8>),
    Decide(u8),
    Crash(u8),
    Restart(u8),
    Partition(u8),
    Join,
    Priority(u8),
    HandOver(u8, AfterHandover),
    Stall(u8),
    /// A stalled SM continues; it knows other SMs, or none.
    Continue(u8, bool),
    /// A master loses its lease, with or without requests in progress.
    LeaseLost(u8, bool),
    /// The second SM, which is also master, acquires the lease of the first.
    Deposed(u8, u8),
    /// The replica becomes incomplete, or complete.
    Replica(u8, bool),
    /// A standby is notified that its master is silent, which is wrong.
    PeerSilent(u8),
    /// A host sends a control to the first SM in the name of the second.
    Forge(u8, u8, SmControl, Forger),
}

/// What the host that forges a control responds to Get(SMInfo).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forger {
    /// Nothing.
    Silent,
    /// The GUID of the SM that it names, without the SM_Key.
    WithoutKey,
    /// That GUID, and the SM_Key.
    WithKey,
}

impl World {
    /// All possible next steps.
    pub(crate) fn actions(&self, setups: &[Setup], actions: &mut Vec<Action>) {
        let faults = &self.faults;
        for mad in &self.mads {
            actions.push(Action::Deliver(*mad));
            let Some(timeout) = mad.timeout() else {
                continue;
            };
            // OpenSM awaits no response to its Sets.
            if faults.allows(faults.lost) {
                actions.push(Action::Lose(*mad));
            }
            if faults.allows(faults.duplicated) {
                actions.push(Action::Duplicate(*mad));
            }
            if faults.allows(faults.delayed) && !self.mads.contains(&timeout) {
                actions.push(Action::Delay(*mad));
            }
        }
        for number in self.sms() {
            let node = self.node(number);
            if !node.alive {
                actions.push(Action::Restart(number));
                continue;
            }
            if node.is_stalled {
                actions.push(Action::Continue(number, true));
                if self.nodes.len() == 2 {
                    actions.push(Action::Continue(number, false));
                }
                continue;
            }
            if self.timer_armed(number) {
                actions.push(Action::Timer(number));
                if self.instant && faults.allows(faults.lost) {
                    actions.push(Action::TimerLost(number));
                }
            }
            if node.scan.is_some() {
                actions.push(Action::Decide(number));
            } else if matches!(node.sm.state(), SmState::Discovering | SmState::Master) {
                actions.push(Action::Scan(number, None));
                let others = self
                    .sms()
                    .filter(|o| *o != number && self.reaches(*o, number));
                if faults.allows(faults.lost) {
                    actions.extend(others.map(|o| Action::Scan(number, Some(o))));
                }
            }
            if faults.allows(faults.crashes) {
                actions.push(Action::Crash(number));
            }
            if faults.allows(faults.partitions)
                && self.is_joined()
                && (self.nodes.len() > 2 || number == 1)
            {
                actions.push(Action::Partition(number));
            }
            if let Sm::Ferrosm(e) = &node.sm {
                if faults.allows(faults.priorities) {
                    actions.push(Action::Priority(number));
                }
                let may_hand_over = e.may_write() || e.is_offering() || e.is_verifying();
                if faults.allows(faults.commands) && may_hand_over {
                    let both = [AfterHandover::StandBy, AfterHandover::Stop];
                    actions.extend(both.map(|then| Action::HandOver(number, then)));
                }
                if faults.allows(faults.stalls) {
                    actions.push(Action::Stall(number));
                }
                if faults.allows(faults.forged) {
                    for control in [SmControl::Handover, SmControl::Disable, SmControl::Discover] {
                        for forger in [Forger::Silent, Forger::WithoutKey, Forger::WithKey] {
                            let others = self.sms().filter(|o| *o != number);
                            actions
                                .extend(others.map(|o| Action::Forge(number, o, control, forger)));
                        }
                    }
                }
                if faults.allows(faults.leases) && e.state() == SmState::Master {
                    actions.extend([true, false].map(|idle| Action::LeaseLost(number, idle)));
                    let writers = self.alive().filter(|o| self.node(*o).sm.may_write());
                    let others = writers.filter(|o| *o != number);
                    actions.extend(others.map(|o| Action::Deposed(number, o)));
                }
                if faults.allows(faults.replicas) {
                    actions.extend(
                        [true, false].map(|incomplete| Action::Replica(number, incomplete)),
                    );
                    if e.state() == SmState::Standby {
                        actions.push(Action::PeerSilent(number));
                    }
                }
            }
        }
        if !self.is_joined() {
            actions.push(Action::Join);
        }
        debug_assert_eq!(setups.len(), self.nodes.len());
    }
}
