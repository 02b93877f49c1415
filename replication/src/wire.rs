//! Messages between nodes, their encoding and its limits. No input from a peer causes a panic.
//!
//! After the TLS handshake both sides send [`PREAMBLE`], a magic word and the version, in a format
//! common to all versions. Frames follow: a length of four bytes, big-endian, and a [`Message`] in
//! postcard's encoding. Records are opaque bytes.

use ferrosm_core::StepDownReason;
use ferrosm_core::records::{RecordBatch, RecordChange, RecordKey, RecordKind};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::log::Position;

/// Version of the protocol. A peer of another version is rejected: during an upgrade of one node
/// after another, replication resumes when two nodes have the same version.
pub(crate) const VERSION: u16 = 1;
/// First bytes of each side.
pub(crate) const PREAMBLE: [u8; 6] = {
    let [high, low] = VERSION.to_be_bytes();
    [b'F', b'S', b'M', b'R', high, low]
};
/// Limit of a frame in bytes. A longer batch is not sent; followers get a snapshot instead.
pub(crate) const FRAME_MAX: usize = 64 << 20;
/// Limit of a frame in bytes before the peer's hello.
pub(crate) const HELLO_MAX: usize = 4096;
/// Approximate size in bytes of the records in one frame of a snapshot. Pongs are sent between
/// frames.
pub(crate) const CHUNK: usize = 128 << 10;
/// Limit of the records of a snapshot in bytes.
pub(crate) const SNAPSHOT_MAX: usize = 1 << 30;
/// Limit of a fabric name in bytes.
pub const FABRIC_NAME_MAX: usize = 128;

/// Why a peer's bytes are rejected.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum WireError {
    /// The peer is not ferrosm.
    #[error("the peer does not use ferrosm's replication protocol")]
    Foreign,
    /// The peer uses another version.
    #[error("the peer uses version {0} of the replication protocol, this node version {VERSION}")]
    Version(u16),
    /// The frame is too long.
    #[error("a message of {len} bytes exceeds the limit of {max}")]
    TooLong {
        /// The announced length.
        len: usize,
        /// The limit.
        max: usize,
    },
    /// The bytes are not a valid message.
    #[error("malformed message")]
    Garbled,
}

/// Role of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum NodeRole {
    Master,
    Standby,
    /// Neither, or not yet.
    Inactive,
}

/// Identity of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hello {
    /// The fabric that it serves: subnet prefix and configured name.
    pub fabric: String,
    /// GUID of its port.
    pub guid: u64,
    /// Its SM priority.
    pub priority: u8,
    pub role: NodeRole,
    /// Position of its records; `None` if unknown.
    pub position: Option<Position>,
}

/// Why a peer is rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Error)]
pub(crate) enum Refusal {
    /// It serves another fabric.
    #[error("peer serves fabric \"{0}\"")]
    Fabric(String),
    /// It has the GUID of this node.
    #[error("peer has the same port GUID")]
    SameGuid,
    /// This node is not master.
    #[error("peer is not master")]
    NotMaster,
    /// The follower has a newer connection.
    #[error("replaced by a newer connection")]
    Replaced,
    /// The records cannot be read.
    #[error("peer cannot read its records")]
    NoRecords,
    /// The limit of followers is reached.
    #[error("peer has reached its limit of followers")]
    Full,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Message<'a> {
    /// First message of both sides.
    Hello(Hello),
    /// Last message to a rejected peer.
    Refused(Refusal),
    /// The follower's records are those at this position of the master's history; batches follow.
    Resume(Position),
    /// A snapshot of all records follows.
    Snapshot {
        at: Position,
        /// Number of records.
        records: u64,
    },
    /// Records of a snapshot.
    #[serde(borrow)]
    Records(Vec<(RawBytes<'a>, RawBytes<'a>)>),
    /// A batch of the history.
    Batch {
        /// Its number.
        seq: u64,
        /// The batch, encoded by [`encode_batch`].
        #[serde(borrow)]
        body: RawBytes<'a>,
    },
    /// Heartbeat of a follower.
    Ping(u64),
    /// Response to a ping.
    Pong {
        /// Number of the ping.
        ping: u64,
        /// Whether the follower is in sync: the master waits for its acknowledgements.
        in_sync: bool,
    },
    /// Of a follower: all batches up to here are durable.
    Ack(Position),
    /// The master steps down.
    Goodbye(StepDownReason),
}

