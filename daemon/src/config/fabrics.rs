//! `[[fabric]]`: several fabrics of one process. The keys of a fabric override those of the file.
//!
//! Keys outside of `[[fabric]]` apply to all fabrics. Each fabric has a name, a local port, and paths of its own: unless set, its name is
//! appended to the common path. The log and the metrics endpoint belong to the process.

use core::ops::Range;
use std::collections::BTreeMap;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::raw::RawConfig;
use super::{ConfigErrors, ConfigSource, Settings};

/// The key of the list of fabrics.
pub(super) const LIST: &str = "fabric";
/// Sections that belong to the process, and why.
const COMMON: [(&str, &str); 2] = [
    ("log", "all fabrics share one log"),
    ("metrics", "all fabrics share one endpoint"),
];
/// Longest name of a fabric.
const NAME_MAX: usize = 40;

/// An error and its byte range.
pub(super) type KeyError = (Option<Range<usize>>, String);

/// Removes the fabrics from a document; returns their names and sections in the order of the file.
pub(super) fn take_fabrics<'t>(
    document: &mut DeTable<'t>,
    errors: &mut Vec<KeyError>,
) -> Vec<(String, DeTable<'t>)> {
    let Some(list) = document.remove(LIST) else {
        return Vec::new();
    };
    let span = list.span();
    let mut fabrics: Vec<(String, DeTable<'t>)> = Vec::new();
    let Some(entries) = into_tables(list) else {
        errors.push((
            Some(span),
            "fabrics are written as [[fabric]], with a name and sections such as [fabric.port]"
                .to_owned(),
        ));
        return fabrics;
    };
    for entry in entries {
        let span = entry.span();
        let mut table = entry.into_inner();
        let name = table.remove("name");
        let name_span = name.as_ref().map_or_else(|| span.clone(), Spanned::span);
        let name = name.as_ref().and_then(|name| name.get_ref().as_str());
        let name = match name.map(check_name) {
            Some(Ok(name)) => name,
            Some(Err(why)) => {
                errors.push((Some(name_span), format!("fabric.name: {why}")));
                continue;
            }
            None => {
                errors.push((
                    Some(name_span),
                    "this fabric needs a name, such as name = \"compute\"".to_owned(),
                ));
                continue;
            }
        };
        if fabrics.iter().any(|(other, _)| *other == name) {
            errors.push((
                Some(name_span),
                format!("fabric.name: duplicate name {name}"),
            ));
            continue;
        }
        for (section, reason) in COMMON {
            let Some((key, _)) = table.get_key_value(section) else {
                continue;
            };
            let message = format!("{section}: {reason}: write [{section}] outside of [[fabric]]");
            errors.push((Some(key.span()), message));
            table.remove(section);
        }
        fabrics.push((name, table));
    }
    fabrics
}

fn into_tables<'t>(list: Spanned<DeValue<'t>>) -> Option<Vec<Spanned<DeTable<'t>>>> {
    let DeValue::Array(entries) = list.into_inner() else {
        return None;
    };
    let tables = entries.into_iter().map(|entry| {
        let span = entry.span();
        let DeValue::Table(table) = entry.into_inner() else {
            return None;
        };
        Some(Spanned::new(span, table))
    });
    tables.collect()
}

/// Checks that a name can be part of a file name.
fn check_name(name: &str) -> Result<String, String> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty()
        || name.len() > NAME_MAX
        || name.starts_with('.')
        || !name.chars().all(is_allowed)
    {
        return Err(format!(
            "{name:?} must be 1 to {NAME_MAX} letters, digits, hyphens, underscores and dots, and not begin with a dot: \
             it becomes part of file names"
        ));
    }
    Ok(name.to_owned())
}

/// Overrides the keys of the file by those of a fabric.
pub(super) fn overlay<'t>(base: &DeTable<'t>, fabric_table: &DeTable<'t>) -> DeTable<'t> {
    let mut merged = base.clone();
    for (key, value) in fabric_table {
        let base_section = merged.get_mut(key.get_ref().as_ref());
        if let (Some(DeValue::Table(section)), DeValue::Table(keys)) =
            (base_section.map(Spanned::get_mut), value.get_ref())
        {
            for (key, value) in keys {
                section.remove(key.get_ref().as_ref());
                section.insert(key.clone(), value.clone());
            }
            continue;
        }
        merged.remove(key.get_ref().as_ref());
        merged.insert(key.clone(), value.clone());
    }
    merged
}

/// Appends the fabric's name to paths that it does not set itself.
pub(super) fn set_own_paths(raw: &mut RawConfig, name: &str, fabric_table: &DeTable<'_>) {
    let files = fabric_table
        .get("files")
        .and_then(|files| files.get_ref().as_table());
    let has_key = |key: &str| files.is_some_and(|files| files.contains_key(key));
    let subdirectory = |dir: &str| Path::new(dir).join(name).to_string_lossy().into_owned();
    let files = &mut raw.files;
    if !files.state_dir.is_empty() && !has_key("state-dir") {
        files.state_dir = subdirectory(&files.state_dir);
    }
    if !files.dump_dir.is_empty() && !has_key("dump-dir") {
        files.dump_dir = subdirectory(&files.dump_dir);
    }
    if !files.capture.is_empty() && !has_key("capture") {
        let path = Path::new(&files.capture);
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        files.capture = path
            .with_file_name(format!("{name}-{file}"))
            .to_string_lossy()
            .into_owned();
    }
}

