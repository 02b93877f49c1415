//! How often what happened, over all seeds of a kind: what is never seen is not proven.

use std::collections::BTreeMap;

/// Numbers by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally(BTreeMap<String, u32>);

impl Tally {
    pub(crate) fn add(&mut self, what: &str, times: u32) {
        if times > 0 {
            *self.0.entry(what.to_owned()).or_default() += times;
        }
    }

    pub(crate) fn add_all(&mut self, other: &Self) {
        other.0.iter().for_each(|(what, n)| self.add(what, *n));
    }

    pub(crate) fn of(&self, what: &str) -> u32 {
        self.0.get(what).copied().unwrap_or(0)
    }

    /// Each of these was seen so often at least.
    pub(crate) fn assert_seen(&self, wanted: &[(&str, u32)]) {
        for (what, least) in wanted {
            let seen = self.of(what);
            assert!(
                seen >= *least,
                "{what}: {seen} times, not {least}: {self:#?}"
            );
        }
    }

    /// Each of these was seen so often at most.
    pub(crate) fn assert_rare(&self, wanted: &[(&str, u32)]) {
        for (what, most) in wanted {
            let seen = self.of(what);
            assert!(
                seen <= *most,
                "{what}: {seen} times, more than {most}: {self:#?}"
            );
        }
    }
}
