//! `ferrosm explain --from`: offline routing, with the reason for the engine and the path between
//! two ports.

use crate::cli::OfflineExplainArgs;
use crate::failure::Failure;
use crate::offline::{self, trace};
use crate::output::{self, explain, json};

/// Runs the command.
///
/// # Errors
/// The fabric or port does not exist, an input file is invalid, or every engine is rejected.
pub(super) fn run(from: &str, args: &OfflineExplainArgs) -> Result<(), Failure> {
    let routed = offline::route(from, &args.common)?;
    if let Some(failure) = routed.failure() {
        if args.json {
            output::print(&json::pretty(&json::explain::document(&routed, &[])))?;
        }
        return Err(failure);
    }
    let traces = match (&args.source, &args.to) {
        (Some(from), Some(to)) => paths(&routed, from, to)?,
        _ => Vec::new(),
    };
    if args.json {
        let document = json::explain::document(&routed, &traces);
        return output::print(&json::pretty(&document));
    }
    output::print(&explain::render(&routed, &traces))
}

/// The path and its reverse.
fn paths(
    routed: &offline::OfflineRouting,
    from: &str,
    to: &str,
) -> Result<Vec<trace::Trace>, Failure> {
    let find = |text: &str| {
        trace::find(&routed.snapshot, text).map_err(|e| {
            Failure::Usage(format!(
                "{e}\n  `ferrosm topology --from` lists names, `route --dump-dir` writes LIDs."
            ))
        })
    };
    let from = find(from)?;
    let to = find(to)?;
    if from == to {
        return Err(Failure::Usage(
            "source and destination are the same port".to_owned(),
        ));
    }
    [(from, to), (to, from)]
        .iter()
        .map(|(a, b)| {
            trace::follow(&routed.snapshot, *a, *b).ok_or_else(|| {
                Failure::runtime("the ports are connected without a switch: no table is used")
            })
        })
        .collect()
}
