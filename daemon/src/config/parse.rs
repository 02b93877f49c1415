//! Parses a text into [`RawConfig`] and collects all errors.
//!
//! serde stops at the first error. Keys are independent of each other, so the invalid entry is recorded and removed from the document, and
//! the rest is parsed again until it is valid.

use core::ops::Range;
use std::path::Path;

use ferrosm_opensm_compat::keyword::nearest_keyword;
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::fabrics::{self, KeyError};
use super::raw::RawConfig;
use super::{ConfigErrors, print};

/// The keys of one fabric of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    /// Name of the fabric; `None` without `[[fabric]]`.
    pub fabric: Option<String>,
    /// Keys of the fabric, with defaults.
    pub raw: RawConfig,
}

/// Parses a text; returns the fabrics of `[[fabric]]` in order, or one without a name.
///
/// # Errors
/// All errors of the text; `path` is the file name in messages.
pub fn parse(path: &Path, text: &str) -> Result<Vec<Parsed>, ConfigErrors> {
    let (document, syntax_errors) = DeTable::parse_recoverable(text);
    if !syntax_errors.is_empty() && is_opensm_configuration(text) {
        let message = "this is an OpenSM configuration; ferrosm reads TOML: `ferrosm config print --default` lists its keys";
        return Err(ConfigErrors::single(path, message.to_owned()));
    }
    let mut errors: Vec<KeyError> = syntax_errors
        .iter()
        .map(|e| {
            let line = e.span().map_or("", |span| line_at(text, span.start));
            let message = match line.trim_end().strip_suffix('=') {
                Some(key) => format!("{}: missing value after `=`", key.trim()),
                None => e.message().to_owned(),
            };
            (e.span(), message)
        })
        .collect();
    // After a syntax error, errors in the recovered rest may be misleading.
    if !errors.is_empty() {
        return Err(ConfigErrors::new(Some(path), text, errors));
    }
    let document_span = document.span();
    let mut common = document.into_inner();
    let fabrics = fabrics::take_fabrics(&mut common, &mut errors);
    let raw = parse_keys(&mut common, &document_span, &mut errors);
    let mut parsed: Vec<Parsed> = Vec::new();
    for (name, fabric_table) in &fabrics {
        let mut merged = fabrics::overlay(&common, fabric_table);
        let mut raw = parse_keys(&mut merged, &document_span, &mut errors);
        fabrics::set_own_paths(&mut raw, name, fabric_table);
        parsed.push(Parsed {
            fabric: Some(name.clone()),
            raw,
        });
    }
    if !errors.is_empty() {
        return Err(ConfigErrors::new(Some(path), text, errors));
    }
    if fabrics.is_empty() {
        parsed.push(Parsed { fabric: None, raw });
    }
    Ok(parsed)
}

/// Whether a text has keys of OpenSM's configuration: a name and a value without `=`.
fn is_opensm_configuration(text: &str) -> bool {
    let first_word = |line: &str| line.split_once(' ').map(|(word, _)| word.to_owned());
    let words: Vec<String> = text.lines().filter_map(first_word).collect();
    [
        "sm_priority",
        "subnet_prefix",
        "routing_engine",
        "m_key",
        "guid",
    ]
    .iter()
    .filter(|key| words.iter().any(|word| word == *key))
    .count()
        >= 2
}

/// The line of a text that contains an offset.
fn line_at(text: &str, offset: usize) -> &str {
    let (before, after) = text.split_at_checked(offset).unwrap_or((text, ""));
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let end = after.find('\n').map_or(text.len(), |at| offset + at);
    text.get(start..end).unwrap_or_default()
}

/// Position of the n-th `[[partition]]` of a fabric in a valid text.
pub(super) fn partition_span(text: &str, fabric: Option<&str>, n: usize) -> Option<Range<usize>> {
    let mut common = DeTable::parse(text).ok()?.into_inner();
    let fabrics = fabrics::take_fabrics(&mut common, &mut Vec::new());
    let own = fabrics.iter().find(|(name, _)| Some(&**name) == fabric);
    let entries = own
        .and_then(|(_, table)| table.get("partition"))
        .or_else(|| common.get("partition"))?;
    Some(entries.get_ref().as_array()?.get(n)?.span())
}

/// Parses the keys of a document; invalid entries are removed and reported in `errors`.
fn parse_keys(
    document: &mut DeTable<'_>,
    document_span: &Range<usize>,
    errors: &mut Vec<KeyError>,
) -> RawConfig {
    loop {
        let deserializer =
            toml::Deserializer::from(Spanned::new(document_span.clone(), document.clone()));
        let error = match RawConfig::deserialize(deserializer) {
            Ok(raw) => return raw,
            Err(error) => error,
        };
        let removed = error.span().and_then(|span| remove(document, &span, ""));
        match removed {
            Some(removed) => errors.push((error.span(), explain(error.message(), &removed))),
            None => {
                // Without a position nothing can be removed: this is the last error.
                errors.push((error.span(), error.message().to_owned()));
                return RawConfig::default();
            }
        }
    }
}

