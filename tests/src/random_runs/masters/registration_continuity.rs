//! State of registration continuity per host; `continuity_checks` updates it.

use std::collections::BTreeMap;
use std::sync::Arc;

use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_mad::time::Instant;
use ferrosm_sim::spec::{NodeIdx, PortAt};

/// An SM has become master.
#[derive(Debug)]
pub(crate) struct TermStart {
    pub(crate) term: u32,
    /// The node that it runs on.
    pub(crate) node: NodeIdx,
    /// The term of which it had all records.
    pub(crate) from: Option<u32>,
    /// The view among these records.
    pub(crate) view: Option<Arc<Snapshot>>,
}

/// Continuity of one host's registrations.
#[derive(Debug, Default)]
pub(super) struct HostContinuity {
    /// The last term in which the host's state was correct, or a later one whose master has all
    /// records of it.
    pub(super) term: Option<u32>,
    /// The term in which the state is correct, and since when.
    pub(super) settled_since: Option<(u32, Instant)>,
    /// The host is or was partitioned from its master, or another SM became master at the same
    /// time: the master may not have all acknowledged records.
    pub(super) cut_off: bool,
    /// MADs were lost, or an SM was stalled.
    pub(super) lossy: bool,
    /// Masters of other fragments since the state was last correct: terms, with their nodes.
    pub(super) masters_apart: BTreeMap<u32, NodeIdx>,
    /// The master had no withdrawn registrations of the host.
    pub(super) exact: bool,
    pub(super) reregister_requests: u32,
}

impl HostContinuity {
    pub(super) fn reset(&mut self) {
        *self = Self {
            reregister_requests: self.reregister_requests,
            ..Self::default()
        };
    }
}

/// Continuity of all hosts.
#[derive(Debug, Default)]
pub(crate) struct ContinuityTracker {
    pub(super) by_host: BTreeMap<PortAt, HostContinuity>,
    /// Terms that began since the last update.
    pub(crate) term_starts: Vec<TermStart>,
    /// An SM was stalled since the last update.
    pub(crate) sm_was_stalled: bool,
    pub(super) foreign_terms: u32,
    pub(super) updates: u64,
}

impl ContinuityTracker {
    /// Number of hosts whose registrations must be continuous.
    pub(crate) fn continuous_hosts(&self) -> u32 {
        let continuous = self.by_host.values().filter(|t| t.term.is_some());
        u32::try_from(continuous.count()).unwrap()
    }

    pub(crate) fn lose_power(&mut self, node: NodeIdx) {
        let of_node = self.by_host.iter_mut().filter(|(at, _)| at.node == node);
        of_node.for_each(|(_, continuity)| continuity.reset());
    }
}
