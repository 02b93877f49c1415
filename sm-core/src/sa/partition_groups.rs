//! Multicast groups that exist because the configuration of a partition defines them.

use std::collections::BTreeMap;

use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_mad::ids::Gid;

use crate::config::SmConfig;
use ferrosm_sa::registry::group::GroupParameters;
use ferrosm_sa::registry::multicast::MulticastGroups;

/// Creates the groups that partitions define, and withdraws groups that no partition defines any
/// more.
pub(super) fn update_partition_groups(
    groups: &mut MulticastGroups,
    cfg: &SmConfig,
    snapshot: &Snapshot,
) {
    groups.consolidate_solicited_node(cfg.consolidate_solicited_node);
    let required: BTreeMap<Gid, GroupParameters> = cfg
        .partitions
        .groups()
        .map(|(number, group)| {
            let parameters = group.parameters(number, snapshot.multicast_sl(), cfg.subnet_timeout);
            (group.mgid, parameters)
        })
        .collect();
    let defined = groups.iter().filter(|(_, group)| group.well_known);
    let stale: Vec<Gid> = defined
        .map(|(mgid, _)| mgid)
        .filter(|mgid| !required.contains_key(mgid))
        .collect();
    for mgid in stale {
        groups.clear_well_known(mgid);
    }
    for (mgid, parameters) in required {
        groups.set_well_known(mgid, parameters);
    }
    if let Some(sl) = snapshot.multicast_sl() {
        groups.set_sl(sl);
    }
}
