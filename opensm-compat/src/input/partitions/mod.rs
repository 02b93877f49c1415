//! `partitions.conf` of OpenSM: who is in which partition, and which multicast groups there are.
//!
//! The grammar is OpenSM's; where OpenSM takes something without a word that is likely not what was meant, it is taken the same way
//! and remarked. What OpenSM gives up on is an error with its place, and nothing of the file is used: OpenSM then makes every
//! port a full member of the default partition. Values may be written readably too: `mtu=4096`, `rate=400G`.
//!
//! | module | what it holds |
//! |---|---|
//! | this | the file as a whole: definitions, headers, members |
//! | [`flags`] | `name=value` pairs of partitions and groups |
//! | [`values`] | MTU, rate, scope and the like, as codes and as people write them |

pub mod flags;
pub mod values;

use ferrosm_core::plan::partitions::{DEFAULT_PARTITION, MemberSelector, Membership, Partition};
use ferrosm_mad::ids::{PortGuid, Sl};

use super::line::{ERRORS_MAX, parse_number};
use super::span::{SourceText, Span};
use crate::error::InputError;
use flags::{GroupFlags, PartitionHeader};

/// A line that OpenSM reads is at most so long.
const LINE_MAX: usize = 4095;

/// Contents of `partitions.conf`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PartitionsConf {
    /// The partitions, in the order in which they are first named.
    pub partitions: Vec<Partition>,
    /// Warnings: values read as OpenSM reads them that are probably mistakes.
    pub warnings: Vec<InputError>,
}

/// Reads a file.
///
/// # Errors
/// Everything that is wrong with it.
pub fn parse(text: &str) -> Result<PartitionsConf, Vec<InputError>> {
    let mut parser = PartitionsParser::default();
    for (number, line) in (1..).zip(text.lines()) {
        if line.len() > LINE_MAX {
            let message = format!("the line is longer than {LINE_MAX} bytes");
            parser.errors.push(InputError {
                position: Some((number, 1)),
                message,
            });
        }
    }
    let text = SourceText::new(text);
    for definition in text.split(';') {
        if !definition.is_blank() {
            parser.definition(&definition);
        }
    }
    parser.finish()
}

#[derive(Debug, Default)]
struct PartitionsParser {
    partitions: Vec<Partition>,
    warnings: Vec<InputError>,
    errors: Vec<InputError>,
    /// Numbers that are given to partitions without one.
    next: u16,
    /// The numbers that were given so.
    given: Vec<u16>,
}

impl PartitionsParser {
    fn finish(mut self) -> Result<PartitionsConf, Vec<InputError>> {
        if self.partitions.is_empty() && self.errors.is_empty() {
            self.errors.push(InputError {
                position: None,
                message: "no partition is defined in it; with no file at all there is the default partition alone".to_owned(),
            });
        }
        if self.errors.is_empty() {
            return Ok(PartitionsConf {
                partitions: self.partitions,
                warnings: self.warnings,
            });
        }
        if self.errors.len() > ERRORS_MAX {
            self.errors.truncate(ERRORS_MAX);
            self.errors.push(InputError {
                position: None,
                message: "and more such errors".to_owned(),
            });
        }
        Err(self.errors)
    }

    fn fail(&mut self, at: &Span<'_>, what: impl Into<String>) {
        self.errors.push(at.error(what));
    }

    /// `header : member, member, ...`
    fn definition(&mut self, whole: &Span<'_>) {
        let Some((head, body)) = whole.split_once(':') else {
            let what = "a `:` is missing between the partition and its members";
            return self.fail(whole, what);
        };
        if head.spans_lines() {
            let what = "the head of a partition, up to `:`, must be on one line (is a `;` missing before it?)";
            return self.fail(&head, what);
        }
        let Some((at, header)) = self.header(&head) else {
            return;
        };
        let mut rest = Some(body);
        while let Some(items) = rest.take() {
            let (item, more) = items.split_item();
            rest = more;
            self.item(&item, at, &header, &mut rest);
        }
    }

    /// The partition that a head names, and what its flags say.
    fn header(&mut self, head: &Span<'_>) -> Option<(usize, PartitionHeader)> {
        let mut parts = head.split(',');
        let first = parts.next()?;
        let (mut name, mut id) = first.name_and_value();
        if id.is_none() && name.text().starts_with(|c: char| c.is_ascii_digit()) {
            id = Some(name.clone());
            name = name.empty();
        }
        let mut header = PartitionHeader::default();
        for flag in parts {
            header.take(&flag, &mut self.warnings, &mut self.errors);
        }
        let number = match &id {
            Some(id) => Some(self.number_of(id)?),
            None => None,
        };
        let at = self.partition(&first, name.text(), number)?;
        let partition = &mut self.partitions[at];
        partition.index0 |= header.index0;
        // A later line without an SL leaves that of an earlier one.
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
        Some((at, header))
    }

    /// A P_Key: its low 15 bits count.
    fn number_of(&mut self, id: &Span<'_>) -> Option<u16> {
        let value = parse_number(id.text()).and_then(|v| u16::try_from(v).ok());
        let Some(value) = value else {
            self.fail(id, format!("`{}` is no P_Key such as 0x8001", id.text()));
            return None;
        };
        if value & DEFAULT_PARTITION == 0 {
            self.fail(
                id,
                format!("`{}` is no P_Key: its low 15 bits are 0", id.text()),
            );
            return None;
        }
        Some(value & DEFAULT_PARTITION)
    }

