//! What is wrong in states, and the thread that follows them.

use ferrosm_api::alarm::AlarmState;
use ferrosm_api::event::EventSeverity;
use ferrosm_api::fabric::NodeKind;
use ferrosm_core::SweepReport;
use ferrosm_core::config::maintenance::{Maintenance, MaintenanceTarget};
use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_mad::attr::SmState;
use ferrosm_mad::ids::{NodeGuid, PortNum};

use super::*;
use crate::api::history::{History, LinkChanges, NodeChange};
use crate::api::published::FabricState;

const SINCE: Duration = Duration::from_secs(1_000_000);

fn absent(name: &str, location: &str, kind: NodeKind) -> NodeChange {
    NodeChange {
        is_present: false,
        since: UNIX_EPOCH + SINCE,
        name: name.to_owned(),
        location: location.to_owned(),
        kind,
    }
}

fn down(names: [&str; 2]) -> LinkChanges {
    LinkChanges {
        is_up: false,
        since: UNIX_EPOCH + SINCE,
        times_down: 1,
        rate: "4xHDR".to_owned(),
        names: names.map(str::to_owned),
    }
}

/// A leaf (GUID 1) with two spines (2, 3) and a host (4) is gone, and a link between spines (2, 5).
fn history() -> History {
    let mut history = History::default();
    let nodes = [
        (1, absent("leaf", "leaf", NodeKind::Switch)),
        (4, absent("host", "leaf/3", NodeKind::Ca)),
    ];
    for (guid, node) in nodes {
        history.insert_absent_node(NodeGuid(guid), node);
    }
    let end = |guid, port| (NodeGuid(guid), PortNum(port));
    let links = [
        ([end(1, 1), end(2, 1)], down(["leaf", "spine-2"])),
        ([end(1, 2), end(3, 1)], down(["leaf", "spine-3"])),
        ([end(1, 3), end(4, 1)], down(["leaf", "host"])),
        ([end(2, 7), end(5, 7)], down(["spine-2", "spine-5"])),
    ];
    for (key, link) in links {
        history.insert_down_link(key, link);
    }
    history
}

fn master(history: History) -> State {
    let mut state = State::clone(&Published::default().state());
    state.role = SmState::Master;
    state.fabric = Some(FabricState {
        routes: Arc::default(),
        snapshot: Arc::new(Snapshot::default()),
        report: Some(Arc::new(SweepReport::default())),
        basis: None,
        at: UNIX_EPOCH + SINCE,
        history: Arc::new(history),
    });
    state
}

/// A switch that is gone is one condition with its links; a host behind it refers to it.
#[test]
fn switch_contains_its_links() {
    let found = conditions(&master(history()));
    assert!(found.covers_fabric);
    let summary: Vec<_> = found
        .items
        .iter()
        .map(|item| {
            let cause = item.cause.as_deref().unwrap_or("");
            (item.kind, &*item.place, item.num_parts, cause)
        })
        .collect();
    assert_eq!(
        summary,
        [
            ("node-absent", "leaf", 2, ""),
            ("node-absent", "host", 1, "node:0x0000000000000001"),
            ("link-down", "spine-2/7 - spine-5/7", 0, ""),
        ]
    );
    assert_eq!(
        found.items[0].parts,
        ["leaf/1 - spine-2/1", "leaf/2 - spine-3/1"]
    );
    assert_eq!(found.items[0].text, "absent; 2 links down");
    assert_eq!(
        found.items[1].text,
        "absent; last seen at leaf/3; 1 link down"
    );
}

