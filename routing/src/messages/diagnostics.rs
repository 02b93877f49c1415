//! Decisions of engines, of engine selection and of the incremental reroute, for logs and reports.
//! [`Describe`] adds the names of switches.

use std::fmt;

use ferrosm_mad::ids::Lid;
use serde::{Deserialize, Serialize};

use super::describe::{Describe, index_label};
use super::order_strategy::SwitchOrderStrategy;
use crate::structure::diameter::DiameterTwo;
use crate::structure::dragonfly::{Dragonfly, DragonflyMismatch};
use crate::structure::grid::{DimKind, Grid, GridMismatch};
use crate::structure::tree::{DetectedTree, TreeMismatch};
use crate::topology::SwitchIdx;

/// One decision. `Display` is one line.
#[derive(Debug, Clone, PartialEq)]
pub enum Diagnostic {
    /// `auto`: the structure of the fabric.
    Structure(Structure),
    /// All engines earlier in the list failed.
    Fallback,
    /// Routings of several engines were compared.
    Compared {
        /// All of them.
        routings: Vec<RoutingFigures>,
        /// The engine whose routing is used.
        best: &'static str,
        /// Why.
        decided_by: DecidedBy,
    },
    /// The installed routing was rerouted incrementally.
    Rerouted(RerouteSummary),
    /// A diagnostic of an earlier run, restored from the state directory.
    Restored {
        /// Its [`Diagnostic::kind`].
        kind: String,
        text: String,
    },
    /// `dor`: dimensions in routing order.
    Dimensions(Box<Grid>),
    /// `dor`: number of ring dimensions that use two VLs with datelines.
    Datelines(usize),
    /// `dor`: no path crosses the first switch of a ring.
    CutRings,
    /// `dor`: paths with detours.
    Detours {
        /// Paths with detours.
        detours: usize,
        /// All paths between switches.
        paths: usize,
        /// Pairs of switches on additional VLs.
        pairs: usize,
        /// Additional VLs.
        vls: usize,
    },
    /// `dor`: SL of multicast, which uses a VL of its own.
    MulticastSl(u8),
    /// `torus-2QoS`: kind and size of the axes in routing order.
    Axes(Vec<(DimKind, usize)>),
    /// `torus-2QoS`: too few VLs for two QoS levels.
    OneQosLevel {
        /// VLs that two levels need.
        needed: u8,
        /// Usable VLs.
        usable: u8,
    },
    /// `torus-2QoS`: no spanning tree in dimension order is deadlock-free together with the routes.
    NoSpanningTree,
    /// `dragonfly`: groups.
    Groups(Box<Dragonfly>),
    /// `diameter2`: distances between switches with end ports.
    Diameter(DiameterTwo),
    /// `file`: LIDs whose location differs from the file.
    MovedLids {
        /// Number of LIDs.
        count: usize,
        /// The first of them.
        first: Lid,
        /// The switch to which its port is attached.
        switch: SwitchIdx,
    },
    /// Tree engines: the detected tree.
    Tree(TreeFigures),
    /// `ftree`: a configured port list contains no port of the fabric.
    UnusedPortList(&'static str),
    /// Pairs of switches above the leaves without an up/down path.
    DownUpPairs {
        /// Pairs of switches.
        pairs: usize,
        /// VLs of the routing.
        vls: u8,
    },
    /// `dnup`: number of edge switches, which form the lowest level.
    LowestLevel(usize),
    /// `updn`: the switch order.
    Order {
        /// The first switch.
        top: SwitchIdx,
        /// How the order was chosen.
        strategy: SwitchOrderStrategy,
    },
    /// Paths between end ports are longer than shortest paths.
    LongerPaths {
        /// Hops of all paths.
        hops: u64,
        /// Hops of shortest paths.
        shortest: u64,
        /// Usable VLs, if more VLs could shorten the paths.
        vls: Option<u8>,
    },
    /// `dfsssp`, `lash`: shortest paths are free of credit loops on one VL.
    OneVl,
    /// `dfsssp`, `lash`: VLs of a routing without credit loops.
    Vls(u8),
    /// `dfsssp`, `lash`: some replies cannot use the SL of their request.
    OneWaySls,
    /// `nue`: VLs of the routing; each pair of switches uses one.
    PairVls(u8),
}

impl Diagnostic {
    /// The summary of an incremental reroute, if this is one.
    #[must_use]
    pub const fn as_reroute(&self) -> Option<&RerouteSummary> {
        if let Self::Rerouted(summary) = self {
            Some(summary)
        } else {
            None
        }
    }

