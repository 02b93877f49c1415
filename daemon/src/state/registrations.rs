//! `registrations.json`: what clients have registered: multicast members, services, subscriptions.
//!
//! Each entry says in words what it is about, for people; what is read is the record itself, as the specification lays it out,
//! in hexadecimal.

use core::time::Duration;
use std::io::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use ferrosm_core::sa::registry::saved::{Saved, SavedAlias, SavedSubscription};
use ferrosm_mad::ids::{Lid, PortGuid, Sl};
use ferrosm_mad::sa::inform::InformInfoRecord;
use ferrosm_mad::sa::multicast::McMemberRecord;
use ferrosm_mad::sa::service::ServiceRecord;
use serde::{Deserialize, Serialize};

/// Name of the file.
pub(super) const FILE: &str = "registrations.json";
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct File {
    version: u32,
    /// Leases count from here.
    written_unix_s: u64,
    members: Vec<Entry>,
    services: Vec<Entry>,
    subscriptions: Vec<Subscription>,
    #[serde(default)]
    aliases: Vec<Alias>,
}

/// A record.
#[derive(Serialize, Deserialize)]
struct Entry {
    /// For people.
    about: String,
    #[serde(with = "hex::serde")]
    record: Vec<u8>,
}

/// A subscription, and how its subscriber is reached.
#[derive(Serialize, Deserialize)]
struct Subscription {
    #[serde(flatten)]
    entry: Entry,
    lid: u16,
    sl: u8,
    path_bits: u8,
    pkey_index: u16,
}

/// An alias GUID.
#[derive(Serialize, Deserialize)]
struct Alias {
    port: PortGuid,
    index: u16,
    alias: PortGuid,
}

/// One entry a line, so that people and `diff` can read it.
pub(super) fn encode(saved: &Saved, now: SystemTime, out: &mut dyn Write) -> io::Result<()> {
    let written_unix_s = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    write!(
        out,
        "{{\n  \"version\": {VERSION},\n  \"written_unix_s\": {written_unix_s}"
    )?;
    let members = saved.members.iter().map(|r| Entry {
        about: format!("group {} (MLID {}), member {}", r.mgid, r.mlid, r.port_gid),
        record: r.encode().to_vec(),
    });
    list(out, "members", members)?;
    let services = saved.services.iter().map(|r| {
        let name = r.service_name.split(|b| *b == 0).next().unwrap_or_default();
        let name = String::from_utf8_lossy(name);
        Entry {
            about: format!(
                "service {:#018x} at {}, {name:?}",
                r.service_id, r.service_gid
            ),
            record: r.encode().to_vec(),
        }
    });
    list(out, "services", services)?;
    let subscriptions = saved.subscriptions.iter().map(|s| Subscription {
        entry: Entry {
            about: format!(
                "reports to {}, trap {}",
                s.record.subscriber_gid, s.record.trap_number
            ),
            record: s.record.encode().to_vec(),
        },
        lid: s.lid.0,
        sl: s.sl.0,
        path_bits: s.path_bits,
        pkey_index: s.pkey_index,
    });
    list(out, "subscriptions", subscriptions)?;
    let aliases = saved.aliases.iter().map(|a| Alias {
        port: a.port,
        index: a.index,
        alias: a.alias,
    });
    list(out, "aliases", aliases)?;
    writeln!(out, "\n}}")
}

fn list<T: Serialize>(
    out: &mut dyn Write,
    name: &str,
    entries: impl Iterator<Item = T>,
) -> io::Result<()> {
    write!(out, ",\n  \"{name}\": [")?;
    let mut comma = "";
    for entry in entries {
        write!(out, "{comma}\n    ")?;
        serde_json::to_writer(&mut *out, &entry)?;
        comma = ",";
    }
    write!(out, "\n  ]")
}

