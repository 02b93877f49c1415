//! `ferrosm demo`: the subnet manager on a simulated fabric inside this program.

use ferrosm_mad::ids::PortNum;
use ferrosm_sim::fabric::Fabric;
use ferrosm_sim::port::SimNet;
use tracing::{info, warn};

use crate::capture;
use crate::cli::DemoArgs;
use crate::commands::serve::{self, Options, Process, Service};
use crate::commands::{config, fabric};
use crate::config::Source;
use crate::failure::Failure;
use crate::metrics::{Metrics, server};
use crate::output::progress::Terminal;
use crate::output::view::view_of_spec;
use crate::output::{log, table};
use crate::port::SimulatedPort;
use crate::recording::RecordingFile;
use crate::signals::{self, SignalListener};
use ferrosm_opensm_compat::view::{FabricView, PortLocation};

/// Runs the command.
///
/// # Errors
/// If there is no such fabric, or it does not come up.
pub fn run(args: &DemoArgs) -> Result<(), Failure> {
    // Before anything that takes its time.
    let (runtime, signals) = signals::install()?;
    let source = match &args.sm.config {
        Some(path) => config::source(Some(path), None)?,
        None => Source::defaults(),
    };
    let flags = args.sm.clone();
    let overlay = move |raw: &mut crate::config::RawConfig| {
        // A demonstration leaves nothing behind unless it is asked to.
        raw.files.state_dir.clear();
        // Nor does it take the address of the service.
        raw.metrics.listen.clear();
        flags.apply(raw);
    };
    let settings = source.resolve(&overlay)?;
    let terminal = Terminal::detect();
    let log = log::init(&settings.log, &terminal);

    let spec = fabric::load(&args.fabric)?;
    let view = view_of_spec(&spec);
    info!(
        fabric = args.fabric,
        size = table::sums(&view),
        "simulated fabric created"
    );
    let fabric = Fabric::new(&spec).map_err(|e| Failure::job(format!("{}: {e}", args.fabric)))?;
    let net = SimNet::new(fabric);
    let port = net.attach(None).map_err(Failure::job)?;
    let at = port.at();
    tell_parts(
        &view,
        PortLocation {
            node: at.node,
            port: PortNum(at.port),
        },
    );
    let (sender, receiver) = port.split();
    let (sender, receiver, capture) = capture::attach(
        sender,
        receiver,
        settings.capture.as_deref(),
        "simulated port 1",
    )?;
    let port = SimulatedPort::new(net, sender, receiver);
    let recording = RecordingFile::from_args(&args.sm)?;
    let options = Options {
        once: args.sm.once,
        json: args.sm.json,
        tables: true,
        window_limit: None,
    };
    let overlay = Box::new(overlay);
    let metrics = Metrics::default();
    let listen = settings.metrics.filter(|_| !args.sm.once);
    let _page = server::start_if_configured(listen, &metrics);
    let metrics = metrics.for_fabric(source.fabric());
    serve::serve(
        port,
        Service {
            settings,
            source,
            overlay,
            options,
            capture,
            recording,
            local: None,
            administration: None,
            metrics,
            terminal,
            log,
            process: Process {
                runtime,
                ear: SignalListener::Own(signals),
                serves: Box::new(|| ()),
                is_all: true,
            },
        },
    )
}

/// A subnet manager sees the part of the fabric that its port is on: says what it does not see.
fn tell_parts(view: &FabricView, own: PortLocation) {
    let parts = view.components();
    let Some(ours) = parts
        .iter()
        .find(|p| view.component_contains(p, own))
        .filter(|_| parts.len() > 1)
    else {
        return;
    };
    warn!(
        components = parts.len(),
        nodes = ours.nodes.len(),
        nodes_outside = view.nodes.len() - ours.nodes.len(),
        node = view.nodes[own.node].name(),
        port = own.port.0,
        "fabric is partitioned"
    );
}
