//! The proof that tables may be installed. It shares no code with the engines: it walks the tables.
//!
//! Two things are proven. Reachability: from every switch the tables lead to the owner of every
//! LID, without a loop (`walk`). Freedom from credit loops: no packets can wait for each other's
//! buffers in a circle (`cycles`), by the channel dependency graph (Dally and Seitz): one node per
//! direction of each switch-to-switch cable, one edge where some real packet comes in over one and
//! leaves over the other.
//!
//! What counts as real: packets to end ports may come from every switch (its port 0 included),
//! packets to a switch's port 0 only from switches with end ports. Pairs of switches without end
//! ports have nothing to say to each other by LID; they are counted, not required.

mod cycles;
mod walk;

use std::fmt;

use ferrosm_mad::ids::{Lid, PortNum};

use crate::lanes::Lanes;
use crate::tables::Tables;
use crate::topology::{SwitchIdx, Topology};

/// How many examples of each kind a [`Failure`] names.
pub const EXAMPLES_MAX: usize = 8;

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
    /// Channel dependencies, none of them in a circle.
    pub dependencies: u64,
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

/// A packet that does not arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lost {
    /// The LID that it is for.
    pub lid: Lid,
    /// The switch where it starts.
    pub from: SwitchIdx,
    /// The switch where it ends; of a loop, one switch in it.
    pub at: SwitchIdx,
    /// What that switch's table says: [`PortNum::DROP`], or a port that leads to the wrong place.
    pub port: PortNum,
}

/// Packets of one kind that do not arrive.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LostPairs {
    /// How many (switch, LID) pairs.
    pub count: u64,
    /// The first of them by LID and switch, at most [`EXAMPLES_MAX`].
    pub first: Vec<Lost>,
}

/// Why tables must not be installed. At least one of the fields says so.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Failure {
    /// Pairs that end nowhere or at the wrong port.
    pub unreachable: LostPairs,
    /// Pairs that never end.
    pub loops: LostPairs,
    /// A credit loop: channels (switch, outgoing port), each waiting for the next, the last for the
    /// first.
    pub cycle: Option<Vec<(SwitchIdx, PortNum)>>,
}

impl Failure {
    /// One sentence, with switches named by `label`.
    #[must_use]
    pub fn describe(&self, label: &dyn Fn(SwitchIdx) -> String) -> String {
        let mut parts = Vec::new();
        if self.unreachable.count > 0 {
            let example = self
                .unreachable
                .first
                .first()
                .map_or_else(String::new, |l| {
                    let end = if l.port == PortNum::DROP {
                        format!("is dropped at {}", label(l.at))
                    } else {
                        format!("ends at {} port {}", label(l.at), l.port)
                    };
                    format!(
                        ", for instance LID {} from {}, which {end}",
                        l.lid,
                        label(l.from)
                    )
                });
            parts.push(format!(
                "{} pairs are unreachable{example}",
                self.unreachable.count
            ));
        }
        if self.loops.count > 0 {
            let example = self.loops.first.first().map_or_else(String::new, |l| {
                format!(
                    ", for instance LID {} from {}, which circles through {}",
                    l.lid,
                    label(l.from),
                    label(l.at)
                )
            });
            parts.push(format!("{} pairs loop for ever{example}", self.loops.count));
        }
        if let Some(cycle) = &self.cycle {
            let hops: Vec<String> = cycle
                .iter()
                .map(|&(s, p)| format!("{} port {p}", label(s)))
                .collect();
            parts.push(format!(
                "there is a credit loop of {} channels: {}, and back",
                cycle.len(),
                hops.join(", ")
            ));
        }
        if parts.is_empty() {
            "nothing is wrong".to_owned()
        } else {
            parts.join("; ")
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe(&|s| format!("switch {}", s.0)))
    }
}

impl std::error::Error for Failure {}

/// Proves tables, with the lanes that packets travel on.
///
/// # Errors
/// Everything that is wrong with them: unreachable pairs and loops, or else (when all packets arrive) a credit loop.
pub fn verify(topo: &Topology, tables: &Tables, lanes: &Lanes) -> Result<Proof, Failure> {
    let channels = Channels::new(topo);
    let walked = walk::walk(topo, tables, &channels);
    if walked.unreachable.count > 0 || walked.loops.count > 0 {
        return Err(Failure {
            unreachable: walked.unreachable,
            loops: walked.loops,
            cycle: None,
        });
    }
    // Stricter than need be where there are several lanes.
    let _ = lanes;
    if let Some(cycle) = cycles::find(&channels, &walked.dependencies) {
        return Err(Failure {
            cycle: Some(cycle),
            ..Failure::default()
        });
    }
    let total: u64 = walked.load.iter().sum();
    let count = topo.num_channels();
    let mut hop_histogram = walked.hop_histogram;
    while hop_histogram.last() == Some(&0) {
        hop_histogram.pop();
    }
    Ok(Proof {
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
        dependencies: walked
            .dependencies
            .iter()
            .map(|m| u64::from(m.count_ones()))
            .sum(),
    })
}

/// Numbers the ports of all switches in one row; a channel is the number of the port that it leaves
/// by.
struct Channels {
    /// Number of each switch's port 0, and the total.
    base: Vec<usize>,
    /// The switch that a port leads to, [`Self::NOWHERE`] if it leads to none.
    peer: Vec<u32>,
    /// Words per switch for one bit per port.
    words: usize,
}

impl Channels {
    const NOWHERE: u32 = u32::MAX;

    fn new(topo: &Topology) -> Self {
        let (mut base, mut peer, mut most) = (Vec::new(), Vec::new(), 0);
        for s in topo.switches() {
            base.push(peer.len());
            most = most.max(topo.num_ports(s));
            peer.extend((0..=topo.num_ports(s)).map(|p| {
                topo.neighbor(s, PortNum(p))
                    .map_or(Self::NOWHERE, |(peer, _)| peer.0)
            }));
        }
        base.push(peer.len());
        Self {
            base,
            peer,
            words: usize::from(most) / 64 + 1,
        }
    }

    fn len(&self) -> usize {
        self.peer.len()
    }

    /// Switch and port of a channel.
    fn locate(&self, channel: usize) -> (SwitchIdx, PortNum) {
        let switch = self.base.partition_point(|&b| b <= channel) - 1;
        let port = u8::try_from(channel - self.base[switch]).unwrap_or(u8::MAX);
        (
            SwitchIdx(u32::try_from(switch).unwrap_or(u32::MAX)),
            PortNum(port),
        )
    }
}