/// Checks the fabrics of one file against each other.
///
/// # Errors
/// All conflicts.
pub(super) fn check_combination(fabrics: &[(ConfigSource, Settings)]) -> Result<(), ConfigErrors> {
    if fabrics.len() < 2 {
        return Ok(());
    }
    let mut errors = ConfigErrors::none();
    let mut taken: BTreeMap<(&str, String), &str> = BTreeMap::new();
    for (source, settings) in fabrics {
        let name = source.fabric().unwrap_or_default();
        let mut report = |key: &str, message: &str| {
            errors = core::mem::replace(&mut errors, ConfigErrors::none())
                .and(source.key_error(key, message))
        };
        let port = &settings.port;
        let port = match (&port.guid, &port.ca, port.number) {
            (Some(guid), ..) => Some(guid.to_string()),
            (None, Some(ca), Some(number)) => Some(format!("{ca} port {}", number.0)),
            _ => {
                report(
                    "port.guid",
                    "with several fabrics each must name its local port: port.guid, or port.ca and port.number",
                );
                None
            }
        };
        let path =
            |path: &Option<std::path::PathBuf>| path.as_ref().map(|p| p.display().to_string());
        let listen = settings
            .replication
            .as_ref()
            .and_then(|r| r.listen().map(str::to_owned));
        let keys = &settings.raw.replication;
        // Nodes identify the fabric by name and subnet prefix: with equal ones, two fabrics would mix their records.
        let replication_name = match &settings.replication {
            Some(ferrosm_replication::ReplicationSettings::Etcd(_)) => {
                let name = keys.fabric.replace(['/', ' '], "_");
                let base_prefix = keys.etcd_prefix.trim_end_matches('/');
                Some(format!("{name:?} below {base_prefix}"))
            }
            Some(ferrosm_replication::ReplicationSettings::Tcp(_)) => {
                Some(format!("{:?}", keys.fabric))
            }
            None => None,
        };
        let prefix = settings.sm.subnet_prefix;
        let replication_name =
            replication_name.map(|name| format!("{name} with subnet prefix {prefix}"));
        for (key, value) in [
            ("port.guid", port),
            ("files.state-dir", path(&settings.state_dir)),
            ("files.dump-dir", path(&settings.dump_dir)),
            ("files.capture", path(&settings.capture)),
            ("replication.listen", listen),
            ("replication.fabric", replication_name),
        ] {
            let Some(value) = value else { continue };
            if let Some(other) = taken.insert((key, value.clone()), name) {
                report(key, &format!("{value} is also used by fabric {other}"));
            }
        }
    }
    if errors.has_errors() {
        Err(errors)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{ConfigErrors, ConfigSource, Settings, resolve_all};
    use std::path::Path;

    fn resolve_text(text: &str) -> Result<Vec<(ConfigSource, Settings)>, ConfigErrors> {
        resolve_all(ConfigSource::parse(Path::new("/etc/f.toml"), text)?, |_| {})
    }

    fn errors(text: &str) -> String {
        resolve_text(text).unwrap_err().to_string()
    }

    const TWO: &str = "[sm]\npriority = 3\n[files]\ndump-dir = \"/d\"\ncapture = \"/c/all.pcapng\"\n\
        [[fabric]]\nname = \"compute\"\n[fabric.port]\nguid = \"0x1\"\n[fabric.sm]\npriority = 9\n\
        [[fabric]]\nname = \"storage\"\n[fabric.port]\nca = \"mlx5_1\"\nnumber = 1\n[fabric.files]\nstate-dir = \"/s\"\n\
        [[fabric.partition]]\nname = \"P\"\npkey = 0x40\n";

    /// Fabrics inherit common keys, override them, and have paths of their own.
    #[test]
    fn fabrics_inherit_and_override_keys() {
        let fabrics = resolve_text(TWO).unwrap();
        let fabric = |i: usize| (&fabrics[i].0, &fabrics[i].1);
        let ((compute, c), (storage, s)) = (fabric(0), fabric(1));
        assert_eq!(
            (compute.fabric(), storage.fabric()),
            (Some("compute"), Some("storage"))
        );
        assert_eq!((c.sm.priority, s.sm.priority), (9, 3));
        assert_eq!(
            c.state_dir.as_deref(),
            Some(Path::new("/var/lib/ferrosm/compute"))
        );
        assert_eq!(s.state_dir.as_deref(), Some(Path::new("/s")));
        assert_eq!(s.dump_dir.as_deref(), Some(Path::new("/d/storage")));
        assert_eq!(
            c.capture.as_deref(),
            Some(Path::new("/c/compute-all.pcapng"))
        );
        assert_eq!((c.raw.partition.len(), s.raw.partition.len()), (0, 1));
        assert_eq!(c.raw.replication.fabric, "compute");
    }

    #[test]
    fn fabric_is_selected_by_name() {
        let sources = ConfigSource::parse(Path::new("f"), TWO).unwrap();
        assert_eq!(
            ConfigSource::select(sources.clone(), Some("storage"))
                .unwrap()
                .fabric(),
            Some("storage")
        );
        assert_eq!(
            ConfigSource::select(sources.clone(), Some("backup")).unwrap_err(),
            "unknown fabric backup: the configuration has compute, storage"
        );
        assert_eq!(
            ConfigSource::select(sources, None).unwrap_err(),
            "no fabric selected: the configuration has compute, storage"
        );
        let single = ConfigSource::parse(Path::new("f"), "").unwrap();
        assert!(ConfigSource::select(single.clone(), None).is_ok());
        assert!(ConfigSource::select(single, Some("x")).is_err());
    }

    /// Errors are reported once, with their position, and with the fabric unless they are in a common key.
    #[test]
    fn errors_of_fabrics_have_positions() {
        assert_eq!(
            errors(
                "[sm]\npoll-interval = \"1ms\"\n[[fabric]]\nname = \"a\"\n[fabric.port]\nguid = \"0x1\"\n[fabric.sweep]\n\
                 smp-timeout = \"2h\"\n[[fabric]]\nname = \"b\"\n[fabric.port]\nguid = \"0x2\"\n"
            ),
            "/etc/f.toml:2:17: sm.poll-interval: must be from \"100ms\" to \"1h\"\n\
             /etc/f.toml:8:15: fabric a: sweep.smp-timeout: must be from \"1ms\" to \"1m\""
        );
        assert_eq!(
            errors("[[fabric]]\nname = \"a\"\n[fabric.sm]\npirority = 1\n"),
            "/etc/f.toml:4:1: unknown key `pirority` in [sm]: did you mean `priority`?"
        );
        assert!(errors("[fabric]\nname = \"a\"\n").contains("written as [[fabric]]"));
        assert!(
            errors("[[fabric]]\n[fabric.sm]\n")
                .contains("/etc/f.toml:1:1: this fabric needs a name")
        );
        assert!(errors("[[fabric]]\nname = \"../x\"\n").contains("becomes part of file names"));
        assert!(
            errors("[[fabric]]\nname = \"a\"\n[[fabric]]\nname = \"a\"\n")
                .contains("duplicate name a")
        );
        assert!(
            errors("[[fabric]]\nname = \"a\"\n[fabric.log]\nlevel = \"warn\"\n")
                .contains(":3:9: log: all fabrics share one log")
        );
    }

    /// Errors of a file with the fabrics `a` and `b`.
    fn two(a: &str, b: &str) -> String {
        errors(&format!(
            "[[fabric]]\nname = \"a\"\n{a}[[fabric]]\nname = \"b\"\n{b}"
        ))
    }

    fn port(n: u8) -> String {
        format!("[fabric.port]\nguid = \"{n:#x}\"\n")
    }

    #[cfg(feature = "etcd")]
    #[test]
    fn fabrics_have_different_names_in_etcd() {
        let etcd = |n, name: &str, below: &str| {
            let keys = format!(
                "etcd = [\"http://127.0.0.1:2379\"]\netcd-prefix = {below:?}\nfabric = {name:?}\n"
            );
            format!("{}[fabric.replication]\n{keys}", port(n))
        };
        // Both result in the same key prefix.
        let conflict = two(&etcd(1, "hall 1", "/x"), &etcd(2, "hall/1", "/x/"));
        assert!(
            conflict.contains("fabric b: replication.fabric: \"hall_1\" below /x with"),
            "{conflict}"
        );
    }

    #[test]
    fn fabrics_have_different_ports_and_paths() {
        let ports = two("", "[fabric.port]\nca = \"x\"\n");
        assert_eq!(
            ports.matches("each must name its local port").count(),
            2,
            "{ports}"
        );
        assert!(two(&port(1), &port(1)).contains("is also used by fabric a"));
        let tcp = |n, listen: u8| {
            let keys = "peers = [\"a:1\"]\nca = \"c\"\ncertificate = \"c\"\nkey = \"c\"\nfabric = \"site\"\n";
            format!(
                "{}[fabric.replication]\nlisten = \"127.0.0.1:{listen}\"\n{keys}",
                port(n)
            )
        };
        let conflict = two(&tcp(1, 1), &tcp(2, 2));
        assert!(
            conflict.contains("replication.fabric: \"site\" with subnet prefix"),
            "{conflict}"
        );
        let dir = "[fabric.files]\nstate-dir = \"/s\"\n";
        let conflict = two(&(port(1) + dir), &(port(2) + dir));
        assert!(
            conflict.contains("fabric b: files.state-dir: /s is also used by fabric a"),
            "{conflict}"
        );
    }
}
