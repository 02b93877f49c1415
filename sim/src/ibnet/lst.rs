//! OpenSM's `opensm-subnet.lst` and ibdiagnet's `ibdiagnet2.lst`: a line for each end of each cable.
//!
//! `{ CA Ports:02 SystemGUID:… NodeGUID:… PortGUID:… VenID:… DevID:… Rev:… {name} LID:0005 PN:01 }`
//! twice, then `PHY=4x LOG=ACT SPD=10`. All numbers in braces are hexadecimal. Nodes without cable
//! are not in it, nor which ports 0 are enhanced (they are taken as such).

use std::collections::BTreeMap;

use ferrosm_mad::attr::{LinkSpeed, LinkWidth, NodeType};
use ferrosm_mad::ids::{Lid, Lmc, NodeGuid, PortGuid, SystemImageGuid};

use super::error::{ReadErrorKind, WarningKind};
use super::line;
use super::log::{Log, Place};
use super::source::{Sources, bare};
use crate::spec::{FabricSpec, LinkSpec, NodeIdx, NodeOptions, NodeSpec, PortAt};

/// One half of a line.
#[derive(Debug, PartialEq)]
struct Half<'a> {
    kind: NodeType,
    ports: u8,
    system_image: u64,
    node_guid: u64,
    port_guid: u64,
    vendor: u32,
    device: u16,
    name: Option<&'a str>,
    lid: Lid,
    port: u8,
}

/// Whether a line looks like one of a list.
pub(super) fn is_line(line: &str) -> bool {
    let Some(rest) = bare(line).strip_prefix('{') else {
        return false;
    };
    rest.contains("NodeGUID:") && rest.contains("PN:")
}

/// Reads a list.
pub(super) fn fabric(sources: &Sources, log: &mut Log) -> (FabricSpec, Vec<Place>) {
    let mut list = List::default();
    for (index, line) in sources.files[0].1.split('\n').enumerate() {
        let (text, place) = (bare(line), Place::new(0, index + 1));
        if text.starts_with('{') {
            if let Err(kind) = parse(text).and_then(|line| list.line(place, line, log)) {
                log.error(place, kind);
            }
        } else if !text.is_empty() && !text.starts_with('#') && !list.spec.nodes.is_empty() {
            log.warn(place, WarningKind::Unknown);
        }
    }
    list.spec.normalise();
    (list.spec, list.places)
}

#[derive(Debug, Default)]
struct List {
    spec: FabricSpec,
    places: Vec<Place>,
    by_guid: BTreeMap<u64, NodeIdx>,
    cabled: BTreeMap<PortAt, (PortAt, Place)>,
}

/// Both ends of a cable, and what it runs at.
type Cable<'a> = (Half<'a>, Half<'a>, Option<LinkWidth>, Option<LinkSpeed>);

impl List {
    fn line(&mut self, place: Place, cable: Cable<'_>, log: &mut Log) -> Result<(), ReadErrorKind> {
        let (a, b, width, speed) = cable;
        if width.is_none() || speed.is_none() {
            log.warn(place, WarningKind::UnknownRate("??".to_owned()));
        }
        let (a, b) = (self.end(place, &a)?, self.end(place, &b)?);
        for (here, there) in [(a, b), (b, a)] {
            if let Some((other, first)) = self.cabled.get(&here)
                && *other != there
            {
                let id = self.spec.nodes[here.node].description.clone();
                let (port, first) = (here.port, first.line());
                return Err(ReadErrorKind::DuplicatePort { id, port, first });
            }
        }
        // Each cable has a line at either end.
        if self.cabled.insert(a, (b, place)).is_none() {
            self.cabled.insert(b, (a, place));
            self.spec.links.push(LinkSpec {
                a,
                b,
                width: width.unwrap_or(LinkWidth(4)),
                speed: speed.unwrap_or(LinkSpeed::Sdr),
            });
        }
        Ok(())
    }

    fn end(&mut self, place: Place, half: &Half<'_>) -> Result<PortAt, ReadErrorKind> {
        let index = match self.by_guid.get(&half.node_guid) {
            Some(index) => *index,
            None => {
                self.by_guid.insert(half.node_guid, self.spec.nodes.len());
                self.spec.nodes.push(half.node());
                self.places.push(place);
                self.spec.nodes.len() - 1
            }
        };
        let node = &mut self.spec.nodes[index];
        if node.kind != half.kind || node.num_ports != half.ports {
            let (id, first) = (node.description.clone(), self.places[index].line());
            return Err(ReadErrorKind::OtherNode { id, first });
        }
        if half.port == 0 || half.port > half.ports {
            return Err(ReadErrorKind::NoSuchPort {
                id: node.description.clone(),
                port: half.port,
                ports: half.ports,
            });
        }
        let end = if half.kind == NodeType::Switch {
            0
        } else {
            usize::from(half.port - 1)
        };
        node.port_guids[end] = PortGuid(half.port_guid);
        node.lids[end] = (half.lid, Lmc(0));
        Ok(PortAt {
            node: index,
            port: half.port,
        })
    }
}

