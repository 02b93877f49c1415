//! Property tests: random shapes with random options give consistent fabrics of the documented
//! size.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::spec::{DisjointSets, PortAt};

/// Size of a shape, computed from its parameters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExpectedSize {
    switches: usize,
    hosts: usize,
    host_ports: usize,
    /// Switch-to-switch links; `None` for random shapes.
    trunks: Option<usize>,
    /// Connected components of the switch graph.
    parts: usize,
    /// Whether some switches have no hosts, to which the option `spine-hosts` can attach some.
    has_bare_switches: bool,
}

fn size(switches: usize, hosts: usize, trunks: usize) -> ExpectedSize {
    ExpectedSize {
        switches,
        hosts,
        host_ports: 1,
        trunks: Some(trunks),
        parts: 1,
        has_bare_switches: false,
    }
}

fn with_bare_switches(size: ExpectedSize) -> ExpectedSize {
    ExpectedSize {
        has_bare_switches: true,
        ..size
    }
}

fn grid_size(sides: [usize; 3], hosts: usize, wraps: bool) -> ExpectedSize {
    let all: usize = sides.iter().product();
    let trunks = sides
        .iter()
        .map(|s| {
            if wraps && *s > 2 {
                all
            } else {
                all / s * (s - 1)
            }
        })
        .sum();
    size(all, all * hosts, trunks)
}

fn tree_size(m: &[usize], w: &[usize], p: &[usize]) -> ExpectedSize {
    let width = |l: usize| m[l..].iter().product::<usize>() * w[..l].iter().product::<usize>();
    ExpectedSize {
        switches: (1..=m.len()).map(width).sum(),
        hosts: width(0),
        host_ports: w[0] * p[0],
        trunks: Some((1..m.len()).map(|l| width(l) * w[l] * p[l]).sum()),
        parts: w[0],
        has_bare_switches: m.len() > 1,
    }
}

fn join_with_commas(numbers: &[usize]) -> String {
    let texts: Vec<_> = numbers.iter().map(usize::to_string).collect();
    texts.join(",")
}

