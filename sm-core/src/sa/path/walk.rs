//! Along the forwarding tables from an end port to a LID: whether packets arrive, and what they meet (rule 11.5).

use ferrosm_mad::attr::MtuCode;
use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_mad::sa::path::RateCode;

use crate::sa::view::{EndPortIdx, PortIdx, View};

/// Most switches that a packet may cross.
const HOPS_MAX: usize = 64;

/// What a way offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    /// The largest packet that passes everywhere.
    pub mtu: MtuCode,
    /// Place of the slowest link's rate among all rates.
    pub rate_rank: u8,
    /// Cables crossed; 0 from a port to itself.
    pub hops: u8,
}

impl Way {
    /// The rate of the slowest link.
    #[must_use]
    pub fn rate(&self) -> RateCode {
        RateCode::ASCENDING
            .get(usize::from(self.rate_rank))
            .copied()
            .unwrap_or(RateCode::G2_5)
    }

    fn through(&mut self, view: &View, port: PortIdx) {
        let port = view.port(port);
        self.mtu = self.mtu.min(port.mtu);
        self.rate_rank = self.rate_rank.min(port.rate_rank);
    }

    const fn open() -> Self {
        Self {
            mtu: MtuCode::Mtu4096,
            rate_rank: u8::MAX,
            hops: 0,
        }
    }
}

/// A node on a way: the ports by which it is entered and left; 0 at the ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The node.
    pub node: u32,
    /// The port by which packets come in.
    pub entry: PortNum,
    /// The port by which they leave.
    pub exit: PortNum,
}

/// The way from an end port to a LID of another; `None` where packets do not arrive. `seen` is told each node.
pub fn walk(
    view: &View,
    from: EndPortIdx,
    to: EndPortIdx,
    dlid: Lid,
    seen: &mut dyn FnMut(Step),
) -> Option<Way> {
    let (start, goal) = (view.end_port(from), view.end_port(to));
    let mut way = Way::open();
    way.through(view, start.port);
    if from == to {
        seen(Step {
            node: start.node,
            entry: PortNum::ZERO,
            exit: PortNum::ZERO,
        });
        return Some(way);
    }
    let mut entry = PortNum::ZERO;
    let mut node = start.node;
    if view.node(node).switch.is_none() {
        // The only way out of an adapter's port is its cable.
        seen(Step {
            node,
            entry,
            exit: view.port(start.port).num,
        });
        let next = view.peer(start.port)?;
        way.hops = 1;
        way.through(view, next);
        if next == goal.port {
            return arrived(view, next, way, seen);
        }
        (node, entry) = (view.port(next).node, view.port(next).num);
    }
    for _ in 0..HOPS_MAX {
        let exit = view.node(node).switch.as_ref()?.lft.as_ref()?.get(dlid);
        if exit == PortNum::ZERO {
            seen(Step { node, entry, exit });
            // The switch takes it for its own.
            let own = view.port_of(node, PortNum::ZERO)?;
            way.through(view, own);
            return (own == goal.port).then_some(way);
        }
        seen(Step { node, entry, exit });
        let out = view.port_of(node, exit).filter(|_| exit != PortNum::DROP)?;
        let next = view.peer(out)?;
        way.hops = way.hops.saturating_add(1);
        way.through(view, out);
        way.through(view, next);
        if next == goal.port {
            return arrived(view, next, way, seen);
        }
        (node, entry) = (view.port(next).node, view.port(next).num);
    }
    None
}

fn arrived(view: &View, at: PortIdx, way: Way, seen: &mut dyn FnMut(Step)) -> Option<Way> {
    let port = view.port(at);
    seen(Step {
        node: port.node,
        entry: port.num,
        exit: PortNum::ZERO,
    });
    Some(way)
}
