//! The reader: lines to nodes, then both ends of every cable to one link.

use std::collections::BTreeMap;

use ferrosm_mad::attr::{LinkSpeed, LinkWidth, NodeType};
use ferrosm_mad::ids::{Lid, Lmc, NodeGuid, PortGuid, SystemImageGuid};

use super::error::{ReadError, ReadErrorKind};
use super::line::{self, Guid, Line, Rate};
use crate::spec::{FabricSpec, LinkSpec, NodeSpec, PortAt};

/// Reads a fabric from text; nodes keep the order of the file.
///
/// Where the file is silent: GUIDs count as ibsim counts them, the system image GUID is the node's
/// GUID, links are 4x SDR, no LID.
///
/// # Errors
/// [`ReadError`]: the first thing wrong, with its line.
pub fn read(text: &str) -> Result<FabricSpec, ReadError> {
    let mut reader = Reader::default();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut last = 1;
    for (index, line) in text.split('\n').enumerate() {
        last = if line.is_empty() { last } else { index + 1 };
        reader.line(index + 1, line).map_err(|kind| ReadError {
            line: index + 1,
            kind,
        })?;
    }
    if reader.records.is_empty() {
        return Err(ReadError {
            line: last,
            kind: ReadErrorKind::NoNodes,
        });
    }
    reader.finish()
}

/// A node record.
#[derive(Debug)]
struct Record {
    line: usize,
    id: String,
    spec: NodeSpec,
    /// ibsim's defaults that held at this record.
    rate: Rate,
    ports: BTreeMap<u8, PortLine>,
}

/// One end of a cable, as its node describes it.
#[derive(Debug)]
struct PortLine {
    line: usize,
    peer: String,
    peer_port: u8,
    rate: Rate,
}

/// The next GUID of a kind of node, and where relative ones count from.
#[derive(Debug, Clone, Copy)]
struct GuidCounter {
    next: u64,
    absolute: u64,
}

impl GuidCounter {
    const fn from(base: u64) -> Self {
        Self {
            next: base,
            absolute: base,
        }
    }
}

#[derive(Debug)]
struct Reader {
    records: Vec<Record>,
    by_id: BTreeMap<String, usize>,
    /// Names of ports, without the leading `@`.
    aliases: BTreeMap<String, (usize, u8)>,
    switch_guids: GuidCounter,
    ca_guids: GuidCounter,
    router_guids: GuidCounter,
    /// Of the next record.
    port0_guid: Option<u64>,
    vendor: u32,
    system_image: Option<u64>,
    /// Of all records to come.
    device: u16,
    rate: Rate,
    module: String,
}

impl Default for Reader {
    fn default() -> Self {
        Self {
            records: Vec::new(),
            by_id: BTreeMap::new(),
            aliases: BTreeMap::new(),
            // ibsim's own bases.
            switch_guids: GuidCounter::from(0x20_0000),
            ca_guids: GuidCounter::from(0x10_0000),
            router_guids: GuidCounter::from(0),
            port0_guid: None,
            vendor: 0,
            system_image: None,
            device: 0,
            rate: Rate::default(),
            module: String::new(),
        }
    }
}

