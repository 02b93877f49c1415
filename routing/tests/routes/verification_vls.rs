//! Verification with several VLs: a second VL resolves credit loops, a wrong SLtoVL map breaks
//! routes, and verification agrees with the oracle, which follows every packet on its VLs.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "test helpers"
)]

use crate::oracle;
use std::sync::Arc;

use crate::common::*;
use crate::oracle::{Verdict, check_tables, reversible};
use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_routing::verify::{ChannelVl, VerifyError};
use ferrosm_routing::{
    Describe, Lft, PathSl, Proof, RoutingRequest, SlToVl, SlToVlMaps, SwitchIdx, Tables, Topology,
    TopologyBuilder, VlPlan, engine_by_name, verify,
};
use proptest::prelude::*;

fn tables(engine: &str, topo: &Topology) -> Tables {
    let engine = engine_by_name(engine).unwrap();
    engine.route(&RoutingRequest::new(topo)).unwrap().tables
}

fn verdict(failure: &VerifyError) -> Verdict {
    if failure.loops.count > 0 {
        Verdict::Loops
    } else if failure.unreachable.count > 0 {
        Verdict::Unreachable
    } else if failure.dropped.lids > 0 {
        assert!(!failure.dropped.first.is_empty(), "no example");
        Verdict::Dropped
    } else {
        assert!(failure.cycle.is_some(), "an error without a reason");
        Verdict::CreditLoop
    }
}

/// A torus routed in dimension order in the shorter direction, to the right where both are equal.
/// Ports 1 and 2 of a switch lead right and left in the first dimension, 3 and 4 in the second, and
/// so on; an end port follows.
struct Torus {
    sides: Vec<usize>,
    topo: Topology,
    tables: Tables,
}

impl Torus {
    fn new(sides: &[usize]) -> Self {
        let n: usize = sides.iter().product();
        let host = 2 * sides.len() as u8 + 1;
        let mut b = TopologyBuilder::new();
        let lid = |i: usize| Lid(i as u16 + 1);
        let switches: Vec<_> = (0..n).map(|i| b.switch(host, lid(i))).collect();
        for s in 0..n {
            for (dim, stride) in strides(sides) {
                let x = s / stride % sides[dim];
                let right = s - x * stride + (x + 1) % sides[dim] * stride;
                let port = 2 * dim as u8 + 1;
                b.link(
                    (switches[s], PortNum(port)),
                    (switches[right], PortNum(port + 1)),
                );
            }
            b.end_port((switches[s], PortNum(host)), lid(n + s), 1);
        }
        let topo = b.build();
        let tables = topo.switches().map(|s| {
            let mut lft = Lft::drop_all(topo.top_lid());
            for d in topo.destinations() {
                let step = next_step(sides, s.index(), d.switch.index());
                lft.set(
                    d.lid,
                    step.map_or(d.port, |(dim, left)| {
                        PortNum(2 * dim as u8 + 1 + u8::from(left))
                    }),
                );
            }
            Arc::new(lft)
        });
        let tables = tables.collect();
        Self {
            sides: sides.to_vec(),
            topo,
            tables,
        }
    }

    /// One bit for each dimension in which the path crosses the link between the last switch and
    /// the first.
    fn crossings(&self) -> PathSl {
        let row = |from: SwitchIdx| -> Arc<[u8]> {
            let sl = |to: SwitchIdx| {
                let bits = strides(&self.sides).map(|(dim, stride)| {
                    let side = self.sides[dim];
                    let (x, y) = (from.index() / stride % side, to.index() / stride % side);
                    let right = (y + side - x) % side <= side / 2;
                    u8::from(if right { y < x } else { y > x }) << dim
                });
                bits.sum()
            };
            self.topo.switches().map(sl).collect()
        };
        PathSl::BySwitches(self.topo.switches().map(row).collect())
    }

    /// Two VLs by dateline, the link between the last switch and the first: VL 0 before it, VL 1 on
    /// it and after it. A switch after it recognizes these packets by their SL and input port.
    fn maps(&self) -> Vec<SlToVlMaps> {
        let host = 2 * self.sides.len() as u8 + 1;
        let maps = self.topo.switches().map(|s| {
            let mut maps = SlToVlMaps::uniform(host, [0; 16]);
            for (dim, stride) in strides(&self.sides) {
                let (side, right) = (self.sides[dim], 2 * dim as u8 + 1);
                let x = s.index() / stride % side;
                let bit = std::array::from_fn(|sl| (sl >> dim & 1) as u8);
                let behind = [x < side / 2, x >= side / 2];
                for (out, first, behind) in
                    [(right, side - 1, behind[0]), (right + 1, 0, behind[1])]
                {
                    for input in 0..=host {
                        let straight = input == if out == right { right + 1 } else { right };
                        if x == first || (behind && straight) {
                            maps.set(PortNum(input), PortNum(out), bit);
                        }
                    }
                }
            }
            maps
        });
        maps.collect()
    }

