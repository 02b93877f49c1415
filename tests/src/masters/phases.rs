//! Masters that die in a chosen phase of a sweep: in turn in every one. A host reboots or comes back, so that there is something to do
//! in each, or another master has died just before, so that the sweep is the first of the next. Draws from dice of its own.

use std::time::Duration;

use crate::simulated::Dice;
use ferrosm_core::{Command, Phase};

use crate::masters::power::Power;
use crate::masters::simulation::Stage;
use crate::masters::sm_disk::Store;

/// All, in their order.
pub const ALL: [Phase; 8] = [
    Phase::Idle,
    Phase::Discover,
    Phase::ReadTables,
    Phase::OtherSms,
    Phase::Route,
    Phase::WriteTables,
    Phase::Arm,
    Phase::Activate,
];

/// So long a phase is waited for.
const WITHIN: Duration = Duration::from_secs(30);

/// After this a master has seen a host go, and its tables are without it.
const AWAY: Duration = Duration::from_secs(12);

/// See the module's text.
pub(crate) struct Phases {
    d: Dice,
    next: usize,
}

impl Phases {
    pub(crate) fn new(seed: u64) -> Self {
        let mut d = Dice::new(seed ^ 0x0FA5_E000_0000);
        let next = d.index(ALL.len());
        Self { d, next }
    }

    /// A master dies, or, where this gives `None`, anything else may happen.
    pub(crate) fn happen(&mut self, stage: &mut Stage) -> Option<String> {
        if self.d.one_in(3) {
            return None;
        }
        let dead = stage.dead();
        if let Some(i) = Stage::any(&mut self.d, &dead) {
            stage.start(i, Store::Whole);
            stage.run_for(Duration::from_secs(10));
        }
        let phase = ALL[self.next % ALL.len()];
        self.next += 1;
        let first = stage.master().filter(|_| stage.may_end());
        let text = match first {
            Some(i) if self.d.one_in(2) => {
                stage.kill(i);
                format!("the master {i} is killed")
            }
            _ => self.reboot(stage),
        };
        // A routing job takes no time else.
        Self::slow_jobs(stage, phase == Phase::Route);
        let there = |stage: &Stage| {
            let master = stage.master().and_then(|i| stage.sm(i));
            master.is_some_and(|sm| sm.core().phase() == phase)
        };
        let came = stage.run_until(WITHIN, there);
        let master = stage.master().filter(|_| came && stage.may_end());
        if let Some(i) = master {
            stage.kill(i);
        }
        Self::slow_jobs(stage, false);
        Some(match master {
            Some(i) => format!("{text}, and then {i} in phase {phase}"),
            None => format!("{text}, and nobody in phase {phase}: it came {came}"),
        })
    }

    fn reboot(&mut self, stage: &mut Stage) -> String {
        let on = Power::on(stage);
        let node = on.get(self.d.index(on.len())).copied();
        let away = if self.d.one_in(3) {
            Duration::ZERO
        } else {
            AWAY
        };
        if let Some(node) = node {
            stage.power_off(node);
            stage.run_for(away);
            stage.power_on(node);
        }
        if let Some(i) = stage.master() {
            stage.command(i, Command::Sweep.with_id(0));
        }
        format!("host {node:?} was off for {away:?}")
    }

    fn slow_jobs(stage: &mut Stage, slow: bool) {
        for i in stage.alive() {
            let Some(id) = stage.slots[i].id else {
                continue;
            };
            stage.lab.world.with_sm(id, |sm, now| {
                sm.slow_jobs = slow;
                while !slow && !sm.held.is_empty() {
                    sm.answer(now);
                }
            });
        }
    }
}
