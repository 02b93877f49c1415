//! `record-runs DIRECTORY` records 50 seeded runs of the simulated world: every MAD in order, with
//! every byte, and every change of a record. `record-runs --compare DIRECTORY` records them again
//! and compares.
//!
//! `record-runs --sms SUITE SEED DIRECTORY` writes a recording of each SM of one run for
//! `ferrosm replay`, also if the run fails.
//!
//! Recorded before a change of the code and compared after it, the runs show how the change affects
//! the SM's behaviour. Each run has a file, `SUITE-SEED.txt`. `record-runs --digests` prints a
//! digest of each run; `tests/seeds/recorded-runs.txt` has the expected ones.
//! Exit status 0: equal, 1: different, or a file cannot be read or written, 2: wrong usage.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program of the tests"
)]

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use ferrosm_tests::lab::recording::{digest, record, record_managers};
use ferrosm_tests::random_runs::masters::{
    self, FIRST_SEED_FOREIGN, FIRST_SEED_HOSTS, FIRST_SEED_PHASES,
};
use ferrosm_tests::random_runs::seeds::Run;
use ferrosm_tests::random_runs::swarm::{self, FIRST_SEED_RARE_FAULTS, FIRST_SEED_VLS};

/// Seeds of each kind, from both suites.
fn runs() -> Vec<(&'static str, u64)> {
    let swarm = [
        0..10,
        FIRST_SEED_RARE_FAULTS + 10..FIRST_SEED_RARE_FAULTS + 20,
        FIRST_SEED_VLS..FIRST_SEED_VLS + 10,
    ];
    let masters = [
        0..8,
        FIRST_SEED_HOSTS..FIRST_SEED_HOSTS + 4,
        FIRST_SEED_FOREIGN..FIRST_SEED_FOREIGN + 4,
        FIRST_SEED_PHASES..FIRST_SEED_PHASES + 4,
    ];
    let swarm = swarm.into_iter().flatten().map(|seed| ("swarm", seed));
    swarm
        .chain(masters.into_iter().flatten().map(|seed| ("masters", seed)))
        .collect()
}

fn recording(suite: &str, seed: u64) -> String {
    record(|| run_seed(suite, seed))
}

fn run_seed(suite: &str, seed: u64) {
    let _ = match suite {
        "swarm" => swarm::run(seed, Run::Checked),
        _ => masters::run(seed, Run::Checked).0,
    };
}

/// Runs a seed, which may fail, and writes a recording for `ferrosm replay` of each manager that
/// was started.
fn write_managers(suite: &str, seed: u64, dir: &Path) -> std::io::Result<()> {
    let recordings = record_managers(|| {
        // A failed run has already printed its message; its recordings are still written.
        let _failed = std::panic::catch_unwind(|| run_seed(suite, seed));
    });
    fs::create_dir_all(dir)?;
    for (i, recording) in recordings.iter().enumerate() {
        fs::write(dir.join(format!("{suite}-{seed}-{i}.rec")), recording)?;
    }
    println!("{} recordings", recordings.len());
    Ok(())
}

/// Describes the first difference between two recordings.
fn difference(before: &str, after: &str) -> Option<String> {
    if before == after {
        return None;
    }
    let lines = before.lines().zip(after.lines());
    let at = lines.enumerate().find(|(_, (a, b))| a != b);
    Some(at.map_or_else(
        || {
            format!(
                "{} lines before, {} now",
                before.lines().count(),
                after.lines().count()
            )
        },
        |(line, (before, after))| {
            format!("line {}:\n  before {before}\n  now    {after}", line + 1)
        },
    ))
}

fn main() -> ExitCode {
    let (flags, paths): (Vec<_>, Vec<_>) = std::env::args()
        .skip(1)
        .partition(|word| word.starts_with("--"));
    if (flags.as_slice(), paths.as_slice()) == (&["--digests".to_owned()], &[]) {
        for (suite, seed) in runs() {
            println!("{suite} {seed} {}", digest(&recording(suite, seed)));
        }
        return ExitCode::SUCCESS;
    }
    if let ([flag], [suite, seed, dir]) = (flags.as_slice(), paths.as_slice())
        && flag == "--sms"
        && let Ok(seed) = seed.parse()
    {
        return match write_managers(suite, seed, Path::new(dir)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{dir}: {error}");
                ExitCode::FAILURE
            }
        };
    }
    let compare = match flags.as_slice() {
        [] => Some(false),
        [flag] if flag == "--compare" => Some(true),
        _ => None,
    };
    let (Some(compare), [dir]) = (compare, paths.as_slice()) else {
        eprintln!(
            "usage: record-runs --digests | --sms SUITE SEED DIRECTORY | [--compare] DIRECTORY"
        );
        return ExitCode::from(2);
    };
    match run(Path::new(dir), compare) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Records all runs, or compares them with their recordings; returns false if a run differs.
fn run(dir: &Path, compare: bool) -> Result<bool, String> {
    if !compare {
        fs::create_dir_all(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    }
    let runs = runs();
    let mut lines = 0;
    let mut different = 0;
    for (suite, seed) in &runs {
        let path = dir.join(format!("{suite}-{seed}.txt"));
        let fail = |error| format!("{}: {error}", path.display());
        let now = recording(suite, *seed);
        lines += now.lines().count();
        if !compare {
            fs::write(&path, now).map_err(fail)?;
            continue;
        }
        let before = fs::read_to_string(&path).map_err(fail)?;
        if let Some(what) = difference(&before, &now) {
            different += 1;
            println!("{suite} seed {seed}, {what}");
        }
    }
    let runs = runs.len();
    if compare {
        println!("{different} of {runs} runs differ, {lines} lines now");
    } else {
        println!("{runs} runs with {lines} lines in {}", dir.display());
    }
    Ok(different == 0)
}
