//! Dependencies if packets can change their VL at every switch, by input port, output port and SL.
//!
//! Tracks the VLs of each SL on the output channel of each switch, per LID. Used by `walk` after it
//! has ordered the switches of a LID.

use ferrosm_mad::ids::PortNum;

use super::context::{DROPPED, Entries, Vls, WalkContext};
use super::dependency_graph::{ChannelDependencyGraph, ones};
use crate::topology::{Destination, SwitchIdx, index_to_u8};
use crate::vl_plan::SLS;

/// The routes to one LID, which form a tree.
pub(super) struct DestinationTree<'a> {
    pub(super) dest: &'a Destination,
    /// Table entry, by switch.
    pub(super) column: &'a [u8],
    /// Mask of SLs of packets that enter, by switch.
    pub(super) sls: &'a [u16],
}

/// VLs of the packets to one LID. State of one worker.
pub(super) struct LidPacketVls {
    /// By switch: VLs of the packets that leave it towards the LID.
    vls: Vec<Vls>,
    /// By switch: mask of SLs with packets.
    sls: Vec<u16>,
    /// SLs of packets that enter, for the same tree.
    entering: Vec<u16>,
    /// Whether no packet of the last tree was dropped.
    is_clean: bool,
}

impl LidPacketVls {
    pub(super) fn new(switches: usize) -> Self {
        Self {
            vls: vec![[0; SLS]; switches],
            sls: vec![0; switches],
            entering: vec![0; switches],
            is_clean: false,
        }
    }

    /// Whether the previous tree added all dependencies of this tree. `last` is the previous LID,
    /// with its entries. The output port of the owner is checked by [`Self::owner_drops`].
    pub(super) fn covers(
        &self,
        tree: &DestinationTree<'_>,
        last: &Destination,
        last_column: &[u8],
    ) -> bool {
        let owner = tree.dest.switch.index();
        let column = tree.column;
        let old_column = last_column;
        self.is_clean
            && last.switch == tree.dest.switch
            && column[..owner] == old_column[..owner]
            && column[owner + 1..] == old_column[owner + 1..]
            && self.covers_sls(tree)
    }

    /// Whether the SLs of entering packets are covered by those of the previous tree (equal, if the
    /// owner forwards packets).
    fn covers_sls(&self, tree: &DestinationTree<'_>) -> bool {
        if tree.dest.port == PortNum::ZERO {
            let mut pairs = self.entering.iter().zip(tree.sls);
            return pairs.all(|(before, sls)| sls & !before == 0);
        }
        self.entering == tree.sls
    }

    /// Whether the owner drops any packet, for a tree that equals the previous one up to the owner.
    pub(super) fn owner_drops(
        &self,
        context: &WalkContext<'_>,
        entries: &Entries,
        tree: &DestinationTree<'_>,
    ) -> bool {
        let owner = tree.dest.switch;
        let output = PortNum(tree.column[owner.index()]);
        let out = context.channels.base[owner.index()] + output.index();
        let mut lost_sls = ones(tree.sls[owner.index()]);
        if lost_sls.any(|sl| entries.vls[out][sl] & DROPPED != 0) {
            return true;
        }
        let mut arriving = context.topo.links(owner).iter().filter(|link| {
            tree.column[link.peer.index()] == link.peer_port.raw() && link.peer != owner
        });
        arriving.any(|link| {
            let from = link.peer.index();
            ones(self.sls[from]).any(|sl| {
                let number = index_to_u8(sl);
                let vl = context.vl_plan.vl(owner, link.port, output, number);
                self.vls[from][sl] != 0 && vl >= entries.limit[out]
            })
        })
    }

    /// Follows all packets of a tree, from the farthest switch inwards, and adds their dependencies
    /// to the graph. `used` collects the VLs of each channel. Returns whether any packet is
    /// dropped.
    pub(super) fn follow(
        &mut self,
        context: &WalkContext<'_>,
        entries: &Entries,
        tree: &DestinationTree<'_>,
        inwards: impl Iterator<Item = usize>,
        graph: &ChannelDependencyGraph,
        used: &mut [u16],
    ) -> bool {
        let channels = context.channels;
        let vl_plan = context.vl_plan;
        let owner = tree.dest.switch.index();
        let forwards = tree.dest.port != PortNum::ZERO;
        let mut dropped = false;
        self.sls.fill(0);
        self.vls.fill([0; SLS]);
        self.entering.copy_from_slice(tree.sls);
        for v in inwards {
            let out = channels.base[v] + usize::from(tree.column[v]);
            if v == owner {
                let is_lost = |sl: usize| entries.vls[out][sl] & DROPPED != 0;
                dropped |= forwards && ones(tree.sls[v]).any(is_lost);
                continue;
            }
            for sl in ones(tree.sls[v]) {
                let vls = entries.vls[out][sl];
                dropped |= vls & DROPPED != 0;
                self.vls[v][sl] |= vls & !DROPPED;
            }
            self.sls[v] |= tree.sls[v];
            let head = channels.heads[out];
            let next = head.switch as usize;
            let output = tree.column[next];
            let onward = channels.base[next] + usize::from(output);
            for sl in ones(self.sls[v]) {
                let vls = self.vls[v][sl];
                used[out] |= vls;
                if vls == 0 || (next == owner && !forwards) {
                    continue;
                }
                let number = index_to_u8(sl);
                let at = SwitchIdx::from_index(next);
                let vl = vl_plan.vl(at, PortNum(head.port), PortNum(output), number);
                if vl >= entries.limit[onward] {
                    dropped = true;
                } else if next != owner {
                    self.vls[next][sl] |= 1 << vl;
                    self.sls[next] |= 1 << sl;
                    graph.add_vl_change(channels.pair(out, onward), vls, vl);
                }
            }
        }
        self.is_clean = !dropped;
        dropped
    }
}
