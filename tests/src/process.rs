//! Programs started by tests: each with a deadline, its output in files, its memory and time read from `/proc`.
//!
//! A [`Running`] belongs to the test that started it and is killed with it, also when the test process itself is
//! killed (`setpriv --pdeathsig`). Nothing here waits without a bound.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How often a waiting loop looks again.
pub const POLL: Duration = Duration::from_millis(2);

/// Kernel clock ticks a second in `/proc/PID/stat`: 100 on every Linux that is not specially built.
const TICKS_PER_SECOND: u64 = 100;

/// What a program took, as far as `/proc` told before it was gone.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    /// Highest resident memory seen, KiB.
    pub peak_kib: u64,
    /// Time in user mode.
    pub user: Duration,
    /// Time in the kernel.
    pub system: Duration,
    /// From start to end.
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
            // The second field is the program's name in parentheses and may hold blanks.
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
    /// How it ended.
    pub status: ExitStatus,
    /// All of its standard output.
    pub stdout: String,
    /// All of its standard error.
    pub stderr: String,
    /// What it took.
    pub usage: Usage,
}

impl Finished {
    /// The same, if it exited with 0.
    ///
    /// # Panics
    /// With the command and the end of its output, if it did not.
    #[must_use]
    pub fn expect_success(self) -> Self {
        assert!(self.status.success(), "{}", self.describe());
        self
    }

    /// Command, status and the last lines of its output.
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
    /// Read the configuration again.
    Hangup,
    /// Stop cleanly.
    Terminate,
    /// What ctrl-C sends.
    Interrupt,
    /// Die now, without a word.
    Kill,
    /// Stand still.
    Stop,
    /// Go on after that.
    Continue,
}

impl Signal {
    fn name(self) -> &'static str {
        match self {
            Self::Hangup => "HUP",
            Self::Terminate => "TERM",
            Self::Interrupt => "INT",
            Self::Kill => "KILL",
            Self::Stop => "STOP",
            Self::Continue => "CONT",
        }
    }
}

/// What to start, and around what.
#[derive(Debug)]
pub struct Launch {
    program: PathBuf,
    args: Vec<String>,
    env: Vec<(String, Option<String>)>,
    console: bool,
}

impl Launch {
    /// A program by name (looked for in PATH and the system's administration directories) or path.
    #[must_use]
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            program: PathBuf::from(program.as_ref()),
            args: Vec::new(),
            env: Vec::new(),
            console: false,
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

    /// Takes an environment variable away.
    #[must_use]
    pub fn env_remove(mut self, name: &str) -> Self {
        self.env.push((name.to_owned(), None));
        self
    }

    /// Gives it a pipe on standard input.
    #[must_use]
    pub fn with_console(mut self) -> Self {
        self.console = true;
        self
    }

    /// Starts it in `dir`; its output goes to files there.
    ///
    /// # Panics
    /// If the program is not there: a missing peer is a failure, not a reason to skip.
    #[must_use]
    pub fn start(self, dir: &Path) -> Running {
        let words: Vec<String> = std::iter::once(self.program.display().to_string())
            .chain(self.args.iter().cloned())
            .collect();
        let command = words.join(" ");
        let program = crate::programs::find(&self.program);
        let stem = crate::scratch::unique_name(
            &self
                .program
                .file_name()
                .unwrap_or_default()
                .to_string_lossy(),
        );
        let (stdout, stderr) = (
            dir.join(format!("{stem}.out")),
            dir.join(format!("{stem}.err")),
        );
        let open = |path: &Path| {
            File::create(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        let mut builder = Command::new(crate::programs::find(Path::new("setpriv")));
        builder
            .args(["--pdeathsig", "KILL"])
            .arg(program)
            .args(&self.args)
            .current_dir(dir)
            .stdin(if self.console {
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
        let console = child.stdin.take();
        Running {
            command,
            child,
            console,
            stdout,
            stderr,
            usage: Usage::default(),
            started: Instant::now(),
        }
    }
}

/// A program that runs; killed when dropped.
#[derive(Debug)]
pub struct Running {
    command: String,
    child: Child,
    console: Option<ChildStdin>,
    stdout: PathBuf,
    stderr: PathBuf,
    usage: Usage,
    started: Instant,
}

impl Running {
    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its standard input, if it was given one.
    pub fn console(&mut self) -> Option<&mut ChildStdin> {
        self.console.as_mut()
    }

    /// Ends its standard input.
    pub fn close_console(&mut self) {
        self.console = None;
    }

    /// What it has written to standard output so far.
    #[must_use]
    pub fn stdout(&self) -> String {
        read_lossy(&self.stdout)
    }

    /// What it has written to standard error so far.
    #[must_use]
    pub fn stderr(&self) -> String {
        read_lossy(&self.stderr)
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.usage.sample(self.child.id());
        self.child
            .try_wait()
            .unwrap_or_else(|error| panic!("{}: {error}", self.command))
    }

    /// Sends a signal; a process that is gone already is left alone.
    pub fn signal(&self, signal: Signal) {
        let script = format!("kill -s {} {}", signal.name(), self.child.id());
        // The shell's own `kill`: the program of that name is not on every machine.
        let _ = Command::new("sh")
            .args(["-c", &script])
            .stderr(Stdio::null())
            .status();
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// If it has not ended after `deadline`; it is killed then.
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

    /// Asks it to end by `signal` and waits.
    ///
    /// # Panics
    /// If it has not ended `deadline` after the signal.
    #[must_use]
    pub fn stop(mut self, signal: Signal, deadline: Duration) -> Finished {
        self.signal(signal);
        self.started = Instant::now();
        self.wait(deadline)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only for a process that has ended and been waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_lossy(path: &Path) -> String {
    fs::read(path)
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .unwrap_or_default()
}

/// Calls `attempt` until it gives a value, at most for `deadline`; the last reason otherwise.
///
/// # Errors
/// What `attempt` said last.
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
