//! Options that files and flags set, in OpenSM's order, and the value that OpenSM uses.

use std::collections::BTreeMap;

use super::conf::{self, ConfLine};
use super::corrections::{self, Correction};
use super::finding::{Finding, LineOutcome, Place, may_be_secret, shown, shown_assignment};
use crate::keyword::nearest_keyword;
use crate::options::value::ValueRejection;
use crate::options::{self, Availability, Equivalent, OpenSmOption};

/// Unknown names for which a suggestion is searched.
const SUGGESTIONS_MAX: usize = 200;
/// Longest name for which a suggestion is searched.
const SUGGESTED_NAME_MAX: usize = 40;

/// Names that operators wrote for an option whose name is too different to be found by similarity.
const MISNOMERS: &[(&str, &str)] = &[
    ("log_level", "log_flags"),
    ("enable_qos", "qos"),
    ("guids", "guid"),
    ("engine", "routing_engine"),
    ("partitions", "partition_config_file"),
    ("roots", "root_guid_file"),
];

/// A value that a line or a flag assigns to an option.
#[derive(Debug, Clone)]
pub struct OptionAssignment {
    pub option: &'static OpenSmOption,
    pub place: Place,
    /// The line, without keys.
    pub line: String,
    /// The text of the value.
    pub raw: String,
    /// The value, as `opensm -c` would write it.
    pub value: Result<String, ValueRejection>,
    /// A remark about the line, if any.
    pub remark: Option<String>,
}

/// A name that OpenSM ignored, and the option that was meant.
#[derive(Debug, Clone)]
pub struct Suggestion {
    pub place: Place,
    pub line: String,
    pub option: &'static OpenSmOption,
    /// The value, as OpenSM would read it for this option.
    pub value: Option<String>,
}

/// All assignments of an SM.
#[derive(Debug, Clone, Default)]
pub struct Assignments {
    list: Vec<OptionAssignment>,
    /// Index in `list` of the last valid assignment of an option.
    last: BTreeMap<&'static str, usize>,
    corrections: Vec<Correction>,
    /// Findings about lines that set no option.
    pub findings: Vec<Finding>,
    pub suggestions: Vec<Suggestion>,
    searched: usize,
}

impl Assignments {
    /// Adds the lines of an `opensm.conf`.
    pub fn add_file(&mut self, name: &str, file: &[u8]) {
        for line in conf::lines(file) {
            self.add_line(name, &line);
        }
        if conf::is_too_long(file) {
            self.findings.push(Finding {
                place: Place::file(name),
                line: String::new(),
                outcome: LineOutcome::ChangesBehaviour,
                text: format!("only the first {} lines are imported", conf::LINES_MAX),
            });
        }
    }

    fn add_line(&mut self, file: &str, line: &ConfLine) {
        let place = Place::line(file, line.number, line.column);
        let Some(option) = options::by_name(&line.name) else {
            self.add_unknown(place, line);
            return;
        };
        if option.availability == Availability::Nvidia {
            let reason = reason_of(option);
            self.findings.push(Finding {
                place,
                line: shown_assignment(&line.name, &line.value, may_be_secret(&line.name)),
                outcome: LineOutcome::Ignored,
                text: format!("an option of NVIDIA's SM, unknown to OpenSM; in ferrosm: {reason}"),
            });
            return;
        }
        let remark = line.is_cut.then(|| {
            format!(
                "longer than {} bytes: OpenSM reads the rest as another line",
                conf::LINE_MAX
            )
        });
        self.set(option, place, &line.value, remark);
    }

    fn add_unknown(&mut self, place: Place, line: &ConfLine) {
        let name = &line.name;
        let text = shown_assignment(name, &line.value, may_be_secret(name));
        let suggested = self.suggested_option(name);
        let why = match line.is_rest {
            true => format!(
                "the rest of a line of more than {} bytes, which OpenSM reads as another line",
                conf::LINE_MAX
            ),
            false => format!("OpenSM has no option `{}`", shown(name)),
        };
        let text_of_finding = match suggested {
            Some(option) => format!(
                "{why}, and kept {} {}; did you mean `{}`?",
                option.name,
                self.shown_value(option),
                option.name
            ),
            None => why,
        };
        self.findings.push(Finding {
            place: place.clone(),
            line: text.clone(),
            outcome: LineOutcome::Ignored,
            text: text_of_finding,
        });
        if let Some(option) = suggested {
            self.suggestions.push(Suggestion {
                place,
                line: text,
                option,
                value: option.format.read(&line.value).ok(),
            });
        }
    }

