//! Every option of OpenSM: its name in `opensm.conf`, its flag, its default, and what ferrosm has
//! instead.
//!
//! One table: the answer to a flag of OpenSM, `ferrosm config import`, `ferrosm config export` and
//! `docs/opensm-options.md` follow from its rows. Facts about OpenSM are those of version 3.3.23
//! (`osm_subnet.c`, `main.c`); a row says if another version has the option.
//!
//! | module | contents |
//! |---|---|
//! | this | the type of a row, and the search for rows |
//! | [`rows`] | the rows, a file for each section of `opensm.conf` |
//! | [`command_flags`] | flags of OpenSM that set no option |
//! | [`value`] | how OpenSM reads a value |
//! | [`conversion`] | the value of the key in ferrosm's configuration |
//! | [`document`] | `docs/opensm-options.md` |

pub mod command_flags;
pub mod conversion;
pub mod document;
pub mod rows;
pub mod value;

use conversion::Conversion;
use value::ValueFormat;

/// An option of OpenSM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenSmOption {
    /// Name in `opensm.conf`.
    pub name: &'static str,
    /// How OpenSM reads its value.
    pub format: ValueFormat,
    /// Default, as `opensm -c` writes it.
    pub default: &'static str,
    /// Programs that have it.
    pub availability: Availability,
    /// Flag of the command line that sets it.
    pub flag: Option<OptionFlag>,
    /// Option that must be TRUE; otherwise OpenSM does not use this one.
    pub requires: Option<&'static str>,
    pub equivalent: Equivalent,
}

/// Programs that have an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Availability {
    /// OpenSM 3.3.23 and later.
    All,
    /// OpenSM 3.3.23 reads it as another name of this option.
    AliasOf(&'static str),
    /// OpenSM after 3.3.23.
    Later,
    /// NVIDIA's SM only (MLNX_OFED, UFM): OpenSM does not know it.
    Nvidia,
}

/// A flag of OpenSM's command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionFlag {
    pub long: &'static str,
    pub short: Option<char>,
    pub value: FlagValue,
}

/// The value of a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlagValue {
    /// None: the flag sets this value of the option.
    Sets(&'static str),
    /// A number or text.
    Required,
    /// A hexadecimal number, with or without `0x`.
    Hexadecimal,
}

/// What ferrosm has instead of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Equivalent {
    /// A key of the configuration file.
    Key(KeyEquivalent),
    /// ferrosm needs no setting for it; says what it does instead.
    NotNeeded(&'static str),
    /// Nothing.
    Absent {
        impact: Impact,
        /// The consequence, or what to use instead.
        reason: &'static str,
    },
}

/// A key of the configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyEquivalent {
    /// Section and name, such as `sm.priority`.
    pub key: &'static str,
    pub conversion: Conversion,
    /// Flag of `ferrosm run` that sets the same.
    pub run_flag: Option<&'static str>,
    /// How ferrosm differs; empty if it does not.
    pub difference: &'static str,
}

/// What changes if an option has no equivalent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Impact {
    /// Devices, paths or replies to clients: the fabric behaves differently.
    Fabric,
    /// Only how the SM is operated.
    Operation,
}

/// A section of `opensm.conf`.
#[derive(Debug, Clone, Copy)]
pub struct Section {
    pub title: &'static str,
    pub options: &'static [OpenSmOption],
}

/// All options.
pub fn all() -> impl Iterator<Item = &'static OpenSmOption> {
    rows::SECTIONS.iter().flat_map(|section| section.options)
}

/// Options that OpenSM 3.3.23 or a later version has, without aliases.
pub fn of_opensm() -> impl Iterator<Item = &'static OpenSmOption> {
    all().filter(|option| match option.availability {
        Availability::All | Availability::Later => true,
        Availability::AliasOf(_) | Availability::Nvidia => false,
    })
}

/// The option with this name.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static OpenSmOption> {
    all().find(|option| option.name == name)
}

/// The option that a long flag sets. `-` and `_` are not distinguished.
#[must_use]
pub fn by_long_flag(name: &str) -> Option<&'static OpenSmOption> {
    let normalized = name.replace('_', "-");
    all().find(|option| {
        option
            .flag
            .is_some_and(|flag| flag.long.replace('_', "-") == normalized)
    })
}

