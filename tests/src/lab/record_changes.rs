//! Numbered changes of the SM's records, for tests that kill a process while it writes them.
//!
//! `state-writer` writes changes 1, 2, 3 and so on. The test that kills it computes the same
//! changes, and compares them with the stored records.

use ferrosm_core::records::{Record, RecordKind, RecordUpdate};
use ferrosm_mad::ids::{Lid, Lmc, MKey, PortGuid};
use ferrosm_sa::registry::registration::{RegisteredAlias, Registration};
use ferrosm_store::StateDir;

use crate::lab::TestRng;

const PORTS: u64 = 300;

/// The changes of number `n`. The last of them stores `n` itself, for [`last_change`].
#[must_use]
pub fn changes(n: u64) -> Vec<RecordUpdate> {
    let mut rng = TestRng::new(n);
    let mut updates: Vec<RecordUpdate> = (0..rng.below(6))
        .map(|_| {
            let port = PortGuid(1 + rng.below(PORTS));
            if rng.one_in(3) {
                let index = 1 + u16::try_from(rng.below(3)).unwrap_or(0);
                let alias = PortGuid(n);
                let alias = RegisteredAlias { port, index, alias };
                return RecordUpdate::Put(Record::Registration(Registration::Alias(alias)));
            }
            if rng.one_in(4) {
                return RecordUpdate::Remove(Record::lid_key(port));
            }
            let lid = Lid(1 + u16::try_from(rng.below(0xBFFF)).unwrap_or(0));
            let lmc = Lmc(0);
            RecordUpdate::Put(Record::Lid { port, lid, lmc })
        })
        .collect();
    if rng.one_in(500) {
        updates.push(RecordUpdate::Clear(RecordKind::Lid));
    }
    if rng.one_in(500) {
        updates.push(RecordUpdate::Clear(RecordKind::Alias));
    }
    let port = PortGuid(0);
    let m_key = MKey::new(n);
    updates.push(RecordUpdate::Put(Record::MKey { port, m_key }));
    updates
}

/// The number of the last change in the store; 0 if the store is empty.
///
/// # Panics
/// If a record cannot be decoded.
#[must_use]
pub fn last_change(dir: &StateDir) -> u64 {
    let last = dir.records().iter().find_map(|(key, value)| {
        match Record::decode(key, value, 0).unwrap_or_else(|error| panic!("{error}")) {
            Some(Record::MKey { m_key, .. }) => Some(m_key.expose()),
            _ => None,
        }
    });
    last.unwrap_or(0)
}
