//! Runs the program, with a temporary directory.

#![allow(unreachable_pub, reason = "shared by test modules")]
#![expect(clippy::unwrap_used, reason = "a failing helper fails its test")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Directory of one test, removed when dropped.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("cli-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn file(&self, name: &str, content: &str) -> String {
        std::fs::write(self.0.join(name), content).unwrap();
        self.path(name)
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).to_string_lossy().into_owned()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn program(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ferrosm"));
    command.args(args).stdin(Stdio::null());
    command
}

/// Runs the program; returns exit status, standard output and standard error.
pub(crate) fn run_ferrosm(args: &[&str]) -> (Option<i32>, String, String) {
    let out: Output = program(args).output().unwrap();
    let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
    (out.status.code(), text(&out.stdout), text(&out.stderr))
}
