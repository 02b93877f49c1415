//! Pseudonyms of M_Keys, SM_Keys, SA keys and ServiceKeys.
//!
//! A key has the same pseudonym everywhere in one [`KeyMask`], and 0 (no key) stays 0.

use std::collections::BTreeMap;

use ferrosm_mad::ids::MKey;

const CLASS: usize = 1;
const METHOD: usize = 3;
const GET: u8 = 0x01;
const ATTR: core::ops::Range<usize> = 16..18;
const SUBN_LID: u8 = 0x01;
const SUBN_DIRECTED: u8 = 0x81;
const SUBN_ADM: u8 = 0x03;
const NOTICE: u16 = 0x02;
const PORT_INFO_RECORD: u16 = 0x12;
const PORT_INFO: u16 = 0x15;
const SM_INFO_RECORD: u16 = 0x18;
const SM_INFO: u16 = 0x20;
const SERVICE_RECORD: u16 = 0x31;
/// Trap of a wrong M_Key, whose details have the key that was used.
const BAD_M_KEY: [u8; 2] = [1, 0];
/// Position of that key in a notice.
const NOTICE_KEY: usize = 24;
const SMP_KEY: usize = 24;
const SMP_DATA: usize = 64;
const SMP_DATA_LEN: usize = 64;
const SA_KEY: usize = 36;
/// Length of the records of an SA message, in units of 8 bytes.
const SA_ATTR_OFFSET: core::ops::Range<usize> = 44..46;
const SA_DATA: usize = 56;

/// First bytes of pseudonyms; a number follows.
const PSEUDONYM: &[u8; 4] = b"MASK";

/// Pseudonyms of keys. At most one for each key that occurs in what is masked.
#[derive(Debug, Default)]
pub struct KeyMask {
    /// By key: 8 bytes, or 16 of a ServiceKey.
    pseudonyms: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl KeyMask {
    /// The pseudonym of a key.
    #[must_use]
    pub fn of(&mut self, key: MKey) -> MKey {
        let mut bytes = key.expose().to_be_bytes();
        self.replace(&mut bytes);
        MKey::new(u64::from_be_bytes(bytes))
    }

    /// The keys so far, and their pseudonyms, as on the wire.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.pseudonyms
            .iter()
            .map(|(key, name)| (&key[..], &name[..]))
    }

    /// Replaces a key by its pseudonym.
    pub fn replace(&mut self, key: &mut [u8]) {
        if key.iter().all(|byte| *byte == 0) {
            return;
        }
        let number = self.next_number();
        let name = self.pseudonyms.entry(key.to_vec()).or_insert_with(|| {
            let mut name = vec![0; key.len()];
            for (to, from) in name.iter_mut().zip(PSEUDONYM) {
                *to = *from;
            }
            let end = key.len() - 4;
            name[end..].copy_from_slice(&number.to_be_bytes());
            name
        });
        key.copy_from_slice(name);
    }

    /// The number of the next pseudonym.
    #[expect(clippy::expect_used, reason = "keys would share a pseudonym")]
    fn next_number(&self) -> u32 {
        let number = self.pseudonyms.len() + 1;
        u32::try_from(number).expect("at most 2^32 keys: memory is full before")
    }

    fn replace_at(&mut self, bytes: &mut [u8], at: usize, len: usize) {
        if let Some(key) = bytes.get_mut(at..at + len) {
            self.replace(key);
        }
    }

