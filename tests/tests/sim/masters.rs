//! Random scenarios with several SMs ([`ferrosm_tests::random_runs::masters`]). Seeds that failed
//! once are in `seeds/masters.txt` and run every time. `scripts/explore` checks the printed counts.

use ferrosm_tests::random_runs::masters::{
    FIRST_SEED_FOREIGN, FIRST_SEED_HOSTS, FIRST_SEED_PHASES, FIRST_SEED_STORES, run,
};
use ferrosm_tests::random_runs::seeds::{self, Run};
use ferrosm_tests::random_runs::tally::Tally;
use rstest::rstest;

/// The test that runs a single seed.
const REPEAT: &str = "masters::named_or_saved_seeds";
/// Seeds that failed once.
const SAVED_SEEDS: &str = include_str!("../../seeds/masters.txt");

/// Runs the seeds that failed once, or those that the environment names.
#[test]
fn named_or_saved_seeds() {
    seeds::run_named_or_saved(REPEAT, SAVED_SEEDS, |seed, mode| run(seed, mode).0);
}

#[rstest]
fn one_master_and_nothing_lost(#[values(0, 50, 100, 150, 200, 250, 300)] first: u64) {
    run_range("basic", first, 50);
}

/// Hosts reboot, lose power and return, with and without a master. Their LIDs do not change, and no
/// other host loses a registration.
#[rstest]
fn host_power_changes_preserve_lids_and_registrations(#[values(0, 50, 100)] first: u64) {
    run_range("hosts", FIRST_SEED_HOSTS + first, 50);
}

/// An SM of another vendor becomes master by rank and hands over; one with another SM_Key raises an
/// alarm and is never handed the subnet.
#[rstest]
fn foreign_sm_becomes_master_and_hands_over(#[values(0, 50)] first: u64) {
    run_range("foreign", FIRST_SEED_FOREIGN + first, 50);
}

/// Masters are killed in every sweep phase, in their first sweep and in later ones.
#[rstest]
fn masters_are_replaced_after_a_kill_in_every_phase(#[values(0, 30)] first: u64) {
    run_range("phases", FIRST_SEED_PHASES + first, 30);
}

/// Masters are killed, hand over and recover while their stores are slow, hang or fail:
/// acknowledged registrations are not lost, unless the SM had reported that replies do not wait for
/// durable state.
#[rstest]
fn faulty_stores_lose_no_acknowledged_registration(#[values(0, 50, 100)] first: u64) {
    run_range("stores", FIRST_SEED_STORES + first, 50);
}

/// Runs `count` seeds from `first` on, and prints how often each event occurred.
fn run_range(kind: &str, first: u64, count: u64) {
    let mut tally = Tally::default();
    seeds::run_all(REPEAT, first..first + count, |seed| {
        tally.add_all(&run(seed, Run::Checked).1);
    });
    tally.print(kind);
}
