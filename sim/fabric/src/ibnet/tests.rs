//! Output of ibnetdiscover, ibdiagnet and ibsim, and altered copies of it: terminal copies,
//! prompts, invalid values.

use ferrosm_mad::attr::{LinkSpeed, LinkWidth, NodeType};
use ferrosm_mad::ids::{Lid, Lmc, NodeGuid, PortGuid, SystemImageGuid};
use proptest::prelude::*;

use super::*;
use crate::generate::from_spec;
use crate::spec::{FabricSpec, PortAt};

/// ibnetdiscover's output for a switch with a loopback cable, a two-port host, and a router.
const PLAIN: &str = "\
#
# Topology file: generated on a Friday
#
# Initiated from node 0002c90400000010 port 0002c90400000011

vendid=0x2c9
devid=0xd2f0
sysimgguid=0x2c9030000aa00
switchguid=0x2c90300000000(2c90300000008)
Switch\t40 \"S-0002c90300000000\"\t\t# \"MF0;leaf \"1\" #2:MQM8700/U1\" enhanced port 0 lid 7 lmc 0
[1]\t\"H-0002c90400000010\"[2](2c90400000019) \t\t# \"node-1 mlx5_0\" lid 12 4xHDR
[5][ext 3]\t\"S-0002c90300000000\"[6]\t\t# \"MF0;leaf \"1\" #2:MQM8700/U1\" lid 7 4xHDR
[6]\t\"S-0002c90300000000\"[5][ext 3]\t\t# \"MF0;leaf \"1\" #2:MQM8700/U1\" lid 7 4xHDR
[9]\t\"R-0002c90400000020\"[1](2c90400000021) \t\t# \"gw\" lid 20 2xXDR

vendid=0x2c9
devid=0x101b
sysimgguid=0x2c90400000010
caguid=0x2c90400000010
Ca\t2 \"H-0002c90400000010\"\t\t# \"node-1 mlx5_0\"
[2](2c90400000019) \t\"S-0002c90300000000\"[1]\t\t# lid 12 lmc 2 \"MF0;leaf \"1\" #2:MQM8700/U1\" lid 7 4xHDR

vendid=0x2c9
devid=0x1
rtguid=0x2c90400000020
Rt\t1 \"R-0002c90400000020\"\t\t# \"gw\"
[1](2c90400000021) \t\"S-0002c90300000000\"[9]\t\t# lid 20 lmc 0 \"MF0;leaf \"1\" #2:MQM8700/U1\" lid 7 2xXDR
";

#[test]
fn ibnetdiscover_output_is_read() {
    let spec = read(PLAIN).unwrap();
    let switch = &spec.nodes[0];
    assert_eq!(switch.kind, NodeType::Switch);
    assert_eq!(switch.description, "MF0;leaf \"1\" #2:MQM8700/U1");
    assert_eq!(switch.num_ports, 40);
    assert_eq!(switch.port_guids, [PortGuid(0x2_c903_0000_0008)]);
    assert_eq!(
        switch.system_image_guid,
        SystemImageGuid(0x2_c903_0000_aa00)
    );
    assert_eq!((switch.vendor_id, switch.device_id), (0x2c9, 0xd2f0));
    assert_eq!(switch.lids, [(Lid(7), Lmc(0))]);
    assert!(switch.enhanced_port0);
    let host = &spec.nodes[1];
    assert_eq!(host.kind, NodeType::Ca);
    assert_eq!(host.node_guid, NodeGuid(0x2_c904_0000_0010));
    // Port 1 has no link: its GUID follows the node GUID; port 2 has its own.
    assert_eq!(
        host.port_guids,
        [PortGuid(0x2_c904_0000_0011), PortGuid(0x2_c904_0000_0019)]
    );
    assert_eq!(host.lids, [(Lid(0), Lmc(0)), (Lid(12), Lmc(2))]);
    assert_eq!(spec.nodes[2].kind, NodeType::Router);
    assert_eq!(
        spec.nodes[2].system_image_guid,
        SystemImageGuid(0x2_c904_0000_0020)
    );
    let ends: Vec<_> = spec
        .links
        .iter()
        .map(|l| (l.a.node, l.a.port, l.b.node, l.b.port, l.width.0, l.speed))
        .collect();
    assert_eq!(
        ends,
        [
            (0, 1, 1, 2, 4, LinkSpeed::Hdr),
            (0, 5, 0, 6, 4, LinkSpeed::Hdr),
            (0, 9, 2, 1, 2, LinkSpeed::Xdr)
        ]
    );
}

