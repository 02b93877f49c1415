//! Options: features of real fabrics beyond the regular shape.

use ferrosm_mad::attr::{LinkSpeed, NodeType};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::plan::{MAX_HOST_PORTS, Plan, PlanPort, shuffle};
use super::{SpecProblem, number};
use crate::hardware;
use crate::spec::DisjointSets;

/// Early limit on the number of nodes; the exact limit is the number of LIDs.
const MAX_NODES: usize = 200_000;

/// Parsed options with their defaults.
#[derive(Debug, Clone)]
pub(super) struct TopologyOptions {
    pub(super) sharp: bool,
    /// Fraction of switch-to-switch links to drop, in parts per million.
    pub(super) drop_ppm: usize,
    pub(super) planes: usize,
    pub(super) parallel: usize,
    pub(super) spine_hosts: usize,
    pub(super) loopbacks: usize,
    pub(super) plugs: usize,
    pub(super) routers: usize,
    pub(super) dual_port: bool,
    pub(super) mixed_speeds: bool,
    pub(super) speed: Option<LinkSpeed>,
    pub(super) components: usize,
    pub(super) shuffle: bool,
    pub(super) seed: u64,
}

impl TopologyOptions {
    pub(super) fn parse<'a>(parts: impl Iterator<Item = &'a str>) -> Result<Self, SpecProblem> {
        let mut o = Self {
            sharp: false,
            drop_ppm: 0,
            planes: 1,
            parallel: 1,
            spine_hosts: 0,
            loopbacks: 0,
            plugs: 0,
            routers: 0,
            dual_port: false,
            mixed_speeds: false,
            speed: None,
            components: 1,
            shuffle: false,
            seed: 1,
        };
        for part in parts.map(str::trim).filter(|p| !p.is_empty()) {
            let (name, value) = match part.split_once('=') {
                Some((name, value)) => (name.trim(), Some(value.trim())),
                None => (part, None),
            };
            let arguments = value.unwrap_or_default();
            match (name, value) {
                ("sharp", None) => o.sharp = true,
                ("dual-port", None) => o.dual_port = true,
                ("mixed-speeds", None) => o.mixed_speeds = true,
                ("shuffle", None) => o.shuffle = true,
                ("drop", Some(_)) => o.drop_ppm = parse_parts_per_million(arguments)?,
                ("planes", Some(_)) => {
                    o.planes = number("planes", arguments, 1, MAX_HOST_PORTS as u64)?;
                }
                ("parallel", Some(_)) => o.parallel = number("parallel", arguments, 1, 254)?,
                ("spine-hosts", Some(_)) => {
                    o.spine_hosts = number("spine-hosts", arguments, 0, 49_151)?
                }
                ("loopbacks", Some(_)) => o.loopbacks = number("loopbacks", arguments, 0, 49_151)?,
                ("plugs", Some(_)) => o.plugs = number("plugs", arguments, 0, 49_151)?,
                ("routers", Some(_)) => o.routers = number("routers", arguments, 0, 49_151)?,
                ("components", Some(_)) => o.components = number("components", arguments, 1, 1000)?,
                ("seed", Some(_)) => o.seed = number("seed", arguments, 0, u64::MAX)? as u64,
                ("speed", Some(_)) => o.speed = Some(speed(arguments)?),
                _ => return Err(SpecProblem::UnknownOption(part.to_owned())),
            }
        }
        Ok(o)
    }

    /// A random stream per purpose, so that one option does not change the random numbers of
    /// another.
    pub(super) fn rng(&self, purpose: &str) -> ChaCha8Rng {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(
            purpose
                .bytes()
                .fold(0, |product, b| product * 31 + u64::from(b)),
        );
        rng
    }
}

fn parse_parts_per_million(text: &str) -> Result<usize, SpecProblem> {
    match text.parse::<f64>() {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and 1"
        )]
        Ok(part) if (0.0..=1.0).contains(&part) => Ok((part * 1e6).round() as usize),
        _ => Err(SpecProblem::Value {
            name: "drop",
            text: text.to_owned(),
            expected: "a fraction from 0 to 1".to_owned(),
        }),
    }
}

fn speed(text: &str) -> Result<LinkSpeed, SpecProblem> {
    hardware::GENERATIONS
        .into_iter()
        .find(|s| s.name().eq_ignore_ascii_case(text))
        .ok_or_else(|| SpecProblem::Value {
            name: "speed",
            text: text.to_owned(),
            expected: "QDR, FDR, EDR, HDR, NDR or XDR".to_owned(),
        })
}

