//! Names of the keys in etcd, and the encoding of their values. Without I/O.
//!
//! ```text
//! <prefix>/<fabric>/leader                         the master; bound to its lease
//! <prefix>/<fabric>/name                           name of the fabric
//! <prefix>/<fabric>/head                           the last batch
//! <prefix>/<fabric>/base                           position and number of parts of the snapshot
//! <prefix>/<fabric>/snapshot/<epoch>-<seq>/<part>  records
//! <prefix>/<fabric>/log/<seq>/<part>               a batch, in parts
//! ```
//!
//! Each value but the name begins with a magic word and versions. Values of another version are not
//! decoded.

use serde::{Deserialize, Serialize};

use super::client::{EtcdError, KeyRange};
use crate::follower::RawRecord;
use crate::log::Position;
use crate::wire::{PREAMBLE, RawBytes};
use ferrosm_core::StepDownReason;
use ferrosm_core::records::{self, RecordKey};

/// Approximate limit of a value in bytes; etcd accepts requests of 1.5 MiB.
pub(super) const PART_LEN: usize = 256 << 10;

/// First bytes of each value: `FSMR` and the version of the replication protocol ([`PREAMBLE`]),
/// and the version of records.
const MAGIC: [u8; 8] = {
    let [f, s, m, r, a, b] = PREAMBLE;
    let [_, _, c, d] = records::VERSION.to_be_bytes();
    [f, s, m, r, a, b, c, d]
};
const MALFORMED_VALUE: EtcdError = EtcdError::Garbled("the prefix of this fabric");

/// The value of the master's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MasterValue {
    pub(super) guid: u64,
    pub(super) epoch: u64,
    /// Renewed alternately; the key is bound to the first.
    pub(super) leases: [i64; 2],
    /// Time in seconds after which an unrenewed lease counts as old. Its owner steps down before.
    pub(super) silent_after_s: u8,
    /// Why the master is stepping down; `None` if it is not.
    pub(super) release_reason: Option<StepDownReason>,
    /// The master may have acknowledged batches that etcd lacks.
    pub(super) incomplete: bool,
}

/// The last batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) at: Position,
    /// The node that wrote it.
    pub(super) guid: u64,
}

/// Position and parts of the snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Base {
    pub(super) at: Position,
    pub(super) part_count: u64,
}

/// A part of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BatchPart<'a> {
    pub(super) at: Position,
    /// Number of earlier parts.
    pub(super) index: u64,
    /// Number of later parts.
    pub(super) later_parts: u64,
    #[serde(borrow)]
    pub(super) bytes: RawBytes<'a>,
}

/// Names of the keys of a fabric.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    /// Prefix of all keys, with a slash at the end.
    all: String,
    /// The prefix that earlier versions used, if it differs.
    earlier: Option<String>,
}

impl Keys {
    /// Keys below `prefix`. `fabric` is a subnet prefix, a space, and a name; in the name, `/`,
    /// space and `%` are escaped as in URLs.
    pub(super) fn new(prefix: &str, fabric: &str) -> Self {
        let (subnet, name) = fabric.split_once(' ').unwrap_or(("", fabric));
        let separator = if subnet.is_empty() { "" } else { "_" };
        let name = name
            .replace('%', "%25")
            .replace('/', "%2F")
            .replace(' ', "%20");
        let below = |name: &str| format!("{}/{name}/", prefix.trim_end_matches('/'));
        let all = below(&format!("{subnet}{separator}{name}"));
        let earlier = below(&fabric.replace(['/', ' '], "_"));
        Self {
            earlier: (earlier != all).then_some(earlier),
            all,
        }
    }

    /// The keys that earlier versions used for this fabric, if they differ. Those of several
    /// fabrics may be the same.
    pub(super) fn of_earlier_versions(&self) -> Option<Self> {
        let all = self.earlier.clone()?;
        let earlier = None;
        Some(Self { all, earlier })
    }

    /// The key with the name of the fabric.
    pub(super) fn name(&self) -> String {
        format!("{}name", self.all)
    }

    /// The range of all keys.
    pub(super) fn range(&self) -> KeyRange {
        prefix_range(self.all.clone())
    }

    /// The key that only the current master holds.
    pub(super) fn master(&self) -> String {
        format!("{}leader", self.all)
    }

    pub(super) fn head(&self) -> String {
        format!("{}head", self.all)
    }

    pub(super) fn base(&self) -> String {
        format!("{}base", self.all)
    }

    /// Prefix of all snapshots.
    pub(super) fn snapshots(&self) -> String {
        format!("{}snapshot/", self.all)
    }

    /// Prefix of a snapshot's parts.
    pub(super) fn snapshot(&self, at: Position) -> String {
        format!("{}{:016x}-{:020}/", self.snapshots(), at.epoch, at.seq)
    }

