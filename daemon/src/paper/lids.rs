//! LIDs of a fabric on paper.

use ferrosm_mad::ids::{Lid, PortNum};

use crate::failure::Failure;
use ferrosm_opensm_compat::view::FabricView;

/// LIDs of the file stay as far as they do not contradict each other; cabled end ports without one get the lowest that
/// is free. Returns how many LIDs are in use.
pub(super) fn assign_lids(view: &mut FabricView) -> Result<usize, Failure> {
    let mut taken = vec![false; usize::from(Lid::UNICAST_MAX.0) + 1];
    taken[0] = true;
    let mut free = |first: usize, count: usize| {
        let range = taken
            .get_mut(first..first + count)
            .filter(|r| first > 0 && !r.contains(&true));
        range.map(|r| r.fill(true)).is_some()
    };
    let cabled: Vec<Vec<PortNum>> = view
        .ends()
        .iter()
        .map(|ends| ends.iter().map(|e| e.port).collect())
        .collect();
    let mut without = Vec::new();
    let mut used = 0;
    for (n, node) in view.nodes.iter_mut().enumerate() {
        let is_switch = node.is_switch();
        for (e, end) in node.end_ports.iter_mut().enumerate() {
            if !is_switch && !cabled[n].contains(&end.port) {
                end.lid = Lid::NONE;
                continue;
            }
            let count = 1usize << end.lmc.0.min(7);
            if end.lid.is_unicast() && free(usize::from(end.lid.0), count) {
                used += count;
            } else {
                without.push((n, e, count));
            }
        }
    }
    let mut next = 1usize;
    for (n, e, count) in without {
        let mut at = next.next_multiple_of(count);
        while at + count <= usize::from(Lid::UNICAST_MAX.0) + 1 && !free(at, count) {
            at += count;
        }
        let lid = u16::try_from(at)
            .ok()
            .map(Lid)
            .filter(|_| at + count <= usize::from(Lid::UNICAST_MAX.0) + 1);
        let Some(lid) = lid else {
            return Err(Failure::job(format!(
                "LIDs are exhausted: {} are in use, and \"{}\" needs {count} more",
                used,
                view.nodes[n].name()
            )));
        };
        view.nodes[n].end_ports[e].lid = lid;
        used += count;
        if count == 1 {
            next = at + 1;
        }
    }
    Ok(used)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::view::view_of_spec;
    use ferrosm_mad::ids::Lmc;
    use ferrosm_sim::generate::from_spec;
    use std::collections::BTreeSet;

    #[test]
    fn lids_of_the_file_stay_and_others_fill_the_gaps() {
        let mut spec = from_spec("star:3").unwrap();
        spec.nodes[0].lids = vec![(Lid(3), Lmc(0))];
        spec.nodes[1].lids = vec![(Lid(3), Lmc(0))];
        spec.nodes[2].lids = vec![(Lid(0), Lmc(1))];
        let mut view = view_of_spec(&spec);
        assert_eq!(assign_lids(&mut view).unwrap(), 5);
        let lid = |n: usize| view.nodes[n].end_ports[0].lid;
        assert_eq!(lid(0), Lid(3));
        assert_eq!(lid(2).0 % 2, 0, "a range begins at a multiple of its size");
        let all: BTreeSet<u16> = [lid(0).0, lid(1).0, lid(2).0, lid(2).0 + 1, lid(3).0].into();
        assert_eq!(all.len(), 5, "no LID twice: {all:?}");
    }
}
