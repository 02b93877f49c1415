//! Files that options name: whether OpenSM used them, and whether ferrosm can.

use ferrosm_core::config::partitions::Partition;

use super::finding::{Finding, LineOutcome, Place, shown};
use super::partition_list::{self, are_equal};
use super::partition_rules::{self, FileDropReason, PartitionsReading};
use crate::error::InputError;
use crate::input::{guids, lfts, partitions, prefix_routes, qos_policy, torus};
use crate::options::value::{is_c_space, leading_number};

/// Longest line of a list of GUIDs. The rest is the next line.
const LIST_LINE_MAX: usize = 255;
/// Most definitions of partitions in a file: the number of P_Keys.
const DEFINITIONS_MAX: usize = 32_768;
/// Most groups of partitions in a file. There are 16,383 MLIDs.
const GROUPS_MAX: usize = 16_384;
/// Most findings about one file.
const FINDINGS_MAX: usize = 20;

/// What the configuration says about the use of a file.
#[derive(Debug, Clone, Copy)]
pub struct FileContext<'a> {
    /// Option `qos`.
    pub qos: bool,
    /// The partitions that OpenSM has.
    pub partitions: &'a [Partition],
}

/// What becomes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileUse {
    /// The key names the file.
    AsItIs,
    /// OpenSM did not use it, or ferrosm cannot: no key.
    Omitted,
    /// These partitions stand in the configuration instead.
    Partitions(Vec<Partition>),
}

/// The result for a file.
#[derive(Debug, Clone)]
pub struct ExaminedFile {
    pub usage: FileUse,
    pub findings: Vec<Finding>,
    /// The partitions that OpenSM has; `None` for other files and dropped ones.
    pub partitions: Option<Vec<Partition>>,
}

impl ExaminedFile {
    fn new(usage: FileUse) -> Self {
        Self {
            usage,
            findings: Vec::new(),
            partitions: None,
        }
    }
}

/// Examines the file that an option names. `name` is the file for reports.
#[must_use]
pub fn examine(option: &str, name: &str, file: &[u8], context: FileContext<'_>) -> ExaminedFile {
    let text = String::from_utf8_lossy(file);
    match option {
        "partition_config_file" => examine_partitions(name, file, context.qos),
        "qos_policy_file" => examine_policy(name, &text, context.partitions),
        "prefix_routes_file" => {
            let result = prefix_routes::parse(&text);
            accepted_by_ferrosm(name, result, "OpenSM skips such lines")
        }
        "root_guid_file" => examine_list(name, &text, guids::node_guids, ROOTS),
        "cn_guid_file" | "io_guid_file" => examine_list(name, &text, guids::port_guids, NODES),
        "guid_routing_order_file" => examine_list(name, &text, guids::port_guids, ORDER),
        "ids_guid_file" => examine_list(name, &text, guids::switch_ids, ORDER),
        "hop_weights_file" => examine_list(name, &text, guids::hop_weights, ORDER),
        "port_search_ordering_file" => examine_list(name, &text, guids::port_order, ORDER),
        "port_prof_ignore_file" => examine_list(name, &text, guids::switch_ports, ORDER),
        "torus_config" => {
            accepted_by_ferrosm(name, torus::parse(&text), "OpenSM's torus-2QoS then fails")
        }
        "lfts_file" => accepted_by_ferrosm(
            name,
            lfts::parse(&text),
            "OpenSM's engine `file` then fails",
        ),
        _ => ExaminedFile::new(FileUse::AsItIs),
    }
}

