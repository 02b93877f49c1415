//! The difference between two graphs of the same switches.

use ferrosm_mad::ids::{Lid, PortNum};

use crate::topology::{Destination, Topology};

/// Losses and LID changes that an incremental reroute handles.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Delta {
    /// Both directions of the lost links: switch and port.
    pub(super) lost: Vec<(usize, u8)>,
    /// LIDs that the new graph does not use.
    pub(super) removed: Vec<Lid>,
    /// LIDs that are new, or were on another switch.
    pub(super) added: Vec<Destination>,
    /// LIDs whose end port moved to another port of the same switch.
    pub(super) moved: Vec<Destination>,
    /// There are links that the old graph does not have.
    pub(super) has_new_links: bool,
}

impl Delta {
    /// `None` if the switches differ.
    pub(super) fn compare(old: &Topology, new: &Topology) -> Option<Self> {
        let has_same_switches = old.num_switches() == new.num_switches()
            && old.switches().all(|s| old.num_ports(s) == new.num_ports(s));
        if !has_same_switches {
            return None;
        }
        let mut delta = Self::default();
        for s in old.switches() {
            let mut remaining = new.links(s).iter().peekable();
            let mut new_links = 0;
            for link in old.links(s) {
                while remaining.next_if(|l| l.port < link.port).is_some() {
                    new_links += 1;
                }
                if remaining.next_if(|l| *l == link).is_none() {
                    delta.lost.push((s.index(), link.port.raw()));
                }
            }
            new_links += remaining.count();
            delta.has_new_links |= new_links > 0;
        }
        let mut before = old.destinations().iter().peekable();
        for d in new.destinations() {
            while let Some(removed) = before.next_if(|b| b.lid < d.lid) {
                delta.removed.push(removed.lid);
            }
            match before.next_if(|b| b.lid == d.lid) {
                Some(old_dest) if old_dest == d => {}
                Some(old_dest) if old_dest.switch == d.switch && both_end_ports(old_dest, d) => {
                    delta.moved.push(*d);
                }
                Some(_) | None => delta.added.push(*d),
            }
        }
        delta.removed.extend(before.map(|b| b.lid));
        Some(delta)
    }
}

fn both_end_ports(a: &Destination, b: &Destination) -> bool {
    a.port != PortNum::ZERO && b.port != PortNum::ZERO
}
