//! Records as JSON lines, for `ferrosm state export` and `import`.
//!
//! The first line has the version and the number of records, so that a truncated file is detected.
//! Each other line is a record. Attributes are in hexadecimal, as on the wire, with a `description`
//! that is ignored on import. Records that are only valid together (the view) are key and value
//! bytes.

use std::io::{self, Write};

use ferrosm_core::records::{Record, RecordBatch, RecordChange, RecordKey, RecordKind};
use ferrosm_fabric::routing_origin::SlToVlEpoch;
use ferrosm_mad::ids::{Gid, Lid, Lmc, MKey, PortGuid, PortNum, Sl};
use ferrosm_mad::sa::inform::InformInfoRecord;
use ferrosm_mad::sa::multicast::{JoinState, McMemberRecord};
use ferrosm_mad::sa::service::ServiceRecord;
use ferrosm_sa::registry::group::{GroupMember, GroupParameters, MulticastGroup};
use ferrosm_sa::registry::registration::{
    RegisteredAlias, RegisteredService, RegisteredSubscription, Registration,
};
use serde::{Deserialize, Serialize};

/// Version of the format. A reader accepts only its own.
pub const VERSION: u32 = 2;

/// A line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum ExportLine {
    FerrosmState {
        version: u32,
        /// Number of the last batch, and its time.
        sequence: u64,
        written_unix_s: u64,
        records: usize,
    },
    Lid {
        port: PortGuid,
        lid: u16,
        lmc: u8,
    },
    Group {
        description: String,
        well_known: bool,
        #[serde(with = "hex::serde")]
        record: Vec<u8>,
    },
    Member {
        mgid: String,
        port: PortGuid,
        join_state: u8,
        proxy: bool,
    },
    Service {
        description: String,
        /// `None` without a lease.
        expires_unix_s: Option<u64>,
        owner: PortGuid,
        #[serde(with = "hex::serde")]
        record: Vec<u8>,
    },
    Subscription {
        description: String,
        lid: u16,
        sl: u8,
        path_bits: u8,
        pkey_index: u16,
        #[serde(with = "hex::serde")]
        record: Vec<u8>,
    },
    Alias {
        port: PortGuid,
        index: u16,
        alias: PortGuid,
    },
    MKey {
        port: PortGuid,
        #[serde(with = "hex::serde")]
        m_key: [u8; 8],
    },
    Neighbour {
        guid: PortGuid,
        port: u8,
        to_guid: PortGuid,
        to_port: u8,
    },
    SlToVlEpoch {
        number: u64,
        by: PortGuid,
    },
    Bytes {
        #[serde(with = "hex::serde")]
        key: Vec<u8>,
        #[serde(with = "hex::serde")]
        value: Vec<u8>,
    },
}

