//! A restarted SM replies from the restored view during its first sweep, correctly or not at all.

#![allow(clippy::expect_used, reason = "test helpers")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ferrosm_core::event::ViewMismatch;
use ferrosm_core::{Event, LidMap, RestoredState, SmConfig};
use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_fabric::snapshot::persist::RestoredSnapshot;
use ferrosm_mad::attr::PortInfo;
use ferrosm_mad::ids::{Gid, Lid, Lmc, PKey};
use ferrosm_mad::sa::id;
use ferrosm_mad::sa::multicast::{JoinState, mgid};
use ferrosm_sa::View;
use ferrosm_sim::faults::FabricAction;
use ferrosm_sim::spec::PortAt;
use ferrosm_store::{PersistRequest, StateDir};
use ferrosm_tests::lab::persisted_view::snapshot_of;
use ferrosm_tests::lab::{Lab, Sm, TestRng};
use ferrosm_tests::programs::scratch::Scratch;
use ferrosm_tests::sa::expected::{self as expected_records, ExpectedRecord, IgnoredBits};
use ferrosm_tests::sa::members::{Members, try_join_broadcast};
use ferrosm_tests::sa::paths::{self as paths, PathRequest};
use ferrosm_tests::sa::wire::{
    WireReply, WireRequest, field, method, put_field, query, status, try_query,
};

const PACKET_LIFE_TIME: u8 = 18;
/// LocalPortNum in a NodeRecord depends on the path of discovery.
const NODE_FREE: [IgnoredBits; 1] = [(320, 8)];
const AGE: Duration = Duration::from_secs(5);

fn up(spec: &str) -> Lab {
    Lab::up(spec, 1, SmConfig::default())
}

/// Kills the SM and returns the state that it persisted.
fn kill(lab: &mut Lab) -> RestoredState {
    lab.world.run_for(Duration::from_secs(12));
    let old = lab.world.kill(lab.sm).expect("running SM");
    let restored = old.restored(lab.world.now());
    let view = old.persisted_view.expect("persisted view");
    RestoredState {
        snapshot: Some(snapshot_of(&view, AGE)),
        ..restored
    }
}

fn start(lab: &mut Lab, restored: RestoredState) {
    lab.restart_sm(SmConfig::default(), restored);
}

/// Runs until the SA replies, which has to be before the first sweep completes.
fn run_until_first_reply(lab: &mut Lab) {
    lab.run_until("replies from the restored view", 60, |lab| {
        lab.manager().core().view().is_some()
    });
    assert!(
        lab.manager().reports().is_empty(),
        "no reply before the first sweep completed"
    );
    let age = lab.manager().core().restored_view_age();
    assert!(age.is_some_and(|age| age >= AGE), "{age:?}");
}

fn has_notice(lab: &Lab, predicate: impl Fn(&Event) -> bool) -> bool {
    let events = &lab.manager().events;
    events.iter().any(predicate)
}

fn get_path(lab: &mut Lab, a: PortAt, b: PortAt) -> WireReply {
    let fabric = lab.world.fabric();
    let mut data = vec![0; 64];
    for (at, port) in [(8, b), (24, a)] {
        data[at..at + 8].copy_from_slice(&0xFE80_0000_0000_0000u64.to_be_bytes());
        data[at + 8..at + 16].copy_from_slice(&fabric.port_guid(port).0.to_be_bytes());
    }
    put_field(&mut data, 392, 1, 1);
    let request = WireRequest {
        mask: 0b11 << 2 | 1 << 11,
        data,
        ..WireRequest::new(expected_records::lid(lab, a), method::GET, id::PATH.0)
    };
    query(lab, &request)
}

/// Queries a path and checks that the fabric has it.
fn assert_path(lab: &mut Lab, a: PortAt, b: PortAt) {
    let reply = get_path(lab, a, b);
    let demand = PathRequest {
        reversible: true,
        ..PathRequest::default()
    };
    let allowed = paths::between(
        lab,
        a,
        (a, b),
        (None, None),
        &demand,
        PACKET_LIFE_TIME,
        &|_, _| (0, true),
    );
    let path = &reply.records[0];
    let lids = (field(path, 336, 16), field(path, 320, 16));
    let values = [434, 442, 450].map(|at| field(path, at, 6));
    assert!(
        allowed.iter().any(|t| {
            let (mtu, rate, life) = t.values;
            (u64::from(t.lids.0), u64::from(t.lids.1)) == lids
                && [mtu, rate, life].map(u64::from) == values
                && field(path, 400, 16) == u64::from(t.pkey)
        }),
        "{} {a:?} to {b:?}: {lids:?} {values:?}",
        lab.describe_run()
    );
}

