//! `ferrosm group` and `ferrosm host`.

use ferrosm_api::answer::Page;
use ferrosm_api::group::{Group, GroupMember, Host};

use super::ask::{ask, list_query};
use crate::api::client::encoded;
use crate::cli::{GroupCommand, HostCommand};
use crate::failure::Failure;
use crate::output::groups;

/// Runs `group`.
///
/// # Errors
/// If no service answers, or the group does not exist.
pub fn run(command: &GroupCommand) -> Result<(), Failure> {
    match command {
        GroupCommand::List(list) => {
            let query = list_query(list, None);
            ask::<Page<Group>>(&list.ask, "groups", &query, groups::list).map(drop)
        }
        GroupCommand::Show { group, list } => {
            let resource = format!("groups/{}/members", encoded(group));
            let query = list_query(list, None);
            ask::<Page<GroupMember>>(&list.ask, &resource, &query, groups::members).map(drop)
        }
    }
}

/// Runs `host`.
///
/// # Errors
/// If no service answers, or the host does not exist.
pub fn host(command: &HostCommand) -> Result<(), Failure> {
    let HostCommand::Show { host, ask: args } = command;
    let resource = format!("hosts/{}", encoded(host));
    ask::<Host>(args, &resource, &[], groups::host).map(drop)
}
