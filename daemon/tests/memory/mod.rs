//! A store in memory, for tests of replication.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use ferrosm::replication::{CopyError, Everything, Position, Record, WarmCopy};
use ferrosm_core::kept::{Batch, Change, Key, Kind};

/// Only a broken test waits so long.
pub(crate) const GUARD: Duration = Duration::from_secs(60);

type Contents = (Option<Position>, BTreeMap<Key, Box<[u8]>>);

/// A store in memory.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    now: Mutex<Contents>,
    /// How often everything was replaced.
    pub(crate) replaced: AtomicUsize,
    /// Calls that are still to fail.
    pub(crate) failures: AtomicUsize,
}

impl Memory {
    pub(crate) fn contents(&self) -> MutexGuard<'_, Contents> {
        self.now.lock().unwrap()
    }

    pub(crate) fn records(&self) -> BTreeMap<Key, Box<[u8]>> {
        self.contents().1.clone()
    }

    fn fails(&self) -> Result<(), CopyError> {
        let fewer = |n: usize| n.checked_sub(1);
        match self
            .failures
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, fewer)
        {
            Ok(_) => Err(CopyError("the disk is full".to_owned())),
            Err(_) => Ok(()),
        }
    }
}

impl WarmCopy for Memory {
    fn position(&self) -> Option<Position> {
        self.contents().0
    }

    fn everything(&self) -> Result<Everything, CopyError> {
        let now = self.contents();
        let (at, records) = &*now;
        let records = records
            .iter()
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect();
        Ok(Everything { at: *at, records })
    }

    fn apply(&self, at: Position, batches: &[Batch]) -> Result<(), CopyError> {
        self.fails()?;
        let mut now = self.contents();
        for change in batches.iter().flat_map(|batch| &batch.changes) {
            match change {
                Change::Clear(kind) => now.1.retain(|key, _| key.kind() != Some(*kind)),
                Change::Put(key, value) => drop(now.1.insert(key.clone(), value.clone())),
                Change::Remove(key) => drop(now.1.remove(key)),
            }
        }
        now.0 = Some(at);
        Ok(())
    }

    fn replace(&self, at: Position, records: Vec<Record>) -> Result<(), CopyError> {
        self.fails()?;
        *self.contents() = (Some(at), records.into_iter().collect());
        self.replaced.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

/// A record.
pub(crate) fn put(key: u32, value: u32) -> Change {
    let key = Key::new(Kind::Service, &[&key.to_be_bytes()]);
    Change::Put(key, value.to_be_bytes().into())
}

/// Waits for something that becomes true.
pub(crate) fn until(what: &str, is: impl Fn() -> bool) {
    let began = Instant::now();
    while !is() {
        assert!(began.elapsed() < GUARD, "never: {what}");
        std::thread::yield_now();
    }
}
