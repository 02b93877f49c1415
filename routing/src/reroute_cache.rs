//! State of a routing run from which an incremental reroute and its verification start. The cost of
//! both is proportional to the changes.
//!
//! The state is derived from the graph and the routing, so an empty cache is refilled without a
//! change of the results. The verifier and the rerouter have separate parts.

use std::sync::{Arc, OnceLock};

use crate::channels::RoutingChannelOrder;
use crate::routing::Routing;
use crate::topology::Topology;
use crate::verify::IncrementalVerifier;
use crate::vl_plan::SlToVl;

/// State of the incremental verifier and of the rerouter for one run. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct RerouteCache(Arc<Parts>);

#[derive(Debug, Default)]
struct Parts {
    /// The verified routing.
    verifier: OnceLock<IncrementalVerifier>,
    dependencies: OnceLock<RoutingChannelOrder>,
}

impl RerouteCache {
    /// An empty cache.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The cache of a rerouted and verified routing.
    pub(crate) fn from_reroute(
        verifier: IncrementalVerifier,
        dependencies: RoutingChannelOrder,
    ) -> Self {
        Self(Arc::new(Parts {
            verifier: verifier.into(),
            dependencies: dependencies.into(),
        }))
    }

    pub(crate) fn verifier(&self) -> Option<&IncrementalVerifier> {
        self.0.verifier.get()
    }

    pub(crate) fn dependencies(&self) -> Option<&RoutingChannelOrder> {
        self.0.dependencies.get()
    }

    /// Computes missing parts, which takes about as long as a full verification.
    pub(crate) fn fill(&self, topo: &Topology, routing: &Routing) {
        self.0.verifier.get_or_init(|| {
            let mut verifier = IncrementalVerifier::new();
            // Tables of other plans are always verified as a whole.
            if routing.vl_plan.sl_to_vl == SlToVl::Modulo {
                // Installed tables have passed verification. If these fail, the verifier stays
                // empty, and the next verification is a full one.
                let _proof = verifier.verify(topo, &routing.tables, &routing.vl_plan);
            }
            verifier
        });
        self.0
            .dependencies
            .get_or_init(|| RoutingChannelOrder::new(topo, routing));
    }

    /// Memory use, in bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.verifier().map_or(0, IncrementalVerifier::memory)
            + self.dependencies().map_or(0, RoutingChannelOrder::memory)
    }
}
