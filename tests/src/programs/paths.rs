//! Paths of programs: those of Debian's packages, and the `ferrosm` under test.
//!
//! A missing program fails the test, with a message that says how to install it.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// Directories of administration programs, which are often missing in the PATH of ordinary users.
const EXTRA_DIRS: [&str; 3] = ["/usr/sbin", "/sbin", "/usr/local/sbin"];

/// The full path of a program, from its name or path.
///
/// # Panics
/// If the program does not exist.
#[must_use]
pub fn find(program: &Path) -> PathBuf {
    if program.components().count() > 1 {
        assert!(program.is_file(), "{} does not exist", program.display());
        return program.to_owned();
    }
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .chain(EXTRA_DIRS.iter().map(PathBuf::from))
        .map(|dir| dir.join(program))
        .find(|candidate| candidate.is_file())
        .unwrap_or_else(|| {
            panic!(
                "the program {} is not installed; scripts/test --install installs it",
                program.display()
            )
        })
}

/// The `ferrosm` under test: `FERROSM_BIN`, or the newest build in the target directory of this
/// test.
///
/// # Panics
/// If there is no build.
#[must_use]
pub fn ferrosm() -> PathBuf {
    if let Some(path) = env::var_os("FERROSM_BIN") {
        let path = PathBuf::from(path);
        assert!(
            path.is_file(),
            "FERROSM_BIN names {}, which does not exist",
            path.display()
        );
        return path;
    }
    let test = env::current_exe().unwrap_or_else(|error| panic!("no path of this test: {error}"));
    // target/PROFILE/deps/NAME-HASH
    let target = test
        .ancestors()
        .nth(3)
        .unwrap_or_else(|| Path::new("target"));
    ["release", "debug"]
        .iter()
        .map(|profile| target.join(profile).join("ferrosm"))
        .filter_map(|candidate| {
            let built = candidate.metadata().and_then(|m| m.modified()).ok()?;
            Some((built, candidate))
        })
        .max()
        .map(|(_, newest)| newest)
        .unwrap_or_else(|| {
            panic!(
                "no ferrosm in {}: run scripts/test, or `cargo build --release -p ferrosm` first",
                target.display()
            )
        })
}

/// The library that connects libibumad programs to ibsim instead of the kernel.
///
/// # Panics
/// If ibsim-utils is not installed.
#[must_use]
pub fn umad2sim() -> PathBuf {
    let script = find(Path::new("ibsim-run"));
    let text =
        fs::read_to_string(&script).unwrap_or_else(|error| panic!("{}: {error}", script.display()));
    let library = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("sim_so="));
    let library = PathBuf::from(library.unwrap_or_default().trim_matches('"'));
    assert!(
        library.is_file(),
        "{} names no existing umad2sim library",
        script.display()
    );
    library
}

/// The root directory of the workspace.
#[must_use]
pub fn workspace() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_owned()
}

/// The directory of real fabrics next to the workspace, if it exists.
#[must_use]
pub fn shared_topologies() -> Option<PathBuf> {
    let folder = workspace().join("../shared/topologies");
    folder.is_dir().then_some(folder)
}
