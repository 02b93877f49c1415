//! `ferrosm sim`: serves a simulated fabric to libibumad programs.

use std::io;
use std::time::Duration;

use ferrosm_opensm_compat::input::sls;
use ferrosm_sim::fabric::Fabric;
use ferrosm_sim::net::Net;
use ferrosm_sim_server::main_loop::{ServerOptions, SimulatorLoop, console};
use ferrosm_sim_server::packet_tap::PacketTap;
use ferrosm_sim_server::paths;
use ferrosm_sim_server::request::{LoopRequest, RequestSender};
use ferrosm_sim_server::socket::{ListenError, ServerSocket};
use tracing::info;

use crate::cli::SimArgs;
use crate::clock::unix_ns;
use crate::config::LogSettings;
use crate::failure::Failure;
use crate::offline::{fabric, spec};
use crate::output::progress::Terminal;
use crate::output::{self, log, table};
use crate::run::{capture, signals};

/// Runs the command.
///
/// # Errors
/// The fabric does not exist, the socket is in use, or a file cannot be created.
pub(super) fn run(args: &SimArgs) -> Result<(), Failure> {
    let _log = log::init(&LogSettings::compact(&args.log_level), &Terminal::detect());
    let spec = fabric::load(&args.fabric)?;
    let described = spec::observed(&spec);
    fabric::warn_of_parts(&described);
    let size = table::sums(&spec::snapshot(&described, None, None));
    let fabric =
        Fabric::new(&spec).map_err(|e| Failure::runtime(format!("{}: {e}", args.fabric)))?;
    let mut net = Net::new(fabric, args.seed);
    net.set_instant();
    let tap = match &args.capture {
        Some(path) => {
            let writer = capture::create(path, "simulated fabric")?;
            Some(PacketTap::new(path, writer, unix_ns, &mut net))
        }
        None => None,
    };
    if let Some(path) = &args.scenario {
        console::play(&mut net, path).map_err(Failure::runtime)?;
    }

    let path = paths::socket(args.socket.socket.as_deref());
    let socket = ServerSocket::bind(&path).map_err(listen_failure)?;
    let options = ServerOptions {
        spin: Duration::from_micros(args.spin_us),
        tap,
        path_sl_parser: |text| {
            let rows = sls::parse_path_sl(text)
                .map_err(|errors| errors.first().map(ToString::to_string).unwrap_or_default())?;
            Ok(rows.into_iter().collect())
        },
    };
    let (mut simulator, requests) = SimulatorLoop::start(net, spec, &socket, options)
        .map_err(|e| Failure::runtime(format!("cannot start: {e}")))?;
    stop_on_signals(requests)?;
    output::print(&format!("{size}\nserving on {}\n", path.display()))?;
    simulator.run();
    info!("simulated fabric stopped");
    Ok(())
}

fn listen_failure(error: ListenError) -> Failure {
    let hint = match error {
        ListenError::InUse(_) | ListenError::Create { .. } => "Name another socket with --socket.",
        ListenError::PathTooLong(_) => "Name a shorter path with --socket.",
        ListenError::ForeignDirectory(_) => "Name another socket with --socket, or remove it.",
    };
    Failure::with_hint(error, hint)
}

/// Stops the server on SIGINT and SIGTERM.
fn stop_on_signals(requests: RequestSender) -> Result<(), Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let failure = |e: io::Error| Failure::runtime(format!("cannot register signal handlers: {e}"));
    let runtime = signals::runtime()?;
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