#[test]
fn terminal_copies_read_as_the_original() {
    let original = read(PLAIN).unwrap();
    let crlf = PLAIN.replace('\n', "\r\n");
    let blanks = PLAIN.replace('\t', "    ");
    let no_tabs = PLAIN.replace('\t', "");
    let prompt = format!("\u{feff}[root@head ~]# ibnetdiscover\r\n{crlf}[root@head ~]# \r\n");
    let prompt_first = format!(
        "\u{feff}{}",
        PLAIN.replacen('#', "admin@head:~$ ibnetdiscover", 1)
    );
    for copy in [crlf, blanks, no_tabs, prompt, prompt_first] {
        assert_eq!(read(&copy).as_ref(), Ok(&original), "{copy}");
    }
}

#[test]
fn missing_and_invalid_lids_are_unset() {
    for none in [
        "lid  lmc 0",
        "lid 65535 lmc 0",
        "lid 0 lmc 0",
        "lid 0xffff lmc 0",
    ] {
        let text = PLAIN
            .replace("lid 7 lmc 0", none)
            .replace("# lid 12 lmc 2", &format!("# {none}"));
        let parsed = read_file(text.as_bytes(), &mut |_| Ok(Vec::new())).unwrap();
        assert_eq!(parsed.warnings, [], "{none}");
        let spec = parsed.spec;
        assert_eq!(spec.nodes[0].lids[0], (Lid::NONE, Lmc(0)), "{none}");
        assert_eq!(spec.nodes[1].lids[1], (Lid::NONE, Lmc(0)), "{none}");
    }
}

#[test]
fn ibdiagnet_format_has_port_guids_as_names_and_repeats_the_port() {
    let text = "\
switchguid=0x2c90300000000(2c90300000003)
Switch 36 \"S-0002c90300000003\" # \"sw\" enhanced port 0 lid 1 lmc 0
[1](1) \"H-0002c90400000011\"[1](1) # \"h\" lid 2 4xEDR

switchguid=0x2c90300000000(2c90300000004)
Switch 36 \"S-0002c90300000004\" # \"sw of the same node GUID\" base port 0 lid 3 lmc 0

caguid=0x2c90400000010
Ca 1 \"H-0002c90400000011\" # \"h\"
[1](1) \"S-0002c90300000003\"[1](1) # lid 2 lmc 0 \"sw\" lid 1 4xEDR
";
    let spec = read(text).unwrap();
    // Both switches have one node GUID: the port GUID takes its place.
    assert_eq!(spec.nodes[0].node_guid, NodeGuid(0x2_c903_0000_0003));
    assert_eq!(spec.nodes[0].port_guids, [PortGuid(0x2_c903_0000_0003)]);
    assert_eq!(spec.nodes[2].node_guid, NodeGuid(0x2_c904_0000_0010));
    assert_eq!(spec.nodes[2].port_guids, [PortGuid(0x2_c904_0000_0011)]);
    assert_eq!(spec.links.len(), 1);
    assert_eq!(spec.links[0].speed, LinkSpeed::Edr);
}

