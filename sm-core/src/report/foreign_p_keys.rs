//! P_Keys of another SM that wait for consent to be removed.

use core::cmp::Reverse;
use core::fmt;
use std::collections::BTreeMap;

use ferrosm_mad::ids::PKey;

/// Most P_Keys that are named in messages; further ones are only counted.
const NAMED_MAX: usize = 16;

/// P_Keys in the tables of ports, which this SM would remove.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignPKeys {
    /// Number of ports that have such P_Keys.
    pub ports: usize,
    /// Number of different P_Keys.
    pub count: usize,
    /// The P_Keys with the most ports, and their number.
    pub keys: Vec<(PKey, usize)>,
}

impl ForeignPKeys {
    /// P_Keys of this number of ports, each with the number of ports that have it.
    pub(crate) fn new(ports: usize, counts: BTreeMap<PKey, usize>) -> Self {
        let mut keys: Vec<(PKey, usize)> = counts.into_iter().collect();
        let count = keys.len();
        keys.sort_by_key(|(key, ports)| (Reverse(*ports), key.0));
        keys.truncate(NAMED_MAX);
        Self { ports, count, keys }
    }
}

/// `0x7fff of 127 ports, 0x8051 of 2 ports`.
impl fmt::Display for ForeignPKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (key, ports)) in self.keys.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            let noun = if *ports == 1 { "port" } else { "ports" };
            write!(f, "{comma}{:#06x} of {ports} {noun}", key.0)?;
        }
        match self.count.saturating_sub(self.keys.len()) {
            0 => Ok(()),
            more => write!(f, ", and {more} more"),
        }
    }
}
