//! Answers of the API as text.

use core::fmt::Write;

use ferrosm_api::alarm::Alarm;
use ferrosm_api::answer::{Answer, Page};
use ferrosm_api::change::{Change, Changes, Diff};
use ferrosm_api::command::{Command, Commands};
use ferrosm_api::event::Events;
use ferrosm_api::fabric::{Link, LinkEnd, LinkState, Node, Port, Presence, Where};
use ferrosm_api::maintenance::{MaintenanceItems, PortLimitsItems};
use ferrosm_api::object::ObjectName;
use ferrosm_api::partition::{PartitionMember, Partitions};
use ferrosm_api::path::Path;
use ferrosm_api::status::{Health, HealthState, Limits, OpenAlarms, ReplicaState, Sms, Status};

use super::json;
use super::table::{self, count};

/// Most problems that the result of a command lists.
const FINDINGS_SHOWN: usize = 100;

/// `status`.
#[must_use]
pub fn status(answer: &Answer<Status>) -> String {
    let status = &answer.body;
    let mut rows = vec![
        (
            "service",
            format!(
                "ferrosm {}, process {}, since {}",
                status.version,
                status.pid,
                short(&status.started_at)
            ),
        ),
        (
            "role",
            format!(
                "{} since {}: {}",
                answer.role.name(),
                short(&status.role_since),
                status.role_reason
            ),
        ),
    ];
    if let Some(master) = &answer.master {
        rows.push(("master", object(master)));
    }
    let port = status
        .port
        .as_ref()
        .map_or_else(|| "none yet".to_owned(), object);
    rows.push(("port", format!("{port}, SM priority {}", status.priority)));
    rows.push(("activity", status.activity.clone()));
    if let Some(awaited) = &status.awaits_consent {
        rows.push(("consent", format!("awaited for {awaited}")));
        rows.push((
            "",
            "accept it by `ferrosm takeover` with these options, or name the settings in the configuration".to_owned(),
        ));
    }
    if let Some(fabric) = &status.fabric {
        let routers = match fabric.routers {
            0 => String::new(),
            n => format!(", {}", count(n, "router", "routers")),
        };
        rows.push((
            "fabric",
            format!(
                "{}, {}{routers}, {}",
                count(fabric.switches, "switch", "switches"),
                count(fabric.cas, "channel adapter", "channel adapters"),
                count(fabric.links, "link", "links"),
            ),
        ));
    }
    if let Some(sweep) = &status.last_sweep {
        rows.push((
            "last sweep",
            format!(
                "{} ({}), {}, {} ms, {}, {}; engine {}",
                sweep.number,
                sweep.kind,
                short(&sweep.at),
                sweep.took_us / 1000,
                count(sweep.problems, "problem", "problems"),
                count(sweep.minor_problems, "minor problem", "minor problems"),
                if sweep.engine.is_empty() {
                    "none"
                } else {
                    &sweep.engine
                },
            ),
        ));
    }
    if let Some(alarms) = &status.alarms {
        rows.push(("alarms", open_alarms(alarms)));
    }
    rows.push(("revision", answer.revision.to_string()));
    aligned(&rows)
}

/// `2, and 1 acknowledged; worst: 7, error, leaf-0-0/5: link down`.
fn open_alarms(alarms: &OpenAlarms) -> String {
    let Some(worst) = &alarms.worst else {
        return "none".to_owned();
    };
    let acknowledged = match alarms.acknowledged {
        0 => String::new(),
        n => format!(", and {n} acknowledged"),
    };
    let Alarm {
        id,
        severity,
        object: ObjectName { name, guid, .. },
        text,
        ..
    } = worst;
    let name = if name.is_empty() { guid } else { name };
    format!(
        "{}{acknowledged}; worst: alarm {id}, {}, {name}: {text}",
        alarms.active,
        severity.name()
    )
}

