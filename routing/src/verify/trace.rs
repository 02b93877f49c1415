//! Follows single packets hop by hop for the examples in a [`super::VerifyError`].

use ferrosm_mad::ids::{Lid, PortNum};

use super::context::WalkContext;
use super::error::{DroppedPacket, EXAMPLES_MAX};
use crate::topology::{DATA_VLS_MAX, Destination, SwitchIdx, Topology};
use crate::vl_plan::SLS;

/// Each switch on the path to a LID with its output port, up to the end, or to the first switch
/// that repeats.
pub(super) fn path(
    context: &WalkContext<'_>,
    from: SwitchIdx,
    lid: Lid,
) -> Vec<(SwitchIdx, PortNum)> {
    let topo = context.topo;
    let owner = owner(topo, lid).map(|d| d.switch);
    let mut path = Vec::new();
    let mut visited = vec![false; topo.num_switches()];
    let mut at = from;
    loop {
        let table = context.tables.get(at.index());
        let port = table.map_or(PortNum::DROP, |t| t.get(lid));
        path.push((at, port));
        let is_repeated = std::mem::replace(&mut visited[at.index()], true);
        match topo.neighbor(at, port) {
            Some((next, _)) if Some(at) != owner && !is_repeated => at = next,
            Some(_) | None => return path,
        }
    }
}

fn owner(topo: &Topology, lid: Lid) -> Option<&Destination> {
    let destinations = topo.destinations();
    let at = destinations.binary_search_by_key(&lid, |d| d.lid).ok()?;
    destinations.get(at)
}

/// The first packets for these LIDs that are dropped because of their VL; one for each switch and
/// LID.
pub(super) fn dropped(context: &WalkContext<'_>, lids: &[Lid]) -> Vec<DroppedPacket> {
    let topo = context.topo;
    lids.iter()
        .filter_map(|&lid| owner(topo, lid))
        .flat_map(|to| topo.switches().map(move |from| (from, to)))
        .filter_map(|(from, to)| first_dropped(context, from, to))
        .take(EXAMPLES_MAX)
        .collect()
}

fn first_dropped(
    context: &WalkContext<'_>,
    from: SwitchIdx,
    to: &Destination,
) -> Option<DroppedPacket> {
    let topo = context.topo;
    let vl_plan = context.vl_plan;
    let end_ports = topo.end_ports(from);
    if to.port == PortNum::ZERO && end_ports.is_empty() {
        return None;
    }
    let path = path(context, from, to.lid);
    let sl = vl_plan.sl(from, to);
    let entries = std::iter::once(PortNum::ZERO)
        .chain(end_ports.iter().map(|e| e.port))
        .filter(|&entry| (from, entry) != (to.switch, to.port));
    for entry in entries {
        let mut input = entry;
        for (i, &(at, output)) in path.iter().enumerate() {
            let vl = if usize::from(sl) < SLS {
                vl_plan.vl(at, input, output, sl)
            } else {
                DATA_VLS_MAX
            };
            let peer = topo.neighbor(at, output);
            let vls = match peer {
                Some(_) => topo.vls(at, output).min(vl_plan.vls),
                None => DATA_VLS_MAX,
            };
            let is_consumed = output == PortNum::ZERO && usize::from(sl) < SLS;
            if vl >= vls && !is_consumed {
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
