//! Verification of forwarding tables before installation. Walks the tables; shares no code with the
//! engines.
//!
//! It verifies three properties. Reachability: the tables lead from every switch to the owner of
//! every LID, without a loop (`walk`). VLs: no packet is dropped because its SL is invalid or
//! mapped to a VL that is not operated. Freedom from credit loops: the channel dependency graph
//! (Dally and Seitz) has no cycle (`cycles`). It has one node per VL of each direction of each link
//! between switches, and an edge where packets arrive over one and leave over the other.
//!
//! Packets to end ports can come from every switch, including its port 0; packets to port 0 of a
//! switch only from switches with end ports. Other pairs of switches do not communicate by LID;
//! they are counted, but need not be reachable. Packets enter a switch through its end ports and
//! port 0, with the SL of the VL plan for the pair.
//!
//! | module | contents |
//! |---|---|
//! | `channels` | numbers of channels and of pairs of channels |
//! | `inject` | SLs of packets where they enter |
//! | `context` | input of the walk: tables, VL plan, VLs of entering packets |
//! | `sink` | receivers of dependencies |
//! | `walk` | reachability, loads, dependencies of packets that never change their VL |
//! | `per_ports` | dependencies of packets that change their VL |
//! | `trees` | multicast trees and the dependencies of their packets |
//! | `incremental`, `counts`, `order`, `route_changes` | incremental verification of tables with few changes |
//! | `dependency_graph`, `cycles` | the channel dependency graph, and its cycles |
//! | `constraint` | a routing with the multicast trees that its engine permits |
//! | `batches` | work for threads, in parts of equal size |
//! | `trace`, `error` | examples and messages of errors |

mod batches;
mod channels;
pub(crate) mod constraint;
mod context;
mod counts;
mod cycles;
mod dependency_graph;
mod error;
mod incremental;
mod inject;
mod order;
mod per_ports;
mod route_changes;
mod sink;
mod trace;
mod trees;
mod walk;

use std::fmt;

use rayon::prelude::*;

pub use error::{
    BrokenTree, ChannelVl, DroppedPacket, DroppedPackets, EXAMPLES_MAX, LostPacket, LostPairs,
    TreeFault, VerifyError,
};
pub use incremental::IncrementalVerifier;
pub use trees::TreePorts;

use crate::kept::KeptTables;
use crate::tables::Tables;
use crate::topology::{Topology, index_to_u32};
use crate::vl_plan::VlPlan;
use channels::Channels;
use context::WalkContext;
use dependency_graph::ChannelDependencyGraph;
use inject::SourceSls;
use sink::SwitchLidSink;
use walk::WalkResult;

/// Result of a successful verification, with figures of the routes.
#[derive(Debug, Clone, PartialEq)]
pub struct Proof {
    /// Number of reachable (switch, LID) pairs.
    pub pairs: u64,
    /// Number of unreachable pairs of a switch without end ports and the LID of another switch,
    /// which are permitted.
    pub idle_unreachable: u64,
    /// Number of unreachable pairs because of entries that switches keep.
    pub kept_unreachable: u64,
    /// Maximum number of switch-to-switch channels on a path between end ports.
    pub max_hops: u32,
    /// Number of ordered pairs (end port, LID of another end port), by number of switch-to-switch
    /// channels on the path.
    pub hop_histogram: Vec<u64>,
    /// Routes over the busiest channel, counted as in `hop_histogram`.
    pub max_load: u64,
    /// Mean number of routes over a channel.
    pub mean_load: f64,
    /// Number of directed switch-to-switch channels.
    pub channels: usize,
    /// Number of channel dependencies of the tables, without those of multicast trees.
    pub dependencies: u64,
    /// Number of VLs with traffic between switches.
    pub vls_used: u8,
    /// By VL: number of channels with traffic.
    pub vl_channels: Vec<usize>,
    /// Whether the tables also pass if packets use the SL of the reverse path: replies on the SL of
    /// their request, as on RDMA CM connections. Evaluated per switch, not per end port. Not
    /// required.
    pub reversible: bool,
}

impl Proof {
    /// Mean number of channels on a path between end ports; 0 without pairs.
    #[must_use]
    pub fn mean_hops(&self) -> f64 {
        let pairs: u64 = self.hop_histogram.iter().sum();
        let hops: u64 = (0u64..).zip(&self.hop_histogram).map(|(h, n)| h * n).sum();
        if pairs == 0 {
            0.0
        } else {
            hops as f64 / pairs as f64
        }
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} routes verified: no loops, no credit loops; hops: {} max, {:.2} mean; routes per channel: {} max, {:.1} mean",
            self.pairs,
            self.max_hops,
            self.mean_hops(),
            self.max_load,
            self.mean_load
        )
    }
}

/// Verifies tables with their VL plan.
///
/// # Errors
/// Unreachable pairs and loops; if there are none, packets dropped because of their VL; if there
/// are none, a credit loop.
pub fn verify(topo: &Topology, tables: &Tables, vl_plan: &VlPlan) -> Result<Proof, VerifyError> {
    verify_all(topo, tables, vl_plan, &[], None)
}

