//! Parsers of infiniband-diags' output; they share no code with ferrosm.
//!
//! They support the output of Debian's `ibnetdiscover`, `dump_fts -a -n`, `iblinkinfo -l`,
//! `ibtracert`, `sminfo` and `smpquery`. They reject lines that they cannot parse: skipped lines
//! could hide faults.

use std::collections::BTreeMap;

/// The outputs that [`crate::programs::judge`] checks.
#[derive(Debug)]
pub struct Observed {
    /// `ibnetdiscover`.
    pub net: Net,
    /// `dump_fts`.
    pub tables: Tables,
    /// `iblinkinfo`.
    pub links: Vec<Link>,
}

/// Kinds of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Switch,
    /// A channel adapter.
    Ca,
    /// A router, which is an end node in the subnet.
    Router,
}

/// A node of `ibnetdiscover`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub kind: Kind,
    /// Node GUID.
    pub guid: u64,
    /// NodeDescription.
    pub description: String,
    pub num_ports: u8,
    /// A switch's LID; 0 for others.
    pub lid: u16,
    /// A switch's LMC; 0 for others.
    pub lmc: u8,
    /// Ports with a link.
    pub ports: BTreeMap<u8, Port>,
}

impl Node {
    /// The node ID in the format of ibsim and SIM_HOST.
    #[must_use]
    pub fn id(&self) -> String {
        let letter = match self.kind {
            Kind::Switch => 'S',
            Kind::Ca => 'H',
            Kind::Router => 'R',
        };
        format!("{letter}-{:016x}", self.guid)
    }
}

/// A linked port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// Node GUID at the other end.
    pub peer: u64,
    /// Port at the other end.
    pub peer_port: u8,
    /// Base LID of a CA's or router's port; 0 on switches.
    pub lid: u16,
    /// LMC of a CA's or router's port; 0 on switches.
    pub lmc: u8,
}

/// The fabric in `ibnetdiscover`'s output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Net {
    /// By node GUID.
    pub nodes: BTreeMap<u64, Node>,
}

impl Net {
    /// Parses `ibnetdiscover`'s output.
    ///
    /// # Errors
    /// The line that cannot be parsed.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut net = Self::default();
        let mut current = None;
        for line in text.lines() {
            let parse_error = || format!("ibnetdiscover: cannot read: {line}");
            if line.starts_with('[') {
                let guid = current.ok_or_else(parse_error)?;
                let node = net.nodes.get_mut(&guid).ok_or_else(parse_error)?;
                let (number, port) = parse_port(line, node.kind).ok_or_else(parse_error)?;
                if node.ports.insert(number, port).is_some() {
                    return Err(format!("ibnetdiscover: port {number} twice: {line}"));
                }
            } else if let Some(node) = parse_node(line).ok_or_else(parse_error)? {
                current = Some(node.guid);
                if net.nodes.insert(node.guid, node).is_some() {
                    return Err(format!("ibnetdiscover: the same node twice: {line}"));
                }
            } else if line.trim().is_empty() {
                current = None;
            }
        }
        if net.nodes.is_empty() {
            Err("ibnetdiscover found no node".to_owned())
        } else {
            Ok(net)
        }
    }

    /// The switches.
    pub fn switches(&self) -> impl Iterator<Item = &Node> {
        self.nodes.values().filter(|node| node.kind == Kind::Switch)
    }

    /// The CAs and routers.
    pub fn hosts(&self) -> impl Iterator<Item = &Node> {
        self.nodes.values().filter(|node| node.kind != Kind::Switch)
    }

    /// Base LIDs and LMCs by (node GUID, port); switches have port 0.
    #[must_use]
    pub fn lids(&self) -> BTreeMap<(u64, u8), (u16, u8)> {
        let switches = self
            .switches()
            .map(|node| ((node.guid, 0), (node.lid, node.lmc)));
        let ports = self.hosts().flat_map(|node| {
            node.ports
                .iter()
                .map(|(&number, port)| ((node.guid, number), (port.lid, port.lmc)))
        });
        switches.chain(ports).collect()
    }

    /// The links between switches, each once; the lower (node GUID, port) comes first.
    #[must_use]
    pub fn switch_links(&self) -> Vec<((u64, u8), (u64, u8))> {
        let mut links = Vec::new();
        for node in self.switches() {
            for (&number, port) in &node.ports {
                let local = (node.guid, number);
                let remote = (port.peer, port.peer_port);
                let peer = self.nodes.get(&port.peer);
                if local < remote && peer.is_some_and(|peer| peer.kind == Kind::Switch) {
                    links.push((local, remote));
                }
            }
        }
        links
    }
}

