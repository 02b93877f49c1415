//! Bridges and articulation points by one depth-first search (Hopcroft and Tarjan, CACM 1973), and
//! which switches each of them separates from half or more of the end ports.

use core::cmp::Reverse;

use super::multigraph::{Multigraph, Removed};
use super::pairs;
use crate::topology::index_to_u32;

pub(super) const UNSEEN: u32 = u32::MAX;

/// A switch in the search. Its position in the preorder identifies it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Visit {
    pub(super) switch: u32,
    /// Position of the parent; `UNSEEN` for the first switch of a part.
    pub(super) parent: u32,
    /// The link to the parent.
    pub(super) parent_link: u32,
    /// Neighbours looked at so far.
    neighbours_seen: usize,
    /// Lowest position that the subtree reaches by another link than that to its parent.
    low: u32,
    /// The positions of the subtree end here.
    pub(super) end: u32,
    /// End ports of this switch alone.
    own_weight: u64,
    /// End ports of the subtree.
    weight: u64,
    /// The subtrees of children that the loss of this switch separates.
    separated: Separated,
}

/// What is left of the subtrees that the loss of a switch separates.
#[derive(Debug, Clone, Copy, Default)]
struct Separated {
    /// End ports in all of them.
    weight: u64,
    /// End ports in the largest one.
    largest: u64,
    /// Pairs of end ports in the same one.
    pairs: u64,
}

/// What the loss of a link or switch leaves connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AfterLoss {
    /// Pairs of end ports.
    pub(super) connected_pairs: u64,
    /// End ports of the main part.
    pub(super) main_part: u64,
}

/// A part of the graph.
#[derive(Debug, Clone, Copy)]
struct Part {
    /// Position of its first switch.
    first: u32,
    /// End ports.
    weight: u64,
}

/// The result of a search.
#[derive(Debug)]
pub(super) struct CutPoints {
    pub(super) visits: Vec<Visit>,
    /// Position of each switch; `UNSEEN` if it is not there.
    pub(super) positions: Vec<u32>,
    /// By position: number of single losses that separate the switch from half or more of the end
    /// ports.
    separations: Vec<i64>,
    parts: Vec<Part>,
    /// Index of the main part.
    main_part: usize,
}

impl CutPoints {
    pub(super) fn find(graph: &Multigraph, removed: Removed) -> Self {
        let mut search = Self {
            visits: Vec::with_capacity(graph.len()),
            positions: vec![UNSEEN; graph.len()],
            separations: Vec::new(),
            parts: Vec::new(),
            main_part: 0,
        };
        for s in 0..graph.len() {
            let is_removed = removed == Removed::Switch(index_to_u32(s));
            if graph.is_present[s] && !is_removed && search.positions[s] == UNSEEN {
                search.search_part(graph, removed, s);
            }
        }
        let largest_first = |(i, part): &(usize, &Part)| (part.weight, Reverse(*i));
        let largest = search.parts.iter().enumerate().max_by_key(largest_first);
        search.main_part = largest.map_or(0, |(i, _)| i);
        search.separations = search.count_separations();
        search
    }

    /// Pairs of end ports that are connected.
    pub(super) fn connected_pairs(&self) -> u64 {
        self.parts.iter().map(|part| pairs(part.weight)).sum()
    }

    /// End ports of the main part.
    pub(super) fn main_weight(&self) -> u64 {
        self.parts.get(self.main_part).map_or(0, |part| part.weight)
    }

    /// Whether a switch is in the main part.
    pub(super) fn is_in_main_part(&self, s: usize) -> bool {
        let Some(part) = self.parts.get(self.main_part) else {
            return false;
        };
        let end = self.visits[part.first as usize].end;
        (part.first..end).contains(&self.positions[s])
    }

    /// Whether the end ports of a switch have no redundancy.
    pub(super) fn lacks_redundancy(&self, s: usize) -> bool {
        let position = self.positions[s] as usize;
        self.separations
            .get(position)
            .is_some_and(|losses| *losses > 0)
    }

    /// What the loss of a switch leaves.
    pub(super) fn after_switch(&self, s: usize) -> AfterLoss {
        let Some(visit) = self.visits.get(self.positions[s] as usize) else {
            return self.unchanged();
        };
        let part = self.part_of(self.positions[s]);
        let rest = part.weight - visit.own_weight - visit.separated.weight;
        AfterLoss {
            connected_pairs: self.connected_pairs() - pairs(part.weight)
                + visit.separated.pairs
                + pairs(rest),
            main_part: self
                .largest_beside(part)
                .max(visit.separated.largest)
                .max(rest),
        }
    }

    /// What the loss of a link leaves.
    pub(super) fn after_link(&self, a: u32, b: u32, link: u32) -> AfterLoss {
        let below = [a, b].into_iter().find_map(|s| {
            let at = self.positions[s as usize];
            let visit = self.visits.get(at as usize)?;
            (visit.parent_link == link && self.is_below_bridge(at)).then_some((at, visit.weight))
        });
        let Some((at, weight)) = below else {
            return self.unchanged();
        };
        let part = self.part_of(at);
        let rest = part.weight - weight;
        AfterLoss {
            connected_pairs: self.connected_pairs() - weight * rest,
            main_part: self.largest_beside(part).max(weight).max(rest),
        }
    }

