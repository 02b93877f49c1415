//! Switches and links of equal position, by refinement of colours.
//!
//! Switches begin with equal colours if they have as many end ports and links. In each round, a
//! switch gets a colour by its own and those of its neighbours, with the rates and VLs of the links
//! between them. Links have equal positions if the colours of their ends, their rates and VLs are
//! equal. Switches that a symmetry of the fabric exchanges are in one class; the converse holds for
//! most fabrics, not for all.

use std::collections::BTreeMap;

use ferrosm_mad::ids::PortNum;

use crate::topology::{SwitchIdx, Topology, index_to_u32};

/// Rounds after which refinement stops. Each round adds a class, or is the last.
const ROUNDS_MAX: usize = 64;

/// Colours of switches: equal for equal positions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PositionClasses {
    /// By switch.
    colours: Vec<u32>,
}

/// The class of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkClass {
    /// Colours of the two ends, ascending; `None` for an end port.
    ends: (Option<u32>, u32),
    mbps: Option<u32>,
    vls: u8,
}

impl PositionClasses {
    /// The classes of a graph.
    #[must_use]
    pub fn of(topo: &Topology) -> Self {
        let own = |s: SwitchIdx| {
            (
                0,
                vec![(0, topo.end_ports(s).len(), topo.links(s).len(), 0)],
            )
        };
        let mut colours = numbered(topo.switches().map(own));
        for _ in 0..ROUNDS_MAX {
            let refined = numbered(topo.switches().map(|s| {
                let mut neighbours: Vec<(u32, usize, usize, u32)> = topo
                    .links(s)
                    .iter()
                    .map(|link| {
                        let vls = usize::from(topo.vls(s, link.port));
                        let mbps = topo.rate(s, link.port).unwrap_or(0);
                        (colours[link.peer.index()], vls, 0, mbps)
                    })
                    .collect();
                neighbours.sort_unstable();
                (colours[s.index()], neighbours)
            }));
            let is_stable = count(&refined) == count(&colours);
            colours = refined;
            if is_stable {
                break;
            }
        }
        Self { colours }
    }

    /// The class of a switch.
    #[must_use]
    pub fn switch(&self, s: SwitchIdx) -> u32 {
        self.colours[s.index()]
    }

    /// The class of the link at a switch port, which may lead to an end port.
    #[must_use]
    pub fn link(&self, topo: &Topology, s: SwitchIdx, port: PortNum) -> LinkClass {
        let own = self.switch(s);
        let peer = topo.neighbor(s, port).map(|(peer, _)| self.switch(peer));
        LinkClass {
            ends: peer.map_or((None, own), |peer| (Some(own.min(peer)), own.max(peer))),
            mbps: topo.rate(s, port),
            vls: topo.vls(s, port),
        }
    }
}

/// Numbers for equal keys, in the order of the keys.
fn numbered<K: Ord>(keys: impl Iterator<Item = K>) -> Vec<u32> {
    let keys: Vec<K> = keys.collect();
    let mut numbers: BTreeMap<&K, u32> = keys.iter().map(|key| (key, 0)).collect();
    for (i, number) in numbers.values_mut().enumerate() {
        *number = index_to_u32(i);
    }
    keys.iter().map(|key| numbers[key]).collect()
}

fn count(colours: &[u32]) -> u32 {
    colours.iter().max().map_or(0, |colour| colour + 1)
}
