//! `ferrosm web`: a link that opens the page of the running service.

use ferrosm_api::access::ClientRole;
use ferrosm_api::web::WebLogin;
use hyper::Method;

use super::service::send;
use crate::cli::{RoleArg, WebCommand};
use crate::failure::Failure;
use crate::output::{self, web};

/// Runs the command.
///
/// # Errors
/// If no service answers, or it does not serve the page.
pub fn run(command: &WebCommand) -> Result<(), Failure> {
    let WebCommand::Login {
        role,
        service,
        json,
    } = command;
    let query: Vec<(&str, String)> = role
        .map(|role| match role {
            RoleArg::View => ClientRole::View,
            RoleArg::Operate => ClientRole::Operate,
            RoleArg::Admin => ClientRole::Admin,
        })
        .map(|role| ("role", role.name().to_owned()))
        .into_iter()
        .collect();
    let received = send::<WebLogin>(service, Method::POST, "web/login", &query)?;
    match json {
        true => output::print(&format!("{}\n", received.json)),
        false => output::print(&web::link(&received.answer.body)),
    }
}