impl Reader {
    fn line(&mut self, at: usize, text: &str) -> Result<(), ReadErrorKind> {
        match line::parse(text)? {
            Line::Node {
                kind,
                ports,
                id,
                description,
                lid,
                enhanced,
            } => {
                self.node(at, kind, ports, id, description, lid, enhanced)?;
            }
            Line::Port {
                port,
                guid,
                peer,
                lid,
                rate,
            } => self.port(at, port, guid, peer, lid, rate)?,
            Line::Alias { port, name } => {
                let node = self
                    .records
                    .len()
                    .checked_sub(1)
                    .ok_or(ReadErrorKind::PortWithoutNode)?;
                self.aliases
                    .insert(name.trim_start_matches('@').to_owned(), (node, port));
            }
            Line::Guid { kind, guid, port0 } => {
                let counter = self.guids(kind);
                match guid {
                    Guid::At(base) => *counter = GuidCounter::from(base),
                    Guid::Plus(n) => counter.next = counter.absolute.wrapping_add(n),
                }
                self.port0_guid = port0;
            }
            Line::Vendor(vendor) => self.vendor = vendor,
            Line::Device(device) => self.device = device,
            Line::SystemImage(guid) => self.system_image = Some(guid),
            Line::Width(bits) => self.rate.width = line::width_of(bits),
            Line::Speed(bits) => self.rate.speed = line::speed_of(bits),
            Line::ExtSpeed(bits) => self.rate.speed = line::ext_speed_of(bits).or(self.rate.speed),
            Line::Module(prefix) => prefix.clone_into(&mut self.module),
            Line::Other => {}
        }
        Ok(())
    }

    fn guids(&mut self, kind: NodeType) -> &mut GuidCounter {
        match kind {
            NodeType::Switch => &mut self.switch_guids,
            NodeType::Router => &mut self.router_guids,
            _ => &mut self.ca_guids,
        }
    }

