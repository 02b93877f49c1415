//! infiniband-diags and ibutils, unmodified, on a fabric of `ferrosm sim`.
//!
//! The tests compare their output with the text from which the fabric was loaded, with each other,
//! and with the changes made to the fabric. The programs share no code with ferrosm.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ferrosm_tests::fabrics::by_spec;
use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::diags::{Net, parse_links, parse_smpquery};
use ferrosm_tests::programs::fabric_server::FabricServer;
use ferrosm_tests::programs::ibnetdiscover::compare;
use ferrosm_tests::programs::opensm::OpenSm;
use ferrosm_tests::programs::process::poll_until;

const TIMEOUT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

/// The records of a text by name, without comments and order.
fn records(text: &str) -> BTreeMap<String, Vec<String>> {
    let mut map = BTreeMap::new();
    for record in text.split("\n\n") {
        let lines: Vec<String> = record
            .lines()
            .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
            // Spaces before a comment differ between versions of the program.
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            // ibnetdiscover prints a space here only between two adapters.
            .map(|line| line.replace("] (", "]("))
            .collect();
        let Some(head) = lines.iter().find(|line| {
            ["Switch ", "Ca ", "Rt "]
                .iter()
                .any(|kind| line.starts_with(kind))
        }) else {
            continue;
        };
        map.insert(head.clone(), lines);
    }
    map
}

/// Topologies with every kind of node and link that the generators support.
const TOPOLOGIES: [&str; 15] = [
    "star:3;speed=FDR",
    "star:3;speed=NDR",
    "star:3;speed=XDR",
    "back-to-back",
    "fat-tree:4;sharp",
    "fat-tree:4;routers=2;loopbacks=2;plugs=2",
    "fat-tree2:8,3,3;parallel=2;dual-port",
    "fat-tree:4;mixed-speeds;seed=7",
    "star:5;components=2",
    "star:4;planes=2",
    "torus:3,3,2,1;shuffle;seed=9",
    "dragonfly:4,5,1,2;drop=0.1",
    "slim-fly:3",
    "rail-pods:2,2,2",
    "xgft:2,3/2,2",
];

