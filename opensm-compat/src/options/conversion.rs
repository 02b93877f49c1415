//! The value of a key in ferrosm's configuration for the value of an option, and back.

use core::fmt;

use super::value::{NOT_SET, leading_number};

/// How the value of an option becomes the value of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conversion {
    /// A whole number; the key has this range.
    Whole { min: u64, max: u64 },
    /// A 64-bit number in quotes.
    Hex,
    /// The same, of an M_Key or SM_Key.
    Secret,
    /// A duration; the key has this range in the unit of the option.
    Time {
        unit: TimeUnit,
        min: u64,
        max: u64,
        /// Whether the key accepts 0 although it is below `min`.
        zero: bool,
    },
    /// TRUE is `true`.
    Flag,
    /// TRUE is `false`.
    InvertedFlag,
    /// TRUE is this text; FALSE sets nothing.
    Constant(&'static str),
    /// A list of routing engines.
    Engines,
    /// A file or directory.
    Path,
    /// `both`, `in`, `out` or `off`.
    Enforcement,
    /// SMPs in flight; 0 is no limit.
    SmpWindow { max: u64 },
    /// A mask of log levels.
    LogLevel,
}

/// Unit of an option that is a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUnit {
    Seconds,
    Milliseconds,
}

impl TimeUnit {
    const fn suffix(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::Milliseconds => "ms",
        }
    }
}

/// A value in TOML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TomlValue {
    Flag(bool),
    Whole(u64),
    Text(String),
    List(Vec<String>),
    /// A key. [`fmt::Display`] does not show it.
    Secret(u64),
}

impl TomlValue {
    /// The value as it stands in a configuration file, also of a key.
    #[must_use]
    pub fn to_toml(&self) -> String {
        match self {
            Self::Secret(key) => quoted(&format!("{key:#018x}")),
            Self::Flag(_) | Self::Whole(_) | Self::Text(_) | Self::List(_) => self.to_string(),
        }
    }
}

impl fmt::Display for TomlValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Whole(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(&quoted(text)),
            Self::List(list) => {
                let items: Vec<String> = list.iter().map(|item| quoted(item)).collect();
                write!(f, "[{}]", items.join(", "))
            }
            Self::Secret(_) => f.write_str("\"(not shown)\""),
        }
    }
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The value of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Converted {
    /// `None` if the key keeps its default.
    pub value: Option<TomlValue>,
    /// What the key cannot express; empty if it expresses the option.
    pub loss: String,
}

impl Converted {
    const fn exact(value: TomlValue) -> Self {
        Self {
            value: Some(value),
            loss: String::new(),
        }
    }
}

impl Conversion {
    /// Converts a value as `opensm -c` writes it.
    #[must_use]
    pub fn convert(self, value: &str) -> Converted {
        let number = || leading_number(value).value.unwrap_or(u64::MAX);
        match self {
            Self::Whole { min, max } => {
                let clamped = number().clamp(min, max);
                let loss = loss_of_range(number() == clamped, value, &clamped.to_string());
                Converted {
                    value: Some(TomlValue::Whole(clamped)),
                    loss,
                }
            }
            Self::Hex => Converted::exact(TomlValue::Text(value.to_owned())),
            Self::Secret => Converted::exact(TomlValue::Secret(number())),
            Self::Time {
                unit,
                min,
                max,
                zero,
            } => {
                let time = number();
                let clamped = if zero && time == 0 {
                    0
                } else {
                    time.clamp(min, max)
                };
                let text = format!("{clamped}{}", unit.suffix());
                Converted {
                    loss: loss_of_range(time == clamped, value, &text),
                    value: Some(TomlValue::Text(text)),
                }
            }
            Self::Flag => Converted::exact(TomlValue::Flag(value == "TRUE")),
            Self::InvertedFlag => Converted::exact(TomlValue::Flag(value != "TRUE")),
            Self::Constant(text) => Converted {
                value: (value == "TRUE").then(|| TomlValue::Text(text.to_owned())),
                loss: String::new(),
            },
            Self::Engines => Converted::exact(TomlValue::List(engine_names(value))),
            Self::Path => Converted {
                value: is_set(value).then(|| TomlValue::Text(value.to_owned())),
                loss: String::new(),
            },
            Self::Enforcement => Converted::exact(TomlValue::Text(value.to_owned())),
            Self::SmpWindow { max } => {
                let window = match number() {
                    0 => u64::MAX,
                    smps => smps,
                };
                Converted::exact(TomlValue::Whole(window.min(max)))
            }
            Self::LogLevel => Converted::exact(TomlValue::Text(log_level(number()).to_owned())),
        }
    }
}

