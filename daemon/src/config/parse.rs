//! Parses the text of a configuration file into [`Settings`], and collects all errors.

use core::ops::Range;
use std::collections::{BTreeMap, BTreeSet};

use ferrosm_opensm_compat::keyword::nearest_keyword;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::{
    API_CLIENT, API_CLIENT_KEYS, INVARIANT, INVARIANT_KEYS, KEYS, Key, NOTIFY, NOTIFY_KEYS,
    PARTITION, PARTITION_KEYS, RENAMED, is_secret,
};
use super::settings::{PartitionEntry, Settings};
use super::value::SpannedError;
use super::{INSTANCE_DIR, api, invariant, notify};

/// What a text sets, and where.
#[derive(Debug, Default)]
pub(super) struct ParsedText {
    /// The settings, with defaults for missing and invalid keys.
    pub(super) settings: Settings,
    /// Byte ranges of the values, by key.
    pub(super) spans: BTreeMap<&'static str, Range<usize>>,
    /// Byte ranges of the valid entries `[[partition]]`.
    pub(super) partition_spans: Vec<Range<usize>>,
    /// Sections with invalid keys.
    pub(super) invalid_sections: BTreeSet<String>,
    /// All errors of the text.
    pub(super) errors: Vec<SpannedError>,
}

/// Parses a text.
///
/// # Errors
/// The text is not TOML. Keys and values are then not checked: errors after a syntax error may be
/// misleading.
pub(super) fn parse(text: &str) -> Result<ParsedText, Vec<toml::de::Error>> {
    let (document, syntax_errors) = DeTable::parse_recoverable(text);
    if !syntax_errors.is_empty() {
        return Err(syntax_errors);
    }
    let mut parsed = ParsedText::default();
    for (name, value) in document.get_ref() {
        parsed.read_section(name, value);
    }
    Ok(parsed)
}

impl ParsedText {
    fn read_section(&mut self, name: &Spanned<impl AsRef<str>>, value: &Spanned<DeValue<'_>>) {
        let section = name.get_ref().as_ref();
        let errors_before = self.errors.len();
        if section == PARTITION {
            self.read_partitions(value);
        } else if section == NOTIFY {
            let entries = &mut self.settings.notify_entries;
            let errors = read_list(NOTIFY, NOTIFY_KEYS, value, entries, notify::check);
            self.errors.extend(errors);
        } else if section == INVARIANT {
            let entries = &mut self.settings.invariant_entries;
            let errors = read_list(INVARIANT, INVARIANT_KEYS, value, entries, invariant::check);
            self.errors.extend(errors);
        } else if section == API_CLIENT {
            let entries = &mut self.settings.api_clients;
            let errors = read_list(API_CLIENT, API_CLIENT_KEYS, value, entries, api::check);
            self.errors.extend(errors);
        } else if section == "fabric" {
            self.errors
                .push((name.span(), replacement_of_fabrics(value)));
        } else if !sections().contains(&section) {
            self.errors.push((name.span(), unknown_section(section)));
        } else if let Some(table) = value.get_ref().as_table() {
            let keys: Vec<_> = KEYS
                .iter()
                .filter(|key| key.section_and_name().0 == section)
                .collect();
            let read = read_table(&keys, section, table, &mut self.settings);
            self.spans.extend(read.spans);
            self.errors.extend(read.errors);
        } else {
            let message = format!("{section}: expected a section with keys, such as [{section}]");
            self.errors.push((value.span(), message));
        }
        if self.errors.len() > errors_before {
            self.invalid_sections.insert(section.to_owned());
        }
    }

    fn read_partitions(&mut self, value: &Spanned<DeValue<'_>>) {
        let Some(entries) = value.get_ref().as_array() else {
            let message = format!("{PARTITION}: expected a list of entries [[{PARTITION}]]");
            self.errors.push((value.span(), message));
            return;
        };
        let keys: Vec<_> = PARTITION_KEYS.iter().collect();
        for entry in entries {
            let Some(table) = entry.get_ref().as_table() else {
                let message = format!("{PARTITION}: expected an entry [[{PARTITION}]]");
                self.errors.push((entry.span(), message));
                continue;
            };
            let mut partition = PartitionEntry::default();
            let mut read = read_table(&keys, PARTITION, table, &mut partition);
            for required in ["name", "pkey"] {
                if !table.contains_key(required) {
                    let message = format!("{PARTITION}: key `{required}` is missing");
                    read.errors.push((entry.span(), message));
                }
            }
            if read.errors.is_empty() {
                self.settings.partition_entries.push(partition);
                self.partition_spans.push(entry.span());
            }
            self.errors.extend(read.errors);
        }
    }
}

/// Reads a list of entries into `entries`, except invalid ones. `check` says what is wrong with an
/// entry, apart from its values; it gets the entries before it.
fn read_list<S: Default>(
    list: &str,
    keys: &[Key<S>],
    value: &Spanned<DeValue<'_>>,
    entries: &mut Vec<S>,
    check: fn(&S, &[S]) -> Vec<String>,
) -> Vec<SpannedError> {
    let Some(array) = value.get_ref().as_array() else {
        let message = format!("{list}: expected a list of entries [[{list}]]");
        return vec![(value.span(), message)];
    };
    let keys: Vec<_> = keys.iter().collect();
    let mut errors = Vec::new();
    for value in array {
        let Some(table) = value.get_ref().as_table() else {
            let message = format!("{list}: expected an entry [[{list}]]");
            errors.push((value.span(), message));
            continue;
        };
        let mut entry = S::default();
        let read = read_table(&keys, list, table, &mut entry);
        // The error of a combination may be wrong if a value is invalid.
        if read.errors.is_empty() {
            let found = check(&entry, entries).into_iter();
            errors.extend(found.map(|error| (value.span(), format!("{list}: {error}"))));
            entries.push(entry);
        }
        errors.extend(read.errors);
    }
    errors
}

