//! Multicast groups and hosts, as text.

use core::fmt::Write;

use ferrosm_api::answer::{Answer, Page};
use ferrosm_api::group::{Group, GroupMember, Host};

use super::answers::rest;
use super::table;

/// `group list`.
#[must_use]
pub fn list(answer: &Answer<Page<Group>>) -> String {
    let mut out = table::new([
        "MGID",
        "MLID",
        "P_Key",
        "MTU",
        "Gb/s",
        "SL",
        "Members",
        "Send only",
        "Switches",
    ]);
    table::right(&mut out, &[3, 4, 5, 6, 7, 8]);
    for group in &answer.body.items {
        out.add_row([
            group.mgid.clone(),
            group.mlid.clone(),
            group.p_key.clone(),
            group.mtu.to_string(),
            group.rate_gbps.to_string(),
            group.sl.to_string(),
            group.members.to_string(),
            group.senders.to_string(),
            group.switches.to_string(),
        ]);
    }
    format!("{out}\n{}", rest(&answer.body, "group", "groups"))
}

/// `group show`.
#[must_use]
pub fn members(answer: &Answer<Page<GroupMember>>) -> String {
    let mut out = table::new(["Name", "GUID", "Location", "Join"]);
    for member in &answer.body.items {
        let join = match member.proxy {
            true => format!("{}, by another port", member.join.name()),
            false => member.join.name().to_owned(),
        };
        out.add_row([
            member.name.clone(),
            member.guid.clone(),
            member.location.clone(),
            join,
        ]);
    }
    format!("{out}\n{}", rest(&answer.body, "member", "members"))
}

/// `host show`.
#[must_use]
pub fn host(answer: &Answer<Host>) -> String {
    let mut text = String::new();
    let joined = |items: &[String]| match items {
        [] => "none".to_owned(),
        [..] => items.join(", "),
    };
    for port in &answer.body.ports {
        let place = &port.place;
        let _ = writeln!(
            text,
            "{}/{}  {}  at {}  LID {}  GID {}",
            place.port.name,
            place.number,
            place.port.guid,
            place.port.location,
            place.lid,
            place.gid
        );
        let _ = writeln!(text, "  partitions  {}", joined(&port.partitions));
        let _ = writeln!(text, "  groups      {}", joined(&port.groups));
    }
    text
}
