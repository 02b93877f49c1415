//! Why a node or port is as it is.

use ferrosm_api::alarm::{Alarm, AlarmState};
use ferrosm_api::answer::{ApiError, ErrorKind};
use ferrosm_api::explain::{Fact, ObjectExplanation, ObjectQuery};
use ferrosm_api::fabric::{Link, LinkEnd, LinkState, Node, Presence};
use ferrosm_api::object::ObjectName;
use ferrosm_core::config::maintenance::Maintenance;
use ferrosm_fabric::location::Location;
use ferrosm_fabric::snapshot::{PortIdx, Snapshot};
use ferrosm_mad::ids::{Lid, PortNum};

use super::changes_of;
use crate::api::alarms::Alarms;
use crate::api::changes::ChangeLog;
use crate::api::names::port_location;
use crate::api::published::{FabricState, State};
use crate::api::{fabric as rows, lookup, maintenance, rfc3339};

/// What an explanation of a node or port is made from.
pub(in crate::api) struct ObjectSources<'a> {
    pub(in crate::api) state: &'a State,
    pub(in crate::api) fabric: &'a FabricState,
    pub(in crate::api) alarms: &'a Alarms,
    pub(in crate::api) changes: &'a ChangeLog,
}

fn not_found(text: &str) -> ApiError {
    ApiError::new(
        ErrorKind::NotFound,
        format!("no node is named `{text}`"),
        "`ferrosm nodes` lists the names.",
    )
}

/// The one node that a text names.
fn named_node(fabric: &FabricState, text: &str) -> Result<u32, ApiError> {
    let snapshot = &fabric.snapshot;
    let found = lookup::end_ports(fabric, text)?;
    let mut slots: Vec<u32> = found.iter().map(|at| snapshot.end_port(*at).node).collect();
    slots.dedup();
    match slots[..] {
        [one] => Ok(one),
        // Names the candidates.
        [..] => lookup::end_port(fabric, text).map(|at| snapshot.end_port(at).node),
    }
}

/// The port that a text names; `name/port` also names ports of switches.
fn named_port(fabric: &FabricState, text: &str) -> Result<PortIdx, ApiError> {
    let snapshot = &fabric.snapshot;
    if let Some((name, number)) = text.rsplit_once('/')
        && let Ok(number) = number.parse::<u8>()
        && let Ok(slot) = named_node(fabric, name)
    {
        let found = snapshot.port_by_num(slot, PortNum(number));
        return found.ok_or_else(|| {
            let ports = snapshot.node(slot).node_info().num_ports;
            ApiError::new(
                ErrorKind::NotFound,
                format!("{name} has no port {number}"),
                format!("Its ports are 1 to {ports}."),
            )
        });
    }
    lookup::end_port(fabric, text).map(|at| snapshot.end_port(at).port)
}

fn fact(topic: &str, text: impl Into<String>) -> Fact {
    Fact {
        topic: topic.to_owned(),
        text: text.into(),
    }
}