impl Half<'_> {
    fn node(&self) -> NodeSpec {
        let ends = match self.kind {
            NodeType::Switch => 0..=0,
            _ => 1..=u64::from(self.ports),
        };
        let port_guids: Vec<_> = ends
            .map(|p| PortGuid(self.node_guid.wrapping_add(p)))
            .collect();
        NodeSpec {
            kind: self.kind,
            description: self
                .name
                .map_or_else(|| format!("{:016x}", self.node_guid), str::to_owned),
            node_guid: NodeGuid(self.node_guid),
            system_image_guid: SystemImageGuid(self.system_image),
            num_ports: self.ports,
            lids: vec![(Lid::NONE, Lmc(0)); port_guids.len()],
            port_guids,
            enhanced_port0: self.kind == NodeType::Switch,
            vendor_id: self.vendor,
            device_id: self.device,
            options: NodeOptions::default(),
        }
    }
}

fn parse(text: &str) -> Result<Cable<'_>, ReadErrorKind> {
    let (a, rest) = half(text)?;
    let (b, rest) = half(rest)?;
    let (mut width, mut speed) = (None, None);
    for word in rest.split_whitespace() {
        if let Some(text) = word.strip_prefix("PHY=") {
            width = match text.strip_suffix('x').and_then(|n| n.parse().ok()) {
                Some(n @ (1 | 2 | 4 | 8 | 12)) => Some(LinkWidth(n)),
                _ if text.contains('?') => None,
                _ => return Err(ReadErrorKind::UnknownWidth(text.to_owned())),
            };
        } else if let Some(text) = word.strip_prefix("SPD=") {
            speed = match speed_of(text) {
                None if !text.contains('?') => {
                    return Err(ReadErrorKind::UnknownSpeed(text.to_owned()));
                }
                speed => speed,
            };
        }
    }
    Ok((a, b, width, speed))
}

/// A speed by its gigabits or its name.
fn speed_of(text: &str) -> Option<LinkSpeed> {
    Some(match text {
        "2.5" => LinkSpeed::Sdr,
        "5" => LinkSpeed::Ddr,
        "10" => LinkSpeed::Qdr,
        "14" | "14.0625" => LinkSpeed::Fdr,
        "25" | "25.78125" => LinkSpeed::Edr,
        "50" | "53.125" => LinkSpeed::Hdr,
        "100" | "106.25" => LinkSpeed::Ndr,
        "200" | "212.5" => LinkSpeed::Xdr,
        name => return line::speed_named(name),
    })
}

/// What stands between two braces, and what follows. Names have no brace of their own.
fn half(text: &str) -> Result<(Half<'_>, &str), ReadErrorKind> {
    let bad = ReadErrorKind::BadListLine;
    let text = text
        .trim_start()
        .strip_prefix('{')
        .ok_or_else(|| bad("`{` is missing"))?;
    // A name in braces, or, in older ibdiagnet, none.
    let (before, name, after) = match (text.find('{'), text.find('}')) {
        (Some(open), Some(close)) if open < close => (
            &text[..open],
            Some(&text[open + 1..close]),
            &text[close + 1..],
        ),
        _ => ("", None, text),
    };
    let (inside, rest) = after.split_once('}').ok_or_else(|| bad("`}` is missing"))?;
    let mut words = before.split_whitespace().chain(inside.split_whitespace());
    // The port of the subnet manager has `-SM` behind its kind.
    let kind = match words.next().map(|w| w.split('-').next().unwrap_or(w)) {
        Some("CA" | "Ca" | "HCA" | "Hca") => NodeType::Ca,
        Some("SW" | "Sw") => NodeType::Switch,
        Some("RT" | "Rt") => NodeType::Router,
        _ => return Err(bad("a node is CA, SW or Rt")),
    };
    let mut fields: [Option<u64>; 8] = [None; 8];
    for word in words {
        let Some((key, value)) = word.split_once(':') else {
            continue;
        };
        if let Some(at) = FIELDS.iter().position(|f| f.0 == key) {
            let hex = u64::from_str_radix(value.trim_start_matches("0x"), 16);
            fields[at] = Some(hex.map_err(|_| ReadErrorKind::BadNumber {
                what: FIELDS[at].1,
                text: value.to_owned(),
            })?);
        }
    }
    let [ports, system, node, port_guid, vendor, device, lid, port] = fields;
    let port_of = |n: Option<u64>| n.and_then(|n| u8::try_from(n).ok());
    let (Some(node_guid), Some(port)) = (node, port_of(port)) else {
        return Err(bad("NodeGUID or PN is missing"));
    };
    let ports = port_of(ports)
        .filter(|n| (1..=254).contains(n))
        .ok_or_else(|| bad("Ports is not a number from 01 to FE"))?;
    // Of the far end, OpenSM prints the product in the upper half.
    let device = match device.unwrap_or(0) {
        n if n > 0xFFFF => n >> 16,
        n => n,
    };
    let half = Half {
        kind,
        ports,
        system_image: system.unwrap_or(node_guid),
        node_guid,
        port_guid: port_guid.unwrap_or(node_guid),
        vendor: vendor.and_then(|n| u32::try_from(n).ok()).unwrap_or(0),
        device: u16::try_from(device).unwrap_or(0),
        name: name.map(str::trim).filter(|n| !n.is_empty()),
        lid: match lid.and_then(|n| u16::try_from(n).ok()) {
            None | Some(u16::MAX) => Lid::NONE,
            Some(lid) => Lid(lid),
        },
        port,
    };
    Ok((half, rest))
}

/// Names of numbers, and what they are.
const FIELDS: [(&str, &str); 8] = [
    ("Ports", "number of ports"),
    ("SystemGUID", "GUID"),
    ("NodeGUID", "GUID"),
    ("PortGUID", "GUID"),
    ("VenID", "vendor id"),
    ("DevID", "device id"),
    ("LID", "LID"),
    ("PN", "port"),
];
