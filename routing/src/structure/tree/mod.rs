//! Detection of fat trees: levels, roots, leaves, columns.
//!
//! Covers k-ary n-trees, XGFTs, PGFTs with parallel links, rail pods, and trees with thin, unequal
//! or empty leaves, with missing or additional links, with hosts or aggregation nodes on spines,
//! and with switches attached behind them. A fabric is a tree if most pairs of end ports have an
//! up/down path over the levels; tori, dragonflies and random graphs do not.
//!
//! Trees as in Öhring et al. (XGFT, 1995) and Zahavi (PGFT, 2011); order of end ports as in
//! Gliksberg et al., "High-quality fault resiliency in fat trees" (2020).

mod columns;
mod mismatch;
mod ranks;

use petgraph::unionfind::UnionFind;

use ferrosm_mad::ids::PortNum;

pub use columns::NONE as NO_COLUMN;
pub use mismatch::TreeMismatch;
pub(crate) use ranks::distances;

use crate::hints::Hints;
use crate::topology::graph::Graph;
use crate::topology::{AttachedEndPort, SwitchIdx, Topology, index_to_u32};

/// Minimum share of pairs of end ports with an up/down path, in percent.
const CONNECTED_PERCENT: u64 = 75;

/// A detected tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DetectedTree {
    /// Level, by switch; 0 for leaves.
    pub rank: Vec<u32>,
    /// Number of hops outside of the tree (behind a leaf), by switch. Between two switches of one
    /// level, up is towards the one with the smaller number.
    pub outside_hops: Vec<u32>,
    /// Switches of the highest level, by LID; the configured roots, if there are any.
    pub roots: Vec<SwitchIdx>,
    /// Switches with compute end ports on the lowest level; those of one subtree are adjacent.
    pub leaves: Vec<SwitchIdx>,
    /// Column among the parents of its children, by switch; [`NO_COLUMN`] for irregular switches.
    pub column: Vec<u32>,
    /// Number of columns above a switch, by level.
    pub arity: Vec<u32>,
    /// Usual number of parallel links from a switch to a parent, by level.
    pub parallel_links: Vec<u32>,
    /// Number of links between switches of one level.
    pub level_links: usize,
    /// Number of ordered pairs of end ports on different switches, and of those with an up/down
    /// path.
    pub pairs: (u64, u64),
    /// Service port: port of the aggregation node or a similar device, by number of ports of the
    /// switch.
    service_ports: Vec<Option<PortNum>>,
}

impl DetectedTree {
    /// Number of levels of switches.
    #[must_use]
    pub fn levels(&self) -> usize {
        self.arity.len()
    }

    /// Whether an end port is a service port, such as that of an aggregation node: a device at
    /// switches of all levels, not a host.
    #[must_use]
    pub fn is_service(&self, topo: &Topology, s: SwitchIdx, end_port: PortNum) -> bool {
        let ports = usize::from(topo.num_ports(s));
        self.service_ports.get(ports).copied().flatten() == Some(end_port)
    }
}

/// Detects a tree.
///
/// # Errors
/// The fabric is not a tree.
pub fn tree(topo: &Topology, hints: &Hints) -> Result<DetectedTree, TreeMismatch> {
    tree_in(topo, &topo.graph().ranked_by(&hints.ids), hints)
}