fn any_shape() -> impl Strategy<Value = (String, ExpectedSize)> {
    let level = || (1usize..4, 1usize..3, 1usize..3);
    prop_oneof![
        (1usize..4).prop_map(|half| {
            let k = 2 * half;
            let size =
                with_bare_switches(size(5 * half * half, k * half * half, 2 * k * half * half));
            (format!("fat-tree:{k}"), size)
        }),
        (2usize..12, 1usize..6, 1usize..8).prop_map(|(r, l, h)| {
            let (l, h) = (l.min(r), h.min(r - 1));
            let up = (r / 2).min(r - h);
            let size = with_bare_switches(size(l + (up * l).div_ceil(r), l * h, l * up));
            (format!("fat-tree2:{r},{l},{h}"), size)
        }),
        proptest::collection::vec(level(), 1..4).prop_map(|levels| {
            let m: Vec<_> = levels.iter().map(|l| l.0).collect();
            let w: Vec<_> = levels.iter().map(|l| l.1).collect();
            let p: Vec<_> = levels.iter().map(|l| l.2).collect();
            let text = format!(
                "pgft:{}/{}/{}",
                join_with_commas(&m),
                join_with_commas(&w),
                join_with_commas(&p)
            );
            (text, tree_size(&m, &w, &p))
        }),
        proptest::collection::vec(level(), 1..4).prop_map(|levels| {
            let m: Vec<_> = levels.iter().map(|l| l.0).collect();
            let w: Vec<_> = levels.iter().map(|l| l.1).collect();
            let text = format!("xgft:{}/{}", join_with_commas(&m), join_with_commas(&w));
            (text, tree_size(&m, &w, &vec![1; m.len()]))
        }),
        (1usize..4, 1usize..4, 1usize..5, 1usize..4, 0usize..3).prop_map(|(p, s, g, spines, c)| {
            let spines = spines.min(s);
            let cables = s * g;
            let (switches, trunks) = if c == 0 {
                (p * g + spines, p * cables)
            } else {
                let up = spines * cables.div_ceil(spines);
                (p * (g + spines) + c.min(up), p * (cables + up))
            };
            let c = c.min(spines * cables.div_ceil(spines));
            let text = format!("rail-pods:{p},{s},{g},{spines},{c}");
            (text, with_bare_switches(size(switches, p * cables, trunks)))
        }),
        (1usize..5, 1usize..4, 1usize..4, 1usize..3).prop_map(|(x, y, z, h)| (
            format!("torus:{x},{y},{z},{h}"),
            grid_size([x, y, z], h, true)
        )),
        (1usize..5, 1usize..4)
            .prop_map(|(x, y)| (format!("mesh:{x},{y}"), grid_size([x, y, 1], 1, false))),
        (1usize..4, 1usize..4, 1usize..4, 1usize..3).prop_map(|(a, b, c, h)| {
            let all = a * b * c;
            let size = size(all, all * h, all * (a + b + c - 3) / 2);
            (format!("hyperx:{a}x{b}x{c},{h}"), size)
        }),
        (2usize..5, 1usize..4, 1usize..3).prop_map(|(a, g, h)| {
            let global = if g > 1 {
                a * h / (g - 1) * (g * (g - 1) / 2)
            } else {
                0
            };
            let size = size(a * g, a * g, g * a * (a - 1) / 2 + global);
            (format!("dragonfly:{a},{g},{h},1"), size)
        }),
        (1usize..4, 1usize..4, 1usize..4, 2usize..4).prop_map(|(g, l, s, h)| {
            let global = if g > 1 {
                s * h / (g - 1) * (g * (g - 1) / 2)
            } else {
                0
            };
            let size = with_bare_switches(size(g * (l + s), g * l * 2, g * l * s + global));
            (format!("dragonfly+:{g},{l},{s},{h},2"), size)
        }),
        (prop::sample::select(vec![3usize, 4, 5]), 1usize..3).prop_map(|(q, h)| {
            let delta = [0, 1, 9, -1][q % 4];
            let degree = (3 * isize::try_from(q).unwrap() - delta) / 2;
            let degree = usize::try_from(degree).unwrap();
            (
                format!("slim-fly:{q},{h}"),
                size(2 * q * q, 2 * q * q * h, q * q * degree),
            )
        }),
        (1usize..16, 2usize..5, 1usize..3, any::<u64>()).prop_map(|(n, r, h, s)| {
            let size = ExpectedSize {
                trunks: None,
                ..size(n, n * h, 0)
            };
            (format!("random:{n},{r},{h},{s}"), size)
        }),
        (1usize..9, 1usize..3)
            .prop_map(|(n, h)| (format!("ring:{n},{h}"), grid_size([n, 1, 1], h, true))),
        (1usize..9).prop_map(|h| (format!("star:{h}"), size(1, h, 0))),
    ]
}

/// Small specifications of every shape with every option, with the expected size and the number of
/// links other than between two switches.
fn any_case() -> impl Strategy<Value = (String, ExpectedSize, usize)> {
    let flags = vec![
        "sharp",
        "dual-port",
        "mixed-speeds",
        "shuffle",
        "components=2",
        "plugs=1",
        "planes=2",
        "speed=XDR",
    ];
    let options = (
        0usize..3,
        0usize..3,
        1usize..4,
        0usize..3,
        0usize..3,
        proptest::sample::subsequence(flags, 0..5),
        any::<u64>(),
    );
    (any_shape(), options).prop_map(
        |((shape, size), (drop, loops, parallel, routers, spine_hosts, flags, seed))| {
            let flag = |name: &str| flags.contains(&name);
            let planes = if flag("planes=2") { 2 } else { 1 };
            let components = if flag("components=2") { 2 } else { 1 };
            let spine_hosts = if size.has_bare_switches { spine_hosts } else { 0 };
            let size = ExpectedSize {
                switches: size.switches * planes,
                trunks: size.trunks.map(|t| t * planes * parallel),
                parts: size.parts * planes * components,
                host_ports: size.host_ports * planes + usize::from(flag("dual-port")),
                ..size
            };
            // Per copy: links other than between two switches.
            let other_links = size.hosts * size.host_ports
                + spine_hosts * (1 + usize::from(flag("dual-port")))
                + loops
                + usize::from(flag("plugs=1"))
                + routers
                + if flag("sharp") { size.switches } else { 0 };
            let size = ExpectedSize { hosts: size.hosts + spine_hosts, ..size };
            let extra: String = flags.iter().map(|f| format!(";{f}")).collect();
            let text = format!(
                "{shape};drop=0.{drop};spine-hosts={spine_hosts};loopbacks={loops};parallel={parallel};routers={routers};seed={seed}{extra}"
            );
            (text, size, other_links)
        },
    )
}

