//! Parses a text into [`RawConfig`] and collects all errors.
//!
//! serde stops at the first error. Keys are independent of each other, so the invalid entry is
//! recorded and removed from the document, and the rest is parsed again until it is valid.

use core::ops::Range;
use std::collections::BTreeSet;
use std::path::Path;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::key_messages::{PARTITION, explain, is_known, missing_key};
use super::raw::RawConfig;
use super::{ConfigErrors, INSTANCE_DIR};

/// An error and its byte range.
type KeyError = (Option<Range<usize>>, String);

/// The valid keys of a text, and the errors of all others.
#[derive(Debug)]
pub(super) struct ParsedText {
    /// The keys, with defaults for missing and invalid ones.
    pub(super) raw: RawConfig,
    /// Sections with invalid keys.
    pub(super) invalid_sections: BTreeSet<String>,
    /// All errors of the text.
    pub(super) errors: ConfigErrors,
}

/// Parses a text; `path` is the file name in messages.
///
/// # Errors
/// The text is not TOML.
pub(super) fn parse(path: &Path, text: &str) -> Result<ParsedText, ConfigErrors> {
    let (document, syntax_errors) = DeTable::parse_recoverable(text);
    if !syntax_errors.is_empty() {
        return Err(describe_syntax_errors(path, text, &syntax_errors));
    }
    let mut invalid = InvalidKeys::default();
    let document_span = document.span();
    let mut document = document.into_inner();
    remove_fabrics(&mut document, &mut invalid.errors);
    let raw = parse_keys(&mut document, &document_span, &mut invalid);
    Ok(ParsedText {
        raw,
        invalid_sections: invalid.sections,
        errors: ConfigErrors::new(Some(path), text, invalid.errors),
    })
}

/// Removes the list of fabrics of earlier versions, which is an error.
fn remove_fabrics(document: &mut DeTable<'_>, errors: &mut Vec<KeyError>) {
    let Some(list) = document.remove("fabric") else {
        return;
    };
    let Some(entries) = list.get_ref().as_array() else {
        let message =
            "[fabric.SECTION] was removed, this file configures one subnet: write [SECTION]";
        errors.push((Some(list.span()), message.to_owned()));
        return;
    };
    let name = |entry: &Spanned<DeValue<'_>>| {
        let name = entry.get_ref().as_table()?.get("name")?;
        name.get_ref().as_str().map(str::to_owned)
    };
    let names: Vec<String> = entries.iter().filter_map(name).collect();
    let file = |name: &String| format!("{INSTANCE_DIR}/{name}.toml");
    let files: Vec<String> = names.iter().map(file).collect();
    let units: Vec<String> = names.iter().map(|n| format!("ferrosm@{n}")).collect();
    let message = format!(
        "[[fabric]] was removed, each subnet has a service of its own: write {} with the sections in common and its own, [fabric.port] as \
         [port]; stop ferrosm.service, move this file away, and start {}",
        files.join(" and "),
        units.join(" and ")
    );
    errors.push((Some(list.span()), message));
}

/// After a syntax error, errors in the recovered rest may be misleading.
fn describe_syntax_errors(
    path: &Path,
    text: &str,
    syntax_errors: &[toml::de::Error],
) -> ConfigErrors {
    if is_opensm_configuration(text) {
        let message = "this is an OpenSM configuration; ferrosm reads TOML: `ferrosm config print --default` lists its keys";
        return ConfigErrors::single(path, message.to_owned());
    }
    let errors = syntax_errors.iter().map(|e| {
        let line = e.span().map_or("", |span| line_at(text, span.start));
        let message = match line.trim_end().strip_suffix('=') {
            Some(key) => format!("{}: missing value after `=`", key.trim()),
            None => describe_duplicate_key(text, e).unwrap_or_else(|| e.message().to_owned()),
        };
        (e.span(), message)
    });
    let rest = "keys and values are checked when the file is valid TOML".to_owned();
    ConfigErrors::new(Some(path), text, errors).and(ConfigErrors::single(path, rest))
}

