//! The result of offline routing, for eyes.

use core::time::Duration;

use ferrosm_routing::quality::{Quality, Shift};

use super::report::duration;
use super::table::{self, count};
use crate::paper::{Chosen, Routed};

/// The table.
#[must_use]
pub fn render(routed: &Routed, quality: Option<&(Quality, Duration)>) -> String {
    let mut out = table::new(["", ""]);
    out.set_header(["Routing".to_owned(), "passes the proof".to_owned()]);
    let mut row = |name: &str, value: String| {
        out.add_row([name.to_owned(), value]);
    };
    row("fabric", table::sums(&routed.view));
    if routed.left_out > 0 {
        row(
            "left out",
            format!(
                "{} on other islands",
                count(routed.left_out, "node", "nodes")
            ),
        );
    }
    for remark in &routed.remarks {
        row("not used", remark.clone());
    }
    for refused in &routed.refused {
        row("refused", refused.clone());
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
    if let Some(bytes) = crate::paper::peak_memory_bytes() {
        row("memory", format!("{} MB at most", bytes.div_ceil(1 << 20)));
    }
    table::wrap(&mut out);
    format!("{out}\n")
}

fn proven(chosen: &Chosen, allowed: u8, row: &mut dyn FnMut(&str, String)) {
    let proof = &chosen.proof;
    let answers = if proof.reversible {
        "answers may use the SL of their request"
    } else {
        "answers must not use the SL of their request"
    };
    let used = proof.lanes_used.max(1);
    row("lanes", format!("{used} of {allowed}; {answers}"));
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

fn times(routed: &Routed, quality: Option<&(Quality, Duration)>) -> String {
    let mut text = duration(routed.took);
    if let Some(chosen) = &routed.chosen {
        let what = if routed.refused.is_empty() {
            "the proof"
        } else {
            "one proof"
        };
        text.push_str(&format!(
            ", of which {what} {}",
            duration(chosen.proof_took)
        ));
    }
    if let Some((_, took)) = quality {
        text.push_str(&format!("; quality measured in {}", duration(*took)));
    }
    text
}
