//! Containers: an index by hash, and timers that can be cancelled. They allocate only when they
//! grow.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use ferrosm_mad::time::Instant;
use hashbrown::HashTable;
use slab::Slab;

/// Index of a [`Slab`] by file, TID and class.
///
/// Returns candidates with equal hash; the caller compares.
#[derive(Debug, Default)]
pub(super) struct Index(HashTable<(u64, usize)>);

impl Index {
    /// Hash of a key; similar keys have very different hashes.
    pub(super) const fn hash(file: usize, tid: u64, class: u8) -> u64 {
        let key = tid ^ (file as u64) << 32 ^ (class as u64) << 56;
        let mixed = key.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed ^ mixed.rotate_right(32)
    }

    pub(super) fn insert(&mut self, hash: u64, slot: usize) {
        self.0.insert_unique(hash, (hash, slot), |entry| entry.0);
    }

    pub(super) fn remove(&mut self, hash: u64, slot: usize) {
        if let Ok(entry) = self.0.find_entry(hash, |entry| *entry == (hash, slot)) {
            entry.remove();
        }
    }

    /// Slots with a hash, in any order.
    pub(super) fn candidates(&self, hash: u64) -> impl Iterator<Item = usize> + '_ {
        let entries = self.0.iter_hash(hash).filter(move |entry| entry.0 == hash);
        entries.map(|entry| entry.1)
    }
}

/// Identifies a timer that is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TimerKey {
    seq: u64,
    slot: usize,
}

#[derive(Debug)]
struct TimerEntry<T> {
    at: Instant,
    key: TimerKey,
    payload: T,
}

impl<T> PartialEq for TimerEntry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<T> Eq for TimerEntry<T> {}

impl<T> PartialOrd for TimerEntry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for TimerEntry<T> {
    /// The maximum of the heap is the earliest timer.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.key.seq).cmp(&(self.at, self.key.seq))
    }
}

/// Timers, ordered by time and then by creation.
///
/// Cancelled timers remain in the heap until they are more than half of it. The top is never a
/// cancelled timer.
#[derive(Debug)]
pub(super) struct Timers<T> {
    heap: BinaryHeap<TimerEntry<T>>,
    /// By slot: sequence number of its timer.
    slots: Slab<u64>,
    seq: u64,
}

impl<T> Default for Timers<T> {
    fn default() -> Self {
        Self {
            heap: BinaryHeap::new(),
            slots: Slab::new(),
            seq: 0,
        }
    }
}

impl<T> Timers<T> {
    const MIN_CLEANUP_LEN: usize = 64;

    pub(super) fn set(&mut self, at: Instant, payload: T) -> TimerKey {
        self.seq += 1;
        let slot = self.slots.insert(self.seq);
        let key = TimerKey {
            seq: self.seq,
            slot,
        };
        self.heap.push(TimerEntry { at, key, payload });
        key
    }

    pub(super) fn cancel(&mut self, key: TimerKey) {
        if !is_set(&self.slots, key) {
            return;
        }
        self.slots.remove(key.slot);
        self.remove_cancelled_top();
        if self.heap.len() > 2 * self.slots.len() + Self::MIN_CLEANUP_LEN {
            let slots = &self.slots;
            self.heap.retain(|entry| is_set(slots, entry.key));
        }
    }

    fn remove_cancelled_top(&mut self) {
        while let Some(top) = self.heap.peek()
            && !is_set(&self.slots, top.key)
        {
            self.heap.pop();
        }
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|entry| entry.at)
    }

    /// The first timer due at `now`.
    pub(super) fn pop(&mut self, now: Instant) -> Option<T> {
        if self.next()? > now {
            return None;
        }
        let entry = self.heap.pop()?;
        self.slots.remove(entry.key.slot);
        self.remove_cancelled_top();
        Some(entry.payload)
    }
}

fn is_set(slots: &Slab<u64>, key: TimerKey) -> bool {
    slots.get(key.slot) == Some(&key.seq)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// Equivalent to a sorted map.
        #[test]
        fn timers_behave_as_a_sorted_map(steps in prop::collection::vec((0u8..4, 0u64..50), 0..400)) {
            let mut timers = Timers::default();
            let mut model = BTreeMap::new();
            let mut keys = Vec::new();
            for (count, (step, n)) in (0u64..).zip(steps) {
                let at = Instant::from_nanos(n);
                match step {
                    0 | 1 => {
                        keys.push((timers.set(at, count), (at, count)));
                        model.insert((at, count), count);
                    }
                    2 if !keys.is_empty() => {
                        let (key, in_model) = keys[usize::try_from(n).unwrap() % keys.len()];
                        timers.cancel(key);
                        model.remove(&in_model);
                    }
                    _ => {
                        let due = model.first_entry().filter(|e| e.key().0 <= at);
                        prop_assert_eq!(timers.pop(at), due.map(|e| e.remove()));
                    }
                }
                prop_assert_eq!(timers.next(), model.keys().next().map(|key| key.0));
                prop_assert!(timers.heap.len() <= 2 * model.len() + Timers::<u64>::MIN_CLEANUP_LEN);
            }
        }

        /// Equivalent to a map from slot to hash.
        #[test]
        fn index_finds_its_entries(steps in prop::collection::vec((any::<bool>(), 0usize..300, 0u64..40), 0..600)) {
            let mut index = Index::default();
            let mut model = BTreeMap::new();
            for (insert, slot, hash) in steps {
                if insert && !model.contains_key(&slot) {
                    index.insert(hash, slot);
                    model.insert(slot, hash);
                } else if let Some(hash) = model.remove(&slot) {
                    index.remove(hash, slot);
                }
                let mut found: Vec<usize> = index.candidates(hash).collect();
                found.sort_unstable();
                let expected: Vec<usize> =
                    model.iter().filter(|(_, h)| **h == hash).map(|(p, _)| *p).collect();
                prop_assert_eq!(found, expected);
            }
        }
    }
}
