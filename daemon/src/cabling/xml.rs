//! Plans in XML: the topology of opafm and opareport, and ibfabricconf.
//!
//! opafm lists links with two ports each, which it names by GUID, description and number:
//!
//! ```text
//! <Topology><LinkSummary><Link>
//!   <Port><NodeGUID>0x2</NodeGUID><NodeDesc>leaf-0</NodeDesc><PortNum>5</PortNum></Port>
//!   <Port><NodeDesc>host-1</NodeDesc><PortNum>1</PortNum></Port>
//! </Link></LinkSummary></Topology>
//! ```
//!
//! ibfabricconf lists links of a node by name:
//!
//! ```text
//! <ibfabric name="a"><linklist name="leaf-0">
//!   <port num="5"><r_port>1</r_port><r_node>host-1</r_node></port>
//! </linklist></ibfabric>
//! ```
//!
//! Cables inside a chassis (`<chassis>`, `<Internal>1</Internal>`) are not cables of the site, and
//! are not read.

use roxmltree::{Document, Node, ParsingOptions};

use super::plan::{PlanError, PlannedCable, PlannedEnd, PlannedNode};

/// Most nodes of a document.
const NODES_MAX: u32 = 50_000_000;

pub(super) fn read(text: &str) -> Result<Vec<PlannedCable>, PlanError> {
    let options = ParsingOptions {
        allow_dtd: true,
        nodes_limit: NODES_MAX,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(text, options).map_err(|error| {
        let line = usize::try_from(error.pos().row).unwrap_or(1);
        PlanError::new(line, format!("not valid XML: {error}"))
    })?;
    let lines = LineIndex::new(text);
    let root = document.root_element();
    let name = root.tag_name().name();
    let mut cables = Vec::new();
    match name {
        "Topology" | "Report" => {
            let links = root.descendants().filter(|node| node.has_tag_name("Link"));
            for link in links {
                cables.extend(opa_link(&lines, link)?);
            }
        }
        "ibfabric" | "fabric" => {
            let lists = root.descendants().filter(|n| n.has_tag_name("linklist"));
            for list in lists {
                let ports = list.children().filter(|n| n.has_tag_name("port"));
                for port in ports {
                    cables.push(fabricconf_port(&lines, list, port)?);
                }
            }
        }
        other => {
            return Err(PlanError::new(
                1,
                format!(
                    "XML of an unknown format: the outermost element is `{other}`, not `Topology` or `Report` (opafm) or `ibfabric` (ibfabricconf)"
                ),
            ));
        }
    }
    Ok(cables)
}

/// Offsets of the lines of a text.
struct LineIndex(Vec<usize>);

impl LineIndex {
    fn new(text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self(ends.map(|(at, _)| at).collect())
    }

    fn line(&self, node: Node<'_, '_>) -> usize {
        self.0.partition_point(|end| *end < node.range().start) + 1
    }
}

fn child_text<'d>(node: Node<'d, '_>, name: &str) -> Option<&'d str> {
    let child = node.children().find(|child| child.has_tag_name(name))?;
    child.text().map(str::trim).filter(|text| !text.is_empty())
}

fn opa_link(lines: &LineIndex, link: Node<'_, '_>) -> Result<Option<PlannedCable>, PlanError> {
    if child_text(link, "Internal") == Some("1") {
        return Ok(None);
    }
    let at = lines.line(link);
    let ports: Vec<Node<'_, '_>> = link
        .children()
        .filter(|child| child.has_tag_name("Port"))
        .collect();
    let [a, b] = ports[..] else {
        let problem = format!("a link with {} ports, not 2", ports.len());
        return Err(PlanError::new(at, problem));
    };
    let end = |port: Node<'_, '_>| {
        let at = lines.line(port);
        let guid = child_text(port, "NodeGUID")
            .or_else(|| child_text(port, "PortGUID"))
            .map(|text| number(at, text))
            .transpose()?;
        let name = child_text(port, "NodeDesc").unwrap_or_default();
        if guid.is_none() && name.is_empty() {
            return Err(PlanError::new(at, "a port without NodeGUID and NodeDesc"));
        }
        let port = child_text(port, "PortNum").map(|text| port_number(at, text));
        Ok(PlannedEnd {
            node: PlannedNode {
                guid,
                name: name.to_owned(),
            },
            port: port.transpose()?,
        })
    };
    Ok(Some(PlannedCable {
        a: end(a)?,
        b: end(b)?,
        line: at,
    }))
}

fn fabricconf_port(
    lines: &LineIndex,
    list: Node<'_, '_>,
    port: Node<'_, '_>,
) -> Result<PlannedCable, PlanError> {
    let at = lines.line(port);
    let own_name = list
        .attribute("name")
        .ok_or_else(|| PlanError::new(lines.line(list), "a linklist without name"))?;
    let own_port = port
        .attribute("num")
        .ok_or_else(|| PlanError::new(at, "a port without num"))?;
    let peer_name =
        child_text(port, "r_node").ok_or_else(|| PlanError::new(at, "a port without r_node"))?;
    let peer_port =
        child_text(port, "r_port").ok_or_else(|| PlanError::new(at, "a port without r_port"))?;
    Ok(PlannedCable {
        a: PlannedEnd {
            node: PlannedNode::named(own_name),
            port: Some(port_number(at, own_port)?),
        },
        b: PlannedEnd {
            node: PlannedNode::named(peer_name),
            port: Some(port_number(at, peer_port)?),
        },
        line: at,
    })
}

fn port_number(line: usize, text: &str) -> Result<u8, PlanError> {
    text.trim()
        .parse()
        .map_err(|_| PlanError::new(line, format!("`{text}` is not a port number")))
}

fn number(line: usize, text: &str) -> Result<u64, PlanError> {
    let hex = text.strip_prefix("0x").unwrap_or(text);
    u64::from_str_radix(hex, 16)
        .map_err(|_| PlanError::new(line, format!("`{text}` is not a GUID")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let cables = read(text).unwrap();
        cables.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn topology_of_opafm_is_read() {
        let text = r#"<?xml version="1.0" encoding="utf-8" ?>
            <Topology><LinkSummary><LinkCount>2</LinkCount>
            <Link id="1"><Rate>25g</Rate><Internal>0</Internal><Cable><CableLabel>S1</CableLabel></Cable>
              <Port id="a"><NodeGUID>0x0002c9020020e004</NodeGUID><PortNum>1</PortNum><NodeDesc>bender HFI-1</NodeDesc></Port>
              <Port id="b"><NodeDesc>leaf &amp; 4</NodeDesc><PortNum>7</PortNum><NodeType>SW</NodeType></Port>
            </Link>
            <Link><Internal>1</Internal><Port/><Port/></Link>
            </LinkSummary></Topology>"#;
        assert_eq!(shown(text), ["bender HFI-1/1 - leaf & 4/7"]);
        assert_eq!(
            read(text).unwrap()[0].a.node.guid,
            Some(0x0002_c902_0020_e004)
        );
    }

    #[test]
    fn ibfabricconf_is_read() {
        let text = r#"<?xml version="1.0" encoding="ISO-8859-1"?>
            <!DOCTYPE ibfabric SYSTEM "ibfabric.dtd">
            <ibfabric name="hyperion"><property name="speed">QDR</property>
            <linklist name="leaf-0"><port num="5"><r_port>1</r_port><r_node>host-1</r_node></port></linklist>
            <subfabric><linklist name="leaf-1"><port num="6"><r_port>2</r_port><r_node>spine-0</r_node></port></linklist></subfabric>
            </ibfabric>"#;
        assert_eq!(shown(text), ["leaf-0/5 - host-1/1", "leaf-1/6 - spine-0/2"]);
    }

    #[test]
    fn errors_name_the_line() {
        let error = |text| read(text).unwrap_err().to_string();
        assert!(error("<a/>").contains("`a`"), "{}", error("<a/>"));
        let mismatch = error("<Topology>\n<Link></Topology>");
        assert!(mismatch.starts_with("line 2: not valid XML"), "{mismatch}");
        assert_eq!(
            error("<Topology>\n<Link><Port/></Link></Topology>"),
            "line 2: a link with 1 ports, not 2"
        );
        assert_eq!(
            error(
                "<ibfabric><linklist name='a'>\n<port num='x'><r_port>1</r_port><r_node>b</r_node></port></linklist></ibfabric>"
            ),
            "line 2: `x` is not a port number"
        );
    }
}
