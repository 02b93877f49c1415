//! Port groups, levels and rules: parsing of their settings.

use std::sync::Arc;

use ferrosm_core::config::partitions::{DEFAULT_PARTITION, Partition};
use ferrosm_mad::ids::Sl;
use ferrosm_sa::qos::{QosLevel, QosPortGroup, QosRule, RangeSet};

use super::values;
use crate::error::InputError;
use crate::input::partitions::values as partition_values;
use crate::input::span::Span;

/// A QoSClass has 12 bits.
const QOS_CLASS_MAX: u64 = 0xFFF;
/// A port has at most 128 LIDs.
const PATH_BITS_MAX: u64 = 127;
/// PacketLifeTime has 6 bits.
const LIFE_MAX: u64 = 63;

/// The item being parsed.
pub(super) enum Item<'a> {
    Group(QosPortGroup),
    Level(LevelDraft),
    Rule(RuleDraft<'a>),
    /// An item of `qos-setup`.
    Setup,
}

/// A level whose settings are still being read.
#[derive(Default)]
pub(super) struct LevelDraft {
    pub(super) level: QosLevel,
    /// The level has an `sl` setting, which is mandatory.
    pub(super) has_sl: bool,
}

/// A rule whose level and groups are still names.
#[derive(Default)]
pub(super) struct RuleDraft<'a> {
    /// Value of `use`, a description of the rule.
    purpose: String,
    source: Vec<Span<'a>>,
    destination: Vec<Span<'a>>,
    qos_class: RangeSet,
    service_id: RangeSet,
    pkey: RangeSet,
    level: Option<Span<'a>>,
}

/// Defined levels and groups.
pub(super) struct NameTable<'a> {
    pub(super) groups: &'a [Arc<QosPortGroup>],
    pub(super) levels: &'a [Arc<QosLevel>],
}

impl<'a> Item<'a> {
    /// Keys that may occur only once in an item.
    pub(super) const ONCE: [&'static str; 7] = [
        "name",
        "use",
        "sl",
        "mtu-limit",
        "rate-limit",
        "packet-life",
        "qos-level-name",
    ];

    /// Applies the setting `key: value`. The caller has checked that the kind of item has this key.
    pub(super) fn apply(
        &mut self,
        key: &str,
        value: &Span<'a>,
        partitions: &[Partition],
        warnings: &mut Vec<InputError>,
    ) -> Result<(), InputError> {
        match self {
            Self::Group(group) => apply_to_group(group, key, value, partitions, warnings),
            Self::Level(draft) => draft.apply(key, value, partitions, warnings),
            Self::Rule(rule) => rule.apply(key, value, partitions, warnings),
            Self::Setup => Ok(()),
        }
    }
}

fn apply_to_group(
    group: &mut QosPortGroup,
    key: &str,
    value: &Span<'_>,
    partitions: &[Partition],
    warnings: &mut Vec<InputError>,
) -> Result<(), InputError> {
    match key {
        "name" => value.unquoted().clone_into(&mut group.name),
        "port-guid" => group
            .guids
            .extend(&values::ranges(value, "port GUID", u64::MAX)?),
        "pkey" => {
            let pkeys = values::pkeys(value)?;
            warnings.extend(unused_pkeys(value, &pkeys, partitions, NO_PORT));
            group.pkeys.extend(&pkeys);
        }
        "port-name" => {
            for item in value.items() {
                let (node, num) = values::port_name(&item)?;
                group.names.entry(node).or_default().insert(num);
            }
        }
        "partition" => {
            for item in value.items() {
                let name = item.unquoted();
                let by_name = partitions.iter().find(|p| p.name == name);
                let number = match by_name {
                    Some(partition) => partition.number,
                    None if name == "Default" => DEFAULT_PARTITION,
                    None => {
                        let message = format!("unknown partition `{name}` ignored");
                        warnings.push(item.warning(message));
                        continue;
                    }
                };
                group.pkeys.extend(&RangeSet::single(number.into()));
            }
        }
        "node-type" => {
            for item in value.items() {
                match item.unquoted().to_ascii_uppercase().as_str() {
                    "CA" => group.cas = true,
                    "SWITCH" => group.switches = true,
                    "ROUTER" => group.routers = true,
                    "SELF" => group.sm_port = true,
                    "ALL" => (group.cas, group.switches, group.routers) = (true, true, true),
                    other => {
                        return Err(item.error(format!(
                            "invalid node type `{other}`: expected CA, SWITCH, ROUTER, SELF or ALL"
                        )));
                    }
                }
            }
        }
        _ => {}
    }
    Ok(())
}

/// Consequences of P_Keys that no partition has.
const NO_PORT: &str = "it adds no port to the group";
const NO_PATH: &str = "no path has it";
pub(super) const NO_MATCH: &str = "the rule never matches";

