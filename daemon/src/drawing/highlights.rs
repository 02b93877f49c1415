//! What alarms and paths highlight in a drawing.

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_api::alarm::Alarm;
use ferrosm_api::path::Path;

use super::{Highlight, links_by_port};
use crate::whole_fabric::WholeFabric;

/// The nodes and links of alarms, with those that are down because of them.
#[must_use]
pub fn of_alarms(fabric: &WholeFabric, alarms: &[Alarm]) -> Highlight {
    let by_name: BTreeMap<&str, &str> = fabric
        .nodes
        .iter()
        .flat_map(|node| [(&*node.name, &*node.guid), (&*node.guid, &*node.guid)])
        .collect();
    let links = links_by_port(fabric);
    let mut marked_nodes = BTreeSet::new();
    let mut marked_links = BTreeSet::new();
    for alarm in alarms {
        let object = &alarm.object;
        let of_object = [&object.guid, &object.name, &object.location];
        for name in of_object.into_iter().chain(&alarm.parts) {
            // A link is named by its ends, `leaf-0/5 - spine-0/1`; one end is enough.
            let end = name.split(" - ").next().unwrap_or(name);
            let link = end.rsplit_once('/').and_then(|(node, port)| {
                let guid = by_name.get(node)?;
                links.get(&(*guid, port.parse().ok()?))
            });
            if let Some(link) = link {
                marked_links.insert(*link);
            } else if let Some(guid) = by_name.get(end) {
                marked_nodes.insert((*guid).to_owned());
            }
        }
    }
    Highlight::Alarms {
        nodes: marked_nodes,
        links: marked_links,
    }
}

/// The nodes and links of a path.
#[must_use]
pub fn of_path(fabric: &WholeFabric, path: &Path) -> Highlight {
    let by_port = links_by_port(fabric);
    let links: BTreeSet<usize> = path
        .hops
        .iter()
        .flat_map(|hop| [hop.in_port, hop.out_port].map(|port| (hop.guid.as_str(), port)))
        .filter_map(|port| by_port.get(&port).copied())
        .collect();
    let hops = path.hops.iter().map(|hop| hop.guid.clone());
    // The hosts are at the other ends of the first and the last link.
    let at_ends = links.iter().flat_map(|link| {
        let link = &fabric.links[*link];
        [&link.a, &link.b].map(|end| end.guid.clone())
    });
    let dropped = path
        .dropped
        .as_ref()
        .map_or_else(String::new, |why| format!(": {why}"));
    Highlight::Path {
        title: format!("Path from {} to {}{dropped}", path.from.name, path.to.name),
        nodes: hops.chain(at_ends).collect(),
        links,
    }
}
