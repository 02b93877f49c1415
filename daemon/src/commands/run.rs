//! `ferrosm run`: the subnet manager on a local port.

use ferrosm_mad::transport::umad::{GsiPort, OpenOptions, UmadPort};
use tracing::info;

use crate::administration::Administration;
use crate::capture;
use crate::cli::RunArgs;
use crate::commands::serve::{self, Options, Service};
use crate::commands::{config, ports};
use crate::failure::Failure;
use crate::output::log;
use crate::output::progress::Terminal;
use crate::port::Threaded;

/// Room for answers and traps between the receiving thread and the driver.
const INBOX_MIN: usize = 8192;

/// Runs the command.
///
/// # Errors
/// If the configuration is wrong, no port can serve, or (with `--once`) the fabric does not come up.
pub fn run(args: &RunArgs) -> Result<(), Failure> {
    let source = config::source(args.sm.config.as_deref())?;
    let flags = args.clone();
    let overlay = move |raw: &mut crate::config::RawConfig| {
        flags.port.apply(raw);
        flags.sm.apply(raw);
    };
    let settings = source.settle(&overlay)?;
    let terminal = Terminal::detect();
    let log = log::init(&settings.log, &terminal);

    let local = ports::choose(&settings.port)?;
    let open = OpenOptions {
        as_sm: true,
        response_timeout_ms: ports::answers_count_for_ms(&settings.sm),
    };
    let (sender, receiver) =
        UmadPort::open(&local, &open).map_err(|e| ports::explain(&e, Some(&local)))?;
    info!(ca = local.ca, port = local.port_num.0, port_guid = %local.port_guid, state = %local.state,
          "serving by this port");
    let window_limit = sender.window_limit();
    let administration = if sender.is_simulated() {
        // `umad2sim` gives one descriptor's messages to another; its answers would be cut at 256 bytes, too.
        info!("no subnet administration under umad2sim");
        None
    } else {
        let (sender, receiver) =
            GsiPort::open(&local).map_err(|e| ports::explain(&e, Some(&local)))?;
        let started = Administration::start(Box::new(sender), Box::new(receiver), settings.sa);
        Some(started.map_err(|e| Failure::job(format!("cannot start a thread: {e}")))?)
    };
    let inbox = INBOX_MIN.max(4 * settings.sm.max_outstanding);
    let (sender, receiver, capture) = capture::tap(
        sender,
        receiver,
        settings.capture.as_deref(),
        &local.to_string(),
    )?;
    let port = Threaded::new(sender, receiver, inbox)
        .map_err(|e| Failure::job(format!("cannot start the receiving thread: {e}")))?;
    let options = Options {
        once: args.sm.once,
        json: args.sm.json,
        tables: args.sm.once,
        window_limit,
    };
    let overlay = Box::new(overlay);
    serve::serve(
        port,
        Service {
            settings,
            source,
            overlay,
            options,
            capture,
            local: Some(local),
            administration,
            terminal,
            log,
        },
    )
}
