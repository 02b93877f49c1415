//! What was lost and gained between two graphs of the same switches.

use ferrosm_mad::ids::{Lid, PortNum};

use crate::topology::{Destination, Topology};

/// Differences that can be repaired.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Delta {
    /// Both directions of the cables that are gone: switch and port.
    pub(super) lost: Vec<(usize, u8)>,
    /// LIDs that nobody has any more.
    pub(super) gone: Vec<Lid>,
    /// LIDs that nobody had, or that were on another switch.
    pub(super) come: Vec<Destination>,
    /// LIDs whose end port is on another port of the same switch.
    pub(super) replugged: Vec<Destination>,
}

impl Delta {
    /// `None` if there is more: other switches, or a cable that was not there.
    pub(super) fn between(old: &Topology, new: &Topology) -> Option<Self> {
        let same = old.num_switches() == new.num_switches()
            && old.switches().all(|s| old.num_ports(s) == new.num_ports(s));
        if !same {
            return None;
        }
        let mut delta = Self::default();
        for s in old.switches() {
            let mut left = new.links(s).iter().peekable();
            for link in old.links(s) {
                if left.next_if(|l| *l == link).is_none() {
                    delta.lost.push((s.index(), link.port.raw()));
                }
            }
            if left.next().is_some() {
                return None;
            }
        }
        let mut before = old.destinations().iter().peekable();
        for d in new.destinations() {
            while let Some(gone) = before.next_if(|b| b.lid < d.lid) {
                delta.gone.push(gone.lid);
            }
            match before.next_if(|b| b.lid == d.lid) {
                Some(was) if was == d => {}
                Some(was) if was.switch == d.switch && both_end_ports(was, d) => {
                    delta.replugged.push(*d);
                }
                Some(_) | None => delta.come.push(*d),
            }
        }
        delta.gone.extend(before.map(|b| b.lid));
        Some(delta)
    }
}

fn both_end_ports(a: &Destination, b: &Destination) -> bool {
    a.port != PortNum::ZERO && b.port != PortNum::ZERO
}