#[test]
fn ibsim_files_are_read() {
    let text = "\
# ports may be named; a missing port number is 1; GUIDs without a line are consecutive
devid=0x5a06
module=\"rack1\"
Hca 2 \"host\"
[1] \"sw\"[4] w=8 s=1
[2] \"@uplink\"

Hca 1 \"host2\"
[1] \"@other\" e=2
@[1] \"spare\"

module=\"\"
switchguid=0x300000
vendid=0x77
Switch 8 \"rack1#sw\"
[4] \"rack1#host\"
[5] \"rack1#host\"[2]
@[5] \"uplink\"
[6] \"@spare\"
@[6] \"other\"
[7]

switchguid+16
Switch 8 \"alone\"
";
    let spec = read(text).unwrap();
    let guids: Vec<_> = spec.nodes.iter().map(|n| n.node_guid.raw()).collect();
    assert_eq!(guids, [0x10_0000, 0x10_0003, 0x30_0000, 0x30_0010]);
    let devices: Vec<_> = spec
        .nodes
        .iter()
        .map(|n| (n.vendor_id, n.device_id))
        .collect();
    assert_eq!(
        devices,
        [(0, 0x5a06), (0, 0x5a06), (0x77, 0x5a06), (0, 0x5a06)]
    );
    assert_eq!(spec.nodes[0].description, "rack1#host");
    let links: Vec<_> = spec.links.iter().map(|l| (l.a, l.b)).collect();
    let at = PortAt::new;
    assert_eq!(
        links,
        [
            (at(0, 1), at(2, 4)),
            (at(0, 2), at(2, 5)),
            (at(1, 1), at(2, 6))
        ]
    );
    assert_eq!(
        (spec.links[0].width, spec.links[0].speed),
        (LinkWidth(4), LinkSpeed::Sdr)
    );
}

#[test]
fn errors_have_their_line() {
    let edit = |from: &str, to: &str| PLAIN.replacen(from, to, 1);
    let cases = [
        (
            String::new(),
            "line 1: the file contains no node (expected lines such as `Switch 36 \"S-...\"` and `Ca 1 \"H-...\"`)",
        ),
        (
            "\n\n# nothing\n".to_owned(),
            "line 3: the file contains no node (expected lines such as `Switch 36 \"S-...\"` and `Ca 1 \"H-...\"`)",
        ),
        (
            "\n[1] \"x\"[1]\n".to_owned(),
            "line 2: port line before the first node record",
        ),
        (
            edit("Switch\t40 \"S", "Switch\t40 S"),
            "line 10: expected `Switch PORTS \"NODE ID\"`",
        ),
        (
            edit("Switch\t40", "Switch\t300"),
            "line 10, column 8: `300` is not a valid number of ports (1 to 254)",
        ),
        (
            edit("devid=0xd2f0", "devid=0xd2f00"),
            "line 7, column 7: `0xd2f00` is not a valid device id",
        ),
        (
            edit("switchguid=0x2c90300000000(", "switchguid=oops("),
            "line 9, column 12: `oops` is not a valid GUID",
        ),
        (
            edit("lid 7 lmc 0", "lid 70000 lmc 0"),
            "line 10, column 84: `70000` is not a valid LID",
        ),
        (
            edit("lid 7 lmc 0", "lid 7 lmc 8"),
            "line 10, column 90: `8` is not a valid LMC",
        ),
        (
            edit("[1]\t\"H", "[1\t\"H"),
            "line 11: expected `[PORT] \"NODE ID\"[PORT]`",
        ),
        (
            edit("[1]\t\"H", "[41]\t\"H"),
            "line 11, column 1: node `S-0002c90300000000` has no port 41, it has 40",
        ),
        (
            edit("[1]\t\"H", "[0]\t\"H"),
            "line 11, column 1: node `S-0002c90300000000` has no port 0, it has 40",
        ),
        (
            edit("[6]\t\"S", "[5]\t\"S"),
            "line 13: port 5 of node `S-0002c90300000000` is already described in line 12",
        ),
        (
            edit(
                "Rt\t1 \"R-0002c90400000020\"",
                "Rt\t1 \"S-0002c90300000000\"",
            ),
            "line 26, column 6: node `S-0002c90300000000` is already described in line 10",
        ),
        (
            edit("Ca\t2 \"H-0002c90400000010\"", "Ca\t2 \"H-1\""),
            "line 11, column 5: the link leads to unknown node `H-0002c90400000010`",
        ),
        (
            edit(
                "[2](2c90400000019) \t\"S-0002c90300000000\"[1]",
                "[2](2c90400000019) \t\"S-0002c90300000000\"[2]",
            ),
            "line 11, column 5: the link leads to port 2 of node `H-0002c90400000010`, which line 21 connects to port 2 of `S-0002c90300000000`",
        ),
        (
            edit("\n[2](2c9", "\n[1](2c9"),
            "line 21, column 21: the link leads to port 1 of node `S-0002c90300000000`, which line 11 connects to port 2 of `H-0002c90400000010`",
        ),
        (
            edit("\"[2](2c9", "\"[3](2c9"),
            "line 11, column 25: node `H-0002c90400000010` has no port 3, it has 2",
        ),
        (
            "include \"other.net\"\n".to_owned(),
            "line 1, column 10: cannot include `other.net`: includes are not supported here",
        ),
    ];
    for (text, message) in cases {
        let reported = read(&text).unwrap_err().to_string();
        assert_eq!(reported.lines().next(), Some(message), "{reported}");
    }
}

