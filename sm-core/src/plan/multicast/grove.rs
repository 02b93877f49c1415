//! One tree for each MLID, in the forest of the routing in force.
//!
//! Only what changed is computed again: a member that comes or goes changes its branch, other trees stay as they are. A new
//! routing lets all trees grow anew, unless the graph and the promise of its engine are the same (a host came, a LID moved).

use std::collections::BTreeMap;
use std::sync::Arc;

use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_routing::multicast::{Forest, Ground, Member, PortSet, Tree};
use ferrosm_routing::{LastRun, SwitchIdx};
use rustc_hash::FxHashMap;

use crate::subnet::{NodeIdx, PortRef, Subnet};

/// Members of an MLID by the switch port that they hang on (port 0 for the switch itself), and whether they receive.
pub type Members = BTreeMap<(SwitchIdx, PortNum), bool>;

/// A tree and whom it was made for.
#[derive(Debug, Default)]
struct Grown {
    members: Members,
    tree: Tree,
    /// It is as switches had it: parts of it may lead to nobody.
    found: bool,
}

impl Grown {
    /// What the tables have for it. Where nobody receives what another sends there is nothing to have (rule 10.13).
    fn entries(&self) -> BTreeMap<SwitchIdx, PortSet> {
        if self.members.len() < 2 || !self.members.values().any(|receives| *receives) {
            return BTreeMap::new();
        }
        self.tree.ports().filter(|(_, p)| !p.is_empty()).collect()
    }
}

/// How a routing differs from the one before, as far as trees are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Followed {
    /// It is the same.
    Same,
    /// Trees can stay; who hangs where may have changed.
    SameGraph,
    /// There are no trees yet.
    New,
    /// There were none before either: what switches have is somebody else's work, and may stay.
    First,
}

/// The trees of all MLIDs.
#[derive(Debug, Default)]
pub struct Grove {
    run: Option<Arc<LastRun>>,
    /// None where the routing leaves no room for any tree.
    ground: Option<Ground>,
    nodes: Vec<NodeIdx>,
    index: FxHashMap<NodeIdx, SwitchIdx>,
    grown: BTreeMap<Lid, Grown>,
}

impl Grove {
    /// Goes by a routing from now on.
    pub fn follow(&mut self, run: &Arc<LastRun>, nodes: &[NodeIdx]) -> Followed {
        if self.run.as_ref().is_some_and(|r| Arc::ptr_eq(r, run)) {
            return Followed::Same;
        }
        let before = self.run.replace(Arc::clone(run));
        let first = before.is_none();
        if before.is_some_and(|before| self.nodes == nodes && is_alike(&before, run)) {
            return Followed::SameGraph;
        }
        self.ground = Forest::new(&run.topo, &run.routing)
            .ok()
            .map(|forest| forest.ground());
        self.nodes = nodes.to_vec();
        self.index = nodes.iter().copied().zip(run.topo.switches()).collect();
        self.grown.clear();
        if first {
            Followed::First
        } else {
            Followed::New
        }
    }

    /// Whether trees can be made at all; also where there is no routing yet.
    #[must_use]
    pub const fn has_room(&self) -> bool {
        self.ground.is_some() || self.run.is_none()
    }

    /// The forest of the routing in force.
    #[must_use]
    pub fn forest(&self) -> Option<Forest<'_>> {
        let topo = &self.run.as_ref()?.topo;
        Some(self.ground.as_ref()?.forest(topo))
    }

    /// The MLIDs that have trees.
    pub fn mlids(&self) -> impl Iterator<Item = Lid> {
        self.grown.keys().copied()
    }

    /// The index of a switch in the routing in force.
    #[must_use]
    pub fn switch(&self, node: NodeIdx) -> Option<SwitchIdx> {
        self.index.get(&node).copied()
    }

    /// The switch port that an end port hangs on; none where it hangs on no switch that is routed.
    #[must_use]
    pub fn place(&self, subnet: &Subnet, end: PortRef) -> Option<(SwitchIdx, PortNum)> {
        if subnet.get(end.node)?.is_switch() {
            return Some((self.switch(end.node)?, PortNum::ZERO));
        }
        let peer = subnet.peer(end)?;
        Some((self.switch(peer.node)?, peer.port))
    }

    /// Takes the tree that switches have for an MLID, where it is one of this forest; who its members should be is for
    /// [`Self::grow`] to say. What the tables have of it: ports by switch.
    pub fn take_over(
        &mut self,
        mlid: Lid,
        installed: &BTreeMap<SwitchIdx, PortSet>,
    ) -> Vec<(NodeIdx, PortSet)> {
        let tree = self.forest().and_then(|forest| forest.found(installed));
        let Some(tree) = tree else {
            return Vec::new();
        };
        let grown = Grown {
            members: tree.receivers().map(|at| (at, true)).collect(),
            tree,
            found: true,
        };
        let node = |(s, ports): (SwitchIdx, PortSet)| Some((*self.nodes.get(s.index())?, ports));
        let entries = grown.entries().into_iter().filter_map(node).collect();
        self.grown.insert(mlid, grown);
        entries
    }

    /// Gives an MLID these members. What changes in the tables: ports by switch, none where the entry goes.
    pub fn grow(&mut self, mlid: Lid, members: Members) -> Vec<(NodeIdx, PortSet)> {
        let mut grown = self.grown.remove(&mlid).unwrap_or_default();
        let before = grown.entries();
        if let Some(forest) = self.forest() {
            grown.change(&forest, members, u64::from(mlid.0));
        }
        let after = grown.entries();
        let gone = before.keys().filter(|s| !after.contains_key(s));
        let gone = gone.map(|s| (*s, PortSet::new()));
        let changed = after.iter().map(|(s, ports)| (*s, *ports));
        let changed = changed.filter(|(s, ports)| before.get(s) != Some(ports));
        let node = |(s, ports): (SwitchIdx, PortSet)| Some((*self.nodes.get(s.index())?, ports));
        let changes = gone.chain(changed).filter_map(node).collect();
        if !grown.members.is_empty() {
            self.grown.insert(mlid, grown);
        }
        changes
    }
}

impl Grown {
    fn change(&mut self, forest: &Forest<'_>, members: Members, group: u64) {
        let member = |(&(switch, port), &receives): (&(SwitchIdx, PortNum), &bool)| Member {
            switch,
            port,
            receives,
        };
        let news: Vec<Member> = members
            .iter()
            .filter(|(at, receives)| self.members.get(at) != Some(receives))
            .map(member)
            .collect();
        let gone: Vec<(SwitchIdx, PortNum)> = self
            .members
            .keys()
            .filter(|at| !members.contains_key(at))
            .copied()
            .collect();
        if news.len() + gone.len() > members.len() {
            let all: Vec<Member> = members.iter().map(member).collect();
            self.tree = forest.tree(&all, group);
        } else {
            // Branches come before others go, so that what both need stays.
            for member in &news {
                forest.join(&mut self.tree, member, group);
            }
            for (switch, port) in gone {
                forest.leave(&mut self.tree, switch, port);
            }
            if self.found {
                forest.trim(&mut self.tree);
            }
        }
        self.found = false;
        self.members = members;
    }
}

/// Whether two routings with the same nodes have the same cables and make the same promise.
fn is_alike(a: &LastRun, b: &LastRun) -> bool {
    let mut switches = b.topo.switches();
    a.routing.trees == b.routing.trees
        && a.routing.trees != ferrosm_routing::engine::Trees::Search
        && a.topo.num_switches() == b.topo.num_switches()
        && switches.all(|s| a.topo.links(s) == b.topo.links(s))
}