    fn by_ports(&self, maps: Vec<SlToVlMaps>) -> VlPlan {
        VlPlan {
            vls: 2,
            path_sl: self.crossings(),
            sl_to_vl: SlToVl::PerPorts(maps),
        }
    }

    /// The result of verification, after the oracle has agreed.
    fn verify(&self, vl_plan: &VlPlan) -> Result<Proof, VerifyError> {
        let outcome = verify(&self.topo, &self.tables, vl_plan);
        let verified_by_oracle = check_tables(&self.topo, &self.tables, vl_plan);
        match &outcome {
            Ok(proof) => {
                assert_eq!(verified_by_oracle, Verdict::Good);
                assert_eq!(
                    proof.reversible,
                    reversible(&self.topo, &self.tables, vl_plan)
                );
            }
            Err(failure) => assert_eq!(verified_by_oracle, verdict(failure)),
        }
        outcome
    }
}

/// Dimensions with the index distance of neighbours in each.
fn strides(sides: &[usize]) -> impl Iterator<Item = (usize, usize)> + '_ {
    let stride = |dim: usize| sides[..dim].iter().product();
    (0..sides.len()).map(move |dim| (dim, stride(dim)))
}

/// The dimension of the next hop, and whether it leads left.
fn next_step(sides: &[usize], from: usize, to: usize) -> Option<(usize, bool)> {
    strides(sides).find_map(|(dim, stride)| {
        let (x, y) = (from / stride % sides[dim], to / stride % sides[dim]);
        (x != y).then(|| (dim, (y + sides[dim] - x) % sides[dim] > sides[dim] / 2))
    })
}

/// Rings and tori deadlock on one VL, and do not if paths that cross a dateline have an SL and a VL
/// of their own. If no path is half a ring long, both directions of a pair share an SL, and replies
/// on it are safe.
#[test]
fn sls_by_path_make_torus_deadlock_free() {
    for sides in [&[4][..], &[5], &[6], &[7], &[4, 4], &[5, 5], &[4, 5]] {
        let torus = Torus::new(sides);
        let cycle = torus.verify(&VlPlan::single()).unwrap_err().cycle.unwrap();
        assert!(cycle.len() == sides[0] || sides.len() > 1);
        assert!(cycle.iter().all(|&(_, _, vl)| vl == 0));
        let vl_plan = 1 << sides.len();
        let proof = torus
            .verify(&VlPlan::modulo(vl_plan, torus.crossings()))
            .unwrap();
        assert_eq!(proof.vls_used, vl_plan);
        assert_eq!(proof.reversible, sides.iter().all(|side| side % 2 == 1));
    }
    let ring = Torus::new(&[5]);
    let proof = ring.verify(&VlPlan::modulo(2, ring.crossings())).unwrap();
    assert_eq!(proof.vl_channels, [8, 6], "all links but one, and three");
}

/// The same tori on two VLs with maps per port. With one map for all ports, or if the first switch
/// of the ring ignores the input port, they deadlock, and the credit loop names the VLs.
#[test]
fn maps_by_port_make_torus_deadlock_free_unless_broken() {
    for sides in [&[4][..], &[5], &[6], &[7], &[4, 4], &[5, 5], &[4, 5]] {
        let torus = Torus::new(sides);
        assert_eq!(
            torus
                .verify(&torus.by_ports(torus.maps()))
                .unwrap()
                .vls_used,
            2
        );
        let mut broken = torus.maps();
        broken.fill(SlToVlMaps::uniform(2 * sides.len() as u8 + 1, [0; 16]));
        assert!(
            torus
                .verify(&torus.by_ports(broken))
                .unwrap_err()
                .cycle
                .is_some()
        );
    }
    let ring = Torus::new(&[5]);
    let mut broken = ring.maps();
    broken[0] = SlToVlMaps::uniform(3, [0; 16]);
    let failure = ring.verify(&ring.by_ports(broken)).unwrap_err();
    assert_eq!(
        failure.describe(&|s| format!("S{}", s.0)),
        "credit loop of 5 channels: S0 port 1 VL 0, S1 port 1 VL 0, S2 port 1 VL 0, S3 port 1 VL 0, S4 port 1 VL 1"
    );
}

