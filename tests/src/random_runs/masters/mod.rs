//! Random scenarios with two to five subnet managers on fabrics of 4 to 40 nodes, in virtual time.
//! SMs are killed after any MAD, restart with complete, truncated, foreign or empty stores, hand
//! over, change their priority, stall, and have skewed clocks. The fabric is partitioned and
//! rejoined, links and MADs are lost. Standbys have a replica that is complete, old or missing.
//! Hosts register and withdraw throughout; they reregister only on ClientReregister or when their
//! link comes up.
//!
//! Seeds from [`FIRST_SEED_HOSTS`] on add host reboots and power losses, those from
//! [`FIRST_SEED_FOREIGN`] on an SM of another vendor (master if it outranks all others, else
//! standby; never with another SM_Key), those from [`FIRST_SEED_PHASES`] on kills in chosen sweep
//! phases, and those from [`FIRST_SEED_STORES`] on slow, hanging or failing stores. In *calm*
//! seeds, a third of all, every standby has a replica, and the basic events do not change the
//! fabric. See [`crate::random_runs::seeds`] for how to run other seeds; `FERROSM_TRACE` prints
//! every MAD of a single seed. Seeds that failed once are in `seeds/masters.txt` and run every
//! time.
//!
//! | check | when |
//! |---|---|
//! | two masters in one connected component only within a bound derived from the polls; no LID changes | always |
//! | no reregistration request; acknowledged registrations present, withdrawn ones absent | master with its predecessor's records |
//! | one master per component, named by all ports; oracles accept fabric and groups; all registrations present | after the faults |
//! | paths of hosts, MLID, Q_Key and SL of groups unchanged, byte by byte (`recorded_replies`) | calm, or in a correct fabric |
//! | no role change, no unnecessary sweep | for 106 s after that |
//! | changes of master write no LFT, MFT or P_Key table, and with one VL no VL table | calm |
//! | replies follow durable records, unless the SM reported otherwise (`clients`) | always |

#![expect(clippy::unwrap_used, reason = "test helpers fail by panicking")]
#![allow(clippy::print_stdout, reason = "a traced seed prints its events")]

mod clients;
mod continuity_checks;
mod events;
mod foreign;
mod fragments;
mod invariants;
mod phases;
mod power;
mod recorded_replies;
mod registered;
mod registration_continuity;
mod seed_plan;
mod simulation;
mod store_state;
mod stores;
mod write_counts;

use std::time::Duration;

use crate::lab::{Clock, TestRng};
use crate::random_runs::seeds::Run;
use crate::random_runs::tally::Tally;
use ferrosm_core::{Event, SmConfig};

use events::RandomEvents;
use foreign::ScriptedSm;
use invariants::{InvariantMonitor, assert_foreign_sm_ignored, check_settled};
use phases::PHASES;
use recorded_replies::{FabricState, RecordedReplies};
pub use seed_plan::{FIRST_SEED_FOREIGN, FIRST_SEED_HOSTS, FIRST_SEED_PHASES, FIRST_SEED_STORES};
use seed_plan::{SeedKind, SmPlan, scenario};
use simulation::Simulation;
use write_counts::WriteAudit;

/// Upper limit of the time in which an SM detects a change of another SM's state.
fn reaction_time(cfg: &SmConfig) -> Duration {
    let misses = |retries: u8| u32::from(retries).max(3) + 1;
    let polls = cfg.sm_poll_interval * misses(cfg.sm_poll_retries);
    let peers = cfg.peer_poll_interval * misses(cfg.peer_poll_retries);
    let slowest = cfg.sm_poll_interval.max(cfg.peer_poll_interval);
    polls.max(peers) + slowest * u32::from(cfg.wait_polls)
}

/// Time within which all SMs must have converged after the faults end: detection of the other SMs,
/// an SMInfo scan and a few sweeps, one after the other. Clocks may be slower by a fifth.
fn convergence_limit(plans: &[SmPlan]) -> Duration {
    let all = plans.iter().map(|p| {
        let no_response = p.cfg.smp_timeout * (1 + u32::from(p.cfg.smp_retries));
        reaction_time(&p.cfg) + (p.cfg.sweep_interval + no_response * 4) * 3
    });
    all.max().unwrap_or_default() * 3 / 2 + Duration::from_secs(10)
}

/// Events that a range of seeds adds to the basic ones.
struct AddedEvents {
    kind: SeedKind,
    rng: TestRng,
    next_phase: usize,
}

