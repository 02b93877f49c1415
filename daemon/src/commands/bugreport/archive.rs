//! The archive: a compressed tar file, which only its owner can read, with a list of its contents.

use core::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, Header};

use super::redaction::Redaction;

/// The directory that all files of an archive are in.
const DIR: &str = "ferrosm-bugreport";

/// An archive that is being written. It is removed again unless it is finished.
pub(super) struct Archive {
    path: PathBuf,
    tar: Option<Builder<GzEncoder<File>>>,
    unix_s: u64,
    /// Names of the files, and what they contain.
    contents: Vec<(String, &'static str)>,
    /// What is missing, and why.
    missing: Vec<(&'static str, String)>,
}

impl Archive {
    pub(super) fn create(path: &Path, unix_s: u64) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        let gzip = GzEncoder::new(file, Compression::default());
        Ok(Self {
            path: path.to_owned(),
            tar: Some(Builder::new(gzip)),
            unix_s,
            contents: Vec::new(),
            missing: Vec::new(),
        })
    }

    /// Adds a file as it is.
    pub(super) fn add(&mut self, name: &str, what: &'static str, bytes: &[u8]) -> io::Result<()> {
        self.append(name, bytes)?;
        self.contents.push((name.to_owned(), what));
        Ok(())
    }

    /// Adds a text without keys.
    pub(super) fn add_text(
        &mut self,
        name: &str,
        what: &'static str,
        text: &str,
        redaction: &mut Redaction,
    ) -> io::Result<()> {
        let text = redaction.text(text);
        self.add(name, what, text.as_bytes())
    }

    /// Something is not in the archive.
    pub(super) fn miss(&mut self, what: &'static str, reason: impl Display) {
        self.missing.push((what, reason.to_string()));
    }

    pub(super) fn missing(&self) -> &[(&'static str, String)] {
        &self.missing
    }

    fn append(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut header = Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o600);
        header.set_mtime(self.unix_s);
        match &mut self.tar {
            Some(tar) => tar.append_data(&mut header, format!("{DIR}/{name}"), bytes),
            None => Ok(()),
        }
    }

    /// Adds the list of contents, and ends the archive.
    pub(super) fn finish(mut self, about: &str, redaction: &mut Redaction) -> io::Result<()> {
        let mut readme = format!("{about}\n");
        for (name, what) in &self.contents {
            readme.push_str(&format!("{name}: {what}\n"));
        }
        if !self.missing.is_empty() {
            readme.push_str("\nMissing:\n");
        }
        for (what, reason) in &self.missing {
            readme.push_str(&format!("{what}: {reason}\n"));
        }
        let readme = redaction.text(&readme);
        self.append("README", readme.as_bytes())?;
        let Some(tar) = self.tar.take() else {
            return Ok(());
        };
        let written = tar.into_inner().and_then(GzEncoder::finish);
        let synced = written.and_then(|file| file.sync_all());
        if synced.is_err() {
            // It is not whole.
            let _ = std::fs::remove_file(&self.path);
        }
        synced
    }
}

impl Drop for Archive {
    fn drop(&mut self) {
        if self.tar.is_some() {
            // It is not whole.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
