//! The snapshot of the observed fabric from which the SA replies. Free functions of the fabric and
//! plain data.

use std::sync::Arc;

use ferrosm_fabric::aliases::AliasTables;
use ferrosm_fabric::observed::ObservedFabric;
use ferrosm_fabric::routing_origin::RoutingOrigin;
use ferrosm_fabric::snapshot::{Snapshot, SnapshotExtras};
use ferrosm_mad::attr::SmInfo;
use ferrosm_mad::ids::{Lid, MKey};
use ferrosm_mad::sa::tables::SmInfoRecord;
use ferrosm_routing::VerifiedRun;

use crate::config::SmConfig;
use crate::pkeys;
use ferrosm_sa::View;

/// What a view shows besides the fabric and the registrations.
#[derive(Debug)]
pub(crate) struct ViewInputs {
    /// The routing in force, and the slot of each of its switches.
    pub(crate) run: Option<(Arc<VerifiedRun>, Vec<usize>)>,
    /// Where the routing comes from.
    pub(crate) origin: Option<RoutingOrigin>,
    /// SMs, this one first.
    pub(crate) sms: Vec<SmInfoRecord>,
}

/// The snapshot of the fabric as it is now. It shares unchanged parts with `before`, the last
/// snapshot of the fabric.
pub(crate) fn build_snapshot(
    fabric: &ObservedFabric,
    cfg: &SmConfig,
    inputs: ViewInputs,
    aliases: &Arc<AliasTables>,
    before: Option<&Snapshot>,
) -> Snapshot {
    let extras = SnapshotExtras {
        prefix: cfg.subnet_prefix,
        run: inputs.run,
        origin: inputs.origin.map(Arc::new),
        sms: inputs.sms,
        aliases: Arc::clone(aliases),
    };
    let pkeys = |port| Some(pkeys::effective_keys(fabric, cfg, port));
    Snapshot::build(fabric, pkeys, extras, before)
}

/// The view from which the SA replies until the next one is published.
pub(super) fn new_view(cfg: &SmConfig, snapshot: Snapshot) -> Arc<View> {
    Arc::new(View::new(Arc::new(snapshot), cfg.sa_settings()))
}

/// The SMInfoRecord of an SM, without its SM_Key (which has the type of an M_Key).
pub(crate) const fn sm_record(lid: Lid, info: &SmInfo) -> SmInfoRecord {
    SmInfoRecord {
        lid,
        guid: info.guid,
        sm_key: MKey::NONE,
        act_count: info.act_count,
        priority: info.priority,
        sm_state: info.sm_state,
    }
}
