//! Which nodes a program means: names, GUIDs, or the first host.

use ferrosm_mad::attr::NodeType;
use ferrosm_sim::spec::{FabricSpec, NodeIdx};

/// Most channel adapters of a host.
const MOST: usize = 64;

/// The nodes that are named, in that order; the first channel adapter (or else the first node) if none
/// is.
///
/// # Errors
/// A sentence if a name fits no node or several.
pub fn resolve(spec: &FabricSpec, names: &[String]) -> Result<Vec<NodeIdx>, String> {
    if names.len() > MOST {
        return Err(format!("a host has at most {MOST} channel adapters"));
    }
    if names.is_empty() {
        let ca = spec.nodes.iter().position(|n| n.kind == NodeType::Ca);
        return Ok(vec![ca.unwrap_or(0)]);
    }
    let mut found = Vec::new();
    for name in names {
        let node = one(spec, name)?;
        if found.contains(&node) {
            return Err(format!("node {name:?} is named twice"));
        }
        found.push(node);
    }
    Ok(found)
}

/// The one node of that description, or of that node, port or system image GUID.
///
/// # Errors
/// A sentence if there is none, or more than one.
pub fn one(spec: &FabricSpec, name: &str) -> Result<NodeIdx, String> {
    let digits = name.strip_prefix("0x");
    let guid = digits.and_then(|hex| u64::from_str_radix(hex, 16).ok());
    let mut fits = (0..spec.nodes.len()).filter(|&i| {
        let node = &spec.nodes[i];
        node.description == name
            || guid.is_some_and(|guid| {
                node.node_guid.0 == guid || node.port_guids.iter().any(|g| g.0 == guid)
            })
    });
    match (fits.next(), fits.next()) {
        (Some(node), None) => Ok(node),
        (None, _) => Err(format!(
            "there is no node {name:?} in this fabric{}",
            like(spec, name)
        )),
        (Some(a), Some(b)) => Err(format!(
            "several nodes are called {name:?}: take the GUID, such as {:#018x} or {:#018x}",
            spec.nodes[a].node_guid.0, spec.nodes[b].node_guid.0
        )),
    }
}

/// A name that may have been meant: the same in other case, or one that begins so.
fn like(spec: &FabricSpec, name: &str) -> String {
    let lower = name.to_lowercase();
    let near = |n: &&ferrosm_sim::spec::NodeSpec| n.description.to_lowercase().starts_with(&lower);
    let first = spec.nodes.iter().find(|n| n.kind == NodeType::Ca);
    match spec.nodes.iter().find(near).or(first) {
        Some(node) => format!(
            "; there is, for example, {:?} ({:#018x})",
            node.description, node.node_guid.0
        ),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_guids_and_nothing() {
        let spec = ferrosm_sim::generate::from_spec("star:3").unwrap();
        let ca = resolve(&spec, &[]).unwrap();
        assert_eq!(spec.nodes[ca[0]].kind, NodeType::Ca);
        let name = spec.nodes[2].description.clone();
        assert_eq!(one(&spec, &name), Ok(2));
        let guid = format!("{:#x}", spec.nodes[2].node_guid.0);
        assert_eq!(one(&spec, &guid), Ok(2));
        let told = one(&spec, "nobody").unwrap_err();
        assert!(told.contains("no node \"nobody\""), "{told}");
        let twice = resolve(&spec, &[name.clone(), name]).unwrap_err();
        assert!(twice.contains("twice"), "{twice}");
    }

    #[test]
    fn one_name_for_two_nodes_is_no_name() {
        let mut spec = ferrosm_sim::generate::from_spec("star:3").unwrap();
        let name = spec.nodes[1].description.clone();
        spec.nodes[2].description.clone_from(&name);
        let told = one(&spec, &name).unwrap_err();
        assert!(told.contains("take the GUID"), "{told}");
    }
}