/// `Some(None)` for lines of other kinds, `None` for a node line that cannot be parsed.
#[expect(
    clippy::option_option,
    reason = "distinguishes other lines from malformed node lines"
)]
fn parse_node(line: &str) -> Option<Option<Node>> {
    let (kind, remaining) = match line.split_once(['\t', ' ']) {
        Some(("Switch", rest)) => (Kind::Switch, rest),
        Some(("Ca", rest)) => (Kind::Ca, rest),
        Some(("Rt", rest)) => (Kind::Router, rest),
        _ => return Some(None),
    };
    let node = || {
        let (num_ports, remaining) = remaining.trim_start().split_once(' ')?;
        let (id, remaining) = quoted(remaining)?;
        let (description, remaining) = quoted(remaining)?;
        Some(Node {
            kind,
            guid: guid_of_id(id)?,
            description: description.to_owned(),
            num_ports: num_ports.parse().ok()?,
            lid: if kind == Kind::Switch {
                word_after(remaining, "lid")?.parse().ok()?
            } else {
                0
            },
            lmc: if kind == Kind::Switch {
                word_after(remaining, "lmc")?.parse().ok()?
            } else {
                0
            },
            ports: BTreeMap::new(),
        })
    };
    node().map(Some)
}

/// `[1](guid) "id"[2](guid) # ...`
fn parse_port(line: &str, kind: Kind) -> Option<(u8, Port)> {
    let number = line.strip_prefix('[')?.split_once(']')?.0.parse().ok()?;
    let (id, remaining) = quoted(line)?;
    let peer_port = remaining
        .strip_prefix('[')?
        .split_once(']')?
        .0
        .parse()
        .ok()?;
    let comment = remaining.split_once('#')?.1;
    let (lid, lmc) = if kind == Kind::Switch {
        (0, 0)
    } else {
        (
            word_after(comment, "lid")?.parse().ok()?,
            word_after(comment, "lmc")?.parse().ok()?,
        )
    };
    Some((
        number,
        Port {
            peer: guid_of_id(id)?,
            peer_port,
            lid,
            lmc,
        },
    ))
}

fn quoted(text: &str) -> Option<(&str, &str)> {
    text.split_once('"')?.1.split_once('"')
}

fn word_after<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut words = text.split_whitespace();
    words.find(|word| *word == name)?;
    words.next()
}

fn guid_of_id(id: &str) -> Option<u64> {
    u64::from_str_radix(id.split_once('-')?.1, 16).ok()
}

fn hex(word: &str) -> Option<u64> {
    u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()
}

/// Linear forwarding tables: output ports by switch GUID and LID, without entries that mean "no
/// port".
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tables(pub BTreeMap<u64, BTreeMap<u16, u8>>);

/// An entry that `dump_fts` omits: the last entry of a table, if its LID is a multiple of 64.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OmittedEntry {
    pub switch: u64,
    /// Its DR path in the format of `smpdump -D`.
    pub path: String,
    /// The LID, the first one of its block.
    pub lid: u16,
}

/// Number of entries in an LFT block.
pub const LFT_BLOCK: u16 = 64;

/// The entry that means "no port".
const NO_PORT: u8 = 255;

