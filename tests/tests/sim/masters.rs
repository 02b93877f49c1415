//! Random scenarios with several SMs ([`ferrosm_tests::masters`]). Seeds that failed once are in
//! `seeds/masters.txt` and run every time.

#![allow(clippy::print_stdout, reason = "counted events are printed")]

use ferrosm_tests::masters::{
    FIRST_SEED_FOREIGN, FIRST_SEED_HOSTS, FIRST_SEED_PHASES, FIRST_SEED_STORES, phases, run,
};
use ferrosm_tests::seeds::{self, Run};
use ferrosm_tests::tally::Tally;
use rstest::rstest;

/// The test that runs a single seed.
const REPEAT: &str = "masters::named_or_saved_seeds";
/// Seeds that failed once.
const SAVED_SEEDS: &str = include_str!("../../seeds/masters.txt");

/// Runs the seeds that failed once, or those that the environment names.
#[test]
fn named_or_saved_seeds() {
    seeds::run_named_or_saved(REPEAT, SAVED_SEEDS, |seed, mode| {
        run(seed, mode == Run::Traced).0
    });
}

#[rstest]
fn one_master_and_nothing_lost(#[values(0, 50, 100, 150, 200, 250, 300)] first: u64) {
    let Some(tally) = run_range(first, 50).of_all_ranges("masters", first, 7) else {
        return;
    };
    println!("{tally:#?}");
    tally.assert_at_least(&[
        ("acknowledged", 1500),
        ("takeovers without table writes", 50),
        ("skewed clocks", 80),
        ("split", 20),
        ("cut", 20),
        ("links restored", 30),
        ("loss", 10),
        ("stall", 14),
        ("etcd outage", 5),
        ("priority", 40),
        ("handover", 70),
        ("start, complete store", 45),
        ("start, torn store", 10),
        ("start, foreign store", 8),
        ("start, no store", 6),
    ]);
    tally.assert_at_least(&[
        ("continued, calm", 800),
        ("continued, rough", 500),
        ("continued after a partition", 4),
        ("continuous hosts at restored links", 200),
        ("continuous hosts at an incomplete start", 200),
        ("compared exactly, calm", 100_000),
        ("compared exactly, rough", 200_000),
        ("path comparisons, Any", 120),
        ("path comparisons, Settled", 120),
        ("paths, Any", 3000),
        ("paths, Settled", 3000),
        ("groups, Any", 400),
        ("groups, Settled", 700),
    ]);
    tally.assert_at_most(&[
        ("seeds with unknown LIDs", 4),
        ("calm seeds with a cold takeover", 30),
    ]);
}

/// Hosts reboot, lose power and return, with and without a master. Their LIDs do not change, and no
/// other host loses a registration.
#[rstest]
fn host_power_changes_preserve_lids_and_registrations(#[values(0, 50, 100)] first: u64) {
    let Some(tally) =
        run_range(FIRST_SEED_HOSTS + first, 50).of_all_ranges("masters-hosts", first, 3)
    else {
        return;
    };
    println!("{tally:#?}");
    tally.assert_at_least(&[
        ("takeovers without table writes", 8),
        ("host power changes without a master", 20),
        ("host power changes", 200),
        ("continued, calm", 250),
        ("continued, rough", 250),
        ("path comparisons, Any", 50),
        ("path comparisons, Settled", 90),
    ]);
    tally.assert_at_most(&[("seeds with unknown LIDs", 12)]);
}

/// An SM of another vendor becomes master by rank and hands over; one with another SM_Key raises an
/// alarm and is never handed the subnet.
#[rstest]
fn foreign_sm_becomes_master_and_hands_over(#[values(0, 50)] first: u64) {
    let Some(tally) =
        run_range(FIRST_SEED_FOREIGN + first, 50).of_all_ranges("masters-foreign", first, 2)
    else {
        return;
    };
    println!("{tally:#?}");
    tally.assert_at_least(&[
        ("foreign SM terms", 11),
        ("handovers to the foreign SM", 4),
        ("foreign SM ignored", 3),
        ("continued, rough", 100),
        ("path comparisons, Settled", 25),
    ]);
}

/// Masters are killed in every sweep phase, in their first sweep and in later ones.
#[rstest]
fn masters_are_replaced_after_a_kill_in_every_phase(#[values(0, 30)] first: u64) {
    let Some(tally) =
        run_range(FIRST_SEED_PHASES + first, 30).of_all_ranges("masters-phases", first, 2)
    else {
        return;
    };
    println!("{tally:#?}");
    for phase in phases::ALL {
        tally.assert_at_least(&[(&format!("killed, {phase}"), 3)]);
    }
    // Links of an initialised fabric are activated only by a later sweep.
    for phase in &phases::ALL[1..7] {
        tally.assert_at_least(&[(&format!("killed, {phase}, first"), 1)]);
    }
}

/// Masters are killed, hand over and recover while their stores are slow, hang or fail:
/// acknowledged registrations are not lost, unless the SM had reported that replies do not wait for
/// durable state.
#[rstest]
fn faulty_stores_lose_no_acknowledged_registration(#[values(0, 50, 100)] first: u64) {
    let Some(tally) =
        run_range(FIRST_SEED_STORES + first, 50).of_all_ranges("masters-stores", first, 3)
    else {
        return;
    };
    println!("{tally:#?}");
    tally.assert_at_least(&[
        ("store delayed", 50),
        ("store hanging", 35),
        ("store failing", 18),
        ("killed, store behind", 20),
        ("handover, store behind", 8),
        ("late replies", 100),
        ("unprotected replies", 60),
        ("lost unprotected replies", 30),
        ("replies compared with durable records", 700),
        ("continued, calm", 300),
        ("continued, rough", 200),
        ("takeovers without table writes", 7),
    ]);
}

/// Runs `count` seeds from `first` on, and returns the counted events.
fn run_range(first: u64, count: u64) -> Tally {
    let mut tally = Tally::default();
    seeds::run_all(REPEAT, first..first + count, |seed| {
        tally.add_all(&run(seed, false).1)
    });
    tally
}
