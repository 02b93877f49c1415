//! Table of `ferrosm route`.

use core::time::Duration;

use ferrosm_routing::Proof;
use ferrosm_routing::quality::{Quality, ShiftCongestion};

use super::report::duration;
use super::table::{self, count};
use crate::offline::{OfflineRouting, SelectedRouting};

/// Most slow links that are listed.
const SLOW_LINKS_MAX: usize = 10;

/// Renders the result of offline routing.
#[must_use]
pub fn render(routed: &OfflineRouting, quality: Option<&(Quality, Duration)>) -> String {
    let mut out = table::new(["", ""]);
    let verdict = match routed.selected {
        Some(_) => "verified",
        None => "nothing to verify",
    };
    out.set_header(["Routing", verdict]);
    let mut row = |name: &str, value: String| {
        out.add_row([name.to_owned(), value]);
    };
    row("fabric", table::sums(&routed.snapshot));
    if routed.nodes_outside > 0 {
        row(
            "not routed",
            format!(
                "{} not connected with the others",
                count(routed.nodes_outside, "node", "nodes")
            ),
        );
    }
    for warning in &routed.warnings {
        row("warning", warning.to_string());
    }
    for rejected in &routed.rejected {
        row("rejected", rejected.to_string());
    }
    for slow in routed.slow_links.iter().take(SLOW_LINKS_MAX) {
        row("slow link", slow.to_string());
    }
    if routed.slow_links.len() > SLOW_LINKS_MAX {
        let unlisted = routed.slow_links.len() - SLOW_LINKS_MAX;
        row(
            "",
            format!("and {unlisted} more slow links (--json lists all)"),
        );
    }
    match &routed.selected {
        None => row("routes", "nothing to route: no switch".to_owned()),
        Some(selected) => {
            let engine = selected.routing().engine;
            row("engine", format!("{engine}{}", origin(engine)));
            for message in &routed.messages {
                row("", message.to_string());
            }
            row("LIDs", routed.lids.to_string());
            add_proof(selected, routed.vls_allowed, &mut row);
        }
    }
    if let Some((quality, _)) = quality {
        add_quality(quality, &mut row);
    }
    row("computed in", times(routed, quality));
    if let Some(bytes) = crate::offline::peak_memory_bytes() {
        row("memory", format!("{} MB peak", bytes.div_ceil(1 << 20)));
    }
    table::wrap(&mut out);
    format!("{out}\n")
}

fn add_proof(selected: &SelectedRouting, allowed: u8, row: &mut dyn FnMut(&str, String)) {
    let proof = &selected.proof;
    row(
        "VLs",
        format!("{}; {}", vl_usage(selected, allowed), sl_of_replies(proof)),
    );
    row(
        "routes",
        format!("{} from a switch to a LID, all reach it", proof.pairs),
    );
    row("unreachable", "none".to_owned());
    row("loops", "none".to_owned());
    row(
        "credit loops",
        format!(
            "none ({} dependencies between links checked)",
            proof.dependencies
        ),
    );
    row(
        "hops",
        format!(
            "at most {}, {:.2} on average",
            proof.max_hops,
            proof.mean_hops()
        ),
    );
    let pairs: Vec<String> = proof
        .hop_histogram
        .iter()
        .enumerate()
        .filter(|(_, n)| **n > 0)
        .map(|(hops, n)| format!("{n} over {}", count(hops, "hop", "hops")))
        .collect();
    row(
        "pairs of hosts",
        if pairs.is_empty() {
            "none".to_owned()
        } else {
            pairs.join(", ")
        },
    );
    row(
        "balance",
        format!(
            "busiest link {} routes, mean {:.1} (equal is best)",
            proof.max_load, proof.mean_load
        ),
    );
}

/// Which SL replies use.
#[must_use]
pub(super) const fn sl_of_replies(proof: &Proof) -> &'static str {
    if proof.reversible {
        "replies may use the SL of their request"
    } else {
        "replies must use the SL of their own path"
    }
}

/// Data VLs that carry routes, VLs of the SLtoVL tables if more, and VLs that could be used.
fn vl_usage(selected: &SelectedRouting, allowed: u8) -> String {
    let used = selected.proof.vls_used.max(1);
    let planned = selected.routing().vl_plan.vls;
    if planned > used {
        format!("{used} carry routes, {planned} in SLtoVL tables, {allowed} usable")
    } else {
        format!("{used} used, {allowed} usable")
    }
}

fn add_quality(quality: &Quality, row: &mut dyn FnMut(&str, String)) {
    if quality.pairs == 0 || quality.channels == 0 {
        return;
    }
    row(
        "",
        format!(
            "no routing can have fewer than {:.1} on the busiest link",
            quality.max_load_bound
        ),
    );
    // With equal link rates, it is the same number.
    if let Some(weighted) = quality.max_load_by_rate
        && weighted > quality.max_load as f64
    {
        row(
            "",
            format!("weighted by link rate: {weighted:.1} routes on the busiest link"),
        );
    }
    if let Some(b) = quality.bisection {
        row(
            "bisection",
            format!(
                "if one random half of the hosts sends to the other half, a host gets {:.0} % of its link rate on average ({:.0} % to {:.0} %)",
                100.0 * b.mean,
                100.0 * b.min,
                100.0 * b.max
            ),
        );
    }
    let shift = |s: ShiftCongestion, order: &str| match s.worst {
        0 | 1 => format!(
            "if every host sends to the host N places further in the order of {order}, no two transfers share a link (for {} values of N)",
            s.stages
        ),
        worst => format!(
            "if every host sends to the host N places further in the order of {order}, {worst} transfers share a link for the worst N, \
             {:.1} on average over N (1 is ideal)",
            s.mean
        ),
    };
    row("shift, LID order", shift(quality.shift, "LIDs"));
    row(
        "shift, leaf order",
        shift(quality.shift_by_leaf, "leaf switches"),
    );
    row(
        "random pairs",
        format!(
            "if every host sends to another host chosen at random, the busiest link carries {}",
            count(quality.random_permutation as usize, "transfer", "transfers")
        ),
    );
}

fn times(routed: &OfflineRouting, quality: Option<&(Quality, Duration)>) -> String {
    let mut text = duration(routed.took);
    if let Some(selected) = &routed.selected {
        text.push_str(&format!(
            " (engine {}, verification {})",
            duration(selected.engine_took),
            duration(selected.proof_took)
        ));
    }
    if let Some((_, took)) = quality {
        text.push_str(&format!("; quality measured in {}", duration(*took)));
    }
    text
}
/// Where an offline routing is from.
#[must_use]
pub fn origin(engine: &str) -> &'static str {
    match engine {
        "file" => "",
        _ => ", computed now; the installed routes may differ (--lfts-file reads them)",
    }
}
