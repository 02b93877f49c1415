//! LIDs by port, as they are planned, persisted and restored.

use std::collections::BTreeMap;

use ferrosm_mad::ids::{Lid, Lmc, PortGuid};

/// Base LID and LMC by port GUID.
pub type LidMap = BTreeMap<PortGuid, (Lid, Lmc)>;
