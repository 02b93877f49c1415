//! Programs that tests start, with deadlines, output files, and memory and CPU usage from `/proc`.
//!
//! A [`Running`] program is killed when its test ends, even if the test process itself is killed
//! (`setpriv --pdeathsig`). All waits have deadlines.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Poll interval of waiting loops.
pub const POLL: Duration = Duration::from_millis(2);

/// Clock ticks per second in `/proc/PID/stat`: 100 on all common Linux builds.
const TICKS_PER_SECOND: u64 = 100;

/// Resource usage of a program, sampled from `/proc` while it runs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    /// Peak resident memory in KiB.
    pub peak_kib: u64,
    /// CPU time in user mode.
    pub user: Duration,
    /// CPU time in the kernel.
    pub system: Duration,
    /// Wall clock time.
    pub wall: Duration,
}

impl Usage {
    fn sample(&mut self, pid: u32) {
        if let Ok(status) = fs::read_to_string(format!("/proc/{pid}/status")) {
            let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let kib = peak.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
            self.peak_kib = self.peak_kib.max(kib.unwrap_or(0));
        }
        if let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) {
            // The second field is the program's name in parentheses, which may contain blanks.
            let Some((_, rest)) = stat.rsplit_once(')') else {
                return;
            };
            let mut fields = rest.split_whitespace().skip(11);
            let mut ticks = || fields.next().and_then(|field| field.parse::<u64>().ok());
            if let (Some(user), Some(system)) = (ticks(), ticks()) {
                self.user = Duration::from_millis(user * 1000 / TICKS_PER_SECOND);
                self.system = Duration::from_millis(system * 1000 / TICKS_PER_SECOND);
            }
        }
    }
}

/// A program that has ended.
#[derive(Debug)]
pub struct Finished {
    /// The command line, for messages.
    pub command: String,
    pub status: ExitStatus,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// Resource usage.
    pub usage: Usage,
}

impl Finished {
    /// Asserts that the exit status is 0.
    ///
    /// # Panics
    /// With [`Finished::describe`], if it is not.
    #[must_use]
    pub fn expect_success(self) -> Self {
        assert!(self.status.success(), "{}", self.describe());
        self
    }

    /// Command, exit status and the last lines of the output.
    #[must_use]
    pub fn describe(&self) -> String {
        format!(
            "`{}` ended with {}\n-- stdout, last lines\n{}\n-- stderr, last lines\n{}",
            self.command,
            self.status,
            last_lines(&self.stdout),
            last_lines(&self.stderr),
        )
    }
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}

/// Signals that tests send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// SIGHUP: reload the configuration.
    Hangup,
    /// SIGUSR1: ignored; OpenSM reopens its log.
    User1,
    /// SIGTERM: stop cleanly.
    Terminate,
    /// SIGINT, as sent by ctrl-C.
    Interrupt,
    /// SIGKILL.
    Kill,
    /// SIGSTOP: suspend.
    Stop,
    /// SIGCONT: resume.
    Continue,
}

impl Signal {
    fn name(self) -> &'static str {
        match self {
            Self::Hangup => "HUP",
            Self::User1 => "USR1",
            Self::Terminate => "TERM",
            Self::Interrupt => "INT",
            Self::Kill => "KILL",
            Self::Stop => "STOP",
            Self::Continue => "CONT",
        }
    }
}

/// A program to start, with arguments and environment.
#[derive(Debug)]
pub struct Launch {
    program: PathBuf,
    args: Vec<String>,
    env: Vec<(String, Option<String>)>,
    stdin_pipe: bool,
}

