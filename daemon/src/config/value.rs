//! Formats of values: what a key accepts in the file, and how it is printed.
//!
//! A format checks a value completely, so that the rest of the program gets only valid ones.

use core::ops::{Range, RangeInclusive};
use core::time::Duration;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use ferrosm_mad::ids::{MKey, PortGuid, PortNum, parse_u64};
use ferrosm_opensm_compat::keyword::nearest_keyword;
use ferrosm_routing::DATA_VLS_MAX;
use ferrosm_routing::select::{NO_FALLBACK, engine_names};
use toml::de::DeValue;
use toml::{Spanned, Value};

/// An error at a byte range of the file.
pub(super) type SpannedError = (Range<usize>, String);

/// How a setting of type `T` is written in the file.
pub(super) trait Format<T> {
    /// The setting, if the value is valid. Errors of list elements have their own positions.
    fn read(&self, value: &Spanned<DeValue<'_>>) -> Result<T, Vec<SpannedError>>;

    /// The value of a setting.
    fn print(&self, setting: &T) -> Value;
}

/// The error about a value that a key does not accept.
fn rejected(value: &Spanned<DeValue<'_>>, expected: &str) -> Vec<SpannedError> {
    let found = match value.get_ref() {
        DeValue::String(text) => format!("{text:?}"),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(time) => time.to_string(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a section".to_owned(),
    };
    vec![(value.span(), format!("expected {expected}, found {found}"))]
}

fn read_u64(value: &Spanned<DeValue<'_>>) -> Option<u64> {
    let number = value.get_ref().as_integer()?;
    u64::from_str_radix(number.as_str(), number.radix()).ok()
}

fn print_u64(number: u64) -> Value {
    // TOML's integers are signed. The range of every key is far below the limit.
    Value::Integer(i64::try_from(number).unwrap_or(i64::MAX))
}

/// A whole number in a range.
pub(super) struct Whole(pub(super) RangeInclusive<u64>);

impl Whole {
    fn read_u64(&self, value: &Spanned<DeValue<'_>>) -> Result<u64, Vec<SpannedError>> {
        let min = self.0.start();
        let max = self.0.end();
        read_u64(value)
            .filter(|number| self.0.contains(number))
            .ok_or_else(|| rejected(value, &format!("a whole number from {min} to {max}")))
    }
}

/// Numbers that a [`Whole`] can set. The range of the key must fit into the type.
macro_rules! whole_numbers {
    ($($t:ty)*) => {$(impl Format<$t> for Whole {
        fn read(&self, value: &Spanned<DeValue<'_>>) -> Result<$t, Vec<SpannedError>> {
            let number = self.read_u64(value)?;
            <$t>::try_from(number).map_err(|_| rejected(value, "a smaller number"))
        }

        fn print(&self, setting: &$t) -> Value {
            print_u64(u64::try_from(*setting).unwrap_or(u64::MAX))
        }
    })*};
}
whole_numbers!(u8 u16 u32 usize);

/// A port number; 0 for none.
pub(super) struct OptionalPortNum;

impl Format<Option<PortNum>> for OptionalPortNum {
    fn read(&self, value: &Spanned<DeValue<'_>>) -> Result<Option<PortNum>, Vec<SpannedError>> {
        let number: u8 = Whole(0..=254).read(value)?;
        Ok((number != 0).then_some(PortNum(number)))
    }

    fn print(&self, setting: &Option<PortNum>) -> Value {
        print_u64(setting.map_or(0, |port| port.0.into()))
    }
}

/// A number of data VLs; 0 for all of the links.
pub(super) struct DataVls;

impl Format<u8> for DataVls {
    fn read(&self, value: &Spanned<DeValue<'_>>) -> Result<u8, Vec<SpannedError>> {
        let vls = Whole(0..=DATA_VLS_MAX.into()).read(value)?;
        Ok(if vls == 0 { DATA_VLS_MAX } else { vls })
    }

    fn print(&self, setting: &u8) -> Value {
        print_u64((setting % DATA_VLS_MAX).into())
    }
}

/// A size in MiB, of a setting in bytes.
pub(super) struct Mib(pub(super) RangeInclusive<u64>);

impl Format<u64> for Mib {
    fn read(&self, value: &Spanned<DeValue<'_>>) -> Result<u64, Vec<SpannedError>> {
        Ok(Whole(self.0.clone()).read_u64(value)? << 20)
    }

    fn print(&self, setting: &u64) -> Value {
        print_u64(setting >> 20)
    }
}

/// `true` or `false`.
pub(super) struct Flag;

impl Format<bool> for Flag {
    fn read(&self, value: &Spanned<DeValue<'_>>) -> Result<bool, Vec<SpannedError>> {
        value
            .get_ref()
            .as_bool()
            .ok_or_else(|| rejected(value, "true or false"))
    }

    fn print(&self, setting: &bool) -> Value {
        Value::Boolean(*setting)
    }
}

/// Text that fulfils a condition. For optional settings, empty text is none.
pub(super) struct Text {
    /// What is expected, for errors.
    pub(super) expected: &'static str,
    /// The condition.
    pub(super) is_valid: fn(&str) -> bool,
}

/// Any text.
pub(super) const TEXT: Text = Text {
    expected: "text in quotes",
    is_valid: |_| true,
};

impl Format<String> for Text {
    fn read(&self, value: &Spanned<DeValue<'_>>) -> Result<String, Vec<SpannedError>> {
        let text = value
            .get_ref()
            .as_str()
            .filter(|text| (self.is_valid)(text));
        text.map(str::to_owned)
            .ok_or_else(|| rejected(value, self.expected))
    }

    fn print(&self, setting: &String) -> Value {
        setting.as_str().into()
    }
}

impl Format<Option<String>> for Text {
    fn read(&self, value: &Spanned<DeValue<'_>>) -> Result<Option<String>, Vec<SpannedError>> {
        let text: String = self.read(value)?;
        Ok(Some(text).filter(|text| !text.is_empty()))
    }

    fn print(&self, setting: &Option<String>) -> Value {
        setting.as_deref().unwrap_or_default().into()
    }
}

impl Format<Option<PathBuf>> for Text {
    fn read(&self, value: &Spanned<DeValue<'_>>) -> Result<Option<PathBuf>, Vec<SpannedError>> {
        let name: Option<String> = self.read(value)?;
        Ok(name.map(PathBuf::from))
    }

    fn print(&self, setting: &Option<PathBuf>) -> Value {
        setting
            .as_ref()
            .map_or_else(String::new, |path| path.to_string_lossy().into_owned())
            .into()
    }
}

/// An address with a port; empty for none.
pub(super) struct SocketAddress(
    /// An example.
    pub(super) &'static str,
);

impl Format<Option<SocketAddr>> for SocketAddress {
    fn read(&self, value: &Spanned<DeValue<'_>>) -> Result<Option<SocketAddr>, Vec<SpannedError>> {
        let expected = || {
            let example = self.0;
            rejected(
                value,
                &format!("an address and a port, such as {example:?}, or \"\" for none"),
            )
        };
        match value.get_ref().as_str().ok_or_else(expected)? {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| expected()),
        }
    }

    fn print(&self, setting: &Option<SocketAddr>) -> Value {
        setting
            .map_or_else(String::new, |address| address.to_string())
            .into()
    }
}

/// A duration such as `"10s"`, in a range. The range may start above zero, and zero be accepted
/// with another meaning.
pub(super) struct Time {
    min: Duration,
    max: Duration,
    zero: Option<&'static str>,
}

impl Time {
    /// A duration in a range.
    pub(super) const fn within(min: Duration, max: Duration) -> Self {
        Self {
            min,
            max,
            zero: None,
        }
    }

