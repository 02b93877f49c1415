//! DR paths to SMAs, from the observed fabric.

use ferrosm_fabric::observed::{ObservedFabric, PortRef};
use ferrosm_mad::smp::DrPath;

use super::op::Target;
use super::{PathPolicy, SmpTransaction};

/// The path of an attempt; `None` if the target is no longer in the fabric.
pub(crate) fn path_of(
    fabric: &ObservedFabric,
    transaction: &SmpTransaction,
    attempt: u8,
) -> Option<DrPath> {
    let paths = transaction.paths;
    let takes_detour = matches!(
        paths,
        PathPolicy::DetourFromAttempt(first) if attempt >= first && (attempt - first).is_multiple_of(2)
    );
    let to_port = |at: PortRef| match paths {
        PathPolicy::Shortest => shortest(fabric, at),
        PathPolicy::DetourFromAttempt(_) if takes_detour => {
            detour(fabric, at).or_else(|| shortest(fabric, at))
        }
        PathPolicy::DetourFromAttempt(_) => shortest(fabric, at),
        PathPolicy::EachPathTwice(first) => {
            alternate_path(fabric, at, first.saturating_add(attempt / 2))
        }
        PathPolicy::EachPathOnce => alternate_path(fabric, at, attempt),
    };
    match transaction.op.spec().target {
        Target::LocalNode => Some(DrPath::LOCAL),
        Target::BeyondPort(from) => to_port(from)?.extend(from.port),
        Target::Node(n) => {
            let node = fabric.get(n)?;
            if takes_detour && node.is_switch() {
                to_port(PortRef::new(n, ferrosm_mad::ids::PortNum::ZERO))
            } else {
                Some(node.path)
            }
        }
        Target::Port(p) => to_port(p),
        Target::Surveyed => None,
    }
}

/// The shortest path to a port's agent: a switch answers for all its ports; a CA or router port is
/// reached over its own link.
pub(crate) fn shortest(fabric: &ObservedFabric, at: PortRef) -> Option<DrPath> {
    let node = fabric.get(at.node)?;
    if node.is_switch() || fabric.local() == Some(at) {
        return Some(node.path);
    }
    match fabric.peer(at) {
        Some(peer) => fabric.get(peer.node)?.path.extend(peer.port),
        None => Some(node.path),
    }
}

/// A path that avoids links of the shortest path ([`ObservedFabric::detour`]).
fn detour(fabric: &ObservedFabric, at: PortRef) -> Option<DrPath> {
    let node = fabric.get(at.node)?;
    if node.is_switch() {
        return fabric.detour(at.node, &node.path);
    }
    let peer = fabric.peer(at)?;
    let switch = fabric.get(peer.node)?;
    fabric.detour(peer.node, &switch.path)?.extend(peer.port)
}

/// Path number `index` of [`paths`]: 0 is the shortest, which is found without computing the
/// others.
fn alternate_path(fabric: &ObservedFabric, at: PortRef, index: u8) -> Option<DrPath> {
    if index == 0 {
        return shortest(fabric, at);
    }
    let paths = paths(fabric, at);
    paths.get(usize::from(index) % paths.len().max(1)).copied()
}

/// The paths that retries use: the shortest first, then the alternatives that share the fewest
/// links with it. Empty if the port is unreachable.
pub(crate) fn paths(fabric: &ObservedFabric, at: PortRef) -> Vec<DrPath> {
    let switch_of = || {
        let node = fabric.get(at.node)?;
        if node.is_switch() {
            return Some((at.node, node.path, None));
        }
        let peer = fabric.peer(at).filter(|_| fabric.local() != Some(at))?;
        Some((peer.node, fabric.get(peer.node)?.path, Some(peer.port)))
    };
    let Some((node, path, port)) = switch_of() else {
        return shortest(fabric, at).into_iter().collect();
    };
    let to_switch = fabric.alternative_paths(node, &path).into_iter();
    to_switch
        .filter_map(|path| port.map_or(Some(path), |port| path.extend(port)))
        .collect()
}
