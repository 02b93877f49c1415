//! Tests of the link with a store and without other nodes.

use std::sync::Mutex;

use ferrosm_core::records::{Record, RecordUpdate};
use ferrosm_mad::ids::{Lid, Lmc};
use ferrosm_replication::{RecordStore as _, ReplicaCallback, ReplicationStatus};

use super::*;
use crate::testing::TempDir;
use ferrosm_store::{PersistRequest, StateDir};

/// Replication without peers; a test completes replica loads by hand.
#[derive(Default)]
struct FakeReplication {
    callback: Mutex<Option<ReplicaCallback>>,
    roles: Mutex<Vec<Role>>,
}

impl core::fmt::Debug for FakeReplication {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("FakeReplication")
    }
}

impl FakeReplication {
    fn complete_load(&self, complete: Option<bool>) {
        let callback = self.callback.lock().unwrap().take();
        callback.unwrap()(complete);
    }
}

impl Replication for FakeReplication {
    fn set_role(&self, role: Role) {
        self.roles.lock().unwrap().push(role);
    }
    fn committed(&self, _: u64, _: &RecordBatch) {}
    fn acknowledged(&self) -> u64 {
        u64::MAX
    }
    fn report_alive(&self) {}
    fn set_disk_delay(&self, _: Duration) {}
    fn complete_replica(&self, on_complete: ReplicaCallback) {
        *self.callback.lock().unwrap() = Some(on_complete);
    }
    fn status(&self) -> ReplicationStatus {
        ReplicationStatus::default()
    }
}

/// A link with a store of its own, in a directory of this name.
fn link(
    name: &str,
) -> (
    TempDir,
    Arc<StateWriter>,
    Arc<FakeReplication>,
    ReplicationLink,
) {
    let dir = TempDir::new(name);
    let writer = Arc::new(StateDir::open(dir.path()).unwrap().writer().unwrap());
    let replication = Arc::new(FakeReplication::default());
    let (_, events) = mpsc::channel(1);
    let second = Duration::from_secs(1);
    let link = ReplicationLink::new(
        Arc::clone(&replication) as Arc<dyn Replication>,
        events,
        Arc::clone(&writer),
        second,
        second,
    );
    (dir, writer, replication, link)
}

fn lid(port: u64) -> PersistRequest {
    PersistRequest::Updates(vec![RecordUpdate::Put(Record::Lid {
        port: PortGuid(port),
        lid: Lid(4),
        lmc: Lmc(0),
    })])
}

/// Ports with LIDs.
fn ports(restored: &RestoredState) -> Vec<u64> {
    restored.lids.keys().map(|g| g.0).collect()
}

#[test]
fn own_batches_of_a_standby_are_not_persisted() {
    let (dir, writer, replication, link) = link("replication-roles");
    link.set_role(ReplicationRole::Master);
    writer.submit(lid(1));
    link.set_role(ReplicationRole::Standby);
    writer.submit(lid(2));
    link.set_role(ReplicationRole::Inactive(StepDownReason::NoSuccessor));
    writer.submit(lid(3));
    link.set_role(ReplicationRole::Master);
    writer.submit(lid(4));
    drop((link, writer));
    assert_eq!(
        ports(&StateDir::open(dir.path()).unwrap().restored()),
        [1, 4]
    );
    let roles = replication.roles.lock().unwrap();
    let [
        Role::Master { epoch: first },
        Role::Standby,
        Role::Inactive(_),
        Role::Master { epoch },
    ] = roles[..]
    else {
        panic!("{roles:?}")
    };
    assert!(first != 0 && epoch != 0 && epoch != first);
}

/// The store is read when the replica is complete, with its result.
#[test]
fn load_returns_the_completed_replica() {
    let (_dir, writer, replication, mut link) = link("replication-load");
    link.load_replica(7);
    writer.submit(lid(1));
    replication.complete_load(Some(false));
    // The store thread executes requests in order.
    let _ = writer.replica_store().read_all();
    let unknown = |what| AboutSm {
        what,
        location: None,
    };
    let Some(Input::Replica(ReplicaEvent::Loaded(loaded))) = link.try_next_input(&unknown) else {
        panic!("the load has not ended")
    };
    assert_eq!((loaded.load, loaded.complete), (7, Some(false)));
    assert_eq!(loaded.restored.map(|r| ports(&r)), Some(vec![1]));
}
