//! Event counts of random runs. `scripts/explore` adds up the lines that [`Tally::print`] writes,
//! and reports events that are too rare to be tested.

use std::collections::BTreeMap;

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

    /// Prints a line for each count, with the kind of the runs.
    #[expect(clippy::print_stdout, reason = "scripts/explore reads the lines")]
    pub fn print(&self, kind: &str) {
        for (name, times) in &self.0 {
            println!("counted|{kind}|{name}|{times}");
        }
    }
}
