//! Whether standbys have what this master has written, and which have.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Weak;
use std::time::Instant;

use ferrosm_mad::ids::PortGuid;
use ferrosm_replication::{Replication, ReplicationStatus};

/// Time within which a standby may synchronise, and standbys may connect to a new master.
const SYNCHRONISE_WITHIN: Duration = Duration::from_secs(10);

/// The replicas of a master, and what is wrong with them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Replicas {
    /// Standbys that have all records.
    pub(super) in_sync: Vec<PortGuid>,
    /// All records are in etcd, where all standbys read them.
    pub(super) is_in_etcd: bool,
    /// No standby, nor etcd, has all records.
    pub(super) is_unprotected: bool,
    /// Standbys that do not have all records.
    pub(super) out_of_sync: Vec<PortGuid>,
}

impl Replicas {
    /// Whether an SM has all records, and gets new ones at once.
    pub(super) fn has_all_records(&self, guid: PortGuid) -> bool {
        self.is_in_etcd || self.in_sync.contains(&guid)
    }
}

/// Follows the status of replication.
#[derive(Debug, Default)]
pub(super) struct ReplicationWatch {
    /// `None` without replication.
    replication: Option<Weak<dyn Replication>>,
    unprotected_since: Option<Instant>,
    out_of_sync_since: BTreeMap<PortGuid, Instant>,
}

impl ReplicationWatch {
    pub(super) const fn new(replication: Option<Weak<dyn Replication>>) -> Self {
        Self {
            replication,
            unprotected_since: None,
            out_of_sync_since: BTreeMap::new(),
        }
    }

    /// The replicas now.
    pub(super) fn replicas(&mut self) -> Replicas {
        let replication = self.replication.as_ref().and_then(Weak::upgrade);
        let status = replication.map(|replication| replication.status());
        self.update(&status.unwrap_or_default(), Instant::now())
    }

    fn update(&mut self, status: &ReplicationStatus, now: Instant) -> Replicas {
        let is_master = status.committed.is_some();
        let is_unprotected = is_master && !status.protected;
        self.unprotected_since = self
            .unprotected_since
            .or(Some(now))
            .filter(|_| is_unprotected);
        let standbys = status.standbys.iter().flatten();
        let out_of_sync = standbys.filter(|standby| is_master && !standby.in_sync);
        self.out_of_sync_since = out_of_sync
            .map(|standby| {
                let guid = PortGuid(standby.guid);
                (guid, *self.out_of_sync_since.get(&guid).unwrap_or(&now))
            })
            .collect();
        let is_late = |since: &Instant| now.duration_since(*since) >= SYNCHRONISE_WITHIN;
        let late = self.out_of_sync_since.iter().filter(|(_, s)| is_late(s));
        let standbys = status.standbys.iter().flatten();
        let in_sync = standbys.filter(|standby| is_master && standby.in_sync);
        Replicas {
            in_sync: in_sync.map(|standby| PortGuid(standby.guid)).collect(),
            is_in_etcd: is_master && status.protected && status.standbys.is_none(),
            is_unprotected: self.unprotected_since.as_ref().is_some_and(is_late),
            out_of_sync: late.map(|(guid, _)| *guid).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use ferrosm_replication::{PeerStatus, Position};

    use super::*;

    /// A standby has time to synchronise; a master without one is reported after the same time.
    #[test]
    fn standby_that_does_not_synchronise_is_reported() {
        let start = Instant::now();
        let at = |s| start + Duration::from_secs(s);
        let mut watch = ReplicationWatch::default();
        let status = |protected, in_sync| ReplicationStatus {
            committed: Some(Position { epoch: 1, seq: 1 }),
            protected,
            standbys: Some(vec![PeerStatus { guid: 5, in_sync }]),
            ..ReplicationStatus::default()
        };
        let none = Replicas::default();
        assert_eq!(watch.update(&status(false, false), at(0)), none);
        assert_eq!(watch.update(&status(false, false), at(9)), none);
        let found = watch.update(&status(false, false), at(10));
        assert!(found.is_unprotected);
        assert_eq!(found.out_of_sync, [PortGuid(5)]);
        let synchronised = Replicas {
            in_sync: vec![PortGuid(5)],
            ..Replicas::default()
        };
        assert_eq!(watch.update(&status(true, true), at(11)), synchronised);
        assert_eq!(watch.update(&status(true, false), at(12)), none);
        let standby = ReplicationStatus::default();
        assert_eq!(watch.update(&standby, at(30)), none);
    }
}