impl Tables {
    /// Parses the output of `dump_fts -a -n`.
    ///
    /// # Errors
    /// The line that cannot be parsed.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut tables = Self::default();
        let mut current = None;
        for line in text.lines() {
            let parse_error = || format!("dump_fts: cannot read: {line}");
            if line.starts_with("Unicast lids") {
                let guid = word_after(line, "guid")
                    .and_then(hex)
                    .ok_or_else(parse_error)?;
                current = Some(guid);
                tables.0.entry(guid).or_default();
            } else if line.starts_with("0x") {
                let mut words = line.split_whitespace();
                let lid = words
                    .next()
                    .and_then(hex)
                    .and_then(|lid| u16::try_from(lid).ok());
                let port: Option<u8> = words.next().and_then(|word| word.parse().ok());
                let (Some(lid), Some(port), Some(guid)) = (lid, port, current) else {
                    return Err(parse_error());
                };
                if port != NO_PORT {
                    tables.0.entry(guid).or_default().insert(lid, port);
                }
            }
        }
        Ok(tables)
    }

    /// The entries that `dump_fts` omitted from `text`.
    ///
    /// # Errors
    /// The line that cannot be parsed.
    pub fn omitted(text: &str) -> Result<Vec<OmittedEntry>, String> {
        // Unicast lids [0x0-0x90] of switch DR path slid 0; dlid 0; 0,1,3 guid 0x... (name):
        let read = |line: &str| {
            let last = hex(line.split_once('-')?.1.split_once(']')?.0)?;
            let lid = u16::try_from(last).ok()?;
            let switch = word_after(line, "guid").and_then(hex)?;
            let path = line.split_once(" guid ")?.0.rsplit(' ').next()?.to_owned();
            Some(OmittedEntry { switch, path, lid })
        };
        let mut entries = Vec::new();
        for line in text.lines().filter(|line| line.starts_with("Unicast lids")) {
            let end = read(line).ok_or_else(|| format!("dump_fts: cannot read: {line}"))?;
            if end.lid > 0 && end.lid.is_multiple_of(LFT_BLOCK) {
                entries.push(end);
            }
        }
        Ok(entries)
    }

    /// Adds an omitted entry: the first one of its block in the output of `smpdump`.
    ///
    /// # Errors
    /// The text that cannot be parsed.
    pub fn complete(&mut self, entry: &OmittedEntry, block: &str) -> Result<(), String> {
        let first = block
            .get(..2)
            .and_then(|byte| u8::from_str_radix(byte, 16).ok());
        let port = first.ok_or_else(|| format!("smpdump: cannot read: {block}"))?;
        if port != NO_PORT {
            self.0
                .entry(entry.switch)
                .or_default()
                .insert(entry.lid, port);
        }
        Ok(())
    }

    /// The output port of a switch for a LID.
    #[must_use]
    pub fn out(&self, switch: u64, lid: u16) -> Option<u8> {
        self.0.get(&switch)?.get(&lid).copied()
    }
}

/// A line of `iblinkinfo -l`: a port, with or without a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Node GUID (a CA's port GUID).
    pub guid: u64,
    /// Name of the node.
    pub name: String,
    /// LID of the port.
    pub lid: u16,
    pub port: u8,
    /// Logical state, such as `Active`.
    pub state: String,
    /// Physical state, such as `LinkUp`.
    pub physical: String,
    /// LID of the peer, if the port has a link.
    pub peer_lid: Option<u16>,
}

/// Parses the output of `iblinkinfo -l`.
///
/// # Errors
/// The line that cannot be parsed.
pub fn parse_links(text: &str) -> Result<Vec<Link>, String> {
    text.lines()
        .filter(|line| line.contains("==("))
        .map(|line| parse_link(line).ok_or_else(|| format!("iblinkinfo: cannot read: {line}")))
        .collect()
}

