//! Follows single packets hop by hop, to show what happens to the examples that a [`super::VerifyError`] names. Never used to
//! decide.

use ferrosm_mad::ids::{Lid, PortNum};

use super::failure::{DroppedPacket, EXAMPLES_MAX};
use super::ground::Ground;
use crate::topology::{DATA_VLS_MAX, Destination, SwitchIdx, Topology};
use crate::vl_plan::SLS;

/// Each switch on the way to a LID with the port that its table says, up to the end, or to the first switch that comes
/// again.
pub(super) fn path(ground: &Ground<'_>, from: SwitchIdx, lid: Lid) -> Vec<(SwitchIdx, PortNum)> {
    let topo = ground.topo;
    let owner = owner(topo, lid).map(|d| d.switch);
    let mut path = Vec::new();
    let mut seen = vec![false; topo.num_switches()];
    let mut at = from;
    loop {
        let table = ground.tables.get(at.index());
        let port = table.map_or(PortNum::DROP, |t| t.get(lid));
        path.push((at, port));
        let known = std::mem::replace(&mut seen[at.index()], true);
        match topo.neighbor(at, port) {
            Some((next, _)) if Some(at) != owner && !known => at = next,
            Some(_) | None => return path,
        }
    }
}

fn owner(topo: &Topology, lid: Lid) -> Option<&Destination> {
    let all = topo.destinations();
    let at = all.binary_search_by_key(&lid, |d| d.lid).ok()?;
    all.get(at)
}

/// The first packets for these LIDs that are dropped for their lane; of each switch and LID one.
pub(super) fn dropped(ground: &Ground<'_>, lids: &[Lid]) -> Vec<DroppedPacket> {
    let topo = ground.topo;
    lids.iter()
        .filter_map(|&lid| owner(topo, lid))
        .flat_map(|to| topo.switches().map(move |from| (from, to)))
        .filter_map(|(from, to)| first_dropped(ground, from, to))
        .take(EXAMPLES_MAX)
        .collect()
}

fn first_dropped(ground: &Ground<'_>, from: SwitchIdx, to: &Destination) -> Option<DroppedPacket> {
    let (topo, lanes) = (ground.topo, ground.lanes);
    let ends = topo.end_ports(from);
    if to.port == PortNum::ZERO && ends.is_empty() {
        return None;
    }
    let path = path(ground, from, to.lid);
    let sl = lanes.sl(from, to);
    let entries = std::iter::once(PortNum::ZERO).chain(ends.iter().map(|e| e.port));
    let entries = entries.filter(|&entry| (from, entry) != (to.switch, to.port));
    for entry in entries {
        let mut input = entry;
        for (i, &(at, output)) in path.iter().enumerate() {
            let vl = if usize::from(sl) < SLS {
                lanes.vl(at, input, output, sl)
            } else {
                DATA_VLS_MAX
            };
            let peer = topo.neighbor(at, output);
            let vls = match peer {
                Some(_) => topo.vls(at, output).min(lanes.vls),
                None => DATA_VLS_MAX,
            };
            let kept = output == PortNum::ZERO && usize::from(sl) < SLS;
            if vl >= vls && !kept {
                return Some(DroppedPacket {
                    lid: to.lid,
                    from,
                    entry,
                    sl,
                    at,
                    input,
                    output,
                    vl,
                    vls,
                    path: path[..=i].to_vec(),
                });
            }
            input = peer.map_or(PortNum::ZERO, |(_, port)| port);
        }
    }
    None
}
