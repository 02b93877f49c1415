//! OpenSM's own rules for `partitions.conf` (`osm_prtn_config.c`, 3.3.23): which definitions it
//! reads, and at which line it drops the whole file.
//!
//! OpenSM reads a line into a buffer and cuts it into words with NUL bytes. After the last `;` of a
//! line it can continue behind the end of the text, where the buffer still has words of earlier
//! lines: a line that is only `;` drops the file for this reason. The buffer is therefore
//! reproduced byte for byte.

use crate::input::partitions::values;
use crate::options::value::leading_number;
use ferrosm_core::config::partitions::Membership;
use ferrosm_mad::ids::Gid;

/// Most bytes of a line. The rest of a longer line is the next line.
const LINE_MAX: usize = 4094;
/// Bytes that can be read behind a line.
const MARGIN: usize = 8;

/// What OpenSM does with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartitionsReading {
    /// It uses these definitions, in this order.
    Used(Vec<Definition>),
    /// It drops the file: all ports are full members of the default partition.
    Dropped {
        /// Number of the line, from 1; `None` for the whole file.
        line: Option<usize>,
        reason: FileDropReason,
    },
}

/// Why OpenSM drops a file. The texts are OpenSM's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileDropReason {
    NoDefinition,
    BadDefinition,
    /// This word is no member.
    BadMember(String),
    /// The file has no definition at all.
    Empty,
    /// `mgid` without a value.
    Crash,
}

impl FileDropReason {
    /// The text, as in OpenSM's log if it logs one.
    #[must_use]
    pub const fn text(&self) -> &'static str {
        match self {
            Self::NoDefinition => "no partition definition found",
            Self::BadDefinition => "bad partition definition",
            Self::BadMember(_) => "bad PortGUID",
            Self::Empty => "no partition is defined",
            Self::Crash => "OpenSM crashes at `mgid` without a value",
        }
    }
}

/// A definition: the header, and the members that follow it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Definition {
    /// Number of the line, from 1.
    pub line: usize,
    pub name: String,
    /// Low 15 bits of the P_Key; 0 without one.
    pub pkey: u16,
    pub flags: Flags,
    pub ipoib: bool,
    pub index0: bool,
    pub members: Vec<(MemberWord, Membership)>,
    pub groups: Vec<GroupWord>,
}

/// Parameters of groups, as numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flags {
    pub mtu: u32,
    pub rate: u32,
    pub sl: u32,
    /// Bit `n` is set for scope `n`.
    pub scopes: u16,
    pub qkey: u32,
    pub tclass: u8,
    pub flow_label: u32,
}

impl Default for Flags {
    fn default() -> Self {
        Self {
            mtu: 4,
            rate: 3,
            sl: 0,
            scopes: 0,
            qkey: 0,
            tclass: 0,
            flow_label: 0,
        }
    }
}

/// The ports that a member selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberWord {
    All,
    AllCas,
    AllSwitches,
    AllRouters,
    Itself,
    Guid(u64),
}

/// A multicast group of a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupWord {
    pub mgid: Gid,
    pub flags: Flags,
}

/// Reads a file by OpenSM's rules.
#[must_use]
pub fn read(file: &[u8]) -> PartitionsReading {
    let mut reader = Reader::default();
    let mut number = 0;
    for line in file.split_inclusive(|byte| *byte == b'\n') {
        for piece in line.chunks(LINE_MAX) {
            number += 1;
            if let Err(reason) = reader.read_line(number, piece) {
                return PartitionsReading::Dropped {
                    line: Some(number),
                    reason,
                };
            }
        }
    }
    if reader.definitions.is_empty() {
        return PartitionsReading::Dropped {
            line: None,
            reason: FileDropReason::Empty,
        };
    }
    PartitionsReading::Used(reader.definitions)
}

/// The line buffer. Positions behind it read as NUL.
#[derive(Debug)]
struct Buffer(Vec<u8>);

impl Buffer {
    /// Overwrites the start with a line and a NUL byte; the rest stays.
    fn fill(&mut self, line: &[u8]) {
        self.0[..line.len()].copy_from_slice(line);
        self.0[line.len()] = 0;
    }

    fn at(&self, position: usize) -> u8 {
        self.0.get(position).copied().unwrap_or(0)
    }

    fn end(&self, from: usize) -> usize {
        let rest = self.0.get(from..).unwrap_or_default();
        from + rest
            .iter()
            .position(|byte| *byte == 0)
            .unwrap_or(rest.len())
    }

    /// Position of a byte before the end of the text.
    fn find(&self, from: usize, byte: u8) -> Option<usize> {
        let rest = self.0.get(from..)?;
        let at = rest.iter().position(|b| *b == byte || *b == 0)?;
        (rest[at] == byte).then_some(from + at)
    }

