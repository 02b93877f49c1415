//! Keeps multicast forwarding tables as the groups that clients register want them (rules 4.6, 4.8, 10.13 to 10.18).
//!
//! Within a sweep, after the routes and before links are armed, all tables are compared with what should be. Between sweeps
//! members come and go: when the manager is idle, trees of those MLIDs are changed that were named since the last time, all
//! at once, and what differs is written; no sweep is needed for that. In which steps, and what that guarantees, is said in
//! [`crate::plan::multicast::steps`]. While a new routing is written old trees are still there: entries that would not be safe
//! beside it are emptied before ([`crate::plan::multicast::beside`]).
//!
//! A switch that does not take a block is left alone until the next sweep, which looks at it anyway. Nobody waits for it but
//! trees that must not meet what it may still hold.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use ferrosm_mad::attr::{CapMask, MftBlock, SwitchInfo, id};
use ferrosm_mad::ids::{Lid, PortNum, Sl};
use ferrosm_mad::mad::Status;
use ferrosm_mad::time::Instant;

use super::{Stage, SubnetManager};
use crate::plan::multicast::beside::{Installed, entries_of};
use crate::plan::multicast::grove::{Followed, Grove, Members};
use crate::plan::multicast::steps::{self, Steps, Switch, Trees};
use crate::report::ProblemKind;
use crate::smp::op::SmpOp;
use crate::subnet::{Node, NodeIdx, PortRef};
use crate::tables::mft::{
    EMPTY, MftBlockIdx, PortMasks, TOP_NONE, first_of, last_of, place, positions,
};

/// Between two computations, so that a storm of joins is a few of them.
const PAUSE: Duration = Duration::from_millis(10);

/// How far writing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Progress {
    /// Nothing is under way.
    #[default]
    Done,
    First,
    /// What another routing left is taken out; then it is compared again.
    Again,
    Then,
    Tops,
}

/// What is kept of multicast.
#[derive(Debug, Default)]
pub(super) struct Multicast {
    grove: Grove,
    /// MLIDs to be looked at.
    changed: BTreeSet<Lid>,
    /// Blocks that some group is in, and the first one.
    used: BTreeSet<u16>,
    progress: Progress,
    steps: Steps,
    /// Entries that must be emptied before tables are written.
    in_the_way: Vec<(Lid, NodeIdx)>,
    /// Blocks that some switch did not take.
    failed: BTreeSet<u16>,
    /// Entries may be those of another routing's trees.
    moved: bool,
    /// Switches that did not take one, until the next sweep.
    deaf: BTreeSet<NodeIdx>,
    /// The last sweep that compared all tables.
    compared_in: u32,
    /// No computation before this moment.
    rest_until: Option<Instant>,
    /// Blocks of switches that were asked for.
    reading: BTreeSet<(NodeIdx, u16)>,
}

impl Multicast {
    /// Trees are those that the switches have, whoever made them: those of an earlier reign may be others.
    pub(super) fn forget_trees(&mut self) {
        self.grove = Grove::default();
    }
}

fn has_top(node: &Node) -> bool {
    let own = node.ports.first().filter(|port| port.known);
    own.is_some_and(|port| port.info().capability_mask.has(CapMask::MULTICAST_FDB_TOP))
}

impl SubnetManager {
    /// Before anything is written: what switches have that another SM was in charge of. Their first block, those that are in
    /// use, and from there on until an empty one.
    pub(super) fn read_multicast(&mut self) {
        self.multicast.reading.clear();
        let mut wanted: BTreeSet<u16> = self.administration.used_blocks();
        wanted.insert(0);
        let nodes: Vec<NodeIdx> = self.subnet.node_indices().collect();
        for n in nodes {
            let Some(node) = self.subnet.get_mut(n).filter(|n| n.is_switch()) else {
                continue;
            };
            let woken = node.switch_info().is_none_or(|s| s.linear_fdb_top == 0);
            if !core::mem::replace(&mut node.mft.read, true) && !woken {
                wanted.iter().for_each(|b| self.ask_block(n, *b));
            }
        }
    }

    fn ask_block(&mut self, n: NodeIdx, block: u16) {
        let Some((node, info)) = self.subnet.get(n).and_then(|n| Some((n, n.switch_info()?)))
        else {
            return;
        };
        let beyond = has_top(node) && first_of(block) > info.multicast_fdb_top;
        if block >= info.multicast_fdb_cap.div_ceil(32) || beyond {
            return;
        }
        let positions = positions(node.info.num_ports);
        if self.multicast.reading.insert((n, block)) {
            for position in 0..positions {
                self.enqueue(SmpOp::Mft(n, MftBlockIdx { block, position }));
            }
        }
    }

