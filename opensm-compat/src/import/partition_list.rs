//! The partitions that OpenSM makes of the definitions that it read.

use std::collections::BTreeMap;

use ferrosm_core::config::partitions::partition_group::GroupSpec;
use ferrosm_core::config::partitions::{DEFAULT_PARTITION, MemberSelector, Partition};
use ferrosm_mad::attr::MtuCode;
use ferrosm_mad::ids::{PortGuid, Sl};
use ferrosm_mad::sa::path::RateCode;

use super::partition_rules::{Definition, Flags, MemberWord};
use crate::input::partitions::flags::GroupFlags;

/// OpenSM's partitions, and what it did not do.
#[derive(Debug, Clone, Default)]
pub struct PartitionList {
    pub partitions: Vec<Partition>,
    /// Index of a partition in the list, by its number.
    by_number: BTreeMap<u16, usize>,
    /// Number of the first partition with a name.
    by_name: BTreeMap<String, u16>,
    /// Line of a definition, and what OpenSM ignored.
    pub ignored: Vec<(usize, String)>,
    /// Line of a definition, and a value that ferrosm reads in another way.
    pub unclear: Vec<(usize, String)>,
}

/// Merges the definitions of a partition. `qos` is the option of the same name.
#[must_use]
pub fn partitions(definitions: &[Definition], qos: bool) -> PartitionList {
    let mut list = PartitionList::default();
    let mut last_assigned = 0;
    for definition in definitions {
        let number = match definition.pkey {
            0 => list.number_of_name(&definition.name, &mut last_assigned),
            pkey => pkey,
        };
        list.add(definition, number, qos);
    }
    list.partitions
        .retain(|partition| !partition.members.is_empty() || partition.number == DEFAULT_PARTITION);
    list
}

impl PartitionList {
    /// The number of a definition without a P_Key.
    fn number_of_name(&self, name: &str, last_assigned: &mut u16) -> u16 {
        if let Some(number) = self.by_name.get(name).filter(|_| !name.is_empty()) {
            return *number;
        }
        if name == "Default" {
            return DEFAULT_PARTITION;
        }
        let is_used = |n: u16| self.by_number.contains_key(&n);
        let free = (*last_assigned + 1..DEFAULT_PARTITION).find(|n| !is_used(*n));
        *last_assigned = free.unwrap_or(DEFAULT_PARTITION - 1);
        *last_assigned
    }

    fn add(&mut self, definition: &Definition, number: u16, qos: bool) {
        let sl = self.service_level(definition, qos);
        let flags = self.group_flags(definition, &definition.flags, sl);
        let index = match self.by_number.get(&number) {
            Some(index) => *index,
            None => self.add_partition(&definition.name, number),
        };
        let mut groups = Vec::new();
        if definition.ipoib {
            groups.extend(flags.broadcast_groups(number));
        }
        for word in &definition.groups {
            let of_group = GroupFlags {
                tclass: Some(word.flags.tclass),
                ..self.group_flags(definition, &word.flags, Sl(sl_of(&word.flags)))
            };
            match of_group.groups(word.mgid, number, &flags) {
                Ok(specs) => groups.extend(specs),
                Err(message) => self.ignored.push((definition.line, message)),
            }
        }
        let partition = &mut self.partitions[index];
        partition.index0 |= definition.index0;
        if sl != Sl(0) {
            partition.sl = sl;
        }
        let members = definition.members.iter();
        partition
            .members
            .extend(members.map(|(word, membership)| (selector(*word), *membership)));
        add_groups(&mut partition.groups, groups);
    }

    /// Adds a partition without members; returns its index.
    fn add_partition(&mut self, name: &str, number: u16) -> usize {
        let index = self.partitions.len();
        self.by_number.insert(number, index);
        self.by_name.entry(name.to_owned()).or_insert(number);
        self.partitions.push(Partition {
            name: match name {
                "" => format!("{number:#06x}"),
                name => name.to_owned(),
            },
            number,
            ..Partition::default()
        });
        index
    }

    /// The SL of a definition. OpenSM uses SL 0 while `qos` is FALSE.
    fn service_level(&mut self, definition: &Definition, qos: bool) -> Sl {
        let sl = sl_of(&definition.flags);
        if qos || sl == 0 {
            return Sl(sl);
        }
        let message = format!("sl={sl}: OpenSM uses SL 0 while `qos` is FALSE");
        self.ignored.push((definition.line, message));
        Sl(0)
    }