fn written(spec: &FabricSpec) -> String {
    let mut text = String::new();
    write(spec, &mut text).unwrap();
    text
}

#[test]
fn written_fabrics_read_back_with_port_guids_and_lids() {
    let spec = read(PLAIN).unwrap();
    assert_eq!(read(&written(&spec)), Ok(spec));
}

#[test]
fn nodes_with_duplicate_guids_remain_distinct() {
    let mut spec = from_spec("ring:3").unwrap();
    spec.nodes[1].node_guid = spec.nodes[0].node_guid;
    spec.nodes[1].port_guids = spec.nodes[0].port_guids.clone();
    assert_eq!(read(&written(&spec)), Ok(spec));
}

#[test]
fn line_breaks_in_names_are_replaced() {
    let mut spec = from_spec("star:2").unwrap();
    spec.nodes[0].description = "a\nSwitch 3 \"b\"".to_owned();
    let back = read(&written(&spec)).unwrap();
    assert_eq!(back.nodes[0].description, "a Switch 3 \"b\"");
    assert_eq!(back.links, spec.links);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Every generated fabric, with any LIDs and names, is read as it was written.
    #[test]
    fn written_fabrics_read_back_as_equal(
        text in crate::generate::properties::any_text(),
        lids in proptest::collection::vec((0u16..0xC000, 0u8..8), 8),
        name in "[ -~]{1,64}",
    ) {
        let mut spec = from_spec(&text).unwrap();
        let count = spec.nodes.len();
        for (i, (lid, lmc)) in lids.into_iter().enumerate() {
            let node = i % count;
            let lids = &mut spec.nodes[node].lids;
            let at = i % lids.len();
            // Unconnected ports are not in the text.
            let port = PortAt::new(node, u8::try_from(at + 1).unwrap());
            if lids.len() == 1 || spec.links.iter().any(|l| l.a == port || l.b == port) {
                lids[at] = (Lid(lid), Lmc(lmc));
            }
        }
        spec.nodes[count / 2].description = name;
        let back = read(&written(&spec)).unwrap();
        prop_assert_eq!(back, spec);
    }

    /// No input causes a panic.
    #[test]
    fn any_text_is_read_or_rejected(lines in proptest::collection::vec(any_line(), 0..12)) {
        let text = lines.join("\n");
        match read(&text) {
            Ok(spec) => prop_assert!(!spec.nodes.is_empty()),
            Err(errors) => {
                prop_assert!(!errors.list.is_empty());
                let bound = 1..=lines.len().max(1);
                prop_assert!(errors.list.iter().all(|e| bound.contains(&e.line)), "{}", errors);
            }
        }
    }
}

/// A line of [`PLAIN`] with a part replaced.
fn any_line() -> impl Strategy<Value = String> {
    let real: Vec<&str> = PLAIN.lines().collect();
    (
        prop::sample::select(real),
        any::<prop::sample::Index>(),
        0usize..6,
        ".{0,4}",
    )
        .prop_map(|(line, at, removed, inserted)| {
            let chars: Vec<char> = line.chars().collect();
            let at = if chars.is_empty() {
                0
            } else {
                at.index(chars.len())
            };
            let head: String = chars[..at].iter().collect();
            let tail: String = chars[(at + removed).min(chars.len())..].iter().collect();
            format!("{head}{inserted}{tail}").replace('\n', " ")
        })
}
