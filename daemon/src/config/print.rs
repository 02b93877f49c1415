//! Configuration as text: the commented defaults, and the effective configuration.

use std::collections::BTreeMap;

use super::raw::RawConfig;

/// `etc/ferrosm.toml`: every key with its default and a comment.
pub const DEFAULT_FILE: &str = include_str!("../../../etc/ferrosm.toml");

/// Keys whose values are never printed.
const SECRETS: &[&str] = &["sm.sm-key", "subnet.m-key"];

/// The effective configuration as a file that can be read back. Values of secret keys are omitted.
#[must_use]
pub fn effective(raw: &RawConfig) -> String {
    let default = entries(&RawConfig::default());
    let mut text = String::new();
    let mut section = String::new();
    for ((key, value), (_, default)) in entries(raw).into_iter().zip(default) {
        let Some((s, name)) = key.split_once('.') else {
            continue;
        };
        if s != section {
            let blank = if section.is_empty() { "" } else { "\n" };
            text.push_str(&format!("{blank}[{s}]\n"));
            s.clone_into(&mut section);
        }
        if SECRETS.contains(&key.as_str()) && value != default {
            text.push_str(&format!("# {name} is set; not shown\n"));
        } else {
            text.push_str(&format!("{name} = {value}\n"));
        }
    }
    if !raw.partition.is_empty() {
        let partitions = BTreeMap::from([("partition", &raw.partition)]);
        text.push('\n');
        text.push_str(&toml::to_string(&partitions).unwrap_or_default());
    }
    text
}

/// All keys as `section.key`, in the order of the file.
pub(super) fn keys() -> Vec<String> {
    entries(&RawConfig::default())
        .into_iter()
        .map(|(key, _)| key)
        .collect()
}

/// All keys with their values in TOML, in the order of the file.
pub(super) fn entries(raw: &RawConfig) -> Vec<(String, String)> {
    let text = toml::to_string(raw).unwrap_or_default();
    let mut section = "";
    let mut listed = Vec::new();
    for line in text.lines() {
        if line.starts_with("[[") {
            // Partitions are listed separately.
            break;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            section = name;
        } else if let Some((name, value)) = line.split_once(" = ") {
            listed.push((format!("{section}.{name}"), value.to_owned()));
        }
    }
    listed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConfigSource;
    use crate::config::value::Hex64;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn default_file_has_the_defaults() {
        let path = Path::new("etc/ferrosm.toml");
        assert_eq!(
            ConfigSource::parse(path, DEFAULT_FILE).unwrap().raw,
            RawConfig::default()
        );
    }

    /// Unknown keys in the file would not parse.
    #[test]
    fn default_file_has_every_key() {
        let file: toml::Table = DEFAULT_FILE.parse().unwrap();
        let in_file: BTreeSet<String> = file
            .iter()
            .flat_map(|(s, keys)| {
                keys.as_table()
                    .unwrap()
                    .keys()
                    .map(move |k| format!("{s}.{k}"))
            })
            .collect();
        assert_eq!(in_file, keys().into_iter().collect());
    }

    #[test]
    fn every_key_of_the_default_file_has_a_comment() {
        let mut previous = "";
        for line in DEFAULT_FILE.lines() {
            if !line.is_empty() && !line.starts_with(['#', '[']) {
                assert!(previous.starts_with('#'), "no comment above `{line}`");
            }
            previous = line;
        }
    }

    #[test]
    fn effective_configuration_can_be_read_back() {
        let mut raw = RawConfig::default();
        raw.port.ca = "mlx5_0".to_owned();
        raw.routing.engines = vec!["minhop".parse().unwrap(), "updn".parse().unwrap()];
        assert_eq!(
            ConfigSource::parse(Path::new("f"), &effective(&raw))
                .unwrap()
                .raw,
            raw
        );
    }

    #[test]
    fn secrets_are_not_printed() {
        let mut raw = RawConfig::default();
        raw.subnet.m_key = Hex64(0x1234_5678);
        let text = effective(&raw);
        assert!(!text.contains("12345678"), "{text}");
        assert!(text.contains("# m-key is set; not shown"), "{text}");
    }
}