/// The option that a short flag sets.
#[must_use]
pub fn by_short_flag(letter: char) -> Option<&'static OpenSmOption> {
    all().find(|option| option.flag.is_some_and(|flag| flag.short == Some(letter)))
}

impl OpenSmOption {
    /// An option of OpenSM 3.3.23 and later without a flag.
    const fn new(
        name: &'static str,
        format: ValueFormat,
        default: &'static str,
        equivalent: Equivalent,
    ) -> Self {
        Self {
            name,
            format,
            default,
            availability: Availability::All,
            flag: None,
            requires: None,
            equivalent,
        }
    }

    const fn flag(mut self, long: &'static str, short: Option<char>, value: FlagValue) -> Self {
        self.flag = Some(OptionFlag { long, short, value });
        self
    }

    const fn requires(mut self, option: &'static str) -> Self {
        self.requires = Some(option);
        self
    }

    const fn availability(mut self, availability: Availability) -> Self {
        self.availability = availability;
        self
    }

    /// Whether its value is an M_Key, SM_Key or SA_Key, which is never shown.
    #[must_use]
    pub const fn is_secret(&self) -> bool {
        match self.equivalent {
            Equivalent::Key(key) => matches!(key.conversion, Conversion::Secret),
            Equivalent::NotNeeded(_) | Equivalent::Absent { .. } => {
                matches!(self.format, ValueFormat::Secret)
            }
        }
    }

    /// The option under its proper name.
    #[must_use]
    pub fn proper_name(&self) -> &'static str {
        match self.availability {
            Availability::AliasOf(name) => name,
            Availability::All | Availability::Later | Availability::Nvidia => self.name,
        }
    }
}

impl Equivalent {
    const fn key(key: &'static str, conversion: Conversion) -> Self {
        Self::Key(KeyEquivalent {
            key,
            conversion,
            run_flag: None,
            difference: "",
        })
    }

    /// Names the flag of `ferrosm run` that sets the key.
    const fn run_flag(self, flag: &'static str) -> Self {
        match self {
            Self::Key(mut key) => {
                key.run_flag = Some(flag);
                Self::Key(key)
            }
            Self::NotNeeded(_) | Self::Absent { .. } => self,
        }
    }

    /// Says how the key differs from the option.
    const fn differs(self, difference: &'static str) -> Self {
        match self {
            Self::Key(mut key) => {
                key.difference = difference;
                Self::Key(key)
            }
            Self::NotNeeded(_) | Self::Absent { .. } => self,
        }
    }

    const fn fabric(reason: &'static str) -> Self {
        Self::Absent {
            impact: Impact::Fabric,
            reason,
        }
    }

    const fn operation(reason: &'static str) -> Self {
        Self::Absent {
            impact: Impact::Operation,
            reason,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_and_flags_are_unique() {
        let mut names = BTreeSet::new();
        let mut longs = BTreeSet::new();
        let mut shorts = BTreeSet::new();
        for option in all() {
            assert!(names.insert(option.name), "{}", option.name);
            let Some(flag) = option.flag else { continue };
            assert!(longs.insert(flag.long), "{}", flag.long);
            assert!(
                flag.short.is_none_or(|short| shorts.insert(short)),
                "{}",
                flag.long
            );
        }
        for flag in command_flags::COMMAND_FLAGS {
            assert!(longs.insert(flag.long), "{}", flag.long);
            assert!(
                flag.short.is_none_or(|short| shorts.insert(short)),
                "{}",
                flag.long
            );
        }
    }

    /// The default of a row is as OpenSM prints it, and options that it requires exist.
    #[test]
    fn defaults_are_values_of_their_format() {
        for option in all() {
            if option.availability != Availability::Nvidia {
                let read = option.format.read(option.default);
                assert_eq!(read.as_deref(), Ok(option.default), "{}", option.name);
            }
            if let Some(required) = option.requires {
                let required = by_name(required).unwrap();
                assert_eq!(required.format, ValueFormat::Boolean);
            }
            if let Availability::AliasOf(name) = option.availability {
                assert!(by_name(name).is_some(), "{name}");
            }
        }
        assert!(of_opensm().count() > 160);
    }

    #[test]
    fn keys_are_secret() {
        let secret: Vec<_> = all().filter(|option| option.is_secret()).collect();
        let names: Vec<&str> = secret.iter().map(|option| option.name).collect();
        assert_eq!(names, ["m_key", "sm_key", "sa_key", "cc_key"]);
    }
}
