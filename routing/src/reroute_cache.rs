//! What is kept with a run, so that the repair of its routing, and the proof of what is repaired, cost as much as changed.
//!
//! All of it follows from the graph and the routing: whoever has none pays for it once more, and gets the same results.
//! The proof's part and the repair's part know nothing of each other.

use std::sync::{Arc, OnceLock};

use crate::engine::Routing;
use crate::reroute::Ways;
use crate::topology::Topology;
use crate::verify::IncrementalVerifier;

/// What is kept with a run; shared by all copies of it.
#[derive(Debug, Clone, Default)]
pub struct RerouteCache(Arc<Parts>);

#[derive(Debug, Default)]
struct Parts {
    /// What was proven.
    ledger: OnceLock<IncrementalVerifier>,
    /// What repairs start from.
    ways: OnceLock<Ways>,
}

impl RerouteCache {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What a repair and its proof gave.
    pub(crate) fn of(ledger: IncrementalVerifier, ways: Ways) -> Self {
        Self(Arc::new(Parts {
            ledger: ledger.into(),
            ways: ways.into(),
        }))
    }

    pub(crate) fn ledger(&self) -> Option<&IncrementalVerifier> {
        self.0.ledger.get()
    }

    pub(crate) fn ways(&self) -> Option<&Ways> {
        self.0.ways.get()
    }

    pub(crate) fn fill(&self, topo: &Topology, routing: &Routing) {
        self.0.ledger.get_or_init(|| {
            let mut ledger = IncrementalVerifier::new();
            // Tables that are in force were proven; of others there is nothing to remember.
            let _proof = ledger.verify(topo, &routing.tables, &routing.vl_plan);
            ledger
        });
        self.0.ways.get_or_init(|| Ways::of(topo, routing));
    }

    /// Bytes that it takes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.ledger().map_or(0, IncrementalVerifier::memory) + self.ways().map_or(0, Ways::memory)
    }
}
