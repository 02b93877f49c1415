//! Routing inside a dependency graph that never has a circle: every connected graph, on any number of lanes from one.
//!
//! After Domke, Hoefler and Matsuoka, "Routing on the Dependency Graph" (HPDC'16), and Domke's thesis (TU Dresden 2017):
//! paths are searched in the graph of channels and their dependencies, and a dependency that would close a circle is not
//! there. What differs from the paper is said where it is done.
//!
//! | module | what it does |
//! |---|---|
//! | `net` | switches and channels, numbered by LID |
//! | `base` | the order to start from, the escape tree |
//! | `cdg` | the dependency graph |
//! | `search` | the paths to one switch |
//! | `spread` | the paths to its LIDs, for balance |

mod base;
mod cdg;
mod net;
mod search;
mod spread;

use std::sync::Arc;

use rayon::prelude::*;

use super::graph::Graph;
use super::legs::{Cell, CellOverflow, Legs};
use super::order::{Closeness, Strategy};
use super::{Engine, Request, RouteError, Routing, Trees};
use crate::lanes::Lanes;
use crate::tables::{Lft, Tables};
use crate::topology::SwitchIdx;

use base::Base;
use net::{NO_SLOT, Net};
use search::{Effort, Search};

/// Channels that all searches for circles together may visit: bounds the time on very large fabrics that are no trees.
const SEARCH_BUDGET: u64 = 400_000_000;

/// The `nue` engine: the last resort.
#[derive(Debug, Clone, Copy)]
pub struct Nue;

impl Engine for Nue {
    fn name(&self) -> &'static str {
        "nue"
    }

    fn route(&self, request: &Request<'_>) -> Result<Routing, RouteError> {
        let graph = Graph::new(request.topo);
        graph.connected()?;
        let order = order::<u8>(&graph, request)
            .or_else(|CellOverflow| order::<u16>(&graph, request))
            .map_err(|CellOverflow| RouteError::TooDeep)?;
        Ok(route_in(request, &graph, &order))
    }
}

/// The switches from the top, by LID rank: of the ways to order, the one with the shortest up/down paths.
fn order<C: Cell>(graph: &Graph, request: &Request<'_>) -> Result<Vec<usize>, CellOverflow> {
    let before = &request.previous.order;
    let closeness = Closeness::new(graph, &Legs::<C>::shortest(graph)?);
    let strategy = if before.iter().any(Option::is_some) {
        Strategy::Kept
    } else {
        Strategy::CentreFirst
    };
    let order = closeness.order(graph, strategy, before);
    Ok(order.into_iter().map(|s| graph.lid_rank[s]).collect())
}

fn route_in(request: &Request<'_>, graph: &Graph, order: &[usize]) -> Routing {
    let topo = request.topo;
    let net = Net::new(topo, graph);
    let base = Base::new(&net, order);
    let mut cdg = base.cdg(&net, SEARCH_BUDGET);
    let mut search = Search::new(&net);
    let mut trees = vec![NO_SLOT; net.n * net.n];
    let mut dests: Vec<usize> = (0..net.n).collect();
    dests.sort_by_key(|&v| std::cmp::Reverse(net.host_lids(v)));
    let mut near = Vec::new();
    let mut hops = Vec::new();
    for &dest in dests
        .iter()
        .filter(|&&d| net.lid_base[d] < net.lid_base[d + 1])
    {
        let lids = net.host_lids(dest);
        let effort = if lids > 0 {
            Effort::Turn
        } else {
            Effort::Agree
        };
        let tree = search.tree(&mut cdg, dest, effort);
        spread::depths(&net, &tree, dest, &mut hops);
        spread::by_depth(&hops, &mut near);
        let mut flow: Vec<u64> = net.hosts.iter().map(|&h| u64::from(h)).collect();
        for &v in near.iter().skip(1).rev() {
            let v = v as usize;
            let c = net.channel(v, tree[v]);
            search.load[c] += flow[v] * lids as u64;
            flow[net.head[c] as usize] += flow[v];
        }
        trees[dest * net.n..][..net.n].copy_from_slice(&tree);
    }
    let choice = spread::spread(&net, &cdg, &trees, &dests, None);
    let ports = spread::cables(&net, &choice);
    Routing {
        engine: "nue",
        tables: tables(request, &net, &ports),
        lanes: Lanes::single(),
        order: Some(base.places(&net)),
        trees: Trees::Within {
            up: base.ports_up(&net),
            sl: 0,
        },
        notes: Vec::new(),
    }
}

fn tables(request: &Request<'_>, net: &Net, ports: &[u8]) -> Tables {
    let mut rank = vec![0; net.n];
    for (v, s) in net.switch.iter().enumerate() {
        rank[s.index()] = v;
    }
    (0..net.n)
        .into_par_iter()
        .map(|s| {
            let v = rank[s];
            let mut lft = Lft::drop_all(request.topo.top_lid());
            for (lid, row) in net.lids.iter().zip(ports.chunks_exact(net.n)) {
                lft.set(lid.0, ferrosm_mad::ids::PortNum(row[v]));
            }
            match request.previous.get(SwitchIdx::at(s).index()) {
                Some(old) if **old == lft => Arc::clone(old),
                Some(_) | None => Arc::new(lft),
            }
        })
        .collect()
}
