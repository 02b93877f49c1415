//! Slow, hanging and failing stores, and masters that are killed, hand over or recover meanwhile.

use std::time::Duration;

use crate::lab::TestRng;
use crate::lab::store::StoreFault;
use ferrosm_core::Command;

use crate::random_runs::masters::simulation::Simulation;

/// Applies a store event; returns false if the caller is to apply a general one.
pub(crate) fn apply_event(rng: &mut TestRng, sim: &mut Simulation) -> bool {
    match rng.below(10) {
        0 | 1 => set_random_fault(rng, sim),
        2 => clear_faults(sim),
        3..=5 => stop_master_with_faulty_store(rng, sim),
        _ => return false,
    }
    true
}

fn random_fault(rng: &mut TestRng) -> StoreFault {
    StoreFault::random(rng, |rng| Duration::from_millis(rng.upto(2_500)))
}

/// Sets the store fault of one SM, in most cases the master.
fn set_random_fault(rng: &mut TestRng, sim: &mut Simulation) {
    let any = rng.choose(&sim.running());
    let i = if rng.one_in(4) { any } else { sim.master() };
    if let Some(i) = i {
        sim.set_store_fault(i, random_fault(rng));
    }
}

/// Clears the faults of all stores.
pub(crate) fn clear_faults(sim: &mut Simulation) {
    for i in sim.running() {
        sim.set_store_fault(i, StoreFault::None);
    }
}

/// Lets clients register while the master's store is faulty, then kills the master or commands a
/// handover.
fn stop_master_with_faulty_store(rng: &mut TestRng, sim: &mut Simulation) {
    let Some(i) = sim.master() else {
        return;
    };
    sim.set_store_fault(i, random_fault(rng));
    for _ in 0..1 + rng.below(4) {
        sim.change_registration(rng);
        sim.run_for(Duration::from_millis(rng.upto(1_500)));
    }
    if rng.one_in(3) {
        sim.set_store_fault(i, StoreFault::None);
        sim.run_for(Duration::from_millis(rng.upto(1_500)));
    }
    let is_behind = sim.sm(i).is_some_and(|sm| !sm.store.is_caught_up());
    if rng.one_in(4) {
        sim.command(i, Command::Handover);
        sim.tally
            .add("handover, store behind", u32::from(is_behind));
    } else if sim.may_stop_sm() {
        sim.kill_sm(i);
        sim.tally.add("killed, store behind", u32::from(is_behind));
    }
}
