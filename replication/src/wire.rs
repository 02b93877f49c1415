//! What nodes say to each other: messages, their bytes, and the limits of both. Pure; what a peer sends never ends the program.
//!
//! After the handshake of TLS both sides send [`PREAMBLE`]: a magic word and the version, which stay for all versions. Then
//! frames: four bytes of length, big-endian, and a [`Message`] in postcard's form. Records are bytes here too.

use ferrosm_core::records::{RecordBatch, RecordChange, RecordKey, RecordKind};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::log::Position;

/// Version of what is said. A peer of another version is refused: who upgrades does it one node after the other, and has a standby
/// again when two are alike.
pub(crate) const VERSION: u16 = 1;
/// What each side begins with.
pub(crate) const PREAMBLE: [u8; 6] = {
    let [high, low] = VERSION.to_be_bytes();
    [b'F', b'S', b'M', b'R', high, low]
};
/// Bytes of a frame at most; longer batches are not sent: followers get everything instead.
pub(crate) const FRAME_MAX: usize = 64 << 20;
/// Bytes of a frame at most before the peer has said who it is.
pub(crate) const HELLO_MAX: usize = 4096;
/// Bytes of records in one frame of a snapshot, about: so that answers to pings do not wait behind more.
pub(crate) const CHUNK: usize = 128 << 10;
/// Bytes of records in a snapshot at most.
pub(crate) const SNAPSHOT_MAX: usize = 1 << 30;
/// Bytes of the name of a fabric at most.
pub const FABRIC_NAME_MAX: usize = 128;

/// What was understood of a peer's bytes: nothing.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum WireError {
    /// It is no ferrosm.
    #[error("the peer does not speak ferrosm's replication")]
    Foreign,
    /// It is one, of another version.
    #[error("the peer speaks version {0} of the replication, this is version {VERSION}")]
    Version(u16),
    /// A frame that may not be.
    #[error("a message of {len} bytes, where {max} are allowed")]
    TooLong {
        /// What it says it has.
        len: usize,
        /// What is allowed.
        max: usize,
    },
    /// Bytes that are no message.
    #[error("a message that makes no sense")]
    Garbled,
}

/// What a node is to the fabric, as it tells others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum NodeRole {
    /// In charge.
    Master,
    /// Ready to be.
    Standby,
    /// Neither, or not yet.
    Inactive,
}

/// Who a node is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hello {
    /// Which fabric it serves: subnet prefix and configured name.
    pub fabric: String,
    /// GUID of the port that it serves by.
    pub guid: u64,
    /// Its SM priority.
    pub priority: u8,
    /// What it is now.
    pub standing: NodeRole,
    /// What its records are; `None` for a store of unknown past.
    pub position: Option<Position>,
}

/// Why somebody is not served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Error)]
pub(crate) enum Refusal {
    /// It serves another fabric.
    #[error("it serves the fabric \"{0}\"")]
    Fabric(String),
    /// It has the GUID of who it talks to.
    #[error("it has the same port GUID")]
    SameGuid,
    /// It asks one that is not master.
    #[error("it is not master")]
    NotMaster,
    /// It is served on another connection.
    #[error("a newer connection took the place of this one")]
    Replaced,
    /// The records cannot be read.
    #[error("its records cannot be read now")]
    NoRecords,
    /// There are too many followers.
    #[error("it has as many followers as it can")]
    Full,
}

/// Why a master leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StepDownReason {
    /// Another is to be master.
    HandingOver,
    /// The program ends, or does not serve any longer.
    Stopping,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Message<'a> {
    /// First message of the side that connected, and the answer.
    Hello(Hello),
    /// Last message to a peer that is not served.
    Refused(Refusal),
    /// Your records are those at this place of my history; what follows comes as batches.
    Resume(Position),
    /// All my records come now; they are those at this place.
    Snapshot {
        /// The place.
        at: Position,
        /// How many.
        records: u64,
    },
    /// Some of them.
    #[serde(borrow)]
    Records(Vec<(Bytes<'a>, Bytes<'a>)>),
    /// One batch of the history, as [`encode_batch`] made it.
    Batch {
        /// Its number.
        seq: u64,
        /// It.
        #[serde(borrow)]
        body: Bytes<'a>,
    },
    /// Of a follower: are you there?
    Ping(u64),
    /// The answer.
    Pong {
        /// Number of the ping.
        ping: u64,
        /// Whether the master waits for what this follower has.
        in_sync: bool,
    },
    /// Of a follower: all up to here is durable.
    Ack(Position),
    /// The master leaves, and means it.
    Goodbye(StepDownReason),
}

/// Bytes as such (serde's own way with slices goes byte by byte).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(crate) struct Bytes<'a>(#[serde(borrow)] pub &'a [u8]);

impl Serialize for Bytes<'_> {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_bytes(self.0)
    }
}

#[derive(Serialize, Deserialize)]
enum WireChange<'a> {
    Clear(u8),
    #[serde(borrow)]
    Put((Bytes<'a>, Bytes<'a>)),
    #[serde(borrow)]
    Remove(Bytes<'a>),
}

/// A message as it is sent, with its length.
///
/// # Errors
/// [`WireError::TooLong`] for one that no peer would take.
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
    if let Some(place) = bytes.first_chunk_mut() {
        *place = head.to_be_bytes();
    }
    Ok(bytes)
}

