//! Random scenarios with one SM ([`ferrosm_tests::random_runs::swarm`]). Seeds that failed once are
//! in `seeds/swarm.txt` and always run. Seeds of open defects are in `seeds/known-failing.txt`.

use std::collections::BTreeMap;

use ferrosm_tests::lab::recording;
use ferrosm_tests::random_runs::seeds::{self, Run};
use ferrosm_tests::random_runs::swarm::{
    FIRST_SEED_RARE_FAULTS, FIRST_SEED_STORES, FIRST_SEED_VLS, run, run_faults,
};
use rstest::rstest;

/// The test that runs a single seed.
const REPEAT: &str = "swarm::named_or_saved_seeds";
/// Seeds that failed once.
const SAVED_SEEDS: &str = include_str!("../../seeds/swarm.txt");
/// Seeds that still fail, with the reason.
const KNOWN_FAILING: &str = include_str!("../../seeds/known-failing.txt");
/// Number of seeds of one test case.
const SEEDS_PER_CASE: u64 = 50;

/// Runs the seeds that failed once, or those named by the environment.
#[test]
fn named_or_saved_seeds() {
    seeds::run_named_or_saved(REPEAT, SAVED_SEEDS, run);
}

#[test]
fn known_failures() {
    seeds::known_failures("swarm", KNOWN_FAILING, |seed| {
        let _hash = run(seed, Run::Checked);
    });
}

#[rstest]
fn random_scenarios_converge(#[values(0, 50, 100, 150, 200)] first: u64) {
    run_range(first);
}

#[rstest]
fn scenarios_with_rare_faults_converge(#[values(0, 50, 100, 150, 200)] first: u64) {
    run_range(FIRST_SEED_RARE_FAULTS + first);
}

/// The oracle follows packets on the SLs that the SM assigns to paths.
#[rstest]
fn scenarios_with_several_vls_converge(#[values(0, 50, 100)] first: u64) {
    run_range(FIRST_SEED_VLS + first);
}

/// The store is slow, hangs or fails, and the SM restarts from durable records.
#[rstest]
fn scenarios_with_store_faults_converge(#[values(0, 50, 100)] first: u64) {
    run_range(FIRST_SEED_STORES + first);
}

/// Runs [`SEEDS_PER_CASE`] seeds, without those of [`known_failures`].
fn run_range(first: u64) {
    let known = seeds::saved_seeds(KNOWN_FAILING);
    let is_known = |seed: &u64| known.iter().any(|listed| listed.seed == *seed);
    let remaining = (first..first + SEEDS_PER_CASE).filter(|seed| !is_known(seed));
    seeds::run_all(REPEAT, remaining, |seed| {
        let _hash = run(seed, Run::Checked);
    });
}

/// Equal seeds give equal traces, and different seeds give different ones: 350 seeds of all kinds,
/// each run twice.
#[rstest]
fn runs_repeat_by_seed(#[values(0, 20, 40, 60, 80)] first: u64) {
    let mut seed_of_trace = BTreeMap::new();
    let vls = FIRST_SEED_VLS + first / 2;
    let kinds = [
        first..first + 20,
        FIRST_SEED_RARE_FAULTS + first..FIRST_SEED_RARE_FAULTS + first + 20,
        vls..vls + 10,
        FIRST_SEED_STORES + 100 + first..FIRST_SEED_STORES + 120 + first,
    ];
    for seed in kinds.into_iter().flatten() {
        let hash = run_faults(seed);
        let again = run_faults(seed);
        assert_eq!(hash, again, "seed {seed} produced two different traces");
        let other = seed_of_trace.insert(hash, seed);
        assert_eq!(other, None, "seed {seed} produced the same trace");
    }
}

/// Compares the traces as text instead of their hashes: each MAD with its time, position and bytes.
#[test]
fn runs_are_deterministic() {
    for seed in [3, FIRST_SEED_RARE_FAULTS + 3] {
        let text = || {
            recording::record(|| {
                let _hash = run_faults(seed);
            })
        };
        let once = text();
        let again = text();
        assert!(
            once.lines().count() > 1_000,
            "seed {seed} produced too short a trace"
        );
        let differs = once.lines().zip(again.lines()).position(|(a, b)| a != b);
        assert_eq!(
            differs, None,
            "seed {seed}: first differing line of the trace"
        );
        assert!(once == again, "seed {seed}: one trace is longer");
    }
}
