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

use crate::output::table::node_type_name;
use ferrosm_fabric::snapshot::{PortIdx, Snapshot};
use ferrosm_mad::attr::LinkSpeed;
use serde::Serialize;

/// The document of `ferrosm topology --format json`.
#[must_use]
pub fn document(snapshot: &Snapshot) -> impl Serialize {
    let endpoint = |at: PortIdx| object! { guid: snapshot.node(at.node()).guid, port: at.num() };
    let nodes = snapshot.slots().map(|slot| {
        let node = snapshot.node(slot);
        let info = node.node_info();
        let end_ports = snapshot
            .reported_end_ports(slot)
            .map(|e| object! { port: e.num, guid: e.guid, lid: e.lid, lmc: e.lmc });
        object! {
            guid: node.guid,
            kind: node_type_name(node.node_type),
            description: node.node_description().to_string(),
            system_image_guid: info.system_image_guid,
            vendor_id: info.vendor_id,
            device_id: info.device_id,
            ports: info.num_ports,
            enhanced_port0: node.switch_info().is_some_and(|s| s.enhanced_port0),
            end_ports: end_ports.collect::<Vec<_>>(),
        }
    });
    let links = snapshot.links().iter().map(|link| {
        let reported = snapshot.reported_link(*link);
        object! {
            a: endpoint(link.a),
            b: endpoint(link.b),
            width: reported.width.map(|w| w.0),
            speed: reported.speed.map(LinkSpeed::name),
            state: reported.state.map(|s| s.to_string()),
        }
    });
    let sm = snapshot.local.map(|local| snapshot.end_port(local).port);
    object! {
        schema: super::SCHEMA,
        sm: sm.map(endpoint),
        nodes: nodes.collect::<Vec<_>>(),
        links: links.collect::<Vec<_>>(),
    }
}

#[cfg(test)]
#[cfg(feature = "simulator")]
mod tests {
    use super::*;
    use crate::offline::spec::{observed, snapshot};
    use ferrosm_sim::generate::from_spec;

    #[test]
    fn document_has_the_documented_members() {
        let spec = from_spec("star:2").unwrap();
        let text = crate::output::json::pretty(&document(&snapshot(&observed(&spec), None, None)));
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
