//! `ferrosm sim --capture`: tshark dissects every packet of a session of third-party programs.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ferrosm_tests::fabrics::by_spec;
use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::fabric_server::FabricServer;
use ferrosm_tests::programs::opensm::{OpenSm, osmtest};
use ferrosm_tests::programs::process::{Launch, poll_until};

const DEADLINE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

/// Class and attribute of MADs for which tshark 4.0 has no dissector.
const UNKNOWN_TO_TSHARK: [(&str, &str); 3] = [
    // ExtendedPortInfo of Mellanox, a vendor attribute in the subnet management classes.
    ("0x81", "0xff90"),
    ("0x01", "0xff90"),
    // PortInfoExtended of IBA 1.5.
    ("0x01", "0x0033"),
];

fn tshark(sim: &FabricServer, args: &[&str]) -> String {
    Launch::new("tshark")
        .args(&["-r", "session.pcapng"])
        .args(args)
        .start(sim.dir())
        .wait(DEADLINE)
        .expect_success()
        .stdout
}

/// The values of fields in every packet that matches a display filter.
fn fields(sim: &FabricServer, filter: &str, names: &[&str]) -> Vec<Vec<String>> {
    let mut args = vec!["-Y", filter, "-T", "fields", "-E", "separator=;"];
    args.extend(names.iter().flat_map(|name| ["-e", *name]));
    tshark(sim, &args)
        .lines()
        .map(|line| line.split(';').map(str::to_owned).collect())
        .collect()
}

fn number(text: &str) -> u64 {
    let text = text.split(',').next().unwrap_or_default();
    text.strip_prefix("0x").map_or_else(
        || text.parse().unwrap_or(0),
        |hex| u64::from_str_radix(hex, 16).unwrap_or(0),
    )
}

/// Runs a session with all MADs that OpenSM and its clients send. Returns the number of packets
/// sent by programs and of packets originated by nodes, as the server counts them.
fn session() -> (FabricServer, u64) {
    let sim = FabricServer::try_serve(&by_spec("star:3"), &["--capture", "live.pcapng"]).unwrap();
    let mut sm = OpenSm::start(&sim, None, &[]);
    sm.wait_until_up(1);
    let far_node = "host-2 mlx5_0";
    osmtest(&sim, far_node, &["-f", "c"]);
    osmtest(&sim, far_node, &["-f", "m", "-M", "1"]);
    for table in [&["-p"][..], &["NR"], &["PIR"], &["-c"], &["-g"]] {
        let _ = sim.run_at(far_node, "saquery", table).expect_success();
    }
    let lid = sim
        .net()
        .unwrap()
        .switches()
        .next()
        .unwrap()
        .lid
        .to_string();
    for op in ["switchinfo", "mepi", "PIE", "sl2vl", "vlarb", "pkeys"] {
        let port = if op == "switchinfo" { "0" } else { "1" };
        let _ = sim.run("smpquery", &[op, &lid, port]);
    }
    for args in [&["-x", &lid, "1"][..], &[&lid, "1"]] {
        let _ = sim.run("perfquery", args).expect_success();
    }
    sim.execute("cut \"host-1 mlx5_0\"[1]");
    sm.wait_until_up(2);
    // OpenSM keeps running, otherwise traps would remain without a response. The server flushes the
    // file when idle: the capture is used once two consecutive readings agree in counters and
    // content.
    let mut last = None;
    let sent = poll_until(DEADLINE, PAUSE, || {
        let before = packets(&sim.execute("status"));
        let length = std::fs::copy(
            sim.dir().join("live.pcapng"),
            sim.dir().join("session.pcapng"),
        )
        .map_err(|e| e.to_string())?;
        let seen = Some((before, packets(&sim.execute("status")), length));
        if seen == last && seen.is_some_and(|(before, after, _)| before == after) {
            return Ok(before);
        }
        last = seen;
        Err(format!("packets and bytes: {seen:?}"))
    });
    drop(sm);
    (sim, sent.unwrap())
}

/// Packets sent by programs and packets originated by nodes.
fn packets(status: &str) -> u64 {
    let count = |description: &str| -> u64 {
        let before = status.split_once(description).map(|(before, _)| before);
        let word = before.and_then(|text| text.split_whitespace().next_back());
        word.and_then(|word| word.parse().ok())
            .unwrap_or_else(|| panic!("{description}: {status}"))
    };
    count(" packets sent") + count(" traps")
}

