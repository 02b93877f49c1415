//! `ferrosm draw`: the fabric on one page.

use std::fs;
use std::io::Write;

use ferrosm_api::alarm::Alarm;
use ferrosm_api::answer::PAGE_LIMIT_MAX;
use ferrosm_api::answer::Page;
use ferrosm_api::path::Path;
use ferrosm_api::structure::LinkLoad;
use hyper::Method;

use super::{fabric_source, service};
use crate::cli::{DrawArgs, HighlightKind, ServiceDirArgs};
use crate::drawing::highlights::{of_alarms, of_path};
use crate::drawing::{self, Highlight};
use crate::failure::Failure;
use crate::whole_fabric::WholeFabric;

/// Runs the command.
///
/// # Errors
/// If no service answers, the fabric or a port does not exist, or the file cannot be written.
pub fn run(args: &DrawArgs) -> Result<(), Failure> {
    let kind = args.highlight().map_err(Failure::Usage)?;
    let fabric = fabric_source::read(&args.fabric)?;
    let highlight = match &args.fabric.from {
        None => of_service(&args.fabric.service, &fabric, &kind)?,
        #[cfg(feature = "simulator")]
        Some(from) => offline::highlight(from, &fabric, &kind)?,
        #[cfg(not(feature = "simulator"))]
        Some(_) => Highlight::Unmarked,
    };
    let picture = drawing::draw(&fabric, args.level, &highlight);
    let bytes = drawing::encode(&picture, &fabric, args.format());
    let Some(file) = &args.output else {
        let mut out = std::io::stdout().lock();
        return match out.write_all(&bytes).and_then(|()| out.flush()) {
            Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::runtime(format!(
                "cannot write to standard output: {e}"
            ))),
            _ => Ok(()),
        };
    };
    fs::write(file, bytes)
        .map_err(|e| Failure::runtime(format!("cannot write {}: {e}", file.display())))
}

fn of_service(
    service: &ServiceDirArgs,
    fabric: &WholeFabric,
    kind: &HighlightKind,
) -> Result<Highlight, Failure> {
    match kind {
        HighlightKind::States => Ok(Highlight::States),
        HighlightKind::Load => {
            let load = service::send::<LinkLoad>(service, Method::GET, "load", &[])?;
            Ok(Highlight::Load(load.answer.body))
        }
        HighlightKind::Alarms => {
            let query = [("limit", PAGE_LIMIT_MAX.to_string())];
            let alarms = service::send::<Page<Alarm>>(service, Method::GET, "alarms", &query)?;
            Ok(of_alarms(fabric, &alarms.answer.body.items))
        }
        HighlightKind::Path { from, to } => {
            let query = [("from", from.clone()), ("to", to.clone())];
            let path = service::send::<Path>(service, Method::GET, "paths", &query)?;
            Ok(of_path(fabric, &path.answer.body))
        }
    }
}

#[cfg(feature = "simulator")]
mod offline {
    //! Load and paths of a fabric file, by offline routing.

    use super::{Highlight, HighlightKind, WholeFabric};
    use crate::api::structure::load;
    use crate::drawing::links_by_port;
    use crate::failure::Failure;
    use crate::offline::args::OfflineArgs;
    use crate::offline::{OfflineRouting, route, trace};

    pub(super) fn highlight(
        from: &str,
        fabric: &WholeFabric,
        kind: &HighlightKind,
    ) -> Result<Highlight, Failure> {
        match kind {
            HighlightKind::States => Ok(Highlight::Unmarked),
            HighlightKind::Alarms => Err(Failure::Usage(
                "a file has no alarms: --highlight alarms is for a running service".to_owned(),
            )),
            HighlightKind::Load => {
                let routed = routed(from)?;
                let basis = routed.basis.as_ref().ok_or_else(|| {
                    Failure::runtime("the fabric has no switch: nothing is routed")
                })?;
                Ok(Highlight::Load(load(&routed.snapshot, basis)))
            }
            HighlightKind::Path { from: source, to } => path(&routed(from)?, fabric, source, to),
        }
    }

    fn routed(from: &str) -> Result<OfflineRouting, Failure> {
        let routed = route(from, &OfflineArgs::with_engines(&["auto"]))?;
        match routed.failure() {
            Some(failure) => Err(failure),
            None => Ok(routed),
        }
    }

    fn path(
        routed: &OfflineRouting,
        fabric: &WholeFabric,
        source: &str,
        to: &str,
    ) -> Result<Highlight, Failure> {
        let snapshot = &routed.snapshot;
        let [from, to] = [source, to].map(|text| trace::find(snapshot, text));
        let from = from.map_err(Failure::Usage)?;
        let to = to.map_err(Failure::Usage)?;
        let trace = trace::follow(snapshot, from, to).ok_or_else(|| {
            Failure::runtime("the ports are connected without a switch: no table is used")
        })?;
        let by_port = links_by_port(fabric);
        let guid = |node: u32| snapshot.node(node).guid.to_string();
        let hops = trace.hops.iter();
        let links = hops.clone().filter_map(|hop| {
            let (port, _) = hop.output?;
            by_port.get(&(guid(hop.node).as_str(), port.0)).copied()
        });
        let name = |node: u32| snapshot.node(node).name();
        Ok(Highlight::Path {
            title: format!("Path from {} to {}", name(from.node()), name(to.node())),
            links: links.collect(),
            nodes: hops.map(|hop| guid(hop.node)).collect(),
        })
    }
}
