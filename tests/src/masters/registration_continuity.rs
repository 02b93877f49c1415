//! What each host may rely on from one master to the next, as values; `tenure_looks` says when it begins, goes on and ends.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use ferrosm_mad::time::Instant;
use ferrosm_sa::View;
use ferrosm_sim::spec::{NodeIdx, PortAt};

use crate::masters::fragments::Islands;

/// Somebody has become master.
#[derive(Debug)]
pub(crate) struct Begun {
    pub(crate) reign: u32,
    /// Where it runs.
    pub(crate) node: NodeIdx,
    /// The reign that it had all records of.
    pub(crate) from: Option<u32>,
    /// The view among them.
    pub(crate) view: Option<Arc<View>>,
}

/// What one host may rely on.
#[derive(Debug, Default)]
pub(super) struct Tenure {
    /// The reign in which all was well last, or one that had everything of it.
    pub(super) of: Option<u32>,
    /// All is well in this reign since then.
    pub(super) well: Option<(u32, Instant)>,
    /// It is cut off from its master, or was, or another one has begun beside that one: it is not sure that the master knows it.
    pub(super) apart: bool,
    /// MADs were lost, or a manager stood still.
    pub(super) lossy: bool,
    /// The master knew nothing of it that it did not want.
    pub(super) exact: bool,
    pub(super) told: u32,
}

impl Tenure {
    pub(super) fn end(&mut self) {
        *self = Self {
            told: self.told,
            ..Self::default()
        };
    }
}

/// Those of all hosts.
#[derive(Debug, Default)]
pub(crate) struct Tenures {
    pub(super) all: BTreeMap<PortAt, Tenure>,
    /// Who became master since the last look.
    pub(crate) begun: Vec<Begun>,
    /// A manager did not run for a while, since the last look.
    pub(crate) stood_still: bool,
    pub(super) foreign_reigns: u32,
    /// Who was master at the last look, and where; and the islands then.
    pub(super) reigned: Vec<(u32, NodeIdx)>,
    pub(super) pieces: Rc<Islands>,
    pub(super) looks: u64,
}

impl Tenures {
    /// How many hosts may rely on something.
    pub(crate) fn held(&self) -> u32 {
        let held = self.all.values().filter(|t| t.of.is_some());
        u32::try_from(held.count()).unwrap_or(u32::MAX)
    }

    pub(crate) fn lose_power(&mut self, node: NodeIdx) {
        let of_node = self.all.iter_mut().filter(|(at, _)| at.node == node);
        of_node.for_each(|(_, tenure)| tenure.end());
    }
}