    /// What the loss of the link of an end port of this switch leaves.
    pub(super) fn after_end_port(&self, s: usize) -> AfterLoss {
        if self.positions[s] == UNSEEN {
            return self.unchanged();
        }
        let part = self.part_of(self.positions[s]);
        let rest = part.weight.saturating_sub(1);
        AfterLoss {
            connected_pairs: self.connected_pairs() - rest,
            main_part: self.largest_beside(part).max(rest),
        }
    }

    fn unchanged(&self) -> AfterLoss {
        AfterLoss {
            connected_pairs: self.connected_pairs(),
            main_part: self.main_weight(),
        }
    }

    /// Whether two positions are in the same part.
    pub(super) fn are_connected(&self, a: u32, b: u32) -> bool {
        self.part_of(a).first == self.part_of(b).first
    }

    fn part_of(&self, at: u32) -> Part {
        let after = self.parts.partition_point(|part| part.first <= at);
        self.parts[after - 1]
    }

    /// End ports of the largest part other than this one.
    fn largest_beside(&self, part: Part) -> u64 {
        let others = self.parts.iter().filter(|other| other.first != part.first);
        others.map(|other| other.weight).max().unwrap_or(0)
    }

    fn search_part(&mut self, graph: &Multigraph, removed: Removed, start: usize) {
        let first = self.enter(graph, start, UNSEEN, UNSEEN);
        let mut at = first;
        loop {
            let visit = &mut self.visits[at as usize];
            let neighbours = graph.neighbours(visit.switch as usize);
            let Some(&(peer, link)) = neighbours.get(visit.neighbours_seen) else {
                self.leave(at);
                if at == first {
                    break;
                }
                at = self.visits[at as usize].parent;
                continue;
            };
            visit.neighbours_seen += 1;
            let is_removed = removed == Removed::Link(link) || removed == Removed::Switch(peer);
            if is_removed || link == visit.parent_link || !graph.is_present[peer as usize] {
                continue;
            }
            match self.positions[peer as usize] {
                UNSEEN => at = self.enter(graph, peer as usize, at, link),
                seen => visit.low = visit.low.min(seen),
            }
        }
        let weight = self.visits[first as usize].weight;
        self.parts.push(Part { first, weight });
    }

    fn enter(&mut self, graph: &Multigraph, s: usize, parent: u32, parent_link: u32) -> u32 {
        let at = index_to_u32(self.visits.len());
        self.positions[s] = at;
        self.visits.push(Visit {
            switch: index_to_u32(s),
            parent,
            parent_link,
            neighbours_seen: 0,
            low: at,
            end: at,
            own_weight: graph.weights[s],
            weight: graph.weights[s],
            separated: Separated::default(),
        });
        at
    }

    /// The subtree of a switch is complete: adds it to that of its parent.
    fn leave(&mut self, at: u32) {
        self.visits[at as usize].end = index_to_u32(self.visits.len());
        let Visit {
            parent,
            low,
            weight,
            ..
        } = self.visits[at as usize];
        if parent == UNSEEN {
            return;
        }
        let parent_visit = &mut self.visits[parent as usize];
        parent_visit.weight += weight;
        parent_visit.low = parent_visit.low.min(low);
        if low >= parent {
            let separated = &mut parent_visit.separated;
            separated.weight += weight;
            separated.largest = separated.largest.max(weight);
            separated.pairs += pairs(weight);
        }
    }

    /// Whether the loss of the link to its parent separates the subtree at a position.
    pub(super) fn is_below_bridge(&self, at: u32) -> bool {
        let visit = &self.visits[at as usize];
        visit.parent != UNSEEN && visit.low == at
    }

    /// Whether the loss of its parent separates the subtree at a position.
    pub(super) fn is_separated_by_parent(&self, at: u32) -> bool {
        let visit = &self.visits[at as usize];
        visit.parent != UNSEEN && visit.low >= visit.parent
    }

    /// By position: how many losses separate the switch from half or more of the end ports that
    /// are left. Added up by differences along the preorder.
    fn count_separations(&self) -> Vec<i64> {
        let mut differences = vec![0i64; self.visits.len() + 1];
        let mut mark = |from: u32, end: u32, by: i64| {
            differences[from as usize] += by;
            differences[end as usize] -= by;
        };
        for part in &self.parts {
            let part_end = self.visits[part.first as usize].end;
            for at in part.first..part_end {
                let visit = &self.visits[at as usize];
                if self.is_below_bridge(at) {
                    if 2 * visit.weight <= part.weight {
                        mark(at, visit.end, 1);
                    }
                    if 2 * (part.weight - visit.weight) <= part.weight {
                        mark(part.first, part_end, 1);
                        mark(at, visit.end, -1);
                    }
                }
                let left = part.weight - visit.own_weight;
                let rest = left - visit.separated.weight;
                let is_rest_small = left > 0 && 2 * rest <= left;
                if is_rest_small {
                    mark(part.first, part_end, 1);
                    mark(at, at + 1, -1);
                }
                let mut child = at + 1;
                while child < visit.end {
                    let Visit { end, weight, .. } = self.visits[child as usize];
                    if self.is_separated_by_parent(child) {
                        if is_rest_small {
                            mark(child, end, -1);
                        }
                        if 2 * weight <= left {
                            mark(child, end, 1);
                        }
                    }
                    child = end;
                }
            }
        }
        let mut sum = 0;
        let sums = differences.iter().map(|difference| {
            sum += difference;
            sum
        });
        sums.collect()
    }
}
