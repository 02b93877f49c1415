//! Which members of partitions are not end ports of the subnet.

use std::collections::BTreeMap;

use ferrosm_fabric::observed::ObservedFabric;
use ferrosm_mad::ids::{NodeGuid, PortGuid};

use crate::config::partitions::{MemberSelector, Partitions};
use crate::report::absent_member::AbsentMember;

/// The members that are not end ports of the subnet, by GUID.
pub(crate) fn absent_members(
    partitions: &Partitions,
    fabric: &ObservedFabric,
) -> Vec<AbsentMember> {
    let mut absent: BTreeMap<PortGuid, AbsentMember> = BTreeMap::new();
    for partition in partitions.list() {
        for (selector, _) in &partition.members {
            let MemberSelector::Port(guid) = *selector else {
                continue;
            };
            if fabric.port_by_guid(guid).is_some() {
                continue;
            }
            let member = absent.entry(guid).or_insert_with(|| AbsentMember {
                guid,
                partitions: Vec::new(),
                ports_of_node: ports_of_node(fabric, NodeGuid(guid.0)),
            });
            if member.partitions.last() != Some(&partition.name) {
                member.partitions.push(partition.name.clone());
            }
        }
    }
    absent.into_values().collect()
}

/// GUIDs of the end ports of a node.
fn ports_of_node(fabric: &ObservedFabric, guid: NodeGuid) -> Vec<PortGuid> {
    let node = fabric.node_by_guid(guid).and_then(|n| fabric.get(n));
    let ports = node.map_or(&[][..], |node| &node.ports);
    let guids = ports.iter().map(|port| port.guid);
    guids.filter(|guid| *guid != PortGuid::default()).collect()
}

#[cfg(test)]
mod tests {
    use ferrosm_mad::attr::{NodeInfo, NodeType};
    use ferrosm_mad::ids::PortNum;
    use ferrosm_mad::smp::DrPath;

    use super::*;
    use crate::config::partitions::{Enforcement, Membership, Partition};
    use crate::report::absent_member::describe;
    use ferrosm_fabric::observed::{Node, PortRef};

    fn partition(name: &str, number: u16, guids: &[u64]) -> Partition {
        let member = |guid: &u64| (MemberSelector::Port(PortGuid(*guid)), Membership::Full);
        Partition {
            name: name.to_owned(),
            number,
            members: guids.iter().map(member).collect(),
            ..Partition::default()
        }
    }

    /// A CA with node GUID 0x10 whose port has the GUID 0x11.
    fn fabric() -> ObservedFabric {
        let mut fabric = ObservedFabric::default();
        let info = NodeInfo {
            node_type: NodeType::Ca,
            num_ports: 1,
            node_guid: NodeGuid(0x10),
            ..NodeInfo::default()
        };
        let n = fabric.add_node(Node::new(info, DrPath::LOCAL));
        let at = PortRef::new(n, PortNum(1));
        fabric.port_mut(at).unwrap().guid = PortGuid(0x11);
        fabric.index_port_guid(PortGuid(0x11), at);
        fabric
    }

    #[test]
    fn absent_guids_and_node_guids_are_named() {
        let list = vec![
            partition("Storage", 0x40, &[0x11, 0xdead, 0x10]),
            partition("GPU", 0x41, &[0x10]),
        ];
        let partitions = Partitions::new(list, Enforcement::Both, false).unwrap();
        let absent = absent_members(&partitions, &fabric());
        assert_eq!(
            describe(&absent),
            "0x0000000000000010 of partition Storage, GPU (a node GUID; port GUID: 0x0000000000000011); \
             0x000000000000dead of partition Storage"
        );
    }

    #[test]
    fn present_ports_and_selectors_are_not_absent() {
        let list = vec![partition("Storage", 0x40, &[0x11])];
        let partitions = Partitions::new(list, Enforcement::Both, false).unwrap();
        assert_eq!(absent_members(&partitions, &fabric()), []);
        assert_eq!(absent_members(&Partitions::default(), &fabric()), []);
    }

    #[test]
    fn long_lists_are_cut() {
        let guids: Vec<u64> = (1..=10).collect();
        let partitions =
            Partitions::new(vec![partition("P", 1, &guids)], Enforcement::Both, false).unwrap();
        let absent = absent_members(&partitions, &ObservedFabric::default());
        assert!(describe(&absent).ends_with("0x0000000000000008 of partition P; and 2 more"));
    }
}
