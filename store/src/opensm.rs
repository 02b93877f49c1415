//! Reads the files in which OpenSM persists its state: `guid2lid`, `guid2mkey`, `neighbors` (cache
//! directory) and `opensm-sa.dump` (dump directory). Formats: OpenSM osm_db_files.c, osm_db_pack.c
//! and osm_sa.c.
//!
//! Files are imported completely or not at all: any error, reported with file and line, rejects all
//! records.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ferrosm_core::records::{Record, RecordBatch, RecordChange, RecordKind};
use ferrosm_mad::attr::MtuCode;
use ferrosm_mad::ids::{Gid, Lid, Lmc, MKey, PKey, PortGuid, PortNum, Qpn, Sl};
use ferrosm_mad::sa::inform::InformInfoRecord;
use ferrosm_mad::sa::multicast::JoinState;
use ferrosm_mad::sa::path::RateCode;
use ferrosm_mad::sa::service::ServiceRecord;
use ferrosm_sa::registry::group::{GroupMember, GroupParameters};
use ferrosm_sa::registry::registration::{
    RegisteredAlias, RegisteredService, RegisteredSubscription, Registration,
};
use thiserror::Error;

/// GUIDs in a GUIDInfo block.
const GUIDS_PER_BLOCK: u16 = 8;

/// A state file of OpenSM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateFile {
    /// `guid2lid`.
    Lids,
    /// `guid2mkey`.
    MKeys,
    /// `neighbors`.
    Neighbours,
    /// `opensm-sa.dump`.
    SaDump,
}

impl StateFile {
    /// All files.
    pub const ALL: [Self; 4] = [Self::Lids, Self::MKeys, Self::Neighbours, Self::SaDump];

    /// Its file name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lids => "guid2lid",
            Self::MKeys => "guid2mkey",
            Self::Neighbours => "neighbors",
            Self::SaDump => "opensm-sa.dump",
        }
    }

    /// The file type, from the file name.
    #[must_use]
    pub fn from_path(path: &Path) -> Option<Self> {
        let name = path.file_name()?;
        Self::ALL.into_iter().find(|file| name == file.name())
    }

    /// Record kinds of which the file contains the complete set.
    #[must_use]
    pub const fn kinds(self) -> &'static [RecordKind] {
        match self {
            Self::Lids => &[RecordKind::Lid],
            Self::MKeys => &[RecordKind::MKey],
            Self::Neighbours => &[RecordKind::Neighbour],
            Self::SaDump => &RecordKind::REGISTRATIONS,
        }
    }
}

/// An error in a state file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}:{line}: {message}", file.display())]
pub struct StateFileError {
    pub file: PathBuf,
    /// Line number, from 1.
    pub line: usize,
    /// Description of the error.
    pub message: String,
}

/// Parses files, given with path and contents. The batch replaces persisted records of the same
/// kinds and removes a persisted view, which does not match these files.
///
/// # Errors
/// All errors of all files.
pub fn parse(files: &[(StateFile, PathBuf, String)]) -> Result<RecordBatch, Vec<StateFileError>> {
    let mut changes = vec![
        RecordChange::Clear(RecordKind::View),
        RecordChange::Clear(RecordKind::ViewHead),
    ];
    let mut errors = Vec::new();
    for (file, path, content) in files {
        changes.extend(file.kinds().iter().copied().map(RecordChange::Clear));
        let mut reader = StateFileParser::default();
        for (number, line) in (1..).zip(content.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let parsed = match file {
                StateFile::Lids => reader.parse_lids(line, number),
                StateFile::MKeys => reader.parse_m_key(line),
                StateFile::Neighbours => reader.parse_neighbour(line),
                StateFile::SaDump => reader.parse_sa_dump(line),
            };
            let parsed_changes = parsed.and_then(|records| {
                let changes: Option<Vec<_>> = records.iter().map(RecordChange::put).collect();
                reader.reject_duplicates(changes.ok_or("invalid record")?, number)
            });
            match parsed_changes {
                Ok(parsed_changes) => changes.extend(parsed_changes),
                Err(message) => errors.push(StateFileError {
                    file: path.clone(),
                    line: number,
                    message,
                }),
            }
        }
    }
    if errors.is_empty() {
        Ok(RecordBatch { changes })
    } else {
        Err(errors)
    }
}

