//! The multicast tree of each MLID, within the spanning forest of the routing in force.
//!
//! A member that joins or leaves changes only its branch of its tree. A new routing replaces all
//! trees, unless its graph and its tree constraint are those of the previous routing (a host was
//! added, a LID moved).
//!
//! A switch whose MFT cannot hold an MLID, or that rejects its MFT, is no part of its tree: the
//! members attached to it are left out, and no others.

use std::collections::BTreeMap;
use std::sync::Arc;

use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_routing::multicast::{Member, MulticastTree, SpanningForest, StoredForest};
use ferrosm_routing::table_limits::without_links_of;
use ferrosm_routing::{PortSet, SwitchIdx, Topology, VerifiedRun};
use rustc_hash::FxHashMap;

use ferrosm_fabric::observed::{DeviceTable, NodeIdx, ObservedFabric, PortRef};
use ferrosm_fabric::tables::mft::MLID_FIRST;

/// Members of an MLID by the switch port that they are attached to (port 0: the switch itself), and
/// whether they receive.
pub(super) type Members = BTreeMap<(SwitchIdx, PortNum), bool>;

/// A tree and the members that it was computed for.
#[derive(Debug, Default)]
struct GroupTree {
    members: Members,
    tree: MulticastTree,
    /// The tree was read from the switches and may have branches without members. Cleared by the
    /// next update.
    is_imported: bool,
    /// Switches that cannot be in the tree.
    excluded: Vec<SwitchIdx>,
    /// Those of them that leave out members.
    leaving_out: Vec<SwitchIdx>,
}

impl GroupTree {
    /// The MFT entries of the tree. Without a member that receives what another one sends there are
    /// none.
    fn entries(&self) -> BTreeMap<SwitchIdx, PortSet> {
        if self.members.len() < 2 || !self.members.values().any(|receives| *receives) {
            return BTreeMap::new();
        }
        self.tree.ports().filter(|(_, p)| !p.is_empty()).collect()
    }

    /// Sets the members, which are not attached to excluded switches.
    fn set_members(&mut self, forest: &SpanningForest<'_>, members: Members, group: u64) {
        let member = |(&(switch, port), &receives): (&(SwitchIdx, PortNum), &bool)| Member {
            switch,
            port,
            receives,
        };
        let joined: Vec<Member> = members
            .iter()
            .filter(|(at, receives)| self.members.get(at) != Some(receives))
            .map(member)
            .collect();
        let former_members: Vec<(SwitchIdx, PortNum)> = self
            .members
            .keys()
            .filter(|at| !members.contains_key(at))
            .copied()
            .collect();
        if joined.len() + former_members.len() > members.len() {
            let all_members: Vec<Member> = members.iter().map(member).collect();
            self.tree = forest.tree(&all_members, group);
        } else {
            // Branches are added before others are removed, so that links in both trees are not
            // interrupted.
            for member in &joined {
                forest.join(&mut self.tree, member, group);
            }
            for (switch, port) in former_members {
                forest.leave(&mut self.tree, switch, port);
            }
            if self.is_imported {
                forest.prune_branches(&mut self.tree);
            }
        }
        self.is_imported = false;
        self.members = members;
    }
}

/// What a change of the routing means for trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ForestChange {
    /// The routing is the same.
    Unchanged,
    /// Trees stay valid; end ports may be attached elsewhere.
    SameForest,
    /// All trees are discarded.
    Replaced,
    /// The first routing: trees that are installed may stay.
    First,
}

/// The trees of all MLIDs.
#[derive(Debug, Default)]
pub(super) struct MulticastTrees {
    /// The routing in force; `None` before the first one.
    run: Option<Arc<VerifiedRun>>,
    /// The forest of `run`; `None` if no tree is free of deadlocks with its routes.
    forest: Option<StoredForest>,
    /// The node of each switch of `run`.
    nodes: Vec<NodeIdx>,
    index: FxHashMap<NodeIdx, SwitchIdx>,
    trees: BTreeMap<Lid, GroupTree>,
    /// Switches whose MFT cannot hold all MLIDs in use, with its entries; `None` for those that
    /// keep the MFT that they have.
    limited: Vec<(SwitchIdx, Option<u16>)>,
    /// The graphs and forests without some of these switches.
    partial: BTreeMap<Vec<SwitchIdx>, (Topology, StoredForest)>,
}

