//! Messages about invalid keys and values, with suggestions and without serde's names of types.

use ferrosm_opensm_compat::keyword::nearest_keyword;

use super::partition_keys::PARTITION_KEYS;
use super::print;

/// The list of partitions.
pub(super) const PARTITION: &str = "partition";

/// All keys as `section.key`.
fn known_keys() -> Vec<String> {
    let of_partitions = PARTITION_KEYS.map(|key| format!("{PARTITION}.{key}"));
    print::keys().into_iter().chain(of_partitions).collect()
}

/// Whether the configuration has a section or key of this name.
pub(super) fn is_known(name: &str) -> bool {
    let keys = known_keys();
    let section = |key: &str| {
        key.split_once('.')
            .is_some_and(|(section, _)| section == name)
    };
    keys.iter().any(|key| *key == name || section(key))
}

/// The name of a key, if serde reports that it is missing.
pub(super) fn missing_key(message: &str) -> Option<&str> {
    message.strip_prefix("missing field `")?.strip_suffix('`')
}

/// serde's message about an invalid value, without the names of its types.
fn describe_invalid_value(message: &str) -> String {
    if let Some(name) = missing_key(message) {
        return format!("key `{name}` is missing");
    }
    if message == "wanted string or table" {
        return "expected text in quotes".to_owned();
    }
    if let Some((found, expected)) = message
        .strip_prefix("unknown variant ")
        .and_then(|text| text.split_once(", "))
    {
        return format!("{expected}, found {found}").replace('`', "\"");
    }
    let kinds = ["invalid type: ", "invalid value: "];
    let details = kinds.iter().find_map(|kind| message.strip_prefix(kind));
    let Some((found, expected)) = details.and_then(|text| text.split_once(", expected ")) else {
        return message.to_owned();
    };
    let found = match found {
        "map" => "a section",
        "sequence" => "a list",
        found => found
            .find(['`', '"'])
            .map_or(found, |at| found[at..].trim_matches('`')),
    };
    let expected = match expected {
        "a sequence" if found.starts_with('"') => {
            return format!("expected a list, such as [{found}]");
        }
        "a sequence" => "a list in brackets",
        "a boolean" => "true or false",
        "a string" => "text in quotes",
        expected if expected.starts_with("struct ") => "a section with keys",
        expected => expected,
    };
    format!("expected {expected}, found {found}")
}

/// The message of serde, with suggestions.
pub(super) fn explain(message: &str, full_key: &str, is_unknown: bool) -> String {
    if !is_unknown {
        return format!("{full_key}: {}", describe_invalid_value(message));
    }
    let keys = known_keys();
    let Some((section, name)) = full_key.rsplit_once('.') else {
        let mut sections: Vec<&str> = keys
            .iter()
            .filter_map(|k| Some(k.split_once('.')?.0))
            .collect();
        sections.dedup();
        let key_with_section = keys
            .iter()
            .find(|k| k.split_once('.').is_some_and(|(_, n)| n == full_key));
        return match (
            nearest_keyword(full_key, sections.iter().copied()),
            key_with_section,
        ) {
            (Some(near), _) => format!("unknown section [{full_key}]: did you mean [{near}]?"),
            (None, Some(key)) => {
                format!("unknown key `{full_key}`: it belongs in a section, as {key}")
            }
            (None, None) => {
                let names = keys.iter().filter_map(|k| Some(k.rsplit_once('.')?.1));
                let near = nearest_keyword(full_key, names);
                let near = near.map_or_else(String::new, |near| {
                    format!("did you mean the key `{near}`? ")
                });
                format!(
                    "unknown section or key `{full_key}`: {near}Keys belong in one of the sections {}",
                    sections.join(", ")
                )
            }
        };
    };
    let header = match section {
        PARTITION => format!("[[{PARTITION}]]"),
        _ => format!("[{section}]"),
    };
    let prefix = format!("{section}.");
    let names = || keys.iter().filter_map(|k| k.strip_prefix(&prefix));
    let elsewhere = keys
        .iter()
        .find(|k| k.rsplit_once('.').is_some_and(|(_, n)| n == name));
    match (elsewhere, nearest_keyword(name, names())) {
        (Some(key), _) => format!("unknown key `{name}` in {header}: did you mean {key}?"),
        (None, Some(near)) => {
            format!("unknown key `{name}` in {header}: did you mean `{near}`?")
        }
        (None, None) => {
            let all_names: Vec<&str> = names().collect();
            format!(
                "unknown key `{name}` in {header}: the keys are {}",
                all_names.join(", ")
            )
        }
    }
}
