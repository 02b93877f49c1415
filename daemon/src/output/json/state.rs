//! The document of persisted state.
//!
//! ```json
//! {
//!   "schema": 4, "sequence": 7, "age_s": 12,
//!   "lids": [ { "port": "0x…", "lid": 16, "lmc": 2 } ],
//!   "groups": [ { "mgid": "ff12:401b:ffff::ffff:ffff", "mlid": 49152, "pkey": 65535, "well_known": true, "members": ["0x…"] } ],
//!   "services": [ { "description": "…", "owner": "0x…", "lease_left_s": 60 } ],
//!   "subscriptions": ["…"],
//!   "aliases": [ { "port": "0x…", "index": 1, "alias": "0x…" } ],
//!   "view": { "nodes": 36, "age_s": 12 },
//!   "invalid_records": ["…"]
//! }
//! ```
//!
//! `sequence` is the number of the last batch, 0 in an empty store; `age_s` is its age. A
//! `well_known` group persists without members. `lease_left_s` is `null` without a lease, `view`
//! without a persisted view.

use ferrosm_store::export;
use serde::Serialize;

use crate::output::state::StateSummary;

/// The document of `ferrosm state show --json`.
#[must_use]
pub fn document(state: &StateSummary<'_>) -> impl Serialize {
    let restored = state.restored;
    let saved = &restored.registrations;
    let lids = restored
        .lids
        .iter()
        .map(|(port, (lid, lmc))| object! { port: port, lid: lid, lmc: lmc });
    let services = saved.services.iter().map(|service| {
        object! {
            description: export::describe_service(&service.record),
            owner: service.registered_by,
            lease_left_s: service.lease_remaining_s,
        }
    });
    let subscriptions = saved.subscriptions.iter();
    object! {
        schema: super::SCHEMA,
        sequence: state.sequence,
        age_s: state.age_s,
        lids: lids.collect::<Vec<_>>(),
        groups: &state.groups,
        services: services.collect::<Vec<_>>(),
        subscriptions: subscriptions
            .map(|s| export::describe_subscription(&s.record))
            .collect::<Vec<_>>(),
        aliases: &saved.aliases,
        view: restored.snapshot.as_ref().map(|view| object! {
            nodes: view.snapshot.nodes().count(),
            age_s: view.age.as_secs(),
        }),
        invalid_records: state.invalid.iter().map(ToString::to_string).collect::<Vec<_>>(),
    }
}
