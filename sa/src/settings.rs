//! Settings that answers depend on.

use std::collections::BTreeMap;
use std::sync::Arc;

use ferrosm_mad::ids::{GidPrefix, MKey, PKey, PortGuid, Sl};
use serde::{Deserialize, Serialize};

use super::message::partition_number;
use crate::qos::QosPolicy;

/// Settings of subnet administration.
#[derive(Debug, Clone, Default)]
pub struct SaSettings {
    /// Upper half of GIDs.
    pub prefix: GidPrefix,
    /// SubnetTimeout: lifetime of packets and response time of the SA, 4.096 µs × 2^n.
    pub subnet_timeout: u8,
    /// Routes for packets with other prefixes; the first match is used.
    pub prefix_routes: Arc<[PrefixRoute]>,
    /// SL of each partition, by P_Key without the membership bit.
    pub partition_sls: Arc<BTreeMap<u16, Sl>>,
    /// QoS policy that selects service level and limits of paths.
    pub qos: Option<Arc<QosPolicy>>,
    /// SM_Key of trusted requests.
    pub sm_key: MKey,
}

impl SaSettings {
    /// The SL of paths in a partition, where neither routing nor QoS policy selects one.
    #[must_use]
    pub fn partition_sl(&self, pkey: PKey) -> Sl {
        let sl = self.partition_sls.get(&partition_number(pkey));
        sl.copied().unwrap_or_default()
    }
}

/// A route for packets with another prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrefixRoute {
    /// Upper half of GIDs; `None` for all.
    pub prefix: Option<GidPrefix>,
    /// GUID of the router port; `None` for any.
    pub router: Option<PortGuid>,
}
