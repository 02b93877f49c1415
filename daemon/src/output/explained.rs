//! Explanations of a running service, as text.

use core::fmt::Write;

use ferrosm_api::alarm::Alarm;
use ferrosm_api::answer::Answer;
use ferrosm_api::change::Change;
use ferrosm_api::explain::{
    AlarmExplanation, EngineExplanation, EntryReason, ObjectExplanation, Reroute, RouteExplanation,
    SweepExplanation,
};
use ferrosm_api::path::Hop;

use super::answers::{self, short};
use super::table::{self, count};

/// Most lines of each list of a sweep.
const LINES_MAX: usize = 20;
/// The entry of an LFT that drops packets.
const DROP: u8 = 255;

/// `explain route`.
#[must_use]
pub fn route(answer: &Answer<RouteExplanation>) -> String {
    let explained = &answer.body;
    let mut text = answers::path_lines(&explained.path, &answer.at);
    for (hop, reason) in explained.path.hops.iter().zip(&explained.entries) {
        text.push_str(&entry_line(hop, reason));
    }
    let has_unchanged = explained.entries.iter().any(|entry| entry.since.is_none());
    if let Some(since) = explained.known_since.as_ref().filter(|_| has_unchanged) {
        let _ = writeln!(text, "  unchanged entries: since before {}", short(since));
    }
    if let Some(reroute) = &explained.reroute {
        let _ = writeln!(text, "  {}", reroute_line(reroute));
    }
    text
}

fn entry_line(hop: &Hop, reason: &EntryReason) -> String {
    let mut text = format!("  {} port {}", hop.name, hop.out_port);
    if let Some(since) = &reason.since {
        let _ = write!(text, " since {}", short(since));
        match reason.before {
            None => {}
            Some(DROP) => text.push_str(" (before: none)"),
            Some(before) => {
                let _ = write!(text, " (before: {before})");
            }
        }
    } else {
        text.push_str(", unchanged");
    }
    if reason.detour {
        text.push_str("; not a shortest path");
    }
    if !reason.other_shortest_ports.is_empty() {
        let others: Vec<String> = reason
            .other_shortest_ports
            .iter()
            .map(ToString::to_string)
            .collect();
        let _ = write!(text, "; other shortest ports {}", others.join(", "));
    }
    match reason.after_reroute {
        Some(port) if port != hop.out_port => {
            let _ = write!(text, "; a reroute would use port {port}");
        }
        Some(_) | None => {}
    }
    text.push('\n');
    if let Some(sweep) = reason.sweep {
        let causes = match reason.causes.is_empty() {
            true => "its cause is no longer remembered".to_owned(),
            false => reason.causes.join("; "),
        };
        let _ = writeln!(text, "    sweep {sweep}: {causes}");
    }
    text
}

fn reroute_line(reroute: &Reroute) -> String {
    match (&reroute.failure, &reroute.engine) {
        (Some(failure), _) => format!("computing the routes anew would fail: {failure}"),
        (None, Some(engine)) => format!(
            "computing the routes anew ({engine}) would change {}; busiest link then {}",
            count(reroute.entries_moved, "entry", "entries"),
            count(reroute.busiest_routes, "route", "routes"),
        ),
        (None, None) => String::new(),
    }
}

/// `explain engine`.
#[must_use]
pub fn engine(answer: &Answer<EngineExplanation>) -> String {
    let explained = &answer.body;
    let at = short(&explained.since);
    let since = match explained.is_older {
        true => format!("since before {at}, when this SM became master"),
        false => format!("since {at}"),
    };
    let mut text = format!(
        "{} {since}; configured: {}\n",
        explained.engine,
        explained.configured.join(", ")
    );
    let _ = writeln!(
        text,
        "  busiest link {}, {}",
        count(explained.busiest_routes, "route", "routes"),
        count(explained.vls, "VL", "VLs"),
    );
    let _ = writeln!(
        text,
        "  {} since then changed {} of {} entries",
        count(explained.updates, "update", "updates"),
        explained.entries_updated,
        explained.entries,
    );
    if let Some(reroute) = &explained.reroute {
        let _ = writeln!(text, "  {}", reroute_line(reroute));
    }
    if !explained.candidates.is_empty() {
        let mut out = table::new([
            "Engine",
            "Busiest",
            "Transfers",
            "VLs",
            "Changes",
            "Verdict",
        ]);
        table::right(&mut out, &[1, 2, 3, 4]);
        for candidate in &explained.candidates {
            out.add_row([
                candidate.engine.clone(),
                candidate.busiest_routes.to_string(),
                format!("{:.2}", candidate.shift),
                candidate.vls.to_string(),
                candidate.changes.to_string(),
                candidate.verdict.clone(),
            ]);
        }
        let _ = writeln!(text, "{out}");
    }
    for message in &explained.messages {
        let _ = writeln!(text, "  {message}");
    }
    text
}

