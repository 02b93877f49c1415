//! `registrations.json`: what clients have registered, as earlier versions kept it. It is read once, into the store.
//!
//! What is read is the record itself, as the specification lays it out, in hexadecimal.

use core::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};

use ferrosm_core::kept::Service;
use ferrosm_core::sa::registry::saved::{Saved, SavedAlias, SavedSubscription};
use ferrosm_mad::ids::{Lid, PortGuid, Sl};
use ferrosm_mad::sa::inform::InformInfoRecord;
use ferrosm_mad::sa::multicast::McMemberRecord;
use ferrosm_mad::sa::service::ServiceRecord;
use serde::Deserialize;

/// Name of the file.
pub(super) const FILE: &str = "registrations.json";
const VERSION: u32 = 1;

#[derive(Deserialize)]
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
#[derive(Deserialize)]
struct Entry {
    /// For people.
    about: String,
    #[serde(with = "hex::serde")]
    record: Vec<u8>,
}

/// A subscription, and how its subscriber is reached.
#[derive(Deserialize)]
struct Subscription {
    #[serde(flatten)]
    entry: Entry,
    lid: u16,
    sl: u8,
    path_bits: u8,
    pkey_index: u16,
}

/// An alias GUID.
#[derive(Deserialize)]
struct Alias {
    port: PortGuid,
    index: u16,
    alias: PortGuid,
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
        let record = ServiceRecord::decode(&entry.record);
        let ends = record.service_lease_s != ServiceRecord::FOREVER;
        saved.services.push(Service {
            left_s: ends.then_some(u64::from(record.service_lease_s)),
            // Who registered it is not said: then it is whoever it is at.
            by: record.service_gid.guid(),
            record: ServiceRecord {
                service_lease_s: 0,
                ..record
            },
        });
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
    use ferrosm_mad::sa::multicast::JoinState;

    /// As a version before the store wrote it.
    fn text() -> String {
        let member = McMemberRecord {
            mgid: ferrosm_mad::ids::Gid([0xFF; 16]),
            port_gid: ferrosm_mad::ids::Gid([7; 16]),
            mlid: Lid(0xC001),
            join_state: JoinState(1),
            ..McMemberRecord::default()
        };
        let service = |id, lease_s| {
            let record = ServiceRecord {
                service_id: id,
                service_lease_s: lease_s,
                ..ServiceRecord::default()
            };
            hex::encode(record.encode())
        };
        let informed = InformInfoRecord {
            trap_number: 64,
            ..InformInfoRecord::default()
        };
        format!(
            r#"{{ "version": 1, "written_unix_s": 1000,
            "members": [ {{"about":"a","record":"{}"}} ],
            "services": [ {{"about":"b","record":"{}"}}, {{"about":"c","record":"{}"}} ],
            "subscriptions": [ {{"about":"d","record":"{}","lid":9,"sl":3,"path_bits":1,"pkey_index":2}} ],
            "aliases": [ {{"port":"0x0000000000000007","index":3,"alias":"0x0000000000000008"}} ] }}"#,
            hex::encode(member.encode()),
            service(5, 60),
            service(6, ServiceRecord::FOREVER),
            hex::encode(informed.encode()),
        )
    }

    #[test]
    fn what_an_earlier_version_wrote_is_read() {
        let (saved, written) = decode(text().as_bytes()).unwrap();
        assert_eq!(written, UNIX_EPOCH + Duration::from_secs(1_000));
        assert_eq!(saved.members[0].mlid, Lid(0xC001));
        let leases: Vec<_> = saved.services.iter().map(|s| s.left_s).collect();
        assert_eq!(leases, [Some(60), None]);
        let subscription = &saved.subscriptions[0];
        assert_eq!((subscription.lid, subscription.sl), (Lid(9), Sl(3)));
        assert_eq!(subscription.record.trap_number, 64);
        let alias = SavedAlias {
            port: PortGuid(7),
            index: 3,
            alias: PortGuid(8),
        };
        assert_eq!(saved.aliases, [alias]);
    }

    #[test]
    fn a_record_that_was_cut_is_an_error() {
        let text = text().replace("0707", "");
        let error = decode(text.as_bytes()).unwrap_err();
        assert!(error.starts_with("a record of "), "{error}");
        assert!(decode(b"{}").is_err());
    }
}
