//! Resolution of names to indices, and of commands to actions.

use std::collections::BTreeMap;

use ferrosm_mad::attr::TrapNumber;
use ferrosm_mad::ids::{NodeGuid, PortGuid};

use super::ast::{
    AgentSetting, LinkRef, LinkVerb, NodeRef, NodeVerb, ScenarioCommand, ScenarioPort,
    ScenarioTarget, ScopeRef, TextColumn, TransportSetting,
};
use super::error::{ScenarioError, ScenarioProblem};
use crate::fabric::{Fabric, PortCounter};
use crate::faults::{AgentFault, FabricAction, FaultScope, LinkDirection, TransportFault};
use crate::foreign_sm::ForeignSm;
use crate::spec::{LinkSpec, NodeIdx, PortAt};

type Result<T> = std::result::Result<T, ScenarioError>;

/// Names and GUIDs of a fabric's nodes.
#[derive(Debug, Clone, Default)]
pub struct NodeNames {
    by_name: BTreeMap<String, Vec<NodeIdx>>,
    by_guid: BTreeMap<u64, Vec<NodeIdx>>,
    nodes: usize,
}

impl NodeNames {
    /// The current names and GUIDs.
    #[must_use]
    pub fn of(fabric: &Fabric) -> Self {
        let mut names = Self {
            nodes: fabric.num_nodes(),
            ..Self::default()
        };
        for node in 0..names.nodes {
            let name = fabric.description(node).to_string();
            names.by_name.entry(name).or_default().push(node);
            let guid = fabric.node_guid(node).0;
            names.by_guid.entry(guid).or_default().push(node);
        }
        for port in fabric.end_ports() {
            let owners = names.by_guid.entry(fabric.port_guid(port).0).or_default();
            if owners.is_empty() {
                owners.push(port.node);
            }
        }
        names
    }

    /// The node of a reference.
    ///
    /// # Errors
    /// If it is unknown or ambiguous.
    pub fn node(&self, node: &NodeRef) -> Result<NodeIdx> {
        let (found, column) = match node {
            NodeRef::Name(name, column) => (self.by_name.get(name), column),
            NodeRef::Guid(guid, column) => (self.by_guid.get(guid), column),
            NodeRef::Index(index, column) => {
                return if *index < self.nodes {
                    Ok(*index)
                } else {
                    Err(no_such_node(node, *column))
                };
            }
        };
        match found.map_or(&[][..], Vec::as_slice) {
            [] => Err(no_such_node(node, *column)),
            [one] => Ok(*one),
            several => Err(ScenarioError::new(
                column.0,
                ScenarioProblem::AmbiguousNode {
                    name: node.to_string(),
                    count: several.len(),
                },
            )),
        }
    }

    /// The port of a reference: any port of the node, including port 0 of a switch.
    ///
    /// # Errors
    /// If the node or port does not exist.
    pub fn port(&self, port: &ScenarioPort, fabric: &Fabric) -> Result<PortAt> {
        let node = self.node(&port.node)?;
        let at = PortAt::new(node, port.port);
        let lowest = u8::from(!fabric.is_switch(node));
        let highest = fabric.num_ports(node);
        if (lowest..=highest).contains(&port.port) {
            Ok(at)
        } else {
            let usable = format!("it has {}", ports(lowest, highest));
            Err(no_such_port(port, false, usable))
        }
    }

    /// The end port of a reference: port 0 of a switch, otherwise the given port or the first one
    /// with a cable.
    ///
    /// # Errors
    /// If the node or end port does not exist.
    pub fn end_port(&self, target: &ScenarioTarget, fabric: &Fabric) -> Result<PortAt> {
        match target {
            ScenarioTarget::Port(port) => {
                let at = self.port(port, fabric)?;
                if fabric.is_switch(at.node) && at.port != 0 {
                    let usable = "of a switch, only port 0 has a LID and a GUID".to_owned();
                    return Err(no_such_port(port, true, usable));
                }
                Ok(at)
            }
            ScenarioTarget::Node(node) => {
                let node = self.node(node)?;
                if fabric.is_switch(node) {
                    return Ok(PortAt::new(node, 0));
                }
                let mut ports = fabric.external_ports(node);
                let cabled = ports.find(|p| fabric.cable_at(*p).is_some());
                Ok(cabled.unwrap_or_else(|| PortAt::new(node, 1)))
            }
        }
    }

