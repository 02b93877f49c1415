//! `ferrosm demo`: the subnet manager on a simulated fabric inside this program.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use ferrosm_api::access::ClientRole;
use ferrosm_fabric::observed::{ObservedFabric, PortRef};
use ferrosm_mad::ids::PortNum;
use ferrosm_sim::fabric::Fabric;
use ferrosm_sim_server::in_process::SimNet;
use ferrosm_sim_server::paths;
use nix::unistd::geteuid;
use tempfile::TempDir;
use tracing::{info, warn};

use super::port::SimulatedPort;
use crate::api;
use crate::api::commands::CommandLog;
use crate::api::server::ApiSockets;
use crate::api::sessions::{PageUser, Sessions};
use crate::api::start_plan::MakePlan;
use crate::cli::DemoArgs;
use crate::commands::config;
use crate::config::{ConfigSource, Settings};
use crate::failure::Failure;
use crate::http::HttpThread;
use crate::metrics::{self, Metrics};
use crate::offline::components::components;
use crate::offline::{fabric, spec};
use crate::output::progress::Terminal;
use crate::output::{log, table};
use crate::run::capture;
use crate::run::planning::{self, PlanClient};
use crate::run::recording::RecordingFile;
use crate::run::serve::{self, Process, ServeOptions, ServiceSetup};
use crate::run::service_manager::ServiceManager;
use crate::run::signals;
use ferrosm_store::StateDir;

/// Address of the page: any free port.
const PAGE_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
/// Time until the page is served.
const BIND_TIMEOUT: Duration = Duration::from_secs(2);
const BIND_INTERVAL: Duration = Duration::from_millis(5);

/// Runs the command.
///
/// # Errors
/// The fabric does not exist, or does not come up.
pub(super) fn run(args: &DemoArgs) -> Result<(), Failure> {
    // First, so that early signals are not lost.
    let (runtime, signals) = signals::install()?;
    let source = match &args.sm.config {
        Some(path) => config::source(Some(path))?,
        None => ConfigSource::default(),
    };
    let flags = args.sm.clone();
    let serves_page = args.web;
    let overlay = move |settings: &mut Settings| {
        // A demo persists nothing unless requested.
        settings.state_dir = None;
        // It does not use the metrics address of the daemon.
        settings.metrics = None;
        settings.web = serves_page.then_some(PAGE_ADDRESS);
        flags.apply(settings);
    };
    let settings = source.resolve(&overlay)?;
    let terminal = Terminal::detect();
    let log = log::init(&settings.log, &terminal);

    let spec = fabric::load(&args.fabric)?;
    let described = spec::observed(&spec);
    info!(
        fabric = args.fabric,
        size = table::sums(&spec::snapshot(&described, None, None)),
        "simulated fabric created"
    );
    let fabric =
        Fabric::new(&spec).map_err(|e| Failure::runtime(format!("{}: {e}", args.fabric)))?;
    let net = SimNet::new(fabric);
    let port = net.attach(None).map_err(Failure::runtime)?;
    let at = port.at();
    let own_node = described.node_indices().nth(at.node);
    if let Some(node) = own_node {
        warn_if_disconnected(&described, PortRef::new(node, PortNum(at.port)));
    }
    let (sender, receiver) = port.split();
    let (sender, receiver, capture) = capture::attach(
        sender,
        receiver,
        settings.capture.as_deref(),
        "simulated port 1",
    )?;
    let make_plan = plan_on_a_copy(net.clone());
    let port = SimulatedPort::new(net, sender, receiver);
    let state = settings.state_dir.as_deref().map(StateDir::open);
    let state = state.transpose()?;
    let recording = RecordingFile::from_args(&args.sm)?;
    let options = ServeOptions {
        once: args.sm.once,
        json: args.sm.json,
        tables: true,
        window_limit: None,
    };
    let overlay = Arc::new(overlay);
    let metrics = Metrics::default();
    let http = (!args.sm.once).then(HttpThread::start).flatten();
    metrics::serve_if_configured(http.as_ref(), settings.metrics, &metrics);
    let mut api = api::Service::default();
    let _served = match &http {
        Some(http) => Some(serve_api(http, &settings, &mut api)?),
        None => None,
    };
    if serves_page {
        log_link(&api.sessions);
    }
    serve::serve(
        port,
        ServiceSetup {
            settings,
            state,
            source,
            overlay,
            options,
            capture,
            recording,
            local: None,
            other_ports: None,
            sa_server: None,
            make_plan,
            process: Process {
                runtime,
                signals,
                service: ServiceManager::of_process(),
                terminal,
                log,
                metrics,
                api,
            },
        },
    )
}

/// Plans a start on a copy of the fabric, whose port is free.
fn plan_on_a_copy(net: SimNet) -> Arc<MakePlan> {
    Arc::new(move |settings, options| {
        let copy = SimNet::new(net.with(|fabric| fabric.clone()));
        let (sender, receiver) = copy.attach(None).map_err(Failure::runtime)?.split();
        let port = SimulatedPort::new(copy, Box::new(sender), Box::new(receiver));
        planning::plan(port, settings, options, PlanClient::Remote)
    })
}

/// Logs a link that opens the page, once it is served.
fn log_link(sessions: &Sessions) {
    let deadline = Instant::now() + BIND_TIMEOUT;
    let address = loop {
        match sessions.address() {
            Some(address) => break address,
            None if Instant::now() >= deadline => {
                // The listener has logged why.
                return;
            }
            None => std::thread::sleep(BIND_INTERVAL),
        }
    };
    let user = PageUser {
        uid: geteuid().as_raw(),
        role: ClientRole::Admin,
    };
    match sessions.make_link(user, Instant::now()) {
        Ok(secret) => info!(
            link = format!("http://{address}/#login={secret}"),
            "page served, open the link within 5 minutes"
        ),
        Err(error) => warn!(error = error.message, "cannot make link to the page"),
    }
}

/// Serves the API, without a state directory at a socket in a temporary directory, which is removed
/// with the returned value.
fn serve_api(
    http: &HttpThread,
    settings: &Settings,
    api: &mut api::Service,
) -> Result<(Option<ApiSockets>, Option<TempDir>), Failure> {
    let mut temporary = None;
    let dir = match &settings.state_dir {
        Some(dir) => {
            api.commands = CommandLog::open(dir);
            api.changes.open(dir);
            dir.as_path()
        }
        None => {
            let created = tempfile::Builder::new()
                .prefix("ferrosm-demo-")
                .tempdir_in(paths::runtime_dir())
                .map_err(|e| Failure::runtime(format!("cannot create a directory: {e}")))?;
            temporary.insert(created).path()
        }
    };
    let sockets = api::server::start(http, Some(dir), settings, api);
    let command = format!("ferrosm status --state-dir {}", dir.display());
    info!(command, "commands for this service need its directory");
    Ok((sockets, temporary))
}

/// Logs the components of the fabric that the SM cannot reach from its port.
fn warn_if_disconnected(fabric: &ObservedFabric, own_port: PortRef) {
    let components = components(fabric);
    let Some(own_component) = components
        .iter()
        .find(|c| c.contains(fabric, own_port))
        .filter(|_| components.len() > 1)
    else {
        return;
    };
    let node = fabric.get(own_port.node);
    let name = node.map(|node| node.description.unquoted());
    warn!(
        components = components.len(),
        sm_node = name.unwrap_or_default(),
        sm_port = own_port.port.0,
        reachable_nodes = own_component.nodes.len(),
        unreachable_nodes = fabric.node_count() - own_component.nodes.len(),
        "fabric is disconnected"
    );
}