    fn group_flags(&mut self, definition: &Definition, flags: &Flags, sl: Sl) -> GroupFlags {
        let mtu = u8::try_from(flags.mtu)
            .ok()
            .filter(|code| (1..=5).contains(code));
        let rate = u8::try_from(flags.rate)
            .ok()
            .map(RateCode)
            .filter(|code| code.rank().is_some());
        let mut report = |flag: &str, value: u32| {
            let message = format!("{flag}={value} is no code of OpenSM");
            self.unclear.push((definition.line, message));
        };
        if mtu.is_none() {
            report("mtu", flags.mtu);
        }
        if rate.is_none() {
            report("rate", flags.rate);
        }
        let default = GroupFlags::default();
        GroupFlags {
            mtu: mtu.map_or(default.mtu, MtuCode),
            rate: rate.unwrap_or(default.rate),
            sl,
            scopes: (1..16)
                .filter(|scope| flags.scopes >> scope & 1 == 1)
                .collect(),
            qkey: Some(flags.qkey).filter(|qkey| *qkey != 0),
            tclass: Some(flags.tclass).filter(|tclass| *tclass != 0),
            flow_label: flags.flow_label,
        }
    }
}

fn sl_of(flags: &Flags) -> u8 {
    u8::try_from(flags.sl).unwrap_or_default()
}

const fn selector(word: MemberWord) -> MemberSelector {
    match word {
        MemberWord::All => MemberSelector::All,
        MemberWord::AllCas => MemberSelector::AllCas,
        MemberWord::AllSwitches => MemberSelector::AllSwitches,
        MemberWord::AllRouters => MemberSelector::AllRouters,
        MemberWord::Itself => MemberSelector::SmPort,
        MemberWord::Guid(guid) => MemberSelector::Port(PortGuid(guid)),
    }
}

/// Adds groups. OpenSM does not create a group a second time.
fn add_groups(to: &mut Vec<GroupSpec>, groups: Vec<GroupSpec>) {
    for group in groups {
        if to.iter().all(|other| other.mgid != group.mgid) {
            to.push(group);
        }
    }
}

/// Whether two lists are the same partitions, whatever their order and names.
#[must_use]
pub fn are_equal(one: &[Partition], other: &[Partition]) -> bool {
    let key = |partitions: &[Partition]| {
        let mut sorted: Vec<_> = partitions
            .iter()
            .filter(|p| !p.members.is_empty() || !p.groups.is_empty())
            .map(|p| {
                let mut groups = p.groups.clone();
                groups.sort_by_key(|group| group.mgid);
                (p.number, p.sl, p.index0, p.members.clone(), groups)
            })
            .collect();
        sorted.sort_by_key(|(number, ..)| *number);
        sorted
    };
    key(one) == key(other)
}

#[cfg(test)]
mod tests {
    use super::super::partition_rules::{PartitionsReading, read};
    use super::*;
    use crate::input::partitions as parser;

    fn of_opensm(text: &str, qos: bool) -> PartitionList {
        match read(text.as_bytes()) {
            PartitionsReading::Used(definitions) => partitions(&definitions, qos),
            PartitionsReading::Dropped { line, reason } => panic!("{line:?}: {reason:?}"),
        }
    }

    #[test]
    fn accepted_files_have_the_partitions_of_ferrosms_parser() {
        for text in [
            "Default=0x7fff, ipoib, mtu=5, rate=12 : ALL=limited, SELF=full ;\n",
            "Default=0x7fff, ipoib : ALL, ALL_SWITCHES=full ;\nIO=0x80, indx0 : 0x1, 0x2=full ;\nIO=0x80 : 0x3 ;\n",
            "Default=0x7fff : ALL ; a : 0x1 ; b : 0x2 ; a : 0x3 ;\n",
            "Tests=0x51 : ALL_SWITCHES=both,\n mgid=ff12:401b:0051::16,scope=2,Q_Key=0x0b1b\n",
        ] {
            let parsed = parser::parse(text).unwrap();
            let list = of_opensm(text, true);
            assert!(
                list.ignored.is_empty() && list.unclear.is_empty(),
                "{list:?}"
            );
            assert!(
                are_equal(&list.partitions, &parsed.partitions),
                "{text}\n{:?}\n{:?}",
                list.partitions,
                parsed.partitions
            );
        }
    }

    #[test]
    fn service_levels_need_qos() {
        let text = "Default=0x7fff, sl=3, ipoib : ALL=full ;\n";
        let list = of_opensm(text, false);
        assert_eq!(list.partitions[0].sl, Sl(0));
        assert_eq!(list.ignored.len(), 1);
        assert_eq!(of_opensm(text, true).partitions[0].sl, Sl(3));
        assert_eq!(of_opensm("A=1, mtu=2048 : ALL ;\n", true).unclear.len(), 1);
    }
}