/// A message as it came, without its length. Bytes behind it are an error.
///
/// # Errors
/// [`WireError::Garbled`].
pub(crate) fn decode(frame: &[u8]) -> Result<Message<'_>, WireError> {
    match postcard::take_from_bytes(frame) {
        Ok((message, [])) => Ok(message),
        Ok(_) | Err(_) => Err(WireError::Garbled),
    }
}

/// Whether what a peer began with is what this version begins with.
///
/// # Errors
/// Who it is instead.
pub(crate) fn check_preamble(got: [u8; 6]) -> Result<(), WireError> {
    let [m0, m1, m2, m3, high, low] = got;
    if [m0, m1, m2, m3] != *b"FSMR" {
        return Err(WireError::Foreign);
    }
    match u16::from_be_bytes([high, low]) {
        VERSION => Ok(()),
        other => Err(WireError::Version(other)),
    }
}

/// A batch as bytes, which are kept and sent.
///
/// # Errors
/// [`WireError::Garbled`] if it cannot be said, which no batch is.
pub(crate) fn encode_batch(batch: &RecordBatch) -> Result<Vec<u8>, WireError> {
    let changes: Vec<WireChange<'_>> = batch
        .changes
        .iter()
        .map(|change| match change {
            RecordChange::Clear(kind) => WireChange::Clear(*kind as u8),
            RecordChange::Put(key, value) => WireChange::Put((Bytes(key.bytes()), Bytes(value))),
            RecordChange::Remove(key) => WireChange::Remove(Bytes(key.bytes())),
        })
        .collect();
    postcard::to_allocvec(&changes).map_err(|_| WireError::Garbled)
}

/// The other way.
///
/// # Errors
/// [`WireError::Garbled`] for bytes that are no batch, and for kinds and keys that cannot be.
pub(crate) fn decode_batch(bytes: &[u8]) -> Result<RecordBatch, WireError> {
    let (changes, rest): (Vec<WireChange<'_>>, _) =
        postcard::take_from_bytes(bytes).map_err(|_| WireError::Garbled)?;
    if !rest.is_empty() {
        return Err(WireError::Garbled);
    }
    let key = |bytes: Bytes<'_>| RecordKey::from_bytes(bytes.0).ok_or(WireError::Garbled);
    let changes = changes.into_iter().map(|change| {
        Ok(match change {
            WireChange::Clear(kind) => {
                RecordChange::Clear(RecordKind::from_number(kind).ok_or(WireError::Garbled)?)
            }
            WireChange::Put((k, value)) => RecordChange::Put(key(k)?, value.0.into()),
            WireChange::Remove(k) => RecordChange::Remove(key(k)?),
        })
    });
    let changes = changes.collect::<Result<_, WireError>>()?;
    Ok(RecordBatch { changes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn a_batch() -> impl Strategy<Value = RecordBatch> {
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
        fn batches_arrive_as_they_were(batch in a_batch(), seq: u64) {
            let body = encode_batch(&batch).unwrap();
            let frame = encode(&Message::Batch { seq, body: Bytes(&body) }).unwrap();
            let Message::Batch { seq: got, body } = decode(&frame[4..]).unwrap() else {
                panic!("another message");
            };
            prop_assert_eq!(got, seq);
            prop_assert_eq!(decode_batch(body.0).unwrap(), batch);
        }

        /// Any bytes are a message or an error; what is a message is the same one when it is sent again.
        #[test]
        fn no_bytes_do_harm(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            if let Ok(message) = decode(&bytes) {
                let again = encode(&message).unwrap();
                prop_assert_eq!(decode(&again[4..]).unwrap(), message);
            }
            let _ = decode_batch(&bytes);
        }

        /// A message with some bytes changed or cut off is a message or an error.
        #[test]
        fn no_torn_message_does_harm(batch in a_batch(), cut: prop::sample::Index, at: prop::sample::Index, byte: u8) {
            let body = encode_batch(&batch).unwrap();
            let mut frame = encode(&Message::Batch { seq: 1, body: Bytes(&body) }).unwrap();
            let at = at.index(frame.len());
            frame[at] = byte;
            frame.truncate(cut.index(frame.len() + 1));
            if let Some(Ok(Message::Batch { body, .. })) = frame.get(4..).map(decode) {
                let _ = decode_batch(body.0);
            }
        }
    }

    /// A length that a frame claims and does not have costs no memory: it is an error before anything is put aside for it.
    #[test]
    fn a_claimed_length_is_not_believed() {
        // Records, and 2^32-1 of them.
        assert_eq!(
            decode(&[4, 0xff, 0xff, 0xff, 0xff, 0x0f]),
            Err(WireError::Garbled)
        );
        // A batch of as many changes.
        assert_eq!(
            decode_batch(&[0xff, 0xff, 0xff, 0xff, 0x0f]),
            Err(WireError::Garbled)
        );
    }

    #[test]
    fn who_speaks_something_else_is_told_apart() {
        assert_eq!(check_preamble(PREAMBLE), Ok(()));
        assert_eq!(check_preamble(*b"FSMR\x00\x02"), Err(WireError::Version(2)));
        assert_eq!(check_preamble(*b"GET / "), Err(WireError::Foreign));
    }
}