/// Parser state of a file.
#[derive(Debug, Default)]
struct StateFileParser {
    /// LID ranges by first LID: last LID, and line.
    ranges: BTreeMap<u16, (u16, usize)>,
    /// Line of each record.
    lines: BTreeMap<ferrosm_core::records::RecordKey, usize>,
    /// The group of the following member lines.
    group: Option<Gid>,
    /// Number of subscriptions of each subscriber; OpenSM gives all of them the same enum.
    subscriptions: BTreeMap<Gid, u16>,
}

/// The records of a line, or an error.
type ParsedRecords = Result<Vec<Record>, String>;
/// Parses the rest of a line of one type.
type LineParser = fn(&mut StateFileParser, &str) -> ParsedRecords;

impl StateFileParser {
    /// Rejects records that an earlier line contains.
    fn reject_duplicates(
        &mut self,
        changes: Vec<RecordChange>,
        number: usize,
    ) -> Result<Vec<RecordChange>, String> {
        for change in &changes {
            if let RecordChange::Put(key, _) = change
                && let Some(before) = self.lines.insert(key.clone(), number)
            {
                return Err(format!("duplicate of line {before}"));
            }
        }
        Ok(changes)
    }

    fn parse_lids(&mut self, line: &str, number: usize) -> ParsedRecords {
        let [port, first, last] = split_words(line, ["port GUID", "first LID", "last LID"])?;
        let port = guid(port)?;
        let first = parse_hex(first)?;
        let last = parse_hex(last)?;
        let to_lid = |n: u64| u16::try_from(n).map_err(|_| format!("invalid LID {n:#x}"));
        let first = to_lid(first)?;
        let last = to_lid(last)?;
        let count = u32::from(last) + 1 - u32::from(first).min(u32::from(last));
        let aligned = u32::from(first) % count == 0;
        let Some(lmc) = (0..=7)
            .find(|lmc| count == 1 << lmc)
            .filter(|_| first <= last && aligned)
        else {
            return Err(format!(
                "{first:#06x} to {last:#06x} is not the range of a base LID and LMC"
            ));
        };
        let preceding = self.ranges.range(..=last).next_back();
        if let Some((_, (_, before))) = preceding.filter(|(_, (end, _))| *end >= first) {
            return Err(format!("LIDs overlap those in line {before}"));
        }
        self.ranges.insert(first, (last, number));
        Ok(vec![Record::Lid {
            port,
            lid: Lid(first),
            lmc: Lmc(lmc),
        }])
    }

    fn parse_m_key(&mut self, line: &str) -> ParsedRecords {
        let [port, key] = split_words(line, ["port GUID", "M_Key"])?;
        let m_key = MKey::new(parse_hex(key)?);
        let port = guid(port)?;
        Ok(vec![Record::MKey { port, m_key }])
    }

    fn parse_neighbour(&mut self, line: &str) -> ParsedRecords {
        let [of, to] = split_words(line, ["port", "neighbour port"])?;
        let parse_location = |text: &str| {
            let (port, number) = text
                .split_once(':')
                .ok_or_else(|| format!("invalid port `{text}`: expected GUID:PORT"))?;
            let number = number
                .parse()
                .map_err(|_| format!("invalid port number in `{text}`"))?;
            Ok::<_, String>((guid(port)?, PortNum(number)))
        };
        let node = parse_location(of)?;
        let to = parse_location(to)?;
        Ok(vec![Record::Neighbour { of: node, to }])
    }

    fn parse_sa_dump(&mut self, line: &str) -> ParsedRecords {
        let kinds: [(&str, LineParser); 5] = [
            ("MC Group", Self::parse_group),
            ("mcm_port:", Self::parse_member),
            ("InformInfo Record:", Self::parse_subscription),
            ("Service Record:", Self::parse_service),
            ("GUIDInfo Record:", Self::parse_aliases),
        ];
        for (prefix, parse) in kinds {
            if let Some(rest) = line.strip_prefix(prefix) {
                if prefix != "mcm_port:" {
                    self.group = None;
                }
                return parse(self, rest);
            }
        }
        Err(
            "unknown record: expected a group, member, subscription, service or GUIDInfo"
                .to_owned(),
        )
    }

