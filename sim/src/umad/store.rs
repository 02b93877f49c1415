//! Small containers: a slab that reuses its places, an index of them by hash, and timers that can
//! be cancelled. None of them allocates once it has grown.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use ferrosm_mad::time::Instant;

/// Values in places; a freed place is used again.
#[derive(Debug)]
pub(super) struct Slab<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Slab<T> {
    /// Values there.
    pub(super) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    pub(super) fn insert(&mut self, value: T) -> u32 {
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = Some(value);
            return place;
        }
        // The bounds of files and sends keep this far below 2^32.
        let place = u32::try_from(self.places.len()).unwrap_or(u32::MAX);
        self.places.push(Some(value));
        place
    }

    pub(super) fn remove(&mut self, place: u32) -> Option<T> {
        let value = self.places.get_mut(place as usize)?.take()?;
        self.free.push(place);
        Some(value)
    }

    /// Removes without moving the value.
    pub(super) fn discard(&mut self, place: u32) {
        if let Some(slot) = self.places.get_mut(place as usize)
            && slot.is_some()
        {
            *slot = None;
            self.free.push(place);
        }
    }

    /// All values and their places.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (0..)
            .zip(&self.places)
            .filter_map(|(place, value)| Some((place, value.as_ref()?)))
    }

    pub(super) fn get(&self, place: u32) -> Option<&T> {
        self.places.get(place as usize)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, place: u32) -> Option<&mut T> {
        self.places.get_mut(place as usize)?.as_mut()
    }
}

/// Places by a hash of what they hold: chains through a table, without allocations of their own.
///
/// It finds candidates; whoever asks compares. Nothing depends on the order of a chain.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// First place of each chain.
    heads: Vec<u32>,
    /// By place: its hash and the next place.
    links: Vec<(u32, u32)>,
    len: usize,
}

const NOWHERE: u32 = u32::MAX;

impl Index {
    const SMALLEST: usize = 64;

    /// A number that differs in all bits when the key differs in a few.
    pub(super) fn hash(file: u32, tid: u64, class: u8) -> u32 {
        let key = tid ^ u64::from(file) << 32 ^ u64::from(class) << 56;
        let mixed = key.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let [a, b, c, d, ..] = mixed.to_be_bytes();
        u32::from_be_bytes([a, b, c, d])
    }

    const fn bucket(&self, hash: u32) -> usize {
        // The number of heads is a power of two.
        hash as usize & (self.heads.len() - 1)
    }

    pub(super) fn insert(&mut self, hash: u32, place: u32) {
        if self.len >= self.heads.len() {
            self.grow();
        }
        let at = place as usize;
        if self.links.len() <= at {
            self.links.resize(at + 1, (0, NOWHERE));
        }
        let bucket = self.bucket(hash);
        self.links[at] = (hash, self.heads[bucket]);
        self.heads[bucket] = place;
        self.len += 1;
    }

    fn grow(&mut self) {
        let size = (self.heads.len() * 2).max(Self::SMALLEST);
        let old = std::mem::replace(&mut self.heads, vec![NOWHERE; size]);
        for mut place in old {
            while place != NOWHERE {
                let (hash, next) = self.links[place as usize];
                let bucket = self.bucket(hash);
                self.links[place as usize].1 = self.heads[bucket];
                self.heads[bucket] = place;
                place = next;
            }
        }
    }

    pub(super) fn remove(&mut self, hash: u32, place: u32) {
        if self.heads.is_empty() {
            return;
        }
        let bucket = self.bucket(hash);
        let next = self.links[place as usize].1;
        if self.heads[bucket] == place {
            self.heads[bucket] = next;
            self.len -= 1;
            return;
        }
        let mut before = self.heads[bucket];
        while before != NOWHERE {
            if self.links[before as usize].1 == place {
                self.links[before as usize].1 = next;
                self.len -= 1;
                return;
            }
            before = self.links[before as usize].1;
        }
    }

