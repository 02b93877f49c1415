//! Answers of `whatif` as text.

use core::fmt::Write;
use std::collections::BTreeMap;

use ferrosm_api::command::ChangePlan;
use ferrosm_api::what_if::{
    LossPrediction, LostKind, NamedPorts, RoutingInForce, SingleLossEffect, SingleLossSurvey,
    WhatIf,
};

use super::invariants;
use super::table::{self, count};

/// Most names in a line.
const NAMES_SHOWN: usize = 10;
/// Most losses that are listed one by one.
const LOSSES_SHOWN: usize = 20;

/// One prediction.
#[must_use]
pub fn prediction(what_if: &WhatIf) -> String {
    let mut text = match what_if.lost[..] {
        [] => String::new(),
        [..] => format!("without {}:\n", what_if.lost.join(", ")),
    };
    if !what_if.added.is_empty() {
        let shown: Vec<&str> = what_if
            .added
            .iter()
            .take(NAMES_SHOWN)
            .map(String::as_str)
            .collect();
        let more = match what_if.added.len() - shown.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let _ = writeln!(text, "with {}{more}:", shown.join(", "));
    }
    let mut line = |mark: char, content: String| {
        let _ = writeln!(text, "  {mark} {content}");
    };
    if what_if.pairs_cut_off > 0 {
        line(
            '!',
            format!(
                "{} cut off{}: {} cannot reach each other any more",
                ports(what_if.cut_off.total),
                named(&what_if.cut_off),
                pairs(what_if.pairs_cut_off),
            ),
        );
    } else {
        line(' ', "no port is cut off".to_owned());
    }
    if !what_if.switches_cut_off.is_empty() {
        let switches = &what_if.switches_cut_off;
        let shown: Vec<&str> = switches
            .iter()
            .take(NAMES_SHOWN)
            .map(String::as_str)
            .collect();
        let number = count(switches.len(), "switch", "switches");
        line('!', format!("{number} cut off: {}", shown.join(", ")));
    }
    if what_if.sm_cut_off {
        line(
            '!',
            "the port of this SM is cut off; the figures are for an SM in the largest part"
                .to_owned(),
        );
    }
    match what_if.lose_redundancy.total {
        0 => line(' ', "no port loses its redundancy".to_owned()),
        n => line(
            '!',
            format!(
                "{} lose{} redundancy{}",
                ports(n),
                if n == 1 { "s its" } else { " their" },
                named(&what_if.lose_redundancy)
            ),
        ),
    }
    match (&what_if.after, &what_if.failure) {
        (Some(after), _) => {
            for (mark, content) in routing(what_if, after) {
                line(mark, content);
            }
        }
        (None, why) => {
            let why = why.as_deref().unwrap_or("no engine was tried");
            line('!', format!("no engine finds a routing: {why}"));
        }
    }
    for status in &what_if.violations {
        line('!', invariants::violation(status));
    }
    text
}

/// Lines about a routing.
fn routing(what_if: &WhatIf, after: &RoutingInForce) -> Vec<(char, String)> {
    let before = &what_if.before;
    let changes = &what_if.changes;
    let how = engine(what_if, after);
    let mut lines = vec![
        (' ', compared_with(before)),
        (
            ' ',
            format!(
                "busiest link {} -> {} routes; routing: {how}; VLs {} -> {}",
                before.busiest_routes, after.busiest_routes, before.vls, after.vls
            ),
        ),
    ];
    lines.push((
        ' ',
        format!(
            "{} move, of {}; {} of lost LIDs removed{}; {} written; {} changed",
            many(changes.entries_moved, "LFT entry", "LFT entries"),
            many(changes.destinations_moved, "LID", "LIDs"),
            many(changes.entries_removed, "entry", "entries"),
            match changes.entries_added {
                0 => String::new(),
                added => format!("; {} added", many(added, "entry", "entries")),
            },
            many(changes.lft_blocks, "LFT block", "LFT blocks"),
            many(changes.sl_changes, "SL", "SLs"),
        ),
    ));
    if changes.drained_lids > 0 {
        lines.push((
            '!',
            format!(
                "routes of {} are removed for a moment, because they could deadlock with new ones",
                many(changes.drained_lids, "LID", "LIDs")
            ),
        ));
    }
    lines.push((
        ' ',
        format!(
            "proof: {} routes verified, no loop, no credit loop on any VL; at most {} hops",
            after.verified, after.hops
        ),
    ));
    lines
}

/// What the figures are compared with.
fn compared_with(before: &RoutingInForce) -> String {
    let history = match before.is_rerouted {
        true => {
            ", rerouted since: `--reroute` predicts routes that do not depend on earlier changes"
        }
        false => "",
    };
    format!(
        "compared with the routing in force, computed by {}{history}",
        before.engine
    )
}

/// The engine, and whether it would run.
fn engine(what_if: &WhatIf, after: &RoutingInForce) -> String {
    let before = &what_if.before.engine;
    if what_if.changes.rerouted {
        format!("{before}, rerouted")
    } else if *before == after.engine {
        format!("{before}, computed anew")
    } else {
        format!("{before} -> {}", after.engine)
    }
}

