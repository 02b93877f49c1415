//! From the options of an SM to keys of ferrosm's configuration.

use std::io;

use ferrosm_core::config::partitions::Partition;

use super::assignments::{Assignments, OptionAssignment, reason_of};
use super::finding::{Finding, LineOutcome, Place, shown, shown_assignment};
use super::input_files::{self, FileContext, FileUse};
use crate::options::conversion::{self, Conversion, TomlValue};
use crate::options::value::leading_number;
use crate::options::{self, Equivalent, Impact, KeyEquivalent, OpenSmOption};

/// Most SMPs in flight to one node, unless a smaller window limits them.
const WINDOW_PER_NODE: u64 = 16;

/// A key of the resulting configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    pub key: &'static str,
    pub value: TomlValue,
    /// The lines that it comes from, for its comment.
    pub sources: Vec<String>,
}

/// The result for one SM.
#[derive(Debug, Clone, Default)]
pub struct Imported {
    pub findings: Vec<Finding>,
    pub settings: Vec<Setting>,
    /// Partitions that stand in the configuration.
    pub partitions: Vec<Partition>,
    /// Comments with the key that they are about.
    pub remarks: Vec<(&'static str, String)>,
}

impl Imported {
    /// The value of a key.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<&TomlValue> {
        let setting = self.settings.iter().find(|setting| setting.key == key);
        setting.map(|setting| &setting.value)
    }

    /// How many lines had each outcome.
    #[must_use]
    pub fn count(&self, outcome: LineOutcome) -> usize {
        let same = self.findings.iter().filter(|f| f.outcome == outcome);
        same.count()
    }
}

/// What is imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportScope {
    /// An SM with all its options, also those at their default.
    Sm,
    /// Single input files. Other options are unknown.
    InputFiles,
}

/// Reads a file that an option names. The path is as the option says.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> io::Result<Vec<u8>>;

/// Options whose file OpenSM reads at its default path, if it exists.
const DEFAULT_FILES: [&str; 4] = [
    "partition_config_file",
    "qos_policy_file",
    "prefix_routes_file",
    "torus_config",
];

/// Options that name files which influence the fabric.
const INPUT_FILES: [&str; 13] = [
    // First, because the QoS policy depends on the partitions.
    "partition_config_file",
    "qos_policy_file",
    "prefix_routes_file",
    "torus_config",
    "lfts_file",
    "root_guid_file",
    "cn_guid_file",
    "io_guid_file",
    "ids_guid_file",
    "guid_routing_order_file",
    "hop_weights_file",
    "port_search_ordering_file",
    "port_prof_ignore_file",
];

/// Evaluates the options of an SM.
#[must_use]
pub fn evaluate(assignments: &Assignments, scope: ImportScope, read: ReadFile<'_>) -> Imported {
    let mut evaluation = Evaluation {
        assignments,
        scope,
        read,
        result: Imported {
            findings: assignments.findings.clone(),
            ..Imported::default()
        },
        partitions: Vec::new(),
    };
    for assignment in assignments.list() {
        evaluation.evaluate(assignment);
    }
    if scope == ImportScope::Sm {
        evaluation.add_engine();
    }
    for name in INPUT_FILES {
        evaluation.add_file(name);
    }
    evaluation.add_corrections_without_line();
    evaluation.compare_keys();
    evaluation.complete();
    evaluation.add_suggestions();
    let mut result = evaluation.result;
    sort_by_line(&mut result.findings);
    result
}

/// Sorts by line in each file. The order of files stays.
fn sort_by_line(findings: &mut [Finding]) {
    let mut files: Vec<String> = Vec::new();
    for finding in findings.iter() {
        if !files.contains(&finding.place.file) {
            files.push(finding.place.file.clone());
        }
    }
    findings.sort_by_cached_key(|finding| {
        let file = files.iter().position(|file| *file == finding.place.file);
        (file, finding.place.line)
    });
}

struct Evaluation<'a> {
    assignments: &'a Assignments,
    scope: ImportScope,
    read: ReadFile<'a>,
    result: Imported,
    /// The partitions that OpenSM has.
    partitions: Vec<Partition>,
}