    /// A port that can have a cable.
    fn cable_port(&self, port: &ScenarioPort, fabric: &Fabric) -> Result<PortAt> {
        if port.port == 0 {
            let node = self.node(&port.node)?;
            let usable = format!("{} can have a cable", ports(1, fabric.num_ports(node)));
            return Err(no_such_port(port, fabric.is_switch(node), usable));
        }
        self.port(port, fabric)
    }

    fn link_direction(&self, link: &LinkRef, fabric: &Fabric) -> Result<LinkDirection> {
        Ok(match link {
            LinkRef::Both(port) => LinkDirection::Both(self.cable_port(port, fabric)?),
            LinkRef::Into(port) => LinkDirection::Into(self.cable_port(port, fabric)?),
            LinkRef::OutOf(port) => LinkDirection::OutOf(self.cable_port(port, fabric)?),
        })
    }

    fn scope(&self, scope: &ScopeRef, fabric: &Fabric) -> Result<FaultScope> {
        Ok(match scope {
            ScopeRef::All => FaultScope::Fabric,
            ScopeRef::Node(node) => FaultScope::Node(self.node(node)?),
            ScopeRef::Link(link) => FaultScope::Link(self.link_direction(link, fabric)?),
        })
    }
}

fn column_of(node: &NodeRef) -> TextColumn {
    match node {
        NodeRef::Name(_, column) | NodeRef::Guid(_, column) | NodeRef::Index(_, column) => *column,
    }
}

fn no_such_node(node: &NodeRef, column: TextColumn) -> ScenarioError {
    ScenarioError::new(column.0, ScenarioProblem::NoSuchNode(node.to_string()))
}

/// `port 1` or `ports 1 to 8`.
fn ports(lowest: u8, highest: u8) -> String {
    if lowest == highest {
        format!("port {lowest}")
    } else {
        format!("ports {lowest} to {highest}")
    }
}

fn no_such_port(port: &ScenarioPort, exists: bool, usable: String) -> ScenarioError {
    ScenarioError::new(
        column_of(&port.node).0,
        ScenarioProblem::NoSuchPort {
            node: port.node.to_string(),
            port: port.port,
            exists,
            usable,
        },
    )
}

fn counter(name: &str, column: TextColumn) -> Result<PortCounter> {
    let plain = |text: &str| text.replace('_', "").to_ascii_lowercase();
    let normalised = plain(name);
    PortCounter::ALL
        .iter()
        .copied()
        .find(|c| plain(c.name()) == normalised)
        .ok_or_else(|| {
            ScenarioError::new(column.0, ScenarioProblem::NoSuchCounter(name.to_owned()))
        })
}

