//! Which nodes are together: what is cut off from what, and which managers are on each side.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use ferrosm_sim::fabric::Fabric;
use ferrosm_sim::spec::NodeIdx;

/// Nodes that are one piece, and the managers there.
pub(crate) type Islands = Vec<(BTreeSet<NodeIdx>, Vec<usize>)>;

/// For how many changes, and which managers.
type Asked = (u64, Vec<(usize, NodeIdx)>);

/// What was found last.
#[derive(Default)]
pub(crate) struct Pieces {
    /// How often cables and power changed.
    pub(crate) changes: u64,
    found: RefCell<(Asked, Rc<Islands>)>,
}

impl Pieces {
    /// The pieces of the fabric that have managers, by the node of each: their nodes, and those managers. A host without a link is
    /// none.
    pub(crate) fn islands(&self, fabric: &Fabric, alive: Vec<(usize, NodeIdx)>) -> Rc<Islands> {
        let mut found = self.found.borrow_mut();
        let now = (self.changes, alive);
        if found.0 != now {
            let islands = Rc::new(find_islands(fabric, &now.1));
            *found = (now, islands);
        }
        Rc::clone(&found.1)
    }
}

fn find_islands(fabric: &Fabric, alive: &[(usize, NodeIdx)]) -> Islands {
    let mut all = Islands::new();
    for (i, node) in alive {
        match all.iter_mut().find(|(nodes, _)| nodes.contains(node)) {
            Some((_, here)) => here.push(*i),
            None => all.push((reachable(fabric, *node), vec![*i])),
        }
    }
    all.retain(|(nodes, _)| nodes.iter().any(|node| fabric.is_switch(*node)));
    all
}

/// All nodes of a node's piece.
pub(crate) fn reachable(fabric: &Fabric, from: NodeIdx) -> BTreeSet<NodeIdx> {
    let mut seen = BTreeSet::from([from]);
    let mut todo = vec![from];
    while let Some(node) = todo.pop() {
        for at in fabric.external_ports(node) {
            if let Some(peer) = fabric.peer(at)
                && seen.insert(peer.node)
            {
                todo.push(peer.node);
            }
        }
    }
    seen
}
