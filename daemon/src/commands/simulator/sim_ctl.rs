//! `ferrosm sim-ctl`: sends statements to the server of a simulated fabric and prints the replies.

use std::io::{self, BufRead, IsTerminal};

use ferrosm_sim_server::client::Console;
use ferrosm_sim_server::main_loop::console;
use ferrosm_sim_server::paths;

use super::server_failure;
use crate::cli::SimCtlArgs;
use crate::failure::Failure;
use crate::output;

/// Runs the command.
///
/// # Errors
/// No server, or it rejected a statement. All lines of standard input are executed; the failure
/// lists the rejected ones.
pub(super) fn run(args: &SimCtlArgs) -> Result<(), Failure> {
    if args.statement == ["help"] {
        return output::print(&console::help());
    }
    let path = paths::socket(args.socket.socket.as_deref());
    let mut server = Console::connect(&path).map_err(server_failure)?;
    if !args.statement.is_empty() {
        let rejection = send(&mut server, &args.statement.join(" "))?;
        return rejection.map_or(Ok(()), |reason| Err(Failure::runtime(reason)));
    }
    let stdin = io::stdin();
    let interactive = stdin.is_terminal();
    let mut rejected = Vec::new();
    for (number, line) in stdin.lock().lines().enumerate() {
        let line =
            line.map_err(|e| Failure::runtime(format!("cannot read standard input: {e}")))?;
        let Some(reason) = send(&mut server, &line)? else {
            continue;
        };
        if interactive {
            output::print(&format!("{reason}\n"))?;
        } else {
            rejected.push(format!("line {}: {reason}", number + 1));
        }
    }
    if rejected.is_empty() {
        return Ok(());
    }
    Err(Failure::with_hint(
        rejected.join("\n"),
        "All other lines were executed.",
    ))
}

/// Sends a statement and prints the reply. Returns the reason if the server rejects it.
fn send(server: &mut Console, statement: &str) -> Result<Option<String>, Failure> {
    let (output, rejection) = server.send(statement).map_err(server_failure)?;
    output::print(&output)?;
    Ok(rejection)
}
