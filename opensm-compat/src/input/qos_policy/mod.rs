//! `qos-policy.conf` of OpenSM: SL and limits of paths.
//!
//! The grammar is OpenSM's, with one keyword per line; a list that ends with a comma continues in
//! the next line. MTU and rate may also have units: `mtu-limit: 2048`, `rate-limit: 100G`. Where
//! OpenSM rejects the file, the parser returns errors with positions. Contents without effect cause
//! a warning: the tables of `qos-setup`, which neither OpenSM nor ferrosm writes to devices (the
//! routing determines VLs), and unknown names.
//!
//! | module | contents |
//! |---|---|
//! | this | sections, and the resulting policy |
//! | `items` | a port group, level or rule |
//! | `ulps` | the simplified policy |
//! | `values` | ranges, names |

mod items;
mod ulps;
mod values;

use std::sync::Arc;

use ferrosm_core::config::partitions::Partition;
use ferrosm_sa::qos::{QosLevel, QosPolicy, QosPortGroup, QosRule};

use super::line::ERRORS_MAX;
use super::span::{SourceText, Span};
use crate::error::InputError;
use crate::keyword::nearest_keyword;
use items::{Item, LevelDraft, NameTable, RuleDraft};
use ulps::Ulp;

/// Name of the level of requests that no rule matches.
const DEFAULT: &str = "DEFAULT";

/// Sections and items; each ends with its keyword preceded by `end-`.
const SECTIONS: [Section; 12] = [
    Section::new("port-groups", "", &[]),
    Section::new(
        "port-group",
        "port-groups",
        &[
            "name",
            "use",
            "port-guid",
            "port-name",
            "pkey",
            "partition",
            "node-type",
        ],
    ),
    Section::new("qos-setup", "", &[]),
    Section::new("vlarb-tables", "qos-setup", &[]),
    Section::new(
        "vlarb-scope",
        "vlarb-tables",
        &[
            "group",
            "across",
            "vlarb-high",
            "vlarb-low",
            "vl-high-limit",
        ],
    ),
    Section::new("sl2vl-tables", "qos-setup", &[]),
    Section::new(
        "sl2vl-scope",
        "sl2vl-tables",
        &[
            "group",
            "across",
            "across-from",
            "across-to",
            "from",
            "to",
            "sl2vl-table",
        ],
    ),
    Section::new("qos-levels", "", &[]),
    Section::new(
        "qos-level",
        "qos-levels",
        &[
            "name",
            "use",
            "sl",
            "mtu-limit",
            "rate-limit",
            "packet-life",
            "path-bits",
            "pkey",
        ],
    ),
    Section::new("qos-match-rules", "", &[]),
    Section::new(
        "qos-match-rule",
        "qos-match-rules",
        &[
            "use",
            "source",
            "destination",
            "qos-class",
            "service-id",
            "pkey",
            "qos-level-name",
        ],
    ),
    Section::new(ULPS, "", &[]),
];
const ULPS: &str = "qos-ulps";

/// A keyword that starts a section or an item.
#[derive(Debug)]
struct Section {
    keyword: &'static str,
    /// The enclosing section; empty for none.
    parent: &'static str,
    /// Keys of the item.
    keys: &'static [&'static str],
}

impl Section {
    const fn new(
        keyword: &'static str,
        parent: &'static str,
        keys: &'static [&'static str],
    ) -> Self {
        Self {
            keyword,
            parent,
            keys,
        }
    }

    fn by_keyword(word: &str) -> Option<&'static Self> {
        SECTIONS.iter().find(|s| s.keyword == word)
    }
}

/// Contents of `qos-policy.conf`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QosPolicyConf {
    pub policy: QosPolicy,
    /// Probable mistakes that OpenSM accepts.
    pub warnings: Vec<InputError>,
}

/// Parses the text; port groups may refer to `partitions`.
///
/// # Errors
/// All errors and warnings of the file.
pub fn parse(text: &str, partitions: &[Partition]) -> Result<QosPolicyConf, Vec<InputError>> {
    let text = SourceText::with_quotes(text);
    let mut parser = QosPolicyParser {
        partitions,
        open: Vec::new(),
        item: None,
        keys_seen: Vec::new(),
        groups: Vec::new(),
        levels: Vec::new(),
        rules: Vec::new(),
        ulps: Vec::new(),
        default: None,
        warnings: Vec::new(),
        errors: Vec::new(),
    };
    for line in text.lines(|next| !next.contains(':') && !is_section_word(next)) {
        parser.parse_line(&line);
    }
    parser.finish()
}

fn is_section_word(line: &str) -> bool {
    Section::by_keyword(line.strip_prefix("end-").unwrap_or(line)).is_some()
}