    fn cut(&mut self, position: usize) {
        if let Some(byte) = self.0.get_mut(position) {
            *byte = 0;
        }
    }

    fn skip_blanks(&self, from: usize) -> usize {
        let mut position = from;
        while is_blank(self.at(position)) {
            position += 1;
        }
        position
    }

    /// Replaces the blanks at the end of a text by NUL. The first byte stays.
    fn trim_end(&mut self, from: usize) {
        let mut position = self.end(from);
        while position != from && (self.at(position) == 0 || is_blank(self.at(position))) {
            self.cut(position);
            position -= 1;
        }
    }

    fn text(&self, from: usize) -> String {
        let end = self.end(from);
        let bytes = self.0.get(from..end).unwrap_or_default();
        String::from_utf8_lossy(bytes).into_owned()
    }

    /// Splits `NAME = VALUE` at `from`.
    fn split_word(&mut self, from: usize) -> Word {
        let name_at = self.skip_blanks(from);
        let equals = self.find(name_at, b'=');
        if let Some(equals) = equals {
            self.cut(equals);
        }
        let mut length = self.end(from) - from + 1;
        self.trim_end(name_at);
        let value_at = equals.map(|equals| {
            let value_at = self.skip_blanks(equals + 1);
            length += self.end(value_at) - (equals + 1) + 1;
            self.trim_end(value_at);
            value_at
        });
        Word {
            name: self.text(name_at),
            value: value_at.map(|at| self.text(at)),
            length,
        }
    }
}

const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n')
}

/// `NAME = VALUE`, and the bytes that it takes with its NUL bytes.
struct Word {
    name: String,
    value: Option<String>,
    length: usize,
}

impl Word {
    /// Whether the name is the beginning of a keyword, as OpenSM compares them.
    fn begins(&self, keyword: &str) -> bool {
        keyword.starts_with(&self.name)
    }
}

#[derive(Debug)]
struct Reader {
    buffer: Buffer,
    definitions: Vec<Definition>,
    /// The definition that a `;` has not closed yet.
    open: Option<OpenDefinition>,
}

impl Default for Reader {
    fn default() -> Self {
        Self {
            buffer: Buffer(vec![0; LINE_MAX + MARGIN]),
            definitions: Vec::new(),
            open: None,
        }
    }
}

/// The definition that members belong to.
#[derive(Debug)]
struct OpenDefinition {
    /// Index of the definition, once its header is read.
    index: Option<usize>,
    /// Of members without one.
    membership: Membership,
}

impl Reader {
    fn read_line(&mut self, number: usize, line: &[u8]) -> Result<(), FileDropReason> {
        self.buffer.fill(line);
        if let Some(comment) = self.buffer.find(0, b'#') {
            self.buffer.cut(comment);
        }
        let mut position = 0;
        loop {
            position = self.buffer.skip_blanks(position);
            if self.buffer.at(position) == 0 {
                return Ok(());
            }
            let mut open = self.open.take().unwrap_or(OpenDefinition {
                index: None,
                membership: Membership::Limited,
            });
            let semicolon = self.buffer.find(position, b';');
            if let Some(semicolon) = semicolon {
                self.buffer.cut(semicolon);
            }
            position = self.read_part(&mut open, number, position)?;
            if semicolon.is_none() {
                self.open = Some(open);
                return Ok(());
            }
        }
    }

    /// Reads the text up to its end: a header, members. Returns the position behind it.
    fn read_part(
        &mut self,
        open: &mut OpenDefinition,
        number: usize,
        start: usize,
    ) -> Result<usize, FileDropReason> {
        let mut position = start;
        // After a `;` without text before it, OpenSM reads what is behind it.
        if self.buffer.at(position) == 0 {
            position += 1;
        }
        let index = match open.index {
            Some(index) => index,
            None => {
                let (definition, members_at) = self.read_header(open, number, position)?;
                position = members_at;
                self.definitions.push(definition);
                self.definitions.len() - 1
            }
        };
        open.index = Some(index);
        loop {
            let comma = self.buffer.find(position, b',');
            if let Some(comma) = comma {
                self.buffer.cut(comma);
            }
            let word = self.buffer.split_word(position);
            let next = position + word.length;
            if word.name == "mgid" {
                let length = self.read_group(index, &word, next)?;
                return Ok(next + length);
            }
            if let Some(member) = member_of(&word, open.membership)? {
                self.definitions[index].members.push(member);
            }
            position = next;
            if comma.is_none() {
                return Ok(position);
            }
        }
    }