    /// The option that an unknown name means: a known mistake, a flag of the command line, or the
    /// nearest name.
    fn suggested_option(&mut self, name: &str) -> Option<&'static OpenSmOption> {
        self.searched += 1;
        if self.searched > SUGGESTIONS_MAX || name.len() > SUGGESTED_NAME_MAX {
            return None;
        }
        let lower = name.to_ascii_lowercase().replace('-', "_");
        let known = MISNOMERS.iter().find(|(wrong, _)| *wrong == lower);
        let by_mistake = known.and_then(|(_, option)| options::by_name(option));
        by_mistake
            .or_else(|| options::by_long_flag(name).filter(|option| option.name != name))
            .or_else(|| {
                let names = options::of_opensm().map(|option| option.name);
                nearest_keyword(name, names).and_then(options::by_name)
            })
    }

    /// Assigns a value that an option reads by its own rules.
    pub fn set(
        &mut self,
        option: &'static OpenSmOption,
        place: Place,
        raw: &str,
        remark: Option<String>,
    ) {
        let line = shown_assignment(option.name, raw, option.is_secret());
        self.push(OptionAssignment {
            option,
            place,
            line,
            raw: raw.to_owned(),
            value: option.format.read(raw),
            remark,
        });
    }

    /// Adds an assignment.
    pub fn push(&mut self, assignment: OptionAssignment) {
        if assignment.value.is_ok() {
            self.last
                .insert(assignment.option.proper_name(), self.list.len());
        }
        self.list.push(assignment);
    }

    /// Replaces invalid values as OpenSM does. Call it when all assignments are added.
    pub fn correct(&mut self) {
        self.corrections = corrections::corrections(&|name| self.value(name).to_owned());
    }

    /// The assignments.
    #[must_use]
    pub fn list(&self) -> &[OptionAssignment] {
        &self.list
    }

    /// The correction of an option's value, if OpenSM replaced it.
    #[must_use]
    pub fn correction(&self, name: &str) -> Option<&Correction> {
        self.corrections
            .iter()
            .find(|correction| correction.option == name)
    }

    /// The corrections.
    #[must_use]
    pub fn corrections(&self) -> &[Correction] {
        &self.corrections
    }

    /// The assignment that OpenSM uses for an option.
    #[must_use]
    pub fn in_force(&self, name: &str) -> Option<&OptionAssignment> {
        self.last.get(name).map(|index| &self.list[*index])
    }

    /// The value that OpenSM uses for an option.
    #[must_use]
    pub fn value(&self, name: &str) -> &str {
        if let Some(correction) = self.correction(name) {
            return &correction.value;
        }
        let assigned = self
            .in_force(name)
            .and_then(|assignment| assignment.value.as_deref().ok());
        let default = || options::by_name(name).map_or("", |option| option.default);
        assigned.unwrap_or_else(default)
    }

    /// Whether a boolean option is TRUE.
    #[must_use]
    pub fn is_true(&self, name: &str) -> bool {
        self.value(name) == "TRUE"
    }

    /// The value that OpenSM uses, for reports.
    #[must_use]
    pub fn shown_value(&self, option: &OpenSmOption) -> String {
        if option.is_secret() {
            return super::finding::NOT_SHOWN.to_owned();
        }
        shown(self.value(option.proper_name()))
    }
}

/// What the table says about an option without a key.
#[must_use]
pub fn reason_of(option: &OpenSmOption) -> &'static str {
    match option.equivalent {
        Equivalent::Key(key) => key.key,
        Equivalent::NotNeeded(reason) | Equivalent::Absent { reason, .. } => reason,
    }
}
