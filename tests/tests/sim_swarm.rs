//! Random scenarios in the simulated world: any shape, any settings, any faults, any events; then peace, and the fabric
//! must be good again within a bound. A run is its seed: a failing one prints how to repeat it.
//!
//! `FERROSM_SEED=17` runs one seed and tells what happens in it; `FERROSM_SEEDS=5000` runs that many instead of the few
//! that every test run does. Seeds that once failed are in `seeds/` and are run every time.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]
#![allow(
    clippy::print_stdout,
    reason = "a seed that is looked at tells what happens in it"
)]

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use ferrosm_core::SmConfig;
use ferrosm_mad::attr::{LinkSpeed, LinkWidth, TrapNumber};
use ferrosm_mad::ids::{Lid, Lmc, MKey, PortGuid};
use ferrosm_mad::mad::Status;
use ferrosm_mad::time::Instant;
use ferrosm_sim::faults::{Faults, Garbage};
use ferrosm_sim::spec::{FabricSpec, LinkSpec, NodeIdx, PortAt};
use ferrosm_tests::simulated::{Dice, Lab};

/// Seeds of every test run.
const FEW: u64 = 250;
/// Virtual seconds of peace in which the fabric must become good.
const PEACE_S: u64 = 150;

#[test]
fn random_scenarios_converge() {
    if let Some(seed) = number_from("FERROSM_SEED") {
        let hash = run(seed, true);
        assert_eq!(hash, run(seed, false), "the same seed gave another run");
        return;
    }
    let count = number_from("FERROSM_SEEDS").unwrap_or(FEW);
    let first = number_from("FERROSM_FIRST_SEED").unwrap_or(0);
    let mut failed = Vec::new();
    for seed in kept_seeds().into_iter().chain(first..first + count) {
        if std::env::var_os("FERROSM_TRACE").is_some() {
            println!("seed {seed}");
        }
        if catch_unwind(AssertUnwindSafe(|| run(seed, false))).is_err() {
            failed.push(seed);
        }
    }
    assert!(
        failed.is_empty(),
        "{} of {count} seeds failed: {failed:?}\n\
         repeat one with: FERROSM_SEED={} cargo test -p ferrosm-tests --test sim_swarm",
        failed.len(),
        failed[0]
    );
}

/// The same seed gives the same run to the byte, another one another.
#[test]
fn a_seed_is_a_run() {
    for seed in [3, 4] {
        assert_eq!(run(seed, false), run(seed, false));
    }
    assert_ne!(run(3, false), run(4, false));
}

fn number_from(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is `{text}`, expected a number")),
    )
}

/// Seeds that once failed, one a line in `seeds/swarm.txt`; `#` begins a remark.
fn kept_seeds() -> Vec<u64> {
    include_str!("../seeds/swarm.txt")
        .lines()
        .filter_map(|l| l.split('#').next()?.trim().parse().ok())
        .collect()
}

/// What a seed stands for.
struct Scenario {
    shape: String,
    spec: FabricSpec,
    cfg: SmConfig,
    at: Option<PortAt>,
    dice: Dice,
    /// When everything that is wrong ends.
    peace: Instant,
}

fn seconds(s: f64) -> Duration {
    Duration::from_secs_f64(s)
}

