//! Problems: where they are located, and which devices they name.
//!
//! A device that does not respond is one problem, located at the device, however many requests fail
//! and however many ports lead to it.

use std::collections::BTreeMap;

use ferrosm_fabric::location::{Location, PortName};
use ferrosm_fabric::observed::{ExclusionReason, NodeIdx, ObservedFabric, PortRef};
use ferrosm_mad::attr::id;
use ferrosm_mad::ids::PortNum;

use super::exclusion::is_in_fabric;
use super::owners::duplicate_owner;
use crate::report::{ExcludedDevice, Problem, ProblemKind};

/// Locates problems in the observed fabric.
#[derive(Clone, Copy)]
pub(crate) struct ProblemLocator<'a> {
    pub(crate) fabric: &'a ObservedFabric,
    /// Whether a node has reported an M_Key violation.
    pub(crate) rejects_m_key: &'a dyn Fn(NodeIdx) -> bool,
}

impl ProblemLocator<'_> {
    /// The problems of a sweep, except those at ports that have left the fabric.
    pub(crate) fn locate_all(&self, problems: Vec<(Option<PortRef>, ProblemKind)>) -> Vec<Problem> {
        // This SM's own port stores no exclusion of its neighbour; the problem is solved if a link
        // was found later.
        let local_port = self.fabric.local();
        let is_solved = |at: &Option<PortRef>, kind: &ProblemKind| {
            *at == local_port
                && matches!(kind, ProblemKind::Excluded(..))
                && at.is_some_and(|p| self.fabric.peer(p).is_some())
        };
        let in_fabric = problems.into_iter().filter(|(at, kind)| {
            let is_outside = matches!(kind, ProblemKind::LinkToOtherSubnet { .. });
            at.is_none_or(|p| is_outside || is_in_fabric(self.fabric, p)) && !is_solved(at, kind)
        });
        let mut located: Vec<Problem> = Vec::new();
        // The problem of each device that does not respond.
        let mut unresponsive: BTreeMap<(NodeIdx, &'static str), usize> = BTreeMap::new();
        for (at, kind) in in_fabric {
            let (problem, device) = self.locate(at, kind);
            if let Some(device) = device {
                let first = *unresponsive
                    .entry((device, problem.kind.name()))
                    .or_insert(located.len());
                if let Some(first) = located.get_mut(first) {
                    merge(first, &problem);
                    continue;
                }
            }
            located.push(problem);
        }
        located
    }

    /// A problem with its location, and the device that does not respond, if it is one.
    fn locate(&self, at: Option<PortRef>, kind: ProblemKind) -> (Problem, Option<NodeIdx>) {
        let Some(at) = at else {
            let location = Location::LocalNode;
            return (Problem { location, kind }, None);
        };
        let name = self.fabric.port_name(at);
        let problem = |port, kind| Problem {
            location: Location::Port(port),
            kind,
        };
        if matches!(kind, ProblemKind::NoResponse { .. }) {
            return (problem(name, self.explain(at, kind)), Some(at.node));
        }
        let ProblemKind::Excluded(reason, _) = kind else {
            return (problem(name, kind), None);
        };
        if reason != ExclusionReason::NoResponse {
            let details = self.excluded_device(at, reason);
            let kind = ProblemKind::Excluded(reason, Box::new(details));
            return (problem(name, kind), None);
        }
        // The node that was found behind this port last.
        let last = || self.fabric.port(at).and_then(|port| port.last_peer);
        let behind = self.fabric.peer(at).or_else(last).map(|p| p.node);
        let node = behind.and_then(|n| Some((n, self.fabric.node_name(n)?)));
        let Some((n, node)) = node else {
            return (problem(name, self.explain(at, kind)), None);
        };
        let device = PortName {
            node: Some(node),
            port: PortNum::ZERO,
        };
        let details = ExcludedDevice {
            behind: Some((name, 0)),
            hosts: self.fabric.hosts_lost_with(n),
            ..ExcludedDevice::default()
        };
        let kind = ProblemKind::Excluded(reason, Box::new(details));
        (problem(device, self.explain(at, kind)), Some(n))
    }

    /// The excluded device behind a port, and the owner of its GUID.
    fn excluded_device(&self, at: PortRef, reason: ExclusionReason) -> ExcludedDevice {
        let fabric = self.fabric;
        let owner = duplicate_owner(fabric, reason);
        let has_port_guid = matches!(reason, ExclusionReason::DuplicatePortGuid(_));
        let port = fabric.peer(at).filter(|_| has_port_guid);
        let name = |p: PortRef| fabric.port_name(p);
        ExcludedDevice {
            port: port.map(name),
            owner: owner.map(|owner| (name(owner), fabric.peer(owner).map(name))),
            ..ExcludedDevice::default()
        }
    }

    /// A device that does not respond and has reported an M_Key violation has an M_Key that this SM
    /// does not know.
    fn explain(&self, at: PortRef, kind: ProblemKind) -> ProblemKind {
        let last = || self.fabric.port(at).and_then(|port| port.last_peer);
        let behind = self.fabric.peer(at).or_else(last);
        let mut nodes = [Some(at), behind].into_iter().flatten().map(|p| p.node);
        if nodes.any(self.rejects_m_key) {
            ProblemKind::MKeyRejected
        } else {
            kind
        }
    }
}

/// Adds a further problem of a device to its first one. Of several requests without a response, the
/// last one is reported: writes follow reads. NodeInfo is only read through the ports in front of a
/// device.
fn merge(first: &mut Problem, further: &Problem) {
    if let ProblemKind::NoResponse { attr } = &mut first.kind
        && let ProblemKind::NoResponse { attr: last } = further.kind
        && last != id::NODE_INFO
    {
        *attr = last;
    }
    if let ProblemKind::Excluded(_, device) = &mut first.kind
        && let Some((_, others)) = &mut device.behind
    {
        *others += 1;
    }
    // Several ports of the device: the problem is the device's.
    if let (Location::Port(at), Location::Port(other)) = (&mut first.location, &further.location)
        && at.port != other.port
    {
        at.port = PortNum::ZERO;
    }
}
