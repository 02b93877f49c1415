//! Reader of ibnetdiscover's and ibsim's format: lines to records.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use ferrosm_mad::attr::NodeType;
use ferrosm_mad::ids::{Lid, Lmc, NodeGuid, PortGuid, SystemImageGuid};

use super::diagnostics::{Diagnostics, SourceLine};
use super::error::{ReadErrorKind, WarningKind};
use super::line::{self, Guid, IbnetLine, PortLid, Rate};
use super::source::{Sources, bare};
use crate::spec::{NodeOptions, NodeSpec};

/// A node record.
#[derive(Debug)]
pub(super) struct IbnetRecord<'a> {
    pub(super) at: SourceLine,
    pub(super) id: Cow<'a, str>,
    pub(super) spec: NodeSpec,
    /// ibsim's default rate at this record.
    pub(super) rate: Rate,
    pub(super) ports: Vec<PortLine<'a>>,
}

/// A port of a link as its node describes it.
#[derive(Debug)]
pub(super) struct PortLine<'a> {
    pub(super) port: u8,
    pub(super) at: SourceLine,
    /// With a leading `@` if it is an alias.
    pub(super) peer: Cow<'a, str>,
    pub(super) peer_port: u8,
    pub(super) rate: Rate,
    /// The rate is incomplete.
    pub(super) rate_unknown: bool,
    /// LID of the other port.
    pub(super) peer_lid: Lid,
}

/// Records of a file before both ports of each link are combined.
#[derive(Debug, Default)]
pub(super) struct IbnetRecords<'a> {
    pub(super) list: Vec<IbnetRecord<'a>>,
    pub(super) by_id: BTreeMap<Cow<'a, str>, usize>,
    /// Aliases of ports, without the leading `@`.
    pub(super) aliases: BTreeMap<&'a str, (usize, u8)>,
    /// Whether a record was invalid, so that links to it are not errors.
    pub(super) has_skipped_record: bool,
}

/// The next GUID of a node type, and the base of relative GUIDs.
#[derive(Debug, Clone, Copy)]
struct GuidCounter {
    next: u64,
    base: u64,
}

impl GuidCounter {
    const fn from(base: u64) -> Self {
        Self { next: base, base }
    }
}

/// The record that port lines belong to.
#[derive(Debug, Clone, Copy)]
enum Current {
    None,
    Record(usize),
    /// A repetition of an earlier record.
    Again(usize),
    /// An invalid record, whose port lines are ignored.
    Skipped,
}

/// Limit on included files: files that include others twice would double the work at every level.
const MAX_INCLUDES: usize = 256;

struct Reader<'a, 's> {
    sources: &'a Sources,
    /// Number of includes so far.
    includes: usize,
    diagnostics: &'s mut Diagnostics,
    records: IbnetRecords<'a>,
    current: Current,
    switch_guids: GuidCounter,
    ca_guids: GuidCounter,
    router_guids: GuidCounter,
    /// Values of the next record.
    port0_guid: Option<u64>,
    vendor: u32,
    system_image: Option<u64>,
    /// Values of all following records.
    device: u16,
    rate: Rate,
    module: &'a str,
    /// Texts in the place of LIDs that were reported.
    ignored_lids: BTreeSet<&'a str>,
}

/// Reads all lines of a file and of its includes.
pub(super) fn records<'a>(sources: &'a Sources, diagnostics: &mut Diagnostics) -> IbnetRecords<'a> {
    let mut reader = Reader {
        sources,
        includes: 0,
        diagnostics,
        records: IbnetRecords::default(),
        current: Current::None,
        // ibsim's base GUIDs.
        switch_guids: GuidCounter::from(0x20_0000),
        ca_guids: GuidCounter::from(0x10_0000),
        router_guids: GuidCounter::from(0),
        port0_guid: None,
        vendor: 0,
        system_image: None,
        device: 0,
        rate: Rate::default(),
        module: "",
        ignored_lids: BTreeSet::new(),
    };
    reader.file(0, 0);
    reader.records
}

