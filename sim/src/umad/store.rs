//! Two small containers: a slab that reuses its places, and timers that can be cancelled.

use std::collections::BTreeMap;

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

    pub(super) fn get(&self, place: u32) -> Option<&T> {
        self.places.get(place as usize)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, place: u32) -> Option<&mut T> {
        self.places.get_mut(place as usize)?.as_mut()
    }
}

/// Names a timer that is set.
pub(super) type TimerKey = (Instant, u64);

/// What is due when, ordered by time and then by when it was set.
#[derive(Debug)]
pub(super) struct Timers<T> {
    due: BTreeMap<TimerKey, T>,
    seq: u64,
}

impl<T> Default for Timers<T> {
    fn default() -> Self {
        Self {
            due: BTreeMap::new(),
            seq: 0,
        }
    }
}

impl<T> Timers<T> {
    pub(super) fn set(&mut self, at: Instant, what: T) -> TimerKey {
        self.seq += 1;
        self.due.insert((at, self.seq), what);
        (at, self.seq)
    }

    pub(super) fn cancel(&mut self, key: TimerKey) {
        self.due.remove(&key);
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.due.first_key_value().map(|((at, _), _)| *at)
    }

    /// The first that is due at `now`.
    pub(super) fn pop(&mut self, now: Instant) -> Option<T> {
        let entry = self.due.first_entry()?;
        (entry.key().0 <= now).then(|| entry.remove())
    }
}
