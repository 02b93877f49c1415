//! The proof that remembers: after any change it says what the whole proof says.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "test helpers"
)]

#[path = "common/mod.rs"]
mod common;

use std::sync::Arc;

use common::*;
use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_routing::verify::Ledger;
use ferrosm_routing::{
    Lanes, Lft, PathSl, Previous, Request, Tables, Topology, engine_by_name, verify,
};
use proptest::prelude::*;

fn overwrite(tables: &mut Tables, dice: &mut Lcg, top: Lid) {
    let s = dice.below(tables.len());
    let mut lft = Lft::clone(&tables[s]);
    let lid = Lid(dice.below(usize::from(top.raw()) + 1) as u16);
    lft.set(lid, PortNum(1 + dice.below(6) as u8));
    tables[s] = Arc::new(lft);
}

fn some_lanes(topo: &Topology, dice: &mut Lcg) -> Lanes {
    let n = topo.num_switches();
    let lids = usize::from(topo.top_lid().raw()) + 1;
    match dice.below(6) {
        0 | 1 => Lanes::single(),
        2 => Lanes::modulo(3, PathSl::Uniform(dice.below(3) as u8)),
        3 => Lanes::modulo(
            2,
            PathSl::ByLid((0..lids).map(|_| dice.below(2) as u8).collect()),
        ),
        _ => {
            // Symmetric.
            let salt = dice.below(4);
            let sl = |a: usize, b: usize| ((a.min(b) * 7 + a.max(b) * 3) / (1 + salt) % 2) as u8;
            let row = |a: usize| (0..n).map(|b| sl(a, b)).collect();
            Lanes::modulo(2, PathSl::BySwitches((0..n).map(row).collect()))
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Twelve changes in turn, of any kind: a cable lost or plugged again and routed anew with what was installed, other
    /// engines, entries overwritten, other lanes, an end port more or less. Each time the same proof or failure.
    #[test]
    fn what_is_remembered_never_shows(n in 2usize..9, extra in 0usize..12, hosts in 0usize..14, seed: u64) {
        let whole = random(n, extra, hosts, seed);
        let mut fabric = whole.clone();
        let mut dice = Lcg(!seed);
        let mut ledger = Ledger::new();
        let mut topo = Arc::new(fabric.build());
        let mut lanes = Lanes::single();
        let route = |topo: &Topology, engine: &str, previous: &Previous| {
            let engine = engine_by_name(engine).unwrap();
            engine.route(&Request::new(topo).after(previous)).unwrap()
        };
        let mut routing = route(&topo, "updn", &Previous::none());
        for _ in 0..12 {
            match dice.below(8) {
                0..=2 if !fabric.cables.is_empty() => {
                    let less = fabric.without_cable(dice.below(fabric.cables.len()));
                    if less.connected() {
                        fabric = less;
                    }
                }
                3 => fabric.cables.clone_from(&whole.cables),
                4 => overwrite(&mut routing.tables, &mut dice, topo.top_lid()),
                5 => routing = route(&topo, "minhop", &Previous::none()),
                6 => lanes = some_lanes(&topo, &mut dice),
                7 if fabric.hosts.len() > 1 => drop(fabric.hosts.pop()),
                _ => {}
            }
            let next = Arc::new(fabric.build());
            if next != topo {
                routing = route(&next, "updn", &Previous::tables_of(&routing));
                topo = next;
            }
            let remembered = ledger.verify(&topo, &routing.tables, &lanes);
            prop_assert_eq!(remembered, verify(&topo, &routing.tables, &lanes));
        }
    }
}