    pub(super) fn snapshot_part(&self, snapshot: Position, part: usize) -> String {
        format!("{}{part:08}", self.snapshot(snapshot))
    }

    /// Prefix of all batches.
    pub(super) fn log(&self) -> String {
        format!("{}log/", self.all)
    }

    /// Prefix of the parts of batch `seq`; as the start of a range, it includes all later batches.
    pub(super) fn log_from(&self, seq: u64) -> String {
        format!("{}{seq:020}/", self.log())
    }

    pub(super) fn log_part(&self, seq: u64, part: usize) -> String {
        format!("{}{part:08}", self.log_from(seq))
    }
}

/// The keys with a prefix that ends with a slash.
pub(super) fn prefix_range(prefix: String) -> KeyRange {
    KeyRange {
        end: range_end(&prefix),
        from: prefix,
    }
}

/// End (exclusive) of the range of keys with a prefix that ends with a slash: `0` is the character
/// after `/`.
pub(super) fn range_end(prefix: &str) -> String {
    format!("{}0", prefix.trim_end_matches('/'))
}

/// Encodes a value with [`MAGIC`].
pub(super) fn encode_value<T: Serialize>(value: &T) -> Result<Vec<u8>, EtcdError> {
    postcard::to_extend(value, MAGIC.to_vec()).map_err(|_| MALFORMED_VALUE)
}

/// Decodes a value that begins with [`MAGIC`].
pub(super) fn decode_value<'a, T: Deserialize<'a>>(value: &'a [u8]) -> Result<T, EtcdError> {
    match value.split_first_chunk() {
        Some((&MAGIC, bytes)) => postcard::from_bytes(bytes).map_err(|_| MALFORMED_VALUE),
        Some((&[b'F', b'S', b'M', b'R', a, b, c, d], _)) => {
            let [replication, records] = [[a, b], [c, d]].map(u16::from_be_bytes);
            Err(EtcdError::Version(replication, records))
        }
        Some(_) | None => Err(MALFORMED_VALUE),
    }
}

/// Encodes records in parts. A long record is split into consecutive pieces with the same key.
pub(super) fn encode_record_parts(records: &[RawRecord]) -> Result<Vec<Vec<u8>>, EtcdError> {
    let mut parts = Vec::new();
    let mut part: Vec<(RawBytes<'_>, RawBytes<'_>)> = Vec::new();
    let mut size = 0;
    for (key, value) in records {
        let key = key.bytes();
        let mut rest: &[u8] = value;
        loop {
            let (piece, more) = rest.split_at(rest.len().min(PART_LEN));
            size += key.len() + piece.len() + 8;
            part.push((RawBytes(key), RawBytes(piece)));
            if size > PART_LEN {
                parts.push(encode_value(&part)?);
                part.clear();
                size = 0;
            }
            rest = more;
            if rest.is_empty() {
                break;
            }
        }
    }
    if !part.is_empty() {
        parts.push(encode_value(&part)?);
    }
    Ok(parts)
}

/// Records decoded part by part.
#[derive(Debug, Default)]
pub(super) struct Records(Vec<(RecordKey, Vec<u8>)>);

impl Records {
    /// Adds the next part.
    pub(super) fn add(&mut self, part: &[u8]) -> Result<(), EtcdError> {
        let pieces: Vec<(RawBytes<'_>, RawBytes<'_>)> = decode_value(part)?;
        for (key, value) in pieces {
            let key = RecordKey::from_bytes(key.0).ok_or(MALFORMED_VALUE)?;
            match self.0.last_mut() {
                Some((last, bytes)) if *last == key => bytes.extend_from_slice(value.0),
                Some(_) | None => self.0.push((key, value.0.to_vec())),
            }
        }
        Ok(())
    }

    /// All records.
    pub(super) fn into_records(self) -> Vec<RawRecord> {
        let record = |(key, bytes): (RecordKey, Vec<u8>)| (key, bytes.into_boxed_slice());
        self.0.into_iter().map(record).collect()
    }
}

/// Assembles batches from their parts.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    pending: Option<(Position, u64, Vec<u8>)>,
}

/// Splits a batch into encoded parts.
pub(super) fn encode_batch_parts(at: Position, body: &[u8]) -> Result<Vec<Vec<u8>>, EtcdError> {
    let pieces: Vec<&[u8]> = if body.is_empty() {
        vec![&[]]
    } else {
        body.chunks(PART_LEN).collect()
    };
    let count = pieces.len() as u64;
    let encode_part = |(index, bytes)| {
        let bytes = RawBytes(bytes);
        encode_value(&BatchPart {
            at,
            index,
            later_parts: count - 1 - index,
            bytes,
        })
    };
    (0..).zip(pieces).map(encode_part).collect()
}