/// Applies the options in order of dependency: dropped links have no loopbacks, and aggregation
/// nodes get the last port of the finished switch.
pub(super) fn apply(plan: &mut Plan, o: &TopologyOptions) -> Result<(), SpecProblem> {
    planes(plan, o.planes)?;
    parallel(plan, o.parallel)?;
    drop_cables(plan, o);
    spine_hosts(plan, o.spine_hosts)?;
    if o.dual_port {
        second_ports(plan)?;
    }
    routers(plan, o.routers)?;
    loopbacks(plan, o.loopbacks, 2)?;
    loopbacks(plan, o.plugs, 1)?;
    if o.sharp {
        aggregation_nodes(plan)?;
    }
    add_components(plan, o.components)
}

/// Copies all switches and links for each plane. Hosts have a port in each plane; planes have
/// nothing else in common.
fn planes(plan: &mut Plan, count: usize) -> Result<(), SpecProblem> {
    if count == 1 {
        return Ok(());
    }
    switches(plan, "planes requires a switch")?;
    if plan.nodes.len().saturating_mul(count) > MAX_NODES {
        return Err(SpecProblem::Lids(plan.nodes.len() * count));
    }
    let original = plan.clone();
    for node in &mut plan.nodes {
        if node.is_host() {
            node.used *= count;
            node.ports = node.used;
            if node.ports > MAX_HOST_PORTS {
                return Err(SpecProblem::HostPorts(node.ports));
            }
        } else {
            node.name.insert_str(0, "plane-0 ");
        }
    }
    for plane in 1..count {
        let copy_of: Vec<usize> = (0..original.nodes.len())
            .map(|i| {
                let node = &original.nodes[i];
                if node.is_host() {
                    i
                } else {
                    let mut copy = node.clone();
                    copy.name = format!("plane-{plane} {}", node.name);
                    plan.nodes.push(copy);
                    plan.nodes.len() - 1
                }
            })
            .collect();
        let moved = |port: &PlanPort| {
            let node = &original.nodes[port.node];
            let before = if node.is_host() { plane * node.used } else { 0 };
            PlanPort {
                node: copy_of[port.node],
                port: port.port + before,
            }
        };
        let copies: Vec<_> = original
            .links
            .iter()
            .map(|(a, b)| (moved(a), moved(b)))
            .collect();
        plan.links.extend(copies);
    }
    Ok(())
}

fn parallel(plan: &mut Plan, times: usize) -> Result<(), SpecProblem> {
    let trunks: Vec<_> = plan
        .links
        .iter()
        .copied()
        .filter(|l| plan.is_trunk(*l))
        .collect();
    for _ in 1..times {
        for (a, b) in &trunks {
            plan.link(a.node, b.node);
        }
    }
    match plan.nodes.iter().find(|n| n.ports > 254) {
        Some(node) => Err(SpecProblem::Ports(node.ports)),
        None => Ok(()),
    }
}

fn drop_cables(plan: &mut Plan, o: &TopologyOptions) {
    let mut rng = o.rng("drop");
    let mut trunks: Vec<usize> = (0..plan.links.len())
        .filter(|i| plan.is_trunk(plan.links[*i]))
        .collect();
    let mut to_drop = trunks.len() * o.drop_ppm / 1_000_000;
    shuffle(&mut rng, &mut trunks);
    // The links of a random spanning tree remain; the others are dropped in random order.
    let mut sets = DisjointSets::new(plan.nodes.len());
    let mut kept = vec![true; plan.links.len()];
    for i in trunks {
        let (a, b) = plan.links[i];
        if !sets.join(a.node, b.node) && to_drop > 0 {
            to_drop -= 1;
            kept[i] = false;
        }
    }
    let mut keep = kept.into_iter();
    plan.links.retain(|_| keep.next().unwrap_or(true));
}

fn spine_hosts(plan: &mut Plan, count: usize) -> Result<(), SpecProblem> {
    let host_counts = plan.hosts_on();
    let bare: Vec<usize> = (0..plan.nodes.len())
        .filter(|n| plan.is_switch(*n) && host_counts[*n] == 0)
        .collect();
    if count > 0 && bare.is_empty() {
        return Err(SpecProblem::Rule(
            "spine-hosts requires switches without hosts",
        ));
    }
    for host in 0..count {
        plan.host(&format!("service-{host}"), bare[host % bare.len()]);
    }
    Ok(())
}

