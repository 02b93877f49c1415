//! Flags of OpenSM's command line, as `getopt_long_only` reads them.

use super::assignments::{Assignments, OptionAssignment};
use super::finding::{Finding, LineOutcome, NOT_SHOWN, Place, shown};
use crate::options::command_flags::{self, COMMAND_FLAGS, CommandFlag};
use crate::options::value::{ValueFormat, leading_number};
use crate::options::{self, FlagValue, OpenSmOption, OptionFlag};

/// What a command line sets.
#[derive(Debug, Clone, Default)]
pub struct CommandLine {
    /// The file of `-F`, if any.
    pub config: Option<String>,
    pub flags: Vec<ParsedFlag>,
}

/// A flag with its value.
#[derive(Debug, Clone)]
pub struct ParsedFlag {
    /// As typed.
    pub typed: String,
    pub value: Option<String>,
    pub meaning: FlagMeaning,
}

/// The row of a flag.
#[derive(Debug, Clone, Copy)]
pub enum FlagMeaning {
    Option(&'static OpenSmOption, OptionFlag),
    Command(&'static CommandFlag),
    /// OpenSM prints its help and exits.
    Unknown,
    /// The value is missing: OpenSM prints its help and exits.
    WithoutValue,
}

impl FlagMeaning {
    const fn has_value(&self) -> bool {
        match self {
            Self::Option(_, flag) => !matches!(flag.value, FlagValue::Sets(_)),
            Self::Command(flag) => flag.has_value,
            Self::Unknown | Self::WithoutValue => false,
        }
    }
}

/// Parses the words after `opensm`. Words that are no flags have no meaning to OpenSM.
#[must_use]
pub fn parse(words: &[String]) -> CommandLine {
    let mut line = CommandLine::default();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if word == "--" {
            break;
        }
        if word.len() < 2 || !word.starts_with('-') {
            continue;
        }
        for (name, attached, meaning) in flags_of_word(word) {
            let mut flag = ParsedFlag {
                typed: name,
                value: attached,
                meaning,
            };
            if flag.meaning.has_value() && flag.value.is_none() {
                match rest.next() {
                    Some(value) => flag.value = Some(value.clone()),
                    None => flag.meaning = FlagMeaning::WithoutValue,
                }
            }
            if let FlagMeaning::Command(command) = flag.meaning
                && command.long == "config"
            {
                line.config.clone_from(&flag.value);
            }
            line.flags.push(flag);
        }
    }
    line
}

type WordFlag = (String, Option<String>, FlagMeaning);

/// The flags of a word: one long flag, with one or two dashes, or short flags.
fn flags_of_word(word: &str) -> Vec<WordFlag> {
    let is_double = word.starts_with("--");
    let body = word.trim_start_matches('-');
    let letters: Vec<char> = body.chars().collect();
    let is_letter = letters.len() == 1 && !matches!(by_letter(letters[0]), FlagMeaning::Unknown);
    if is_double || !is_letter {
        let (name, value) = match body.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (body, None),
        };
        let meaning = by_long_name(name);
        let is_short = letters
            .first()
            .is_some_and(|letter| !matches!(by_letter(*letter), FlagMeaning::Unknown));
        if is_double || !is_short || !matches!(meaning, FlagMeaning::Unknown) {
            let dashes = if is_double { "--" } else { "-" };
            return vec![(format!("{dashes}{name}"), value, meaning)];
        }
    }
    short_flags(&letters)
}

fn short_flags(letters: &[char]) -> Vec<WordFlag> {
    let mut found = Vec::new();
    for (at, letter) in letters.iter().enumerate() {
        let meaning = by_letter(*letter);
        let rest: String = letters[at + 1..].iter().collect();
        let takes_rest = meaning.has_value() && !rest.is_empty();
        let value = takes_rest.then_some(rest);
        found.push((format!("-{letter}"), value, meaning));
        if takes_rest {
            break;
        }
    }
    found
}

fn by_letter(letter: char) -> FlagMeaning {
    if let Some(option) = options::by_short_flag(letter)
        && let Some(flag) = option.flag
    {
        return FlagMeaning::Option(option, flag);
    }
    command_flags::by_letter(letter).map_or(FlagMeaning::Unknown, FlagMeaning::Command)
}

/// The flag with this name, or the only one that begins with it.
fn by_long_name(name: &str) -> FlagMeaning {
    let of_options = options::all().filter_map(|option| {
        let flag = option.flag?;
        Some((flag.long, FlagMeaning::Option(option, flag)))
    });
    let of_commands = COMMAND_FLAGS
        .iter()
        .map(|flag| (flag.long, FlagMeaning::Command(flag)));
    let candidates: Vec<_> = of_options
        .chain(of_commands)
        .filter(|(long, _)| long.starts_with(name))
        .collect();
    let exact = candidates.iter().find(|(long, _)| *long == name);
    match (exact, &candidates[..]) {
        (Some((_, meaning)), _) => *meaning,
        (None, [(_, meaning)]) => *meaning,
        (None, _) => FlagMeaning::Unknown,
    }
}