/// `health`.
#[must_use]
pub fn health(answer: &Answer<Health>) -> String {
    let health = &answer.body;
    let state = match health.state {
        HealthState::Ok => "OK",
        HealthState::Degraded => "DEGRADED",
        HealthState::Down => "DOWN",
        HealthState::Unknown => "UNKNOWN",
    };
    let mut text = format!("{state}  {}\n", health.summary);
    for finding in &health.findings {
        let mark = if finding.severe { '!' } else { '~' };
        let since = finding
            .since
            .as_deref()
            .map(|at| format!(" since {}", short(at)));
        let alarm = finding.alarm.map(|id| format!("  alarm {id}"));
        let _ = writeln!(
            text,
            "  {mark} {}: {}{}{}",
            finding.location,
            finding.text,
            since.unwrap_or_default(),
            alarm.unwrap_or_default()
        );
    }
    for item in &health.maintenance {
        let _ = write!(
            text,
            "  - {}: out of service ({})",
            item.name,
            item.kind.name()
        );
        if let Some(until) = &item.until {
            let _ = write!(text, " until {}", short(until));
        }
        if !item.reason.is_empty() {
            let _ = write!(text, ": {}", item.reason);
        }
        text.push('\n');
    }
    text
}

/// Which state an answer is of.
#[must_use]
pub fn state_time<T>(answer: &Answer<T>) -> String {
    let at = short(&answer.at);
    format!("state since {at}, revision {}\n", answer.revision)
}

/// The result of a command.
#[must_use]
pub fn result(command: &Command) -> String {
    let mut text = format!("{}\n", command.message);
    for finding in command.findings.iter().take(FINDINGS_SHOWN) {
        let kind = if finding.severe {
            "problem"
        } else {
            "minor problem"
        };
        let _ = writeln!(text, "  {kind}: {}: {}", finding.location, finding.text);
    }
    let more = command.findings.len().saturating_sub(FINDINGS_SHOWN);
    if more > 0 {
        let _ = writeln!(
            text,
            "  and {}",
            count(more, "more problem", "more problems")
        );
    }
    text
}

/// `partition list`.
#[must_use]
pub fn partitions(answer: &Answer<Partitions>) -> String {
    let mut out = table::new(["Partition", "Name", "Full members", "Limited members"]);
    table::right(&mut out, &[2, 3]);
    for partition in &answer.body.items {
        out.add_row([
            partition.number.clone(),
            partition.name.clone(),
            partition.full.to_string(),
            partition.limited.to_string(),
        ]);
    }
    format!("{out}\n")
}

/// `partition show`.
#[must_use]
pub fn members(answer: &Answer<Page<PartitionMember>>) -> String {
    let page = &answer.body;
    let mut out = table::new(["Name", "Location", "Membership", "Port GUID"]);
    for member in &page.items {
        out.add_row([
            member.name.clone(),
            member.location.clone(),
            member.membership.name().to_owned(),
            member.guid.clone(),
        ]);
    }
    format!("{out}\n{}", rest(page, "member", "members"))
}

/// `changes`.
#[must_use]
pub fn changes(answer: &Answer<Changes>) -> String {
    let changes = &answer.body;
    let known = match &changes.known_since {
        Some(at) => format!("known since {}", short(at)),
        None => "none is known yet".to_owned(),
    };
    if changes.items.is_empty() {
        return format!("no changes; {known}\n");
    }
    let out = change_table(&changes.items);
    let shown = changes.items.len();
    let total = count(changes.total, "change", "changes");
    let rest = match shown == changes.total {
        true => total,
        false => format!("the last {shown} of {total}; --limit shows more"),
    };
    format!("{out}\n{rest}; {known}\n")
}

fn change_table(changes: &[Change]) -> table::Table {
    let mut out = table::new(["Number", "Time", "What", "Cause", "Effect"]);
    table::right(&mut out, &[0]);
    for change in changes {
        out.add_row([
            change.number.to_string(),
            short(&change.at),
            change.what.clone(),
            change.cause.clone().unwrap_or_default(),
            change.effect.clone().unwrap_or_default(),
        ]);
    }
    out
}

