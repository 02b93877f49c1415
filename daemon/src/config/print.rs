//! Configuration as text: the commented defaults, and the effective configuration.

use ferrosm_opensm_compat::export::{ExportedKey, KeyValue};
use ferrosm_opensm_compat::options::conversion::Conversion;
use ferrosm_opensm_compat::options::{self, Equivalent};
use toml::Value;

use super::keys::{
    API_CLIENT, API_CLIENT_KEYS, INVARIANT, INVARIANT_KEYS, KEYS, Key, NOTIFY, NOTIFY_KEYS,
    PARTITION, PARTITION_KEYS, is_secret,
};
use super::parse;
use super::settings::Settings;

/// `etc/ferrosm.toml`: every key with its default and a comment.
pub const DEFAULT_FILE: &str = include_str!("../../../etc/ferrosm.toml");

/// The effective configuration as a file that can be read back. Values of secret keys are omitted.
#[must_use]
pub fn effective(settings: &Settings) -> String {
    let defaults = Settings::default();
    let mut text = String::new();
    let mut last_section = "";
    for key in KEYS {
        let (section, name) = key.section_and_name();
        if section != last_section {
            let blank = if last_section.is_empty() { "" } else { "\n" };
            text.push_str(&format!("{blank}[{section}]\n"));
            last_section = section;
        }
        let value = (key.print)(settings);
        if is_secret(key.name) && value != (key.print)(&defaults) {
            text.push_str(&format!("# {name} is set; not shown\n"));
        } else {
            text.push_str(&format!("{name} = {value}\n"));
        }
    }
    for entry in &settings.partition_entries {
        text.push_str(&print_entry(PARTITION, PARTITION_KEYS, entry));
    }
    for entry in &settings.api_clients {
        text.push_str(&print_entry(API_CLIENT, API_CLIENT_KEYS, entry));
    }
    for entry in &settings.notify_entries {
        text.push_str(&print_entry(NOTIFY, NOTIFY_KEYS, entry));
    }
    for entry in &settings.invariant_entries {
        text.push_str(&print_entry(INVARIANT, INVARIANT_KEYS, entry));
    }
    text
}

/// Whether a value, in TOML, is the default of a key.
#[must_use]
pub fn is_default(name: &str, value: &str) -> bool {
    let Some(key) = KEYS.iter().find(|key| key.name == name) else {
        return false;
    };
    let (section, key_name) = key.section_and_name();
    let text = format!("[{section}]\n{key_name} = {value}\n");
    parse::parse(&text).is_ok_and(|parsed| {
        let default = (key.print)(&Settings::default());
        parsed.errors.is_empty() && (key.print)(&parsed.settings) == default
    })
}

/// All keys with their values, for other formats. Paths are absolute.
#[must_use]
pub fn exported_keys(settings: &Settings) -> Vec<ExportedKey> {
    let defaults = Settings::default();
    let exported = |key: &Key<Settings>| {
        let value = (key.print)(settings);
        let default = (key.print)(&defaults);
        Some(ExportedKey {
            key: key.name,
            is_default: value == default,
            value: key_value(key.name, &value, settings)?,
        })
    };
    KEYS.iter().filter_map(exported).collect()
}

/// A value of a key. TOML has more kinds than keys have.
fn key_value(name: &str, value: &Value, settings: &Settings) -> Option<KeyValue> {
    Some(match value {
        Value::Boolean(flag) => KeyValue::Flag(*flag),
        Value::Integer(number) => KeyValue::Whole(u64::try_from(*number).ok()?),
        Value::Array(list) => {
            let items = list.iter().filter_map(Value::as_str);
            KeyValue::List(items.map(str::to_owned).collect())
        }
        Value::String(text) => text_value(name, text, settings),
        Value::Float(_) | Value::Datetime(_) | Value::Table(_) => return None,
    })
}

fn text_value(name: &str, text: &str, settings: &Settings) -> KeyValue {
    let option = options::all().find_map(|option| match option.equivalent {
        Equivalent::Key(key) if key.key == name => Some(key.conversion),
        Equivalent::Key(_) | Equivalent::NotNeeded(_) | Equivalent::Absent { .. } => None,
    });
    let as_text = || KeyValue::Text(text.to_owned());
    match option {
        Some(Conversion::Time { .. }) => {
            let time = humantime::parse_duration(text).ok();
            let ms = time.and_then(|time| u64::try_from(time.as_millis()).ok());
            ms.map_or_else(as_text, KeyValue::Milliseconds)
        }
        Some(Conversion::Path) if !text.is_empty() => {
            let path = settings.dir.join(text);
            let absolute = std::path::absolute(&path).unwrap_or(path);
            KeyValue::Text(absolute.to_string_lossy().into_owned())
        }
        Some(_) | None => as_text(),
    }
}

