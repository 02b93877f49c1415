//! Parsers of the routing dumps of OpenSM and ferrosm: links, LFTs, path SLs and SL-to-VL tables.
//!
//! They support `opensm-subnet.lst`, `opensm-lfts.dump`, `opensm-sl2vl.dump` and the path SL file
//! of `ibdmchk -c`, and share no code with the writers. They reject rows that they cannot parse:
//! skipped rows could hide faults. [`crate::programs::routing_judge`] checks the parsed dumps.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Table entry without a port.
pub const NO_PORT: u8 = 255;
/// Number of SLs.
const SLS: usize = 16;

/// A port: node GUID and port number.
pub type End = (u64, u8);

/// A node of `opensm-subnet.lst`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Node {
    /// Whether the node is a switch.
    pub switch: bool,
    /// Base LIDs by port; a switch has port 0.
    pub lids: BTreeMap<u8, u16>,
}

/// The contents of all files.
#[derive(Debug, Clone, Default)]
pub struct Dumps {
    /// By node GUID.
    pub nodes: BTreeMap<u64, Node>,
    /// Ports by port GUID; a switch has port 0.
    pub owners: BTreeMap<u64, End>,
    /// Each link in both directions.
    pub cables: BTreeMap<End, End>,
    /// LFTs by node GUID: the output port of each LID from 0, [`NO_PORT`] without a row.
    pub tables: BTreeMap<u64, Vec<u8>>,
    /// SL-to-VL tables by node GUID, input port and output port; `None` without a file (VL = SL).
    pub vls: Option<BTreeMap<(u64, u8, u8), [u8; SLS]>>,
    /// Path SLs by the sender's port (0: all ports of the node), then by destination LID; `None`
    /// without a file (SL 0).
    pub sls: Option<BTreeMap<End, Vec<u8>>>,
}

/// Names of the dump files.
pub mod names {
    /// Links.
    pub const SUBNET: &str = "opensm-subnet.lst";
    /// LFTs in the format of `ibdmchk`.
    pub const FDBS: &str = "opensm.fdbs";
    /// LFTs in the format of OpenSM's engine `file`.
    pub const LFTS: &str = "opensm-lfts.dump";
    /// SL-to-VL tables.
    pub const SL2VL: &str = "opensm-sl2vl.dump";
    /// Path SLs.
    pub const PATH_SL: &str = "opensm-path-sl.dump";
}

impl Dumps {
    /// Reads a dump directory. The files of SLs and VLs are optional.
    ///
    /// # Errors
    /// The file that cannot be read, or the row that cannot be parsed.
    pub fn read(dir: &Path) -> Result<Self, String> {
        let mut dumps = Self::default();
        dumps.read_subnet(&text(dir, names::SUBNET)?)?;
        dumps.read_tables(&text(dir, names::LFTS)?)?;
        if dir.join(names::SL2VL).is_file() {
            dumps.read_sl2vl(&text(dir, names::SL2VL)?)?;
        }
        if dir.join(names::PATH_SL).is_file() {
            dumps.read_path_sls(&text(dir, names::PATH_SL)?)?;
        }
        Ok(dumps)
    }

    /// The SL of packets from a port to a LID; `None` if the file has no row.
    #[must_use]
    pub fn sl(&self, from: End, lid: u16) -> Option<u8> {
        let Some(sls) = &self.sls else {
            return Some(0);
        };
        let row = sls.get(&from).or_else(|| sls.get(&(from.0, 0)))?;
        row.get(usize::from(lid))
            .copied()
            .filter(|&sl| sl != NO_PORT)
    }

    /// Number of end nodes with ports on several switches; `ibdmchk` does not distinguish the SLs
    /// of their ports.
    #[must_use]
    pub fn end_nodes_on_several_switches(&self) -> usize {
        let ends = self.nodes.iter().filter(|(_, node)| !node.switch);
        let homes = ends.map(|(&guid, _)| {
            let ports = self.cables.range((guid, 0)..=(guid, u8::MAX));
            ports.map(|(_, there)| there.0).collect::<BTreeSet<u64>>()
        });
        homes.filter(|homes| homes.len() > 1).count()
    }