/// `explain sweep`.
#[must_use]
pub fn sweep(answer: &Answer<SweepExplanation>) -> String {
    let sweep = &answer.body;
    let mut text = format!(
        "sweep {}, {}, {}, complete {}\n",
        sweep.number,
        sweep.kind,
        milliseconds(sweep.took_us),
        short(&sweep.ended_at),
    );
    section(&mut text, "because", &sweep.causes, "not known");
    section(&mut text, "found", &sweep.found, "nothing new");
    let _ = writeln!(text, "  did      {}", sweep.wrote);
    let attributes: Vec<String> = sweep
        .attributes
        .iter()
        .map(|smps| {
            let timeouts = match smps.timeouts {
                0 => String::new(),
                n => format!(" ({})", count(n, "timeout", "timeouts")),
            };
            format!("{} {}{timeouts}", smps.attribute, smps.gets + smps.sets)
        })
        .collect();
    let _ = writeln!(
        text,
        "  SMPs     {}, {}: {}",
        sweep.smps,
        count(sweep.timeouts, "timeout", "timeouts"),
        attributes.join(", "),
    );
    let phases: Vec<String> = sweep
        .phases
        .iter()
        .map(|phase| format!("{} {}", phase.phase, milliseconds(phase.took_us)))
        .collect();
    let _ = writeln!(text, "  phases   {}", phases.join(", "));
    for message in sweep.messages.iter().take(LINES_MAX) {
        let _ = writeln!(text, "  routing  {message}");
    }
    for problem in sweep.problems.iter().take(LINES_MAX) {
        let _ = writeln!(text, "  problem  {problem}");
    }
    let shown = sweep.problems.len().min(LINES_MAX);
    if sweep.num_problems > shown {
        let more = sweep.num_problems - shown;
        let _ = writeln!(text, "  {more} more problems; `ferrosm health` lists them");
    }
    text
}

/// `explain node` and `explain port`.
#[must_use]
pub fn object(answer: &Answer<ObjectExplanation>) -> String {
    let explained = &answer.body;
    let object = &explained.object;
    let mut text = format!("{}  {}", object.name, object.guid);
    if object.location != object.name {
        let _ = write!(text, "  at {}", object.location);
    }
    text.push('\n');
    for fact in &explained.facts {
        let _ = writeln!(text, "  {:11}  {}", fact.topic, fact.text);
    }
    for problem in &explained.problems {
        let _ = writeln!(text, "  {:11}  {problem}", "problem");
    }
    for alarm in &explained.alarms {
        let _ = writeln!(text, "  {:11}  {}", "alarm", alarm_line(alarm));
    }
    text.push_str(&change_lines(&explained.changes));
    text
}

/// `explain alarm`.
#[must_use]
pub fn alarm(answer: &Answer<AlarmExplanation>) -> String {
    let explained = &answer.body;
    let mut text = format!("alarm {}\n", alarm_line(&explained.alarm));
    for cause in &explained.causes {
        let _ = writeln!(text, "  because of alarm {}", alarm_line(cause));
    }
    for consequence in &explained.consequences {
        let _ = writeln!(text, "  explains alarm {}", alarm_line(consequence));
    }
    for part in &explained.alarm.parts {
        let _ = writeln!(text, "  with {part}");
    }
    if let Some(known) = &explained.alarm.acknowledged {
        let reason = known.reason.as_deref().unwrap_or("no reason given");
        let _ = writeln!(text, "  acknowledged by {}: {reason}", known.by);
    }
    text.push_str(&change_lines(&explained.changes));
    let _ = writeln!(text, "  what to do: {}", explained.action);
    text
}

fn alarm_line(alarm: &Alarm) -> String {
    let since = alarm.since.as_ref().unwrap_or(&alarm.raised_at);
    format!(
        "{} ({}, {}): {}: {}, since {}",
        alarm.id,
        alarm.kind,
        alarm.state.name(),
        alarm.object.name,
        alarm.text,
        short(since)
    )
}

fn change_lines(changes: &[Change]) -> String {
    let mut text = String::new();
    for change in changes {
        let _ = write!(text, "  {}  {}", short(&change.at), change.what);
        if let Some(cause) = &change.cause {
            let _ = write!(text, " ({cause})");
        }
        text.push('\n');
    }
    text
}

fn section(text: &mut String, name: &str, lines: &[String], none: &str) {
    if lines.is_empty() {
        let _ = writeln!(text, "  {name:8} {none}");
    }
    for line in lines.iter().take(LINES_MAX) {
        let _ = writeln!(text, "  {name:8} {line}");
    }
    if lines.len() > LINES_MAX {
        let more = lines.len() - LINES_MAX;
        let _ = writeln!(text, "  {name:8} {more} more; --json lists them");
    }
}

fn milliseconds(us: u64) -> String {
    format!("{}.{} ms", us / 1000, us % 1000 / 100)
}
