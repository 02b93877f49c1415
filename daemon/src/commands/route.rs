//! `ferrosm route`: routes a fabric offline and verifies the tables.

use crate::cli::RouteArgs;
use crate::failure::Failure;
use crate::offline;
use crate::output::dump;
use crate::output::{self, json, proof};

/// Runs the command.
///
/// # Errors
/// The fabric does not exist, an input file is invalid, or every engine is rejected.
pub fn run(args: &RouteArgs) -> Result<(), Failure> {
    let routed = offline::route(&args.from, &args.common)?;
    if let Some(failure) = routed.failure() {
        if args.json {
            output::print(&json::pretty(&json::routing::document(&routed, None)))?;
        }
        return Err(failure);
    }
    let quality = routed
        .selected
        .as_ref()
        .map(offline::SelectedRouting::quality);
    if let Some(dir) = &args.dump_dir {
        dump::write(&routed.snapshot, dir, dump::Extent::Full)?;
    }
    if args.json {
        let document = json::routing::document(&routed, quality.as_ref());
        return output::print(&json::pretty(&document));
    }
    output::print(&proof::render(&routed, quality.as_ref()))
}