fn table(lab: &mut Lab, client: PortAt, attr: u16) -> Vec<Vec<u8>> {
    let lid = expected_records::lid(lab, client);
    let reply = query(lab, &WireRequest::new(lid, method::GET_TABLE, attr));
    assert_eq!(reply.status, status::OK);
    let mut records = reply.records;
    records.sort();
    records
}

/// Compares a table with the devices, restricted to what the client may see.
fn assert_table(
    lab: &mut Lab,
    client: PortAt,
    attr: u16,
    should: &[ExpectedRecord],
    free: &[IgnoredBits],
) {
    let mut found = table(lab, client, attr);
    let mut expected = expected_records::seen_by(lab, client, should);
    for record in found.iter_mut().chain(&mut expected) {
        expected_records::clear_bits(record, free);
    }
    found.sort();
    expected.sort();
    assert!(found == expected, "{} {attr:#x}", lab.describe_run());
}

fn broadcast() -> Gid {
    mgid::broadcast(PKey::DEFAULT_FULL, mgid::LINK_LOCAL)
}

/// Paths of all pairs, the node and link tables, and the memberships are correct from the first
/// reply and at every step of the first sweep.
#[test]
fn restored_view_answers_at_once_on_an_unchanged_subnet() {
    for spec in ["fat-tree:4", "torus:3,3,1,2"] {
        let mut lab = up(spec);
        let mut members = Members::new();
        let all_hosts = lab.hosts();
        for at in &all_hosts {
            let joined = members.join(&mut lab, *at, broadcast(), JoinState::FULL);
            joined.expect("join accepted");
        }
        let restored = kill(&mut lab);
        lab.world.run_for(AGE);
        let started = lab.world.now();
        start(&mut lab, restored);
        run_until_first_reply(&mut lab);
        let waited = lab.world.now().since(started);
        assert!(waited < Duration::from_millis(50), "{waited:?}");
        let mut rng = TestRng::new(3);
        let mut checks = 0;
        while lab.manager().reports().is_empty() {
            let (a, b) = (
                all_hosts[rng.index(all_hosts.len())],
                all_hosts[rng.index(all_hosts.len())],
            );
            assert_path(&mut lab, a, b);
            let nodes = expected_records::nodes(&mut lab);
            assert_table(&mut lab, a, id::NODE.0, &nodes, &NODE_FREE);
            let links = expected_records::links(&lab);
            assert_table(&mut lab, a, id::LINK.0, &links, &[]);
            let of_broadcast = table(&mut lab, all_hosts[0], id::MC_MEMBER.0);
            assert!(!of_broadcast.is_empty());
            checks += 1;
            for _ in 0..40 {
                if lab.manager().reports().is_empty() {
                    lab.world.step();
                }
            }
        }
        assert!(checks > 5, "{spec}: {checks} checks during the first sweep");
        let used = |notice: &Event| matches!(notice, Event::RestoredViewUsed { .. });
        assert!(has_notice(&lab, used));
        assert_eq!(lab.manager().core().restored_view_age(), None);
        for pair in all_hosts.windows(2) {
            assert_path(&mut lab, pair[0], pair[1]);
        }
        members.assert_correct(&lab);
    }
}

/// A join waits while the SM state is undecided, and is accepted once the SM is master.
#[test]
fn registrations_wait_for_decided_mastership() {
    let mut lab = up("fat-tree:4");
    let all_hosts = lab.hosts();
    let restored = kill(&mut lab);
    start(&mut lab, restored);
    run_until_first_reply(&mut lab);
    let mut members = Members::new();
    let sm = lab.sm;
    assert_eq!(try_join_broadcast(&mut lab, sm, all_hosts[2], 1), None);
    lab.run_until("the master's role", 60, |lab| {
        lab.manager().core().role() == ferrosm_mad::attr::SmState::Master
    });
    assert!(lab.manager().reports().is_empty());
    let joined = members.join(&mut lab, all_hosts[2], broadcast(), JoinState::FULL);
    assert!(joined.is_ok(), "{joined:?}");
    lab.next_sweep(60);
    lab.world.run_for(Duration::from_secs(2));
    members.assert_correct(&lab);
}

