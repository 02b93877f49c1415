//! Declared invariants of the fabric, and whether they hold. Pure: reads nothing but its arguments,
//! and may run on any thread (ADR 0040).
//!
//! | module | contents |
//! |---|---|
//! | this | the definitions |
//! | [`group`] | groups of ports, as operators name them |
//! | [`check`] | whether invariants hold for a fabric, its partitions and routes |

pub mod check;
pub mod group;

use ferrosm_api::invariant::InvariantKind;

use self::group::PortGroup;

/// Most invariants.
pub const INVARIANTS_MAX: usize = 64;

/// A declared invariant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invariant {
    pub name: String,
    pub rule: Rule,
}

/// What an invariant demands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// No port of one group can exchange packets with a port of the other: the groups have no port
    /// in common, and no partition in which both have a member and one of these is a full member.
    /// Routes lead everywhere, so they separate no ports. The SM's port does not count in the
    /// default partition, in which all ports must reach it.
    Isolated(Pair),
    /// The routes between the groups, in both directions, pass at most this number of links between
    /// switches.
    MaxHops { between: Pair, max: u32 },
    /// No loss of a single link between switches, or of a single switch other than their own,
    /// separates the switches of the groups.
    Redundant(Pair),
    /// Routes over the busiest link between switches in one direction. Each pair of end ports has
    /// one route.
    MaxLoad(LoadLimit),
}

/// Two groups of ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    pub from: PortGroup,
    pub to: PortGroup,
}

/// The limits of [`Rule::MaxLoad`], at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadLimit {
    /// Most routes.
    pub routes: Option<u64>,
    /// Most routes, in percent of the mean of all links.
    pub percent_of_mean: Option<u64>,
}

impl Rule {
    #[must_use]
    pub const fn kind(&self) -> InvariantKind {
        match self {
            Self::Isolated(_) => InvariantKind::Isolated,
            Self::MaxHops { .. } => InvariantKind::MaxHops,
            Self::Redundant(_) => InvariantKind::Redundant,
            Self::MaxLoad(_) => InvariantKind::MaxLoad,
        }
    }

    /// The rule in words.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Isolated(Pair { from, to }) => format!("{from} and {to} never reach each other"),
            Self::MaxHops {
                between: Pair { from, to },
                max,
            } => format!("at most {max} hops between {from} and {to}"),
            Self::Redundant(Pair { from, to }) => {
                format!("no single loss separates {from} and {to}")
            }
            Self::MaxLoad(LoadLimit {
                routes,
                percent_of_mean,
            }) => {
                let of_routes = routes.map(|n| format!("{n} routes"));
                let of_mean = percent_of_mean.map(|n| format!("{n} % of the mean"));
                let limits: Vec<String> = of_routes.into_iter().chain(of_mean).collect();
                format!("at most {} over any link", limits.join(" and "))
            }
        }
    }
}
