//! Tests that run many seeds, in ranges with one test each, or selected by environment variables.
//!
//! A suite has one `#[rstest]` per kind of seeds with a value for each range, and one test that
//! replays the seeds of a file. In that test `FERROSM_SEED=17` runs a single seed with all events
//! printed, and once more to check that the run repeats;
//! `FERROSM_FIRST_SEED=1000 FERROSM_SEEDS=5000` runs that many seeds instead of those of the file.
//! The suite defines the scenario of a seed.

#![expect(clippy::print_stdout, reason = "tests print seeds")]

use std::panic::{AssertUnwindSafe, catch_unwind};

/// How a seed is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run {
    /// All events are printed.
    Traced,
    /// The result is checked, and only a failure is printed.
    Checked,
}

impl Run {
    /// Whether every MAD is printed.
    #[must_use]
    pub fn prints_mads(self) -> bool {
        self == Self::Traced && std::env::var_os("FERROSM_TRACE").is_some()
    }
}

/// Parses an environment variable as a number.
///
/// # Panics
///
/// If the value is not a number.
#[must_use]
pub fn number_from(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|_| panic!("{name} is `{text}`, expected a number")))
}

/// A seed in a file, with its remark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedSeed<'a> {
    pub seed: u64,
    /// The text after `#`.
    pub remark: &'a str,
}

/// Seeds in a file, one per line; `#` begins a remark.
#[must_use]
pub fn saved_seeds(text: &str) -> Vec<SavedSeed<'_>> {
    text.lines()
        .filter_map(|line| {
            let (seed, remark) = line.split_once('#').unwrap_or((line, ""));
            let seed = seed.trim().parse().ok()?;
            let remark = remark.trim();
            Some(SavedSeed { seed, remark })
        })
        .collect()
}

/// Runs the seeds that the environment names, or those of the file `saved`. `run` returns a trace
/// hash.
///
/// # Panics
///
/// If seeds fail, with the command that repeats one; if an environment variable is not a number.
pub fn run_named_or_saved(test: &str, saved: &str, mut run: impl FnMut(u64, Run) -> u64) {
    if let Some(seed) = number_from("FERROSM_SEED") {
        let hash = run(seed, Run::Traced);
        let again = run(seed, Run::Checked);
        assert_eq!(hash, again, "the same seed produced a different trace");
        return;
    }
    run_all(test, named_or(saved, 0), |seed| {
        run(seed, Run::Checked);
    });
}

/// The seeds that the environment names, or those of the file `saved` and the first `usual` ones.
///
/// # Panics
///
/// If an environment variable is not a number.
#[must_use]
pub fn named_or(saved: &str, usual: u64) -> Vec<u64> {
    if let Some(seed) = number_from("FERROSM_SEED") {
        return vec![seed];
    }
    let Some(count) = number_from("FERROSM_SEEDS") else {
        let saved = saved_seeds(saved).into_iter().map(|listed| listed.seed);
        return saved.chain(0..usual).collect();
    };
    let first = number_from("FERROSM_FIRST_SEED").unwrap_or(0);
    (first..first + count).collect()
}

/// Runs all seeds, even after a failure.
///
/// # Panics
/// If seeds fail, with the command that repeats one in `test`, a test of the executable `sim`; if
/// there are no seeds.
pub fn run_all(test: &str, seeds: impl IntoIterator<Item = u64>, mut run: impl FnMut(u64)) {
    let mut count = 0;
    let mut failed = Vec::new();
    let is_traced = std::env::var_os("FERROSM_TRACE").is_some();
    for seed in seeds {
        count += 1;
        if is_traced {
            println!("seed {seed}");
        }
        if catch_unwind(AssertUnwindSafe(|| run(seed))).is_err() {
            failed.push(seed);
        }
    }
    assert!(count > 0, "no seeds to run");
    // scripts/explore reads the list.
    assert!(
        failed.is_empty(),
        "{} of {count} seeds failed: {failed:?}\n\
         repeat one: FERROSM_SEED={} cargo test -p ferrosm-tests --test sim {test} -- --exact --nocapture",
        failed.len(),
        failed[0]
    );
}

/// Runs each seed of the file `known`, and prints it with its remark; the message of its failure
/// precedes it.
///
/// # Panics
///
/// If a seed passes: it must move to the seeds that every run replays.
pub fn known_failures(suite: &str, known: &str, mut run: impl FnMut(u64)) {
    for SavedSeed { seed, remark } in saved_seeds(known) {
        let result = catch_unwind(AssertUnwindSafe(|| run(seed)));
        assert!(
            result.is_err(),
            "seed {seed} of {suite} passes now: move it from tests/seeds/known-failing.txt to tests/seeds/{suite}.txt"
        );
        println!("known failure: {suite} seed {seed}: {remark}");
    }
}
