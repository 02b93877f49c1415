//! Clients of the SA, and limits of single ones.

use core::cmp::Reverse;
use core::time::Duration;
use std::time::SystemTime;

use ferrosm_api::answer::{ApiError, ErrorKind};
use ferrosm_api::command::CommandKind;
use ferrosm_api::sa::{
    LIMIT_FOR_S_MAX, LIMIT_PER_S_MAX, SaClient, SaClients, SaLimit, SaLimitQuery, SaRequestCount,
    TOP_DEFAULT, TOP_MAX,
};
use ferrosm_sa::client_use::ClientUse;

use super::access::Client;
use super::list::invalid;
use super::published::FabricState;
use super::{Service, lookup, names, rfc3339};
use crate::sa_server::clients::{ClientLimit, LIMITS_MAX, LimitRefusal, SaClientUse, SaUse};

/// What is shown of a limit that ends with the service.
const UNTIL_STOP: &str = "the service stops";

/// The clients with most requests.
pub(super) fn clients(service: &Service, top: Option<usize>) -> Result<SaClients, ApiError> {
    let top = top.unwrap_or(TOP_DEFAULT);
    if !(1..=TOP_MAX).contains(&top) {
        return Err(invalid(format!("top is from 1 to {TOP_MAX}")));
    }
    let all = service.sa_clients.top(top).ok_or_else(no_sa)?;
    let state = service.published.state();
    let fabric = state.fabric.as_ref();
    let items = all
        .clients
        .iter()
        .map(|client| sa_client(service, fabric, &all, client));
    Ok(SaClients {
        total: all.total,
        other_requests: all.others.total(),
        interval_s: rounded(all.recent.as_secs_f64()),
        items: items.collect(),
    })
}

fn sa_client(
    service: &Service,
    fabric: Option<&FabricState>,
    all: &SaUse,
    client: &SaClientUse,
) -> SaClient {
    let snapshot = fabric.map(|fabric| &fabric.snapshot);
    let at = snapshot.and_then(|snapshot| Some((snapshot, snapshot.by_lid(client.lid)?)));
    let own = at.and_then(|(snapshot, at)| {
        let guid = snapshot.end_port(at).guid;
        service.sa_clients.limit_of(guid)
    });
    let until = own.map(|limit| limit.until.map_or_else(|| UNTIL_STOP.to_owned(), rfc3339));
    let counts = client.uses.counts();
    let seconds = all.recent.as_secs_f64().max(1.0);
    let busy = all.busy.as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let rate = client.uses.recent() as f64 / seconds;
    SaClient {
        lid: client.lid.0,
        port: at.map(|(snapshot, at)| names::end_port_name(snapshot, at)),
        requests: counts.total(),
        rate_per_s: rounded(rate),
        answered: counts.answered,
        forwarded: counts.forwarded,
        dropped: counts.dropped,
        too_large: counts.too_large,
        overload: counts.overload,
        queued: client.waiting,
        time_percent: match busy > 0.0 {
            true => rounded(100.0 * client.uses.busy().as_secs_f64() / busy),
            false => 0.0,
        },
        kinds: kinds(&client.uses),
        limit_per_s: (client.rate > 0).then_some(client.rate),
        limited_until: until,
    }
}

fn kinds(uses: &ClientUse) -> Vec<SaRequestCount> {
    let (kinds, other) = uses.kinds();
    let named = kinds.iter().map(|(kind, requests)| SaRequestCount {
        kind: format!("{}({})", kind.method(), kind.attribute()),
        requests: *requests,
    });
    let mut all: Vec<SaRequestCount> = named.collect();
    all.sort_by_key(|count| Reverse(count.requests));
    if other > 0 {
        all.push(SaRequestCount {
            kind: "other".to_owned(),
            requests: other,
        });
    }
    all
}

/// With two digits after the point.
fn rounded(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

/// Sets or removes the limit of a client, with a line in the audit log.
pub(super) fn limit(
    service: &Service,
    client: Client,
    fabric: &FabricState,
    query: SaLimitQuery,
) -> Result<SaLimit, ApiError> {
    let SaLimitQuery {
        client: name,
        per_s,
        for_s,
        reason,
    } = query;
    if per_s.is_some_and(|per_s| !(1..=LIMIT_PER_S_MAX).contains(&per_s)) {
        return Err(invalid(format!("per_s is from 1 to {LIMIT_PER_S_MAX}")));
    }
    if for_s.is_some_and(|for_s| per_s.is_none() || !(1..=LIMIT_FOR_S_MAX).contains(&for_s)) {
        let message = format!("for_s is from 1 to {LIMIT_FOR_S_MAX}, and only with per_s");
        return Err(invalid(message));
    }
    let at = lookup::end_port(fabric, &name)?;
    let port = names::end_port_name(&fabric.snapshot, at);
    let until = for_s.and_then(|for_s| SystemTime::now().checked_add(Duration::from_secs(for_s)));
    let new = per_s.map(|per_s| ClientLimit { per_s, until });
    let guid = fabric.snapshot.end_port(at).guid;
    let had_limit = service.sa_clients.set_limit(guid, new).map_err(|e| match e {
        LimitRefusal::NoSa => no_sa(),
        LimitRefusal::TooMany => ApiError::new(
            ErrorKind::Conflict,
            format!("{LIMITS_MAX} clients have a limit of their own"),
            "Remove one with `ferrosm sa limit CLIENT none`, or set sa.max-requests-per-host-s for all.",
        ),
    })?;
    let ends_at = until.map(rfc3339);
    let message = match (per_s, &ends_at, had_limit) {
        (Some(per_s), Some(until), _) => format!("{}: {per_s}/s until {until}", port.name),
        (Some(per_s), None, _) => format!("{}: {per_s}/s until {UNTIL_STOP}", port.name),
        (None, _, true) => format!("{}: no limit of its own any more", port.name),
        (None, _, false) => format!("{}: had no limit of its own", port.name),
    };
    let by = client.to_string();
    let command = service
        .commands
        .record(CommandKind::SaLimit, by, reason, message);
    Ok(SaLimit {
        command,
        port,
        limit_per_s: per_s,
        until: ends_at,
    })
}

fn no_sa() -> ApiError {
    ApiError::new(
        ErrorKind::NotReady,
        "the SA does not serve: the service waits for its local port, or the port has no QP1",
        "`ferrosm status` shows what the service does.",
    )
}