    fn parse_group(&mut self, line: &str) -> ParsedRecords {
        let well_known = line.contains(" (well known):");
        let mut fields = FieldReader(line);
        let mgid = fields.gid(" mgid=")?;
        // Port GID of the creator.
        fields.gid(" port_gid=")?;
        let qkey = fields.take(" qkey=")?;
        let mlid = Lid(fields.take(" mlid=")?);
        // The upper two bits of MTU, rate and PacketLifeTime are selectors.
        let without_selector = |value: u8| value & 0x3F;
        let mtu = MtuCode(without_selector(fields.take(" mtu=")?));
        let tclass = fields.take(" tclass=")?;
        let pkey = PKey(fields.take(" pkey=")?);
        let rate = RateCode(without_selector(fields.take(" rate=")?));
        let packet_life_time = without_selector(fields.take(" pkt_life=")?);
        let packed: u32 = fields.take(" sl_flow_hop=")?;
        let [hop_limit, ..] = packed.to_le_bytes();
        let [sl, ..] = packed.to_be_bytes();
        let scope_state: u8 = fields.take(" scope_state=")?;
        let parameters = GroupParameters {
            qkey,
            mtu,
            tclass,
            pkey,
            rate,
            packet_life_time,
            sl: Sl(sl >> 4),
            flow_label: packed >> 8 & 0xF_FFFF,
            hop_limit,
            scope: scope_state >> 4,
        };
        self.group = Some(mgid);
        Ok(vec![Record::Registration(Registration::Group {
            mgid,
            mlid,
            well_known,
            parameters,
        })])
    }

    fn parse_member(&mut self, line: &str) -> ParsedRecords {
        let mgid = self.group.ok_or("member without a group")?;
        let mut fields = FieldReader(line);
        let port = fields.gid(" port_gid=")?.guid();
        let scope_state: u8 = fields.take(" scope_state=")?;
        let proxy: u8 = fields.take(" proxy_join=")?;
        Ok(vec![Record::Registration(Registration::Member {
            mgid,
            port,
            member: GroupMember {
                join_state: JoinState(scope_state & 0xF),
                proxy: proxy != 0,
            },
        })])
    }

    fn parse_subscription(&mut self, line: &str) -> ParsedRecords {
        let mut fields = FieldReader(line);
        let subscriber_gid = fields.gid(" subscriber_gid=")?;
        let _: u16 = fields.take(" subscriber_enum=")?;
        let gid = fields.gid(" gid=")?;
        let lid_range_begin = Lid(fields.take(" lid_range_begin=")?);
        let lid_range_end = Lid(fields.take(" lid_range_end=")?);
        let is_generic = fields.take(" is_generic=")?;
        let subscribe = fields.take(" subscribe=")?;
        let notice_type = fields.take(" trap_type=")?;
        let trap_number = fields.take(" trap_num=")?;
        let packed: u32 = fields.take(" qpn_resp_time_val=")?;
        let producer_type = fields.take(" node_type=")?;
        let lid = Lid(fields.take(" rep_addr: lid=")?);
        let path_bits = fields.take(" path_bits=")?;
        let _: u8 = fields.take(" static_rate=")?;
        let remote: u32 = fields.take(" remote_qp=")?;
        let _: u32 = fields.take(" remote_qkey=")?;
        let pkey_index = fields.take(" pkey_ix=")?;
        let sl = Sl(fields.take(" sl=")?);
        let count = self.subscriptions.entry(subscriber_gid).or_default();
        let subscriber_enum = *count;
        *count += 1;
        let qpn = if packed >> 8 == 0 {
            remote
        } else {
            packed >> 8
        };
        let [.., low] = packed.to_be_bytes();
        let record = InformInfoRecord {
            subscriber_gid,
            subscriber_enum,
            gid,
            lid_range_begin,
            lid_range_end,
            is_generic,
            subscribe,
            notice_type,
            trap_number,
            qpn: Qpn(qpn),
            resp_time_value: low & 0x1F,
            producer_type,
        };
        Ok(vec![Record::Registration(Registration::Subscription(
            RegisteredSubscription {
                record,
                lid,
                sl,
                path_bits,
                pkey_index,
            },
        ))])
    }

