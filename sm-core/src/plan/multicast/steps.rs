//! The way from the tables that are there to those that should be: two steps, the second after all of the first is taken.
//!
//! For each MLID:
//! * Its entries only grow, or only shrink: they are written as they should be (growth in the first step, the rest in the
//!   second). Nothing is lost meanwhile by who stays a member.
//! * Its tree changes shape, and old and new together are still one tree of the forest: first both, then the new one. Make
//!   before break: nobody who stays a member loses a packet.
//! * Its tree changes shape otherwise: first what both have in common, then the new one. Members may lose packets for the
//!   time of a write, but at no moment can a packet loop: whatever part of the writes is there, entries of an MLID are part of
//!   its old tree or part of its new one. Within one forest nothing can wait in a circle either. After a change of the routing
//!   old entries and new routes are together until the second step is taken, and that nobody has proven.
//! * Where some switch may hold anything (another subnet manager was in charge, a write was not answered), what it holds is
//!   emptied in the first step, and nothing grows before the second.
//!
//! Pure.

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_mad::attr::MFT_BLOCK_LEN;
use ferrosm_mad::ids::PortNum;
use ferrosm_routing::SwitchIdx;
use ferrosm_routing::multicast::{Forest, PortSet};

use super::{BlockAt, EMPTY, Masks, Mft};
use crate::subnet::NodeIdx;

/// A switch with a multicast forwarding table.
#[derive(Debug, Clone, Copy)]
pub struct Switch<'a> {
    /// Its node.
    pub node: NodeIdx,
    /// Its index in the routing; none if it is not routed.
    pub routed: Option<SwitchIdx>,
    /// Its table.
    pub mft: &'a Mft,
    /// How many groups of 16 ports it has.
    pub positions: u8,
    /// How many blocks its table has.
    pub blocks: u16,
}

/// A block to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Write {
    /// The switch.
    pub node: NodeIdx,
    /// The block.
    pub at: BlockAt,
    /// What it is to hold.
    pub masks: Masks,
}

/// What is to be written.
#[derive(Debug, Clone, Default)]
pub struct Steps {
    /// At once.
    pub first: Vec<Write>,
    /// When all of that is taken.
    pub then: Vec<Write>,
    /// MLIDs, by block and place, whose new entries must not meet old ones.
    pub apart: BTreeSet<(u16, usize)>,
}

/// A block that is not as it should be.
struct Difference {
    switch: usize,
    at: BlockAt,
    was: Option<Masks>,
    is: Masks,
}

/// How an MLID's entries change, all switches together.
#[derive(Default, Clone, Copy)]
struct Change {
    grows: bool,
    shrinks: bool,
}

/// Compares tables. `used` are the blocks that some group is in: of those no switch may hold anything unknown. Only blocks in
/// `only` are looked at, where given.
#[must_use]
pub fn steps(
    switches: &[Switch<'_>],
    used: &BTreeSet<u16>,
    only: Option<&BTreeSet<u16>>,
    forest: Option<&Forest<'_>>,
) -> Steps {
    let mut differences = Vec::new();
    let mut unknown = BTreeSet::new();
    for (i, switch) in switches.iter().enumerate() {
        for at in blocks_of(switch, used, only) {
            let (was, is) = (switch.mft.known.get(&at).copied(), switch.mft.wanted(at));
            if was.is_none() {
                unknown.insert(at.block);
            }
            if was != Some(is) {
                differences.push(Difference {
                    switch: i,
                    at,
                    was,
                    is,
                });
            }
        }
    }
    let changes = changes(&differences);
    let mut steps = Steps::default();
    for (&(block, place), change) in &changes {
        let reshaped = change.grows && change.shrinks;
        let mixes = !unknown.contains(&block)
            && (!reshaped || forest.is_some_and(|f| is_tree(switches, f, block, place)));
        if !mixes {
            steps.apart.insert((block, place));
        }
    }
    for d in &differences {
        let mut first = EMPTY;
        for (i, mask) in first.iter_mut().enumerate() {
            let (was, is) = (d.was.map_or(0, |w| w[i]), d.is[i]);
            *mask = if steps.apart.contains(&(d.at.block, i)) {
                was & is
            } else {
                was | is
            };
        }
        let write = |masks| Write {
            node: switches[d.switch].node,
            at: d.at,
            masks,
        };
        if d.was != Some(first) {
            steps.first.push(write(first));
        }
        if d.is != first {
            steps.then.push(write(d.is));
        }
    }
    steps
}

fn blocks_of(
    switch: &Switch<'_>,
    used: &BTreeSet<u16>,
    only: Option<&BTreeSet<u16>>,
) -> BTreeSet<BlockAt> {
    let all = |block: u16| (0..switch.positions).map(move |position| BlockAt { block, position });
    if let Some(only) = only {
        let here = |at: &BlockAt| {
            used.contains(&at.block)
                || switch.mft.known.contains_key(at)
                || switch.mft.wanted.contains_key(at)
        };
        let only = only.iter().copied().filter(|b| *b < switch.blocks);
        return only.flat_map(all).filter(here).collect();
    }
    let named = switch.mft.known.keys().chain(switch.mft.wanted.keys());
    let named = named.copied().chain(used.iter().copied().flat_map(all));
    named.filter(|at| at.block < switch.blocks).collect()
}

fn changes(differences: &[Difference]) -> BTreeMap<(u16, usize), Change> {
    let mut changes: BTreeMap<(u16, usize), Change> = BTreeMap::new();
    for d in differences {
        let was = d.was.unwrap_or(EMPTY);
        for i in (0..MFT_BLOCK_LEN).filter(|i| was[*i] != d.is[*i]) {
            let change = changes.entry((d.at.block, i)).or_default();
            change.grows |= d.is[i] & !was[i] != 0;
            change.shrinks |= was[i] & !d.is[i] != 0;
        }
    }
    changes
}

/// Whether what is there for an MLID and what should be are one tree together.
fn is_tree(switches: &[Switch<'_>], forest: &Forest<'_>, block: u16, place: usize) -> bool {
    let entries = switches.iter().filter_map(|switch| {
        let mut ports = PortSet::new();
        for position in 0..switch.positions {
            let at = BlockAt { block, position };
            let was = switch.mft.known.get(&at).map_or(0, |m| m[place]);
            let both = was | switch.mft.wanted.get(&at).map_or(0, |m| m[place]);
            for bit in (0..16u8).filter(|b| both >> b & 1 == 1) {
                ports.insert(PortNum(position * 16 + bit));
            }
        }
        Some((switch.routed?, ports)).filter(|(_, ports)| !ports.is_empty())
    });
    forest.holds(entries)
}
