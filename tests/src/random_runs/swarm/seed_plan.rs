//! Basic scenarios, for all seeds, and VL events, for seeds from `FIRST_SEED_VLS`: topology,
//! configuration, faults and events. The order of random draws must not change, because saved seeds
//! depend on it.

use std::time::Duration;

use crate::lab::{Lab, TestRng};
use ferrosm_core::SmConfig;
use ferrosm_mad::attr::{LinkSpeed, LinkWidth, TrapNumber};
use ferrosm_mad::ids::{Lid, Lmc, MKey, PortGuid};
use ferrosm_mad::mad::Status;
use ferrosm_mad::time::Instant;
use ferrosm_sim::faults::{FabricAction, Faults, Garbage};
use ferrosm_sim::spec::{FabricSpec, LinkSpec, NodeIdx, PortAt};

use crate::random_runs::swarm::simulation::SwarmRun;

/// The scenario of a seed.
pub(super) struct Scenario {
    pub(super) shape: String,
    pub(super) spec: FabricSpec,
    pub(super) cfg: SmConfig,
    pub(super) at: Option<PortAt>,
    pub(super) rng: TestRng,
    /// The time at which all faults end.
    pub(super) faults_end: Instant,
}

pub(super) fn seconds(s: f64) -> Duration {
    Duration::from_secs_f64(s)
}

fn shape(rng: &mut TestRng) -> String {
    let seed = rng.below(1000);
    let shape = match rng.below(11) {
        0 => "back-to-back".to_owned(),
        1 => format!("single-switch:{}", 1 + rng.below(20)),
        2 => format!("ring:{},{}", 3 + rng.below(8), 1 + rng.below(3)),
        3 | 4 => format!("fat-tree:{}", 2 * (1 + rng.below(4))),
        5 => format!("fat-tree2:16,{},{}", 1 + rng.below(8), 1 + rng.below(8)),
        6 => format!(
            "torus:{},{},{}",
            2 + rng.below(3),
            2 + rng.below(3),
            1 + rng.below(3)
        ),
        7 => format!(
            "mesh:{},{},1,{}",
            1 + rng.below(4),
            2 + rng.below(4),
            1 + rng.below(3)
        ),
        8 => format!(
            "hyperx:{},{},{}",
            2 + rng.below(3),
            2 + rng.below(3),
            1 + rng.below(3)
        ),
        9 => "dragonfly:4,5,1,2".to_owned(),
        _ => format!(
            "random:{},{},{},{seed}",
            2 + rng.below(25),
            3 + rng.below(3),
            1 + rng.below(3)
        ),
    };
    if shape.starts_with("back") {
        return shape;
    }
    let mut text = shape;
    for (option, odds) in [
        ("dual-port", 6),
        ("sharp", 6),
        ("mixed-speeds", 4),
        ("routers=2", 8),
        ("loopbacks=1", 10),
        ("plugs=1", 10),
        ("parallel=2", 8),
        ("shuffle", 4),
        ("drop=0.1", 5),
    ] {
        if rng.one_in(odds) {
            text = format!("{text};{option}");
        }
    }
    format!("{text};seed={seed}")
}

/// Returns true if a topology has loops, so that engines may need several VLs.
fn has_loops(shape: &str) -> bool {
    ["ring", "torus", "mesh", "hyperx", "dragonfly", "random"]
        .iter()
        .any(|name| shape.starts_with(name))
}