impl Launch {
    /// A program by path, or by name in PATH and the system's administration directories.
    #[must_use]
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            program: PathBuf::from(program.as_ref()),
            args: Vec::new(),
            env: Vec::new(),
            stdin_pipe: false,
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<S: AsRef<str>>(mut self, args: &[S]) -> Self {
        self.args
            .extend(args.iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl Into<String>) -> Self {
        self.env.push((name.to_owned(), Some(value.into())));
        self
    }

    /// Removes an environment variable.
    #[must_use]
    pub fn env_remove(mut self, name: &str) -> Self {
        self.env.push((name.to_owned(), None));
        self
    }

    /// Connects standard input to a pipe.
    #[must_use]
    pub fn with_stdin_pipe(mut self) -> Self {
        self.stdin_pipe = true;
        self
    }

    /// Starts the program in `dir`, which also gets its output files.
    ///
    /// # Panics
    /// If the program does not exist or cannot be started.
    #[must_use]
    pub fn start(self, dir: &Path) -> Running {
        let words: Vec<String> = std::iter::once(self.program.display().to_string())
            .chain(self.args.iter().cloned())
            .collect();
        let command = words.join(" ");
        let program = crate::programs::paths::find(&self.program);
        let stem = crate::programs::scratch::unique_name(
            &self
                .program
                .file_name()
                .unwrap_or_default()
                .to_string_lossy(),
        );
        let stdout = dir.join(format!("{stem}.out"));
        let stderr = dir.join(format!("{stem}.err"));
        let open = |path: &Path| {
            File::create(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        let mut builder = Command::new(crate::programs::paths::find(Path::new("setpriv")));
        builder
            .args(["--pdeathsig", "KILL"])
            .arg(program)
            .args(&self.args)
            .current_dir(dir)
            .stdin(if self.stdin_pipe {
                Stdio::piped()
            } else {
                Stdio::null()
            })
            .stdout(open(&stdout))
            .stderr(open(&stderr));
        for (name, value) in &self.env {
            match value {
                Some(value) => builder.env(name, value),
                None => builder.env_remove(name),
            };
        }
        let mut child = builder
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start `{command}`: {error}"));
        let stdin_pipe = child.stdin.take();
        Running {
            command,
            child,
            stdin_pipe,
            stdout,
            stderr,
            usage: Usage::default(),
            started: Instant::now(),
        }
    }
}

/// A running program; killed when dropped.
#[derive(Debug)]
pub struct Running {
    command: String,
    child: Child,
    stdin_pipe: Option<ChildStdin>,
    stdout: PathBuf,
    stderr: PathBuf,
    usage: Usage,
    started: Instant,
}

impl Running {
    /// Process ID.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Standard input, if [`Launch::with_stdin_pipe`] was used.
    pub fn stdin(&mut self) -> Option<&mut ChildStdin> {
        self.stdin_pipe.as_mut()
    }

    /// Closes standard input.
    pub fn close_stdin(&mut self) {
        self.stdin_pipe = None;
    }

    /// Standard output so far.
    #[must_use]
    pub fn stdout(&self) -> String {
        read_lossy(&self.stdout)
    }

    /// Standard error so far.
    #[must_use]
    pub fn stderr(&self) -> String {
        read_lossy(&self.stderr)
    }

    /// Exit status, if the program has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.usage.sample(self.child.id());
        self.child
            .try_wait()
            .unwrap_or_else(|error| panic!("{}: {error}", self.command))
    }

    /// Sends a signal; does nothing if the process has ended.
    pub fn signal(&self, signal: Signal) {
        let script = format!("kill -s {} {}", signal.name(), self.child.id());
        // Use the shell's built-in `kill`: not all machines have the program.
        let _ = Command::new("sh")
            .args(["-c", &script])
            .stderr(Stdio::null())
            .status();
    }

    /// Waits until the program ends.
    ///
    /// # Panics
    /// If the program has not ended after `deadline`; it is then killed.
    #[must_use]
    pub fn wait(mut self, deadline: Duration) -> Finished {
        let status = loop {
            if let Some(status) = self.ended() {
                break status;
            }
            assert!(
                self.started.elapsed() < deadline,
                "`{}` has not ended after {deadline:?}\n-- stdout, last lines\n{}\n-- stderr, last lines\n{}",
                self.command,
                last_lines(&self.stdout()),
                last_lines(&self.stderr()),
            );
            thread::sleep(POLL);
        };
        self.usage.wall = self.started.elapsed();
        Finished {
            command: self.command.clone(),
            status,
            stdout: self.stdout(),
            stderr: self.stderr(),
            usage: self.usage,
        }
    }

    /// Sends `signal`, and waits until the program ends.
    ///
    /// # Panics
    /// If the program has not ended `deadline` after the signal.
    #[must_use]
    pub fn stop(mut self, signal: Signal, deadline: Duration) -> Finished {
        self.signal(signal);
        self.started = Instant::now();
        self.wait(deadline)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both calls fail only if the process has been reaped.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_lossy(path: &Path) -> String {
    fs::read(path)
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .unwrap_or_default()
}

/// Calls `attempt` until it succeeds, or `deadline` has passed.
///
/// # Errors
/// The last error of `attempt`.
pub fn poll_until<T>(
    deadline: Duration,
    pause: Duration,
    mut attempt: impl FnMut() -> Result<T, String>,
) -> Result<T, String> {
    let started = Instant::now();
    loop {
        match attempt() {
            Ok(value) => return Ok(value),
            Err(reason) if started.elapsed() >= deadline => {
                return Err(format!("not within {deadline:?}: {reason}"));
            }
            Err(_) => thread::sleep(pause),
        }
    }
}