    pub(super) fn on_mft(&mut self, n: NodeIdx, at: MftBlockIdx, status: Status, data: &[u8; 64]) {
        if !status.is_ok() {
            return;
        }
        let masks = MftBlock::decode(data).masks;
        if let Some(node) = self.subnet.get_mut(n) {
            node.mft.know(at, masks);
        }
        if masks != EMPTY {
            self.ask_block(n, at.block + 1);
        }
    }

    /// What switches have now, for whoever replaces the routes.
    pub(super) fn installed_groups(&self, nodes: &[NodeIdx]) -> Installed {
        let groups = self.registry().groups();
        let sl_of = |mlid| groups.of_mlid(mlid).next().map(|(_, g)| g.parameters.sl);
        Installed::new(&self.subnet, nodes, &|mlid| sl_of(mlid).unwrap_or(Sl(0)))
    }

    /// Entries that must be gone before the next tables are written.
    pub(super) fn put_out_of_the_way(&mut self, entries: Vec<(Lid, NodeIdx)>) {
        if !entries.is_empty() {
            let mlids: BTreeSet<Lid> = entries.iter().map(|(mlid, _)| *mlid).collect();
            let note = format!(
                "multicast entries of {} MLIDs are emptied before routes are written, because they do not go together",
                mlids.len()
            );
            self.sweep.report.engine_notes.push(note);
        }
        self.multicast.in_the_way = entries;
    }

    /// Empties them; whether there is something to wait for. A switch that does not take it is told as any other, and keeps
    /// nobody else from being routed.
    pub(super) fn empty_groups(&mut self) -> bool {
        let mut blocks: BTreeMap<(NodeIdx, MftBlockIdx), PortMasks> = BTreeMap::new();
        for (mlid, n) in core::mem::take(&mut self.multicast.in_the_way) {
            let Some(node) = self.subnet.get(n) else {
                continue;
            };
            let (block, i) = place(mlid);
            for position in 0..positions(node.info.num_ports) {
                let at = MftBlockIdx { block, position };
                if let Some(known) = node.mft.known.get(&at).filter(|masks| masks[i] != 0) {
                    blocks.entry((n, at)).or_insert(*known)[i] = 0;
                }
            }
        }
        let any = !blocks.is_empty();
        for ((n, at), masks) in blocks {
            self.send_block(n, at, masks);
        }
        any
    }

    /// Within a sweep, whenever nothing is outstanding: goes on with the tables; whether there is something to wait for.
    pub(super) fn write_multicast(&mut self) -> bool {
        if self.multicast.compared_in != self.sweeps {
            self.multicast.compared_in = self.sweeps;
            self.multicast.deaf.clear();
            self.count_mlids();
            self.multicast.moved = false;
            self.compute_trees(true);
            if !self.multicast.grove.has_room() {
                let note = "there is no multicast, because no tree goes together with the routes";
                self.sweep.report.engine_notes.push(note.to_owned());
            }
            self.compare(None, &BTreeSet::new());
        }
        self.write_on_multicast()
    }

    /// Whether tables may follow joins and leaves now. While routes wait for the next sweep, trees do too.
    fn may_change_groups(&self) -> bool {
        let settled = self.stage == Stage::Idle
            && !self.schedule.is_requested()
            && !self.routing.is_incomplete();
        settled && self.is_master() && self.view().is_some()
    }

    /// When changes are due that have waited; never while they would have to wait for something else.
    pub(super) fn groups_due(&self) -> Option<Instant> {
        let due = self.multicast.rest_until;
        due.filter(|_| !self.multicast.changed.is_empty() && self.may_change_groups())
    }

    /// Between sweeps: begins to write what joins and leaves have changed, if there is anything.
    pub(super) fn begin_multicast(&mut self) -> bool {
        if !self.may_change_groups() {
            return false;
        }
        let named = self.administration.take_changed_groups();
        self.multicast.changed.extend(named);
        let resting = self.multicast.rest_until.is_some_and(|t| self.now < t);
        if self.multicast.changed.is_empty() || resting {
            return false;
        }
        self.multicast.rest_until = Some(self.now + PAUSE);
        let blocks = self.compute_trees(false);
        self.compare(blocks.as_ref(), &BTreeSet::new());
        if !self.write_on_multicast() {
            return false;
        }
        self.stage = Stage::Multicast;
        true
    }

    /// Between sweeps, when nothing is outstanding.
    pub(super) fn continue_multicast(&mut self) {
        if !self.write_on_multicast() {
            self.stage = Stage::Idle;
            self.multicast.rest_until = Some(self.now + PAUSE);
            self.administration.tables_changed(self.now);
        }
    }