    /// The places whose hash is this one.
    pub(super) fn candidates(&self, hash: u32) -> impl Iterator<Item = u32> + '_ {
        let first = if self.heads.is_empty() {
            NOWHERE
        } else {
            self.heads[self.bucket(hash)]
        };
        let real = |place: u32| (place != NOWHERE).then_some(place);
        std::iter::successors(real(first), move |place| {
            real(self.links[*place as usize].1)
        })
        .filter(move |place| self.links[*place as usize].0 == hash)
    }
}

/// Names a timer that is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TimerKey {
    seq: u64,
    slot: u32,
}

#[derive(Debug)]
struct Entry<T> {
    at: Instant,
    key: TimerKey,
    what: T,
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Entry<T> {
    /// The heap's greatest is the earliest.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.key.seq).cmp(&(self.at, self.key.seq))
    }
}

/// What is due when, ordered by time and then by when it was set.
///
/// Cancelling marks; the heap is cleaned when more than half of it is cancelled. Its top is never
/// a cancelled timer.
#[derive(Debug)]
pub(super) struct Timers<T> {
    heap: BinaryHeap<Entry<T>>,
    /// The timer that is set in each slot; 0 is none.
    slots: Vec<u64>,
    free: Vec<u32>,
    seq: u64,
}

impl<T> Default for Timers<T> {
    fn default() -> Self {
        Self {
            heap: BinaryHeap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            seq: 0,
        }
    }
}

impl<T> Timers<T> {
    const SMALL: usize = 64;

    pub(super) fn set(&mut self, at: Instant, what: T) -> TimerKey {
        self.seq += 1;
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(0);
            u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
        });
        let key = TimerKey {
            seq: self.seq,
            slot,
        };
        self.slots[slot as usize] = key.seq;
        self.heap.push(Entry { at, key, what });
        key
    }

    pub(super) fn cancel(&mut self, key: TimerKey) {
        if !is_set(&self.slots, key) {
            return;
        }
        self.slots[key.slot as usize] = 0;
        self.free.push(key.slot);
        self.clean_top();
        let set = self.slots.len() - self.free.len();
        if self.heap.len() > 2 * set + Self::SMALL {
            let slots = &self.slots;
            self.heap.retain(|entry| is_set(slots, entry.key));
        }
    }

    fn clean_top(&mut self) {
        while let Some(top) = self.heap.peek()
            && !is_set(&self.slots, top.key)
        {
            self.heap.pop();
        }
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|entry| entry.at)
    }

    /// The first that is due at `now`.
    pub(super) fn pop(&mut self, now: Instant) -> Option<T> {
        if self.next()? > now {
            return None;
        }
        let entry = self.heap.pop()?;
        self.slots[entry.key.slot as usize] = 0;
        self.free.push(entry.key.slot);
        self.clean_top();
        Some(entry.what)
    }
}

fn is_set(slots: &[u64], key: TimerKey) -> bool {
    slots[key.slot as usize] == key.seq
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// Against a sorted map: the same timers at the same times in the same order.
        #[test]
        fn timers_are_a_sorted_map(steps in prop::collection::vec((0u8..4, 0u64..50), 0..400)) {
            let mut timers = Timers::default();
            let mut model = BTreeMap::new();
            let mut keys = Vec::new();
            for (count, (what, n)) in (0u64..).zip(steps) {
                let at = Instant::from_nanos(n);
                match what {
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
                prop_assert!(timers.heap.len() <= 2 * model.len() + Timers::<u64>::SMALL);
            }
        }

        /// Against a list of pairs: a place is found under its own hash as long as it is there.
        #[test]
        fn an_index_finds_what_is_in_it(steps in prop::collection::vec((any::<bool>(), 0u32..300, 0u32..40), 0..600)) {
            let mut index = Index::default();
            let mut model = BTreeMap::new();
            for (insert, place, hash) in steps {
                if insert && !model.contains_key(&place) {
                    index.insert(hash, place);
                    model.insert(place, hash);
                } else if let Some(hash) = model.remove(&place) {
                    index.remove(hash, place);
                }
                let mut found: Vec<u32> = index.candidates(hash).collect();
                found.sort_unstable();
                let expected: Vec<u32> =
                    model.iter().filter(|(_, h)| **h == hash).map(|(p, _)| *p).collect();
                prop_assert_eq!(found, expected);
            }
        }
    }
}
