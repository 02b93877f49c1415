//! The writes that turn the installed MFTs into the desired ones: two steps, the second after all
//! Sets of the first are acknowledged.
//!
//! For each MLID:
//! * Its entries only gain ports, or only lose some: gains are written in the first step, losses in
//!   the second. Ports that stay members lose no packet.
//! * Its tree changes shape, and the union of both trees is one tree of the forest: the union
//!   first, then the new tree. Ports that stay members lose no packet.
//! * Its tree changes shape otherwise: the intersection of both trees first, then the new tree.
//!   Members may lose packets for the duration of a write, but no packet can loop: whichever Sets
//!   took effect, the entries of an MLID are part of its old tree or of its new one. Trees of one
//!   forest cannot deadlock with each other.
//! * Its old entries are not a tree of the forest, because they are of a previous routing: entries
//!   that the new tree lacks are removed in a pass of their own, before any entry gains a port.
//!   They are safe beside the routes ([`crate::routing::installed_groups`]), but not beside the new
//!   trees of other MLIDs.
//! * Some switch has a block of it with unknown contents: such blocks are emptied in the first
//!   step, and no entry gains a port before the second.
//!
//! Pure.

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_mad::attr::MFT_BLOCK_LEN;
use ferrosm_mad::ids::PortNum;
use ferrosm_routing::multicast::SpanningForest;
use ferrosm_routing::{PortSet, SwitchIdx};

use ferrosm_fabric::observed::NodeIdx;
use ferrosm_fabric::tables::mft::{EMPTY_BLOCK, MftBlockIdx, MftBlocks, PortMasks};

/// A switch with an MFT.
#[derive(Debug, Clone, Copy)]
pub(super) struct SwitchMft<'a> {
    pub(super) node: NodeIdx,
    /// Its index in the routing; `None` if it is not routed.
    pub(super) routed: Option<SwitchIdx>,
    pub(super) installed: &'a MftBlocks,
    /// Blocks that may have entries although they are not in `installed`: they are written even if
    /// they are empty and not in use.
    pub(super) uncertain: &'a BTreeSet<MftBlockIdx>,
    pub(super) desired: &'a MftBlocks,
    /// Number of positions: groups of 16 ports.
    pub(super) positions: u8,
    /// Number of blocks of the table.
    pub(super) blocks: u16,
}

/// A block to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MftWrite {
    pub(super) node: NodeIdx,
    pub(super) at: MftBlockIdx,
    pub(super) masks: PortMasks,
}

/// An MLID: its block and its index in the block.
pub(super) type MftEntryIdx = (u16, usize);

/// The writes of an update.
#[derive(Debug, Clone, Default)]
pub(super) struct MftSteps {
    pub(super) first: Vec<MftWrite>,
    /// Written when all of `first` is acknowledged.
    pub(super) second: Vec<MftWrite>,
    /// MLIDs whose new entries must not coexist with old ones.
    pub(super) exclusive: BTreeSet<MftEntryIdx>,
    /// `first` only removes entries of another forest. When it is acknowledged, the tables are
    /// compared again.
    pub(super) is_removal_pass: bool,
}

impl MftSteps {
    /// Whether a block of this switch is written.
    pub(super) fn writes_to(&self, n: NodeIdx) -> bool {
        self.first.iter().chain(&self.second).any(|w| w.node == n)
    }

