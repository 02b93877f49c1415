//! LIDs of a fabric that is routed offline.

use ferrosm_core::LidMap;
use ferrosm_core::plan::lids::{ConfirmedLids, KnownLids, LidDemand, LidPolicy, assign};
use ferrosm_mad::ids::{Lid, Lmc};

use crate::failure::Failure;
use ferrosm_opensm_compat::view::FabricView;

/// Retains the LIDs of the file unless they conflict, and assigns the lowest free LIDs to connected
/// end ports without one. Returns the number of LIDs in use.
pub(super) fn assign_lids(view: &mut FabricView) -> Result<usize, Failure> {
    let mut demands = Vec::new();
    let mut ports = Vec::new();
    let link_ends = view.link_ends();
    for (n, node) in view.nodes.iter().enumerate() {
        for (e, end_port) in node.end_ports.iter().enumerate() {
            let is_connected =
                node.is_switch() || link_ends[n].iter().any(|c| c.port == end_port.port);
            ports.push((n, e, is_connected));
            if is_connected {
                demands.push(LidDemand {
                    guid: end_port.guid,
                    lmc: Lmc(end_port.lmc.0.min(7)),
                    current: end_port.lid,
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
    for (n, e, is_connected) in ports {
        let lid = match is_connected.then(|| assigned.next()).flatten() {
            None => Lid::NONE,
            Some((_, Some(lid))) => lid,
            Some((count, None)) => {
                return Err(Failure::runtime(format!(
                    "LIDs are exhausted: {used} are in use, and \"{}\" needs {count} more",
                    view.nodes[n].name()
                )));
            }
        };
        view.nodes[n].end_ports[e].lid = lid;
    }
    Ok(used)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::view::view_of_spec;
    use ferrosm_sim::generate::from_spec;
    use std::collections::BTreeSet;

    #[test]
    fn lids_of_the_file_are_retained_and_gaps_filled() {
        let mut spec = from_spec("star:3").unwrap();
        spec.nodes[0].lids = vec![(Lid(3), Lmc(0))];
        spec.nodes[1].lids = vec![(Lid(3), Lmc(0))];
        spec.nodes[2].lids = vec![(Lid(0), Lmc(1))];
        let mut view = view_of_spec(&spec);
        assert_eq!(assign_lids(&mut view).unwrap(), 5);
        let lid = |n: usize| view.nodes[n].end_ports[0].lid;
        assert_eq!(lid(0), Lid(3));
        assert_eq!(lid(2).0 % 2, 0, "a range begins at a multiple of its size");
        let lids: BTreeSet<u16> = [lid(0).0, lid(1).0, lid(2).0, lid(2).0 + 1, lid(3).0].into();
        assert_eq!(lids.len(), 5, "no LID twice: {lids:?}");
    }
}
