//! What is wrong in a published state: a pure function of it.
//!
//! A node that left has its links inside: they are its parts, not conditions of their own.

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_api::event::EventSeverity;
use ferrosm_api::fabric::{Link, NodeKind};
use ferrosm_api::invariant::InvariantState;
use ferrosm_api::maintenance::MaintenanceKind;
use ferrosm_api::object::ObjectName;
use ferrosm_core::config::maintenance::MaintenanceTarget;
use ferrosm_core::election::SmMKey;
use ferrosm_core::report::{Problem, ProblemKind};
use ferrosm_fabric::location::Location;
use ferrosm_fabric::observed::ExclusionReason;
use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_mad::attr::SmState;
use ferrosm_mad::ids::{NodeGuid, PortGuid, PortNum};

use crate::api::fabric::{degraded_links, down_links};
use crate::api::history::{LinkKey, link_key};
use crate::api::names::{end_port_name, link_end, node_location, port_location};
use crate::api::problems::{StandingProblem, is_corrected};
use crate::api::published::{FabricState, State};
use crate::api::rfc3339;
use crate::output::table::count;

/// Most parts of a condition that are named.
const PARTS_MAX: usize = 64;

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::api) struct Condition {
    /// What it is, independent of time and of the SM that finds it.
    pub(in crate::api) key: String,
    pub(in crate::api) kind: &'static str,
    pub(in crate::api) severity: EventSeverity,
    pub(in crate::api) object: ObjectName,
    /// Where, as `health` names it.
    pub(in crate::api) place: String,
    pub(in crate::api) text: String,
    /// Since when, in RFC 3339, if known.
    pub(in crate::api) since: Option<String>,
    /// How often a link went down; 0 for other conditions.
    pub(in crate::api) times_down: u32,
    /// The key of the condition that explains it.
    pub(in crate::api) cause: Option<String>,
    /// What is down because of it, at most [`PARTS_MAX`].
    pub(in crate::api) parts: Vec<String>,
    pub(in crate::api) num_parts: usize,
    /// It is about this service, not about the fabric.
    pub(in crate::api) is_of_service: bool,
}

/// What is wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::api) struct Conditions {
    pub(in crate::api) items: Vec<Condition>,
    /// Those of the fabric are known: this SM is master, and a sweep is complete.
    pub(in crate::api) covers_fabric: bool,
}

impl Condition {
    fn new(key: String, kind: &'static str, object: ObjectName, text: String) -> Self {
        Self {
            key,
            kind,
            severity: EventSeverity::Error,
            place: if object.name.is_empty() {
                object.guid.clone()
            } else {
                object.name.clone()
            },
            object,
            text,
            since: None,
            times_down: 0,
            cause: None,
            parts: Vec::new(),
            num_parts: 0,
            is_of_service: false,
        }
    }

    fn add_part(&mut self, name: String) {
        if self.parts.len() < PARTS_MAX {
            self.parts.push(name);
        }
        self.num_parts += 1;
    }
}

/// What is wrong in a state.
pub(in crate::api) fn conditions(state: &State) -> Conditions {
    let mut items = of_service(state);
    let is_master = state.role == SmState::Master;
    let fabric = state.fabric.as_ref();
    let known = fabric.filter(|fabric| is_master && fabric.report.is_some());
    if let Some(fabric) = known {
        add_fabric(state, fabric, &mut items);
    }
    Conditions {
        items,
        covers_fabric: known.is_some(),
    }
}

