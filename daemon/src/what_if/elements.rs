//! Nodes and links by name, as operators write them.

use ferrosm_api::answer::{ApiError, ErrorKind};
use ferrosm_fabric::snapshot::{PortIdx, Snapshot};
use ferrosm_mad::ids::{NodeGuid, PortGuid, PortNum};
use ferrosm_routing::{Loss, SwitchIdx};

use super::{ELEMENTS_MAX, RoutedFabric};

/// Nodes and links that are lost.
#[derive(Debug, Clone, Default)]
pub struct LostElements {
    /// Their names: of nodes, and of both ends of links.
    pub names: Vec<String>,
    pub loss: Loss,
}

impl LostElements {
    /// Finds nodes and links by name.
    ///
    /// # Errors
    /// If a name is unknown or ambiguous.
    pub fn find(fabric: RoutedFabric<'_>, names: &[String]) -> Result<Self, ApiError> {
        if names.len() > ELEMENTS_MAX {
            return Err(ApiError::new(
                ErrorKind::InvalidRequest,
                format!(
                    "{} nodes and links; at most {ELEMENTS_MAX} can be lost",
                    names.len()
                ),
                "Ask for fewer at a time.",
            ));
        }
        let mut lost = Self::default();
        for name in names {
            lost.add(fabric, name.trim())?;
        }
        Ok(lost)
    }

    fn add(&mut self, fabric: RoutedFabric<'_>, text: &str) -> Result<(), ApiError> {
        let snapshot = fabric.snapshot;
        if let Some(slot) = node(snapshot, text)? {
            self.names.push(snapshot.node(slot).name());
            match fabric.switch(slot) {
                Some(s) => {
                    self.loss.switches.insert(s);
                }
                None => {
                    let ports = snapshot.linked_ports(slot);
                    let attached = ports.filter_map(|(_, peer)| fabric.switch_port(peer));
                    self.loss.links.extend(attached);
                }
            }
            return Ok(());
        }
        let numbered = text.rsplit_once('/');
        let link_end = numbered.and_then(|(name, port)| Some((name, port.parse().ok()?)));
        if let Some((name, port)) = link_end
            && let Some(slot) = node(snapshot, name)?
        {
            return self.add_link(fabric, slot, PortNum(port), text);
        }
        Err(ApiError::new(
            ErrorKind::NotFound,
            format!("no node or link is named `{text}`"),
            "Use the name or GUID of a node, or one end of a link, such as `leaf-2-0/5`; `ferrosm links` lists them.",
        ))
    }

    fn add_link(
        &mut self,
        fabric: RoutedFabric<'_>,
        slot: u32,
        port: PortNum,
        text: &str,
    ) -> Result<(), ApiError> {
        let snapshot = fabric.snapshot;
        let end = snapshot.port_by_num(slot, port);
        let ends = end.and_then(|end| Some((end, snapshot.peer(end)?)));
        let Some((end, peer)) = ends else {
            return Err(ApiError::new(
                ErrorKind::NotFound,
                format!("`{text}` has no link"),
                "`ferrosm links` lists the links that are up.",
            ));
        };
        let switch_port = fabric.switch_port(end).or_else(|| fabric.switch_port(peer));
        let Some(switch_port) = switch_port else {
            return Err(ApiError::new(
                ErrorKind::NotFound,
                format!("no end of the link `{text}` is at a switch that is routed"),
                "Name another link.",
            ));
        };
        self.names.push(link_name(snapshot, end, peer));
        self.loss.links.insert(switch_port);
        Ok(())
    }
}

impl RoutedFabric<'_> {
    /// The switch of the graph in a slot.
    pub(super) fn switch(&self, slot: u32) -> Option<SwitchIdx> {
        let nodes = self.basis.nodes().iter();
        let mut switches = self.basis.graph().switches().zip(nodes);
        let (s, _) = switches.find(|(_, node)| node.slot() == slot)?;
        Some(s)
    }

    pub(super) fn switch_port(&self, at: PortIdx) -> Option<(SwitchIdx, PortNum)> {
        Some((self.switch(at.node())?, at.num()))
    }
}

/// Both ends of a link.
pub(super) fn link_name(snapshot: &Snapshot, a: PortIdx, b: PortIdx) -> String {
    let [a, b] = [a, b].map(|end| {
        let name = snapshot.node(end.node()).name();
        format!("{name}/{}", end.num())
    });
    format!("{a} - {b}")
}

/// The node that a text names: by its GUID or that of a port, its name, or the first word of its
/// name. A whole name outranks a first word.
fn node(snapshot: &Snapshot, text: &str) -> Result<Option<u32>, ApiError> {
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    if let Some(guid) = hex.and_then(|hex| u64::from_str_radix(hex, 16).ok()) {
        let of_node = snapshot.by_node_guid(NodeGuid(guid));
        let of_port = || {
            let at = snapshot.by_guid(PortGuid(guid))?;
            Some(snapshot.end_port(at).node)
        };
        return Ok(of_node.or_else(of_port));
    }
    let named = |is_named: &dyn Fn(&str) -> bool| {
        let slots = snapshot.slots();
        slots
            .filter(|slot| is_named(&snapshot.node(*slot).name()))
            .collect::<Vec<u32>>()
    };
    let mut found = named(&|name| name == text);
    if found.is_empty() && !text.is_empty() {
        found = named(&|name| name.split_whitespace().next() == Some(text));
    }
    match found[..] {
        [] => Ok(None),
        [slot] => Ok(Some(slot)),
        [..] => Err(ApiError::new(
            ErrorKind::Ambiguous,
            format!("{} nodes are named `{text}`", found.len()),
            "Name one of them by its GUID; `ferrosm nodes` lists them.",
        )),
    }
}
