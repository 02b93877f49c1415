//! The proof that tables may be installed. It shares no code with the engines: it walks the tables.
//!
//! Three things are proven. Reachability: from every switch the tables lead to the owner of every
//! LID, without a loop (`walk`). Lanes: no packet is dropped because its SL, or the VL that some
//! switch maps it to, does not exist. Freedom from credit loops: no packets can wait for each
//! other's buffers in a circle (`cycles`), by the channel dependency graph (Dally and Seitz): one
//! node per VL of each direction of each switch-to-switch cable, one edge where some real packet
//! comes in over one and leaves over the other.
//!
//! What counts as real: packets to end ports may come from every switch (its port 0 included),
//! packets to a switch's port 0 only from switches with end ports. Pairs of switches without end
//! ports have nothing to say to each other by LID; they are counted, not required. Packets enter a
//! switch by its end ports and by port 0, with the SL that the lanes give for the pair.
//!
//! | module | what it does |
//! |---|---|
//! | `channels` | numbers for channels and pairs of channels |
//! | `inject` | SLs of packets where they enter |
//! | `ground` | what is walked: tables, lanes, the VLs that packets can take |
//! | `sink` | what takes the dependencies that a walk finds |
//! | `walk` | reachability, loads, dependencies where packets keep their VL |
//! | `per_ports` | dependencies where packets change their VL |
//! | `trees` | multicast trees, and the dependencies of their packets |
//! | `ledger`, `counts`, `order`, `detour` | the proof of tables that differ little from those proven last |
//! | `waits`, `cycles` | the dependency graph, and circles in it |
//! | `trace`, `failure` | what is told of a failure |

mod batches;
mod channels;
mod counts;
mod cycles;
mod detour;
mod failure;
mod ground;
mod incremental;
mod inject;
mod order;
mod per_ports;
mod sink;
mod trace;
mod trees;
mod waits;
mod walk;

use std::fmt;

use rayon::prelude::*;

pub use failure::{
    BrokenTree, ChannelVl, DroppedPacket, DroppedPackets, EXAMPLES_MAX, LostPacket, LostPairs,
    TreeFault, VerifyError,
};
pub use incremental::IncrementalVerifier;
pub use trees::TreePorts;

use crate::tables::Tables;
use crate::topology::Topology;
use crate::vl_plan::VlPlan;
use channels::Channels;
use ground::Ground;
use inject::Injection;
use sink::ToSwitches;
use waits::Waits;
use walk::Walked;

/// What was proven, and how good the routes are.
#[derive(Debug, Clone, PartialEq)]
pub struct Proof {
    /// (switch, LID) pairs that lead to the owner.
    pub pairs: u64,
    /// Pairs of a switch without end ports and another switch's LID that lead nowhere: harmless,
    /// and counted.
    pub idle_unreachable: u64,
    /// Most switch-to-switch channels that a packet between end ports crosses.
    pub max_hops: u32,
    /// Ordered pairs (end port, LID of another end port) by number of switch-to-switch channels
    /// crossed.
    pub hop_histogram: Vec<u64>,
    /// Routes, counted as in `hop_histogram`, over the busiest channel.
    pub max_load: u64,
    /// Mean of the routes over all channels.
    pub mean_load: f64,
    /// Directed switch-to-switch channels.
    pub channels: usize,
    /// Dependencies between lanes of channels, none of them in a circle.
    pub dependencies: u64,
    /// VLs that carry any traffic between switches.
    pub vls_used: u8,
    /// By VL: channels on which it carries traffic.
    pub vl_channels: Vec<usize>,
    /// Whether there is also no credit loop, and no packet dropped, when packets may travel on the SL of the way back as
    /// well as on their own: answers on the SL of their request, as connections of the RDMA CM have it. All end ports of
    /// a switch count alike. Not required.
    pub reversible: bool,
}

impl Proof {
    /// Mean channels crossed between end ports; 0 without pairs.
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
            "{} routes proven, no loop, no credit loop; at most {} hops, {:.2} on average; busiest channel {} routes, \
             mean {:.1}",
            self.pairs,
            self.max_hops,
            self.mean_hops(),
            self.max_load,
            self.mean_load
        )
    }
}

