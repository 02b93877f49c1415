//! `ferrosm config import`: files of sites, in their own form.

use crate::harness::{Scratch, run_ferrosm};

const CONF: &str = "# subnet manager, head node 1\npriority 15\nrouting_engine ftree\n\
    sweep_interval 3\nm_key 0x1122334455667788\nm_key_protection_level 2\nguid 0x0002c90400000021\n";

fn mode(path: &str) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    let metadata = std::fs::metadata(path);
    metadata.map_or(0, |metadata| metadata.permissions().mode() & 0o777)
}

#[test]
fn result_is_valid_and_names_its_lines() {
    let dir = Scratch::new("import");
    let conf = dir.file("opensm.conf", CONF);
    let target = dir.path("ferrosm.toml");
    let (code, out, err) = run_ferrosm(&["config", "import", &conf, "-o", &target]);
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(
        out.contains("ignored by OpenSM") && out.contains("did you mean"),
        "{out}"
    );
    assert!(!out.contains("11223344"), "{out}");
    let text = std::fs::read_to_string(&target).unwrap_or_default();
    for line in [
        "engines = [\"ftree\"]",
        "interval = \"3s\"",
        "m-key = \"0x1122334455667788\"",
        "guid = \"0x0002c90400000021\"",
        "if sm_priority was meant: priority = 15",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(!text.contains("\npriority"), "{text}");
    assert_eq!(mode(&target), 0o600);
    let (code, out, err) = run_ferrosm(&["config", "check", &target]);
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(out.contains("SM priority 0"), "{out}");
    // Existing files stay.
    let (code, _, err) = run_ferrosm(&["config", "import", &conf, "-o", &target]);
    assert_eq!(code, Some(1));
    assert!(err.contains("exists\n  --force replaces it."), "{err}");
    let (code, ..) = run_ferrosm(&["config", "import", &conf, "-o", &target, "--force"]);
    assert_eq!(code, Some(0));
}

#[test]
fn standard_output_has_the_result_without_keys() {
    let dir = Scratch::new("import-stdout");
    let conf = dir.file("opensm.conf", CONF);
    let (code, out, err) = run_ferrosm(&["config", "import", &conf]);
    assert_eq!(code, Some(0), "{err}");
    assert!(
        out.contains("# m-key is set; not shown") && !out.contains("11223344"),
        "{out}"
    );
    let row = err.lines().find(|line| line.contains("priority 15"));
    assert!(row.is_some_and(|row| row.contains(" 2 ")), "{err}");
    assert!(!err.contains("11223344"), "{err}");
    let printed = dir.file("printed.toml", &out);
    let (code, _, err) = run_ferrosm(&["config", "check", &printed]);
    assert_eq!(code, Some(0), "{err}");
}

#[test]
fn status_is_1_if_behaviour_changes() {
    let dir = Scratch::new("import-status");
    let conf = dir.file(
        "opensm.conf",
        "qos TRUE\nqos_vlarb_high 0:255\nperfmgr TRUE\n",
    );
    let (code, _, err) = run_ferrosm(&["config", "import", &conf]);
    assert_eq!(code, Some(1));
    assert!(
        err.contains("changes behaviour") && err.contains("no equivalent"),
        "{err}"
    );
    let (code, ..) = run_ferrosm(&["config", "import", "--accept", &conf]);
    assert_eq!(code, Some(0));
    let (_, _, json) = run_ferrosm(&["config", "import", "--json", &conf]);
    assert!(json.contains("\"differs\": true"), "{json}");
    assert!(
        json.contains("\"outcome\": \"changes behaviour\""),
        "{json}"
    );
}

#[test]
fn each_port_gets_a_file_with_opensms_prefix() {
    let dir = Scratch::new("import-ports");
    let conf = dir.file("opensm.conf", "sweep_interval 3\n");
    let variables = dir.file(
        "sysconfig-opensm",
        "# two rails\nPRIORITY=10\nGUIDS=\"0x0002c90400000021 0x0002c90400000022\"\n",
    );
    let target = dir.path("");
    let (code, out, err) = run_ferrosm(&["config", "import", &variables, &conf, "-o", &target]);
    assert_eq!(code, Some(0), "{out}{err}");
    let read = |name: &str| std::fs::read_to_string(dir.path(name)).unwrap_or_default();
    let first = read("0x0002c90400000021.toml");
    let second = read("0x0002c90400000022.toml");
    assert!(
        first.contains("priority = 10") && !first.contains("prefix"),
        "{first}"
    );
    assert!(
        second.contains("prefix = \"0xfe80000000000001\""),
        "{second}"
    );
    let one_file = dir.path("one.toml");
    let (code, _, err) = run_ferrosm(&["config", "import", &variables, &conf, "-o", &one_file]);
    assert_eq!(code, Some(1));
    assert!(err.contains("name a directory"), "{err}");
}

#[test]
fn command_lines_are_imported() {
    let dir = Scratch::new("import-command");
    let target = dir.path("f.toml");
    let partitions = dir.file("p.conf", "Default=0x7fff,ipoib : ALL=full ;\n");
    let words = [
        "config",
        "import",
        "--accept",
        "-o",
        &target,
        "--",
        "/usr/sbin/opensm",
        "-B",
        "-g",
        "0x22",
        "-p",
        "1",
        "-P",
        &partitions,
        "-L",
        "10",
        "-k",
        "77665544",
        "--log_prefix",
        "ib1",
    ];
    let (code, out, err) = run_ferrosm(&words);
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(
        !out.contains("77665544") && out.contains("not needed"),
        "{out}"
    );
    let text = std::fs::read_to_string(&target).unwrap_or_default();
    for line in [
        "guid = \"0x0000000000000022\"".to_owned(),
        "priority = 1".to_owned(),
        "sm-key = \"0x0000000077665544\"".to_owned(),
        format!("file = \"{partitions}\""),
    ] {
        assert!(text.contains(&line), "{line}\n{text}");
    }
}

#[test]
fn partitions_that_opensm_drops_are_reported_with_their_line() {
    let dir = Scratch::new("import-partitions");
    for (name, text, line) in [
        (
            "crlf.conf",
            "Default=0x7fff,ipoib : ALL=full;\r\nVault=0x21 : 0x21;\r\n",
            1,
        ),
        (
            "header.conf",
            "Default=0x7fff,ipoib : ALL=full;\nVault=0x21,ipoib\n : 0x21=full;\n",
            2,
        ),
        (
            "names.conf",
            "Default=0x7fff, ipoib : ALL=limited, SELF=full ;\nCompute=0x11, ipoib, defmember=full : cn[01-64] ;\n",
            2,
        ),
        (
            "ranges.conf",
            "Default=0x7fff, ipoib : ALL=limited, SELF=full ;\nRack7=0x31, ipoib : 0x20-0x3f=full, 0x51 ;\n",
            2,
        ),
    ] {
        let file = dir.file(name, text);
        let argument = format!("partition_config_file={file}");
        let (code, out, err) = run_ferrosm(&["config", "import", "--json", &argument]);
        assert_eq!(code, Some(1), "{err}");
        assert!(err.contains("OpenSM 3.3 stops here"), "{name}: {err}");
        assert!(err.contains(&format!("\"line\": {line},")), "{name}: {err}");
        assert!(!out.contains("\nfile"), "{name}: {out}");
        let (code, _, err) = run_ferrosm(&["config", "import", &argument]);
        assert_eq!(code, Some(1), "{err}");
        let last = err.lines().next_back().unwrap_or_default();
        let dropped = format!("OpenSM dropped {file} as a whole");
        assert!(last.contains(&dropped), "{name}: {err}");
        let (code, _, err) = run_ferrosm(&["config", "import", "--accept", &argument]);
        assert_eq!(code, Some(0), "{err}");
    }
}

/// Entries `[[partition]]` give the partitions that OpenSM had.
#[test]
fn partitions_are_written_as_entries_if_ferrosm_reads_them_otherwise() {
    let dir = Scratch::new("import-entries");
    let partitions = dir.file(
        "partitions.conf",
        "Default=0x7fff, sl=3, ipoib, mtu=5, rate=12 : ALL=full, SELF=full ;\n\
         Vault=0x21, indx0 : 0x21=both, mgid=ff12:401b::16,sl=3 ;\n",
    );
    let conf = dir.file(
        "opensm.conf",
        &format!("partition_config_file {partitions}\n"),
    );
    let target = dir.path("f.toml");
    let (code, out, err) = run_ferrosm(&["config", "import", &conf, "-o", &target]);
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(out.contains("OpenSM uses SL 0"), "{out}");
    let text = std::fs::read_to_string(&target).unwrap_or_default();
    assert!(text.contains("[[partition]]\nname = \"Default\""), "{text}");
    let (code, out, err) = run_ferrosm(&["config", "check", &target]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("2 partitions"), "{out}");
}

#[test]
fn unknown_and_unreadable_files_are_errors() {
    let dir = Scratch::new("import-unknown");
    let list = dir.file("list", "0x1\n");
    let (code, _, err) = run_ferrosm(&["config", "import", &list]);
    assert_eq!(code, Some(2));
    assert!(err.contains("name the option that names it"), "{err}");
    let (code, out, _) = run_ferrosm(&["config", "import", &format!("root_guid_file={list}")]);
    assert_eq!(code, Some(0));
    assert!(out.contains("root-guid-file = "), "{out}");
    let (code, _, err) = run_ferrosm(&["config", "import", "no-such-file"]);
    assert_eq!(code, Some(1));
    assert!(err.contains("no-such-file: cannot read file"), "{err}");
    let (code, ..) = run_ferrosm(&["config", "import"]);
    assert_eq!(code, Some(2));
}

/// What OpenSM can express comes back.
#[test]
fn exported_configuration_is_imported_again() {
    let dir = Scratch::new("export");
    dir.file("roots", "0x0002c90300000001\n");
    dir.file("p.conf", "Default=0x7fff, ipoib, mtu=4096 : ALL=full ;\nVault=0x21, indx0 : 0x21=both, ALL_SWITCHES ;\n");
    let text = "[port]\nguid = \"0x0002c90400000021\"\n\
        [sm]\npriority = 7\nsm-key = \"0x00000000000000ab\"\npoll-interval = \"2s 500ms\"\n\
        [subnet]\nm-key = \"0x0000000000001234\"\nm-key-protect-bits = 2\nclient-reregister = false\n\
        [routing]\nengines = [\"updn\", \"no_fallback\"]\nroot-guid-file = \"roots\"\n\
        [partitions]\nfile = \"p.conf\"\nenforce = \"in\"\n\
        [sweep]\ninterval = \"1m\"\nmax-outstanding = 8\nmax-outstanding-per-node = 8\n\
        [log]\nlevel = \"debug\"\n";
    let config = dir.file("f.toml", text);
    let opensm = dir.path("opensm");
    let arguments = ["config", "export", "opensm", &config, "-o", &opensm];
    let (code, out, err) = run_ferrosm(&arguments);
    assert_eq!(code, Some(1), "{out}{err}");
    // OpenSM has no window of SMPs for each node.
    assert!(
        out.contains("max-outstanding-per-node") && out.contains("1 key is lost"),
        "{out}"
    );
    assert!(!out.contains("1234"), "{out}");
    let conf = format!("{opensm}/opensm.conf");
    assert_eq!(mode(&conf), 0o600);
    let imported = dir.path("imported.toml");
    let (code, out, err) = run_ferrosm(&["config", "import", &conf, "-o", &imported]);
    assert_eq!(code, Some(0), "{out}{err}");
    let effective = |file: &str| {
        let (code, out, err) = run_ferrosm(&["config", "print", file]);
        assert_eq!(code, Some(0), "{err}");
        let is_path = |line: &&str| line.starts_with("file = ") || line.starts_with("root-guid");
        let lines: Vec<String> = out
            .lines()
            .filter(|line| !is_path(line))
            .map(str::to_owned)
            .collect();
        lines
    };
    assert_eq!(effective(&config), effective(&imported));
    let (code, _, err) = run_ferrosm(&arguments);
    assert_eq!(code, Some(1));
    assert!(err.contains("exists"), "{err}");
    let keys = std::fs::read_to_string(&imported).unwrap_or_default();
    assert!(keys.contains("m-key = \"0x0000000000001234\""), "{keys}");
    assert!(keys.contains("sm-key = \"0x00000000000000ab\""), "{keys}");
}

/// For sites that want to be able to go back.
#[test]
fn check_reports_what_opensm_would_drop() {
    let dir = Scratch::new("check-opensm");
    dir.file(
        "p.conf",
        "Default=0x7fff,ipoib : ALL=full,\n;\nVault=0x21 : 0x21=full ;\n",
    );
    let config = dir.file("f.toml", "[partitions]\nfile = \"p.conf\"\n");
    let (code, out, err) = run_ferrosm(&["config", "check", "--opensm", &config]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("p.conf:2: OpenSM 3.3 stops here"), "{out}");
    let plain = dir.file("plain.toml", "");
    let (_, out, _) = run_ferrosm(&["config", "check", "--opensm", &plain]);
    assert!(out.contains("in the same way"), "{out}");
}
