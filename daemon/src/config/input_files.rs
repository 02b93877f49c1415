//! The files of a configuration: its own text, and the texts of the input files that it or a flag
//! names, as they were read.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Texts of input files, by absolute path.
pub type InputTexts = BTreeMap<PathBuf, String>;

/// All files of a configuration. Bytes that are not UTF-8 (comments) are replaced.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ConfigFiles {
    /// The configuration file.
    pub toml: String,
    /// The input files.
    pub inputs: InputTexts,
}

impl ConfigFiles {
    /// Size of all texts, in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.toml.len() + self.inputs.values().map(String::len).sum::<usize>()
    }

    /// The texts by absolute path; `path` is that of the configuration file.
    pub fn texts<'a>(&'a self, path: &'a Path) -> impl Iterator<Item = (&'a Path, &'a str)> {
        let inputs = self.inputs.iter();
        inputs
            .map(|(path, text)| (path.as_path(), text.as_str()))
            .chain([(path, self.toml.as_str())])
    }
}

/// Reads input files. A file that is read twice has the same content both times.
#[derive(Debug)]
pub(super) struct InputReader<'a> {
    /// Read in place of the files.
    given: &'a InputTexts,
    read: RefCell<InputTexts>,
}

impl<'a> InputReader<'a> {
    pub(super) fn new(given: &'a InputTexts) -> Self {
        Self {
            given,
            read: RefCell::default(),
        }
    }

    pub(super) fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let path = std::path::absolute(path)?;
        if let Some(text) = self.read.borrow().get(&path) {
            return Ok(text.clone().into_bytes());
        }
        let text = match self.given.get(&path) {
            Some(text) => text.clone(),
            None => text_of(std::fs::read(&path)?),
        };
        let bytes = text.clone().into_bytes();
        self.read.borrow_mut().insert(path, text);
        Ok(bytes)
    }

    /// What was read.
    pub(super) fn into_texts(self) -> InputTexts {
        self.read.into_inner()
    }
}

/// The text of a file.
pub(super) fn text_of(bytes: Vec<u8>) -> String {
    match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    }
}