/// SMs that could not take over, and a key that the configuration does not have.
fn add_keys(state: &State, own: &ObjectName, items: &mut Vec<Condition>) {
    let report = &state.sm_reports.m_keys;
    let lacking = report.sms.iter().filter(|(_, key)| *key == SmMKey::Other);
    for (guid, _) in lacking {
        let kind = "sm-without-m-key";
        let sm = sm_name(state, *guid);
        let text = "SM with another M_Key: it gets no handover, and could not take over";
        items.push(Condition {
            is_of_service: true,
            ..Condition::new(format!("{kind}:{guid}"), kind, sm, text.to_owned())
        });
    }
    for (guid, sections) in &state.sm_reports.other_configs {
        if !sections.is_empty() {
            let kind = "sm-with-other-config";
            let text = format!("SM with another configuration, in: {sections}");
            items.push(Condition {
                severity: EventSeverity::Warning,
                is_of_service: true,
                ..Condition::new(format!("{kind}:{guid}"), kind, sm_name(state, *guid), text)
            });
        }
    }
    let m_key = (
        report.is_rotated,
        "m-key-not-configured",
        "only the state directories have the M_Key in force: rotate it to that of a --key-file, and set subnet.m-key of all SMs to it",
    );
    let sm_key = (
        state.sm_reports.sm_keys.is_rotated,
        "sm-key-not-configured",
        "only the state directories have the SM_Key in force: rotate it to that of a --key-file, and set sm.sm-key of all SMs to it",
    );
    for (_, kind, text) in [m_key, sm_key].into_iter().filter(|(rotated, ..)| *rotated) {
        items.push(Condition {
            severity: EventSeverity::Warning,
            is_of_service: true,
            ..Condition::new(kind.to_owned(), kind, own.clone(), text.to_owned())
        });
    }
}

fn sm_name(state: &State, guid: PortGuid) -> ObjectName {
    let known = state.fabric.as_ref().and_then(|fabric| {
        let at = fabric.snapshot.by_guid(guid)?;
        Some(end_port_name(&fabric.snapshot, at))
    });
    known.unwrap_or_else(|| ObjectName {
        guid: guid.to_string(),
        ..subnet("SM")
    })
}

/// What is wrong with this service, whatever its role.
fn of_service(state: &State) -> Vec<Condition> {
    let mut items = Vec::new();
    let local = state.fabric.as_ref().and_then(|fabric| {
        let snapshot = &fabric.snapshot;
        snapshot.local.map(|local| end_port_name(snapshot, local))
    });
    let object = local.unwrap_or_else(|| subnet("local port"));
    if let Some(why) = &state.no_link {
        let kind = "local-port-unusable";
        let text = format!("local port unusable: {why}");
        items.push(Condition {
            is_of_service: true,
            ..Condition::new(kind.to_owned(), kind, object.clone(), text)
        });
    }
    if state.replicas.is_unprotected {
        let kind = "records-not-replicated";
        let text = "no standby has all records: if this master fails now, hosts register again";
        items.push(Condition {
            severity: EventSeverity::Warning,
            is_of_service: true,
            ..Condition::new(kind.to_owned(), kind, object.clone(), text.to_owned())
        });
    }
    for guid in &state.replicas.out_of_sync {
        let kind = "standby-out-of-sync";
        let known = state.fabric.as_ref().and_then(|fabric| {
            let snapshot = &fabric.snapshot;
            snapshot
                .by_guid(*guid)
                .map(|at| end_port_name(snapshot, at))
        });
        let standby = known.unwrap_or_else(|| ObjectName {
            guid: guid.to_string(),
            ..subnet("standby")
        });
        let text = "standby out of sync: it does not have all records".to_owned();
        items.push(Condition {
            severity: EventSeverity::Warning,
            is_of_service: true,
            ..Condition::new(format!("{kind}:{guid}"), kind, standby, text)
        });
    }
    for ignored in &state.sm_reports.ignored {
        let kind = "sm-ignored";
        let guid = ignored.info.guid;
        let is_second_master =
            [state.role, ignored.info.sm_state] == [SmState::Master, SmState::Master];
        let (severity, text) = match is_second_master {
            true => (EventSeverity::Error, "second master of the fabric, ignored"),
            false => (EventSeverity::Warning, "SM ignored"),
        };
        let text = format!("{text}: {}", ignored.reason);
        items.push(Condition {
            severity,
            is_of_service: true,
            ..Condition::new(format!("{kind}:{guid}"), kind, sm_name(state, guid), text)
        });
    }
    if state.role == SmState::Master {
        add_keys(state, &object, &mut items);
    }
    // A master reports it as a problem.
    if let Some(awaited) = state.awaits_consent.as_ref()
        && state.role != SmState::Master
    {
        let kind = "consent-awaited";
        let text = format!("consent awaited for {awaited}");
        items.push(Condition {
            severity: EventSeverity::Warning,
            is_of_service: true,
            ..Condition::new(kind.to_owned(), kind, object, text)
        });
    }
    items
}