/// `diff`.
#[must_use]
pub fn diff(answer: &Answer<Diff>) -> String {
    let diff = &answer.body;
    let mut text = String::new();
    if let Some(at) = &diff.known_since {
        let _ = writeln!(text, "changes before {} are not known", short(at));
    }
    if diff.items.is_empty() {
        text.push_str("no node or link has another state\n");
    } else {
        let mut out = table::new(["Kind", "Object", "Before", "After", "Changes"]);
        table::right(&mut out, &[4]);
        for item in &diff.items {
            out.add_row([
                item.kind.name().to_owned(),
                item.object.clone(),
                item.before.clone(),
                match item.replaced_by.is_empty() {
                    true => item.after.clone(),
                    false => format!("{}: now {}", item.after, item.replaced_by.join(", ")),
                },
                item.changes.to_string(),
            ]);
        }
        let _ = writeln!(text, "{out}");
    }
    if !diff.other.is_empty() {
        let _ = writeln!(text, "{}", change_table(&diff.other));
    }
    text
}

/// `events`: number, time, severity, and the line of the log.
#[must_use]
pub fn events(events: &Events) -> String {
    let mut text = String::new();
    if events.has_gap {
        text.push_str("earlier events are no longer known; see the log of the service\n");
    }
    for event in &events.items {
        let _ = writeln!(
            text,
            "{} {} {:<7} {}",
            event.number,
            short(&event.at),
            event.severity.name(),
            event.text
        );
    }
    text
}

/// `events --json`: an object per line.
#[must_use]
pub fn event_lines(events: &Events) -> String {
    events.items.iter().map(json::to_line).collect()
}

/// `commands`.
#[must_use]
pub fn commands(answer: &Answer<Commands>) -> String {
    let items = &answer.body.items;
    if items.is_empty() {
        return "no command since the start of the service\n".to_owned();
    }
    let mut out = table::new([
        "Command", "Received", "What", "On", "By", "Result", "Reason",
    ]);
    table::right(&mut out, &[0]);
    for command in items {
        let result = match command.message.is_empty() {
            true => command.state.name().to_owned(),
            false => format!("{}: {}", command.state.name(), command.message),
        };
        out.add_row([
            command.command.to_string(),
            short(&command.received_at).to_owned(),
            command.kind.name().to_owned(),
            command.target.clone(),
            command.by.clone(),
            result,
            command.reason.clone().unwrap_or_default(),
        ]);
    }
    format!("{out}\n")
}

/// `sms`.
#[must_use]
pub fn sms(answer: &Answer<Sms>) -> String {
    let mut out = table::new([
        "SM",
        "Location",
        "Port GUID",
        "Priority",
        "State",
        "Replica",
        "Configuration",
    ]);
    table::right(&mut out, &[3]);
    for sm in &answer.body.items {
        let name = if sm.port.name.is_empty() {
            "?"
        } else {
            &sm.port.name
        };
        let own = if sm.is_self { " (this one)" } else { "" };
        out.add_row([
            format!("{name}{own}"),
            sm.port.location.clone(),
            sm.port.guid.clone(),
            sm.priority.to_string(),
            sm.state.name().to_owned(),
            sm.replica.map_or("", ReplicaState::name).to_owned(),
            match (&sm.ignored, &sm.differing_config) {
                (Some(reason), _) => format!("ignored: {reason}"),
                (None, None) => String::new(),
                (None, Some(sections)) if sections.is_empty() => "equal".to_owned(),
                (None, Some(sections)) => format!("other {}", sections.join(", ")),
            },
        ]);
    }
    if answer.body.items.is_empty() {
        return "No SM is known yet; `ferrosm status` shows what this one does.\n".to_owned();
    }
    format!("{out}\n")
}

