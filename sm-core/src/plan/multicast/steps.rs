//! The way from the tables that are there to those that should be: two steps, the second after all of the first is taken.
//!
//! For each MLID:
//! * Its entries only grow, or only shrink: they are written as they should be (growth in the first step, the rest in the
//!   second). Nothing is lost meanwhile by who stays a member.
//! * Its tree changes shape, and old and new together are still one tree of the forest: first both, then the new one. Make
//!   before break: nobody who stays a member loses a packet.
//! * Its tree changes shape otherwise: first what both have in common, then the new one. Members may lose packets for the
//!   time of a write, but at no moment can a packet loop: whatever part of the writes is there, entries of an MLID are part of
//!   its old tree or part of its new one. Within one forest nothing can wait in a circle either.
//! * Its old entries are of another routing's forest: what the new tree has not goes before anything else grows, in a step of its
//!   own. Beside the routes it was proven to be harmless ([`super::beside`]); beside other groups' new trees nobody knows.
//! * Where some switch may hold anything (another subnet manager was in charge, a write was not answered), what it holds is
//!   emptied in the first step, and nothing grows before the second.
//!
//! Pure.

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_mad::attr::MFT_BLOCK_LEN;
use ferrosm_mad::ids::PortNum;
use ferrosm_routing::SwitchIdx;
use ferrosm_routing::multicast::{Forest, PortSet};

use crate::subnet::Mft;
use crate::subnet::NodeIdx;
use crate::tables::mft::{EMPTY, MftBlockIdx, MftBlocks, PortMasks};

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
    pub at: MftBlockIdx,
    /// What it is to hold.
    pub masks: PortMasks,
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
    /// There is more to do, which is found by comparing again when the first step is taken. There is no second then.
    pub again: bool,
}

/// What new entries are made of.
#[derive(Debug, Clone, Copy)]
pub struct Trees<'a> {
    /// None where there are no trees at all.
    pub forest: Option<&'a Forest<'a>>,
    /// Old entries may be of another forest.
    pub moved: bool,
}

impl Steps {
    /// Leaves places (block, place in it) as they are in all switches.
    pub fn hold(&mut self, switches: &[Switch<'_>], held: &BTreeSet<(u16, usize)>) {
        if held.is_empty() {
            return;
        }
        let known: BTreeMap<NodeIdx, &Mft> = switches.iter().map(|s| (s.node, s.mft)).collect();
        for w in self.first.iter_mut().chain(&mut self.then) {
            let there = known.get(&w.node).and_then(|mft| mft.known.get(&w.at));
            for (_, i) in held.iter().filter(|(block, _)| *block == w.at.block) {
                w.masks[*i] = there.map_or(0, |masks| masks[*i]);
            }
        }
    }
}

/// A block that is not as it should be.
struct Difference {
    switch: usize,
    at: MftBlockIdx,
    was: Option<PortMasks>,
    is: PortMasks,
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
    trees: Trees<'_>,
) -> Steps {
    let forest = trees.forest;
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
    if trees.moved {
        let stale = |&&(block, place): &&(u16, usize)| {
            let was = |switch: &Switch<'_>, at: MftBlockIdx| mask_of(&switch.mft.known, at, place);
            !forest.is_some_and(|f| is_tree(switches, f, block, was))
        };
        steps.apart = changes.keys().filter(stale).copied().collect();
        steps.again = !steps.apart.is_empty();
    }
    if steps.again {
        for d in &differences {
            let Some(was) = d.was else { continue };
            let stale = |i: usize| steps.apart.contains(&(d.at.block, i));
            let left = |i: usize| if stale(i) { was[i] & d.is[i] } else { was[i] };
            let masks: PortMasks = core::array::from_fn(left);
            if masks != was {
                steps.first.push(Write {
                    node: switches[d.switch].node,
                    at: d.at,
                    masks,
                });
            }
        }
        return steps;
    }
    for (&(block, place), change) in &changes {
        let reshaped = change.grows && change.shrinks;
        let both = |switch: &Switch<'_>, at: MftBlockIdx| {
            mask_of(&switch.mft.known, at, place) | mask_of(&switch.mft.wanted, at, place)
        };
        let mixes = !unknown.contains(&block)
            && (!reshaped || forest.is_some_and(|f| is_tree(switches, f, block, both)));
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
) -> BTreeSet<MftBlockIdx> {
    let all =
        |block: u16| (0..switch.positions).map(move |position| MftBlockIdx { block, position });
    if let Some(only) = only {
        let here = |at: &MftBlockIdx| {
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

fn mask_of(blocks: &MftBlocks, at: MftBlockIdx, place: usize) -> u16 {
    blocks.get(&at).map_or(0, |masks| masks[place])
}

/// Whether entries of an MLID are one tree.
fn is_tree(
    switches: &[Switch<'_>],
    forest: &Forest<'_>,
    block: u16,
    mask: impl Fn(&Switch<'_>, MftBlockIdx) -> u16,
) -> bool {
    let entries = switches.iter().filter_map(|switch| {
        let mut ports = PortSet::new();
        for position in 0..switch.positions {
            let mask = mask(switch, MftBlockIdx { block, position });
            for bit in (0..16u8).filter(|b| mask >> b & 1 == 1) {
                ports.insert(PortNum(position * 16 + bit));
            }
        }
        Some((switch.routed?, ports)).filter(|(_, ports)| !ports.is_empty())
    });
    forest.holds(entries)
}
