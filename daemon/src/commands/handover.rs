//! `ferrosm handover`: the service that runs here lets another subnet manager be master.

use core::time::Duration;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::config;
use crate::cli::HandoverArgs;
use crate::failure::Failure;
use crate::orders::{self, Status, Word};
use crate::output;

/// Time between two looks.
const LOOK: Duration = Duration::from_millis(50);

/// Runs the command.
///
/// # Errors
/// If no service runs there, it is not master, or no other one takes the subnet.
pub fn run(args: &HandoverArgs) -> Result<(), Failure> {
    let dir = directory(args)?;
    let before = say(&dir, Word::Status)?;
    if args.take_over {
        say(&dir, Word::TakeOver)?;
        return output::print("asked\n");
    }
    if before.state != "Master" {
        return Err(Failure::job(format!(
            "there is nothing to hand over: this subnet manager is {} ({})",
            before.state, before.why
        )));
    }
    say(&dir, Word::HandOver)?;
    let until = Instant::now() + Duration::from_secs(args.wait_s);
    let mut last = before.clone();
    while Instant::now() < until {
        last = say(&dir, Word::Status)?;
        if last.state != "Master" {
            return output::print(&format!("now {}: {}\n", last.state, last.why));
        }
        if last.notices != before.notices {
            return Err(Failure::job(last.notice));
        }
        std::thread::sleep(LOOK);
    }
    Err(Failure::job(format!(
        "after {} s this subnet manager is still {}",
        args.wait_s, last.state
    )))
}

fn directory(args: &HandoverArgs) -> Result<PathBuf, Failure> {
    if let Some(dir) = &args.state_dir {
        return Ok(dir.clone());
    }
    let settings =
        config::source(args.config.as_deref(), args.fabric.as_deref())?.settle(|_| {})?;
    let none = || Failure::Usage("no state directory: name one with --state-dir".to_owned());
    settings.state_dir.ok_or_else(none)
}

fn say(dir: &Path, word: Word) -> Result<Status, Failure> {
    orders::say(dir, word).map_err(|e| {
        Failure::with_hint(
            format!("no ferrosm answers for {}: {e}", dir.display()),
            "Is it running, with this state directory, and may you write there?",
        )
    })
}
