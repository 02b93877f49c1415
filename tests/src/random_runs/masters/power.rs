//! Hosts that reboot, lose power and return, while there is a master, and after a master was killed
//! and before the next one. A host that runs an SM loses power only in the event that also kills
//! the SM. [`crate::random_runs::masters::clients`] models what the hosts lose.

use std::time::Duration;

use crate::lab::TestRng;
use ferrosm_core::Command;

use crate::random_runs::masters::simulation::Simulation;

/// Applies a host event; returns false if the caller is to apply a general one.
pub(crate) fn apply_event(rng: &mut TestRng, sim: &mut Simulation) -> bool {
    match rng.below(10) {
        0 => change_hosts(rng, sim),
        1 | 2 => kill_master_and_change_hosts(rng, sim),
        3 => crash_sm_host(rng, sim),
        4 => power_on_all(sim),
        _ => return false,
    }
    true
}

/// Reboots, powers off or powers on one to three hosts.
fn change_hosts(rng: &mut TestRng, sim: &mut Simulation) {
    for _ in 0..1 + rng.below(3) {
        change_host(rng, sim);
    }
}

fn change_host(rng: &mut TestRng, sim: &mut Simulation) {
    sim.run_for(Duration::from_millis(rng.upto(300)));
    let off = sim.unpowered_hosts();
    let on = sim.free_powered_hosts();
    match rng.below(4) {
        0 if !off.is_empty() => sim.power_on(off[rng.index(off.len())]),
        1 if on.len() > 2 => sim.power_off(on[rng.index(on.len())]),
        _ if !on.is_empty() => {
            let node = on[rng.index(on.len())];
            sim.power_off(node);
            if rng.one_in(2) {
                sim.run_for(Duration::from_millis(rng.below(2_000)));
            }
            sim.power_on(node);
        }
        _ => {}
    }
}

/// Kills the master, and changes hosts before another SM becomes master.
fn kill_master_and_change_hosts(rng: &mut TestRng, sim: &mut Simulation) {
    let Some(i) = sim.master_to_stop() else {
        return;
    };
    if rng.one_in(4) {
        sim.command(i, Command::Sweep);
        sim.run_steps(rng.upto(400), Duration::from_secs(2));
    }
    sim.kill_sm(i);
    change_hosts(rng, sim);
    let has_no_master = u32::from(sim.master().is_none());
    sim.tally
        .add("host power changes without a master", has_no_master);
}

/// Powers off a host with a running SM.
fn crash_sm_host(rng: &mut TestRng, sim: &mut Simulation) {
    let any = rng.choose(&sim.running());
    let i = if rng.one_in(2) { sim.master() } else { any };
    let Some(i) = i.filter(|_| sim.may_stop_sm()) else {
        return;
    };
    let node = sim.sms[i].plan.at.node;
    if !sim.lab.world.fabric().is_switch(node) {
        sim.kill_sm(i);
        sim.power_off(node);
    }
}

fn power_on_all(sim: &mut Simulation) {
    for node in sim.unpowered_hosts() {
        sim.power_on(node);
    }
}

/// Powers all hosts on again, with a probability of 3/4.
pub(crate) fn end_faults(rng: &mut TestRng, sim: &mut Simulation) {
    if !rng.one_in(4) {
        power_on_all(sim);
    }
}