/// `nodes`.
#[must_use]
pub fn nodes(answer: &Answer<Page<Node>>) -> String {
    let mut out = table::new([
        "Kind",
        "Name",
        "GUID",
        "LID",
        "Ports linked",
        "Location",
        "State",
    ]);
    table::right(&mut out, &[3, 4]);
    for node in &answer.body.items {
        let lids: Vec<String> = node.lids.iter().map(ToString::to_string).collect();
        let state = match node.state {
            Presence::Present => String::new(),
            Presence::Absent => {
                format!(
                    "absent since {}",
                    node.since.as_deref().map_or_else(String::new, short)
                )
            }
        };
        let location = if node.location == node.name {
            ""
        } else {
            &node.location
        };
        out.add_row([
            node.kind.name().to_owned(),
            node.name.clone(),
            node.guid.clone(),
            if lids.is_empty() {
                "-".to_owned()
            } else {
                lids.join(", ")
            },
            format!("{}/{}", node.ports_linked, node.ports),
            location.to_owned(),
            state,
        ]);
    }
    format!("{out}\n{}", rest(&answer.body, "node", "nodes"))
}

/// `ports`.
#[must_use]
pub fn ports(answer: &Answer<Page<Port>>) -> String {
    let page = &answer.body;
    let mut out = table::new([
        "Port",
        "GUID",
        "LID",
        "State",
        "Rate",
        "MTU",
        "Connected to",
    ]);
    table::right(&mut out, &[2, 5]);
    for port in &page.items {
        let lid = match port.lid {
            0 => String::new(),
            lid => lid.to_string(),
        };
        out.add_row([
            format!("{}/{}", port.name, port.port),
            port.guid.clone(),
            lid,
            format!("{} / {}", port.state, port.physical_state),
            port.rate.clone(),
            port.mtu.to_string(),
            port.peer
                .as_ref()
                .map_or_else(String::new, LinkEnd::location),
        ]);
    }
    format!("{out}\n{}", rest(page, "port", "ports"))
}

/// `links`.
#[must_use]
pub fn links(answer: &Answer<Page<Link>>) -> String {
    let page = &answer.body;
    if page.items.is_empty() {
        return format!("{}\n", count(0, "link", "links"));
    }
    let mut out = table::new([
        "Link",
        "State",
        "Rate",
        "Possible",
        "Since",
        "Times down",
        "Note",
    ]);
    table::right(&mut out, &[5]);
    for link in &page.items {
        out.add_row([
            format!("{} - {}", link.a.location(), link.b.location()),
            link.state.name().to_owned(),
            link.rate.clone(),
            if link.state == LinkState::Up {
                String::new()
            } else {
                link.possible_rate.clone()
            },
            link.since.as_deref().map_or_else(String::new, short),
            link.times_down.to_string(),
            link.note.clone(),
        ]);
    }
    format!("{out}\n{}", rest(page, "link", "links"))
}

/// `limits`.
#[must_use]
pub fn limits(answer: &Answer<Limits>) -> String {
    let mut out = table::new(["Resource", "Used", "Limit", "Limited by"]);
    table::right(&mut out, &[1, 2]);
    for limit in &answer.body.items {
        out.add_row([
            limit.resource.clone(),
            limit.used.to_string(),
            limit.limit.to_string(),
            limit.limited_by.clone(),
        ]);
    }
    format!("{out}\n")
}

/// `where`.
#[must_use]
pub fn places(answer: &Answer<Where>) -> String {
    let mut text = String::new();
    for place in &answer.body.items {
        let attached = place.attached_to.as_ref();
        let lids = match place.lmc {
            0 => place.lid.to_string(),
            lmc => format!("{} to {}", place.lid, u32::from(place.lid) + (1 << lmc) - 1),
        };
        let p_keys = place.p_keys.as_ref();
        let rows = [
            (
                "port",
                format!(
                    "{} port {} ({})",
                    place.port.name,
                    place.number,
                    place.kind.name()
                ),
            ),
            (
                "connected to",
                attached.map_or_else(|| "-".to_owned(), |end| end.location()),
            ),
            ("port GUID", place.port.guid.clone()),
            ("LID", lids),
            ("GID", place.gid.clone()),
            (
                "P_Keys",
                p_keys.map_or_else(|| "unknown".to_owned(), |keys| keys.join(" ")),
            ),
        ];
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&aligned(&rows));
    }
    text
}

