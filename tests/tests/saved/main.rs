//! Saved fabrics in every form that ferrosm processes: one test per check and fabric.
//!
//! Generated fabrics with the irregularities of real ones are always tested. The fabrics saved by
//! real sites and those of ibutils' tests are read from `../shared/topologies`. Without that folder
//! their tests are not listed.

mod checks;
mod directed;
mod fabrics;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};

use checks::CHECKS;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for fabric in fabrics::all() {
        for check in CHECKS.iter().filter(|check| (check.applies)(&fabric)) {
            let name = format!("{}::{}", check.name, fabric.name);
            let run = check.run;
            let fabric = fabric.clone();
            trials.push(Trial::test(name, move || outcome(run(&fabric))));
        }
    }
    if let Some(folder) = ferrosm_tests::programs::paths::shared_topologies() {
        let known = move || outcome(fabrics::check_known_files(&folder));
        trials.push(Trial::test("known_files_exist", known));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn outcome(result: Result<(), String>) -> Result<(), Failed> {
    result.map_err(Failed::from)
}
