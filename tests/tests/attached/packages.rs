//! The Debian packages in a clean Debian root: `tests/clients/package-scenario.sh` installs them,
//! runs the command of the unit on a simulated fabric, takes over from OpenSM, upgrades and purges.
//!
//! The packages have the programs of the test run; `scripts/package` without `--built` makes those
//! of a release.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test helpers")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ferrosm_tests::programs::paths::{self, workspace};
use ferrosm_tests::programs::process::Launch;
use ferrosm_tests::programs::scratch::Scratch;

/// Upper bound for building the packages and the root, reached only on failure.
const GUARD: Duration = Duration::from_secs(600);
/// What the scenario needs beside the essential packages.
const PACKAGES: &str = "libibumad3,libibverbs1,opensm,passwd,systemd";

/// Builds the packages, with this version instead of their own, and copies them to `dir`.
fn build_packages(scratch: &Scratch, dir: &Path, version: Option<&str>) {
    let program = paths::ferrosm().display().to_string();
    let library = std::env::var("FERROSM_ATTACH_LIB").unwrap_or_else(|_| {
        let release = workspace().join("target/release/libferrosm_attach.so");
        release.display().to_string()
    });
    let mut arguments = vec!["--built", &program, &library];
    arguments.extend(version);
    let built = Launch::new(workspace().join("scripts/package"))
        .args(&arguments)
        .start(scratch.path())
        .wait(GUARD)
        .expect_success();
    fs::create_dir_all(dir).unwrap();
    let packages: Vec<&str> = built
        .stdout
        .lines()
        .filter(|l| l.ends_with(".deb"))
        .collect();
    assert!(!packages.is_empty(), "{}", built.describe());
    for package in packages.into_iter().map(Path::new) {
        fs::copy(package, dir.join(package.file_name().unwrap())).unwrap();
    }
}

/// The package sources of this machine.
fn sources() -> PathBuf {
    let candidates = [
        "/etc/apt/sources.list.d/debian.sources",
        "/etc/apt/sources.list",
    ];
    let is_used = |path: &PathBuf| fs::metadata(path).is_ok_and(|file| file.len() > 0);
    candidates
        .iter()
        .map(PathBuf::from)
        .find(is_used)
        .expect("no package sources in /etc/apt")
}

/// The name of the Debian release of this machine, such as `bookworm`.
fn release() -> String {
    let text = fs::read_to_string("/etc/os-release").unwrap();
    let name = text
        .lines()
        .find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    name.expect("a Debian release").to_owned()
}

#[test]
fn packages_serve_a_fabric_from_installation_to_purge() {
    let scratch = Scratch::new("packages");
    let packages = scratch.dir("packages");
    build_packages(&scratch, &packages.join("2"), Some("99.0-1"));
    build_packages(&scratch, &packages.join("1"), None);
    let scenario = workspace().join("tests/clients/package-scenario.sh");
    let hook = |text: String| format!("--customize-hook={text}");
    let ran = Launch::new("mmdebstrap")
        .args(&["--quiet", "--variant=essential", "--format=null"])
        .args(&[format!("--include={PACKAGES}")])
        .args(&[
            "--aptopt=Acquire::Languages \"none\"",
            "--dpkgopt=path-exclude=/usr/share/locale/*",
        ])
        .args(&[
            hook(format!(
                "copy-in {} {} /",
                packages.display(),
                scenario.display()
            )),
            hook("chroot \"$1\" sh /package-scenario.sh".to_owned()),
        ])
        .args(&[release(), "-".to_owned(), sources().display().to_string()])
        .start(scratch.path())
        .wait(GUARD);
    let ran = ran.expect_success();
    assert!(
        ran.stdout.contains("== done") || ran.stderr.contains("== done"),
        "{}",
        ran.describe()
    );
}
