//! Scenarios of seeds: a fabric, the SMs on it and their configuration. The order of random draws
//! must not change, because saved seeds depend on it.

use std::sync::Arc;
use std::time::Duration;

use crate::lab::{Clock, TestRng};
use ferrosm_core::SmConfig;
use ferrosm_mad::attr::NodeType;
use ferrosm_sim::spec::{FabricSpec, PortAt};

/// First seed in which hosts also lose power and return.
pub const FIRST_SEED_HOSTS: u64 = 1_000_000;
/// First seed in which an SM of another vendor takes part.
pub const FIRST_SEED_FOREIGN: u64 = 2_000_000;
/// First seed in which masters are also killed in chosen sweep phases.
pub const FIRST_SEED_PHASES: u64 = 3_000_000;
/// First seed in which stores are also slow, hang or fail.
pub const FIRST_SEED_STORES: u64 = 5_000_000;

/// Events that a range of seeds adds to the basic ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SeedKind {
    Basic,
    Hosts,
    Foreign,
    Phases,
    Stores,
}

impl SeedKind {
    const fn of(seed: u64) -> Self {
        match seed {
            ..FIRST_SEED_HOSTS => Self::Basic,
            FIRST_SEED_HOSTS..FIRST_SEED_FOREIGN => Self::Hosts,
            FIRST_SEED_FOREIGN..FIRST_SEED_PHASES => Self::Foreign,
            FIRST_SEED_PHASES..FIRST_SEED_STORES => Self::Phases,
            FIRST_SEED_STORES.. => Self::Stores,
        }
    }

    /// Random numbers of the added events, so that the basic scenario of a seed does not change.
    pub(crate) const fn rng(self, seed: u64) -> TestRng {
        TestRng::new(
            seed ^ match self {
                Self::Basic => 0,
                Self::Hosts => 0x0FF0_0000_0000,
                Self::Foreign => 0xF0E1_0000_0000,
                Self::Phases => 0x0FA5_E000_0000,
                Self::Stores => 0x0570_4E00_0000,
            },
        )
    }

    /// Time after which a client repeats a request. With a healthy store all replies are immediate.
    pub(crate) const fn repeat_after(self) -> Duration {
        match self {
            Self::Basic | Self::Hosts | Self::Foreign | Self::Phases => Duration::ZERO,
            Self::Stores => Duration::from_secs(2),
        }
    }
}

/// Replica of a standby.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplicaMode {
    /// No replica.
    Absent,
    /// Complete: all acknowledged records.
    InSync,
    /// The records of an earlier time.
    Stale,
}

/// Position, configuration and behaviour of one SM.
#[derive(Debug, Clone)]
pub(crate) struct SmPlan {
    pub(crate) at: PortAt,
    pub(crate) cfg: SmConfig,
    pub(crate) replica_mode: ReplicaMode,
    pub(crate) clock: Clock,
    pub(crate) start_delay: Duration,
}

/// The scenario of a seed.
pub(crate) struct Scenario {
    pub(crate) seed: u64,
    pub(crate) kind: SeedKind,
    pub(crate) shape: String,
    pub(crate) spec: FabricSpec,
    pub(crate) plans: Vec<SmPlan>,
    /// Only events that hosts must not notice: every SM has a replica, and the fabric does not
    /// change.
    pub(crate) calm: bool,
    pub(crate) rng: TestRng,
}

fn shape(rng: &mut TestRng) -> String {
    let seed = rng.below(1000);
    let text = match rng.below(10) {
        0 => format!("single-switch:{}", 3 + rng.below(10)),
        1 => format!("ring:{},{}", 3 + rng.below(5), 1 + rng.below(2)),
        2 | 3 => "fat-tree:4".to_owned(),
        4 => format!("fat-tree2:8,{},{}", 1 + rng.below(3), 2 + rng.below(3)),
        5 => format!("torus:{},{},1,1", 2 + rng.below(3), 2 + rng.below(3)),
        6 => format!("mesh:{},{},1,1", 2 + rng.below(2), 2 + rng.below(3)),
        7 => format!("hyperx:{},{},1", 2 + rng.below(2), 2 + rng.below(3)),
        _ => format!("random:{},4,1,{seed}", 3 + rng.below(9)),
    };
    if rng.one_in(4) {
        format!("{text};shuffle;seed={seed}")
    } else {
        text
    }
}

