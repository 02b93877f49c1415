//! What is not as planned.
//!
//! Each planned cable is correct, or part of one finding. Two cables whose ends are exchanged are
//! one finding. Cables that are not planned are findings if the plan has cables of their kind:
//! between switches, or to hosts.

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_api::cabling::{CablingFinding, CablingFindingKind, CablingReport};

use super::fabric::{CabledFabric, CabledPort};
use super::matching::{FoundEnd, NodeIndex};
use super::plan::{CablingPlan, PlanError, PlannedCable};

/// Compares a fabric with a plan.
///
/// # Errors
/// The plan has two cables at one port.
pub fn compare(plan: &CablingPlan, fabric: &CabledFabric) -> Result<CablingReport, PlanError> {
    let index = NodeIndex::new(fabric);
    let found = plan.cables.iter().map(|planned| FoundCable {
        planned,
        a: FoundEnd::new(&index, &planned.a),
        b: FoundEnd::new(&index, &planned.b),
    });
    let cables: Vec<FoundCable<'_>> = found.collect();
    check_ports(&cables, fabric)?;
    let mut comparison = Comparison {
        fabric,
        explained: BTreeSet::new(),
        report: CablingReport {
            planned: cables.len(),
            compares_switches: cables
                .iter()
                .any(|c| c.is_between_switches(fabric) == Some(true)),
            compares_hosts: cables
                .iter()
                .any(|c| c.is_between_switches(fabric) == Some(false)),
            ..CablingReport::default()
        },
    };
    let (absent, present): (Vec<&FoundCable<'_>>, Vec<&FoundCable<'_>>) =
        cables.iter().partition(|cable| cable.is_absent());
    let incorrect = comparison.take_correct(present);
    comparison.report_absent(&absent);
    let incorrect = comparison.take_swapped(incorrect);
    for cable in incorrect {
        comparison.report_incorrect(cable);
    }
    comparison.report_unexpected();
    let mut report = comparison.report;
    report
        .findings
        .sort_by(|a, b| (a.kind, &a.location).cmp(&(b.kind, &b.location)));
    Ok(report)
}

/// A planned cable, with the nodes that its ends may be at.
struct FoundCable<'p> {
    planned: &'p PlannedCable,
    a: FoundEnd,
    b: FoundEnd,
}

impl FoundCable<'_> {
    /// Whether a node of it is not in the fabric.
    fn is_absent(&self) -> bool {
        self.a.nodes.is_empty() || self.b.nodes.is_empty()
    }

    /// Both ports, if the plan leaves no choice.
    fn exact(&self) -> Option<(CabledPort, CabledPort)> {
        self.a.exact().zip(self.b.exact())
    }

    /// Whether it is a cable between switches; `None` if a node is absent.
    fn is_between_switches(&self, fabric: &CabledFabric) -> Option<bool> {
        let first = |end: &FoundEnd| Some(fabric.nodes[*end.nodes.first()?].is_switch);
        Some(first(&self.a)? && first(&self.b)?)
    }
}

/// A port has one planned cable.
fn check_ports(cables: &[FoundCable<'_>], fabric: &CabledFabric) -> Result<(), PlanError> {
    let mut lines: BTreeMap<CabledPort, usize> = BTreeMap::new();
    for cable in cables {
        let ends = [&cable.a, &cable.b].into_iter().filter_map(FoundEnd::exact);
        for port in ends {
            if let Some(other) = lines.insert(port, cable.planned.line) {
                return Err(PlanError::new(
                    cable.planned.line,
                    format!(
                        "a second cable at {}, after line {other}",
                        fabric.location(port)
                    ),
                ));
            }
        }
    }
    Ok(())
}

struct Comparison<'f> {
    fabric: &'f CabledFabric,
    /// Ports whose cables are correct, or part of a finding.
    explained: BTreeSet<CabledPort>,
    report: CablingReport,
}