impl CommandLine {
    /// Adds the flags to the assignments, which they override.
    pub fn apply(&self, place: &Place, to: &mut Assignments) {
        for flag in &self.flags {
            flag.apply(place, to);
        }
    }
}

impl ParsedFlag {
    /// Whether the flag sets this option.
    #[must_use]
    pub fn is_of_option(&self, name: &str) -> bool {
        match self.meaning {
            FlagMeaning::Option(option, _) => option.name == name,
            FlagMeaning::Command(_) | FlagMeaning::Unknown | FlagMeaning::WithoutValue => false,
        }
    }

    fn apply(&self, place: &Place, to: &mut Assignments) {
        match self.meaning {
            FlagMeaning::Option(option, flag) => {
                let value = match flag.value {
                    FlagValue::Sets(value) => value.to_owned(),
                    FlagValue::Required => self.value_of_option(option),
                    FlagValue::Hexadecimal => self.hexadecimal(),
                };
                let raw = self.value.clone().unwrap_or_else(|| value.clone());
                let assignment = OptionAssignment {
                    option,
                    place: place.clone(),
                    line: self.shown(option.is_secret()),
                    value: option.format.read(&value),
                    raw: if option.is_secret() { value } else { raw },
                    remark: self.mistake(option),
                };
                if let Some(reason) = self.refusal(option, &assignment) {
                    to.findings.push(Finding {
                        place: assignment.place,
                        line: assignment.line,
                        outcome: LineOutcome::Ignored,
                        text: reason,
                    });
                    return;
                }
                to.push(assignment);
            }
            FlagMeaning::Command(flag) => self.apply_command(flag, place, to),
            FlagMeaning::Unknown => {
                let text = "OpenSM has no such flag: it prints its help and exits";
                to.findings
                    .push(self.finding(place, LineOutcome::Ignored, text));
            }
            FlagMeaning::WithoutValue => {
                let text = "the value is missing: OpenSM prints its help and exits";
                to.findings
                    .push(self.finding(place, LineOutcome::Ignored, text));
            }
        }
    }

    fn apply_command(&self, flag: &CommandFlag, place: &Place, to: &mut Assignments) {
        let sets = match (flag.long, self.value.as_deref()) {
            ("debug", Some(level)) => match leading_number(level).value {
                Some(0) => Some(("ignore_other_sm", "TRUE".to_owned())),
                Some(1) => Some(("single_thread", "TRUE".to_owned())),
                Some(2) => Some(("force_log_flush", "TRUE".to_owned())),
                Some(3) => Some(("disable_multicast", "TRUE".to_owned())),
                _ => None,
            },
            ("verbose", _) => {
                let mask = leading_number(to.value("log_flags")).value.unwrap_or(3);
                Some(("log_flags", ((mask << 1 | 1) & 0xFF).to_string()))
            }
            ("V", _) => {
                self.set("force_log_flush", "TRUE", place, to);
                Some(("log_flags", "0xff".to_owned()))
            }
            _ => None,
        };
        if let Some((name, value)) = sets {
            self.set(name, &value, place, to);
            return;
        }
        let (outcome, text) = match (flag.long, flag.run_flag) {
            ("config", _) => (LineOutcome::Converted, "the file is imported".to_owned()),
            ("once", Some(run_flag)) => (
                LineOutcome::NotNeeded,
                format!("a service runs on; `ferrosm run {run_flag}` sweeps once"),
            ),
            ("create-config" | "help" | "version", _) => (
                LineOutcome::Ignored,
                "OpenSM exits after this flag".to_owned(),
            ),
            (_, _) => (LineOutcome::NotNeeded, flag.note.to_owned()),
        };
        to.findings.push(self.finding(place, outcome, &text));
    }

    /// Sets an option that the flag does not name.
    fn set(&self, name: &str, value: &str, place: &Place, to: &mut Assignments) {
        if let Some(option) = options::by_name(name) {
            to.push(OptionAssignment {
                option,
                place: place.clone(),
                line: self.shown(false),
                value: option.format.read(value),
                raw: value.to_owned(),
                remark: None,
            });
        }
    }

    /// A remark about a value that the operator cannot have meant.
    fn mistake(&self, option: &OpenSmOption) -> Option<String> {
        let value = self.value.as_deref()?;
        let number = leading_number(value);
        match option.name {
            // Seen on a mailing list, in a cluster that ran with it.
            "sm_priority" if number.length == 0 => Some(format!(
                "-p is the priority, which is 0 with `{}`; -P is the partition file",
                shown(value)
            )),
            "transaction_timeout" if number.value == Some(0) => {
                Some("OpenSM reports that it ignores the 0, but uses it".to_owned())
            }
            _ => None,
        }
    }