    /// Parses rows `{ half } { half } PHY=.. LOG=.. SPD=..`.
    fn read_subnet(&mut self, text: &str) -> Result<(), String> {
        for line in text.lines() {
            let read = || {
                let (here, remaining) = half(line)?;
                let (there, _) = half(remaining)?;
                Some((here, there))
            };
            let (local, remote) = read().ok_or_else(|| unreadable_line(names::SUBNET, line))?;
            for end in [&local, &remote] {
                let node = self.nodes.entry(end.guid).or_default();
                node.switch = end.switch;
                let port = if end.switch { 0 } else { end.port };
                node.lids.insert(port, end.lid);
                self.owners.insert(end.port_guid, (end.guid, port));
            }
            let from = (local.guid, local.port);
            let to = (remote.guid, remote.port);
            if self.cables.insert(from, to).is_some() {
                return Err(format!("{}: duplicate port: {line}", names::SUBNET));
            }
        }
        let one_way = self
            .cables
            .iter()
            .find(|(from, to)| self.cables.get(to) != Some(from));
        match one_way {
            Some((from, to)) => Err(format!(
                "{}: {from:x?} to {to:x?} and not back",
                names::SUBNET
            )),
            None => Ok(()),
        }
    }

    /// Parses a heading for each switch, and a row for each LID with a route.
    fn read_tables(&mut self, text: &str) -> Result<(), String> {
        let mut current = None;
        for line in text.lines() {
            if line.starts_with("Unicast lids") {
                let guid = word_after(line, "guid")
                    .and_then(hex64)
                    .ok_or_else(|| unreadable_line(names::LFTS, line))?;
                if self.tables.insert(guid, Vec::new()).is_some() {
                    return Err(format!("{}: duplicate switch: {line}", names::LFTS));
                }
                current = Some(guid);
            } else if line.starts_with("0x") {
                let row = || {
                    let mut words = line.split_whitespace();
                    let lid = u16::try_from(hex64(words.next()?)?).ok()?;
                    let port: u8 = words.next()?.parse().ok()?;
                    Some((lid, port))
                };
                let (lid, port) = row().ok_or_else(|| unreadable_line(names::LFTS, line))?;
                let table = current
                    .and_then(|guid| self.tables.get_mut(&guid))
                    .ok_or_else(|| unreadable_line(names::LFTS, line))?;
                put(table, lid, port);
            } else if !line.is_empty() && !line.ends_with("lids dumped") {
                return Err(unreadable_line(names::LFTS, line));
            }
        }
        Ok(())
    }

    /// Parses OpenSM's format, `Switch 0x.., base LID .., ".."` and `in out : vl vl ..`, or rows
    /// `0xguid in out 0x01 0x23 ..`.
    fn read_sl2vl(&mut self, text: &str) -> Result<(), String> {
        let mut vls = BTreeMap::new();
        let mut current = None;
        for line in text.lines() {
            let parse_error = || unreadable_line(names::SL2VL, line);
            if let Some(guid) = heading(line) {
                current = Some(
                    self.port_of(guid.ok_or_else(parse_error)?)
                        .ok_or_else(parse_error)?
                        .0,
                );
            } else if line.starts_with("0x") {
                let (at, map) = packed_row(line).ok_or_else(parse_error)?;
                vls.insert(at, map);
            } else if line.starts_with(|c: char| c.is_ascii_digit()) {
                let (input, output, map) = spaced_row(line).ok_or_else(parse_error)?;
                let guid = current.ok_or_else(parse_error)?;
                vls.insert((guid, input, output), map);
            } else if !line.trim().is_empty() && !line.starts_with(['#', '-']) {
                return Err(parse_error());
            }
        }
        self.vls = Some(vls);
        Ok(())
    }