/// Raw bytes; serde would encode a slice byte by byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(crate) struct RawBytes<'a>(#[serde(borrow)] pub &'a [u8]);

impl Serialize for RawBytes<'_> {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_bytes(self.0)
    }
}

#[derive(Serialize, Deserialize)]
enum WireChange<'a> {
    Clear(u8),
    #[serde(borrow)]
    Put((RawBytes<'a>, RawBytes<'a>)),
    #[serde(borrow)]
    Remove(RawBytes<'a>),
}

/// Encodes a message with its length.
///
/// # Errors
/// [`WireError::TooLong`] if it exceeds the limit of a frame.
pub(crate) fn encode(message: &Message<'_>) -> Result<Vec<u8>, WireError> {
    let bytes = postcard::to_extend(message, vec![0; 4]).map_err(|_| WireError::Garbled)?;
    framed(bytes)
}

fn framed(mut bytes: Vec<u8>) -> Result<Vec<u8>, WireError> {
    let len = bytes.len().saturating_sub(4);
    let (true, Ok(head)) = (len <= FRAME_MAX, u32::try_from(len)) else {
        return Err(WireError::TooLong {
            len,
            max: FRAME_MAX,
        });
    };
    if let Some(length) = bytes.first_chunk_mut() {
        *length = head.to_be_bytes();
    }
    Ok(bytes)
}

/// Decodes a message without its length. Trailing bytes are an error.
///
/// # Errors
/// [`WireError::Garbled`].
pub(crate) fn decode(frame: &[u8]) -> Result<Message<'_>, WireError> {
    match postcard::take_from_bytes(frame) {
        Ok((message, [])) => Ok(message),
        Ok(_) | Err(_) => Err(WireError::Garbled),
    }
}

/// Checks the preamble of a peer.
///
/// # Errors
/// The peer is not ferrosm, or has another version.
pub(crate) fn check_preamble(received: [u8; 6]) -> Result<(), WireError> {
    let [m0, m1, m2, m3, high, low] = received;
    if [m0, m1, m2, m3] != *b"FSMR" {
        return Err(WireError::Foreign);
    }
    match u16::from_be_bytes([high, low]) {
        VERSION => Ok(()),
        other => Err(WireError::Version(other)),
    }
}

/// Encodes a batch.
///
/// # Errors
/// [`WireError::Garbled`]; does not occur for valid batches.
pub(crate) fn encode_batch(batch: &RecordBatch) -> Result<Vec<u8>, WireError> {
    let changes: Vec<WireChange<'_>> = batch
        .changes
        .iter()
        .map(|change| match change {
            RecordChange::Clear(kind) => WireChange::Clear(*kind as u8),
            RecordChange::Put(key, value) => {
                WireChange::Put((RawBytes(key.bytes()), RawBytes(value)))
            }
            RecordChange::Remove(key) => WireChange::Remove(RawBytes(key.bytes())),
        })
        .collect();
    postcard::to_allocvec(&changes).map_err(|_| WireError::Garbled)
}