/// Small specifications of every shape with every option.
pub(crate) fn any_text() -> impl Strategy<Value = String> {
    any_case().prop_map(|(text, _, _)| text)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// GUIDs are unique, a port has one link, the number of components and the counts are as
    /// documented, and the result is reproducible.
    #[test]
    fn every_fabric_is_consistent((text, size, other_links) in any_case()) {
        let spec = from_spec(&text).unwrap();
        prop_assert_eq!(&spec, &from_spec(&text).unwrap());
        prop_assert_eq!(spec.nodes[0].kind, NodeType::Ca);
        prop_assert!(spec.nodes[0].description.contains(" mlx5_"));

        let mut guids = BTreeSet::new();
        for node in &spec.nodes {
            prop_assert!(guids.insert(node.node_guid.raw()));
            let ports = if node.kind == NodeType::Switch { 1 } else { usize::from(node.num_ports) };
            prop_assert_eq!(node.port_guids.len(), ports);
            prop_assert_eq!(node.lids.len(), ports);
            for (port, guid) in (1..).zip(&node.port_guids) {
                if node.kind == NodeType::Switch {
                    prop_assert_eq!(guid.raw(), node.node_guid.raw());
                } else {
                    prop_assert_eq!(guid.raw(), node.node_guid.raw() + port);
                    prop_assert!(guids.insert(guid.raw()));
                }
            }
        }

        let mut cabled = BTreeSet::<PortAt>::new();
        for link in &spec.links {
            let ends = if link.a == link.b { vec![link.a] } else { vec![link.a, link.b] };
            for end in ends {
                prop_assert!(end.port >= 1 && end.port <= spec.nodes[end.node].num_ports);
                prop_assert!(cabled.insert(end), "two links at one port");
            }
        }

        let components = if text.contains("components=2") { 2 } else { 1 };
        prop_assert_eq!(spec.switch_count(), size.switches * components);
        let aggregation = if text.contains("sharp") { size.switches } else { 0 };
        prop_assert_eq!(spec.ca_count(), (size.hosts + aggregation) * components);
        let hosts = spec.nodes.iter().filter(|n| {
            n.kind == NodeType::Ca && n.description.contains(" mlx5_") && !n.description.contains("service-")
        });
        prop_assert!(hosts.map(|n| usize::from(n.num_ports)).all(|ports| ports == size.host_ports));
        let is_switch = |at: PortAt| spec.nodes[at.node].kind == NodeType::Switch;
        let trunks = spec.links.iter().filter(|l| is_switch(l.a) && is_switch(l.b) && l.a.node != l.b.node);
        let (trunks, others) = (trunks.clone().count(), spec.links.len() - trunks.count());
        prop_assert_eq!(others, other_links * components);
        if let Some(all) = size.trunks {
            prop_assert!(trunks <= all * components);
            if text.contains("drop=0.0") {
                prop_assert_eq!(trunks, all * components);
            }
        }

        // Components connected by switches: CAs and routers do not forward.
        let mut sets = DisjointSets::new(spec.nodes.len());
        let mut parts = spec.switch_count();
        for link in spec.links.iter().filter(|l| is_switch(l.a) && is_switch(l.b)) {
            parts -= usize::from(sets.join(link.a.node, link.b.node));
        }
        prop_assert_eq!(parts, size.parts);

        let mut normalised = spec.clone();
        normalised.normalise();
        prop_assert_eq!(normalised, spec);
    }
}