/// With links cut and hosts removed and added: after discovery the SA reports no absent port, and
/// at no time a LID that belongs to another port.
#[test]
fn changed_devices_are_removed_from_the_restored_view() {
    for seed in 0..12 {
        let mut lab = up("fat-tree:4");
        let mut rng = TestRng::new(seed);
        let all_hosts = lab.hosts();
        let restored = kill(&mut lab);
        let sm_at = lab.at;
        let mut others: Vec<PortAt> = all_hosts
            .iter()
            .copied()
            .filter(|at| *at != sm_at)
            .collect();
        let now = lab.world.now();
        let removed: Vec<PortAt> = (0..3)
            .map(|_| others.swap_remove(rng.index(others.len())))
            .collect();
        for at in &removed {
            lab.world.schedule(now, FabricAction::Cut(*at));
        }
        // Two hosts swapped their LIDs, a third has none.
        let [x, y, z] = [0, 1, 2].map(|_| others.swap_remove(rng.index(others.len())));
        let (lx, ly) = (lab.world.fabric().lid(x), lab.world.fabric().lid(y));
        lab.world.run_for(Duration::from_millis(1));
        let fabric = lab.world.fabric_mut();
        fabric.set_lid(x, ly.0, Lmc(ly.1)).expect("valid port");
        fabric.set_lid(y, lx.0, Lmc(lx.1)).expect("valid port");
        fabric.reboot(z.node);
        start(&mut lab, restored);
        run_until_first_reply(&mut lab);
        let mut known: BTreeSet<PortAt> = BTreeSet::new();
        while lab.manager().reports().is_empty() {
            let core = lab.manager().core();
            for at in [x, y] {
                let guid = lab.world.fabric().port_guid(at);
                let present = core.fabric().port_by_guid(guid);
                let read = present.and_then(|p| core.fabric().port(p));
                if read.is_some_and(|port| port.known && PortInfo::lid.read(&port.raw) != Lid::NONE)
                {
                    known.insert(at);
                }
            }
            let master = core.role() == ferrosm_mad::attr::SmState::Master;
            let view = Arc::clone(core.view().expect("SA view"));
            for at in [x, y].into_iter().filter(|at| known.contains(at)) {
                let lid = lid_of(&view, &lab, at);
                assert!(
                    lid.is_none_or(|lid| lid == lab.world.fabric().lid(at).0),
                    "[seed {seed}] {lid:?} of {at:?} belongs to another port"
                );
            }
            if master {
                for at in &removed {
                    assert_eq!(
                        lid_of(&view, &lab, *at),
                        None,
                        "[seed {seed}] {at:?} left the subnet"
                    );
                }
                let other = others[rng.index(others.len())];
                assert_path(&mut lab, other, sm_at);
            }
            lab.world.step();
        }
        lab.world.run_for(Duration::from_secs(5));
        for pair in others.windows(2) {
            assert_path(&mut lab, pair[0], pair[1]);
        }
        assert_path(&mut lab, z, sm_at);
        assert_eq!(get_path(&mut lab, sm_at, removed[0]).records.len(), 0);
    }
}

fn lid_of(view: &View, lab: &Lab, at: PortAt) -> Option<Lid> {
    let guid = lab.world.fabric().port_guid(at);
    view.by_guid(guid).map(|at| view.end_port(at).lid)
}

/// Configuration of an SM with higher priority, and its LID map.
fn higher_priority_sm(lids: LidMap) -> (SmConfig, RestoredState) {
    let cfg = SmConfig {
        priority: 9,
        ..SmConfig::default()
    };
    let restored = RestoredState {
        lids,
        ..RestoredState::default()
    };
    (cfg, restored)
}