    /// Parses rows `0xnodeguid dlid sl`, or headings `Channel Adapter 0xportguid, ..` and rows
    /// `0xDLID : sl`.
    fn read_path_sls(&mut self, text: &str) -> Result<(), String> {
        let mut sls: BTreeMap<End, Vec<u8>> = BTreeMap::new();
        let mut current = None;
        for line in text.lines() {
            let parse_error = || unreadable_line(names::PATH_SL, line);
            if let Some(guid) = heading(line) {
                current = Some(
                    self.port_of(guid.ok_or_else(parse_error)?)
                        .ok_or_else(parse_error)?,
                );
                continue;
            }
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let words: Vec<&str> = line.split_whitespace().collect();
            let row = match words.as_slice() {
                [lid, ":", sl] => (current, hex64(lid), sl.parse().ok()),
                [guid, lid, sl] => (
                    hex64(guid).map(|guid| (guid, 0)),
                    lid.parse().ok(),
                    sl.parse().ok(),
                ),
                _ => (None, None, None),
            };
            let (Some(from), Some(lid), Some(sl)) = row else {
                return Err(parse_error());
            };
            let lid = u16::try_from(lid).map_err(|_| parse_error())?;
            put(sls.entry(from).or_default(), lid, sl);
        }
        self.sls = Some(sls);
        Ok(())
    }

    /// The port with this GUID.
    fn port_of(&self, guid: u64) -> Option<End> {
        self.owners.get(&guid).copied()
    }
}

/// One half of a row of `opensm-subnet.lst`.
struct Half {
    switch: bool,
    guid: u64,
    port_guid: u64,
    lid: u16,
    port: u8,
}

fn half(text: &str) -> Option<(Half, &str)> {
    let (_, text) = text.split_once("{ ")?;
    // Descriptions contain no braces: the writers replace them.
    let after_name = text.find("} LID:")?;
    let end = after_name + text.get(after_name..)?.find(" }")?;
    let (inner, remaining) = text.split_at(end);
    let field = |name: &str| {
        let (_, after) = inner.rsplit_once(name)?;
        u64::from_str_radix(after.split_whitespace().next()?, 16).ok()
    };
    let half = Half {
        switch: inner.starts_with("SW"),
        guid: field("NodeGUID:")?,
        port_guid: field("PortGUID:")?,
        lid: u16::try_from(field("} LID:")?).ok()?,
        port: u8::try_from(field(" PN:")?).ok()?,
    };
    Some((half, remaining))
}

/// `Some(None)` for a heading without a GUID.
#[expect(
    clippy::option_option,
    reason = "distinguishes other lines from headings without a GUID"
)]
fn heading(line: &str) -> Option<Option<u64>> {
    let remaining = ["Switch ", "Channel Adapter ", "Router "]
        .iter()
        .find_map(|kind| line.strip_prefix(kind))?;
    Some(remaining.split_once(',').and_then(|(guid, _)| hex64(guid)))
}

fn spaced_row(line: &str) -> Option<(u8, u8, [u8; SLS])> {
    let (ports, vls) = line.split_once(':')?;
    let mut ports = ports.split_whitespace().map(str::parse);
    let input = ports.next()?.ok()?;
    let output = ports.next()?.ok()?;
    let vls: Result<Vec<u8>, _> = vls.split_whitespace().map(str::parse).collect();
    Some((input, output, vls.ok()?.try_into().ok()?))
}

fn packed_row(line: &str) -> Option<((u64, u8, u8), [u8; SLS])> {
    let mut words = line.split_whitespace();
    let at = (
        hex64(words.next()?)?,
        words.next()?.parse().ok()?,
        words.next()?.parse().ok()?,
    );
    let mut vls = Vec::new();
    for word in words {
        let both = u8::try_from(hex64(word)?).ok()?;
        vls.extend([both >> 4, both & 15]);
    }
    Some((at, vls.try_into().ok()?))
}

fn put(table: &mut Vec<u8>, lid: u16, value: u8) {
    let at = usize::from(lid);
    if table.len() <= at {
        table.resize(at + 1, NO_PORT);
    }
    table[at] = value;
}

fn text(dir: &Path, name: &str) -> Result<String, String> {
    let file = dir.join(name);
    let bytes = fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn unreadable_line(file: &str, line: &str) -> String {
    format!("{file}: cannot read: {line}")
}

fn word_after<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut words = text.split_whitespace();
    words.find(|word| *word == name)?;
    words.next()
}