impl AddedEvents {
    fn new(kind: SeedKind, sim: &mut Simulation) -> Self {
        let mut rng = kind.rng(sim.lab.seed);
        let mut next_phase = 0;
        if kind == SeedKind::Foreign {
            let mut ports = sim.clients.hosts();
            ports.retain(|at| sim.sms.iter().all(|s| s.plan.at.node != at.node));
            sim.foreign = ScriptedSm::new(&sim.lab.world, &ports, &mut rng);
        } else if kind == SeedKind::Phases {
            next_phase = rng.index(PHASES.len());
        }
        Self {
            kind,
            rng,
            next_phase,
        }
    }

    /// Applies an added event; returns false if the caller is to apply a basic one.
    fn apply_event(&mut self, sim: &mut Simulation) -> bool {
        let rng = &mut self.rng;
        match self.kind {
            SeedKind::Basic => false,
            SeedKind::Hosts => power::apply_event(rng, sim),
            SeedKind::Phases => phases::apply_event(rng, &mut self.next_phase, sim),
            SeedKind::Stores => stores::apply_event(rng, sim),
            SeedKind::Foreign => {
                let Some(foreign) = sim.foreign.as_mut().filter(|_| rng.one_in(3)) else {
                    return false;
                };
                let text = foreign.apply_event(&mut sim.lab.world, rng);
                sim.log(text);
                true
            }
        }
    }

    fn end_faults(&mut self, sim: &mut Simulation) {
        match self.kind {
            SeedKind::Basic | SeedKind::Phases => {}
            SeedKind::Hosts => power::end_faults(&mut self.rng, sim),
            SeedKind::Stores => stores::clear_faults(sim),
            SeedKind::Foreign => {
                if let Some(foreign) = &mut sim.foreign
                    && !foreign.is_running()
                    && self.rng.one_in(2)
                {
                    foreign.start(&mut sim.lab.world);
                    sim.log("the foreign SM restarts");
                }
            }
        }
    }
}

/// Runs a seed. Returns the trace hash and the counted events.
///
/// # Panics
/// If an invariant is violated.
#[must_use]
pub fn run(seed: u64, mode: Run) -> (u64, Tally) {
    let s = scenario(seed);
    let mut rng = s.rng.clone();
    let leases = rng.one_in(2);
    let mut sim = Simulation::new(&s, leases, mode);
    let mut added = AddedEvents::new(s.kind, &mut sim);
    let mut limit = convergence_limit(&s.plans);
    if let Some(foreign) = &sim.foreign {
        limit += foreign.reaction_time() * 2;
    }
    sim.log(format_args!("{} calm {} limit {limit:?}", s.shape, s.calm));
    for (i, plan) in s.plans.iter().enumerate() {
        sim.log(format_args!("{i}: {plan:?}"));
    }
    if mode.prints_mads() {
        sim.lab.world.observe(|event| println!("{event}"));
    }
    // Hosts that the foreign SM managed have to register again.
    let calm = s.calm && sim.foreign.as_ref().is_none_or(|f| !f.takes_part());
    let has_power = matches!(s.kind, SeedKind::Hosts | SeedKind::Phases);
    let single_vl = s.plans[0].cfg.routing_vls == 1;
    let mut monitor = InvariantMonitor::new(limit);
    run_until_settled(&mut sim, &mut monitor, limit, &|_| true);
    monitor.record_lids(&sim);
    for _ in 0..rng.below(12) {
        sim.change_registration(&mut rng);
    }
    run_checked(&mut sim, &mut monitor, Duration::from_secs(2));
    let reregister_requests = sim.clients.reregister_requests;
    let cold_takeovers = sim.cold_takeovers;
    // An SM that restarts with its own records only may have registrations that were withdrawn
    // since.
    let exact = |sim: &Simulation| calm && sim.cold_takeovers == cold_takeovers;
    let replies = RecordedReplies::new(&mut sim, single_vl);
    let mut events = RandomEvents::new(rng.clone());
    let mut audit = WriteAudit::default();
    for _ in 0..1 + rng.upto(9) {
        let wait = if rng.one_in(3) {
            rng.below(300)
        } else {
            rng.below(15_000)
        };
        run_checked(&mut sim, &mut monitor, Duration::from_millis(wait));
        if calm {
            audit.check(&mut sim);
        }
        if exact(&sim) {
            replies.compare(&mut sim, FabricState::Any);
        }
        let compare_replies = has_power || (single_vl && !exact(&sim));
        if compare_replies && events.all_links_present() && check_settled(&mut sim, false).is_ok() {
            monitor.record_known_hosts(&sim);
            if !monitor.lid_may_change && sim.master().is_some() {
                replies.compare(&mut sim, FabricState::Settled);
            }
        }
        sim.update_continuity();
        if !added.apply_event(&mut sim) {
            events.apply_event(&mut sim);
        }
        sim.update_continuity();
        monitor.check(&mut sim);
    }
    sim.update_continuity();
    events.end_faults(&mut sim);
    added.end_faults(&mut sim);
    sim.log("faults end");
    run_until_settled(&mut sim, &mut monitor, limit, &exact);
    // A consistency check may still be due; then no further sweep may follow.
    run_checked(&mut sim, &mut monitor, Duration::from_secs(75));
    assert_quiet(&mut sim, &mut monitor);
    let run = sim.lab.describe_run();
    let is_exact = exact(&sim);
    if let Err(error) = check_settled(&mut sim, is_exact) {
        panic!("{run} the fabric did not stay correct: {error}");
    }
    assert_foreign_sm_ignored(&sim);
    // With one VL and all links restored, hosts must get the same paths as at the beginning.
    if events.all_links_present() && !monitor.lid_may_change && sim.master().is_some() {
        replies.compare(&mut sim, FabricState::Settled);
    } else {
        replies.compare_groups(&mut sim, FabricState::Settled);
    }
    if is_exact {
        replies.compare(&mut sim, FabricState::Any);
    }
    if calm {
        audit.check(&mut sim);
        let reregister_requests = sim.clients.reregister_requests - reregister_requests;
        assert!(
            sim.cold_takeovers > cold_takeovers || reregister_requests == 0,
            "{run} {reregister_requests} reregistration requests although no record was lost"
        );
    }
    let has_cold_takeover = calm && sim.cold_takeovers > cold_takeovers;
    let has_skewed_clocks = s.plans.iter().any(|p| p.clock != Clock::default());
    let mut tally = sim.tally.clone();
    tally.add_all(&sim.clients.tally);
    tally.add(
        "calm seeds with a cold takeover",
        u32::from(has_cold_takeover),
    );
    tally.add("skewed clocks", u32::from(has_skewed_clocks));
    tally.add("host power changes", sim.power_changes);
    tally.add("seeds with unknown LIDs", u32::from(monitor.lid_may_change));
    if let Some(foreign) = &sim.foreign {
        tally.add("handovers to the foreign SM", foreign.handovers);
        if foreign.takes_part() {
            tally.add("foreign SM terms", foreign.terms);
        } else {
            tally.add("foreign SM ignored", u32::from(foreign.terms > 0));
        }
    }
    (sim.lab.world.trace_hash(), tally)
}

