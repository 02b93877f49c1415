//! Prints a fabric as ibnetdiscover's text: `cargo run -p ferrosm-sim --example gen -- SPEC > FILE`.
//!
//! `SPEC` is what [`ferrosm_sim::generate::from_spec`] reads. ibsim loads the file.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for the terminal"
)]

use std::process::ExitCode;

use ferrosm_sim::{generate, ibnet};

fn main() -> ExitCode {
    let Some(text) = std::env::args().nth(1) else {
        eprintln!("usage: gen SPEC, for example gen 'fat-tree2:36,36,18;sharp;drop=0.05'");
        return ExitCode::from(2);
    };
    let spec = match generate::from_spec(&text) {
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