    /// Reads `NAME=PKEY, FLAG, FLAG :`. Returns the definition and the position of its members.
    fn read_header(
        &mut self,
        open: &mut OpenDefinition,
        number: usize,
        start: usize,
    ) -> Result<(Definition, usize), FileDropReason> {
        let colon = self
            .buffer
            .find(start, b':')
            .ok_or(FileDropReason::NoDefinition)?;
        self.buffer.cut(colon);
        let mut comma = self.buffer.find(start, b',');
        if let Some(comma) = comma {
            self.buffer.cut(comma);
        }
        let first = self.buffer.split_word(start);
        let mut position = start + first.length;
        let mut definition = Definition {
            line: number,
            ..Definition::default()
        };
        while comma.is_some() {
            comma = self.buffer.find(position, b',');
            if let Some(comma) = comma {
                self.buffer.cut(comma);
            }
            let flag = self.buffer.split_word(position);
            position += flag.length;
            apply_header_flag(&mut definition, open, &flag);
        }
        let is_complete = position == colon + 1;
        let pkey = pkey_of(&first).filter(|_| is_complete);
        (definition.name, definition.pkey) = pkey.ok_or(FileDropReason::BadDefinition)?;
        Ok((definition, position))
    }

    /// Reads the flags of a group up to the end of the text. Returns their length.
    fn read_group(
        &mut self,
        index: usize,
        word: &Word,
        start: usize,
    ) -> Result<usize, FileDropReason> {
        let mgid = word.value.as_deref().ok_or(FileDropReason::Crash)?;
        let Some(mgid) = values::mgid(mgid) else {
            // OpenSM logs it, and continues behind the MGID.
            return Ok(0);
        };
        let mut flags = Flags {
            tclass: 0,
            ..self.definitions[index].flags.clone()
        };
        let mut length = 0;
        loop {
            let comma = self.buffer.find(start + length, b',');
            if let Some(comma) = comma {
                self.buffer.cut(comma);
            }
            let flag = self.buffer.split_word(start + length);
            flags.apply(&flag);
            length += flag.length;
            if comma.is_none() {
                break;
            }
        }
        self.definitions[index]
            .groups
            .push(GroupWord { mgid, flags });
        Ok(length)
    }
}

/// Name and P_Key of a header; `None` if the P_Key is no number.
fn pkey_of(word: &Word) -> Option<(String, u16)> {
    let (name, id) = match &word.value {
        Some(id) => (word.name.clone(), Some(id)),
        None if word.name.starts_with(|c: char| c.is_ascii_digit()) => {
            (String::new(), Some(&word.name))
        }
        None => (word.name.clone(), None),
    };
    let Some(id) = id else {
        return Some((name, 0));
    };
    let number = leading_number(id);
    if number.length == 0 || number.length != id.len() {
        return None;
    }
    let low = number.value.unwrap_or(u64::MAX) & 0x7FFF;
    Some((name, u16::try_from(low).unwrap_or_default()))
}

fn apply_header_flag(definition: &mut Definition, open: &mut OpenDefinition, flag: &Word) {
    if definition.flags.apply(flag) {
        return;
    }
    if flag.begins("ipoib") {
        definition.ipoib = true;
    } else if flag.begins("defmember") {
        let membership = flag.value.as_deref().and_then(default_membership);
        open.membership = membership.unwrap_or(open.membership);
    } else if flag.name == "indx0" {
        definition.index0 = true;
    }
}

/// A membership of `defmember`: the beginning of a keyword, the first of full, both and limited.
fn default_membership(word: &str) -> Option<Membership> {
    [Membership::Full, Membership::Both, Membership::Limited]
        .into_iter()
        .find(|membership| membership.to_string().starts_with(word))
}

/// The member of a word; `None` for no member.
fn member_of(
    word: &Word,
    default: Membership,
) -> Result<Option<(MemberWord, Membership)>, FileDropReason> {
    if word.begins("NONE") {
        return Ok(None);
    }
    let membership = match word.value.as_deref() {
        None => default,
        // OpenSM reads an unknown membership as limited.
        Some(value) => default_membership(value).unwrap_or(Membership::Limited),
    };
    let keywords = [
        ("ALL", MemberWord::All),
        ("ALL_CAS", MemberWord::AllCas),
        ("ALL_SWITCHES", MemberWord::AllSwitches),
        ("ALL_ROUTERS", MemberWord::AllRouters),
        ("SELF", MemberWord::Itself),
    ];
    let keyword = keywords.iter().find(|(keyword, _)| word.begins(keyword));
    let member = match keyword {
        Some((_, member)) => *member,
        None => {
            let number = leading_number(&word.name);
            let guid = number.value.unwrap_or(u64::MAX);
            if guid == 0 || number.length != word.name.len() {
                return Err(FileDropReason::BadMember(word.name.clone()));
            }
            MemberWord::Guid(guid)
        }
    };
    Ok(Some((member, membership)))
}

