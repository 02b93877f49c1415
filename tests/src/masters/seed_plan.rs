//! What a seed stands for: a fabric, the managers on it, and how they are told to behave. The order in which it draws is what makes a
//! kept seed mean what it meant: it is never changed.

use std::sync::Arc;
use std::time::Duration;

use crate::simulated::{Clock, Dice};
use ferrosm_core::SmConfig;
use ferrosm_mad::attr::NodeType;
use ferrosm_sim::spec::{FabricSpec, PortAt};

/// Seeds from here on are of the second kind: everything of the first, and hosts lose power and come back.
pub const HOSTS: u64 = 1_000_000;
/// Seeds from here on are of the third kind: everything of the first, and there is a subnet manager of somebody else.
pub const FOREIGN: u64 = 2_000_000;
/// Seeds from here on are of the fourth kind: everything of the first, and masters die in a phase of their work that is chosen.
pub const PHASES: u64 = 3_000_000;
/// Seeds from here on are of the fifth kind: everything of the first, and stores that are slow, hang or fail.
pub const STORES: u64 = 5_000_000;

/// Whether a standby has what its master keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Copying {
    /// It has nothing.
    No,
    /// All that was acknowledged.
    InStep,
    /// What there was some time ago.
    Lagging,
}

/// One manager, as it is planned.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) at: PortAt,
    pub(crate) cfg: SmConfig,
    pub(crate) copying: Copying,
    pub(crate) clock: Clock,
    pub(crate) starts: Duration,
}

/// What a seed stands for.
pub(crate) struct Scenario {
    pub(crate) shape: String,
    pub(crate) spec: FabricSpec,
    pub(crate) plans: Vec<Plan>,
    /// Only what nobody is to notice happens: every manager has a copy, and the fabric stays as it is.
    pub(crate) calm: bool,
    pub(crate) dice: Dice,
}

fn shape(d: &mut Dice) -> String {
    let seed = d.below(1000);
    let text = match d.below(10) {
        0 => format!("single-switch:{}", 3 + d.below(10)),
        1 => format!("ring:{},{}", 3 + d.below(5), 1 + d.below(2)),
        2 | 3 => "fat-tree:4".to_owned(),
        4 => format!("fat-tree2:8,{},{}", 1 + d.below(3), 2 + d.below(3)),
        5 => format!("torus:{},{},1,1", 2 + d.below(3), 2 + d.below(3)),
        6 => format!("mesh:{},{},1,1", 2 + d.below(2), 2 + d.below(3)),
        7 => format!("hyperx:{},{},1", 2 + d.below(2), 2 + d.below(3)),
        _ => format!("random:{},4,1,{seed}", 3 + d.below(9)),
    };
    if d.one_in(4) {
        format!("{text};shuffle;seed={seed}")
    } else {
        text
    }
}

fn fabric(d: &mut Dice) -> (String, FabricSpec) {
    loop {
        let shape = shape(d);
        let Ok(spec) = ferrosm_sim::generate::from_spec(&shape) else {
            continue;
        };
        let hosts = spec.nodes.iter().filter(|n| n.kind == NodeType::Ca);
        if (4..=40).contains(&spec.nodes.len()) && hosts.count() >= 3 {
            return (shape, spec);
        }
    }
}

/// Places for managers: hosts first of all, and a switch now and then.
fn places(spec: &FabricSpec, d: &mut Dice) -> Vec<PortAt> {
    let of = |kind| {
        let nodes = spec.nodes.iter().enumerate();
        let nodes = nodes.filter(move |(_, n)| n.kind == kind);
        nodes.map(|(i, _)| i).collect::<Vec<_>>()
    };
    let mut hosts = of(NodeType::Ca);
    let mut switches = of(NodeType::Switch);
    let wanted = 2 + d.index(4);
    let mut all = Vec::new();
    while all.len() < wanted && !hosts.is_empty() {
        if d.one_in(6) && !switches.is_empty() {
            all.push(PortAt::new(
                switches.swap_remove(d.index(switches.len())),
                0,
            ));
        } else {
            all.push(PortAt::new(hosts.swap_remove(d.index(hosts.len())), 1));
        }
    }
    all
}

pub(crate) fn scenario(seed: u64) -> Scenario {
    let mut d = Dice::new(seed ^ 0x5EA7_0000_0000);
    let (shape, mut spec) = fabric(&mut d);
    for node in &mut spec.nodes {
        node.enhanced_port0 = d.one_in(4);
    }
    let calm = d.one_in(3);
    let places = places(&spec, &mut d);
    let guid = |at: &PortAt| {
        let node = &spec.nodes[at.node];
        node.port_guids[usize::from(at.port.saturating_sub(1)).min(node.port_guids.len() - 1)]
    };
    let know_each_other = !d.one_in(4);
    let peers: Arc<_> = Arc::new(if know_each_other {
        places.iter().map(guid).collect()
    } else {
        Default::default()
    });
    let common = SmConfig {
        routing_vls: if d.one_in(3) { 4 } else { 1 },
        peer_sms: peers,
        sweep_interval: Duration::from_secs(3 + d.below(8)),
        smp_timeout: Duration::from_millis(50 + d.below(150)),
        sm_poll_interval: Duration::from_millis(500 + 500 * d.below(8)),
        sm_poll_retries: u8::try_from(d.below(4)).unwrap(),
        peer_poll_interval: Duration::from_millis(100 * (1 + d.below(12))),
        peer_poll_retries: u8::try_from(d.below(4)).unwrap(),
        patience: u8::try_from(3 + d.below(8)).unwrap(),
        ..SmConfig::default()
    };
    let skewed = d.one_in(2);
    let plans = places
        .iter()
        .map(|at| {
            let mut cfg = common.clone();
            cfg.priority = u8::try_from(d.below(4)).unwrap();
            if d.one_in(4) {
                cfg.master_priority = 15;
            }
            let copying = match d.below(6) {
                _ if calm => Copying::InStep,
                0 | 1 => Copying::No,
                2 => Copying::Lagging,
                _ => Copying::InStep,
            };
            let clock = if skewed {
                Clock {
                    ppm: i32::try_from(d.below(400_000)).unwrap() - 200_000,
                    ahead: Duration::from_millis(d.below(4_000_000)),
                }
            } else {
                Clock::default()
            };
            let starts = Duration::from_millis(if d.one_in(3) { 0 } else { d.below(4000) });
            Plan {
                at: *at,
                cfg,
                copying,
                clock,
                starts,
            }
        })
        .collect();
    Scenario {
        shape,
        spec,
        plans,
        calm,
        dice: d,
    }
}
