//! Resolution of node names and GUIDs.

use ferrosm_mad::attr::NodeType;
use ferrosm_sim::spec::{FabricSpec, NodeIdx};

use crate::similar_names::suggest;

/// Most channel adapters of a host.
const CAS_MAX: usize = 64;

/// The named nodes, in order. Without names: the first channel adapter or, in a fabric without one,
/// the first node.
///
/// # Errors
/// A name matches no node or several.
pub fn resolve(spec: &FabricSpec, names: &[String]) -> Result<Vec<NodeIdx>, String> {
    if names.len() > CAS_MAX {
        return Err(format!("a host has at most {CAS_MAX} channel adapters"));
    }
    if names.is_empty() {
        let ca = spec.nodes.iter().position(|n| n.kind == NodeType::Ca);
        return Ok(vec![ca.unwrap_or(0)]);
    }
    let mut nodes = Vec::new();
    for name in names {
        let node = find_node(spec, name)?;
        if nodes.contains(&node) {
            return Err(format!("node {name:?} is named twice"));
        }
        nodes.push(node);
    }
    Ok(nodes)
}

/// The node with this description, or with this node or port GUID.
///
/// # Errors
/// No node matches, or several.
pub fn find_node(spec: &FabricSpec, name: &str) -> Result<NodeIdx, String> {
    let digits = name.strip_prefix("0x");
    let guid = digits.and_then(|hex| u64::from_str_radix(hex, 16).ok());
    let mut matching = (0..spec.nodes.len()).filter(|&i| {
        let node = &spec.nodes[i];
        node.description == name
            || guid.is_some_and(|guid| {
                node.node_guid.0 == guid || node.port_guids.iter().any(|g| g.0 == guid)
            })
    });
    match (matching.next(), matching.next()) {
        (Some(node), None) => Ok(node),
        (None, _) => Err(format!(
            "no node {name:?} in this fabric{}",
            suggest(name, spec.nodes.iter().map(|n| n.description.as_str()))
        )),
        (Some(a), Some(b)) => Err(format!(
            "several nodes are called {name:?}: use a GUID, such as {:#018x} or {:#018x}",
            spec.nodes[a].node_guid.0, spec.nodes[b].node_guid.0
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_found_by_name_guid_or_default() {
        let spec = ferrosm_sim::generate::from_spec("star:3").unwrap();
        let ca = resolve(&spec, &[]).unwrap();
        assert_eq!(spec.nodes[ca[0]].kind, NodeType::Ca);
        let name = spec.nodes[2].description.clone();
        assert_eq!(find_node(&spec, &name), Ok(2));
        let guid = format!("{:#x}", spec.nodes[2].node_guid.0);
        assert_eq!(find_node(&spec, &guid), Ok(2));
        let error = find_node(&spec, "unknown").unwrap_err();
        assert!(error.contains("no node \"unknown\""), "{error}");
        let twice = resolve(&spec, &[name.clone(), name]).unwrap_err();
        assert!(twice.contains("twice"), "{twice}");
    }

    #[test]
    fn ambiguous_name_is_rejected() {
        let mut spec = ferrosm_sim::generate::from_spec("star:3").unwrap();
        let name = spec.nodes[1].description.clone();
        spec.nodes[2].description.clone_from(&name);
        let error = find_node(&spec, &name).unwrap_err();
        assert!(error.contains("use a GUID"), "{error}");
    }
}
