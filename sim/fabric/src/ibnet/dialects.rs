//! One fabric in all supported formats; warnings and errors of files.

use std::collections::BTreeMap;

use ferrosm_mad::attr::{LinkSpeed, LinkWidth, NodeType};
use ferrosm_mad::ids::Lid;
use proptest::prelude::*;

use super::*;
use crate::spec::{FabricSpec, PortAt};

fn folder() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fabrics")
}

/// Reads a file, which may include other files of its directory.
fn read_path(path: &std::path::Path) -> ParsedFabric {
    let read_sibling =
        |name: &str| std::fs::read(path.with_file_name(name)).map_err(|e| e.to_string());
    let bytes = std::fs::read(path).unwrap();
    read_file(&bytes, &mut |name| read_sibling(name))
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn fixture(name: &str) -> ParsedFabric {
    read_path(&folder().join(name))
}

type LinkEnd = (u64, u8, u64, Lid);

/// What all formats express, independent of the order of lines.
#[derive(Debug, PartialEq)]
struct Graph {
    nodes: BTreeMap<u64, (NodeType, String, u8, u32, u16)>,
    /// Node GUID, port, port GUID and LID of both ports.
    links: BTreeMap<(LinkEnd, LinkEnd), (LinkWidth, LinkSpeed)>,
}

fn graph(spec: &FabricSpec) -> Graph {
    let end = |at: PortAt| {
        let node = &spec.nodes[at.node];
        let end = if node.kind == NodeType::Switch {
            0
        } else {
            usize::from(at.port) - 1
        };
        (
            node.node_guid.raw(),
            at.port,
            node.port_guids[end].raw(),
            node.lids[end].0,
        )
    };
    let nodes = spec.nodes.iter().map(|n| {
        let all = (
            n.kind,
            n.description.clone(),
            n.num_ports,
            n.vendor_id,
            n.device_id,
        );
        (n.node_guid.raw(), all)
    });
    let links = spec.links.iter().map(|l| {
        let (a, b) = (end(l.a), end(l.b));
        ((a.min(b), a.max(b)), (l.width, l.speed))
    });
    Graph {
        nodes: nodes.collect(),
        links: links.collect(),
    }
}

#[test]
fn all_formats_of_a_fabric_read_as_equal() {
    let original = fixture("ibnetdiscover.net");
    assert_eq!(original.warnings, []);
    assert_eq!(
        (original.spec.nodes.len(), original.spec.links.len()),
        (5, 6)
    );
    let name = &original.spec.nodes[0].description;
    assert_eq!(name, "MF0;leaf[1] \"a#1\":MSB7800/U1");
    let expected = graph(&original.spec);
    for (form, warnings) in [
        // A shell prompt after the last record.
        ("terminal.net", 1),
        ("powershell.net", 0),
        ("ibdiagnet2.ibnetdiscover", 0),
        ("opensm-subnet.lst", 0),
        ("ibdiagnet2.lst", 0),
        // An ibsim command.
        ("ibsim.net", 1),
    ] {
        let parsed = fixture(form);
        assert_eq!(graph(&parsed.spec), expected, "{form}");
        assert_eq!(
            parsed.warnings.len(),
            warnings,
            "{form}: {:?}",
            parsed.warnings
        );
    }
}

/// The text was compared with ibnetdiscover's output on ibsim.
#[test]
fn ibnetdiscover_output_is_written_as_read() {
    let text = std::fs::read_to_string(folder().join("ibnetdiscover.net")).unwrap();
    let mut written = String::new();
    write(&read(&text).unwrap(), &mut written).unwrap();
    let records = text.split_once("\n\n").unwrap().1;
    assert_eq!(written, records);
}

#[test]
fn ibsim_examples_of_debian_are_read() {
    let dir = std::path::Path::new("/usr/share/doc/ibsim-utils/net-examples");
    let Ok(entries) = std::fs::read_dir(dir) else {
        println!("absent: {}; ibsim's examples are not read", dir.display());
        return;
    };
    let mut count = 0;
    for path in entries.flatten().map(|e| e.path()) {
        if path
            .file_name()
            .is_some_and(|n| n.to_string_lossy().starts_with("net"))
        {
            let parsed = read_path(&path);
            assert!(parsed.spec.switch_count() >= 1);
            assert_eq!(
                crate::spec::connected_components(&parsed.spec).len(),
                1,
                "{}",
                path.display()
            );
            count += 1;
        }
    }
    assert!(count >= 5);
}

/// A 6-port switch and a 2-port host with these port lines.
fn small(switch: &str, host: &str) -> String {
    format!("Switch 6 \"sw\"\n{switch}\n\nHca 2 \"host\"\n{host}\n")
}

fn parse_text(text: &str) -> Result<ParsedFabric, ReadErrors> {
    read_file(text.as_bytes(), &mut |_| Err("no such file".to_owned()))
}

fn messages(text: &str) -> String {
    match parse_text(text) {
        Err(errors) => errors.to_string(),
        Ok(parsed) => parsed
            .warnings
            .iter()
            .map(|w| format!("warning: {w}\n"))
            .collect(),
    }
}

#[test]
fn every_width_and_speed_is_read() {
    for width in [1, 2, 4, 8, 12] {
        for speed in LinkSpeed::ALL {
            let rate = format!("{width}x{}", speed.name());
            let text = small(
                &format!("[1] \"host\"[1] # \"host\" lid 1 {rate}"),
                &format!("[1] \"sw\"[1] # lid 1 lmc 0 \"sw\" lid 2 {rate}"),
            );
            let link = parse_text(&text).unwrap().spec.links[0];
            assert_eq!(
                (link.width, link.speed),
                (LinkWidth(width), speed),
                "{rate}"
            );
        }
    }
}

#[test]
fn incomplete_files_are_read_with_warnings() {
    let good = ("[1] \"host\"[1]", "[1] \"sw\"[1]");
    for (text, warning) in [
        (
            small(good.0, "# nothing"),
            "warning: line 2: port 1 of node `host` does not describe this link; it is assumed to exist\n",
        ),
        (
            small(good.0, "[1] \"sw\"[1]\n[1] \"sw\"[1]"),
            "warning: line 6: port 1 of node `host` is repeated from line 5\n",
        ),
        (
            format!("{0}\n{0}", small(good.0, good.1)),
            "warning: line 7: node `sw` is repeated from line 1\n\
             warning: line 10: node `host` is repeated from line 4\n",
        ),
        (
            small(good.0, "[1] \"sw\"[1]\nSwi 3 \"x\""),
            "warning: line 6: unknown line ignored\n",
        ),
        (
            small(good.0, "[1] \"sw\"[1]\ndo Unlink \"sw\"[1]"),
            "warning: line 6: `do Unlink \"sw\"[1]` is an ibsim command; ignored\n",
        ),
        (
            small(
                "[1] \"host\"[1] # \"host\" lid 1 4x???",
                "[1] \"sw\"[1] # \"sw\" lid 2 4xHDR",
            ),
            "warning: line 2: unknown rate `4x???`: assuming 4x SDR unless the other port has a rate\n",
        ),
    ] {
        assert_eq!(messages(&text), warning);
        let spec = parse_text(&text).unwrap().spec;
        assert_eq!((spec.nodes.len(), spec.links.len()), (2, 1), "{text}");
        let speed = if text.contains("HDR") {
            LinkSpeed::Hdr
        } else {
            LinkSpeed::Sdr
        };
        assert_eq!(spec.links[0].speed, speed);
    }
}

/// ibutils 1.5.7 knows no speed above 10 Gb/s.
#[test]
fn list_without_speeds_is_read_with_one_warning() {
    let end = |name: &str, guid: u64| {
        format!(
            "{{ SW Ports:06 NodeGUID:{guid:016x} PortGUID:{guid:016x} {{{name}}} LID:{guid} PN:01 }}"
        )
    };
    let mut text = String::new();
    for (a, b) in [(1, 2), (3, 4)] {
        let (a, b) = (end("a", a), end("b", b));
        text.push_str(&format!(
            "{a} {b} PHY=4x LOG=ACT SPD=\n{b} {a} PHY=4x LOG=ACT SPD=\n"
        ));
    }
    assert_eq!(
        messages(&text),
        "warning: line 1: 2 links without a speed: assuming SDR\n"
    );
    assert_eq!(parse_text(&text).unwrap().spec.links.len(), 2);
}

/// A dump of a sick fabric must be readable, and what is odd in it must be visible.
#[test]
fn lids_that_are_none_and_contradictory_lids_are_reported() {
    let text = "switchguid=0x1000(1000)\nSwitch\t4 \"S-1\"\t# \"leaf\" enhanced port 0 lid 65335 lmc 0\n\
        [1]\t\"H-1\"[1](a001) \t# \"n1\" lid -4 4xEDR\n[2]\t\"H-2\"[1](b001) \t# \"n2\" lid abc 4xEDR\n\
        [3]\t\"H-3\"[1](c001) \t# \"n3\" lid 7 4xEDR\n[4]\t\"H-4\"[1](d001) \t# \"n4\" lid 8 4xEDR\n\n\
        Ca\t1 \"H-1\"\t# \"n1\"\n[1](a001) \t\"S-1\"[1]\t# lid 5 lmc 0 \"leaf\" lid 65335 4xEDR\n\n\
        Ca\t1 \"H-2\"\t# \"n2\"\n[1](b001) \t\"S-1\"[2]\t# lid 61111 lmc 0 \"leaf\" lid 65335 4xEDR\n\n\
        Ca\t1 \"H-3\"\t# \"n3\"\n[1](c001) \t\"S-1\"[3]\t# lid 8 lmc 0 \"leaf\" lid 65535 4xEDR\n\n\
        Ca\t1 \"H-4\"\t# \"n4\"\n[1](d001) \t\"S-1\"[4]\t# lid 8 lmc 0 \"leaf\" lid 0 4xEDR\n";
    assert_eq!(
        messages(text),
        "warning: line 2: `65335` is no unicast LID (1 to 49151); ignored\n\
         warning: line 3: `-4` is no unicast LID (1 to 49151); ignored\n\
         warning: line 4: `abc` is no unicast LID (1 to 49151); ignored\n\
         warning: line 5: LID 7 of port 1 of node `H-3` is 8 in the record of that node\n\
         warning: line 12: `61111` is no unicast LID (1 to 49151); ignored\n\
         warning: line 17: LID 8 of node `H-4` is also that of node `H-3`\n"
    );
    let spec = parse_text(text).unwrap().spec;
    let lids: Vec<u16> = spec.nodes.iter().map(|n| n.lids[0].0.raw()).collect();
    assert_eq!(lids, [0, 5, 0, 8, 8]);
    assert!(
        messages(&text.replace("lid 65335 lmc", "lid 70000 lmc"))
            .contains("`70000` is not a valid LID")
    );
}

/// The chips of some directors have one node GUID, and a port GUID each.
#[test]
fn switches_that_share_a_node_guid_are_told_apart_by_their_port_guids() {
    let chip = |n: u8, other: u8| {
        format!(
            "sysimgguid=0x1000\nswitchguid=0x1000(100{n})\nSwitch 4 \"S-000000000000100{n}\" # \"dir/U{n}\" base port 0 lid {n} lmc 0\n\
             [1](1) \"S-000000000000100{other}\"[1] # \"dir/U{other}\" lid {other} 4xHDR\n\n"
        )
    };
    let text = chip(1, 2) + &chip(2, 1);
    assert_eq!(
        messages(&text),
        "warning: line 3: 2 switches share the node GUID 0x0000000000001000: their port GUIDs are taken for node GUIDs\n"
    );
    let spec = parse_text(&text).unwrap().spec;
    let guids: Vec<u64> = spec.nodes.iter().map(|n| n.node_guid.0).collect();
    assert_eq!(guids, [0x1001, 0x1002]);
    let mut written = String::new();
    write(&spec, &mut written).unwrap();
    let again = parse_text(&written).unwrap();
    assert_eq!((again.spec, again.warnings), (spec, vec![]));
}

#[test]
fn errors_have_a_position_and_reason() {
    let row = |name: &str, port: u8| {
        format!(
            "{{ SW Ports:06 NodeGUID:0000000000000001 PortGUID:0000000000000001 {{{name}}} LID:1 PN:{port:02X} }}"
        )
    };
    for (text, error) in [
        (
            small("[1] \"host\"[1] # \"host\" lid 1 4xFAST", "[1] \"sw\"[1]"),
            "line 2, column 32: unknown speed `FAST`, expected SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR or XDR",
        ),
        (
            small("[1] \"host\"[1] # \"host\" lid 1 5xHDR", "[1] \"sw\"[1]"),
            "line 2, column 30: unknown width `5xHDR`, expected 1x, 2x, 4x, 8x or 12x",
        ),
        (
            small("[1] \"host\"[1] s=9", "[1] \"sw\"[1]"),
            "line 2, column 17: `9` is not a valid speed (0 to 7)",
        ),
        (
            small("[1] \"host\"[1]\n[2] \"host\"[1]", "[2] \"sw\"[3]"),
            "line 3, column 5: the link leads to port 1 of node `host`, which already has a link in line 2",
        ),
        (
            small("[1] \"host\"[1]\n[1] \"host\"[2]", "[1] \"sw\"[1]"),
            "line 3: port 1 of node `sw` is already described in line 2",
        ),
        (
            small("[1] \"host\"[1]\n[7] \"host\"[2]", "[1] \"sw\"[1]"),
            "line 3, column 1: node `sw` has no port 7, it has 6",
        ),
        (
            small("@[1] \"x\"\n@[2] \"x\"", "[1] \"@x\""),
            "line 3, column 7: alias `x` already names another port",
        ),
        (
            small(
                "[1] \"host\"[1]",
                "[1] \"sw\"[1]\n\nSwitch 8 \"sw\"\n[2] \"host\"[2]",
            ),
            "line 7, column 10: node `sw` is already described in line 1",
        ),
        (
            "\"MF0;a:MQM9700/U1\", Mellanox, 0x1, LID 5\n#  : IB# : Sta : PhysSta : LWA : LSA : Neighbor Guid : N# : NLID\n"
                .to_owned(),
            "line 2: this is ibdiagnet2.net_dump, which does not contain the neighbours of switches: use ibdiagnet2.lst or \
             ibdiagnet2.ibnetdiscover of the same run",
        ),
        (
            "include \"none.net\"\nHca 1 \"x\"\n".to_owned(),
            "line 1, column 10: cannot include `none.net`: no such file",
        ),
        (
            format!("{} {} PHY=3x LOG=ACT SPD=5\n", row("a", 1), row("a", 2)),
            "line 1, column 173: unknown width `3x`, expected 1x, 2x, 4x, 8x or 12x",
        ),
        (
            format!("{} {} PHY=4x LOG=ACT SPD=7\n", row("a", 1), row("a", 2)),
            "line 1, column 188: unknown speed `7`, expected SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR or XDR",
        ),
        (
            format!("{} {{ SW\n", row("a", 1)),
            "line 1: expected `{ NODE } { NODE } PHY=... LOG=... SPD=...`, missing `}`",
        ),
        (
            format!(
                "{0} {1} PHY=4x\n{0} {2} PHY=4x\n",
                row("a", 1),
                row("a", 2),
                row("a", 3)
            ),
            "line 2: port 1 of node `a` is already described in line 1",
        ),
        (
            format!("{} {} PHY=4x\n", row("a", 1), row("a", 7)),
            "line 1: node `a` has no port 7, it has 6",
        ),
    ] {
        assert_eq!(messages(&text), error, "{text}");
    }
}

#[test]
fn errors_are_reported_together_up_to_a_limit() {
    let mut lines = String::new();
    for port in 1..=30 {
        lines.push_str(&format!("[{port}] \"unknown\"[1]\n"));
    }
    let errors = read(&format!("Switch 36 \"sw\"\n{lines}")).unwrap_err();
    assert_eq!((errors.list.len(), errors.omitted), (20, 10));
    assert!(errors.list.iter().map(|e| e.line).eq(2..22));
    assert!(errors.to_string().ends_with("\nand 10 more"));
}

#[test]
fn too_many_end_ports_are_rejected_at_the_first_excess_record() {
    let mut text = String::new();
    for switch in 0..200 {
        text.push_str(&format!("Switch 254 \"S{switch}\"\n"));
        for port in 1..=246 {
            text.push_str(&format!("[{port}] \"H{switch}.{port}\"[1]\n"));
        }
        for port in 1..=246 {
            text.push_str(&format!(
                "\nCa 1 \"H{switch}.{port}\"\n[1] \"S{switch}\"[{port}]\n"
            ));
        }
    }
    // 199 switches with their hosts need 49153 LIDs: two too many.
    let line = 199 * (247 + 3 * 246) - 4;
    let error = format!("line {line}: 49400 end ports exceed the 49151 unicast LIDs");
    assert_eq!(messages(&text), error);
}

#[test]
fn include_cycles_are_rejected() {
    let mut load = |name: &str| match name {
        "a" => Ok(b"include \"b\"\n".to_vec()),
        _ => Ok(b"Hca 1 \"x\"\ninclude \"a\"\n".to_vec()),
    };
    let errors = read_file(b"include \"a\"\n", &mut load).unwrap_err();
    let deep = errors
        .list
        .iter()
        .find(|e| matches!(e.kind, ReadErrorKind::Include { .. }));
    let deep = deep.unwrap();
    assert_eq!(
        deep.to_string(),
        "a: line 1, column 10: cannot include `b`: more than 9 levels of includes"
    );
}

#[test]
fn exponential_includes_are_bounded() {
    // A thousand lines at each of nine levels would be read 10^27 times.
    let mut load = |name: &str| {
        let next = format!("include \"{name}x\"\n");
        Ok(next.repeat(1000).into_bytes())
    };
    let errors = read_file(b"include \"a\"\n", &mut load).unwrap_err();
    assert_eq!(errors.list.len(), 20);
    assert!(errors.omitted < 256 * 1000, "{errors}");
}

#[test]
fn names_are_preserved() {
    for name in [
        "a \"quoted\" name",
        "#1 of 3",
        "[1] (2) {3}",
        "lid 5 lmc 2 12xNDR",
        "enhanced port 0",
        "é\u{4e2d}\u{1f600}",
        "C:\\Users\\x\\",
        "=w=9",
        "\"",
    ] {
        let mut spec = crate::generate::from_spec("star:2").unwrap();
        for node in &mut spec.nodes {
            name.clone_into(&mut node.description);
        }
        let mut text = String::new();
        write(&spec, &mut text).unwrap();
        let back = parse_text(&text).unwrap();
        assert_eq!((back.spec, back.warnings), (spec, vec![]), "{name}");
    }
}

fn files() -> Vec<Vec<u8>> {
    let names = [
        "ibnetdiscover.net",
        "terminal.net",
        "powershell.net",
        "opensm-subnet.lst",
        "ibsim.net",
    ];
    names
        .iter()
        .map(|n| std::fs::read(folder().join(n)).unwrap())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Changes one byte of a valid file: it is read, or rejected with a line of the file.
    #[test]
    fn changed_bytes_are_read_or_rejected_with_a_line(
        file in prop::sample::select(files()),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut bytes = file;
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let lines = bytes.iter().filter(|b| **b == b'\n').count() + 1;
        let mut load = |name: &str| std::fs::read(folder().join(name)).map_err(|e| e.to_string());
        match read_file(&bytes, &mut load) {
            Ok(parsed) => prop_assert!(!parsed.spec.nodes.is_empty()),
            Err(errors) => {
                prop_assert!(!errors.list.is_empty());
                for error in &errors.list {
                    prop_assert!(error.line >= 1 && (error.file.is_some() || error.line <= lines), "{}", error);
                }
            }
        }
    }

    /// No input causes a panic.
    #[test]
    fn any_bytes_are_read_or_rejected(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = read_file(&bytes, &mut |_| Ok(Vec::new()));
    }

    /// Shuffled parts of valid files are read or rejected; a fabric that is read can be written and
    /// read again.
    #[test]
    fn shuffled_parts_are_read_or_rejected(
        pieces in proptest::collection::vec((prop::sample::select(files()), any::<prop::sample::Index>(), 1usize..90), 0..12),
    ) {
        let mut bytes = Vec::new();
        for (file, at, length) in pieces {
            let at = at.index(file.len());
            bytes.extend_from_slice(&file[at..(at + length).min(file.len())]);
        }
        if let Ok(parsed) = read_file(&bytes, &mut |_| Ok(Vec::new())) {
            let mut text = String::new();
            write(&parsed.spec, &mut text).unwrap();
            let again = read(&text).unwrap();
            prop_assert_eq!(again.links.len(), parsed.spec.links.len());
        }
    }
}
