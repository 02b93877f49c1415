//! The way back: ferrosm's configuration as files of OpenSM, and what they cannot say.
//!
//! Pure functions. The options follow from the table in [`crate::options`], which the import reads
//! in the other direction.

use ferrosm_core::config::partitions::Partition;

use crate::import::toml_text::{entry_name, group_words, is_ip, selector_word};
use crate::options::conversion::{Conversion, ENGINES, TimeUnit};
use crate::options::value::NOT_SET;
use crate::options::{self, Availability, Equivalent, KeyEquivalent, OpenSmOption};

/// The value of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyValue {
    Flag(bool),
    Whole(u64),
    Text(String),
    List(Vec<String>),
    Milliseconds(u64),
}

/// A key of ferrosm's configuration with its value.
#[derive(Debug, Clone)]
pub struct ExportedKey {
    /// Section and name.
    pub key: &'static str,
    pub value: KeyValue,
    /// Whether it is ferrosm's default.
    pub is_default: bool,
}

/// A key that OpenSM's files cannot express.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportLoss {
    pub key: String,
    pub reason: String,
}

/// `opensm.conf`, and what it lacks.
#[derive(Debug, Clone, Default)]
pub struct ExportedConf {
    pub text: String,
    pub losses: Vec<ExportLoss>,
}

/// Keys that are about files of partitions and QoS, which are written or named separately.
const FILES: [&str; 2] = ["partitions.file", "qos.policy-file"];

/// Writes the options that differ from OpenSM's defaults. `partitions` is the path of the partition
/// file, which need not exist; `policy` that of the QoS policy.
#[must_use]
pub fn conf(keys: &[ExportedKey], partitions: &str, policy: Option<&str>) -> ExportedConf {
    let mut exported = ExportedConf {
        text: "# Written by `ferrosm config export opensm`.\n".to_owned(),
        losses: Vec::new(),
    };
    exported.add("partition_config_file", partitions);
    if let Some(policy) = policy {
        exported.add("qos", "TRUE");
        exported.add("qos_policy_file", policy);
        exported.lose(
            "qos.policy-file",
            "OpenSM reads a policy only with `qos TRUE`, and then also writes its default QoS tables to all ports",
        );
    }
    let uses_nue = keys.iter().any(|key| match &key.value {
        KeyValue::List(engines) => key.key == "routing.engines" && engines.contains(&"nue".into()),
        KeyValue::Flag(_) | KeyValue::Whole(_) | KeyValue::Text(_) | KeyValue::Milliseconds(_) => {
            false
        }
    });
    for key in keys.iter().filter(|key| !FILES.contains(&key.key)) {
        if key.key == "routing.vls" && !uses_nue {
            if !key.is_default {
                exported.lose(key.key, "OpenSM limits the VLs of the engine nue only");
            }
            continue;
        }
        exported.add_key(key);
    }
    exported
}

impl ExportedConf {
    fn add(&mut self, name: &str, value: &str) {
        self.text.push_str(&format!("{name} {value}\n"));
    }

    fn lose(&mut self, key: &str, reason: impl Into<String>) {
        self.losses.push(ExportLoss {
            key: key.to_owned(),
            reason: reason.into(),
        });
    }

    fn add_key(&mut self, key: &ExportedKey) {
        let Some((option, equivalent)) = option_of(key.key) else {
            if !key.is_default {
                self.lose(key.key, "OpenSM has no such option");
            }
            return;
        };
        let inverse = inverse(equivalent.conversion, &key.value);
        if let Some(loss) = inverse.loss.filter(|_| !key.is_default) {
            self.lose(key.key, loss);
        }
        let Some(value) = inverse.value else { return };
        match option.format.read(&value) {
            Ok(read) if read == option.default => {}
            Ok(_) if value.contains(['#', '\n']) => {
                self.lose(key.key, format!("{} cannot have `#`", option.name));
            }
            Ok(read) => {
                self.add(option.name, &read);
                if option.name == "sm_key" {
                    self.add("sa_key", &read);
                }
            }
            Err(rejection) => {
                self.lose(
                    key.key,
                    format!("the value of {} is {rejection}", option.name),
                );
            }
        }
    }
}