/// ibnetdiscover prints the text that was loaded, except for the order: every record, every line.
#[test]
fn ibnetdiscover_reproduces_the_fabric_file() {
    let mut failures = Vec::new();
    for spec in TOPOLOGIES {
        let text = by_spec(spec);
        let listing = FabricServer::serve(&text)
            .run("ibnetdiscover", &[])
            .expect_success()
            .stdout;
        // infiniband-diags 44 predates XDR and reports an unknown speed.
        let text = text.replace("xXDR\n", "x???\n");
        compare(spec, &text, &listing, &mut failures);
        let written = records(&text);
        let found = records(&listing);
        for (head, lines) in &found {
            // Completeness was checked above.
            let expected = written.get(head).map(Vec::as_slice).unwrap_or_default();
            for line in lines.iter().filter(|line| !expected.contains(line)) {
                failures.push(format!("{spec}: {head}: not written: {line}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Node names with spaces, hashes, brackets and an apostrophe are printed as written.
#[test]
fn ibnetdiscover_reproduces_unusual_node_names() {
    let names = ["top # of [rack] 7", "it's; a 'leaf'", "host=1 (a), %s %n"];
    let plain = by_spec("star:2");
    let expected = Net::parse(&plain).unwrap();
    let switch = &expected.switches().next().unwrap().description;
    let text = plain
        .replace("host-0 mlx5_0", names[2])
        .replace(&format!("\"{switch}\""), &format!("\"{}\"", names[0]));
    let sim = FabricServer::serve(&text);
    sim.execute(&format!("rename \"host-1 mlx5_0\" {:?}", names[1]));
    let listing = sim.run("ibnetdiscover", &[]).expect_success().stdout;
    let net = Net::parse(&listing).unwrap();
    let descriptions: BTreeSet<&str> = net.nodes.values().map(|n| &*n.description).collect();
    assert_eq!(descriptions, BTreeSet::from(names), "{listing}");
}

/// A fabric under OpenSM and a host far from it. Counters start at 0.
struct Managed {
    sim: FabricServer,
    _sm: OpenSm,
    net: Net,
}

const FAR: &str = "host-3-1-1 mlx5_0";

impl Managed {
    fn new() -> Self {
        let sim = FabricServer::shape("fat-tree:4");
        let mut sm = OpenSm::start(&sim, None, &[]);
        // OpenSM resets the links of hosts whose MTU or VLs it changes. They train for a second,
        // their switches send traps, and it sweeps again: SwitchInfo:MulticastFDBTop differs
        // between the first and a later sweep.
        sm.wait_until_up(2);
        // Those links count LinkDowned, so the counters are cleared below.
        let net = poll_until(TIMEOUT, PAUSE, || {
            let net = sim.net()?;
            let all = net.hosts().all(|node| node.ports[&1].lid != 0);
            if all {
                Ok(net)
            } else {
                Err("hosts without a LID".to_owned())
            }
        })
        .unwrap();
        let _ = sim.run("ibqueryerrors", &["--clear-errors", "--clear-counts"]);
        Self { sim, _sm: sm, net }
    }

    fn lid(&self, name: &str) -> String {
        let node = self
            .net
            .nodes
            .values()
            .find(|n| n.description == name)
            .unwrap();
        let port = node.ports.values().next().map_or(0, |port| port.lid);
        node.lid.max(port).to_string()
    }

    fn run(&self, program: &str, args: &[&str]) -> String {
        output(&self.sim, program, args)
    }
}

fn output(sim: &FabricServer, program: &str, args: &[&str]) -> String {
    sim.run(program, args).expect_success().stdout
}

fn counter(text: &str, name: &str) -> u64 {
    let fields = parse_smpquery(text);
    let value = fields.get(name).unwrap_or_else(|| panic!("{name}: {text}"));
    value.parse().unwrap_or_else(|_| panic!("{name}: {text}"))
}

/// All links are Active at their speed and without errors. One bad port is reported, and no other.
#[test]
fn iblinkinfo_and_ibqueryerrors_agree_with_the_fabric() {
    let fabric = Managed::new();
    let text = fabric.run("iblinkinfo", &["-l"]);
    let links = parse_links(&text).unwrap();
    assert_eq!(links.len(), 2 * 48, "{text}");
    for (link, line) in links
        .iter()
        .zip(text.lines().filter(|line| line.contains("==(")))
    {
        assert_eq!(
            (link.state.as_str(), link.physical.as_str()),
            ("Active", "LinkUp")
        );
        assert!(line.contains(" 4X        53.125 Gbps"), "{line}");
    }

    let clean = fabric.run("ibqueryerrors", &[]);
    assert!(
        clean.contains("36 nodes checked, 0 bad nodes found"),
        "{clean}"
    );
    fabric.sim.execute("count leaf-1-1[3] symbol_errors 77");
    let bad = fabric.sim.run("ibqueryerrors", &[]).stdout;
    // While OpenSM started, switches sent traps before they had a route to it, which port 0 counts.
    // AllPortSelect, by which the program clears a switch, does not include port 0.
    let named: Vec<&str> = bad
        .lines()
        .filter(|line| line.contains(" port ") && !line.contains(" port 0: "))
        .collect();
    assert_eq!(named.len(), 2, "{bad}");
    assert!(
        named[0].contains("port ALL: [SymbolErrorCounter == 77"),
        "{bad}"
    );
    assert!(
        named[1].contains("port 3: [SymbolErrorCounter == 77"),
        "{bad}"
    );
    assert!(
        bad.contains("Errors for 0x2c90300000110 \"leaf-1-1\"") || bad.contains("\"leaf-1-1\""),
        "{bad}"
    );
    assert!(bad.contains("36 nodes checked, 1 bad nodes found"), "{bad}");
}

/// Counters count the packets sent and can be cleared; a cut link counts as LinkDowned.
#[test]
fn perfquery_counts_the_packets_sent() {
    let fabric = Managed::new();
    let far_lid = fabric.lid(FAR);
    let read_counters = |args: &[&str]| {
        let text = fabric.run("perfquery", &[&["-x"], args].concat());
        (
            counter(&text, "PortXmitPkts"),
            counter(&text, "PortRcvPkts"),
            counter(&text, "PortXmitData"),
        )
    };
    let leaf = fabric.lid("leaf-3-1");
    let reset = |lid: &str, port: &str| {
        let _ = fabric.sim.run("perfquery", &["-x", "-R", lid, port]);
    };
    // The SM may read the host during the test, and its SMPs count as well, so the test allows
    // retries.
    let counted = || {
        reset(&leaf, "2");
        let before = read_counters(&[&leaf, "2"]);
        for _ in 0..5 {
            // One request to and one response from the host's PMA each, both through port 2 of the
            // leaf.
            let _ = fabric.run("perfquery", &[&far_lid, "1"]);
        }
        (before, read_counters(&[&leaf, "2"]))
    };
    // ClassPortInfo and PortCounters: two requests a run. A packet of 256 bytes and headers has 72
    // words.
    let quiet = ((0, 0, 0), (10, 10, 10 * 72));
    let tries: Vec<_> = (0..5)
        .map(|_| counted())
        .take_while(|t| *t != quiet)
        .collect();
    assert!(tries.len() < 5, "{tries:?}");
    let all = fabric.run("perfquery", &["-a", &leaf]);
    assert!(counter(&all, "PortXmitPkts") >= 10, "{all}");

    fabric.sim.execute("cut leaf-3-1[1]");
    let text = fabric.run("perfquery", &[&leaf, "1"]);
    assert_eq!(counter(&text, "LinkDownedCounter"), 1, "{text}");
}

/// Attributes read by LID and by directed route are equal, and equal to the device's.
#[test]
fn smpquery_reads_all_its_attributes() {
    let fabric = Managed::new();
    let leaf = fabric.lid("leaf-0-0");
    // The leaf of the local host is the first hop.
    for (op, tail) in [
        ("nodeinfo", &[][..]),
        ("nodedesc", &[]),
        ("portinfo", &["2"]),
        ("switchinfo", &[]),
        ("pkeys", &["2"]),
        ("sl2vl", &["2"]),
        ("vlarb", &["2"]),
        ("mepi", &["2"]),
    ] {
        let body = |text: String| {
            let body: Vec<String> = text
                .lines()
                .filter(|line| !line.starts_with('#') && !line.starts_with("LocalPort"))
                .map(str::to_owned)
                .collect();
            assert!(!body.is_empty(), "{op}: {text}");
            body
        };
        let by_lid = body(fabric.run("smpquery", &[&[op, &leaf], tail].concat()));
        let by_route = body(fabric.run("smpquery", &[&["-D", op, "0,1"], tail].concat()));
        assert_eq!(by_lid, by_route, "{op}");
    }
    let info = parse_smpquery(&fabric.run("smpquery", &["nodeinfo", &leaf]));
    let node = fabric
        .net
        .nodes
        .values()
        .find(|n| n.description == "leaf-0-0")
        .unwrap();
    assert_eq!(info["Guid"], format!("0x{:016x}", node.guid));
    assert_eq!(info["NumPorts"], "4");
    let top = parse_smpquery(&fabric.run("smpquery", &["switchinfo", &leaf]));
    assert_eq!(top["LinearFdbTop"], "36");
    let guids = fabric.run("smpquery", &["guidinfo", &fabric.lid(FAR)]);
    assert!(guids.contains("0x0002c90400000231"), "{guids}");
    let raw = fabric.run("smpdump", &[&leaf, "0x11"]);
    assert!(raw.starts_with("0101 0204"), "{raw}");
}

/// `ibtracert` follows the LFTs that `dump_fts` prints.
#[test]
fn ibtracert_follows_the_lfts() {
    let fabric = Managed::new();
    let tables = fabric.sim.tables().unwrap();
    let lids = fabric.net.lids();
    let hosts: Vec<_> = fabric
        .net
        .hosts()
        .map(|node| (node.guid, node.ports[&1].lid, &node.ports[&1]))
        .collect();
    assert_eq!(hosts.len(), 16);
    let from = hosts[0];
    for to in [hosts[1], hosts[7], hosts[15]] {
        let trace = fabric.sim.trace(from.1, to.1).unwrap();
        let mut at = from.2.peer;
        let mut hops = 1;
        assert_eq!(trace.hops[0].1, at);
        while at != to.0 {
            let out = tables.out(at, to.1).unwrap();
            assert_eq!(trace.hops[hops].0, out);
            at = fabric.net.nodes[&at].ports[&out].peer;
            assert_eq!(trace.hops[hops].1, at);
            hops += 1;
        }
        assert_eq!(trace.hops.len(), hops);
    }
    assert!(lids.values().all(|lid| lid.0 != 0));
    let groups = fabric.run("dump_mfts", &[]);
    assert_eq!(groups.matches("Multicast mlids").count(), 20, "{groups}");
}

/// A program on one host queries one on another through vendor class agents.
#[test]
fn ibping_and_ibsysstat_reach_their_servers() {
    let fabric = Managed::new();
    let far_lid = fabric.lid(FAR);
    let silent = fabric
        .sim
        .run("ibping", &["-c", "1", "-t", "100", &far_lid])
        .stdout;
    assert!(silent.contains("100% packet loss"), "{silent}");
    let start = |program: &str| {
        fabric
            .sim
            .launch(program, Some(FAR))
            .args(&["-S"])
            .start(fabric.sim.dir())
    };
    let _servers = (start("ibping"), start("ibsysstat"));
    // A program connects before it opens its device; only an open device has a receive queue.
    poll_until(TIMEOUT, PAUSE, || {
        let clients = fabric.sim.execute("clients");
        let open = |program: &str| {
            clients.lines().any(|line| {
                line.starts_with(program) && line.contains(FAR) && line.contains(" waiting")
            })
        };
        if open("ibping ") && open("ibsysstat ") {
            Ok(())
        } else {
            Err(clients)
        }
    })
    .unwrap();
    poll_until(TIMEOUT, PAUSE, || {
        let output = fabric
            .sim
            .run("ibping", &["-f", "-c", "50", &far_lid])
            .stdout;
        let all_received = output.contains("50 packets transmitted, 50 received, 0% packet loss");
        if all_received { Ok(()) } else { Err(output) }
    })
    .unwrap();
    let output = poll_until(TIMEOUT, PAUSE, || {
        let done = fabric.sim.run("ibsysstat", &[&far_lid, "cpu"]);
        if done.status.success() {
            Ok(done.stdout)
        } else {
            Err(done.describe())
        }
    });
    assert!(output.unwrap().contains("cpu 0:"));
}

/// Ports are disabled and enabled, and their speed changed, at both ends.
#[test]
fn ibportstate_changes_both_ends() {
    let fabric = Managed::new();
    let leaf = fabric.lid("leaf-3-1");
    let wait_for_link = |words: &[&str]| {
        poll_until(TIMEOUT, PAUSE, || {
            let links = fabric.sim.execute("links");
            let line = links
                .lines()
                .find(|l| l.contains("\"leaf-3-1\"[1]"))
                .unwrap();
            if words.iter().all(|word| line.matches(word).count() == 2) {
                Ok(())
            } else {
                Err(line.to_owned())
            }
        })
        .unwrap();
    };
    wait_for_link(&[" Active"]);
    let _ = fabric.run("ibportstate", &[&leaf, "1", "disable"]);
    wait_for_link(&[" Down"]);
    let off = parse_smpquery(&fabric.run("smpquery", &["portinfo", &leaf, "1"]));
    assert_eq!(off["PhysLinkState"], "Disabled");
    let _ = fabric.run("ibportstate", &[&leaf, "1", "espeed", "1"]);
    let _ = fabric.run("ibportstate", &[&leaf, "1", "enable"]);
    // The trap makes OpenSM sweep.
    wait_for_link(&[" Active"]);
    let remote_port = parse_smpquery(&fabric.run(
        "smpquery",
        &["portinfo", &fabric.lid("host-3-1-0 mlx5_0"), "1"],
    ));
    assert_eq!(remote_port["LinkSpeedExtActive"], "14.0625 Gbps");
}

/// Node lists and addresses.
#[test]
fn ibhosts_ibswitches_and_ibaddr_agree_with_the_fabric() {
    let fabric = Managed::new();
    let lines = |program: &str| fabric.run(program, &[]).lines().count();
    assert_eq!(lines("ibhosts"), 16);
    assert_eq!(lines("ibswitches"), 20);
    assert_eq!(lines("ibrouters"), 0);
    assert_eq!(lines("ibnodes"), 36);
    let stat = fabric.run("ibstat", &[]);
    assert!(
        stat.contains("State: Active") && stat.contains("Link layer: InfiniBand"),
        "{stat}"
    );
    let status = fabric.run("ibstatus", &[]);
    assert!(
        status.contains("4: ACTIVE") && status.contains("rate:\t\t 200 Gb/sec (4X HDR)"),
        "{status}"
    );
    let far_lid = fabric.lid(FAR);
    let address = fabric.run("ibaddr", &[&far_lid]);
    assert!(
        address.contains(&format!(
            "start {:#x} end {:#x}",
            far_lid.parse::<u16>().unwrap(),
            far_lid.parse::<u16>().unwrap()
        )),
        "{address}"
    );
    let sm = fabric.sim.sm_info("host-0-0-0 mlx5_0").unwrap();
    assert_eq!(sm.state, "SMINFO_MASTER");
    let same = fabric.run("ibidsverify", &[]);
    assert!(!same.contains("duplicate"), "{same}");
}

/// SA replies, in one packet and in several segments.
#[test]
fn saquery_answers_agree_with_the_fabric() {
    let fabric = Managed::new();
    let far_lid = fabric.lid(FAR);
    let count = |args: &[&str], word: &str| fabric.run("saquery", args).matches(word).count();
    assert_eq!(count(&["-x"], "LinkRecord dump"), 2 * 48);
    assert_eq!(count(&["-s"], "PortInfoRecord dump"), 1);
    assert_eq!(count(&["-c"], "SA ClassPortInfo"), 1);
    assert_eq!(count(&["-g"], "MCMemberRecord group dump"), 1);
    assert_eq!(count(&["-m"], "MCMemberRecord member dump"), 1);
    assert_eq!(
        count(
            &["-p", "--src-to-dst", &format!("1:{far_lid}")],
            "PathRecord dump"
        ),
        1
    );
    assert_eq!(count(&["LFTR"], "LFT Record dump"), 20);
    assert_eq!(count(&["MFTR"], "MFT Record dump"), 0);
    // One record for each block of 8.
    let guids = parse_smpquery(&fabric.run("smpquery", &["portinfo", &far_lid, "1"]));
    let blocks = guids["GuidCap"].parse::<usize>().unwrap() / 8;
    assert_eq!(count(&["GIR"], "GUIDInfo Record dump"), 20 + 16 * blocks);
    // Switches: 5 input ports times 5 output ports each; hosts: one record.
    assert_eq!(count(&["SL2VL"], "SL2VLTableRecord dump"), 20 * 25 + 16);
    assert!(count(&["VLAR"], "VLArbTableRecord dump") >= 36);
    assert_eq!(count(&["SR"], "ServiceRecord dump"), 0);
    assert_eq!(count(&["IIR"], "InformInfoRecord dump"), 0);
    // OpenSM returns keys only to trusted requesters.
    let refused = fabric.sim.run("saquery", &["PKTR"]);
    assert!(refused.stderr.contains("0x0200"), "{}", refused.describe());
    assert!(count(&["--smkey", "1", "PKTR"], "PKeyTableRecord dump") >= 36);
}

/// The stages of ibdiagnet's summary, with errors and warnings.
fn ibdiagnet(sim: &FabricServer) -> (String, BTreeMap<String, (u64, u64)>) {
    let out = sim.subdir("ibutils").display().to_string();
    let output = sim.run("ibdiagnet", &["-o", &out]).stdout;
    let stages = output.lines().filter_map(|line| {
        let mut words = line.split_whitespace().rev();
        let warnings = words.next()?.parse().ok()?;
        let errors = words.next()?.parse().ok()?;
        let stage: Vec<&str> = words.rev().collect();
        let is_stage = stage
            .last()
            .is_some_and(|w| ["Check", "Report"].contains(w));
        is_stage.then(|| (stage.join(" "), (errors, warnings)))
    });
    let stages = stages.collect();
    (output, stages)
}

/// ibdiagnet of ibutils completes all stages and finds a duplicate GUID. The fabric is QDR: the
/// program predates extended speeds and stops at a port that has one.
#[test]
fn ibdiagnet_checks_the_fabric() {
    let sim = FabricServer::shape("star:3;speed=QDR");
    let mut sm = OpenSm::start(&sim, None, &[]);
    sm.wait_until_up(1);
    let (output, stages) = ibdiagnet(&sim);
    let healthy = [
        ("Bad GUIDs/LIDs Check", (0, 0)),
        ("Link State Active Check", (0, 0)),
        // It queries Mellanox devices for their firmware by class 0x0A, for which the nodes have no
        // agent.
        ("General Devices Info Report", (1, 0)),
        ("Performance Counters Report", (0, 0)),
        ("Partitions Check", (0, 0)),
        // By default OpenSM creates the broadcast group for 10 Gbps.
        ("IPoIB Subnets Check", (0, 1)),
    ];
    let healthy: BTreeMap<String, (u64, u64)> = healthy
        .into_iter()
        .map(|(stage, found)| (stage.to_owned(), found))
        .collect();
    assert_eq!(stages, healthy, "{output}");

    sim.execute("guid \"host-2 mlx5_0\" 0x0002c90400000020");
    let (output, _) = ibdiagnet(&sim);
    assert!(
        output.contains("2 Devices with identical NodeGUID=0x0002c90400000020"),
        "{output}"
    );
}
