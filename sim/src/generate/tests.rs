//! Shapes by their arithmetic, and properties that hold for every text.

use proptest::prelude::*;

use super::*;
use crate::spec::{PortAt, islands};

/// Text and, from the shape's own arithmetic: switches, hosts, cables.
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
    ("ring:4?routers=2?islands=2", 8, 8, 20),
    ("fat-tree2:8,8,4;spine-hosts=3", 12, 35, 67),
    ("fat-tree2:8,8,4;drop=0.25", 12, 32, 56),
    ("ring:6;drop=1", 6, 6, 11),
    ("ring:3,2;dual-port", 3, 6, 15),
];

#[test]
fn each_shape_has_the_size_that_its_arithmetic_says() {
    for (text, switches, cas, links) in SIZES {
        let spec = from_spec(text).unwrap();
        let found = (spec.switch_count(), spec.ca_count(), spec.links.len());
        assert_eq!(found, (*switches, *cas, *links), "{text}");
    }
}

#[test]
fn what_is_wrong_is_said_in_one_sentence() {
    for (text, message) in [
        (
            "fat-tree:5",
            "`fat-tree:5`: K is odd, and half of a switch's ports go up",
        ),
        (
            "fat-tree:60",
            "`fat-tree:60`: 58500 end ports need a LID, the unicast LID space has 49151",
        ),
        (
            "ring:3,0",
            "`ring:3,0`: there is no host, and a subnet manager needs one",
        ),
        (
            "ring:x",
            "`ring:x`: N is `x`, expected a number from 1 to 49151",
        ),
        ("torus:3", "`torus:3`: expected torus:X,Y[,Z][,H]"),
        (
            "hyperx:200,100,1",
            "`hyperx:200,100,1`: a switch would need 299 ports, the most that a node can have is 254",
        ),
        (
            "ring:3;parallel=200",
            "`ring:3;parallel=200`: a switch would need 401 ports, the most that a node can have is 254",
        ),
        (
            "star:254;sharp",
            "`star:254;sharp`: a switch would need 255 ports, the most that a node can have is 254",
        ),
        (
            "ring:3;drop=2",
            "`ring:3;drop=2`: drop is `2`, expected a part from 0 to 1",
        ),
        (
            "ring:4;spine-hosts=1",
            "`ring:4;spine-hosts=1`: spine-hosts needs switches without hosts, and all have some",
        ),
        (
            "back-to-back;sharp",
            "`back-to-back;sharp`: sharp needs a switch, and there is none",
        ),
    ] {
        assert_eq!(from_spec(text).unwrap_err().to_string(), message);
    }
    assert!(
        from_spec("tree:5")
            .unwrap_err()
            .to_string()
            .starts_with("`tree:5`: unknown shape `tree`")
    );
    assert!(
        from_spec("ring:5;fast")
            .unwrap_err()
            .to_string()
            .starts_with("`ring:5;fast`: unknown option `fast`")
    );
}

#[test]
fn every_pair_in_a_row_or_column_of_a_hyperx_is_cabled_once() {
    let spec = from_spec("hyperx:3,3,1").unwrap();
    let mut degrees = vec![0; spec.nodes.len()];
    let mut pairs = std::collections::BTreeSet::new();
    for link in &spec.links {
        degrees[link.a.node] += 1;
        degrees[link.b.node] += 1;
        assert!(pairs.insert((link.a.node, link.b.node)), "cabled twice");
    }
    let switches = spec
        .nodes
        .iter()
        .zip(degrees)
        .filter(|(n, _)| n.kind == NodeType::Switch);
    assert!(switches.map(|(_, d)| d).all(|d| d == 2 + 2 + 1));
}

