//! Which events are changes, and how they read.

use ferrosm_api::change::ChangeKind;
use ferrosm_core::{Event, SweepReport};
use ferrosm_fabric::location::{NodeName, PortName};
use ferrosm_mad::ids::PortNum;

use crate::output::table::count;

/// A change as an event describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::api) struct Described {
    pub(super) kind: ChangeKind,
    pub(in crate::api) what: String,
    pub(super) object: Option<String>,
    pub(super) state: Option<&'static str>,
    pub(super) nodes: Vec<String>,
    pub(super) cause: Option<String>,
}

impl Described {
    fn new(kind: ChangeKind, what: String) -> Self {
        Self {
            kind,
            what,
            object: None,
            state: None,
            nodes: Vec::new(),
            cause: None,
        }
    }

    fn with_state(mut self, object: String, state: &'static str) -> Self {
        self.object = Some(object);
        self.state = Some(state);
        self
    }

    fn of_nodes(mut self, nodes: impl IntoIterator<Item = NodeName>) -> Self {
        for node in nodes {
            self.nodes.push(node.description.unquoted());
            self.nodes.push(node.guid.to_string());
        }
        self
    }

    fn caused_by(mut self, cause: impl ToString) -> Self {
        self.cause = Some(cause.to_string());
        self
    }
}

/// The change that an event describes; `None` if it describes none.
#[allow(
    clippy::wildcard_enum_match_arm,
    reason = "other events are no changes"
)]
pub(in crate::api) fn describe(event: &Event) -> Option<Described> {
    use ChangeKind::{Link, Mastership, Node, Partition, Routing};
    let of_link = |what: &str, ends: [PortName; 2]| {
        let text = format!("{what} {}", link(&ends));
        Described::new(Link, text).of_nodes(ends.into_iter().filter_map(|end| end.node))
    };
    let of_node = |what: &str, node: NodeName| {
        Described::new(Node, format!("{what} {}", node_text(&node))).of_nodes([node])
    };
    Some(match event {
        Event::LinkUp(a, b) => {
            let ends = [*a, *b];
            of_link("link up", ends).with_state(link(&ends), "up")
        }
        Event::LinkDown(a, b) => {
            let ends = [*a, *b];
            of_link("link down", ends).with_state(link(&ends), "down")
        }
        Event::LinkFlapping(flaps) => of_link("link flapping", flaps.ends),
        Event::LinkInterrupted(a, b) => of_link("link interrupted", [*a, *b]),
        Event::LinkStable(ends) => of_link("link stable again", *ends),
        Event::LinkDegraded(change) => {
            let rates = format!("link degraded to {} of {}", change.active, change.possible);
            of_link(&rates, change.ends).with_state(link(&change.ends), "degraded")
        }
        Event::LinkRestored(change) => {
            of_link("link no longer degraded", change.ends).with_state(link(&change.ends), "up")
        }
        Event::LinkMoved(at) => {
            Described::new(Link, format!("link moved {}", port(at))).of_nodes(at.node)
        }
        Event::NodeAdded(node, _) => {
            of_node("node added", *node).with_state(node_text(node), "present")
        }
        Event::NodeRemoved(node, reason) => of_node("node removed", *node)
            .with_state(node_text(node), "absent")
            .caused_by(reason),
        Event::SwitchRestarted(node) => of_node("switch restarted", *node),
        Event::PartitionMembersAbsent(_)
        | Event::FullMembershipsLost(_)
        | Event::GroupMembersRemoved(_)
        | Event::GroupParametersChanged(_)
        | Event::ConsentAwaited { .. }
        | Event::ConsentGiven => Described::new(Partition, text(event)),
        Event::RoutingFailed(failure) => {
            Described::new(Routing, "routing failed".to_owned()).caused_by(failure)
        }
        Event::RoleChanged { state, why } => {
            Described::new(Mastership, format!("role changed to {state}")).caused_by(why)
        }
        Event::Stopped { .. } => Described::new(Mastership, text(event)),
        _ => return None,
    })
}

/// How the SM noticed what it finds in the next sweep.
#[allow(
    clippy::wildcard_enum_match_arm,
    reason = "other events notice nothing"
)]
pub(in crate::api) fn notice(event: &Event) -> Option<String> {
    match event {
        Event::TrapReceived {
            number, location, ..
        } => Some(format!("trap {number} from {location}")),
        Event::ChangesFound(reasons) => Some(format!("light sweep: {reasons}")),
        Event::InconsistencyFound => Some("inconsistency found".to_owned()),
        _ => None,
    }
}

/// What a sweep wrote.
pub(in crate::api) fn effect(report: &SweepReport) -> String {
    let mut parts = Vec::new();
    let mut add = |n: u64, one: &str, many: &str| {
        if n > 0 {
            parts.push(count(n, one, many));
        }
    };
    add(report.lids_changed as u64, "LID", "LIDs");
    add(report.lft_blocks_written, "LFT block", "LFT blocks");
    add(report.drained_lids as u64, "LID drained", "LIDs drained");
    if report.failed {
        parts.push("no routing".to_owned());
    } else if parts.is_empty() {
        parts.push("nothing written".to_owned());
    }
    let ms = report.took.as_millis();
    format!("sweep {}: {}, {ms} ms", report.number, parts.join(", "))
}

/// Whether a sweep changed routes or LIDs.
pub(super) const fn has_written(report: &SweepReport) -> bool {
    report.lids_changed > 0 || report.lft_blocks_written > 0
}

/// The line of the log.
fn text(event: &Event) -> String {
    let mut text = event.row().name.to_owned();
    for (name, value) in event.fields().as_slice() {
        text.push_str(&format!(" {name}={value}"));
    }
    text
}

/// `leaf-0-0/5 - spine-0-0/1`: the same whichever end reports it.
fn link(ends: &[PortName; 2]) -> String {
    let mut names = ends.each_ref().map(port);
    names.sort();
    names.join(" - ")
}

/// `leaf-0-0/5`.
fn port(port: &PortName) -> String {
    match (&port.node, port.port) {
        (Some(node), PortNum::ZERO) => node_text(node),
        (Some(node), number) => format!("{}/{number}", node_text(node)),
        (None, number) => format!("?/{number}"),
    }
}

fn node_text(node: &NodeName) -> String {
    let name = node.description.unquoted();
    match name.is_empty() {
        true => node.guid.to_string(),
        false => name,
    }
}