struct QosPolicyParser<'a> {
    partitions: &'a [Partition],
    /// Open sections and items, with the positions of their keywords.
    open: Vec<(&'static Section, Span<'a>)>,
    /// The item being parsed.
    item: Option<Item<'a>>,
    /// Keys of the item so far.
    keys_seen: Vec<&'a str>,
    groups: Vec<Arc<QosPortGroup>>,
    levels: Vec<Arc<QosLevel>>,
    rules: Vec<RuleDraft<'a>>,
    ulps: Vec<QosRule>,
    /// The default of the simplified policy, and its position.
    default: Option<(Arc<QosLevel>, Span<'a>)>,
    warnings: Vec<InputError>,
    errors: Vec<InputError>,
}

impl<'a> QosPolicyParser<'a> {
    fn parse_line(&mut self, line: &Span<'a>) {
        let text = line.text();
        if let Some(section) = text.strip_prefix("end-").and_then(Section::by_keyword) {
            return self.close_section(section, line);
        }
        if let Some(section) = Section::by_keyword(text) {
            return self.open_section(section, line);
        }
        match self.open.last() {
            Some((section, _)) if section.keyword == ULPS => self.parse_ulp(line),
            Some((section, _)) => self.parse_setting(section, line),
            None => {
                let word = line.split_word().0;
                let message = format!(
                    "`{}` is not a section: {}",
                    word.text(),
                    suggest_section(word.text())
                );
                self.errors.push(word.error(message));
            }
        }
    }

    fn open_section(&mut self, section: &'static Section, line: &Span<'a>) {
        let inside = self.open.last().map_or("", |(open, _)| open.keyword);
        if inside != section.parent {
            let message = match self.open.last() {
                Some((open, at)) if section.parent.is_empty() => format!(
                    "`end-{}` is missing before `{}`: line {} starts `{}`",
                    open.keyword,
                    section.keyword,
                    at.line(),
                    open.keyword
                ),
                _ => format!(
                    "`{}` is only allowed in `{}`",
                    section.keyword, section.parent
                ),
            };
            self.errors.push(line.error(message));
            if section.parent.is_empty() {
                // Closes the previous section.
                self.open.clear();
                self.item = None;
            }
        }
        self.open.push((section, line.clone()));
        self.keys_seen.clear();
        self.item = match section.keyword {
            "port-group" => Some(Item::Group(QosPortGroup::default())),
            "qos-level" => Some(Item::Level(LevelDraft::default())),
            "qos-match-rule" => Some(Item::Rule(RuleDraft::default())),
            "vlarb-scope" | "sl2vl-scope" => Some(Item::Setup),
            _ => None,
        };
        if section.parent == "qos-setup" {
            let message = format!(
                "`{}` ignored, as by OpenSM: the routing determines VLs, and tables of this file are not written",
                section.keyword
            );
            self.warnings.push(line.warning(message));
        }
    }

    fn close_section(&mut self, section: &'static Section, line: &Span<'a>) {
        let Some(at) = self
            .open
            .iter()
            .rposition(|(open, _)| open.keyword == section.keyword)
        else {
            let message = format!("`end-{0}` without `{0}`", section.keyword);
            return self.errors.push(line.error(message));
        };
        if let Some((missing, start)) = self.open.get(at + 1) {
            let message = format!(
                "`end-{}` is missing: line {} starts `{}`",
                missing.keyword,
                start.line(),
                missing.keyword
            );
            self.errors.push(line.error(message));
        }
        let section = self.open.get(at + 1).map_or(section, |(inner, _)| inner);
        self.open.truncate(at);
        let item = self.item.take();
        match item {
            Some(Item::Group(group)) if group.name.is_empty() => {
                self.require_key("name", section, line);
            }
            Some(Item::Group(group)) => {
                if self.name_table().group(&group.name).is_some() {
                    let message = format!("duplicate port-group `{}` ignored", group.name);
                    self.warnings.push(line.warning(message));
                }
                self.groups.push(Arc::new(group));
            }
            Some(Item::Level(draft)) => self.end_level(draft, section, line),
            Some(Item::Rule(rule)) if !rule.has_level() => {
                self.require_key("qos-level-name", section, line);
            }
            Some(Item::Rule(rule)) => self.rules.push(rule),
            Some(Item::Setup) | None => {}
        }
    }

    fn end_level(&mut self, draft: LevelDraft, section: &Section, line: &Span<'a>) {
        if !draft.has_sl {
            self.require_key("sl", section, line);
        }
        if draft.level.name.is_empty() {
            self.require_key("name", section, line);
        }
        if self.name_table().level(&draft.level.name).is_some() {
            let message = format!("duplicate qos-level `{}` ignored", draft.level.name);
            self.warnings.push(line.warning(message));
        }
        self.levels.push(Arc::new(draft.level));
    }

    /// Reports that a required key is missing, unless it had an invalid value, which was reported.
    fn require_key(&mut self, key: &str, section: &Section, line: &Span<'a>) {
        if !self.keys_seen.contains(&key) {
            let message = format!("this {} has no `{key}`", section.keyword);
            self.errors.push(line.error(message));
        }
    }

