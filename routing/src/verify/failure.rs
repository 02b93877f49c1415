//! Why tables must not be installed, in a form that an operator can check on the fabric: the packet, its path, the
//! circle. Made by the proof; it decides nothing.

use std::fmt;

use ferrosm_mad::ids::{Lid, PortNum};

use crate::topology::SwitchIdx;

/// How many examples of each kind a [`VerifyError`] names.
pub const EXAMPLES_MAX: usize = 8;

/// A packet that does not arrive.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LostPacket {
    /// The LID that it is for.
    pub lid: Lid,
    /// The switch where it starts.
    pub from: SwitchIdx,
    /// The switch where it ends; of a loop, one switch in it.
    pub at: SwitchIdx,
    /// What that switch's table says: [`PortNum::DROP`], or a port that leads to the wrong place.
    pub port: PortNum,
    /// Where it goes from the start: each switch with the port that its table says. The last one is where it ends, or
    /// in a loop the first switch that comes again.
    pub path: Vec<(SwitchIdx, PortNum)>,
}

/// Packets of one kind that do not arrive.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LostPairs {
    /// How many (switch, LID) pairs.
    pub count: u64,
    /// The first of them by LID and switch, at most [`EXAMPLES_MAX`].
    pub first: Vec<LostPacket>,
}

/// A packet that a switch drops because of its lane: the SL does not exist, or is mapped to VL 15 or to a VL that the
/// channel does not operate (IBA 7.6.6).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DroppedPacket {
    /// The LID that it is for.
    pub lid: Lid,
    /// The switch where it starts.
    pub from: SwitchIdx,
    /// The port by which it came into the fabric there, 0 for the switch itself.
    pub entry: PortNum,
    /// Its SL.
    pub sl: u8,
    /// The switch that drops it.
    pub at: SwitchIdx,
    /// The port by which it came in there.
    pub input: PortNum,
    /// The port by which it should leave.
    pub output: PortNum,
    /// The VL that it should take.
    pub vl: u8,
    /// VLs that it could take: 0 to one less than this.
    pub vls: u8,
    /// Switches with the ports by which it left them, the one that drops it last.
    pub path: Vec<(SwitchIdx, PortNum)>,
}

/// Packets that are dropped for their lane.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DroppedPackets {
    /// LIDs that some packets do not reach.
    pub lids: u64,
    /// The first of them by LID and switch, at most [`EXAMPLES_MAX`].
    pub first: Box<[DroppedPacket]>,
}

/// A multicast tree that must not be installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenTree {
    /// Which of those that were given.
    pub tree: usize,
    /// What is wrong with it.
    pub fault: TreeFault,
}

/// What is wrong with a multicast tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeFault {
    /// A port leads to nothing that belongs to the tree.
    DanglingPort {
        /// The switch.
        at: SwitchIdx,
        /// Its port.
        port: PortNum,
    },
    /// Packets that leave by this port come again.
    Cycle {
        /// The switch.
        at: SwitchIdx,
        /// Its port.
        port: PortNum,
    },
    /// Members at this switch are not connected with others.
    Disconnected {
        /// The switch.
        at: SwitchIdx,
    },
    /// Packets are dropped because the VL that they should take does not exist.
    NoVl {
        /// The switch.
        at: SwitchIdx,
        /// The port by which they should leave.
        port: PortNum,
        /// Their SL.
        sl: u8,
        /// The VL.
        vl: u8,
    },
}

impl TreeFault {
    fn describe(&self, label: &dyn Fn(SwitchIdx) -> String) -> String {
        match *self {
            Self::DanglingPort { at, port } => {
                format!(
                    "{} port {port} leads to nothing that belongs to it",
                    label(at)
                )
            }
            Self::Cycle { at, port } => {
                format!("packets that leave {} by port {port} come again", label(at))
            }
            Self::Disconnected { at } => format!("{} is apart from other members", label(at)),
            Self::NoVl { at, port, sl, vl } => {
                let at = label(at);
                format!("{at} drops packets with SL {sl} for port {port}: there is no VL {vl}")
            }
        }
    }
}