/// A map to VL 15 that no packet uses is harmless; one that a packet uses drops it, and the failure
/// names the location.
#[test]
fn map_to_unused_vl_is_rejected() {
    let ring = Torus::new(&[4]);
    let mut maps = ring.maps();
    let mut map = [15; 16];
    map[0] = 0;
    // No packet to the right past switch 2 has crossed the dateline.
    maps[2].set(PortNum(2), PortNum(1), map);
    ring.verify(&ring.by_ports(maps.clone())).unwrap();
    map[0] = 2;
    maps[2].set(PortNum(2), PortNum(1), map);
    let failure = ring.verify(&ring.by_ports(maps)).unwrap_err();
    assert_eq!((failure.dropped.lids, failure.cycle.is_none()), (2, true));
    assert_eq!(
        failure.describe(&|s| format!("S{}", s.0)),
        "packets to 2 LIDs are dropped because of their VL; e.g. to LID 4 from S1 port 0 with SL 0: S2 maps it from port 2 to \
         port 1 on VL 2, but VLs 0 to 1 are operated (path: S1 port 1)"
    );
    // At the end port of switch 1.
    let mut maps = ring.maps();
    maps[1].set(PortNum(2), PortNum(3), [15; 16]);
    let failure = ring.verify(&ring.by_ports(maps)).unwrap_err();
    let first = &failure.dropped.first[0];
    assert_eq!(
        (first.from, first.at, first.output),
        (SwitchIdx(0), SwitchIdx(1), PortNum(3))
    );
}

/// One link with one VL where two are in use; SL 16: packets are dropped, with any kind of SLtoVL
/// mapping.
#[test]
fn link_with_few_vls_and_invalid_sl_are_rejected() {
    let fabric = ring(5, 1);
    let topo = narrowed(&fabric, 1);
    let tables = tables("updn", &topo);
    let vl_plan = VlPlan::modulo(2, PathSl::Uniform(1));
    let failure = verify(&topo, &tables, &vl_plan).unwrap_err();
    assert!(
        failure
            .dropped
            .first
            .iter()
            .all(|d| (d.sl, d.vl, d.vls) == (1, 1, 1))
    );
    assert!(verify(&topo, &tables, &VlPlan::modulo(2, PathSl::Uniform(2))).is_ok());
    let failure = verify(&topo, &tables, &VlPlan::modulo(1, PathSl::Uniform(16))).unwrap_err();
    assert_eq!(failure.dropped.lids, topo.destinations().len() as u64);
}

/// Each kind of SLtoVL mapping on 1, 2 and 7 threads: the same proof and the same failure.
#[test]
fn verification_is_independent_of_thread_count() {
    let topo = torus(&[4, 4], 3).build();
    let mut rng = Lcg(5);
    let tables = ["updn", "minhop"].map(|engine| tables(engine, &topo));
    for _ in 0..20 {
        let vl_plan = random_vl_plan(&topo, &mut rng, 0);
        for tables in &tables {
            let verify_with = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                pool.unwrap().install(|| verify(&topo, tables, &vl_plan))
            };
            let single_thread = verify_with(1);
            assert_eq!(single_thread, verify_with(2));
            assert_eq!(single_thread, verify_with(7));
        }
    }
}

/// A random SL and VL mapping of any kind. Invalid SLs and VLs occur only if `num_invalid` is not
/// 0.
fn random_vl_plan(topo: &Topology, rng: &mut Lcg, num_invalid: usize) -> VlPlan {
    let vls = 1 + rng.below(4) as u8;
    let sls = [1, 2, usize::from(vls), 16][rng.below(4)];
    let row = |rng: &mut Lcg, n: usize| -> Arc<[u8]> {
        let mut row: Vec<u8> = (0..n).map(|_| rng.below(sls) as u8).collect();
        if num_invalid > 0 && rng.below(12) == 0 {
            row[rng.below(n)] = 16 + rng.below(3) as u8;
        }
        row.into()
    };
    let (n, lids) = (topo.num_switches(), usize::from(topo.top_lid().raw()) + 1);
    let path_sl = match rng.below(5) {
        0 => PathSl::Uniform(rng.below(sls) as u8),
        1 => PathSl::ByLid(row(rng, lids)),
        2 => PathSl::BySwitches((0..n).map(|_| row(rng, n)).collect()),
        3 => {
            let mut square: Vec<Vec<u8>> = (0..n).map(|_| row(rng, n).to_vec()).collect();
            (0..n).for_each(|a| (0..a).for_each(|b| square[a][b] = square[b][a]));
            PathSl::BySwitches(square.into_iter().map(Arc::from).collect())
        }
        _ => PathSl::BySwitchAndLid((0..n).map(|_| row(rng, lids)).collect()),
    };
    if rng.below(2) == 0 {
        return VlPlan::modulo(vls, path_sl);
    }
    let modulo = std::array::from_fn(|sl| sl as u8 % vls);
    let maps = topo.switches().map(|s| {
        let ports = topo.num_ports(s);
        let mut maps = SlToVlMaps::uniform(ports, modulo);
        for _ in 0..rng.below(60) {
            let (input, output) = (rng.below(12) as u8, rng.below(12) as u8);
            let mut map = std::array::from_fn(|_| rng.below(usize::from(vls)) as u8);
            if num_invalid > 0 && rng.below(30) == 0 {
                map[rng.below(sls)] = [vls, 15][rng.below(2)];
            }
            maps.set(PortNum(input % ports), PortNum(output % ports), map);
        }
        maps
    });
    let maps = maps.collect();
    VlPlan {
        vls,
        path_sl,
        sl_to_vl: SlToVl::PerPorts(maps),
    }
}

