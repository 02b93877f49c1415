//! What the next routing would start from, for predictions on other threads.

use super::SubnetManager;
use crate::routing::installed_groups::InstalledGroups;
use crate::routing::what_if::RoutingBasis;

impl SubnetManager {
    /// The routing in force, and what the next routing would start from; `None` without a routing.
    #[must_use]
    pub fn routing_basis(&self) -> Option<RoutingBasis> {
        let (run, nodes) = self.routing.installed()?;
        // With one VL, groups do not matter for the choice of a routing.
        let groups = if run.routing.vl_plan.is_single() {
            InstalledGroups::default()
        } else {
            InstalledGroups::new(&self.fabric, nodes, self.registry().groups())
        };
        self.routing.basis(groups)
    }
}