impl ObjectSources<'_> {
    /// Explains a node, also one that left the subnet.
    pub(in crate::api) fn node(&self, query: &ObjectQuery) -> Result<ObjectExplanation, ApiError> {
        let absent = lookup::absent_node(self.fabric, &query.name);
        let guid = match absent {
            Some((guid, _)) => guid,
            None => {
                let slot = named_node(self.fabric, &query.name)?;
                self.fabric.snapshot.node(slot).guid
            }
        };
        let text = guid.to_string();
        match rows::nodes(self.fabric).find(|node| node.guid == text) {
            Some(node) => Ok(self.of_node(&node)),
            None => Err(not_found(&query.name)),
        }
    }

    /// Explains a port of the subnet.
    pub(in crate::api) fn port(&self, query: &ObjectQuery) -> Result<ObjectExplanation, ApiError> {
        named_port(self.fabric, &query.name).map(|at| self.of_port(at))
    }

    fn of_node(&self, node: &Node) -> ObjectExplanation {
        let object = ObjectName {
            guid: node.guid.clone(),
            name: node.name.clone(),
            location: node.location.clone(),
        };
        let links: Vec<Link> = self
            .links()
            .filter(|link| link.a.guid == node.guid || link.b.guid == node.guid)
            .collect();
        let mut facts = vec![fact("kind", node.kind.name())];
        let since = node.since.as_deref();
        facts.push(match (node.state, since) {
            (Presence::Present, None) => fact("state", "present"),
            (Presence::Present, Some(since)) => fact("state", format!("present since {since}")),
            (Presence::Absent, since) => fact(
                "state",
                format!(
                    "absent since {}, last seen at {}",
                    since.unwrap_or("an unknown time"),
                    node.location
                ),
            ),
        });
        if node.state == Presence::Present {
            facts.push(fact(
                "ports",
                format!("{} of {} have a link", node.ports_linked, node.ports),
            ));
            let lids: Vec<String> = node.lids.iter().map(ToString::to_string).collect();
            facts.push(fact(
                "LID",
                match lids.is_empty() {
                    true => "none".to_owned(),
                    false => lids.join(", "),
                },
            ));
        }
        facts.extend(
            links
                .iter()
                .filter(|link| link.state != LinkState::Up)
                .map(|link| fact("link", link_text(link))),
        );
        facts.extend(self.maintenance_facts(|entry| entry.target.node().to_string() == node.guid));
        self.explanation(object, None, facts)
    }

    fn of_port(&self, at: PortIdx) -> ObjectExplanation {
        let snapshot = &*self.fabric.snapshot;
        let node = snapshot.node(at.node());
        let object = ObjectName {
            guid: node.guid.to_string(),
            name: format!("{}/{}", node.name(), at.num()),
            location: port_location(snapshot, at),
        };
        let guid = node.guid.to_string();
        let mut facts = Vec::new();
        match rows::port(snapshot, at) {
            Some(row) => {
                facts.push(fact(
                    "state",
                    format!("{}, physically {}", row.state, row.physical_state),
                ));
                if row.lid != 0 {
                    facts.push(fact("LID", row.lid.to_string()));
                }
                facts.push(fact("MTU", format!("{} bytes", row.mtu)));
            }
            None => facts.push(fact("state", "its PortInfo was not read")),
        }
        let link = self.links().find(|link| {
            let is_end = |end: &LinkEnd| end.guid == guid && end.port == at.num().0;
            is_end(&link.a) || is_end(&link.b)
        });
        facts.push(match link {
            Some(link) => fact("link", link_text(&link)),
            None if at.num() == PortNum::ZERO => fact("link", "management port of the switch"),
            None => fact("link", "none, and none was seen"),
        });
        if let Some(routes) = routes_through(snapshot, at) {
            let count = match routes {
                1 => "1 LID is".to_owned(),
                n => format!("{n} LIDs are"),
            };
            facts.push(fact("routes", format!("{count} forwarded through it")));
        }
        let keys = snapshot
            .end_port_at(at)
            .and_then(|end| snapshot.end_port(end).pkeys.as_ref());
        if let Some(keys) = keys {
            let keys: Vec<String> = keys.as_slice().iter().map(ToString::to_string).collect();
            facts.push(fact("P_Keys", keys.join(", ")));
        }
        facts.extend(self.maintenance_facts(|entry| {
            entry.target.node() == node.guid
                && entry.target.port().is_none_or(|port| port == at.num())
        }));
        self.explanation(object, Some(at.num()), facts)
    }

    fn links(&self) -> impl Iterator<Item = Link> {
        rows::links(self.fabric, &self.state.maintenance)
    }

    fn maintenance_facts(&self, concerns: impl Fn(&Maintenance) -> bool) -> Vec<Fact> {
        let entries = self.state.maintenance.iter();
        entries
            .filter(|entry| concerns(entry))
            .map(|entry| fact("maintenance", maintenance::note(entry)))
            .collect()
    }

    fn explanation(
        &self,
        object: ObjectName,
        port: Option<PortNum>,
        facts: Vec<Fact>,
    ) -> ObjectExplanation {
        let is_here = |location: &Location| match location {
            Location::Port(at) => {
                at.node
                    .is_some_and(|node| node.guid.to_string() == object.guid)
                    && port.is_none_or(|port| port == at.port || at.port == PortNum::ZERO)
            }
            Location::LocalNode | Location::Lid(_) | Location::Subnet => false,
        };
        let problems = self.state.problems.iter();
        let open = self.alarms.list().into_iter();
        let concerns = |alarm: &Alarm| {
            let name = &object.name;
            alarm.state != AlarmState::Cleared
                && (alarm.object.guid == object.guid || alarm.object.name.contains(name.as_str()))
        };
        ObjectExplanation {
            problems: problems
                .filter(|standing| is_here(&standing.problem.location))
                .map(|standing| {
                    let since = rfc3339(standing.since);
                    format!("{}, since {since}", standing.problem)
                })
                .collect(),
            alarms: open.filter(concerns).collect(),
            changes: changes_of(self.changes, &object.guid),
            object,
            facts,
        }
    }
}

/// What is known about a link.
fn link_text(link: &Link) -> String {
    let ends = format!("{} - {}", link.a.location(), link.b.location());
    let state = match link.state {
        LinkState::Up => format!("up at {}", link.rate),
        LinkState::NotActive => "not Active".to_owned(),
        LinkState::Degraded => format!("up at {} of {}", link.rate, link.possible_rate),
        LinkState::Down => "down".to_owned(),
    };
    let since = match &link.since {
        Some(since) => format!(" since {since}"),
        None => String::new(),
    };
    let times_down = match link.times_down {
        0 => String::new(),
        1 => ", was down once".to_owned(),
        n => format!(", was down {n} times"),
    };
    let note = match link.note.as_str() {
        "" => String::new(),
        note => format!(" ({note})"),
    };
    format!("{ends}: {state}{since}{times_down}{note}")
}

/// LIDs that a switch forwards through a port; `None` without a table.
fn routes_through(snapshot: &Snapshot, at: PortIdx) -> Option<usize> {
    let lft = snapshot.node(at.node()).installed_lft()?;
    let end_ports = snapshot.end_ports().iter();
    let lids = end_ports.flat_map(|end| {
        let count = 1u16 << end.lmc.0;
        let first = end.lid.0;
        (first..first.saturating_add(count)).map(Lid)
    });
    Some(
        lids.filter(|lid| lid.0 != 0 && lft.get(*lid) == at.num())
            .count(),
    )
}
