//! Whether two ferrosm SMs have the same configuration, without sending it to each other.
//!
//! Get(SMInfo) carries a hash for each section of the configuration, keyed with the SM_Key and of
//! both port GUIDs; the response has the sections that differ. The data of a Get has no meaning in
//! the specification, and other SMs ignore it. A host without the SM_Key can neither compare nor
//! guess settings.

use core::hash::Hasher;

use ferrosm_mad::ids::{MKey, PortGuid};
use ferrosm_mad::smp::DATA_LEN;

use super::sm_key_proof;
use crate::config::sections::{ConfigDigests, ConfigSection, ConfigSections};

/// Second half of the hashes' key: separates these hashes from others with the same key.
const DOMAIN: u64 = u64::from_be_bytes(*b"SMInfoCf");
/// Position of the hashes in a request, behind the result of the M_Key, and octets of each.
const HASHES: usize = 40;
const HASH_LEN: usize = 2;
/// Position of the result in a response: a mark, then a bit for each section that differs.
const MARK: core::ops::Range<usize> = 40..47;
const DIFFERING: usize = 47;
const COMPARED: [u8; 7] = *b"CfgDiff";

#[expect(
    deprecated,
    reason = "the only SipHash-2-4 of the standard library with a key"
)]
fn hash(sm_key: MKey, digest: u64, requester: PortGuid, responder: PortGuid) -> [u8; HASH_LEN] {
    let mut hasher = core::hash::SipHasher::new_with_keys(sm_key.expose(), DOMAIN);
    hasher.write(&requester.0.to_be_bytes());
    hasher.write(&responder.0.to_be_bytes());
    hasher.write(&digest.to_be_bytes());
    let [a, b, ..] = hasher.finish().to_be_bytes();
    [a, b]
}

/// Number of sections.
const SECTIONS: usize = ConfigSection::ALL.len();
const _: () = assert!(HASHES + SECTIONS * HASH_LEN <= sm_key_proof::EARLIER.start);

/// The part of a request for the hash of one section.
fn place(section: usize) -> core::ops::Range<usize> {
    let first = HASHES + section * HASH_LEN;
    first..first + HASH_LEN
}

/// Adds the hashes to the data of Get(SMInfo), which has the GUID of this SM's port.
pub(super) fn add_to_request(
    data: &mut [u8; DATA_LEN],
    sm_key: MKey,
    digests: &ConfigDigests,
    requester: PortGuid,
    responder: PortGuid,
) {
    if sm_key == MKey::NONE {
        return;
    }
    for (section, digest) in digests.0.into_iter().enumerate() {
        data[place(section)].copy_from_slice(&hash(sm_key, digest, requester, responder));
    }
}

/// The sections in which the configuration of `requester`, which sent Get(SMInfo) with this data,
/// differs from this one; `None` if it has no hashes.
pub(super) fn compare(
    request: &[u8; DATA_LEN],
    sm_key: MKey,
    digests: &ConfigDigests,
    requester: PortGuid,
    responder: PortGuid,
) -> Option<ConfigSections> {
    if sm_key == MKey::NONE
        || request[HASHES..place(SECTIONS).start]
            .iter()
            .all(|octet| *octet == 0)
    {
        return None;
    }
    let mut differing = 0;
    for (section, digest) in digests.0.into_iter().enumerate() {
        let is_same = request[place(section)] == hash(sm_key, digest, requester, responder);
        differing |= u8::from(!is_same) << section;
    }
    Some(ConfigSections(differing))
}

/// Adds the result to the data of the response.
pub(super) fn add_to_response(data: &mut [u8; DATA_LEN], result: Option<ConfigSections>) {
    if let Some(differing) = result {
        data[MARK].copy_from_slice(&COMPARED);
        data[DIFFERING] = differing.0;
    }
}

/// The result in a response; `None` if there is none.
pub(super) fn of_response(data: &[u8; DATA_LEN]) -> Option<ConfigSections> {
    (data[MARK] == COMPARED).then(|| ConfigSections::of_bits(data[DIFFERING]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SmConfig;
    use ferrosm_mad::ids::Lmc;

    const KEY: MKey = MKey::new(7);
    const A: PortGuid = PortGuid(0x11);
    const B: PortGuid = PortGuid(0x22);

    fn request(cfg: &SmConfig) -> [u8; DATA_LEN] {
        let mut data = [0; DATA_LEN];
        add_to_request(&mut data, KEY, &ConfigDigests::of(cfg), A, B);
        data
    }

    /// The sections that differ are named, through request and response. Without the SM_Key, or
    /// for another pair of ports, all differ.
    #[test]
    fn differing_sections_are_named() {
        let own = SmConfig::default();
        let other = SmConfig {
            lmc: Lmc(2),
            hoq_life: 3,
            // May differ between SMs.
            priority: 9,
            ..SmConfig::default()
        };
        let digests = ConfigDigests::of(&own);
        let named = |cfg: &SmConfig, key: MKey, from: PortGuid| {
            let mut response = [0; DATA_LEN];
            let result = compare(&request(cfg), key, &digests, from, B);
            add_to_response(&mut response, result);
            of_response(&response).map(|sections| sections.to_string())
        };
        assert_eq!(named(&own, KEY, A).as_deref(), Some(""));
        assert_eq!(named(&other, KEY, A).as_deref(), Some("lids, links"));
        let all = "subnet, lids, routing, partitions, qos, links, sa";
        assert_eq!(named(&own, MKey::new(8), A).as_deref(), Some(all));
        assert_eq!(named(&own, KEY, B).as_deref(), Some(all));
        assert_eq!(named(&own, MKey::NONE, A), None);
    }

    /// An SM of another make sends no hashes, and shows no result.
    #[test]
    fn other_sms_are_not_compared() {
        let digests = ConfigDigests::of(&SmConfig::default());
        assert_eq!(compare(&[0; DATA_LEN], KEY, &digests, A, B), None);
        assert_eq!(of_response(&[0; DATA_LEN]), None);
        assert_eq!(of_response(&request(&SmConfig::default())), None);
    }
}