    /// A stable name of the decision, for programs.
    #[must_use]
    pub fn kind(&self) -> &str {
        match self {
            Self::Structure(_) => "structure",
            Self::Fallback => "fallback",
            Self::Compared { .. } => "engines-compared",
            Self::Rerouted(_) => "incremental-reroute",
            Self::Restored { kind, .. } => kind,
            Self::Dimensions(_) => "dimensions",
            Self::Datelines(_) => "datelines",
            Self::CutRings => "cut-rings",
            Self::Detours { .. } => "detours",
            Self::MulticastSl(_) => "multicast-sl",
            Self::Axes(_) => "axes",
            Self::OneQosLevel { .. } => "one-qos-level",
            Self::NoSpanningTree => "no-spanning-tree",
            Self::Groups(_) => "groups",
            Self::Diameter(_) => "diameter",
            Self::MovedLids { .. } => "moved-lids",
            Self::Tree(_) => "tree",
            Self::UnusedPortList(_) => "unused-port-list",
            Self::DownUpPairs { .. } => "down-up-pairs",
            Self::LowestLevel(_) => "lowest-level",
            Self::Order { .. } => "switch-order",
            Self::LongerPaths { .. } => "longer-paths",
            Self::OneVl => "one-vl",
            Self::Vls(_) => "vls",
            Self::OneWaySls => "one-way-sls",
            Self::PairVls(_) => "pair-vls",
        }
    }
}

/// The structure of a fabric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Structure {
    /// Not detected: tables are read from a file.
    TablesInFile,
    /// A torus that is described in a file.
    DescribedTorus(Box<Grid>),
    Tree {
        /// Whether the switches of each level have the same number of links up and down.
        is_regular: bool,
        figures: TreeFigures,
    },
    Grid(Box<Grid>),
    Dragonfly(Box<Dragonfly>),
    /// Most switches with end ports are at most two hops apart.
    DiameterTwo(DiameterTwo),
    /// Unknown structure.
    Unknown {
        /// Why it is not a tree.
        tree: TreeMismatch,
        /// Why it is not a grid.
        grid: GridMismatch,
        /// Why it is not a dragonfly.
        dragonfly: DragonflyMismatch,
    },
}

impl Structure {
    /// Whether the structure already contains what a diagnostic of an engine reports.
    pub(crate) fn includes(&self, diagnostic: &Diagnostic) -> bool {
        match (self, diagnostic) {
            (Self::Tree { .. }, Diagnostic::Tree(_)) => true,
            (Self::Grid(grid), Diagnostic::Dimensions(dimensions)) => grid == dimensions,
            (Self::Dragonfly(dragonfly), Diagnostic::Groups(groups)) => dragonfly == groups,
            (Self::DiameterTwo(structure), Diagnostic::Diameter(diameter)) => structure == diameter,
            _ => false,
        }
    }
}

/// Figures by which routings of several engines are compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoutingFigures {
    pub engine: &'static str,
    /// Routes over the busiest channel.
    pub max_load: u64,
    /// Flows over the busiest channel in a shift permutation, mean over all shifts.
    pub shift: f64,
    /// VLs in use.
    pub vls: u8,
    /// LFT entries that differ from the installed ones.
    pub changed_entries: usize,
}

/// What decided between compared routings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecidedBy {
    /// The busiest link.
    Load,
    /// The load counts as equal; the routing changes fewer installed LFT entries.
    ChangedEntries,
    /// The load counts as equal, and as many LFT entries change; the routing uses fewer VLs.
    Vls,
    /// Everything counts as equal; the engine is preferred.
    Preference,
    /// The routing uses one VL; that of another engine, on several VLs, is better, but not by
    /// enough.
    OneVl {
        /// The other engine.
        better: &'static str,
    },
}

/// Figures of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeFigures {
    levels: usize,
    leaves: usize,
    roots: usize,
    /// Roots that are leaves as well.
    root_leaves: usize,
    arity: Vec<u32>,
    level_links: usize,
    unconnected_pairs: u64,
}

impl TreeFigures {
    /// Figures of `tree`.
    #[must_use]
    pub fn from_tree(tree: &DetectedTree) -> Self {
        Self {
            levels: tree.levels(),
            leaves: tree.leaves.len(),
            roots: tree.roots.len(),
            root_leaves: tree
                .roots
                .iter()
                .filter(|root| tree.leaves.contains(root))
                .count(),
            arity: tree.arity[..tree.levels().saturating_sub(1)].to_vec(),
            level_links: tree.level_links,
            unconnected_pairs: tree.pairs.0.saturating_sub(tree.pairs.1),
        }
    }
}

/// Changes by an incremental reroute. `Display` is one line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RerouteSummary {
    pub lost_links: usize,
    pub removed_lids: usize,
    pub added_lids: usize,
    /// LFT entries changed.
    pub changed_entries: usize,
    /// LIDs of those entries.
    pub changed_lids: usize,
}

