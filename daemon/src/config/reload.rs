//! Changes of a reload: which keys, and whether they need a restart.

use toml::Table;

use super::print::entries;
use super::raw::RawConfig;

/// Keys whose change needs a restart; all others take effect at once or with the next sweep.
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
    "metrics.listen",
    "log.format",
];

/// With replication, nodes identify the fabric by its name and this prefix.
const RESTART_IF_REPLICATED: &str = "subnet.prefix";

/// Keys that need a restart with this configuration.
fn restart_keys(running: &RawConfig) -> impl Iterator<Item = &'static str> {
    let keys = &running.replication;
    let replicated = !keys.listen.is_empty() || !keys.etcd.is_empty();
    let also = replicated.then_some(RESTART_IF_REPLICATED);
    RESTART.iter().copied().chain(also)
}

/// Keys that differ between two configurations.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changes {
    /// Take effect now.
    pub live: Vec<String>,
    /// Need a restart.
    pub restart: Vec<String>,
}

/// Compares two configurations.
#[must_use]
pub fn changes(old: &RawConfig, new: &RawConfig) -> Changes {
    let mut all_changes = Changes::default();
    for ((key, before), (_, after)) in entries(old).into_iter().zip(entries(new)) {
        if before == after {
            continue;
        }
        if restart_keys(old).any(|restart_key| restart_key == key) {
            all_changes.restart.push(key);
        } else {
            all_changes.live.push(key);
        }
    }
    if old.partition != new.partition {
        all_changes.live.push("partition".to_owned());
    }
    all_changes
}

/// The effective configuration after a reload: keys that need a restart have their old values, so
/// that the next reload reports them again.
#[must_use]
pub fn in_force(before: &RawConfig, new: RawConfig) -> RawConfig {
    with_restart_keys(before, &new).unwrap_or(new)
}

/// `new` with the restart keys of `running`. Never `None`: both convert to tables that have all
/// keys.
fn with_restart_keys(running: &RawConfig, new: &RawConfig) -> Option<RawConfig> {
    let before = Table::try_from(running).ok()?;
    let mut merged = Table::try_from(new).ok()?;
    for key in restart_keys(running) {
        let (section, name) = key.split_once('.')?;
        let value = before.get(section)?.get(name)?.clone();
        let keys = merged.get_mut(section)?.as_table_mut()?;
        keys.insert(name.to_owned(), value);
    }
    merged.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConfigSource;
    use crate::config::value::Bounded;
    use std::path::Path;

    fn read(text: &str) -> RawConfig {
        ConfigSource::parse(Path::new("f"), text).unwrap().raw
    }

    #[test]
    fn changes_are_grouped_by_effect() {
        let old = RawConfig::default();
        let mut new = old.clone();
        new.sm.priority = Bounded::clamped(3);
        new.port.ca = "mlx5_1".to_owned();
        let all_changes = changes(&old, &new);
        assert_eq!(all_changes.live, ["sm.priority"]);
        assert_eq!(all_changes.restart, ["port.ca"]);
        assert_eq!(changes(&new, &new), Changes::default());
    }

    #[test]
    fn keys_that_need_a_restart_exist() {
        let keys = super::super::print::keys();
        assert!(RESTART.iter().all(|k| keys.iter().any(|have| have == k)));
    }

    /// Each reload reports pending keys until the file has the effective value again.
    #[test]
    fn pending_keys_are_reported_at_each_reload() {
        let start = RawConfig::default();
        let file = read("[replication]\nlimit = \"5s\"\n[sm]\npriority = 3\n");
        let first = changes(&start, &file);
        assert_eq!(first.restart, ["replication.limit"]);
        assert_eq!(first.live, ["sm.priority"]);
        let running = in_force(&start, file.clone());
        let second = changes(&running, &file);
        assert_eq!(second.restart, ["replication.limit"]);
        assert_eq!(second.live, Vec::<String>::new());
        let restored = read("[sm]\npriority = 3\n");
        assert_eq!(
            changes(&in_force(&running, file), &restored),
            Changes::default()
        );
    }

    /// Nodes identify the fabric by the prefix; without replication it takes effect at once.
    #[test]
    fn prefix_needs_a_restart_with_replication() {
        let text = |prefix: &str| format!("[subnet]\nprefix = \"{prefix}\"\n");
        let [one, other] = ["0xfe80000000000000", "0xfec0000000000000"].map(text);
        let standalone = (read(&one), read(&other));
        assert_eq!(
            changes(&standalone.0, &standalone.1).live,
            ["subnet.prefix"]
        );
        assert_eq!(in_force(&standalone.0, standalone.1.clone()), standalone.1);
        for replicated in ["listen = \"l:1\"\n", "etcd = [\"http://e:1\"]\n"] {
            let read = |text: &str| read(&format!("{text}[replication]\n{replicated}"));
            let (running, file) = (read(&one), read(&other));
            for _ in 0..2 {
                assert_eq!(changes(&running, &file).restart, ["subnet.prefix"]);
            }
            assert_eq!(in_force(&running, file), running);
        }
    }

    /// Exactly the restart keys retain their values.
    #[test]
    fn restart_keys_retain_their_values() {
        let file = read(
            "[port]\nca = \"a\"\nnumber = 2\nguid = \"0x1\"\n[sm]\npriority = 3\npeers = [\"0x2\"]\n\
             [sa]\nmax-requests-per-host-s = 9\nmax-waiting-per-host = 9\nmax-waiting = 99\nmax-waiting-tables = 9\n\
             max-tables-mib = 9\n[replication]\nlisten = \"l\"\npeers = [\"p\"]\netcd = [\"e\"]\netcd-prefix = \"/x\"\n\
             etcd-lease = \"9s\"\nfabric = \"f\"\nca = \"a\"\ncertificate = \"c\"\nkey = \"k\"\nserver-name = \"s\"\n\
             heartbeat = \"9s\"\nlease = \"9s\"\nlimit = \"9s\"\nhang = \"9s\"\n[files]\nstate-dir = \"d\"\ndump-dir = \"d\"\n\
             capture = \"c\"\n[metrics]\nlisten = \"m\"\n[log]\nformat = \"json\"\nlevel = \"warn\"\n[[partition]]\nname = \"P\"\npkey = 0x40\n",
        );
        let start = RawConfig::default();
        assert_eq!(changes(&start, &file).restart, RESTART);
        let running = in_force(&start, file.clone());
        assert_eq!(changes(&running, &file).restart, RESTART);
        assert_eq!(changes(&running, &file).live, Vec::<String>::new());
        assert_eq!(changes(&start, &running).restart, Vec::<String>::new());
        assert_eq!(
            changes(&start, &running).live,
            [
                "sm.priority",
                "sm.peers",
                "files.dump-dir",
                "log.level",
                "partition"
            ]
        );
    }
}
