//! Fabrics from a line of text: every shape that people build, with the oddities that real fabrics
//! have.
//!
//! The text is `SHAPE[:NUMBERS]` and options, each after a `;` or `?`. Nothing here is random
//! beyond the seed in the text: the same text is the same fabric on every machine. Owns the meaning
//! of the text; never simulates.
//!
//! | shape | what it is |
//! |---|---|
//! | `fat-tree:K` | three levels of K-port switches (K even): K³/4 hosts, 5K²/4 switches |
//! | `fat-tree2:RADIX,LEAVES,HOSTS` | two levels; RADIX/2 uplinks a leaf (fewer where HOSTS leave fewer ports) |
//! | `xgft:M1,..,Mh/W1,..,Wh` | generalised tree: a node of level i has Mi children, one of level i - 1 has Wi parents; hosts are level 0 |
//! | `pgft:M1,..,Mh/W1,..,Wh/P1,..,Ph` | the same, with Pi cables between a child and a parent |
//! | `rail-pods:PODS,SERVERS,GPUS[,SPINES[,CORES]]` | servers with a HCA for each GPU; HCA r of a pod's servers is on the pod's leaf r |
//! | `torus:X,Y[,Z][,H]` | grid that wraps; H hosts a switch (default 1); a side of 2 has one cable, not two |
//! | `mesh:X,Y[,Z][,H]` | grid that does not wrap; three numbers are X,Y,Z, so X,Y,1,H is flat with H hosts |
//! | `hyperx:A,B[,H]`, `hyperx:AxBxC[,H]` | switches, each cabled to all that differ from it in one coordinate |
//! | `dragonfly:A,G,H,P` | G groups of A routers (full mesh) with H global cables and P hosts each |
//! | `dragonfly+:G,L,S,H,P` | G groups of L leaves with P hosts each, cabled to S spines with H global cables each |
//! | `slim-fly:Q[,H]` | 2Q² switches of diameter 2; H hosts a switch (default: half of the cables between switches) |
//! | `random:N,R,H,SEED` | N switches, connected, at most R cables between switches on each, H hosts each |
//! | `ring:N[,H]` | N switches in a circle |
//! | `star:H`, `single-switch:H` | one switch |
//! | `back-to-back` | two hosts and a cable |
//!
//! | option | what it adds |
//! |---|---|
//! | `sharp` | an aggregation CA inside every switch, on an extra port after the last |
//! | `planes=N` | all switches N times; port n of a host is in plane n |
//! | `drop=F` | removes the part F (0 to 1) of the cables between switches, as far as it stays connected |
//! | `parallel=N` | lays every cable between switches N times |
//! | `spine-hosts=N` | N more hosts, on switches that have none |
//! | `loopbacks=N` | N cables from a switch to itself |
//! | `plugs=N` | N loopback plugs: a port that hears itself |
//! | `routers=N` | N two-port routers, the first port of each on a switch |
//! | `dual-port` | hosts have one port more, on the next switch that has hosts |
//! | `mixed-speeds` | every node is of a drawn generation, QDR to the fabric's own; a link is as slow as its slower end |
//! | `speed=NAME` | the fabric's generation: QDR, FDR, EDR, HDR (default), NDR (default above 41 ports), XDR |
//! | `islands=N` | N copies that no cable joins |
//! | `shuffle` | GUIDs and records in drawn order (a host stays first) |
//! | `seed=N` | for all that is drawn; default 1 |
//!
//! docs/topologies.md has pictures, counts and sources.
//!
//! Options may make a switch larger than its radix, never larger than 254 ports. Hosts come first,
//! then switches, routers and aggregation nodes. A CA's port n has its node GUID + n, a switch's
//! port 0 its node GUID. All nodes come up without LIDs.

mod build;
mod extras;
mod field;
mod groups;
pub mod hardware;
#[cfg(test)]
mod literature;
mod plan;
mod shapes;
#[cfg(test)]
pub(crate) mod sound;
#[cfg(test)]
mod tests;
mod trees;

use ferrosm_mad::attr::{LinkSpeed, NodeType};
use ferrosm_mad::ids::Lid;

use crate::spec::FabricSpec;
use extras::Options;
use plan::Plan;

/// A text that is no fabric.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{spec}`: {problem}")]
pub struct SpecTextError {
    /// The whole text.
    pub spec: String,
    /// What is wrong with it.
    pub problem: SpecProblem,
}

