//! The table of options, and the rules by which OpenSM reads values, against the installed OpenSM:
//! `opensm -F FILE -c OUTPUT` writes the values that it has read.

#![expect(clippy::unwrap_used, reason = "a failing helper fails its test")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use ferrosm_opensm_compat::import::assignments::Assignments;
use ferrosm_opensm_compat::import::evaluation::{ImportScope, evaluate};
use ferrosm_opensm_compat::import::finding::{LineOutcome, Place};
use ferrosm_opensm_compat::import::{command_line, conf};
use ferrosm_opensm_compat::options::value::ValueFormat;
use ferrosm_opensm_compat::options::{self, Availability, OpenSmOption};

/// The values that OpenSM has after it has read a file and flags.
fn values_of_opensm(conf: &str, flags: &[String]) -> BTreeMap<String, String> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("opensm.conf");
    std::fs::write(&file, conf).unwrap();
    let output = dir.path().join("output.conf");
    let status = Command::new(opensm())
        .arg("-F")
        .arg(&file)
        .args(flags)
        .arg("-c")
        .arg(&output)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    let written = std::fs::read(&output);
    let written = written.unwrap_or_else(|e| panic!("opensm {flags:?}: {status}, {e}\n{conf}"));
    let lines = conf::lines(&written).into_iter();
    lines.map(|line| (line.name, line.value)).collect()
}

/// `opensm` is in a directory that users do not search.
fn opensm() -> &'static Path {
    let path = Path::new("/usr/sbin/opensm");
    assert!(path.exists(), "install OpenSM (Debian: opensm)");
    path
}

/// Options whose value `opensm -c` writes.
fn written_options() -> impl Iterator<Item = &'static OpenSmOption> {
    options::all().filter(|option| {
        option.availability == Availability::All && option.format != ValueFormat::Structure
    })
}

#[test]
fn table_has_the_options_and_defaults_of_opensm() {
    let written = values_of_opensm("", &[]);
    assert!(written.len() > 150, "{written:?}");
    for (name, value) in &written {
        let option = options::by_name(name).unwrap_or_else(|| panic!("not in the table: {name}"));
        assert_eq!(option.default, value, "{name}");
    }
    for option in options::of_opensm() {
        let is_written = written.contains_key(option.name);
        assert!(
            is_written || option.availability == Availability::Later,
            "OpenSM does not write {}",
            option.name
        );
    }
}

/// OpenSM writes some numbers with capitals, and some above 2^31 as negative ones.
fn assert_equal(ours: &str, of_opensm: &str, option: &str, input: &str) {
    let signed = ours.parse().map_or(String::new(), |number: u32| {
        number.cast_signed().to_string()
    });
    assert!(
        ours.eq_ignore_ascii_case(of_opensm) || signed == of_opensm,
        "{option} with {input:?}: {ours:?} instead of {of_opensm:?}"
    );
}

/// The file that `opensm -c` writes has OpenSM's defaults: only the engine is converted.
#[test]
fn default_file_of_opensm_changes_nothing() {
    let written = values_of_opensm("", &[]);
    let file: String = written
        .iter()
        .map(|(name, value)| format!("{name} {value}\n"))
        .collect();
    let mut assignments = Assignments::default();
    assignments.add_file("f", file.as_bytes());
    assignments.correct();
    let no_file = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    let imported = evaluate(&assignments, ImportScope::Sm, &no_file);
    for finding in &imported.findings {
        let is_engine = finding.line.starts_with("routing_engine");
        let expected = match is_engine {
            true => LineOutcome::Converted,
            false => LineOutcome::Default,
        };
        assert_eq!(finding.outcome, expected, "{finding:?}");
    }
    assert_eq!(imported.findings.len(), written.len());
    assert_eq!(imported.settings.len(), 1);
}

fn assert_values(assignments: &Assignments, written: &BTreeMap<String, String>, input: &str) {
    for option in written_options() {
        let value = assignments.value(option.name);
        assert_equal(value, &written[option.name], option.name, input);
    }
}

