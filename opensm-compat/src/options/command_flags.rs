//! Flags of OpenSM's command line that set no option of `opensm.conf`.

/// A flag without an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandFlag {
    pub long: &'static str,
    pub short: Option<char>,
    pub has_value: bool,
    /// Flag of `ferrosm run` with the same meaning, if any. `{}` stands for the value.
    pub run_flag: Option<&'static str>,
    /// What replaces it. `{}` stands for the value.
    pub note: &'static str,
}

const fn flag(long: &'static str, short: Option<char>, note: &'static str) -> CommandFlag {
    CommandFlag {
        long,
        short,
        has_value: false,
        run_flag: None,
        note,
    }
}

const fn with_value(long: &'static str, short: Option<char>, note: &'static str) -> CommandFlag {
    CommandFlag {
        has_value: true,
        ..flag(long, short, note)
    }
}

const fn run_flag(flag: CommandFlag, run_flag: &'static str) -> CommandFlag {
    CommandFlag {
        run_flag: Some(run_flag),
        ..flag
    }
}

/// The flags.
#[rustfmt::skip]
pub const COMMAND_FLAGS: &[CommandFlag] = &[
    run_flag(with_value("config", Some('F'), "ferrosm's own format, not opensm.conf: `ferrosm config import FILE` converts it"), "--config FILE"),
    with_value("create-config", Some('c'), "`ferrosm config print --default` prints every key with its default"),
    run_flag(flag("once", Some('o'), ""), "--once"),
    run_flag(flag("verbose", Some('v'), ""), "--log-level debug"),
    run_flag(flag("V", Some('V'), ""), "--log-level debug"),
    with_value("debug", Some('d'), "no equivalent (-d0, ignore other SMs: `sm.allowed-guids`)"),
    with_value("pidfile", Some('J'), "not needed: systemd knows the process"),
    flag("help", Some('h'), "`ferrosm run --help`"),
    flag("version", None, "`ferrosm --version`"),
];

/// The flag with this long name. `-` and `_` are not distinguished.
#[must_use]
pub fn by_long_name(name: &str) -> Option<&'static CommandFlag> {
    let normalized = name.replace('_', "-");
    COMMAND_FLAGS
        .iter()
        .find(|flag| flag.long.replace('_', "-") == normalized)
}

/// The flag with this short name.
#[must_use]
pub fn by_letter(letter: char) -> Option<&'static CommandFlag> {
    COMMAND_FLAGS.iter().find(|flag| flag.short == Some(letter))
}
