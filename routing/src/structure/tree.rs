//! Fat trees of any kind, found from the graph: levels, roots, leaves, columns, and how far it is from a full tree.
//!
//! k-ary n-trees, XGFTs, PGFTs with parallel cables, rail pods, trees with thin, unequal or empty leaves, with missing
//! and extra cables, with hosts or aggregation nodes on spines, with switches hung behind them. What makes a fabric a
//! tree here is not a count of its cables, but that its end ports reach each other by climbing the levels and then
//! descending; tori, dragonflies and random graphs fail that. It routes nothing and changes nothing.
//!
//! The tree of Öhring and others (XGFT, 1995) and Zahavi (PGFT, 2011); order of end ports as in Gliksberg and others,
//! "High-quality fault resiliency in fat trees" (2020).

mod columns;
mod mismatch;
mod ranks;

use petgraph::unionfind::UnionFind;

use ferrosm_mad::ids::PortNum;

pub use columns::NONE as NO_COLUMN;
pub use mismatch::TreeMismatch;
pub(crate) use ranks::distances;

use crate::engine::graph::Graph;
use crate::hints::Hints;
use crate::topology::{EndPort, SwitchIdx, Topology};

/// Of 100 pairs of end ports, so many must be connected up and down the levels.
const CONNECTED_PERCENT: u64 = 75;

/// A fabric seen as a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// By switch: its level. Leaves are 0.
    pub rank: Vec<u32>,
    /// By switch: how many hops outside of the tree it hangs (behind a leaf). Of two switches of one level, the one
    /// with the smaller number is above.
    pub hanging: Vec<u32>,
    /// Switches of the highest level, by LID; the given ones, if roots are given.
    pub roots: Vec<SwitchIdx>,
    /// Switches with end ports that count, on the lowest level, those of a part of the tree next to each other.
    pub leaves: Vec<SwitchIdx>,
    /// By switch: its column among the parents of its children; [`NO_COLUMN`] for odd ones.
    pub column: Vec<u32>,
    /// By level: how many columns a switch of it has above.
    pub arity: Vec<u32>,
    /// By level: how many cables lead from a switch to one above, as a rule.
    pub cables: Vec<u32>,
    /// Cables between two switches of one level.
    pub level_cables: usize,
    /// Pairs of end ports (ordered, on different leaves), and how many of them are connected up and down the levels.
    pub pairs: (u64, u64),
    /// By number of ports of the switches: the port on which each of them has an aggregation node (or the like).
    service_ports: Vec<Option<PortNum>>,
}

impl Tree {
    /// How many levels of switches there are.
    #[must_use]
    pub fn levels(&self) -> usize {
        self.arity.len()
    }

    /// Whether an end port is one that every switch has, of whatever level: an aggregation node, no host.
    #[must_use]
    pub fn is_service(&self, topo: &Topology, s: SwitchIdx, end_port: PortNum) -> bool {
        let ports = usize::from(topo.num_ports(s));
        self.service_ports.get(ports).copied().flatten() == Some(end_port)
    }
}

/// Looks for a tree.
///
/// # Errors
/// The fabric is no tree: a sentence says why.
pub fn tree(topo: &Topology, hints: &Hints) -> Result<Tree, TreeMismatch> {
    tree_in(topo, &Graph::with_ids(topo, &hints.ids), hints)
}

/// As [`tree`], with the graph already built.
pub(crate) fn tree_in(topo: &Topology, graph: &Graph, hints: &Hints) -> Result<Tree, TreeMismatch> {
    let n = graph.len();
    let service_ports = service_ports(topo);
    let weight = weights(topo, hints, &service_ports);
    let hosts: u64 = weight.iter().map(|&w| u64::from(w)).sum();
    if hosts == 0 && n > 1 {
        return Err(TreeMismatch::NoEndPorts);
    }
    let crowd = crowds(&weight);
    let given: Vec<usize> = hints
        .roots
        .iter()
        .map(|r| r.index())
        .filter(|&r| r < n)
        .collect();
    let ranks = if given.is_empty() {
        ranks::found(graph, &weight, &crowd)
    } else {
        ranks::below_roots(graph, &given)
    };
    if ranks.rank.contains(&ranks::FAR) {
        return Err(TreeMismatch::Disconnected);
    }
    let rank = ranks.rank;
    let top = rank.iter().copied().max().unwrap_or(0);
    let level_cables = (0..n)
        .flat_map(|v| graph.slots(v).iter().map(move |s| (v, s)))
        .filter(|(v, s)| *v < s.peer && rank[*v] == rank[s.peer])
        .map(|(_, s)| graph.ports(*s).len())
        .sum();
    let pairs = connected_pairs(graph, &rank, &weight);
    if given.is_empty() && pairs.1 * 100 < pairs.0 * CONNECTED_PERCENT {
        return Err(TreeMismatch::Pairs {
            pairs: pairs.0,
            connected: pairs.1,
            levels: top + 1,
            level_links: level_cables,
            links: topo.num_channels() / 2,
        });
    }
    let columns = columns::found(graph, &rank);
    let leaves = leaves_in_order(graph, &rank, &weight, &crowd, top);
    let by_lid = graph.by_lid.iter().copied();
    let roots = by_lid.filter(|&v| {
        if given.is_empty() {
            rank[v] == top
        } else {
            given.contains(&v)
        }
    });
    Ok(Tree {
        roots: roots.map(SwitchIdx::at).collect(),
        leaves: leaves.into_iter().map(SwitchIdx::at).collect(),
        hanging: ranks.hanging,
        column: columns.column,
        arity: columns.arity,
        cables: columns.cables,
        level_cables,
        pairs,
        service_ports,
        rank,
    })
}