/// Draws a scenario; without `vl_events` it has one VL.
pub(super) fn scenario(seed: u64, vl_events: Option<&mut VlEvents>) -> Scenario {
    let mut rng = TestRng::new(seed);
    let (shape, mut spec) = loop {
        let shape = shape(&mut rng);
        // Combinations that the topology generator rejects are drawn again.
        if let Ok(spec) = ferrosm_sim::generate::from_spec(&shape)
            && spec.nodes.len() <= 260
            && (vl_events.is_none() || has_loops(&shape))
        {
            break (shape, spec);
        }
    };
    for node in &mut spec.nodes {
        node.enhanced_port0 = rng.one_in(5);
        if rng.one_in(10) {
            node.lids = vec![(Lid(u16::try_from(rng.below(80)).unwrap()), Lmc(0))];
        }
    }
    let mut cfg = SmConfig {
        // Seeds from `FIRST_SEED_VLS` on set this in `VlEvents::start`.
        routing_vls: 1,
        ..SmConfig::default()
    };
    if rng.one_in(4) {
        cfg.lmc = Lmc(u8::try_from(rng.below(4)).unwrap());
    }
    cfg.lmc_esp0 = rng.one_in(3);
    if rng.one_in(4) {
        cfg.m_key = MKey::new(0x1234_5678);
        cfg.m_key_protect_bits = u8::try_from(rng.below(4)).unwrap();
    }
    if rng.one_in(3) {
        cfg.max_outstanding = usize::try_from(1 + rng.below(300)).unwrap();
        cfg.max_outstanding_per_node = u16::try_from(1 + rng.below(20)).unwrap();
    }
    cfg.smp_retries = u8::try_from(rng.below(5)).unwrap();
    let at = rng.one_in(3).then(|| {
        let cabled = spec.links[rng.index(spec.links.len())].a;
        let is_switch =
            spec.nodes[cabled.node].port_guids.len() == 1 && spec.nodes[cabled.node].num_ports > 1;
        PortAt::new(cabled.node, if is_switch { 0 } else { cabled.port })
    });
    if let Some(vl_events) = vl_events {
        vl_events.start(&mut spec, &mut cfg);
    }
    let faults_end =
        Instant::START + seconds(f64::from(u32::try_from(rng.below(600)).unwrap()) / 10.0);
    Scenario {
        shape,
        spec,
        cfg,
        at,
        rng,
        faults_end,
    }
}

/// VL events: engines, VLs, and switches without optimized SLtoVL writes. Has its own random
/// numbers.
pub(super) struct VlEvents(TestRng);

impl VlEvents {
    pub(super) const fn new(seed: u64) -> Self {
        Self(TestRng::new(seed ^ 0x1A7E_0000_0000))
    }

    /// Draws an engine that uses VLs, or `auto`, and the number of VLs; `auto` is the fallback.
    fn draw(&mut self, cfg: &mut SmConfig) {
        let engine = ["dfsssp", "lash", "nue", "torus-2QoS", "dor", "auto"][self.0.index(6)];
        cfg.engines = vec![engine.to_owned(), "auto".to_owned()];
        cfg.routing_vls = u8::try_from(1 + self.0.below(8)).unwrap();
    }

    fn start(&mut self, spec: &mut FabricSpec, cfg: &mut SmConfig) {
        for node in &mut spec.nodes {
            let mut caps = node.caps();
            if self.0.one_in(2) {
                caps.optimized_sl_to_vl = u8::from(self.0.one_in(2));
                node.options.caps = Some(caps);
            }
        }
        self.draw(cfg);
    }

    /// Configures another engine and number of VLs, with a probability of 1/5.
    pub(super) fn apply_event(&mut self, run: &mut SwarmRun) {
        if self.0.one_in(5) {
            let mut cfg = run.cfg.clone();
            self.draw(&mut cfg);
            run.log(format_args!(
                "{:?} with {} VLs",
                cfg.engines, cfg.routing_vls
            ));
            run.lab.configure(cfg);
        }
    }
}

pub(super) fn fabric_faults(rng: &mut TestRng) -> Faults {
    let mut f = Faults::NONE;
    if rng.one_in(2) {
        f.loss = rng.unit() * rng.unit() * 0.3;
    }
    if rng.one_in(4) {
        f.duplicate = rng.unit() * 0.3;
    }
    if rng.one_in(4) {
        f.jitter = seconds(rng.unit() * rng.unit() * 0.3);
    }
    if rng.one_in(6) {
        f.service = seconds(rng.unit() * 0.002);
    }
    f
}

