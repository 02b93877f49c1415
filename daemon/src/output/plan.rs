//! `ferrosm plan` as text.

use core::fmt::Write;

use ferrosm_api::plan::{Plan, PlannedLids, PlannedPKey, PlannedPorts, PlannedTables};

use super::invariants;
use super::table::count;

/// Marks what interrupts traffic or changes who may communicate.
const ALARM: &str = "!! ";

/// A plan for a terminal.
#[must_use]
pub fn render(plan: &Plan) -> String {
    let mut text = String::new();
    if plan.sms.is_empty() {
        text.push_str("no other SM in the fabric\n");
    }
    for sm in &plan.sms {
        let name = if sm.name.is_empty() { "?" } else { &sm.name };
        let _ = write!(
            text,
            "{} now: {name} ({}, priority {})",
            sm.state.name(),
            sm.guid,
            sm.priority
        );
        if sm.reaction.is_empty() {
            text.push('\n');
        } else {
            let _ = writeln!(text, "; {}", sm.reaction);
        }
    }
    for (title, value) in [
        ("LIDs", lids(&plan.lids)),
        ("P_Keys", p_keys(plan)),
        ("ports", ports(&plan.ports)),
        ("tables", tables(&plan.tables, &plan.engine)),
    ] {
        let _ = writeln!(text, "  {title:<9} {value}");
    }
    let counts = plan.sets.iter();
    let sets: Vec<String> = counts
        .map(|set| format!("{} {}", set.count, set.attribute))
        .collect();
    let listed = match sets.is_empty() {
        true => "none".to_owned(),
        false => sets.join(", "),
    };
    let _ = writeln!(text, "  {:<9} {listed}", "Sets");
    for problem in &plan.problems {
        let _ = writeln!(text, "  {problem}");
    }
    for status in &plan.violations {
        let _ = writeln!(text, "  {ALARM}{}", invariants::violation(status));
    }
    for write in &plan.writes {
        let _ = writeln!(
            text,
            "  Set({}, {:#x}) {} ({})\n    before {}\n    after  {}",
            write.attribute,
            write.modifier,
            write.node,
            write.path,
            if write.before.is_empty() {
                "not read"
            } else {
                &write.before
            },
            write.after
        );
    }
    if let Some(awaited) = &plan.awaits_consent {
        let _ = writeln!(
            text,
            "consent awaited for {awaited}\n  \
             Until then these settings stay as they are. With these options, `plan` shows what consent would change."
        );
    }
    text
}

fn lids(lids: &PlannedLids) -> String {
    let alarm = if lids.changed > 0 { ALARM } else { "" };
    format!(
        "{alarm}{} kept, {} assigned, {} changed",
        lids.kept, lids.assigned, lids.changed
    )
}

fn p_keys(plan: &Plan) -> String {
    let of = |key: &PlannedPKey| {
        let lost = match key.removed {
            0 => None,
            n => Some(format!(
                "{ALARM}{} removed from {}",
                key.p_key,
                count(n, "port", "ports")
            )),
        };
        let gained = match key.added {
            0 => None,
            n => Some(format!(
                "{} added to {}",
                key.p_key,
                count(n, "port", "ports")
            )),
        };
        lost.into_iter().chain(gained)
    };
    let changes: Vec<String> = plan.p_keys.iter().flat_map(of).collect();
    match changes.is_empty() {
        true => "unchanged".to_owned(),
        false => changes.join("; "),
    }
}

fn ports(ports: &PlannedPorts) -> String {
    let mut parts = vec![format!("{} become Active", ports.activated)];
    for (n, text) in [
        (
            ports.link_changed,
            "Active ones get another MTU or number of VLs",
        ),
        (ports.m_key_changed, "get another M_Key"),
        (ports.lmc_changed, "get another LMC"),
    ] {
        if n > 0 {
            parts.push(format!("{ALARM}{n} {text}"));
        }
    }
    for (n, text) in [
        (ports.sm_lid_changed, "get another SM LID"),
        (ports.reregistered, "get ClientReregister"),
    ] {
        if n > 0 {
            parts.push(format!("{n} {text}"));
        }
    }
    parts.join(", ")
}

fn tables(tables: &PlannedTables, engine: &str) -> String {
    let mut text = format!(
        "{} LFT blocks with {} entries on {}",
        tables.lft_blocks,
        tables.lft_entries,
        count(tables.switches, "switch", "switches")
    );
    for (n, name) in [
        (tables.mft_blocks, "MFT blocks"),
        (tables.sl_to_vl, "SLtoVL tables"),
        (tables.vl_arbitration, "parts of VL arbitration tables"),
    ] {
        if n > 0 {
            let _ = write!(text, ", {n} {name}");
        }
    }
    match engine {
        "" => text.push_str("; no routing found"),
        engine => {
            let _ = write!(text, "; engine {engine}");
        }
    }
    text
}
