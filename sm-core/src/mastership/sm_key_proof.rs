//! The proof of the SM_Key in Get(SMInfo), by which two ferrosm SMs recognise each other without a
//! configured M_Key.
//!
//! Neither shows its SM_Key to an SM that has not shown it, so one of them must prove first that it
//! knows the key. The data of a Get has no meaning in the specification, and other SMs ignore it.
//! The proof is a keyed hash of both port GUIDs: a host that receives it learns neither the key
//! (unless it can be guessed) nor a proof for another pair of SMs.

use core::hash::Hasher;
use core::ops::Range;

use ferrosm_mad::attr::SmInfo;
use ferrosm_mad::ids::{MKey, PortGuid};
use ferrosm_mad::mad::Mad;
use ferrosm_mad::smp::{self, DATA_LEN};

/// Second half of the hash's key: separates this hash from others with the same SM_Key.
const DOMAIN: u64 = u64::from_be_bytes(*b"SMInfoGt");
/// Position of the proof, behind the fields of SMInfo.
const PROOF: Range<usize> = 24..32;
/// Position of the proof of the earlier SM_Key, while one is accepted.
pub(super) const EARLIER: Range<usize> = 56..64;

#[expect(
    deprecated,
    reason = "the only SipHash-2-4 of the standard library with a key"
)]
fn proof(sm_key: MKey, requester: PortGuid, responder: PortGuid) -> [u8; 8] {
    let mut hasher = core::hash::SipHasher::new_with_keys(sm_key.expose(), DOMAIN);
    hasher.write(&requester.0.to_be_bytes());
    hasher.write(&responder.0.to_be_bytes());
    hasher.finish().to_be_bytes()
}

/// The data of Get(SMInfo): the GUID of this SM's port and the proof of each key. Zero without an
/// SM_Key.
pub(super) fn request_data(
    keys: [MKey; 2],
    requester: PortGuid,
    responder: PortGuid,
) -> [u8; DATA_LEN] {
    if keys[0] == MKey::NONE {
        return [0; DATA_LEN];
    }
    let sender = SmInfo {
        guid: requester,
        ..SmInfo::default()
    };
    let mut data = sender.encode();
    for (key, place) in keys.into_iter().zip([PROOF, EARLIER]) {
        if key != MKey::NONE {
            data[place].copy_from_slice(&proof(key, requester, responder));
        }
    }
    data
}

/// The first of these keys that Get(SMInfo) to `responder` proves to be known to its sender. `port`
/// is the port that it came from, if it is known.
pub(super) fn proven_key(
    keys: [MKey; 2],
    request: &Mad,
    port: Option<PortGuid>,
    responder: PortGuid,
) -> Option<MKey> {
    let data = smp::data(request);
    let requester = SmInfo::decode(data).guid;
    if port.is_some_and(|port| port != requester) {
        return None;
    }
    keys.into_iter().find(|key| {
        let proof = proof(*key, requester, responder);
        *key != MKey::NONE && (data[PROOF] == proof || data[EARLIER] == proof)
    })
}

#[cfg(test)]
mod tests {
    use ferrosm_mad::attr::id;
    use ferrosm_mad::ids::{AttrMod, Tid};
    use ferrosm_mad::smp::SmpRequest;

    use super::*;

    /// SMs of different builds must agree: the value was computed by the reference implementation
    /// of SipHash-2-4.
    #[test]
    fn proof_is_the_same_in_every_build() {
        let proof = proof(MKey::new(0xFEED_FACE), PortGuid(0x11), PortGuid(0x22));
        assert_eq!(u64::from_be_bytes(proof), 4_139_187_433_332_206_577);
    }

    #[test]
    fn proof_is_valid_for_one_pair_of_ports_and_one_key() {
        let (key, own, other) = (MKey::new(7), PortGuid(0x11), PortGuid(0x22));
        let one = [key, MKey::NONE];
        let request = |keys| {
            let request = SmpRequest {
                data: request_data(keys, own, other),
                ..SmpRequest::get(id::SM_INFO, AttrMod(0), MKey::NONE)
            };
            request.lid_routed(Tid(1))
        };
        let mad = request(one);
        assert_eq!(proven_key(one, &mad, None, other), Some(key));
        assert_eq!(proven_key(one, &mad, Some(own), other), Some(key));
        assert_eq!(proven_key(one, &mad, Some(PortGuid(0x33)), other), None);
        assert_eq!(proven_key(one, &mad, None, PortGuid(0x33)), None);
        let others = [MKey::new(8), MKey::NONE];
        assert_eq!(proven_key(others, &mad, None, other), None);
        assert_eq!(proven_key([MKey::NONE; 2], &mad, None, other), None);
        assert_eq!(request_data([MKey::NONE; 2], own, other), [0; DATA_LEN]);
    }

    /// SMs of which one or both have a new key agree on one that both know, the new one if both do.
    #[test]
    fn sms_agree_on_a_key_while_it_changes() {
        let (new, old) = (MKey::new(8), MKey::new(7));
        let (own, other) = (PortGuid(0x11), PortGuid(0x22));
        for (requester, responder, agreed) in [
            ([new, old], [old, MKey::NONE], Some(old)),
            ([old, MKey::NONE], [new, old], Some(old)),
            ([new, old], [new, old], Some(new)),
            ([new, MKey::NONE], [new, old], Some(new)),
            ([new, MKey::NONE], [old, MKey::NONE], None),
        ] {
            let request = SmpRequest {
                data: request_data(requester, own, other),
                ..SmpRequest::get(id::SM_INFO, AttrMod(0), MKey::NONE)
            };
            let mad = request.lid_routed(Tid(1));
            assert_eq!(proven_key(responder, &mad, None, other), agreed);
        }
    }
}
