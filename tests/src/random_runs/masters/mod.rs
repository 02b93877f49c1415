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
//! | replies follow durable records, unless the SM reported otherwise (`deferred`) | store faults |

#![expect(clippy::unwrap_used, reason = "test helpers fail by panicking")]
#![allow(clippy::print_stdout, reason = "a traced seed prints its events")]

mod clients;
mod continuity_checks;
mod deferred;
mod deferred_replies;
mod events;
mod foreign;
mod fragments;
mod invariants;
mod phases;
mod power;
mod recorded_replies;
mod registration_continuity;
mod seed_plan;
mod simulation;
mod sm_disk;
mod stores;
mod write_counts;

use std::time::Duration;

use crate::lab::{Clock, TestRng};
use crate::random_runs::tally::Tally;
use ferrosm_core::SmConfig;

use deferred::DeferredReplies;
use events::RandomEvents;
use foreign::ScriptedSm;
use invariants::{InvariantMonitor, assert_foreign_sm_ignored, check_settled};
use phases::PhaseKills;
use power::PowerEvents;
use recorded_replies::{FabricState, RecordedReplies};
pub use seed_plan::{FIRST_SEED_FOREIGN, FIRST_SEED_HOSTS, FIRST_SEED_PHASES, FIRST_SEED_STORES};
use seed_plan::{SmPlan, scenario};
use simulation::Simulation;
use stores::StoreFaults;
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
#[derive(Default)]
struct SeedExtension {
    power: Option<PowerEvents>,
    foreign: Option<TestRng>,
    phases: Option<PhaseKills>,
    stores: Option<StoreFaults>,
}

impl SeedExtension {
    fn new(seed: u64, sim: &mut Simulation) -> Self {
        if seed < FIRST_SEED_HOSTS {
            return Self::default();
        }
        if seed < FIRST_SEED_FOREIGN {
            return Self {
                power: Some(PowerEvents::new(seed)),
                ..Self::default()
            };
        }
        if seed >= FIRST_SEED_STORES {
            sim.clients.deferred = Some(DeferredReplies::default());
            return Self {
                stores: Some(StoreFaults::new(seed)),
                ..Self::default()
            };
        }
        if seed >= FIRST_SEED_PHASES {
            return Self {
                phases: Some(PhaseKills::new(seed)),
                ..Self::default()
            };
        }
        let mut rng = TestRng::new(seed ^ 0xF0E1_0000_0000);
        let mut ports = sim.clients.hosts();
        ports.retain(|at| sim.sms.iter().all(|s| s.plan.at.node != at.node));
        sim.foreign = ScriptedSm::new(&sim.lab.world, &ports, &mut rng);
        Self {
            foreign: Some(rng),
            ..Self::default()
        }
    }

    /// Applies an event of this range of seeds; `None` if the caller is to apply a general one.
    fn apply_event(&mut self, sim: &mut Simulation) -> Option<String> {
        if let Some(power) = &mut self.power {
            return power.apply_event(sim);
        }
        if let Some(phases) = &mut self.phases {
            return phases.apply_event(sim);
        }
        if let Some(stores) = &mut self.stores {
            return stores.apply_event(sim);
        }
        let rng = self.foreign.as_mut()?;
        let foreign = sim.foreign.as_mut()?;
        rng.one_in(3)
            .then(|| foreign.apply_event(&mut sim.lab.world, rng))
    }

    /// Returns true if hosts lose power in this range of seeds.
    const fn has_power(&self) -> bool {
        self.power.is_some() || self.phases.is_some()
    }

    fn end_faults(&mut self, sim: &mut Simulation) {
        if let Some(power) = &mut self.power {
            power.end_faults(sim);
        }
        if self.stores.is_some() {
            StoreFaults::end_faults(sim);
        }
        if let (Some(rng), Some(foreign)) = (&mut self.foreign, &mut sim.foreign)
            && !foreign.is_running()
            && rng.one_in(2)
        {
            foreign.start(&mut sim.lab.world);
            sim.log("the foreign SM restarts");
        }
    }
}

fn print_plans(sim: &Simulation, plans: &[SmPlan]) {
    for (i, p) in plans.iter().enumerate() {
        let c = &p.cfg;
        println!(
            "{i}: {:?} {:?} {} {}/{} polls {:?}*{} peers {}: {:?}*{} wait {} {:?} {:?}",
            p.at,
            sim.sms[i].guid,
            if sim.lab.world.fabric().is_switch(p.at.node) {
                "switch"
            } else {
                "host"
            },
            c.priority,
            c.master_priority,
            c.sm_poll_interval,
            c.sm_poll_retries,
            c.peer_sms.len(),
            c.peer_poll_interval,
            c.peer_poll_retries,
            c.wait_polls,
            p.replica_mode,
            p.clock
        );
    }
}

