//! What another SM configured and this one changes only with consent (ADR 0032, ADR 0039).

use core::cmp::Reverse;
use core::fmt;
use std::collections::BTreeMap;

use ferrosm_mad::ids::{Lmc, PKey};
use serde::{Deserialize, Serialize};

/// Most P_Keys that are named in messages; further ones are only counted.
const NAMED_MAX: usize = 16;

/// A kind of change that needs consent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum RemovalKind {
    /// P_Keys are removed.
    PKeyRemoval,
    /// Ports get another LMC.
    LmcChange,
    /// M_Keys are removed.
    MKeyRemoval,
    /// SLtoVLMappingTables and VLArbitrationTables of a QoS configuration are replaced.
    QosRemoval,
}

impl RemovalKind {
    /// Its name in `--accept`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PKeyRemoval => "p-key-removal",
            Self::LmcChange => "lmc-change",
            Self::MKeyRemoval => "m-key-removal",
            Self::QosRemoval => "qos-removal",
        }
    }
}

/// Settings of one kind that wait for consent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForeignSettings {
    /// P_Keys in the tables of ports.
    PKeys(ForeignPKeys),
    /// LMCs of ports, each with the number of ports that have it.
    Lmcs(BTreeMap<Lmc, usize>),
    /// M_Keys of this number of ports. Messages have no fingerprint of a key (ADR 0033).
    MKeys(usize),
    /// SLtoVLMappingTables and VLArbitrationTables of this number of ports.
    VlTables(usize),
}

impl ForeignSettings {
    /// The kind of consent that they wait for.
    #[must_use]
    pub const fn kind(&self) -> RemovalKind {
        match self {
            Self::PKeys(_) => RemovalKind::PKeyRemoval,
            Self::Lmcs(_) => RemovalKind::LmcChange,
            Self::MKeys(_) => RemovalKind::MKeyRemoval,
            Self::VlTables(_) => RemovalKind::QosRemoval,
        }
    }
}

/// `removal of P_Keys: 0x8051 of 2 ports`, `change of LMC: 2 of 13 ports`.
impl fmt::Display for ForeignSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PKeys(keys) => write!(f, "removal of P_Keys: {keys}"),
            Self::Lmcs(counts) => {
                f.write_str("change of LMC: ")?;
                let ports_by_lmc = counts.iter().map(|(lmc, ports)| (lmc.0, *ports));
                write_counts(f, ports_by_lmc, |f, lmc| write!(f, "{lmc}"))
            }
            Self::MKeys(ports) => {
                write!(f, "removal of M_Keys: {ports} {}", noun_of(*ports))
            }
            Self::VlTables(ports) => {
                write!(f, "removal of QoS tables: {ports} {}", noun_of(*ports))
            }
        }
    }
}

/// All kinds that wait, with the options that accept them: `removal of P_Keys: 0x8051 of 2 ports
/// (--accept p-key-removal); change of LMC: 2 of 13 ports (--accept lmc-change)`.
#[must_use]
pub fn describe(foreign: &[ForeignSettings]) -> String {
    let with_option =
        |settings: &ForeignSettings| format!("{settings} (--accept {})", settings.kind().name());
    let texts: Vec<String> = foreign.iter().map(with_option).collect();
    texts.join("; ")
}

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
        let keys = self.keys.iter().copied();
        write_counts(f, keys, |f, key| write!(f, "{:#06x}", key.0))?;
        match self.count.saturating_sub(self.keys.len()) {
            0 => Ok(()),
            more => write!(f, ", and {more} more"),
        }
    }
}

/// `A of 127 ports, B of 1 port`.
fn write_counts<T>(
    f: &mut fmt::Formatter<'_>,
    counts: impl Iterator<Item = (T, usize)>,
    write_value: impl Fn(&mut fmt::Formatter<'_>, T) -> fmt::Result,
) -> fmt::Result {
    for (i, (value, ports)) in counts.enumerate() {
        if i > 0 {
            f.write_str(", ")?;
        }
        write_value(f, value)?;
        write!(f, " of {ports} {}", noun_of(ports))?;
    }
    Ok(())
}

const fn noun_of(ports: usize) -> &'static str {
    if ports == 1 { "port" } else { "ports" }
}
