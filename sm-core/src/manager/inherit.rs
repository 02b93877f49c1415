//! What another run, or another subnet manager, has left in the devices and in records, until the first sweep as master is done:
//! the routing that may stay, tables of lanes that nobody reads, and that hosts have nothing to register again.
//!
//! It is believed of a device only where the device itself shows that nothing came between: it has the LID of that time and the
//! same master, and it did not wake up since. What devices cannot show is proven ([`crate::plan::adopt`]), or done anew.

use std::sync::Arc;

use ferrosm_mad::attr::PortInfo;
use ferrosm_mad::ids::Lid;

use super::SubnetManager;
use crate::kept::routing::KeptRouting;
use crate::kept::{Record, Restored, Update};
use crate::plan::adopt::Inherited;
use crate::routing_origin::{RoutingOrigin, SlToVlEpoch};
use crate::sa::View;
use crate::sa::view::NodeView;
use crate::subnet::{LeftLanes, Node, NodeIdx, Port};

/// What was left.
#[derive(Debug, Default)]
pub(super) struct Inheritance {
    routing: Option<Arc<KeptRouting>>,
    view: Option<Arc<View>>,
    /// All that clients have registered is known.
    registered: bool,
    lanes: LeftAs,
}

/// How the tables of lanes in the devices were left.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum LeftAs {
    /// Nobody knows. What wakes up has none.
    #[default]
    Unknown,
    /// As the view has them, where the device is as it was then.
    Kept,
    /// Somebody ended while it wrote them: nobody knows who has which, and who has none.
    HalfWritten,
}

/// The last mark that was made of what is kept, whoever made it.
pub(super) fn last_mark(restored: &Restored) -> SlToVlEpoch {
    restored.lanes_written.max(mark_of_routing(restored))
}

fn mark_of_routing(restored: &Restored) -> SlToVlEpoch {
    let routing = restored.routing.as_ref();
    routing.map_or(SlToVlEpoch::NEVER, |routing| routing.lanes_written())
}

impl Inheritance {
    pub(super) fn new(restored: &Restored) -> Self {
        let lanes = if restored.lanes_written != mark_of_routing(restored) {
            LeftAs::HalfWritten
        } else if restored.complete {
            LeftAs::Kept
        } else {
            // They may have been written anew since, and the mark too.
            LeftAs::Unknown
        };
        Self {
            lanes,
            routing: restored.routing.clone(),
            view: restored.snapshot.as_ref().map(|s| Arc::clone(&s.view)),
            registered: restored.complete,
        }
    }
}

impl SubnetManager {
    /// Whether the host behind an end port need not register again, though this subnet manager is new to it: the last master had it in
    /// its subnet, and no other one has told it of itself since.
    pub(super) fn has_registrations_of(&self, port: &Port) -> bool {
        let inheritance = &self.inheritance;
        if !self.first_as_master || !inheritance.registered {
            return false;
        }
        // Without a view there is nothing to compare with; whoever kept the rest says that it is complete.
        let Some(view) = &inheritance.view else {
            return true;
        };
        // Whoever left the subnet, or was cut off from it, is not registered any more with a master that saw it go.
        let was = view.by_guid(port.guid).map(|at| view.end_port(at));
        let info = port.info();
        let masters = [
            view.whose().map(|whose| whose.lid),
            self.lids.of_sm(&self.subnet),
        ];
        was.is_some_and(|was| was.guid == port.guid && was.lid == info.lid)
            && masters.contains(&Some(info.master_sm_lid))
    }

    /// What was kept is not of this subnet, or not of its last master: who was registered then may not be now.
    pub(super) const fn doubt_registrations(&mut self) {
        self.inheritance.registered = false;
    }

    /// Whether what was left is another subnet manager's, which may have gone on since.
    pub(super) fn inherits_from_another(&self) -> bool {
        let view = self.inheritance.view.as_ref();
        let whose = view.and_then(|view| view.whose());
        let own = self.subnet.local().and_then(|p| self.subnet.port(p));
        whose
            .zip(own)
            .is_some_and(|(whose, own)| whose.port != own.guid)
    }