/// No malformed packet, no tshark warning, no unknown attribute except those that tshark does not
/// support, and only complete transfers.
#[test]
fn tshark_dissects_every_packet_of_a_session() {
    let (sim, sent) = session();

    // A packet that is dropped later is recorded again, with a comment that gives the reason.
    let all = fields(&sim, "infiniband", &["frame.number", "frame.comment"]);
    let (first, dropped): (Vec<_>, Vec<_>) = all.iter().partition(|row| row[1].is_empty());
    // The server does not count responses of agents. OpenSM responds to SMInfo (0x20).
    let responses = "infiniband.mad.method == 0x81 && !frame.comment && infiniband.mad.attributeid != 0x20 \
        && infiniband.mad.mgmtclass in {1, 4, 0x81}";
    let responses = fields(&sim, responses, &["frame.number"]).len();
    assert_eq!(first.len() as u64, sent + responses as u64);
    assert!(
        dropped
            .iter()
            .all(|row| row[1].starts_with("dropped: ") || row[1].starts_with("lost: ")),
        "{dropped:?}"
    );
    let frames = fields(&sim, "frame", &["frame.number"]);
    assert_eq!(frames.len(), all.len(), "packets other than InfiniBand");

    assert_eq!(fields(&sim, "_ws.malformed", &["frame.number"]).len(), 0);
    // tshark dissects every segment of a table as if a record began there, so strings in later
    // segments appear unterminated.
    let warned: Vec<_> = fields(
        &sim,
        "_ws.expert && !frame.comment",
        &[
            "frame.number",
            "infiniband.rmpp.segmentnumber",
            "_ws.expert.message",
        ],
    )
    .into_iter()
    .filter(|row| number(&row[1]) < 2 || row[2] != "Trailing stray characters")
    .collect();
    assert!(warned.is_empty(), "{warned:?}");

    let text = tshark(&sim, &["-V"]);
    let mut class = "";
    let mut attribute = "";
    let mut unknown = BTreeSet::new();
    for line in text.lines().map(str::trim) {
        if let Some((_, value)) = line.split_once("Management Class: ") {
            class = value.split(&['(', ')'][..]).rev().nth(1).unwrap_or(value);
        } else if let Some((_, value)) = line.split_once("Attribute ID: ") {
            attribute = value.split(&['(', ')'][..]).rev().nth(1).unwrap_or(value);
        }
        let lower = line.to_lowercase();
        // A single-packet reply without RMPP has flags 0, for which tshark has no name.
        if ["malformed", "unknown", "dissector bug", "undecoded"]
            .iter()
            .any(|word| lower.contains(word))
            && !line.contains("RMPP Flags: Unknown (0x0)")
            // Checked above.
            && !line.contains("Trailing stray characters")
            && line != "[Group: Undecoded]"
        {
            unknown.insert((class, attribute, line));
        }
    }
    unknown.retain(|(_, _, line)| {
        !UNKNOWN_TO_TSHARK
            .iter()
            .any(|(_, id)| line.contains(&format!("({})", id.replace("0x00", "0x"))))
    });
    assert!(unknown.is_empty(), "{unknown:#?}");
    let known: BTreeSet<(String, String)> = UNKNOWN_TO_TSHARK
        .iter()
        .map(|(class, id)| ((*class).to_owned(), (*id).to_owned()))
        .collect();
    let vendor_attributes = fields(
        &sim,
        "infiniband.mad.attributeid == 0xff90 || (infiniband.mad.attributeid == 0x33 && infiniband.mad.mgmtclass == 1)",
        &["infiniband.mad.mgmtclass", "infiniband.mad.attributeid"],
    );
    for row in vendor_attributes {
        let pair = (row[0].clone(), row[1].clone());
        assert!(known.contains(&pair), "{pair:?}");
    }
    assert_complete_transfers(&sim);
}

/// Segment numbers of each transfer start at 1, the first and last segments carry their flags, and
/// every segment is acknowledged.
fn assert_complete_transfers(sim: &FabricServer) {
    let rows = fields(
        sim,
        "infiniband.rmpp.rmppflags & 1 && !frame.comment",
        &[
            "infiniband.mad.transactionid",
            "infiniband.rmpp.rmpptype",
            "infiniband.rmpp.rmppflags",
            "infiniband.rmpp.segmentnumber",
            "infiniband.rmpp.newwindowlast",
        ],
    );
    let mut data: BTreeMap<&str, Vec<(u64, u64)>> = BTreeMap::new();
    let mut acks: BTreeMap<&str, Vec<(u64, u64)>> = BTreeMap::new();
    for row in &rows {
        match number(&row[1]) {
            1 => data
                .entry(&row[0])
                .or_default()
                .push((number(&row[3]), number(&row[2]))),
            2 => acks
                .entry(&row[0])
                .or_default()
                .push((number(&row[3]), number(&row[4]))),
            other => panic!("RMPP type {other}: {row:?}"),
        }
    }
    assert!(
        data.values().any(|segments| segments.len() > 5),
        "no transfer of several segments"
    );
    for (transaction, segments) in &data {
        let last = segments.len() as u64;
        for (position, &(segment, flags)) in (1..).zip(segments) {
            assert_eq!(segment, position, "{transaction}: {segments:?}");
            // Active, first and last flags.
            assert_eq!(flags & 2 != 0, position == 1, "{transaction}: {segments:?}");
            assert_eq!(
                flags & 4 != 0,
                position == last,
                "{transaction}: {segments:?}"
            );
        }
        let acks = acks.get(transaction).map(Vec::as_slice).unwrap_or_default();
        assert!(acks.is_sorted(), "{transaction}: {acks:?}");
        let end = acks.last().map(|ack| ack.0);
        assert_eq!(end, Some(last), "{transaction}: {acks:?}");
        for (segment, window) in acks {
            assert!(segment <= window, "{transaction}: {acks:?}");
        }
    }
}