/// As [`verify()`]; packets may be lost because of the tables that switches keep.
///
/// # Errors
/// As [`verify()`].
pub fn verify_with_kept(
    topo: &Topology,
    tables: &Tables,
    vl_plan: &VlPlan,
    kept: &KeptTables,
) -> Result<Proof, VerifyError> {
    verify_all(topo, tables, vl_plan, &[], Some(kept))
}

/// Verifies tables together with multicast trees: each is a tree, and the dependencies of the
/// tables and of all trees form no cycle.
///
/// # Errors
/// As [`verify()`]; a faulty tree takes precedence over a credit loop.
pub fn verify_with_trees(
    topo: &Topology,
    tables: &Tables,
    vl_plan: &VlPlan,
    trees: &[TreePorts],
) -> Result<Proof, VerifyError> {
    verify_all(topo, tables, vl_plan, trees, None)
}

fn verify_all(
    topo: &Topology,
    tables: &Tables,
    vl_plan: &VlPlan,
    trees: &[TreePorts],
    kept: Option<&KeptTables>,
) -> Result<Proof, VerifyError> {
    let channels = Channels::new(topo);
    let mut context = WalkContext::new(topo, tables, vl_plan, &channels);
    context.kept = kept;
    let source_sls = SourceSls::new(topo, vl_plan);
    let graph = ChannelDependencyGraph::new(&channels, vl_plan);
    let destinations = topo.destinations();
    let single_vl_lids = context.single_vl_lids();
    let mut walked = if single_vl_lids.is_some() {
        walk::walk(&context, &source_sls, destinations, &SwitchLidSink(&graph)).0
    } else {
        walk::walk(&context, &source_sls, destinations, &&graph).0
    };
    if walked.unreachable.count > 0 || walked.loops.count > 0 || walked.dropped > 0 {
        return Err(loss_error(&context, walked));
    }
    if let Some(lids) = single_vl_lids {
        let used = graph.add_rows(tables, &channels, &lids);
        walked.used.iter_mut().zip(used).for_each(|(a, b)| *a |= b);
    }
    let dependencies = graph.num_dependencies();
    let broken_tree = trees
        .par_iter()
        .enumerate()
        .map(|(number, tree)| trees::add_tree(&context, &graph, number, tree))
        .find_first(Result::is_err);
    if let Some(Err(tree)) = broken_tree {
        return Err(VerifyError {
            tree: Some(Box::new(tree)),
            ..VerifyError::default()
        });
    }
    if let Some(cycle) = cycles::find(&channels, &graph) {
        return Err(VerifyError {
            cycle: Some(cycle),
            ..VerifyError::default()
        });
    }
    // Dependencies of replies are added to the same graph.
    let reversible = source_sls.with_replies(topo).is_none_or(|both_directions| {
        let (walked, _) = walk::walk(&context, &both_directions, topo.destinations(), &&graph);
        walked.dropped == 0 && cycles::find(&channels, &graph).is_none()
    });
    let used = (0..16)
        .map(|vl| walked.used.iter().filter(|&u| u >> vl & 1 == 1).count())
        .collect();
    Ok(proof(topo, walked, used, dependencies, reversible))
}

/// The proof of tables that passed.
fn proof(
    topo: &Topology,
    walked: WalkResult,
    channels_by_vl: Vec<usize>,
    dependencies: u64,
    reversible: bool,
) -> Proof {
    let total: u64 = walked.load.iter().sum();
    let count = topo.num_channels();
    let mut hop_histogram = walked.hop_histogram;
    let mut vl_channels = channels_by_vl;
    while hop_histogram.last() == Some(&0) {
        hop_histogram.pop();
    }
    while vl_channels.last() == Some(&0) {
        vl_channels.pop();
    }
    let vls_used = vl_channels.iter().map(|&n| u8::from(n > 0)).sum();
    Proof {
        pairs: walked.pairs,
        idle_unreachable: walked.idle_unreachable,
        kept_unreachable: walked.kept_unreachable,
        max_hops: index_to_u32(hop_histogram.len().saturating_sub(1)),
        hop_histogram,
        max_load: walked.load.iter().copied().max().unwrap_or(0),
        mean_load: if count == 0 {
            0.0
        } else {
            total as f64 / count as f64
        },
        channels: count,
        dependencies,
        vls_used,
        vl_channels,
        reversible,
    }
}

/// The error for packets that do not reach their LIDs.
fn loss_error(context: &WalkContext<'_>, walked: WalkResult) -> VerifyError {
    let WalkResult {
        mut unreachable,
        mut loops,
        ..
    } = walked;
    if unreachable.count == 0 && loops.count == 0 {
        let lids = &walked.dropped_first;
        return VerifyError {
            dropped: DroppedPackets {
                lids: walked.dropped,
                first: trace::dropped(context, lids).into(),
            },
            ..VerifyError::default()
        };
    }
    for packet in unreachable.first.iter_mut().chain(&mut loops.first) {
        packet.path = trace::path(context, packet.from, packet.lid);
        if let Some(&(at, port)) = packet.path.last() {
            (packet.at, packet.port) = (at, port);
        }
    }
    VerifyError {
        unreachable,
        loops,
        ..VerifyError::default()
    }
}