/// What a change would do.
#[must_use]
pub fn change_plan(plan: &ChangePlan) -> String {
    let mut text = format!("would {}", plan.kind.name().replace('-', " "));
    if !plan.target.is_empty() {
        let _ = write!(text, " {}", plan.target);
    }
    text.push_str("; nothing was changed\n");
    let ports = &plan.p_key_ports;
    if ports.total > 0 {
        let noun = if ports.total == 1 {
            "port gets"
        } else {
            "ports get"
        };
        let _ = writeln!(
            text,
            "  {} {noun} other P_Keys{}",
            ports.total,
            named(ports)
        );
    }
    if plan.trains_link {
        text.push_str("  the link goes down for a moment and trains; routes between switches leave it first\n");
    }
    match &plan.prediction {
        Some(predicted) => text.push_str(&prediction(predicted)),
        None => {
            for status in &plan.violations {
                let _ = writeln!(text, "  ! {}", invariants::violation(status));
            }
        }
    }
    if !plan.violations.is_empty() {
        text.push_str("needs --accept invariant\n");
    }
    text
}

/// Each single loss.
#[must_use]
pub fn survey(survey: &SingleLossSurvey) -> String {
    let of_kind = |kind: LostKind| {
        let losses = survey.losses.iter().filter(|loss| loss.kind == kind);
        losses.collect::<Vec<&SingleLossEffect>>()
    };
    let mut text = String::new();
    for (kind, one, many) in [
        (LostKind::Switch, "switch", "switches"),
        (
            LostKind::Link,
            "link between switches",
            "links between switches",
        ),
        (LostKind::HostLink, "link of a host", "links of hosts"),
    ] {
        let losses = of_kind(kind);
        let cutting = losses.iter().filter(|loss| loss.cut_off > 0).count();
        let weakening = losses.iter().filter(|l| l.lose_redundancy > 0).count();
        let _ = writeln!(
            text,
            "{}: the loss of {cutting} cuts off ports, that of {weakening} costs ports their redundancy",
            count(losses.len(), one, many),
        );
    }
    let effective = survey.losses.iter().filter(|loss| {
        loss.kind != LostKind::HostLink && (loss.cut_off > 0 || loss.lose_redundancy > 0)
    });
    let worst: Vec<&SingleLossEffect> = effective.collect();
    if !worst.is_empty() {
        let mut out = table::new([
            "Loss",
            "Kind",
            "Cut off",
            "Pairs cut off",
            "Lose redundancy",
        ]);
        table::right(&mut out, &[2, 3, 4]);
        for loss in worst.iter().take(LOSSES_SHOWN) {
            out.add_row([
                loss.name.clone(),
                loss.kind.name().to_owned(),
                loss.cut_off.to_string(),
                loss.pairs_cut_off.to_string(),
                loss.lose_redundancy.to_string(),
            ]);
        }
        let more = worst.len().saturating_sub(LOSSES_SHOWN);
        let _ = writeln!(text, "{out}");
        if more > 0 {
            let _ = writeln!(text, "and {more} more; --json lists all");
        }
    }
    let mut members: BTreeMap<usize, usize> = BTreeMap::new();
    for loss in &survey.losses {
        *members.entry(loss.class).or_default() += 1;
    }
    let mut out = table::new([
        "Predicted",
        "Like it",
        "Busiest",
        "Entries moved",
        "Routing",
        "Proof",
    ]);
    table::right(&mut out, &[1, 2, 3]);
    for predicted in &survey.predictions {
        out.add_row(prediction_row(predicted, &members));
    }
    let _ = writeln!(text, "{out}");
    text.push_str(
        "\"Like it\": switches or links of equal position; --full predicts each of them\n",
    );
    text
}

fn prediction_row(predicted: &LossPrediction, members: &BTreeMap<usize, usize>) -> [String; 6] {
    let what_if = &predicted.prediction;
    let before = &what_if.before;
    let (busiest, routing, proof) = match &what_if.after {
        Some(after) => (
            format!("{} -> {}", before.busiest_routes, after.busiest_routes),
            engine(what_if, after),
            format!("{} routes", after.verified),
        ),
        None => (
            format!("{} -> -", before.busiest_routes),
            "none".to_owned(),
            "none".to_owned(),
        ),
    };
    [
        predicted.name.clone(),
        members.get(&predicted.class).map_or(0, |n| *n).to_string(),
        busiest,
        what_if.changes.entries_moved.to_string(),
        routing,
        proof,
    ]
}

fn named(ports: &NamedPorts) -> String {
    if ports.items.is_empty() {
        return String::new();
    }
    let shown = ports.items.iter().take(NAMES_SHOWN);
    let names: Vec<String> = shown
        .map(|port| format!("{} ({})", port.name, port.location))
        .collect();
    let more = ports.total - names.len() as u64;
    match more {
        0 => format!(" ({})", names.join(", ")),
        more => format!(" ({} and {more} more)", names.join(", ")),
    }
}

fn ports(n: u64) -> String {
    many(n, "port", "ports")
}

fn pairs(n: u64) -> String {
    many(n, "pair of ports", "pairs of ports")
}

fn many(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}