    /// The whole name of a node: within a module, names without `#` get its prefix.
    fn full_id(&self, id: &str) -> String {
        if self.module.is_empty() || id.contains('#') {
            id.to_owned()
        } else {
            format!("{}#{id}", self.module)
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of one kind of line")]
    fn node(
        &mut self,
        line: usize,
        kind: NodeType,
        num_ports: u8,
        id: &str,
        description: Option<&str>,
        lid: (Lid, Lmc),
        enhanced: bool,
    ) -> Result<(), ReadErrorKind> {
        let id = self.full_id(id);
        if let Some(first) = self.by_id.insert(id.clone(), self.records.len()) {
            return Err(ReadErrorKind::DuplicateNode {
                id,
                first: self.records[first].line,
            });
        }
        let is_switch = kind == NodeType::Switch;
        let counter = self.guids(kind);
        let guid = counter.next;
        counter.next = guid.wrapping_add(if is_switch {
            1
        } else {
            u64::from(num_ports) + 1
        });
        // Where the name is another GUID than the node's, ibdiagnet wrote it, and it is the port's.
        let port_in_id = id
            .get(2..)
            .filter(|hex| hex.len() == 16)
            .and_then(|hex| u64::from_str_radix(hex, 16).ok());
        let port_guids: Vec<PortGuid> = if is_switch {
            vec![PortGuid(self.port0_guid.unwrap_or(guid))]
        } else {
            (1..=num_ports)
                .map(|p| PortGuid(guid.wrapping_add(u64::from(p))))
                .collect()
        };
        let mut spec = NodeSpec {
            kind,
            description: description.unwrap_or(&id).to_owned(),
            node_guid: NodeGuid(guid),
            system_image_guid: SystemImageGuid(self.system_image.unwrap_or(guid)),
            num_ports,
            lids: vec![(Lid::NONE, Lmc(0)); port_guids.len()],
            port_guids,
            enhanced_port0: is_switch && enhanced,
            vendor_id: self.vendor,
            device_id: self.device,
            options: crate::spec::NodeOptions::default(),
        };
        if is_switch {
            spec.lids[0] = lid;
        }
        if let Some(port_guid) = port_in_id.filter(|g| *g != guid)
            && (!is_switch || self.port0_guid.is_none_or(|g| g == guid))
        {
            spec.port_guids[0] = PortGuid(port_guid);
        }
        (self.port0_guid, self.system_image, self.vendor) = (None, None, 0);
        self.records.push(Record {
            line,
            id,
            spec,
            rate: self.rate,
            ports: BTreeMap::new(),
        });
        Ok(())
    }

    fn port(
        &mut self,
        line: usize,
        port: u8,
        guid: Option<u64>,
        peer: Option<(&str, u8)>,
        lid: Option<(Lid, Lmc)>,
        rate: Rate,
    ) -> Result<(), ReadErrorKind> {
        let peer = peer.map(|(id, peer_port)| {
            (
                if id.starts_with('@') {
                    id.to_owned()
                } else {
                    self.full_id(id)
                },
                peer_port,
            )
        });
        let record = self
            .records
            .last_mut()
            .ok_or(ReadErrorKind::PortWithoutNode)?;
        let (id, ports) = (&record.id, record.spec.num_ports);
        if port == 0 || port > ports {
            return Err(ReadErrorKind::NoSuchPort {
                id: id.clone(),
                port,
                ports,
            });
        }
        if record.spec.kind != NodeType::Switch {
            let index = usize::from(port - 1);
            if let Some(guid) = guid {
                record.spec.port_guids[index] = PortGuid(guid);
            }
            if let Some(lid) = lid {
                record.spec.lids[index] = lid;
            }
        }
        if let Some((peer, peer_port)) = peer
            && let Some(first) = record.ports.insert(
                port,
                PortLine {
                    line,
                    peer,
                    peer_port,
                    rate,
                },
            )
        {
            return Err(ReadErrorKind::DuplicatePort {
                id: id.clone(),
                port,
                first: first.line,
            });
        }
        Ok(())
    }

    /// The port that an end of a cable names.
    fn peer(&self, end: &PortLine) -> Option<PortAt> {
        let by_alias = |name: &str| self.aliases.get(name).copied();
        let (node, port) = match end.peer.strip_prefix('@') {
            Some(name) => by_alias(name)?,
            None => match self.by_id.get(&end.peer) {
                Some(node) => (*node, end.peer_port),
                None => by_alias(&end.peer)?,
            },
        };
        Some(PortAt { node, port })
    }

    fn finish(self) -> Result<FabricSpec, ReadError> {
        let mut links = Vec::new();
        for (node, record) in self.records.iter().enumerate() {
            for (port, end) in &record.ports {
                let here = PortAt { node, port: *port };
                let (there, back) = self.other_end(here, end).map_err(|kind| ReadError {
                    line: end.line,
                    kind,
                })?;
                if here <= there {
                    links.push(LinkSpec {
                        a: here,
                        b: there,
                        width: self.width(here, end).min(self.width(there, back)),
                        speed: self.speed(here, end).min(self.speed(there, back)),
                    });
                }
            }
        }
        let nodes = self.records.into_iter().map(|r| r.spec).collect();
        let mut spec = FabricSpec { nodes, links };
        spec.normalise();
        Ok(spec)
    }

    /// The other end of a cable, once it is known to agree.
    fn other_end(
        &self,
        here: PortAt,
        end: &PortLine,
    ) -> Result<(PortAt, &PortLine), ReadErrorKind> {
        let there = self
            .peer(end)
            .ok_or_else(|| ReadErrorKind::UnknownPeer(end.peer.clone()))?;
        let record = &self.records[there.node];
        let (id, ports) = (&record.id, record.spec.num_ports);
        if there.port == 0 || there.port > ports {
            return Err(ReadErrorKind::NoSuchPort {
                id: id.clone(),
                port: there.port,
                ports,
            });
        }
        let Some(back) = record.ports.get(&there.port) else {
            return Err(ReadErrorKind::OneSided {
                id: id.clone(),
                port: there.port,
            });
        };
        if self.peer(back) != Some(here) {
            return Err(ReadErrorKind::Contradiction {
                id: id.clone(),
                port: there.port,
                line: back.line,
                other: back.peer.clone(),
                other_port: back.peer_port,
            });
        }
        Ok((there, back))
    }

    fn width(&self, at: PortAt, end: &PortLine) -> LinkWidth {
        end.rate
            .width
            .or(self.records[at.node].rate.width)
            .unwrap_or(LinkWidth(4))
    }

    fn speed(&self, at: PortAt, end: &PortLine) -> LinkSpeed {
        end.rate
            .speed
            .or(self.records[at.node].rate.speed)
            .unwrap_or(LinkSpeed::Sdr)
    }
}