/// A channel and a lane on it: the switch, the port by which packets leave it, the VL.
pub type ChannelVl = (SwitchIdx, PortNum, u8);

/// Why tables must not be installed. At least one of the fields says so.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VerifyError {
    /// Pairs that end nowhere or at the wrong port.
    pub unreachable: LostPairs,
    /// Pairs that never end.
    pub loops: LostPairs,
    /// Packets on lanes that do not exist.
    pub dropped: DroppedPackets,
    /// The first multicast tree that is none, or whose packets are dropped.
    pub tree: Option<Box<BrokenTree>>,
    /// A credit loop: lanes of channels, each waiting for the next, the last for the first.
    pub cycle: Option<Vec<ChannelVl>>,
}

impl VerifyError {
    /// One sentence, with switches named by `label`.
    #[must_use]
    pub fn describe(&self, label: &dyn Fn(SwitchIdx) -> String) -> String {
        let mut parts = Vec::new();
        let hops = |path: &[(SwitchIdx, PortNum)]| {
            let hops: Vec<String> = path
                .iter()
                .map(|&(s, p)| format!("{} port {p}", label(s)))
                .collect();
            hops.join(", ")
        };
        let by = |path: &[(SwitchIdx, PortNum)]| match path.split_last() {
            Some((_, before)) if !before.is_empty() => format!(" (by {})", hops(before)),
            _ => String::new(),
        };
        if self.unreachable.count > 0 {
            let example = self.unreachable.first.first().map(|l| {
                let end = if l.port == PortNum::DROP {
                    format!("is dropped at {}", label(l.at))
                } else {
                    format!("ends at {} port {}", label(l.at), l.port)
                };
                let (from, by) = (label(l.from), by(&l.path));
                format!(", for instance LID {} from {from}, which {end}{by}", l.lid)
            });
            let count = self.unreachable.count;
            parts.push(format!(
                "{count} pairs are unreachable{}",
                example.unwrap_or_default()
            ));
        }
        if self.loops.count > 0 {
            let example = self.loops.first.first().map(|l| {
                let (from, at) = (label(l.from), label(l.at));
                let path = hops(&l.path);
                format!(
                    ", for instance LID {} from {from}, which circles through {at} ({path})",
                    l.lid
                )
            });
            let count = self.loops.count;
            parts.push(format!(
                "{count} pairs loop for ever{}",
                example.unwrap_or_default()
            ));
        }
        if self.dropped.lids > 0 {
            let example = self.dropped.first.first().map(|d| {
                let (from, at, by) = (label(d.from), label(d.at), by(&d.path));
                format!(
                    ", for instance for LID {} from {from} port {} with SL {}, which {at} would send from port {} to \
                     port {} on VL {} where VLs 0 to {} exist{by}",
                    d.lid,
                    d.entry,
                    d.sl,
                    d.input,
                    d.output,
                    d.vl,
                    d.vls.saturating_sub(1)
                )
            });
            let count = self.dropped.lids;
            parts.push(format!(
                "packets for {count} LIDs are dropped for their lane{}",
                example.unwrap_or_default()
            ));
        }
        if let Some(broken) = &self.tree {
            let (number, fault) = (broken.tree, broken.fault.describe(label));
            parts.push(format!("multicast tree {number} is broken: {fault}"));
        }
        if let Some(cycle) = &self.cycle {
            let lanes: Vec<String> = cycle
                .iter()
                .map(|&(s, p, vl)| format!("{} port {p} VL {vl}", label(s)))
                .collect();
            parts.push(format!(
                "there is a credit loop of {} channels: {}, and back",
                cycle.len(),
                lanes.join(", ")
            ));
        }
        if parts.is_empty() {
            "nothing is wrong".to_owned()
        } else {
            parts.join("; ")
        }
    }
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe(&|s| format!("switch {}", s.0)))
    }
}

impl std::error::Error for VerifyError {}