/// As [`tree`], with the graph already built.
pub(crate) fn tree_in(
    topo: &Topology,
    graph: &Graph,
    hints: &Hints,
) -> Result<DetectedTree, TreeMismatch> {
    let n = graph.len();
    let service_ports = service_ports(topo);
    let weight = weights(topo, hints, &service_ports);
    let hosts: u64 = weight.iter().map(|&w| u64::from(w)).sum();
    if hosts == 0 && n > 1 {
        return Err(TreeMismatch::NoEndPorts);
    }
    let is_edge = edge_switches(&weight);
    let configured: Vec<usize> = hints
        .roots
        .iter()
        .map(|r| r.index())
        .filter(|&r| r < n)
        .collect();
    let ranks = if configured.is_empty() {
        ranks::detect(graph, &weight, &is_edge)
    } else {
        ranks::below_roots(graph, &configured)
    };
    if ranks.rank.contains(&ranks::UNREACHED) {
        return Err(TreeMismatch::Disconnected);
    }
    let rank = ranks.rank;
    let top = rank.iter().copied().max().unwrap_or(0);
    let level_links = (0..n)
        .flat_map(|v| graph.slots(v).iter().map(move |s| (v, s)))
        .filter(|(v, s)| *v < s.peer && rank[*v] == rank[s.peer])
        .map(|(_, s)| graph.ports(*s).len())
        .sum();
    let pairs = connected_pairs(graph, &rank, &weight);
    if configured.is_empty() && pairs.1 * 100 < pairs.0 * CONNECTED_PERCENT {
        return Err(TreeMismatch::Pairs {
            pairs: pairs.0,
            connected: pairs.1,
            levels: top + 1,
            level_links,
            links: topo.num_channels() / 2,
        });
    }
    let columns = columns::detect(graph, &rank);
    let leaves = leaves_in_order(graph, &rank, &weight, &is_edge, top);
    let roots = graph.by_lid.iter().copied().filter(|&v| {
        if configured.is_empty() {
            rank[v] == top
        } else {
            configured.contains(&v)
        }
    });
    Ok(DetectedTree {
        roots: roots.map(SwitchIdx::from_index).collect(),
        leaves: leaves.into_iter().map(SwitchIdx::from_index).collect(),
        outside_hops: ranks.outside_hops,
        column: columns.column,
        arity: columns.arity,
        parallel_links: columns.parallel_links,
        level_links,
        pairs,
        service_ports,
        rank,
    })
}

/// Switches with end ports other than aggregation nodes.
pub(crate) fn switches_with_hosts(topo: &Topology) -> Vec<usize> {
    let weight = weights(topo, &Hints::default(), &service_ports(topo));
    (0..weight.len()).filter(|&v| weight[v] > 0).collect()
}

/// Service port, by number of ports of the switch: the last port, if more than half of the switches
/// with few end ports have one there.
fn service_ports(topo: &Topology) -> Vec<Option<PortNum>> {
    let end_ports = |s: SwitchIdx| topo.end_ports(s);
    let max_end_ports = topo
        .switches()
        .map(|s| end_ports(s).len())
        .max()
        .unwrap_or(0);
    let mut sparse_switches = vec![0usize; 256];
    let mut with_last_port = vec![0usize; 256];
    // Some spines may have one or two hosts as well.
    for s in topo
        .switches()
        .filter(|&s| 2 * end_ports(s).len() <= max_end_ports)
    {
        let ports = topo.num_ports(s);
        sparse_switches[usize::from(ports)] += 1;
        let last = end_ports(s)
            .last()
            .is_some_and(|e| e.port == PortNum(ports));
        with_last_port[usize::from(ports)] += usize::from(last);
    }
    (0..=u8::MAX)
        .zip(sparse_switches.iter().zip(&with_last_port))
        .map(|(ports, (&few, &with))| (few > 1 && 2 * with > few).then_some(PortNum(ports)))
        .collect()
}

/// Number of compute end ports of each switch: the configured compute ports, or all hosts.
fn weights(topo: &Topology, hints: &Hints, service: &[Option<PortNum>]) -> Vec<u32> {
    // A list without any port of this fabric is ignored.
    let compute = hints.compute_ports.as_ref().filter(|c| !c.is_empty());
    let is_compute = |s: SwitchIdx, e: &AttachedEndPort| match compute {
        Some(compute) => compute.contains(&e.lid),
        None => service[usize::from(topo.num_ports(s))] != Some(e.port),
    };
    let count_compute = |s| {
        topo.end_ports(s)
            .iter()
            .filter(|e| is_compute(s, e))
            .count()
    };
    topo.switches()
        .map(|s| index_to_u32(count_compute(s)))
        .collect()
}