    /// `key: value` in an item.
    fn parse_setting(&mut self, section: &'static Section, line: &Span<'a>) {
        let Some((key, value)) = line.split_once(':') else {
            let word = line.split_word().0;
            let message = if section.keys.is_empty() {
                describe_misplaced(section, word.text())
            } else if section.keys.contains(&word.text()) {
                self.keys_seen.push(word.text());
                format!("missing `:` after `{}`", word.text())
            } else {
                describe_unknown(section, word.text())
            };
            return self.errors.push(word.error(message));
        };
        let word = key.text();
        if section.keys.is_empty() {
            return self
                .errors
                .push(key.error(describe_misplaced(section, word)));
        }
        if !section.keys.contains(&word) {
            return self.errors.push(key.error(describe_unknown(section, word)));
        }
        if value.is_blank() {
            self.keys_seen.push(word);
            return self
                .errors
                .push(key.error(format!("`{word}` has no value")));
        }
        if self.keys_seen.contains(&word) && Item::ONCE.contains(&word) {
            let message = format!("duplicate `{word}` in this {}", section.keyword);
            return self.errors.push(key.error(message));
        }
        self.keys_seen.push(word);
        if let Some(item) = &mut self.item
            && let Err(e) = item.apply(word, &value, self.partitions, &mut self.warnings)
        {
            self.errors.push(e);
        }
    }

    fn parse_ulp(&mut self, line: &Span<'a>) {
        match ulps::parse(line, self.partitions, &mut self.warnings) {
            Ok(Ulp::Rule(rule)) => self.ulps.push(rule),
            Ok(Ulp::Default(level)) => {
                if self.default.is_some() {
                    let message = "duplicate `default`: the last one applies";
                    self.warnings.push(line.warning(message));
                }
                self.default = Some((level, line.clone()));
            }
            Err(e) => self.errors.push(e),
        }
    }

    fn name_table(&self) -> NameTable<'_> {
        NameTable {
            groups: &self.groups,
            levels: &self.levels,
        }
    }

    fn finish(mut self) -> Result<QosPolicyConf, Vec<InputError>> {
        if let Some((section, at)) = self.open.last() {
            let message = format!("`end-{}` is missing", section.keyword);
            self.errors.push(at.error(message));
        }
        let name_table = NameTable {
            groups: &self.groups,
            levels: &self.levels,
        };
        let mut rules = Vec::with_capacity(self.rules.len() + self.ulps.len());
        for rule in self.rules {
            rules.extend(rule.resolve(&name_table, &mut self.errors));
        }
        rules.extend(self.ulps);
        let default = match (name_table.level(DEFAULT), self.default) {
            (Some(level), short) => {
                if let Some((_, at)) = short {
                    let message = "overridden by qos-level DEFAULT";
                    self.warnings.push(at.warning(message));
                }
                Some(level)
            }
            (None, Some((level, _))) => Some(level),
            (None, None) => None,
        };
        if default.is_none() && self.errors.is_empty() {
            self.errors.push(InputError::in_file(
                "no default level: add a qos-level named DEFAULT, or `default : SL` in qos-ulps",
            ));
        }
        if let Some(default) = default
            && self.errors.is_empty()
        {
            return Ok(QosPolicyConf {
                policy: QosPolicy { rules, default },
                warnings: self.warnings,
            });
        }
        self.errors.sort_by_key(|w| w.position);
        if self.errors.len() > ERRORS_MAX {
            self.errors.truncate(ERRORS_MAX);
            self.errors
                .push(InputError::in_file("further errors omitted"));
        }
        self.errors.append(&mut self.warnings);
        Err(self.errors)
    }
}

/// The known sections, or the closest one.
fn suggest_section(word: &str) -> String {
    let names: Vec<&str> = SECTIONS
        .iter()
        .filter(|s| s.parent.is_empty())
        .map(|s| s.keyword)
        .collect();
    match nearest_keyword(word, names.iter().copied()) {
        Some(suggestion) => format!("did you mean `{suggestion}`?"),
        None => format!("expected one of {}", names.join(", ")),
    }
}

/// A setting where only items are allowed.
fn describe_misplaced(section: &Section, word: &str) -> String {
    let items: Vec<&str> = SECTIONS
        .iter()
        .filter(|s| s.parent == section.keyword)
        .map(|s| s.keyword)
        .collect();
    format!(
        "`{word}` is not allowed in `{}`, only `{}`",
        section.keyword,
        items.join("` or `")
    )
}

/// An unknown key of an item.
fn describe_unknown(section: &Section, word: &str) -> String {
    let keys = section.keys.iter().copied();
    match nearest_keyword(word, keys) {
        Some(suggestion) => format!(
            "a {} has no key `{word}`: did you mean `{suggestion}`?",
            section.keyword
        ),
        None => format!(
            "a {} has no key `{word}`: expected one of {}",
            section.keyword,
            section.keys.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests;