impl Flags {
    /// Applies a flag if it is a flag of groups. OpenSM reads numbers up to the first other
    /// character.
    fn apply(&mut self, word: &Word) -> bool {
        let number = word.value.as_deref().map(leading_number);
        let value = number.as_ref().and_then(|number| number.value);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "OpenSM stores the low bits of these numbers"
        )]
        let low = value.map(|value| value as u32);
        let is_clean = word
            .value
            .as_deref()
            .zip(number)
            .is_some_and(|(text, number)| {
                !text.is_empty()
                    && text[number.length..]
                        .chars()
                        .next()
                        .is_none_or(|c| c.is_ascii_whitespace())
            });
        if word.begins("mtu") {
            self.mtu = low.unwrap_or(self.mtu);
        } else if word.begins("rate") {
            self.rate = low.unwrap_or(self.rate);
        } else if word.begins("scope") {
            self.scopes |= match low {
                Some(scope @ 1..=15) => 1 << scope,
                Some(_) | None => 0,
            };
        } else if word.begins("Q_Key") {
            self.qkey = low.unwrap_or(self.qkey);
        } else if word.begins("TClass") {
            self.tclass = low.map_or(self.tclass, |value| value.to_le_bytes()[0]);
        } else if word.begins("sl") {
            if let Some(sl @ 0..=15) = low.filter(|_| is_clean) {
                self.sl = sl;
            }
        } else if word.begins("FlowLabel") {
            if let Some(label @ 0..=0xF_FFFF) = low.filter(|_| is_clean) {
                self.flow_label = label;
            }
        } else {
            return false;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dropped(text: &str) -> Option<(usize, FileDropReason)> {
        match read(text.as_bytes()) {
            PartitionsReading::Used(_) => None,
            PartitionsReading::Dropped { line, reason } => Some((line.unwrap_or(0), reason)),
        }
    }

    /// Files of sites whose OpenSM ran without partitions. A test with the real OpenSM has the same
    /// files.
    #[test]
    fn files_are_dropped_at_the_line_of_opensm() {
        use FileDropReason::{BadDefinition, BadMember, Empty, NoDefinition};
        for (text, expected) in [
            (
                "Default=0x7fff,ipoib : ALL=full;\r\nVault=0x21 : 0x21;\r\n",
                (1, NoDefinition),
            ),
            (
                "Default=0x7fff,ipoib : ALL=full;\nVault=0x21,ipoib\n : 0x21=full;\n",
                (2, NoDefinition),
            ),
            (
                "Default=0x7fff,ipoib : ALL=full,\n;\nVault=0x21 : 0x21=full,;\n",
                (2, NoDefinition),
            ),
            (
                "Default=0x7fff,ipoib:ALL=full;\nVault=0x21:\n  0x0002c90400000021=full\n, 0x0002c90400000031=full\n;\n",
                (5, NoDefinition),
            ),
            (
                "Default=0x7fff : ALL ;\nA=0x12 : cn[01-64] ;\n",
                (2, BadMember("cn[01-64]".to_owned())),
            ),
            ("A=0x12g : ALL ;\n", (1, BadDefinition)),
            ("# nothing\n\n", (0, Empty)),
            (
                "A=0x12 : 0x1-0x3=full ;\n",
                (1, BadMember("0x1-0x3".to_owned())),
            ),
        ] {
            assert_eq!(dropped(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn definitions_are_read_with_opensms_abbreviations() {
        let text = "Default=0x7fff, ipoib, rate=12 : ALL=limi, S=f ;\n\
            Storage=0x8040, ipoib, defmember=full, mtu=5x :\n 0x1, 0x2=oops,\n 0x3 ; 51 : ALL_SW=both\n";
        let PartitionsReading::Used(definitions) = read(text.as_bytes()) else {
            panic!("{text}");
        };
        assert_eq!(definitions.len(), 3);
        assert_eq!(
            definitions[0].members,
            [
                (MemberWord::All, Membership::Limited),
                (MemberWord::Itself, Membership::Full)
            ]
        );
        let storage = &definitions[1];
        assert_eq!(
            (storage.pkey, storage.ipoib, storage.flags.mtu),
            (0x40, true, 5)
        );
        let members: Vec<_> = storage.members.iter().map(|(_, m)| *m).collect();
        assert_eq!(
            members,
            [Membership::Full, Membership::Limited, Membership::Full]
        );
        assert_eq!((definitions[2].pkey, &*definitions[2].name), (51, ""));
        assert_eq!(
            definitions[2].members,
            [(MemberWord::AllSwitches, Membership::Both)]
        );
    }
}
