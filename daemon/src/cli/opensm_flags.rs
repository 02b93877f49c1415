//! Flags of OpenSM on ferrosm's command line, with their equivalents.
//!
//! Operators type them from memory or copy them from an init script. clap would report one of them
//! at a time and may suggest a flag of another meaning, so `main` calls [`explain`] before it
//! prints clap's message. The flags are those of opensm(8), 3.3.23.

use core::fmt::Write as _;

use ferrosm_opensm_compat::import::finding::NOT_SHOWN;
use ferrosm_opensm_compat::options::command_flags::{self, CommandFlag};
use ferrosm_opensm_compat::options::{
    self, Equivalent, FlagValue, KeyEquivalent, OpenSmOption, OptionFlag,
};

/// Long flags of OpenSM that `ferrosm run` accepts with the same meaning.
const SHARED: &[&str] = &[
    "config",
    "lmc",
    "priority",
    "once",
    "Pconfig",
    "qos_policy_file",
    "prefix_routes_file",
    "help",
    "version",
];
/// Short flags that `ferrosm run` accepts with the same meaning.
const SHARED_LETTERS: &[char] = &['P', 'Y', 'h', 'V'];

/// The row of a flag in the table of OpenSM's options.
#[derive(Debug, Clone, Copy)]
enum FlagRow {
    Option(&'static OpenSmOption, OptionFlag),
    Command(&'static CommandFlag),
}

/// A flag of OpenSM with its value, as typed.
struct Found {
    typed: String,
    value: Option<String>,
    row: FlagRow,
}

/// The equivalents of all flags of OpenSM in the arguments of `run` and `demo`, or of a command
/// line without a command; `None` if there are none.
#[must_use]
pub fn explain(arguments: &[String]) -> Option<String> {
    let flags = match arguments.first().map(String::as_str) {
        Some("run" | "demo") => &arguments[1..],
        Some(word) if word.starts_with('-') => arguments,
        Some(_) | None => return None,
    };
    let (found, kept) = split(flags);
    (!found.is_empty()).then(|| render(&found, &kept))
}

/// The flags of OpenSM, and the other words.
fn split(words: &[String]) -> (Vec<Found>, Vec<String>) {
    let mut found = Vec::new();
    let mut kept = Vec::new();
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        let Some((row, attached)) = parse_word(word) else {
            kept.push(word.clone());
            continue;
        };
        let mut typed = word.clone();
        let mut value = attached.map(str::to_owned);
        // Operators also write `--console` without a value.
        let takes_next = value.is_none()
            && row.has_value()
            && (!row.is_named("console")
                || words.peek().is_some_and(|next| !next.starts_with('-')));
        if takes_next && let Some(next) = words.next() {
            let _ = write!(typed, " {next}");
            value = Some(next.clone());
        }
        if row.is_secret() && value.is_some() {
            typed = format!("{} {NOT_SHOWN}", flag_name(word));
        }
        found.push(Found { typed, value, row });
    }
    (found, kept)
}

/// The flag of a word without its value.
fn flag_name(word: &str) -> String {
    match word.split_once('=') {
        Some((name, _)) if name.starts_with("--") => name.to_owned(),
        None if word.starts_with("--") => word.to_owned(),
        Some(_) | None => word.chars().take(2).collect(),
    }
}

/// A flag of OpenSM, and the value in the same word.
fn parse_word(word: &str) -> Option<(FlagRow, Option<&str>)> {
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (long, None),
        };
        let of_option = || {
            let option = options::by_long_flag(name)?;
            Some(FlagRow::Option(option, option.flag?))
        };
        let of_command = || command_flags::by_long_name(name).map(FlagRow::Command);
        let row = of_option().or_else(of_command)?;
        return (!SHARED.contains(&name)).then_some((row, value));
    }
    let mut letters = word.strip_prefix('-')?.chars();
    let letter = letters
        .next()
        .filter(|letter| !SHARED_LETTERS.contains(letter))?;
    let of_option = || {
        let option = options::by_short_flag(letter)?;
        Some(FlagRow::Option(option, option.flag?))
    };
    let of_command = || command_flags::by_letter(letter).map(FlagRow::Command);
    let row = of_option().or_else(of_command)?;
    let rest = letters.as_str();
    Some((row, (!rest.is_empty()).then_some(rest)))
}

impl FlagRow {
    const fn has_value(self) -> bool {
        match self {
            Self::Option(_, flag) => match flag.value {
                FlagValue::Required | FlagValue::Hexadecimal => true,
                FlagValue::Sets(_) => false,
            },
            Self::Command(flag) => flag.has_value,
        }
    }

    const fn is_secret(self) -> bool {
        match self {
            Self::Option(option, _) => option.is_secret(),
            Self::Command(_) => false,
        }
    }

    fn is_named(self, name: &str) -> bool {
        match self {
            Self::Option(option, _) => option.name == name,
            Self::Command(flag) => flag.long == name,
        }
    }
}

