//! `ferrosm capture`: captures on the running service.

use core::time::Duration;

use ferrosm_api::capture::Captures;
use hyper::Method;

use super::ask::ask;
use super::service::{endpoint, failure};
use crate::api::client::Call;
use crate::cli::{CaptureArgs, CaptureCommand, CaptureServiceArgs};
use crate::failure::Failure;
use crate::output::{self, capture};

/// Runs the command.
///
/// # Errors
/// If no service answers, or it cannot capture.
pub fn run(args: &CaptureArgs) -> Result<(), Failure> {
    match &args.command {
        CaptureCommand::Status(ask_args) => {
            ask::<Captures>(ask_args, "capture", &[], capture::render).map(drop)
        }
        CaptureCommand::Start {
            file,
            max_size_mib,
            service,
        } => {
            let mut query = vec![("max_mib", max_size_mib.to_string())];
            query.extend(file.clone().map(|file| ("file", file)));
            send(service, "capture/start", query)
        }
        CaptureCommand::Stop { service } => send(service, "capture/stop", Vec::new()),
    }
}

fn send(
    args: &CaptureServiceArgs,
    resource: &str,
    mut query: Vec<(&str, String)>,
) -> Result<(), Failure> {
    let endpoint = endpoint(&args.service)?;
    query.extend(args.reason.clone().map(|reason| ("reason", reason)));
    let call = Call {
        endpoint: &endpoint,
        method: Method::POST,
        resource,
        query: &query,
        wait: Duration::from_secs(10),
    };
    let received = call
        .send::<Captures>()
        .map_err(|e| failure(&args.service, &endpoint, e))?;
    match args.json {
        true => output::print(&format!("{}\n", received.json)),
        false => output::print(&capture::render_capture(&received.answer.body)),
    }
}