/// Describes a service.
#[must_use]
pub fn describe_service(record: &ServiceRecord) -> String {
    let name = record.service_name.split(|b| *b == 0).next();
    let name = String::from_utf8_lossy(name.unwrap_or_default());
    let (id, gid) = (record.service_id, record.service_gid);
    format!("service {id:#018x} at {gid}, {name:?}")
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

/// Describes a multicast group.
#[must_use]
pub fn describe_group(mgid: Gid, mlid: Lid, parameters: &GroupParameters) -> String {
    let pkey = parameters.pkey;
    format!("group {mgid}, MLID {mlid}, P_Key {pkey}")
}

/// Writes records.
///
/// # Errors
/// I/O errors of `out`.
pub fn write(
    records: &[(RecordKey, Box<[u8]>)],
    (sequence, written_unix_s): (u64, u64),
    out: &mut dyn Write,
) -> io::Result<()> {
    let head = ExportLine::FerrosmState {
        version: VERSION,
        sequence,
        written_unix_s,
        records: records.len(),
    };
    let lines = records.iter().map(|(key, value)| export_line(key, value));
    for line in core::iter::once(head).chain(lines) {
        serde_json::to_writer(&mut *out, &line)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

fn export_line(key: &RecordKey, value: &[u8]) -> ExportLine {
    // At time 0, the remaining lease is its expiry.
    let Ok(Some(record)) = Record::decode(key, value, 0) else {
        return ExportLine::Bytes {
            key: key.bytes().to_vec(),
            value: value.to_vec(),
        };
    };
    match record {
        Record::Lid { port, lid, lmc } => ExportLine::Lid {
            port,
            lid: lid.0,
            lmc: lmc.0,
        },
        Record::Registration(Registration::Group {
            mgid,
            mlid,
            well_known,
            parameters,
        }) => {
            let group = MulticastGroup {
                mlid,
                parameters,
                well_known,
                members: std::collections::BTreeMap::new(),
            };
            ExportLine::Group {
                description: describe_group(mgid, mlid, &parameters),
                well_known,
                record: group.record(mgid, None).encode().to_vec(),
            }
        }
        Record::Registration(Registration::Member { mgid, port, member }) => ExportLine::Member {
            mgid: mgid.to_string(),
            port,
            join_state: member.join_state.0,
            proxy: member.proxy,
        },
        Record::Registration(Registration::Service(service)) => ExportLine::Service {
            description: describe_service(&service.record),
            // Decoded at Unix time 0: the remaining time is the Unix time of expiry.
            expires_unix_s: service.lease_remaining_s,
            owner: service.registered_by,
            record: service.record.encode().to_vec(),
        },
        Record::Registration(Registration::Subscription(s)) => ExportLine::Subscription {
            description: describe_subscription(&s.record),
            lid: s.lid.0,
            sl: s.sl.0,
            path_bits: s.path_bits,
            pkey_index: s.pkey_index,
            record: s.record.encode().to_vec(),
        },
        Record::Registration(Registration::Alias(alias)) => ExportLine::Alias {
            port: alias.port,
            index: alias.index,
            alias: alias.alias,
        },
        Record::MKey { port, m_key } => ExportLine::MKey {
            port,
            m_key: m_key.expose().to_be_bytes(),
        },
        Record::Neighbour { of, to } => ExportLine::Neighbour {
            guid: of.0,
            port: of.1.0,
            to_guid: to.0,
            to_port: to.1.0,
        },
        Record::SlToVlEpoch(SlToVlEpoch { number, sm_port }) => ExportLine::SlToVlEpoch {
            number,
            by: sm_port,
        },
    }
}

/// The part of the header that every version of the format has.
#[derive(Deserialize)]
struct HeaderVersion {
    kind: String,
    version: u32,
}

/// The version of a header of another version of the format.
fn other_version(line: &str) -> Option<u32> {
    let header: HeaderVersion = serde_json::from_str(line).ok()?;
    (header.kind == "ferrosm-state" && header.version != VERSION).then_some(header.version)
}

/// Reads an export; returns a batch that replaces all records.
///
/// # Errors
/// The line number, from 1, and a message.
pub fn read(text: &str) -> Result<RecordBatch, (usize, String)> {
    let mut changes: Vec<RecordChange> = RecordKind::ALL
        .into_iter()
        .map(RecordChange::Clear)
        .collect();
    let mut expected = None;
    let mut num_records = 0;
    let mut last = 1;
    for (number, line) in (1..).zip(text.lines()) {
        last = number;
        if line.trim().is_empty() {
            continue;
        }
        let error = |message: String| (number, message);
        if expected.is_none()
            && let Some(version) = other_version(line)
        {
            return Err(error(format!(
                "export format version {version}; this ferrosm reads version {VERSION} (import with the version that exported)"
            )));
        }
        let line: ExportLine = serde_json::from_str(line).map_err(|e| {
            error(match expected {
                None => "not an export of `ferrosm state export`, and the file name is not that of an OpenSM file"
                    .to_owned(),
                Some(_) => e.to_string(),
            })
        })?;
        match (&line, expected) {
            (ExportLine::FerrosmState { records, .. }, None) => expected = Some(*records),
            (ExportLine::FerrosmState { .. }, Some(_)) => {
                return Err(error("duplicate header".to_owned()));
            }
            (_, None) => {
                return Err(error("missing header `ferrosm-state`".to_owned()));
            }
            (_, Some(_)) => {
                changes.push(change(line).map_err(error)?);
                num_records += 1;
            }
        }
    }
    match expected {
        None => Err((last, "empty file".to_owned())),
        Some(expected) if expected != num_records => Err((
            last,
            format!("{num_records} records instead of {expected}: truncated"),
        )),
        Some(_) => Ok(RecordBatch { changes }),
    }
}

fn sized<const N: usize>(record: &[u8]) -> Result<&[u8; N], String> {
    record
        .try_into()
        .map_err(|_| format!("record of {} bytes instead of {N}", record.len()))
}

fn change(line: ExportLine) -> Result<RecordChange, String> {
    let record = match line {
        ExportLine::FerrosmState { .. } => return Err("not a record".to_owned()),
        ExportLine::Lid { port, lid, lmc } => Record::Lid {
            port,
            lid: Lid(lid),
            lmc: Lmc(lmc),
        },
        ExportLine::Group {
            well_known, record, ..
        } => {
            let record = McMemberRecord::decode(sized::<{ McMemberRecord::LEN }>(&record)?);
            Record::Registration(Registration::Group {
                mgid: record.mgid,
                mlid: record.mlid,
                well_known,
                parameters: GroupParameters::from_record(&record),
            })
        }
        ExportLine::Member {
            mgid,
            port,
            join_state,
            proxy,
        } => {
            let address: std::net::Ipv6Addr =
                mgid.parse().map_err(|_| format!("`{mgid}` is not a GID"))?;
            Record::Registration(Registration::Member {
                mgid: Gid(address.octets()),
                port,
                member: GroupMember {
                    join_state: JoinState(join_state),
                    proxy,
                },
            })
        }
        ExportLine::Service {
            expires_unix_s,
            owner,
            record,
            ..
        } => Record::Registration(Registration::Service(Box::new(RegisteredService {
            record: ServiceRecord::decode(sized::<{ ServiceRecord::LEN }>(&record)?),
            // `RecordChange::put` encodes at Unix time 0.
            lease_remaining_s: expires_unix_s,
            registered_by: owner,
        }))),
        ExportLine::Subscription {
            lid,
            sl,
            path_bits,
            pkey_index,
            record,
            ..
        } => Record::Registration(Registration::Subscription(RegisteredSubscription {
            record: InformInfoRecord::decode(sized::<{ InformInfoRecord::LEN }>(&record)?),
            lid: Lid(lid),
            sl: Sl(sl),
            path_bits,
            pkey_index,
        })),
        ExportLine::Alias { port, index, alias } => {
            Record::Registration(Registration::Alias(RegisteredAlias { port, index, alias }))
        }
        ExportLine::MKey { port, m_key } => Record::MKey {
            port,
            m_key: MKey::new(u64::from_be_bytes(m_key)),
        },
        ExportLine::Neighbour {
            guid,
            port,
            to_guid,
            to_port,
        } => Record::Neighbour {
            of: (guid, PortNum(port)),
            to: (to_guid, PortNum(to_port)),
        },
        ExportLine::SlToVlEpoch { number, by } => Record::SlToVlEpoch(SlToVlEpoch {
            number,
            sm_port: by,
        }),
        ExportLine::Bytes { key, value } => {
            let key = RecordKey::from_bytes(&key).ok_or("invalid key length")?;
            return Ok(RecordChange::Put(key, value.into()));
        }
    };
    RecordChange::put(&record).ok_or_else(|| "invalid record".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrosm_mad::attr::MtuCode;
    use ferrosm_mad::ids::{PKey, Qpn};
    use ferrosm_mad::sa::path::RateCode;
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
            "{\"kind\":\"ferrosm-state\",\"version\":2,\"sequence\":5,\"written_unix_s\":1000,\"records\":10}\n",
            "{\"kind\":\"sl-to-vl-epoch\",\"number\":3,\"by\":\"0x0000000000000007\"}\n",
            "{\"kind\":\"lid\",\"port\":\"0x0000000000000007\",\"lid\":4,\"lmc\":2}\n",
            "\"description\":\"service 0x0000000000000005 at ::, \\\"disk\\\"\",\"expires_unix_s\":1060,",
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
        assert_eq!((at, message.as_str()), (2, "invalid record"));
        // The header of another version may have other fields.
        for header in ["\"version\":9", "\"version\":9,\"format\":1"] {
            let (_, message) = error(&complete.replace("\"version\":2", header));
            assert_eq!(
                message,
                "export format version 9; this ferrosm reads version 2 (import with the version that exported)"
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
