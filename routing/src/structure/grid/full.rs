//! Coordinates in full dimensions.
//!
//! A layer of a full dimension is a connected component of the graph without the links of that
//! dimension.

use petgraph::unionfind::UnionFind;

use super::classes::Classes;
use crate::structure::simple_graph::SimpleGraph;

/// Layers of all full dimensions.
#[derive(Debug)]
pub(super) struct Layers {
    /// Number of layers, by dimension.
    pub(super) sizes: Vec<usize>,
    /// Layer of each vertex in each dimension; `None` if too much is missing to determine it.
    pub(super) component_of: Vec<Option<usize>>,
}

/// Contracts full dimensions: number of nodes, and the node of each vertex.
pub(super) fn contract_full_dimensions(g: &SimpleGraph, classes: &Classes) -> (usize, Vec<usize>) {
    components(g, |e| classes.full[classes.by_edge[e]])
}

/// Computes the layers.
pub(super) fn layers(g: &SimpleGraph, classes: &Classes) -> Layers {
    let dims = dimensions(g, classes);
    let count = dims.iter().flatten().max().map_or(0, |d| d + 1);
    // Links of paths and rings cross every full dimension. A class that does not may be part of a
    // full dimension.
    let crosses_all = |class: usize| {
        let crossed = classes.crossing(class).iter().filter_map(|&c| dims[c]);
        crossed.fold(0u64, |all, d| all | 1 << d).count_ones() as usize == count
    };
    let certain: Vec<bool> = (0..classes.full.len())
        .map(|c| !classes.full[c] && crosses_all(c))
        .collect();
    let mut layers = Layers {
        sizes: Vec::new(),
        component_of: vec![None; g.len() * count],
    };
    for dim in 0..count {
        let (num_components, component_of) = components(g, |e| {
            let class = classes.by_edge[e];
            certain[class] || dims[class].is_some_and(|d| d != dim)
        });
        let mut size = vec![0usize; num_components];
        component_of.iter().for_each(|&c| size[c] += 1);
        let largest = size.iter().max().copied().unwrap_or(0);
        let mut number = vec![None; num_components];
        let mut next = 0;
        for (c, &vertices) in size.iter().enumerate() {
            if 2 * vertices >= largest {
                number[c] = Some(next);
                next += 1;
            }
        }
        layers.sizes.push(next);
        for (v, &c) in component_of.iter().enumerate() {
            layers.component_of[v * count + dim] = number[c];
        }
    }
    layers
}

/// Full dimension of each class, if known.
fn dimensions(g: &SimpleGraph, classes: &Classes) -> Vec<Option<usize>> {
    let mut axes = Vec::new();
    for v in 0..g.len() {
        let mut own_classes: Vec<usize> = g
            .neighbours(v)
            .iter()
            .map(|&(_, e)| classes.by_edge[e])
            .collect();
        own_classes.sort_unstable();
        own_classes.dedup();
        let clique = classes.clique(own_classes.into_iter().filter(|&c| classes.full[c]));
        if clique.len() > axes.len() {
            axes = clique;
        }
    }
    axes.truncate(64);
    let mut dims = vec![None; classes.full.len()];
    let mut crossed = vec![0u64; dims.len()];
    let mut assign = |class: usize, dim: usize, crossed: &mut Vec<u64>| {
        dims[class] = Some(dim);
        classes
            .crossing(class)
            .iter()
            .for_each(|&c| crossed[c] |= 1 << dim);
    };
    for (dim, &class) in axes.iter().enumerate() {
        assign(class, dim, &mut crossed);
    }
    let mut open: Vec<usize> = (0..classes.full.len())
        .filter(|c| classes.full[*c] && !axes.contains(c))
        .collect();
    let all_axes = (0..axes.len()).fold(0u64, |mask, d| mask | 1 << d);
    loop {
        let before = open.len();
        open.retain(|&class| {
            let remaining = all_axes & !crossed[class];
            if remaining.count_ones() == 1 {
                assign(class, remaining.trailing_zeros() as usize, &mut crossed);
            }
            remaining.count_ones() != 1
        });
        if open.len() == before {
            return dims;
        }
    }
}

/// Connected components over the edges for which `is_included` is true, numbered by their lowest
/// vertices.
fn components(g: &SimpleGraph, is_included: impl Fn(usize) -> bool) -> (usize, Vec<usize>) {
    let mut sets = UnionFind::<usize>::new(g.len());
    for (e, &(a, b)) in g.edges.iter().enumerate() {
        if is_included(e) {
            sets.union(a, b);
        }
    }
    let mut number = vec![usize::MAX; g.len()];
    let mut count = 0;
    let component_of = (0..g.len())
        .map(|v| {
            let root = sets.find(v);
            if number[root] == usize::MAX {
                number[root] = count;
                count += 1;
            }
            number[root]
        })
        .collect();
    (count, component_of)
}