/// Proves tables, with the lanes that packets travel on.
///
/// # Errors
/// Everything that is wrong with them: unreachable pairs and loops, or else (when all packets can arrive) packets dropped
/// for their lane, or else a credit loop.
pub fn verify(topo: &Topology, tables: &Tables, lanes: &VlPlan) -> Result<Proof, VerifyError> {
    verify_with_trees(topo, tables, lanes, &[])
}

/// Proves tables together with multicast trees: each of them is a tree, and packets of all of them and of the tables do
/// not wait for each other in a circle.
///
/// # Errors
/// As [`verify()`]; a tree that is none, or whose packets are dropped, before credit loops.
pub fn verify_with_trees(
    topo: &Topology,
    tables: &Tables,
    lanes: &VlPlan,
    trees: &[TreePorts],
) -> Result<Proof, VerifyError> {
    let channels = Channels::new(topo);
    let ground = Ground::new(topo, tables, lanes, &channels);
    let injection = Injection::new(topo, lanes);
    let waits = Waits::new(&channels, lanes);
    let all = topo.destinations();
    let plain = ground.plain();
    let mut walked = if plain.is_some() {
        walk::walk(&ground, &injection, all, &ToSwitches(&waits)).0
    } else {
        walk::walk(&ground, &injection, all, &&waits).0
    };
    if walked.unreachable.count > 0 || walked.loops.count > 0 || walked.dropped > 0 {
        return Err(losses(&ground, walked));
    }
    if let Some(plain) = plain {
        let used = waits.add_rows(tables, &channels, &plain);
        walked.used.iter_mut().zip(used).for_each(|(a, b)| *a |= b);
    }
    let broken = trees
        .par_iter()
        .enumerate()
        .map(|(number, tree)| trees::enter(&ground, &waits, number, tree))
        .find_first(Result::is_err);
    if let Some(Err(tree)) = broken {
        return Err(VerifyError {
            tree: Some(Box::new(tree)),
            ..VerifyError::default()
        });
    }
    if let Some(cycle) = cycles::find(&channels, &waits) {
        return Err(VerifyError {
            cycle: Some(cycle),
            ..VerifyError::default()
        });
    }
    let dependencies = waits.count();
    // What the answers add is entered into the same graph.
    let reversible = injection.with_answers(topo).is_none_or(|both| {
        let (walked, _) = walk::walk(&ground, &both, topo.destinations(), &&waits);
        walked.dropped == 0 && cycles::find(&channels, &waits).is_none()
    });
    let used = (0..16).map(|vl| walked.used.iter().filter(|&u| u >> vl & 1 == 1).count());
    let used = used.collect();
    Ok(proof(topo, walked, used, dependencies, reversible))
}

/// What is told of tables that passed.
fn proof(
    topo: &Topology,
    walked: Walked,
    used: Vec<usize>,
    dependencies: u64,
    reversible: bool,
) -> Proof {
    let total: u64 = walked.load.iter().sum();
    let count = topo.num_channels();
    let (mut hop_histogram, mut vl_channels) = (walked.hop_histogram, used);
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
        max_hops: u32::try_from(hop_histogram.len().saturating_sub(1)).unwrap_or(u32::MAX),
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

/// What is told of packets that do not arrive.
fn losses(ground: &Ground<'_>, walked: Walked) -> VerifyError {
    let Walked {
        mut unreachable,
        mut loops,
        ..
    } = walked;
    if unreachable.count == 0 && loops.count == 0 {
        let lids = &walked.dropped_first;
        return VerifyError {
            dropped: DroppedPackets {
                lids: walked.dropped,
                first: trace::dropped(ground, lids).into(),
            },
            ..VerifyError::default()
        };
    }
    for lost in unreachable.first.iter_mut().chain(&mut loops.first) {
        lost.path = trace::path(ground, lost.from, lost.lid);
        if let Some(&(at, port)) = lost.path.last() {
            (lost.at, lost.port) = (at, port);
        }
    }
    VerifyError {
        unreachable,
        loops,
        ..VerifyError::default()
    }
}
