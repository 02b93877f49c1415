//! What the SM knows of the keys of ports and other SMs, and of the configurations of other SMs.

use std::collections::BTreeMap;

use ferrosm_core::SubnetManager;
use ferrosm_core::config::sections::ConfigSections;
use ferrosm_core::report::ignored_sm::IgnoredSm;
use ferrosm_core::report::m_keys::{MKeyReport, SmKeyReport};
use ferrosm_mad::ids::PortGuid;

/// As of the last sweep, or of the last scan of the other SMs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SmReports {
    /// Who has which M_Key.
    pub m_keys: MKeyReport,
    /// Who has which SM_Key.
    pub sm_keys: SmKeyReport,
    /// The other SMs that compared their configuration, and the sections that differ.
    pub other_configs: BTreeMap<PortGuid, ConfigSections>,
    /// The other SMs that the election ignores.
    pub ignored: Vec<IgnoredSm>,
}

impl SmReports {
    pub(super) fn of(sm: &SubnetManager) -> Self {
        Self {
            m_keys: sm.m_key_report(),
            sm_keys: sm.sm_key_report(),
            other_configs: sm.other_configs(),
            ignored: sm.ignored_sms(),
        }
    }
}