/// The keys of an entry of a list that differ from their defaults.
fn print_entry<S: Default>(list: &str, keys: &[Key<S>], entry: &S) -> String {
    let default = S::default();
    let mut text = format!("\n[[{list}]]\n");
    for key in keys {
        let value = (key.print)(entry);
        let (_, name) = key.section_and_name();
        if value == (key.print)(&default) {
            continue;
        }
        if is_secret(key.name) {
            text.push_str(&format!("# {name} is set; not shown\n"));
        } else {
            text.push_str(&format!("{name} = {value}\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use ferrosm_mad::ids::MKey;

    use super::*;
    use crate::config::ConfigSource;
    use std::collections::BTreeSet;
    use std::path::Path;

    fn parse(text: &str) -> Settings {
        let source = ConfigSource::parse(Path::new("f.toml"), text);
        source.unwrap().settings
    }

    #[test]
    fn default_file_has_the_defaults() {
        assert_eq!(parse(DEFAULT_FILE), Settings::default());
    }

    /// Unknown keys in the file would not parse.
    #[test]
    fn default_file_has_every_key() {
        let file: toml::Table = DEFAULT_FILE.parse().unwrap();
        let in_file: BTreeSet<String> = file
            .iter()
            .flat_map(|(section, keys)| {
                let names = keys.as_table().unwrap().keys();
                names.map(move |name| format!("{section}.{name}"))
            })
            .collect();
        let known: BTreeSet<String> = KEYS.iter().map(|key| key.name.to_owned()).collect();
        assert_eq!(in_file, known);
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
        let mut settings = Settings::default();
        settings.port.ca = Some("mlx5_0".to_owned());
        settings.sm.engines = vec!["minhop".to_owned(), "updn".to_owned()];
        settings.sm.sweep_interval = core::time::Duration::ZERO;
        settings.sm.routing_vls = 4;
        settings.state_dir = None;
        assert_eq!(parse(&effective(&settings)), settings);
    }

    /// Every key that an import of OpenSM's options can set exists, with the ends of its range.
    #[test]
    fn keys_of_opensms_options_exist() {
        use ferrosm_opensm_compat::options::conversion::Conversion;
        use ferrosm_opensm_compat::options::{self, Equivalent};
        for option in options::all() {
            let Equivalent::Key(key) = option.equivalent else {
                continue;
            };
            let (section, name) = key.key.split_once('.').unwrap();
            let mut values = vec![option.default.to_owned()];
            if let Conversion::Whole { .. } | Conversion::Time { .. } = key.conversion {
                values.extend(["0".to_owned(), u32::MAX.to_string()]);
            }
            for value in values {
                if let Some(toml) = key.conversion.convert(&value).value {
                    let text = format!("[{section}]\n{name} = {}\n", toml.to_toml());
                    let parsed = parse::parse(&text).unwrap();
                    assert!(parsed.errors.is_empty(), "{text}{:?}", parsed.errors);
                }
            }
        }
    }

    /// The defaults that OpenSM and ferrosm share, and those that differ.
    #[test]
    fn defaults_of_opensm_are_those_of_ferrosm_except_some() {
        use ferrosm_opensm_compat::options::{self, Equivalent};
        let mut differing = BTreeSet::new();
        for option in options::all() {
            if let Equivalent::Key(key) = option.equivalent
                && let Some(toml) = key.conversion.convert(option.default).value
                && !is_default(key.key, &toml.to_toml())
            {
                differing.insert(option.name);
            }
        }
        let expected = [
            "dump_files_dir",
            "max_wire_smps",
            "nue_max_num_vls",
            "partition_config_file",
            "prefix_routes_file",
            "qos_policy_file",
            "routing_engine",
            "torus_config",
        ];
        assert_eq!(differing, BTreeSet::from(expected));
    }

    #[test]
    fn secrets_are_not_printed() {
        let mut settings = Settings::default();
        settings.sm.m_key = MKey::new(0x1234_5678);
        let text = effective(&settings);
        assert!(!text.contains("12345678"), "{text}");
        assert!(text.contains("# m-key is set; not shown"), "{text}");
    }
}
