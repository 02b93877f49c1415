//! `qos-policy.conf` of OpenSM: SL and limits of paths.
//!
//! The grammar is OpenSM's, with one keyword per line; a list that ends with a comma continues in the next line. MTU and rate may
//! also have units: `mtu-limit: 2048`, `rate-limit: 100G`. Where OpenSM rejects the file, the parser returns errors with
//! positions. Contents without effect cause a warning: the tables of `qos-setup`, which neither OpenSM nor ferrosm writes to
//! devices (the routing determines VLs), and unknown names.
//!
//! | module | contents |
//! |---|---|
//! | this | sections, and the resulting policy |
//! | `items` | a port group, level or rule |
//! | `ulps` | the short form |
//! | `values` | ranges, names |

mod items;
mod ulps;
mod values;

use std::sync::Arc;

use ferrosm_core::plan::partitions::Partition;
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
    word: &'static str,
    /// The enclosing section; empty for none.
    within: &'static str,
    /// Keys of the item.
    keys: &'static [&'static str],
}

impl Section {
    const fn new(word: &'static str, within: &'static str, keys: &'static [&'static str]) -> Self {
        Self { word, within, keys }
    }

    fn by_keyword(word: &str) -> Option<&'static Self> {
        SECTIONS.iter().find(|b| b.word == word)
    }
}

/// Contents of `qos-policy.conf`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QosPolicyConf {
    /// The policy.
    pub policy: QosPolicy,
    /// Probable mistakes that OpenSM accepts.
    pub warnings: Vec<InputError>,
}

/// Parses the text; port groups may refer to `partitions`.
///
/// # Errors
/// All errors of the file.
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
        parser.line(&line);
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
    /// The default of the short form, and its position.
    default: Option<(Arc<QosLevel>, Span<'a>)>,
    warnings: Vec<InputError>,
    errors: Vec<InputError>,
}

impl<'a> QosPolicyParser<'a> {
    fn line(&mut self, line: &Span<'a>) {
        let text = line.text();
        if let Some(section) = text.strip_prefix("end-").and_then(Section::by_keyword) {
            return self.close_section(section, line);
        }
        if let Some(section) = Section::by_keyword(text) {
            return self.open_section(section, line);
        }
        match self.open.last() {
            Some((section, _)) if section.word == ULPS => self.ulp(line),
            Some((section, _)) => self.setting(section, line),
            None => {
                let word = line.split_word().0;
                let what = format!(
                    "`{}` is not a section: {}",
                    word.text(),
                    sections(word.text())
                );
                self.errors.push(word.error(what));
            }
        }
    }

    fn open_section(&mut self, section: &'static Section, line: &Span<'a>) {
        let inside = self.open.last().map_or("", |(open, _)| open.word);
        if inside != section.within {
            let what = match self.open.last() {
                Some((open, at)) if section.within.is_empty() => format!(
                    "`end-{}` is missing before `{}`: line {} starts `{}`",
                    open.word,
                    section.word,
                    at.line(),
                    open.word
                ),
                _ => format!("`{}` is only allowed in `{}`", section.word, section.within),
            };
            self.errors.push(line.error(what));
            if section.within.is_empty() {
                // Closes the previous section.
                self.open.clear();
                self.item = None;
            }
        }
        self.open.push((section, line.clone()));
        self.keys_seen.clear();
        self.item = match section.word {
            "port-group" => Some(Item::Group(QosPortGroup::default())),
            "qos-level" => Some(Item::Level(LevelDraft::default())),
            "qos-match-rule" => Some(Item::Rule(RuleDraft::default())),
            "vlarb-scope" | "sl2vl-scope" => Some(Item::Setup),
            _ => None,
        };
        if section.within == "qos-setup" {
            let what = format!(
                "`{}` ignored, as by OpenSM: the routing determines VLs, and tables of this file are not written",
                section.word
            );
            self.warnings.push(line.error(what));
        }
    }