impl Comparison<'_> {
    fn peer(&self, port: CabledPort) -> Option<CabledPort> {
        self.fabric.peers.get(&port).copied()
    }

    /// Counts cables that are as planned; returns the others. Those that the plan leaves no choice
    /// for come first.
    fn take_correct<'c, 'p>(&mut self, cables: Vec<&'c FoundCable<'p>>) -> Vec<&'c FoundCable<'p>> {
        let (exact, others): (Vec<_>, Vec<_>) = cables
            .into_iter()
            .partition(|cable| cable.exact().is_some());
        let mut incorrect = Vec::new();
        for cable in exact.into_iter().chain(others) {
            let ends = cable.a.cabled_ports(self.fabric);
            let found = ends
                .filter_map(|a| Some((a, self.peer(a)?)))
                .find(|(a, b)| !self.explained.contains(a) && cable.b.matches(*b));
            match found {
                Some((a, b)) => {
                    self.explained.extend([a, b]);
                    self.report.correct += 1;
                }
                None => incorrect.push(cable),
            }
        }
        incorrect
    }

    /// One finding for each node that is not in the fabric.
    fn report_absent(&mut self, cables: &[&FoundCable<'_>]) {
        let mut by_node: BTreeMap<String, Vec<&FoundCable<'_>>> = BTreeMap::new();
        for cable in cables {
            let absent = match cable.a.nodes.is_empty() {
                true => &cable.planned.a,
                false => &cable.planned.b,
            };
            by_node
                .entry(absent.node.to_string())
                .or_default()
                .push(cable);
        }
        for (node, cables) in by_node {
            let exact = cables.iter().flat_map(|c| [c.a.exact(), c.b.exact()]);
            let ends: Vec<CabledPort> = exact.flatten().collect();
            let found = self.explain(&ends);
            let number = match cables.len() {
                1 => "1 planned cable".to_owned(),
                n => format!("{n} planned cables"),
            };
            let instead = match found.is_empty() {
                true => String::new(),
                false => format!("; found instead: {}", found.join(", ")),
            };
            self.report.findings.push(CablingFinding {
                kind: CablingFindingKind::AbsentNode,
                text: format!("{node} is not in the fabric: {number}{instead}"),
                location: node,
                planned: cables.iter().map(|c| c.planned.to_string()).collect(),
                found,
            });
        }
    }

    /// The cables at these ports, which are part of a finding.
    fn explain(&mut self, ports: &[CabledPort]) -> Vec<String> {
        let mut found = BTreeSet::new();
        for port in ports {
            let Some(peer) = self.peer(*port) else {
                continue;
            };
            self.explained.extend([*port, peer]);
            // Both ends of one cable may be among the ports.
            let a = (*port).min(peer);
            let b = (*port).max(peer);
            let (first, second) = if ports.contains(&a) { (a, b) } else { (b, a) };
            found.insert(self.fabric.cable(first, second));
        }
        found.into_iter().collect()
    }

    /// Reports exchanged pairs of cables; returns the other cables.
    fn take_swapped<'c, 'p>(&mut self, cables: Vec<&'c FoundCable<'p>>) -> Vec<&'c FoundCable<'p>> {
        let mut other_end: BTreeMap<CabledPort, (CabledPort, usize)> = BTreeMap::new();
        for (i, cable) in cables.iter().enumerate() {
            if let Some((a, b)) = cable.exact() {
                other_end.insert(a, (b, i));
                other_end.insert(b, (a, i));
            }
        }
        let mut is_swapped = vec![false; cables.len()];
        for (i, cable) in cables.iter().enumerate() {
            let Some((a, b)) = cable.exact().filter(|_| !is_swapped[i]) else {
                continue;
            };
            let Some((x, (y, j))) = self.peer(a).and_then(|x| Some((x, *other_end.get(&x)?)))
            else {
                continue;
            };
            if i == j || is_swapped[j] || self.peer(b) != Some(y) {
                continue;
            }
            is_swapped[i] = true;
            is_swapped[j] = true;
            let found = self.explain(&[a, b]);
            let text = format!(
                "the cables at {} and {} are exchanged",
                self.fabric.location(b),
                self.fabric.location(x)
            );
            self.report.findings.push(CablingFinding {
                kind: CablingFindingKind::SwappedPair,
                location: self.fabric.location(a),
                planned: vec![cable.planned.to_string(), cables[j].planned.to_string()],
                text,
                found,
            });
        }
        let rest = cables.into_iter().zip(is_swapped);
        rest.filter(|(_, is_swapped)| !is_swapped)
            .map(|(cable, _)| cable)
            .collect()
    }

    /// Reports a cable that leads elsewhere, or is not there.
    fn report_incorrect(&mut self, cable: &FoundCable<'_>) {
        let own = [cable.a.exact(), cable.b.exact()];
        let planned_nodes = [&cable.b.nodes, &cable.a.nodes];
        let mut kind = CablingFindingKind::MissingCable;
        let mut at = None;
        for (end, nodes) in own.into_iter().zip(planned_nodes) {
            let Some((port, peer)) = end.and_then(|port| Some((port, self.peer(port)?))) else {
                continue;
            };
            let is_planned_node = nodes.contains(&peer.0);
            if is_planned_node && kind != CablingFindingKind::WrongPort {
                kind = CablingFindingKind::WrongPort;
                at = Some(port);
            } else if kind == CablingFindingKind::MissingCable {
                kind = CablingFindingKind::WrongNode;
                at = Some(port);
            }
        }
        let ports: Vec<CabledPort> = own.into_iter().flatten().collect();
        let found = self.explain(&ports);
        let location = match at {
            Some(port) => self.fabric.location(port),
            None => cable.planned.a.to_string(),
        };
        let planned = cable.planned.to_string();
        let text = match found.is_empty() {
            true => format!("no cable {planned}"),
            false => format!("{} instead of {planned}", found.join(", ")),
        };
        self.report.findings.push(CablingFinding {
            kind,
            location,
            planned: vec![planned],
            found,
            text,
        });
    }

    /// Reports cables that are neither planned nor part of a finding.
    fn report_unexpected(&mut self) {
        for (a, b) in self.fabric.peers.iter().filter(|(a, b)| a <= b) {
            let is_compared = match self.fabric.is_between_switches(*a, *b) {
                true => self.report.compares_switches,
                false => self.report.compares_hosts,
            };
            if !is_compared || self.explained.contains(a) || self.explained.contains(b) {
                continue;
            }
            let cable = self.fabric.cable(*a, *b);
            self.report.findings.push(CablingFinding {
                kind: CablingFindingKind::UnexpectedCable,
                location: self.fabric.location(*a),
                planned: Vec::new(),
                text: format!("{cable} is not planned"),
                found: vec![cable],
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fabric::CabledNode;
    use super::*;

    /// Two spines with ports 1 to 3, two leaves with ports 1 and 2 to the spines and port 3 to a
    /// host.
    fn fabric() -> CabledFabric {
        let names = [
            "spine-0",
            "spine-1",
            "leaf-0",
            "leaf-1",
            "host-0 mlx5_0",
            "host-1 mlx5_0",
        ];
        let nodes = (1..).zip(names).map(|(guid, name)| CabledNode {
            guid,
            name: name.to_owned(),
            is_switch: !name.starts_with("host"),
        });
        let mut fabric = CabledFabric {
            nodes: nodes.collect(),
            ..CabledFabric::default()
        };
        for (leaf, port) in [(2, 1), (3, 2)] {
            fabric.connect((leaf, 1), (0, port));
            fabric.connect((leaf, 2), (1, port));
            fabric.connect((leaf, 3), (leaf + 2, 1));
        }
        fabric
    }

    fn unplug(fabric: &mut CabledFabric, port: CabledPort) -> CabledPort {
        let peer = fabric.peers.remove(&port).unwrap();
        fabric.peers.remove(&peer);
        peer
    }

    const PLAN: &str = "StartDevice,StartPort,EndDevice,EndPort\n\
        leaf-0,Port 1,spine-0,Port 1\n\
        leaf-0,Port 2,spine-1,Port 1\n\
        leaf-1,Port 1,spine-0,Port 2\n\
        leaf-1,Port 2,spine-1,Port 2\n\
        leaf-0,Port 3,host-0,ibp1\n\
        leaf-1,Port 3,host-*,Port 1\n";

    /// Kind, location and text of each finding.
    fn findings(plan: &str, fabric: &CabledFabric) -> Vec<(CablingFindingKind, String, String)> {
        let plan = CablingPlan::read(plan).unwrap();
        let report = compare(&plan, fabric).unwrap();
        let findings = report.findings.into_iter();
        findings.map(|f| (f.kind, f.location, f.text)).collect()
    }

    fn one(fabric: &CabledFabric) -> (CablingFindingKind, String, String) {
        let found = findings(PLAN, fabric);
        assert_eq!(found.len(), 1, "{found:?}");
        found.into_iter().next().unwrap()
    }

    #[test]
    fn fabric_as_planned_has_no_finding() {
        assert_eq!(findings(PLAN, &fabric()), []);
    }

    #[test]
    fn exchanged_cables_are_one_finding() {
        let mut fabric = fabric();
        let [a, b] = [(2, 1), (3, 1)].map(|port| unplug(&mut fabric, port));
        fabric.connect((2, 1), b);
        fabric.connect((3, 1), a);
        let (kind, location, text) = one(&fabric);
        assert_eq!(
            (kind, &*location),
            (CablingFindingKind::SwappedPair, "leaf-0/1")
        );
        assert_eq!(text, "the cables at spine-0/1 and spine-0/2 are exchanged");
    }

    #[test]
    fn wrong_ports_and_nodes_are_distinguished() {
        let mut moved = fabric();
        let spine = unplug(&mut moved, (2, 1));
        moved.connect((2, 4), spine);
        let (kind, location, text) = one(&moved);
        assert_eq!(
            (kind, &*location),
            (CablingFindingKind::WrongPort, "spine-0/1")
        );
        assert_eq!(text, "spine-0/1 - leaf-0/4 instead of leaf-0/1 - spine-0/1");
        let mut other = fabric();
        unplug(&mut other, (2, 1));
        other.connect((2, 1), (1, 3));
        let (kind, _, text) = one(&other);
        assert_eq!(kind, CablingFindingKind::WrongNode);
        assert_eq!(text, "leaf-0/1 - spine-1/3 instead of leaf-0/1 - spine-0/1");
    }

    #[test]
    fn missing_and_unexpected_cables_and_absent_nodes() {
        let mut fabric = fabric();
        unplug(&mut fabric, (2, 1));
        fabric.connect((2, 5), (3, 5));
        let found = findings(PLAN, &fabric);
        let kinds: Vec<CablingFindingKind> = found.iter().map(|f| f.0).collect();
        let expected = [
            CablingFindingKind::MissingCable,
            CablingFindingKind::UnexpectedCable,
        ];
        assert_eq!(kinds, expected, "{found:?}");
        fabric.nodes[4].name = "other".to_owned();
        let found = findings(PLAN, &fabric);
        assert_eq!(
            (found[0].0, &*found[0].2),
            (
                CablingFindingKind::AbsentNode,
                "host-0 is not in the fabric: 1 planned cable; found instead: leaf-0/3 - other/1"
            )
        );
        assert_eq!(found.len(), 3, "{found:?}");
    }

    /// A plan of cables between switches says nothing about hosts.
    #[test]
    fn only_planned_kinds_of_cables_are_compared() {
        let switches: Vec<&str> = PLAN.lines().take(5).collect();
        assert_eq!(findings(&switches.join("\n"), &fabric()), []);
        let two = PLAN.lines().take(3).collect::<Vec<_>>().join("\n");
        let found = findings(&two, &fabric());
        assert_eq!(found.len(), 2, "{found:?}");
    }

    #[test]
    fn contradictory_plans_are_refused() {
        let plan = format!("{PLAN}spine-0,Port 1,leaf-1,Port 7\n");
        let plan = CablingPlan::read(&plan).unwrap();
        let error = compare(&plan, &fabric()).unwrap_err().to_string();
        assert_eq!(error, "line 8: a second cable at spine-0/1, after line 2");
    }

    /// Names of switches with their model, names in other case, and replaced devices.
    #[test]
    fn nodes_are_found_by_the_names_that_plans_use() {
        let mut fabric = fabric();
        fabric.nodes[0].name = "MF0;spine-0:MQM8700/U1".to_owned();
        fabric.nodes[2].name = "LEAF-0".to_owned();
        assert_eq!(findings(PLAN, &fabric), []);
        let learnt = super::super::ndt::write(&fabric);
        assert_eq!(findings(&learnt, &fabric), []);
        fabric.nodes[1].name = "LEAF-0".to_owned();
        let learnt = super::super::ndt::write(&fabric);
        assert!(learnt.contains("0x0000000000000002,Port 1"), "{learnt}");
        assert_eq!(findings(&learnt, &fabric), []);
    }
}