/// `1 leaf`, `2 leaves`.
fn count<N: fmt::Display + PartialEq + From<u8>>(n: N, one: &str, many: &str) -> String {
    let noun = if n == N::from(1) { one } else { many };
    format!("{n} {noun}")
}

fn join<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    items.join(", ")
}

impl Describe for Diagnostic {
    fn describe(&self, label: &dyn Fn(SwitchIdx) -> String) -> String {
        if let Self::MovedLids {
            count,
            first,
            switch,
        } = self
        {
            format!(
                "the file has no route for {count} LIDs, or has them at other switches; they use the routes of their switches \
                 (first: LID {first} at {})",
                label(*switch)
            )
        } else if let Self::Order { top, strategy } = self {
            format!("switch order: {strategy}; first switch: {}", label(*top))
        } else {
            self.to_string()
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Structure(structure) => structure.fmt(f),
            Self::Fallback => f.write_str("fallback: every configured engine failed"),
            Self::Compared {
                routings,
                best,
                decided_by,
            } => write!(
                f,
                "engines compared: {}; selected: {best} ({decided_by})",
                routings.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
            ),
            Self::Rerouted(summary) => summary.fmt(f),
            Self::Restored { text, .. } => f.write_str(text),
            Self::Dimensions(grid) => write!(f, "dimensions in routing order: {grid}"),
            Self::Datelines(rings) => write!(
                f,
                "packets that pass the end of a ring change to a second VL, against credit loops ({})",
                count(*rings, "ring dimension", "ring dimensions")
            ),
            Self::CutRings => f.write_str(
                "no path passes through the first switch of a ring, against credit loops: fewer VLs are needed, some paths are longer",
            ),
            Self::Detours {
                detours,
                paths,
                pairs,
                vls,
            } => write!(
                f,
                "{detours} of {paths} paths between switches take detours around missing links; {pairs} pairs of switches use {vls} \
                 additional VLs"
            ),
            Self::MulticastSl(sl) => write!(f, "multicast uses SL {sl} on a separate VL"),
            Self::Axes(axes) => {
                let kind = |kind| if kind == DimKind::Ring { "ring" } else { "path" };
                let routed = axes.iter().filter(|(_, size)| *size > 1).map(|&(axis, size)| format!("{} of {size}", kind(axis)));
                write!(f, "axes in routing order: {}", join(routed))
            }
            Self::OneQosLevel { needed, usable } => write!(
                f,
                "one QoS level: two levels need {needed} data VLs, {usable} usable"
            ),
            Self::NoSpanningTree => f.write_str(
                "no multicast tree in dimension order is free of deadlocks with the routes",
            ),
            Self::Groups(dragonfly) => write!(f, "groups: {dragonfly}"),
            Self::Diameter(diameter) => write!(f, "distances: {diameter}"),
            Self::MovedLids { .. } | Self::Order { .. } => {
                f.write_str(&self.describe(&index_label))
            }
            Self::Tree(tree) => tree.fmt(f),
            Self::UnusedPortList(name) => write!(
                f,
                "list of {name} ports ignored: none of its ports is in this fabric"
            ),
            Self::DownUpPairs { pairs, vls } => {
                write!(
                    f,
                    "{pairs} pairs of switches above the leaves have no path that goes up, then down; they use paths down, then up on "
                )?;
                match vls {
                    2 => f.write_str("SL 1"),
                    vls => write!(f, "SLs 1 to {}", vls - 1),
                }
            }
            Self::LowestLevel(switches) => {
                write!(
                    f,
                    "ranked from the {} with hosts",
                    count(*switches, "switch", "switches")
                )
            }
            Self::LongerPaths {
                hops,
                shortest,
                vls,
            } => {
                let percent = (hops - shortest) as f64 * 100.0 / *shortest as f64;
                write!(
                    f,
                    "paths between hosts are {percent:.2} % longer on average than the shortest ones"
                )?;
                vls.map_or(Ok(()), |vls| {
                    let usable = count(vls, "VL is", "VLs are");
                    write!(f, "; {usable} usable, more could shorten them")
                })
            }
            Self::OneVl => f.write_str("shortest paths are free of credit loops on one VL"),
            Self::Vls(vls) => {
                let keep = count(*vls, "VL keeps", "VLs keep");
                write!(f, "{keep} the paths free of credit loops")
            }
            Self::OneWaySls => f.write_str(
                "too few VLs for replies on the SL of their request on all paths: clients must query the path of each \
                 direction",
            ),
            Self::PairVls(vls) => write!(
                f,
                "{} in use; both directions between two switches use the same one",
                count(*vls, "VL", "VLs")
            ),
        }
    }
}