    fn close_section(&mut self, section: &'static Section, line: &Span<'a>) {
        let Some(at) = self
            .open
            .iter()
            .rposition(|(open, _)| open.word == section.word)
        else {
            let what = format!("`end-{0}` without `{0}`", section.word);
            return self.errors.push(line.error(what));
        };
        if let Some((missing, begun)) = self.open.get(at + 1) {
            let what = format!(
                "`end-{}` is missing: line {} starts `{}`",
                missing.word,
                begun.line(),
                missing.word
            );
            self.errors.push(line.error(what));
        }
        let section = self.open.get(at + 1).map_or(section, |(inner, _)| inner);
        self.open.truncate(at);
        let item = self.item.take();
        match item {
            Some(Item::Group(group)) if group.name.is_empty() => {
                self.require_key("name", section, line);
            }
            Some(Item::Group(group)) => {
                if self.named().group(&group.name).is_some() {
                    let what = format!("duplicate port-group `{}` ignored", group.name);
                    self.warnings.push(line.error(what));
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
        if self.named().level(&draft.level.name).is_some() {
            let what = format!("duplicate qos-level `{}` ignored", draft.level.name);
            self.warnings.push(line.error(what));
        }
        self.levels.push(Arc::new(draft.level));
    }

    /// Reports that a required key is missing, unless it had an invalid value, which was reported.
    fn require_key(&mut self, key: &str, section: &Section, line: &Span<'a>) {
        if !self.keys_seen.contains(&key) {
            let what = format!("this {} has no `{key}`", section.word);
            self.errors.push(line.error(what));
        }
    }

    /// `key: value` in an item.
    fn setting(&mut self, section: &'static Section, line: &Span<'a>) {
        let Some((key, value)) = line.split_once(':') else {
            let word = line.split_word().0;
            let what = if section.keys.is_empty() {
                nothing_else(section, word.text())
            } else if section.keys.contains(&word.text()) {
                self.keys_seen.push(word.text());
                format!("missing `:` after `{}`", word.text())
            } else {
                unknown(section, word.text())
            };
            return self.errors.push(word.error(what));
        };
        let word = key.text();
        if section.keys.is_empty() {
            return self.errors.push(key.error(nothing_else(section, word)));
        }
        if !section.keys.contains(&word) {
            return self.errors.push(key.error(unknown(section, word)));
        }
        if value.is_blank() {
            self.keys_seen.push(word);
            return self
                .errors
                .push(key.error(format!("`{word}` has no value")));
        }
        if self.keys_seen.contains(&word) && Item::ONCE.contains(&word) {
            let what = format!("duplicate `{word}` in this {}", section.word);
            return self.errors.push(key.error(what));
        }
        self.keys_seen.push(word);
        if let Some(item) = &mut self.item
            && let Err(e) = item.apply(word, &value, self.partitions, &mut self.warnings)
        {
            self.errors.push(e);
        }
    }

    fn ulp(&mut self, line: &Span<'a>) {
        match ulps::read(line) {
            Ok(Ulp::Rule(rule)) => self.ulps.push(rule),
            Ok(Ulp::Default(level)) => {
                if self.default.is_some() {
                    let what = "duplicate `default`: the last one applies";
                    self.warnings.push(line.error(what));
                }
                self.default = Some((level, line.clone()));
            }
            Err(e) => self.errors.push(e),
        }
    }

    fn named(&self) -> NameTable<'_> {
        NameTable {
            groups: &self.groups,
            levels: &self.levels,
        }
    }

    fn finish(mut self) -> Result<QosPolicyConf, Vec<InputError>> {
        if let Some((section, at)) = self.open.last() {
            let what = format!("`end-{}` is missing", section.word);
            self.errors.push(at.error(what));
        }
        let named = NameTable {
            groups: &self.groups,
            levels: &self.levels,
        };
        let mut rules = Vec::with_capacity(self.rules.len() + self.ulps.len());
        for rule in self.rules {
            rules.extend(rule.resolve(&named, &mut self.errors));
        }
        rules.extend(self.ulps);
        let default = match (named.level(DEFAULT), self.default) {
            (Some(level), short) => {
                if let Some((_, at)) = short {
                    let what = "overridden by qos-level DEFAULT";
                    self.warnings.push(at.error(what));
                }
                Some(level)
            }
            (None, Some((level, _))) => Some(level),
            (None, None) => None,
        };
        if default.is_none() && self.errors.is_empty() {
            let what =
                "no default level: add a qos-level named DEFAULT, or `default : SL` in qos-ulps";
            self.errors.push(InputError {
                position: None,
                message: what.to_owned(),
            });
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
            self.errors.push(InputError {
                position: None,
                message: "further errors omitted".to_owned(),
            });
        }
        Err(self.errors)
    }
}

/// The known sections, or the closest one.
fn sections(word: &str) -> String {
    let all: Vec<&str> = SECTIONS
        .iter()
        .filter(|b| b.within.is_empty())
        .map(|b| b.word)
        .collect();
    match nearest_keyword(word, all.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("expected one of {}", all.join(", ")),
    }
}

/// A setting where only items are allowed.
fn nothing_else(section: &Section, word: &str) -> String {
    let items: Vec<&str> = SECTIONS
        .iter()
        .filter(|b| b.within == section.word)
        .map(|b| b.word)
        .collect();
    let items = items.join("` or `");
    format!(
        "`{word}` is not allowed in `{}`, only `{items}`",
        section.word
    )
}

/// An unknown key of an item.
fn unknown(section: &Section, word: &str) -> String {
    let keys = section.keys.iter().copied();
    match nearest_keyword(word, keys) {
        Some(near) => format!(
            "a {} has no key `{word}`: did you mean `{near}`?",
            section.word
        ),
        None => format!(
            "a {} has no key `{word}`: expected one of {}",
            section.word,
            section.keys.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests;
