//! `ferrosm sim`: serves a simulated fabric to libibumad programs.

use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ferrosm_channel::{ServerDoorbell, SpinWait};
use ferrosm_sim::fabric::Fabric;
use ferrosm_sim::net::Net;
use tracing::info;

use crate::cli::SimArgs;
use crate::commands::fabric;
use crate::config::{LogFormat, LogSettings};
use crate::failure::Failure;
use crate::output::progress::Terminal;
use crate::output::view::view_of_spec;
use crate::output::{self, log, table};
use crate::simulator::main_loop::{SimulatorLoop, console};
use crate::simulator::packet_tap::PacketTap;
use crate::simulator::request::{self, LoopRequest, RequestSender};
use crate::simulator::{listener, paths};

/// Longest path of a Unix socket, in bytes without the NUL.
const SOCKET_PATH_MAX: usize = 107;

/// Runs the command.
///
/// # Errors
/// The fabric does not exist, the socket is in use, or a file cannot be created.
pub fn run(args: &SimArgs) -> Result<(), Failure> {
    let level = LogSettings {
        format: LogFormat::Compact,
        level: args.log_level.clone(),
    };
    let _log = log::init(&level, &Terminal::detect());
    let spec = fabric::load(&args.fabric)?;
    let view = view_of_spec(&spec);
    fabric::warn_of_parts(&view);
    let size = table::sums(&view);
    let fabric =
        Fabric::new(&spec).map_err(|e| Failure::runtime(format!("{}: {e}", args.fabric)))?;
    let mut net = Net::new(fabric, args.seed);
    net.set_instant();
    let tap = match &args.capture {
        Some(path) => Some(PacketTap::create(path, &mut net)?),
        None => None,
    };
    if let Some(path) = &args.scenario {
        console::play(&mut net, path)?;
    }

    let socket = paths::socket(args.socket.socket.as_deref());
    let listener = Listener::bind(&socket)?;
    let doorbell = Arc::new(
        ServerDoorbell::new().map_err(|e| Failure::runtime(format!("cannot start: {e}")))?,
    );
    let (requests, inbox) = request::request_channel(Arc::clone(&doorbell));
    stop_on_signals(requests.clone())?;
    listener::listen(listener.share()?, requests)
        .map_err(|e| Failure::runtime(format!("cannot start a thread: {e}")))?;
    let spin = SpinWait::new(Duration::from_micros(args.spin_us));
    let mut simulator = SimulatorLoop::new(net, spec, doorbell, inbox, spin, tap);
    output::print(&format!("{size}\nserving on {}\n", socket.display()))?;
    simulator.run();
    info!("simulated fabric stopped");
    Ok(())
}

/// The socket and its directory, removed when dropped.
struct Listener {
    path: PathBuf,
    listener: UnixListener,
}

impl Listener {
    fn bind(path: &Path) -> Result<Self, Failure> {
        let failure = |e: io::Error| {
            Failure::with_hint(
                format!("cannot listen on {}: {e}", path.display()),
                "Name another socket with --socket.",
            )
        };
        if UnixStream::connect(path).is_ok() {
            return Err(Failure::with_hint(
                format!("a simulated fabric is served on {} already", path.display()),
                "Name another socket with --socket.",
            ));
        }
        let length = path.as_os_str().len();
        if length > SOCKET_PATH_MAX {
            return Err(Failure::with_hint(
                format!(
                    "{} is too long for a socket: {length} bytes, the limit is {SOCKET_PATH_MAX}",
                    path.display()
                ),
                "Name a shorter path with --socket.",
            ));
        }
        let dir = paths::directory(path);
        // A killed server leaves its socket, without a listener, and its directory.
        if fs::symlink_metadata(path).is_ok_and(|m| m.file_type().is_socket()) {
            fs::remove_file(path).map_err(failure)?;
            if dir.is_dir() {
                fs::remove_dir_all(&dir).map_err(failure)?;
            }
        } else if fs::symlink_metadata(&dir).is_ok() {
            return Err(Failure::with_hint(
                format!(
                    "{} exists and was not created by a server: it is not removed",
                    dir.display()
                ),
                "Name another socket with --socket, or remove it.",
            ));
        }
        // The socket first: if it cannot be created, no directory remains.
        let listener = Self {
            path: path.to_owned(),
            listener: UnixListener::bind(path).map_err(failure)?,
        };
        fs::create_dir(&dir).map_err(failure)?;
        Ok(listener)
    }

    fn share(&self) -> Result<UnixListener, Failure> {
        self.listener
            .try_clone()
            .map_err(|e| Failure::runtime(format!("cannot listen on {}: {e}", self.path.display())))
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // The socket last: as long as it exists, the next server recognizes the directory.
        let dir = paths::directory(&self.path);
        if fs::remove_dir_all(&dir).is_ok() || !dir.exists() {
            // If this fails, the next server removes the socket.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Stops the server on SIGINT and SIGTERM.
fn stop_on_signals(requests: RequestSender) -> Result<(), Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let failure = |e: io::Error| Failure::runtime(format!("cannot register signal handlers: {e}"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(failure)?;
    let (mut interrupt, mut terminate) = {
        let _inside = runtime.enter();
        (
            signal(SignalKind::interrupt()).map_err(failure)?,
            signal(SignalKind::terminate()).map_err(failure)?,
        )
    };
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
            });
            // Fails only if the engine has ended.
            let _ = requests.send(LoopRequest::Stop);
        })
        .map(|_| ())
        .map_err(failure)
}