    /// The partition with this number, or this name where no number is given; made if there is none.
    fn partition(&mut self, at: &Span<'_>, name: &str, number: Option<u16>) -> Option<usize> {
        let found = self.partitions.iter().position(|p| match number {
            Some(number) => p.number == number,
            None => !name.is_empty() && p.name == name,
        });
        if let Some(found) = found {
            let first = &self.partitions[found].name;
            let is_given = self.given.contains(&self.partitions[found].number);
            if number.is_some() && name != first && is_given {
                let what = format!(
                    "`{first}` before it says no P_Key and has got this one: give `{first}` one of its own"
                );
                self.fail(at, what);
                return None;
            }
            if !name.is_empty() && name != first {
                let what = format!(
                    "`{name}` has the P_Key of `{first}`: one partition, with the first name"
                );
                self.warnings.push(at.error(what));
            }
            return Some(found);
        }
        let number = match number {
            Some(number) => number,
            None if name == "Default" => DEFAULT_PARTITION,
            None => {
                let number = self.free_number(at)?;
                let what = format!(
                    "no P_Key is given: it gets {number:#06x}, and may get another when partitions before it change"
                );
                self.warnings.push(at.error(what));
                self.given.push(number);
                number
            }
        };
        self.partitions.push(Partition {
            name: if name.is_empty() {
                format!("{number:#06x}")
            } else {
                name.to_owned()
            },
            number,
            ..Partition::default()
        });
        Some(self.partitions.len() - 1)
    }

    /// The next number that no partition before it has (docs/sm-behaviour.md 9.9).
    fn free_number(&mut self, at: &Span<'_>) -> Option<u16> {
        let taken = |n: u16| self.partitions.iter().any(|p| p.number == n);
        let free = (self.next + 1..DEFAULT_PARTITION).find(|n| !taken(*n));
        if free.is_none() {
            self.fail(at, "no P_Key is left for it");
        }
        self.next = free?;
        free
    }

    /// A member, or a group; the group's flags are up to the end of its line.
    fn item<'a>(
        &mut self,
        item: &Span<'a>,
        at: usize,
        header: &PartitionHeader,
        rest: &mut Option<Span<'a>>,
    ) {
        let (who, value) = item.name_and_value();
        if who.text() == "mgid" {
            let mut flags: Vec<Span<'a>> = Vec::new();
            if let Some(more) = rest.take_if(|more| more.begins_on_line_of(item)) {
                let (line, others) = more.split_line();
                flags = line.split(',').filter(|p| !p.is_blank()).collect();
                *rest = others;
            }
            let Some(mgid) = value else {
                return self.fail(
                    &who,
                    "`mgid` needs a multicast GID, as in mgid=ff12:401b::16",
                );
            };
            return self.group(&mgid, &flags, at, header);
        }
        if who.is_blank() {
            return;
        }
        let membership = match &value {
            None => header.membership,
            Some(value) => self.membership(value),
        };
        let Some(who) = self.who(&who) else {
            return;
        };
        if let Some(who) = who {
            self.partitions[at].members.push((who, membership));
        }
    }

    fn membership(&mut self, value: &Span<'_>) -> Membership {
        match values::membership(value.text()) {
            Some((membership, exact)) => {
                if !exact {
                    let what = format!("`{}` is taken for `{membership}`", value.text());
                    self.warnings.push(value.error(what));
                }
                membership
            }
            None => {
                let what = format!(
                    "`{}` is not full, limited or both: taken for `limited`",
                    value.text()
                );
                self.warnings.push(value.error(what));
                Membership::Limited
            }
        }
    }

    /// Whom a word means; `Some(None)` is nobody.
    fn who(&mut self, word: &Span<'_>) -> Option<Option<MemberSelector>> {
        const WORDS: [(&str, Option<MemberSelector>); 6] = [
            ("NONE", None),
            ("ALL", Some(MemberSelector::All)),
            ("ALL_CAS", Some(MemberSelector::AllCas)),
            ("ALL_SWITCHES", Some(MemberSelector::AllSwitches)),
            ("ALL_ROUTERS", Some(MemberSelector::AllRouters)),
            ("SELF", Some(MemberSelector::Own)),
        ];
        let text = word.text();
        if let Some((full, who)) = WORDS.iter().find(|(full, _)| full.starts_with(text)) {
            if *full != text {
                self.warnings
                    .push(word.error(format!("`{text}` is taken for `{full}`")));
            }
            return Some(*who);
        }
        match parse_number(text).filter(|guid| *guid != 0) {
            Some(guid) => Some(Some(MemberSelector::Port(PortGuid(guid)))),
            None => {
                let what = format!(
                    "`{text}` is no port GUID, nor ALL, ALL_CAS, ALL_SWITCHES, ALL_ROUTERS, SELF (is a `;` missing?)"
                );
                self.fail(word, what);
                None
            }
        }
    }

    fn group(&mut self, mgid: &Span<'_>, flags: &[Span<'_>], at: usize, header: &PartitionHeader) {
        let Some(gid) = values::mgid(mgid.text()) else {
            let what = format!(
                "`{}` is no multicast GID such as ff12:401b::16",
                mgid.text()
            );
            return self.fail(mgid, what);
        };
        let mut own = GroupFlags {
            tclass: None,
            ..header.flags.clone()
        };
        let mut scopes = Vec::new();
        for flag in flags {
            if !own.take(flag, &mut scopes, &mut self.warnings, &mut self.errors) {
                let (name, _) = flag.name_and_value();
                let what = format!("`{}` is no flag of a group: ignored", name.text());
                self.warnings.push(name.error(what));
            }
        }
        own.scopes.extend(scopes);
        let partition = &mut self.partitions[at];
        match own.groups(gid, partition.number, &header.flags) {
            Ok(groups) => {
                for group in groups {
                    partition.groups.retain(|g| g.mgid != group.mgid);
                    partition.groups.push(group);
                }
            }
            Err(what) => self.fail(mgid, what),
        }
    }
}

#[cfg(test)]
mod tests;
