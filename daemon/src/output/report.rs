//! Summary of a sweep: a table, and its problems.

use core::fmt::Write;
use core::time::Duration;

use ferrosm_core::SweepReport;
use ferrosm_core::event::first_problems;
use ferrosm_core::report::Problem;
use ferrosm_mad::attr::id;

use super::table::{self, count};

/// Results of the sweep, as names and values.
#[must_use]
pub fn facts(report: &SweepReport) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("role", report.role.to_string()),
        (
            "nodes",
            [
                count(report.switches, "switch", "switches"),
                count(report.cas, "channel adapter", "channel adapters"),
                count(report.routers, "router", "routers"),
            ]
            .join(", "),
        ),
        ("links", report.links.to_string()),
        (
            "LIDs",
            format!(
                "{} in use, highest {}, {} assigned or changed",
                report.lids, report.top_lid, report.lids_changed
            ),
        ),
    ];
    if report.absent > 0 {
        facts.push((
            "absent",
            format!(
                "{} of earlier sweeps, no longer in the subnet; their LIDs stay reserved",
                count(report.absent, "port", "ports")
            ),
        ));
    }
    if !report.engine.is_empty() {
        facts.push(("engine", report.engine.to_owned()));
    }
    if let Some(pkey_table) = &report.fullest_pkey_table {
        let text = format!(
            "{} of {} in the fullest table, {}",
            pkey_table.used, pkey_table.capacity, pkey_table.location
        );
        facts.push(("P_Keys", text));
    }
    facts.extend(
        report
            .routing_messages
            .iter()
            .map(|message| ("", message.to_string())),
    );
    match &report.proof {
        Some(proof) => {
            facts.push((
                "routes",
                format!("{} from a switch to a LID, verified; no loops", proof.pairs),
            ));
            facts.push((
                "max hops",
                format!(
                    "{} between switches, {:.2} on average",
                    proof.max_hops,
                    proof.mean_hops()
                ),
            ));
            facts.push(("credit loops", "none".to_owned()));
            facts.push((
                "load",
                format!(
                    "{} routes on the busiest link, {:.1} on average",
                    proof.max_load, proof.mean_load
                ),
            ));
        }
        None if report.failed => facts.push(("routes", "none: routing failed".to_owned())),
        None => facts.push(("routes", "nothing to route".to_owned())),
    }
    facts.push((
        "LFT blocks",
        format!("{} written", report.lft_blocks_written),
    ));
    facts.push(("SMPs", format!("{} sent", report.smps_sent())));
    facts.push(("took", duration(report.took)));
    facts
}

/// The table of a sweep.
#[must_use]
pub fn render(report: &SweepReport) -> String {
    let mut text = String::new();
    let kind = if report.is_local() {
        "Local sweep"
    } else {
        "Sweep"
    };
    let verdict = if report.is_clean() {
        "the subnet is up"
    } else {
        "the subnet is NOT fully up"
    };
    let mut facts_table = table::new(["", ""]);
    facts_table.set_header([format!("{kind} {}", report.number), verdict.to_owned()]);
    for (name, value) in facts(report) {
        facts_table.add_row([name.to_owned(), value]);
    }

    table::wrap(&mut facts_table);

    let mut smps = table::new(["SMPs by attribute", "Gets", "Sets", "Timeouts"]);
    table::right(&mut smps, &[1, 2, 3]);
    for (attr, c) in &report.smps {
        let name = id::name(*attr).map_or_else(|| attr.to_string(), str::to_owned);
        smps.add_row([
            name,
            c.gets.to_string(),
            c.sets.to_string(),
            c.timeouts.to_string(),
        ]);
    }

    let mut phases = table::new(["Phase", "Time"]);
    table::right(&mut phases, &[1]);
    for (phase, took) in &report.phases {
        phases.add_row([phase.to_string(), duration(*took)]);
    }
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{facts_table}\n{smps}\n{phases}");
    for line in problem_lines(&report.problems) {
        let _ = writeln!(text, "{line}");
    }
    text
}

/// [`first_problems`] as lines.
#[must_use]
pub fn problem_lines(problems: &[Problem]) -> Vec<String> {
    let (listed, suppressed) = first_problems(problems);
    let mut lines: Vec<String> = listed
        .iter()
        .map(|p| {
            format!(
                "{}: {p}",
                if p.kind.is_severe() {
                    "problem"
                } else {
                    "minor problem"
                }
            )
        })
        .collect();
    if suppressed > 0 {
        lines.push(format!("... and {suppressed} more"));
    }
    lines
}

/// A duration with three significant digits.
#[must_use]
pub fn duration(d: Duration) -> String {
    let s = d.as_secs_f64();
    if s >= 10.0 {
        format!("{s:.1} s")
    } else if s >= 1.0 {
        format!("{s:.2} s")
    } else if s >= 0.01 {
        format!("{:.0} ms", s * 1e3)
    } else {
        format!("{:.2} ms", s * 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrosm_core::event::PROBLEMS_MAX;
    use ferrosm_core::report::{Phase, ProblemKind, SmpCount};
    use ferrosm_fabric::location::Location;
    use ferrosm_mad::ids::Lid;

    fn report() -> SweepReport {
        let mut report = SweepReport {
            number: 1,
            switches: 2,
            cas: 3,
            links: 4,
            ..SweepReport::default()
        };
        report.smps.insert(
            id::LFT,
            SmpCount {
                gets: 1,
                sets: 22,
                timeouts: 3,
            },
        );
        report
            .phases
            .push((Phase::Discover, Duration::from_millis(12)));
        report
    }

    #[test]
    fn attributes_have_their_iba_names() {
        let text = render(&report());
        let row = text
            .lines()
            .find(|l| l.contains("LinearForwardingTable"))
            .unwrap();
        let numbers: Vec<&str> = row
            .split_whitespace()
            .filter(|w| w.parse::<u64>().is_ok())
            .collect();
        assert_eq!(numbers, ["1", "22", "3"]);
        assert!(text.contains("2 switches, 3 channel adapters, 0 routers"));
        assert!(text.contains("the subnet is up"));
    }

    #[test]
    fn severe_problems_come_first_and_are_limited() {
        let mut report = report();
        report.problems = vec![Problem {
            location: Location::LocalNode,
            kind: ProblemKind::Loopback,
        }];
        for n in 1..=30 {
            report.problems.push(Problem {
                location: Location::Lid(Lid(n)),
                kind: ProblemKind::NoLid,
            });
        }
        let lines = problem_lines(&report.problems);
        assert_eq!(lines.len(), PROBLEMS_MAX + 1);
        assert_eq!(lines[0], "problem: LID 1: no LID available");
        assert_eq!(lines[PROBLEMS_MAX], "... and 11 more");
        assert!(render(&report).contains("NOT fully up"));
    }

    #[test]
    fn durations_have_a_suitable_unit() {
        assert_eq!(duration(Duration::from_micros(1234)), "1.23 ms");
        assert_eq!(duration(Duration::from_millis(250)), "250 ms");
        assert_eq!(duration(Duration::from_millis(2500)), "2.50 s");
    }
}