fn shape(d: &mut Dice) -> String {
    let seed = d.below(1000);
    let shape = match d.below(11) {
        0 => "back-to-back".to_owned(),
        1 => format!("single-switch:{}", 1 + d.below(20)),
        2 => format!("ring:{},{}", 3 + d.below(8), 1 + d.below(3)),
        3 | 4 => format!("fat-tree:{}", 2 * (1 + d.below(4))),
        5 => format!("fat-tree2:16,{},{}", 1 + d.below(8), 1 + d.below(8)),
        6 => format!(
            "torus:{},{},{}",
            2 + d.below(3),
            2 + d.below(3),
            1 + d.below(3)
        ),
        7 => format!(
            "mesh:{},{},1,{}",
            1 + d.below(4),
            2 + d.below(4),
            1 + d.below(3)
        ),
        8 => format!(
            "hyperx:{},{},{}",
            2 + d.below(3),
            2 + d.below(3),
            1 + d.below(3)
        ),
        9 => "dragonfly:4,5,1,2".to_owned(),
        _ => format!(
            "random:{},{},{},{seed}",
            2 + d.below(25),
            3 + d.below(3),
            1 + d.below(3)
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
        if d.one_in(odds) {
            text = format!("{text};{option}");
        }
    }
    format!("{text};seed={seed}")
}

fn scenario(seed: u64) -> Scenario {
    let mut d = Dice::new(seed);
    let (shape, mut spec) = loop {
        let shape = shape(&mut d);
        // Options that a shape has no room for are drawn again.
        if let Ok(spec) = ferrosm_sim::generate::from_spec(&shape)
            && spec.nodes.len() <= 260
        {
            break (shape, spec);
        }
    };
    for node in &mut spec.nodes {
        node.enhanced_port0 = d.one_in(5);
        if d.one_in(10) {
            node.lids = vec![(Lid(u16::try_from(d.below(80)).unwrap()), Lmc(0))];
        }
    }
    let mut cfg = SmConfig::default();
    if d.one_in(4) {
        cfg.lmc = Lmc(u8::try_from(d.below(4)).unwrap());
    }
    cfg.lmc_esp0 = d.one_in(3);
    if d.one_in(4) {
        cfg.m_key = MKey::new(0x1234_5678);
        cfg.m_key_protect_bits = u8::try_from(d.below(4)).unwrap();
    }
    if d.one_in(3) {
        cfg.max_outstanding = usize::try_from(1 + d.below(300)).unwrap();
        cfg.max_outstanding_per_node = u16::try_from(1 + d.below(20)).unwrap();
    }
    cfg.smp_retries = u8::try_from(d.below(5)).unwrap();
    let at = d.one_in(3).then(|| {
        let cabled = spec.links[d.index(spec.links.len())].a;
        let is_switch =
            spec.nodes[cabled.node].port_guids.len() == 1 && spec.nodes[cabled.node].num_ports > 1;
        PortAt::new(cabled.node, if is_switch { 0 } else { cabled.port })
    });
    let peace = Instant::START + seconds(f64::from(u32::try_from(d.below(600)).unwrap()) / 10.0);
    Scenario {
        shape,
        spec,
        cfg,
        at,
        dice: d,
        peace,
    }
}

fn fabric_faults(d: &mut Dice) -> Faults {
    let mut f = Faults::NONE;
    if d.one_in(2) {
        f.loss = d.unit() * d.unit() * 0.3;
    }
    if d.one_in(4) {
        f.duplicate = d.unit() * 0.3;
    }
    if d.one_in(4) {
        f.jitter = seconds(d.unit() * d.unit() * 0.3);
    }
    if d.one_in(6) {
        f.service = seconds(d.unit() * 0.002);
    }
    f
}

fn node_faults(d: &mut Dice) -> Faults {
    match d.below(8) {
        0 | 1 => Faults::HUNG,
        2 => Faults::slow(seconds(d.unit() * 0.1)),
        3 => Faults::late(seconds(d.unit() * 0.5)),
        4 => Faults::lossy(d.unit()),
        5 => Faults::refusing(if d.one_in(2) {
            Status::BAD_FIELD
        } else {
            Status::BAD_METHOD_ATTR
        }),
        _ => Faults {
            garbage_chance: d.unit(),
            ..Faults::garbage(
                [
                    Garbage::Status,
                    Garbage::Tid,
                    Garbage::Attribute,
                    Garbage::Modifier,
                ][d.index(4)],
            )
        },
    }
}

/// A free port of a switch, if there is one.
fn free_port(lab: &Lab, d: &mut Dice) -> Option<PortAt> {
    let fabric = lab.world.fabric();
    let switches: Vec<NodeIdx> = (0..fabric.num_nodes())
        .filter(|n| fabric.is_switch(*n))
        .collect();
    let switch = *switches.get(d.index(switches.len().max(1)))?;
    fabric
        .external_ports(switch)
        .find(|p| fabric.cable_at(*p).is_none())
}

fn any_cable(lab: &Lab, d: &mut Dice) -> Option<LinkSpec> {
    let at = lab.spec.links[d.index(lab.spec.links.len())].a;
    lab.world.fabric().cable_at(at)
}

/// Draws what happens at a moment and does it; says what it was.
fn happen(lab: &mut Lab, d: &mut Dice) -> String {
    let node = d.index(lab.world.fabric().num_nodes());
    let cable = any_cable(lab, d);
    let sm_node = lab.at.node;
    let fabric = lab.world.fabric_mut();
    match (d.below(14), cable) {
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
        (8, Some(c)) => match free_port(lab, d) {
            Some(to) => {
                let from = if d.one_in(2) { c.a } else { c.b };
                lab.world.fabric_mut().move_cable(from, to).unwrap();
                format!("move the cable at {from:?} to {to:?}")
            }
            None => "nothing".to_owned(),
        },
        (9, Some(c)) => match any_cable(lab, d) {
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
        (10, _) => match free_port(lab, d) {
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
                let cable = LinkSpec {
                    a: to,
                    b: PortAt::new(new, 1),
                    width: LinkWidth(4),
                    speed: LinkSpeed::Hdr,
                };
                fabric.add_cable(cable).unwrap();
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
            ][d.index(4)];
            fabric.inject_trap(PortAt::new(node, 1), number);
            format!("trap {number:?} of {node}")
        }
        (12, _) => {
            fabric.set_description(node, "renamed");
            format!("rename {node}")
        }
        _ => {
            let faults = node_faults(d);
            lab.world.set_node_faults(node, Some(faults));
            format!("node {node} {faults:?}")
        }
    }
}

fn run(seed: u64, tell: bool) -> u64 {
    let s = scenario(seed);
    let mut d = s.dice;
    let say = |now: Instant, text: &str| {
        if tell {
            println!("{now:?} {text}");
        }
    };
    say(
        Instant::START,
        &format!(
            "{} from {:?}, peace at {:?}, {:?}",
            s.shape, s.at, s.peace, s.cfg
        ),
    );
    let mut lab = Lab::on(&s.shape, s.spec, seed, s.cfg, s.at);
    if d.one_in(2) {
        let time = seconds(d.unit() * 2.0);
        lab.world.fabric_mut().set_link_training(time);
    }
    let faults = fabric_faults(&mut d);
    say(lab.world.now(), &format!("{faults:?}"));
    lab.world.set_faults(faults);
    let bad_nodes = d.upto(3);
    for _ in 0..bad_nodes {
        let node = d.index(lab.world.fabric().num_nodes());
        let faults = node_faults(&mut d);
        say(lab.world.now(), &format!("node {node} {faults:?}"));
        lab.world.set_node_faults(node, Some(faults));
    }
    let mut watch = Watch::default();
    let events = d.upto(19);
    for _ in 0..events {
        let left = s.peace.since(lab.world.now()).as_secs_f64();
        // Half of what happens, happens in bursts.
        let wait = if d.one_in(2) {
            d.unit() * 0.01
        } else {
            d.unit() * left / 3.0
        };
        lab.world.run_for(seconds(wait.min(left)));
        let text = happen(&mut lab, &mut d);
        say(lab.world.now(), &text);
        watch.look(&lab, tell);
    }
    lab.world.run_until(s.peace);
    watch.look(&lab, tell);
    say(lab.world.now(), "peace");
    lab.world.set_faults(Faults::NONE);
    for node in 0..lab.world.fabric().num_nodes() {
        lab.world.set_node_faults(node, None);
    }
    let at = lab.at;
    let fabric = lab.world.fabric_mut();
    fabric.power_on(at.node);
    if let Some(cable) = fabric.cable_at(at) {
        fabric.power_on(cable.a.node);
        fabric.power_on(cable.b.node);
        fabric.restore(at).unwrap();
    } else if at.port != 0 {
        // Its cable was moved elsewhere: there is nothing that the manager could do.
        return lab.world.trace_hash();
    }
    let done = lab.world.now() + Duration::from_secs(PEACE_S);
    while lab.world.now() < done {
        lab.world.run_for(Duration::from_secs(1));
        watch.look(&lab, tell);
        if lab.verdict(&lab.expect()).is_ok()
            && lab
                .manager()
                .core()
                .last_report()
                .is_some_and(|r| r.is_clean())
        {
            break;
        }
    }
    watch.look(&lab, tell);
    lab.assert_good();
    assert!(
        lab.last_report().is_clean(),
        "{} {:#?}",
        lab.repeat(),
        lab.last_report().problems
    );
    // Nothing happens any more: the manager takes a second look at everything if it had doubts, then becomes quiet, and
    // everything stays good. A second look that was already taken once too early may be taken again later.
    lab.world.run_for(Duration::from_secs(75));
    let sweeps = lab.manager().reports().len();
    lab.world.run_for(Duration::from_secs(31));
    watch.look(&lab, tell);
    lab.assert_good();
    let more = lab.manager().reports().len() - sweeps;
    assert!(
        more <= 1,
        "{} {more} sweeps in a quiet fabric",
        lab.repeat()
    );
    lab.world.trace_hash()
}

/// What must hold at all times.
#[derive(Default)]
struct Watch {
    lids: BTreeMap<PortGuid, (Lid, Lmc)>,
    told: usize,
}

impl Watch {
    fn look(&mut self, lab: &Lab, tell: bool) {
        let sm = lab.manager();
        if tell {
            for event in &sm.events[self.told..] {
                println!("        {event}");
                if let ferrosm_core::Event::SweepDone(r) = event {
                    for p in &r.problems {
                        println!("            {p}");
                    }
                }
            }
        }
        self.told = sm.events.len();
        let map = sm.core().lid_map();
        let mut owner = BTreeMap::new();
        for (guid, (lid, lmc)) in map {
            for l in lid.raw()..lid.raw() + (1 << lmc.raw()) {
                let other = owner.insert(l, guid);
                assert!(other.is_none(), "{} LID {l} twice", lab.repeat());
            }
            if let Some(before) = self.lids.insert(*guid, (*lid, *lmc)) {
                assert_eq!(
                    before,
                    (*lid, *lmc),
                    "{} {guid} was given another LID",
                    lab.repeat()
                );
            }
        }
        for guid in self.lids.keys() {
            assert!(
                map.contains_key(guid),
                "{} {guid} lost its LID",
                lab.repeat()
            );
        }
        let subnet = sm.core().subnet();
        for link in subnet.links() {
            for end in [link.a, link.b] {
                assert_eq!(subnet.peer(end), Some(link.other(end)), "{}", lab.repeat());
            }
        }
    }
}