fn add_fabric(state: &State, fabric: &FabricState, items: &mut Vec<Condition>) {
    let mut nodes = absent_nodes(fabric);
    let mut links = Vec::new();
    // What is down by command is no deviation, nor is a link that trains after it.
    let is_disabled = |key: &LinkKey, link: &Link| {
        link.maintenance == Some(MaintenanceKind::DisabledPort)
            || key.iter().any(|end| state.enabled_ports.contains(end))
    };
    let mut disabled_ends = BTreeSet::new();
    for (key, link) in down_links(fabric, &state.maintenance) {
        if is_disabled(&key, &link) {
            disabled_ends.extend(key.map(|(guid, _)| guid));
            continue;
        }
        add_down_link(state, &key, &link, &mut nodes, &mut links);
    }
    let maintained = state.maintenance.iter().map(|entry| entry.target);
    let drained: BTreeSet<MaintenanceTarget> = maintained.collect();
    nodes.retain(|guid, node| {
        let is_disabled = disabled_ends.contains(guid) && node.condition.num_parts == 0;
        !is_disabled && !drained.contains(&MaintenanceTarget::Switch(*guid))
    });
    for node in nodes.values_mut() {
        let Condition {
            num_parts, text, ..
        } = &mut node.condition;
        if *num_parts > 0 {
            text.push_str(&format!(
                "; {}",
                count(*num_parts, "link down", "links down")
            ));
        }
    }
    let mut unreachable = BTreeSet::new();
    for standing in state.problems.iter() {
        let kind = &standing.problem.kind;
        if is_corrected(kind) {
            continue;
        }
        let device = unreachable_device(standing);
        let Some(node) = device.and_then(|guid| nodes.get_mut(&guid)) else {
            let mut condition = of_problem(standing, &fabric.snapshot);
            // It has the same alarm when it leaves the subnet.
            if let Some(guid) = device {
                condition.key = key_of_node(guid);
            }
            if device.is_none_or(|guid| unreachable.insert(guid)) {
                items.push(condition);
            }
            continue;
        };
        if matches!(kind, ProblemKind::Excluded(..)) {
            node.condition.kind = kind.name();
            node.condition.text = format!("{kind}; {}", node.condition.text);
        }
    }
    if let Some(why) = &state.routing_failure {
        let kind = "routing-failed";
        let text = format!("no engine has a verified routing; the installed routes stay: {why}");
        items.push(Condition::new(
            kind.to_owned(),
            kind,
            subnet("subnet"),
            text,
        ));
    }
    items.extend(nodes.into_values().map(|node| node.condition));
    items.append(&mut links);
    add_flapping_links(state, fabric, items);
    add_intent(state, items);
    items.extend(
        degraded_links(fabric, &state.maintenance).map(|(ends, link)| {
            let key = link_key(&fabric.snapshot, ends.a, ends.b);
            let text = format!("runs at {} of {}", link.rate, link.possible_rate);
            let condition = of_link("link-rate", &key, "link-degraded", &link, text);
            Condition {
                severity: EventSeverity::Warning,
                ..condition
            }
        }),
    );
}

