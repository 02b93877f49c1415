//! OpenSM's `opensm-subnet.lst` and ibdiagnet's `ibdiagnet2.lst`: a line for each port of each
//! link.
//!
//! `{ CA Ports:02 SystemGUID:… NodeGUID:… PortGUID:… VenID:… DevID:… Rev:… {name} LID:0005 PN:01 }`
//! twice, then `PHY=4x LOG=ACT SPD=10`. Numbers in braces are hexadecimal. Nodes without links are
//! missing; port 0 is assumed to be enhanced.

use std::collections::BTreeMap;

use ferrosm_mad::attr::{LinkSpeed, LinkWidth, NodeType};
use ferrosm_mad::ids::{Lid, Lmc, NodeGuid, PortGuid, SystemImageGuid};

use super::diagnostics::{Diagnostics, SourceLine};
use super::error::{ReadErrorKind, WarningKind};
use super::line;
use super::source::{Sources, bare};
use crate::spec::{FabricSpec, LinkSpec, NodeIdx, NodeOptions, NodeSpec, PortAt};

/// One port of a link.
#[derive(Debug, PartialEq)]
struct ListPort<'a> {
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

/// Whether a line has the format of such a list.
pub(super) fn is_line(line: &str) -> bool {
    let Some(remaining) = bare(line).strip_prefix('{') else {
        return false;
    };
    remaining.contains("NodeGUID:") && remaining.contains("PN:")
}

/// Reads a list.
pub(super) fn fabric(
    sources: &Sources,
    diagnostics: &mut Diagnostics,
) -> (FabricSpec, Vec<SourceLine>) {
    let mut list = ListReader::default();
    for (index, line) in sources.files[0].1.split('\n').enumerate() {
        let text = bare(line);
        let at = SourceLine::new(0, index + 1);
        if text.starts_with('{') {
            if let Err(kind) = parse(text).and_then(|line| list.line(at, line, diagnostics)) {
                diagnostics.error(at, kind);
            }
        } else if !text.is_empty() && !text.starts_with('#') && !list.spec.nodes.is_empty() {
            diagnostics.warn(at, WarningKind::Unknown);
        }
    }
    if let Some((first, count)) = list.without_speed {
        diagnostics.warn(first, WarningKind::LinksWithoutSpeed(count));
    }
    list.spec.normalise();
    (list.spec, list.source_lines)
}

#[derive(Debug, Default)]
struct ListReader {
    spec: FabricSpec,
    source_lines: Vec<SourceLine>,
    by_guid: BTreeMap<u64, NodeIdx>,
    cabled: BTreeMap<PortAt, (PortAt, SourceLine)>,
    /// The first line of a link without a speed, and the number of such links.
    without_speed: Option<(SourceLine, usize)>,
}

/// Both ports of a link, and its width and speed.
type ListLine<'a> = (
    ListPort<'a>,
    ListPort<'a>,
    Option<LinkWidth>,
    Option<LinkSpeed>,
);

