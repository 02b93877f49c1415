//! Changes of a reload: which keys, and whether they need a restart.

use super::keys::{API_CLIENT, INVARIANT, KEYS, Key, NOTIFY, PARTITION, TakesEffect};
use super::settings::Settings;

/// Keys that differ between two configurations.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changes {
    /// Take effect now.
    pub live: Vec<&'static str>,
    /// Need a restart.
    pub restart: Vec<&'static str>,
}

/// Compares the configuration in force with a new one.
#[must_use]
pub fn changes(running: &Settings, new: &Settings) -> Changes {
    let is_changed = |key: &&Key<Settings>| (key.print)(running) != (key.print)(new);
    let mut all_changes = Changes::default();
    for key in KEYS.iter().filter(is_changed) {
        if needs_restart(key, running) {
            all_changes.restart.push(key.name);
        } else {
            all_changes.live.push(key.name);
        }
    }
    if running.partition_entries != new.partition_entries {
        all_changes.live.push(PARTITION);
    }
    if running.api_clients != new.api_clients {
        all_changes.live.push(API_CLIENT);
    }
    if running.notify_entries != new.notify_entries {
        all_changes.live.push(NOTIFY);
    }
    if running.invariant_entries != new.invariant_entries {
        all_changes.live.push(INVARIANT);
    }
    all_changes
}

/// The effective configuration after a reload: keys that need a restart have their old values, so
/// that the next reload reports them again.
#[must_use]
pub fn in_force(running: &Settings, mut new: Settings) -> Settings {
    for key in KEYS.iter().filter(|key| needs_restart(key, running)) {
        (key.copy)(running, &mut new);
    }
    new
}

/// Whether the change of a key needs a restart in this configuration.
pub(super) fn needs_restart(key: &Key<Settings>, running: &Settings) -> bool {
    match key.takes_effect {
        TakesEffect::Reload => false,
        TakesEffect::Restart => true,
        TakesEffect::RestartIfReplicated => running.replication.is_configured(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConfigSource;
    use std::path::Path;

    fn read(text: &str) -> Settings {
        let source = ConfigSource::parse(Path::new("f.toml"), text);
        source.unwrap().settings
    }

    #[test]
    fn changes_are_grouped_by_effect() {
        let old = Settings::default();
        let mut new = old.clone();
        new.sm.priority = 3;
        new.port.ca = Some("mlx5_1".to_owned());
        let all_changes = changes(&old, &new);
        assert_eq!(all_changes.live, ["sm.priority"]);
        assert_eq!(all_changes.restart, ["port.ca"]);
        assert_eq!(changes(&new, &new), Changes::default());
    }

    /// Each reload reports pending keys until the file has the effective value again.
    #[test]
    fn pending_keys_are_reported_at_each_reload() {
        let start = Settings::default();
        let file = read("[replication]\nack-timeout = \"5s\"\n[sm]\npriority = 3\n");
        let first = changes(&start, &file);
        assert_eq!(first.restart, ["replication.ack-timeout"]);
        assert_eq!(first.live, ["sm.priority"]);
        let running = in_force(&start, file.clone());
        let second = changes(&running, &file);
        assert_eq!(second.restart, ["replication.ack-timeout"]);
        assert!(second.live.is_empty());
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
        for replicated in ["listen = \"[::]:1\"\n", "etcd = [\"http://[::1]:1\"]\n"] {
            let read = |text: &str| read(&format!("{text}[replication]\n{replicated}"));
            let running = read(&one);
            let file = read(&other);
            for _ in 0..2 {
                assert_eq!(changes(&running, &file).restart, ["subnet.prefix"]);
            }
            assert_eq!(in_force(&running, file), running);
        }
    }

    /// Exactly the keys that the default file marks as such need a restart.
    #[test]
    fn default_file_marks_keys_that_need_a_restart() {
        let mut marked = Vec::new();
        let mut section = "";
        let mut comment = String::new();
        let mut is_section_marked = false;
        for line in crate::config::DEFAULT_FILE.lines() {
            if let Some(text) = line.strip_prefix('#') {
                comment.push_str(text);
                continue;
            }
            if let Some(name) = line.strip_prefix('[') {
                section = name.trim_end_matches(']');
                is_section_marked = comment.contains("(restart)");
            } else if let Some((name, _)) = line.split_once(" = ")
                && (is_section_marked || comment.contains("(restart)"))
            {
                marked.push(format!("{section}.{name}"));
            }
            comment.clear();
        }
        let known: Vec<&str> = KEYS
            .iter()
            .filter(|key| key.takes_effect == TakesEffect::Restart)
            .map(|key| key.name)
            .collect();
        assert_eq!(marked, known);
    }

    /// Exactly the keys that need a restart keep their values.
    #[test]
    fn keys_that_need_a_restart_keep_their_values() {
        let file = read(
            "[port]\nca = \"a\"\n[sm]\npriority = 3\npeers = [\"0x2\"]\n[sa]\nmax-tables-mib = 9\n[replication]\nfabric = \"f\"\n\
             [files]\nstate-dir = \"d\"\ndump-dir = \"d\"\n[[partition]]\nname = \"P\"\npkey = 0x40\n",
        );
        let start = Settings::default();
        let pending = [
            "port.ca",
            "sa.max-tables-mib",
            "replication.fabric",
            "files.state-dir",
        ];
        assert_eq!(changes(&start, &file).restart, pending);
        let running = in_force(&start, file.clone());
        assert_eq!(changes(&running, &file).restart, pending);
        assert!(changes(&running, &file).live.is_empty());
        let in_force = changes(&start, &running);
        assert!(in_force.restart.is_empty());
        assert_eq!(
            in_force.live,
            ["sm.priority", "sm.peers", "files.dump-dir", "partition"]
        );
    }
}
