//! The output of ibnetdiscover: nodes with their GUIDs and names, and a line for each port with a
//! link.
//!
//! ```text
//! Switch  36 "S-0002c90200a1b2c3"  # "leaf-0-0" enhanced port 0 lid 3 lmc 0
//! [5]     "S-0002c90200a1b2d0"[1]  # "spine-0-0" lid 9 4xHDR
//! ```
//!
//! Only what a plan needs is read: the GUIDs in the identifiers, the names in comments, the ports.

use std::collections::BTreeMap;

use super::plan::{PlanError, PlannedCable, PlannedEnd, PlannedNode};

/// Words that begin the line of a node.
const NODES: [&str; 3] = ["Switch", "Ca", "Rt"];

pub(super) fn is_format(text: &str) -> bool {
    text.lines().any(|line| node_id(line).is_some())
}

pub(super) fn read(text: &str) -> Result<Vec<PlannedCable>, PlanError> {
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    let mut links = Vec::new();
    let mut current: Option<String> = None;
    for (line, content) in (1..).zip(text.lines()) {
        if let Some(id) = node_id(content) {
            let name = content
                .split_once('#')
                .and_then(|(_, rest)| first_quoted(rest));
            names.insert(id.clone(), name.unwrap_or_default());
            current = Some(id);
            continue;
        }
        if !content.starts_with('[') {
            continue;
        }
        let Some(own) = &current else {
            return Err(PlanError::new(line, "a port before the first node"));
        };
        let link = link(content);
        let Some((port, peer, peer_port)) = link else {
            return Err(PlanError::new(
                line,
                "not like `[5] \"S-0002c90200a1b2d0\"[1]`",
            ));
        };
        links.push(((own.clone(), port), (peer, peer_port), line));
    }
    let end = |(id, port): (String, u8)| PlannedEnd {
        node: PlannedNode {
            guid: guid(&id),
            name: names.get(&id).filter(|name| !name.is_empty()).map_or_else(
                || {
                    id.split_once('-')
                        .map_or_else(|| id.clone(), |(_, name)| name.to_owned())
                },
                Clone::clone,
            ),
        },
        port: Some(port),
    };
    let cables = links.into_iter().map(|(a, b, line)| PlannedCable {
        a: end(a),
        b: end(b),
        line,
    });
    Ok(cables.collect())
}

/// The identifier of a line such as `Switch 36 "S-..."`.
fn node_id(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    let kind = words.next()?;
    let ports = words.next()?;
    let is_node = NODES.contains(&kind) && ports.parse::<u8>().is_ok();
    is_node.then(|| first_quoted(line)).flatten()
}

/// Port, identifier of the peer and its port of a line such as `[5](guid) "S-..."[1](guid)`.
fn link(line: &str) -> Option<(u8, String, u8)> {
    let (port, rest) = line.strip_prefix('[')?.split_once(']')?;
    let (_, rest) = rest.split_once('"')?;
    let (id, rest) = rest.split_once('"')?;
    let (peer_port, _) = rest.strip_prefix('[')?.split_once(']')?;
    Some((port.parse().ok()?, id.to_owned(), peer_port.parse().ok()?))
}

fn first_quoted(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('"')?;
    let (quoted, _) = rest.split_once('"')?;
    Some(quoted.to_owned())
}

/// The GUID of an identifier such as `S-0002c90200a1b2c3`.
fn guid(id: &str) -> Option<u64> {
    let (_, hex) = id.split_once('-')?;
    (hex.len() == 16)
        .then(|| u64::from_str_radix(hex, 16).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_and_links_are_read() {
        let text = "#\n# Topology file\n\nvendid=0x2c9\nswitchguid=0x2(2)\n\
            Switch\t36 \"S-0000000000000002\"\t\t# \"leaf 0\" base port 0 lid 3 lmc 0\n\
            [5]\t\"H-0000000000000009\"[1](a) \t\t# \"host-1 mlx5_0\" lid 4 4xHDR\n\n\
            Ca\t1 \"H-0000000000000009\"\t\t# \"host-1 mlx5_0\"\n\
            [1](a) \t\"S-0000000000000002\"[5]\t\t# lid 4 lmc 0 \"leaf 0\" lid 3 4xHDR\n";
        assert!(is_format(text));
        let cables = read(text).unwrap();
        assert_eq!(cables[0].to_string(), "leaf 0/5 - host-1 mlx5_0/1");
        assert_eq!(cables[0].a.node.guid, Some(2));
        assert_eq!(cables[1].to_string(), "host-1 mlx5_0/1 - leaf 0/5");
        assert!(!is_format("StartDevice,StartPort\n"));
    }
}
