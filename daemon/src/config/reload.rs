//! What a reload changes: which keys, and whether they act at once.

use super::print::entries;
use super::raw::RawConfig;

/// Keys whose change needs a restart; all others act with the next sweep or at once.
const RESTART: &[&str] = &[
    "port.ca",
    "port.number",
    "port.guid",
    "sa.max-requests-per-host-s",
    "sa.max-waiting-per-host",
    "sa.max-waiting",
    "sa.max-waiting-tables",
    "sa.max-tables-mib",
    "replication.listen",
    "replication.peers",
    "replication.etcd",
    "replication.etcd-prefix",
    "replication.etcd-lease",
    "replication.fabric",
    "replication.ca",
    "replication.certificate",
    "replication.key",
    "replication.server-name",
    "replication.heartbeat",
    "replication.lease",
    "replication.limit",
    "replication.hang",
    "files.state-dir",
    "files.capture",
    "log.format",
];

/// Keys that differ between two configurations.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changes {
    /// These act now.
    pub live: Vec<String>,
    /// These wait for a restart.
    pub restart: Vec<String>,
}

/// Compares key by key.
#[must_use]
pub fn changes(old: &RawConfig, new: &RawConfig) -> Changes {
    let mut found = Changes::default();
    for ((key, before), (_, after)) in entries(old).into_iter().zip(entries(new)) {
        if before == after {
            continue;
        }
        if RESTART.contains(&key.as_str()) {
            found.restart.push(key);
        } else {
            found.live.push(key);
        }
    }
    if old.partition != new.partition {
        found.live.push("partition".to_owned());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::value::Bounded;

    #[test]
    fn a_change_is_told_by_key_and_class() {
        let old = RawConfig::default();
        let mut new = old.clone();
        new.sm.priority = Bounded::clamped(3);
        new.port.ca = "mlx5_1".to_owned();
        let found = changes(&old, &new);
        assert_eq!(found.live, ["sm.priority"]);
        assert_eq!(found.restart, ["port.ca"]);
        assert_eq!(changes(&new, &new), Changes::default());
    }

    #[test]
    fn keys_that_need_a_restart_exist() {
        let keys = super::super::print::keys();
        assert!(RESTART.iter().all(|k| keys.iter().any(|have| have == k)));
    }
}