/// Texts as sites write them, and at the limits of each type.
const TEXTS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "7",
    "9",
    "14",
    "15",
    "16",
    "31",
    "32",
    "63",
    "64",
    "200",
    "250",
    "255",
    "256",
    "65535",
    "65536",
    "0x12",
    "0x7fffffff",
    "2147483648",
    "4294967295",
    "4294967296",
    "-1",
    "-7",
    "+5",
    "017",
    "08",
    "0x",
    "0xg",
    "18446744073709551615",
    "18446744073709551616",
    "TRUE",
    "true",
    "FALSE",
    "yes",
    "= TRUE",
    "= 15",
    "\"TRUE\"",
    "'7'",
    "\"7",
    "off",
    "local",
    "both",
    "in",
    "out",
    "5 # comment",
    "5#comment",
    "7 8",
    "100M",
    "",
    "a\tb",
    "0x0002c90400000021,0x1",
    "5\r",
    "\u{e9}",
];

#[test]
fn values_are_read_as_opensm_reads_them() {
    for text in TEXTS {
        let mut file = String::new();
        for option in written_options() {
            file.push_str(&format!("{}\t{text}\n", option.name));
        }
        let mut assignments = Assignments::default();
        assignments.add_file("f", file.as_bytes());
        assignments.correct();
        assert_values(&assignments, &values_of_opensm(&file, &[]), text);
    }
}

#[test]
fn lines_are_split_as_opensm_splits_them() {
    let long = "x".repeat(1003);
    for file in [
        "sm_priority 5\nsm_priority 99\nlmc 3\nlmc 8x\n".to_owned(),
        "priority 15\nsm_priority = 7\n  sweep_interval 3\r\n\r\nqos \"TRUE\"\n".to_owned(),
        format!("node_name_map_name {long}sm_priority 5\nlmc 2\n"),
        format!("node_name_map_name {long} sm_priority 5\n"),
        format!("# {}\nlmc 2\n", "sm_priority 4 ".repeat(100)),
        "m_key_protection_level 2\nm_key_lease_period 10\nsweep_interval 30\n".to_owned(),
        "m_key_protection_level 9\nm_key_lease_period 10\nsweep_interval 0\n".to_owned(),
        "no_partition_enforcement TRUE\npart_enforce in\n".to_owned(),
        "transaction_timeout 900\nmax_wire_smps 0\nmax_wire_smps2 4294967295\n".to_owned(),
        "qos TRUE\nqos_max_vls 16\nqos_ca_high_limit 256\nqos_rtr_high_limit -5\n".to_owned(),
        "dimn_ports_file /a\nport_search_ordering_file /b\n".to_owned(),
        "port_search_ordering_file /b\ndimn_ports_file /a".to_owned(),
        "log_file '/var/log/a b'  \nlog_prefix \"\"\nguid_file 1\n".to_owned(),
    ] {
        let mut assignments = Assignments::default();
        assignments.add_file("f", file.as_bytes());
        assignments.correct();
        assert_values(&assignments, &values_of_opensm(&file, &[]), &file);
    }
}

#[test]
fn flags_set_what_opensm_sets() {
    for line in [
        "-B -g 0x0002c90400000021 -p 0 -f /var/log/opensm-ib0.log",
        "-g 0002c90400000022 -p 1 -L 10 -e --log_prefix ib1",
        "-priority 7 -s0x1e --routing_engine=ftree,updn -Qy -k ab --subnet_prefix fe80000000000001",
        "-R lash -z -A -M m -U l -S s -a r -u c -G i -H 3 -m d -X x -i p -w h -O o",
        "--port-shifting --scatter-ports 8 --guid_routing_order_no_scatter --torus_config t",
        "-n 0 -t 300 --retries 5 -N -W -Z off -P p -Y q -Q -y -x -I -r -l 3",
        "-Z in -D 0x7 -v -d 0 -d 2 -q local -C 10001",
        "-V --perfmgr --perfmgr_sweep_time_s 30 --prefix_routes_file f --consolidate_ipv6_snm_req",
        "--do_mesh_analysis --lash_start_vl 2 --sm_sl 3 --nue_max_num_vls 4 --dump_files_dir /d",
        "--congestion_control --dimn_ports_file o -p 5 -p partitions.conf -t 0 -Z everywhere",
        "--prio 6 --sweep 20 -L x -n 9000000000",
    ] {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let conf = "sm_priority 9\nsweep_interval 5\nlog_flags 0x01\n";
        let mut assignments = Assignments::default();
        assignments.add_file("f", conf.as_bytes());
        command_line::parse(&words).apply(&Place::file("command line"), &mut assignments);
        assignments.correct();
        let written = values_of_opensm(conf, &words);
        for option in written_options() {
            // `opensm -c` writes the values of flags before it corrects them.
            if assignments.correction(option.name).is_none() {
                let value = assignments.value(option.name);
                assert_equal(value, &written[option.name], option.name, line);
            }
        }
    }
}
