//! Messages and rejected engines, as members of other documents.
//!
//! ```json
//! { "kind": "structure", "text": "fabric structure: 3-level fat tree, 4 root switches, 8 leaf switches" }
//! { "engine": "minhop", "kind": "verification", "reason": "credit loop of 5 channels: …" }
//! ```
//!
//! Programs compare `kind`, which is stable; texts may change with any version.
//!
//! | message | values of `kind` |
//! |---|---|
//! | routing message: installation | `adoption-rejected`, `installed-lfts-adopted`, `persisted-routing-continued`, `engine-rejected`, `dropped-transit`, `narrow-switch`, `staged-update`, `drained-update`, `switch-routes-cleared`, `drained-for-vls`, `drain-avoided`, `path-sls-change`, `unused-vls-first`, `multicast-entries-cleared`, `tables-kept`, `lfts-not-written`, `mfts-not-written` |
//! | routing message: decisions | `structure`, `fallback`, `engines-compared`, `incremental-reroute`, `dimensions`, `datelines`, `cut-rings`, `detours`, `multicast-sl`, `axes`, `one-qos-level`, `no-spanning-tree`, `moved-lids`, `tree`, `unused-port-list`, `down-up-pairs`, `lowest-level`, `switch-order`, `longer-paths`, `one-vl`, `vls`, `one-way-sls`, `pair-vls` |
//! | warning, or routing message | `absent-guids`, `root-not-a-switch`, `no-such-port`, `lids-moved`, `lids-taken`, `sl-clashes` |
//! | warning | `disconnected-components` |
//! | rejected engine | `disconnected`, `path-too-long`, `shape`, `hint`, `too-few-vls`, `budget`, `unknown-engine`, `verification`, `irreversible` |

use core::fmt::Display;

use ferrosm_core::report::routing_message::RoutingMessage;
use ferrosm_core::report::switch_names::WithSwitchNames;
use ferrosm_routing::EngineRejection;
use serde::Serialize;

#[cfg(feature = "simulator")]
use crate::offline::OfflineWarning;

/// Routing messages.
#[must_use]
pub fn routing_messages(messages: &[RoutingMessage]) -> Vec<impl Serialize> {
    messages.iter().map(|m| message(m.kind(), m)).collect()
}

/// Warnings.
#[cfg(feature = "simulator")]
#[must_use]
pub fn warnings(warnings: &[OfflineWarning]) -> Vec<impl Serialize> {
    warnings.iter().map(|w| message(w.kind(), w)).collect()
}

fn message(kind: &str, text: &impl Display) -> impl Serialize {
    object! { kind: kind, text: text.to_string() }
}

/// Engines that cannot route the fabric, or whose tables fail verification.
#[must_use]
pub fn rejections(rejected: &[WithSwitchNames<EngineRejection>]) -> Vec<impl Serialize> {
    rejected
        .iter()
        .map(|named| {
            let EngineRejection { engine, reason } = &named.message;
            object! { engine: engine, kind: reason.kind(), reason: named.describe(reason) }
        })
        .collect()
}
