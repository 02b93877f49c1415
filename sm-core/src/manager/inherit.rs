//! What another run, or another subnet manager, has left in the devices and in records, until the first sweep as master is done:
//! the routing that may stay, tables of lanes that nobody reads, and that hosts have nothing to register again.
//!
//! It is believed of a device only where the device itself shows that nothing came between: it has the LID of that time and the
//! same master, and it did not wake up since. What devices cannot show is proven ([`crate::plan::adopt`]), or done anew.

use std::sync::Arc;

use ferrosm_mad::attr::PortInfo;
use ferrosm_mad::ids::Lid;

use super::SubnetManager;
use crate::kept::Restored;
use crate::kept::routing::KeptRouting;
use crate::plan::adopt::Inherited;
use crate::routing_origin::{RoutingOrigin, SlToVlEpoch};
use crate::sa::View;
use crate::sa::view::NodeView;
use crate::subnet::{Node, NodeIdx, Port};
use crate::vls::{self, InheritedVls};

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

    /// VL tables are being written: until the sweep is complete a device may have old ones or new ones.
    pub(super) const fn void_vl_tables(&mut self) {
        self.lanes = LeftAs::HalfWritten;
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

    /// Before anything is written: decides which VL tables devices have that this SM did not write.
    pub(super) fn find_vl_table_origins(&mut self) {
        for n in vls::nodes_of_unknown_origin(&self.subnet) {
            let inherited = self.inherited_vls(n);
            vls::set_origin(&mut self.subnet, n, inherited);
        }
    }

    /// What is known of a node's VL tables from before. The tables of the view are those of a node that is in the same state as then.
    fn inherited_vls(&self, n: NodeIdx) -> InheritedVls {
        match self.inheritance.lanes {
            LeftAs::Unknown => InheritedVls::Nothing,
            LeftAs::HalfWritten => InheritedVls::Unknown,
            LeftAs::Kept => self.kept_vls(n).unwrap_or(InheritedVls::Nothing),
        }
    }

    fn kept_vls(&self, n: NodeIdx) -> Option<InheritedVls> {
        let routing = self.inheritance.routing.as_ref()?;
        let view = self.inheritance.view.as_ref()?;
        let node = self.subnet.get(n)?;
        let guid = node.info.node_guid;
        let was = view.node(view.by_node_guid(guid)?);
        let arbitration = was.ports().map(|port| Arc::clone(&port.vl_arbitration));
        is_as_it_was(node, was, self.told_master()).then(|| InheritedVls::Known {
            sl_to_vl: was.sl_to_vl.clone(),
            vl_arbitration: arbitration.collect(),
            is_incomplete: routing.is_without_lanes(guid),
        })
    }

    /// Where the routing in force comes from.
    pub(super) fn origin(&self) -> Option<RoutingOrigin> {
        Some(RoutingOrigin {
            inputs: self.routing.inputs()?.clone(),
            without_lanes: vls::nodes_without_tables(&self.subnet),
            lanes_written: self.vls.epoch(),
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
