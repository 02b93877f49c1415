//! Partitions and maintenance: requests of operators as changes that the SM executes.

use core::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};

use ferrosm_api::answer::{ApiError, ErrorKind};
use ferrosm_api::maintenance::{DrainRequest, FOR_S_MAX, PortDisableRequest, ServiceRequest};
use ferrosm_api::partition::{MemberChanges, PartitionDefinition};
use ferrosm_core::OperatorChange;
use ferrosm_core::config::maintenance::{Maintenance, MaintenanceTarget};
use ferrosm_core::config::partitions::Partition;
use ferrosm_fabric::snapshot::{PortIdx, Snapshot};
use ferrosm_mad::ids::PortNum;

use super::list::invalid;
use super::published::{FabricState, State};
use super::{lookup, members, names, partition};
use crate::config::PartitionEntry;

/// Names that a message lists.
const NAMES_SHOWN: usize = 5;

/// The change that creates or replaces a partition.
pub(super) fn put_partition(
    fabric: &FabricState,
    name: String,
    definition: PartitionDefinition,
) -> Result<OperatorChange, ApiError> {
    let entry = PartitionEntry {
        name,
        pkey: definition.p_key,
        index0: definition.index0,
        ipoib: definition.ipoib,
        flags: definition.flags,
        default_membership: "full".to_owned(),
        members: members::resolve(fabric, &definition.members)?,
        groups: definition.groups,
    };
    let partition = checked(&entry)?;
    Ok(OperatorChange::PutPartition(Box::new(partition)))
}

/// The change that changes the members of a partition that a command created.
pub(super) fn change_members(
    fabric: &FabricState,
    state: &State,
    text: &str,
    changes: &MemberChanges,
) -> Result<OperatorChange, ApiError> {
    let mut changed = added(state, text)?.clone();
    let parse = |list: &[String]| {
        let entry = PartitionEntry {
            name: changed.name.clone(),
            pkey: changed.number.to_string(),
            default_membership: "full".to_owned(),
            members: members::resolve(fabric, list)?,
            ..PartitionEntry::default()
        };
        Ok(checked(&entry)?.members)
    };
    let add = parse(&changes.add)?;
    let remove = parse(&changes.remove)?;
    let is_replaced = |selector| {
        let mut named = add.iter().chain(&remove);
        named.any(|(other, _)| *other == selector)
    };
    changed
        .members
        .retain(|(selector, _)| !is_replaced(*selector));
    changed.members.extend(add);
    Ok(OperatorChange::PutPartition(Box::new(changed)))
}

/// The change that removes a partition that a command created.
pub(super) fn remove_partition(state: &State, text: &str) -> Result<OperatorChange, ApiError> {
    Ok(OperatorChange::RemovePartition(added(state, text)?.number))
}

/// A partition that a command created.
fn added<'a>(state: &'a State, text: &str) -> Result<&'a Partition, ApiError> {
    let number = partition::number(state, text)?;
    let in_force = state.partitions.list().iter();
    let found = in_force.into_iter().find(|p| p.number == number);
    match found {
        Some(partition) if state.added_partitions.contains(&number) => Ok(partition),
        Some(partition) => Err(ApiError::new(
            ErrorKind::Conflict,
            format!("the configuration defines partition {}", partition.name),
            "Change the configuration and reload it.",
        )),
        None => Err(ApiError::new(
            ErrorKind::NotFound,
            format!("no partition {number:#06x}"),
            "`ferrosm partition list` lists the partitions.",
        )),
    }
}

fn checked(entry: &PartitionEntry) -> Result<Partition, ApiError> {
    let partition = entry.partition();
    partition.map_err(|errors| invalid(errors.join("; ")))
}

/// The change that drains a switch or link.
pub(super) fn drain(
    fabric: &FabricState,
    request: DrainRequest,
    reason: &str,
) -> Result<OperatorChange, ApiError> {
    let (target, name) = switch_or_link(fabric, &request.target)?;
    begin(target, name, request.for_s, reason, false)
}

