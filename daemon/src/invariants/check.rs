//! Whether invariants hold for a fabric, its partitions and its routes.

use std::collections::BTreeMap;

use ferrosm_api::invariant::{InvariantState, InvariantStatus};
use ferrosm_core::config::partitions::{DEFAULT_PARTITION, Partitions, partition_of};
use ferrosm_core::routing::what_if::{PredictedRoutes, RoutingBasis};
use ferrosm_fabric::observed::NodeIdx;
use ferrosm_fabric::snapshot::{EndPortIdx, Snapshot};
use ferrosm_mad::ids::{Lid, PKey, PortNum};
use ferrosm_routing::connectivity::disjoint::{DisjointWays, Separator};
use ferrosm_routing::quality::{LinkLoads, RouteLengths};
use ferrosm_routing::{SwitchIdx, Tables, Topology};

use super::group::{PortGroup, facts};
use super::{Invariant, LoadLimit, Pair, Rule};

/// The membership bit of a P_Key.
const FULL: u16 = 0x8000;

/// A fabric with its partitions and routes, as they are or as they would be.
#[derive(Debug, Clone, Copy)]
pub struct CheckedFabric<'a> {
    pub snapshot: &'a Snapshot,
    pub partitions: &'a Partitions,
    /// `None` without a routing.
    pub routes: Option<CheckedRoutes<'a>>,
}

/// Routes.
#[derive(Debug, Clone, Copy)]
pub struct CheckedRoutes<'a> {
    /// The graph that is routed: without what is lost, and without links that routes avoid.
    topo: &'a Topology,
    /// The node of each switch.
    nodes: &'a [NodeIdx],
    tables: &'a Tables,
}

impl<'a> CheckedRoutes<'a> {
    /// The routes in force.
    #[must_use]
    pub fn in_force(basis: &'a RoutingBasis) -> Self {
        Self {
            topo: &basis.run().topo,
            nodes: basis.nodes(),
            tables: basis.tables(),
        }
    }

    /// Predicted routes.
    #[must_use]
    pub fn predicted(routes: &'a PredictedRoutes) -> Self {
        Self {
            topo: &routes.run.topo,
            nodes: &routes.nodes,
            tables: &routes.tables,
        }
    }
}

/// Whether each invariant holds, in their order.
#[must_use]
pub fn check(invariants: &[Invariant], fabric: CheckedFabric<'_>) -> Vec<InvariantStatus> {
    let mut check = Check {
        fabric,
        places: fabric.routes.map(|routes| places(fabric.snapshot, routes)),
        lengths: None,
        loads: None,
        ways: None,
    };
    let statuses = invariants.iter().map(|invariant| {
        let (state, text) = match check.verdict(&invariant.rule) {
            Verdict::Holds(text) => (InvariantState::Ok, text),
            Verdict::Violated(text) => (InvariantState::Violated, text),
            Verdict::Unknown(text) => (InvariantState::Unknown, text),
        };
        InvariantStatus {
            text,
            state,
            ..unchecked(invariant)
        }
    });
    statuses.collect()
}

/// An invariant that was not checked.
#[must_use]
pub fn unchecked(invariant: &Invariant) -> InvariantStatus {
    InvariantStatus {
        name: invariant.name.clone(),
        kind: invariant.rule.kind(),
        rule: invariant.rule.describe(),
        state: InvariantState::Unknown,
        text: "not checked yet".to_owned(),
    }
}

/// Those that are violated after a change and were not before, in their order.
#[must_use]
pub fn newly_violated(
    before: &[InvariantStatus],
    after: Vec<InvariantStatus>,
) -> Vec<InvariantStatus> {
    let was_violated = |status: &InvariantStatus| {
        let mut same = before.iter().filter(|b| b.name == status.name);
        same.any(|b| b.state == InvariantState::Violated)
    };
    after
        .into_iter()
        .filter(|status| status.state == InvariantState::Violated && !was_violated(status))
        .collect()
}

enum Verdict {
    /// It holds, with what was measured.
    Holds(String),
    /// It does not, with an example.
    Violated(String),
    /// Why it is not known.
    Unknown(String),
}

/// Where an end port is attached, and its base LID.
#[derive(Debug, Clone, Copy)]
struct Place {
    switch: SwitchIdx,
    lid: Lid,
}

