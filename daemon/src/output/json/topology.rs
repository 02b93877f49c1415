//! The topology document.
//!
//! ```json
//! {
//!   "schema": 4,
//!   "sm": { "guid": "0x…", "port": 1 },
//!   "nodes": [
//!     { "guid": "0x…", "kind": "switch", "description": "leaf 1", "system_image_guid": "0x…", "vendor_id": 713,
//!       "device_id": 54000, "ports": 40, "enhanced_port0": true,
//!       "end_ports": [ { "port": 0, "guid": "0x…", "lid": 2, "lmc": 0 } ] }
//!   ],
//!   "links": [
//!     { "a": { "guid": "0x…", "port": 1 }, "b": { "guid": "0x…", "port": 21 }, "width": 4, "speed": "HDR",
//!       "state": "Active" }
//!   ]
//! }
//! ```
//!
//! `kind` is `switch`, `ca` or `router`. `guid` in `sm`, `a` and `b` is the node's. `sm` is the
//! port from which the fabric was discovered, `null` for a file. `lid` 0 means none.

use ferrosm_mad::attr::{LinkSpeed, NodeType};
use ferrosm_mad::ids::{NodeGuid, PortGuid, SystemImageGuid};
use serde::Serialize;

use ferrosm_opensm_compat::view::{FabricView, PortLocation};

/// The document.
#[derive(Debug, Serialize)]
pub struct Document<'a> {
    schema: u32,
    sm: Option<Endpoint>,
    nodes: Vec<Node<'a>>,
    links: Vec<Link>,
}

#[derive(Debug, Serialize)]
struct Node<'a> {
    guid: NodeGuid,
    kind: &'static str,
    description: &'a str,
    system_image_guid: SystemImageGuid,
    vendor_id: u32,
    device_id: u16,
    ports: u8,
    enhanced_port0: bool,
    end_ports: Vec<EndPort>,
}

#[derive(Debug, Serialize)]
struct EndPort {
    port: u8,
    guid: PortGuid,
    lid: u16,
    lmc: u8,
}

#[derive(Debug, Serialize)]
struct Endpoint {
    guid: NodeGuid,
    port: u8,
}

#[derive(Debug, Serialize)]
struct Link {
    a: Endpoint,
    b: Endpoint,
    width: Option<u8>,
    speed: Option<&'static str>,
    state: Option<String>,
}

/// `switch`, `ca` or `router`.
#[must_use]
pub const fn node_type_name(node_type: NodeType) -> &'static str {
    match node_type {
        NodeType::Switch => "switch",
        NodeType::Router => "router",
        _ => "ca",
    }
}

/// Builds the document.
#[must_use]
pub fn document(view: &FabricView) -> Document<'_> {
    let endpoint = |at: PortLocation| Endpoint {
        guid: view.nodes[at.node].guid,
        port: at.port.0,
    };
    let nodes = view.nodes.iter().map(|n| Node {
        guid: n.guid,
        kind: node_type_name(n.kind),
        description: &n.description,
        system_image_guid: n.system_image_guid,
        vendor_id: n.vendor_id,
        device_id: n.device_id,
        ports: n.num_ports,
        enhanced_port0: n.enhanced_port0,
        end_ports: n
            .end_ports
            .iter()
            .map(|e| EndPort {
                port: e.port.0,
                guid: e.guid,
                lid: e.lid.0,
                lmc: e.lmc.0,
            })
            .collect(),
    });
    let links = view.links.iter().map(|l| Link {
        a: endpoint(l.a),
        b: endpoint(l.b),
        width: l.width.map(|w| w.0),
        speed: l.speed.map(LinkSpeed::name),
        state: l.state.map(|s| s.to_string()),
    });
    Document {
        schema: super::SCHEMA,
        sm: view.sm.map(endpoint),
        nodes: nodes.collect(),
        links: links.collect(),
    }
}

#[cfg(test)]
#[cfg(feature = "simulator")]
mod tests {
    use super::*;
    use crate::output::view::view_of_spec;
    use ferrosm_sim::generate::from_spec;

    #[test]
    fn document_has_the_documented_members() {
        let spec = from_spec("star:2").unwrap();
        let text = crate::output::json::pretty(&document(&view_of_spec(&spec)));
        let v: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(v["schema"], crate::output::json::SCHEMA);
        assert!(v["sm"].is_null());
        assert_eq!(v["nodes"].as_array().unwrap().len(), 3);
        assert_eq!(v["nodes"][0]["kind"], "ca");
        assert_eq!(v["nodes"][0]["guid"], spec.nodes[0].node_guid.to_string());
        assert_eq!(v["nodes"][0]["end_ports"][0]["port"], 1);
        assert_eq!(v["links"][0]["width"], 4);
        assert_eq!(v["links"][0]["speed"], "HDR");
        assert!(v["links"][0]["a"]["guid"].is_string());
    }
}