/// Whether a switch is an edge switch: it has more than half as many end ports as the switch to
/// which the median end port is attached (end ports ordered by the number of end ports of their
/// switch).
fn edge_switches(weight: &[u32]) -> Vec<bool> {
    let mut sorted: Vec<u32> = weight.iter().copied().filter(|&w| w > 0).collect();
    sorted.sort_unstable();
    let total: u64 = sorted.iter().map(|&w| u64::from(w)).sum();
    let mut passed = 0;
    let median = sorted
        .iter()
        .find(|&&w| {
            passed += u64::from(w);
            2 * passed >= total
        })
        .copied()
        .unwrap_or(0);
    weight.iter().map(|&w| w > 0 && 2 * w > median).collect()
}

/// Number of ordered pairs of compute end ports on different switches, and of those with an up/down
/// path. `weight` is the number of compute end ports, by switch. Evaluates 64 source switches at a
/// time, as bits of a mask.
fn connected_pairs(graph: &Graph, rank: &[u32], weight: &[u32]) -> (u64, u64) {
    let n = graph.len();
    let mut by_rank: Vec<usize> = (0..n).collect();
    by_rank.sort_by_key(|&v| rank[v]);
    let sources: Vec<usize> = (0..n).filter(|&v| weight[v] > 0).collect();
    let total: u64 = sources.iter().map(|&v| u64::from(weight[v])).sum();
    let pairs = sources
        .iter()
        .map(|&v| u64::from(weight[v]) * (total - u64::from(weight[v])))
        .sum();
    let mut connected = 0;
    let mut mask = vec![0u64; n];
    for word in sources.chunks(64) {
        mask.fill(0);
        for (bit, &v) in word.iter().enumerate() {
            mask[v] |= 1 << bit;
        }
        let mut spread = |v: usize, from: fn(u32, u32) -> bool| {
            let peers = graph.slots(v).iter().map(|s| s.peer);
            mask[v] |= peers
                .filter(|&p| from(rank[p], rank[v]))
                .fold(0, |m, p| m | mask[p]);
            mask[v]
        };
        for &v in &by_rank {
            spread(v, |other, own| other < own);
        }
        for &v in by_rank.iter().rev() {
            let mut bits = spread(v, |other, own| other > own);
            while bits != 0 && weight[v] > 0 {
                let from = word[bits.trailing_zeros() as usize];
                if from != v {
                    connected += u64::from(weight[v]) * u64::from(weight[from]);
                }
                bits &= bits - 1;
            }
        }
    }
    (pairs, connected)
}

/// Leaves by LID within the smallest subtree that they share, and subtrees by the LID of their
/// first leaf.
fn leaves_in_order(
    graph: &Graph,
    rank: &[u32],
    weight: &[u32],
    is_edge: &[bool],
    top: u32,
) -> Vec<usize> {
    let mut leaves: Vec<usize> = graph.by_lid.clone();
    leaves.retain(|&v| weight[v] > 0 && (rank[v] == 0 || is_edge[v]));
    // By leaf: its subtrees, the largest first, each as its first leaf.
    let mut subtrees: Vec<Vec<usize>> = vec![Vec::new(); graph.len()];
    for level in (1..top).rev() {
        let mut sets = UnionFind::<usize>::new(graph.len());
        for v in (0..graph.len()).filter(|&v| rank[v] <= level) {
            let children = graph.slots(v).iter().filter(|s| rank[s.peer] < rank[v]);
            children.for_each(|s| {
                sets.union(v, s.peer);
            });
        }
        let mut first = vec![usize::MAX; graph.len()];
        for &v in &leaves {
            let subtree = sets.find(v);
            first[subtree] = first[subtree].min(graph.lid_rank[v]);
            subtrees[v].push(first[subtree]);
        }
    }
    leaves.sort_by(|&a, &b| {
        (&subtrees[a], graph.lid_rank[a]).cmp(&(&subtrees[b], graph.lid_rank[b]))
    });
    leaves
}