fn examine_partitions(name: &str, file: &[u8], qos: bool) -> ExaminedFile {
    let definitions = match partition_rules::read(file) {
        PartitionsReading::Used(definitions) => definitions,
        PartitionsReading::Dropped { line, reason } => {
            let mut dropped = ExaminedFile::new(FileUse::Omitted);
            let text = format!(
                "OpenSM 3.3 stops here (\"{}\"{}) and drops this file: all ports are full members of 0x7fff, and no other partition exists",
                reason.text(),
                hint_about(&reason)
            );
            dropped.findings.push(Finding {
                place: place_of_line(name, line),
                line: line.map_or_else(String::new, |line| line_of(file, line)),
                outcome: LineOutcome::FileDropped,
                text,
            });
            return dropped;
        }
    };
    let groups: usize = definitions.iter().map(|d| d.groups.len()).sum();
    if definitions.len() > DEFINITIONS_MAX || groups > GROUPS_MAX {
        let mut omitted = ExaminedFile::new(FileUse::Omitted);
        omitted.findings.push(Finding {
            place: Place::file(name),
            line: String::new(),
            outcome: LineOutcome::ChangesBehaviour,
            text: format!(
                "not imported: more than {DEFINITIONS_MAX} definitions, or {GROUPS_MAX} groups"
            ),
        });
        return omitted;
    }
    let list = partition_list::partitions(&definitions, qos);
    let parsed = partitions::parse(&String::from_utf8_lossy(file));
    let finding = |line: usize, outcome: LineOutcome, text: String| Finding {
        place: Place::line(name, line, 1),
        line: line_of(file, line),
        outcome,
        text,
    };
    let mut findings = Vec::new();
    for (line, message) in list.ignored {
        findings.push(finding(line, LineOutcome::Ignored, message));
    }
    for (line, message) in list.unclear {
        let text = format!("{message}; ferrosm reads other units as well, or uses the default");
        findings.push(finding(line, LineOutcome::ChangesBehaviour, text));
    }
    let usage = match &parsed {
        Ok(conf) if are_equal(&conf.partitions, &list.partitions) => FileUse::AsItIs,
        Ok(_) | Err(_) => {
            findings.push(Finding {
                place: Place::file(name),
                line: String::new(),
                outcome: LineOutcome::Converted,
                text: "the partitions that OpenSM made of this file are written as [[partition]], because ferrosm would read the file in another way"
                    .to_owned(),
            });
            FileUse::Partitions(list.partitions.clone())
        }
    };
    for error in parsed.err().unwrap_or_default() {
        if error.is_warning || findings.len() >= FINDINGS_MAX {
            continue;
        }
        let line = error.position.map_or(1, |(line, _)| line);
        let text = format!("OpenSM accepts it, ferrosm does not: {}", error.message);
        findings.push(finding(line, LineOutcome::Ignored, text));
    }
    ExaminedFile {
        usage,
        findings,
        partitions: Some(list.partitions),
    }
}

/// What the word means that OpenSM rejects.
fn hint_about(reason: &FileDropReason) -> String {
    let FileDropReason::BadMember(word) = reason else {
        return String::new();
    };
    let is_range = word
        .split_once('-')
        .is_some_and(|(first, last)| first.starts_with("0x") && last.starts_with("0x"));
    let explanation = if is_range {
        "GUID ranges need NVIDIA's SM"
    } else {
        "a member must be a port GUID or a keyword"
    };
    format!(", `{}`: {explanation}", shown(word))
}

fn examine_policy(name: &str, text: &str, partitions: &[Partition]) -> ExaminedFile {
    let parsed = match qos_policy::parse(text, partitions) {
        Ok(parsed) => parsed,
        Err(errors) => {
            let result: Result<(), _> = Err(errors);
            return accepted_by_ferrosm(name, result, "OpenSM drops a policy with an error");
        }
    };
    let mut examined = ExaminedFile::new(FileUse::AsItIs);
    for warning in parsed.warnings {
        let line = warning.position.map_or(1, |(line, _)| line);
        let source = line_of(text.as_bytes(), line);
        let is_ipoib = source.to_ascii_lowercase().starts_with("ipoib");
        let drops = is_ipoib && warning.message.contains("no partition has P_Key");
        let message = if drops {
            examined.usage = FileUse::Omitted;
            format!(
                "{}; OpenSM drops the whole policy for such a rule, so that all paths have SL 0",
                warning.message
            )
        } else {
            warning.message
        };
        examined.findings.push(Finding {
            place: place_at(name, warning.position),
            line: source,
            outcome: LineOutcome::Ignored,
            text: message,
        });
    }
    examined.findings.truncate(FINDINGS_MAX);
    examined
}

/// What OpenSM does with a list of GUIDs.
struct ListRules {
    /// The consequence of a line without a GUID.
    if_invalid: &'static str,
    /// Whether OpenSM uses nothing of a file with such a line.
    drops_file: bool,
    /// The consequence of a list without a GUID.
    if_empty: &'static str,
    empty: EmptyList,
    /// Whether a second column has no meaning.
    has_one_column: bool,
}

/// What OpenSM does with a list without a GUID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EmptyList {
    /// The same as without the file.
    NoEffect,
    /// Its engines fail; ferrosm's do not without the file.
    EngineFails,
    /// Its engine fails; so does that of ferrosm with the file.
    EngineFailsInBoth,
}

