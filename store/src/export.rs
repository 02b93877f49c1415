//! Records as JSON lines, for `ferrosm state export` and `import`.
//!
//! The first line has the version and the number of records, so that a truncated file is detected.
//! Each other line is a [`Record`], or key and value bytes for records that are only valid together
//! (the view). Attributes are in hexadecimal, as on the wire, with a `description` that is ignored
//! on import.

use std::io::{self, Write};

use ferrosm_core::records::{Record, RecordBatch, RecordChange, RecordKey, RecordKind};
use ferrosm_mad::sa::inform::InformInfoRecord;
use ferrosm_mad::sa::service::ServiceRecord;
use ferrosm_sa::registry::registration::Registration;
use serde::{Deserialize, Serialize};

/// Version of the format. A reader accepts only its own.
pub const VERSION: u32 = 3;

/// [`Header::kind`].
const KIND: &str = "ferrosm-state";

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    kind: String,
    version: u32,
    /// Number of the last batch, and its time.
    sequence: u64,
    written_unix_s: u64,
    records: usize,
}

/// The part of the header that every version of the format has.
#[derive(Deserialize)]
struct HeaderVersion {
    kind: String,
    version: u32,
}

/// Any other line: a record, or one as bytes.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ExportLine {
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<Record>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<RecordBytes>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordBytes {
    #[serde(with = "ferrosm_mad::octets")]
    key: Vec<u8>,
    #[serde(with = "ferrosm_mad::octets")]
    value: Vec<u8>,
}

