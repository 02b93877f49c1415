//! Dependencies where packets may change their VL at every switch: by input port, output port and SL.
//!
//! Per LID, the packets on each switch's channel are kept as the VLs of each SL. Used by `walk`, after it has settled the
//! switches of a LID.

use ferrosm_mad::ids::PortNum;

use super::ground::{DROPPED, Entries, Ground, Vls};
use super::waits::{Waits, ones};
use crate::topology::{Destination, SwitchIdx};
use crate::vl_plan::SLS;

/// A tree of packets towards one LID.
pub(super) struct Tree<'a> {
    pub(super) dest: &'a Destination,
    /// Each switch's table entry.
    pub(super) column: &'a [u8],
    /// SLs of packets where they enter, by switch; 0 where none do.
    pub(super) sls: &'a [u16],
}

/// What one worker keeps.
pub(super) struct Carried {
    /// By switch: the packets that leave it towards the LID.
    vls: Vec<Vls>,
    /// By switch: the SLs of which there are any.
    sls: Vec<u16>,
    /// SLs of packets where they enter, of the tree that these are of.
    entering: Vec<u16>,
    /// None of them is dropped.
    is_clean: bool,
}

impl Carried {
    pub(super) fn new(switches: usize) -> Self {
        Self {
            vls: vec![[0; SLS]; switches],
            sls: vec![0; switches],
            entering: vec![0; switches],
            is_clean: false,
        }
    }

    /// Whether all that packets of a tree do on their way to the owner, was entered for the trees before. `last` is the LID before, with
    /// its entries. What the owner does with them is for [`Self::hand_out`].
    pub(super) fn covers(&self, tree: &Tree<'_>, last: &Destination, last_column: &[u8]) -> bool {
        let owner = tree.dest.switch.index();
        let (all, last_all) = (tree.column, last_column);
        self.is_clean
            && last.switch == tree.dest.switch
            && all[..owner] == last_all[..owner]
            && all[owner + 1..] == last_all[owner + 1..]
            && self.has_entered(tree)
    }

    /// Whether packets of a tree enter with SLs of the tree that was followed. `hand_out` needs the same ones.
    fn has_entered(&self, tree: &Tree<'_>) -> bool {
        if tree.dest.port == PortNum::ZERO {
            let mut both = self.entering.iter().zip(tree.sls);
            return both.all(|(before, sls)| sls & !before == 0);
        }
        self.entering == tree.sls
    }

    /// Whether the owner drops any packet of a tree that is the same as the one before up to there.
    pub(super) fn hand_out(&self, ground: &Ground<'_>, entries: &Entries, tree: &Tree<'_>) -> bool {
        let owner = tree.dest.switch;
        let output = PortNum(tree.column[owner.index()]);
        let out = ground.channels.base[owner.index()] + output.index();
        let mut lost = ones(tree.sls[owner.index()]);
        if lost.any(|sl| entries.vls[out][sl] & DROPPED != 0) {
            return true;
        }
        let mut arriving = ground.topo.links(owner).iter().filter(|link| {
            tree.column[link.peer.index()] == link.peer_port.raw() && link.peer != owner
        });
        arriving.any(|link| {
            let from = link.peer.index();
            ones(self.sls[from]).any(|sl| {
                let number = u8::try_from(sl).unwrap_or(u8::MAX);
                let vl = ground.lanes.vl(owner, link.port, output, number);
                self.vls[from][sl] != 0 && vl >= entries.limit[out]
            })
        })
    }

    /// Follows all packets of a tree, the farthest switch first (`inwards`), and enters what waits for what. `used`
    /// collects the VLs of each channel. Says whether any packet is dropped.
    pub(super) fn follow(
        &mut self,
        ground: &Ground<'_>,
        entries: &Entries,
        tree: &Tree<'_>,
        inwards: impl Iterator<Item = usize>,
        waits: &Waits,
        used: &mut [u16],
    ) -> bool {
        let (channels, lanes) = (ground.channels, ground.lanes);
        let owner = tree.dest.switch.index();
        let handed_out = tree.dest.port != PortNum::ZERO;
        let mut dropped = false;
        self.sls.fill(0);
        self.vls.fill([0; SLS]);
        self.entering.copy_from_slice(tree.sls);
        for v in inwards {
            let out = channels.base[v] + usize::from(tree.column[v]);
            if v == owner {
                let lost = |sl: usize| entries.vls[out][sl] & DROPPED != 0;
                dropped |= handed_out && ones(tree.sls[v]).any(lost);
                continue;
            }
            for sl in ones(tree.sls[v]) {
                let vls = entries.vls[out][sl];
                dropped |= vls & DROPPED != 0;
                self.vls[v][sl] |= vls & !DROPPED;
            }
            self.sls[v] |= tree.sls[v];
            let end = channels.ends[out];
            let next = end.switch as usize;
            let output = tree.column[next];
            let onward = channels.base[next] + usize::from(output);
            for sl in ones(self.sls[v]) {
                let vls = self.vls[v][sl];
                used[out] |= vls;
                if vls == 0 || (next == owner && !handed_out) {
                    continue;
                }
                let number = u8::try_from(sl).unwrap_or(u8::MAX);
                let at = SwitchIdx::at(next);
                let vl = lanes.vl(at, PortNum(end.port), PortNum(output), number);
                if vl >= entries.limit[onward] {
                    dropped = true;
                } else if next != owner {
                    self.vls[next][sl] |= 1 << vl;
                    self.sls[next] |= 1 << sl;
                    waits.change(channels.pair(out, onward), vls, vl);
                }
            }
        }
        self.is_clean = !dropped;
        dropped
    }
}
