//! Requests that only read registrations, answered from a snapshot of them on any thread.

use ferrosm_mad::mad::Method;
use ferrosm_mad::sa::id;
use ferrosm_mad::sa::path::PathRecord;
use ferrosm_mad::time::Instant;

use crate::message::{SaReply, SaRequest};
use crate::path::record;
use crate::registry::group_paths;
use crate::registry::snapshot::RegistrySnapshot;
use crate::view::View;

/// Whether a request only reads registrations, so that a snapshot suffices.
#[must_use]
pub fn is_registry_read(request: &SaRequest<'_>) -> bool {
    matches!(request.method, Method::Get | Method::GetTable)
        && match request.attr {
            id::MC_MEMBER | id::SERVICE | id::INFORM_INFO_RECORD => true,
            id::PATH => record::is_to_group(request),
            _ => false,
        }
}

/// Answers a request for which [`is_registry_read`] is true and whose SM_Key [`crate::answer`] has
/// accepted. `now` is the SM thread's time.
#[must_use]
pub fn answer_registry_read(
    registrations: &RegistrySnapshot,
    view: &View,
    request: &SaRequest<'_>,
    now: Instant,
) -> SaReply {
    match request.attr {
        id::MC_MEMBER => registrations.groups.query(view, request),
        id::SERVICE => registrations.services.query(view, request, now),
        id::INFORM_INFO_RECORD => registrations.subscriptions.query(view, request),
        _ => {
            let requested = PathRecord::decode(request.data);
            group_paths::answer(view, &registrations.groups, request, &requested)
        }
    }
}
