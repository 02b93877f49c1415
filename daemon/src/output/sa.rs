//! Clients of the SA as text.

use core::fmt::Write;

use ferrosm_api::answer::Answer;
use ferrosm_api::sa::{SaClient, SaClients, SaLimit};

/// Kinds of requests that are shown of each client.
const KINDS_SHOWN: usize = 3;

/// What `sa clients` prints.
#[must_use]
pub fn clients(answer: &Answer<SaClients>) -> String {
    let clients = &answer.body;
    let mut text = String::new();
    for client in &clients.items {
        text.push_str(&one(client));
    }
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{} of {} clients; rates of the last {:.0} s, other numbers since the start of the service",
        clients.items.len(),
        clients.total,
        clients.interval_s
    );
    if clients.other_requests > 0 {
        let _ = writeln!(
            text,
            "{} requests of further clients",
            clients.other_requests
        );
    }
    text
}

fn one(client: &SaClient) -> String {
    let port = client.port.as_ref();
    let name = port.map_or_else(
        || "unknown".to_owned(),
        |port| format!("{} {}", port.name, port.guid),
    );
    let mut text = format!(
        "{name} LID {}: {:.1}/s, {} requests, {:.1} % of SA time\n  answered {}, to the SM {}",
        client.lid,
        client.rate_per_s,
        client.requests,
        client.time_percent,
        client.answered,
        client.forwarded
    );
    let further = [
        ("dropped by limits", client.overload),
        ("too large", client.too_large),
        ("not answered", client.dropped),
        ("queued", client.queued as u64),
    ];
    for (what, count) in further.into_iter().filter(|(_, count)| *count > 0) {
        let _ = write!(text, ", {what} {count}");
    }
    let kinds: Vec<String> = client
        .kinds
        .iter()
        .take(KINDS_SHOWN)
        .map(|count| format!("{} {}", count.requests, count.kind))
        .collect();
    let _ = writeln!(text, "; {}", kinds.join(", "));
    if let Some(limit) = client.limit_per_s {
        let end = client.limited_until.as_ref();
        let until = end.map_or_else(String::new, |end| format!(" until {end}"));
        let _ = writeln!(text, "  limit {limit}/s{until}");
    }
    text
}

/// What `sa limit` prints.
#[must_use]
pub fn limit(limit: &SaLimit) -> String {
    let name = &limit.port.name;
    match (limit.limit_per_s, &limit.until) {
        (Some(per_s), Some(until)) => {
            format!("{name}: {per_s} requests per second until {until}\n")
        }
        (Some(per_s), None) => {
            format!("{name}: {per_s} requests per second until the service stops\n")
        }
        (None, _) => format!("{name}: no limit of its own\n"),
    }
}