/// The message about a duplicate key, with the line that sets it first; that line is omitted in
/// inline tables.
fn describe_duplicate_key(text: &str, error: &toml::de::Error) -> Option<String> {
    let span = error
        .span()
        .filter(|_| error.message() == "duplicate key")?;
    let (before, key) = (text.get(..span.start)?, text.get(span)?);
    let message = format!("duplicate key `{key}`");
    let (above, own_line) = before.rsplit_once('\n').unwrap_or(("", before));
    let is_section = own_line.starts_with('[');
    let lines = (1..).zip(above.lines());
    let mut first = None;
    for (number, line) in lines {
        if !is_section && line.starts_with('[') {
            // The keys of another section.
            first = None;
        }
        let name = line.trim_start_matches('[').trim_start();
        let rest = name.strip_prefix(key).map(str::trim_start);
        if line.starts_with('[') == is_section && rest.is_some_and(|r| r.starts_with(['=', ']'])) {
            first = first.or(Some(number));
        }
    }
    let is_at_start = own_line.trim_matches(['[', ' ', '\t']).is_empty();
    let first = first.filter(|_| is_at_start);
    Some(match first {
        Some(number) => format!("{message}: first set in line {number}"),
        None => message,
    })
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

/// Position of a `[[partition]]` with this name in a valid text, after `skipped` others of the same
/// name.
pub(super) fn partition_span(text: &str, (name, skipped): (&str, usize)) -> Option<Range<usize>> {
    let document = DeTable::parse(text).ok()?.into_inner();
    let entries = document.get(PARTITION)?;
    let has_name = |entry: &&Spanned<DeValue<'_>>| {
        let table = entry.get_ref().as_table();
        let found = table.and_then(|table| table.get("name")?.get_ref().as_str());
        found == Some(name)
    };
    let mut named = entries.get_ref().as_array()?.iter().filter(has_name);
    Some(named.nth(skipped)?.span())
}

/// Invalid keys of a text.
#[derive(Debug, Default)]
struct InvalidKeys {
    errors: Vec<KeyError>,
    sections: BTreeSet<String>,
}

impl InvalidKeys {
    fn add(&mut self, span: Option<Range<usize>>, message: &str, removed: &Removed) {
        let section = removed.key.split('.').next().unwrap_or_default();
        self.sections.insert(section.to_owned());
        if !self.has_invalid_value_of(message, removed) {
            let text = explain(message, &removed.key, removed.is_unknown);
            self.errors.push((span, text));
        }
    }

    /// Whether a list entry lacks a key only because its invalid value was removed before.
    fn has_invalid_value_of(&self, message: &str, removed: &Removed) -> bool {
        let Some((name, entry)) = missing_key(message).zip(removed.entry.as_ref()) else {
            return false;
        };
        let prefix = format!("{}.{name}: ", removed.key);
        self.errors.iter().any(|(span, reported)| {
            let at = span.as_ref().map_or(0, |span| span.start);
            reported.starts_with(&prefix) && entry.contains(&at)
        })
    }
}

/// Parses the keys of a document; invalid entries are removed and reported in `invalid`.
fn parse_keys(
    document: &mut DeTable<'_>,
    document_span: &Range<usize>,
    invalid: &mut InvalidKeys,
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
            Some(removed) => invalid.add(error.span(), error.message(), &removed),
            None => {
                // Without a position nothing can be removed: this is the last error.
                let message = error.message().to_owned();
                invalid.errors.push((error.span(), message));
                return RawConfig::default();
            }
        }
    }
}

/// Position of the value of a key such as `sm.priority` in a valid text.
pub(super) fn position(text: &str, key: &str) -> Option<Range<usize>> {
    let document = DeTable::parse(text).ok()?.into_inner();
    let (section, name) = key.split_once('.')?;
    let section = document.get(section)?.get_ref().as_table()?;
    Some(section.get(name)?.span())
}