/// The option that says the same as a key.
fn option_of(key: &str) -> Option<(&'static OpenSmOption, KeyEquivalent)> {
    options::all()
        .filter(|option| option.availability == Availability::All)
        .find_map(|option| match option.equivalent {
            Equivalent::Key(equivalent)
                if equivalent.key == key
                    && !matches!(equivalent.conversion, Conversion::Constant(_)) =>
            {
                Some((option, equivalent))
            }
            Equivalent::Key(_) | Equivalent::NotNeeded(_) | Equivalent::Absent { .. } => None,
        })
}

/// The value of an option.
struct Inverse {
    /// `None` if the option keeps its default.
    value: Option<String>,
    loss: Option<String>,
}

impl Inverse {
    fn exact(value: impl Into<String>) -> Self {
        Self {
            value: Some(value.into()),
            loss: None,
        }
    }

    fn none(loss: &str) -> Self {
        Self {
            value: None,
            loss: Some(loss.to_owned()),
        }
    }
}

fn inverse(conversion: Conversion, value: &KeyValue) -> Inverse {
    match (conversion, value) {
        (Conversion::Flag, KeyValue::Flag(flag)) => Inverse::exact(boolean(*flag)),
        (Conversion::InvertedFlag, KeyValue::Flag(flag)) => Inverse::exact(boolean(!flag)),
        (Conversion::Whole { .. } | Conversion::SmpWindow { .. }, KeyValue::Whole(number)) => {
            Inverse::exact(number.to_string())
        }
        (Conversion::Hex | Conversion::Secret | Conversion::Enforcement, KeyValue::Text(text)) => {
            Inverse::exact(text.clone())
        }
        (Conversion::Path, KeyValue::Text(path)) if path.is_empty() => Inverse {
            value: None,
            loss: None,
        },
        (Conversion::Path, KeyValue::Text(path)) => Inverse::exact(path.clone()),
        (Conversion::Time { unit, .. }, KeyValue::Milliseconds(ms)) => time(unit, *ms),
        (Conversion::Engines, KeyValue::List(engines)) => engine_list(engines),
        (Conversion::LogLevel, KeyValue::Text(level)) => log_mask(level),
        (
            Conversion::Flag
            | Conversion::InvertedFlag
            | Conversion::Whole { .. }
            | Conversion::SmpWindow { .. }
            | Conversion::Hex
            | Conversion::Secret
            | Conversion::Enforcement
            | Conversion::Path
            | Conversion::Time { .. }
            | Conversion::Engines
            | Conversion::LogLevel
            | Conversion::Constant(_),
            _,
        ) => Inverse::none("the value has no form in OpenSM"),
    }
}

const fn boolean(flag: bool) -> &'static str {
    match flag {
        true => "TRUE",
        false => "FALSE",
    }
}

fn time(unit: TimeUnit, ms: u64) -> Inverse {
    match unit {
        TimeUnit::Milliseconds => Inverse::exact(ms.to_string()),
        TimeUnit::Seconds if ms.is_multiple_of(1000) => Inverse::exact((ms / 1000).to_string()),
        // 0 would disable it.
        TimeUnit::Seconds => Inverse {
            value: Some(ms.div_ceil(1000).to_string()),
            loss: Some("OpenSM has whole seconds".to_owned()),
        },
    }
}

fn engine_list(engines: &[String]) -> Inverse {
    let known: Vec<&str> = engines
        .iter()
        .map(String::as_str)
        .filter(|name| ENGINES.contains(name))
        .collect();
    let is_known = known.len() == engines.len();
    let value = match known[..] {
        [] => NOT_SET.to_owned(),
        _ => known.join(","),
    };
    Inverse {
        value: Some(value),
        loss: (!is_known).then(|| {
            "OpenSM does not select by topology, and has no engine dmodc: it uses minhop instead"
                .to_owned()
        }),
    }
}

fn log_mask(level: &str) -> Inverse {
    let (mask, is_exact) = match level {
        "error" => ("0x01", true),
        "info" => ("0x03", true),
        "debug" => ("0x07", true),
        "trace" => ("0x0f", false),
        _ => ("0x03", false),
    };
    Inverse {
        value: Some(mask.to_owned()),
        loss: (!is_exact).then(|| "OpenSM has other levels".to_owned()),
    }
}