/// Asserts that for a while no role changes and no unnecessary sweep runs.
fn assert_quiet(sim: &mut Simulation, monitor: &mut InvariantMonitor) {
    let before: Vec<_> = sim.sms.iter().map(|s| (s.id, s.events_read)).collect();
    run_checked(sim, monitor, Duration::from_secs(31));
    let run = sim.lab.describe_run();
    for (i, (id, events_read)) in before.into_iter().enumerate() {
        assert_eq!(sim.sms[i].id, id, "{run} {i} stops");
        let Some(sm) = sim.sm(i) else {
            continue;
        };
        let events = &sm.events[events_read..];
        let is_role_change = |event: &Event| matches!(event, Event::RoleChanged { .. });
        let is_sweep = |event: &&Event| matches!(event, Event::SweepCompleted(_));
        assert!(
            !events.iter().any(is_role_change),
            "{run} {i} changes its role"
        );
        let sweeps = events.iter().filter(is_sweep).count();
        assert!(sweeps <= 1, "{run} {i} sweeps without a cause");
    }
}

/// Advances the time, and checks the invariants meanwhile.
fn run_checked(sim: &mut Simulation, monitor: &mut InvariantMonitor, time: Duration) {
    let deadline = sim.lab.world.now() + time;
    while sim.lab.world.now() < deadline {
        let left = deadline.since(sim.lab.world.now());
        sim.run_for(left.min(simulation::TICK * 2));
        monitor.check(sim);
    }
}

fn run_until_settled(
    sim: &mut Simulation,
    monitor: &mut InvariantMonitor,
    limit: Duration,
    exact: &dyn Fn(&Simulation) -> bool,
) {
    let deadline = sim.lab.world.now() + limit;
    loop {
        run_checked(sim, monitor, Duration::from_millis(500));
        let exact = exact(sim);
        match check_settled(sim, exact) {
            Ok(()) => return,
            Err(reason) if sim.lab.world.now() >= deadline => {
                panic!("{} not within {limit:?}: {reason}", sim.lab.describe_run());
            }
            Err(_) => {}
        }
    }
}