const ROOTS: ListRules = ListRules {
    if_invalid: "updn detects the roots, and ftree fails",
    drops_file: true,
    if_empty: "OpenSM then disables updn and ftree, and uses the next engine or minhop; ferrosm detects the roots. `routing.engines = [\"minhop\"]` gives OpenSM's routes",
    empty: EmptyList::EngineFails,
    has_one_column: true,
};
const NODES: ListRules = ListRules {
    if_invalid: "ftree fails",
    drops_file: true,
    if_empty: "OpenSM's ftree fails with an empty list",
    empty: EmptyList::EngineFailsInBoth,
    has_one_column: true,
};
const ORDER: ListRules = ListRules {
    if_invalid: "only the lines before it are used",
    drops_file: false,
    if_empty: "the file has no effect",
    empty: EmptyList::NoEffect,
    has_one_column: false,
};

fn examine_list<T>(
    name: &str,
    text: &str,
    parse: impl FnOnce(&str) -> Result<Vec<T>, Vec<InputError>>,
    rules: ListRules,
) -> ExaminedFile {
    let mut examined = ExaminedFile::new(FileUse::AsItIs);
    let mut guids = 0;
    let mut last_number = 0;
    for (number, line) in list_lines(text) {
        let trimmed = line.trim_start_matches(is_c_space);
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        let guid = leading_number(trimmed);
        let rest = &trimmed[guid.length..];
        let ends = rest
            .chars()
            .next()
            .is_none_or(|c| is_c_space(c) || c == '#');
        if guid.length == 0 || !ends {
            examined.usage = FileUse::Omitted;
            examined.findings.push(Finding {
                place: Place::line(name, number, 1),
                line: shown(trimmed),
                outcome: match rules.drops_file {
                    true => LineOutcome::Ignored,
                    false => LineOutcome::ChangesBehaviour,
                },
                text: format!(
                    "no GUID: OpenSM stops reading here, and {}{}",
                    rules.if_invalid,
                    hint_about_name(trimmed)
                ),
            });
            return examined;
        }
        guids += 1;
        if last_number == number {
            examined.findings.push(Finding {
                place: Place::line(name, number, LIST_LINE_MAX + 1),
                line: shown(trimmed),
                outcome: LineOutcome::ChangesBehaviour,
                text: format!(
                    "OpenSM reads a line only up to {LIST_LINE_MAX} bytes, and the rest as another line"
                ),
            });
        }
        last_number = number;
        let word = rest.split_whitespace().next().unwrap_or_default();
        let is_number = !word.is_empty() && leading_number(word).length == word.len();
        if rules.has_one_column && is_number && examined.findings.len() < FINDINGS_MAX {
            examined.findings.push(Finding {
                place: Place::line(name, number, 1),
                line: shown(trimmed),
                outcome: LineOutcome::Ignored,
                text: format!("`{word}` behind the GUID: OpenSM reads no rank"),
            });
        }
    }
    if guids == 0 {
        examined.usage = match rules.empty {
            EmptyList::NoEffect | EmptyList::EngineFails => FileUse::Omitted,
            EmptyList::EngineFailsInBoth => FileUse::AsItIs,
        };
        examined.findings.push(Finding {
            place: Place::file(name),
            line: String::new(),
            outcome: match rules.empty {
                EmptyList::NoEffect => LineOutcome::Ignored,
                EmptyList::EngineFails | EmptyList::EngineFailsInBoth => {
                    LineOutcome::ChangesBehaviour
                }
            },
            text: format!("no GUID in this file: {}", rules.if_empty),
        });
        return examined;
    }
    let accepted = accepted_by_ferrosm(name, parse(text), "OpenSM skips such lines");
    examined.findings.extend(accepted.findings);
    examined.usage = accepted.usage;
    examined
}

/// NVIDIA's SM accepts names of port groups.
fn hint_about_name(line: &str) -> &'static str {
    match line.starts_with(|c: char| c.is_ascii_alphabetic()) {
        true => ". Names of port groups need NVIDIA's SM: list the GUIDs of the group",
        false => "",
    }
}

/// The lines as OpenSM reads them, with their numbers.
fn list_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().flat_map(|(index, line)| {
        let mut rest = line;
        core::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let mut end = rest.len().min(LIST_LINE_MAX);
            while !rest.is_char_boundary(end) {
                end -= 1;
            }
            let (piece, further) = rest.split_at(end);
            rest = further;
            Some((index + 1, piece))
        })
    })
}

/// Reports the errors of ferrosm's own parser, which rejects the file.
fn accepted_by_ferrosm<T>(
    name: &str,
    result: Result<T, Vec<InputError>>,
    of_opensm: &str,
) -> ExaminedFile {
    let mut examined = ExaminedFile::new(FileUse::AsItIs);
    for error in result.err().unwrap_or_default() {
        if error.is_warning || examined.findings.len() >= FINDINGS_MAX {
            continue;
        }
        examined.usage = FileUse::Omitted;
        examined.findings.push(Finding {
            place: place_at(name, error.position),
            line: String::new(),
            outcome: LineOutcome::ChangesBehaviour,
            text: format!("{}: ferrosm rejects the file; {of_opensm}", error.message),
        });
    }
    examined
}