impl MulticastTrees {
    /// Replaces the routing that trees are computed for.
    pub(super) fn set_routing(
        &mut self,
        run: &Arc<VerifiedRun>,
        nodes: &[NodeIdx],
    ) -> ForestChange {
        if self.run.as_ref().is_some_and(|r| Arc::ptr_eq(r, run)) {
            return ForestChange::Unchanged;
        }
        let before = self.run.replace(Arc::clone(run));
        let is_first = before.is_none();
        if before.is_some_and(|before| self.nodes == nodes && has_same_forest(&before, run)) {
            return ForestChange::SameForest;
        }
        self.forest = SpanningForest::new(&run.topo, &run.routing)
            .ok()
            .map(|forest| forest.to_stored());
        self.partial.clear();
        self.nodes = nodes.to_vec();
        self.index = nodes.iter().copied().zip(run.topo.switches()).collect();
        self.trees.clear();
        if is_first {
            ForestChange::First
        } else {
            ForestChange::Replaced
        }
    }

    /// Finds the switches whose MFT cannot hold the highest MLID, or that keep the MFT that they
    /// have. Returns whether they changed: all trees are to be computed again.
    pub(super) fn set_limits(&mut self, fabric: &ObservedFabric, highest: Option<Lid>) -> bool {
        let needed = highest.map_or(0, |mlid| mft_entry(mlid) + 1);
        let entries = |(s, n): (&NodeIdx, SwitchIdx)| {
            let node = fabric.get(*s)?;
            let keeps_mft = node.rejections.keeps(DeviceTable::Mft);
            Some((n, (!keeps_mft).then(|| node.table_caps().mft)))
        };
        let switches = self.run.iter().flat_map(|run| run.topo.switches());
        let limited: Vec<(SwitchIdx, Option<u16>)> = self
            .nodes
            .iter()
            .zip(switches)
            .filter_map(entries)
            .filter(|(_, entries)| entries.unwrap_or(0) < needed)
            .collect();
        let is_changed = limited != self.limited;
        self.limited = limited;
        is_changed
    }

    /// The switches whose MFT leaves out members of groups, with its entries and the number of
    /// MLIDs concerned. `None`: the switch keeps the MFT that it has.
    pub(super) fn leaving_out(&self) -> impl Iterator<Item = (NodeIdx, Option<u16>, usize)> {
        self.limited.iter().filter_map(|(s, entries)| {
            let trees = self.trees.values();
            let mlids = trees.filter(|tree| tree.leaving_out.contains(s)).count();
            let node = self.nodes.get(s.index()).filter(|_| mlids > 0)?;
            Some((*node, *entries, mlids))
        })
    }

    /// Whether the routing in force rules out all trees.
    pub(super) const fn is_impossible(&self) -> bool {
        self.forest.is_none() && self.run.is_some()
    }