    /// Why OpenSM does not use the value, or does not start with it.
    fn refusal(&self, option: &OpenSmOption, assignment: &OptionAssignment) -> Option<String> {
        const LIMITS: [(&str, u64); 5] = [
            ("sm_priority", 15),
            ("lmc", 7),
            ("sm_sl", 15),
            ("lash_start_vl", 14),
            ("nue_max_num_vls", 14),
        ];
        let value = self.value.as_deref()?;
        if let Some((_, max)) = LIMITS.iter().find(|(name, _)| *name == option.name)
            && leading_number(value)
                .value
                .is_none_or(|number| number > *max)
        {
            return Some(format!("above {max}: OpenSM prints an error and exits"));
        }
        if assignment.value.is_err() {
            return Some("OpenSM cannot read the value".to_owned());
        }
        let words: &[&str] = match option.name {
            "part_enforce" => &["both", "in", "out", "off"],
            "console" => &["off", "local", "loopback"],
            _ => return None,
        };
        (!words.contains(&value)).then(|| format!("not one of {}", words.join(", ")))
    }

    /// The value of a flag. OpenSM reads a number up to the first other character, and keeps its
    /// low bits.
    fn value_of_option(&self, option: &OpenSmOption) -> String {
        const WINDOW_MAX: u64 = 0x7FFF_FFFF;
        let value = self.value.clone().unwrap_or_default();
        let number = leading_number(&value).value.unwrap_or(u64::MAX);
        match option.format {
            ValueFormat::Text
            | ValueFormat::Boolean
            | ValueFormat::Mask
            | ValueFormat::Structure => value,
            ValueFormat::Hex64 | ValueFormat::Secret | ValueFormat::Signed => number.to_string(),
            ValueFormat::Unsigned { max, .. } => {
                let low = number & u64::from(max);
                match option.name == "max_wire_smps" && !(1..=WINDOW_MAX).contains(&low) {
                    true => WINDOW_MAX.to_string(),
                    false => low.to_string(),
                }
            }
        }
    }

    /// A number in hexadecimal digits, with or without `0x`.
    fn hexadecimal(&self) -> String {
        let text = self.value.as_deref().unwrap_or_default().trim_start();
        let digits = text
            .strip_prefix("0x")
            .or_else(|| text.strip_prefix("0X"))
            .unwrap_or(text);
        let count = digits
            .find(|c: char| !c.is_ascii_hexdigit())
            .unwrap_or(digits.len());
        match &digits[..count] {
            "" => "0".to_owned(),
            digits => format!("0x{digits}"),
        }
    }

    fn shown(&self, is_secret: bool) -> String {
        match &self.value {
            Some(_) if is_secret => format!("{} {NOT_SHOWN}", self.typed),
            Some(value) => shown(&format!("{} {value}", self.typed)),
            None => shown(&self.typed),
        }
    }

    fn finding(&self, place: &Place, outcome: LineOutcome, text: &str) -> Finding {
        let may_be_secret = super::finding::may_be_secret(&self.typed);
        Finding {
            place: place.clone(),
            line: self.shown(may_be_secret),
            outcome,
            text: text.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effective(line: &str) -> Assignments {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let mut assignments = Assignments::default();
        parse(&words).apply(&Place::file("command line"), &mut assignments);
        assignments.correct();
        assignments
    }

    #[test]
    fn flags_set_options() {
        let set = effective(
            "-B -g 0002c90400000021 -p 11 -sweep 0x1e --routing_engine=ftree,updn -Qy -k ab --port-shifting",
        );
        for (option, value) in [
            ("daemon", "TRUE"),
            ("guid", "0x0002c90400000021"),
            ("sm_priority", "11"),
            ("sweep_interval", "30"),
            ("routing_engine", "ftree,updn"),
            ("qos", "TRUE"),
            ("exit_on_fatal", "FALSE"),
            ("sm_key", "0x00000000000000ab"),
            ("port_shifting", "TRUE"),
        ] {
            assert_eq!(set.value(option), value, "{option}");
        }
        assert!(set.list().iter().all(|a| !a.line.contains("ab")));
    }

    #[test]
    fn unique_beginnings_of_long_flags_are_flags() {
        assert_eq!(effective("--prio 7").value("sm_priority"), "7");
        assert_eq!(effective("-reass").value("reassign_lids"), "TRUE");
        // log_file, log_limit and log_prefix.
        assert_eq!(effective("--log x").findings.len(), 1);
    }

    #[test]
    fn invalid_values_are_reported() {
        for (line, reason) in [
            ("-p 16", "exits"),
            ("-Z everywhere", "not one of"),
            ("-g", "missing"),
            ("--unknown", "no such flag"),
        ] {
            let findings = effective(line).findings;
            assert_eq!(findings.len(), 1, "{line}");
            assert!(findings[0].text.contains(reason), "{findings:?}");
        }
    }

    #[test]
    fn priority_flag_with_a_file_name_is_priority_0() {
        let set = effective("-p 5 -p /etc/opensm/partitions.conf");
        assert_eq!(set.value("sm_priority"), "0");
        let remark = set.in_force("sm_priority").unwrap().remark.clone();
        assert!(remark.unwrap().contains("-P is the partition file"));
    }

    #[test]
    fn levels_of_debugging_set_options() {
        assert!(effective("-d 0").is_true("ignore_other_sm"));
        assert_eq!(effective("-v -v").value("log_flags"), "0x0f");
        assert_eq!(effective("-V").value("log_flags"), "0xff");
        assert_eq!(effective("-D 7").value("log_flags"), "0x07");
    }
}