/// Position of the value of a key such as `sm.priority` in a valid text, and whether it is the fabric's own value rather than the
/// common one.
pub(super) fn position(
    text: &str,
    fabric: Option<&str>,
    key: &str,
) -> Option<(Range<usize>, bool)> {
    let mut common = DeTable::parse(text).ok()?.into_inner();
    let fabrics = fabrics::take_fabrics(&mut common, &mut Vec::new());
    let fabric_table = fabrics.iter().find(|(name, _)| Some(&**name) == fabric);
    let (section, name) = key.split_once('.')?;
    let span_within = |document: &DeTable<'_>| {
        let section = document.get(section)?.get_ref().as_table()?;
        Some(section.get(name)?.span())
    };
    let own_span = fabric_table
        .and_then(|(_, table)| span_within(table))
        .map(|span| (span, true));
    own_span.or_else(|| Some((span_within(&common)?, false)))
}

/// An invalid entry that was removed from the document.
struct Removed {
    /// The key with its sections: `sm.priority`.
    key: String,
    /// Whether the key is unknown, rather than its value invalid. serde reports unknown keys at the key.
    is_unknown: bool,
}

/// Removes the innermost entry that contains `span` from a table.
fn remove(table: &mut DeTable<'_>, span: &Range<usize>, prefix: &str) -> Option<Removed> {
    let inside = |s: Range<usize>| s.start <= span.start && span.end <= s.end;
    for (key, value) in table.iter_mut() {
        let name = format!("{prefix}{}", key.get_ref());
        if let Some(removed) = remove_within(value, span, &name) {
            return Some(removed);
        }
    }
    let (entry, at_key) = table
        .iter()
        .find(|(key, value)| inside(key.span()) || inside(value.span()))
        .map(|(key, _)| (key.get_ref().clone().into_owned(), inside(key.span())))?;
    table.remove(entry.as_str());
    let key = format!("{prefix}{entry}");
    // The implicit table of a dotted key has the span of the key: invalid values are reported there as well.
    let is_unknown = at_key && !is_known(&key);
    Some(Removed { key, is_unknown })
}

/// Whether the configuration has a section or key of this name.
fn is_known(name: &str) -> bool {
    let keys = print::keys();
    let section = |key: &str| {
        key.split_once('.')
            .is_some_and(|(section, _)| section == name)
    };
    keys.iter().any(|key| *key == name || section(key))
}

fn remove_within(
    value: &mut Spanned<DeValue<'_>>,
    span: &Range<usize>,
    name: &str,
) -> Option<Removed> {
    match value.get_mut() {
        DeValue::Table(inner) => remove(inner, span, &format!("{name}.")),
        DeValue::Array(elements) => {
            let at = elements.iter().position(|e| e.span() == *span)?;
            *elements = elements
                .clone()
                .into_iter()
                .enumerate()
                .filter_map(|(i, e)| (i != at).then_some(e))
                .collect();
            Some(Removed {
                key: name.to_owned(),
                is_unknown: false,
            })
        }
        DeValue::String(_)
        | DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_) => None,
    }
}

