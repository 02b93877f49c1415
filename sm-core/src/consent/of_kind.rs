//! One kind of settings: which objects have settings of another SM that wait for consent.

use std::collections::{BTreeMap, BTreeSet};

/// What was found at an object.
pub(super) enum FoundSettings<F> {
    /// It was not read completely.
    Unknown,
    /// Nothing that needs consent.
    Own,
    /// Settings of another SM, which this SM would remove and its configuration does not name.
    Foreign(F),
}

/// The settings of one kind.
#[derive(Debug)]
pub(super) struct KindConsent<K, F> {
    /// Nothing waits, now or later.
    is_given: bool,
    foreign: BTreeMap<K, F>,
    /// Objects whose settings are this SM's.
    own: BTreeSet<K>,
}

impl<K: Ord + Copy, F> KindConsent<K, F> {
    pub(super) const fn new(is_given: bool) -> Self {
        Self {
            is_given,
            foreign: BTreeMap::new(),
            own: BTreeSet::new(),
        }
    }

    pub(super) const fn is_given(&self) -> bool {
        self.is_given
    }

    /// What waits for consent, by object.
    pub(super) const fn foreign(&self) -> &BTreeMap<K, F> {
        &self.foreign
    }

    /// Whether the settings of an object may be written. An object is this SM's own once it may.
    pub(super) fn allows(&mut self, key: K, find: impl FnOnce() -> FoundSettings<F>) -> bool {
        if self.is_given || self.own.contains(&key) {
            return true;
        }
        match find() {
            FoundSettings::Unknown => !self.foreign.contains_key(&key),
            FoundSettings::Own => {
                self.foreign.remove(&key);
                self.own.insert(key);
                true
            }
            FoundSettings::Foreign(settings) => {
                self.foreign.insert(key, settings);
                false
            }
        }
    }

    /// The operator, or an earlier run, consents.
    pub(super) fn give(&mut self) {
        *self = Self::new(true);
    }

    /// Another SM was master since the last comparison: what was found then says nothing.
    pub(super) fn forget_own(&mut self) {
        self.own.clear();
    }

    /// The configuration changed: retains what it does not name.
    pub(super) fn retain(&mut self, is_unnamed: impl FnMut(&K, &mut F) -> bool) {
        self.foreign.retain(is_unnamed);
    }
}