#[test]
fn all_groups_of_a_dragonfly_are_cabled_to_each_other() {
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
fn aggregation_nodes_sit_on_an_extra_last_port() {
    let spec = from_spec("fat-tree2:40,4,20;sharp").unwrap();
    for switch in spec.nodes.iter().filter(|n| n.kind == NodeType::Switch) {
        assert_eq!(switch.num_ports, 41);
    }
    let mut count = 0;
    for link in &spec.links {
        for (end, other) in [(link.a, link.b), (link.b, link.a)] {
            if spec.nodes[end.node].description == "Mellanox Technologies Aggregation Node" {
                count += 1;
                assert_eq!(other.port, 41);
                let (ca, switch) = (&spec.nodes[end.node], &spec.nodes[other.node]);
                assert_eq!(ca.system_image_guid, switch.system_image_guid);
            }
        }
    }
    assert_eq!(count, spec.switch_count());
}

#[test]
fn mixed_speeds_are_mixed_and_agree_with_the_devices() {
    let spec = from_spec("fat-tree2:8,8,4;mixed-speeds;seed=5").unwrap();
    let speeds: std::collections::BTreeSet<_> = spec.links.iter().map(|l| l.speed).collect();
    assert!(speeds.len() > 2, "{speeds:?}");
    for link in &spec.links {
        for end in [link.a, link.b] {
            let node = &spec.nodes[end.node];
            let device_of = |s: LinkSpeed| hardware::device(node.kind, s);
            assert!(
                hardware::GENERATIONS
                    .iter()
                    .any(|s| device_of(*s) == node.device_id && *s >= link.speed)
            );
        }
    }
}

/// Texts of every shape, small, with every option.
pub(crate) fn any_text() -> impl Strategy<Value = String> {
    let shape = prop_oneof![
        (1usize..4).prop_map(|k| format!("fat-tree:{}", 2 * k)),
        (2usize..12, 1usize..6, 1usize..8).prop_map(|(r, l, h)| format!(
            "fat-tree2:{r},{},{}",
            l.min(r),
            h.min(r - 1)
        )),
        (1usize..5, 1usize..4, 1usize..4, 1usize..3)
            .prop_map(|(x, y, z, h)| format!("torus:{x},{y},{z},{h}")),
        (1usize..5, 1usize..4).prop_map(|(x, y)| format!("mesh:{x},{y}")),
        (1usize..5, 1usize..5, 1usize..3).prop_map(|(a, b, h)| format!("hyperx:{a},{b},{h}")),
        (2usize..5, 1usize..4, 1usize..3).prop_map(|(a, g, h)| format!("dragonfly:{a},{g},{h},1")),
        (1usize..16, 2usize..5, 1usize..3, any::<u64>())
            .prop_map(|(n, r, h, s)| format!("random:{n},{r},{h},{s}")),
        (1usize..9, 1usize..3).prop_map(|(n, h)| format!("ring:{n},{h}")),
        (1usize..9).prop_map(|h| format!("star:{h}")),
    ];
    let options = (
        0usize..3,
        0usize..3,
        1usize..4,
        0usize..3,
        proptest::collection::vec(
            prop::sample::select(vec![
                "sharp",
                "dual-port",
                "mixed-speeds",
                "shuffle",
                "islands=2",
                "plugs=1",
            ]),
            0..4,
        ),
        any::<u64>(),
    );
    (shape, options).prop_map(|(shape, (drop, loops, parallel, routers, flags, seed))| {
        let flags: String = flags.iter().map(|f| format!(";{f}")).collect();
        // Only switches of 36 ports have room for loopbacks in any case.
        let loops = if shape.starts_with("fat-tree") { 0 } else { loops };
        let flags = if shape.starts_with("fat-tree") { flags.replace(";plugs=1", "") } else { flags };
        format!("{shape};drop=0.{drop};loopbacks={loops};parallel={parallel};routers={routers};seed={seed}{flags}")
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Every text gives a sound fabric: GUIDs are unique, a port has one cable, all is connected,
    /// and it comes out the same again.
    #[test]
    fn every_fabric_is_sound(text in any_text()) {
        let spec = from_spec(&text).unwrap();
        prop_assert_eq!(&spec, &from_spec(&text).unwrap());
        prop_assert_eq!(spec.nodes[0].kind, NodeType::Ca);
        prop_assert!(spec.nodes[0].description.contains("host-"));

        let mut guids = std::collections::BTreeSet::new();
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

        let mut cabled = std::collections::BTreeSet::<PortAt>::new();
        for link in &spec.links {
            let ends = if link.a == link.b { vec![link.a] } else { vec![link.a, link.b] };
            for end in ends {
                prop_assert!(end.port >= 1 && end.port <= spec.nodes[end.node].num_ports);
                prop_assert!(cabled.insert(end), "two cables in one port");
            }
        }
        let parts = if text.contains("islands=2") { 2 } else { 1 };
        prop_assert_eq!(islands(&spec).len(), parts);
        let mut again = spec.clone();
        again.normalise();
        prop_assert_eq!(again, spec);
    }
}