/// Decodes a batch.
///
/// # Errors
/// [`WireError::Garbled`] for bytes that are not a batch, and for invalid kinds and keys.
pub(crate) fn decode_batch(bytes: &[u8]) -> Result<RecordBatch, WireError> {
    let (changes, rest): (Vec<WireChange<'_>>, _) =
        postcard::take_from_bytes(bytes).map_err(|_| WireError::Garbled)?;
    if !rest.is_empty() {
        return Err(WireError::Garbled);
    }
    let key = |bytes: RawBytes<'_>| RecordKey::from_bytes(bytes.0).ok_or(WireError::Garbled);
    let changes = changes
        .into_iter()
        .map(|change| {
            Ok(match change {
                WireChange::Clear(kind) => {
                    RecordChange::Clear(RecordKind::from_number(kind).ok_or(WireError::Garbled)?)
                }
                WireChange::Put((k, value)) => RecordChange::Put(key(k)?, value.0.into()),
                WireChange::Remove(k) => RecordChange::Remove(key(k)?),
            })
        })
        .collect::<Result<_, WireError>>()?;
    Ok(RecordBatch { changes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn batch_strategy() -> impl Strategy<Value = RecordBatch> {
        let key = prop::collection::vec(any::<u8>(), 1..=RecordKey::LEN_MAX)
            .prop_filter_map("a key", |bytes| RecordKey::from_bytes(&bytes));
        let value = prop::collection::vec(any::<u8>(), 0..200);
        let change = prop_oneof![
            (0..RecordKind::ALL.len()).prop_map(|at| RecordChange::Clear(RecordKind::ALL[at])),
            (key.clone(), value).prop_map(|(k, v)| RecordChange::Put(k, v.into())),
            key.prop_map(RecordChange::Remove),
        ];
        prop::collection::vec(change, 0..20).prop_map(|changes| RecordBatch { changes })
    }

    proptest! {
        #[test]
        fn batches_survive_a_round_trip(batch in batch_strategy(), seq: u64) {
            let body = encode_batch(&batch).unwrap();
            let frame = encode(&Message::Batch { seq, body: RawBytes(&body) }).unwrap();
            let Message::Batch { seq: got, body } = decode(&frame[4..]).unwrap() else {
                panic!("unexpected message");
            };
            prop_assert_eq!(got, seq);
            prop_assert_eq!(decode_batch(body.0).unwrap(), batch);
        }

        /// Arbitrary bytes are rejected or are a message; a message decodes to itself after
        /// encoding.
        #[test]
        fn arbitrary_bytes_cause_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            if let Ok(message) = decode(&bytes) {
                let encoded = encode(&message).unwrap();
                prop_assert_eq!(decode(&encoded[4..]).unwrap(), message);
            }
            let _ = decode_batch(&bytes);
        }

        /// A message with a changed byte or a truncated message is rejected or is a message.
        #[test]
        fn corrupted_messages_cause_no_panic(batch in batch_strategy(), cut: prop::sample::Index, at: prop::sample::Index, byte: u8) {
            let body = encode_batch(&batch).unwrap();
            let mut frame = encode(&Message::Batch { seq: 1, body: RawBytes(&body) }).unwrap();
            let at = at.index(frame.len());
            frame[at] = byte;
            frame.truncate(cut.index(frame.len() + 1));
            if let Some(Ok(Message::Batch { body, .. })) = frame.get(4..).map(decode) {
                let _ = decode_batch(body.0);
            }
        }
    }

    /// A claimed length allocates no memory; it is rejected first.
    #[test]
    fn claimed_length_allocates_nothing() {
        // Records with a claimed count of 2^32-1.
        assert_eq!(
            decode(&[4, 0xff, 0xff, 0xff, 0xff, 0x0f]),
            Err(WireError::Garbled)
        );
        // A batch with as many changes.
        assert_eq!(
            decode_batch(&[0xff, 0xff, 0xff, 0xff, 0x0f]),
            Err(WireError::Garbled)
        );
    }

    #[test]
    fn foreign_peers_and_versions_are_distinguished() {
        assert_eq!(check_preamble(PREAMBLE), Ok(()));
        assert_eq!(check_preamble(*b"FSMR\x00\x02"), Err(WireError::Version(2)));
        assert_eq!(check_preamble(*b"GET / "), Err(WireError::Foreign));
    }
}