/// The change that puts a drained switch or link back.
pub(super) fn undrain(state: &State, request: &ServiceRequest) -> Result<OperatorChange, ApiError> {
    let is_drain = |target| !matches!(target, MaintenanceTarget::Port(..));
    let resolve =
        |fabric: &FabricState| switch_or_link(fabric, &request.target).map(|found| found.0);
    end(state, &request.target, is_drain, resolve, "drained")
}

/// The change that disables a port.
pub(super) fn disable_port(
    fabric: &FabricState,
    request: PortDisableRequest,
    reason: &str,
) -> Result<OperatorChange, ApiError> {
    let (target, name) = switch_port(fabric, &request.target)?;
    begin(target, name, request.for_s, reason, request.accept_cut_off)
}

/// The change that enables a port that one disabled.
pub(super) fn enable_port(
    state: &State,
    request: &ServiceRequest,
) -> Result<OperatorChange, ApiError> {
    let is_port = |target| matches!(target, MaintenanceTarget::Port(..));
    let resolve = |fabric: &FabricState| switch_port(fabric, &request.target).map(|found| found.0);
    end(state, &request.target, is_port, resolve, "disabled")
}

fn begin(
    target: MaintenanceTarget,
    name: String,
    for_s: Option<u64>,
    reason: &str,
    may_cut_off_host: bool,
) -> Result<OperatorChange, ApiError> {
    if for_s.is_some_and(|for_s| for_s == 0 || for_s > FOR_S_MAX) {
        return Err(invalid(format!("for_s is from 1 to {FOR_S_MAX}")));
    }
    let until = for_s.map(|for_s| SystemTime::now() + Duration::from_secs(for_s));
    let since_epoch = until.and_then(|until| until.duration_since(UNIX_EPOCH).ok());
    Ok(OperatorChange::BeginMaintenance(Box::new(Maintenance {
        target,
        name,
        reason: reason.to_owned(),
        until_unix_s: since_epoch.map(|time| time.as_secs()),
        may_cut_off_host,
    })))
}

/// Ends what is out of service under this name, also while it is absent from the subnet.
fn end(
    state: &State,
    text: &str,
    is_of_kind: impl Fn(MaintenanceTarget) -> bool,
    resolve: impl Fn(&FabricState) -> Result<MaintenanceTarget, ApiError>,
    done: &str,
) -> Result<OperatorChange, ApiError> {
    let entries = state
        .maintenance
        .iter()
        .filter(|entry| is_of_kind(entry.target));
    let mut named = entries.filter(|entry| entry.name == text);
    if let (Some(entry), None) = (named.next(), named.next()) {
        return Ok(OperatorChange::EndMaintenance(entry.target));
    }
    let of_kind = || {
        let entries = state.maintenance.iter();
        entries.filter(|entry| is_of_kind(entry.target))
    };
    let not_found = || {
        let names: Vec<&str> = of_kind().map(|entry| &*entry.name).collect();
        let known = match names.is_empty() {
            true => String::new(),
            false => format!("; {done}: {}", some_of(&names)),
        };
        ApiError::new(
            ErrorKind::NotFound,
            format!("nothing named `{text}` is {done}{known}"),
            "`ferrosm maintenance` lists what is out of service.",
        )
    };
    let fabric = state.fabric.as_ref().ok_or_else(not_found)?;
    let at_host: Vec<&Maintenance> = of_kind()
        .filter(|entry| led_to(fabric, entry.target, text))
        .collect();
    match at_host[..] {
        [] => {}
        [entry] => return Ok(OperatorChange::EndMaintenance(entry.target)),
        [..] => {
            let names: Vec<&str> = at_host.iter().map(|entry| &*entry.name).collect();
            return Err(ApiError::new(
                ErrorKind::Ambiguous,
                format!("several ports of `{text}` are {done}: {}", some_of(&names)),
                "Name one of them.",
            ));
        }
    }
    let target = match resolve(fabric) {
        Ok(target) => target,
        Err(error) if error.kind == ErrorKind::NotFound => return Err(not_found()),
        Err(error) => return Err(error),
    };
    if of_kind().any(|entry| entry.target == target) {
        return Ok(OperatorChange::EndMaintenance(target));
    }
    Err(not_found())
}

