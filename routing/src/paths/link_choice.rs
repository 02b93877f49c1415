//! Forwarding tables from next hops: the choice among parallel links.
//!
//! LIDs of end ports take the links of a slot in turn. An installed entry stays if its link still
//! leads to the same neighbour, unless a link of that slot would be idle.

use std::sync::Arc;

use ferrosm_mad::ids::PortNum;
use rayon::prelude::*;

use crate::request::PreviousRouting;
use crate::tables::{Lft, Tables};
use crate::topology::graph::Graph;
use crate::topology::{Destination, SwitchIdx, Topology};

/// The slots of a switch towards the LIDs of another switch.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LidSlots<'a> {
    /// One slot for all LIDs.
    Same(usize),
    /// One slot for each LID, in the order of [`Topology::destinations_on`].
    Each(&'a [u8]),
}

impl LidSlots<'_> {
    fn of_lid(self, number: usize) -> Option<usize> {
        match self {
            Self::Same(slot) => Some(slot),
            Self::Each(slots) => slots.get(number).map(|&slot| usize::from(slot)),
        }
    }
}

/// Tables of all switches. `slots_to` are the slots of a switch (first argument) towards another
/// switch. `port_order` defines the order in which ports of a destination switch are assigned and
/// links are used; ports not listed come last, by number.
pub(crate) fn choose_links<'a>(
    topo: &Topology,
    graph: &Graph,
    slots_to: impl Fn(usize, usize) -> Option<LidSlots<'a>> + Sync,
    port_order: &[PortNum],
    previous: &PreviousRouting,
) -> Tables {
    let rank = |port: u8| {
        let listed = port_order.iter().position(|p| p.raw() == port);
        (listed.unwrap_or(port_order.len()), port)
    };
    (0..graph.len())
        .into_par_iter()
        .map(|v| {
            let mut slots: Vec<Vec<u8>> = graph
                .slots(v)
                .iter()
                .map(|s| graph.ports(*s).to_vec())
                .collect();
            slots
                .iter_mut()
                .for_each(|ports| ports.sort_by_key(|&p| rank(p)));
            let old = previous.table_of(v);
            let mut lft = Lft::drop_all(topo.top_lid());
            // LIDs behind each slot: destination port, and the installed output port.
            let mut lids_by_slot: Vec<Vec<(PortNum, Option<u8>)>> = vec![Vec::new(); slots.len()];
            let mut lids: Vec<Vec<ferrosm_mad::ids::Lid>> = vec![Vec::new(); slots.len()];
            for &dest in &graph.by_lid {
                let destinations = topo.destinations_on(SwitchIdx::from_index(dest));
                if dest == v {
                    destinations.iter().for_each(|d| lft.set(d.lid, d.port));
                    continue;
                }
                let Some(chosen) = slots_to(v, dest) else {
                    continue;
                };
                let mut shared: Vec<(&Destination, usize)> = Vec::new();
                for (number, d) in destinations.iter().enumerate() {
                    match chosen.of_lid(number) {
                        Some(k) if slots[k].len() == 1 => lft.set(d.lid, PortNum(slots[k][0])),
                        Some(k) => shared.push((d, k)),
                        None => {}
                    }
                }
                shared.sort_by_key(|(d, _)| (rank(d.port.raw()), d.lid));
                for (d, k) in shared {
                    let installed = old.map(|old| old.get(d.lid).raw());
                    lids_by_slot[k].push((d.port, installed.filter(|p| slots[k].contains(p))));
                    lids[k].push(d.lid);
                }
            }
            for ((ports, lids), behind) in slots.iter().zip(&lids).zip(&lids_by_slot) {
                for (lid, port) in lids.iter().zip(share_links(ports, behind)) {
                    lft.set(*lid, PortNum(port));
                }
            }
            match old {
                Some(old) if **old == lft => Arc::clone(old),
                _ => Arc::new(lft),
            }
        })
        .collect()
}

/// Ports for the LIDs behind one slot, in their order.
fn share_links(ports: &[u8], lids: &[(PortNum, Option<u8>)]) -> Vec<u8> {
    let load_of = |port: u8| {
        lids.iter()
            .filter(|(_, installed)| *installed == Some(port))
            .count()
    };
    let idle = ports.iter().any(|&p| load_of(p) == 0);
    let keeps_ports = !idle || lids.len() < ports.len();
    let mut load: Vec<usize> = vec![0; ports.len()];
    let count = |load: &mut Vec<usize>, port: u8| {
        if let Some(i) = ports.iter().position(|&p| p == port) {
            load[i] += 1;
        }
    };
    if keeps_ports {
        let host_lids = lids.iter().filter(|(to, _)| *to != PortNum::ZERO);
        host_lids
            .filter_map(|(_, installed)| *installed)
            .for_each(|p| count(&mut load, p));
    }
    lids.iter()
        .map(|&(to, installed)| {
            if let Some(installed) = installed.filter(|_| keeps_ports) {
                return installed;
            }
            let lightest = (0..ports.len()).min_by_key(|&i| (load[i], i)).unwrap_or(0);
            let port = ports.get(lightest).copied().unwrap_or(PortNum::DROP.raw());
            // Management packets do not count as load.
            if to != PortNum::ZERO {
                count(&mut load, port);
            }
            port
        })
        .collect()
}
