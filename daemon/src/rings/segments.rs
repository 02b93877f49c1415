//! The files of the ring of MADs: `mads-N.pcapng`, each a capture of its own. The oldest is removed
//! when all together exceed their limit.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A ring has at least this number of files, so that it never holds much less than its limit.
const SEGMENTS_MIN: u64 = 8;

/// The number in the name of a file, such as `mads-00000007.pcapng`.
pub(super) fn number_of(name: &str, prefix: &str, suffix: &str) -> Option<u64> {
    let number = name.strip_prefix(prefix)?.strip_suffix(suffix)?;
    number.parse().ok()
}

/// The numbers and lengths of files with such names in a directory, in order.
pub(super) fn numbered_files(
    dir: &Path,
    prefix: &str,
    suffix: &str,
) -> io::Result<VecDeque<(u64, u64)>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        if let Some(number) = name.to_str().and_then(|n| number_of(n, prefix, suffix)) {
            files.push((number, entry.metadata()?.len()));
        }
    }
    files.sort_unstable();
    Ok(files.into())
}

/// Creates a file that only its owner can read.
pub(super) fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).open(path)
}

/// The ring of MADs.
#[derive(Debug)]
pub(super) struct SegmentRing {
    dir: PathBuf,
    /// Bytes of all files.
    limit: u64,
    /// Number and length of the files that are complete.
    complete: VecDeque<(u64, u64)>,
    current: Option<Segment>,
    next: u64,
}

#[derive(Debug)]
struct Segment {
    number: u64,
    file: File,
    len: u64,
}

impl SegmentRing {
    pub(super) const PREFIX: &'static str = "mads-";
    pub(super) const SUFFIX: &'static str = ".pcapng";

    /// With the files of earlier runs.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub(super) fn open(dir: &Path, limit: u64) -> io::Result<Self> {
        let complete = numbered_files(dir, Self::PREFIX, Self::SUFFIX)?;
        Ok(Self {
            dir: dir.to_owned(),
            limit,
            next: complete.back().map_or(1, |(number, _)| number + 1),
            complete,
            current: None,
        })
    }

    /// Writes blocks; a new file begins with `header`.
    ///
    /// # Errors
    /// The file cannot be written; the next call begins a new one.
    pub(super) fn write(&mut self, header: &[u8], blocks: &[u8]) -> io::Result<()> {
        let len = blocks.len() as u64;
        let segment_max = self.limit / SEGMENTS_MIN;
        let is_full = |segment: &Segment| segment.len + len > segment_max;
        if self.current.as_ref().is_some_and(is_full) {
            self.end_segment();
        }
        self.remove_oldest(len + header.len() as u64)?;
        let written = self.append(header, blocks);
        if written.is_err() {
            self.end_segment();
        }
        written
    }

    fn append(&mut self, header: &[u8], blocks: &[u8]) -> io::Result<()> {
        let segment = match &mut self.current {
            Some(segment) => segment,
            None => {
                let number = self.next;
                self.next += 1;
                let file = create_private(&self.path(number))?;
                let segment = self.current.insert(Segment {
                    number,
                    file,
                    len: 0,
                });
                segment.write(header)?;
                segment
            }
        };
        segment.write(blocks)
    }

    fn end_segment(&mut self) {
        if let Some(segment) = self.current.take() {
            self.complete.push_back((segment.number, segment.len));
        }
    }

    /// Removes the oldest files until `len` more bytes fit.
    fn remove_oldest(&mut self, len: u64) -> io::Result<()> {
        while self.len() + len > self.limit
            && let Some((number, _)) = self.complete.pop_front()
        {
            match std::fs::remove_file(self.path(number)) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// Bytes of all files.
    pub(super) fn len(&self) -> u64 {
        let complete: u64 = self.complete.iter().map(|(_, len)| len).sum();
        complete + self.current.as_ref().map_or(0, |segment| segment.len)
    }

    fn path(&self, number: u64) -> PathBuf {
        let name = format!("{}{number:08}{}", Self::PREFIX, Self::SUFFIX);
        self.dir.join(name)
    }
}

impl Segment {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.len += bytes.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_files_are_removed_also_those_of_earlier_runs() {
        let dir = tempfile::tempdir().unwrap();
        let mut written = Vec::new();
        for run in 0..3u8 {
            let mut ring = SegmentRing::open(dir.path(), 8_000).unwrap();
            for block in 0..100u8 {
                ring.write(b"HEAD", &[run, block].repeat(100)).unwrap();
                written.push([run, block]);
                assert!(ring.len() <= 8_000, "{}", ring.len());
            }
        }
        let files = numbered_files(dir.path(), SegmentRing::PREFIX, SegmentRing::SUFFIX).unwrap();
        let total: u64 = files.iter().map(|(_, len)| len).sum();
        assert!((7_000..=8_000).contains(&total), "{files:?}");
        // The newest blocks, without a gap, and each file with its header.
        let mut kept = Vec::new();
        for (number, _) in files {
            let bytes = std::fs::read(dir.path().join(format!("mads-{number:08}.pcapng"))).unwrap();
            let blocks = bytes.strip_prefix(b"HEAD").unwrap();
            kept.extend(blocks.chunks(200).map(|block| [block[0], block[1]]));
        }
        assert_eq!(kept, written[written.len() - kept.len()..]);
    }
}
