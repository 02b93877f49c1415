//! Generators: fabrics from a line of text.
//!
//! The text is `SHAPE[:NUMBERS]` and options, each after a `;` or `?`. The same text gives the same
//! fabric on every machine; random choices depend only on the seed in the text.
//!
//! | shape | description |
//! |---|---|
//! | `fat-tree:K` | three levels of K-port switches (K even): K³/4 hosts, 5K²/4 switches |
//! | `fat-tree2:RADIX,LEAVES,HOSTS` | two levels; RADIX/2 uplinks per leaf (fewer if HOSTS leave fewer ports) |
//! | `xgft:M1,..,Mh/W1,..,Wh` | generalised tree: a node of level i has Mi children, a node of level i - 1 has Wi parents; hosts are level 0 |
//! | `pgft:M1,..,Mh/W1,..,Wh/P1,..,Ph` | XGFT with Pi links between a child and a parent |
//! | `rail-pods:PODS,SERVERS,GPUS[,SPINES[,CORES]]` | servers with an HCA per GPU; HCA r of a pod's servers is attached to the pod's leaf r |
//! | `torus:X,Y[,Z][,H]` | torus; H hosts per switch (default 1); a side of 2 has one link, not two |
//! | `mesh:X,Y[,Z][,H]` | mesh; three numbers are X,Y,Z, so X,Y,1,H is two-dimensional with H hosts |
//! | `hyperx:A,B[,H]`, `hyperx:AxBxC[,H]` | switches, each connected to all that differ from it in one coordinate |
//! | `dragonfly:A,G,H,P` | G groups of A routers (full mesh) with H global cables and P hosts each |
//! | `dragonfly+:G,L,S,H,P` | G groups of L leaves with P hosts each, cabled to S spines with H global cables each |
//! | `slim-fly:Q[,H]` | 2Q² switches of diameter 2; H hosts per switch (default: half of the switch-to-switch links) |
//! | `random:N,R,H,SEED` | N connected switches, at most R links to other switches per switch, H hosts each |
//! | `ring:N[,H]` | ring of N switches |
//! | `star:H`, `single-switch:H` | one switch |
//! | `back-to-back` | two hosts and a link |
//!
//! | option | effect |
//! |---|---|
//! | `sharp` | adds an aggregation CA to every switch, on an extra port after the last |
//! | `planes=N` | N copies of all switches; port n of a host is in plane n |
//! | `drop=F` | drops the fraction F (0 to 1) of the switch-to-switch links, as long as the fabric stays connected |
//! | `parallel=N` | N parallel links in place of each switch-to-switch link |
//! | `spine-hosts=N` | adds N hosts to switches without hosts |
//! | `loopbacks=N` | adds N links from a switch to itself |
//! | `plugs=N` | adds N loopback plugs: a port connected to itself |
//! | `routers=N` | adds N two-port routers, with the first port on a switch |
//! | `dual-port` | adds a port to each host, on the next switch with hosts |
//! | `mixed-speeds` | random generation per node, from QDR to the fabric's; a link has the speed of its slower end |
//! | `speed=NAME` | generation: QDR, FDR, EDR, HDR (default), NDR (default above 41 ports), XDR |
//! | `components=N` | N copies without links between them |
//! | `shuffle` | GUIDs and records in random order (a host stays first) |
//! | `seed=N` | random seed; default 1 |
//!
//! docs/topologies.md has counts and sources.
//!
//! Options may make a switch larger than its radix, up to 254 ports. Hosts come first, then
//! switches, routers and aggregation nodes. The GUID of a CA's port n is its node GUID + n; that of
//! a switch's port 0 is the node GUID. No node has a LID.

mod build;
mod extras;
mod field;
mod groups;
#[cfg(test)]
mod literature;
mod plan;
#[cfg(test)]
pub(crate) mod properties;
mod shapes;
#[cfg(test)]
mod tests;
mod trees;

use ferrosm_mad::attr::{LinkSpeed, NodeType};
use ferrosm_mad::ids::Lid;

use crate::spec::FabricSpec;
use extras::TopologyOptions;
use plan::Plan;

/// A text that does not describe a fabric.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{spec}`: {problem}")]
pub struct SpecTextError {
    /// The text.
    pub spec: String,
    /// Reason.
    pub problem: SpecProblem,
}

/// Why a text does not describe a fabric.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecProblem {
    /// Unknown shape.
    #[error(
        "unknown topology `{0}`, expected fat-tree, fat-tree2, xgft, pgft, rail-pods, torus, mesh, hyperx, dragonfly, \
         dragonfly+, slim-fly, random, ring, star, single-switch or back-to-back"
    )]
    UnknownTopology(String),
    /// Wrong number of parameters.
    #[error("expected {0}")]
    Form(&'static str),
    /// Invalid or out-of-range parameter.
    #[error("{name} is `{text}`, expected {expected}")]
    Value {
        /// Name of the parameter.
        name: &'static str,
        /// Given value.
        text: String,
        /// Valid values.
        expected: String,
    },
    /// Unknown option, or with a missing or unexpected value.
    #[error(
        "unknown option `{0}`, expected sharp, drop=F, planes=N, parallel=N, spine-hosts=N, loopbacks=N, \
         plugs=N, routers=N, dual-port, mixed-speeds, speed=NAME, components=N, shuffle or seed=N"
    )]
    UnknownOption(String),
    /// More ports than a switch can have.
    #[error("a switch needs {0} ports, the maximum is 254")]
    Ports(usize),
    /// More ports than a host can have.
    #[error("a host needs {0} ports, the maximum is 15")]
    HostPorts(usize),
    /// No McKay-Miller-Širáň graph of this size.
    #[error(
        "slim-fly:Q: {q} is not a prime power of the form 4w-1, 4w or 4w+1 (nearest: {below} and {above})"
    )]
    NoGraph {
        /// Given Q.
        q: usize,
        /// Next smaller valid Q (or the smallest).
        below: usize,
        /// Next larger valid Q.
        above: usize,
    },
    #[error("the fabric has no host for the SM")]
    NoHost,
    /// More end ports than unicast LIDs.
    #[error("{0} end ports exceed the 49151 unicast LIDs")]
    Lids(usize),
    /// A rule of the shape is violated.
    #[error("{0}")]
    Rule(&'static str),
}

/// Generates the fabric that a text describes (see the module documentation).
///
/// # Errors
/// [`SpecTextError`].
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
    let options = TopologyOptions::parse(parts)?;
    let mut plan = plan_shape(name.trim(), numbers.trim())?;
    extras::apply(&mut plan, &options)?;
    check(&plan)?;
    let fastest = options.speed.unwrap_or_else(|| default_speed(&plan));
    Ok(build::build(&plan, &options, fastest))
}

/// Plans a shape.
fn plan_shape(name: &str, text: &str) -> Result<Plan, SpecProblem> {
    let numbers = &shapes::split_at_commas(text)[..];
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
        other => Err(SpecProblem::UnknownTopology(other.to_owned())),
    }
}

/// Default generation: NDR if a node has more than 41 ports, otherwise HDR.
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

/// Parses a number within bounds.
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
