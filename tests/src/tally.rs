//! Event counts over many seeds: an event that never occurs is not tested.
//!
//! The seeds of one kind are divided into ranges, one test each, which may run in separate
//! processes. Each range writes its counts to a file; the range that finishes last reads all files,
//! and checks the sum. The result does not depend on which range that is.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Counts by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally(BTreeMap<String, u32>);

impl Tally {
    /// Adds `times` to the count of this name.
    pub fn add(&mut self, name: &str, times: u32) {
        if times > 0 {
            *self.0.entry(name.to_owned()).or_default() += times;
        }
    }

    /// Adds all counts of another tally.
    pub fn add_all(&mut self, other: &Self) {
        other.0.iter().for_each(|(name, n)| self.add(name, *n));
    }

    /// The count of this name.
    #[must_use]
    pub fn count_of(&self, name: &str) -> u32 {
        self.0.get(name).copied().unwrap_or(0)
    }

    /// All names and their counts.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u32)> {
        self.0.iter().map(|(name, times)| (name.as_str(), *times))
    }

    /// Asserts a minimum for each count.
    ///
    /// # Panics
    ///
    /// If a count is smaller.
    pub fn assert_at_least(&self, wanted: &[(&str, u32)]) {
        for (name, min) in wanted {
            let seen = self.count_of(name);
            assert!(seen >= *min, "{name}: {seen} times, not {min}: {self:#?}");
        }
    }

    /// Asserts a maximum for each count.
    ///
    /// # Panics
    ///
    /// If a count is larger.
    pub fn assert_at_most(&self, wanted: &[(&str, u32)]) {
        for (name, max) in wanted {
            let seen = self.count_of(name);
            assert!(
                seen <= *max,
                "{name}: {seen} times, more than {max}: {self:#?}"
            );
        }
    }

    /// Writes the counts of one range of kind `kind`; returns the sum of all `ranges` ranges of
    /// this test run when all are complete.
    ///
    /// A test run is one of nextest, or a process.
    ///
    /// # Panics
    ///
    /// If a file cannot be written or parsed.
    #[must_use]
    pub fn of_all_ranges(self, kind: &str, first: u64, ranges: usize) -> Option<Self> {
        let run = std::env::var("NEXTEST_RUN_ID");
        let run = run.unwrap_or_else(|_| std::process::id().to_string());
        let dir = temporary_dir().join("tallies").join(run).join(kind);
        self.write_file(&dir, first);
        let tallies: Option<Vec<Self>> = file_names(&dir)
            .into_iter()
            .filter(|path| path.extension().is_some_and(|end| end == "json"))
            .map(|path| Self::read(&path))
            .collect();
        // A range that finished at the same time may have checked the sum and removed the files.
        let tallies = tallies.filter(|all| all.len() == ranges)?;
        let _ = fs::remove_dir_all(&dir);
        let mut sum = Self::default();
        tallies.iter().for_each(|tally| sum.add_all(tally));
        Some(sum)
    }

    fn write_file(&self, dir: &Path, first: u64) {
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

/// Cargo's directory for files of integration tests, next to the running test executable
/// (`target/PROFILE/deps/NAME`).
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

    fn one(name: &str) -> Tally {
        let mut tally = Tally::default();
        tally.add(name, 1);
        tally
    }

    #[test]
    fn only_the_last_seed_range_checks_the_sum() {
        let kind = "only_the_last_seed_range_checks_the_sum";
        assert_eq!(one("a").of_all_ranges(kind, 0, 3), None);
        assert_eq!(one("b").of_all_ranges(kind, 10, 3), None);
        let sum = one("a").of_all_ranges(kind, 20, 3).unwrap();
        assert_eq!(
            (sum.count_of("a"), sum.count_of("b"), sum.count_of("c")),
            (2, 1, 0)
        );
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