impl Assembly {
    /// Adds the next part. Returns the batch if it is complete.
    pub(super) fn add(&mut self, value: &[u8]) -> Result<Option<(Position, Vec<u8>)>, EtcdError> {
        let part: BatchPart<'_> = decode_value(value)?;
        let mut bytes = match self.pending.take() {
            Some((at, index, bytes)) if at == part.at && index == part.index => bytes,
            // Remaining parts of a batch that another master did not finish.
            Some(_) | None if part.index > 0 => return Ok(None),
            Some(_) | None => Vec::new(),
        };
        bytes.extend_from_slice(part.bytes.0);
        if part.later_parts == 0 {
            return Ok(Some((part.at, bytes)));
        }
        self.pending = Some((part.at, part.index + 1, bytes));
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::VERSION;
    use ferrosm_core::records::RecordKind;

    #[test]
    fn records_and_batches_survive_splitting() {
        let key = |n: u32| RecordKey::new(RecordKind::Lid, &[&n.to_be_bytes()]);
        let mut records: Vec<RawRecord> =
            (0..20_000).map(|n| (key(n), vec![7; 40].into())).collect();
        // Empty, of exactly one part, and larger than a request.
        for (n, size) in [(20_000, 0), (20_001, PART_LEN), (20_002, PART_LEN * 20 + 1)] {
            let bytes = (0..=255).cycle().take(size).collect();
            records.push((key(n), bytes));
        }
        let pieces = encode_record_parts(&records).unwrap();
        assert!(pieces.len() > 23 && pieces.iter().all(|p| p.len() < PART_LEN * 3));
        let mut decoded = Records::default();
        pieces.iter().for_each(|p| decoded.add(p).unwrap());
        assert!(decoded.into_records() == records, "unchanged");

        let at = Position { epoch: 1, seq: 2 };
        let batch: Vec<u8> = (0..=255).cycle().take(PART_LEN * 3 + 1).collect();
        let mut assembly = Assembly::default();
        let old = Position { epoch: 9, seq: 2 };
        let stale = encode_batch_parts(old, &vec![0; PART_LEN * 5]).unwrap();
        let new = encode_batch_parts(at, &batch).unwrap();
        assert_eq!(new.len(), 4);
        // Parts of an unfinished batch of another master follow, as in etcd.
        let all: Vec<_> = new.iter().chain(&stale[4..]).collect();
        let complete: Vec<_> = all
            .iter()
            .filter_map(|p| assembly.add(p).unwrap())
            .collect();
        assert_eq!(complete, [(at, batch)]);
    }

    #[test]
    fn fabrics_have_disjoint_keys() {
        let keys = Keys::new("/ferrosm/", "fe80000000000000 hall/2");
        let KeyRange { from, end } = keys.range();
        assert_eq!(from, "/ferrosm/fe80000000000000_hall%2F2/");
        let inside = |key: &str| key >= from.as_str() && key < end.as_str();
        assert!(inside(&keys.master()) && inside(&keys.log_part(u64::MAX, 3)));
        let longer = Keys::new("/ferrosm", "fe80000000000000 hall/22");
        assert!(!inside(&longer.master()) && !inside(&longer.head()));
    }

    /// Names without characters to escape keep their keys, so that existing records stay in use.
    #[test]
    fn names_that_earlier_versions_confused_have_keys_of_their_own() {
        let names = ["hall_2", "hall 2", "hall/2", "hall%202", "hall%2F2"];
        let keys = names.map(|name| Keys::new("/ferrosm", &format!("fe80000000000000 {name}")));
        let masters: std::collections::BTreeSet<String> = keys.iter().map(Keys::master).collect();
        assert_eq!(masters.len(), names.len(), "{masters:?}");
        let [plain, spaced, ..] = keys;
        assert_eq!(plain.master(), "/ferrosm/fe80000000000000_hall_2/leader");
        assert!(plain.of_earlier_versions().is_none());
        let earlier = spaced.of_earlier_versions();
        assert_eq!(earlier.map(|keys| keys.master()), Some(plain.master()));
    }

    #[test]
    fn values_of_other_versions_are_recognised() {
        let at = Position { epoch: 1, seq: 2 };
        let mut value = encode_value(&at).unwrap();
        assert_eq!(decode_value(&value), Ok(at));
        value[5] += 1;
        value[7] += 2;
        let records = u16::try_from(records::VERSION).unwrap() + 2;
        let other = EtcdError::Version(VERSION + 1, records);
        assert_eq!(decode_value::<Position>(&value), Err(other.clone()));
        assert_eq!(Records::default().add(&value), Err(other.clone()));
        assert_eq!(Assembly::default().add(&value), Err(other));
        // Values without versions.
        assert_eq!(decode_value::<Position>(&value[8..]), Err(MALFORMED_VALUE));
        assert_eq!(decode_value::<Position>(&value[..7]), Err(MALFORMED_VALUE));
    }
}