/// What was saved, and when.
pub(super) fn decode(text: &[u8]) -> Result<(Saved, SystemTime), String> {
    let file: File = serde_json::from_slice(text).map_err(|e| e.to_string())?;
    if file.version != VERSION {
        return Err(format!("version {} instead of {VERSION}", file.version));
    }
    let sized = |entry: &Entry, len: usize| {
        if entry.record.len() == len {
            Ok(())
        } else {
            let has = entry.record.len();
            Err(format!(
                "a record of {has} bytes instead of {len}: {}",
                entry.about
            ))
        }
    };
    let mut saved = Saved::default();
    for entry in &file.members {
        sized(entry, McMemberRecord::LEN)?;
        saved.members.push(McMemberRecord::decode(&entry.record));
    }
    for entry in &file.services {
        sized(entry, ServiceRecord::LEN)?;
        saved.services.push(ServiceRecord::decode(&entry.record));
    }
    for s in &file.subscriptions {
        sized(&s.entry, InformInfoRecord::LEN)?;
        saved.subscriptions.push(SavedSubscription {
            record: InformInfoRecord::decode(&s.entry.record),
            lid: Lid(s.lid),
            sl: Sl(s.sl),
            path_bits: s.path_bits,
            pkey_index: s.pkey_index,
        });
    }
    saved.aliases = file
        .aliases
        .iter()
        .map(|a| SavedAlias {
            port: a.port,
            index: a.index,
            alias: a.alias,
        })
        .collect();
    let written = UNIX_EPOCH.checked_add(Duration::from_secs(file.written_unix_s));
    Ok((saved, written.unwrap_or(UNIX_EPOCH)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrosm_mad::ids::{Gid, PKey, Qpn};
    use ferrosm_mad::sa::multicast::JoinState;

    fn saved() -> Saved {
        let mut service_name = [0; 64];
        service_name[..4].copy_from_slice(b"disk");
        Saved {
            members: vec![McMemberRecord {
                mgid: Gid([0xFF; 16]),
                port_gid: Gid([7; 16]),
                mlid: Lid(0xC001),
                join_state: JoinState(1),
                ..McMemberRecord::default()
            }],
            services: vec![ServiceRecord {
                service_id: 5,
                service_pkey: PKey(0xFFFF),
                service_lease_s: 60,
                service_name,
                ..ServiceRecord::default()
            }],
            subscriptions: vec![SavedSubscription {
                record: InformInfoRecord {
                    trap_number: 64,
                    qpn: Qpn(1),
                    ..InformInfoRecord::default()
                },
                lid: Lid(9),
                sl: Sl(3),
                path_bits: 1,
                pkey_index: 2,
            }],
            aliases: vec![SavedAlias {
                port: PortGuid(7),
                index: 3,
                alias: PortGuid(8),
            }],
        }
    }

    fn text(saved: &Saved) -> String {
        let mut text = Vec::new();
        let then = UNIX_EPOCH + Duration::from_secs(1_000);
        encode(saved, then, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn what_is_written_reads_back() {
        for saved in [saved(), Saved::default()] {
            let (back, written) = decode(text(&saved).as_bytes()).unwrap();
            assert_eq!(back, saved);
            assert_eq!(written, UNIX_EPOCH + Duration::from_secs(1_000));
        }
    }

    #[test]
    fn people_can_read_the_file() {
        let text = text(&saved());
        assert!(
            text.contains("service 0x0000000000000005 at ::, \\\"disk\\\""),
            "{text}"
        );
        assert!(
            text.contains("(MLID 0xC001)") || text.contains("(MLID 49153)"),
            "{text}"
        );
        assert_eq!(text.lines().count(), 16, "an entry a line:\n{text}");
    }

    #[test]
    fn a_record_that_was_cut_is_an_error() {
        let text = text(&saved()).replace("0707", "");
        let error = decode(text.as_bytes()).unwrap_err();
        assert!(error.starts_with("a record of "), "{error}");
        assert!(decode(b"{}").is_err());
    }
}
