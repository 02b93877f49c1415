//! Random scenarios with one SM: any topology, configuration, faults and events. After the faults
//! end, the fabric must become correct within a time limit. A run depends only on its seed; a
//! failing one prints how to repeat it.
//!
//! See [`crate::random_runs::seeds`] for how to run other seeds. Seeds that failed once are in
//! `seeds/swarm.txt` and run every time; those that still fail are in `seeds/known-failing.txt`.

#![expect(clippy::unwrap_used, reason = "test helpers fail by panicking")]
#![allow(clippy::print_stdout, reason = "a traced seed prints its events")]

mod faults;
mod invariants;
mod seed_plan;
mod simulation;
mod stores;

use crate::lab::store::StoreFault;
use crate::random_runs::seeds::Run;
use ferrosm_sim::faults::FabricAction;

use faults::RareFaults;
use seed_plan::{
    Scenario, VlEvents, apply_event, fabric_faults, scenario, seconds, set_node_faults,
};
use simulation::SwarmRun;
use stores::StoreFaults;

/// First seed with rare faults.
pub const FIRST_SEED_RARE_FAULTS: u64 = 1_000_000;
/// First seed with topologies with loops and engines with several VLs; half of these seeds also
/// have rare faults.
pub const FIRST_SEED_VLS: u64 = 2_000_000;
/// First seed with a store that is slow, hangs or fails.
pub const FIRST_SEED_STORES: u64 = 3_000_000;

/// Runs a seed, and returns the trace hash.
///
/// # Panics
///
/// If the fabric does not become correct.
#[must_use]
pub fn run(seed: u64, mode: Run) -> u64 {
    let mut run = run_to_end_of_faults(seed, mode);
    if run.connect_sm() {
        run.assert_converges();
    }
    run.lab.world.trace_hash()
}

/// Runs a seed until a second after the faults end, and returns the trace hash.
#[must_use]
pub fn run_faults(seed: u64) -> u64 {
    let mut run = run_to_end_of_faults(seed, Run::Checked);
    run.connect_sm();
    run.lab.world.trace_hash()
}

fn run_to_end_of_faults(seed: u64, mode: Run) -> SwarmRun {
    let uses_vls = (FIRST_SEED_VLS..FIRST_SEED_STORES).contains(&seed);
    let has_rare_faults =
        (FIRST_SEED_RARE_FAULTS..FIRST_SEED_VLS).contains(&seed) || (uses_vls && seed % 2 == 1);
    let mut vl_events = uses_vls.then(|| VlEvents::new(seed));
    let mut rare_faults = has_rare_faults.then(|| RareFaults::new(seed));
    let mut stores = (seed >= FIRST_SEED_STORES).then(|| StoreFaults::new(seed));
    let Scenario {
        shape,
        spec,
        cfg,
        at,
        mut rng,
        faults_end,
    } = scenario(seed, vl_events.as_mut());
    let mut run = SwarmRun::new(&shape, spec, seed, cfg, at, mode);
    run.log(format_args!(
        "{shape} from {at:?}, faults end at {faults_end:?}, {:?}",
        run.cfg
    ));
    if mode.prints_mads() {
        run.lab.world.observe(|event| println!("{event}"));
    }
    if rng.one_in(2) {
        let time = seconds(rng.unit() * 2.0);
        run.apply(FabricAction::LinkTraining(time));
    }
    run.apply(FabricAction::Faults(fabric_faults(&mut rng)));
    for _ in 0..rng.upto(3) {
        let node = rng.index(run.lab.world.fabric().num_nodes());
        set_node_faults(&mut run, node, &mut rng);
    }
    if let Some(rare_faults) = &mut rare_faults {
        rare_faults.start(&mut run);
    }
    if let Some(stores) = &mut stores {
        stores.start(&mut run);
    }
    for _ in 0..rng.upto(19) {
        let left = faults_end.since(run.lab.world.now()).as_secs_f64();
        // Half of the events come in bursts.
        let wait = if rng.one_in(2) {
            rng.unit() * 0.01
        } else {
            rng.unit() * left / 3.0
        };
        run.lab.world.run_for(seconds(wait.min(left)));
        match rare_faults.as_mut().and_then(RareFaults::take_turn) {
            Some(rare_faults) => rare_faults.apply_event(&mut run),
            None => apply_event(&mut run, &mut rng),
        }
        if let Some(vl_events) = &mut vl_events {
            vl_events.apply_event(&mut run);
        }
        if let Some(stores) = &mut stores {
            stores.apply_event(&mut run);
        }
        run.check_invariants();
    }
    run.lab.world.run_until(faults_end);
    run.check_invariants();
    run.log("faults end");
    if let Some(rare_faults) = &mut rare_faults {
        rare_faults.end(&mut run);
    }
    if stores.is_some() {
        run.set_store_fault(StoreFault::None);
    }
    run.lab.world.heal();
    run
}