    /// How many MLIDs there are: the smallest table decides (rule 1.18). A switch without any forwards nothing to groups.
    fn count_mlids(&mut self) {
        let caps = self.subnet.nodes().filter_map(|(_, n)| n.switch_info());
        let caps = caps.map(|s| s.multicast_fdb_cap).filter(|cap| *cap > 0);
        if let Some(least) = caps.min() {
            self.administration.set_mlid_count(least);
        }
    }

    /// Trees of what changed, or of all after a change of the routing. The blocks concerned; none for all.
    fn compute_trees(&mut self, all: bool) -> Option<BTreeSet<u16>> {
        let named = self.administration.take_changed_groups();
        let mut mlids = core::mem::take(&mut self.multicast.changed);
        mlids.extend(named);
        let Some((run, nodes)) = self.routing.installed() else {
            return Some(BTreeSet::new());
        };
        let followed = self.multicast.grove.follow(run, nodes);
        let new = matches!(followed, Followed::New | Followed::First);
        if new {
            self.multicast.moved = true;
            let all: Vec<NodeIdx> = self.subnet.node_indices().collect();
            for n in all {
                if let Some(node) = self.subnet.get_mut(n) {
                    node.mft.wanted.clear();
                }
            }
        }
        if followed != Followed::Same {
            mlids.extend(self.administration.mlids());
            mlids.extend(self.multicast.grove.mlids());
        }
        self.multicast.used = self.administration.used_blocks();
        self.multicast.used.insert(0);
        if followed == Followed::First {
            self.take_trees_over(&mlids);
        }
        for mlid in &mlids {
            let members = self.members_of(*mlid);
            for (n, ports) in self.multicast.grove.grow(*mlid, members) {
                if let Some(node) = self.subnet.get_mut(n) {
                    let positions = positions(node.info.num_ports);
                    node.mft.want(*mlid, ports, positions);
                }
            }
        }
        let here = !all && !new;
        here.then(|| mlids.iter().map(|mlid| place(*mlid).0).collect())
    }

    /// Trees that switches have already stay, whoever made them, where they go together with the routes.
    fn take_trees_over(&mut self, mlids: &BTreeSet<Lid>) {
        let Some((_, nodes)) = self.routing.installed() else {
            return;
        };
        let entries = entries_of(&self.subnet, nodes);
        for (mlid, entries) in entries.iter().filter(|(mlid, _)| mlids.contains(mlid)) {
            for (n, ports) in self.multicast.grove.take_over(*mlid, entries) {
                if let Some(node) = self.subnet.get_mut(n) {
                    let positions = positions(node.info.num_ports);
                    node.mft.want(*mlid, ports, positions);
                }
            }
        }
    }

    /// Where the members of an MLID hang. An alias stands for its port.
    fn members_of(&self, mlid: Lid) -> Members {
        let mut members = Members::new();
        let view = self.view();
        for (guid, receives) in self.registry().groups().members(mlid) {
            let own = || {
                let view = view?;
                Some(view.end_port(view.by_guid(guid)?).guid)
            };
            let by_alias = || self.subnet.port_by_guid(own()?);
            let end = self.subnet.port_by_guid(guid).or_else(by_alias);
            if let Some(at) = end.and_then(|p| self.multicast.grove.place(&self.subnet, p)) {
                *members.entry(at).or_default() |= receives;
            }
        }
        members
    }

    /// Finds what is to be written. Places in `held` stay as they are.
    fn compare(&mut self, only: Option<&BTreeSet<u16>>, held: &BTreeSet<(u16, usize)>) {
        let multicast = &self.multicast;
        let mut switches = Vec::new();
        for (node, n) in self.subnet.nodes() {
            let blocks = n
                .switch_info()
                .map_or(0, |s| s.multicast_fdb_cap.div_ceil(32));
            if blocks > 0 && !multicast.deaf.contains(&node) {
                switches.push(Switch {
                    node,
                    routed: multicast.grove.switch(node),
                    mft: &n.mft,
                    positions: positions(n.info.num_ports),
                    blocks,
                });
            }
        }
        let forest = multicast.grove.forest();
        let trees = Trees {
            forest: forest.as_ref(),
            moved: multicast.moved,
        };
        let mut steps = steps::steps(&switches, &multicast.used, only, trees);
        steps.hold(&switches, held);
        drop(forest);
        self.multicast.steps = steps;
        self.multicast.failed.clear();
        self.multicast.progress = Progress::First;
    }