fn hex64(word: &str) -> Option<u64> {
    u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CABLE: &str = "\
{ CA Ports:01 SystemGUID:0000000000000010 NodeGUID:0000000000000010 PortGUID:0000000000000011 VenID:0002C9 DevID:101B Rev:00000000 {n1 mlx5_0} LID:0007 PN:01 } { SW Ports:28 SystemGUID:0000000000000200 NodeGUID:0000000000000200 PortGUID:0000000000000200 VenID:000002C9 DevID:D2F00000 Rev:000000A0 {leaf1} LID:0002 PN:05 } PHY=4x LOG=ACT SPD=50
{ SW Ports:28 SystemGUID:0000000000000200 NodeGUID:0000000000000200 PortGUID:0000000000000200 VenID:0002C9 DevID:D2F0 Rev:000000A0 {leaf1} LID:0002 PN:05 } { CA Ports:01 SystemGUID:0000000000000010 NodeGUID:0000000000000010 PortGUID:0000000000000011 VenID:000002C9 DevID:101B0000 Rev:00000000 {n1 mlx5_0} LID:0007 PN:01 } PHY=4x LOG=ACT SPD=50
";

    fn one_cable() -> Dumps {
        let mut dumps = Dumps::default();
        dumps.read_subnet(CABLE).unwrap();
        dumps
    }

    #[test]
    fn both_ends_of_a_link_are_read() {
        let dumps = one_cable();
        assert_eq!(dumps.cables[&(0x10, 1)], (0x200, 5));
        assert_eq!(
            (dumps.nodes[&0x10].lids[&1], dumps.nodes[&0x200].lids[&0]),
            (7, 2)
        );
        assert!(dumps.nodes[&0x200].switch && !dumps.nodes[&0x10].switch);
    }

    #[test]
    fn link_with_one_end_is_rejected() {
        let half = CABLE.lines().next().unwrap();
        assert!(
            Dumps::default()
                .read_subnet(half)
                .unwrap_err()
                .contains("not back")
        );
    }

    #[test]
    fn lft_gaps_mean_no_route() {
        let mut dumps = one_cable();
        let text = "Unicast lids [0-9] of switch Lid 2 guid 0x0000000000000200 ('leaf1'):\n\
            0x0002 000 # Switch portguid 0x0000000000000200: 'leaf1'\n\
            0x0007 005 # Channel Adapter portguid 0x0000000000000011: 'n1 mlx5_0'\n9 lids dumped\n";
        dumps.read_tables(text).unwrap();
        assert_eq!(
            dumps.tables[&0x200],
            [NO_PORT, NO_PORT, 0, NO_PORT, NO_PORT, NO_PORT, NO_PORT, 5]
        );
        assert!(
            dumps.read_tables("0x0007 005").is_err(),
            "a row without a switch"
        );
    }

    #[test]
    fn sl_to_vl_tables_are_read_in_both_ibdmchk_formats() {
        let mut dumps = one_cable();
        let row: Vec<String> = (0..16).map(|vl| vl.to_string()).collect();
        let text = format!(
            "Switch 0x0000000000000200, base LID 2, \"leaf1\"\n#in out : 0\n---\n5   6   : {}\n",
            row.join("  ")
        );
        dumps.read_sl2vl(&text).unwrap();
        let identity: Vec<u8> = (0..16).collect();
        assert_eq!(
            dumps.vls.as_ref().unwrap()[&(0x200, 5, 6)].as_slice(),
            identity
        );
        dumps
            .read_sl2vl("0x0000000000000200 5 6 0x01 0x23 0x45 0x67 0x89 0xab 0xcd 0xef")
            .unwrap();
        assert_eq!(
            dumps.vls.as_ref().unwrap()[&(0x200, 5, 6)].as_slice(),
            identity
        );
        dumps.read_path_sls("0x0000000000000010 7 3\n").unwrap();
        assert_eq!(dumps.sl((0x10, 1), 7), Some(3));
        dumps
            .read_path_sls("Channel Adapter 0x0000000000000011, base LID 7, \"n1\"\n0x0007 : 4\n")
            .unwrap();
        assert_eq!(dumps.sl((0x10, 1), 7), Some(4));
        assert_eq!(dumps.sl((0x10, 1), 6), None);
        assert!(dumps.read_path_sls("0x10 7").is_err());
    }
}