/// Writes records. `last_batch` is the number of the last batch and its time in seconds since 1970.
///
/// # Errors
/// I/O errors of `out`.
pub fn write(
    records: &[(RecordKey, Box<[u8]>)],
    last_batch: (u64, u64),
    out: &mut dyn Write,
) -> io::Result<()> {
    let (sequence, written_unix_s) = last_batch;
    let header = Header {
        kind: KIND.to_owned(),
        version: VERSION,
        sequence,
        written_unix_s,
        records: records.len(),
    };
    serde_json::to_writer(&mut *out, &header)?;
    out.write_all(b"\n")?;
    for (key, value) in records {
        serde_json::to_writer(&mut *out, &export_line(key, value))?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

fn export_line(key: &RecordKey, value: &[u8]) -> ExportLine {
    // At time 0, the remaining lease is its expiry.
    let Ok(Some(record)) = Record::decode(key, value, 0) else {
        return ExportLine {
            bytes: Some(RecordBytes {
                key: key.bytes().to_vec(),
                value: value.to_vec(),
            }),
            ..ExportLine::default()
        };
    };
    let description = match &record {
        Record::Registration(Registration::Service(service)) => {
            Some(describe_service(&service.record))
        }
        Record::Registration(Registration::Subscription(subscription)) => {
            Some(describe_subscription(&subscription.record))
        }
        Record::Registration(
            Registration::Group { .. } | Registration::Member { .. } | Registration::Alias(_),
        )
        | Record::Lid { .. }
        | Record::MKey { .. }
        | Record::Neighbour { .. }
        | Record::SlToVlEpoch(_)
        | Record::AwaitsConsent
        | Record::Partition(_)
        | Record::Maintenance(_)
        | Record::KeyRotation(_)
        | Record::PortToEnable(..)
        | Record::PortLimits(_) => None,
    };
    ExportLine {
        description,
        record: Some(record),
        bytes: None,
    }
}

/// Reads an export; returns a batch that replaces all records.
///
/// # Errors
/// The line number, from 1, and a message.
pub fn read(text: &str) -> Result<RecordBatch, (usize, String)> {
    let kinds = RecordKind::ALL.into_iter();
    let mut changes: Vec<RecordChange> = kinds.map(RecordChange::Clear).collect();
    let mut lines = (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty());
    let Some((first, header)) = lines.next() else {
        return Err((1, "empty file".to_owned()));
    };
    let expected = read_header(header).map_err(|message| (first, message))?;
    let mut last = first;
    let mut num_records = 0;
    for (number, line) in lines {
        changes.push(read_line(line).map_err(|message| (number, message))?);
        (last, num_records) = (number, num_records + 1);
    }
    if num_records != expected {
        let message = format!("{num_records} records instead of {expected}: truncated");
        return Err((last, message));
    }
    Ok(RecordBatch { changes })
}

/// The number of records.
fn read_header(line: &str) -> Result<usize, String> {
    match serde_json::from_str::<HeaderVersion>(line) {
        Ok(header) if header.kind == KIND && header.version != VERSION => Err(format!(
            "export format version {}; this ferrosm reads version {VERSION} (import with the version that exported)",
            header.version
        )),
        Ok(header) if header.kind == KIND => {
            let header = serde_json::from_str::<Header>(line);
            header.map(|h| h.records).map_err(|e| json_error(&e))
        }
        Ok(_) | Err(_) => Err(
            "not an export of `ferrosm state export`, and the file name is not that of an OpenSM file"
                .to_owned(),
        ),
    }
}

fn read_line(line: &str) -> Result<RecordChange, String> {
    let line: ExportLine = serde_json::from_str(line).map_err(|e| json_error(&e))?;
    match (line.record, line.bytes) {
        (Some(record), None) => {
            RecordChange::put(&record).ok_or_else(|| "invalid record".to_owned())
        }
        (None, Some(RecordBytes { key, value })) => {
            let key = RecordKey::from_bytes(&key).ok_or("invalid key length")?;
            Ok(RecordChange::Put(key, value.into()))
        }
        (None, None) | (Some(_), Some(_)) => Err("expected `record` or `bytes`".to_owned()),
    }
}

/// The message of an error. Each line is a document, so its line number is not that of the file.
fn json_error(e: &serde_json::Error) -> String {
    let text = e.to_string();
    let position = format!(" at line {} column {}", e.line(), e.column());
    match text.strip_suffix(&position) {
        Some(message) => format!("column {}: {message}", e.column()),
        None => text,
    }
}

/// Describes a service.
#[must_use]
pub fn describe_service(record: &ServiceRecord) -> String {
    let padded = &record.service_name;
    let length = padded.iter().position(|b| *b == 0);
    let name = String::from_utf8_lossy(&padded[..length.unwrap_or(padded.len())]);
    format!(
        "service {:#018x} at {}, {name:?}",
        record.service_id, record.service_gid
    )
}

/// Describes a subscription.
#[must_use]
pub fn describe_subscription(record: &InformInfoRecord) -> String {
    /// All trap numbers.
    const ALL: u16 = 0xFFFF;
    let trap_kind = match record.trap_number {
        ALL => "all notices".to_owned(),
        number => format!("notice {number}"),
    };
    format!(
        "{trap_kind} to {}, QP {}",
        record.subscriber_gid, record.qpn
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrosm_fabric::routing_origin::SlToVlEpoch;
    use ferrosm_mad::attr::MtuCode;
    use ferrosm_mad::ids::{Gid, Lid, Lmc, MKey, PKey, PortGuid, PortNum, Qpn, Sl};
    use ferrosm_mad::sa::multicast::JoinState;
    use ferrosm_mad::sa::path::RateCode;
    use ferrosm_sa::registry::group::{GroupMember, GroupParameters};
    use ferrosm_sa::registry::registration::{
        RegisteredAlias, RegisteredService, RegisteredSubscription,
    };
    use std::collections::BTreeMap;

    fn records() -> Vec<(RecordKey, Box<[u8]>)> {
        let (port, mgid) = (PortGuid(7), Gid([0xFF; 16]));
        let mut service_name = [0; 64];
        service_name[..4].copy_from_slice(b"disk");
        let all_records = [
            Record::Lid {
                port,
                lid: Lid(4),
                lmc: Lmc(2),
            },
            Record::Registration(Registration::Group {
                mgid,
                mlid: Lid(0xC001),
                well_known: true,
                parameters: GroupParameters {
                    qkey: 0xB1B,
                    mtu: MtuCode::Mtu2048,
                    tclass: 3,
                    pkey: PKey(0xFFFF),
                    rate: RateCode::G10,
                    packet_life_time: 18,
                    sl: Sl(4),
                    flow_label: 9,
                    hop_limit: 64,
                    scope: 2,
                },
            }),
            Record::Registration(Registration::Member {
                mgid,
                port,
                member: GroupMember {
                    join_state: JoinState(1),
                    proxy: true,
                },
            }),
            Record::Registration(Registration::Service(Box::new(RegisteredService {
                record: ServiceRecord {
                    service_id: 5,
                    service_name,
                    ..ServiceRecord::default()
                },
                lease_remaining_s: Some(60),
                registered_by: port,
            }))),
            Record::Registration(Registration::Subscription(RegisteredSubscription {
                record: InformInfoRecord {
                    trap_number: 64,
                    qpn: Qpn(1),
                    ..InformInfoRecord::default()
                },
                lid: Lid(9),
                sl: Sl(3),
                path_bits: 1,
                pkey_index: 2,
            })),
            Record::Registration(Registration::Alias(RegisteredAlias {
                port,
                index: 3,
                alias: PortGuid(8),
            })),
            Record::MKey {
                port,
                m_key: MKey::new(77),
            },
            Record::Neighbour {
                of: (PortGuid(1), PortNum(2)),
                to: (PortGuid(3), PortNum(4)),
            },
            Record::SlToVlEpoch(SlToVlEpoch {
                number: 3,
                sm_port: port,
            }),
        ];
        let encoded = all_records.iter().map(|r| (r.key(), r.encode(1_000)));
        let head = (
            RecordKey::new(RecordKind::ViewHead, &[]),
            vec![1, 2, 3].into(),
        );
        let mut records: Vec<_> = encoded.chain([head]).collect();
        records.sort();
        records
    }

    fn text() -> String {
        let mut text = Vec::new();
        write(&records(), (5, 1_000), &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn export_can_be_imported() {
        let mut imported = BTreeMap::from([(Record::lid_key(PortGuid(99)), vec![1].into())]);
        read(&text()).unwrap().apply(&mut imported);
        assert_eq!(imported.into_iter().collect::<Vec<_>>(), records());
    }

    #[test]
    fn records_are_readable() {
        let text = text();
        for expected in [
            "{\"kind\":\"ferrosm-state\",\"version\":3,\"sequence\":5,\"written_unix_s\":1000,\"records\":10}\n",
            "{\"record\":{\"sl-to-vl-epoch\":{\"number\":3,\"sm_port\":\"0x0000000000000007\"}}}\n",
            "{\"record\":{\"lid\":{\"port\":\"0x0000000000000007\",\"lid\":4,\"lmc\":2}}}\n",
            "{\"record\":{\"m-key\":{\"port\":\"0x0000000000000007\",\"m_key\":\"000000000000004d\"}}}\n",
            "{\"record\":{\"neighbour\":{\"of\":[\"0x0000000000000001\",2],\"to\":[\"0x0000000000000003\",4]}}}\n",
            "{\"record\":{\"registration\":{\"group\":{\"mgid\":\"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff\",\"mlid\":49153,\"well_known\":true,\"parameters\":{\"qkey\":2843,\"mtu\":4,\"tclass\":3,\"pkey\":\"0xffff\",",
            "{\"description\":\"service 0x0000000000000005 at ::, \\\"disk\\\"\",\"record\":{\"registration\":{\"service\":{\"record\":\"0000000000000005",
            ",\"expires_unix_s\":1060,\"registered_by\":\"0x0000000000000007\"}}}}\n",
            "{\"bytes\":{\"key\":\"02\",\"value\":\"010203\"}}\n",
        ] {
            assert!(text.contains(expected), "{expected}\n{text}");
        }
    }

    #[test]
    fn errors_have_line_numbers() {
        let complete = text();
        let lines: Vec<&str> = complete.lines().collect();
        let error = |text: &str| read(text).unwrap_err();
        assert_eq!(error("").1, "empty file");
        assert_eq!(error(lines[1]).0, 1);
        let (at, message) = error(&lines[..lines.len() - 1].join("\n"));
        assert_eq!(
            (at, message.as_str()),
            (10, "9 records instead of 10: truncated")
        );
        let (at, message) = error(&complete.replace("\"lid\":4,", "\"lid\":50000,"));
        assert_eq!((at, message.as_str()), (2, "column 68: invalid record"));
        // The header of another version may have other fields.
        for header in ["\"version\":9", "\"version\":9,\"format\":1"] {
            let (_, message) = error(&complete.replace("\"version\":3", header));
            assert_eq!(
                message,
                "export format version 9; this ferrosm reads version 3 (import with the version that exported)"
            );
        }
        for (from, to) in [
            ("\"lmc\"", "\"mlc\""),
            ("\"mgid\":\"ffff", "\"mgid\":\"what"),
            ("true", "yes"),
        ] {
            assert!(read(&complete.replacen(from, to, 1)).is_err(), "{from}");
        }
    }
}