/// The warning that no partition has any of these P_Keys. OpenSM discards the whole policy for some
/// of them.
pub(super) fn unused_pkeys(
    value: &Span<'_>,
    pkeys: &RangeSet,
    partitions: &[Partition],
    consequence: &str,
) -> Option<InputError> {
    let mut numbers = partitions.iter().map(|partition| partition.number);
    let is_used = pkeys.contains(DEFAULT_PARTITION.into())
        || numbers.any(|number| pkeys.contains(number.into()));
    (!is_used).then(|| {
        let text = value.text();
        value.warning(format!("no partition has P_Key {text}: {consequence}"))
    })
}

impl LevelDraft {
    fn apply(
        &mut self,
        key: &str,
        value: &Span<'_>,
        partitions: &[Partition],
        warnings: &mut Vec<InputError>,
    ) -> Result<(), InputError> {
        let error = |message| value.error(message);
        let level = &mut self.level;
        match key {
            "name" => value.unquoted().clone_into(&mut level.name),
            "sl" => {
                level.sl = Sl(values::bounded(value, "SL", 0, 15)?);
                self.has_sl = true;
            }
            "mtu-limit" => level.mtu = Some(partition_values::mtu(value.text()).map_err(error)?),
            "rate-limit" => level.rate = Some(partition_values::rate(value.text()).map_err(error)?),
            "packet-life" => {
                let life = values::bounded(value, "PacketLifeTime", 0, LIFE_MAX)?;
                level.packet_life_time = Some(life);
            }
            "path-bits" => {
                let bits = values::ranges(value, "path bits", PATH_BITS_MAX)?;
                level.path_bits.extend(&bits);
            }
            "pkey" => {
                let pkeys = values::pkeys(value)?;
                warnings.extend(unused_pkeys(value, &pkeys, partitions, NO_PATH));
                level.pkeys.extend(&pkeys);
            }
            _ => {}
        }
        Ok(())
    }
}

impl<'a> RuleDraft<'a> {
    fn apply(
        &mut self,
        key: &str,
        value: &Span<'a>,
        partitions: &[Partition],
        warnings: &mut Vec<InputError>,
    ) -> Result<(), InputError> {
        match key {
            "use" => value.unquoted().clone_into(&mut self.purpose),
            "source" => self.source.extend(value.items()),
            "destination" => self.destination.extend(value.items()),
            "qos-class" => {
                let classes = values::ranges(value, "QoS class", QOS_CLASS_MAX)?;
                self.qos_class.extend(&classes);
            }
            "service-id" => {
                let ids = values::ranges(value, "service id", u64::MAX)?;
                self.service_id.extend(&ids);
            }
            "pkey" => {
                let pkeys = values::pkeys(value)?;
                warnings.extend(unused_pkeys(value, &pkeys, partitions, NO_MATCH));
                self.pkey.extend(&pkeys);
            }
            "qos-level-name" => self.level = Some(value.clone()),
            _ => {}
        }
        Ok(())
    }

    /// Whether the rule names a level.
    pub(super) const fn has_level(&self) -> bool {
        self.level.is_some()
    }

    /// Resolves the names of level and groups.
    pub(super) fn resolve(
        self,
        name_table: &NameTable<'_>,
        errors: &mut Vec<InputError>,
    ) -> Option<QosRule> {
        let mut groups = |names: &[Span<'a>]| -> Vec<Arc<QosPortGroup>> {
            names
                .iter()
                .filter_map(|name| {
                    let group = name_table.group(name.unquoted());
                    if group.is_none() {
                        let message = format!("unknown port-group `{}`", name.unquoted());
                        errors.push(name.error(message));
                    }
                    group
                })
                .collect()
        };
        let source = groups(&self.source);
        let destination = groups(&self.destination);
        let name = self.level?;
        let Some(level) = name_table.level(name.unquoted()) else {
            errors.push(name.error(format!("unknown qos-level `{}`", name.unquoted())));
            return None;
        };
        Some(QosRule {
            source,
            destination,
            qos_class: self.qos_class,
            service_id: self.service_id,
            pkey: self.pkey,
            ..QosRule::new(self.purpose, level)
        })
    }
}

impl NameTable<'_> {
    /// The first level with a name.
    pub(super) fn level(&self, name: &str) -> Option<Arc<QosLevel>> {
        let name = values::normalized_name(name);
        let mut levels = self.levels.iter();
        levels
            .find(|l| values::normalized_name(&l.name) == name)
            .cloned()
    }

    /// The first group with a name.
    pub(super) fn group(&self, name: &str) -> Option<Arc<QosPortGroup>> {
        let name = values::normalized_name(name);
        let mut groups = self.groups.iter();
        groups
            .find(|g| values::normalized_name(&g.name) == name)
            .cloned()
    }
}