/// Runs a seed, and prints its events if `verbose`. Returns the trace hash and the counted events.
///
/// # Panics
/// If an invariant is violated.
#[must_use]
pub fn run(seed: u64, verbose: bool) -> (u64, Tally) {
    let s = scenario(seed);
    let mut rng = s.rng.clone();
    let mut limit = convergence_limit(&s.plans);
    let leases = rng.one_in(2);
    let mut sim = Simulation::new(&s, seed, leases, verbose);
    let mut extension = SeedExtension::new(seed, &mut sim);
    limit += sim
        .foreign
        .as_ref()
        .map_or(Duration::ZERO, ScriptedSm::reaction_time)
        * 2;
    sim.log(&format!("{} calm {} limit {limit:?}", s.shape, s.calm));
    if verbose {
        print_plans(&sim, &s.plans);
        if std::env::var_os("FERROSM_TRACE").is_some() {
            sim.lab.world.observe(|event| println!("{event}"));
        }
    }
    // Hosts that the foreign SM managed have to register again.
    let calm = s.calm && sim.foreign.as_ref().is_none_or(|f| !f.takes_part());
    let single_vl = s.plans[0].cfg.routing_vls == 1;
    let mut monitor = InvariantMonitor::new(limit);
    run_until_settled(&mut sim, &mut monitor, limit, &|_| true);
    monitor.record_lids(&sim);
    for _ in 0..rng.below(12) {
        let text = sim.clients.change_registration(&mut rng);
        sim.log(&text);
    }
    run_checked(&mut sim, &mut monitor, Duration::from_secs(2));
    let (reregister_requests, cold_takeovers) =
        (sim.clients.reregister_requests, sim.cold_takeovers);
    // An SM that restarts with its own records only may have registrations that were withdrawn
    // since.
    let exact = |sim: &Simulation| calm && sim.cold_takeovers == cold_takeovers;
    let replies = RecordedReplies::new(&mut sim, single_vl);
    let mut events = RandomEvents::new(s.calm, rng.clone());
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
        let compare_replies = extension.has_power() || (single_vl && !exact(&sim));
        if compare_replies && events.all_links_present() && check_settled(&mut sim, false).is_ok() {
            monitor.record_known_hosts(&sim);
            if !monitor.lid_may_change && sim.master().is_some() {
                replies.compare(&mut sim, FabricState::Settled);
            }
        }
        sim.update_continuity();
        match extension.apply_event(&mut sim) {
            Some(text) => sim.log(&text),
            None => events.apply_event(&mut sim),
        }
        sim.update_continuity();
        if verbose {
            let exact = exact(&sim);
            let state = check_settled(&mut sim, exact);
            sim.log(&format!("{state:?}"));
        }
        monitor.check(&mut sim);
    }
    sim.update_continuity();
    events.end_faults(&mut sim);
    extension.end_faults(&mut sim);
    sim.log("faults end");
    run_until_settled(&mut sim, &mut monitor, limit, &exact);
    // A consistency check may still be due; then no further sweep may follow.
    run_checked(&mut sim, &mut monitor, Duration::from_secs(75));
    assert_quiet(&mut sim, &mut monitor);
    let all = exact(&sim);
    if let Err(error) = check_settled(&mut sim, all) {
        panic!(
            "{} the fabric did not stay correct: {error}",
            sim.lab.describe_run()
        );
    }
    assert_foreign_sm_ignored(&sim);
    // With one VL and all links restored, hosts must get the same paths as at the beginning.
    if events.all_links_present() && !monitor.lid_may_change && sim.master().is_some() {
        replies.compare(&mut sim, FabricState::Settled);
    } else {
        replies.compare_groups(&mut sim, FabricState::Settled);
    }
    if exact(&sim) {
        replies.compare(&mut sim, FabricState::Any);
    }
    if calm {
        audit.check(&mut sim);
        let reregister_requests = sim.clients.reregister_requests - reregister_requests;
        assert!(
            sim.cold_takeovers > cold_takeovers || reregister_requests == 0,
            "{} {reregister_requests} reregistration requests although no record was lost",
            sim.lab.describe_run()
        );
    }
    let has_cold_takeover = calm && sim.cold_takeovers > cold_takeovers;
    let has_skewed_clocks = s.plans.iter().any(|p| p.clock != Clock::default());
    let mut tally = sim.tally.clone();
    tally.add("seeds", 1);
    tally.add("calm seeds", u32::from(calm));
    tally.add(
        "calm seeds with a cold takeover",
        u32::from(has_cold_takeover),
    );
    tally.add("acknowledged", sim.clients.acks);
    tally.add("skewed clocks", u32::from(has_skewed_clocks));
    tally.add("takeovers without table writes", audit.takeovers);
    tally.add("takeovers", sim.takeovers);
    tally.add("host power changes", sim.power_changes);
    tally.add(
        "host power changes without a master",
        sim.power_changes_without_master,
    );
    tally.add("seeds with unknown LIDs", u32::from(monitor.lid_may_change));
    if let Some(deferred) = &sim.clients.deferred {
        tally.add("late replies", deferred.late);
        tally.add("unprotected replies", deferred.sent_unprotected);
        tally.add("lost unprotected replies", deferred.lost);
        tally.add("replies compared with durable records", deferred.compared);
    }
    if let Some(foreign) = &sim.foreign {
        let takes_part = foreign.takes_part();
        tally.add(
            "foreign SM terms",
            if takes_part { foreign.terms } else { 0 },
        );
        tally.add("handovers to the foreign SM", foreign.handovers);
        tally.add(
            "foreign SM ignored",
            u32::from(!takes_part && foreign.terms > 0),
        );
    }
    (sim.lab.world.trace_hash(), tally)
}

/// Asserts that for a while no role changes and no unnecessary sweep runs.
fn assert_quiet(sim: &mut Simulation, monitor: &mut InvariantMonitor) {
    let read_counters = |sim: &Simulation| -> Vec<_> {
        let sms = sim.sms.iter();
        sms.map(|s| (s.id, s.role_changes, s.sweeps)).collect()
    };
    let before = read_counters(sim);
    run_checked(sim, monitor, Duration::from_secs(31));
    let run = sim.lab.describe_run();
    for (i, (was, now)) in before.into_iter().zip(read_counters(sim)).enumerate() {
        let is_same = (was.0, was.1) == (now.0, now.1);
        assert!(is_same, "{run} {i} changes its role");
        assert!(now.2 - was.2 <= 1, "{run} {i} sweeps without a cause");
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
