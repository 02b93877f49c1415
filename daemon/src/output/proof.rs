//! The result of offline routing, for eyes.

use core::time::Duration;

use ferrosm_routing::quality::{Quality, Shift};

use super::report::duration;
use super::table::{self, count};
use crate::offline::{OfflineRouting, SelectedRouting};

/// Most throttled cables that are listed one by one.
const THROTTLED_MAX: usize = 10;

/// The table.
#[must_use]
pub fn render(routed: &OfflineRouting, quality: Option<&(Quality, Duration)>) -> String {
    let mut out = table::new(["", ""]);
    let verdict = match routed.chosen {
        Some(_) => "passes the proof",
        None => "nothing to prove",
    };
    out.set_header(["Routing", verdict]);
    let mut row = |name: &str, value: String| {
        out.add_row([name.to_owned(), value]);
    };
    row("fabric", table::sums(&routed.view));
    if routed.left_out > 0 {
        row(
            "left out",
            format!("{} of other parts", count(routed.left_out, "node", "nodes")),
        );
    }
    for remark in &routed.remarks {
        row("remark", remark.clone());
    }
    for refused in &routed.refused {
        row("refused", refused.to_string());
    }
    for slow in routed.throttled.iter().take(THROTTLED_MAX) {
        row("throttled", slow.to_string());
    }
    if routed.throttled.len() > THROTTLED_MAX {
        let more = routed.throttled.len() - THROTTLED_MAX;
        row("", format!("and {more} more such cables: --json has all"));
    }
    match &routed.chosen {
        None => row("routes", "nothing to route: there is no switch".to_owned()),
        Some(chosen) => {
            row("engine", chosen.routing().engine.to_owned());
            for note in &routed.notes {
                row("", note.clone());
            }
            row("LIDs", routed.lids.to_string());
            proven(chosen, routed.vls_allowed, &mut row);
        }
    }
    if let Some((quality, _)) = quality {
        measured(quality, &mut row);
    }
    row("computed in", times(routed, quality));
    if let Some(bytes) = crate::offline::peak_memory_bytes() {
        row("memory", format!("{} MB at most", bytes.div_ceil(1 << 20)));
    }
    table::wrap(&mut out);
    format!("{out}\n")
}

fn proven(chosen: &SelectedRouting, allowed: u8, row: &mut dyn FnMut(&str, String)) {
    let proof = &chosen.proof;
    let answers = if proof.reversible {
        "answers may use the SL of their request"
    } else {
        "answers must not use the SL of their request"
    };
    row("lanes", format!("{}; {answers}", lanes(chosen, allowed)));
    row(
        "routes",
        format!("{} from switch to LID, all arrive", proof.pairs),
    );
    row("unreachable", "none".to_owned());
    row("loops", "none".to_owned());
    row(
        "credit loops",
        format!(
            "none in {} dependencies of {} channels",
            proof.dependencies, proof.channels
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
    let pairs = proof
        .hop_histogram
        .iter()
        .enumerate()
        .filter(|(_, n)| **n > 0);
    let pairs: Vec<String> = pairs.map(|(hops, n)| format!("{n} with {hops}")).collect();
    row(
        "end port pairs",
        if pairs.is_empty() {
            "none".to_owned()
        } else {
            pairs.join(", ")
        },
    );
    row(
        "balance",
        format!(
            "busiest channel {} routes, mean {:.1}",
            proof.max_load, proof.mean_load
        ),
    );
}

/// How many lanes carry something, of how many that could, and how many the VL tables know, where that is more.
fn lanes(chosen: &SelectedRouting, allowed: u8) -> String {
    let used = chosen.proof.lanes_used.max(1);
    let planned = chosen.routing().vl_plan.vls;
    if planned > used {
        format!("{used} carry routes, VL tables are made for {planned} of {allowed}")
    } else {
        format!("{used} of {allowed}")
    }
}

fn measured(quality: &Quality, row: &mut dyn FnMut(&str, String)) {
    if quality.pairs == 0 || quality.channels == 0 {
        return;
    }
    row(
        "",
        format!(
            "no routing can have less than {:.1} on its busiest channel",
            quality.least_load
        ),
    );
    // Where all links are equally fast it says nothing new.
    if let Some(weighed) = quality.max_load_by_rate
        && weighed > quality.max_load as f64
    {
        row(
            "",
            format!(
                "busiest for its rate: as if {weighed:.1} routes were on a channel of the fastest links"
            ),
        );
    }
    if let Some(b) = quality.bisection {
        row(
            "bisection",
            format!(
                "{:.0} % of a link for each pair across a random half ({:.0} to {:.0})",
                100.0 * b.mean,
                100.0 * b.min,
                100.0 * b.max
            ),
        );
    }
    let shift = |s: Shift| match s.worst {
        0 | 1 => format!("none in {}", count(s.stages, "shift", "shifts")),
        worst => format!(
            "{worst} flows on a channel at worst, {:.1} on average",
            s.mean
        ),
    };
    row("shift by LID", shift(quality.shift));
    row("shift by place", shift(quality.shift_by_leaf));
    row(
        "permutation",
        format!(
            "{} flows on the busiest channel of a random one",
            quality.random_permutation
        ),
    );
}

fn times(routed: &OfflineRouting, quality: Option<&(Quality, Duration)>) -> String {
    let mut text = duration(routed.took);
    if let Some(chosen) = &routed.chosen {
        text.push_str(&format!(
            " (this engine {}, its proof {})",
            duration(chosen.engine_took),
            duration(chosen.proof_took)
        ));
    }
    if let Some((_, took)) = quality {
        text.push_str(&format!("; quality measured in {}", duration(*took)));
    }
    text
}
