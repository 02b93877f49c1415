//! Serves the subnet of a local port: opens the port, starts the SA server, runs the subnet
//! manager.

use std::sync::Arc;

use ferrosm_umad::libibumad::{self, GsiPort, LocalPort, OpenOptions, PortSelection, UmadPort};
use tracing::{info, warn};

use super::capture;
use super::other_ports::OtherPorts;
use super::planning::{self, PlanClient};
use super::port_wait::{self, WaitLimits};
use super::reading;
use super::recording::RecordingFile;
use super::serve::{self, Process, ServeOptions, ServiceSetup};
use crate::api;
use crate::api::commands::CommandLog;
use crate::api::start_plan::MakePlan;
use crate::cli::RunArgs;
use crate::config::{ConfigSource, Settings};
use crate::failure::Failure;
use crate::http::HttpThread;
use crate::port::{ThreadedPort, local_port};
use crate::rings::ServiceRings;
use crate::sa_server::SaServer;
use ferrosm_store::{StateDir, served_port};

/// Minimum capacity of the queue between the receiving thread and the driver.
const INBOX_MIN: usize = 8192;

/// Overrides of the configuration file by flags.
pub fn overlay(args: &RunArgs) -> impl Fn(&mut Settings) + Send + Sync + 'static {
    let flags = args.clone();
    move |settings| {
        flags.port.apply(settings);
        flags.sm.apply(settings);
    }
}

/// Serves the subnet until the process stops.
///
/// # Errors
/// No port can serve, or (with `--once`) the fabric does not come up.
pub fn serve_one(
    source: ConfigSource,
    settings: Settings,
    args: &RunArgs,
    http: Option<&HttpThread>,
    mut process: Process,
) -> Result<(), Failure> {
    // A second process on the same directory ends here, before it logs a start.
    let state = settings.state_dir.as_deref().map(StateDir::open);
    let state = state.transpose()?;
    let served_dir = settings.state_dir.as_deref().filter(|_| !args.sm.once);
    let rings = served_dir.and_then(|dir| ServiceRings::start(dir, settings.rings_mib));
    let (rings, _rings_guard) = rings.unzip();
    process.api.rings = rings.unwrap_or_default();
    let _sockets = http.map(|http| {
        if let Some(dir) = served_dir {
            process.api.commands = CommandLog::open(dir);
            process.api.changes.open(dir);
        }
        api::server::start(http, served_dir, &settings, &process.api)
    });
    if !args.sm.once {
        info!(
            version = env!("CARGO_PKG_VERSION"),
            file = source.path().map(|path| path.display().to_string()),
            state_dir = settings
                .state_dir
                .as_ref()
                .map(|dir| dir.display().to_string()),
            priority = settings.sm.priority,
            partitions = serve::partition_names(&settings.sm.partitions),
            "ferrosm started"
        );
    }
    let limits = if args.sm.once {
        WaitLimits::ONCE
    } else {
        WaitLimits::SERVICE
    };
    let state_path = state.as_ref().map(StateDir::path);
    let last = state_path.and_then(served_port::read);
    let port = port_wait::wait_for_port(&settings.port, last, limits, &process.service);
    let port = process.runtime.block_on(async {
        tokio::select! {
            port = port => Some(port),
            () = process.signals.stopped() => None,
        }
    });
    let Some(local) = port.transpose()? else {
        process.service.set_stopping();
        info!("stopped while waiting for a port");
        return if args.sm.once {
            Err(Failure::runtime("interrupted before the subnet was up"))
        } else {
            Ok(())
        };
    };
    let selection = settings.port.clone();
    let open = OpenOptions {
        as_sm: true,
        response_timeout_ms: local_port::response_timeout_ms(&settings.sm),
    };
    let (mut sender, receiver) =
        UmadPort::open(&local, &open).map_err(|e| local_port::open_failure(&e, Some(&local)))?;
    if let Some(e) = sender.take_is_sm_error() {
        warn!(
            error = local_port::open_failure(&e, Some(&local)).to_log_line(),
            "cannot set IsSM bit"
        );
    }
    if !local.has_link() {
        warn!(ca = local.ca, port = local.port_num.0, phys_state = %local.phys_state, "waiting for link");
    }
    let choice = match last {
        _ if selection.names_one_port() => "named",
        Some(last) if last == local.port_guid => "served last",
        Some(_) | None => "first choice",
    };
    info!(ca = local.ca, port = local.port_num.0, port_guid = %local.port_guid, state = %local.state, choice,
          "local port opened");
    process.service.set_ready();
    let is_recorded = state_path.is_some_and(|dir| {
        let written = served_port::write(dir, local.port_guid);
        let error = written.err();
        if let Some(error) = &error {
            let effect = "the next start may serve another port";
            warn!(dir = %dir.display(), %error, effect, "cannot record served port");
        }
        error.is_none()
    });
    let runtime = process.runtime.handle();
    let other_ports = OtherPorts::watch(&local, selection, is_recorded, runtime);
    let window_limit = sender.window_limit();
    let sa_server = if sender.is_simulated() {
        // `umad2sim` delivers messages to the wrong descriptor, and truncates replies to 256 bytes.
        let effect = "hosts get no path records and cannot join multicast groups";
        info!(effect, "SA disabled under umad2sim");
        None
    } else {
        let ports = local_port::enumerate()?;
        let gsi = libibumad::gsi_port(&ports, &local);
        if gsi != &local {
            info!(
                ca = gsi.ca,
                port = gsi.port_num.0,
                "QP1 of local port is on another device"
            );
        }
        let (sender, receiver) =
            GsiPort::open(gsi).map_err(|e| local_port::open_failure(&e, Some(gsi)))?;
        let started = SaServer::start(Box::new(sender), Box::new(receiver), settings.sa);
        Some(started.map_err(|e| Failure::runtime(format!("cannot start a thread: {e}")))?)
    };
    let inbox = INBOX_MIN.max(4 * settings.sm.max_outstanding);
    let interface = local.to_string();
    let file = settings.capture.as_deref();
    let (sender, receiver, capture) = match process.api.rings.tap(&interface) {
        Some(tap) => capture::attach(tap.wrap(sender), tap.wrap(receiver), file, &interface)?,
        None => capture::attach(sender, receiver, file, &interface)?,
    };
    let port = ThreadedPort::new(sender, receiver, inbox)
        .map_err(|e| Failure::runtime(format!("cannot start the receiving thread: {e}")))?;
    let recording = RecordingFile::from_args(&args.sm)?;
    let options = ServeOptions {
        once: args.sm.once,
        json: args.sm.json,
        tables: args.sm.once,
        window_limit,
    };
    serve::serve(
        port,
        ServiceSetup {
            settings,
            state,
            source,
            overlay: Arc::new(overlay(args)),
            options,
            capture,
            recording,
            make_plan: plan_at(&local),
            local: Some(local),
            other_ports,
            sa_server,
            process,
        },
    )
}

/// Plans a start at a port, which is opened once more to read the fabric.
fn plan_at(local: &LocalPort) -> Arc<MakePlan> {
    let selection = PortSelection {
        port_guid: Some(local.port_guid),
        ..PortSelection::default()
    };
    Arc::new(move |mut settings, options| {
        settings.port.clone_from(&selection);
        let port = reading::open(&mut settings)?;
        planning::plan(port, settings, options, PlanClient::Remote)
    })
}
