//! Tests of published states.

use ferrosm_core::report::ProblemKind;
use ferrosm_fabric::location::Location;
use ferrosm_mad::ids::Lid;
use ferrosm_sim::generate;

use super::*;
use crate::offline::spec;

/// A time after all states that were published, and before the next one.
fn later() -> SystemTime {
    let begun = SystemTime::now();
    loop {
        let now = SystemTime::now();
        if now > begun + Duration::from_millis(2) {
            return now - Duration::from_millis(1);
        }
    }
}

fn publish(published: &Published, snapshot: &Snapshot) -> SystemTime {
    let state = State::clone(&published.state());
    let fabric = Some(FabricState {
        snapshot: Arc::new(snapshot.clone()),
        report: Some(Arc::default()),
        basis: None,
        at: SystemTime::now(),
        history: Arc::default(),
        routes: Arc::default(),
    });
    let role = SmState::Master;
    published.replace(State {
        fabric,
        role,
        ..state
    });
    later()
}

/// The state at a time is the one that was published before it. Times before the first state
/// and in the future are errors.
#[test]
fn states_of_earlier_times_are_found() {
    let fabric_spec = generate::from_spec("fat-tree:4").unwrap();
    let mut fabric = spec::observed(&fabric_spec);
    let published = Published::default();
    let start = published.state().at;
    later();
    let whole = spec::snapshot(&fabric, None, None);
    let first = publish(&published, &whole);
    let cut = fabric.links().next().unwrap().a;
    fabric.disconnect(cut);
    let lacking = spec::snapshot(&fabric, None, Some(&whole));
    let second = publish(&published, &lacking);

    let tables = EarlierTables::Any;
    let at = |at| published.state_at(at, tables).unwrap();
    let num_links = |state: &State| state.fabric.as_ref().unwrap().snapshot.links().len();
    assert_eq!(num_links(&at(first)), whole.links().len());
    assert_eq!(num_links(&at(second)), whole.links().len() - 1);
    assert!(at(first).revision < at(second).revision);
    assert!(at(first).at <= first);
    assert_eq!(at(second).revision, published.state().revision);
    assert!(at(start).fabric.is_none());

    let error = |at| published.state_at(at, tables).unwrap_err();
    let before = error(start - Duration::from_secs(1));
    assert_eq!(before.kind, ErrorKind::NotFound);
    assert!(before.message.contains(&rfc3339(start)), "{before:?}");
    let future = error(SystemTime::now() + Duration::from_secs(3600));
    assert_eq!(future.kind, ErrorKind::InvalidRequest);
}

/// A burst of problems does not displace earlier states from the records.
#[test]
fn bursts_do_not_displace_earlier_states() {
    let published = Published::default();
    let whole = spec::snapshot(
        &spec::observed(&generate::from_spec("fat-tree:4").unwrap()),
        None,
        None,
    );
    let first = publish(&published, &whole);
    let revision = published.state().revision;
    for lid in 1..10_000 {
        published.problem_found(&Problem {
            location: Location::Lid(Lid(lid)),
            kind: ProblemKind::LinkMismatch,
        });
    }
    assert!(published.state().revision > revision);
    let found = published.state_at(first, EarlierTables::Any).unwrap();
    assert!(found.fabric.is_some());
    assert!(found.revision <= revision, "{}", found.revision);
}
