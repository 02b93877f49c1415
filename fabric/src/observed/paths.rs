//! Directed routes over the known links.

use core::time::Duration;
use std::collections::VecDeque;

use ferrosm_mad::smp::DrPath;
use ferrosm_mad::time::Instant;
use petgraph::visit::{EdgeRef, NodeIndexable};

use super::{LinkIdx, NodeIdx, ObservedFabric, PortRef};

/// Time after which a link that was down counts as stable.
pub const STABLE_AFTER: Duration = Duration::from_secs(5);

impl ObservedFabric {
    /// Shortest DR paths from the SM to every node over the known links, by node index; `None` for
    /// unreachable nodes. Links that `avoid` selects are not used.
    #[must_use]
    pub fn routes(&self, avoid: &dyn Fn(LinkIdx) -> bool) -> Vec<Option<DrPath>> {
        let mut paths = vec![None; self.graph.node_bound()];
        let Some(local) = self.local else {
            return paths;
        };
        paths[local.node.index()] = Some(DrPath::LOCAL);
        let mut queue = VecDeque::from([local.node]);
        while let Some(at) = queue.pop_front() {
            let (Some(path), Some(node)) = (paths[at.index()], self.get(at)) else {
                continue;
            };
            // SMPs do not pass through CAs or routers; those of the SM leave by the SM port only.
            if at != local.node && !node.is_switch() {
                continue;
            }
            for e in self.graph.edges(at.graph_index()) {
                if avoid(e.id()) {
                    continue;
                }
                let link = e.weight();
                for from in [link.a, link.b] {
                    let to = link.other(from);
                    if from.node != at || paths[to.node.index()].is_some() {
                        continue;
                    }
                    if at == local.node && !node.is_switch() && from.port != local.port {
                        continue;
                    }
                    if let Some(longer) = path.extend(from.port) {
                        paths[to.node.index()] = Some(longer);
                        queue.push_back(to.node);
                    }
                }
            }
        }
        paths
    }

    /// Records that a link of known DR paths may have changed.
    pub const fn mark_paths_stale(&mut self) {
        self.paths_stale = true;
    }

    /// Recomputes the DR paths if they may be stale. Unreachable nodes retain their path.
    pub fn refresh_stale_paths(&mut self, now: Instant) {
        if self.paths_stale {
            let _ = self.refresh_paths(now);
        }
    }

    /// Whether a link was down recently, so that SMPs over it may be lost.
    fn is_unstable(&self, link: LinkIdx, now: Instant) -> bool {
        let recent = |port_ref: PortRef| {
            self.port(port_ref)
                .is_some_and(|port| now < port.stable_from)
        };
        let link = self.graph.edge_weight(link);
        link.is_some_and(|link| recent(link.a) || recent(link.b))
    }

    /// The links of a DR path, as far as they are known.
    #[must_use]
    pub fn links_on_path(&self, path: &DrPath) -> Vec<LinkIdx> {
        let mut links = Vec::with_capacity(path.len());
        let Some(mut at) = self.local.map(|p| p.node) else {
            return links;
        };
        for hop in path.hops() {
            let from = PortRef::new(at, ferrosm_mad::ids::PortNum(*hop));
            let (Some(link), Some(to)) = (self.port(from).and_then(|p| p.link), self.peer(from))
            else {
                break;
            };
            links.push(link);
            at = to.node;
        }
        links
    }

    /// The port at which a DR path ends, if its links are known.
    #[must_use]
    pub fn end_of_path(&self, path: &DrPath) -> Option<PortRef> {
        let mut end = self.local?;
        for hop in path.hops() {
            end = self.peer(PortRef::new(end.node, ferrosm_mad::ids::PortNum(*hop)))?;
        }
        Some(end)
    }

    /// A path to a node other than `path`: one that avoids its last link, otherwise one that avoids
    /// all its links except the first.
    #[must_use]
    pub fn detour(&self, node: NodeIdx, path: &DrPath) -> Option<DrPath> {
        let used = self.links_on_path(path);
        self.path_avoiding(node, used.last_chunk::<1>()?)
            .or_else(|| self.path_avoiding(node, used.get(1..)?))
    }

    /// `path` and alternative paths to the node: one that avoids all links of `path`, or all except
    /// the first, and one that avoids the last.
    #[must_use]
    pub fn alternative_paths(&self, node: NodeIdx, path: &DrPath) -> Vec<DrPath> {
        let used = self.links_on_path(path);
        let disjoint = self
            .path_avoiding(node, &used)
            .or_else(|| self.path_avoiding(node, used.get(1..)?));
        let mut paths = vec![*path];
        for other in [disjoint, self.detour(node, path)].into_iter().flatten() {
            if !paths.contains(&other) {
                paths.push(other);
            }
        }
        paths
    }

    /// The shortest path to a node that avoids these links; `None` if the list is empty.
    fn path_avoiding(&self, node: NodeIdx, links: &[LinkIdx]) -> Option<DrPath> {
        if links.is_empty() {
            return None;
        }
        self.routes(&|l| links.contains(&l))[node.index()]
    }

    /// Sets the shortest DR path of every node that is reachable over the known links. Returns the
    /// unreachable nodes, which retain their path. Unstable links are used only for nodes that are
    /// not reachable otherwise.
    pub fn refresh_paths(&mut self, now: Instant) -> Vec<NodeIdx> {
        self.paths_stale = false;
        let mut routes = self.routes(&|l| self.is_unstable(l, now));
        if self.node_indices().any(|n| routes[n.index()].is_none()) {
            let any = self.routes(&|_| false);
            for (route, any) in routes.iter_mut().zip(any) {
                *route = route.or(any);
            }
        }
        let mut lost = Vec::new();
        let nodes: Vec<NodeIdx> = self.node_indices().collect();
        for n in nodes {
            match routes.get(n.index()).copied().flatten() {
                Some(path) => {
                    // Nodes with an unchanged path are not modified, so that their published data
                    // are shared.
                    if self.get(n).is_some_and(|node| node.path != path)
                        && let Some(node) = self.get_mut(n)
                    {
                        node.path = path;
                    }
                }
                None => lost.push(n),
            }
        }
        lost
    }
}
