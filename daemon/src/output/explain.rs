//! Text of `ferrosm explain`: the engine, the reasons, and paths.

use ferrosm_fabric::snapshot::Snapshot;

use super::proof::{origin, sl_of_replies};
use super::table::count;
use crate::offline::trace::{Hop, Trace};
use crate::offline::{OfflineRouting, SelectedRouting};

/// Renders the routing and paths.
#[must_use]
pub fn render(routed: &OfflineRouting, traces: &[Trace]) -> String {
    let mut out = String::new();
    let mut line = |text: &str| {
        out.push_str(text);
        out.push('\n');
    };
    match &routed.selected {
        None => line("No switch: hosts are connected directly, nothing is routed."),
        Some(selected) => {
            let routing = selected.routing();
            line(&format!(
                "Routed by {}{}.",
                routing.engine,
                origin(routing.engine)
            ));
            for message in &routed.messages {
                line(&format!("  {message}"));
            }
            line(&vl_usage(selected, routed.vls_allowed));
        }
    }
    if !routed.rejected.is_empty() {
        line("Rejected engines:");
        routed.rejected.iter().for_each(|r| line(&format!("  {r}")));
    }
    if !routed.warnings.is_empty() {
        line("Warnings:");
        routed.warnings.iter().for_each(|r| line(&format!("  {r}")));
    }
    let engine = routed.selected.as_ref().map_or("", |c| c.routing().engine);
    for trace in traces {
        out.push('\n');
        out.push_str(&path(&routed.snapshot, trace, engine));
    }
    out
}

/// VLs that the routing uses, and whether replies may use the SL of their request.
#[must_use]
pub fn vl_usage(selected: &SelectedRouting, allowed: u8) -> String {
    let used = selected.proof.vls_used.max(1);
    let replies = sl_of_replies(&selected.proof);
    let planned = selected.routing().vl_plan.vls;
    let vls = count(used, "data VL", "data VLs");
    if planned > used {
        format!("It uses {vls}, with SLtoVL tables for {planned} of {allowed}; {replies}.")
    } else {
        format!("It uses {vls} of {allowed}; {replies}.")
    }
}

fn path(snapshot: &Snapshot, trace: &Trace, engine: &str) -> String {
    let mut out = String::new();
    let name = |hop: &Hop| {
        let node = snapshot.node(hop.node);
        format!("{} ({})", node.name(), node.guid)
    };
    let (Some(first), Some(last)) = (trace.hops.first(), trace.hops.last()) else {
        return out;
    };
    out.push_str(&format!(
        "From {} to {}, LID {}, SL {}:\n",
        name(first),
        name(last),
        trace.lid,
        trace.sl
    ));
    for hop in &trace.hops {
        let input = hop
            .input
            .map_or_else(String::new, |p| format!(" in port {p},"));
        let output = hop.output.map_or_else(
            || " destination".to_owned(),
            |(p, vl)| format!(" out port {p}, VL {vl}"),
        );
        out.push_str(&format!("  {}:{input}{output}\n", name(hop)));
    }
    out.push_str(&format!("  {}\n", length_reason(trace, engine)));
    out
}

/// Why a path has its length.
#[must_use]
pub fn length_reason(trace: &Trace, engine: &str) -> String {
    let links = count(trace.length, "link", "links");
    if trace.length == trace.shortest {
        return format!("{links} between switches: a shortest path.");
    }
    let reason = match engine {
        "updn" | "dnup" => "up/down routing does not turn up after down, or down after up",
        "ftree" | "dmodc" => "shorter paths of this degraded tree would turn up after down",
        "dor" | "torus-2QoS" => "dimension-order routing, with detours around failed links",
        "dragonfly" => {
            "one global hop between two groups; detours around failed links and to spines"
        }
        "diameter2" => "links have failed, or the switch at one end has no hosts",
        "nue" => "with these VLs, shorter paths would form a credit loop",
        "file" => "as given by the file",
        _ => "shorter paths carry more load, or conflict with other routes",
    };
    format!(
        "{links} between switches; the shortest path has {}: {reason}.",
        trace.shortest
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offline::args::OfflineArgs;
    use crate::offline::{self, trace};

    #[test]
    fn rejected_engines_vls_and_paths_are_shown() {
        let args = OfflineArgs::with_engines(&["minhop", "updn"]);
        let routed = offline::route("ring:5,1", &args).unwrap();
        let hosts = routed.snapshot.nodes().filter(|n| !n.is_switch());
        let names: Vec<String> = hosts.map(|n| n.guid.to_string()).collect();
        let port = |n: usize| trace::find(&routed.snapshot, &names[n]).unwrap();
        let trace = trace::follow(&routed.snapshot, port(0), port(1)).unwrap();
        let text = render(&routed, &[trace]);
        assert!(text.starts_with("Routed by updn, computed now; "), "{text}");
        assert!(
            text.contains("It uses 1 data VL of 8; replies may use"),
            "{text}"
        );
        assert!(text.contains("Rejected engines:\n  minhop: "), "{text}");
        assert!(text.contains(", SL 0:\n"), "{text}");
        assert!(text.contains("out port 1, VL 0\n"), "{text}");
        assert!(text.contains(" between switches"), "{text}");
    }

    #[test]
    fn longer_paths_have_a_reason() {
        let trace = |length| Trace {
            hops: Vec::new(),
            lid: ferrosm_mad::ids::Lid(1),
            sl: 0,
            sl_back: 0,
            length,
            shortest: 1,
        };
        assert_eq!(
            length_reason(&trace(1), "updn"),
            "1 link between switches: a shortest path."
        );
        assert!(
            length_reason(&trace(3), "updn")
                .starts_with("3 links between switches; the shortest path has 1: ")
        );
    }
}