    /// The same, or zero with this meaning.
    pub(super) const fn or_zero(mut self, meaning: &'static str) -> Self {
        self.zero = Some(meaning);
        self
    }

    fn expected(&self) -> String {
        let zero = self
            .zero
            .map_or_else(String::new, |meaning| format!("\"0s\" for {meaning}, or "));
        let min = print_time(self.min);
        let max = print_time(self.max);
        format!("{zero}a duration from \"{min}\" to \"{max}\" in quotes")
    }
}

fn print_time(time: Duration) -> String {
    humantime::format_duration(time).to_string()
}

impl Format<Duration> for Time {
    fn read(&self, value: &Spanned<DeValue<'_>>) -> Result<Duration, Vec<SpannedError>> {
        let text = value.get_ref().as_str();
        text.and_then(|text| humantime::parse_duration(text).ok())
            .filter(|time| {
                (self.min..=self.max).contains(time) || (self.zero.is_some() && time.is_zero())
            })
            .ok_or_else(|| rejected(value, &self.expected()))
    }

    fn print(&self, setting: &Duration) -> Value {
        print_time(*setting).into()
    }
}

/// A duration in whole seconds, of a setting in seconds.
pub(super) struct Seconds(pub(super) RangeInclusive<u16>);

impl Format<u16> for Seconds {
    fn read(&self, value: &Spanned<DeValue<'_>>) -> Result<u16, Vec<SpannedError>> {
        let min = self.0.start();
        let max = self.0.end();
        let text = value.get_ref().as_str();
        text.and_then(|text| humantime::parse_duration(text).ok())
            .filter(|time| time.subsec_nanos() == 0)
            .and_then(|time| u16::try_from(time.as_secs()).ok())
            .filter(|seconds| self.0.contains(seconds))
            .ok_or_else(|| {
                let expected = format!("whole seconds from \"{min}s\" to \"{max}s\" in quotes");
                rejected(value, &expected)
            })
    }

