//! `ferrosm explain`: what a running service explains; with `--from`, offline routing with the
//! reason for the engine and the path between two ports.

#[cfg(feature = "simulator")]
mod offline;

use ferrosm_api::explain::{
    AlarmExplanation, EngineExplanation, ObjectExplanation, RouteExplanation, SweepExplanation,
};

use super::ask::ask;
use crate::cli::{ExplainArgs, ExplainCommand};
use crate::failure::Failure;
use crate::output::explained;

/// Runs the command.
///
/// # Errors
/// If no service answers, or what is named does not exist. With `--from`: the fabric or port does
/// not exist, an input file is invalid, or every engine is rejected.
pub fn run(args: &ExplainArgs) -> Result<(), Failure> {
    #[cfg(feature = "simulator")]
    if let Some(from) = &args.offline.from {
        return offline::run(from, &args.offline);
    }
    match &args.what {
        Some(what) => live(what),
        None => Err(Failure::Usage(
            "name what to explain, such as `ferrosm explain route A B` or `ferrosm explain engine`, or a fabric file: `ferrosm explain --from FILE`".to_owned(),
        )),
    }
}

fn live(what: &ExplainCommand) -> Result<(), Failure> {
    match what {
        ExplainCommand::Route(args) => {
            let query = [
                ("from", args.from.clone()),
                ("to", args.to.clone()),
                ("reroute", (!args.no_reroute).to_string()),
            ];
            let answer =
                ask::<RouteExplanation>(&args.ask, "explain/route", &query, explained::route)?;
            match answer.body.path.dropped {
                None => Ok(()),
                Some(_) => Err(Failure::Status(1)),
            }
        }
        ExplainCommand::Port(args) => {
            let query = [("name", args.name.clone())];
            ask::<ObjectExplanation>(&args.ask, "explain/port", &query, explained::object).map(drop)
        }
        ExplainCommand::Node(args) => {
            let query = [("name", args.name.clone())];
            ask::<ObjectExplanation>(&args.ask, "explain/node", &query, explained::object).map(drop)
        }
        ExplainCommand::Engine(args) => {
            let query = [("reroute", (!args.no_reroute).to_string())];
            ask::<EngineExplanation>(&args.ask, "explain/engine", &query, explained::engine)
                .map(drop)
        }
        ExplainCommand::Sweep(args) => {
            let number = args.number.map(|number| ("number", number.to_string()));
            let query: Vec<(&str, String)> = number.into_iter().collect();
            ask::<SweepExplanation>(&args.ask, "explain/sweep", &query, explained::sweep).map(drop)
        }
        ExplainCommand::Alarm(args) => {
            let query = [("id", args.id.to_string())];
            ask::<AlarmExplanation>(&args.ask, "explain/alarm", &query, explained::alarm).map(drop)
        }
    }
}