    /// The forest of the routing in force.
    pub(super) fn forest(&self) -> Option<SpanningForest<'_>> {
        let topo = &self.run.as_ref()?.topo;
        Some(self.forest.as_ref()?.forest(topo))
    }

    /// The MLIDs that have trees.
    pub(super) fn mlids(&self) -> impl Iterator<Item = Lid> {
        self.trees.keys().copied()
    }

    /// The index of a switch in the routing in force.
    pub(super) fn switch(&self, node: NodeIdx) -> Option<SwitchIdx> {
        self.index.get(&node).copied()
    }

    /// The switch port that an end port is attached to; `None` if its switch is not routed.
    pub(super) fn attachment(
        &self,
        fabric: &ObservedFabric,
        end_port: PortRef,
    ) -> Option<(SwitchIdx, PortNum)> {
        if fabric.get(end_port.node)?.is_switch() {
            return Some((self.switch(end_port.node)?, PortNum::ZERO));
        }
        let peer = fabric.peer(end_port)?;
        Some((self.switch(peer.node)?, peer.port))
    }

    /// Adopts the tree of an MLID that is installed in the switches, if the forest contains it.
    /// [`Self::set_members`] then corrects its members. Returns its MFT entries.
    pub(super) fn import(
        &mut self,
        mlid: Lid,
        installed: &BTreeMap<SwitchIdx, PortSet>,
    ) -> Vec<(NodeIdx, PortSet)> {
        let tree = self
            .forest()
            .and_then(|forest| forest.tree_from_entries(installed));
        let Some(tree) = tree else {
            return Vec::new();
        };
        let tree = GroupTree {
            members: tree.receivers().map(|at| (at, true)).collect(),
            tree,
            is_imported: true,
            ..GroupTree::default()
        };
        let entries = self.by_node(tree.entries());
        self.trees.insert(mlid, tree);
        entries
    }

    /// Sets the members of an MLID. Returns the MFT entries that change, without ports where an
    /// entry is removed.
    pub(super) fn set_members(
        &mut self,
        mlid: Lid,
        mut members: Members,
    ) -> Vec<(NodeIdx, PortSet)> {
        let mut tree = self.trees.remove(&mlid).unwrap_or_default();
        let before = tree.entries();
        let limited = self
            .limited
            .iter()
            .filter(|(_, entries)| entries.unwrap_or(0) <= mft_entry(mlid));
        let excluded: Vec<SwitchIdx> = limited.map(|(s, _)| *s).collect();
        let of_excluded = |s: &&SwitchIdx| members.keys().any(|(at, _)| at == *s);
        let mut leaving_out: Vec<SwitchIdx> =
            excluded.iter().filter(of_excluded).copied().collect();
        members.retain(|(s, _), _| !excluded.contains(s));
        if tree.excluded != excluded {
            tree = GroupTree::default();
        }
        if let Some((topo, forest)) = self.forest_without(&excluded) {
            tree.set_members(&forest.forest(topo), members, u64::from(mlid.0));
        }
        if !tree.tree.unreachable.is_empty() {
            leaving_out.clone_from(&excluded);
        }
        (tree.excluded, tree.leaving_out) = (excluded, leaving_out);
        let after = tree.entries();
        let removed = before.keys().filter(|s| !after.contains_key(s));
        let removed = removed.map(|s| (*s, PortSet::new()));
        let changed = after.iter().map(|(s, ports)| (*s, *ports));
        let changed = changed.filter(|(s, ports)| before.get(s) != Some(ports));
        let changes = self.by_node(removed.chain(changed));
        if !tree.members.is_empty() || !tree.leaving_out.is_empty() {
            self.trees.insert(mlid, tree);
        }
        changes
    }

    /// The forest of the routing in force without some switches, and its graph.
    fn forest_without(&mut self, excluded: &[SwitchIdx]) -> Option<(&Topology, &StoredForest)> {
        let run = Arc::clone(self.run.as_ref()?);
        let forest = self.forest.as_ref()?;
        if excluded.is_empty() {
            return Some((&self.run.as_ref()?.topo, forest));
        }
        // Trees of groups with fewer excluded switches: all avoid those that keep their MFT, or
        // have none.
        let keepers = self
            .limited
            .iter()
            .filter(|(_, entries)| entries.unwrap_or(0) == 0);
        let keepers: Vec<SwitchIdx> = keepers.map(|(s, _)| *s).collect();
        let within = |excluded: &[SwitchIdx], beside: Option<&StoredForest>| {
            let part = without_links_of(&run.topo, excluded);
            let forest = forest.within(&run.topo, &run.routing, &part, beside);
            (part, forest)
        };
        if !keepers.is_empty() && !self.partial.contains_key(&keepers) {
            let partial = within(&keepers, None);
            self.partial.insert(keepers.clone(), partial);
        }
        if !self.partial.contains_key(excluded) {
            let of_keepers = self.partial.get(&keepers).map(|(_, forest)| forest);
            let partial = within(excluded, Some(of_keepers.unwrap_or(forest)));
            self.partial.insert(excluded.to_vec(), partial);
        }
        let partial = self.partial.get(excluded)?;
        Some((&partial.0, &partial.1))
    }

    fn by_node(
        &self,
        entries: impl IntoIterator<Item = (SwitchIdx, PortSet)>,
    ) -> Vec<(NodeIdx, PortSet)> {
        let node = |(s, ports): (SwitchIdx, PortSet)| Some((*self.nodes.get(s.index())?, ports));
        entries.into_iter().filter_map(node).collect()
    }
}

/// The index of the MFT entry of an MLID.
const fn mft_entry(mlid: Lid) -> u16 {
    mlid.0.saturating_sub(MLID_FIRST)
}

/// Whether two routings of the same nodes have the same links and the same tree constraint.
fn has_same_forest(a: &VerifiedRun, b: &VerifiedRun) -> bool {
    let mut switches = b.topo.switches();
    a.routing.trees == b.routing.trees
        && a.routing.trees != ferrosm_routing::TreeConstraint::Search
        && a.topo.num_switches() == b.topo.num_switches()
        && switches.all(|s| a.topo.links(s) == b.topo.links(s))
}