    /// Replaces the keys of a MAD, or of a reassembled message to or from the SA.
    pub fn replace_in_mad(&mut self, mad: &mut [u8]) {
        let Some(attr) = mad.get(ATTR).and_then(|bytes| bytes.first_chunk()) else {
            return;
        };
        let attr = u16::from_be_bytes(*attr);
        match mad[CLASS] {
            SUBN_LID | SUBN_DIRECTED => {
                self.replace_at(mad, SMP_KEY, 8);
                match attr {
                    PORT_INFO => self.replace_at(mad, SMP_DATA, 8),
                    SM_INFO => {
                        self.replace_at(mad, SMP_DATA + 8, 8);
                        // Proofs of the SM_Keys, and hashes that are keyed with the keys. A
                        // response has results there.
                        let proofs = if mad[METHOD] == GET {
                            24..SMP_DATA_LEN
                        } else {
                            24..32
                        };
                        for at in proofs.step_by(8) {
                            self.replace_at(mad, SMP_DATA + at, 8);
                        }
                    }
                    NOTICE => self.replace_in_notice(mad, SMP_DATA),
                    _ => {}
                }
            }
            SUBN_ADM => {
                self.replace_at(mad, SA_KEY, 8);
                let key = match attr {
                    NOTICE => return self.replace_in_notice(mad, SA_DATA),
                    PORT_INFO_RECORD => (4, 8),
                    SM_INFO_RECORD => (12, 8),
                    SERVICE_RECORD => (32, 16),
                    _ => return,
                };
                let words = mad
                    .get(SA_ATTR_OFFSET)
                    .and_then(|bytes| bytes.first_chunk());
                let offset = words.map_or(0, |words| 8 * usize::from(u16::from_be_bytes(*words)));
                // A request has one record, and its offset may be 0.
                let step = if offset == 0 { mad.len() } else { offset };
                for at in (SA_DATA..mad.len()).step_by(step) {
                    self.replace_at(mad, at + key.0, key.1);
                }
            }
            _ => {}
        }
    }

    fn replace_in_notice(&mut self, mad: &mut [u8], notice: usize) {
        let is_generic = mad.get(notice).is_some_and(|first| first & 0x80 != 0);
        if is_generic && mad.get(notice + 4..notice + 6) == Some(&BAD_M_KEY) {
            self.replace_at(mad, notice + NOTICE_KEY, 8);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_mads_get_one_pseudonym_each() {
        const KEY: [u8; 8] = [0xC0, 0xFF, 0xEE, 1, 2, 3, 4, 5];
        let mut keys = KeyMask::default();
        let mut smp = [0; 256];
        smp[CLASS] = SUBN_DIRECTED;
        smp[ATTR].copy_from_slice(&PORT_INFO.to_be_bytes());
        smp[SMP_KEY..][..8].copy_from_slice(&KEY);
        smp[SMP_DATA..][..8].copy_from_slice(&KEY);
        keys.replace_in_mad(&mut smp);
        assert_eq!(smp[SMP_KEY..][..8], *b"MASK\0\0\0\x01");
        assert_eq!(smp[SMP_DATA..][..8], smp[SMP_KEY..][..8]);
        // The notice of another M_Key, as the SA forwards it.
        let mut report = [0; 256];
        report[CLASS] = SUBN_ADM;
        report[ATTR].copy_from_slice(&NOTICE.to_be_bytes());
        report[SA_DATA] = 0x81;
        report[SA_DATA + 4..][..2].copy_from_slice(&BAD_M_KEY);
        report[SA_DATA + NOTICE_KEY..][..8].copy_from_slice(&[9; 8]);
        keys.replace_in_mad(&mut report);
        assert_eq!(report[SA_DATA + NOTICE_KEY..][..8], *b"MASK\0\0\0\x02");
        // Two services in one message.
        let mut table = vec![0; SA_DATA + 2 * 176];
        table[CLASS] = SUBN_ADM;
        table[ATTR].copy_from_slice(&SERVICE_RECORD.to_be_bytes());
        table[SA_ATTR_OFFSET].copy_from_slice(&22u16.to_be_bytes());
        for record in 0..2 {
            table[SA_DATA + 176 * record + 32..][..16].copy_from_slice(&[7; 16]);
        }
        keys.replace_in_mad(&mut table);
        assert!(!table.contains(&7), "{table:?}");
        assert_eq!(keys.iter().count(), 3);
        // A message that is too short for its keys does not change.
        keys.replace_in_mad(&mut table[..20]);
        keys.replace_in_mad(&mut []);
    }
}
