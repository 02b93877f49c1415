//! Columns of a tree: corresponding switches of one level in different subtrees.
//!
//! In a full tree, the middle switches of all pods with links to the same spines form one column. A
//! destination uses the same column everywhere, so that shift permutations have no conflicts.
//! Columns are determined by majority, so that missing and additional links have little effect. A
//! column is numbered among the parents of its children.

use petgraph::unionfind::UnionFind;

use crate::topology::graph::Graph;

/// No column.
pub const NONE: u32 = u32::MAX;

/// Columns of a tree.
#[derive(Debug)]
pub(super) struct Columns {
    /// Number of the column among the parents of its children, by switch; [`NONE`] for irregular
    /// switches.
    pub(super) column: Vec<u32>,
    /// Number of columns above a switch, by level.
    pub(super) arity: Vec<u32>,
    /// Usual number of parallel links from a switch to a parent, by level.
    pub(super) parallel_links: Vec<u32>,
}

/// Detects the columns of a tree with these levels.
pub(super) fn detect(graph: &Graph, rank: &[u32]) -> Columns {
    let n = graph.len();
    let top = rank.iter().copied().max().unwrap_or(0);
    let mut by_rank: Vec<Vec<usize>> = vec![Vec::new(); top as usize + 1];
    for &v in &graph.by_lid {
        by_rank[rank[v] as usize].push(v);
    }
    let neighbours_at = |v: usize, level: u32| {
        let peers = graph.slots(v).iter().map(|s| s.peer);
        peers.filter(move |&p| rank[p] == level)
    };

    // From the top: each top switch is a group; below, switches with the same parent groups form a
    // group.
    let mut group = vec![NONE; n];
    let mut groups_of: Vec<u32> = vec![0; top as usize + 1];
    for level in (0..=top).rev() {
        let mut groups = 0;
        if level == top {
            for &v in &by_rank[level as usize] {
                group[v] = groups;
                groups += 1;
            }
        } else {
            let parents = groups_of[level as usize + 1] as usize;
            let mut children: Vec<Vec<usize>> = vec![Vec::new(); parents];
            for &v in &by_rank[level as usize] {
                let mut parents: Vec<u32> = neighbours_at(v, level + 1).map(|p| group[p]).collect();
                parents.sort_unstable();
                parents.dedup();
                parents.iter().for_each(|&g| children[g as usize].push(v));
            }
            for children in &children {
                let mut votes: Vec<u32> = children
                    .iter()
                    .map(|&v| group[v])
                    .filter(|&g| g != NONE)
                    .collect();
                let choice = if 2 * votes.len() < children.len() {
                    groups += 1;
                    groups - 1
                } else {
                    most_common(&mut votes).unwrap_or(NONE)
                };
                for &v in children {
                    if group[v] == NONE {
                        group[v] = choice;
                    }
                }
            }
            for &v in &by_rank[level as usize] {
                if group[v] == NONE {
                    group[v] = groups;
                    groups += 1;
                }
            }
        }
        groups_of[level as usize] = groups;
    }

    let mut column = vec![NONE; n];
    let mut arity = vec![1; top as usize + 1];
    let mut parallel_links = vec![1; top as usize + 1];
    for level in 0..top {
        let groups = groups_of[level as usize + 1] as usize;
        let (number, widest) = number_groups(graph, &by_rank[level as usize], groups, |v| {
            neighbours_at(v, level + 1).map(|p| group[p]).collect()
        });
        for &v in &by_rank[level as usize + 1] {
            column[v] = number[group[v] as usize];
        }
        arity[level as usize] = widest.max(1);
        let mut widths: Vec<u32> = by_rank[level as usize]
            .iter()
            .flat_map(|&v| graph.slots(v))
            .filter(|s| rank[s.peer] == level + 1)
            .map(|s| u32::try_from(graph.ports(*s).len()).unwrap_or(1))
            .collect();
        parallel_links[level as usize] = most_common(&mut widths).unwrap_or(1);
    }
    Columns {
        column,
        arity,
        parallel_links,
    }
}

/// Numbers the parent groups among those that share children, and returns the usual number of
/// groups that share children.
fn number_groups(
    graph: &Graph,
    children: &[usize],
    groups: usize,
    parents: impl Fn(usize) -> Vec<u32>,
) -> (Vec<u32>, u32) {
    let mut seen = vec![0usize; groups];
    let mut shared_children: Vec<(u32, u32)> = Vec::new();
    for &v in children {
        let mut parents = parents(v);
        parents.sort_unstable();
        parents.dedup();
        parents.iter().for_each(|&g| seen[g as usize] += 1);
        shared_children.extend(parents.windows(2).map(|w| (w[0], w[1])));
    }
    shared_children.sort_unstable();
    // Groups with few children for this level are irregular and get no destinations.
    let mut counts: Vec<usize> = seen.iter().copied().filter(|&c| c > 0).collect();
    counts.sort_unstable();
    let usual = counts.get(counts.len() / 2).copied().unwrap_or(0);
    let is_regular = |g: usize| seen[g] > 0 && 4 * seen[g] >= usual;
    let mut family = UnionFind::<usize>::new(graph.len().max(groups));
    for equal in shared_children.chunk_by(|a, b| a == b) {
        let a = equal[0].0 as usize;
        let b = equal[0].1 as usize;
        if is_regular(a) && is_regular(b) && 4 * equal.len() >= seen[a].min(seen[b]) {
            family.union(a, b);
        }
    }
    let mut next = vec![0u32; graph.len().max(groups)];
    let mut number = vec![NONE; groups];
    for g in (0..groups).filter(|&g| is_regular(g)) {
        let family = family.find(g);
        number[g] = next[family];
        next[family] += 1;
    }
    // A family of unusual size (such as one irregular pod) does not determine the number of
    // columns.
    let mut sizes: Vec<u32> = (0..groups)
        .filter(|&g| number[g] != NONE)
        .map(|g| next[family.find(g)])
        .collect();
    let widest = most_common(&mut sizes).unwrap_or(1);
    for n in &mut number {
        if *n >= widest {
            *n = NONE;
        }
    }
    (number, widest)
}

/// The most frequent value; the largest if there are several.
pub(super) fn most_common<T: Ord + Copy>(values: &mut [T]) -> Option<T> {
    values.sort_unstable();
    values
        .chunk_by(|a, b| a == b)
        .max_by_key(|equal| equal.len())
        .map(|equal| equal[0])
}
