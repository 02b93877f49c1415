//! `partitions.conf` of OpenSM: partitions, their members and multicast groups.
//!
//! The grammar is OpenSM's; as there, the last `;` may be missing. Probable mistakes that OpenSM
//! accepts silently are accepted with a warning. Where OpenSM ignores the rest of the line and uses
//! the remaining file, the parser returns errors with positions. Values may also have units:
//! `mtu=4096`, `rate=400G`.
//!
//! | module | contents |
//! |---|---|
//! | this | definitions, headers, members |
//! | [`flags`] | `name=value` pairs of partitions and groups |
//! | [`values`] | MTU, rate, scope and others, as codes and in units |

pub mod flags;
pub mod values;

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_core::config::partitions::{
    DEFAULT_PARTITION, MemberSelector, Membership, Partition, PortGuidRange,
};
use ferrosm_mad::ids::{PortGuid, Sl};

use super::line::{ERRORS_MAX, parse_number};
use super::span::{SourceText, Span};
use crate::error::InputError;
use flags::{GroupFlags, PartitionHeader};

/// OpenSM's maximum line length.
const LINE_MAX: usize = 4095;

/// Contents of `partitions.conf`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PartitionsConf {
    /// The partitions in the order of their first definition.
    pub partitions: Vec<Partition>,
    /// Probable mistakes that OpenSM accepts.
    pub warnings: Vec<InputError>,
}

/// Parses the text.
///
/// # Errors
/// All errors and warnings of the file.
pub fn parse(text: &str) -> Result<PartitionsConf, Vec<InputError>> {
    let mut parser = PartitionsParser::default();
    for (number, line) in (1..).zip(text.lines()) {
        if line.len() > LINE_MAX {
            let message = format!("the line is longer than {LINE_MAX} bytes");
            parser.errors.push(InputError::at(number, 1, message));
        }
    }
    let text = SourceText::new(text);
    for definition in text.split(';') {
        let mut next = Some(definition);
        while let Some(definition) = next.take().filter(|text| !text.is_blank())
            && parser.errors.len() <= ERRORS_MAX
        {
            next = parser.parse_definition(&definition);
        }
    }
    parser.finish()
}

/// The warning about a partition that has the name of partition `other`.
#[must_use]
pub fn shared_name(name: &str, other: u16) -> String {
    format!("`{name}` is also the name of partition {other:#06x}: these are two partitions")
}

#[derive(Debug, Default)]
struct PartitionsParser {
    partitions: Vec<Partition>,
    /// Index of a partition, by its number.
    by_number: BTreeMap<u16, usize>,
    /// Index of the first partition with a name.
    by_name: BTreeMap<String, usize>,
    warnings: Vec<InputError>,
    errors: Vec<InputError>,
    /// Last number assigned to a partition without a P_Key.
    last_assigned: u16,
    /// All numbers assigned to partitions without a P_Key.
    assigned: BTreeSet<u16>,
}

impl PartitionsParser {
    fn finish(mut self) -> Result<PartitionsConf, Vec<InputError>> {
        if self.partitions.is_empty() && self.errors.is_empty() {
            self.errors.push(InputError::in_file(
                "no partition defined: define one, or use no partitions file, which gives the default partition only",
            ));
        }
        if self.errors.is_empty() {
            return Ok(PartitionsConf {
                partitions: self.partitions,
                warnings: self.warnings,
            });
        }
        if self.errors.len() > ERRORS_MAX {
            self.errors.truncate(ERRORS_MAX);
            self.errors
                .push(InputError::in_file("further errors omitted"));
        }
        self.errors.append(&mut self.warnings);
        Err(self.errors)
    }

    fn fail(&mut self, at: &Span<'_>, message: impl Into<String>) {
        self.errors.push(at.error(message));
    }

