//! What is out of service by command: drained switches and links, and disabled ports.

use core::time::Duration;
use std::time::UNIX_EPOCH;

use ferrosm_api::maintenance::{MaintenanceItem, MaintenanceItems, MaintenanceKind};
use ferrosm_core::config::maintenance::{Maintenance, MaintenanceTarget};

use super::rfc3339;

/// All that is out of service.
pub(super) fn items(maintenance: &[Maintenance]) -> MaintenanceItems {
    let items = maintenance.iter().map(|entry| MaintenanceItem {
        kind: kind(entry),
        guid: entry.target.node().to_string(),
        name: entry.name.clone(),
        reason: entry.reason.clone(),
        until: entry
            .until_unix_s
            .map(|until| rfc3339(UNIX_EPOCH + Duration::from_secs(until))),
    });
    MaintenanceItems {
        items: items.collect(),
    }
}

/// What is done to it.
pub(super) const fn kind(entry: &Maintenance) -> MaintenanceKind {
    match entry.target {
        MaintenanceTarget::Switch(_) => MaintenanceKind::DrainedSwitch,
        MaintenanceTarget::Link(..) => MaintenanceKind::DrainedLink,
        MaintenanceTarget::Port(..) => MaintenanceKind::DisabledPort,
    }
}

/// What is done to a link, port or switch, and why.
pub(super) fn note(entry: &Maintenance) -> String {
    let done = match kind(entry) {
        MaintenanceKind::DisabledPort => "port disabled",
        MaintenanceKind::DrainedLink => "drained",
        MaintenanceKind::DrainedSwitch => "switch drained",
    };
    match entry.reason.as_str() {
        "" => done.to_owned(),
        reason => format!("{done}: {reason}"),
    }
}
