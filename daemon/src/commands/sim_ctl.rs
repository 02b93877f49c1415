//! `ferrosm sim-ctl`: statements for the server of a simulated fabric, and its answers.
//!
//! A line out, lines back, the last of which is `ok` or `error: ...`; that one is not printed.

use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use crate::cli::SimCtlArgs;
use crate::failure::Failure;
use crate::output;
use crate::simulator::paths;

/// Runs the command.
///
/// # Errors
/// If there is no server, or it refused a line.
pub fn run(args: &SimCtlArgs) -> Result<(), Failure> {
    let path = paths::socket(args.socket.socket.as_deref());
    let mut server = Server::connect(&path)?;
    if !args.statement.is_empty() {
        return server.tell(&args.statement.join(" "))?;
    }
    let stdin = io::stdin();
    let interactive = stdin.is_terminal();
    let mut refused = None;
    for (number, line) in stdin.lock().lines().enumerate() {
        let line = line.map_err(|e| Failure::job(format!("cannot read standard input: {e}")))?;
        if let Err(failure) = server.tell(&line)? {
            if interactive {
                output::print(&format!("{failure}\n"))?;
            } else {
                refused
                    .get_or_insert_with(|| Failure::job(format!("line {}: {failure}", number + 1)));
            }
        }
    }
    refused.map_or(Ok(()), Err)
}

struct Server {
    stream: BufReader<UnixStream>,
}

impl Server {
    fn connect(path: &Path) -> Result<Self, Failure> {
        let stream = UnixStream::connect(path).map_err(|e| no_server(path, &e))?;
        Ok(Self {
            stream: BufReader::new(stream),
        })
    }

    /// Sends a line and prints what comes back. The inner error is the server's refusal.
    fn tell(&mut self, line: &str) -> Result<Result<(), Failure>, Failure> {
        let gone = |e: io::Error| Failure::job(format!("the server is gone: {e}"));
        let text = format!("{}\n", line.replace('\n', " "));
        self.stream
            .get_mut()
            .write_all(text.as_bytes())
            .map_err(gone)?;
        loop {
            let mut answer = String::new();
            if self.stream.read_line(&mut answer).map_err(gone)? == 0 {
                return Err(Failure::job("the server is gone"));
            }
            match answer.trim_end_matches('\n') {
                "ok" => return Ok(Ok(())),
                other => match other.strip_prefix("error: ") {
                    Some(why) => return Ok(Err(Failure::job(why))),
                    None => output::print(&answer)?,
                },
            }
        }
    }
}

/// What to say when nobody listens.
pub fn no_server(path: &Path, error: &io::Error) -> Failure {
    Failure::with_hint(
        format!("no simulated fabric at {}: {error}", path.display()),
        "Start one with `ferrosm sim SPEC`, or name its socket with --socket.",
    )
}