    fn parse_service(&mut self, line: &str) -> ParsedRecords {
        let mut fields = FieldReader(line);
        let service_id = fields.take(" id=")?;
        let service_gid = fields.gid(" gid=")?;
        let service_pkey = PKey(fields.take(" pkey=")?);
        let _: u32 = fields.take(" lease=")?;
        let service_key = fields.gid(" key=")?.0;
        let service_name = fields.name()?;
        let data8 = fields.gid(" data8=")?.0;
        let data16 = fields.gid(" data16=")?.0;
        let data32 = fields.gid(" data32=")?.0;
        let data64 = fields.gid(" data64=")?.0;
        let modified: u32 = fields.take(" modified_time=")?;
        let lease_s: u32 = fields.take(" lease_period=")?;
        let byte = |data: &[u8], at: usize| u64::from(data.get(at).copied().unwrap_or_default());
        let number = |data: &[u8], at: usize, len: usize| {
            (at..at + len).fold(0, |n: u64, i| n << 8 | byte(data, i))
        };
        let low16 = |n: u64| u16::try_from(n).unwrap_or_default();
        let low32 = |n: u64| u32::try_from(n).unwrap_or_default();
        let record = ServiceRecord {
            service_id,
            service_gid,
            service_pkey,
            service_lease_s: 0,
            service_key,
            service_name,
            data8,
            data16: core::array::from_fn(|i| low16(number(&data16, 2 * i, 2))),
            data32: core::array::from_fn(|i| low32(number(&data32, 4 * i, 4))),
            data64: core::array::from_fn(|i| number(&data64, 8 * i, 8)),
        };
        let expiry_unix_s = u64::from(modified) + u64::from(lease_s);
        Ok(vec![Record::Registration(Registration::Service(Box::new(
            RegisteredService {
                record,
                // `RecordChange::put` encodes at Unix time 0, so the remaining time is the Unix
                // time at which the lease expires.
                lease_remaining_s: (lease_s != ServiceRecord::FOREVER).then_some(expiry_unix_s),
                // The dump lacks the registering port: assume the port that provides the service.
                registered_by: service_gid.guid(),
            },
        )))])
    }

    fn parse_aliases(&mut self, line: &str) -> ParsedRecords {
        let mut fields = FieldReader(line);
        let port = PortGuid(fields.take(" base_guid=")?);
        let _: u16 = fields.take(" lid=")?;
        let block: u8 = fields.take(" block_num=")?;
        let mut records = Vec::new();
        for entry in 0..GUIDS_PER_BLOCK {
            let alias = PortGuid(fields.take(&format!(" guid{entry}="))?);
            let index = u16::from(block) * GUIDS_PER_BLOCK + entry;
            if index > 0 && alias != PortGuid(0) {
                records.push(Record::Registration(Registration::Alias(RegisteredAlias {
                    port,
                    index,
                    alias,
                })));
            }
        }
        Ok(records)
    }
}

fn split_words<'l, const N: usize>(
    line: &'l str,
    names: [&str; N],
) -> Result<[&'l str; N], String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let num_words = words.len();
    words
        .try_into()
        .map_err(|_| format!("{num_words} words, expected {N}: {}", names.join(", ")))
}

fn parse_hex(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").unwrap_or_default();
    u64::from_str_radix(digits, 16)
        .map_err(|_| format!("invalid number `{text}`: expected 0x and digits"))
}

fn guid(text: &str) -> Result<PortGuid, String> {
    match parse_hex(text)? {
        0 => Err("invalid GUID 0".to_owned()),
        guid => Ok(PortGuid(guid)),
    }
}

/// The rest of a line of `name=0x…` fields in fixed order.
struct FieldReader<'a>(&'a str);

