//! Directed routes over the known links.

use core::time::Duration;
use std::collections::VecDeque;

use ferrosm_mad::smp::DrPath;
use ferrosm_mad::time::Instant;
use petgraph::visit::{EdgeRef, NodeIndexable};

use super::{LinkIdx, NodeIdx, PortRef, Subnet};

/// A link that was up for so long is believed to stay so.
const CALM: Duration = Duration::from_secs(5);

impl Subnet {
    /// Shortest directed routes from the SM to every node over the known links, by node index; `None` where a node
    /// cannot be reached. `avoid` names links that are not to be used.
    #[must_use]
    pub fn routes(&self, avoid: &dyn Fn(LinkIdx) -> bool) -> Vec<Option<DrPath>> {
        let mut found = vec![None; self.graph.node_bound()];
        let Some(local) = self.local else {
            return found;
        };
        found[local.node.index()] = Some(DrPath::LOCAL);
        let mut queue = VecDeque::from([local.node]);
        while let Some(at) = queue.pop_front() {
            let (Some(path), Some(node)) = (found[at.index()], self.get(at)) else {
                continue;
            };
            // Nothing passes through a CA or router; the SM's own leaves by the SM's port only.
            if at != local.node && !node.is_switch() {
                continue;
            }
            for e in self.graph.edges(at.place()) {
                if avoid(e.id()) {
                    continue;
                }
                let link = e.weight();
                for from in [link.a, link.b] {
                    let to = link.other(from);
                    if from.node != at || found[to.node.index()].is_some() {
                        continue;
                    }
                    if at == local.node && !node.is_switch() && from.port != local.port {
                        continue;
                    }
                    if let Some(longer) = path.extend(from.port) {
                        found[to.node.index()] = Some(longer);
                        queue.push_back(to.node);
                    }
                }
            }
        }
        found
    }

    /// Known DR paths may lead over a link that changed.
    pub(crate) const fn mark_paths_stale(&mut self) {
        self.paths_stale = true;
    }

    /// Recomputes the DR paths if they may be stale. Nodes without a path keep the one that they had.
    pub(crate) fn refresh_stale_paths(&mut self, now: Instant) {
        if self.paths_stale {
            let _ = self.refresh_paths(now);
        }
    }

    /// Whether a link was down a moment ago: what is sent over it may be lost.
    fn is_restless(&self, link: LinkIdx, now: Instant) -> bool {
        let fell = |end: PortRef| self.port(end)?.fell;
        let recent = |end: PortRef| fell(end).is_some_and(|fell| now.since(fell) < CALM);
        let link = self.graph.edge_weight(link);
        link.is_some_and(|link| recent(link.a) || recent(link.b))
    }

    /// The links that a directed route goes over, as far as they are known.
    #[must_use]
    pub fn links_of(&self, path: &DrPath) -> Vec<LinkIdx> {
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

    /// Another way to a node than `path`: around its last link, else around all its links but the first.
    #[must_use]
    pub fn detour(&self, node: NodeIdx, path: &DrPath) -> Option<DrPath> {
        let used = self.links_of(path);
        self.around(node, used.last_chunk::<1>()?)
            .or_else(|| self.around(node, used.get(1..)?))
    }

    /// The ways to a node that have least in common with `path`, which is the first of them: around all its links, else all but the
    /// first; and around the last alone.
    #[must_use]
    pub fn ways(&self, node: NodeIdx, path: &DrPath) -> Vec<DrPath> {
        let used = self.links_of(path);
        let apart = self.around(node, &used);
        let apart = apart.or_else(|| self.around(node, used.get(1..)?));
        let mut ways = vec![*path];
        for way in [apart, self.detour(node, path)].into_iter().flatten() {
            if !ways.contains(&way) {
                ways.push(way);
            }
        }
        ways
    }

    /// The shortest way to a node that takes none of these links, of which there are some.
    fn around(&self, node: NodeIdx, links: &[LinkIdx]) -> Option<DrPath> {
        if links.is_empty() {
            return None;
        }
        self.routes(&|l| links.contains(&l))[node.index()]
    }

    /// Gives every node that is reached over the known links the shortest way, and names the others, which keep theirs. Links that
    /// may be about to go down again are used only by nodes that are reached over no others.
    pub fn refresh_paths(&mut self, now: Instant) -> Vec<NodeIdx> {
        self.paths_stale = false;
        let mut routes = self.routes(&|l| self.is_restless(l, now));
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
                    // Who keeps its way is not touched: what is published of it stays as it is.
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
