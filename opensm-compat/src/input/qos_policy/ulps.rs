//! OpenSM's simplified QoS policy: `qos-ulps`, where each line is a protocol (ULP) and its SL.
//!
//! A protocol is recognized by the ServiceID of its connection requests, its P_Key, or the
//! destination port.

use std::sync::Arc;

use ferrosm_core::config::partitions::Partition;
use ferrosm_mad::ids::Sl;
use ferrosm_sa::qos::{QosLevel, QosPortGroup, QosRule, RangeSet};

use super::{items, values};
use crate::error::InputError;
use crate::input::span::Span;
use crate::keyword::nearest_keyword;

/// Base ServiceID of SDP, to which the TCP port is added.
const SDP: u64 = 0x0001_0000;
/// Base ServiceID of the RDMA connection manager's TCP port space, to which the TCP port is added.
const TCP: u64 = 0x0106_0000;
/// TCP port of RDS.
const RDS_PORT: u64 = 0x48CA;
/// TCP port of iSER.
const ISER_PORT: u64 = 0x0CBC;
/// The default partition.
const DEFAULT_PARTITION: u64 = 0x7FFF;

/// Protocols and their keys.
const PROTOCOLS: [(&str, &[&str]); 7] = [
    ("default", &[]),
    ("sdp", &["port-num"]),
    ("rds", &["port-num"]),
    ("iser", &["port-num"]),
    ("ipoib", &["pkey"]),
    ("srp", &["target-port-guid"]),
    (
        "any",
        &[
            "service-id",
            "pkey",
            "target-port-guid",
            "source-port-guid",
            "source-target-port-guid",
        ],
    ),
];

/// A parsed line.
pub(super) enum Ulp {
    /// The default SL.
    Default(Arc<QosLevel>),
    Rule(QosRule),
}

/// Parses a line: `protocol : SL` or `protocol, key ranges : SL`.
pub(super) fn parse(
    line: &Span<'_>,
    partitions: &[Partition],
    warnings: &mut Vec<InputError>,
) -> Result<Ulp, InputError> {
    let (application, sl) = line
        .rsplit_once(':')
        .ok_or_else(|| line.error("missing `:` and SL, as in `ipoib, pkey 0x8001 : 3`"))?;
    let sl: u8 = values::bounded(&sl, "SL", 0, 15)?;
    let level = Arc::new(QosLevel {
        name: format!("SL {sl}"),
        sl: Sl(sl),
        ..QosLevel::default()
    });
    let (protocol, rest) = match application.split_once(',') {
        Some((protocol, rest)) => (protocol, Some(rest)),
        None => (application.clone(), None),
    };
    let name = protocol.text().to_ascii_lowercase();
    let Some((_, keys)) = PROTOCOLS
        .iter()
        .find(|(protocol_name, _)| *protocol_name == name)
    else {
        let all = PROTOCOLS.map(|(known, _)| known);
        return Err(protocol.error(match nearest_keyword(&name, all) {
            Some(near) => format!("unknown protocol `{name}`: did you mean `{near}`?"),
            None => format!(
                "unknown protocol `{name}`: expected one of {}",
                all.join(", ")
            ),
        }));
    };
    let Some(rest) = rest else {
        return match name.as_str() {
            "default" => Ok(Ulp::Default(level)),
            "srp" | "any" => {
                let all = keys.join(", ");
                Err(protocol.error(format!("`{name}` needs a key: {all}")))
            }
            _ => Ok(Ulp::Rule(rule_without_key(&name, level))),
        };
    };
    let (key, list) = rest.split_word();
    if !keys.contains(&key.text()) {
        let known = if keys.is_empty() {
            "it has no keys".to_owned()
        } else {
            format!("expected {}", keys.join(", "))
        };
        return Err(key.error(format!("`{name}` has no key `{}`: {known}", key.text())));
    }
    let purpose = format!("{name}, {} {}", key.text(), list.text());
    let rule = rule_with_key(&name, key.text(), &list, QosRule::new(purpose, level))?;
    if key.text() == "pkey" {
        warnings.extend(items::unused_pkeys(
            &list,
            &rule.pkey,
            partitions,
            items::NO_MATCH,
        ));
    }
    Ok(Ulp::Rule(rule))
}

/// The rule of a protocol without a key.
fn rule_without_key(name: &str, level: Arc<QosLevel>) -> QosRule {
    let rule = QosRule::new(name.to_owned(), level);
    let service_id = match name {
        "sdp" => RangeSet::new([(SDP, SDP + 0xFFFF)]),
        "rds" => RangeSet::single(TCP + RDS_PORT),
        "iser" => RangeSet::single(TCP + ISER_PORT),
        _ => {
            return QosRule {
                pkey: RangeSet::single(DEFAULT_PARTITION),
                ..rule
            };
        }
    };
    QosRule { service_id, ..rule }
}

fn rule_with_key(
    name: &str,
    key: &str,
    list: &Span<'_>,
    rule: QosRule,
) -> Result<QosRule, InputError> {
    let guids = |list: &Span<'_>| -> Result<Vec<Arc<QosPortGroup>>, InputError> {
        let group = QosPortGroup {
            name: rule.purpose.clone(),
            guids: values::ranges(list, "port GUID", u64::MAX)?,
            ..QosPortGroup::default()
        };
        Ok(vec![Arc::new(group)])
    };
    Ok(match key {
        "port-num" => {
            let base = if name == "sdp" { SDP } else { TCP };
            let ports = values::ranges(list, "TCP port", 0xFFFF)?;
            QosRule {
                service_id: RangeSet::new(ports.iter().map(|(a, b)| (base + a, base + b))),
                ..rule
            }
        }
        "pkey" => QosRule {
            pkey: values::pkeys(list)?,
            ..rule
        },
        "service-id" => QosRule {
            service_id: values::ranges(list, "service id", u64::MAX)?,
            ..rule
        },
        "source-port-guid" => QosRule {
            source: guids(list)?,
            ..rule
        },
        "source-target-port-guid" => QosRule {
            either: guids(list)?,
            ..rule
        },
        _ => QosRule {
            destination: guids(list)?,
            ..rule
        },
    })
}