fn fabric(rng: &mut TestRng) -> (String, FabricSpec) {
    loop {
        let shape = shape(rng);
        let Ok(spec) = ferrosm_sim::generate::from_spec(&shape) else {
            continue;
        };
        let hosts = spec.nodes.iter().filter(|n| n.kind == NodeType::Ca);
        if (4..=40).contains(&spec.nodes.len()) && hosts.count() >= 3 {
            return (shape, spec);
        }
    }
}

/// Chooses ports for the SMs: mostly hosts, sometimes switches.
fn choose_sm_ports(spec: &FabricSpec, rng: &mut TestRng) -> Vec<PortAt> {
    let of = |kind| {
        let nodes = spec
            .nodes
            .iter()
            .enumerate()
            .filter(move |(_, n)| n.kind == kind);
        nodes.map(|(i, _)| i).collect::<Vec<_>>()
    };
    let mut hosts = of(NodeType::Ca);
    let mut switches = of(NodeType::Switch);
    let wanted = 2 + rng.index(4);
    let mut entries = Vec::new();
    while entries.len() < wanted && !hosts.is_empty() {
        if rng.one_in(6) && !switches.is_empty() {
            entries.push(PortAt::new(
                switches.swap_remove(rng.index(switches.len())),
                0,
            ));
        } else {
            entries.push(PortAt::new(hosts.swap_remove(rng.index(hosts.len())), 1));
        }
    }
    entries
}

pub(crate) fn scenario(seed: u64) -> Scenario {
    let mut rng = TestRng::new(seed ^ 0x5EA7_0000_0000);
    let (shape, mut spec) = fabric(&mut rng);
    for node in &mut spec.nodes {
        node.enhanced_port0 = rng.one_in(4);
    }
    let calm = rng.one_in(3);
    let sm_ports = choose_sm_ports(&spec, &mut rng);
    let guid = |at: &PortAt| {
        let node = &spec.nodes[at.node];
        node.port_guids[usize::from(at.port.saturating_sub(1)).min(node.port_guids.len() - 1)]
    };
    let lists_peers = !rng.one_in(4);
    let peers: Arc<_> = Arc::new(if lists_peers {
        sm_ports.iter().map(guid).collect()
    } else {
        Default::default()
    });
    let common = SmConfig {
        routing_vls: if rng.one_in(3) { 4 } else { 1 },
        peer_sms: peers,
        sweep_interval: Duration::from_secs(3 + rng.below(8)),
        smp_timeout: Duration::from_millis(50 + rng.below(150)),
        sm_poll_interval: Duration::from_millis(500 + 500 * rng.below(8)),
        sm_poll_retries: u8::try_from(rng.below(4)).unwrap(),
        peer_poll_interval: Duration::from_millis(100 * (1 + rng.below(12))),
        peer_poll_retries: u8::try_from(rng.below(4)).unwrap(),
        wait_polls: u8::try_from(3 + rng.below(8)).unwrap(),
        ..SmConfig::default()
    };
    let has_skewed_clocks = rng.one_in(2);
    let plans = sm_ports
        .iter()
        .map(|at| {
            let mut cfg = common.clone();
            cfg.priority = u8::try_from(rng.below(4)).unwrap();
            if rng.one_in(4) {
                cfg.master_priority = 15;
            }
            let replica_mode = match rng.below(6) {
                _ if calm => ReplicaMode::InSync,
                0 | 1 => ReplicaMode::Absent,
                2 => ReplicaMode::Stale,
                _ => ReplicaMode::InSync,
            };
            let clock = if has_skewed_clocks {
                Clock {
                    ppm: i32::try_from(rng.below(400_000)).unwrap() - 200_000,
                    ahead: Duration::from_millis(rng.below(4_000_000)),
                }
            } else {
                Clock::default()
            };
            let start_delay =
                Duration::from_millis(if rng.one_in(3) { 0 } else { rng.below(4000) });
            SmPlan {
                at: *at,
                cfg,
                replica_mode,
                clock,
                start_delay,
            }
        })
        .collect();
    Scenario {
        seed,
        kind: SeedKind::of(seed),
        shape,
        spec,
        plans,
        calm,
        rng,
    }
}
