//! Where a request of another SM came from, and the query of its sender.

use ferrosm_fabric::observed::{ObservedFabric, PortRef};
use ferrosm_mad::ids::{AttrId, PortNum, Tid};
use ferrosm_mad::mad::{MadIn, MgmtClass};
use ferrosm_mad::smp::DrPath;

use crate::smp::route;

/// Get(SMInfo) to the sender of a request, or Get(PortInfo) of this SM's own port.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SenderQuery {
    pub(crate) sender: Sender,
    pub(crate) attr: AttrId,
    pub(crate) tid: Tid,
    pub(crate) attempt: u8,
}

/// Where a request came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sender {
    /// The port; `None` if discovery has not found it yet.
    pub(crate) port: Option<PortRef>,
    pub(crate) path: DrPath,
}

impl Sender {
    /// Whether two senders may be the same host: each port has many DR paths.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self.port, other.port) {
            (Some(port), Some(other)) => port == other,
            _ => self == other,
        }
    }

    /// The sender of a request; `None` if its source LID is unknown.
    pub(crate) fn of(fabric: &ObservedFabric, received: &MadIn) -> Option<Self> {
        if received.mad.mgmt_class() == MgmtClass::SubnLid {
            let port = fabric.port_by_lid(received.from.lid)?;
            let path = route::shortest(fabric, port)?;
            return Some(Self {
                port: Some(port),
                path,
            });
        }
        let path = DrPath::to_requester(&received.mad)?;
        Some(Self {
            port: sender_port(fabric, &path),
            path,
        })
    }
}

/// The port at the end of a path whose other nodes are switches.
fn sender_port(fabric: &ObservedFabric, path: &DrPath) -> Option<PortRef> {
    let mut end = fabric.local()?;
    for (i, hop) in path.hops().iter().enumerate() {
        if i > 0 && !fabric.get(end.node)?.is_switch() {
            return None;
        }
        end = fabric.peer(PortRef::new(end.node, PortNum(*hop)))?;
    }
    if fabric.get(end.node)?.is_switch() {
        end.port = PortNum::ZERO;
    }
    Some(end)
}