    /// Leaves the entries of some MLIDs as they are in all switches.
    pub(super) fn freeze(&mut self, switches: &[SwitchMft<'_>], frozen: &BTreeSet<MftEntryIdx>) {
        if frozen.is_empty() {
            return;
        }
        let by_node: BTreeMap<NodeIdx, &MftBlocks> =
            switches.iter().map(|s| (s.node, s.installed)).collect();
        for w in self.first.iter_mut().chain(&mut self.second) {
            let installed = by_node.get(&w.node).and_then(|blocks| blocks.get(&w.at));
            for (_, i) in frozen.iter().filter(|(block, _)| *block == w.at.block) {
                w.masks[*i] = installed.map_or(0, |masks| masks[*i]);
            }
        }
    }
}

/// A block whose installed contents differ from the desired ones.
struct BlockDifference {
    node: NodeIdx,
    at: MftBlockIdx,
    /// `None` if unknown.
    installed: Option<PortMasks>,
    desired: PortMasks,
}

impl BlockDifference {
    const fn write(&self, masks: PortMasks) -> MftWrite {
        let (node, at) = (self.node, self.at);
        MftWrite { node, at, masks }
    }
}

/// How the entries of an MLID change in all switches.
#[derive(Default, Clone, Copy)]
struct EntryChange {
    gains_ports: bool,
    loses_ports: bool,
}

/// Compares tables. `used` are the blocks with an MLID in use, whose contents must become known in
/// every switch. With `only`, no other blocks are compared. `has_old_trees`: installed entries may
/// be of another forest than `forest`, which is `None` if there are no trees.
pub(super) fn plan(
    switches: &[SwitchMft<'_>],
    used: &BTreeSet<u16>,
    only: Option<&BTreeSet<u16>>,
    forest: Option<&SpanningForest<'_>>,
    has_old_trees: bool,
) -> MftSteps {
    let mut differences = Vec::new();
    let mut unknown = BTreeSet::new();
    for switch in switches {
        for at in blocks_of(switch, used, only) {
            let installed = switch.installed.get(&at).copied();
            let desired = switch.desired.get(&at).copied().unwrap_or(EMPTY_BLOCK);
            if installed.is_none() {
                unknown.insert(at.block);
            }
            if installed != Some(desired) {
                differences.push(BlockDifference {
                    node: switch.node,
                    at,
                    installed,
                    desired,
                });
            }
        }
    }
    let changes = entry_changes(&differences);
    if has_old_trees {
        let is_stale = |&&(block, i): &&MftEntryIdx| {
            let installed =
                |switch: &SwitchMft<'_>, at: MftBlockIdx| mask_of(switch.installed, at, i);
            !forest.is_some_and(|f| is_tree(switches, f, block, installed))
        };
        let stale: BTreeSet<MftEntryIdx> = changes.keys().filter(is_stale).copied().collect();
        if !stale.is_empty() {
            return removal_pass(&differences, stale);
        }
    }
    let mut steps = MftSteps::default();
    for (&(block, i), change) in &changes {
        let is_reshaped = change.gains_ports && change.loses_ports;
        let union = |switch: &SwitchMft<'_>, at: MftBlockIdx| {
            mask_of(switch.installed, at, i) | mask_of(switch.desired, at, i)
        };
        let may_coexist = !unknown.contains(&block)
            && (!is_reshaped || forest.is_some_and(|f| is_tree(switches, f, block, union)));
        if !may_coexist {
            steps.exclusive.insert((block, i));
        }
    }
    for d in &differences {
        let installed = d.installed.unwrap_or(EMPTY_BLOCK);
        let first: PortMasks = core::array::from_fn(|i| {
            if steps.exclusive.contains(&(d.at.block, i)) {
                installed[i] & d.desired[i]
            } else {
                installed[i] | d.desired[i]
            }
        });
        if d.installed != Some(first) {
            steps.first.push(d.write(first));
        }
        if d.desired != first {
            steps.second.push(d.write(d.desired));
        }
    }
    steps
}

/// Removes ports that the new trees lack from the entries of `stale` MLIDs.
fn removal_pass(differences: &[BlockDifference], stale: BTreeSet<MftEntryIdx>) -> MftSteps {
    let mut first = Vec::new();
    for d in differences {
        let Some(installed) = d.installed else {
            continue;
        };
        let masks: PortMasks = core::array::from_fn(|i| {
            if stale.contains(&(d.at.block, i)) {
                installed[i] & d.desired[i]
            } else {
                installed[i]
            }
        });
        if masks != installed {
            first.push(d.write(masks));
        }
    }
    MftSteps {
        first,
        exclusive: stale,
        is_removal_pass: true,
        ..MftSteps::default()
    }
}

fn blocks_of(
    switch: &SwitchMft<'_>,
    used: &BTreeSet<u16>,
    only: Option<&BTreeSet<u16>>,
) -> BTreeSet<MftBlockIdx> {
    let all_blocks =
        |block: u16| (0..switch.positions).map(move |position| MftBlockIdx { block, position });
    if let Some(only) = only {
        let is_relevant = |at: &MftBlockIdx| {
            used.contains(&at.block)
                || switch.installed.contains_key(at)
                || switch.uncertain.contains(at)
                || switch.desired.contains_key(at)
        };
        let only = only.iter().copied().filter(|b| *b < switch.blocks);
        return only.flat_map(all_blocks).filter(is_relevant).collect();
    }
    let listed = switch.installed.keys().chain(switch.desired.keys());
    let blocks = listed
        .chain(switch.uncertain)
        .copied()
        .chain(used.iter().copied().flat_map(all_blocks));
    blocks.filter(|at| at.block < switch.blocks).collect()
}

fn entry_changes(differences: &[BlockDifference]) -> BTreeMap<MftEntryIdx, EntryChange> {
    let mut changes: BTreeMap<MftEntryIdx, EntryChange> = BTreeMap::new();
    for d in differences {
        let installed = d.installed.unwrap_or(EMPTY_BLOCK);
        for i in (0..MFT_BLOCK_LEN).filter(|i| installed[*i] != d.desired[*i]) {
            let change = changes.entry((d.at.block, i)).or_default();
            change.gains_ports |= d.desired[i] & !installed[i] != 0;
            change.loses_ports |= installed[i] & !d.desired[i] != 0;
        }
    }
    changes
}

fn mask_of(blocks: &MftBlocks, at: MftBlockIdx, i: usize) -> u16 {
    blocks.get(&at).map_or(0, |masks| masks[i])
}

/// Whether the entries of an MLID are a tree of the forest. `mask` gives the ports of a switch and
/// position.
fn is_tree(
    switches: &[SwitchMft<'_>],
    forest: &SpanningForest<'_>,
    block: u16,
    mask: impl Fn(&SwitchMft<'_>, MftBlockIdx) -> u16,
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
    forest.contains_entries(entries)
}
