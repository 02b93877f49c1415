//! The import of OpenSM's files against the installed OpenSM on a simulated fabric: which files it
//! drops and where, and the files that an export writes.

#![allow(clippy::expect_used, reason = "test helpers")]

use std::fs;
use std::path::Path;

use ferrosm_opensm_compat::export::{ExportedKey, KeyValue, conf, partitions_conf};
use ferrosm_opensm_compat::import::partition_list::partitions;
use ferrosm_opensm_compat::import::partition_rules::{PartitionsReading, read};
use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::fabric_server::FabricServer;
use ferrosm_tests::programs::managed_fabric::ManagedFabric;
use ferrosm_tests::programs::opensm::{OpenSm, error_lines};
use ferrosm_tests::programs::process::Signal;

const DEFAULT: &str = "Default=0x7fff, ipoib : ALL=full, SELF=full ;\n";

/// Definitions of sites and mistakes in them. Each is read after [`DEFAULT`].
const DEFINITIONS: &[&str] = &[
    "A=0x12, ipoib, defmember=full : 0x21,\n  0x31 ;\n",
    "A=0x12 : ALL_SW=both, S=f, mgid=ff12:401b:0012::16,sl=1 ; 51 : NONE ;\n",
    "B=0x21, ipoib, sl=3, rate=7 : ALL=oops ;\nB=0x21 : 0x5",
    // A file of Windows, and one line end of Windows in the middle.
    "Vault=0x21,ipoib,defmember=full : 0x21, 0x31;\r\n",
    "Vault=0x21 : 0x21 ,\r\n 0x31 ;\n",
    "Vault=0x21,ipoib\n : 0x21=full;\n",
    "Vault=0x21 : 0x21=full, 0x31=full,\n;\nC=0x22 : ALL ;\n",
    "Vault=0x21:\n  0x0002c90400000021=full\n, 0x0002c90400000031=full\n;\n",
    "Rack7=0x0031, ipoib : 0x20-0x3f=full, 0x51 ;\n",
    "Compute=0x0011, ipoib, defmember=full : cn[01-64] ;\n",
    "Tests=0x12g : ALL ;\n",
    "Tests=0x51 : ALL\nMore=0x52 : ALL ;\n",
    ";;\nTests=0x51 : ALL ;\n",
    "Tests=0x51 : mgid=ff12:401b:0051::16 ;\n",
    "x : y : z ;\n",
];

/// What OpenSM logs about a file: the line and the reason, or nothing.
fn parse_error(sim: &FabricServer, file: &Path) -> Option<String> {
    let mut sm = OpenSm::start(sim, None, &["-P", &file.to_string_lossy()]);
    sm.wait_until_up(1);
    let log = sm.stop(Signal::Terminate);
    let error = log
        .lines()
        .find_map(|line| line.split_once("PARSE ERROR: "));
    let is_dropped = log.contains("retrying with default config");
    assert_eq!(error.is_some(), is_dropped, "{log}");
    error.map(|(_, error)| error.trim().to_owned())
}

#[test]
fn partitions_are_dropped_at_the_line_that_the_import_reports() {
    let sim = FabricServer::shape("star:2");
    for definitions in DEFINITIONS {
        let text = format!("{DEFAULT}{definitions}");
        let file = sim.dir().join("partitions.conf");
        fs::write(&file, &text).expect("a file");
        let expected = match read(text.as_bytes()) {
            PartitionsReading::Used(_) => None,
            PartitionsReading::Dropped { line, reason } => {
                Some(format!("line {}: {}", line.unwrap_or(0), reason.text()))
            }
        };
        assert_eq!(parse_error(&sim, &file), expected, "{text}");
    }
}

/// Files that OpenSM drops, that ferrosm would read in another way, and that both read alike.
const IMPORTED: &[&str] = &[
    "Default=0x7fff,ipoib : ALL=limited;\r\nVault=0x21 : ALL=full;\r\n",
    "Default=0x7fff, sl=3, ipoib : ALL=limited, SELF=full ;\nIO=0x31, indx0 : ALL_CAS=both ;\n",
    "A=0x12 : ALL=oops, SELF=f ;\nDefault=0x7fff : ALL_CAS=full ;\nB : ALL_SWITCHES ;\n",
];

/// The P_Keys of three hosts in the order of their tables, and those of a switch port in front of
/// one, whose order has no meaning.
fn pkey_tables(sim: &FabricServer) -> Vec<Vec<String>> {
    let ports = [("0", "1"), ("0,1,2", "1"), ("0,1,3", "1"), ("0,1", "2")];
    let table = |(route, port): &(&str, &str)| {
        let done = sim.run("smpquery", &["-D", "pkeys", route, port]);
        let words = done.expect_success().stdout;
        let mut keys: Vec<String> = words
            .split_whitespace()
            .filter(|word| word.starts_with("0x") && *word != "0x0000")
            .map(str::to_owned)
            .collect();
        if route.ends_with(",1") {
            keys.sort();
        }
        keys
    };
    ports.iter().map(table).collect()
}