/// What is wrong with the text of a fabric.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecProblem {
    /// No such shape.
    #[error(
        "unknown shape `{0}`, expected fat-tree, fat-tree2, xgft, pgft, rail-pods, torus, mesh, hyperx, dragonfly, \
         dragonfly+, slim-fly, random, ring, star, single-switch or back-to-back"
    )]
    UnknownShape(String),
    /// Too few or too many numbers.
    #[error("expected {0}")]
    Form(&'static str),
    /// A number that is none, or that is out of range.
    #[error("{name} is `{text}`, expected {expected}")]
    Value {
        /// Which.
        name: &'static str,
        /// What was written.
        text: String,
        /// What may be written.
        expected: String,
    },
    /// No such option, or not with or without a value.
    #[error(
        "unknown option `{0}`, expected sharp, drop=F, planes=N, parallel=N, spine-hosts=N, loopbacks=N, \
         plugs=N, routers=N, dual-port, mixed-speeds, speed=NAME, islands=N, shuffle or seed=N"
    )]
    UnknownOption(String),
    /// A switch would need more ports than a node can have.
    #[error("a switch would need {0} ports, the most that a node can have is 254")]
    Ports(usize),
    /// A host would need more ports than its GUIDs leave place for.
    #[error("a host would need {0} ports, the most that a host here has is 15")]
    HostPorts(usize),
    /// No graph of McKay, Miller and Širáň has that size.
    #[error(
        "slim-fly:Q needs a prime power of the form 4w-1, 4w or 4w+1; {q} is none; nearest are {below} and {above}"
    )]
    NoGraph {
        /// What was asked for.
        q: usize,
        /// The next smaller size (or the smallest of all).
        below: usize,
        /// The next larger one.
        above: usize,
    },
    /// No host.
    #[error("there is no host, and a subnet manager needs one")]
    NoHost,
    /// More end ports than LIDs.
    #[error("{0} end ports need a LID, the unicast LID space has 49151")]
    Lids(usize),
    /// A shape's own rule.
    #[error("{0}")]
    Rule(&'static str),
}

/// The fabric that a text describes (see the module).
///
/// # Errors
/// [`SpecTextError`], one sentence that names the text and what is wrong with it.
pub fn from_spec(text: &str) -> Result<FabricSpec, SpecTextError> {
    let text = text.trim();
    parse(text).map_err(|problem| SpecTextError {
        spec: text.to_owned(),
        problem,
    })
}

fn parse(text: &str) -> Result<FabricSpec, SpecProblem> {
    let mut parts = text.split([';', '?']);
    let shape = parts.next().unwrap_or_default().trim();
    let (name, numbers) = shape.split_once(':').unwrap_or((shape, ""));
    let options = Options::parse(parts)?;
    let mut plan = draw(name.trim(), numbers.trim())?;
    extras::apply(&mut plan, &options)?;
    check(&plan)?;
    let fastest = options.speed.unwrap_or_else(|| default_speed(&plan));
    Ok(build::build(&plan, &options, fastest))
}

/// The plan of a shape with its numbers.
fn draw(name: &str, text: &str) -> Result<Plan, SpecProblem> {
    let numbers = &shapes::split(text)[..];
    match name {
        "fat-tree" => shapes::fat_tree(numbers),
        "fat-tree2" => shapes::fat_tree2(numbers),
        "torus" => shapes::grid(numbers, true),
        "mesh" => shapes::grid(numbers, false),
        "hyperx" => shapes::hyperx(numbers),
        "dragonfly" => groups::dragonfly(numbers),
        "dragonfly+" | "dragonfly-plus" => groups::dragonfly_plus(numbers),
        "slim-fly" => groups::slim_fly(numbers),
        "xgft" => trees::xgft(text),
        "pgft" => trees::pgft(text),
        "rail-pods" => trees::rail_pods(text),
        "random" => shapes::random(numbers),
        "ring" => shapes::ring(numbers),
        "star" | "single-switch" => shapes::star(numbers),
        "back-to-back" => shapes::back_to_back(numbers),
        other => Err(SpecProblem::UnknownShape(other.to_owned())),
    }
}

/// What is sold with that many ports.
fn default_speed(plan: &Plan) -> LinkSpeed {
    if plan.nodes.iter().any(|n| n.ports > 41) {
        LinkSpeed::Ndr
    } else {
        LinkSpeed::Hdr
    }
}

fn check(plan: &Plan) -> Result<(), SpecProblem> {
    if !plan.nodes.iter().any(|n| n.is_host()) {
        return Err(SpecProblem::NoHost);
    }
    if let Some(node) = plan.nodes.iter().find(|n| n.ports > 254) {
        return Err(SpecProblem::Ports(node.ports));
    }
    let switches = plan
        .nodes
        .iter()
        .filter(|n| n.kind == NodeType::Switch)
        .count();
    let ends = plan
        .links
        .iter()
        .flat_map(|l| [l.0, l.1])
        .filter(|end| plan.nodes[end.node].kind != NodeType::Switch)
        .count();
    let lids = switches + ends;
    if lids > usize::from(Lid::UNICAST_MAX.raw()) {
        return Err(SpecProblem::Lids(lids));
    }
    Ok(())
}

/// A number of the text within bounds.
fn number(name: &'static str, text: &str, min: u64, max: u64) -> Result<usize, SpecProblem> {
    text.parse::<u64>()
        .ok()
        .filter(|n| (min..=max).contains(n))
        .and_then(|n| usize::try_from(n).ok())
        .ok_or_else(|| SpecProblem::Value {
            name,
            text: text.to_owned(),
            expected: format!("a number from {min} to {max}"),
        })
}
