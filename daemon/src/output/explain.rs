//! Why a routing is as it is, and the ways of packets, for eyes.

use crate::offline::trace::{Hop, Trace};
use crate::offline::{OfflineRouting, SelectedRouting};
use ferrosm_opensm_compat::view::FabricView;

/// The text.
#[must_use]
pub fn render(routed: &OfflineRouting, traces: &[Trace]) -> String {
    let mut out = String::new();
    let mut line = |text: &str| {
        out.push_str(text);
        out.push('\n');
    };
    match &routed.chosen {
        None => line("There is no switch: packets go by the cable, and nothing is routed."),
        Some(chosen) => {
            let routing = chosen.routing();
            line(&format!("OfflineRouting by {}.", routing.engine));
            for note in &routed.notes {
                line(&format!("  {note}"));
            }
            line(&lanes(chosen, routed.vls_allowed));
        }
    }
    if !routed.refused.is_empty() {
        line("Tried before, and refused:");
        routed.refused.iter().for_each(|r| line(&format!("  {r}")));
    }
    if !routed.remarks.is_empty() {
        line("Remarks:");
        routed.remarks.iter().for_each(|r| line(&format!("  {r}")));
    }
    let engine = routed.chosen.as_ref().map_or("", |c| c.routing().engine);
    for trace in traces {
        out.push('\n');
        out.push_str(&way(&routed.view, trace, engine));
    }
    out
}

/// One sentence about lanes.
#[must_use]
pub fn lanes(chosen: &SelectedRouting, allowed: u8) -> String {
    let used = chosen.proof.lanes_used.max(1);
    let answers = if chosen.proof.reversible {
        "answers may travel on the service level of their request"
    } else {
        "answers must travel on the service level of their own path"
    };
    let planned = chosen.routing().vl_plan.vls;
    let lanes = if used == 1 { "lane" } else { "lanes" };
    if planned > used {
        format!(
            "It uses {used} data {lanes}, with VL tables for {planned} of {allowed}; {answers}."
        )
    } else {
        format!("It uses {used} data {lanes} of {allowed}; {answers}.")
    }
}

fn way(view: &FabricView, trace: &Trace, engine: &str) -> String {
    let mut out = String::new();
    let name = |hop: &Hop| {
        let node = &view.nodes[hop.node];
        format!("{} ({})", node.name(), node.guid)
    };
    let (Some(first), Some(last)) = (trace.hops.first(), trace.hops.last()) else {
        return out;
    };
    out.push_str(&format!(
        "From {} to {}, LID {}, service level {}:\n",
        name(first),
        name(last),
        trace.lid,
        trace.sl
    ));
    for hop in &trace.hops {
        let input = hop
            .input
            .map_or_else(String::new, |p| format!(" in by port {p},"));
        let output = hop.output.map_or_else(
            || " arrives".to_owned(),
            |(p, vl)| format!(" out by port {p} on VL {vl}"),
        );
        out.push_str(&format!("  {}:{input}{output}\n", name(hop)));
    }
    out.push_str(&format!("  {}\n", why(trace, engine)));
    out
}

/// Why a way is as long as it is.
#[must_use]
pub fn why(trace: &Trace, engine: &str) -> String {
    let cables = |n: usize| {
        if n == 1 {
            "1 cable".to_owned()
        } else {
            format!("{n} cables")
        }
    };
    if trace.length == trace.shortest {
        return format!(
            "{} between switches: there is no shorter way.",
            cables(trace.length)
        );
    }
    let reason = match engine {
        "updn" | "dnup" => {
            "this engine's ways never turn up again once they went down, or the other way round"
        }
        "ftree" | "dmodc" => {
            "in this tree, or what is left of it, the shorter ways would turn up again"
        }
        "dor" | "torus-2QoS" => {
            "this engine's ways go dimension after dimension, and around what is broken"
        }
        "nue" => "with these lanes the shorter ways could wait for each other in a circle",
        "file" => "the file has it so",
        _ => "the shorter ways carry more, or do not go together with others",
    };
    format!(
        "{} between switches where {} would do: {reason}.",
        cables(trace.length),
        trace.shortest
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{FileArgs, HintArgs};
    use crate::offline::{self, trace};

    #[test]
    fn reasons_lanes_and_ways_are_told() {
        let args = HintArgs {
            from: "ring:5,1".to_owned(),
            node: None,
            engine: vec!["minhop".parse().unwrap(), "updn".parse().unwrap()],
            budget: core::time::Duration::from_secs(2).into(),
            vls: None,
            files: FileArgs::default(),
        };
        let routed = offline::route(&args).unwrap();
        let hosts = routed.view.nodes.iter().filter(|n| !n.is_switch());
        let names: Vec<String> = hosts.map(|n| n.guid.to_string()).collect();
        let port = |n: usize| trace::find(&routed.view, &names[n]).unwrap();
        let trace = trace::follow(&routed.view, port(0), port(1)).unwrap();
        let text = render(&routed, &[trace]);
        assert!(text.starts_with("OfflineRouting by updn.\n"), "{text}");
        assert!(
            text.contains("It uses 1 data lane of 8; answers may travel"),
            "{text}"
        );
        assert!(text.contains("refused:\n  minhop: "), "{text}");
        assert!(text.contains("service level 0:\n"), "{text}");
        assert!(text.contains("out by port 1 on VL 0\n"), "{text}");
        assert!(text.contains(" between switches"), "{text}");
    }

    #[test]
    fn detours_have_a_reason() {
        let trace = |length| Trace {
            hops: Vec::new(),
            lid: ferrosm_mad::ids::Lid(1),
            sl: 0,
            sl_back: 0,
            length,
            shortest: 1,
        };
        assert_eq!(
            why(&trace(1), "updn"),
            "1 cable between switches: there is no shorter way."
        );
        assert!(why(&trace(3), "updn").starts_with("3 cables between switches where 1 would do: "));
    }
}