/// The restored view is dropped if every port has a different LID.
#[test]
fn many_contradictions_drop_the_restored_view() {
    let mut lab = up("fat-tree:6");
    let all_hosts = lab.hosts();
    let restored = kill(&mut lab);
    let sm_at = lab.at;
    let others: Vec<PortAt> = all_hosts.into_iter().filter(|at| *at != sm_at).collect();
    let lids: Vec<_> = others
        .iter()
        .map(|at| lab.world.fabric().lid(*at))
        .collect();
    for (i, at) in others.iter().enumerate() {
        let (lid, lmc) = lids[(i + 1) % lids.len()];
        lab.world
            .fabric_mut()
            .set_lid(*at, lid, Lmc(lmc))
            .expect("valid port");
    }
    start(&mut lab, restored);
    run_until_first_reply(&mut lab);
    lab.run_until("no replies", 60, |lab| {
        lab.manager().core().view().is_none()
    });
    assert!(lab.manager().reports().is_empty());
    assert!(has_notice(&lab, |e| matches!(
        e,
        Event::RestoredViewWithdrawn
    )));
    lab.run_until("the first sweep", 60, |lab| {
        !lab.manager().reports().is_empty()
    });
    assert!(lab.manager().core().view().is_some());
}

/// A snapshot is rejected if it is of another subnet, port, neighbour or LID, or older than another
/// master's term.
#[test]
fn foreign_snapshot_is_not_used() {
    type Change = fn(&mut Lab, &mut RestoredState);
    let cases: [(ViewMismatch, Change); 4] = [
        (ViewMismatch::AnotherPort, |_, restored| {
            let mut other = up("fat-tree:4");
            let at = other.hosts()[3];
            other.at = at;
            let mut elsewhere = Lab::on("elsewhere", other.spec, 1, SmConfig::default(), Some(at));
            elsewhere.next_sweep(60);
            restored.snapshot = kill(&mut elsewhere).snapshot;
        }),
        (ViewMismatch::AnotherLid, |lab, _| {
            let at = lab.at;
            let (_, lmc) = lab.world.fabric().lid(at);
            lab.world
                .fabric_mut()
                .set_lid(at, Lid(0x777), Lmc(lmc))
                .expect("valid port");
        }),
        (ViewMismatch::AnotherNeighbour, |lab, restored| {
            // The same tree with two hosts at swapped switch ports.
            let mut spec = lab.spec.clone();
            let sm_node = lab.at.node;
            let of =
                |node| move |l: &ferrosm_sim::spec::LinkSpec| l.a.node == node || l.b.node == node;
            let own_link = spec.links.iter().position(of(sm_node)).expect("link");
            let other_host = lab.hosts()[9].node;
            let other_link = spec.links.iter().position(of(other_host)).expect("link");
            for (link, from, to) in [
                (own_link, sm_node, other_host),
                (other_link, other_host, sm_node),
            ] {
                let link = &mut spec.links[link];
                let end = if link.a.node == from {
                    &mut link.a
                } else {
                    &mut link.b
                };
                end.node = to;
            }
            let cfg = SmConfig::default();
            let mut other = Lab::on("other cables", spec, 1, cfg, Some(lab.at));
            other.next_sweep(60);
            let (lid, lmc) = other.world.fabric().lid(lab.at);
            restored.snapshot = kill(&mut other).snapshot;
            let here = lab.at;
            lab.world
                .fabric_mut()
                .set_lid(here, lid, Lmc(lmc))
                .expect("valid port");
        }),
        (ViewMismatch::AnotherMaster, |lab, restored| {
            let at = lab.hosts()[5];
            let (lids, now) = (restored.lids.clone(), lab.world.now());
            let other = {
                let (cfg, lids) = higher_priority_sm(lids);
                Sm::new(cfg, lids, now)
            };
            let other = lab.start_sm(at, other);
            lab.world.run_for(Duration::from_secs(20));
            let _ = lab.world.kill(other);
        }),
    ];
    for (mismatch, change) in cases {
        let mut lab = up("fat-tree:4");
        let mut restored = kill(&mut lab);
        change(&mut lab, &mut restored);
        start(&mut lab, restored);
        lab.run_until(&mismatch.to_string(), 60, |lab| {
            let core = lab.manager().core();
            assert!(
                core.view().is_none() || !lab.manager().reports().is_empty(),
                "{mismatch}: replied from a foreign snapshot"
            );
            !lab.manager().reports().is_empty()
        });
        let reported = has_notice(
            &lab,
            |e| matches!(e, Event::RestoredViewRejected(found) if *found == mismatch),
        );
        assert!(reported, "{mismatch}: {:?}", lab.manager().events);
    }
}

