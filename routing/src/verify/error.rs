//! Verification errors, with examples that an operator can check on the fabric: packets, paths,
//! cycles.

use std::fmt;

use ferrosm_mad::ids::{Lid, PortNum};

use crate::messages::{Describe, index_label};
use crate::topology::SwitchIdx;

/// Maximum number of examples of each kind in a [`VerifyError`].
pub const EXAMPLES_MAX: usize = 8;

/// A packet that does not reach its LID.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LostPacket {
    /// Its destination LID.
    pub lid: Lid,
    /// The source switch.
    pub from: SwitchIdx,
    /// The switch where it ends; for a loop, a switch in the loop.
    pub at: SwitchIdx,
    /// The table entry of that switch: [`PortNum::DROP`] or a wrong port.
    pub port: PortNum,
    /// Its path: switches with output ports. The last one is where it ends or, in a loop, the first
    /// switch that repeats.
    pub path: Vec<(SwitchIdx, PortNum)>,
}

/// Packets that do not reach their LIDs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LostPairs {
    /// Number of (switch, LID) pairs.
    pub count: u64,
    /// The first pairs by LID and switch, at most [`EXAMPLES_MAX`].
    pub first: Vec<LostPacket>,
}

/// A packet that a switch drops because of its VL: the SL is invalid, or is mapped to VL 15 or to a
/// VL that the channel does not operate (IBA 7.6.6).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DroppedPacket {
    /// Its destination LID.
    pub lid: Lid,
    /// The source switch.
    pub from: SwitchIdx,
    /// The input port at the source switch; 0: the switch itself.
    pub entry: PortNum,
    pub sl: u8,
    /// The switch that drops it.
    pub at: SwitchIdx,
    /// Its input port there.
    pub input: PortNum,
    /// Its output port there.
    pub output: PortNum,
    /// The VL to which its SL is mapped.
    pub vl: u8,
    /// Number of operated VLs: VL 0 to `vls - 1`.
    pub vls: u8,
    /// Its path: switches with output ports, up to the switch that drops it.
    pub path: Vec<(SwitchIdx, PortNum)>,
}

/// Packets that are dropped because of their VL.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DroppedPackets {
    /// Number of LIDs for which packets are dropped.
    pub lids: u64,
    /// The first pairs by LID and switch, at most [`EXAMPLES_MAX`].
    pub first: Box<[DroppedPacket]>,
}

/// A multicast tree that must not be installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenTree {
    /// Its index in the arguments.
    pub tree: usize,
    pub fault: TreeFault,
}

/// Fault of a multicast tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeFault {
    /// A port of the tree has no member and no link in the tree.
    DanglingPort { at: SwitchIdx, port: PortNum },
    /// A cycle through this port.
    Cycle { at: SwitchIdx, port: PortNum },
    /// Members at this switch are not connected to the others.
    Disconnected { at: SwitchIdx },
    /// Packets are dropped because their VL is not operated.
    NoVl {
        at: SwitchIdx,
        /// Their output port.
        port: PortNum,
        sl: u8,
        vl: u8,
    },
}

impl TreeFault {
    fn describe(&self, label: &dyn Fn(SwitchIdx) -> String) -> String {
        match *self {
            Self::DanglingPort { at, port } => {
                format!(
                    "{} port {port} has no member and no link of the tree",
                    label(at)
                )
            }
            Self::Cycle { at, port } => {
                format!("cycle through {} port {port}", label(at))
            }
            Self::Disconnected { at } => {
                format!("members at {} are not connected to the others", label(at))
            }
            Self::NoVl { at, port, sl, vl } => {
                let at = label(at);
                format!("{at} drops packets with SL {sl} for port {port}: VL {vl} is not operated")
            }
        }
    }
}

/// A VL of a channel: switch, output port, VL.
pub type ChannelVl = (SwitchIdx, PortNum, u8);

/// Why tables must not be installed. At least one field is not empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VerifyError {
    /// Pairs whose packets are dropped or end at a wrong port.
    pub unreachable: LostPairs,
    /// Pairs whose packets loop.
    pub loops: LostPairs,
    /// Packets that are dropped because of their VL.
    pub dropped: DroppedPackets,
    /// The first faulty multicast tree.
    pub tree: Option<Box<BrokenTree>>,
    /// A credit loop: each element depends on the next, the last on the first.
    pub cycle: Option<Vec<ChannelVl>>,
}

impl Describe for VerifyError {
    fn describe(&self, label: &dyn Fn(SwitchIdx) -> String) -> String {
        let mut parts = Vec::new();
        let hops = |path: &[(SwitchIdx, PortNum)]| {
            let hops: Vec<String> = path
                .iter()
                .map(|&(s, p)| format!("{} port {p}", label(s)))
                .collect();
            hops.join(", ")
        };
        let path_text = |path: &[(SwitchIdx, PortNum)]| match path.split_last() {
            Some((_, before)) if !before.is_empty() => format!(" (path: {})", hops(before)),
            _ => String::new(),
        };
        if self.unreachable.count > 0 {
            let example = self.unreachable.first.first().map(|l| {
                let reason = if l.port == PortNum::DROP {
                    format!("dropped at {}", label(l.at))
                } else {
                    format!("ends at {} port {}", label(l.at), l.port)
                };
                let from = label(l.from);
                let path_text = path_text(&l.path);
                format!("; e.g. from {from} to LID {}: {reason}{path_text}", l.lid)
            });
            let count = self.unreachable.count;
            parts.push(format!(
                "{count} (switch, LID) pairs are unreachable{}",
                example.unwrap_or_default()
            ));
        }
        if self.loops.count > 0 {
            let example = self.loops.first.first().map(|l| {
                let from = label(l.from);
                let at = label(l.at);
                let path = hops(&l.path);
                format!(
                    "; e.g. from {from} to LID {}: loop through {at} (path: {path})",
                    l.lid
                )
            });
            let count = self.loops.count;
            parts.push(format!(
                "{count} (switch, LID) pairs loop{}",
                example.unwrap_or_default()
            ));
        }
        if self.dropped.lids > 0 {
            let example = self.dropped.first.first().map(|d| {
                let from = label(d.from);
                let at = label(d.at);
                let path_text = path_text(&d.path);
                format!(
                    "; e.g. to LID {} from {from} port {} with SL {}: {at} maps it from port {} to port {} on VL {}, but VLs 0 to \
                     {} are operated{path_text}",
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
                "packets to {count} LIDs are dropped because of their VL{}",
                example.unwrap_or_default()
            ));
        }
        if let Some(fault) = &self.tree {
            let number = fault.tree;
            let fault = fault.fault.describe(label);
            parts.push(format!("multicast tree {number} is invalid: {fault}"));
        }
        if let Some(cycle) = &self.cycle {
            let channels: Vec<String> = cycle
                .iter()
                .map(|&(s, p, vl)| format!("{} port {p} VL {vl}", label(s)))
                .collect();
            parts.push(format!(
                "credit loop of {} channels: {}",
                cycle.len(),
                channels.join(", ")
            ));
        }
        if parts.is_empty() {
            "no error".to_owned()
        } else {
            parts.join("; ")
        }
    }
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe(&index_label))
    }
}

impl std::error::Error for VerifyError {}