/// The end ports that are attached to routed switches. Others are not in the routes: ports 0 of
/// switches, and what is lost.
fn places(snapshot: &Snapshot, routes: CheckedRoutes<'_>) -> BTreeMap<EndPortIdx, Place> {
    let mut places = BTreeMap::new();
    for switch in routes.topo.switches() {
        for end in routes.topo.end_ports(switch) {
            let lid = end.lid;
            if let Some(at) = snapshot.by_lid(lid) {
                places.insert(at, Place { switch, lid });
            }
        }
    }
    places
}

/// What is computed once for all invariants.
struct Check<'a> {
    fabric: CheckedFabric<'a>,
    places: Option<BTreeMap<EndPortIdx, Place>>,
    lengths: Option<RouteLengths<'a>>,
    loads: Option<LinkLoads>,
    ways: Option<DisjointWays>,
}

impl<'a> Check<'a> {
    fn verdict(&mut self, rule: &Rule) -> Verdict {
        match rule {
            Rule::Isolated(pair) => self.isolated(pair),
            Rule::MaxHops { between, max } => self.max_hops(between, *max),
            Rule::Redundant(pair) => self.redundant(pair),
            Rule::MaxLoad(limit) => self.max_load(*limit),
        }
    }

    fn ports(&self, group: &PortGroup) -> Result<Vec<EndPortIdx>, Verdict> {
        let ports = group.ports(self.fabric.snapshot, self.fabric.partitions);
        match ports.is_empty() {
            true => Err(Verdict::Unknown(format!(
                "no port of the subnet is in {group}"
            ))),
            false => Ok(ports),
        }
    }

    fn isolated(&self, Pair { from, to }: &Pair) -> Verdict {
        let (from, to) = match (self.ports(from), self.ports(to)) {
            (Ok(from), Ok(to)) => (from, to),
            (Err(unknown), _) | (_, Err(unknown)) => return unknown,
        };
        if let Some(both) = from.iter().find(|at| to.binary_search(at).is_ok()) {
            return Verdict::Violated(format!("{} is in both groups", self.name(*both)));
        }
        let from = self.members(&from);
        let to = self.members(&to);
        for (number, a) in &from {
            let Some(b) = to.get(number) else { continue };
            let joined = match (a.full, b.full) {
                (Some(full), _) => (full, b.any),
                (None, Some(full)) => (a.any, full),
                // Limited members exchange no packets.
                (None, None) => continue,
            };
            return Verdict::Violated(format!(
                "{} and {} are both in partition {}",
                self.name(joined.0),
                self.name(joined.1),
                self.partition_name(*number)
            ));
        }
        Verdict::Holds(String::new())
    }

    /// The partitions of some ports, each with a member.
    fn members(&self, ports: &[EndPortIdx]) -> BTreeMap<u16, PartitionMembers> {
        let mut members: BTreeMap<u16, PartitionMembers> = BTreeMap::new();
        for &at in ports {
            let facts = facts(self.fabric.snapshot, at);
            let keys: Vec<PKey> = self.fabric.partitions.wanted_p_keys(&facts).keys;
            for key in keys {
                let number = partition_of(key);
                if number == DEFAULT_PARTITION && facts.is_sm_port {
                    continue;
                }
                let of_partition = members.entry(number).or_insert(PartitionMembers {
                    any: at,
                    full: None,
                });
                if key.0 & FULL != 0 {
                    of_partition.full.get_or_insert(at);
                }
            }
        }
        members
    }

    fn max_hops(&mut self, Pair { from, to }: &Pair, max: u32) -> Verdict {
        let [from, to] = match self.placed_groups(from, to) {
            Ok(groups) => groups,
            Err(unknown) => return unknown,
        };
        let mut longest = 0;
        for (senders, receivers) in [(&from, &to), (&to, &from)] {
            let sources = by_switch(senders);
            for (receiver, place) in receivers {
                let Some(lengths) = self.lengths() else {
                    return no_routing();
                };
                if !lengths.compute_to(place.lid) {
                    continue;
                }
                for (switch, sender) in &sources {
                    let hops = lengths.hops_from(*switch);
                    if hops.is_some_and(|hops| hops <= max) {
                        longest = longest.max(hops.unwrap_or(0));
                        continue;
                    }
                    let route = format!("{} -> {}", self.name(*sender), self.name(*receiver));
                    return Verdict::Violated(match hops {
                        Some(hops) => format!("the route {route} has {hops} hops"),
                        None => format!("no route {route}"),
                    });
                }
            }
        }
        Verdict::Holds(format!("at most {longest} hops"))
    }

