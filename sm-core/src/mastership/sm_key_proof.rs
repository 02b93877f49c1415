//! The proof of the SM_Key in Get(SMInfo), by which two ferrosm SMs recognise each other without a
//! configured M_Key.
//!
//! Neither shows its SM_Key to an SM that has not shown it, so one of them must prove first that it
//! knows the key. The data of a Get has no meaning in the specification, and other SMs ignore it.
//! The proof is a keyed hash of both port GUIDs: a host that receives it learns neither the key
//! (unless it can be guessed) nor a proof for another pair of SMs.

use core::hash::Hasher;

use ferrosm_mad::attr::SmInfo;
use ferrosm_mad::ids::{MKey, PortGuid};
use ferrosm_mad::mad::Mad;
use ferrosm_mad::smp::{self, DATA_LEN};

/// Second half of the hash's key: separates this hash from others with the same SM_Key.
const DOMAIN: u64 = u64::from_be_bytes(*b"SMInfoGt");
/// Position of the proof, behind the fields of SMInfo.
const PROOF: core::ops::Range<usize> = 24..32;

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

/// The data of Get(SMInfo): the GUID of this SM's port and the proof. Zero without an SM_Key.
pub(super) fn request_data(
    sm_key: MKey,
    requester: PortGuid,
    responder: PortGuid,
) -> [u8; DATA_LEN] {
    if sm_key == MKey::NONE {
        return [0; DATA_LEN];
    }
    let sender = SmInfo {
        guid: requester,
        ..SmInfo::default()
    };
    let mut data = sender.encode();
    data[PROOF].copy_from_slice(&proof(sm_key, requester, responder));
    data
}

/// Whether Get(SMInfo) to `responder` proves that its sender knows the SM_Key. `port` is the port
/// that it came from, if it is known.
pub(super) fn is_proven(
    sm_key: MKey,
    request: &Mad,
    port: Option<PortGuid>,
    responder: PortGuid,
) -> bool {
    let data = smp::data(request);
    let requester = SmInfo::decode(data).guid;
    let is_own_guid = port.is_none_or(|port| port == requester);
    sm_key != MKey::NONE && is_own_guid && data[PROOF] == proof(sm_key, requester, responder)
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
        let request = SmpRequest {
            data: request_data(key, own, other),
            ..SmpRequest::get(id::SM_INFO, AttrMod(0), MKey::NONE)
        };
        let mad = request.lid_routed(Tid(1));
        assert!(is_proven(key, &mad, None, other));
        assert!(is_proven(key, &mad, Some(own), other));
        assert!(!is_proven(key, &mad, Some(PortGuid(0x33)), other));
        assert!(!is_proven(key, &mad, None, PortGuid(0x33)));
        assert!(!is_proven(MKey::new(8), &mad, None, other));
        assert!(!is_proven(MKey::NONE, &mad, None, other));
        assert_eq!(request_data(MKey::NONE, own, other), [0; DATA_LEN]);
    }
}
