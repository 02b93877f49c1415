//! `ferrosm sa`: clients of the SA, and limits of single ones.

use ferrosm_api::sa::{SaClients, SaLimit};
use hyper::Method;

use super::ask::ask;
use super::service::send;
use crate::cli::{RateArg, SaArgs, SaCommand};
use crate::failure::Failure;
use crate::output::{self, sa};

/// Runs the command.
///
/// # Errors
/// If no service answers, or no port has this name.
pub fn run(args: &SaArgs) -> Result<(), Failure> {
    match &args.command {
        SaCommand::Clients { top, ask: ask_args } => {
            let query = [("top", top.to_string())];
            ask::<SaClients>(ask_args, "sa/clients", &query, sa::clients).map(drop)
        }
        SaCommand::Limit {
            client,
            rate,
            duration,
            reason,
            service,
            json,
        } => {
            let mut query = vec![("client", client.clone())];
            match rate {
                RateArg::None => {}
                RateArg::PerSecond(per_s) => query.push(("per_s", per_s.to_string())),
            }
            query.extend(duration.map(|time| ("for_s", time.as_secs().to_string())));
            query.extend(reason.clone().map(|reason| ("reason", reason)));
            let received = send::<SaLimit>(service, Method::POST, "sa/limit", &query)?;
            match json {
                true => output::print(&format!("{}\n", received.json)),
                false => output::print(&sa::limit(&received.answer.body)),
            }
        }
    }
}