impl<'a> Reader<'a, '_> {
    fn file(&mut self, file: usize, depth: usize) {
        let sources = self.sources;
        for (index, line) in sources.files[file].1.split('\n').enumerate() {
            let at = SourceLine::new(file, index + 1);
            let text = bare(line);
            match line::parse(text) {
                Ok(line) => {
                    if let Err(kind) = self.line(at, line, depth) {
                        self.diagnostics.error(at, kind);
                    }
                }
                Err(kind) => {
                    // Port lines after an invalid node line belong to no record.
                    if line::header(text).is_some() {
                        self.skip();
                    }
                    self.diagnostics.error(at, kind);
                }
            }
        }
    }

    fn skip(&mut self) {
        self.current = Current::Skipped;
        self.records.has_skipped_record = true;
    }

    fn line(
        &mut self,
        at: SourceLine,
        line: IbnetLine<'a>,
        depth: usize,
    ) -> Result<(), ReadErrorKind> {
        match line {
            IbnetLine::Node {
                kind,
                ports,
                id,
                description,
                lid,
                enhanced,
            } => {
                self.report_ignored_lid(at, &lid);
                let result = self.node(at, kind, ports, id, description, lid, enhanced);
                if result.is_err() {
                    self.skip();
                }
                result?;
            }
            IbnetLine::Port {
                port,
                guid,
                peer,
                lid,
                peer_lid,
                rate,
                unknown_rate,
            } => {
                for lid in lid.iter().chain(&peer_lid) {
                    self.report_ignored_lid(at, lid);
                }
                if let Some(text) = unknown_rate {
                    self.diagnostics
                        .warn(at, WarningKind::UnknownRate(text.to_owned()));
                }
                self.port(
                    at,
                    port,
                    guid,
                    peer,
                    lid,
                    peer_lid,
                    rate,
                    unknown_rate.is_some(),
                )?;
            }
            IbnetLine::Alias { port, name } => self.alias(port, name)?,
            IbnetLine::Guid { kind, guid, port0 } => {
                let counter = self.guids(kind);
                match guid {
                    Guid::At(base) => *counter = GuidCounter::from(base),
                    Guid::Plus(n) => counter.next = counter.base.wrapping_add(n),
                }
                self.port0_guid = port0;
            }
            IbnetLine::Vendor(vendor) => self.vendor = vendor,
            IbnetLine::Device(device) => self.device = device,
            IbnetLine::SystemImage(guid) => self.system_image = Some(guid),
            IbnetLine::Width(bits) => self.rate.width = line::width_of(bits),
            IbnetLine::Speed(bits) => self.rate.speed = line::speed_of(bits),
            IbnetLine::ExtSpeed(bits) => {
                self.rate.speed = line::ext_speed_of(bits).or(self.rate.speed)
            }
            IbnetLine::Module(prefix) => self.module = prefix,
            IbnetLine::Include(name) => self.include(name, depth)?,
            IbnetLine::Command(text) => self
                .diagnostics
                .warn(at, WarningKind::Command(text.to_owned())),
            // Prompts and banners may precede the first record.
            IbnetLine::Unknown if matches!(self.current, Current::None) => {}
            IbnetLine::Unknown => self.diagnostics.warn(at, WarningKind::Unknown),
            IbnetLine::Other => {}
        }
        Ok(())
    }

    /// Reports each text once: neighbours repeat the LID of a switch.
    fn report_ignored_lid(&mut self, at: SourceLine, lid: &PortLid<'a>) {
        if let Some(text) = lid.ignored
            && self.ignored_lids.insert(text)
        {
            self.diagnostics
                .warn(at, WarningKind::IgnoredLid(text.to_owned()));
        }
    }

    fn include(&mut self, name: &str, depth: usize) -> Result<(), ReadErrorKind> {
        self.includes += 1;
        let included = if self.includes > MAX_INCLUDES {
            Err(format!("files are included more than {MAX_INCLUDES} times"))
        } else {
            self.sources.included(name, depth)
        };
        let file = included.map_err(|error| ReadErrorKind::Include {
            name: name.to_owned(),
            reason: error,
        })?;
        self.file(file, depth + 1);
        Ok(())
    }

    fn guids(&mut self, kind: NodeType) -> &mut GuidCounter {
        match kind {
            NodeType::Switch => &mut self.switch_guids,
            NodeType::Router => &mut self.router_guids,
            _ => &mut self.ca_guids,
        }
    }

    /// The full ID of a node: within a module, IDs without `#` get its prefix.
    fn full_id(&self, id: &'a str) -> Cow<'a, str> {
        if self.module.is_empty() || id.contains('#') {
            Cow::Borrowed(id)
        } else {
            Cow::Owned(format!("{}#{id}", self.module))
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of one kind of line")]
    fn node(
        &mut self,
        at: SourceLine,
        kind: NodeType,
        num_ports: u8,
        id: &'a str,
        description: Option<&str>,
        lid: PortLid<'_>,
        enhanced: bool,
    ) -> Result<(), ReadErrorKind> {
        let id = self.full_id(id);
        let is_switch = kind == NodeType::Switch;
        let counter = self.guids(kind);
        let guid = counter.next;
        counter.next = guid.wrapping_add(if is_switch {
            1
        } else {
            u64::from(num_ports) + 1
        });
        let port0_guid = self.port0_guid.take();
        let system_image = self.system_image.take();
        let vendor_id = core::mem::take(&mut self.vendor);
        if let Some(index) = self.records.by_id.get(&id).copied() {
            return self.repeated_node(at, index, kind, num_ports);
        }
        // ibdiagnet names a node by its port GUID, not by its node GUID: a GUID in the node ID that
        // differs from the node GUID is the port GUID.
        let port_in_id = id
            .get(2..)
            .filter(|hex| hex.len() == 16)
            .and_then(|hex| u64::from_str_radix(hex, 16).ok());
        let port_guids: Vec<PortGuid> = if is_switch {
            vec![PortGuid(port0_guid.unwrap_or(guid))]
        } else {
            (1..=num_ports)
                .map(|p| PortGuid(guid.wrapping_add(u64::from(p))))
                .collect()
        };
        let mut spec = NodeSpec {
            kind,
            description: description.unwrap_or(&id).to_owned(),
            node_guid: NodeGuid(guid),
            system_image_guid: SystemImageGuid(system_image.unwrap_or(guid)),
            num_ports,
            lids: vec![(Lid::NONE, Lmc(0)); port_guids.len()],
            port_guids,
            enhanced_port0: is_switch && enhanced,
            vendor_id,
            device_id: self.device,
            options: NodeOptions::default(),
        };
        if is_switch {
            spec.lids[0] = (lid.lid, lid.lmc);
        }
        if let Some(port_guid) = port_in_id.filter(|g| *g != guid)
            && (!is_switch || port0_guid.is_none_or(|g| g == guid))
        {
            spec.port_guids[0] = PortGuid(port_guid);
        }
        let index = self.records.list.len();
        self.records.by_id.insert(id.clone(), index);
        self.current = Current::Record(index);
        self.records.list.push(IbnetRecord {
            at,
            id,
            spec,
            rate: self.rate,
            ports: Vec::new(),
        });
        Ok(())
    }

    /// A repeated node record: parts of concatenated files can overlap.
    fn repeated_node(
        &mut self,
        at: SourceLine,
        index: usize,
        kind: NodeType,
        num_ports: u8,
    ) -> Result<(), ReadErrorKind> {
        let record = &self.records.list[index];
        let id = record.id.clone().into_owned();
        let first = record.at.line();
        if record.spec.kind != kind || record.spec.num_ports != num_ports {
            return Err(ReadErrorKind::DuplicateNode { id, first });
        }
        self.diagnostics
            .warn(at, WarningKind::RepeatedNode { id, first });
        self.current = Current::Again(index);
        Ok(())
    }

    fn alias(&mut self, port: u8, name: &'a str) -> Result<(), ReadErrorKind> {
        let node = match self.current {
            Current::None => return Err(ReadErrorKind::PortWithoutNode),
            Current::Skipped => return Ok(()),
            Current::Record(node) | Current::Again(node) => node,
        };
        let name = name.trim_start_matches('@');
        let owner = *self.records.aliases.entry(name).or_insert((node, port));
        if owner == (node, port) {
            Ok(())
        } else {
            Err(ReadErrorKind::DuplicateAlias(name.to_owned()))
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of one kind of line")]
    fn port(
        &mut self,
        at: SourceLine,
        port: u8,
        guid: Option<u64>,
        peer: Option<(&'a str, u8)>,
        lid: Option<PortLid<'_>>,
        peer_lid: Option<PortLid<'_>>,
        rate: Rate,
        rate_unknown: bool,
    ) -> Result<(), ReadErrorKind> {
        let (index, repeated_node) = match self.current {
            Current::None => return Err(ReadErrorKind::PortWithoutNode),
            Current::Skipped => return Ok(()),
            Current::Record(index) => (index, false),
            Current::Again(index) => (index, true),
        };
        let peer = peer.map(|(id, peer_port)| {
            let alias = id.starts_with('@').then_some(Cow::Borrowed(id));
            (alias.unwrap_or_else(|| self.full_id(id)), peer_port)
        });
        let record = &mut self.records.list[index];
        let ports = record.spec.num_ports;
        if port == 0 || port > ports {
            let id = record.id.clone().into_owned();
            return Err(ReadErrorKind::NoSuchPort { id, port, ports });
        }
        if record.spec.kind != NodeType::Switch && !repeated_node {
            let end = usize::from(port - 1);
            if let Some(guid) = guid {
                record.spec.port_guids[end] = PortGuid(guid);
            }
            if let Some(lid) = lid {
                record.spec.lids[end] = (lid.lid, lid.lmc);
            }
        }
        let Some((peer, peer_port)) = peer else {
            return Ok(());
        };
        match record.ports.binary_search_by_key(&port, |p| p.port) {
            Ok(slot) => {
                let old = &record.ports[slot];
                let id = record.id.clone().into_owned();
                let first = old.at.line();
                if old.peer != peer || old.peer_port != peer_port {
                    return Err(ReadErrorKind::DuplicatePort { id, port, first });
                }
                if !repeated_node {
                    self.diagnostics
                        .warn(at, WarningKind::RepeatedPort { id, port, first });
                }
            }
            Err(slot) => record.ports.insert(
                slot,
                PortLine {
                    port,
                    at,
                    peer,
                    peer_port,
                    rate,
                    rate_unknown,
                    peer_lid: peer_lid.map_or(Lid::NONE, |lid| lid.lid),
                },
            ),
        }
        Ok(())
    }
}
