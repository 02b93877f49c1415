//! What engines, the choice of engines and repairs decided, for logs and reports. Switches are named by their LIDs.

use std::fmt;

use ferrosm_mad::ids::Lid;

use crate::structure::dragonfly::{Dragonfly, DragonflyMismatch};
use crate::structure::grid::{DimKind, Grid, GridMismatch};
use crate::structure::tree::{Tree, TreeMismatch};

/// One decision on the way to a routing. `Display` is one sentence.
#[derive(Debug, Clone, PartialEq)]
pub enum Diagnostic {
    /// `auto`: the structure of the fabric.
    Structure(Structure),
    /// No engine before this one could route the fabric.
    Fallback,
    /// Routings of several engines were compared.
    Compared {
        /// All of them.
        routings: Vec<RoutingFigures>,
        /// The engine whose routing is used.
        best: &'static str,
    },
    /// The routing was repaired.
    Rerouted(RerouteSummary),
    /// The text of a note of an earlier process.
    Restored(String),
    /// `dor`: dimensions, in the order of routing.
    Dimensions(Box<Grid>),
    /// `dor`: so many dimensions of rings use two VLs with datelines.
    Datelines(usize),
    /// `dor`: no packet passes the first switch of a ring.
    CutRings,
    /// `dor`: paths with detours.
    Detours {
        /// Paths with detours.
        detours: usize,
        /// All paths between switches.
        paths: usize,
        /// Pairs of switches on further VLs.
        pairs: usize,
        /// The further VLs.
        vls: usize,
    },
    /// `dor`: multicast has this SL and a VL of its own.
    MulticastSl(u8),
    /// `torus-2QoS`: kind and size of the axes, in the order of routing.
    Axes(Vec<(DimKind, usize)>),
    /// `torus-2QoS`: too few VLs for two levels of service.
    OneServiceLevel {
        /// VLs for two levels.
        needed: u8,
        /// VLs that may be used.
        have: u8,
    },
    /// `torus-2QoS`: no spanning tree in dimension order goes with the routes.
    NoSpanningTree,
    /// `file`: LIDs that are not where the file has them.
    MovedLids {
        /// Number of LIDs.
        count: usize,
        /// The first of them.
        first: Lid,
    },
    /// The tree of a tree engine.
    Tree(TreeFigures),
    /// `ftree`: a list of ports names no port of the fabric.
    UnusedPortList(&'static str),
    /// Pairs of switches above the leaves have no path up and down.
    DownUpPairs {
        /// Pairs of switches.
        pairs: usize,
        /// VLs of the routing.
        vls: u8,
    },
    /// `dnup`: so many switches with end ports are the lowest level.
    LowestLevel(usize),
    /// `updn`: the order of the switches.
    Order {
        /// LID of the first switch.
        top: Lid,
        /// How the order was found.
        strategy: &'static str,
    },
    /// Paths between end ports are longer than the shortest.
    LongerPaths {
        /// Hops of all paths.
        hops: u64,
        /// Hops of the shortest paths.
        least: u64,
        /// VLs, where more of them may shorten paths.
        vls: Option<u8>,
    },
    /// `dfsssp`, `lash`: shortest paths have no credit loop on one VL.
    OneVl,
    /// `dfsssp`, `lash`: VLs of a routing without credit loops.
    Vls(u8),
    /// `dfsssp`, `lash`: replies cannot use the SL of their request everywhere.
    OneWaySls,
    /// `nue`: VLs of pairs of switches.
    PairVls(u8),
}

impl Diagnostic {
    /// What the repair changed, if the note is of one.
    #[must_use]
    pub const fn as_reroute(&self) -> Option<&RerouteSummary> {
        if let Self::Rerouted(repair) = self {
            Some(repair)
        } else {
            None
        }
    }
}

/// The structure of a fabric, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Structure {
    /// Tables were given in a file.
    TablesInFile,
    /// A torus was described in a file.
    DescribedTorus(Box<Grid>),
    /// A tree.
    Tree {
        /// Whether the switches of each level have the same number of links up and down.
        even: bool,
        /// Levels of switches.
        levels: usize,
        /// Switches of the highest level.
        roots: usize,
        /// Switches of the lowest level.
        leaves: usize,
    },
    /// A grid.
    Grid(Box<Grid>),
    /// A dragonfly.
    Dragonfly(Box<Dragonfly>),
    /// No known shape.
    Unknown {
        /// Why it is no tree.
        tree: TreeMismatch,
        /// Why it is no grid.
        grid: GridMismatch,
        /// Why it is no dragonfly.
        dragonfly: DragonflyMismatch,
    },
}

/// Figures of a routing that was compared with others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoutingFigures {
    /// Its engine.
    pub engine: &'static str,
    /// Routes over the busiest channel.
    pub max_load: u64,
    /// Flows over the busiest channel in a shift, on average.
    pub shift: f64,
    /// VLs that it uses.
    pub vls: u8,
}

/// Figures of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeFigures {
    levels: usize,
    leaves: usize,
    roots: usize,
    arity: Vec<u32>,
    level_links: usize,
    unconnected_pairs: u64,
}

impl TreeFigures {
    /// Of this tree.
    #[must_use]
    pub fn of(tree: &Tree) -> Self {
        Self {
            levels: tree.levels(),
            leaves: tree.leaves.len(),
            roots: tree.roots.len(),
            arity: tree.arity[..tree.levels().saturating_sub(1)].to_vec(),
            level_links: tree.level_cables,
            unconnected_pairs: tree.pairs.0.saturating_sub(tree.pairs.1),
        }
    }
}

