//! Basic scenarios, for all seeds, and VL events, for seeds from `FIRST_SEED_VLS`: topology,
//! configuration, faults and events. The order of random draws must not change, because saved seeds
//! depend on it.

use std::time::Duration;

use crate::lab::{Lab, TestRng};
use ferrosm_core::{Input, SmConfig};
use ferrosm_mad::attr::{LinkSpeed, LinkWidth, TrapNumber};
use ferrosm_mad::ids::{Lid, Lmc, MKey, PortGuid};
use ferrosm_mad::mad::Status;
use ferrosm_mad::time::Instant;
use ferrosm_sim::faults::{Faults, Garbage};
use ferrosm_sim::spec::{FabricSpec, LinkSpec, NodeIdx, PortAt};

/// The scenario of a seed.
pub(crate) struct Scenario {
    pub(crate) shape: String,
    pub(crate) spec: FabricSpec,
    pub(crate) cfg: SmConfig,
    pub(crate) at: Option<PortAt>,
    pub(crate) rng: TestRng,
    /// The time at which all faults end.
    pub(crate) faults_end: Instant,
}

pub(crate) fn seconds(s: f64) -> Duration {
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
pub(crate) fn scenario(seed: u64, vl_events: Option<&mut VlEvents>) -> Scenario {
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
pub(crate) struct VlEvents {
    rng: TestRng,
    cfg: SmConfig,
}

impl VlEvents {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            rng: TestRng::new(seed ^ 0x1A7E_0000_0000),
            cfg: SmConfig::default(),
        }
    }

    /// Draws an engine that uses VLs, or `auto`, and the number of VLs; `auto` is the fallback.
    fn draw(&mut self, cfg: &mut SmConfig) {
        let engine = ["dfsssp", "lash", "nue", "torus-2QoS", "dor", "auto"][self.rng.index(6)];
        cfg.engines = vec![engine.to_owned(), "auto".to_owned()];
        cfg.routing_vls = u8::try_from(1 + self.rng.below(8)).unwrap();
    }

    fn start(&mut self, spec: &mut FabricSpec, cfg: &mut SmConfig) {
        for node in &mut spec.nodes {
            let mut caps = node.caps();
            if self.rng.one_in(2) {
                caps.optimized_sl_to_vl = u8::from(self.rng.one_in(2));
                node.options.caps = Some(caps);
            }
        }
        self.draw(cfg);
        self.cfg = cfg.clone();
    }

    /// Draws another engine and number of VLs for the running SM, and describes them.
    pub(crate) fn apply_event(&mut self, lab: &mut Lab) -> Option<String> {
        if !self.rng.one_in(5) {
            return None;
        }
        let mut cfg = self.cfg.clone();
        self.draw(&mut cfg);
        let text = format!("{:?} with {} VLs", cfg.engines, cfg.routing_vls);
        self.cfg = cfg.clone();
        let sm = lab.sm;
        lab.world
            .with_sm(sm, |m, now| m.handle(Input::Config(Box::new(cfg)), now));
        Some(text)
    }
}

pub(crate) fn fabric_faults(rng: &mut TestRng) -> Faults {
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

pub(crate) fn node_faults(rng: &mut TestRng) -> Faults {
    match rng.below(8) {
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
    }
}

/// A random unconnected switch port.
pub(crate) fn free_port(lab: &Lab, rng: &mut TestRng) -> Option<PortAt> {
    let fabric = lab.world.fabric();
    let switches: Vec<NodeIdx> = (0..fabric.num_nodes())
        .filter(|n| fabric.is_switch(*n))
        .collect();
    let switch = *switches.get(rng.index(switches.len().max(1)))?;
    fabric
        .external_ports(switch)
        .find(|p| fabric.cable_at(*p).is_none())
}

pub(crate) fn random_link(lab: &Lab, rng: &mut TestRng) -> Option<LinkSpec> {
    let at = lab.spec.links[rng.index(lab.spec.links.len())].a;
    lab.world.fabric().cable_at(at)
}

/// Draws and applies an event, and describes it.
pub(crate) fn apply_event(lab: &mut Lab, rng: &mut TestRng) -> String {
    let node = rng.index(lab.world.fabric().num_nodes());
    let link = random_link(lab, rng);
    let sm_node = lab.at.node;
    let fabric = lab.world.fabric_mut();
    match (rng.below(14), link) {
        (0 | 1, Some(c)) => {
            fabric.cut(c.a).unwrap();
            format!("cut {:?}", c.a)
        }
        (2 | 3, Some(c)) => {
            fabric.restore(c.a).unwrap();
            format!("restore {:?}", c.a)
        }
        (4, Some(c)) => {
            fabric.bounce(c.a).unwrap();
            format!("bounce {:?}", c.a)
        }
        (5, _) => {
            fabric.power_off(node);
            format!("power off {node}")
        }
        (6, _) => {
            fabric.power_on(node);
            format!("power on {node}")
        }
        (7, _) => {
            fabric.reboot(node);
            format!("reboot {node}")
        }
        (8, Some(c)) => match free_port(lab, rng) {
            Some(to) => {
                let from = if rng.one_in(2) { c.a } else { c.b };
                lab.world.fabric_mut().move_cable(from, to).unwrap();
                format!("move the link at {from:?} to {to:?}")
            }
            None => "nothing".to_owned(),
        },
        (9, Some(c)) => match random_link(lab, rng) {
            Some(other) if other.a != c.a && other.a != other.b && c.a != c.b => {
                let fabric = lab.world.fabric_mut();
                fabric.remove_cable(c.a).unwrap();
                fabric.remove_cable(other.a).unwrap();
                fabric.add_cable(LinkSpec { b: other.b, ..c }).unwrap();
                fabric.add_cable(LinkSpec { b: c.b, ..other }).unwrap();
                format!("swap {:?} and {:?}", c.b, other.b)
            }
            _ => "nothing".to_owned(),
        },
        (10, _) => match free_port(lab, rng) {
            Some(to) => {
                let fabric = lab.world.fabric_mut();
                let mut host = lab.spec.nodes[sm_node].clone();
                let guid = 0xABCD_0000_0000 + 16 * fabric.num_nodes() as u64;
                host.node_guid.0 = guid;
                host.kind = ferrosm_mad::attr::NodeType::Ca;
                host.num_ports = 1;
                host.description = format!("new host {guid:x}");
                host.port_guids = vec![PortGuid(guid + 1)];
                host.lids = vec![(Lid(5), Lmc(0))];
                let new = fabric.add_node(&host, LinkSpeed::Hdr).unwrap();
                let link = LinkSpec {
                    a: to,
                    b: PortAt::new(new, 1),
                    width: LinkWidth(4),
                    speed: LinkSpeed::Hdr,
                };
                fabric.add_cable(link).unwrap();
                format!("add a host at {to:?}")
            }
            None => "nothing".to_owned(),
        },
        (11, _) => {
            let number = [
                TrapNumber::LinkStateChange,
                TrapNumber::LocalLinkIntegrity,
                TrapNumber::LocalChange,
                TrapNumber::SystemImageGuid,
            ][rng.index(4)];
            fabric.inject_trap(PortAt::new(node, 1), number);
            format!("trap {number:?} of {node}")
        }
        (12, _) => {
            fabric.set_description(node, "renamed");
            format!("rename {node}")
        }
        _ => {
            let faults = node_faults(rng);
            lab.world.set_node_faults(node, Some(faults));
            format!("node {node} {faults:?}")
        }
    }
}