    /// For a routing of these switches.
    pub(super) fn inherited(&self, nodes: &[NodeIdx]) -> Option<Inherited> {
        let routing = Arc::clone(self.inheritance.routing.as_ref()?);
        let guid = |n: &NodeIdx| Some(self.subnet.get(*n)?.info.node_guid);
        Some(Inherited {
            routing,
            view: self.inheritance.view.clone(),
            cfg: Arc::new(self.cfg.clone()),
            guids: nodes.iter().filter_map(guid).collect(),
        })
    }

    /// Before tables of lanes are written, once in a sweep: that it is so is kept, so that whoever comes after this subnet manager
    /// knows that devices may have others than the view says.
    pub(super) fn mark_lanes(&mut self) {
        if core::mem::replace(&mut self.sweep.lanes_marked, true) {
            return;
        }
        self.inheritance.lanes = LeftAs::HalfWritten;
        let mut last = self.lanes_written;
        last.number = last.number.max(self.lanes_counted);
        self.lanes_written = last.next(self.own_sm_info().guid);
        let mark = Record::LanesWritten(self.lanes_written);
        self.out.persist(vec![Update::Put(mark)]);
    }

    /// The tables of lanes that a node is known to have, because it is as it was when they were kept, or may have; whether any is.
    pub(super) fn inherit_lanes(&mut self, n: NodeIdx) -> bool {
        match self.inheritance.lanes {
            LeftAs::Unknown => return false,
            LeftAs::Kept => {}
            LeftAs::HalfWritten => {
                if let Some(node) = self.subnet.get_mut(n) {
                    node.left_lanes = LeftLanes::Foreign;
                }
                return true;
            }
        }
        let Some((routing, view)) = self
            .inheritance
            .routing
            .clone()
            .zip(self.inheritance.view.clone())
        else {
            return false;
        };
        let told = self.told_master();
        let Some(node) = self.subnet.get_mut(n) else {
            return false;
        };
        let guid = node.info.node_guid;
        let Some(was) = view.by_node_guid(guid).map(|at| view.node(at)) else {
            return false;
        };
        if !is_as_it_was(node, was, told) {
            return false;
        }
        node.sl_to_vl.clone_from(&was.sl_to_vl);
        let mut written = !was.sl_to_vl.is_empty();
        for (port, was) in node.ports.iter_mut().zip(was.ports()) {
            port.vl_arbitration.clone_from(&was.vl_arbitration);
            written |= !was.vl_arbitration.is_empty();
        }
        // Of one that did not take all its tables, the last master did not know what it woke up with, and nor does this one.
        node.left_lanes = if written || routing.is_without_lanes(guid) {
            LeftLanes::Foreign
        } else {
            LeftLanes::AsWoken
        };
        true
    }

    /// Where the routing in force comes from.
    pub(super) fn origin(&self) -> Option<RoutingOrigin> {
        let nodes = self.subnet.nodes().map(|(_, node)| node);
        let without = nodes
            .filter(|node| node.left_lanes != LeftLanes::AsWoken && node.lanes_checked.is_none());
        Some(RoutingOrigin {
            inputs: self.routing.inputs()?.clone(),
            without_lanes: without.map(|node| node.info.node_guid).collect(),
            lanes_written: self.lanes_written,
        })
    }

    /// Everything is as this subnet manager wants it, or another one is in charge: what was left is of no use any more.
    pub(super) fn forget_inheritance(&mut self) {
        self.inheritance = Inheritance::default();
    }
}

/// Whether a device is in the state of that time: it keeps its tables as long as it keeps its LID, and whoever else would be in
/// charge would have told it so. `told` is the master that this sweep may have told it already.
fn is_as_it_was(node: &Node, was: &NodeView, told: Option<Lid>) -> bool {
    let ends = node.end_ports();
    let mut any = false;
    for num in ends {
        let Some((port, was)) = node
            .ports
            .get(num.index())
            .zip(was.ports().nth(num.index()))
        else {
            return false;
        };
        let (is, was) = (port.info(), PortInfo::decode(&was.raw));
        let master = is.master_sm_lid == was.master_sm_lid || Some(is.master_sm_lid) == told;
        if is.lid == Lid::NONE || is.lid != was.lid || !master {
            return false;
        }
        any = true;
    }
    let table = node.switch_info().is_none_or(|s| s.linear_fdb_top > 0);
    any && table
}
