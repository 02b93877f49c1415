//! Which port is cabled to which: claims of probes, and what happens where they contradict each other (behaviour rule
//! 1.14).
//!
//! A probe out of a port claims that the answering port is at the far end. Where two ports claim the same far end, or the
//! two ends of a cable do not see each other, a GUID is used twice or a cable was moved while it was looked at. It is
//! settled when all answers are in, never by a guess on the way.

use std::collections::BTreeSet;

use ferrosm_mad::attr::PortState;

use super::SubnetManager;
use crate::io::Event;
use crate::report::{ProblemKind, QuarantineReason};
use crate::smp::op::SmpOp;
use crate::subnet::{Node, PortRef};

impl SubnetManager {
    /// Whether the answer of `to` to a probe out of `from` means that a cable between switches now leads elsewhere.
    ///
    /// Directed routes over it then end at other nodes than was thought, and what was read or written over them says
    /// nothing of the nodes it was meant for.
    pub(super) fn has_moved(&self, from: PortRef, to: PortRef) -> bool {
        let is_switch = |p: PortRef| self.subnet.get(p.node).is_some_and(Node::is_switch);
        let elsewhere = |end: PortRef, seen: PortRef| {
            let before = || self.subnet.port(end).and_then(|port| port.last_peer);
            let known = self.subnet.peer(end).or_else(before);
            is_switch(end) && known.is_some_and(|k| k != seen && is_switch(k))
        };
        elsewhere(from, to) || elsewhere(to, from)
    }

    /// A probe out of `from` was answered by `to`.
    pub(super) fn link_found(&mut self, from: PortRef, to: PortRef) {
        if self.subnet.peer(from) == Some(to) {
            // A cable that carries data is what it was; one that came up again may have a rebooted switch behind it.
            let active = self
                .subnet
                .port(from)
                .is_some_and(|p| p.state() == PortState::Active);
            if self.sweep.local && !active {
                self.ask_far_end(to);
            }
            return;
        }
        if self.subnet.peer(to).is_some_and(|other| other != from) {
            // Another cable is known to end there. It may have been moved: ask again from its other end, and settle it
            // when everything is known.
            self.schedule.record_link_conflict(self.now);
            self.sweep.disputes.insert((from, to));
            if self.sweep.local
                && let Some(other) = self.subnet.peer(to)
                && self.subnet.get(other.node).is_some_and(Node::is_switch)
                && self.sweep.doubtful.insert(other)
            {
                self.enqueue(SmpOp::PortInfo(other));
            }
            return;
        }
        self.link(from, to);
        if self.sweep.local {
            self.ask_far_end(to);
        }
    }

    fn link(&mut self, from: PortRef, to: PortRef) {
        self.subnet.connect(from, to);
        for end in [from, to] {
            let is_switch = self.subnet.get(end.node).is_some_and(Node::is_switch);
            if let Some(port) = self.subnet.port_mut(end).filter(|_| is_switch) {
                port.quarantine = None;
                port.last_peer = None;
            }
        }
        self.routing.mark_stale();
        // In a full sweep ways are found with the nodes; here a known node may be reached in a new way only.
        self.paths_stale |= self.sweep.local;
        if from.node == to.node {
            self.problem(Some(from), ProblemKind::Loopback);
        }
        if self.last_report.is_some() {
            let text = format!(
                "{} - {}",
                self.subnet.describe(from),
                self.subnet.describe(to)
            );
            self.emit(Event::LinkUp(text));
        }
    }

    /// Reads the far end of a cable whose near end changed; a switch there may have lost its tables. Once a sweep, or two
    /// switches would ask for each other for ever.
    fn ask_far_end(&mut self, to: PortRef) {
        if self.subnet.get(to.node).is_some_and(Node::is_switch)
            && self.sweep.far_ends.insert(to.node)
        {
            self.enqueue(SmpOp::SwitchInfo(to.node));
        }
    }

    /// Two ports claim to reach the same far end. The one whose claim still stands and is older keeps it; the node behind
    /// the other one uses a GUID that is not its own. A cable that was moved has only one claim left.
    pub(super) fn settle_disputes(&mut self) {
        for (from, to) in core::mem::take(&mut self.sweep.disputes) {
            if self.sweep.claims.get(&from) != Some(&to) {
                continue;
            }
            match self.subnet.peer(to) {
                Some(other) if other != from => {
                    let to_says = self.sweep.claims.get(&to);
                    let still =
                        self.sweep.claims.get(&other) == Some(&to) || to_says == Some(&other);
                    if to_says == Some(&from) {
                        if self.sweep.claims.get(&other) == Some(&to) {
                            self.reject(other, to);
                        }
                        self.relink(from, to);
                    } else if still {
                        self.reject(from, to);
                    } else {
                        self.relink(from, to);
                    }
                }
                Some(_) => {}
                None => self.relink(from, to),
            }
        }
    }

    /// Books a cable that was disputed. Until now its far end was asked over the cable that was known before, so a CA's port
    /// is read once more: another one may have answered.
    fn relink(&mut self, from: PortRef, to: PortRef) {
        self.link(from, to);
        if !self.subnet.get(to.node).is_some_and(Node::is_switch) {
            self.enqueue(SmpOp::PortInfo(to));
        }
    }

    /// A link between switches must look the same from both ends: where one end sees somebody else, or is down, what is
    /// behind the other end only borrows the GUID.
    pub(super) fn check_both_views(&mut self) {
        let claims: Vec<(PortRef, PortRef)> = self
            .sweep
            .claims
            .iter()
            .map(|(from, to)| (*from, *to))
            .collect();
        let mut rejected = BTreeSet::new();
        for (from, to) in claims {
            let Some(far) = self.subnet.port(to) else {
                continue;
            };
            if !self.subnet.get(to.node).is_some_and(Node::is_switch) || !far.known {
                continue;
            }
            let contradicts = match self.sweep.claims.get(&to) {
                Some(seen) => *seen != from,
                None => far.state() == PortState::Down && far.seen == self.epoch,
            };
            if contradicts && !rejected.contains(&to) {
                rejected.insert(from);
                self.reject(from, to);
                if let Some(real) = self.sweep.claims.get(&to).copied()
                    && self.subnet.peer(to).is_none()
                    && self.subnet.peer(real).is_none()
                {
                    self.link(to, real);
                }
            }
        }
    }

    fn reject(&mut self, from: PortRef, to: PortRef) {
        if let Some(guid) = self.subnet.get(to.node).map(|n| n.info.node_guid) {
            self.quarantine(from, QuarantineReason::DuplicateNodeGuid(guid));
        }
    }
}
