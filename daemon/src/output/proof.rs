//! The result of offline routing, for eyes.

use super::report::duration;
use super::table::{self, count};
use super::view::View;
use crate::commands::route::Routed;

/// The table.
#[must_use]
pub fn render(view: &View, routed: &Routed) -> String {
    let mut out = table::new(["", ""]);
    out.set_header(["Routing".to_owned(), "passes the proof".to_owned()]);
    let mut row = |name: &str, value: String| {
        out.add_row([name.to_owned(), value]);
    };
    row("fabric", table::sums(view));
    if routed.left_out > 0 {
        row(
            "left out",
            format!(
                "{} on other islands",
                count(routed.left_out, "node", "nodes")
            ),
        );
    }
    for refused in &routed.refused {
        row("refused", refused.clone());
    }
    match &routed.chosen {
        None => row("routes", "nothing to route: there is no switch".to_owned()),
        Some((routing, proof)) => {
            row("engine", routing.engine.to_owned());
            for note in &routing.notes {
                row("", note.clone());
            }
            row("lanes", format!("1 of {}", routed.vls_allowed));
            row("LIDs", routed.lids.to_string());
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
    }
    row("computed in", duration(routed.took));
    table::wrap(&mut out);
    format!("{out}\n")
}