/// The message of serde, with suggestions.
fn explain(message: &str, removed: &Removed) -> String {
    if !removed.is_unknown {
        let message = match message.strip_suffix(", expected a sequence") {
            Some(found) => match found.strip_prefix("invalid type: string ") {
                Some(text) => format!("expected a list, such as [{text}]"),
                None => format!("{found}, expected a list in brackets"),
            },
            None => message.to_owned(),
        };
        return format!("{}: {message}", removed.key);
    }
    let keys = print::keys();
    let Some((section, name)) = removed.key.rsplit_once('.') else {
        let mut sections: Vec<&str> = keys
            .iter()
            .filter_map(|k| Some(k.split_once('.')?.0))
            .collect();
        sections.dedup();
        let key_with_section = keys
            .iter()
            .find(|k| k.split_once('.').is_some_and(|(_, n)| n == removed.key));
        return match (
            nearest_keyword(&removed.key, sections.iter().copied()),
            key_with_section,
        ) {
            (Some(near), _) => format!("unknown section [{}]: did you mean [{near}]?", removed.key),
            (None, Some(key)) => format!(
                "unknown key `{}`: it belongs in a section, as {key}",
                removed.key
            ),
            (None, None) => {
                let names = keys.iter().filter_map(|k| Some(k.rsplit_once('.')?.1));
                let near = nearest_keyword(&removed.key, names);
                let near = near.map_or_else(String::new, |near| {
                    format!("did you mean the key `{near}`? ")
                });
                format!(
                    "unknown section or key `{}`: {near}Keys belong in one of the sections {}",
                    removed.key,
                    sections.join(", ")
                )
            }
        };
    };
    let prefix = format!("{section}.");
    let names = || keys.iter().filter_map(|k| k.strip_prefix(&prefix));
    let elsewhere = keys
        .iter()
        .find(|k| k.rsplit_once('.').is_some_and(|(_, n)| n == name));
    match (elsewhere, nearest_keyword(name, names())) {
        (Some(key), _) => format!("unknown key `{name}` in [{section}]: did you mean {key}?"),
        (None, Some(near)) => {
            format!("unknown key `{name}` in [{section}]: did you mean `{near}`?")
        }
        (None, None) => {
            let all_names: Vec<&str> = names().collect();
            format!(
                "unknown key `{name}` in [{section}]: the keys are {}",
                all_names.join(", ")
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(text: &str) -> String {
        parse(Path::new("f.toml"), text).unwrap_err().to_string()
    }

    #[test]
    fn empty_file_has_defaults() {
        let [only] = &parse(Path::new("f"), "").unwrap()[..] else {
            panic!("one fabric")
        };
        assert_eq!((&only.fabric, &only.raw), (&None, &RawConfig::default()));
    }

    /// All errors are reported together, in the order of the file.
    #[test]
    fn all_errors_are_reported() {
        let text = "[sm]\npirority = 3\npoll-interval = 10\n\n[lids]\nlmc = 9\n[colour]\nx = 1\n";
        assert_eq!(
            errors(text),
            "f.toml:2:1: unknown key `pirority` in [sm]: did you mean `priority`?\n\
             f.toml:3:17: sm.poll-interval: invalid type: integer `10`, expected a duration with unit in quotes, \
             such as \"10s\" or \"200ms\"\n\
             f.toml:6:7: lids.lmc: invalid value: integer `9`, expected a whole number from 0 to 7\n\
             f.toml:7:2: unknown section or key `colour`: Keys belong in one of the sections port, sm, subnet, lids, routing, partitions, qos, links, sweep, sa, replication, files, metrics, log"
        );
    }

    #[test]
    fn key_of_another_section_is_suggested() {
        assert_eq!(
            errors("[sm]\nlmc = 1\n"),
            "f.toml:2:1: unknown key `lmc` in [sm]: did you mean lids.lmc?"
        );
        assert_eq!(
            errors("lmc = 1\n"),
            "f.toml:1:1: unknown key `lmc`: it belongs in a section, as lids.lmc"
        );
    }

    #[test]
    fn table_instead_of_a_value_is_a_type_error() {
        let text = errors("[sm]\npriority.x = 1\n");
        let right =
            "f.toml:2:1: sm.priority: invalid type: map, expected a whole number from 0 to 15";
        assert_eq!(text, right);
        let text = errors("[sm]\npirority.x = 1\n");
        assert!(text.contains("unknown key `pirority` in [sm]"), "{text}");
    }

    #[test]
    fn every_unknown_engine_is_reported() {
        let text = "[routing]\nengines = [\"updm\", \"minhop\", \"zigzag\"]\n";
        let text = errors(text);
        assert!(
            text.contains(
                "f.toml:2:12: routing.engines: unknown routing engine `updm`: did you mean `updn`?"
            ),
            "{text}"
        );
        assert!(
            text.contains(
                "f.toml:2:30: routing.engines: unknown routing engine `zigzag`: the engines are "
            ),
            "{text}"
        );
    }

    #[test]
    fn missing_value_is_reported_at_its_key() {
        let text = errors("[sm]\npriority = \n");
        assert!(text.starts_with("f.toml:2:"), "{text}");
        assert!(
            text.ends_with(": priority: missing value after `=`"),
            "{text}"
        );
    }

    #[test]
    fn opensm_configuration_is_recognized() {
        let text = errors("# OpenSM\nguid 0x0000000000000000\nsm_priority 3\n");
        assert!(
            text.starts_with("f.toml: this is an OpenSM configuration"),
            "{text}"
        );
    }

    #[test]
    fn text_instead_of_a_list_is_shown_as_a_list() {
        let text = errors("[routing]\nengines = \"ftree\"\n");
        let expected = "f.toml:2:11: routing.engines: expected a list, such as [\"ftree\"]";
        assert_eq!(text, expected);
    }

    #[test]
    fn value_instead_of_a_section_is_a_type_error() {
        let text = errors("sm = 5\n[lids]\nlmc = 8\n");
        assert!(text.starts_with("f.toml:1:6: sm: invalid type"), "{text}");
        assert!(text.contains("f.toml:3:7: lids.lmc"), "{text}");
    }
}
