//! Which switches of a level stand for each other in different parts of a tree.
//!
//! In a full tree a switch is known by its column: the middle switches of all pods that are cabled to the same spines
//! form one, whatever their LIDs. A destination then takes the same column everywhere, so that shift permutations meet
//! on no cable. Columns are found by vote, so that lost, missing and extra cables change little, and each is numbered
//! among those which its children have as parents.

use petgraph::unionfind::UnionFind;

use crate::engine::graph::Graph;

/// No column.
pub const NONE: u32 = u32::MAX;

/// Columns of all switches.
#[derive(Debug)]
pub(super) struct Columns {
    /// By switch: which of its children's parents it is, from 0; [`NONE`] for odd ones.
    pub(super) column: Vec<u32>,
    /// By level: how many columns the level above has for a switch of this one.
    pub(super) arity: Vec<u32>,
    /// By level: how many cables lead from a switch to one above, as a rule.
    pub(super) cables: Vec<u32>,
}

pub(super) fn found(graph: &Graph, rank: &[u32]) -> Columns {
    let n = graph.len();
    let top = rank.iter().copied().max().unwrap_or(0);
    let mut by_rank: Vec<Vec<usize>> = vec![Vec::new(); top as usize + 1];
    for &v in &graph.by_lid {
        by_rank[rank[v] as usize].push(v);
    }
    let next_level = |v: usize, of: u32| {
        let peers = graph.slots(v).iter().map(|s| s.peer);
        peers.filter(move |&p| rank[p] == of)
    };

    // From the top: each switch there is a group; below, switches with the same parents (by group) are.
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
                let mut above: Vec<u32> = next_level(v, level + 1).map(|p| group[p]).collect();
                above.sort_unstable();
                above.dedup();
                above.iter().for_each(|&g| children[g as usize].push(v));
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
    let mut cables = vec![1; top as usize + 1];
    for level in 0..top {
        let groups = groups_of[level as usize + 1] as usize;
        let (number, widest) = numbers(graph, &by_rank[level as usize], groups, |v| {
            next_level(v, level + 1).map(|p| group[p]).collect()
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
        cables[level as usize] = most_common(&mut widths).unwrap_or(1);
    }
    Columns {
        column,
        arity,
        cables,
    }
}

/// Numbers the groups of parents among those that share children, and says how many there are at most together.
fn numbers(
    graph: &Graph,
    children: &[usize],
    groups: usize,
    parents: impl Fn(usize) -> Vec<u32>,
) -> (Vec<u32>, u32) {
    let mut seen = vec![0usize; groups];
    let mut together: Vec<(u32, u32)> = Vec::new();
    for &v in children {
        let mut above = parents(v);
        above.sort_unstable();
        above.dedup();
        above.iter().for_each(|&g| seen[g as usize] += 1);
        together.extend(above.windows(2).map(|w| (w[0], w[1])));
    }
    together.sort_unstable();
    // Groups with few children for this level are odd: no destination is meant for them.
    let mut counts: Vec<usize> = seen.iter().copied().filter(|&c| c > 0).collect();
    counts.sort_unstable();
    let usual = counts.get(counts.len() / 2).copied().unwrap_or(0);
    let counts_for = |g: usize| seen[g] > 0 && 4 * seen[g] >= usual;
    let mut family = UnionFind::<usize>::new(graph.len().max(groups));
    for same in together.chunk_by(|a, b| a == b) {
        let (a, b) = (same[0].0 as usize, same[0].1 as usize);
        if counts_for(a) && counts_for(b) && 4 * same.len() >= seen[a].min(seen[b]) {
            family.union(a, b);
        }
    }
    let mut next = vec![0u32; graph.len().max(groups)];
    let mut number = vec![NONE; groups];
    for g in (0..groups).filter(|&g| counts_for(g)) {
        let family = family.find(g);
        number[g] = next[family];
        next[family] += 1;
    }
    // A family of odd size (a pod of its own) does not set the rule.
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

/// The value that is there most often, the largest of several.
pub(super) fn most_common<T: Ord + Copy>(values: &mut [T]) -> Option<T> {
    values.sort_unstable();
    values
        .chunk_by(|a, b| a == b)
        .max_by_key(|same| same.len())
        .map(|same| same[0])
}