/// Violated invariants, and cables that are not as planned.
fn add_intent(state: &State, items: &mut Vec<Condition>) {
    let compared = &state.compared_intent;
    let statuses = compared.invariants.iter();
    for status in statuses.filter(|status| status.state == InvariantState::Violated) {
        let kind = "invariant-violated";
        let text = format!("{}: {}", status.rule, status.text);
        let object = subnet(&status.name);
        items.push(Condition::new(
            format!("{kind}:{}", status.name),
            kind,
            object,
            text,
        ));
    }
    let kind = "cabling";
    if let Some(error) = &compared.cabling_error {
        let text = format!("the plan of the cables cannot be compared: {error}");
        items.push(Condition::new(
            kind.to_owned(),
            kind,
            subnet("cabling.plan"),
            text,
        ));
    }
    for finding in &compared.cabling {
        // A cable that is down, or whose node left, has an alarm of its own.
        let mut others = items.iter();
        let cause = others.find(|other| {
            let name = &other.object.name;
            finding.location == *name || finding.planned.iter().any(|link| is_link(link, name))
        });
        let planned = finding.planned.first().unwrap_or(&finding.location);
        let key = format!("{kind}:{}:{planned}", finding.kind.name());
        let text = format!("{}: {}", finding.kind.name(), finding.text);
        let condition = Condition {
            severity: EventSeverity::Warning,
            cause: cause.map(|cause| cause.key.clone()),
            ..Condition::new(key, kind, subnet(&finding.location), text)
        };
        items.push(condition);
    }
}

/// Whether two names of links are of one link, whichever end is first.
fn is_link(one: &str, other: &str) -> bool {
    let is_reversed = || {
        let (a, b) = one.split_once(" - ")?;
        Some(other.split_once(" - ")? == (b, a))
    };
    one == other || is_reversed() == Some(true)
}

/// The device that does not respond, of a problem that says so and is located there.
#[allow(
    clippy::wildcard_enum_match_arm,
    reason = "other problems are of devices that respond"
)]
fn unreachable_device(standing: &StandingProblem) -> Option<NodeGuid> {
    let Problem { location, kind } = &standing.problem;
    let Location::Port(port) = location else {
        return None;
    };
    let is_there = match kind {
        ProblemKind::NoResponse { .. } | ProblemKind::MKeyRejected => true,
        // Others are located at the port in front of the device.
        ProblemKind::Excluded(ExclusionReason::NoResponse, _) => port.port == PortNum::ZERO,
        _ => false,
    };
    port.node.map(|node| node.guid).filter(|_| is_there)
}

fn key_of_node(guid: NodeGuid) -> String {
    format!("node:{guid}")
}

/// A node that left.
struct AbsentNode {
    condition: Condition,
    kind: NodeKind,
}

fn absent_nodes(fabric: &FabricState) -> BTreeMap<NodeGuid, AbsentNode> {
    let absent = fabric.history.absent_nodes();
    absent
        .map(|(guid, node)| {
            let object = ObjectName {
                guid: guid.to_string(),
                name: node.name.clone(),
                location: node.location.clone(),
            };
            let text = if node.location.is_empty() || node.location == node.name {
                "absent".to_owned()
            } else {
                format!("absent; last seen at {}", node.location)
            };
            let condition = Condition {
                since: Some(rfc3339(node.since)),
                ..Condition::new(key_of_node(guid), "node-absent", object, text)
            };
            let kind = node.kind;
            (guid, AbsentNode { condition, kind })
        })
        .collect()
}

/// Adds a link that is down: to a node that left, or as a condition of its own.
fn add_down_link(
    state: &State,
    key: &LinkKey,
    link: &Link,
    nodes: &mut BTreeMap<NodeGuid, AbsentNode>,
    links: &mut Vec<Condition>,
) {
    let [a, b] = key.map(|(guid, _)| guid);
    let kind_of = |guid| nodes.get(&guid).map(|node| node.kind);
    let owner = match (kind_of(a), kind_of(b)) {
        (Some(NodeKind::Switch), Some(NodeKind::Ca | NodeKind::Router)) => Some((b, Some(a))),
        (Some(NodeKind::Ca | NodeKind::Router), Some(_)) => Some((a, Some(b))),
        (Some(_), _) => Some((a, None)),
        (None, Some(_)) => Some((b, None)),
        (None, None) => None,
    };
    if let Some((owner, cause)) = owner
        && let Some(node) = nodes.get_mut(&owner)
    {
        let name = format!("{} - {}", link.a.location(), link.b.location());
        node.condition.add_part(name);
        if let Some(cause) = cause {
            node.condition.cause = Some(key_of_node(cause));
        }
        return;
    }
    let note = if link.note.is_empty() {
        String::new()
    } else {
        format!(": {}", link.note)
    };
    links.push(match state.flapping.get(key) {
        Some(flaps) => {
            let text = format!("flapping: lost {flaps} times in a row; down{note}");
            of_link("link", key, "link-flapping", link, text)
        }
        None => of_link("link", key, "link-down", link, format!("down{note}")),
    });
}

