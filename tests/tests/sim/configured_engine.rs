//! The routing engine that the operator configured, and the one in use.

use ferrosm_core::{Command, CommandId, Input, ProblemKind, SmConfig, SweepReport};
use ferrosm_fabric::location::Location;
use ferrosm_tests::lab::Lab;

fn with_engines(engines: &[&str]) -> SmConfig {
    SmConfig {
        engines: engines.iter().map(|&name| name.to_owned()).collect(),
        ..SmConfig::default()
    }
}

/// Configured engine, engine in use, and reason of the note about the first configured engine.
fn note(report: &SweepReport) -> Option<(&str, &str, &str)> {
    report.problems.iter().find_map(|problem| {
        let ProblemKind::EngineNotUsed {
            configured,
            used,
            reason,
        } = &problem.kind
        else {
            return None;
        };
        assert_eq!(problem.location, Location::Subnet);
        Some((configured.as_str(), *used, reason.as_deref().unwrap_or("")))
    })
}

/// OpenSM falls back silently: the subnet is up, and the performance is missing.
#[test]
fn configured_engine_that_is_not_used_is_a_note_of_every_full_sweep() {
    for engines in [&["ftree"][..], &["ftree", "updn"]] {
        let mut lab = Lab::with("ring:5,2", 1, with_engines(engines));
        let report = lab.next_sweep(60);
        assert!(report.is_clean());
        let (configured, used, reason) = note(&report).unwrap();
        assert_eq!((configured, used), ("ftree", report.engine), "{engines:?}");
        assert!(reason.starts_with("ftree"), "{reason}");
        let sweep = Input::Command {
            id: CommandId(1),
            command: Command::Sweep,
        };
        lab.handle(lab.sm, sweep);
        let again = lab.next_sweep(60);
        assert_eq!(
            note(&again).map(|(configured, used, _)| (configured, used)),
            Some(("ftree", used))
        );
    }
}

#[test]
fn engines_in_use_and_automatic_selection_are_not_reported() {
    for (spec, engines) in [
        ("fat-tree:4", &["ftree"][..]),
        ("ring:5,2", &["auto"]),
        ("ring:5,2", &["updn", "ftree"]),
    ] {
        let mut lab = Lab::with(spec, 1, with_engines(engines));
        assert_eq!(note(&lab.next_sweep(60)), None, "{spec} {engines:?}");
    }
}

/// Programs that ignore the SL of their path records are then outside the proof, which the operator
/// must know.
#[test]
fn routing_with_several_sls_is_reported() {
    let mut tree = Lab::new("fat-tree:4", 1);
    assert!(!tree.next_sweep(60).has_several_sls);
    let mut torus = Lab::with("torus:5,5,1", 1, with_engines(&["torus-2QoS"]));
    assert!(torus.next_sweep(60).has_several_sls);
}