    /// `header : member, member, ...`; returns the next definition, if the `;` before it is
    /// missing.
    fn parse_definition<'a>(&mut self, text: &Span<'a>) -> Option<Span<'a>> {
        let Some((head, body)) = text.split_once(':') else {
            self.fail(text, "missing `:` between partition and members");
            return None;
        };
        let parsed = if head.spans_lines() {
            let message =
                "partition header (up to `:`) spans several lines: missing `;` before it?";
            self.fail(&head, message);
            None
        } else {
            self.parse_header(&head)
        };
        // The members of a partition with an invalid header are checked as well.
        let (index, header) = parsed.unwrap_or_else(|| {
            self.partitions.push(Partition::default());
            (self.partitions.len() - 1, PartitionHeader::default())
        });
        let mut remaining = Some(body);
        while let Some(items) = remaining.take() {
            if items.begins_line() && items.starts_definition() {
                self.fail(&items, "missing `;` before this partition");
                return Some(items);
            }
            let (item, more) = items.split_item();
            if item.spans_lines() {
                // As in OpenSM, the end of the line ends the member.
                let line = item.first_line();
                self.parse_item(&line, index, &header, &mut None);
                remaining = Some(items.after(&line));
            } else {
                remaining = more;
                self.parse_item(&item, index, &header, &mut remaining);
            }
        }
        None
    }

    /// Index of the partition of a header, and the header's flags.
    fn parse_header(&mut self, head: &Span<'_>) -> Option<(usize, PartitionHeader)> {
        let mut parts = head.split(',');
        let first = parts.next()?;
        let (mut name, mut id) = first.name_and_value();
        if id.is_none() && name.text().starts_with(|c: char| c.is_ascii_digit()) {
            id = Some(name.clone());
            name = name.empty();
        }
        let mut header = PartitionHeader::default();
        for flag in parts {
            header.apply(&flag, &mut self.warnings, &mut self.errors);
        }
        let number = match &id {
            Some(id) => Some(self.partition_number(id)?),
            None => None,
        };
        let index = self.find_or_create_partition(&first, name.text(), number)?;
        let partition = &mut self.partitions[index];
        partition.index0 |= header.index0;
        // SL 0 is the default: a later definition without an SL, or with SL 0, does not change the
        // SL of an earlier one.
        if header.flags.sl != Sl(0) {
            partition.sl = header.flags.sl;
        }
        if header.ipoib {
            let groups = header.flags.broadcast_groups(partition.number);
            for group in groups {
                partition.groups.retain(|g| g.mgid != group.mgid);
                partition.groups.push(group);
            }
        }
        Some((index, header))
    }

    /// The partition number of a P_Key.
    fn partition_number(&mut self, id: &Span<'_>) -> Option<u16> {
        let value = parse_number(id.text()).and_then(|v| u16::try_from(v).ok());
        let Some(value) = value else {
            self.fail(
                id,
                format!(
                    "invalid P_Key `{}`: expected a number such as 0x8001",
                    id.text()
                ),
            );
            return None;
        };
        if value & DEFAULT_PARTITION == 0 {
            self.fail(
                id,
                format!("invalid P_Key `{}`: the low 15 bits are 0", id.text()),
            );
            return None;
        }
        Some(value & DEFAULT_PARTITION)
    }

    /// Index of the partition with this number, or with this name if the header has no number. A
    /// missing partition is created.
    fn find_or_create_partition(
        &mut self,
        at: &Span<'_>,
        name: &str,
        number: Option<u16>,
    ) -> Option<usize> {
        let index = match number {
            Some(number) => self.by_number.get(&number),
            None => self.by_name.get(name),
        };
        if let Some(index) = index.copied() {
            let first = &self.partitions[index].name;
            let is_assigned = self.assigned.contains(&self.partitions[index].number);
            if number.is_some() && name != first && is_assigned {
                let message = format!(
                    "this P_Key is already assigned to `{first}`, which is defined without a P_Key: add a P_Key to `{first}`"
                );
                self.fail(at, message);
                return None;
            }
            if !name.is_empty() && name != first {
                let message = format!(
                    "`{name}` has the P_Key of `{first}`: both are one partition named `{first}`"
                );
                self.warnings.push(at.warning(message));
            }
            return Some(index);
        }
        let number = match number {
            Some(number) => number,
            None if name == "Default" => DEFAULT_PARTITION,
            None => {
                let number = self.free_number(at)?;
                let message = format!(
                    "no P_Key: {number:#06x} is assigned. It changes if partitions are added or removed before this one: add a P_Key"
                );
                self.warnings.push(at.warning(message));
                self.assigned.insert(number);
                number
            }
        };
        let other = self.by_name.get(name);
        let other_number = other
            .map(|index| self.partitions[*index].number)
            .or_else(|| {
                let is_default = name == "Default" && number != DEFAULT_PARTITION;
                is_default.then_some(DEFAULT_PARTITION)
            });
        if let Some(other) = other_number {
            self.warnings.push(at.warning(shared_name(name, other)));
        }
        let full_name = match name {
            "" => format!("{number:#06x}"),
            name => name.to_owned(),
        };
        let index = self.partitions.len();
        self.by_number.insert(number, index);
        self.by_name.entry(full_name.clone()).or_insert(index);
        self.partitions.push(Partition {
            name: full_name,
            number,
            ..Partition::default()
        });
        Some(index)
    }

    /// The next unused number (docs/sm-behaviour.md 9.9).
    fn free_number(&mut self, at: &Span<'_>) -> Option<u16> {
        let is_used = |n: u16| self.by_number.contains_key(&n);
        let unassigned = (self.last_assigned + 1..DEFAULT_PARTITION).find(|n| !is_used(*n));
        if unassigned.is_none() {
            self.fail(at, "no free P_Key");
        }
        self.last_assigned = unassigned?;
        unassigned
    }

    /// A member or a group of partition `index`. The flags of a group end with its line.
    fn parse_item<'a>(
        &mut self,
        item: &Span<'a>,
        index: usize,
        header: &PartitionHeader,
        rest: &mut Option<Span<'a>>,
    ) {
        let (selector, value) = item.name_and_value();
        if selector.text() == "mgid" {
            let mut flags: Vec<Span<'a>> = Vec::new();
            if let Some(more) = rest.take_if(|more| more.begins_on_line_of(item)) {
                let (line, others) = more.split_line();
                flags = line.split(',').filter(|p| !p.is_blank()).collect();
                *rest = others;
            }
            let Some(mgid) = value else {
                return self.fail(
                    &selector,
                    "`mgid` needs a multicast GID such as mgid=ff12:401b::16",
                );
            };
            return self.add_group(&mgid, &flags, index, header);
        }
        if selector.is_blank() {
            return;
        }
        let membership = match &value {
            None => header.membership,
            Some(value) => self.parse_membership(value),
        };
        let Some(selector) = self.parse_selector(&selector) else {
            return;
        };
        if let Some(selector) = selector {
            self.partitions[index].members.push((selector, membership));
        }
    }

    fn parse_membership(&mut self, value: &Span<'_>) -> Membership {
        match values::membership(value.text()) {
            Some((membership, exact)) => {
                if !exact {
                    let message = format!("`{}` read as `{membership}`", value.text());
                    self.warnings.push(value.warning(message));
                }
                membership
            }
            None => {
                let text = value.text();
                match text.split_once(char::is_whitespace) {
                    Some((first, _)) => {
                        let message = format!("missing `,` or `;` after `{first}`");
                        self.fail(value, message);
                    }
                    None => {
                        let message = format!(
                            "invalid membership `{text}` (expected full, limited or both): read as `limited`"
                        );
                        self.warnings.push(value.warning(message));
                    }
                }
                Membership::Limited
            }
        }
    }

    /// The members that a keyword or GUID selects; `Some(None)` for NONE.
    fn parse_selector(&mut self, word: &Span<'_>) -> Option<Option<MemberSelector>> {
        const KEYWORDS: [(&str, Option<MemberSelector>); 6] = [
            ("NONE", None),
            ("ALL", Some(MemberSelector::All)),
            ("ALL_CAS", Some(MemberSelector::AllCas)),
            ("ALL_SWITCHES", Some(MemberSelector::AllSwitches)),
            ("ALL_ROUTERS", Some(MemberSelector::AllRouters)),
            ("SELF", Some(MemberSelector::SmPort)),
        ];
        let text = word.text();
        if let Some((full, selector)) = KEYWORDS.iter().find(|(full, _)| full.starts_with(text)) {
            if *full != text {
                self.warnings
                    .push(word.warning(format!("`{text}` read as `{full}`")));
            }
            return Some(*selector);
        }
        if let Some(range) = self.parse_range(word) {
            return range.map(|range| Some(MemberSelector::PortRange(range)));
        }
        match parse_number(text).filter(|guid| *guid != 0) {
            Some(guid) => Some(Some(MemberSelector::Port(PortGuid(guid)))),
            None => {
                let message = match text.split_once(char::is_whitespace) {
                    Some((first, _)) => format!("missing `,` or `;` after `{first}`"),
                    None => format!(
                        "invalid member `{text}`: expected a port GUID such as 0x0002c90300a1b2c3, a range FIRST-LAST of them, or ALL, ALL_CAS, ALL_SWITCHES, \
                         ALL_ROUTERS or SELF. Names of hosts are not accepted; `ferrosm ports --local` on a host lists the GUIDs of its ports"
                    ),
                };
                self.fail(word, message);
                None
            }
        }
    }

    /// A range of GUIDs as in NVIDIA's subnet manager, `FIRST-LAST`; `None` if the word is no
    /// range, `Some(None)` if it is an invalid one.
    fn parse_range(&mut self, word: &Span<'_>) -> Option<Option<PortGuidRange>> {
        let (first, last) = word.text().split_once('-')?;
        let guid = |text: &str| parse_number(text.trim()).filter(|guid| *guid != 0);
        let first = PortGuid(guid(first)?);
        let last = PortGuid(guid(last)?);
        let range = PortGuidRange::new(first, last);
        if let Err(error) = range {
            let message = format!("invalid member `{}`: {error}", word.text());
            self.fail(word, message);
        }
        Some(range.ok())
    }

    fn add_group(
        &mut self,
        mgid: &Span<'_>,
        flags: &[Span<'_>],
        index: usize,
        header: &PartitionHeader,
    ) {
        let Some(gid) = values::mgid(mgid.text()) else {
            let message = format!(
                "invalid multicast GID `{}`: expected e.g. ff12:401b::16",
                mgid.text()
            );
            return self.fail(mgid, message);
        };
        let mut group_flags = GroupFlags {
            tclass: None,
            ..header.flags.clone()
        };
        let mut scopes = Vec::new();
        for flag in flags {
            if !group_flags.apply(flag, &mut scopes, &mut self.warnings, &mut self.errors) {
                let (name, _) = flag.name_and_value();
                let message = format!("unknown group flag `{}` ignored", name.text());
                self.warnings.push(name.warning(message));
            }
        }
        group_flags.scopes.extend(scopes);
        let partition = &mut self.partitions[index];
        match group_flags.groups(gid, partition.number, &header.flags) {
            Ok(groups) => {
                for group in groups {
                    partition.groups.retain(|g| g.mgid != group.mgid);
                    partition.groups.push(group);
                }
            }
            Err(message) => self.fail(mgid, message),
        }
    }
}

#[cfg(test)]
mod tests;
