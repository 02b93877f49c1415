//! Random scenarios in the simulated world ([`ferrosm_tests::swarm`]). Seeds that once failed are in `seeds/swarm.txt` and are run every
//! time; those that fail are in `seeds/known-failing.txt`.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails; a seed may be watched"
)]

use ferrosm_tests::recording;
use ferrosm_tests::seeds::{self, Run};
use ferrosm_tests::swarm::{LANES, Mode, STORES, WILD, run};
use ferrosm_tests::tally::Tally;
use rstest::rstest;

/// Runs a single seed.
const REPEAT: &str = "swarm::named_or_saved_seeds";
/// Seeds that once failed.
const KEPT: &str = include_str!("../../seeds/swarm.txt");
/// Seeds that fail, with the reason.
const KNOWN_FAILING: &str = include_str!("../../seeds/known-failing.txt");
/// Seeds of one test.
const RANGE: u64 = 50;

/// The seeds that once failed, or those that the environment names.
#[test]
fn named_or_saved_seeds() {
    seeds::run_named_or_saved(REPEAT, KEPT, |seed, how| match how {
        Run::Traced => run(seed, Mode::Tell),
        Run::Judged => judge(seed),
    });
}

#[test]
fn known_failures() {
    seeds::known_failures("swarm", KNOWN_FAILING, |seed| {
        judge(seed);
    });
}

#[rstest]
fn random_scenarios_converge(#[values(0, 50, 100, 150, 200)] first: u64) {
    all_but_known(first);
}

#[rstest]
fn wild_scenarios_converge(#[values(0, 50, 100, 150, 200)] first: u64) {
    all_but_known(WILD + first);
}

/// Packets are followed on the SLs that the manager says in the end.
#[rstest]
fn scenarios_with_lanes_converge(#[values(0, 50, 100)] first: u64) {
    all_but_known(LANES + first);
}

/// The store is slow, hangs or fails, and the SM restarts from what was durable.
#[rstest]
fn scenarios_with_store_faults_converge(#[values(0, 50, 100)] first: u64) {
    all_but_known(STORES + first);
}

/// One range. [`known_failures`] runs the others.
fn all_but_known(first: u64) {
    let known = seeds::listed(KNOWN_FAILING);
    let is_known = |seed: &u64| known.iter().any(|listed| listed.seed == *seed);
    let rest = (first..first + RANGE).filter(|seed| !is_known(seed));
    seeds::run_all(REPEAT, rest, |seed| {
        judge(seed);
    });
}

fn judge(seed: u64) -> u64 {
    if std::env::var_os("FERROSM_TRACE").is_some() {
        println!("seed {seed}");
    }
    run(seed, Mode::Judge)
}

/// The same seed gives the same run to the byte, another one another: 350 seeds of all kinds, each run twice.
#[rstest]
fn a_seed_is_a_run(#[values(0, 20, 40, 60, 80)] first: u64) {
    const RANGES: usize = 5;
    let mut hashes = Tally::default();
    let lanes = LANES + first / 2;
    let kinds = [
        first..first + 20,
        WILD + first..WILD + first + 20,
        lanes..lanes + 10,
        STORES + 100 + first..STORES + 120 + first,
    ];
    for seed in kinds.into_iter().flatten() {
        let hash = run(seed, Mode::Storm);
        assert_eq!(hash, run(seed, Mode::Storm), "seed {seed} gave two runs");
        hashes.add(&format!("{hash:x}"), 1);
    }
    if let Some(all) = hashes.of_all_ranges("swarm-hashes", first, RANGES) {
        let twice: Vec<_> = all.iter().filter(|(_, times)| *times > 1).collect();
        assert!(twice.is_empty(), "two seeds gave one run: {twice:?}");
    }
}

/// What the hash stands for: every MAD, when, where, and all its bytes, as text.
#[test]
fn runs_are_deterministic() {
    for seed in [3, WILD + 3] {
        let text = || {
            recording::record(|| {
                let _ = run(seed, Mode::Storm);
            })
        };
        let (once, again) = (text(), text());
        assert!(once.lines().count() > 1_000, "seed {seed} is no run");
        let differs = once.lines().zip(again.lines()).position(|(a, b)| a != b);
        assert_eq!(differs, None, "seed {seed}, line of the trace");
        assert!(once == again, "seed {seed}: one trace is longer");
    }
}