fn place_at(name: &str, position: Option<(usize, usize)>) -> Place {
    match position {
        Some((line, column)) => Place::line(name, line, column),
        None => Place::file(name),
    }
}

fn place_of_line(name: &str, line: Option<usize>) -> Place {
    place_at(name, line.map(|line| (line, 1)))
}

/// The text of a line, for reports.
fn line_of(file: &[u8], number: usize) -> String {
    let line = file
        .split(|byte| *byte == b'\n')
        .nth(number.saturating_sub(1));
    shown(&String::from_utf8_lossy(line.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_PARTITIONS: FileContext<'_> = FileContext {
        qos: true,
        partitions: &[],
    };

    fn examined(option: &str, text: &str) -> ExaminedFile {
        examine(option, "f", text.as_bytes(), NO_PARTITIONS)
    }

    #[test]
    fn root_files_without_effect_are_omitted() {
        let roots = |text: &str| examined("root_guid_file", text);
        let ranks = roots("0x1 1\n0x2 2\n");
        assert_eq!(ranks.usage, FileUse::AsItIs);
        assert_eq!(ranks.findings.len(), 2);
        assert!(ranks.findings[0].text.contains("no rank"));
        let empty = roots("# spines: to be filled in\n");
        assert_eq!(empty.usage, FileUse::Omitted);
        assert_eq!(empty.findings[0].outcome, LineOutcome::ChangesBehaviour);
        assert!(
            empty.findings[0]
                .text
                .contains("uses the next engine or minhop")
        );
        for (text, reason) in [
            ("top_switches\n", "list the GUIDs of the group"),
            ("0x1\nspine 2\n", "updn detects the roots"),
        ] {
            let omitted = roots(text);
            assert_eq!(omitted.usage, FileUse::Omitted, "{text}");
            assert!(omitted.findings[0].text.contains(reason), "{omitted:?}");
            assert_eq!(omitted.findings[0].outcome, LineOutcome::Ignored);
        }
        assert!(roots("0x1 spine1\n").findings.is_empty());
    }

    #[test]
    fn long_lines_of_lists_are_cut() {
        let ports: Vec<String> = (1..=100).map(|n| n.to_string()).collect();
        let text = format!("0x1 {}\n", ports.join(" "));
        let cut = examined("port_search_ordering_file", &text);
        assert_eq!(cut.usage, FileUse::AsItIs, "{cut:?}");
        assert!(cut.findings[0].text.contains("only up to 255 bytes"));
        assert_eq!(list_lines(&text).count(), 2);
    }

    #[test]
    fn policy_with_an_ipoib_rule_for_no_partition_is_dropped() {
        let rules = |rule: &str| {
            let text = format!("qos-ulps\n  default : 0\n  {rule} : 3\nend-qos-ulps\n");
            examined("qos_policy_file", &text)
        };
        let dropped = rules("ipoib, pkey 0x0044");
        assert_eq!(dropped.usage, FileUse::Omitted);
        assert!(dropped.findings[0].text.contains("drops the whole policy"));
        let kept = rules("any, pkey 0x0044");
        assert_eq!(kept.usage, FileUse::AsItIs);
        assert!(kept.findings[0].text.contains("the rule never matches"));
    }

    #[test]
    fn size_of_partitions_is_bounded() {
        let text = "A=1:mgid=ff12::1;\n".repeat(GROUPS_MAX + 1);
        let omitted = examined("partition_config_file", &text);
        assert_eq!(omitted.usage, FileUse::Omitted);
        assert_eq!(omitted.findings[0].outcome, LineOutcome::ChangesBehaviour);
    }

    #[test]
    fn ranges_and_names_drop_the_partitions() {
        let range =
            "Default=0x7fff, ipoib : ALL=limited, SELF=full ;\nRack7=0x31 : 0x20-0x3f=full ;\n";
        let dropped = examined("partition_config_file", range);
        assert_eq!(dropped.usage, FileUse::Omitted);
        let finding = &dropped.findings[0];
        assert_eq!(finding.place.to_string(), "f:2");
        assert!(finding.text.contains("NVIDIA"), "{finding:?}");
        let names = examined("partition_config_file", "A=1 : cn[01-64] ;\n");
        assert!(names.findings[0].text.contains("a port GUID or a keyword"));
    }
}
