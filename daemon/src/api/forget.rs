//! What is gone on purpose is no longer expected.

use ferrosm_api::alarm::{ForgetQuery, Forgotten};
use ferrosm_api::answer::{ApiError, ErrorKind};
use ferrosm_api::command::CommandKind;

use super::Service;
use super::access::Client;
use super::list::invalid;
use super::lookup;
use crate::output::table::count;

/// Longest name that is searched, in bytes.
const NAME_LEN_MAX: usize = 256;

/// Forgets what a query names, with a line in the audit log.
pub(super) fn forget(
    service: &Service,
    client: &Client,
    query: ForgetQuery,
) -> Result<Forgotten, ApiError> {
    let ForgetQuery { name, reason } = query;
    if name.is_empty() || name.len() > NAME_LEN_MAX {
        return Err(invalid(format!("name has 1 to {NAME_LEN_MAX} bytes")));
    }
    let forgotten = service.published.forget(&name);
    if forgotten.nodes.is_empty() && forgotten.links.is_empty() {
        let state = service.published.state();
        let is_present = state
            .fabric
            .as_ref()
            .is_some_and(|fabric| lookup::end_ports(fabric, &name).is_ok());
        let message = match is_present {
            true => format!("`{name}` is in the subnet, and none of its links is down"),
            false => format!("nothing that is gone is named `{name}`"),
        };
        return Err(ApiError::new(
            ErrorKind::NotFound,
            message,
            "`ferrosm nodes --where state=absent` and `ferrosm links --where state=down` list what is gone.",
        ));
    }
    let message = format!(
        "{name} forgotten: {}, {}",
        count(forgotten.nodes.len(), "node", "nodes"),
        count(forgotten.links.len(), "link", "links"),
    );
    let by = client.to_string();
    let command = service
        .commands
        .record(CommandKind::Forget, by, reason, message);
    Ok(Forgotten {
        command,
        nodes: forgotten.nodes,
        links: forgotten.links,
    })
}
