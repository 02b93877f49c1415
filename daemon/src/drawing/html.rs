//! A picture as an HTML page that needs no other file: the drawing with tooltips, and a list of
//! switches.

use core::fmt::Write;

use super::picture::Picture;
use super::svg::{self, escaped};
use crate::whole_fabric::{FabricIndex, WholeFabric};

const STYLE: &str = "body{font:14px Helvetica,Arial,sans-serif;margin:16px;color:#1b1f24}\
svg{width:100%;height:auto;border:1px solid #ccd2d9}\
table{border-collapse:collapse}th,td{text-align:left;padding:2px 12px 2px 0;border-bottom:1px solid #e6eaee}";

/// Renders a picture with the switches of its fabric.
pub(super) fn render(picture: &Picture, fabric: &WholeFabric) -> String {
    let title = escaped(&picture.title);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
    );
    out.push_str(&svg::render(picture));
    out.push_str("<details>\n<summary>Switches</summary>\n<table>\n<tr><th>Name</th><th>GUID</th><th>LID</th><th>Level</th><th>Group</th><th>Hosts</th><th>Links</th></tr>\n");
    let index = FabricIndex::new(fabric);
    for switch in index.switches() {
        let node = &fabric.nodes[switch];
        let place = index.place(switch);
        let number = |value: Option<usize>| value.map_or_else(String::new, |n| n.to_string());
        let lids: Vec<String> = node.lids.iter().map(ToString::to_string).collect();
        let hosts = index
            .neighbours(switch)
            .filter(|other| index.is_host(*other))
            .count();
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{hosts}</td><td>{}</td></tr>",
            escaped(index.name(switch)),
            node.guid,
            lids.join(", "),
            number(place.and_then(|place| place.level)),
            number(place.and_then(|place| place.group)),
            index.links_of(switch).len()
        );
    }
    out.push_str("</table>\n</details>\n</body>\n</html>\n");
    out
}
