//! Sizes of topologies, and errors of invalid SPECs.

use super::*;
use crate::hardware;

/// SPEC, and the number of switches, hosts and links of its fabric.
const SIZES: &[(&str, usize, usize, usize)] = &[
    ("fat-tree:4", 20, 16, 48),
    ("fat-tree:36", 1620, 11_664, 34_992),
    ("fat-tree2:36,36,18", 54, 648, 1296),
    ("fat-tree2:8,3,6", 4, 18, 24),
    ("fat-tree2:36,10,18", 15, 180, 360),
    ("torus:4,4,3,2", 48, 96, 240),
    ("torus:3,2", 6, 6, 15),
    ("mesh:3,3", 9, 9, 21),
    ("mesh:3,3,1,4", 9, 36, 48),
    ("hyperx:3,4,2", 12, 24, 54),
    ("dragonfly:4,5,1,2", 20, 40, 80),
    ("random:30,4,1,7", 30, 30, 90),
    ("ring:5,2", 5, 10, 15),
    ("ring:1", 1, 1, 1),
    ("ring:2", 2, 2, 3),
    ("star:7", 1, 7, 7),
    ("single-switch:7", 1, 7, 7),
    ("back-to-back", 0, 2, 1),
    ("back-to-back;dual-port", 0, 2, 2),
    ("ring:4;sharp", 4, 8, 12),
    ("ring:4;parallel=3", 4, 4, 16),
    ("ring:4;loopbacks=3;plugs=2", 4, 4, 13),
    ("ring:4?routers=2?components=2", 8, 8, 20),
    ("fat-tree2:8,8,4;spine-hosts=3", 12, 35, 67),
    ("fat-tree2:8,8,4;drop=0.25", 12, 32, 56),
    ("ring:6;drop=1", 6, 6, 11),
    ("ring:3,2;dual-port", 3, 6, 15),
    ("fat-tree:4;loopbacks=2;plugs=1", 20, 16, 51),
    ("xgft:4/1", 1, 4, 4),
    ("xgft:2,2,4/1,2,2", 20, 16, 48),
    ("xgft:3,3/2,2", 10, 9, 30),
    ("pgft:18,12/1,9/1,2", 21, 216, 432),
    ("hyperx:2x2x2x2,1", 16, 16, 48),
    ("hyperx:5x5,2", 25, 50, 150),
    ("dragonfly+:5,2,2,2,3", 20, 30, 60),
    ("dragonfly-plus:1,3,2,0,1", 5, 3, 9),
    ("slim-fly:5", 50, 200, 375),
    ("slim-fly:5,1", 50, 50, 225),
    ("rail-pods:1,32,8", 12, 256, 512),
    ("rail-pods:4,32,8,16,0", 48, 1024, 2048),
    ("rail-pods:2,32,8", 40, 512, 1536),
    ("star:3;planes=4", 4, 3, 12),
    ("fat-tree2:8,8,4;planes=2;drop=0.25", 24, 32, 112),
];

#[test]
fn topologies_have_the_computed_size() {
    for (text, switches, cas, links) in SIZES {
        let spec = from_spec(text).unwrap();
        let counts = (spec.switch_count(), spec.ca_count(), spec.links.len());
        assert_eq!(counts, (*switches, *cas, *links), "{text}");
    }
}

#[test]
fn invalid_texts_are_rejected_with_a_reason() {
    for (text, message) in [
        (
            "fat-tree:5",
            "`fat-tree:5`: K must be even: half of a switch's ports are uplinks",
        ),
        (
            "fat-tree:60",
            "`fat-tree:60`: 58500 end ports exceed the 49151 unicast LIDs",
        ),
        ("ring:3,0", "`ring:3,0`: the fabric has no host for the SM"),
        (
            "ring:x",
            "`ring:x`: N is `x`, expected a number from 1 to 49151",
        ),
        ("torus:3", "`torus:3`: expected torus:X,Y[,Z][,H]"),
        (
            "hyperx:200,100,1",
            "`hyperx:200,100,1`: a switch needs 299 ports, the maximum is 254",
        ),
        (
            "ring:3;parallel=200",
            "`ring:3;parallel=200`: a switch needs 401 ports, the maximum is 254",
        ),
        (
            "star:254;sharp",
            "`star:254;sharp`: a switch needs 255 ports, the maximum is 254",
        ),
        (
            "ring:3;drop=2",
            "`ring:3;drop=2`: drop is `2`, expected a fraction from 0 to 1",
        ),
        (
            "ring:4;spine-hosts=1",
            "`ring:4;spine-hosts=1`: spine-hosts requires switches without hosts",
        ),
        (
            "slim-fly:6",
            "`slim-fly:6`: slim-fly:Q: 6 is not a prime power of the form 4w-1, 4w or 4w+1 (nearest: 5 and 7)",
        ),
        (
            "slim-fly:2",
            "`slim-fly:2`: Q is `2`, expected a number from 3 to 156",
        ),
        (
            "xgft:2,2/1",
            "`xgft:2,2/1`: expected xgft:M1,M2,.../W1,W2,...",
        ),
        (
            "pgft:2,2/1,2",
            "`pgft:2,2/1,2`: expected pgft:M1,M2,.../W1,W2,.../P1,P2,...",
        ),
        (
            "pgft:4,2/4,2/4,1",
            "`pgft:4,2/4,2/4,1`: a host needs 16 ports, the maximum is 15",
        ),
        (
            "xgft:40,40,40/1,20,20",
            "`xgft:40,40,40/1,20,20`: 66800 end ports exceed the 49151 unicast LIDs",
        ),
        (
            "xgft:200,2/1,60",
            "`xgft:200,2/1,60`: a switch needs 260 ports, the maximum is 254",
        ),
        (
            "rail-pods:1,4,8,5",
            "`rail-pods:1,4,8,5`: a leaf has SERVERS uplinks, fewer than SPINES",
        ),
        (
            "rail-pods:1,4",
            "`rail-pods:1,4`: expected rail-pods:PODS,SERVERS,GPUS[,SPINES[,CORES]]",
        ),
        (
            "dragonfly+:9,2,2,3,1",
            "`dragonfly+:9,2,2,3,1`: the S * H global links of a group do not reach all G - 1 other groups",
        ),
        (
            "star:3;planes=16",
            "`star:3;planes=16`: planes is `16`, expected a number from 1 to 15",
        ),
        (
            "back-to-back;planes=2",
            "`back-to-back;planes=2`: planes requires a switch",
        ),
        (
            "hyperx:3x0x3",
            "`hyperx:3x0x3`: B is `0`, expected a number from 1 to 254",
        ),
        (
            "back-to-back;sharp",
            "`back-to-back;sharp`: sharp requires a switch",
        ),
    ] {
        assert_eq!(from_spec(text).unwrap_err().to_string(), message);
    }
    assert!(
        from_spec("tree:5")
            .unwrap_err()
            .to_string()
            .starts_with("`tree:5`: unknown topology `tree`")
    );
    assert!(
        from_spec("ring:5;fast")
            .unwrap_err()
            .to_string()
            .starts_with("`ring:5;fast`: unknown option `fast`")
    );
}