/// What was read from a table.
#[derive(Default)]
struct ReadTable {
    spans: Vec<(&'static str, Range<usize>)>,
    errors: Vec<SpannedError>,
}

/// Reads a table into `settings`, except invalid values.
fn read_table<S>(
    keys: &[&Key<S>],
    section: &str,
    table: &DeTable<'_>,
    settings: &mut S,
) -> ReadTable {
    let mut read = ReadTable::default();
    for (name, value) in table {
        let Some(key) = keys
            .iter()
            .find(|key| key.section_and_name().1 == name.get_ref())
        else {
            let message = unknown_key(section, name.get_ref());
            read.errors.push((name.span(), message));
            continue;
        };
        read.spans.push((key.name, value.span()));
        if let Err(errors) = (key.read)(settings, value) {
            read.errors
                .extend(errors.into_iter().map(|(span, message)| {
                    let shown = match is_secret(key.name) {
                        true => message.split(", found ").next().unwrap_or_default(),
                        false => &message,
                    };
                    (span, format!("{}: {shown}", key.name))
                }));
        }
    }
    read
}

/// All keys, in the order of the file.
fn key_names() -> impl Iterator<Item = &'static str> {
    let of_partitions = PARTITION_KEYS.iter().map(|key| key.name);
    let of_clients = API_CLIENT_KEYS.iter().map(|key| key.name);
    let of_notify = NOTIFY_KEYS.iter().map(|key| key.name);
    let of_invariants = INVARIANT_KEYS.iter().map(|key| key.name);
    KEYS.iter()
        .map(|key| key.name)
        .chain(of_partitions)
        .chain(of_clients)
        .chain(of_notify)
        .chain(of_invariants)
}

/// All sections, in the order of the file.
fn sections() -> Vec<&'static str> {
    let mut sections: Vec<_> = key_names()
        .filter_map(|key| Some(key.split_once('.')?.0))
        .collect();
    sections.dedup();
    sections
}

/// The key of this name in any section.
fn key_named(name: &str) -> Option<&'static str> {
    key_names().find(|key| {
        key.split_once('.')
            .is_some_and(|(_, of_key)| of_key == name)
    })
}

fn unknown_section(name: &str) -> String {
    if let Some(key) = key_named(name) {
        return format!("unknown key `{name}`: it belongs in a section, as {key}");
    }
    match nearest_keyword(name, sections()) {
        Some(nearest) => format!("unknown section [{name}]: did you mean [{nearest}]?"),
        None => format!(
            "unknown section or key `{name}`: the sections are {}",
            sections().join(", ")
        ),
    }
}

fn unknown_key(section: &str, name: &str) -> String {
    let full_name = format!("{section}.{name}");
    if let Some((_, new)) = RENAMED.iter().find(|(old, _)| *old == full_name) {
        let new_name = new.rsplit('.').next().unwrap_or(new);
        return format!("{full_name} was renamed: write `{new_name}`");
    }
    let header = match section {
        PARTITION | API_CLIENT | NOTIFY | INVARIANT => format!("[[{section}]]"),
        _ => format!("[{section}]"),
    };
    let prefix = format!("{section}.");
    let in_section = || key_names().filter_map(|key| key.strip_prefix(&prefix));
    // A key of an entry, such as [[notify]], is no key of another section.
    let elsewhere = key_named(name).filter(|found| KEYS.iter().any(|key| key.name == *found));
    let advice = match (elsewhere, nearest_keyword(name, in_section())) {
        (Some(elsewhere), _) => format!("did you mean {elsewhere}?"),
        (None, Some(nearest)) => format!("did you mean `{nearest}`?"),
        (None, None) => {
            let names: Vec<&str> = in_section().collect();
            format!("the keys are {}", names.join(", "))
        }
    };
    format!("unknown key `{name}` in {header}: {advice}")
}

/// What replaces the list of fabrics of earlier versions.
fn replacement_of_fabrics(value: &Spanned<DeValue<'_>>) -> String {
    let Some(entries) = value.get_ref().as_array() else {
        return "[fabric.SECTION] was removed, this file configures one subnet: write [SECTION]"
            .to_owned();
    };
    let names: Vec<&str> = entries
        .iter()
        .filter_map(|entry| entry.get_ref().get("name")?.get_ref().as_str())
        .collect();
    let files: Vec<String> = names
        .iter()
        .map(|name| format!("{INSTANCE_DIR}/{name}.toml"))
        .collect();
    let units: Vec<String> = names.iter().map(|name| format!("ferrosm@{name}")).collect();
    format!(
        "[[fabric]] was removed, each subnet has a service of its own: write {} with the sections in common and its own, [fabric.port] as \
         [port]; stop ferrosm.service, move this file away, and start {}",
        files.join(" and "),
        units.join(" and ")
    )
}

/// Whether the line at an offset ends after its `=`.
pub(super) fn lacks_value(text: &str, offset: usize) -> bool {
    let start = text[..offset].rfind('\n').map_or(0, |at| at + 1);
    let line = text[start..].lines().next();
    line.is_some_and(|line| line.trim_end().ends_with('='))
}

/// Whether a text has keys of OpenSM's configuration: a name and a value without `=`.
pub(super) fn is_opensm_configuration(text: &str) -> bool {
    let words: BTreeSet<&str> = text
        .lines()
        .filter_map(|line| Some(line.split_once(' ')?.0))
        .collect();
    let known = [
        "sm_priority",
        "subnet_prefix",
        "routing_engine",
        "m_key",
        "guid",
    ];
    known.iter().filter(|key| words.contains(*key)).count() >= 2
}
