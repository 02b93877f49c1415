//! `ferrosm handover`: the service that runs here lets another subnet manager be master.

use core::time::Duration;
use std::path::{Path, PathBuf};
use std::time::Instant;

use ferrosm_mad::attr::SmState;

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
    let within = Duration::from_secs(args.wait_s);
    if args.take_over {
        return output::print(&take_over(&dir, &before, within)?);
    }
    if before.state != "Master" {
        return Err(Failure::job(format!(
            "there is nothing to hand over: this subnet manager is {} ({})",
            before.state, before.why
        )));
    }
    say(&dir, Word::HandOver)?;
    let until = Instant::now() + within;
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

/// Lets the service begin with a subnet that it was kept from, or after it was disabled; what came of it.
fn take_over(dir: &Path, before: &Status, within: Duration) -> Result<String, Failure> {
    let (state, why) = (&before.state, &before.why);
    if state == &SmState::Master.to_string() || state == &SmState::Standby.to_string() {
        return Err(Failure::job(format!(
            "there is nothing to take over: this subnet manager is {state} ({why})"
        )));
    }
    let until = Instant::now() + within;
    say(dir, Word::TakeOver)?;
    if state == &SmState::Discovering.to_string() {
        return Ok("it is still discovering, and begins with the subnet whoever has configured it, unless a better one is there\n".to_owned());
    }
    loop {
        let now = say(dir, Word::Status)?;
        if now.changes != before.changes {
            return Ok(format!("now {}: {}\n", now.state, now.why));
        }
        if Instant::now() >= until {
            return Err(Failure::job(format!(
                "after {} s this subnet manager is still {state} ({why})",
                within.as_secs()
            )));
        }
        std::thread::sleep(LOOK);
    }
}

fn directory(args: &HandoverArgs) -> Result<PathBuf, Failure> {
    match &args.state_dir {
        Some(dir) => Ok(dir.clone()),
        None => config::state_dir(args.config.as_deref(), args.fabric.as_deref()),
    }
}

fn say(dir: &Path, word: Word) -> Result<Status, Failure> {
    orders::say(dir, word).map_err(|e| {
        Failure::with_hint(
            format!("no ferrosm answers for {}: {e}", dir.display()),
            "Is it running, with this state directory, and may you write there?",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::Control;
    use crate::orders::{Board, Socket};
    use crate::testing::TempDir;
    use tokio::sync::mpsc;

    /// Whether `--take-over` does something with one that is in this state, and what it says; it is disabled no longer when it is told
    /// so.
    fn told(name: &str, state: &str) -> (bool, String) {
        let dir = TempDir::new(name);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let board = Board::default();
        board.change(|status| {
            (status.state, status.why) = (state.to_owned(), "so it is".to_owned());
        });
        let (control, mut orders) = mpsc::channel(4);
        runtime.block_on(async {
            let _socket = Socket::open(dir.path(), board.clone(), control).unwrap();
            let place = dir.path().to_owned();
            let said = tokio::task::spawn_blocking(move || {
                let before = say(&place, Word::Status).unwrap();
                take_over(&place, &before, Duration::from_secs(20))
            });
            let heard = async {
                while let Some(order) = orders.recv().await {
                    assert_eq!(order, Control::TakeOver);
                    board.change(|status| {
                        (status.state, status.changes) = ("Discovering".to_owned(), 1);
                    });
                }
            };
            tokio::select! {
                said = said => match said.unwrap() {
                    Ok(done) => (true, done),
                    Err(why) => (false, why.to_string()),
                },
                () = heard => unreachable!("the socket is open"),
            }
        })
    }

    /// It was asked, and says what it is now, or that there is nothing to be asked for.
    #[test]
    fn a_takeover_without_effect_is_a_failure() {
        let done = told("take-over-idle", "NotActive");
        assert_eq!(done, (true, "now Discovering: so it is\n".to_owned()));
        for state in ["Master", "Standby"] {
            let why =
                format!("there is nothing to take over: this subnet manager is {state} (so it is)");
            assert_eq!(told("take-over-none", state), (false, why));
        }
        let (done, early) = told("take-over-early", "Discovering");
        assert!(
            done && early.starts_with("it is still discovering"),
            "{early}"
        );
    }
}
