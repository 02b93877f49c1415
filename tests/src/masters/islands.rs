//! Which nodes are together: what is cut off from what, and which managers are on each side.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use ferrosm_sim::faults::Action;
use ferrosm_sim::spec::NodeIdx;

use crate::masters::stage::Stage;

/// Nodes that are one piece, and the managers there.
pub(crate) type Islands = Vec<(BTreeSet<NodeIdx>, Vec<usize>)>;

/// For how many changes, and which managers.
type Asked = (u64, Vec<usize>);

/// What was found last.
#[derive(Default)]
pub(crate) struct Pieces {
    /// How often cables and power changed.
    changes: u64,
    found: RefCell<(Asked, Rc<Islands>)>,
}

impl Stage {
    /// The pieces of the fabric that have managers: their nodes, and those managers. A host without a link is none.
    pub(crate) fn islands(&self) -> Rc<Islands> {
        let mut found = self.pieces.found.borrow_mut();
        let now = (self.pieces.changes, self.alive());
        if found.0 != now {
            *found = (now, Rc::new(self.find_islands()));
        }
        Rc::clone(&found.1)
    }

    fn find_islands(&self) -> Islands {
        let mut all = Islands::new();
        for i in self.alive() {
            let node = self.slots[i].plan.at.node;
            match all.iter_mut().find(|(nodes, _)| nodes.contains(&node)) {
                Some((_, here)) => here.push(i),
                None => all.push((self.reachable(node), vec![i])),
            }
        }
        let fabric = self.lab.world.fabric();
        all.retain(|(nodes, _)| nodes.iter().any(|node| fabric.is_switch(*node)));
        all
    }

    /// All nodes of a node's piece.
    pub(crate) fn reachable(&self, from: NodeIdx) -> BTreeSet<NodeIdx> {
        let fabric = self.lab.world.fabric();
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

    /// A cable is cut or mended, or a node gets or loses power.
    pub(crate) fn act(&mut self, action: Action) {
        self.lab.world.act(action).unwrap();
        self.pieces.changes += 1;
    }
}