/// The action of a command.
pub(super) fn action(
    command: &ScenarioCommand,
    names: &NodeNames,
    fabric: &Fabric,
) -> Result<FabricAction> {
    let cable_port = |port: &ScenarioPort| names.cable_port(port, fabric);
    Ok(match command {
        ScenarioCommand::Link(verb, port) => {
            let at = cable_port(port)?;
            match verb {
                LinkVerb::Cut => FabricAction::Cut(at),
                LinkVerb::Restore => FabricAction::Restore(at),
                LinkVerb::Bounce => FabricAction::Bounce(at),
                LinkVerb::Unplug => FabricAction::RemoveCable(at),
            }
        }
        ScenarioCommand::Flap {
            port,
            period,
            times,
        } => FabricAction::Flap {
            at: cable_port(port)?,
            period: *period,
            times: *times,
        },
        ScenarioCommand::Plug {
            link_ends: [a, b],
            width,
            speed,
        } => FabricAction::AddCable(LinkSpec {
            a: cable_port(a)?,
            b: cable_port(b)?,
            width: *width,
            speed: *speed,
        }),
        ScenarioCommand::Move(from, to) => {
            FabricAction::MoveCable(cable_port(from)?, cable_port(to)?)
        }
        ScenarioCommand::Swap(one, other) => {
            FabricAction::SwapCables(cable_port(one)?, cable_port(other)?)
        }
        ScenarioCommand::Degrade(port, speed, width) => {
            FabricAction::Degrade(cable_port(port)?, *speed, *width)
        }
        ScenarioCommand::Training(time) => FabricAction::LinkTraining(*time),
        ScenarioCommand::Node(verb, node) => {
            let node = names.node(node)?;
            match verb {
                NodeVerb::Off => FabricAction::PowerOff(node),
                NodeVerb::On => FabricAction::PowerOn(node),
                NodeVerb::Reboot => FabricAction::Reboot(node),
                NodeVerb::Hang => FabricAction::Agent(Some(node), AgentFault::Hung(true)),
                NodeVerb::Unhang => FabricAction::Agent(Some(node), AgentFault::Hung(false)),
                NodeVerb::SrpTarget => FabricAction::SrpTarget(node, true),
                NodeVerb::SrpOff => FabricAction::SrpTarget(node, false),
                NodeVerb::IgnoreOperationalVls => FabricAction::IgnoreOperationalVls(node),
                NodeVerb::SeparateSmi => FabricAction::SeparateSmi(node),
            }
        }
        ScenarioCommand::Rename(node, name) => {
            FabricAction::Describe(names.node(node)?, name.clone())
        }
        ScenarioCommand::Guid(ScenarioTarget::Node(node), guid) => {
            FabricAction::NodeGuid(names.node(node)?, NodeGuid(*guid))
        }
        ScenarioCommand::Guid(target @ ScenarioTarget::Port(_), guid) => {
            FabricAction::PortGuid(names.end_port(target, fabric)?, PortGuid(*guid))
        }
        ScenarioCommand::Lid(port, lid, lmc) => {
            let at = names.end_port(&ScenarioTarget::Port(port.clone()), fabric)?;
            FabricAction::Lid(at, *lid, *lmc)
        }
        ScenarioCommand::CorruptLft { node, lid, port } => {
            FabricAction::CorruptLft(names.node(node)?, *lid, *port)
        }
        ScenarioCommand::Trap(number, target) => {
            let at = match target {
                ScenarioTarget::Port(port) => names.port(port, fabric)?,
                ScenarioTarget::Node(_) => names.end_port(target, fabric)?,
            };
            FabricAction::Trap(at, TrapNumber(*number))
        }
        ScenarioCommand::Sm(target, sm) => {
            let at = names.end_port(target, fabric)?;
            let guid = sm.guid.map_or_else(|| fabric.port_guid(at), PortGuid);
            let mut foreign = ForeignSm::new(guid, sm.priority, sm.state);
            foreign.applies_controls = sm.applies_controls;
            FabricAction::AddForeignSm(at, Box::new(foreign))
        }
        ScenarioCommand::SmOff(target) => {
            FabricAction::RemoveForeignSm(names.end_port(target, fabric)?)
        }
        ScenarioCommand::TransportFault(set, scope) => FabricAction::TransportFault(
            names.scope(scope, fabric)?,
            match set {
                TransportSetting::Loss(chance) => TransportFault::Loss(chance.probability()),
                TransportSetting::Duplicate(chance) => {
                    TransportFault::Duplicate(chance.probability())
                }
                TransportSetting::Jitter(time) => TransportFault::Jitter(*time),
                TransportSetting::Latency(time) => TransportFault::Latency(*time),
            },
        ),
        ScenarioCommand::Drain(time, link) => {
            FabricAction::Drain(names.link_direction(link, fabric)?, *time)
        }
        ScenarioCommand::Agent(set, node) => FabricAction::Agent(
            node.as_ref().map(|node| names.node(node)).transpose()?,
            match set {
                AgentSetting::Service(time) => AgentFault::Service(*time),
                AgentSetting::Backlog(limit) => AgentFault::Backlog(*limit),
                AgentSetting::Delay(time) => AgentFault::Delay(*time),
                AgentSetting::Refuse(status) => AgentFault::Refuse(*status),
                AgentSetting::RefuseAttr(attr, status) => AgentFault::RefuseAttr(*attr, *status),
                AgentSetting::Garbage(kind, chance) => {
                    AgentFault::Garbage(*kind, chance.probability())
                }
            },
        ),
        ScenarioCommand::Error(attr, chance, scope) => {
            FabricAction::AttrLoss(names.scope(scope, fabric)?, *attr, chance.probability())
        }
        ScenarioCommand::Heal(scope) => FabricAction::Heal(names.scope(scope, fabric)?),
        ScenarioCommand::AddToCounter(port, name, n, column) => FabricAction::Count {
            at: names.port(port, fabric)?,
            counter: counter(name, *column)?,
            n: *n,
        },
        ScenarioCommand::SetCounter(port, name, value, column) => FabricAction::SetCounter {
            at: names.port(port, fabric)?,
            counter: counter(name, *column)?,
            value: *value,
        },
        ScenarioCommand::Query(_) => {
            return Err(ScenarioError::new(1, ScenarioProblem::QueryInScenario));
        }
    })
}
