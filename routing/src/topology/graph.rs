//! The engines' view of a topology: neighbours instead of links.
//!
//! All parallel links to one neighbour form one *slot*. They are equivalent for every path, so
//! engines choose a slot first and a link last. Slots of a switch are in the order of their lowest
//! port. Built once per engine run.

use super::{SwitchIdx, Topology};

/// A neighbour of a switch and the ports that lead to it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot {
    /// The neighbour.
    pub(crate) peer: usize,
    ports_from: usize,
    ports_to: usize,
}

/// The graph is not connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotConnected {
    /// Number of its connected components.
    pub(crate) components: usize,
}

/// Neighbour lists in compressed sparse rows.
#[derive(Debug)]
pub(crate) struct Graph {
    slot_base: Vec<usize>,
    slots: Vec<Slot>,
    ports: Vec<u8>,
    /// Number of end ports on each switch.
    pub(crate) hosts: Vec<u32>,
    /// Switches by LID: independent of the order of discovery.
    pub(crate) by_lid: Vec<usize>,
    /// Position of each switch in `by_lid`.
    pub(crate) lid_rank: Vec<usize>,
}

impl Graph {
    /// Ties are broken by LID.
    pub(crate) fn new(topo: &Topology) -> Self {
        Self::with_ids(topo, &[])
    }

    /// Ties are broken by the given IDs (`ids_guid_file`), then by LID; switches without an ID come
    /// last.
    pub(crate) fn with_ids(topo: &Topology, ids: &[(SwitchIdx, u64)]) -> Self {
        let n = topo.num_switches();
        let (mut slot_base, mut slots, mut ports) = (vec![0], Vec::new(), Vec::new());
        for s in topo.switches() {
            let links = topo.links(s);
            for (i, link) in links.iter().enumerate() {
                if links[..i].iter().any(|l| l.peer == link.peer) {
                    continue;
                }
                let ports_from = ports.len();
                ports.extend(
                    links[i..]
                        .iter()
                        .filter(|l| l.peer == link.peer)
                        .map(|l| l.port.raw()),
                );
                slots.push(Slot {
                    peer: link.peer.index(),
                    ports_from,
                    ports_to: ports.len(),
                });
            }
            slot_base.push(slots.len());
        }
        let hosts = topo
            .switches()
            .map(|s| u32::try_from(topo.end_ports(s).len()).unwrap_or(u32::MAX))
            .collect();
        let mut id = vec![None; n];
        for &(s, number) in ids {
            if let Some(position) = id.get_mut(s.index()) {
                *position = Some(number);
            }
        }
        let mut by_lid: Vec<usize> = topo.by_lid().into_iter().map(SwitchIdx::index).collect();
        by_lid.sort_by_key(|&s| (id[s].is_none(), id[s]));
        let mut lid_rank = vec![0; n];
        for (rank, &s) in by_lid.iter().enumerate() {
            lid_rank[s] = rank;
        }
        Self {
            slot_base,
            slots,
            ports,
            hosts,
            by_lid,
            lid_rank,
        }
    }

    /// Number of switches.
    pub(crate) fn len(&self) -> usize {
        self.slot_base.len() - 1
    }

    /// Slots of a switch.
    pub(crate) fn slots(&self, s: usize) -> &[Slot] {
        &self.slots[self.slot_base[s]..self.slot_base[s + 1]]
    }

    /// Index of a switch's first slot in arrays over all slots.
    pub(crate) fn first_slot(&self, s: usize) -> usize {
        self.slot_base[s]
    }

    /// Number of slots of all switches.
    pub(crate) fn num_slots(&self) -> usize {
        self.slots.len()
    }

    /// Largest number of slots of a switch.
    pub(crate) fn most_slots(&self) -> usize {
        self.slot_base
            .windows(2)
            .map(|w| w[1] - w[0])
            .max()
            .unwrap_or(0)
    }

    /// Ports of a slot, ascending.
    pub(crate) fn ports(&self, slot: Slot) -> &[u8] {
        &self.ports[slot.ports_from..slot.ports_to]
    }

    /// Fails unless every switch can reach every other.
    pub(crate) fn check_connected(&self) -> Result<(), NotConnected> {
        let mut visited = fixedbitset::FixedBitSet::with_capacity(self.len());
        let mut components = 0;
        for start in 0..self.len() {
            if visited.put(start) {
                continue;
            }
            components += 1;
            let mut stack = vec![start];
            while let Some(s) = stack.pop() {
                stack.extend(
                    self.slots(s)
                        .iter()
                        .map(|l| l.peer)
                        .filter(|&p| !visited.put(p)),
                );
            }
        }
        if components > 1 {
            Err(NotConnected { components })
        } else {
            Ok(())
        }
    }
}