/// Draws and sets the faults of a node.
pub(super) fn set_node_faults(run: &mut SwarmRun, node: NodeIdx, rng: &mut TestRng) {
    let faults = match rng.below(8) {
        0 | 1 => Faults::HUNG,
        2 => Faults::slow(seconds(rng.unit() * 0.1)),
        3 => Faults::late(seconds(rng.unit() * 0.5)),
        4 => Faults::lossy(rng.unit()),
        5 => Faults::rejecting_sets(if rng.one_in(2) {
            Status::BAD_FIELD
        } else {
            Status::BAD_METHOD_ATTR
        }),
        _ => Faults {
            garbage_probability: rng.unit(),
            ..Faults::garbage(
                [
                    Garbage::Status,
                    Garbage::Tid,
                    Garbage::Attribute,
                    Garbage::Modifier,
                ][rng.index(4)],
            )
        },
    };
    run.apply(FabricAction::NodeFaults(node, Some(faults)));
}

/// A random unconnected switch port.
fn free_port(lab: &Lab, rng: &mut TestRng) -> Option<PortAt> {
    let fabric = lab.world.fabric();
    let switches: Vec<NodeIdx> = (0..fabric.num_nodes())
        .filter(|n| fabric.is_switch(*n))
        .collect();
    let switch = *switches.get(rng.index(switches.len().max(1)))?;
    fabric
        .external_ports(switch)
        .find(|p| fabric.cable_at(*p).is_none())
}

fn random_link(lab: &Lab, rng: &mut TestRng) -> Option<LinkSpec> {
    let at = lab.spec.links[rng.index(lab.spec.links.len())].a;
    lab.world.fabric().cable_at(at)
}

/// Draws and applies an event.
pub(super) fn apply_event(run: &mut SwarmRun, rng: &mut TestRng) {
    let node = rng.index(run.lab.world.fabric().num_nodes());
    let link = random_link(&run.lab, rng);
    let action = match (rng.below(14), link) {
        (0 | 1, Some(c)) => FabricAction::Cut(c.a),
        (2 | 3, Some(c)) => FabricAction::Restore(c.a),
        (4, Some(c)) => FabricAction::Bounce(c.a),
        (5, _) => FabricAction::PowerOff(node),
        (6, _) => FabricAction::PowerOn(node),
        (7, _) => FabricAction::Reboot(node),
        (8, Some(c)) => {
            let Some(to) = free_port(&run.lab, rng) else {
                return;
            };
            let from = if rng.one_in(2) { c.a } else { c.b };
            FabricAction::MoveCable(from, to)
        }
        (9, Some(c)) => match random_link(&run.lab, rng) {
            Some(other) if other.a != c.a && other.a != other.b && c.a != c.b => {
                FabricAction::SwapCables(c.b, other.b)
            }
            _ => return,
        },
        (10, _) => {
            let Some(to) = free_port(&run.lab, rng) else {
                return;
            };
            FabricAction::AddCable(link_to_new_host(&mut run.lab, to))
        }
        (11, _) => {
            let number = [
                TrapNumber::LinkStateChange,
                TrapNumber::LocalLinkIntegrity,
                TrapNumber::LocalChange,
                TrapNumber::SystemImageGuid,
            ][rng.index(4)];
            FabricAction::Trap(PortAt::new(node, 1), number)
        }
        (12, _) => FabricAction::Describe(node, "renamed".to_owned()),
        _ => return set_node_faults(run, node, rng),
    };
    run.apply(action);
}

/// Adds a host, and returns the link that connects it.
fn link_to_new_host(lab: &mut Lab, to: PortAt) -> LinkSpec {
    let fabric = lab.world.fabric_mut();
    let mut host = lab.spec.nodes[lab.at.node].clone();
    let guid = 0xABCD_0000_0000 + 16 * fabric.num_nodes() as u64;
    host.node_guid.0 = guid;
    host.kind = ferrosm_mad::attr::NodeType::Ca;
    host.num_ports = 1;
    host.description = format!("new host {guid:x}");
    host.port_guids = vec![PortGuid(guid + 1)];
    host.lids = vec![(Lid(5), Lmc(0))];
    let node = fabric.add_node(&host, LinkSpeed::Hdr).unwrap();
    LinkSpec {
        a: to,
        b: PortAt::new(node, 1),
        width: LinkWidth(4),
        speed: LinkSpeed::Hdr,
    }
}
