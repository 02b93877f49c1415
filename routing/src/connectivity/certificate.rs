//! The few links on which the effect of two losses depends.
//!
//! Neighbours are chosen by three spanning forests, each found by a breadth-first search in what
//! the ones before left over. The links between them have the same parts as the graph after any two
//! losses (Cheriyan, Kao, Thurimella, SIAM J. Comput. 1993), if up to three parallel links are
//! included. So a search after each loss takes linear time in the number of switches, not of links.
//! The loss of another link changes no redundancy.

use std::collections::{BTreeMap, VecDeque};

use super::multigraph::Multigraph;
use crate::topology::index_to_u32;

/// Losses after which the parts are the same, plus one.
const FORESTS: usize = 3;

/// The numbers of the links of the certificate, ascending.
pub(super) fn links(graph: &Multigraph) -> Vec<u32> {
    let pairs = NeighbourPairs::new(graph);
    let mut is_used = vec![false; pairs.count];
    for _ in 0..FORESTS {
        for pair in forest(graph, &pairs, &is_used) {
            is_used[pair] = true;
        }
    }
    let mut parallel_links = vec![0; pairs.count];
    let numbers = 0..graph.links.len();
    let included = numbers.filter(|link| {
        let pair = pairs.of_link[*link];
        parallel_links[pair] += 1;
        is_used[pair] && parallel_links[pair] <= FORESTS
    });
    included.map(index_to_u32).collect()
}

/// Pairs of neighbours, which may have parallel links.
struct NeighbourPairs {
    count: usize,
    /// By link.
    of_link: Vec<usize>,
}

impl NeighbourPairs {
    fn new(graph: &Multigraph) -> Self {
        let mut numbers: BTreeMap<(u32, u32), usize> = BTreeMap::new();
        let links = graph.links.iter();
        let of_link = links.map(|(a, b)| {
            let next = numbers.len();
            *numbers.entry((*a.min(b), *a.max(b))).or_insert(next)
        });
        Self {
            of_link: of_link.collect(),
            count: numbers.len(),
        }
    }
}

/// A breadth-first spanning forest of the pairs that are not used.
fn forest(graph: &Multigraph, pairs: &NeighbourPairs, is_used: &[bool]) -> Vec<usize> {
    let mut is_reached = vec![false; graph.len()];
    let mut found = Vec::new();
    let mut queue = VecDeque::new();
    for start in 0..graph.len() {
        if is_reached[start] {
            continue;
        }
        is_reached[start] = true;
        queue.push_back(start);
        while let Some(s) = queue.pop_front() {
            for &(peer, link) in graph.neighbours(s) {
                let peer = peer as usize;
                let pair = pairs.of_link[link as usize];
                if !is_reached[peer] && !is_used[pair] {
                    is_reached[peer] = true;
                    found.push(pair);
                    queue.push_back(peer);
                }
            }
        }
    }
    found
}
