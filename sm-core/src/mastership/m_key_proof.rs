//! Whether two ferrosm SMs have the same M_Key, without telling it to each other.
//!
//! Get(SMInfo) of an SM with an M_Key carries a keyed hash of both port GUIDs, by which the
//! responder compares the keys; the response has the result. The data of a Get has no meaning in
//! the specification, and other SMs ignore it. The receiver learns no more than from the SMP
//! itself, whose header has an M_Key in clear text.
//!
//! An SM with another M_Key could not configure the subnet, so no master hands over to it.

use core::hash::Hasher;

use ferrosm_mad::attr::SmInfo;
use ferrosm_mad::ids::{MKey, PortGuid};
use ferrosm_mad::smp::DATA_LEN;

use crate::election::SmMKey;

/// Second half of the hash's key: separates this hash from others with the same key.
const DOMAIN: u64 = u64::from_be_bytes(*b"SMInfoMK");
/// Position of the hash in a request, and of the result in a response: behind the proof of the
/// SM_Key.
const RESULT: core::ops::Range<usize> = 32..40;
/// Results. A request has neither, unless its hash has this value by chance.
const SAME: [u8; 8] = *b"MKeySame";
const OTHER: [u8; 8] = *b"MKeyDiff";

#[expect(
    deprecated,
    reason = "the only SipHash-2-4 of the standard library with a key"
)]
fn hash(m_key: MKey, requester: PortGuid, responder: PortGuid) -> [u8; 8] {
    let mut hasher = core::hash::SipHasher::new_with_keys(m_key.expose(), DOMAIN);
    hasher.write(&requester.0.to_be_bytes());
    hasher.write(&responder.0.to_be_bytes());
    hasher.finish().to_be_bytes()
}

/// Adds the GUID of this SM's port and the hash to the data of Get(SMInfo), if this SM has an
/// M_Key.
pub(super) fn add_to_request(
    data: &mut [u8; DATA_LEN],
    m_key: MKey,
    requester: PortGuid,
    responder: PortGuid,
) {
    if m_key != MKey::NONE {
        SmInfo::guid.write(data, requester);
        data[RESULT].copy_from_slice(&hash(m_key, requester, responder));
    }
}

/// Compares the M_Key of `requester`, which sent Get(SMInfo) with this data, with this SM's;
/// unknown if it has no hash.
pub(super) fn compare(
    request: &[u8; DATA_LEN],
    m_key: MKey,
    requester: PortGuid,
    responder: PortGuid,
) -> SmMKey {
    if request[RESULT] == [0; 8] {
        SmMKey::Unknown
    } else if m_key != MKey::NONE && request[RESULT] == hash(m_key, requester, responder) {
        SmMKey::Same
    } else {
        SmMKey::Other
    }
}

/// Adds the result to the data of the response.
pub(super) fn add_to_response(data: &mut [u8; DATA_LEN], result: SmMKey) {
    match result {
        SmMKey::Same => data[RESULT].copy_from_slice(&SAME),
        SmMKey::Other => data[RESULT].copy_from_slice(&OTHER),
        SmMKey::Unknown => {}
    }
}

/// The result in a response.
pub(super) fn of_response(data: &[u8; DATA_LEN]) -> SmMKey {
    if data[RESULT] == SAME {
        SmMKey::Same
    } else if data[RESULT] == OTHER {
        SmMKey::Other
    } else {
        SmMKey::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: MKey = MKey::new(7);
    const A: PortGuid = PortGuid(0x11);
    const B: PortGuid = PortGuid(0x22);

    fn asked(m_key: MKey) -> [u8; DATA_LEN] {
        let mut data = [0; DATA_LEN];
        add_to_request(&mut data, m_key, A, B);
        data
    }

    /// SMs of different builds must agree: the value was computed by another implementation of
    /// SipHash-2-4.
    #[test]
    fn hash_is_the_same_in_every_build() {
        let hash = hash(MKey::new(0xFEED_FACE), A, B);
        assert_eq!(u64::from_be_bytes(hash), 13_455_643_096_382_435_428);
    }

    #[test]
    fn keys_are_compared_for_one_pair_of_ports() {
        assert_eq!(compare(&asked(KEY), KEY, A, B), SmMKey::Same);
        assert_eq!(compare(&asked(KEY), MKey::new(8), A, B), SmMKey::Other);
        assert_eq!(compare(&asked(KEY), MKey::NONE, A, B), SmMKey::Other);
        assert_eq!(compare(&asked(KEY), KEY, B, A), SmMKey::Other);
        assert_eq!(compare(&asked(MKey::NONE), KEY, A, B), SmMKey::Unknown);
    }

    /// An SM that echoes the request, or is no ferrosm, has shown nothing.
    #[test]
    fn result_is_recognised_in_responses_only() {
        for result in [SmMKey::Same, SmMKey::Other, SmMKey::Unknown] {
            let mut data = [0; DATA_LEN];
            add_to_response(&mut data, result);
            assert_eq!(of_response(&data), result);
        }
        assert_eq!(of_response(&asked(KEY)), SmMKey::Unknown);
    }
}