    fn redundant(&mut self, Pair { from, to }: &Pair) -> Verdict {
        let [from, to] = match self.placed_groups(from, to) {
            Ok(groups) => groups,
            Err(unknown) => return unknown,
        };
        let Some(routes) = self.fabric.routes else {
            return no_routing();
        };
        let ways = self
            .ways
            .get_or_insert_with(|| DisjointWays::find(routes.topo));
        let to = by_switch(&to);
        let found = by_switch(&from).into_iter().find_map(|(a, sender)| {
            let mut others = to.iter();
            let (separator, receiver) = others.find_map(|(b, receiver)| {
                let separator = ways.separator(a, *b)?;
                Some((separator, *receiver))
            })?;
            Some((sender, receiver, separator))
        });
        let Some((sender, receiver, separator)) = found else {
            return Verdict::Holds(String::new());
        };
        let both = format!("{} and {}", self.name(sender), self.name(receiver));
        let switch = |s: SwitchIdx| {
            let snapshot = self.fabric.snapshot;
            let slot = routes.nodes.get(s.index()).map(|node| node.slot());
            // Predictions have added switches.
            let known = slot.filter(|slot| snapshot.port_by_num(*slot, PortNum::ZERO).is_some());
            known.map_or_else(
                || "an added switch".to_owned(),
                |slot| snapshot.node(slot).name(),
            )
        };
        Verdict::Violated(match separator {
            Separator::Unconnected => format!("{both} are not connected"),
            Separator::Switch(s) => format!("the loss of {} separates {both}", switch(s)),
            Separator::Link(s, port) => {
                format!(
                    "the loss of the link at {}/{port} separates {both}",
                    switch(s)
                )
            }
        })
    }

    fn max_load(&mut self, limit: LoadLimit) -> Verdict {
        let loads = match self.loads {
            Some(loads) => loads,
            None => match self.lengths() {
                Some(lengths) => lengths.loads(),
                None => return no_routing(),
            },
        };
        self.loads = Some(loads);
        let LinkLoads {
            busiest,
            total,
            channels,
        } = loads;
        let percent = match total {
            0 => 0,
            total => u128::from(busiest) * u128::from(channels) * 100 / u128::from(total),
        };
        let is_over = limit.routes.is_some_and(|max| busiest > max)
            || limit
                .percent_of_mean
                .is_some_and(|max| percent > u128::from(max));
        let measured = format!("busiest link: {busiest} routes, {percent} % of the mean");
        match is_over {
            true => Verdict::Violated(measured),
            false => Verdict::Holds(measured),
        }
    }

    /// The ports of two groups that are in the routes.
    fn placed_groups(&self, from: &PortGroup, to: &PortGroup) -> Result<[Placed; 2], Verdict> {
        let places = self.places.as_ref().ok_or_else(no_routing)?;
        let placed = |group: &PortGroup| {
            let found: Placed = self
                .ports(group)?
                .into_iter()
                .filter_map(|at| Some((at, *places.get(&at)?)))
                .collect();
            match found.is_empty() {
                true => Err(Verdict::Unknown(format!("no port of {group} is routed"))),
                false => Ok(found),
            }
        };
        Ok([placed(from)?, placed(to)?])
    }

    fn lengths(&mut self) -> Option<&mut RouteLengths<'a>> {
        let routes = self.fabric.routes?;
        Some(
            self.lengths
                .get_or_insert_with(|| RouteLengths::new(routes.topo, routes.tables)),
        )
    }

    fn name(&self, at: EndPortIdx) -> String {
        let snapshot = self.fabric.snapshot;
        let end_port = snapshot.end_port(at);
        let name = snapshot.node(end_port.node).name();
        format!("{name}/{}", end_port.port.num())
    }

    fn partition_name(&self, number: u16) -> String {
        let mut list = self.fabric.partitions.list().iter();
        match list.find(|p| p.number == number) {
            Some(partition) => format!("{} ({number:#06x})", partition.name),
            None => format!("{number:#06x}"),
        }
    }
}

/// A partition of a group: a member, and a full member if there is one.
#[derive(Debug, Clone, Copy)]
struct PartitionMembers {
    any: EndPortIdx,
    full: Option<EndPortIdx>,
}

type Placed = Vec<(EndPortIdx, Place)>;

/// One port for each switch.
fn by_switch(ports: &[(EndPortIdx, Place)]) -> BTreeMap<SwitchIdx, EndPortIdx> {
    let mut switches = BTreeMap::new();
    for (at, place) in ports {
        switches.entry(place.switch).or_insert(*at);
    }
    switches
}

fn no_routing() -> Verdict {
    Verdict::Unknown("there is no routing".to_owned())
}
