//! The settings that must be equal on all SMs of a subnet, by section of the configuration.
//!
//! Keys are not among them: SMs compare M_Keys and SM_Keys by proofs of their own.

use core::fmt;
use core::hash::Hasher;

use serde::Serialize;

use crate::config::SmConfig;

/// Key of the digests, which separates them from other hashes.
const DOMAIN: (u64, u64) = (0, u64::from_be_bytes(*b"SmConfig"));

/// A section of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConfigSection {
    /// GID prefix, SubnetTimeout, and how M_Keys protect.
    Subnet,
    /// LMC.
    Lids,
    /// Engines, their hints and VLs, and routes to other subnets.
    Routing,
    /// Partitions of the configuration, without those that operators added at run time.
    Partitions,
    /// QoS policy.
    Qos,
    /// Lifetimes, VLs and thresholds of links.
    Links,
    /// Settings of the SA that change records.
    Sa,
}

impl ConfigSection {
    /// All sections, in the order of their digests on the wire.
    pub const ALL: [Self; 7] = [
        Self::Subnet,
        Self::Lids,
        Self::Routing,
        Self::Partitions,
        Self::Qos,
        Self::Links,
        Self::Sa,
    ];

    /// Its name in the configuration file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Subnet => "subnet",
            Self::Lids => "lids",
            Self::Routing => "routing",
            Self::Partitions => "partitions",
            Self::Qos => "qos",
            Self::Links => "links",
            Self::Sa => "sa",
        }
    }

    /// A digest of its settings.
    fn digest(self, cfg: &SmConfig) -> u64 {
        match self {
            Self::Subnet => digest(&(
                cfg.subnet_prefix,
                cfg.subnet_timeout,
                cfg.m_key_lease_period_s,
                cfg.m_key_protect_bits,
            )),
            Self::Lids => digest(&(cfg.lmc, cfg.lmc_esp0)),
            Self::Routing => digest(&(
                &cfg.engines,
                cfg.routing_drain,
                &cfg.hints,
                cfg.routing_vls,
                &cfg.prefix_routes,
            )),
            Self::Partitions => digest(&cfg.partitions),
            Self::Qos => digest(&cfg.qos),
            Self::Links => digest(&(
                cfg.packet_life_time,
                [cfg.hoq_life, cfg.leaf_hoq_life],
                [cfg.vl_stall_count, cfg.leaf_vl_stall_count],
                cfg.max_operational_vls,
                [cfg.local_phy_errors, cfg.overrun_errors],
                cfg.bounce_links,
            )),
            Self::Sa => digest(&cfg.consolidate_solicited_node),
        }
    }
}

#[expect(
    deprecated,
    reason = "the only SipHash-2-4 of the standard library with a key"
)]
fn digest(settings: &impl Serialize) -> u64 {
    let mut hasher = core::hash::SipHasher::new_with_keys(DOMAIN.0, DOMAIN.1);
    hasher.write(&postcard::to_allocvec(settings).unwrap_or_default());
    hasher.finish()
}

/// The digests of all sections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ConfigDigests(pub(crate) [u64; ConfigSection::ALL.len()]);

impl ConfigDigests {
    /// Of a configuration without what operators added at run time.
    pub(crate) fn of(cfg: &SmConfig) -> Self {
        Self(ConfigSection::ALL.map(|section| section.digest(cfg)))
    }
}

/// A set of sections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ConfigSections(pub(crate) u8);

impl ConfigSections {
    /// The sections whose bits are set; the others mean nothing.
    pub(crate) const fn of_bits(bits: u8) -> Self {
        Self(bits & ((1 << ConfigSection::ALL.len()) - 1))
    }

    /// Whether it contains none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Its sections, in the order of the configuration file.
    pub fn iter(self) -> impl Iterator<Item = ConfigSection> {
        let all = ConfigSection::ALL.into_iter().enumerate();
        all.filter(move |(i, _)| self.0 & (1 << i) != 0)
            .map(|(_, section)| section)
    }
}

/// `lids, partitions`.
impl fmt::Display for ConfigSections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, section) in self.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}{}", section.name())?;
        }
        Ok(())
    }
}