impl FieldReader<'_> {
    /// Skips to the value of a field.
    fn skip_to(&mut self, name: &str) -> Result<(), String> {
        let at = self
            .0
            .find(name)
            .ok_or_else(|| format!("missing `{}`", name.trim_start()))?;
        self.0 = &self.0[at + name.len()..];
        Ok(())
    }

    fn number(&mut self, name: &str) -> Result<u64, String> {
        let end = self.0.find(|c: char| c.is_whitespace() || c == ':');
        let (text, rest) = self.0.split_at(end.unwrap_or(self.0.len()));
        self.0 = rest;
        parse_hex(text).map_err(|error| format!("{}: {error}", name.trim_start()))
    }

    fn take<T: TryFrom<u64>>(&mut self, name: &str) -> Result<T, String> {
        self.skip_to(name)?;
        let number = self.number(name)?;
        T::try_from(number)
            .map_err(|_| format!("{}: {number:#x} is out of range", name.trim_start()))
    }

    /// Two 64-bit numbers: a GID or another 16-byte value.
    fn gid(&mut self, name: &str) -> Result<Gid, String> {
        self.skip_to(name)?;
        let high = self.number(name)?;
        self.0 = self.0.strip_prefix(':').unwrap_or_default();
        let low = self.number(name)?;
        Ok(Gid((u128::from(high) << 64 | u128::from(low)).to_be_bytes()))
    }

    /// A name may contain any character; it ends where the next field starts.
    fn name(&mut self) -> Result<[u8; 64], String> {
        self.skip_to(" name='")?;
        let end = self.0.find("' data8=0x").ok_or("unterminated name")?;
        let (text, rest) = self.0.split_at(end);
        self.0 = &rest[1..];
        let mut name = [0; 64];
        let room = name.get_mut(..text.len()).ok_or("the name is too long")?;
        room.copy_from_slice(text.as_bytes());
        Ok(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrosm_core::records::RecordRestorer;
    use std::collections::BTreeMap;

    const DUMP: &str = "\
GUIDInfo Record: base_guid=0x0002c90300000001 lid=0x0004 block_num=0x0 guid0=0x0002c90300000001 guid1=0x0200000000000042 \
guid2=0x0000000000000000 guid3=0x0000000000000000 guid4=0x0000000000000000 guid5=0x0000000000000000 \
guid6=0x0000000000000000 guid7=0x0000000000000000

MC Group 0xc000  (well known): mgid=0xff12401bffff0000:0x00000000ffffffff port_gid=0x0000000000000000:0x0000000000000000 \
qkey=0x00000b1b mlid=0xc000 mtu=0x84 tclass=0x00 pkey=0xffff rate=0x83 pkt_life=0x92 sl_flow_hop=0x50001203 \
scope_state=0x21 proxy_join=0x0

mcm_port: port_gid=0xfe80000000000000:0x0002c90300000001 scope_state=0x21 proxy_join=0x1

InformInfo Record: subscriber_gid=0xfe80000000000000:0x0002c90300000001 subscriber_enum=0x0 InformInfo: \
gid=0x0000000000000000:0x0000000000000000 lid_range_begin=0xffff lid_range_end=0x0 is_generic=0x1 subscribe=0x1 \
trap_type=0xffff trap_num=0x40 qpn_resp_time_val=0x112 node_type=0x000004 rep_addr: lid=0x0004 path_bits=0x00 \
static_rate=0x00 remote_qp=0x00000001 remote_qkey=0x80010000 pkey_ix=0x0000 sl=0x03

InformInfo Record: subscriber_gid=0xfe80000000000000:0x0002c90300000001 subscriber_enum=0x0 InformInfo: \
gid=0x0000000000000000:0x0000000000000000 lid_range_begin=0xffff lid_range_end=0x0 is_generic=0x1 subscribe=0x1 \
trap_type=0xffff trap_num=0x41 qpn_resp_time_val=0x112 node_type=0x000004 rep_addr: lid=0x0004 path_bits=0x00 \
static_rate=0x00 remote_qp=0x00000001 remote_qkey=0x80010000 pkey_ix=0x0000 sl=0x03

# a remark
Service Record: id=0x0000000000000005 gid=0xfe80000000000000:0x0002c90300000001 pkey=0xffff lease=0x3c \
key=0x0000000000000000:0x0000000000000007 name='it's a disk' data8=0x0102030405060708:0x0000000000000000 \
data16=0x0001000200030004:0x0000000000000008 data32=0x0000000100000002:0x0000000000000004 \
data64=0x0000000000000001:0x0000000000000002 modified_time=0x3e8 lease_period=0x3c
";

    fn files(lids: &str, dump: &str) -> Vec<(StateFile, PathBuf, String)> {
        vec![
            (StateFile::Lids, "guid2lid".into(), lids.to_owned()),
            (StateFile::SaDump, "opensm-sa.dump".into(), dump.to_owned()),
        ]
    }

    fn errors_of(lids: &str, dump: &str) -> Vec<String> {
        let problems = parse(&files(lids, dump)).unwrap_err();
        problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn opensm_state_is_imported_as_records() {
        let lids = "0x0002c90300000001 0x0004 0x0007\n\n0x0002c90300000002 0x0009 0x0009\n\n";
        let mut records = BTreeMap::new();
        parse(&files(lids, DUMP)).unwrap().apply(&mut records);
        let mut restorer = RecordRestorer::new(1_010);
        for (key, value) in &records {
            restorer.put(key, value);
        }
        let (restored, left_out) = restorer.finish();
        assert_eq!(left_out, []);
        let (first, second) = (
            PortGuid(0x0002_c903_0000_0001),
            PortGuid(0x0002_c903_0000_0002),
        );
        assert_eq!(restored.lids[&first], (Lid(4), Lmc(2)));
        assert_eq!(restored.lids[&second], (Lid(9), Lmc(0)));
        let saved = restored.registrations;
        let [group, member] = &saved.members[..] else {
            panic!("{:?}", saved.members)
        };
        assert_eq!(
            (group.mlid, group.mtu, group.rate),
            (Lid(0xC000), MtuCode(4), RateCode(3))
        );
        assert_eq!((group.packet_life_time, group.sl), (18, Sl(5)));
        assert_eq!(
            (group.flow_label, group.hop_limit, group.scope),
            (0x12, 3, 2)
        );
        assert_eq!(
            (member.port_gid.guid(), member.join_state),
            (first, JoinState(1))
        );
        assert!(member.proxy_join);
        let subscriptions = saved.subscriptions.iter().map(|s| &s.record);
        let subscriptions: Vec<_> = subscriptions
            .map(|r| (r.subscriber_enum, r.trap_number, r.qpn, r.resp_time_value))
            .collect();
        assert_eq!(
            subscriptions,
            [(0, 64, Qpn(1), 0x12), (1, 65, Qpn(1), 0x12)]
        );
        let service = &saved.services[0];
        assert_eq!(service.lease_remaining_s, Some(50));
        assert_eq!(&service.record.service_name[..12], b"it's a disk\0");
        assert_eq!((service.record.data16[3], service.record.data16[7]), (4, 8));
        assert_eq!((service.record.data32[1], service.record.data64[1]), (2, 2));
        assert_eq!(saved.aliases.len(), 1);
        assert_eq!((saved.aliases[0].port, saved.aliases[0].index), (first, 1));
    }

    #[test]
    fn errors_are_reported_with_file_and_line() {
        for (line, message) in [
            (
                "0x1 0x4",
                "2 words, expected 3: port GUID, first LID, last LID",
            ),
            ("1 0x4 0x4", "invalid number `1`: expected 0x and digits"),
            ("0x0 0x4 0x4", "invalid GUID 0"),
            (
                "0x1 0x5 0x4",
                "0x0005 to 0x0004 is not the range of a base LID and LMC",
            ),
            (
                "0x1 0x5 0x6",
                "0x0005 to 0x0006 is not the range of a base LID and LMC",
            ),
            (
                "0x1 0x4 0x6",
                "0x0004 to 0x0006 is not the range of a base LID and LMC",
            ),
            ("0x1 0x10004 0x10004", "invalid LID 0x10004"),
            ("0x1 0xc000 0xc000", "invalid record"),
            ("0x1 0x0 0x0", "invalid record"),
            ("0x2 0x8 0x8", "LIDs overlap those in line 1"),
            ("0x2 0x8 0xf", "LIDs overlap those in line 1"),
            ("0x9 0x10 0x10", "duplicate of line 1"),
        ] {
            let lids = format!("0x9 0x8 0xb\n\n{line}\n");
            assert_eq!(
                errors_of(&lids, ""),
                [format!("guid2lid:3: {message}")],
                "{line}"
            );
        }
        let of_dump = |from: &str, to: &str| errors_of("", &DUMP.replacen(from, to, 1));
        assert_eq!(
            of_dump(" mlid=0xc000", ""),
            [
                "opensm-sa.dump:3: missing `mlid=`",
                "opensm-sa.dump:5: member without a group"
            ]
        );
        assert_eq!(
            of_dump("path_bits=0x00", "path_bits=0x100"),
            ["opensm-sa.dump:7: path_bits=: 0x100 is out of range"]
        );
        assert_eq!(
            of_dump("' data8", " data8"),
            ["opensm-sa.dump:12: unterminated name"]
        );
        assert_eq!(
            errors_of("", "MC Grip\n"),
            [
                "opensm-sa.dump:1: unknown record: expected a group, member, subscription, service or GUIDInfo"
            ]
        );
        assert_eq!(errors_of("x\ny\n", "z\n").len(), 3, "all errors at once");
    }

    #[test]
    fn m_keys_and_neighbours_are_imported() {
        let files = [
            (
                StateFile::MKeys,
                "guid2mkey".into(),
                "0x1 0x00000000000000ff\n\n".to_owned(),
            ),
            (
                StateFile::Neighbours,
                "neighbors".into(),
                "0x1:3 0x2:36\n\n0x2:36 0x1:3\n".to_owned(),
            ),
        ];
        let mut records = BTreeMap::new();
        parse(&files).unwrap().apply(&mut records);
        assert_eq!(records.len(), 3);
        let invalid = [(
            StateFile::Neighbours,
            "neighbors".into(),
            "0x1:3 0x2:256\n0x1 0x2\n".to_owned(),
        )];
        assert_eq!(parse(&invalid).unwrap_err().len(), 2);
    }
}
