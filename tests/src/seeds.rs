//! Tests that run many seeds: which ones, and what is said of those that fail.
//!
//! `FERROSM_SEED=17` runs one seed, told, and once more to see that it repeats; `FERROSM_SEEDS=5000` runs that many, from
//! `FERROSM_FIRST_SEED` on, instead of the few that every test run does. What a seed means is the test's.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a seed is run for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run {
    /// Somebody looks at it: everything that happens is told.
    Told,
    /// It is judged, and only a failure is told.
    Judged,
}

/// A number from the environment.
///
/// # Panics
/// If it is none.
#[must_use]
pub fn number_from(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|_| panic!("{name} is `{text}`, expected a number")))
}

/// Seeds in a file, one a line; `#` begins a remark.
#[must_use]
pub fn listed(text: &str) -> Vec<u64> {
    let seeds = text.lines().filter_map(|line| line.split('#').next());
    seeds.filter_map(|seed| seed.trim().parse().ok()).collect()
}

/// Whether the environment names seeds: then one test of a file runs them, whatever kind they are of.
#[must_use]
pub fn are_named() -> bool {
    number_from("FERROSM_SEED").is_some() || number_from("FERROSM_SEEDS").is_some()
}

/// The one seed of the environment, or those of a range that it names, or the usual ones; those that once failed in any case but
/// the first. A run gives a hash of all that happened.
///
/// # Panics
/// If seeds fail, with how to repeat one in the test file `test`.
pub fn run_named_or(
    test: &str,
    kept: &str,
    usual: Range<u64>,
    mut run: impl FnMut(u64, Run) -> u64,
) {
    if let Some(seed) = number_from("FERROSM_SEED") {
        let hash = run(seed, Run::Told);
        let again = run(seed, Run::Judged);
        assert_eq!(hash, again, "the same seed gave another run");
        return;
    }
    let first = number_from("FERROSM_FIRST_SEED").unwrap_or(usual.start);
    let count = number_from("FERROSM_SEEDS").unwrap_or(usual.end - usual.start);
    let seeds = listed(kept).into_iter().chain(first..first + count);
    run_all(test, seeds, |seed| {
        run(seed, Run::Judged);
    });
}

/// All of them, whatever becomes of the first ones.
///
/// # Panics
/// If seeds fail, with how to repeat one in the test file `test`.
pub fn run_all(test: &str, seeds: impl IntoIterator<Item = u64>, mut run: impl FnMut(u64)) {
    let (mut ran, mut failed) = (0, Vec::new());
    for seed in seeds {
        ran += 1;
        if catch_unwind(AssertUnwindSafe(|| run(seed))).is_err() {
            failed.push(seed);
        }
    }
    assert!(
        failed.is_empty(),
        "{} of {ran} seeds failed: {failed:?}\n\
         repeat one with: FERROSM_SEED={} cargo test -p ferrosm-tests --test {test}",
        failed.len(),
        failed[0]
    );
}