/// Switches with end ports, aggregation nodes aside.
pub(crate) fn with_hosts(topo: &Topology) -> Vec<usize> {
    let weight = weights(topo, &Hints::default(), &service_ports(topo));
    (0..weight.len()).filter(|&v| weight[v] > 0).collect()
}

/// Which switches have an aggregation node on their last port, by number of ports: those of which more than half of all
/// without a crowd have an end port there.
fn service_ports(topo: &Topology) -> Vec<Option<PortNum>> {
    let ends = |s: SwitchIdx| topo.end_ports(s);
    let most = topo.switches().map(|s| ends(s).len()).max().unwrap_or(0);
    let (mut few, mut with) = (vec![0usize; 256], vec![0usize; 256]);
    // With a host or two on some spines beside it.
    for s in topo.switches().filter(|&s| 2 * ends(s).len() <= most) {
        let ports = topo.num_ports(s);
        few[usize::from(ports)] += 1;
        let last = ends(s).last().is_some_and(|e| e.port == PortNum(ports));
        with[usize::from(ports)] += usize::from(last);
    }
    (0..=u8::MAX)
        .zip(few.iter().zip(&with))
        .map(|(ports, (&few, &with))| (few > 1 && 2 * with > few).then_some(PortNum(ports)))
        .collect()
}

/// End ports that count on each switch: hosts, or compute ports where the operator says which they are.
fn weights(topo: &Topology, hints: &Hints, service: &[Option<PortNum>]) -> Vec<u32> {
    // A list that names no port of this fabric says nothing of it.
    let compute = hints.compute.as_ref().filter(|c| !c.is_empty());
    let counts = |s: SwitchIdx, e: &EndPort| match compute {
        Some(compute) => compute.contains(&e.lid),
        None => service[usize::from(topo.num_ports(s))] != Some(e.port),
    };
    let of = |s| topo.end_ports(s).iter().filter(|e| counts(s, e)).count();
    topo.switches()
        .map(|s| u32::try_from(of(s)).unwrap_or(u32::MAX))
        .collect()
}

/// Whether more end ports hang on a switch than on half of what the median end port's switch has.
fn crowds(weight: &[u32]) -> Vec<bool> {
    let mut sorted: Vec<u32> = weight.iter().copied().filter(|&w| w > 0).collect();
    sorted.sort_unstable();
    let all: u64 = sorted.iter().map(|&w| u64::from(w)).sum();
    let mut passed = 0;
    let median = sorted.iter().find(|&&w| {
        passed += u64::from(w);
        2 * passed >= all
    });
    let median = median.copied().unwrap_or(0);
    weight.iter().map(|&w| w > 0 && 2 * w > median).collect()
}

/// Ordered pairs of end ports that count, on different switches, and how many of them are connected by climbing levels
/// and then descending. 64 switches at a time.
fn connected_pairs(graph: &Graph, rank: &[u32], weight: &[u32]) -> (u64, u64) {
    let n = graph.len();
    let mut by_rank: Vec<usize> = (0..n).collect();
    by_rank.sort_by_key(|&v| rank[v]);
    let sources: Vec<usize> = (0..n).filter(|&v| weight[v] > 0).collect();
    let all: u64 = sources.iter().map(|&v| u64::from(weight[v])).sum();
    let pairs = sources
        .iter()
        .map(|&v| u64::from(weight[v]) * (all - u64::from(weight[v])))
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

/// Leaves by LID within the smallest part of the tree that they share, and these parts by their first leaf's LID.
fn leaves_in_order(
    graph: &Graph,
    rank: &[u32],
    weight: &[u32],
    crowd: &[bool],
    top: u32,
) -> Vec<usize> {
    let mut leaves: Vec<usize> = graph.by_lid.clone();
    leaves.retain(|&v| weight[v] > 0 && (rank[v] == 0 || crowd[v]));
    // By leaf: the parts that it is in, the largest first, each by its first leaf.
    let mut parts: Vec<Vec<usize>> = vec![Vec::new(); graph.len()];
    for level in (1..top).rev() {
        let mut sets = UnionFind::<usize>::new(graph.len());
        for v in (0..graph.len()).filter(|&v| rank[v] <= level) {
            let below = graph.slots(v).iter().filter(|s| rank[s.peer] < rank[v]);
            below.for_each(|s| {
                sets.union(v, s.peer);
            });
        }
        let mut first = vec![usize::MAX; graph.len()];
        for &v in &leaves {
            let part = sets.find(v);
            first[part] = first[part].min(graph.lid_rank[v]);
            parts[v].push(first[part]);
        }
    }
    leaves.sort_by(|&a, &b| (&parts[a], graph.lid_rank[a]).cmp(&(&parts[b], graph.lid_rank[b])));
    leaves
}