/// What replaces a flag.
enum Replacement {
    /// A flag of `ferrosm run`, and a note.
    RunFlag(String, &'static str),
    /// A line of the configuration file, and a note.
    Line(String, &'static str),
    Note(String),
}

impl Found {
    fn replacement(&self) -> Replacement {
        let value = self.value.as_deref().unwrap_or("...");
        match self.row {
            FlagRow::Command(flag) => match flag.run_flag {
                Some(run_flag) => Replacement::RunFlag(run_flag.to_owned(), flag.note),
                None => Replacement::Note(flag.note.to_owned()),
            },
            FlagRow::Option(option, flag) => match option.equivalent {
                Equivalent::Key(key) => self.replacement_by_key(option, flag, key),
                Equivalent::NotNeeded(reason) => {
                    Replacement::Note(format!("not needed: {}", reason.replace("{}", value)))
                }
                Equivalent::Absent { reason, .. } => {
                    Replacement::Note(format!("no equivalent: {reason}"))
                }
            },
        }
    }

    fn replacement_by_key(
        &self,
        option: &OpenSmOption,
        flag: OptionFlag,
        key: KeyEquivalent,
    ) -> Replacement {
        const MISTAKE: &str = "OpenSM's -p is the priority, -P the partition file";
        let value = match flag.value {
            FlagValue::Sets(value) => value,
            FlagValue::Required | FlagValue::Hexadecimal => self.value.as_deref().unwrap_or("..."),
        };
        if option.name == "sm_priority" && value != "..." && value.parse::<u8>().is_err() {
            return Replacement::RunFlag(format!("-P {value}"), MISTAKE);
        }
        if option.name == "log_flags" {
            let note = "levels instead of a mask: `--log-level error`, `info` or `debug`";
            return Replacement::Note(note.to_owned());
        }
        match (key.run_flag, flag.value) {
            (Some(run_flag), FlagValue::Required | FlagValue::Hexadecimal) => {
                Replacement::RunFlag(format!("{run_flag} {value}"), "")
            }
            (Some(_) | None, _) => {
                let as_read = match (flag.value, value) {
                    (FlagValue::Hexadecimal, value) if !value.starts_with("0x") => {
                        format!("0x{value}")
                    }
                    (_, value) => value.to_owned(),
                };
                let line = match option.format.read(&as_read) {
                    Ok(read) => key.conversion.convert(&read).value,
                    Err(_) => None,
                };
                let shown_value = line.map_or_else(|| value.to_owned(), |toml| toml.to_string());
                let note = match option.name {
                    "max_wire_smps" => "0, unlimited: 4096",
                    "lfts_file" => "with engine file",
                    _ => "",
                };
                Replacement::Line(format!("{} = {shown_value}", key.key), note)
            }
        }
    }
}

fn render(found: &[Found], kept: &[String]) -> String {
    let mut out = String::from("flags of OpenSM:");
    let mut command = vec!["ferrosm run".to_owned()];
    let mut keys = Vec::new();
    let width = found
        .iter()
        .map(|f| f.typed.chars().count())
        .max()
        .unwrap_or(0);
    for flag in found {
        let with_note = |text: &str, note: &str| match note {
            "" => text.to_owned(),
            note => format!("{text} ({note})"),
        };
        let text = match flag.replacement() {
            Replacement::RunFlag(text, note) => {
                command.push(text.clone());
                with_note(&text, note)
            }
            Replacement::Line(text, note) => {
                keys.push(text.clone());
                with_note(&text, note)
            }
            Replacement::Note(text) => text,
        };
        // Writing into a String cannot fail, here and below.
        let _ = write!(out, "\n  {:width$}  {text}", flag.typed);
    }
    command.extend_from_slice(kept);
    let _ = write!(out, "\n  ferrosm's command: {}", command.join(" "));
    if !keys.is_empty() {
        let _ = write!(
            out,
            "\n  in its configuration file: {}; `ferrosm config import -- opensm ...` writes it",
            keys.join(", ")
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(line: &str) -> Option<String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        explain(&words)
    }

    #[test]
    fn all_flags_are_explained_at_once() {
        let text = explained(
            "run -g 0x0002c90300aa0001 -p 11 -P partitions.conf -R ftree,updn,minhop --port-shifting --part_enforce both -B -f sm.log",
        )
        .unwrap();
        for line in [
            "-g 0x0002c90300aa0001  --port-guid 0x0002c90300aa0001",
            "-p 11                  --priority 11",
            "-R ftree,updn,minhop   --engine ftree,updn,minhop",
            "--port-shifting        not needed",
            "--part_enforce both    partitions.enforce = \"both\"",
            "-B                     not needed: run it as a service",
            "-f sm.log              not needed: the log goes to standard error",
            "ferrosm's command: ferrosm run --port-guid 0x0002c90300aa0001 --priority 11 --engine ftree,updn,minhop -P partitions.conf",
            "in its configuration file: partitions.enforce = \"both\"",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }

    /// A mistake seen on a mailing list, in a cluster that ran with it.
    #[test]
    fn priority_flag_with_a_file_name_means_the_partitions() {
        let text = explained("run -p /etc/opensm/partitions.conf").unwrap();
        assert!(
            text.contains("OpenSM's -p is the priority, -P the partition file"),
            "{text}"
        );
        assert!(
            text.ends_with("ferrosm run -P /etc/opensm/partitions.conf"),
            "{text}"
        );
    }

    #[test]
    fn spellings_of_flags_and_values_are_recognised() {
        for (line, expected) in [
            ("run --part-enforce=in", "partitions.enforce = \"in\""),
            ("run -s30", "sweep.interval = \"30s\""),
            ("-B -g 0x1", "--port-guid 0x1"),
            ("run --console --once", "ferrosm run --once"),
            ("demo -R lash", "--engine lash"),
        ] {
            let text = explained(line).unwrap();
            assert!(text.contains(expected), "{line}: {text}");
        }
    }

    #[test]
    fn keys_are_not_shown() {
        for line in [
            "run -k 0x1234",
            "run -k0x1234",
            "run --smkey=0x1234",
            "run --cc_key 0x1234",
        ] {
            let text = explained(line).unwrap();
            assert!(!text.contains("1234"), "{line}: {text}");
        }
    }

    #[test]
    fn flags_of_ferrosm_are_left_to_the_parser() {
        for line in [
            "run --priority 3 --lmc 2 --config f.toml --once -P p -Y q --Pconfig p",
            "run --prot 1",
            "sweep -R",
            "-h",
            "",
        ] {
            assert_eq!(explained(line), None, "{line}");
        }
    }
}
