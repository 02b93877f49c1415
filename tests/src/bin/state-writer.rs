//! `state-writer DIRECTORY`: writes numbered changes to a state directory until it is killed, and
//! prints which of them are durable.
//!
//! Started and killed by the test `state_killed`.

#![allow(
    clippy::expect_used,
    clippy::print_stderr,
    reason = "a program of the tests"
)]

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use ferrosm_store::{PersistRequest, StateDir};
use ferrosm_tests::lab::record_changes::{changes, last_change};

/// Maximum number of changes that are not yet durable.
const IN_FLIGHT: usize = 64;

fn main() -> ExitCode {
    let Some(dir) = std::env::args_os().nth(1) else {
        eprintln!("usage: state-writer DIRECTORY");
        return ExitCode::from(2);
    };
    let dir = StateDir::open(Path::new(&dir)).expect("state directory opened");
    let mut n = last_change(&dir);
    let writer = dir.writer().expect("writer thread started");
    let mut waiting: BTreeMap<u64, u64> = BTreeMap::new();
    let mut out = std::io::stdout();
    loop {
        while waiting.len() < IN_FLIGHT {
            n += 1;
            let ticket = writer.submit(PersistRequest::Updates(changes(n)));
            waiting.insert(ticket.expect("ticket"), n);
        }
        let reached = writer.durability().durable_ticket();
        let remaining = waiting.split_off(&(reached + 1));
        if let Some((_, durable)) = core::mem::replace(&mut waiting, remaining).pop_last() {
            let printed = writeln!(out, "durable {durable}").and_then(|()| out.flush());
            // The test has ended, and cannot kill this process.
            if printed.is_err() {
                return ExitCode::SUCCESS;
            }
        } else {
            std::thread::yield_now();
        }
    }
}
