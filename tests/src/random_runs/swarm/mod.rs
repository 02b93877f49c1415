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
mod stores;

use std::time::Duration;

use crate::lab::{Lab, Sm, expect_of, is_up};
use ferrosm_core::SmConfig;
use ferrosm_mad::time::Instant;
use ferrosm_sim::world::{LivenessTiming, World};

use faults::RareFaults;
use invariants::InvariantMonitor;
use seed_plan::{VlEvents, apply_event, fabric_faults, node_faults, scenario, seconds};
use stores::StoreFaults;

/// First seed with rare faults.
pub const FIRST_SEED_RARE_FAULTS: u64 = 1_000_000;
/// First seed with topologies with loops and engines with several VLs; half of these seeds also
/// have rare faults.
pub const FIRST_SEED_VLS: u64 = 2_000_000;
/// First seed with a store that is slow, hangs or fails.
pub const FIRST_SEED_STORES: u64 = 3_000_000;

/// What a run checks and prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The fabric must be correct at the end.
    Checked,
    /// The same, with all events printed.
    Traced,
    /// The run stops a second after the faults end; only its repeatability is checked.
    FaultsOnly,
}

/// The SM's timing, from which the time limit follows. Another SM may have been master until now.
fn timing(cfg: &SmConfig) -> LivenessTiming {
    LivenessTiming {
        request_timeout: cfg.smp_timeout * (1 + u32::from(cfg.smp_retries)),
        sweep_interval: cfg.sweep_interval,
        max_outstanding: u32::try_from(cfg.max_outstanding).unwrap_or(u32::MAX),
        takeover_delay: cfg.sm_poll_interval * (1 + u32::from(cfg.sm_poll_retries)),
    }
}

/// Runs a seed, and returns the trace hash.
///
/// # Panics
///
/// If the mode requires a correct fabric at the end and it is not.
#[must_use]
pub fn run(seed: u64, mode: Mode) -> u64 {
    let verbose = matches!(mode, Mode::Traced);
    let uses_vls = (FIRST_SEED_VLS..FIRST_SEED_STORES).contains(&seed);
    let mut vl_events = uses_vls.then(|| VlEvents::new(seed));
    let s = scenario(seed, vl_events.as_mut());
    let mut rng = s.rng;
    let log = |now: Instant, text: &str| {
        if verbose {
            println!("{now:?} {text}");
        }
    };
    log(
        Instant::START,
        &format!(
            "{} from {:?}, faults end at {:?}, {:?}",
            s.shape, s.at, s.faults_end, s.cfg
        ),
    );
    let timing = timing(&s.cfg);
    let has_rare_faults =
        (FIRST_SEED_RARE_FAULTS..FIRST_SEED_VLS).contains(&seed) || (uses_vls && seed % 2 == 1);
    let mut rare_faults = has_rare_faults.then(|| RareFaults::new(seed, s.cfg.clone()));
    let mut stores = (seed >= FIRST_SEED_STORES).then(|| StoreFaults::new(seed, s.cfg.clone()));
    let mut lab = Lab::on(&s.shape, s.spec, seed, s.cfg, s.at);
    if rng.one_in(2) {
        let time = seconds(rng.unit() * 2.0);
        lab.world.fabric_mut().set_link_training(time);
    }
    let faults = fabric_faults(&mut rng);
    log(lab.world.now(), &format!("{faults:?}"));
    lab.world.set_faults(faults);
    let bad_nodes = rng.upto(3);
    for _ in 0..bad_nodes {
        let node = rng.index(lab.world.fabric().num_nodes());
        let faults = node_faults(&mut rng);
        log(lab.world.now(), &format!("node {node} {faults:?}"));
        lab.world.set_node_faults(node, Some(faults));
    }
    if let Some(rare_faults) = &mut rare_faults {
        for text in rare_faults.start(&mut lab) {
            log(lab.world.now(), &text);
        }
    }
    if let Some(text) = stores.as_mut().and_then(|stores| stores.start(&mut lab)) {
        log(lab.world.now(), &text);
    }
    let mut monitor = InvariantMonitor::default();
    let events = rng.upto(19);
    for _ in 0..events {
        let left = s.faults_end.since(lab.world.now()).as_secs_f64();
        // Half of the events come in bursts.
        let wait = if rng.one_in(2) {
            rng.unit() * 0.01
        } else {
            rng.unit() * left / 3.0
        };
        lab.world.run_for(seconds(wait.min(left)));
        let text = match rare_faults.as_mut().and_then(RareFaults::take_turn) {
            Some(rare_faults) => rare_faults.apply_event(&mut lab, &mut monitor),
            None => apply_event(&mut lab, &mut rng),
        };
        log(lab.world.now(), &text);
        if let Some(text) = vl_events
            .as_mut()
            .and_then(|vl_events| vl_events.apply_event(&mut lab))
        {
            log(lab.world.now(), &text);
        }
        let stores = stores.as_mut();
        if let Some(text) = stores.and_then(|stores| stores.apply_event(&mut lab, &mut monitor)) {
            log(lab.world.now(), &text);
        }
        monitor.check(&lab, verbose);
    }
    lab.world.run_until(s.faults_end);
    monitor.check(&lab, verbose);
    log(lab.world.now(), "faults end");
    if let Some(rare_faults) = &mut rare_faults {
        rare_faults.end(&mut lab);
    }
    if stores.is_some() {
        StoreFaults::end(&mut lab);
    }
    lab.world.heal();
    let at = lab.at;
    let fabric = lab.world.fabric_mut();
    fabric.power_on(at.node);
    if let Some(link) = fabric.cable_at(at) {
        fabric.power_on(link.a.node);
        fabric.power_on(link.b.node);
        fabric.restore(at).unwrap();
    } else if at.port != 0 {
        // The SM's port has no cable: the SM cannot reach the fabric.
        return lab.world.trace_hash();
    }
    lab.world.run_for(Duration::from_secs(1));
    if matches!(mode, Mode::FaultsOnly) {
        return lab.world.trace_hash();
    }
    let sm = lab.sm;
    let at = lab.at;
    let run = lab.describe_run();
    let expect = |world: &World<Sm>| expect_of(world, sm, at);
    let liveness = lab.world.converge_to(&timing, expect, |world| {
        let sm = world.sm(sm).unwrap();
        monitor.check_sm(sm, world.fabric(), &run, verbose);
        match sm.core().last_report() {
            Some(report) if is_up(report) => Ok(()),
            Some(report) => Err(format!("problems of the SM: {:?}", report.problems)),
            None => Err("no sweep yet".to_owned()),
        }
    });
    log(lab.world.now(), &liveness.to_string());
    assert!(liveness.is_live(), "{run} {liveness}");
    // The SM runs a full sweep if it recorded an inconsistency, and is then idle; the fabric stays
    // correct. The full sweep may repeat once if the first one came before the last inconsistency.
    lab.world.run_for(Duration::from_secs(75));
    let sweeps = lab.manager().reports().len();
    lab.world.run_for(Duration::from_secs(31));
    monitor.check(&lab, verbose);
    lab.assert_correct();
    let extra_sweeps = lab.manager().reports().len() - sweeps;
    assert!(
        extra_sweeps <= 1,
        "{} {extra_sweeps} sweeps of an unchanged fabric",
        lab.describe_run()
    );
    if std::env::var_os("FERROSM_TRACE").is_some() {
        println!("seed {seed} {liveness}");
    }
    lab.world.trace_hash()
}
