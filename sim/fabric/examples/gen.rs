//! Prints a fabric in ibnetdiscover's format:
//! `cargo run -p ferrosm-sim --example gen -- SPEC|FILE > NEW`.
//!
//! `SPEC` is a text for [`ferrosm_sim::generate::from_spec`]; `FILE` is in any format that
//! [`ferrosm_sim::ibnet::read`] supports. ibsim can load the result.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line program"
)]

use std::process::ExitCode;

use ferrosm_sim::{generate, ibnet};

fn main() -> ExitCode {
    let Some(text) = std::env::args().nth(1) else {
        eprintln!("usage: gen SPEC|FILE, for example gen 'fat-tree2:36,36,18;sharp;drop=0.05'");
        return ExitCode::from(2);
    };
    let read = match std::fs::read_to_string(&text) {
        Ok(file) => ibnet::read(&file).map_err(|error| format!("{text}: {error}")),
        Err(_) => generate::from_spec(&text).map_err(|error| error.to_string()),
    };
    let spec = match read {
        Ok(spec) => spec,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    let mut out = String::new();
    if ibnet::write(&spec, &mut out).is_err() {
        return ExitCode::FAILURE;
    }
    print!("{out}");
    eprintln!(
        "{} switches, {} CAs, {} links",
        spec.switch_count(),
        spec.ca_count(),
        spec.links.len()
    );
    ExitCode::SUCCESS
}