impl ListReader {
    fn line(
        &mut self,
        at: SourceLine,
        line: ListLine<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Result<(), ReadErrorKind> {
        let (a, b, width, speed) = line;
        if width.is_none() {
            diagnostics.warn(at, WarningKind::UnknownRate("??".to_owned()));
        }
        let a = self.end(at, &a)?;
        let b = self.end(at, &b)?;
        for (local, remote) in [(a, b), (b, a)] {
            if let Some((other, first)) = self.cabled.get(&local)
                && *other != remote
            {
                let id = self.spec.nodes[local.node].description.clone();
                let port = local.port;
                let first = first.line();
                return Err(ReadErrorKind::DuplicatePort { id, port, first });
            }
        }
        // Each link has a line per port.
        if self.cabled.insert(a, (b, at)).is_none() {
            self.cabled.insert(b, (a, at));
            if speed.is_none() {
                self.without_speed.get_or_insert((at, 0)).1 += 1;
            }
            self.spec.links.push(LinkSpec {
                a,
                b,
                width: width.unwrap_or(LinkWidth(4)),
                speed: speed.unwrap_or(LinkSpeed::Sdr),
            });
        }
        Ok(())
    }

    fn end(&mut self, at: SourceLine, listed: &ListPort<'_>) -> Result<PortAt, ReadErrorKind> {
        let index = match self.by_guid.get(&listed.node_guid) {
            Some(index) => *index,
            None => {
                self.by_guid.insert(listed.node_guid, self.spec.nodes.len());
                self.spec.nodes.push(listed.node());
                self.source_lines.push(at);
                self.spec.nodes.len() - 1
            }
        };
        let node = &mut self.spec.nodes[index];
        if node.kind != listed.kind || node.num_ports != listed.ports {
            let id = node.description.clone();
            let first = self.source_lines[index].line();
            return Err(ReadErrorKind::InconsistentNode { id, first });
        }
        if listed.port == 0 || listed.port > listed.ports {
            return Err(ReadErrorKind::NoSuchPort {
                id: node.description.clone(),
                port: listed.port,
                ports: listed.ports,
            });
        }
        let end = if listed.kind == NodeType::Switch {
            0
        } else {
            usize::from(listed.port - 1)
        };
        node.port_guids[end] = PortGuid(listed.port_guid);
        node.lids[end] = (listed.lid, Lmc(0));
        Ok(PortAt {
            node: index,
            port: listed.port,
        })
    }
}

impl ListPort<'_> {
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

fn parse(text: &str) -> Result<ListLine<'_>, ReadErrorKind> {
    let (a, remaining) = parse_list_port(text)?;
    let (b, remaining) = parse_list_port(remaining)?;
    let mut width = None;
    let mut speed = None;
    for word in remaining.split_whitespace() {
        if let Some(text) = word.strip_prefix("PHY=") {
            width = match text.strip_suffix('x').and_then(|n| n.parse().ok()) {
                Some(n @ (1 | 2 | 4 | 8 | 12)) => Some(LinkWidth(n)),
                _ if text.contains('?') => None,
                _ => return Err(ReadErrorKind::UnknownWidth(text.to_owned())),
            };
        } else if let Some(text) = word.strip_prefix("SPD=") {
            speed = match speed_of(text) {
                // ibutils 1.5.7 writes nothing for speeds above 10 Gb/s.
                None if !text.contains('?') && !text.is_empty() => {
                    return Err(ReadErrorKind::UnknownSpeed(text.to_owned()));
                }
                speed => speed,
            };
        }
    }
    Ok((a, b, width, speed))
}

/// A speed by its rate per lane in Gb/s, or by its name.
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

/// Parses the port between the first two braces; returns it and the text after it. Names contain no
/// braces.
fn parse_list_port(text: &str) -> Result<(ListPort<'_>, &str), ReadErrorKind> {
    let parse_error = ReadErrorKind::BadListLine;
    let text = text
        .trim_start()
        .strip_prefix('{')
        .ok_or_else(|| parse_error("missing `{`"))?;
    // A name in braces; older ibdiagnet prints none.
    let (before, name, after) = match (text.find('{'), text.find('}')) {
        (Some(open), Some(close)) if open < close => (
            &text[..open],
            Some(&text[open + 1..close]),
            &text[close + 1..],
        ),
        _ => ("", None, text),
    };
    let (inside, remaining) = after
        .split_once('}')
        .ok_or_else(|| parse_error("missing `}`"))?;
    let mut words = before.split_whitespace().chain(inside.split_whitespace());
    // The SM's port has the suffix `-SM` after the node type.
    let kind = match words.next().map(|w| w.split('-').next().unwrap_or(w)) {
        Some("CA" | "Ca" | "HCA" | "Hca") => NodeType::Ca,
        Some("SW" | "Sw") => NodeType::Switch,
        Some("RT" | "Rt") => NodeType::Router,
        _ => return Err(parse_error("node type is not CA, SW or Rt")),
    };
    let mut fields: [Option<u64>; 8] = [None; 8];
    for word in words {
        let Some((key, value)) = word.split_once(':') else {
            continue;
        };
        if let Some(at) = FIELDS.iter().position(|f| f.0 == key) {
            let hex = u64::from_str_radix(value.trim_start_matches("0x"), 16);
            fields[at] = Some(hex.map_err(|_| ReadErrorKind::BadNumber {
                description: FIELDS[at].1,
                text: value.to_owned(),
            })?);
        }
    }
    let [ports, system, node, port_guid, vendor, device, lid, port] = fields;
    let as_u8 = |n: Option<u64>| n.and_then(|n| u8::try_from(n).ok());
    let (Some(node_guid), Some(port)) = (node, as_u8(port)) else {
        return Err(parse_error("missing NodeGUID or PN"));
    };
    let ports = as_u8(ports)
        .filter(|n| (1..=254).contains(n))
        .ok_or_else(|| parse_error("Ports is not a number from 01 to FE"))?;
    // For the other port, OpenSM prints the device ID in the upper half.
    let device = match device.unwrap_or(0) {
        n if n > 0xFFFF => n >> 16,
        n => n,
    };
    let listed = ListPort {
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
    Ok((listed, remaining))
}

/// Number fields and their descriptions.
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