    /// The next step that there is something to write in; whether there is one.
    fn write_on_multicast(&mut self) -> bool {
        loop {
            self.multicast.progress = match self.multicast.progress {
                Progress::Done => return false,
                Progress::First => {
                    for w in core::mem::take(&mut self.multicast.steps.first) {
                        self.send_block(w.node, w.at, w.masks);
                    }
                    if self.multicast.steps.again {
                        Progress::Again
                    } else {
                        Progress::Then
                    }
                }
                Progress::Again => {
                    let multicast = &mut self.multicast;
                    multicast.moved = false;
                    let failed = |at: &&(u16, usize)| multicast.failed.contains(&at.0);
                    let held = multicast
                        .steps
                        .apart
                        .iter()
                        .filter(failed)
                        .copied()
                        .collect();
                    self.compare(None, &held);
                    Progress::First
                }
                Progress::Then => {
                    for mut w in core::mem::take(&mut self.multicast.steps.then) {
                        let Some(node) = self.subnet.get(w.node) else {
                            continue;
                        };
                        if self.multicast.failed.contains(&w.at.block) {
                            // Whoever did not take the first step may still hold the old tree.
                            let there = node.mft.known.get(&w.at).copied().unwrap_or(EMPTY);
                            for (i, mask) in w.masks.iter_mut().enumerate() {
                                if self.multicast.steps.apart.contains(&(w.at.block, i)) {
                                    *mask = there[i];
                                }
                            }
                        }
                        let known = node.mft.known.get(&w.at);
                        if known != Some(&w.masks) && !self.multicast.deaf.contains(&w.node) {
                            self.send_block(w.node, w.at, w.masks);
                        }
                    }
                    Progress::Tops
                }
                Progress::Tops => {
                    self.write_tops();
                    Progress::Done
                }
            };
            if !self.smps.is_idle() {
                return true;
            }
        }
    }

    fn send_block(&mut self, n: NodeIdx, at: MftBlockIdx, masks: [u16; 32]) {
        if let Some(node) = self.subnet.get_mut(n) {
            node.mft.send(at, masks);
            self.enqueue(SmpOp::SetMft(n, at));
        }
    }

    /// The data of a block that is on its way.
    pub(super) fn sent_block(&self, n: NodeIdx, at: MftBlockIdx) -> Option<[u8; 64]> {
        let masks = *self.subnet.get(n)?.mft.sent.get(&at)?;
        Some(MftBlock { masks }.encode())
    }

    pub(super) fn on_mft_set(
        &mut self,
        n: NodeIdx,
        at: MftBlockIdx,
        status: Status,
        data: &[u8; 64],
    ) {
        let Some(node) = self.subnet.get_mut(n) else {
            return;
        };
        let Some(sent) = node.mft.sent.remove(&at) else {
            return;
        };
        if status.is_ok() && MftBlock::decode(data).masks == sent {
            node.mft.know(at, sent);
        } else {
            let attr = id::MFT;
            self.block_not_taken(n, at, ProblemKind::Refused { attr, status });
        }
    }

    /// A block is not there: it is told, and tried again with the next look at the switch.
    pub(super) fn block_not_taken(&mut self, n: NodeIdx, at: MftBlockIdx, kind: ProblemKind) {
        if let Some(node) = self.subnet.get_mut(n) {
            node.mft.sent.remove(&at);
        }
        self.multicast.failed.insert(at.block);
        self.multicast.deaf.insert(n);
        self.schedule.reread_switch_later(n);
        self.problem(Some(PortRef::new(n, PortNum::ZERO)), kind);
    }

    /// The MulticastFDBTop that a switch should have now: the end of the last block in use (rule 4.6), but no higher than it is
    /// while anything in use is not known to be there.
    pub(super) fn multicast_top(&self, n: NodeIdx, info: &SwitchInfo) -> u16 {
        let now = info.multicast_fdb_top;
        let Some(node) = self.subnet.get(n).filter(|node| has_top(node)) else {
            return now;
        };
        let blocks = info.multicast_fdb_cap.div_ceil(32);
        let mut used = self.multicast.used.range(..blocks);
        let Some(last) = used.clone().next_back() else {
            return now;
        };
        let most = TOP_NONE.saturating_add(info.multicast_fdb_cap);
        let top = last_of(*last).min(most);
        let positions = positions(node.info.num_ports);
        if top <= now || used.all(|block| node.mft.knows(*block, positions)) {
            top
        } else {
            now
        }
    }

    fn write_tops(&mut self) {
        let due: Vec<NodeIdx> = self
            .subnet
            .nodes()
            .filter(|(n, node)| {
                let info = node.switch_info();
                info.is_some_and(|info| self.multicast_top(*n, &info) != info.multicast_fdb_top)
            })
            .map(|(n, _)| n)
            .collect();
        for n in due {
            self.enqueue(SmpOp::SetSwitchInfo(n));
        }
    }
}