/// Whether the link that is down because of a maintenance led to a node with this name or GUID. A
/// host whose only port is disabled has left the subnet.
fn led_to(fabric: &FabricState, target: MaintenanceTarget, text: &str) -> bool {
    let MaintenanceTarget::Port(guid, port) = target else {
        return false;
    };
    let is_meant = |name: &str| name == text || name.split_whitespace().next() == Some(text);
    let mut links = fabric.history.down_links();
    links.any(|(ends, link)| {
        let far = match ends.iter().position(|end| *end == (guid, port)) {
            Some(0) => 1,
            Some(_) => 0,
            None => return false,
        };
        is_meant(&link.names[far]) || ends[far].0.to_string() == text
    })
}

/// The first of some names, separated by commas.
fn some_of(names: &[&str]) -> String {
    let more = match names.len().saturating_sub(NAMES_SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let shown: Vec<&str> = names.iter().take(NAMES_SHOWN).copied().collect();
    shown.join(", ") + &more
}

/// The switch that a text names, or the link at the switch port that it names.
fn switch_or_link(
    fabric: &FabricState,
    text: &str,
) -> Result<(MaintenanceTarget, String), ApiError> {
    let snapshot = &*fabric.snapshot;
    if let Ok(at) = lookup::end_port(fabric, text) {
        let slot = snapshot.end_port(at).node;
        let node = snapshot.node(slot);
        let names_port = text.rsplit_once('/').is_some() && node.name() != text;
        if node.is_switch() && !names_port {
            return Ok((MaintenanceTarget::Switch(node.guid), node.name()));
        }
    }
    let (target, name) = switch_port(fabric, text)?;
    match target {
        MaintenanceTarget::Port(guid, port) => Ok((MaintenanceTarget::Link(guid, port), name)),
        other @ (MaintenanceTarget::Switch(_) | MaintenanceTarget::Link(..)) => Ok((other, name)),
    }
}

/// The switch port that a text names: its own name, or a host that is connected to it.
pub(super) fn switch_port(
    fabric: &FabricState,
    text: &str,
) -> Result<(MaintenanceTarget, String), ApiError> {
    let snapshot = &*fabric.snapshot;
    let at = lookup::end_port(fabric, text)?;
    let end_port = snapshot.end_port(at).port;
    let found = if snapshot.is_switch(end_port.node()) {
        numbered_port(snapshot, end_port.node(), text)?
    } else {
        snapshot.peer(end_port).ok_or_else(|| {
            let message = format!("`{text}` has no link");
            ApiError::new(ErrorKind::Conflict, message, "")
        })?
    };
    let guid = snapshot.node(found.node()).guid;
    let name = names::link_end(snapshot, found).location();
    Ok((MaintenanceTarget::Port(guid, found.num()), name))
}

/// The port of a switch that `name/port` names.
fn numbered_port(snapshot: &Snapshot, slot: u32, text: &str) -> Result<PortIdx, ApiError> {
    let number = text
        .rsplit_once('/')
        .and_then(|(_, port)| port.parse().ok());
    let port = number
        .map(PortNum)
        .filter(|port| *port != PortNum::ZERO)
        .and_then(|port| snapshot.port_by_num(slot, port));
    port.ok_or_else(|| {
        invalid(format!(
            "`{text}` names no port of switch {}: expected a form such as `{}/5`",
            snapshot.node(slot).name(),
            snapshot.node(slot).name()
        ))
    })
}
