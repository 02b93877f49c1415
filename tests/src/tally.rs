//! How often which event happened in the runs of many seeds: an event that never happens is not tested.
//!
//! A kind of seeds is spread over several tests, each a range, which may be processes of their own. Each range leaves its tally in a
//! file; the range that finishes last finds all files, and judges the sum. The outcome does not depend on which one that is.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Counts by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally(BTreeMap<String, u32>);

impl Tally {
    /// Counts `what` `times` more often.
    pub fn add(&mut self, what: &str, times: u32) {
        if times > 0 {
            *self.0.entry(what.to_owned()).or_default() += times;
        }
    }

    /// Adds all counts of another tally.
    pub fn add_all(&mut self, other: &Self) {
        other.0.iter().for_each(|(what, n)| self.add(what, *n));
    }

    /// How often `what` was counted.
    #[must_use]
    pub fn of(&self, what: &str) -> u32 {
        self.0.get(what).copied().unwrap_or(0)
    }

    /// All names and their counts.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u32)> {
        self.0.iter().map(|(what, times)| (what.as_str(), *times))
    }

    /// Each name was counted at least so often.
    ///
    /// # Panics
    /// If one was not.
    pub fn assert_at_least(&self, wanted: &[(&str, u32)]) {
        for (what, least) in wanted {
            let seen = self.of(what);
            assert!(
                seen >= *least,
                "{what}: {seen} times, not {least}: {self:#?}"
            );
        }
    }

    /// Each name was counted at most so often.
    ///
    /// # Panics
    /// If one was counted more often.
    pub fn assert_at_most(&self, wanted: &[(&str, u32)]) {
        for (what, most) in wanted {
            let seen = self.of(what);
            assert!(
                seen <= *most,
                "{what}: {seen} times, more than {most}: {self:#?}"
            );
        }
    }

    /// Leaves the tally of one range of the kind `kind`, and returns the sum of all `ranges` ranges of this test run if none is
    /// missing any more.
    ///
    /// A run is one of nextest's, else a process.
    ///
    /// # Panics
    /// If a file cannot be written or holds something else.
    #[must_use]
    pub fn of_all_ranges(self, kind: &str, first: u64, ranges: usize) -> Option<Self> {
        let run = std::env::var("NEXTEST_RUN_ID");
        let run = run.unwrap_or_else(|_| std::process::id().to_string());
        let dir = temporary_dir().join("tallies").join(run).join(kind);
        self.leave(&dir, first);
        let tallies: Option<Vec<Self>> = file_names(&dir)
            .into_iter()
            .filter(|path| path.extension().is_some_and(|end| end == "json"))
            .map(|path| Self::read(&path))
            .collect();
        // A range that finished at the same moment may have judged the sum and removed the files.
        let tallies = tallies.filter(|all| all.len() == ranges)?;
        let _ = fs::remove_dir_all(&dir);
        let mut sum = Self::default();
        tallies.iter().for_each(|tally| sum.add_all(tally));
        Some(sum)
    }

    fn leave(&self, dir: &Path, first: u64) {
        let fail = |error| panic!("{}: {error}", dir.display());
        fs::create_dir_all(dir).unwrap_or_else(fail);
        let text = serde_json::to_string(&self.0).unwrap_or_else(|error| panic!("{error}"));
        let unfinished = dir.join(format!("{first}.part"));
        fs::write(&unfinished, text).unwrap_or_else(fail);
        fs::rename(&unfinished, dir.join(format!("{first}.json"))).unwrap_or_else(fail);
    }

    fn read(path: &Path) -> Option<Self> {
        let text = fs::read_to_string(path).ok()?;
        let counts = serde_json::from_str(&text);
        Some(Self(counts.unwrap_or_else(|error| {
            panic!("{}: {error}", path.display())
        })))
    }
}

/// Cargo's folder for files of integration tests, beside the running test executable (`target/PROFILE/deps/NAME`).
fn temporary_dir() -> PathBuf {
    let executable = std::env::current_exe().unwrap_or_else(|error| panic!("{error}"));
    executable
        .ancestors()
        .nth(3)
        .map_or_else(std::env::temp_dir, |target| target.join("tmp"))
}

fn file_names(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::Tally;

    fn one(what: &str) -> Tally {
        let mut tally = Tally::default();
        tally.add(what, 1);
        tally
    }

    #[test]
    fn only_the_last_seed_range_checks_the_sum() {
        let kind = "only_the_last_seed_range_checks_the_sum";
        assert_eq!(one("a").of_all_ranges(kind, 0, 3), None);
        assert_eq!(one("b").of_all_ranges(kind, 10, 3), None);
        let sum = one("a").of_all_ranges(kind, 20, 3).unwrap();
        assert_eq!((sum.of("a"), sum.of("b"), sum.of("c")), (2, 1, 0));
    }

    #[test]
    fn counts_outside_their_bounds_fail() {
        let tally = one("a");
        tally.assert_at_least(&[("a", 1)]);
        tally.assert_at_most(&[("a", 1)]);
        assert!(std::panic::catch_unwind(|| tally.assert_at_least(&[("a", 2)])).is_err());
        assert!(std::panic::catch_unwind(|| tally.assert_at_most(&[("a", 0)])).is_err());
    }
}