/// What a repair of a routing changed. `Display` is one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RerouteSummary {
    /// Cables that were lost.
    pub lost_cables: usize,
    /// LIDs that are gone.
    pub gone_lids: usize,
    /// LIDs that are new.
    pub new_lids: usize,
    /// Entries of forwarding tables that were changed.
    pub changed_entries: usize,
    /// LIDs of those entries.
    pub changed_lids: usize,
}

fn join<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    items.join(", ")
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Structure(structure) => structure.fmt(f),
            Self::Fallback => f.write_str("no engine before this one could route the fabric"),
            Self::Compared { routings, best } => write!(
                f,
                "compared by routes over the busiest cable, and flows over it in a shift: {}; the best is {best}",
                join(routings)
            ),
            Self::Rerouted(repair) => repair.fmt(f),
            Self::Restored(text) => f.write_str(text),
            Self::Dimensions(grid) => write!(f, "dimensions, in the order of routing: {grid}"),
            Self::Datelines(rings) => write!(
                f,
                "two lanes with datelines keep circles from closing in {rings} dimensions of rings"
            ),
            Self::CutRings => f.write_str(
                "no packet goes through the first switch of a ring: paths are longer, lanes are saved",
            ),
            Self::Detours {
                detours,
                paths,
                pairs,
                vls,
            } => write!(
                f,
                "{detours} of {paths} paths between switches take detours, {pairs} pairs of switches on {vls} further lanes"
            ),
            Self::MulticastSl(sl) => write!(f, "multicast has a lane of its own, SL {sl}"),
            Self::Axes(axes) => {
                let kind = |kind| if kind == DimKind::Ring { "ring" } else { "path" };
                let axes = axes.iter().filter(|(_, size)| *size > 1);
                let axes = axes.map(|&(of, size)| format!("{} of {size}", kind(of)));
                write!(f, "axes, in the order of routing: {}", join(axes))
            }
            Self::OneServiceLevel { needed, have } => write!(
                f,
                "one level of service: two need {needed} data VLs, {have} can be used"
            ),
            Self::NoSpanningTree => {
                f.write_str("no spanning tree in dimension order goes with the routes")
            }
            Self::MovedLids { count, first } => write!(
                f,
                "{count} LIDs hang elsewhere than in the file or are not in it, and go the way of their switches \
                 (LID {first} is the first)"
            ),
            Self::Tree(tree) => tree.fmt(f),
            Self::UnusedPortList(name) => write!(
                f,
                "the list of {name} ports names no port of this fabric: it is not used"
            ),
            Self::DownUpPairs { pairs, vls } => {
                write!(
                    f,
                    "{pairs} pairs of switches above the leaves have no way up and down between them: they go down and \
                     up, on "
                )?;
                match vls {
                    2 => f.write_str("service level 1"),
                    vls => write!(f, "service levels 1 to {}", vls - 1),
                }
            }
            Self::LowestLevel(switches) => {
                write!(f, "{switches} switches with hosts are the lowest level")
            }
            Self::Order { top, strategy } => write!(
                f,
                "top of the order is the switch with LID {top}; order: {strategy}"
            ),
            Self::LongerPaths { hops, least, vls } => {
                let percent = (hops - least) as f64 * 100.0 / *least as f64;
                write!(
                    f,
                    "paths between end ports are {percent:.2} % longer than the shortest"
                )?;
                vls.map_or(Ok(()), |vls| write!(f, " with {vls} lanes"))
            }
            Self::OneVl => f.write_str("one lane is free of credit loops as it is"),
            Self::Vls(vls) => write!(f, "{vls} lanes are free of credit loops"),
            Self::OneWaySls => f.write_str(
                "lanes are too few for answers to use the SL of their request everywhere: clients must ask for both \
                 paths",
            ),
            Self::PairVls(vls) => write!(
                f,
                "{vls} lanes, the same for both directions between two switches"
            ),
        }
    }
}

impl fmt::Display for Structure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TablesInFile => f.write_str("tables were given in a file"),
            Self::DescribedTorus(grid) => {
                write!(f, "a torus was described in a file; the fabric is a {grid}")
            }
            Self::Tree {
                even,
                levels,
                roots,
                leaves,
            } => {
                let a = if *even { "a" } else { "an uneven" };
                write!(
                    f,
                    "the fabric is {a} tree of {levels} levels with {roots} roots and {leaves} leaves"
                )
            }
            Self::Grid(grid) => write!(f, "the fabric is a {grid}"),
            Self::Dragonfly(dragonfly) => write!(f, "the fabric is a {dragonfly}"),
            Self::Unknown {
                tree,
                grid,
                dragonfly,
            } => write!(
                f,
                "the fabric is of no known shape (no tree: {tree}; no grid: {grid}; no dragonfly: {dragonfly})"
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
        } = self;
        write!(f, "{engine} {max_load} and {shift:.2} ({vls} lanes)")
    }
}

impl fmt::Display for TreeFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a tree of {} levels with {} leaves and {} roots",
            self.levels, self.leaves, self.roots
        )?;
        if !self.arity.is_empty() {
            write!(f, "; columns above each level: {}", join(&self.arity))?;
        }
        if self.level_links > 0 {
            write!(
                f,
                "; {} cables join switches of one level",
                self.level_links
            )?;
        }
        if self.unconnected_pairs > 0 {
            write!(
                f,
                "; {} pairs of end ports have no way up and down it: they take longer ways, over switches that come \
                 before some of the roots in one order of all switches",
                self.unconnected_pairs
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for RerouteSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            lost_cables,
            gone_lids,
            new_lids,
            changed_entries,
            changed_lids,
        } = self;
        write!(
            f,
            "repaired: {lost_cables} cables lost, {gone_lids} LIDs gone, {new_lids} new; {changed_entries} entries for \
             {changed_lids} LIDs moved, all others stay as they are"
        )
    }
}