fn loss_of_range(is_exact: bool, value: &str, clamped: &str) -> String {
    match is_exact {
        true => String::new(),
        false => format!("{value} is outside the range of the key: {clamped}"),
    }
}

/// Whether a text is a value, and not `(null)` or empty.
#[must_use]
pub fn is_set(value: &str) -> bool {
    !value.is_empty() && value != NOT_SET
}

/// Engines of OpenSM. Each is an engine of ferrosm with the same name.
pub const ENGINES: [&str; 12] = [
    "minhop",
    "updn",
    "dnup",
    "file",
    "ftree",
    "lash",
    "dor",
    "torus-2QoS",
    "nue",
    "dfsssp",
    "sssp",
    "no_fallback",
];

/// The engines that OpenSM uses: it skips unknown names. Without any it uses minhop.
#[must_use]
pub fn engine_names(value: &str) -> Vec<String> {
    let mut known: Vec<String> = words_of_engines(value)
        .filter(|word| ENGINES.contains(word))
        .map(str::to_owned)
        .collect();
    if known.iter().all(|name| name == "no_fallback") {
        known.insert(0, "minhop".to_owned());
    }
    known
}

/// The names of engines that OpenSM does not know and skips.
pub fn unknown_engines(value: &str) -> impl Iterator<Item = &str> {
    words_of_engines(value).filter(|word| !ENGINES.contains(word))
}

fn words_of_engines(value: &str) -> impl Iterator<Item = &str> {
    value
        .split([',', ' ', '\t', '\n'])
        .filter(|word| !word.is_empty() && *word != NOT_SET)
}

/// The level of OpenSM's mask: 1 errors, 2 information, 4 verbose, 8 debug, more above.
const fn log_level(mask: u64) -> &'static str {
    if mask & !3 != 0 {
        "debug"
    } else if mask & 2 != 0 {
        "info"
    } else {
        "error"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toml(conversion: Conversion, value: &str) -> (String, String) {
        let converted = conversion.convert(value);
        let value = converted.value.map_or_else(String::new, |v| v.to_toml());
        (value, converted.loss)
    }

    #[test]
    fn values_are_clamped_to_the_range_of_the_key() {
        let retries = Conversion::Whole { min: 0, max: 7 };
        assert_eq!(toml(retries, "3"), ("3".into(), String::new()));
        let (value, loss) = toml(retries, "12");
        assert_eq!(value, "7");
        assert_eq!(loss, "12 is outside the range of the key: 7");
        let interval = Conversion::Time {
            unit: TimeUnit::Seconds,
            min: 1,
            max: 86_400,
            zero: true,
        };
        assert_eq!(toml(interval, "0").0, "\"0s\"");
        assert_eq!(toml(interval, "100000").0, "\"86400s\"");
        let window = Conversion::SmpWindow { max: 4096 };
        assert_eq!(toml(window, "2147483647").0, "4096");
        assert_eq!(toml(window, "8"), ("8".into(), String::new()));
    }

    #[test]
    fn unknown_engines_are_skipped() {
        assert_eq!(toml(Conversion::Engines, "= ftree,fat").0, "[\"ftree\"]");
        assert_eq!(toml(Conversion::Engines, "(null)").0, "[\"minhop\"]");
        assert_eq!(
            toml(Conversion::Engines, "no_fallback").0,
            "[\"minhop\", \"no_fallback\"]"
        );
        let unknown: Vec<&str> = unknown_engines("= ftree,fat").collect();
        assert_eq!(unknown, ["=", "fat"]);
    }

    #[test]
    fn keys_are_written_but_not_shown() {
        let key = TomlValue::Secret(0x1234);
        assert_eq!(key.to_toml(), "\"0x0000000000001234\"");
        assert!(!key.to_string().contains("1234"));
    }

    #[test]
    fn text_is_quoted_for_toml() {
        let text = TomlValue::Text("a\"b\\c\n".to_owned());
        assert_eq!(text.to_string(), r#""a\"b\\c\u000A""#);
    }

    #[test]
    fn masks_select_a_level() {
        for (mask, level) in [
            ("0x01", "error"),
            ("0x03", "info"),
            ("7", "debug"),
            ("0xff", "debug"),
        ] {
            assert_eq!(toml(Conversion::LogLevel, mask).0, format!("\"{level}\""));
        }
    }
}
