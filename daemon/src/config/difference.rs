//! What differs between the configuration in force and a new one, for operators.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ferrosm_api::config::{ChangedInput, ChangedKey, ConfigChange, InputChange};
use toml::Value;

use super::keys::{
    API_CLIENT, API_CLIENT_KEYS, INVARIANT, INVARIANT_KEYS, KEYS, Key, NOTIFY, NOTIFY_KEYS,
    PARTITION, PARTITION_KEYS, is_secret,
};
use super::reload::needs_restart;
use super::settings::Settings;

/// Shown in place of a key such as the M_Key.
const HIDDEN: &str = "(not shown)";
/// Shown in place of such a key that is not set.
const NOT_SET: &str = "(not set)";

/// Compares the configuration in force with a new one.
#[must_use]
pub fn difference(running: &Settings, new: &Settings) -> ConfigChange {
    let defaults = Settings::default();
    let shown = |key: &Key<Settings>, value: &Value| match is_secret(key.name) {
        true if *value == (key.print)(&defaults) => NOT_SET.to_owned(),
        true => HIDDEN.to_owned(),
        false => value.to_string(),
    };
    let mut keys = Vec::new();
    for key in KEYS {
        let old_value = (key.print)(running);
        let new_value = (key.print)(new);
        if old_value != new_value {
            keys.push(ChangedKey {
                key: key.name.to_owned(),
                old: Some(shown(key, &old_value)),
                new: Some(shown(key, &new_value)),
                needs_restart: needs_restart(key, running),
            });
        }
    }
    keys.extend(changed_entries(
        PARTITION,
        PARTITION_KEYS,
        &running.partition_entries,
        &new.partition_entries,
    ));
    keys.extend(changed_entries(
        INVARIANT,
        INVARIANT_KEYS,
        &running.invariant_entries,
        &new.invariant_entries,
    ));
    keys.extend(changed_entries(
        API_CLIENT,
        API_CLIENT_KEYS,
        &running.api_clients,
        &new.api_clients,
    ));
    keys.extend(changed_entries(
        NOTIFY,
        NOTIFY_KEYS,
        &running.notify_entries,
        &new.notify_entries,
    ));
    ConfigChange {
        keys,
        inputs: changed_inputs(running, new),
        warnings: new.warnings.iter().map(ToString::to_string).collect(),
        ..ConfigChange::default()
    }
}

/// The entries of a list such as `[[partition]]` that differ, by name. Entries with one name are
/// compared together.
fn changed_entries<E: Default>(
    list: &str,
    keys: &[Key<E>],
    running: &[E],
    new: &[E],
) -> Vec<ChangedKey> {
    let old_entries = entries_by_name(keys, running);
    let new_entries = entries_by_name(keys, new);
    let names: BTreeSet<&String> = old_entries.keys().chain(new_entries.keys()).collect();
    let changed = names.into_iter().filter_map(|name| {
        let old = old_entries.get(name);
        let new = new_entries.get(name);
        (old != new).then(|| ChangedKey {
            key: format!("{list} {name}"),
            old: old.map(|entry| entry.shown.clone()),
            new: new.map(|entry| entry.shown.clone()),
            needs_restart: false,
        })
    });
    changed.collect()
}

/// Entries with one name.
#[derive(Debug, Default, PartialEq, Eq)]
struct NamedEntries {
    /// Without what is secret.
    shown: String,
    /// All of it, to compare it.
    whole: String,
}

/// Entries by their first key, which names them.
fn entries_by_name<E: Default>(keys: &[Key<E>], entries: &[E]) -> BTreeMap<String, NamedEntries> {
    let default = E::default();
    let mut by_name: BTreeMap<String, NamedEntries> = BTreeMap::new();
    let Some((name_key, keys)) = keys.split_first() else {
        return by_name;
    };
    for entry in entries {
        let mut shown = Vec::new();
        let mut whole = Vec::new();
        for key in keys {
            let value = (key.print)(entry);
            if value == (key.print)(&default) {
                continue;
            }
            let name = key.section_and_name().1;
            whole.push(format!("{name} = {value}"));
            shown.push(match is_secret(key.name) {
                true => format!("{name} = {HIDDEN}"),
                false => format!("{name} = {value}"),
            });
        }
        let name_value = (name_key.print)(entry);
        let name = name_value
            .as_str()
            .map_or_else(|| name_value.to_string(), str::to_owned);
        let named = by_name.entry(name).or_default();
        named.shown.push_str(&format!("{{ {} }}", shown.join(", ")));
        named.whole.push_str(&format!("{{ {} }}", whole.join(", ")));
    }
    by_name
}

fn changed_inputs(running: &Settings, new: &Settings) -> Vec<ChangedInput> {
    let paths: BTreeSet<&Path> = running
        .inputs
        .keys()
        .chain(new.inputs.keys())
        .map(|path| &**path)
        .collect();
    let changed = paths.into_iter().filter_map(|path| {
        let old_text = running.inputs.get(path);
        let new_text = new.inputs.get(path);
        let change = match (old_text, new_text) {
            (None, _) => InputChange::Added,
            (_, None) => InputChange::Unused,
            (Some(old), Some(new)) if old != new => InputChange::Changed,
            (Some(_), Some(_)) => return None,
        };
        let lines = LineCounts::of(
            old_text.map_or("", String::as_str),
            new_text.map_or("", String::as_str),
        );
        Some(ChangedInput {
            path: path.display().to_string(),
            lines_added: lines.added,
            lines_removed: lines.removed,
            change,
        })
    });
    changed.collect()
}

