//! `ferrosm explain`: why a fabric on paper is routed as it is, and which way packets go.

use crate::cli::ExplainArgs;
use crate::failure::Failure;
use crate::offline::{self, trace};
use crate::output::{self, explain, json};

/// Runs the command.
///
/// # Errors
/// If there is no such fabric or port, an input file is wrong, or no engine's tables pass the proof.
pub fn run(args: &ExplainArgs) -> Result<(), Failure> {
    let routed = offline::route(&args.what)?;
    if let Some(failure) = routed.failure() {
        if args.json {
            output::print(&json::pretty(&json::explain::document(&routed, &[])))?;
        }
        return Err(failure);
    }
    let traces = match (&args.source, &args.to) {
        (Some(from), Some(to)) => ways(&routed, from, to)?,
        _ => Vec::new(),
    };
    if args.json {
        let document = json::explain::document(&routed, &traces);
        return output::print(&json::pretty(&document));
    }
    output::print(&explain::render(&routed, &traces))
}

/// There and back.
fn ways(
    routed: &offline::OfflineRouting,
    from: &str,
    to: &str,
) -> Result<Vec<trace::Trace>, Failure> {
    let find = |text: &str| {
        trace::find(&routed.view, text).map_err(|e| {
            Failure::with_hint(
                e,
                "Names are those of `ferrosm topology --from`, LIDs those of `route --dump-dir`.",
            )
        })
    };
    let (from, to) = (find(from)?, find(to)?);
    if from == to {
        return Err(Failure::Usage(
            "source and destination are one port".to_owned(),
        ));
    }
    [(from, to), (to, from)]
        .iter()
        .map(|(a, b)| {
            trace::follow(&routed.view, *a, *b)
                .ok_or_else(|| Failure::job("no tables are on the way: there is no switch between"))
        })
        .collect()
}
