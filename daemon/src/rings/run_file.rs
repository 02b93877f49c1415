//! The recording of the current run: `run-N.recording.gz`. Recordings of earlier runs stay as
//! far as there is room.
//!
//! A recording can be replayed from the start of the SM only, so it has the begin
//! of the run: it ends at the limit.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use super::segments::{create_private, numbered_files};

/// Most bytes of a recording before it is compressed: `replay` reads all of them into memory.
const PLAIN_MAX: u64 = 1 << 30;

/// The first bytes of a compressed file.
const GZIP_MAGIC: [u8; 2] = [0x1F, 0x8B];

/// A recording that is being written.
#[derive(Debug)]
pub(super) struct RunFile {
    pub(super) path: PathBuf,
    out: GzEncoder<CountingFile>,
    plain: u64,
    /// Bytes of all recordings.
    limit: u64,
    /// Something was written since the last flush.
    is_dirty: bool,
}

/// Reads a recording, which may be compressed. One without an end is read as far as it goes.
///
/// # Errors
/// The file cannot be read, or is larger than any recording of a service.
pub fn read_recording(path: &Path) -> io::Result<Vec<u8>> {
    let bytes = std::fs::read(path)?;
    if !bytes.starts_with(&GZIP_MAGIC) {
        return Ok(bytes);
    }
    let mut plain = Vec::new();
    let mut gzip = GzDecoder::new(&bytes[..]).take(PLAIN_MAX + 1);
    match gzip.read_to_end(&mut plain) {
        Ok(_) if plain.len() as u64 > PLAIN_MAX => Err(io::Error::other("it is too large")),
        Err(e) if e.kind() != io::ErrorKind::UnexpectedEof => Err(e),
        Ok(_) | Err(_) => Ok(plain),
    }
}

#[derive(Debug)]
struct CountingFile {
    file: File,
    len: u64,
}

impl Write for CountingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.len += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl RunFile {
    pub(super) const PREFIX: &'static str = "run-";
    pub(super) const SUFFIX: &'static str = ".recording.gz";

    /// Creates the file of the next run.
    ///
    /// # Errors
    /// The file cannot be created.
    pub(super) fn create(dir: &Path, limit: u64) -> io::Result<Self> {
        let files = numbered_files(dir, Self::PREFIX, Self::SUFFIX)?;
        let number = files.back().map_or(1, |(number, _)| number + 1);
        let path = path_of(dir, number);
        let file = create_private(&path)?;
        let out = CountingFile { file, len: 0 };
        Ok(Self {
            path,
            out: GzEncoder::new(out, Compression::fast()),
            plain: 0,
            limit,
            is_dirty: false,
        })
    }

    /// Writes entries. Returns `false` if the limit is reached: nothing was written.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn write(&mut self, entries: &[u8]) -> io::Result<bool> {
        let plain = self.plain + entries.len() as u64;
        // Entries never become longer by compression, except by a few bytes.
        let is_full = self.len() + (entries.len() as u64) > self.limit;
        if is_full || plain > PLAIN_MAX {
            return Ok(false);
        }
        self.out.write_all(entries)?;
        self.plain = plain;
        self.is_dirty |= !entries.is_empty();
        Ok(true)
    }

    /// Writes what the compression holds back, so that the file can be read so far.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        match core::mem::take(&mut self.is_dirty) {
            true => self.out.flush(),
            false => Ok(()),
        }
    }

    /// Ends the file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn finish(self) -> io::Result<()> {
        self.out.finish()?.flush()
    }

    /// Removes the oldest recordings of earlier runs until all together fit.
    ///
    /// # Errors
    /// A file cannot be removed.
    pub(super) fn remove_oldest(&self) -> io::Result<()> {
        let Some(dir) = self.path.parent() else {
            return Ok(());
        };
        let mut files = numbered_files(dir, Self::PREFIX, Self::SUFFIX)?;
        let mut total: u64 = files.iter().map(|(_, len)| len).sum();
        while total > self.limit
            && files.len() > 1
            && let Some((number, len)) = files.pop_front()
        {
            std::fs::remove_file(path_of(dir, number))?;
            total -= len;
        }
        Ok(())
    }

    /// Bytes of the file.
    pub(super) fn len(&self) -> u64 {
        self.out.get_ref().len
    }
}

fn path_of(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{}{number:08}{}", RunFile::PREFIX, RunFile::SUFFIX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_end_at_the_limit_and_earlier_ones_make_room() {
        let dir = tempfile::tempdir().unwrap();
        for run in 0..10u8 {
            let mut file = RunFile::create(dir.path(), 64 << 10).unwrap();
            // Does not compress.
            let mut state = u32::from(run) + 1;
            let mut noise = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8
            };
            let mut written = Vec::new();
            loop {
                let entry: Vec<u8> = (0..1000).map(|_| noise()).collect();
                if !file.write(&entry).unwrap() {
                    break;
                }
                written.extend(entry);
                file.flush().unwrap();
                file.remove_oldest().unwrap();
            }
            // What is flushed can be read, although the file has no end.
            assert_eq!(read_recording(&file.path).unwrap(), written);
            assert!(written.len() > 60_000, "{}", written.len());
            file.finish().unwrap();
        }
        let files = numbered_files(dir.path(), RunFile::PREFIX, RunFile::SUFFIX).unwrap();
        assert_eq!(
            files.iter().map(|(number, _)| *number).collect::<Vec<_>>(),
            [10]
        );
    }
}
