//! LIDs of a fabric that is routed offline.

use ferrosm_core::LidMap;
use ferrosm_core::lids::plan::{ConfirmedLids, KnownLids, LidDemand, LidPolicy, assign};
use ferrosm_fabric::observed::{ObservedFabric, PortRef};
use ferrosm_mad::attr::PortInfo;
use ferrosm_mad::ids::Lid;

use crate::failure::Failure;

/// Retains the LIDs of the file unless they conflict, and assigns the lowest free LIDs to connected
/// end ports without one. Returns the number of LIDs in use.
pub(super) fn assign_lids(fabric: &mut ObservedFabric) -> Result<usize, Failure> {
    let mut demands = Vec::new();
    let mut ports = Vec::new();
    for (idx, node) in fabric.nodes() {
        for num in node.end_ports() {
            let port = &node.ports[num.index()];
            let info = port.info();
            let is_connected = node.is_switch() || port.link.is_some();
            ports.push((PortRef::new(idx, num), info, is_connected));
            if is_connected {
                demands.push(LidDemand {
                    guid: port.guid,
                    lmc: info.lmc,
                    current: info.lid,
                    in_use: true,
                    is_unused: false,
                    master: Lid::NONE,
                    is_own: false,
                    deliverable: Lid::UNICAST_MAX,
                });
            }
        }
    }
    let known = KnownLids {
        map: &LidMap::new(),
        confirmed_lids: &ConfirmedLids::default(),
        present: demands.iter().map(|d| d.guid).collect(),
        excluded: Vec::new(),
        highest: Lid::UNICAST_MAX,
    };
    let assigned = assign(&demands, &known, LidPolicy::Map).lids;
    let counts = demands.iter().map(|d| 1usize << d.lmc.0);
    let valid = counts
        .clone()
        .zip(&assigned)
        .filter(|(_, lid)| lid.is_some());
    let used = valid.map(|(count, _)| count).sum();
    let mut assigned = counts.zip(assigned);
    for (at, info, is_connected) in ports {
        let Some(node) = fabric.get_mut(at.node) else {
            continue;
        };
        let lid = match is_connected.then(|| assigned.next()).flatten() {
            None => Lid::NONE,
            Some((_, Some(lid))) => lid,
            Some((count, None)) => {
                return Err(Failure::runtime(format!(
                    "LIDs are exhausted: {used} are in use, and \"{}\" needs {count} more",
                    node.description.unquoted()
                )));
            }
        };
        node.store_port_info(at.port, &PortInfo { lid, ..info }.encode());
    }
    Ok(used)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offline::spec::{observed, snapshot};
    use ferrosm_mad::ids::Lmc;
    use ferrosm_sim::generate::from_spec;
    use std::collections::BTreeSet;

    #[test]
    fn lids_of_the_file_are_retained_and_gaps_filled() {
        let mut spec = from_spec("star:3").unwrap();
        spec.nodes[0].lids = vec![(Lid(3), Lmc(0))];
        spec.nodes[1].lids = vec![(Lid(3), Lmc(0))];
        spec.nodes[2].lids = vec![(Lid(0), Lmc(1))];
        let mut fabric = observed(&spec);
        assert_eq!(assign_lids(&mut fabric).unwrap(), 5);
        let snapshot = snapshot(&fabric, None, None);
        let lid = |slot| snapshot.reported_end_ports(slot).next().unwrap().lid;
        assert_eq!(lid(0), Lid(3));
        assert_eq!(lid(2).0 % 2, 0, "a range begins at a multiple of its size");
        let lids: BTreeSet<u16> = [lid(0).0, lid(1).0, lid(2).0, lid(2).0 + 1, lid(3).0].into();
        assert_eq!(lids.len(), 5, "no LID twice: {lids:?}");
    }
}