/// How many lines two texts do not have in common, in whatever order.
struct LineCounts {
    added: usize,
    removed: usize,
}

impl LineCounts {
    fn of(old: &str, new: &str) -> Self {
        let mut balance: BTreeMap<&str, isize> = BTreeMap::new();
        for line in old.lines() {
            *balance.entry(line).or_default() -= 1;
        }
        for line in new.lines() {
            *balance.entry(line).or_default() += 1;
        }
        let sum = |counts: &mut dyn Iterator<Item = isize>| {
            counts.map(isize::unsigned_abs).sum::<usize>()
        };
        Self {
            added: sum(&mut balance.values().copied().filter(|count| *count > 0)),
            removed: sum(&mut balance.values().copied().filter(|count| *count < 0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConfigSource;
    use crate::testing::TempDir;

    fn resolve(dir: &TempDir, text: &str) -> Settings {
        let source = ConfigSource::parse(&dir.path().join("f.toml"), text).unwrap();
        source.resolve(|_| {}).unwrap()
    }

    /// Old and new values are shown, but no keys; what needs a restart is marked.
    #[test]
    fn keys_partitions_and_input_files_are_compared() {
        let dir = TempDir::new("config-difference");
        let entry = |name: &str, pkey: &str| {
            format!("[[partition]]\nname = \"{name}\"\npkey = {pkey}\nmembers = [\"ALL\"]\n")
        };
        let text = "[sm]\npriority = 3\nsm-key = \"0x77\"\n";
        let old = resolve(
            &dir,
            &[text, &entry("A", "0x7"), &entry("B", "0x8")].concat(),
        );
        let text = "[port]\nca = \"x\"\n[sm]\npriority = 4\nsm-key = \"0x78\"\n";
        let new = resolve(
            &dir,
            &[text, &entry("B", "0x9"), &entry("C", "0x8")].concat(),
        );
        let change = difference(&old, &new);
        let keys = change.keys.iter().map(|changed| {
            format!(
                "{} {:?} {:?} {}",
                changed.key,
                changed.old.as_deref().unwrap_or("-"),
                changed.new.as_deref().unwrap_or("-"),
                changed.needs_restart
            )
        });
        let keys: Vec<String> = keys.collect();
        let entry = |pkey: &str| {
            format!(
                "{:?}",
                format!("{{ pkey = \"{pkey}\", members = [\"ALL\"] }}")
            )
        };
        assert_eq!(
            keys,
            [
                "port.ca \"\\\"\\\"\" \"\\\"x\\\"\" true".to_owned(),
                "sm.priority \"3\" \"4\" false".to_owned(),
                "sm.sm-key \"(not shown)\" \"(not shown)\" false".to_owned(),
                format!("partition A {} \"-\" false", entry("0x0007")),
                format!("partition B {} {} false", entry("0x0008"), entry("0x0009")),
                format!("partition C \"-\" {} false", entry("0x0008")),
            ]
        );
        assert_eq!(change.inputs, []);
        assert!(difference(&new, &new).is_empty());
    }

    /// Clients of the API and targets of notifications are compared, without the addresses, which
    /// may contain tokens.
    #[test]
    fn api_clients_and_notifications_are_compared() {
        let dir = TempDir::new("config-difference-entries");
        let text = |role: &str, token: &str| {
            format!(
                "[[api-client]]\nsubject = \"tenant\"\nrole = \"{role}\"\n[[notify]]\nname = \"ops\"\nurl = \"https://hooks/{token}\"\nseverity = \"error\"\n"
            )
        };
        let old = resolve(&dir, &text("operate", "secret-1"));
        let new = resolve(&dir, &text("admin", "secret-2"));
        let change = difference(&old, &new);
        let shown = format!("{change:?}");
        assert!(!shown.contains("secret"), "{shown}");
        let keys: Vec<&str> = change.keys.iter().map(|changed| &*changed.key).collect();
        assert_eq!(keys, ["api-client tenant", "notify ops"]);
        assert_eq!(
            change.keys[0].old.as_deref(),
            Some("{ role = \"operate\" }")
        );
        assert_eq!(change.keys[0].new.as_deref(), Some("{ role = \"admin\" }"));
        let removed = difference(&old, &resolve(&dir, ""));
        assert!(
            removed.keys.iter().all(|changed| changed.new.is_none()),
            "{removed:?}"
        );
        assert!(difference(&new, &new).is_empty());
    }

    #[test]
    fn lines_of_input_files_are_counted() {
        let dir = TempDir::new("config-difference-files");
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        let text = "[routing]\nroot-guid-file = \"roots\"\nids-guid-file = \"ids\"\n";
        write("roots", "0x1\n0x2\n0x3\n");
        write("ids", "0x1 7\n");
        write("cn", "0x1\n");
        let old = resolve(&dir, text);
        write("roots", "0x3\n0x1\n0x4\n0x5\n");
        let text = "[routing]\nroot-guid-file = \"roots\"\ncn-guid-file = \"cn\"\n";
        let change = difference(&old, &resolve(&dir, text));
        let inputs = change.inputs.iter().map(|input| {
            let name = input.path.rsplit('/').next().unwrap();
            (name, input.lines_added, input.lines_removed, input.change)
        });
        assert_eq!(
            inputs.collect::<Vec<_>>(),
            [
                ("cn", 1, 0, InputChange::Added),
                ("ids", 0, 1, InputChange::Unused),
                ("roots", 2, 1, InputChange::Changed),
            ]
        );
        assert_eq!(change.keys.len(), 2, "{change:?}");
    }
}