/// The fabric with this number of VLs on its last link.
fn narrowed(fabric: &Fabric, vls: u8) -> Topology {
    let complete = fabric.build();
    let mut b = TopologyBuilder::new();
    for (s, &ports) in complete.switches().zip(&fabric.ports) {
        b.switch(ports, complete.lid(s));
        for e in complete.end_ports(s) {
            b.end_port((s, e.port), e.lid, e.count);
        }
    }
    let at = |(s, p): (usize, u8)| (SwitchIdx(s as u32), PortNum(p));
    for &(x, y) in &fabric.links {
        b.link(at(x), at(y));
    }
    if let Some(&(x, _)) = fabric.links.last() {
        b.vls(at(x), vls);
    }
    b.build()
}

/// Whether some packet goes from each of these virtual channels to the next, according to the
/// oracle.
fn is_real(topo: &Topology, tables: &Tables, vl_plan: &VlPlan, cycle: &[ChannelVl]) -> bool {
    let mut pairs = std::collections::BTreeSet::new();
    for d in topo.destinations() {
        for from in topo.switches() {
            let Ok(crossed) = oracle::follow(topo, tables, from, d.lid) else {
                continue;
            };
            for entry in oracle::entries(topo, from, d) {
                let sl = vl_plan.sl(from, d);
                let used = oracle::channels_crossed(topo, vl_plan, &crossed, entry, sl, d).unwrap();
                pairs.extend(used.windows(2).map(|w| (w[0], w[1])));
            }
        }
    }
    let channel = |i: usize| {
        let (s, p, vl) = cycle[i % cycle.len()];
        (s.0, p.raw(), vl)
    };
    (0..cycle.len()).all(|i| pairs.contains(&(channel(i), channel(i + 1))))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(250))]

    /// Random graphs, tables of either engine with some entries overwritten, random SL and VL
    /// mappings with some that do not exist, some links with few VLs: verification and oracle agree
    /// on the tables and on replies with the SL of their request. A reported credit loop is real.
    #[test]
    fn verification_agrees_with_oracle_on_vls(
        n in 1usize..10, extra in 0usize..14, hosts in 0usize..14, seed: u64,
        minhop: bool, corrupted in 0usize..2, invalid in 0usize..3, narrow in 0usize..8,
    ) {
        let fabric = random(n, extra, hosts, seed);
        let mut rng = Lcg(!seed);
        let topo = if narrow == 0 { narrowed(&fabric, 2) } else { fabric.build() };
        let mut tables = tables(if minhop { "minhop" } else { "updn" }, &topo);
        let corrupted = if rng.below(3) == 0 { corrupted } else { 0 };
        for _ in 0..corrupted {
            let (s, lid) = (rng.below(n), rng.below(usize::from(topo.top_lid().raw()) + 1));
            let mut lft = Lft::clone(&tables[s]);
            lft.set(Lid(lid as u16), PortNum([0, 0xFF, 1, 2, 3][rng.below(5)]));
            tables[s] = Arc::new(lft);
        }
        let vl_plan = random_vl_plan(&topo, &mut rng, invalid / 2);
        let verified_by_oracle = check_tables(&topo, &tables, &vl_plan);
        match verify(&topo, &tables, &vl_plan) {
            Ok(proof) => {
                prop_assert_eq!(verified_by_oracle, Verdict::Good);
                prop_assert_eq!(proof.reversible, reversible(&topo, &tables, &vl_plan));
            }
            Err(failure) => {
                prop_assert_eq!(verified_by_oracle, verdict(&failure));
                if let Some(cycle) = &failure.cycle {
                    prop_assert!(is_real(&topo, &tables, &vl_plan, cycle));
                }
            }
        }
    }
}
