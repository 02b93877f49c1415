//! Reads `store.redb` without changing it, also while a subnet manager writes it. Repairs are made
//! in memory.

use core::time::Duration;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use redb::StorageBackend;
use redb::backends::InMemoryBackend;

use crate::crash_marker::CrashMarker;
use crate::file::{FILE, PANICKED, StoreContents, StoreError, open_in, read_contents, unreadable};

/// Chunk size for reading the file into memory.
const CHUNK: usize = 1 << 20;
/// Attempts to copy a file while another process writes it.
const COPY_ATTEMPTS: u32 = 20;
/// Time between two attempts.
const COPY_RETRY: Duration = Duration::from_millis(50);
/// Bytes of redb's header, which each commit changes.
const HEADER: usize = 320;

/// Reads a file that no process writes.
pub(crate) fn read_unused(dir: &Path) -> Result<StoreContents, StoreError> {
    let path = dir.join(FILE);
    let Some(mut file) = open_existing(&path)? else {
        return Ok(StoreContents::default());
    };
    if CrashMarker::new(&path).is_marked() {
        return unreadable(PANICKED);
    }
    match file.try_lock_shared() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(StoreError::Busy),
        Err(TryLockError::Error(e)) => return Err(StoreError::Io(e)),
    }
    read_copy(in_memory(&mut file).map_err(StoreError::Io)?)
}

/// Reads the last committed batch of a file that another process writes; `None` if a batch was
/// committed during each attempt.
///
/// redb writes a batch to unused pages, then the header. If the header has not changed meanwhile,
/// the copy has all pages of the last batch, like the file of a killed process.
pub(crate) fn read_in_use(dir: &Path) -> Result<Option<StoreContents>, StoreError> {
    let Some(mut file) = open_existing(&dir.join(FILE))? else {
        return Ok(Some(StoreContents::default()));
    };
    for attempt in 0..COPY_ATTEMPTS {
        if attempt > 0 {
            std::thread::sleep(COPY_RETRY);
        }
        if let Some(copy) = unchanged_copy(&mut file).map_err(StoreError::Io)? {
            return read_copy(copy).map(Some);
        }
    }
    Ok(None)
}

/// A copy of the file, unless a batch was committed meanwhile.
fn unchanged_copy(file: &mut File) -> io::Result<Option<InMemoryBackend>> {
    let before = header(file)?;
    let copy = in_memory(file)?;
    let is_unchanged = before.is_some() && header(file)? == before;
    Ok(is_unchanged.then_some(copy))
}

/// The header; `None` while the file is being created.
fn header(file: &mut File) -> io::Result<Option<[u8; HEADER]>> {
    let mut header = [0; HEADER];
    file.rewind()?;
    match file.read_exact(&mut header) {
        Ok(()) => Ok(Some(header)),
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(e) => Err(e),
    }
}

fn open_existing(path: &Path) -> Result<Option<File>, StoreError> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(StoreError::Io(e)),
    }
}

fn read_copy(copy: InMemoryBackend) -> Result<StoreContents, StoreError> {
    let read = AssertUnwindSafe(|| open_in(copy).and_then(|database| read_contents(&database)));
    catch_unwind(read).unwrap_or_else(|_| unreadable("it cannot be read"))
}

fn in_memory(file: &mut File) -> io::Result<InMemoryBackend> {
    let backend = InMemoryBackend::new();
    file.rewind()?;
    let mut chunk = vec![0; CHUNK];
    let mut len = 0;
    loop {
        let bytes = match file.read(&mut chunk) {
            Ok(0) => return Ok(backend),
            Ok(count) => &chunk[..count],
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        let at = len;
        len += u64::try_from(bytes.len()).unwrap_or(0);
        backend.set_len(len)?;
        backend.write(at, bytes)?;
    }
}

#[cfg(test)]
mod tests {
    use ferrosm_core::records::{RecordBatch, RecordChange, RecordKind};

    use super::*;
    use crate::StateDir;

    /// A copy during which a batch was committed may mix pages of several batches.
    #[test]
    fn each_commit_changes_the_header() {
        let dir = tempfile::tempdir().unwrap();
        let mut state = StateDir::open(dir.path()).unwrap();
        let mut file = File::open(dir.path().join(FILE)).unwrap();
        let mut headers = vec![header(&mut file).unwrap().unwrap()];
        for _ in 0..4 {
            let changes = vec![RecordChange::Clear(RecordKind::Lid)];
            state.commit(&RecordBatch { changes }).unwrap();
            headers.push(header(&mut file).unwrap().unwrap());
            assert!(unchanged_copy(&mut file).unwrap().is_some());
        }
        headers.sort_unstable();
        headers.dedup();
        assert_eq!(headers.len(), 5);
    }
}