    fn print(&self, setting: &u16) -> Value {
        print_time(Duration::from_secs((*setting).into())).into()
    }
}

/// A 64-bit value, written `"0x..."` or as a number.
pub(super) struct Hex;

impl Format<u64> for Hex {
    fn read(&self, value: &Spanned<DeValue<'_>>) -> Result<u64, Vec<SpannedError>> {
        let text = value.get_ref().as_str();
        let from_text = text.and_then(parse_u64);
        from_text.or_else(|| read_u64(value)).ok_or_else(|| {
            rejected(
                value,
                "a 64-bit number in quotes, such as \"0x0002c90300a1b2c3\"",
            )
        })
    }

    fn print(&self, setting: &u64) -> Value {
        format!("{setting:#018x}").into()
    }
}

/// An M_Key or SM_Key. Errors do not show the value.
pub(super) struct Secret;

impl Format<MKey> for Secret {
    fn read(&self, value: &Spanned<DeValue<'_>>) -> Result<MKey, Vec<SpannedError>> {
        let key: Result<u64, _> = Hex.read(value);
        key.map(MKey::new).map_err(|_| {
            let message = "expected a 64-bit number in quotes, such as \"0x00000000000000ab\"";
            vec![(value.span(), message.to_owned())]
        })
    }

    fn print(&self, setting: &MKey) -> Value {
        Hex.print(&setting.expose())
    }
}

impl Format<PortGuid> for Hex {
    fn read(&self, value: &Spanned<DeValue<'_>>) -> Result<PortGuid, Vec<SpannedError>> {
        self.read(value).map(PortGuid)
    }

    fn print(&self, setting: &PortGuid) -> Value {
        self.print(&setting.0)
    }
}

/// 0 is none.
impl Format<Option<PortGuid>> for Hex {
    fn read(&self, value: &Spanned<DeValue<'_>>) -> Result<Option<PortGuid>, Vec<SpannedError>> {
        let guid: PortGuid = self.read(value)?;
        Ok(Some(guid).filter(|guid| guid.0 != 0))
    }

    fn print(&self, setting: &Option<PortGuid>) -> Value {
        self.print(&setting.map_or(0, |guid| guid.0))
    }
}

/// A list of values of one format.
pub(super) struct List<F>(pub(super) F);

impl<T, F: Format<T>> Format<Vec<T>> for List<F> {
    fn read(&self, value: &Spanned<DeValue<'_>>) -> Result<Vec<T>, Vec<SpannedError>> {
        let Some(elements) = value.get_ref().as_array() else {
            return Err(match value.get_ref() {
                DeValue::String(text) => {
                    let message = format!("expected a list, such as [{text:?}]");
                    vec![(value.span(), message)]
                }
                DeValue::Integer(_)
                | DeValue::Float(_)
                | DeValue::Boolean(_)
                | DeValue::Datetime(_)
                | DeValue::Array(_)
                | DeValue::Table(_) => rejected(value, "a list in brackets"),
            });
        };
        let mut list = Vec::new();
        let mut errors = Vec::new();
        for element in elements {
            match self.0.read(element) {
                Ok(item) => list.push(item),
                Err(further) => errors.extend(further),
            }
        }
        if errors.is_empty() {
            Ok(list)
        } else {
            Err(errors)
        }
    }

