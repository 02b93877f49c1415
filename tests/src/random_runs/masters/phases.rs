//! Kills masters in each sweep phase in turn. Before each kill, a host reboots or returns, so that
//! every phase has work, or another master is killed, so that the sweep is the first one of its
//! successor.

use std::time::Duration;

use crate::lab::TestRng;
use ferrosm_core::{Command, Phase};

use crate::random_runs::masters::simulation::{Simulation, phase_name};
use crate::random_runs::masters::store_state::StoreState;

/// All phases, in their order; `None` between sweeps.
pub(crate) const PHASES: [Option<Phase>; 8] = [
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

/// Kills a master in the phase with number `next`, and advances it; returns false if the caller is
/// to apply a general event.
pub(crate) fn apply_event(rng: &mut TestRng, next: &mut usize, sim: &mut Simulation) -> bool {
    if rng.one_in(3) {
        return false;
    }
    if let Some(i) = rng.choose(&sim.stopped()) {
        sim.start_sm(i, StoreState::Complete);
        sim.run_for(Duration::from_secs(10));
    }
    let phase = PHASES[*next % PHASES.len()];
    *next += 1;
    match sim.master_to_stop() {
        Some(i) if rng.one_in(2) => sim.kill_sm(i),
        _ => reboot_host(rng, sim),
    }
    // Routing jobs otherwise take no virtual time.
    set_routing_deferred(sim, phase == Some(Phase::Route));
    let is_reached = sim.run_until(PHASE_TIMEOUT, |sim| {
        let master = sim.master().and_then(|i| sim.sm(i));
        master.is_some_and(|sm| sm.core().activity().phase() == phase)
    });
    sim.log(format_args!("phase {}: {is_reached}", phase_name(phase)));
    if let Some(i) = sim.master_to_stop().filter(|_| is_reached) {
        sim.kill_sm(i);
    }
    set_routing_deferred(sim, false);
    true
}

fn reboot_host(rng: &mut TestRng, sim: &mut Simulation) {
    let on = sim.free_powered_hosts();
    let node = on.get(rng.index(on.len())).copied();
    let off_time = if rng.one_in(3) {
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
        sim.command(i, Command::Sweep);
    }
}

fn set_routing_deferred(sim: &mut Simulation, is_deferred: bool) {
    for i in sim.running() {
        sim.edit_sm(i, |sm, now| {
            sm.defers_routing_jobs = is_deferred;
            while !is_deferred && !sm.deferred_jobs.is_empty() {
                sm.deliver_job_result(now);
            }
        });
    }
}
