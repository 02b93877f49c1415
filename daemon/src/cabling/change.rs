//! What differs between the cables of a fabric and those of another one, as a change of the first.

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_api::what_if::{AddedCable, AddedEquipment, AddedNode, CableEnd};

use super::fabric::{CabledFabric, CabledPort};

/// A change of the cables and nodes of a fabric.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CablingChange {
    /// Nodes by GUID, and cables by one end, that are removed.
    pub without: Vec<String>,
    pub added: AddedEquipment,
}

/// A port by node GUID.
type Port = (u64, u8);

/// The change that makes one fabric from another. Nodes are the same if they have one GUID.
#[must_use]
pub fn change(now: &CabledFabric, then: &CabledFabric) -> CablingChange {
    let guids = |fabric: &CabledFabric| fabric.nodes.iter().map(|n| n.guid).collect();
    let nodes_now: BTreeSet<u64> = guids(now);
    let nodes_then: BTreeSet<u64> = guids(then);
    let cables_now = cables(now);
    let cables_then = cables(then);
    let mut change = CablingChange::default();
    let removed = nodes_now.difference(&nodes_then);
    change.without.extend(removed.map(|guid| text(*guid)));
    let is_switch: BTreeMap<u64, bool> = now.nodes.iter().map(|n| (n.guid, n.is_switch)).collect();
    for (a, b) in cables_now.difference(&cables_then) {
        let stays = [a, b].iter().all(|(guid, _)| nodes_then.contains(guid));
        if stays {
            let (guid, port) = if is_switch[&a.0] { a } else { b };
            change.without.push(format!("{}/{port}", text(*guid)));
        }
    }
    let new = then.nodes.iter().filter(|n| !nodes_now.contains(&n.guid));
    change.added.nodes = new
        .map(|node| AddedNode {
            guid: text(node.guid),
            name: node.name.clone(),
            switch: node.is_switch,
        })
        .collect();
    let end = |port: &Port| CableEnd {
        guid: text(port.0),
        port: port.1,
    };
    let added = cables_then.difference(&cables_now);
    change.added.cables = added
        .map(|(a, b)| AddedCable {
            a: end(a),
            b: end(b),
        })
        .collect();
    change
}

/// The cables, each with the lower end first.
fn cables(fabric: &CabledFabric) -> BTreeSet<(Port, Port)> {
    let port = |at: &CabledPort| (fabric.nodes[at.0].guid, at.1);
    let ends = fabric.peers.iter().map(|(a, b)| (port(a), port(b)));
    ends.map(|(a, b)| (a.min(b), a.max(b))).collect()
}

fn text(guid: u64) -> String {
    format!("{guid:#018x}")
}

#[cfg(test)]
mod tests {
    use super::super::fabric::CabledNode;
    use super::*;

    fn fabric(nodes: &[(u64, bool)], cables: &[(usize, u8, usize, u8)]) -> CabledFabric {
        let node = |(guid, is_switch): &(u64, bool)| CabledNode {
            guid: *guid,
            name: format!("n{guid}"),
            is_switch: *is_switch,
        };
        let mut fabric = CabledFabric {
            nodes: nodes.iter().map(node).collect(),
            ..CabledFabric::default()
        };
        for (a, port_a, b, port_b) in cables {
            fabric.connect((*a, *port_a), (*b, *port_b));
        }
        fabric
    }

    #[test]
    fn change_has_what_differs_only() {
        let now = fabric(
            &[(1, true), (2, true), (3, false), (4, false)],
            &[(0, 1, 1, 1), (0, 2, 2, 1), (1, 2, 3, 1)],
        );
        assert_eq!(change(&now, &now), CablingChange::default());
        let then = fabric(
            &[(2, true), (1, true), (3, false), (5, true)],
            &[(0, 1, 1, 1), (0, 3, 2, 1), (1, 9, 3, 1)],
        );
        let change = change(&now, &then);
        // The link of the host that leaves goes with it; that of the other host is moved.
        assert_eq!(
            change.without,
            ["0x0000000000000004", "0x0000000000000001/2"]
        );
        let nodes: Vec<&str> = change.added.nodes.iter().map(|n| &*n.name).collect();
        assert_eq!(nodes, ["n5"]);
        let cables = change.added.cables.iter().map(|cable| {
            let [a, b] = [&cable.a, &cable.b];
            let short = |end: &CableEnd| format!("{}/{}", &end.guid[17..], end.port);
            format!("{} {}", short(a), short(b))
        });
        assert_eq!(cables.collect::<Vec<_>>(), ["1/9 5/1", "2/3 3/1"]);
    }
}