#[test]
fn hyperx_pairs_in_a_row_or_column_have_one_link() {
    let spec = from_spec("hyperx:3,3,1").unwrap();
    let mut degrees = vec![0; spec.nodes.len()];
    let mut pairs = std::collections::BTreeSet::new();
    for link in &spec.links {
        degrees[link.a.node] += 1;
        degrees[link.b.node] += 1;
        assert!(pairs.insert((link.a.node, link.b.node)), "two links");
    }
    let switches = spec
        .nodes
        .iter()
        .zip(degrees)
        .filter(|(n, _)| n.kind == NodeType::Switch);
    assert!(switches.map(|(_, d)| d).all(|d| d == 2 + 2 + 1));
}

#[test]
fn all_dragonfly_groups_are_connected_pairwise() {
    let spec = from_spec("dragonfly:4,9,2,1").unwrap();
    let group = |node: usize| {
        let name = spec.nodes[node].description.strip_prefix("router-")?;
        name.split('-').next().map(str::to_owned)
    };
    let mut pairs = std::collections::BTreeSet::new();
    for link in &spec.links {
        if let (Some(a), Some(b)) = (group(link.a.node), group(link.b.node))
            && a != b
        {
            pairs.insert((a.clone().min(b.clone()), a.max(b)));
        }
    }
    assert_eq!(pairs.len(), 9 * 8 / 2);
}

#[test]
fn aggregation_nodes_use_an_extra_last_port() {
    let spec = from_spec("fat-tree2:40,4,20;sharp").unwrap();
    for switch in spec.nodes.iter().filter(|n| n.kind == NodeType::Switch) {
        assert_eq!(switch.num_ports, 41);
    }
    let mut count = 0;
    for link in &spec.links {
        for (port, other) in [(link.a, link.b), (link.b, link.a)] {
            if spec.nodes[port.node].description == "Mellanox Technologies Aggregation Node" {
                count += 1;
                assert_eq!(other.port, 41);
                let (ca, switch) = (&spec.nodes[port.node], &spec.nodes[other.node]);
                assert_eq!(ca.system_image_guid, switch.system_image_guid);
            }
        }
    }
    assert_eq!(count, spec.switch_count());
}

#[test]
fn mixed_speeds_vary_and_match_the_devices() {
    let spec = from_spec("fat-tree2:8,8,4;mixed-speeds;seed=5").unwrap();
    let speeds: std::collections::BTreeSet<_> = spec.links.iter().map(|l| l.speed).collect();
    assert!(speeds.len() > 2, "{speeds:?}");
    for link in &spec.links {
        for port in [link.a, link.b] {
            let node = &spec.nodes[port.node];
            let device_of = |s: LinkSpeed| hardware::device(node.kind, s);
            assert!(
                hardware::GENERATIONS
                    .iter()
                    .any(|s| device_of(*s) == node.device_id && *s >= link.speed)
            );
        }
    }
}

#[test]
fn documented_sizes_are_correct() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/topologies.md");
    let text = std::fs::read_to_string(path).unwrap();
    let mut shapes = std::collections::BTreeSet::new();
    for line in text.lines().filter(|l| l.starts_with("| `")) {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let [_, spec, switches, hosts, cables, _] = cells[..] else {
            continue;
        };
        let name = spec.trim_matches('`');
        let spec = from_spec(name).unwrap();
        let counts = [spec.switch_count(), spec.ca_count(), spec.links.len()];
        let reported = [switches, hosts, cables].map(|n| n.parse::<usize>().ok());
        assert_eq!(counts.map(Some), reported, "{name}");
        shapes.insert(name.split(':').next().unwrap().to_owned());
    }
    // Every topology that the error for unknown topologies lists has a row.
    let all = from_spec("none").unwrap_err().to_string();
    let list = all.split_once("expected ").unwrap().1.replace(" or ", ", ");
    for shape in list.split(", ").filter(|s| *s != "single-switch") {
        assert!(shapes.contains(shape), "{shape} has no row");
    }
}