/// Adds a port to each host, connected to the next switch with hosts; two hosts without a switch
/// are connected by a second link.
fn second_ports(plan: &mut Plan) -> Result<(), SpecProblem> {
    let hosts: Vec<usize> = (0..plan.nodes.len())
        .filter(|n| plan.nodes[*n].is_host())
        .collect();
    let host_counts = plan.hosts_on();
    let leaves: Vec<usize> = (0..plan.nodes.len())
        .filter(|n| plan.is_switch(*n) && host_counts[*n] > 0)
        .collect();
    let mut first_switch = vec![None; plan.nodes.len()];
    for (a, b) in &plan.links {
        for (port, other) in [(a, b), (b, a)] {
            if plan.nodes[port.node].is_host() {
                first_switch[port.node] = Some(other.node);
            }
        }
    }
    if let Some(host) = hosts
        .iter()
        .find(|h| plan.nodes[**h].used >= MAX_HOST_PORTS)
    {
        return Err(SpecProblem::HostPorts(plan.nodes[*host].used + 1));
    }
    for host in &hosts {
        plan.nodes[*host].ports = plan.nodes[*host].used.max(1) + 1;
    }
    for host in hosts {
        let Some(first) = first_switch[host] else {
            continue;
        };
        match leaves.binary_search(&first) {
            Ok(at) => plan.link(host, leaves[(at + 1) % leaves.len()]),
            Err(_) if host < first => plan.link(host, first),
            Err(_) => {}
        }
    }
    Ok(())
}

fn switches(plan: &Plan, reason: &'static str) -> Result<Vec<usize>, SpecProblem> {
    let all_switches: Vec<usize> = (0..plan.nodes.len())
        .filter(|n| plan.is_switch(*n))
        .collect();
    if all_switches.is_empty() {
        Err(SpecProblem::Rule(reason))
    } else {
        Ok(all_switches)
    }
}

fn routers(plan: &mut Plan, count: usize) -> Result<(), SpecProblem> {
    if count == 0 {
        return Ok(());
    }
    let all_switches = switches(plan, "routers requires a switch")?;
    for i in 0..count {
        let router = plan.add(NodeType::Router, format!("gateway-{i}"), 2);
        plan.link(router, all_switches[i % all_switches.len()]);
    }
    Ok(())
}

/// Adds loopback cables (2 ports) or plugs (1 port) to switches in turn; ports are added only if no
/// switch has free ones.
fn loopbacks(plan: &mut Plan, count: usize, ports_each: usize) -> Result<(), SpecProblem> {
    if count == 0 {
        return Ok(());
    }
    let all_switches = switches(plan, "loopbacks and plugs require a switch")?;
    let mut left = count;
    let mut may_grow = false;
    while left > 0 {
        let before = left;
        for switch in &all_switches {
            let node = &plan.nodes[*switch];
            let max = if may_grow { 254 } else { node.ports };
            if left > 0 && node.used + ports_each <= max {
                let a = plan.next_port(*switch);
                let b = if ports_each == 2 {
                    plan.next_port(*switch)
                } else {
                    a
                };
                plan.links.push((a, b));
                left -= 1;
            }
        }
        if left == before {
            if may_grow {
                return Err(SpecProblem::Ports(255));
            }
            may_grow = true;
        }
    }
    Ok(())
}

fn aggregation_nodes(plan: &mut Plan) -> Result<(), SpecProblem> {
    for switch in switches(plan, "sharp requires a switch")? {
        let port = plan.nodes[switch].ports + 1;
        plan.nodes[switch].ports = port;
        // The extra port follows all other ports, used or free, as in hardware.
        let node = plan.add(NodeType::Ca, hardware::AGGREGATION_NAME.to_owned(), 1);
        plan.nodes[node].inside = Some(switch);
        plan.nodes[node].used = 1;
        plan.links
            .push((PlanPort { node, port: 1 }, PlanPort { node: switch, port }));
    }
    Ok(())
}

fn add_components(plan: &mut Plan, count: usize) -> Result<(), SpecProblem> {
    let original = plan.clone();
    if original.nodes.len().saturating_mul(count) > MAX_NODES {
        return Err(SpecProblem::Lids(original.nodes.len() * count));
    }
    for island in 1..count {
        let offset = plan.nodes.len();
        for node in &original.nodes {
            let mut node = node.clone();
            node.name = format!("island-{island} {}", node.name);
            node.inside = node.inside.map(|s| s + offset);
            plan.nodes.push(node);
        }
        for (a, b) in &original.links {
            let moved = |port: &PlanPort| PlanPort {
                node: port.node + offset,
                port: port.port,
            };
            plan.links.push((moved(a), moved(b)));
        }
    }
    Ok(())
}