/// Adds links that flap and are up now.
fn add_flapping_links(state: &State, fabric: &FabricState, items: &mut Vec<Condition>) {
    let snapshot = &fabric.snapshot;
    let down: BTreeSet<&LinkKey> = fabric.history.down_links().map(|(key, _)| key).collect();
    for (key, flaps) in state.flapping.iter().filter(|(key, _)| !down.contains(key)) {
        let slots = key.map(|(guid, _)| snapshot.by_node_guid(guid));
        let [Some(a), Some(b)] = slots else {
            continue;
        };
        let name = |slot: u32, port: PortNum| format!("{}/{port}", snapshot.node(slot).name());
        let ends = [name(a, key[0].1), name(b, key[1].1)];
        let object = ObjectName {
            guid: key[0].0.to_string(),
            name: ends.join(" - "),
            location: ends[0].clone(),
        };
        let text = format!("flapping: lost {flaps} times in a row; up now");
        let changes = fabric.history.link(key);
        items.push(Condition {
            since: changes.map(|changes| rfc3339(changes.since)),
            times_down: changes.map_or(0, |changes| changes.times_down),
            ..Condition::new(text_of_key("link", key), "link-flapping", object, text)
        });
    }
}

/// `link:0x...:5-0x...:1`.
fn text_of_key(name: &str, key: &LinkKey) -> String {
    let ends = key.map(|(guid, port)| format!("{guid}:{port}"));
    format!("{name}:{}", ends.join("-"))
}

fn of_link(name: &str, key: &LinkKey, kind: &'static str, link: &Link, text: String) -> Condition {
    let object = ObjectName {
        guid: link.a.guid.clone(),
        name: format!("{} - {}", link.a.location(), link.b.location()),
        location: link.a.location(),
    };
    Condition {
        since: link.since.clone(),
        times_down: link.times_down,
        ..Condition::new(text_of_key(name, key), kind, object, text)
    }
}

fn of_problem(standing: &StandingProblem, snapshot: &Snapshot) -> Condition {
    let Problem { location, kind } = &standing.problem;
    let (object, place) = object_at(location, snapshot);
    let condition = Condition::new(
        format!("{}:{place}", kind.name()),
        kind.name(),
        object,
        kind.to_string(),
    );
    Condition {
        place: location.to_string(),
        severity: match kind.is_severe() {
            true => EventSeverity::Error,
            false => EventSeverity::Warning,
        },
        since: Some(rfc3339(standing.since)),
        ..condition
    }
}

/// The object at a location, and a text for keys.
fn object_at(location: &Location, snapshot: &Snapshot) -> (ObjectName, String) {
    let Location::Port(port) = location else {
        let text = location.to_string();
        return (subnet(&text), text);
    };
    let Some(node) = port.node else {
        let text = port.to_string();
        return (subnet(&text), text);
    };
    let slot = snapshot.by_node_guid(node.guid);
    let at = slot.and_then(|slot| snapshot.port_by_num(slot, port.port));
    let name = node.description.unquoted();
    let place = match (slot, at) {
        (_, Some(at)) if port.port != PortNum::ZERO => port_location(snapshot, at),
        (Some(slot), _) => node_location(snapshot, slot),
        (None, _) => name.clone(),
    };
    let object = ObjectName {
        guid: node.guid.to_string(),
        name: match at {
            Some(at) if port.port != PortNum::ZERO => link_end(snapshot, at).location(),
            Some(_) | None => name,
        },
        location: place,
    };
    (object, format!("{}:{}", node.guid, port.port))
}

/// What has no GUID.
fn subnet(name: &str) -> ObjectName {
    ObjectName {
        guid: String::new(),
        name: name.to_owned(),
        location: name.to_owned(),
    }
}