impl fmt::Display for Structure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TablesInFile => {
                f.write_str("fabric structure not examined: forwarding tables are read from a file")
            }
            Self::DescribedTorus(grid) => {
                write!(f, "a file describes a torus; the fabric is a {grid}")
            }
            Self::Tree {
                is_regular,
                figures,
            } => {
                f.write_str("fabric structure: ")?;
                f.write_str(if *is_regular { "" } else { "irregular " })?;
                figures.fmt(f)
            }
            Self::Grid(grid) => write!(f, "fabric structure: {grid}"),
            Self::Dragonfly(dragonfly) => write!(f, "fabric structure: {dragonfly}"),
            Self::DiameterTwo(diameter) => write!(f, "fabric structure: {diameter}"),
            Self::Unknown {
                tree,
                grid,
                dragonfly,
            } => write!(
                f,
                "fabric structure unknown (no tree: {tree}; no grid: {grid}; no dragonfly: {dragonfly})"
            ),
        }
    }
}

impl fmt::Display for RoutingFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            engine,
            max_load,
            shift,
            vls,
            changed_entries,
        } = self;
        write!(
            f,
            "{engine}: over the busiest link {}, and {shift:.2} transfers if every host sends to another one; {}, {}",
            count(*max_load, "route", "routes"),
            count(*vls, "VL", "VLs"),
            count(*changed_entries, "changed LFT entry", "changed LFT entries"),
        )
    }
}

impl fmt::Display for DecidedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Load => f.write_str("lowest load"),
            Self::ChangedEntries => {
                f.write_str("of those with equal load, it changes the fewest LFT entries")
            }
            Self::Vls => f.write_str("of those with equal load, it uses the fewest VLs"),
            Self::Preference => f.write_str("of equal ones, the preferred engine"),
            Self::OneVl { better } => {
                write!(
                    f,
                    "on one VL; {better} on several VLs is not clearly better"
                )
            }
        }
    }
}

impl fmt::Display for TreeFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}-level fat tree, {}, {}",
            self.levels,
            count(self.roots, "root switch", "root switches"),
            count(self.leaves, "leaf switch", "leaf switches")
        )?;
        if self.root_leaves > 0 {
            write!(
                f,
                " ({} both)",
                count(self.root_leaves, "switch is", "switches are")
            )?;
        }
        if !self.arity.is_empty() {
            let is_equal = self.arity.iter().all(|n| *n == self.arity[0]);
            let (switches, order) = if is_equal {
                (count(self.arity[0], "switch", "switches"), "")
            } else {
                let switches = format!("{} switches", join(&self.arity));
                (switches, " (from the leaves up)")
            };
            write!(f, "; up to {switches} directly above each switch{order}")?;
        }
        if self.level_links > 0 {
            let links = count(self.level_links, "link", "links");
            write!(f, "; {links} between switches of one level")?;
        }
        if self.unconnected_pairs > 0 {
            write!(
                f,
                "; {} pairs of hosts have no path that goes up, then down",
                self.unconnected_pairs
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for RerouteSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            lost_links,
            removed_lids,
            added_lids,
            changed_entries,
            changed_lids,
        } = self;
        let reasons: Vec<String> = [
            (
                lost_links,
                "link between switches",
                "links between switches",
                "lost",
            ),
            (removed_lids, "LID", "LIDs", "removed"),
            (added_lids, "LID", "LIDs", "added"),
        ]
        .into_iter()
        .filter(|(n, ..)| **n > 0)
        .map(|(n, one, many, verb)| format!("{} {verb}", count(*n, one, many)))
        .collect();
        f.write_str("incremental reroute: ")?;
        if !reasons.is_empty() {
            write!(f, "{}; ", reasons.join(", "))?;
        }
        write!(
            f,
            "{} changed",
            count(*changed_entries, "LFT entry", "LFT entries")
        )?;
        // Entries of removed LIDs change for no LID.
        match changed_lids {
            0 => Ok(()),
            n => write!(f, " for {}", count(*n, "LID", "LIDs")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reroute_summary_lists_only_what_changed() {
        let lost_host = RerouteSummary {
            removed_lids: 1,
            changed_entries: 20,
            ..RerouteSummary::default()
        };
        assert_eq!(
            lost_host.to_string(),
            "incremental reroute: 1 LID removed; 20 LFT entries changed"
        );
        let lost_link = RerouteSummary {
            lost_links: 1,
            added_lids: 2,
            changed_entries: 1,
            changed_lids: 1,
            ..RerouteSummary::default()
        };
        assert_eq!(
            lost_link.to_string(),
            "incremental reroute: 1 link between switches lost, 2 LIDs added; 1 LFT entry changed for 1 LID"
        );
    }
}