/// What is down by command is no alarm: a drained switch that was switched off, and a host behind a
/// disabled port.
#[test]
fn maintenance_is_no_alarm() {
    let places = |target| {
        let mut state = master(history());
        state.maintenance = Arc::new([Maintenance {
            target,
            name: String::new(),
            reason: String::new(),
            until_unix_s: None,
            may_cut_off_host: true,
        }]);
        let items = conditions(&state).items.into_iter();
        items.map(|item| item.place).collect::<Vec<_>>()
    };
    let link = "spine-2/7 - spine-5/7";
    let drained = MaintenanceTarget::Switch(NodeGuid(1));
    assert_eq!(places(drained), ["host", link]);
    let disabled = MaintenanceTarget::Port(NodeGuid(1), PortNum(3));
    assert_eq!(places(disabled), ["leaf", link]);
}

/// A standby does not judge the fabric, but knows its own port.
#[test]
fn standby_knows_its_port_only() {
    let mut state = master(history());
    state.role = SmState::Standby;
    state.no_link = Some("Down".to_owned());
    let found = conditions(&state);
    assert!(!found.covers_fabric);
    let kinds: Vec<_> = found.items.iter().map(|item| item.kind).collect();
    assert_eq!(kinds, ["local-port-unusable"]);
}

fn alarms_of(service: &crate::api::Service) -> Vec<(u64, String, AlarmState)> {
    let alarms = service.alarms.list().into_iter();
    alarms
        .map(|alarm| (alarm.id, alarm.kind, alarm.state))
        .collect()
}

/// The thread raises and clears alarms as the state changes, with an event for each; an open alarm
/// keeps its number across a restart.
#[test]
fn thread_follows_the_state() {
    let dir = tempfile::tempdir().unwrap();
    let start = |service: &crate::api::Service| {
        AlarmThread::start(service.followed(), Some(dir.path()), None).unwrap()
    };
    let await_alarms = |service: &crate::api::Service, expected: &[(u64, &str, AlarmState)]| {
        for _ in 0..500 {
            let found = alarms_of(service);
            let found = found.iter().map(|(id, kind, state)| (*id, &**kind, *state));
            if found.eq(expected.iter().copied()) {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("{:?}, not {expected:?}", alarms_of(service));
    };
    let service = crate::api::Service::default();
    let since = service.events.since(None, EventSeverity::Debug).last;
    let following = start(&service);
    let unusable = "local-port-unusable";
    service.published.local_port(Some("Down".to_owned()));
    await_alarms(&service, &[(1, unusable, AlarmState::Active)]);
    service.published.local_port(None);
    await_alarms(&service, &[(1, unusable, AlarmState::Cleared)]);
    let events = service.events.since(Some(since), EventSeverity::Debug);
    let events: Vec<_> = events
        .items
        .iter()
        .map(|event| (&*event.event, event.fields["alarm"].as_u64()))
        .collect();
    assert_eq!(
        events,
        [("alarm-raised", Some(1)), ("alarm-cleared", Some(1))]
    );
    service.published.replace(master(history()));
    await_alarms(
        &service,
        &[
            (2, "node-absent", AlarmState::Active),
            (3, "link-down", AlarmState::Active),
            (4, "node-absent", AlarmState::Active),
            (1, unusable, AlarmState::Cleared),
        ],
    );
    let query = AcknowledgeQuery::default();
    service
        .alarms
        .acknowledge(3, "root".to_owned(), &query)
        .unwrap();
    let unknown = service
        .alarms
        .acknowledge(1, "root".to_owned(), &query)
        .unwrap_err();
    assert_eq!(unknown.kind, ErrorKind::NotFound);
    drop(following);

    // After a restart, what was seen is not there: the first sweep as master finds it absent.
    let restarted = crate::api::Service::default();
    let _following = start(&restarted);
    assert_eq!(alarms_of(&restarted), []);
    restarted.published.first_sweep_as_master();
    await_alarms(
        &restarted,
        &[
            (2, "node-absent", AlarmState::Active),
            (3, "link-down", AlarmState::Acknowledged),
            (4, "node-absent", AlarmState::Active),
        ],
    );
    let events = restarted.events.since(None, EventSeverity::Debug);
    assert_eq!(events.items, []);
}
