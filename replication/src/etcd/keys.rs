//! What is under which key, and the bytes of it. Pure.
//!
//! ```text
//! <prefix>/<fabric>/leader                         who is master; bound to its lease
//! <prefix>/<fabric>/head                           the last batch
//! <prefix>/<fabric>/base                           what the snapshot is of, and in how many parts
//! <prefix>/<fabric>/snapshot/<epoch>-<seq>/<part>  records
//! <prefix>/<fabric>/log/<seq>/<part>               a batch, in parts that etcd takes
//! ```
//!
//! Each value begins with a magic word and versions; those of another version are never looked into.

use serde::{Deserialize, Serialize};

use super::link::Trouble;
use crate::follower::RawRecord;
use crate::log::Position;
use crate::wire::{Bytes, PREAMBLE, StepDownReason};
use ferrosm_core::records::{self, RecordKey};

/// Bytes of one value, about: etcd takes requests of 1.5 MiB.
pub(super) const PART: usize = 256 << 10;

/// What each value begins with: the magic word and version of replication, and the version of records.
const MARK: [u8; 8] = {
    let [f, s, m, r, a, b] = PREAMBLE;
    let [_, _, c, d] = records::VERSION.to_be_bytes();
    [f, s, m, r, a, b, c, d]
};
const GARBLED: Trouble = Trouble::Garbled("the prefix of this fabric");

/// Who is master.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Holder {
    pub(super) guid: u64,
    pub(super) epoch: u64,
    /// Renewed by sessions; the key is bound to the first.
    pub(super) leases: [i64; 2],
    /// If one of them was not renewed for so long, in seconds, its owner counts as gone; it has stepped down before.
    pub(super) silence_s: u8,
    /// It is about to go.
    pub(super) leaving: Option<StepDownReason>,
    /// It may have acknowledged what etcd has not.
    pub(super) alone: bool,
}

/// The last batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) at: Position,
    /// Who wrote it.
    pub(super) guid: u64,
}

/// What a snapshot is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Base {
    pub(super) at: Position,
    pub(super) parts: u64,
}

/// A part of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Part<'a> {
    pub(super) at: Position,
    /// Parts before this one, and after it.
    pub(super) index: u64,
    pub(super) more: u64,
    #[serde(borrow)]
    pub(super) bytes: Bytes<'a>,
}

/// The names of keys.
#[derive(Debug, Clone)]
pub(super) struct Keys(String);

impl Keys {
    /// Of a fabric; what would end a name is replaced.
    pub(super) fn new(prefix: &str, fabric: &str) -> Self {
        let name = fabric.replace(['/', ' '], "_");
        Self(format!("{}/{name}/", prefix.trim_end_matches('/')))
    }

    /// All keys, and the first that is none of them.
    pub(super) fn all(&self) -> (String, String) {
        (self.0.clone(), end(&self.0))
    }
    pub(super) fn leader(&self) -> String {
        format!("{}leader", self.0)
    }

    pub(super) fn head(&self) -> String {
        format!("{}head", self.0)
    }

    pub(super) fn base(&self) -> String {
        format!("{}base", self.0)
    }

    /// Where snapshots are.
    pub(super) fn snapshots(&self) -> String {
        format!("{}snapshot/", self.0)
    }

    /// Where the parts of one are.
    pub(super) fn snapshot(&self, at: Position) -> String {
        format!("{}{:016x}-{:020}/", self.snapshots(), at.epoch, at.seq)
    }

    pub(super) fn part(&self, of: Position, part: usize) -> String {
        format!("{}{part:08}", self.snapshot(of))
    }

    /// Where batches are.
    pub(super) fn log(&self) -> String {
        format!("{}log/", self.0)
    }

    /// Batches from this one on sort from here.
    pub(super) fn log_from(&self, seq: u64) -> String {
        format!("{}{seq:020}/", self.log())
    }

    pub(super) fn log_part(&self, seq: u64, part: usize) -> String {
        format!("{}{part:08}", self.log_from(seq))
    }
}

/// The first key after all that begin with this, which ends with a slash.
pub(super) fn end(folder: &str) -> String {
    format!("{}0", folder.trim_end_matches('/'))
}

pub(super) fn put<T: Serialize>(value: &T) -> Result<Vec<u8>, Trouble> {
    postcard::to_extend(value, MARK.to_vec()).map_err(|_| GARBLED)
}

/// A value, of the same version.
pub(super) fn get<'a, T: Deserialize<'a>>(value: &'a [u8]) -> Result<T, Trouble> {
    match value.split_first_chunk() {
        Some((&MARK, bytes)) => postcard::from_bytes(bytes).map_err(|_| GARBLED),
        Some((&[b'F', b'S', b'M', b'R', a, b, c, d], _)) => {
            let [replication, records] = [[a, b], [c, d]].map(u16::from_be_bytes);
            Err(Trouble::Version(replication, records))
        }
        Some(_) | None => Err(GARBLED),
    }
}

/// Records in parts that etcd takes. A long one comes in pieces, one after another under its key.
pub(super) fn chunks(records: &[RawRecord]) -> Result<Vec<Vec<u8>>, Trouble> {
    let mut found = Vec::new();
    let mut now: Vec<(Bytes<'_>, Bytes<'_>)> = Vec::new();
    let mut size = 0;
    for (key, value) in records {
        let key = key.bytes();
        let mut rest: &[u8] = value;
        loop {
            let (piece, more) = rest.split_at(rest.len().min(PART));
            size += key.len() + piece.len() + 8;
            now.push((Bytes(key), Bytes(piece)));
            if size > PART {
                found.push(put(&now)?);
                now.clear();
                size = 0;
            }
            rest = more;
            if rest.is_empty() {
                break;
            }
        }
    }
    if !now.is_empty() {
        found.push(put(&now)?);
    }
    Ok(found)
}

