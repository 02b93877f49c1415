//! Settings that replies depend on.

use std::collections::BTreeMap;
use std::sync::Arc;

use ferrosm_fabric::pkey_set::partition_number;
use ferrosm_mad::ids::{GidPrefix, MKey, PKey, PortGuid, Sl};
use serde::{Deserialize, Serialize};

use crate::qos::QosPolicy;

/// Settings of the SA.
#[derive(Debug, Clone, Default)]
pub struct SaSettings {
    /// SubnetTimeout: PacketLifeTime, and response time of the SA, 4.096 µs × 2^n.
    pub subnet_timeout: u8,
    /// Routers of other subnets; the first match is used.
    pub prefix_routes: Arc<[PrefixRoute]>,
    /// SL of each partition, by P_Key without the membership bit.
    pub partition_sls: Arc<BTreeMap<u16, Sl>>,
    /// QoS policy that selects SL and limits of paths.
    pub qos: Option<Arc<QosPolicy>>,
    /// SM_Keys of trusted requests: the one in force, then an earlier one that is still accepted.
    pub sm_keys: [MKey; 2],
}

impl SaSettings {
    /// The SL of paths in a partition, if neither routing nor QoS policy selects one.
    #[must_use]
    pub fn partition_sl(&self, pkey: PKey) -> Sl {
        let sl = self.partition_sls.get(&partition_number(pkey));
        sl.copied().unwrap_or_default()
    }
}

/// The router of another subnet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrefixRoute {
    /// Subnet prefix; `None` matches any.
    pub prefix: Option<GidPrefix>,
    /// GUID of the router port; `None` for any router.
    pub router: Option<PortGuid>,
}
