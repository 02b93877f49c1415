//! Configurations of several subnets on one host, each with a service and a file of its own: what
//! they must not share.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::{ConfigErrors, ConfigSource, DEFAULT_PATH, INSTANCE_DIR, Settings};

/// The existing configuration files of the services of this host: [`DEFAULT_PATH`], and
/// `/etc/ferrosm/NAME.toml` of several subnets.
///
/// # Errors
/// The directory exists, but cannot be read.
pub fn files_of_host() -> io::Result<Vec<PathBuf>> {
    let default = PathBuf::from(DEFAULT_PATH);
    let mut files = Vec::new();
    match std::fs::read_dir(INSTANCE_DIR) {
        Ok(entries) => {
            for entry in entries {
                let path = entry?.path();
                if path.extension().is_some_and(|e| e == "toml") {
                    files.push(path);
                }
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    files.sort_by_key(|file| (*file != default, file.clone()));
    Ok(files)
}

/// Reads files of several services of one host, and checks them against each other. A warning about
/// two files belongs to the later one.
///
/// # Errors
/// All errors and warnings of all files.
pub fn read_files(files: &[PathBuf]) -> Result<Vec<(ConfigSource, Settings)>, ConfigErrors> {
    let mut found = ConfigErrors::default();
    let mut resolved = Vec::new();
    for file in files {
        match super::read(file).and_then(|source| source.into_resolved(|_| {})) {
            Ok(settings) => resolved.push(settings),
            Err(errors) => found.extend(errors.into_vec()),
        }
    }
    let subnets: Vec<_> = resolved
        .iter()
        .map(|(source, settings)| (source, settings))
        .collect();
    found.extend(check(&subnets).into_vec());
    if found.has_errors() {
        let warnings = resolved
            .into_iter()
            .flat_map(|(_, settings)| settings.warnings);
        found.extend(warnings);
        return Err(found.sorted());
    }
    for warning in found.into_vec() {
        let is_of_file = |source: &ConfigSource| source.path() == warning.file.as_deref();
        if let Some((_, settings)) = resolved.iter_mut().find(|(source, _)| is_of_file(source)) {
            settings.warnings.push(warning);
        }
    }
    Ok(resolved)
}

/// Checks the configurations of several services of one host against each other. Two services with
/// the same port, directory, file, address or name in replication are an error, two with the same
/// subnet prefix a warning. Each is reported in the later file.
#[must_use]
pub fn check(subnets: &[(&ConfigSource, &Settings)]) -> ConfigErrors {
    let mut found = ConfigErrors::default();
    let mut taken: BTreeMap<(&str, String), &ConfigSource> = BTreeMap::new();
    for &(source, settings) in subnets {
        if subnets.len() > 1 && port_name(settings).is_none() {
            let message = "with several subnets each must name its local port: port.guid, or port.ca and port.number";
            found.push(source.key_error("port.guid", message));
        }
        for (key, value) in exclusive_values(settings) {
            let Some(other) = taken.insert((key, value.clone()), source) else {
                continue;
            };
            let other = shown(other);
            let error = if key == "subnet.prefix" {
                let message = format!(
                    "{other} has {value} too: programs such as Open MPI take ports with equal prefixes for one subnet; give each subnet its own"
                );
                source.key_error(key, &message).into_warning()
            } else {
                source.key_error(key, &format!("{value} is also used by {other}"))
            };
            found.push(error);
        }
    }
    found
}

fn shown(source: &ConfigSource) -> String {
    let path = source.path().unwrap_or_else(|| Path::new(DEFAULT_PATH));
    path.display().to_string()
}

/// The local port that the settings name. A port has two names: its GUID, and its adapter with the
/// port number.
fn port_name(settings: &Settings) -> Option<String> {
    let port = &settings.port;
    match (&port.port_guid, &port.ca, port.port) {
        (Some(guid), ..) => Some(guid.to_string()),
        (None, Some(ca), Some(number)) => Some(format!("{ca} port {}", number.0)),
        (None, Some(_), None) | (None, None, _) => None,
    }
}

/// Values that one service of a host can have, with the key that sets each.
fn exclusive_values(settings: &Settings) -> Vec<(&'static str, String)> {
    let path = |path: &Option<PathBuf>| path.as_ref().map(|p| p.display().to_string());
    let section = &settings.replication;
    let prefix = settings.sm.subnet_prefix;
    // Nodes identify the subnet by name and prefix: two subnets with the same ones would mix their
    // records.
    let name = if section.etcd.is_empty() {
        format!("{:?}", section.fabric)
    } else {
        let name = section.fabric.replace(['/', ' '], "_");
        format!(
            "{name:?} below {}",
            section.etcd_prefix.trim_end_matches('/')
        )
    };
    let replicated = section
        .is_configured()
        .then(|| format!("{name} with subnet prefix {prefix}"));
    let listen = section.listen.filter(|_| section.etcd.is_empty());
    let metrics = settings.metrics.filter(|at| at.port() != 0);
    let ufm = settings.ufm.listen.filter(|at| at.port() != 0);
    let api = settings.api.listen.filter(|at| at.port() != 0);
    let web = settings.web.filter(|at| at.port() != 0);
    let values = [
        ("port.guid", port_name(settings)),
        ("files.state-dir", path(&settings.state_dir)),
        ("files.dump-dir", path(&settings.dump_dir)),
        ("files.capture", path(&settings.capture)),
        ("replication.listen", listen.map(|at| at.to_string())),
        ("api.listen", api.map(|at| at.to_string())),
        ("ufm.listen", ufm.map(|at| at.to_string())),
        ("web.listen", web.map(|at| at.to_string())),
        ("metrics.listen", metrics.map(|at| at.to_string())),
        ("replication.fabric", replicated),
        ("subnet.prefix", Some(prefix.to_string())),
    ];
    values
        .into_iter()
        .filter_map(|(key, value)| Some((key, value?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found in two files.
    fn two(a: &str, b: &str) -> String {
        let named = |text: &str, guid: u8| {
            let port = if text.contains("[port]") {
                String::new()
            } else {
                format!("[port]\nguid = \"{guid:#x}\"\n")
            };
            format!("{text}{port}")
        };
        let a = &named(a, 1);
        let b = &named(b, 2);
        let resolved =
            [("/etc/ferrosm/a.toml", a), ("/etc/ferrosm/b.toml", b)].map(|(path, text)| {
                let source = ConfigSource::parse(Path::new(path), text).unwrap();
                let settings = source.resolve(|_| {}).unwrap();
                (source, settings)
            });
        check(
            &resolved
                .each_ref()
                .map(|(source, settings)| (source, settings)),
        )
        .to_string()
    }

    const OTHER_PREFIX: &str = "[subnet]\nprefix = \"0xfe80000000000001\"\n";

    #[test]
    fn equal_prefixes_are_a_warning() {
        let found = two("", "");
        assert!(found.contains("/etc/ferrosm/a.toml has"), "{found}");
        assert_eq!(found.lines().count(), 1, "{found}");
        assert_eq!(two("", OTHER_PREFIX), "");
    }

    #[test]
    fn subnets_have_different_ports_and_paths() {
        let port = "[port]\nguid = \"0x1\"\n";
        let found = two(port, &format!("{port}{OTHER_PREFIX}"));
        assert!(
            found.contains("/etc/ferrosm/b.toml:2:8: port.guid: 0x0000000000000001 is also used by /etc/ferrosm/a.toml"),
            "{found}"
        );
        let found = two("[port]\nca = \"x\"\n", OTHER_PREFIX);
        assert!(found.contains("each must name its local port"), "{found}");
        let metrics = "[metrics]\nlisten = \"127.0.0.1:1\"\n";
        let found = two(metrics, &format!("{metrics}{OTHER_PREFIX}"));
        assert!(
            found.contains("metrics.listen: 127.0.0.1:1 is also used by"),
            "{found}"
        );
        let dir = "[files]\nstate-dir = \"/s\"\n";
        let found = two(dir, &format!("{dir}{OTHER_PREFIX}"));
        assert!(
            found.contains("files.state-dir: /s is also used by"),
            "{found}"
        );
        let tcp = |listen: u8| {
            format!(
                "[replication]\npeers = [\"a:1\"]\nca = \"c\"\ncertificate = \"c\"\nkey = \"c\"\nfabric = \"site\"\n\
                 listen = \"127.0.0.1:{listen}\"\n"
            )
        };
        let found = two(&tcp(1), &tcp(2));
        assert!(
            found.contains("replication.fabric: \"site\" with subnet prefix"),
            "{found}"
        );
    }

    #[cfg(feature = "etcd")]
    #[test]
    fn subnets_have_different_names_in_etcd() {
        let etcd = |name: &str, below: &str| {
            format!(
                "[replication]\netcd = [\"http://127.0.0.1:2379\"]\netcd-prefix = {below:?}\nfabric = {name:?}\n"
            )
        };
        // Both result in the same key prefix.
        let found = two(&etcd("hall 1", "/x"), &etcd("hall/1", "/x/"));
        assert!(
            found.contains("replication.fabric: \"hall_1\" below /x with"),
            "{found}"
        );
    }
}