#[test]
fn imported_partitions_give_the_pkeys_that_opensm_gave() {
    for text in IMPORTED {
        let sim = FabricServer::shape("star:3");
        let partitions = sim.dir().join("partitions.conf");
        fs::write(&partitions, text).expect("a file");
        let config = sim.dir().join("opensm.conf");
        let line = format!("partition_config_file {}\n", partitions.display());
        fs::write(&config, line).expect("a file");
        let mut sm = OpenSm::start(&sim, None, &["-F", &config.to_string_lossy()]);
        sm.wait_until_up(1);
        let of_opensm = pkey_tables(&sim);
        drop(sm);
        let result = sim.dir().join("ferrosm.toml").display().to_string();
        let config = config.display().to_string();
        let done = sim.ferrosm(&["config", "import", &config, "-o", &result, "--accept"]);
        let report = done.expect_success().stdout;
        let fabric = ManagedFabric::start("star:3", &["--config", &result]);
        assert_eq!(pkey_tables(&fabric.sim), of_opensm, "{text}\n{report}");
    }
}

/// A name makes updn detect the roots; an empty list disables updn.
#[test]
fn root_files_without_a_root_have_the_reported_consequence() {
    for (text, engine) in [
        ("top_switches\n", "updn"),
        ("# to be filled in\n", "minhop"),
    ] {
        let sim = FabricServer::shape("fat-tree:4");
        let roots = sim.dir().join("roots");
        fs::write(&roots, text).expect("a file");
        let roots = roots.display().to_string();
        let mut sm = OpenSm::start(&sim, None, &["-R", "updn", "-a", &roots]);
        sm.wait_until_up(1);
        let log = sm.stop(Signal::Terminate);
        assert!(
            log.contains(&format!("{engine} tables configured")),
            "{log}"
        );
        let done = sim.ferrosm(&[
            "config", "import", "--", "opensm", "-R", "updn", "-a", &roots,
        ]);
        let says = match engine {
            "updn" => "updn detects",
            _ => "disables updn",
        };
        assert!(done.stderr.contains(says), "{}", done.stderr);
    }
}

#[test]
fn names_of_engines_that_opensm_does_not_know_are_skipped() {
    let sim = FabricServer::shape("fat-tree:4");
    let file = sim.dir().join("opensm.conf");
    fs::write(&file, "routing_engine = updn\n").expect("a file");
    let mut sm = OpenSm::start(&sim, None, &["-F", &file.to_string_lossy()]);
    sm.wait_until_up(1);
    let log = sm.stop(Signal::Terminate);
    assert!(
        log.contains("cannot find or setup routing engine '='"),
        "{log}"
    );
    assert!(log.contains("updn tables configured"), "{log}");
}

#[test]
fn exported_files_are_accepted_by_opensm() {
    let sim = FabricServer::shape("star:2");
    let text = "Default=0x7fff, ipoib, mtu=5, rate=3 : ALL=limited, SELF=full ;\n\
        IO=0x80, indx0, ipoib : 0x1=both, 0x2, ALL_CAS=full,\n mgid=ff12:401b::16,Q_Key=5,TClass=7 ;\n";
    let PartitionsReading::Used(definitions) = read(text.as_bytes()) else {
        panic!("{text}");
    };
    let file = sim.dir().join("partitions.conf");
    let list = partitions(&definitions, true).partitions;
    fs::write(&file, partitions_conf(&list)).expect("a file");
    let key = |key, value| ExportedKey {
        key,
        value,
        is_default: false,
    };
    let keys = [
        key("sm.priority", KeyValue::Whole(7)),
        key("routing.engines", KeyValue::List(vec!["updn".to_owned()])),
        key(
            "subnet.m-key",
            KeyValue::Text("0x0000000000001234".to_owned()),
        ),
        key("sweep.interval", KeyValue::Milliseconds(3000)),
    ];
    let exported = conf(&keys, &file.to_string_lossy(), None);
    assert_eq!(exported.losses, []);
    let config = sim.dir().join("opensm.conf");
    fs::write(&config, &exported.text).expect("a file");
    let mut sm = OpenSm::start(&sim, None, &["-F", &config.to_string_lossy()]);
    sm.wait_until_up(1);
    let log = sm.stop(Signal::Terminate);
    assert_eq!(error_lines(&log), [""; 0], "{log}");
    assert!(
        !log.contains("PARSE ERROR") && !log.contains("retrying"),
        "{log}"
    );
    assert!(log.contains("updn tables configured"), "{log}");
}