impl Evaluation<'_> {
    fn evaluate(&mut self, assignment: &OptionAssignment) {
        let option = assignment.option;
        let name = option.proper_name();
        let value = match &assignment.value {
            Ok(value) => value,
            Err(rejection) => {
                let kept = self.assignments.shown_value(option);
                let text = if option.is_secret() {
                    "the value is no 64-bit number: OpenSM kept the previous one".to_owned()
                } else {
                    format!("the value is {rejection}: OpenSM kept {kept}")
                };
                self.report(assignment, LineOutcome::Ignored, text);
                self.suggest_plain_value(assignment);
                return;
            }
        };
        let in_force = self.assignments.in_force(name);
        if let Some(later) = in_force.filter(|later| !core::ptr::eq(*later, assignment)) {
            let text = format!("{} sets it again", later.place);
            self.report(assignment, LineOutcome::Ignored, text);
            return;
        }
        // Reported with the engines and the files.
        if name == "routing_engine" || (value == option.default && DEFAULT_FILES.contains(&name)) {
            return;
        }
        if let Some(correction) = self.assignments.correction(name) {
            if name == "max_wire_smps" && value == "0" {
                self.convert(assignment, &correction.value, false);
                return;
            }
            let text = format!("{}: OpenSM uses {}", correction.reason, correction.value);
            // The key says what OpenSM uses.
            self.convert_corrected(assignment, &correction.value);
            self.report(assignment, LineOutcome::Ignored, text);
            return;
        }
        let is_false_by_mistake = option.default == "FALSE" || option.default == "TRUE";
        let is_unclear = is_false_by_mistake && !matches!(&*assignment.raw, "TRUE" | "FALSE");
        if value == option.default {
            if is_unclear {
                let text = "only TRUE is true: OpenSM reads it as FALSE, its default".to_owned();
                self.report(assignment, LineOutcome::Ignored, text);
                self.suggest_plain_value(assignment);
                return;
            }
            self.report(assignment, LineOutcome::Default, default_text(option));
            return;
        }
        if let Some(required) = option.requires
            && self.scope == ImportScope::Sm
            && !self.assignments.is_true(required)
        {
            let text = format!("not used while `{required}` is FALSE");
            self.report(assignment, LineOutcome::Ignored, text);
            return;
        }
        self.convert(assignment, value, is_unclear);
    }

    fn convert(&mut self, assignment: &OptionAssignment, value: &str, is_unclear: bool) {
        let option = assignment.option;
        let unclear = match is_unclear {
            true => "only TRUE is true: OpenSM reads it as FALSE. ",
            false => "",
        };
        match option.equivalent {
            // Reported with the file.
            Equivalent::Key(_) if INPUT_FILES.contains(&option.proper_name()) => {}
            Equivalent::Key(key) => self.convert_to_key(assignment, key, value),
            Equivalent::NotNeeded(reason) => {
                let reason = reason.replace("{}", value);
                self.report(
                    assignment,
                    LineOutcome::NotNeeded,
                    format!("{unclear}{reason}"),
                );
            }
            Equivalent::Absent { impact, reason } => {
                let outcome = match impact {
                    Impact::Fabric => LineOutcome::ChangesBehaviour,
                    Impact::Operation => LineOutcome::NoEquivalent,
                };
                if option.name == "sa_key" && value == self.assignments.value("sm_key") {
                    let text = "`sm.sm-key`, which has the same value".to_owned();
                    self.report(assignment, LineOutcome::Converted, text);
                    return;
                }
                self.report(assignment, outcome, format!("{unclear}{reason}"));
            }
        }
    }

    fn convert_to_key(&mut self, assignment: &OptionAssignment, key: KeyEquivalent, value: &str) {
        if let Some(text) = self.without_effect(assignment.option.name) {
            self.report(assignment, LineOutcome::Ignored, text.to_owned());
            return;
        }
        let converted = key.conversion.convert(value);
        let Some(toml) = converted.value else {
            self.report(
                assignment,
                LineOutcome::Default,
                default_text(assignment.option),
            );
            return;
        };
        let shown_value = format!("{} = {toml}", key.key);
        let (outcome, text) = match &*converted.loss {
            "" => (LineOutcome::Converted, shown_value),
            loss => (
                LineOutcome::ChangesBehaviour,
                format!("{shown_value}: {loss}"),
            ),
        };
        self.add_setting(key.key, toml, source_of(assignment));
        self.report(assignment, outcome, text);
    }

    /// Why OpenSM does nothing with an option at these values of others.
    fn without_effect(&self, name: &str) -> Option<&'static str> {
        let has_key = leading_number(self.assignments.value("m_key")).value != Some(0);
        let uses = |engine: &str| self.engines().iter().any(|name| name == engine);
        match name {
            "m_key_lease_period" | "m_key_protection_level" if !has_key => {
                Some("no effect without an M_Key")
            }
            "nue_max_num_vls" if !uses("nue") => Some("not used without the engine nue"),
            _ => None,
        }
    }

    fn engines(&self) -> Vec<String> {
        conversion::engine_names(self.assignments.value("routing_engine"))
    }

    /// The key of a value that OpenSM replaced, if it differs from OpenSM's default.
    fn convert_corrected(&mut self, assignment: &OptionAssignment, value: &str) {
        let option = assignment.option;
        if let Equivalent::Key(key) = option.equivalent
            && value != option.default
            && self.without_effect(option.name).is_none()
            && let Some(toml) = key.conversion.convert(value).value
        {
            self.add_setting(key.key, toml, source_of(assignment));
        }
    }

    /// Corrections of options that no line sets.
    fn add_corrections_without_line(&mut self) {
        for correction in self.assignments.corrections() {
            let option = options::by_name(correction.option);
            let is_set = self.assignments.in_force(correction.option).is_some();
            let Some(option) = option.filter(|_| !is_set) else {
                continue;
            };
            let Equivalent::Key(key) = option.equivalent else {
                continue;
            };
            // `no_partition_enforcement` sets the key itself.
            if self.result.value(key.key).is_none()
                && let Some(toml) = key.conversion.convert(&correction.value).value
            {
                let source = format!("{}: {}", option.name, correction.reason);
                self.add_setting(key.key, toml, source);
            }
        }
    }

    fn add_engine(&mut self) {
        let value = self.assignments.value("routing_engine").to_owned();
        let engines = self.engines();
        let toml = TomlValue::List(engines);
        let unknown: Vec<&str> = conversion::unknown_engines(&value).collect();
        let assignment = self.assignments.in_force("routing_engine");
        let skipped = match unknown[..] {
            [] => String::new(),
            _ => format!("; OpenSM skips `{}`", shown(&unknown.join("`, `"))),
        };
        let text = format!("routing.engines = {toml}{skipped}");
        let source = match assignment {
            Some(assignment) => {
                self.report(assignment, LineOutcome::Converted, text);
                source_of(assignment)
            }
            None => {
                self.result.findings.push(Finding {
                    place: Place::file("OpenSM's default"),
                    line: "routing_engine (null)".to_owned(),
                    outcome: LineOutcome::Converted,
                    text: format!("{text}; without this key ferrosm selects by topology"),
                });
                "OpenSM's default; delete the line to select by topology".to_owned()
            }
        };
        self.add_setting("routing.engines", toml, source);
    }

    /// Reads the file of an option, and reports what OpenSM and ferrosm do with it.
    fn add_file(&mut self, name: &'static str) {
        let Some(option) = options::by_name(name) else {
            return;
        };
        let Equivalent::Key(key) = option.equivalent else {
            return;
        };
        let assignment = self.assignments.in_force(name);
        let path = self.assignments.value(name).to_owned();
        let is_default = path == option.default;
        if assignment.is_none() && self.scope == ImportScope::InputFiles {
            return;
        }
        if let Some((outcome, text)) = self.reason_without_file(option, &path) {
            // Other lines are reported with those of options that name no file.
            let is_reported_here = match is_default {
                true => DEFAULT_FILES.contains(&name),
                false => option.requires.is_none(),
            };
            if let Some(assignment) = assignment.filter(|_| is_reported_here) {
                self.report(assignment, outcome, text);
            }
            return;
        }
        let file = match (self.read)(&path) {
            Ok(file) => file,
            Err(_) if is_default && self.scope == ImportScope::Sm => {
                if let Some(assignment) = assignment {
                    let text = "the file does not exist here".to_owned();
                    self.report(assignment, LineOutcome::Default, text);
                }
                return;
            }
            Err(error) => {
                let text = format!("{}: the key is left out", unreadable(name, &path, &error));
                let outcome = LineOutcome::ChangesBehaviour;
                let source = self.report_file(assignment, &path, outcome, text);
                let key_name = key.key.rsplit('.').next().unwrap_or(key.key);
                let toml = TomlValue::Text(path);
                let remark = format!("{source}: cannot be read here: {key_name} = {toml}");
                self.result.remarks.push((key.key, remark));
                return;
            }
        };
        let context = FileContext {
            qos: self.assignments.is_true("qos"),
            partitions: &self.partitions,
        };
        let examined = input_files::examine(name, &path, &file, context);
        if let Some(partitions) = examined.partitions {
            self.partitions = partitions;
        }
        let findings = examined.findings;
        match examined.usage {
            FileUse::AsItIs => {
                let toml = TomlValue::Text(path.clone());
                let text = format!("{} = {toml}", key.key);
                let source = self.report_file(assignment, &path, LineOutcome::Converted, text);
                self.add_setting(key.key, toml, source);
            }
            FileUse::Omitted => {
                let first = findings.first();
                let outcome = match first.map(|finding| finding.outcome) {
                    // Of the file; the line that names it was read.
                    None | Some(LineOutcome::FileDropped) => LineOutcome::Ignored,
                    Some(outcome) => outcome,
                };
                let place = first.map_or_else(|| path.clone(), |f| f.place.to_string());
                let text = format!("{} is left out because of {place}", key.key);
                let source = self.report_file(assignment, &path, outcome, text.clone());
                self.result
                    .remarks
                    .push((key.key, format!("{source}: {text}")));
            }
            FileUse::Partitions(partitions) => {
                let text = "written as [[partition]]".to_owned();
                self.report_file(assignment, &path, LineOutcome::Converted, text);
                self.result.partitions = partitions;
            }
        }
        self.result.findings.extend(findings);
    }

    /// Why OpenSM does not read the file of an option.
    fn reason_without_file(
        &self,
        option: &OpenSmOption,
        path: &str,
    ) -> Option<(LineOutcome, String)> {
        if !conversion::is_set(path) {
            return Some((LineOutcome::Default, "no file".to_owned()));
        }
        if self.scope == ImportScope::InputFiles {
            return None;
        }
        let uses_torus = self.engines().iter().any(|name| name == "torus-2QoS");
        let reason = match option.name {
            "qos_policy_file" if !self.assignments.is_true("qos") => {
                "not read while `qos` is FALSE"
            }
            "torus_config" if !uses_torus => "not read without the engine torus-2QoS",
            _ => return None,
        };
        let outcome = match path == option.default {
            true => LineOutcome::Default,
            false => LineOutcome::Ignored,
        };
        Some((outcome, reason.to_owned()))
    }

    /// Reports the line that names a file; returns its text for a comment.
    fn report_file(
        &mut self,
        assignment: Option<&OptionAssignment>,
        path: &str,
        outcome: LineOutcome,
        text: String,
    ) -> String {
        if let Some(assignment) = assignment {
            self.report(assignment, outcome, text);
            return source_of(assignment);
        }
        self.result.findings.push(Finding {
            place: Place::file("OpenSM's default"),
            line: shown(path),
            outcome,
            text: format!("{text} (OpenSM reads this file if it exists)"),
        });
        format!("OpenSM's default {}", shown(path))
    }

    /// OpenSM trusts SA clients by `sa_key`, ferrosm by the SM_Key.
    fn compare_keys(&mut self) {
        let is_set = self.assignments.in_force("sa_key").is_some();
        if is_set || self.assignments.value("sa_key") == self.assignments.value("sm_key") {
            return;
        }
        self.result.findings.push(Finding {
            place: Place::file("OpenSM's default"),
            line: "sa_key 1".to_owned(),
            outcome: LineOutcome::ChangesBehaviour,
            text: "SA clients are trusted by `sm.sm-key`, which `sm_key` sets; in OpenSM they need key 1"
                .to_owned(),
        });
    }

    /// Keys that must agree with others.
    fn complete(&mut self) {
        let window = match self.result.value("sweep.max-outstanding") {
            Some(TomlValue::Whole(window)) if *window < WINDOW_PER_NODE => *window,
            _ => return,
        };
        self.add_setting(
            "sweep.max-outstanding-per-node",
            TomlValue::Whole(window),
            "at most max-outstanding".to_owned(),
        );
    }

    /// A value in another notation: after `=`, or a boolean word.
    fn suggest_plain_value(&mut self, assignment: &OptionAssignment) {
        let option = assignment.option;
        let text = assignment.raw.trim_start_matches('=').trim();
        let is_yes = ["yes", "true", "on", "1"].contains(&&*text.to_ascii_lowercase());
        let meant = match is_yes && option.default == "FALSE" {
            true => "TRUE",
            false => text,
        };
        let value = option.format.read(meant).ok();
        if let Some(value) = value.filter(|value| value != option.default) {
            self.suggest(option, &value, &assignment.place, &assignment.line);
        }
    }

    fn add_suggestions(&mut self) {
        let suggestions = self.assignments.suggestions.clone();
        for suggestion in suggestions {
            let option = suggestion.option;
            if let Some(value) = suggestion.value.filter(|value| value != option.default) {
                self.suggest(option, &value, &suggestion.place, &suggestion.line);
            }
        }
    }

    /// Adds a comment with the key that a line would have set.
    fn suggest(&mut self, option: &OpenSmOption, value: &str, place: &Place, line: &str) {
        let Equivalent::Key(key) = option.equivalent else {
            return;
        };
        let converted = match option.is_secret() {
            true => None,
            false => key.conversion.convert(value).value,
        };
        let Some(toml) = converted else { return };
        let name = key.key.rsplit('.').next().unwrap_or(key.key);
        let remark = format!(
            "{place}: `{line}` was ignored by OpenSM; if {} was meant: {name} = {toml}",
            option.name
        );
        self.result.remarks.push((key.key, remark));
    }

    fn add_setting(&mut self, key: &'static str, value: TomlValue, source: String) {
        let existing = self.result.settings.iter_mut().find(|s| s.key == key);
        match existing {
            Some(setting) => {
                setting.value = value;
                setting.sources.push(source);
            }
            None => self.result.settings.push(Setting {
                key,
                value,
                sources: vec![source],
            }),
        }
    }

    fn report(&mut self, assignment: &OptionAssignment, outcome: LineOutcome, text: String) {
        let text = match &assignment.remark {
            Some(remark) => format!("{text} ({remark})"),
            None => text,
        };
        self.result.findings.push(Finding {
            place: assignment.place.clone(),
            line: assignment.line.clone(),
            outcome,
            text,
        });
    }
}

fn source_of(assignment: &OptionAssignment) -> String {
    format!("{}: {}", assignment.place, assignment.line)
}

fn default_text(option: &OpenSmOption) -> String {
    match option.equivalent {
        Equivalent::Key(KeyEquivalent {
            conversion: Conversion::SmpWindow { .. },
            ..
        }) => "OpenSM's default; ferrosm keeps its own, 64".to_owned(),
        Equivalent::Key(_) | Equivalent::NotNeeded(_) => String::new(),
        Equivalent::Absent { .. } => reason_of(option).to_owned(),
    }
}

/// What OpenSM does without a file.
fn unreadable(option: &str, path: &str, error: &io::Error) -> String {
    let consequence = match option {
        "partition_config_file" => {
            "without it all ports are full members of 0x7fff, and no other partition exists"
        }
        "root_guid_file" => "without it updn detects the roots, and ftree fails",
        _ => "OpenSM reports an error at each use",
    };
    let reason = if error.kind() == io::ErrorKind::NotFound {
        "does not exist here".to_owned()
    } else {
        format!("cannot be read: {error}")
    };
    format!(
        "{} {reason}; {consequence}",
        shown_assignment(path, "", false)
    )
}