/// `maintenance`.
#[must_use]
pub fn maintenance(answer: &Answer<MaintenanceItems>) -> String {
    let items = &answer.body.items;
    if items.is_empty() {
        return "nothing is out of service\n".to_owned();
    }
    let mut out = table::new(["Name", "State", "Until", "Reason"]);
    for item in items {
        let until = item.until.as_deref().map_or_else(String::new, short);
        out.add_row([
            item.name.clone(),
            item.kind.name().to_owned(),
            until,
            item.reason.clone(),
        ]);
    }
    format!("{out}\n")
}

/// `port limits`.
#[must_use]
pub fn port_limits(answer: &Answer<PortLimitsItems>) -> String {
    let items = &answer.body.items;
    if items.is_empty() {
        return "no port has limits\n".to_owned();
    }
    let mut out = table::new(["Port", "MTU", "Width", "Speed", "State", "Now", "Reason"]);
    for item in items {
        let text = |value: Option<String>| value.unwrap_or_default();
        out.add_row([
            item.name.clone(),
            text(item.mtu.map(|mtu| mtu.to_string())),
            text(item.width.map(|lanes| format!("{lanes}X"))),
            text(item.speed.clone()),
            item.state.name().to_owned(),
            text(item.now.clone()),
            item.reason.clone(),
        ]);
    }
    format!("{out}\n")
}

/// `path`.
#[must_use]
pub fn path(answer: &Answer<Path>) -> String {
    path_lines(&answer.body, &answer.at)
}

/// A path, from tables of this time.
pub(super) fn path_lines(path: &Path, at: &str) -> String {
    let mut text = path.from.name.clone();
    for hop in &path.hops {
        let _ = write!(text, " -> {} {}>{}", hop.name, hop.in_port, hop.out_port);
    }
    match &path.dropped {
        None => {
            let _ = writeln!(text, " -> {}", path.to.name);
        }
        Some(why) => {
            let _ = writeln!(text, "\n  ! packets to {} are dropped: {why}", path.to.name);
        }
    }
    let vls: Vec<String> = path
        .hops
        .iter()
        .filter_map(|hop| hop.vl)
        .map(|vl| vl.to_string())
        .collect();
    let vl = if vls.is_empty() {
        String::new()
    } else {
        format!(", VL {}", vls.join(" "))
    };
    let _ = writeln!(
        text,
        "  LID {}, SL {}{vl} | MTU {} | narrowest link {} Gb/s",
        path.lid,
        path.sl,
        path.mtu,
        path.narrowest_mbps / 1000
    );
    let p_keys = if path.p_keys.is_empty() {
        "no common P_Key".to_owned()
    } else {
        format!("P_Keys {}", path.p_keys.join(" "))
    };
    let _ = writeln!(text, "  {p_keys} | tables as of {}", short(at));
    text
}

fn object(object: &ObjectName) -> String {
    if object.name.is_empty() {
        return object.guid.clone();
    }
    if object.location.is_empty() || object.location == object.name {
        return object.name.clone();
    }
    format!("{} ({})", object.name, object.location)
}

/// A time without its fraction of a second: `2026-11-29 13:12:09Z`.
pub(super) fn short(rfc3339: &str) -> String {
    let whole = rfc3339.split('.').next().unwrap_or(rfc3339);
    format!("{}Z", whole.trim_end_matches('Z').replace('T', " "))
}

/// How many objects a page does not show.
pub(super) fn rest<T>(page: &Page<T>, one: &str, many: &str) -> String {
    let shown = page.items.len();
    if shown == page.total {
        return format!("{}\n", count(shown, one, many));
    }
    format!(
        "{shown} of {}; --limit shows more, --where selects\n",
        count(page.total, one, many)
    )
}

/// Rows of names and values.
fn aligned(rows: &[(&str, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines = rows
        .iter()
        .map(|(name, value)| format!("{name:width$}  {value}\n"));
    lines.collect()
}