/// With the store's bytes flipped or truncated, the restored view is correct or absent. The next
/// run has a valid store again.
#[test]
fn damaged_store_is_quarantined() {
    let mut lab = up("fat-tree:4");
    lab.world.run_for(Duration::from_secs(12));
    let view = Arc::clone(lab.manager().core().view().expect("SA view"));
    let scratch = Scratch::in_memory("torn-store");
    let dir = scratch.path().join("state");
    let file = dir.join("store.redb");
    let save = |state: StateDir| {
        let writer = state.writer().expect("writer thread started");
        let _ = writer.submit(PersistRequest::View(Some(Arc::clone(view.snapshot()))));
    };
    save(StateDir::open(&dir).expect("state directory opened"));
    let intact = std::fs::read(&file).expect("store file");
    let (mut quarantined, mut restored_views) = (0, 0);
    for seed in 0..200 {
        let mut rng = TestRng::new(seed);
        let mut damaged = intact.clone();
        match rng.index(3) {
            0 => damaged.truncate(rng.index(damaged.len())),
            1 => {
                for _ in 0..=rng.index(4) {
                    let at = rng.index(damaged.len());
                    damaged[at] ^= 1 << rng.index(8);
                }
            }
            _ => {
                let at = rng.index(damaged.len());
                let len = rng.index(4096).min(damaged.len() - at);
                damaged[at..at + len].fill(u8::try_from(rng.index(256)).unwrap_or(0));
            }
        }
        std::fs::remove_dir_all(&dir).expect("removed");
        std::fs::create_dir_all(&dir).expect("directory created");
        std::fs::write(&file, &damaged).expect("written");
        let mut state = StateDir::open(&dir).expect("state directory opened");
        match state.restored().snapshot {
            Some(snapshot) => {
                restored_views += 1;
                assert_same(&snapshot, &view, seed);
            }
            None => quarantined += usize::from(dir.join("store.redb.broken-1").exists()),
        }
        save(state);
        let restored = StateDir::open(&dir)
            .expect("state directory opened")
            .restored();
        assert_same(&restored.snapshot.expect("SA view"), &view, seed);
    }
    assert!(
        quarantined > 50 && restored_views > 10,
        "{quarantined} quarantined, {restored_views} restored"
    );
}

fn assert_same(restored: &RestoredSnapshot, view: &View, seed: u64) {
    let restored = &restored.snapshot;
    assert_eq!(restored.end_ports(), view.end_ports(), "[seed {seed}]");
    let tables = |v: &Snapshot| {
        v.nodes()
            .map(|n| (n.guid, n.info, n.switch.as_ref().map(|s| s.lft.clone())))
            .collect::<Vec<_>>()
    };
    assert!(tables(restored) == tables(view), "[seed {seed}]");
}

/// The SA does not reply while another SM is master, and the restored view is not used afterwards.
#[test]
fn restored_view_is_dropped_when_a_master_is_found() {
    let mut lab = up("fat-tree:4");
    let at = lab.hosts()[5];
    let restored = kill(&mut lab);
    let (lids, now) = (restored.lids.clone(), lab.world.now());
    let sm_at = lab.at;
    start(&mut lab, restored);
    let (cfg, lids) = higher_priority_sm(lids);
    // Other SMs see it from its start.
    let cfg = SmConfig {
        replaces_foreign_settings: true,
        ..cfg
    };
    let other = Sm::new(cfg, lids, now);
    lab.start_sm(at, other);
    run_until_first_reply(&mut lab);
    lab.run_until("the standby's role", 60, |lab| {
        lab.manager().core().role() == ferrosm_mad::attr::SmState::Standby
    });
    lab.world.run_for(Duration::from_secs(1));
    assert!(lab.manager().core().view().is_none());
    let own_lid = expected_records::lid(&lab, sm_at);
    assert!(
        try_query(
            &mut lab,
            &WireRequest::new(own_lid, method::GET_TABLE, id::NODE.0)
        )
        .is_none()
    );
    assert!(lab.manager().persisted_view.is_none());
}