fn parse_link(line: &str) -> Option<Link> {
    let (here, remaining) = line.split_once("==(")?;
    let (state, there) = remaining.split_once(")==>")?;
    let guid = hex(here.split_whitespace().next()?)?;
    let (name, numbers) = quoted(here)?;
    let mut numbers = numbers
        .split(|c: char| !c.is_ascii_digit())
        .filter(|word| !word.is_empty());
    let lid = numbers.next()?.parse().ok()?;
    let port = numbers.next()?.parse().ok()?;
    let (logical, physical) = state.rsplit_once('/')?;
    let mut peer = there.split_whitespace();
    let peer_lid = match peer.next().and_then(hex) {
        Some(_) => Some(peer.next()?.parse().ok()?),
        None => None,
    };
    Some(Link {
        guid,
        name: name.trim().to_owned(),
        lid,
        port,
        state: logical.split_whitespace().last()?.to_owned(),
        physical: physical.trim().to_owned(),
        peer_lid,
    })
}

/// A path in `ibtracert`'s output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// Node GUID at the start.
    pub from: u64,
    /// Each hop: output port of the previous node, GUID of the next node, and its input port.
    pub hops: Vec<(u8, u64, u8)>,
    /// Node GUID at the end.
    pub to: u64,
}

impl Trace {
    /// Parses `ibtracert`'s output.
    ///
    /// # Errors
    /// The line that cannot be parsed, or a path without an end.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (mut from, mut to, mut hops): (_, _, Vec<(u8, u64, u8)>) = (None, None, Vec::new());
        let mut ends_at_host = false;
        for line in text.lines() {
            let parse_error = || format!("ibtracert: cannot read: {line}");
            if line.starts_with("From ") {
                from = Some(braced(line).ok_or_else(parse_error)?.0);
            } else if line.starts_with("To ") {
                to = Some(braced(line).ok_or_else(parse_error)?.0);
            } else if line.starts_with('[') {
                let hop = || {
                    let out = line.strip_prefix('[')?.split_once(']')?.0.parse().ok()?;
                    let (guid, remaining) = braced(line)?;
                    let port = remaining
                        .strip_prefix('[')?
                        .split_once(']')?
                        .0
                        .parse()
                        .ok()?;
                    Some((out, guid, port))
                };
                hops.push(hop().ok_or_else(parse_error)?);
                ends_at_host = !line.contains("-> switch port");
            }
        }
        let (Some(from), Some(to)) = (from, to) else {
            return Err(format!("ibtracert found no complete path: {text}"));
        };
        // For a hop to a host ibtracert prints the port GUID, for others the node GUID.
        if let (true, Some(last)) = (ends_at_host, hops.last_mut()) {
            last.1 = to;
        }
        Ok(Self { from, hops, to })
    }
}

fn braced(text: &str) -> Option<(u64, &str)> {
    let (guid, remaining) = text.split_once('{')?.1.split_once('}')?;
    Some((hex(guid)?, remaining))
}

/// The output of `sminfo`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmInfo {
    /// LID of the SM's port.
    pub lid: u16,
    /// GUID of the SM's port.
    pub guid: u64,
    /// ActCount.
    pub activity: u64,
    pub priority: u8,
    /// State, such as `SMINFO_MASTER`.
    pub state: String,
}

impl SmInfo {
    /// Parses the output of `sminfo`.
    ///
    /// # Errors
    /// The text that cannot be parsed.
    pub fn parse(text: &str) -> Result<Self, String> {
        let info = || {
            let text = text.replace(',', " ");
            let after = |name: &str| word_after(&text, name).map(str::to_owned);
            Some(Self {
                lid: after("lid")?.parse().ok()?,
                guid: hex(&after("guid")?)?,
                activity: after("count")?.parse().ok()?,
                priority: after("priority")?.parse().ok()?,
                state: text.split_whitespace().last()?.to_owned(),
            })
        };
        info().ok_or_else(|| format!("sminfo: cannot read: {text}"))
    }
}

/// Parses the `Name:.......value` lines of `smpquery`; the first line of a name counts.
#[must_use]
pub fn parse_smpquery(text: &str) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if let Some((name, value)) = line.split_once(':') {
            let value = value.trim_start_matches('.').to_owned();
            fields.entry(name.to_owned()).or_insert(value);
        }
    }
    fields
}
