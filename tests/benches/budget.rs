//! Work units that each engine needs without a limit, and work units per second: the basis of the
//! SM's `WORK_UNITS_PER_SECOND` and of the fabrics for which a budget of two seconds suffices.

#[path = "../../routing/tests/routes/common.rs"]
#[allow(dead_code, reason = "shared module, partly used here")]
mod common;

use std::time::Instant;

use common::{Fabric, dragonfly, random, torus, two_level};
use ferrosm_routing::{RoutingRequest, WorkBudget, engine_by_name};

#[allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark prints its results and reads the clock"
)]
fn main() {
    let thinned = |mut fabric: Fabric| {
        fabric.links = (0..)
            .zip(fabric.links)
            .filter(|(i, _)| i % 200 != 7)
            .map(|(_, c)| c)
            .collect();
        fabric
    };
    let fabrics: [(&str, Fabric); 8] = [
        ("random, 100 switches", random(100, 300, 800, 1)),
        ("random, 250 switches", random(250, 750, 2000, 1)),
        ("random, 500 switches", random(500, 1500, 4000, 1)),
        ("dragonfly, 9 groups of 8", dragonfly(9, 8, 4)),
        ("dragonfly, 33 groups of 8", dragonfly(33, 8, 4)),
        ("mesh 8x8x8, damaged", thinned(torus(&[8, 8, 8], 2))),
        ("torus 12x12x6, damaged", thinned(torus(&[12, 12, 6], 2))),
        ("tree, damaged", thinned(two_level(36, 18, 18, 1))),
    ];
    println!(
        "{:<28} {:<8} {:>8} {:>12} {:>14}",
        "fabric", "engine", "s", "units", "units/s"
    );
    for (name, fabric) in &fabrics {
        let topo = fabric.build();
        for engine in ["updn", "nue", "dfsssp"] {
            let Some(engine) = engine_by_name(engine) else {
                continue;
            };
            let work = WorkBudget::limited(u64::MAX - 1);
            let began = Instant::now();
            let result = engine.route(&RoutingRequest::new(&topo).with_budget(&work));
            let seconds = began.elapsed().as_secs_f64();
            println!(
                "{name:<28} {:<8} {seconds:>8.2} {:>12} {:>14.0}{}",
                engine.name(),
                work.spent(),
                work.spent() as f64 / seconds,
                result
                    .err()
                    .map_or_else(String::new, |error| format!("  {error}"))
            );
        }
    }
}
