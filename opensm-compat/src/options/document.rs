//! `docs/opensm-options.md`: the table of options, for operators.

use super::command_flags::COMMAND_FLAGS;
use super::value::ValueFormat;
use super::{Availability, Equivalent, FlagValue, Impact, OpenSmOption, OptionFlag, rows};

const INTRODUCTION: &str = "\
# Options of OpenSM

Every option of `opensm.conf`, its flag and its default in OpenSM 3.3.23, and what ferrosm has instead. `ferrosm config import` applies this
table to a site's files ([operation](operations.md#migration-from-opensm)); a test compares it with the file that the installed `opensm -c`
writes.

* **Key**: `config import` writes this key of `/etc/ferrosm/ferrosm.toml`. A difference is stated behind it.
* **Not needed**: ferrosm does the same, or better, without a setting.
* **None**: nothing replaces it. \"Fabric\" means that devices, paths or replies to clients differ from OpenSM if the option is not at its
  default; \"operation\" that only the operation of the SM differs.

OpenSM reads a line as a name, blanks and a value. It cuts the line at `#`, removes one pair of quotes around the value, reads at most 1022
bytes as one line, ignores names that it does not know, and keeps the previous value of a number that it cannot read. Of a boolean, only
`TRUE` is true: `yes`, `true`, `1` and `= TRUE` are FALSE. The last line of an option applies, and flags override the file.
";

/// The document.
#[must_use]
pub fn render() -> String {
    let mut text = INTRODUCTION.to_owned();
    for section in rows::SECTIONS {
        text.push_str(&format!(
            "\n## {}\n\noption | flag | default | ferrosm\n---|---|---|---\n",
            section.title
        ));
        for option in section.options {
            text.push_str(&row(option));
        }
    }
    text.push_str("\n## Flags without an option\n\nflag | ferrosm\n---|---\n");
    for flag in COMMAND_FLAGS {
        let value = if flag.has_value { " VALUE" } else { "" };
        let name = flag_name(flag.long, flag.short);
        let equivalent = match (flag.run_flag, flag.note) {
            (Some(run_flag), "") => format!("`ferrosm run {run_flag}`"),
            (Some(run_flag), note) => format!("`ferrosm run {run_flag}`: {note}"),
            (None, note) => note.to_owned(),
        };
        text.push_str(&format!("`{name}{value}` | {equivalent}\n"));
    }
    text
}

fn row(option: &OpenSmOption) -> String {
    let flag = option
        .flag
        .map_or_else(String::new, |flag| shown_flag(&flag));
    let default = match (option.availability, option.format) {
        (Availability::Nvidia, _) | (_, ValueFormat::Mask) => String::new(),
        (Availability::All | Availability::AliasOf(_) | Availability::Later, _) => {
            format!("`{}`", option.default)
        }
    };
    let availability = match option.availability {
        Availability::All | Availability::Nvidia => String::new(),
        Availability::AliasOf(name) => format!(" (another name of `{name}`)"),
        Availability::Later => " (after 3.3.23)".to_owned(),
    };
    let requires = option.requires.map_or_else(String::new, |name| {
        format!(" OpenSM uses it only with `{name} TRUE`.")
    });
    format!(
        "`{}`{availability} | {flag} | {default} | {}{requires}\n",
        option.name,
        equivalent(&option.equivalent)
    )
}

fn shown_flag(flag: &OptionFlag) -> String {
    let name = flag_name(flag.long, flag.short);
    match flag.value {
        FlagValue::Sets(_) => format!("`{name}`"),
        FlagValue::Required => format!("`{name} VALUE`"),
        FlagValue::Hexadecimal => format!("`{name} HEX`"),
    }
}

fn flag_name(long: &str, short: Option<char>) -> String {
    let dashes = if long.len() == 1 { "-" } else { "--" };
    match short {
        Some(short) if !long.starts_with(short) || long.len() > 1 => {
            format!("{dashes}{long}, -{short}")
        }
        Some(_) | None => format!("{dashes}{long}"),
    }
}

fn equivalent(equivalent: &Equivalent) -> String {
    match equivalent {
        Equivalent::Key(key) => {
            let run_flag = key
                .run_flag
                .map_or_else(String::new, |flag| format!(" (`ferrosm run {flag}`)"));
            let difference = match key.difference {
                "" => String::new(),
                difference => format!(" {difference}"),
            };
            format!("key `{}`{run_flag}.{difference}", key.key)
        }
        Equivalent::NotNeeded(instead) => {
            format!("not needed: {}.", instead.replace("{}", "FILE"))
        }
        Equivalent::Absent { impact, reason } => {
            let impact = match impact {
                Impact::Fabric => "fabric",
                Impact::Operation => "operation",
            };
            format!("none ({impact}): {reason}.")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With `FERROSM_WRITE_DOCS` set, the file is written.
    #[test]
    fn document_is_that_of_the_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/opensm-options.md");
        if std::env::var_os("FERROSM_WRITE_DOCS").is_some() {
            std::fs::write(path, render()).unwrap();
        }
        let text = std::fs::read_to_string(path).unwrap();
        assert!(
            text == render(),
            "the rows differ: FERROSM_WRITE_DOCS=1 writes them"
        );
    }

    #[test]
    fn every_option_has_a_row() {
        let text = render();
        for option in super::super::all() {
            let start = format!("`{}`", option.name);
            assert!(
                text.lines().any(|line| line.starts_with(&start)),
                "{}",
                option.name
            );
        }
        assert!(text.contains("`sm_priority` | `--priority, -p VALUE` | `0` | key `sm.priority` (`ferrosm run --priority`).\n"));
    }
}
