//! What subnet administration answers from, as it is now.

use std::sync::Arc;

use ferrosm_mad::ids::MKey;
use ferrosm_mad::sa::tables::SmInfoRecord;

use super::SubnetManager;
use crate::sa::View;
use crate::sa::keys::Keys;
use crate::sa::view::Extra;

impl SubnetManager {
    /// A view of the subnet for [`crate::sa::answer`]. Publish it after each sweep of a master, and none otherwise (rule 7.2).
    #[must_use]
    pub fn view(&self) -> View {
        let own = self.own_sm_info();
        let own_lid = self
            .subnet
            .local()
            .map_or_else(Default::default, |p| self.subnet.lid(p));
        let others = self
            .others
            .values()
            .map(|(at, info)| (self.subnet.lid(*at), *info));
        let managers = core::iter::once((own_lid, own))
            .chain(others)
            .map(|(lid, info)| SmInfoRecord {
                lid,
                guid: info.guid,
                sm_key: MKey::NONE,
                act_count: info.act_count,
                priority: info.priority,
                sm_state: info.sm_state,
            })
            .collect();
        let extra = Extra {
            run: self.last_run.clone(),
            managers,
            prefix_routes: Arc::default(),
        };
        View::new(
            &self.subnet,
            &self.cfg,
            &|_| Some(Keys::default_partition()),
            extra,
        )
    }
}
