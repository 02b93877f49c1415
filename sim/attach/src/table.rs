//! File descriptors of simulated devices. A lookup of any other descriptor is one atomic load.
//!
//! Owns the opened devices; a call in progress keeps its device alive.

use std::collections::BTreeMap;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use crate::device::Umad;

/// Descriptors from this number on are never simulated.
const LIMIT: usize = 1 << 16;

static MARKS: [AtomicBool; LIMIT] = [const { AtomicBool::new(false) }; LIMIT];
static OPEN: AtomicUsize = AtomicUsize::new(0);
static FILES: RwLock<BTreeMap<RawFd, Arc<Umad>>> = RwLock::new(BTreeMap::new());

fn mark(fd: RawFd) -> Option<&'static AtomicBool> {
    MARKS.get(usize::try_from(fd).ok()?)
}

/// Whether any descriptor is of a simulated device.
pub(crate) fn has_any() -> bool {
    OPEN.load(Ordering::Relaxed) > 0
}

/// Whether a descriptor is of a simulated device; cheap.
pub(crate) fn is_simulated(fd: RawFd) -> bool {
    mark(fd).is_some_and(|mark| mark.load(Ordering::Acquire))
}

/// The device of a descriptor.
pub(crate) fn find(fd: RawFd) -> Option<Arc<Umad>> {
    if !is_simulated(fd) {
        return None;
    }
    let files = FILES.read().unwrap_or_else(PoisonError::into_inner);
    files.get(&fd).cloned()
}

/// Makes `fd` refer to `umad`. Returns false if the number is too large.
pub(crate) fn insert(fd: RawFd, umad: Arc<Umad>) -> bool {
    let Some(mark) = mark(fd) else {
        return false;
    };
    remove(fd);
    umad.descriptors.fetch_add(1, Ordering::AcqRel);
    let mut files = FILES.write().unwrap_or_else(PoisonError::into_inner);
    files.insert(fd, umad);
    OPEN.store(files.len(), Ordering::Relaxed);
    mark.store(true, Ordering::Release);
    true
}

/// Handles the close of `fd`.
pub(crate) fn remove(fd: RawFd) {
    if !is_simulated(fd) {
        return;
    }
    let umad = {
        let mut files = FILES.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(mark) = mark(fd) {
            mark.store(false, Ordering::Release);
        }
        let umad = files.remove(&fd);
        OPEN.store(files.len(), Ordering::Relaxed);
        umad
    };
    if let Some(umad) = umad
        && umad.descriptors.fetch_sub(1, Ordering::AcqRel) == 1
    {
        umad.close_connection();
    }
}

/// Handles the duplication of `old` to `new`.
pub(crate) fn duplicate(old: RawFd, new: RawFd) {
    match find(old) {
        Some(_) if old == new => {}
        Some(umad) => {
            insert(new, umad);
        }
        None => remove(new),
    }
}