/// The other way, part by part.
#[derive(Debug, Default)]
pub(super) struct Records(Vec<(RecordKey, Vec<u8>)>);

impl Records {
    /// The next part.
    pub(super) fn add(&mut self, part: &[u8]) -> Result<(), Trouble> {
        let some: Vec<(Bytes<'_>, Bytes<'_>)> = get(part)?;
        for (key, value) in some {
            let key = RecordKey::from_bytes(key.0).ok_or(GARBLED)?;
            match self.0.last_mut() {
                Some((last, bytes)) if *last == key => bytes.extend_from_slice(value.0),
                Some(_) | None => self.0.push((key, value.0.to_vec())),
            }
        }
        Ok(())
    }

    /// All of them.
    pub(super) fn all(self) -> Vec<RawRecord> {
        let record = |(key, bytes): (RecordKey, Vec<u8>)| (key, bytes.into_boxed_slice());
        self.0.into_iter().map(record).collect()
    }
}

/// Puts batches together from their parts.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    now: Option<(Position, u64, Vec<u8>)>,
}

/// The parts of a batch in this order; what they are of.
pub(super) fn parts(at: Position, body: &[u8]) -> Result<Vec<Vec<u8>>, Trouble> {
    let pieces: Vec<&[u8]> = if body.is_empty() {
        vec![&[]]
    } else {
        body.chunks(PART).collect()
    };
    let count = u64::try_from(pieces.len()).unwrap_or(u64::MAX);
    let part = |(index, bytes)| {
        let bytes = Bytes(bytes);
        put(&Part {
            at,
            index,
            more: count - 1 - index,
            bytes,
        })
    };
    (0..).zip(pieces).map(part).collect()
}

impl Assembly {
    /// The next part; the batch, if it is whole then.
    pub(super) fn add(&mut self, value: &[u8]) -> Result<Option<(Position, Vec<u8>)>, Trouble> {
        let part: Part<'_> = get(value)?;
        let mut bytes = match self.now.take() {
            Some((at, index, bytes)) if at == part.at && index == part.index => bytes,
            // The end of a batch that another began and never finished.
            Some(_) | None if part.index > 0 => return Ok(None),
            Some(_) | None => Vec::new(),
        };
        bytes.extend_from_slice(part.bytes.0);
        if part.more == 0 {
            return Ok(Some((part.at, bytes)));
        }
        self.now = Some((part.at, part.index + 1, bytes));
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::VERSION;
    use ferrosm_core::records::RecordKind;

    #[test]
    fn records_and_batches_come_back_from_their_parts() {
        let key = |n: u32| RecordKey::new(RecordKind::Lid, &[&n.to_be_bytes()]);
        let mut all: Vec<RawRecord> = (0..20_000).map(|n| (key(n), vec![7; 40].into())).collect();
        // Of nothing, of just what fits, and far too long for one request.
        for (n, size) in [(20_000, 0), (20_001, PART), (20_002, PART * 20 + 1)] {
            let bytes = (0..=255).cycle().take(size).collect();
            all.push((key(n), bytes));
        }
        let pieces = chunks(&all).unwrap();
        assert!(pieces.len() > 23 && pieces.iter().all(|p| p.len() < PART * 3));
        let mut back = Records::default();
        pieces.iter().for_each(|p| back.add(p).unwrap());
        assert!(back.all() == all, "as they were");

        let at = Position { epoch: 1, seq: 2 };
        let batch: Vec<u8> = (0..=255).cycle().take(PART * 3 + 1).collect();
        let mut assembly = Assembly::default();
        let old = Position { epoch: 9, seq: 2 };
        let stale = parts(old, &vec![0; PART * 5]).unwrap();
        let new = parts(at, &batch).unwrap();
        assert_eq!(new.len(), 4);
        // What another had begun lies behind it, as it does in etcd.
        let all: Vec<_> = new.iter().chain(&stale[4..]).collect();
        let whole: Vec<_> = all
            .iter()
            .filter_map(|p| assembly.add(p).unwrap())
            .collect();
        assert_eq!(whole, [(at, batch)]);
    }

    #[test]
    fn keys_of_one_fabric_are_not_those_of_another() {
        let keys = Keys::new("/ferrosm/", "fe80000000000000 hall/2");
        let (from, to) = keys.all();
        assert_eq!(from, "/ferrosm/fe80000000000000_hall_2/");
        let inside = |key: &str| key >= from.as_str() && key < to.as_str();
        assert!(inside(&keys.leader()) && inside(&keys.log_part(u64::MAX, 3)));
        let longer = Keys::new("/ferrosm", "fe80000000000000 hall/22");
        assert!(!inside(&longer.leader()) && !inside(&longer.head()));
    }

    #[test]
    fn a_value_of_another_version_is_known_as_such_and_not_looked_into() {
        let at = Position { epoch: 1, seq: 2 };
        let mut value = put(&at).unwrap();
        assert_eq!(get(&value), Ok(at));
        value[5] += 1;
        value[7] += 2;
        let records = u16::try_from(records::VERSION).unwrap() + 2;
        let other = Trouble::Version(VERSION + 1, records);
        assert_eq!(get::<Position>(&value), Err(other.clone()));
        assert_eq!(Records::default().add(&value), Err(other.clone()));
        assert_eq!(Assembly::default().add(&value), Err(other));
        // As a version wrote it that did not say which it is.
        assert_eq!(get::<Position>(&value[8..]), Err(GARBLED));
        assert_eq!(get::<Position>(&value[..7]), Err(GARBLED));
    }
}