/// An invalid entry that was removed from the document.
struct Removed {
    /// The key with its sections: `sm.priority`.
    key: String,
    /// Whether the key is unknown, rather than its value invalid. serde reports unknown keys at the
    /// key.
    is_unknown: bool,
    /// An entry of a list: where it is in the text, with its keys.
    entry: Option<Range<usize>>,
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
    // The implicit table of a dotted key has the span of the key: invalid values are reported there
    // as well.
    let is_unknown = at_key && !is_known(&key);
    Some(Removed {
        key,
        is_unknown,
        entry: None,
    })
}

fn remove_within(
    value: &mut Spanned<DeValue<'_>>,
    span: &Range<usize>,
    name: &str,
) -> Option<Removed> {
    match value.get_mut() {
        DeValue::Table(inner) => remove(inner, span, &format!("{name}.")),
        DeValue::Array(elements) => {
            let Some(at) = elements.iter().position(|e| e.span() == *span) else {
                // A key of `[[partition]]`.
                let mut entries = elements.iter_mut();
                return entries.find_map(|entry| remove_within(entry, span, name));
            };
            let end = elements.get(at + 1).map_or(usize::MAX, |e| e.span().start);
            *elements = elements
                .clone()
                .into_iter()
                .enumerate()
                .filter_map(|(i, e)| (i != at).then_some(e))
                .collect();
            Some(Removed {
                key: name.to_owned(),
                is_unknown: false,
                entry: Some(span.start..end),
            })
        }
        DeValue::String(_)
        | DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConfigSource;

    fn errors(text: &str) -> String {
        let source = ConfigSource::parse(Path::new("f.toml"), text);
        source.unwrap_err().to_string()
    }

    #[test]
    fn empty_file_has_defaults() {
        let parsed = parse(Path::new("f"), "").unwrap();
        assert_eq!(parsed.raw, RawConfig::default());
    }

    /// The error names the files and services that replace the list, and the rest of the file is
    /// checked.
    #[test]
    fn list_of_fabrics_is_refused_with_what_replaces_it() {
        let text = "[[fabric]]\nname = \"a\"\n[fabric.sm]\npriority = 1\n[[fabric]]\nname = \"b\"\n[sm]\npirority = 1\n";
        let text = errors(text);
        assert!(text.starts_with("f.toml:1:"), "{text}");
        assert!(
            text.contains(
                "write /etc/ferrosm/a.toml and /etc/ferrosm/b.toml with the sections in common"
            ),
            "{text}"
        );
        assert!(text.contains("and start ferrosm@a and ferrosm@b"), "{text}");
        assert!(text.contains("unknown key `pirority`"), "{text}");
        let text = errors("[fabric.port]\nca = \"x\"\n");
        assert!(
            text.contains("configures one subnet: write [SECTION]"),
            "{text}"
        );
    }

    /// All errors are reported together, in the order of the file.
    #[test]
    fn all_errors_are_reported() {
        let text = "[sm]\npirority = 3\npoll-interval = 10\n\n[lids]\nlmc = 9\n[colour]\nx = 1\n";
        assert_eq!(
            errors(text),
            "f.toml:2:1: unknown key `pirority` in [sm]: did you mean `priority`?\n\
             f.toml:3:17: sm.poll-interval: expected a duration with unit in quotes, such as \"10s\" or \"200ms\", \
             found 10\n\
             f.toml:6:7: lids.lmc: expected a whole number from 0 to 7, found 9\n\
             f.toml:7:2: unknown section or key `colour`: Keys belong in one of the sections port, sm, subnet, lids, routing, partitions, qos, links, sweep, sa, replication, files, metrics, log, partition"
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
            "f.toml:2:1: sm.priority: expected a whole number from 0 to 15, found a section";
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
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("f.toml:2:"), "{text}");
        assert!(
            lines[0].ends_with(": priority: missing value after `=`"),
            "{text}"
        );
        assert!(lines[1].ends_with("when the file is valid TOML"), "{text}");
    }

    #[test]
    fn duplicate_keys_name_the_first_line() {
        for (text, expected) in [
            (
                "[sweep]\ninterval = \"1s\"\n[sm]\npriority = 1\n\npriority = 2\n",
                "f.toml:6:1: duplicate key `priority`: first set in line 4",
            ),
            (
                "[[partition]]\nname = \"a\"\n[partition]\n",
                "f.toml:3:2: duplicate key `partition`: first set in line 1",
            ),
            (
                "[sm]\npriority = 1\n[sm]\n",
                "f.toml:3:2: duplicate key `sm`: first set in line 1",
            ),
            (
                "a = 1\nsm = {a = 1, a = 2}\n",
                "f.toml:2:14: duplicate key `a`",
            ),
        ] {
            let text = errors(text);
            assert_eq!(text.lines().next(), Some(expected), "{text}");
        }
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
        assert!(
            text.starts_with("f.toml:1:6: sm: expected a section with keys, found 5\n"),
            "{text}"
        );
        assert!(text.contains("f.toml:3:7: lids.lmc"), "{text}");
    }

    #[test]
    fn messages_have_no_type_names() {
        for (text, expected) in [
            (
                "[lids]\nreassign = \"yes\"\n",
                "f.toml:2:12: lids.reassign: expected true or false, found \"yes\"",
            ),
            (
                "[port]\nca = 5\n",
                "f.toml:2:6: port.ca: expected text in quotes, found 5",
            ),
            (
                "[log]\nformat = \"xml\"\n",
                "f.toml:2:10: log.format: expected one of \"compact\", \"json\", \"opensm\", found \"xml\"",
            ),
        ] {
            assert_eq!(errors(text), expected);
        }
    }

    /// An invalid value of a required key does not count as missing.
    #[test]
    fn every_error_of_every_partition_is_reported() {
        let text = "[[partition]]\nname = \"a\"\npkey = true\nindex0 = 1\n\
            [[partition]]\nnmae = \"b\"\npkey = 2\n[[partition]]\nname = \"c\"\npkey = 0x8000\n";
        let text = errors(text);
        let expected = [
            "f.toml:3:8: partition.pkey: expected a number, such as 0x8001 or \"0x8001\", found true",
            "f.toml:4:10: partition.index0: expected true or false, found 1",
            "f.toml:5:1: partition: key `name` is missing",
            "f.toml:6:1: unknown key `nmae` in [[partition]]: did you mean `name`?",
            "f.toml:8:1: [[partition]] c: invalid P_Key `0x8000`: the low 15 bits are 0",
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    }

    /// Keys are checked except against invalid ones, and input files are read.
    #[test]
    fn type_errors_do_not_hide_other_errors() {
        let text = "[lids]\nlmc = 9\n[sweep]\nmax-outstanding = 4\nmax-outstanding-per-node = 8\n\
            [subnet]\nm-key = true\nm-key-protect-bits = 2\n[routing]\nroot-guid-file = \"/no/such\"\n\
            [log]\nformat = 5\nlevel = \"loud\"\n";
        let text = errors(text);
        let expected = [
            "f.toml:2:7: lids.lmc: ",
            "f.toml:5:28: sweep.max-outstanding-per-node: must not exceed",
            "f.toml:7:9: subnet.m-key: ",
            "f.toml:12:10: log.format: expected ",
            "f.toml:13:9: log.level: must be ",
            "/no/such: cannot read file: ",
        ];
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), expected.len(), "{text}");
        for (line, start) in lines.iter().zip(expected) {
            assert!(line.starts_with(start), "{text}");
        }
    }
}
