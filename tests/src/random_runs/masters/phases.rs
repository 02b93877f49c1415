//! Kills masters in each sweep phase in turn. Before each kill, a host reboots or returns, so that
//! every phase has work, or another master is killed, so that the sweep is the first one of its
//! successor. Has its own random numbers.

use std::time::Duration;

use crate::lab::TestRng;
use ferrosm_core::{Command, Phase};

use crate::random_runs::masters::power::PowerEvents;
use crate::random_runs::masters::simulation::{Simulation, phase_name};
use crate::random_runs::masters::sm_disk::StoreState;

/// All phases, in their order; `None` between sweeps.
const ALL: [Option<Phase>; 8] = [
    None,
    Some(Phase::Discover),
    Some(Phase::ReadTables),
    Some(Phase::SmScan),
    Some(Phase::Route),
    Some(Phase::WriteTables),
    Some(Phase::Arm),
    Some(Phase::Activate),
];

/// Time limit for the master to reach the phase.
const PHASE_TIMEOUT: Duration = Duration::from_secs(30);

/// Time after which the master has removed a host from its tables.
const OFF_TIME: Duration = Duration::from_secs(12);

/// Kills masters in chosen phases.
pub(crate) struct PhaseKills {
    rng: TestRng,
    next: usize,
}

impl PhaseKills {
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = TestRng::new(seed ^ 0x0FA5_E000_0000);
        let next = rng.index(ALL.len());
        Self { rng, next }
    }

    /// Kills a master in the next phase; `None` if the caller is to apply a general event.
    pub(crate) fn apply_event(&mut self, sim: &mut Simulation) -> Option<String> {
        if self.rng.one_in(3) {
            return None;
        }
        let stopped = sim.stopped();
        if let Some(i) = Simulation::choose(&mut self.rng, &stopped) {
            sim.start_sm(i, StoreState::Complete);
            sim.run_for(Duration::from_secs(10));
        }
        let phase = ALL[self.next % ALL.len()];
        self.next += 1;
        let first = sim.master().filter(|_| sim.may_stop_sm());
        let text = match first {
            Some(i) if self.rng.one_in(2) => {
                sim.kill_sm(i);
                format!("master {i} is killed")
            }
            _ => self.reboot(sim),
        };
        // Routing jobs otherwise take no virtual time.
        Self::set_routing_deferred(sim, phase == Some(Phase::Route));
        let is_in_phase = |sim: &Simulation| {
            let master = sim.master().and_then(|i| sim.sm(i));
            master.is_some_and(|sm| sm.core().activity().phase() == phase)
        };
        let reached = sim.run_until(PHASE_TIMEOUT, is_in_phase);
        let master = sim.master().filter(|_| reached && sim.may_stop_sm());
        if let Some(i) = master {
            sim.kill_sm(i);
        }
        Self::set_routing_deferred(sim, false);
        let phase = phase_name(phase);
        Some(match master {
            Some(i) => format!("{text}, then {i} is killed in phase {phase}"),
            None => format!("{text}, no SM is killed in phase {phase}, reached: {reached}"),
        })
    }

    fn reboot(&mut self, sim: &mut Simulation) -> String {
        let on = PowerEvents::free_powered_hosts(sim);
        let node = on.get(self.rng.index(on.len())).copied();
        let off_time = if self.rng.one_in(3) {
            Duration::ZERO
        } else {
            OFF_TIME
        };
        if let Some(node) = node {
            sim.power_off(node);
            sim.run_for(off_time);
            sim.power_on(node);
        }
        if let Some(i) = sim.master() {
            sim.command(i, Command::Sweep.with_id(0));
        }
        format!("host {node:?} was off for {off_time:?}")
    }

    fn set_routing_deferred(sim: &mut Simulation, deferred: bool) {
        for i in sim.running() {
            let Some(id) = sim.sms[i].id else {
                continue;
            };
            sim.lab.world.with_sm(id, |sm, now| {
                sm.defers_routing_jobs = deferred;
                while !deferred && !sm.deferred_jobs.is_empty() {
                    sm.deliver_job_result(now);
                }
            });
        }
    }
}