    fn print(&self, setting: &Vec<T>) -> Value {
        Value::Array(setting.iter().map(|item| self.0.print(item)).collect())
    }
}

/// A list of port GUIDs. For optional settings, the empty list is none.
pub(super) struct PortGuids;

impl Format<Arc<BTreeSet<PortGuid>>> for PortGuids {
    fn read(
        &self,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Arc<BTreeSet<PortGuid>>, Vec<SpannedError>> {
        let guids: Vec<PortGuid> = List(Hex).read(value)?;
        Ok(Arc::new(guids.into_iter().collect()))
    }

    fn print(&self, setting: &Arc<BTreeSet<PortGuid>>) -> Value {
        Value::Array(setting.iter().map(|guid| Hex.print(guid)).collect())
    }
}

impl Format<Option<Arc<BTreeSet<PortGuid>>>> for PortGuids {
    fn read(
        &self,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Option<Arc<BTreeSet<PortGuid>>>, Vec<SpannedError>> {
        let guids: Arc<BTreeSet<PortGuid>> = self.read(value)?;
        Ok(Some(guids).filter(|guids| !guids.is_empty()))
    }

    fn print(&self, setting: &Option<Arc<BTreeSet<PortGuid>>>) -> Value {
        setting
            .as_ref()
            .map_or_else(|| Value::Array(Vec::new()), |guids| self.print(guids))
    }
}

/// A P_Key, as a number or as text, which the parser of partitions checks.
pub(super) struct PKey;

impl Format<String> for PKey {
    fn read(&self, value: &Spanned<DeValue<'_>>) -> Result<String, Vec<SpannedError>> {
        let text = value.get_ref().as_str().map(str::to_owned);
        text.or_else(|| read_u64(value).map(|number| format!("{number:#06x}")))
            .ok_or_else(|| rejected(value, "a number, such as 0x8001 or \"0x8001\""))
    }

    fn print(&self, setting: &String) -> Value {
        setting.as_str().into()
    }
}

/// One of several words.
pub(super) struct Keyword<T: 'static>(pub(super) &'static [(&'static str, T)]);

impl<T: Copy + PartialEq> Format<T> for Keyword<T> {
    fn read(&self, value: &Spanned<DeValue<'_>>) -> Result<T, Vec<SpannedError>> {
        let text = value.get_ref().as_str();
        let found = self.0.iter().find(|(word, _)| text == Some(*word));
        found.map(|(_, setting)| *setting).ok_or_else(|| {
            let words: Vec<String> = self
                .0
                .iter()
                .map(|(word, _)| format!("\"{word}\""))
                .collect();
            rejected(value, &format!("one of {}", words.join(", ")))
        })
    }

    fn print(&self, setting: &T) -> Value {
        let word = self.0.iter().find(|(_, of_word)| of_word == setting);
        word.map_or("", |(word, _)| *word).into()
    }
}

/// A list of routing engines.
pub(super) struct Engines;

impl Format<Vec<String>> for Engines {
    fn read(&self, value: &Spanned<DeValue<'_>>) -> Result<Vec<String>, Vec<SpannedError>> {
        let engines = List(Engine).read(value)?;
        if names_no_engine(&engines) {
            let message = "names no engine: at least one is required, such as [\"auto\"]";
            return Err(vec![(value.span(), message.to_owned())]);
        }
        Ok(engines)
    }

    fn print(&self, setting: &Vec<String>) -> Value {
        List(TEXT).print(setting)
    }
}

struct Engine;

impl Format<String> for Engine {
    fn read(&self, value: &Spanned<DeValue<'_>>) -> Result<String, Vec<SpannedError>> {
        let Some(name) = value.get_ref().as_str() else {
            return Err(rejected(value, "the name of a routing engine in quotes"));
        };
        parse_engine(name).map_err(|message| vec![(value.span(), message)])
    }

    fn print(&self, setting: &String) -> Value {
        setting.as_str().into()
    }
}

/// Parses an entry of a list of routing engines: the name of an engine, `auto` or `no_fallback`.
///
/// # Errors
/// A message with a suggestion, or with all names.
pub fn parse_engine(text: &str) -> Result<String, String> {
    let name = text.trim();
    if engine_names().any(|known| known == name) {
        return Ok(name.to_owned());
    }
    let advice = nearest_keyword(name, engine_names()).map_or_else(
        || {
            let names: Vec<&str> = engine_names().collect();
            format!("the engines are {}", names.join(", "))
        },
        |nearest| format!("did you mean `{nearest}`?"),
    );
    Err(format!("unknown routing engine `{name}`: {advice}"))
}

/// Whether a list has at most `no_fallback`, which only disables the fallback engines.
#[must_use]
pub fn names_no_engine(engines: &[String]) -> bool {
    engines.iter().all(|name| name == NO_FALLBACK)
}