/// `partitions.conf`.
#[must_use]
pub fn partitions_conf(partitions: &[Partition]) -> String {
    let mut text = "# Written by `ferrosm config export opensm`.\n".to_owned();
    for partition in partitions {
        text.push_str(&format!(
            "{}={:#06x}",
            entry_name(partition),
            partition.number
        ));
        if partition.index0 {
            text.push_str(", indx0");
        }
        if partition.sl.0 != 0 {
            text.push_str(&format!(", sl={}", partition.sl.0));
        }
        if let Some(group) = partition.groups.iter().find(|group| is_ip(group)) {
            text.push_str(&format!(", mtu={}, rate={}", group.mtu.0, group.rate.0));
        }
        // A line for each member keeps lines short; OpenSM reads at most 4094 bytes. Each ends with
        // a comma, and the `;` stands on the line of the last one: OpenSM drops a file with a line
        // that is only `;`.
        let mut items: Vec<String> = partition
            .members
            .iter()
            .map(|(selector, membership)| format!("{}={membership}", selector_word(*selector)))
            .collect();
        items.extend(
            partition
                .groups
                .iter()
                .map(|group| format!("mgid={}", group_words(group))),
        );
        if items.is_empty() {
            items.push("NONE".to_owned());
        }
        text.push_str(&format!(" :\n  {} ;\n", items.join(",\n  ")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::partition_list::{are_equal, partitions};
    use crate::import::partition_rules::{PartitionsReading, read};
    use crate::input;

    fn key(key: &'static str, value: KeyValue) -> ExportedKey {
        ExportedKey {
            key,
            value,
            is_default: false,
        }
    }

    #[test]
    fn options_that_differ_are_written() {
        let keys = [
            key("sm.priority", KeyValue::Whole(7)),
            key("sweep.interval", KeyValue::Milliseconds(1500)),
            key("sm.poll-interval", KeyValue::Milliseconds(2500)),
            key("lids.lmc-esp0", KeyValue::Flag(false)),
            key("subnet.client-reregister", KeyValue::Flag(false)),
            key("routing.engines", KeyValue::List(vec!["auto".to_owned()])),
            key("sm.sm-key", KeyValue::Text("0x00000000000000ab".to_owned())),
            key("sm.peers", KeyValue::List(Vec::new())),
        ];
        let exported = conf(&keys, "/d/partitions.conf", None);
        let lines: Vec<&str> = exported.text.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                "partition_config_file /d/partitions.conf",
                "sm_priority 7",
                "sweep_interval 2",
                "sminfo_polling_timeout 2500",
                "no_clients_rereg TRUE",
                "sm_key 0x00000000000000ab",
                "sa_key 0x00000000000000ab",
            ]
        );
        let lost: Vec<&str> = exported.losses.iter().map(|loss| &*loss.key).collect();
        assert_eq!(lost, ["sweep.interval", "routing.engines", "sm.peers"]);
    }

    /// By OpenSM's rules, and by those of ferrosm.
    #[test]
    fn partitions_are_read_back() {
        for text in [
            "Default=0x7fff, ipoib, mtu=5, rate=12 : ALL=limited, SELF=full ;\n",
            "Default=0x7fff : ALL=full ; IO=0x80, indx0, sl=3, ipoib : 0x1=both, 0x2, ALL_CAS=full,\n mgid=ff12:401b::16,Q_Key=5,TClass=7,FlowLabel=9 ;\n",
            "Default=0x7fff, ipoib, scope=2, scope=5 : ALL=full ; Empty=0x81 : ;\n",
        ] {
            let parsed = input::partitions::parse(text).unwrap().partitions;
            let written = partitions_conf(&parsed);
            let reread = input::partitions::parse(&written).unwrap().partitions;
            assert!(are_equal(&parsed, &reread), "{written}");
            let PartitionsReading::Used(definitions) = read(written.as_bytes()) else {
                panic!("dropped: {written}");
            };
            let of_opensm = partitions(&definitions, true);
            assert!(are_equal(&parsed, &of_opensm.partitions), "{written}");
        }
    }
}
