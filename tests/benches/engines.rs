//! Time of the engines and of verification on full trees of 648, 3,456 and 11,664 end ports.

#[path = "../../routing/tests/routes/common.rs"]
#[allow(dead_code, reason = "shared module, partly used here")]
mod common;

use std::hint::black_box;
use std::time::Duration;

use common::{Fabric, three_level, two_level};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use ferrosm_routing::{PreviousRouting, RoutingRequest, VlPlan, engine_by_name, verify};

fn engines(c: &mut Criterion) {
    let fabrics: [(u32, Fabric); 3] = [
        (648, two_level(36, 18, 18, 1)),
        (3456, three_level(12)),
        (11_664, three_level(18)),
    ];
    let mut group = c.benchmark_group("tree");
    group
        .sample_size(20)
        .measurement_time(Duration::from_secs(5));
    for (hosts, fabric) in &fabrics {
        let topo = fabric.build();
        for name in ["updn", "minhop"] {
            let Some(engine) = engine_by_name(name) else {
                continue;
            };
            group.bench_with_input(BenchmarkId::new(name, hosts), &topo, |b, topo| {
                b.iter(|| black_box(engine.route(&RoutingRequest::new(topo))));
            });
        }
        let Some(Ok(before)) = engine_by_name("updn").map(|e| e.route(&RoutingRequest::new(&topo)))
        else {
            continue;
        };
        group.bench_with_input(BenchmarkId::new("verify", hosts), &topo, |b, topo| {
            b.iter(|| black_box(verify(topo, &before.tables, &VlPlan::single())));
        });
        let degraded = fabric.without_link(fabric.links.len() / 2).build();
        let previous = PreviousRouting::from_tables_of(&before);
        group.bench_with_input(
            BenchmarkId::new("updn-lost-cable", hosts),
            &degraded,
            |b, degraded| {
                b.iter(|| {
                    black_box(
                        engine_by_name("updn").map(|e| {
                            e.route(&RoutingRequest::new(degraded).with_previous(&previous))
                        }),
                    )
                });
            },
        );
        group.bench_with_input(
            BenchmarkId::new("build-topology", hosts),
            fabric,
            |b, fabric| {
                b.iter(|| black_box(fabric.build()));
            },
        );
    }
    group.finish();
}

criterion_group!(benches, engines);
criterion_main!(benches);
