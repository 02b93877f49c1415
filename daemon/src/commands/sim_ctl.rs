//! `ferrosm sim-ctl`: sends statements to the server of a simulated fabric and prints the replies.
//!
//! Each statement is a line; its reply ends with `ok` or `error: ...`, which is not printed.

use std::fs;
use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use crate::cli::SimCtlArgs;
use crate::failure::Failure;
use crate::output;
use crate::simulator::main_loop::console;
use crate::simulator::paths;

/// Runs the command.
///
/// # Errors
/// No server, or it rejected a statement. All lines of standard input are executed; the failure
/// lists the rejected ones.
pub fn run(args: &SimCtlArgs) -> Result<(), Failure> {
    if args.statement == ["help"] {
        return output::print(&console::help());
    }
    let path = paths::socket(args.socket.socket.as_deref());
    let mut server = Server::connect(&path)?;
    if !args.statement.is_empty() {
        return server.send(&args.statement.join(" "))?;
    }
    let stdin = io::stdin();
    let interactive = stdin.is_terminal();
    let mut rejected = Vec::new();
    for (number, line) in stdin.lock().lines().enumerate() {
        let line =
            line.map_err(|e| Failure::runtime(format!("cannot read standard input: {e}")))?;
        if let Err(failure) = server.send(&line)? {
            if interactive {
                output::print(&format!("{failure}\n"))?;
            } else {
                rejected.push(format!("line {}: {failure}", number + 1));
            }
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

/// `judge FILE` with an absolute path: the server may run in another directory.
fn with_absolute_path(statement: &str) -> String {
    let file = statement.trim().strip_prefix("judge ").map(str::trim);
    match file.and_then(|file| fs::canonicalize(file).ok()) {
        Some(path) => format!("judge {}", path.display()),
        None => statement.to_owned(),
    }
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

    /// Sends a line and prints the reply. The inner error is the server's rejection.
    fn send(&mut self, line: &str) -> Result<Result<(), Failure>, Failure> {
        let connection_error =
            |e: io::Error| Failure::runtime(format!("connection to the server lost: {e}"));
        let text = format!("{}\n", with_absolute_path(&line.replace('\n', " ")));
        self.stream
            .get_mut()
            .write_all(text.as_bytes())
            .map_err(connection_error)?;
        loop {
            let mut reply = String::new();
            if self
                .stream
                .read_line(&mut reply)
                .map_err(connection_error)?
                == 0
            {
                return Err(Failure::runtime("connection to the server lost"));
            }
            match reply.trim_end_matches('\n') {
                "ok" => return Ok(Ok(())),
                other => match other.strip_prefix("error: ") {
                    Some(error) => return Ok(Err(Failure::runtime(error))),
                    None => output::print(&reply)?,
                },
            }
        }
    }
}

/// Failure if no server listens.
pub fn no_server(path: &Path, error: &io::Error) -> Failure {
    if error.kind() == io::ErrorKind::PermissionDenied {
        return Failure::with_hint(
            format!(
                "cannot open the simulated fabric {}: {error}",
                path.display()
            ),
            "Run the command as the user of the simulator.",
        );
    }
    Failure::with_hint(
        format!("no simulated fabric at {}: {error}", path.display()),
        "Start one with `ferrosm sim SPEC`, or name its socket with --socket.",
    )
}
